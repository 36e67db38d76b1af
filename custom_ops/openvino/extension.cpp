// All that this library adds to an ov::Core, and what it says of itself.
#include "openvino/core/extension.hpp"

#include <memory>
#include <vector>

#include "onnx_conversion.h"
#include "openvino/core/op_extension.hpp"
#include "openvino/core/version.hpp"
#include "random_ops.h"

OPENVINO_CREATE_EXTENSIONS((std::vector<ov::Extension::Ptr>{
    std::make_shared<ov::OpExtension<onnx_philox::RandomGenerator>>(),
    onnx_philox::MakeOnnxConversion<onnx_philox::RandomGenerator>(onnx_philox::kRandomGenerator),
    std::make_shared<ov::OpExtension<onnx_philox::RandomUniform>>(),
    onnx_philox::MakeOnnxConversion<onnx_philox::RandomUniform>(onnx_philox::kRandomUniform),
}));

/// The OpenVINO version that this library was built for, like "2026.4.1": its C++ interface holds for no other release.
OPENVINO_EXTENSION_C_API const char* onnx_philox_openvino_version();
const char* onnx_philox_openvino_version() { return ONNX_PHILOX_OPENVINO_VERSION; }
