// Probabilities that the model clamps to [0, 1] right before a node: what a rewrite makes of a comparison with any number.
//
// The CPU plugin would compute the clamp in bf16 or f16. So the node reads the numbers before it, and clamps them itself.
// Nobody reads the clamp of the model after that; in IR an attribute of the node takes its place.
#pragma once

#include <cstdint>
#include <string>

#include "openvino/core/node.hpp"

namespace onnx_philox {

enum class Clamp { kNone, kNanIsZero, kNanIsOne };

/// Gives an input the f32 numbers that are clamped right before it; kNone if none are, or if they are constants.
Clamp TakeBeforeClamp(ov::Input<ov::Node> input);

/// Writes `count` f32 numbers from 0 to 1; `clamped` may be `numbers`.
void ClampNumbers(Clamp clamp, const void* numbers, std::uint64_t count, void* clamped);

/// "nan to 0", "nan to 1"; empty for kNone.
std::string ClampText(Clamp clamp);

/// Reads what ClampText wrote; false if the text is anything else.
bool ClampFromText(const std::string& text, Clamp* clamp);

}  // namespace onnx_philox
