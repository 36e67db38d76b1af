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

}  // namespace onnx_philox
