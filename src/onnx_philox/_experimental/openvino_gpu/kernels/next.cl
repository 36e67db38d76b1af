// A layer for the next states: (states int32[.., 6], values) -> int32 of the states' number of elements.
__kernel void next(const __global int *states, const __global void *values, __global int *out) {
  const uint word = get_global_id(0), row = word / STATE_WORDS;
  const ulong elements = ELEMENTS(INPUT1_DIMS) / ROWS;
  const State state = state_of(states, row);
  const State after = advanced(state, (elements + WORDS_PER_BLOCK - 1) / WORDS_PER_BLOCK);
  const ulong pairs[] = {after.low, after.high, after.key};
  out[word] = pairs[word % STATE_WORDS / 2] >> (word & 1) * 32;
}
