// The first of a race, as torch draws classes: see torch_fills.h.
//
// Internal: included only by torch_fills.h.
#pragma once

#include <cstdint>

namespace onnx_philox {
namespace {

/// A class, and how fast it is. The fastest are drawn first; of those that are equally fast, the lower one.
struct Runner {
  float speed;
  std::uint64_t index;
  bool operator<(const Runner& other) const {
    return speed > other.speed || (speed == other.speed && index < other.index);
  }
};

/// How many runners are found at once.
constexpr unsigned kRunnersKept = 64;

/// The first of a row, in order.
class FirstRunners {
 public:
  explicit FirstRunners(std::uint64_t wanted)
      : wanted_(wanted < kRunnersKept ? static_cast<unsigned>(wanted) : kRunnersKept) {}

  void Add(const Runner& runner) {
    if (count_ == wanted_ && !(runner < runners_[count_ - 1])) return;
    unsigned to = count_ < wanted_ ? count_++ : count_ - 1;
    for (; to > 0 && runner < runners_[to - 1]; --to) runners_[to] = runners_[to - 1];
    runners_[to] = runner;
  }

  unsigned count() const { return count_; }
  const Runner& operator[](unsigned i) const { return runners_[i]; }

 private:
  Runner runners_[kRunnersKept];
  unsigned wanted_, count_ = 0;
};

}  // namespace
}  // namespace onnx_philox
