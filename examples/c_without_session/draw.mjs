// The same latent as main.c draws, in Node.js by way of koffi: node draw.mjs LIBRARY SEED
//
// LIBRARY is the file that `onnx-philox path onnxruntime` prints. No session is loaded, and no ONNX Runtime.
import koffi from "koffi";

// Of the header onnx_philox.h of the same release.
const ONNX_PHILOX_API_VERSION = 2;
const [path, seed] = process.argv.slice(2);
const library = koffi.load(path);
koffi.struct("onnx_philox_input", {
  name: "const char *", type: "const char *", shape: "const int64_t *", rank: "size_t", data: "const void *",
});
koffi.struct("onnx_philox_attribute", { name: "const char *", text: "const char *", integer: "int64_t" });
koffi.struct("onnx_philox_output", { data: "void *", bytes: "size_t" });
koffi.struct("onnx_philox_call", {
  version: "uint32_t", flags: "uint32_t", op_type: "const char *",
  inputs: "const onnx_philox_input *", input_count: "size_t",
  attributes: "const onnx_philox_attribute *", attribute_count: "size_t",
  outputs: "const onnx_philox_output *", output_count: "size_t",
});
const run = library.func("int onnx_philox_run(const onnx_philox_call *call, void *error, size_t error_size)");

// What PhiloxState.for_run(seed) is: a counter of four words, and the seed.
const key = BigInt.asUintN(64, BigInt(seed));
const state = new Uint32Array([0, 0, 0, 0, Number(key & 0xffffffffn), Number(key >> 32n)]);
const latent = new Float32Array(1 * 4 * 64 * 64);

const input = (name, type, shape, data) => ({ name, type, shape, rank: shape.length, data });
const inputs = [
  input("shape", "i64", [4], new BigInt64Array([1n, 4n, 64n, 64n])),
  input("mean", "f32", [], new Float32Array([0])),
  input("scale", "f32", [], new Float32Array([1])),
  input("state", "u32", [6], state),
];
const attributes = [{ name: "output_type", text: "f32", integer: 0 }];
// The next state replaces the state: the next call goes on from here.
const outputs = [latent, state].map((data) => ({ data, bytes: data.byteLength }));
const error = Buffer.alloc(512);
const call = {
  version: ONNX_PHILOX_API_VERSION, flags: 0, op_type: "RandomNormal",
  inputs, input_count: inputs.length,
  attributes, attribute_count: attributes.length,
  outputs, output_count: outputs.length,
};
if (run(call, error, error.length) !== 0) {
  console.error(error.toString("utf8", 0, error.indexOf(0)));
  process.exit(1);
}

let hash = 14695981039346656037n; // FNV-1a
for (const byte of new Uint8Array(latent.buffer)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n);
console.log(`${latent[0]} ${latent[1]}, hash ${hash.toString(16).padStart(16, "0")}`);
