// Nodes that are exact: see exact_words.h.
#include "exact_words.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "openvino/core/model.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/logical_not.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/op/scatter_elements_update.hpp"
#include "openvino/op/scatter_nd_update.hpp"
#include "openvino/op/select.hpp"
#include "openvino/runtime/core.hpp"
#include "openvino/runtime/properties.hpp"
#include "plugin_names.h"
#include "text.h"

namespace onnx_philox {

namespace {

constexpr std::uint64_t kInt32Max = 0x7FFFFFFF;
/// f32 holds every integer up to this one.
constexpr std::uint64_t kF32Integers = std::uint64_t{1} << 24;

const ExactNode* ExactOf(const ov::Node& node) {
  const auto* const end = std::end(kExact);
  const auto* const found = std::find_if(std::begin(kExact), end, [&](const ExactNode& e) { return IsNode(node, e.name); });
  return found == end ? nullptr : found;
}

template <class Items, class Name>
std::string Joined(const Items& items, Name name) {
  std::string joined;
  for (const auto& item : items) joined += (joined.empty() ? "" : ", ") + std::string(name(item));
  return joined;
}

Alteration Otherwise(const std::string& given) {
  return {given, Worded(say::kExactNodes, {Joined(kExact, [](const ExactNode& e) { return e.name; })})};
}

/// The integers of a constant: the one furthest outside int32 if there is one, and the largest magnitude of all.
struct Integers {
  std::optional<std::string> furthest;
  std::uint64_t magnitude = 0;
};

template <class T>
Integers IntegersIn(const void* data, std::size_t count) {
  Integers integers;
  std::uint64_t furthest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T element;  // not always aligned in a file
    std::memcpy(&element, static_cast<const unsigned char*>(data) + i * sizeof element, sizeof element);
    const std::uint64_t bits = static_cast<std::uint64_t>(element);  // of a negative one sign-extended
    const bool is_negative = element < T{0};
    const std::uint64_t distance = is_negative ? ~bits : bits;
    integers.magnitude = std::max(integers.magnitude, distance + (is_negative ? 1 : 0));
    if (distance > kInt32Max && (!integers.furthest.has_value() || distance > furthest)) {
      integers.furthest = std::to_string(element);
      furthest = distance;
    }
  }
  return integers;
}

/// The integers of a constant of any size, or of a node computed from small constants; none if it is not constant.
std::optional<Integers> ConstantIntegers(const ov::Node& node, Upstream& upstream) {
  const auto* const constant = ov::as_type<const ov::op::v0::Constant>(&node);
  const ConstantValue value = constant == nullptr ? upstream.ValueOf(node) : ConstantValue{};
  if (constant == nullptr && !value) return {};
  const void* const data = constant == nullptr ? value.data : constant->get_data_ptr();
  const std::size_t count = ov::shape_size(node.get_output_shape(0));
  const ov::element::Type& type = node.get_output_element_type(0);
  if (type == ov::element::u64) return IntegersIn<std::uint64_t>(data, count);
  if (type == ov::element::i64) return IntegersIn<std::int64_t>(data, count);
  if (type == ov::element::u32) return IntegersIn<std::uint32_t>(data, count);
  if (type == ov::element::i32) return IntegersIn<std::int32_t>(data, count);
  return Integers{};
}

/// What a node that scatters also computes.
template <class Scatter>
std::optional<Alteration> Reduced(const ov::Node& node) {
  const auto* const scatter = ov::as_type<const Scatter>(&node);
  if (scatter == nullptr || scatter->get_reduction() == Scatter::Reduction::NONE) return {};
  return Otherwise(Worded(say::kComputedByWith, {node.get_type_name(), ov::as_string(scatter->get_reduction())}));
}

/// Whether the plugin chooses integers of a static shape exactly on this processor: it tries.
bool ChoosesExactly() {
  static const bool is_exact = [] {
    using ov::op::v0::Parameter;
    const auto condition = std::make_shared<Parameter>(ov::element::boolean, ov::Shape{1});
    const auto one = std::make_shared<Parameter>(ov::element::i32, ov::Shape{1});
    const auto other = std::make_shared<Parameter>(ov::element::i32, ov::Shape{1});
    const auto negated = std::make_shared<ov::op::v1::LogicalNot>(condition);
    const auto chosen = std::make_shared<ov::op::v1::Select>(negated, one, other);
    const auto model = std::make_shared<ov::Model>(ov::OutputVector{chosen}, ov::ParameterVector{condition, one, other});
    // f32 does not hold it.
    const std::int32_t odd = static_cast<std::int32_t>(kF32Integers) + 1;
    try {
      ov::Core core;
      auto request = core.compile_model(model, "CPU", ov::hint::inference_precision(ov::element::f32)).create_infer_request();
      ov::Tensor is_first(ov::element::boolean, ov::Shape{1});
      is_first.data<bool>()[0] = false;
      ov::Tensor word(ov::element::i32, ov::Shape{1});
      word.data<std::int32_t>()[0] = odd;
      request.set_input_tensor(0, is_first);
      request.set_input_tensor(1, word);
      request.set_input_tensor(2, word);
      request.infer();
      return request.get_output_tensor().data<std::int32_t>()[0] == odd;
    } catch (const ov::Exception&) {
      return true;  // There is no such device.
    }
  }();
  return is_exact;
}

std::optional<Alteration> ChosenInF32(const ov::Node& select, Upstream& upstream);

/// What is inexact in a node itself, whatever its inputs.
std::optional<Alteration> Inexact(const ov::Node& node, Upstream& upstream) {
  const std::string name = node.get_type_name();
  const ExactNode* const exact = ExactOf(node);
  if (exact == nullptr) return Otherwise(Worded(say::kComputedBy, {name}));
  const ov::element::Type& type = node.get_output_element_type(0);
  if (IsNode(node, "Convert")) {
    const ov::element::Type& source = node.get_input_element_type(0);
    if (!exact->types.Has(type) || !Types(kIntegers).Has(source)) {
      return Otherwise(Worded(say::kConvertedBy, {name, source.get_type_name(), type.get_type_name()}));
    }
  } else if (!exact->types.Has(type)) {
    return Otherwise(Worded(say::kComputedByOf, {name, type.get_type_name()}));
  }
  if (IsNode(node, "Select")) {
    if (auto chosen = ChosenInF32(node, upstream)) return chosen;
  }
  if (auto reduced = Reduced<ov::op::v12::ScatterElementsUpdate>(node)) return reduced;
  if (auto reduced = Reduced<ov::op::v15::ScatterNDUpdate>(node)) return reduced;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    if (exact->Role(i) != 'v') continue;
    const auto padding = ConstantIntegers(*node.get_input_node_ptr(i), upstream);
    if (padding.has_value() && padding->magnitude <= kF32Integers) continue;
    const std::string with = padding.has_value() ? std::to_string(padding->magnitude) : say::kAComputedValue;
    return Alteration{Worded(say::kComputedByWith, {name, with}), say::kPadding};
  }
  return {};
}

/// What must be exact for a node to be, and its role.
struct Followed {
  const ov::Node* source;
  char role;
};

std::vector<Followed> FollowedFrom(const ov::Node& node, Upstream& upstream) {
  std::vector<Followed> followed;
  const ExactNode* const exact = ExactOf(node);
  if (exact == nullptr) return followed;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    const ov::Node* const source = node.get_input_node_ptr(i);
    const char role = exact->Role(i);
    // A constant place may be clamped, like the end of a Slice: it still lies beyond the end.
    if (role == 'd' || (role == 'p' && !upstream.ValueOf(*source))) followed.push_back({source, role});
  }
  return followed;
}

bool IsEnd(const ov::Node& node) {
  return IsOneOf(node, kEnds) || std::strcmp(node.get_type_info().version_id, kExtension) == 0;
}

/// The condition by which the plugin chooses in f32, of which it makes one node with the Select.
///
/// What lies between the two may be a node that OpenVINO removes.
std::optional<Alteration> ChosenInF32(const ov::Node& select, Upstream& upstream) {
  std::vector<const ov::Node*> stack{select.get_input_node_ptr(0)};
  std::unordered_set<const ov::Node*> seen{stack.back()};
  while (!stack.empty()) {
    const ov::Node& node = *stack.back();
    stack.pop_back();
    if (IsEnd(node) || ConstantIntegers(node, upstream).has_value()) continue;
    if (IsOneOf(node, kLogical)) {
      const std::string names = Joined(kLogical, [](const char* name) { return name; });
      if (node.is_dynamic()) {
        return Alteration{Worded(say::kChosenBehindDynamic, {node.get_type_name()}), Worded(say::kConditions, {names})};
      }
      if (!ChoosesExactly()) {
        return Alteration{Worded(say::kChosenBehind, {node.get_type_name()}), Worded(say::kConditionsHere, {names})};
      }
    }
    for (const Followed& next : FollowedFrom(node, upstream)) {
      if (next.role == 'd' && seen.insert(next.source).second) stack.push_back(next.source);
    }
  }
  return {};
}

/// What the constants on a path to a node may become when OpenVINO merges them.
struct Merged {
  std::uint64_t bound = 1;  ///< More than any of their sums and products, at most 2^31.
  int count = 0;

  void Add(std::uint64_t magnitude) {
    bound = std::min(bound * (magnitude + 1), kInt32Max + 1);
    ++count;
  }
  bool operator<(const Merged& other) const {
    return bound != other.bound ? bound < other.bound : count < other.count;
  }
};

/// The constants on one path to a node that are clamped after OpenVINO merges them.
std::optional<Alteration> MergedBeyond(const ov::Node& last, Upstream& upstream) {
  std::unordered_map<const ov::Node*, Merged> known;
  std::vector<const ov::Node*> stack{&last};
  while (!stack.empty()) {
    const ov::Node& node = *stack.back();
    const bool is_way = !IsEnd(node) && !ConstantIntegers(node, upstream).has_value();
    const std::vector<Followed> followed = is_way ? FollowedFrom(node, upstream) : std::vector<Followed>();
    const std::size_t height = stack.size();
    for (const Followed& next : followed) {
      if (known.count(next.source) == 0) stack.push_back(next.source);
    }
    if (stack.size() > height) continue;
    stack.pop_back();
    Merged merged;
    for (const Followed& next : followed) {
      // OpenVINO does not merge a constant in an index with one in the data.
      if (next.role == 'd') merged = std::max(merged, known[next.source]);
    }
    for (std::size_t i = 0; is_way && IsOneOf(node, kMerged) && i < node.get_input_size(); ++i) {
      const auto constant = ConstantIntegers(*node.get_input_node_ptr(i), upstream);
      if (constant.has_value() && constant->magnitude <= kInt32Max + 1) merged.Add(constant->magnitude);
    }
    if (merged.count > 1 && merged.bound > kInt32Max) {
      const std::string names = Joined(kMerged, [](const char* name) { return name; });
      return Alteration{Worded(say::kMergedConstants, {names, std::to_string(merged.count)}), say::kOneConstant};
    }
    known[&node] = merged;
  }
  return {};
}

}  // namespace

std::optional<Alteration> AlteredPart(const ov::Node& node, Upstream& upstream) {
  // A stack, not recursion: a state may come out of a deep network.
  std::vector<const ov::Node*> stack{&node};
  std::unordered_set<const ov::Node*> seen{&node};
  while (!stack.empty()) {
    const ov::Node& next = *stack.back();
    stack.pop_back();
    if (const auto constant = ConstantIntegers(next, upstream)) {
      if (!constant->furthest.has_value()) continue;
      const std::string type = next.get_output_element_type(0).get_type_name();
      if (&next == &node) {
        const std::string elements = std::to_string(ov::shape_size(next.get_output_shape(0)));
        return Alteration{Worded(say::kConstantsWith, {elements, type, *constant->furthest}),
                          Worded(say::kWholeConstant, {std::to_string(kMaxElements)})};
      }
      return Alteration{Worded(say::kMergedFrom, {type, *constant->furthest}), say::kClampedConstants};
    }
    if (IsEnd(next)) continue;
    if (auto found = Inexact(next, upstream)) return found;
    const std::vector<Followed> followed = FollowedFrom(next, upstream);
    for (auto it = followed.rbegin(); it != followed.rend(); ++it) {
      if (seen.insert(it->source).second) stack.push_back(it->source);
    }
  }
  return MergedBeyond(node, upstream);
}

}  // namespace onnx_philox
