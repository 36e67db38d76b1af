// torch's CPU generator, and what is drawn with it: alignment "pytorch" (docs/specification.md, "torch's numbers").
//
//   TorchStream stream;                                   // SeedTorchState (torch_part.h) writes the words of a seed
//   ReadTorchState(words, &stream);                       // 632 words, as TorchState.to_array() gives them
//   FillTorch(*selection.kernels, &stream, fill);         // one call of torch's; more may follow
//   WriteTorchState(stream, words);                       // where torch's generator would be
//
// A fill is one call of torch's. It takes the words that it needs in order, so only a jump (torch_jump.h) makes pieces of it,
// and the values depend on neither kernels nor machine.
#pragma once

#include <cstdint>

#include "mt19937.h"
#include "output.h"

namespace onnx_philox {

struct Kernels;

/// The words of a state: the seed (2), left, seeded, next, 624 words, a cached normal (2), whether there is one.
constexpr int kTorchGeneratorWords = 632;

/// A generator between two calls.
struct TorchStream {
  Mt19937 mt;
  unsigned used;  ///< how many of its words are taken, up to all
  bool has_normal;
  double normal;  ///< the second one of a pair, which the next normal that is drawn alone will be
};

/// What a call draws. Numbers are doubles, as Python's are; those of a narrower type are exact.
struct TorchFill {
  Distribution distribution;  ///< uniform (kBits: the words), normal, exponential, Bernoulli, permutation or categorical
  OutputType type;            ///< of the values; of a Bernoulli draw kBool
  std::uint64_t elements;
  double first, second;       ///< minval and maxval of floats; mean and scale; the exponential's scale; p in `first`
  Bounds bounds;              ///< of a uniform draw: minval and maxval in the type of the values; integers as i64
  OutputType p_type;          ///< f32: `tensor.bernoulli()`; f64: `bernoulli_(p)`
  const void* p;              ///< one for each element, or null; of classes: f32 weights, 0 or more, row after row
  std::uint64_t classes;      ///< of each row of weights, 1 or more
  std::uint64_t samples;      ///< classes drawn from a row, each at most once: `elements` are as many for each row
  void* out;                  ///< at any alignment
};

/// Fewer normals than these are drawn one by one; others sixteen at a time.
constexpr unsigned kSixteen = 16;
/// Integers of a range this wide take two words each.
constexpr std::uint64_t kTwoWordsFrom = std::uint64_t{1} << 28;

/// How many words each of the values takes, from the first on and in order; 0 if that is not the same for all of them.
/// (The last sixteen normals may take others after that.)
static inline unsigned WordsOfEach(const TorchFill& fill) {
  switch (fill.distribution) {
    case Distribution::kUniform:
      if (fill.type == OutputType::kF64) return 2;
      if (fill.type != OutputType::kI32 && fill.type != OutputType::kI64) return 1;
      return fill.bounds.maxval - fill.bounds.minval >= kTwoWordsFrom ? 2 : 1;
    case Distribution::kNormal:
      if (fill.elements < kSixteen) return 0;
      return fill.type == OutputType::kF64 ? 2 : 1;
    case Distribution::kExponential:
      return 2;
    case Distribution::kBernoulli:
      return fill.p_type == OutputType::kF32 ? 1 : 2;
    default:
      return 0;
  }
}

/// Reads a state, which has been checked.
void ReadTorchState(const std::uint32_t* words, TorchStream* stream);

/// Writes where a generator is over the state that it was read from: its seed stays.
void WriteTorchState(const TorchStream& stream, std::uint32_t* words);

/// Draws.
void FillTorch(const Kernels& kernels, TorchStream* stream, const TorchFill& fill);

}  // namespace onnx_philox
