// Inputs that are given or made up, and hashes of tensors: as `onnx-philox run` has them.
import { bits } from 'philox-state';

const ARRAYS = {
  float16: Uint16Array, float32: Float32Array, float64: Float64Array,
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
    return array.map((_, i) => stored(floats[i] - 1, type));
  }
  return array.fill(type.includes('int64') ? 1n : 1);
}

/**
 * The array and the dimensions of a text: numbers, or nested lists of them.
 *
 * @throws Error if the lists have unequal lengths, or if the type cannot hold a number. Floats are
 * rounded, as Python rounds them.
 */
export function parsed({ name, type }, text) {
  const wanted = `${name} must be numbers such as 0.5, or lists of equal lengths such as [[1, 2]]`;
  const value = readJson(type, text, wanted);
  const dims = [];
  for (let inner = value; Array.isArray(inner); [inner] = inner) dims.push(inner.length);
  const flat = [];
  if (!flatten(value, dims, flat)) throw new Error(`${wanted}: got ${text}.`);
  const array = arrayOf(name, type, flat.length);
  flat.forEach((each, i) => {
    const number = stored(each, type);
    if (number !== null) array[i] = number;
    if (number === null || !holds(array[i], each, type)) {
      throw new Error(`${name} must be of the type ${type}: got ${each}.`);
    }
  });
  return { data: array, dims };
}

/** Puts the numbers of nested lists in a row; false if they do not have these dimensions. */
function flatten(value, [size, ...inner], flat) {
  if (size !== undefined) {
    return Array.isArray(value) && value.length === size && value.every((each) => flatten(each, inner, flat));
  }
  if (!['number', 'bigint', 'boolean'].includes(typeof value)) return false;
  flat.push(typeof value === 'boolean' ? Number(value) : value);
  return true;
}

const WHOLE = /^-?\d+$/;

/** JSON, whose whole numbers are exact for a type of 64 bits. */
function readJson(type, text, wanted) {
  try {
    if (text.includes('"')) throw new Error('a text is no number');
    if (!type.includes('int64')) return JSON.parse(text);
    const quoted = text.replace(/-?\d[\d.eE+-]*/g, '"$&"');
    return JSON.parse(quoted, (_, value) => {
      if (typeof value !== 'string') return value;
      const number = JSON.parse(value);
      return WHOLE.test(value) ? BigInt(value) : number;
    });
  } catch {
    throw new Error(`${wanted}, or nothing: got ${text}.`);
  }
}

/** A number as an array of the type takes it; null if it takes none such. */
function stored(number, type) {
  if (type === 'float16') return float16(number);
  if (!type.includes('int64') || typeof number === 'bigint') return number;
  return Number.isInteger(number) ? BigInt(number) : null;
}

/** Whether what an array holds is the number: for floats the nearest, which is finite if the number is. */
function holds(held, number, type) {
  if (type === 'bool') return number === 0 || number === 1;
  if (!type.startsWith('float')) return held == number; // a BigInt equals a number of its value
  return !Number.isFinite(number) || Number.isFinite(type === 'float16' ? fromFloat16(held) : held);
}

/** The bits of the float16 that is nearest to a number; of two, the even one. */
function float16(number) {
  const sign = number < 0 || Object.is(number, -0) ? 0x8000 : 0;
  const size = Math.abs(number);
  if (size === Infinity) return sign | 0x7c00;
  const exponent = Math.max(Math.floor(Math.log2(size || 2 ** -14)), -14);
  const steps = even(size * 2 ** (10 - exponent)); // 1024 to 2048, less for a subnormal number
  return sign | Math.min(steps + (exponent + 14) * 1024, 0x7c00);
}

const even = (x) => (x % 1 === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

function fromFloat16(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/** The numbers of a tensor. Browsers without Float16Array have a float16 as its bits. */
export const valuesOf = ({ data, type }) =>
  type === 'float16' && data instanceof Uint16Array ? Float32Array.from(data, fromFloat16) : data;

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
