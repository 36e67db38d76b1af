// What a launch of a CUDA kernel takes, which kernels there are, and how many threads a launch has.
//
// Included by the kernels and by the host: what is in here is the interface between them. Pointers are to memory of the
// device, aligned to the element that they point to. No kernel reads or writes anything else, whatever the words of a
// state are.
//
// A kernel's name is onnx_philox_<distribution>_<type>; its only parameter is a `Launch`, by value.
#pragma once

#include <cstdint>

#include "output.h"
#include "philox.h"

namespace onnx_philox {
namespace cuda {

/// The kernels that fill an output: distribution, type. The type is that of the output; of a Bernoulli draw, whose
/// output is bool, that of `p`.
#define ONNX_PHILOX_CUDA_KERNELS(kernel)                                                                        \
  kernel(Uniform, uniform, Bits, bits) kernel(Uniform, uniform, F32, f32) kernel(Uniform, uniform, F16, f16)    \
  kernel(Uniform, uniform, BF16, bf16) kernel(Uniform, uniform, F64, f64) kernel(Uniform, uniform, I32, i32)    \
  kernel(Uniform, uniform, I64, i64)                                                                            \
  kernel(Normal, normal, F32, f32) kernel(Normal, normal, F16, f16) kernel(Normal, normal, BF16, bf16)          \
  kernel(Normal, normal, F64, f64)                                                                              \
  kernel(Exponential, exponential, F32, f32) kernel(Exponential, exponential, F16, f16)                         \
  kernel(Exponential, exponential, BF16, bf16) kernel(Exponential, exponential, F64, f64)                       \
  kernel(Bernoulli, bernoulli, F32, f32) kernel(Bernoulli, bernoulli, F64, f64)                                 \
  kernel(Dropout, dropout, F32, f32) kernel(Dropout, dropout, F16, f16) kernel(Dropout, dropout, BF16, bf16)    \
  kernel(Dropout, dropout, F64, f64)                                                                            \
  kernel(Gamma, gamma, F32, f32) kernel(Gamma, gamma, F64, f64)                                                 \
  kernel(Poisson, poisson, I32, i32) kernel(Poisson, poisson, I64, i64)

/// The kernel that writes the next states alone: where nothing is drawn, or where they go where the states are, which a
/// draw's threads still read. Launch it after the draw, on the same stream.
#define ONNX_PHILOX_CUDA_NEXT_STATES "onnx_philox_next_states"

struct DeviceKernel {
  Distribution distribution;
  OutputType type;
  const char* name;
};

#if !defined(__CUDACC_RTC__)  // the kernels need no names
constexpr DeviceKernel kKernels[] = {
#define ONNX_PHILOX_CUDA_KERNEL(Distribution_, distribution, Type, type) \
  {Distribution::k##Distribution_, OutputType::k##Type, "onnx_philox_" #distribution "_" #type},
    ONNX_PHILOX_CUDA_KERNELS(ONNX_PHILOX_CUDA_KERNEL)
#undef ONNX_PHILOX_CUDA_KERNEL
};
#endif

/// A parameter that is a number: one that the host knows; or p, alpha or rate on the device, one or one for each element.
struct Number {
  OutputType type;         ///< kBits: the draw has no such parameter
  std::uint32_t is_each;   ///< 1: element i has number i of `data`; 0: there is one
  std::uint64_t bits;      ///< of a number that the host knows, and has checked: its bit pattern, zero-extended
  const void* data;        ///< of numbers on the device, which the kernel checks; else null
  Limits limits;           ///< of those: as in InputDeclaration, for their type
};

constexpr int kNumbers = 2;

/// Which of `Launch::number` a parameter is. A draw has no two that are the same.
static inline int NumberOf(Parameter parameter) {
  return parameter == Parameter::kMaxval || parameter == Parameter::kScale ? 1 : 0;
}

struct Launch {
  const std::uint32_t* states;  ///< [rows, 6]; null: the state is zeros, and there is one row
  std::uint32_t* next_states;   ///< [rows, 6], apart from `states`; null: this kernel is not to write them
  std::uint64_t seed_key;       ///< added to each state's key modulo 2^64: global_seed
  std::uint64_t seed_counter;   ///< times 2^64, added to each state's counter modulo 2^128: op_seed
  std::uint64_t rows;           ///< 1 of a draw from one state
  std::uint64_t row_elements;   ///< all elements of a draw from one state
  std::uint64_t row_blocks;     ///< of the generator that a row takes
  const void* data;             ///< of a dropout; may be `out`
  void* out;                    ///< null of a dropout: nobody wants more than the mask
  unsigned char* mask;          ///< of a dropout: 1 for an element that is kept, else 0; or null
  std::uint32_t* error;         ///< gets an `Error` where a number on the device is refused; null where there is none
  Number number[kNumbers];      ///< by NumberOf
};
static_assert(sizeof(void*) != 8 || (sizeof(Number) == 40 && sizeof(Launch) == 168),
              "one layout for the host and the device");

/// What `Launch::error` gets: kOutside + Parameter. The elements concerned are then NaN, -1 or false. No kernel ever sets it
/// to kNoError.
enum Error : std::uint32_t { kNoError = 0, kOutside = 1 };

/// Threads of a block of a grid, and blocks of a grid at most: each thread draws until nothing is left.
constexpr unsigned kThreads = 256, kMostBlocks = 4096;

/// Elements that a thread draws at once: 32 bytes of them, but at least those of one block of the generator, or one that
/// takes several, and at most those of four. The memory bounds uniforms of 32 and 64 bits: what neighbouring threads store of
/// these in one instruction has no gaps.
constexpr unsigned ElementsAtOnce(Distribution distribution, std::uint64_t words, unsigned element_bytes) {
  if (words > kWordsPerBlock) return 1;
  const bool has_gaps = distribution != Distribution::kUniform || element_bytes < 4;
  const unsigned of_block = static_cast<unsigned>(kWordsPerBlock / words), stored = (has_gaps ? 32 : 16) / element_bytes;
  return stored < of_block ? of_block : stored < 4 * of_block ? stored : 4 * of_block;
}

/// How often that is for the elements of a row.
static inline std::uint64_t TasksOf(std::uint64_t row_elements, unsigned at_once) {
  return row_elements / at_once + (row_elements % at_once != 0 ? 1 : 0);
}

/// Blocks of the grid of `count` tasks; 0 where there is nothing to launch. Of a draw: `rows` * TasksOf; of
/// onnx_philox_next_states: `rows`.
static inline unsigned GridOf(std::uint64_t count) {
  const std::uint64_t blocks = count / kThreads + (count % kThreads != 0 ? 1 : 0);
  return blocks < kMostBlocks ? static_cast<unsigned>(blocks) : kMostBlocks;
}

}  // namespace cuda
}  // namespace onnx_philox
