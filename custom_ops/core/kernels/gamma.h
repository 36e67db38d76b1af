// Gamma values, by the method of Marsaglia and Tsang.
//
// src/onnx_philox/_numbers/gamma.py defines them, operation by operation. In the environment of float_environment.h;
// contraction to FMA must be off.
//
// Internal: included only by the files that are compiled for each instruction set and a test, like engine.h.
#pragma once

#include "rejection.h"
#include "rough_normals.h"

namespace onnx_philox {

/// Attempt t reads blocks 2 t and 2 t + 1.
constexpr unsigned kGammaAttempts = kElementBlocks / 2;

template <class Isa, unsigned kAttempts>
class Gammas {
 public:
  using B = Batch<Isa>;
  using Words = typename Isa::Words;
  using Column = typename B::Column;
  using Lanes = LanesF64<Isa>;
  /// Batches that are drawn at once. More than one where rough numbers save more than it takes to look at them.
  static constexpr unsigned kBatches = B::kLanes >= 4 ? 4 : 1;
  using Values = typename B::template Columns<kBatches>;

  explicit Gammas(const Draw& draw)
      : blocks_(draw), given_(draw[Parameter::kAlpha]), are_f32_(draw.type == OutputType::kF32) {
    if (given_.each()) return;
    // One number for all: a division and a root for each of them would take longer than a small draw.
    SetAlpha(0, B::kLanes);
    d_.Spread();
    c_.Spread();
  }

  void operator()(std::uint64_t first, unsigned count, Values* values) {
    if constexpr (kBatches == 1) {
      DrawPart(first, count, values->value);
    } else {
      for (unsigned begin = 0; begin < count;) {
        const unsigned part = PartOf(first + begin, count - begin);
        DrawPart(first + begin, part, values->value + begin);
        begin += part;
      }
    }
  }

 private:
  /// How many of these elements are drawn at once: more than a batch only where one alpha and one run of blocks serve all.
  unsigned PartOf(std::uint64_t first, unsigned count) const {
    if (may_be_rough_ && !given_.each() && blocks_.AreOneRun(first, count)) return count;
    return count < B::kSize ? count : B::kSize;
  }

  void DrawPart(std::uint64_t first, unsigned count, double* values) {
    if (given_.each()) SetAlpha(first, count);
    blocks_.Begin(first, count);
    if constexpr (kBatches > 1) {
      if (may_be_rough_) return DrawRoughly(count, values);
    }
    left_.SetRun(0, count);
    MakeAttempts(values);
    if (!has_small_) return;
    for (unsigned i = 0; i < count; ++i) values[B::At(i)] = alpha_[i] < 1.0 ? values[B::At(i)] * boost_[i] : values[B::At(i)];
  }

  /// Values from rough numbers, and then attempts for those elements of which these are not sure. They are few, and a batch
  /// of few elements takes nearly as long as one of many.
  void DrawRoughly(unsigned count, double* values) {
    unsure_ = 0;
    for (unsigned begin = 0; begin < count; begin += B::kSize) {
      left_.SetRun(begin, count - begin < B::kSize ? count - begin : B::kSize);
      AcceptRough(values);
    }
    for (unsigned begin = 0; begin < unsure_; begin += B::kSize) {
      left_.count = unsure_ - begin < B::kSize ? unsure_ - begin : B::kSize;
      left_.is_run = false;
      for (unsigned i = 0; i < left_.count; ++i) left_.element[i] = unsure_element_[begin + i];
      MakeAttempts(values);
    }
  }

  /// Attempts for the elements that are left.
  void MakeAttempts(double* values) {
    for (unsigned attempt = 0; attempt < kAttempts && left_.count > 0; ++attempt) {
      const bool is_dense = B::kSize == 1 || left_.is_run || !given_.each();
      if (!is_dense) {
        Gather<Isa>(d_, left_, &some_d_);
        Gather<Isa>(c_, left_, &some_c_);
      }
      const Column& d = is_dense ? d_ : some_d_;
      blocks_.Get(left_, 2 * attempt, &pairs_);
      blocks_.Get(left_, 2 * attempt + 1, &others_);
      Attempt(d, is_dense ? c_ : some_c_);
      if (attempt == 0 && has_small_) Boost(left_.count);
      AcceptClear(values);
      if (open_.count > 0) DecideOpen(d, values);
    }
  }

  void SetAlpha(std::uint64_t first, unsigned count) {
    NumbersOf<Isa>(given_, first, count, &alpha_);
    has_small_ = false;
    bool has_large = false;
    for (unsigned i = 0; i < count; ++i) {
      const bool is_small = alpha_[i] < 1.0;
      d_[i] = (is_small ? alpha_[i] + 1.0 : alpha_[i]) - 1.0 / 3.0;
      has_small_ = has_small_ || is_small;
      has_large = has_large || d_[i] > kClearD;
    }
    may_be_rough_ = are_f32_ && !has_small_ && !has_large;
    for (unsigned i = count; i % B::kLanes != 0; ++i) d_[i] = d_[0];
    const Words one = Lanes::Splat(Lanes::kOne), nine = Constant<Lanes>(9);
    for (unsigned i = 0; i < count; i += B::kLanes) {
      c_.Set(i, Isa::DivideF64(one, Isa::SqrtF64(Isa::MultiplyF64(nine, d_.Get(i)))));
    }
  }

  /// An attempt: x, y, d y and 1 - w, and by how much it is clear that the rule accepts it.
  ///
  /// In exact numbers it does where 1 - w < 1 - (kSqueeze / d + kSqueeze2 / d^2) x^4, for any d from 2/3 on: Marsaglia and
  /// Tsang's squeeze has 0.0331, which only the smallest d needs (tests/numbers/test_rejecting.py). What is computed of the rule is
  /// within 2^-24 of the exact numbers for d up to 2^20. So it accepts, too, where the squeeze holds with kMargin to
  /// spare. Nothing is clear for a larger d.
  void Attempt(const Column& d, const Column& c) {
    const Words one = Lanes::Splat(Lanes::kOne);
    // 1 / d is 9 c^2.
    const Words least = Constant<Lanes>(1.0 - kMargin), first = Constant<Lanes>(9 * kSqueeze);
    const Words second = Constant<Lanes>(81 * kSqueeze2);
    const Words most = Constant<Lanes>(kClearD), zero = Constant<Lanes>(0);
    for (unsigned i = 0; i < left_.count; i += B::kLanes) {
      const Words x = NormalsOf<Lanes>(pairs_.First(i), pairs_.Second(i)).cosine;
      const Words cx = Isa::MultiplyF64(c.Get(i), x), z = Isa::AddF64(one, cx);
      const Words y = Isa::MultiplyF64(Isa::MultiplyF64(z, z), z);
      const Words v = OneMinusUniform<Isa>(others_.Even(i));
      const Words square = Isa::MultiplyF64(x, x), of_d = Isa::MultiplyF64(cx, cx);
      const Words factor = Isa::AddF64(Isa::MultiplyF64(square, first), Isa::MultiplyF64(of_d, second));
      const Words squeeze = Isa::SubtractF64(least, Isa::MultiplyF64(of_d, factor));
      x_.Set(i, x);
      y_.Set(i, y);
      v_.Set(i, v);
      value_.Set(i, Isa::MultiplyF64(d.Get(i), y));
      clear_.Set(i, Isa::ZeroIfBelowF64(most, d.Get(i), Isa::MaxF64(Isa::SubtractF64(squeeze, v), zero)));
    }
  }

  /// Writes values of all elements that are left from rough normals, and collects those of which these are not sure.
  ///
  /// A value is sure if it is clear that the rule accepts it, as in Attempt, and if the exact one is rounded to the same f32.
  /// c is at most 1 / sqrt(6), so z = 1 + c x is within 0.41 kRoughNormalError of what it would be exactly. From 1 / 4 on, z is
  /// within 1.64 kRoughNormalError of that, relative to it, z^3 within three times as much, and all roundings are less
  /// than 2^-48. A float64 is at most 2^53 of its steps, so the exact value is less than kRoughSteps of them away. Such
  /// values lie between 0.01 and 2^27: they are normal f32, of which a float64 has 29 bits more, and the middle between two f32 is
  /// where these are 2^28. With 2^28 + kRoughSteps added, they are at most 2 kRoughSteps just where the value is within kRoughSteps
  /// of a middle.
  ///
  /// The squeeze is off by less than 2^-30, of which kMargin has enough to spare.
  void AcceptRough(double* values) {
    static_assert(5 * kRoughNormalError + 0x1p-48 < kRoughSteps * 0x1p-53, "so many steps are enough");
    const Words one = Lanes::Splat(Lanes::kOne), quarter = Constant<Lanes>(0.25), least = Constant<Lanes>(1 + kMargin);
    const Words first = Constant<Lanes>(81 * kSqueeze), second = Constant<Lanes>(81 * kSqueeze2);
    const Words last_bits = Isa::Splat64((1u << 29) - 1), middle_to_steps = Isa::Splat64((1u << 28) + kRoughSteps);
    const Words sure = Constant<Lanes>(1 + (2 * kRoughSteps + 1) * 0x1p-52);
    blocks_.Get(left_, 0, &pairs_);
    blocks_.Get(left_, 1, &others_);
    // Step by step for all registers: the steps of one wait for each other.
    for (unsigned i = 0; i < left_.count; i += B::kLanes) y_.Set(i, RoughSquaredRadius<Isa>(pairs_.Even(i)));
    for (unsigned i = 0; i < left_.count; i += B::kLanes) {
      x_.Set(i, Isa::MultiplyF64(Isa::SqrtF64(y_.Get(i)), RoughCosine<Isa>(pairs_.Odd(i))));
    }
    for (unsigned i = 0; i < left_.count; i += B::kLanes) {
      const Words d = d_.Get(i), cx = Isa::MultiplyF64(c_.Get(i), x_.Get(i));
      const Words z = Isa::AddF64(one, cx), value = Isa::MultiplyF64(d, Isa::MultiplyF64(Isa::MultiplyF64(z, z), z));
      // (c x)^2 is x^2 / (9 d).
      const Words square = Isa::MultiplyF64(cx, cx), factor = Isa::MultiplyAddF64(d, first, second);
      const Words limit = Isa::MultiplyAddF64(Isa::MultiplyF64(square, square), factor, least);
      const Words steps_as_fraction = Isa::MaskOr(Isa::Add64(value, middle_to_steps), last_bits, one);
      const Words is_rounded = Isa::ZeroIfBelowF64(steps_as_fraction, sure, one);
      const Words is_high = Isa::ZeroIfBelowF64(z, quarter, is_rounded);
      value_.Set(i, value);
      clear_.Set(i, Isa::ZeroIfBelowF64(OnePlusUniform<Isa>(others_.Even(i)), limit, is_high));
    }
    AcceptClear(values);
    for (unsigned i = 0; i < open_.count; ++i) unsure_element_[unsure_ + i] = left_.element[open_.element[i]];
    unsure_ += open_.count;
  }

  /// exp(ln(1 - w') / alpha), of the second block of each element.
  void Boost(unsigned count) {
    for (unsigned i = 0; i < count; i += B::kLanes) {
      const Words ln = Ln<Isa>(OneMinusUniform<Isa>(others_.Odd(i)));
      boost_.Set(i, ExpNonpositive<Isa>(Isa::DivideF64(ln, alpha_.Get(i))));
    }
  }

  /// Writes every value; keeps open what is not clear, by its place in the attempt.
  void AcceptClear(double* values) {
    unsigned open = 0;
    if (left_.is_run) {
      double* const run = values + left_.element[0];
      for (unsigned i = 0; i < left_.count; ++i) run[B::At(i)] = value_[i];
    } else {
      for (unsigned i = 0; i < left_.count; ++i) values[B::At(left_.element[i])] = value_[i];
    }
    // Most registers are clear as a whole.
    for (unsigned first = 0; first < left_.count; first += B::kLanes) {
      if (!Isa::HasZero64(clear_.Get(first))) continue;
      const unsigned end = first + B::kLanes < left_.count ? first + B::kLanes : left_.count;
      for (unsigned i = first; i < end; ++i) {
        open_.element[open] = static_cast<std::uint16_t>(i);
        open += clear_[i] > 0.0 ? 0 : 1;
      }
    }
    open_.count = open;
    if (open == 0) left_.count = 0;
  }

  /// The rule itself, for what is open. What it rejects is left.
  void DecideOpen(const Column& d, double* values) {
    const Words one = Lanes::Splat(Lanes::kOne), half = Constant<Lanes>(0.5);
    Gather<Isa>(x_, open_, &open_x_);
    Gather<Isa>(y_, open_, &open_y_);
    Gather<Isa>(v_, open_, &open_v_);
    Gather<Isa>(d, open_, &open_d_);
    for (unsigned i = 0; i < open_.count; i += B::kLanes) {
      const Words x = open_x_.Get(i), y = open_y_.Get(i);
      const Words tail = Isa::AddF64(Isa::SubtractF64(one, y), Ln<Isa>(y));  // of no use where y is not positive
      const Words square = Isa::MultiplyF64(Isa::MultiplyF64(x, x), half);
      limit_.Set(i, Isa::AddF64(square, Isa::MultiplyF64(open_d_.Get(i), tail)));
      ln_v_.Set(i, Ln<Isa>(open_v_.Get(i)));
    }
    unsigned rejected = 0;
    for (unsigned i = 0; i < open_.count; ++i) {
      const std::uint16_t element = left_.element[open_.element[i]];
      const double ln_v = ln_v_[i], limit = limit_[i];
      const bool is_positive = open_y_[i] > 0.0;
      if (!is_positive) values[B::At(element)] = open_d_[i];
      left_.element[rejected] = element;
      const bool is_accepted = is_positive & (ln_v < limit);
      rejected += is_accepted ? 0 : 1;
    }
    left_.count = rejected;
    left_.is_run = false;
  }

  static constexpr std::uint32_t kRoughSteps = 1u << 16;
  static constexpr double kMargin = 0x1p-16, kClearD = 0x1p20, kSqueeze = 0.0125, kSqueeze2 = 0.0065;

  BatchBlocks<Isa> blocks_;
  const Argument& given_;
  bool are_f32_;
  bool has_small_ = false;
  bool may_be_rough_ = false;  ///< whether rough numbers may say what the values are: see AcceptRough
  typename B::List left_, open_;
  unsigned unsure_ = 0;
  std::uint16_t unsure_element_[kBatches * B::kSize];
  typename B::Blocks pairs_, others_;
  Column alpha_, d_, c_, some_d_, some_c_, x_, y_, v_, value_, clear_, boost_;
  Column open_x_, open_y_, open_v_, open_d_, limit_, ln_v_;
};

/// Gamma values; real counters never reach the last attempt, so a test sets fewer.
template <class Isa, unsigned kAttempts>
ONNX_PHILOX_NOINLINE void FillGammas(const Piece& piece) {
  Gammas<Isa, kAttempts> gammas(piece.draw);
  constexpr unsigned kBatches = Gammas<Isa, kAttempts>::kBatches;
  if (piece.draw.type == OutputType::kF32) return FillBatches<Isa, float, kBatches>(piece, Parameter::kAlpha, gammas);
  FillBatches<Isa, double, kBatches>(piece, Parameter::kAlpha, gammas);
}

}  // namespace onnx_philox
