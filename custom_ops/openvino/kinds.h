// What the lists in plugin_names.h consist of, and questions to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "openvino/core/node.hpp"

namespace onnx_philox {

/// A list of element types.
struct Types {
  template <std::size_t N>
  constexpr Types(const ov::element::Type_t (&types)[N]) : first(types), count(N) {}

  const ov::element::Type_t* first;
  std::size_t count;

  bool Has(const ov::element::Type& type) const { return std::find(first, first + count, type) != first + count; }
};

/// When a node is exact in the CPU plugin, which computes u32, i64 and u64 as i32, and booleans as u8. A word is exact
/// where its low 32 bits are right. So is an index: where it is valid, it is less than 2^31.
struct ExactNode {
  const char* name;
  /// A letter for each input, the last one also for all further inputs: `d` data, which must be exact; `p` a place
  /// (index, axis, shape, padding), which must be exact or constant; `v` a value that the plugin reads as an f32
  /// constant.
  const char* inputs;
  Types types;  ///< of its output

  char Role(std::size_t input) const { return inputs[std::min(input, std::strlen(inputs) - 1)]; }
};

inline bool IsNode(const ov::Node& node, const char* name) { return std::strcmp(node.get_type_name(), name) == 0; }

template <std::size_t N>
bool IsOneOf(const ov::Node& node, const char* const (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return IsNode(node, name); });
}

}  // namespace onnx_philox
