// Sorts most permutations: the keys of a row are drawn once and dealt out by their first bits into parts of a fixed size,
// each part into bins of a fixed size, and what is in a bin is ranked by comparing all with all in registers.
//
// A part or bin that overflows is rare, and so are equal keys as far as records hold them. Both are noticed, and then
// permutation.h sorts the row.
//
// Internal: included only by permutation.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "inlining.h"
#include "kernels.h"

namespace onnx_philox {

/// Rows up to this size go into bins at once, longer ones into parts first.
constexpr unsigned kMostInBins = 1024;
/// Bins of a part, at most; and how many records a bin holds, of about eight that it gets.
constexpr unsigned kBinBits = 7, kBinSize = 32, kFewInBin = 8;
/// A part gets at most kMostInBins records on average; seven times the deviation of that goes into it, too.
constexpr std::uint64_t kPartSlack = 7 * 32;
/// Rows up to this size have parts.
constexpr unsigned kMostPartBits = 10;
constexpr std::uint64_t kMostInParts = std::uint64_t{kMostInBins} << kMostPartBits;

/// The parts of a row, at most kMostInParts long.
struct PermutationParts {
  unsigned bits;
  std::uint64_t size;  ///< records that a part holds

  ONNX_PHILOX_INLINE explicit PermutationParts(std::uint64_t row) : bits(0) {
    while (row >> bits > kMostInBins) ++bits;
    size = (row >> bits) + 1 + kPartSlack;
  }
  /// How many of them lie where the row's indices of so many bytes go. A part is read before the indices reach it, since
  /// there are at most as many as parts have room for.
  ONNX_PHILOX_INLINE std::uint64_t InPlace(std::uint64_t row, unsigned index_bytes) const {
    return row * index_bytes / (size * sizeof(std::uint64_t));
  }
  /// Records of the others.
  ONNX_PHILOX_INLINE std::uint64_t Spare(std::uint64_t row, unsigned index_bytes) const {
    return ((std::uint64_t{1} << bits) - InPlace(row, index_bytes)) * size;
  }
};

/// Sorts records by their first bits, all but those under `index_mask`, and writes what is under it. Of records the sign is
/// inverted: their order is that of signed integers.
template <class Isa, class Index>
class PermutationBins {
 public:
  explicit PermutationBins(std::uint64_t index_mask) : index_mask_(index_mask) {}

  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

  /// Sorts `count` records to `out`, where memory for at least `room` indices is; whether it could.
  bool Sort(const unsigned char* records, unsigned count, unsigned char* out, std::uint64_t room) {
    unsigned bits = 0;
    while (count >> bits > kFewInBin && bits < kBinBits) ++bits;
    const unsigned bins = 1u << bits;
    std::memset(filled_, 0, sizeof(filled_[0]) << bits);
    for (unsigned bin = 0; bin < bins; ++bin) std::memcpy(bins_[bin], kNone, sizeof(kNone));
    unsigned most = 0;
    for (unsigned i = 0; i < count; ++i) {
      std::uint64_t record;
      std::memcpy(&record, records + i * sizeof(record), sizeof(record));
      const unsigned bin = static_cast<unsigned>((record ^ kSign) >> 1 >> (63 - bits));
      const unsigned at = filled_[bin]++;
      bins_[bin][at % kBinSize] = record;
      most = at > most ? at : most;
    }
    if (most >= kBinSize) return false;
    std::uint64_t ranks = 0, ranks_if_different = 0;
    for (unsigned bin = 0; bin < bins; ++bin) {
      const unsigned in_bin = filled_[bin];
      ranks_if_different += in_bin * (in_bin - 1) / 2;
      if (in_bin <= kFewInBin && room > in_bin) {
        // As many steps whatever is in the bin: no branch is foreseen wrongly. What is not in it goes where the next bin does.
        ranks += Write<kFewInBin>(bins_[bin], kFewInBin, out);
        ranks_if_different += in_bin * (kFewInBin - in_bin);
      } else if (in_bin <= 2 * kFewInBin) {
        ranks += Write<2 * kFewInBin>(bins_[bin], in_bin, out);
      } else {
        ranks += Write<kBinSize>(bins_[bin], in_bin, out);
      }
      out += in_bin * sizeof(Index);
      room -= in_bin;
    }
    return ranks == ranks_if_different;
  }

 private:
  /// Above all records.
  static constexpr std::uint64_t kAbove = ~std::uint64_t{0} >> 1;
  static constexpr std::uint64_t kNone[kFewInBin] = {kAbove, kAbove, kAbove, kAbove, kAbove, kAbove, kAbove, kAbove};

  /// Writes a bin of at most kMost records; returns the sum of their ranks. Equal ones have the same rank, so then it is too
  /// small.
  template <unsigned kMost>
  ONNX_PHILOX_INLINE unsigned Write(const std::uint64_t* bin, unsigned count, unsigned char* out) const {
    using Words = typename Isa::Words;
    constexpr unsigned kRegister = sizeof(Words), kRegisters = kMost * 8 / kRegister;
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(bin);
    const Words mask = Isa::Splat64(~index_mask_);
    alignas(64) std::uint64_t rank[kMost];
    constexpr unsigned kAtOnce = kRegisters < 4 ? kRegisters : 4;
    for (unsigned first = 0; first < kRegisters; first += kAtOnce) {
      Words key[kAtOnce], below[kAtOnce];
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kAtOnce; ++i) {
        key[i] = Isa::And(Isa::LoadF64(bytes + (first + i) * kRegister), mask);
        below[i] = Isa::Splat64(0);
      }
      for (unsigned j = 0; j < count; ++j) {
        const Words other = Isa::Splat64(bin[j]);
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < kAtOnce; ++i) below[i] = Isa::CountBelow64(below[i], other, key[i]);
      }
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kAtOnce; ++i) {
        Isa::Store(reinterpret_cast<unsigned char*>(rank) + (first + i) * kRegister, below[i]);
      }
    }
    unsigned sum = 0;
    for (unsigned i = 0; i < count; ++i) {
      const Index index = static_cast<Index>(bin[i] & index_mask_);
      std::memcpy(out + rank[i] * sizeof(index), &index, sizeof(index));
      sum += static_cast<unsigned>(rank[i]);
    }
    return sum;
  }

  const std::uint64_t index_mask_;
  std::uint16_t filled_[1u << kBinBits];
  alignas(64) std::uint64_t bins_[1u << kBinBits][kBinSize];
};

}  // namespace onnx_philox
