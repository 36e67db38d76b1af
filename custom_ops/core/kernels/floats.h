// The four float types as bit patterns: values of the 16-bit ones, and the width of a range rounded in its type.
//
// In the environment of float_environment.h. Included by the per-instruction-set files: see philox.h for why everything
// here is `static inline`.
#pragma once

#include <cstdint>
#include <cstring>

namespace onnx_philox {

template <class To, class From>
static inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

static inline float F32FromBits(std::uint64_t bits) { return BitCast<float>(static_cast<std::uint32_t>(bits)); }
static inline double F64FromBits(std::uint64_t bits) { return BitCast<double>(bits); }

static inline float F32FromF16(std::uint64_t bits) {
  const std::uint32_t half = static_cast<std::uint32_t>(bits);
  const std::uint32_t magnitude = half & 0x7FFFu;
  float value;
  if (magnitude < 0x0400u) {
    value = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;  // a subnormal counts 2^-24s
  } else if (magnitude < 0x7C00u) {
    value = BitCast<float>((magnitude << 13) + (112u << 23));  // exponent bias 15 to 127
  } else {
    value = BitCast<float>((magnitude << 13) | 0x7F800000u);  // infinity, NaN
  }
  return BitCast<float>(BitCast<std::uint32_t>(value) | (half & 0x8000u) << 16);
}

/// Rounded to nearest even; past the largest float16, infinity.
static inline std::uint32_t F16FromF32(float value) {
  if (value != value) return 0x7E00u;
  const std::uint32_t bits = BitCast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 leaves the value in units of 2^-24, a subnormal's, rounded by the addition itself.
    const float rounded = BitCast<float>(magnitude) + 0.5f;
    return sign | (BitCast<std::uint32_t>(rounded) - 0x3F000000u);
  }
  magnitude += 0x0FFFu + (magnitude >> 13 & 1u);
  const std::uint32_t half = (magnitude - (112u << 23)) >> 13;
  return sign | (half < 0x7C00u ? half : 0x7C00u);
}

static inline float F32FromBF16(std::uint64_t bits) { return F32FromBits(bits << 16); }

/// The bits of a float32, changed so that their upper half is the nearest bfloat16, ties to even. No NaN.
static inline std::uint32_t RoundToBF16(std::uint32_t bits) { return bits + 0x7FFFu + (bits >> 16 & 1u); }

// maxval - minval, rounded in the type of the bounds. For the 16-bit types the float32 difference rounded again is the
// rounded difference (see rules.h).
static inline float WidthF32(std::uint64_t minval, std::uint64_t maxval) {
  return F32FromBits(maxval) - F32FromBits(minval);
}
static inline float WidthF16(std::uint64_t minval, std::uint64_t maxval) {
  return F32FromF16(F16FromF32(F32FromF16(maxval) - F32FromF16(minval)));
}
static inline float WidthBF16(std::uint64_t minval, std::uint64_t maxval) {
  const float difference = F32FromBF16(maxval) - F32FromBF16(minval);
  return F32FromBF16(RoundToBF16(BitCast<std::uint32_t>(difference)) >> 16);
}
static inline double WidthF64(std::uint64_t minval, std::uint64_t maxval) {
  return F64FromBits(maxval) - F64FromBits(minval);
}

}  // namespace onnx_philox
