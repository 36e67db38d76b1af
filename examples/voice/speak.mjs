// node speak.mjs voice-seed.onnx SEED OUTPUT: as speak.py, in ONNX Runtime Web's WebAssembly.
import fs from 'node:fs/promises';
import * as ort from 'onnxruntime-web/wasm';
import { forRun } from '../web/philox-state/philox-state.mjs';

const DRAWS = ['/RandomNormalLike_output_0', '/RandomNormalLike_1_output_0'];
const [model, seed, output] = process.argv.slice(2);

function fnv1a(bytes) {
  let found = 0xcbf29ce484222325n;
  for (const byte of bytes) found = BigInt.asUintN(64, (found ^ BigInt(byte)) * 0x100000001b3n);
  return found.toString(16).padStart(16, '0');
}

const bytesOf = ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create(await fs.readFile(model));
const found = await session.run({
  text: new ort.Tensor('int64', BigInt64Array.of(3n, 1n, 4n, 1n, 5n, 9n), [1, 6]),
  scales: new ort.Tensor('float32', Float32Array.of(0.667, 1, 0.8), [3]),
  random_state: new ort.Tensor('uint32', forRun(BigInt(seed)), [6]),
});
await fs.writeFile(output, bytesOf(found.wav));
console.log('draws:', fnv1a(Buffer.concat(DRAWS.map((name) => bytesOf(found[name])))));
console.log('wav:', found.wav.data.length, 'samples');
