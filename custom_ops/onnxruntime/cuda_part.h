// What the rest asks of the part that draws on NVIDIA's cards, custom_ops/experimental (docs/cuda.md). Where that folder
// is missing, without_cuda.cpp stands in its place, and whoever asks for cards is refused.
#pragma once

#include <memory>
#include <string>

#include "kernel.h"

namespace onnx_philox {
namespace cuda {

/// Whether the part is built in.
constexpr bool kHasPart = ONNX_PHILOX_HAVE_CUDA_PART;

struct Driver;

/// The driver, or why there is none that can draw here.
struct Found {
  const Driver* driver;  ///< null: see `reason`
  std::string reason;    ///< a sentence without its full stop
};

/// Opens the driver at the first call of the process, and looks whether it has a card that runs the kernels.
const Found& FindDriver();

/// Whether there are kernels for an operator.
bool Draws(const Operator& op);

/// Whether the host reads an input of a node that draws on a card.
bool IsReadOnHost(const InputDeclaration& input);

/// A node that draws on a card; `kernels` are the CPU's.
std::unique_ptr<Kernel> MakeKernel(const Operator& op, const OrtApi* api, const Kernels& kernels, const Driver& driver);

}  // namespace cuda
}  // namespace onnx_philox
