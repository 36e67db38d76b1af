// ONNX nodes: see onnx_conversion.h.
#include "onnx_conversion.h"

#include <cstring>
#include <memory>

#include "openvino/frontend/onnx/extension/conversion.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/convert.hpp"
#include "openvino_types.h"

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

/// Whether an optional input is left out: it arrives as a node of this type.
bool IsLeftOut(const ov::Output<ov::Node>& input) {
  return std::strcmp(input.get_node()->get_type_name(), "NullNode") == 0;
}

ov::OutputVector Inputs(const Operator& op, const ov::frontend::NodeContext& node) {
  ov::OutputVector inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) inputs.push_back(node.get_input(static_cast<int>(i)));
  while (!inputs.empty() && IsLeftOut(inputs.back())) inputs.pop_back();
  // Numbers that are left out before others become empty.
  for (std::size_t i = 0; i < inputs.size() && i < static_cast<std::size_t>(op.inputs); ++i) {
    const InputDeclaration& declared = op.input[i];
    if (!IsLeftOut(inputs[i]) || !declared.optional || !declared.is_parameter() || declared.has_output_type()) continue;
    inputs[i] = ov::op::v0::Constant::create(OpenVinoType(declared.types.type[0]), ov::Shape{0}, std::vector<float>());
  }
  return inputs;
}

/// The inputs of a new node, whose `shape` is i64 if its values are bool.
///
/// The plugin turns i64 into i32 everywhere, but boolean into u8 only in operators that it knows. After that,
/// LogicalNot and Select would refuse our booleans. So our operator declares u8 as soon as it sees an i64 that became
/// i32.
ov::OutputVector WithWideShape(const Operator& op, ov::OutputVector inputs) {
  if (!op.output[0].has_type || op.output[0].type != OutputType::kBool) return inputs;
  for (std::size_t i = 0; i < inputs.size() && i < static_cast<std::size_t>(op.inputs); ++i) {
    if (op.input[i].role != Role::kShape || inputs[i].get_element_type() != ov::element::i32) continue;
    inputs[i] = std::make_shared<ov::op::v0::Convert>(inputs[i], ov::element::i64);
  }
  return inputs;
}

GivenAttributes AttributesOf(const Operator& op, const ov::frontend::NodeContext& node) {
  GivenAttributes given;
  for (int i = 0; i < op.attributes; ++i) given[op.attribute[i].role] = Given(node, op.attribute[i].name);
  // The front end does not list the others.
  given.unknown = FindOther(op, [&](const char* name) { return node.has_attribute(name); });
  return given;
}

}  // namespace

ov::Extension::Ptr OnnxConversion(const Operator& op, const std::function<std::shared_ptr<RandomOp>()>& make) {
  return std::make_shared<ov::frontend::onnx::ConversionExtension>(
      op.name, kDomain, [&op, make](const ov::frontend::NodeContext& context) {
        const std::shared_ptr<RandomOp> node = make();
        node->SetAttributes(AttributesOf(op, context));
        node->set_arguments(WithWideShape(op, Inputs(op, context)));
        node->constructor_validate_and_infer_types();
        return node->outputs();
      });
}

}  // namespace onnx_philox
