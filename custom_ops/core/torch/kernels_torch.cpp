// torch's draws in plain C++: for every processor, and for 64-bit ARM, where a compiler makes NEON's vectors of it.
#include "kernel_sets.h"
#include "torch_fills.h"

namespace onnx_philox {

void FillTorchPlain(TorchStream* stream, const TorchFill& fill) { FillTorchAny(stream, fill); }

}  // namespace onnx_philox
