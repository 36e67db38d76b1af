// The operators: see random_ops.h.
#include "random_ops.h"

#include <cstdint>
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "captured.h"
#include "constants.h"
#include "exact_words.h"
#include "fill_tensor.h"
#include "folded.h"
#include "half_precision.h"
#include "kernels.h"
#include "number_formats.h"
#include "openvino/core/except.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/convert.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/util/precision_sensitive_attribute.hpp"

namespace onnx_philox {

namespace {

constexpr std::int64_t kInt32Max = 0x7FFFFFFF;
constexpr Dimensions kNoDimensions{-1};

/// Throws OpenVINO's own exception class: one of ours would not survive this library being unloaded.
void ThrowIf(const std::string& error) {
  if (!error.empty()) ov::Exception::create("onnx_philox", 1, error);
}

[[noreturn]] void Refuse(const Operator& op, const std::string& what, const std::string& given,
                         const std::string& allowed, const std::string& remedy) {
  ov::Exception::create("onnx_philox", 1, Refusal(op.name, what, given, allowed, remedy));
}

std::string Input(const char* name) { return std::string("input '") + name + "'"; }

/// A shape as the checks take it, without an allocation for any rank that is right.
class KnownShape {
 public:
  explicit KnownShape(const ov::PartialShape& shape) {
    if (shape.rank().is_dynamic()) return;
    rank_ = static_cast<int>(shape.size());
    for (int i = 0; i < rank_; ++i) {
      const ov::Dimension& d = shape[i];
      Add(i, d.is_static() ? d.get_length() : Known::kUnknownDimension);
    }
  }
  explicit KnownShape(const ov::Shape& shape) : rank_(static_cast<int>(shape.size())) {
    for (int i = 0; i < rank_; ++i) Add(i, static_cast<std::int64_t>(shape[i]));
  }

  Known WithType(ElementType type, const void* data = nullptr) const {
    return Known{type, rank_, more_.empty() ? dimensions_ : more_.data(), data};
  }
  int rank() const { return rank_; }

  /// How many elements a tensor of this shape has; kUnknownDimension where that is not known.
  std::int64_t elements() const {
    std::int64_t count = rank_ == Known::kUnknownRank ? Known::kUnknownDimension : 1;
    for (int i = 0; i < rank_; ++i) {
      const std::int64_t d = more_.empty() ? dimensions_[i] : more_[static_cast<std::size_t>(i)];
      if (d == Known::kUnknownDimension) return d;
      count *= d;
    }
    return count;
  }

 private:
  static constexpr int kInline = kMaxRank + 1;

  void Add(int i, std::int64_t dimension) {
    if (i < kInline) dimensions_[i] = dimension;
    if (i == kInline) more_.assign(dimensions_, dimensions_ + kInline);
    if (i >= kInline) more_.push_back(dimension);
  }

  int rank_ = Known::kUnknownRank;
  std::int64_t dimensions_[kInline] = {};
  std::vector<std::int64_t> more_;
};

/// The value of an empty `shape` initializer, which the ONNX front end turns into a rank-0 constant 0: a scalar's shape.
Known EmptyShape(ElementType type) {
  static constexpr std::int64_t kLength = 0;
  return Known{type, 1, &kLength, nullptr};
}

bool IsInteger(ElementType type) { return type == ElementType::kI32 || type == ElementType::kI64; }

/// Shows an attribute to IR; whether it came back changed.
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

/// Where the tensor's elements are, next to each other; null if it has none.
class Elements {
 public:
  explicit Elements(const ov::Tensor& tensor) {
    if (tensor.get_size() == 0) return;
    if (IsContiguous(tensor)) {
      data_ = tensor.data();
      return;
    }
    copy_ = ov::Tensor(tensor.get_element_type(), tensor.get_shape());
    tensor.copy_to(copy_);
    data_ = copy_.data();
  }
  const void* data() const { return data_; }

 private:
  const void* data_ = nullptr;
  ov::Tensor copy_;
};

[[noreturn]] void RefuseArrival(const Operator& op, const char* name, ElementType arrived, const std::string& declared) {
  Refuse(op, Input(name), std::string("handed over as ") + ElementTypeName(arrived) + " by the device",
         declared + ", unchanged", "Make it a constant, or compile with the inference precision f32.");
}

std::string SmallConstant() { return "a constant of at most " + std::to_string(kMaxElements) + " elements"; }

/// Whether a node hands its first input on as it is, in any type.
bool OnlyMoves(const ov::Node& node) {
  const char* const name = node.get_type_name();
  for (const char* moving : {"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity"}) {
    if (std::strcmp(name, moving) == 0) return true;
  }
  return false;
}

/// Hands an output over in a narrower type to the nodes that compute, and as it is to a model's result.
void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type) {
  // A stack, not recursion: many nodes may move it on.
  std::vector<ov::Output<ov::Node>> stack{output};
  while (!stack.empty()) {
    const ov::Output<ov::Node> moved = stack.back();
    stack.pop_back();
    std::shared_ptr<ov::Node> converted;
    for (ov::Input<ov::Node> input : moved.get_target_inputs()) {
      ov::Node& consumer = *input.get_node();
      if (ov::is_type<ov::op::v0::Result>(&consumer) || ov::is_type<ov::op::v0::Convert>(&consumer)) continue;
      if (OnlyMoves(consumer) && input.get_index() == 0) {
        stack.push_back(consumer.output(0));
        continue;
      }
      if (converted == nullptr) converted = std::make_shared<ov::op::v0::Convert>(moved, type);
      input.replace_source_output(converted);
    }
  }
}

void SetShape(const Operator& op, const Dimensions& dimensions, OutputType type, ov::Tensor& tensor) {
  const ov::Shape& shape = tensor.get_shape();
  bool same = shape.size() == static_cast<std::size_t>(dimensions.rank);
  for (int i = 0; same && i < dimensions.rank; ++i) same = shape[i] == static_cast<std::size_t>(dimensions.dimension[i]);
  const Memory memory = MemoryFor(static_cast<std::uint64_t>(dimensions.bytes));
  if (!same) {
    ThrowIf(CheckMemory(op, dimensions, type, memory));
    try {
      tensor.set_shape(ov::Shape(dimensions.dimension, dimensions.dimension + dimensions.rank));
    } catch (const std::bad_alloc&) {
      ThrowIf(OutOfMemory(op, dimensions, type));
    }
  }
  if (dimensions.bytes > 0 && IsContiguous(tensor)) {
    ThrowIf(CheckAllocated(op, dimensions, type, memory, tensor.data()));
  }
}

}  // namespace

/// A tensor as it arrived; what is known of it points in here.
struct RandomOp::Reading {
  explicit Reading(const ov::Tensor& tensor)
      : type(ElementTypeOf(tensor.get_element_type())), shape(tensor.get_shape()), elements(tensor) {}

  const ElementType type;
  const KnownShape shape;
  const Elements elements;
  std::uint64_t converted = 0;

  /// The floats in another type.
  const void* Converted(ElementType to) {
    const std::uint64_t count = static_cast<std::uint64_t>(shape.elements());
    void* target = &converted;
    if (count > 1) {
      all_converted_.resize(count);
      target = all_converted_.data();
    }
    ConvertFloats(elements.data(), type, target, to, count);
    return target;
  }

 private:
  std::vector<std::uint32_t> all_converted_;  // of f32 or less
};

RandomOp::RandomOp(const Operator& op) : op_(op) {
  for (int i = 0; i < op.attributes; ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    if (declared.role != AttributeRole::kOutputType) {
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
  // A model may be saved while it runs: nothing is written unless the visitor changed it.
  if (!is_validated_) was_transformed_ = true;
  bool changed = false;
  std::string text;
  for (int i = 0; i < op_.attributes; ++i) {
    const AttributeDeclaration& declared = op_.attribute[i];
    GivenAttribute& given = given_[declared.role];
    if (declared.role != AttributeRole::kOutputType) {
      VisitInteger(visitor, declared.name, &given, &changed);
    } else if (Visit(visitor, declared.name, given.text, &text)) {
      given = GivenAttribute::Text(text);
      changed = true;
    }
  }
  for (int i = 0; i < op_.inputs; ++i) {
    if (RoleOf(i) == Role::kShape) continue;
    if (!Visit(visitor, std::string("const_") + op_.input[i].name, ToText(captured_[i], TypesAt(i)), &text)) continue;
    captured_[i] = Captured();
    captured_[i].text = text;
    changed = true;
  }
  if (changed) {
    attributes_checked_ = false;
    arguments_ = Arguments();
  }
  const std::string narrowed = NarrowedText();
  if (!is_validated_ || !narrowed.empty()) {
    if (Visit(visitor, "narrowed", narrowed, &text)) ReadNarrowed(text);
  }
  return true;
}

std::shared_ptr<ov::Node> RandomOp::CloneInto(std::shared_ptr<RandomOp> clone, const ov::OutputVector& inputs) const {
  clone->given_ = given_;
  clone->attributes_ = attributes_;
  clone->attributes_checked_ = attributes_checked_;
  std::copy(std::begin(captured_), std::end(captured_), clone->captured_);
  clone->arguments_ = arguments_;
  clone->is_validated_ = is_validated_;
  clone->is_clone_ = true;
  std::copy(std::begin(declared_), std::end(declared_), clone->declared_);
  clone->distrusts_constants_ = distrusts_constants_;
  clone->was_transformed_ = was_transformed_ && IsTransformed(*this);
  clone->has_left_ = has_left_;
  clone->set_arguments(inputs);
  clone->constructor_validate_and_infer_types();
  return clone;
}

ElementType RandomOp::ArrivedType(int input) const {
  return ElementTypeOf(get_input_element_type(static_cast<std::size_t>(input)));
}

/// The type that a number was declared with, as far as that is known.
ElementType RandomOp::DeclaredType(int input, ElementType arrived) const {
  if (declared_[input] != ElementType::kUnknown) return declared_[input];
  const DeclaredTypes types = TypesAt(input);
  return types.Has(arrived) ? arrived : types.type[0];
}

/// Whether an input no longer has a type that it can be declared with.
bool RandomOp::HasNarrowedInput() const {
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    const ElementType type = ArrivedType(i);
    if (type != ElementType::kUnknown && !TypesAt(i).Has(type)) return true;
  }
  return HasNarrowedShape();
}

/// Whether the plugin has made i32 of the i64 `shape` of booleans (see WithWideShape), and so u8 of them.
bool RandomOp::HasNarrowedShape() const {
  if (!is_validated_ || attributes_.output != OutputType::kBool) return false;
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (RoleOf(i) == Role::kShape) return ArrivedType(i) == ElementType::kI32;
  }
  return false;
}

/// What IR says of a node whose inputs the plugin has changed; empty for others.
std::string RandomOp::NarrowedText() const {
  if (!is_validated_) return "";
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    const bool is_half = RoleOf(i) == Role::kLogits && declared_[i] == ElementType::kF16;
    if (is_half && ArrivedType(i) == ElementType::kF32) return "f16";
  }
  return HasNarrowedInput() ? "true" : "";
}

void RandomOp::ReadNarrowed(const std::string& text) {
  is_validated_ = is_clone_ = distrusts_constants_ = text == "true" || text == "f16";
  for (int i = 0; text == "f16" && i < op_.inputs; ++i) {
    if (RoleOf(i) == Role::kLogits) declared_[i] = ElementType::kF16;
  }
}

void RandomOp::CheckOwnAttributes() {
  GivenAttributes given = given_;
  if (given.type.text.empty()) given.type = {};
  ThrowIf(CheckAttributes(op_, given, &attributes_));
  attributes_checked_ = true;
}

/// Turns what IR says of constants into values, once.
void RandomOp::ReadTexts() {
  for (int i = 0; i < op_.inputs; ++i) {
    Captured& captured = captured_[i];
    if (captured.text.empty()) continue;
    const DeclaredTypes types = TypesAt(i);
    const bool is_state = RoleOf(i) == Role::kState;
    const bool is_array = RoleOf(i) == Role::kProbabilities || RoleOf(i) == Role::kLogits;
    Captured read;
    const bool is_right = FromText(captured.text, types, &read) &&
                          (is_array || read.elements() == (is_state ? std::uint64_t{kStateWords} : 1));
    if (!is_right) {
      const std::string count = is_state ? "six words of " : is_array ? "numbers of " : "one number of ";
      constexpr std::size_t kShown = 200;  // of thousands of numbers
      const std::string more = captured.text.size() > kShown ? "..." : "";
      Refuse(op_, std::string("attribute 'const_") + op_.input[i].name + "'",
             ShowText(captured.text.substr(0, kShown) + more), count + types.Names(), "Save the model again.");
    }
    captured = read;
  }
}

void RandomOp::validate_and_infer_types() {
  ThrowIf(ActiveKernels().kernels == nullptr ? op_.name + (": " + ActiveKernels().error) : std::string());
  if (!attributes_checked_) CheckOwnAttributes();
  ReadTexts();
  if (get_input_size() > static_cast<std::size_t>(op_.inputs)) {
    std::string names;
    for (int i = 0; i < op_.inputs; ++i) names += (i > 0 ? ", " : "") + std::string(op_.input[i].name);
    Refuse(op_, "the number of inputs", std::to_string(get_input_size()), names, "Remove the others.");
  }
  // What is known is forgotten first: it may point into captured values that go.
  const Dimensions before = arguments_.has_dimensions ? arguments_.dimensions : kNoDimensions;
  arguments_ = Arguments();
  upstream_ = Upstream();
  NoteDeclared();
  const bool is_half_new = !distrusts_constants_ && MeetHalf();
  for (int i = 0; i < op_.inputs; ++i) {
    if (!Has(i)) {
      ThrowIf(CheckLeftOut(op_, i, attributes_));
    } else if (RoleOf(i) == Role::kShape) {
      ValidateShape(i, before);
    } else {
      ValidateCaptured(i);
    }
  }
  ThrowIf(CheckTogether(op_, attributes_, arguments_));
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (RoleOf(i) == Role::kShape || captured_[i].known()) continue;
    RefuseNarrowed(i);
    // From i32 on the plugin has changed the nodes as well.
    if (RoleOf(i) == Role::kState && ArrivedType(i) == ElementType::kU32) RefuseAltered(i);
  }
  SetOutputs();
  // Once only: the plugin merges these into the nodes behind them.
  if (is_half_new && attributes_.output == OutputType::kF32) ConvertForConsumers(output(0), ov::element::f16);
  upstream_ = Upstream();
  is_validated_ = true;
}

/// Keeps the types of numbers as long as nobody but the user can have chosen them.
void RandomOp::NoteDeclared() {
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (!IsNumber(i) || (is_clone_ && declared_[i] != ElementType::kUnknown)) continue;
    const ElementType type = ArrivedType(i);
    const DeclaredTypes types = TypesAt(i);
    const bool is_narrowed = is_clone_ && IsNarrowing(types.type[0], type);
    declared_[i] = types.Has(type) ? type : is_narrowed ? types.type[0] : ElementType::kUnknown;
  }
  if (is_clone_ || attributes_.output != OutputType::kF32) return;
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (IsNumber(i)) return AddWitness(input(static_cast<std::size_t>(i)), upstream_);
  }
}

/// At the precision f16, seen for the first time: takes what the plugin rounded last, right before this node, as it was. What
/// has been computed in f16 is taken as it is. Whether that precision is met.
bool RandomOp::MeetHalf() {
  if (!is_clone_) return false;
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (!IsNumber(i) || declared_[i] != ElementType::kF32 || ArrivedType(i) != ElementType::kF16) continue;
    distrusts_constants_ = true;
    if (captured_[i].known()) continue;
    const ov::Input<ov::Node> in = input(static_cast<std::size_t>(i));
    if (IsParameter(in)) {
      Refuse(op_, Input(op_.input[i].name), "f32 from outside of an If or Loop, rounded to f16 at its border",
             "a constant, or what the body computes, at the inference precision f16",
             "Cast it to double outside and to float inside, or compile with the inference precision f32.");
    }
    TakeBeforeRounding(in);
  }
  return distrusts_constants_;
}

void RandomOp::ValidateShape(int input, const Dimensions& before) {
  const std::size_t index = static_cast<std::size_t>(input);
  const ElementType type = ArrivedType(input);
  const KnownShape shape(get_input_partial_shape(index));
  const ConstantValue value = upstream_.ValueOf(*get_input_node_ptr(index));
  Known known = shape.WithType(type, value.data);
  if (value && shape.rank() == 0 && IsInteger(type) && IntegerAt(type, value.data, 0) == 0) known = EmptyShape(type);
  ThrowIf(CheckInput(op_, input, known, attributes_, &arguments_));
  if (!arguments_.has_dimensions) return;
  // The plugin makes i32 of i64 constants. It has not changed a dimension that is still what it was, but for that.
  const Dimensions& now = arguments_.dimensions;
  bool is_narrowed = is_validated_ && type == ElementType::kI32 && before.rank == now.rank;
  for (int i = 0; is_narrowed && i < now.rank; ++i) {
    is_narrowed = now.dimension[i] == std::min(before.dimension[i], kInt32Max);
  }
  if (!is_narrowed) return;
  arguments_.dimensions = before;
  std::copy(before.dimension, before.dimension + before.rank, arguments_.output.dimension);
}

void RandomOp::ValidateCaptured(int input) {
  const std::size_t index = static_cast<std::size_t>(input);
  const ov::Node& source = *get_input_node_ptr(index);
  const KnownShape shape(get_input_partial_shape(index));
  const std::int64_t elements = shape.elements();
  const DeclaredTypes types = TypesAt(input);
  Captured* const captured = &captured_[input];
  ElementType type = ArrivedType(input);
  const ConstantValue value = upstream_.ValueOf(source);
  const bool was_captured = captured->known();
  const bool is_state = RoleOf(input) == Role::kState;

  const bool is_as_declared = type == captured->type && !IsDecompressed(source) && !distrusts_constants_;
  const bool is_as_long = was_captured && elements == static_cast<std::int64_t>(captured->elements());
  if (is_as_long && types.Has(captured->type) && !is_as_declared && IsNarrowing(captured->type, type) &&
      upstream_.IsConstant(source) && (is_state || MayHaveBecome(*captured, type, value.data))) {
    type = captured->type;
  } else if (value && types.Has(type)) {
    // The plugin validates a copy before each run whose shapes it does not know: memory is taken once.
    if (!is_as_long || !captured->Is(type, value.data)) {
      *captured = Capture(type, value.data, static_cast<std::uint64_t>(elements));
    }
  } else {
    if (was_captured) *captured = Captured();
    if (!types.Has(type) && is_validated_ && IsNarrowing(types.type[0], type)) type = types.type[0];
  }
  // No file changes integers.
  if (!is_state) KeepInFiles(input, captured->known());
  ThrowIf(CheckInput(op_, input, shape.WithType(type, captured->data()), attributes_, &arguments_));
}

/// Keeps constants, and those that an input is computed from, from being saved in f16. The plugin reads those as
/// constants of the declared type, which nothing tells from ones that replaced them.
void RandomOp::KeepInFiles(int input, bool is_captured) {
  const ov::Input<ov::Node> own = this->input(static_cast<std::size_t>(input));
  const ov::Input<ov::Node> in = MarkedInput(own, upstream_);
  if (in != own && ov::is_precision_sensitive(own)) ov::unmark_as_precision_sensitive(own);
  // Of anything else the mark would reach the weights of all that comes before it.
  const bool is_kept = is_captured || upstream_.IsConstant(*in.get_source_output().get_node());
  if (is_kept == ov::is_precision_sensitive(in)) return;
  if (is_kept) {
    ov::mark_as_precision_sensitive(in);
  } else {
    ov::unmark_as_precision_sensitive(in);
  }
}

/// Refuses an input that is no captured constant and that the plugin would hand over in fewer bits.
void RandomOp::RefuseNarrowed(int input) const {
  const DeclaredTypes types = TypesAt(input);
  const ElementType type = types.Has(ArrivedType(input)) ? ArrivedType(input) : types.type[0];
  if (type != ElementType::kF64 && type != ElementType::kI64) return;
  const std::string name = op_.input[input].name;
  std::string allowed = "a constant", remedy = "Make " + name + " a constant, or draw in [0, 1) and scale in the graph.";
  if (RoleOf(input) == Role::kParameter) {
    remedy = "Make " + name + " a constant, or scale in the graph.";
  } else if (RoleOf(input) != Role::kBound) {
    allowed = SmallConstant();
    remedy = "Cast " + name + " to f32.";
  }
  Refuse(op_, Input(name.c_str()), std::string("not constant, of type ") + ElementTypeName(type),
         allowed + " in OpenVINO, whose CPU plugin rounds such inputs to 32 bits", remedy);
}

/// Refuses a state that the plugin would compute otherwise than it is written.
void RandomOp::RefuseAltered(int input) {
  const auto altered = AlteredPart(*get_input_node_ptr(static_cast<std::size_t>(input)), upstream_);
  if (!altered.has_value()) return;
  Refuse(op_, Input(op_.input[input].name), altered->given, altered->allowed,
         "Make the whole state a model input, or the whole state a constant.");
}

void RandomOp::SetOutputs() {
  // The plugin would allocate it when it compiles the model, and again only where the process holds it already.
  if (arguments_.has_dimensions) {
    Memory memory = MemoryFor(static_cast<std::uint64_t>(arguments_.dimensions.bytes));
    if (!is_validated_) memory.held = 0;
    ThrowIf(CheckMemory(op_, arguments_.dimensions, attributes_.output, memory));
  }
  // It needs the rank at least.
  ov::PartialShape values = ov::PartialShape::dynamic();
  if (arguments_.output.rank != Known::kUnknownRank) {
    const std::int64_t* const d = arguments_.output.dimension;  // unknown ones are -1 there as here
    values = ov::PartialShape(std::vector<ov::Dimension>(d, d + arguments_.output.rank));
  }
  ov::element::Type type = OpenVinoType(attributes_.output);
  // As the plugin's own operators say it from there on.
  if (type == ov::element::boolean && HasNarrowedShape()) type = ov::element::u8;
  const ov::element::Type computed = ComputedType(type);
  const bool is_wider = computed == ov::element::f32 && (type == ov::element::f16 || type == ov::element::bf16);
  const bool is_narrower = (computed == ov::element::f32 && type == ov::element::f64) ||
                           (computed == ov::element::i32 && type == ov::element::i64);
  // The plugin gives a result of the model its own type back.
  if (is_wider) type = computed;
  ov::PartialShape state{kStateWords};
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (RoleOf(i) == Role::kState) state = get_input_partial_shape(static_cast<std::size_t>(i));
  }
  set_output_size(2);
  set_output_type(0, type, values);
  set_output_type(1, ov::element::u32, state);
  // A result keeps all bits.
  if (is_narrower) {
    has_left_ = has_left_ || Leaves(output(0));
    ConvertForConsumers(output(0), computed);
  }
}

/// The type in which the plugin computes with values of a declared type: that of bounds, mean and scale by now.
ov::element::Type RandomOp::ComputedType(const ov::element::Type& declared) const {
  for (int i = 0; i < op_.inputs && Has(i); ++i) {
    if (RoleOf(i) == Role::kBound || RoleOf(i) == Role::kParameter) {
      return get_input_element_type(static_cast<std::size_t>(i));
    }
  }
  return declared;
}

/// Whether an input has been read before the run.
bool RandomOp::IsKnown(int input) const {
  return RoleOf(input) == Role::kShape ? arguments_.has_dimensions : arguments_.has_value[input];
}

/// What a tensor says, in the input's declared type.
Known RandomOp::Read(int input, Reading* reading) const {
  const DeclaredTypes types = TypesAt(input);
  const ElementType type = reading->type;
  const KnownShape& shape = reading->shape;
  const void* data = reading->elements.data();
  if (RoleOf(input) == Role::kShape) {
    if (shape.rank() == 0 && IsInteger(type) && IntegerAt(type, data, 0) == 0) return EmptyShape(type);
    return shape.WithType(type, data);
  }
  const ElementType declared = DeclaredType(input, type);
  const bool is_wider = type == ElementType::kF32 && (declared == ElementType::kF16 || declared == ElementType::kBF16);
  // Only what the plugin computed in f16: it has said so.
  const bool is_half = type == ElementType::kF16 && declared == ElementType::kF32 && ArrivedType(input) == type;
  const bool is_narrower = type == ElementType::kI32 && declared == ElementType::kI64;
  const bool is_signed = type == ElementType::kI32 && declared == ElementType::kU32;
  const bool is_taken = type == declared || is_wider || is_half || is_narrower || is_signed;
  if (!is_taken && data != nullptr) {
    RefuseArrival(op_, op_.input[input].name, type, types.Names());
  }
  if (data != nullptr && (is_wider || is_half)) {
    data = reading->Converted(declared);
  } else if (data != nullptr && is_narrower) {
    // One number: what has many is of types that arrive as they are.
    reading->converted = static_cast<std::uint64_t>(IntegerAt(ElementType::kI32, data, 0));
    data = &reading->converted;
  }
  return shape.WithType(declared, data);
}

bool RandomOp::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const try {
  const OutputType type = attributes_.output;
  Arguments arguments = arguments_;
  std::optional<Reading> readings[kMaxInputs];
  bool is_together_checked = true;  // by validation
  const ov::Tensor* state = nullptr;
  for (int i = 0; i < op_.inputs && static_cast<std::size_t>(i) < inputs.size(); ++i) {
    const ov::Tensor& tensor = inputs[static_cast<std::size_t>(i)];
    if (RoleOf(i) == Role::kState) state = &tensor;
    if (IsKnown(i)) continue;
    const bool is_apart = RoleOf(i) == Role::kState ||
                          (RoleOf(i) == Role::kShape && op_.distribution != Distribution::kBernoulli);
    is_together_checked = is_together_checked && is_apart;
    ThrowIf(CheckInput(op_, i, Read(i, &readings[i].emplace(tensor)), attributes_, &arguments));
  }
  if (!is_together_checked) ThrowIf(CheckTogether(op_, attributes_, arguments));
  const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);

  SetShape(op_, arguments.dimensions, type, outputs[0]);
  const Draw draw = DrawOf(op_, attributes_, arguments, nullptr);
  if (!FillTensor(*ActiveKernels().kernels, draw, elements, outputs[0])) {
    Refuse(op_, std::string("output '") + op_.output[0].name + "'",
           std::string("to be written as ") + ElementTypeName(ElementTypeOf(outputs[0].get_element_type())) +
               ", as the device says",
           std::string(ElementTypeName(ElementTypeOf(type))) + ", unchanged",
           "Compile with the inference precision f32.");
  }
  const bool is_folded = IsFolded(*this, inputs, is_clone_, was_transformed_);
  if (is_folded) RefuseAlteredResult(0, outputs[0]);
  if (outputs.size() < 2) return true;

  ov::Tensor& next = outputs[1];
  static const ov::Shape kSixWords{kStateWords};
  const ov::Shape& next_shape = state != nullptr ? state->get_shape() : kSixWords;
  if (next.get_shape() != next_shape) next.set_shape(next_shape);
  std::uint32_t words[kStateWords];
  StateToWords(Advance(arguments.state, WordsPerElement(draw), elements), words);
  if (IsContiguous(next)) {
    std::memcpy(next.data(), words, sizeof(words));
  } else {
    ov::Tensor(next.get_element_type(), next_shape, words).copy_to(next);
  }
  if (is_folded) RefuseAlteredResult(1, next);
  return true;
} catch (const std::bad_alloc&) {
  ThrowIf(OutOfMemory(op_));
  return false;
}

void RandomOp::RefuseAlteredResult(int output, const ov::Tensor& drawn) const {
  const auto altered = AlteredResult(this->output(static_cast<std::size_t>(output)), drawn, output == 0 && has_left_);
  if (!altered.has_value()) return;
  Refuse(op_, std::string("output '") + op_.output[output].name + "'", altered->given, altered->allowed, altered->remedy);
}

RandomGenerator::RandomGenerator() : RandomOp(kRandomGenerator) {}

std::shared_ptr<ov::Node> RandomGenerator::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomGenerator>(), inputs);
}

RandomUniform::RandomUniform() : RandomOp(kRandomUniform) {}

std::shared_ptr<ov::Node> RandomUniform::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomUniform>(), inputs);
}

RandomNormal::RandomNormal() : RandomOp(kRandomNormal) {}

std::shared_ptr<ov::Node> RandomNormal::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomNormal>(), inputs);
}

RandomBernoulli::RandomBernoulli() : RandomOp(kRandomBernoulli) {}

std::shared_ptr<ov::Node> RandomBernoulli::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomBernoulli>(), inputs);
}

RandomCategorical::RandomCategorical() : RandomOp(kRandomCategorical) {}

std::shared_ptr<ov::Node> RandomCategorical::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomCategorical>(), inputs);
}

}  // namespace onnx_philox
