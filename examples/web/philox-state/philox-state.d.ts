/** A whole number; from 2^53 on a BigInt, since a number is rounded there. */
export type Whole = number | bigint;

/** Six words, [c0, c1, c2, c3, k0, k1]: the counter and the key, least significant words first. */
export type State = Uint32Array;

/** The words of a state: 6. */
export const STATE_WORDS: 6;

/** The largest seed: 2^64-1. */
export const MAX_SEED: bigint;

/** A seed from the operating system. */
export function newSeed(): bigint;

/** The state of a run of a seed: `PhiloxState.for_run(seed, run)` in Python. */
export function forRun(seed: Whole, run?: Whole): State;

/**
 * A state for each row, six words after six words: `row_states(seeds, rows, run)` in Python. Pass one
 * seed for all rows or one for each, and likewise the rows' numbers.
 */
export function rowStates(seeds: Whole | Iterable<Whole>, rows?: Whole | Iterable<Whole>, run?: Whole): Uint32Array;

/** Child i of a state: `state.fold_in(i)` in Python. Do not draw from the state as well. */
export function foldIn(state: ArrayLike<number>, i: Whole): State;

/** The children 0 to n-1 of a state: `state.split(n)` in Python. Do not draw from the state as well. */
export function split(state: ArrayLike<number>, n: Whole): State[];

/** The state after so many words have been drawn: `state.advance(words)` in Python. */
export function advance(state: ArrayLike<number>, words: Whole): State;

/** The words that are drawn from a state: what RandomGenerator gives. */
export function bits(state: ArrayLike<number>, count: Whole): Uint32Array;
