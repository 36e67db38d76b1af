// Draws that OpenVINO makes at compile time, when it computes a Loop of constants. The CPU plugin rounds f64 numbers in
// the resulting constants to f32, and clamps integers.
#pragma once

#include <optional>
#include <string>

#include "openvino/core/node.hpp"
#include "openvino/runtime/tensor.hpp"

namespace onnx_philox {

/// Whether OpenVINO has begun to transform the model, now or before saving it.
bool IsTransformed(const ov::Node& node);

/// Whether OpenVINO has begun to fold constants, and leaves the body of a Loop that holds the node.
bool Stays(const ov::Node& node);

/// Whether a node is evaluated to become part of a constant, not to be run. `was_transformed`: its mark may come from a file,
/// since a cached model keeps only the first. Never true if Model::evaluate alone evaluates the node.
bool IsFolded(const ov::Node& node, const ov::TensorVector& inputs, bool is_clone, bool was_transformed);

/// Whether a clone with these inputs is asked for a run's shapes: the plugin makes a constant of each tensor.
bool IsAsked(const ov::Node& node, const ov::OutputVector& inputs);

/// Whether an output may reach a result of its graph in a type that the plugin alters. A conversion to a float, an
/// integer or a narrower type ends the path, and so does arithmetic.
bool Leaves(const ov::Output<const ov::Node>& output);

/// What the plugin would alter, what is allowed in its place, and what to do.
struct AlteredDraw {
  std::string given;
  std::string allowed;
  std::string remedy;
};

/// Whether numbers that leave their graph would be altered. `has_left`: they left it before the plugin narrowed the
/// nodes downstream.
std::optional<AlteredDraw> AlteredResult(const ov::Output<const ov::Node>& output, const ov::Tensor& drawn, bool has_left);

}  // namespace onnx_philox
