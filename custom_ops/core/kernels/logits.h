// Rows of logits, of whatever type, and their weights.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "elementary.h"
#include "kernels.h"
#include "rough_weights.h"
#include "rows.h"

namespace onnx_philox {

/// A row of logits.
template <class Isa>
class RowOfLogits {
 public:
  static constexpr unsigned kLanes = sizeof(typename Isa::Words) / 8;
  static constexpr unsigned kAtOnce = 16 * kLanes;

  /// Row `row` of the draw's logits.
  RowOfLogits(const Draw& draw, std::uint64_t row) : type_(draw[Parameter::kLogits].type), classes_(draw.classes) {
    size_ = ElementSize(type_);
    row_ = static_cast<const unsigned char*>(draw[Parameter::kLogits].data) + row * classes_ * size_;
  }

  OutputType type() const { return type_; }
  std::uint64_t classes() const { return classes_; }

  double Maximum() const {
    double maximum = -BitCast<double>(std::uint64_t{0x7FF0000000000000u});
    ForEachSome([&](double most, std::uint64_t) { maximum = most > maximum ? most : maximum; });
    return maximum;
  }

  /// Calls take(most, begin) for every kAtOnce logits from `begin` on, or those that are left: `most` is the greatest.
  template <class Take>
  ONNX_PHILOX_INLINE void ForEachSome(const Take& take) const {
    switch (type_) {
      case OutputType::kF16:
        return ForEachSomeOf<OutputType::kF16>(take);
      case OutputType::kBF16:
        return ForEachSomeOf<OutputType::kBF16>(take);
      case OutputType::kF32:
        return ForEachSomeOf<OutputType::kF32>(take);
      case OutputType::kF64:
        return ForEachSomeOf<OutputType::kF64>(take);
      default:
        NoRule();
    }
  }

  static void Store(typename Isa::Words x, double* lanes) {
    Isa::Store(reinterpret_cast<unsigned char*>(lanes), x);
  }

  /// Logits as float64, -inf past the last.
  ONNX_PHILOX_INLINE typename Isa::Words Load(std::uint64_t begin) const {
    if (begin + kLanes <= classes_) return Widen(row_ + begin * size_);
    alignas(64) unsigned char padded[kLanes * 8];
    const std::uint64_t infinity = type_ == OutputType::kF16    ? 0xFC00FC00FC00FC00u
                                   : type_ == OutputType::kBF16 ? 0xFF80FF80FF80FF80u
                                   : type_ == OutputType::kF32  ? 0xFF800000FF800000u
                                                                : 0xFFF0000000000000u;
    for (unsigned i = 0; i < kLanes; ++i) std::memcpy(padded + i * 8, &infinity, 8);
    if (begin < classes_) std::memcpy(padded, row_ + begin * size_, static_cast<std::size_t>(classes_ - begin) * size_);
    return Widen(padded);
  }

 private:
  /// The greatest of kAtOnce logits; f32 holds those of narrower types, too.
  template <OutputType kType>
  static ONNX_PHILOX_INLINE double GreatestOf(const unsigned char* from) {
    using Words = typename Isa::Words;
    constexpr unsigned kBytes = sizeof(Words);
    if constexpr (kType == OutputType::kF64) {
      Words most = Isa::LoadF64(from);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 1; i < 16; ++i) most = Isa::MaxF64(most, Isa::LoadF64(from + i * kBytes));
      return GreatestLane<double>(most);
    } else {
      Words most = Isa::Splat32(0xFF800000u);
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < 8; ++i) {
        if constexpr (kType == OutputType::kF32) {
          most = Isa::MaxF32(most, Isa::LoadF64(from + i * kBytes));
        } else if constexpr (kType == OutputType::kF16) {
          most = Isa::MaxF32(most, Isa::LoadF16AsF32(from + i * (kBytes / 2)));
        } else if (i % 2 == 0) {
          const Words two = Isa::LoadF64(from + i / 2 * kBytes);
          most = Isa::MaxF32(most, Isa::template ShiftLeft32<16>(two));
          most = Isa::MaxF32(most, Isa::And(two, Isa::Splat32(0xFFFF0000u)));
        }
      }
      return static_cast<double>(GreatestLane<float>(most));
    }
  }

  template <class Float>
  static ONNX_PHILOX_INLINE Float GreatestLane(typename Isa::Words most) {
    constexpr unsigned kCount = sizeof(most) / sizeof(Float);
    Float lanes[kCount];
    Isa::Store(reinterpret_cast<unsigned char*>(lanes), most);
    Float greatest = lanes[0];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 1; i < kCount; ++i) greatest = lanes[i] > greatest ? lanes[i] : greatest;
    return greatest;
  }

  template <OutputType kType, class Take>
  ONNX_PHILOX_INLINE void ForEachSomeOf(const Take& take) const {
    constexpr unsigned kBytes = kType == OutputType::kF64 ? 8 : kType == OutputType::kF32 ? 4 : 2;
    std::uint64_t begin = 0;
    for (; begin + kAtOnce <= classes_; begin += kAtOnce) take(GreatestOf<kType>(row_ + begin * kBytes), begin);
    if (begin == classes_) return;
    // The rest, and the first of them again.
    unsigned char padded[kAtOnce * kBytes];
    for (unsigned i = 0; i < kAtOnce; ++i) {
      const std::uint64_t from = begin + i < classes_ ? begin + i : begin;
      std::memcpy(padded + i * kBytes, row_ + from * kBytes, kBytes);
    }
    take(GreatestOf<kType>(padded), begin);
  }

  ONNX_PHILOX_INLINE typename Isa::Words Widen(const unsigned char* from) const {
    switch (type_) {
      case OutputType::kF16:
        return Isa::LoadF16AsF64(from);
      case OutputType::kBF16: {
        std::uint16_t narrow[kLanes];
        std::uint32_t wide[kLanes];
        std::memcpy(narrow, from, sizeof(narrow));
        for (unsigned i = 0; i < kLanes; ++i) wide[i] = static_cast<std::uint32_t>(narrow[i]) << 16;
        return Isa::LoadF32AsF64(reinterpret_cast<const unsigned char*>(wide));
      }
      case OutputType::kF32:
        return Isa::LoadF32AsF64(from);
      case OutputType::kF64:
        return Isa::LoadF64(from);
      default:
        NoRule();
    }
  }

  OutputType type_;
  std::uint64_t classes_;
  unsigned size_;
  const unsigned char* row_;
};

/// The weights exp(logit - maximum) of a row, from left to right, some registers at a time: a single one would stall on
/// its own latency.
template <class Isa>
class Weights {
 public:
  static constexpr unsigned kLanes = RowOfLogits<Isa>::kLanes;
  static constexpr unsigned kAtOnce = 4 * kLanes;
  /// Whether `RoughSum` is faster than to add weights, which wait for each other.
  static constexpr bool kHasRoughSums = kLanes >= 4;
  /// So many weights are roughly computed side by side, since a step of a register waits for the one before it: a quarter of
  /// the registers, 32 of eight lanes and 16 of four.
  static constexpr unsigned kRoughAtOnce = kLanes * kLanes;

  Weights(const Draw& draw, std::uint64_t row)
      : logits_(draw, row), maximum_(Isa::Splat64(BitCast<std::uint64_t>(logits_.Maximum()))) {}

  /// Of classes `begin` to `begin` + kCount - 1, which fill whole registers; 0 past the last.
  template <unsigned kCount>
  ONNX_PHILOX_INLINE void Get(std::uint64_t begin, double (&weights)[kCount]) const {
    typename Isa::Words x[kCount / kLanes];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) x[i] = logits_.Load(begin + i * kLanes);
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) {
      RowOfLogits<Isa>::Store(ExpNonpositive<Isa>(Isa::SubtractF64(x[i], maximum_)), weights + i * kLanes);
    }
  }

  /// Rough weights of kCount classes from `begin` on, written from `weights` on; so of kPlaces places. Less than 2^-1000
  /// past the last class.
  template <unsigned kCount, unsigned kPlaces>
  ONNX_PHILOX_INLINE void GetRoughly(const std::uint64_t* begin, double* const* weights) const {
    constexpr unsigned kRegisters = kCount / kLanes;
    typename Isa::Words x[kPlaces * kRegisters];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kPlaces * kRegisters; ++i) {
      x[i] = Isa::SubtractF64(logits_.Load(begin[i / kRegisters] + i % kRegisters * kLanes), maximum_);
    }
    RoughExp<Isa>(x);
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kPlaces * kRegisters; ++i) {
      RowOfLogits<Isa>::Store(x[i], weights[i / kRegisters] + i % kRegisters * kLanes);
    }
  }

  /// Sums of rough weights, in any order: each of kCount from class `begin` on, and from kCount later, and so on.
  template <unsigned kCount, unsigned kSums>
  ONNX_PHILOX_INLINE void RoughSums(std::uint64_t begin, double (&sums)[kSums]) const {
    constexpr unsigned kRegisters = kCount / kLanes;
    typename Isa::Words x[kSums * kRegisters];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kSums * kRegisters; ++i) {
      x[i] = Isa::SubtractF64(logits_.Load(begin + i * kLanes), maximum_);
    }
    RoughExp<Isa>(x);
    ONNX_PHILOX_UNROLL
    for (unsigned k = 0; k < kSums; ++k) {
      typename Isa::Words sum = x[k * kRegisters];
      ONNX_PHILOX_UNROLL
      for (unsigned i = 1; i < kRegisters; ++i) sum = Isa::AddF64(sum, x[k * kRegisters + i]);
      alignas(64) double lanes[kLanes];
      RowOfLogits<Isa>::Store(sum, lanes);
      ONNX_PHILOX_UNROLL
      for (unsigned width = kLanes / 2; width > 0; width /= 2) {
        ONNX_PHILOX_UNROLL
        for (unsigned i = 0; i < width; ++i) lanes[i] += lanes[i + width];
      }
      sums[k] = lanes[0];
    }
  }

 private:
  RowOfLogits<Isa> logits_;
  typename Isa::Words maximum_;
};

/// The weights of row `row`, rounded to f32.
template <class Isa>
void WriteWeights(const Draw& draw, std::uint64_t row, float* weights) {
  constexpr unsigned kAtOnce = Weights<Isa>::kAtOnce;
  const Weights<Isa> wide(draw, row);
  double some[kAtOnce];
  for (std::uint64_t begin = 0; begin < draw.classes; begin += kAtOnce) {
    wide.Get(begin, some);
    for (std::uint64_t i = 0; i < kAtOnce && begin + i < draw.classes; ++i) weights[begin + i] = static_cast<float>(some[i]);
  }
}

}  // namespace onnx_philox
