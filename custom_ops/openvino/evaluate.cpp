// A run of a node: see node.h.
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <vector>

#include "fill_tensor.h"
#include "folded.h"
#include "kernels.h"
#include "known_shape.h"
#include "node.h"
#include "openvino/core/parallel.hpp"
#include "openvino_types.h"
#include "refuse.h"

namespace onnx_philox {

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

namespace {

const ForEach kForEachThread = [](std::uint64_t count, const std::function<void(std::uint64_t)>& task) {
  ov::parallel_for(count, [&](std::uint64_t i) { task(i); });
};

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

/// The memory of a tensor, gaps included.
Written MemoryOf(const ov::Tensor* tensor) {
  if (tensor == nullptr || tensor->get_size() == 0) return {nullptr, 0};
  // Types below a byte have no strides.
  if (IsContiguous(*tensor)) return {tensor->data(), tensor->get_byte_size()};
  std::uint64_t bytes = tensor->get_element_type().size();
  const ov::Shape& shape = tensor->get_shape();
  const ov::Strides strides = tensor->get_strides();
  for (std::size_t i = 0; i < shape.size(); ++i) bytes += (shape.data()[i] - 1) * strides.data()[i];
  return {tensor->data(), bytes};
}

}  // namespace

/// A tensor as it arrived; what is known of it points in here.
struct RandomOp::Reading {
  explicit Reading(const ov::Tensor& tensor)
      : type(ElementTypeOf(tensor.get_element_type())), shape(tensor.get_shape()), elements(tensor) {}

  const ElementType type;
  const KnownShape shape;
  const Elements elements;
  const std::uint64_t count = static_cast<std::uint64_t>(shape.elements());
  std::uint64_t converted = 0;

  /// The floats in another type.
  const void* Converted(ElementType to) {
    void* const target = Own(to == ElementType::kF64 ? 2 * count : count);
    ConvertFloats(elements.data(), type, target, to, count);
    return target;
  }

  /// The i32 integers as i64.
  const void* Widened() {
    unsigned char* const target = static_cast<unsigned char*>(Own(2 * count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::int64_t integer = IntegerAt(ElementType::kI32, elements.data(), i);
      std::memcpy(target + i * sizeof(integer), &integer, sizeof(integer));
    }
    return target;
  }

  /// These f32 numbers, from 0 to 1.
  const void* Clamped(Clamp clamp, const void* numbers) {
    void* const target = Own(count);
    ClampNumbers(clamp, numbers, count, target);
    return target;
  }

 private:
  /// Memory for so many numbers, the same in each call.
  void* Own(std::uint64_t count) {
    if (count <= 2) return &converted;
    all_converted_.resize(count);
    return all_converted_.data();
  }

  std::vector<std::uint32_t> all_converted_;  // of f32 or less; of f64, two for each
};

/// What a tensor says, in the input's declared type.
Known RandomOp::Read(int input, Reading* reading) const {
  const ElementType type = reading->type;
  const KnownShape& shape = reading->shape;
  const void* data = reading->elements.data();
  if (RoleOf(input) == Role::kShape) return KnownSizes(shape, type, data);
  const ElementType declared = DeclaredType(input, type);
  const bool is_wider = type == ElementType::kF32 && (declared == ElementType::kF16 || declared == ElementType::kBF16);
  // Only for what the plugin computed in f16, where it declares f16.
  const bool is_half = type == ElementType::kF16 && declared == ElementType::kF32 && ArrivedType(input) == type;
  const bool is_narrower = type == ElementType::kI32 && declared == ElementType::kI64;
  const bool is_signed = type == ElementType::kI32 && declared == ElementType::kU32;
  const bool is_rounded = IsData(input) && type == ElementType::kF32 && declared == ElementType::kF64;
  const bool is_taken = type == declared || is_wider || is_half || is_rounded || is_narrower || is_signed;
  if (!is_taken && data != nullptr) {
    Refuse(op_, InputText(op_.input[input].name), Worded(say::kHandedOver, {ElementTypeName(type)}),
           Worded(say::kUnchanged, {TypeNames(op_.input[input], attributes_.output)}), say::kCompileInF32);
  }
  if (data != nullptr && (is_wider || is_half || is_rounded)) {
    data = reading->Converted(declared);
  } else if (data != nullptr && is_narrower) {
    data = reading->Widened();
  }
  // Of Philox's numbers the draw itself compares many.
  if (data != nullptr && IsClamped(input) && (reading->count == 1 || attributes_.is_pytorch)) {
    data = reading->Clamped(clamp_, data);
  }
  return shape.WithType(declared, data);
}

bool RandomOp::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  Tensors tensors = {};
  for (int i = 0; i < op_.inputs && static_cast<std::size_t>(i) < inputs.size(); ++i) {
    tensors[i] = &inputs[static_cast<std::size_t>(i)];
  }
  return Run(outputs, tensors, IsFolded(*this, inputs, Has(Past::kCloned), Has(Past::kFromFile)));
}

bool RandomOp::Run(ov::TensorVector& outputs, const Tensors& inputs, bool is_folded) const try {
  const OutputType type = attributes_.output;
  Arguments arguments = arguments_;
  std::optional<Reading> readings[kMaxInputs];
  bool is_together_checked = true;  // by validation
  const ov::Tensor* state = nullptr;
  for (int i = 0; i < op_.inputs; ++i) {
    if (RoleOf(i) == Role::kState) state = inputs[i];
    if (inputs[i] == nullptr || IsKnown(i)) continue;
    const bool is_apart = RoleOf(i) == Role::kState ||
                          (RoleOf(i) == Role::kShape && IndexOf(op_, Role::kNumbers) < 0);
    is_together_checked = is_together_checked && is_apart;
    ThrowIf(CheckInput(op_, i, Read(i, &readings[i].emplace(*inputs[i])), attributes_, &arguments, kForEachThread,
                       ManyNumbers::kAsDrawn));
  }
  Argument& p = arguments.given[static_cast<int>(Parameter::kP)];
  if (clamp_ != Clamp::kNone && p.each()) {
    p.unchecked = nullptr;
    p.of_nan = clamp_ == Clamp::kNanIsZero ? OfNan::kNone : OfNan::kAll;
  }
  if (!is_together_checked || arguments.states != 1) ThrowIf(CheckTogether(op_, attributes_, arguments));

  SetShape(op_, arguments.dimensions, type, outputs[0]);
  ov::Tensor* const mask = op_.has_mask() && outputs.size() > 1 ? &outputs[1] : nullptr;
  if (mask != nullptr) {
    Dimensions booleans = arguments.dimensions;
    booleans.bytes = booleans.elements;
    SetShape(op_, booleans, OutputType::kBool, *mask);
  }
  const std::size_t state_output = static_cast<std::size_t>(op_.state_output());
  ov::Tensor* const next = outputs.size() <= state_output ? nullptr : &outputs[state_output];
  if (next != nullptr) {
    static const ov::Shape kOneState{kStateWords}, kOneTorchState{kTorchStateWords};
    const ov::Shape& shape = state != nullptr         ? state->get_shape()
                             : attributes_.is_pytorch ? kOneTorchState
                                                      : kOneState;
    if (next->get_shape() != shape) next->set_shape(shape);
  }
  std::vector<std::uint32_t> states;
  KeepStates(MemoryOf(&outputs[0]), MemoryOf(next), &arguments, &states);
  ThrowIf(CheckOverwritten(op_, MemoryOf(&outputs[0]), &arguments, kForEachThread));
  // A mask whose rows do not lie next to each other is drawn elsewhere first.
  ov::Tensor whole_mask;
  if (mask != nullptr && arguments.dimensions.elements > 0) whole_mask = Whole(*mask);
  const Draw draw = DrawOf(op_, attributes_, arguments, nullptr, whole_mask ? whole_mask.data() : nullptr);
  // States whose words do not lie next to each other are written elsewhere first.
  ov::Tensor whole_next;
  if (next != nullptr) whole_next = Whole(*next);
  std::uint32_t* const words = next == nullptr || next->get_size() == 0 ? nullptr : static_cast<std::uint32_t*>(whole_next.data());
  const Filled filled =
      FillTensor(*ActiveKernels().kernels, attributes_, arguments, draw, words, outputs[0], kForEachThread);
  if (filled == Filled::kOutside) ThrowIf(CheckUnchecked(op_, arguments, kForEachThread));
  if (filled == Filled::kOfAnotherType) {
    Refuse(op_, OutputText(op_.output[0].name),
           Worded(say::kAskedFor, {ElementTypeName(ElementTypeOf(outputs[0].get_element_type()))}),
           Worded(say::kUnchanged, {ElementTypeName(ElementTypeOf(type))}), say::kDrawInF32);
  }
  if (rounded_ != ElementType::kUnknown) RoundTensor(outputs[0], rounded_);
  if (whole_mask && !IsContiguous(*mask)) whole_mask.copy_to(*mask);
  if (is_folded) RefuseAlteredResult(0, outputs[0]);
  if (next == nullptr) return true;

  if (!attributes_.is_pytorch && words != nullptr) WriteNextState(draw, arguments, words);
  if (!IsContiguous(*next)) whole_next.copy_to(*next);
  if (is_folded) RefuseAlteredResult(op_.state_output(), *next);
  return true;
} catch (const std::bad_alloc&) {
  ThrowIf(OutOfMemory(op_));
  return false;
}

void RandomOp::RefuseAlteredResult(int output, const ov::Tensor& drawn) const {
  const auto altered = AlteredResult(this->output(static_cast<std::size_t>(output)), drawn, output == 0 && Has(Past::kLeft));
  if (!altered.has_value()) return;
  Refuse(op_, OutputText(op_.output[output].name), altered->given, altered->allowed, altered->remedy);
}

}  // namespace onnx_philox
