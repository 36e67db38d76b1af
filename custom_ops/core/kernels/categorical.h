// Draws from rows of logits: makes the running sums of each row's weights, and searches them for each sample.
//
// Most samples of many classes find their class by sums of rough weights (rough_weights.h): exact ones are made where these
// leave a doubt, and then for the rest of the row.
//
// It allocates no memory, whatever the number of classes. If it cannot keep all running sums, it keeps those at regular
// distances. A search then makes the few between two of them again, in the same order and so with the same bits.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "first_arrivals.h"
#include "kernels.h"
#include "logits.h"
#include "rows.h"
#include "rules.h"

namespace onnx_philox {

/// How many running sums are kept: one for each class if they suffice, otherwise one for the last of every so many.
constexpr std::uint64_t kSumsKept = 4096;

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
      if (!KeepRoughly()) KeepSome();
    }
  }

  /// The class of a sample whose uniform is u: the first whose running sum is greater than u times the total.
  std::uint64_t ClassOf(double u) {
    std::uint64_t found[1];
    ClassesOf<1>(&u, found);
    return found[0];
  }

  /// The same for several samples: the steps of one search wait for each other, those of several do not.
  template <unsigned kSearches>
  ONNX_PHILOX_INLINE void ClassesOf(const double* u, std::uint64_t (&found)[kSearches]) {
    if constexpr (SomeWeights::kHasRoughSums) {
      if (slack_ > 0) return ClassesByRoughSums<kSearches>(u, found);
    }
    ClassesByExactSums<kSearches>(u, found);
  }

 private:
  /// Finds classes, if the sums that are kept are exact.
  template <unsigned kSearches>
  ONNX_PHILOX_INLINE void ClassesByExactSums(const double* u, std::uint64_t (&found)[kSearches]) const {
    double thresholds[kSearches];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kSearches; ++i) thresholds[i] = u[i] * total_;
    Find<kSearches>(thresholds, found);
    if (distance_ == 1) return;
    if (kSearches > 1 && distance_ == kMadeAgain) return FirstAboveWithinOne<kSearches>(thresholds, found);
    for (unsigned i = 0; i < kSearches; ++i) found[i] = FirstAboveWithin(found[i], thresholds[i]);
  }

  /// The first sums that are kept and greater than thresholds, which are below the total.
  template <unsigned kSearches>
  ONNX_PHILOX_INLINE void Find(const double* thresholds, std::uint64_t (&found)[kSearches]) const {
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
  }

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
    total_ = sum;
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
    total_ = sum;
  }

  /// Keeps sums of rough weights, each of which is less than a quarter of slack_ from the sum that it stands for; whether it
  /// could.
  ///
  /// With n classes, rough weights bring a sum kRoughError of the total away from its own, and each addition 2^-53, of which
  /// there are fewer than n in either sum.
  ONNX_PHILOX_NOINLINE bool KeepRoughly() {
    if constexpr (SomeWeights::kHasRoughSums) {
      if (distance_ != kMadeAgain) return false;
      constexpr unsigned kSums = SomeWeights::kRoughAtOnce / kMadeAgain;
      double sum = 0, sums[kSums];
      for (std::uint64_t begin = 0; begin < count_; begin += kSums) {
        weights_.template RoughSums<kMadeAgain>(begin * kMadeAgain, sums);
        for (unsigned i = 0; i < kSums && begin + i < count_; ++i) {
          sum += sums[i];
          kept_[begin + i] = sum;
        }
      }
      total_ = sum;
      slack_ = sum * (4 * kRoughError + static_cast<double>(classes_) * 0x1p-50);
      return slack_ > 0;  // as always with logits that were checked
    }
    return false;
  }

  /// Finds classes by sums of rough weights; whether they are the classes. They are where no sum of those that are compared
  /// is within slack_ of the threshold: it and the sum are less than half of that from their own.
  template <unsigned kSearches>
  ONNX_PHILOX_INLINE bool FindRoughly(const double* u, std::uint64_t (&found)[kSearches]) const {
    constexpr unsigned kMost = SomeWeights::kRoughAtOnce / kMadeAgain, kTogether = kSearches < kMost ? kSearches : kMost;
    static_assert(kSearches % kTogether == 0, "whole groups");
    double thresholds[kSearches], before[kSearches], sums[kSearches][1 + kMadeAgain];
    double* weights[kSearches];
    std::uint64_t begin[kSearches];
    for (unsigned k = 0; k < kSearches; ++k) thresholds[k] = u[k] * total_;
    Find<kSearches>(thresholds, found);
    for (unsigned k = 0; k < kSearches; ++k) {
      before[k] = found[k] == 0 ? 0 : kept_[found[k] - 1];
      sums[k][0] = before[k];
      weights[k] = sums[k] + 1;
      begin[k] = found[k] * kMadeAgain;
    }
    for (unsigned k = 0; k < kSearches; k += kTogether) {
      weights_.template GetRoughly<kMadeAgain, kTogether>(begin + k, weights + k);
    }
    unsigned below[kSearches] = {};
    for (unsigned i = 1; i <= kMadeAgain; ++i) {
      ONNX_PHILOX_UNROLL
      for (unsigned k = 0; k < kSearches; ++k) {
        before[k] += sums[k][i];
        sums[k][i] = before[k];
        below[k] += before[k] > thresholds[k] ? 0 : 1;
      }
    }
    bool are_sure = true;
    for (unsigned k = 0; k < kSearches; ++k) {
      const unsigned at = below[k] < kMadeAgain ? below[k] : kMadeAgain - 1;
      are_sure &= sums[k][at] < thresholds[k] - slack_;
      are_sure &= sums[k][at + 1] > thresholds[k] + slack_;
      found[k] = begin[k] + at;
    }
    return are_sure;
  }

  /// Finds classes by rough sums as long as that is sure; from then on the sums are exact.
  template <unsigned kSearches>
  ONNX_PHILOX_NOINLINE void ClassesByRoughSums(const double* u, std::uint64_t (&found)[kSearches]) {
    if (FindRoughly<kSearches>(u, found)) return;
    KeepSome();
    slack_ = 0;
    ClassesByExactSums<kSearches>(u, found);
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
  double total_ = 0;  ///< the last sum
  double slack_ = 0;  ///< above 0: the sums that are kept are of rough weights
  double kept_[kSumsKept];
};

/// How many samples are looked for at once.
constexpr unsigned kSearchesAtOnce = 16;

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
    RunningSums<Weights<Isa>> sums(Weights<Isa>(piece.draw, row), piece.draw.classes);
    while (i < row_end) {
      if (i == drawn) {
        first_drawn = i;
        drawn = piece.end - i > kUniformsAtOnce ? i + kUniformsAtOnce : piece.end;
        UniformsOf<From, F64UnitRule<Isa>>(piece, first_drawn, drawn, uniforms);
      }
      const std::uint64_t end = row_end < drawn ? row_end : drawn;
      const double* u = uniforms + (i - first_drawn);
      for (; end - i >= kSearchesAtOnce; i += kSearchesAtOnce, u += kSearchesAtOnce) {
        std::uint64_t found[kSearchesAtOnce];
        sums.template ClassesOf<kSearchesAtOnce>(u, found);
        for (unsigned k = 0; k < kSearchesAtOnce; ++k) {
          const Index index = static_cast<Index>(found[k]);
          std::memcpy(out, &index, sizeof(index));
          out += sizeof(index);
        }
      }
      for (; i < end; ++i, ++u) {
        const Index index = static_cast<Index>(sums.ClassOf(*u));
        std::memcpy(out, &index, sizeof(index));
        out += sizeof(index);
      }
    }
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
