// The refusals of outputs that memory cannot hold, where an attempt might end the process.
//
// Only at run, and where a runtime allocates when it loads: a model may be prepared on another machine. `memory` is
// MemoryFor(dimensions.bytes), see memory.h.
#pragma once

#include <string>

#include "known.h"
#include "memory.h"

namespace onnx_philox {

/// Before the output is allocated. What the process holds counts as free: the output may be written into memory that a
/// runtime keeps from the last run. Where it cannot be, `memory.held` is to be 0.
std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory);

/// Once it is allocated, at `data`, and before it is written to: systems promise more memory than there is.
std::string CheckAllocated(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory,
                           const void* data);

/// The error about an output whose allocation failed.
std::string OutOfMemory(const Operator& op, const Dimensions& dimensions, OutputType output);

/// The error about any other allocation that failed.
std::string OutOfMemory(const Operator& op);

}  // namespace onnx_philox
