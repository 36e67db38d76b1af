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
  draw.words = static_cast<unsigned>(launch.words);
  draw.out = launch.out;
  draw.mask = launch.mask;
  return draw;
}

static ONNX_PHILOX_INLINE Piece PieceOf(const Launch& launch) {
  return Piece{DrawOf(launch), 0, launch.rows * launch.row_elements};
}

/// Calls `task(state, first, count)` for all that this thread draws: `count` elements from `first` on, kAtOnce or what
/// is left of a row. They have kBlocks blocks of the generator, which begin at the state.
template <unsigned kAtOnce, unsigned kBlocks, class Task>
ONNX_PHILOX_INLINE void ForEachTask(const Draw& draw, std::uint64_t elements, const Task& task) {
  const std::uint64_t row_elements = draw.rows.elements;
  const std::uint64_t in_row = row_elements / kAtOnce + (row_elements % kAtOnce != 0 ? 1 : 0);
  const std::uint64_t rows = elements == row_elements ? 1 : elements / row_elements, tasks = rows * in_row;
  State state = draw.state;
  if (draw.rows.words != nullptr) state = RowState(draw, 0);
  for (std::uint64_t i = ThreadOfGrid(); i < tasks; i += ThreadsOfGrid()) {
    std::uint64_t row = 0, at = i;
    if (rows > 1) {
      row = i / in_row;
      at = i - row * in_row;
      state = RowState(draw, row);
    }
    const std::uint64_t left = row_elements - at * kAtOnce;
    const unsigned count = static_cast<unsigned>(left < kAtOnce ? left : kAtOnce);
    task(State{Add(state.counter, at * kBlocks), state.key}, row * row_elements + at * kAtOnce, count);
  }
}

/// The words of a block in the registers of a rule.
template <class Rule>
ONNX_PHILOX_INLINE void DrawBlock(const State& state, Cuda::Words (&words)[Cuda::kWords]) {
  Lanes<Cuda> lanes;
  lanes.Set(0, state.counter, state.key);
  DrawLanes<Cuda, Rule::kSwapped>(lanes, words);
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

/// The first `count` elements of a block, at once if they are all and `out` is aligned.
template <class T, unsigned kBytes>
ONNX_PHILOX_INLINE void StoreBlock(const unsigned char (&block)[kBytes], unsigned count, T* out) {
  constexpr unsigned kElements = kBytes / sizeof(T);
  if (count == kElements && IsAligned<kBytes>(out)) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kBytes; i += sizeof(Vector<kBytes>)) {
      Vector<kBytes> part;
      std::memcpy(&part, block + i, sizeof(part));
      *reinterpret_cast<Vector<kBytes>*>(reinterpret_cast<unsigned char*>(out) + i) = part;
    }
    return;
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kElements; ++i) {
    T element;
    std::memcpy(&element, block + i * sizeof(element), sizeof(element));
    if (i < count) out[i] = element;
  }
}

/// The same the other way; zeros after `count`.
template <class T, unsigned kBytes>
ONNX_PHILOX_INLINE void LoadBlock(const T* from, unsigned count, unsigned char (&block)[kBytes]) {
  constexpr unsigned kElements = kBytes / sizeof(T);
  if (count == kElements && IsAligned<kBytes>(from)) {
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kBytes; i += sizeof(Vector<kBytes>)) {
      const Vector<kBytes> part =
          *reinterpret_cast<const Vector<kBytes>*>(reinterpret_cast<const unsigned char*>(from) + i);
      std::memcpy(block + i, &part, sizeof(part));
    }
    return;
  }
  ONNX_PHILOX_UNROLL
  for (unsigned i = 0; i < kElements; ++i) {
    const T element = i < count ? from[i] : T{0};
    std::memcpy(block + i * sizeof(element), &element, sizeof(element));
  }
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

/// How a rule fills a draw, in the place of rows.h's.
struct FromGrid {
  template <class Rule>
  static ONNX_PHILOX_INLINE void Fill(const Piece& piece, const Rule& rule) {
    constexpr unsigned kBytes = BlockBytes<Rule>();
    using Out = Element<kBytes / BlockElements<Rule>()>;
    Out* const out = static_cast<Out*>(piece.draw.out);
    const auto fill = [&](const State& state, std::uint64_t first, unsigned count) {
      Cuda::Words words[Cuda::kWords];
      DrawBlock<Rule>(state, words);
      alignas(16) unsigned char block[kBytes];
      StoreGroup<Cuda>(words, rule, block);
      StoreBlock(block, count, out + first);
    };
    ForEachTask<BlockElements<Rule>(), 1>(piece.draw, piece.end, fill);
  }
};

/// The bits of an element's number.
static ONNX_PHILOX_INLINE std::uint64_t BitsOf(const Number& number, std::uint64_t element) {
  if (number.data == nullptr) return number.bits;
  const std::uint64_t i = number.is_each != 0 ? element : 0;
  switch (ElementSize(number.type)) {
    case 2:
      return static_cast<const std::uint16_t*>(number.data)[i];
    case 4:
      return static_cast<const std::uint32_t*>(number.data)[i];
    default:
      return static_cast<const std::uint64_t*>(number.data)[i];
  }
}

template <class Bits>
ONNX_PHILOX_INLINE bool IsWithin(const Limits& limits, bool is_float, std::uint64_t bits) {
  return SignedLimits<Bits>(limits, is_float).Outside(static_cast<Bits>(bits)) == 0;
}

/// Whether the host has checked a number, or it is within its limits.
static ONNX_PHILOX_INLINE bool IsValid(const Number& number, std::uint64_t bits) {
  if (number.data == nullptr) return true;
  const bool is_float = number.type != OutputType::kI32 && number.type != OutputType::kI64;
  switch (ElementSize(number.type)) {
    case 2:
      return IsWithin<std::int16_t>(number.limits, is_float, bits);
    case 4:
      return IsWithin<std::int32_t>(number.limits, is_float, bits);
    default:
      return IsWithin<std::int64_t>(number.limits, is_float, bits);
  }
}

static ONNX_PHILOX_INLINE void Report(const Launch& launch, std::uint32_t error) {
  if (launch.error != nullptr) *launch.error = error;
}

/// The bits of the number of an element; whether it is valid, which else is reported.
static ONNX_PHILOX_INLINE bool Take(const Launch& launch, Parameter parameter, std::uint64_t element,
                                    std::uint64_t* bits) {
  const Number& number = launch.number[NumberOf(parameter)];
  *bits = BitsOf(number, element);
  if (IsValid(number, *bits)) return true;
  Report(launch, kOutside + static_cast<std::uint32_t>(parameter));
  return false;
}

/// Sets all bytes of an output.
static inline void SetBytes(void* out, std::uint64_t bytes, unsigned char value) {
  if (out == nullptr) return;
  for (std::uint64_t i = ThreadOfGrid(); i < bytes; i += ThreadsOfGrid()) static_cast<unsigned char*>(out)[i] = value;
}

/// A draw that is refused as a whole.
static inline void FillRefused(const Launch& launch, unsigned element_bytes) {
  SetBytes(launch.out, launch.rows * launch.row_elements * element_bytes, element_bytes == 1 ? 0 : 0xFF);
  SetBytes(launch.mask, launch.rows * launch.row_elements, 0);
}

/// The next states of all rows, if anybody wants them.
static inline void WriteNextStates(const Launch& launch) {
  if (launch.next_states == nullptr) return;
  for (std::uint64_t row = ThreadOfGrid(); row < launch.rows; row += ThreadsOfGrid()) {
    State state{};
    if (launch.states != nullptr) state = StateFromWords(launch.states + row * kStateWords);
    const State next = Advance(state, static_cast<unsigned>(launch.words), launch.row_elements);
    StateToWords(next, launch.next_states + row * kStateWords);
  }
}

}  // namespace cuda
}  // namespace onnx_philox
