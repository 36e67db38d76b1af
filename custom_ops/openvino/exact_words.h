// Which nodes may compute a state: those whose words are exact in the CPU plugin.
//
// The plugin computes u32, i64 and u64 as i32, and booleans as u8. A word is exact where its low 32 bits are right. So is an
// index: where it is valid, it is less than 2^31.
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

/// Whether a node passes data on unchanged, and the plugin keeps it exact.
bool MovesData(const ov::Node& node);

/// The first alteration on the way to uint32 data; none if all of it is exact.
std::optional<Alteration> AlteredPart(const ov::Node& node, Upstream& upstream);

}  // namespace onnx_philox
