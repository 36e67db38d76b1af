// The operators of the domain `onnx_philox`, and what their declarations imply.
#pragma once

#include <string>

#include "operators_table.h"

namespace onnx_philox {

/// The types that a model may declare for an input; `output` is the type of the first output.
ElementTypes TypesOf(const InputDeclaration& input, OutputType output);
/// The same as errors list them: "f32 or f64".
std::string TypeNames(const InputDeclaration& input, OutputType output);

/// The first input of a role; -1 if there is none.
int IndexOf(const Operator& op, Role role);
/// The input of a parameter; -1 if there is none.
int IndexOf(const Operator& op, Parameter parameter);
/// Whether it has an attribute of this name.
bool HasAttribute(const Operator& op, const std::string& name);

/// The first attribute of another operator that has(name) finds; empty if it finds none.
///
/// A runtime may show an operator only the attributes that it asks for by name, and ignore the others.
template <class Has>
std::string FindOther(const Operator& op, const Has& has) {
  for (const AttributeName& other : kAttributeNames) {
    if (!HasAttribute(op, other.name) && has(other.name)) return other.name;
  }
  return std::string();
}

}  // namespace onnx_philox
