// Gamma and Poisson values: draws that reject, each from blocks of its own.
//
// src/onnx_philox/_numbers/gamma.py and poisson.py define them, operation by operation. Every attempt reads its own of the
// kBlocks blocks, so a state never depends on numbers. One element at a time: in the environment of float_environment.h,
// and contraction to FMA must be off.
//
// Internal: included by the kernels_*.cpp files and a test; see philox.h for why everything is `static inline`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "coefficients.h"
#include "floats.h"
#include "philox.h"

namespace onnx_philox {
namespace rejection {

/// Blocks that an element owns.
constexpr int kBlocks = 32;

template <std::size_t kCount>
static inline double Polynomial(const double (&coefficients)[kCount], double x) {
  double y = coefficients[kCount - 1];
  for (std::size_t i = kCount - 1; i > 0; --i) y = y * x + coefficients[i - 1];
  return y;
}

/// For positive normal numbers.
static inline double MinusTwoLn(double u) {
  const std::int64_t first = BitCast<std::int64_t>(kSqrtHalfF64);
  const std::int64_t bits = BitCast<std::int64_t>(u) - first;
  const std::int64_t fraction = bits & 0x000FFFFFFFFFFFFF;
  const double f = BitCast<double>(fraction + first) - 1.0;
  const double s = f / (f + 2.0), z = s * s;
  return s * (Polynomial(kLogarithmF64, z) * z - 4.0) + static_cast<double>(bits >> 52) * kMinusTwoLn2F64;
}
static inline double Ln(double x) { return MinusTwoLn(x) * -0.5; }

static inline double ExpNonpositive(double x) {
  if (x < kSmallestExponent) return 0.0;
  const double shifted = x * kLog2E + kMagicF64, n = shifted - kMagicF64;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double y = Polynomial(kExponentialF64, r) * r + 1.0;
  return BitCast<double>(BitCast<std::uint64_t>(y) + (BitCast<std::uint64_t>(shifted) << 52));
}

/// r cos(2 pi v), for r = sqrt(-2 ln u).
static inline double Normal(double u, double v) {
  const double r = std::sqrt(MinusTwoLn(u > kSmallestUniformF64 ? u : kSmallestUniformF64));
  const double shifted = v * 4.0 + kMagicF64;
  const std::uint64_t n = BitCast<std::uint64_t>(shifted);
  const double t = v - (shifted - kMagicF64) * 0.25, z = t * t;
  const double cosine = (n & 1) != 0 ? t * Polynomial(kSineF64, z) : Polynomial(kCosineF64, z) * z + 1.0;
  return r * (((n + 1) & 2) != 0 ? -cosine : cosine);
}

/// ln k! of an integer from 0 on.
static inline double LnFactorial(double k) {
  constexpr double kTable = sizeof(kLnFactorials) / sizeof(kLnFactorials[0]);
  if (k < kTable) return kLnFactorials[static_cast<std::size_t>(k)];
  const double r = 1.0 / k;
  const double series = kStirlingConstant + r * (kStirlingFirst - r * r * kStirlingSecond);
  return (k + 0.5) * (Ln(k) - 1.0) + series;
}

/// An f64 uniform in [0, 1) of two words.
static inline double Uniform(std::uint32_t first, std::uint32_t second) {
  return BitCast<double>(0x3FF0000000000000u | static_cast<std::uint64_t>(first & 0xFFFFFu) << 32 | second) - 1.0;
}

/// Where the blocks of an element begin.
struct Blocks {
  Counter counter;
  std::uint64_t key;
  Block operator[](int i) const { return Philox(Add(counter, static_cast<std::uint64_t>(i)), key); }
};

template <int kAttempts = kBlocks / 2>
static inline double Gamma(const Blocks& blocks, double alpha) {
  const bool is_small = alpha < 1.0;
  const double d = (is_small ? alpha + 1.0 : alpha) - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  double value = d;
  double boost = 0;  // w' of a small alpha
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Block pair = blocks[2 * attempt], other = blocks[2 * attempt + 1];
    if (attempt == 0) boost = Uniform(other.word[2], other.word[3]);
    const double x = Normal(Uniform(pair.word[0], pair.word[1]), Uniform(pair.word[2], pair.word[3]));
    const double z = 1.0 + c * x, y = z * z * z;
    const bool is_positive = y > 0.0;
    value = is_positive ? d * y : d;
    if (!is_positive) continue;
    const double limit = x * x * 0.5 + d * (1.0 - y + Ln(y));
    if (Ln(1.0 - Uniform(other.word[0], other.word[1])) < limit) break;
  }
  return is_small ? value * ExpNonpositive(Ln(1.0 - boost) / alpha) : value;
}

/// As f64, which holds all counts.
template <int kAttempts = kBlocks>
static inline double Poisson(const Blocks& blocks, double rate) {
  if (rate < 10.0) {
    const Block block = blocks[0];
    const double u = Uniform(block.word[0], block.word[1]);
    double p = ExpNonpositive(-rate), total = p;
    int k = 0;
    while (total <= u && k < 1000) {
      ++k;
      p = p * rate / static_cast<double>(k);
      total = total + p;
    }
    return static_cast<double>(k);
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double ln_i = Ln(1.1239 + 1.1328 / (b - 3.4)), q = 0.9277 - 3.6224 / (b - 2.0);
  const double ln_rate = Ln(rate);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Block block = blocks[attempt];
    const double u = Uniform(block.word[0], block.word[1]) - 0.5;
    const double v = 1.0 - Uniform(block.word[2], block.word[3]);
    const double s = 0.5 - std::fabs(u);
    const double k = std::floor((2.0 * a / s + b) * u + rate + 0.43);
    if (s >= 0.07 && v <= q) return k;
    if (k < 0.0 || (s < 0.013 && v > s)) continue;
    if (Ln(v) + ln_i - Ln(a / (s * s) + b) <= -rate + k * ln_rate - LnFactorial(k)) return k;
  }
  return std::floor(rate);
}

}  // namespace rejection
}  // namespace onnx_philox
