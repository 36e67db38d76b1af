// States: see state.h.
#include "state.h"

namespace onnx_philox {

State StateFromWords(const std::uint32_t words[kStateWords]) {
  return State{Counter{Join(words[0], words[1]), Join(words[2], words[3])}, Join(words[4], words[5])};
}

void StateToWords(const State& state, std::uint32_t words[kStateWords]) {
  words[0] = Low32(state.counter.low);
  words[1] = High32(state.counter.low);
  words[2] = Low32(state.counter.high);
  words[3] = High32(state.counter.high);
  words[4] = Low32(state.key);
  words[5] = High32(state.key);
}

State Derive(const State& state, std::int64_t global_seed, std::int64_t op_seed) {
  State derived = state;
  derived.key += static_cast<std::uint64_t>(global_seed);
  derived.counter.high += static_cast<std::uint64_t>(op_seed);
  return derived;
}

std::uint64_t BlocksUsed(unsigned words_per_element, std::uint64_t elements) {
  if (words_per_element > kWordsPerBlock) return elements * (words_per_element / kWordsPerBlock);
  // Not ceil(elements * words / 4): the product could overflow.
  const std::uint64_t per_block = static_cast<std::uint64_t>(kWordsPerBlock) / words_per_element;
  return elements / per_block + (elements % per_block != 0 ? 1 : 0);
}

State Advance(const State& state, unsigned words_per_element, std::uint64_t elements) {
  return State{Add(state.counter, BlocksUsed(words_per_element, elements)), state.key};
}

}  // namespace onnx_philox
