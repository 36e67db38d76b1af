// States of the Philox generator, from a seed: the same words as `onnx_philox.PhiloxState` makes in
// Python. A state is a Uint32Array of [c0, c1, c2, c3, k0, k1]: the counter and the key, each with
// its least significant word first.

/** The words of a state. */
export const STATE_WORDS = 6;

/** The largest seed: the generator's key has 64 bits. */
export const MAX_SEED = 2n ** 64n - 1n;

const MAX_WORD = 2n ** 32n - 1n;
const MULTIPLIERS = [0xd2511f53n, 0xcd9e8d57n];
const WEYL = [0x9e3779b9n, 0xbb67ae85n];
const ROUNDS = 10;

/** A seed from the operating system, as a BigInt. */
export const newSeed = () => crypto.getRandomValues(new BigUint64Array(1))[0];

/** The state of a run of a seed: `PhiloxState.for_run(seed, run)`. */
export const forRun = (seed, run = 0) => rowStates([seed], [0], run);

/**
 * A state for each row: `row_states(seeds, rows, run)`.
 *
 * Pass one seed for all rows or one for each, and likewise the rows' numbers. The result has six words
 * for each row, one row after the other: the data of a tensor of shape [rows, 6].
 */
export function rowStates(seeds, rows = 0, run = 0) {
  const keys = listed(seeds, 'seeds', MAX_SEED);
  const numbers = listed(rows, 'rows', MAX_WORD);
  const word = integer(run, 'run', MAX_WORD);
  const count = keys.length === 1 ? numbers.length : keys.length;
  if (numbers.length !== 1 && numbers.length !== count) {
    throw new RangeError(`seeds and rows must have equal lengths, or 1: got ${keys.length} and ${numbers.length}.`);
  }
  const states = new Uint32Array(count * STATE_WORDS);
  for (let i = 0; i < count; i++) {
    const key = keys.length === 1 ? keys[0] : keys[i];
    const row = numbers.length === 1 ? numbers[0] : numbers[i];
    states.set([0, Number(row), 0, Number(word), ...pair(key)], i * STATE_WORDS);
  }
  return states;
}

/** Child i of a state: `state.fold_in(i)`. Do not draw from the state as well. */
export function foldIn(state, i) {
  const [low, high] = numbersOf(state);
  const index = integer(i, 'i', MAX_SEED);
  const [w0, w1, w2, w3] = block(low + index, high);
  return Uint32Array.of(w2, w3, 0, 0, w0, w1);
}

/** The children 0 to n-1 of a state: `state.split(n)`. Do not draw from the state as well. */
export const split = (state, n) =>
  Array.from({ length: Number(integer(n, 'n', MAX_WORD)) }, (_, i) => foldIn(state, i));

/** The state after so many words have been drawn: `state.advance(words)`. */
export function advance(state, words) {
  const [counter, key] = numbersOf(state);
  const blocks = (integer(words, 'words', 2n ** 130n) + 3n) / 4n;
  return Uint32Array.from([...quad(counter + blocks), ...pair(key)]);
}

/** The words that are drawn from a state: what RandomGenerator gives. */
export function bits(state, count) {
  const [counter, key] = numbersOf(state);
  const words = new Uint32Array(Number(integer(count, 'count', MAX_WORD)));
  for (let i = 0; i < words.length; i += 4) {
    words.set(block(counter + BigInt(i / 4), key).slice(0, words.length - i), i);
  }
  return words;
}

/** One block of Philox4x32-10: four words. */
function block(counter, key) {
  let [c0, c1, c2, c3] = quad(counter).map(BigInt);
  let [k0, k1] = pair(key).map(BigInt);
  for (let round = 0; round < ROUNDS; round++) {
    const one = c0 * MULTIPLIERS[0];
    const other = c2 * MULTIPLIERS[1];
    [c0, c1, c2, c3] = [
      (other >> 32n) ^ c1 ^ k0, other & MAX_WORD, (one >> 32n) ^ c3 ^ k1, one & MAX_WORD,
    ];
    k0 = (k0 + WEYL[0]) & MAX_WORD;
    k1 = (k1 + WEYL[1]) & MAX_WORD;
  }
  return [c0, c1, c2, c3].map(Number);
}

/** The counter and the key of a state, as BigInt. */
function numbersOf(state) {
  const isState = ArrayBuffer.isView(state) || Array.isArray(state);
  if (!isState || state.length !== STATE_WORDS) {
    throw new TypeError(`state must be six words, such as forRun(42): got ${state?.length ?? typeof state}.`);
  }
  const words = Array.from(state, (word) => integer(word, 'each word of state', MAX_WORD));
  const joined = (part) => part.reduceRight((sum, word) => (sum << 32n) | word, 0n);
  return [joined(words.slice(0, 4)), joined(words.slice(4))];
}

const pair = (number) => [Number(number & MAX_WORD), Number((number >> 32n) & MAX_WORD)];
const quad = (number) => [...pair(number), ...pair(number >> 64n)];

const listed = (given, name, largest) =>
  (typeof given === 'object' && given !== null ? Array.from(given) : [given]).map((each) =>
    integer(each, name, largest));

function integer(given, name, largest) {
  const isWhole = typeof given === 'bigint' || Number.isSafeInteger(given);
  if (!isWhole || BigInt(given) < 0n || BigInt(given) > largest) {
    const unsafe = typeof given === 'number' && given > Number.MAX_SAFE_INTEGER
      ? ' Above 2^53 write a BigInt, such as 42n: a number is rounded there.' : '';
    throw new RangeError(`${name} must be a whole number from 0 to ${largest}: got ${String(given)}.${unsafe}`);
  }
  return BigInt(given);
}
