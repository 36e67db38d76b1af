// Poisson counts: small rates by their running sums, large ones by Hoermann's transformed rejection with squeeze (PTRS).
//
// src/onnx_philox/_numbers/poisson.py defines them, operation by operation. In the environment of float_environment.h;
// contraction to FMA must be off.
//
// Internal: included only by the files that are compiled for each instruction set and a test, like engine.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "coefficients.h"
#include "rejection.h"

namespace onnx_philox {

/// Attempt t reads block t.
constexpr unsigned kPoissonAttempts = kElementBlocks;
/// From this rate on, attempts are made.
constexpr double kSmallestLargeRate = 10;
constexpr unsigned kMostTerms = 1000;

/// The running sums of one small rate. The counts come from a search that begins near its end. A template, so that no
/// instruction set's code is shared (see philox.h).
template <class Isa>
class PoissonSums {
 public:
  /// `first` is exp(-rate).
  void Set(double rate, double first) {
    double p = first;
    sum_[0] = p;
    count_ = 1;
    // Once the terms fall and add nothing, nothing is added any more. Below a rate of 10 that is so after 60 terms.
    for (bool grows = true; grows && sum_[count_ - 1] < 1.0 && count_ < kKept; ++count_) {
      const double k = static_cast<double>(count_);
      p = p * rate / k;
      sum_[count_] = sum_[count_ - 1] + p;
      grows = k < rate || sum_[count_] > sum_[count_ - 1];
    }
    sum_[count_] = 2;  // above all that is searched for
    unsigned k = 0;
    for (unsigned cell = 0; cell < kCells; ++cell) {
      while (sum_[k] <= static_cast<double>(cell) / kCells) ++k;
      first_[cell] = static_cast<std::uint8_t>(k);
    }
  }

  /// The smallest k whose running sum is above u.
  double Find(double u) const {
    unsigned k = first_[static_cast<unsigned>(u * kCells)];
    while (sum_[k] <= u) ++k;
    return static_cast<double>(k == count_ ? kMostTerms : k);
  }

 private:
  static constexpr unsigned kKept = 96, kCells = 256;
  double sum_[kKept + 1];
  std::uint8_t first_[kCells];
  unsigned count_;
};

template <class Isa, unsigned kAttempts>
class PoissonCounts {
 public:
  using B = Batch<Isa>;
  using Words = typename Isa::Words;
  using Column = typename B::Column;
  using List = typename B::List;
  using Lanes = LanesF64<Isa>;

  explicit PoissonCounts(const Draw& draw) : blocks_(draw), given_(draw[Parameter::kRate]) {
    if (given_.each()) return;
    NumbersOf<Isa>(given_, 0, 1, &rate_);
    if (rate_[0] < kSmallestLargeRate) {
      p_.Set(0, ExpOfMinus(rate_.Get(0)));
      sums_.Set(rate_[0], p_[0]);
    } else {
      // One number for all: to compute it for each of them would take longer than a small draw.
      SetLarge(B::kLanes);
      a_.Spread();
      b_.Spread();
      ln_i_.Spread();
      q_.Spread();
      ln_rate_.Spread();
    }
  }

  void operator()(std::uint64_t first, unsigned count, Column* values) {
    blocks_.Begin(first, count);
    small_.count = large_.count = 0;
    if (given_.each()) {
      NumbersOf<Isa>(given_, first, count, &rate_);
      Sort(count);
    } else {
      (rate_[0] < kSmallestLargeRate ? small_ : large_).SetRun(0, count);
    }
    if (small_.count > 0) Small(values);
    if (large_.count > 0) {
      if (given_.each()) SetLarge(count);
      Large(values);
    }
  }

 private:
  static ONNX_PHILOX_INLINE Words ExpOfMinus(Words x) {
    return ExpNonpositive<Isa>(Isa::MultiplyF64(x, Constant<Lanes>(-1)));
  }

  /// Small rates and large ones.
  void Sort(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const bool is_small = rate_[i] < kSmallestLargeRate;
      small_.element[small_.count] = large_.element[large_.count] = static_cast<std::uint16_t>(i);
      small_.count += is_small ? 1 : 0;
      large_.count += is_small ? 0 : 1;
    }
    small_.is_run = small_.count == count;
    large_.is_run = large_.count == count;
  }

  void Small(Column* values) {
    blocks_.Get(small_, 0, &pairs_);
    for (unsigned i = 0; i < small_.count; i += B::kLanes) u_.Set(i, UniformOf<Isa>(pairs_.Even(i)));
    if (!given_.each()) {
      for (unsigned i = 0; i < small_.count; ++i) (*values)[i] = sums_.Find(u_[i]);
      return;
    }
    Gather<Isa>(rate_, small_, &some_rate_);
    for (unsigned i = 0; i < small_.count; i += B::kLanes) {
      const Words p = ExpOfMinus(some_rate_.Get(i));
      p_.Set(i, p);
      sum_.Set(i, p);
      k_.Set(i, Constant<Lanes>(0));
    }
    for (unsigned done = 0; small_.count > 0; done += kTermsAtOnce) {
      AddTerms(done);
      CloseSmall(done + kTermsAtOnce >= kMostTerms, values);
    }
  }

  /// Some more terms: an element counts them until its sum is above u.
  void AddTerms(unsigned done) {
    const Words one = Lanes::Splat(Lanes::kOne);
    for (unsigned i = 0; i < small_.count; i += B::kLanes) {
      const Words u = u_.Get(i), rate = some_rate_.Get(i);
      Words p = p_.Get(i), sum = sum_.Get(i), k = k_.Get(i);
      for (unsigned term = done + 1; term <= done + kTermsAtOnce; ++term) {
        k = Isa::AddF64(k, Isa::ZeroIfBelowF64(u, sum, one));
        p = Isa::DivideF64(Isa::MultiplyF64(p, rate), Constant<Lanes>(static_cast<double>(term)));
        sum = Isa::AddF64(sum, p);
      }
      p_.Set(i, p);
      sum_.Set(i, sum);
      k_.Set(i, k);
    }
  }

  /// Writes the counts; keeps the elements whose sum is not above u yet.
  void CloseSmall(bool is_last, Column* values) {
    unsigned kept = 0;
    for (unsigned i = 0; i < small_.count; ++i) {
      const std::uint16_t element = small_.element[i];
      const bool is_kept = sum_[i] <= u_[i];
      (*values)[element] = k_[i];
      small_.element[kept] = element;
      for (Column* column : {&u_, &some_rate_, &p_, &sum_, &k_}) (*column)[kept] = (*column)[i];
      kept += is_kept ? 1 : 0;
    }
    small_.count = is_last ? 0 : kept;
    small_.is_run = false;
  }

  /// What depends on the rate alone, for the elements up to `count`; small rates count as 10 and are not looked at.
  void SetLarge(unsigned count) {
    for (unsigned i = count; i % B::kLanes != 0; ++i) rate_[i] = rate_[0];
    const auto constant = [](double x) { return Constant<Lanes>(x); };
    for (unsigned i = 0; i < count; i += B::kLanes) {
      const Words rate = Isa::MaxF64(rate_.Get(i), constant(kSmallestLargeRate));
      const Words b = Isa::AddF64(constant(0.931), Isa::MultiplyF64(constant(2.53), Isa::SqrtF64(rate)));
      const Words a = Isa::AddF64(constant(-0.059), Isa::MultiplyF64(constant(0.02483), b));
      const Words inverse = Isa::DivideF64(constant(1.1328), Isa::SubtractF64(b, constant(3.4)));
      const Words squeeze = Isa::DivideF64(constant(3.6224), Isa::SubtractF64(b, constant(2.0)));
      b_.Set(i, b);
      a_.Set(i, a);
      ln_i_.Set(i, Ln<Isa>(Isa::AddF64(constant(1.1239), inverse)));
      q_.Set(i, Isa::SubtractF64(constant(0.9277), squeeze));
      ln_rate_.Set(i, Ln<Isa>(rate));
    }
  }

  void Large(Column* values) {
    for (unsigned attempt = 0; attempt < kAttempts && large_.count > 0; ++attempt) {
      blocks_.Get(large_, attempt, &pairs_);
      if (given_.each()) {
        Gather<Isa>(rate_, large_, &some_rate_);
        Gather<Isa>(a_, large_, &some_a_);
        Gather<Isa>(b_, large_, &some_b_);
        Gather<Isa>(q_, large_, &some_q_);
        Try(some_rate_, some_a_, some_b_);
        Decide(some_q_, values);
      } else {
        Try(rate_, a_, b_);
        Decide(q_, values);
      }
      if (undecided_.count > 0) DecideByDensity(values);
    }
    for (unsigned i = 0; i < large_.count; ++i) {
      const std::uint16_t element = large_.element[i];
      (*values)[element] = std::floor(rate_[element]);
    }
  }

  /// s, V and k, which is yet to be rounded down, of an attempt.
  void Try(const Column& rates, const Column& as, const Column& bs) {
    const Words half = Constant<Lanes>(0.5), magnitude = Lanes::Splat(~Lanes::kSign);
    const Words shift = Constant<Lanes>(0.43), two = Constant<Lanes>(2);
    for (unsigned i = 0; i < large_.count; i += B::kLanes) {
      const Words u = Isa::SubtractF64(UniformOf<Isa>(pairs_.Even(i)), half);
      const Words s = Isa::SubtractF64(half, Isa::And(u, magnitude));
      const Words width = Isa::AddF64(Isa::DivideF64(Isa::MultiplyF64(two, as.Get(i)), s), bs.Get(i));
      s_.Set(i, s);
      v_.Set(i, OneMinusUniform<Isa>(pairs_.Odd(i)));
      k_.Set(i, Isa::AddF64(Isa::AddF64(Isa::MultiplyF64(width, u), rates.Get(i)), shift));
    }
    for (unsigned i = 0; i < large_.count; ++i) k_[i] = std::floor(k_[i]);
  }

  /// Accepts and rejects what needs no logarithms. Every count is written; one that is rejected is written again.
  void Decide(const Column& q, Column* values) {
    unsigned rejected = 0, undecided = 0;
    for (unsigned i = 0; i < large_.count; ++i) {
      const std::uint16_t element = large_.element[i];
      const double s = s_[i], v = v_[i], k = k_[i], most = q[i];
      const bool is_accepted = (s >= 0.07) & (v <= most);
      const bool is_outside = (k < 0.0) | ((s < 0.013) & (v > s));
      const unsigned open = is_accepted ? 0 : 1, outside = is_outside ? 1 : 0;
      (*values)[element] = k;
      undecided_.element[undecided] = element;
      s_[undecided] = s;
      v_[undecided] = v;
      k_[undecided] = k;
      large_.element[rejected] = element;
      undecided += open & (outside ^ 1);
      rejected += open & outside;
    }
    undecided_.count = undecided;
    large_.count = rejected;
    large_.is_run = false;
  }

  /// The rest; what this rejects joins the rejected.
  void DecideByDensity(Column* values) {
    constexpr double kTable = sizeof(kLnFactorials) / sizeof(kLnFactorials[0]);
    const Words one = Lanes::Splat(Lanes::kOne), half = Constant<Lanes>(0.5);
    const unsigned count = undecided_.count;
    for (unsigned i = count; i % B::kLanes != 0; ++i) {
      s_[i] = s_[0];
      v_[i] = v_[0];
      k_[i] = k_[0];
    }
    Gather<Isa>(rate_, undecided_, &some_rate_);
    Gather<Isa>(a_, undecided_, &some_a_);
    Gather<Isa>(b_, undecided_, &some_b_);
    Gather<Isa>(ln_i_, undecided_, &some_ln_i_);
    Gather<Isa>(ln_rate_, undecided_, &some_ln_rate_);
    for (unsigned i = 0; i < count; i += B::kLanes) {
      const Words s = s_.Get(i), k = k_.Get(i), known = Isa::MaxF64(k, Constant<Lanes>(kTable));
      const Words hat = Isa::AddF64(Isa::DivideF64(some_a_.Get(i), Isa::MultiplyF64(s, s)), some_b_.Get(i));
      bound_.Set(i, Isa::SubtractF64(Isa::AddF64(Ln<Isa>(v_.Get(i)), some_ln_i_.Get(i)), Ln<Isa>(hat)));
      density_.Set(i, Isa::SubtractF64(Isa::MultiplyF64(k, some_ln_rate_.Get(i)), some_rate_.Get(i)));
      const Words r = Isa::DivideF64(one, known);
      const Words third = Isa::MultiplyF64(Isa::MultiplyF64(r, r), Constant<Lanes>(kStirlingSecond));
      const Words series = Isa::AddF64(Constant<Lanes>(kStirlingConstant),
                                       Isa::MultiplyF64(r, Isa::SubtractF64(Constant<Lanes>(kStirlingFirst), third)));
      const Words main = Isa::MultiplyF64(Isa::AddF64(known, half), Isa::SubtractF64(Ln<Isa>(known), one));
      ln_factorial_.Set(i, Isa::AddF64(main, series));
    }
    for (unsigned i = 0; i < count; ++i) {
      const std::uint16_t element = undecided_.element[i];
      const double ln_factorial = k_[i] < kTable ? kLnFactorials[static_cast<unsigned>(k_[i])] : ln_factorial_[i];
      (*values)[element] = k_[i];
      large_.element[large_.count] = element;
      large_.count += bound_[i] <= density_[i] - ln_factorial ? 0 : 1;
    }
  }

  static constexpr unsigned kTermsAtOnce = 8;
  static_assert(kMostTerms % kTermsAtOnce == 0, "no term too many");

  BatchBlocks<Isa> blocks_;
  const Argument& given_;
  PoissonSums<Isa> sums_;
  List small_, large_, undecided_;
  typename B::Blocks pairs_;
  Column rate_, a_, b_, ln_i_, q_, ln_rate_;
  Column some_rate_, some_a_, some_b_, some_q_, some_ln_i_, some_ln_rate_;
  Column u_, p_, sum_, k_, s_, v_, bound_, density_, ln_factorial_;
};

/// Poisson counts; real counters never reach the last attempt, so a test sets fewer.
template <class Isa, unsigned kAttempts>
ONNX_PHILOX_NOINLINE void FillPoissonCounts(const Piece& piece) {
  PoissonCounts<Isa, kAttempts> counts(piece.draw);
  if (piece.draw.type == OutputType::kI32) return FillBatches<Isa, std::int32_t, 1>(piece, Parameter::kRate, counts);
  FillBatches<Isa, std::int64_t, 1>(piece, Parameter::kRate, counts);
}

}  // namespace onnx_philox
