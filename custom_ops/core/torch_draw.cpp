// Draws of torch's numbers, a row of states after the other: see torch_draw.h.
#include "torch_draw.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include "first_wrong.h"
#include "float_environment.h"
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
  unsigned char* out;  ///< of element `begin`

  TorchFill Fill() const {
    TorchFill fill{};
    fill.distribution = draw.distribution;
    fill.type = draw.type;
    fill.elements = elements;
    fill.out = out;
    return fill;
  }
};

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
  FillTorch(part.kernels, part.stream, fill);
}

void DrawNormal(const Part& part) {
  TorchFill fill = part.Fill();
  fill.first = NumberOf(part.draw[Parameter::kMean]);
  fill.second = NumberOf(part.draw[Parameter::kScale]);
  FillTorch(part.kernels, part.stream, fill);
}

void DrawExponential(const Part& part) {
  TorchFill fill = part.Fill();
  // torch takes a rate.
  fill.first = 1.0 / (1.0 / NumberOf(part.draw[Parameter::kScale]));
  FillTorch(part.kernels, part.stream, fill);
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
  FillTorch(part.kernels, part.stream, fill);
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
  TorchFill fill = part.Fill();
  fill.elements = fill.samples = draw.samples;
  fill.classes = draw.classes;
  fill.p = weights.data();
  for (std::uint64_t done = 0; done < part.elements; done += draw.samples) {
    part.kernels.weights(draw, (part.begin + done) / draw.samples, weights.data());
    fill.out = part.out + done * ElementSize(draw.type);
    FillTorch(part.kernels, part.stream, fill);
  }
}

void DrawPermutations(const Part& part) {
  TorchFill fill = part.Fill();
  fill.elements = part.draw.samples;
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
};

void DrawRows(const DrawOfRows& rows, std::uint64_t first, std::uint64_t end) {
  const FloatEnvironment environment;
  // Volatile keeps the arithmetic inside the environment.
  void (*volatile const draw_part)(const Part&) = DrawPart;
  const Draw& draw = rows.draw;
  const std::uint64_t size = ElementSize(draw.type);
  unsigned char* const out = static_cast<unsigned char*>(draw.out);
  // What nobody wants is drawn all the same: how many words a value takes may depend on those before it.
  std::vector<unsigned char> unwanted;
  if (out == nullptr && draw.distribution != Distribution::kDropout) {
    unwanted.resize(static_cast<std::size_t>(rows.elements * size));
  }
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
    unsigned char* const to = out != nullptr ? out + begin * size : unwanted.empty() ? nullptr : unwanted.data();
    if (rows.elements > 0) draw_part(Part{rows.kernels, draw, &stream, begin, rows.elements, to});
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
  const std::uint64_t states = static_cast<std::uint64_t>(arguments.states);
  const std::uint64_t all = static_cast<std::uint64_t>(arguments.dimensions.elements);
  const DrawOfRows rows{kernels, attributes, arguments, draw, next_states, states > 1 ? all / states : all};
  // Values of classes take a word for each class.
  const std::uint64_t values = draw.classes > 1 ? SaturatingProduct(all, draw.classes) : all;
  const std::uint64_t pieces = std::min({states, values / kValuesForAThread, kMostPieces});
  if (pieces < 2 || for_each == nullptr) return DrawRows(rows, 0, states);
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
