// The ONNX front end's conversion of our domain.
#pragma once

#include <functional>
#include <memory>

#include "node.h"
#include "openvino/core/extension.hpp"

namespace onnx_philox {

/// That of an operator, whose nodes `make` makes, without inputs.
ov::Extension::Ptr OnnxConversion(const Operator& op, const std::function<std::shared_ptr<RandomOp>()>& make);

}  // namespace onnx_philox
