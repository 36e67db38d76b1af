// A node's draw of torch's numbers: alignment "pytorch" (docs/specification.md, "torch's numbers").
//
// torch's generator gives a value its words where the value before it stopped. So several threads share rows of states, and
// of one state only long draws whose values take as many words each: the generator jumps to where a thread begins.
#pragma once

#include <cstdint>

#include "checks.h"

namespace onnx_philox {

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
