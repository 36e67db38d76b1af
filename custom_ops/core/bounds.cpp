// CheckBounds: which pairs of bounds are a range.
#include <cstdio>

#include "float_environment.h"
#include "floats.h"
#include "kernels.h"

namespace onnx_philox {

namespace {

struct FloatRange {
  double minval, maxval;
  double width;  // rounded in the type
};

FloatRange FloatRangeOf(OutputType type, const Bounds& bounds) {
  const std::uint64_t low = bounds.minval, high = bounds.maxval;
  switch (type) {
    case OutputType::kF16:
      return FloatRange{F32FromF16(low), F32FromF16(high), WidthF16(low, high)};
    case OutputType::kBF16:
      return FloatRange{F32FromBF16(low), F32FromBF16(high), WidthBF16(low, high)};
    case OutputType::kF64:
      return FloatRange{F64FromBits(low), F64FromBits(high), WidthF64(low, high)};
    default:
      return FloatRange{F32FromBits(low), F32FromBits(high), WidthF32(low, high)};
  }
}

/// Infinite or NaN: x - x is 0 for every other number.
bool IsFinite(double x) { return x - x == 0.0; }

std::string CheckFloats(OutputType type, const Bounds& bounds) {
  FloatRange range = FloatRangeOf(type, bounds);
  const char* problem = nullptr;
  if (!IsFinite(range.minval) || !IsFinite(range.maxval)) {
    problem = "both must be finite";
  } else if (range.minval > range.maxval) {
    problem = "minval must not be above maxval";
  } else if (!IsFinite(range.width)) {
    problem = "maxval - minval must not overflow the output type; choose a narrower range";
  }
  if (problem == nullptr) return std::string();
  char text[192];
  std::snprintf(text, sizeof(text), "has minval %.17g and maxval %.17g: %s", range.minval, range.maxval, problem);
  return text;
}

std::string CheckIntegers(OutputType type, const Bounds& bounds) {
  const bool narrow = type == OutputType::kI32;
  const long long minval = narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bounds.minval))
                                  : static_cast<std::int64_t>(bounds.minval);
  const long long maxval = narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(bounds.maxval))
                                  : static_cast<std::int64_t>(bounds.maxval);
  if (minval < maxval) return std::string();
  char text[128];
  std::snprintf(text, sizeof(text), "has minval %lld and maxval %lld: minval must be below maxval", minval, maxval);
  return text;
}

std::string Check(OutputType type, const Bounds& bounds) {
  switch (type) {
    case OutputType::kBits:
      return std::string();
    case OutputType::kI32:
    case OutputType::kI64:
      return CheckIntegers(type, bounds);
    default:
      return CheckFloats(type, bounds);
  }
}

}  // namespace

std::string CheckBounds(OutputType type, const Bounds& bounds) {
  const FloatEnvironment environment;
  // Volatile keeps the call, and with it the arithmetic, inside the environment.
  std::string (*volatile const check)(OutputType, const Bounds&) = Check;
  return check(type, bounds);
}

}  // namespace onnx_philox
