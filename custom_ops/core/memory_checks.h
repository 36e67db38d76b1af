// Refuses outputs that memory cannot hold; trying them might end the process.
//
// Call these at run, and at load only if a runtime allocates then: a model may be prepared on another machine. `memory`
// is MemoryFor(dimensions.bytes), see memory.h.
#pragma once

#include <string>

#include "known.h"
#include "memory.h"

namespace onnx_philox {

/// Call it before the output is allocated. What the process holds counts as free, since the output may go into memory
/// that a runtime keeps from the last run. If it cannot, set `memory.held` to 0.
std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory);

/// Call it after the output is allocated at `data`, and before it is written to: systems promise more memory than there
/// is.
std::string CheckAllocated(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory,
                           const void* data);

/// The error about an output whose allocation failed.
std::string OutOfMemory(const Operator& op, const Dimensions& dimensions, OutputType output);

/// The error about any other allocation that failed.
std::string OutOfMemory(const Operator& op);

}  // namespace onnx_philox
