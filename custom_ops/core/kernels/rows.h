// Pieces of a draw: of one state, or of one state a row.
//
// Long rows are drawn one after the other, as if each were a draw of its own. Short ones would leave most of a vector
// empty, and pay for a schedule of keys each, so here every lane has a block of its own: a counter and a key.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine.h"
#include "inlining.h"
#include "kernels.h"
#include "number_limits.h"
#include "philox.h"

namespace onnx_philox {

/// The state from which row `row` is drawn.
static inline State RowState(const Draw& draw, std::uint64_t row) {
  const std::uint32_t* const w = draw.rows.words + row * kStateWords;
  return State{{Join(w[0], w[1]), Join(w[2], w[3]) + draw.state.counter.high}, Join(w[4], w[5]) + draw.state.key};
}

/// Blocks that are drawn at once: of the same row or of different ones, in the order of their elements.
template <class Isa, unsigned kCount = Isa::kGroups * Isa::kBlocks>
struct Lanes {
  alignas(64) std::uint32_t word[kStateWords][kCount];  ///< of the counter, then of the key

  void Set(unsigned lane, Counter counter, std::uint64_t key) {
    word[0][lane] = Low32(counter.low);
    word[1][lane] = High32(counter.low);
    word[2][lane] = Low32(counter.high);
    word[3][lane] = High32(counter.high);
    word[4][lane] = Low32(key);
    word[5][lane] = High32(key);
  }
};

/// Draws the words of kGroups groups of lanes from `begin` on, in stream order: kGroups * kWords registers.
template <class Isa, bool kSwapped, int kGroups, unsigned kCount>
ONNX_PHILOX_INLINE void DrawGroups(const Lanes<Isa, kCount>& lanes, unsigned begin, typename Isa::Words* drawn) {
  using Lane = typename Isa::Lane;
  using Product = typename Isa::Product;
  const Lane multiplier0 = Isa::SplatLane(kMultiplier0), multiplier2 = Isa::SplatLane(kMultiplier2);
  const Lane weyl0 = Isa::SplatLane(kWeyl0), weyl1 = Isa::SplatLane(kWeyl1);

  Lane c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups], key0[kGroups], key1[kGroups];
  ONNX_PHILOX_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    const unsigned first = begin + static_cast<unsigned>(g) * Isa::kBlocks;
    c0[g] = Isa::LoadLanes(lanes.word[0] + first);
    c1[g] = Isa::LoadLanes(lanes.word[1] + first);
    c2[g] = Isa::LoadLanes(lanes.word[2] + first);
    c3[g] = Isa::LoadLanes(lanes.word[3] + first);
    key0[g] = Isa::LoadLanes(lanes.word[4] + first);
    key1[g] = Isa::LoadLanes(lanes.word[5] + first);
  }
  ONNX_PHILOX_UNROLL
  for (int round = 0; round < kRounds - 1; ++round) {
    ONNX_PHILOX_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      const Product p0 = Isa::Multiply(c0[g], multiplier0);
      const Product p2 = Isa::Multiply(c2[g], multiplier2);
      c0[g] = Isa::Xor3(Isa::High(p2), c1[g], key0[g]);
      c1[g] = Isa::Low(p2);
      c2[g] = Isa::Xor3(Isa::High(p0), c3[g], key1[g]);
      c3[g] = Isa::Low(p0);
      key0[g] = Isa::AddLanes(key0[g], weyl0);
      key1[g] = Isa::AddLanes(key1[g], weyl1);
    }
  }
  ONNX_PHILOX_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    const Product p0 = Isa::Multiply(c0[g], multiplier0);
    const Product p2 = Isa::Multiply(c2[g], multiplier2);
    typename Isa::Words words[Isa::kWords];
    Isa::template Finish<kSwapped>(p0, p2, c1[g], c3[g], key0[g], key1[g], words);
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < Isa::kWords; ++i) drawn[static_cast<unsigned>(g) * Isa::kWords + i] = words[i];
  }
}

/// Draws the words of all lanes. In plain C++ one by one: a compiler makes vectors of such a loop.
template <class Isa, bool kSwapped, unsigned kCount>
ONNX_PHILOX_INLINE void DrawLanes(const Lanes<Isa, kCount>& lanes, typename Isa::Words* drawn) {
  if constexpr (Isa::kBlocks > 1) {
    DrawGroups<Isa, kSwapped, Isa::kGroups>(lanes, 0, drawn);
  } else {
    for (unsigned lane = 0; lane < kCount; ++lane) {
      DrawGroups<Isa, kSwapped, 1>(lanes, lane, drawn + lane * Isa::kWords);
    }
  }
}

/// Draws all lanes to `out`.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void EmitLanes(const Lanes<Isa>& lanes, const Rule& rule, unsigned char* out) {
  typename Isa::Words drawn[Isa::kGroups * Isa::kWords];
  DrawLanes<Isa, Rule::kSwapped>(lanes, drawn);
  EmitWords<Isa>(drawn, Isa::kGroups, rule, out);
}

/// A walk through a piece of short rows: words of many blocks at once, and which elements of each block are wanted. It
/// knows no rule, since each would have this code of its own; all that a rule adds is a small loop over the words.
template <class Isa, bool kSwapped, unsigned kPerBlock>
class ShortRows {
 public:
  static constexpr unsigned kLanes = Isa::kBlocks == 1 ? 16 : Isa::kGroups * Isa::kBlocks;
  static constexpr unsigned kBatches = 256 / kLanes;
  static constexpr unsigned kBlocks = kBatches * kLanes;  ///< at once, 4 KiB of words
  static constexpr unsigned kRegisters = kBlocks / Isa::kBlocks * Isa::kWords;

  explicit ShortRows(const Piece& piece)
      : draw_(piece.draw),
        row_(piece.begin / piece.draw.rows.elements),
        at_(piece.begin % piece.draw.rows.elements),
        left_(piece.end - piece.begin),
        is_whole_(piece.draw.rows.elements % kPerBlock == 0 && at_ % kPerBlock == 0) {}

  /// Draws the next blocks; whether there were any.
  ONNX_PHILOX_NOINLINE bool Next() {
    const std::uint64_t row_elements = draw_.rows.elements;
    std::uint64_t row = row_, at = at_, left = left_;
    if (left == 0) return false;
    State state = RowState(draw_, row);
    Lanes<Isa, kLanes> lanes = {};
    unsigned count = 0;
    for (unsigned batch = 0; batch < kBatches && left > 0; ++batch) {
      for (unsigned lane = 0; lane < kLanes && left > 0; ++lane, ++count) {
        lanes.Set(lane, Add(state.counter, at / kPerBlock), state.key);
        const unsigned first = static_cast<unsigned>(at % kPerBlock);
        std::uint64_t elements = kPerBlock - first;
        if (elements > row_elements - at) elements = row_elements - at;
        if (elements > left) elements = left;
        first_[count] = static_cast<unsigned char>(first);
        elements_[count] = static_cast<unsigned char>(elements);
        at += elements;
        left -= elements;
        if (at == row_elements && left > 0) {
          state = RowState(draw_, ++row);
          at = 0;
        }
      }
      DrawLanes<Isa, kSwapped>(lanes, words_ + batch * (kLanes / Isa::kBlocks) * Isa::kWords);
    }
    row_ = row;
    at_ = at;
    left_ = left;
    count_ = count;
    return true;
  }

  const typename Isa::Words* words() const { return words_; }
  unsigned groups() const { return (count_ + Isa::kBlocks - 1) / Isa::kBlocks; }

  /// Whether what the groups draw is what comes next, with nothing to leave out. The first block may have begun before
  /// the piece, and the last may go on after it.
  bool AreWhole() const { return is_whole_ && count_ % Isa::kBlocks == 0 && elements_[count_ - 1] == kPerBlock; }

  /// Copies what was drawn and is wanted; returns where the next bytes go.
  template <unsigned kBlockBytes>
  ONNX_PHILOX_NOINLINE unsigned char* Copy(const unsigned char* drawn, unsigned char* out, const unsigned char* end) const {
    constexpr unsigned kElementBytes = kBlockBytes / kPerBlock;
    for (unsigned block = 0; block < count_; ++block) {
      const unsigned char* const from = drawn + block * kBlockBytes;
      const unsigned bytes = elements_[block] * kElementBytes;
      // A copy of constant size is one store; the next block writes over what is too much.
      if (first_[block] == 0 && static_cast<std::size_t>(end - out) >= kBlockBytes) {
        std::memcpy(out, from, kBlockBytes);
      } else {
        std::memcpy(out, from + first_[block] * kElementBytes, bytes);
      }
      out += bytes;
    }
    return out;
  }

 private:
  const Draw& draw_;
  std::uint64_t row_, at_, left_;  ///< the row and its element that come next; elements that are left
  const bool is_whole_;
  unsigned count_ = 0;
  unsigned char first_[kBlocks], elements_[kBlocks];  ///< of each block: its first element that is wanted, and how many
  alignas(64) typename Isa::Words words_[kRegisters];
};

/// A piece of short rows.
template <class Isa, class Rule>
ONNX_PHILOX_NOINLINE void FillShortRows(const Piece& piece, const Rule rule) {
  constexpr unsigned kPerBlock = BlockElements<Rule>(), kBlockBytes = BlockBytes<Rule>();
  using Blocks = ShortRows<Isa, Rule::kSwapped, kPerBlock>;
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  unsigned char* const end = out + (piece.end - piece.begin) * (kBlockBytes / kPerBlock);
  alignas(64) unsigned char drawn[Blocks::kBlocks * kBlockBytes];
  Blocks blocks(piece);
  while (blocks.Next()) {
    const unsigned groups = blocks.groups();
    if (blocks.AreWhole()) {
      EmitWords<Isa>(blocks.words(), groups, rule, out);
      out += groups * GroupBytes<Isa, Rule>();
    } else {
      EmitWords<Isa>(blocks.words(), groups, rule, drawn);
      out = blocks.template Copy<kBlockBytes>(drawn, out, end);
    }
  }
}

/// Rows of at least as many groups are drawn one by one (benchmarks/native_rows.py).
template <class Isa>
constexpr std::uint64_t kLongRowGroups = Isa::kBlocks > 1 ? 2 : 8;

/// How a piece of a draw from one state is filled.
template <class Isa>
struct FromOneState {
  template <class Rule>
  static void Fill(const Piece& piece, const Rule& rule) {
    FillPiece<Isa>(piece, rule);
  }
};

/// How a piece of a draw by rows is filled. It is another type, and not a branch where a piece begins, since that would
/// cost draws from one state up to a tenth of their speed.
template <class Isa>
struct FromRows {
  template <class Rule>
  static ONNX_PHILOX_NOINLINE void Fill(const Piece& piece, const Rule rule) {
    constexpr unsigned kPerBlock = BlockElements<Rule>();
    constexpr unsigned kElementBytes = BlockBytes<Rule>() / kPerBlock;
    const Rows rows = piece.draw.rows;
    if (rows.elements < kLongRowGroups<Isa> * Isa::kBlocks * kPerBlock) return FillShortRows<Isa>(piece, rule);
    Piece part = piece;
    unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
    for (std::uint64_t begin = piece.begin; begin < piece.end;) {
      const std::uint64_t row = begin / rows.elements;
      const std::uint64_t rest = piece.end - begin, in_row = (row + 1) * rows.elements - begin;
      part.draw.state = RowState(piece.draw, row);
      part.draw.out = out;
      part.begin = begin - row * rows.elements;
      part.end = part.begin + (in_row < rest ? in_row : rest);
      FillPiece<Isa>(part, rule);
      begin += part.end - part.begin;
      out += (part.end - part.begin) * kElementBytes;
    }
  }
};

/// How many elements get uniforms at once, where the uniforms are only an intermediate step.
constexpr std::uint64_t kUniformsAtOnce = 1024;

/// Whether all of the numbers of elements [begin, end), which are floats as wide as `Bits`, are within limits.
template <class Isa, class Bits>
ONNX_PHILOX_NOINLINE bool AreWithin(const Argument& given, std::uint64_t begin, std::uint64_t end) {
  const SignedLimits<Bits> within(*given.unchecked, true);
  const unsigned char* const numbers = static_cast<const unsigned char*>(given.data) + begin * sizeof(Bits);
  const std::size_t count = static_cast<std::size_t>(end - begin);
  Bits wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, numbers + i * sizeof(bits), sizeof(bits));
    wrong |= within.Outside(bits);
  }
  return wrong == 0;
}

/// The same of a parameter that may have been checked before. If it says no, the piece need not go on.
template <class Isa>
ONNX_PHILOX_INLINE bool MayDraw(const Piece& piece, Parameter parameter, std::uint64_t begin, std::uint64_t end) {
  const Argument& given = piece.draw[parameter];
  if (given.unchecked == nullptr) return true;
  const bool is_f32 = given.type == OutputType::kF32;
  const bool is_within =
      is_f32 ? AreWithin<Isa, std::int32_t>(given, begin, end) : AreWithin<Isa, std::int64_t>(given, begin, end);
  if (!is_within) *piece.is_outside = true;
  return is_within;
}

/// Uniforms [begin, end) of a draw, at most kUniformsAtOnce, in [0, 1).
template <class From, class Rule>
void UniformsOf(const Piece& piece, std::uint64_t begin, std::uint64_t end, void* out) {
  Piece part{piece.draw, begin, end};
  part.draw.out = out;
  From::Fill(part, Rule());
}

}  // namespace onnx_philox
