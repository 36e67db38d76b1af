// Nodes of random attributes, inputs and tensors: right ones draw what the core's plain C++ kernels draw, wrong ones are
// refused in a sentence of four parts.
#pragma once

#include <cstdint>

/// Makes nodes for so many seconds; ends the program at the first that is neither drawn right nor refused in words.
void Fuzz(double seconds, std::uint64_t seed);
