// Random nodes.
//
// A node is built of constants, of constant subgraphs and of parameters; validated, perhaps cloned, taken through the
// attributes of IR, or given the constants that the CPU plugin makes of its own; then evaluated.
#include "program.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "fill_tensor.h"
#include "kernels.h"
#include "number_formats.h"
#include "openvino/core/attribute_visitor.hpp"
#include "openvino/core/except.hpp"
#include "openvino/op/concat.hpp"
#include "openvino/op/convert.hpp"
#include "openvino_types.h"
#include "random_nodes.h"

namespace {

using namespace onnx_philox;
using ov::op::v0::Constant;

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

/// Of each of the core's types; of strings and of what only errors name, some type that no operator takes.
ov::element::Type TypeOf(ElementType type) {
  using namespace ov::element;
  static const ov::element::Type types[] = {dynamic, u32, i32, i64, f16, bf16, f32, f64, boolean, i8, u8, i16, u16, u64, f8e4m3, i4};
  return types[static_cast<int>(type)];
}

/// What a node is given for one input, and what it should read there.
struct Given {
  ov::Output<ov::Node> source;
  ov::Tensor tensor;  // at run
  bool is_constant = false;
};

class Fuzzer {
 public:
  explicit Fuzzer(check::Random random) : node_(random, true) {}

  void Step() {
    memory_.clear();
    compared_ = true;
    std::string error;
    try {
      Try();
      ++(compared_ ? drawn : survived);
      return;
    } catch (const ov::Exception& caught) {
      error = caught.what();
    } catch (const std::logic_error& caught) {
      Fail("drawn all the same", caught.what());
    } catch (const std::exception& caught) {
      Fail("an exception that is not OpenVINO's", caught.what());
    }
    ++refused;
    if (!random_nodes::IsWhole(*node_.op, error)) Fail("an error without its four parts", error);
    if (!node_.is_wild) Fail("a node with nothing wrong is refused", error);
  }

  unsigned long drawn = 0, survived = 0, refused = 0;

 private:
  [[noreturn]] void Fail(const std::string& what, const std::string& more) {
    std::fprintf(stderr, "FAILED: %s: %s\n", what.c_str(), more.c_str());
    std::exit(1);
  }

  void Try() {
    node_.Make();
    if (node_.Wrong(40)) node_.inputs.push_back(node_.RandomState());
    inputs_.clear();
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) inputs_.push_back(MakeInput(node_.inputs[i], RoleOf(i)));
    std::shared_ptr<RandomOp> node = MakeNode();
    node->SetAttributes(node_.given);
    node->set_arguments(Sources());
    node->constructor_validate_and_infer_types();
    if (node_.Chance(4)) node = Cloned(*node);
    if (node_.Chance(4)) node = ThroughAttributes(*node);
    if (node_.Chance(4)) node = Narrowed(*node);
    if (node_.Chance(4)) node->validate_and_infer_types();
    Evaluate(*node);
  }

  /// One that is one too many is a state.
  Role RoleOf(std::size_t i) const { return i < static_cast<std::size_t>(node_.op->inputs) ? node_.op->input[i].role : Role::kState; }

  template <std::size_t... index>
  std::shared_ptr<RandomOp> MakeNodeOf(std::index_sequence<index...>) const {
    std::shared_ptr<RandomOp> node;
    const auto make = [&](const Operator* op, const auto& made) {
      if (op == node_.op) node = made();
    };
    (make(kAllOperators[index], [] { return std::make_shared<NodeOf<*kAllOperators[index]>>(); }), ...);
    return node;
  }
  std::shared_ptr<RandomOp> MakeNode() const { return MakeNodeOf(std::make_index_sequence<kOperators>()); }

  ov::OutputVector Sources() const {
    ov::OutputVector sources;
    for (const Given& input : inputs_) sources.push_back(input.source);
    return sources;
  }

  /// The same, with the state that a node of torch's numbers made of its seed.
  ov::OutputVector SourcesOf(const ov::Node& node) const {
    return node_.is_torch_s && node.get_input_size() > inputs_.size() ? node.input_values() : Sources();
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
    if (node_.Wrong(2)) {
      compared_ = false;  // what a wrong text that can be read means is not said anywhere
      for (auto& [name, text] : written.texts) {
        if (node_.Coin()) text = Mangled(text);
      }
      for (auto& [name, integer] : written.integers) {
        if (node_.Chance(8)) integer = static_cast<std::int64_t>(node_.Any());
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
    for (std::uint64_t edits = 1 + node_.Below(4); edits > 0; --edits) {
      const std::size_t at = node_.Below(text.size() + 1);
      const char letter = letters[node_.Below(sizeof letters - 1)];
      if (node_.Coin() && at < text.size()) {
        text[at] = letter;
      } else if (node_.Coin()) {
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
      if (constant == nullptr || static_cast<int>(i) == IndexOf(*node_.op, Role::kShape)) continue;
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

  /// A tensor in memory of its own, which is not always aligned: that of a constant out of a file is not.
  ov::Tensor MakeTensor(ov::element::Type type, const ov::Shape& shape, const void* data, bool aligned = true) {
    const std::size_t bytes = std::max<std::size_t>(ov::Tensor(type, shape).get_byte_size(), 1);
    memory_.emplace_back(bytes + 16);
    unsigned char* const begin = memory_.back().data() + (aligned ? 0 : 1 + node_.Below(15));
    if (data != nullptr && ov::shape_size(shape) > 0) std::memcpy(begin, data, bytes);
    return ov::Tensor(type, shape, begin);
  }

  ov::Tensor MakeTensor(const random_nodes::Tensor& tensor, bool aligned = true) {
    return MakeTensor(TypeOf(tensor.type), tensor.shape, tensor.bytes.data(), aligned);
  }

  /// A constant, a constant subgraph, or a parameter.
  Given MakeInput(const random_nodes::Tensor& input, Role role) {
    Given given;
    const ov::element::Type type = TypeOf(input.type);
    const ov::Shape shape = input.shape;
    // A parameter of rank 0 is no shape, and the plugin rounds the numbers of wide ones.
    const bool is_wide = role != Role::kState && role != Role::kShape &&
                         (type == ov::element::f64 || (type == ov::element::i64 && role == Role::kNumber));
    given.is_constant = (role == Role::kShape && shape.empty()) || (is_wide && !node_.is_wild) || node_.Coin();
    if (given.is_constant) {
      given.tensor = MakeTensor(input, node_.Coin() || type.bitwidth() < 8);
      const auto constant = std::make_shared<Constant>(given.tensor);
      given.source = constant;
      if (shape.size() == 1 && shape[0] > 1 && type.bitwidth() >= 8 && node_.Chance(6)) {
        given.source = InTwoParts(given.tensor);
      } else if (type == ov::element::u32 && node_.Chance(6)) {
        std::vector<std::int64_t> wide = constant->cast_vector<std::int64_t>();
        const auto source = std::make_shared<Constant>(ov::element::i64, shape, wide);
        given.source = std::make_shared<ov::op::v0::Convert>(source, type);
      }
      return given;
    }
    given.tensor = MakeTensor(input);
    ov::PartialShape partial(shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (node_.Chance(3)) partial[static_cast<std::ptrdiff_t>(i)] = ov::Dimension::dynamic();
    }
    // A declared length of 1 is a rank-0 tensor's too, and the plugin needs the rank of `shape`.
    if (node_.Chance(8)) partial = ov::PartialShape::dynamic();
    given.source = std::make_shared<ov::op::v0::Parameter>(type, partial);
    if (node_.Wrong(20)) {
      ov::Shape other = shape;
      if (!other.empty() && node_.Coin()) other[static_cast<std::ptrdiff_t>(node_.Below(other.size()))] = node_.Below(9);
      if (node_.Coin()) other.insert(other.begin(), node_.Below(3));
      random_nodes::Tensor at_run = node_.Make(node_.RandomType(input.type), other, nullptr);
      // Random dimensions could ask for more than the machine has time for.
      if (role == Role::kShape) std::fill(at_run.bytes.begin(), at_run.bytes.end(), static_cast<unsigned char>(0));
      given.tensor = MakeTensor(at_run);
      // No runtime hands over another shape than the declared one, and nobody reads it where that says all.
      if (!partial.compatible(other)) compared_ = false;
    } else if (type == ov::element::u32 && node_.Chance(3)) {
      given.tensor = ov::Tensor(ov::element::i32, shape, given.tensor.data());  // as the plugin hands it over
    } else if (role == Role::kNumber && input.size() == 1 && node_.Chance(3) &&
               (type == ov::element::f16 || type == ov::element::bf16)) {
      const std::uint64_t wide = ConvertFloat(input.bits(0), *FormatOf(input.type), kF32Format);  // likewise
      given.tensor = MakeTensor(ov::element::f32, shape, &wide);
    }
    return given;
  }

  ov::Output<ov::Node> InTwoParts(const ov::Tensor& tensor) {
    const std::size_t length = tensor.get_shape()[0], first = 1 + node_.Below(length - 1);
    const std::size_t size = tensor.get_element_type().size();
    const unsigned char* const data = static_cast<const unsigned char*>(tensor.data());
    const ov::OutputVector parts = {
        std::make_shared<Constant>(MakeTensor(tensor.get_element_type(), {first}, data, false)),
        std::make_shared<Constant>(MakeTensor(tensor.get_element_type(), {length - first}, data + first * size, false))};
    return std::make_shared<ov::op::v0::Concat>(parts, 0);
  }

  void Evaluate(const RandomOp& node) {
    ov::TensorVector tensors;
    for (const Given& input : inputs_) tensors.push_back(input.tensor);
    ov::element::Type type = OpenVinoType(node_.type);
    // What devices may ask for instead.
    const bool may_convert = type == ov::element::f16 || type == ov::element::bf16 || type == ov::element::f32;
    if (may_convert && node_.Chance(4)) type = node_.Coin() ? ov::element::f32 : ov::element::f16;
    if (type == ov::element::u32 && node_.Chance(4)) type = ov::element::i32;
    if (type == ov::element::boolean && node_.Coin()) type = ov::element::u8;
    if (const ElementType usual = ElementTypeOf(type), other = node_.RandomType(usual); other != usual) type = TypeOf(other);
    const bool has_next = !node_.Chance(8);
    ov::TensorVector outputs{ov::Tensor(type, ov::Shape{0})};
    const ov::PartialShape& known = node.get_output_partial_shape(0);
    // Not of a dimension beside a 0, or beside one that only a run shows: it may be anything.
    double size = known.is_static() ? 1 : 0;
    for (const std::size_t dimension : known.is_static() ? known.to_shape() : ov::Shape()) size *= static_cast<double>(dimension);
    const bool has_elements = size > 0 && size <= random_nodes::kMostElements;
    // A region keeps its size, which logits of another shape than the declared one would change.
    if (has_elements && compared_ && known.size() > 0 && known.size() < 4 && node_.Chance(4)) {
      outputs[0] = Region(type, known.to_shape());
    } else if (known.is_static() && size <= random_nodes::kMostElements && node_.Coin()) {
      outputs[0] = ov::Tensor(type, known.to_shape());
    }
    const bool has_mask = node_.op->has_mask();
    if (has_mask && (has_next || node_.Coin())) {
      outputs.emplace_back(node_.Coin() ? ov::element::boolean : ov::element::u8, ov::Shape{0});
    }
    if (has_next) outputs.emplace_back(ov::element::u32, node_.Coin() ? ov::Shape{6} : ov::Shape{0});
    if (!node.evaluate(outputs, tensors)) Fail("evaluate", "it returned false");
    if (compared_) Compare(outputs);
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

  /// What the node should have drawn, by the inputs' values as they arrived.
  void Compare(const ov::TensorVector& outputs) {
    std::vector<random_nodes::Tensor> arrived;
    for (const Given& input : inputs_) {
      const ElementType type = ElementTypeOf(input.tensor.get_element_type());
      arrived.push_back(node_.Make(type, input.tensor.get_shape(), type == ElementType::kOther ? nullptr : input.tensor.data()));
    }
    const random_nodes::Drawn right = random_nodes::Oracle(*node_.op, node_.given, node_.type, arrived, true).Right();
    const std::size_t elements = random_nodes::ElementsOf(right.shape);
    if (outputs[0].get_shape() != right.shape) Fail("an output of another shape", "");
    if (!IsSame(right.values.data(), outputs[0], elements)) {
      Fail(std::string("wrong values of ") + node_.op->name, outputs[0].get_element_type().to_string());
    }
    const auto is = [](const ov::Tensor& output, const ov::Shape& shape, const void* data) {
      return output.get_shape() == shape && (output.get_size() == 0 || std::memcmp(output.data(), data, output.get_byte_size()) == 0);
    };
    if (node_.op->has_mask() && outputs.size() > 1 && !is(outputs[1], right.shape, right.mask.data())) Fail("a wrong mask", "");
    const std::size_t last = static_cast<std::size_t>(node_.op->state_output());
    if (outputs.size() > last && !is(outputs[last], right.state_shape, right.next_states.data())) Fail("a wrong next state", "");
  }

  bool IsSame(const void* expected, const ov::Tensor& tensor, std::size_t elements) {
    ov::Tensor given = tensor;
    if (!IsContiguous(tensor)) {
      given = ov::Tensor(tensor.get_element_type(), tensor.get_shape());
      tensor.copy_to(given);
    }
    const ElementType type = ElementTypeOf(given.get_element_type());
    const std::size_t from = ElementSize(node_.type), to = given.get_element_type().size();
    const FloatFormat* const a = FormatOf(ElementTypeOf(node_.type));
    const FloatFormat* const b = FormatOf(type);
    const bool convert = a != b && a != nullptr && b != nullptr;
    if (!convert && from != to) return false;
    for (std::size_t i = 0; i < elements; ++i) {
      std::uint64_t wanted = 0, found = 0;
      std::memcpy(&wanted, static_cast<const unsigned char*>(expected) + i * from, from);
      std::memcpy(&found, static_cast<const unsigned char*>(given.data()) + i * to, to);
      if (convert) wanted = ConvertFloat(wanted, *a, *b);
      if (!random_nodes::AreSame(NumberType(type), wanted, found)) return false;
    }
    return true;
  }

  random_nodes::Node node_;
  bool compared_ = true;
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
