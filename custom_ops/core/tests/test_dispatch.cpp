// The choice of kernels, states, bounds and splits.
//
//   test_dispatch [NAME]   with ONNX_PHILOX_ISA=NAME in the environment: either NAME runs, or the error says why not
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <string>

#include "check.h"
#include "draws.h"
#include "kernels.h"
#include "values.h"

namespace {

using namespace onnx_philox;

bool Contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void TestSelection() {
  const Selection best = SelectKernels(nullptr);
  check::That(best.kernels != nullptr && best.error.empty(), "there are no kernels: %s", best.error.c_str());
  check::That(SelectKernels("").kernels == best.kernels, "an empty name is not the same as none");

  bool better_available = false, scalar_listed = false;
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    const Selection forced = SelectKernels(kernels->name);
    if (kernels->available()) {
      check::That(forced.kernels == kernels && forced.error.empty(), "%s is not itself", kernels->name);
      check::That(better_available || best.kernels == kernels, "%s is first, but not chosen", kernels->name);
      better_available = true;
    } else {
      check::That(forced.kernels == nullptr && Contains(forced.error, "must be one of"), "%s: %s", kernels->name,
                  forced.error.c_str());
    }
    for (int other = 0; other < k; ++other) {
      check::That(KernelsAt(other)->fill != kernels->fill, "%s and %s are the same code", KernelsAt(other)->name,
                  kernels->name);
    }
    scalar_listed = scalar_listed || std::strcmp(kernels->name, "scalar") == 0;
  }
  check::That(scalar_listed, "plain C++ is missing");
  check::That(KernelsAt(-1) == nullptr && KernelsAt(1000) == nullptr, "KernelsAt past its ends");

  for (const char* name : {"avx1024", "AVX2", "avx2 ", "none"}) {
    const Selection unknown = SelectKernels(name);
    check::That(unknown.kernels == nullptr, "%s was accepted", name);
    check::That(Contains(unknown.error, "ONNX_PHILOX_ISA") && Contains(unknown.error, name) &&
                    Contains(unknown.error, "must be one of") && Contains(unknown.error, "scalar") &&
                    Contains(unknown.error, "unset it"),
                "error text: %s", unknown.error.c_str());
  }
}

/// Checks what ONNX_PHILOX_ISA=name chooses.
void TestForced(const char* name) {
  const char* const variable = std::getenv("ONNX_PHILOX_ISA");
  check::That(variable != nullptr && std::strcmp(variable, name) == 0, "run this with ONNX_PHILOX_ISA=%s", name);
  const Selection& active = ActiveKernels();
  const Kernels* named = nullptr;
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    if (std::strcmp(kernels->name, name) == 0) named = kernels;
  }
  if (named != nullptr && named->available()) {
    check::That(active.kernels == named, "%s is forced, but not what runs", name);
  } else {
    check::That(active.kernels == nullptr && Contains(active.error, name), "%s: %s", name, active.error.c_str());
    check::Skip(name, active.error.c_str());
  }
}

void TestStates() {
  const std::uint32_t words[kStateWords] = {1, 2, 3, 4, 5, 6};
  const State state = StateFromWords(words);
  check::That(state.counter.low == 0x0000000200000001 && state.counter.high == 0x0000000400000003 &&
                  state.key == 0x0000000600000005,
              "words are not read least significant first");
  std::uint32_t back[kStateWords] = {};
  StateToWords(state, back);
  check::That(std::memcmp(words, back, sizeof(words)) == 0, "state words do not come back");

  const State derived = Derive(State{{7, ~std::uint64_t{0}}, ~std::uint64_t{0} - 1}, 5, 3);
  check::That(derived.key == 3 && derived.counter.high == 2 && derived.counter.low == 7,
              "seeds wrap modulo 2^64 and 2^128 and leave the low half of the counter alone");

  const State last{{~std::uint64_t{0}, ~std::uint64_t{0}}, 9};
  const State next = Advance(last, 1, 1);
  check::That(next.counter.low == 0 && next.counter.high == 0 && next.key == 9, "the counter wraps, the key stays");
  const State same = Advance(last, 1, 0);
  check::That(same.counter.low == last.counter.low && same.counter.high == last.counter.high, "no elements, no change");
}

void TestBlocks() {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::uint64_t cases[][3] = {{1, 0, 0}, {1, 1, 1}, {1, 4, 1}, {1, 5, 2}, {2, 1, 1}, {2, 2, 1}, {2, 3, 2}, {2, 5, 3},
                                    {2, kMost, std::uint64_t{1} << 63}, {4, 5, 5}, {128, 0, 0}, {128, 5, 160}};
  for (const auto& [words, elements, blocks] : cases) {
    check::That(BlocksUsed(static_cast<unsigned>(words), elements) == blocks, "%" PRIu64 " elements of %" PRIu64 " words", elements, words);
  }
}

void TestBounds() {
  const struct {
    OutputType type;
    Bounds bounds;
    RangeProblem problem;
  } cases[] = {
      {OutputType::kBits, {5, 1}, RangeProblem::kNone},
      {OutputType::kF32, {0, 0x3F800000}, RangeProblem::kNone},
      {OutputType::kF32, {0x3F800000, 0x3F800000}, RangeProblem::kNone},
      {OutputType::kF32, {0x00000001, 0x00000002}, RangeProblem::kNone},
      {OutputType::kF32, {0, 0x80000000}, RangeProblem::kNone},  // 0 and -0
      {OutputType::kF32, {0x40000000, 0x3F800000}, RangeProblem::kInverted},
      {OutputType::kF32, {0x00000002, 0x00000001}, RangeProblem::kInverted},
      {OutputType::kF32, {0xFF7FFFFF, 0x7F7FFFFF}, RangeProblem::kTooWide},
      {OutputType::kF16, {0xFBFF, 0}, RangeProblem::kNone},
      {OutputType::kF16, {0xF800, 0x77FF}, RangeProblem::kTooWide},  // 65520, a tie, rounds to infinity
      {OutputType::kF16, {0xF7FF, 0x77FF}, RangeProblem::kNone},
      {OutputType::kBF16, {0xFE80, 0x7E80}, RangeProblem::kNone},
      {OutputType::kBF16, {0xFF00, 0x7F00}, RangeProblem::kTooWide},
      {OutputType::kF64, {0x8000000000000000, 0x3FF0000000000000}, RangeProblem::kNone},
      {OutputType::kF64, {0xFFE0000000000000, 0x7FE0000000000000}, RangeProblem::kTooWide},
      {OutputType::kI32, {0x80000000, 0x7FFFFFFF}, RangeProblem::kNone},
      {OutputType::kI32, {0xFFFFFFFF, 0}, RangeProblem::kNone},
      {OutputType::kI32, {3, 3}, RangeProblem::kInverted},
      {OutputType::kI32, {0, 0xFFFFFFFF}, RangeProblem::kInverted},
      {OutputType::kI64, {0x8000000000000000, 0x7FFFFFFFFFFFFFFF}, RangeProblem::kNone},
      {OutputType::kI64, {1, 0xFFFFFFFFFFFFFFFF}, RangeProblem::kInverted},
  };
  for (const auto& c : cases) {
    const RangeProblem problem = RangeProblemOf(c.type, c.bounds);
    check::That(problem == c.problem, "type %d, %" PRIx64 " to %" PRIx64 ": problem %d, not %d", static_cast<int>(c.type),
                c.bounds.minval, c.bounds.maxval, static_cast<int>(problem), static_cast<int>(c.problem));
  }
}

void TestSplits() {
  for (int t = 0; t < kOutputTypes; ++t) {
    const OutputType type = static_cast<OutputType>(t);
    const Draw draw = UniformDraw(State{}, type, Bounds{}, nullptr);
    for (const std::uint64_t elements : {0ull, 1ull, 16383ull, 16384ull, 40000ull, 1000003ull, 1ull << 40}) {
      for (const std::uint64_t most : {1ull, 2ull, 7ull, 64ull}) {
        const Split split = SplitDraw(draw, elements, most);
        check::That(split.pieces >= 1 && split.pieces <= most, "%" PRIu64 " pieces of at most %" PRIu64, split.pieces,
                    most);
        check::That(split.pieces == 1 || split.step * ElementSize(type) % 64 == 0, "pieces lose their alignment");
        check::That(split.pieces * split.step >= elements &&
                        (split.pieces == 1 || (split.pieces - 1) * split.step < elements),
                    "%" PRIu64 " pieces of %" PRIu64 " are not %" PRIu64, split.pieces, split.step, elements);
      }
    }
    check::That(SplitDraw(draw, 1000, 64).pieces == 1, "a small draw is cut");
    check::That(SplitDraw(draw, 1 << 20, 2).pieces == 2, "a large draw is not cut");
  }
  const Draw rows = PermutationDraw(State{}, OutputType::kI64, 1 << 16, nullptr);
  check::That(SplitDraw(rows, 5 << 16, 4).pieces == 3, "five rows are not two for each of four at most");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    TestForced(argv[1]);
    return check::Finish(2);
  }
  TestSelection();
  TestStates();
  TestBlocks();
  TestBounds();
  TestSplits();
  return check::Finish(300);
}
