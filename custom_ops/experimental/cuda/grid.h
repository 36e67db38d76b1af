// How the threads of a grid share a draw, and how each reads numbers and stores what it drew.
//
// Internal: included only by kernels.cu.
#pragma once

#include <cstdint>
#include <cstring>

#include "draw.h"
#include "engine.h"
#include "isa.h"
#include "kernels.h"
#include "number_limits.h"
#include "rows.h"

namespace onnx_philox {
namespace cuda {

static inline std::uint64_t ThreadOfGrid() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
static inline std::uint64_t ThreadsOfGrid() { return std::uint64_t{gridDim.x} * blockDim.x; }

/// The draw that a launch asks for. `rows` are set where there are states, even a single one.
static ONNX_PHILOX_INLINE Draw DrawOf(const Launch& launch) {
  Draw draw{};
  draw.state = State{Counter{0, launch.seed_counter}, launch.seed_key};
  draw.rows = Rows{launch.states, launch.row_elements};
  draw.out = launch.out;
  draw.mask = launch.mask;
  return draw;
}

static ONNX_PHILOX_INLINE Piece PieceOf(const Launch& launch) {
  return Piece{DrawOf(launch), 0, launch.rows * launch.row_elements};
}

/// The key words of all rounds, which a thread computes once for all that it draws of a row.
struct Keys {
  std::uint32_t of0[kRounds], of1[kRounds];

  ONNX_PHILOX_INLINE void Set(std::uint64_t key) {
    ONNX_PHILOX_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      of0[round] = RoundKey0(key, round);
      of1[round] = RoundKey1(key, round);
    }
  }
};

/// Calls `task(counter, keys, first, count)` for all that this thread draws: `count` elements from `first` on, kAtOnce or
/// what is left of a row. They have kBlocks blocks of the generator, which begin at the counter.
template <unsigned kAtOnce, unsigned kBlocks, class Task>
ONNX_PHILOX_INLINE void ForEachTask(const Draw& draw, std::uint64_t elements, const Task& task) {
  const std::uint64_t row_elements = draw.rows.elements;
  const std::uint64_t in_row = TasksOf(row_elements, kAtOnce);
  const std::uint64_t rows = elements == row_elements ? 1 : elements / row_elements, tasks = rows * in_row;
  State state = draw.state;
  if (draw.rows.words != nullptr) state = RowState(draw, 0);
  Keys keys;
  keys.Set(state.key);
  for (std::uint64_t i = ThreadOfGrid(); i < tasks; i += ThreadsOfGrid()) {
    std::uint64_t at = i, before = 0;  // in the row, and elements of other rows
    if (rows > 1) {
      const std::uint64_t row = i / in_row;
      at = i - row * in_row;
      before = row * row_elements;
      state = RowState(draw, row);
      keys.Set(state.key);
    }
    const std::uint64_t begin = at * kAtOnce, left = row_elements - begin;
    const unsigned count = static_cast<unsigned>(left < kAtOnce ? left : kAtOnce);
    task(Add(state.counter, at * kBlocks), keys, before + begin, count);
  }
}

/// The elements that a thread draws at once, where a rule's become so many bytes.
template <Distribution kDistribution, class Rule, unsigned kElementBytes>
constexpr unsigned RuleElements() {
  return ElementsAtOnce(kDistribution, Rule::kWordsPerElement, kElementBytes);
}

/// What a rule makes of so many blocks.
template <unsigned kBlocks, class Rule>
ONNX_PHILOX_INLINE void DrawBlocks(Counter counter, Keys keys, const Rule& rule, unsigned char* out) {
  // Those that several blocks share are not worth their registers.
  if constexpr (kBlocks > 1) keys.Set(Join(keys.of0[0], keys.of1[0]));
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kBlocks; ++i) {
    const Counter of_block = Add(counter, i);
    c0[i] = Low32(of_block.low);
    c1[i] = High32(of_block.low);
    c2[i] = Low32(of_block.high);
    c3[i] = High32(of_block.high);
  }
  ONNX_PHILOX_UNROLL
  for (int round = 0; round < kRounds - 1; ++round) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kBlocks; ++i) {
      const Cuda::Product p0 = Cuda::Multiply(c0[i], kMultiplier0), p2 = Cuda::Multiply(c2[i], kMultiplier2);
      c0[i] = p2.high ^ c1[i] ^ keys.of0[round];
      c1[i] = p2.low;
      c2[i] = p0.high ^ c3[i] ^ keys.of1[round];
      c3[i] = p0.low;
    }
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kBlocks; ++i) {
    const Cuda::Product p0 = Cuda::Multiply(c0[i], kMultiplier0), p2 = Cuda::Multiply(c2[i], kMultiplier2);
    Cuda::Words words[Cuda::kWords];
    Cuda::Finish<Rule::kSwapped>(p0, p2, c1[i], c3[i], keys.of0[kRounds - 1], keys.of1[kRounds - 1], words);
    StoreGroup<Cuda>(words, rule, out + i * BlockBytes<Rule>());
  }
}

/// Memory of so many bytes that is read or written at once.
template <unsigned kBytes>
struct VectorOf;
template <>
struct VectorOf<2> {
  using Type = unsigned short;
};
template <>
struct VectorOf<4> {
  using Type = unsigned;
};
template <>
struct VectorOf<8> {
  using Type = uint2;
};
template <>
struct VectorOf<16> {
  using Type = uint4;
};
template <unsigned kBytes>
using Vector = typename VectorOf<(kBytes < 16 ? kBytes : 16)>::Type;

template <unsigned kBytes>
ONNX_PHILOX_INLINE bool IsAligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % sizeof(Vector<kBytes>) == 0;
}

/// An integer as wide as an element, to store one.
template <unsigned kBytes>
struct ElementOf;
template <>
struct ElementOf<1> {
  using Type = unsigned char;
};
template <>
struct ElementOf<2> {
  using Type = std::uint16_t;
};
template <>
struct ElementOf<4> {
  using Type = std::uint32_t;
};
template <>
struct ElementOf<8> {
  using Type = std::uint64_t;
};
template <unsigned kBytes>
using Element = typename ElementOf<kBytes>::Type;

/// The first `count` elements, at once if they are all and `out` is aligned.
template <class T, unsigned kCount>
ONNX_PHILOX_INLINE void StoreElements(const T (&elements)[kCount], unsigned count, T* out) {
  constexpr unsigned kBytes = sizeof(elements);
  if (count == kCount && IsAligned<kBytes>(out)) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kBytes; i += sizeof(Vector<kBytes>)) {
      Vector<kBytes> part;
      std::memcpy(&part, reinterpret_cast<const unsigned char*>(elements) + i, sizeof(part));
      *reinterpret_cast<Vector<kBytes>*>(reinterpret_cast<unsigned char*>(out) + i) = part;
    }
    return;
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kCount; ++i) {
    if (i < count) out[i] = elements[i];
  }
}

/// The same the other way; zeros after `count`.
template <class T, unsigned kCount>
ONNX_PHILOX_INLINE void LoadElements(const T* from, unsigned count, T (&elements)[kCount]) {
  constexpr unsigned kBytes = sizeof(elements);
  if (count == kCount && IsAligned<kBytes>(from)) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kBytes; i += sizeof(Vector<kBytes>)) {
      const Vector<kBytes> part =
          *reinterpret_cast<const Vector<kBytes>*>(reinterpret_cast<const unsigned char*>(from) + i);
      std::memcpy(reinterpret_cast<unsigned char*>(elements) + i, &part, sizeof(part));
    }
    return;
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kCount; ++i) elements[i] = i < count ? from[i] : T{0};
}

/// How a rule fills a draw, in the place of rows.h's.
template <Distribution kDistribution>
struct FromGrid {
  template <class Rule>
  static ONNX_PHILOX_INLINE void Fill(const Piece& piece, const Rule& rule) {
    constexpr unsigned kPerBlock = BlockElements<Rule>(), kBytes = BlockBytes<Rule>() / kPerBlock;
    constexpr unsigned kElements = RuleElements<kDistribution, Rule, kBytes>(), kBlocks = kElements / kPerBlock;
    Element<kBytes>* const out = static_cast<Element<kBytes>*>(piece.draw.out);
    const auto fill = [&](Counter counter, const Keys& keys, std::uint64_t first, unsigned count) {
      alignas(16) Element<kBytes> drawn[kElements];
      DrawBlocks<kBlocks>(counter, keys, rule, reinterpret_cast<unsigned char*>(drawn));
      StoreElements(drawn, count, out + first);
    };
    ForEachTask<kElements, kBlocks>(piece.draw, piece.end, fill);
  }
};

/// The bits of an element's number, of f32 or f64.
static ONNX_PHILOX_INLINE std::uint64_t BitsOf(const Number& number, std::uint64_t element) {
  if (number.data == nullptr) return number.bits;
  const std::uint64_t i = number.is_each != 0 ? element : 0;
  if (number.type == OutputType::kF32) return static_cast<const std::uint32_t*>(number.data)[i];
  return static_cast<const std::uint64_t*>(number.data)[i];
}

template <class Bits>
ONNX_PHILOX_INLINE bool IsWithin(const Limits& limits, std::uint64_t bits) {
  return SignedLimits<Bits>(limits, true).Outside(static_cast<Bits>(bits)) == 0;
}

/// Whether the host has checked a number, or it is within its limits.
static ONNX_PHILOX_INLINE bool IsValid(const Number& number, std::uint64_t bits) {
  if (number.data == nullptr) return true;
  return number.type == OutputType::kF32 ? IsWithin<std::int32_t>(number.limits, bits)
                                         : IsWithin<std::int64_t>(number.limits, bits);
}

/// The bits of a number that the host knows.
static ONNX_PHILOX_INLINE std::uint64_t Known(const Launch& launch, Parameter parameter) {
  return launch.number[NumberOf(parameter)].bits;
}

/// The bits of the number of an element; whether it is valid, which else is reported.
static ONNX_PHILOX_INLINE bool Take(const Launch& launch, Parameter parameter, std::uint64_t element,
                                    std::uint64_t* bits) {
  const Number& number = launch.number[NumberOf(parameter)];
  *bits = BitsOf(number, element);
  if (IsValid(number, *bits)) return true;
  if (launch.error != nullptr) *launch.error = kOutside + static_cast<std::uint32_t>(parameter);
  return false;
}

/// The next states of all rows, if anybody wants them.
static inline void WriteNextStates(const Launch& launch) {
  if (launch.next_states == nullptr) return;
  for (std::uint64_t row = ThreadOfGrid(); row < launch.rows; row += ThreadsOfGrid()) {
    State next{};
    if (launch.states != nullptr) next = StateFromWords(launch.states + row * kStateWords);
    next.counter = Add(next.counter, launch.row_blocks);
    StateToWords(next, launch.next_states + row * kStateWords);
  }
}

}  // namespace cuda
}  // namespace onnx_philox
