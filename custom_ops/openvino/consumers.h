// What the plugin merges into the nodes that compute with a draw, and what it removes behind it.
#pragma once

#include "openvino/core/node.hpp"

namespace onnx_philox {

/// Passes an output in a narrower type to the nodes that compute with it, and unchanged to a model's result.
void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type);

/// The type of 16 bits to which all that reads an output rounds it; dynamic if there is none. The plugin removes such a
/// Convert where the processor has no arithmetic of that type.
ov::element::Type RoundedTo(const ov::Output<const ov::Node>& output);

}  // namespace onnx_philox
