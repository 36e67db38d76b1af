// The memory that this process can still get: what the machine, control groups and the process's own limits leave.
// Without the core, the Python package's _contract/memory.py asks for the machine and the limits.
#pragma once

#include <cstdint>

namespace onnx_philox {

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Memory {
  /// Bytes that can be written to for the first time without swapping: the least of what the machine has available and
  /// what each control group above the process has left. Page cache that can be dropped counts as free.
  std::uint64_t free = kNoLimit;
  /// Bytes that can be allocated: what RLIMIT_AS and RLIMIT_DATA leave.
  std::uint64_t address = kNoLimit;
  /// Bytes that the process has already written to; a runtime may reuse them for an output.
  std::uint64_t held = 0;
};

/// Asks the system how much memory there is now. It reads files below `root`, which is "" except in tests.
Memory FindMemory(const char* root = "");

/// The same for an output of so many bytes; if they are few, there is no limit and no question to the system.
Memory MemoryFor(std::uint64_t bytes);

/// How many of the `bytes` bytes at `data` have been written to, and so do not reduce Memory::free again.
std::uint64_t ResidentBytes(const void* data, std::uint64_t bytes);

}  // namespace onnx_philox
