// Kernels of draws that reject words.
#include "set.h"

#ifdef ONNX_PHILOX_SET
#include "gamma.h"
#include "poisson.h"

namespace onnx_philox {
namespace ONNX_PHILOX_SET {

void FillGammas(const Piece& piece) {
  if (piece.draw.type != OutputType::kF32 && piece.draw.type != OutputType::kF64) NoRule();
  onnx_philox::FillGammas<Set, kGammaAttempts>(piece);
}

void FillPoissonCounts(const Piece& piece) {
  if (piece.draw.type != OutputType::kI32 && piece.draw.type != OutputType::kI64) NoRule();
  onnx_philox::FillPoissonCounts<Set, kPoissonAttempts>(piece);
}

}  // namespace ONNX_PHILOX_SET
}  // namespace onnx_philox
#endif
