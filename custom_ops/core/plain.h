// The distributions in plain code, until the kernels have them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "coefficients.h"
#include "floats.h"
#include "kernels.h"

namespace onnx_philox {

template <class F, std::size_t N>
static inline F PlainPolynomial(const F (&c)[N], F x) {
  F y = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) y = y * x + c[i];
  return y;
}

static inline float PlainNormalF32(float u, float v, bool second) {
  if (u < kSmallestUniformF32) u = kSmallestUniformF32;
  const std::int32_t half = BitCast<std::int32_t>(kSqrtHalfF32);
  const std::int32_t bits = BitCast<std::int32_t>(u) - half;
  const float e = static_cast<float>(bits >> 23);
  const float f = BitCast<float>((bits & 0x7FFFFF) + half) - 1.0f;
  const float s = f / (f + 2.0f), z = s * s;
  const float a = s * (PlainPolynomial(kLogarithmF32, z) * z - 4.0f) + e * kMinusTwoLn2F32;
  const float r = std::sqrt(a);
  const float shifted = v * 4.0f + kMagicF32;
  const std::uint32_t n = BitCast<std::uint32_t>(shifted);
  const float t = v - (shifted - kMagicF32) * 0.25f, y = t * t;
  const float sine = t * PlainPolynomial(kSineF32, y), cosine = PlainPolynomial(kCosineF32, y) * y + 1.0f;
  const float value = ((n & 1) != 0) == second ? sine : cosine;
  const std::uint32_t sign = ((second ? n + 1 : n) & 2u) << 30;
  return r * BitCast<float>(BitCast<std::uint32_t>(value) ^ sign);
}

static inline double PlainNormalF64(double u, double v, bool second) {
  if (u < kSmallestUniformF64) u = kSmallestUniformF64;
  const std::int64_t half = BitCast<std::int64_t>(kSqrtHalfF64);
  const std::int64_t bits = BitCast<std::int64_t>(u) - half;
  const double e = static_cast<double>(bits >> 52);
  const double f = BitCast<double>((bits & 0xFFFFFFFFFFFFF) + half) - 1.0;
  const double s = f / (f + 2.0), z = s * s;
  const double a = s * (PlainPolynomial(kLogarithmF64, z) * z - 4.0) + e * kMinusTwoLn2F64;
  const double r = std::sqrt(a);
  const double shifted = v * 4.0 + kMagicF64;
  const std::uint64_t n = BitCast<std::uint64_t>(shifted);
  const double t = v - (shifted - kMagicF64) * 0.25, y = t * t;
  const double sine = t * PlainPolynomial(kSineF64, y), cosine = PlainPolynomial(kCosineF64, y) * y + 1.0;
  const double value = ((n & 1) != 0) == second ? sine : cosine;
  const std::uint64_t sign = ((second ? n + 1 : n) & 2u) << 62;
  return r * BitCast<double>(BitCast<std::uint64_t>(value) ^ sign);
}

static inline double PlainExp(double x) {
  if (x < kSmallestExponent) return 0.0;
  const double shifted = x * kLog2E + kMagicF64, n = shifted - kMagicF64;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  const double y = PlainPolynomial(kExponentialF64, r) * r + 1.0;
  return BitCast<double>(BitCast<std::uint64_t>(y) + (BitCast<std::uint64_t>(shifted) << 52));
}

static inline std::uint32_t PlainWord(const State& state, std::uint64_t index) {
  return Philox(Add(state.counter, index / 4), state.key).word[index % 4];
}
static inline float PlainUniformF32(const State& state, std::uint64_t i) {
  return BitCast<float>(0x3F800000u | (PlainWord(state, i) & 0x7FFFFFu)) - 1.0f;
}
static inline double PlainUniformF64(const State& state, std::uint64_t i) {
  const std::uint64_t high = PlainWord(state, 2 * i) & 0xFFFFFu, low = PlainWord(state, 2 * i + 1);
  return BitCast<double>(std::uint64_t{1023} << 52 | high << 32 | low) - 1.0;
}
static inline double PlainNumber(const Numbers& numbers, std::uint64_t i) {
  const unsigned char* const at = static_cast<const unsigned char*>(numbers.data) + i * ElementSize(numbers.type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, ElementSize(numbers.type));
  if (numbers.type == OutputType::kF16) return static_cast<double>(F32FromF16(bits));
  if (numbers.type == OutputType::kF32) return static_cast<double>(F32FromBits(bits));
  return F64FromBits(bits);
}

static inline std::uint64_t PlainElement(const Draw& draw, std::uint64_t i) {
  if (draw.distribution == Distribution::kNormal) {
    const std::uint64_t pair = i & ~std::uint64_t{1};
    if (draw.type == OutputType::kF64) {
      const double x = PlainNormalF64(PlainUniformF64(draw.state, pair), PlainUniformF64(draw.state, pair + 1), i & 1);
      return BitCast<std::uint64_t>(x * F64FromBits(draw.affine.scale) + F64FromBits(draw.affine.mean));
    }
    const float x = PlainNormalF32(PlainUniformF32(draw.state, pair), PlainUniformF32(draw.state, pair + 1), i & 1);
    if (draw.type == OutputType::kF32) {
      return BitCast<std::uint32_t>(x * F32FromBits(draw.affine.scale) + F32FromBits(draw.affine.mean));
    }
    if (draw.type == OutputType::kF16) {
      const float product = F32FromF16(F16FromF32(F32FromF16(F16FromF32(x)) * F32FromF16(draw.affine.scale)));
      return F16FromF32(product + F32FromF16(draw.affine.mean));
    }
    const auto round = [](float y) { return RoundToBF16(BitCast<std::uint32_t>(y)) >> 16; };
    const float product = F32FromBF16(round(F32FromBF16(round(x)) * F32FromBF16(draw.affine.scale)));
    return round(product + F32FromBF16(draw.affine.mean));
  }
  if (draw.distribution == Distribution::kBernoulli) {
    const Probabilities& probabilities = draw.probabilities;
    const double p = PlainNumber(probabilities.p, probabilities.each ? i : 0);
    const double u = probabilities.p.type == OutputType::kF32 ? static_cast<double>(PlainUniformF32(draw.state, i))
                                                              : PlainUniformF64(draw.state, i);
    return u < p ? 1 : 0;
  }
  const std::uint64_t classes = draw.logits.classes, row = i / draw.logits.samples * classes;
  double most = PlainNumber(draw.logits.logits, row), total = 0, sum = 0;
  for (std::uint64_t c = 1; c < classes; ++c) {
    const double x = PlainNumber(draw.logits.logits, row + c);
    if (x > most) most = x;
  }
  for (std::uint64_t c = 0; c < classes; ++c) total += PlainExp(PlainNumber(draw.logits.logits, row + c) - most);
  const double threshold = PlainUniformF64(draw.state, i) * total;
  for (std::uint64_t c = 0;; ++c) {
    sum += PlainExp(PlainNumber(draw.logits.logits, row + c) - most);
    if (sum > threshold || c == classes - 1) return c;
  }
}

static inline void FillPlainly(const Piece& piece) {
  const unsigned size = ElementSize(piece.draw.type);
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t i = piece.begin; i < piece.end; ++i, out += size) {
    const std::uint64_t element = PlainElement(piece.draw, i);
    std::memcpy(out, &element, size);
  }
}

}  // namespace onnx_philox
