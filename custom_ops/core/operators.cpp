// What declarations imply: see operators.h.
#include "operators.h"

#include <algorithm>

namespace onnx_philox {

ElementTypes TypesOf(const InputDeclaration& input, OutputType output) {
  return input.has_output_type() ? OneType(output) : input.types;
}

std::string TypeNames(const InputDeclaration& input, OutputType output) {
  return input.has_output_type() ? ElementTypeName(ElementTypeOf(output)) : input.type_names;
}

int IndexOf(const Operator& op, Role role) {
  for (int i = 0; i < op.inputs; ++i) {
    if (op.input[i].role == role) return i;
  }
  return -1;
}

int IndexOf(const Operator& op, Parameter parameter) {
  for (int i = 0; i < op.inputs; ++i) {
    if (op.input[i].is_parameter() && op.input[i].parameter == parameter) return i;
  }
  return -1;
}

bool HasAttribute(const Operator& op, const std::string& name) {
  return std::any_of(op.attribute, op.attribute + op.attributes,
                     [&](const AttributeDeclaration& declared) { return name == declared.name; });
}

}  // namespace onnx_philox
