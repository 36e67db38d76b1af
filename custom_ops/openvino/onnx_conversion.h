// The ONNX front end's conversion of our domain.
#pragma once

#include <memory>

#include "openvino/frontend/onnx/extension/conversion.hpp"
#include "node.h"

namespace onnx_philox {

/// The inputs and attributes of an ONNX node.
ov::OutputVector OnnxInputs(const Operator& op, const ov::frontend::NodeContext& node);
/// The inputs of a new node, whose `shape` is i64 if its values are bool.
///
/// The plugin turns i64 into i32 everywhere, but boolean into u8 only in operators that it knows. After that,
/// LogicalNot and Select would refuse our booleans. So our operator declares u8 as soon as it sees an i64 that became
/// i32.
ov::OutputVector WithWideShape(const Operator& op, ov::OutputVector inputs);
GivenAttributes OnnxAttributes(const Operator& op, const ov::frontend::NodeContext& node);

template <const Operator& op>
ov::Extension::Ptr MakeOnnxConversion() {
  return std::make_shared<ov::frontend::onnx::ConversionExtension>(
      op.name, kDomain, [](const ov::frontend::NodeContext& context) {
        const auto node = std::make_shared<NodeOf<op>>();
        node->SetAttributes(OnnxAttributes(op, context));
        node->set_arguments(WithWideShape(op, OnnxInputs(op, context)));
        node->constructor_validate_and_infer_types();
        return node->outputs();
      });
}

}  // namespace onnx_philox
