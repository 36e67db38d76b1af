// Random nodes of every operator, and what each must draw: for programs that hand them to a plugin. What is right follows
// from the specification and the plain C++ kernels, not from the checks that the plugins share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "checks.h"
#include "draws.h"
#include "guided.h"
#include "torch_part.h"
#include "values.h"

namespace random_nodes {

using namespace onnx_philox;

constexpr std::int64_t kMostElements = std::int64_t{1} << 16;   // of an output that is drawn ...
constexpr std::int64_t kFewestRefused = std::int64_t{1} << 46;  // ... or one that no machine can hold
constexpr std::size_t kMostDimensions = 12;  // more than are allowed, and more than fixed arrays hold
constexpr std::size_t kMostEach = 2000;  // of one whose elements each have a number: fewer than a captured constant may have

using Shape = std::vector<std::size_t>;

inline std::size_t ElementsOf(const Shape& shape) {
  std::size_t elements = 1;
  for (const std::size_t dimension : shape) elements *= dimension;
  return elements;
}

/// A tensor that a node gets; of a type that only errors know it has no bytes of its own.
struct Tensor {
  ElementType type = ElementType::kUnknown;  ///< kUnknown: it is left out
  Shape shape;
  std::vector<unsigned char> bytes;

  std::size_t size() const { return ElementsOf(shape); }
  std::uint64_t bits(std::size_t i) const { return ElementAt(bytes.data(), NumberType(type), i); }
  double number(std::size_t i) const { return FloatValue(NumberType(type), bits(i)); }
  bool is_integers() const { return type == ElementType::kI64 || type == ElementType::kI32; }
  bool is_dimensions() const {
    if (size() == 0) return shape.size() == 1;
    bool is_right = is_integers() && shape.size() < 2;
    for (std::size_t i = 0; is_right && i < size(); ++i) is_right = IntegerAt(type, bytes.data(), i) >= 0;
    return is_right;
  }
  Shape dimensions() const {
    Shape all;
    for (std::size_t i = 0; i < size() && !shape.empty(); ++i) all.push_back(static_cast<std::size_t>(IntegerAt(type, bytes.data(), i)));
    return all;
  }
};

inline std::size_t SizeOf(ElementType type) {
  const auto is_one_of = [type](std::initializer_list<ElementType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  using T = ElementType;
  if (is_one_of({T::kF64, T::kI64, T::kU64})) return 8;
  if (is_one_of({T::kF32, T::kI32, T::kU32})) return 4;
  return is_one_of({T::kF16, T::kBF16, T::kI16, T::kU16}) ? 2 : 1;
}

/// Whether numbers have the same bits; which NaN it is does not matter.
inline bool AreSame(OutputType type, std::uint64_t a, std::uint64_t b) {
  return a == b || (IsFloat(type) && std::isnan(FloatValue(type, a)) && std::isnan(FloatValue(type, b)));
}

/// Whether an error has its four parts.
inline bool IsWhole(const Operator& op, std::string error) {
  const std::size_t begin = error.find(std::string(op.name) + ": ");
  error.erase(error.find_last_not_of(" \n") + 1);
  return begin != std::string::npos && error.find(" must be ", begin) < error.find(": got ", begin) &&
         error.find(": got ", begin) != std::string::npos && error.back() == '.';
}

/// Whether a class is drawn at most once from a row.
inline bool IsOnce(const GivenAttributes& given) {
  const GivenAttribute& replacement = given[AttributeRole::kReplacement];
  return replacement.kind == GivenAttribute::Kind::kInteger && replacement.integer == 0;
}

/// A node: half of them have nothing wrong, and must draw.
class Node {
 public:
  Node(check::Random random, bool is_openvinos) : is_openvinos_(is_openvinos), random_(random) {}

  const Operator* op = nullptr;
  GivenAttributes given;
  std::vector<Tensor> inputs;
  OutputType type = OutputType::kBits;  ///< of the output
  bool is_wild = false;
  bool is_torch_s = false;  ///< the numbers that the node draws

  std::uint64_t Any() { return random_(); }
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  bool Coin() { return Below(2) == 0; }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }
  bool Wrong(std::uint64_t one_in) { return is_wild && Chance(one_in); }

  void Make() {
    is_wild = Coin();
    op = kAllOperators[Below(kOperators)];
    if (op->output[0].has_type) type = op->output[0].type;
    given = GivenAttributes();
    for (int i = 0; i < op->attributes; ++i) {
      const AttributeDeclaration& declared = op->attribute[i];
      given[declared.role] = Wrong(20) ? RandomAttribute() : RightAttribute(declared);
      if (declared.role == AttributeRole::kOutputType) type = TypeNamed(given[declared.role], declared);
    }
    inputs.clear();
    is_torch_s = given[AttributeRole::kAlignment].text == "pytorch";
    if (is_torch_s && !Wrong(8)) {
      given[AttributeRole::kOpSeed] = GivenAttribute::Integer(0);
      if (Coin()) given[AttributeRole::kGlobalSeed] = GivenAttribute::Integer(0);
      if (!IsOnce(given)) given[AttributeRole::kSampleSize] = GivenAttribute();
    }
    const bool is_seeded = given[AttributeRole::kGlobalSeed].integer != 0 || given[AttributeRole::kOpSeed].integer != 0;
    const auto [first, second] = RandomBounds();
    for (int i = 0; i < op->inputs; ++i) {
      const InputDeclaration& declared = op->input[i];
      switch (declared.role) {
        case Role::kShape:
          inputs.push_back(RandomShape());
          break;
        case Role::kData:
          inputs.push_back(RandomData());
          break;
        case Role::kNumber:
          if (op->has_mask()) {
            inputs.push_back(RandomRatio());
          } else {
            const bool is_second = op->input[i - 1].role == declared.role;
            inputs.push_back(RandomNumber(op == &kRandomExponential ? RandomScale() : is_second ? second : first));
          }
          break;
        case Role::kNumbers:
          inputs.push_back(RandomNumbers());
          break;
        case Role::kRowNumbers:
          inputs.push_back(RandomOfRows(declared));
          break;
        case Role::kLogits:
          inputs.push_back(RandomLogits());
          break;
        case Role::kState:
          if (is_torch_s ? !is_seeded || Wrong(8) : !declared.optional || !is_seeded || Coin()) inputs.push_back(RandomState());
          break;
      }
    }
    if (Chance(4)) GiveRowsStates();
    if (Wrong(30)) inputs.pop_back();
  }

  /// Another type now and then.
  ElementType RandomType(ElementType usual) {
    using T = ElementType;
    static const T types[] = {T::kBool, T::kI8,  T::kU8,  T::kI16, T::kU16, T::kU64, T::kOther,
                              T::kU32,  T::kI32, T::kI64, T::kF16, T::kBF16, T::kF32, T::kF64};
    return Wrong(25) ? types[Below(std::size(types))] : usual;
  }

  /// A tensor of these bytes, or of random ones.
  Tensor Make(ElementType of, const Shape& shape, const void* data) {
    Tensor tensor{of, shape, std::vector<unsigned char>(ElementsOf(shape) * SizeOf(of))};
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
      tensor.bytes[i] = static_cast<unsigned char>(data != nullptr ? static_cast<const unsigned char*>(data)[i] : random_());
    }
    return tensor;
  }

  Tensor RandomState() {
    Shape shape(1 + Below(Chance(8) ? 8 : 2), 1);
    shape.back() = WordsOfState();
    if (Wrong(15)) shape[Below(shape.size())] = Below(9);
    if (Wrong(30)) shape.clear();
    if (Wrong(30)) shape.assign(9 + Below(kMostDimensions - 8), 1);
    return States(RandomType(ElementType::kU32), shape);
  }

 private:
  /// The dimensions of the output, by a `shape` that is right; those of the first input where there is none.
  bool HasShape(Shape* shape) const {
    const int index = IndexOf(*op, Role::kShape);
    const Tensor& first = inputs[static_cast<std::size_t>(std::max(index, 0))];
    if (index >= 0 && !first.is_dimensions()) return false;
    *shape = index >= 0 ? first.dimensions() : first.shape;
    return true;
  }

  GivenAttribute RightAttribute(const AttributeDeclaration& declared) {
    switch (declared.role) {
      case AttributeRole::kAlignment:
        return Chance(4) ? GivenAttribute::Text("pytorch") : Coin() ? GivenAttribute() : GivenAttribute::Text("tensorflow");
      case AttributeRole::kSampleSize:
        if (Wrong(10)) return GivenAttribute::Integer(Coin() ? -static_cast<std::int64_t>(Below(3)) : INT64_MAX);
        return GivenAttribute::Integer(static_cast<std::int64_t>(1 + Below(Coin() ? 3 : 900)));
      case AttributeRole::kReplacement:
        if (Coin()) return {};
        return GivenAttribute::Integer(static_cast<std::int64_t>(Wrong(10) ? random_() : Below(2)));
      default:
        break;
    }
    if (!declared.is_text()) return GivenAttribute::Integer(static_cast<std::int64_t>(random_() >> 1 >> Below(64)));
    const char* const usual = declared.text_default;
    if (usual != nullptr && Coin()) return Coin() ? GivenAttribute() : GivenAttribute::Text(usual);
    return GivenAttribute::Text(declared.text[Below(static_cast<std::uint64_t>(declared.texts))]);
  }

  GivenAttribute RandomAttribute() {
    static const char* const texts[] = {"", "f8", "F32", "f32", "philox4x32_10", "\xFF'\n", "mt19937"};
    switch (Below(6)) {
      case 0:
        return GivenAttribute::Text(texts[Below(std::size(texts))]);
      case 1:
        return GivenAttribute::Integer(static_cast<std::int64_t>(random_()));
      case 2:
        return GivenAttribute::Float(Coin() ? std::numeric_limits<double>::quiet_NaN() : 1.5);
      case 3:
        return GivenAttribute::Other("a list, a tensor or a graph");
      case 4:
        return GivenAttribute::Integer(Coin() ? -1 : std::numeric_limits<std::int64_t>::min());
      default:
        return {};
    }
  }

  static OutputType TypeNamed(const GivenAttribute& given, const AttributeDeclaration& declared) {
    const char* const usual = declared.text_default;
    const std::string name = given.kind == GivenAttribute::Kind::kText ? given.text : usual != nullptr ? usual : "";
    for (int i = 0; i < declared.texts; ++i) {
      if (name == declared.text[i]) return declared.type[i];
    }
    return OutputType::kBits;
  }

  /// Numbers of a float type.
  Tensor Floats(ElementType of, const Shape& shape, const std::vector<double>& numbers) {
    std::vector<unsigned char> bytes(numbers.size() * SizeOf(of));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint64_t bits = BitsOf(NumberType(of), numbers[i]);
      std::memcpy(bytes.data() + i * SizeOf(of), &bits, SizeOf(of));
    }
    const ElementType other = RandomType(of);
    return Make(other, shape, other == of ? bytes.data() : nullptr);
  }

  std::size_t WordsOfState() { return (is_torch_s && !Wrong(15)) || Wrong(30) ? kTorchStateWords : kStateWords; }

  /// Any words; of torch's generator mostly right ones.
  Tensor States(ElementType of, const Shape& shape) {
    const std::size_t words = ElementsOf(shape);
    if (!is_torch_s || of != ElementType::kU32 || words % kTorchStateWords != 0 || Wrong(15)) return Make(of, shape, nullptr);
    return Make(of, shape, TorchStates(words / kTorchStateWords, random_).data());
  }

  /// Puts a state for each row in place of the one that is there.
  void GiveRowsStates() {
    const int state = IndexOf(*op, Role::kState);
    Shape shape;
    if (static_cast<std::size_t>(state) >= inputs.size() || !HasShape(&shape) || shape.empty()) return;
    if (shape[0] > (is_torch_s ? 6 : 600)) return;  // longer constants are not captured
    if (op->draws_rows && shape.size() == 1 && shape[0] != 1 && !Wrong(8)) return;
    const std::size_t rows = Wrong(8) ? Below(9) : shape[0];
    inputs[static_cast<std::size_t>(state)] = States(ElementType::kU32, {rows, WordsOfState()});
  }

  Tensor RandomShape() {
    std::vector<std::int64_t> entries;
    do {
      entries.assign(Below(Chance(10) ? 9 : 4), 0);
      if (op->draws_rows && !Wrong(8)) entries.assign(1 + Below(2), 0);
      if (Wrong(20)) entries.resize(9 + Below(4), 1);
      for (std::int64_t& entry : entries) {
        entry = static_cast<std::int64_t>(Below(entries.size() > 3 ? 4 : 40));
        if (Chance(20)) entry = static_cast<std::int64_t>(Below(60000));
        if (Wrong(12)) entry = static_cast<std::int64_t>(random_());
        if (Wrong(20)) entry = -1;
      }
    } while (!IsFastOrRefused(entries));
    const bool is_narrow = Chance(3) && std::all_of(entries.begin(), entries.end(), [](std::int64_t e) {
                             return e >= INT32_MIN && e <= INT32_MAX;
                           });
    const ElementType usual = is_narrow ? ElementType::kI32 : ElementType::kI64, other = RandomType(usual);
    Shape shape{entries.size()};
    // A constant of rank 0 that is 0 means no entries, in OpenVINO alone.
    if (is_openvinos_ && entries.empty() && Chance(3)) {
      shape.clear(), entries.assign(1, 0);
    } else if (Wrong(20)) {
      shape.insert(shape.begin(), 1 + Below(kMostDimensions - 1), 1);
    }
    const std::vector<std::int32_t> narrow(entries.begin(), entries.end());
    const void* data = is_narrow ? static_cast<const void*>(narrow.data()) : entries.data();
    // Random bytes of another type of integer could ask for more than the machine has time for: they are zeros.
    const std::vector<std::int64_t> zeros(16);
    return Make(other, shape, other != usual ? zeros.data() : data);
  }

  bool IsFastOrRefused(const std::vector<std::int64_t>& entries) {
    double elements = 1;
    for (const std::int64_t entry : entries) {
      if (entry <= 0 && is_wild) return true;
      if (entry == 0) continue;  // what stands beside it must be within bounds all the same
      elements *= static_cast<double>(entry);
    }
    return elements <= kMostElements || (is_wild && elements >= static_cast<double>(kFewestRefused));
  }

  template <class Integer>
  static std::pair<std::uint64_t, std::uint64_t> Sorted(std::uint64_t low, std::uint64_t high) {
    Integer a = static_cast<Integer>(low), b = static_cast<Integer>(high);
    if (a > b) std::swap(a, b);
    if (a == b) a = std::numeric_limits<Integer>::min(), b = std::numeric_limits<Integer>::max();
    using Bits = std::make_unsigned_t<Integer>;
    return {static_cast<Bits>(a), static_cast<Bits>(b)};
  }

  std::pair<std::uint64_t, std::uint64_t> RandomBounds() {
    const std::uint64_t low = random_() >> Below(64), high = random_() >> Below(64);
    if (Wrong(6)) return {low, high};
    if (!IsFloat(type)) return type == OutputType::kI32 ? Sorted<std::int32_t>(low, high) : Sorted<std::int64_t>(low, high);
    const auto number = [&] {
      const double whole = static_cast<double>(Below(60001)) - 30000;
      return Chance(4) ? 0 : std::ldexp(whole, -static_cast<int>(Below(60)));
    };
    const double a = number(), b = number();
    return {BitsOf(type, std::min(a, b)), BitsOf(type, std::max(a, b))};
  }

  /// A number above 0.
  std::uint64_t RandomScale() {
    if (Wrong(6) || !IsFloat(type)) return random_() >> Below(64);
    return BitsOf(type, std::ldexp(static_cast<double>(1 + Below(60000)), -static_cast<int>(Below(16))));
  }

  Tensor RandomNumber(std::uint64_t bits) {
    Shape shape(Below(2), 1);
    if (Wrong(20)) shape.assign(Below(kMostDimensions + 1), Below(3));
    const ElementType usual = ElementTypeOf(type), other = RandomType(usual);
    return Make(other, shape, other == usual && ElementsOf(shape) == 1 ? &bits : nullptr);
  }

  /// Probabilities, or the numbers of a draw that rejects.
  Tensor RandomNumbers() {
    // One for each where the shape is known to be of so many.
    Shape shape(Below(2), 1), wanted;
    const bool is_wide = Coin();
    if (Coin() && HasShape(&wanted)) {
      const bool fits = std::all_of(wanted.begin(), wanted.end(), [](std::size_t d) { return d <= kMostEach; });
      if (fits && wanted.size() <= 8 && ElementsOf(wanted) <= kMostEach) shape = wanted;
    }
    if (Wrong(15)) shape.assign(Below(4), Below(4));
    if (Wrong(15)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ElementsOf(shape));
    for (double& number : numbers) {
      number = Chance(8) ? static_cast<double>(Below(2)) : std::ldexp(static_cast<double>(Below(1025)), -10);
      if (is_wide) number /= 3;
      if (op != &kRandomBernoulli) number = number * 30 + 0x1p-10;
    }
    if (Wrong(6) && !numbers.empty()) numbers[Below(numbers.size())] = Coin() ? -0.25 : std::nan("");
    return Floats(is_wide ? ElementType::kF64 : ElementType::kF32, shape, numbers);
  }

  /// Finite numbers. The output has their type.
  Tensor RandomData() {
    static const ElementType types[] = {ElementType::kF16, ElementType::kBF16, ElementType::kF32, ElementType::kF64};
    Shape shape(Below(Chance(8) ? 9 : 4), 0);
    for (std::size_t& dimension : shape) dimension = Below(shape.size() > 3 ? 4 : 30);
    if (Wrong(20)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ElementsOf(shape));
    for (double& number : numbers) number = std::ldexp(static_cast<double>(Below(60001)) - 30000, static_cast<int>(Below(20)) - 18);
    const Tensor data = Floats(types[Below(4)], shape, numbers);
    if (std::find(types, types + 4, data.type) != types + 4) type = NumberType(data.type);
    return data;
  }

  Tensor RandomRatio() {
    Shape shape(Below(2), 1);
    if (Wrong(15)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ElementsOf(shape), std::ldexp(static_cast<double>(Below(1025)), -10));
    if (Wrong(6) && !numbers.empty()) numbers[0] = Coin() ? 1.25 : std::nan("");
    return Floats(Coin() ? ElementType::kF64 : ElementType::kF32, shape, numbers);
  }

  Tensor RandomLogits() {
    static const ElementType types[] = {ElementType::kF16, ElementType::kF32, ElementType::kF64};
    const double infinity = std::numeric_limits<double>::infinity();
    const std::int64_t sample_size = given[AttributeRole::kSampleSize].integer;
    const std::size_t batch = sample_size > 900 ? 1 : Below(5);
    Shape shape{batch, (batch > 0 ? 1 : 0) + Below(Coin() ? 4 : 60)};
    const bool is_once = IsOnce(given);
    const std::size_t least = is_once && sample_size > 0 && sample_size < 1000 ? static_cast<std::size_t>(sample_size) : 1;
    if (is_once && !Wrong(10)) shape[1] = std::max(shape[1], least);
    if (Wrong(20)) shape[1] = 0;
    if (Wrong(20)) shape.assign(Below(4), 1 + Below(3));
    if (Wrong(40)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ElementsOf(shape));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::ldexp(static_cast<double>(Below(20001)) - 10000, -11);
      // Each row keeps a number, or as many as are drawn.
      const std::size_t kept = Wrong(10) ? 1 : least;
      if (!shape.empty() && i % shape.back() >= kept && Chance(5)) numbers[i] = -infinity;
    }
    if (Wrong(5) && !numbers.empty()) {
      if (Coin()) {
        numbers[Below(numbers.size())] = Coin() ? std::nan("") : infinity;
      } else {
        numbers.assign(numbers.size(), -infinity);
      }
    }
    return Floats(types[Below(op == &kRandomToken ? 2 : 3)], shape, numbers);
  }

  /// One number, one for each row of the logits, or none.
  Tensor RandomOfRows(const InputDeclaration& declared) {
    const Shape& logits = inputs[0].shape;
    Shape shape(Below(2), Below(8) == 0 ? 0 : 1);
    if (Coin() && !logits.empty()) shape = {logits[0]};
    if (Wrong(15)) shape.assign(Below(4), Below(4));
    const std::size_t count = ElementsOf(shape);
    if (declared.types.type[0] == ElementType::kI64) {
      std::vector<std::int64_t> numbers(count);
      for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(Chance(4) ? INT32_MAX : Below(9));
      if (Wrong(6) && count > 0) numbers[Below(count)] = -1;
      return Make(ElementType::kI64, shape, numbers.data());
    }
    std::vector<double> numbers(count);
    for (double& number : numbers) number = std::ldexp(static_cast<double>(1 + Below(1024)), -10);
    if (Wrong(6) && count > 0) numbers[Below(count)] = Coin() ? -0.25 : std::nan("");
    return Floats(ElementType::kF32, shape, numbers);
  }

  const bool is_openvinos_;
  check::Random random_;
};

/// What a node draws of inputs as they arrived.
struct Drawn {
  Shape shape, state_shape;
  std::vector<std::uint64_t> values;
  std::vector<unsigned char> mask;
  std::vector<std::uint32_t> next_states;
};

/// Says what must be drawn; throws std::logic_error where the node must be refused instead. OpenVINO's plugin hands over
/// f16 and bf16 as f32, and u32 and i64 as i32.
class Oracle {
 public:
  Oracle(const Operator& op, const GivenAttributes& given, OutputType type, const std::vector<Tensor>& inputs, bool is_openvinos)
      : op_(op), given_(given), type_(type), inputs_(inputs), is_openvinos_(is_openvinos) {}

  Drawn Right() {
    Expect(inputs_.size() <= static_cast<std::size_t>(op_.inputs), "more inputs than it has");
    for (int i = 0; i < op_.inputs; ++i) Expect(At(i) != nullptr || op_.input[i].optional, "an input that is missing");
    const bool is_torch_s = given_[AttributeRole::kAlignment].text == "pytorch";
    const bool is_default = given_[AttributeRole::kSampleSize].kind == GivenAttribute::Kind::kMissing;
    samples_ = is_default ? 1 : given_[AttributeRole::kSampleSize].integer;
    Drawn right;
    right.shape = OutputShape();
    Expect(right.shape.size() <= 8, "too many dimensions");
    const std::size_t words_of_state = is_torch_s ? kTorchStateWords : kStateWords;
    std::vector<std::uint32_t>& words = right.next_states;
    words.resize(words_of_state);
    std::size_t rows = 1;
    right.state_shape = {words_of_state};
    const Tensor* const state = At(IndexOf(op_, Role::kState));
    const std::int64_t global_seed = given_[AttributeRole::kGlobalSeed].integer, op_seed = given_[AttributeRole::kOpSeed].integer;
    Expect(state != nullptr || global_seed != 0 || op_seed != 0, "neither a state nor a seed");
    if (state != nullptr) {
      right.state_shape = state->shape;
      rows = state->shape.size() == 2 ? state->shape[0] : 1;
      words.resize(rows * words_of_state);
      Expect(rows == 1 || (!right.shape.empty() && right.shape[0] == rows), "states for other rows");
      Expect(rows == 1 || right.shape.size() == 2 || !op_.draws_rows, "states for one row");
      Expect(state->type == ElementType::kU32 || (is_openvinos_ && state->type == ElementType::kI32), "a state of another type");
      Expect(state->bytes.size() == words.size() * sizeof words[0], "a state of other words");
      if (rows > 0) std::memcpy(words.data(), state->bytes.data(), state->bytes.size());
      Expect(!state->shape.empty() && state->shape.back() == words_of_state && state->shape.size() <= 8, "a state of another shape");
    }
    Expect(global_seed >= 0 && op_seed >= 0, "a negative seed");
    const std::size_t elements = ElementsOf(right.shape);
    Draw draw = DrawOfInputs(right.shape);
    right.values.resize((elements * ElementSize(type_) + 7) / 8 + 1);
    right.mask.resize(elements);
    draw.out = right.values.data();
    if (op_.has_mask()) draw.mask = right.mask.data();
    if (is_torch_s) {
      DrawTorchs(draw, rows, elements, &words);
      return right;
    }
    if (rows > 1) draw.rows = Rows{words.data(), elements / rows};
    draw.state = Derive(rows == 1 ? StateFromWords(words.data()) : State{}, global_seed, op_seed);
    if (elements > 0) Fill(*SelectKernels("scalar").kernels, draw, 0, elements);
    for (std::size_t row = 0; row < rows; ++row) {
      StateToWords(NextState(draw, StateFromWords(&words[row * kStateWords]), elements / rows), &words[row * kStateWords]);
    }
    return right;
  }

 private:
  static void Expect(bool holds, const char* what) {
    if (!holds) throw std::logic_error(what);
  }

  /// An input; null where it is left out.
  const Tensor* At(int i) const {
    const bool is_there = i >= 0 && static_cast<std::size_t>(i) < inputs_.size();
    return is_there && inputs_[static_cast<std::size_t>(i)].type != ElementType::kUnknown ? &inputs_[static_cast<std::size_t>(i)] : nullptr;
  }
  const Tensor& Of(Role role) const { return *At(IndexOf(op_, role)); }

  Shape OutputShape() {
    if (const Tensor* const logits = At(IndexOf(op_, Role::kLogits))) {
      Expect(samples_ >= 1, "no samples");
      Expect(logits->shape.size() == 2, "logits of another rank");
      return {logits->shape[0], static_cast<std::size_t>(samples_)};
    }
    if (const Tensor* const data = At(IndexOf(op_, Role::kData))) return data->shape;
    const Tensor& of_shape = Of(Role::kShape);
    Expect(of_shape.is_dimensions() && (is_openvinos_ || of_shape.shape.size() == 1), "a shape that is none");
    return of_shape.dimensions();
  }

  /// What torch draws; the states become the next ones.
  void DrawTorchs(const Draw& draw, std::size_t rows, std::size_t elements, std::vector<std::uint32_t>* states) {
    const bool has_state = At(IndexOf(op_, Role::kState)) != nullptr;
    Attributes attributes;
    attributes.is_pytorch = true;
    attributes.global_seed = given_[AttributeRole::kGlobalSeed].integer;
    Expect(given_[AttributeRole::kOpSeed].integer == 0, "an op_seed");
    Expect((attributes.global_seed != 0) != has_state, "a state beside a seed, or neither");
    Expect(draw.distribution != Distribution::kCategorical || draw.is_once || draw.samples == 1, "samples with replacement");
    for (std::size_t row = 0; row < rows && has_state; ++row) {
      const std::uint32_t* const state = &(*states)[row * kTorchStateWords];
      Expect(state[4] <= 624 && (state[2] == 1 || std::uint64_t{state[2]} + state[4] == 625), "a place that is none");
      Expect(state[3] == 1 && state[631] < 2, "a generator without a seed");
    }
    Arguments arguments;
    arguments.states = static_cast<std::int64_t>(rows);
    if (has_state) arguments.state_words = states->data();
    arguments.dimensions.elements = static_cast<std::int64_t>(elements);
    DrawTorch(*SelectKernels("scalar").kernels, attributes, arguments, draw, states->data());
  }

  /// The draw that the inputs mean, without state and memory.
  Draw DrawOfInputs(const Shape& shape) {
    switch (op_.distribution) {
      case Distribution::kUniform: {
        if (IndexOf(op_, Parameter::kMinval) < 0) return UniformDraw({}, type_, {}, nullptr);
        const Bounds bounds{NumberOf(1), NumberOf(2)};
        Expect(RangeProblemOf(type_, bounds) == RangeProblem::kNone, "bounds that are no range");
        return UniformDraw({}, type_, bounds, nullptr);
      }
      case Distribution::kNormal: {
        const Affine affine{NumberOf(1), NumberOf(2)};
        const bool is_finite = std::isfinite(FloatValue(type_, affine.mean)) && std::isfinite(FloatValue(type_, affine.scale));
        Expect(is_finite, "a mean or scale that is not finite");
        return NormalDraw({}, type_, affine, nullptr);
      }
      case Distribution::kExponential: {
        const std::uint64_t scale = NumberOf(1);
        Expect(FloatValue(type_, scale) > 0 && std::isfinite(FloatValue(type_, scale)), "a scale that is not above 0 and finite");
        return ExponentialDraw({}, type_, scale, nullptr);
      }
      case Distribution::kPermutation:
        Expect(shape.size() == 1 || shape.size() == 2, "no rows");
        Expect(type_ == OutputType::kI64 || shape.back() <= std::size_t{1} << 31, "indices past i32");
        return PermutationDraw({}, type_, shape.back(), nullptr);
      case Distribution::kDropout:
        return Dropout();
      case Distribution::kBernoulli:
        return BernoulliDraw({}, Probabilities{NumbersIn(shape, 1), !IsOne(Of(Role::kNumbers))}, nullptr);
      case Distribution::kGamma:
      case Distribution::kPoisson: {
        const bool is_gamma = op_.distribution == Distribution::kGamma;
        const Numbers numbers = NumbersIn(shape, is_gamma ? 0x1p50 : 0x1p30);
        return RejectingDraw({}, op_.distribution, type_, numbers, !IsOne(Of(Role::kNumbers)), nullptr);
      }
      case Distribution::kToken:
      case Distribution::kCategorical:
        break;
    }
    const std::uint64_t samples = static_cast<std::uint64_t>(samples_);
    const Logits logits{RightLogits(), inputs_[0].shape[1], samples, IsOnce(given_)};
    Draw draw = CategoricalDraw({}, type_, logits, nullptr);
    if (op_.distribution == Distribution::kToken) GiveFilters(&draw);
    return draw;
  }

  static bool IsOne(const Tensor& tensor) { return tensor.shape.empty() || tensor.shape == Shape{1}; }

  /// The bits of a bound, mean or scale in the output type.
  std::uint64_t NumberOf(int input) {
    const Tensor& tensor = *At(input);
    Expect(IsOne(tensor), "a bound that is not one number");
    return Narrowed(tensor, 0);
  }

  /// A number in the output type; f32 is rounded to it where it may arrive so.
  std::uint64_t Narrowed(const Tensor& tensor, std::size_t i) {
    if (tensor.type == ElementTypeOf(type_)) return tensor.bits(i);
    Expect(is_openvinos_ && tensor.type == ElementType::kF32 && IsFloat(type_), "a number of another type");
    const double number = tensor.number(i);
    return BitsOf(type_, std::isnan(number) ? std::nan("") : number);
  }

  /// Numbers of these types. A tensor without elements may arrive in any type.
  Numbers NumbersOf(const Tensor& tensor, std::initializer_list<ElementType> types) {
    const bool is_right = std::find(types.begin(), types.end(), tensor.type) != types.end();
    Expect(is_right || tensor.size() == 0, "numbers of another type");
    return {is_right ? NumberType(tensor.type) : OutputType::kF32, tensor.bytes.data()};
  }

  /// One number, or one for each element, up to the most that is allowed.
  Numbers NumbersIn(const Shape& shape, double most) {
    const Tensor& tensor = Of(Role::kNumbers);
    Expect(IsOne(tensor) || tensor.shape == shape, "numbers of another shape");
    const Numbers numbers = NumbersOf(tensor, {ElementType::kF32, ElementType::kF64});
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const double p = tensor.number(i);
      Expect(p >= 0 && p <= most && (p > 0 || op_.distribution != Distribution::kGamma), "a number that is not allowed");
    }
    return numbers;
  }

  Draw Dropout() {
    const Tensor &data = Of(Role::kData), &ratio = Of(Role::kNumber);
    Expect(IsOne(ratio), "a ratio that is not one number");
    const Numbers share = NumbersOf(ratio, {ElementType::kF32, ElementType::kF64});
    Expect(ratio.number(0) >= 0 && ratio.number(0) <= 1, "no ratio");
    memory_.emplace_back(data.size() * ElementSize(type_));
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::uint64_t bits = Narrowed(data, i);
      std::memcpy(memory_.back().data() + i * ElementSize(type_), &bits, ElementSize(type_));
    }
    return DropoutDraw({}, {type_, memory_.back().data()}, share, nullptr, nullptr);
  }

  Numbers RightLogits() {
    const Tensor& logits = inputs_[0];
    const ElementType other = op_.distribution == Distribution::kToken ? ElementType::kBF16 : ElementType::kF64;
    const Numbers numbers = NumbersOf(logits, {ElementType::kF32, ElementType::kF16, other});
    const double infinity = std::numeric_limits<double>::infinity();
    const std::size_t rows = logits.shape[0], classes = logits.shape[1];
    Expect(rows == 0 || classes > 0, "no classes");
    for (std::size_t row = 0; row < rows; ++row) {
      std::int64_t finite = 0;
      for (std::size_t i = 0; i < classes; ++i) {
        const double x = logits.number(row * classes + i);
        Expect(x < infinity, "a logit that is none");
        finite += x > -infinity ? 1 : 0;
      }
      Expect(finite > 0, "a row of nothing");
      Expect(!IsOnce(given_) || finite >= samples_, "fewer classes than samples");
    }
    return numbers;
  }

  void GiveFilters(Draw* draw) {
    draw->distribution = Distribution::kToken;
    const std::size_t rows = inputs_[0].shape[0];
    for (int i = 1; i < op_.inputs; ++i) {
      const InputDeclaration& declared = op_.input[i];
      const Tensor* const tensor = At(i);
      if (declared.role != Role::kRowNumbers || tensor == nullptr || tensor->size() == 0) continue;
      Expect(IsOne(*tensor) || tensor->shape == Shape{rows}, "numbers for other rows");
      const bool is_integer = declared.types.type[0] == ElementType::kI64;
      memory_.emplace_back(rows * (is_integer ? 8 : 4) + 8);
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t at = tensor->size() == 1 ? 0 : row;
        if (is_integer) {
          Expect(tensor->type == ElementType::kI64 || (is_openvinos_ && tensor->is_integers()), "a top_k of another type");
          const std::int64_t number = IntegerAt(tensor->type, tensor->bytes.data(), at);
          Expect(number >= 0, "a negative top_k");
          std::memcpy(memory_.back().data() + row * 8, &number, 8);
        } else {
          Expect(tensor->type == ElementType::kF32, "numbers of another type");
          const float number = static_cast<float>(tensor->number(at));
          Expect(number >= 0 && std::isfinite(number), "a number that is not allowed");
          std::memcpy(memory_.back().data() + row * 4, &number, 4);
        }
      }
      if (rows == 0) continue;
      (*draw)[declared.parameter] = Argument{is_integer ? OutputType::kI64 : OutputType::kF32, 0, memory_.back().data()};
    }
  }

  const Operator& op_;
  const GivenAttributes& given_;
  const OutputType type_;
  const std::vector<Tensor>& inputs_;
  const bool is_openvinos_;
  std::int64_t samples_ = 1;
  std::deque<std::vector<unsigned char>> memory_;
};

}  // namespace random_nodes
