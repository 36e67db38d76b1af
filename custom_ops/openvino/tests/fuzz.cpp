// Random nodes: see fuzz.h.
//
// A node is built of constants, of constant subgraphs and of parameters; validated, perhaps cloned, taken through the
// attributes of IR, or given the constants that the CPU plugin makes of its own; then evaluated.
#include "fuzz.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "draws.h"
#include "fill_tensor.h"
#include "guided.h"
#include "kernels.h"
#include "node.h"
#include "number_formats.h"
#include "openvino/core/attribute_visitor.hpp"
#include "openvino/core/except.hpp"
#include "openvino/op/concat.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/convert.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino_types.h"
#include "torch_draw.h"
#include "torch_stream.h"
#include "values.h"

namespace {

using namespace onnx_philox;
using ov::op::v0::Constant;

constexpr std::int64_t kMostElements = std::int64_t{1} << 16;   // of an output that is drawn ...
constexpr std::int64_t kFewestRefused = std::int64_t{1} << 46;  // ... or one that no machine can hold
constexpr std::size_t kMostDimensions = 12;  // more than are allowed, and more than fixed arrays hold
constexpr std::size_t kMostEach = 2000;  // of one whose elements each have a p: fewer than a captured constant may have

struct NamedType {
  const char* name;
  OutputType type;
};
constexpr NamedType kTypes[] = {{"i32", OutputType::kI32},   {"i64", OutputType::kI64}, {"f16", OutputType::kF16},
                                {"bf16", OutputType::kBF16}, {"f32", OutputType::kF32}, {"f64", OutputType::kF64}};

/// Reads or writes a node's attributes, as loading and saving IR do.
class Attributes : public ov::AttributeVisitor {
 public:
  explicit Attributes(bool writes) : writes_(writes) {}
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> integers;
  std::map<std::string, bool> flags;

  void on_adapter(const std::string&, ov::ValueAccessor<void>&) override {}
  void on_adapter(const std::string& name, ov::ValueAccessor<std::string>& value) override { Visit(name, value, &texts); }
  void on_adapter(const std::string& name, ov::ValueAccessor<std::int64_t>& value) override {
    Visit(name, value, &integers);
  }
  void on_adapter(const std::string& name, ov::ValueAccessor<bool>& value) override { Visit(name, value, &flags); }

 private:
  template <class T>
  void Visit(const std::string& name, ov::ValueAccessor<T>& value, std::map<std::string, T>* all) {
    if (!writes_) {
      (*all)[name] = value.get();
    } else if (all->count(name) != 0) {
      value.set(all->at(name));
    }
  }
  const bool writes_;
};

/// What a node is given for one input, and what it should read there.
struct Given {
  ov::Output<ov::Node> source;
  ov::Tensor tensor;  // at run
  bool is_constant = false;
};

class Fuzzer {
 public:
  explicit Fuzzer(check::Random random) : random_(random) {}

  void Step() {
    memory_.clear();
    // Half of the nodes have nothing wrong, and must draw.
    wild_ = Coin();
    compared_ = true;
    std::string error;
    try {
      Try();
      ++(compared_ ? drawn : survived);
      return;
    } catch (const ov::Exception& caught) {
      error = caught.what();
    } catch (const std::exception& caught) {
      Fail("an exception that is not OpenVINO's", caught.what());
    }
    ++refused;
    const std::size_t begin = error.find(std::string(op_->name) + ": ");
    error.erase(error.find_last_not_of(" \n") + 1);
    const bool is_whole =
        begin != std::string::npos && error.find(" must be ", begin) < error.find(": got ", begin) &&
        error.find(": got ", begin) != std::string::npos && error.back() == '.';
    if (!is_whole) Fail("an error without its four parts", error);
    if (!wild_) Fail("a node with nothing wrong is refused", error);
  }

  unsigned long drawn = 0, survived = 0, refused = 0;

 private:
  [[noreturn]] void Fail(const std::string& what, const std::string& more) {
    std::fprintf(stderr, "FAILED: %s: %s\n", what.c_str(), more.c_str());
    std::exit(1);
  }

  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  std::ptrdiff_t IndexIn(const ov::Shape& shape) { return static_cast<std::ptrdiff_t>(Below(shape.size())); }
  bool Coin() { return Below(2) == 0; }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }
  bool Wrong(std::uint64_t one_in) { return wild_ && Chance(one_in); }

  void Try() {
    op_ = kAllOperators[Below(kOperators)];
    if (op_->output[0].has_type) type_ = op_->output[0].type;
    GivenAttributes given;
    for (int i = 0; i < op_->attributes; ++i) {
      const AttributeDeclaration& declared = op_->attribute[i];
      given[declared.role] = declared.role == AttributeRole::kAlignment     ? RandomAlignment()
                             : declared.is_text()                           ? RandomText(declared)
                             : declared.role == AttributeRole::kSampleSize  ? RandomSampleSize()
                             : declared.role == AttributeRole::kReplacement ? RandomReplacement()
                                                                            : GivenAttribute::Integer(RandomSeed());
      if (Wrong(20)) given[declared.role] = RandomAttribute();
      if (declared.role == AttributeRole::kOutputType) type_ = TypeNamed(given[AttributeRole::kOutputType], declared.text_default);
    }

    inputs_.clear();
    is_torch_s_ = given[AttributeRole::kAlignment].text == "pytorch";
    if (is_torch_s_ && !Wrong(8)) {
      given[AttributeRole::kOpSeed] = GivenAttribute::Integer(0);
      if (Coin()) given[AttributeRole::kGlobalSeed] = GivenAttribute::Integer(0);
      if (!IsOnce(given)) given[AttributeRole::kSampleSize] = GivenAttribute();
    }
    const bool seeded = given[AttributeRole::kGlobalSeed].integer != 0 || given[AttributeRole::kOpSeed].integer != 0;
    const auto [first, second] = RandomBounds();
    for (int i = 0; i < op_->inputs; ++i) {
      switch (op_->input[i].role) {
        case Role::kShape:
          inputs_.push_back(RandomShape());
          break;
        case Role::kData:
          inputs_.push_back(RandomData());
          break;
        case Role::kNumber:
          if (op_->has_mask()) {
            inputs_.push_back(RandomRatio());
          } else if (op_ == &kRandomExponential) {
            inputs_.push_back(NumberInput(RandomScale()));
          } else {
            inputs_.push_back(NumberInput(op_->input[i - 1].role == op_->input[i].role ? second : first));
          }
          break;
        case Role::kNumbers:
          inputs_.push_back(op_ == &kRandomBernoulli ? RandomProbabilities() : RandomNumbers());
          break;
        case Role::kRowNumbers:
          inputs_.push_back(RandomOfRows(op_->input[i]));
          break;
        case Role::kLogits:
          inputs_.push_back(RandomLogits(given[AttributeRole::kSampleSize].integer, IsOnce(given)));
          break;
        case Role::kState:
          if (is_torch_s_ ? !seeded || Wrong(8) : !op_->input[i].optional || !seeded || Coin()) {
            inputs_.push_back(RandomState());
          }
          break;
      }
    }
    if (Chance(4)) GiveRowsStates();
    if (Wrong(30)) inputs_.pop_back();
    if (Wrong(40)) inputs_.push_back(RandomState());

    std::shared_ptr<RandomOp> node = MakeNode();
    node->SetAttributes(given);
    node->set_arguments(Sources());
    node->constructor_validate_and_infer_types();
    if (Chance(4)) node = Cloned(*node);
    if (Chance(4)) node = ThroughAttributes(*node);
    if (Chance(4)) node = Narrowed(*node);
    if (Chance(4)) node->validate_and_infer_types();
    Evaluate(*node, given);
  }

  template <std::size_t... index>
  std::shared_ptr<RandomOp> MakeNodeOf(std::index_sequence<index...>) const {
    std::shared_ptr<RandomOp> node;
    const auto make = [&](const Operator* op, const auto& made) {
      if (op == op_) node = made();
    };
    (make(kAllOperators[index], [] { return std::make_shared<NodeOf<*kAllOperators[index]>>(); }), ...);
    return node;
  }
  std::shared_ptr<RandomOp> MakeNode() const { return MakeNodeOf(std::make_index_sequence<kOperators>()); }

  /// The index of the input of this role; that of an optional one only where it is there.
  int Find(Role role) const {
    for (int i = 0; i < op_->inputs && static_cast<std::size_t>(i) < inputs_.size(); ++i) {
      if (op_->input[i].role == role) return i;
    }
    return kNone;
  }
  const ov::Tensor* TensorOf(Role role) const {
    const int i = Find(role);
    return i == kNone ? nullptr : &inputs_[static_cast<std::size_t>(i)].tensor;
  }

  GivenAttribute RandomText(const AttributeDeclaration& declared) {
    const char* const usual = declared.text_default;
    if (usual != nullptr && Coin()) return Coin() ? GivenAttribute() : GivenAttribute::Text(usual);
    return GivenAttribute::Text(declared.text[Below(static_cast<std::uint64_t>(declared.texts))]);
  }

  GivenAttribute RandomAlignment() {
    if (Chance(4)) return GivenAttribute::Text("pytorch");
    return Coin() ? GivenAttribute() : GivenAttribute::Text("tensorflow");
  }

  static OutputType TypeNamed(const GivenAttribute& given, const char* usual) {
    const std::string name = given.kind == GivenAttribute::Kind::kText ? given.text : usual != nullptr ? usual : "";
    for (const NamedType& named : kTypes) {
      if (name == named.name) return named.type;
    }
    return OutputType::kBits;
  }

  GivenAttribute RandomSampleSize() {
    if (Wrong(10)) return GivenAttribute::Integer(Coin() ? -static_cast<std::int64_t>(Below(3)) : INT64_MAX);
    return GivenAttribute::Integer(static_cast<std::int64_t>(1 + Below(Coin() ? 3 : 900)));
  }

  GivenAttribute RandomReplacement() {
    if (Coin()) return {};
    return GivenAttribute::Integer(static_cast<std::int64_t>(Wrong(10) ? random_() : Below(2)));
  }
  /// Whether a class is drawn at most once from a row.
  static bool IsOnce(const GivenAttributes& given) {
    const GivenAttribute& replacement = given[AttributeRole::kReplacement];
    return replacement.kind == GivenAttribute::Kind::kInteger && replacement.integer == 0;
  }

  ov::OutputVector Sources() const {
    ov::OutputVector sources;
    for (const Given& input : inputs_) sources.push_back(input.source);
    return sources;
  }

  /// The same, with the state that a node of torch's numbers made of its seed.
  ov::OutputVector SourcesOf(const ov::Node& node) const {
    return is_torch_s_ && node.get_input_size() > inputs_.size() ? node.input_values() : Sources();
  }

  std::shared_ptr<RandomOp> Cloned(const ov::Node& node) {
    return std::dynamic_pointer_cast<RandomOp>(node.clone_with_new_inputs(SourcesOf(node)));
  }

  /// As IR is saved and loaded; now and then with another text in it.
  std::shared_ptr<RandomOp> ThroughAttributes(RandomOp& node) {
    Attributes read(false), written(true);
    node.visit_attributes(read);
    written.texts = read.texts;
    written.integers = read.integers;
    written.flags = read.flags;
    if (Wrong(2)) {
      compared_ = false;  // what a wrong text that can be read means is not said anywhere
      for (auto& [name, text] : written.texts) {
        if (Coin()) text = Mangled(text);
      }
      for (auto& [name, integer] : written.integers) {
        if (Chance(8)) integer = static_cast<std::int64_t>(random_());
      }
    }
    const std::shared_ptr<RandomOp> loaded = MakeNode();
    loaded->set_arguments(SourcesOf(node));
    loaded->visit_attributes(written);
    loaded->constructor_validate_and_infer_types();
    return loaded;
  }

  std::string Mangled(std::string text) {
    static const char letters[] = "0123456789abcdefx.p+-, \0naif\xFF";
    for (std::uint64_t edits = 1 + Below(4); edits > 0; --edits) {
      const std::size_t at = Below(text.size() + 1);
      const char letter = letters[Below(sizeof letters - 1)];
      if (Coin() && at < text.size()) {
        text[at] = letter;
      } else if (Coin()) {
        text.insert(at, 1, letter);
      } else {
        text.resize(at);
      }
    }
    return text;
  }

  /// The constants are replaced by what the CPU plugin makes of them; the values that were there first count.
  std::shared_ptr<RandomOp> Narrowed(RandomOp& node) {
    ov::OutputVector sources = SourcesOf(node);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto* const constant = ov::as_type<Constant>(sources[i].get_node());
      if (constant == nullptr || static_cast<int>(i) == Find(Role::kShape)) continue;
      const ov::element::Type type = constant->get_element_type();
      if (type == ov::element::u32 || type == ov::element::i64) {
        std::vector<std::int64_t> values = constant->cast_vector<std::int64_t>();
        for (std::int64_t& v : values) v = std::min<std::int64_t>(std::max<std::int64_t>(v, INT32_MIN), INT32_MAX);
        sources[i] = std::make_shared<Constant>(ov::element::i32, constant->get_shape(), values);
      } else if (type.is_real() && type != ov::element::f32) {
        constexpr double kLargest = std::numeric_limits<float>::max();
        std::vector<float> values;
        for (const double v : constant->cast_vector<double>()) {
          values.push_back(static_cast<float>(std::isinf(v) ? v : std::min(std::max(v, -kLargest), kLargest)));
        }
        sources[i] = std::make_shared<Constant>(ov::element::f32, constant->get_shape(), values);
      }
    }
    const auto narrowed = std::dynamic_pointer_cast<RandomOp>(node.clone_with_new_inputs(sources));
    narrowed->validate_and_infer_types();
    return narrowed;
  }

  std::int64_t RandomSeed() { return static_cast<std::int64_t>(random_() >> 1 >> Below(64)); }

  GivenAttribute RandomAttribute() {
    static const char* const texts[] = {"", "f8", "F32", "f32", "philox4x32_10", "\xFF'\n", "mt19937"};
    switch (Below(5)) {
      case 0:
        return GivenAttribute::Text(texts[Below(7)]);
      case 1:
        return GivenAttribute::Integer(static_cast<std::int64_t>(random_()));
      case 2:
        return GivenAttribute::Float(Coin() ? std::numeric_limits<double>::quiet_NaN() : 1.5);
      case 3:
        return GivenAttribute::Other("a list, a tensor or a graph");
      default:
        return {};
    }
  }

  ov::element::Type RandomType(ov::element::Type usual) {
    static const ov::element::Type types[] = {ov::element::boolean, ov::element::i8,   ov::element::u8,  ov::element::i16,
                                              ov::element::u16,     ov::element::u64,  ov::element::i4,  ov::element::u32,
                                              ov::element::i32,     ov::element::i64,  ov::element::f16, ov::element::bf16,
                                              ov::element::f32,     ov::element::f64,  ov::element::f8e4m3};
    return Wrong(25) ? types[Below(std::size(types))] : usual;
  }

  /// A tensor in memory of its own, which is not always aligned: that of a constant out of a file is not.
  ov::Tensor MakeTensor(ov::element::Type type, const ov::Shape& shape, const void* data = nullptr, bool aligned = true) {
    const std::size_t bytes = std::max<std::size_t>(ov::Tensor(type, shape).get_byte_size(), 1);
    memory_.emplace_back(bytes + 16);
    unsigned char* const begin = memory_.back().data() + (aligned ? 0 : 1 + Below(15));
    for (std::size_t i = 0; i < bytes; ++i) {
      begin[i] = data != nullptr ? static_cast<const unsigned char*>(data)[i] : static_cast<unsigned char>(random_());
    }
    return ov::Tensor(type, shape, begin);
  }

  /// An input of this value (random bytes if there is none): a constant, a constant subgraph, or a parameter.
  Given MakeInput(ov::element::Type type, const ov::Shape& shape, const void* data, bool only_constant) {
    Given given;
    given.is_constant = only_constant || Coin();
    if (given.is_constant) {
      given.tensor = MakeTensor(type, shape, data, Coin() || type.bitwidth() < 8);
      const auto constant = std::make_shared<Constant>(given.tensor);
      given.source = constant;
      if (shape.size() == 1 && shape[0] > 1 && type.bitwidth() >= 8 && Chance(6)) {
        given.source = InTwoParts(given.tensor);
      } else if (type == ov::element::u32 && Chance(6)) {
        std::vector<std::int64_t> wide = constant->cast_vector<std::int64_t>();
        const auto source = std::make_shared<Constant>(ov::element::i64, shape, wide);
        given.source = std::make_shared<ov::op::v0::Convert>(source, type);
      }
      return given;
    }
    given.tensor = MakeTensor(type, shape, data);
    ov::PartialShape partial(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (Chance(3)) partial[static_cast<std::ptrdiff_t>(i)] = ov::Dimension::dynamic();
    }
    // A declared length of 1 is a rank-0 tensor's too, and the plugin needs the rank of `shape`.
    if (Chance(8)) partial = ov::PartialShape::dynamic();
    given.source = std::make_shared<ov::op::v0::Parameter>(type, partial);
    if (Wrong(20)) {
      ov::Shape other = shape;
      if (!other.empty() && Coin()) other[IndexIn(other)] = Below(9);
      if (Coin()) other.insert(other.begin(), Below(3));
      given.tensor = MakeTensor(RandomType(type), other, nullptr);
      // No runtime hands over another shape than the declared one, and nobody reads it where that says all.
      if (!partial.compatible(other)) compared_ = false;
    }
    return given;
  }

  ov::Output<ov::Node> InTwoParts(const ov::Tensor& tensor) {
    const std::size_t length = tensor.get_shape()[0], first = 1 + Below(length - 1);
    const std::size_t size = tensor.get_element_type().size();
    const unsigned char* const data = static_cast<const unsigned char*>(tensor.data());
    const ov::OutputVector parts = {
        std::make_shared<Constant>(MakeTensor(tensor.get_element_type(), {first}, data, false)),
        std::make_shared<Constant>(MakeTensor(tensor.get_element_type(), {length - first}, data + first * size, false))};
    return std::make_shared<ov::op::v0::Concat>(parts, 0);
  }

  /// Puts a state for each row in place of the one that is there.
  void GiveRowsStates() {
    const int state = Find(Role::kState);
    const ov::Tensor* const logits = TensorOf(Role::kLogits);
    const ov::Tensor* const of_shape = TensorOf(Role::kShape);
    ov::Shape shape;
    if (logits != nullptr) shape = logits->get_shape();
    if (const ov::Tensor* const data = TensorOf(Role::kData)) shape = data->get_shape();
    if (of_shape != nullptr && IsShape(*of_shape)) shape = ShapeIn(*of_shape);
    if (state == kNone || shape.empty() || shape[0] > (is_torch_s_ ? 6 : 600)) return;  // longer constants are not captured
    if (op_->draws_rows && shape.size() == 1 && shape[0] != 1 && !Wrong(8)) return;
    const std::size_t rows = Wrong(8) ? Below(9) : shape[0];
    inputs_[static_cast<std::size_t>(state)] = States(ov::element::u32, {rows, WordsOfState()});
  }

  Given RandomState() {
    ov::Shape shape(1 + Below(Chance(8) ? 8 : 2), 1);
    shape.back() = WordsOfState();
    if (Wrong(15)) shape[IndexIn(shape)] = Below(9);
    if (Wrong(30)) shape.clear();
    if (Wrong(30)) shape.assign(9 + Below(kMostDimensions - 8), 1);
    const ov::element::Type type = RandomType(ov::element::u32);
    return States(type, shape);
  }

  std::size_t WordsOfState() { return (is_torch_s_ && !Wrong(15)) || Wrong(30) ? kTorchStateWords : kStateWords; }

  /// Any words; of torch's generator mostly right ones.
  Given States(ov::element::Type type, const ov::Shape& shape) {
    const std::size_t words = ov::shape_size(shape);
    if (!is_torch_s_ || type != ov::element::u32 || words % kTorchStateWords != 0 || Wrong(15)) {
      return SignedAtTimes(MakeInput(type, shape, nullptr, false));
    }
    const std::vector<std::uint32_t> states = TorchStates(words / kTorchStateWords, random_);
    return SignedAtTimes(MakeInput(type, shape, states.data(), false));
  }

  /// The plugin hands over uint32 as int32.
  Given SignedAtTimes(Given given) {
    if (!given.is_constant && given.tensor.get_element_type() == ov::element::u32 && Chance(3)) {
      given.tensor = ov::Tensor(ov::element::i32, given.tensor.get_shape(), given.tensor.data());
    }
    return given;
  }

  Given RandomShape() {
    std::vector<std::int64_t> entries;
    for (;;) {
      entries.assign(Below(Chance(10) ? 9 : 4), 0);
      if (op_->draws_rows && !Wrong(8)) entries.assign(1 + Below(2), 0);
      if (Wrong(20)) entries.resize(9 + Below(4), 1);
      for (std::int64_t& entry : entries) {
        entry = static_cast<std::int64_t>(Below(entries.size() > 3 ? 4 : 40));
        if (Chance(20)) entry = static_cast<std::int64_t>(Below(60000));
        if (Wrong(12)) entry = static_cast<std::int64_t>(random_());
        if (Wrong(20)) entry = -1;
      }
      if (IsFastOrRefused(entries)) break;
    }
    const bool is_narrow = Chance(3) && std::all_of(entries.begin(), entries.end(), [](std::int64_t e) {
                             return e >= INT32_MIN && e <= INT32_MAX;
                           });
    const ov::element::Type usual = is_narrow ? ov::element::i32 : ov::element::i64, type = RandomType(usual);
    ov::Shape shape{entries.size()};
    // A rank-0 constant 0 means no entries.
    const bool is_scalar = entries.empty() && Chance(3);
    if (is_scalar) shape.clear(), entries.assign(1, 0);
    if (Wrong(20) && !is_scalar) shape.insert(shape.begin(), 1 + Below(kMostDimensions - 1), 1);
    const std::vector<std::int32_t> narrow(entries.begin(), entries.end());
    const void* data = is_narrow ? static_cast<const void*>(narrow.data()) : entries.data();
    // Random bytes of another type of integer could ask for more than the machine has time for: they are zeros.
    const std::vector<std::int64_t> zeros(16);
    if (type != usual) data = zeros.data();
    if (shape_size(shape) > 16) data = nullptr;
    Given given = MakeInput(type, shape, data, is_scalar);
    // Tensors of random bytes likewise.
    const ov::Tensor& tensor = given.tensor;
    if (!given.is_constant && tensor.get_size() > 0 && !IsRead(tensor, entries)) {
      std::memset(given.tensor.data(), 0, tensor.get_byte_size());
    }
    return given;
  }

  static bool IsRead(const ov::Tensor& tensor, const std::vector<std::int64_t>& entries) {
    if (tensor.get_size() != entries.size()) return false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (tensor.get_element_type() == ov::element::i64 && tensor.data<std::int64_t>()[i] == entries[i]) continue;
      if (tensor.get_element_type() == ov::element::i32 && tensor.data<std::int32_t>()[i] == entries[i]) continue;
      return false;
    }
    return true;
  }

  bool IsFastOrRefused(const std::vector<std::int64_t>& entries) {
    double elements = 1;
    for (const std::int64_t entry : entries) {
      if (entry <= 0 && wild_) return true;
      if (entry == 0) continue;  // what stands beside it must be within bounds all the same
      elements *= static_cast<double>(entry);
    }
    return elements <= kMostElements || (wild_ && elements >= static_cast<double>(kFewestRefused));
  }

  std::pair<std::uint64_t, std::uint64_t> RandomBounds() {
    std::uint64_t low = random_() >> Below(64), high = random_() >> Below(64);
    if (Wrong(6)) return {low, high};
    if (const FloatFormat* const format = FormatOf(ElementTypeOf(type_))) {
      const auto bits = [&](double number) {
        std::uint64_t b;
        std::memcpy(&b, &number, sizeof b);
        return ConvertFloat(b, kF64Format, *format);
      };
      const auto number = [&] {
        const double whole = static_cast<double>(Below(60001)) - 30000;
        return Chance(4) ? 0 : std::ldexp(whole, -static_cast<int>(Below(60)));
      };
      double a = number(), b = number();
      if (a > b) std::swap(a, b);
      low = bits(a), high = bits(b);
    } else if (type_ == OutputType::kI32) {
      std::int32_t a = static_cast<std::int32_t>(low), b = static_cast<std::int32_t>(high);
      if (a > b) std::swap(a, b);
      if (a == b) a = INT32_MIN, b = INT32_MAX;
      low = static_cast<std::uint32_t>(a), high = static_cast<std::uint32_t>(b);
    } else {
      std::int64_t a = static_cast<std::int64_t>(low), b = static_cast<std::int64_t>(high);
      if (a > b) std::swap(a, b);
      if (a == b) a = INT64_MIN, b = INT64_MAX;
      low = static_cast<std::uint64_t>(a), high = static_cast<std::uint64_t>(b);
    }
    return {low, high};
  }

  /// A number above 0.
  std::uint64_t RandomScale() {
    const FloatFormat* const format = FormatOf(ElementTypeOf(type_));
    if (Wrong(6) || format == nullptr) return random_() >> Below(64);
    const double scale = std::ldexp(static_cast<double>(1 + Below(60000)), -static_cast<int>(Below(16)));
    std::uint64_t bits;
    std::memcpy(&bits, &scale, sizeof bits);
    return ConvertFloat(bits, kF64Format, *format);
  }

  Given NumberInput(std::uint64_t bits) {
    ov::Shape shape(Below(2), 1);
    if (Wrong(20)) shape.assign(Below(kMostDimensions + 1), Below(3));
    const ov::element::Type usual = OpenVinoType(type_), type = RandomType(usual);
    const bool only_constant = !wild_ && (type_ == OutputType::kF64 || type_ == OutputType::kI64);
    const bool fits = type == usual && ov::shape_size(shape) == 1;
    Given given = MakeInput(type, shape, fits ? &bits : nullptr, only_constant);
    // The plugin hands over f16 and bf16 as f32.
    const FloatFormat* const format = FormatOf(ElementTypeOf(type));
    if (!given.is_constant && fits && format != nullptr && format->exponent_bits + format->mantissa_bits == 15 &&
        given.tensor.get_size() == 1 && given.tensor.get_element_type() == type && Chance(3)) {
      const std::uint64_t wide = ConvertFloat(bits, *format, kF32Format);
      given.tensor = MakeTensor(ov::element::f32, given.tensor.get_shape(), &wide);
    }
    return given;
  }

  /// Numbers of a float type, as a constant if the plugin would round them otherwise.
  Given FloatsInput(ov::element::Type type, const ov::Shape& shape, const std::vector<double>& numbers) {
    ov::Tensor tensor = MakeTensor(type, shape);
    const FloatFormat format = *FormatOf(ElementTypeOf(type));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::uint64_t bits;
      std::memcpy(&bits, &numbers[i], sizeof bits);
      bits = ConvertFloat(bits, kF64Format, format);
      std::memcpy(static_cast<unsigned char*>(tensor.data()) + i * type.size(), &bits, type.size());
    }
    const ov::element::Type other = RandomType(type);
    return MakeInput(other, shape, other == type ? tensor.data() : nullptr, !wild_ && type == ov::element::f64);
  }

  Given RandomProbabilities() {
    type_ = OutputType::kBool;
    return RandomNumbers();
  }

  /// Probabilities, or the numbers of a draw that rejects.
  Given RandomNumbers() {
    // One for each where the shape is known to be of so many.
    ov::Shape shape(Below(2), 1);
    const ov::Tensor& of_shape = inputs_[0].tensor;
    const bool wide = Coin();
    if (Coin() && IsShape(of_shape)) {
      const ov::Shape wanted = ShapeIn(of_shape);
      const bool fits = std::all_of(wanted.begin(), wanted.end(), [](std::size_t d) { return d <= kMostEach; });
      if (fits && wanted.size() <= 8 && ov::shape_size(wanted) <= kMostEach) shape = wanted;
    }
    if (Wrong(15)) shape.assign(Below(4), Below(4));
    if (Wrong(15)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ov::shape_size(shape));
    for (double& number : numbers) {
      number = Chance(8) ? static_cast<double>(Below(2)) : std::ldexp(static_cast<double>(Below(1025)), -10);
      if (wide) number /= 3;
    }
    if (op_ != &kRandomBernoulli) {
      for (double& number : numbers) number = number * 30 + 0x1p-10;
    }
    if (Wrong(6) && !numbers.empty()) numbers[Below(numbers.size())] = Coin() ? -0.25 : std::nan("");
    return FloatsInput(wide ? ov::element::f64 : ov::element::f32, shape, numbers);
  }

  /// Finite numbers. The output has their type.
  Given RandomData() {
    static const ov::element::Type types[] = {ov::element::f16, ov::element::bf16, ov::element::f32, ov::element::f64};
    ov::Shape shape(Below(Chance(8) ? 9 : 4), 0);
    for (std::size_t& dimension : shape) dimension = Below(shape.size() > 3 ? 4 : 30);
    if (Wrong(20)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ov::shape_size(shape));
    for (double& number : numbers) number = std::ldexp(static_cast<double>(Below(60001)) - 30000, static_cast<int>(Below(20)) - 18);
    const ov::element::Type type = types[Below(4)];
    const Given given = FloatsInput(type, shape, numbers);
    const ov::element::Type declared = given.source.get_element_type();
    for (const NamedType& named : kTypes) {
      if (FormatOf(ElementTypeOf(named.type)) != nullptr && OpenVinoType(named.type) == declared) type_ = named.type;
    }
    return given;
  }

  Given RandomRatio() {
    ov::Shape shape(Below(2), 1);
    if (Wrong(15)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ov::shape_size(shape), std::ldexp(static_cast<double>(Below(1025)), -10));
    if (Wrong(6) && !numbers.empty()) numbers[0] = Coin() ? 1.25 : std::nan("");
    return FloatsInput(Coin() ? ov::element::f64 : ov::element::f32, shape, numbers);
  }

  Given RandomLogits(std::int64_t sample_size, bool is_once) {
    static const ov::element::Type types[] = {ov::element::f16, ov::element::f32, ov::element::f64};
    const std::size_t batch = sample_size > 900 ? 1 : Below(5);
    ov::Shape shape{batch, (batch > 0 ? 1 : 0) + Below(Coin() ? 4 : 60)};
    const std::size_t least = is_once && sample_size > 0 && sample_size < 1000 ? static_cast<std::size_t>(sample_size) : 1;
    if (is_once && !Wrong(10)) shape[1] = std::max(shape[1], least);
    if (Wrong(20)) shape[1] = 0;
    if (Wrong(20)) shape.assign(Below(4), 1 + Below(3));
    if (Wrong(40)) shape.assign(Below(kMostDimensions + 1), 1 + Below(2));
    std::vector<double> numbers(ov::shape_size(shape));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::ldexp(static_cast<double>(Below(20001)) - 10000, -11);
      // Each row keeps a number, or as many as are drawn.
      const std::size_t kept = Wrong(10) ? 1 : least;
      if (!shape.empty() && i % shape.back() >= kept && Chance(5)) numbers[i] = -std::numeric_limits<double>::infinity();
    }
    if (Wrong(5) && !numbers.empty()) {
      if (Coin()) {
        numbers[Below(numbers.size())] = Coin() ? std::nan("") : std::numeric_limits<double>::infinity();
      } else {
        numbers.assign(numbers.size(), -std::numeric_limits<double>::infinity());
      }
    }
    return FloatsInput(types[Below(op_ == &kRandomToken ? 2 : 3)], shape, numbers);
  }

  /// One number, one for each row of the logits, or none.
  Given RandomOfRows(const InputDeclaration& declared) {
    const ov::Shape& logits = inputs_[0].tensor.get_shape();
    ov::Shape shape(Below(2), Below(8) == 0 ? 0 : 1);
    if (Coin() && !logits.empty()) shape = {logits[0]};
    if (Wrong(15)) shape.assign(Below(4), Below(4));
    const std::size_t count = ov::shape_size(shape);
    if (declared.types.type[0] == ElementType::kI64) {
      std::vector<std::int64_t> numbers(count);
      for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(Chance(4) ? INT32_MAX : Below(9));
      if (Wrong(6) && count > 0) numbers[Below(count)] = -1;
      return MakeInput(ov::element::i64, shape, numbers.data(), false);
    }
    std::vector<double> numbers(count);
    for (double& number : numbers) number = std::ldexp(static_cast<double>(1 + Below(1024)), -10);
    if (Wrong(6) && count > 0) numbers[Below(count)] = Coin() ? -0.25 : std::nan("");
    return FloatsInput(ov::element::f32, shape, numbers);
  }

  /// Whether a tensor is dimensions, and those.
  static bool IsShape(const ov::Tensor& tensor) {
    const ov::element::Type type = tensor.get_element_type();
    if (tensor.get_size() == 0) return tensor.get_shape().size() == 1;
    if ((type != ov::element::i64 && type != ov::element::i32) || tensor.get_shape().size() > 1) return false;
    for (std::size_t i = 0; i < tensor.get_size(); ++i) {
      if (IntegerAt(ElementTypeOf(type), tensor.data(), i) < 0) return false;
    }
    return true;
  }
  static ov::Shape ShapeIn(const ov::Tensor& tensor) {
    ov::Shape shape;
    for (std::size_t i = 0; i < tensor.get_size() && !tensor.get_shape().empty(); ++i) {
      const ElementType type = ElementTypeOf(tensor.get_element_type());
      shape.push_back(static_cast<std::size_t>(IntegerAt(type, tensor.data(), i)));
    }
    return shape;
  }

  void Expect(bool holds, const char* what) {
    if (!holds && compared_) Fail("drawn all the same", what);
  }

  /// The bits of a bound, mean or scale in the output type.
  std::uint64_t NumberOf(std::size_t input) {
    const ov::Tensor& tensor = inputs_[input].tensor;
    Expect(tensor.get_size() == 1 && tensor.get_shape().size() < 2, "a bound that is not one number");
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.data(), std::min<std::size_t>(tensor.get_byte_size(), 8));
    const ElementType declared = ElementTypeOf(type_), type = ElementTypeOf(tensor.get_element_type());
    if (type == declared) return bits;
    if (type == ElementType::kF32 && FormatOf(declared) != nullptr) {
      return ConvertFloat(bits, kF32Format, *FormatOf(declared));
    }
    Expect(false, "a bound of another type");
    return bits;
  }

  void Evaluate(const RandomOp& node, const GivenAttributes& given) {
    ov::TensorVector tensors;
    for (const Given& input : inputs_) tensors.push_back(input.tensor);
    ov::element::Type type = OpenVinoType(type_);
    // What devices may ask for instead.
    const bool may_convert = type == ov::element::f16 || type == ov::element::bf16 || type == ov::element::f32;
    if (may_convert && Chance(4)) type = Coin() ? ov::element::f32 : ov::element::f16;
    if (type == ov::element::u32 && Chance(4)) type = ov::element::i32;
    if (type == ov::element::boolean && Coin()) type = ov::element::u8;
    type = RandomType(type);
    const bool has_next = !Chance(8);
    ov::TensorVector outputs{ov::Tensor(type, ov::Shape{0})};
    const ov::PartialShape& known = node.get_output_partial_shape(0);
    // Not of a dimension beside a 0, or beside one that only a run shows: it may be anything.
    double size = known.is_static() ? 1 : 0;
    for (const std::size_t dimension : known.is_static() ? known.to_shape() : ov::Shape()) size *= static_cast<double>(dimension);
    const bool has_elements = size > 0 && size <= kMostElements;
    // A region keeps its size, which logits of another shape than the declared one would change.
    if (has_elements && compared_ && known.size() > 0 && known.size() < 4 && Chance(4)) {
      outputs[0] = Region(type, known.to_shape());
    } else if (known.is_static() && size <= kMostElements && Coin()) {
      outputs[0] = ov::Tensor(type, known.to_shape());
    }
    if (op_->has_mask() && (has_next || Coin())) {
      outputs.emplace_back(Coin() ? ov::element::boolean : ov::element::u8, ov::Shape{0});
    }
    if (has_next) outputs.emplace_back(ov::element::u32, Coin() ? ov::Shape{6} : ov::Shape{0});
    if (!node.evaluate(outputs, tensors)) Fail("evaluate", "it returned false");
    if (compared_) Compare(given, outputs);
  }

  /// A part of a larger tensor: its rows do not lie next to each other.
  ov::Tensor Region(ov::element::Type type, const ov::Shape& shape) {
    ov::Shape whole = shape;
    ov::Coordinate begin(shape.size(), 1), end(shape);
    for (std::size_t& dimension : whole) dimension += 2;
    for (std::size_t& last : end) last += 1;
    // Regions of types below a byte do not exist.
    if (type.bitwidth() < 8) return ov::Tensor(type, shape);
    return ov::Tensor(ov::Tensor(type, whole), begin, end);
  }

  /// What the node should have drawn, by the inputs' values and the core's plain C++ kernels.
  void Compare(const GivenAttributes& given, ov::TensorVector& outputs) {
    const std::size_t most = static_cast<std::size_t>(op_->inputs);
    const bool may_lack_one = op_->input[op_->inputs - 1].optional;
    // All of RandomToken's but the logits may be left out.
    const std::size_t least = op_ == &kRandomToken ? 1 : most - (may_lack_one ? 1 : 0);
    Expect(inputs_.size() <= most && inputs_.size() >= least, "another number of inputs");

    const bool is_default = given[AttributeRole::kSampleSize].kind == GivenAttribute::Kind::kMissing;
    const std::int64_t sample_size = is_default ? 1 : given[AttributeRole::kSampleSize].integer;
    ov::Shape shape;
    if (const ov::Tensor* const logits = TensorOf(Role::kLogits)) {
      Expect(sample_size >= 1, "no samples");
      Expect(logits->get_shape().size() == 2, "logits of another rank");
      shape = {logits->get_shape()[0], static_cast<std::size_t>(sample_size)};
    } else if (const ov::Tensor* const data = TensorOf(Role::kData)) {
      shape = data->get_shape();
    } else {
      // Nobody reads a tensor whose declared length of 0 says all.
      const ov::Tensor& of_shape = *TensorOf(Role::kShape);
      Expect(IsShape(of_shape), "a shape that is none");
      shape = ShapeIn(of_shape);
    }
    Expect(shape.size() <= 8, "too many dimensions");
    Expect(outputs[0].get_shape() == shape, "an output of another shape");

    const std::size_t words_of_state = is_torch_s_ ? kTorchStateWords : kStateWords;
    std::vector<std::uint32_t> words(words_of_state);
    std::size_t rows = 1;
    ov::Shape state_shape{words_of_state};
    if (const ov::Tensor* const tensor = TensorOf(Role::kState)) {
      state_shape = tensor->get_shape();
      rows = state_shape.size() == 2 ? state_shape[0] : 1;
      words.resize(rows * words_of_state);
      Expect(rows == 1 || (!shape.empty() && shape[0] == rows), "states for other rows");
      Expect(rows == 1 || shape.size() == 2 || !op_->draws_rows, "states for one row");
      Expect(tensor->get_byte_size() == words.size() * sizeof words[0], "a state of other words");
      if (rows > 0) std::memcpy(words.data(), tensor->data(), tensor->get_byte_size());
      Expect(!state_shape.empty() && state_shape.back() == words_of_state && state_shape.size() <= 8, "a state of another shape");
    }
    Expect(given[AttributeRole::kGlobalSeed].integer >= 0 && given[AttributeRole::kOpSeed].integer >= 0, "a negative seed");
    const std::size_t elements = ov::shape_size(shape);
    std::vector<std::uint64_t> expected((elements * ElementSize(type_) + 7) / 8 + 1);
    const State state = rows == 1 ? StateFromWords(words.data()) : State{};
    Draw draw = DrawThatIsRight(shape, sample_size, IsOnce(given));
    if (rows > 1) draw.rows = Rows{words.data(), elements / rows};
    draw.state = Derive(state, given[AttributeRole::kGlobalSeed].integer, given[AttributeRole::kOpSeed].integer);
    draw.out = expected.data();
    std::vector<unsigned char> mask(elements);
    if (op_->has_mask()) draw.mask = mask.data();
    if (is_torch_s_) {
      DrawRightTorch(given, draw, rows, elements, &words);
    } else if (elements > 0) {
      Fill(*SelectKernels("scalar").kernels, draw, 0, elements);
    }
    if (!IsSame(expected.data(), outputs[0], elements)) Fail(std::string("wrong values of ") + op_->name, outputs[0].get_element_type().to_string());
    if (op_->has_mask() && outputs.size() > 1) {
      const bool is_right = outputs[1].get_shape() == shape &&
                            (elements == 0 || std::memcmp(outputs[1].data(), mask.data(), elements) == 0);
      if (!is_right) Fail("a wrong mask", "");
    }
    const std::size_t last = static_cast<std::size_t>(op_->state_output());
    if (outputs.size() <= last) return;
    for (std::size_t row = 0; row < rows && !is_torch_s_; ++row) {
      const State next = NextState(draw, StateFromWords(&words[row * kStateWords]), elements / rows);
      StateToWords(next, &words[row * kStateWords]);
    }
    const std::size_t bytes = words.size() * sizeof words[0];
    const bool same = outputs[last].get_shape() == state_shape &&
                      (rows == 0 || std::memcmp(outputs[last].data(), words.data(), bytes) == 0);
    if (!same) Fail("a wrong next state", "");
  }

  /// What torch draws; the states become the next ones.
  void DrawRightTorch(const GivenAttributes& given, const Draw& draw, std::size_t rows, std::size_t elements,
                      std::vector<std::uint32_t>* states) {
    const bool has_state = TensorOf(Role::kState) != nullptr;
    onnx_philox::Attributes attributes;
    attributes.is_pytorch = true;
    attributes.global_seed = given[AttributeRole::kGlobalSeed].integer;
    Expect(given[AttributeRole::kOpSeed].integer == 0, "an op_seed");
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
  Draw DrawThatIsRight(const ov::Shape& shape, std::int64_t sample_size, bool is_once) {
    if (op_ == &kRandomGenerator) return UniformDraw({}, type_, {}, nullptr);
    if (op_ == &kRandomUniform) {
      const Bounds bounds{NumberOf(1), NumberOf(2)};
      Expect(RangeProblemOf(type_, bounds) == RangeProblem::kNone, "bounds that are no range");
      return UniformDraw({}, type_, bounds, nullptr);
    }
    if (op_ == &kRandomNormal) {
      const Affine affine{NumberOf(1), NumberOf(2)};
      const FloatFormat format = *FormatOf(ElementTypeOf(type_));
      const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(format)) << format.mantissa_bits;
      const bool finite = (affine.mean & infinity) != infinity && (affine.scale & infinity) != infinity;
      Expect(finite, "a mean or scale that is not finite");
      return NormalDraw({}, type_, affine, nullptr);
    }
    if (op_ == &kRandomExponential) {
      const std::uint64_t scale = NumberOf(1);
      const FloatFormat format = *FormatOf(ElementTypeOf(type_));
      const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(format)) << format.mantissa_bits;
      Expect(scale > 0 && scale < infinity, "a scale that is not above 0 and finite");
      return ExponentialDraw({}, type_, scale, nullptr);
    }
    if (op_ == &kRandomPermutation) {
      Expect(shape.size() == 1 || shape.size() == 2, "no rows");
      Expect(type_ == OutputType::kI64 || shape.back() <= std::size_t{1} << 31, "indices past i32");
      return PermutationDraw({}, type_, shape.back(), nullptr);
    }
    if (op_ == &kRandomDropout) {
      const ov::Tensor& data = inputs_[0].tensor;
      const ov::Tensor& ratio = inputs_[1].tensor;
      const ElementType arrived = ElementTypeOf(data.get_element_type()), declared = ElementTypeOf(type_);
      const bool is_kept = arrived == declared || arrived == ElementType::kF32;
      Expect(is_kept || data.get_size() == 0, "data of another type");
      Expect(ratio.get_size() == 1 && ratio.get_shape().size() < 2, "a ratio that is not one number");
      const Numbers share = NumbersOf(ratio);
      Expect(share.type != OutputType::kF16, "a ratio of another type");
      const double p = NumberAt(ratio, 0);
      Expect(p >= 0 && p <= 1, "no ratio");
      const void* numbers = data.data();
      if (arrived != declared && data.get_size() > 0) {
        memory_.emplace_back(data.get_size() * ElementSize(type_));
        ConvertFloats(numbers, arrived, memory_.back().data(), declared, data.get_size());
        numbers = memory_.back().data();
      }
      return DropoutDraw({}, {type_, numbers}, share, nullptr, nullptr);
    }
    if (op_ == &kRandomToken) return TokenThatIsRight();
    const bool is_bernoulli = op_ == &kRandomBernoulli, is_gamma = op_ == &kRandomGamma;
    const bool is_numbers = is_bernoulli || is_gamma || op_ == &kRandomPoisson;
    const ov::Tensor& tensor = *TensorOf(is_numbers ? Role::kNumbers : Role::kLogits);
    const Numbers numbers = NumbersOf(tensor);
    if (is_numbers) {
      const bool is_one = tensor.get_shape().empty() || tensor.get_shape() == ov::Shape{1};
      Expect(is_one || tensor.get_shape() == shape, "probabilities of another shape");
      Expect(numbers.type != OutputType::kF16, "probabilities of another type");
      for (std::size_t i = 0; i < tensor.get_size(); ++i) {
        const double p = NumberAt(tensor, i);
        const double most = is_bernoulli ? 1 : is_gamma ? 0x1p50 : 0x1p30;
        Expect(p >= 0 && p <= most && (p > 0 || !is_gamma), "a number that is not allowed");
      }
      if (!is_bernoulli) {
        const Distribution distribution = op_->distribution;
        return RejectingDraw({}, distribution, type_, numbers, !is_one, nullptr);
      }
      return BernoulliDraw({}, Probabilities{numbers, !is_one}, nullptr);
    }
    const std::size_t rows = tensor.get_shape()[0], classes = tensor.get_shape()[1];
    Expect(rows == 0 || classes > 0, "no classes");
    for (std::size_t row = 0; row < rows; ++row) {
      double largest = -std::numeric_limits<double>::infinity();
      std::int64_t finite = 0;
      for (std::size_t i = 0; i < classes; ++i) {
        const double x = NumberAt(tensor, row * classes + i);
        Expect(x < std::numeric_limits<double>::infinity(), "a logit that is none");
        largest = std::max(largest, x);
        finite += x > -std::numeric_limits<double>::infinity() ? 1 : 0;
      }
      Expect(!is_once || finite >= sample_size, "fewer classes than samples");
      Expect(largest > -std::numeric_limits<double>::infinity(), "a row of nothing");
    }
    return CategoricalDraw({}, type_, Logits{numbers, classes, static_cast<std::uint64_t>(sample_size), is_once}, nullptr);
  }

  Draw TokenThatIsRight() {
    const ov::Tensor& logits = inputs_[0].tensor;
    const std::size_t rows = logits.get_shape()[0], classes = logits.get_shape()[1];
    const Numbers numbers = NumbersOf(logits);
    Expect(numbers.type != OutputType::kF64 || logits.get_size() == 0, "logits of f64");
    Expect(rows == 0 || classes > 0, "no classes");
    for (std::size_t row = 0; row < rows; ++row) {
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < classes; ++i) {
        const double x = NumberAt(logits, row * classes + i);
        Expect(x < std::numeric_limits<double>::infinity(), "a logit that is none");
        largest = std::max(largest, x);
      }
      Expect(largest > -std::numeric_limits<double>::infinity(), "a row of nothing");
    }
    Draw draw = CategoricalDraw({}, type_, Logits{numbers, classes, 1}, nullptr);
    draw.distribution = Distribution::kToken;
    for (int i = 1; i < op_->inputs && static_cast<std::size_t>(i) < inputs_.size(); ++i) {
      const InputDeclaration& declared = op_->input[i];
      const ov::Tensor& tensor = inputs_[static_cast<std::size_t>(i)].tensor;
      if (declared.role != Role::kRowNumbers || tensor.get_size() == 0) continue;
      const ov::Shape& shape = tensor.get_shape();
      Expect(tensor.get_size() == 1 ? shape.size() < 2 : shape == ov::Shape{rows}, "numbers for other rows");
      const bool is_integer = declared.types.type[0] == ElementType::kI64;
      std::vector<unsigned char> all(rows * (is_integer ? 8 : 4));
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t at = tensor.get_size() == 1 ? 0 : row;
        if (is_integer) {
          const std::int64_t number = IntegerAt(ElementTypeOf(tensor.get_element_type()), tensor.data(), at);
          Expect(number >= 0, "a negative top_k");
          std::memcpy(all.data() + row * 8, &number, 8);
        } else {
          const float number = static_cast<float>(NumberAt(tensor, at));
          Expect(number >= 0 && number < std::numeric_limits<float>::infinity(), "a number that is not allowed");
          std::memcpy(all.data() + row * 4, &number, 4);
        }
      }
      if (rows == 0) continue;
      memory_.push_back(std::move(all));
      draw[declared.parameter] = Argument{is_integer ? OutputType::kI64 : OutputType::kF32, 0, memory_.back().data()};
    }
    return draw;
  }

  Numbers NumbersOf(const ov::Tensor& tensor) {
    const ov::element::Type type = tensor.get_element_type();
    const bool is_bf16 = type == ov::element::bf16 && op_ == &kRandomToken;
    const bool is_float = is_bf16 || type == ov::element::f16 || type == ov::element::f32 || type == ov::element::f64;
    // A tensor without elements may arrive in any type.
    Expect(is_float || tensor.get_size() == 0, "numbers of another type");
    const OutputType known = is_bf16                    ? OutputType::kBF16
                             : type == ov::element::f16 ? OutputType::kF16
                             : type == ov::element::f64 ? OutputType::kF64
                                                        : OutputType::kF32;
    return {known, tensor.data()};
  }

  static double NumberAt(const ov::Tensor& tensor, std::size_t i) {
    const std::size_t size = tensor.get_element_type().size();
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const unsigned char*>(tensor.data()) + i * size, size);
    bits = ConvertFloat(bits, *FormatOf(ElementTypeOf(tensor.get_element_type())), kF64Format);
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }

  static bool IsNan(std::uint64_t bits, FloatFormat format) {
    const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(format)) << format.mantissa_bits;
    const std::uint64_t sign = std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
    return (bits & (sign - 1)) > infinity;
  }
  bool IsSame(const void* expected, const ov::Tensor& tensor, std::size_t elements) {
    ov::Tensor given = tensor;
    if (!IsContiguous(tensor)) {
      given = ov::Tensor(tensor.get_element_type(), tensor.get_shape());
      tensor.copy_to(given);
    }
    const std::size_t from = ElementSize(type_), to = given.get_element_type().size();
    const FloatFormat* const a = FormatOf(ElementTypeOf(type_));
    const FloatFormat* const b = FormatOf(ElementTypeOf(given.get_element_type()));
    const bool convert = a != b && a != nullptr && b != nullptr;
    if (!convert && from != to) return false;
    for (std::size_t i = 0; i < elements; ++i) {
      std::uint64_t wanted = 0, found = 0;
      std::memcpy(&wanted, static_cast<const unsigned char*>(expected) + i * from, from);
      std::memcpy(&found, static_cast<const unsigned char*>(given.data()) + i * to, to);
      if (convert) wanted = ConvertFloat(wanted, *a, *b);
      // No conversion promises the payload of a NaN.
      if (wanted != found && !(convert && IsNan(wanted, *b) && IsNan(found, *b))) return false;
    }
    return true;
  }

  bool is_torch_s_ = false;  // the numbers that the node draws
  check::Random random_;
  static constexpr int kNone = -1;
  const Operator* op_ = nullptr;
  bool wild_ = false, compared_ = true;
  OutputType type_ = OutputType::kBits;
  std::vector<Given> inputs_;
  std::deque<std::vector<unsigned char>> memory_;
};

}  // namespace

void Fuzz(double seconds, std::uint64_t seed) {
  Fuzzer fuzzer{check::Random(seed)};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) fuzzer.Step();
  std::printf("random nodes from seed %llu: %lu drawn, %lu refused, %lu with altered attributes evaluated\n",
              static_cast<unsigned long long>(seed), fuzzer.drawn, fuzzer.refused, fuzzer.survived);
  if (fuzzer.drawn < 20 || fuzzer.refused < 20) {
    std::fprintf(stderr, "FAILED: too few random nodes of one kind\n");
    std::exit(1);
  }
}

#ifdef ONNX_PHILOX_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Fuzzer(check::Random(data, size)).Step();
  return 0;
}
#endif
