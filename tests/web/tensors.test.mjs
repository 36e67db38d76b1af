// node --test tensors.test.mjs, beside `tensors.mjs` and its package `philox-state`: what the page for
// dropped models makes of a visitor's numbers. `onnx-philox run --input` takes and refuses the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { madeUp, parsed, valuesOf } from './tensors.mjs';

const of = (type, text) => parsed({ name: 'x', type }, text);
const lists = ({ data, dims }) => [Array.from(data), dims];

test('numbers and nested lists have their dimensions', () => {
  assert.deepEqual(lists(of('float32', '0.5')), [[0.5], []]);
  assert.deepEqual(lists(of('float32', '[[1,2],[3,4],[5,6]]')), [[1, 2, 3, 4, 5, 6], [3, 2]]);
  assert.deepEqual(lists(of('int8', '[[],[]]')), [[], [2, 0]]);
  assert.deepEqual(lists(of('bool', '[true,0]')), [[1, 0], [2]]);
  assert.deepEqual(lists(of('int32', '[1.0, -2e3]')), [[1, -2000], [2]]);
});

test('whole numbers of 64 bits are exact', () => {
  assert.deepEqual(lists(of('int64', '[9007199254740993,-9223372036854775808]')),
    [[9007199254740993n, -(2n ** 63n)], [2]]);
  assert.deepEqual(lists(of('uint64', '18446744073709551615')), [[2n ** 64n - 1n], []]);
});

for (const text of ['[[1,2],[3]]', '[[1,2],3]', '[1,[2]]', '[[1],[[2]]]', '[[1,2],[3,4,5],[6]]',
  '[null]', 'null', '["1"]', '{"a":1}', '[1,]', '', 'x', '1 2', '[[1,2],[]]']) {
  for (const type of ['float32', 'int64']) {
    test(`${type} refuses ${text}`, () => assert.throws(() => of(type, text), /x must be numbers such as/));
  }
}

for (const [type, text] of [
  ['int8', '128'], ['int8', '-129'], ['uint8', '-1'], ['uint8', '256'], ['int32', '2147483648'],
  ['uint32', '4294967296'], ['int64', '9223372036854775808'], ['uint64', '18446744073709551616'],
  ['uint64', '-1'], ['int32', '1.5'], ['int64', '1.5'], ['int64', '1e400'], ['bool', '2'],
  ['float32', '1e39'], ['float16', '65520'],
]) {
  test(`${type} refuses ${text}`, () =>
    assert.throws(() => of(type, `[0,${text}]`), new RegExp(`x must be of the type ${type}: got `)));
}

test('float16 has the bits of the nearest number', () => {
  const numbers = [1, -2.5, 0.1, 65504, 65519, 6e-8, 2 ** -25, 2 ** -14, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 0];
  const { data } = of('float16', JSON.stringify(numbers));
  assert.deepEqual(Array.from(data),
    [0x3c00, 0xc100, 0x2e66, 0x7bff, 0x7bff, 0x0001, 0x0000, 0x0400, 0x3c00, 0x3c02, 0]);
  const back = valuesOf({ type: 'float16', data: Uint16Array.of(0x3c00, 0xc100, 1, 0xfc00, 0x0400) });
  assert.deepEqual(Array.from(back), [1, -2.5, 2 ** -24, -Infinity, 2 ** -14]);
  const one = madeUp({ name: 'x', type: 'float16' }, 0, [3]);
  const same = madeUp({ name: 'x', type: 'float32' }, 0, [3]);
  valuesOf({ type: 'float16', data: one }).forEach((value, i) => assert.ok(Math.abs(value - same[i]) < 2 ** -12));
});
