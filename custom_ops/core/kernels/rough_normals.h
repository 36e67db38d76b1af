// Normals of float64 with about 40 bits: what a gamma of float32 is, they mostly say as surely as exact ones.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h, and a test.
#pragma once

#include <cstddef>
#include <cstdint>

#include "elementary.h"
#include "inlining.h"

namespace onnx_philox {

/// sin(2 pi q) = q P(q^2), q in turns, |q| <= 1 / 4, within 2^-43.8: fitted as make_coefficients.py fits P for |q| <= 1 / 8.
constexpr double kRoughSine[] = {
    0x1.921fb54442b5ep+2, -0x1.4abbce6247e55p+5, 0x1.466bc66dc544ap+6, -0x1.32d2c96bb2bd5p+6,
    0x1.5076fe75ece76p+5, -0x1.e297c6bcad7fap+3, 0x1.d4eba9e65a4f6p+1,
};
/// -2 ln((1 + s) / (1 - s)) = s P(s^2) within 2^-44.8: of the terms after -4, fitted likewise, there is one less than in
/// MinusTwoLn.
constexpr double kRoughLogarithm[] = {
    -4, -0x1.555555562327fp+0, -0x1.9999969f4fe49p-1, -0x1.2494155759edep-1, -0x1.c62a1f661ee2bp-2, -0x1.9121bd534719ap-2,
};

/// How far a rough cosine is from the exact number: its roundings add less than 2^-48 to what P is off.
constexpr double kRoughCosineError = 0x1p-43;
/// How far a rough radius is from the exact number, relative to it: half as far as its square. To the square of a u below
/// sqrt(1 / 2), P adds no more than the exponent does, so there, too, P is all that is off but for roundings below 2^-48.
constexpr double kRoughRadiusError = 0x1p-45;
/// A radius is at most sqrt(-2 ln 1e-7), which is less than this.
constexpr double kMostRadius = 5.75;
/// How far a normal of NormalsOf is from the exact number (tests/numbers/test_accuracy.py).
constexpr double kNormalError = 1e-13;
/// How far a rough normal is from that of NormalsOf.
constexpr double kRoughNormalError = kMostRadius * (kRoughCosineError + kRoughRadiusError) + kNormalError;

/// Horner's rule as Polynomial has it, with fewer roundings where a set can.
template <class Isa, std::size_t kCount>
ONNX_PHILOX_INLINE typename Isa::Words RoughPolynomial(const double (&coefficients)[kCount], typename Isa::Words x) {
  using Lanes = LanesF64<Isa>;
  typename Isa::Words y = Constant<Lanes>(coefficients[kCount - 1]);
  ONNX_PHILOX_UNROLL
  for (std::size_t i = kCount - 1; i > 0; --i) y = Isa::MultiplyAddF64(y, x, Constant<Lanes>(coefficients[i - 1]));
  return y;
}

/// cos(2 pi v) of the bits of uniforms v. It is sin(2 pi q) for q = |v - 1 / 2| - 1 / 4, which is exact.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words RoughCosine(typename Isa::Words v_bits) {
  using Lanes = LanesF64<Isa>;
  using Words = typename Isa::Words;
  const Words one_plus_v = Isa::MaskOr(v_bits, Lanes::Splat(Lanes::kFraction), Lanes::Splat(Lanes::kOne));
  const Words from_half = Isa::SubtractF64(one_plus_v, Constant<Lanes>(1.5));
  const Words distance = Isa::And(from_half, Lanes::Splat(~Lanes::kSign));
  const Words q = Isa::SubtractF64(distance, Constant<Lanes>(0.25));
  return Isa::MultiplyF64(q, RoughPolynomial<Isa>(kRoughSine, Isa::MultiplyF64(q, q)));
}

/// -2 ln u of the bits of uniforms u, by the steps of MinusTwoLn.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words RoughSquaredRadius(typename Isa::Words u_bits) {
  using Lanes = LanesF64<Isa>;
  using Words = typename Isa::Words;
  const Words one = Lanes::Splat(Lanes::kOne), first = Constant<Lanes>(Lanes::kSqrtHalf);
  const Words one_plus_u = Isa::MaskOr(u_bits, Lanes::Splat(Lanes::kFraction), one);
  const Words u = Isa::MaxF64(Isa::SubtractF64(one_plus_u, one), Constant<Lanes>(Lanes::kSmallestUniform));
  const Words bits = Isa::Subtract64(u, first);
  const Words exponent = Isa::SignedExponentF64(bits);
  const Words fraction = Isa::Add64(Isa::And(bits, Lanes::Splat(Lanes::kFraction)), first);
  const Words s = Isa::DivideF64(Isa::SubtractF64(fraction, one), Isa::AddF64(fraction, one));
  const Words series = Isa::MultiplyF64(s, RoughPolynomial<Isa>(kRoughLogarithm, Isa::MultiplyF64(s, s)));
  return Isa::MultiplyAddF64(exponent, Constant<Lanes>(Lanes::kMinusTwoLn2), series);
}

}  // namespace onnx_philox
