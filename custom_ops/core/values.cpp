// Scans of numbers: see values.h.
#include "values.h"

#include <cstring>

#include "coefficients.h"
#include "float_environment.h"
#include "floats.h"
#include "number_limits.h"

namespace onnx_philox {

namespace {

/// The element of an array at any alignment.
template <class Bits>
Bits BitsAt(const void* data, std::uint64_t i) {
  Bits bits;
  std::memcpy(&bits, static_cast<const unsigned char*>(data) + i * sizeof(Bits), sizeof(Bits));
  return bits;
}

/// The first number that is not within the limits, or `count`.
template <class Bits>
std::uint64_t FirstOutside(const void* data, std::uint64_t count, bool is_float, const Limits& limits) {
  const SignedLimits<Bits> within(limits, is_float);
  constexpr std::uint64_t kChunk = 4096;  // a loop without a way out is vectorised
  for (std::uint64_t begin = 0; begin < count; begin += kChunk) {
    const std::uint64_t end = begin + kChunk < count ? begin + kChunk : count;
    Bits wrong = 0;
    for (std::uint64_t i = begin; i < end; ++i) wrong = static_cast<Bits>(wrong | within.Outside(BitsAt<Bits>(data, i)));
    if (wrong == 0) continue;
    for (std::uint64_t i = begin; i < end; ++i) {
      if (within.Outside(BitsAt<Bits>(data, i)) != 0) return i;
    }
  }
  return count;
}

template <class Bits>
constexpr Bits kSignOf = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

/// Whether all of these floats are finite. A magnitude reaches the sign bit if so much is added that infinity does: a plain
/// x86-64 has no vectors of 64 bits that would compare them, but such as add them.
template <class Bits>
bool AreFinite(const void* data, std::uint64_t begin, std::uint64_t count, Bits infinity) {
  const Bits to_sign = static_cast<Bits>(kSignOf<Bits> - infinity);
  Bits reached = 0;
  for (std::uint64_t i = begin; i < begin + count; ++i) {
    const Bits magnitude = static_cast<Bits>(BitsAt<Bits>(data, i) & static_cast<Bits>(~kSignOf<Bits>));
    reached |= static_cast<Bits>(magnitude + to_sign);
  }
  return (reached & kSignOf<Bits>) == 0;
}

template <class Bits>
std::int64_t WrongInRow(const void* data, std::uint64_t begin, std::uint64_t classes, Bits infinity) {
  // As nearly always, and less work than what follows.
  if (classes > 0 && AreFinite<Bits>(data, begin, classes, infinity)) return kNothing;
  constexpr Bits kSign = kSignOf<Bits>;
  const Bits negative_infinity = static_cast<Bits>(infinity | kSign);
  Bits wrong = 0, lowest = 0;
  for (std::uint64_t i = begin; i < begin + classes; ++i) {
    const Bits bits = BitsAt<Bits>(data, i);
    const Bits magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    wrong |= static_cast<Bits>(magnitude > infinity) | static_cast<Bits>(bits == infinity);
    lowest |= static_cast<Bits>(bits != negative_infinity);
  }
  if (wrong == 0) return lowest == 0 ? kOnlyNegativeInfinity : kNothing;
  for (std::uint64_t i = begin;; ++i) {
    const Bits bits = BitsAt<Bits>(data, i);
    if (static_cast<Bits>(bits & static_cast<Bits>(~kSign)) > infinity || bits == infinity) {
      return static_cast<std::int64_t>(i - begin);
    }
  }
}

/// maxval - minval, rounded in the type.
double Width(OutputType type, const Bounds& bounds) {
  switch (type) {
    case OutputType::kF16:
      return static_cast<double>(WidthF16(bounds.minval, bounds.maxval));
    case OutputType::kBF16:
      return static_cast<double>(WidthBF16(bounds.minval, bounds.maxval));
    case OutputType::kF32:
      return static_cast<double>(WidthF32(bounds.minval, bounds.maxval));
    default:
      return WidthF64(bounds.minval, bounds.maxval);
  }
}

RangeProblem FloatRangeProblem(OutputType type, const Bounds& bounds) {
  if (FloatValue(type, bounds.minval) > FloatValue(type, bounds.maxval)) return RangeProblem::kInverted;
  const double width = Width(type, bounds);
  // Infinite: x - x is 0 for every finite number.
  return width - width == 0.0 ? RangeProblem::kNone : RangeProblem::kTooWide;
}

static_assert(kLeastExponent == kSmallestExponent, "as in the kernels");

std::uint64_t CountOfWeight(const Numbers& logits, std::uint64_t begin, std::uint64_t classes, std::uint64_t most,
                            double least) {
  const auto logit = [&](std::uint64_t i) { return FloatValue(logits.type, BitsAt(logits, begin + i)); };
  double maximum = logit(0);
  for (std::uint64_t i = 1; i < classes; ++i) maximum = logit(i) > maximum ? logit(i) : maximum;
  std::uint64_t count = 0;
  for (std::uint64_t i = 0; i < classes && count < most; ++i) count += logit(i) - maximum >= least ? 1 : 0;
  return count;
}

}  // namespace

bool IsFloat(OutputType type) {
  return type == OutputType::kF16 || type == OutputType::kBF16 || type == OutputType::kF32 ||
         type == OutputType::kF64;
}

double FloatValue(OutputType type, std::uint64_t bits) {
  switch (type) {
    case OutputType::kF16:
      return static_cast<double>(F32FromF16(bits));
    case OutputType::kBF16:
      return static_cast<double>(F32FromBF16(bits));
    case OutputType::kF32:
      return static_cast<double>(F32FromBits(bits));
    default:
      return F64FromBits(bits);
  }
}

std::uint64_t BitsAt(const Numbers& numbers, std::uint64_t i) {
  switch (ElementSize(numbers.type)) {
    case 2:
      return BitsAt<std::uint16_t>(numbers.data, i);
    case 4:
      return BitsAt<std::uint32_t>(numbers.data, i);
    default:
      return BitsAt<std::uint64_t>(numbers.data, i);
  }
}

std::int64_t IntegerAt(ElementType type, const void* data, std::uint64_t i) {
  if (type == ElementType::kI32) return BitsAt<std::int32_t>(data, i);
  return type == ElementType::kU32 ? BitsAt<std::uint32_t>(data, i) : BitsAt<std::int64_t>(data, i);
}

std::uint64_t FirstOutside(const Numbers& numbers, std::uint64_t count, const Limits* limits) {
  const Limits& own = limits[static_cast<int>(numbers.type)];
  const bool is_float = IsFloat(numbers.type);
  switch (ElementSize(numbers.type)) {
    case 2:
      return FirstOutside<std::int16_t>(numbers.data, count, is_float, own);
    case 4:
      return FirstOutside<std::int32_t>(numbers.data, count, is_float, own);
    default:
      return FirstOutside<std::int64_t>(numbers.data, count, is_float, own);
  }
}

std::int64_t WrongInRow(const Numbers& logits, std::uint64_t begin, std::uint64_t classes) {
  switch (logits.type) {
    case OutputType::kF16:
      return WrongInRow<std::uint16_t>(logits.data, begin, classes, 0x7C00u);
    case OutputType::kBF16:
      return WrongInRow<std::uint16_t>(logits.data, begin, classes, 0x7F80u);
    case OutputType::kF32:
      return WrongInRow<std::uint32_t>(logits.data, begin, classes, 0x7F800000u);
    default:
      return WrongInRow<std::uint64_t>(logits.data, begin, classes, 0x7FF0000000000000u);
  }
}

std::uint64_t ClassesOfWeight(const Numbers& logits, std::uint64_t begin, std::uint64_t classes, std::uint64_t most,
                              double least) {
  const FloatEnvironment environment;
  // Volatile: as below.
  std::uint64_t (*volatile const count)(const Numbers&, std::uint64_t, std::uint64_t, std::uint64_t, double) =
      CountOfWeight;
  return count(logits, begin, classes, most, least);
}

RangeProblem RangeProblemOf(OutputType type, const Bounds& bounds) {
  if (IsFloat(type)) {
    const FloatEnvironment environment;
    // Volatile keeps the call, and with it the arithmetic, inside the environment.
    RangeProblem (*volatile const find)(OutputType, const Bounds&) = FloatRangeProblem;
    return find(type, bounds);
  }
  if (type != OutputType::kI32 && type != OutputType::kI64) return RangeProblem::kNone;
  const bool is_narrow = type == OutputType::kI32;
  const auto value = [is_narrow](std::uint64_t bits) {
    return is_narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)) : static_cast<std::int64_t>(bits);
  };
  return value(bounds.minval) < value(bounds.maxval) ? RangeProblem::kNone : RangeProblem::kInverted;
}

}  // namespace onnx_philox
