// What the plugin merges into the nodes that compute with a draw.
#pragma once

#include "openvino/core/node.hpp"

namespace onnx_philox {

/// Hands an output over in a narrower type to the nodes that compute, and as it is to a model's result.
void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type);

}  // namespace onnx_philox
