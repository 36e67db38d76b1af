// What a declaration of an operator says. operators_table.h has the declarations themselves; make_operators.py makes it
// from src/onnx_philox/_contract/operators.py.
#pragma once

#include <cstdint>

#include "element_types.h"
#include "output.h"

namespace onnx_philox {

/// What an input means, and so which check applies to it.
enum class Role {
  kState,
  kShape,
  kBound,   ///< of a uniform draw: minval, maxval
  kMoment,  ///< of a normal draw: mean, scale
  kProbability,
  kLogits,
};

struct InputDeclaration {
  const char* name;
  Role role;
  bool optional;
  ElementTypes types;      ///< empty: the type of the first output
  const char* type_names;  ///< `types` as errors list them; null where they are empty

  bool has_output_type() const { return types.count == 0; }
};

struct OutputDeclaration {
  const char* name;
  bool optional;
  bool is_state;
  bool has_type;    ///< false: the attribute `output_type` names the type
  OutputType type;  ///< where `has_type`
};

/// Which attribute it is, and so what its value is for.
enum class AttributeRole { kType, kOutputType, kSampleSize, kGlobalSeed, kOpSeed };
constexpr int kAttributeRoles = 5;

/// An attribute is a text, one of `texts`, or an integer.
struct AttributeDeclaration {
  const char* name;
  AttributeRole role;
  bool is_seed;
  const char* text_default;  ///< of a text; null: the attribute is required
  int texts;                 ///< 0: an integer
  const char* const* text;
  const OutputType* type;  ///< what each text names; null where they name no types
  std::int64_t integer_default;
  std::int64_t minimum;  ///< of an integer
  const char* rule;      ///< the values that it takes, as errors say it

  bool is_text() const { return texts > 0; }
};

/// An operator: its inputs, outputs and attributes in order.
struct Operator {
  const char* name;
  Distribution distribution;
  int inputs;
  const InputDeclaration* input;
  int outputs;
  const OutputDeclaration* output;
  int attributes;
  const AttributeDeclaration* attribute;
  // As errors say it:
  const char* size_source;  ///< what is to blame for an output that is too large
  const char* input_names;
  const char* attribute_names;
};

}  // namespace onnx_philox
