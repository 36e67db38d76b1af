// What a declaration of an operator says. operators_table.h has the declarations themselves; make_operators.py makes it
// from src/onnx_philox/_contract/operators.py.
#pragma once

#include <cstdint>

#include "element_types.h"
#include "output.h"

namespace onnx_philox {

struct InputDeclaration {
  const char* name;
  Role role;
  Parameter parameter;  ///< of inputs that say what is drawn
  bool optional;  ///< a number is left out where it is an empty 1-D tensor, too
  ElementTypes types;      ///< empty: the type of the first output
  const char* type_names;  ///< `types` as errors list them; null where they are empty
  const Limits* limits;    ///< of kNumber, kNumbers and kRowNumbers: which numbers it takes, by OutputType
  const char* rule;        ///< the same, as errors say it
  const char* remedy;

  bool has_output_type() const { return types.count == 0; }
  bool is_parameter() const { return role != Role::kState && role != Role::kShape; }
  /// Whether it may have more than one number.
  bool is_array() const { return is_parameter() && role != Role::kNumber; }
};

struct OutputDeclaration {
  const char* name;
  bool optional;
  bool is_state;
  bool has_type;    ///< false: it has the type of an input, or that which the attribute `output_type` names
  OutputType type;  ///< where `has_type`
  int type_of;      ///< the input whose type it has; -1: another type
};

/// An attribute is a text, one of `texts`, or an integer.
struct AttributeDeclaration {
  const char* name;
  AttributeRole role;
  bool is_seed;
  bool is_written;           ///< whether a node says it even where it is the default
  const char* text_default;  ///< of a text; null: the attribute is required
  int texts;                 ///< 0: an integer
  const char* const* text;
  const OutputType* type;  ///< what each text names; null where they name no types
  std::int64_t integer_default;
  std::int64_t minimum, maximum;  ///< of an integer
  const char* rule;      ///< the values that it takes, as errors say it

  bool is_text() const { return texts > 0; }
};

/// The name of an attribute that some operator has.
struct AttributeName {
  const char* name;
  const char* like;  ///< what it is mistaken for where an operator has that; null: nothing
};

/// How many words of the generator an element takes.
struct Words {
  unsigned each;  ///< 0: two for a type of 64 bits, else one
  int by;         ///< the input of that type; -1: the first output
};

/// An operator: its inputs, outputs and attributes in order. The first output is drawn; a second one may be, before the
/// next state comes last.
struct Operator {
  const char* name;
  Distribution distribution;
  Words words;
  int inputs;
  const InputDeclaration* input;
  int outputs;
  OutputDeclaration output[3];
  int attributes;
  const AttributeDeclaration* attribute;
  bool draws_rows;  ///< whether what it draws is a whole row, along the last of one or two dimensions
  // As errors say it:
  const char* size_source;  ///< what is to blame for an output that is too large
  const char* input_names;
  const char* attribute_names;

  /// The input whose type the first output has; -1 if that has another type.
  int type_input() const { return output[0].type_of; }
  int state_output() const { return outputs - 1; }
  /// Whether a second output is drawn beside the first: a boolean for each element.
  bool has_mask() const { return outputs > 2; }
};

}  // namespace onnx_philox
