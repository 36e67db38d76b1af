// Loading and launching: see cuda_kernel.h.
#include "cuda_kernel.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "cuda/ptx.h"
#include "state.h"
#include "text.h"

namespace onnx_philox {

namespace {

/// A tensor's memory, and whose it is. An error alone makes a text of that: each launch looks at the places.
struct Place {
  std::string (*text)(const char* name);
  const char* name;
  Written memory;
  std::uint64_t alignment;
  Role role = Role::kShape;  ///< of an input

  std::string Text() const { return text(name); }
};

std::uint64_t AddressOf(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

std::uint64_t BytesOf(ElementType type, std::uint64_t elements) { return ElementSize(NumberType(type)) * elements; }

}  // namespace

namespace cuda {

bool Draws(const Operator& op) {
  return std::any_of(std::begin(kKernels), std::end(kKernels),
                     [&](const DeviceKernel& kernel) { return kernel.distribution == op.distribution; });
}

bool IsReadOnHost(const InputDeclaration& input) { return input.role == Role::kShape || input.role == Role::kNumber; }

std::unique_ptr<Kernel> MakeKernel(const Operator& op, const OrtApi* api, const Kernels& kernels, const Driver& driver) {
  return std::make_unique<CudaKernel>(op, api, kernels, driver);
}

}  // namespace cuda

CudaKernel::CudaKernel(const Operator& op, const OrtApi* api, const Kernels& kernels, const cuda::Driver& driver)
    : Kernel(op, api, kernels), driver_(driver) {
  loaded_.on_device = loaded_on_device_;
  for (int i = 0; i < op.inputs; ++i) is_on_device_[i] = !cuda::IsReadOnHost(op.input[i]);
}

CudaKernel::~CudaKernel() {
  refused_.reset();
  cards_.clear();
  if (retained_device_ >= 0) driver_.DevicePrimaryCtxRelease(retained_device_);
}

OrtStatus* CudaKernel::Failed(const std::string& error) const {
  if (error.empty()) return nullptr;
  // Not as a failure of the provider: at that ONNX Runtime's Python would run the session again on the CPU.
  return api_.CreateStatus(ORT_FAIL, (op_.name + (": " + error) + ". The node has drawn nothing.").c_str());
}

std::string CudaKernel::FindContext(cuda::Context* context) {
  std::string error = ErrorOf(driver_, "cuCtxGetCurrent", driver_.CtxGetCurrent(context));
  if (!error.empty() || *context != nullptr) return error;
  int device = 0;
  error = ErrorOf(driver_, "cuDeviceGet", driver_.DeviceGet(&device, 0));
  if (!error.empty()) return error;
  error = ErrorOf(driver_, "cuDevicePrimaryCtxRetain", driver_.DevicePrimaryCtxRetain(context, device));
  if (error.empty()) retained_device_ = device;
  return error;
}

std::string CudaKernel::LoadInto(cuda::Context context, InACard* card) const {
  std::string error;
  card->context = context;
  card->loaded = cuda::LoadedKernels::For(driver_, context, cuda::kPtx, &error);
  if (error.empty()) card->draw = card->loaded->Find(kernel_name_, &error);
  if (error.empty()) card->next_states = card->loaded->Find(ONNX_PHILOX_CUDA_NEXT_STATES, &error);
  return error;
}

OrtStatus* CudaKernel::Load(const OrtKernelInfo* info) {
  cuda::Context context = nullptr;
  std::string error = FindContext(&context);
  if (!error.empty()) return Failed(error);
  const cuda::InContext in_context(driver_, context);
  if (!in_context.error().empty()) return Failed(in_context.error());
  if (OrtStatus* status = Kernel::Load(info)) return status;
  if (attributes_.is_pytorch) {
    return Refuse(Refusal(op_.name, AttributeText("alignment"), "'pytorch'", "'tensorflow' on a card",
                          "The CPU draws torch's numbers: register the operators without CUDA."));
  }
  if (is_widened_) {
    return Refuse(Refusal(op_.name, "each neighbour", "one in float32", "in float16, as the node is",
                          "The CPU draws this node: register the operators without CUDA."));
  }
  OutputType type = attributes_.output;
  bool is_checked_on_card = false;
  for (int i = 0; i < op_.inputs; ++i) {
    if (op_.input[i].role != Role::kNumbers) continue;
    is_checked_on_card = is_checked_on_card || source_[i] == Source::kRun;
    if (op_.distribution == Distribution::kBernoulli) type = NumberType(loaded_.on_device[i].type);
  }
  for (const cuda::DeviceKernel& kernel : cuda::kKernels) {
    if (kernel.distribution == op_.distribution && kernel.type == type) kernel_name_ = kernel.name;
  }
  if (kernel_name_ == nullptr) return Failed("there is no kernel for its type on a card");
  cards_.emplace_back();
  error = LoadInto(context, &cards_.back());
  if (error.empty() && is_checked_on_card) refused_ = cuda::SharedWord::Make(driver_, context, &error);
  return Failed(error);
}

const void* CudaKernel::CopyConstant(int index, const OnDevice& constant, std::string* error) const {
  if (op_.input[index].role != Role::kNumbers || constant.elements == 0) return nullptr;
  std::vector<unsigned char>& copy = constants_[index];
  copy.resize(BytesOf(constant.type, constant.elements));
  // The addresses of the host's memory and of the card's are different ones: the driver tells which a constant is in.
  const std::string failure = ErrorOf(
      driver_, "cuMemcpy", driver_.Memcpy(AddressOf(copy.data()), AddressOf(constant.data), copy.size()));
  if (!failure.empty()) *error = op_.name + (": " + failure + ". The node was not loaded.");
  return copy.data();
}

std::string CudaKernel::CardOf(cuda::Stream stream, InACard* card) const {
  cuda::Context context = nullptr;
  std::string error = ErrorOf(driver_, "cuStreamGetCtx", driver_.StreamGetCtx(stream, &context));
  if (!error.empty()) return error;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const InACard& known : cards_) {
    if (known.context == context) *card = known;
  }
  if (card->context != nullptr) return error;
  const cuda::InContext in_context(driver_, context);
  error = in_context.error();
  if (error.empty()) error = LoadInto(context, card);
  if (error.empty()) cards_.push_back(*card);
  return error;
}

std::string CudaKernel::CheckCapture() const {
  for (int i = 0; i < op_.inputs; ++i) {
    const InputDeclaration& input = op_.input[i];
    const bool is_checked = cuda::IsReadOnHost(input) || input.role == Role::kNumbers;
    if (!is_checked || source_[i] != Source::kRun) continue;
    return Refusal(op_.name, InputText(input.name), "a value of each run", "a constant where a CUDA graph is captured",
                   "A replay would neither read nor check it: make it an initializer, or capture no graph.");
  }
  return std::string();
}

std::string CudaKernel::CheckEarlierRuns() const {
  const std::uint32_t written = refused_ == nullptr ? 0 : refused_->Take();
  if (written < cuda::kOutside) return std::string();
  const int index = IndexOf(op_, static_cast<Parameter>(written - cuda::kOutside));
  if (index < 0) return std::string();
  const InputDeclaration& input = op_.input[index];
  return Refusal(op_.name, InputText(input.name), "another number in an earlier run, which drew nothing for it",
                 input.rule, input.remedy);
}

std::string CudaKernel::CheckPlaces(const Call& call, const Outputs& outputs) const {
  const std::uint64_t elements = static_cast<std::uint64_t>(call.arguments.dimensions.elements);
  const std::uint64_t size = ElementSize(attributes_.output);
  const Written values{outputs.values, elements * size};
  const Place written[] = {{OutputText, op_.output[0].name, values, size},
                           {OutputText, op_.output[1].name, Written{outputs.mask, elements}, 1},
                           {OutputText, op_.output[op_.state_output()].name,
                            Written{outputs.next_state, StateBytes(call.arguments)}, sizeof(std::uint32_t)}};
  std::vector<Place> read;
  for (int i = 0; i < op_.inputs; ++i) {
    const OnDevice& input = call.on_device[i];
    if (!is_on_device_[i] || input.data == nullptr) continue;
    const std::uint64_t bytes = BytesOf(input.type, input.elements);
    const InputDeclaration& declared = op_.input[i];
    read.push_back({InputText, declared.name, Written{input.data, bytes}, BytesOf(input.type, 1), declared.role});
  }
  const auto aligned = [this](const Place& place) {
    if (AddressOf(place.memory.data) % place.alignment == 0) return std::string();
    return Refusal(op_.name, place.Text(), "another address",
                   "at a multiple of " + std::to_string(place.alignment) + " bytes on a card", "Bind other memory.");
  };
  for (const Place& place : read) {
    const std::string error = aligned(place);
    if (!error.empty()) return error;
  }
  for (const Place& output : written) {
    std::string error = aligned(output);
    if (!error.empty()) return error;
    for (const Place& other : written) {
      if (&other == &output || !other.memory.Overlaps(output.memory)) continue;
      return Refusal(op_.name, output.Text(), "that of " + other.Text(), "in memory of its own", "Bind other memory.");
    }
    for (const Place& input : read) {
      // The next states in place of the states, and the values in that of the data: kernels allow for both.
      const bool is_in_place = input.memory.data == output.memory.data && input.memory.bytes == output.memory.bytes;
      const bool may_be = input.role == Role::kState ? &output == &written[2]
                                                     : input.role == Role::kData && &output == &written[0];
      if (!input.memory.Overlaps(output.memory) || (is_in_place && may_be)) continue;
      return Refusal(op_.name, output.Text(), "that of " + input.Text(), "in memory of its own on a card",
                     "Bind other memory.");
    }
  }
  return std::string();
}

cuda::Launch CudaKernel::LaunchOf(const Call& call, const Outputs& outputs, std::uint64_t* tasks) const {
  Arguments arguments = call.arguments;
  cuda::Launch launch{};
  for (int i = 0; i < op_.inputs; ++i) {
    const InputDeclaration& input = op_.input[i];
    const OnDevice& given = call.on_device[i];
    Argument& argument = arguments.given[static_cast<int>(input.parameter)];
    if (input.role == Role::kState && source_[i] != Source::kLeftOut) {
      launch.states = static_cast<const std::uint32_t*>(given.data);
    } else if (input.role == Role::kData) {
      launch.data = given.data;
    } else if (input.role == Role::kNumber) {
      launch.number[cuda::NumberOf(input.parameter)] = cuda::Number{argument.type, 0, argument.bits, nullptr, Limits{}};
    } else if (input.role == Role::kNumbers) {
      argument.type = NumberType(given.type);
      const bool is_known = source_[i] == Source::kConstant && given.elements == 1;
      const std::uint32_t is_each = given.elements != 1;
      launch.number[cuda::NumberOf(input.parameter)] =
          cuda::Number{argument.type, is_each, is_known ? argument.bits : 0, is_known ? nullptr : given.data,
                       input.limits[static_cast<int>(argument.type)]};
    }
  }
  const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);
  launch.next_states = static_cast<std::uint32_t*>(outputs.next_state);
  launch.seed_key = static_cast<std::uint64_t>(attributes_.global_seed);
  launch.seed_counter = static_cast<std::uint64_t>(attributes_.op_seed);
  launch.rows = static_cast<std::uint64_t>(arguments.states);
  launch.row_elements = launch.rows == 0 ? 0 : elements / launch.rows;
  const unsigned words = DrawOf(op_, attributes_, arguments, nullptr).words;
  launch.row_blocks = BlocksUsed(words, launch.row_elements);
  launch.out = outputs.values;
  launch.mask = static_cast<unsigned char*>(outputs.mask);
  launch.error = refused_ == nullptr ? nullptr : refused_->on_device();
  const unsigned at_once = cuda::ElementsAtOnce(op_.distribution, words, ElementSize(attributes_.output));
  const bool is_drawn = outputs.values != nullptr || outputs.mask != nullptr;
  *tasks = is_drawn ? launch.rows * cuda::TasksOf(launch.row_elements, at_once) : 0;
  return launch;
}

std::string CudaKernel::Launch(const InACard& card, cuda::Function function, std::uint64_t tasks, cuda::Launch launch,
                               cuda::Stream stream) const {
  if (tasks == 0) return std::string();
  const cuda::InContext in_context(driver_, card.context);
  if (!in_context.error().empty()) return in_context.error();
  void* parameters[] = {&launch};
  return ErrorOf(driver_, "cuLaunchKernel",
                 driver_.LaunchKernel(function, cuda::GridOf(tasks), 1, 1, cuda::kThreads, 1, 1, 0, stream, parameters,
                                      nullptr));
}

OrtStatus* CudaKernel::Compute(OrtKernelContext* context) const {
  if (OrtStatus* status = Refuse(CheckEarlierRuns())) return status;
  void* handle = nullptr;
  if (OrtStatus* status = api_.KernelContext_GetGPUComputeStream(context, &handle)) return status;
  const cuda::Stream stream = static_cast<cuda::Stream>(handle);
  InACard card;
  std::string error = CardOf(stream, &card);
  int capture = 0;
  if (error.empty()) error = ErrorOf(driver_, "cuStreamIsCapturing", driver_.StreamIsCapturing(stream, &capture));
  if (!error.empty()) return Failed(error);
  if (capture != 0) error = CheckCapture();
  if (!error.empty()) return Refuse(error);

  Call call = loaded_;
  OnDevice on_device[kMaxInputs];
  std::copy(std::begin(loaded_on_device_), std::end(loaded_on_device_), on_device);
  call.on_device = on_device;
  if (OrtStatus* status = ReadInputs(context, &call)) return status;
  Outputs outputs;
  const Dimensions& dimensions = call.arguments.dimensions;
  if (OrtStatus* status = AskForOutputs(context, call, dimensions, attributes_.output, &outputs)) return status;
  error = CheckPlaces(call, outputs);
  if (!error.empty()) return Refuse(error);

  std::uint64_t tasks = 0;
  cuda::Launch launch = LaunchOf(call, outputs, &tasks);
  // The threads of a draw read the states while others would write the next ones.
  const bool is_in_place = launch.states != nullptr && launch.next_states == launch.states;
  const bool is_written_after = launch.next_states != nullptr && (tasks == 0 || is_in_place);
  cuda::Launch draw = launch;
  if (is_written_after) draw.next_states = nullptr;
  error = Launch(card, card.draw, tasks, draw, stream);
  if (error.empty() && is_written_after) error = Launch(card, card.next_states, launch.rows, launch, stream);
  return Failed(error);
}

}  // namespace onnx_philox
