// The primitives of the kernels for NEON (64-bit ARM, where every processor has it).
//
// A lane is 32 bits wide: four blocks a register, and a product is two registers of 64-bit lanes.
//
// Internal: included only by set.h.
#pragma once

#include <arm_neon.h>

#include "rules.h"

namespace onnx_philox {
namespace {

struct Neon {
  using Lane = uint32x4_t;
  using Words = uint32x4_t;
  struct Product {
    uint64x2_t blocks01, blocks23;
  };
  static constexpr unsigned kBlocks = 4, kWords = 4, kGroups = 2;

  static Lane SplatLane(std::uint32_t x) { return vdupq_n_u32(x); }
  static Product SplatProduct(std::uint64_t x) { return Product{vdupq_n_u64(x), vdupq_n_u64(x)}; }
  static Lane CountLanes(std::uint32_t n) {
    const std::uint32_t lanes[4] = {0, 1, 2, 3};
    return vaddq_u32(vdupq_n_u32(n), vld1q_u32(lanes));
  }
  static Lane LoadLanes(const std::uint32_t* words) { return vld1q_u32(words); }
  static Lane AddLanes(Lane a, Lane b) { return vaddq_u32(a, b); }
  static Product Multiply(Lane a, Lane b) {
    return Product{vmull_u32(vget_low_u32(a), vget_low_u32(b)), vmull_high_u32(a, b)};
  }
  static Product AddProduct(Product a, Product b) {
    return Product{vaddq_u64(a.blocks01, b.blocks01), vaddq_u64(a.blocks23, b.blocks23)};
  }
  static Lane High(Product p) { return vuzp2q_u32(U32(p.blocks01), U32(p.blocks23)); }
  static Lane Low(Product p) { return vuzp1q_u32(U32(p.blocks01), U32(p.blocks23)); }
  static Lane Xor(Lane a, Lane b) { return veorq_u32(a, b); }
  static Lane Xor3(Lane a, Lane b, Lane c) { return veorq_u32(a, veorq_u32(b, c)); }

  /// Four registers of one word of four blocks become four blocks.
  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const Lane w0 = Xor3(High(p2), c1, key0), w1 = Low(p2), w2 = Xor3(High(p0), c3, key1), w3 = Low(p0);
    const uint64x2_t first01 = U64(kSwapped ? vzip1q_u32(w1, w0) : vzip1q_u32(w0, w1));
    const uint64x2_t first23 = U64(kSwapped ? vzip2q_u32(w1, w0) : vzip2q_u32(w0, w1));
    const uint64x2_t second01 = U64(kSwapped ? vzip1q_u32(w3, w2) : vzip1q_u32(w2, w3));
    const uint64x2_t second23 = U64(kSwapped ? vzip2q_u32(w3, w2) : vzip2q_u32(w2, w3));
    words[0] = U32(vzip1q_u64(first01, second01));
    words[1] = U32(vzip2q_u64(first01, second01));
    words[2] = U32(vzip1q_u64(first23, second23));
    words[3] = U32(vzip2q_u64(first23, second23));
  }

  static void Store(unsigned char* out, Words x) { vst1q_u8(out, vreinterpretq_u8_u32(x)); }

  static Words Splat32(std::uint32_t x) { return vdupq_n_u32(x); }
  static Words Splat64(std::uint64_t x) { return U32(vdupq_n_u64(x)); }
  static Words And(Words a, Words b) { return vandq_u32(a, b); }
  static Words MaskOr(Words x, Words mask, Words bits) { return vorrq_u32(vandq_u32(x, mask), bits); }

  static Words AddF32(Words a, Words b) { return Int(vaddq_f32(F32(a), F32(b))); }
  static Words SubtractF32(Words a, Words b) { return Int(vsubq_f32(F32(a), F32(b))); }
  static Words MultiplyF32(Words a, Words b) { return Int(vmulq_f32(F32(a), F32(b))); }
  static Words AddF64(Words a, Words b) { return Int(vaddq_f64(F64(a), F64(b))); }
  static Words SubtractF64(Words a, Words b) { return Int(vsubq_f64(F64(a), F64(b))); }
  static Words MultiplyF64(Words a, Words b) { return Int(vmulq_f64(F64(a), F64(b))); }
  static Words DivideF32(Words a, Words b) { return Int(vdivq_f32(F32(a), F32(b))); }
  static Words DivideF64(Words a, Words b) { return Int(vdivq_f64(F64(a), F64(b))); }
  static Words SqrtF32(Words x) { return Int(vsqrtq_f32(F32(x))); }
  static Words SqrtF64(Words x) { return Int(vsqrtq_f64(F64(x))); }
  static Words MaxF32(Words a, Words b) { return Int(vmaxq_f32(F32(a), F32(b))); }
  static Words MaxF64(Words a, Words b) { return Int(vmaxq_f64(F64(a), F64(b))); }
  /// x < limit ? 0 : y.
  static Words ZeroIfBelowF64(Words x, Words limit, Words y) {
    return U32(vbicq_u64(U64(y), vcltq_f64(F64(x), F64(limit))));
  }

  static Words SignedExponentF32(Words bits) {
    return Int(vcvtq_f32_s32(vshrq_n_s32(vreinterpretq_s32_u32(bits), 23)));
  }
  static Words SignedExponentF64(Words bits) {
    return Int(vcvtq_f64_s64(vshrq_n_s64(vreinterpretq_s64_u32(bits), 52)));
  }
  template <int kBits>
  static Words ShiftLeft32(Words x) { return vshlq_n_u32(x, kBits); }
  template <int kBits>
  static Words ShiftLeft64(Words x) { return U32(vshlq_n_u64(U64(x), kBits)); }
  /// x ^ (bits & mask).
  static Words XorMasked(Words x, Words bits, Words mask) { return veorq_u32(x, vandq_u32(bits, mask)); }
  static Words SelectIfOdd32(Words n, Words odd, Words even) {
    return vbslq_u32(vtstq_u32(n, vdupq_n_u32(1)), odd, even);
  }
  static Words SelectIfOdd64(Words n, Words odd, Words even) {
    return U32(vbslq_u64(vtstq_u64(U64(n), vdupq_n_u64(1)), U64(odd), U64(even)));
  }

  static Words Even32(Words a, Words b) { return vuzp1q_u32(a, b); }
  static Words Odd32(Words a, Words b) { return vuzp2q_u32(a, b); }
  static Words ZipLow32(Words a, Words b) { return vzip1q_u32(a, b); }
  static Words ZipHigh32(Words a, Words b) { return vzip2q_u32(a, b); }
  static Words Even64(Words a, Words b) { return U32(vzip1q_u64(U64(a), U64(b))); }
  static Words Odd64(Words a, Words b) { return U32(vzip2q_u64(U64(a), U64(b))); }
  static Words ZipLow64(Words a, Words b) { return Even64(a, b); }
  static Words ZipHigh64(Words a, Words b) { return Odd64(a, b); }

  // The words of half a register, in 64-bit lanes; and two registers of float64 as one of float32, rounded.
  static Words FirstHalf32(Words x) { return U32(vmovl_u32(vget_low_u32(x))); }
  static Words SecondHalf32(Words x) { return U32(vmovl_high_u32(x)); }
  static Words F32FromF64(Words a, Words b) { return Int(vcvt_high_f32_f64(vcvt_f32_f64(F64(a)), F64(b))); }

  static Words LoadF64(const unsigned char* from) { return vreinterpretq_u32_u8(vld1q_u8(from)); }
  static Words LoadF32AsF64(const unsigned char* from) {
    return Int(vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8(from))));
  }
  static Words LoadF16AsF64(const unsigned char* from) {
    std::uint32_t pair;
    std::memcpy(&pair, from, sizeof(pair));
    const float16x4_t halves = vreinterpret_f16_u32(vdup_n_u32(pair));
    return Int(vcvt_f64_f32(vget_low_f32(vcvt_f32_f16(halves))));
  }

  static Words LoadF16AsF32(const unsigned char* from) {
    return Int(vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from))));
  }

  /// A byte for each word: 1 where the bits under the mask are below the limit.
  static void StoreBelow32(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    uint16x8_t halves[2];
    for (unsigned i = 0; i < 2; ++i) {
      const Words first = vcltq_u32(And(words[2 * i], mask), limit), second = vcltq_u32(And(words[2 * i + 1], mask), limit);
      halves[i] = vcombine_u16(vmovn_u32(first), vmovn_u32(second));
    }
    const uint8x16_t bytes = vcombine_u8(vmovn_u16(halves[0]), vmovn_u16(halves[1]));
    vst1q_u8(out, vandq_u8(bytes, vdupq_n_u8(1)));
  }
  static void StoreBelow64(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    uint32x4_t quarters[2];
    for (unsigned i = 0; i < 2; ++i) {
      const uint64x2_t first = vcltq_u64(U64(And(words[2 * i], mask)), U64(limit));
      const uint64x2_t second = vcltq_u64(U64(And(words[2 * i + 1], mask)), U64(limit));
      quarters[i] = vcombine_u32(vmovn_u64(first), vmovn_u64(second));
    }
    const uint8x8_t bytes = vmovn_u16(vcombine_u16(vmovn_u32(quarters[0]), vmovn_u32(quarters[1])));
    vst1_u8(out, vand_u8(bytes, vdup_n_u8(1)));
  }

  static float16x4_t ToF16(Words x) { return vcvt_f16_f32(F32(x)); }
  static Words RoundToF16(Words x) { return Int(vcvt_f32_f16(ToF16(x))); }
  static Words NarrowToF16(Words a, Words b) {
    return vreinterpretq_u32_u16(vcombine_u16(vreinterpret_u16_f16(ToF16(a)), vreinterpret_u16_f16(ToF16(b))));
  }
  struct RoundBF16 {
    Words half = Splat32(0x7FFFu), one = Splat32(1);
    Words operator()(Words x) const {
      return vaddq_u32(vaddq_u32(x, half), vandq_u32(vshrq_n_u32(x, 16), one));
    }
  };
  static Words NarrowToUpperHalves(Words a, Words b) {
    return vreinterpretq_u32_u16(vuzp2q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
  }

  using BF16 = BF16Rule<Neon>;

  static Words Add32(Words a, Words b) { return vaddq_u32(a, b); }
  static Words Subtract32(Words a, Words b) { return vsubq_u32(a, b); }
  static Words Min32(Words a, Words b) { return vminq_u32(a, b); }
  static Words Max32(Words a, Words b) { return vmaxq_u32(a, b); }
  static Words MultiplyLow32(Words a, Words b) { return vmulq_u32(a, b); }
  static Words MultiplyHigh32(Words a, Words b) { return High(Multiply(a, b)); }
  /// x >= limit ? x - limit : x. A difference below zero wraps to more than x.
  static Words SubtractIfNotBelow32(Words x, Words limit) { return vminq_u32(x, vsubq_u32(x, limit)); }
  static Words Add64(Words a, Words b) { return U32(vaddq_u64(U64(a), U64(b))); }
  /// Whether there is a 64-bit lane without bits.
  static bool HasZero64(Words x) { return vmaxvq_u32(U32(vceqzq_u64(U64(x)))) != 0; }
  static Words Subtract64(Words a, Words b) { return U32(vsubq_u64(U64(a), U64(b))); }
  static Words SubtractIfNotBelow64(Words x, Words limit) {
    const uint64x2_t not_below = vcgeq_u64(U64(x), U64(limit));
    return U32(vsubq_u64(U64(x), vandq_u64(not_below, U64(limit))));
  }
  /// x < 0 ? x + limit : x.
  static Words AddIfNegative64(Words x, Words limit) {
    const uint64x2_t negative = vcltzq_s64(vreinterpretq_s64_u32(x));
    return U32(vaddq_u64(U64(x), vandq_u64(negative, U64(limit))));
  }
  static Words IntegerToF64(Words x) { return Int(vcvtq_f64_u64(U64(x))); }
  static Words SmallIntegerToF64(Words x) { return IntegerToF64(x); }
  static Words NearestInteger64(Words x) { return U32(vcvtnq_u64_f64(F64(x))); }
  static Words MultiplyLow64(Words a, Words b) {
    // low * low + ((low * high + high * low) << 32); the cross products are needed modulo 2^32 only.
    const uint32x4_t cross = vmulq_u32(a, vrev64q_u32(b));
    const uint64x2_t high = vshlq_n_u64(vpaddlq_u32(cross), 32);
    return U32(vmlal_u32(high, vmovn_u64(U64(a)), vmovn_u64(U64(b))));
  }
  static Words MultiplySmall64(Words a, Words b) { return MultiplyLow64(a, b); }
  /// high * two32 + low of x = high * 2^32 + low.
  static Words FoldHigh64(Words x, Words two32) {
    const uint64x2_t low = vandq_u64(U64(x), vdupq_n_u64(0xFFFFFFFFu));
    return U32(vmlal_u32(low, vshrn_n_u64(U64(x), 32), vmovn_u64(U64(two32))));
  }
  using Remainder64 = FloatRemainder64<Neon>;
  using SmallRemainder64 = SmallFloatRemainder64<Neon>;

 private:
  static uint32x4_t U32(uint64x2_t x) { return vreinterpretq_u32_u64(x); }
  static uint64x2_t U64(uint32x4_t x) { return vreinterpretq_u64_u32(x); }
  static float32x4_t F32(Words x) { return vreinterpretq_f32_u32(x); }
  static float64x2_t F64(Words x) { return vreinterpretq_f64_u32(x); }
  static Words Int(float32x4_t x) { return vreinterpretq_u32_f32(x); }
  static Words Int(float64x2_t x) { return vreinterpretq_u32_f64(x); }
};

}  // namespace
}  // namespace onnx_philox
