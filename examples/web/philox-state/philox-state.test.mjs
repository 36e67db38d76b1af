// node --test: every function against what Python made (vectors.json).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { advance, bits, foldIn, forRun, MAX_SEED, newSeed, rowStates, split } from 'philox-state';

const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url)));
const plain = (words) => Array.from(words);

test('runs', () => {
  for (const { seed, run, state } of vectors.runs) {
    assert.deepEqual(plain(forRun(BigInt(seed), run)), state);
  }
});

test('rows', () => {
  for (const { seeds, rows, run, states } of vectors.rows) {
    assert.deepEqual(plain(rowStates(seeds.map(BigInt), rows, run)), states.flat());
  }
  assert.deepEqual(plain(rowStates(42)), plain(forRun(42)));
});

test('children, later states and words', () => {
  for (const { state, children, folded, words, advanced } of vectors.states) {
    assert.deepEqual(split(state, children.length).map(plain), children);
    for (const [i, child] of Object.entries(folded)) {
      assert.deepEqual(plain(foldIn(state, BigInt(i))), child);
    }
    assert.deepEqual(plain(bits(state, words.length)), words);
    for (const [count, later] of Object.entries(advanced)) {
      assert.deepEqual(plain(advance(state, BigInt(count))), later);
    }
  }
});

test('what is wrong is refused in a sentence', () => {
  assert.throws(() => forRun(2 ** 53), /seeds must be a whole number.*write a BigInt/);
  assert.throws(() => forRun(MAX_SEED + 1n), /from 0 to 18446744073709551615/);
  for (const seed of [-1, 0.5, NaN, '7', null, undefined]) assert.throws(() => forRun(seed), RangeError);
  assert.throws(() => forRun(1, 2 ** 32), /run must be/);
  assert.throws(() => rowStates([1, 2], [1, 2, 3]), /must have equal lengths, or 1: got 2 and 3/);
  assert.throws(() => foldIn([1, 2], 0), /state must be six words/);
  assert.throws(() => foldIn([0, 0, 0, 0, 0, 2 ** 32], 0), /each word of state/);
});

test('seeds of the operating system differ', () => {
  assert.notEqual(newSeed(), newSeed());
});
