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

#include "check.h"
#include "floats.h"
#include "host.h"
#include "kernels.h"
#include "ort_types.h"
#include "random_nodes.h"

#ifdef ONNX_PHILOX_LIBFUZZER
#pragma GCC diagnostic ignored "-Wunused-function"  // it makes the random calls alone
#endif

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

/// Random nodes, valid and invalid, as ONNX Runtime hands them over.
class Fuzzer {
 public:
  Fuzzer(const Ops& ops, check::Random random) : ops_(ops), made_(random, false) {}

  void Step() {
    made_.Make();
    const Operator& op = *made_.op;
    const std::size_t which = static_cast<std::size_t>(std::find(kAllOperators, kAllOperators + kOperators, &op) - kAllOperators);
    Node node(ops_[which]);
    for (int i = 0; i < op.attributes; ++i) {
      const GivenAttribute& given = made_.given[op.attribute[i].role];
      if (given.kind != GivenAttribute::Kind::kMissing) node.attributes[op.attribute[i].name] = Given(given);
    }
    for (std::size_t i = 0; i < made_.inputs.size(); ++i) {
      random_nodes::Tensor& input = made_.inputs[i];
      const bool is_constant = made_.Coin();
      node.Add(Value(TypeOf(input.type), Dimensions(input.shape), input.bytes.data(), input.bytes.size()), is_constant, made_.Coin());
      const bool is_none = op.input[i].role == Role::kRowNumbers && input.size() == 0;
      node.left_out.back() = (is_none && made_.Coin()) || made_.Wrong(60);
      if (node.left_out.back()) input.type = ElementType::kUnknown;
    }
    const int type_input = op.type_input();
    node.output_type = type_input >= 0 ? node.values.at(static_cast<std::size_t>(type_input)).info.type
                                       : OrtTypeOf(ElementTypeOf(made_.type));
    if (made_.Chance(8)) node.outputs.pop_back();
    if (made_.Chance(20)) node.outputs[0].clear();
    if (op.has_mask() && made_.Chance(4)) node.outputs[1].clear();

    OrtKernelContext context = node.Context(1 + static_cast<unsigned>(made_.Below(3)));
    const long live = host::live;
    const std::string error = Run(node, &context);
    check::That(host::live == live, "%ld objects left over", host::live - live);
    for (const OrtValue& output : context.outputs) check::That(host::GuardsHold(output), "written past an output");
    if (error.empty()) {
      ++accepted[which];
      return Compare(node, &context);
    }
    ++refused;
    const bool is_whole = random_nodes::IsWhole(op, error) && error.find(op.name) == 0;
    check::That(is_whole, "an error without its four parts: %s", error.c_str());
    check::That(made_.is_wild, "a node with nothing wrong is refused: %s", error.c_str());
  }

  bool IsEnough() const {
    return refused > kEnough && std::all_of(accepted, accepted + kOperators, [](unsigned long n) { return n > kEnough; });
  }

  static constexpr unsigned long kEnough = 20;
  unsigned long accepted[kOperators] = {};
  unsigned long refused = 0;

 private:
  Attribute Given(const GivenAttribute& given) {
    Attribute attribute(given.kind == GivenAttribute::Kind::kInteger ? Attribute::Kind::kInteger
                        : given.kind == GivenAttribute::Kind::kText  ? Attribute::Kind::kText
                        : given.kind == GivenAttribute::Kind::kFloat ? Attribute::Kind::kFloat
                        : made_.Coin()                               ? Attribute::Kind::kIntegers
                                                                     : Attribute::Kind::kFloats);
    attribute.integer = given.integer;
    attribute.number = static_cast<float>(given.number);
    if (attribute.kind == Attribute::Kind::kText) attribute.text = given.text;
    if (attribute.kind == Attribute::Kind::kIntegers) attribute.integers = {1, 2};
    if (attribute.kind == Attribute::Kind::kFloats) attribute.numbers = {0.25f};
    return attribute;
  }

  /// Of what no operator takes, a text, a complex number or a float of 8 bits.
  OrtElementType TypeOf(ElementType type) {
    if (type != ElementType::kOther) return OrtTypeOf(type);
    const int others[] = {8, 14, 15, 17, 18, 19, 20, 21};
    return static_cast<OrtElementType>(others[made_.Below(std::size(others))]);
  }

  static std::vector<std::int64_t> Dimensions(const random_nodes::Shape& shape) { return {shape.begin(), shape.end()}; }

  void Compare(const Node& node, OrtKernelContext* context) {
    const Operator& op = *made_.op;
    random_nodes::Drawn right;
    try {
      right = random_nodes::Oracle(op, made_.given, made_.type, made_.inputs, false).Right();
    } catch (const std::logic_error& wrong) {
      check::That(false, "%s is drawn all the same: %s", op.name, wrong.what());
      return;
    }
    const std::size_t elements = random_nodes::ElementsOf(right.shape), last = static_cast<std::size_t>(op.state_output());
    const auto is = [&](std::size_t i, const random_nodes::Shape& shape, const void* data, std::size_t bytes) {
      if (i >= node.outputs.size() || node.outputs[i].empty()) return true;
      OrtValue& output = context->outputs[i];
      return output.info.dimensions == Dimensions(shape) && (bytes == 0 || std::memcmp(output.data(), data, bytes) == 0);
    };
    check::That(is(0, right.shape, nullptr, 0), "an output of another shape of %s", op.name);
    for (std::size_t i = 0; i < elements && !node.outputs[0].empty(); ++i) {
      const std::uint64_t wanted = ElementAt(right.values.data(), made_.type, i);
      const std::uint64_t found = ElementAt(context->outputs[0].data(), made_.type, i);
      if (!check::That(random_nodes::AreSame(made_.type, wanted, found), "wrong values of %s", op.name)) break;
    }
    check::That(!op.has_mask() || is(1, right.shape, right.mask.data(), elements), "a wrong mask");
    check::That(is(last, right.state_shape, right.next_states.data(), right.next_states.size() * 4), "a wrong next state of %s", op.name);
  }

  const Ops& ops_;
  random_nodes::Node made_;
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
