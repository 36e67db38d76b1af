// OpenVINO's element types, as the core's.
#pragma once

#include "element_types.h"
#include "openvino/core/type/element_type.hpp"

namespace onnx_philox {

ElementType ElementTypeOf(const ov::element::Type& type);

/// Of a type that numbers have.
ov::element::Type OpenVinoType(ElementType type);
inline ov::element::Type OpenVinoType(OutputType type) { return OpenVinoType(ElementTypeOf(type)); }

}  // namespace onnx_philox
