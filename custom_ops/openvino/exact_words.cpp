// Nodes that are exact: see exact_words.h.
#include "exact_words.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "constants.h"
#include "openvino/op/constant.hpp"
#include "openvino/op/scatter_elements_update.hpp"
#include "openvino/op/scatter_nd_update.hpp"

namespace onnx_philox {

namespace {

constexpr std::uint64_t kInt32Max = 0x7FFFFFFF;
/// f32 holds every integer up to this one.
constexpr std::uint64_t kF32Integers = std::uint64_t{1} << 24;

enum class Types {
  kWords,     ///< i32, i64, u32, u64
  kIntegers,  ///< and boolean, i8, i16, u8, u16, which arrive widened. Computed with, they saturate.
  kBoolean,
  kSigned,  ///< i32
};

bool IsWord(const ov::element::Type& type) {
  return type == ov::element::i32 || type == ov::element::i64 || type == ov::element::u32 || type == ov::element::u64;
}

bool IsOneOf(Types types, const ov::element::Type& type) {
  if (types == Types::kBoolean) return type == ov::element::boolean;
  if (types == Types::kSigned) return type == ov::element::i32;
  if (IsWord(type)) return true;
  return types == Types::kIntegers &&
         (type == ov::element::boolean || type == ov::element::i8 || type == ov::element::i16 ||
          type == ov::element::u8 || type == ov::element::u16);
}

/// When a node is exact.
struct Exact {
  const char* name;
  /// A letter for each input, the last one also for all further inputs: `d` data, which must be exact; `p` a place
  /// (index, axis, shape, padding), which must be exact or constant; `v` a value that the plugin reads as an f32
  /// constant.
  const char* inputs;
  Types types;  ///< of its output

  char Role(std::size_t input) const { return inputs[std::min(input, std::strlen(inputs) - 1)]; }
};

// In Python _EXACT, src/onnx_philox/openvino/_exact_words.py. In the order of their names, as messages say them.
constexpr Exact kExact[] = {
    {"Add", "d", Types::kWords},  // like the other arithmetic here, the same modulo 2^32
    {"BitwiseAnd", "d", Types::kWords},
    {"BitwiseNot", "d", Types::kWords},
    {"BitwiseOr", "d", Types::kWords},
    {"BitwiseXor", "d", Types::kWords},
    {"Broadcast", "dp", Types::kIntegers},
    {"Concat", "d", Types::kIntegers},
    {"Convert", "d", Types::kWords},  // of integers: to 8 and 16 bits the plugin does not, or not always, cut words off
    {"Gather", "dp", Types::kIntegers},
    {"GatherElements", "dp", Types::kIntegers},
    {"GatherND", "dp", Types::kIntegers},
    {"Identity", "d", Types::kIntegers},
    {"LogicalAnd", "d", Types::kBoolean},  // comparisons are none: the plugin fuses them with a Select, in f32
    {"LogicalNot", "d", Types::kBoolean},
    {"LogicalOr", "d", Types::kBoolean},
    {"LogicalXor", "d", Types::kBoolean},
    {"Multiply", "d", Types::kWords},
    {"Pad", "dppv", Types::kIntegers},
    {"ReadValue", "d", Types::kSigned},  // the plugin has no other variables of integers
    {"Reshape", "dp", Types::kIntegers},
    {"Roll", "dp", Types::kIntegers},
    {"ScatterElementsUpdate", "dpdp", Types::kIntegers},
    {"ScatterNDUpdate", "dpd", Types::kIntegers},
    {"ScatterUpdate", "dpdp", Types::kIntegers},
    {"Select", "d", Types::kIntegers},
    {"Slice", "dp", Types::kIntegers},
    {"Split", "dp", Types::kIntegers},
    {"Squeeze", "dp", Types::kIntegers},
    {"StridedSlice", "dp", Types::kIntegers},
    {"Subtract", "d", Types::kWords},
    {"Tile", "dp", Types::kIntegers},
    {"Transpose", "dp", Types::kIntegers},
    {"Unsqueeze", "dp", Types::kIntegers},
    {"VariadicSplit", "dp", Types::kIntegers},
};
/// OpenVINO merges the constants on a path through these into one.
constexpr const char* kMerged[] = {"Add", "Multiply", "Subtract"};
/// This file does not compute these: they give dimensions, or another graph or operator checks them.
constexpr const char* kEnds[] = {"If", "Loop", "Parameter", "ShapeOf", "TensorIterator"};

constexpr char kAllowedConstant[] = "constants within int32 there, since OpenVINO's CPU plugin clamps them";
constexpr char kAllowedMerged[] =
    "one such constant, or several whose product is within int32, since OpenVINO merges them and its CPU plugin clamps the "
    "result";
constexpr char kAllowedPadding[] = "a constant within 2^24 there, since OpenVINO's CPU plugin reads it as f32";

bool IsType(const ov::Node& node, const char* name) { return std::strcmp(node.get_type_name(), name) == 0; }

template <std::size_t N>
bool IsOneOf(const ov::Node& node, const char* const (&names)[N]) {
  return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return IsType(node, name); });
}

const Exact* ExactOf(const ov::Node& node) {
  const auto* const end = std::end(kExact);
  const auto* const found = std::find_if(std::begin(kExact), end, [&](const Exact& e) { return IsType(node, e.name); });
  return found == end ? nullptr : found;
}

template <class Items, class Name>
std::string Joined(const Items& items, Name name) {
  std::string joined;
  for (const auto& item : items) joined += (joined.empty() ? "" : ", ") + std::string(name(item));
  return joined;
}

Alteration Otherwise(const std::string& given) {
  return {given, "a constant, a model input, or what " + Joined(kExact, [](const Exact& e) { return e.name; }) +
                     " make of them in integers, since OpenVINO's CPU plugin computes uint32 as int32"};
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

/// What is inexact in a node itself, whatever its inputs.
std::optional<Alteration> Inexact(const ov::Node& node, Upstream& upstream) {
  const std::string given = std::string("computed by ") + node.get_type_name();
  const Exact* const exact = ExactOf(node);
  if (exact == nullptr) return Otherwise(given);
  const ov::element::Type& type = node.get_output_element_type(0);
  if (IsType(node, "Convert")) {
    const ov::element::Type& source = node.get_input_element_type(0);
    if (!IsOneOf(exact->types, type) || !IsOneOf(Types::kIntegers, source)) {
      return Otherwise(given + " from " + source.get_type_name() + " to " + type.get_type_name());
    }
  } else if (!IsOneOf(exact->types, type)) {
    return Otherwise(given + " of " + type.get_type_name());
  }
  if (const auto* const scatter = ov::as_type<const ov::op::v12::ScatterElementsUpdate>(&node)) {
    const auto reduction = scatter->get_reduction();
    if (reduction != ov::op::v12::ScatterElementsUpdate::Reduction::NONE) {
      return Otherwise(given + " with " + ov::as_string(reduction));
    }
  }
  if (const auto* const scatter = ov::as_type<const ov::op::v15::ScatterNDUpdate>(&node)) {
    const auto reduction = scatter->get_reduction();
    if (reduction != ov::op::v15::ScatterNDUpdate::Reduction::NONE) {
      return Otherwise(given + " with " + ov::as_string(reduction));
    }
  }
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    if (exact->Role(i) != 'v') continue;
    const auto padding = ConstantIntegers(*node.get_input_node_ptr(i), upstream);
    if (padding.has_value() && padding->magnitude <= kF32Integers) continue;
    const std::string with = padding.has_value() ? std::to_string(padding->magnitude) : "a computed value";
    return Alteration{given + " with " + with, kAllowedPadding};
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
  const Exact* const exact = ExactOf(node);
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
  return IsOneOf(node, kEnds) || std::strcmp(node.get_type_info().version_id, "extension") == 0;
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
      return Alteration{"computed by " + names + " with " + std::to_string(merged.count) + " constants", kAllowedMerged};
    }
    known[&node] = merged;
  }
  return {};
}

}  // namespace

bool MovesData(const ov::Node& node) {
  const Exact* const exact = ExactOf(node);
  return exact != nullptr && exact->types == Types::kIntegers;
}

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
        return Alteration{"a " + type + " constant of " + elements + " elements, one of them " + *constant->furthest,
                          "at most " + std::to_string(kMaxElements) +
                              " elements, or all within int32, since OpenVINO's CPU plugin clamps others"};
      }
      return Alteration{"merged from a " + type + " constant of " + *constant->furthest, kAllowedConstant};
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
