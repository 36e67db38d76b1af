// Plain C++ in the place of an instruction set: the plainest `Isa` of engine.h.
//
// A lane is one 32-bit word; a "register" of words is a pair, so that a float64 or an int64 fits in one.
//
// Internal: included only by set.h and a test.
#pragma once

#include <math.h>  // sqrtf: see torch_fills.h

#include <cfloat>
#include <cstdint>
#include <cstring>
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#include "rules.h"

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "floats must be rounded after every operation: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the kernels store 16- and 64-bit elements in little-endian order"
#endif

namespace onnx_philox {
namespace {

/// The high half of a 64 x 64-bit product.
std::uint64_t MultiplyHigh64(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#elif defined(_MSC_VER) && (defined(_M_X64) || defined(_M_ARM64))
  return __umulh(a, b);
#else
  const std::uint64_t low = MultiplyWide(Low32(a), Low32(b));
  const std::uint64_t middle = MultiplyWide(High32(a), Low32(b)) + High32(low);
  const std::uint64_t other = MultiplyWide(Low32(a), High32(b)) + Low32(middle);
  return MultiplyWide(High32(a), High32(b)) + High32(middle) + High32(other);
#endif
}

struct Scalar {
  using Lane = std::uint32_t;
  using Product = std::uint64_t;
  struct Words {
    std::uint32_t first, second;
  };
  static constexpr unsigned kBlocks = 1, kWords = 2, kGroups = 4;

  static Lane SplatLane(std::uint32_t x) { return x; }
  static Product SplatProduct(std::uint64_t x) { return x; }
  static Lane CountLanes(std::uint32_t n) { return n; }
  static Lane LoadLanes(const std::uint32_t* words) { return words[0]; }
  static Lane AddLanes(Lane a, Lane b) { return a + b; }
  static Product Multiply(Lane a, Lane b) { return MultiplyWide(a, b); }
  static Product AddProduct(Product a, Product b) { return a + b; }
  static Lane High(Product p) { return High32(p); }
  static Lane Low(Product p) { return Low32(p); }
  static Lane Xor(Lane a, Lane b) { return a ^ b; }
  static Lane Xor3(Lane a, Lane b, Lane c) { return a ^ b ^ c; }

  template <bool kSwapped>
  static void Finish(Product p0, Product p2, Lane c1, Lane c3, Lane key0, Lane key1, Words (&words)[kWords]) {
    const Words first{High32(p2) ^ c1 ^ key0, Low32(p2)}, second{High32(p0) ^ c3 ^ key1, Low32(p0)};
    words[0] = kSwapped ? Words{first.second, first.first} : first;
    words[1] = kSwapped ? Words{second.second, second.first} : second;
  }

  /// Word by word: of a struct that is copied whole, a compiler makes no vectors.
  static void Store(unsigned char* out, Words x) {
    std::memcpy(out, &x.first, sizeof(x.first));
    std::memcpy(out + sizeof(x.first), &x.second, sizeof(x.second));
  }

  static Words Splat32(std::uint32_t x) { return Words{x, x}; }
  static Words Splat64(std::uint64_t x) { return Words{Low32(x), High32(x)}; }
  static Words And(Words a, Words b) { return Words{a.first & b.first, a.second & b.second}; }
  static Words MaskOr(Words x, Words mask, Words bits) {
    return Words{(x.first & mask.first) | bits.first, (x.second & mask.second) | bits.second};
  }

  static Words AddF32(Words a, Words b) {
    return Words{Bits(F32(a.first) + F32(b.first)), Bits(F32(a.second) + F32(b.second))};
  }
  static Words SubtractF32(Words a, Words b) {
    return Words{Bits(F32(a.first) - F32(b.first)), Bits(F32(a.second) - F32(b.second))};
  }
  static Words MultiplyF32(Words a, Words b) {
    return Words{Bits(F32(a.first) * F32(b.first)), Bits(F32(a.second) * F32(b.second))};
  }
  static Words AddF64(Words a, Words b) { return Splat64(BitCast<std::uint64_t>(F64(a) + F64(b))); }
  static Words SubtractF64(Words a, Words b) { return Splat64(BitCast<std::uint64_t>(F64(a) - F64(b))); }
  static Words MultiplyF64(Words a, Words b) { return Splat64(BitCast<std::uint64_t>(F64(a) * F64(b))); }
  /// a * b + c, for rough numbers alone: rounded twice here, once where there are vectors.
  static Words MultiplyAddF64(Words a, Words b, Words c) { return AddF64(MultiplyF64(a, b), c); }
  static Words DivideF32(Words a, Words b) {
    return Words{Bits(F32(a.first) / F32(b.first)), Bits(F32(a.second) / F32(b.second))};
  }
  static Words DivideF64(Words a, Words b) { return Splat64(BitCast<std::uint64_t>(F64(a) / F64(b))); }
  static Words SqrtF32(Words x) { return Words{Bits(sqrtf(F32(x.first))), Bits(sqrtf(F32(x.second)))}; }
  static Words SqrtF64(Words x) { return Splat64(BitCast<std::uint64_t>(sqrt(F64(x)))); }
  static Words MaxF32(Words a, Words b) {
    return Words{F32(a.first) > F32(b.first) ? a.first : b.first, F32(a.second) > F32(b.second) ? a.second : b.second};
  }
  static Words MaxF64(Words a, Words b) { return F64(a) > F64(b) ? a : b; }
  static Words ZeroIfBelowF64(Words x, Words limit, Words y) { return F64(x) < F64(limit) ? Words{0, 0} : y; }

  static Words SignedExponentF32(Words bits) {
    return Words{Bits(static_cast<float>(static_cast<std::int32_t>(bits.first) >> 23)),
                 Bits(static_cast<float>(static_cast<std::int32_t>(bits.second) >> 23))};
  }
  static Words SignedExponentF64(Words bits) {
    return Splat64(BitCast<std::uint64_t>(static_cast<double>(static_cast<std::int32_t>(bits.second) >> 20)));
  }
  template <int kBits>
  static Words ShiftLeft32(Words x) { return Words{x.first << kBits, x.second << kBits}; }
  template <int kBits>
  static Words ShiftLeft64(Words x) { return Splat64(U64(x) << kBits); }
  static Words XorMasked(Words x, Words bits, Words mask) {
    return Words{x.first ^ (bits.first & mask.first), x.second ^ (bits.second & mask.second)};
  }
  static Words SelectIfOdd32(Words n, Words odd, Words even) {
    return Words{(n.first & 1u) != 0 ? odd.first : even.first, (n.second & 1u) != 0 ? odd.second : even.second};
  }
  static Words SelectIfOdd64(Words n, Words odd, Words even) { return (n.first & 1u) != 0 ? odd : even; }

  static Words Even32(Words a, Words b) { return Words{a.first, b.first}; }
  static Words Odd32(Words a, Words b) { return Words{a.second, b.second}; }
  static Words ZipLow32(Words a, Words b) { return Words{a.first, b.first}; }
  static Words ZipHigh32(Words a, Words b) { return Words{a.second, b.second}; }
  static Words Even64(Words a, Words) { return a; }
  static Words Odd64(Words, Words b) { return b; }
  static Words ZipLow64(Words a, Words) { return a; }
  static Words ZipHigh64(Words, Words b) { return b; }

  // The words of half a register, in 64-bit lanes; and two registers of float64 as one of float32, rounded.
  static Words FirstHalf32(Words x) { return Words{x.first, 0}; }
  static Words SecondHalf32(Words x) { return Words{x.second, 0}; }
  static Words F32FromF64(Words a, Words b) {
    return Words{Bits(static_cast<float>(F64(a))), Bits(static_cast<float>(F64(b)))};
  }

  static Words LoadF64(const unsigned char* from) {
    Words x;
    std::memcpy(&x, from, sizeof(x));
    return x;
  }
  static Words LoadF32AsF64(const unsigned char* from) {
    float x;
    std::memcpy(&x, from, sizeof(x));
    return Splat64(BitCast<std::uint64_t>(static_cast<double>(x)));
  }
  static Words LoadF16AsF64(const unsigned char* from) {
    std::uint16_t x;
    std::memcpy(&x, from, sizeof(x));
    return Splat64(BitCast<std::uint64_t>(static_cast<double>(F32FromF16(x))));
  }

  static Words LoadF16AsF32(const unsigned char* from) {
    std::uint16_t x[2];
    std::memcpy(x, from, sizeof(x));
    return Words{Bits(F32FromF16(x[0])), Bits(F32FromF16(x[1]))};
  }

  static void StoreBelow32(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    for (unsigned i = 0; i < kWords; ++i) {
      out[2 * i] = (words[i].first & mask.first) < limit.first ? 1 : 0;
      out[2 * i + 1] = (words[i].second & mask.second) < limit.second ? 1 : 0;
    }
  }
  static void StoreBelow64(const Words (&words)[kWords], Words mask, Words limit, unsigned char* out) {
    for (unsigned i = 0; i < kWords; ++i) out[i] = U64(And(words[i], mask)) < U64(limit) ? 1 : 0;
  }

  static Words RoundToF16(Words x) {
    return Words{Bits(F32FromF16(F16FromF32(F32(x.first)))), Bits(F32FromF16(F16FromF32(F32(x.second))))};
  }
  static Words NarrowToF16(Words a, Words b) {
    return Words{F16FromF32(F32(a.first)) | F16FromF32(F32(a.second)) << 16,
                 F16FromF32(F32(b.first)) | F16FromF32(F32(b.second)) << 16};
  }
  struct RoundBF16 {
    Words operator()(Words x) const { return Words{RoundToBF16(x.first), RoundToBF16(x.second)}; }
  };
  static Words NarrowToUpperHalves(Words a, Words b) {
    return Words{a.first >> 16 | (a.second & 0xFFFF0000u), b.first >> 16 | (b.second & 0xFFFF0000u)};
  }

  using BF16 = BF16Rule<Scalar>;

  static Words Add32(Words a, Words b) { return Words{a.first + b.first, a.second + b.second}; }
  static Words Subtract32(Words a, Words b) { return Words{a.first - b.first, a.second - b.second}; }
  static Words Min32(Words a, Words b) {
    return Words{a.first < b.first ? a.first : b.first, a.second < b.second ? a.second : b.second};
  }
  static Words Max32(Words a, Words b) {
    return Words{a.first > b.first ? a.first : b.first, a.second > b.second ? a.second : b.second};
  }
  static Words MultiplyLow32(Words a, Words b) { return Words{a.first * b.first, a.second * b.second}; }
  static Words MultiplyHigh32(Words a, Words b) {
    return Words{High32(MultiplyWide(a.first, b.first)), High32(MultiplyWide(a.second, b.second))};
  }
  static Words SubtractIfNotBelow32(Words x, Words limit) {
    return Words{x.first >= limit.first ? x.first - limit.first : x.first,
                 x.second >= limit.second ? x.second - limit.second : x.second};
  }
  static Words Add64(Words a, Words b) { return Splat64(U64(a) + U64(b)); }
  /// Whether there is a 64-bit lane without bits.
  static bool HasZero64(Words x) { return U64(x) == 0; }
  static Words Subtract64(Words a, Words b) { return Splat64(U64(a) - U64(b)); }
  static Words SubtractIfNotBelow64(Words x, Words limit) {
    return Splat64(U64(x) >= U64(limit) ? U64(x) - U64(limit) : U64(x));
  }

  /// As I32Rule, with 64 bits.
  struct Remainder64 {
    std::uint64_t width, inverse;
    explicit Remainder64(std::uint64_t width_value) : width(width_value), inverse(UINT64_MAX / width_value) {}
    Words operator()(Words words) const {
      const std::uint64_t x = U64(words);
      return SubtractIfNotBelow64(Splat64(x - MultiplyHigh64(x, inverse) * width), Splat64(width));
    }
  };
  using SmallRemainder64 = Remainder64;

 private:
  static std::uint32_t Bits(float x) { return BitCast<std::uint32_t>(x); }
  static float F32(std::uint32_t x) { return BitCast<float>(x); }
  static std::uint64_t U64(Words x) { return static_cast<std::uint64_t>(x.second) << 32 | x.first; }
  static double F64(Words x) { return BitCast<double>(U64(x)); }
};

}  // namespace
}  // namespace onnx_philox
