// The kernels as PTX, which the driver compiles for any card from compute capability 7.5 on (drivers from 525 on).
#pragma once

#include <cstddef>

namespace onnx_philox {
namespace cuda {

/// kernels.ptx, ending with a NUL as cuModuleLoadData wants it; empty where it is not of these sources. See embed.cmake.
extern const unsigned char kPtx[];
extern const std::size_t kPtxBytes;  ///< without the NUL

}  // namespace cuda
}  // namespace onnx_philox
