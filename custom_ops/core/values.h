// Numbers as bit patterns: which are finite, which are probabilities, which rows of logits can be drawn from, and which
// pairs of bounds are a range. These functions find what is wrong; checks.cpp words it.
#pragma once

#include <cstdint>

#include "declaration.h"

namespace onnx_philox {

/// From here on, exp counts as above 0.
constexpr double kLeastExponent = -708;

bool IsFloat(OutputType type);

/// The value of a float type's bits. In the environment of float_environment.h.
double FloatValue(OutputType type, std::uint64_t bits);

/// The bits of number `i`.
std::uint64_t BitsAt(const Numbers& numbers, std::uint64_t i);
/// Element `i` of i32, i64 or u32.
std::int64_t IntegerAt(ElementType type, const void* data, std::uint64_t i);

/// The first of `count` numbers that is not within the limits of their type (number_limits.h); `count` if all are.
/// `limits` are by OutputType.
std::uint64_t FirstOutside(const Numbers& numbers, std::uint64_t count, const Limits* limits);

/// What is wrong with a row of logits: the index of its first NaN or positive infinity, or one of these.
constexpr std::int64_t kNothing = -1, kOnlyNegativeInfinity = -2;

/// The row of `classes` numbers from number `begin` on.
std::int64_t WrongInRow(const Numbers& logits, std::uint64_t begin, std::uint64_t classes);

/// How many classes of that row, which has nothing wrong, have a weight above 0; `most` if there are more. The weight is
/// exp(x), which counts as above 0 from the x `least` on.
std::uint64_t ClassesOfWeight(const Numbers& logits, std::uint64_t begin, std::uint64_t classes, std::uint64_t most,
                              double least = kLeastExponent);

/// Why a pair of bounds is not a range.
enum class RangeProblem {
  kNone,
  kInverted,   ///< floats: minval > maxval; integers: minval >= maxval
  kTooWide,    ///< floats: maxval - minval is infinite in the type
};

/// Of finite bounds. None for kBits, which has no bounds.
RangeProblem RangeProblemOf(OutputType type, const Bounds& bounds);

}  // namespace onnx_philox
