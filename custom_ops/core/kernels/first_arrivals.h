// Draws from rows of logits without replacement: each class has an arrival time, -ln(1 - u) / weight, and the first to
// arrive are drawn.
//
// Internal: included only by categorical.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels.h"
#include "logits.h"
#include "rows.h"
#include "rules.h"

namespace onnx_philox {

/// How many arrivals are kept. A row with more samples is looked through again for the next ones.
constexpr std::uint64_t kArrivalsKept = 1024;

/// The first arrivals, as a heap whose root is the last of them.
template <class Isa>
class FirstArrivals {
 public:
  /// When a class arrives; of two at the same time, the lower one is first.
  struct Arrival {
    double time;
    std::uint64_t index;

    bool operator<(const Arrival& other) const {
      return time < other.time || (time == other.time && index < other.index);
    }
  };

  explicit FirstArrivals(std::uint64_t most) : most_(most) {}

  std::uint64_t count() const { return count_; }
  bool is_full() const { return count_ == most_; }
  /// What is not before this is of no use.
  double latest() const { return latest_; }

  void Add(const Arrival& arrival) {
    if (count_ < most_) {
      std::uint64_t i = count_++;
      for (; i > 0 && heap_[(i - 1) / 2] < arrival; i = (i - 1) / 2) heap_[i] = heap_[(i - 1) / 2];
      heap_[i] = arrival;
      if (count_ == most_) latest_ = heap_[0].time;
    } else if (arrival < heap_[0]) {
      Sink(arrival, count_);
      latest_ = heap_[0].time;
    }
  }

  /// Puts them in order: [i] is the i-th.
  void Sort() {
    for (std::uint64_t end = count_; end > 1; --end) {
      const Arrival last = heap_[end - 1];
      heap_[end - 1] = heap_[0];
      Sink(last, end - 1);
    }
  }
  const Arrival& operator[](std::uint64_t i) const { return heap_[i]; }

 private:
  /// Puts `arrival` into the place of the root, among the first `count`.
  void Sink(const Arrival& arrival, std::uint64_t count) {
    std::uint64_t i = 0;
    for (std::uint64_t child = 1; child < count; child = 2 * i + 1) {
      if (child + 1 < count && heap_[child] < heap_[child + 1]) ++child;
      if (!(arrival < heap_[child])) break;
      heap_[i] = heap_[child];
      i = child;
    }
    heap_[i] = arrival;
  }

  const std::uint64_t most_;
  std::uint64_t count_ = 0;
  double latest_ = BitCast<double>(std::uint64_t{0x7FF0000000000000u});
  Arrival heap_[kArrivalsKept];
};

/// -ln(1 - u) of as many uniforms as a register holds.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words ExponentialOf(const double* uniforms) {
  using Lanes = LanesF64<Isa>;
  const typename Isa::Words u = Isa::LoadF64(reinterpret_cast<const unsigned char*>(uniforms));
  const typename Isa::Words rest = Isa::SubtractF64(Constant<Lanes>(1), u);
  return Isa::MultiplyF64(MinusTwoLn<Lanes>(rest), Constant<Lanes>(0.5));
}

/// Adds those of a row that arrive after `before`, which is null at first. `uniforms` is a piece of the row's uniforms.
template <class Isa, class From>
void AddArrivals(const Piece& uniforms, const Weights<Isa>& weights, const typename FirstArrivals<Isa>::Arrival* before,
                 FirstArrivals<Isa>* arrivals) {
  constexpr unsigned kAtOnce = Weights<Isa>::kAtOnce, kLanes = Weights<Isa>::kLanes;
  static_assert(kUniformsAtOnce % kAtOnce == 0, "whole registers");
  alignas(64) double u[kUniformsAtOnce] = {};
  alignas(64) double times[kLanes];
  double weight[kAtOnce];
  const std::uint64_t first = uniforms.begin;
  for (std::uint64_t begin = first; begin < uniforms.end; begin += kUniformsAtOnce) {
    const std::uint64_t end = uniforms.end - begin > kUniformsAtOnce ? begin + kUniformsAtOnce : uniforms.end;
    UniformsOf<From, F64UnitRule<Isa>>(uniforms, begin, end, u);
    for (std::uint64_t i = begin; i < end; i += kAtOnce) {
      weights.Get(i - first, weight);  // 0 past the last
      for (unsigned part = 0; part < kAtOnce; part += kLanes) {
        const typename Isa::Words w = Isa::LoadF64(reinterpret_cast<const unsigned char*>(weight + part));
        const typename Isa::Words time = Isa::DivideF64(ExponentialOf<Isa>(u + (i - begin) + part), w);
        Isa::Store(reinterpret_cast<unsigned char*>(times), time);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          if (!(times[lane] <= arrivals->latest()) || weight[part + lane] == 0) continue;
          const typename FirstArrivals<Isa>::Arrival arrival{times[lane], i - first + part + lane};
          if (before == nullptr || *before < arrival) arrivals->Add(arrival);
        }
      }
    }
  }
}

template <class Isa, class From, class Index>
void FillOnceAs(const Piece& piece) {
  const std::uint64_t samples = piece.draw.samples, classes = piece.draw.classes;
  Piece uniforms = piece;
  uniforms.draw.rows.elements = classes;  // of one state's row, if rows have states
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t i = piece.begin; i < piece.end;) {
    const std::uint64_t row = i / samples, row_begin = row * samples;
    const std::uint64_t row_end = piece.end - i > row_begin + samples - i ? row_begin + samples : piece.end;
    uniforms.begin = row * classes;
    uniforms.end = uniforms.begin + classes;
    const Weights<Isa> weights(piece.draw, row);
    typename FirstArrivals<Isa>::Arrival last{};
    for (std::uint64_t found = row_begin; found < row_end;) {
      const std::uint64_t wanted = row_end - found < kArrivalsKept ? row_end - found : kArrivalsKept;
      FirstArrivals<Isa> arrivals(wanted);
      AddArrivals<Isa, From>(uniforms, weights, found == row_begin ? nullptr : &last, &arrivals);
      arrivals.Sort();
      for (std::uint64_t k = 0; k < wanted; ++k, ++found) {
        // Fewer than wanted only from logits that nobody checked.
        if (k < arrivals.count()) last = arrivals[k];
        if (found < i) continue;
        const Index index = static_cast<Index>(last.index);
        std::memcpy(out, &index, sizeof(index));
        out += sizeof(index);
      }
    }
    i = row_end;
  }
}

}  // namespace onnx_philox
