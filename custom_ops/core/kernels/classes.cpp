// Kernels of classes that are drawn by logits.
#include "set.h"

#ifdef ONNX_PHILOX_SET
#include "categorical.h"
#include "token.h"

namespace onnx_philox {
namespace {

template <class From>
void FillClassesFrom(const Piece& piece) {
  if (piece.draw.distribution == Distribution::kToken) return FillTokens<Set, From, kSureBits>(piece);
  FillCategorical<Set, From>(piece);
}

}  // namespace

namespace ONNX_PHILOX_SET {

void FillClasses(const Piece& piece) {
  if (piece.draw.rows.words == nullptr) return FillClassesFrom<FromOneState<Set>>(piece);
  FillClassesFrom<FromRows<Set>>(piece);
}

void WriteWeights(const Draw& draw, std::uint64_t row, float* weights) {
  onnx_philox::WriteWeights<Set>(draw, row, weights);
}

}  // namespace ONNX_PHILOX_SET
}  // namespace onnx_philox
#endif
