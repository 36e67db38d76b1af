// What reads an output: see consumers.h.
#include "consumers.h"

#include <memory>
#include <vector>

#include "openvino/op/convert.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/shape_of.hpp"
#include "plugin_names.h"

namespace onnx_philox {

void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type) {
  // A stack, not recursion: many nodes may pass it on.
  std::vector<ov::Output<ov::Node>> stack{output};
  while (!stack.empty()) {
    const ov::Output<ov::Node> moved = stack.back();
    stack.pop_back();
    std::shared_ptr<ov::Node> converted;
    for (ov::Input<ov::Node> input : moved.get_target_inputs()) {
      ov::Node& consumer = *input.get_node();
      if (ov::is_type<ov::op::v0::Result>(&consumer) || ov::is_type<ov::op::v0::Convert>(&consumer)) continue;
      if (IsOneOf(consumer, kOnlyMove) && input.get_index() == 0) {
        stack.push_back(consumer.output(0));
        continue;
      }
      if (converted == nullptr) converted = std::make_shared<ov::op::v0::Convert>(moved, type);
      input.replace_source_output(converted);
    }
  }
}

ov::element::Type RoundedTo(const ov::Output<const ov::Node>& output) {
  ov::element::Type found = ov::element::dynamic;
  std::vector<ov::Output<const ov::Node>> stack{output};
  while (!stack.empty()) {
    const ov::Output<const ov::Node> moved = stack.back();
    stack.pop_back();
    for (const ov::Input<ov::Node>& input : moved.get_target_inputs()) {
      const ov::Node& consumer = *input.get_node();
      if (ov::is_type<ov::op::util::ShapeOfBase>(&consumer)) continue;
      const bool is_moved = IsOneOf(consumer, kOnlyMove) && input.get_index() == 0;
      if (!is_moved && !ov::is_type<ov::op::v0::Convert>(&consumer)) return ov::element::dynamic;
      const ov::element::Type type = consumer.get_output_element_type(0);
      if (is_moved || type == ov::element::f32) {
        stack.push_back(consumer.output(0));
      } else if ((type == ov::element::f16 || type == ov::element::bf16) && (found.is_dynamic() || found == type)) {
        found = type;
      } else {
        return ov::element::dynamic;
      }
    }
  }
  return found;
}

}  // namespace onnx_philox
