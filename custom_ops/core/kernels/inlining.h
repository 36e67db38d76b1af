// What the kernels ask of the optimiser.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define ONNX_PHILOX_INLINE __forceinline
#define ONNX_PHILOX_NOINLINE __declspec(noinline)
#define ONNX_PHILOX_UNROLL
#elif defined(__CUDACC_RTC__)
#define ONNX_PHILOX_INLINE __forceinline__
#define ONNX_PHILOX_NOINLINE inline
#define ONNX_PHILOX_UNROLL _Pragma("unroll")
#else
#define ONNX_PHILOX_INLINE inline __attribute__((always_inline))
#define ONNX_PHILOX_NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define ONNX_PHILOX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ONNX_PHILOX_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

// Before a loop whose steps depend on none before them: vectors are made of it also where it is short.
#ifdef ONNX_PHILOX_OPENMP_SIMD
#define ONNX_PHILOX_SIMD _Pragma("omp simd")
#else
#define ONNX_PHILOX_SIMD
#endif
