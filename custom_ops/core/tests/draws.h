// Draws as tests name them: checked by nobody.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "floats.h"
#include "kernels.h"
#include "torch_part.h"
#include "torch_stream.h"

namespace onnx_philox {

/// What a standard value is multiplied by, and what is added then: bit patterns as those of Bounds.
struct Affine {
  std::uint64_t mean;
  std::uint64_t scale;
};

/// The probabilities of `true`: one for all elements, or one for each.
struct Probabilities {
  Numbers p;
  bool each;
};

/// Rows of `classes`, with `samples` draws from each.
struct Logits {
  Numbers logits;
  std::uint64_t classes;
  std::uint64_t samples;
  bool is_once = false;
};

/// The type of a name in vectors.txt or torch_vectors.txt.
inline OutputType TypeNamed(const std::string& name) {
  const char* const names[kOutputTypes] = {"bits", "f32", "f16", "bf16", "f64", "i32", "i64", "bool"};
  const auto* const found = std::find(names, names + kOutputTypes, name);
  check::That(found != names + kOutputTypes, "the vectors name an unknown type \"%s\"", name.c_str());
  return static_cast<OutputType>((found - names) % kOutputTypes);
}

/// The bits of element `i` of an output.
inline std::uint64_t ElementAt(const void* data, OutputType type, std::uint64_t i) {
  const unsigned size = ElementSize(type);
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const unsigned char*>(data) + i * size, size);
  return bits;
}

/// The bits of a number in a float type, rounded by way of f32.
inline std::uint64_t BitsOf(OutputType type, double value) {
  switch (type) {
    case OutputType::kF16:
      return F16FromF32(static_cast<float>(value));
    case OutputType::kBF16:
      return RoundToBF16(BitCast<std::uint32_t>(static_cast<float>(value))) >> 16;
    case OutputType::kF32:
      return BitCast<std::uint32_t>(static_cast<float>(value));
    default:
      return BitCast<std::uint64_t>(value);
  }
}

inline Draw UniformDraw(const State& state, OutputType type, const Bounds& bounds, void* out) {
  Draw draw{};
  draw.state = state;
  draw.distribution = Distribution::kUniform;
  draw.type = type;
  draw.words = WordsPerElement(type);
  draw[Parameter::kMinval] = Argument{type, bounds.minval, nullptr};
  draw[Parameter::kMaxval] = Argument{type, bounds.maxval, nullptr};
  draw.out = out;
  return draw;
}

inline Draw NormalDraw(const State& state, OutputType type, const Affine& affine, void* out) {
  Draw draw = UniformDraw(state, type, Bounds{}, out);
  draw.distribution = Distribution::kNormal;
  draw[Parameter::kMean] = Argument{type, affine.mean, nullptr};
  draw[Parameter::kScale] = Argument{type, affine.scale, nullptr};
  return draw;
}

/// `scale` is a bit pattern as those of Bounds.
inline Draw ExponentialDraw(const State& state, OutputType type, std::uint64_t scale, void* out) {
  Draw draw = UniformDraw(state, type, Bounds{}, out);
  draw.distribution = Distribution::kExponential;
  draw[Parameter::kScale] = Argument{type, scale, nullptr};
  return draw;
}

/// Gammas or Poisson counts; `numbers` are alpha or rate, one for all elements or one for each.
inline Draw RejectingDraw(const State& state, Distribution distribution, OutputType type, const Numbers& numbers, bool each,
                          void* out) {
  Draw draw = UniformDraw(state, type, Bounds{}, out);
  std::uint64_t bits = 0;
  if (!each) std::memcpy(&bits, numbers.data, ElementSize(numbers.type));
  draw.distribution = distribution;
  draw.words = 128;
  const Parameter parameter = distribution == Distribution::kGamma ? Parameter::kAlpha : Parameter::kRate;
  draw[parameter] = Argument{numbers.type, bits, each ? numbers.data : nullptr};
  return draw;
}

inline Draw BernoulliDraw(const State& state, const Probabilities& probabilities, void* out) {
  Draw draw = UniformDraw(state, OutputType::kBool, Bounds{}, out);
  const Numbers& p = probabilities.p;
  std::uint64_t bits = 0;
  if (!probabilities.each) std::memcpy(&bits, p.data, ElementSize(p.type));
  draw.distribution = Distribution::kBernoulli;
  draw.words = WordsPerElement(p.type);
  draw[Parameter::kP] = Argument{p.type, bits, probabilities.each ? p.data : nullptr};
  return draw;
}

/// The data go on for as long as is drawn. `ratio` is one number.
inline Draw DropoutDraw(const State& state, const Numbers& data, const Numbers& ratio, void* out, unsigned char* mask) {
  Draw draw = UniformDraw(state, data.type, Bounds{}, out);
  std::uint64_t bits = 0;
  std::memcpy(&bits, ratio.data, ElementSize(ratio.type));
  draw.distribution = Distribution::kDropout;
  draw.words = WordsPerElement(ratio.type);
  draw[Parameter::kData] = Argument{data.type, 0, data.data};
  draw[Parameter::kRatio] = Argument{ratio.type, bits, nullptr};
  draw.mask = mask;
  return draw;
}

inline Draw CategoricalDraw(const State& state, OutputType type, const Logits& logits, void* out) {
  Draw draw = UniformDraw(state, type, Bounds{}, out);
  draw.distribution = Distribution::kCategorical;
  draw.words = WordsPerElement(OutputType::kF64);
  draw[Parameter::kLogits] = Argument{logits.logits.type, 0, logits.logits.data};
  draw.classes = logits.classes;
  draw.samples = logits.samples;
  draw.is_once = logits.is_once;
  return draw;
}

/// Rows of `size` integers.
inline Draw PermutationDraw(const State& state, OutputType type, std::uint64_t size, void* out) {
  Draw draw = UniformDraw(state, type, Bounds{}, out);
  draw.distribution = Distribution::kPermutation;
  draw.words = 2;
  draw.samples = size;
  return draw;
}

/// The numbers of a sampler, one for each row; null where one is left out.
struct Filters {
  const float* temperature;
  const std::int64_t* top_k;
  const float* top_p;
  const float* min_p;
};

inline Draw TokenDraw(const State& state, OutputType type, const Logits& logits, const Filters& filters, void* out) {
  Draw draw = CategoricalDraw(state, type, logits, out);
  draw.distribution = Distribution::kToken;
  const auto give = [&](Parameter parameter, OutputType of, const void* data) {
    if (data != nullptr) draw[parameter] = Argument{of, 0, data};
  };
  give(Parameter::kTemperature, OutputType::kF32, filters.temperature);
  give(Parameter::kTopK, OutputType::kI64, filters.top_k);
  give(Parameter::kTopP, OutputType::kF32, filters.top_p);
  give(Parameter::kMinP, OutputType::kF32, filters.min_p);
  return draw;
}

/// So many states of torch's generator; some have drawn.
template <class Random>
std::vector<std::uint32_t> TorchStates(std::size_t states, Random& random) {
  std::vector<std::uint32_t> words(states * kTorchGeneratorWords);
  for (std::size_t i = 0; i < states; ++i) {
    std::uint32_t* const state = &words[i * kTorchGeneratorWords];
    SeedTorchState(random(), state);
    if (random() % 2 == 0) {
      state[4] = static_cast<std::uint32_t>(1 + random() % 624);
      state[2] = 625 - state[4];
    }
    if (random() % 4 == 0) {
      state[629] = static_cast<std::uint32_t>(random());
      state[630] = 0x3FF00000u;
      state[631] = 1;
    }
  }
  return words;
}

}  // namespace onnx_philox
