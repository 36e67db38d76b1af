// Errors of the core, thrown as OpenVINO's.
#pragma once

#include <string>

#include "openvino/core/except.hpp"
#include "operators.h"
#include "text.h"

namespace onnx_philox {

/// Throws OpenVINO's own exception class: one of ours would not outlive this library.
inline void ThrowIf(const std::string& error) {
  if (!error.empty()) ov::Exception::create("onnx_philox", 1, error);
}

[[noreturn]] inline void Refuse(const Operator& op, const std::string& what, const std::string& given,
                         const std::string& allowed, const std::string& remedy) {
  ov::Exception::create("onnx_philox", 1, Refusal(op.name, what, given, allowed, remedy));
}

}  // namespace onnx_philox
