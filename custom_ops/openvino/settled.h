// What takes a node's place in the plugin's clone of a model, for speed alone.
//
// Of a node whose output's shape is known only at run, the CPU plugin makes a Constant of each input in each run, clones
// the node with them, validates the clone twice, and looks at the shapes of its outputs. It runs a Convert between each
// i64 or u32 input of the model and the node.
//
// Once the plugin has changed all types, a settled node replaces the node. Constants whose values the node keeps are no
// inputs of it, it reads inputs of the model without that Convert, and answers with a node that has nothing but shapes.
// Its clone for a file is the node that it replaced.
#pragma once

#include "openvino/core/node.hpp"

namespace onnx_philox {

class RandomOp;

/// Puts a settled node in the node's place, if there is anything that reads the node.
void Settle(RandomOp& node);

/// Whether a node has taken the place of another one.
bool IsSettled(const ov::Node& node);

}  // namespace onnx_philox
