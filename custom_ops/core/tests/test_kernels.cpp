// Every instruction set against the model: types, bounds, lengths, offsets, alignments, carries; nothing written outside
// the range; any cut of a draw gives the whole; the caller's floating-point settings change nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "float_environment.h"
#include "gamma.h"
#include "kernels.h"
#include "model.h"
#include "permutation.h"
#include "poisson.h"
#include "scalar.h"
#include "share.h"
#include "token.h"
#include "values.h"

namespace {

using namespace onnx_philox;

template <class Numbers>
struct CaseOf {
  const char* name;
  OutputType type;
  Numbers given;
};

// At least one for every uniform rule of rules.h.
const CaseOf<Bounds> kUniformCases[] = {
    {"bits", OutputType::kBits, {0, 0}},
    {"f32 [0, 1)", OutputType::kF32, {0, 0x3F800000}},
    {"f32 [-0, 1)", OutputType::kF32, {0x80000000, 0x3F800000}},
    {"f32 [-3, 7.1)", OutputType::kF32, {0xC0400000, 0x40E33333}},
    {"f32 subnormal", OutputType::kF32, {0x80000123, 0x00345678}},
    {"f16 [0, 1)", OutputType::kF16, {0, 0x3C00}},
    {"f16 [-3, 7.1)", OutputType::kF16, {0xC200, 0x471A}},
    {"f16 subnormal", OutputType::kF16, {0x8003, 0x0123}},
    {"bf16 [0, 1)", OutputType::kBF16, {0, 0x3F80}},
    {"bf16 [-3, 7.1)", OutputType::kBF16, {0xC040, 0x40E3}},
    {"bf16 [100, 101)", OutputType::kBF16, {0x42C8, 0x42CA}},
    {"bf16 subnormal", OutputType::kBF16, {0x8003, 0x0074}},
    {"f64 [0, 1)", OutputType::kF64, {0, 0x3FF0000000000000}},
    {"f64 [-3, 7.1)", OutputType::kF64, {0xC008000000000000, 0x401C666666666666}},
    {"f64 subnormal", OutputType::kF64, {0x8000000000000123, 0x0003456789ABCDEF}},
    {"i32 full", OutputType::kI32, {0x80000000, 0x7FFFFFFF}},
    {"i32 [-16, 1000)", OutputType::kI32, {0xFFFFFFF0, 1000}},
    {"i32 one value", OutputType::kI32, {7, 8}},
    {"i64 full", OutputType::kI64, {0x8000000000000000, 0x7FFFFFFFFFFFFFFF}},
    {"i64 [-16, 1000)", OutputType::kI64, {0xFFFFFFFFFFFFFFF0, 1000}},
    {"i64 [-16, 10^9 + 7)", OutputType::kI64, {0xFFFFFFFFFFFFFFF0, 1000000007}},
    {"i64 [-2^62, 2^62)", OutputType::kI64, {0xC000000000000000, 0x4000000000000000}},
    {"i64 one value", OutputType::kI64, {7, 8}},
};

const CaseOf<Affine> kNormalCases[] = {
    {"normal f32", OutputType::kF32, {0, 0x3F800000}},
    {"normal f32 of -0", OutputType::kF32, {0x80000000, 0x3F800000}},
    {"normal f32 -1.5 + 0.3 x", OutputType::kF32, {0xBFC00000, 0x3E99999A}},
    {"normal f32 subnormal", OutputType::kF32, {0x00012345, 0x80012345}},
    {"normal f32 overflowing", OutputType::kF32, {0x7F7FFFFF, 0xFF000000}},
    {"normal f32 always 3", OutputType::kF32, {0x40400000, 0}},
    {"normal f16", OutputType::kF16, {0, 0x3C00}},
    {"normal f16 -1.5 + 0.3 x", OutputType::kF16, {0xBE00, 0x34CD}},
    {"normal f16 subnormal", OutputType::kF16, {0x0012, 0x8123}},
    {"normal f16 overflowing", OutputType::kF16, {0x7BFF, 0xF800}},
    {"normal bf16", OutputType::kBF16, {0, 0x3F80}},
    {"normal bf16 -1.5 + 0.3 x", OutputType::kBF16, {0xBFC0, 0x3E9A}},
    {"normal bf16 subnormal", OutputType::kBF16, {0x0012, 0x8023}},
    {"normal bf16 overflowing", OutputType::kBF16, {0x7F7F, 0xFF00}},
    {"normal f64", OutputType::kF64, {0, 0x3FF0000000000000}},
    {"normal f64 -1.5 + 0.3 x", OutputType::kF64, {0xBFF8000000000000, 0x3FD3333333333333}},
    {"normal f64 subnormal", OutputType::kF64, {0x0000000012345678, 0x8000000012345678}},
    {"normal f64 overflowing", OutputType::kF64, {0x7FEFFFFFFFFFFFFF, 0xFFE0000000000000}},
};

const CaseOf<std::uint64_t> kExponentialCases[] = {
    {"exponential f32", OutputType::kF32, 0x3F800000},
    {"exponential f32 of 0.3", OutputType::kF32, 0x3E99999A},
    {"exponential f32 subnormal", OutputType::kF32, 0x00012345},
    {"exponential f32 smallest", OutputType::kF32, 0x00000001},
    {"exponential f32 overflowing", OutputType::kF32, 0x7F7FFFFF},
    {"exponential f16", OutputType::kF16, 0x3C00},
    {"exponential f16 of 0.3", OutputType::kF16, 0x34CD},
    {"exponential f16 subnormal", OutputType::kF16, 0x0123},
    {"exponential f16 overflowing", OutputType::kF16, 0x7BFF},
    {"exponential bf16", OutputType::kBF16, 0x3F80},
    {"exponential bf16 of 0.3", OutputType::kBF16, 0x3E9A},
    {"exponential bf16 subnormal", OutputType::kBF16, 0x0023},
    {"exponential bf16 overflowing", OutputType::kBF16, 0x7F7F},
    {"exponential f64", OutputType::kF64, 0x3FF0000000000000},
    {"exponential f64 of 0.3", OutputType::kF64, 0x3FD3333333333333},
    {"exponential f64 subnormal", OutputType::kF64, 0x0000000012345678},
    {"exponential f64 overflowing", OutputType::kF64, 0x7FEFFFFFFFFFFFFF},
};

/// A draw without its state and memory.
struct Case {
  std::string name;
  Draw draw;
  bool has_each_element;  ///< its parameters do not end before any element that is drawn
};

// Draws of kMost elements from here carry out of word 0, 1, 2 and 3, in the middle of vectors.
constexpr std::size_t kMost = 6000;
const State kStates[] = {
    {{0, 0}, 0},
    {{0x0123456789ABCDEF, 0xFEDCBA9876543210}, 0x5851F42D4C957F2D},
    {{0x00000000FFFFFFFB, 0x0000000000000003}, 0x1122334455667788},
    {{0xFFFFFFFFFFFFFFEE, 0x00000000FFFFFFFE}, 0x99AABBCCDDEEFF00},
    {{0xFFFFFFFFFFFFFF77, 0x00000000FFFFFFFF}, 0xFFFFFFFFFFFFFFFF},
    {{0xFFFFFFFFFFFFFE03, 0xFFFFFFFFFFFFFFFF}, 0x0F1E2D3C4B5A6978},
};

constexpr unsigned char kPoison = 0xCB;

/// Draws of kLongest elements have all the parameters they need.
constexpr std::size_t kLongest = 8 * 16384 + 77;

/// Fixed-seed choices (SplitMix64): the same cases every time.
class Choices {
 public:
  std::uint64_t Below(std::uint64_t limit) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

/// Array parameters at an odd address; a sanitizer watches the end.
template <class Bits>
class Array {
 public:
  explicit Array(const std::vector<Bits>& values) : bytes_(values.size() * sizeof(Bits) + 1) {
    std::memcpy(bytes_.data() + 1, values.data(), values.size() * sizeof(Bits));
  }
  const void* data() const { return bytes_.data() + 1; }

 private:
  std::vector<unsigned char> bytes_;
};

template <class Bits>
const void* KeepForever(const std::vector<Bits>& values) {
  static std::vector<std::unique_ptr<const Array<Bits>>> kept;
  kept.push_back(std::make_unique<const Array<Bits>>(values));
  return kept.back()->data();
}

void AddBernoulliCases(std::vector<Case>* cases) {
  const auto add = [&](const std::string& name, const Probabilities& probabilities) {
    cases->push_back({"bernoulli " + name, BernoulliDraw(State{}, probabilities, nullptr), !probabilities.each});
  };
  // Beside 0, 1, what is next to them and the largest that is allowed: values that a uniform of kStates[0] is equal to, just below and just above.
  std::vector<double> f64 = {0, -0.0, 1, 0.5, 0.1, 0x1p-1074, 0x1p-1022, 0x1p-52, 0x1.8p-52, 1 - 0x1p-53,
                             1 + 0x1p-52, 1 + 0x1p-50};
  std::vector<float> f32 = {0, -0.0f, 1, 0.5f, 0.1f, 0x1p-149f, 0x1p-126f, 0x1p-23f, 0x1.8p-23f, 1 - 0x1p-24f,
                            1 + 0x1p-23f, 1 + 0x1p-21f};
  for (const std::uint64_t i : {3u, 17u, 40u}) {
    const float u = model::UniformF32(kStates[0], i);
    const double v = model::UniformF64(kStates[0], i);
    for (const float x : {u, std::nextafter(u, 0.0f), std::nextafter(u, 1.0f)}) f32.push_back(x);
    for (const double x : {v, std::nextafter(v, 0.0), std::nextafter(v, 1.0)}) f64.push_back(x);
  }
  std::vector<std::uint32_t> each32;
  std::vector<std::uint64_t> each64;
  for (const float p : f32) {
    const std::uint32_t bits = BitCast<std::uint32_t>(p);
    add("f32 " + std::to_string(bits), {{OutputType::kF32, KeepForever<std::uint32_t>({bits})}, false});
  }
  for (const double p : f64) {
    const std::uint64_t bits = BitCast<std::uint64_t>(p);
    add("f64 " + std::to_string(bits), {{OutputType::kF64, KeepForever<std::uint64_t>({bits})}, false});
  }
  Choices choices;
  for (std::size_t i = 0; i < kLongest; ++i) {
    const bool random = i % 2 == 0;
    const double p = static_cast<double>(choices.Below(std::uint64_t{1} << 30)) * 0x1p-30;
    each32.push_back(BitCast<std::uint32_t>(random ? static_cast<float>(p) : f32[choices.Below(f32.size())]));
    each64.push_back(BitCast<std::uint64_t>(random ? p : f64[choices.Below(f64.size())]));
  }
  for (const std::uint64_t i : {3u, 17u, 40u}) {
    each32[i] = BitCast<std::uint32_t>(model::UniformF32(kStates[0], i));
    each64[i] = BitCast<std::uint64_t>(model::UniformF64(kStates[0], i));
  }
  add("f32 each", {{OutputType::kF32, KeepForever(each32)}, true});
  add("f64 each", {{OutputType::kF64, KeepForever(each64)}, true});
}

void AddRejectingCases(std::vector<Case>* cases) {
  const std::vector<double> alphas = {0x1p-1074, 1e-3, 0.5, 1 - 0x1p-53, 1, 2.5, 1e6, 0x1p50};
  const std::vector<double> rates = {0, 0x1p-1074, 0.3, 9.999, 10, 11.5, 300, 1e6, 0x1p30};
  Choices choices;
  // Of one number every other one in each of two types, since emulators are slow.
  const auto add = [&](const char* name, Distribution distribution, OutputType type, const std::vector<double>& numbers,
                       std::size_t first) {
    std::vector<float> each32;
    std::vector<double> each64;
    for (std::size_t i = 0; i < kLongest; ++i) {
      each64.push_back(numbers[choices.Below(numbers.size())]);
      each32.push_back(std::max(static_cast<float>(each64.back()), 0x1p-149f));
    }
    for (std::size_t i = first; i < numbers.size(); i += 2) {
      const void* const data = KeepForever<double>({numbers[i]});
      cases->push_back({std::string(name) + " of " + std::to_string(numbers[i]),
                        RejectingDraw(State{}, distribution, type, {OutputType::kF64, data}, false, nullptr), true});
    }
    const float third = 1.0f / 3;
    cases->push_back({std::string(name) + " of f32",
                      RejectingDraw(State{}, distribution, type, {OutputType::kF32, &third}, false, nullptr), true});
    cases->push_back({std::string(name) + " f32 each", RejectingDraw(State{}, distribution, type,
                      {OutputType::kF32, KeepForever(each32)}, true, nullptr), false});
    cases->push_back({std::string(name) + " f64 each", RejectingDraw(State{}, distribution, type,
                      {OutputType::kF64, KeepForever(each64)}, true, nullptr), false});
  };
  add("gamma f32", Distribution::kGamma, OutputType::kF32, alphas, 0);
  add("gamma f64", Distribution::kGamma, OutputType::kF64, alphas, 1);
  add("poisson i32", Distribution::kPoisson, OutputType::kI32, rates, 0);
  add("poisson i64", Distribution::kPoisson, OutputType::kI64, rates, 1);
}

/// What is drawn in so few attempts that the last one rejects as well, which real counters never do: how many elements are
/// others than in all attempts.
template <unsigned kAttempts>
unsigned TestBudget(Distribution distribution, double number) {
  constexpr std::uint64_t kCount = 5000;
  std::vector<std::uint64_t> drawn(kCount);
  const State state{{(std::uint64_t{1} << 32) - 777, 7}, 42};
  const bool is_gamma = distribution == Distribution::kGamma;
  const Draw draw = RejectingDraw(state, distribution, is_gamma ? OutputType::kF64 : OutputType::kI64,
                                  {OutputType::kF64, &number}, false, drawn.data());
  (is_gamma ? FillGammas<Scalar, kAttempts> : FillPoissonCounts<Scalar, kAttempts>)(Piece{draw, 0, kCount});
  const auto element = [&](std::uint64_t i, std::uint64_t attempts) {
    return is_gamma ? model::Gamma(state, number, i, attempts) : model::Poisson(state, number, i, attempts);
  };
  unsigned others = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = is_gamma ? BitCast<double>(drawn[i]) : static_cast<double>(drawn[i]);
    check::That(value == element(i, kAttempts), "a draw of few attempts");
    others += value != element(i, is_gamma ? 16 : 32) ? 1 : 0;
  }
  return others;
}

void TestBudgets() {
  unsigned one = 0, two = 0;
  const auto test = [&](Distribution distribution, std::initializer_list<double> numbers) {
    for (const double number : numbers) one += TestBudget<1>(distribution, number), two += TestBudget<2>(distribution, number);
  };
  test(Distribution::kGamma, {1e-3, 0.5, 1.0, 4.0});
  test(Distribution::kPoisson, {10.0, 33.3, 1e6});
  check::That(one > 1000 && two > 50 && two < one, "how many attempts were made shows in few draws");
}

/// Numbers of every size, zeros of both signs, infinities and subnormals.
template <class Bits>
const void* SomeData(OutputType type) {
  Choices choices;
  const model::Format format = type == OutputType::kF32 ? model::kF32 : type == OutputType::kF16 ? model::kF16 : model::kBF16;
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits infinity = type == OutputType::kF64 ? static_cast<Bits>(std::uint64_t{0x7FF} << 52)
                                                 : static_cast<Bits>(model::Encode(HUGE_VAL, format, sizeof(Bits)));
  const Bits special[] = {0, sign, infinity, static_cast<Bits>(infinity | sign), 1, static_cast<Bits>(infinity - 1)};
  std::vector<Bits> data;
  for (std::size_t i = 0; i < kLongest; ++i) {
    const Bits magnitude = static_cast<Bits>(choices.Below(infinity));
    const Bits number = static_cast<Bits>(magnitude | (choices.Below(2) != 0 ? sign : 0));
    data.push_back(choices.Below(9) == 0 ? special[choices.Below(6)] : number);
  }
  return KeepForever(data);
}

void AddDropoutCases(std::vector<Case>* cases) {
  const Numbers all[] = {{OutputType::kF32, SomeData<std::uint32_t>(OutputType::kF32)},
                         {OutputType::kF16, SomeData<std::uint16_t>(OutputType::kF16)},
                         {OutputType::kBF16, SomeData<std::uint16_t>(OutputType::kBF16)},
                         {OutputType::kF64, SomeData<std::uint64_t>(OutputType::kF64)}};
  for (const Numbers& data : all) {
    for (const double r : {0.0, 0.1, 0.5, 0.75, 0.99, 1.0}) {
      const Numbers ratios[] = {
          {OutputType::kF32, KeepForever<std::uint32_t>({BitCast<std::uint32_t>(static_cast<float>(r))})},
          {OutputType::kF64, KeepForever<std::uint64_t>({BitCast<std::uint64_t>(r)})}};
      for (const Numbers& ratio : ratios) {
        cases->push_back({"dropout " + std::to_string(r) + " of type " + std::to_string(static_cast<int>(data.type)),
                          DropoutDraw(State{}, data, ratio, nullptr, nullptr), false});
      }
    }
  }
}

/// A mask says what is kept, with and without the data beside it, whole and in pieces; data may be drawn over.
void TestMasks(const Kernels& kernels) {
  constexpr std::size_t kCount = 5003;
  const float p = 0.3f;
  std::vector<float> data(kCount, 2.0f), out(kCount);
  std::vector<unsigned char> mask(kCount + 2, kPoison), alone(kCount, kPoison);
  const Numbers numbers{OutputType::kF32, data.data()}, ratio{OutputType::kF32, &p};
  Draw draw = DropoutDraw(kStates[1], numbers, ratio, out.data(), mask.data() + 1);
  Fill(kernels, draw, 0, 7);
  Fill(kernels, draw, 7, 4096);
  Fill(kernels, draw, 4096, kCount);
  draw.out = nullptr;
  draw.mask = alone.data();
  Fill(kernels, draw, 0, kCount);
  bool is_right = mask[0] == kPoison && mask[kCount + 1] == kPoison;
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool kept = !(model::UniformF32(kStates[1], i) < p);
    is_right = is_right && mask[i + 1] == kept && alone[i] == kept && (out[i] != 0) == kept;
  }
  check::That(is_right, "%s: masks", kernels.name);
  Draw over = DropoutDraw(kStates[1], numbers, ratio, data.data(), nullptr);
  Fill(kernels, over, 0, kCount);
  check::That(data == out, "%s: dropped in place", kernels.name);
}

/// A NaN is dropped as anything else, and stays one where it is kept.
template <class Bits>
void TestNansOf(const Kernels& kernels, OutputType type, Bits nan) {
  const float p = 0.5f;
  const std::vector<Bits> data(1000, nan);
  std::vector<Bits> out(1000);
  std::vector<unsigned char> mask(1000);
  const Draw draw = DropoutDraw(kStates[2], {type, data.data()}, {OutputType::kF32, &p}, out.data(), mask.data());
  Fill(kernels, draw, 0, 1000);
  const Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits infinity = static_cast<Bits>(nan & (nan << 1));  // of a NaN whose fraction is its first bit
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool is_nan = static_cast<Bits>(out[i] & ~sign) > infinity;
    check::That(mask[i] != 0 ? is_nan : out[i] == 0, "%s: a NaN of type %d", kernels.name, static_cast<int>(type));
  }
}

void TestNans(const Kernels& kernels) {
  TestNansOf<std::uint32_t>(kernels, OutputType::kF32, 0x7FC00000u);
  TestNansOf<std::uint16_t>(kernels, OutputType::kF16, 0x7E00u);
  TestNansOf<std::uint16_t>(kernels, OutputType::kBF16, 0x7FC0u);
  TestNansOf<std::uint64_t>(kernels, OutputType::kF64, 0x7FF8000000000000u);
}

void AddCategoricalCases(std::vector<Case>* cases) {
  Choices choices;
  const auto add = [&](OutputType type, OutputType logits_type, std::uint64_t classes, std::uint64_t samples,
                       bool is_once = false) {
    const std::size_t numbers = static_cast<std::size_t>((kLongest + samples - 1) / samples * classes);
    // Bits of the type: numbers around 0, -inf, 10,000 apart, subnormals, equal ones.
    const std::uint64_t special16[] = {0xFC00, 0, 0x8000, 0x7000, 0xF0E2, 0x0001, 0x8001, 0xFC00, 0x3C00};
    const float special[] = {-HUGE_VALF, 0, -0.0f, 10000, -10000, 0x1p-149f, -0x1p-149f, -708.4f, 1};
    std::vector<std::uint16_t> f16;
    std::vector<std::uint32_t> f32;
    std::vector<std::uint64_t> f64;
    for (std::size_t i = 0; i < numbers; ++i) {
      const bool is_special = choices.Below(4) == 0 && i % classes != classes / 2;  // one in each row is finite
      // A logit of 10,000 leaves no other class a weight, and once needs some.
      const std::uint64_t which = choices.Below(is_once ? 3 : 9), random = choices.Below(~std::uint64_t{0});
      if (logits_type == OutputType::kF16) {
        const std::uint64_t bits = is_special ? special16[which] : (random & 0x83FF) | (0x3400 + (random >> 20 & 0xC00));
        f16.push_back(static_cast<std::uint16_t>(bits));
      } else {
        const double x = is_special ? static_cast<double>(special[which]) : static_cast<double>(random >> 11) * 0x1p-50 - 6;
        f32.push_back(BitCast<std::uint32_t>(static_cast<float>(x)));
        f64.push_back(BitCast<std::uint64_t>(x));
      }
    }
    const void* const data = logits_type == OutputType::kF16   ? KeepForever(f16)
                             : logits_type == OutputType::kF32 ? KeepForever(f32)
                                                               : KeepForever(f64);
    cases->push_back({"categorical " + std::to_string(classes) + " classes, " + std::to_string(samples) + " samples" +
                          (is_once ? " once" : ""),
                      CategoricalDraw(State{}, type, Logits{{logits_type, data}, classes, samples, is_once}, nullptr), false});
  };
  add(OutputType::kI32, OutputType::kF32, 1, 3);
  add(OutputType::kI64, OutputType::kF32, 2, 1);
  add(OutputType::kI32, OutputType::kF64, 7, 1);
  add(OutputType::kI32, OutputType::kF16, 8, 5);
  add(OutputType::kI64, OutputType::kF16, 77, 11);
  add(OutputType::kI32, OutputType::kF32, 1000, 2500);
  // More than the running sums that are kept.
  add(OutputType::kI32, OutputType::kF32, 2049, 3001);
  add(OutputType::kI64, OutputType::kF64, 20011, 70000);
  add(OutputType::kI32, OutputType::kF16, 33333, 70000);
  add(OutputType::kI32, OutputType::kF32, 1, 1, true);
  add(OutputType::kI64, OutputType::kF64, 9, 3, true);
  add(OutputType::kI32, OutputType::kF16, 33, 11, true);
  // More than the arrivals that are kept.
  add(OutputType::kI64, OutputType::kF32, 1501, 1100, true);
}

void AddPermutationCases(std::vector<Case>* cases) {
  // Rows that are drawn at once, sorted on the stack, and dealt out; whole and in parts of which each is sorted alone.
  // Every other one of each type, since emulators are slow.
  OutputType type = OutputType::kI32;
  for (const std::uint64_t size : {1u, 2u, 7u, 30u, 1000u, 1025u, 3001u}) {
    cases->push_back({"permutation of " + std::to_string(size), PermutationDraw(State{}, type, size, nullptr), size < 9});
    type = type == OutputType::kI32 ? OutputType::kI64 : OutputType::kI32;
  }
}

/// Draws a row of `size` by the first kBits bits of its keys only, so that many keys are equal, and compares.
template <unsigned kBits, class Index>
void TestEqualKeys(std::uint64_t size, std::uint64_t spare_records) {
  const State state{{(std::uint64_t{1} << 32) - 777, 7}, 42};
  std::vector<Index> out(2 * size);
  std::vector<unsigned char> spare(spare_records * 8 + 1);
  const Draw draw = PermutationDraw(state, sizeof(Index) == 4 ? OutputType::kI32 : OutputType::kI64, size, out.data());
  FillPermutations<Scalar, FromOneState<Scalar>, kBits>(Piece{draw, 0, 2 * size, spare.data() + 1, spare_records});
  std::vector<Index> expected;
  for (const std::uint64_t first : {std::uint64_t{0}, size}) {
    for (const std::uint64_t i : model::PermutationOf(state, size, first, kBits)) expected.push_back(static_cast<Index>(i));
  }
  check::That(out == expected, "a permutation of %" PRIu64 " by %u bits of keys, with memory for %" PRIu64, size, kBits,
              spare_records);
}

/// Keys that differ below the part that is sorted, and keys that do not differ at all.
void TestKeysOfFewBits() {
  for (const std::uint64_t size : {2u, 16u, 50u, 1000u, 5000u}) {
    TestEqualKeys<1, std::int64_t>(size, 0);
    TestEqualKeys<3, std::int32_t>(size, 0);
    TestEqualKeys<3, std::int32_t>(size, size);
    TestEqualKeys<9, std::int32_t>(size, size / 3);
    TestEqualKeys<60, std::int64_t>(size, 0);
  }
  // By way of parts and bins: the keys differ, are equal here and there, or overflow both.
  for (const std::uint64_t size : {1025u, 2048u, 2049u, 5000u, 70000u}) {
    TestEqualKeys<60, std::int64_t>(size, 2 * size);
    TestEqualKeys<60, std::int32_t>(size, 2 * size);
    TestEqualKeys<24, std::int64_t>(size, 2 * size);
    TestEqualKeys<14, std::int32_t>(size, 2 * size);
    TestEqualKeys<9, std::int64_t>(size, 2 * size);
    TestEqualKeys<1, std::int32_t>(size, 2 * size);
  }
  TestEqualKeys<14, std::int64_t>(70000, 0);
  TestEqualKeys<14, std::int32_t>(70000, 1500);
}

/// A row, whole and in parts, with spare memory and without: `Fill` has some.
void TestRow(const Kernels& kernels, const State& state, std::uint64_t size) {
  const std::vector<std::uint64_t> order = model::PermutationOf(state, size, 0);
  std::vector<std::int64_t> wide(size);
  std::vector<std::int32_t> narrow(size), parts(size);
  Fill(kernels, PermutationDraw(state, OutputType::kI64, size, wide.data()), 0, size);
  Fill(kernels, PermutationDraw(state, OutputType::kI32, size, narrow.data()), 0, size);
  Draw draw = PermutationDraw(state, OutputType::kI32, size, parts.data());
  const std::uint64_t middle = size / 3;
  kernels.fill(Piece{draw, 0, middle});
  draw.out = parts.data() + middle;
  kernels.fill(Piece{draw, middle, size});
  bool is_right = narrow == parts;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::int64_t expected = static_cast<std::int64_t>(order[i]);
    is_right = is_right && wide[i] == expected && narrow[i] == expected;
  }
  check::That(is_right, "%s: a permutation of %" PRIu64, kernels.name, size);
}

/// Rows that are dealt out: into bins, groups and parts, of all of which some keys differ only in their lower halves.
void TestLongRows(const Kernels& kernels) {
  for (const std::uint64_t size : {1025u, 2048u, 2049u, 20011u, 131072u, 131073u, 300007u, 1048576u}) {
    TestRow(kernels, kStates[3], size);
  }
  // Around the fewest records that go into groups, and the most that go into one, two and five.
  for (const std::uint64_t size : {109u, 110u, 200u, 201u, 400u, 401u, 1000u, 1001u}) TestRow(kernels, kStates[3], size);
  // States whose keys overflow a group: the first two where registers hold 16 words, the third where they hold 8.
  TestRow(kernels, State{{0, 0}, 6790}, 1000);
  TestRow(kernels, State{{0, 0}, 29}, 131072);
  TestRow(kernels, State{{0, 0}, 751}, 30000);
}

/// Numbers of samplers, one for each row: all of them, some, or none (`which`).
Filters SomeFilters(std::size_t rows, std::int64_t classes, unsigned which) {
  Choices choices;
  const auto pick = [&](std::initializer_list<double> numbers) { return numbers.begin()[choices.Below(numbers.size())]; };
  std::vector<float> temperature, top_p, min_p;
  std::vector<std::int64_t> top_k;
  for (std::size_t i = 0; i < rows; ++i) {
    temperature.push_back(static_cast<float>(pick({0, 1e-30, 0.3, 0.7, 1, 1.5, 1e30})));
    top_k.push_back(static_cast<std::int64_t>(choices.Below(3) == 0 ? choices.Below(3) << 40 : 1 + choices.Below(static_cast<std::uint64_t>(classes))));
    top_p.push_back(static_cast<float>(pick({1, 0.999, 0.9, 0.5, 0.25, 1e-20})));
    min_p.push_back(static_cast<float>(pick({0, 1e-4, 0.1, 1})));
  }
  return Filters{(which & 1) != 0 ? static_cast<const float*>(KeepForever(temperature)) : nullptr,
                 (which & 2) != 0 ? static_cast<const std::int64_t*>(KeepForever(top_k)) : nullptr,
                 (which & 4) != 0 ? static_cast<const float*>(KeepForever(top_p)) : nullptr,
                 (which & 8) != 0 ? static_cast<const float*>(KeepForever(min_p)) : nullptr};
}

/// Logits in quarters, of which many are equal, and -inf.
Logits SomeLogits(OutputType type, std::size_t rows, std::uint64_t classes) {
  Choices choices;
  std::vector<std::uint16_t> f16, bf16;
  std::vector<float> f32;
  for (std::size_t i = 0; i < rows * classes; ++i) {
    const bool is_none = choices.Below(9) == 0 && i % classes != classes / 2;
    const float x = is_none ? -HUGE_VALF : static_cast<float>(choices.Below(64)) / 4 - 8;
    f32.push_back(type == OutputType::kF32 && choices.Below(2) == 0 && !is_none
                      ? x + static_cast<float>(choices.Below(1 << 20)) * 0x1p-22f : x);
    f16.push_back(static_cast<std::uint16_t>(is_none ? 0xFC00u : F16FromF32(x)));
    bf16.push_back(static_cast<std::uint16_t>(BitCast<std::uint32_t>(x) >> 16));
  }
  const void* const data = type == OutputType::kF16 ? KeepForever(f16) : type == OutputType::kBF16 ? KeepForever(bf16) : KeepForever(f32);
  return Logits{{type, data}, classes, 1};
}

void AddTokenCases(std::vector<Case>* cases) {
  const auto add = [&](OutputType type, OutputType logits_type, std::uint64_t classes, unsigned which) {
    cases->push_back({"tokens of " + std::to_string(classes) + " classes, filters " + std::to_string(which),
                      TokenDraw(State{}, type, SomeLogits(logits_type, kLongest, classes),
                                SomeFilters(kLongest, static_cast<std::int64_t>(classes), which), nullptr), false});
  };
  add(OutputType::kI32, OutputType::kF32, 1, 15);
  add(OutputType::kI64, OutputType::kF16, 7, 15);
  add(OutputType::kI32, OutputType::kBF16, 20, 6);
  add(OutputType::kI64, OutputType::kF32, 35, 0);
}

/// Rows of more classes than are sorted at once. `kBits`: how sure sums in another order must be, which 0 never is.
template <int kBits>
void TestTokensOfMany(const Kernels* kernels) {
  constexpr std::size_t kRows = 16;
  const OutputType types[] = {OutputType::kF32, OutputType::kF16, OutputType::kBF16};
  for (const std::uint64_t classes : {1025u, 2500u, 5003u}) {
    for (unsigned which = 0; which < 16; which += 1 + static_cast<unsigned>(classes / 2500)) {
      const Filters filters = SomeFilters(kRows, static_cast<std::int64_t>(classes), which);
      std::vector<std::int64_t> got(kRows, -1);
      const Draw draw = TokenDraw(kStates[1], OutputType::kI64, SomeLogits(types[which % 3], kRows, classes), filters, got.data());
      if (kernels != nullptr) {
        Fill(*kernels, draw, 0, kRows);
      } else {
        FillTokens<Scalar, FromOneState<Scalar>, kBits>(Piece{draw, 0, kRows});
      }
      for (std::size_t i = 0; i < kRows; ++i) {
        check::That(static_cast<std::uint64_t>(got[i]) == model::Element(draw, i), "token %u of %u classes, filters %u",
                    static_cast<unsigned>(i), static_cast<unsigned>(classes), which);
      }
    }
  }
}

/// Rough weights are as near to exact ones as categorical.h needs.
void TestRoughWeights() {
  for (unsigned i = 0; i <= 700000; ++i) {
    const double x = -static_cast<double>(i) * 0.001;
    Scalar::Words rough[1];
    double exact, got;
    std::memcpy(&rough[0], &x, sizeof(x));
    const Scalar::Words weight = ExpNonpositive<Scalar>(rough[0]);
    std::memcpy(&exact, &weight, sizeof(exact));
    RoughExp<Scalar>(rough);
    std::memcpy(&got, &rough[0], sizeof(got));
    check::That(std::fabs(got - exact) <= kRoughError * exact, "a rough weight of %g: %a instead of %a", x, got, exact);
  }
  for (const double x : {-701.0, -709.0, -1e300, -std::numeric_limits<double>::infinity()}) {
    Scalar::Words rough[1];
    double got;
    std::memcpy(&rough[0], &x, sizeof(x));
    RoughExp<Scalar>(rough);
    std::memcpy(&got, &rough[0], sizeof(got));
    check::That(got >= 0 && got < 0x1p-1000, "a rough weight of %g: %a", x, got);
  }
}

/// Many classes, two of which have a weight: the sum of the first is a sample's threshold but for roundings, so rough
/// weights leave a doubt.
void TestDoubtfulClasses(const Kernels& kernels) {
  constexpr std::uint64_t kClasses = 5003, kSamples = 27;
  const std::uint64_t zero = BitCast<std::uint64_t>(0.0), one = BitCast<std::uint64_t>(1.0);
  for (const State& state : kStates) {
    std::vector<double> u(kSamples);
    Fill(kernels, UniformDraw(state, OutputType::kF64, {zero, one}, u.data()), 0, kSamples);
    for (std::uint64_t doubtful = 0; doubtful < kSamples; ++doubtful) {
      std::vector<double> logits(kClasses, -std::numeric_limits<double>::infinity());
      logits[100 + 160 * doubtful] = std::log(u[doubtful]);
      logits[kClasses - 1] = std::log1p(-u[doubtful]);
      std::vector<std::int64_t> got(kSamples, -1);
      // The model knows rows by their place.
      const Logits given{{OutputType::kF64, KeepForever(logits)}, kClasses, kSamples};
      const Draw draw = CategoricalDraw(state, OutputType::kI64, given, got.data());
      Fill(kernels, draw, 0, kSamples);
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        check::That(static_cast<std::uint64_t>(got[i]) == model::Element(draw, i), "%s: class of sample %u where %u is in doubt",
                    kernels.name, static_cast<unsigned>(i), static_cast<unsigned>(doubtful));
      }
    }
  }
}

/// Rough normals are as near to those of NormalsOf as gamma.h needs: uniforms of all sizes, and the least and the greatest.
void TestRoughNormals() {
  using S = LanesF64<Scalar>;
  const auto value_of = [](Scalar::Words words) {
    double value;
    std::memcpy(&value, &words, sizeof(value));
    return value;
  };
  std::uint64_t random = 1;
  for (unsigned i = 0; i < 1000000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t u = (random & S::kFraction) >> i % 24, v = (random * 0x9E3779B97F4A7C15u) & S::kFraction;
    const Scalar::Words of_u = Scalar::Splat64(i == 0 ? 0 : i == 1 ? S::kFraction : u);
    const Scalar::Words of_v = Scalar::Splat64(i == 2 ? 0 : i == 3 ? S::kFraction : v);
    const double exact = value_of(NormalsOf<S>(of_u, of_v).cosine);
    const double rough = value_of(Scalar::MultiplyF64(Scalar::SqrtF64(RoughSquaredRadius<Scalar>(of_u)), RoughCosine<Scalar>(of_v)));
    check::That(std::fabs(rough - exact) <= kRoughNormalError, "a rough normal of %a and %a: %a instead of %a",
                static_cast<double>(u), static_cast<double>(v), rough, exact);
  }
}

/// Gammas of f32 are those of f64, rounded: rough normals may decide the first, and never the second.
void TestRoundedGammas(const Kernels& kernels) {
  constexpr std::uint64_t kCount = 100000;
  std::vector<float> narrow(kCount);
  std::vector<double> wide(kCount), each(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) each[i] = 1 + static_cast<double>(i % 1000) * 0.01;
  const auto test = [&](const State& state, const double* alpha, bool is_each) {
    const Numbers numbers{OutputType::kF64, alpha};
    Fill(kernels, RejectingDraw(state, Distribution::kGamma, OutputType::kF32, numbers, is_each, narrow.data()), 0, kCount);
    Fill(kernels, RejectingDraw(state, Distribution::kGamma, OutputType::kF64, numbers, is_each, wide.data()), 0, kCount);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      check::That(narrow[i] == static_cast<float>(wide[i]), "%s: gamma %" PRIu64 " of %g: %a instead of %a", kernels.name, i,
                  alpha[is_each ? i : 0], static_cast<double>(narrow[i]), wide[i]);
    }
  };
  for (const double alpha : {0.99, 1.0, 1.001, 1.5, 2.5, 30.0, 1e4, 0x1p20, 0x1p21, 1e30}) test(kStates[1], &alpha, false);
  for (const State& state : kStates) test(state, each.data(), true);
}

/// The greatest of so many logits that their blocks are looked at in several parts; of equal ones the first.
void TestGreatestOfMany(const Kernels& kernels) {
  constexpr std::uint64_t kClasses = 140001;
  for (const OutputType type : {OutputType::kF32, OutputType::kF16}) {
    const Logits logits = SomeLogits(type, 1, kClasses);
    for (const std::int64_t most : {1, 2, 50, 1000, 1024, 1025}) {
      std::int64_t got = -1;
      const Filters filters{nullptr, &most, nullptr, nullptr};
      const Draw draw = TokenDraw(kStates[1], OutputType::kI64, logits, filters, &got);
      Fill(kernels, draw, 0, 1);
      check::That(static_cast<std::uint64_t>(got) == model::Element(draw, 0), "%s: a token of the first %d of many",
                  kernels.name, static_cast<int>(most));
    }
  }
}

/// Sums that are equal to what is wanted, so that only those in the specification's order tell; logits next to each other.
void TestEdgesOfTokens(const Kernels& kernels) {
  constexpr std::uint64_t kClasses = 4096;
  for (const float step : {0.0f, 0x1p-149f, 0x1p-60f, 0x1p-24f}) {
    std::vector<float> logits(kClasses);
    for (std::uint64_t c = 0; c < kClasses; ++c) logits[c] = -step * static_cast<float>(c * 1021 % kClasses);
    for (const float share : {0.25f, 0.5f, 0.75f, 0.99999994f}) {
      for (const std::int64_t most : {std::int64_t{0}, std::int64_t{64}, std::int64_t{2048}}) {
        const float temperature = 2;
        std::int64_t got = -1;
        const Filters filters{&temperature, &most, &share, nullptr};
        const Draw draw = TokenDraw(kStates[2], OutputType::kI64, Logits{{OutputType::kF32, logits.data()}, kClasses, 1}, filters, &got);
        Fill(kernels, draw, 0, 1);
        check::That(static_cast<std::uint64_t>(got) == model::Element(draw, 0), "%s: the token at an edge", kernels.name);
      }
    }
  }
}

/// Which of the cases this process tests: those whose number leaves this remainder.
std::size_t own_part = 0, part_count = 1;

const std::vector<Case>& AllCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> made;
    for (const auto& c : kUniformCases) made.push_back({c.name, UniformDraw({}, c.type, c.given, nullptr), true});
    for (const auto& c : kNormalCases) made.push_back({c.name, NormalDraw({}, c.type, c.given, nullptr), true});
    for (const auto& c : kExponentialCases) made.push_back({c.name, ExponentialDraw({}, c.type, c.given, nullptr), true});
    AddRejectingCases(&made);
    AddBernoulliCases(&made);
    AddDropoutCases(&made);
    AddCategoricalCases(&made);
    AddPermutationCases(&made);
    AddTokenCases(&made);
    std::vector<Case> own;
    for (std::size_t i = own_part; i < made.size(); i += part_count) {
      if (share::Has(i / part_count)) own.push_back(made[i]);
    }
    return own;
  }();
  return cases;
}

/// The draw of a case from a state, to memory.
Draw DrawOf(const Case& c, const State& state, void* out) {
  Draw draw = c.draw;
  draw.state = state;
  draw.out = out;
  return draw;
}

/// Memory with an inaccessible page right before and right after.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t pages) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    size_ = pages * page;
    mapping_size_ = size_ + 2 * page;
    void* const mapping = mmap(nullptr, mapping_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapping_ = mapping == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapping);
    if (mapping_ != nullptr) mprotect(mapping_ + page, size_, PROT_READ | PROT_WRITE);
    begin_ = mapping_ + page;
  }
  ~GuardedMemory() {
    if (mapping_ != nullptr) munmap(mapping_, mapping_size_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  bool Mapped() const { return mapping_ != nullptr; }
  unsigned char* begin() const { return begin_; }
  unsigned char* end() const { return begin_ + size_; }

 private:
  unsigned char* mapping_;
  unsigned char* begin_;
  std::size_t size_, mapping_size_;
};

bool AllPoison(const unsigned char* begin, const unsigned char* end) {
  // Equal to itself one byte on: memcmp is quick under sanitizers and emulators, too.
  if (begin == end) return true;
  return *begin == kPoison && std::memcmp(begin, begin + 1, static_cast<std::size_t>(end - begin) - 1) == 0;
}

/// One draw of the test: the model's answer to all of its first kMost elements.
struct Expected {
  const Case* what;
  const State* state;
  std::vector<unsigned char> bytes;
};

/// Fills elements [begin, end) at `place`, between poisoned margins, and compares.
void CheckRange(const Kernels& kernels, const Expected& expected, std::uint64_t begin, std::uint64_t end,
                unsigned char* place, unsigned char* low_margin, unsigned char* high_margin) {
  const unsigned size = ElementSize(expected.what->draw.type);
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * size;
  std::memset(low_margin, kPoison, static_cast<std::size_t>(high_margin - low_margin));
  const Piece piece{DrawOf(*expected.what, *expected.state, place), begin, end};
  if (begin < end) kernels.fill(piece);
  const bool equal = bytes == 0 || std::memcmp(place, expected.bytes.data() + begin * size, bytes) == 0;
  check::That(equal, "%s: %s, elements %" PRIu64 " to %" PRIu64 " at address %% 64 = %u: wrong elements",
              kernels.name, expected.what->name.c_str(), begin, end,
              static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(place) % 64));
  check::That(AllPoison(low_margin, place) && AllPoison(place + bytes, high_margin),
              "%s: %s, elements %" PRIu64 " to %" PRIu64 ": wrote outside the range", kernels.name,
              expected.what->name.c_str(), begin, end);
}

void TestRangesOffsetsAlignments(const Kernels& kernels, const std::vector<Expected>& draws) {
  constexpr std::size_t kMargin = 160;
  std::vector<unsigned char> memory(kMost * 8 + 2 * kMargin + 64);
  Choices choices;
  const auto at = [&](const Expected& expected, std::uint64_t begin, std::uint64_t end, std::size_t offset) {
    unsigned char* const place = memory.data() + kMargin + offset;
    unsigned char* const high = place + (end - begin) * ElementSize(expected.what->draw.type) + kMargin;
    CheckRange(kernels, expected, begin, end, place, place - kMargin, high);
  };
  constexpr std::size_t kOffsets[] = {0, 8, 16, 32, 48};
  std::size_t next = 0;
  for (const Expected& expected : draws) {
    for (std::uint64_t length = 0; length <= 140; ++length) {
      at(expected, choices.Below(9), 9 + length, choices.Below(64));
    }
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t begin = choices.Below(kMost / 2), end = begin + choices.Below(kMost / 2);
      at(expected, begin, end, choices.Below(64));
    }
    // The six states of a case meet every offset.
    at(expected, 0, kMost, kOffsets[next++ % 5]);
  }
}

void TestGuardPages(const Kernels& kernels, const std::vector<Expected>& draws) {
  const GuardedMemory memory(14);
  if (!check::That(memory.Mapped(), "mmap gave no memory")) return;
  Choices choices;
  for (const Expected& expected : draws) {
    const unsigned size = ElementSize(expected.what->draw.type);
    for (const std::uint64_t length : {1u, 2u, 3u, 5u, 8u, 17u, 31u, 33u, 64u, 100u, 1021u, 2049u, 5555u}) {
      const std::uint64_t begin = choices.Below(8);
      CheckRange(kernels, expected, begin, begin + length, memory.begin(), memory.begin(), memory.end());
      CheckRange(kernels, expected, begin, begin + length, memory.end() - length * size, memory.begin(),
                 memory.end());
    }
  }
}

/// Backwards, so that a piece which writes beyond its end is seen.
void FillInPieces(const Kernels& kernels, const Draw& draw, std::uint64_t end, Choices* choices) {
  while (end > 0) {
    const std::uint64_t begin = end - std::min(end, 1 + choices->Below(choices->Below(4) == 0 ? 2000 : 50));
    Fill(kernels, draw, begin, end);
    end = begin;
  }
}

void TestPiecesMakeTheWhole(const Kernels& kernels, const std::vector<Expected>& draws) {
  Choices choices;
  std::vector<unsigned char> memory(kMost * 8);
  for (const Expected& expected : draws) {
    const Draw draw = DrawOf(*expected.what, *expected.state, memory.data());
    std::memset(memory.data(), kPoison, memory.size());
    FillInPieces(kernels, draw, kMost, &choices);
    check::That(std::memcmp(memory.data(), expected.bytes.data(), expected.bytes.size()) == 0, "%s: %s in pieces",
                kernels.name, expected.what->name.c_str());
  }
}

/// Whether a draw's elements belong together in rows.
bool HasRows(const Draw& draw) {
  const Distribution of = draw.distribution;
  return of == Distribution::kCategorical || of == Distribution::kToken || of == Distribution::kPermutation;
}

void TestThreadsMakeTheWhole(const Kernels& kernels) {
  constexpr unsigned kThreads = 8;
  for (const Case& c : AllCases()) {
    const unsigned size = ElementSize(c.draw.type);
    std::vector<unsigned char> whole(kLongest * size), pieces(kLongest * size, kPoison);
    const State state = kStates[3];
    Fill(kernels, DrawOf(c, state, whole.data()), 0, kLongest);
    const Draw draw = DrawOf(c, state, pieces.data());
    const Split split = SplitDraw(draw, kLongest, kThreads);
    check::That(split.pieces == kThreads || (HasRows(c.draw) && split.pieces > 1),
                "%s: %" PRIu64 " pieces", c.name.c_str(), split.pieces);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < split.pieces; ++i) {
      threads.emplace_back([&, i] {
        Fill(kernels, draw, i * split.step, std::min<std::uint64_t>((i + 1) * split.step, kLongest));
      });
    }
    for (std::thread& thread : threads) thread.join();
    check::That(whole == pieces, "%s: %s from %u threads", kernels.name, c.name.c_str(), kThreads);
  }
}

void TestFarIntoADraw(const Kernels& kernels) {
  // Element numbers beyond 2^32 blocks, where begin / 4 itself carries.
  for (const Case& c : AllCases()) {
    if (!c.has_each_element) continue;
    for (const std::uint64_t begin : {(std::uint64_t{1} << 34) - 37, (std::uint64_t{1} << 40) + 3}) {
      std::vector<unsigned char> got(300 * ElementSize(c.draw.type), kPoison);
      const Draw draw = DrawOf(c, kStates[1], got.data());
      kernels.fill(Piece{draw, begin, begin + 300});
      check::That(got == model::Elements(draw, begin, 300), "%s: %s from element %" PRIu64, kernels.name,
                  c.name.c_str(), begin);
    }
  }
}

/// The elements of a draw by rows: row b by the model, from state b, with the parameters of row b.
std::vector<unsigned char> ElementsOfRows(const Draw& draw, std::uint64_t rows) {
  const std::uint64_t elements = draw.rows.elements;
  std::vector<unsigned char> all;
  for (std::uint64_t b = 0; b < rows; ++b) {
    Draw row = draw;
    const State own = StateFromWords(draw.rows.words + b * kStateWords);
    row.state.counter = Counter{own.counter.low, own.counter.high + draw.state.counter.high};
    row.state.key = own.key + draw.state.key;
    for (int i = 0; i < kParameters; ++i) {
      Argument& given = row.given[i];
      if (!given.each()) continue;
      const std::uint64_t numbers = static_cast<Parameter>(i) == Parameter::kLogits ? draw.classes : elements;
      given.data = static_cast<const unsigned char*>(given.data) + b * numbers * ElementSize(given.type);
    }
    const std::vector<unsigned char> bytes = model::Elements(row, 0, elements);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

/// Rows of every length around vectors and blocks, in any pieces, from states whose counters carry in them.
void TestRows(const Kernels& kernels) {
  const GuardedMemory memory(32);
  if (!check::That(memory.Mapped(), "mmap gave no memory")) return;
  Choices choices;
  for (const Case& c : AllCases()) {
    const bool has_rows = HasRows(c.draw);
    for (std::uint64_t elements : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 31u, 33u, 64u, 127u, 128u, 129u, 255u, 257u, 1021u}) {
      if (has_rows) elements = c.draw.samples;
      if (elements > kMost) break;
      const std::uint64_t rows = std::min<std::uint64_t>(70, kMost / elements);
      std::vector<std::uint32_t> words(rows * kStateWords);
      for (std::uint64_t b = 0; b < rows; ++b) {
        State state = kStates[choices.Below(6)];
        state.counter.low += choices.Below(3) == 0 ? 0x1FF - choices.Below(40) : 0;
        state.key ^= choices.Below(~std::uint64_t{0});
        StateToWords(state, &words[b * kStateWords]);
      }
      Draw draw = DrawOf(c, Derive(State{}, 0x7766554433221100, 0x0FFFFFFFFFFFFFFF), nullptr);
      draw.rows = Rows{words.data(), elements};
      const std::vector<unsigned char> expected = ElementsOfRows(draw, rows);
      const unsigned size = ElementSize(c.draw.type);
      const std::uint64_t all = rows * elements;
      for (const bool is_at_end : {false, true}) {
        unsigned char* const place = is_at_end ? memory.end() - all * size : memory.begin();
        draw.out = place;
        std::memset(memory.begin(), kPoison, static_cast<std::size_t>(memory.end() - memory.begin()));
        Fill(kernels, draw, 0, all);
        check::That(std::memcmp(place, expected.data(), expected.size()) == 0, "%s: %s in rows of %" PRIu64, kernels.name,
                    c.name.c_str(), elements);
        check::That(AllPoison(memory.begin(), place) && AllPoison(place + all * size, memory.end()),
                    "%s: %s in rows of %" PRIu64 ": wrote outside the range", kernels.name, c.name.c_str(), elements);
      }
      std::memset(draw.out, kPoison, expected.size());
      FillInPieces(kernels, draw, all, &choices);
      check::That(std::memcmp(draw.out, expected.data(), expected.size()) == 0, "%s: %s in pieces of rows of %" PRIu64,
                  kernels.name, c.name.c_str(), elements);
      std::vector<std::uint32_t> next = words;
      NextStates(draw, rows, next.data());
      for (std::uint64_t b = 0; b < rows; ++b) {
        const State after = NextState(draw, StateFromWords(&words[b * kStateWords]), elements);
        std::uint32_t wanted[kStateWords];
        StateToWords(after, wanted);
        check::That(std::equal(wanted, wanted + kStateWords, &next[b * kStateWords]), "%s: the next state of row %" PRIu64,
                    c.name.c_str(), b);
      }
      if (has_rows) break;
    }
  }
}

/// Integer ranges by the hundred: the reductions must be exact for every width.
void TestIntegerWidths(const Kernels& kernels) {
  Choices choices;
  const auto widths = [&](int bits) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < bits; ++i) {
      for (int d = -2; d <= 2; ++d) all.push_back((std::uint64_t{1} << i) + static_cast<std::uint64_t>(d));
    }
    for (int i = 0; i < 400; ++i) all.push_back(choices.Below(~std::uint64_t{0}) >> choices.Below(64));
    for (std::uint64_t i = 1; i <= 6; ++i) all.push_back(~std::uint64_t{0} >> (64 - bits) >> (i / 2));
    return all;
  };
  for (const bool narrow : {true, false}) {
    const OutputType type = narrow ? OutputType::kI32 : OutputType::kI64;
    const std::uint64_t mask = narrow ? 0xFFFFFFFFu : ~std::uint64_t{0};
    for (const std::uint64_t raw : widths(narrow ? 32 : 64)) {
      const std::uint64_t width = raw & mask;
      if (width == 0) continue;
      const std::uint64_t minval = choices.Below(~std::uint64_t{0}) & mask;  // the arithmetic wraps: any will do
      const Bounds bounds{minval, (minval + width) & mask};
      const State state{{choices.Below(~std::uint64_t{0}), 5}, choices.Below(~std::uint64_t{0})};
      constexpr std::uint64_t kElements = 500;
      std::vector<unsigned char> got(kElements * ElementSize(type), kPoison);
      const Draw draw = UniformDraw(state, type, bounds, got.data());
      Fill(kernels, draw, 0, kElements);
      check::That(got == model::Elements(draw, 0, kElements), "%s: i%d width %" PRIu64, kernels.name,
                  narrow ? 32 : 64, width);
    }
  }
}

/// The state whose block is these words: runs the generator, a bijection, backwards.
State StateBefore(const std::uint32_t (&words)[4], std::uint64_t key) {
  std::uint32_t w0 = words[0], w1 = words[1], w2 = words[2], w3 = words[3];
  const auto inverse = [](std::uint32_t odd) {
    std::uint32_t x = odd;  // three bits are right; each step doubles them
    for (int i = 0; i < 4; ++i) x *= 2 - odd * x;
    return x;
  };
  for (int round = kRounds - 1; round >= 0; --round) {
    const std::uint32_t c0 = w3 * inverse(kMultiplier0), c2 = w1 * inverse(kMultiplier2);
    const std::uint32_t c1 = w0 ^ RoundKey0(key, round) ^ High32(MultiplyWide(kMultiplier2, c2));
    const std::uint32_t c3 = w2 ^ RoundKey1(key, round) ^ High32(MultiplyWide(kMultiplier0, c0));
    w0 = c0;
    w1 = c1;
    w2 = c2;
    w3 = c3;
  }
  return State{{std::uint64_t{w1} << 32 | w0, std::uint64_t{w3} << 32 | w2}, key};
}

/// The bits of 1.
std::uint64_t OneOf(OutputType type) {
  return type == OutputType::kF64 ? 0x3FF0000000000000 : type == OutputType::kF32 ? 0x3F800000
         : type == OutputType::kF16 ? 0x3C00 : 0x3F80;
}

/// Normals from words at which the functions change branch: the ends of u and v, binades of u and sqrt(1/2) in each,
/// eighths of v.
void TestEdgesOfNormals(const Kernels& kernels) {
  const auto edges = [](int bits, bool is_u) {
    const std::uint64_t whole = std::uint64_t{1} << bits;
    const std::uint64_t root = static_cast<std::uint64_t>(static_cast<double>(whole) * 0.7071067811865476);
    std::vector<std::uint64_t> around, found;
    for (const int power : {0, 1, 2, bits / 2, bits - 1}) {
      around.push_back(whole >> power);
      around.push_back(root >> power);
    }
    if (!is_u) around = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    for (const std::uint64_t x : around) {
      for (const std::uint64_t near : {x - 1, x, x + 1}) {
        const std::uint64_t edge = is_u ? near : whole / 8 * x + near - x;
        if (edge < whole) found.push_back(edge);
      }
    }
    return found;
  };
  constexpr std::uint64_t kKey = 0x0123456789ABCDEF;
  std::uint64_t place = 0;
  const auto check = [&](const std::uint32_t (&words)[4], std::uint64_t u, std::uint64_t v, OutputType type) {
    State state = StateBefore(words, kKey);
    const Block block = Philox(state.counter, kKey);
    check::That(std::equal(words, words + 4, block.word), "the generator does not run backwards");
    const std::uint64_t before = place++ % 19;  // each edge in another place of a vector
    state.counter = Counter{state.counter.low - before, state.counter.high - (state.counter.low < before ? 1u : 0u)};
    unsigned char got[320];
    const Draw draw = NormalDraw(state, type, Affine{0, OneOf(type)}, got);
    const std::size_t count = sizeof(got) / ElementSize(type) < 80 ? 40 : 80;
    Fill(kernels, draw, 0, count);
    const std::vector<unsigned char> expected = model::Elements(draw, 0, count);
    check::That(std::memcmp(got, expected.data(), expected.size()) == 0,
                "%s: normals of type %d from fractions %" PRIx64 " and %" PRIx64, kernels.name, static_cast<int>(type), u,
                v);
  };
  for (const std::uint64_t u : edges(23, true)) {
    for (const std::uint64_t v : edges(23, false)) {
      // The bits that no conversion reads are set.
      const std::uint32_t a = static_cast<std::uint32_t>(u) | 0xAB800000, b = static_cast<std::uint32_t>(v) | 0xAB800000;
      for (const OutputType type : {OutputType::kF32, OutputType::kF16, OutputType::kBF16}) check({a, b, b, a}, u, v, type);
    }
  }
  for (const std::uint64_t u : edges(52, true)) {
    for (const std::uint64_t v : edges(52, false)) {
      check({High32(u) | 0xABC00000, Low32(u), High32(v) | 0xABC00000, Low32(v)}, u, v, OutputType::kF64);
    }
  }
}

/// Exponentials of words at which the logarithm changes branch, of those that give the least and the greatest value, and
/// of those that a rounding through float32 would round another way than at once.
void TestEdgesOfExponentials(const Kernels& kernels) {
  constexpr std::uint64_t kKey = 0x0123456789ABCDEF;
  const auto check = [&](const std::uint32_t (&words)[4], OutputType type) {
    State state = StateBefore(words, kKey);
    state.counter = Add(state.counter, ~std::uint64_t{0} - 6);  // 7 blocks before, plus 2^64
    --state.counter.high;
    unsigned char got[320];
    const Draw draw = ExponentialDraw(state, type, OneOf(type), got);
    Fill(kernels, draw, 0, 40);
    const std::vector<unsigned char> expected = model::Elements(draw, 0, 40);
    check::That(std::memcmp(got, expected.data(), expected.size()) == 0, "%s: exponentials of type %d from words %x %x",
                kernels.name, static_cast<int>(type), words[0], words[1]);
  };
  std::vector<std::uint32_t> edges;
  for (std::uint64_t power = std::uint64_t{1} << 32; power > 1; power /= 2) {
    const std::uint64_t root = static_cast<std::uint64_t>(static_cast<double>(power) * 0.7071067811865476);
    for (const std::uint64_t x : {power - 1, power, power + 1, root - 1, root, root + 1}) {
      edges.push_back(static_cast<std::uint32_t>(x));
    }
  }
  // Here the nearest float32 is a tie of bfloat16 or of float16, and the value is none.
  for (const std::uint32_t x : {0x5C5B07A9u, 0xFF58B6C0u, 0xFFFFFF75u, 0x1FCAF534u, 0x02A15380u, 0x10008600u, 0x900F3A1Bu}) {
    edges.push_back(x);
  }
  for (const std::uint32_t x : edges) {
    for (const OutputType type : {OutputType::kF32, OutputType::kF16, OutputType::kBF16}) check({x, ~x, x, x}, type);
    check({x | 0xABC00000, ~x, x >> 12, x}, OutputType::kF64);
    check({0, x, ~0u, x}, OutputType::kF64);
  }
}

/// Thresholds that a running sum is equal to, for as many classes as are kept and for more: the next class is drawn.
void TestEdgesOfClasses(const Kernels& kernels) {
  constexpr std::uint64_t kKey = 42;
  for (const std::uint64_t classes : {8u, 8192u}) {
    // Half of the classes, as many as a power of two, have equal weights, the others none. They begin at an odd place.
    std::vector<float> logits(classes, -HUGE_VALF);
    for (std::uint64_t c = 0; c < classes / 2; ++c) logits[classes / 4 + 1 + c] = -3.0f;
    for (const std::uint64_t numerator : {0u, 1u, 2u, 3u, 4u}) {
      const std::uint64_t whole = std::uint64_t{1} << 52, u = std::min(whole / 4 * numerator, whole - 1);
      const State state = StateBefore({High32(u), Low32(u), High32(u / 2), Low32(u / 2)}, kKey);
      std::int32_t got[2];
      const Draw draw =
          CategoricalDraw(state, OutputType::kI32, Logits{{OutputType::kF32, logits.data()}, classes, 2}, got);
      Fill(kernels, draw, 0, 2);
      for (unsigned i = 0; i < 2; ++i) {
        check::That(static_cast<std::uint64_t>(got[i]) == model::Element(draw, i), "%s: class %d of %u for u = %u / 4",
                    kernels.name, got[i], static_cast<unsigned>(classes), static_cast<unsigned>(numerator));
      }
    }
  }
}

// The caller's floating-point control register, to be set to what a hostile host might.
#if ONNX_PHILOX_FLOAT_CONTROL == 1
const std::uint64_t kHostile[] = {0x1F80 | 0x8040, 0x1F80 | 0x8040 | 0x6000, 0x1F80 | 0x4000, 0x1F80 | 0x2000,
                                  0x0000 /* every exception traps */};
std::uint64_t ReadControl() { return _mm_getcsr(); }
void WriteControl(std::uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
#elif ONNX_PHILOX_FLOAT_CONTROL == 2
const std::uint64_t kHostile[] = {1u << 24, 1u << 24 | 3u << 22, 1u << 22, 2u << 22, 1u << 26, 1u << 25 | 1u << 19};
std::uint64_t ReadControl() {
  std::uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void WriteControl(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#endif

#if ONNX_PHILOX_FLOAT_CONTROL != 0
void TestCallersFloatSettingsChangeNothing(const Kernels& kernels, const std::vector<Expected>& draws) {
  constexpr std::size_t kElements = 1200;
  const std::uint64_t usual = ReadControl();
  for (const Expected& expected : draws) {
    std::vector<unsigned char> got(kElements * ElementSize(expected.what->draw.type));
    const Draw draw = DrawOf(*expected.what, *expected.state, got.data());
    for (const std::uint64_t hostile : kHostile) {
      std::memset(got.data(), kPoison, got.size());
      WriteControl(hostile);
      const std::uint64_t before = ReadControl();
      const bool is_uniform = draw.distribution == Distribution::kUniform;
      const RangeProblem problem = is_uniform ? RangeProblemOf(draw.type, BoundsOf(draw.given)) : RangeProblem::kNone;
      Fill(kernels, draw, 0, kElements);
      const std::uint64_t after = ReadControl();
      WriteControl(usual);
      check::That(std::equal(got.begin(), got.end(), expected.bytes.begin()), "%s: %s with control register %" PRIx64,
                  kernels.name, expected.what->name.c_str(), hostile);
      check::That(before == after, "control register was %" PRIx64 ", is %" PRIx64, before, after);
      check::That(problem == RangeProblem::kNone, "%s: no range", expected.what->name.c_str());
    }
  }
}
#endif

/// A number that nobody checked is found wherever it lies and however a draw is cut, and those at the limits are none.
template <class Bits>
void TestUnchecked(const Kernels& kernels, const Draw& checked, Parameter parameter, const Limits& limits,
                   std::initializer_list<Bits> within, std::initializer_list<Bits> outside) {
  constexpr std::uint64_t kCount = 3000;
  std::vector<Bits> numbers(kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) numbers[i] = within.begin()[i % within.size()];
  const unsigned size = ElementSize(checked.type);
  std::vector<unsigned char> expected(kCount * size), got(kCount * size);
  Draw draw = checked;
  draw[parameter].data = numbers.data();
  draw.out = expected.data();
  check::That(Fill(kernels, draw, 0, kCount), "%s: checked numbers are within", kernels.name);
  draw[parameter].unchecked = &limits;
  draw.out = got.data();
  check::That(Fill(kernels, draw, 0, 999) && Fill(kernels, draw, 999, kCount) && got == expected,
              "%s: what nobody checked draws the same", kernels.name);
  for (const Bits wrong : outside) {
    for (const std::uint64_t at : {0u, 1u, 15u, 16u, 191u, 1023u, 1024u, 2047u, 2998u, 2999u}) {
      const Bits right = numbers[at];
      numbers[at] = wrong;
      for (const std::uint64_t cut : {std::uint64_t{1}, at, at + 1, std::uint64_t{2000}}) {
        if (cut == 0 || cut == kCount) continue;
        check::That(Fill(kernels, draw, 0, cut) == (at >= cut) && Fill(kernels, draw, cut, kCount) == (at < cut),
                    "%s: a number outside of its limits at %" PRIu64, kernels.name, at);
      }
      numbers[at] = right;
    }
  }
}

void TestUncheckedNumbers(const Kernels& kernels) {
  const std::uint64_t sign = 0x80000000u, wide = std::uint64_t{1} << 63;
  const State state{{3, 4}, 5};
  static const float kOne32 = 1;
  static const double kOne64 = 1;
  const Limits p{sign - 1, sign + 0x3F800004u};  // -0 to 4 ulp above 1
  TestUnchecked<std::uint32_t>(kernels, BernoulliDraw(state, {{OutputType::kF32, &kOne32}, true}, nullptr), Parameter::kP, p,
                               {0, 0x80000000u, 0x3F000000u, 0x3F800004u, 1},
                               {0x3F800005u, 0x80000001u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFC00000u, 0xFFFFFFFFu});
  const Limits p_wide{wide - 1, wide + 0x3FF0000000000004u};
  TestUnchecked<std::uint64_t>(kernels, BernoulliDraw(state, {{OutputType::kF64, &kOne64}, true}, nullptr), Parameter::kP,
                               p_wide, {0, wide, 0x3FE0000000000000u, 0x3FF0000000000004u, 1},
                               {0x3FF0000000000005u, wide + 1, 0x7FF0000000000000u, 0x7FF8000000000000u, ~std::uint64_t{0}});
  const Limits above_0{sign + 1, sign + 0x58800000u};  // to 2^50
  const auto rejecting = [&](Distribution distribution, OutputType type, const Numbers& numbers) {
    return RejectingDraw(state, distribution, type, numbers, true, nullptr);
  };
  TestUnchecked<std::uint32_t>(kernels, rejecting(Distribution::kGamma, OutputType::kF32, {OutputType::kF32, &kOne32}),
                               Parameter::kAlpha, above_0, {1, 0x3F000000u, 0x58800000u},
                               {0, 0x80000000u, 0x58800001u, 0x7FC00000u, 0xFF800000u});
  const Limits rate{wide - 1, wide + 0x41D0000000000000u};  // -0 to 2^30
  TestUnchecked<std::uint64_t>(kernels, rejecting(Distribution::kPoisson, OutputType::kI32, {OutputType::kF64, &kOne64}),
                               Parameter::kRate, rate, {0, wide, 0x4008000000000000u, 0x41D0000000000000u},
                               {0x41D0000000000001u, wide + 1, 0x7FF8000000000000u});
}

/// Probabilities that are any numbers: a uniform is below them where IEEE says so, and below NaN as asked.
template <class Float, class Bits>
void TestAnyProbabilities(const Kernels& kernels, OutputType type) {
  constexpr std::uint64_t kCount = 3000;
  using Limit = std::numeric_limits<Float>;
  const Float special[] = {0, -Float{0}, Limit::denorm_min(), -1, 2, Limit::infinity(), -Limit::infinity(), Limit::quiet_NaN(),
                           -Limit::quiet_NaN(), Limit::signaling_NaN(), 1, Float(0.5)};
  std::vector<Float> uniforms(kCount), p(kCount);
  const State state{{3, 4}, 5};
  Fill(kernels, UniformDraw(state, type, Bounds{0, BitCast<Bits>(Float{1})}, uniforms.data()), 0, kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) p[i] = i % 3 == 0 ? uniforms[i] : special[i % (sizeof special / sizeof *special)];
  for (const OfNan of_nan : {OfNan::kNone, OfNan::kAll}) {
    std::vector<unsigned char> got(kCount);
    Draw draw = BernoulliDraw(state, {{type, p.data()}, true}, got.data());
    draw[Parameter::kP].of_nan = of_nan;
    Fill(kernels, draw, 0, kCount);
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const bool expected = p[i] != p[i] ? of_nan == OfNan::kAll : uniforms[i] < p[i];
      check::That(got[i] == expected, "%s: %g below %g at %" PRIu64, kernels.name, double(uniforms[i]), double(p[i]), i);
    }
  }
}

}  // namespace

/// Tests all cases, or a share of them (share.h); with the arguments 1 2 the first half of these, with 2 2 the other half.
int main(int argc, char** argv) {
  if (argc == 3) {
    own_part = static_cast<std::size_t>(std::atoi(argv[1]) - 1);
    part_count = static_cast<std::size_t>(std::atoi(argv[2]));
  }
  std::vector<Expected> draws;
  const bool is_first = own_part == 0;
  if (is_first) {
    TestBudgets();
    TestRoughWeights();
    TestRoughNormals();
    TestTokensOfMany<0>(nullptr);
    TestTokensOfMany<kSureBits>(nullptr);
    TestKeysOfFewBits();
  }
  for (const Case& c : AllCases()) {
    for (const State& state : kStates) {
      draws.push_back(Expected{&c, &state, model::Elements(DrawOf(c, state, nullptr), 0, kMost)});
    }
  }
  int ran = 0;
  // Under an emulator one set is enough: others have been tested outside of it.
  const char* const only = std::getenv("ONNX_PHILOX_TEST_ISA");
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    if (only != nullptr && std::strcmp(only, kernels->name) != 0) {
      check::Skip(kernels->name, "ONNX_PHILOX_TEST_ISA names another");
      continue;
    }
    if (!kernels->available()) {
      check::Skip(kernels->name, "this processor lacks it");
      continue;
    }
    const unsigned long long before = check::checks;
    TestRangesOffsetsAlignments(*kernels, draws);
    if (is_first) TestDoubtfulClasses(*kernels);
    if (is_first) TestRoundedGammas(*kernels);
    TestGuardPages(*kernels, draws);
    TestPiecesMakeTheWhole(*kernels, draws);
    TestThreadsMakeTheWhole(*kernels);
    TestFarIntoADraw(*kernels);
    TestRows(*kernels);
    if (is_first) {
      TestIntegerWidths(*kernels);
      TestEdgesOfNormals(*kernels);
      TestEdgesOfExponentials(*kernels);
      TestEdgesOfClasses(*kernels);
      TestTokensOfMany<kSureBits>(kernels);
      TestEdgesOfTokens(*kernels);
      TestGreatestOfMany(*kernels);
      TestMasks(*kernels);
      TestLongRows(*kernels);
      TestNans(*kernels);
      TestUncheckedNumbers(*kernels);
      TestAnyProbabilities<float, std::uint32_t>(*kernels, OutputType::kF32);
      TestAnyProbabilities<double, std::uint64_t>(*kernels, OutputType::kF64);
    }
#if ONNX_PHILOX_FLOAT_CONTROL != 0
    TestCallersFloatSettingsChangeNothing(*kernels, draws);
#else
    check::Skip("caller's float settings", "no known control register here");
#endif
    std::printf("%s: %llu checks\n", kernels->name, check::checks - before);
    ++ran;
  }
  check::That(ran > 0, "no kernels ran");
  return check::Finish(60000 / part_count / share::Count());
}
