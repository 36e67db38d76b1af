// Sorts rows of a permutation where registers hold 8 or 16 words: the keys of a row are drawn once and dealt out by their
// upper halves into groups, and a network sorts each group in 16 registers.
//
// A group that overflows is rare, and then permutation.h sorts the row. Keys that are equal as far as records hold them are
// put into the order of the whole keys.
//
// Internal: included only by permutation.h, and by dispatch.cpp for how much memory groups take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "inlining.h"
#include "kernels.h"
#include "permutation_bins.h"

namespace onnx_philox {

/// Groups that registers of kLanes words sort: how many records a group holds, and how many it gets on average, at most,
/// which is four deviations less.
template <unsigned kLanes>
struct GroupSizes {
  static_assert(kLanes == 8 || kLanes == 16, "other registers sort none");
  static constexpr unsigned kRegisters = 16, kMost = kRegisters * kLanes, kAverage = kLanes == 16 ? 200 : 88;

  /// The groups of a row.
  static constexpr ONNX_PHILOX_INLINE unsigned Count(std::uint64_t row) {
    return static_cast<unsigned>((row + kAverage - 1) / kAverage);
  }
};

/// Rows of these sizes go into groups. Smaller ones are sorted sooner in bins; of longer ones, too few bits of the keys go
/// into records of 32 bits.
constexpr std::uint64_t kFewestInGroups = 110, kMostInGroups = std::uint64_t{1} << 17;
/// So many keys are dealt out at once.
constexpr unsigned kDealtAtOnce = 1024;

/// Records of 64 bits whose memory holds the groups of a row, whatever the registers.
static inline std::uint64_t SpareForGroups(std::uint64_t row) {
  using Of8 = GroupSizes<8>;
  using Of16 = GroupSizes<16>;
  if (row > kMostInGroups) return 0;
  const unsigned of_8 = Of8::Count(row) * Of8::kMost, of_16 = Of16::Count(row) * Of16::kMost;
  return (of_8 > of_16 ? of_8 : of_16) / 2;
}

/// Sorts groups. A record is an index, and above it as much as there is room for of what of the key does not say the group.
template <class Isa>
class GroupSorter {
 public:
  explicit GroupSorter(std::uint32_t index_mask) : index_mask_(index_mask) { sorted_[kMost] = 0; }

  /// Writes the indices of `count` records in order. `key_of` an index is the whole key. Memory for as many as a
  /// group holds is read.
  template <class Index, class KeyOf>
  ONNX_PHILOX_INLINE void Write(const unsigned char* records, unsigned count, unsigned char* out, const KeyOf& key_of) {
    Sort(records, count);
    OrderEqual(count, key_of);
    const Words index_mask = Isa::Splat32(index_mask_);
    unsigned at = 0;
    for (; at + kLanes <= count; at += kLanes) {
      WriteRegister<Index>(Isa::And(Load(sorted_ + at), index_mask), out + at * sizeof(Index));
    }
    for (; at < count; ++at) {
      const Index index = static_cast<Index>(sorted_[at] & index_mask_);
      std::memcpy(out + at * sizeof(index), &index, sizeof(index));
    }
  }

 private:
  using Words = typename Isa::Words;
  static constexpr unsigned kLanes = sizeof(Words) / sizeof(std::uint32_t);
  static constexpr unsigned kRows = GroupSizes<kLanes>::kRegisters, kMost = GroupSizes<kLanes>::kMost;
  /// Not below any record.
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  static Words Load(const std::uint32_t* from) { return Isa::LoadF64(reinterpret_cast<const unsigned char*>(from)); }

  template <class Index>
  static ONNX_PHILOX_INLINE void WriteRegister(Words indices, unsigned char* out) {
    if constexpr (sizeof(Index) == sizeof(std::uint32_t)) {
      Isa::Store(out, indices);
    } else {
      Isa::Store(out, Isa::FirstHalf32(indices));
      Isa::Store(out + sizeof(Words), Isa::SecondHalf32(indices));
    }
  }

  /// Sorts each column, which is what the registers have in the same lane, then merges columns until there is one run of
  /// all, down the columns. Transposed by squares, it is in the order of memory.
  ONNX_PHILOX_NOINLINE void Sort(const unsigned char* records, unsigned count) {
    const Words none = Isa::Splat32(kNone), end = Isa::Splat32(count);
    Words row[kRows];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kRows; ++i) {
      const Words place = Isa::Add32(Isa::CountWords(), Isa::Splat32(i * kLanes));
      row[i] = Isa::SelectIfBelow32(place, end, Isa::LoadF64(records + i * sizeof(Words)), none);
    }
    SortColumns(row, std::make_index_sequence<SortingNetwork<kRows>().count>());
    MergeColumns<1>(row);
    MergeColumns<2>(row);
    MergeColumns<4>(row);
    if constexpr (kLanes > 8) MergeColumns<8>(row);
    Transpose<1>(row);
    Transpose<2>(row);
    Transpose<4>(row);
    if constexpr (kLanes > 8) Transpose<8>(row);
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kRows; ++i) {
      const unsigned column = i % kLanes, square = i / kLanes;
      Isa::Store(reinterpret_cast<unsigned char*>(sorted_ + column * kRows + square * kLanes), row[i]);
    }
  }

  template <std::size_t... kAt>
  static ONNX_PHILOX_INLINE void SortColumns(Words (&row)[kRows], std::index_sequence<kAt...>) {
    static constexpr SortingNetwork<kRows> kNetwork{};
    (OrderRegisters(&row[kNetwork.comparator[kAt].low], &row[kNetwork.comparator[kAt].high]), ...);
  }
  static ONNX_PHILOX_INLINE void OrderRegisters(Words* low, Words* high) {
    const Words lower = Isa::Min32(*low, *high);
    *high = Isa::Max32(*low, *high);
    *low = lower;
  }

  /// Makes one run of every two neighbouring ones of kColumns columns, by bitonic merging: the first is compared with the
  /// second backwards, and then each half of what comes of it within itself.
  template <unsigned kColumns>
  static ONNX_PHILOX_INLINE void MergeColumns(Words (&row)[kRows]) {
    constexpr unsigned kBackwards = 2 * kColumns - 1;
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kRows / 2; ++i) {
      const Words first = row[i], second = row[kRows - 1 - i];
      row[i] = Isa::template OrderByLane32<kColumns>(first, Isa::template ExchangeLanes32<kBackwards>(second));
      row[kRows - 1 - i] = Isa::template OrderByLane32<kColumns>(second, Isa::template ExchangeLanes32<kBackwards>(first));
    }
    OrderLanes<kColumns / 2>(row);
    OrderRows<kRows / 2>(row);
  }
  template <unsigned kDistance>
  static ONNX_PHILOX_INLINE void OrderLanes(Words (&row)[kRows]) {
    if constexpr (kDistance > 0) {
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kRows; ++i) {
        row[i] = Isa::template OrderByLane32<kDistance>(row[i], Isa::template ExchangeLanes32<kDistance>(row[i]));
      }
      OrderLanes<kDistance / 2>(row);
    }
  }
  template <unsigned kDistance>
  static ONNX_PHILOX_INLINE void OrderRows(Words (&row)[kRows]) {
    if constexpr (kDistance > 0) {
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kRows; ++i) {
        if ((i & kDistance) == 0) OrderRegisters(&row[i], &row[i + kDistance]);
      }
      OrderRows<kDistance / 2>(row);
    }
  }

  /// Exchanges the bit kBit of the numbers of registers with that of the numbers of lanes.
  template <unsigned kBit>
  static ONNX_PHILOX_INLINE void Transpose(Words (&row)[kRows]) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kRows; ++i) {
      if ((i & kBit) != 0) continue;
      const Words first = row[i], second = row[i + kBit];
      row[i] = Isa::template SelectByLane32<kBit>(Isa::template ExchangeLanes32<kBit>(second), first);
      row[i + kBit] = Isa::template SelectByLane32<kBit>(second, Isa::template ExchangeLanes32<kBit>(first));
    }
  }

  /// Puts records whose keys are equal as far as they hold them into the order of the whole keys, which are those of the
  /// indices as long as nothing else is known.
  template <class KeyOf>
  ONNX_PHILOX_INLINE void OrderEqual(unsigned count, const KeyOf& key_of) {
    const Words one = Isa::Splat32(1), index_mask = Isa::Splat32(index_mask_);
    for (unsigned first = 0; first < count; first += kLanes) {
      // Where all that differs is the index, the difference is 1 to index_mask. Of two places without records it is 0, which less
      // one is the greatest number: so one comparison says it.
      const Words difference = Isa::Subtract32(Isa::Xor(Load(sorted_ + first), Load(sorted_ + first + 1)), one);
      unsigned equal = Isa::LanesBelow32(difference, index_mask);
      for (unsigned i = first + 1; equal != 0; ++i) {
        if ((equal & 1) != 0 && i < count) OrderOne(i, key_of);
        equal >>= 1;
      }
    }
  }
  /// Puts the record at place `i` among those before it.
  template <class KeyOf>
  ONNX_PHILOX_NOINLINE void OrderOne(unsigned i, const KeyOf& key_of) {
    const std::uint32_t record = sorted_[i];
    for (; i > 0 && IsAfter(sorted_[i - 1], record, key_of); --i) sorted_[i] = sorted_[i - 1];
    sorted_[i] = record;
  }
  template <class KeyOf>
  bool IsAfter(std::uint32_t a, std::uint32_t b, const KeyOf& key_of) const {
    return (a ^ b) <= index_mask_ && key_of(a & index_mask_) > key_of(b & index_mask_);
  }

  const std::uint32_t index_mask_;
  alignas(64) std::uint32_t sorted_[kMost + 1];  ///< and a place that the last is compared with
};

/// The groups of a row. `kStride` records of memory are for each.
template <class Isa, unsigned kStride>
class PermutationGroups {
 public:
  PermutationGroups(std::uint64_t row, unsigned index_bits, unsigned char* memory)
      : groups_(Sizes::Count(row)), index_mask_((std::uint32_t{1} << index_bits) - 1), memory_(memory) {
    for (unsigned group = 0; group < groups_; ++group) counts_[group] = 0;
  }

  /// Deals out `count` keys, at most kDealtAtOnce, of which the first is that of index `first`. Up to a register more are
  /// read, and may be anything.
  ONNX_PHILOX_NOINLINE void Deal(const std::uint64_t* keys, unsigned count, std::uint32_t first) {
    alignas(64) std::uint32_t group_of[kDealtAtOnce], records[kDealtAtOnce];
    for (unsigned i = 0; i < count; i += kLanes) {
      const Keyed keyed = KeyedFrom(keys + i, first + i);
      Isa::Store(reinterpret_cast<unsigned char*>(group_of + i), keyed.group);
      Isa::Store(reinterpret_cast<unsigned char*>(records + i), keyed.record);
    }
    unsigned char* const memory = memory_;  // since what goes there might be a member, as far as a compiler knows
    for (unsigned i = 0; i < count; ++i) {
      const unsigned group = group_of[i], at = counts_[group];
      counts_[group] = at + 1;
      // One too many overwrites the first of its group, and HaveRoom says so.
      unsigned char* const to = memory + (group * kStride + at % Sizes::kMost) * sizeof(records[i]);
      std::memcpy(to, &records[i], sizeof(records[i]));
    }
  }

  /// Deals out all of a row of at most kMostAtOnce, a register at a time: sooner as long as groups are few.
  void DealWhole(const std::uint64_t* keys, unsigned count) { DealInto<Sizes::Count(kMostAtOnce)>(keys, count); }

  /// Whether no group got more records than it holds. If not, some are lost.
  bool HaveRoom() const {
    unsigned most = 0;
    for (unsigned group = 0; group < groups_; ++group) most = counts_[group] > most ? counts_[group] : most;
    return most <= Sizes::kMost;
  }

  /// Sorts the records and writes their indices. `key_of` an index is the whole key.
  template <class Index, class KeyOf>
  ONNX_PHILOX_INLINE void Write(unsigned char* out, const KeyOf& key_of) const {
    GroupSorter<Isa> sorter(index_mask_);
    for (unsigned group = 0; group < groups_; ++group) {
      const unsigned char* const records = memory_ + group * kStride * sizeof(std::uint32_t);
      sorter.template Write<Index>(records, counts_[group], out, key_of);
      out += counts_[group] * sizeof(Index);
    }
  }

 private:
  using Words = typename Isa::Words;
  static constexpr unsigned kLanes = sizeof(Words) / sizeof(std::uint32_t);
  using Sizes = GroupSizes<kLanes>;
  /// In a row that is dealt out at once, each group has memory for all records and a register more.
  static constexpr unsigned kMostAtOnce = kStride - kLanes;

  struct Keyed {
    Words group, record;
  };

  /// The groups and records of as many keys as a register has lanes; the first is that of index `first`.
  ONNX_PHILOX_INLINE Keyed KeyedFrom(const std::uint64_t* keys, std::uint32_t first) const {
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(keys);
    const Words high = Isa::HighWords(Isa::LoadF64(bytes), Isa::LoadF64(bytes + sizeof(Words)));
    const Words groups = Isa::Splat32(groups_), index = Isa::Add32(Isa::CountWords(), Isa::Splat32(first));
    const Words rest = Isa::MultiplyLow32(high, groups);
    return Keyed{Isa::MultiplyHigh32(high, groups), Isa::MaskOr(rest, Isa::Splat32(~index_mask_), index)};
  }

  /// Tries numbers of groups from the greatest on, so that each is a constant: then their counts stay in registers.
  template <unsigned kGroups>
  ONNX_PHILOX_INLINE void DealInto(const std::uint64_t* keys, unsigned count) {
    if constexpr (kGroups > 1) {
      if (groups_ < kGroups) return DealInto<kGroups - 1>(keys, count);
    }
    unsigned counts[kGroups] = {};
    const unsigned whole = count / kLanes * kLanes;
    for (unsigned first = 0; first < whole; first += kLanes) DealRegister(keys + first, first, counts);
    if (whole < count) {
      // What stands behind the last key is the greatest, and goes behind it into the last group.
      alignas(64) std::uint64_t last[kLanes];
      for (unsigned i = 0; i < kLanes; ++i) last[i] = whole + i < count ? keys[whole + i] : ~std::uint64_t{0};
      DealRegister(last, whole, counts);
      counts[kGroups - 1] -= whole + kLanes - count;
    }
    for (unsigned group = 0; group < kGroups; ++group) counts_[group] = counts[group];
  }
  template <unsigned kGroups>
  ONNX_PHILOX_INLINE void DealRegister(const std::uint64_t* keys, unsigned first, unsigned (&counts)[kGroups]) {
    const Keyed keyed = KeyedFrom(keys, first);
    ONNX_PHILOX_UNROLL
    for (unsigned group = 0; group < kGroups; ++group) {
      unsigned char* const to = memory_ + (group * kStride + counts[group]) * sizeof(std::uint32_t);
      counts[group] += Isa::StoreWhereEqual32(keyed.record, keyed.group, Isa::Splat32(group), to);
    }
  }

  const unsigned groups_;
  const std::uint32_t index_mask_;
  unsigned char* const memory_;
  std::uint32_t counts_[Sizes::Count(kMostInGroups)];  ///< how many records each group got
};

}  // namespace onnx_philox
