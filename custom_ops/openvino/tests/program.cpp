// Evaluates the operators from C++: by ov::Model::evaluate and compiled, of constants and of inputs, in every type, from
// many threads, through IR and through CACHE_DIR; and meets bad input. What the numbers must be is the Python tests'
// business, here one way of running is compared with another. Built for the sanitizers.
//
//   onnx_philox_openvino_program LIBRARY
//   onnx_philox_openvino_program --node    only what needs no plugin: all that ThreadSanitizer can judge
//   onnx_philox_openvino_program --fuzz SECONDS [SEED]    random nodes (see fuzz.h), without a plugin
//
// AddressSanitizer needs TBB_ENABLE_SANITIZERS=1 in the environment. ThreadSanitizer does not see how OpenVINO's own
// binaries synchronise and takes every handing over for a race.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fuzz.h"
#include "kernels.h"
#include "openvino/core/model.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/pass/serialize.hpp"
#include "openvino/runtime/core.hpp"
#include "random_ops.h"

namespace {

using namespace onnx_philox;
using ov::op::v0::Constant;
using ov::op::v0::Parameter;

int checks = 0;

void Check(bool ok, const std::string& what) {
  ++checks;
  if (ok) return;
  std::fprintf(stderr, "FAILED: %s\n", what.c_str());
  std::exit(1);
}

constexpr std::uint32_t kState[kStateWords] = {0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0x89ABCDEF, 0xFEDCBA98};

struct Bound {
  OutputType type;
  const char* name;
  std::uint64_t minval, maxval;  // bits
};

const Bound kBounds[] = {
    {OutputType::kF32, "f32", 0x3DCCCCCD, 0x3F333333},
    {OutputType::kF16, "f16", 0x2E66, 0x399A},
    {OutputType::kBF16, "bf16", 0x3DCD, 0x3F33},
    {OutputType::kF64, "f64", 0x3FB999999999999A, 0x3FE6666666666666},
    {OutputType::kI32, "i32", 0xFFFFFFF9, 91},
    {OutputType::kI64, "i64", 0xFFFFFFFFFFFFFFF9, 0x10000000001},
};

ov::element::Type TypeOf(const Bound& b) { return ov::element::Type(b.name); }

std::shared_ptr<ov::Node> BoundConstant(const Bound& b, std::uint64_t bits) {
  return std::make_shared<Constant>(TypeOf(b), ov::Shape{}, &bits);
}

std::shared_ptr<ov::Node> StateConstant() { return std::make_shared<Constant>(ov::element::u32, ov::Shape{6}, kState); }

std::shared_ptr<ov::Node> ShapeConstant(const ov::Shape& shape) {
  const std::vector<std::int64_t> values(shape.begin(), shape.end());
  return std::make_shared<Constant>(ov::element::i64, ov::Shape{values.size()}, values);
}

template <class Op>
std::shared_ptr<ov::Model> MakeModel(const GivenAttributes& given, const ov::OutputVector& inputs,
                                     const ov::ParameterVector& parameters) {
  const auto op = std::make_shared<Op>();
  op->SetAttributes(given);
  op->set_arguments(inputs);
  op->constructor_validate_and_infer_types();
  return std::make_shared<ov::Model>(op->outputs(), parameters);
}

std::shared_ptr<ov::Model> UniformModel(const Bound& b, const ov::Shape& shape, bool inputs) {
  GivenAttributes given;
  given.type = GivenAttribute::Text(b.name);
  given.op_seed = GivenAttribute::Integer(3);
  if (!inputs) {
    return MakeModel<RandomUniform>(
        given, {ShapeConstant(shape), BoundConstant(b, b.minval), BoundConstant(b, b.maxval), StateConstant()}, {});
  }
  const auto of_shape = std::make_shared<Parameter>(ov::element::i64, ov::PartialShape{ov::Dimension(shape.size())});
  const auto of_state = std::make_shared<Parameter>(ov::element::u32, ov::PartialShape{6});
  return MakeModel<RandomUniform>(
      given, {of_shape, BoundConstant(b, b.minval), BoundConstant(b, b.maxval), of_state}, {of_shape, of_state});
}

ov::TensorVector Inputs(const std::shared_ptr<ov::Model>& model, const ov::Shape& shape) {
  if (model->inputs().empty()) return {};
  ov::Tensor of_shape(ov::element::i64, ov::Shape{shape.size()}), of_state(ov::element::u32, ov::Shape{6});
  for (std::size_t i = 0; i < shape.size(); ++i) of_shape.data<std::int64_t>()[i] = static_cast<std::int64_t>(shape[i]);
  std::memcpy(of_state.data(), kState, sizeof(kState));
  return {of_shape, of_state};
}

std::string Bytes(const ov::Tensor& tensor) {
  if (tensor.get_size() == 0) return {};
  return std::string(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
}

std::vector<std::string> Evaluate(const std::shared_ptr<ov::Model>& model, const ov::Shape& shape) {
  ov::TensorVector outputs;
  for (const auto& output : model->outputs()) {
    const ov::PartialShape& partial = output.get_partial_shape();
    outputs.emplace_back(output.get_element_type(), partial.is_static() ? partial.to_shape() : ov::Shape{0});
  }
  Check(model->evaluate(outputs, Inputs(model, shape)), "evaluate");
  Check(outputs[0].get_shape() == shape, "the output has the shape asked for");
  return {Bytes(outputs[0]), Bytes(outputs[1])};
}

std::vector<std::string> Run(ov::CompiledModel& compiled, const ov::TensorVector& inputs) {
  ov::InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  return {Bytes(request.get_output_tensor(0)), Bytes(request.get_output_tensor(1))};
}

void EveryTypeAndSize(ov::Core& core) {
  for (const Bound& b : kBounds) {
    for (const ov::Shape& shape : {ov::Shape{}, ov::Shape{0}, ov::Shape{1}, ov::Shape{3, 5}, ov::Shape{70001}}) {
      const auto of_constants = UniformModel(b, shape, false), of_inputs = UniformModel(b, shape, true);
      const std::vector<std::string> expected = Evaluate(of_constants, shape);
      const std::string what = std::string(b.name) + " of rank " + std::to_string(shape.size());
      Check(Evaluate(of_inputs, shape) == expected, what + ", evaluated from inputs");
      for (const auto& model : {of_constants, of_inputs}) {
        for (const char* precision : {"f32", "bf16", "f16"}) {
          ov::CompiledModel compiled = core.compile_model(model, "CPU", {{"INFERENCE_PRECISION_HINT", precision}});
          Check(Run(compiled, Inputs(model, shape)) == expected, what + ", compiled for " + precision);
        }
      }
    }
  }
}

void ManyThreads(ov::Core& core) {
  const ov::Shape shape{33333};
  const auto model = UniformModel(kBounds[0], shape, true);
  const std::vector<std::string> expected = Evaluate(model, shape);
  ov::CompiledModel compiled = core.compile_model(model, "CPU", {{"NUM_STREAMS", 2}});
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) count += Run(compiled, Inputs(model, shape)) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) Check(count == 0, "eight threads, one compiled model");
}

/// One node evaluated from many threads, without a plugin.
void ManyThreadsOneNode() {
  const ov::Shape shape{33333};
  for (const Bound& b : kBounds) {
    const auto model = UniformModel(b, shape, true);
    const std::vector<std::string> expected = Evaluate(model, shape);
    const std::shared_ptr<ov::Node> node = model->get_results()[0]->get_input_node_shared_ptr(0);
    std::vector<std::thread> threads;
    std::vector<int> wrong(8);
    for (int& count : wrong) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          ov::TensorVector inputs = Inputs(model, shape);
          inputs.insert(inputs.begin() + 1, {ov::Tensor(TypeOf(b), ov::Shape{}), ov::Tensor(TypeOf(b), ov::Shape{})});
          ov::TensorVector outputs{ov::Tensor(TypeOf(b), shape), ov::Tensor(ov::element::u32, ov::Shape{6})};
          const bool done = node->evaluate(outputs, inputs);
          count += done && Bytes(outputs[0]) == expected[0] && Bytes(outputs[1]) == expected[1] ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : wrong) Check(count == 0, std::string(b.name) + ": eight threads, one node");
  }
}

void ThroughFiles(const std::string& library) {
  const auto folder = std::filesystem::temp_directory_path() / ("onnx_philox_" + std::to_string(std::rand()));
  std::filesystem::create_directories(folder);
  for (const Bound& b : kBounds) {
    for (const bool inputs : {false, true}) {
      const ov::Shape shape{3, 5};
      const auto model = UniformModel(b, shape, inputs);
      const std::vector<std::string> expected = Evaluate(model, shape);
      const std::string path = (folder / "model.xml").string();
      ov::pass::Serialize(path, "").run_on_model(model);
      for (int i = 0; i < 2; ++i) {  // the second time from the cache
        ov::Core core;
        core.add_extension(library);
        core.set_property({{"CACHE_DIR", (folder / "cache").string()}});
        ov::CompiledModel compiled = core.compile_model(path, "CPU");
        Check(compiled.get_property("LOADED_FROM_CACHE").as<bool>() == (i == 1), std::string(b.name) + " cached");
        Check(Run(compiled, Inputs(model, shape)) == expected, std::string(b.name) + " through IR and cache");
      }
    }
  }
  std::filesystem::remove_all(folder);
}

template <class F>
void Refuses(const std::string& text, F make) {
  std::string said;
  try {
    make();
  } catch (const ov::Exception& error) {
    said = error.what();
  }
  Check(said.find(text) != std::string::npos, "'" + text + "' in '" + said + "'");
}

void BadInput() {
  const auto generator = [](const std::shared_ptr<ov::Node>& state, const std::shared_ptr<ov::Node>& shape) {
    MakeModel<RandomGenerator>({}, {state, shape}, {});
  };
  const auto six = ShapeConstant({6});
  Refuses("input 'state' is i64", [&] { generator(six, six); });
  Refuses("of shape [5]", [&] { generator(std::make_shared<Constant>(ov::element::u32, ov::Shape{5}, kState), six); });
  Refuses("of shape [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6]", [&] {
    ov::Shape shape(10, 1);
    shape.push_back(6);
    generator(std::make_shared<Constant>(ov::element::u32, shape, kState), six);
  });
  Refuses("is [-1]", [&] {
    generator(StateConstant(), std::make_shared<Constant>(ov::element::i64, ov::Shape{1}, -1));
  });
  Refuses("9 dimensions", [&] { generator(StateConstant(), ShapeConstant(ov::Shape(9, 1))); });
  Refuses("the number of inputs is 3", [&] { MakeModel<RandomGenerator>({}, {StateConstant(), six, six}, {}); });
  Refuses("input 'shape' is missing", [&] { MakeModel<RandomGenerator>({}, {StateConstant()}, {}); });
  Refuses("'f8'", [&] {
    GivenAttributes given;
    given.type = GivenAttribute::Text("f8");
    MakeModel<RandomUniform>(given, {}, {});
  });
  Refuses("both 0", [&] {
    GivenAttributes given;
    given.type = GivenAttribute::Text("f32");
    const Bound& b = kBounds[0];
    MakeModel<RandomUniform>(given, {six, BoundConstant(b, b.minval), BoundConstant(b, b.maxval)}, {});
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const bool fuzz = what == "--fuzz";
  if (fuzz ? argc < 3 || argc > 4 : argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY | --node | --fuzz SECONDS [SEED]\n", argv[0]);
    return 2;
  }
  if (fuzz) {
    Fuzz(std::atof(argv[2]), argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
    return 0;
  }
  ManyThreadsOneNode();
  if (what == "--node") {
    std::printf("%d checks passed\n", checks);
    return 0;
  }
  ov::Core core;
  core.add_extension(what);
  EveryTypeAndSize(core);
  ManyThreads(core);
  ThroughFiles(what);
  BadInput();
  std::printf("%d checks passed\n", checks);
  return 0;
}
