// Evaluates the operators from C++: by ov::Model::evaluate and compiled, of constants and of inputs, in every type, from
// many threads, through IR and through CACHE_DIR; and meets bad input. The Python tests check the
// numbers; this program compares one way of running with another. Built for the sanitizers.
//
//   onnx_philox_openvino_program LIBRARY    all but the random nodes; ends with the precisions that were real
//   onnx_philox_openvino_program --node    only what needs no plugin: all that ThreadSanitizer can judge
//   onnx_philox_openvino_program --fuzz SECONDS [SEED]    random nodes (see fuzz.h), without a plugin
//
// AddressSanitizer needs TBB_ENABLE_SANITIZERS=1 in the environment. ThreadSanitizer does not see how OpenVINO's own
// binaries synchronise, and reports every hand-over as a race.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fuzz.h"
#include "kernels.h"
#include "node.h"
#include "openvino/core/model.hpp"
#include "openvino/op/constant.hpp"
#include "openvino/op/convert.hpp"
#include "openvino/op/logical_not.hpp"
#include "openvino/op/parameter.hpp"
#include "openvino/pass/serialize.hpp"
#include "openvino/runtime/core.hpp"
#include "precisions.h"

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

/// A model, what to feed it with, and the shape of its values.
struct Built {
  std::shared_ptr<ov::Model> model;
  ov::TensorVector inputs;
  ov::Shape shape;
};

/// A draw of values of a shape: of constants, or with inputs for what need not be constant.
struct Case {
  std::string name;
  std::function<Built(const ov::Shape& shape, bool inputs)> build;
};

ov::Tensor StateTensor() {
  ov::Tensor tensor(ov::element::u32, ov::Shape{6});
  std::memcpy(tensor.data(), kState, sizeof(kState));
  return tensor;
}

/// Operators with a `shape` first and a `state` last.
template <class Op>
Built Build(const GivenAttributes& given, const ov::Shape& shape, const ov::OutputVector& between, bool inputs) {
  ov::ParameterVector parameters;
  ov::OutputVector all{ShapeConstant(shape)};
  all.insert(all.end(), between.begin(), between.end());
  all.push_back(StateConstant());
  if (!inputs) return {MakeModel<Op>(given, all, {}), {}, shape};
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto of_shape = std::make_shared<Parameter>(ov::element::i64, ov::PartialShape{rank});
  const auto of_state = std::make_shared<Parameter>(ov::element::u32, ov::PartialShape{6});
  all.front() = of_shape;
  all.back() = of_state;
  ov::Tensor dimensions(ov::element::i64, ov::Shape{shape.size()});
  for (std::int64_t i = 0; i < rank; ++i) dimensions.data<std::int64_t>()[i] = static_cast<std::int64_t>(shape[i]);
  return {MakeModel<Op>(given, all, {of_shape, of_state}), {dimensions, StateTensor()}, shape};
}

GivenAttributes Given(const char* output_type) {
  GivenAttributes given;
  if (output_type != nullptr) given[AttributeRole::kOutputType] = GivenAttribute::Text(output_type);
  given[AttributeRole::kOpSeed] = GivenAttribute::Integer(3);
  return given;
}

std::shared_ptr<ov::Node> Number(const char* type, std::uint64_t bits) {
  return std::make_shared<Constant>(ov::element::Type(type), ov::Shape{}, &bits);
}

/// 0, 1/n, 2/n ... or likewise numbers around 0.
std::shared_ptr<ov::Node> Numbers(ov::element::Type type, const ov::Shape& shape, bool around_zero) {
  const std::size_t count = ov::shape_size(shape);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = around_zero ? static_cast<double>(i * 7 % 11) - 5.1 : static_cast<double>(i) / static_cast<double>(count);
  }
  return std::make_shared<Constant>(type, shape, values);
}

struct TwoNumbers {
  const char* type;
  std::uint64_t first, second;  // bits: minval and maxval, or mean and scale
};

constexpr TwoNumbers kTwoNumbers[] = {
    {"f32", 0x3DCCCCCD, 0x3F333333},
    {"f16", 0x2E66, 0x399A},
    {"bf16", 0x3DCD, 0x3F33},
    {"f64", 0x3FB999999999999A, 0x3FE6666666666666},
    {"i32", 0xFFFFFFF9, 91},
    {"i64", 0xFFFFFFFFFFFFFFF9, 0x10000000001},
};

/// The values are [rows, samples], for any shape: as many samples as it has elements.
Built Categorical(const char* output_type, ov::element::Type logits_type, const ov::Shape& shape, bool inputs) {
  const std::size_t samples = std::max<std::size_t>(ov::shape_size(shape), 1);
  GivenAttributes given = Given(output_type);
  given[AttributeRole::kSampleSize] = GivenAttribute::Integer(static_cast<std::int64_t>(samples));
  const ov::Shape of_logits{3, 13};
  const std::shared_ptr<ov::Node> logits = Numbers(logits_type, of_logits, true);
  // The plugin would round f64 logits that are no constant.
  if (!inputs || logits_type == ov::element::f64) {
    return {MakeModel<NodeOf<kRandomCategorical>>(given, {logits, StateConstant()}, {}), {}, {3, samples}};
  }
  const auto of_input = std::make_shared<Parameter>(logits_type, ov::PartialShape::dynamic(2));
  const auto of_state = std::make_shared<Parameter>(ov::element::u32, ov::PartialShape{6});
  ov::Tensor tensor(logits_type, of_logits);
  ov::as_type_ptr<Constant>(logits)->get_tensor_view().copy_to(tensor);
  return {MakeModel<NodeOf<kRandomCategorical>>(given, {of_input, of_state}, {of_input, of_state}),
          {tensor, StateTensor()},
          {3, samples}};
}

/// Data of any shape. They, and what they are multiplied by, are the same in every type: a device that computes in
/// f16, as ARM's does by itself, rounds the data of a model.
Built Dropout(ov::element::Type type, const ov::Shape& shape, bool inputs) {
  std::vector<double> integers(ov::shape_size(shape));
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<double>(i * 7 % 11) - 5;
  const auto data = std::make_shared<Constant>(type, shape, integers);
  const auto ratio = std::make_shared<Constant>(ov::element::f32, ov::Shape{}, std::vector<float>{0.5f});
  if (!inputs) return {MakeModel<NodeOf<kRandomDropout>>(Given(nullptr), {data, ratio, StateConstant()}, {}), {}, shape};
  const auto of_data = std::make_shared<Parameter>(type, ov::PartialShape::dynamic(static_cast<std::int64_t>(shape.size())));
  const auto of_state = std::make_shared<Parameter>(ov::element::u32, ov::PartialShape{6});
  ov::Tensor tensor(type, shape);
  if (tensor.get_size() > 0) data->get_tensor_view().copy_to(tensor);
  return {MakeModel<NodeOf<kRandomDropout>>(Given(nullptr), {of_data, ratio, of_state}, {of_data, of_state}),
          {tensor, StateTensor()},
          shape};
}

/// As many rows as a shape has elements, up to 2,000: the tokens are [rows, 1]. All numbers are the same in f16.
Built Token(const char* output_type, ov::element::Type logits_type, const ov::Shape& of_rows, bool inputs) {
  const ov::Shape shape{std::min<std::size_t>(ov::shape_size(of_rows), 2000), 13};
  std::vector<double> integers(ov::shape_size(shape));
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<double>(i * 7 % 11) - 5;
  const auto logits = std::make_shared<Constant>(logits_type, shape, integers);
  const auto number = [](float of) { return std::make_shared<Constant>(ov::element::f32, ov::Shape{}, &of); };
  std::vector<std::int64_t> counts(shape[0]);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<std::int64_t>(i % 15);
  const auto top_k = std::make_shared<Constant>(ov::element::i64, ov::Shape{shape[0]}, counts);
  const ov::OutputVector filters{number(0.5f), top_k, number(0.75f), number(0.0625f)};
  const auto make = [&](const std::shared_ptr<ov::Node>& data, const std::shared_ptr<ov::Node>& state,
                        const ov::ParameterVector& parameters) {
    ov::OutputVector all{data};
    all.insert(all.end(), filters.begin(), filters.end());
    all.push_back(state);
    return MakeModel<NodeOf<kRandomToken>>(Given(output_type), all, parameters);
  };
  if (!inputs) return {make(logits, StateConstant(), {}), {}, {shape[0], 1}};
  const auto of_input = std::make_shared<Parameter>(logits_type, ov::PartialShape::dynamic(2));
  const auto of_state = std::make_shared<Parameter>(ov::element::u32, ov::PartialShape{6});
  ov::Tensor tensor(logits_type, shape);
  if (tensor.get_size() > 0) logits->get_tensor_view().copy_to(tensor);
  return {make(of_input, of_state, {of_input, of_state}), {tensor, StateTensor()}, {shape[0], 1}};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const TwoNumbers& n : kTwoNumbers) {
    cases.push_back({std::string("uniform ") + n.type, [&n](const ov::Shape& shape, bool inputs) {
                       const ov::OutputVector bounds{Number(n.type, n.first), Number(n.type, n.second)};
                       return Build<NodeOf<kRandomUniform>>(Given(n.type), shape, bounds, inputs);
                     }});
    if (n.type[0] == 'i') continue;
    cases.push_back({std::string("normal ") + n.type, [&n](const ov::Shape& shape, bool inputs) {
                       const ov::OutputVector moments{Number(n.type, n.first), Number(n.type, n.second)};
                       return Build<NodeOf<kRandomNormal>>(Given(n.type), shape, moments, inputs);
                     }});
    cases.push_back({std::string("exponential ") + n.type, [&n](const ov::Shape& shape, bool inputs) {
                       return Build<NodeOf<kRandomExponential>>(Given(n.type), shape, {Number(n.type, n.second)}, inputs);
                     }});
  }
  for (const ov::element::Type type : {ov::element::f32, ov::element::f64}) {
    cases.push_back({"bernoulli " + type.to_string(), [type](const ov::Shape& shape, bool inputs) {
                       const auto p = std::make_shared<Constant>(type, ov::Shape{}, std::vector<double>{0.3});
                       return Build<NodeOf<kRandomBernoulli>>(Given(nullptr), shape, {p}, inputs);
                     }});
    cases.push_back({"bernoulli each " + type.to_string(), [type](const ov::Shape& shape, bool inputs) {
                       // A large constant of f64 is refused.
                       const bool small = ov::shape_size(shape) <= 4096;
                       const auto p = Numbers(small ? type : ov::element::f32, shape, false);
                       return Build<NodeOf<kRandomBernoulli>>(Given(nullptr), shape, {p}, inputs);
                     }});
  }
  for (const ov::element::Type type : {ov::element::f32, ov::element::f16, ov::element::bf16}) {
    cases.push_back({"dropout " + type.to_string(),
                     [type](const ov::Shape& shape, bool inputs) { return Dropout(type, shape, inputs); }});
  }
  for (const char* const output_type : {"i32", "i64"}) {
    cases.push_back({std::string("permutation ") + output_type, [output_type](const ov::Shape& shape, bool inputs) {
                       // Of any shape: as many rows as its first dimension.
                       const std::size_t rows = shape.empty() ? 1 : shape[0];
                       const ov::Shape of_rows{rows, rows == 0 ? 3 : ov::shape_size(shape) / rows};
                       return Build<NodeOf<kRandomPermutation>>(Given(output_type), of_rows, {}, inputs);
                     }});
  }
  for (const ov::element::Type type : {ov::element::f32, ov::element::f16, ov::element::f64}) {
    const char* const output_type = type == ov::element::f16 ? "i64" : "i32";
    cases.push_back({"categorical " + type.to_string(), [type, output_type](const ov::Shape& shape, bool inputs) {
                       return Categorical(output_type, type, shape, inputs);
                     }});
  }
  for (const ov::element::Type type : {ov::element::f32, ov::element::f16, ov::element::bf16}) {
    const char* const output_type = type == ov::element::f16 ? "i32" : "i64";
    cases.push_back({"token " + type.to_string(), [type, output_type](const ov::Shape& shape, bool inputs) {
                       return Token(output_type, type, shape, inputs);
                     }});
  }
  for (const char* const output_type : {"f32", "f64"}) {
    cases.push_back({std::string("gamma ") + output_type, [output_type](const ov::Shape& shape, bool inputs) {
                       return Build<NodeOf<kRandomGamma>>(Given(output_type), shape, {Number("f32", 0x40200000)}, inputs);
                     }});
  }
  for (const char* const output_type : {"i32", "i64"}) {
    cases.push_back({std::string("poisson ") + output_type, [output_type](const ov::Shape& shape, bool inputs) {
                       const bool is_one = output_type[1] == '3';
                       const auto rate = is_one ? Number("f32", 0x42C80000) : Numbers(ov::element::f32, shape, false);
                       return Build<NodeOf<kRandomPoisson>>(Given(output_type), shape, {rate}, inputs);
                     }});
  }
  return cases;
}

std::string Bytes(const ov::Tensor& tensor) {
  if (tensor.get_size() == 0) return {};
  return std::string(static_cast<const char*>(tensor.data()), tensor.get_byte_size());
}

std::vector<std::string> Evaluate(const Built& built) {
  ov::TensorVector outputs;
  for (const auto& output : built.model->outputs()) {
    const ov::PartialShape& partial = output.get_partial_shape();
    outputs.emplace_back(output.get_element_type(), partial.is_static() ? partial.to_shape() : ov::Shape{0});
  }
  Check(built.model->evaluate(outputs, built.inputs), "evaluate");
  Check(outputs[0].get_shape() == built.shape, "the output has the shape asked for");
  std::vector<std::string> all;
  for (const ov::Tensor& output : outputs) all.push_back(Bytes(output));
  return all;
}

std::vector<std::string> Run(ov::CompiledModel& compiled, const ov::TensorVector& inputs) {
  ov::InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  // infer() may lose what a node throws, on one thread.
  request.start_async();
  request.wait();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) all.push_back(Bytes(request.get_output_tensor(i)));
  return all;
}

void EveryTypeAndSize(ov::Core& core) {
  for (const Case& c : Cases()) {
    for (const ov::Shape& shape : {ov::Shape{}, ov::Shape{0}, ov::Shape{1}, ov::Shape{3, 5}, ov::Shape{70001}}) {
      const Built of_constants = c.build(shape, false), of_inputs = c.build(shape, true);
      const std::vector<std::string> expected = Evaluate(of_constants);
      const std::string what = c.name + " of rank " + std::to_string(shape.size());
      Check(Evaluate(of_inputs) == expected, what + ", evaluated from inputs");
      for (const Built& built : {of_constants, of_inputs}) {
        // How a model is prepared depends on its precision and types, not on how much it draws.
        std::vector<std::string> precisions{""};
        if (shape.size() == 2) precisions.insert(precisions.end(), {"f32", "bf16", "f16"});
        for (const std::string& precision : precisions) {
          const ov::AnyMap hint{{"INFERENCE_PRECISION_HINT", precision}};
          ov::CompiledModel compiled = core.compile_model(built.model, "CPU", precision.empty() ? ov::AnyMap{} : hint);
          Check(Run(compiled, built.inputs) == expected, what + ", compiled for '" + precision + "'");
        }
      }
    }
  }
}

/// The plugin's own operators take our booleans, which they know as bytes.
void Booleans(ov::Core& core) {
  for (const Case& c : Cases()) {
    if (c.name.find("bernoulli") == std::string::npos) continue;
    for (const bool inputs : {false, true}) {
      const Built built = c.build({3, 5}, inputs);
      std::string expected = Evaluate(built)[0];
      for (char& byte : expected) byte = byte == 0 ? 1 : 0;
      const std::shared_ptr<ov::Node> node = built.model->get_results()[0]->get_input_node_shared_ptr(0);
      const auto opposite = std::make_shared<ov::op::v1::LogicalNot>(node->output(0));
      const auto model =
          std::make_shared<ov::Model>(ov::OutputVector{opposite, node->output(1)}, built.model->get_parameters());
      ov::CompiledModel compiled = core.compile_model(model, "CPU");
      Check(Run(compiled, built.inputs)[0] == expected, c.name + ", the opposite");
    }
  }
}

void ManyThreads(ov::Core& core) {
  const Built built = Cases()[0].build({33333}, true);
  const std::vector<std::string> expected = Evaluate(built);
  ov::CompiledModel compiled = core.compile_model(built.model, "CPU", {{"NUM_STREAMS", 2}});
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) count += Run(compiled, built.inputs) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) Check(count == 0, "eight threads, one compiled model");
}

/// The tensors that the model's only operator gets: those of the parameters, and the constants.
ov::TensorVector OperatorInputs(const Built& built, const ov::Node& node) {
  ov::TensorVector inputs;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    std::shared_ptr<ov::Node> source = node.get_input_node_shared_ptr(i);
    // See AddWitness.
    if (ov::is_type<ov::op::v0::Convert>(source)) source = source->get_input_node_shared_ptr(0);
    if (const auto constant = ov::as_type_ptr<Constant>(source)) {
      inputs.push_back(constant->get_tensor_view());
    } else {
      const auto parameter = ov::as_type_ptr<Parameter>(source);
      inputs.push_back(built.inputs.at(static_cast<std::size_t>(built.model->get_parameter_index(parameter))));
    }
  }
  return inputs;
}

/// One node evaluated from many threads, without a plugin.
void ManyThreadsOneNode() {
  for (const Case& c : Cases()) {
    const Built built = c.build({33333}, true);
    const std::vector<std::string> expected = Evaluate(built);
    const std::shared_ptr<ov::Node> node = built.model->get_results()[0]->get_input_node_shared_ptr(0);
    std::vector<std::thread> threads;
    std::vector<int> wrong(8);
    for (int& count : wrong) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const ov::TensorVector inputs = OperatorInputs(built, *node);
          ov::TensorVector outputs;
          for (std::size_t o = 0; o + 1 < node->get_output_size(); ++o) {
            outputs.emplace_back(node->get_output_element_type(o), built.shape);
          }
          outputs.emplace_back(ov::element::u32, ov::Shape{6});
          bool is_right = node->evaluate(outputs, inputs);
          for (std::size_t o = 0; o < outputs.size(); ++o) is_right = is_right && Bytes(outputs[o]) == expected[o];
          count += is_right ? 0 : 1;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const int count : wrong) Check(count == 0, c.name + ": eight threads, one node");
  }
}

void ThroughFiles(const std::string& library) {
  const auto folder = std::filesystem::temp_directory_path() / ("onnx_philox_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  for (const Case& c : Cases()) {
    for (const bool inputs : {false, true}) {
      const Built built = c.build({3, 5}, inputs);
      if (inputs && built.inputs.empty()) continue;  // the same model again
      const std::vector<std::string> expected = Evaluate(built);
      const std::string path = (folder / "model.xml").string();
      ov::pass::Serialize(path, "").run_on_model(built.model);
      for (int i = 0; i < 2; ++i) {  // the second time from the cache
        ov::Core core;
        core.add_extension(library);
        core.set_property({{"CACHE_DIR", (folder / "cache").string()}});
        ov::CompiledModel compiled = core.compile_model(path, "CPU");
        Check(compiled.get_property("LOADED_FROM_CACHE").as<bool>() == (i == 1), c.name + " cached");
        Check(Run(compiled, built.inputs) == expected, c.name + " through IR and cache");
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
    MakeModel<NodeOf<kRandomGenerator>>({}, {state, shape}, {});
  };
  const auto six = ShapeConstant({6});
  Refuses("input 'state' must be u32: got i64", [&] { generator(six, six); });
  Refuses("got shape [5]", [&] { generator(std::make_shared<Constant>(ov::element::u32, ov::Shape{5}, kState), six); });
  Refuses("got shape [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6]", [&] {
    ov::Shape shape(10, 1);
    shape.push_back(6);
    generator(std::make_shared<Constant>(ov::element::u32, shape, kState), six);
  });
  Refuses("got [-1]", [&] {
    generator(StateConstant(), std::make_shared<Constant>(ov::element::i64, ov::Shape{1}, -1));
  });
  Refuses("9 dimensions", [&] { generator(StateConstant(), ShapeConstant(ov::Shape(9, 1))); });
  Refuses("the number of inputs must be at most 2 (state, shape): got 3", [&] { MakeModel<NodeOf<kRandomGenerator>>({}, {StateConstant(), six, six}, {}); });
  Refuses("input 'shape' must be connected: got nothing", [&] { MakeModel<NodeOf<kRandomGenerator>>({}, {StateConstant()}, {}); });
  Refuses("'f8'", [&] {
    GivenAttributes given;
    given[AttributeRole::kOutputType] = GivenAttribute::Text("f8");
    MakeModel<NodeOf<kRandomUniform>>(given, {}, {});
  });
  Refuses("both 0", [&] {
    GivenAttributes given;
    given[AttributeRole::kOutputType] = GivenAttribute::Text("f32");
    const TwoNumbers& n = kTwoNumbers[0];
    MakeModel<NodeOf<kRandomUniform>>(given, {six, Number(n.type, n.first), Number(n.type, n.second)}, {});
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
  Booleans(core);
  ManyThreads(core);
  ThroughFiles(what);
  BadInput();
  try {
    const std::string real = Precisions(core, what);
    std::printf("%d checks passed\n%s\n", checks, real.c_str());
  } catch (const std::exception& error) {
    Check(false, error.what());
  }
  return 0;
}
