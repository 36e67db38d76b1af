// The page: a seed in, two pictures and their hashes out.
import { IMAGES, IMAGE_SIDE, MAX_SEED, SIDE, load, sha256 } from './draw.mjs';

const element = (id) => document.getElementById(id);
const providers = [...document.querySelectorAll('[name=provider]')];

// From dark to light in both colour schemes: a seed has one picture.
const STOPS = [[22, 18, 50], [92, 51, 143], [219, 88, 110], [252, 187, 109], [255, 245, 214]];
const PALETTE = Uint32Array.from({ length: 256 }, (_, level) => {
  const place = (level / 255) * (STOPS.length - 1);
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const [r, g, b] = STOPS[below].map((low, i) =>
    Math.round(low + (STOPS[below + 1][i] - low) * (place - below)));
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
});

/** Shows a square picture of levels from 0 to 255. */
function show(canvas, side, levels) {
  canvas.width = canvas.height = side;
  const pixels = Uint32Array.from(levels, (level) => PALETTE[level]);
  canvas.getContext('2d').putImageData(
    new ImageData(new Uint8ClampedArray(pixels.buffer), side, side), 0, 0);
}

/** The images in rows of as many as fit a square, with a margin around each. */
function mosaic(images) {
  const across = Math.ceil(Math.sqrt(IMAGES));
  const cell = IMAGE_SIDE + 2;
  const levels = new Uint8Array((across * cell) ** 2);
  images.forEach((value, i) => {
    const image = Math.floor(i / IMAGE_SIDE ** 2);
    const [row, column] = [Math.floor(i / IMAGE_SIDE) % IMAGE_SIDE, i % IMAGE_SIDE];
    const y = Math.floor(image / across) * cell + row + 1;
    const x = (image % across) * cell + column + 1;
    levels[y * across * cell + x] = 255 * value;
  });
  return [across * cell, levels];
}

function status(text, { isWrong = false } = {}) {
  element('status').textContent = text;
  element('status').classList.toggle('wrong', isWrong);
}

function compare(name, here, python, seed) {
  const list = element(`${name}-hashes`);
  const verdict = list.querySelector('.verdict');
  list.querySelector('.here').textContent = here;
  list.querySelector('.python').textContent = python ?? `run: python prepare.py ${seed}`;
  verdict.className = 'verdict';
  verdict.textContent = 'Not computed by Python yet';
  if (python !== undefined) {
    verdict.classList.add(here === python ? 'equal' : 'different');
    verdict.textContent = here === python ? '✓ The same bits' : '✗ Other bits';
  }
}

async function read(name) {
  const response = await fetch(`models/${name}`);
  if (!response.ok) throw new Error(`models/${name} is not there: run \`python prepare.py\` first`);
  return new Uint8Array(await response.arrayBuffer());
}

async function showDraws(seed, drawn) {
  const [words, noise] = await Promise.all([sha256(drawn.words), sha256(drawn.noise)]);
  show(element('words'), SIDE, drawn.words.map((word) => word >>> 24));
  show(element('images'), ...mosaic(drawn.images));
  element('time').textContent = `Drawn in ${drawn.milliseconds.toFixed(1)} ms.`;
  compare('words', words, python[seed]?.words, seed);
  compare('noise', noise, python[seed]?.noise, seed);
}

const loaded = {}; // by provider: what draws there
let isBusy = false;

/** Draws until what is shown is what was asked for last: a session runs once at a time. */
async function draw() {
  if (isBusy) return;
  isBusy = true;
  try {
    for (let shown; ; ) {
      const { seed, provider } = asked;
      if (shown === asked) break;
      shown = asked;
      document.body.dataset.shown = '';
      if (!loaded[provider]) status('Loading …');
      loaded[provider] ??= await load(provider, read);
      await showDraws(seed, await loaded[provider](seed));
      document.body.dataset.shown = `${provider} ${seed}`;
      status('');
    }
  } catch (error) {
    status(error.message, { isWrong: true });
  } finally {
    isBusy = false;
  }
}

let asked; // the seed and the provider

function ask(seed, provider) {
  asked = { seed, provider };
  const address = new URLSearchParams({ seed, on: provider });
  history.replaceState(null, '', `?${address}`);
  draw();
}

function asks() {
  const text = element('seed').value.trim();
  const isSeed = /^[0-9]+$/.test(text) && BigInt(text) <= MAX_SEED;
  element('seed').setAttribute('aria-invalid', !isSeed);
  if (isSeed) ask(BigInt(text), providers.find((choice) => choice.checked).value);
  else status(`A seed is a whole number from 0 to ${MAX_SEED}.`, { isWrong: true });
}

function step(by) {
  const seed = asked.seed + by;
  if (seed < 0n || seed > MAX_SEED) return;
  element('seed').value = seed;
  asks();
}

for (const name of ['words', 'noise']) {
  element(`${name}-hashes`).append(element('hashes').content.cloneNode(true));
}
element('form').addEventListener('submit', (event) => event.preventDefault());
element('form').addEventListener('input', asks);
element('previous').addEventListener('click', () => step(-1n));
element('following').addEventListener('click', () => step(1n));
element('any').addEventListener('click', () => {
  // Of the seeds whose hashes Python has computed.
  const seeds = Object.keys(python);
  element('seed').value = seeds[Math.floor(Math.random() * seeds.length)];
  asks();
});

let python = {};
try {
  python = JSON.parse(new TextDecoder().decode(await read('python.json')));
} catch (error) {
  status(error.message, { isWrong: true });
  throw error;
}
const given = new URLSearchParams(location.search);
const hasGpu = Boolean(await navigator.gpu?.requestAdapter());
const [wasm, webgpu] = providers;
webgpu.disabled = !hasGpu;
webgpu.parentElement.title = hasGpu ? '' : 'This browser has no WebGPU here';
(hasGpu && given.get('on') === 'webgpu' ? webgpu : wasm).checked = true;
element('seed').value = given.get('seed') ?? '42';
asks();
