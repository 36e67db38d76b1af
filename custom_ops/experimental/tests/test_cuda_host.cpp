// Nodes on NVIDIA's cards, in the stand-in for ONNX Runtime of host.h and one for the driver: what is registered for whom,
// streams, memory that the host cannot read, and every call of ONNX Runtime that fails.
//
//   test_cuda_host LIBRARY DRIVER
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "cuda/draw.h"
#include "host.h"
#include "operators.h"

namespace {

using namespace onnx_philox;
using host::RegisterFunction, host::Take, host::Value;

/// Memory of a card: whoever reads or writes it here ends the process.
OrtValue OnCard(OrtElementType type, std::vector<std::int64_t> dimensions) {
  static void* const pages = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  OrtValue value;
  value.info.type = type;
  value.info.dimensions = std::move(dimensions);
  value.on_device = pages;
  return value;
}

struct Launched {
  std::string kernel;
  cuda::Launch launch;
  void* stream;
};
std::vector<Launched> launched;
std::mutex noting;

extern "C" void Note(const char* kernel, const void* launch, unsigned, unsigned, void* stream) {
  const std::lock_guard<std::mutex> lock(noting);
  launched.push_back({kernel, {}, stream});
  std::memcpy(&launched.back().launch, launch, sizeof(cuda::Launch));
}

/// RandomBernoulli of [4, 6] by rows of states, whose p, one for each element, and states are on the card.
struct Bernoulli {
  const std::int64_t dimensions[2] = {4, 6};
  OrtValue shape = Value(ORT_TYPE_INT64, {2}, dimensions, sizeof(dimensions));
  OrtValue p = OnCard(ORT_TYPE_FLOAT, {4, 6});
  OrtValue states = OnCard(ORT_TYPE_UINT32, {4, 6});
  bool is_over_p = false;  ///< whether the next states are to go where p is

  std::string Load(const OrtCustomOp* op, void** kernel) {
    OrtKernelInfo info;
    info.attributes["op_seed"].integer = 5;
    info.outputs = {"values", "next_state"};
    info.values_type = ORT_TYPE_BOOL;
    info.inputs = {
        {"shape", &shape, true, true},
        {"p", &p, false, true},
        {"state", &states, false, true},
    };
    return Take(op->CreateKernelV2(op, host::Api(), &info, kernel));
  }

  std::string Compute(const OrtCustomOp* op, void* kernel, void* stream) {
    OrtKernelContext context;
    context.inputs = {&shape, &p, &states};
    context.output_types = {ORT_TYPE_BOOL, ORT_TYPE_UINT32};
    context.outputs.resize(2);
    for (OrtValue& output : context.outputs) output.on_device = OnCard(ORT_TYPE_BOOL, {}).on_device;
    context.stream = stream;
    // Where they are apart from what is read.
    context.outputs[0].on_device = static_cast<char*>(context.outputs[0].on_device) + 4096;
    context.outputs[1].on_device = static_cast<char*>(context.outputs[1].on_device) + 8192;
    p.on_device = static_cast<char*>(states.on_device) + 12288;
    if (is_over_p) context.outputs[1].on_device = p.on_device;
    return Take(op->KernelComputeV2(kernel, &context));
  }

  std::string Run(const OrtCustomOp* op, void* stream) {
    void* kernel = nullptr;
    std::string error = Load(op, &kernel);
    if (kernel == nullptr) return error;
    error = Compute(op, kernel, stream);
    op->KernelDestroy(kernel);
    return error;
  }
};

void TestWhatIsRegistered(const OrtCustomOpDomain& domain) {
  std::set<std::string> cpu, cards[2];
  for (const OrtCustomOp* op : domain.ops) {
    const char* const provider = op->GetExecutionProviderType(op);
    if (provider == nullptr) {
      cpu.insert(op->GetName(op));
      for (std::size_t i = 0; i < op->GetInputTypeCount(op); ++i) {
        check::That(op->GetInputMemoryType(op, i) == ORT_MEM_DEFAULT, "the CPU's memory is its own");
      }
      continue;
    }
    const bool is_plugin = std::strcmp(provider, "CudaPluginExecutionProvider") == 0;
    check::That(is_plugin || std::strcmp(provider, "CUDAExecutionProvider") == 0, "for %s", provider);
    cards[is_plugin].insert(op->GetName(op));
  }
  const std::set<std::string> drawn = {"RandomGenerator", "RandomUniform", "RandomNormal", "RandomBernoulli",
                                       "RandomExponential", "RandomGamma", "RandomPoisson", "RandomDropout"};
  check::That(cards[0] == drawn && cards[1] == drawn, "other operators are drawn on cards");
  check::That(cpu.size() == static_cast<std::size_t>(kOperators), "%zu operators for the CPU", cpu.size());
}

void TestMemoryOfTheCardIsLeftAlone(const OrtCustomOp* op) {
  int stream = 0;
  Bernoulli node;
  const std::string error = node.Run(op, &stream);
  if (!check::That(error.empty(), "%s", error.c_str())) return;
  if (!check::That(launched.size() == 1, "%zu launches", launched.size())) return;
  const Launched& one = launched[0];
  check::That(one.kernel == "onnx_philox_bernoulli_f32" && one.stream == &stream, "%s", one.kernel.c_str());
  check::That(one.launch.states == node.states.on_device, "the states");
  check::That(one.launch.number[0].data == node.p.on_device && one.launch.number[0].is_each == 1, "p");
  check::That(one.launch.rows == 4 && one.launch.row_elements == 6 && one.launch.row_blocks == 2, "rows");
  check::That(one.launch.seed_counter == 5 && one.launch.seed_key == 0, "the seeds");
  check::That(one.launch.next_states != nullptr && one.launch.out != nullptr && one.launch.error != nullptr, "outputs");
}

void TestNothingIsWrittenWhereThreadsRead(const OrtCustomOp* op) {
  Bernoulli node;
  node.is_over_p = true;
  const std::string error = node.Run(op, nullptr);
  check::That(error.find("output 'next_state' must be in memory of its own on a card: got that of input 'p'") !=
                  std::string::npos, "%s", error.c_str());
}

void TestEveryCallMayFail(const OrtCustomOp* op, int (*live_in_driver)()) {
  for (long n = 0;; ++n) {
    Bernoulli node;
    const long live = host::live;
    host::calls_left = n;
    const std::string error = node.Run(op, nullptr);
    const bool was_injected = host::calls_left < 0;
    host::calls_left = -1;
    check::That(host::live == live && live_in_driver() == 0, "something is left over after call %ld failed", n);
    if (was_injected) continue;
    check::That(error.empty() && n > 15, "after %ld calls: %s", n, error.c_str());
    return;
  }
}

/// Each on a stream of its own.
void TestEightThreadsRunOneNode(const OrtCustomOp* op) {
  launched.clear();
  Bernoulli loaded;
  void* kernel = nullptr;
  check::That(loaded.Load(op, &kernel).empty(), "not loaded");
  std::vector<std::thread> threads;
  std::vector<int> streams(8);
  std::atomic<int> wrong{0};
  for (int& stream : streams) {
    threads.emplace_back([&, op, kernel] {
      for (int i = 0; i < 50; ++i) {
        Bernoulli mine;
        if (!mine.Compute(op, kernel, &stream).empty()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  op->KernelDestroy(kernel);
  check::That(wrong == 0 && launched.size() == 400, "%d wrong, %zu launches", wrong.load(), launched.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::printf("usage: test_cuda_host LIBRARY DRIVER\n"), 2;
  // The library finds the driver by this one's name.
  void* const driver = dlopen(argv[2], RTLD_NOW | RTLD_GLOBAL);
  void* const library = driver == nullptr ? nullptr : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::printf("FAILED: %s\n", dlerror()), 1;
  const auto draw_with = reinterpret_cast<void (*)(decltype(&Note))>(dlsym(driver, "stand_in_draw_with"));
  const auto live_in_driver = reinterpret_cast<int (*)()>(dlsym(driver, "stand_in_live"));
  draw_with(Note);

  OrtSessionOptions plain, on_cards, by_entry, refused;
  const auto register_ops = reinterpret_cast<RegisterFunction*>(dlsym(library, "RegisterCustomOps"));
  const auto register_cuda = reinterpret_cast<RegisterFunction*>(dlsym(library, "RegisterCustomOpsCuda"));
  by_entry.entries["onnx_philox.cuda"] = "1";
  refused.entries["onnx_philox.cuda"] = "yes";
  check::That(Take(register_ops(&plain, host::Base())).empty(), "the CPU's");
  check::That(Take(register_cuda(&on_cards, host::Base())).empty(), "the cards'");
  check::That(Take(register_ops(&by_entry, host::Base())).empty(), "the cards', by an entry");
  const std::string why = Take(register_ops(&refused, host::Base()));
  check::That(why.find("must be '0' or '1': got 'yes'") != std::string::npos, "%s", why.c_str());
  check::That(plain.domains.at(0)->ops.size() == static_cast<std::size_t>(kOperators) + 1, "off unless asked for");
  check::That(on_cards.domains.at(0) == by_entry.domains.at(0) && on_cards.domains[0] != plain.domains[0], "two domains");

  const OrtCustomOpDomain& domain = *on_cards.domains[0];
  TestWhatIsRegistered(domain);
  for (const OrtCustomOp* op : domain.ops) {
    const bool is_on_card = op->GetExecutionProviderType(op) != nullptr;
    if (!is_on_card || std::strcmp(op->GetName(op), "RandomBernoulli") != 0) continue;
    launched.clear();
    TestMemoryOfTheCardIsLeftAlone(op);
    TestNothingIsWrittenWhereThreadsRead(op);
    TestEveryCallMayFail(op, live_in_driver);
    TestEightThreadsRunOneNode(op);
  }
  return check::Finish(60);
}
