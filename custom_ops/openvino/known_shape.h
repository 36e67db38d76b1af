// Shapes and empty shapes of OpenVINO, as the core's checks take them.
#pragma once

#include <cstdint>
#include <vector>

#include "known.h"
#include "openvino/core/partial_shape.hpp"
#include "values.h"

namespace onnx_philox {

/// A shape as the checks take it; a valid rank needs no allocation.
class KnownShape {
 public:
  explicit KnownShape(const ov::PartialShape& shape) {
    if (shape.rank().is_dynamic()) return;
    rank_ = static_cast<int>(shape.size());
    for (int i = 0; i < rank_; ++i) {
      const ov::Dimension& d = shape[i];
      Add(i, d.is_static() ? d.get_length() : Known::kUnknownDimension);
    }
  }
  explicit KnownShape(const ov::Shape& shape) : rank_(static_cast<int>(shape.size())) {
    for (int i = 0; i < rank_; ++i) Add(i, static_cast<std::int64_t>(shape[i]));
  }

  Known WithType(ElementType type, const void* data = nullptr) const {
    return Known{type, rank_, more_.empty() ? dimensions_ : more_.data(), data};
  }
  int rank() const { return rank_; }

  /// How many elements a tensor of this shape has; kUnknownDimension if that is not known.
  std::int64_t elements() const {
    std::int64_t count = rank_ == Known::kUnknownRank ? Known::kUnknownDimension : 1;
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t d = more_.empty() ? dimensions_[i] : more_[static_cast<std::size_t>(i)];
      if (d == Known::kUnknownDimension) return d;
      count *= d;
    }
    return count;
  }

 private:
  static constexpr int kInline = kMaxRank + 1;

  void Add(int i, std::int64_t dimension) {
    if (i < kInline) dimensions_[i] = dimension;
    if (i == kInline) more_.assign(dimensions_, dimensions_ + kInline);
    if (i >= kInline) more_.push_back(dimension);
  }

  int rank_ = Known::kUnknownRank;
  std::int64_t dimensions_[kInline] = {};
  std::vector<std::int64_t> more_;
};

/// What an input `shape` says; `data` is null where its value is not known. The ONNX front end turns an empty initializer, a
/// scalar's shape, into a rank-0 constant 0.
inline Known KnownSizes(const KnownShape& shape, ElementType type, const void* data) {
  static constexpr std::int64_t kNoSizes = 0;
  const bool is_integer = type == ElementType::kI32 || type == ElementType::kI64;
  const bool is_empty = data != nullptr && shape.rank() == 0 && is_integer && IntegerAt(type, data, 0) == 0;
  return is_empty ? Known{type, 1, &kNoSizes, nullptr} : shape.WithType(type, data);
}

}  // namespace onnx_philox
