// ln, sin and cos as torch's CPU draws need them (docs/specification.md, "torch's numbers"), and a product and sum with one rounding.
//
// Those of float32 are the functions of Cephes, by S. L. Moshier, in the form of J. Pommier and G. Garberoglio
// (avx_mathfun, see THIRD_PARTY_LICENSES) that torch uses, with the products and sums fused that its compiler fuses: the
// same bits. Those of float64 are series of our own, within an ulp of the exact value, since torch calls the C library
// there, which differs from system to system.
//
// They are src/onnx_philox/_torch/numbers/torch_elementary.py step by step. In the environment of float_environment.h. No
// branches, so that loops over them become vectors.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "floats.h"
#include "inlining.h"

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "floats must be rounded after every operation: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
#define ONNX_PHILOX_FUSES 1
#else
#define ONNX_PHILOX_FUSES 0
#endif

namespace onnx_philox {
namespace {

struct SumF64 {
  double total, lost;
};
struct SinCosF32 {
  float sine, cosine;
};
struct SinCosF64 {
  double sine, cosine;
};

/// The sum rounded, and exactly what it lost (Knuth).
ONNX_PHILOX_INLINE SumF64 ExactSum(double a, double b) {
  const double total = a + b;
  const double b_in_it = total - a;
  return SumF64{total, (a - (total - b_in_it)) + (b - b_in_it)};
}

/// a * b + c, rounded once.
ONNX_PHILOX_INLINE float MultiplyAdd(float a, float b, float c) {
#if ONNX_PHILOX_FUSES
  return std::fmaf(a, b, c);
#else
  // The product is exact, the sum is not. Cut off, its last bit set where anything was lost, it is right to round again.
  const SumF64 sum = ExactSum(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c));
  // False where the sum is infinite, too.
  const bool is_inexact = (sum.lost < 0.0) | (sum.lost > 0.0);
  const bool is_rounded_away = is_inexact & ((sum.lost < 0.0) != (sum.total < 0.0));
  const std::uint64_t bits = BitCast<std::uint64_t>(sum.total) - (is_rounded_away ? 1u : 0u);
  return static_cast<float>(BitCast<double>(bits | (is_inexact ? 1u : 0u)));
#endif
}

ONNX_PHILOX_INLINE double MultiplyAdd(double a, double b, double c) { return std::fma(a, b, c); }

/// The product rounded, and exactly what it lost (Dekker); neither overflows nor loses bits below the normal numbers.
ONNX_PHILOX_INLINE SumF64 ExactProduct(double a, double b) {
  const double product = a * b;
#if ONNX_PHILOX_FUSES
  return SumF64{product, std::fma(a, b, -product)};
#else
  constexpr double kHalving = 0x1p27 + 1;
  const double a_scaled = a * kHalving, b_scaled = b * kHalving;
  const double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high, b_low = b - b_high;
  return SumF64{product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)};
#endif
}

ONNX_PHILOX_INLINE std::uint32_t Select(std::uint32_t mask, float a, float b) {
  return (BitCast<std::uint32_t>(a) & mask) | (BitCast<std::uint32_t>(b) & ~mask);
}
ONNX_PHILOX_INLINE std::uint64_t Select(std::uint64_t mask, double a, double b) {
  return (BitCast<std::uint64_t>(a) & mask) | (BitCast<std::uint64_t>(b) & ~mask);
}

/// The logarithm of normal numbers of at most 1.
ONNX_PHILOX_INLINE float LnF32(float number) {
  const std::uint32_t bits = BitCast<std::uint32_t>(number);
  const float mantissa = BitCast<float>((bits & 0x007FFFFFu) | 0x3F000000u);  // in [1/2, 1)
  const std::uint32_t is_small = mantissa < 0.707106781186547524f ? ~0u : 0u;
  const float e = static_cast<float>(static_cast<std::int32_t>((bits >> 23) - 126 + is_small));
  // 2 * mantissa - 1 or mantissa - 1, both exact.
  const float x = (mantissa - 1.0f) + BitCast<float>(BitCast<std::uint32_t>(mantissa) & is_small);
  const float z = x * x;
  float y = 7.0376836292e-2f;
  y = MultiplyAdd(y, x, -1.1514610310e-1f);
  y = MultiplyAdd(y, x, 1.1676998740e-1f);
  y = MultiplyAdd(y, x, -1.2420140846e-1f);
  y = MultiplyAdd(y, x, 1.4249322787e-1f);
  y = MultiplyAdd(y, x, -1.6668057665e-1f);
  y = MultiplyAdd(y, x, 2.0000714765e-1f);
  y = MultiplyAdd(y, x, -2.4999993993e-1f);
  y = MultiplyAdd(y, x, 3.3333331174e-1f);
  y = MultiplyAdd(y * x, z, e * -2.12194440e-4f);
  y = MultiplyAdd(z, -0.5f, y);
  return MultiplyAdd(e, 0.693359375f, x + y);  // ln 2 in two parts
}

/// The sine and cosine of x from 0 to 2 pi.
ONNX_PHILOX_INLINE SinCosF32 SinCos(float x) {
  // Quarter turns, rounded to the nearest.
  const std::uint32_t n = (static_cast<std::uint32_t>(static_cast<std::int32_t>(x * 1.27323954473516f)) + 1) >> 1;
  const float eighths = static_cast<float>(static_cast<std::int32_t>(2 * n));
  x = MultiplyAdd(eighths, -0.78515625f, x);  // -pi / 4 in three parts
  x = MultiplyAdd(eighths, -2.4187564849853515625e-4f, x);
  x = MultiplyAdd(eighths, -3.77489497744594108e-8f, x);
  const float z = x * x;
  float cosine = 2.443315711809948e-5f;
  cosine = MultiplyAdd(cosine, z, -1.388731625493765e-3f);
  cosine = MultiplyAdd(cosine, z, 4.166664568298827e-2f);
  cosine = MultiplyAdd(cosine * z, z, z * -0.5f) + 1.0f;
  float sine = -1.9515295891e-4f;
  sine = MultiplyAdd(sine, z, 8.3321608736e-3f);
  sine = MultiplyAdd(sine, z, -1.6666654611e-1f);
  sine = MultiplyAdd(sine * z, x, x);
  const std::uint32_t is_odd = 0u - (n & 1u);
  return SinCosF32{BitCast<float>(Select(is_odd, cosine, sine) ^ (n & 2u) << 30),
                   BitCast<float>(Select(is_odd, sine, cosine) ^ ((n + 1) & 2u) << 30)};
}

// In float64, what is large in a result is carried with what its roundings lose.

struct ReducedF64 {
  double e, f;
};

/// The e and f of x = 2^e * (1 + f), where 1 + f is from sqrt(1/2) to sqrt(2).
ONNX_PHILOX_INLINE ReducedF64 Reduced(double x) {
  const std::uint64_t bits = BitCast<std::uint64_t>(x);
  const double mantissa = BitCast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FE0000000000000u);  // in [1/2, 1)
  const std::uint64_t is_small = mantissa < 0.70710678118654752440 ? ~std::uint64_t{0} : 0;
  // An integer is the fraction of a float64 in [2^52, 2^53).
  const double e = BitCast<double>(((bits >> 52) + is_small) | 0x4330000000000000u) - (0x1p52 + 1022);
  const double f = (mantissa - 1.0) + BitCast<double>(BitCast<std::uint64_t>(mantissa) & is_small);
  return ReducedF64{e, f};
}

/// 2 / 3, 2 / 5, ... of ln((1 + s) / (1 - s)), by s^2.
ONNX_PHILOX_INLINE double LnSeries(double z) {
  double sum = 2.0 / 23;
  sum = sum * z + 2.0 / 21;
  sum = sum * z + 2.0 / 19;
  sum = sum * z + 2.0 / 17;
  sum = sum * z + 2.0 / 15;
  sum = sum * z + 2.0 / 13;
  sum = sum * z + 2.0 / 11;
  sum = sum * z + 2.0 / 9;
  sum = sum * z + 2.0 / 7;
  sum = sum * z + 2.0 / 5;
  return sum * z + 2.0 / 3;
}

constexpr double kLn2High = 0x1.62e42ff000000p-1, kLn2Low = -0x1.718432a1b0e26p-35;

/// The logarithm of normal numbers of at most 1, within an ulp.
ONNX_PHILOX_INLINE double LnF64(double x) {
  const ReducedF64 reduced = Reduced(x);
  const double e = reduced.e, f = reduced.f;
  // ln(1 + f) is 2 s + 2 / 3 s^3 + ...
  const SumF64 divisor = ExactSum(2.0, f);
  const double s = f / divisor.total;
  const SumF64 product = ExactProduct(s, divisor.total);
  const double s_low = (((f - product.total) - product.lost) - s * divisor.lost) / divisor.total;
  const double z = s * s;
  const SumF64 most = ExactSum(e * kLn2High, 2.0 * s);
  const double rest = s * z * LnSeries(z) + (2.0 * s_low + e * kLn2Low);
  return most.total + (most.lost + rest);
}

/// The logarithm of 1 + x, which must be exact, for x from -1 + 2^-53 to 0: within an ulp.
ONNX_PHILOX_INLINE double Log1p(double x) {
  const ReducedF64 reduced = Reduced(1.0 + x);
  const double e = reduced.e, f = reduced.f;
  const double s = f / (f + 2.0);
  const double z = s * s;
  const double half = 0.5 * f * f;
  // ln(1 + f) is f, less half, and a rest that is small against both.
  const double rest = s * (half + z * LnSeries(z));
  return e * kLn2High - ((half - (rest + e * kLn2Low)) - f);
}

/// The sum of x and (a + a_low) * (factor + factor_low), and what it lost.
ONNX_PHILOX_INLINE SumF64 PlusProduct(double x, double a, double a_low, double factor, double factor_low) {
  const SumF64 product = ExactProduct(a, factor);
  const SumF64 sum = ExactSum(x, product.total);
  return SumF64{sum.total, sum.lost + (product.lost + (a_low * factor + a * factor_low))};
}

/// The sine and cosine of x from 0 to 2 pi, within an ulp.
ONNX_PHILOX_INLINE SinCosF64 SinCos(double x) {
  // To the nearest integer, which is then the last bits of the sum.
  const double shifted = x * (2 / 0x1.921fb54442d18p+1) + 0x1.8p52;
  const double n = shifted - 0x1.8p52;
  const std::uint64_t turn = BitCast<std::uint64_t>(shifted);
  // pi / 2 in three parts. Exact, also near the multiples of pi / 2, of which the rest is all that counts.
  const SumF64 first = ExactSum(x - n * 0x1.921fb54442d18p+0, -n * 0x1.1a62633145c00p-54);
  const SumF64 second = ExactSum(first.total, first.lost - n * 0x1.b839a252049c1p-104);
  const double r = second.total, low = second.lost;
  const SumF64 z = ExactProduct(r, r);
  const SumF64 cube = ExactProduct(r, z.total);
  const SumF64 sine_most = PlusProduct(r, cube.total, cube.lost + r * z.lost, -1.0 / 6, 0x1p-54 / -6);
  double series = 1.0 / 355687428096000;  // 1 / 17!
  series = series * z.total + -1.0 / 1307674368000;
  series = series * z.total + 1.0 / 6227020800;
  series = series * z.total + -1.0 / 39916800;
  series = series * z.total + 1.0 / 362880;
  series = series * z.total + -1.0 / 5040;
  series = series * z.total + 1.0 / 120;
  const double sine_rest =
      sine_most.lost + (cube.total * z.total * series + low * (1.0 - 0.5 * z.total));
  const double sine = sine_most.total + sine_rest;
  const SumF64 square = ExactProduct(z.total, z.total);
  const SumF64 most = ExactSum(1.0, -0.5 * z.total);
  const SumF64 cosine_most =
      PlusProduct(most.total, square.total, square.lost + 2.0 * z.total * z.lost, 1.0 / 24, 0x1p-56 / 6);
  series = 1.0 / 20922789888000;  // 1 / 16!
  series = series * z.total + -1.0 / 87178291200;
  series = series * z.total + 1.0 / 479001600;
  series = series * z.total + -1.0 / 3628800;
  series = series * z.total + 1.0 / 40320;
  series = series * z.total + -1.0 / 720;
  const double cosine_rest = cosine_most.lost + (most.lost - 0.5 * z.lost);
  const double cosine =
      cosine_most.total + (cosine_rest + (square.total * z.total * series - r * low));
  const std::uint64_t is_odd = 0 - (turn & 1u);
  return SinCosF64{BitCast<double>(Select(is_odd, cosine, sine) ^ (turn & 2u) << 62),
                   BitCast<double>(Select(is_odd, sine, cosine) ^ ((turn + 1) & 2u) << 62)};
}

}  // namespace
}  // namespace onnx_philox
