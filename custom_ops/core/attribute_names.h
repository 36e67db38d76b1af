// Attributes that an operator does not have: which one was meant, and which ones to ask for.
//
// A runtime may show an operator only the attributes that it asks for by name. Then an attribute that nobody asks for is
// ignored, a misspelt seed for instance. So a plugin asks for the names that people write by mistake. The Python package
// has the same rule (_contract/attribute_names.py), and the tests compare the two.
#pragma once

#include <string>
#include <vector>

#include "operators.h"

namespace onnx_philox {

/// Whether `op` has an attribute of this name.
bool HasAttribute(const Operator& op, const std::string& name);

/// The attribute of `op` that `name` most looks like; empty if it looks like none of them.
std::string NearestAttribute(const Operator& op, const std::string& name);

/// The names to ask a runtime for, none of which the operator has: the attributes of the other operators and of ONNX's
/// random operators, and the names that are one slip away from an attribute: a letter left out or doubled, another vowel,
/// two letters in the wrong order, or words joined by another rule (opSeed, op-seed). Runtimes take microseconds to say
/// that a name is not there, so more would make models load slowly.
struct Mistake {
  std::string name;
  bool is_text, is_integer;  ///< what the value may be: that of the attribute that is meant, or either
};
const std::vector<Mistake>& Mistakes(const Operator& op);

}  // namespace onnx_philox
