// The page: a model in, its draws and outputs out, with the hashes that Python prints.
import { forRun, MAX_SEED, rowStates } from 'philox-state';
import { metadataOf } from './model-file.mjs';
import { madeUp, parsed, pictureOf, sha256, valuesOf } from './tensors.mjs';

const MOST_NUMBERS = 24;
const MOST_PICTURES = 36;
const SHOWN = 12; // digits of a hash, in what `onnx-philox run` prints
const element = (id) => document.getElementById(id);
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

let model = null; // the name, the bytes, what the metadata say, and sessions by provider
let isBusy = false;

function status(text, { isWrong = false } = {}) {
  element('status').textContent = text;
  element('status').classList.toggle('wrong', isWrong);
}

/** Takes a file, or says what to do with another. */
async function take(file) {
  for (const id of ['form', 'about', 'python']) element(id).hidden = true;
  element('tensors').replaceChildren();
  delete document.body.dataset.shown;
  model = null;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let metadata;
  try {
    metadata = metadataOf(bytes);
  } catch {
    throw new Error(`${file.name} must be an ONNX file, but is not one. Choose another.`);
  }
  if (!metadata['onnx_philox.web']) {
    const output = file.name.replace(/(\.onnx)?$/, '-web.onnx');
    throw new Error(`${file.name} is not made for this page. Run this command, and drop what it writes: `
      + `onnx-philox rewrite ${quoted(file.name)} -o ${quoted(output)} --standard --target web`);
  }
  const web = JSON.parse(metadata['onnx_philox.web']);
  const streams = JSON.parse(metadata['onnx_philox.streams'] ?? '{"nodes":[]}');
  model = { name: file.name, bytes, web, streams, sessions: {} };
  status('Loading …');
  await sessionOf('wasm');
  describe();
  await run();
}

/** The session of a provider; nodes that draw stay in WebAssembly, as a GPU rounds in its own way. */
async function sessionOf(provider) {
  if (!model.sessions[provider]) {
    const ort = await import(`onnxruntime-web/${provider}`);
    ort.env.wasm.numThreads = 1;
    const options = provider === 'webgpu' ? { name: provider, forceCpuNodeNames: model.web.nodes } : provider;
    const session = await ort.InferenceSession.create(model.bytes,
      { executionProviders: [options], logSeverityLevel: 3 });
    model.sessions[provider] = { ort, session };
  }
  return model.sessions[provider];
}

/** The inputs beside the state: name, type and shape, whose open dimensions are names. */
const inputsOf = (session) =>
  session.inputMetadata.filter((input) => input.name !== model.streams.state);

function describe() {
  const { session } = model.sessions.wasm;
  const operators = new Map(model.web.draws.map(({ output, operator }) => [output, operator]));
  const rows = [...operators].map(([output, operator]) => `${operator}: ${output}`);
  const inside = model.streams.nodes.length - operators.size;
  if (inside > 0) rows.push(`${inside} more inside If, Loop or Scan, which are no outputs`);
  if (!rows.length) rows.push('This model draws nothing.');
  element('draws').replaceChildren(...rows.map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
  element('inputs').replaceChildren(...inputsOf(session).map(({ name, type, shape }) => {
    const label = document.createElement('label');
    const field = document.createElement('input');
    Object.assign(field, { name, placeholder: 'made up, or [[1, 2]]', spellcheck: false });
    // PyTorch's names of open dimensions say nothing.
    const dims = shape.map((size) => (/^s[0-9]+$/.test(size) ? 'any' : size));
    label.append(`${name}: ${type}[${dims.join(', ')}]`, field);
    return label;
  }));
  element('seed').disabled = !session.inputNames.includes(model.streams.state);
  for (const id of ['form', 'about']) element(id).hidden = false;
}

/** What the model is fed, and the words of the command that feed the same. */
function feedsOf(ort, session) {
  const feeds = {};
  const words = [];
  const sizes = {}; // of open dimensions, by name
  const waiting = [];
  for (const input of inputsOf(session)) {
    const text = element('inputs').querySelector(`[name="${CSS.escape(input.name)}"]`).value.trim();
    if (!text) {
      waiting.push(input);
      continue;
    }
    const { data, dims } = parsed(input, text);
    const fits = dims.length === input.shape.length
      && input.shape.every((size, i) => typeof size !== 'number' || size === dims[i]);
    if (!fits) {
      throw new Error(`${input.name} must have the shape [${input.shape.join(', ')}]: got [${dims.join(', ')}].`);
    }
    input.shape.forEach((size, i) => { if (typeof size === 'string') sizes[size] = dims[i]; });
    feeds[input.name] = new ort.Tensor(input.type, data, dims);
    words.push('--input', `${input.name}=${text}`);
  }
  waiting.forEach((input, number) => {
    const dims = input.shape.map((size) => (typeof size === 'number' ? size : sizes[size] ?? 1));
    feeds[input.name] = new ort.Tensor(input.type, madeUp(input, number, dims), dims);
  });
  if (waiting.length) words.push('--fill');
  const { state, batch } = model.streams;
  if (session.inputNames.includes(state)) {
    const text = element('seed').value.trim();
    if (!/^[0-9]+$/.test(text) || BigInt(text) > MAX_SEED) {
      throw new Error(`The seed must be a whole number from 0 to ${MAX_SEED}: got ${text || 'nothing'}.`);
    }
    const seed = BigInt(text);
    const rows = batch ? feeds[batch]?.dims[0] ?? 1 : null;
    const { shape } = session.inputMetadata.find((input) => input.name === state);
    const dims = batch ? [rows, 6] : shape.map((size) => (typeof size === 'number' ? size : 1));
    const data = batch ? rowStates(seed, Array.from({ length: rows }, (_, row) => row)) : forRun(seed);
    feeds[state] = new ort.Tensor('uint32', data, dims);
    words.unshift('--seed', String(seed));
  }
  return { feeds, command: ['onnx-philox', 'run', model.name, ...words].map(quoted).join(' ') };
}

async function run() {
  if (!model || isBusy) return;
  isBusy = true;
  delete document.body.dataset.shown;
  try {
    const provider = new FormData(element('form')).get('provider');
    const { ort, session } = await sessionOf(provider);
    const { feeds, command } = feedsOf(ort, session);
    status('Running …');
    const begin = performance.now();
    const outputs = await session.run(feeds);
    const milliseconds = performance.now() - begin;
    const drawn = new Map(model.web.draws.map(({ output, operator }) => [output, operator]));
    const names = Object.keys(outputs).sort((a, b) => drawn.has(b) - drawn.has(a));
    element('tensors').replaceChildren(
      ...await Promise.all(names.map((name) => card(name, outputs[name], drawn.get(name)))));
    element('command').textContent = command;
    element('python').hidden = false;
    status(`${model.name} ran in ${milliseconds.toFixed(1)} ms.`);
    document.body.dataset.shown = `${provider} ${element('seed').value.trim()}`;
  } finally {
    isBusy = false;
  }
}

/** A tensor as a picture or as numbers, with its hash. */
async function card(name, tensor, operator) {
  const article = element('tensor').content.cloneNode(true).firstElementChild;
  article.dataset.name = name;
  article.querySelector('h2').textContent = name;
  let kind = 'computed by the model: each runtime rounds in its own way';
  if (operator) kind = `drawn by ${operator}: the same bits in every runtime`;
  else if (name === model.streams.next_state) kind = 'the state of the next run';
  article.querySelector('p').textContent = `${tensor.type}[${tensor.dims.join(', ')}], ${kind}.`;
  const hash = await sha256(tensor);
  const first = document.createElement('strong');
  first.textContent = hash.slice(0, SHOWN);
  article.querySelector('.here').append(first, hash.slice(SHOWN));
  article.classList.toggle('drawn', Boolean(operator));
  const picture = pictureOf(tensor);
  const [canvas, numbers] = [article.querySelector('canvas'), article.querySelector('.numbers')];
  (picture ? numbers : canvas).remove();
  if (picture) show(canvas, picture, tensor);
  else numbers.textContent = listed(tensor);
  canvas.ariaLabel = `${name} as a picture`;
  return article;
}

function listed(tensor) {
  const [data, { type }] = [valuesOf(tensor), tensor];
  const shown = Array.from(data.slice(0, MOST_NUMBERS), (value) =>
    type.startsWith('float') ? Number(value).toPrecision(6) : String(value));
  const more = data.length - shown.length;
  return shown.join('  ') + (more > 0 ? `\nand ${more.toLocaleString('en')} more` : '');
}

/** Images side by side, from the smallest value in black to the largest in white. */
function show(canvas, { height, width, channels, isLast, many }, tensor) {
  const data = valuesOf(tensor);
  const shown = Math.min(many, MOST_PICTURES);
  const across = Math.ceil(Math.sqrt(shown * height / width));
  const gap = shown > 1 ? 1 : 0;
  canvas.width = across * (width + gap) - gap;
  canvas.height = Math.ceil(shown / across) * (height + gap) - gap;
  canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
  let [low, high] = [Infinity, -Infinity];
  for (const value of data) {
    if (Number(value) < low) low = Number(value);
    if (Number(value) > high) high = Number(value);
  }
  const level = (value) => (255 * (Number(value) - low)) / (high - low || 1);
  const context = canvas.getContext('2d');
  for (let image = 0; image < shown; image++) {
    const pixels = new ImageData(width, height);
    for (let i = 0; i < height * width; i++) {
      for (let c = 0; c < 3; c++) {
        const channel = channels === 3 ? c : 0;
        const place = isLast ? i * channels + channel : channel * height * width + i;
        pixels.data[4 * i + c] = level(data[image * channels * height * width + place]);
      }
      pixels.data[4 * i + 3] = 255;
    }
    context.putImageData(pixels, (image % across) * (width + gap), Math.floor(image / across) * (height + gap));
  }
}

/** Does something, and says what went wrong. */
async function tell(action) {
  try {
    await action();
  } catch (error) {
    status(error.message, { isWrong: true });
  }
}

element('file').addEventListener('change', ({ target }) => {
  if (target.files[0]) tell(() => take(target.files[0]));
});
element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  tell(run);
});
element('form').addEventListener('change', () => tell(run));
for (const type of ['dragover', 'dragleave', 'drop']) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    element('drop').classList.toggle('over', type === 'dragover');
    const [file] = event.dataTransfer?.files ?? [];
    if (type === 'drop' && file) tell(() => take(file));
  });
}
const webgpu = document.querySelector('[value=webgpu]');
webgpu.disabled = !(await navigator.gpu?.requestAdapter());
webgpu.parentElement.title = webgpu.disabled ? 'This browser has no WebGPU here' : '';
document.body.dataset.ready = 'yes';
