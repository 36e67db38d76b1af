// A stand-in for ONNX Runtime: the table of ort_api.h over plain C++ data, so that the library runs under sanitizers,
// meets inputs that ONNX Runtime would refuse before it, and sees every call into the table fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "ort_api.h"

struct OrtStatus {
  OrtErrorCode code;
  std::string text;
};

struct OrtTensorTypeAndShapeInfo {
  OrtElementType type = ORT_TYPE_UNDEFINED;
  std::vector<std::int64_t> dimensions;
  std::vector<std::string> symbols;
};

/// An attribute of a node, as shape inference reads it.
struct OrtOpAttr {
  const struct Attribute* attribute;
};

struct OrtTypeInfo {
  OrtTensorTypeAndShapeInfo tensor;
};

struct OrtValue {
  static constexpr std::size_t kGuard = 64;
  OrtTensorTypeAndShapeInfo info;
  std::vector<unsigned char> memory;  // the data between two guards
  void* on_device = nullptr;          // of a card's: where the data are instead, which is not read here
  void* data() { return on_device != nullptr ? on_device : memory.data() + kGuard; }
};

struct OrtCustomOpDomain {
  std::string name;
  std::vector<const OrtCustomOp*> ops;
};

struct OrtSessionOptions {
  std::vector<const OrtCustomOpDomain*> domains;
  std::map<std::string, std::string> entries;
};

struct Attribute {
  enum class Kind { kInteger, kFloat, kText, kIntegers, kFloats };
  explicit Attribute(Kind kind_given = Kind::kInteger) : kind(kind_given) {}
  Kind kind;
  std::int64_t integer = 0;
  float number = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<float> numbers;
};

struct NodeInput {
  std::string name;  // empty: left out
  OrtValue* value;
  bool is_constant;
  bool has_known_shape;
};

struct OrtKernelInfo {
  std::map<std::string, Attribute> attributes;
  std::vector<NodeInput> inputs;
  std::vector<std::string> outputs;
  OrtElementType values_type = ORT_TYPE_UINT32;  // of the first output; the other is uint32
};

struct OrtKernelContext {
  std::vector<const OrtValue*> inputs;
  std::vector<OrtValue> outputs;
  std::vector<OrtElementType> output_types;
  unsigned threads = 1;
  void* stream = nullptr;
};

/// What shape inference of a node sees, and what it says of the first output.
struct OrtShapeInferContext {
  std::map<std::string, Attribute> attributes;
  std::map<std::string, OrtOpAttr> found;
  std::vector<OrtTensorTypeAndShapeInfo> inputs;
  OrtTensorTypeAndShapeInfo values;
  bool is_set = false;
};

namespace host {

constexpr unsigned char kPoison = 0xCA;
/// The beginning of what ONNX Runtime says.
constexpr char kNoMemory[] = "Failed to allocate memory for requested buffer of size 1";
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // of an output; more is refused like a failed allocation

inline std::atomic<long> live{0};         // statuses, infos and domains not released
inline thread_local long calls_left = -1;  // after how many calls one fails; below 0: never

inline OrtStatus* Make(OrtErrorCode code, std::string text) {
  ++live;
  return new OrtStatus{code, std::move(text)};
}

/// The injected failure, once, or null.
inline OrtStatus* Injected() {
  if (calls_left < 0) return nullptr;
  return calls_left-- == 0 ? Make(ORT_FAIL, "injected") : nullptr;
}

inline std::size_t SizeOf(OrtElementType type) {
  const auto is_one_of = [type](std::initializer_list<OrtElementType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  if (is_one_of({ORT_TYPE_UINT8, ORT_TYPE_INT8, ORT_TYPE_BOOL})) return 1;
  if (is_one_of({ORT_TYPE_UINT16, ORT_TYPE_INT16, ORT_TYPE_FLOAT16, ORT_TYPE_BFLOAT16})) return 2;
  return is_one_of({ORT_TYPE_FLOAT, ORT_TYPE_INT32, ORT_TYPE_UINT32}) ? 4 : 8;
}

inline void Shape(OrtValue* value, OrtElementType type, std::vector<std::int64_t> dimensions) {
  std::size_t elements = 1;
  for (std::int64_t d : dimensions) elements *= static_cast<std::size_t>(d);
  value->info.type = type;
  value->info.dimensions = std::move(dimensions);
  value->memory.assign(elements * SizeOf(type) + 2 * OrtValue::kGuard, kPoison);
}

inline bool GuardsHold(const OrtValue& value) {
  for (std::size_t i = 0; i < OrtValue::kGuard && !value.memory.empty(); ++i) {
    if (value.memory[i] != kPoison || value.memory[value.memory.size() - 1 - i] != kPoison) return false;
  }
  return true;
}

template <class T>
OrtStatus* List(const std::vector<T>& values, T* out, std::size_t* count) {
  if (out != nullptr && *count < values.size()) return Make(ORT_INVALID_ARGUMENT, "too small");
  if (out != nullptr) std::copy(values.begin(), values.end(), out);
  *count = values.size();
  return nullptr;
}

inline OrtStatus* Text(const std::string& text, char* out, std::size_t* bytes) {
  if (out != nullptr && *bytes < text.size() + 1) return Make(ORT_INVALID_ARGUMENT, "too small");
  if (out != nullptr) text.copy(out, text.size()), out[text.size()] = '\0';
  *bytes = text.size() + 1;
  return nullptr;
}

inline const Attribute* Find(const OrtKernelInfo* info, const char* name, Attribute::Kind kind) {
  const auto found = info->attributes.find(name);
  return found != info->attributes.end() && found->second.kind == kind ? &found->second : nullptr;
}

template <class T>
OrtStatus* One(const Attribute* found, T Attribute::*member, T* out) {
  if (found == nullptr) return Make(ORT_FAIL, "no such attribute");
  *out = found->*member;
  return nullptr;
}

/// A function of the table that does this, or fails as injected; one that returns nothing succeeds.
template <class F, class R, class... A>
auto MayFail(F f, R (F::*)(A...) const) {
  static const F kept = f;  // a type for each lambda
  return +[](A... arguments) -> OrtStatus* {
    if (OrtStatus* status = Injected()) return status;
    if constexpr (std::is_void_v<R>) return kept(arguments...), nullptr;
    if constexpr (!std::is_void_v<R>) return kept(arguments...);
  };
}
template <class F>
auto MayFail(F f) {
  return MayFail(f, &F::operator());
}

inline const OrtApi* Api() {
  static const OrtApi api = [] {
    OrtApi a = {};
    a.CreateStatus = [](OrtErrorCode code, const char* text) { return Make(code, text); };
    a.GetErrorCode = [](const OrtStatus* status) { return status->code; };
    a.GetErrorMessage = [](const OrtStatus* status) { return status->text.c_str(); };
    a.ReleaseStatus = [](OrtStatus* status) {
      if (status != nullptr) --live;
      delete status;
    };
    a.CreateCustomOpDomain = MayFail([](const char* name, OrtCustomOpDomain** domain) {
      ++live;
      *domain = new OrtCustomOpDomain{name, {}};
    });
    a.CustomOpDomain_Add = MayFail([](OrtCustomOpDomain* domain, const OrtCustomOp* op) {
      domain->ops.push_back(op);
    });
    a.ReleaseCustomOpDomain = [](OrtCustomOpDomain* domain) {
      --live;
      delete domain;
    };
    a.AddCustomOpDomain = MayFail([](OrtSessionOptions* options, OrtCustomOpDomain* domain) {
      options->domains.push_back(domain);
    });
    a.KernelInfoGetAttribute_int64 = MayFail([](const OrtKernelInfo* info, const char* name, std::int64_t* out) {
      return One(Find(info, name, Attribute::Kind::kInteger), &Attribute::integer, out);
    });
    a.KernelInfoGetAttribute_float = MayFail([](const OrtKernelInfo* info, const char* name, float* out) {
      return One(Find(info, name, Attribute::Kind::kFloat), &Attribute::number, out);
    });
    a.KernelInfoGetAttribute_string = MayFail([](const OrtKernelInfo* info, const char* name, char* out,
                                                 std::size_t* bytes) {
      const Attribute* found = Find(info, name, Attribute::Kind::kText);
      return found == nullptr ? Make(ORT_FAIL, "no such attribute") : Text(found->text, out, bytes);
    });
    a.KernelInfoGetAttributeArray_int64 = MayFail([](const OrtKernelInfo* info, const char* name, std::int64_t* out,
                                                     std::size_t* count) {
      const Attribute* found = Find(info, name, Attribute::Kind::kIntegers);
      return found == nullptr ? Make(ORT_FAIL, "no such attribute") : List(found->integers, out, count);
    });
    a.KernelInfoGetAttributeArray_float = MayFail([](const OrtKernelInfo* info, const char* name, float* out,
                                                     std::size_t* count) {
      // Of any kind, as in ONNX Runtime, where all others have no floats.
      const auto found = info->attributes.find(name);
      return found == info->attributes.end() ? Make(ORT_FAIL, "no such attribute")
                                             : List(found->second.numbers, out, count);
    });
    a.KernelInfo_GetInputCount = MayFail([](const OrtKernelInfo* info, std::size_t* count) {
      *count = info->inputs.size();
    });
    a.KernelInfo_GetOutputCount = MayFail([](const OrtKernelInfo* info, std::size_t* count) {
      *count = info->outputs.size();
    });
    a.KernelInfo_GetInputName = MayFail([](const OrtKernelInfo* info, std::size_t i, char* out, std::size_t* bytes) {
      return Text(info->inputs.at(i).name, out, bytes);
    });
    a.KernelInfo_GetOutputName = MayFail([](const OrtKernelInfo* info, std::size_t i, char* out, std::size_t* bytes) {
      return Text(info->outputs.at(i), out, bytes);
    });
    a.KernelInfo_GetInputTypeInfo = MayFail([](const OrtKernelInfo* info, std::size_t i, OrtTypeInfo** type) {
      const NodeInput& input = info->inputs.at(i);
      ++live;
      *type = new OrtTypeInfo{input.value->info};
      if (!input.has_known_shape) (*type)->tensor.dimensions.clear();
    });
    a.KernelInfo_GetOutputTypeInfo = MayFail([](const OrtKernelInfo* info, std::size_t i,
                                                OrtTypeInfo** type) -> OrtStatus* {
      if (i >= info->outputs.size()) return Make(ORT_INVALID_ARGUMENT, "no such output");
      ++live;
      *type = new OrtTypeInfo();
      (*type)->tensor.type = i == 0 ? info->values_type : i + 1 == info->outputs.size() ? ORT_TYPE_UINT32 : ORT_TYPE_BOOL;
      return nullptr;
    });
    a.ReleaseTypeInfo = [](OrtTypeInfo* type) {
      --live;
      delete type;
    };
    a.CastTypeInfoToTensorInfo = MayFail([](const OrtTypeInfo* type, const OrtTensorTypeAndShapeInfo** tensor) {
      *tensor = &type->tensor;
    });
    a.KernelInfoGetConstantInput_tensor = MayFail([](const OrtKernelInfo* info, std::size_t i, int* is_constant,
                                                     const OrtValue** value) {
      *is_constant = info->inputs.at(i).is_constant;
      *value = *is_constant ? info->inputs[i].value : nullptr;
    });
    a.ShapeInferContext_GetInputTypeShape = MayFail([](const OrtShapeInferContext* context, std::size_t i,
                                                       OrtTensorTypeAndShapeInfo** info) -> OrtStatus* {
      if (i >= context->inputs.size()) return Make(ORT_INVALID_ARGUMENT, "no such input");
      *info = const_cast<OrtTensorTypeAndShapeInfo*>(&context->inputs[i]);
      return nullptr;
    });
    a.ShapeInferContext_GetAttribute = MayFail([](const OrtShapeInferContext* context, const char* name,
                                                  const OrtOpAttr** attribute) -> OrtStatus* {
      const auto found = context->found.find(name);
      if (found == context->found.end()) return Make(ORT_INVALID_ARGUMENT, "no such attribute");
      *attribute = &found->second;
      return nullptr;
    });
    a.ReadOpAttr = MayFail([](const OrtOpAttr* attribute, OrtOpAttrKind kind, void* data, std::size_t room,
                              std::size_t* bytes) -> OrtStatus* {
      const Attribute& given = *attribute->attribute;
      if (kind == ORT_ATTR_STRING) {
        *bytes = room;
        return Text(given.text, static_cast<char*>(data), bytes);  // empty for one of another kind
      }
      if (given.kind != Attribute::Kind::kInteger || room < sizeof(std::int64_t)) return Make(ORT_FAIL, "no integer");
      std::memcpy(data, &given.integer, sizeof(given.integer));
      *bytes = sizeof(given.integer);
      return nullptr;
    });
    a.CreateTensorTypeAndShapeInfo = MayFail([](OrtTensorTypeAndShapeInfo** info) {
      ++live;
      *info = new OrtTensorTypeAndShapeInfo();
    });
    a.SetTensorElementType = MayFail([](OrtTensorTypeAndShapeInfo* info, OrtElementType type) { info->type = type; });
    a.SetDimensions = MayFail([](OrtTensorTypeAndShapeInfo* info, const std::int64_t* dimensions, std::size_t rank) {
      info->dimensions.assign(dimensions, dimensions + rank);
    });
    a.SetSymbolicDimensions = MayFail([](OrtTensorTypeAndShapeInfo* info, const char** names, std::size_t rank) {
      info->symbols.assign(names, names + rank);
    });
    a.ShapeInferContext_SetOutputTypeShape = MayFail([](const OrtShapeInferContext* context, std::size_t i,
                                                        const OrtTensorTypeAndShapeInfo* info) {
      OrtShapeInferContext* const mine = const_cast<OrtShapeInferContext*>(context);
      if (i == 0) mine->values = *info;
      mine->is_set = true;
    });
    a.GetTensorTypeAndShape = MayFail([](const OrtValue* value, OrtTensorTypeAndShapeInfo** info) {
      ++live;
      *info = new OrtTensorTypeAndShapeInfo(value->info);
    });
    a.ReleaseTensorTypeAndShapeInfo = [](OrtTensorTypeAndShapeInfo* info) {
      --live;
      delete info;
    };
    a.GetTensorElementType = MayFail([](const OrtTensorTypeAndShapeInfo* info, OrtElementType* type) {
      *type = info->type;
    });
    a.GetDimensionsCount = MayFail([](const OrtTensorTypeAndShapeInfo* info, std::size_t* rank) {
      *rank = info->dimensions.size();
    });
    a.GetDimensions = MayFail([](const OrtTensorTypeAndShapeInfo* info, std::int64_t* out, std::size_t rank) {
      for (std::size_t i = 0; i < std::min(rank, info->dimensions.size()); ++i) out[i] = info->dimensions[i];
    });
    a.GetSymbolicDimensions = MayFail([](const OrtTensorTypeAndShapeInfo* info, const char** names, std::size_t rank) {
      for (std::size_t i = 0; i < rank; ++i) names[i] = i < info->symbols.size() ? info->symbols[i].c_str() : "";
    });
    a.GetTensorMutableData = MayFail([](OrtValue* value, void** data) { *data = value->data(); });
    a.KernelContext_GetInput = MayFail([](const OrtKernelContext* context, std::size_t i, const OrtValue** value) {
      *value = context->inputs.at(i);
    });
    a.KernelContext_GetOutput = MayFail([](OrtKernelContext* context, std::size_t i, const std::int64_t* dimensions,
                                           std::size_t rank, OrtValue** value) -> OrtStatus* {
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < rank; ++d) {
        if (dimensions[d] != 0 && elements > kMostElements / dimensions[d]) return Make(ORT_FAIL, kNoMemory);
        elements *= dimensions[d];
      }
      *value = &context->outputs.at(i);
      if ((*value)->on_device != nullptr) return nullptr;
      Shape(*value, context->output_types.at(i), std::vector<std::int64_t>(dimensions, dimensions + rank));
      return nullptr;
    });
    a.KernelContext_GetGPUComputeStream = MayFail([](const OrtKernelContext* context, void** stream) {
      *stream = context->stream;
    });
    a.HasSessionConfigEntry = MayFail([](const OrtSessionOptions* options, const char* key, int* has) {
      *has = options->entries.count(key) != 0;
    });
    a.GetSessionConfigEntry = MayFail([](const OrtSessionOptions* options, const char* key, char* value,
                                         std::size_t* bytes) {
      const std::string& entry = options->entries.at(key);
      if (value != nullptr) std::memcpy(value, entry.c_str(), entry.size() + 1);
      *bytes = entry.size() + 1;
    });
    a.KernelContext_ParallelFor = MayFail([](const OrtKernelContext* context, void (*function)(void*, std::size_t),
                                             std::size_t total, std::size_t, void* data) {
      std::atomic<std::size_t> next{0};
      const auto work = [&] {
        for (std::size_t i; (i = next++) < total;) function(data, i);
      };
      std::vector<std::thread> threads;
      for (unsigned t = 1; t < context->threads; ++t) threads.emplace_back(work);
      work();
      for (std::thread& thread : threads) thread.join();
    });
    return a;
  }();
  return &api;
}

inline const OrtApiBase* Base() {
  static const OrtApiBase base = {
      [](std::uint32_t version) { return version <= ONNX_PHILOX_ORT_LOWEST_API_VERSION ? Api() : nullptr; },
      [] { return "1.24.0"; }};
  return &base;
}

/// An ONNX Runtime before the API version that the library serves, whose table has all that it uses.
inline const OrtApiBase* OldBase() {
  static const OrtApiBase base = {[](std::uint32_t version) { return version <= 18 ? Api() : nullptr; },
                                  [] { return "1.18.1"; }};
  return &base;
}

using RegisterFunction = OrtStatus*(OrtSessionOptions*, const OrtApiBase*);

/// The text of a status, which it releases; empty if there is no status.
inline std::string Take(OrtStatus* status) {
  if (status == nullptr) return std::string();
  const std::string text = Api()->GetErrorMessage(status);
  Api()->ReleaseStatus(status);
  return text.empty() ? "an error without text" : text;
}

/// A value of so many bytes, or of as many as it has room for.
inline OrtValue Value(OrtElementType type, std::vector<std::int64_t> dimensions, const void* data, std::size_t bytes) {
  OrtValue value;
  Shape(&value, type, std::move(dimensions));
  const std::size_t room = value.memory.size() - 2 * OrtValue::kGuard;
  if (bytes > 0) std::memcpy(value.data(), data, std::min(bytes, room));
  return value;
}

}  // namespace host
