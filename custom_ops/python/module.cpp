// The module onnx_philox._core: the core's kernels for NumPy arrays.
//
// Arguments are checked in Python (onnx_philox/_checks.py); what is checked here is only what memory safety needs.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels.h"
#include "operators.h"

namespace nb = nanobind;

namespace onnx_philox {
namespace {

/// The memory of an output, as bytes: NumPy knows the types, the core their bits.
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

OutputType TypeNamed(const std::string& name) {
  for (int i = 0; i < kOutputTypes; ++i) {
    const OutputType type = static_cast<OutputType>(i);
    if (name == ElementTypeName(ElementTypeOf(type))) {
      return type;
    }
  }
  throw std::invalid_argument("onnx_philox._core: no element type " + name);
}

const Kernels& KernelsOrThrow() {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) {
    throw std::runtime_error(selection.error);
  }
  return *selection.kernels;
}

void FillBytes(const Bytes& out, const std::string& type_name, std::uint64_t counter_low,
               std::uint64_t counter_high, std::uint64_t key, std::uint64_t minval, std::uint64_t maxval) {
  const OutputType type = TypeNamed(type_name);
  const Draw draw =
      UniformDraw(State{{counter_low, counter_high}, key}, type, Bounds{minval, maxval}, out.data());
  const std::string error = type == OutputType::kBits ? std::string() : CheckBounds(type, draw.bounds);
  if (!error.empty()) {
    throw std::invalid_argument("onnx_philox._core: the draw " + error);
  }
  const Kernels& kernels = KernelsOrThrow();
  const std::uint64_t elements = out.size() / ElementSize(type);
  nb::gil_scoped_release released;
  Fill(kernels, draw, 0, elements);
}

}  // namespace
}  // namespace onnx_philox

NB_MODULE(_core, module) {
  module.doc() = "The native core: kernels that fill memory with a draw.";
  module.def("fill", &onnx_philox::FillBytes, nb::arg("out").noconvert(), nb::arg("type"), nb::arg("counter_low"),
             nb::arg("counter_high"), nb::arg("key"), nb::arg("minval") = 0, nb::arg("maxval") = 0,
             "Fills bytes with a draw; bounds are bit patterns of the type, zero-extended.");
  module.def(
      "isa", [] { return std::string(onnx_philox::KernelsOrThrow().name); },
      "The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one.");
}
