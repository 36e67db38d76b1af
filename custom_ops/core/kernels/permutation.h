// Draws permutations: sorts the indices of a row by their 64-bit keys.
//
// A key is a function of its index, so keys are drawn as often as they are needed, and none is kept. What is sorted are
// records of 64 bits, in groups of 32: the index below, and above it as much of the key as there is room for. Equal parts of two keys are
// rare, and then the whole keys are drawn again. The keys are uniform, so records are dealt out by their first bits
// until few are left together.
//
// It allocates no memory. Records lie where their indices go, if these are of 64 bits, or in spare memory. Where there
// is too little of both for a row, the keys are drawn once for each part of the order that fits.
//
// Internal: included only by the files that are compiled for each instruction set and a test, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "inlining.h"
#include "kernels.h"
#include "permutation_bins.h"
#include "permutation_groups.h"
#include "rows.h"

namespace onnx_philox {

/// The two words of each element, the first one low.
template <class Isa>
struct KeysRule : RuleOf<2, false, Form::kEach> {
  typename Isa::Words operator()(typename Isa::Words words) const { return words; }
};

/// How many records are sorted by way of the stack, and how many may lie there.
constexpr unsigned kSortedTogether = 2048, kRecordsOnStack = 1024;
static_assert(kRecordsOnStack <= kUniformsAtOnce, "short rows are drawn at once");
static_assert(kUniformsAtOnce == kDealtAtOnce, "what is drawn is dealt out");
/// By how many bits records are dealt out: as they are made, by way of the stack, and in place.
constexpr unsigned kDealtBits = 10, kDealtHereBits = 11, kDealtInPlaceBits = 8;
/// So few records are not dealt out; and in so short a row each key is compared with all others.
constexpr unsigned kFewRecords = 24, kShortestRow = 16;

static inline std::uint64_t RecordAt(const unsigned char* records, std::uint64_t i) {
  std::uint64_t record;
  std::memcpy(&record, records + i * sizeof(record), sizeof(record));
  return record;
}
static inline void SetRecord(unsigned char* records, std::uint64_t i, std::uint64_t record) {
  std::memcpy(records + i * sizeof(record), &record, sizeof(record));
}

static inline std::uint64_t ShiftedLeft(std::uint64_t x, unsigned bits) { return bits < 64 ? x << bits : 0; }
static inline std::uint64_t ShiftedRight(std::uint64_t x, unsigned bits) { return bits < 64 ? x >> bits : 0; }

/// How many bits hold the integers from 0 to `most`.
static inline unsigned BitsFor(std::uint64_t most) {
  unsigned bits = 0;
  for (; bits < 64 && most >> bits != 0; ++bits) {
  }
  return bits;
}

/// Sorts at most kSortedTogether different records whose first `known` bits are equal.
static inline void SortFew(unsigned char* records, unsigned count, unsigned known) {
  std::uint64_t dealt[kSortedTogether];
  if (count > kFewRecords) {
    unsigned bits = BitsFor(count - 1) + 1;  // so that most are alone
    if (bits > kDealtHereBits) bits = kDealtHereBits;
    if (bits > 64 - known) bits = 64 - known;
    std::uint16_t next[1u << kDealtHereBits];
    std::memset(next, 0, sizeof(next[0]) << bits);
    for (unsigned i = 0; i < count; ++i) ++next[RecordAt(records, i) << known >> (64 - bits)];
    unsigned sum = 0;
    for (unsigned bin = 0; bin < 1u << bits; ++bin) {
      const unsigned of_this = next[bin];
      next[bin] = static_cast<std::uint16_t>(sum);
      sum += of_this;
    }
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t record = RecordAt(records, i);
      dealt[next[record << known >> (64 - bits)]++] = record;
    }
  } else {
    std::memcpy(dealt, records, count * sizeof(dealt[0]));
  }
  std::uint64_t largest = 0;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t record = dealt[i];
    unsigned to = i;
    if (record >= largest) {
      largest = record;
    } else {
      for (; to > 0 && RecordAt(records, to - 1) > record; --to) SetRecord(records, to, RecordAt(records, to - 1));
    }
    SetRecord(records, to, record);
  }
}

/// The same of any number.
static inline void SortRecords(unsigned char* records, std::uint64_t count, unsigned known) {
  if (count <= kSortedTogether) return SortFew(records, static_cast<unsigned>(count), known);
  // So many different records differ in more bits than are looked at here.
  constexpr unsigned kBins = 1u << kDealtInPlaceBits;
  const auto bin = [known](std::uint64_t record) {
    return static_cast<unsigned>(record << known >> (64 - kDealtInPlaceBits));
  };
  std::uint64_t next[kBins] = {}, end[kBins];
  for (std::uint64_t i = 0; i < count; ++i) ++next[bin(RecordAt(records, i))];
  std::uint64_t sum = 0;
  for (unsigned b = 0; b < kBins; ++b) {
    const std::uint64_t of_this = next[b];
    next[b] = sum;
    end[b] = sum += of_this;
  }
  for (unsigned b = 0; b < kBins; ++b) {
    while (next[b] < end[b]) {
      std::uint64_t record = RecordAt(records, next[b]);
      for (unsigned to = bin(record); to != b; to = bin(record)) {
        const std::uint64_t other = RecordAt(records, next[to]);
        SetRecord(records, next[to]++, record);
        record = other;
      }
      SetRecord(records, next[b]++, record);
    }
  }
  std::uint64_t begin = 0;
  for (unsigned b = 0; b < kBins; begin = end[b++]) {
    SortRecords(records + begin * sizeof(std::uint64_t), end[b] - begin, known + kDealtInPlaceBits);
  }
}

static_assert(kMostInBins == kRecordsOnStack, "what goes into bins at once needs no parts");

/// A part of a row: what is at its positions [begin, end). Of a key only the first kKeyBits bits count, all but in tests.
template <class Isa, class From, class Index, unsigned kKeyBits>
class RowPart {
 public:
  RowPart(const Piece& piece, std::uint64_t row, std::uint64_t begin, std::uint64_t end, unsigned char* out)
      : piece_(piece), size_(piece.draw.samples), first_(row * size_), begin_(begin), end_(end), out_(out) {
    const bool has_rows = piece.draw.rows.words != nullptr;
    state_ = has_rows ? RowState(piece.draw, row) : piece.draw.state;
    first_key_ = has_rows ? 0 : first_;
    index_bits_ = BitsFor(size_ - 1);
    index_mask_ = ShiftedLeft(1, index_bits_) - 1;
  }

  /// Fills it with keys that are there already, of a row of at most kRecordsOnStack.
  void FillFrom(const std::uint64_t* keys) {
    alignas(64) unsigned char records[kRecordsOnStack * sizeof(std::uint64_t)];
    const unsigned count = static_cast<unsigned>(size_);
    if (count <= kShortestRow) return FillByRanks(keys, count);
    if constexpr (kHasShortGroups) {
      if (is_whole() && count >= kFewestInGroups && FillByGroupsFrom(keys, count)) return;
    }
    if (kHasBins && is_whole()) {
      PermutationBins<Isa> bins(index_bits_);
      const auto keyed = [keys](unsigned i) { return KeyedIndex{High32(keys[i] & kCounted), i}; };
      if (bins.Deal(count, keyed)) return WriteBins(&bins, out_);
    }
    for (unsigned i = 0; i < count; ++i) SetRecord(records, i, RecordOf(keys[i] & kCounted, 0, i));
    Finish(records, 0, count, 0);
  }

  /// Fills it.
  void Fill() {
    if constexpr (kHasGroups) {
      if (is_whole() && FillByGroups()) return;
    }
    if (!is_whole() || !FillByParts()) Descend(0, 0, 0, size_);
  }

  /// The bits of a key that count.
  static constexpr std::uint64_t kCounted = kKeyBits == 64 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> kKeyBits);

 private:
  /// Bins are sorted side by side: without vectors they are slower. Tests, which shorten keys, have them all the same.
  static constexpr bool kHasBins = sizeof(typename Isa::Words) > sizeof(std::uint64_t) || kKeyBits < 64;
  /// Groups are of whole keys. Short rows are sorted as soon in bins where registers are shorter.
  static constexpr unsigned kLanes = sizeof(typename Isa::Words) / sizeof(std::uint32_t);
  static constexpr bool kHasGroups = kLanes >= 8 && kKeyBits == 64, kHasShortGroups = kLanes >= 16 && kKeyBits == 64;

  bool is_whole() const { return begin_ == 0 && end_ == size_; }

  /// Fills a row of at most kShortestRow: the rank of a key is how many are before it.
  void FillByRanks(const std::uint64_t* keys, unsigned count) const {
    std::uint32_t rank[kShortestRow] = {};
    for (unsigned i = 1; i < count; ++i) {
      const std::uint64_t key = keys[i] & kCounted;
      std::uint32_t before = i;
      for (unsigned other = 0; other < i; ++other) {
        const std::uint32_t is_first = key < (keys[other] & kCounted) ? 1 : 0;
        rank[other] += is_first;
        before -= is_first;
      }
      rank[i] = before;
    }
    for (unsigned i = 0; i < count; ++i) WriteOne(rank[i], i);
  }

  /// Fills a whole row of kFewestInGroups to kRecordsOnStack by way of groups; whether it could.
  ONNX_PHILOX_NOINLINE bool FillByGroupsFrom(const std::uint64_t* keys, unsigned count) const {
    constexpr unsigned kStride = kRecordsOnStack + kLanes;
    alignas(64) unsigned char memory[GroupSizes<kLanes>::Count(kRecordsOnStack) * kStride * sizeof(std::uint32_t)];
    PermutationGroups<Isa, kStride> groups(count, index_bits_, memory);
    groups.DealWhole(keys, count);
    return WriteGroups(groups);
  }

  /// Fills a longer whole row by way of groups, if there is memory for them; whether it could.
  ONNX_PHILOX_NOINLINE bool FillByGroups() const {
    if (size_ > kMostInGroups || piece_.spare_records < SpareForGroups(size_)) return false;
    PermutationGroups<Isa, GroupSizes<kLanes>::kMost> groups(size_, index_bits_, piece_.spare);
    alignas(64) std::uint64_t keys[kUniformsAtOnce];
    for (std::uint64_t begin = 0; begin < size_; begin += kUniformsAtOnce) {
      const std::uint64_t count = size_ - begin < kUniformsAtOnce ? size_ - begin : kUniformsAtOnce;
      UniformsOf<From, KeysRule<Isa>>(piece_, first_ + begin, first_ + begin + count, keys);
      groups.Deal(keys, static_cast<unsigned>(count), static_cast<std::uint32_t>(begin));
    }
    return WriteGroups(groups);
  }

  /// Writes what lies in groups, if no record is lost; whether none is.
  template <unsigned kStride>
  bool WriteGroups(const PermutationGroups<Isa, kStride>& groups) const {
    if (!groups.HaveRoom()) return false;
    groups.template Write<Index>(out_, [this](std::uint64_t index) { return KeyOf(index); });
    return true;
  }

  /// Fills a whole row by way of bins, if there is memory for its parts; whether it could.
  bool FillByParts() {
    if (!kHasBins || size_ > kMostInParts) return false;
    const PermutationParts parts(size_);
    if (piece_.spare_records < parts.Spare(size_, sizeof(Index))) return false;
    const std::uint64_t in_place = parts.InPlace(size_, sizeof(Index)), part_bytes = parts.size * sizeof(std::uint64_t);
    Part part[kMostParts];
    for (std::uint64_t i = 0; i < parts.count; ++i) {
      part[i].begin = i < in_place ? out_ + i * part_bytes : piece_.spare + (i - in_place) * part_bytes;
      part[i].end = part[i].begin;
      part[i].limit = part[i].begin + part_bytes;
    }
    bool is_full = false;
    ForEachKey(0, 0, [&](std::uint64_t key, std::uint64_t index) {
      const std::uint64_t scaled = High32(key) * parts.count;
      Part& to = part[scaled >> 32];
      if (to.end == to.limit) {
        is_full = true;
        return;
      }
      SetRecord(to.end, 0, scaled << 32 | index);
      to.end += sizeof(std::uint64_t);
    });
    if (is_full) return false;
    PermutationBins<Isa> bins(index_bits_);
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < parts.count; ++i) {
      const auto bytes = static_cast<std::uint64_t>(part[i].end - part[i].begin);
      const unsigned count = static_cast<unsigned>(bytes / sizeof(std::uint64_t));
      FillPart(&bins, part[i].begin, count, done);
      done += count;
    }
    return true;
  }

  /// The records of a part: what its number leaves of the upper halves of keys, and their indices below.
  struct Part {
    unsigned char *begin, *end, *limit;
  };

  /// Writes the indices of a part's records from `position` on.
  void FillPart(PermutationBins<Isa>* bins, unsigned char* records, unsigned count, std::uint64_t position) const {
    const auto keyed = [records](unsigned i) {
      const std::uint64_t record = RecordAt(records, i);
      return KeyedIndex{High32(record), Low32(record)};
    };
    if (bins->Deal(count, keyed)) return WriteBins(bins, out_ + position * sizeof(Index));
    SortRecords(records, count, 0);
    OrderEqual(records, count, 32);
    for (unsigned i = 0; i < count; ++i) WriteOne(position + i, Low32(RecordAt(records, i)));
  }

  void WriteBins(PermutationBins<Isa>* bins, unsigned char* out) const {
    bins->template Write<Index>(out, [this](std::uint64_t index) { return KeyOf(index); });
  }

  /// Calls take(key, index) for each key whose first `bits` bits are `prefix`.
  template <class Take>
  ONNX_PHILOX_INLINE void ForEachKey(std::uint64_t prefix, unsigned bits, const Take& take) const {
    alignas(64) std::uint64_t keys[kUniformsAtOnce];
    for (std::uint64_t begin = 0; begin < size_; begin += kUniformsAtOnce) {
      const std::uint64_t count = size_ - begin < kUniformsAtOnce ? size_ - begin : kUniformsAtOnce;
      UniformsOf<From, KeysRule<Isa>>(piece_, first_ + begin, first_ + begin + count, keys);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t key = keys[i] & kCounted;
        if (bits == 0 || key >> (64 - bits) == prefix) take(key, begin + i);
      }
    }
  }

  /// The record of a key whose first `dropped` bits are known.
  std::uint64_t RecordOf(std::uint64_t key, unsigned dropped, std::uint64_t index) const {
    return (ShiftedLeft(key, dropped) & ~index_mask_) | index;
  }

  /// The part of the order that is of keys whose first `bits` bits are `prefix`: `count` of them from position `first` on.
  void Descend(std::uint64_t prefix, unsigned bits, std::uint64_t first, std::uint64_t count) {
    if (count <= kRecordsOnStack) return FillOnStack(prefix, bits, first, static_cast<unsigned>(count));
    if (bits >= 64) return FillEqual(prefix, first);
    unsigned dealt = BitsFor(count) > 2 * kDealtBits ? kDealtBits : BitsFor(count) - kDealtBits;
    if (dealt > 64 - bits) dealt = 64 - bits;
    const unsigned known = bits + dealt;
    const auto part_of = [bits, dealt](std::uint64_t key) {
      return static_cast<unsigned>(key << bits >> (64 - dealt));
    };
    std::uint64_t counts[1u << kDealtBits] = {};
    ForEachKey(prefix, bits, [&](std::uint64_t key, std::uint64_t) { ++counts[part_of(key)]; });
    const unsigned parts = 1u << dealt;
    for (unsigned part = 0; part < parts && first < end_;) {
      if (first + counts[part] <= begin_) {
        first += counts[part++];
        continue;
      }
      const Memory memory = Most(first);
      unsigned end = part;
      std::uint64_t sum = 0;
      while (end < parts && sum + counts[end] <= memory.count && first + sum < end_) sum += counts[end++];
      if (end == part) {
        Descend(prefix << dealt | part, known, first, counts[part]);
        first += counts[part++];
        continue;
      }
      std::uint64_t next[1u << kDealtBits];
      std::uint64_t at = 0;
      for (unsigned p = part; p < end; at += counts[p++]) next[p] = at;
      ForEachKey(prefix, bits, [&](std::uint64_t key, std::uint64_t index) {
        const unsigned p = part_of(key);
        if (p >= part && p < end) SetRecord(memory.records, next[p]++, RecordOf(key, known, index));
      });
      for (at = 0; part < end; at += counts[part++]) {
        Sort(memory.records + at * sizeof(std::uint64_t), counts[part], known);
      }
      Write(memory.records, first, sum);
      first += sum;
    }
  }

  void FillOnStack(std::uint64_t prefix, unsigned bits, std::uint64_t first, unsigned count) {
    alignas(64) unsigned char records[kRecordsOnStack * sizeof(std::uint64_t)];
    unsigned found = 0;
    ForEachKey(prefix, bits, [&](std::uint64_t key, std::uint64_t index) {
      if (found < count) SetRecord(records, found++, RecordOf(key, bits, index));
    });
    Finish(records, first, count, bits);
  }

  /// Equal keys from position `first` on.
  void FillEqual(std::uint64_t key, std::uint64_t first) {
    ForEachKey(key, 64, [&](std::uint64_t, std::uint64_t index) { WriteOne(first++, index); });
  }

  struct Memory {
    unsigned char* records;
    std::uint64_t count;  ///< how many it holds
  };

  /// The largest memory for records from position `first` on.
  Memory Most(std::uint64_t first) const {
    const std::uint64_t from = first < begin_ ? begin_ : first;
    const Memory own{out_ + (from - begin_) * sizeof(Index), (end_ - from) * sizeof(Index) / sizeof(std::uint64_t)};
    return own.count >= piece_.spare_records ? own : Memory{piece_.spare, piece_.spare_records};
  }

  void Finish(unsigned char* records, std::uint64_t first, unsigned count, unsigned dropped) {
    Sort(records, count, dropped);
    Write(records, first, count);
  }

  void Sort(unsigned char* records, std::uint64_t count, unsigned dropped) {
    SortRecords(records, count, 0);
    if (dropped < index_bits_) OrderEqual(records, count, index_bits_);  // otherwise records hold all other bits
  }

  /// Puts sorted records whose parts of keys, above `index_bits` bits, are equal into the order of the whole keys.
  void OrderEqual(unsigned char* records, std::uint64_t count, unsigned index_bits) const {
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint64_t key_part = RecordAt(records, i) >> index_bits;
      if (RecordAt(records, i - 1) >> index_bits == key_part) i = SortEqual(records, i - 1, count, index_bits);
    }
  }

  /// Puts records from `begin` on whose parts of keys are equal into the order of the whole keys, which are those of the
  /// indices as long as nothing else is known. Returns the end of them.
  std::uint64_t SortEqual(unsigned char* records, std::uint64_t begin, std::uint64_t count, unsigned index_bits) const {
    const std::uint64_t key_part = RecordAt(records, begin) >> index_bits, mask = ShiftedLeft(1, index_bits) - 1;
    std::uint64_t i = begin + 1;
    for (; i < count && RecordAt(records, i) >> index_bits == key_part; ++i) {
      const std::uint64_t record = RecordAt(records, i), key = KeyOf(record & mask);
      std::uint64_t to = i;
      for (; to > begin && KeyOf(RecordAt(records, to - 1) & mask) > key; --to) {
        SetRecord(records, to, RecordAt(records, to - 1));
      }
      SetRecord(records, to, record);
    }
    return i;
  }

  std::uint64_t KeyOf(std::uint64_t index) const {
    const std::uint64_t element = first_key_ + index;
    const Block block = Philox(onnx_philox::Add(state_.counter, element / 2), state_.key);
    const unsigned word = static_cast<unsigned>(element % 2) * 2;
    return Join(block.word[word], block.word[word + 1]) & kCounted;
  }

  /// The indices of sorted records, which may lie where the first of them goes.
  void Write(const unsigned char* records, std::uint64_t first, std::uint64_t count) const {
    std::uint64_t i = first < begin_ ? begin_ - first : 0;
    const std::uint64_t end = end_ - first < count ? end_ - first : count;
    for (; i < end; ++i) WriteOne(first + i, RecordAt(records, i) & index_mask_);
  }
  ONNX_PHILOX_INLINE void WriteOne(std::uint64_t position, std::uint64_t index) const {
    if (position < begin_ || position >= end_) return;
    const Index value = static_cast<Index>(index);
    std::memcpy(out_ + (position - begin_) * sizeof(value), &value, sizeof(value));
  }

  const Piece& piece_;
  const std::uint64_t size_, first_, begin_, end_;
  unsigned char* const out_;
  State state_;
  std::uint64_t first_key_;  ///< of the state
  unsigned index_bits_;
  std::uint64_t index_mask_;
};

template <class Isa, class From, class Index, unsigned kKeyBits>
void FillPermutationsAs(const Piece& piece) {
  const std::uint64_t size = piece.draw.samples;
  alignas(64) std::uint64_t keys[kUniformsAtOnce];
  std::uint64_t first_drawn = 0, drawn = 0;  // whole short rows
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t i = piece.begin; i < piece.end;) {
    const std::uint64_t row = i / size, row_begin = row * size;
    const std::uint64_t row_end = piece.end - row_begin < size ? piece.end : row_begin + size;
    RowPart<Isa, From, Index, kKeyBits> part(piece, row, i - row_begin, row_end - row_begin, out);
    if (size > kRecordsOnStack) {
      part.Fill();
    } else {
      if (row_begin >= drawn) {
        const std::uint64_t rows_left = (piece.end - row_begin + size - 1) / size, rows_at_once = kUniformsAtOnce / size;
        first_drawn = row_begin;
        drawn = row_begin + (rows_left < rows_at_once ? rows_left : rows_at_once) * size;
        UniformsOf<From, KeysRule<Isa>>(piece, first_drawn, drawn, keys);
      }
      part.FillFrom(keys + (row_begin - first_drawn));
    }
    out += (row_end - i) * sizeof(Index);
    i = row_end;
  }
}

/// Permutations.
template <class Isa, class From, unsigned kKeyBits>
void FillPermutations(const Piece& piece) {
  if (piece.draw.type == OutputType::kI32) return FillPermutationsAs<Isa, From, std::int32_t, kKeyBits>(piece);
  FillPermutationsAs<Isa, From, std::int64_t, kKeyBits>(piece);
}

}  // namespace onnx_philox
