// Outputs and memory: see memory_checks.h.
#include "memory_checks.h"

#include <algorithm>

#include "text.h"

namespace onnx_philox {

namespace {

/// [2, 3], 24 bytes of f32
std::string ShowOutput(const Dimensions& dimensions, OutputType output) {
  return Worded(say::kOutputOf, {ShowDimensions(dimensions.dimension, dimensions.rank),
                                 ShowBytes(static_cast<std::uint64_t>(dimensions.bytes)),
                                 ElementTypeName(ElementTypeOf(output))});
}

std::string TooLarge(const Operator& op, const Dimensions& dimensions, OutputType output, std::uint64_t reach) {
  return Refusal(op.name, op.size_source, ShowOutput(dimensions, output),
                 Worded(say::kFreeMemory, {ShowBytes(reach)}), say::kDrawFromStateToState);
}

}  // namespace

std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory) {
  const std::uint64_t least = std::min(memory.free, memory.address);
  const std::uint64_t reach = memory.held < kNoLimit - least ? least + memory.held : kNoLimit;
  if (static_cast<std::uint64_t>(dimensions.bytes) <= reach) return std::string();
  return TooLarge(op, dimensions, output, reach);
}

std::string CheckAllocated(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory,
                           const void* data) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(dimensions.bytes);
  if (bytes <= memory.free) return std::string();
  const std::uint64_t reach = memory.free + ResidentBytes(data, bytes);
  return bytes <= reach ? std::string() : TooLarge(op, dimensions, output, reach);
}

std::string OutOfMemory(const Operator& op, const Dimensions& dimensions, OutputType output) {
  return Refusal(op.name, op.size_source, ShowOutput(dimensions, output), say::kMemoryNow, say::kDrawFromStateToState);
}

std::string OutOfMemory(const Operator& op) {
  return Refusal(op.name, say::kTheDraw, say::kTooLarge, say::kMemoryNow, say::kDrawFromStateToState);
}

}  // namespace onnx_philox
