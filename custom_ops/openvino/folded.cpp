// Draws of constants: see folded.h.
#include "folded.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace onnx_philox {

namespace {

/// What hands its first input on as it is; a Convert if it is one of integers.
constexpr const char* kMoves[] = {"Convert", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};

/// Whether an output is a result of its graph, possibly moved or converted.
bool Leaves(const ov::Output<const ov::Node>& output) {
  std::vector<ov::Output<const ov::Node>> stack{output};
  while (!stack.empty()) {
    const ov::Output<const ov::Node> moved = stack.back();
    stack.pop_back();
    for (const ov::Input<ov::Node>& consumer : moved.get_target_inputs()) {
      const ov::Node& node = *consumer.get_node();
      const auto is_type = [&](const char* name) { return std::strcmp(node.get_type_name(), name) == 0; };
      if (is_type("Result")) return true;
      if (consumer.get_index() != 0 || std::none_of(std::begin(kMoves), std::end(kMoves), is_type)) continue;
      if (!is_type("Convert") || !node.get_output_element_type(0).is_real()) stack.push_back(node.output(0));
    }
  }
  return false;
}

template <class T, class Predicate>
bool All(const ov::Tensor& tensor, Predicate predicate) {
  ov::Tensor packed(tensor.get_element_type(), tensor.get_shape());
  tensor.copy_to(packed);
  const T* const begin = static_cast<const T*>(packed.data());
  return std::all_of(begin, begin + packed.get_size(), predicate);
}

}  // namespace

bool IsWide(const ov::Tensor& tensor) {
  // A state of u32 is no sign: it arrives like this from another node of ours.
  const ov::element::Type type = tensor.get_element_type();
  return type == ov::element::f64 || type == ov::element::i64;
}

std::optional<AlteredDraw> AlteredResult(const ov::Output<const ov::Node>& output, const ov::Tensor& drawn) {
  if (drawn.get_size() == 0 || !Leaves(output)) return {};
  const std::string where = "in a Loop that OpenVINO computes when it compiles the model";
  const ov::element::Type type = drawn.get_element_type();
  if (type == ov::element::f64) {
    const auto is_f32 = [](double x) {
      return std::fabs(x) <= FLT_MAX && static_cast<double>(static_cast<float>(x)) == x;
    };
    if (All<double>(drawn, is_f32)) return {};
    return AlteredDraw{"f64, " + where,
                       "numbers that f32 holds there, since OpenVINO's CPU plugin rounds f64 constants",
                       "Draw outside of the Loop, or draw f32."};
  }
  const bool fits =
      type == ov::element::i64   ? All<std::int64_t>(drawn, [](std::int64_t x) { return x >= INT32_MIN && x <= INT32_MAX; })
      : type == ov::element::u32 ? All<std::uint32_t>(drawn, [](std::uint32_t x) { return x <= INT32_MAX; })
                                 : true;
  if (fits) return {};
  return AlteredDraw{"beyond int32, " + where,
                     "numbers within int32 there, since OpenVINO's CPU plugin clamps constants",
                     "Draw outside of the Loop, or give it a model input."};
}

}  // namespace onnx_philox
