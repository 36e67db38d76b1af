// Inputs that are given or made up, and hashes of tensors: as `onnx-philox run` has them.
import { bits } from 'philox-state';

const ARRAYS = {
  float32: Float32Array, float64: Float64Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
  bool: Uint8Array,
};
const MADE_UP = 2n ** 63n; // the key of the numbers that --fill makes

const count = (dims) => dims.reduce((product, size) => product * size, 1);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A tensor's hash, of its type, shape and bytes: what `onnx-philox run` prints. */
export async function sha256({ type, dims, data }) {
  const head = new TextEncoder().encode(`${type}[${Array.from(dims).join(', ')}]`);
  const body = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', all)));
}

/** The array that --fill makes up: floats from 0 to 1, always the same, and ones for other types. */
export function madeUp({ name, type }, number, dims) {
  const size = count(dims);
  const array = arrayOf(name, type, size);
  if (type.startsWith('float')) {
    const state = [0, 0, number, 0, 0, Number(MADE_UP >> 32n)];
    const words = bits(state, size);
    const floats = new Float32Array(words.map((word) => 0x3f800000 | (word & 0x7fffff)).buffer);
    return array.map((_, i) => floats[i] - 1);
  }
  return array.fill(type.includes('int64') ? 1n : 1);
}

/** The array and the dimensions of a text: numbers, or nested lists of them. */
export function parsed({ name, type }, text) {
  const value = readJson(name, text);
  const dims = [];
  for (let inner = value; Array.isArray(inner); [inner] = inner) dims.push(inner.length);
  const flat = [value].flat(Infinity).map(Number);
  if (flat.length !== count(dims) || flat.some(Number.isNaN)) {
    throw new Error(`${name} must be numbers, or lists of equal lengths of them: got ${text}.`);
  }
  const array = arrayOf(name, type, flat.length);
  flat.forEach((each, i) => { array[i] = type.includes('int64') ? BigInt(Math.trunc(each)) : each; });
  return { data: array, dims };
}

function readJson(name, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${name} must be numbers such as 0.5 or [[1, 2]], or nothing: got ${text}.`);
  }
}

function arrayOf(name, type, size) {
  if (!ARRAYS[type]) throw new Error(`${name} has the type ${type}, which this page cannot make.`);
  return new ARRAYS[type](size);
}

/** How a tensor is shown as a picture: its height, width, channels and how many; null for numbers. */
export function pictureOf({ type, dims }) {
  if (type === 'string' || dims.length < 2) return null;
  const isColour = (size) => size === 1 || size === 3;
  const before = (n) => count(dims.slice(0, n));
  const last = dims.length - 1;
  let [height, width, channels, isLast, many] = [dims[last - 1], dims[last], 1, false, before(last - 1)];
  if (dims.length >= 3 && isColour(dims[last])) {
    [height, width, channels, isLast, many] = [dims[last - 2], dims[last - 1], dims[last], true, before(last - 2)];
  } else if (dims.length >= 3 && isColour(dims[last - 2])) {
    [channels, many] = [dims[last - 2], before(last - 2)];
  }
  return height >= 4 && width >= 4 && many > 0 ? { height, width, channels, isLast, many } : null;
}
