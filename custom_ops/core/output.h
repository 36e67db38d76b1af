// What can be drawn: the distributions, the output types and their sizes, and the parameters of a draw.
//
// Included by the per-instruction-set files: see philox.h for why everything here is `static inline` or an aggregate.
#pragma once

#include <cstdint>

namespace onnx_philox {

enum class OutputType { kBits, kF32, kF16, kBF16, kF64, kI32, kI64, kBool };
constexpr int kOutputTypes = 8;

/// How words become elements. Random bits are a uniform draw of kBits.
enum class Distribution { kUniform, kNormal, kBernoulli, kCategorical };

/// The range [minval, maxval) as bit patterns of the output type, zero-extended: nothing is rounded on the way in, and
/// float16 and bfloat16 need no C++ type. Ignored for kBits.
struct Bounds {
  std::uint64_t minval;
  std::uint64_t maxval;
};

/// What a standard value is multiplied by, and what is added then: bit patterns as those of Bounds, and finite.
struct Affine {
  std::uint64_t mean;
  std::uint64_t scale;
};

/// Numbers that a draw reads while it fills: kF16, kF32 or kF64, at any alignment. Nobody may write to them meanwhile.
struct Numbers {
  OutputType type;
  const void* data;
};

/// The probabilities of `true`: kF32 or kF64, each in [0, 1] or at most 4 ulp above, which also means always true. One
/// for all elements, or one for each.
struct Probabilities {
  Numbers p;
  bool each;
};

/// Unnormalised log-probabilities, kF16, kF32 or kF64: rows of `classes` (1 or more), with `samples` draws (1 or more)
/// from each. They have no NaN, no positive infinity, and in each row a number that is not negative infinity.
struct Logits {
  Numbers logits;
  std::uint64_t classes;
  std::uint64_t samples;
};

/// Bytes of one element.
static inline unsigned ElementSize(OutputType type) {
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
