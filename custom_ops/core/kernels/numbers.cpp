// Kernels of the draws whose every element is made of one or two words: from a piece to the rule that fills it.
#include "set.h"

#ifdef ONNX_PHILOX_SET
#include <cstdint>
#include <cstring>

#include "dropout.h"
#include "fills.h"
#include "kernels.h"
#include "rows.h"
#include "rules.h"

namespace onnx_philox {
namespace {

/// Calls `fill` with the float type of a draw, an object of rules.h.
template <class Isa, class Fill>
ONNX_PHILOX_INLINE void FillFloats(OutputType type, const Fill& fill) {
  switch (type) {
    case OutputType::kF32:
      return fill(F32<Isa>());
    case OutputType::kF16:
      return fill(F16<Isa>());
    case OutputType::kBF16:
      return fill(BF16<Isa>());
    case OutputType::kF64:
      return fill(F64<Isa>());
    case OutputType::kBits:
    case OutputType::kI32:
    case OutputType::kI64:
    case OutputType::kBool:
      break;
  }
  NoRule();
}

/// Random bits, or numbers in a range, by the rule that the bounds allow.
template <class Isa, class From>
void FillUniform(const Piece& piece) {
  const std::uint64_t low = piece.draw[Parameter::kMinval].bits, high = piece.draw[Parameter::kMaxval].bits;
  switch (piece.draw.type) {
    case OutputType::kBits:
      return From::Fill(piece, BitsRule<Isa>());
    case OutputType::kI32:
      return FillI32<Isa, From>(piece, low, high);
    case OutputType::kI64:
      return FillI64<Isa, From>(piece, low, high);
    default:
      FillFloats<Isa>(piece.draw.type, [&](auto type) { FillUniformFloats<Isa, From, decltype(type)>(piece, low, high); });
  }
}

/// Normal values.
template <class Isa, class From>
void FillNormal(const Piece& piece) {
  const std::uint64_t mean = piece.draw[Parameter::kMean].bits, scale = piece.draw[Parameter::kScale].bits;
  FillFloats<Isa>(piece.draw.type, [&](auto type) { FillNormals<Isa, From, decltype(type)>(piece, mean, scale); });
}

/// Exponential values.
template <class Isa, class From>
void FillExponential(const Piece& piece) {
  const std::uint64_t scale = piece.draw[Parameter::kScale].bits;
  FillFloats<Isa>(piece.draw.type, [&](auto type) { FillExponentials<Isa, From, decltype(type)>(piece, scale); });
}

/// Bytes: 1 where a uniform is below the probability of its element. Uniforms are never negative, so their order is that of
/// their bits as signed integers, in which -0 and all negative numbers are below them too, and only NaN is not where a
/// comparison of floats has it.
template <class Isa, OfNan kOfNan, class Bits>
ONNX_PHILOX_NOINLINE void BytesBelow(const Bits* uniforms, const unsigned char* p, std::size_t count, unsigned char* out) {
  constexpr Bits kMagnitude = static_cast<Bits>(sizeof(Bits) == 4 ? 0x7FFFFFFF : 0x7FFFFFFFFFFFFFFF);
  constexpr Bits kInfinity = static_cast<Bits>(sizeof(Bits) == 4 ? 0x7F800000 : 0x7FF0000000000000);
  for (std::size_t i = 0; i < count; ++i) {
    Bits probability;
    std::memcpy(&probability, p + i * sizeof(Bits), sizeof(Bits));
    bool is_below = uniforms[i] < probability;
    if constexpr (kOfNan == OfNan::kNone) is_below &= probability <= kInfinity;
    if constexpr (kOfNan == OfNan::kAll) is_below |= (probability & kMagnitude) > kInfinity;
    out[i] = is_below ? 1 : 0;
  }
}

/// Bytes 0 and 1 by a probability for each element.
template <class Isa, class From, class Rule, class Bits>
void FillBernoulliEach(const Piece& piece) {
  alignas(64) Bits uniforms[kUniformsAtOnce];
  const unsigned char* p = static_cast<const unsigned char*>(piece.draw[Parameter::kP].data) + piece.begin * sizeof(Bits);
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  const OfNan of_nan = piece.draw[Parameter::kP].of_nan;
  const auto below = of_nan == OfNan::kRefused ? BytesBelow<Isa, OfNan::kRefused, Bits>
                     : of_nan == OfNan::kNone  ? BytesBelow<Isa, OfNan::kNone, Bits>
                                               : BytesBelow<Isa, OfNan::kAll, Bits>;
  for (std::uint64_t begin = piece.begin; begin < piece.end;) {
    const std::uint64_t end = piece.end - begin > kUniformsAtOnce ? begin + kUniformsAtOnce : piece.end;
    if (!MayDraw<Isa>(piece, Parameter::kP, begin, end)) return;
    UniformsOf<From, Rule>(piece, begin, end, uniforms);
    const std::size_t count = static_cast<std::size_t>(end - begin);
    below(uniforms, p, count, out);
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

template <class From>
void FillFrom(const Piece& piece) {
  switch (piece.draw.distribution) {
    case Distribution::kUniform:
      return FillUniform<Set, From>(piece);
    case Distribution::kNormal:
      return FillNormal<Set, From>(piece);
    case Distribution::kBernoulli:
      return FillBernoulli<Set, From>(piece);
    case Distribution::kExponential:
      return FillExponential<Set, From>(piece);
    case Distribution::kDropout:
      return FillDropout<Set, From>(piece);
    case Distribution::kCategorical:
    case Distribution::kToken:
      return ONNX_PHILOX_SET::FillClasses(piece);
    case Distribution::kGamma:
      return ONNX_PHILOX_SET::FillGammas(piece);
    case Distribution::kPoisson:
      return ONNX_PHILOX_SET::FillPoissonCounts(piece);
    case Distribution::kPermutation:
      return ONNX_PHILOX_SET::FillPermutations(piece);
  }
  NoRule();
}

}  // namespace

namespace ONNX_PHILOX_SET {

void Fill(const Piece& piece) {
  if (piece.draw.rows.words == nullptr) return FillFrom<FromOneState<Set>>(piece);
  FillFrom<FromRows<Set>>(piece);
}

void Keep(const Draw& draw, const unsigned char* dropped, const unsigned char* data, std::size_t count,
          unsigned char* out) {
  onnx_philox::Keep<Set>(draw, dropped, data, count, out);
}

}  // namespace ONNX_PHILOX_SET
}  // namespace onnx_philox
#endif
