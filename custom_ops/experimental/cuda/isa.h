// A thread of a grid in the place of an instruction set: the `Isa` of engine.h.
//
// Its group is one block of the generator. Neighbouring threads draw neighbouring elements.
//
// Internal: included only by kernels.cu.
#pragma once

#include <cstdint>

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
  static constexpr unsigned kGroups = 1;

  static Product Multiply(Lane a, Lane b) { return Product{a * b, __umulhi(a, b)}; }
  static Lane High(Product p) { return p.high; }
  static Lane Low(Product p) { return p.low; }

  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const Words first{p2.high ^ c1 ^ key0, p2.low}, second{p0.high ^ c3 ^ key1, p0.low};
    words[0] = kSwapped ? Words{first.second, first.first} : first;
    words[1] = kSwapped ? Words{second.second, second.first} : second;
  }

  // Conversions and float16 arithmetic are instructions of the card, the latter of a pair of float16 at once. Nothing drawn
  // is a NaN, whose bits are others on a card: the numbers that scale it are finite.
  static Lane F16(Lane word) {
    std::uint16_t half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(F32FromBits(word)));
    return half;
  }
  static float F32OfF16(std::uint64_t bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<std::uint16_t>(bits)));
    return x;
  }
  static Lane PairOf(Lane a, Lane b) { return (a & 0xFFFFu) | b << 16; }
  static Lane PairOfF16(Words x) { return PairOf(F16(x.first), F16(x.second)); }
  static Lane AddPairs(Lane a, Lane b) {
    Lane sum;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
  }
  static Lane MultiplyPairs(Lane a, Lane b) {
    Lane product;
    asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
    return product;
  }
  static Words NarrowToF16(Words a, Words b) { return Words{PairOfF16(a), PairOfF16(b)}; }

  using BF16 = BF16Rule<Cuda>;
};

}  // namespace

// float16, whose operations round as the rules say: to float16, each.

template <>
struct F16<Cuda> : F32<Cuda> {
  using Standard = FractionRule<Cuda, 10>;
  static constexpr bool kIsNarrow = true;
  static float Round(float x) { return Cuda::F32OfF16(Cuda::F16(BitCast<std::uint32_t>(x))); }
  static float FromBits(std::uint64_t bits) { return Cuda::F32OfF16(bits); }
  static float Width(std::uint64_t minval, std::uint64_t maxval) { return Round(FromBits(maxval) - FromBits(minval)); }
  ONNX_PHILOX_INLINE Words Rounded(Words x) const {
    return Words{BitCast<std::uint32_t>(Round(F32FromBits(x.first))), BitCast<std::uint32_t>(Round(F32FromBits(x.second)))};
  }
  ONNX_PHILOX_INLINE Words Narrow(Words a, Words b) const { return Cuda::NarrowToF16(a, b); }
};

/// 1 + u of pairs, less 1.
template <>
struct NarrowUnitRule<F16<Cuda>> : RuleOf<1, false, Form::kNarrow> {
  static constexpr std::uint32_t kFractions = 0x03FF03FFu, kOnes = 0x3C003C00u, kMinusOnes = 0xBC00BC00u;
  static ONNX_PHILOX_INLINE std::uint32_t Each(Cuda::Words x) {
    return Cuda::AddPairs((Cuda::PairOf(x.first, x.second) & kFractions) | kOnes, kMinusOnes);
  }
  ONNX_PHILOX_INLINE Cuda::Words operator()(Cuda::Words a, Cuda::Words b) const { return Cuda::Words{Each(a), Each(b)}; }
};

/// x * scale + offset of pairs.
struct AffinePairs {
  std::uint32_t scale, offset;
  AffinePairs(float scale_value, Cuda::Words offset_words)
      : scale(Cuda::PairOfF16(Cuda::Splat32(BitCast<std::uint32_t>(scale_value)))),
        offset(Cuda::PairOfF16(offset_words)) {}
  ONNX_PHILOX_INLINE std::uint32_t operator()(std::uint32_t x) const {
    return Cuda::AddPairs(Cuda::MultiplyPairs(x, scale), offset);
  }
};

/// Uniforms in a range, which is finite. It comes with the step of a uniform in its width.
template <>
struct NarrowRule<F16<Cuda>::Standard, AffineIn<F16<Cuda>>> : RuleOf<1, false, Form::kNarrow> {
  using Unit = NarrowUnitRule<F16<Cuda>>;
  AffinePairs affine;
  explicit NarrowRule(const AffineIn<F16<Cuda>>& given)
      : affine(F32FromBits(given.scale.first) / F16<Cuda>::Standard::kStep, given.offset) {}
  ONNX_PHILOX_INLINE Cuda::Words operator()(Cuda::Words a, Cuda::Words b) const {
    return Cuda::Words{affine(Unit::Each(a)), affine(Unit::Each(b))};
  }
};

template <>
struct NarrowNormalRule<F16<Cuda>> : RuleOf<1, false, Form::kNarrow> {
  AffinePairs affine;
  explicit NarrowNormalRule(const AffineIn<F16<Cuda>>& given)
      : affine(F32FromBits(given.scale.first), given.offset) {}
  ONNX_PHILOX_INLINE Cuda::Words operator()(Cuda::Words a, Cuda::Words b) const {
    NormalPairs<LanesF32<Cuda>>(a, b);
    return Cuda::Words{affine(Cuda::PairOfF16(a)), affine(Cuda::PairOfF16(b))};
  }
};

/// Those that an attempt rejects make the next one while the other threads of their warp wait.
template <>
struct BatchLimit<Cuda> {
  static constexpr unsigned kElements = 1;
};

}  // namespace onnx_philox
