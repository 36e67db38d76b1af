// Clamped probabilities: see clamped.h.
#include "clamped.h"

#include <algorithm>
#include <cstring>

#include "openvino/op/constant.hpp"
#include "openvino/op/less.hpp"
#include "openvino/op/maximum.hpp"
#include "openvino/op/minimum.hpp"
#include "openvino/op/select.hpp"
#include "plugin_names.h"

namespace onnx_philox {

namespace {

using Value = ov::Output<ov::Node>;

bool IsNumber(const Value& value, float number) {
  const auto* const constant = ov::as_type<ov::op::v0::Constant>(value.get_node());
  return constant != nullptr && constant->get_element_type() == ov::element::f32 && constant->get_shape().empty() &&
         *constant->get_data_ptr<float>() == number;
}

/// Whether a value is the Minimum or the Maximum of two.
template <class Node>
bool IsOf(const Value& value, const Value& x, float number) {
  if (!ov::is_type<Node>(value.get_node())) return false;
  const Value a = value.get_node()->input_value(0), b = value.get_node()->input_value(1);
  return (a == x && IsNumber(b, number)) || (b == x && IsNumber(a, number));
}

}  // namespace

Clamp TakeBeforeClamp(ov::Input<ov::Node> input) {
  const ov::Node* const select = ov::as_type<ov::op::v1::Select>(input.get_source_output().get_node());
  if (select == nullptr) return Clamp::kNone;
  const Value is_within = select->input_value(0), within = select->input_value(1), otherwise = select->input_value(2);
  if (!ov::is_type<ov::op::v1::Less>(is_within.get_node())) return Clamp::kNone;
  const Value low = is_within.get_node()->input_value(0), high = is_within.get_node()->input_value(1);
  // Where(0 < x, Min(x, 1), 0), or Where(x < 1, Max(x, 0), 1).
  const bool is_zero = IsNumber(low, 0) && IsNumber(otherwise, 0);
  const bool is_one = IsNumber(high, 1) && IsNumber(otherwise, 1);
  if (!is_zero && !is_one) return Clamp::kNone;
  const Value x = is_zero ? high : low;
  const bool is_cut = is_zero ? IsOf<ov::op::v1::Minimum>(within, x, 1) : IsOf<ov::op::v1::Maximum>(within, x, 0);
  const bool is_constant = ov::is_type<ov::op::v0::Constant>(x.get_node());
  if (!is_cut || is_constant || x.get_element_type() != ov::element::f32) return Clamp::kNone;
  input.replace_source_output(x);
  return is_zero ? Clamp::kNanIsZero : Clamp::kNanIsOne;
}

void ClampNumbers(Clamp clamp, const void* numbers, std::uint64_t count, void* clamped) {
  // Bits as integers: a thread may take the smallest floats for 0.
  constexpr std::int32_t kOne = 0x3F800000, kInfinity = 0x7F800000;
  const std::int32_t of_nan = clamp == Clamp::kNanIsOne ? kOne : 0;
  const unsigned char* from = static_cast<const unsigned char*>(numbers);
  unsigned char* to = static_cast<unsigned char*>(clamped);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::int32_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    const bool is_nan = (bits & 0x7FFFFFFF) > kInfinity;
    bits = is_nan ? of_nan : std::min(std::max(bits, 0), kOne);
    std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

std::string ClampText(Clamp clamp) {
  return clamp == Clamp::kNone ? "" : clamp == Clamp::kNanIsZero ? kNanTo0 : kNanTo1;
}

bool ClampFromText(const std::string& text, Clamp* clamp) {
  for (const Clamp known : {Clamp::kNone, Clamp::kNanIsZero, Clamp::kNanIsOne}) {
    if (text != ClampText(known)) continue;
    *clamp = known;
    return true;
  }
  return false;
}

}  // namespace onnx_philox
