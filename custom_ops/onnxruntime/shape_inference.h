// The type and shape of an operator's values in ONNX Runtime's graph, if an attribute gives the type.
#pragma once

#include "attributes.h"
#include "ort_api.h"

namespace onnx_philox {

/// Sets them: `output_type`, and as many dimensions as the input `shape` has entries, or [batch, sample_size]. It reports
/// no mistakes: the kernel refuses a wrong node, in our words. ONNX Runtime before 1.19 takes no type from here.
OrtStatus* InferValues(const Operator& op, const OrtApi& api, OrtShapeInferContext* context);

}  // namespace onnx_philox
