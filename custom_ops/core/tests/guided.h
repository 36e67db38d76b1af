// Numbers for tests that make nodes of random ones: of a seed, or of the bytes that a coverage-guided fuzzer hands over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

namespace check {

/// A generator as std::mt19937_64 is one. Each of its numbers comes from two bytes of the input while there are any (a
/// choice among a few things takes no more), and then from a generator that they have seeded.
class Random {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  explicit Random(std::uint64_t seed) : random_(seed) {}
  Random(const std::uint8_t* data, std::size_t size) : data_(data), left_(size), random_(size) {}

  result_type operator()() {
    if (left_ < 2) return random_();
    std::uint16_t number = 0;
    std::memcpy(&number, data_, sizeof(number));
    data_ += sizeof(number);
    left_ -= sizeof(number);
    // Small numbers are choices; the others have bits everywhere.
    return number < 0x8000 ? number : number * 0x9E3779B97F4A7C15u;
  }

 private:
  const std::uint8_t* data_ = nullptr;
  std::size_t left_ = 0;
  std::mt19937_64 random_;
};

}  // namespace check
