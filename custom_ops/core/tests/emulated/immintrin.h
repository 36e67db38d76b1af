// AVX-512 on a processor without it, to test its kernels everywhere: SIMDe's plain C in place of the compiler's
// intrinsics, and plain loops for those that SIMDe 0.7.4 lacks. CMake's option ONNX_PHILOX_EMULATE_AVX512 puts this file
// before the compiler's own of that name.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>

#include <cmath>
#include <cstdint>
#include <cstring>

using __mmask8 = simde__mmask8;
using __mmask16 = simde__mmask16;
using __mmask32 = simde__mmask32;

enum { _MM_PERM_CDAB = 0xB1, _MM_FROUND_NO_EXC = 8 };

namespace emulated {

template <class T, class Register>
struct Lanes {
  static constexpr int kCount = sizeof(Register) / sizeof(T);
  T lane[kCount];

  explicit Lanes(Register from) { std::memcpy(lane, &from, sizeof lane); }
  operator Register() const {
    Register to;
    std::memcpy(&to, lane, sizeof lane);
    return to;
  }
};

/// A register of To, whose lane i is f(lane i of a register of From).
template <class To, class From, class Result, class Register, class F>
Result Map(Register x, F f) {
  const Lanes<From, Register> from(x);
  Lanes<To, Result> to{Result{}};
  static_assert(Lanes<From, Register>::kCount == Lanes<To, Result>::kCount, "");
  for (int i = 0; i < from.kCount; ++i) to.lane[i] = f(from.lane[i]);
  return to;
}

}  // namespace emulated

inline __m512i _mm512_srai_epi32(__m512i x, unsigned bits) {
  return emulated::Map<std::int32_t, std::int32_t, __m512i>(x, [=](std::int32_t n) { return n >> bits; });
}
inline __m512i _mm512_srai_epi64(__m512i x, unsigned bits) {
  return emulated::Map<std::int64_t, std::int64_t, __m512i>(x, [=](std::int64_t n) { return n >> bits; });
}
inline __m512 _mm512_cvtepi32_ps(__m512i x) {
  return emulated::Map<float, std::int32_t, __m512>(x, [](std::int32_t n) { return static_cast<float>(n); });
}
inline __m512d _mm512_cvtepi64_pd(__m512i x) {
  return emulated::Map<double, std::int64_t, __m512d>(x, [](std::int64_t n) { return static_cast<double>(n); });
}
inline __m512d _mm512_cvtepu64_pd(__m512i x) {
  return emulated::Map<double, std::uint64_t, __m512d>(x, [](std::uint64_t n) { return static_cast<double>(n); });
}
inline __m512i _mm512_cvtpd_epu64(__m512d x) {
  return emulated::Map<std::uint64_t, double, __m512i>(
      x, [](double n) { return static_cast<std::uint64_t>(std::nearbyint(n)); });
}
inline __m512i _mm512_cvtepu32_epi64(__m256i x) {
  return emulated::Map<std::uint64_t, std::uint32_t, __m512i>(x, [](std::uint32_t n) { return std::uint64_t{n}; });
}
inline __m256 _mm512_cvtpd_ps(__m512d x) {
  return emulated::Map<float, double, __m256>(x, [](double n) { return static_cast<float>(n); });
}
inline __m512d _mm512_cvtps_pd(__m256 x) {
  return emulated::Map<double, float, __m512d>(x, [](float n) { return static_cast<double>(n); });
}
inline __m256i _mm512_cvtps_ph(__m512 x, int rounding) {
  (void)rounding;  // to nearest, ties to even
  return emulated::Map<std::uint16_t, float, __m256i>(
      x, [](float n) { return simde_float16_as_uint16(simde_float16_from_float32(n)); });
}
inline __m512 _mm512_cvtph_ps(__m256i x) {
  return emulated::Map<float, std::uint16_t, __m512>(
      x, [](std::uint16_t n) { return simde_float16_to_float32(simde_uint16_as_float16(n)); });
}

/// `control` says for each group of four lanes which of them becomes which.
inline __m512i _mm512_shuffle_epi32(__m512i x, int control) {
  const emulated::Lanes<std::uint32_t, __m512i> from(x);
  emulated::Lanes<std::uint32_t, __m512i> to(x);
  for (int i = 0; i < 16; ++i) to.lane[i] = from.lane[(i & ~3) | ((control >> (2 * (i & 3))) & 3)];
  return to;
}
inline __m512i _mm512_mask_shuffle_epi32(__m512i other, __mmask16 mask, __m512i x, int control) {
  return _mm512_mask_mov_epi32(other, mask, _mm512_shuffle_epi32(x, control));
}

template <class Register, class Mask>
Register MaskedBytes(Mask mask, char byte) {
  emulated::Lanes<char, Register> to{Register{}};
  for (int i = 0; i < to.kCount; ++i) to.lane[i] = (mask >> i & 1) != 0 ? byte : 0;
  return to;
}
inline __m256i _mm256_maskz_set1_epi8(__mmask32 mask, char byte) { return MaskedBytes<__m256i>(mask, byte); }
inline __m128i _mm_maskz_set1_epi8(__mmask16 mask, char byte) { return MaskedBytes<__m128i>(mask, byte); }

template <class T, class Mask>
Mask IsBelow(__m512i a, __m512i b) {
  const emulated::Lanes<T, __m512i> left(a), right(b);
  unsigned mask = 0;
  for (int i = 0; i < left.kCount; ++i) mask |= unsigned{left.lane[i] < right.lane[i]} << i;
  return static_cast<Mask>(mask);
}
inline __mmask16 _mm512_cmplt_epi32_mask(__m512i a, __m512i b) { return IsBelow<std::int32_t, __mmask16>(a, b); }
inline __mmask16 _mm512_cmplt_epu32_mask(__m512i a, __m512i b) { return IsBelow<std::uint32_t, __mmask16>(a, b); }
inline __mmask8 _mm512_cmplt_epi64_mask(__m512i a, __m512i b) { return IsBelow<std::int64_t, __mmask8>(a, b); }
inline int _mm_popcnt_u32(unsigned x) { return __builtin_popcount(x); }
inline __mmask32 _mm512_kunpackw(__mmask32 a, __mmask32 b) { return a << 16 | b; }
inline __mmask16 _mm512_kunpackb(__mmask16 a, __mmask16 b) { return static_cast<__mmask16>(a << 8 | b); }
