// torch's draws for AVX2 and FMA.
#include "kernel_sets.h"

#if ONNX_PHILOX_HAVE_AVX2
#include "torch_fills.h"

namespace onnx_philox {

void FillTorchAvx2(TorchStream* stream, const TorchFill& fill) { FillTorchAny(stream, fill); }

}  // namespace onnx_philox
#endif
