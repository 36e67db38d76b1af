// Looks for what is wrong among many numbers, on several threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "checks.h"

namespace onnx_philox {

/// The smaller of a * b and 2^64-1.
inline std::uint64_t SaturatingProduct(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a != 0 && b > most / a ? most : a * b;
}

/// As many numbers are checked faster by another thread than by this one.
constexpr std::uint64_t kNumbersForAThread = std::uint64_t{1} << 16;

/// The first of `count` things that is wrong, or `count`. find(begin, end) is the same of [begin, end). A thing is made of
/// `numbers` numbers.
template <class Find>
std::uint64_t FirstWrong(std::uint64_t count, std::uint64_t numbers, const ForEach& for_each, const Find& find) {
  constexpr std::uint64_t kMost = 64;
  const std::uint64_t threads = std::min(kMost, SaturatingProduct(count, numbers) / kNumbersForAThread);
  const std::uint64_t pieces = std::min(threads, count);
  if (pieces < 2 || for_each == nullptr) return find(0, count);
  const std::uint64_t step = count / pieces + (count % pieces != 0 ? 1 : 0);
  std::uint64_t found[kMost];
  std::fill(found, found + pieces, count);  // a runtime may fail to run them
  for_each(pieces, [&](std::uint64_t piece) {
    const std::uint64_t begin = std::min(piece * step, count), end = std::min(begin + step, count);
    const std::uint64_t first = find(begin, end);
    found[piece] = first == end ? count : first;
  });
  return *std::min_element(found, found + pieces);
}

}  // namespace onnx_philox
