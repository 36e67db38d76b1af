// Kernels in plain C++: for every processor.
#include "kernel_sets.h"

#include "scalar.h"

namespace onnx_philox {
namespace {

bool Always() { return true; }

}  // namespace

const Kernels kScalarKernels = {"scalar", "plain C++, any processor", Always, FillAny<Scalar>, FillTorchPlain,
                                Keep<Scalar>, WriteWeights<Scalar>};

}  // namespace onnx_philox
