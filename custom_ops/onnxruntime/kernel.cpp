// Loading and running a node: see kernel.h.
#include "kernel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace onnx_philox {

namespace {

ElementType ElementTypeFromOrt(OrtElementType type) {
  switch (type) {
    case ORT_TYPE_UNDEFINED:
      return ElementType::kUnknown;
    case ORT_TYPE_FLOAT:
      return ElementType::kF32;
    case ORT_TYPE_UINT8:
      return ElementType::kU8;
    case ORT_TYPE_INT8:
      return ElementType::kI8;
    case ORT_TYPE_UINT16:
      return ElementType::kU16;
    case ORT_TYPE_INT16:
      return ElementType::kI16;
    case ORT_TYPE_INT32:
      return ElementType::kI32;
    case ORT_TYPE_INT64:
      return ElementType::kI64;
    case ORT_TYPE_STRING:
      return ElementType::kString;
    case ORT_TYPE_BOOL:
      return ElementType::kBool;
    case ORT_TYPE_FLOAT16:
      return ElementType::kF16;
    case ORT_TYPE_DOUBLE:
      return ElementType::kF64;
    case ORT_TYPE_UINT32:
      return ElementType::kU32;
    case ORT_TYPE_UINT64:
      return ElementType::kU64;
    case ORT_TYPE_BFLOAT16:
      return ElementType::kBF16;
    default:
      return ElementType::kOther;
  }
}

/// Whether a query succeeded; its error, if any, is released.
bool Succeeded(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return true;
  api.ReleaseStatus(status);
  return false;
}

/// The values of an attribute that is a list; none where it is not.
template <class T, class Query>
std::vector<T> ReadList(const OrtApi& api, const OrtKernelInfo* info, const char* name, Query query, bool* is_list) {
  std::size_t count = 0;
  std::vector<T> values;
  if (!Succeeded(api, query(info, name, nullptr, &count))) return values;
  *is_list = true;
  values.resize(count);
  if (count > 0 && !Succeeded(api, query(info, name, values.data(), &count))) values.clear();
  return values;
}

/// ONNX Runtime answers for one kind of attribute at a time: all are asked for, so that one of a wrong kind is not taken
/// for one that is left out. (Lists of texts, tensors and graphs cannot be asked for.)
GivenAttribute ReadAttribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  std::int64_t integer = 0;
  if (Succeeded(api, api.KernelInfoGetAttribute_int64(info, name, &integer))) return GivenAttribute::Integer(integer);
  std::size_t bytes = 0;
  if (Succeeded(api, api.KernelInfoGetAttribute_string(info, name, nullptr, &bytes))) {
    std::string text(bytes, '\0');  // ends with a NUL
    if (Succeeded(api, api.KernelInfoGetAttribute_string(info, name, &text[0], &bytes))) {
      text.resize(bytes > 0 ? bytes - 1 : 0);
      return GivenAttribute::Text(text);
    }
  }
  float number = 0;
  if (Succeeded(api, api.KernelInfoGetAttribute_float(info, name, &number))) {
    return GivenAttribute::Float(static_cast<double>(number));
  }
  // A list of floats is found by both questions, without its values by the first.
  bool is_list = false;
  std::string shown;
  for (std::int64_t value : ReadList<std::int64_t>(api, info, name, api.KernelInfoGetAttributeArray_int64, &is_list)) {
    shown += (shown.empty() ? "" : ", ") + std::to_string(value);
  }
  for (float value : ReadList<float>(api, info, name, api.KernelInfoGetAttributeArray_float, &is_list)) {
    shown += (shown.empty() ? "" : ", ") + ShowFloat(static_cast<double>(value));
  }
  return is_list ? GivenAttribute::Other("[" + shown + "]") : GivenAttribute();
}

/// Whether input or output `index` has a name, which it has not where it is left out.
template <class Count, class Name>
bool IsConnected(const OrtApi& api, const OrtKernelInfo* info, std::size_t index, Count count_of, Name name_of) {
  std::size_t count = 0, bytes = 0;
  if (!Succeeded(api, count_of(info, &count)) || index >= count) return false;
  return Succeeded(api, name_of(info, index, nullptr, &bytes)) && bytes > 1;  // with its NUL
}

/// The dimensions of a tensor, whatever their number: no more of them are kept than messages and rules need.
struct Shape {
  static constexpr std::size_t kMost = 64;
  std::int64_t dimension[kMost];
  std::size_t rank = 0;
};

OrtStatus* ReadShape(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info, Shape* shape) {
  if (OrtStatus* status = api.GetDimensionsCount(info, &shape->rank)) return status;
  shape->rank = std::min(shape->rank, Shape::kMost);
  return api.GetDimensions(info, shape->dimension, shape->rank);
}

/// Pieces to cut a draw into at most. ONNX Runtime does not tell how many threads its pool has; it hands out pieces one
/// by one, so a few more than there are processors even out their speeds.
std::uint64_t MaxPieces() {
  static const std::uint64_t pieces = 4 * std::max(1u, std::thread::hardware_concurrency());
  return pieces;
}

struct Task {
  const Kernels* kernels;
  const Draw* draw;
  std::uint64_t step, elements;
};

void FillPiece(void* data, std::size_t index) {
  const Task& task = *static_cast<const Task*>(data);
  const std::uint64_t begin = index * task.step;
  Fill(*task.kernels, *task.draw, begin, std::min(begin + task.step, task.elements));
}

}  // namespace

OrtStatus* Kernel::Refuse(const std::string& error) const {
  return error.empty() ? nullptr : api_.CreateStatus(ORT_INVALID_ARGUMENT, error.c_str());
}

OrtStatus* Kernel::Load(const OrtKernelInfo* info) {
  GivenAttributes given;
  for (int i = 0; i < op_.attributes; ++i) {
    given[op_.attribute[i].role] = ReadAttribute(api_, info, op_.attribute[i].name);
  }
  std::string error = CheckAttributes(op_, given, &attributes_);

  bool are_constants = true;
  for (int i = 0; i < op_.inputs && error.empty(); ++i) {
    if (OrtStatus* status = LoadInput(info, i, &error)) return status;
    if (op_.input[i].role != Role::kState && source_[i] == Source::kRun) are_constants = false;
  }
  if (error.empty()) error = CheckTogether(op_, attributes_, loaded_.arguments);
  is_checked_together_ = are_constants;

  has_values_ = IsConnected(api_, info, 0, api_.KernelInfo_GetOutputCount, api_.KernelInfo_GetOutputName);
  has_next_state_ = IsConnected(api_, info, 1, api_.KernelInfo_GetOutputCount, api_.KernelInfo_GetOutputName);
  return Refuse(error);
}

OrtStatus* Kernel::LoadInput(const OrtKernelInfo* info, int index, std::string* error) {
  const std::size_t i = static_cast<std::size_t>(index);
  if (!IsConnected(api_, info, i, api_.KernelInfo_GetInputCount, api_.KernelInfo_GetInputName)) {
    source_[i] = Source::kLeftOut;
    *error = CheckLeftOut(op_, index, attributes_);
    return nullptr;
  }
  int is_constant = 0;
  const OrtValue* constant = nullptr;
  if (OrtStatus* status = api_.KernelInfoGetConstantInput_tensor(info, i, &is_constant, &constant)) return status;
  if (is_constant != 0 && constant != nullptr) {
    source_[i] = Source::kConstant;
    return ReadValue(constant, index, &loaded_, error);
  }

  source_[i] = Source::kRun;
  OrtTypeInfo* type = nullptr;
  if (OrtStatus* status = api_.KernelInfo_GetInputTypeInfo(info, i, &type)) return status;
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // belongs to `type`
  OrtElementType element = ORT_TYPE_UNDEFINED;
  Shape shape;
  OrtStatus* status = api_.CastTypeInfoToTensorInfo(type, &tensor);
  if (status == nullptr && tensor != nullptr) status = api_.GetTensorElementType(tensor, &element);
  if (status == nullptr && tensor != nullptr) status = ReadShape(api_, tensor, &shape);
  api_.ReleaseTypeInfo(type);
  if (status != nullptr) return status;

  Known known;
  known.type = ElementTypeFromOrt(element);
  // An unknown rank reads as 0 here, so a rank of 0 says nothing.
  if (shape.rank > 0) {
    known.rank = static_cast<int>(shape.rank);
    known.dimensions = shape.dimension;
    for (std::size_t d = 0; d < shape.rank; ++d) {
      if (shape.dimension[d] < 0) shape.dimension[d] = Known::kUnknownDimension;
    }
  }
  *error = Check(index, known, &loaded_);
  return nullptr;
}

std::string Kernel::Check(int index, const Known& known, Call* call) const {
  std::string error = CheckInput(op_, index, known, attributes_, &call->arguments);
  if (error.empty() && op_.input[index].role == Role::kState && known.rank > 0) {
    call->state_rank = static_cast<std::size_t>(known.rank);
    std::copy(known.dimensions, known.dimensions + known.rank, call->state_dimension);
  }
  return error;
}

OrtStatus* Kernel::ReadValue(const OrtValue* value, int index, Call* call, std::string* error) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api_.GetTensorTypeAndShape(value, &info)) return status;
  OrtElementType element = ORT_TYPE_UNDEFINED;
  Shape shape;
  OrtStatus* status = api_.GetTensorElementType(info, &element);
  if (status == nullptr) status = ReadShape(api_, info, &shape);
  api_.ReleaseTensorTypeAndShapeInfo(info);
  if (status != nullptr) return status;

  Known known;
  known.type = ElementTypeFromOrt(element);
  known.rank = static_cast<int>(shape.rank);
  known.dimensions = shape.dimension;
  void* data = nullptr;
  // A text tensor has no plain data, and is refused by its type anyway.
  if (known.type != ElementType::kString) {
    if (OrtStatus* no_data = api_.GetTensorMutableData(const_cast<OrtValue*>(value), &data)) return no_data;
  }
  known.data = data;
  *error = Check(index, known, call);
  return nullptr;
}

OrtStatus* Kernel::Compute(OrtKernelContext* context) const {
  Call call = loaded_;
  std::string error;
  for (int i = 0; i < op_.inputs; ++i) {
    if (source_[i] != Source::kRun) continue;
    const OrtValue* value = nullptr;
    if (OrtStatus* status = api_.KernelContext_GetInput(context, static_cast<std::size_t>(i), &value)) return status;
    if (value == nullptr) {
      error = CheckLeftOut(op_, i, attributes_);
    } else if (OrtStatus* status = ReadValue(value, i, &call, &error)) {
      return status;
    }
    if (!error.empty()) return Refuse(error);
  }
  const Dimensions& dimensions = call.arguments.dimensions;
  if (!is_checked_together_) error = CheckTogether(op_, attributes_, call.arguments);
  if (error.empty()) error = CheckMemory(op_, dimensions, attributes_.output);
  if (!error.empty()) return Refuse(error);

  // Both outputs are asked for before either is written: a refusal of ONNX Runtime's leaves them as they were.
  OrtValue *values = nullptr, *next_state = nullptr;
  void *values_data = nullptr, *next_state_data = nullptr;
  if (has_values_) {
    if (OrtStatus* status = api_.KernelContext_GetOutput(context, 0, dimensions.dimension,
                                                         static_cast<std::size_t>(dimensions.rank), &values)) {
      return status;
    }
  }
  if (has_next_state_) {
    if (OrtStatus* status =
            api_.KernelContext_GetOutput(context, 1, call.state_dimension, call.state_rank, &next_state)) {
      return status;
    }
  }
  if (values != nullptr && dimensions.elements > 0) {
    if (OrtStatus* status = api_.GetTensorMutableData(values, &values_data)) return status;
  }
  if (next_state != nullptr) {
    if (OrtStatus* status = api_.GetTensorMutableData(next_state, &next_state_data)) return status;
  }

  const std::uint64_t elements = static_cast<std::uint64_t>(dimensions.elements);
  const Draw draw = DrawOf(op_, attributes_, call.arguments, values_data);
  if (values_data != nullptr) {
    const Split split = SplitDraw(draw, elements, MaxPieces());
    if (split.pieces <= 1) {
      Fill(kernels_, draw, 0, elements);
    } else {
      Task task{&kernels_, &draw, split.step, elements};
      if (OrtStatus* status = api_.KernelContext_ParallelFor(context, FillPiece, split.pieces, 0, &task)) return status;
    }
  }
  if (next_state_data != nullptr) {
    std::uint32_t words[kStateWords];
    StateToWords(Advance(call.arguments.state, WordsPerElement(draw), elements), words);
    std::copy(words, words + kStateWords, static_cast<std::uint32_t*>(next_state_data));
  }
  return nullptr;
}

}  // namespace onnx_philox
