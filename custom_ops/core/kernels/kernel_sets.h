// The inventory of instruction sets: which are compiled in, their kernels, and what each needs from the processor.
//
// To add one: a kernels_<name>.cpp, three lines here, one in dispatch.cpp's list, one in CMakeLists.txt.
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

#if ONNX_PHILOX_HAVE_AVX512
extern const Kernels kAvx512Kernels;
void FillTorchAvx512(TorchStream* stream, const TorchFill& fill);
bool HasAvx512();
#endif
#if ONNX_PHILOX_HAVE_AVX2
extern const Kernels kAvx2Kernels;
/// For processors that have FMA, too.
void FillTorchAvx2(TorchStream* stream, const TorchFill& fill);
bool HasAvx2();
bool HasFma();
#endif
#if ONNX_PHILOX_HAVE_NEON
extern const Kernels kNeonKernels;
#endif
extern const Kernels kScalarKernels;
void FillTorchPlain(TorchStream* stream, const TorchFill& fill);

}  // namespace onnx_philox
