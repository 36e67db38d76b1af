// Tokens: chooses among the classes of a row that pass a sampler's filters.
//
// Classes have an order: by their weights, downwards, and of equal weights the lower index first. The filters top_k and
// top_p keep the first of that order, up to some class: a Bound. It says of each class by itself whether it is kept. Then
// the running sums of the others, 0 for what is not kept, choose as in categorical.h.
//
// Few classes are sorted. The first 1,024 of many are found by their logits in one pass. Else nothing is sorted: the bound
// is found by counting and adding up what lies between two weights, digit by digit of the weights' bits. The contract
// adds from the greatest weight down, and compares two sums of these roundings. Sums in any other order differ from them
// by a known bound; where the comparison lies within it, the sums are made in the specification's order, a thousand weights
// in each pass. No memory is allocated.
//
// Internal: included only by the files that are compiled for each instruction set, like engine.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "categorical.h"
#include "floats.h"

namespace onnx_philox {

/// How sure a comparison of sums must be, which are made in another order than the specification's: the exponent of what
/// their difference is multiplied by. Each sum of n weights is within n 2^-53 of the exact one.
constexpr int kSureBits = 50;

/// The parameters of a row.
struct TokenFilters {
  double temperature, top_p, min_p;
  std::uint64_t top_k;
};

/// The number of a row; `absent` where it is left out. Floats are f32.
static inline double FloatOfRow(const Argument& given, std::uint64_t row, double absent) {
  if (given.is_left_out()) return absent;
  std::uint32_t bits = static_cast<std::uint32_t>(given.bits);
  if (given.each()) std::memcpy(&bits, static_cast<const unsigned char*>(given.data) + row * sizeof(bits), sizeof(bits));
  return static_cast<double>(F32FromBits(bits));
}

static inline TokenFilters FiltersOf(const Draw& draw, std::uint64_t row) {
  const Argument& top_k = draw[Parameter::kTopK];
  std::uint64_t most = top_k.bits;
  if (top_k.each()) std::memcpy(&most, static_cast<const unsigned char*>(top_k.data) + row * sizeof(most), sizeof(most));
  if (top_k.is_left_out() || most == 0 || most > draw.classes) most = draw.classes;
  return TokenFilters{FloatOfRow(draw[Parameter::kTemperature], row, 1), FloatOfRow(draw[Parameter::kTopP], row, 1),
                      FloatOfRow(draw[Parameter::kMinP], row, 0), most};
}

/// The last class that is kept, in the order of the weights.
struct Bound {
  double weight;
  std::uint64_t index;
};

/// No class has a weight below 0: at first, all are kept.
constexpr Bound kAllKept{-1, 0};

template <class Isa>
ONNX_PHILOX_INLINE bool Keeps(const Bound& bound, double weight, std::uint64_t index) {
  return weight > bound.weight || (weight == bound.weight && index <= bound.index);
}

/// The weights exp((logit - maximum) / temperature) of a row, as Weights has them; 0 of what a bound or min_p leaves out.
template <class Isa>
class TokenWeights {
 public:
  static constexpr bool kHasRoughSums = false;
  static constexpr unsigned kLanes = RowOfLogits<Isa>::kLanes;
  static constexpr unsigned kAtOnce = 4 * kLanes;

  TokenWeights(const RowOfLogits<Isa>& logits, double maximum, double temperature)
      : logits_(logits),
        maximum_(Isa::Splat64(BitCast<std::uint64_t>(maximum))),
        temperature_(Isa::Splat64(BitCast<std::uint64_t>(temperature))),
        is_divided_(temperature != 1) {}

  std::uint64_t classes() const { return logits_.classes(); }

  void Keep(const Bound& bound, double min_p) {
    bound_ = bound;
    min_p_ = min_p;
    is_filtered_ = bound.weight >= 0 || min_p > 0;
  }

  /// Of classes `begin` to `begin` + kCount - 1, which fill whole registers; 0 past the last.
  template <unsigned kCount>
  ONNX_PHILOX_INLINE void Get(std::uint64_t begin, double (&weights)[kCount]) const {
    typename Isa::Words x[kCount / kLanes];
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) {
      x[i] = Isa::SubtractF64(logits_.Load(begin + i * kLanes), maximum_);
    }
    if (is_divided_) {
      ONNX_PHILOX_UNROLL
      for (unsigned i = 0; i < kCount / kLanes; ++i) x[i] = Isa::DivideF64(x[i], temperature_);
    }
    ONNX_PHILOX_UNROLL
    for (unsigned i = 0; i < kCount / kLanes; ++i) {
      RowOfLogits<Isa>::Store(ExpNonpositive<Isa>(x[i]), weights + i * kLanes);
    }
    if (!is_filtered_) return;
    for (unsigned i = 0; i < kCount; ++i) {
      const bool is_kept = Keeps<Isa>(bound_, weights[i], begin + i) && weights[i] >= min_p_;
      weights[i] = is_kept ? weights[i] : 0;
    }
  }

  /// Calls take(weight, index) for each weight above 0.
  template <class Take>
  ONNX_PHILOX_INLINE void ForEach(const Take& take) const {
    double weight[kAtOnce];
    for (std::uint64_t begin = 0; begin < classes(); begin += kAtOnce) {
      Get(begin, weight);
      for (unsigned i = 0; i < kAtOnce; ++i) {
        if (weight[i] > 0) take(weight[i], begin + i);
      }
    }
  }

 private:
  RowOfLogits<Isa> logits_;
  typename Isa::Words maximum_, temperature_;
  bool is_divided_, is_filtered_ = false;
  Bound bound_ = kAllKept;
  double min_p_ = 0;
};

/// Classes in order: the arrival time of one is its weight, negated.
template <class Isa>
using FirstClasses = FirstArrivals<Isa>;

/// What a sum of weights must reach, or how many of them are wanted.
struct TokenTarget {
  std::uint64_t count;  ///< 0: the sum
  double share;         ///< of the sum of all
};

/// Finds the last of the first `target.count` classes by counting them, or the last of those whose running sum reaches the
/// share, by sums in any order. Returns whether that is sure. It may only be unsure of a sum. If there are not so many
/// weights above 0, all are kept.
template <class Isa, int kBits>
ONNX_PHILOX_NOINLINE bool FindBound(const TokenWeights<Isa>& weights, const TokenTarget& target, Bound* bound) {
  constexpr int kDigits[] = {51, 40, 29, 18, 7, 0};  // a weight is at most 1, whose bits are 2046 or less from 51 on
  std::uint64_t counts[2048];
  double sums[2048];
  double total = 0, wanted = 0, above = 0;  // `above`: the sum of the weights above the digits found so far
  std::uint64_t left = target.count, found = 0;
  bool is_first = true;
  int known = 64;  // the bits from here on are `found`
  for (const int digit : kDigits) {
    for (double& sum : sums) sum = 0;
    for (std::uint64_t& count : counts) count = 0;
    const std::uint64_t mask = is_first ? 2047 : (std::uint64_t{1} << (known - digit)) - 1;
    weights.ForEach([&](double weight, std::uint64_t) {
      const std::uint64_t bits = BitCast<std::uint64_t>(weight);
      if (!is_first && bits >> known != found) return;
      const std::uint64_t bin = bits >> digit & mask;
      ++counts[bin];
      sums[bin] += weight;
    });
    if (is_first) {
      for (unsigned bin = 2048; bin-- > 0;) total += sums[bin];
      wanted = target.share * total;
    }
    std::uint64_t bin = 2048, last = 2048;  // the last that has any
    while (bin-- > 0) {
      if (counts[bin] == 0) continue;
      last = bin;
      if (target.count > 0 ? counts[bin] >= left : above + sums[bin] >= wanted) break;
      left -= target.count > 0 ? counts[bin] : 0;
      above += sums[bin];
    }
    if (bin > 2047) {
      if (target.count > 0) return true;  // fewer than wanted, all above 0
      bin = last;
      above -= sums[bin];
    }
    found = is_first ? bin : found << (known - digit) | bin;
    known = digit;
    is_first = false;
    if (counts[bin] <= kArrivalsKept) break;
    if (digit > 0) continue;

    // Many equal weights: the index of one of them is wanted.
    const double weight = BitCast<double>(found);
    const double exact = (wanted - above) / weight;
    std::uint64_t nth = left;
    if (target.count == 0) {
      nth = exact < 1 ? 1 : exact >= static_cast<double>(counts[bin]) ? counts[bin] : static_cast<std::uint64_t>(exact);
      if (above + static_cast<double>(nth) * weight < wanted && nth < counts[bin]) ++nth;
    }
    std::uint64_t seen = 0;
    weights.ForEach([&](double each, std::uint64_t index) {
      if (each == weight && ++seen == nth) *bound = Bound{each, index};
    });
    above += static_cast<double>(nth - 1) * weight;
    left = 1;
    known = -1;
  }
  if (known >= 0) {
    FirstClasses<Isa> classes(kArrivalsKept);
    weights.ForEach([&](double weight, std::uint64_t index) {
      if (BitCast<std::uint64_t>(weight) >> known == found) classes.Add({-weight, index});
    });
    classes.Sort();
    std::uint64_t i = 0;
    for (; i + 1 < classes.count(); ++i) {
      const double weight = -classes[i].time;
      if (target.count > 0 ? i + 1 == left : above + weight >= wanted) break;
      above += weight;
    }
    *bound = Bound{-classes[i].time, classes[i].index};
  }
  if (target.count > 0) return true;
  const double unsure = total * (static_cast<double>(weights.classes()) * (1.0 / static_cast<double>(std::uint64_t{1} << kBits)));
  return above + unsure < wanted && above + bound->weight - unsure >= wanted;
}

/// Adds up weights from the greatest down, as the specification says, until the sum reaches `wanted`, and writes the bound
/// there. Returns the sum.
template <class Isa>
ONNX_PHILOX_NOINLINE double AddDownwards(const TokenWeights<Isa>& weights, double wanted, Bound* bound) {
  double sum = 0, least = 2;  // the weights from `least` on are in the sum
  for (bool is_more = true; is_more;) {
    FirstClasses<Isa> classes(kArrivalsKept);
    weights.ForEach([&](double weight, std::uint64_t index) {
      if (weight < least && -weight <= classes.latest()) classes.Add({-weight, index});
    });
    classes.Sort();
    is_more = classes.count() == kArrivalsKept;
    if (is_more) least = -classes[kArrivalsKept - 1].time;
    for (std::uint64_t i = 0; i < classes.count(); ++i) {
      const double weight = -classes[i].time;
      if (is_more && weight == least) break;  // there may be more of these
      sum += weight;
      if (sum >= wanted) {
        *bound = Bound{weight, classes[i].index};
        return sum;
      }
    }
    if (!is_more) break;
    bool is_reached = false;
    weights.ForEach([&](double weight, std::uint64_t index) {
      if (weight != least || is_reached) return;
      sum += weight;
      is_reached = sum >= wanted;
      if (is_reached) *bound = Bound{weight, index};
    });
    if (is_reached) return sum;
  }
  return sum;
}

/// The token of a row, of which few classes remain: in order, with their weights negated.
template <class Isa>
std::uint64_t TokenOfFew(const FirstClasses<Isa>& classes, const TokenFilters& filters, double u) {
  std::uint64_t count = classes.count();
  if (filters.top_p < 1) {
    double total = 0, sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) total += -classes[i].time;
    const double wanted = filters.top_p * total;
    for (std::uint64_t i = 0; i < count; ++i) {
      sum += -classes[i].time;
      if (sum >= wanted) count = i + 1;
    }
  }
  while (count > 1 && (-classes[count - 1].time < filters.min_p || classes[count - 1].time == 0)) --count;
  if (count == 1) return classes[0].index;
  // By their indices; the index of each says where it was.
  FirstClasses<Isa> by_index(count);
  for (std::uint64_t i = 0; i < count; ++i) by_index.Add({static_cast<double>(classes[i].index), i});
  by_index.Sort();
  double total = 0, sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) total += -classes[by_index[i].index].time;
  const double threshold = u * total;
  for (std::uint64_t i = 0; i < count; ++i) {
    const typename FirstClasses<Isa>::Arrival& of = classes[by_index[i].index];
    sum += -of.time;
    if (sum > threshold) return of.index;
  }
  return classes[0].index;  // only from logits that nobody checked
}

/// The first of the greatest logits.
template <class Isa>
std::uint64_t FirstGreatest(const RowOfLogits<Isa>& logits) {
  constexpr unsigned kLanes = RowOfLogits<Isa>::kLanes;
  const double maximum = logits.Maximum();
  double lanes[kLanes];
  for (std::uint64_t begin = 0; begin < logits.classes(); begin += kLanes) {
    RowOfLogits<Isa>::Store(logits.Load(begin), lanes);
    for (unsigned i = 0; i < kLanes; ++i) {
      if (lanes[i] == maximum) return begin + i;
    }
  }
  return 0;  // only from logits that nobody checked
}

/// Of how many blocks of a row the greatest logits are kept at once.
constexpr std::uint64_t kMaximaKept = 1024;

/// Finds the greatest logits, of equal ones the lower index; their arrival times are the logits, negated.
///
/// Each of as many blocks as are wanted holds a logit that is no less than the least of their maxima. So what is below that
/// is none of the greatest, and most blocks need not be looked through.
template <class Isa>
class GreatestLogits {
 public:
  GreatestLogits(const RowOfLogits<Isa>& logits, std::uint64_t wanted, FirstClasses<Isa>* greatest)
      : logits_(logits), wanted_(wanted), greatest_(*greatest) {
    std::uint64_t first = 0, blocks = 0;
    logits_.ForEachSome([&](double most, std::uint64_t begin) {
      if (blocks == 0) first = begin;
      maxima_[blocks++] = most;
      if (blocks < kMaximaKept) return;
      AddBlocks(first, blocks);
      blocks = 0;
    });
    AddBlocks(first, blocks);
  }

 private:
  static constexpr unsigned kLanes = RowOfLogits<Isa>::kLanes, kAtOnce = RowOfLogits<Isa>::kAtOnce;

  /// Adds what is among the greatest of `blocks` blocks from the logit `first` on.
  void AddBlocks(std::uint64_t first, std::uint64_t blocks) {
    const double latest = greatest_.is_full() ? greatest_.latest() : LatestOf(blocks);
    for (std::uint64_t block = 0; block < blocks; ++block) {
      if (-maxima_[block] <= latest && MayAdd(maxima_[block])) AddBlock(first + block * kAtOnce, latest);
    }
  }

  /// The arrival time after which none of the greatest comes.
  ONNX_PHILOX_NOINLINE double LatestOf(std::uint64_t blocks) const {
    FirstClasses<Isa> maxima(wanted_);
    if (blocks >= wanted_) {
      for (std::uint64_t block = 0; block < blocks; ++block) maxima.Add({-maxima_[block], block});
    }
    return maxima.latest();
  }

  /// Before there are enough, any logit may be one of the greatest, -inf too. Of equal ones the first stays.
  bool MayAdd(double logit) const { return !greatest_.is_full() || -logit < greatest_.latest(); }

  void AddBlock(std::uint64_t begin, double latest) {
    double lanes[kAtOnce];
    for (unsigned i = 0; i < kAtOnce; i += kLanes) RowOfLogits<Isa>::Store(logits_.Load(begin + i), lanes + i);
    const std::uint64_t rest = logits_.classes() - begin;
    for (unsigned i = 0; i < kAtOnce && i < rest; ++i) {
      if (-lanes[i] <= latest && MayAdd(lanes[i])) greatest_.Add({-lanes[i], begin + i});
    }
  }

  const RowOfLogits<Isa>& logits_;
  const std::uint64_t wanted_;
  FirstClasses<Isa>& greatest_;
  double maxima_[kMaximaKept];
};

template <class Isa>
ONNX_PHILOX_NOINLINE void FindGreatest(const RowOfLogits<Isa>& logits, std::uint64_t wanted, FirstClasses<Isa>* greatest) {
  GreatestLogits<Isa>(logits, wanted, greatest);
}

/// The next logit of a type below a finite one.
static inline double NextBelow(OutputType type, double logit) {
  const float value = static_cast<float>(logit);  // exact
  std::uint32_t bits = BitCast<std::uint32_t>(value);
  std::uint32_t sign = 0x80000000u;
  if (type == OutputType::kF16) {
    bits = F16FromF32(value);
    sign = 0x8000u;
  } else if (type == OutputType::kBF16) {
    bits >>= 16;
    sign = 0x8000u;
  }
  if ((bits & ~sign) == 0) {
    bits = sign | 1u;
  } else {
    bits = (bits & sign) != 0 ? bits + 1 : bits - 1;
  }
  if (type == OutputType::kF16) return static_cast<double>(F32FromF16(bits));
  if (type == OutputType::kBF16) return static_cast<double>(F32FromBF16(bits));
  return static_cast<double>(F32FromBits(bits));
}

/// exp((logit - maximum) / temperature), as all have it.
template <class Isa>
double WeightOf(double logit, double maximum, double temperature) {
  double lanes[RowOfLogits<Isa>::kLanes];
  RowOfLogits<Isa>::Store(ExpNonpositive<Isa>(Isa::Splat64(BitCast<std::uint64_t>((logit - maximum) / temperature))), lanes);
  return lanes[0];
}

/// Turns the greatest logits into the classes of the greatest weights, in order. False if a lower logit may have as great
/// a weight as the last of them: then its index would count, and the order of logits is not that of weights.
template <class Isa>
bool WeighGreatest(OutputType type, double temperature, FirstClasses<Isa>* greatest, FirstClasses<Isa>* classes) {
  if (!greatest->is_full()) return false;  // only from logits that nobody checked
  greatest->Sort();
  const std::uint64_t count = greatest->count();
  const double maximum = -(*greatest)[0].time, least = -(*greatest)[count - 1].time;
  const double least_weight = WeightOf<Isa>(least, maximum, temperature);
  if (least_weight > 0) {
    // Exponents so far apart have weights in their order, whatever the rounding: the error of exp is below 2^-48.
    const double x = (least - maximum) / temperature;
    const double below = (NextBelow(type, least) - maximum) / temperature;
    if (!(x - below > 0x1p-44)) return false;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    classes->Add({-WeightOf<Isa>(-(*greatest)[i].time, maximum, temperature), (*greatest)[i].index});
  }
  classes->Sort();
  return true;
}

/// The token of a row of many classes, most of which may remain.
template <class Isa, int kBits>
ONNX_PHILOX_NOINLINE std::uint64_t TokenOfMany(const RowOfLogits<Isa>& logits, const TokenFilters& filters, double u) {
  TokenWeights<Isa> weights(logits, logits.Maximum(), filters.temperature);
  Bound bound = kAllKept;
  if (filters.top_k != logits.classes()) {
    FindBound<Isa, kBits>(weights, TokenTarget{filters.top_k, 0}, &bound);
    weights.Keep(bound, 0);
  }
  if (filters.top_p < 1 && !FindBound<Isa, kBits>(weights, TokenTarget{0, filters.top_p}, &bound)) {
    const double total = AddDownwards(weights, 2 * static_cast<double>(logits.classes()), &bound);
    AddDownwards(weights, filters.top_p * total, &bound);
  }
  weights.Keep(bound, filters.min_p);
  RunningSums<TokenWeights<Isa>> sums(weights, logits.classes());
  return sums.ClassOf(u);
}

template <class Isa, int kBits>
std::uint64_t TokenOf(const Draw& draw, std::uint64_t row, double u) {
  const RowOfLogits<Isa> logits(draw, row);
  const TokenFilters filters = FiltersOf(draw, row);
  const std::uint64_t classes = draw.classes;
  if (filters.temperature == 0) return FirstGreatest(logits);
  if (classes > kArrivalsKept && filters.top_k <= kArrivalsKept) {
    FirstClasses<Isa> greatest(filters.top_k), order(filters.top_k);
    FindGreatest(logits, filters.top_k, &greatest);
    if (WeighGreatest<Isa>(logits.type(), filters.temperature, &greatest, &order)) {
      return TokenOfFew<Isa>(order, filters, u);
    }
  } else if (classes <= kArrivalsKept && (filters.top_k < classes || filters.top_p < 1)) {
    const TokenWeights<Isa> weights(logits, logits.Maximum(), filters.temperature);
    FirstClasses<Isa> order(filters.top_k);
    weights.ForEach([&](double weight, std::uint64_t index) { order.Add({-weight, index}); });
    order.Sort();
    return TokenOfFew<Isa>(order, filters, u);
  }
  return TokenOfMany<Isa, kBits>(logits, filters, u);
}

template <class Isa, class From, int kBits, class Index>
void FillTokensAs(const Piece& piece) {
  alignas(64) double uniforms[kUniformsAtOnce];
  unsigned char* out = static_cast<unsigned char*>(piece.draw.out);
  for (std::uint64_t begin = piece.begin; begin < piece.end;) {
    const std::uint64_t end = piece.end - begin > kUniformsAtOnce ? begin + kUniformsAtOnce : piece.end;
    UniformsOf<From, F64UnitRule<Isa>>(piece, begin, end, uniforms);
    for (std::uint64_t row = begin; row < end; ++row) {
      const Index token = static_cast<Index>(TokenOf<Isa, kBits>(piece.draw, row, uniforms[row - begin]));
      std::memcpy(out, &token, sizeof(token));
      out += sizeof(token);
    }
    begin = end;
  }
}

/// A token for each row.
template <class Isa, class From, int kBits>
void FillTokens(const Piece& piece) {
  if (piece.draw.type == OutputType::kI32) return FillTokensAs<Isa, From, kBits, std::int32_t>(piece);
  FillTokensAs<Isa, From, kBits, std::int64_t>(piece);
}

}  // namespace onnx_philox
