// Numbers as bit patterns: which are finite, which are probabilities, which rows of logits can be drawn from, and which
// pairs of bounds are a range. These functions find what is wrong; checks.cpp words it.
#pragma once

#include <cstdint>

#include "output.h"

namespace onnx_philox {

bool IsFloat(OutputType type);

/// The value of a float type's bits. In the environment of float_environment.h.
double FloatValue(OutputType type, std::uint64_t bits);

/// Whether a number is finite; integers always are. It looks at the exponent bits, so no arithmetic can disturb it.
bool IsFinite(OutputType type, std::uint64_t bits);

/// The bits of number `i`.
std::uint64_t BitsAt(const Numbers& numbers, std::uint64_t i);

/// The first of `count` numbers, f32 or f64, that is not a probability; `count` if all of them are.
std::uint64_t FirstImprobable(const Numbers& p, std::uint64_t count);

/// What is wrong with a row of logits: the index of its first NaN or positive infinity, or one of these.
constexpr std::int64_t kNothing = -1, kOnlyNegativeInfinity = -2;

/// The row of `classes` numbers from number `begin` on.
std::int64_t WrongInRow(const Numbers& logits, std::uint64_t begin, std::uint64_t classes);

/// Why a pair of bounds is not a range.
enum class RangeProblem {
  kNone,
  kNotFinite,  ///< floats: one of them
  kInverted,   ///< floats: minval > maxval; integers: minval >= maxval
  kTooWide,    ///< floats: maxval - minval is infinite in the type
};

/// None for kBits, which has no bounds.
RangeProblem RangeProblemOf(OutputType type, const Bounds& bounds);

}  // namespace onnx_philox
