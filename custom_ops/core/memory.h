// What memory this process can still have: of the machine's, what control groups and the process's own limits leave.
//
// The Python package's _contract/memory.py follows the same rule with the same numbers, and a test compares the two.
#pragma once

#include <cstdint>

namespace onnx_philox {

/// Outputs of fewer bytes are not worth asking the system about.
constexpr std::uint64_t kAlwaysThere = std::uint64_t{1} << 26;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

struct Memory {
  /// Bytes that can be written to for the first time without swapping: the least of what the machine has available and
  /// of what each control group above the process has left, page cache that can go counted as free.
  std::uint64_t free = kNoLimit;
  /// Bytes that can be allocated: what RLIMIT_AS and RLIMIT_DATA leave.
  std::uint64_t address = kNoLimit;
  /// Bytes that the process has written to already; a runtime may use them again for an output.
  std::uint64_t held = 0;
};

/// The memory as the system tells it now. Files are read below `root`: "" but in tests.
Memory FindMemory(const char* root = "");

/// The same for an output of so many bytes: without limits, and without asking, where they are few.
Memory MemoryFor(std::uint64_t bytes);

/// How many of `bytes` bytes at `data` have been written to, and so are not taken from Memory::free again.
std::uint64_t ResidentBytes(const void* data, std::uint64_t bytes);

}  // namespace onnx_philox
