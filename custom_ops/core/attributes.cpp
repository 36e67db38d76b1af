// The checks of attributes: see attributes.h.
#include "attributes.h"

#include <cstring>
#include <utility>

#include "text.h"

namespace onnx_philox {

namespace {

std::string Show(const GivenAttribute& given) {
  switch (given.kind) {
    case GivenAttribute::Kind::kText:
      return ShowText(given.text);
    case GivenAttribute::Kind::kInteger:
      return std::to_string(given.integer);
    case GivenAttribute::Kind::kFloat:
      return ShowFloat(given.number);
    case GivenAttribute::Kind::kOther:
      return given.text;
    case GivenAttribute::Kind::kMissing:
      break;
  }
  return say::kNothing;
}

/// A text: `*chosen` becomes its index among the allowed ones.
std::string CheckText(const Operator& op, const AttributeDeclaration& declared, const GivenAttribute& given,
                      int* chosen) {
  const bool has_default = given.kind == GivenAttribute::Kind::kMissing && declared.text_default != nullptr;
  if (has_default || given.kind == GivenAttribute::Kind::kText) {
    const std::string& name = has_default ? declared.text_default : given.text;
    for (int i = 0; i < declared.texts; ++i) {
      if (name == declared.text[i]) {
        *chosen = i;
        return std::string();
      }
    }
  }
  return Refusal(op.name, AttributeText(declared.name), Show(given), declared.rule, say::kSetToOne);
}

std::string CheckInteger(const Operator& op, const AttributeDeclaration& declared, const GivenAttribute& given,
                         std::int64_t* value) {
  switch (given.kind) {
    case GivenAttribute::Kind::kMissing:
      *value = declared.integer_default;
      return std::string();
    case GivenAttribute::Kind::kInteger:
      *value = given.integer;
      if (given.integer >= declared.minimum && given.integer <= declared.maximum) return std::string();
      return Refusal(op.name, AttributeText(declared.name), Show(given), declared.rule,
                     Worded(say::kChooseAnother, {declared.is_seed ? "seed" : "number"}));
    default:
      return Refusal(op.name, AttributeText(declared.name), Show(given), declared.rule, say::kPassAnInt);
  }
}

std::string UnknownAttribute(const Operator& op, const std::string& name) {
  const char* remedy = say::kRename;
  for (int i = 0; i < op.others; ++i) {
    if (name == op.other[i].name) remedy = op.other[i].remedy;
  }
  return Refusal(op.name, say::kAttributes, ShowText(name), Worded(say::kOneOf, {op.attribute_names}), remedy);
}

}  // namespace

GivenAttribute GivenAttribute::Text(std::string value) {
  GivenAttribute given;
  given.kind = Kind::kText;
  given.text = std::move(value);
  return given;
}

GivenAttribute GivenAttribute::Integer(std::int64_t value) {
  GivenAttribute given;
  given.kind = Kind::kInteger;
  given.integer = value;
  return given;
}

GivenAttribute GivenAttribute::Float(double value) {
  GivenAttribute given;
  given.kind = Kind::kFloat;
  given.number = value;
  return given;
}

GivenAttribute GivenAttribute::Other(std::string shown) {
  GivenAttribute given;
  given.kind = Kind::kOther;
  given.text = std::move(shown);
  return given;
}

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes) {
  if (op.output[0].has_type) attributes->output = op.output[0].type;
  if (op.type_input() >= 0) TakeOutputType(op, op.input[op.type_input()].types.type[0], attributes);
  std::string error = given.unknown.empty() ? std::string() : UnknownAttribute(op, given.unknown);
  for (int i = 0; i < op.attributes && error.empty(); ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    const GivenAttribute& value = given[declared.role];
    int chosen = 0;
    switch (declared.role) {
      case AttributeRole::kType:  // there is one generator
        error = CheckText(op, declared, value, &chosen);
        break;
      case AttributeRole::kOutputType:
        error = CheckText(op, declared, value, &chosen);
        if (error.empty()) attributes->output = declared.type[chosen];
        break;
      case AttributeRole::kSampleSize:
        error = CheckInteger(op, declared, value, &attributes->sample_size);
        break;
      case AttributeRole::kReplacement:
        error = CheckInteger(op, declared, value, &attributes->replacement);
        break;
      case AttributeRole::kAlignment:
        error = CheckText(op, declared, value, &chosen);
        attributes->is_pytorch = error.empty() && std::strcmp(declared.text[chosen], declared.text_default) != 0;
        break;
      case AttributeRole::kGlobalSeed:
        error = CheckInteger(op, declared, value, &attributes->global_seed);
        break;
      case AttributeRole::kOpSeed:
        error = CheckInteger(op, declared, value, &attributes->op_seed);
        break;
    }
  }
  return error;
}

void TakeOutputType(const Operator& op, ElementType given, Attributes* attributes) {
  if (op.type_input() < 0 || !op.input[op.type_input()].types.Has(given)) return;
  for (int i = 0; i < kOutputTypes; ++i) {
    if (ElementTypeOf(static_cast<OutputType>(i)) == given) attributes->output = static_cast<OutputType>(i);
  }
}

}  // namespace onnx_philox
