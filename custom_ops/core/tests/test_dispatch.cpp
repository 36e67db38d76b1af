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
  bool better_available = false;
  std::string available;
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    const Selection forced = SelectKernels(kernels->name);
    if (kernels->available()) {
      check::That(forced.kernels == kernels && forced.error.empty(), "%s is not itself", kernels->name);
      check::That(better_available || best.kernels == kernels, "%s is first, but not chosen", kernels->name);
      available += (better_available ? ", " : "") + std::string(kernels->name);
      better_available = true;
    } else {
      check::That(forced.kernels == nullptr && Contains(forced.error, "must be one of"), "%s: %s", kernels->name,
                  forced.error.c_str());
    }
    for (int other = 0; other < k; ++other) {
      check::That(KernelsAt(other)->fill != kernels->fill, "%s and %s are the same code", KernelsAt(other)->name,
                  kernels->name);
    }
#if defined(__x86_64__)
    const bool has_avx512 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    const bool is_here = Contains(kernels->name, "avx512") ? has_avx512 : !Contains(kernels->name, "avx2") || __builtin_cpu_supports("avx2");
    check::That(kernels->available() || !is_here, "this processor has %s", kernels->name);
#endif
  }
  check::That(Contains(available, "scalar"), "plain C++ is missing");
  check::That(KernelsAt(-1) == nullptr && KernelsAt(1000) == nullptr, "KernelsAt past its ends");
  const char* const unknown[][2] = {
      {"avx1024", "avx1024"},
      {"AVX2", "AVX2"},
      {"avx2 ", "avx2 "},
      {"\x1f~\x7f\xc3", "\\x1f~\\x7f\xc3"},
  };
  for (const auto& [name, shown] : unknown) {
    const Selection none = SelectKernels(name);
    const std::string text = "ONNX_PHILOX_ISA must be one of " + available + " (what this build has and this processor supports): got '" +
                             shown + "'. Set it to one of these, or unset it to use the first.";
    check::That(none.kernels == nullptr && none.error == text, "error text: %s", none.error.c_str());
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
  const struct {
    unsigned words;
    std::uint64_t elements, blocks;
  } cases[] = {
      {1, 0, 0},
      {1, 1, 1},
      {1, 4, 1},
      {1, 5, 2},
      {2, 1, 1},
      {2, 2, 1},
      {2, 3, 2},
      {2, 5, 3},
      {2, kMost, std::uint64_t{1} << 63},
      {4, 5, 5},
      {128, 0, 0},
      {128, 5, 160},
  };
  for (const auto& c : cases) {
    check::That(BlocksUsed(c.words, c.elements) == c.blocks, "%" PRIu64 " elements of %u words", c.elements, c.words);
  }
}

void TestBounds() {
  constexpr RangeProblem kNone = RangeProblem::kNone;
  constexpr RangeProblem kInverted = RangeProblem::kInverted;
  constexpr RangeProblem kTooWide = RangeProblem::kTooWide;
  const struct {
    OutputType type;
    Bounds bounds;
    RangeProblem problem;
  } cases[] = {
      {OutputType::kBits, {5, 1}, kNone},
      {OutputType::kF32, {0, 0x3F800000}, kNone},
      {OutputType::kF32, {0x3F800000, 0x3F800000}, kNone},
      {OutputType::kF32, {0x00000001, 0x00000002}, kNone},
      {OutputType::kF32, {0, 0x80000000}, kNone},  // 0 and -0
      {OutputType::kF32, {0x40000000, 0x3F800000}, kInverted},
      {OutputType::kF32, {0x00000002, 0x00000001}, kInverted},
      {OutputType::kF32, {0xFF7FFFFF, 0x7F7FFFFF}, kTooWide},
      {OutputType::kF16, {0xFBFF, 0}, kNone},
      {OutputType::kF16, {0xF800, 0x77FF}, kTooWide},  // 65520, a tie, rounds to infinity
      {OutputType::kF16, {0xF7FF, 0x77FF}, kNone},
      {OutputType::kBF16, {0xFE80, 0x7E80}, kNone},
      {OutputType::kBF16, {0xFF00, 0x7F00}, kTooWide},
      {OutputType::kF64, {0x8000000000000000, 0x3FF0000000000000}, kNone},
      {OutputType::kF64, {0xFFE0000000000000, 0x7FE0000000000000}, kTooWide},
      {OutputType::kI32, {0x80000000, 0x7FFFFFFF}, kNone},
      {OutputType::kI32, {0xFFFFFFFF, 0}, kNone},
      {OutputType::kI32, {3, 3}, kInverted},
      {OutputType::kI32, {0, 0xFFFFFFFF}, kInverted},
      {OutputType::kI64, {0x8000000000000000, 0x7FFFFFFFFFFFFFFF}, kNone},
      {OutputType::kI64, {1, 0xFFFFFFFFFFFFFFFF}, kInverted},
  };
  for (const auto& c : cases) {
    const RangeProblem problem = RangeProblemOf(c.type, c.bounds);
    check::That(problem == c.problem, "type %d, %" PRIx64 " to %" PRIx64 ": problem %d, not %d", static_cast<int>(c.type),
                c.bounds.minval, c.bounds.maxval, static_cast<int>(problem), static_cast<int>(c.problem));
  }
}

void TestSplits() {
  static const std::uint32_t words[kStateWords] = {};
  const Draw f32 = UniformDraw({}, OutputType::kF32, {}, nullptr);
  const Draw f64 = UniformDraw({}, OutputType::kF64, {}, nullptr);
  const auto rows = [&](std::uint64_t elements) {
    Draw draw = f32;
    draw.rows = Rows{words, elements};
    return draw;
  };
  const auto logits = [](std::uint64_t classes, std::uint64_t samples, bool is_once = false) {
    return CategoricalDraw({}, OutputType::kI64, Logits{{OutputType::kF32, nullptr}, classes, samples, is_once}, nullptr);
  };
  const double one = 1;
  const auto rejecting = [&](Distribution of) { return RejectingDraw({}, of, OutputType::kF64, {OutputType::kF64, &one}, false, nullptr); };
  const auto order = [](std::uint64_t size) { return PermutationDraw({}, OutputType::kI64, size, nullptr); };
  const struct {
    Draw draw;
    std::uint64_t elements, most, pieces, step;
  } cases[] = {
      {f32, 0, 7, 1, 0},
      {f32, 16383, 7, 1, 0},
      {f32, 32767, 7, 1, 0},
      {f32, 32768, 7, 2, 16384},
      {f32, 32769, 7, 2, 17408},
      {f32, 1000003, 1, 1, 0},
      {f32, 1000003, 7, 7, 143360},
      {f32, (1 << 20) + 1, 64, 61, 17408},
      {f64, 16383, 64, 1, 0},
      {f64, 16384, 64, 2, 8192},
      {f64, std::uint64_t{1} << 40, 64, 64, std::uint64_t{1} << 34},
      {rows(5), 20479, 7, 1, 0},
      {rows(5), 20480, 7, 2, 10240},
      {rows(16383), 32766, 7, 2, 16384},
      {rows(20000), 40000, 7, 2, 20480},
      {rows(0), 0, 7, 1, 0},
      {rejecting(Distribution::kGamma), 2047, 7, 1, 0},
      {rejecting(Distribution::kGamma), 2048, 7, 2, 1024},
      {rejecting(Distribution::kPoisson), 2048, 7, 2, 1024},
      {order(0), 0, 7, 1, 0},
      {order(682), 1364, 7, 1, 0},
      {order(683), 1366, 7, 2, 683},
      {order(1 << 16), 5 << 16, 4, 3, 2 << 16},
      {order(1 << 20), 1 << 20, 7, 1, 0},
      {logits(4091, 1), 2, 7, 1, 0},
      {logits(4092, 1), 2, 7, 2, 1},
      {logits(1, 1023), 2046, 7, 1, 0},
      {logits(681, 1, true), 2, 7, 1, 0},
      {logits(682, 1, true), 2, 7, 2, 1},
      {logits(4096, 2048), 2048, 7, 1, 0},
      {logits(4096, 2049), 2049, 7, 3, 683},
      {logits(4096, 65537), 65537, 4, 4, 16385},
      {logits(1, 100000), 500000, 2, 2, 300000},
      {TokenDraw({}, OutputType::kI64, Logits{{OutputType::kF32, nullptr}, 4092, 1}, {}, nullptr), 2, 7, 2, 1},
  };
  for (const auto& c : cases) {
    const Split split = SplitDraw(c.draw, c.elements, c.most);
    check::That(split.pieces == c.pieces && (c.pieces == 1 || split.step == c.step), "%" PRIu64 " elements are %" PRIu64 " pieces of %" PRIu64,
                c.elements, split.pieces, split.step);
  }
}

/// What a kernel gets of a draw.
void TestPieces() {
  static Piece seen{};
  static int calls = 0;
  Kernels kernels = *SelectKernels("scalar").kernels;
  kernels.fill = [](const Piece& piece) {
    seen = piece;
    ++calls;
    *piece.is_outside = calls == 2;
  };
  constexpr std::uint64_t kMany = 1 << 20;
  const struct {
    OutputType type;
    std::uint64_t size, begin, end, records;
  } cases[] = {
      {OutputType::kI64, 1024, 0, 1024, 0},
      {OutputType::kI64, 1025, 0, 1025, 2118},
      {OutputType::kI64, 10000, 0, 10000, 7296},
      {OutputType::kI64, 1025, 0, 1024, 1025},
      {OutputType::kI64, 1025, 1, 1025, 1025},
      {OutputType::kI32, 1025, 1025, 2050, 2471},
      {OutputType::kI32, 1025, 1, 9, 1025},
      {OutputType::kI64, kMany, 0, kMany, 231065},
      {OutputType::kI64, kMany + 1, 0, kMany + 1, 0},
      {OutputType::kI32, kMany, 0, kMany, kMany},
      {OutputType::kI32, kMany + 1, 0, kMany + 1, kMany},
  };
  unsigned char out[36];
  unsigned char mask[9];
  for (const auto& c : cases) {
    check::That(Fill(kernels, PermutationDraw({}, c.type, c.size, out), c.begin, c.end) == (calls != 2), "what is outside is told");
    check::That(seen.spare_records == c.records && (seen.spare != nullptr) == (c.records > 0), "%" PRIu64 " records beside %" PRIu64 " from %" PRIu64,
                seen.spare_records, c.size, c.begin);
  }
  Draw draw = UniformDraw({}, OutputType::kF32, {}, out);
  draw.samples = 5000;
  Fill(kernels, draw, 3, 9);
  check::That(seen.draw.out == out + 12 && seen.draw.mask == nullptr && seen.begin == 3 && seen.end == 9 && seen.spare == nullptr, "no mask");
  draw.out = nullptr;
  draw.mask = mask;
  calls = 0;
  check::That(Fill(kernels, draw, 3, 9) && seen.draw.out == nullptr && seen.draw.mask == mask + 3, "a mask alone");
  check::That(Fill(kernels, draw, 3, 3) && calls == 1, "nothing is drawn of nothing");
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
  TestPieces();
  return check::Finish(100);
}
