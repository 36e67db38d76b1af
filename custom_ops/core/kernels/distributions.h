// From a piece of a draw to the rule, or the loop, that fills it.
//
// Internal: included only by the kernels_*.cpp files, like engine.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "categorical.h"
#include "dropout.h"
#include "gamma.h"
#include "kernels.h"
#include "permutation.h"
#include "poisson.h"
#include "rows.h"
#include "rules.h"
#include "token.h"

namespace onnx_philox {

/// Random bits, or numbers in a range, by the rule that the bounds allow.
template <class Isa, class From>
void FillUniform(const Piece& piece) {
  const std::uint64_t low = piece.draw[Parameter::kMinval].bits, high = piece.draw[Parameter::kMaxval].bits;
  switch (piece.draw.type) {
    case OutputType::kBits:
      return From::Fill(piece, BitsRule<Isa>());
    case OutputType::kF32: {
      const float minval = F32FromBits(low), width = WidthF32(low, high);
      if (width == 1.0f && minval == 0.0f) return From::Fill(piece, F32UnitRule<Isa>());
      return From::Fill(piece, F32Rule<Isa>(width, minval));
    }
    case OutputType::kF16: {
      const float minval = F32FromF16(low), width = WidthF16(low, high);
      if (width == 1.0f && minval == 0.0f) return From::Fill(piece, F16UnitRule<Isa>());
      return From::Fill(piece, F16Rule<Isa>(width, minval));
    }
    case OutputType::kBF16: {
      const float minval = F32FromBF16(low), width = WidthBF16(low, high);
      if (width == 1.0f && minval == 0.0f) return From::Fill(piece, BF16UnitRule<Isa>());
      return From::Fill(piece, typename Isa::BF16(width, minval));
    }
    case OutputType::kF64: {
      const double minval = F64FromBits(low), width = WidthF64(low, high);
      if (width == 1.0 && minval == 0.0) return From::Fill(piece, F64UnitRule<Isa>());
      return From::Fill(piece, F64Rule<Isa>(width, minval));
    }
    case OutputType::kI32: {
      const std::uint32_t minval = static_cast<std::uint32_t>(low);
      const std::uint32_t width = static_cast<std::uint32_t>(high) - minval;
      if (width > std::uint32_t{1} << 31) return From::Fill(piece, I32WideRule<Isa>(width, minval));
      return From::Fill(piece, I32Rule<Isa>(width, minval));
    }
    case OutputType::kI64: {
      const std::uint64_t width = high - low;
      if (width > std::uint64_t{1} << 63) return From::Fill(piece, I64WideRule<Isa>(width, low));
      if (width > std::uint64_t{1} << 16) {
        return From::Fill(piece, I64Rule<Isa, typename Isa::Remainder64>(width, low));
      }
      return From::Fill(piece, I64Rule<Isa, typename Isa::SmallRemainder64>(width, low));
    }
    case OutputType::kBool:
      break;
  }
  NoRule();
}

/// Normal values.
template <class Isa, class From>
void FillNormal(const Piece& piece) {
  const std::uint64_t scale = piece.draw[Parameter::kScale].bits, mean = piece.draw[Parameter::kMean].bits;
  switch (piece.draw.type) {
    case OutputType::kF32:
      return From::Fill(piece, NormalF32Rule<Isa>(F32FromBits(scale), F32FromBits(mean)));
    case OutputType::kF16:
      return From::Fill(piece, NormalF16Rule<Isa>(F32FromF16(scale), F32FromF16(mean)));
    case OutputType::kBF16:
      return From::Fill(piece, NormalBF16Rule<Isa>(F32FromBF16(scale), F32FromBF16(mean)));
    case OutputType::kF64:
      return From::Fill(piece, NormalF64Rule<Isa>(F64FromBits(scale), F64FromBits(mean)));
    case OutputType::kBits:
    case OutputType::kI32:
    case OutputType::kI64:
    case OutputType::kBool:
      break;
  }
  NoRule();
}

/// Exponential values.
template <class Isa, class From>
void FillExponential(const Piece& piece) {
  const std::uint64_t scale = piece.draw[Parameter::kScale].bits;
  switch (piece.draw.type) {
    case OutputType::kF32:
      return From::Fill(piece, ExponentialF32Rule<Isa>(F32FromBits(scale)));
    case OutputType::kF16:
      return From::Fill(piece, ExponentialF16Rule<Isa>(F32FromF16(scale)));
    case OutputType::kBF16:
      return From::Fill(piece, ExponentialBF16Rule<Isa>(F32FromBF16(scale)));
    case OutputType::kF64:
      return From::Fill(piece, ExponentialF64Rule<Isa>(F64FromBits(scale)));
    case OutputType::kBits:
    case OutputType::kI32:
    case OutputType::kI64:
    case OutputType::kBool:
      break;
  }
  NoRule();
}

/// Bytes 0 and 1 by a probability for each element. Uniforms are never negative, so their order is that of their bits as
/// signed integers, in which -0 is below them too.
template <class Isa, class From, class Rule, class Bits>
void FillBernoulliEach(const Piece& piece) {
  alignas(64) Bits uniforms[kUniformsAtOnce];
  const unsigned char* p = static_cast<const unsigned char*>(piece.draw[Parameter::kP].data) + piece.begin * sizeof(Bits);
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t begin = piece.begin; begin < piece.end;) {
    const std::uint64_t end = piece.end - begin > kUniformsAtOnce ? begin + kUniformsAtOnce : piece.end;
    UniformsOf<From, Rule>(piece, begin, end, uniforms);
    const std::size_t count = static_cast<std::size_t>(end - begin);
    for (std::size_t i = 0; i < count; ++i) {
      Bits probability;
      std::memcpy(&probability, p + i * sizeof(Bits), sizeof(Bits));
      out[i] = uniforms[i] < probability ? 1 : 0;
    }
    p += count * sizeof(Bits);
    out += count;
    begin = end;
  }
}

/// Bytes 0 and 1.
template <class Isa, class From>
void FillBernoulli(const Piece& piece) {
  const Argument& given = piece.draw[Parameter::kP];
  const bool is_f32 = given.type == OutputType::kF32;
  if (given.each()) {
    return is_f32 ? FillBernoulliEach<Isa, From, F32UnitRule<Isa>, std::int32_t>(piece)
                  : FillBernoulliEach<Isa, From, F64UnitRule<Isa>, std::int64_t>(piece);
  }
  FillBelow<Isa, From>(piece, given);
}

/// Gamma values.
template <class Isa>
void FillGamma(const Piece& piece) {
  if (piece.draw.type != OutputType::kF32 && piece.draw.type != OutputType::kF64) NoRule();
  FillGammas<Isa, kGammaAttempts>(piece);
}

/// Poisson counts.
template <class Isa>
void FillPoisson(const Piece& piece) {
  if (piece.draw.type != OutputType::kI32 && piece.draw.type != OutputType::kI64) NoRule();
  FillPoissonCounts<Isa, kPoissonAttempts>(piece);
}

/// Permutations.
template <class Isa, class From>
void FillPermutation(const Piece& piece) {
  if (piece.draw.type != OutputType::kI32 && piece.draw.type != OutputType::kI64) NoRule();
  FillPermutations<Isa, From, 64>(piece);
}

template <class Isa, class From>
void FillFrom(const Piece& piece) {
  switch (piece.draw.distribution) {
    case Distribution::kUniform:
      return FillUniform<Isa, From>(piece);
    case Distribution::kNormal:
      return FillNormal<Isa, From>(piece);
    case Distribution::kBernoulli:
      return FillBernoulli<Isa, From>(piece);
    case Distribution::kCategorical:
      return FillCategorical<Isa, From>(piece);
    case Distribution::kExponential:
      return FillExponential<Isa, From>(piece);
    case Distribution::kGamma:
      return FillGamma<Isa>(piece);
    case Distribution::kPoisson:
      return FillPoisson<Isa>(piece);
    case Distribution::kDropout:
      return FillDropout<Isa, From>(piece);
    case Distribution::kPermutation:
      return FillPermutation<Isa, From>(piece);
    case Distribution::kToken:
      return FillTokens<Isa, From, kSureBits>(piece);
  }
  NoRule();
}

/// Any draw. Call it through a pointer, in the environment of float_environment.h.
template <class Isa>
void FillAny(const Piece& piece) {
  if (piece.draw.rows.words == nullptr) return FillFrom<Isa, FromOneState<Isa>>(piece);
  FillFrom<Isa, FromRows<Isa>>(piece);
}

}  // namespace onnx_philox
