// ONNX Runtime's element types, as the core's.
#pragma once

#include "element_types.h"
#include "ort_api.h"

namespace onnx_philox {

ElementType ElementTypeFromOrt(OrtElementType type);

/// ORT_TYPE_UNDEFINED for a type that no operator takes.
OrtElementType OrtTypeOf(ElementType type);

}  // namespace onnx_philox
