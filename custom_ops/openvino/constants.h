// What is known of a node that depends on constants only, before the CPU plugin changes them.
//
// The plugin hands f64 to a custom operator as f32, i64 as i32, and uint32 constants clamped to 2^31-1. So an operator
// reads the value of a constant input while the constant still has its declared type, and keeps it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "openvino/core/node.hpp"
#include "openvino/runtime/tensor.hpp"

namespace onnx_philox {

/// The bytes of a constant. They live as long as the node, or `owner` if they were computed.
struct ConstantValue {
  const void* data = nullptr;  ///< null: not a constant
  ov::Tensor owner;

  explicit operator bool() const { return data != nullptr; }
};

/// What is known of the nodes upstream of a node; it looks at each node once. OpenVINO folds the same nodes when it
/// compiles a model, before its plugin narrows types. Use an object for one validation only, since a model may change
/// between two.
class Upstream {
 public:
  /// Whether a node depends on constants only, of any type and size.
  bool IsConstant(const ov::Node& node);

  /// The exact value of a node's only output; none if it is unknown or large.
  ConstantValue ValueOf(const ov::Node& node);

 private:
  ov::Tensor Compute(const ov::Node& node) const;

  std::unordered_map<const ov::Node*, bool> is_constant_;
  std::unordered_map<const ov::Node*, ov::Tensor> values_;  ///< no tensor where a value cannot be known
};

/// Whether this is a constant that saving to IR compressed to f16.
bool IsDecompressed(const ov::Node& node);

}  // namespace onnx_philox
