// Gamma values, by the method of Marsaglia and Tsang.
//
// src/onnx_philox/_numbers/gamma.py defines them, operation by operation. In the environment of float_environment.h;
// contraction to FMA must be off.
//
// Internal: included only by the files that are compiled for each instruction set and a test, like engine.h.
#pragma once

#include "rejection.h"

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

  explicit Gammas(const Draw& draw) : blocks_(draw), given_(draw[Parameter::kAlpha]) {
    if (given_.each()) return;
    // One number for all: a division and a root for each of them would take longer than a small draw.
    SetAlpha(0, B::kLanes);
    d_.Spread();
    c_.Spread();
  }

  void operator()(std::uint64_t first, unsigned count, Column* values) {
    if (given_.each()) SetAlpha(first, count);
    blocks_.Begin(first, count);
    left_.SetAll(count);
    for (unsigned attempt = 0; attempt < kAttempts && left_.count > 0; ++attempt) {
      const bool is_dense = B::kSize == 1 || attempt == 0 || !given_.each();
      if (!is_dense) {
        Gather<Isa>(d_, left_, &some_d_);
        Gather<Isa>(c_, left_, &some_c_);
      }
      const Column& d = is_dense ? d_ : some_d_;
      Attempt(attempt, d, is_dense ? c_ : some_c_);
      if (attempt == 0 && has_small_) Boost(count);
      AcceptClear(values);
      if (open_.count > 0) DecideOpen(d, values);
    }
    if (!has_small_) return;
    for (unsigned i = 0; i < count; ++i) (*values)[i] = alpha_[i] < 1.0 ? (*values)[i] * boost_[i] : (*values)[i];
  }

 private:
  void SetAlpha(std::uint64_t first, unsigned count) {
    NumbersOf<Isa>(given_, first, count, &alpha_);
    has_small_ = false;
    for (unsigned i = 0; i < count; ++i) {
      const bool is_small = alpha_[i] < 1.0;
      d_[i] = (is_small ? alpha_[i] + 1.0 : alpha_[i]) - 1.0 / 3.0;
      has_small_ = has_small_ || is_small;
    }
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
  void Attempt(unsigned attempt, const Column& d, const Column& c) {
    const Words one = Lanes::Splat(Lanes::kOne);
    // 1 / d is 9 c^2.
    const Words least = Constant<Lanes>(1.0 - kMargin), first = Constant<Lanes>(9 * kSqueeze);
    const Words second = Constant<Lanes>(81 * kSqueeze2);
    const Words most = Constant<Lanes>(kClearD), zero = Constant<Lanes>(0);
    blocks_.Get(left_, 2 * attempt, &pairs_);
    blocks_.Get(left_, 2 * attempt + 1, &others_);
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

  /// exp(ln(1 - w') / alpha), of the second block of each element.
  void Boost(unsigned count) {
    for (unsigned i = 0; i < count; i += B::kLanes) {
      const Words ln = Ln<Isa>(OneMinusUniform<Isa>(others_.Odd(i)));
      boost_.Set(i, ExpNonpositive<Isa>(Isa::DivideF64(ln, alpha_.Get(i))));
    }
  }

  /// Writes every value; keeps open what is not clear, by its place in the attempt.
  void AcceptClear(Column* values) {
    unsigned open = 0;
    if (left_.is_all) {
      for (unsigned i = 0; i < left_.count; ++i) (*values)[i] = value_[i];
    } else {
      for (unsigned i = 0; i < left_.count; ++i) (*values)[left_.element[i]] = value_[i];
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
  void DecideOpen(const Column& d, Column* values) {
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
      if (!is_positive) (*values)[element] = open_d_[i];
      left_.element[rejected] = element;
      const bool is_accepted = is_positive & (ln_v < limit);
      rejected += is_accepted ? 0 : 1;
    }
    left_.count = rejected;
    left_.is_all = false;
  }

  static constexpr double kMargin = 0x1p-16, kClearD = 0x1p20, kSqueeze = 0.0125, kSqueeze2 = 0.0065;

  BatchBlocks<Isa> blocks_;
  const Argument& given_;
  bool has_small_ = false;
  typename B::List left_, open_;
  typename B::Blocks pairs_, others_;
  Column alpha_, d_, c_, some_d_, some_c_, x_, y_, v_, value_, clear_, boost_;
  Column open_x_, open_y_, open_v_, open_d_, limit_, ln_v_;
};

/// Gamma values; real counters never reach the last attempt, so a test sets fewer.
template <class Isa, unsigned kAttempts>
ONNX_PHILOX_NOINLINE void FillGammas(const Piece& piece) {
  Gammas<Isa, kAttempts> gammas(piece.draw);
  if (piece.draw.type == OutputType::kF32) return FillBatches<Isa, float>(piece, Parameter::kAlpha, gammas);
  FillBatches<Isa, double>(piece, Parameter::kAlpha, gammas);
}

}  // namespace onnx_philox
