// Which nodes may compute a state: those whose words are exact in the CPU plugin (kExact in plugin_names.h).
#pragma once

#include <optional>
#include <string>

#include "constants.h"
#include "openvino/core/node.hpp"

namespace onnx_philox {

/// What the plugin would compute differently from what the model says, and what is allowed in its place.
struct Alteration {
  std::string given;
  std::string allowed;
};

/// The first alteration on the way to uint32 data; none if all of it is exact.
std::optional<Alteration> AlteredPart(const ov::Node& node, Upstream& upstream);

}  // namespace onnx_philox
