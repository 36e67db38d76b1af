// The inventory of instruction sets: which are compiled in, their kernels, and what each needs from the processor.
//
// To add one: its primitives in a header, a case in set.h, four lines here, one in dispatch.cpp's list and one in
// CMakeLists.txt.
#pragma once

#include "kernels.h"

#if defined(__x86_64__) || defined(_M_X64)
// CMake asks whether the compiler can target each of these, and passes -DONNX_PHILOX_HAVE_...=0 if it cannot.
#ifndef ONNX_PHILOX_HAVE_AVX512
#define ONNX_PHILOX_HAVE_AVX512 1
#endif
#ifndef ONNX_PHILOX_HAVE_AVX2
#define ONNX_PHILOX_HAVE_AVX2 1
#endif
#else
#define ONNX_PHILOX_HAVE_AVX512 0
#define ONNX_PHILOX_HAVE_AVX2 0
#endif

#if (defined(__aarch64__) && !defined(__AARCH64EB__)) || defined(_M_ARM64)
#define ONNX_PHILOX_HAVE_NEON 1
#else
#define ONNX_PHILOX_HAVE_NEON 0
#endif

namespace onnx_philox {

/// What the files that are compiled for a set define. Call them in the environment of float_environment.h.
#define ONNX_PHILOX_DECLARE_SET(set)                                                                               \
  namespace set {                                                                                                  \
  void Fill(const Piece& piece);              /* numbers.cpp: any of them */                                       \
  void FillClasses(const Piece& piece);       /* classes.cpp */                                                    \
  void FillGammas(const Piece& piece);        /* rejecting.cpp */                                                  \
  void FillPoissonCounts(const Piece& piece); /* rejecting.cpp */                                                  \
  void FillPermutations(const Piece& piece);  /* permutations.cpp */                                               \
  void Keep(const Draw& draw, const unsigned char* dropped, const unsigned char* data, std::size_t count,          \
            unsigned char* out);                                           /* numbers.cpp */                       \
  void WriteWeights(const Draw& draw, std::uint64_t row, float* weights); /* classes.cpp */                        \
  }

#if ONNX_PHILOX_HAVE_AVX512
ONNX_PHILOX_DECLARE_SET(avx512)
void FillTorchAvx512(TorchStream* stream, const TorchFill& fill);
#endif
#if ONNX_PHILOX_HAVE_AVX2
ONNX_PHILOX_DECLARE_SET(avx2)
void FillTorchAvx2(TorchStream* stream, const TorchFill& fill);
#endif
#if ONNX_PHILOX_HAVE_NEON
ONNX_PHILOX_DECLARE_SET(neon)
#endif
ONNX_PHILOX_DECLARE_SET(scalar)
void FillTorchPlain(TorchStream* stream, const TorchFill& fill);

}  // namespace onnx_philox
