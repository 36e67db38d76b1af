// node drop.mjs ADDRESS FOLDER OTHER MODEL ...: drops models on the page `drop.html`, with both
// providers, and prints what it shows, as JSON; saves pictures into FOLDER. OTHER is no model for it.
import path from 'node:path';
import { launch } from './chromium.mjs';

const [address, folder, other, bad, ...models] = process.argv.slice(2);
const browser = await launch();
const result = { errors: [], models: {}, looks: {} };

const read = (page) =>
  page.evaluate(() => ({
    shown: document.body.dataset.shown,
    status: document.querySelector('#status').textContent,
    draws: [...document.querySelectorAll('#draws li')].map((item) => item.textContent),
    command: document.querySelector('#command').textContent,
    hashes: Object.fromEntries([...document.querySelectorAll('#tensors article')].map(
      (card) => [card.dataset.name, card.querySelector('.here').textContent])),
    pictures: [...document.querySelectorAll('#tensors canvas')].map((c) => c.closest('article').dataset.name),
    overflow: document.documentElement.scrollWidth - window.innerWidth,
  }));

async function open(options) {
  const page = await browser.newPage(options);
  page.on('pageerror', (error) => result.errors.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) result.errors.push(message.text());
  });
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(address)) result.errors.push(request.url());
  });
  await page.goto(`${address}drop.html`);
  await page.waitForFunction(() => document.body.dataset.ready);
  return page;
}
const shown = (page, what) =>
  page.waitForFunction((wanted) => document.body.dataset.shown === wanted, what, { timeout: 60_000 });

const page = await open({ colorScheme: 'light', viewport: { width: 1100, height: 900 } });
for (const [key, file] of [['other', other], ['bad', bad]]) {
  await page.setInputFiles('#file', file);
  await page.waitForFunction((name) => document.querySelector('#status').textContent.includes(name), path.basename(file));
  result[key] = await read(page);
}
for (const file of models) {
  const name = path.basename(file);
  await page.check('[value=wasm]', { force: true });
  await page.setInputFiles('#file', file);
  await shown(page, 'wasm 42');
  const seen = { wasm: await read(page) };
  await page.check('[value=webgpu]', { force: true });
  await shown(page, 'webgpu 42');
  seen.webgpu = await read(page);
  result.models[name] = seen;
  await page.screenshot({ path: path.join(folder, `${name}-light.png`), fullPage: true });
  await page.check('[value=wasm]', { force: true });
  await shown(page, 'wasm 42');
  await page.fill('#seed', '18446744073709551616');
  await page.click('#run');
  await page.waitForSelector('#status.wrong');
  seen.refused = await page.textContent('#status');
  await page.fill('#seed', '42');
  await page.click('#run');
  await shown(page, 'wasm 42');
}
// The last model, with numbers of the visitor's.
await page.fill('#inputs input', '[[0.5],[1],[2]]');
await page.click('#run');
await page.waitForFunction(() => document.querySelector('#command').textContent.includes('--input'));
await shown(page, 'wasm 42');
result.given = await read(page);
await page.close();
for (const [name, options] of [
  ['dark', { colorScheme: 'dark', viewport: { width: 1100, height: 900 } }],
  ['narrow', { colorScheme: 'dark', viewport: { width: 320, height: 700 } }],
]) {
  const looked = await open(options);
  await looked.setInputFiles('#file', models[0]);
  await shown(looked, 'wasm 42');
  result.looks[name] = await read(looked);
  await looked.screenshot({ path: path.join(folder, `${name}.png`), fullPage: true });
  await looked.close();
}
await browser.close();
console.log(JSON.stringify(result));
