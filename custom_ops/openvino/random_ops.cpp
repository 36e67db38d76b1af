// The operators: see random_ops.h.
#include "random_ops.h"

#include <cstdint>
#include <cmath>
#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "constants.h"
#include "fill_tensor.h"
#include "kernels.h"
#include "number_formats.h"
#include "openvino/core/except.hpp"

namespace onnx_philox {

namespace {

constexpr std::int64_t kInt32Max = 0x7FFFFFFF;

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
      const ov::Dimension& d = shape[static_cast<std::size_t>(i)];
      Add(i, d.is_static() ? d.get_length() : Known::kUnknownDimension);
    }
  }
  explicit KnownShape(const ov::Shape& shape) : rank_(static_cast<int>(shape.size())) {
    for (int i = 0; i < rank_; ++i) Add(i, static_cast<std::int64_t>(shape[static_cast<std::size_t>(i)]));
  }

  Known WithType(ElementType type, const void* data = nullptr) const {
    return Known{type, rank_, more_.empty() ? dimensions_ : more_.data(), data};
  }
  int rank() const { return rank_; }

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

/// A constant that lies in a file need not be aligned.
template <class T>
T ValueAt(const void* data, std::size_t i = 0) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(data) + i * sizeof value, sizeof value);
  return value;
}

std::int64_t IntegerAt(ElementType type, const void* data, std::size_t i) {
  return type == ElementType::kI32 ? ValueAt<std::int32_t>(data, i) : ValueAt<std::int64_t>(data, i);
}

bool IsInteger(ElementType type) { return type == ElementType::kI32 || type == ElementType::kI64; }

/// Whether the plugin may have made an input of type `arrived` of a declared one.
bool IsNarrowing(ElementType declared, ElementType arrived) {
  if (arrived == declared) return true;
  if (FormatOf(declared) != nullptr) {
    return arrived == ElementType::kF32 || arrived == ElementType::kF16 || arrived == ElementType::kBF16;
  }
  return arrived == ElementType::kI32;  // of u32 and i64
}

double AsDouble(std::uint64_t bits, FloatFormat format) {
  bits = ConvertFloat(bits, format, kF64Format);
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

/// Whether a constant bound that arrived is what the plugin, or saving in f16, may have made of the captured one.
bool MayHaveBecome(std::uint64_t kept, ElementType declared, ElementType arrived, const void* data) {
  if (data == nullptr) return true;  // not to be had: too large, or computed by what cannot be evaluated here
  const FloatFormat* const format = FormatOf(arrived);
  if (format == nullptr) {
    const std::int64_t value = IntegerAt(arrived, data, 0);
    const std::int64_t was = declared == ElementType::kI64 ? static_cast<std::int64_t>(kept)
                                                           : static_cast<std::int32_t>(static_cast<std::uint32_t>(kept));
    const std::int64_t clamped = std::min<std::int64_t>(std::max<std::int64_t>(was, INT32_MIN), INT32_MAX);
    return value == was || value == clamped || value == static_cast<std::int32_t>(static_cast<std::uint32_t>(kept));
  }
  std::uint64_t bits = 0;
  std::memcpy(&bits, data, static_cast<std::size_t>(1 + format->exponent_bits + format->mantissa_bits) / 8);
  const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(*format)) << format->mantissa_bits;
  // Wide numbers end at the largest of a narrow type. bf16 has the fewest bits, f16 the fewest exponents.
  const double largest = AsDouble(infinity - 1, *format);
  const auto ended = [largest](double x) { return std::min(std::max(x, -largest), largest); };
  const double was = ended(AsDouble(kept, *FormatOf(declared)));
  return std::fabs(ended(AsDouble(bits, *format)) - was) <= std::ldexp(std::fabs(was), -7) + std::ldexp(1.0, -24);
}

std::string StateText(const Captured<State>& captured) {
  if (!captured.known) return captured.text;
  std::uint32_t words[kStateWords];
  StateToWords(captured.value, words);
  std::string text;
  for (const std::uint32_t word : words) text += (text.empty() ? "" : ", ") + std::to_string(word);
  return text;
}

std::string BoundText(const Captured<std::uint64_t>& captured, OutputType type) {
  if (!captured.known) return captured.text;
  if (const FloatFormat* const format = FormatOf(ElementTypeOf(type))) return FloatToText(captured.value, *format);
  if (type == OutputType::kI32) {
    return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(captured.value)));
  }
  return std::to_string(static_cast<std::int64_t>(captured.value));
}

/// A decimal integer of at most 19 digits within [least, largest].
bool IntegerFromText(const std::string& text, std::int64_t least, std::int64_t largest, std::int64_t* value) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::size_t first = negative ? 1 : 0;
  if (text.size() == first || text.size() > first + 19) return false;
  std::uint64_t magnitude = 0;
  for (std::size_t i = first; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  constexpr std::uint64_t kMinimum = std::uint64_t{1} << 63;
  if (magnitude > (negative ? kMinimum : kMinimum - 1)) return false;
  *value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return *value >= least && *value <= largest;
}

bool StateFromText(const std::string& text, State* state) {
  std::uint32_t words[kStateWords];
  std::size_t begin = 0;
  for (int i = 0; i < kStateWords; ++i) {
    const bool last = i == kStateWords - 1;
    std::size_t end = last ? text.size() : text.find(',', begin);
    if (end == std::string::npos) return false;
    std::int64_t word;
    if (!IntegerFromText(text.substr(begin, end - begin), 0, 0xFFFFFFFF, &word)) return false;
    words[i] = static_cast<std::uint32_t>(word);
    begin = end + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
  }
  *state = StateFromWords(words);
  return true;
}

bool BoundFromText(const std::string& text, OutputType type, std::uint64_t* bits) {
  if (const FloatFormat* const format = FormatOf(ElementTypeOf(type))) return FloatFromText(text, *format, bits);
  const bool narrow = type == OutputType::kI32;
  std::int64_t value;
  if (!IntegerFromText(text, narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX, &value)) return false;
  *bits = narrow ? static_cast<std::uint32_t>(value) : static_cast<std::uint64_t>(value);
  return true;
}

/// Shows an attribute to IR; whether it came back changed.
bool Visit(ov::AttributeVisitor& visitor, const std::string& name, std::string shown, std::string* text) {
  *text = shown;
  visitor.on_attribute(name, *text);
  return *text != shown;
}

template <class T>
void VisitCaptured(ov::AttributeVisitor& visitor, const std::string& name, std::string shown, Captured<T>* captured) {
  std::string text;
  if (!Visit(visitor, name, std::move(shown), &text)) return;
  captured->known = false;
  captured->text = text;
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

[[noreturn]] void RefuseArrival(const Operator& op, const char* name, ElementType arrived, ElementType declared) {
  Refuse(op, Input(name), std::string("handed over as ") + ElementTypeName(arrived) + " by the device",
         std::string(ElementTypeName(declared)) + ", unchanged",
         "Make it a constant, or compile with the inference precision f32.");
}

void SetShape(const Operator& op, const Dimensions& dimensions, OutputType type, ov::Tensor& tensor) {
  const ov::Shape& shape = tensor.get_shape();
  const std::size_t rank = static_cast<std::size_t>(dimensions.rank);
  bool same = shape.size() == rank;
  for (std::size_t i = 0; same && i < rank; ++i) same = shape[i] == static_cast<std::size_t>(dimensions.dimension[i]);
  if (same) return;
  ThrowIf(CheckMemory(op, dimensions, type));
  try {
    tensor.set_shape(ov::Shape(dimensions.dimension, dimensions.dimension + rank));
  } catch (const std::bad_alloc&) {
    Refuse(op, "input 'shape'", ShowDimensions(dimensions.dimension, dimensions.rank), "what memory can hold now",
           "Draw it in parts, from state to next_state.");
  }
}

}  // namespace

RandomOp::RandomOp(const Operator& op, Inputs at)
    : op_(op), at_(at), type_name_(op.attribute[0].text_default != nullptr ? op.attribute[0].text_default : "") {}

void RandomOp::SetAttributes(const GivenAttributes& given) {
  ThrowIf(CheckAttributes(op_, given, &attributes_));
  if (given.type.kind == GivenAttribute::Kind::kText) type_name_ = given.type.text;
  global_seed_ = attributes_.global_seed;
  op_seed_ = attributes_.op_seed;
  attributes_checked_ = true;
}

bool RandomOp::visit_attributes(ov::AttributeVisitor& visitor) {
  // A model may be saved while it runs: nothing is written unless the visitor changed it.
  std::string type_name;
  std::int64_t global_seed = global_seed_, op_seed = op_seed_;
  bool changed = Visit(visitor, op_.attribute[0].name, type_name_, &type_name);
  visitor.on_attribute("global_seed", global_seed);
  visitor.on_attribute("op_seed", op_seed);
  changed = changed || global_seed != global_seed_ || op_seed != op_seed_;
  if (at_.minval != Inputs::kNone) {
    VisitCaptured(visitor, "const_minval", BoundText(minval_, attributes_.output), &minval_);
    VisitCaptured(visitor, "const_maxval", BoundText(maxval_, attributes_.output), &maxval_);
  }
  VisitCaptured(visitor, "const_state", StateText(state_), &state_);
  if (!is_validated_ || HasNarrowedInput()) {
    std::string narrowed;
    if (Visit(visitor, "narrowed", is_validated_ ? "true" : "", &narrowed)) is_validated_ = narrowed == "true";
  }
  if (changed) {
    type_name_ = type_name;
    global_seed_ = global_seed;
    op_seed_ = op_seed;
    attributes_checked_ = false;
  }
  return true;
}

std::shared_ptr<ov::Node> RandomOp::CloneInto(std::shared_ptr<RandomOp> clone, const ov::OutputVector& inputs) const {
  clone->type_name_ = type_name_;
  clone->global_seed_ = global_seed_;
  clone->op_seed_ = op_seed_;
  clone->attributes_ = attributes_;
  clone->attributes_checked_ = attributes_checked_;
  clone->state_ = state_;
  clone->minval_ = minval_;
  clone->maxval_ = maxval_;
  clone->shape_ = shape_;
  clone->is_validated_ = is_validated_;
  clone->set_arguments(inputs);
  clone->constructor_validate_and_infer_types();
  return clone;
}

/// Whether an input no longer has its declared type.
bool RandomOp::HasNarrowedInput() const {
  const ov::element::Type values = OpenVinoType(attributes_.output);
  for (std::size_t i = 0; i < get_input_size(); ++i) {
    const ov::element::Type& type = get_input_element_type(i);
    if (i != at_.shape && type != (i == at_.state ? ov::element::u32 : values)) return true;
  }
  return false;
}

void RandomOp::CheckOwnAttributes() {
  GivenAttributes given;
  if (!type_name_.empty()) given.type = GivenAttribute::Text(type_name_);
  given.global_seed = GivenAttribute::Integer(global_seed_);
  given.op_seed = GivenAttribute::Integer(op_seed_);
  ThrowIf(CheckAttributes(op_, given, &attributes_));
  attributes_checked_ = true;
}

/// Turns what IR says of constants into values, once.
void RandomOp::ReadTexts() {
  const auto read = [&](auto& captured, const char* attribute, const std::string& allowed, auto from_text) {
    if (captured.text.empty()) return;
    if (!from_text(captured.text, &captured.value)) {
      Refuse(op_, std::string("attribute '") + attribute + "'", ShowText(captured.text), allowed,
             "Save the model again.");
    }
    captured.text.clear();
    captured.known = true;
  };
  const OutputType type = attributes_.output;
  const auto bound = [type](const std::string& text, std::uint64_t* bits) { return BoundFromText(text, type, bits); };
  const std::string one = std::string("one number of ") + ElementTypeName(ElementTypeOf(type));
  read(state_, "const_state", "six words of u32", StateFromText);
  read(minval_, "const_minval", one, bound);
  read(maxval_, "const_maxval", one, bound);
}

void RandomOp::validate_and_infer_types() {
  ThrowIf(ActiveKernels().kernels == nullptr ? op_.name + (": " + ActiveKernels().error) : std::string());
  if (!attributes_checked_) CheckOwnAttributes();
  if (!state_.text.empty() || !minval_.text.empty() || !maxval_.text.empty()) ReadTexts();
  if (get_input_size() > static_cast<std::size_t>(op_.inputs)) {
    std::string names;
    for (int i = 0; i < op_.inputs; ++i) names += (i > 0 ? ", " : "") + std::string(op_.input[i].name);
    Refuse(op_, "the number of inputs", std::to_string(get_input_size()), names, "Remove the others.");
  }
  for (int i = 0; i < op_.inputs; ++i) {
    const std::size_t index = static_cast<std::size_t>(i);
    if (!Has(index)) {
      ThrowIf(CheckLeftOut(op_, i, attributes_));
    } else if (index == at_.shape) {
      ValidateShape(index);
    } else if (index == at_.state) {
      ValidateState(index);
    } else {
      ValidateBound(op_.input[i].name, index, index == at_.minval ? &minval_ : &maxval_);
    }
  }
  if (minval_.known && maxval_.known) {
    ThrowIf(CheckRange(op_, attributes_.output, Bounds{minval_.value, maxval_.value}));
  }
  if (at_.minval != Inputs::kNone) {
    RefuseNarrowed("minval", at_.minval, minval_);
    RefuseNarrowed("maxval", at_.maxval, maxval_);
  }
  if (Has(at_.state) && !state_.known) RefuseAltered(at_.state);
  is_validated_ = true;
  SetOutputs();
}

void RandomOp::ValidateShape(std::size_t index) {
  const ov::Node& source = *get_input_node_ptr(index);
  const ElementType type = ElementTypeOf(get_input_element_type(index));
  const KnownShape shape(get_input_partial_shape(index));
  const ConstantValue value = ValueOf(source);
  Known known = shape.WithType(type, value.data);
  if (value && shape.rank() == 0 && IsInteger(type) && IntegerAt(type, value.data, 0) == 0) known = EmptyShape(type);
  Dimensions dimensions;
  bool complete = false;
  ThrowIf(CheckShape(op_, known, attributes_.output, &dimensions, &complete));
  if (!complete) {
    shape_.known = false;
    return;
  }
  // The plugin makes i32 of i64 constants. It has not changed a dimension that is still what it was, but for that.
  bool is_narrowed = is_validated_ && shape_.known && type == ElementType::kI32 && shape_.value.rank == dimensions.rank;
  for (int i = 0; is_narrowed && i < dimensions.rank; ++i) {
    is_narrowed = dimensions.dimension[i] == std::min(shape_.value.dimension[i], kInt32Max);
  }
  if (!is_narrowed) shape_.value = dimensions;
  shape_.known = true;
}

void RandomOp::ValidateState(std::size_t index) {
  const ov::Node& source = *get_input_node_ptr(index);
  const KnownShape shape(get_input_partial_shape(index));
  ElementType type = ElementTypeOf(get_input_element_type(index));
  ConstantValue value;
  if (type == ElementType::kU32) {
    value = ValueOf(source);
    state_.known = false;
  } else if (state_.known && IsNarrowing(ElementType::kU32, type) && IsConstant(source)) {
    type = ElementType::kU32;
  } else {
    state_.known = false;
    if (is_validated_ && IsNarrowing(ElementType::kU32, type)) type = ElementType::kU32;
  }
  ThrowIf(CheckState(op_, shape.WithType(type, value.data), &state_.value));
  if (value) state_.known = true;
}

void RandomOp::ValidateBound(const char* name, std::size_t index, Captured<std::uint64_t>* captured) {
  const ov::Node& source = *get_input_node_ptr(index);
  const KnownShape shape(get_input_partial_shape(index));
  const ElementType declared = ElementTypeOf(attributes_.output);
  ElementType type = ElementTypeOf(get_input_element_type(index));
  ConstantValue value;
  const void* data = nullptr;
  if (type == declared && !(captured->known && IsDecompressed(source))) {
    value = ValueOf(source);
    data = value.data;
    captured->known = false;
  } else if (captured->known && IsNarrowing(declared, type) && IsConstant(source) &&
             MayHaveBecome(captured->value, declared, type, ValueOf(source).data)) {
    type = declared;
    data = &captured->value;
  } else {
    captured->known = false;
    if (is_validated_ && IsNarrowing(declared, type)) type = declared;
  }
  std::uint64_t bits = 0;
  ThrowIf(CheckNumber(op_, name, shape.WithType(type, data), attributes_.output, &bits));
  if (data == nullptr) return;
  captured->value = bits;
  captured->known = true;
}

/// Refuses a bound that is no constant and that the plugin would hand over in fewer bits.
void RandomOp::RefuseNarrowed(const char* name, std::size_t index, const Captured<std::uint64_t>& captured) const {
  const OutputType type = attributes_.output;
  if (captured.known || !Has(index) || (type != OutputType::kF64 && type != OutputType::kI64)) return;
  Refuse(op_, Input(name), std::string("not constant, of type ") + ElementTypeName(ElementTypeOf(type)),
         "a constant in OpenVINO, whose CPU plugin rounds such inputs to 32 bits",
         std::string("Make ") + name + " a constant, or draw in [0, 1) and scale in the graph.");
}

/// Refuses a state that the plugin would compute otherwise than it is written.
void RandomOp::RefuseAltered(std::size_t index) const {
  const auto altered = AlteredPart(*get_input_node_ptr(index));
  if (!altered.has_value()) return;
  Refuse(op_, Input("state"), altered->given, altered->allowed,
         "Make the whole state a model input, or the whole state a constant.");
}

void RandomOp::SetOutputs() {
  ov::PartialShape values;
  if (shape_.known) {
    // The plugin would allocate it when it compiles the model.
    ThrowIf(CheckMemory(op_, shape_.value, attributes_.output));
    const std::int64_t* const d = shape_.value.dimension;
    values = ov::PartialShape(std::vector<ov::Dimension>(d, d + shape_.value.rank));
  } else {
    // The plugin needs the rank.
    const ov::PartialShape& length = get_input_partial_shape(at_.shape);
    values = ov::PartialShape::dynamic(length.is_static() ? ov::Rank(length[0]) : ov::Rank::dynamic());
  }
  set_output_size(2);
  set_output_type(0, OpenVinoType(attributes_.output), values);
  set_output_type(1, ov::element::u32,
                  Has(at_.state) ? get_input_partial_shape(at_.state) : ov::PartialShape{kStateWords});
}

Dimensions RandomOp::ReadShape(const ov::Tensor& tensor) const {
  const ElementType type = ElementTypeOf(tensor.get_element_type());
  const Elements elements(tensor);
  const void* const data = elements.data();
  const KnownShape shape(tensor.get_shape());
  Known known = shape.WithType(type, data);
  if (shape.rank() == 0 && IsInteger(type) && IntegerAt(type, data, 0) == 0) known = EmptyShape(type);
  Dimensions dimensions;
  ThrowIf(CheckShape(op_, known, attributes_.output, &dimensions));
  return dimensions;
}

State RandomOp::ReadState(const ov::Tensor& tensor) const {
  const ElementType type = ElementTypeOf(tensor.get_element_type());
  if (type != ElementType::kU32 && type != ElementType::kI32) RefuseArrival(op_, "state", type, ElementType::kU32);
  const Elements elements(tensor);
  State state{};
  ThrowIf(CheckState(op_, KnownShape(tensor.get_shape()).WithType(ElementType::kU32, elements.data()), &state));
  return state;
}

std::uint64_t RandomOp::ReadBound(const char* name, const ov::Tensor& tensor) const {
  const ElementType declared = ElementTypeOf(attributes_.output), type = ElementTypeOf(tensor.get_element_type());
  const bool is_wider = type == ElementType::kF32 && (declared == ElementType::kF16 || declared == ElementType::kBF16);
  const bool is_narrower = type == ElementType::kI32 && declared == ElementType::kI64;
  if (type != declared && !is_wider && !is_narrower) RefuseArrival(op_, name, type, declared);
  const Elements elements(tensor);
  const void* data = elements.data();
  std::uint64_t converted = 0;
  if (data != nullptr && is_wider) {
    converted = ConvertFloat(ValueAt<std::uint32_t>(data), kF32Format, *FormatOf(declared));
    data = &converted;
  } else if (data != nullptr && is_narrower) {
    converted = static_cast<std::uint64_t>(IntegerAt(type, data, 0));
    data = &converted;
  }
  std::uint64_t bits = 0;
  ThrowIf(CheckNumber(op_, name, KnownShape(tensor.get_shape()).WithType(declared, data), attributes_.output, &bits));
  return bits;
}

bool RandomOp::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  const OutputType type = attributes_.output;
  const bool has_state = at_.state < inputs.size();
  State state{};
  if (has_state) state = state_.known ? state_.value : ReadState(inputs[at_.state]);
  Bounds bounds{};
  if (at_.minval != Inputs::kNone) {
    bounds.minval = minval_.known ? minval_.value : ReadBound("minval", inputs[at_.minval]);
    bounds.maxval = maxval_.known ? maxval_.value : ReadBound("maxval", inputs[at_.maxval]);
    if (!minval_.known || !maxval_.known) ThrowIf(CheckRange(op_, type, bounds));
  }
  Dimensions read;
  if (!shape_.known) read = ReadShape(inputs[at_.shape]);
  const Dimensions& dimensions = shape_.known ? shape_.value : read;
  const std::uint64_t elements = static_cast<std::uint64_t>(dimensions.elements);

  SetShape(op_, dimensions, type, outputs[0]);
  const Draw draw = UniformDraw(Derive(state, attributes_.global_seed, attributes_.op_seed), type, bounds, nullptr);
  if (!FillTensor(*ActiveKernels().kernels, draw, elements, outputs[0])) {
    Refuse(op_, std::string("output '") + op_.output[0].name + "'",
           std::string("to be written as ") + ElementTypeName(ElementTypeOf(outputs[0].get_element_type())) +
               ", as the device says",
           std::string(ElementTypeName(ElementTypeOf(type))) + ", unchanged",
           "Compile with the inference precision f32.");
  }
  if (outputs.size() < 2) return true;

  ov::Tensor& next = outputs[1];
  static const ov::Shape kSixWords{kStateWords};
  const ov::Shape& next_shape = has_state ? inputs[at_.state].get_shape() : kSixWords;
  if (next.get_shape() != next_shape) next.set_shape(next_shape);
  std::uint32_t words[kStateWords];
  StateToWords(Advance(state, WordsPerElement(type), elements), words);
  if (IsContiguous(next)) {
    std::memcpy(next.data(), words, sizeof(words));
  } else {
    ov::Tensor(next.get_element_type(), next_shape, words).copy_to(next);
  }
  return true;
}

RandomGenerator::RandomGenerator() : RandomOp(kRandomGenerator, {1, Inputs::kNone, Inputs::kNone, 0}) {}

std::shared_ptr<ov::Node> RandomGenerator::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomGenerator>(), inputs);
}

RandomUniform::RandomUniform() : RandomOp(kRandomUniform, {0, 1, 2, 3}) {}

std::shared_ptr<ov::Node> RandomUniform::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return CloneInto(std::make_shared<RandomUniform>(), inputs);
}

}  // namespace onnx_philox
