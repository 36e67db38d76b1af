// Writes a draw into a tensor: over OpenVINO's threads, in the tensor's own element type.
#pragma once

#include "checks.h"
#include "element_types.h"
#include "kernels.h"
#include "openvino/runtime/tensor.hpp"

namespace onnx_philox {

/// The format of a float type; null for the others.
const struct FloatFormat* FormatOf(ElementType type);

/// Converts `count` floats, rounded to nearest even.
void ConvertFloats(const void* from, ElementType from_type, void* to, ElementType to_type, std::uint64_t count);

/// Rounds the floats of a tensor to f32, and then to a type of 16 bits.
void RoundTensor(ov::Tensor& tensor, ElementType type);

/// Whether the tensor's elements lie next to each other. They do not in a region of another tensor. With one dimension
/// they always do, and this does not ask, since asking costs more than it saves.
bool IsContiguous(const ov::Tensor& tensor);

/// The tensor itself, or if its elements do not lie next to each other a new one like it.
ov::Tensor Whole(const ov::Tensor& tensor);

/// What became of a draw.
enum class Filled {
  kDrawn,
  kOfAnotherType,  ///< the tensor's element type cannot take the values
  kOutside,        ///< a number that was unchecked is not within its limits: see Fill
};

/// Fills `tensor` with `draw` (whose `out` is not used). A device may choose another float type than the operator declares,
/// int32 for uint32, and uint8 for bool. Of torch's numbers also writes the next states: see DrawTorch.
Filled FillTensor(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments, Draw draw,
                  std::uint32_t* next_states, ov::Tensor& tensor, const ForEach& for_each);

}  // namespace onnx_philox
