// node pages.mjs FOLDER PAGE ...: looks at pages of `--html` in headless Chromium, light and dark,
// narrow and wide; saves pictures beside them, and prints what it saw, as JSON.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';

const pages = process.argv.slice(2);
const browser = await launch();

/** What is seen of a page without touching it. */
const look = (page) =>
  page.evaluate(() => {
    const colours = (selector) => {
      const found = document.querySelector(selector);
      if (!found) return null;
      const { color, backgroundColor } = getComputedStyle(found);
      return { color, backgroundColor };
    };
    const pictures = [...document.querySelectorAll('figure svg')].map((svg) => {
      const box = svg.getBoundingClientRect();
      return box.width > 100 && box.height > 4 && svg.querySelectorAll('path').length > 0;
    });
    return {
      overflow: document.documentElement.scrollWidth - window.innerWidth,
      paper: getComputedStyle(document.body).backgroundColor,
      ink: getComputedStyle(document.body).color,
      colours: Object.fromEntries(['good', 'bad', 'some', 'none'].map((c) => [c, colours(`.cell.${c}`)])),
      signs: Object.fromEntries([...document.querySelectorAll('.key b')].map(
        (key) => [key.className, key.textContent])),
      pictures,
      headers: [...document.querySelectorAll('.nodes thead th')].map((th) => {
        const column = th.cellIndex;
        const cell = th.closest('table').tBodies[0].rows[0].cells[column];
        return [th, cell].map((each) => getComputedStyle(each).textAlign);
      }),
      title: document.title,
      verdict: document.querySelector('h1').textContent,
    };
  });

/** Points at the first and the last cell: are their tips shown, and inside the window? */
async function tips(page) {
  const seen = [];
  const cells = page.locator('.cell');
  const count = await cells.count();
  for (const i of count ? [0, count - 1] : []) {
    await cells.nth(i).hover();
    seen.push(await cells.nth(i).locator('.tip').evaluate((tip) => {
      const box = tip.getBoundingClientRect();
      return {
        text: tip.innerText,
        isInside: box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight,
        isShown: box.width > 50 && getComputedStyle(tip).display !== 'none',
      };
    }));
  }
  if (count) {
    await page.mouse.move(1, 1);
    await cells.nth(0).focus();
    seen.push({ byKey: await cells.nth(0).locator('.tip').isVisible() });
    await page.keyboard.press('Escape');
    seen.push({ afterEscape: await cells.nth(0).locator('.tip').isVisible() });
  }
  return seen;
}

const result = {};
for (const file of pages) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [360, 1200]) {
      const wrong = [];
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
      const page = await context.newPage();
      page.on('request', (request) => {
        const { protocol } = new URL(request.url());
        if (protocol !== 'data:' && !request.isNavigationRequest()) wrong.push(request.url());
      });
      page.on('pageerror', (error) => wrong.push(String(error)));
      page.on('console', (message) => wrong.push(message.text()));
      await page.goto(pathToFileURL(file).href);
      const seen = await look(page);
      await page.screenshot({
        path: path.join(path.dirname(file), `${path.parse(file).name}-${colorScheme}-${width}.png`),
        fullPage: true,
      });
      const key = `${path.parse(file).name} ${colorScheme} ${width}`;
      result[key] = { ...seen, tips: await tips(page), wrong };
      await context.close();
    }
  }
}
await browser.close();
console.log(JSON.stringify(result));
