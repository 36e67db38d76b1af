// The generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", SC11).
//
// One block is four 32-bit words, a pure function of a 128-bit counter and a 64-bit key. This file knows nothing of
// output types, instruction sets or threads.
//
// It is included by files that are compiled for different instruction sets. Every function here is therefore `static
// inline` and every type a plain aggregate: an external inline function would be merged across those files by the
// linker, which could pick the copy compiled for AVX-512 and run it on a processor without. (A member function that such
// a file calls is ONNX_PHILOX_INLINE, so that an unoptimised build has no copy of it either.)
#pragma once

#include <cstdint>

namespace onnx_philox {

constexpr int kRounds = 10;
constexpr int kWordsPerBlock = 4;

// The multipliers of word 0 and word 2, and what the two key words grow by each round (the golden ratio and sqrt(3) - 1
// as 32-bit fractions).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53u;
constexpr std::uint32_t kMultiplier2 = 0xCD9E8D57u;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9u;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85u;

/// A 128-bit block number. Word 0 of the generator's input is the low half of `low`.
struct Counter {
  std::uint64_t low;
  std::uint64_t high;
};

constexpr int kStateWords = 6;

/// Where to draw (counter) and which function to draw from (key; key word 0 is its low half).
struct State {
  Counter counter;
  std::uint64_t key;
};

/// Four words in stream order.
struct Block {
  std::uint32_t word[kWordsPerBlock];
};

/// counter + blocks, modulo 2^128.
static inline Counter Add(Counter counter, std::uint64_t blocks) {
  const std::uint64_t low = counter.low + blocks;
  return Counter{low, counter.high + (low < blocks ? 1u : 0u)};
}

static inline std::uint32_t Low32(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
static inline std::uint32_t High32(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }
static inline std::uint64_t Join(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

/// 32 x 32 -> 64 bits.
static inline std::uint64_t MultiplyWide(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint64_t>(a) * b;
}

/// The key words of round `round` (0 to 9).
static inline std::uint32_t RoundKey0(std::uint64_t key, int round) {
  return Low32(key) + static_cast<std::uint32_t>(round) * kWeyl0;
}
static inline std::uint32_t RoundKey1(std::uint64_t key, int round) {
  return High32(key) + static_cast<std::uint32_t>(round) * kWeyl1;
}

/// One block, as the paper writes it: the definition that every kernel must equal.
static inline Block Philox(Counter counter, std::uint64_t key) {
  std::uint32_t c0 = Low32(counter.low), c1 = High32(counter.low);
  std::uint32_t c2 = Low32(counter.high), c3 = High32(counter.high);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = MultiplyWide(kMultiplier0, c0);
    const std::uint64_t p2 = MultiplyWide(kMultiplier2, c2);
    c0 = High32(p2) ^ c1 ^ RoundKey0(key, round);
    c1 = Low32(p2);
    c2 = High32(p0) ^ c3 ^ RoundKey1(key, round);
    c3 = Low32(p0);
  }
  return Block{{c0, c1, c2, c3}};
}

}  // namespace onnx_philox
