// Draws that OpenVINO makes when it compiles a model: it computes a Loop of constants there. The CPU plugin rounds the f64
// numbers of the constants that come of it to f32, and clamps integers.
#pragma once

#include <optional>
#include <string>

#include "openvino/core/node.hpp"
#include "openvino/runtime/tensor.hpp"

namespace onnx_philox {

/// Whether a node is evaluated to become part of a constant, not to be run.
bool IsFolded(const ov::Node& node, const ov::TensorVector& inputs, bool is_clone);

/// What the plugin would make otherwise, what is allowed in its place, and what to do.
struct AlteredDraw {
  std::string given;
  std::string allowed;
  std::string remedy;
};

/// Whether numbers that leave their graph would be altered.
std::optional<AlteredDraw> AlteredResult(const ov::Output<const ov::Node>& output, const ov::Tensor& drawn);

}  // namespace onnx_philox
