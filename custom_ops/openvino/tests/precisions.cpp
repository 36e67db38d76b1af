// Draws at each inference precision. What a constant or an input of the model gives is drawn exactly; what the model computed
// is drawn as the plugin computed it; draws meet other tensors. The numbers tell a rounded parameter from an exact one: p is
// the next number above the very uniform that is drawn, so that all are true, and half of them false once p is rounded.
//
// Only a processor that lists FP16 among its OPTIMIZATION_CAPABILITIES computes in f16: ARM's do, and do so by default.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "openvino/core/graph_util.hpp"
#include "openvino/op/add.hpp"
#include "openvino/op/convert.hpp"
#include "openvino/op/if.hpp"
#include "openvino/op/loop.hpp"
#include "openvino/op/multiply.hpp"
#include "openvino/op/reshape.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/select.hpp"
#include "program.h"

namespace {

using namespace program;
using program::Evaluated, program::Make, program::Run;
using ov::op::v0::Convert;
using ov::op::v0::Parameter;
using ov::op::v0::Result;
using NodePtr = std::shared_ptr<ov::Node>;

constexpr std::size_t kCount = 4001;
const std::vector<std::string> kHints{"", "f32", "bf16", "f16"};

template <class Op>
NodePtr Make(const char* output_type, std::int64_t op_seed, const ov::OutputVector& inputs, std::int64_t samples = 0) {
  return Make<Op>(Given(output_type, op_seed, samples), inputs);
}

NodePtr Shape(std::int64_t count = kCount) {
  return std::make_shared<Constant>(ov::element::i64, ov::Shape{1}, std::vector<std::int64_t>{count});
}

NodePtr Product(float x, float y) { return std::make_shared<ov::op::v1::Multiply>(Number(x), Number(y)); }

std::shared_ptr<Parameter> Floats(const ov::Shape& shape = {kCount}) {
  return std::make_shared<Parameter>(ov::element::f32, shape);
}

ov::Tensor TensorOf(const std::vector<float>& values, const ov::Shape& shape) {
  ov::Tensor tensor(ov::element::f32, shape);
  std::memcpy(tensor.data(), values.data(), tensor.get_byte_size());
  return tensor;
}

std::vector<float> FloatsOf(const ov::Tensor& tensor) {
  const float* const data = tensor.data<const float>();
  return {data, data + tensor.get_size()};
}

/// The first output of these as OpenVINO's reference code computes it.
ov::Tensor Evaluated(const ov::OutputVector& outputs, const ov::ParameterVector& parameters, const ov::TensorVector& inputs) {
  return Evaluated(ov::Model(outputs, parameters), inputs)[0];
}

ov::TensorVector Run(ov::Core& core, const ov::OutputVector& outputs, const ov::ParameterVector& parameters,
                     const ov::TensorVector& inputs, const std::string& hint) {
  return Run(core.compile_model(std::make_shared<ov::Model>(outputs, parameters), "CPU", Config(hint)), inputs);
}

/// What RandomUniform draws in [0, 1) with a seed, and RandomBernoulli compares with p.
std::vector<float> Uniforms(std::int64_t op_seed) {
  const NodePtr node = Make<NodeOf<kRandomUniform>>("f32", op_seed, {Shape(), Number(0), Number(1)});
  return FloatsOf(Evaluated({node->output(0)}, {}, {}));
}

/// Every p is just above its uniform: all are true if none is rounded.
std::vector<float> SharpProbabilities(std::int64_t op_seed) {
  std::vector<float> p = Uniforms(op_seed);
  for (float& x : p) x = std::max(std::nextafter(x, 2.0F), 1e-30F);
  return p;
}

bool AllTrue(const ov::Tensor& tensor) {
  const std::string bytes = Bytes(tensor);
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == 1; });
}

float Rounded(float x, const ov::element::Type& type) {
  return type == ov::element::f16 ? static_cast<float>(ov::float16(x)) : static_cast<float>(ov::bfloat16(x));
}

/// Whether every value is the draw, as it is or rounded to 16 bits: what a product with 1 may make of it.
bool AreTheDraws(const std::vector<float>& values, const std::vector<float>& draws) {
  if (values.size() != draws.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i], draw = draws[i];
    if (x != draw && x != Rounded(draw, ov::element::f16) && x != Rounded(draw, ov::element::bf16)) return false;
  }
  return true;
}

/// An input of the model goes into the operator as it is.
void DirectInputs(ov::Core& core, const std::string& hint) {
  struct Case {
    const char* name;
    ov::OutputVector outputs;
    ov::ParameterVector parameters;
    ov::TensorVector inputs;
  };
  std::vector<Case> cases;
  const auto two = [&](const char* name, const auto& make) {
    const auto first = Floats({}), second = Floats({});
    const ov::TensorVector inputs{TensorOf({0.1F}, {}), TensorOf({0.7001F}, {})};
    cases.push_back({name, {make(first->output(0), second->output(0))->output(0)}, {first, second}, inputs});
    cases.push_back({name, {make(Number(0.1F)->output(0), second->output(0))->output(0)}, {second}, {inputs[1]}});
    cases.push_back({name, {make(first->output(0), Number(0.7001F)->output(0))->output(0)}, {first}, {inputs[0]}});
  };
  two("uniform", [](const auto& a, const auto& b) { return Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), a, b}); });
  two("normal", [](const auto& a, const auto& b) { return Make<NodeOf<kRandomNormal>>("f32", 3, {Shape(), a, b}); });
  const auto p = Floats();
  cases.push_back({"bernoulli",
                   {Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), p})->output(0)},
                   {p},
                   {TensorOf(SharpProbabilities(3), {kCount})}});
  const auto logits = Floats({3, 13});
  std::vector<float> numbers(39);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7 % 11) * 0.37F - 5.1F;
  cases.push_back({"categorical",
                   {Make<NodeOf<kRandomCategorical>>("i32", 3, {logits}, 70001)->output(0)},
                   {logits},
                   {TensorOf(numbers, {3, 13})}});
  for (const Case& c : cases) {
    const ov::Tensor expected = Evaluated(c.outputs, c.parameters, c.inputs);
    const ov::Tensor drawn = Run(core, c.outputs, c.parameters, c.inputs, hint)[0];
    Check(Bytes(drawn) == Bytes(expected), std::string(c.name) + " from inputs of the model");
    if (c.parameters[0] == p) Check(AllTrue(drawn), "p just above the uniforms");
  }
}

/// Draws are exact as outputs of the model, and meet its other tensors.
void DrawsMeetTensors(ov::Core& core, const std::string& hint) {
  const auto count = std::make_shared<Parameter>(ov::element::i64, ov::Shape{1});
  const auto low = Floats({}), x = Floats();
  const ov::Tensor ones = TensorOf(std::vector<float>(kCount, 1), {kCount});
  ov::Tensor length(ov::element::i64, ov::Shape{1});
  length.data<std::int64_t>()[0] = kCount;
  struct Case {
    const char* name;
    NodePtr node;
    ov::ParameterVector parameters;
    ov::TensorVector inputs;
  };
  const NodePtr zero = Number(0);
  const std::vector<Case> cases{
      {"constants", Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), Number(0), Number(1)}), {x}, {ones}},
      {"one constant twice", Make<NodeOf<kRandomNormal>>("f32", 3, {Shape(), Number(0), Number(1)}), {x}, {ones}},
      {"a constant that others read", Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), zero, Number(1)}), {x}, {ones}},
      {"what constants make", Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), Product(0, 3), Number(1)}), {x}, {ones}},
      {"a shape at run", Make<NodeOf<kRandomUniform>>("f32", 3, {count, Number(0), Number(1)}), {x, count}, {ones, length}},
      {"an input", Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), low, Number(1)}), {x, low}, {ones, TensorOf({0.1F}, {})}},
  };
  for (const Case& c : cases) {
    const ov::Output<ov::Node> draw = c.node->output(0);
    const auto rows = std::make_shared<Constant>(ov::element::i64, ov::Shape{2}, std::vector<std::int64_t>{-1, 1});
    const auto row = std::make_shared<Constant>(ov::element::i64, ov::Shape{1}, std::vector<std::int64_t>{-1});
    const auto moved = std::make_shared<ov::op::v1::Reshape>(draw, rows, false);
    const auto back = std::make_shared<ov::op::v1::Reshape>(moved, row, false);
    const auto product = std::make_shared<ov::op::v1::Multiply>(draw, x);
    const auto product_moved = std::make_shared<ov::op::v1::Multiply>(x, back);
    const auto sum = std::make_shared<ov::op::v1::Add>(x, zero);
    const ov::TensorVector results = Run(core, {draw, product, product_moved, sum, back}, c.parameters, c.inputs, hint);
    const std::vector<float> draws = FloatsOf(Evaluated({draw}, c.parameters, c.inputs));
    const std::string what = std::string(c.name) + ": the draw ";
    Check(FloatsOf(results[0]) == draws, what + "as an output");
    Check(FloatsOf(results[4]) == draws, what + "moved to an output");
    Check(AreTheDraws(FloatsOf(results[1]), draws), what + "times 1");
    Check(AreTheDraws(FloatsOf(results[2]), draws), what + "moved, times 1");
  }
}

/// A draw that is another node's parameter is not rounded either.
void DrawsAreParameters(ov::Core& core, const std::string& hint) {
  const auto x = Floats();
  const NodePtr p = Make<NodeOf<kRandomUniform>>("f32", 5, {Shape(), Number(0), Number(1)});
  const NodePtr node = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), p->output(0)});
  const NodePtr other = std::make_shared<ov::op::v1::Add>(x, p->output(0));
  const ov::TensorVector inputs{TensorOf(Uniforms(7), {kCount})};
  const std::string expected = Bytes(Evaluated({node->output(0), other}, {x}, inputs));
  Check(Bytes(Run(core, {node->output(0), other}, {x}, inputs, hint)[0]) == expected, "p is a draw");
}

void BooleansSelect(ov::Core& core, const std::string& hint) {
  const auto x = Floats(), p = Floats();
  const ov::Tensor numbers = TensorOf(std::vector<float>(kCount, 0.5), {kCount});
  const auto each = std::make_shared<Constant>(ov::element::f32, ov::Shape{kCount}, SharpProbabilities(3));
  for (const bool is_input : {false, true}) {
    const ov::Output<ov::Node> probabilities = is_input ? p->output(0) : each->output(0);
    const NodePtr node = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), probabilities});
    const auto chosen = std::make_shared<ov::op::v1::Select>(node->output(0), x, Number(9));
    const ov::ParameterVector parameters = is_input ? ov::ParameterVector{x, p} : ov::ParameterVector{x};
    ov::TensorVector inputs{numbers};
    if (is_input) inputs.push_back(TensorOf(SharpProbabilities(3), {kCount}));
    const ov::Tensor result = Run(core, {chosen}, parameters, inputs, hint)[0];
    Check(FloatsOf(result) == FloatsOf(numbers), "Select takes the booleans");
  }
}

/// What the model computed is drawn as it was computed. Whether it was computed in f16.
bool ComputedParameters(ov::Core& core, const std::string& hint) {
  const auto x = Floats();
  const auto half = std::make_shared<ov::op::v1::Multiply>(x, Number(0.5));
  const NodePtr node = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), half});
  std::vector<float> twice = SharpProbabilities(3), rounded = twice;
  for (float& p : twice) p *= 2;
  const auto drawn_from = [](const std::vector<float>& p) {
    const auto constant = std::make_shared<Constant>(ov::element::f32, ov::Shape{kCount}, p);
    return Bytes(Evaluated({Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), constant})->output(0)}, {}, {}));
  };
  const std::string drawn = Bytes(Run(core, {node->output(0)}, {x}, {TensorOf(twice, {kCount})}, hint)[0]);
  for (float& p : rounded) p = Rounded(p, ov::element::f16);
  const bool is_rounded = drawn == drawn_from(rounded);
  for (float& p : rounded) p = Rounded(p, ov::element::bf16);
  Check(drawn == std::string(kCount, 1) || is_rounded || drawn == drawn_from(rounded), "a p that was computed");
  Check(hint != "f32" || drawn == std::string(kCount, 1), "a p that was computed in f32");

  // And in f16 by the model's own types: as the model shows them.
  const auto logits = std::make_shared<Parameter>(ov::element::f16, ov::Shape{2, 501});
  ov::Tensor numbers(ov::element::f16, ov::Shape{2, 501});
  for (std::size_t i = 0; i < numbers.get_size(); ++i) {
    numbers.data<ov::float16>()[i] = ov::float16(static_cast<float>(i * 7 % 113) * 0.037F);
  }
  const auto third = std::make_shared<Constant>(ov::element::f16, ov::Shape{}, std::vector<float>{0.333F});
  const auto computed = std::make_shared<ov::op::v1::Multiply>(logits, third);
  const NodePtr classes = Make<NodeOf<kRandomCategorical>>("i32", 3, {computed}, 70001);
  const ov::TensorVector results = Run(core, {classes->output(0), computed}, {logits}, {numbers}, hint);
  const auto shown = std::make_shared<Constant>(results[1]);
  const NodePtr from_shown = Make<NodeOf<kRandomCategorical>>("i32", 3, {shown}, 70001);
  Check(Bytes(results[0]) == Bytes(Evaluated({from_shown->output(0)}, {}, {})), "f16 logits that the model shows");
  return is_rounded;
}

/// An f32 that crosses into a body and is p there.
std::shared_ptr<ov::Node> Branch(const NodePtr& yes, const ov::Output<ov::Node>& p, bool is_wide) {
  const auto inside = std::make_shared<Parameter>(is_wide ? ov::element::f64 : ov::element::f32, ov::Shape{kCount});
  ov::Output<ov::Node> narrow = inside->output(0);
  if (is_wide) narrow = std::make_shared<Convert>(inside, ov::element::f32);
  const NodePtr drawn = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), narrow});
  const auto as_integers = std::make_shared<Convert>(drawn->output(0), ov::element::i32);
  const auto none = std::make_shared<Constant>(ov::element::i32, ov::Shape{kCount}, std::vector<std::int32_t>{0});
  const auto result = std::make_shared<Result>(as_integers), other = std::make_shared<Result>(none);
  const auto branch = std::make_shared<ov::op::v8::If>(yes);
  branch->set_then_body(std::make_shared<ov::Model>(ov::ResultVector{result}, ov::ParameterVector{inside}));
  branch->set_else_body(std::make_shared<ov::Model>(ov::ResultVector{other}, ov::ParameterVector{}));
  branch->set_input(is_wide ? std::make_shared<Convert>(p, ov::element::f64)->output(0) : p, inside, nullptr);
  branch->set_output(result, other);
  branch->validate_and_infer_types();
  return branch;
}

std::shared_ptr<ov::Node> Trips(const ov::Output<ov::Node>& p, bool is_wide) {
  const auto inside = std::make_shared<Parameter>(is_wide ? ov::element::f64 : ov::element::f32, ov::Shape{kCount});
  ov::Output<ov::Node> narrow = inside->output(0);
  if (is_wide) narrow = std::make_shared<Convert>(inside, ov::element::f32);
  const NodePtr drawn = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), narrow});
  const auto as_integers = std::make_shared<Convert>(drawn->output(0), ov::element::i32);
  const auto on = std::make_shared<Constant>(ov::element::boolean, ov::Shape{1}, true);
  const auto body =
      std::make_shared<ov::Model>(ov::OutputVector{on, as_integers}, ov::ParameterVector{inside});
  const auto trips = std::make_shared<Constant>(ov::element::i64, ov::Shape{}, 2);
  const auto loop = std::make_shared<ov::op::v5::Loop>(trips, on);
  loop->set_function(body);
  loop->set_special_body_ports({-1, 0});
  loop->set_invariant_input(inside, is_wide ? std::make_shared<Convert>(p, ov::element::f64)->output(0) : p);
  loop->get_iter_value(body->get_results()[1], -1);
  loop->validate_and_infer_types();
  return loop;
}

/// Either all bits come through, or the model does not load.
void Borders(ov::Core& core, const std::string& hint, bool is_half) {
  const auto yes = std::make_shared<Parameter>(ov::element::boolean, ov::Shape{});
  ov::Tensor truth(ov::element::boolean, ov::Shape{});
  *static_cast<unsigned char*>(truth.data()) = 1;
  const ov::Tensor numbers = TensorOf(SharpProbabilities(3), {kCount});
  for (const bool is_wide : {false, true}) {
    for (const bool is_loop : {false, true}) {
      const auto p = Floats();
      const NodePtr node = is_loop ? Trips(p, is_wide) : Branch(yes, p, is_wide);
      const ov::ParameterVector parameters = is_loop ? ov::ParameterVector{p} : ov::ParameterVector{p, yes};
      const ov::TensorVector inputs = is_loop ? ov::TensorVector{numbers} : ov::TensorVector{numbers, truth};
      const std::string what = std::string(is_loop ? "Loop" : "If") + (is_wide ? ", p as f64" : ", p as f32");
      std::string refusal;
      try {
        const ov::Tensor drawn = Run(core, {node->output(0)}, parameters, inputs, hint)[0];
        const std::int32_t* const first = drawn.data<const std::int32_t>();
        Check(std::all_of(first, first + kCount, [](std::int32_t x) { return x == 1; }), what);
      } catch (const ov::Exception& error) {
        refusal = error.what();
      }
      if (is_half && !is_wide) {
        const std::string said = ": got f32 from outside of an If or Loop, rounded to f16";
        Check(refusal.find(said) != std::string::npos, what + " is refused, and not: " + refusal);
      } else {
        Check(refusal.empty(), what + ": " + refusal);
      }
    }
  }
}

/// A body draws, of constants alone, and computes with the draw.
void BodiesDraw(ov::Core& core, const std::string& hint) {
  const auto x = Floats(), carried = Floats();
  const NodePtr draw = Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), Number(0), Number(1)});
  const auto product = std::make_shared<ov::op::v1::Multiply>(draw->output(0), carried);
  const auto on = std::make_shared<Constant>(ov::element::boolean, ov::Shape{1}, true);
  const auto body = std::make_shared<ov::Model>(ov::OutputVector{on, product}, ov::ParameterVector{carried});
  const auto loop =
      std::make_shared<ov::op::v5::Loop>(std::make_shared<Constant>(ov::element::i64, ov::Shape{}, 1), on);
  loop->set_function(body);
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(carried, x, body->get_results()[1]);
  loop->get_iter_value(body->get_results()[1], -1);
  loop->validate_and_infer_types();
  const ov::Tensor ones = TensorOf(std::vector<float>(kCount, 1), {kCount});
  const ov::Tensor result = Run(core, {loop->output(0)}, {x}, {ones}, hint)[0];
  Check(AreTheDraws(FloatsOf(result), Uniforms(3)), "a body draws and computes");
}

/// A model saved, compressed too, and compiled from the cache of compiled models.
void ThroughFiles(const std::string& library, const std::string& hint) {
  const auto folder = std::filesystem::temp_directory_path() / ("onnx_philox_precisions_" + std::to_string(std::random_device()()));
  std::filesystem::create_directories(folder);
  const auto p = Floats(), x = Floats();
  const auto half = std::make_shared<Parameter>(ov::element::f16, ov::Shape{2, 13});
  const auto third = std::make_shared<Constant>(ov::element::f16, ov::Shape{}, std::vector<float>{0.333F});
  const auto logits = std::make_shared<ov::op::v1::Multiply>(half, third);
  const NodePtr booleans = Make<NodeOf<kRandomBernoulli>>(nullptr, 3, {Shape(), p});
  const NodePtr uniform = Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), Number(0.1F), Number(0.7001F)});
  const NodePtr classes = Make<NodeOf<kRandomCategorical>>("i32", 3, {logits}, 999);
  const auto product = std::make_shared<ov::op::v1::Multiply>(uniform->output(0), x);
  const ov::OutputVector outputs{booleans->output(0), uniform->output(0), product, classes->output(0)};
  const auto model = std::make_shared<ov::Model>(outputs, ov::ParameterVector{p, x, half});
  ov::Tensor numbers(ov::element::f16, ov::Shape{2, 13});
  for (std::size_t i = 0; i < 26; ++i) numbers.data<ov::float16>()[i] = ov::float16(static_cast<float>(i * 7 % 11));
  const ov::TensorVector inputs{TensorOf(SharpProbabilities(3), {kCount}),
                                TensorOf(std::vector<float>(kCount, 1), {kCount}), numbers};
  const std::string path = (folder / "model.xml").string();
  ov::Core writer;
  writer.add_extension(library);
  const ov::TensorVector direct = Run(writer.compile_model(model, "CPU", Config(hint)), inputs);
  for (const bool compressed : {false, true}) {
    ov::save_model(model, path, compressed);
    for (const bool is_cached : {false, true}) {
      ov::Core core;
      core.add_extension(library);
      core.set_property({{"CACHE_DIR", (folder / (compressed ? "compressed" : "plain")).string()}});
      ov::CompiledModel compiled = core.compile_model(path, "CPU", Config(hint));
      Check(compiled.get_property("LOADED_FROM_CACHE").as<bool>() == is_cached, "cached");
      const ov::TensorVector results = Run(compiled, inputs);
      const std::string what = compressed ? " through compressed IR" : " through IR";
      Check(AllTrue(results[0]), "p" + what);
      const NodePtr alone = Make<NodeOf<kRandomUniform>>("f32", 3, {Shape(), Number(0.1F), Number(0.7001F)});
      const std::vector<float> draws = FloatsOf(Evaluated({alone->output(0)}, {}, {}));
      Check(FloatsOf(results[1]) == draws, "a draw" + what);
      Check(AreTheDraws(FloatsOf(results[2]), draws), "a draw times 1" + what);
      Check(Bytes(results[3]) == Bytes(direct[3]), "classes" + what);
    }
  }
  std::filesystem::remove_all(folder);
}

/// The precision that the plugin uses for a hint: another one if the processor lacks it.
ov::element::Type PrecisionOf(ov::Core& core, const std::string& hint) {
  const auto x = Floats();
  const auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v1::Add>(x, x)},
                                                 ov::ParameterVector{x});
  const ov::Any used = core.compile_model(model, "CPU", Config(hint)).get_property("INFERENCE_PRECISION_HINT");
  return used.as<ov::element::Type>();
}

}  // namespace

std::string program::Precisions(ov::Core& core, const std::string& library) {
  std::string real;
  const ov::Any capabilities = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES");
  for (const std::string& capability : capabilities.as<std::vector<std::string>>()) {
    if (capability == "FP16" || capability == "BF16") real += (real.empty() ? "" : ", ") + capability;
  }
  for (std::size_t i = 0; i < kHints.size(); ++i) {
    if (!share::Has(i)) continue;
    const std::string& hint = kHints[i];
    const bool is_half = PrecisionOf(core, hint) == ov::element::f16;
    try {
      DirectInputs(core, hint);
      DrawsMeetTensors(core, hint);
      DrawsAreParameters(core, hint);
      BooleansSelect(core, hint);
      Check(ComputedParameters(core, hint) == is_half, "what was computed was computed in f16, or was not");
      Borders(core, hint, is_half);
      BodiesDraw(core, hint);
      ThroughFiles(library, hint);
    } catch (const std::exception& error) {
      throw std::runtime_error("precision '" + hint + "': " + error.what());
    }
  }
  return "precisions that this processor computes in: f32" + (real.empty() ? "" : ", " + real);
}
