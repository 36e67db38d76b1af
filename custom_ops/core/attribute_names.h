// Attributes that an operator lacks: which one the user meant, and which ones to ask for.
//
// A runtime may show an operator only the attributes that it asks for by name. It ignores an attribute that nobody asks
// for, such as a misspelt seed. So a plugin asks for the names that people write by mistake. The Python package has the
// same rule (_contract/attribute_names.py), and the tests compare the two.
#pragma once

#include <string>
#include <vector>

#include "attributes.h"
#include "operators.h"

namespace onnx_philox {

/// Whether `op` has an attribute of this name.
bool HasAttribute(const Operator& op, const std::string& name);

/// The attribute of `op` that `name` most resembles; empty if it resembles none.
std::string NearestAttribute(const Operator& op, const std::string& name);

/// A name to ask a runtime for, which the operator does not have: an attribute of another operator or of ONNX's random
/// operators, or a name that is one slip away from an attribute of the operator: a letter left out or doubled, another
/// vowel, two letters in the wrong order, or words written by another rule (opSeed, op-seed,
/// OP_SEED, Op_Seed).
struct Mistake {
  std::string name;
  bool is_text, is_integer;  ///< what the value may be: that of the attribute that is meant, or either
};

/// All of them, by name.
const std::vector<Mistake>& Mistakes(const Operator& op);

/// The first mistake of a node that `has` finds; empty if it finds none.
template <class Has>
std::string FindUnknown(const Operator& op, const Has& has) {
  for (const Mistake& mistake : Mistakes(op)) {
    if (has(mistake)) return mistake.name;
  }
  return std::string();
}

}  // namespace onnx_philox
