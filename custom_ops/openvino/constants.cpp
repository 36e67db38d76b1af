// Constant subgraphs: see constants.h. No walk recurses: a state may come out of a deep network.
#include "constants.h"

#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

#include "openvino/op/constant.hpp"
#include "plugin_names.h"

namespace onnx_philox {

namespace {

const ov::op::v0::Constant* AsConstant(const ov::Node& node) {
  return ov::as_type<const ov::op::v0::Constant>(&node);
}

/// Nodes with other values in every run, or with graphs: not constants, whatever their inputs are.
bool MayVary(const ov::Node& node) {
  return IsOneOf(node, kNeverConstant) || std::strcmp(node.get_type_info().version_id, kExtension) == 0;
}

/// Whether a node has one output, with a known type and shape and few plain numbers.
bool IsSmall(const ov::Node& node) {
  if (node.get_output_size() != 1) return false;
  const ov::PartialShape& shape = node.get_output_partial_shape(0);
  const ov::element::Type& type = node.get_output_element_type(0);
  // No text, and no numbers that share a byte.
  return shape.is_static() && type.bitwidth() >= 8 && type.bitwidth() <= 64 &&
         ov::shape_size(shape.to_shape()) <= kMaxElements;
}

bool IsSource(const ov::Node& node) { return node.get_input_size() == 0 || MayVary(node); }

}  // namespace

bool Upstream::IsConstant(const ov::Node& node) {
  if (const auto found = is_constant_.find(&node); found != is_constant_.end()) return found->second;
  // The nearest first: past the last draw, a deep model need not be walked to its inputs.
  std::vector<const ov::Node*> seen{&node};
  std::vector<std::size_t> readers{0};
  std::unordered_set<const ov::Node*> known{&node};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const ov::Node& next = *seen[i];
    const auto found = is_constant_.find(&next);
    if (AsConstant(next) != nullptr || (found != is_constant_.end() && found->second)) continue;
    if (found != is_constant_.end() || IsSource(next)) {
      // All on the way there vary, too: who asks for each of them walks once.
      for (; i != 0; i = readers[i]) is_constant_[seen[i]] = false;
      return is_constant_[&node] = false;
    }
    for (std::size_t j = 0; j < next.get_input_size(); ++j) {
      const ov::Node* const source = next.get_input_node_ptr(j);
      if (!known.insert(source).second) continue;
      seen.push_back(source);
      readers.push_back(i);
    }
  }
  for (const ov::Node* each : seen) is_constant_[each] = true;
  return true;
}

ConstantValue Upstream::ValueOf(const ov::Node& node) {
  ConstantValue value;
  if (const auto* constant = AsConstant(node)) {
    // An empty constant may have no memory: any address does.
    const void* const data = constant->get_data_ptr();
    if (ov::shape_size(constant->get_shape()) <= kMaxElements) value.data = data != nullptr ? data : constant;
    return value;
  }
  if (!IsSmall(node) || !IsConstant(node)) return value;
  std::vector<std::pair<const ov::Node*, std::size_t>> way{{&node, 0}};
  while (!way.empty()) {
    const ov::Node& last = *way.back().first;
    const std::size_t input = way.back().second;
    const bool has_next = input < last.get_input_size() && IsSmall(last);
    const ov::Node* const source = has_next ? last.get_input_node_ptr(input) : nullptr;
    const auto found = values_.find(has_next ? source : &last);
    if (has_next && found == values_.end()) {
      way.emplace_back(source, 0);
    } else if (has_next && found->second) {
      ++way.back().second;
    } else {
      if (has_next) {
        values_.emplace(&last, ov::Tensor());
      } else if (found == values_.end()) {
        values_.emplace(&last, Compute(last));
      }
      way.pop_back();
    }
  }
  value.owner = values_.at(&node);
  if (value.owner) value.data = value.owner.get_size() != 0 ? value.owner.data() : &node;
  return value;
}

/// The value of a node whose inputs are all known.
ov::Tensor Upstream::Compute(const ov::Node& node) const {
  if (!IsSmall(node)) return {};
  if (const auto* constant = AsConstant(node)) return constant->get_tensor_view();
  ov::TensorVector inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(values_.at(node.get_input_node_ptr(i)));
  ov::TensorVector outputs{ov::Tensor(node.get_output_element_type(0), node.get_output_shape(0))};
  return node.has_evaluate() && node.evaluate(outputs, inputs) ? outputs[0] : ov::Tensor();
}

bool IsDecompressed(const ov::Node& node) {
  if (!IsNode(node, "Convert")) return false;
  const ov::Node& source = *node.get_input_node_ptr(0);
  return AsConstant(source) != nullptr && source.get_output_element_type(0) == ov::element::f16;
}

}  // namespace onnx_philox
