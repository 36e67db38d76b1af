// From a distribution, a type and its parameters to the rule that fills a piece.
//
// `From` says how a rule fills one: see rows.h. Types are those of rules.h.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels.h"
#include "rules.h"

namespace onnx_philox {

/// Floats in a range.
template <class Isa, class From, class Type>
void FillUniformFloats(const Piece& piece, std::uint64_t low, std::uint64_t high) {
  using Standard = typename Type::Standard;
  const typename Type::Number minval = Type::FromBits(low), width = Type::Width(low, high);
  const bool is_unit = width == 1 && minval == 0;
  if constexpr (Type::kIsNarrow) {
    using Rule = std::conditional_t<std::is_same_v<Type, BF16<Isa>>, typename Isa::BF16, NarrowRule<Standard, AffineIn<Type>>>;
    if (is_unit) return From::Fill(piece, NarrowUnitRule<Type>());
    From::Fill(piece, Rule(AffineIn<Type>(width * Standard::kStep, minval)));
  } else {
    if (is_unit) return From::Fill(piece, Standard());
    From::Fill(piece, ScaledRule<Standard, AffineIn<Type>>(AffineIn<Type>(width, minval)));
  }
}

/// 32-bit integers in a range.
template <class Isa, class From>
void FillI32(const Piece& piece, std::uint64_t low, std::uint64_t high) {
  const std::uint32_t minval = static_cast<std::uint32_t>(low);
  const std::uint32_t width = static_cast<std::uint32_t>(high) - minval;
  if (width > std::uint32_t{1} << 31) return From::Fill(piece, I32WideRule<Isa>(width, minval));
  From::Fill(piece, I32Rule<Isa>(width, minval));
}

/// 64-bit integers in a range.
template <class Isa, class From>
void FillI64(const Piece& piece, std::uint64_t low, std::uint64_t high) {
  const std::uint64_t width = high - low;
  if (width > std::uint64_t{1} << 63) return From::Fill(piece, I64WideRule<Isa>(width, low));
  if (width > std::uint64_t{1} << 16) return From::Fill(piece, I64Rule<Isa, typename Isa::Remainder64>(width, low));
  From::Fill(piece, I64Rule<Isa, typename Isa::SmallRemainder64>(width, low));
}

/// Normal values.
template <class Isa, class From, class Type>
void FillNormals(const Piece& piece, std::uint64_t mean, std::uint64_t scale) {
  using Rule = std::conditional_t<Type::kIsNarrow, NarrowNormalRule<Type>, NormalRule<Type>>;
  From::Fill(piece, Rule(AffineIn<Type>(Type::FromBits(scale), Type::FromBits(mean))));
}

/// Exponential values.
template <class Isa, class From, class Type>
void FillExponentials(const Piece& piece, std::uint64_t scale_bits) {
  const ScaleIn<Type> scale(Type::FromBits(scale_bits));
  if constexpr (Type::kIsNarrow) {
    From::Fill(piece, NarrowRule<ExponentialOfWords<Isa, true>, ScaleIn<Type>, true>(scale));
  } else if constexpr (sizeof(typename Type::Number) == 8) {
    From::Fill(piece, ScaledRule<ExponentialF64<Isa>, ScaleIn<Type>>(scale));
  } else {
    From::Fill(piece, ScaledRule<ExponentialOfWords<Isa, false>, ScaleIn<Type>>(scale));
  }
}

}  // namespace onnx_philox
