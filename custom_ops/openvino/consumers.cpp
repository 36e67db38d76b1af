// Narrower copies of outputs: see consumers.h.
#include "consumers.h"

#include <cstring>
#include <memory>

#include "openvino/op/convert.hpp"
#include "openvino/op/result.hpp"

namespace onnx_philox {

namespace {

/// Whether a node hands its first input on as it is, in any type.
bool OnlyMoves(const ov::Node& node) {
  const char* const name = node.get_type_name();
  for (const char* moving : {"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity"}) {
    if (std::strcmp(name, moving) == 0) return true;
  }
  return false;
}

}  // namespace

void ConvertForConsumers(const ov::Output<ov::Node>& output, const ov::element::Type& type) {
  std::shared_ptr<ov::Node> converted;
  for (ov::Input<ov::Node> input : output.get_target_inputs()) {
    ov::Node& consumer = *input.get_node();
    if (ov::is_type<ov::op::v0::Result>(&consumer) || ov::is_type<ov::op::v0::Convert>(&consumer)) continue;
    if (OnlyMoves(consumer) && input.get_index() == 0) {
      ConvertForConsumers(consumer.output(0), type);
      continue;
    }
    if (converted == nullptr) converted = std::make_shared<ov::op::v0::Convert>(output, type);
    input.replace_source_output(converted);
  }
}

}  // namespace onnx_philox
