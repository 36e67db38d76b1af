// Philox4x32-10, and which words of which state an element draws from. OpenVINO puts this file before those of a layer.
// custom_ops/core/kernels/philox.h is the same in C++; tests/experimental/test_gpu_kernels.py compares the numbers.
//
// A product and a sum are two roundings: nothing may join them.
#pragma OPENCL FP_CONTRACT OFF

#define ROUNDS 10
#define WORDS_PER_BLOCK 4
#define STATE_WORDS 6
#define MULTIPLIER0 0xD2511F53u
#define MULTIPLIER2 0xCD9E8D57u
#define WEYL0 0x9E3779B9u
#define WEYL1 0xBB67AE85u

typedef struct {
  ulong low, high; // the counter
  ulong key;
} State;

ulong joined(uint low, uint high) { return (ulong)high << 32 | low; }

// The state of a row.
State state_of(const __global int *states, uint row) {
  const __global int *words = states + row * STATE_WORDS;
  State state;
  state.low = joined(words[0], words[1]);
  state.high = joined(words[2], words[3]);
  state.key = joined(words[4], words[5]);
  return state;
}

// The counter + blocks, modulo 2^128.
State advanced(State state, ulong blocks) {
  state.low += blocks;
  state.high += state.low < blocks;
  return state;
}

uint4 philox(State state) {
  uint c0 = state.low, c1 = state.low >> 32, c2 = state.high, c3 = state.high >> 32;
  uint k0 = state.key, k1 = state.key >> 32;
  for (int round = 0; round < ROUNDS; ++round) {
    const uint high0 = mul_hi(MULTIPLIER0, c0), low0 = MULTIPLIER0 * c0;
    const uint high2 = mul_hi(MULTIPLIER2, c2), low2 = MULTIPLIER2 * c2;
    c0 = high2 ^ c1 ^ k0;
    c1 = low2;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 += WEYL0;
    k1 += WEYL1;
  }
  return (uint4)(c0, c1, c2, c3);
}

// Word i of what a state draws. Each work item computes a whole block for it.
uint word_at(State state, uint i) {
  const uint4 block = philox(advanced(state, i / WORDS_PER_BLOCK));
  return i & 2 ? (i & 1 ? block.w : block.z) : (i & 1 ? block.y : block.x);
}

// How many elements a tensor has, by the dimensions that OpenVINO defines.
#define ELEMENTS(DIMS) ((ulong)(DIMS)[0] * (DIMS)[1] * (DIMS)[2] * (DIMS)[3])
#define ROWS (ELEMENTS(INPUT0_DIMS) / STATE_WORDS)
