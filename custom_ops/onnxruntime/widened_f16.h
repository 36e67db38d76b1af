// A float16 node that ONNX Runtime runs in float32.
//
// ONNX Runtime has few float16 kernels for the CPU, and puts Casts to float32 and back around the nodes that have none.
// If all of a node's float16 neighbours are such nodes, it turns the node to float32 too, to save Casts: minval and
// maxval, or mean and scale, arrive as float32, and the values leave as float32. ONNX Runtime regards that as a more
// precise result, but a float32 draw has other values than the float16 draw that `output_type` asks for. So such a node
// still draws float16, and writes the values as float32.
#pragma once

#include <cstdint>
#include <string>

#include "checks.h"
#include "kernels.h"

namespace onnx_philox {

/// Whether ONNX Runtime gave an input or output this name because it is next to such a Cast.
bool IsNameOfInsertedCast(const std::string& name);

/// The float16 nearest to a float32, ties to even; NaN stays one. ONNX Runtime passes the float16 values of the model
/// or, if it removed two Casts that undo each other, the value that the first Cast would have rounded.
std::uint16_t RoundToF16(float value);

/// Fill (see kernels.h) of a float16 draw whose `out` are float32 elements.
bool FillWidened(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end);

/// DrawTorch (see torch_part.h) of such a draw.
void DrawTorchWidened(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments,
                      const Draw& draw, std::uint32_t* next_states, const ForEach& for_each);

}  // namespace onnx_philox
