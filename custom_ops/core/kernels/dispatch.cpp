// The choice of kernels, and the entry point that calls them.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "float_environment.h"
#include "kernel_sets.h"
#include "kernels.h"
#include "permutation_groups.h"

#if ONNX_PHILOX_HAVE_AVX512 || ONNX_PHILOX_HAVE_AVX2
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace onnx_philox {

namespace {

#if ONNX_PHILOX_HAVE_AVX512 || ONNX_PHILOX_HAVE_AVX2

struct Registers {
  std::uint32_t eax, ebx, ecx, edx;
};

Registers Cpuid(std::uint32_t leaf) {
#if defined(_MSC_VER)
  int r[4];
  __cpuidex(r, static_cast<int>(leaf), 0);
  return Registers{static_cast<std::uint32_t>(r[0]), static_cast<std::uint32_t>(r[1]),
                   static_cast<std::uint32_t>(r[2]), static_cast<std::uint32_t>(r[3])};
#else
  Registers r{};
  __cpuid_count(leaf, 0, r.eax, r.ebx, r.ecx, r.edx);
  return r;
#endif
}

/// Which registers the operating system saves; a feature bit alone means nothing.
std::uint64_t SavedRegisters() {
#if defined(_MSC_VER)
  return _xgetbv(0);
#else
  std::uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
#endif
}

bool HasFeatures(std::uint32_t leaf7_ebx, std::uint64_t saved) {
  constexpr std::uint32_t kOsXsave = 1u << 27, kFma = 1u << 12, kAvx = 1u << 28, kF16c = 1u << 29;
  if (Cpuid(0).eax < 7) return false;
  if ((~Cpuid(1).ecx & (kOsXsave | kFma | kAvx | kF16c)) != 0) return false;
  return (~Cpuid(7).ebx & leaf7_ebx) == 0 && (~SavedRegisters() & saved) == 0;
}

#endif

#if defined(ONNX_PHILOX_EMULATE_AVX512)
bool HasAvx512() { return true; }
#elif ONNX_PHILOX_HAVE_AVX512
bool HasAvx512() {
  constexpr std::uint32_t kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;
  return HasFeatures(kF | kDq | kBw | kVl, 0xE6);  // XMM, YMM, mask registers, both parts of the ZMM
}
#endif
#if ONNX_PHILOX_HAVE_AVX2
bool HasAvx2() {
  return HasFeatures(1u << 5, 0x06);  // XMM, YMM
}
#endif

bool Always() { return true; }

/// Every instruction set, best first. Selection, errors and tests all read this one list.
constexpr Kernels kKernels[] = {
#if ONNX_PHILOX_HAVE_AVX512
    {"avx512", "AVX-512 F, BW, DQ and VL", HasAvx512, avx512::Fill, FillTorchAvx512, avx512::Keep, avx512::WriteWeights},
#endif
#if ONNX_PHILOX_HAVE_AVX2
    {"avx2", "AVX2, FMA and F16C", HasAvx2, avx2::Fill, FillTorchAvx2, avx2::Keep, avx2::WriteWeights},
#endif
#if ONNX_PHILOX_HAVE_NEON
    {"neon", "NEON, any 64-bit ARM processor", Always, neon::Fill, FillTorchPlain, neon::Keep, neon::WriteWeights},
#endif
    {"scalar", "plain C++, any processor", Always, scalar::Fill, FillTorchPlain, scalar::Keep, scalar::WriteWeights},
};

/// The least work to give to another thread, and the unit that pieces are a multiple of, in generator words. The unit
/// is at most 64 bytes times 16 in every type, so that pieces keep the alignment of the whole.
constexpr std::uint64_t kLeastWords = std::uint64_t{1} << 14;
constexpr std::uint64_t kStepElements = 1024;

/// The rough cost of an element of a draw that rejects, in generator words: it uses few of those that it owns.
constexpr unsigned kWordsPerRejecting = 16;

/// The rough cost of a class of a row, and of a sample, in generator words; of a class that is drawn once at most.
constexpr double kWordsPerClass = 4, kWordsPerSample = 16, kWordsPerClassOnce = 24;

/// The rough cost of an element of a permutation, in generator words; rows that need no spare memory; how many records it is for at most.
constexpr double kWordsPerSorted = 24;
constexpr std::uint64_t kShortRow = 1024, kMostSpare = std::uint64_t{1} << 20;

/// a / b, rounded up.
std::uint64_t DividedUp(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// How many pieces so many words are worth.
std::uint64_t PiecesFor(double words, std::uint64_t max_pieces) {
  const double most = words / static_cast<double>(kLeastWords);
  return static_cast<std::uint64_t>(std::clamp(most, 1.0, static_cast<double>(max_pieces)));
}

/// Pieces of whole rows.
Split SplitRows(const Draw& draw, std::uint64_t elements, std::uint64_t max_pieces) {
  const std::uint64_t pieces = PiecesFor(static_cast<double>(elements) * kWordsPerSorted, max_pieces);
  const std::uint64_t step = DividedUp(DividedUp(elements, draw.samples), pieces) * draw.samples;
  return Split{DividedUp(elements, step), step};
}

/// How many records of spare memory make a piece of permutations faster.
std::uint64_t SpareRecords(const Piece& piece) {
  const std::uint64_t row = piece.draw.samples;
  if (piece.draw.distribution != Distribution::kPermutation || row <= kShortRow) return 0;
  const bool are_whole = piece.begin % row == 0 && piece.end % row == 0;
  std::uint64_t of_whole = are_whole ? SpareForGroups(row) : 0;
  if (are_whole && row <= kMostInParts) {
    of_whole = std::max(of_whole, PermutationParts(row).Spare(row, ElementSize(piece.draw.type)));
  }
  if (are_whole && piece.draw.type == OutputType::kI64) return of_whole;
  return std::max(of_whole, std::min(row, kMostSpare));
}

unsigned char* SpareFor(Piece* piece) {
  const std::uint64_t records = SpareRecords(*piece);
  if (records == 0) return nullptr;
  piece->spare = new (std::nothrow) unsigned char[static_cast<std::size_t>(records) * sizeof(std::uint64_t)];
  if (piece->spare != nullptr) piece->spare_records = records;
  return piece->spare;
}

/// Every piece makes the running sums of its rows again. So pieces are whole rows, unless there are fewer rows than
/// pieces and a row has so many samples that its sums cost little in comparison.
Split SplitCategorical(const Draw& draw, std::uint64_t elements, std::uint64_t max_pieces) {
  const std::uint64_t rows = DividedUp(elements, draw.samples);
  const double sums = static_cast<double>(draw.classes) * (draw.is_once ? kWordsPerClassOnce : kWordsPerClass);
  const double samples = static_cast<double>(draw.samples) * kWordsPerSample;
  const std::uint64_t pieces = PiecesFor(static_cast<double>(rows) * (sums + samples), max_pieces);
  std::uint64_t step = DividedUp(rows, pieces) * draw.samples;
  // Without replacement a row has no more samples than classes: never here.
  if (rows < pieces && samples > 2 * sums) step = DividedUp(elements, pieces);
  return Split{DividedUp(elements, step), step};
}

std::string AvailableNames() {
  std::string names;
  for (const Kernels& kernels : kKernels) {
    if (!kernels.available()) continue;
    if (!names.empty()) names += ", ";
    names += kernels.name;
  }
  return names;
}

/// A name with what a terminal would obey in hexadecimal.
std::string Visible(const char* name) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (; *name != '\0'; ++name) {
    const auto byte = static_cast<unsigned char>(*name);
    if (byte >= 0x20 && byte != 0x7f) {
      shown += *name;
    } else {
      shown += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
  }
  return shown;
}

/// A refusal in the form of the others (sentences.h), which kernels do not know.
Selection Unusable(const char* name) {
  return Selection{nullptr, "ONNX_PHILOX_ISA must be one of " + AvailableNames() +
                                " (what this build has and this processor supports): got '" + Visible(name) +
                                "'. Set it to one of these, or unset it to use the first."};
}

/// How many of what takes words there are for so many elements.
std::uint64_t Drawn(const Draw& draw, std::uint64_t elements) {
  return draw.is_once ? elements / draw.samples * draw.classes : elements;
}

}  // namespace

const Kernels* KernelsAt(int index) {
  constexpr int kCount = static_cast<int>(sizeof(kKernels) / sizeof(kKernels[0]));
  return index >= 0 && index < kCount ? &kKernels[index] : nullptr;
}

Selection SelectKernels(const char* name) {
  const bool any = name == nullptr || *name == '\0';
  for (const Kernels& kernels : kKernels) {
    if (!any && std::strcmp(name, kernels.name) != 0) continue;
    if (kernels.available()) return Selection{&kernels, std::string()};
  }
  return Unusable(any ? "" : name);
}

const Selection& ActiveKernels() {
  static const Selection selection = SelectKernels(std::getenv("ONNX_PHILOX_ISA"));
  return selection;
}

State NextState(const Draw& draw, const State& state, std::uint64_t elements) {
  return Advance(state, draw.words, Drawn(draw, elements));
}

void NextStates(const Draw& draw, std::uint64_t count, std::uint32_t* words) {
  const std::uint64_t blocks = BlocksUsed(draw.words, Drawn(draw, draw.rows.elements));
  for (std::uint64_t row = 0; row < count; ++row) {
    const State state = StateFromWords(draw.rows.words + row * kStateWords);
    StateToWords(State{Add(state.counter, blocks), state.key}, words + row * kStateWords);
  }
}

bool Fill(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end) {
  unsigned char* const out = static_cast<unsigned char*>(draw.out);
  return FillTo(kernels, draw, begin, end, out == nullptr ? nullptr : out + begin * ElementSize(draw.type));
}

bool FillTo(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end, void* to) {
  if (begin >= end) return true;
  bool is_outside = false;
  Piece piece{draw, begin, end};
  piece.is_outside = &is_outside;
  piece.draw.out = to;
  if (draw.mask != nullptr) piece.draw.mask = draw.mask + begin;
  // Without it, the same bits take longer.
  const std::unique_ptr<unsigned char[]> spare(SpareFor(&piece));
  const FloatEnvironment environment;
  kernels.fill(piece);
  return !is_outside;
}

Split SplitDraw(const Draw& draw, std::uint64_t elements, std::uint64_t max_pieces) {
  if (elements == 0) return Split{1, elements};
  const bool has_logits = draw.distribution == Distribution::kCategorical || draw.distribution == Distribution::kToken;
  if (has_logits) return SplitCategorical(draw, elements, max_pieces);
  if (draw.distribution == Distribution::kPermutation) return SplitRows(draw, elements, max_pieces);
  const bool rejects = draw.distribution == Distribution::kGamma || draw.distribution == Distribution::kPoisson;
  const unsigned words = rejects ? kWordsPerRejecting : draw.words;
  std::uint64_t least = kLeastWords / words;
  if (draw.rows.words != nullptr) {
    // Short rows waste words of their last blocks.
    const std::uint64_t row_words = BlocksUsed(words, draw.rows.elements) * kWordsPerBlock;
    if (row_words <= kLeastWords) least = (kLeastWords / row_words) * draw.rows.elements;
  }
  const std::uint64_t pieces = std::clamp(elements / least, std::uint64_t{1}, max_pieces);
  const std::uint64_t step = DividedUp(DividedUp(elements, pieces), kStepElements) * kStepElements;
  return Split{DividedUp(elements, step), step};
}

}  // namespace onnx_philox
