// The ONNX front end's conversion of our domain.
#pragma once

#include <memory>

#include "openvino/frontend/onnx/extension/conversion.hpp"
#include "random_ops.h"

namespace onnx_philox {

/// The inputs and attributes of an ONNX node.
ov::OutputVector OnnxInputs(const ov::frontend::NodeContext& node);
GivenAttributes OnnxAttributes(const Operator& op, const ov::frontend::NodeContext& node);

template <class Node>
ov::Extension::Ptr MakeOnnxConversion(const Operator& op) {
  return std::make_shared<ov::frontend::onnx::ConversionExtension>(
      op.name, kDomain, [&op](const ov::frontend::NodeContext& context) {
        const auto node = std::make_shared<Node>();
        node->SetAttributes(OnnxAttributes(op, context));
        node->set_arguments(OnnxInputs(context));
        node->constructor_validate_and_infer_types();
        return node->outputs();
      });
}

}  // namespace onnx_philox
