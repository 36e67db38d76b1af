// The checks of numbers by the limits that are declared: parts of CheckInput (checks.h).
#pragma once

#include <string>

#include "checks.h"

namespace onnx_philox {

/// Checks known numbers, and writes `*given`.
std::string CheckNumbers(const Operator& op, const InputDeclaration& input, const Known& known, OutputType type,
                         const ForEach& for_each, ManyNumbers many, Argument* given);

}  // namespace onnx_philox
