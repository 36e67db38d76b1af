// What is known of inputs and outputs: more at run than at load.
#pragma once

#include <cstdint>
#include <string>

#include "operators.h"
#include "text.h"

namespace onnx_philox {

/// What is known of an input.
struct Known {
  static constexpr int kUnknownRank = -1;
  static constexpr std::int64_t kUnknownDimension = onnx_philox::kUnknownDimension;

  ElementType type = ElementType::kUnknown;
  int rank = kUnknownRank;
  const std::int64_t* dimensions = nullptr;  ///< `rank` of them; kUnknownDimension where one is not known
  const void* data = nullptr;                ///< null: the value is not known (or there are no elements)
};

/// How many elements it has, where its shape is known.
inline std::uint64_t CountOf(const Known& known) {
  std::uint64_t count = 1;
  for (int i = 0; i < known.rank; ++i) count *= static_cast<std::uint64_t>(known.dimensions[i]);
  return count;
}

/// Its shape, as errors show it.
inline std::string ShapeOf(const Known& known) {
  return Worded(say::kShape, {ShowDimensions(known.dimensions, known.rank, true)});
}

/// A shape as far as it is known, of at most kMaxRank dimensions.
struct ShapeSoFar {
  int rank = Known::kUnknownRank;
  std::int64_t dimension[kMaxRank] = {};
};

/// The dimensions of an output, checked.
struct Dimensions {
  int rank = 0;
  std::int64_t dimension[kMaxRank] = {};
  std::int64_t elements = 1;
  std::int64_t bytes = 0;
};

}  // namespace onnx_philox
