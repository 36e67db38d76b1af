// Every instruction set against the model: types, bounds, lengths, offsets, alignments, carries; nothing written outside
// the range; any cut of a draw gives the whole; the caller's floating-point settings change nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "float_environment.h"
#include "kernels.h"
#include "model.h"

namespace {

using namespace onnx_philox;

struct Case {
  const char* name;
  OutputType type;
  Bounds bounds;
};

// At least one for every rule of rules.h.
const Case kCases[] = {
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
  return std::all_of(begin, end, [](unsigned char byte) { return byte == kPoison; });
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
  const OutputType type = expected.what->type;
  const unsigned size = ElementSize(type);
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * size;
  std::memset(low_margin, kPoison, static_cast<std::size_t>(high_margin - low_margin));
  const Piece piece{UniformDraw(*expected.state, type, expected.what->bounds, place), begin, end};
  if (begin < end) kernels.fill(piece);
  const bool equal = bytes == 0 || std::memcmp(place, expected.bytes.data() + begin * size, bytes) == 0;
  check::That(equal, "%s: %s, elements %" PRIu64 " to %" PRIu64 " at address %% 64 = %u: wrong elements",
              kernels.name, expected.what->name, begin, end,
              static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(place) % 64));
  check::That(AllPoison(low_margin, place) && AllPoison(place + bytes, high_margin),
              "%s: %s, elements %" PRIu64 " to %" PRIu64 ": wrote outside the range", kernels.name,
              expected.what->name, begin, end);
}

void TestRangesOffsetsAlignments(const Kernels& kernels, const std::vector<Expected>& draws) {
  constexpr std::size_t kMargin = 160;
  std::vector<unsigned char> memory(kMost * 8 + 2 * kMargin + 64);
  Choices choices;
  const auto at = [&](const Expected& expected, std::uint64_t begin, std::uint64_t end, std::size_t offset) {
    unsigned char* const place = memory.data() + kMargin + offset;
    unsigned char* const high = place + (end - begin) * ElementSize(expected.what->type) + kMargin;
    CheckRange(kernels, expected, begin, end, place, place - kMargin, high);
  };
  for (const Expected& expected : draws) {
    for (std::uint64_t length = 0; length <= 140; ++length) {
      at(expected, choices.Below(9), 9 + length, choices.Below(64));
    }
    for (int i = 0; i < 60; ++i) {
      const std::uint64_t begin = choices.Below(kMost / 2), end = begin + choices.Below(kMost / 2);
      at(expected, begin, end, choices.Below(64));
    }
    for (const std::size_t offset : {0u, 8u, 16u, 32u, 48u}) at(expected, 0, kMost, offset);
  }
}

void TestGuardPages(const Kernels& kernels, const std::vector<Expected>& draws) {
  const GuardedMemory memory(14);
  if (!check::That(memory.Mapped(), "mmap gave no memory")) return;
  Choices choices;
  for (const Expected& expected : draws) {
    const unsigned size = ElementSize(expected.what->type);
    for (const std::uint64_t length : {1u, 2u, 3u, 5u, 8u, 17u, 31u, 33u, 64u, 100u, 1021u, 2049u, 5555u}) {
      const std::uint64_t begin = choices.Below(8);
      CheckRange(kernels, expected, begin, begin + length, memory.begin(), memory.begin(), memory.end());
      CheckRange(kernels, expected, begin, begin + length, memory.end() - length * size, memory.begin(),
                 memory.end());
    }
  }
}

void TestPiecesMakeTheWhole(const Kernels& kernels, const std::vector<Expected>& draws) {
  Choices choices;
  std::vector<unsigned char> memory(kMost * 8);
  for (const Expected& expected : draws) {
    const Draw draw = UniformDraw(*expected.state, expected.what->type, expected.what->bounds, memory.data());
    std::memset(memory.data(), kPoison, memory.size());
    // Backwards, so that a piece which writes beyond its end is seen.
    for (std::uint64_t end = kMost; end > 0;) {
      const std::uint64_t begin = end - std::min(end, 1 + choices.Below(choices.Below(4) == 0 ? 2000 : 50));
      Fill(kernels, draw, begin, end);
      end = begin;
    }
    check::That(std::memcmp(memory.data(), expected.bytes.data(), expected.bytes.size()) == 0, "%s: %s in pieces",
                kernels.name, expected.what->name);
  }
}

void TestThreadsMakeTheWhole(const Kernels& kernels) {
  constexpr std::uint64_t kElements = 8 * 16384 + 77;
  constexpr unsigned kThreads = 8;
  for (const Case& c : kCases) {
    const unsigned size = ElementSize(c.type);
    std::vector<unsigned char> whole(kElements * size), pieces(kElements * size, kPoison);
    const State state = kStates[3];
    Fill(kernels, UniformDraw(state, c.type, c.bounds, whole.data()), 0, kElements);
    const Draw draw = UniformDraw(state, c.type, c.bounds, pieces.data());
    const Split split = SplitDraw(draw, kElements, kThreads);
    check::That(split.pieces == kThreads, "%s: %" PRIu64 " pieces", c.name, split.pieces);
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < split.pieces; ++i) {
      threads.emplace_back([&, i] {
        Fill(kernels, draw, i * split.step, std::min((i + 1) * split.step, kElements));
      });
    }
    for (std::thread& thread : threads) thread.join();
    check::That(whole == pieces, "%s: %s from %u threads", kernels.name, c.name, kThreads);
  }
}

void TestFarIntoADraw(const Kernels& kernels) {
  // Element numbers beyond 2^32 blocks, where begin / 4 itself carries.
  for (const Case& c : kCases) {
    for (const std::uint64_t begin : {(std::uint64_t{1} << 34) - 37, (std::uint64_t{1} << 40) + 3}) {
      std::vector<unsigned char> got(300 * ElementSize(c.type), kPoison);
      kernels.fill(Piece{UniformDraw(kStates[1], c.type, c.bounds, got.data()), begin, begin + 300});
      check::That(got == model::Elements(kStates[1], c.type, c.bounds, begin, 300), "%s: %s from element %" PRIu64,
                  kernels.name, c.name, begin);
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
      Fill(kernels, UniformDraw(state, type, bounds, got.data()), 0, kElements);
      check::That(got == model::Elements(state, type, bounds, 0, kElements), "%s: i%d width %" PRIu64, kernels.name,
                  narrow ? 32 : 64, width);
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
  const std::uint64_t usual = ReadControl();
  for (const Expected& expected : draws) {
    std::vector<unsigned char> got(expected.bytes.size());
    const Draw draw = UniformDraw(*expected.state, expected.what->type, expected.what->bounds, got.data());
    for (const std::uint64_t hostile : kHostile) {
      std::memset(got.data(), kPoison, got.size());
      WriteControl(hostile);
      const std::uint64_t before = ReadControl();
      const std::string problem = CheckBounds(draw.type, draw.bounds);
      Fill(kernels, draw, 0, kMost);
      const std::uint64_t after = ReadControl();
      WriteControl(usual);
      check::That(got == expected.bytes, "%s: %s with control register %" PRIx64, kernels.name, expected.what->name,
                  hostile);
      check::That(before == after, "control register was %" PRIx64 ", is %" PRIx64, before, after);
      check::That(problem.empty(), "%s", problem.c_str());
    }
  }
}
#endif

}  // namespace

int main() {
  std::vector<Expected> draws;
  for (const Case& c : kCases) {
    for (const State& state : kStates) {
      draws.push_back(Expected{&c, &state, model::Elements(state, c.type, c.bounds, 0, kMost)});
    }
  }
  int ran = 0;
  for (int k = 0; const Kernels* kernels = KernelsAt(k); ++k) {
    if (!kernels->available()) {
      check::Skip(kernels->name, "this processor lacks it");
      continue;
    }
    const unsigned long long before = check::checks;
    TestRangesOffsetsAlignments(*kernels, draws);
    TestGuardPages(*kernels, draws);
    TestPiecesMakeTheWhole(*kernels, draws);
    TestThreadsMakeTheWhole(*kernels);
    TestFarIntoADraw(*kernels);
    TestIntegerWidths(*kernels);
#if ONNX_PHILOX_FLOAT_CONTROL != 0
    TestCallersFloatSettingsChangeNothing(*kernels, draws);
#else
    check::Skip("caller's float settings", "no known control register here");
#endif
    std::printf("%s: %llu checks\n", kernels->name, check::checks - before);
    ++ran;
  }
  check::That(ran > 0, "no kernels ran");
  return check::Finish(60000);
}
