// The primitives of the kernels for AVX-512 (F, BW, DQ, VL).
//
// A lane is 64 bits wide and holds a word in its low half. The high half may hold anything, since the multiplication
// reads only low halves. A round is then two multiplications, two shifts and two three-way XORs for eight blocks.
//
// Internal: included only by set.h.
#pragma once

#include <immintrin.h>

#include "rules.h"

namespace onnx_philox {
namespace {

struct Avx512 {
  using Lane = __m512i;
  using Product = __m512i;
  using Words = __m512i;
  static constexpr unsigned kBlocks = 8, kWords = 2, kGroups = 4;

  static Lane SplatLane(std::uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Product SplatProduct(std::uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
  /// Blocks n to n + 7 in the order in which Finish, interleaving two registers, gives them back in sequence.
  static Lane CountLanes(std::uint32_t n) {
    return _mm512_add_epi32(SplatLane(n), _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
  }
  /// Both halves of a lane get the word.
  static Lane LoadLanes(const std::uint32_t* words) {
    const __m512i eight = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)));
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 4, 4, 1, 1, 5, 5, 2, 2, 6, 6, 3, 3, 7, 7), eight);
  }
  static Lane AddLanes(Lane a, Lane b) { return _mm512_add_epi32(a, b); }
  static Product Multiply(Lane a, Lane b) { return _mm512_mul_epu32(a, b); }
  static Product AddProduct(Product a, Product b) { return _mm512_add_epi64(a, b); }
  static Lane High(Product p) { return _mm512_srli_epi64(p, 32); }
  static Lane Low(Product p) { return p; }
  static Lane Xor(Lane a, Lane b) { return _mm512_xor_si512(a, b); }
  static Lane Xor3(Lane a, Lane b, Lane c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }

  /// One 64-bit lane becomes a pair of words. In a product, the low word (the second of the pair) lies below the high
  /// word, from which the first is made. Rotated, the product is in stream order; unrotated, it is swapped.
  template <bool kSwapped>
  static __m512i Pair(Product p, Lane c, Lane key) {
    if constexpr (kSwapped) {
      return _mm512_mask_ternarylogic_epi32(p, 0xAAAA, _mm512_slli_epi64(c, 32), key, 0x96);
    } else {
      return _mm512_mask_ternarylogic_epi32(_mm512_shuffle_epi32(p, _MM_PERM_CDAB), 0x5555, c, key, 0x96);
    }
  }
  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const __m512i first = Pair<kSwapped>(p2, c1, key0), second = Pair<kSwapped>(p0, c3, key1);
    words[0] = _mm512_unpacklo_epi64(first, second);
    words[1] = _mm512_unpackhi_epi64(first, second);
  }

  static void Store(unsigned char* out, Words x) { _mm512_storeu_si512(out, x); }

  static Words Splat32(std::uint32_t x) { return SplatLane(x); }
  static Words Splat64(std::uint64_t x) { return SplatProduct(x); }
  static Words And(Words a, Words b) { return _mm512_and_si512(a, b); }
  static Words MaskOr(Words x, Words mask, Words bits) { return _mm512_ternarylogic_epi64(x, mask, bits, 0xEA); }

  static Words AddF32(Words a, Words b) { return Int(_mm512_add_ps(F32(a), F32(b))); }
  static Words SubtractF32(Words a, Words b) { return Int(_mm512_sub_ps(F32(a), F32(b))); }
  static Words MultiplyF32(Words a, Words b) { return Int(_mm512_mul_ps(F32(a), F32(b))); }
  static Words AddF64(Words a, Words b) { return Int(_mm512_add_pd(F64(a), F64(b))); }
  static Words SubtractF64(Words a, Words b) { return Int(_mm512_sub_pd(F64(a), F64(b))); }
  static Words MultiplyF64(Words a, Words b) { return Int(_mm512_mul_pd(F64(a), F64(b))); }
  /// a * b + c, for rough numbers alone: rounded once; twice in plain C++.
  static Words MultiplyAddF64(Words a, Words b, Words c) { return Int(_mm512_fmadd_pd(F64(a), F64(b), F64(c))); }
  static Words DivideF32(Words a, Words b) { return Int(_mm512_div_ps(F32(a), F32(b))); }
  static Words DivideF64(Words a, Words b) { return Int(_mm512_div_pd(F64(a), F64(b))); }
  static Words SqrtF32(Words x) { return Int(_mm512_sqrt_ps(F32(x))); }
  static Words SqrtF64(Words x) { return Int(_mm512_sqrt_pd(F64(x))); }
  static Words MaxF32(Words a, Words b) { return Int(_mm512_max_ps(F32(a), F32(b))); }
  static Words MaxF64(Words a, Words b) { return Int(_mm512_max_pd(F64(a), F64(b))); }
  /// x < limit ? 0 : y.
  static Words ZeroIfBelowF64(Words x, Words limit, Words y) {
    return _mm512_maskz_mov_epi64(_mm512_cmp_pd_mask(F64(x), F64(limit), _CMP_NLT_UQ), y);
  }

  static Words SignedExponentF32(Words bits) { return Int(_mm512_cvtepi32_ps(_mm512_srai_epi32(bits, 23))); }
  static Words SignedExponentF64(Words bits) { return Int(_mm512_cvtepi64_pd(_mm512_srai_epi64(bits, 52))); }
  template <int kBits>
  static Words ShiftLeft32(Words x) { return _mm512_slli_epi32(x, kBits); }
  template <int kBits>
  static Words ShiftLeft64(Words x) { return _mm512_slli_epi64(x, kBits); }
  /// x ^ (bits & mask).
  static Words XorMasked(Words x, Words bits, Words mask) { return _mm512_ternarylogic_epi64(x, bits, mask, 0x78); }
  static Words SelectIfOdd32(Words n, Words odd, Words even) {
    return _mm512_mask_mov_epi32(even, _mm512_test_epi32_mask(n, Splat32(1)), odd);
  }
  static Words SelectIfOdd64(Words n, Words odd, Words even) {
    return _mm512_mask_mov_epi64(even, _mm512_test_epi64_mask(n, Splat64(1)), odd);
  }

  // Within each 128 bits: apart, and back together.
  static Words Even32(Words a, Words b) { return Int(_mm512_shuffle_ps(F32(a), F32(b), 0x88)); }
  static Words Odd32(Words a, Words b) { return Int(_mm512_shuffle_ps(F32(a), F32(b), 0xDD)); }
  static Words ZipLow32(Words a, Words b) { return _mm512_unpacklo_epi32(a, b); }
  static Words ZipHigh32(Words a, Words b) { return _mm512_unpackhi_epi32(a, b); }
  static Words Even64(Words a, Words b) { return _mm512_unpacklo_epi64(a, b); }
  static Words Odd64(Words a, Words b) { return _mm512_unpackhi_epi64(a, b); }
  static Words ZipLow64(Words a, Words b) { return Even64(a, b); }
  static Words ZipHigh64(Words a, Words b) { return Odd64(a, b); }

  // The words of half a register, in 64-bit lanes; and two registers of float64 as one of float32, rounded.
  static Words FirstHalf32(Words x) { return _mm512_cvtepu32_epi64(_mm512_castsi512_si256(x)); }
  static Words SecondHalf32(Words x) { return _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(x, 1)); }
  static Words F32FromF64(Words a, Words b) {
    const __m512 first = _mm512_castps256_ps512(_mm512_cvtpd_ps(F64(a)));
    return Int(_mm512_insertf32x8(first, _mm512_cvtpd_ps(F64(b)), 1));
  }

  static Words LoadF64(const unsigned char* from) { return _mm512_loadu_si512(from); }
  static Words LoadF32AsF64(const unsigned char* from) {
    return Int(_mm512_cvtps_pd(_mm256_loadu_ps(reinterpret_cast<const float*>(from))));
  }
  static Words LoadF16AsF64(const unsigned char* from) {
    return Int(_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)))));
  }

  static Words LoadF16AsF32(const unsigned char* from) {
    return Int(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
  }

  /// A byte for each word: 1 where the bits under the mask are below the limit.
  static void StoreBelow32(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    const __mmask32 below = _mm512_kunpackw(_mm512_cmplt_epi32_mask(And(words[1], mask), limit),
                                            _mm512_cmplt_epi32_mask(And(words[0], mask), limit));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_maskz_set1_epi8(below, 1));
  }
  static void StoreBelow64(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    const __mmask16 below = _mm512_kunpackb(_mm512_cmplt_epi64_mask(And(words[1], mask), limit),
                                            _mm512_cmplt_epi64_mask(And(words[0], mask), limit));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_maskz_set1_epi8(below, 1));
  }

  static __m256i ToF16(Words x) { return _mm512_cvtps_ph(F32(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Words RoundToF16(Words x) { return Int(_mm512_cvtph_ps(ToF16(x))); }
  static Words NarrowToF16(Words a, Words b) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(ToF16(a)), ToF16(b), 1);
  }
  struct RoundBF16 {
    Words half = Splat32(0x7FFFu), odd = Splat32(0x10000u), one = Splat32(1);
    Words operator()(Words x) const {
      const Words sum = _mm512_add_epi32(x, half);
      return _mm512_mask_add_epi32(sum, _mm512_test_epi32_mask(x, odd), sum, one);
    }
  };
  static Words NarrowToUpperHalves(Words a, Words b) {
    const __m512i odd = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 25,
                                         23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(a, odd, b);
  }

  static Words NarrowToLowerHalves(Words a, Words b) {
    const __m512i even = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26, 24,
                                          22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(a, even, b);
  }
  /// The words 0 to 15.
  static Words CountWords() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  /// 128 values of 16 bits.
  struct Table128 {
    Words part[4];
  };
  /// The values at the low seven bits of each index: six for a lookup in 64 values, the seventh to choose the half.
  static Words LookUp(const Table128& table, Words index) {
    const __mmask32 upper = _mm512_test_epi16_mask(index, _mm512_set1_epi16(0x40));
    const Words low = _mm512_permutex2var_epi16(table.part[0], index, table.part[1]);
    const Words high = _mm512_permutex2var_epi16(table.part[2], index, table.part[3]);
    return _mm512_mask_mov_epi16(low, upper, high);
  }
  using BF16 = BF16TableRule<Avx512>;

  static Words Add32(Words a, Words b) { return _mm512_add_epi32(a, b); }
  static Words Subtract32(Words a, Words b) { return _mm512_sub_epi32(a, b); }
  static Words Min32(Words a, Words b) { return _mm512_min_epu32(a, b); }
  static Words Max32(Words a, Words b) { return _mm512_max_epu32(a, b); }
  static Words MultiplyLow32(Words a, Words b) { return _mm512_mullo_epi32(a, b); }
  static Words MultiplyHigh32(Words a, Words b) {
    const __m512i even = _mm512_mul_epu32(a, b);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), b);
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_CDAB);
  }
  /// x >= limit ? x - limit : x. A difference below zero wraps to more than x.
  static Words SubtractIfNotBelow32(Words x, Words limit) {
    return _mm512_min_epu32(x, _mm512_sub_epi32(x, limit));
  }
  /// The high words of 64-bit lanes.
  static Words HighWords(Words a, Words b) {
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_epi32(a, odd, b);
  }
  /// a < b ? below : other.
  static Words SelectIfBelow32(Words a, Words b, Words below, Words other) {
    return _mm512_mask_mov_epi32(other, _mm512_cmplt_epu32_mask(a, b), below);
  }
  /// A bit for each word of a that is below that of b.
  static unsigned LanesBelow32(Words a, Words b) { return _mm512_cmplt_epu32_mask(a, b); }
  /// Stores the words of x where a equals b, one behind the other, and anything behind them up to a whole register. Returns
  /// how many they are.
  static unsigned StoreWhereEqual32(Words x, Words a, Words b, unsigned char* out) {
    const __mmask16 equal = _mm512_cmpeq_epi32_mask(a, b);
    Store(out, _mm512_maskz_compress_epi32(equal, x));
    return static_cast<unsigned>(_mm_popcnt_u32(equal));
  }

  // Words by the numbers of their places in a register, 0 to 15.
  /// Each place gets the word of the place whose number differs from its own in kBits.
  template <unsigned kBits>
  static Words ExchangeLanes32(Words x) {
    return _mm512_permutexvar_epi32(_mm512_xor_si512(CountWords(), Splat32(kBits)), x);
  }
  /// Where the number of the place has the bit: the greater, `with`; elsewhere: the smaller, `without`.
  template <unsigned kBit>
  static Words OrderByLane32(Words a, Words b) {
    return _mm512_mask_max_epu32(Min32(a, b), LanesWith(kBit), a, b);
  }
  template <unsigned kBit>
  static Words SelectByLane32(Words with, Words without) {
    return _mm512_mask_mov_epi32(without, LanesWith(kBit), with);
  }
  static constexpr __mmask16 LanesWith(unsigned bit) {
    unsigned lanes = 0;
    for (unsigned i = 0; i < 16; ++i) lanes |= (i & bit) != 0 ? 1u << i : 0u;
    return static_cast<__mmask16>(lanes);
  }

  static Words Add64(Words a, Words b) { return _mm512_add_epi64(a, b); }
  /// Whether there is a 64-bit lane without bits.
  static bool HasZero64(Words x) { return _mm512_testn_epi64_mask(x, x) != 0; }
  static Words Subtract64(Words a, Words b) { return _mm512_sub_epi64(a, b); }
  static Words SubtractIfNotBelow64(Words x, Words limit) {
    return _mm512_min_epu64(x, _mm512_sub_epi64(x, limit));
  }
  /// x < 0 ? x + limit : x, for -limit < x < limit <= 2^63: a negative x is, unsigned, more than x + limit.
  static Words AddIfNegative64(Words x, Words limit) { return _mm512_min_epu64(x, _mm512_add_epi64(x, limit)); }
  static Words IntegerToF64(Words x) { return Int(_mm512_cvtepu64_pd(x)); }
  static Words SmallIntegerToF64(Words x) { return IntegerToF64(x); }
  static Words NearestInteger64(Words x) { return _mm512_cvtpd_epu64(F64(x)); }
  static Words MultiplyLow64(Words a, Words b) { return _mm512_mullo_epi64(a, b); }
  static Words MultiplySmall64(Words a, Words b) { return MultiplyLow64(a, b); }
  /// high * two32 + low of x = high * 2^32 + low.
  static Words FoldHigh64(Words x, Words two32) {
    return _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), two32),
                            _mm512_maskz_mov_epi32(0x5555, x));
  }
  using Remainder64 = FloatRemainder64<Avx512>;
  using SmallRemainder64 = SmallFloatRemainder64<Avx512>;

 private:
  static __m512 F32(Words x) { return _mm512_castsi512_ps(x); }
  static __m512d F64(Words x) { return _mm512_castsi512_pd(x); }
  static Words Int(__m512 x) { return _mm512_castps_si512(x); }
  static Words Int(__m512d x) { return _mm512_castpd_si512(x); }
};

}  // namespace
}  // namespace onnx_philox
