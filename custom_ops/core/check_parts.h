// The parts of CheckInput and CheckTogether (checks.h) that have a file of their own: numbers, by the limits that are
// declared, states, and what alignment "pytorch" says of them.
#pragma once

#include <string>

#include "checks.h"

namespace onnx_philox {

/// Checks known numbers, and writes `*given`.
std::string CheckNumbers(const Operator& op, const InputDeclaration& input, const Known& known, OutputType type,
                         const ForEach& for_each, ManyNumbers many, Argument* given);

/// Writes the state, or where those of the rows are, if the value is known and right.
std::string CheckState(const Operator& op, const InputDeclaration& input, const Known& known,
                       const Attributes& attributes, Arguments* arguments);

/// Refuses another number of states than the output has rows.
std::string CheckRowsOfStates(const Operator& op, const InputDeclaration& input, const Arguments& arguments);

/// Refuses what torch's numbers cannot be drawn by.
std::string CheckAlignment(const Operator& op, const Attributes& attributes, bool has_state);

}  // namespace onnx_philox
