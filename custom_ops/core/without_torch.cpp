// In the place of core/torch, where that folder is missing: see torch_part.h.
//
// CheckAttributes refuses every node that would draw torch's numbers, so nothing here is ever called.
#include <cstdlib>

#include "kernel_sets.h"
#include "torch_part.h"

namespace onnx_philox {

void SeedTorchState(std::uint64_t, std::uint32_t*) { std::abort(); }

void DrawTorch(const Kernels&, const Attributes&, const Arguments&, const Draw&, std::uint32_t*, const ForEach&) {
  std::abort();
}

#if ONNX_PHILOX_HAVE_AVX512
void FillTorchAvx512(TorchStream*, const TorchFill&) { std::abort(); }
#endif
#if ONNX_PHILOX_HAVE_AVX2
void FillTorchAvx2(TorchStream*, const TorchFill&) { std::abort(); }
#endif
void FillTorchPlain(TorchStream*, const TorchFill&) { std::abort(); }

}  // namespace onnx_philox
