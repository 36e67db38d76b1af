// Evaluates the operators from C++: by ov::Model::evaluate and compiled, of constants and of inputs, in every type, from
// many threads, through IR and through CACHE_DIR; and meets bad input. The Python tests check the
// numbers; this program compares one way of running with another. Built for the sanitizers.
//
//   onnx_philox_openvino_program LIBRARY    all but the random nodes; ends with the precisions that were real
//   onnx_philox_openvino_program --node    only what needs no plugin: all that ThreadSanitizer can judge
//   onnx_philox_openvino_program --fuzz SECONDS [SEED]    random nodes (see fuzz.cpp), without a plugin
//
// AddressSanitizer needs TBB_ENABLE_SANITIZERS=1 in the environment. ThreadSanitizer does not see how OpenVINO's own
// binaries synchronise, and reports every hand-over as a race.
#include "program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "kernels.h"
#include "openvino/op/convert.hpp"
#include "openvino/op/logical_not.hpp"
#include "openvino/pass/serialize.hpp"

namespace {

using namespace program;
using ov::op::v0::Parameter;

constexpr std::uint32_t kState[kStateWords] = {0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0x89ABCDEF, 0xFEDCBA98};

std::shared_ptr<ov::Node> StateConstant() { return std::make_shared<Constant>(ov::element::u32, ov::Shape{6}, kState); }

std::shared_ptr<ov::Node> ShapeConstant(const ov::Shape& shape) {
  const std::vector<std::int64_t> values(shape.begin(), shape.end());
  return std::make_shared<Constant>(ov::element::i64, ov::Shape{values.size()}, values);
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

/// An operator of constants, some of which are inputs of the model: shapes and states of their length, numbers of any shape
/// of their rank.
template <class Op>
Built BuildOf(const GivenAttributes& given, ov::OutputVector all, const ov::Shape& shape, const std::vector<std::size_t>& at_run) {
  ov::ParameterVector parameters;
  ov::TensorVector inputs;
  for (const std::size_t i : at_run) {
    const ov::Tensor tensor = ov::as_type_ptr<Constant>(all[i].get_node_shared_ptr())->get_tensor_view();
    const ov::Shape own = tensor.get_shape();
    inputs.emplace_back(tensor.get_element_type(), own);
    if (tensor.get_size() > 0) tensor.copy_to(inputs.back());
    const ov::PartialShape any = ov::PartialShape::dynamic(static_cast<std::int64_t>(own.size()));
    const bool is_real = tensor.get_element_type().is_real();
    parameters.push_back(std::make_shared<Parameter>(tensor.get_element_type(), is_real ? any : ov::PartialShape(own)));
    all[i] = parameters.back();
  }
  return {std::make_shared<ov::Model>(Make<Op>(given, all)->outputs(), parameters), inputs, shape};
}

/// Operators with a `shape` first and a `state` last.
template <class Op>
Built Build(const char* output_type, const ov::Shape& shape, const ov::OutputVector& between, bool inputs) {
  ov::OutputVector all{ShapeConstant(shape)};
  all.insert(all.end(), between.begin(), between.end());
  all.push_back(StateConstant());
  return BuildOf<Op>(Given(output_type), all, shape, inputs ? std::vector<std::size_t>{0, all.size() - 1} : std::vector<std::size_t>{});
}

/// Likewise, of one number each between them, as bits.
template <class Op>
Case OfNumbers(const std::string& name, const char* output_type, const char* type, const std::vector<std::uint64_t>& numbers) {
  return {name + " " + type, [=](const ov::Shape& shape, bool inputs) {
            ov::OutputVector between;
            for (const std::uint64_t& bits : numbers) {
              between.push_back(std::make_shared<Constant>(ov::element::Type(type), ov::Shape{}, &bits));
            }
            return Build<Op>(output_type, shape, between, inputs);
          }};
}

/// Numbers from `first` on, in another order, so many steps of a size apart.
std::shared_ptr<ov::Node> Numbers(ov::element::Type type, const ov::Shape& shape, double first, double step) {
  std::vector<double> values(ov::shape_size(shape));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i * 7 % 101) * step;
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
Built Categorical(const char* output_type, ov::element::Type type, const ov::Shape& shape, bool inputs) {
  const std::size_t samples = std::max<std::size_t>(ov::shape_size(shape), 1);
  std::vector<std::size_t> at_run;
  if (inputs) at_run.push_back(1);
  // The plugin would round f64 logits that are no constant.
  if (inputs && type != ov::element::f64) at_run.push_back(0);
  const ov::OutputVector all{Numbers(type, {3, 13}, -5.1, 0.1), StateConstant()};
  return BuildOf<NodeOf<kRandomCategorical>>(Given(output_type, 3, static_cast<std::int64_t>(samples)), all, {3, samples}, at_run);
}

/// Data of any shape. They, and what they are multiplied by, are the same in every type: a device that computes in
/// f16, as ARM's does by itself, rounds the data of a model.
Built Dropout(ov::element::Type type, const ov::Shape& shape, bool inputs) {
  const ov::OutputVector all{Numbers(type, shape, -5, 0.125), Number(0.5F), StateConstant()};
  return BuildOf<NodeOf<kRandomDropout>>(Given(nullptr), all, shape, inputs ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{});
}

/// As many rows as a shape has elements, up to 2,000: the tokens are [rows, 1]. All numbers are the same in f16.
Built Token(const char* output_type, ov::element::Type type, const ov::Shape& of_rows, bool inputs) {
  const std::size_t rows = std::min<std::size_t>(ov::shape_size(of_rows), 2000);
  std::vector<std::int64_t> counts(rows);
  for (std::size_t i = 0; i < rows; ++i) counts[i] = static_cast<std::int64_t>(i % 15);
  const auto top_k = std::make_shared<Constant>(ov::element::i64, ov::Shape{rows}, counts);
  const ov::OutputVector all{Numbers(type, {rows, 13}, -5, 0.125), Number(0.5F), top_k, Number(0.75F), Number(0.0625F), StateConstant()};
  return BuildOf<NodeOf<kRandomToken>>(Given(output_type), all, {rows, 1}, inputs ? std::vector<std::size_t>{0, 5} : std::vector<std::size_t>{});
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const TwoNumbers& n : kTwoNumbers) {
    cases.push_back(OfNumbers<NodeOf<kRandomUniform>>("uniform", n.type, n.type, {n.first, n.second}));
    if (n.type[0] == 'i') continue;
    cases.push_back(OfNumbers<NodeOf<kRandomNormal>>("normal", n.type, n.type, {n.first, n.second}));
    cases.push_back(OfNumbers<NodeOf<kRandomExponential>>("exponential", n.type, n.type, {n.second}));
  }
  cases.push_back(OfNumbers<NodeOf<kRandomBernoulli>>("bernoulli", nullptr, "f32", {0x3E99999A}));
  cases.push_back(OfNumbers<NodeOf<kRandomBernoulli>>("bernoulli", nullptr, "f64", {0x3FD3333333333333}));
  cases.push_back(OfNumbers<NodeOf<kRandomGamma>>("gamma as f32 of", "f32", "f32", {0x40200000}));
  cases.push_back(OfNumbers<NodeOf<kRandomGamma>>("gamma as f64 of", "f64", "f32", {0x40200000}));
  cases.push_back(OfNumbers<NodeOf<kRandomPoisson>>("poisson", "i32", "f32", {0x42C80000}));
  cases.push_back({"poisson each", [](const ov::Shape& shape, bool inputs) {
                     return Build<NodeOf<kRandomPoisson>>("i64", shape, {Numbers(ov::element::f32, shape, 0, 0.0099)}, inputs);
                   }});
  for (const ov::element::Type type : {ov::element::f32, ov::element::f64}) {
    cases.push_back({"bernoulli each " + type.to_string(), [type](const ov::Shape& shape, bool inputs) {
                       // A large constant of f64 is refused.
                       const bool small = ov::shape_size(shape) <= 4096;
                       const auto p = Numbers(small ? type : ov::element::f32, shape, 0, 0.0099);
                       return Build<NodeOf<kRandomBernoulli>>(nullptr, shape, {p}, inputs);
                     }});
  }
  for (const char* const output_type : {"i32", "i64"}) {
    cases.push_back({std::string("permutation ") + output_type, [output_type](const ov::Shape& shape, bool inputs) {
                       // Of any shape: as many rows as its first dimension.
                       const std::size_t rows = shape.empty() ? 1 : shape[0];
                       const ov::Shape of_rows{rows, rows == 0 ? 3 : ov::shape_size(shape) / rows};
                       return Build<NodeOf<kRandomPermutation>>(output_type, of_rows, {}, inputs);
                     }});
  }
  for (const ov::element::Type type : {ov::element::f32, ov::element::f16, ov::element::bf16, ov::element::f64}) {
    const char *const wide = type == ov::element::f16 ? "i64" : "i32", *const narrow = type == ov::element::f16 ? "i32" : "i64";
    const auto add = [&](const char* name, const char* output_type, const auto& build) {
      cases.push_back({name + type.to_string(), [=](const ov::Shape& shape, bool inputs) { return build(output_type, type, shape, inputs); }});
    };
    if (type != ov::element::bf16) add("categorical ", wide, Categorical);
    if (type == ov::element::f64) continue;
    add("token ", narrow, Token);
    add("dropout ", nullptr, [](const char*, const auto&... given) { return Dropout(given...); });
  }
  return cases;
}

/// Those that are tried (share.h).
std::vector<Case> Cases() {
  const std::vector<Case> all = AllCases();
  std::vector<Case> tried;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (share::Has(i)) tried.push_back(all[i]);
  }
  return tried;
}

std::vector<std::string> Evaluate(const Built& built) {
  const ov::TensorVector outputs = Evaluated(*built.model, built.inputs);
  Check(outputs[0].get_shape() == built.shape, "the output has the shape asked for");
  return Bytes(outputs);
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
          const ov::CompiledModel compiled = core.compile_model(built.model, "CPU", Config(precision));
          Check(Bytes(Run(compiled, built.inputs)) == expected, what + ", compiled for '" + precision + "'");
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
      Check(Bytes(Run(core.compile_model(model, "CPU"), built.inputs)[0]) == expected, c.name + ", the opposite");
    }
  }
}

/// Eight threads each do this twenty times.
void OnEightThreads(const std::string& what, const std::function<bool()>& is_right) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) count += is_right() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) Check(count == 0, "eight threads, one " + what);
}

void ManyThreads(ov::Core& core) {
  const Built built = Cases()[0].build({33333}, true);
  const std::vector<std::string> expected = Evaluate(built);
  const ov::CompiledModel compiled = core.compile_model(built.model, "CPU", {{"NUM_STREAMS", 2}});
  OnEightThreads("compiled model", [&] { return Bytes(Run(compiled, built.inputs)) == expected; });
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
    OnEightThreads("node of " + c.name, [&] {
      ov::TensorVector outputs;
      for (std::size_t o = 0; o + 1 < node->get_output_size(); ++o) {
        outputs.emplace_back(node->get_output_element_type(o), built.shape);
      }
      outputs.emplace_back(ov::element::u32, ov::Shape{6});
      return node->evaluate(outputs, OperatorInputs(built, *node)) && Bytes(outputs) == expected;
    });
  }
}

void ThroughFiles(const std::string& library) {
  const auto folder = std::filesystem::temp_directory_path() / ("onnx_philox_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  for (const Case& c : Cases()) {
    for (const bool inputs : {false, true}) {
      const Built built = c.build({3, 5}, inputs);
      const std::vector<std::string> expected = Evaluate(built);
      const std::string path = (folder / "model.xml").string();
      ov::pass::Serialize(path, "").run_on_model(built.model);
      for (int i = 0; i < 2; ++i) {  // the second time from the cache
        ov::Core core;
        core.add_extension(library);
        core.set_property({{"CACHE_DIR", (folder / "cache").string()}});
        ov::CompiledModel compiled = core.compile_model(path, "CPU");
        Check(compiled.get_property("LOADED_FROM_CACHE").as<bool>() == (i == 1), c.name + " cached");
        Check(Bytes(Run(compiled, built.inputs)) == expected, c.name + " through IR and cache");
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
  const auto generator = [](const ov::OutputVector& inputs) { Make<NodeOf<kRandomGenerator>>({}, inputs); };
  const auto six = ShapeConstant({6}), state = StateConstant();
  Refuses("input 'state' must be u32: got i64", [&] { generator({six, six}); });
  Refuses("got shape [5]", [&] { generator({std::make_shared<Constant>(ov::element::u32, ov::Shape{5}, kState), six}); });
  Refuses("got shape [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6]", [&] {
    const ov::Shape shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6};
    generator({std::make_shared<Constant>(ov::element::u32, shape, kState), six});
  });
  Refuses("got [-1]", [&] { generator({state, std::make_shared<Constant>(ov::element::i64, ov::Shape{1}, -1)}); });
  Refuses("9 dimensions", [&] { generator({state, ShapeConstant(ov::Shape(9, 1))}); });
  Refuses("the number of inputs must be at most 2 (state, shape): got 3", [&] { generator({state, six, six}); });
  Refuses("input 'shape' must be connected: got nothing", [&] { generator({state}); });
  Refuses("'f8'", [&] { Make<NodeOf<kRandomUniform>>(Given("f8"), {}); });
  Refuses("both 0", [&] { Make<NodeOf<kRandomUniform>>(Given("f32", 0), {six, Number(0.1F), Number(0.7F)}); });
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
  std::string real;
  try {
    ManyThreadsOneNode();
    if (what != "--node") {
      ov::Core core;
      core.add_extension(what);
      EveryTypeAndSize(core);
      Booleans(core);
      ManyThreads(core);
      ThroughFiles(what);
      BadInput();
      real = Precisions(core, what);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "FAILED: %s\n", error.what());
    return 1;
  }
  std::printf("%d checks passed\n%s\n", checks, real.c_str());
  return 0;
}
