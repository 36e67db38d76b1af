// What torch draws with its CPU generator: vectors of torch's own, and every instruction set against plain C++.
//
//   test_torch torch_vectors.txt
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "draws.h"
#include "kernel_sets.h"
#include "kernels.h"
#include "share.h"
#include "torch_part.h"
#include "torch_elementary.h"
#include "torch_jump.h"
#include "torch_stream.h"
#include "values.h"

namespace {

using namespace onnx_philox;

/// The words of `torch.manual_seed(seed)`, by the authors' init_genrand.
std::vector<std::uint32_t> Seeded(std::uint32_t seed) {
  std::vector<std::uint32_t> words(kTorchGeneratorWords, 0);
  words[0] = seed;
  words[2] = words[3] = 1;
  std::uint32_t* const state = words.data() + 5;
  state[0] = seed;
  for (std::uint32_t i = 1; i < kMtWords; ++i) state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
  return words;
}

TorchStream StreamOf(const std::vector<std::uint32_t>& words) {
  TorchStream stream;
  ReadTorchState(words.data(), &stream);
  return stream;
}

TorchFill FillOf(Distribution distribution, OutputType type, std::uint64_t elements, double first, double second) {
  TorchFill fill{};
  fill.distribution = distribution;
  fill.type = type;
  fill.elements = elements;
  fill.first = first;
  fill.second = second;
  fill.p_type = OutputType::kF64;
  return fill;
}

TorchFill UniformOf(OutputType type, std::uint64_t elements, double minval, double maxval) {
  TorchFill fill = FillOf(Distribution::kUniform, type, elements, minval, maxval);
  fill.bounds = Bounds{BitsOf(type, minval), BitsOf(type, maxval)};
  return fill;
}

TorchFill IntegersOf(OutputType type, std::uint64_t elements, std::int64_t minval, std::int64_t maxval) {
  TorchFill fill = FillOf(Distribution::kUniform, type, elements, 0, 0);
  fill.bounds = Bounds{static_cast<std::uint64_t>(minval), static_cast<std::uint64_t>(maxval)};
  return fill;
}

/// Draws at an odd address, and looks whether anything around it is touched.
std::vector<unsigned char> Drawn(const Kernels& kernels, TorchStream* stream, TorchFill fill) {
  const std::size_t size = static_cast<std::size_t>(fill.elements) * ElementSize(fill.type);
  std::vector<unsigned char> bytes(size + 2, 0xCB);
  fill.out = bytes.data() + 1;
  FillTorch(kernels, stream, fill);
  check::That(bytes.front() == 0xCB && bytes.back() == 0xCB, "%s writes beyond its memory", kernels.name);
  return std::vector<unsigned char>(bytes.begin() + 1, bytes.end() - 1);
}

double ValueAt(const std::vector<unsigned char>& bytes, OutputType type, std::size_t i) {
  const std::uint64_t bits = ElementAt(bytes.data(), type, i);
  return IsFloat(type) ? FloatValue(type, bits) : static_cast<double>(static_cast<std::int64_t>(bits));
}

/// The probabilities of `tensor.bernoulli()` in the vectors.
std::vector<float> Probabilities(std::uint64_t count) {
  std::vector<float> p;
  for (std::uint64_t i = 0; i < count; ++i) p.push_back(static_cast<float>(i * 2654435761u % 1000) / 1000.0f);
  return p;
}

void CheckVector(const Kernels& kernels, const std::string& text) {
  std::istringstream line(text);
  std::uint32_t seed;
  std::string call, type_name, first, second;
  std::uint64_t elements;
  line >> seed >> call >> type_name >> elements >> first >> second;
  const OutputType type = TypeNamed(type_name);
  const double a = std::stod(first), b = std::stod(second);
  std::vector<float> p;
  TorchFill fill;
  if (call == "uniform" && type == OutputType::kI64) {
    fill = IntegersOf(type, elements, std::stoll(first), std::stoll(second));
  } else if (call == "uniform") {
    fill = UniformOf(type, elements, a, b);
  } else if (call == "normal") {
    fill = FillOf(Distribution::kNormal, type, elements, a, b);
  } else if (call == "exponential") {
    fill = FillOf(Distribution::kExponential, type, elements, a, b);
  } else if (call == "permutation") {
    fill = FillOf(Distribution::kPermutation, type, elements, a, b);
  } else {
    fill = FillOf(Distribution::kBernoulli, type, elements, a, b);
  }
  if (call == "each") {
    p = Probabilities(elements);
    fill.p_type = OutputType::kF32;
    fill.p = p.data();
  }
  TorchStream stream = StreamOf(Seeded(seed));
  const auto bytes = Drawn(kernels, &stream, fill);
  // torch calls the C library for these.
  const bool is_near = type == OutputType::kF64 && (call == "normal" || call == "exponential");
  for (unsigned i = 0; i < 6; ++i) {
    double expected;
    line >> expected;
    const double got = ValueAt(bytes, type, static_cast<std::size_t>(i < 3 ? i : elements - 6 + i));
    const double allowed = is_near ? std::fabs(expected) * 0x1p-51 : 0.0;
    check::That(std::fabs(got - expected) <= allowed, "%s: %.17g of \"%.60s\"", kernels.name, got, text.c_str());
  }
  check::That(!line.fail(), "a line ends early: %.60s", text.c_str());
}

/// The generator's authors: the 10,000th word of seed 5489, as C++ promises it of std::mt19937.
void CheckWords(const Kernels& kernels) {
  TorchStream stream = StreamOf(Seeded(5489));
  const auto bytes = Drawn(kernels, &stream, FillOf(Distribution::kUniform, OutputType::kBits, 10000, 0, 0));
  std::uint32_t last;
  std::memcpy(&last, bytes.data() + 9999 * 4, 4);
  check::That(last == 4123659995u, "%s: the 10,000th word is %u", kernels.name, last);
}

/// The places of the largest of `weights / exponential values`, as many rows as samples allow.
TorchFill RaceOf(OutputType type, std::uint64_t rows, std::uint64_t classes, std::uint64_t samples, const float* weights) {
  TorchFill fill = FillOf(Distribution::kCategorical, type, rows * samples, 0, 0);
  fill.p = weights;
  fill.classes = classes;
  fill.samples = samples;
  return fill;
}

/// A race is a sort of speeds.
void CheckRaces(const Kernels& kernels) {
  const std::vector<float> weights = Probabilities(3 * 700);
  for (const std::uint64_t samples : {1u, 64u, 65u, 200u, 690u}) {
    TorchStream stream = StreamOf(Seeded(11)), other = stream;
    const auto bytes = Drawn(kernels, &stream, RaceOf(OutputType::kI64, 3, 700, samples, weights.data()));
    const auto clocks = Drawn(kernels, &other, FillOf(Distribution::kExponential, OutputType::kF32, 2100, 1, 0));
    for (std::size_t row = 0; row < 3; ++row) {
      std::vector<std::int64_t> order(700);
      for (std::size_t i = 0; i < 700; ++i) order[i] = static_cast<std::int64_t>(i);
      const auto speed = [&](std::int64_t i) {
        const std::size_t at = row * 700 + static_cast<std::size_t>(i);
        return weights[at] / static_cast<float>(ValueAt(clocks, OutputType::kF32, at));
      };
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return speed(a) > speed(b); });
      check::That(std::memcmp(order.data(), bytes.data() + row * samples * 8, samples * 8) == 0,
                  "%s: row %d of a race for %d", kernels.name, static_cast<int>(row), static_cast<int>(samples));
    }
    check::That(stream.used == other.used, "%s: a race for %d is at another place", kernels.name, static_cast<int>(samples));
  }
}

/// Every kind of draw, of sizes around blocks and parts.
std::vector<TorchFill> AllFills(const float* p, const double* p_f64) {
  std::vector<TorchFill> fills;
  for (const std::uint64_t n : {0u, 1u, 2u, 15u, 16u, 17u, 40u, 511u, 513u, 623u, 625u, 1300u, 5000u}) {
    for (const OutputType type : {OutputType::kF32, OutputType::kF16, OutputType::kBF16, OutputType::kF64}) {
      fills.push_back(UniformOf(type, n, 0, 1));
      fills.push_back(UniformOf(type, n, -3, 7.1));
      fills.push_back(UniformOf(type, n, 1, 1.015625));
      fills.push_back(UniformOf(type, n, -1e-7, 0));
      fills.push_back(FillOf(Distribution::kNormal, type, n, 0, 1));
      fills.push_back(FillOf(Distribution::kNormal, type, n, 2, 3.3));
      fills.push_back(FillOf(Distribution::kExponential, type, n, 1 / 1.7, 0));
    }
    for (const OutputType type : {OutputType::kI32, OutputType::kI64}) {
      fills.push_back(IntegersOf(type, n, 0, 1000));
      fills.push_back(IntegersOf(type, n, -5, (1 << 28) - 6));
      fills.push_back(IntegersOf(type, n, -5, (1 << 28) - 5));
      fills.push_back(IntegersOf(type, n, INT32_MIN, INT64_C(1) << 31));
      fills.push_back(FillOf(Distribution::kPermutation, type, n, 0, 0));
      if (n > 0) fills.push_back(RaceOf(type, 2, n / 2 + 1, n / 4 + 1, p));
    }
    fills.push_back(IntegersOf(OutputType::kI64, n, INT64_MIN, INT64_MAX));
    fills.push_back(FillOf(Distribution::kUniform, OutputType::kBits, n, 0, 0));
    for (const bool is_f64 : {false, true}) {
      for (const double one : {0.0, 1e-30, 0.25, 1.0}) {
        fills.push_back(FillOf(Distribution::kBernoulli, OutputType::kBool, n, one, 0));
        fills.back().p_type = is_f64 ? OutputType::kF64 : OutputType::kF32;
      }
      fills.push_back(FillOf(Distribution::kBernoulli, OutputType::kBool, n, 0, 0));
      fills.back().p_type = is_f64 ? OutputType::kF64 : OutputType::kF32;
      fills.back().p = is_f64 ? static_cast<const void*>(p_f64) : p;
    }
  }
  return fills;
}

/// The same bits and the same place as plain C++, whatever the caller's rounding.
void CheckAgainstPlain(const Kernels& kernels) {
  std::vector<float> p = Probabilities(5000);
  const std::vector<double> p_f64(p.begin(), p.end());
  std::vector<std::uint32_t> words = Seeded(7), plain_words = words;
  TorchStream stream = StreamOf(words), plain = StreamOf(words);
  for (const TorchFill& fill : AllFills(p.data(), p_f64.data())) {
    std::fesetround(FE_UPWARD);
    const auto bytes = Drawn(kernels, &stream, fill);
    std::fesetround(FE_TONEAREST);
    const auto expected = Drawn(*SelectKernels("scalar").kernels, &plain, fill);
    check::That(bytes == expected, "%s: distribution %d, type %d, %llu elements, %g, %g", kernels.name,
                static_cast<int>(fill.distribution), static_cast<int>(fill.type),
                static_cast<unsigned long long>(fill.elements), fill.first, fill.second);
    WriteTorchState(stream, words.data());
    WriteTorchState(plain, plain_words.data());
    check::That(words == plain_words, "%s is at another place", kernels.name);
    stream = StreamOf(words);  // as a new call does
  }
}

/// torch's record of where it is: `left` and `next` after a number of words.
void CheckPlaces(const Kernels& kernels) {
  for (const std::uint32_t n : {0u, 1u, 623u, 624u, 625u, 1248u}) {
    std::vector<std::uint32_t> words = Seeded(3);
    TorchStream stream = StreamOf(words);
    Drawn(kernels, &stream, FillOf(Distribution::kUniform, OutputType::kBits, n, 0, 0));
    WriteTorchState(stream, words.data());
    const std::uint32_t next = n == 0 ? 0 : (n - 1) % 624 + 1, left = n == 0 ? 1 : 625 - next;
    check::That(words[2] == left && words[4] == next, "after %u words: left %u, next %u", n, words[2], words[4]);
  }
}

/// A product and sum is rounded once: products that lie halfway and a little beside, and subnormal ones.
void CheckMultiplyAdd() {
  std::uint32_t x = 1;
  const auto random = [&x] { return (x = x * 1664525u + 1013904223u) >> 8; };
  unsigned twice = 0;
  for (int i = 0; i < 20000; ++i) {
    const float a = 1.0f + static_cast<float>(random() % 4096) * 0x1p-12f;
    const float b = 1.0f + static_cast<float>(random() % 4096) * 0x1p-12f;
    const float c = std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, -20 - static_cast<int>(random() % 70));
    const float made = MultiplyAdd(a, b, c), expected = std::fma(a, b, c);
    check::That(made == expected, "%a * %a + %a: %a", static_cast<double>(a), static_cast<double>(b),
                static_cast<double>(c), static_cast<double>(made));
    twice += static_cast<float>(static_cast<double>(a) * static_cast<double>(b) + static_cast<double>(c)) != made;
    const float tiny = MultiplyAdd(a, 3e-40f, -1e-40f), right = std::fma(a, 3e-40f, -1e-40f);
    check::That(tiny == right, "%a * 3e-40 - 1e-40: %a", static_cast<double>(a), static_cast<double>(tiny));
  }
  check::That(twice > 100, "two roundings are right in all but %u", twice);
}

/// Runs tasks on threads of their own, and counts them.
ForEach OnThreads(std::atomic<std::uint64_t>* count) {
  return [count](std::uint64_t tasks, const std::function<void(std::uint64_t)>& task) {
    std::vector<std::thread> threads;
    *count += tasks;
    for (std::uint64_t i = 0; i < tasks; ++i) threads.emplace_back([&task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  };
}

/// Whether two generators hold the same: the low bits of a first word are no part of it.
bool AreEqual(const Mt19937& a, const Mt19937& b) {
  return std::memcmp(a.state, b.state, sizeof(a.state)) == 0 && std::memcmp(a.words, b.words, sizeof(a.words)) == 0;
}

/// Jumps go where plain steps go, from a state that was seeded and from one that was not.
void TestJumps() {
  check::That(BlocksToJump(0) == 0 && BlocksToJump(256) == 0 && BlocksToJump(257) == 257, "the smallest jump");
  for (std::uint64_t blocks = 512; blocks != 0; blocks = blocks << 1 | (blocks >> 7 & 1)) {
    const std::uint64_t jumped = BlocksToJump(blocks);
    const bool is_far = blocks > std::uint64_t{1} << 23;
    check::That(jumped <= blocks && (is_far || jumped + jumped / 31 + 257 >= blocks), "a jump of up to %llu blocks",
                static_cast<unsigned long long>(blocks));
  }
  for (const std::uint32_t seed : {0u, 20261125u}) {
    const Mt19937 first = StreamOf(Seeded(seed)).mt;
    Mt19937 stepped = first;
    for (std::uint64_t steps = 1; steps <= 40000; ++steps) {
      MtRenew(&stepped);
      const std::uint64_t blocks = BlocksToJump(steps);
      if (blocks != steps || (steps > 2000 && (steps - 1) % 4096 != 0)) continue;
      Mt19937 jumped = first;
      JumpBlocks(&jumped, blocks);
      check::That(AreEqual(jumped, stepped), "seed %u, a jump of %llu blocks", seed, static_cast<unsigned long long>(blocks));
    }
  }
  // Farther than anybody steps: twice as far is as far from there. Of the two plain steps at the ends one goes elsewhere.
  for (unsigned power = 9; power <= 22; ++power) {
    const std::uint64_t half = std::uint64_t{1} << (power - 1);
    Mt19937 once = StreamOf(Seeded(7)).mt, twice = once;
    JumpBlocks(&once, 2 * half + 1);
    MtRenew(&once);
    JumpBlocks(&twice, half + 1);
    JumpBlocks(&twice, half + 1);
    check::That(AreEqual(once, twice), "a jump of 2^%u blocks", power);
  }
}

/// Long draws of one state by several threads: the values and the next state of one, in whatever order the pieces come.
void TestLongDrawsOnThreads() {
  const Kernels& kernels = *ActiveKernels().kernels;
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 23;  // words
  const ForEach backwards = [](std::uint64_t tasks, const std::function<void(std::uint64_t)>& task) {
    while (tasks-- > 0) task(tasks);
  };
  const ForEach in_order = [](std::uint64_t tasks, const std::function<void(std::uint64_t)>& task) {
    for (std::uint64_t i = 0; i < tasks; ++i) task(i);
  };
  std::vector<float> p(kLeast + 1000);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<float>(i % 101) / 100;
  std::vector<unsigned char> one(8 * (kLeast + 1000)), many(one.size());
  const std::uint64_t one32 = 0x3F800000u, one64 = 0x3FF0000000000000u;
  const float half = 0.5f;
  const struct {
    const char* what;
    onnx_philox::Draw draw;
    unsigned words;
  } cases[] = {
      {"words", UniformDraw({}, OutputType::kBits, {}, nullptr), 1},
      {"uniforms of f32", UniformDraw({}, OutputType::kF32, {0, one32}, nullptr), 1},
      {"uniforms of f64", UniformDraw({}, OutputType::kF64, {0, one64}, nullptr), 2},
      {"few i64", UniformDraw({}, OutputType::kI64, {0, 1000}, nullptr), 1},
      {"many i64", UniformDraw({}, OutputType::kI64, {0, std::uint64_t{1} << 28}, nullptr), 2},
      {"i32", UniformDraw({}, OutputType::kI32, {0x80000000u, 0x7FFFFFFFu}, nullptr), 2},
      {"normals of f32", NormalDraw({}, OutputType::kF32, {0, one32}, nullptr), 1},
      {"normals of f16", NormalDraw({}, OutputType::kF16, {0, 0x3C00}, nullptr), 1},
      {"normals of f64", NormalDraw({}, OutputType::kF64, {0, one64}, nullptr), 2},
      {"exponentials", ExponentialDraw({}, OutputType::kF32, one32, nullptr), 2},
      {"a Bernoulli of one p", BernoulliDraw({}, {{OutputType::kF32, &half}, false}, nullptr), 1},
      {"a Bernoulli of each p", BernoulliDraw({}, {{OutputType::kF32, p.data()}, true}, nullptr), 1},
  };
  unsigned draws = 0, more = 0;
  for (const auto& c : cases) {
    for (unsigned round = 0; round < 3; ++round, ++draws) {
      if (!share::Has(draws)) continue;
      const unsigned used = std::vector<unsigned>{kMtWords, 1, 311, kMtWords - 16, kMtWords - 1}[draws % 5];
      more = (more + 7) % 34;
      std::vector<std::uint32_t> state = Seeded(used);
      if (used < kMtWords) {
        TorchStream stream = StreamOf(state);
        MtRenew(&stream.mt);
        stream.used = used;
        stream.has_normal = round > 0;
        stream.normal = 0.25;
        WriteTorchState(stream, state.data());
      }
      Attributes attributes;
      attributes.is_pytorch = true;
      Arguments arguments;
      arguments.words_of_state = kTorchGeneratorWords;
      arguments.state_words = state.data();
      const std::uint64_t elements = kLeast / c.words + more;
      arguments.dimensions.elements = static_cast<std::int64_t>(elements);
      std::vector<std::uint32_t> next(state.size()), next_of_many(state.size());
      onnx_philox::Draw draw = c.draw;
      draw.out = one.data();
      DrawTorch(kernels, attributes, arguments, draw, next.data());
      draw.out = many.data();
      std::atomic<std::uint64_t> tasks{0};
      const ForEach on_threads = OnThreads(&tasks);
      for (const ForEach* const for_each : {&on_threads, &backwards, &in_order}) {
        std::fill(many.begin(), many.end(), static_cast<unsigned char>(0xAA));
        DrawTorch(kernels, attributes, arguments, draw, next_of_many.data(), *for_each);
        const std::size_t bytes = static_cast<std::size_t>(elements * ElementSize(draw.type));
        check::That(std::memcmp(one.data(), many.data(), bytes) == 0 && next == next_of_many,
                    "%s: %llu of them on threads, %u words used", c.what, static_cast<unsigned long long>(elements), used);
      }
      check::That(tasks > 1, "%s are shared", c.what);
    }
  }
}

/// Rows of states drawn by several threads are those that one draws, and so are the next states, wherever they go.
void TestRowsOnThreads() {
  const Kernels& kernels = *ActiveKernels().kernels;
  const std::uint64_t scale = 0x3FF0000000000000u;
  for (const std::uint64_t rows : {1u, 2u, 3u, 16u, 100u, 3000u}) {
    for (const std::uint64_t of_each : {0u, 1u, 7u, 1001u, 20000u}) {
      if (rows * of_each > 400000) continue;
      std::vector<std::uint32_t> states(rows * kTorchGeneratorWords);
      for (std::uint64_t row = 0; row < rows; ++row) SeedTorchState(row, states.data() + row * kTorchGeneratorWords);
      Attributes attributes;
      attributes.is_pytorch = true;
      Arguments arguments;
      arguments.states = static_cast<std::int64_t>(rows);
      arguments.words_of_state = kTorchGeneratorWords;
      arguments.state_words = states.data();
      arguments.dimensions.elements = static_cast<std::int64_t>(rows * of_each);
      std::vector<double> one(rows * of_each), many(rows * of_each);
      std::vector<std::uint32_t> next(states.size()), next_of_many(states.size());
      Draw draw = NormalDraw({}, OutputType::kF64, {0, scale}, one.data());
      DrawTorch(kernels, attributes, arguments, draw, next.data());
      std::atomic<std::uint64_t> tasks{0};
      draw.out = many.data();
      DrawTorch(kernels, attributes, arguments, draw, next_of_many.data(), OnThreads(&tasks));
      check::That(one == many && next == next_of_many, "%d rows of %d on threads", static_cast<int>(rows),
                  static_cast<int>(of_each));
      check::That((tasks > 1) == (rows > 1 && rows * of_each >= 16384), "%d rows of %d are shared where it is worth it",
                  static_cast<int>(rows), static_cast<int>(of_each));
      // Nobody wants the values, and the next states replace the states.
      draw.out = nullptr;
      DrawTorch(kernels, attributes, arguments, draw, states.data(), OnThreads(&tasks));
      check::That(states == next, "%d rows of %d in place", static_cast<int>(rows), static_cast<int>(of_each));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::printf("usage: test_torch torch_vectors.txt\n");
    return 2;
  }
  CheckMultiplyAdd();
  TestRowsOnThreads();
  TestJumps();
  TestLongDrawsOnThreads();
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
    std::ifstream file(argv[1]);
    unsigned lines = 0;
    for (std::string text; std::getline(file, text);) {
      if (text.empty() || text[0] == '#') continue;
      CheckVector(*kernels, text);
      ++lines;
    }
    check::That(lines > 80, "%s has only %u lines", argv[1], lines);
    CheckWords(*kernels);
    CheckPlaces(*kernels);
    CheckRaces(*kernels);
    CheckAgainstPlain(*kernels);
  }
  return check::Finish(40000);
}
