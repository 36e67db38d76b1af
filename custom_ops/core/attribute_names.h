// Attributes that an operator lacks: which one the user meant, and which ones to ask for.
//
// A runtime may show an operator only the attributes that it asks for by name. It ignores an attribute that nobody asks
// for, such as a misspelt seed. So a plugin asks for the names that people write by mistake. The Python package has the
// same rule (_contract/attribute_names.py), and the tests compare the two.
#pragma once

#include <string>
#include <vector>

#include "operators.h"

namespace onnx_philox {

/// Whether `op` has an attribute of this name.
bool HasAttribute(const Operator& op, const std::string& name);

/// The attribute of `op` that `name` most resembles; empty if it resembles none.
std::string NearestAttribute(const Operator& op, const std::string& name);

/// The names to ask a runtime for, none of which the operator has: the attributes of the other operators and of ONNX's
/// random operators, and the names that are one slip away from an attribute: a letter left out or doubled, another vowel,
/// two letters in the wrong order, or words joined by another rule (opSeed, op-seed). Runtimes take microseconds to
/// look for a name, so more names would make models load slowly.
struct Mistake {
  std::string name;
  bool is_text, is_integer;  ///< what the value may be: that of the attribute that is meant, or either
};
const std::vector<Mistake>& Mistakes(const Operator& op);

}  // namespace onnx_philox
