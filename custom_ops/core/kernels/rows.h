// Pieces of a draw: of one state, or of one state a row.
//
// Long rows are drawn one after the other, as if each were a draw of its own. Short ones would leave most of a vector
// empty, and pay for a schedule of keys each, so here every lane has a block of its own: a counter and a key.
//
// Internal: included only by the kernels_*.cpp files, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine.h"
#include "inlining.h"
#include "kernels.h"
#include "philox.h"

namespace onnx_philox {

/// Elements that `Rule` makes of one block.
template <class Rule>
constexpr unsigned BlockElements() {
  return kWordsPerBlock / Rule::kWordsPerElement;
}

/// The state from which row `row` is drawn.
static inline State RowState(const Draw& draw, std::uint64_t row) {
  const std::uint32_t* const w = draw.rows.words + row * kStateWords;
  return State{{Join(w[0], w[1]), Join(w[2], w[3]) + draw.state.counter.high}, Join(w[4], w[5]) + draw.state.key};
}

/// Blocks that are drawn at once: of the same row or of different ones, in the order of their elements.
template <class Isa>
struct Lanes {
  static constexpr unsigned kCount = Isa::kGroups * Isa::kBlocks;
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

/// Draws all lanes to `out`.
template <class Isa, class Rule>
ONNX_PHILOX_INLINE void EmitLanes(const Lanes<Isa>& lanes, const Rule& rule, unsigned char* out) {
  using Lane = typename Isa::Lane;
  using Product = typename Isa::Product;
  constexpr int kGroups = Isa::kGroups;
  const Lane multiplier0 = Isa::SplatLane(kMultiplier0), multiplier2 = Isa::SplatLane(kMultiplier2);
  const Lane weyl0 = Isa::SplatLane(kWeyl0), weyl1 = Isa::SplatLane(kWeyl1);

  Lane c0[kGroups], c1[kGroups], c2[kGroups], c3[kGroups], key0[kGroups], key1[kGroups];
  ONNX_PHILOX_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    const unsigned first = static_cast<unsigned>(g) * Isa::kBlocks;
    c0[g] = Isa::LoadLanes(lanes.word[0] + first);
    c1[g] = Isa::LoadLanes(lanes.word[1] + first);
    c2[g] = Isa::LoadLanes(lanes.word[2] + first);
    c3[g] = Isa::LoadLanes(lanes.word[3] + first);
    key0[g] = Isa::LoadLanes(lanes.word[4] + first);
    key1[g] = Isa::LoadLanes(lanes.word[5] + first);
  }
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
    Isa::template Finish<Rule::kSwapped>(p0, p2, c1[g], c3[g], key0[g], key1[g], words);
    StoreGroup<Isa>(words, rule, out + static_cast<unsigned>(g) * GroupBytes<Isa, Rule>());
  }
}

/// A piece of short rows.
template <class Isa, class Rule>
ONNX_PHILOX_NOINLINE void FillShortRows(const Piece& piece, const Rule rule) {
  constexpr unsigned kPerBlock = BlockElements<Rule>(), kBlockBytes = BlockBytes<Rule>();
  constexpr unsigned kElementBytes = kBlockBytes / kPerBlock, kLanes = Lanes<Isa>::kCount;
  const std::uint64_t row_elements = piece.draw.rows.elements;
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  unsigned char* const out_end = out + (piece.end - piece.begin) * kElementBytes;

  std::uint64_t row = piece.begin / row_elements;
  std::uint64_t at = piece.begin % row_elements;  // the element of the row that comes next
  State state = RowState(piece.draw, row);
  // The first block may have begun before the piece; the lanes are written one after the other if none ends early.
  const bool is_whole = row_elements % kPerBlock == 0 && at % kPerBlock == 0;
  alignas(64) unsigned char drawn[kLanes * kBlockBytes];
  Lanes<Isa> lanes = {};
  unsigned skip[kLanes], bytes[kLanes];
  std::uint64_t left = piece.end - piece.begin;
  while (left > 0) {
    unsigned count = 0;
    for (; count < kLanes && left > 0; ++count) {
      lanes.Set(count, Add(state.counter, at / kPerBlock), state.key);
      const unsigned first = static_cast<unsigned>(at % kPerBlock);
      std::uint64_t elements = kPerBlock - first;
      if (elements > row_elements - at) elements = row_elements - at;
      if (elements > left) elements = left;
      skip[count] = first * kElementBytes;
      bytes[count] = static_cast<unsigned>(elements) * kElementBytes;
      at += elements;
      left -= elements;
      if (at == row_elements && left > 0) {
        state = RowState(piece.draw, ++row);
        at = 0;
      }
    }
    if (is_whole && count == kLanes && static_cast<std::size_t>(out_end - out) >= sizeof(drawn)) {
      EmitLanes<Isa>(lanes, rule, out);
      out += sizeof(drawn);
      continue;
    }
    EmitLanes<Isa>(lanes, rule, drawn);
    for (unsigned lane = 0; lane < count; ++lane) {
      const unsigned char* const from = drawn + lane * kBlockBytes;
      // A copy of constant size is one store; the next lane writes over what is too much.
      if (skip[lane] == 0 && static_cast<std::size_t>(out_end - out) >= kBlockBytes) {
        std::memcpy(out, from, kBlockBytes);
      } else {
        std::memcpy(out, from + skip[lane], bytes[lane]);
      }
      out += bytes[lane];
    }
  }
}

/// Rows of at least as many groups are drawn one by one (benchmarks/native_rows.py).
constexpr std::uint64_t kLongRowGroups = 2;

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
    if (rows.elements < kLongRowGroups * Isa::kBlocks * kPerBlock) return FillShortRows<Isa>(piece, rule);
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

}  // namespace onnx_philox
