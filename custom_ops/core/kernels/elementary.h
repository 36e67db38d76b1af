// ln, sin, cos and exp as fixed sequences of correctly rounded operations, over an instruction set's primitives.
//
// src/onnx_philox/_numbers/elementary.py defines them, operation by operation, and every instruction set gives its
// bits: `+ - * / sqrt` and integer operations only, one rounding each. Where this file differs, it only moves powers of
// two through products and sums, which rounds nothing.
//
// Internal: included only by the files that are compiled for each instruction set, where every template argument has
// internal linkage. In the
// environment of float_environment.h; contraction to FMA must be off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coefficients.h"
#include "floats.h"
#include "inlining.h"

namespace onnx_philox {

/// Coefficients times powers of two: the first times `scale`, each further one times `step` more.
template <class Float, std::size_t kCount>
struct ScaledCoefficients {
  Float value[kCount];
  constexpr ScaledCoefficients(const Float (&coefficients)[kCount], Float scale, Float step) : value() {
    for (std::size_t i = 0; i < kCount; ++i) {
      value[i] = coefficients[i] * scale;
      scale = scale * step;
    }
  }
};

// For t in quarter turns, four times the t of the coefficients, so that t * t is 16 times theirs.
constexpr ScaledCoefficients<float, 4> kQuarterSineF32(kSineF32, 0x1p-2f, 0x1p-4f);
constexpr ScaledCoefficients<float, 3> kQuarterCosineF32(kCosineF32, 0x1p-4f, 0x1p-4f);
constexpr ScaledCoefficients<double, 7> kQuarterSineF64(kSineF64, 0x1p-2, 0x1p-4);
constexpr ScaledCoefficients<double, 7> kQuarterCosineF64(kCosineF64, 0x1p-4, 0x1p-4);

/// An instruction set's float32 lanes, under the names that the sequences use.
template <class Isa>
struct LanesF32 {
  using Float = float;
  using Bits = std::uint32_t;
  using Words = typename Isa::Words;

  static constexpr Bits kFraction = 0x007FFFFFu, kOne = 0x3F800000u, kFour = 0x40800000u, kSign = 0x80000000u;
  static constexpr Float kSmallestUniform = kSmallestUniformF32, kSqrtHalf = kSqrtHalfF32;
  static constexpr Float kMinusTwoLn2 = kMinusTwoLn2F32, kMagic = kMagicF32;

  static Words Splat(Bits bits) { return Isa::Splat32(bits); }
  static Words Add(Words a, Words b) { return Isa::AddF32(a, b); }
  static Words Subtract(Words a, Words b) { return Isa::SubtractF32(a, b); }
  static Words Multiply(Words a, Words b) { return Isa::MultiplyF32(a, b); }
  static Words Divide(Words a, Words b) { return Isa::DivideF32(a, b); }
  static Words Sqrt(Words a) { return Isa::SqrtF32(a); }
  static Words Max(Words a, Words b) { return Isa::MaxF32(a, b); }
  static Words AddInteger(Words a, Words b) { return Isa::Add32(a, b); }
  static Words SubtractInteger(Words a, Words b) { return Isa::Subtract32(a, b); }
  static Words And(Words a, Words b) { return Isa::And(a, b); }
  static Words MaskOr(Words x, Words mask, Words bits) { return Isa::MaskOr(x, mask, bits); }
  static Words XorMasked(Words x, Words bits, Words mask) { return Isa::XorMasked(x, bits, mask); }
  static Words SignedExponent(Words bits) { return Isa::SignedExponentF32(bits); }
  static Words SelectIfOdd(Words n, Words odd, Words even) { return Isa::SelectIfOdd32(n, odd, even); }
  static Words Bit1ToSign(Words n) { return Isa::template ShiftLeft32<30>(n); }
  static Words Even(Words a, Words b) { return Isa::Even32(a, b); }
  static Words Odd(Words a, Words b) { return Isa::Odd32(a, b); }
  static Words ZipLow(Words a, Words b) { return Isa::ZipLow32(a, b); }
  static Words ZipHigh(Words a, Words b) { return Isa::ZipHigh32(a, b); }

  static constexpr const auto& Logarithm() { return kLogarithmF32; }
  static constexpr const auto& Sine() { return kQuarterSineF32.value; }
  static constexpr const auto& Cosine() { return kQuarterCosineF32.value; }
};

/// The same for float64.
template <class Isa>
struct LanesF64 {
  using Float = double;
  using Bits = std::uint64_t;
  using Words = typename Isa::Words;

  static constexpr Bits kFraction = 0x000FFFFFFFFFFFFFu, kOne = 0x3FF0000000000000u, kFour = 0x4010000000000000u;
  static constexpr Bits kSign = 0x8000000000000000u;
  static constexpr Float kSmallestUniform = kSmallestUniformF64, kSqrtHalf = kSqrtHalfF64;
  static constexpr Float kMinusTwoLn2 = kMinusTwoLn2F64, kMagic = kMagicF64;

  static Words Splat(Bits bits) { return Isa::Splat64(bits); }
  static Words Add(Words a, Words b) { return Isa::AddF64(a, b); }
  static Words Subtract(Words a, Words b) { return Isa::SubtractF64(a, b); }
  static Words Multiply(Words a, Words b) { return Isa::MultiplyF64(a, b); }
  static Words Divide(Words a, Words b) { return Isa::DivideF64(a, b); }
  static Words Sqrt(Words a) { return Isa::SqrtF64(a); }
  static Words Max(Words a, Words b) { return Isa::MaxF64(a, b); }
  static Words AddInteger(Words a, Words b) { return Isa::Add64(a, b); }
  static Words SubtractInteger(Words a, Words b) { return Isa::Subtract64(a, b); }
  static Words And(Words a, Words b) { return Isa::And(a, b); }
  static Words MaskOr(Words x, Words mask, Words bits) { return Isa::MaskOr(x, mask, bits); }
  static Words XorMasked(Words x, Words bits, Words mask) { return Isa::XorMasked(x, bits, mask); }
  static Words SignedExponent(Words bits) { return Isa::SignedExponentF64(bits); }
  static Words SelectIfOdd(Words n, Words odd, Words even) { return Isa::SelectIfOdd64(n, odd, even); }
  static Words Bit1ToSign(Words n) { return Isa::template ShiftLeft64<62>(n); }
  static Words Even(Words a, Words b) { return Isa::Even64(a, b); }
  static Words Odd(Words a, Words b) { return Isa::Odd64(a, b); }
  static Words ZipLow(Words a, Words b) { return Isa::ZipLow64(a, b); }
  static Words ZipHigh(Words a, Words b) { return Isa::ZipHigh64(a, b); }

  static constexpr const auto& Logarithm() { return kLogarithmF64; }
  static constexpr const auto& Sine() { return kQuarterSineF64.value; }
  static constexpr const auto& Cosine() { return kQuarterCosineF64.value; }
};

template <class Lanes>
ONNX_PHILOX_INLINE typename Lanes::Words Constant(typename Lanes::Float x) {
  return Lanes::Splat(BitCast<typename Lanes::Bits>(x));
}

/// Horner's rule from the highest power; coefficients are given lowest power first.
template <class Lanes, std::size_t kCount>
ONNX_PHILOX_INLINE typename Lanes::Words Polynomial(const typename Lanes::Float (&coefficients)[kCount],
                                                    typename Lanes::Words x) {
  typename Lanes::Words y = Constant<Lanes>(coefficients[kCount - 1]);
  ONNX_PHILOX_UNROLL
  for (std::size_t i = kCount - 1; i > 0; --i) {
    y = Lanes::Add(Lanes::Multiply(y, x), Constant<Lanes>(coefficients[i - 1]));
  }
  return y;
}

/// -2 ln u, for positive normal numbers.
template <class Lanes>
ONNX_PHILOX_INLINE typename Lanes::Words MinusTwoLn(typename Lanes::Words u) {
  using Words = typename Lanes::Words;
  const Words first = Constant<Lanes>(Lanes::kSqrtHalf);
  const Words bits = Lanes::SubtractInteger(u, first);
  const Words exponent = Lanes::SignedExponent(bits);
  const Words fraction = Lanes::AddInteger(Lanes::And(bits, Lanes::Splat(Lanes::kFraction)), first);
  const Words f = Lanes::Subtract(fraction, Lanes::Splat(Lanes::kOne));
  const Words s = Lanes::Divide(f, Lanes::Add(f, Constant<Lanes>(2)));
  const Words z = Lanes::Multiply(s, s);
  const Words inner = Lanes::Multiply(Polynomial<Lanes>(Lanes::Logarithm(), z), z);
  const Words series = Lanes::Multiply(s, Lanes::Subtract(inner, Lanes::Splat(Lanes::kFour)));
  return Lanes::Add(series, Lanes::Multiply(exponent, Constant<Lanes>(Lanes::kMinusTwoLn2)));
}

/// Standard normals in pairs, one of each pair in either register.
template <class Lanes>
struct Normals {
  typename Lanes::Words sine, cosine;
};

/// Two registers of uniform bits, as many pairs (u, v) in stream order: their normals, in the order of `Even`.
template <class Lanes>
ONNX_PHILOX_INLINE Normals<Lanes> NormalsOf(typename Lanes::Words a, typename Lanes::Words b) {
  using Words = typename Lanes::Words;
  const Words mask = Lanes::Splat(Lanes::kFraction), one = Lanes::Splat(Lanes::kOne);
  const Words u = Lanes::Subtract(Lanes::MaskOr(Lanes::Even(a, b), mask, one), one);
  const Words r = Lanes::Sqrt(MinusTwoLn<Lanes>(Lanes::Max(u, Constant<Lanes>(Lanes::kSmallestUniform))));

  // 4 + 4v as it stands in the bits. n quarter turns, plus 4, are in the low bits of `shifted`.
  const Words quarters = Lanes::MaskOr(Lanes::Odd(a, b), mask, Lanes::Splat(Lanes::kFour));
  const Words magic = Constant<Lanes>(Lanes::kMagic);
  const Words shifted = Lanes::Add(quarters, magic);
  const Words t = Lanes::Subtract(quarters, Lanes::Subtract(shifted, magic));
  const Words z = Lanes::Multiply(t, t);
  const Words sine = Lanes::Multiply(t, Polynomial<Lanes>(Lanes::Sine(), z));
  const Words cosine = Lanes::Add(Lanes::Multiply(Polynomial<Lanes>(Lanes::Cosine(), z), z), Lanes::Splat(Lanes::kOne));

  // In odd quarters, sine and cosine change places. The sine's sign is bit 1 of n, the cosine's that of n + 1.
  const Words sign = Lanes::Splat(Lanes::kSign);
  const Words n = Lanes::Bit1ToSign(shifted), n_plus_1 = Lanes::AddInteger(n, Lanes::Splat(Lanes::kSign >> 1));
  return {Lanes::Multiply(r, Lanes::XorMasked(Lanes::SelectIfOdd(shifted, cosine, sine), n, sign)),
          Lanes::Multiply(r, Lanes::XorMasked(Lanes::SelectIfOdd(shifted, sine, cosine), n_plus_1, sign))};
}

/// The pairs become as many pairs of standard normals in stream order.
template <class Lanes>
ONNX_PHILOX_INLINE void NormalPairs(typename Lanes::Words& a, typename Lanes::Words& b) {
  const Normals<Lanes> normals = NormalsOf<Lanes>(a, b);
  a = Lanes::ZipLow(normals.sine, normals.cosine);
  b = Lanes::ZipHigh(normals.sine, normals.cosine);
}

/// ln x, for float64 positive normal numbers.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words Ln(typename Isa::Words x) {
  return Isa::MultiplyF64(MinusTwoLn<LanesF64<Isa>>(x), Constant<LanesF64<Isa>>(-0.5));
}

/// exp(x), for float64 x <= 0; 0 below -708.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words ExpNonpositive(typename Isa::Words x) {
  using Lanes = LanesF64<Isa>;
  using Words = typename Isa::Words;
  const Words magic = Constant<Lanes>(kMagicF64);
  const Words shifted = Isa::AddF64(Isa::MultiplyF64(x, Constant<Lanes>(kLog2E)), magic);
  const Words n = Isa::SubtractF64(shifted, magic);
  const Words r = Isa::SubtractF64(Isa::SubtractF64(x, Isa::MultiplyF64(n, Constant<Lanes>(kLn2High))),
                                   Isa::MultiplyF64(n, Constant<Lanes>(kLn2Low)));
  const Words y =
      Isa::AddF64(Isa::MultiplyF64(Polynomial<Lanes>(kExponentialF64, r), r), Lanes::Splat(Lanes::kOne));
  const Words scaled = Isa::Add64(y, Isa::template ShiftLeft64<52>(shifted));
  return Isa::ZeroIfBelowF64(x, Constant<Lanes>(kSmallestExponent), scaled);
}

}  // namespace onnx_philox
