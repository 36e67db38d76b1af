// node run_in_node.mjs EXAMPLE FOLDER: runs FOLDER/model.onnx once in ONNX Runtime Web's WebAssembly.
// FOLDER/feeds.json lists the inputs, as name, type and dims; their bytes are in FOLDER/NAME.in. The
// outputs go to FOLDER/NAME.out.
import fs from 'node:fs/promises';
import path from 'node:path';
import { createRequire } from 'node:module';

const ARRAYS = { float32: Float32Array, uint32: Uint32Array, int64: BigInt64Array };

const [example, folder] = process.argv.slice(2);
const ort = createRequire(path.resolve(example, 'draw.mjs'))('onnxruntime-web/wasm');
ort.env.wasm.numThreads = 1;
const read = (name) => fs.readFile(path.join(folder, name));
const session = await ort.InferenceSession.create(await read('model.onnx'), { executionProviders: ['wasm'] });
const feeds = {};
for (const { name, type, dims } of JSON.parse(await read('feeds.json'))) {
  const { buffer, byteOffset, byteLength } = await read(`${name}.in`);
  feeds[name] = new ort.Tensor(type, new ARRAYS[type](buffer.slice(byteOffset, byteOffset + byteLength)), dims);
}
const outputs = await session.run(feeds);
for (const [name, { data }] of Object.entries(outputs)) {
  await fs.writeFile(path.join(folder, `${name}.out`), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}
