// Constant subgraphs: see constants.h. Every node is visited once, however many paths lead to it.
#include "constants.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "openvino/op/constant.hpp"

namespace onnx_philox {

namespace {

/// Only small tensors feed a state, a bound or a shape; larger constants are weights.
constexpr std::size_t kMaxElements = 4096;
constexpr std::uint64_t kInt32Max = 0x7FFFFFFF;
/// How long a chain of nodes may be to be evaluated: that is recursive. What is longer counts as no constant.
constexpr int kMaxDepth = 1000;

bool IsType(const ov::Node& node, const char* name) { return std::strcmp(node.get_type_name(), name) == 0; }

const ov::op::v0::Constant* AsConstant(const ov::Node& node) {
  return ov::as_type<const ov::op::v0::Constant>(&node);
}

/// OpenVINO's own random operators: of constants, but another value in every run.
bool DrawsAnew(const ov::Node& node) { return IsType(node, "RandomUniform") || IsType(node, "Multinomial"); }

class Evaluator {
 public:
  /// The value of the node's only output; no tensor if it is not to be had.
  ov::Tensor operator()(const ov::Node& node, int depth) {
    const auto known = values_.find(&node);
    if (known != values_.end()) return known->second;
    const ov::Tensor value = Compute(node, depth);
    values_.emplace(&node, value);
    return value;
  }

 private:
  ov::Tensor Compute(const ov::Node& node, int depth) {
    if (depth == 0 || node.get_output_size() != 1) return {};
    const ov::PartialShape& shape = node.get_output_partial_shape(0);
    const ov::element::Type& type = node.get_output_element_type(0);
    if (shape.is_dynamic() || type.is_dynamic() || ov::shape_size(shape.to_shape()) > kMaxElements) return {};
    if (const auto* constant = AsConstant(node)) return constant->get_tensor_view();
    if (node.get_input_size() == 0 || DrawsAnew(node)) return {};
    ov::TensorVector inputs;
    for (std::size_t i = 0; i < node.get_input_size(); ++i) {
      inputs.push_back((*this)(*node.get_input_node_ptr(i), depth - 1));
      if (!inputs.back()) return {};
    }
    ov::TensorVector outputs{ov::Tensor(type, shape.to_shape())};
    return node.has_evaluate() && node.evaluate(outputs, inputs) ? outputs[0] : ov::Tensor();
  }

  std::unordered_map<const ov::Node*, ov::Tensor> values_;
};

/// The nodes that lead to one, each once; a stack and not recursion, for a state may come out of a deep network.
class Upstream {
 public:
  explicit Upstream(const ov::Node& node) { Add(node); }

  const ov::Node* Next() {
    if (stack_.empty()) return nullptr;
    const ov::Node* const node = stack_.back();
    stack_.pop_back();
    return node;
  }
  void AddInputs(const ov::Node& node, std::size_t count) {
    for (std::size_t i = count; i > 0; --i) Add(*node.get_input_node_ptr(i - 1));
  }

 private:
  void Add(const ov::Node& node) {
    if (seen_.insert(&node).second) stack_.push_back(&node);
  }

  std::vector<const ov::Node*> stack_;
  std::unordered_set<const ov::Node*> seen_;
};

/// Operators that hand over the data of every input; the others hand over that of their first.
bool HandsOverAll(const ov::Node& node) {
  static const char* const kNames[] = {"Concat",   "Select",    "Add",        "Subtract",
                                       "Multiply", "BitwiseOr", "BitwiseAnd", "BitwiseXor"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* name) { return IsType(node, name); });
}

template <class T>
std::optional<std::uint64_t> LargestOver(const ov::op::v0::Constant& constant) {
  const T* const data = static_cast<const T*>(constant.get_data_ptr());
  const std::size_t size = ov::shape_size(constant.get_shape());
  if (size == 0) return {};
  const T largest = *std::max_element(data, data + size);
  if (largest <= static_cast<T>(kInt32Max)) return {};
  return static_cast<std::uint64_t>(largest);
}

std::optional<std::uint64_t> LargestOverInt32(const ov::op::v0::Constant& constant) {
  const ov::element::Type& type = constant.get_element_type();
  if (type == ov::element::u32) return LargestOver<std::uint32_t>(constant);
  if (type == ov::element::i64) return LargestOver<std::int64_t>(constant);
  return {};
}

}  // namespace

ConstantValue ValueOf(const ov::Node& node) {
  ConstantValue value;
  if (const auto* constant = AsConstant(node)) {
    // An empty constant may have no memory: any address does.
    const void* const data = constant->get_data_ptr();
    if (ov::shape_size(constant->get_shape()) <= kMaxElements) value.data = data != nullptr ? data : constant;
  } else if (node.get_input_size() != 0) {
    value.owner = Evaluator()(node, kMaxDepth);
    if (value.owner) {
      const ov::Tensor& tensor = value.owner;
      value.data = tensor.get_size() != 0 ? tensor.data() : &node;
    }
  }
  return value;
}

bool IsConstant(const ov::Node& node) {
  if (AsConstant(node) != nullptr) return true;
  Upstream upstream(node);
  while (const ov::Node* const next = upstream.Next()) {
    if (AsConstant(*next) != nullptr) continue;
    if (next->get_input_size() == 0 || DrawsAnew(*next)) return false;
    upstream.AddInputs(*next, next->get_input_size());
  }
  return true;
}

bool IsDecompressed(const ov::Node& node) {
  if (!IsType(node, "Convert")) return false;
  const ov::Node& source = *node.get_input_node_ptr(0);
  return AsConstant(source) != nullptr && source.get_output_element_type(0) == ov::element::f16;
}

std::optional<std::uint64_t> ClampedPart(const ov::Node& node) {
  if (const auto* constant = AsConstant(node)) return LargestOverInt32(*constant);
  if (node.get_input_size() == 0) return {};
  Upstream upstream(node);
  while (const ov::Node* const next = upstream.Next()) {
    if (const auto* constant = AsConstant(*next)) {
      const auto part = LargestOverInt32(*constant);
      if (part.has_value()) return part;
    } else if (std::strcmp(next->get_type_info().version_id, "extension") != 0) {
      const std::size_t inputs = next->get_input_size();
      upstream.AddInputs(*next, HandsOverAll(*next) ? inputs : std::min<std::size_t>(inputs, 1));
    }
  }
  return {};
}

}  // namespace onnx_philox
