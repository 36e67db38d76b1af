// What draws that reject share: blocks of many elements at once, each element's from a place of its own.
//
// An element owns kElementBlocks blocks, whatever it uses of them, so a state never depends on numbers. A batch of
// elements makes one attempt after the other; those that an attempt rejects make the next one side by side.
//
// Internal: included only by the files that are compiled for each instruction set and a test, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "elementary.h"
#include "engine.h"
#include "inlining.h"
#include "kernels.h"
#include "rows.h"

namespace onnx_philox {

/// Blocks that an element owns.
constexpr unsigned kElementBlocks = 32;

/// Elements of a batch at most: few enough for the caches near by, and many beside those that an attempt leaves to the
/// next. A set of another kind specialises it.
template <class Isa>
struct BatchLimit {
  static constexpr unsigned kElements = 384;
};

/// Sizes of what is computed side by side.
template <class Isa>
struct Batch {
  using Words = typename Isa::Words;
  static constexpr unsigned kLanes = sizeof(Words) / 8;
  static constexpr unsigned kAtOnce = Isa::kGroups * Isa::kBlocks;  ///< blocks that are made at once
  static constexpr unsigned kSize = BatchLimit<Isa>::kElements / kAtOnce * kAtOnce;  ///< elements at most
  static_assert(kSize % kLanes == 0 && Isa::kBlocks % kLanes == 0, "whole registers");

  /// The place of an element in an array of kSize: where that is 1, a compiler is to see that it is the first.
  static constexpr unsigned At(unsigned i) { return kSize == 1 ? 0 : i; }

  /// A number for each element of so many batches.
  template <unsigned kBatches>
  struct Columns {
    alignas(64) double value[kBatches * kSize];
    Words Get(unsigned i) const { return Isa::LoadF64(reinterpret_cast<const unsigned char*>(value + At(i))); }
    void Set(unsigned i, Words x) { Isa::Store(reinterpret_cast<unsigned char*>(value + At(i)), x); }
    double operator[](unsigned i) const { return value[At(i)]; }
    double& operator[](unsigned i) { return value[At(i)]; }
    /// Gives every element what the first register holds in each lane.
    void Spread() {
      for (unsigned i = kLanes; i < kBatches * kSize; i += kLanes) Set(i, Get(0));
    }
  };
  using Column = Columns<1>;

  /// Blocks, in an order in which `Even` and `Odd` of two registers of one are a register in the order of a Column.
  struct Blocks {
    alignas(64) unsigned char bytes[kSize * 16];
    Words First(unsigned i) const { return Isa::LoadF64(bytes + At(i) * 16); }
    Words Second(unsigned i) const { return Isa::LoadF64(bytes + At(i) * 16 + sizeof(Words)); }
    /// The bits of the uniforms of the first two words, or of the others, for elements i, i + 1, ...
    Words Even(unsigned i) const { return Isa::Even64(First(i), Second(i)); }
    Words Odd(unsigned i) const { return Isa::Odd64(First(i), Second(i)); }
  };

  /// Which elements there are, by their numbers from the first of the blocks on.
  struct List {
    struct Elements {
      std::uint16_t value[kSize];
      std::uint16_t operator[](unsigned i) const { return value[At(i)]; }
      std::uint16_t& operator[](unsigned i) { return value[At(i)]; }
    } element;
    unsigned count;
    bool is_run;  ///< `count` elements that follow each other

    void SetRun(unsigned first, unsigned elements) {
      for (unsigned i = 0; i < elements; ++i) element[i] = static_cast<std::uint16_t>(first + i);
      count = elements;
      is_run = true;
    }
  };
};

/// 1 + u of bits, for the uniform u in [0, 1).
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words OnePlusUniform(typename Isa::Words bits) {
  using Lanes = LanesF64<Isa>;
  return Isa::MaskOr(bits, Lanes::Splat(Lanes::kFraction), Lanes::Splat(Lanes::kOne));
}

/// u.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words UniformOf(typename Isa::Words bits) {
  return Isa::SubtractF64(OnePlusUniform<Isa>(bits), LanesF64<Isa>::Splat(LanesF64<Isa>::kOne));
}

/// 1 - u, which is exact either way.
template <class Isa>
ONNX_PHILOX_INLINE typename Isa::Words OneMinusUniform(typename Isa::Words bits) {
  return Isa::SubtractF64(Constant<LanesF64<Isa>>(2), OnePlusUniform<Isa>(bits));
}

/// The blocks of a batch's elements.
template <class Isa>
class BatchBlocks {
 public:
  using B = Batch<Isa>;

  explicit BatchBlocks(const Draw& draw) : draw_(draw), schedule_(draw.state.key) {
    // Where the lanes of a group land: a block's number goes through `Even64` as its element will.
    alignas(64) std::uint64_t number[2 * Isa::kBlocks], order[Isa::kBlocks];
    for (unsigned i = 0; i < 2 * Isa::kBlocks; ++i) number[i] = i / 2;
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(number);
    for (unsigned i = 0; i < Isa::kBlocks; i += B::kLanes) {
      const typename Isa::Words first = Isa::LoadF64(bytes + i * 16);
      const typename Isa::Words second = Isa::LoadF64(bytes + i * 16 + sizeof(first));
      Isa::Store(reinterpret_cast<unsigned char*>(order + i), Isa::Even64(first, second));
    }
    for (unsigned i = 0; i < Isa::kBlocks; ++i) lane_[order[i]] = i;
    for (unsigned i = 0; i < B::kAtOnce; ++i) {
      const unsigned group = i / Isa::kBlocks * Isa::kBlocks;
      offset_[i] = (group + lane_[i - group]) * kElementBlocks;
    }
  }

  /// Whether the blocks of these elements differ in word 0 of the counter alone: they share the rest of their work.
  bool AreOneRun(std::uint64_t first, unsigned count) const {
    const std::uint32_t word0 = Low32(Add(draw_.state.counter, first * kElementBlocks).low);
    return draw_.rows.words == nullptr && word0 <= 0xFFFFFFFFu - (count * kElementBlocks - 1);
  }

  /// Elements `first` to `first` + `count` - 1 are those of which there are blocks: a batch, or any number that are one run.
  void Begin(std::uint64_t first, unsigned count) {
    is_one_run_ = AreOneRun(first, count);
    if (is_one_run_) {
      const Counter counter = Add(draw_.state.counter, first * kElementBlocks);
      word0_ = Low32(counter.low);
      return schedule_.BeginRun(counter, draw_.state.key);
    }
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t element = first + i;
      const std::uint64_t row = draw_.rows.words == nullptr ? 0 : element / draw_.rows.elements;
      const State state = draw_.rows.words == nullptr ? draw_.state : RowState(draw_, row);
      const std::uint64_t at = draw_.rows.words == nullptr ? element : element - row * draw_.rows.elements;
      state_[B::At(i)] = State{Add(state.counter, at * kElementBlocks), state.key};
    }
  }

  /// Block `block` of each element of the list.
  void Get(const typename B::List& list, unsigned block, typename B::Blocks* blocks) {
    for (unsigned begin = 0; begin < list.count; begin += B::kAtOnce) {
      unsigned char* const out = blocks->bytes + B::At(begin) * 16;
      if (is_one_run_ && list.is_run) {
        EmitRun(word0_ + (list.element[0] + begin) * kElementBlocks + block, offset_, out);
      } else if (is_one_run_) {
        GetOfRun(list, block, begin, out);
      } else {
        GetAnywhere(list, block, begin, out);
      }
    }
  }

 private:
  /// The element in a lane; past the last, that one again.
  unsigned ElementAt(const typename B::List& list, unsigned begin, unsigned lane) const {
    const unsigned group = lane / Isa::kBlocks * Isa::kBlocks;
    const unsigned at = begin + group + lane_[lane - group];
    return list.element[at < list.count ? at : list.count - 1];
  }

  void GetOfRun(const typename B::List& list, unsigned block, unsigned begin, unsigned char* out) {
    alignas(64) std::uint32_t word0[B::kAtOnce];
    for (unsigned lane = 0; lane < B::kAtOnce; ++lane) word0[lane] = ElementAt(list, begin, lane) * kElementBlocks;
    EmitRun(word0_ + block, word0, out);
  }

  /// The blocks at `word0` plus each of the offsets.
  ONNX_PHILOX_INLINE void EmitRun(std::uint32_t word0, const std::uint32_t* offsets, unsigned char* out) {
    typename Isa::Product products[Isa::kGroups];
    const typename Isa::Lane begin = Isa::SplatLane(word0);
    ONNX_PHILOX_UNROLL
    for (unsigned g = 0; g < Isa::kGroups; ++g) {
      const typename Isa::Lane lanes = Isa::AddLanes(begin, Isa::LoadLanes(offsets + g * Isa::kBlocks));
      products[g] = Isa::Multiply(lanes, schedule_.multiplier0);
    }
    EmitGroups<Isa, WordPairsRule<Isa>, Isa::kGroups>(schedule_, products, WordPairsRule<Isa>(), out);
  }

  void GetAnywhere(const typename B::List& list, unsigned block, unsigned begin, unsigned char* out) const {
    Lanes<Isa> lanes;
    for (unsigned lane = 0; lane < B::kAtOnce; ++lane) {
      const State& state = state_[B::At(ElementAt(list, begin, lane))];
      lanes.Set(lane, Add(state.counter, block), state.key);
    }
    EmitLanes<Isa>(lanes, WordPairsRule<Isa>(), out);
  }

  const Draw& draw_;
  Schedule<Isa> schedule_;
  std::uint32_t word0_ = 0;
  bool is_one_run_ = false;
  alignas(64) std::uint32_t offset_[B::kAtOnce];  ///< of the blocks of consecutive elements
  unsigned lane_[Isa::kBlocks];   ///< of a block that goes into a lane: its element's place in the group
  State state_[B::kSize];         ///< where an element's blocks begin, if the batch is not one run
};

/// The numbers of elements `first` to `first` + `count` - 1 of a parameter of f32 or f64, at least up to a whole register.
template <class Isa>
void NumbersOf(const Argument& given, std::uint64_t first, unsigned count, typename Batch<Isa>::Column* column) {
  const bool is_f32 = given.type == OutputType::kF32;
  if (!given.each()) {
    const double number = is_f32 ? static_cast<double>(BitCast<float>(static_cast<std::uint32_t>(given.bits)))
                                 : BitCast<double>(given.bits);
    for (unsigned i = 0; i < Batch<Isa>::kSize; ++i) (*column)[i] = number;
    return;
  }
  const unsigned char* const data = static_cast<const unsigned char*>(given.data) + first * (is_f32 ? 4 : 8);
  for (unsigned i = 0; i < count; ++i) {
    if (is_f32) {
      float number;
      std::memcpy(&number, data + i * sizeof(number), sizeof(number));
      (*column)[i] = static_cast<double>(number);
    } else {
      std::memcpy(&(*column)[i], data + i * sizeof(double), sizeof(double));
    }
  }
  for (unsigned i = count; i % Batch<Isa>::kLanes != 0; ++i) (*column)[i] = (*column)[0];
}

/// The chosen elements of a column, in order, at least up to a whole register.
template <class Isa>
void Gather(const typename Batch<Isa>::Column& from, const typename Batch<Isa>::List& list,
            typename Batch<Isa>::Column* to) {
  for (unsigned i = 0; i < list.count; ++i) (*to)[i] = from[list.element[i]];
  for (unsigned i = list.count; i % Batch<Isa>::kLanes != 0; ++i) (*to)[i] = from[list.element[0]];
}

/// Fills a piece with the values that `draw(first, count, values)` makes of kBatches batches at once, whose numbers are
/// `parameter`.
template <class Isa, class Out, unsigned kBatches, class DrawSome>
void FillBatches(const Piece& piece, Parameter parameter, DrawSome& draw) {
  constexpr unsigned kMost = kBatches * Batch<Isa>::kSize;
  typename Batch<Isa>::template Columns<kBatches> values;
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t begin = piece.begin; begin < piece.end;) {
    const std::uint64_t left = piece.end - begin;
    const unsigned count = left < kMost ? static_cast<unsigned>(left) : kMost;
    if (!MayDraw<Isa>(piece, parameter, begin, begin + count)) return;
    draw(begin, count, &values);
    for (unsigned i = 0; i < count; ++i) {
      const Out value = static_cast<Out>(values[i]);
      std::memcpy(out + i * sizeof(value), &value, sizeof(value));
    }
    out += count * sizeof(Out);
    begin += count;
  }
}

}  // namespace onnx_philox
