// Kernels of permutations.
#include "set.h"

#ifdef ONNX_PHILOX_SET
#include "permutation.h"

namespace onnx_philox {
namespace ONNX_PHILOX_SET {

void FillPermutations(const Piece& piece) {
  if (piece.draw.type != OutputType::kI32 && piece.draw.type != OutputType::kI64) NoRule();
  if (piece.draw.rows.words == nullptr) return onnx_philox::FillPermutations<Set, FromOneState<Set>, 64>(piece);
  onnx_philox::FillPermutations<Set, FromRows<Set>, 64>(piece);
}

}  // namespace ONNX_PHILOX_SET
}  // namespace onnx_philox
#endif
