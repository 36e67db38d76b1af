// What the plugin does to f32 at the precision f16 (ARM's default), and what a node can do against it.
//
// On its clone of a model the plugin puts a Convert to f16 behind every f32 parameter, retypes the parameters of bodies,
// makes f16 of constants that no mark keeps and of what a Convert makes, and then validates the nodes again.
#pragma once

#include "constants.h"
#include "openvino/core/node.hpp"

namespace onnx_philox {

/// Gives an input that arrived in f16 the value that was rounded right before it, in f32; false if the plugin computed the
/// input in f16.
bool TakeBeforeRounding(ov::Input<ov::Node> input);

/// Whether a body's parameter, or the model's own, feeds the input: what it held before is not to be had.
bool IsParameter(const ov::Input<ov::Node>& input);

/// Puts a Convert from f32 to f32 behind what depends on constants only. The mark that keeps these from f16 would keep them
/// from telling of f16 as well; the Convert has no mark, and so it becomes one to f16.
void AddWitness(ov::Input<ov::Node> input, Upstream& upstream);

/// The input that the mark belongs to: this one, or that of its witness.
ov::Input<ov::Node> MarkedInput(ov::Input<ov::Node> input, Upstream& upstream);

}  // namespace onnx_philox
