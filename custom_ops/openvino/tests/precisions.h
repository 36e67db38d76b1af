// What each inference precision makes of the operators: see precisions.cpp.
#pragma once

#include <string>

#include "openvino/runtime/core.hpp"

/// Runs the cases of precisions.cpp on the CPU plugin, on a core that knows the operators, and throws what failed. Returns
/// which precisions this processor really computes in, and how many checks passed.
std::string Precisions(ov::Core& core, const std::string& library);
