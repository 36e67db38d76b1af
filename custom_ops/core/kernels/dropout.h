// Dropout: draws which elements to drop, and passes the others on, scaled, while both are in the first cache.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "floats.h"
#include "inlining.h"
#include "kernels.h"
#include "rows.h"
#include "rules.h"

// Each element depends on the same element of the data alone, also where a caller writes over them.
#if defined(_MSC_VER) && !defined(__clang__)
#define ONNX_PHILOX_EACH_ALONE __pragma(loop(ivdep))
#elif defined(__clang__)
#define ONNX_PHILOX_EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__CUDACC_RTC__)
#define ONNX_PHILOX_EACH_ALONE _Pragma("unroll")
#else
#define ONNX_PHILOX_EACH_ALONE _Pragma("GCC ivdep")
#endif

namespace onnx_philox {

/// The least integer that is not below `x`, for x in [0, 2^53).
static inline std::uint64_t RoundUp(double x) {
  const std::uint64_t below = static_cast<std::uint64_t>(x);
  return static_cast<double>(below) < x ? below + 1 : below;
}

/// Bytes 0 and 1, where 1 has this probability.
template <class Isa, class From>
void FillBelow(const Piece& piece, const Argument& p) {
  if (p.type == OutputType::kF32) {
    const double each = static_cast<double>(F32FromBits(p.bits));
    return From::Fill(piece, BernoulliF32Rule<Isa>(static_cast<std::uint32_t>(RoundUp(each * 0x1p23))));
  }
  From::Fill(piece, BernoulliF64Rule<Isa>(RoundUp(F64FromBits(p.bits) * 0x1p52)));
}

/// How many elements are drawn at once.
constexpr std::uint64_t kDroppedAtOnce = 2048;

/// `dropped` holds 0 for an element that is kept, else 1. Data of f32 and f64, in `Float`s of as many bits.
template <class Isa, class Float, class Bits>
ONNX_PHILOX_NOINLINE void KeepFloats(const unsigned char* dropped, const unsigned char* data, Float scale,
                                     std::size_t count, unsigned char* out) {
  ONNX_PHILOX_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i) {
    Float x;
    std::memcpy(&x, data + i * sizeof(Float), sizeof(Float));
    const Bits kept = static_cast<Bits>(dropped[i]) - 1;  // all bits, or none
    const Bits bits = BitCast<Bits>(x * scale) & kept;
    std::memcpy(out + i * sizeof(Bits), &bits, sizeof(Bits));
  }
}

/// Of bf16: a product has at most 16 significant bits, and is not rounded but to bf16.
template <class Isa>
ONNX_PHILOX_NOINLINE void KeepBF16(const unsigned char* dropped, const unsigned char* data, float scale,
                                   std::size_t count, unsigned char* out) {
  ONNX_PHILOX_EACH_ALONE
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t x;
    std::memcpy(&x, data + i * sizeof(x), sizeof(x));
    const float product = BitCast<float>(static_cast<std::uint32_t>(x) << 16) * scale;
    const std::uint32_t kept = static_cast<std::uint32_t>(dropped[i]) - 1;
    const std::uint16_t bits = static_cast<std::uint16_t>((RoundToBF16(BitCast<std::uint32_t>(product)) >> 16) & kept);
    std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
  }
}

/// Of f16: likewise.
template <class Isa>
ONNX_PHILOX_NOINLINE void KeepF16(const unsigned char* dropped, const unsigned char* data, float scale,
                                  std::size_t count, unsigned char* out) {
  constexpr std::size_t kHalf = sizeof(typename Isa::Words) / 4, kAtOnce = 2 * kHalf;
  const typename Isa::Words by = Isa::Splat32(BitCast<std::uint32_t>(scale));
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const std::size_t now = count - begin < kAtOnce ? count - begin : kAtOnce;
    std::uint16_t x[kAtOnce] = {}, kept[kAtOnce] = {}, given[kAtOnce];
    std::memcpy(x, data + begin * 2, now * 2);
    std::memcpy(given, x, sizeof(x));
    for (std::size_t i = 0; i < now; ++i) kept[i] = static_cast<std::uint16_t>(dropped[begin + i] - 1);
    const unsigned char* const from = reinterpret_cast<const unsigned char*>(x);
    const typename Isa::Words first = Isa::MultiplyF32(Isa::LoadF16AsF32(from), by);
    const typename Isa::Words second = Isa::MultiplyF32(Isa::LoadF16AsF32(from + kAtOnce), by);
    Isa::Store(reinterpret_cast<unsigned char*>(x), Isa::NarrowToF16(first, second));
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      // A NaN keeps its payload, which not every set's conversion does.
      const bool is_nan = (given[i] & 0x7FFFu) > 0x7C00u;
      x[i] = static_cast<std::uint16_t>((is_nan ? given[i] | 0x0200u : x[i]) & kept[i]);
    }
    std::memcpy(out + begin * 2, x, now * 2);
  }
}

/// 1 / (1 - ratio), computed in f32, or in f64 for data of f64.
template <class Isa, class Float>
Float ScaleOf(const Argument& ratio) {
  const Float value = ratio.type == OutputType::kF32 ? static_cast<Float>(F32FromBits(ratio.bits))
                                                     : static_cast<Float>(F64FromBits(ratio.bits));
  return Float{1} / (Float{1} - value);
}

template <class Isa>
void Keep(const Draw& draw, const unsigned char* dropped, const unsigned char* data, std::size_t count,
          unsigned char* out) {
  const Argument& ratio = draw[Parameter::kRatio];
  switch (draw.type) {
    case OutputType::kF32:
      return KeepFloats<Isa, float, std::uint32_t>(dropped, data, ScaleOf<Isa, float>(ratio), count, out);
    case OutputType::kF64:
      return KeepFloats<Isa, double, std::uint64_t>(dropped, data, ScaleOf<Isa, double>(ratio), count, out);
    case OutputType::kF16:
      return KeepF16<Isa>(dropped, data, F32FromF16(F16FromF32(ScaleOf<Isa, float>(ratio))), count, out);
    case OutputType::kBF16: {
      const std::uint32_t scale = RoundToBF16(BitCast<std::uint32_t>(ScaleOf<Isa, float>(ratio)));
      return KeepBF16<Isa>(dropped, data, F32FromBF16(scale >> 16), count, out);
    }
    default:
      NoRule();
  }
}

/// The data with elements dropped, and a byte for each element: 1 where it is kept.
template <class Isa, class From>
void FillDropout(const Piece& piece) {
  alignas(64) unsigned char dropped[kDroppedAtOnce];
  const unsigned size = ElementSize(piece.draw.type);
  const unsigned char* data = static_cast<const unsigned char*>(piece.draw[Parameter::kData].data) + piece.begin * size;
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  unsigned char* mask = piece.draw.mask;
  Piece part = piece;
  part.draw.out = dropped;
  for (part.begin = piece.begin; part.begin < piece.end; part.begin = part.end) {
    part.end = piece.end - part.begin > kDroppedAtOnce ? part.begin + kDroppedAtOnce : piece.end;
    FillBelow<Isa, From>(part, piece.draw[Parameter::kRatio]);
    const std::size_t count = static_cast<std::size_t>(part.end - part.begin);
    if (mask != nullptr) {
      for (std::size_t i = 0; i < count; ++i) mask[i] = static_cast<unsigned char>(dropped[i] ^ 1u);
      mask += count;
    }
    if (out == nullptr) continue;
    Keep<Isa>(piece.draw, dropped, data, count, out);
    data += count * size;
    out += count * size;
  }
}

}  // namespace onnx_philox
