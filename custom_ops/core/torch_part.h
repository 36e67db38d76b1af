// What the rest asks of the part of torch's numbers, core/torch: alignment "pytorch"
// (docs/specification.md, "torch's numbers"). Where that folder is missing, without_torch.cpp stands in its place, and
// the alignment is refused.
//
// torch's generator gives a value its words where the value before it stopped. So several threads share rows of states, and
// of one state only long draws whose values take as many words each: the generator jumps to where a thread begins.
#pragma once

#include <cstdint>

#include "checks.h"

namespace onnx_philox {

/// Whether the part is built in.
constexpr bool kHasTorchPart = ONNX_PHILOX_HAVE_TORCH_PART;
/// What is allowed for the alignment of a node where it is not, and what to do.
inline constexpr char kAllowedWithoutTorchPart[] = "'tensorflow', since this library is built without torch's numbers";
inline constexpr char kAddTorchPart[] = "Build it with the folder custom_ops/core/torch.";

/// Writes the state of `torch.manual_seed(seed)`, of kTorchStateWords words.
void SeedTorchState(std::uint64_t seed, std::uint32_t* words);

/// Draws all that a node of this alignment draws, and writes the next state, or that of each row, to `next_states` if
/// that is not null. `draw` is what DrawOf returns; where its `out` is null, nobody wants the values.
///
/// Shares the work by `for_each` if that is given; if a runtime fails to run its tasks, some of it is not done.
///
/// The next states may lie exactly in place of the states, and overlap them in no other way (see KeepStates). Throws
/// std::bad_alloc.
void DrawTorch(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments, const Draw& draw,
               std::uint32_t* next_states, const ForEach& for_each = nullptr);

}  // namespace onnx_philox
