// The checks of a node's inputs, and the draw that follows from them.
//
// Both plugins use these checks. A plugin knows more of a node at run than at load, and calls each check as soon as it
// knows what the check needs. Every check returns an error text, which is empty if nothing is wrong. A text has four
// parts, in the words of the Python package: the operator, what must be, what it got, what to do.
//
//   GivenAttributes given;                        // for each i: given[op.attribute[i].role], read as op.attribute[i].name
//   Attributes attributes;
//   std::string error = CheckAttributes(op, given, &attributes);              // at load; then TakeOutputType, if need be
//   Arguments arguments;
//   error = CheckInput(op, i, known, attributes, &arguments);            // each input, or CheckLeftOut; at load and at run
//   error = CheckTogether(op, attributes, arguments);                                             // likewise
//   error = CheckMemory(op, arguments.dimensions, attributes.output, MemoryFor(bytes));           // at run
//   Draw draw = DrawOf(op, attributes, arguments, values);
//   SplitDraw, Fill, WriteNextState: see kernels.h. Of torch's numbers (attributes.is_pytorch): DrawTorch, see torch_part.h
//
// The Python package checks the inputs in the operator's order, then the range, then the memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attributes.h"
#include "kernels.h"
#include "known.h"
#include "memory_checks.h"
#include "state.h"

namespace onnx_philox {

/// What the inputs of a node say, as far as known. Rows of states, and parameters of more than one number, point into the
/// node's inputs.
struct Arguments {
  bool has_state = false;  ///< whether an input is connected that has states
  State state{};  ///< zeros where there is none, or one for each row; not of torch's numbers
  std::int64_t states = 1;  ///< how many: any other number than 1 is one for each row; kUnknownDimension
  int words_of_state = kStateWords;  ///< how many words each has
  const std::uint32_t* state_words = nullptr;  ///< of the states, if they are known, and not one or of torch's numbers
  Argument given[kParameters] = {};    ///< by Parameter
  ShapeSoFar numbers[kParameters];  ///< the shapes of those that may have one number for each element, or for each row
  std::uint64_t classes = 0;        ///< of each row of logits
  ShapeSoFar output;      ///< the first output's shape
  Dimensions dimensions;  ///< the same, where all of it is known: `has_dimensions`
  bool has_dimensions = false;
  bool has_value[kMaxInputs] = {};  ///< whether the value of an input is known
};

/// The error about an input that is not optional and not connected, or about a missing state with both seeds 0; empty
/// if input `index` may be left out. (CheckTogether refuses a missing state where torch's numbers are drawn.)
std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes);

/// Calls task(0) to task(count - 1) and waits for them, on several threads if it can.
using ForEach = std::function<void(std::uint64_t count, const std::function<void(std::uint64_t)>& task)>;

/// Whether to look at all numbers of an input that may have many.
enum class ManyNumbers {
  kCheck,
  kTrust,     ///< someone else has
  kAsDrawn,   ///< the draw itself does, where it reads each of them once: see Fill and CheckUnchecked
};

/// Checks input `index` alone, by its type and role. Writes its value into `arguments` if that is known. Shares its work
/// by `for_each` if that is given, and there is much to check.
std::string CheckInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                       Arguments* arguments, const ForEach& for_each = nullptr,
                       ManyNumbers many = ManyNumbers::kCheck);

/// The error about numbers that CheckInput left to the draw. Call it where Fill says that there is one.
std::string CheckUnchecked(const Operator& op, const Arguments& arguments, const ForEach& for_each = nullptr);

/// Checks what relates inputs to each other, as far as known: minval to maxval, a number for each element to `shape`, rows
/// of states to those of the output, and where torch's numbers are drawn the attributes to a state. Call it after CheckInput has passed each of them.
std::string CheckTogether(const Operator& op, const Attributes& attributes, const Arguments& arguments);

/// The draw of a node, after everything is known; its first element goes to `out`.
/// `mask` is where the first element of the second output goes, if the operator has one and anybody wants it.
Draw DrawOf(const Operator& op, const Attributes& attributes, const Arguments& arguments, void* out,
            void* mask = nullptr);

/// Fill, or another of its form.
using FillDraw = bool (*)(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end);

/// Fills the whole of a draw in at most most_pieces() pieces. It asks for that only if more than one may help.
bool FillShared(const Kernels& kernels, const Draw& draw, std::uint64_t elements, std::uint64_t (*most_pieces)(),
                const ForEach& for_each, FillDraw fill = Fill);

/// Memory that a call writes, or reads; null if there is none.
struct Written {
  const void* data;
  std::uint64_t bytes;

  bool Overlaps(const Written& other) const {
    const std::uintptr_t a = reinterpret_cast<std::uintptr_t>(data), b = reinterpret_cast<std::uintptr_t>(other.data);
    return data != nullptr && other.data != nullptr && a < b + other.bytes && b < a + bytes;
  }
};

/// The bytes of the states, and of the next states.
std::uint64_t StateBytes(const Arguments& arguments);

/// Copies the states of rows into `copy`, and has `arguments` point there, if the call writes where they lie: a caller
/// may bind an output onto the states, which are read as rows are drawn, and again for the next states. Call it before
/// DrawOf. Next states exactly in place of the states need no copy.
void KeepStates(const Written& values, const Written& next_states, Arguments* arguments,
                std::vector<std::uint32_t>* copy);

/// Checks numbers that CheckInput left to the draw before that writes where they lie. Call it before DrawOf.
std::string CheckOverwritten(const Operator& op, const Written& values, Arguments* arguments, const ForEach& for_each = nullptr);

/// Writes the next state, or that of each row, to memory for as many words as the state has.
void WriteNextState(const Draw& draw, const Arguments& arguments, std::uint32_t* words);

/// The dimensions of an output given as numbers, without the type and rank of an input `shape`.
std::string CheckDimensions(const Operator& op, const std::int64_t* dimensions, int rank, OutputType output,
                            Dimensions* checked);

}  // namespace onnx_philox
