// OpenVINO's element types, as the core's.
#pragma once

#include "element_types.h"
#include "openvino/core/type/element_type.hpp"

namespace onnx_philox {

ElementType ElementTypeOf(const ov::element::Type& type);

ov::element::Type OpenVinoType(OutputType type);

}  // namespace onnx_philox
