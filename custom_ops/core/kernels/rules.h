// The conversions, each written once over an instruction set's primitives (the `Isa` of engine.h).
//
// A rule is built once per fill from the parameters and turns registers of words, in stream order, into registers of
// output, as its `RuleOf` says. All of it is inlined, whatever a compiler thinks of its size.
// Floats in the environment of float_environment.h; contraction to FMA must be off.
//
// Internal: included only by the files that are compiled for each instruction set, where every template argument has
// internal linkage.
#pragma once

#include <cstdint>

#include "elementary.h"
#include "floats.h"
#include "inlining.h"
#include "philox.h"

namespace onnx_philox {

/// What a rule makes of the registers of a group.
enum class Form {
  kEach,    ///< rule(words): a register of each
  kPairs,   ///< rule(a, b): changes two of them in place
  kNarrow,  ///< rule(a, b): a register of 16-bit elements of two
  kBytes,   ///< rule(words, out): stores a byte for each element of a group
};

/// What every rule says of itself. Two words give one element in each 64-bit lane. `kSwap` asks for the two words of
/// each lane exchanged (first word high), which costs the generator's last round nothing.
template <unsigned kWords, bool kSwap, Form kHow>
struct RuleOf {
  static constexpr unsigned kWordsPerElement = kWords;
  static constexpr bool kSwapped = kSwap;
  static constexpr Form kForm = kHow;
};

/// RandomGenerator: the words themselves.
template <class Isa>
struct BitsRule : RuleOf<1, false, Form::kEach> {
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const { return words; }
};

/// The two pairs of words of each block, the first word of a pair high.
template <class Isa>
struct WordPairsRule : RuleOf<2, true, Form::kEach> {
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const { return words; }
};

// Standard uniforms.

/// f32 in [0, 1). `u * 1 + 0` and `u * 1 + -0` are u, so this serves every range of width 1 that begins at a zero.
template <class Isa>
struct F32UnitRule : RuleOf<1, false, Form::kEach> {
  typename Isa::Words mask = Isa::Splat32(0x007FFFFFu), one = Isa::Splat32(0x3F800000u);
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF32(Isa::MaskOr(words, mask, one), one);
  }
};

/// f64: the first word gives the high bits.
template <class Isa>
struct F64UnitRule : RuleOf<2, true, Form::kEach> {
  typename Isa::Words mask = Isa::Splat64(0x000FFFFFFFFFFFFFu), one = Isa::Splat64(0x3FF0000000000000u);
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF64(Isa::MaskOr(words, mask, one), one);
  }
};

/// The integer of a word's low bits as a float32, exactly: below 2^23 it is the fraction of a number in [2^23, 2^24). A
/// uniform of 16 bits is this integer times a power of two, so its width is scaled by that power, also exactly.
template <class Isa, unsigned kBits>
struct FractionRule : RuleOf<1, false, Form::kEach> {
  static constexpr float kStep = 1.0f / (1u << kBits);
  typename Isa::Words mask = Isa::Splat32((1u << kBits) - 1), two23 = Isa::Splat32(0x4B000000u);
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF32(Isa::MaskOr(words, mask, two23), two23);
  }
};

// The float types: which lanes compute them, how a product is rounded before the next operation, and, of 16 bits, how
// two registers become one: rounded, or where they hold values of the type already.
//
// float16 and bfloat16 are computed in float32 and rounded to 16 bits after each operation. That is the correctly rounded
// 16-bit result: a product is exact in float32 (11 + 11 and 8 + 8 significant bits; a bfloat16 product too small for
// float32 is 0 in both), and a float32 sum rounded again is the rounded sum because 24 >= 2 * 11 + 2 (Figueroa 1995).
// `Narrow` rounds the last operation.

template <class Isa>
struct F32 {
  using Words = typename Isa::Words;
  using Number = float;
  using Lanes = LanesF32<Isa>;
  using Standard = F32UnitRule<Isa>;
  static constexpr bool kIsNarrow = false;
  static float FromBits(std::uint64_t bits) { return F32FromBits(bits); }
  static float Width(std::uint64_t minval, std::uint64_t maxval) { return WidthF32(minval, maxval); }
  static Words Splat(float x) { return Isa::Splat32(BitCast<std::uint32_t>(x)); }
  ONNX_PHILOX_INLINE Words Rounded(Words x) const { return x; }
};

template <class Isa>
struct F64 {
  using Words = typename Isa::Words;
  using Number = double;
  using Lanes = LanesF64<Isa>;
  using Standard = F64UnitRule<Isa>;
  static constexpr bool kIsNarrow = false;
  static double FromBits(std::uint64_t bits) { return F64FromBits(bits); }
  static double Width(std::uint64_t minval, std::uint64_t maxval) { return WidthF64(minval, maxval); }
  static Words Splat(double x) { return Isa::Splat64(BitCast<std::uint64_t>(x)); }
  ONNX_PHILOX_INLINE Words Rounded(Words x) const { return x; }
};

template <class Isa>
struct F16 : F32<Isa> {
  using Words = typename Isa::Words;
  using Standard = FractionRule<Isa, 10>;
  static constexpr bool kIsNarrow = true;
  static float FromBits(std::uint64_t bits) { return F32FromF16(bits); }
  static float Width(std::uint64_t minval, std::uint64_t maxval) { return WidthF16(minval, maxval); }
  ONNX_PHILOX_INLINE Words Rounded(Words x) const { return Isa::RoundToF16(x); }
  ONNX_PHILOX_INLINE Words Narrow(Words a, Words b) const { return Isa::NarrowToF16(a, b); }
  static Words NarrowExact(Words a, Words b) { return Isa::NarrowToF16(a, b); }
};

template <class Isa>
struct BF16 : F32<Isa> {
  using Words = typename Isa::Words;
  using Standard = FractionRule<Isa, 7>;
  static constexpr bool kIsNarrow = true;
  Words upper = Isa::Splat32(0xFFFF0000u);
  typename Isa::RoundBF16 round;
  static float FromBits(std::uint64_t bits) { return F32FromBF16(bits); }
  static float Width(std::uint64_t minval, std::uint64_t maxval) { return WidthBF16(minval, maxval); }
  ONNX_PHILOX_INLINE Words Rounded(Words x) const { return Isa::And(round(x), upper); }
  ONNX_PHILOX_INLINE Words Narrow(Words a, Words b) const { return NarrowExact(round(a), round(b)); }
  static Words NarrowExact(Words a, Words b) { return Isa::NarrowToUpperHalves(a, b); }
};

/// x * scale + offset.
template <class Type>
struct AffineIn {
  using Words = typename Type::Words;
  Type type;
  Words scale, offset;
  AffineIn(typename Type::Number scale_value, typename Type::Number offset_value)
      : scale(Type::Splat(scale_value)), offset(Type::Splat(offset_value)) {}
  ONNX_PHILOX_INLINE Words operator()(Words x) const {
    return Type::Lanes::Add(type.Rounded(Type::Lanes::Multiply(x, scale)), offset);
  }
};

/// x * scale.
template <class Type>
struct ScaleIn {
  using Words = typename Type::Words;
  Type type;
  Words scale;
  explicit ScaleIn(typename Type::Number scale_value) : scale(Type::Splat(scale_value)) {}
  ONNX_PHILOX_INLINE Words operator()(Words x) const { return Type::Lanes::Multiply(x, scale); }
};

/// Standard values, scaled.
template <class Standard, class Scaled>
struct ScaledRule : RuleOf<Standard::kWordsPerElement, Standard::kSwapped, Form::kEach> {
  using Words = typename Scaled::Words;
  Standard standard;
  Scaled scaled;
  explicit ScaledRule(const Scaled& given) : scaled(given) {}
  ONNX_PHILOX_INLINE Words operator()(Words words) const { return scaled(standard(words)); }
};

/// The same of a type of 16 bits. Only exponentials are not of that type yet.
template <class Standard, class Scaled, bool kIsToRound = false>
struct NarrowRule : RuleOf<1, false, Form::kNarrow> {
  using Words = typename Scaled::Words;
  Standard standard;
  Scaled scaled;
  explicit NarrowRule(const Scaled& given) : scaled(given) {}
  ONNX_PHILOX_INLINE Words Each(Words words) const {
    const Words x = standard(words);
    return scaled(kIsToRound ? scaled.type.Rounded(x) : x);
  }
  ONNX_PHILOX_INLINE Words operator()(Words a, Words b) const { return scaled.type.Narrow(Each(a), Each(b)); }
};

/// Standard uniforms of 16 bits: they have few enough of them that nothing is rounded.
template <class Type>
struct NarrowUnitRule : RuleOf<1, false, Form::kNarrow> {
  using Words = typename Type::Words;
  typename Type::Standard standard;
  Words step = Type::Splat(Type::Standard::kStep);
  ONNX_PHILOX_INLINE Words operator()(Words a, Words b) const {
    return Type::NarrowExact(Type::Lanes::Multiply(standard(a), step), Type::Lanes::Multiply(standard(b), step));
  }
};

template <class Isa>
using BF16Rule = NarrowRule<typename BF16<Isa>::Standard, AffineIn<BF16<Isa>>>;

/// The same from a table of all 128 values, for instruction sets that hold one in registers and look up in it at once.
template <class Isa>
struct BF16TableRule : RuleOf<1, false, Form::kNarrow> {
  typename Isa::Table128 table;
  explicit BF16TableRule(const AffineIn<BF16<Isa>>& affine) {
    const BF16Rule<Isa> rule(affine);
    typename Isa::Words values = Isa::CountWords();
    const typename Isa::Words step = Isa::Splat32(Isa::kBlocks * kWordsPerBlock / Isa::kWords);
    for (typename Isa::Words& part : table.part) {
      const typename Isa::Words next = Isa::Add32(values, step);
      part = rule(values, next);
      values = Isa::Add32(next, step);
    }
  }
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::LookUp(table, Isa::NarrowToLowerHalves(a, b));
  }
};

// Normals. `x * scale + mean` is done whatever they are: even `x * 1 + 0` makes 0 of -0.

template <class Type>
struct NormalRule : RuleOf<sizeof(typename Type::Number) / 4, sizeof(typename Type::Number) == 8, Form::kPairs> {
  using Words = typename Type::Words;
  AffineIn<Type> affine;
  explicit NormalRule(const AffineIn<Type>& given) : affine(given) {}
  ONNX_PHILOX_INLINE void operator()(Words& a, Words& b) const {
    NormalPairs<typename Type::Lanes>(a, b);
    a = affine(affine.type.Rounded(a));
    b = affine(affine.type.Rounded(b));
  }
};

template <class Type>
struct NarrowNormalRule : RuleOf<1, false, Form::kNarrow> {
  using Words = typename Type::Words;
  NormalRule<Type> pairs;
  explicit NarrowNormalRule(const AffineIn<Type>& given) : pairs(given) {}
  ONNX_PHILOX_INLINE Words operator()(Words a, Words b) const {
    pairs(a, b);
    return pairs.affine.type.Narrow(a, b);
  }
};

// Exponentials: -ln of a uniform in the middle of its step, as a float64, rounded once to the output type, times `scale`.
// The sum of half a step is exact: it is in the constant that is subtracted.

/// Of bits that are the fraction of a float64 from `top` on: those that `mask` keeps count steps.
template <class Isa>
struct StandardExponential {
  typename Isa::Words mask, top, top_less_half, half = Isa::Splat64(BitCast<std::uint64_t>(0.5));
  StandardExponential(std::uint64_t mask_value, double top_value, double half_step)
      : mask(Isa::Splat64(mask_value)),
        top(Isa::Splat64(BitCast<std::uint64_t>(top_value))),
        top_less_half(Isa::Splat64(BitCast<std::uint64_t>(top_value - half_step))) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words bits) const {
    const typename Isa::Words u = Isa::SubtractF64(Isa::MaskOr(bits, mask, top), top_less_half);
    return Isa::MultiplyF64(MinusTwoLn<LanesF64<Isa>>(u), half);
  }
};

/// Of 32-bit words, as float32. A word is the fraction of a number in [2^20, 2^20 + 1): 52 bits less 20 leave it steps of
/// 2^-32. For a type of 16 bits, rounding to it must not be the second rounding. So the bits that a float32 lacks are cut
/// off, and leave a 1 in the last place if one of them was 1. No tie is made or broken by that, for a float32 has more
/// than two bits more than what is rounded to.
template <class Isa, bool kIsToRound>
struct ExponentialOfWords : RuleOf<1, false, Form::kEach> {
  using Words = typename Isa::Words;
  static constexpr std::uint64_t kCut = (std::uint64_t{1} << 29) - 1;
  StandardExponential<Isa> standard{~std::uint64_t{0}, 0x1p20, 0x1p-33};
  Words cut = Isa::Splat64(kCut), kept = Isa::Splat64(~kCut);
  ONNX_PHILOX_INLINE Words Wide(Words word) const {
    const Words x = standard(word);
    if constexpr (!kIsToRound) return x;
    return Isa::And(Isa::MaskOr(x, kept, Isa::Add64(Isa::And(x, cut), cut)), kept);
  }
  ONNX_PHILOX_INLINE Words operator()(Words words) const {
    return Isa::F32FromF64(Wide(Isa::FirstHalf32(words)), Wide(Isa::SecondHalf32(words)));
  }
};

template <class Isa>
struct ExponentialF64 : RuleOf<2, true, Form::kEach> {
  StandardExponential<Isa> standard{0x000FFFFFFFFFFFFFu, 1.0, 0x1p-53};
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const { return standard(words); }
};

/// i32, width above 2^31: a word is at most once the width too large.
template <class Isa>
struct I32WideRule : RuleOf<1, false, Form::kEach> {
  typename Isa::Words width, minval;
  I32WideRule(std::uint32_t width_value, std::uint32_t minval_value)
      : width(Isa::Splat32(width_value)), minval(Isa::Splat32(minval_value)) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::Add32(Isa::SubtractIfNotBelow32(words, width), minval);
  }
};

/// i32, any width: the quotient by m = floor((2^32 - 1) / width) is right or one too small, for
/// x / width - x * m / 2^32 <= x / 2^32 < 1. So one conditional subtraction repairs the remainder.
template <class Isa>
struct I32Rule : RuleOf<1, false, Form::kEach> {
  typename Isa::Words width, minval, inverse;
  I32Rule(std::uint32_t width_value, std::uint32_t minval_value)
      : width(Isa::Splat32(width_value)),
        minval(Isa::Splat32(minval_value)),
        inverse(Isa::Splat32(0xFFFFFFFFu / width_value)) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    const typename Isa::Words quotient = Isa::MultiplyHigh32(words, inverse);
    const typename Isa::Words remainder = Isa::Subtract32(words, Isa::MultiplyLow32(quotient, width));
    return Isa::Add32(Isa::SubtractIfNotBelow32(remainder, width), minval);
  }
};

/// i64, width above 2^63.
template <class Isa>
struct I64WideRule : RuleOf<2, false, Form::kEach> {
  typename Isa::Words width, minval;
  I64WideRule(std::uint64_t width_value, std::uint64_t minval_value)
      : width(Isa::Splat64(width_value)), minval(Isa::Splat64(minval_value)) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::Add64(Isa::SubtractIfNotBelow64(words, width), minval);
  }
};

/// i64 with the remainder by `Remainder`, one of the instruction set's.
template <class Isa, class Remainder>
struct I64Rule : RuleOf<2, false, Form::kEach> {
  Remainder remainder;
  typename Isa::Words minval;
  I64Rule(std::uint64_t width_value, std::uint64_t minval_value)
      : remainder(width_value), minval(Isa::Splat64(minval_value)) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words words) const { return Isa::Add64(remainder(words), minval); }
};

/// An i64 remainder by way of a float64 quotient, for instruction sets whose vectors cannot multiply 64 x 64 -> 128.
///
/// With x < 2^64 and width in (2^16, 2^63], x / width is below 2^48. Four roundings (x, width, 1 / width, the product)
/// leave a relative error below 2^-50, so the quotient rounded to an integer is within 0.5 + 2^-2 of x / width and
/// x - quotient * width lies strictly between -width and width: one conditional addition repairs it.
template <class Isa>
struct FloatRemainder64 {
  typename Isa::Words width, inverse;
  explicit FloatRemainder64(std::uint64_t width_value)
      : width(Isa::Splat64(width_value)),
        inverse(Isa::Splat64(BitCast<std::uint64_t>(1.0 / static_cast<double>(width_value)))) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words x) const {
    const typename Isa::Words quotient = Isa::NearestInteger64(Isa::MultiplyF64(Isa::IntegerToF64(x), inverse));
    return Isa::AddIfNegative64(Isa::Subtract64(x, Isa::MultiplyLow64(quotient, width)), width);
  }
};

/// The same for width <= 2^16, where x / width can need more bits than a float64 has. First x, which is
/// high * 2^32 + low, becomes high * (2^32 mod width) + low: congruent, and below 2^49.
template <class Isa>
struct SmallFloatRemainder64 {
  typename Isa::Words width, inverse, two32;
  explicit SmallFloatRemainder64(std::uint64_t width_value)
      : width(Isa::Splat64(width_value)),
        inverse(Isa::Splat64(BitCast<std::uint64_t>(1.0 / static_cast<double>(width_value)))),
        two32(Isa::Splat64((std::uint64_t{1} << 32) % width_value)) {}
  ONNX_PHILOX_INLINE typename Isa::Words operator()(typename Isa::Words x) const {
    const typename Isa::Words y = Isa::FoldHigh64(x, two32);
    const typename Isa::Words quotient = Isa::NearestInteger64(Isa::MultiplyF64(Isa::SmallIntegerToF64(y), inverse));
    return Isa::AddIfNegative64(Isa::Subtract64(y, Isa::MultiplySmall64(quotient, width)), width);
  }
};

// Bernoulli with one p. u = k / 2^23 (f64: 2^52) is below p where the integer k is below p * 2^23 rounded up.

template <class Isa>
struct BernoulliF32Rule : RuleOf<1, false, Form::kBytes> {
  typename Isa::Words mask = Isa::Splat32(0x007FFFFFu);
  typename Isa::Words limit;
  explicit BernoulliF32Rule(std::uint32_t limit_value) : limit(Isa::Splat32(limit_value)) {}
  ONNX_PHILOX_INLINE void operator()(const typename Isa::Words (&words)[Isa::kWords], unsigned char* out) const {
    Isa::StoreBelow32(words, mask, limit, out);
  }
};

template <class Isa>
struct BernoulliF64Rule : RuleOf<2, true, Form::kBytes> {
  typename Isa::Words mask = Isa::Splat64(0x000FFFFFFFFFFFFFu);
  typename Isa::Words limit;
  explicit BernoulliF64Rule(std::uint64_t limit_value) : limit(Isa::Splat64(limit_value)) {}
  ONNX_PHILOX_INLINE void operator()(const typename Isa::Words (&words)[Isa::kWords], unsigned char* out) const {
    Isa::StoreBelow64(words, mask, limit, out);
  }
};

}  // namespace onnx_philox
