// What the plugin does to f32 at the precision f16 (ARM's default), and what a node can do against it.
//
// In its clone of a model, the plugin puts a Convert to f16 after every f32 parameter, and retypes the parameters of
// bodies. It turns constants without a protecting mark, and the results of a Convert, into f16. Then it validates the
// nodes again.
#pragma once

#include "constants.h"
#include "openvino/core/node.hpp"

namespace onnx_philox {

/// Gives an input that arrived in f16 the f32 value that was rounded right before it; false if the plugin computed the
/// input in f16.
bool TakeBeforeRounding(ov::Input<ov::Node> input);

/// Puts a Convert from f32 to f32 after an input that depends on constants only. The mark that protects the constants
/// from f16 would also hide that the precision is f16. The Convert has no mark, so it becomes one to f16 and shows it.
void AddWitness(ov::Input<ov::Node> input, Upstream& upstream);

/// The input that gets the mark: this one, or that of its witness.
ov::Input<ov::Node> MarkedInput(ov::Input<ov::Node> input, Upstream& upstream);

}  // namespace onnx_philox
