// The specification, element by element in the plainest code. It shares nothing with the kernels but the coefficients and
// Philox itself, which test_vectors compares with published answers. Needs the default floating-point environment, and
// no contraction (tests/CMakeLists.txt).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "coefficients.h"
#include "draws.h"
#include "floats.h"
#include "kernels.h"

namespace model {

using onnx_philox::BitCast;
using onnx_philox::Bounds;
using onnx_philox::Distribution;
using onnx_philox::Draw;
using onnx_philox::OutputType;
using onnx_philox::Parameter;
using onnx_philox::State;

struct Format {
  int precision, least;  ///< significant bits; a subnormal counts 2^least
  double largest;
};
constexpr Format kF16{11, -24, 65504.0}, kBF16{8, -133, 0x1.FEp127}, kF32{24, -149, 0x1.FFFFFEp127};

/// The number of a format nearest to `value`, ties to even; past the largest, infinity.
inline double Round(double value, Format format) {
  if (value == 0.0 || std::isinf(value)) return value;
  int exponent;
  std::frexp(value, &exponent);
  const int last = exponent - format.precision > format.least ? exponent - format.precision : format.least;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::fabs(rounded) > format.largest ? std::copysign(HUGE_VAL, value) : rounded;
}

inline double Decode(std::uint64_t bits, Format format, int size) {
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << (format.precision - 1)) - 1);
  const std::uint64_t exponent =
      bits >> (format.precision - 1) & ((std::uint64_t{1} << (8 * size - format.precision)) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(static_cast<double>(fraction), format.least)
                    : std::ldexp(static_cast<double>(fraction + (std::uint64_t{1} << (format.precision - 1))),
                                 format.least + static_cast<int>(exponent) - 1);
  return bits >> (8 * size - 1) != 0 ? -magnitude : magnitude;
}

inline std::uint64_t Encode(double value, Format format, int size) {
  std::uint64_t bits = 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) {
    bits = Encode(format.largest, format, size) + 1;
  } else if (magnitude != 0.0) {
    int exponent;
    std::frexp(magnitude, &exponent);
    const int last = exponent - format.precision > format.least ? exponent - format.precision : format.least;
    bits = (static_cast<std::uint64_t>(last - format.least) << (format.precision - 1)) +
           static_cast<std::uint64_t>(std::ldexp(magnitude, -last));
  }
  return bits | static_cast<std::uint64_t>(std::signbit(value)) << (8 * size - 1);
}

/// u * (maxval - minval) + minval for u = k / 2^(precision - 1). Rounding a double's result again is right: double has
/// more than twice the precision of these types.
inline std::uint64_t Small(std::uint32_t word, Format format, int size, const Bounds& bounds) {
  const double u = std::ldexp(static_cast<double>(word & ((1u << (format.precision - 1)) - 1)), 1 - format.precision);
  const double minval = Decode(bounds.minval, format, size), maxval = Decode(bounds.maxval, format, size);
  const double width = Round(maxval - minval, format);
  const double product = Round(u * width, format);
  return Encode(Round(product + minval, format), format, size);
}

inline std::uint64_t Double(std::uint32_t x0, std::uint32_t x1, const Bounds& bounds) {
  const double u = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(x0 & 0xFFFFFu) << 32 | x1), -52);
  const double minval = BitCast<double>(bounds.minval), maxval = BitCast<double>(bounds.maxval);
  return BitCast<std::uint64_t>(u * (maxval - minval) + minval);
}

inline std::uint32_t Word(const State& state, std::uint64_t index) {
  return Philox(Add(state.counter, index / 4), state.key).word[index % 4];
}

inline std::uint64_t Uniform(const State& state, OutputType type, const Bounds& bounds, std::uint64_t index) {
  const std::uint32_t x0 = Word(state, WordsPerElement(type) * index);
  const std::uint32_t x1 = WordsPerElement(type) == 2 ? Word(state, 2 * index + 1) : 0;
  switch (type) {
    case OutputType::kBits:
      return x0;
    case OutputType::kF32:
      return Small(x0, kF32, 4, bounds);
    case OutputType::kF16:
      return Small(x0, kF16, 2, bounds);
    case OutputType::kBF16:
      return Small(x0, kBF16, 2, bounds);
    case OutputType::kF64:
      return Double(x0, x1, bounds);
    case OutputType::kI32: {
      const std::uint32_t minval = static_cast<std::uint32_t>(bounds.minval);
      return static_cast<std::uint32_t>(x0 % (static_cast<std::uint32_t>(bounds.maxval) - minval) + minval);
    }
    case OutputType::kI64:
      return (static_cast<std::uint64_t>(x1) << 32 | x0) % (bounds.maxval - bounds.minval) + bounds.minval;
    case OutputType::kBool:
      break;
  }
  return 0;
}

inline float UniformF32(const State& state, std::uint64_t index) {
  return static_cast<float>(Word(state, index) & 0x7FFFFFu) * 0x1p-23f;
}

inline double UniformF64(const State& state, std::uint64_t index) {
  const std::uint64_t high = Word(state, 2 * index) & 0xFFFFFu, low = Word(state, 2 * index + 1);
  return static_cast<double>(high << 32 | low) * 0x1p-52;
}

// The elementary functions, line by line as src/onnx_philox/_numbers/elementary.py has them.

inline std::int32_t BitsOf(float x) { return BitCast<std::int32_t>(x); }
inline std::int64_t BitsOf(double x) { return BitCast<std::int64_t>(x); }
inline float FloatOf(std::int32_t bits) { return BitCast<float>(bits); }
inline double FloatOf(std::int64_t bits) { return BitCast<double>(bits); }

template <class Float, std::size_t N>
Float Polynomial(const Float (&coefficients)[N], Float x) {
  Float y = coefficients[N - 1];
  for (std::size_t i = N - 1; i > 0; --i) y = y * x + coefficients[i - 1];
  return y;
}

struct F32Constants {
  using Float = float;
  using Signed = std::int32_t;
  static constexpr int kFractionBits = 23;
  static constexpr float kSmallest = onnx_philox::kSmallestUniformF32, kHalf = onnx_philox::kSqrtHalfF32;
  static constexpr float kLn = onnx_philox::kMinusTwoLn2F32, kMagic = onnx_philox::kMagicF32;
  static constexpr const auto& Logarithm() { return onnx_philox::kLogarithmF32; }
  static constexpr const auto& Sine() { return onnx_philox::kSineF32; }
  static constexpr const auto& Cosine() { return onnx_philox::kCosineF32; }
};
struct F64Constants {
  using Float = double;
  using Signed = std::int64_t;
  static constexpr int kFractionBits = 52;
  static constexpr double kSmallest = onnx_philox::kSmallestUniformF64, kHalf = onnx_philox::kSqrtHalfF64;
  static constexpr double kLn = onnx_philox::kMinusTwoLn2F64, kMagic = onnx_philox::kMagicF64;
  static constexpr const auto& Logarithm() { return onnx_philox::kLogarithmF64; }
  static constexpr const auto& Sine() { return onnx_philox::kSineF64; }
  static constexpr const auto& Cosine() { return onnx_philox::kCosineF64; }
};

template <class C>
typename C::Float MinusTwoLn(typename C::Float u) {
  using Float = typename C::Float;
  using Signed = typename C::Signed;
  const Signed half = BitsOf(C::kHalf), bits = BitsOf(u) - half;
  const Float exponent = static_cast<Float>(bits >> C::kFractionBits);
  const Float f = FloatOf(static_cast<Signed>((bits & ((Signed{1} << C::kFractionBits) - 1)) + half)) - Float{1};
  const Float s = f / (f + Float{2}), z = s * s;
  return s * (Polynomial(C::Logarithm(), z) * z - Float{4}) + exponent * C::kLn;
}

/// r sin(2 pi v), or r cos(2 pi v).
template <class C>
typename C::Float Normal(typename C::Float u, typename C::Float v, bool is_cosine) {
  using Float = typename C::Float;
  if (u < C::kSmallest) u = C::kSmallest;
  const Float r = std::sqrt(MinusTwoLn<C>(u));

  const Float shifted = v * Float{4} + C::kMagic;
  const Float t = v - (shifted - C::kMagic) * Float{0.25}, y = t * t;
  const Float sine = t * Polynomial(C::Sine(), y), cosine = Polynomial(C::Cosine(), y) * y + Float{1};
  switch ((BitsOf(shifted) + (is_cosine ? 1 : 0)) & 3) {  // cos x = sin(x + a quarter turn)
    case 0:
      return r * sine;
    case 1:
      return r * cosine;
    case 2:
      return r * -sine;
    default:
      return r * -cosine;
  }
}

inline double Exp(double x) {
  if (x < onnx_philox::kSmallestExponent) return 0;
  const double shifted = x * onnx_philox::kLog2E + onnx_philox::kMagicF64, n = shifted - onnx_philox::kMagicF64;
  const double r = (x - n * onnx_philox::kLn2High) - n * onnx_philox::kLn2Low;
  const double y = Polynomial(onnx_philox::kExponentialF64, r) * r + 1.0;
  return std::ldexp(y, static_cast<int>(n));
}

inline std::uint64_t NormalElement(const Draw& draw, std::uint64_t index) {
  const State& state = draw.state;
  const OutputType type = draw.type;
  const std::uint64_t mean = draw[Parameter::kMean].bits, scale_bits = draw[Parameter::kScale].bits;
  const std::uint64_t pair = index - index % 2;
  const bool is_cosine = index % 2 != 0;
  if (type == OutputType::kF64) {
    const double x = Normal<F64Constants>(UniformF64(state, pair), UniformF64(state, pair + 1), is_cosine);
    return static_cast<std::uint64_t>(BitsOf(x * BitCast<double>(scale_bits) + BitCast<double>(mean)));
  }
  const float x = Normal<F32Constants>(UniformF32(state, pair), UniformF32(state, pair + 1), is_cosine);
  if (type == OutputType::kF32) {
    const float scale = FloatOf(static_cast<std::int32_t>(scale_bits));
    return static_cast<std::uint32_t>(BitsOf(x * scale + FloatOf(static_cast<std::int32_t>(mean))));
  }
  const Format format = type == OutputType::kF16 ? kF16 : kBF16;
  const double rounded = Round(static_cast<double>(x), format);
  const double product = Round(rounded * Decode(scale_bits, format, 2), format);
  return Encode(Round(product + Decode(mean, format, 2), format), format, 2);
}

inline std::uint64_t ExponentialElement(const State& state, OutputType type, std::uint64_t scale, std::uint64_t index) {
  if (type == OutputType::kF64) {
    const double x = MinusTwoLn<F64Constants>(UniformF64(state, index) + 0x1p-53) / 2;
    return static_cast<std::uint64_t>(BitsOf(x * FloatOf(static_cast<std::int64_t>(scale))));
  }
  const double x = MinusTwoLn<F64Constants>((static_cast<double>(Word(state, index)) + 0.5) * 0x1p-32) / 2;
  const Format format = type == OutputType::kF32 ? kF32 : type == OutputType::kF16 ? kF16 : kBF16;
  const int size = static_cast<int>(ElementSize(type));
  return Encode(Round(Round(x, format) * Decode(scale, format, size), format), format, size);
}

inline double Number(const onnx_philox::Numbers& numbers, std::uint64_t index) {
  const std::uint64_t bits = ElementAt(numbers.data, numbers.type, index);
  if (numbers.type == OutputType::kF64) return FloatOf(static_cast<std::int64_t>(bits));
  if (numbers.type == OutputType::kF32) return static_cast<double>(FloatOf(static_cast<std::int32_t>(bits)));
  if (numbers.type == OutputType::kBF16) return static_cast<double>(FloatOf(static_cast<std::int32_t>(bits << 16)));
  return bits == 0xFC00u ? -HUGE_VAL : Decode(bits, kF16, 2);
}

/// A number of a parameter that may have one for each element.
inline double GivenAt(const Draw& draw, Parameter parameter, std::uint64_t index) {
  const onnx_philox::Argument& given = draw[parameter];
  return given.each() ? Number(given.numbers(), index) : Number({given.type, &given.bits}, 0);
}

/// Whether the uniform is below a probability: `p`, or a dropout's ratio.
inline std::uint64_t BernoulliElement(const Draw& draw, Parameter parameter, std::uint64_t index) {
  const bool is_f32 = draw[parameter].type == OutputType::kF32;
  const double u = is_f32 ? static_cast<double>(UniformF32(draw.state, index)) : UniformF64(draw.state, index);
  return u < GivenAt(draw, parameter, index) ? 1 : 0;
}

inline double Ln(double x) { return MinusTwoLn<F64Constants>(x) / -2; }

/// Element `index` of a draw of gammas from `state`, in so many attempts.
inline double Gamma(const State& state, double alpha, std::uint64_t index, std::uint64_t attempts) {
  const std::uint64_t first = index * 64;  // of 32 blocks of two uniforms
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  double value = 0;
  for (std::uint64_t t = 0; t < attempts; ++t) {
    const double u = UniformF64(state, first + 4 * t), v = UniformF64(state, first + 4 * t + 1);
    const double w = UniformF64(state, first + 4 * t + 2), x = Normal<F64Constants>(u, v, true);
    const double z = 1 + c * x, y = z * z * z;
    value = y > 0 ? d * y : d;
    if (y > 0 && Ln(1 - w) < x * x / 2 + d * (1 - y + Ln(y))) break;
  }
  return alpha < 1 ? value * Exp(Ln(1 - UniformF64(state, first + 3)) / alpha) : value;
}

inline double LnFactorial(double k) {
  if (k < 256) return onnx_philox::kLnFactorials[static_cast<int>(k)];
  const double r = 1 / k;
  return (k + 0.5) * (Ln(k) - 1) +
         (onnx_philox::kStirlingConstant + r * (onnx_philox::kStirlingFirst - r * r * onnx_philox::kStirlingSecond));
}

/// Likewise of Poisson counts.
inline double Poisson(const State& state, double rate, std::uint64_t index, std::uint64_t attempts) {
  const std::uint64_t first = index * 64;
  if (rate < 10) {
    double p = Exp(-rate), sum = p;
    int k = 0;
    for (; sum <= UniformF64(state, first) && k < 1000; sum += p) p = p * rate / ++k;
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double i = 1.1239 + 1.1328 / (b - 3.4), q = 0.9277 - 3.6224 / (b - 2);
  for (std::uint64_t t = 0; t < attempts; ++t) {
    const double u = UniformF64(state, first + 2 * t) - 0.5, v = 1 - UniformF64(state, first + 2 * t + 1);
    const double s = 0.5 - std::fabs(u), k = std::floor((2 * a / s + b) * u + rate + 0.43);
    if (s >= 0.07 && v <= q) return k;
    if (k < 0 || (s < 0.013 && v > s)) continue;
    if (Ln(v) + Ln(i) - Ln(a / (s * s) + b) <= -rate + k * Ln(rate) - LnFactorial(k)) return k;
  }
  return std::floor(rate);
}

inline std::uint64_t GammaElement(const Draw& draw, std::uint64_t index) {
  const double x = Gamma(draw.state, GivenAt(draw, Parameter::kAlpha, index), index, 16);
  if (draw.type == OutputType::kF64) return static_cast<std::uint64_t>(BitsOf(x));
  return Encode(Round(x, kF32), kF32, 4);
}

inline std::uint64_t PoissonElement(const Draw& draw, std::uint64_t index) {
  const double rate = GivenAt(draw, Parameter::kRate, index);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(Poisson(draw.state, rate, index, 32)));
}

/// Zero, or the element of the data times 1 / (1 - ratio). Of data without a NaN.
inline std::uint64_t DropoutElement(const Draw& draw, std::uint64_t index) {
  if (BernoulliElement(draw, Parameter::kRatio, index) != 0) return 0;
  const onnx_philox::Argument& data = draw[Parameter::kData];
  const double r = GivenAt(draw, Parameter::kRatio, 0);
  const int size = static_cast<int>(ElementSize(draw.type));
  const std::uint64_t bits = ElementAt(data.data, draw.type, index);
  if (draw.type == OutputType::kF64) {
    return static_cast<std::uint64_t>(BitsOf(FloatOf(static_cast<std::int64_t>(bits)) * (1 / (1 - r))));
  }
  const Format format = draw.type == OutputType::kF32 ? kF32 : draw.type == OutputType::kF16 ? kF16 : kBF16;
  const double scale = Round(static_cast<double>(1.0f / (1.0f - static_cast<float>(r))), format);
  const std::uint64_t infinity = Encode(HUGE_VAL, format, size), sign = std::uint64_t{1} << (8 * size - 1);
  if ((bits & ~sign) == infinity) return bits;
  return Encode(Round(Decode(bits, format, size) * scale, format), format, size);
}

/// The row that was asked for last, of which the model keeps what it made: another data, row, length or state is another.
struct Last {
  const void* data = nullptr;
  std::uint64_t row = 0, length = 0;
  State state{};

  bool IsOther(const Last& asked) {
    const bool is_same = data == asked.data && row == asked.row && length == asked.length && state.key == asked.state.key &&
                         state.counter.low == asked.state.counter.low && state.counter.high == asked.state.counter.high;
    *this = asked;
    return !is_same;
  }
};

/// The weights of a row's classes, of which the largest is 1; `most`: the first class of the largest.
inline std::vector<double> WeightsOf(const Draw& draw, std::uint64_t row, double temperature = 1, std::uint64_t* most = nullptr) {
  std::vector<double> weights;
  for (std::uint64_t c = 0; c < draw.classes; ++c) weights.push_back(GivenAt(draw, Parameter::kLogits, row * draw.classes + c));
  const auto largest = std::max_element(weights.begin(), weights.end());
  if (most != nullptr) *most = static_cast<std::uint64_t>(largest - weights.begin());
  const double maximum = *largest;
  for (double& weight : weights) weight = Exp((weight - maximum) / temperature);
  return weights;
}

/// By the running sums of a row's weights. Those of the last one asked for are kept.
inline std::uint64_t CategoricalElement(const Draw& draw, std::uint64_t index) {
  static Last last;
  static std::vector<double> sums;
  const std::uint64_t row = index / draw.samples;
  if (last.IsOther({draw[Parameter::kLogits].data, row, draw.classes, {}})) {
    sums = WeightsOf(draw, row);
    for (std::size_t i = 1; i < sums.size(); ++i) sums[i] += sums[i - 1];
  }
  const double threshold = UniformF64(draw.state, index) * sums.back();
  std::uint64_t c = 0;
  while (sums[c] <= threshold) ++c;
  return c;
}

/// Without replacement: the classes of a row by -ln(1 - u) / weight. The last row asked for is kept.
inline std::uint64_t OnceElement(const Draw& draw, std::uint64_t index) {
  static Last last;
  static std::vector<std::pair<double, std::uint64_t>> order;
  const std::uint64_t row = index / draw.samples, first = row * draw.classes;
  if (last.IsOther({draw[Parameter::kLogits].data, row, draw.classes, draw.state})) {
    order.clear();
    const std::vector<double> weights = WeightsOf(draw, row);
    for (std::uint64_t c = 0; c < draw.classes; ++c) {
      if (weights[c] > 0) order.emplace_back(MinusTwoLn<F64Constants>(1 - UniformF64(draw.state, first + c)) / 2 / weights[c], c);
    }
    std::sort(order.begin(), order.end());
  }
  return order[index % draw.samples].second;
}

/// The row of `size` that holds element `index`, in the order of the first `bits` bits of its keys.
inline std::vector<std::uint64_t> PermutationOf(const State& state, std::uint64_t size, std::uint64_t index,
                                                unsigned bits = 64) {
  const std::uint64_t first = index - index % size;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t low = Word(state, 2 * (first + i)), high = Word(state, 2 * (first + i) + 1);
    keys.emplace_back((high << 32 | low) >> (64 - bits), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint64_t> order;
  for (const auto& key : keys) order.push_back(key.second);
  return order;
}

/// The last row asked for is kept.
inline std::uint64_t PermutationElement(const Draw& draw, std::uint64_t index) {
  static Last last;
  static std::vector<std::uint64_t> order;
  if (last.IsOther({nullptr, index / draw.samples, draw.samples, draw.state})) {
    order = PermutationOf(draw.state, draw.samples, index);
  }
  return order[index % draw.samples];
}

/// The token of a row, sorted and added up as the specification says.
inline std::uint64_t TokenElement(const Draw& draw, std::uint64_t row) {
  const auto number = [&](Parameter parameter, double absent) {
    return draw[parameter].is_left_out() ? absent : GivenAt(draw, parameter, row);
  };
  const double temperature = number(Parameter::kTemperature, 1), top_p = number(Parameter::kTopP, 1);
  const double min_p = number(Parameter::kMinP, 0);
  std::uint64_t top_k = draw[Parameter::kTopK].bits;
  if (draw[Parameter::kTopK].each()) {
    std::memcpy(&top_k, static_cast<const unsigned char*>(draw[Parameter::kTopK].data) + row * 8, 8);
  }
  if (top_k == 0) top_k = draw.classes;
  std::uint64_t most;
  const std::vector<double> weights = WeightsOf(draw, row, temperature == 0 ? 1 : temperature, &most);
  if (temperature == 0) return most;
  std::vector<std::pair<double, std::uint64_t>> order;
  for (std::uint64_t c = 0; c < draw.classes; ++c) order.emplace_back(-weights[c], c);
  std::sort(order.begin(), order.end());
  if (order.size() > top_k) order.resize(top_k);
  if (top_p < 1) {
    double total = 0, sum = 0;
    for (const auto& [negative, c] : order) total -= negative;
    const double wanted = top_p * total;
    std::size_t kept = 0;
    while (!(sum >= wanted) || kept == 0) sum -= order[kept++].first;
    order.resize(kept);
  }
  std::vector<double> of_kept(weights.size());
  for (const auto& [negative, c] : order) of_kept[c] = -negative >= min_p ? -negative : 0;
  double total = 0, sum = 0;
  for (const double weight : of_kept) total += weight;
  const double threshold = UniformF64(draw.state, row) * total;
  std::uint64_t c = 0;
  while ((sum += of_kept[c]) <= threshold) ++c;
  return c;
}

inline std::uint64_t Element(const Draw& draw, std::uint64_t index) {
  switch (draw.distribution) {
    case Distribution::kUniform:
      return Uniform(draw.state, draw.type, BoundsOf(draw.given), index);
    case Distribution::kNormal:
      return NormalElement(draw, index);
    case Distribution::kBernoulli:
      return BernoulliElement(draw, Parameter::kP, index);
    case Distribution::kExponential:
      return ExponentialElement(draw.state, draw.type, draw[Parameter::kScale].bits, index);
    case Distribution::kGamma:
      return GammaElement(draw, index);
    case Distribution::kPoisson:
      return PoissonElement(draw, index);
    case Distribution::kDropout:
      return DropoutElement(draw, index);
    case Distribution::kPermutation:
      return PermutationElement(draw, index);
    case Distribution::kToken:
      return TokenElement(draw, index);
    case Distribution::kCategorical:
      break;
  }
  return draw.is_once ? OnceElement(draw, index) : CategoricalElement(draw, index);
}

/// Elements [begin, begin + count) as bytes.
inline std::vector<unsigned char> Elements(const Draw& draw, std::uint64_t begin, std::size_t count) {
  const unsigned size = ElementSize(draw.type);
  std::vector<unsigned char> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t element = Element(draw, begin + i);
    std::memcpy(bytes.data() + i * size, &element, size);  // little-endian, as the core itself
  }
  return bytes;
}

}  // namespace model
