// The operators of the domain `onnx_philox`: their inputs, outputs and attributes, and the checks of what a node is given.
//
// Both plugins are made of this; what is known of a node grows from load to run, and each check is called where its
// part is known. Every check returns an error text, empty where nothing is wrong. A text has four parts, in the words
// of the Python package: which operator, what it was given, what is allowed, what to do.
//
//   Attributes attributes;
//   std::string error = CheckAttributes(kRandomUniform, given, &attributes);                          // at load
//   Known shape{ElementType::kI64, 1, &length, data};
//   Dimensions dimensions;
//   error = CheckShape(kRandomUniform, shape, attributes.output, &dimensions);                        // at run
//
// The Python package checks in the order of an operator's inputs, the range after them, and memory last.
#pragma once

#include <cstdint>
#include <string>

#include "output.h"
#include "state.h"

namespace onnx_philox {

constexpr char kDomain[] = "onnx_philox";
constexpr int kOpsetVersion = 1;
constexpr int kMaxRank = 8;

/// Element types that an input can be found to have; those past kF64 are never right and only named in errors.
enum class ElementType {
  kUnknown,  ///< not known yet: nothing is checked
  kU32,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kU64,
  kString,
  kOther,
};

/// "u32", "f32", ...; NumPy's names for the types that no operator takes.
const char* ElementTypeName(ElementType type);
ElementType ElementTypeOf(OutputType type);

/// What an input means, and so which check it gets.
enum class Role { kState, kShape, kBound };

struct InputDeclaration {
  const char* name;
  Role role;
  bool optional;
};

struct OutputDeclaration {
  const char* name;
  bool optional;
};

/// An operator. Its inputs and outputs in order; their types: `state` and `next_state` u32, `shape` i64 or i32, the
/// bounds and the first output Attributes::output (u32 for RandomGenerator).
struct Operator {
  const char* name;
  int inputs;
  InputDeclaration input[4];
  int outputs;
  OutputDeclaration output[2];
  /// The attribute that is a string; `global_seed` and `op_seed`, int64 with default 0, follow it in every operator.
  const char* type_attribute;
  const char* type_default;  ///< null: the attribute is required
};

/// RandomGenerator: random bits, as DML_RANDOM_GENERATOR_OPERATOR_DESC draws them.
/// Inputs: 0 `state`, 1 `shape`. Outputs: 0 `bits`, 1 `next_state` (optional).
/// Attributes: `type`, only and default value "philox4x32_10"; `global_seed`, `op_seed`.
extern const Operator kRandomGenerator;

/// RandomUniform: values in [minval, maxval), as OpenVINO's RandomUniform-8 draws them, alignment TensorFlow.
/// Inputs: 0 `shape`, 1 `minval`, 2 `maxval`, 3 `state` (optional). Outputs: 0 `values`, 1 `next_state` (optional).
/// Attributes: `output_type`, required, one of i32, i64, f16, bf16, f32, f64; `global_seed`, `op_seed`.
extern const Operator kRandomUniform;

constexpr int kOperators = 2;
extern const Operator* const kAllOperators[kOperators];

/// An attribute as a model gives it, of whatever kind.
struct GivenAttribute {
  enum class Kind { kMissing, kText, kInteger, kFloat, kOther };
  Kind kind = Kind::kMissing;
  std::string text;  ///< of kText; of kOther, how an error is to show the value
  std::int64_t integer = 0;
  double number = 0;

  static GivenAttribute Text(std::string value);
  static GivenAttribute Integer(std::int64_t value);
  static GivenAttribute Float(double value);
  static GivenAttribute Other(std::string shown);
};

struct GivenAttributes {
  GivenAttribute type;  ///< `type` or `output_type`
  GivenAttribute global_seed;
  GivenAttribute op_seed;
};

/// The attributes of a node, checked and complete.
struct Attributes {
  OutputType output = OutputType::kBits;  ///< of the first output, and of the bounds
  std::int64_t global_seed = 0;
  std::int64_t op_seed = 0;
};

/// What is known of an input.
struct Known {
  static constexpr int kUnknownRank = -1;
  static constexpr std::int64_t kUnknownDimension = -1;

  ElementType type = ElementType::kUnknown;
  int rank = kUnknownRank;
  const std::int64_t* dimensions = nullptr;  ///< `rank` of them; kUnknownDimension where one is not known
  const void* data = nullptr;                ///< null: the value is not known (or there are no elements)
};

/// The dimensions of an output, checked.
struct Dimensions {
  int rank = 0;
  std::int64_t dimension[kMaxRank] = {};
  std::int64_t elements = 1;
  std::int64_t bytes = 0;
};

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes);

/// The error about an input that is not optional and not connected, or about a missing state with both seeds 0; empty
/// where input `index` may be left out.
std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes);

/// `state` is written where the value is known and right.
std::string CheckState(const Operator& op, const Known& known, State* state);

/// `dimensions` is written where the value is known and right, which for a known length of 0 it is without data: then
/// `*complete` is set. Memory is CheckMemory's concern.
std::string CheckShape(const Operator& op, const Known& known, OutputType output, Dimensions* dimensions,
                       bool* complete = nullptr);

/// One bound, `name` being minval or maxval; `bits` is written where the value is known, see Bounds.
std::string CheckBound(const Operator& op, const char* name, const Known& known, OutputType output,
                       std::uint64_t* bits);

/// Both bounds, once CheckBound has passed each of them.
std::string CheckRange(const Operator& op, OutputType output, const Bounds& bounds);

/// Refuses an output larger than the memory within this process's reach, where an attempt might end the process. Only at
/// run: a model may be prepared on another machine.
std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output);

/// The dimensions of an output given as numbers, without the input's own type and rank: the part of CheckShape that
/// looks at the values.
std::string CheckDimensions(const Operator& op, const std::int64_t* dimensions, int rank, OutputType output,
                            Dimensions* checked);

/// An error of four parts, for what only a plugin can see: "op: what is given; allowed: allowed. remedy".
std::string Refusal(const char* op, const std::string& what, const std::string& given, const std::string& allowed,
                    const std::string& remedy);

/// A number as Python prints it: 2.0, 0.1, 1e-05, nan, inf.
std::string ShowFloat(double value);
/// A text as Python prints it: in quotes, with escapes; bytes that are no UTF-8 become U+FFFD.
std::string ShowText(const std::string& text);
/// [2, ?, 3]: ? for Known::kUnknownDimension where `unknowns`, the number itself where not.
std::string ShowDimensions(const std::int64_t* dimensions, int rank, bool unknowns = false);

}  // namespace onnx_philox
