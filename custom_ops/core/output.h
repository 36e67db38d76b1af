// What can be drawn: the output types, their sizes, and the half-open range of a draw.
//
// Included by the per-instruction-set files: see philox.h for why everything here is `static inline` or an aggregate.
#pragma once

#include <cstdint>

namespace onnx_philox {

enum class OutputType { kBits, kF32, kF16, kBF16, kF64, kI32, kI64 };
constexpr int kOutputTypes = 7;

/// The range [minval, maxval) as bit patterns of the output type, zero-extended: nothing is rounded on the way in, and
/// float16 and bfloat16 need no C++ type. Ignored for kBits.
struct Bounds {
  std::uint64_t minval;
  std::uint64_t maxval;
};

/// Bytes of one element.
static inline unsigned ElementSize(OutputType type) {
  switch (type) {
    case OutputType::kF16:
    case OutputType::kBF16:
      return 2;
    case OutputType::kF64:
    case OutputType::kI64:
      return 8;
    case OutputType::kBits:
    case OutputType::kF32:
    case OutputType::kI32:
      break;
  }
  return 4;
}

/// Generator words that one element uses.
static inline unsigned WordsPerElement(OutputType type) {
  return type == OutputType::kF64 || type == OutputType::kI64 ? 2 : 1;
}

}  // namespace onnx_philox
