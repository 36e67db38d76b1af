// The checks of a node's state or states, and of what alignment "pytorch" says of them: parts of CheckInput and
// CheckTogether (checks.h).
#pragma once

#include <string>

#include "checks.h"

namespace onnx_philox {

/// Writes the state, or where those of the rows are, if the value is known and right.
std::string CheckState(const Operator& op, const InputDeclaration& input, const Known& known,
                       const Attributes& attributes, Arguments* arguments);

/// Refuses another number of states than the output has rows.
std::string CheckRowsOfStates(const Operator& op, const InputDeclaration& input, const Arguments& arguments);

/// Refuses what torch's numbers cannot be drawn by.
std::string CheckAlignment(const Operator& op, const Attributes& attributes, bool has_state);

}  // namespace onnx_philox
