// The node, except what the plugin does to it (narrowing.cpp), its constants (node_constants.cpp) and its runs
// (evaluate.cpp): see node.h.
#include "node.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "constants.h"
#include "consumers.h"
#include "folded.h"
#include "kernels.h"
#include "known_shape.h"
#include "openvino/op/constant.hpp"
#include "openvino/op/util/framework_node.hpp"
#include "openvino_types.h"
#include "plugin_names.h"
#include "refuse.h"
#include "settled.h"
#include "torch_part.h"

namespace onnx_philox {

namespace {

constexpr Dimensions kNoDimensions{-1};

/// Shows an attribute to IR; returns whether it came back changed.
bool Visit(ov::AttributeVisitor& visitor, const std::string& name, std::string shown, std::string* text) {
  *text = shown;
  visitor.on_attribute(name, *text);
  return *text != shown;
}

void VisitInteger(ov::AttributeVisitor& visitor, const std::string& name, GivenAttribute* given, bool* changed) {
  std::int64_t integer = given->integer;
  visitor.on_attribute(name, integer);
  if (integer == given->integer) return;
  *given = GivenAttribute::Integer(integer);
  *changed = true;
}

/// Whether an operator draws by probabilities, which the model may clamp.
bool HasProbabilities(const Operator& op) { return IndexOf(op, Parameter::kP) >= 0; }

/// The first attribute that IR has for a node but that its operator does not have; empty if there is none.
///
/// A reader of IR gives all of them at once only to a caller that asks for the attributes of another framework's node.
std::string UnknownIn(const Operator& op, ov::AttributeVisitor& visitor) {
  ov::op::util::FrameworkNodeAttrs all;
  all.set_type_name(op.name);
  all.set_opset_name(kExtension);
  visitor.on_attribute("framework_node_attrs", all);
  std::string first;
  for (const auto& [name, text] : all) {
    bool is_known = name == kNarrowed || name == kRounded || (name == kClamped && HasProbabilities(op));
    for (int i = 0; i < op.attributes; ++i) is_known = is_known || name == op.attribute[i].name;
    for (int i = 0; i < op.inputs; ++i) is_known = is_known || name == std::string(kCaptured) + op.input[i].name;
    if (!is_known && (first.empty() || name < first)) first = name;
  }
  return first;
}

/// 2: state, shape
std::string InputCount(const Operator& op) {
  std::string names;
  for (int i = 0; i < op.inputs; ++i) names += (i > 0 ? ", " : "") + std::string(op.input[i].name);
  return Worded(say::kAtMost, {std::to_string(op.inputs), names});
}

}  // namespace

RandomOp::RandomOp(const Operator& op) : op_(op) {
  for (int i = 0; i < op.attributes; ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    if (!declared.is_text()) {
      given_[declared.role] = GivenAttribute::Integer(declared.integer_default);
    } else if (declared.text_default != nullptr) {
      given_[declared.role] = GivenAttribute::Text(declared.text_default);
    }
  }
}

void RandomOp::SetAttributes(const GivenAttributes& given) {
  ThrowIf(CheckAttributes(op_, given, &attributes_));
  for (int i = 0; i < op_.attributes; ++i) {
    const AttributeRole role = op_.attribute[i].role;
    if (given[role].kind != GivenAttribute::Kind::kMissing) given_[role] = given[role];
  }
  attributes_checked_ = true;
}

bool RandomOp::visit_attributes(ov::AttributeVisitor& visitor) {
  if (!Has(Past::kValidated)) {
    given_.unknown = UnknownIn(op_, visitor);
    Set(Past::kFromFile);
  }
  // A model may be saved while it runs, so this writes nothing unless the visitor changed it.
  bool changed = false;
  std::string text;
  for (int i = 0; i < op_.attributes; ++i) {
    const AttributeDeclaration& declared = op_.attribute[i];
    GivenAttribute& given = given_[declared.role];
    if (Has(Past::kValidated) && !declared.is_written && given.text == declared.text_default) continue;
    if (!declared.is_text()) {
      VisitInteger(visitor, declared.name, &given, &changed);
    } else if (Visit(visitor, declared.name, given.text, &text)) {
      given = GivenAttribute::Text(text);
      changed = true;
    }
  }
  for (int i = 0; i < op_.inputs; ++i) {
    if (RoleOf(i) == Role::kShape || IsData(i)) continue;
    if (!Visit(visitor, std::string(kCaptured) + op_.input[i].name, ToText(captured_[i], TypesAt(i)), &text)) continue;
    captured_[i] = Captured();
    captured_[i].text = text;
    changed = true;
  }
  if (changed) {
    attributes_checked_ = false;
    arguments_ = Arguments();
  }
  if (HasProbabilities(op_) && (!Has(Past::kValidated) || clamp_ != Clamp::kNone)) {
    if (Visit(visitor, kClamped, ClampText(clamp_), &text) && !ClampFromText(text, &clamp_)) {
      Refuse(op_, AttributeText(kClamped), ShowText(text), Worded(say::kNanTo, {kNanTo0, kNanTo1}), say::kSaveAgain);
    }
  }
  const bool is_rounded = IsTransformed(*this) && rounded_ != ElementType::kUnknown;
  if (!Has(Past::kValidated) || is_rounded) {
    Visit(visitor, kRounded, is_rounded ? ElementTypeName(rounded_) : "", &text);
    for (const ElementType type : {ElementType::kF16, ElementType::kBF16}) {
      if (text == ElementTypeName(type)) rounded_ = type;
    }
  }
  const std::string narrowed = NarrowedText();
  if (!Has(Past::kValidated) || !narrowed.empty()) {
    if (Visit(visitor, kNarrowed, narrowed, &text)) ReadNarrowed(text);
  }
  return true;
}

std::shared_ptr<ov::Node> RandomOp::CloneInto(std::shared_ptr<RandomOp> clone, const ov::OutputVector& inputs) const {
  clone->given_ = given_;
  clone->attributes_ = attributes_;
  clone->attributes_checked_ = attributes_checked_;
  std::copy(std::begin(captured_), std::end(captured_), clone->captured_);
  clone->arguments_ = arguments_;
  clone->past_ = past_;
  clone->Set(Past::kCloned);
  if (IsAsked(*this, inputs)) clone->Set(Past::kAsked);
  if (!IsTransformed(*this)) clone->Set(Past::kFromFile, false);
  std::copy(std::begin(declared_), std::end(declared_), clone->declared_);
  clone->clamp_ = clamp_;
  clone->rounded_ = RoundedBehind();
  clone->set_arguments(inputs);
  clone->constructor_validate_and_infer_types();
  return clone;
}

/// Before OpenVINO transforms a model, what its nodes say; then what they said.
ElementType RandomOp::RoundedBehind() const {
  if (Has(Past::kCloned) && IsTransformed(*this)) return rounded_;
  const bool is_wide = attributes_.output == OutputType::kF32 || attributes_.output == OutputType::kF64;
  const ov::element::Type type = is_wide ? RoundedTo(output(0)) : ov::element::Type(ov::element::dynamic);
  return type.is_dynamic() ? ElementType::kUnknown : ElementTypeOf(type);
}

void RandomOp::CheckOwnAttributes() {
  GivenAttributes given = given_;
  for (GivenAttribute& attribute : given.known) {
    if (attribute.kind == GivenAttribute::Kind::kText && attribute.text.empty()) attribute = {};
  }
  ThrowIf(CheckAttributes(op_, given, &attributes_));
  attributes_checked_ = true;
}

void RandomOp::validate_and_infer_types() {
  ThrowIf(ActiveKernels().kernels == nullptr ? op_.name + (": " + ActiveKernels().error) : std::string());
  if (!attributes_checked_) CheckOwnAttributes();
  ReadTexts();
  if (get_input_size() > static_cast<std::size_t>(op_.inputs)) {
    Refuse(op_, Worded(say::kNumberOf, {"inputs"}), std::to_string(get_input_size()), InputCount(op_), say::kRemoveTheOthers);
  }
  // Forgets what is known first, since that may point into captured values that disappear.
  const Dimensions before = arguments_.has_dimensions ? arguments_.dimensions : kNoDimensions;
  arguments_ = Arguments();
  upstream_ = Upstream();
  const int p = IndexOf(op_, Parameter::kP);
  if (clamp_ == Clamp::kNone && p >= 0 && HasInput(p)) clamp_ = TakeBeforeClamp(input(static_cast<std::size_t>(p)));
  NoteDeclared();
  if (op_.type_input() >= 0) TakeOutputType(op_, declared_[op_.type_input()], &attributes_);
  const bool is_half_new = !Has(Past::kRounded) && MeetHalf();
  for (int i = 0; i < op_.inputs; ++i) {
    if (!HasInput(i)) {
      ThrowIf(CheckLeftOut(op_, i, attributes_));
    } else if (RoleOf(i) == Role::kShape) {
      ValidateShape(i, before);
    } else if (IsData(i)) {
      const KnownShape shape(get_input_partial_shape(static_cast<std::size_t>(i)));
      const ElementType arrived = ArrivedType(i);  // in a model, that which it declares
      const ElementType type = Has(Past::kCloned) ? DeclaredType(i, arrived) : arrived;
      ThrowIf(CheckInput(op_, i, shape.WithType(type), attributes_, &arguments_));
    } else {
      ValidateCaptured(i);
    }
  }
  ThrowIf(CheckTogether(op_, attributes_, arguments_));
  AddState();
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (RoleOf(i) == Role::kShape || IsData(i) || captured_[i].known()) continue;
    RefuseNarrowed(i);
    // From i32 on, the plugin has also changed the nodes.
    const bool is_before = Has(Past::kSignedState) ? !Has(Past::kCloned) : ArrivedType(i) == ElementType::kU32;
    if (RoleOf(i) == Role::kState && is_before && !Has(Past::kAsked)) RefuseAltered(i);
  }
  SetOutputs();
  // Once only: the plugin merges these into the nodes after them.
  if (is_half_new && attributes_.output == OutputType::kF32) ConvertForConsumers(output(0), ov::element::f16);
  upstream_ = Upstream();
  Set(Past::kValidated);
  if (MaySettle()) Settle(*this);
}

/// A node without a state gets one that says the same, if it has a mask: by the state's type it will know when the
/// plugin turns booleans into u8 (see HasNarrowedIntegers).
void RandomOp::AddState() {
  const int state = IndexOf(op_, Role::kState);
  if (Has(Past::kCloned) || !op_.has_mask() || HasInput(state)) return;
  std::uint32_t words[std::max(kStateWords, kTorchStateWords)] = {};
  if (attributes_.is_pytorch) {
    SeedTorchState(static_cast<std::uint64_t>(attributes_.global_seed), words);
    attributes_.global_seed = 0;
    given_[AttributeRole::kGlobalSeed] = GivenAttribute::Integer(0);
  }
  const ov::Shape shape{static_cast<std::size_t>(attributes_.state_words())};
  const auto constant = ov::op::v0::Constant::create(ov::element::u32, shape, words);
  set_argument(static_cast<std::size_t>(state), constant);
  ValidateCaptured(state);
}

void RandomOp::ValidateShape(int input, const Dimensions& before) {
  const std::size_t index = static_cast<std::size_t>(input);
  const ElementType type = ArrivedType(input);
  const KnownShape shape(get_input_partial_shape(index));
  const ConstantValue value = upstream_.ValueOf(*get_input_node_ptr(index));
  ThrowIf(CheckInput(op_, input, KnownSizes(shape, type, value.data), attributes_, &arguments_));
  if (!arguments_.has_dimensions) return;
  // The plugin turns i64 constants into i32. A dimension that still has its value has not changed otherwise.
  const Dimensions& now = arguments_.dimensions;
  bool is_narrowed = Has(Past::kValidated) && type == ElementType::kI32 && before.rank == now.rank;
  for (int i = 0; is_narrowed && i < now.rank; ++i) {
    is_narrowed = now.dimension[i] == std::min<std::int64_t>(before.dimension[i], INT32_MAX);
  }
  if (!is_narrowed) return;
  arguments_.dimensions = before;
  std::copy(before.dimension, before.dimension + before.rank, arguments_.output.dimension);
}

void RandomOp::SetOutputs() {
  // The plugin would allocate it when it compiles the model; later only in memory that the process already holds.
  if (arguments_.has_dimensions) {
    Memory memory = MemoryFor(static_cast<std::uint64_t>(arguments_.dimensions.bytes));
    if (!Has(Past::kValidated)) memory.held = 0;
    ThrowIf(CheckMemory(op_, arguments_.dimensions, attributes_.output, memory));
  }
  ov::element::Type type = OpenVinoType(attributes_.output);
  // The plugin's own operators declare it this way from there on.
  const ov::element::Type boolean = HasNarrowedIntegers() ? ov::element::u8 : ov::element::boolean;
  if (type == ov::element::boolean) type = boolean;
  const ov::element::Type computed = ComputedType();
  const bool is_wider = computed == ov::element::f32 && (type == ov::element::f16 || type == ov::element::bf16);
  // The plugin restores the type of a result of the model.
  if (is_wider) type = computed;
  ov::PartialShape state{attributes_.state_words()};
  for (int i = 0; i < op_.inputs && HasInput(i); ++i) {
    if (RoleOf(i) == Role::kState) state = get_input_partial_shape(static_cast<std::size_t>(i));
  }
  const std::size_t outputs = static_cast<std::size_t>(op_.outputs);
  set_output_size(outputs);
  set_output_type(0, type, ValuesShape(arguments_));
  if (op_.has_mask()) set_output_type(1, boolean, ValuesShape(arguments_));
  set_output_type(outputs - 1, Has(Past::kSignedState) ? ov::element::i32 : ov::element::u32, state);
  // A result keeps all bits.
  if (!IsComputedNarrower()) return;
  if (!Has(Past::kLeft)) Set(Past::kLeft, Leaves(output(0)));
  ConvertForConsumers(output(0), computed);
}

/// The first output's shape. The plugin needs at least the rank.
ov::PartialShape RandomOp::ValuesShape(const Arguments& arguments) const {
  if (arguments.output.rank == Known::kUnknownRank) return ov::PartialShape::dynamic();
  const std::int64_t* const d = arguments.output.dimension;  // unknown ones are -1 there as here
  std::vector<ov::Dimension> dimensions(d, d + arguments.output.rank);
  if (!dimensions.empty() && arguments.states != 1 && dimensions[0].is_dynamic()) dimensions[0] = arguments.states;
  return ov::PartialShape(dimensions);
}

/// Whether the node clamps this input itself. Such numbers are never captured.
bool RandomOp::IsClamped(int input) const {
  return clamp_ != Clamp::kNone && input == IndexOf(op_, Parameter::kP);
}

/// Whether an input has been read before the run.
bool RandomOp::IsKnown(int input) const {
  if (IsData(input)) return false;
  return RoleOf(input) == Role::kShape ? arguments_.has_dimensions : arguments_.has_value[input];
}

}  // namespace onnx_philox
