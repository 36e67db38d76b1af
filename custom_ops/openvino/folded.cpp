// Draws of constants: see folded.h.
#include "folded.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "openvino/op/constant.hpp"
#include "plugin_names.h"
#include "sentences.h"

namespace onnx_philox {

namespace {

/// Whether a node passes a draw on in one of its outputs.
bool HandsOn(const ov::Output<const ov::Node>& drawn, const ov::Output<ov::Node>& made) {
  if (!IsOneOf(*made.get_node(), kMoving)) return false;
  const ov::element::Type& type = made.get_element_type();
  return Types(kAlteredInConstants).Has(type) && type.is_real() == drawn.get_element_type().is_real();
}

template <class T, class Predicate>
bool All(const ov::Tensor& tensor, Predicate predicate) {
  ov::Tensor packed(tensor.get_element_type(), tensor.get_shape());
  tensor.copy_to(packed);
  const T* const begin = static_cast<const T*>(packed.data());
  return std::all_of(begin, begin + packed.get_size(), predicate);
}

}  // namespace

bool IsTransformed(const ov::Node& node) { return node.get_rt_info().count(kTransformed) != 0; }

bool Stays(const ov::Node& node) { return node.get_rt_info().count(kStays) != 0; }

bool IsFolded(const ov::Node& node, const ov::TensorVector& inputs, bool is_clone, bool was_transformed) {
  const ov::RTMap& marks = node.get_rt_info();
  if (marks.count(kTransformed) == 0) return false;
  // A Loop's inputs may also become constants late. The plugin's own runs see these types in settled nodes only.
  const bool is_late = is_clone && std::any_of(inputs.begin(), inputs.end(), [](const ov::Tensor& tensor) {
    return Types(kNeverInRuns).Has(tensor.get_element_type());
  });
  return is_late || (!was_transformed && marks.count(kStays) == 0);
}

bool IsAsked(const ov::Node& node, const ov::OutputVector& inputs) {
  const auto is_constant = [](const ov::Output<ov::Node>& output) {
    return ov::is_type<ov::op::v0::Constant>(output.get_node());
  };
  for (std::size_t i = 0; i < inputs.size() && i < node.get_input_size(); ++i) {
    if (is_constant(inputs[i]) && !is_constant(node.input_value(i))) return true;
  }
  return false;
}

bool Leaves(const ov::Output<const ov::Node>& output) {
  std::vector<ov::Output<const ov::Node>> stack{output};
  std::unordered_set<const ov::Node*> seen;
  while (!stack.empty()) {
    const ov::Output<const ov::Node> drawn = stack.back();
    stack.pop_back();
    for (const ov::Input<ov::Node>& consumer : drawn.get_target_inputs()) {
      ov::Node& node = *consumer.get_node();
      if (IsNode(node, "Result")) return true;
      if (!seen.insert(&node).second) continue;
      for (const ov::Output<ov::Node>& made : node.outputs()) {
        if (HandsOn(drawn, made)) stack.push_back(made);
      }
    }
  }
  return false;
}

std::optional<AlteredDraw> AlteredResult(const ov::Output<const ov::Node>& output, const ov::Tensor& drawn, bool has_left) {
  if (drawn.get_size() == 0) return {};
  const ov::element::Type type = drawn.get_element_type();
  if (type == ov::element::f64) {
    const auto is_f32 = [](double x) {
      return std::fabs(x) <= FLT_MAX && static_cast<double>(static_cast<float>(x)) == x;
    };
    if (All<double>(drawn, is_f32) || !(has_left || Leaves(output))) return {};
    return AlteredDraw{say::kF64InLoop, say::kF32Numbers, say::kDrawF32};
  }
  const bool fits =
      type == ov::element::i64   ? All<std::int64_t>(drawn, [](std::int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; })
      : type == ov::element::u32 ? All<std::uint32_t>(drawn, [](std::uint32_t x) { return x <= INT32_MAX; })
                                 : true;
  if (fits || !(has_left || Leaves(output))) return {};
  return AlteredDraw{say::kWideInLoop, say::kInt32Numbers, say::kDrawOutside};
}

}  // namespace onnx_philox
