// The attributes of a node: as a model gives them, and checked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "operators.h"
#include "philox.h"

namespace onnx_philox {

/// An attribute as a model gives it, of any kind.
struct GivenAttribute {
  enum class Kind { kMissing, kText, kInteger, kFloat, kOther };
  Kind kind = Kind::kMissing;
  std::string text;  ///< of kText; of kOther, how an error is to show the value
  std::int64_t integer = 0;
  double number = 0;

  static GivenAttribute Text(std::string value) { return {Kind::kText, std::move(value)}; }
  static GivenAttribute Integer(std::int64_t value) { return {Kind::kInteger, {}, value}; }
  static GivenAttribute Float(double value) { return {Kind::kFloat, {}, 0, value}; }
  static GivenAttribute Other(std::string shown) { return {Kind::kOther, std::move(shown)}; }
};

/// The attributes that a model gives a node.
struct GivenAttributes {
  GivenAttribute known[kAttributeRoles];
  /// The name of the first attribute found that the operator does not have; empty if there is none.
  std::string unknown;

  GivenAttribute& operator[](AttributeRole role) { return known[static_cast<int>(role)]; }
  const GivenAttribute& operator[](AttributeRole role) const { return known[static_cast<int>(role)]; }
};

/// The attributes of a node, checked and complete.
struct Attributes {
  OutputType output = OutputType::kBits;  ///< of the first output, of bounds and of moments; see TakeOutputType
  std::int64_t sample_size = 1;
  std::int64_t replacement = 1;  ///< 0 or 1
  std::int64_t global_seed = 0;
  std::int64_t op_seed = 0;
  bool is_pytorch = false;  ///< alignment "pytorch": the numbers are torch's, and so is the state

  /// How many words a state has.
  int state_words() const { return is_pytorch ? kTorchStateWords : kStateWords; }
};

/// The refusal of an attribute that an operator does not have.
std::string UnknownAttribute(const Operator& op, const std::string& name);

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes);

/// Gives the first output the type of the input whose type it has, as soon as that is known. Types that the input may not
/// have leave it as it is. Call it after CheckAttributes, before the inputs are checked.
void TakeOutputType(const Operator& op, ElementType given, Attributes* attributes);

}  // namespace onnx_philox
