// node int64.mjs ADDRESS EXAMPLE: runs int64/NAME.onnx of the example in WebGPU sessions that take 64-bit integers onto the
// GPU, which onnxruntime-web has no setting for, and with graph capture, which implies them. Prints the outputs' bytes.
import fs from 'node:fs/promises';
import path from 'node:path';
import { launch } from './chromium.mjs';

const [address, example] = process.argv.slice(2);
const folder = path.join(example, 'int64');
const files = await fs.readdir(folder);
const dist = path.join(example, 'node_modules', 'onnxruntime-web', 'dist', 'ort.webgpu.mjs');
const as_built = await fs.readFile(dist, 'utf8');
const mark = 'const webgpuOptions = ep;';
const patched = as_built.replace(mark,
  `${mark} if (webgpuOptions.int64) appendEpOption(epOptions, 'enableInt64', '1', allocs);`);
if (patched === as_built) throw new Error(`onnxruntime-web no longer has '${mark}'`);

const script = `
import * as ort from './node_modules/onnxruntime-web/dist/patched.mjs';
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const hex = ({ data }) => Array.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  (byte) => byte.toString(16).padStart(2, '0')).join('');
window.run = async (file, state, options) => {
  try {
    const session = await ort.InferenceSession.create('int64/' + file,
      { executionProviders: [{ name: 'webgpu', int64: options.int64 }], ...options.session });
    const feeds = { [session.inputNames[0]]: new ort.Tensor('uint32', Uint32Array.from(state), [6]) };
    const outputs = await session.run(feeds);
    await session.release();
    return session.outputNames.map((name) => hex(outputs[name]));
  } catch (error) {
    return String(error);
  }
};
window.ready = true;`;

const browser = await launch();
const page = await browser.newPage();
await page.route('**/patched.mjs', (route) => route.fulfill({ body: patched, contentType: 'text/javascript' }));
await page.route('**/int64.html', (route) =>
  route.fulfill({ body: `<script type="module">${script}</script>`, contentType: 'text/html' }));
await page.goto(`${address}int64.html`);
await page.waitForFunction(() => window.ready, null, { timeout: 120_000 });
const state = JSON.parse(await fs.readFile(path.join(folder, 'state.json'), 'utf8'));
const ways = { as_built: {}, int64: { int64: true }, captured: { session: { enableGraphCapture: true } } };
const results = {};
for (const [way, options] of Object.entries(ways)) {
  results[way] = {};
  for (const file of files.filter((name) => name.endsWith('.onnx'))) {
    const run = ([file, state, options]) => window.run(file, state, options);
    results[way][path.parse(file).name] = await page.evaluate(run, [file, state, options]);
  }
}
await browser.close();
console.log(JSON.stringify(results));
