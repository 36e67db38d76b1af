// What the plugin does to a node's inputs, what the node can do against it, and what it must refuse.
#include <memory>
#include <string>

#include "exact_words.h"
#include "folded.h"
#include "half_precision.h"
#include "node.h"
#include "openvino/op/parameter.hpp"
#include "openvino_types.h"
#include "plugin_names.h"
#include "refuse.h"
#include "settled.h"

namespace onnx_philox {

namespace {

std::string SmallConstant() { return Worded(say::kSmallConstant, {std::to_string(kMaxElements)}); }

}  // namespace

ElementType RandomOp::ArrivedType(int input) const {
  return ElementTypeOf(get_input_element_type(static_cast<std::size_t>(input)));
}

/// The type that the model declares for the state and the next state.
ElementType RandomOp::StateType() const { return Has(Past::kSignedState) ? ElementType::kI32 : ElementType::kU32; }

/// The declared type of a number, as far as it is known.
ElementType RandomOp::DeclaredType(int input, ElementType arrived) const {
  if (declared_[input] != ElementType::kUnknown) return declared_[input];
  const ElementTypes types = TypesAt(input);
  return types.Has(arrived) ? arrived : types.type[0];
}

/// Whether an input no longer has a type that a model may declare for it.
bool RandomOp::HasNarrowedInput() const {
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    const ElementType type = ArrivedType(i);
    if (RoleOf(i) == Role::kState && type == StateType()) continue;
    if (type != ElementType::kUnknown && !TypesAt(i).Has(type)) return true;
    if (IsData(i) && declared_[i] != ElementType::kUnknown && type != declared_[i]) return true;
  }
  return HasNarrowedIntegers();
}

/// Whether the plugin turned the i64 `shape` of booleans into i32 (see WithWideShape), or the state of booleans that have
/// no `shape`, and so them into u8.
bool RandomOp::HasNarrowedIntegers() const {
  if (!Has(Past::kValidated) || (attributes_.output != OutputType::kBool && !op_.has_mask())) return false;
  const int shape = IndexOf(op_, Role::kShape), by = shape >= 0 ? shape : IndexOf(op_, Role::kState);
  if (!HasInput(by) || (by != shape && Has(Past::kSignedState))) return false;
  if (by == shape) return ArrivedType(by) == ElementType::kI32;
  // It leaves next states as they are.
  const RandomOp* node = this;
  for (int state = by; node->ArrivedType(state) != ElementType::kI32; state = IndexOf(node->op_, Role::kState)) {
    const ov::Node* const source = node->get_input_node_ptr(static_cast<std::size_t>(state));
    if (IsSettled(*source)) return true;
    node = dynamic_cast<const RandomOp*>(source);
    if (node == nullptr || !node->HasInput(IndexOf(node->op_, Role::kState))) return false;
  }
  return true;
}

/// What IR says about a node whose inputs the plugin changed; empty for others.
std::string RandomOp::NarrowedText() const {
  if (!Has(Past::kValidated)) return "";
  const std::string state = Has(Past::kSignedState) ? std::string(" ") + kSignedStateMark : "";
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    const bool is_half = RoleOf(i) == Role::kLogits &&
                         (declared_[i] == ElementType::kF16 || declared_[i] == ElementType::kBF16);
    if (is_half && ArrivedType(i) == ElementType::kF32) return ElementTypeName(declared_[i]) + state;
    const bool is_other = IsData(i) && declared_[i] != ElementType::kUnknown;
    if (is_other && HasNarrowedInput()) return ElementTypeName(declared_[i]) + state;
  }
  return HasNarrowedInput() ? kNarrowedAll + state : "";
}

void RandomOp::ReadNarrowed(const std::string& text) {
  const std::string first = text.substr(0, text.find(' '));
  ElementType declared = ElementType::kUnknown;
  for (int i = 0; i < op_.inputs; ++i) {
    if (RoleOf(i) != Role::kLogits && !IsData(i)) continue;
    for (int t = 0; t < op_.input[i].types.count; ++t) {
      const ElementType type = op_.input[i].types.type[t];
      if (first == ElementTypeName(type)) declared = declared_[i] = type;
    }
  }
  const bool is_narrowed = first == kNarrowedAll || declared != ElementType::kUnknown;
  for (const Past flag : {Past::kValidated, Past::kCloned, Past::kRounded}) Set(flag, is_narrowed);
  Set(Past::kSignedState, is_narrowed && text == first + " " + kSignedStateMark);
}

/// Records the types of `shape` and of numbers as long as only the user can have chosen them.
void RandomOp::NoteDeclared() {
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (RoleOf(i) == Role::kState && !Has(Past::kCloned)) Set(Past::kSignedState, ArrivedType(i) == ElementType::kI32);
    if (RoleOf(i) == Role::kShape && !Has(Past::kCloned)) declared_[i] = ArrivedType(i);
    if (!op_.input[i].is_parameter() || (Has(Past::kCloned) && declared_[i] != ElementType::kUnknown)) continue;
    const ElementType type = ArrivedType(i);
    const ElementTypes types = TypesAt(i);
    const bool is_narrowed = Has(Past::kCloned) && IsNarrowing(types.type[0], type);
    declared_[i] = types.Has(type) ? type : is_narrowed ? types.type[0] : ElementType::kUnknown;
  }
  // Data tell of the precision f16 by themselves.
  if (Has(Past::kCloned) || attributes_.output != OutputType::kF32 || op_.type_input() >= 0) return;
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (IsNumber(i)) return AddWitness(input(static_cast<std::size_t>(i)), upstream_);
  }
}

/// Reacts to the precision f16 when the node first meets it. It takes the exact value of what the plugin rounded last,
/// right before this node, and takes what the plugin computed in f16 as it is. Returns whether the node meets that
/// precision.
bool RandomOp::MeetHalf() {
  if (!Has(Past::kCloned)) return false;
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (!op_.input[i].is_parameter()) continue;
    if (declared_[i] != ElementType::kF32 || ArrivedType(i) != ElementType::kF16) continue;
    Set(Past::kRounded);
    if (captured_[i].known()) continue;
    const ov::Input<ov::Node> in = input(static_cast<std::size_t>(i));
    // A parameter of a body, or of the model: its earlier value is lost.
    const bool is_parameter = ov::is_type<ov::op::v0::Parameter>(in.get_source_output().get_node());
    if (is_parameter && IsData(i)) continue;
    if (is_parameter) Refuse(op_, InputText(op_.input[i].name), say::kHalfAtBorder, say::kHalfInBody, say::kCastOutside);
    TakeBeforeRounding(in);
  }
  return Has(Past::kRounded);
}

/// Refuses an input that is not a captured constant and that the plugin would pass in fewer bits.
void RandomOp::RefuseNarrowed(int input) const {
  // A top_k beyond int32 is a stated limit, as a dimension is.
  if (RoleOf(input) == Role::kRowNumbers) return;
  const ElementTypes types = TypesAt(input);
  const ElementType type = types.Has(ArrivedType(input)) ? ArrivedType(input) : types.type[0];
  if (type != ElementType::kF64 && type != ElementType::kI64) return;
  const std::string name = op_.input[input].name;
  const bool is_scaled = op_.input[input].has_output_type();
  const std::string allowed = is_scaled ? say::kAConstant : SmallConstant();
  Refuse(op_, InputText(name.c_str()), Worded(say::kNotConstant, {ElementTypeName(type)}),
         Worded(say::kRoundedInputs, {allowed}), Worded(is_scaled ? say::kScaleInGraph : say::kCastToF32, {name}));
}

/// Refuses a state that the plugin would compute differently from what the model says.
void RandomOp::RefuseAltered(int input) {
  const auto altered = AlteredPart(*get_input_node_ptr(static_cast<std::size_t>(input)), upstream_);
  if (!altered.has_value()) return;
  Refuse(op_, InputText(op_.input[input].name), altered->given, altered->allowed,
         Worded(say::kWholeState, {SmallConstant()}));
}

/// The type in which the plugin computes with values of a declared type; by now, bounds, mean and scale have it.
ov::element::Type RandomOp::ComputedType() const {
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (op_.input[i].has_output_type() || i == op_.type_input()) {
      return get_input_element_type(static_cast<std::size_t>(i));
    }
  }
  return OpenVinoType(attributes_.output);
}

bool RandomOp::IsComputedNarrower() const {
  const ov::element::Type declared = OpenVinoType(attributes_.output), computed = ComputedType();
  return (computed == ov::element::f32 && declared == ov::element::f64) ||
         (computed == ov::element::i32 && declared == ov::element::i64);
}

/// Whether the plugin has changed all types that it changes: integers are the last of them. Not at the precision f16.
bool RandomOp::MaySettle() const {
  if (!Has(Past::kCloned) || Has(Past::kSettled) || !IsTransformed(*this) || !Stays(*this)) return false;
  bool is_narrowed = false;
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    const ElementType type = ArrivedType(i), declared = RoleOf(i) == Role::kState ? StateType() : declared_[i];
    if (op_.input[i].is_parameter() && type == ElementType::kF16) return false;
    const bool is_wide = declared == ElementType::kI64 || declared == ElementType::kU32;
    is_narrowed = is_narrowed || (is_wide && type == ElementType::kI32);
  }
  return is_narrowed;
}

}  // namespace onnx_philox
