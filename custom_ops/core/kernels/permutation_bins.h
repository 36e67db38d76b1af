// Sorts permutations that no groups take (permutation_groups.h): the keys of a row are drawn once and dealt out by their upper halves into parts of a fixed size,
// each part into bins of a fixed size, and a network sorts what is in the bins, many of them side by side.
//
// A part or bin that overflows is rare, and then permutation.h sorts it. So are keys that are equal as far as bins hold
// them, and then the whole keys are drawn again.
//
// Internal: included only by permutation.h and permutation_groups.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "inlining.h"
#include "kernels.h"

namespace onnx_philox {

/// Rows up to this size go into bins at once, longer ones into parts first.
constexpr unsigned kMostInBins = 1024;
/// A part gets at most kMostInBins records on average; seven times the deviation of that goes into it, too.
constexpr std::uint64_t kPartSlack = 7 * 32;
/// With fewer parts, a record would often wait until the one before it is in the same part. Rows with more have none.
constexpr unsigned kFewestParts = 8, kMostParts = 1024;
constexpr std::uint64_t kMostInParts = std::uint64_t{kMostInBins} * kMostParts;

/// The parts of a row, at most kMostInParts long.
struct PermutationParts {
  std::uint64_t count;
  std::uint64_t size;  ///< records that a part holds

  ONNX_PHILOX_INLINE explicit PermutationParts(std::uint64_t row)
      : count((row + kMostInBins - 1) / kMostInBins), size(0) {
    if (count < kFewestParts) count = kFewestParts;
    size = row / count + 1 + kPartSlack;
  }
  /// How many of them lie where the row's indices of so many bytes go. A part is read before the indices reach it, since
  /// there are at most as many as parts have room for.
  ONNX_PHILOX_INLINE std::uint64_t InPlace(std::uint64_t row, unsigned index_bytes) const {
    return row * index_bytes / (size * sizeof(std::uint64_t));
  }
  /// Records of the others.
  ONNX_PHILOX_INLINE std::uint64_t Spare(std::uint64_t row, unsigned index_bytes) const {
    return (count - InPlace(row, index_bytes)) * size;
  }
};

/// A network that sorts kInputs numbers: Batcher's merge exchange (Knuth, The Art of Computer Programming, 5.2.2, M).
template <unsigned kInputs>
struct SortingNetwork {
  struct Comparator {
    unsigned low = 0, high = 0;
  };
  Comparator comparator[kInputs * kInputs / 2];
  std::size_t count;

  constexpr SortingNetwork() : comparator(), count(0) {
    unsigned first_step = 1;
    while (2 * first_step < kInputs) first_step *= 2;
    for (unsigned p = first_step; p > 0; p /= 2) {
      unsigned chosen = 0, distance = p;
      for (unsigned q = first_step;; q /= 2) {
        for (unsigned i = 0; i + distance < kInputs; ++i) {
          if ((i & p) == chosen) comparator[count++] = Comparator{i, i + distance};
        }
        if (q == p) break;
        distance = q - p;
        chosen = p;
      }
    }
  }
};

/// An index, and the upper half of its key or what the key's part leaves of it.
struct KeyedIndex {
  std::uint32_t key, index;
};

/// Bins of a row or part. A record in a bin is an index, and above it as much as there is room for of what of the key does
/// not say the bin.
template <class Isa>
class PermutationBins {
 public:
  explicit PermutationBins(unsigned index_bits) : index_mask_((std::uint32_t{1} << index_bits) - 1) {}

  /// Deals out `count` records, of which `keyed(i)` is one; whether there was room in the bins.
  template <class Keyed>
  ONNX_PHILOX_INLINE bool Deal(unsigned count, const Keyed& keyed) {
    const unsigned wanted = (count + kOnAverage - 1) / kOnAverage, bins = wanted < kMostBins ? wanted : kMostBins;
    const std::uint32_t index_mask = index_mask_;
    count_ = count;
    bins_ = bins;
    Clear();
    for (unsigned i = 0; i < count; ++i) {
      const KeyedIndex given = keyed(i);
      const std::uint64_t scaled = static_cast<std::uint64_t>(given.key) * bins;
      const unsigned bin = static_cast<unsigned>(scaled >> 32), at = next_[bin];
      next_[bin] = at + kMostBins;
      records_[at % (kBinSize * kMostBins)] = (static_cast<std::uint32_t>(scaled) & ~index_mask) | given.index;
    }
    unsigned most = 0;
    for (unsigned bin = 0; bin < bins; ++bin) most = next_[bin] > most ? next_[bin] : most;
    most_ = most / kMostBins;
    return most_ <= kBinSize;
  }

  /// Sorts the records and writes their indices. `key_of` an index is the whole key.
  template <class Index, class KeyOf>
  ONNX_PHILOX_INLINE void Write(unsigned char* out, const KeyOf& key_of) {
    Sort();
    for (unsigned group = 0; group * kLanes < bins_; ++group) {
      if (has_equal_[group]) OrderEqual(group * kLanes, key_of);
    }
    unsigned left = count_;
    for (unsigned bin = 0; bin < bins_; ++bin) {
      const unsigned in_bin = next_[bin] / kMostBins;
      unsigned i = 0;
      if (left >= kWrittenAtOnce) {
        // As many whatever is in the bin: no branch is foreseen wrongly. What is not in it lies where the next bin goes.
        ONNX_PHILOX_UNROLL
        for (; i < kWrittenAtOnce; ++i) WriteOne<Index>(out, i, records_[i * kMostBins + bin]);
      }
      for (; i < in_bin; ++i) WriteOne<Index>(out, i, records_[i * kMostBins + bin]);
      out += in_bin * sizeof(Index);
      left -= in_bin;
    }
  }

 private:
  using Words = typename Isa::Words;
  static constexpr unsigned kLanes = sizeof(Words) / sizeof(std::uint32_t);
  /// How many records a bin gets on average, and how many it holds; bins at most.
  static constexpr unsigned kOnAverage = 4, kBinSize = 16, kMostBins = kMostInBins / kOnAverage;
  static constexpr unsigned kWrittenAtOnce = 8;
  /// Not below any record.
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  Words Load(unsigned at, unsigned bin) const {
    return Isa::LoadF64(reinterpret_cast<const unsigned char*>(&records_[at * kMostBins + bin]));
  }
  void Store(unsigned at, unsigned bin, Words x) { Isa::Store(reinterpret_cast<unsigned char*>(&records_[at * kMostBins + bin]), x); }

  /// Whole registers of bins without records.
  ONNX_PHILOX_INLINE void Clear() {
    const Words none = Isa::Splat32(kNone);
    for (unsigned i = 0; i < kBinSize; ++i) {
      for (unsigned bin = 0; bin < bins_; bin += kLanes) Store(i, bin, none);
    }
    for (unsigned bin = 0; bin < bins_; ++bin) next_[bin] = bin;
  }

  ONNX_PHILOX_NOINLINE void Sort() {
    if (most_ <= 8) return SortBy<8>(std::make_index_sequence<SortingNetwork<8>().count>());
    if (most_ <= 12) return SortBy<12>(std::make_index_sequence<SortingNetwork<12>().count>());
    SortBy<kBinSize>(std::make_index_sequence<SortingNetwork<kBinSize>().count>());
  }

  /// Sorts bins of at most kInputs records, and notes where there may be equal keys.
  template <unsigned kInputs, std::size_t... kAt>
  ONNX_PHILOX_INLINE void SortBy(std::index_sequence<kAt...>) {
    static constexpr SortingNetwork<kInputs> kNetwork{};
    const Words one = Isa::Splat32(1);
    for (unsigned bin = 0; bin < bins_; bin += kLanes) {
      Words row[kInputs];
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kInputs; ++i) row[i] = Load(i, bin);
      (Order<kNetwork.comparator[kAt].low, kNetwork.comparator[kAt].high>(row), ...);
      // One less than the distance of neighbours, which is the greatest number of two places without records.
      Words least = Isa::Splat32(kNone);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kInputs; ++i) {
        Store(i, bin, row[i]);
        if (i > 0) least = Isa::Min32(least, Isa::Subtract32(Isa::Subtract32(row[i], row[i - 1]), one));
      }
      std::uint32_t lanes[kLanes], least_of_all = kNone;
      Isa::Store(reinterpret_cast<unsigned char*>(lanes), least);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kLanes; ++i) least_of_all = lanes[i] < least_of_all ? lanes[i] : least_of_all;
      has_equal_[bin / kLanes] = least_of_all <= index_mask_;
    }
  }

  template <unsigned kLow, unsigned kHigh, unsigned kInputs>
  static ONNX_PHILOX_INLINE void Order(Words (&row)[kInputs]) {
    const Words low = Isa::Min32(row[kLow], row[kHigh]);
    row[kHigh] = Isa::Max32(row[kLow], row[kHigh]);
    row[kLow] = low;
  }

  /// Puts neighbours whose keys are equal as far as records hold them into the order of the whole keys, which are those of
  /// the indices as long as nothing else is known.
  template <class KeyOf>
  ONNX_PHILOX_NOINLINE void OrderEqual(unsigned first_bin, const KeyOf& key_of) {
    for (unsigned bin = first_bin; bin < first_bin + kLanes && bin < bins_; ++bin) {
      for (unsigned i = 1; i < next_[bin] / kMostBins; ++i) {
        const std::uint32_t record = records_[i * kMostBins + bin];
        unsigned to = i;
        for (; to > 0 && IsAfter(records_[(to - 1) * kMostBins + bin], record, key_of); --to) {
          records_[to * kMostBins + bin] = records_[(to - 1) * kMostBins + bin];
        }
        records_[to * kMostBins + bin] = record;
      }
    }
  }
  template <class KeyOf>
  bool IsAfter(std::uint32_t a, std::uint32_t b, const KeyOf& key_of) const {
    return (a ^ b) <= index_mask_ && key_of(a & index_mask_) > key_of(b & index_mask_);
  }

  template <class Index>
  ONNX_PHILOX_INLINE void WriteOne(unsigned char* out, unsigned i, std::uint32_t record) const {
    const Index index = static_cast<Index>(record & index_mask_);
    std::memcpy(out + i * sizeof(index), &index, sizeof(index));
  }

  const std::uint32_t index_mask_;
  unsigned bins_ = 0, count_ = 0, most_ = 0;  ///< most: records in the bin with the most
  bool has_equal_[kMostBins / kLanes];
  std::uint32_t next_[kMostBins];  ///< where the next record of a bin goes
  alignas(64) std::uint32_t records_[kBinSize * kMostBins];  ///< the first of every bin, then the second of every bin, ...
};

}  // namespace onnx_philox
