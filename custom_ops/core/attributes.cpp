// The checks of attributes: see attributes.h.
#include "attributes.h"

#include <cstring>

#include "text.h"
#include "torch_part.h"

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
  const bool is_integer = given.kind == GivenAttribute::Kind::kInteger;
  *value = is_integer ? given.integer : declared.integer_default;
  if (given.kind == GivenAttribute::Kind::kMissing) return std::string();
  if (is_integer && *value >= declared.minimum && *value <= declared.maximum) return std::string();
  return Refusal(op.name, AttributeText(declared.name), Show(given), declared.rule,
                 is_integer ? Worded(say::kChooseAnother, {declared.is_seed ? "seed" : "number"}) : say::kPassAnInt);
}

/// Where the value of an attribute that is an integer goes.
std::int64_t* IntegerOf(AttributeRole role, Attributes* attributes) {
  switch (role) {
    case AttributeRole::kSampleSize:
      return &attributes->sample_size;
    case AttributeRole::kReplacement:
      return &attributes->replacement;
    case AttributeRole::kGlobalSeed:
      return &attributes->global_seed;
    case AttributeRole::kOpSeed:
      return &attributes->op_seed;
    case AttributeRole::kType:
    case AttributeRole::kOutputType:
    case AttributeRole::kAlignment:
      break;  // texts
  }
  return nullptr;
}

}  // namespace

std::string UnknownAttribute(const Operator& op, const std::string& name) {
  std::string remedy = say::kRename;
  for (const AttributeName& other : kAttributeNames) {
    if (name != other.name) continue;
    const bool is_alike = other.like != nullptr && HasAttribute(op, other.like);
    remedy = is_alike ? Worded(say::kDidYouMean, {other.like}) : say::kRemove;
  }
  return Refusal(op.name, say::kAttributes, ShowText(name), Worded(say::kOneOf, {op.attribute_names}), remedy);
}

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes) {
  if (op.output[0].has_type) attributes->output = op.output[0].type;
  if (op.type_input() >= 0) TakeOutputType(op, op.input[op.type_input()].types.type[0], attributes);
  std::string error = given.unknown.empty() ? std::string() : UnknownAttribute(op, given.unknown);
  for (int i = 0; i < op.attributes && error.empty(); ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    const GivenAttribute& value = given[declared.role];
    if (!declared.is_text()) {
      error = CheckInteger(op, declared, value, IntegerOf(declared.role, attributes));
      continue;
    }
    int chosen = 0;
    error = CheckText(op, declared, value, &chosen);
    if (!error.empty()) continue;
    if (declared.type != nullptr) attributes->output = declared.type[chosen];
    if (declared.role == AttributeRole::kAlignment) {
      attributes->is_pytorch = std::strcmp(declared.text[chosen], declared.text_default) != 0;
      if (attributes->is_pytorch && !kHasTorchPart) {
        const std::string given = "'" + std::string(declared.text[chosen]) + "'";
        error = Refusal(op.name, AttributeText(declared.name), given, kAllowedWithoutTorchPart, kAddTorchPart);
      }
    }
  }
  return error;
}

void TakeOutputType(const Operator& op, ElementType given, Attributes* attributes) {
  if (op.type_input() >= 0 && op.input[op.type_input()].types.Has(given)) attributes->output = NumberType(given);
}

}  // namespace onnx_philox
