// What torch draws with its CPU generator, call by call (docs/specification.md, "torch's numbers").
//
// All is plain C++, compiled once for each instruction set: words become values in short loops, of which a compiler makes
// vectors. src/onnx_philox/_torch/numbers/cpu.py is the same in NumPy.
//
// Internal: included only by the kernels_torch*.cpp files.
#pragma once

#include <math.h>  // sqrtf: std::sqrt of a float is a function that all instruction sets would share

#include <cstdint>
#include <cstdlib>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "floats.h"
#include "inlining.h"
#include "torch_elementary.h"
#include "torch_race.h"
#include "torch_stream.h"

namespace onnx_philox {
namespace {

/// How many values are made at once: a multiple of sixteen.
constexpr unsigned kTorchAtOnce = 512;

constexpr double kTwoPi = 2 * 0x1.921fb54442d18p+1;

/// The next words.
ONNX_PHILOX_NOINLINE void TakeWords(TorchStream* stream, unsigned count, std::uint32_t* out) {
  while (count > 0) {
    if (stream->used == kMtWords) {
      MtRenew(&stream->mt);
      stream->used = 0;
    }
    const unsigned left = kMtWords - stream->used, now = count < left ? count : left;
    std::memcpy(out, stream->mt.words + stream->used, now * sizeof(*out));
    stream->used += now;
    out += now;
    count -= now;
  }
}

/// Multiples of 2^-24 in [0, 1), of a word each; their integers.
ONNX_PHILOX_INLINE std::int32_t Fraction(std::uint32_t word) { return static_cast<std::int32_t>(word & 0x00FFFFFFu); }

ONNX_PHILOX_INLINE float UniformOf(std::uint32_t word) { return static_cast<float>(Fraction(word)) * 0x1p-24f; }

/// At most kTorchAtOnce words of 64 bits, each of two words: the first is the high half.
ONNX_PHILOX_NOINLINE void TakeWords64(TorchStream* stream, unsigned count, std::uint64_t* out) {
  std::uint32_t words[2 * kTorchAtOnce];
  TakeWords(stream, 2 * count, words);
  for (unsigned i = 0; i < count; ++i) out[i] = static_cast<std::uint64_t>(words[2 * i]) << 32 | words[2 * i + 1];
}

/// Their last 53 bits.
ONNX_PHILOX_INLINE std::uint64_t Fraction(std::uint64_t word) { return word & 0x001FFFFFFFFFFFFFu; }

/// Multiples of 2^-53 in [0, 1). Halves of integers are the fractions of float64 in [2^52, 2^53) and [2^84, 2^85).
ONNX_PHILOX_INLINE double UniformOf(std::uint64_t word) {
  const double low = BitCast<double>((word & 0xFFFFFFFFu) | 0x4330000000000000u) - 0x1p52;
  const double high = BitCast<double>((word >> 32 & 0x001FFFFFu) | 0x4530000000000000u) - 0x1p84;
  return (high + low) * 0x1p-53;
}

void TakeUniforms(TorchStream* stream, unsigned count, double* out) {
  std::uint64_t words[kTorchAtOnce];
  TakeWords64(stream, count, words);
  for (unsigned i = 0; i < count; ++i) out[i] = UniformOf(words[i]);
}

/// Rounds to float16.
ONNX_PHILOX_NOINLINE void ToF16(const float* values, unsigned count, std::uint16_t* out) {
  unsigned i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), halves);
  }
#endif
  for (; i < count; ++i) out[i] = static_cast<std::uint16_t>(F16FromF32(values[i]));
}

/// Values of f32 in the type of a draw: f32, f16 or bf16.
struct Narrowed {
  alignas(64) unsigned char bytes[kTorchAtOnce * sizeof(float)];
  Narrowed(OutputType type, const float* values, unsigned count) {
    if (type == OutputType::kF32) {
      std::memcpy(bytes, values, count * sizeof(*values));
      return;
    }
    std::uint16_t narrow[kTorchAtOnce];
    if (type == OutputType::kF16) {
      ToF16(values, count, narrow);
    } else {
      for (unsigned i = 0; i < count; ++i) {
        narrow[i] = static_cast<std::uint16_t>(RoundToBF16(BitCast<std::uint32_t>(values[i])) >> 16);
      }
    }
    std::memcpy(bytes, narrow, count * sizeof(*narrow));
  }
};

void Write(OutputType type, const float* values, unsigned count, unsigned char* out) {
  if (type == OutputType::kF32) {
    std::memcpy(out, values, count * sizeof(*values));
    return;
  }
  const Narrowed narrowed(type, values, count);
  std::memcpy(out, narrowed.bytes, static_cast<std::size_t>(count) * ElementSize(type));
}

/// float64 values in the type of a draw. Like torch, to 16 bits by way of float32.
void Write(OutputType type, const double* values, unsigned count, unsigned char* out) {
  if (type == OutputType::kF64) {
    std::memcpy(out, values, count * sizeof(*values));
    return;
  }
  float narrow[kTorchAtOnce];
  for (unsigned i = 0; i < count; ++i) narrow[i] = static_cast<float>(values[i]);
  Write(type, narrow, count, out);
}

/// Calls make(count, out) for each part of a draw.
template <class Make>
void ForParts(const TorchFill& fill, const Make& make) {
  const unsigned size = ElementSize(fill.type);
  unsigned char* out = static_cast<unsigned char*>(fill.out);
  for (std::uint64_t left = fill.elements; left > 0;) {
    const unsigned now = left < kTorchAtOnce ? static_cast<unsigned>(left) : kTorchAtOnce;
    make(now, out);
    out += static_cast<std::size_t>(now) * size;
    left -= now;
  }
}

/// torch turns what was rounded to the bound that is not included into the other one.
template <class Bits>
void WriteBelow(const Bounds& bounds, const void* values, unsigned count, unsigned char* out) {
  Bits bits[kTorchAtOnce];
  std::memcpy(bits, values, count * sizeof(Bits));
  const Bits high = static_cast<Bits>(bounds.maxval), low = static_cast<Bits>(bounds.minval);
  // Zeros are equal whatever their signs.
  constexpr Bits kAllButSign = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  const Bits compared = (high & kAllButSign) == 0 ? kAllButSign : static_cast<Bits>(~Bits{0});
  const Bits limit = static_cast<Bits>(high & compared);
  for (unsigned i = 0; i < count; ++i) bits[i] = (bits[i] & compared) == limit ? low : bits[i];
  std::memcpy(out, bits, count * sizeof(Bits));
}

void UniformFloats(TorchStream* stream, const TorchFill& fill) {
  const float minval = static_cast<float>(fill.first), width = static_cast<float>(fill.second) - minval;
  const bool is_unit = minval == 0.0f && width == 1.0f;
  ForParts(fill, [&](unsigned count, unsigned char* out) {
    std::uint32_t words[kTorchAtOnce];
    float values[kTorchAtOnce];
    TakeWords(stream, count, words);
    for (unsigned i = 0; i < count; ++i) values[i] = UniformOf(words[i]);
    if (is_unit && fill.type == OutputType::kF32) {
      std::memcpy(out, values, count * sizeof(*values));
      return;
    }
    if (!is_unit) {
      for (unsigned i = 0; i < count; ++i) values[i] = MultiplyAdd(values[i], width, minval);
    }
    const Narrowed narrowed(fill.type, values, count);
    if (fill.type == OutputType::kF32) {
      WriteBelow<std::uint32_t>(fill.bounds, narrowed.bytes, count, out);
    } else {
      WriteBelow<std::uint16_t>(fill.bounds, narrowed.bytes, count, out);
    }
  });
}

void UniformDoubles(TorchStream* stream, const TorchFill& fill) {
  const double minval = fill.first, width = fill.second - minval;
  const bool is_unit = minval == 0.0 && width == 1.0;
  ForParts(fill, [&](unsigned count, unsigned char* out) {
    double values[kTorchAtOnce];
    TakeUniforms(stream, count, values);
    if (!is_unit) {
      for (unsigned i = 0; i < count; ++i) values[i] = MultiplyAdd(values[i], width, minval);
    }
    WriteBelow<std::uint64_t>(fill.bounds, values, count, out);
  });
}

/// Integers are minval + word modulo width, in two's complement.
template <class Integer>
void UniformIntegers(TorchStream* stream, const TorchFill& fill, std::uint64_t minval, std::uint64_t width) {
  ForParts(fill, [&](unsigned count, unsigned char* out) {
    Integer values[kTorchAtOnce];
    if (width >= kTwoWordsFrom) {  // as WordsOfEach says
      std::uint64_t words[kTorchAtOnce];
      TakeWords64(stream, count, words);
      for (unsigned i = 0; i < count; ++i) values[i] = static_cast<Integer>(minval + words[i] % width);
    } else {
      std::uint32_t words[kTorchAtOnce];
      TakeWords(stream, count, words);
      // As I32Rule of rules.h: the quotient is right or one too small.
      const std::uint32_t narrow = static_cast<std::uint32_t>(width), inverse = 0xFFFFFFFFu / narrow;
      for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t quotient = static_cast<std::uint32_t>(std::uint64_t{words[i]} * inverse >> 32);
        const std::uint32_t most = words[i] - quotient * narrow;
        const std::uint32_t remainder = most >= narrow ? most - narrow : most;
        values[i] = static_cast<Integer>(minval + remainder);
      }
    }
    std::memcpy(out, values, count * sizeof(Integer));
  });
}

void TorchUniform(TorchStream* stream, const TorchFill& fill) {
  const std::uint64_t low = fill.bounds.minval, high = fill.bounds.maxval;
  switch (fill.type) {
    case OutputType::kBits:
      return ForParts(fill, [&](unsigned count, unsigned char* out) {
        std::uint32_t words[kTorchAtOnce];
        TakeWords(stream, count, words);
        std::memcpy(out, words, count * sizeof(*words));
      });
    case OutputType::kF32:
    case OutputType::kF16:
    case OutputType::kBF16:
      return UniformFloats(stream, fill);
    case OutputType::kF64:
      return UniformDoubles(stream, fill);
    case OutputType::kI32:
      return UniformIntegers<std::uint32_t>(stream, fill, low, high - low);
    case OutputType::kI64:
      return UniformIntegers<std::uint64_t>(stream, fill, low, high - low);
    case OutputType::kBool:
      break;
  }
  std::abort();
}

constexpr unsigned kHalf = kSixteen / 2, kPairsAtOnce = kTorchAtOnce / 2;

/// Normals of float32, eight pairs at a time: the first halves, then the second ones. `count` is a multiple of 16.
ONNX_PHILOX_NOINLINE void SixteenF32(TorchStream* stream, const TorchFill& fill, unsigned count, unsigned char* out) {
  const float mean = static_cast<float>(fill.first), scale = static_cast<float>(fill.second);
  std::uint32_t words[kTorchAtOnce];
  std::uint32_t first_words[kPairsAtOnce], second_words[kPairsAtOnce];
  float first[kPairsAtOnce], second[kPairsAtOnce], values[kTorchAtOnce];
  TakeWords(stream, count, words);
  for (unsigned i = 0; i < count / kSixteen; ++i) {
    std::memcpy(first_words + i * kHalf, words + i * kSixteen, kHalf * sizeof(*words));
    std::memcpy(second_words + i * kHalf, words + i * kSixteen + kHalf, kHalf * sizeof(*words));
  }
  for (unsigned i = 0; i < count / 2; ++i) {
    const float radius = sqrtf(LnF32(1.0f - UniformOf(first_words[i])) * -2.0f);
    const SinCosF32 angle = SinCos(UniformOf(second_words[i]) * static_cast<float>(kTwoPi));
    first[i] = MultiplyAdd(radius * angle.cosine, scale, mean);
    second[i] = MultiplyAdd(radius * angle.sine, scale, mean);
  }
  for (unsigned i = 0; i < count / kSixteen; ++i) {
    std::memcpy(values + i * kSixteen, first + i * kHalf, kHalf * sizeof(float));
    std::memcpy(values + i * kSixteen + kHalf, second + i * kHalf, kHalf * sizeof(float));
  }
  Write(fill.type, values, count, out);
}

/// The same of float64.
ONNX_PHILOX_NOINLINE void SixteenF64(TorchStream* stream, const TorchFill& fill, unsigned count, unsigned char* out) {
  const double mean = fill.first, scale = fill.second;
  double uniforms[kTorchAtOnce], first[kPairsAtOnce], second[kPairsAtOnce];
  TakeUniforms(stream, count, uniforms);
  for (unsigned i = 0; i < count / kSixteen; ++i) {
    std::memcpy(first + i * kHalf, uniforms + i * kSixteen, kHalf * sizeof(double));
    std::memcpy(second + i * kHalf, uniforms + i * kSixteen + kHalf, kHalf * sizeof(double));
  }
  for (unsigned i = 0; i < count / 2; ++i) {
    const double radius = std::sqrt(LnF64(1.0 - first[i]) * -2.0);
    const SinCosF64 angle = SinCos(second[i] * kTwoPi);
    first[i] = radius * angle.cosine;
    second[i] = radius * angle.sine;
  }
  for (unsigned i = 0; i < count / 2; ++i) {
    first[i] = MultiplyAdd(first[i], scale, mean);
    second[i] = MultiplyAdd(second[i], scale, mean);
  }
  for (unsigned i = 0; i < count / kSixteen; ++i) {
    std::memcpy(uniforms + i * kSixteen, first + i * kHalf, kHalf * sizeof(double));
    std::memcpy(uniforms + i * kSixteen + kHalf, second + i * kHalf, kHalf * sizeof(double));
  }
  Write(fill.type, uniforms, count, out);
}

/// At most 15 normals of float64 by Box and Muller, whose second one waits in the stream.
void NormalsOneByOne(TorchStream* stream, const TorchFill& fill) {
  double values[kSixteen];
  const unsigned count = static_cast<unsigned>(fill.elements);
  for (unsigned i = 0; i < count; ++i) {
    if (stream->has_normal) {
      values[i] = stream->normal;
      stream->normal = 0.0;
      stream->has_normal = false;
    } else {
      double uniforms[2];
      TakeUniforms(stream, 2, uniforms);
      // Adding 0 turns -0 into 0, as in torch.
      const double radius = std::sqrt(Log1p(-uniforms[1]) * -2.0 + 0.0);
      const SinCosF64 angle = SinCos(uniforms[0] * kTwoPi);
      values[i] = radius * angle.cosine;
      stream->normal = radius * angle.sine;
      stream->has_normal = true;
    }
    values[i] = MultiplyAdd(values[i], fill.second, fill.first);
  }
  Write(fill.type, values, count, static_cast<unsigned char*>(fill.out));
}

void TorchNormal(TorchStream* stream, const TorchFill& fill) {
  if (fill.elements < kSixteen) return NormalsOneByOne(stream, fill);
  const bool is_f64 = fill.type == OutputType::kF64;
  const auto sixteen = [&](unsigned count, unsigned char* out) {
    return is_f64 ? SixteenF64(stream, fill, count, out) : SixteenF32(stream, fill, count, out);
  };
  const unsigned rest = static_cast<unsigned>(fill.elements % kSixteen);
  TorchFill whole = fill;
  whole.elements -= rest;
  ForParts(whole, sixteen);
  if (rest == 0) return;
  if (is_f64 || fill.type == OutputType::kF32) {
    // torch draws uniforms for them, and then draws all of the last sixteen anew.
    std::uint32_t unused[2 * kSixteen];
    TakeWords(stream, is_f64 ? 2 * rest : rest, unused);
  }
  unsigned char* const out = static_cast<unsigned char*>(fill.out);
  sixteen(kSixteen, out + static_cast<std::size_t>(fill.elements - kSixteen) * ElementSize(fill.type));
}

void TorchExponential(TorchStream* stream, const TorchFill& fill) {
  ForParts(fill, [&](unsigned count, unsigned char* out) {
    double values[kTorchAtOnce];
    TakeUniforms(stream, count, values);
    for (unsigned i = 0; i < count; ++i) values[i] = Log1p(-values[i]) * -fill.first + 0.0;
    Write(fill.type, values, count, out);
  });
}

/// The least integer that is not below `x`, for x in [0, 2^54).
ONNX_PHILOX_INLINE std::uint64_t LeastNotBelow(double x) {
  const std::uint64_t below = static_cast<std::uint64_t>(x);
  return static_cast<double>(below) < x ? below + 1 : below;
}

/// Bytes: 1 where a uniform is below p.
void TorchBernoulli(TorchStream* stream, const TorchFill& fill) {
  const bool is_f32 = fill.p_type == OutputType::kF32;
  const unsigned char* p = static_cast<const unsigned char*>(fill.p);
  const std::uint64_t limit = p == nullptr ? LeastNotBelow(fill.first * (is_f32 ? 0x1p24 : 0x1p53)) : 0;
  ForParts(fill, [&](unsigned count, unsigned char* out) {
    std::uint32_t words[kTorchAtOnce];
    std::uint64_t words_64[kTorchAtOnce];
    if (is_f32) {
      TakeWords(stream, count, words);
    } else {
      TakeWords64(stream, count, words_64);
    }
    if (p == nullptr && is_f32) {
      const std::int32_t narrow_limit = static_cast<std::int32_t>(limit);
      for (unsigned i = 0; i < count; ++i) out[i] = Fraction(words[i]) < narrow_limit ? 1 : 0;
    } else if (p == nullptr) {
      for (unsigned i = 0; i < count; ++i) out[i] = Fraction(words_64[i]) < limit ? 1 : 0;
    } else if (is_f32) {
      float each[kTorchAtOnce];
      std::memcpy(each, p, count * sizeof(*each));
      for (unsigned i = 0; i < count; ++i) out[i] = UniformOf(words[i]) < each[i] ? 1 : 0;
      p += count * sizeof(*each);
    } else {
      double each[kTorchAtOnce];
      std::memcpy(each, p, count * sizeof(*each));
      for (unsigned i = 0; i < count; ++i) out[i] = UniformOf(words_64[i]) < each[i] ? 1 : 0;
      p += count * sizeof(*each);
    }
  });
}

/// The integers below `elements`, each of which changes places with one that is at its place or after it.
template <class Index>
void Permute(TorchStream* stream, const TorchFill& fill) {
  unsigned char* const out = static_cast<unsigned char*>(fill.out);
  const std::uint64_t size = fill.elements;
  for (std::uint64_t i = 0; i < size; ++i) {
    const Index index = static_cast<Index>(i);
    std::memcpy(out + i * sizeof(Index), &index, sizeof(Index));
  }
  std::uint32_t words[kTorchAtOnce];
  unsigned given = 0, taken = 0;
  for (std::uint64_t i = 0; i + 1 < size; ++i) {
    if (taken == given) {
      const std::uint64_t left = size - 1 - i;
      given = left < kTorchAtOnce ? static_cast<unsigned>(left) : kTorchAtOnce;
      taken = 0;
      TakeWords(stream, given, words);
    }
    unsigned char* const here = out + i * sizeof(Index);
    unsigned char* const there = here + words[taken++] % (size - i) * sizeof(Index);
    Index one, other;
    std::memcpy(&one, here, sizeof(Index));
    std::memcpy(&other, there, sizeof(Index));
    std::memcpy(here, &other, sizeof(Index));
    std::memcpy(there, &one, sizeof(Index));
  }
}

/// A race of the classes of each row: a class is as fast as its weight divided by an exponential value. What has no
/// speed, since both are 0, comes in last.
template <class Index>
void Race(TorchStream* stream, const TorchFill& fill) {
  unsigned char* out = static_cast<unsigned char*>(fill.out);
  const unsigned char* weights = static_cast<const unsigned char*>(fill.p);
  for (std::uint64_t row = 0; row < fill.elements / fill.samples; ++row) {
    const TorchStream before = *stream;
    Runner last{};
    for (std::uint64_t found = 0; found < fill.samples;) {
      // The same words, if there are more to find.
      *stream = before;
      FirstRunners first(fill.samples - found);
      for (std::uint64_t begin = 0; begin < fill.classes; begin += kTorchAtOnce) {
        const std::uint64_t left = fill.classes - begin;
        const unsigned count = left < kTorchAtOnce ? static_cast<unsigned>(left) : kTorchAtOnce;
        double uniforms[kTorchAtOnce];
        float speeds[kTorchAtOnce];
        TakeUniforms(stream, count, uniforms);
        std::memcpy(speeds, weights + begin * sizeof(float), count * sizeof(float));
        for (unsigned i = 0; i < count; ++i) speeds[i] /= static_cast<float>(Log1p(-uniforms[i]) * -1.0 + 0.0);
        for (unsigned i = 0; i < count; ++i) {
          const Runner runner{speeds[i] >= 0.0f ? speeds[i] : -1.0f, begin + i};
          if (found == 0 || last < runner) first.Add(runner);
        }
      }
      if (first.count() == 0) std::abort();  // more samples than classes, which the caller refuses
      for (unsigned i = 0; i < first.count(); ++i, ++found) {
        last = first[i];
        const Index index = static_cast<Index>(last.index);
        std::memcpy(out, &index, sizeof(index));
        out += sizeof(index);
      }
    }
    weights += fill.classes * sizeof(float);
  }
}

/// Any draw. Call it through a pointer, in the environment of float_environment.h.
void FillTorchAny(TorchStream* stream, const TorchFill& fill) {
  switch (fill.distribution) {
    case Distribution::kUniform:
      return TorchUniform(stream, fill);
    case Distribution::kNormal:
      return TorchNormal(stream, fill);
    case Distribution::kExponential:
      return TorchExponential(stream, fill);
    case Distribution::kBernoulli:
      return TorchBernoulli(stream, fill);
    case Distribution::kPermutation:
      return fill.type == OutputType::kI32 ? Permute<std::int32_t>(stream, fill) : Permute<std::int64_t>(stream, fill);
    case Distribution::kCategorical:
      return fill.type == OutputType::kI32 ? Race<std::int32_t>(stream, fill) : Race<std::int64_t>(stream, fill);
    default:
      std::abort();  // the caller lacks a rule that it promises: nothing may pass for a draw
  }
}

}  // namespace
}  // namespace onnx_philox
