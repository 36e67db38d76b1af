// MT19937 (Matsumoto, Nishimura: "Mersenne Twister", 1998), the generator of torch's CPU draws.
//
// Its state is 624 words, each of which gives one word before they are all renewed. A renewed word needs no renewed one
// nearer than 227 places before it, so a compiler makes vectors of what is a chain on paper.
//
// Included by the per-instruction-set files: see philox.h for why everything here is `static inline` or an aggregate.
#pragma once

#include <cstdint>

namespace onnx_philox {

constexpr unsigned kMtWords = 624, kMtAhead = 397, kMtIndependent = kMtWords - kMtAhead;

static inline std::uint32_t MtTwist(std::uint32_t first, std::uint32_t second) {
  const std::uint32_t mixed = (first & 0x80000000u) | (second & 0x7FFFFFFFu);
  return mixed >> 1 ^ ((0u - (second & 1u)) & 0x9908B0DFu);
}

static inline std::uint32_t MtTemper(std::uint32_t x) {
  x ^= x >> 11;
  x ^= x << 7 & 0x9D2C5680u;
  x ^= x << 15 & 0xEFC60000u;
  return x ^ x >> 18;
}

/// The state, and the words that it gives.
struct Mt19937 {
  std::uint32_t state[kMtWords];
  std::uint32_t words[kMtWords];
};

/// Makes the words of a state.
static inline void MtGive(Mt19937* mt) {
  for (unsigned i = 0; i < kMtWords; ++i) mt->words[i] = MtTemper(mt->state[i]);
}

/// Renews the state, and its words. The first stretch needs the old state alone; the second, what lies 227 places before.
static inline void MtRenew(Mt19937* mt) {
  constexpr unsigned kLast = kMtWords - 1;
  std::uint32_t* const state = mt->state;
  for (unsigned i = 0; i < kMtIndependent; ++i) {
    state[i] = state[i + kMtAhead] ^ MtTwist(state[i], state[i + 1]);
  }
  for (unsigned i = kMtIndependent; i < kLast; ++i) {
    state[i] = state[i - kMtIndependent] ^ MtTwist(state[i], state[i + 1]);
  }
  state[kLast] = state[kLast - kMtIndependent] ^ MtTwist(state[kLast], state[0]);
  MtGive(mt);
}

}  // namespace onnx_philox
