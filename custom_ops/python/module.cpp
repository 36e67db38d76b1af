// The module onnx_philox._core: the core's kernels for NumPy arrays.
//
// Arguments are checked in Python (onnx_philox/_contract/checks.py); what is checked here is only what memory safety needs.
// Where there are `states`, the bytes of an array [rows, 6], counter and key are what is added to each of them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "element_types.h"
#include "kernels.h"
#include "memory.h"
#include "operators.h"
#include "values.h"

namespace nb = nanobind;

namespace onnx_philox {
namespace {

/// The memory of an array, as bytes: NumPy knows the types, the core their bits.
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadOnlyBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument("onnx_philox._core: " + why); }

OutputType TypeNamed(const std::string& name) {
  for (int i = 0; i < kOutputTypes; ++i) {
    const OutputType type = static_cast<OutputType>(i);
    if (name == ElementTypeName(ElementTypeOf(type))) {
      return type;
    }
  }
  Refuse("no element type " + name);
}

const Kernels& KernelsOrThrow() {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) {
    throw std::runtime_error(selection.error);
  }
  return *selection.kernels;
}

State StateOf(std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key) {
  return State{{counter_low, counter_high}, key};
}

std::uint64_t ElementsOf(const Bytes& out, OutputType type) { return out.size() / ElementSize(type); }

/// Numbers that a draw reads: at least `count` of them.
Numbers NumbersOf(const ReadOnlyBytes& bytes, const std::string& type_name, std::uint64_t count) {
  const OutputType type = TypeNamed(type_name);
  if (type != OutputType::kF16 && type != OutputType::kF32 && type != OutputType::kF64) {
    Refuse("no numbers of " + type_name);
  }
  if (bytes.size() / ElementSize(type) < count) {
    Refuse("fewer numbers than the draw reads");
  }
  return Numbers{type, bytes.data()};
}

/// States of rows: the words of an array [rows, 6]. Without them, a draw has one state.
using States = std::optional<ReadOnlyBytes>;

void FillAll(Draw draw, std::uint64_t elements, const States& states) {
  const Kernels& kernels = KernelsOrThrow();
  if (states.has_value()) {
    const std::uint64_t rows = states->size() / (kStateWords * sizeof(std::uint32_t));
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(states->data()) % alignof(std::uint32_t) == 0;
    if (!is_aligned || rows == 0 || elements % rows != 0) {
      Refuse("no states for whole rows");
    }
    draw.rows = Rows{reinterpret_cast<const std::uint32_t*>(states->data()), elements / rows};
  }
  nb::gil_scoped_release released;
  Fill(kernels, draw, 0, elements);
}

void FillUniform(const Bytes& out, const std::string& type_name, std::uint64_t counter_low,
                 std::uint64_t counter_high, std::uint64_t key, std::uint64_t minval, std::uint64_t maxval,
                 const States& states) {
  const OutputType type = TypeNamed(type_name);
  const Bounds bounds{minval, maxval};
  if (RangeProblemOf(type, bounds) != RangeProblem::kNone) {
    Refuse("the bounds are no range of " + type_name);
  }
  FillAll(UniformDraw(StateOf(counter_low, counter_high, key), type, bounds, out.data()), ElementsOf(out, type),
          states);
}

/// The distribution of an operator that has moments.
Distribution AffineOf(const std::string& operator_name) {
  for (const Operator* op : kAllOperators) {
    if (operator_name == op->name && IndexOf(*op, Role::kMoment) >= 0) return op->distribution;
  }
  Refuse("no operator of moments " + operator_name);
}

void FillAffine(const Bytes& out, const std::string& operator_name, const std::string& type_name,
                std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key, std::uint64_t mean,
                std::uint64_t scale, const States& states) {
  const Distribution distribution = AffineOf(operator_name);
  const OutputType type = TypeNamed(type_name);
  FillAll(AffineDraw(StateOf(counter_low, counter_high, key), distribution, type, Affine{mean, scale}, out.data()),
          ElementsOf(out, type), states);
}

void FillBernoulli(const Bytes& out, std::uint64_t counter_low, std::uint64_t counter_high, std::uint64_t key,
                   const ReadOnlyBytes& p, const std::string& p_type, bool each, const States& states) {
  const Numbers numbers = NumbersOf(p, p_type, each ? out.size() : 1);
  if (numbers.type == OutputType::kF16) {
    Refuse("no probabilities of f16");
  }
  FillAll(BernoulliDraw(StateOf(counter_low, counter_high, key), Probabilities{numbers, each}, out.data()), out.size(),
          states);
}

void FillCategorical(const Bytes& out, const std::string& type_name, std::uint64_t counter_low,
                     std::uint64_t counter_high, std::uint64_t key, const ReadOnlyBytes& logits,
                     const std::string& logits_type, std::uint64_t classes, std::uint64_t samples,
                     const States& states) {
  const OutputType type = TypeNamed(type_name);
  if (type != OutputType::kI32 && type != OutputType::kI64) {
    Refuse("no classes of " + type_name);
  }
  const std::uint64_t elements = ElementsOf(out, type);
  if (elements == 0) {
    return;
  }
  if (classes == 0 || samples == 0 || elements % samples != 0) {
    Refuse("no classes, or no whole rows");
  }
  const std::uint64_t rows = elements / samples;
  if (classes > logits.size() / rows) {  // so that their product does not wrap
    Refuse("fewer numbers than the draw reads");
  }
  const Numbers numbers = NumbersOf(logits, logits_type, rows * classes);
  FillAll(CategoricalDraw(StateOf(counter_low, counter_high, key), type, Logits{numbers, classes, samples}, out.data()),
          elements, states);
}

}  // namespace
}  // namespace onnx_philox

NB_MODULE(_core, module) {
  module.doc() = "The native core: kernels that fill memory with a draw.";
  module.def("fill_uniform", &onnx_philox::FillUniform, nb::arg("out").noconvert(), nb::arg("type"),
             nb::arg("counter_low"), nb::arg("counter_high"), nb::arg("key"), nb::arg("minval") = 0,
             nb::arg("maxval") = 0, nb::arg("states").noconvert().none() = nb::none(),
             "Fills bytes with random bits, or numbers in a range; bounds are bit patterns of the type, zero-extended.");
  module.def("fill_affine", &onnx_philox::FillAffine, nb::arg("out").noconvert(), nb::arg("operator"), nb::arg("type"),
             nb::arg("counter_low"), nb::arg("counter_high"), nb::arg("key"), nb::arg("mean"), nb::arg("scale"),
             nb::arg("states").noconvert().none() = nb::none(),
             "Fills bytes with what an operator of two moments draws; they are bit patterns of the type, zero-extended.");
  module.def("fill_bernoulli", &onnx_philox::FillBernoulli, nb::arg("out").noconvert(), nb::arg("counter_low"),
             nb::arg("counter_high"), nb::arg("key"), nb::arg("p").noconvert(), nb::arg("p_type"), nb::arg("each"),
             nb::arg("states").noconvert().none() = nb::none(),
             "Fills bytes with 0 and 1, by one probability or one for each.");
  module.def("fill_categorical", &onnx_philox::FillCategorical, nb::arg("out").noconvert(), nb::arg("type"),
             nb::arg("counter_low"), nb::arg("counter_high"), nb::arg("key"), nb::arg("logits").noconvert(),
             nb::arg("logits_type"), nb::arg("classes"), nb::arg("samples"),
             nb::arg("states").noconvert().none() = nb::none(),
             "Fills bytes with classes, so many samples of each row of logits.");
  module.attr("ALWAYS_THERE") = onnx_philox::kAlwaysThere;
  module.def(
      "memory",
      [](const std::string& root) {
        const onnx_philox::Memory memory = onnx_philox::FindMemory(root.c_str());
        return nb::make_tuple(memory.free, memory.address, memory.held);
      },
      nb::arg("root") = "", "What memory is free, addressable and held; 2^64-1 for no limit. Files are read below `root`.");
  module.def(
      "isa", [] { return std::string(onnx_philox::KernelsOrThrow().name); },
      "The instruction set whose kernels run here; ONNX_PHILOX_ISA forces one.");
}
