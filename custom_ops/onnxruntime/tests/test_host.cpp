// The library in the stand-in for ONNX Runtime of host.h: known answers, threads, failing calls, random nodes.
//
//   test_host LIBRARY [SECONDS [SEED]]    random nodes for so many seconds (1); for sanitizer builds and as a fuzzer
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "check.h"
#include "checks.h"
#include "draws.h"
#include "floats.h"
#include "guided.h"
#include "host.h"
#include "kernels.h"
#include "torch_draw.h"
#include "values.h"

namespace {

using namespace onnx_philox;
using host::RegisterFunction, host::Take, host::Value;

template <class T>
OrtValue Vector(OrtElementType type, const std::vector<T>& values) {
  return Value(type, {static_cast<std::int64_t>(values.size())}, values.data(), values.size() * sizeof(T));
}

Attribute Integer(std::int64_t value) {
  Attribute attribute(Attribute::Kind::kInteger);
  attribute.integer = value;
  return attribute;
}

Attribute Text(const char* value) {
  Attribute attribute(Attribute::Kind::kText);
  attribute.text = value;
  return attribute;
}

/// A node with its values, ready to be loaded and run.
struct Node {
  explicit Node(const OrtCustomOp* of) : op(of) {
    if (of->GetOutputTypeCount(of) == 3) outputs.insert(outputs.begin() + 1, "mask");
  }

  const OrtCustomOp* op;
  std::map<std::string, Attribute> attributes;
  std::vector<OrtValue> values;
  std::vector<bool> left_out, constant, known_shape;
  std::string input_name = "in";  // of each
  std::vector<std::string> outputs = {"values", "next_state"};
  OrtElementType output_type = ORT_TYPE_UINT32;

  void Add(OrtValue value, bool is_constant = false, bool has_known_shape = false) {
    values.push_back(std::move(value));
    left_out.push_back(false);
    constant.push_back(is_constant);
    known_shape.push_back(has_known_shape);
  }

  OrtKernelInfo Info() {
    OrtKernelInfo info;
    info.attributes = attributes;
    info.outputs = outputs;
    info.values_type = output_type;
    for (std::size_t i = 0; i < values.size(); ++i) {
      info.inputs.push_back({left_out[i] ? "" : input_name, &values[i], constant[i], known_shape[i]});
    }
    return info;
  }

  OrtShapeInferContext Inference() {
    OrtShapeInferContext context;
    context.attributes = attributes;
    for (const auto& named : context.attributes) context.found[named.first] = OrtOpAttr{&named.second};
    for (std::size_t i = 0; i < values.size(); ++i) {
      context.inputs.push_back(values[i].info);
      if (!known_shape[i]) context.inputs.back().dimensions.clear();
    }
    return context;
  }

  OrtKernelContext Context(unsigned threads) {
    OrtKernelContext context;
    for (std::size_t i = 0; i < values.size(); ++i) context.inputs.push_back(left_out[i] ? nullptr : &values[i]);
    context.output_types = {output_type, ORT_TYPE_UINT32};
    if (op->GetOutputTypeCount(op) == 3) context.output_types.insert(context.output_types.begin() + 1, ORT_TYPE_BOOL);
    context.outputs.resize(context.output_types.size());
    context.threads = threads;
    return context;
  }
};

/// Infers, loads and runs a node; the error, or empty.
std::string Run(Node& node, OrtKernelContext* context) {
  const bool may_fail = host::calls_left >= 0;  // an attribute that cannot be read counts as left out
  OrtShapeInferContext inference = node.Inference();
  if (node.op->InferOutputShapeFn != nullptr) {
    const std::string error = Take(node.op->InferOutputShapeFn(node.op, &inference));
    if (!error.empty()) return error;
  }
  OrtKernelInfo info = node.Info();
  void* kernel = nullptr;
  std::string error = Take(node.op->CreateKernelV2(node.op, host::Api(), &info, &kernel));
  if (error.empty()) {
    // A wrong output_type, which has no default for some, is refused here. What has the type of an input is not set
    // where its rank is not known.
    if (node.op->InferOutputShapeFn != nullptr) {
      const bool is_as_inferred = inference.is_set ? inference.values.type == node.output_type
                                                   : node.op->GetOutputTypeCount(node.op) == 3;
      check::That(may_fail || is_as_inferred, "type %d was inferred, not %d", inference.values.type, node.output_type);
    }
    error = Take(node.op->KernelComputeV2(kernel, context));
    node.op->KernelDestroy(kernel);
  } else {
    check::That(kernel == nullptr, "a kernel beside the error %s", error.c_str());
  }
  return error;
}

Node Generator(const OrtCustomOp* op, std::vector<std::int64_t> shape, std::vector<std::uint32_t> state) {
  Node node(op);
  node.Add(Vector(ORT_TYPE_UINT32, state));
  node.Add(Vector(ORT_TYPE_INT64, shape));
  return node;
}

Node Uniform(const OrtCustomOp* op, std::vector<std::int64_t> shape, float minval, float maxval) {
  Node node(op);
  node.attributes["output_type"] = Text("f32");
  node.attributes["op_seed"] = Integer(10);
  node.attributes["global_seed"] = Integer(150);
  node.Add(Vector(ORT_TYPE_INT64, shape), true);
  node.Add(Value(ORT_TYPE_FLOAT, {}, &minval, sizeof(minval)), true);
  node.Add(Value(ORT_TYPE_FLOAT, {1}, &maxval, sizeof(maxval)), true);
  node.output_type = ORT_TYPE_FLOAT;
  return node;
}

/// The library's operators, in the order of kAllOperators.
using Ops = std::vector<const OrtCustomOp*>;

const OrtCustomOp* OpOf(const Ops& ops, const Operator& declaration) {
  for (int i = 0; i < kOperators; ++i) {
    if (kAllOperators[i] == &declaration) return ops.at(static_cast<std::size_t>(i));
  }
  return nullptr;
}

Node Categorical(const OrtCustomOp* op, std::int64_t batch, std::int64_t samples) {
  Node node(op);
  node.attributes["op_seed"] = Integer(10);
  node.attributes["sample_size"] = Integer(samples);
  node.attributes["output_type"] = Text("i64");
  const std::vector<double> logits(static_cast<std::size_t>(batch) * 3, 0.5);
  node.Add(Value(ORT_TYPE_DOUBLE, {batch, 3}, logits.data(), logits.size() * sizeof(double)), false, true);
  node.output_type = ORT_TYPE_INT64;
  return node;
}

void TestDeclarations(const Ops& ops) {
  for (int i = 0; i < kOperators; ++i) {
    const Operator& declaration = *kAllOperators[i];
    const OrtCustomOp* const op = ops[static_cast<std::size_t>(i)];
    check::That(std::strcmp(op->GetName(op), declaration.name) == 0, "operator %d is %s", i, op->GetName(op));
    check::That(op->version == ONNX_PHILOX_ORT_API_VERSION, "the operator's version");
    check::That(op->CreateKernelV2 != nullptr && op->KernelComputeV2 != nullptr, "the kernel's functions");
    check::That(op->GetInputTypeCount(op) == static_cast<std::size_t>(declaration.inputs), "inputs of %s",
                declaration.name);
    const std::size_t outputs = static_cast<std::size_t>(declaration.outputs);
    check::That(op->GetOutputTypeCount(op) == outputs, "outputs of %s", declaration.name);
    check::That(op->GetOutputCharacteristic(op, outputs - 1) == ORT_OPTIONAL, "next_state is optional");
    check::That(op->GetOutputType(op, outputs - 1) == ORT_TYPE_UINT32, "next_state is uint32");
    for (std::size_t k = 0; k < static_cast<std::size_t>(declaration.inputs); ++k) {
      check::That(op->GetInputCharacteristic(op, k) == (declaration.input[k].optional ? ORT_OPTIONAL : ORT_REQUIRED),
                  "input %zu of %s", k, declaration.name);
    }
  }
  const OrtCustomOp* const bernoulli = OpOf(ops, kRandomBernoulli);
  check::That(bernoulli->GetOutputType(bernoulli, 0) == ORT_TYPE_BOOL, "RandomBernoulli gives bool");
}

/// The shape of data, where a dimension without size and name gets a name: to other nodes it would be the number -1.
void TestInferenceOfData(const OrtCustomOp* dropout) {
  for (const char* name : {"", "batch"}) {
    OrtShapeInferContext context;
    OrtTensorTypeAndShapeInfo data;
    data.type = ORT_TYPE_DOUBLE;
    data.dimensions = {-1, 3};
    data.symbols = {name, ""};
    context.inputs = {data};
    check::That(Take(dropout->InferOutputShapeFn(dropout, &context)).empty(), "inference fails");
    check::That(context.values.type == data.type && context.values.dimensions == data.dimensions, "the data's type");
    const std::string& given = context.values.symbols[0];
    check::That(*name != '\0' ? given == name : !given.empty(), "the name of the batch is '%s'", given.c_str());
    check::That(context.values.symbols[1].empty(), "a size has a name");
  }
}

/// The type that an attribute gives, with dimensions that are known or have a name of their own.
void TestInference(const OrtCustomOp* categorical) {
  std::vector<std::string> symbols;
  // A type that it cannot have is inferred as it is named, so that it is the kernel that refuses the node.
  const std::pair<const char*, OrtElementType> kNamed[] = {
      {"i32", ORT_TYPE_INT32},
      {"i64", ORT_TYPE_INT64},
      {"f32", ORT_TYPE_FLOAT},
      {"a text that is much too long to be a type's name", ORT_TYPE_INT32},
  };
  for (const auto& [type, wanted] : kNamed) {
    for (const bool is_known : {true, false}) {
      Node node = Categorical(categorical, 5, 7);
      node.attributes["output_type"] = Text(type);
      node.known_shape[0] = is_known;
      OrtShapeInferContext context = node.Inference();
      check::That(Take(categorical->InferOutputShapeFn(categorical, &context)).empty(), "inference fails");
      check::That(context.values.type == wanted, "the type for %s", type);
      check::That(context.values.dimensions.size() == 2 && context.values.dimensions[1] == 7, "sample_size");
      check::That(context.values.symbols.size() == 2 && context.values.symbols[1].empty(), "symbols");
      check::That(is_known ? context.values.dimensions[0] == 5 : !context.values.symbols[0].empty(), "the batch");
      if (!is_known) symbols.push_back(context.values.symbols[0]);
    }
  }
  std::sort(symbols.begin(), symbols.end());
  check::That(std::unique(symbols.begin(), symbols.end()) == symbols.end(), "a symbol is given twice");
}

/// OpenVINO's documented example 1, and the first of Random123's known answers.
void TestKnownAnswers(const OrtCustomOp* generator, const OrtCustomOp* uniform) {
  Node node = Uniform(uniform, {3, 3}, 0, 1);
  OrtKernelContext context = node.Context(1);
  check::That(Run(node, &context).empty(), "the documented example is refused");
  const double documented[9] = {0.7011236,  0.30539632, 0.93931055, 0.9456035, 0.11694777,
                                0.50770056, 0.5197197,  0.22727466, 0.991374};
  const float* const values = static_cast<const float*>(context.outputs[0].data());
  for (int i = 0; i < 9; ++i) check::That(std::fabs(values[i] - documented[i]) < 1e-7, "value %d is %.9g", i, values[i]);
  check::That(static_cast<std::uint32_t*>(context.outputs[1].data())[0] == 3, "the next state's counter");
  node.attributes["seed"] = Integer(7);
  check::That(Run(node, &context).find("each attribute must be one of output_type, ") != std::string::npos, "seed");

  node = Generator(generator, {4}, {0, 0, 0, 0, 0, 0});
  context = node.Context(1);
  check::That(Run(node, &context).empty(), "the known answer is refused");
  const std::uint32_t known[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  check::That(std::memcmp(context.outputs[0].data(), known, sizeof(known)) == 0, "Random123's first known answer");
}

/// A float16 node of `type`: float16, or float32 as ONNX Runtime runs it beside Casts.
Node Half(const OrtCustomOp* op, const std::vector<std::int64_t>& shape, OrtElementType type, bool is_constant = false) {
  Node node(op);
  node.attributes["output_type"] = Text("f16");
  node.attributes["op_seed"] = Integer(10);
  node.Add(Vector(ORT_TYPE_INT64, shape), is_constant);
  const std::uint16_t halves[2] = {0x3555, 0x4E40};        // 0.333251953125, 25
  const float rounded_to_them[2] = {0.33325f, 25.003906f};
  for (int i = 0; i < 2; ++i) {
    const void* const data = type == ORT_TYPE_FLOAT ? static_cast<const void*>(rounded_to_them + i) : halves + i;
    node.Add(Value(type, {}, data, host::SizeOf(type)), is_constant);
  }
  node.output_type = type;
  return node;
}

/// Between casts that ONNX Runtime inserted, a float16 node draws the float16 values in float32. A float32 that the model
/// itself declares is refused.
void TestWidening(const OrtCustomOp* op) {
  for (const std::int64_t elements : {0, 1, 2047, 2049, 300001}) {
    Node half = Half(op, {elements}, ORT_TYPE_FLOAT16);
    OrtKernelContext expected = half.Context(1);
    check::That(Run(half, &expected).empty(), "float16 is refused");
    for (const int named : {0, 1, 2}) {
      Node widened = Half(op, {elements}, ORT_TYPE_FLOAT, elements % 2 == 0);
      if (named == 1) widened.input_name = "InsertedPrecisionFreeCast_mean";
      if (named == 2) widened.outputs[0] = "InsertedPrecisionFreeCast_values";
      OrtKernelContext context = widened.Context(3);
      const std::string error = Run(widened, &context);
      if (named == 0) {
        check::That(error.find(" must be f16, as output_type says: got f32.") != std::string::npos, "%s", error.c_str());
        continue;
      }
      check::That(error.empty(), "%s", error.c_str());
      const std::uint16_t* const halves = static_cast<const std::uint16_t*>(expected.outputs[0].data());
      const float* const values = static_cast<const float*>(context.outputs[0].data());
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < elements; ++i) wrong += F32FromF16(halves[i]) != values[i];
      check::That(wrong == 0, "%lld of %lld values are wrong", static_cast<long long>(wrong),
                  static_cast<long long>(elements));
      check::That(host::GuardsHold(context.outputs[0]), "written past the values");
      check::That(std::memcmp(context.outputs[1].data(), expected.outputs[1].data(), 24) == 0, "the next state");
    }
  }
  Node widened = Half(op, {4}, ORT_TYPE_FLOAT);
  widened.input_name = "InsertedPrecisionFreeCast_mean";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  widened.values[2] = Value(ORT_TYPE_FLOAT, {1}, &nan, sizeof(nan));
  OrtKernelContext context = widened.Context(1);
  check::That(Run(widened, &context).find(" must be a finite number: got nan.") != std::string::npos, "nan");
  widened.values[2] = Value(ORT_TYPE_FLOAT, {0}, &nan, 0);
  check::That(Run(widened, &context).find(" must be a scalar, or 1-D of one element: got ") != std::string::npos, "empty");
}

/// Lets every call into the table fail once, in inferring, loading and running: the failure is returned, and nothing
/// leaks.
void TestEveryCallMayFail(const Ops& ops) {
  for (int which = 0; which < 5; ++which) {
    for (long n = 0;; ++n) {
      Node node = which == 0   ? Generator(OpOf(ops, kRandomGenerator), {40000}, {1, 2, 3, 4, 5, 6})
                  : which == 3 ? Categorical(OpOf(ops, kRandomCategorical), 200, 100)
                  : which == 4 ? Half(OpOf(ops, kRandomNormal), {40000}, ORT_TYPE_FLOAT)
                               : Uniform(OpOf(ops, kRandomUniform), {40000}, 0, 1);
      if (which == 4) node.input_name = "InsertedPrecisionFreeCast_mean";
      if (which == 2) node.constant.assign(3, false);
      OrtKernelContext context = node.Context(2);
      const long live = host::live;
      host::calls_left = n;
      const std::string error = Run(node, &context);
      const bool was_injected = host::calls_left < 0;
      host::calls_left = -1;
      check::That(host::live == live, "%ld objects left over after call %ld of node %d failed", host::live - live, n,
                  which);
      if (!was_injected) {
        check::That(error.empty(), "without a failure: %s", error.c_str());
        check::That(n > 15, "only %ld calls", n);
        break;
      }
    }
  }
}

void TestEightThreadsRunOneKernel(const OrtCustomOp* generator) {
  Node node = Generator(generator, {0}, {1, 2, 3, 4, 5, 6});
  OrtKernelInfo info = node.Info();
  void* kernel = nullptr;
  check::That(node.op->CreateKernelV2(node.op, host::Api(), &info, &kernel) == nullptr, "not loaded");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 20; ++i) {
        const bool is_bad = (t + i) % 3 == 0;
        const std::int64_t length = is_bad ? -1 - static_cast<std::int64_t>(t) : 20000 + t * 100 + i;
        const std::uint32_t words[6] = {i, 0, 0, 0, t, 0};
        Node mine = Generator(generator, {length}, {words, words + 6});
        OrtKernelContext context = mine.Context(2);
        const std::string error = Take(generator->KernelComputeV2(kernel, &context));
        if (is_bad) {
          if (error.find("[" + std::to_string(length) + "]") == std::string::npos) ++wrong;
          continue;
        }
        std::vector<std::uint32_t> expected(static_cast<std::size_t>(length));
        const Draw draw = UniformDraw(StateFromWords(words), OutputType::kBits, {}, expected.data());
        Fill(*SelectKernels("scalar").kernels, draw, 0, expected.size());
        if (!error.empty() || std::memcmp(context.outputs[0].data(), expected.data(), expected.size() * 4) != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  generator->KernelDestroy(kernel);
  check::That(wrong == 0, "%d wrong answers", wrong.load());
}

/// Makes nodes with random attributes, types, ranks, dimensions and values, valid and invalid.
class Fuzzer {
 public:
  Fuzzer(const Ops& ops, check::Random random) : ops_(ops), random_(random) {}

  void Step() {
    const std::size_t which = Below(kOperators);
    const Operator& op = *kAllOperators[which];
    Node node(ops_[which]);
    const OrtElementType type = AddAttributes(op, &node);
    const std::vector<std::int64_t> entries = RandomEntries();
    for (int i = 0; i < op.inputs; ++i) {
      if (op.input[i].optional && Chance(op.input[i].role == Role::kRowNumbers ? 12 : 3)) break;
      const bool is_batch = op.input[0].role == Role::kLogits && i > 0;
      const std::vector<std::int64_t>& shape = is_batch || (op.has_mask() && i > 0) ? node.values[0].info.dimensions : entries;
      if (op.has_mask() && op.input[i].role == Role::kNumber) {
        node.Add(RandomProbabilities({}), Chance(2), Chance(2));
        continue;
      }
      if (op.input[i].role == Role::kRowNumbers) {
        node.Add(RandomOfRows(op.input[i], node.values[0].info.dimensions), Chance(2), Chance(2));
        if (Chance(4)) node.left_out.back() = true;
        continue;
      }
      node.Add(RandomInput(op.input[i].role, type, shape), Chance(2), Chance(2));
    }
    if (op.type_input() >= 0) node.output_type = node.values[0].info.type;
    if (Chance(20)) node.left_out[Below(node.left_out.size())] = true;
    if (Chance(40)) node.values.pop_back(), node.left_out.pop_back();
    if (Chance(8)) node.outputs.pop_back();
    if (Chance(20)) node.outputs[0].clear();
    if (op.has_mask() && Chance(4)) node.outputs[1].clear();

    OrtKernelContext context = node.Context(1 + static_cast<unsigned>(Below(3)));
    const long live = host::live;
    const std::string error = Run(node, &context);
    check::That(host::live == live, "%ld objects left over", host::live - live);
    for (const OrtValue& output : context.outputs) check::That(host::GuardsHold(output), "written past an output");
    if (!error.empty()) {
      ++refused;
      const bool is_whole = error.find(std::string(op.name) + ": ") == 0 &&
                            error.find(" must be ") < error.find(": got ") && error.find(": got ") != std::string::npos && error.back() == '.';
      check::That(is_whole, "an error without its four parts: %s", error.c_str());
      return;
    }
    ++accepted[which];
    Compare(op, node, &context);
  }

  bool IsEnough() const {
    return refused > kEnough && std::all_of(accepted, accepted + kOperators, [](unsigned long n) { return n > kEnough; });
  }

  static constexpr unsigned long kEnough = 20;
  unsigned long accepted[kOperators] = {};
  unsigned long refused = 0;

 private:
  static constexpr std::uint64_t kMostDimensions = 12;  // more than are allowed, and more than fixed arrays hold

  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  bool Chance(std::uint64_t one_in) { return Below(one_in) == 0; }

  /// Attributes, mostly right ones; the type of the first output, where they give it.
  OrtElementType AddAttributes(const Operator& op, Node* node) {
    const char* const names[] = {"i32", "i64", "f16", "bf16", "f32", "f64", "f8", "", "F32"};
    const OrtElementType types[] = {ORT_TYPE_INT32,    ORT_TYPE_INT64, ORT_TYPE_FLOAT16,
                                    ORT_TYPE_BFLOAT16, ORT_TYPE_FLOAT, ORT_TYPE_DOUBLE};
    const bool is_token = op.distribution == Distribution::kToken;
    const bool is_classes = op.distribution == Distribution::kCategorical || is_token;
    const bool is_float = op.distribution == Distribution::kNormal || op.distribution == Distribution::kExponential ||
                          op.distribution == Distribution::kDropout;
    const bool is_count = is_classes || op.draws_rows || op.distribution == Distribution::kPoisson;
    const bool is_wide = op.distribution == Distribution::kGamma;  // f32 and f64
    const std::size_t first = is_wide ? 4 : is_float ? 2 : 0, count = is_count ? 2 : 6 - first;
    const std::size_t type = Chance(30) ? 6 + Below(3) : first + Below(count);
    const OrtElementType usual = is_token || op.draws_rows ? ORT_TYPE_INT64 : is_classes ? ORT_TYPE_INT32 : ORT_TYPE_FLOAT;
    node->output_type = type < 6 ? types[type] : usual;
    is_torch_s_ = false;
    for (int i = 0; i < op.attributes; ++i) {
      const char* const name = op.attribute[i].name;
      switch (op.attribute[i].role) {
        case AttributeRole::kType:
          if (Chance(4)) node->attributes[name] = Text(Chance(8) ? "mt19937" : "philox4x32_10");
          break;
        case AttributeRole::kOutputType:
          if (!Chance(50)) {
            node->attributes[name] = Text(names[type]);
          } else if (is_classes || op.draws_rows) {
            node->output_type = usual;
          }
          break;
        case AttributeRole::kSampleSize:
          if (Chance(2)) node->attributes[name] = Integer(static_cast<std::int64_t>(Below(20)));
          if (Chance(40)) node->attributes[name] = FewOrFarTooMany(RandomSeed());
          break;
        case AttributeRole::kReplacement:
          if (Chance(2)) node->attributes[name] = Integer(static_cast<std::int64_t>(Below(2)));
          if (Chance(40)) node->attributes[name] = RandomSeed();
          break;
        case AttributeRole::kAlignment:
          is_torch_s_ = Chance(4);
          if (is_torch_s_ || Chance(8)) node->attributes[name] = Text(is_torch_s_ ? "pytorch" : "tensorflow");
          break;
        case AttributeRole::kGlobalSeed:
        case AttributeRole::kOpSeed:
          if (Chance(2)) node->attributes[name] = RandomSeed();
          break;
      }
    }
    if (is_torch_s_ && !Chance(8)) {
      node->attributes.erase("op_seed");
      if (Chance(2)) node->attributes.erase("global_seed");
      if (Chance(2)) node->attributes.erase("sample_size");
    }
    const OrtElementType declared = ops_[0]->GetOutputType(node->op, 0);
    if (declared != ORT_TYPE_UNDEFINED) node->output_type = declared;
    return node->output_type;
  }

  OrtValue RandomInput(Role role, OrtElementType output, const std::vector<std::int64_t>& entries) {
    switch (role) {
      case Role::kState:
        return RandomState(entries);
      case Role::kShape:
        return RandomShape(entries);
      case Role::kNumber:
        return RandomBound(output);
      case Role::kNumbers:
        return RandomProbabilities(entries);
      case Role::kData:
        return RandomData(output, entries);
      case Role::kRowNumbers:
      case Role::kLogits:
        break;
    }
    return RandomLogits();
  }

  Attribute RandomSeed() {
    switch (Below(24)) {
      case 0:
        return Integer(-1);
      case 1:
        return Integer(std::numeric_limits<std::int64_t>::min());
      case 2:
        return Text("7");
      case 3: {
        Attribute attribute(Attribute::Kind::kFloat);
        attribute.number = 1.5f;
        return attribute;
      }
      case 4: {
        Attribute attribute(Attribute::Kind::kIntegers);
        attribute.integers = {1, 2};
        return attribute;
      }
      case 5: {
        Attribute attribute(Attribute::Kind::kFloats);
        attribute.numbers = {0.25f};
        return attribute;
      }
      default:
        return Integer(static_cast<std::int64_t>(random_() >> 1 >> Below(63)));
    }
  }

  /// Samples that any machine has memory for, or none: what is not refused is really there, and twice.
  static Attribute FewOrFarTooMany(Attribute size) {
    if (size.integer < std::int64_t{1} << 50) size.integer %= 1 << 12;
    return size;
  }

  OrtElementType RandomType(OrtElementType usual) {
    return Chance(25) ? static_cast<OrtElementType>(1 + Below(21)) : usual;
  }

  /// One state, or one for each row of an output of this shape.
  OrtValue RandomState(const std::vector<std::int64_t>& output) {
    if (Chance(4)) {
      const bool is_right = !output.empty() && output[0] >= 0 && output[0] <= 2000 && !Chance(8);
      const std::int64_t rows = is_right ? output[0] : static_cast<std::int64_t>(Below(9));
      return States(RandomType(ORT_TYPE_UINT32), {rows, WordsOfState()});
    }
    std::vector<std::int64_t> dimensions(1 + Below(Chance(10) ? kMostDimensions : 4), 1);
    dimensions.back() = WordsOfState();
    if (Chance(15)) dimensions[Below(dimensions.size())] = static_cast<std::int64_t>(Below(9));
    if (Chance(25)) dimensions.clear();
    return States(RandomType(ORT_TYPE_UINT32), std::move(dimensions));
  }

  std::int64_t WordsOfState() { return is_torch_s_ != Chance(30) ? kTorchStateWords : kStateWords; }

  /// Any words; of torch's generator mostly right ones.
  OrtValue States(OrtElementType type, std::vector<std::int64_t> dimensions) {
    OrtValue states = Filled(type, std::move(dimensions));
    const std::size_t bytes = states.memory.size() - 2 * OrtValue::kGuard;
    constexpr std::size_t kBytes = kTorchStateWords * sizeof(std::uint32_t);
    if (!is_torch_s_ || type != ORT_TYPE_UINT32 || bytes % kBytes != 0 || Chance(15)) return states;
    const std::vector<std::uint32_t> words = TorchStates(bytes / kBytes, random_);
    if (bytes > 0) std::memcpy(states.data(), words.data(), bytes);
    return states;
  }

  std::vector<std::int64_t> RandomEntries() {
    std::vector<std::int64_t> entries(Below(Chance(10) ? kMostDimensions + 1 : 4));
    std::uint64_t room = std::uint64_t{1} << 22;  // elements: what is not refused is really there, and twice
    for (std::int64_t& entry : entries) {
      const std::uint64_t below = std::min<std::uint64_t>(Chance(12) ? 40000 : entries.size() > 2 ? 6 : 40, room);
      entry = static_cast<std::int64_t>(Below(below));
      room /= static_cast<std::uint64_t>(std::max<std::int64_t>(entry, 1));
      if (Chance(12)) entry = static_cast<std::int64_t>(random_());
      if (Chance(20)) entry = -1;
      if (Chance(20)) entry = 0;
    }
    return entries;
  }

  OrtValue RandomShape(const std::vector<std::int64_t>& entries) {
    const OrtElementType type = RandomType(Chance(3) ? ORT_TYPE_INT32 : ORT_TYPE_INT64);
    if (type != ORT_TYPE_INT32 && type != ORT_TYPE_INT64) {
      return Filled(type, {static_cast<std::int64_t>(entries.size())});
    }
    OrtValue value;
    if (type == ORT_TYPE_INT32) {
      std::vector<std::int32_t> narrow;
      for (const std::int64_t entry : entries) {
        const bool fits = entry == static_cast<std::int32_t>(entry);
        narrow.push_back(fits ? static_cast<std::int32_t>(entry) : std::numeric_limits<std::int32_t>::min());
      }
      value = Vector(type, narrow);
    } else {
      value = Vector(type, entries);
    }
    if (Chance(20)) value.info.dimensions.insert(value.info.dimensions.begin(), 1 + Below(kMostDimensions - 1), 1);
    if (Chance(20) && entries.size() == 1) value.info.dimensions.clear();
    return value;
  }

  OrtValue RandomBound(OrtElementType type) {
    std::vector<std::int64_t> dimensions(Below(2), 1);
    if (Chance(20)) dimensions.assign(Below(kMostDimensions + 1), static_cast<std::int64_t>(Below(3)));
    OrtValue value = Filled(RandomType(type), std::move(dimensions));
    if (Chance(3)) std::memset(value.data(), 0, value.memory.size() - 2 * OrtValue::kGuard);
    SetFloats(&value, 3, [&] { return static_cast<double>(random_()) * 0x1p-60; });
    return value;
  }

  static constexpr std::int64_t kMostProbabilities = 40000;

  /// One, or one for each element; mostly of that shape and in [0, 1].
  OrtValue RandomProbabilities(const std::vector<std::int64_t>& entries) {
    std::vector<std::int64_t> dimensions(Below(2), 1);
    if (!Chance(3)) dimensions = entries;
    if (Chance(6)) dimensions.assign(Below(kMostDimensions + 1), 1 + static_cast<std::int64_t>(Below(2)));
    if (Chance(20) && !dimensions.empty()) ++dimensions[Below(dimensions.size())];
    std::int64_t elements = 1;
    for (std::int64_t& d : dimensions) {
      if (d < 0 || d > kMostProbabilities / elements) d = 1;
      elements *= std::max<std::int64_t>(d, 1);
    }
    OrtValue value = Filled(RandomType(Chance(2) ? ORT_TYPE_FLOAT : ORT_TYPE_DOUBLE), std::move(dimensions));
    SetFloats(&value, 100000, [&] { return static_cast<double>(random_()) * 0x1p-64; });
    return value;
  }

  /// Mostly of that type; of any numbers.
  OrtValue RandomData(OrtElementType type, std::vector<std::int64_t> dimensions) {
    std::int64_t elements = 1;
    for (std::int64_t& d : dimensions) {
      if (d < 0 || d > kMostProbabilities / elements) d = 1;
      elements *= std::max<std::int64_t>(d, 1);
    }
    return Filled(RandomType(type), std::move(dimensions));
  }

  /// One, or one for each row of these logits; mostly right ones.
  OrtValue RandomOfRows(const InputDeclaration& declared, const std::vector<std::int64_t>& logits) {
    std::vector<std::int64_t> dimensions(Below(2), 1);
    if (Chance(2) && !logits.empty()) dimensions = {logits[0]};
    if (Chance(20)) dimensions.assign(Below(4), static_cast<std::int64_t>(Below(4)));
    const bool is_integer = declared.types.type[0] == ElementType::kI64;
    OrtValue value = Filled(RandomType(is_integer ? ORT_TYPE_INT64 : ORT_TYPE_FLOAT), std::move(dimensions));
    if (value.info.type == ORT_TYPE_FLOAT) SetFloats(&value, 5000, [&] { return static_cast<double>(1 + Below(1 << 20)) * 0x1p-20; });
    if (value.info.type == ORT_TYPE_INT64) {
      const std::size_t count = (value.memory.size() - 2 * OrtValue::kGuard) / 8;
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t number = Chance(5000) ? -1 : static_cast<std::int64_t>(Below(7) << (Chance(3) ? 40 : 0));
        std::memcpy(static_cast<unsigned char*>(value.data()) + i * 8, &number, 8);
      }
    }
    return value;
  }

  OrtValue RandomLogits() {
    const OrtElementType types[] = {ORT_TYPE_FLOAT16, ORT_TYPE_FLOAT, ORT_TYPE_DOUBLE};
    std::vector<std::int64_t> dimensions = {static_cast<std::int64_t>(Below(Chance(8) ? 2000 : 8)),
                                            static_cast<std::int64_t>(Below(Chance(8) ? 300 : 6))};
    if (Chance(25)) dimensions.assign(Below(Chance(3) ? kMostDimensions + 1 : 4), 2);
    OrtValue value = Filled(RandomType(types[Below(3)]), std::move(dimensions));
    SetFloats(&value, 10000, [&] {
      return Chance(9) ? -std::numeric_limits<double>::infinity() : static_cast<double>(random_()) * 0x1p-60 - 8;
    });
    return value;
  }

  /// Makes the numbers of a float tensor these, but for one in `as_it_is` on average.
  template <class Next>
  void SetFloats(OrtValue* value, std::uint64_t as_it_is, Next next) {
    const std::size_t size = host::SizeOf(value->info.type), bytes = value->memory.size() - 2 * OrtValue::kGuard;
    unsigned char* const data = static_cast<unsigned char*>(value->data());
    for (std::size_t at = 0; at < bytes; at += size) {
      if (Chance(as_it_is)) continue;
      const double number = next();
      const float narrow = static_cast<float>(number);
      if (value->info.type == ORT_TYPE_DOUBLE) std::memcpy(data + at, &number, sizeof(number));
      if (value->info.type == ORT_TYPE_FLOAT) std::memcpy(data + at, &narrow, sizeof(narrow));
      // A number of this size, or an infinity; which one does not matter.
      if (value->info.type == ORT_TYPE_FLOAT16) data[at + 1] = number < -1e300 ? 0xFC : data[at + 1] & 0xBF;
      if (value->info.type == ORT_TYPE_FLOAT16 && number < -1e300) data[at] = 0;
    }
  }

  /// Random bytes: of floats, that makes NaNs and infinities too.
  OrtValue Filled(OrtElementType type, std::vector<std::int64_t> dimensions) {
    OrtValue value;
    host::Shape(&value, type, std::move(dimensions));
    unsigned char* const data = static_cast<unsigned char*>(value.data());
    for (std::size_t i = 0; i < value.memory.size() - 2 * OrtValue::kGuard; ++i) {
      data[i] = static_cast<unsigned char>(random_());
    }
    return value;
  }

  /// The outputs against the core's plain C++ kernels.
  void Compare(const Operator& op, Node& node, OrtKernelContext* context) {
    GivenAttributes given;
    for (int i = 0; i < op.attributes; ++i) {
      const auto found = node.attributes.find(op.attribute[i].name);
      if (found == node.attributes.end()) continue;
      const Attribute& attribute = found->second;
      given[op.attribute[i].role] = attribute.kind == Attribute::Kind::kText ? GivenAttribute::Text(attribute.text)
                                                                            : GivenAttribute::Integer(attribute.integer);
    }
    Attributes attributes;
    std::string error = CheckAttributes(op, given, &attributes);
    if (op.type_input() >= 0) TakeOutputType(op, TypeOf(node.values[0].info.type), &attributes);
    Arguments arguments;
    std::vector<std::int64_t> state_dimensions = {attributes.state_words()};
    for (std::size_t i = 0; i < node.values.size() && error.empty(); ++i) {
      if (node.left_out[i]) continue;
      OrtValue& value = node.values[i];
      Known known{TypeOf(value.info.type), static_cast<int>(value.info.dimensions.size()), value.info.dimensions.data(),
                  value.data()};
      error = CheckInput(op, static_cast<int>(i), known, attributes, &arguments);
      if (op.input[i].role == Role::kState) state_dimensions = value.info.dimensions;
    }
    if (error.empty()) error = CheckTogether(op, attributes, arguments);
    if (!check::That(error.empty(), "not refused: %s", error.c_str())) return;

    const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);
    std::vector<unsigned char> expected(elements * ElementSize(attributes.output));
    std::vector<unsigned char> mask(elements);
    const Draw draw = DrawOf(op, attributes, arguments, expected.data(), op.has_mask() ? mask.data() : nullptr);
    const Kernels& scalar = *SelectKernels("scalar").kernels;
    std::vector<std::uint32_t> next(static_cast<std::size_t>(arguments.states * attributes.state_words()) + 1);
    if (attributes.is_pytorch) {
      DrawTorch(scalar, attributes, arguments, draw, next.data());
    } else {
      if (elements > 0) Fill(scalar, draw, 0, elements);
      WriteNextState(draw, arguments, next.data());
    }
    if (!node.outputs[0].empty() && elements > 0) {
      check::That(context->outputs[0].memory.size() == expected.size() + 2 * OrtValue::kGuard &&
                      IsSame(attributes.output, context->outputs[0].data(), expected.data(), elements),
                  "wrong values of %s", op.name);
    }
    if (op.has_mask() && !node.outputs[1].empty() && elements > 0) {
      check::That(std::memcmp(context->outputs[1].data(), mask.data(), mask.size()) == 0, "a wrong mask");
    }
    const std::size_t last = static_cast<std::size_t>(op.state_output());
    if (node.outputs.size() > last) {
      const OrtValue& state = context->outputs[last];
      if (!check::That(state.info.dimensions == state_dimensions, "a next state of another shape")) return;
      check::That(std::memcmp(context->outputs[last].data(), next.data(), (next.size() - 1) * 4) == 0,
                  "a wrong next state of %s", op.name);
    }
  }

  /// Whether numbers have the same bits; which NaN it is does not matter.
  static bool IsSame(OutputType type, const void* given, const void* expected, std::uint64_t elements) {
    const unsigned size = ElementSize(type);
    const std::uint64_t infinity = type == OutputType::kF64   ? 0x7FF0000000000000u
                                   : type == OutputType::kF32 ? 0x7F800000u
                                   : type == OutputType::kF16 ? 0x7C00u
                                                              : 0x7F80u;
    for (std::uint64_t i = 0; i < elements; ++i) {
      std::uint64_t a = 0, b = 0;
      std::memcpy(&a, static_cast<const unsigned char*>(given) + i * size, size);
      std::memcpy(&b, static_cast<const unsigned char*>(expected) + i * size, size);
      const std::uint64_t magnitude = (std::uint64_t{1} << (8 * size - 1)) - 1;
      const bool are_nans = IsFloat(type) && (a & magnitude) > infinity && (b & magnitude) > infinity;
      if (a != b && !are_nans) return false;
    }
    return true;
  }

  /// Of a type that has passed a check.
  static ElementType TypeOf(OrtElementType type) {
    switch (type) {
      case ORT_TYPE_UINT32:
        return ElementType::kU32;
      case ORT_TYPE_INT32:
        return ElementType::kI32;
      case ORT_TYPE_INT64:
        return ElementType::kI64;
      case ORT_TYPE_FLOAT16:
        return ElementType::kF16;
      case ORT_TYPE_BFLOAT16:
        return ElementType::kBF16;
      case ORT_TYPE_FLOAT:
        return ElementType::kF32;
      case ORT_TYPE_DOUBLE:
        return ElementType::kF64;
      default:
        return ElementType::kOther;
    }
  }

  bool is_torch_s_ = false;  // the numbers that the node draws
  const Ops& ops_;
  check::Random random_;
};

}  // namespace

#ifdef ONNX_PHILOX_LIBFUZZER

extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const OrtSessionOptions* const options = [] {
    auto* const made = new OrtSessionOptions();
    check::That(Take(RegisterCustomOps(made, host::Base())).empty(), "the library is not registered");
    return made;
  }();
  Fuzzer(options->domains.at(0)->ops, check::Random(data, size)).Step();
  if (check::failures > 0) std::abort();
  return 0;
}

#else

int main(int argc, char** argv) {
  if (argc < 2) return std::printf("usage: test_host LIBRARY [SECONDS [SEED]]\n"), 2;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::printf("FAILED: %s\n", dlerror()), 1;
  const auto register_ops = reinterpret_cast<RegisterFunction*>(dlsym(library, "RegisterCustomOps"));
  if (register_ops == nullptr) return std::printf("FAILED: %s\n", dlerror()), 1;

  OrtSessionOptions options;
  const std::string refused = Take(register_ops(&options, host::OldBase()));
  check::That(refused.find("ONNX Runtime must be 1.19 or newer: got 1.18.1") != std::string::npos, "%s", refused.c_str());
  if (ActiveKernels().kernels == nullptr) {
    const std::string why = Take(register_ops(&options, host::Base()));
    check::That(why == ActiveKernels().error && options.domains.empty(), "registered, or refused with: %s", why.c_str());
    // CTest knows it by these words: the processor, or the build, has no such instruction set.
    return std::printf("%s\n", why.c_str()), check::Finish(2);
  }
  for (long n = 0; n < 3; ++n) {  // making the domain fails, and later works
    const long live = host::live;
    host::calls_left = n;
    check::That(Take(register_ops(&options, host::Base())) == "injected", "registering ignored a failure");
    host::calls_left = -1;
    check::That(host::live == live && options.domains.empty(), "a failed registration left something over");
  }
  std::vector<std::thread> threads;
  std::vector<OrtSessionOptions> many(8);
  for (OrtSessionOptions& one : many) {
    threads.emplace_back([&one, register_ops] { Take(register_ops(&one, host::Base())); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const OrtSessionOptions& one : many) {
    check::That(one.domains.size() == 1 && one.domains[0] == many[0].domains[0], "not one domain for all");
  }
  const OrtCustomOpDomain& domain = *many[0].domains.at(0);
  check::That(domain.name == "onnx_philox" && domain.ops.size() == kOperators + 1, "the domain");  // RandomDropout, twice
  const Ops& ops = domain.ops;

  TestDeclarations(ops);
  TestKnownAnswers(OpOf(ops, kRandomGenerator), OpOf(ops, kRandomUniform));
  TestInference(OpOf(ops, kRandomCategorical));
  TestInferenceOfData(OpOf(ops, kRandomDropout));
  TestWidening(OpOf(ops, kRandomUniform));
  TestWidening(OpOf(ops, kRandomNormal));
  TestEveryCallMayFail(ops);
  TestEightThreadsRunOneKernel(OpOf(ops, kRandomGenerator));

  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  Fuzzer fuzzer(ops, check::Random(seed));
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  // For so long, and on a slow machine until there are enough of each kind.
  for (int step = 0; std::chrono::steady_clock::now() < end || (step < 5000 && !fuzzer.IsEnough()); ++step) {
    fuzzer.Step();
  }
  std::printf("random nodes from seed %llu: %lu refused\n", static_cast<unsigned long long>(seed), fuzzer.refused);
  check::That(fuzzer.IsEnough(), "too few random nodes of one kind");
  for (int i = 0; i < kOperators; ++i) {
    std::printf("%s: %lu accepted\n", kAllOperators[i]->name, fuzzer.accepted[i]);
  }
  return check::Finish(200);
}

#endif  // ONNX_PHILOX_LIBFUZZER
