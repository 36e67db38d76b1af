// The operators of the domain `onnx_philox`: their inputs, outputs and attributes, and the checks of what a node is given.
//
// Both plugins are made of this; what is known of a node grows from load to run, and each check is called where its
// part is known. Every check returns an error text, empty where nothing is wrong. A text has four parts, in the words
// of the Python package: which operator, what it was given, what is allowed, what to do.
//
//   GivenAttributes given;                        // for each i: given[op.attribute[i].role], read as op.attribute[i].name
//   Attributes attributes;
//   std::string error = CheckAttributes(op, given, &attributes);                                  // at load
//   Arguments arguments;
//   error = CheckInput(op, i, known, attributes, &arguments);            // each input, or CheckLeftOut; at load and at run
//   error = CheckTogether(op, attributes, arguments);                                             // likewise
//   error = CheckMemory(op, arguments.dimensions, attributes.output, MemoryFor(bytes));           // at run
//   Draw draw = DrawOf(op, attributes, arguments, values);
//   SplitDraw, Fill, Advance(arguments.state, WordsPerElement(draw), elements): see kernels.h
//
// The Python package checks in the order of an operator's inputs, the range after them, and memory last.
#pragma once

#include <cstdint>
#include <string>

#include "kernels.h"
#include "memory.h"
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
enum class Role {
  kState,
  kShape,
  kBound,          ///< of a uniform draw: minval, maxval
  kParameter,      ///< of a normal draw: mean, scale
  kProbabilities,  ///< p
  kLogits,
};

struct InputDeclaration {
  const char* name;
  Role role;
  bool optional;
};

struct OutputDeclaration {
  const char* name;
  bool optional;
};

/// What an attribute means. kOutputType is a text, the others are integers.
enum class AttributeRole { kOutputType, kSampleSize, kGlobalSeed, kOpSeed };

struct AttributeDeclaration {
  const char* name;
  AttributeRole role;
  const char* text_default;      ///< of kOutputType; null: the attribute is required
  std::int64_t integer_default;  ///< of the others
};

constexpr int kMaxInputs = 4;
constexpr int kMaxAttributes = 4;

/// An operator. Its inputs, outputs and attributes in order. Types: `state` and `next_state` u32, `shape` i64 or i32,
/// bounds and parameters Attributes::output, `p` f32 or f64, `logits` f16, f32 or f64; the first output
/// Attributes::output (u32 where that is kBits).
struct Operator {
  const char* name;
  Distribution distribution;
  int inputs;
  InputDeclaration input[kMaxInputs];
  int outputs;
  OutputDeclaration output[2];
  int attributes;
  AttributeDeclaration attribute[kMaxAttributes];
};

/// RandomGenerator: random bits, as DML_RANDOM_GENERATOR_OPERATOR_DESC draws them.
/// Inputs: 0 `state`, 1 `shape`. Outputs: 0 `bits`, 1 `next_state` (optional).
/// Attributes: `type`, only and default value "philox4x32_10"; `global_seed`, `op_seed`.
extern const Operator kRandomGenerator;

/// RandomUniform: values in [minval, maxval), as OpenVINO's RandomUniform-8 draws them, alignment TensorFlow.
/// Inputs: 0 `shape`, 1 `minval`, 2 `maxval`, 3 `state` (optional). Outputs: 0 `values`, 1 `next_state` (optional).
/// Attributes: `output_type`, required, one of i32, i64, f16, bf16, f32, f64; `global_seed`, `op_seed`.
extern const Operator kRandomUniform;

/// RandomNormal: normal values, as TensorFlow makes them of uniform ones (Box and Muller), times scale, plus mean.
/// Inputs: 0 `shape`, 1 `mean`, 2 `scale`, 3 `state` (optional). Outputs: 0 `values`, 1 `next_state` (optional).
/// Attributes: `output_type`, required, one of f16, bf16, f32, f64; `global_seed`, `op_seed`.
extern const Operator kRandomNormal;

/// RandomBernoulli: true with probability p, where a uniform value of p's type is below p.
/// Inputs: 0 `shape`, 1 `p` (one element, or of exactly that shape), 2 `state` (optional).
/// Outputs: 0 `values`, bool, 1 `next_state` (optional). Attributes: `global_seed`, `op_seed`.
extern const Operator kRandomBernoulli;

/// RandomCategorical: classes by their unnormalised log-probabilities, as ONNX's Multinomial.
/// Inputs: 0 `logits` [batch, classes], 1 `state` (optional).
/// Outputs: 0 `values` [batch, sample_size], 1 `next_state` (optional).
/// Attributes: `sample_size`, 1 or more, default 1; `output_type`, i32 (default) or i64; `global_seed`, `op_seed`.
extern const Operator kRandomCategorical;

constexpr int kOperators = 5;
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

/// The attributes that a model gives a node; those that its operator does not have are not looked at.
struct GivenAttributes {
  GivenAttribute type;  ///< `type` or `output_type`
  GivenAttribute sample_size;
  GivenAttribute global_seed;
  GivenAttribute op_seed;

  GivenAttribute& operator[](AttributeRole role);
  const GivenAttribute& operator[](AttributeRole role) const { return const_cast<GivenAttributes&>(*this)[role]; }
};

/// The attributes of a node, checked and complete.
struct Attributes {
  OutputType output = OutputType::kBits;  ///< of the first output, of bounds and of parameters
  std::int64_t sample_size = 1;
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

/// A shape as far as it is known, of at most kMaxRank dimensions.
struct ShapeSoFar {
  int rank = Known::kUnknownRank;
  std::int64_t dimension[kMaxRank] = {};
};

/// The dimensions of an output, checked.
struct Dimensions {
  int rank = 0;
  std::int64_t dimension[kMaxRank] = {};
  std::int64_t elements = 1;
  std::int64_t bytes = 0;
};

/// What the inputs of a node say, as far as it is known. `probabilities` and `logits` point into what the node was given.
struct Arguments {
  State state{};  ///< zeros where there is none
  Bounds bounds{};
  Affine affine{};
  Probabilities probabilities{};
  Logits logits{};
  ShapeSoFar p;       ///< the shape of `p`
  ShapeSoFar output;  ///< the first output's shape
  Dimensions dimensions;  ///< the same, where all of it is known: `has_dimensions`
  bool has_dimensions = false;
  bool has_value[kMaxInputs] = {};  ///< whether the value of an input is known
};

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes);

/// The error about an input that is not optional and not connected, or about a missing state with both seeds 0; empty
/// where input `index` may be left out.
std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes);

/// Input `index` alone, by its role: one of the checks below. `arguments` gets what it says where that is known.
std::string CheckInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                       Arguments* arguments);

/// What inputs must be to each other: minval to maxval, `p` to `shape`. Checks what is known; after CheckInput has passed
/// each of them.
std::string CheckTogether(const Operator& op, const Attributes& attributes, const Arguments& arguments);

/// The draw that a node is, once everything is known; its first element goes to `out`.
Draw DrawOf(const Operator& op, const Attributes& attributes, const Arguments& arguments, void* out);

/// `state` is written where the value is known and right.
std::string CheckState(const Operator& op, const Known& known, State* state);

/// `dimensions` is written where the value is known and right, which for a known length of 0 it is without data: then
/// `*complete` is set. Memory is CheckMemory's concern.
std::string CheckShape(const Operator& op, const Known& known, OutputType output, Dimensions* dimensions,
                       bool* complete = nullptr);

/// One finite number of the output's type: minval, maxval, mean or scale, as `name` says. `bits` is written where the
/// value is known, see Bounds.
std::string CheckNumber(const Operator& op, const char* name, const Known& known, OutputType output,
                        std::uint64_t* bits);

/// Both bounds, once CheckNumber has passed each of them.
std::string CheckRange(const Operator& op, OutputType output, const Bounds& bounds);

/// `p`: its shape beside the output's, one element or the same; then its values. Writes `*probabilities` where the values
/// are known.
std::string CheckProbabilities(const Operator& op, const Known& known, const ShapeSoFar& output,
                               Probabilities* probabilities);

/// `logits`. Writes `*output`, and `*logits` where the values are known.
std::string CheckLogits(const Operator& op, const Known& known, const Attributes& attributes, Logits* logits,
                        ShapeSoFar* output);

// Memory: an output that it cannot hold is refused, where an attempt might end the process. Only at run, and where a
// runtime allocates when it loads: a model may be prepared on another machine. `memory` is MemoryFor(dimensions.bytes).

/// Before the output is allocated. What the process holds counts as free: the output may be written into memory that a
/// runtime keeps from the last run. Where it cannot be, `memory.held` is to be 0.
std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory);

/// Once it is allocated, at `data`, and before it is written to: systems promise more memory than there is.
std::string CheckAllocated(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory,
                           const void* data);

/// The error about an output whose allocation failed.
std::string OutOfMemory(const Operator& op, const Dimensions& dimensions, OutputType output);

/// The error about any other allocation that failed.
std::string OutOfMemory(const Operator& op);

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
