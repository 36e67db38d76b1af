/* Draws for programs without a session: what a node of the domain `onnx_philox` draws, into memory of the caller's. C99, C++.
 *
 * These functions are exported by the library for ONNX Runtime, the file that `onnx-philox path onnxruntime` prints. It
 * needs no ONNX Runtime, and no Python.
 *
 *   const int64_t shape[] = {1, 4, 64, 64}, rank[] = {4}, words[] = {ONNX_PHILOX_STATE_WORDS};
 *   const float mean = 0, scale = 1;
 *   const onnx_philox_attribute type = {"output_type", "f32", 0};
 *   const onnx_philox_input inputs[] = {{"shape", "i64", rank, 1, shape}, {"mean", "f32", NULL, 0, &mean},
 *                                       {"scale", "f32", NULL, 0, &scale}, {"state", "u32", words, 1, state}};
 *   const onnx_philox_output outputs[] = {{latent, sizeof(latent)}, {state, sizeof(state)}};
 *   const onnx_philox_call call = {ONNX_PHILOX_API_VERSION, 0, "RandomNormal", inputs, 4, &type, 1, outputs, 2};
 *   char error[512];
 *   if (onnx_philox_run(&call, error, sizeof(error)) != ONNX_PHILOX_OK) fprintf(stderr, "%s\n", error);
 *
 * A draw takes the thread that calls. Any number of threads may call at the same time, each with outputs of its own.
 *
 * Errors. A function that can fail returns a status, and writes its text to `error`, at most `error_size` bytes with the 0
 * at the end; `error` may be NULL. Without an error it writes nothing there. What is refused has written to no output.
 */
#ifndef ONNX_PHILOX_H_
#define ONNX_PHILOX_H_

#include <stddef.h>
#include <stdint.h>

#include "state.h"

#define ONNX_PHILOX_TORCH_STATE_WORDS 632

#ifndef ONNX_PHILOX_API
#define ONNX_PHILOX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structs and functions below: it rises when one of them changes. A library refuses a call of another version.
 * 2: onnx_philox_torch_states has the arguments `error` and `error_size`. */
#define ONNX_PHILOX_API_VERSION 2

enum {
  ONNX_PHILOX_OK = 0,
  ONNX_PHILOX_INVALID = 1,     /* an argument is wrong; the text says which, and what to do */
  ONNX_PHILOX_UNAVAILABLE = 2, /* ONNX_PHILOX_ISA names kernels that do not exist or cannot run here */
  ONNX_PHILOX_NO_MEMORY = 3
};

/* An input of an operator: a dense tensor, which nobody may write to during the call. */
typedef struct onnx_philox_input {
  const char* name;     /* as the operator calls it: "shape", "minval", "state" ... */
  const char* type;     /* "u32", "i32", "i64", "f16", "bf16", "f32", "f64" */
  const int64_t* shape; /* NULL if the rank is 0 */
  size_t rank;          /* 0 to 8 */
  const void* data;     /* as many elements as the shape says, of a state at a multiple of 4 */
} onnx_philox_input;

typedef struct onnx_philox_attribute {
  const char* name;
  const char* text; /* NULL: it is an integer */
  int64_t integer;
} onnx_philox_attribute;

/* Memory for an output. It may not overlap any input or output; but the next state may lie where the state does. */
typedef struct onnx_philox_output {
  void* data;   /* NULL: nobody wants it; a next state at a multiple of 4 */
  size_t bytes; /* exactly those of the output's shape and type */
} onnx_philox_output;

/* A call of an operator, by the names of its inputs and attributes (docs/operators.md); those left out have their
 * defaults. */
typedef struct onnx_philox_call {
  uint32_t version; /* ONNX_PHILOX_API_VERSION */
  uint32_t flags;   /* 0, or ONNX_PHILOX_NUMBERS_ARE_CHECKED */
  const char* op_type;
  const onnx_philox_input* inputs;
  size_t input_count;
  const onnx_philox_attribute* attributes;
  size_t attribute_count;
  const onnx_philox_output* outputs; /* in the operator's order: the values first, the next state last */
  size_t output_count;               /* the others are not wanted */
} onnx_philox_call;

/* The caller has looked at each number of the arrays that say what is drawn: they are as the operator wants them. */
#define ONNX_PHILOX_NUMBERS_ARE_CHECKED 1u

/* Runs an operator once. */
ONNX_PHILOX_API int onnx_philox_run(const onnx_philox_call* call, char* error, size_t error_size);

/* What an operator draws from one state, its parameters single numbers: checked once, for many small draws. */
typedef struct onnx_philox_prepared onnx_philox_prepared;

/* Prepares what draws each value or row by itself, so that any number of them can be filled in: an operator that has an input
 * `shape`, its other inputs single numbers, its alignment "tensorflow". The call has no `state`, no outputs and no `shape`:
 * onnx_philox_fill gives them. But a permutation's call has the `shape`, whose last dimension is the length of its rows.
 * onnx_philox_release frees it. */
ONNX_PHILOX_API int onnx_philox_prepare(const onnx_philox_call* call, onnx_philox_prepared** prepared, char* error,
                                        size_t error_size);

/* A part of a stream: from which state, and how many bytes of values. One struct, since a binding of another language pays
 * for each argument. */
typedef struct onnx_philox_part {
  uint32_t state[ONNX_PHILOX_STATE_WORDS];
  uint64_t bytes;
} onnx_philox_part;

/* Fills the bytes at `out`, and writes the six words of the next state unless `next_state` is NULL; it may be that of the
 * part. Returns ONNX_PHILOX_INVALID, without a text, where these are no whole elements or rows, or the words lie among them. */
ONNX_PHILOX_API int onnx_philox_fill(const onnx_philox_prepared* prepared, const onnx_philox_part* part, void* out,
                                     uint32_t* next_state);

ONNX_PHILOX_API void onnx_philox_release(onnx_philox_prepared* prepared);

/* The name of operator `index`, from 0 on; NULL past the last. */
ONNX_PHILOX_API const char* onnx_philox_operator(size_t index);

/* The states of torch's CPU generator after torch.manual_seed, of ONNX_PHILOX_TORCH_STATE_WORDS words each: one for each of
 * `count` seeds. */
ONNX_PHILOX_API int onnx_philox_torch_states(const uint64_t* seeds, size_t count, uint32_t* states, char* error,
                                             size_t error_size);

/* The name of instruction set `index` of those that this library has and this processor runs, the best first; NULL past
 * the last. */
ONNX_PHILOX_API const char* onnx_philox_isa_here(size_t index);

/* The instruction set whose kernels draw in this process: "avx512", "avx2", "neon" or "scalar". NULL with an error.
 * ONNX_PHILOX_ISA in the environment forces one; it is read once, at the first draw or here. */
ONNX_PHILOX_API const char* onnx_philox_isa(char* error, size_t error_size);

/* Whether ONNX Runtime's operators can draw on an NVIDIA card in this process: a driver and a card are here that run the
 * kernels. ONNX_PHILOX_UNAVAILABLE, and why, if not. These functions themselves draw on the CPU. */
ONNX_PHILOX_API int onnx_philox_cuda(char* error, size_t error_size);

/* Three numbers of bytes, 2^64-1 for no limit: what can be written to for the first time without swapping, what can be
 * allocated, and what the process has already written to. Files of the system are read below `root`, which is "". */
ONNX_PHILOX_API int onnx_philox_memory(const char* root, uint64_t* numbers, char* error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
