// torch's draws for AVX-512, which has FMA.
#include "kernel_sets.h"

#if ONNX_PHILOX_HAVE_AVX512
#include "torch_fills.h"

namespace onnx_philox {

void FillTorchAvx512(TorchStream* stream, const TorchFill& fill) { FillTorchAny(stream, fill); }

}  // namespace onnx_philox
#endif
