// States: conversion to and from the six words of a state tensor, the state that a call draws from, and the next state.
#pragma once

#include <cstdint>

#include "philox.h"

namespace onnx_philox {

/// `words` is [c0, c1, c2, c3, k0, k1], least significant word first in both numbers.
State StateFromWords(const std::uint32_t words[kStateWords]);
void StateToWords(const State& state, std::uint32_t words[kStateWords]);

/// The state that a call with these seeds draws from: key + global_seed modulo 2^64, counter + op_seed * 2^64 modulo
/// 2^128. Seeds are attributes of an operator, where they are never negative; a missing seed is 0.
State Derive(const State& state, std::int64_t global_seed, std::int64_t op_seed);

/// Blocks that `elements` elements use: the last block's unused words are dropped. `words_per_element` is 1, 2, or
/// whole blocks.
std::uint64_t BlocksUsed(unsigned words_per_element, std::uint64_t elements);

/// The next state: `state` moved past `elements` elements. Call it on the input state, not on the derived one: a next
/// state does not contain the seeds.
State Advance(const State& state, unsigned words_per_element, std::uint64_t elements);

}  // namespace onnx_philox
