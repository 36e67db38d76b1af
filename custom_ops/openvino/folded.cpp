// Draws of constants: see folded.h.
#include "folded.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "exact_words.h"

namespace onnx_philox {

namespace {

// Before OpenVINO transforms a model, it puts the first mark on every node, also in bodies. It puts the second one
// where it folds constants, and into the body of a Loop only when the Loop stays.
constexpr char kTransformed[] = "fused_names_0";
constexpr char kStays[] = "can_be_folded";

/// The types that the plugin would alter in a constant.
bool IsWide(const ov::element::Type& type) {
  return type == ov::element::f64 || type == ov::element::i64 || type == ov::element::u32 || type == ov::element::u64;
}

/// Whether a node passes numbers on unchanged; a Convert of integers does.
bool Moves(const ov::Node& node) {
  const char* const name = node.get_type_name();
  return MovesData(node) || std::strcmp(name, "Convert") == 0 || std::strcmp(name, "ReverseSequence") == 0;
}

/// Whether a node passes a draw on in one of its outputs.
bool HandsOn(const ov::Output<const ov::Node>& drawn, const ov::Output<ov::Node>& made) {
  if (!Moves(*made.get_node())) return false;
  const ov::element::Type& type = made.get_element_type();
  return IsWide(type) && type.is_real() == drawn.get_element_type().is_real();
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
    return tensor.get_element_type() == ov::element::f64 || tensor.get_element_type() == ov::element::i64;
  });
  return is_late || (!was_transformed && marks.count(kStays) == 0);
}

bool Leaves(const ov::Output<const ov::Node>& output) {
  std::vector<ov::Output<const ov::Node>> stack{output};
  std::unordered_set<const ov::Node*> seen;
  while (!stack.empty()) {
    const ov::Output<const ov::Node> drawn = stack.back();
    stack.pop_back();
    for (const ov::Input<ov::Node>& consumer : drawn.get_target_inputs()) {
      ov::Node& node = *consumer.get_node();
      if (std::strcmp(node.get_type_name(), "Result") == 0) return true;
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
  const std::string where = "in a Loop that OpenVINO computes when it compiles the model";
  const ov::element::Type type = drawn.get_element_type();
  if (type == ov::element::f64) {
    const auto is_f32 = [](double x) {
      return std::fabs(x) <= FLT_MAX && static_cast<double>(static_cast<float>(x)) == x;
    };
    if (All<double>(drawn, is_f32) || !(has_left || Leaves(output))) return {};
    return AlteredDraw{"f64, " + where,
                       "numbers that f32 holds there, since OpenVINO's CPU plugin rounds f64 constants",
                       "Draw outside of the Loop, or draw f32."};
  }
  const bool fits =
      type == ov::element::i64   ? All<std::int64_t>(drawn, [](std::int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; })
      : type == ov::element::u32 ? All<std::uint32_t>(drawn, [](std::uint32_t x) { return x <= INT32_MAX; })
                                 : true;
  if (fits || !(has_left || Leaves(output))) return {};
  return AlteredDraw{"beyond int32, " + where,
                     "numbers within int32 there, since OpenVINO's CPU plugin clamps constants",
                     "Draw outside of the Loop, or give it a model input."};
}

}  // namespace onnx_philox
