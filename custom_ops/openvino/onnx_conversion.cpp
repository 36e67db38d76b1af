// ONNX nodes: see onnx_conversion.h.
#include "onnx_conversion.h"

#include <cstring>
#include <memory>

#include "openvino/op/convert.hpp"

namespace onnx_philox {

namespace {

GivenAttribute Given(const ov::frontend::NodeContext& node, const char* name) {
  const ov::Any value = node.get_attribute_as_any(name);
  if (value.empty()) return {};
  if (value.is<std::int64_t>()) return GivenAttribute::Integer(value.as<std::int64_t>());
  if (value.is<std::string>()) return GivenAttribute::Text(value.as<std::string>());
  if (value.is<float>()) return GivenAttribute::Float(static_cast<double>(value.as<float>()));
  return GivenAttribute::Other("a list, a tensor or a graph");
}

}  // namespace

ov::OutputVector OnnxInputs(const ov::frontend::NodeContext& node) {
  ov::OutputVector inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(node.get_input(static_cast<int>(i)));
  // An optional input that is left out arrives as a node of this type.
  while (!inputs.empty() && std::strcmp(inputs.back().get_node()->get_type_name(), "NullNode") == 0) inputs.pop_back();
  return inputs;
}

ov::OutputVector WithWideShape(const Operator& op, ov::OutputVector inputs) {
  if (!op.output[0].has_type || op.output[0].type != OutputType::kBool) return inputs;
  for (std::size_t i = 0; i < inputs.size() && i < static_cast<std::size_t>(op.inputs); ++i) {
    if (op.input[i].role != Role::kShape || inputs[i].get_element_type() != ov::element::i32) continue;
    inputs[i] = std::make_shared<ov::op::v0::Convert>(inputs[i], ov::element::i64);
  }
  return inputs;
}

GivenAttributes OnnxAttributes(const Operator& op, const ov::frontend::NodeContext& node) {
  GivenAttributes given;
  for (int i = 0; i < op.attributes; ++i) given[op.attribute[i].role] = Given(node, op.attribute[i].name);
  // The front end does not list the others.
  given.unknown = FindOther(op, [&](const char* name) { return node.has_attribute(name); });
  return given;
}

}  // namespace onnx_philox
