// The instruction set that a kernel file is compiled for: each is compiled once for every set (CMakeLists.txt).
//
// `Set` is its struct of primitives, and ONNX_PHILOX_SET the namespace of what its files define. A file is empty where the
// compiler does not target the set.
#pragma once

#include "kernel_sets.h"

#if defined(ONNX_PHILOX_FOR_AVX512) && ONNX_PHILOX_HAVE_AVX512
#include "avx512.h"
#define ONNX_PHILOX_SET avx512
namespace onnx_philox {
using Set = Avx512;
}
#elif defined(ONNX_PHILOX_FOR_AVX2) && ONNX_PHILOX_HAVE_AVX2
#include "avx2.h"
#define ONNX_PHILOX_SET avx2
namespace onnx_philox {
using Set = Avx2;
}
#elif defined(ONNX_PHILOX_FOR_NEON) && ONNX_PHILOX_HAVE_NEON
#include "neon.h"
#define ONNX_PHILOX_SET neon
namespace onnx_philox {
using Set = Neon;
}
#elif defined(ONNX_PHILOX_FOR_SCALAR)
#include "scalar.h"
#define ONNX_PHILOX_SET scalar
namespace onnx_philox {
using Set = Scalar;
}
#endif
