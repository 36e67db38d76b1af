// Draws of torch's numbers, a row of states after the other: see torch_part.h.
#include "torch_part.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "first_wrong.h"
#include "float_environment.h"
#include "torch_jump.h"
#include "torch_stream.h"
#include "values.h"

namespace onnx_philox {

namespace {

static_assert(kTorchGeneratorWords == kTorchStateWords, "as the declaration says");

/// How many elements of a dropout are drawn at once.
constexpr std::uint64_t kDropoutAtOnce = 2048;

/// The elements from `begin` on that one state draws.
struct Part {
  const Kernels& kernels;
  const Draw& draw;
  TorchStream* stream;
  std::uint64_t begin, elements;
  unsigned char* out;        ///< of element `begin`
  const ForEach* for_each;   ///< may draw pieces of it; null: nobody else does

  TorchFill Fill() const {
    TorchFill fill{};
    fill.distribution = draw.distribution;
    fill.type = draw.type;
    fill.elements = elements;
    fill.out = out;
    return fill;
  }
};

/// As many words are worth a jump; pieces are multiples of so many values.
constexpr std::uint64_t kWordsForAJump = std::uint64_t{1} << 22, kPieceUnit = 16;
constexpr std::uint64_t kMostJumps = 16;

/// Where a piece of a fill begins: its first element, and how many blocks and then words of the generator lie before it.
struct PieceStart {
  std::uint64_t element, blocks;
  unsigned used;
};

/// The piece that begins near `element`, at the next one to a block that is jumped to.
PieceStart StartNear(std::uint64_t element, unsigned words, unsigned used) {
  const std::uint64_t blocks = BlocksToJump((used + element * words) / kMtWords);
  const std::uint64_t unit = kPieceUnit * words;
  const std::uint64_t first = (blocks * kMtWords - used + unit - 1) / unit * kPieceUnit;
  return PieceStart{first, blocks, static_cast<unsigned>(used + first * words - blocks * kMtWords)};
}

/// One call of torch's, whose values nobody wants: how many words one takes may depend on those before it.
void FillUnwanted(const Part& part, TorchFill fill) {
  constexpr std::uint64_t kAtOnce = 2048;
  unsigned char unwanted[2 * kAtOnce * sizeof(double)];
  fill.out = unwanted;
  std::uint64_t left = fill.elements;
  while (left > 0) {
    // The last sixteen normals are drawn together.
    fill.elements = left < 2 * kAtOnce ? left : kAtOnce;
    FillTorch(part.kernels, part.stream, fill);
    if (fill.p != nullptr) fill.p = static_cast<const unsigned char*>(fill.p) + fill.elements * ElementSize(fill.p_type);
    left -= fill.elements;
  }
}

/// One call of torch's, shared by threads where it takes many words and it is known where each value's are.
void FillShared(const Part& part, const TorchFill& fill) {
  if (fill.out == nullptr) return FillUnwanted(part, fill);
  const unsigned words = WordsOfEach(fill);
  std::uint64_t pieces = part.for_each == nullptr || words == 0 ? 0 : fill.elements / (kWordsForAJump / words);
  pieces = std::min({pieces, kMostJumps, std::uint64_t{std::max(2u, std::thread::hardware_concurrency())}});
  if (pieces < 2) return FillTorch(part.kernels, part.stream, fill);
  std::vector<PieceStart> starts{PieceStart{}};
  for (std::uint64_t i = 1; i < pieces; ++i) {
    starts.push_back(StartNear(fill.elements / pieces * i, words, part.stream->used));
  }
  starts.push_back({fill.elements, {}, {}});  // the end
  std::vector<TorchStream> streams(static_cast<std::size_t>(pieces));
  std::vector<std::atomic<bool>> are_drawn(static_cast<std::size_t>(pieces));
  std::atomic<bool> is_out_of_memory{false};
  (*part.for_each)(pieces, [&](std::uint64_t piece) {
    try {
      const std::size_t i = static_cast<std::size_t>(piece);
      TorchStream* const stream = &streams[i];
      // One thread after all: the piece before has come here.
      const bool is_here = i > 0 && are_drawn[i - 1].load(std::memory_order_acquire);
      *stream = is_here ? streams[i - 1] : *part.stream;
      if (i > 0 && !is_here) {
        JumpBlocks(&stream->mt, starts[i].blocks);
        stream->used = starts[i].used;
      }
      TorchFill own = fill;
      own.elements = starts[i + 1].element - starts[i].element;
      own.out = static_cast<unsigned char*>(fill.out) + starts[i].element * ElementSize(fill.type);
      if (fill.p != nullptr) own.p = static_cast<const unsigned char*>(fill.p) + starts[i].element * ElementSize(fill.p_type);
      FillTorch(part.kernels, stream, own);
      are_drawn[i].store(true, std::memory_order_release);
    } catch (const std::bad_alloc&) {  // no exception may leave a runtime's thread
      is_out_of_memory = true;
    }
  });
  if (is_out_of_memory) throw std::bad_alloc();
  *part.stream = streams.back();
}

double NumberOf(const Argument& argument) { return FloatValue(argument.type, argument.bits); }

/// Integers as i64.
std::uint64_t Extended(OutputType type, std::uint64_t bits) {
  if (type != OutputType::kI32) return bits;
  return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))});
}

void DrawUniform(const Part& part) {
  const Argument &minval = part.draw[Parameter::kMinval], &maxval = part.draw[Parameter::kMaxval];
  TorchFill fill = part.Fill();
  if (IsFloat(fill.type)) {
    fill.first = NumberOf(minval);
    fill.second = NumberOf(maxval);
  }
  fill.bounds = Bounds{Extended(fill.type, minval.bits), Extended(fill.type, maxval.bits)};
  FillShared(part, fill);
}

void DrawNormal(const Part& part) {
  TorchFill fill = part.Fill();
  fill.first = NumberOf(part.draw[Parameter::kMean]);
  fill.second = NumberOf(part.draw[Parameter::kScale]);
  FillShared(part, fill);
}

void DrawExponential(const Part& part) {
  TorchFill fill = part.Fill();
  // torch takes a rate.
  fill.first = 1.0 / (1.0 / NumberOf(part.draw[Parameter::kScale]));
  FillShared(part, fill);
}

void DrawBernoulli(const Part& part) {
  const Argument& p = part.draw[Parameter::kP];
  TorchFill fill = part.Fill();
  fill.p_type = p.type;
  if (p.each()) {
    fill.p = static_cast<const unsigned char*>(p.data) + part.begin * ElementSize(p.type);
  } else {
    fill.first = NumberOf(p);
  }
  FillShared(part, fill);
}

void DrawDropout(const Part& part) {
  const Draw& draw = part.draw;
  const double ratio = NumberOf(draw[Parameter::kRatio]);
  const bool draws = ratio > 0.0 && ratio < 1.0;
  const std::uint64_t size = ElementSize(draw.type);
  unsigned char kept[kDropoutAtOnce];
  TorchFill fill = part.Fill();
  fill.distribution = Distribution::kBernoulli;
  fill.type = OutputType::kBool;
  fill.p_type = OutputType::kF64;
  fill.first = 1.0 - ratio;
  fill.out = kept;
  for (std::uint64_t done = 0; done < part.elements; done += fill.elements) {
    fill.elements = std::min(kDropoutAtOnce, part.elements - done);
    const std::size_t count = static_cast<std::size_t>(fill.elements);
    const std::uint64_t at = part.begin + done;
    if (draws) {
      FillTorch(part.kernels, part.stream, fill);
    } else {
      std::memset(kept, ratio > 0.0 ? 0 : 1, count);
    }
    if (draw.mask != nullptr) std::memcpy(draw.mask + at, kept, count);
    if (part.out == nullptr) continue;
    for (std::size_t i = 0; i < count; ++i) kept[i] = static_cast<unsigned char>(kept[i] ^ 1u);
    const unsigned char* const data = static_cast<const unsigned char*>(draw[Parameter::kData].data);
    part.kernels.keep(draw, kept, data + at * size, count, part.out + done * size);
  }
}

void DrawCategorical(const Part& part) {
  const Draw& draw = part.draw;
  std::vector<float> weights(static_cast<std::size_t>(draw.classes));
  std::vector<unsigned char> unwanted(part.out == nullptr ? static_cast<std::size_t>(draw.samples * ElementSize(draw.type)) : 0);
  TorchFill fill = part.Fill();
  fill.elements = fill.samples = draw.samples;
  fill.classes = draw.classes;
  fill.p = weights.data();
  for (std::uint64_t done = 0; done < part.elements; done += draw.samples) {
    part.kernels.weights(draw, (part.begin + done) / draw.samples, weights.data());
    fill.out = part.out == nullptr ? unwanted.data() : part.out + done * ElementSize(draw.type);
    FillTorch(part.kernels, part.stream, fill);
  }
}

void DrawPermutations(const Part& part) {
  TorchFill fill = part.Fill();
  fill.elements = part.draw.samples;
  if (part.out == nullptr) {
    // Each place but the last takes a word.
    fill.distribution = Distribution::kUniform;
    fill.type = OutputType::kBits;
    fill.elements = (part.draw.samples - 1) * (part.elements / part.draw.samples);
    return FillUnwanted(part, fill);
  }
  for (std::uint64_t done = 0; done < part.elements; done += fill.elements) {
    fill.out = part.out + done * ElementSize(fill.type);
    FillTorch(part.kernels, part.stream, fill);
  }
}

void DrawPart(const Part& part) {
  switch (part.draw.distribution) {
    case Distribution::kUniform:
      return DrawUniform(part);
    case Distribution::kNormal:
      return DrawNormal(part);
    case Distribution::kExponential:
      return DrawExponential(part);
    case Distribution::kBernoulli:
      return DrawBernoulli(part);
    case Distribution::kDropout:
      return DrawDropout(part);
    case Distribution::kCategorical:
      return DrawCategorical(part);
    case Distribution::kPermutation:
      return DrawPermutations(part);
    default:
      NoRule();
  }
}

/// A draw by rows, and where its next states go, if anybody wants them.
struct DrawOfRows {
  const Kernels& kernels;
  const Attributes& attributes;
  const Arguments& arguments;
  const Draw& draw;
  std::uint32_t* next_states;
  std::uint64_t elements;  ///< of one row
  const ForEach* for_each;  ///< of each row; null: rows are shared
};

void DrawRows(const DrawOfRows& rows, std::uint64_t first, std::uint64_t end) {
  const FloatEnvironment environment;
  // Volatile keeps the arithmetic inside the environment.
  void (*volatile const draw_part)(const Part&) = DrawPart;
  const Draw& draw = rows.draw;
  const std::uint64_t size = ElementSize(draw.type);
  unsigned char* const out = static_cast<unsigned char*>(draw.out);
  for (std::uint64_t row = first; row < end; ++row) {
    std::uint32_t words[kTorchStateWords];
    if (rows.arguments.state_words == nullptr) {
      SeedTorchState(static_cast<std::uint64_t>(rows.attributes.global_seed), words);
    } else {
      std::memcpy(words, rows.arguments.state_words + row * kTorchStateWords, sizeof(words));
    }
    TorchStream stream;
    ReadTorchState(words, &stream);
    const std::uint64_t begin = row * rows.elements;
    unsigned char* const to = out != nullptr ? out + begin * size : nullptr;
    if (rows.elements > 0) draw_part(Part{rows.kernels, draw, &stream, begin, rows.elements, to, rows.for_each});
    if (rows.next_states == nullptr) continue;
    WriteTorchState(stream, words);
    std::memcpy(rows.next_states + row * kTorchStateWords, words, sizeof(words));
  }
}

/// As many values are worth another thread, and pieces are at most as many.
constexpr std::uint64_t kValuesForAThread = std::uint64_t{1} << 13, kMostPieces = 64;

}  // namespace

void DrawTorch(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments, const Draw& draw,
               std::uint32_t* next_states, const ForEach& for_each) {
  if (draw.out == nullptr && draw.mask == nullptr && next_states == nullptr) return;  // nobody wants anything
  const std::uint64_t states = static_cast<std::uint64_t>(arguments.states);
  const std::uint64_t all = static_cast<std::uint64_t>(arguments.dimensions.elements);
  DrawOfRows rows{kernels, attributes, arguments, draw, next_states, states > 1 ? all / states : all, nullptr};
  // Values of classes take a word for each class.
  const std::uint64_t values = SaturatingProduct(all, std::max(draw.classes, std::uint64_t{1}));
  const std::uint64_t pieces = std::min({states, values / kValuesForAThread, kMostPieces});
  if (pieces < 2 || for_each == nullptr) {
    if (for_each != nullptr) rows.for_each = &for_each;
    return DrawRows(rows, 0, states);
  }
  const std::uint64_t step = states / pieces + (states % pieces != 0 ? 1 : 0);
  std::atomic<bool> is_out_of_memory{false};
  for_each(pieces, [&](std::uint64_t piece) {
    const std::uint64_t first = std::min(piece * step, states);
    try {
      DrawRows(rows, first, std::min(first + step, states));
    } catch (const std::bad_alloc&) {  // no exception may leave a runtime's thread
      is_out_of_memory = true;
    }
  });
  if (is_out_of_memory) throw std::bad_alloc();
}

}  // namespace onnx_philox
