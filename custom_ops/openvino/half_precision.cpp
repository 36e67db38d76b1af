// The precision f16: see half_precision.h.
#include "half_precision.h"

#include <memory>

#include "constants.h"
#include "openvino/op/convert.hpp"

namespace onnx_philox {

namespace {

using ov::op::v0::Convert;

bool IsHalf(const ov::element::Type& type) { return type == ov::element::f16 || type == ov::element::bf16; }

/// The witness of an input, or null: a Convert of f32 constants.
Convert* Witness(const ov::Input<ov::Node>& input, Upstream& upstream) {
  const auto convert = ov::as_type<Convert>(input.get_source_output().get_node());
  if (convert == nullptr || convert->get_input_element_type(0) != ov::element::f32) return nullptr;
  return upstream.IsConstant(*convert->get_input_node_ptr(0)) ? convert : nullptr;
}

}  // namespace

bool TakeBeforeRounding(ov::Input<ov::Node> input) {
  const auto convert = ov::as_type<Convert>(input.get_source_output().get_node());
  if (convert == nullptr || IsHalf(convert->get_input_element_type(0))) return false;
  ov::Output<ov::Node> exact = convert->input_value(0);
  if (exact.get_element_type() != ov::element::f32) exact = std::make_shared<Convert>(exact, ov::element::f32);
  input.replace_source_output(exact);
  return true;
}

void AddWitness(ov::Input<ov::Node> input, Upstream& upstream) {
  const ov::Output<ov::Node> source = input.get_source_output();
  const bool is_constant = source.get_element_type() == ov::element::f32 && upstream.IsConstant(*source.get_node());
  if (!is_constant || Witness(input, upstream) != nullptr) return;
  input.replace_source_output(std::make_shared<Convert>(source, ov::element::f32));
}

ov::Input<ov::Node> MarkedInput(ov::Input<ov::Node> input, Upstream& upstream) {
  Convert* const witness = Witness(input, upstream);
  return witness != nullptr ? witness->input(0) : input;
}

}  // namespace onnx_philox
