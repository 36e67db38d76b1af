// Draws from rows of logits: makes the running sums of each row's weights, and searches them for each sample.
//
// It allocates no memory, whatever the number of classes. If it cannot keep all running sums, it keeps those at regular
// distances. A search then makes the few between two of them again, in the same order and so with the same bits.
//
// Without replacement, each class has an arrival time, -ln(1 - u) / weight, and the first to arrive are drawn.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "elementary.h"
#include "kernels.h"
#include "rows.h"
#include "rules.h"

namespace onnx_philox {

/// How many running sums are kept: one for each class if they suffice, otherwise one for the last of every so many.
constexpr std::uint64_t kSumsKept = 4096;

/// A row of logits.
template <class Isa>
class RowOfLogits {
 public:
  static constexpr unsigned kLanes = sizeof(typename Isa::Words) / 8;
  static constexpr unsigned kAtOnce = 16 * kLanes;

  /// Row `row` of the draw's logits.
  RowOfLogits(const Draw& draw, std::uint64_t row) : type_(draw[Parameter::kLogits].type), classes_(draw.classes) {
    size_ = ElementSize(type_);
    row_ = static_cast<const unsigned char*>(draw[Parameter::kLogits].data) + row * classes_ * size_;
  }

  OutputType type() const { return type_; }
  std::uint64_t classes() const { return classes_; }

  double Maximum() const {
    double maximum = -BitCast<double>(std::uint64_t{0x7FF0000000000000u});
    ForEachSome([&](double most, std::uint64_t) { maximum = most > maximum ? most : maximum; });
    return maximum;
  }

  /// Calls take(most, begin) for every kAtOnce logits from `begin` on, or those that are left: `most` is the greatest.
  template <class Take>
  ONNX_PHILOX_INLINE void ForEachSome(const Take& take) const {
    switch (type_) {
      case OutputType::kF16:
        return ForEachSomeOf<OutputType::kF16>(take);
      case OutputType::kBF16:
        return ForEachSomeOf<OutputType::kBF16>(take);
      case OutputType::kF32:
        return ForEachSomeOf<OutputType::kF32>(take);
      case OutputType::kF64:
        return ForEachSomeOf<OutputType::kF64>(take);
      default:
        NoRule();
    }
  }

  static void Store(typename Isa::Words x, double* lanes) {
    Isa::Store(reinterpret_cast<unsigned char*>(lanes), x);
  }

  /// Logits as float64, -inf past the last.
  ONNX_PHILOX_INLINE typename Isa::Words Load(std::uint64_t begin) const {
    if (begin + kLanes <= classes_) return Widen(row_ + begin * size_);
    alignas(64) unsigned char padded[kLanes * 8];
    const std::uint64_t infinity = type_ == OutputType::kF16    ? 0xFC00FC00FC00FC00u
                                   : type_ == OutputType::kBF16 ? 0xFF80FF80FF80FF80u
                                   : type_ == OutputType::kF32  ? 0xFF800000FF800000u
                                                                : 0xFFF0000000000000u;
    for (unsigned i = 0; i < kLanes; ++i) std::memcpy(padded + i * 8, &infinity, 8);
    if (begin < classes_) std::memcpy(padded, row_ + begin * size_, static_cast<std::size_t>(classes_ - begin) * size_);
    return Widen(padded);
  }

 private:
  /// The greatest of kAtOnce logits; f32 holds those of narrower types, too.
  template <OutputType kType>
  static ONNX_PHILOX_INLINE double GreatestOf(const unsigned char* from) {
    using Words = typename Isa::Words;
    constexpr unsigned kBytes = sizeof(Words);
    if constexpr (kType == OutputType::kF64) {
      Words most = Isa::LoadF64(from);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 1; i < 16; ++i) most = Isa::MaxF64(most, Isa::LoadF64(from + i * kBytes));
      return GreatestLane<double>(most);
    } else {
      Words most = Isa::Splat32(0xFF800000u);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < 8; ++i) {
        if constexpr (kType == OutputType::kF32) {
          most = Isa::MaxF32(most, Isa::LoadF64(from + i * kBytes));
        } else if constexpr (kType == OutputType::kF16) {
          most = Isa::MaxF32(most, Isa::LoadF16AsF32(from + i * (kBytes / 2)));
        } else if (i % 2 == 0) {
          const Words two = Isa::LoadF64(from + i / 2 * kBytes);
          most = Isa::MaxF32(most, Isa::template ShiftLeft32<16>(two));
          most = Isa::MaxF32(most, Isa::And(two, Isa::Splat32(0xFFFF0000u)));
        }
      }
      return static_cast<double>(GreatestLane<float>(most));
    }
  }

  template <class Float>
  static ONNX_PHILOX_INLINE Float GreatestLane(typename Isa::Words most) {
    constexpr unsigned kCount = sizeof(most) / sizeof(Float);
    Float lanes[kCount];
    Isa::Store(reinterpret_cast<unsigned char*>(lanes), most);
    Float greatest = lanes[0];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 1; i < kCount; ++i) greatest = lanes[i] > greatest ? lanes[i] : greatest;
    return greatest;
  }

  template <OutputType kType, class Take>
  ONNX_PHILOX_INLINE void ForEachSomeOf(const Take& take) const {
    constexpr unsigned kBytes = kType == OutputType::kF64 ? 8 : kType == OutputType::kF32 ? 4 : 2;
    std::uint64_t begin = 0;
    for (; begin + kAtOnce <= classes_; begin += kAtOnce) take(GreatestOf<kType>(row_ + begin * kBytes), begin);
    if (begin == classes_) return;
    // The rest, and the first of them again.
    unsigned char padded[kAtOnce * kBytes];
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const std::uint64_t from = begin + i < classes_ ? begin + i : begin;
      std::memcpy(padded + i * kBytes, row_ + from * kBytes, kBytes);
    }
    take(GreatestOf<kType>(padded), begin);
  }

  ONNX_PHILOX_INLINE typename Isa::Words Widen(const unsigned char* from) const {
    switch (type_) {
      case OutputType::kF16:
        return Isa::LoadF16AsF64(from);
      case OutputType::kBF16: {
        std::uint16_t narrow[kLanes];
        std::uint32_t wide[kLanes];
        std::memcpy(narrow, from, sizeof(narrow));
        for (unsigned i = 0; i < kLanes; ++i) wide[i] = static_cast<std::uint32_t>(narrow[i]) << 16;
        return Isa::LoadF32AsF64(reinterpret_cast<const unsigned char*>(wide));
      }
      case OutputType::kF32:
        return Isa::LoadF32AsF64(from);
      case OutputType::kF64:
        return Isa::LoadF64(from);
      default:
        NoRule();
    }
  }

  OutputType type_;
  std::uint64_t classes_;
  unsigned size_;
  const unsigned char* row_;
};

/// The weights exp(logit - maximum) of a row, from left to right, some registers at a time: a single one would stall on
/// its own latency.
template <class Isa>
class Weights {
 public:
  static constexpr unsigned kLanes = RowOfLogits<Isa>::kLanes;
  static constexpr unsigned kAtOnce = 4 * kLanes;

  Weights(const Draw& draw, std::uint64_t row)
      : logits_(draw, row), maximum_(Isa::Splat64(BitCast<std::uint64_t>(logits_.Maximum()))) {}

  /// Of classes `begin` to `begin` + kCount - 1, which fill whole registers; 0 past the last.
  template <unsigned kCount>
  ONNX_PHILOX_INLINE void Get(std::uint64_t begin, double (&weights)[kCount]) const {
    typename Isa::Words x[kCount / kLanes];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) x[i] = logits_.Load(begin + i * kLanes);
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) {
      RowOfLogits<Isa>::Store(ExpNonpositive<Isa>(Isa::SubtractF64(x[i], maximum_)), weights + i * kLanes);
    }
  }

 private:
  RowOfLogits<Isa> logits_;
  typename Isa::Words maximum_;
};

/// The weights of row `row`, rounded to f32.
template <class Isa>
void WriteWeights(const Draw& draw, std::uint64_t row, float* weights) {
  constexpr unsigned kAtOnce = Weights<Isa>::kAtOnce;
  const Weights<Isa> wide(draw, row);
  double some[kAtOnce];
  for (std::uint64_t begin = 0; begin < draw.classes; begin += kAtOnce) {
    wide.Get(begin, some);
    for (std::uint64_t i = 0; i < kAtOnce && begin + i < draw.classes; ++i) weights[begin + i] = static_cast<float>(some[i]);
  }
}

/// The running sums of the weights of a row, some of which are there at once: see Weights.
template <class SomeWeights>
class RunningSums {
 public:
  RunningSums(const SomeWeights& weights, std::uint64_t classes) : weights_(weights), classes_(classes) {
    if (classes_ <= kSumsKept) {
      distance_ = 1;
      count_ = classes_;
      KeepAll();
    } else {
      // A multiple of what a search makes at once.
      distance_ = (classes_ / kSumsKept / kMadeAgain + 1) * kMadeAgain;
      count_ = (classes_ + distance_ - 1) / distance_;
      KeepSome();
    }
  }

  double Total() const { return kept_[count_ - 1]; }

  /// The first class whose running sum is greater than `threshold`, which is below the total.
  std::uint64_t FirstAbove(double threshold) const {
    std::uint64_t found[1];
    FirstAbove<1>(&threshold, found);
    return found[0];
  }

  /// The same for several thresholds: the steps of one search wait for each other, those of several do not.
  template <unsigned kSearches>
  ONNX_PHILOX_INLINE void FirstAbove(const double* thresholds, std::uint64_t (&found)[kSearches]) const {
    const double* first[kSearches];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kSearches; ++i) first[i] = kept_;
    for (std::uint64_t length = count_; length > 1;) {
      const std::uint64_t half = length / 2;
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kSearches; ++i) {
        first[i] = first[i][half - 1] > thresholds[i] ? first[i] : first[i] + half;
      }
      length -= half;
    }
    for (unsigned i = 0; i < kSearches; ++i) found[i] = static_cast<std::uint64_t>(first[i] - kept_);
    if (distance_ == 1) return;
    if (kSearches > 1 && distance_ == kMadeAgain) return FirstAboveWithinOne<kSearches>(thresholds, found);
    for (unsigned i = 0; i < kSearches; ++i) found[i] = FirstAboveWithin(found[i], thresholds[i]);
  }

 private:
  void KeepAll() {
    constexpr unsigned kAtOnce = SomeWeights::kAtOnce;
    double sum = 0, weight[kAtOnce];
    for (std::uint64_t begin = 0; begin < classes_; begin += kAtOnce) {
      weights_.Get(begin, weight);
      const unsigned count = classes_ - begin < kAtOnce ? static_cast<unsigned>(classes_ - begin) : kAtOnce;
      for (unsigned i = 0; i < count; ++i) {
        sum += weight[i];
        kept_[begin + i] = sum;
      }
    }
  }

  void KeepSome() {
    constexpr unsigned kAtOnce = SomeWeights::kAtOnce;
    // The weights to add, and those after them: these are made while the additions wait for each other.
    double sum = 0, some[2][kAtOnce];
    std::uint64_t next = distance_;  // the class before which a sum is kept
    weights_.Get(0, some[0]);
    for (std::uint64_t begin = 0; begin < classes_; begin += kAtOnce) {
      const double(&weight)[kAtOnce] = some[begin / kAtOnce % 2];
      if (begin + kAtOnce < classes_) weights_.Get(begin + kAtOnce, some[(begin / kAtOnce + 1) % 2]);
      for (unsigned part = 0; part < kAtOnce; part += kMadeAgain) {
        for (unsigned i = part; i < part + kMadeAgain; ++i) sum += weight[i];
        if (begin + part + kMadeAgain == next && next < classes_) {
          kept_[next / distance_ - 1] = sum;
          next += distance_;
        }
      }
    }
    kept_[count_ - 1] = sum;
  }

  std::uint64_t FirstAboveWithin(std::uint64_t index, double threshold) const {
    double sum = index == 0 ? 0 : kept_[index - 1], weight[kMadeAgain];
    for (std::uint64_t begin = index * distance_; begin < classes_; begin += kMadeAgain) {
      weights_.Get(begin, weight);
      // Sums do not fall: so many are not above. To stop at the first that is, a branch would be foreseen wrongly.
      unsigned below = 0;
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kMadeAgain; ++i) {
        sum += weight[i];
        below += sum > threshold ? 0 : 1;
      }
      if (below < kMadeAgain && begin + below < classes_) return begin + below;
    }
    return classes_ - 1;  // only from logits that nobody checked
  }

  /// The same for several, if a search makes weights once: all their weights before the sums, which wait for each other.
  template <unsigned kSearches>
  ONNX_PHILOX_NOINLINE void FirstAboveWithinOne(const double* thresholds, std::uint64_t (&found)[kSearches]) const {
    double weight[kSearches][kMadeAgain], sum[kSearches];
    std::uint64_t below[kSearches] = {};
    for (unsigned k = 0; k < kSearches; ++k) {
      weights_.Get(found[k] * kMadeAgain, weight[k]);
      sum[k] = found[k] == 0 ? 0 : kept_[found[k] - 1];
    }
    for (unsigned i = 0; i < kMadeAgain; ++i) {
      ONNX_PHILOX_UNROLL
      for (unsigned k = 0; k < kSearches; ++k) {
        sum[k] += weight[k][i];
        below[k] += sum[k] > thresholds[k] ? 0 : 1;
      }
    }
    for (unsigned k = 0; k < kSearches; ++k) {
      const std::uint64_t at = found[k] * kMadeAgain + below[k];
      const bool is_found = below[k] < kMadeAgain && at < classes_;  // as always with logits that were checked
      found[k] = is_found ? at : FirstAboveWithin(found[k], thresholds[k]);
    }
  }

  /// How many weights a search makes at once: few, in whole registers.
  static constexpr unsigned kMadeAgain = SomeWeights::kAtOnce < 16 ? SomeWeights::kAtOnce : 16;

  SomeWeights weights_;
  std::uint64_t classes_, distance_, count_;
  double kept_[kSumsKept];
};

/// How many samples are looked for at once.
constexpr unsigned kSearchesAtOnce = 8;

template <class Isa, class From, class Index>
void FillCategoricalAs(const Piece& piece) {
  const std::uint64_t samples = piece.draw.samples;
  alignas(64) double uniforms[kUniformsAtOnce];
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  std::uint64_t drawn = piece.begin;  // uniforms are there up to this one
  std::uint64_t first_drawn = piece.begin;
  for (std::uint64_t i = piece.begin; i < piece.end;) {
    const std::uint64_t row = i / samples;
    const std::uint64_t row_end = piece.end - i > (row + 1) * samples - i ? (row + 1) * samples : piece.end;
    const RunningSums<Weights<Isa>> sums(Weights<Isa>(piece.draw, row), piece.draw.classes);
    const double total = sums.Total();
    while (i < row_end) {
      if (i == drawn) {
        first_drawn = i;
        drawn = piece.end - i > kUniformsAtOnce ? i + kUniformsAtOnce : piece.end;
        UniformsOf<From, F64UnitRule<Isa>>(piece, first_drawn, drawn, uniforms);
      }
      const std::uint64_t end = row_end < drawn ? row_end : drawn;
      const double* u = uniforms + (i - first_drawn);
      for (; end - i >= kSearchesAtOnce; i += kSearchesAtOnce, u += kSearchesAtOnce) {
        double thresholds[kSearchesAtOnce];
        std::uint64_t found[kSearchesAtOnce];
        ONNX_PHILOX_UNROLL
        for (unsigned k = 0; k < kSearchesAtOnce; ++k) thresholds[k] = u[k] * total;
        sums.template FirstAbove<kSearchesAtOnce>(thresholds, found);
        for (unsigned k = 0; k < kSearchesAtOnce; ++k) {
          const Index index = static_cast<Index>(found[k]);
          std::memcpy(out, &index, sizeof(index));
          out += sizeof(index);
        }
      }
      for (; i < end; ++i, ++u) {
        const Index index = static_cast<Index>(sums.FirstAbove(*u * total));
        std::memcpy(out, &index, sizeof(index));
        out += sizeof(index);
      }
    }
  }
}

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

/// Classes.
template <class Isa, class From>
void FillCategorical(const Piece& piece) {
  const bool is_narrow = piece.draw.type == OutputType::kI32;
  if (piece.draw.is_once) {
    return is_narrow ? FillOnceAs<Isa, From, std::int32_t>(piece) : FillOnceAs<Isa, From, std::int64_t>(piece);
  }
  if (is_narrow) return FillCategoricalAs<Isa, From, std::int32_t>(piece);
  FillCategoricalAs<Isa, From, std::int64_t>(piece);
}

}  // namespace onnx_philox
