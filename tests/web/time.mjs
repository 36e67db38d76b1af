// node time.mjs ADDRESS PEER: milliseconds of the page's words and of a peer (a model in base64), in
// turn, with each provider, as JSON.
import { launch } from './chromium.mjs';

const [address, peer] = process.argv.slice(2);
const browser = await launch();
const times = {};
for (const provider of ['wasm', 'webgpu']) {
  const page = await browser.newPage();
  await page.goto(`${address}README.md`); // of the same origin, and idle
  times[provider] = await page.evaluate(async ({ provider, peer }) => {
    const ort = await import(`/node_modules/onnxruntime-web/dist/ort.${provider}.min.mjs`);
    ort.env.wasm.numThreads = 1;
    const draws = await (await fetch('/models/draws.json')).json();
    const forced = { name: provider, forceCpuNodeNames: draws.words };
    const executionProviders = [provider === 'webgpu' ? forced : provider];
    const open = (model) =>
      ort.InferenceSession.create(model, { executionProviders, logSeverityLevel: 3 });
    const words = await open('/models/words.onnx');
    const other = await open(Uint8Array.from(atob(peer), (c) => c.charCodeAt(0)));
    const state = new ort.Tensor('uint32', Uint32Array.of(0, 0, 0, 0, 42, 0), [6]);
    const timed = async (run) => {
      const begin = performance.now();
      await run();
      return performance.now() - begin;
    };
    const pairs = [];
    for (let i = 0; i < 105; i++) {
      pairs.push([await timed(() => words.run({ state })), await timed(() => other.run({}))]);
    }
    return pairs.slice(5); // the first compile
  }, { provider, peer });
  await page.close();
}
await browser.close();
console.log(JSON.stringify(times));
