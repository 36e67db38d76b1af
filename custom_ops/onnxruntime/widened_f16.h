// A float16 node that ONNX Runtime runs in float32.
//
// ONNX Runtime has few float16 kernels for the CPU, and puts Casts to float32 and back around the nodes that have none.
// Where all of a node's float16 neighbours are such, it gives the node float32 too, to save Casts: minval and maxval, or
// mean and scale, arrive as float32, and so do the values leave. To ONNX Runtime that is a more precise result; what
// `output_type` says is another draw. So such a node draws float16 all the same, and its values go out as the float32
// values that they are.
#pragma once

#include <cstdint>
#include <string>

#include "kernels.h"

namespace onnx_philox {

/// Whether it is ONNX Runtime that gave this name to an input or output, since it stands beside such a Cast.
bool IsNameOfInsertedCast(const std::string& name);

/// The float16 nearest to a float32, ties to even; NaN stays one. ONNX Runtime hands out the float16 values of the model,
/// or, where it has removed two Casts that undo each other, what the first would have rounded.
std::uint16_t RoundToF16(float value);

/// Fill (see kernels.h) of a float16 draw whose `out` are float32 elements.
void FillWidened(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end);

}  // namespace onnx_philox
