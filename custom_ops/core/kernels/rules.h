// The conversions, each written once over an instruction set's primitives (the `Isa` of engine.h).
//
// A rule is built once per fill from the parameters and turns registers of words, in stream order, into registers of
// output, as `kForm` says. `kWordsPerElement` 2 gives one element per 64-bit lane; `kSwapped` asks for the two words of
// each lane exchanged (first word high), which costs the generator's last round nothing.
// Floats in the environment of float_environment.h; contraction to FMA must be off.
//
// Internal: included only by the kernels_*.cpp files, where every template argument has internal linkage.
#pragma once

#include <cstdint>

#include "elementary.h"
#include "floats.h"
#include "philox.h"

namespace onnx_philox {

/// What a rule makes of the registers of a group.
enum class Form {
  kEach,    ///< rule(words): a register of each
  kPairs,   ///< rule(a, b): changes two of them in place
  kNarrow,  ///< rule(a, b): a register of 16-bit elements of two
  kBytes,   ///< rule(words, out): stores a byte for each element of a group
};

/// RandomGenerator: the words themselves.
template <class Isa>
struct BitsRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words operator()(typename Isa::Words words) const { return words; }
};

/// f32 in [0, 1). `u * 1 + 0` and `u * 1 + -0` are u, so this serves every range of width 1 that begins at a zero.
template <class Isa>
struct F32UnitRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words mask = Isa::Splat32(0x007FFFFFu);
  typename Isa::Words one = Isa::Splat32(0x3F800000u);
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF32(Isa::MaskOr(words, mask, one), one);
  }
};

template <class Isa>
struct F32Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  F32UnitRule<Isa> unit;
  typename Isa::Words width, minval;
  F32Rule(float width_value, float minval_value)
      : width(Isa::Splat32(BitCast<std::uint32_t>(width_value))),
        minval(Isa::Splat32(BitCast<std::uint32_t>(minval_value))) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::AddF32(Isa::MultiplyF32(unit(words), width), minval);
  }
};

/// The integer `words & mask` as a float32, exactly: below 2^23 it is the fraction of a number in [2^23, 2^24).
template <class Isa>
struct FractionAsF32 {
  typename Isa::Words mask;
  typename Isa::Words two23 = Isa::Splat32(0x4B000000u);
  explicit FractionAsF32(std::uint32_t mask_value) : mask(Isa::Splat32(mask_value)) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF32(Isa::MaskOr(words, mask, two23), two23);
  }
};

// float16 and bfloat16 are computed in float32 and rounded to 16 bits after each operation. That is the correctly rounded
// 16-bit result: a product is exact in float32 (11 + 11 and 8 + 8 significant bits; a bfloat16 product too small for
// float32 is 0 in both), and a float32 sum rounded again is the rounded sum because 24 >= 2 * 11 + 2 (Figueroa 1995).

/// x * scale + mean of float16 values in float32 lanes, the product rounded; for NarrowToF16.
template <class Isa>
struct AffineF16 {
  typename Isa::Words scale, mean;
  AffineF16(float scale_value, float mean_value)
      : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))),
        mean(Isa::Splat32(BitCast<std::uint32_t>(mean_value))) {}
  typename Isa::Words operator()(typename Isa::Words x) const {
    return Isa::AddF32(Isa::RoundToF16(Isa::MultiplyF32(x, scale)), mean);
  }
};

/// The same of bfloat16 values; for NarrowToUpperHalves.
template <class Isa>
struct AffineBF16 {
  typename Isa::Words scale, mean;
  typename Isa::Words upper = Isa::Splat32(0xFFFF0000u);
  typename Isa::RoundBF16 round;
  AffineBF16(float scale_value, float mean_value)
      : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))),
        mean(Isa::Splat32(BitCast<std::uint32_t>(mean_value))) {}
  typename Isa::Words operator()(typename Isa::Words x) const {
    const typename Isa::Words product = Isa::And(round(Isa::MultiplyF32(x, scale)), upper);
    return round(Isa::AddF32(product, mean));
  }
};

// A uniform u is an integer k times a power of two, so the width is scaled by that power, also exactly, and k is
// multiplied.

template <class Isa>
struct F16UnitRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  FractionAsF32<Isa> fraction{0x03FFu};
  typename Isa::Words scale = Isa::Splat32(BitCast<std::uint32_t>(0x1p-10f));
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::NarrowToF16(Isa::MultiplyF32(fraction(a), scale), Isa::MultiplyF32(fraction(b), scale));
  }
};

template <class Isa>
struct F16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  FractionAsF32<Isa> fraction{0x03FFu};
  AffineF16<Isa> affine;
  F16Rule(float width, float minval) : affine(width * 0x1p-10f, minval) {}
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::NarrowToF16(affine(fraction(a)), affine(fraction(b)));
  }
};

template <class Isa>
struct BF16UnitRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  FractionAsF32<Isa> fraction{0x007Fu};
  typename Isa::Words scale = Isa::Splat32(BitCast<std::uint32_t>(0x1p-7f));
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    // Seven bits: nothing to round.
    return Isa::NarrowToUpperHalves(Isa::MultiplyF32(fraction(a), scale), Isa::MultiplyF32(fraction(b), scale));
  }
};

template <class Isa>
struct BF16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  FractionAsF32<Isa> fraction{0x007Fu};
  AffineBF16<Isa> affine;
  BF16Rule(float width, float minval) : affine(width * 0x1p-7f, minval) {}
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::NarrowToUpperHalves(affine(fraction(a)), affine(fraction(b)));
  }
};

/// The same from a table of all 128 values, for instruction sets that hold one in registers and look up in it at once.
template <class Isa>
struct BF16TableRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  typename Isa::Table128 table;
  BF16TableRule(float width_value, float minval_value) {
    const BF16Rule<Isa> rule(width_value, minval_value);
    typename Isa::Words values = Isa::CountWords();
    const typename Isa::Words step = Isa::Splat32(Isa::kBlocks * kWordsPerBlock / Isa::kWords);
    for (typename Isa::Words& part : table.part) {
      const typename Isa::Words next = Isa::Add32(values, step);
      part = rule(values, next);
      values = Isa::Add32(next, step);
    }
  }
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::LookUp(table, Isa::NarrowToLowerHalves(a, b));
  }
};

/// f64: the first word gives the high bits.
template <class Isa>
struct F64UnitRule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = true;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words mask = Isa::Splat64(0x000FFFFFFFFFFFFFu);
  typename Isa::Words one = Isa::Splat64(0x3FF0000000000000u);
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::SubtractF64(Isa::MaskOr(words, mask, one), one);
  }
};

template <class Isa>
struct F64Rule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = true;
  static constexpr Form kForm = Form::kEach;
  F64UnitRule<Isa> unit;
  typename Isa::Words width, minval;
  F64Rule(double width_value, double minval_value)
      : width(Isa::Splat64(BitCast<std::uint64_t>(width_value))),
        minval(Isa::Splat64(BitCast<std::uint64_t>(minval_value))) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::AddF64(Isa::MultiplyF64(unit(words), width), minval);
  }
};

/// i32, width above 2^31: a word is at most once the width too large.
template <class Isa>
struct I32WideRule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words width, minval;
  I32WideRule(std::uint32_t width_value, std::uint32_t minval_value)
      : width(Isa::Splat32(width_value)), minval(Isa::Splat32(minval_value)) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::Add32(Isa::SubtractIfNotBelow32(words, width), minval);
  }
};

/// i32, any width: the quotient by m = floor((2^32 - 1) / width) is right or one too small, for
/// x / width - x * m / 2^32 <= x / 2^32 < 1. So one conditional subtraction repairs the remainder.
template <class Isa>
struct I32Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words width, minval, inverse;
  I32Rule(std::uint32_t width_value, std::uint32_t minval_value)
      : width(Isa::Splat32(width_value)),
        minval(Isa::Splat32(minval_value)),
        inverse(Isa::Splat32(0xFFFFFFFFu / width_value)) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    const typename Isa::Words quotient = Isa::MultiplyHigh32(words, inverse);
    const typename Isa::Words remainder = Isa::Subtract32(words, Isa::MultiplyLow32(quotient, width));
    return Isa::Add32(Isa::SubtractIfNotBelow32(remainder, width), minval);
  }
};

/// i64, width above 2^63.
template <class Isa>
struct I64WideRule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words width, minval;
  I64WideRule(std::uint64_t width_value, std::uint64_t minval_value)
      : width(Isa::Splat64(width_value)), minval(Isa::Splat64(minval_value)) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::Add64(Isa::SubtractIfNotBelow64(words, width), minval);
  }
};

/// i64 with the remainder by `Remainder`, one of the instruction set's.
template <class Isa, class Remainder>
struct I64Rule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  Remainder remainder;
  typename Isa::Words minval;
  I64Rule(std::uint64_t width_value, std::uint64_t minval_value)
      : remainder(width_value), minval(Isa::Splat64(minval_value)) {}
  typename Isa::Words operator()(typename Isa::Words words) const { return Isa::Add64(remainder(words), minval); }
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
  typename Isa::Words operator()(typename Isa::Words x) const {
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
  typename Isa::Words operator()(typename Isa::Words x) const {
    const typename Isa::Words y = Isa::FoldHigh64(x, two32);
    const typename Isa::Words quotient = Isa::NearestInteger64(Isa::MultiplyF64(Isa::SmallIntegerToF64(y), inverse));
    return Isa::AddIfNegative64(Isa::Subtract64(y, Isa::MultiplySmall64(quotient, width)), width);
  }
};

// Normals. `x * scale + mean` is done whatever they are: even `x * 1 + 0` makes 0 of -0.

template <class Isa>
struct NormalF32Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kPairs;
  typename Isa::Words scale, mean;
  NormalF32Rule(float scale_value, float mean_value)
      : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))),
        mean(Isa::Splat32(BitCast<std::uint32_t>(mean_value))) {}
  void operator()(typename Isa::Words& a, typename Isa::Words& b) const {
    NormalPairs<LanesF32<Isa>>(a, b);
    a = Isa::AddF32(Isa::MultiplyF32(a, scale), mean);
    b = Isa::AddF32(Isa::MultiplyF32(b, scale), mean);
  }
};

template <class Isa>
struct NormalF64Rule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = true;
  static constexpr Form kForm = Form::kPairs;
  typename Isa::Words scale, mean;
  NormalF64Rule(double scale_value, double mean_value)
      : scale(Isa::Splat64(BitCast<std::uint64_t>(scale_value))),
        mean(Isa::Splat64(BitCast<std::uint64_t>(mean_value))) {}
  void operator()(typename Isa::Words& a, typename Isa::Words& b) const {
    NormalPairs<LanesF64<Isa>>(a, b);
    a = Isa::AddF64(Isa::MultiplyF64(a, scale), mean);
    b = Isa::AddF64(Isa::MultiplyF64(b, scale), mean);
  }
};

template <class Isa>
struct NormalF16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  AffineF16<Isa> affine;
  NormalF16Rule(float scale, float mean) : affine(scale, mean) {}
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    NormalPairs<LanesF32<Isa>>(a, b);
    return Isa::NarrowToF16(affine(Isa::RoundToF16(a)), affine(Isa::RoundToF16(b)));
  }
};

template <class Isa>
struct NormalBF16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  AffineBF16<Isa> affine;
  NormalBF16Rule(float scale, float mean) : affine(scale, mean) {}
  typename Isa::Words Affine(typename Isa::Words x) const { return affine(Isa::And(affine.round(x), affine.upper)); }
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    NormalPairs<LanesF32<Isa>>(a, b);
    return Isa::NarrowToUpperHalves(Affine(a), Affine(b));
  }
};

// Exponentials: -ln of a uniform in the middle of its step, as a float64, rounded once to the output type, times `scale`.
// The sum of half a step is exact: it is in the constant that is subtracted.

/// Standard exponentials of 32-bit words, as float64: of the first half of a register, or of the second.
template <class Isa>
struct ExponentialOfWords {
  typename Isa::Words two20 = Isa::Splat64(BitCast<std::uint64_t>(0x1p20));
  typename Isa::Words two20_less_half = Isa::Splat64(BitCast<std::uint64_t>(0x1p20 - 0x1p-33));
  typename Isa::Words all = Isa::Splat64(~std::uint64_t{0});
  typename Isa::Words half = Isa::Splat64(BitCast<std::uint64_t>(0.5));
  /// The word is the fraction of a number in [2^20, 2^20 + 1): 52 bits less 20 leave it steps of 2^-32.
  typename Isa::Words operator()(typename Isa::Words word) const {
    const typename Isa::Words u = Isa::SubtractF64(Isa::MaskOr(word, all, two20), two20_less_half);
    return Isa::MultiplyF64(MinusTwoLn<LanesF64<Isa>>(u), half);
  }
};

template <class Isa>
struct ExponentialF32Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kEach;
  ExponentialOfWords<Isa> standard;
  typename Isa::Words scale;
  explicit ExponentialF32Rule(float scale_value) : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    const typename Isa::Words x = Isa::F32FromF64(standard(Isa::FirstHalf32(words)), standard(Isa::SecondHalf32(words)));
    return Isa::MultiplyF32(x, scale);
  }
};

/// Standard exponentials as float32, for a type of 16 bits: rounding to it must not be the second rounding. So the bits
/// that a float32 lacks are cut off, and leave a 1 in the last place if one of them was 1. No tie is made or broken by
/// that, for a float32 has more than two bits more than what is rounded to.
template <class Isa>
struct ExponentialToRound {
  static constexpr std::uint64_t kCut = (std::uint64_t{1} << 29) - 1;
  ExponentialOfWords<Isa> standard;
  typename Isa::Words cut = Isa::Splat64(kCut), kept = Isa::Splat64(~kCut);
  typename Isa::Words Cut(typename Isa::Words x) const {
    const typename Isa::Words sticky = Isa::Add64(Isa::And(x, cut), cut);
    return Isa::And(Isa::MaskOr(x, kept, sticky), kept);
  }
  typename Isa::Words operator()(typename Isa::Words words) const {
    return Isa::F32FromF64(Cut(standard(Isa::FirstHalf32(words))), Cut(standard(Isa::SecondHalf32(words))));
  }
};

template <class Isa>
struct ExponentialF16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  ExponentialToRound<Isa> standard;
  typename Isa::Words scale;
  explicit ExponentialF16Rule(float scale_value) : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))) {}
  typename Isa::Words Scaled(typename Isa::Words words) const {
    return Isa::MultiplyF32(Isa::RoundToF16(standard(words)), scale);
  }
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::NarrowToF16(Scaled(a), Scaled(b));
  }
};

template <class Isa>
struct ExponentialBF16Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kNarrow;
  ExponentialToRound<Isa> standard;
  typename Isa::Words scale;
  typename Isa::Words upper = Isa::Splat32(0xFFFF0000u);
  typename Isa::RoundBF16 round;
  explicit ExponentialBF16Rule(float scale_value) : scale(Isa::Splat32(BitCast<std::uint32_t>(scale_value))) {}
  typename Isa::Words Scaled(typename Isa::Words words) const {
    return round(Isa::MultiplyF32(Isa::And(round(standard(words)), upper), scale));
  }
  typename Isa::Words operator()(typename Isa::Words a, typename Isa::Words b) const {
    return Isa::NarrowToUpperHalves(Scaled(a), Scaled(b));
  }
};

template <class Isa>
struct ExponentialF64Rule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = true;
  static constexpr Form kForm = Form::kEach;
  typename Isa::Words mask = Isa::Splat64(0x000FFFFFFFFFFFFFu);
  typename Isa::Words one = Isa::Splat64(BitCast<std::uint64_t>(1.0));
  typename Isa::Words one_less_half = Isa::Splat64(BitCast<std::uint64_t>(1 - 0x1p-53));
  typename Isa::Words half = Isa::Splat64(BitCast<std::uint64_t>(0.5)), scale;
  explicit ExponentialF64Rule(double scale_value) : scale(Isa::Splat64(BitCast<std::uint64_t>(scale_value))) {}
  typename Isa::Words operator()(typename Isa::Words words) const {
    const typename Isa::Words u = Isa::SubtractF64(Isa::MaskOr(words, mask, one), one_less_half);
    return Isa::MultiplyF64(Isa::MultiplyF64(MinusTwoLn<LanesF64<Isa>>(u), half), scale);
  }
};

// Bernoulli with one p. u = k / 2^23 (f64: 2^52) is below p where the integer k is below p * 2^23 rounded up.

template <class Isa>
struct BernoulliF32Rule {
  static constexpr unsigned kWordsPerElement = 1;
  static constexpr bool kSwapped = false;
  static constexpr Form kForm = Form::kBytes;
  typename Isa::Words mask = Isa::Splat32(0x007FFFFFu);
  typename Isa::Words limit;
  explicit BernoulliF32Rule(std::uint32_t limit_value) : limit(Isa::Splat32(limit_value)) {}
  void operator()(const typename Isa::Words (&words)[Isa::kWords], unsigned char* out) const {
    Isa::StoreBelow32(words, mask, limit, out);
  }
};

template <class Isa>
struct BernoulliF64Rule {
  static constexpr unsigned kWordsPerElement = 2;
  static constexpr bool kSwapped = true;
  static constexpr Form kForm = Form::kBytes;
  typename Isa::Words mask = Isa::Splat64(0x000FFFFFFFFFFFFFu);
  typename Isa::Words limit;
  explicit BernoulliF64Rule(std::uint64_t limit_value) : limit(Isa::Splat64(limit_value)) {}
  void operator()(const typename Isa::Words (&words)[Isa::kWords], unsigned char* out) const {
    Isa::StoreBelow64(words, mask, limit, out);
  }
};

}  // namespace onnx_philox
