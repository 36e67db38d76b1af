// What can be drawn: the distributions, the output types and their sizes, and the parameters of a draw.
//
// Included by the per-instruction-set files: see philox.h for why everything here is `static inline`, always inlined, or
// an aggregate.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "declared_names.h"
#include "inlining.h"

namespace onnx_philox {

enum class OutputType { kBits, kF32, kF16, kBF16, kF64, kI32, kI64, kBool };
constexpr int kOutputTypes = 8;

/// Ends the process, where a kernel lacks what the declaration promises: memory that nobody wrote to must not pass for a
/// draw.
[[noreturn]] static inline void NoRule() { std::abort(); }

/// The range [minval, maxval) as bit patterns of the output type, zero-extended: nothing is rounded on the way in, and
/// float16 and bfloat16 need no C++ type. Ignored for kBits.
struct Bounds {
  std::uint64_t minval;
  std::uint64_t maxval;
};

/// Numbers of a type, at any alignment.
struct Numbers {
  OutputType type;
  const void* data;
};

/// The numbers from `least` to `greatest` of a type, in the order that number_limits.h says.
struct Limits {
  std::uint64_t least, greatest;
};

/// Whether uniforms are below a probability that is NaN. If it is not refused, neither is any other number.
enum class OfNan { kRefused, kNone, kAll };

/// A parameter of a draw, within the limits that its declaration says: one number, or many that the draw reads while it
/// fills, and to which nobody may write meanwhile.
struct Argument {
  OutputType type;     ///< kBits, the first: it is left out
  std::uint64_t bits;  ///< of one number: its bit pattern, zero-extended
  const void* data;    ///< of many, at any alignment; null: there is one, or an optional input is left out
  const Limits* unchecked = nullptr;  ///< of many floats, one for each element: the draw itself looks whether they are within
  OfNan of_nan = OfNan::kRefused;     ///< of many probabilities

  ONNX_PHILOX_INLINE bool each() const { return data != nullptr; }
  ONNX_PHILOX_INLINE bool is_left_out() const { return type == OutputType::kBits; }
  ONNX_PHILOX_INLINE Numbers numbers() const { return Numbers{type, data}; }
};

/// The bounds among the parameters of a draw.
static inline Bounds BoundsOf(const Argument (&given)[kParameters]) {
  return Bounds{given[static_cast<int>(Parameter::kMinval)].bits, given[static_cast<int>(Parameter::kMaxval)].bits};
}

/// Bytes of one element.
static constexpr unsigned ElementSize(OutputType type) {
  switch (type) {
    case OutputType::kBool:
      return 1;
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

/// Generator words that one element of a uniform or normal draw uses. (Normals come in pairs, and the last of an odd
/// number leaves its partner's words unused; a block holds whole pairs, so that is the same number of blocks.)
static inline unsigned WordsPerElement(OutputType type) {
  return type == OutputType::kF64 || type == OutputType::kI64 ? 2 : 1;
}

}  // namespace onnx_philox
