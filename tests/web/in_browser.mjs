// node in_browser.mjs ADDRESS PROVIDER SEED ...: uses the page as a visitor does, in headless
// Chromium with a WebGPU in software, and prints what it shows, as JSON.
import { launch } from './chromium.mjs';

const PATIENCE = { timeout: 120_000 };

/** Waits until the page shows this seed, or says what is wrong. */
const shown = (page, name) =>
  page.waitForFunction(
    (name) => document.body.dataset.shown === name || document.querySelector('#status.wrong'),
    name, PATIENCE);

const read = (page) =>
  page.evaluate(() => {
    const text = (selector) => document.querySelector(selector).textContent;
    const colours = (id) => {
      const canvas = document.getElementById(id);
      const copy = new OffscreenCanvas(canvas.width, canvas.height);
      const context = copy.getContext('2d');
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    };
    const hashes = (name) => ({
      here: text(`#${name}-hashes .here`),
      python: text(`#${name}-hashes .python`),
      verdict: text(`#${name}-hashes .verdict`),
    });
    return {
      shown: document.body.dataset.shown,
      status: text('#status'),
      words: hashes('words'),
      noise: hashes('noise'),
      colours: { words: colours('words'), images: colours('images') },
      overflow: document.documentElement.scrollWidth - window.innerWidth,
    };
  });

const [address, provider, ...seeds] = process.argv.slice(2);
const browser = await launch();
const result = { errors: [], seeds: {}, looks: {} };
async function open(options, query, before = async () => {}) {
  const page = await browser.newPage(options);
  page.on('pageerror', (error) => result.errors.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) result.errors.push(message.text());
  });
  await before(page);
  await page.goto(`${address}?${query}`);
  await shown(page, `${provider} ${new URLSearchParams(query).get('seed')}`);
  return page;
}

// A wide page: every seed is typed.
const page = await open({ colorScheme: 'light', viewport: { width: 1100, height: 900 } },
  `seed=1&on=${provider}`);
for (const seed of seeds) {
  await page.fill('#seed', seed);
  await shown(page, `${provider} ${seed}`);
  result.seeds[seed] = await read(page);
}
await page.fill('#seed', '5');
await shown(page, `${provider} 5`);
await page.click('#following');
await shown(page, `${provider} 6`);
await page.click('#previous');
await shown(page, `${provider} 5`);
result.stepped = await read(page);
await page.fill('#seed', '18446744073709551616');
result.refused = await page.textContent('#status');
await page.close();

// A narrow one, dark.
const narrow = await open({ colorScheme: 'dark', viewport: { width: 320, height: 700 } },
  `seed=2&on=${provider}`);
result.narrow = await read(narrow);
await narrow.close();

// Other hashes from Python: the page must say so.
const other = await open({}, `seed=3&on=${provider}`, (page) =>
  page.route('**/python.json', async (route) => {
    const hashes = await (await route.fetch()).json();
    hashes[3] = { words: hashes[4].words, noise: hashes[4].noise };
    await route.fulfill({ json: hashes });
  }));
result.other = await read(other);
await browser.close();
console.log(JSON.stringify(result));
