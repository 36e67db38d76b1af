// The library's one export, RegisterCustomOps, and the operators as ONNX Runtime sees them.
//
// No exception leaves a function of this file: ONNX Runtime calls them as C.
#include <climits>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "kernel.h"
#include "kernels.h"
#include "operators.h"
#include "ort_api.h"

#if defined(_WIN32)
#define ONNX_PHILOX_EXPORT __declspec(dllexport)
#else
#define ONNX_PHILOX_EXPORT __attribute__((visibility("default")))
#endif

namespace onnx_philox {

namespace {

/// Calls what returns a status; an exception becomes one.
template <class Function>
OrtStatus* WithoutExceptions(const OrtApi* api, Function function) noexcept {
  try {
    return function();
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api->CreateStatus(ORT_FAIL, "onnx_philox: an unknown exception");
  }
}

/// An operator's structure with its declaration behind it.
struct CustomOp : OrtCustomOp {
  const Operator* declaration;
};

const Operator& DeclarationOf(const OrtCustomOp* op) { return *static_cast<const CustomOp*>(op)->declaration; }

const char* ORT_CALL GetName(const OrtCustomOp* op) { return DeclarationOf(op).name; }

const char* ORT_CALL GetExecutionProviderType(const OrtCustomOp*) { return nullptr; }

size_t ORT_CALL GetInputTypeCount(const OrtCustomOp* op) { return static_cast<size_t>(DeclarationOf(op).inputs); }

size_t ORT_CALL GetOutputTypeCount(const OrtCustomOp* op) { return static_cast<size_t>(DeclarationOf(op).outputs); }

/// Any type, where an operator takes several; the kernel then refuses a wrong one, in our words.
///
/// One exception: RandomUniform's state. ONNX Runtime takes the type of an output of any type from the last input of any
/// type. That has to be maxval.
OrtElementType ORT_CALL GetInputType(const OrtCustomOp* op, size_t index) {
  const Operator& declaration = DeclarationOf(op);
  const bool is_last = index + 1 == static_cast<size_t>(declaration.inputs);
  return declaration.input[index].role == Role::kState && is_last ? ORT_TYPE_UINT32 : ORT_TYPE_UNDEFINED;
}

OrtElementType ORT_CALL GetOutputType(const OrtCustomOp* op, size_t index) {
  const bool is_uniform_values = index == 0 && &DeclarationOf(op) != &kRandomGenerator;
  return is_uniform_values ? ORT_TYPE_UNDEFINED : ORT_TYPE_UINT32;
}

OrtCharacteristic ORT_CALL GetInputCharacteristic(const OrtCustomOp* op, size_t index) {
  return DeclarationOf(op).input[index].optional ? ORT_OPTIONAL : ORT_REQUIRED;
}

/// Optional also where the contract requires it: ONNX Runtime accepts a required output of any type only beside exactly
/// one input of any type. Nothing is lost; a node may leave its values out and ask for the next state alone.
OrtCharacteristic ORT_CALL GetOutputCharacteristic(const OrtCustomOp*, size_t) { return ORT_OPTIONAL; }

OrtMemType ORT_CALL GetInputMemoryType(const OrtCustomOp*, size_t) { return ORT_MEM_DEFAULT; }

// Nothing is variadic; ONNX Runtime asks all the same.
int ORT_CALL NoVariadic(const OrtCustomOp*) { return 0; }

int ORT_CALL GetStartVersion(const OrtCustomOp*) { return 1; }
int ORT_CALL GetEndVersion(const OrtCustomOp*) { return INT_MAX; }

OrtStatus* ORT_CALL CreateKernelV2(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                   void** kernel) {
  *kernel = nullptr;
  return WithoutExceptions(api, [&]() -> OrtStatus* {
    auto made = std::make_unique<Kernel>(DeclarationOf(op), api, *ActiveKernels().kernels);
    OrtStatus* const status = made->Load(info);
    if (status == nullptr) *kernel = made.release();
    return status;
  });
}

OrtStatus* ORT_CALL KernelComputeV2(void* kernel, OrtKernelContext* context) {
  const Kernel& self = *static_cast<const Kernel*>(kernel);
  return WithoutExceptions(self.api(), [&] { return self.Compute(context); });
}

void ORT_CALL KernelDestroy(void* kernel) { delete static_cast<Kernel*>(kernel); }

CustomOp MakeCustomOp(const Operator& declaration) {
  CustomOp op = {};
  op.version = ONNX_PHILOX_ORT_API_VERSION;
  op.GetName = GetName;
  op.GetExecutionProviderType = GetExecutionProviderType;
  op.GetInputType = GetInputType;
  op.GetInputTypeCount = GetInputTypeCount;
  op.GetOutputType = GetOutputType;
  op.GetOutputTypeCount = GetOutputTypeCount;
  op.KernelDestroy = KernelDestroy;
  op.GetInputCharacteristic = GetInputCharacteristic;
  op.GetOutputCharacteristic = GetOutputCharacteristic;
  op.GetInputMemoryType = GetInputMemoryType;
  op.GetVariadicInputMinArity = NoVariadic;
  op.GetVariadicInputHomogeneity = NoVariadic;
  op.GetVariadicOutputMinArity = NoVariadic;
  op.GetVariadicOutputHomogeneity = NoVariadic;
  op.CreateKernelV2 = CreateKernelV2;
  op.KernelComputeV2 = KernelComputeV2;
  op.GetStartVersion = GetStartVersion;
  op.GetEndVersion = GetEndVersion;
  op.declaration = &declaration;
  return op;
}

/// Of kAllOperators, those that kernel.cpp can compute.
constexpr int kRegistered = 2;

/// Everything that this library registers.
const CustomOp& CustomOpAt(int index) {
  static const CustomOp ops[kRegistered] = {MakeCustomOp(*kAllOperators[0]), MakeCustomOp(*kAllOperators[1])};
  return ops[index];
}

OrtStatus* MakeDomain(const OrtApi* api, OrtCustomOpDomain** domain) {
  if (OrtStatus* status = api->CreateCustomOpDomain(kDomain, domain)) return status;
  for (int i = 0; i < kRegistered; ++i) {
    if (OrtStatus* status = api->CustomOpDomain_Add(*domain, &CustomOpAt(i))) {
      api->ReleaseCustomOpDomain(*domain);
      return status;
    }
  }
  return nullptr;
}

/// The domain, made once for each ONNX Runtime in the process (there can be several) and never released: session
/// options and sessions point to it, and nothing tells when the last of them is gone.
OrtStatus* DomainFor(const OrtApi* api, OrtCustomOpDomain** domain) {
  struct Made {
    const OrtApi* api;
    OrtCustomOpDomain* domain;
  };
  static std::mutex mutex;
  static std::vector<Made>* const all = new std::vector<Made>();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const Made& made : *all) {
    if (made.api == api) {
      *domain = made.domain;
      return nullptr;
    }
  }
  all->reserve(all->size() + 1);
  if (OrtStatus* status = MakeDomain(api, domain)) return status;
  all->push_back(Made{api, *domain});
  return nullptr;
}

OrtStatus* Register(OrtSessionOptions* options, const OrtApi* api) {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) return api->CreateStatus(ORT_INVALID_ARGUMENT, selection.error.c_str());
  OrtCustomOpDomain* domain = nullptr;
  if (OrtStatus* status = DomainFor(api, &domain)) return status;
  return api->AddCustomOpDomain(options, domain);
}

}  // namespace

}  // namespace onnx_philox

/// Adds the domain `onnx_philox` to session options. ONNX Runtime calls it when the library is registered.
extern "C" ONNX_PHILOX_EXPORT OrtStatus* ORT_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                                   const OrtApiBase* base) {
  const OrtApi* const api = base->GetApi(ONNX_PHILOX_ORT_API_VERSION);
  if (api == nullptr) {
    // Every ONNX Runtime has version 1, and CreateStatus in it.
    const OrtApi* const first = base->GetApi(1);
    if (first == nullptr) return nullptr;
    return onnx_philox::WithoutExceptions(first, [&] {
      const std::string text = onnx_philox::Refusal(
          "onnx_philox", "ONNX Runtime", base->GetVersionString(), "1.17 or newer",
          "Upgrade it: pip install --upgrade onnxruntime.");
      return first->CreateStatus(ORT_FAIL, text.c_str());
    });
  }
  return onnx_philox::WithoutExceptions(api, [&] { return onnx_philox::Register(options, api); });
}
