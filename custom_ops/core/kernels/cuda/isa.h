// A thread of a grid in the place of an instruction set: the `Isa` of engine.h.
//
// Its group is one block of the generator, and neighbouring threads draw neighbouring blocks.
//
// Internal: included only by kernels.cu.
#pragma once

#include "rejection.h"
#include "rules.h"
#include "scalar.h"

namespace onnx_philox {
namespace {

/// Operations on floats and integers are those of plain C++. Products are their halves: a 64-bit product of two words
/// would be multiplied with 64 bits each.
struct Cuda : Scalar {
  struct Product {
    std::uint32_t low, high;
  };
  static constexpr unsigned kGroups = 1;  // what hides latencies here are other threads

  static Product Multiply(Lane a, Lane b) { return Product{a * b, __umulhi(a, b)}; }
  static Lane High(Product p) { return p.high; }
  static Lane Low(Product p) { return p.low; }

  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const Words first{p2.high ^ c1 ^ key0, p2.low}, second{p0.high ^ c3 ^ key1, p0.low};
    words[0] = kSwapped ? Words{first.second, first.first} : first;
    words[1] = kSwapped ? Words{second.second, second.first} : second;
  }

  // One instruction of the card, but for NaN, of which it makes other bits.
  static Lane F16(Lane word) {
    const float x = F32FromBits(word);
    std::uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
    return x != x ? 0x7E00u : half;
  }
  static Lane RoundedToF16(Lane word) { return BitCast<Lane>(F32FromF16(F16(word))); }
  static Words RoundToF16(Words x) { return Words{RoundedToF16(x.first), RoundedToF16(x.second)}; }
  static Words NarrowToF16(Words a, Words b) {
    return Words{F16(a.first) | F16(a.second) << 16, F16(b.first) | F16(b.second) << 16};
  }

  using BF16 = BF16Rule<Cuda>;
};

}  // namespace

/// Those that an attempt rejects make the next one while the other threads of their warp wait.
template <>
struct BatchLimit<Cuda> {
  static constexpr unsigned kElements = 1;
};

}  // namespace onnx_philox
