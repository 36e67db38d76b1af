// How fast each instruction set fills memory, in GB/s and values a second, with memset beside it in the same run.
//
//   onnx_philox_bench [--isa NAME] [--type PREFIX] [--log2 N] [--threads N] [--offset BYTES] [--seconds S] [--rows N]
//
// --rows N puts the same draw by rows of N elements beside each, from a state a row.
// Rounds alternate between all the contenders, so that a busy machine slows them alike; the median round is printed.
// Ratios of one run mean something, figures of two runs do not.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "draws.h"
#include "kernels.h"

namespace {

using namespace onnx_philox;

using Clock = std::chrono::steady_clock;

struct Case {
  std::string name;
  Draw draw;
};

/// Every case, for `elements` of a byte at most.
std::vector<Case> MakeCases(std::size_t elements) {
  static const float kP32 = 0.3f;
  static const double kP64 = 0.3;
  static std::vector<float> each32;
  static std::vector<double> each64;
  static std::vector<float> logits;
  each32.assign(elements, kP32);
  each64.assign(elements, kP64);
  logits.clear();
  for (std::size_t i = 0; i < std::size_t{1} << 20; ++i) logits.push_back(static_cast<float>(i % 977) * 0.01f);

  std::vector<Case> cases;
  const auto add = [&](const std::string& name, Draw draw) {
    draw.state = Derive({}, 42, 0);
    cases.push_back({name, draw});
  };
  // "unit" is [0, 1), "full" the whole range of the integer type, the others a general range.
  const auto uniform = [&](const std::string& name, OutputType type, std::uint64_t minval, std::uint64_t maxval) {
    add(name, UniformDraw({}, type, {minval, maxval}, nullptr));
  };
  uniform("bits", OutputType::kBits, 0, 0);
  uniform("i32-full", OutputType::kI32, 0x80000000, 0x7FFFFFFF);
  uniform("i32", OutputType::kI32, 0xFFFFFFF0, 1000);
  uniform("i64-full", OutputType::kI64, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF);
  uniform("i64-small", OutputType::kI64, 0xFFFFFFFFFFFFFFF0, 1000);
  uniform("i64", OutputType::kI64, 0xFFFFFFFFFFFFFFF0, 1000000007);
  const auto floats = [&](const std::string& name, OutputType type, std::uint64_t one, Bounds bounds) {
    uniform(name + "-unit", type, 0, one);
    uniform(name, type, bounds.minval, bounds.maxval);
    add("normal-" + name, NormalDraw({}, type, {0, one}, nullptr));
    add("exponential-" + name, ExponentialDraw({}, type, one, nullptr));
  };
  floats("f32", OutputType::kF32, 0x3F800000, {0xC0400000, 0x40E00000});
  floats("f16", OutputType::kF16, 0x3C00, {0xC200, 0x4700});
  floats("bf16", OutputType::kBF16, 0x3F80, {0xC040, 0x40E0});
  floats("f64", OutputType::kF64, 0x3FF0000000000000, {0xC008000000000000, 0x401C000000000000});
  static const double kAlpha = 2.5, kSmallRate = 3, kRate = 100;
  const auto rejecting = [&](const char* name, Distribution distribution, OutputType type, const double& number) {
    add(name, RejectingDraw({}, distribution, type, {OutputType::kF64, &number}, false, nullptr));
  };
  rejecting("gamma-f32", Distribution::kGamma, OutputType::kF32, kAlpha);
  rejecting("poisson-i32-small", Distribution::kPoisson, OutputType::kI32, kSmallRate);
  rejecting("poisson-i32", Distribution::kPoisson, OutputType::kI32, kRate);
  // Rows of a power of two, since a thread fills part of a buffer.
  add("permutation-i64", PermutationDraw({}, OutputType::kI64, 1024, nullptr));
  add("permutation-i32", PermutationDraw({}, OutputType::kI32, 1024, nullptr));
  add("bernoulli-f32", BernoulliDraw({}, {{OutputType::kF32, &kP32}, false}, nullptr));
  add("bernoulli-f64", BernoulliDraw({}, {{OutputType::kF64, &kP64}, false}, nullptr));
  add("bernoulli-f32-each", BernoulliDraw({}, {{OutputType::kF32, each32.data()}, true}, nullptr));
  add("bernoulli-f64-each", BernoulliDraw({}, {{OutputType::kF64, each64.data()}, true}, nullptr));
  // All samples from one row, so that a search is most of the work.
  const auto categorical = [&](const std::string& name, std::uint64_t classes, std::uint64_t samples) {
    add(name, CategoricalDraw({}, OutputType::kI32, {{OutputType::kF32, logits.data()}, classes, samples}, nullptr));
  };
  categorical("categorical-1000", 1000, std::uint64_t{1} << 40);
  categorical("categorical-100000", 100000, std::uint64_t{1} << 40);
  return cases;
}

/// A thread that runs what it is given, spinning briefly between jobs: starting one per round would be measured too.
class Helper {
 public:
  Helper() : thread_([this] { Loop(); }) {}
  ~Helper() {
    Run(nullptr);
    thread_.join();
  }
  void Run(const std::function<void()>* job) {
    job_ = job;
    posted_.fetch_add(1, std::memory_order_release);
  }
  void Wait() const {
    while (done_.load(std::memory_order_acquire) != posted_.load(std::memory_order_relaxed)) {
    }
  }

 private:
  void Loop() {
    for (unsigned seen = 0;;) {
      while (posted_.load(std::memory_order_acquire) == seen) {
      }
      ++seen;
      if (job_ == nullptr) return;
      (*job_)();
      done_.store(seen, std::memory_order_release);
    }
  }
  const std::function<void()>* job_ = nullptr;
  std::atomic<unsigned> posted_{0}, done_{0};
  std::thread thread_;
};

struct Contender {
  std::string name;
  double values;  // per output byte
  std::function<void(std::size_t begin, std::size_t end)> fill;  // bytes
  std::vector<double> seconds;
};

double Time(const Contender& contender, std::size_t bytes, unsigned repeats, Helper* helper) {
  const auto start = Clock::now();
  for (unsigned i = 0; i < repeats; ++i) {
    if (helper == nullptr) {
      contender.fill(0, bytes);
    } else {
      const std::function<void()> job = [&] { contender.fill(bytes / 2, bytes); };
      helper->Run(&job);
      contender.fill(0, bytes / 2);
      helper->Wait();
    }
  }
  return std::chrono::duration<double>(Clock::now() - start).count() / repeats;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  std::string only_isa, only_type;
  int only_log2 = -1, only_threads = 0;
  std::size_t offset = 0;
  std::size_t row_elements = 0;
  double budget = 0.25;  // seconds per contender
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--isa") only_isa = argv[i + 1];
    if (flag == "--type") only_type = argv[i + 1];
    if (flag == "--log2") only_log2 = std::atoi(argv[i + 1]);
    if (flag == "--threads") only_threads = std::atoi(argv[i + 1]);
    if (flag == "--offset") offset = static_cast<std::size_t>(std::atoi(argv[i + 1]));
    if (flag == "--rows") row_elements = static_cast<std::size_t>(std::atoi(argv[i + 1]));
    if (flag == "--seconds") budget = std::atof(argv[i + 1]);
  }

  for (const int log2 : only_log2 >= 0 ? std::vector<int>{only_log2} : std::vector<int>{10, 16, 20, 24, 26}) {
    const std::size_t bytes = std::size_t{4} << log2;  // 2^log2 elements of four bytes; other types: as many bytes
    std::unique_ptr<unsigned char[]> memory(new unsigned char[bytes + 256]);
    unsigned char* const aligned =
        memory.get() + (64 - reinterpret_cast<std::uintptr_t>(memory.get()) % 64) % 64;
    unsigned char* const out = aligned + offset;
    std::memset(aligned, 1, bytes + 128);
    const std::vector<Case> cases = MakeCases(bytes);
    std::vector<std::uint32_t> states(row_elements == 0 ? 0 : (bytes / row_elements + 1) * kStateWords);
    for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<std::uint32_t>(i * 2654435761u);

    for (const int threads : {1, 2}) {
      if (only_threads != 0 && threads != only_threads) continue;
      std::unique_ptr<Helper> helper(threads == 2 ? new Helper : nullptr);

      std::vector<Contender> contenders;
      contenders.push_back({"memset", 0.0,
                            [=](std::size_t begin, std::size_t end) { std::memset(out + begin, 0x5A, end - begin); },
                            {}});
      for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
        if (!kernels->available() || (!only_isa.empty() && only_isa != kernels->name)) continue;
        for (const Case& c : cases) {
          if (c.name.compare(0, only_type.size(), only_type) != 0) continue;
          const unsigned size = ElementSize(c.draw.type);
          Draw draw = c.draw;
          draw.out = out;
          const auto add = [&](const Draw& added, const std::string& name) {
            contenders.push_back({std::string(kernels->name) + " " + name,
                                  1.0 / size,
                                  [=](std::size_t begin, std::size_t end) {
                                    Fill(*kernels, added, begin / size, end / size);
                                  },
                                  {}});
          };
          add(draw, c.name);
          if (row_elements == 0 || c.draw.samples > 0) continue;
          draw.rows = Rows{states.data(), row_elements};
          add(draw, c.name + " rows-" + std::to_string(row_elements));
        }
      }

      const double once = Time(contenders.back(), bytes, 1, helper.get());
      const unsigned repeats = static_cast<unsigned>(std::max(1.0, std::min(20000.0, 0.002 / once)));
      const auto end = Clock::now() + std::chrono::duration<double>(budget * static_cast<double>(contenders.size()));
      do {
        for (Contender& contender : contenders) {
          contender.seconds.push_back(Time(contender, bytes, repeats, helper.get()));
        }
      } while (Clock::now() < end || contenders[0].seconds.size() < 5);

      std::printf("2^%d words' bytes, %d thread(s), %zu rounds of %u\n", log2, threads, contenders[0].seconds.size(),
                  repeats);
      for (const Contender& contender : contenders) {
        const double seconds = Median(contender.seconds);
        std::printf("  %-26s %8.2f GB/s %10.1f M/s %12.0f ns\n", contender.name.c_str(),
                    static_cast<double>(bytes) / seconds * 1e-9,
                    static_cast<double>(bytes) * contender.values / seconds * 1e-6, seconds * 1e9);
      }
    }
  }
  return 0;
}
