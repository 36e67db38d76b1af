// What the plugin merges into the nodes that compute with a draw.
#pragma once

#include "openvino/core/node.hpp"

namespace onnx_philox {

/// Passes an output in a narrower type to the nodes that compute with it, and unchanged to a model's result.
void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type);

}  // namespace onnx_philox
