// Loading and running a node: see kernel.h.
#include "kernel.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "ort_types.h"
#include "text.h"
#include "torch_part.h"
#include "widened_f16.h"

namespace onnx_philox {

namespace {

/// Whether a query succeeded; its error, if any, is released.
bool Succeeded(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return true;
  api.ReleaseStatus(status);
  return false;
}

/// Whether a failure comes from one of ONNX Runtime's allocators, judged by its text.
bool IsOutOfMemory(const OrtApi& api, const OrtStatus* status) {
  const std::string text = api.GetErrorMessage(status);
  for (const char* part : {"Failed to allocate memory", "Available memory", "bad_alloc", "bad allocation"}) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

/// The values of an attribute that is a list; none if it is not.
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

/// Whether the node has an attribute, of any kind: ONNX Runtime finds a list of floats in each, an empty one in most.
bool HasAttribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  std::size_t count = 0;
  return Succeeded(api, api.KernelInfoGetAttributeArray_float(info, name, nullptr, &count));
}

/// ONNX Runtime answers for one kind of attribute at a time. This asks for all kinds, so that an attribute of a wrong
/// kind does not count as left out. (It cannot ask for lists of texts, tensors and graphs.)
GivenAttribute ReadAttribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  std::int64_t integer = 0;
  if (Succeeded(api, api.KernelInfoGetAttribute_int64(info, name, &integer))) return GivenAttribute::Integer(integer);
  std::string text;
  const auto read = [&](char* to, std::size_t* bytes) { return api.KernelInfoGetAttribute_string(info, name, to, bytes); };
  if (Succeeded(api, ReadText(read, &text))) return GivenAttribute::Text(text);
  float number = 0;
  if (Succeeded(api, api.KernelInfoGetAttribute_float(info, name, &number))) {
    return GivenAttribute::Float(static_cast<double>(number));
  }
  if (!HasAttribute(api, info, name)) return GivenAttribute();
  // Both questions find a list of floats, the first without its values.
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

/// The name of input or output `index`; empty if it is left out.
template <class Count, class Name>
std::string NameOf(const OrtApi& api, const OrtKernelInfo* info, std::size_t index, Count count_of, Name name_of) {
  std::size_t count = 0;
  if (!Succeeded(api, count_of(info, &count)) || index >= count) return std::string();
  std::string name;
  const auto read = [&](char* to, std::size_t* bytes) { return name_of(info, index, to, bytes); };
  return Succeeded(api, ReadText(read, &name)) ? name : std::string();
}

std::string InputName(const OrtApi& api, const OrtKernelInfo* info, std::size_t index) {
  return NameOf(api, info, index, api.KernelInfo_GetInputCount, api.KernelInfo_GetInputName);
}

std::string OutputName(const OrtApi& api, const OrtKernelInfo* info, std::size_t index) {
  return NameOf(api, info, index, api.KernelInfo_GetOutputCount, api.KernelInfo_GetOutputName);
}

/// The dimensions of a tensor, of any number; a valid number needs no allocation.
class Shape {
 public:
  OrtStatus* Read(const OrtApi& api, const OrtTensorTypeAndShapeInfo* info) {
    if (OrtStatus* status = api.GetDimensionsCount(info, &rank_)) return status;
    if (rank_ > kMaxRank) many_.resize(rank_);
    return api.GetDimensions(info, dimensions(), rank_);
  }
  std::size_t rank() const { return rank_; }
  std::int64_t* dimensions() { return many_.empty() ? few_ : many_.data(); }

 private:
  std::int64_t few_[kMaxRank] = {};
  std::vector<std::int64_t> many_;
  std::size_t rank_ = 0;
};

/// What is known of an input or output before a run.
struct TypeInfo {
  ElementType type = ElementType::kUnknown;
  Shape shape;

  template <class Query>
  OrtStatus* Read(const OrtApi& api, const OrtKernelInfo* info, std::size_t index, Query query) {
    OrtTypeInfo* all = nullptr;
    if (OrtStatus* status = query(info, index, &all)) return status;
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;  // belongs to `all`
    OrtElementType element = ORT_TYPE_UNDEFINED;
    OrtStatus* status = api.CastTypeInfoToTensorInfo(all, &tensor);
    if (status == nullptr && tensor != nullptr) status = api.GetTensorElementType(tensor, &element);
    if (status == nullptr && tensor != nullptr) status = shape.Read(api, tensor);
    api.ReleaseTypeInfo(all);
    type = ElementTypeFromOrt(element);
    return status;
  }
};

/// The most pieces to cut a draw into. ONNX Runtime does not tell how many threads its pool has. It gives out pieces
/// one by one, so a few more pieces than processors even out their speeds.
std::uint64_t MaxPieces() {
  static const std::uint64_t pieces = 4 * std::max(1u, std::thread::hardware_concurrency());
  return pieces;
}

/// The dimensions and bytes of a mask beside values of these dimensions.
Dimensions OfMask(Dimensions dimensions) {
  dimensions.bytes = dimensions.elements;
  return dimensions;
}

void RunTask(void* data, std::size_t index) {
  (*static_cast<const std::function<void(std::uint64_t)>*>(data))(index);
}

/// The threads of a run; an error of theirs, which the caller releases.
struct ThreadsOfRun {
  const OrtApi& api;
  OrtKernelContext* context;
  OrtStatus* status = nullptr;

  /// One pointer to all that it needs fits into a std::function, which else allocates memory in each call.
  ForEach Each() {
    return [this](std::uint64_t count, const std::function<void(std::uint64_t)>& task) {
      void* const data = const_cast<std::function<void(std::uint64_t)>*>(&task);
      status = api.KernelContext_ParallelFor(context, RunTask, count, 0, data);
    };
  }
};

}  // namespace

OrtStatus* Kernel::Refuse(const std::string& error) const {
  return error.empty() ? nullptr : api_.CreateStatus(ORT_INVALID_ARGUMENT, error.c_str());
}

const void* Kernel::CopyConstant(int, const OnDevice&, std::string*) const { return nullptr; }

OrtStatus* Kernel::Load(const OrtKernelInfo* info) {
  GivenAttributes given;
  for (int i = 0; i < op_.attributes; ++i) {
    given[op_.attribute[i].role] = ReadAttribute(api_, info, op_.attribute[i].name);
  }
  given.unknown = FindOther(op_, [&](const char* name) { return HasAttribute(api_, info, name); });
  std::string error = CheckAttributes(op_, given, &attributes_);
  loaded_.state_dimension[0] = attributes_.state_words();

  has_values_ = !OutputName(api_, info, 0).empty();
  has_mask_ = op_.has_mask() && !OutputName(api_, info, 1).empty();
  has_next_state_ = !OutputName(api_, info, static_cast<std::size_t>(op_.state_output())).empty();
  if (OrtStatus* status = FindOutputType(info)) return status;
  if (OrtStatus* status = FindWidening(info)) return status;

  bool are_constants = true;
  for (int i = 0; i < op_.inputs && error.empty(); ++i) {
    if (OrtStatus* status = LoadInput(info, i, &error)) return status;
    if (op_.input[i].role != Role::kState && source_[i] == Source::kRun) are_constants = false;
  }
  if (error.empty()) error = CheckTogether(op_, attributes_, loaded_.arguments);
  is_checked_together_ = are_constants;
  return Refuse(error);
}

OrtStatus* Kernel::FindOutputType(const OrtKernelInfo* info) {
  if (op_.type_input() < 0) return nullptr;
  const std::size_t index = static_cast<std::size_t>(op_.type_input());
  if (InputName(api_, info, index).empty()) return nullptr;
  TypeInfo data;
  if (OrtStatus* status = data.Read(api_, info, index, api_.KernelInfo_GetInputTypeInfo)) return status;
  // The data of a node of float32 may have such a name, too; its output may not.
  is_widened_ = data.type == ElementType::kF32 && IsNameOfInsertedCast(OutputName(api_, info, 0));
  TakeOutputType(op_, is_widened_ ? ElementType::kF16 : data.type, &attributes_);
  return nullptr;
}

OrtStatus* Kernel::FindWidening(const OrtKernelInfo* info) {
  if (op_.type_input() >= 0) return nullptr;
  if (attributes_.output != OutputType::kF16 || !has_values_) return nullptr;
  TypeInfo values;
  if (OrtStatus* status = values.Read(api_, info, 0, api_.KernelInfo_GetOutputTypeInfo)) return status;
  if (values.type != ElementType::kF32) return nullptr;
  // If the model itself gives float32 to a float16 node, that is a mistake, which the checks of the inputs refuse.
  is_widened_ = IsNameOfInsertedCast(OutputName(api_, info, 0));
  for (int i = 0; i < op_.inputs && !is_widened_; ++i) {
    is_widened_ = op_.input[i].has_output_type() && IsNameOfInsertedCast(InputName(api_, info, static_cast<std::size_t>(i)));
  }
  return nullptr;
}

OrtStatus* Kernel::LoadInput(const OrtKernelInfo* info, int index, std::string* error) {
  const std::size_t i = static_cast<std::size_t>(index);
  if (InputName(api_, info, i).empty()) {
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
  TypeInfo given;
  if (OrtStatus* status = given.Read(api_, info, i, api_.KernelInfo_GetInputTypeInfo)) return status;

  Known known;
  known.type = given.type;
  if (loaded_.on_device != nullptr) loaded_.on_device[index].type = given.type;
  if (IsWidenedNumber(index, known.type)) known.type = ElementType::kF16;
  // An unknown rank reads as 0 here, so a rank of 0 says nothing.
  if (given.shape.rank() > 0) {
    known.rank = static_cast<int>(given.shape.rank());
    known.dimensions = given.shape.dimensions();
    std::replace_if(given.shape.dimensions(), given.shape.dimensions() + known.rank,
                    [](std::int64_t d) { return d < 0; }, Known::kUnknownDimension);
  }
  *error = Check(index, known, &loaded_);
  return nullptr;
}

bool Kernel::IsWidenedNumber(int index, ElementType type) const {
  const bool is_of_values = op_.input[index].has_output_type() || index == op_.type_input();
  return is_widened_ && is_of_values && type == ElementType::kF32;
}

std::string Kernel::Check(int index, const Known& known, Call* call, OrtKernelContext* context) const {
  ThreadsOfRun run{api_, context};
  ForEach for_each;
  if (context != nullptr && op_.input[index].is_array()) for_each = run.Each();
  // Where nobody wants the values, nobody draws them.
  const ManyNumbers many = context != nullptr && has_values_ ? ManyNumbers::kAsDrawn : ManyNumbers::kCheck;
  std::string error = CheckInput(op_, index, known, attributes_, &call->arguments, for_each, many);
  if (run.status != nullptr) {
    error = op_.name + (": " + std::string(api_.GetErrorMessage(run.status)));
    api_.ReleaseStatus(run.status);
  }
  if (error.empty() && op_.input[index].role == Role::kState && known.rank > 0) {
    call->state_rank = static_cast<std::size_t>(known.rank);
    std::copy(known.dimensions, known.dimensions + known.rank, call->state_dimension);
  }
  return error;
}

OrtStatus* Kernel::ReadValue(const OrtValue* value, int index, Call* call, std::string* error,
                             OrtKernelContext* context) const {
  OrtTensorTypeAndShapeInfo* info = nullptr;
  if (OrtStatus* status = api_.GetTensorTypeAndShape(value, &info)) return status;
  OrtElementType element = ORT_TYPE_UNDEFINED;
  Shape shape;
  OrtStatus* status = api_.GetTensorElementType(info, &element);
  if (status == nullptr) status = shape.Read(api_, info);
  api_.ReleaseTensorTypeAndShapeInfo(info);
  if (status != nullptr) return status;

  Known known;
  known.type = ElementTypeFromOrt(element);
  known.rank = static_cast<int>(shape.rank());
  known.dimensions = shape.dimensions();
  void* data = nullptr;
  // A text tensor has no plain data, and is refused by its type anyway.
  if (known.type != ElementType::kString) {
    if (OrtStatus* no_data = api_.GetTensorMutableData(const_cast<OrtValue*>(value), &data)) return no_data;
  }
  known.data = data;
  if (is_on_device_[index]) {
    call->on_device[index] = OnDevice{data, known.type, CountOf(known)};
    known.data = context == nullptr ? CopyConstant(index, call->on_device[index], error) : nullptr;
    if (error->empty()) *error = Check(index, known, call, context);
    return nullptr;
  }
  std::uint16_t half = 0;
  if (IsWidenedNumber(index, known.type)) {
    known.type = ElementType::kF16;
    const bool is_one = known.rank == 0 || (known.rank == 1 && known.dimensions[0] == 1);  // others are refused
    if (op_.input[index].is_array()) {
      const float* const numbers = static_cast<const float*>(data);
      call->halves.resize(static_cast<std::size_t>(CountOf(known)));
      std::transform(numbers, numbers + call->halves.size(), call->halves.begin(), RoundToF16);
      known.data = call->halves.data();
    } else if (is_one) {
      float number = 0;
      std::memcpy(&number, data, sizeof(number));
      half = RoundToF16(number);
      known.data = &half;
    }
  }
  *error = Check(index, known, call, context);
  return nullptr;
}

OrtStatus* Kernel::ReadInputs(OrtKernelContext* context, Call* call) const {
  std::string error;
  for (int i = 0; i < op_.inputs; ++i) {
    if (source_[i] != Source::kRun) continue;
    const OrtValue* value = nullptr;
    if (OrtStatus* status = api_.KernelContext_GetInput(context, static_cast<std::size_t>(i), &value)) return status;
    if (value == nullptr) {
      error = CheckLeftOut(op_, i, attributes_);
    } else if (OrtStatus* status = ReadValue(value, i, call, &error, context)) {
      return status;
    }
    if (!error.empty()) return Refuse(error);
  }
  if (!is_checked_together_ || call->arguments.states != 1) error = CheckTogether(op_, attributes_, call->arguments);
  return Refuse(error);
}

OrtStatus* Kernel::AskForOutputs(OrtKernelContext* context, const Call& call, const Dimensions& written,
                                 OutputType type, Outputs* outputs) const {
  const Dimensions& dimensions = call.arguments.dimensions;
  // `memory`: what an output that is drawn takes; null of the next state.
  const auto ask = [&](int index, const std::int64_t* shape, std::size_t rank, const Dimensions* memory, OutputType of,
                       void** data) -> OrtStatus* {
    OrtValue* value = nullptr;
    OrtStatus* const status = api_.KernelContext_GetOutput(context, static_cast<std::size_t>(index), shape, rank, &value);
    if (status != nullptr && memory != nullptr && IsOutOfMemory(api_, status)) {
      api_.ReleaseStatus(status);
      return Refuse(OutOfMemory(op_, *memory, of));
    }
    const bool is_empty = memory != nullptr && memory->elements == 0;
    return status != nullptr || value == nullptr || is_empty ? status : api_.GetTensorMutableData(value, data);
  };
  const std::size_t rank = static_cast<std::size_t>(dimensions.rank);
  OrtStatus* status = has_values_ ? ask(0, dimensions.dimension, rank, &written, type, &outputs->values) : nullptr;
  if (status == nullptr && has_mask_) {
    const Dimensions of_mask = OfMask(dimensions);
    status = ask(1, dimensions.dimension, rank, &of_mask, OutputType::kBool, &outputs->mask);
  }
  if (status != nullptr || !has_next_state_) return status;
  return ask(op_.state_output(), call.state_dimension, call.state_rank, nullptr, type, &outputs->next_state);
}

OrtStatus* Kernel::Compute(OrtKernelContext* context) const {
  Call call = loaded_;
  if (OrtStatus* status = ReadInputs(context, &call)) return status;
  const Dimensions& dimensions = call.arguments.dimensions;
  Dimensions written = dimensions;
  if (is_widened_) written.bytes = 4 * dimensions.elements;
  const OutputType written_type = is_widened_ ? OutputType::kF32 : attributes_.output;
  const Memory memory = MemoryFor(static_cast<std::uint64_t>(written.bytes));
  std::string error = CheckMemory(op_, written, written_type, memory);
  if (!error.empty()) return Refuse(error);

  // Asks for all outputs before it writes any, so that a refusal by ONNX Runtime leaves them unchanged.
  Outputs outputs;
  if (OrtStatus* status = AskForOutputs(context, call, written, written_type, &outputs)) return status;
  if (outputs.values != nullptr) error = CheckAllocated(op_, written, written_type, memory, outputs.values);
  if (error.empty() && outputs.mask != nullptr) {
    error = CheckAllocated(op_, OfMask(dimensions), OutputType::kBool, memory, outputs.mask);
  }
  if (!error.empty()) return Refuse(error);

  const Written values{outputs.values, static_cast<std::uint64_t>(written.bytes)};
  auto* const next_states = static_cast<std::uint32_t*>(outputs.next_state);
  std::vector<std::uint32_t> states;
  KeepStates(values, {next_states, StateBytes(call.arguments)}, &call.arguments, &states);
  error = CheckOverwritten(op_, values, &call.arguments);
  if (!error.empty()) return Refuse(error);
  const Draw draw = DrawOf(op_, attributes_, call.arguments, outputs.values, outputs.mask);
  const bool is_widened = is_widened_ && outputs.values != nullptr;
  ThreadsOfRun run{api_, context};
  if (attributes_.is_pytorch) {
    const auto draw_torch = is_widened ? DrawTorchWidened : DrawTorch;
    draw_torch(kernels_, attributes_, call.arguments, draw, next_states, run.Each());
    return run.status;
  }
  if (outputs.values != nullptr || outputs.mask != nullptr) {
    const bool is_within = FillShared(kernels_, draw, static_cast<std::uint64_t>(dimensions.elements), MaxPieces,
                                      run.Each(), is_widened ? FillWidened : Fill);
    if (run.status != nullptr) return run.status;
    if (!is_within) return Refuse(CheckUnchecked(op_, call.arguments));
  }
  if (next_states != nullptr) WriteNextState(draw, call.arguments, next_states);
  return nullptr;
}

}  // namespace onnx_philox
