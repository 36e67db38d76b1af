// The four float types as bit patterns: exact text, and conversion from one to another.
//
// Integer arithmetic only: a host process that flushes subnormals, or a locale with a decimal comma, changes nothing.
#pragma once

#include <cstdint>
#include <string>

namespace onnx_philox {

/// An IEEE binary format: a sign, `exponent_bits`, `mantissa_bits`.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
};

constexpr FloatFormat kF16Format{5, 10};
constexpr FloatFormat kBF16Format{8, 7};
constexpr FloatFormat kF32Format{8, 23};
constexpr FloatFormat kF64Format{11, 52};

constexpr int LargestExponentField(FloatFormat format) { return (1 << format.exponent_bits) - 1; }
constexpr int ExponentBias(FloatFormat format) { return LargestExponentField(format) >> 1; }

/// The value mantissa * 2^exponent as the magnitude bits of `format`, rounded to nearest even; past its largest number,
/// infinity.
constexpr std::uint64_t RoundTo(FloatFormat format, std::uint64_t mantissa, int exponent) {
  if (mantissa == 0) return 0;
  int top = 63;
  while ((mantissa >> top) == 0) --top;
  // The exponent of the last place kept: that of a number of this size, or of a subnormal.
  const int least = 1 - ExponentBias(format) - format.mantissa_bits;
  int last = exponent + top - format.mantissa_bits;
  if (last < least) last = least;
  const int dropped = last - exponent;
  std::uint64_t kept = 0;
  if (dropped <= 0) {
    kept = mantissa << -dropped;
  } else if (dropped < 64) {
    kept = mantissa >> dropped;
    const std::uint64_t rest = mantissa - (kept << dropped);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  } else if (dropped == 64) {
    kept = mantissa > (std::uint64_t{1} << 63) ? 1 : 0;
  }
  // `kept` has its leading bit at mantissa_bits, or one above after rounding up, or below in a subnormal. Added to the
  // exponent field it carries into it by itself.
  const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(format)) << format.mantissa_bits;
  if (last - least >= LargestExponentField(format)) return infinity;
  const std::uint64_t bits = (static_cast<std::uint64_t>(last - least) << format.mantissa_bits) + kept;
  return bits < infinity ? bits : infinity;
}

/// `bits` of one format in another, rounded to nearest even. NaN becomes a quiet NaN.
constexpr std::uint64_t ConvertFloat(std::uint64_t bits, FloatFormat from, FloatFormat to) {
  const std::uint64_t hidden = std::uint64_t{1} << from.mantissa_bits;
  const std::uint64_t fraction = bits & (hidden - 1);
  const int field = static_cast<int>(bits >> from.mantissa_bits) & LargestExponentField(from);
  const std::uint64_t sign = bits >> (from.exponent_bits + from.mantissa_bits) & 1;
  const std::uint64_t to_sign = sign << (to.exponent_bits + to.mantissa_bits);
  if (field == LargestExponentField(from)) {
    const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(to)) << to.mantissa_bits;
    return to_sign | infinity | (fraction == 0 ? 0 : std::uint64_t{1} << (to.mantissa_bits - 1));
  }
  const int exponent = (field == 0 ? 1 : field) - ExponentBias(from) - from.mantissa_bits;
  return to_sign | RoundTo(to, field == 0 ? fraction : fraction | hidden, exponent);
}

/// The number exactly, as Python's float.hex() writes it: 0x1.999999999999ap-4.
std::string FloatToText(std::uint64_t bits, FloatFormat format);

/// Reads what FloatToText wrote of anything but NaN; false if `text` is anything else, or not a number of `format`.
bool FloatFromText(const std::string& text, FloatFormat format, std::uint64_t* bits);

}  // namespace onnx_philox
