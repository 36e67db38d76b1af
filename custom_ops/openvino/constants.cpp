// Constant subgraphs: see constants.h. Every node is visited once, however many paths lead to it.
#include "constants.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "openvino/op/constant.hpp"

namespace onnx_philox {

namespace {

constexpr std::uint64_t kInt32Max = 0x7FFFFFFF;
/// How long a chain of nodes may be to be evaluated: that is recursive. What is longer counts as no constant.
constexpr int kMaxDepth = 1000;

bool IsType(const ov::Node& node, const char* name) { return std::strcmp(node.get_type_name(), name) == 0; }

const ov::op::v0::Constant* AsConstant(const ov::Node& node) {
  return ov::as_type<const ov::op::v0::Constant>(&node);
}

/// Other values in every run, or graphs of their own: no constants, whatever their inputs are.
bool MayVary(const ov::Node& node) {
  for (const char* const name : {"ReadValue", "RandomUniform", "Multinomial", "If", "Loop", "TensorIterator"}) {
    if (IsType(node, name)) return true;
  }
  return std::strcmp(node.get_type_info().version_id, "extension") == 0;
}

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
    if (node.get_input_size() == 0 || MayVary(node)) return {};
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
  void Add(const ov::Node& node) {
    if (seen_.insert(&node).second) stack_.push_back(&node);
  }
  void AddInputs(const ov::Node& node, std::size_t count) {
    for (std::size_t i = count; i > 0; --i) Add(*node.get_input_node_ptr(i - 1));
  }

 private:
  std::vector<const ov::Node*> stack_;
  std::unordered_set<const ov::Node*> seen_;
};

template <std::size_t N>
bool IsOneOf(const ov::Node& node, const char* const (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return IsType(node, name); });
}

// What these make of uint32 data is right though the plugin computes it as int32: they move bits, or their arithmetic
// is the same modulo 2^32. The data is in every input that has the output's type ...
constexpr const char* kMerging[] = {"Add",         "BitwiseAnd", "BitwiseNot",          "BitwiseOr",       "BitwiseXor",
                                    "Concat",      "Multiply",   "Pad",                 "ScatterElementsUpdate",
                                    "ScatterNDUpdate", "ScatterUpdate", "Select",       "Subtract"};
// ... or in the first input.
constexpr const char* kMoving[] = {"Broadcast", "Gather",  "GatherElements", "GatherND",     "ReadValue",
                                   "Reshape",   "Roll",    "Slice",          "Split",        "Squeeze",
                                   "StridedSlice", "Tile", "Transpose",      "Unsqueeze",    "VariadicSplit"};
/// These hold graphs of their own; the plugin itself refuses uint32 that crosses their borders.
constexpr const char* kWithBodies[] = {"If", "Loop", "TensorIterator"};

std::string MergingAndMoving() {
  std::vector<std::string> names(std::begin(kMerging), std::end(kMerging));
  names.insert(names.end(), std::begin(kMoving), std::end(kMoving));
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

/// The element furthest outside int32, if there is one.
template <class T>
std::optional<std::int64_t> Outside(const ov::op::v0::Constant& constant) {
  const unsigned char* const data = static_cast<const unsigned char*>(constant.get_data_ptr());
  std::optional<std::int64_t> worst;
  for (std::size_t i = 0; i < ov::shape_size(constant.get_shape()); ++i) {
    T element;  // not always aligned in a file
    std::memcpy(&element, data + i * sizeof element, sizeof element);
    const std::int64_t value = static_cast<std::int64_t>(element);
    const auto distance = [](std::int64_t v) { return v < 0 ? ~static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v); };
    if (distance(value) > kInt32Max && (!worst || distance(value) > distance(*worst))) worst = value;
  }
  return worst;
}

std::optional<std::int64_t> OutsideInt32(const ov::op::v0::Constant& constant) {
  const ov::element::Type& type = constant.get_element_type();
  if (type == ov::element::u32) return Outside<std::uint32_t>(constant);
  if (type == ov::element::i64) return Outside<std::int64_t>(constant);
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
    if (next->get_input_size() == 0 || MayVary(*next)) return false;
    upstream.AddInputs(*next, next->get_input_size());
  }
  return true;
}

bool IsDecompressed(const ov::Node& node) {
  if (!IsType(node, "Convert")) return false;
  const ov::Node& source = *node.get_input_node_ptr(0);
  return AsConstant(source) != nullptr && source.get_output_element_type(0) == ov::element::f16;
}

std::optional<Alteration> AlteredPart(const ov::Node& node) {
  Upstream upstream(node);
  while (const ov::Node* const next = upstream.Next()) {
    if (const auto* constant = AsConstant(*next)) {
      const auto outside = OutsideInt32(*constant);
      if (!outside.has_value()) continue;
      return Alteration{"merged from a " + std::string(constant->get_element_type() == ov::element::u32 ? "u32" : "i64") +
                            " constant of " + std::to_string(*outside),
                        "constants within int32 there, since OpenVINO's CPU plugin clamps them"};
    }
    if (next->get_input_size() == 0 || IsOneOf(*next, kWithBodies) ||
        std::strcmp(next->get_type_info().version_id, "extension") == 0) {
      continue;
    }
    const ov::element::Type& type = next->get_output_element_type(0);
    if (IsOneOf(*next, kMerging)) {
      for (std::size_t i = 0; i < next->get_input_size(); ++i) {
        if (next->get_input_element_type(i) == type) upstream.Add(*next->get_input_node_ptr(i));
      }
    } else if (IsOneOf(*next, kMoving) || (IsType(*next, "Convert") && !next->get_input_element_type(0).is_real())) {
      upstream.AddInputs(*next, 1);
    } else {
      return Alteration{std::string("computed by ") + next->get_type_name(),
                        "a constant, a model input, or what " + MergingAndMoving() +
                            " make of them, since OpenVINO's CPU plugin computes uint32 as int32"};
    }
  }
  return {};
}

}  // namespace onnx_philox
