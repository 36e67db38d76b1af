// The module onnx_philox._core: the core's kernels for NumPy arrays.
//
// Arguments are checked in Python (onnx_philox/_contract/checks.py); what is checked here is only what memory safety needs.
// Where there are `states`, the bytes of an array [rows, 6], counter and key are what is added to each of them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checks.h"
#include "memory.h"
#include "torch_stream.h"

namespace nb = nanobind;

namespace onnx_philox {
namespace {

/// The memory of an array, as bytes: NumPy knows the types, the core their bits.
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadOnlyBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

[[noreturn]] void Refuse(const std::string& why) { throw std::invalid_argument("onnx_philox._core: " + why); }

ElementType TypeNamed(const std::string& name) {
  for (int i = 0; i < kOutputTypes; ++i) {
    const ElementType type = ElementTypeOf(static_cast<OutputType>(i));
    if (name == ElementTypeName(type)) return type;
  }
  Refuse("no element type " + name);
}

const Operator& OperatorNamed(const std::string& name) {
  for (const Operator* op : kAllOperators) {
    if (name == op->name) return *op;
  }
  Refuse("no operator " + name);
}

const Kernels& KernelsOrThrow() {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) {
    throw std::runtime_error(selection.error);
  }
  return *selection.kernels;
}

/// States of rows: the words of an array [rows, 6]. Without them, a draw has one state.
using States = std::optional<ReadOnlyBytes>;

/// A parameter, or the shape where rows are drawn: its name, type, shape and bytes.
using Number = std::tuple<std::string, std::string, std::vector<std::int64_t>, ReadOnlyBytes>;

void ThrowIf(const std::string& error) {
  if (!error.empty()) Refuse(error);
}

/// The bytes of an array of this shape and type; those past 2^63-1 are as many.
std::uint64_t BytesOf(const std::vector<std::int64_t>& shape, ElementType type) {
  std::uint64_t bytes = 1;
  for (int i = 0; i < kOutputTypes; ++i) {
    if (ElementTypeOf(static_cast<OutputType>(i)) == type) bytes = ElementSize(static_cast<OutputType>(i));
  }
  constexpr std::uint64_t kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (const std::int64_t d : shape) {
    if (d < 0) Refuse("a negative dimension");
    if (d == 0) return 0;
    bytes = bytes > kMost / static_cast<std::uint64_t>(d) ? kMost : bytes * static_cast<std::uint64_t>(d);
  }
  return bytes;
}

/// Checks what memory safety needs: types, shapes and single numbers. Python has looked at all of them.
Arguments ArgumentsOf(const Operator& op, const Attributes& attributes, std::int64_t elements,
                      const std::vector<Number>& numbers) {
  Arguments arguments;
  bool is_given[kMaxInputs] = {};
  if (IndexOf(op, Role::kShape) >= 0) {
    // The elements, in one dimension.
    arguments.output.rank = 1;
    arguments.output.dimension[0] = elements;
  }
  for (const auto& [name, type_name, shape, bytes] : numbers) {
    int index = 0;
    const auto is_it = [&op, &name = name](const InputDeclaration& input) {
      return name == input.name && (input.is_parameter() || (op.draws_rows && input.role == Role::kShape));
    };
    while (index < op.inputs && !is_it(op.input[index])) ++index;
    if (index == op.inputs) Refuse(std::string(op.name) + " has no parameter " + name);
    const ElementType type = TypeNamed(type_name);
    if (bytes.size() < BytesOf(shape, type)) Refuse("fewer bytes than " + name + " has");
    const Known known{type, static_cast<int>(shape.size()), shape.data(), bytes.data()};
    ThrowIf(CheckInput(op, index, known, attributes, &arguments, nullptr, ManyNumbers::kTrust));
    is_given[index] = true;
  }
  for (int i = 0; i < op.inputs; ++i) {
    if (op.input[i].is_parameter() && !is_given[i]) ThrowIf(CheckLeftOut(op, i, attributes));
  }
  ThrowIf(CheckTogether(op, attributes, arguments));
  const std::int64_t* const output = arguments.output.dimension;
  ThrowIf(CheckDimensions(op, output, arguments.output.rank, attributes.output, &arguments.dimensions));
  if (arguments.dimensions.elements != elements) Refuse("as many values as " + std::string(op.name) + " draws");
  return arguments;
}

using GivenIntegers = std::map<std::string, std::int64_t>;

/// The attributes of a draw of values of that type.
Attributes AttributesOf(const Operator& op, const std::string& type_name, const GivenIntegers& integers) {
  GivenAttributes given;
  for (int i = 0; i < op.attributes; ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    const auto found = integers.find(declared.name);
    if (declared.role == AttributeRole::kOutputType) given[declared.role] = GivenAttribute::Text(type_name);
    if (found != integers.end()) given[declared.role] = GivenAttribute::Integer(found->second);
  }
  Attributes attributes;
  ThrowIf(CheckAttributes(op, given, &attributes));
  TakeOutputType(op, TypeNamed(type_name), &attributes);
  if (TypeNamed(type_name) != ElementTypeOf(attributes.output)) Refuse(std::string(op.name) + " draws no " + type_name);
  return attributes;
}

void FillDraw(const std::vector<Bytes>& outs, const std::string& name, const std::string& type_name, std::uint64_t counter_low,
              std::uint64_t counter_high, std::uint64_t key, const std::vector<Number>& numbers,
              const GivenIntegers& integers, const States& states) {
  const Operator& op = OperatorNamed(name);
  const Attributes attributes = AttributesOf(op, type_name, integers);
  if (static_cast<int>(outs.size()) != op.state_output()) Refuse(name + " has another number of outputs");
  const std::uint64_t elements = outs[0].size() / ElementSize(attributes.output);
  if (op.has_mask() && outs[1].size() != elements) Refuse("a byte of the second output for each element of the first");
  const Arguments arguments = ArgumentsOf(op, attributes, static_cast<std::int64_t>(elements), numbers);
  Draw draw = DrawOf(op, attributes, arguments, outs[0].data(), op.has_mask() ? outs[1].data() : nullptr);
  draw.state = State{{counter_low, counter_high}, key};
  if (states.has_value()) {
    const std::uint64_t rows = states->size() / (kStateWords * sizeof(std::uint32_t));
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(states->data()) % alignof(std::uint32_t) == 0;
    if (!is_aligned || rows == 0 || elements % rows != 0) {
      Refuse("no states for whole rows");
    }
    draw.rows = Rows{reinterpret_cast<const std::uint32_t*>(states->data()), elements / rows};
  }
  const Kernels& kernels = KernelsOrThrow();
  nb::gil_scoped_release released;
  Fill(kernels, draw, 0, elements);
}

/// What an operator draws from one state, its parameters single numbers: all is known but the state and the memory.
class Prepared {
 public:
  Prepared(const std::string& name, const std::string& type_name, const std::vector<Number>& numbers,
           const GivenIntegers& integers) {
    const Operator& op = OperatorNamed(name);
    const Attributes attributes = AttributesOf(op, type_name, integers);
    draw_ = DrawOf(op, attributes, ArgumentsOf(op, attributes, 0, numbers), nullptr);
    for (const Argument& argument : draw_.given) {
      if (argument.each()) Refuse("more than one number");
    }
  }

  /// Fills memory that Python's buffer protocol gives, and returns the next counter.
  std::pair<std::uint64_t, std::uint64_t> Fill(nb::handle out, std::uint64_t counter_low, std::uint64_t counter_high,
                                               std::uint64_t key) const {
    Py_buffer memory;
    if (PyObject_GetBuffer(out.ptr(), &memory, PyBUF_CONTIG) != 0) throw nb::python_error();
    const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> released(&memory, &PyBuffer_Release);
    if (static_cast<std::uint64_t>(memory.itemsize) != ElementSize(draw_.type)) Refuse("elements of another size");
    const Kernels& kernels = KernelsOrThrow();
    const std::uint64_t elements = static_cast<std::uint64_t>(memory.len) / ElementSize(draw_.type);
    Draw draw = draw_;
    draw.state = State{{counter_low, counter_high}, key};
    draw.out = memory.buf;
    if (elements > 0) {
      nb::gil_scoped_release unlocked;
      onnx_philox::Fill(kernels, draw, 0, elements);
    }
    const State next = NextState(draw, draw.state, elements);
    return {next.counter.low, next.counter.high};
  }

 private:
  Draw draw_;
};

Distribution TorchDistributionNamed(const std::string& name) {
  if (name == "uniform") return Distribution::kUniform;
  if (name == "normal") return Distribution::kNormal;
  if (name == "exponential") return Distribution::kExponential;
  if (name == "bernoulli") return Distribution::kBernoulli;
  if (name == "permutation") return Distribution::kPermutation;
  Refuse("torch's generator draws no " + name);
}

/// Whether torch's generator draws values of that type.
bool IsDrawn(Distribution distribution, OutputType type) {
  const bool is_integer = type == OutputType::kI32 || type == OutputType::kI64;
  if (distribution == Distribution::kBernoulli) return type == OutputType::kBool;
  if (distribution == Distribution::kPermutation) return is_integer;
  if (type == OutputType::kBool) return false;
  return distribution == Distribution::kUniform || !(is_integer || type == OutputType::kBits);
}

static_assert(kTorchGeneratorWords == kTorchStateWords, "as the declaration says");

/// torch's CPU generator while numbers are drawn from it.
class PythonTorchStream {
 public:
  /// From the bytes of a state, which Python has checked.
  explicit PythonTorchStream(ReadOnlyBytes state) {
    ReadTorchState(reinterpret_cast<const std::uint32_t*>(Words(state.data(), state.size())), &stream_);
    if (stream_.used > kMtWords) Refuse("no place in 624 words");
  }

  /// The classes that win a race, of rows of f32 weights.
  void Race(Bytes out, ReadOnlyBytes weights, std::uint64_t classes, std::uint64_t samples) {
    TorchFill fill{};
    fill.distribution = Distribution::kCategorical;
    fill.type = OutputType::kI64;
    fill.elements = out.size() / sizeof(std::int64_t);
    fill.classes = classes;
    fill.samples = samples;
    if (samples < 1 || samples > classes || fill.elements % samples != 0) Refuse("no rows of samples");
    if (weights.size() / sizeof(float) / classes < fill.elements / samples) Refuse("fewer weights than rows have");
    fill.p = weights.data();
    fill.out = out.data();
    const Kernels& kernels = KernelsOrThrow();
    nb::gil_scoped_release released;
    const std::lock_guard<std::mutex> locked(mutex_);
    FillTorch(kernels, &stream_, fill);
  }

  void Fill(Bytes out, const std::string& distribution, const std::string& type, double first, double second,
            std::uint64_t low, std::uint64_t high, std::optional<ReadOnlyBytes> p, bool is_p_f64) {
    TorchFill fill{};
    fill.distribution = TorchDistributionNamed(distribution);
    fill.type = OutputTypeNamed(type);
    if (!IsDrawn(fill.distribution, fill.type)) Refuse(distribution + " values are of no " + type);
    fill.elements = out.size() / ElementSize(fill.type);
    fill.first = first;
    fill.second = second;
    fill.bounds = Bounds{low, high};
    const bool is_integer = fill.type == OutputType::kI32 || fill.type == OutputType::kI64;
    if (fill.distribution == Distribution::kUniform && is_integer && low == high) Refuse("no integers");
    fill.p_type = is_p_f64 ? OutputType::kF64 : OutputType::kF32;
    if (p.has_value()) {
      if (p->size() / ElementSize(fill.p_type) < fill.elements) Refuse("fewer probabilities than values");
      fill.p = p->data();
    }
    fill.out = out.data();
    const Kernels& kernels = KernelsOrThrow();
    nb::gil_scoped_release released;
    const std::lock_guard<std::mutex> locked(mutex_);
    FillTorch(kernels, &stream_, fill);
  }

  /// Writes where it is over the state that it began with.
  void Write(Bytes state) {
    nb::gil_scoped_release released;
    const std::lock_guard<std::mutex> locked(mutex_);
    WriteTorchState(stream_, reinterpret_cast<std::uint32_t*>(Words(state.data(), state.size())));
  }

 private:
  static OutputType OutputTypeNamed(const std::string& name) {
    if (name == "bits") return OutputType::kBits;
    for (int i = 1; i < kOutputTypes; ++i) {
      if (name == ElementTypeName(ElementTypeOf(static_cast<OutputType>(i)))) return static_cast<OutputType>(i);
    }
    Refuse("no element type " + name);
  }

  template <class Byte>
  static Byte* Words(Byte* state, std::size_t size) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(state) % alignof(std::uint32_t) == 0;
    if (!is_aligned || size != kTorchGeneratorWords * sizeof(std::uint32_t)) Refuse("no state of torch's generator");
    return state;
  }

  std::mutex mutex_;
  TorchStream stream_;
};

}  // namespace
}  // namespace onnx_philox

NB_MODULE(_core, module) {
  module.doc() = "The native core: kernels that fill memory with a draw.";
  // What Python keeps until it ends is no leak.
  nb::set_leak_warnings(false);
  module.def("fill", &onnx_philox::FillDraw, nb::arg("outs"), nb::arg("operator"), nb::arg("type"),
             nb::arg("counter_low"), nb::arg("counter_high"), nb::arg("key"), nb::arg("numbers"),
             nb::arg("attributes"), nb::arg("states").noconvert().none() = nb::none(),
             "Fills bytes with what an operator draws, of each output. Its parameters are numbers, each with its name, type, shape and "
             "bytes. Which numbers they are is not checked where there may be many.");
  nb::class_<onnx_philox::Prepared>(module, "Prepared",
                                    "What an operator draws from one state, its parameters single numbers.")
      .def(nb::init<const std::string&, const std::string&, const std::vector<onnx_philox::Number>&,
                    const onnx_philox::GivenIntegers&>(),
           nb::arg("operator"), nb::arg("type"), nb::arg("numbers"), nb::arg("attributes"))
      .def("fill", &onnx_philox::Prepared::Fill, nb::arg("out"), nb::arg("counter_low"), nb::arg("counter_high"),
           nb::arg("key"), "Fills writable, contiguous memory; returns the low and the high half of the next counter.");
  nb::class_<onnx_philox::PythonTorchStream>(module, "TorchStream", "torch's CPU generator while numbers are drawn from it.")
      .def(nb::init<onnx_philox::ReadOnlyBytes>(), nb::arg("state"))
      .def("fill", &onnx_philox::PythonTorchStream::Fill, nb::arg("out"), nb::arg("distribution"), nb::arg("type"),
           nb::arg("first") = 0.0, nb::arg("second") = 0.0, nb::arg("low") = 0, nb::arg("high") = 0,
           nb::arg("p").noconvert().none() = nb::none(), nb::arg("is_p_f64") = false,
           "Fills bytes with one call of torch's: see torch_stream.h.")
      .def("race", &onnx_philox::PythonTorchStream::Race, nb::arg("out"), nb::arg("weights"), nb::arg("classes"),
           nb::arg("samples"), "Fills int64 with the classes that win a race, from rows of float32 weights.")
      .def("write", &onnx_philox::PythonTorchStream::Write, nb::arg("state"),
           "Writes where it is over the bytes of the state that it began with.");
  nb::list operators;
  for (const onnx_philox::Operator* op : onnx_philox::kAllOperators) operators.append(op->name);
  module.attr("OPERATORS") = nb::steal<nb::object>(PyFrozenSet_New(operators.ptr()));
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
