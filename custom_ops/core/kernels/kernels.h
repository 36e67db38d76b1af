// The core's public interface: fill memory with a draw, whole or in pieces, with the best kernels the processor has.
//
//   const Selection& selection = ActiveKernels();
//   if (selection.kernels == nullptr) return selection.error;             // ONNX_PHILOX_ISA names something unusable
//   Draw draw = DrawOf(op, attributes, arguments, out);                   // once all is checked: see checks.h
//   Fill(*selection.kernels, draw, 0, elements);                          // or pieces of it, from any threads
//   State next = NextState(draw, state, elements);
//
// Nothing here throws (but for std::bad_alloc while composing an error text), allocates memory that grows with the
// output (but for permutations: 8 MiB at most, if there are as many), keeps state between calls, or is affected by the caller's floating-point settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "output.h"
#include "state.h"

namespace onnx_philox {

/// The states of a draw by rows. Row b is what a draw of `elements` elements from state b would be: no row depends on
/// another.
struct Rows {
  const std::uint32_t* words;  ///< a state tensor [rows, 6], which nobody may write to meanwhile; null: there are no rows
  std::uint64_t elements;      ///< of one row; 1 or more where anything is drawn
};

/// One draw. Its elements are a function of everything here but `out`; element i is written at
/// `out` + i * ElementSize(type). `out` may have any alignment; 64 is the fastest, 16 nearly as fast.
struct Draw {
  State state;  ///< where to draw: what Derive returns. Of a draw by rows, what is added to each row's state: the seeds
  Rows rows;
  Distribution distribution;
  OutputType type;
  unsigned words;            ///< of the generator that one element uses: 1 or 2
  Argument given[kParameters];  ///< by Parameter; no kernel reads what its distribution does not have
  std::uint64_t classes;     ///< of each row of logits, 1 or more
  std::uint64_t samples;     ///< of each row of logits, 1 or more; of a permutation, the integers in each row
  bool is_once;              ///< a class at most once a row: each class takes `words`, and no sample does
  void* out;                 ///< null of a draw with a mask: nobody wants more than that
  unsigned char* mask;       ///< of a draw of two outputs: element i of the second, a byte, goes to `mask` + i; or null

  ONNX_PHILOX_INLINE const Argument& operator[](Parameter parameter) const { return given[static_cast<int>(parameter)]; }
  ONNX_PHILOX_INLINE Argument& operator[](Parameter parameter) { return given[static_cast<int>(parameter)]; }
};

/// The state after a draw of `elements` elements from `state`, which does not contain the seeds.
State NextState(const Draw& draw, const State& state, std::uint64_t elements);

/// The states after a draw by rows, one for each of `count` rows: a tensor [count, 6], which may be that of the draw.
void NextStates(const Draw& draw, std::uint64_t count, std::uint32_t* words);

/// The part of a draw that a kernel fills.
struct Piece {
  Draw draw;            ///< `out` and `mask` are where element `begin` goes
  std::uint64_t begin;  ///< the first element to write
  std::uint64_t end;    ///< one past the last; greater than begin
  unsigned char* spare = nullptr;   ///< memory for records of 8 bytes, which makes permutations faster
  std::uint64_t spare_records = 0;  ///< how many it holds
  bool* is_outside = nullptr;       ///< set where a number that was unchecked is not within its limits
};

struct TorchStream;
struct TorchFill;

/// The kernels of one instruction set.
struct Kernels {
  const char* name;         ///< what ONNX_PHILOX_ISA calls it
  const char* description;  ///< the processor features it needs
  bool (*available)();      ///< whether this processor and operating system have them
  void (*fill)(const Piece& piece);
  void (*fill_torch)(TorchStream* stream, const TorchFill& fill);  ///< what torch draws: see torch_stream.h
  // What both alignments need. In the environment of float_environment.h.
  /// Of a dropout: scales those data whose byte is 0, and writes 0 for the others.
  void (*keep)(const Draw& draw, const unsigned char* dropped, const unsigned char* data, std::size_t count,
               unsigned char* out);
  /// The weights exp(logit - greatest) of a row of logits, rounded to f32.
  void (*weights)(const Draw& draw, std::uint64_t row, float* weights);
};

/// Kernels, or the reason that there are none.
struct Selection {
  const Kernels* kernels;  ///< null on an error
  std::string error;       ///< empty without one
};

/// Every instruction set compiled in, best first; `index` from 0; null past the end. Not all need be available.
const Kernels* KernelsAt(int index);

/// The kernels called `name`, or the best available if `name` is null or empty.
Selection SelectKernels(const char* name);

/// The kernels that ONNX_PHILOX_ISA selects, read once per process at the first call.
const Selection& ActiveKernels();

/// Writes elements [begin, end) of `draw`, exactly these bytes, each once. The bits do not depend on how a draw is cut,
/// on the thread, or on the kernels. The bounds must be a range (see values.h), and the other parameters must be as
/// output.h says (checks.h checks them). Stores go through the caches: non-temporal ones were never faster, and up to
/// 14% slower, from 2^22 to 2^27 words (Zen 4).
///
/// Whether all that was unchecked (Argument) is within its limits. If not, what was written is no draw.
bool Fill(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end);

/// The same, into other memory: element `begin` goes to `to`. A mask stays where it is.
bool FillTo(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end, void* to);

/// How to cut a draw for a thread pool: piece i is [i * step, min((i + 1) * step, elements)).
struct Split {
  std::uint64_t pieces;
  std::uint64_t step;
};

/// At most `max_pieces` pieces (1 or more), each large enough to be worth another thread, cut so that each keeps the
/// alignment of the whole. One piece means: draw on the calling thread.
Split SplitDraw(const Draw& draw, std::uint64_t elements, std::uint64_t max_pieces);

}  // namespace onnx_philox
