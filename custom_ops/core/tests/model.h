// The contract, element by element in the plainest code: no shared line with the kernels but Philox itself, which
// test_vectors holds against published answers. Needs the default floating-point environment.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels.h"

namespace model {

using onnx_philox::Bounds;
using onnx_philox::OutputType;
using onnx_philox::State;

/// The number with `precision` significant bits and a last bit of at least 2^least nearest to `value`, ties to even.
inline double Round(double value, int precision, int least) {
  if (value == 0.0) return 0.0;
  int exponent;
  std::frexp(value, &exponent);
  const int last = exponent - precision > least ? exponent - precision : least;
  return std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
}

struct Format {
  int precision, least;
};
constexpr Format kF16{11, -24}, kBF16{8, -133}, kF32{24, -149};

inline double Decode(std::uint64_t bits, Format format, int size) {
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << (format.precision - 1)) - 1);
  const std::uint64_t exponent =
      bits >> (format.precision - 1) & ((std::uint64_t{1} << (8 * size - format.precision)) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(static_cast<double>(fraction), format.least)
                    : std::ldexp(static_cast<double>(fraction + (std::uint64_t{1} << (format.precision - 1))),
                                 format.least + static_cast<int>(exponent) - 1);
  return bits >> (8 * size - 1) != 0 ? -magnitude : magnitude;
}

inline std::uint64_t Encode(double value, Format format, int size) {
  std::uint64_t bits = 0;
  const double magnitude = std::fabs(value);
  if (magnitude != 0.0) {
    int exponent;
    std::frexp(magnitude, &exponent);
    const int last = exponent - format.precision > format.least ? exponent - format.precision : format.least;
    bits = (static_cast<std::uint64_t>(last - format.least) << (format.precision - 1)) +
           static_cast<std::uint64_t>(std::ldexp(magnitude, -last));
  }
  return bits | static_cast<std::uint64_t>(std::signbit(value)) << (8 * size - 1);
}

/// u * (maxval - minval) + minval for u = k / 2^(precision - 1). Rounding a double's result again is right: double has
/// more than twice the precision of these types.
inline std::uint64_t Small(std::uint32_t word, Format format, int size, const Bounds& bounds) {
  const double u = std::ldexp(static_cast<double>(word & ((1u << (format.precision - 1)) - 1)), 1 - format.precision);
  const double minval = Decode(bounds.minval, format, size), maxval = Decode(bounds.maxval, format, size);
  const double width = Round(maxval - minval, format.precision, format.least);
  const double product = Round(u * width, format.precision, format.least);
  return Encode(Round(product + minval, format.precision, format.least), format, size);
}

inline std::uint64_t Double(std::uint32_t x0, std::uint32_t x1, const Bounds& bounds) {
  const double u = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(x0 & 0xFFFFFu) << 32 | x1), -52);
  double minval, maxval;
  std::memcpy(&minval, &bounds.minval, 8);
  std::memcpy(&maxval, &bounds.maxval, 8);
  volatile double width = maxval - minval;  // volatile: no contraction, whatever this file is compiled with
  volatile double product = u * width;
  const double value = product + minval;
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}

inline std::uint64_t Element(const State& state, OutputType type, const Bounds& bounds, std::uint64_t index) {
  const unsigned per_block = 4 / WordsPerElement(type);
  const onnx_philox::Block block = Philox(Add(state.counter, index / per_block), state.key);
  const std::uint32_t* word = block.word + index % per_block * WordsPerElement(type);
  switch (type) {
    case OutputType::kBits:
      return word[0];
    case OutputType::kF32:
      return Small(word[0], kF32, 4, bounds);
    case OutputType::kF16:
      return Small(word[0], kF16, 2, bounds);
    case OutputType::kBF16:
      return Small(word[0], kBF16, 2, bounds);
    case OutputType::kF64:
      return Double(word[0], word[1], bounds);
    case OutputType::kI32: {
      const std::uint32_t minval = static_cast<std::uint32_t>(bounds.minval);
      return static_cast<std::uint32_t>(word[0] % (static_cast<std::uint32_t>(bounds.maxval) - minval) + minval);
    }
    case OutputType::kI64:
      return (static_cast<std::uint64_t>(word[1]) << 32 | word[0]) % (bounds.maxval - bounds.minval) + bounds.minval;
    case OutputType::kBool:
      break;
  }
  return 0;
}

/// Elements [begin, begin + count) as bytes.
inline std::vector<unsigned char> Elements(const State& state, OutputType type, const Bounds& bounds,
                                           std::uint64_t begin, std::size_t count) {
  const unsigned size = ElementSize(type);
  std::vector<unsigned char> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t element = Element(state, type, bounds, begin + i);
    std::memcpy(bytes.data() + i * size, &element, size);  // little-endian, as the core itself
  }
  return bytes;
}

}  // namespace model
