// RegisterCustomOps and RegisterCustomOpsCuda, and the operators as ONNX Runtime sees them.
//
// No exception leaves a function of this file: ONNX Runtime calls them as C.
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cuda_part.h"
#include "kernel.h"
#include "kernels.h"
#include "operators.h"
#include "ort_api.h"
#include "ort_types.h"
#include "shape_inference.h"
#include "text.h"

#if defined(_WIN32)
#define ONNX_PHILOX_EXPORT __declspec(dllexport)
#else
#define ONNX_PHILOX_EXPORT __attribute__((visibility("default")))
#endif

namespace onnx_philox {

namespace {

/// The refusal for lack of memory; a shorter one if there is no memory for the text either.
OrtStatus* UsedUp(const OrtApi* api, const Operator* op) noexcept {
  try {
    if (op != nullptr) return api->CreateStatus(ORT_INVALID_ARGUMENT, OutOfMemory(*op).c_str());
  } catch (...) {
  }
  return api->CreateStatus(ORT_FAIL, "onnx_philox: memory is used up");
}

/// Calls a function that returns a status; turns an exception into a status. `op`: the operator it belongs to, if any.
template <class Function>
OrtStatus* WithoutExceptions(const OrtApi* api, Function function, const Operator* op = nullptr) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return UsedUp(api, op);
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api->CreateStatus(ORT_FAIL, "onnx_philox: an unknown exception");
  }
}

/// What an ONNX Runtime is, for what is registered in it.
struct Host {
  const OrtApi* api;
  bool has_gaps;  ///< whether it takes nodes that leave out an input before another one
};

/// For whom an operator is registered, and who draws there.
struct Target {
  const char* provider = nullptr;         ///< whose kernel it is; null: the CPU's
  const cuda::Driver* driver = nullptr;   ///< with which it draws; null: on the CPU
  const std::string* fallback = nullptr;  ///< why it draws on the CPU though a card was asked for; null: it was not
};

/// An operator's structure, followed by its declaration.
///
/// ONNX Runtime takes the type of an output of any type from the last input of any type, where InferValues cannot say it
/// (see InferLikeInput). That must be the data of an operator whose output has their type. So such an operator is
/// registered once for each type of its parameters.
struct CustomOp : OrtCustomOp {
  const Operator* declaration;
  int overload;  ///< which of their types the parameters have, in such an operator
  Host host;     ///< that it is registered with
  Target target;
};

const CustomOp& Of(const OrtCustomOp* op) { return *static_cast<const CustomOp*>(op); }

const Operator& DeclarationOf(const OrtCustomOp* op) { return *Of(op).declaration; }

/// Where the type of an operator's first output comes from. InferValues says the last two.
enum class ValuesType { kFixed, kOfInputs, kOfOneInput, kOfAttribute };

ValuesType ValuesTypeOf(const Operator& op) {
  if (op.output[0].has_type) return ValuesType::kFixed;
  for (int i = 0; i < op.inputs; ++i) {
    if (op.input[i].has_output_type()) return ValuesType::kOfInputs;
  }
  return op.type_input() >= 0 ? ValuesType::kOfOneInput : ValuesType::kOfAttribute;
}

const char* ORT_CALL GetName(const OrtCustomOp* op) { return DeclarationOf(op).name; }

const char* ORT_CALL GetExecutionProviderType(const OrtCustomOp* op) { return Of(op).target.provider; }

size_t ORT_CALL GetInputTypeCount(const OrtCustomOp* op) { return static_cast<size_t>(DeclarationOf(op).inputs); }

size_t ORT_CALL GetOutputTypeCount(const OrtCustomOp* op) { return static_cast<size_t>(DeclarationOf(op).outputs); }

/// Any type, so that the kernel refuses a wrong one, in our words.
///
/// One exception: ONNX Runtime takes the type of an output of any type from the last input of any type. That must be a
/// bound, the mean or the scale, not the state that comes after them.
OrtElementType ORT_CALL GetInputType(const OrtCustomOp* op, size_t index) {
  const Operator& declaration = DeclarationOf(op);
  if (declaration.type_input() >= 0) {
    const ElementTypes types = declaration.input[index].types;
    if (static_cast<int>(index) == declaration.type_input()) return ORT_TYPE_UNDEFINED;
    return OrtTypeOf(types.type[types.count > 1 ? Of(op).overload : 0]);
  }
  if (ValuesTypeOf(declaration) != ValuesType::kOfInputs) return ORT_TYPE_UNDEFINED;
  for (int i = static_cast<int>(index); i < declaration.inputs; ++i) {
    if (declaration.input[i].has_output_type()) return ORT_TYPE_UNDEFINED;
  }
  return OrtTypeOf(declaration.input[index].types.type[0]);
}

OrtElementType ORT_CALL GetOutputType(const OrtCustomOp* op, size_t index) {
  const OutputDeclaration& output = DeclarationOf(op).output[index];
  return output.has_type ? OrtTypeOf(ElementTypeOf(output.type)) : ORT_TYPE_UNDEFINED;
}

/// Before 1.24, the shape inference of ONNX Runtime ended the process at an input that is left out before another one.
/// There it refuses such a node, since the input is required.
OrtCharacteristic ORT_CALL GetInputCharacteristic(const OrtCustomOp* op, size_t index) {
  const Operator& declaration = DeclarationOf(op);
  const bool is_last = static_cast<int>(index) + 1 == declaration.inputs;
  const bool may_be_left_out = is_last || Of(op).host.has_gaps;
  return declaration.input[index].optional && may_be_left_out ? ORT_OPTIONAL : ORT_REQUIRED;
}

/// Optional even if the declaration requires it: ONNX Runtime accepts a required output of any type only beside exactly
/// one input of any type. That loses nothing: a node may leave out its values and ask only for the next state.
OrtCharacteristic ORT_CALL GetOutputCharacteristic(const OrtCustomOp*, size_t) { return ORT_OPTIONAL; }

OrtMemType ORT_CALL GetInputMemoryType(const OrtCustomOp* op, size_t index) {
  if (Of(op).target.driver == nullptr) return ORT_MEM_DEFAULT;
  return cuda::IsReadOnHost(DeclarationOf(op).input[index]) ? ORT_MEM_CPU_INPUT : ORT_MEM_DEFAULT;
}

// Nothing is variadic, but ONNX Runtime asks anyway.
int ORT_CALL NoVariadic(const OrtCustomOp*) { return 0; }

int ORT_CALL GetStartVersion(const OrtCustomOp*) { return 1; }
int ORT_CALL GetEndVersion(const OrtCustomOp*) { return INT_MAX; }

/// Writes to a session's log, the first time in the process that a session shows its warnings.
void SayOnce(const OrtApi* api, const OrtKernelInfo* info, const std::string& text) {
  static std::atomic<bool> is_said{false};
  const OrtLogger* logger = nullptr;
  int least = ORT_LOG_WARNING;
  OrtStatus* status = api->KernelInfo_GetLogger(info, &logger);
  if (status == nullptr) status = api->Logger_GetLoggingSeverityLevel(logger, &least);
  if (status == nullptr && (least > ORT_LOG_WARNING || is_said.exchange(true))) return;
#if defined(_WIN32)
  const OrtPathChar* const file = L"onnx_philox";
#else
  const OrtPathChar* const file = "onnx_philox";
#endif
  if (status == nullptr) status = api->Logger_LogMessage(logger, ORT_LOG_WARNING, text.c_str(), file, 0, "register");
  if (status != nullptr) api->ReleaseStatus(status);
}

OrtStatus* ORT_CALL CreateKernelV2(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                   void** kernel) {
  *kernel = nullptr;
  return WithoutExceptions(api, [&]() -> OrtStatus* {
    const CustomOp& self = Of(op);
    const Kernels& kernels = *ActiveKernels().kernels;
    const Target& target = self.target;
    if (target.fallback != nullptr) SayOnce(api, info, *target.fallback);
    std::unique_ptr<Kernel> made;
    if (target.driver == nullptr) {
      made = std::make_unique<Kernel>(*self.declaration, api, kernels);
    } else {
      made = cuda::MakeKernel(*self.declaration, api, kernels, *target.driver);
    }
    OrtStatus* const status = made->Load(info);
    if (status == nullptr) *kernel = made.release();
    return status;
  }, &DeclarationOf(op));
}

OrtStatus* ORT_CALL KernelComputeV2(void* kernel, OrtKernelContext* context) {
  const Kernel& self = *static_cast<const Kernel*>(kernel);
  return WithoutExceptions(self.api(), [&] { return self.Compute(context); }, &self.op());
}

void ORT_CALL KernelDestroy(void* kernel) { delete static_cast<Kernel*>(kernel); }

OrtStatus* ORT_CALL InferOutputShape(const OrtCustomOp* op, OrtShapeInferContext* context) {
  const CustomOp& self = Of(op);
  const OrtApi* const api = self.host.api;
  return WithoutExceptions(api, [&] { return InferValues(*self.declaration, *api, context); }, self.declaration);
}

/// How often an operator is registered.
int OverloadsOf(const Operator& declaration) {
  int most = 1;
  for (int i = 0; i < declaration.inputs && declaration.type_input() >= 0; ++i) {
    if (i != declaration.type_input() && declaration.input[i].types.count > most) most = declaration.input[i].types.count;
  }
  return most;
}

CustomOp MakeCustomOp(const Operator& declaration, int overload, const Host& host, const Target& target) {
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
  // Only if nothing else tells the type: without shape inference, ONNX Runtime plans no memory by inferred shapes.
  const ValuesType by = ValuesTypeOf(declaration);
  if (by == ValuesType::kOfOneInput || by == ValuesType::kOfAttribute) op.InferOutputShapeFn = InferOutputShape;
  op.declaration = &declaration;
  op.overload = overload;
  op.host = host;
  op.target = target;
  return op;
}

/// The execution providers of NVIDIA's cards: the one that ONNX Runtime is built with, and its plugin.
constexpr const char* kCudaProviders[] = {"CUDAExecutionProvider", "CudaPluginExecutionProvider"};
constexpr char kCpuProvider[] = "CPUExecutionProvider";

/// For tests without a card: a provider in the place of those. "CPUExecutionProvider" beside a stand-in for the driver runs
/// all of a launch but the card.
const char* OtherProvider() {
  static const char* const other = std::getenv("ONNX_PHILOX_CUDA_PROVIDER");
  return other;
}

/// The domain with everything that this library registers, for one ONNX Runtime.
struct Domain {
  Domain(const Host& host, bool is_cuda_given) : api(host.api), is_cuda(is_cuda_given) {
    const cuda::Found found = is_cuda ? cuda::FindDriver() : cuda::Found{};
    if (!is_cuda) {
      Add(host, Target());
    } else if (found.driver == nullptr) {
      fallback = "onnx_philox: the operators draw on the CPU, since " + found.reason + ".";
      Add(host, Target{nullptr, nullptr, &fallback});
    } else if (OtherProvider() == nullptr) {
      Add(host, Target());
      for (const char* provider : kCudaProviders) Add(host, Target{provider, found.driver, nullptr});
    } else {
      // ONNX Runtime takes one kernel of an operator for each provider.
      Add(host, Target(), std::strcmp(OtherProvider(), kCpuProvider) == 0);
      Add(host, Target{OtherProvider(), found.driver, nullptr});
    }
  }

  /// Adds each operator once, then again where there are more of it; only some of them if a card draws.
  void Add(const Host& host, const Target& target, bool is_rest = false) {
    const auto has = [&](const Operator& op) {
      return target.driver != nullptr ? cuda::Draws(op) : !is_rest || !cuda::Draws(op);
    };
    for (const Operator* declaration : kAllOperators) {
      if (has(*declaration)) ops.push_back(MakeCustomOp(*declaration, 0, host, target));
    }
    for (const Operator* declaration : kAllOperators) {
      for (int i = 1; i < OverloadsOf(*declaration) && has(*declaration); ++i) {
        ops.push_back(MakeCustomOp(*declaration, i, host, target));
      }
    }
  }

  const OrtApi* api;
  bool is_cuda;
  std::string fallback;  ///< why nothing is drawn on a card, where that was asked for
  std::vector<CustomOp> ops;
  OrtCustomOpDomain* made = nullptr;
};

OrtStatus* Make(Domain* domain) {
  if (OrtStatus* status = domain->api->CreateCustomOpDomain(kDomain, &domain->made)) return status;
  for (const CustomOp& op : domain->ops) {
    if (OrtStatus* status = domain->api->CustomOpDomain_Add(domain->made, &op)) {
      domain->api->ReleaseCustomOpDomain(domain->made);
      return status;
    }
  }
  return nullptr;
}

/// The domain, made once for each ONNX Runtime in the process (there can be several), with and without CUDA, and never
/// released: session options and sessions point to it, and nothing signals the end of the last one.
OrtStatus* DomainFor(const Host& host, bool is_cuda, OrtCustomOpDomain** domain) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<Domain>>();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const std::unique_ptr<Domain>& known : *all) {
    if (known->api == host.api && known->is_cuda == is_cuda) {
      *domain = known->made;
      return nullptr;
    }
  }
  auto added = std::make_unique<Domain>(host, is_cuda);
  all->reserve(all->size() + 1);
  if (OrtStatus* status = Make(added.get())) return status;
  *domain = added->made;
  all->push_back(std::move(added));
  return nullptr;
}

/// Whether session options say that a card is to draw, for languages that can name the library and none of its functions.
OrtStatus* AskForCuda(const OrtApi* api, const OrtSessionOptions* options, bool* is_asked) {
  constexpr char kEntry[] = "onnx_philox.cuda";
  int has = 0;
  *is_asked = false;
  if (OrtStatus* status = api->HasSessionConfigEntry(options, kEntry, &has)) return status;
  if (has == 0) return nullptr;
  std::string value;
  const auto read = [&](char* to, std::size_t* bytes) { return api->GetSessionConfigEntry(options, kEntry, to, bytes); };
  if (OrtStatus* status = ReadText(read, &value)) return status;
  *is_asked = value == "1";
  if (*is_asked || value == "0") return nullptr;
  const std::string text = Refusal("onnx_philox", "the session's entry 'onnx_philox.cuda'", ShowText(value), "'0' or '1'",
                                   "Set it to '1' to draw on NVIDIA's cards.");
  return api->CreateStatus(ORT_INVALID_ARGUMENT, text.c_str());
}

OrtStatus* Register(OrtSessionOptions* options, const Host& host, bool is_cuda) {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) return host.api->CreateStatus(ORT_INVALID_ARGUMENT, selection.error.c_str());
  OrtCustomOpDomain* domain = nullptr;
  bool is_asked = false;
  if (OrtStatus* status = AskForCuda(host.api, options, &is_asked)) return status;
  if ((is_cuda || is_asked) && !cuda::kHasPart) {
    const std::string text = Refusal("onnx_philox", "the library", "one without them", "one with kernels for NVIDIA's cards",
                                     "Build it with the folder custom_ops/experimental, or register it without CUDA.");
    return host.api->CreateStatus(ORT_INVALID_ARGUMENT, text.c_str());
  }
  if (OrtStatus* status = DomainFor(host, is_cuda || is_asked, &domain)) return status;
  return host.api->AddCustomOpDomain(options, domain);
}

/// What both entries do.
OrtStatus* RegisterFor(OrtSessionOptions* options, const OrtApiBase* base, bool is_cuda) {
  const OrtApi* const api = base->GetApi(ONNX_PHILOX_ORT_API_VERSION);
  if (api == nullptr || base->GetApi(ONNX_PHILOX_ORT_LOWEST_API_VERSION) == nullptr) {
    // Every ONNX Runtime has version 1, and CreateStatus in it.
    const OrtApi* const first = base->GetApi(1);
    if (first == nullptr) return nullptr;
    return WithoutExceptions(first, [&] {
      const std::string text = Refusal("onnx_philox", "ONNX Runtime", base->GetVersionString(), "1.19 or newer",
                                       "Upgrade it: pip install --upgrade onnxruntime.");
      return first->CreateStatus(ORT_FAIL, text.c_str());
    });
  }
  // The version is 1.x.y. To ask for an API that is missing would print an error.
  const char* const minor = std::strchr(base->GetVersionString(), '.');
  const Host host{api, minor != nullptr && std::atoi(minor + 1) >= 24};
  return WithoutExceptions(api, [&] { return Register(options, host, is_cuda); });
}

}  // namespace

}  // namespace onnx_philox

/// Adds the domain `onnx_philox` to session options. ONNX Runtime calls it when the library is registered.
extern "C" ONNX_PHILOX_EXPORT OrtStatus* ORT_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                                   const OrtApiBase* base) {
  return onnx_philox::RegisterFor(options, base, false);
}

/// The same, and for NVIDIA's cards.
extern "C" ONNX_PHILOX_EXPORT OrtStatus* ORT_CALL RegisterCustomOpsCuda(OrtSessionOptions* options,
                                                                       const OrtApiBase* base) {
  return onnx_philox::RegisterFor(options, base, true);
}
