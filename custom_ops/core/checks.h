// The checks of what a node is given, and the draw that it is then.
//
// Both plugins are made of this; what is known of a node grows from load to run, and each check is called where its
// part is known. Every check returns an error text, empty where nothing is wrong. A text has four parts, in the words
// of the Python package: which operator, what it was given, what is allowed, what to do.
//
//   GivenAttributes given;                        // for each i: given[op.attribute[i].role], read as op.attribute[i].name
//   Attributes attributes;
//   std::string error = CheckAttributes(op, given, &attributes);                                  // at load
//   Arguments arguments;
//   error = CheckInput(op, i, known, attributes, &arguments);            // each input, or CheckLeftOut; at load and at run
//   error = CheckTogether(op, attributes, arguments);                                             // likewise
//   error = CheckMemory(op, arguments.dimensions, attributes.output, MemoryFor(bytes));           // at run
//   Draw draw = DrawOf(op, attributes, arguments, values);
//   SplitDraw, Fill, Advance(arguments.state, WordsPerElement(draw), elements): see kernels.h
//
// The Python package checks in the order of an operator's inputs, the range after them, and memory last.
#pragma once

#include <cstdint>
#include <string>

#include "attributes.h"
#include "kernels.h"
#include "known.h"
#include "memory_checks.h"
#include "state.h"

namespace onnx_philox {

/// What the inputs of a node say, as far as it is known. `probabilities` and `logits` point into what the node was given.
struct Arguments {
  State state{};  ///< zeros where there is none
  Bounds bounds{};
  Affine affine{};
  Probabilities probabilities{};
  Logits logits{};
  ShapeSoFar p;       ///< the shape of `p`
  ShapeSoFar output;  ///< the first output's shape
  Dimensions dimensions;  ///< the same, where all of it is known: `has_dimensions`
  bool has_dimensions = false;
  bool has_value[kMaxInputs] = {};  ///< whether the value of an input is known
};

/// The error about an input that is not optional and not connected, or about a missing state with both seeds 0; empty
/// where input `index` may be left out.
std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes);

/// Input `index` alone, by its type and role. `arguments` gets what it says where that is known.
std::string CheckInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                       Arguments* arguments);

/// What inputs must be to each other: minval to maxval, `p` to `shape`. Checks what is known; after CheckInput has passed
/// each of them.
std::string CheckTogether(const Operator& op, const Attributes& attributes, const Arguments& arguments);

/// The draw that a node is, once everything is known; its first element goes to `out`.
Draw DrawOf(const Operator& op, const Attributes& attributes, const Arguments& arguments, void* out);

/// The dimensions of an output given as numbers, without the type and rank of an input `shape`.
std::string CheckDimensions(const Operator& op, const std::int64_t* dimensions, int rank, OutputType output,
                            Dimensions* checked);

}  // namespace onnx_philox
