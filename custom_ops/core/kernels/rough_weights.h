// Weights of classes with about 40 bits: which class a sample takes, they mostly say as surely as exact ones.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h, and a test.
#pragma once

#include <cstdint>

#include "elementary.h"
#include "inlining.h"

namespace onnx_philox {

/// exp(r) = 1 + r P(r), |r| <= ln(2) / 2, within 2^-40: fitted as make_coefficients.py fits P of more terms.
constexpr double kRoughExponential[] = {
    0x1.ffffffffd3808p-1,  0x1.ffffffffede07p-2,  0x1.555555a27c529p-3,  0x1.555555829545ep-5,
    0x1.1110809c94bfbp-7, 0x1.6c1634368ce9dp-10, 0x1.a1aa96c13ef11p-13, 0x1.a17619d342781p-16,
};
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
/// Below it, exp counts as exp of it: less than 2^-1000, and a normal number.
constexpr double kSmallestRoughExponent = -700;
/// How far a rough weight is from that of ExpNonpositive, relative to it; but for weights below 2^-1000. The polynomial is
/// within 2^-39.7, what is reduced within 2^-42, and ExpNonpositive within 2^-50 of the exact number. All that holds whether
/// or not a set rounds products before it adds.
constexpr double kRoughError = 0x1p-39;

/// exp(x) of kCount registers of float64 x <= 0, step by step side by side: the steps of one register wait for each other.
template <class Isa, unsigned kCount>
ONNX_PHILOX_INLINE void RoughExp(typename Isa::Words (&x)[kCount]) {
  using Lanes = LanesF64<Isa>;
  using Words = typename Isa::Words;
  constexpr unsigned kTerms = sizeof(kRoughExponential) / sizeof(double);
  const Words magic = Constant<Lanes>(kMagicF64);
  Words power[kCount], r[kCount];
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    const Words least = Isa::MaxF64(x[i], Constant<Lanes>(kSmallestRoughExponent));
    power[i] = Isa::MultiplyAddF64(least, Constant<Lanes>(kLog2E), magic);
    r[i] = Isa::MultiplyAddF64(Isa::SubtractF64(power[i], magic), Constant<Lanes>(-kLn2), least);
    x[i] = Constant<Lanes>(kRoughExponential[kTerms - 1]);
  }
  ONNX_PHILOX_UNROLL
  for (unsigned term = kTerms - 1; term > 0; --term) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount; ++i) {
      x[i] = Isa::MultiplyAddF64(x[i], r[i], Constant<Lanes>(kRoughExponential[term - 1]));
    }
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    x[i] = Isa::MultiplyAddF64(x[i], r[i], Lanes::Splat(Lanes::kOne));
    x[i] = Isa::Add64(x[i], Isa::template ShiftLeft64<52>(power[i]));
  }
}

}  // namespace onnx_philox
