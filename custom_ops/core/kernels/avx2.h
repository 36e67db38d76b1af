// The primitives of the kernels for AVX2 (with F16C, and FMA for rough numbers: no conversion may use it).
//
// As in the AVX-512 kernels, a lane is 64 bits wide and its high half may hold anything: four blocks a register.
//
// Internal: included only by set.h.
#pragma once

#include <immintrin.h>

#include "rules.h"

namespace onnx_philox {
namespace {

struct Avx2 {
  using Lane = __m256i;
  using Product = __m256i;
  using Words = __m256i;
  static constexpr unsigned kBlocks = 4, kWords = 2, kGroups = 3;

  static Lane SplatLane(std::uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Product SplatProduct(std::uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
  /// Blocks n to n + 3 in the order in which Finish, interleaving two registers, gives them back in sequence.
  static Lane CountLanes(std::uint32_t n) { return _mm256_add_epi32(SplatLane(n), _mm256_setr_epi64x(0, 2, 1, 3)); }
  static Lane LoadLanes(const std::uint32_t* words) {
    const __m256i four = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
    return _mm256_permutevar8x32_epi32(four, _mm256_setr_epi32(0, 0, 2, 2, 1, 1, 3, 3));
  }
  static Lane AddLanes(Lane a, Lane b) { return _mm256_add_epi32(a, b); }
  static Product Multiply(Lane a, Lane b) { return _mm256_mul_epu32(a, b); }
  static Product AddProduct(Product a, Product b) { return _mm256_add_epi64(a, b); }
  static Lane High(Product p) { return _mm256_srli_epi64(p, 32); }
  static Lane Low(Product p) { return p; }
  static Lane Xor(Lane a, Lane b) { return _mm256_xor_si256(a, b); }
  static Lane Xor3(Lane a, Lane b, Lane c) { return Xor(a, Xor(b, c)); }

  /// See the AVX-512 kernels.
  template <bool kSwapped>
  static __m256i Pair(Product p, Lane c, Lane key) {
    if constexpr (kSwapped) {
      return Xor(p, _mm256_slli_epi64(Xor(c, key), 32));
    } else {
      const __m256i rotated = _mm256_shuffle_epi32(p, 0xB1);
      return _mm256_blend_epi32(Xor3(rotated, c, key), rotated, 0xAA);
    }
  }
  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const __m256i first = Pair<kSwapped>(p2, c1, key0), second = Pair<kSwapped>(p0, c3, key1);
    words[0] = _mm256_unpacklo_epi64(first, second);
    words[1] = _mm256_unpackhi_epi64(first, second);
  }

  static void Store(unsigned char* out, Words x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), x); }

  static Words Splat32(std::uint32_t x) { return SplatLane(x); }
  static Words Splat64(std::uint64_t x) { return SplatProduct(x); }
  static Words And(Words a, Words b) { return _mm256_and_si256(a, b); }
  static Words MaskOr(Words x, Words mask, Words bits) { return _mm256_or_si256(_mm256_and_si256(x, mask), bits); }

  static Words AddF32(Words a, Words b) { return Int(_mm256_add_ps(F32(a), F32(b))); }
  static Words SubtractF32(Words a, Words b) { return Int(_mm256_sub_ps(F32(a), F32(b))); }
  static Words MultiplyF32(Words a, Words b) { return Int(_mm256_mul_ps(F32(a), F32(b))); }
  static Words AddF64(Words a, Words b) { return Int(_mm256_add_pd(F64(a), F64(b))); }
  static Words SubtractF64(Words a, Words b) { return Int(_mm256_sub_pd(F64(a), F64(b))); }
  static Words MultiplyF64(Words a, Words b) { return Int(_mm256_mul_pd(F64(a), F64(b))); }
  /// See the AVX-512 kernels.
  static Words MultiplyAddF64(Words a, Words b, Words c) { return Int(_mm256_fmadd_pd(F64(a), F64(b), F64(c))); }
  static Words DivideF32(Words a, Words b) { return Int(_mm256_div_ps(F32(a), F32(b))); }
  static Words DivideF64(Words a, Words b) { return Int(_mm256_div_pd(F64(a), F64(b))); }
  static Words SqrtF32(Words x) { return Int(_mm256_sqrt_ps(F32(x))); }
  static Words SqrtF64(Words x) { return Int(_mm256_sqrt_pd(F64(x))); }
  static Words MaxF32(Words a, Words b) { return Int(_mm256_max_ps(F32(a), F32(b))); }
  static Words MaxF64(Words a, Words b) { return Int(_mm256_max_pd(F64(a), F64(b))); }
  /// x < limit ? 0 : y.
  static Words ZeroIfBelowF64(Words x, Words limit, Words y) {
    return And(Int(_mm256_cmp_pd(F64(x), F64(limit), _CMP_NLT_UQ)), y);
  }

  static Words SignedExponentF32(Words bits) { return Int(_mm256_cvtepi32_ps(_mm256_srai_epi32(bits, 23))); }
  /// There is no arithmetic shift of 64 bits: the exponent plus 2^11 is the fraction of a float64 in [2^52, 2^53).
  static Words SignedExponentF64(Words bits) {
    const Words biased = _mm256_srli_epi64(Xor(bits, Splat64(0x8000000000000000u)), 52);
    return SubtractF64(Xor(biased, Splat64(kTwo52)), Splat64(kTwo52 + 0x800));
  }
  template <int kBits>
  static Words ShiftLeft32(Words x) { return _mm256_slli_epi32(x, kBits); }
  template <int kBits>
  static Words ShiftLeft64(Words x) { return _mm256_slli_epi64(x, kBits); }
  /// x ^ (bits & mask).
  static Words XorMasked(Words x, Words bits, Words mask) { return Xor(x, And(bits, mask)); }
  // Blends look at the sign bits alone.
  static Words SelectIfOdd32(Words n, Words odd, Words even) {
    return Int(_mm256_blendv_ps(F32(even), F32(odd), F32(_mm256_slli_epi32(n, 31))));
  }
  static Words SelectIfOdd64(Words n, Words odd, Words even) {
    return Int(_mm256_blendv_pd(F64(even), F64(odd), F64(_mm256_slli_epi64(n, 63))));
  }

  // Within each 128 bits: apart, and back together.
  static Words Even32(Words a, Words b) { return Int(_mm256_shuffle_ps(F32(a), F32(b), 0x88)); }
  static Words Odd32(Words a, Words b) { return Int(_mm256_shuffle_ps(F32(a), F32(b), 0xDD)); }
  static Words ZipLow32(Words a, Words b) { return _mm256_unpacklo_epi32(a, b); }
  static Words ZipHigh32(Words a, Words b) { return _mm256_unpackhi_epi32(a, b); }
  static Words Even64(Words a, Words b) { return _mm256_unpacklo_epi64(a, b); }
  static Words Odd64(Words a, Words b) { return _mm256_unpackhi_epi64(a, b); }
  static Words ZipLow64(Words a, Words b) { return Even64(a, b); }
  static Words ZipHigh64(Words a, Words b) { return Odd64(a, b); }

  // The words of half a register, in 64-bit lanes; and two registers of float64 as one of float32, rounded.
  static Words FirstHalf32(Words x) { return _mm256_cvtepu32_epi64(_mm256_castsi256_si128(x)); }
  static Words SecondHalf32(Words x) { return _mm256_cvtepu32_epi64(_mm256_extracti128_si256(x, 1)); }
  static Words F32FromF64(Words a, Words b) {
    return Int(_mm256_set_m128(_mm256_cvtpd_ps(F64(b)), _mm256_cvtpd_ps(F64(a))));
  }

  static Words LoadF64(const unsigned char* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static Words LoadF32AsF64(const unsigned char* from) {
    return Int(_mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(from))));
  }
  static Words LoadF16AsF64(const unsigned char* from) {
    return Int(_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)))));
  }

  static Words LoadF16AsF32(const unsigned char* from) {
    return Int(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
  }

  /// A byte for each word: 1 where the bits under the mask are below the limit.
  static void StoreBelow32(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    const __m256i first = _mm256_cmpgt_epi32(limit, And(words[0], mask));
    const __m256i second = _mm256_cmpgt_epi32(limit, And(words[1], mask));
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);  // as above
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_and_si128(bytes, _mm_set1_epi8(1)));
  }
  static void StoreBelow64(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    const __m256i first = _mm256_cmpgt_epi64(limit, And(words[0], mask));
    const __m256i second = _mm256_cmpgt_epi64(limit, And(words[1], mask));
    const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
    const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    const __m128i bytes = _mm_packs_epi16(packed, packed);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_and_si128(bytes, _mm_set1_epi8(1)));
  }

  static __m128i ToF16(Words x) { return _mm256_cvtps_ph(F32(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Words RoundToF16(Words x) { return Int(_mm256_cvtph_ps(ToF16(x))); }
  static Words NarrowToF16(Words a, Words b) { return _mm256_set_m128i(ToF16(b), ToF16(a)); }
  struct RoundBF16 {
    Words half = Splat32(0x7FFFu), one = Splat32(1);
    Words operator()(Words x) const {
      const Words odd = And(_mm256_srli_epi32(x, 16), one);
      return _mm256_add_epi32(_mm256_add_epi32(x, half), odd);
    }
  };
  static Words NarrowToUpperHalves(Words a, Words b) {
    const __m256i packed = _mm256_packus_epi32(_mm256_srli_epi32(a, 16), _mm256_srli_epi32(b, 16));
    return _mm256_permute4x64_epi64(packed, 0xD8);  // the pack works within 128-bit halves: 0 2 1 3
  }

  using BF16 = BF16Rule<Avx2>;

  static Words Add32(Words a, Words b) { return _mm256_add_epi32(a, b); }
  static Words Subtract32(Words a, Words b) { return _mm256_sub_epi32(a, b); }
  static Words Min32(Words a, Words b) { return _mm256_min_epu32(a, b); }
  static Words Max32(Words a, Words b) { return _mm256_max_epu32(a, b); }
  static Words MultiplyLow32(Words a, Words b) { return _mm256_mullo_epi32(a, b); }
  static Words MultiplyHigh32(Words a, Words b) {
    const __m256i even = _mm256_mul_epu32(a, b);
    const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  }
  /// x >= limit ? x - limit : x. A difference below zero wraps to more than x.
  static Words SubtractIfNotBelow32(Words x, Words limit) {
    return _mm256_min_epu32(x, _mm256_sub_epi32(x, limit));
  }
  // What sorts words, as in the AVX-512 kernels.
  static Words HighWords(Words a, Words b) { return _mm256_permute4x64_epi64(Odd32(a, b), 0xD8); }
  /// The words 0 to 7.
  static Words CountWords() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  /// For a and b below 2^31.
  static Words SelectIfBelow32(Words a, Words b, Words below, Words other) {
    return _mm256_blendv_epi8(other, below, _mm256_cmpgt_epi32(b, a));
  }
  static unsigned LanesBelow32(Words a, Words b) {
    const __m256i not_below = _mm256_cmpeq_epi32(Max32(a, b), a);
    return static_cast<unsigned>(_mm256_movemask_ps(F32(not_below))) ^ 0xFFu;
  }
  template <unsigned kBits>
  static Words ExchangeLanes32(Words x) {
    return _mm256_permutevar8x32_epi32(x, Xor(CountWords(), Splat32(kBits)));
  }
  template <unsigned kBit>
  static Words OrderByLane32(Words a, Words b) {
    return SelectByLane32<kBit>(Max32(a, b), Min32(a, b));
  }
  template <unsigned kBit>
  static Words SelectByLane32(Words with, Words without) {
    constexpr int kLanesWith = kBit == 1 ? 0xAA : kBit == 2 ? 0xCC : 0xF0;
    return _mm256_blend_epi32(without, with, kLanesWith);
  }

  static Words Add64(Words a, Words b) { return _mm256_add_epi64(a, b); }
  /// Whether there is a 64-bit lane without bits.
  static bool HasZero64(Words x) {
    return _mm256_movemask_pd(F64(_mm256_cmpeq_epi64(x, _mm256_setzero_si256()))) != 0;
  }
  static Words Subtract64(Words a, Words b) { return _mm256_sub_epi64(a, b); }
  /// x >= limit ? x - limit : x, for limit above 2^63: below it x is either below 2^63 or not above limit.
  static Words SubtractIfNotBelow64(Words x, Words limit) {
    // Signed comparison of values with the top bit inverted is unsigned comparison.
    const __m256i top = _mm256_set1_epi64x(INT64_MIN);
    const __m256i below = _mm256_cmpgt_epi64(Xor(limit, top), Xor(x, top));
    return _mm256_sub_epi64(x, _mm256_andnot_si256(below, limit));
  }
  /// x < 0 ? x + limit : x. The blend looks at the sign bit alone.
  static Words AddIfNegative64(Words x, Words limit) {
    return Int(_mm256_blendv_pd(F64(x), F64(_mm256_add_epi64(x, limit)), F64(x)));
  }
  // There are no conversions between float64 and 64-bit integers; but an integer below 2^52 is the fraction of a
  // float64 in [2^52, 2^53), and 2^32 times one below 2^32 that of a float64 in [2^84, 2^85).
  static constexpr std::uint64_t kTwo52 = 0x4330000000000000u, kTwo84 = 0x4530000000000000u;
  static Words IntegerToF64(Words x) {
    const Words high = Xor(_mm256_srli_epi64(x, 32), Splat64(kTwo84));
    const Words low = _mm256_blend_epi32(x, Splat64(kTwo52), 0xAA);
    // high * 2^32 - 2^52 is exact; one rounding, in the sum.
    return AddF64(SubtractF64(high, Splat64(0x4530000000100000u)), low);
  }
  static Words SmallIntegerToF64(Words x) { return SubtractF64(Xor(x, Splat64(kTwo52)), Splat64(kTwo52)); }
  static Words NearestInteger64(Words x) { return Xor(AddF64(x, Splat64(kTwo52)), Splat64(kTwo52)); }
  static Words MultiplyLow64(Words a, Words b) {
    const __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                                           _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(cross, 32));
  }
  /// a * b modulo 2^64 for b below 2^32.
  static Words MultiplySmall64(Words a, Words b) {
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), b);
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(high, 32));
  }
  /// high * two32 + low of x = high * 2^32 + low.
  static Words FoldHigh64(Words x, Words two32) {
    return _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), two32),
                            _mm256_blend_epi32(x, _mm256_setzero_si256(), 0xAA));
  }
  using Remainder64 = FloatRemainder64<Avx2>;
  using SmallRemainder64 = SmallFloatRemainder64<Avx2>;

 private:
  static __m256 F32(Words x) { return _mm256_castsi256_ps(x); }
  static __m256d F64(Words x) { return _mm256_castsi256_pd(x); }
  static Words Int(__m256 x) { return _mm256_castps_si256(x); }
  static Words Int(__m256d x) { return _mm256_castpd_si256(x); }
};

}  // namespace
}  // namespace onnx_philox
