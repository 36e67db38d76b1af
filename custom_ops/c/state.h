/* States of the Philox generator, from a seed: the words that `onnx_philox.PhiloxState` makes in Python. C99 and C++.
 *
 * A state is six words, the counter and then the key, each with its least significant word first. It is what a
 * rewritten model takes as `random_state`: uint32[6], or uint32[rows, 6].
 */
#ifndef ONNX_PHILOX_STATE_H_
#define ONNX_PHILOX_STATE_H_

#include <stdint.h>

#define ONNX_PHILOX_STATE_WORDS 6

/* The state of one row: `onnx_philox.row_states(seed, row, run)`. */
static inline void onnx_philox_state_of_row(uint64_t seed, uint32_t row, uint32_t run, uint32_t state[6]) {
  state[0] = 0;
  state[1] = row;
  state[2] = 0;
  state[3] = run;
  state[4] = (uint32_t)(seed & 0xffffffffu);
  state[5] = (uint32_t)(seed >> 32);
}

/* The state of a run: `PhiloxState.for_run(seed, run)`. */
static inline void onnx_philox_state_for_run(uint64_t seed, uint32_t run, uint32_t state[6]) {
  onnx_philox_state_of_row(seed, 0, run, state);
}

#endif
