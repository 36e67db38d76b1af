// The checks of checks.h at the edge of each rule, and numbers shown as Python shows them. The plugins' tests compare
// whole texts with the Python package's.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "check.h"
#include "checks.h"
#include "text.h"

namespace {

using namespace onnx_philox;

void Is(const std::string& text, const char* wanted) {
  check::That(text == wanted, "'%s' is not '%s'", text.c_str(), wanted);
}

void Says(const std::string& text, const char* part) {
  check::That(text.find(part) != std::string::npos, "'%s' does not say '%s'", text.c_str(), part);
}

void TestNumbersAreShownAsPythonShowsThem() {
  Is(ShowFloat(2), "2.0");
  Is(ShowFloat(-0.0), "-0.0");
  Is(ShowFloat(0.1), "0.1");
  Is(ShowFloat(static_cast<double>(0.1f)), "0.10000000149011612");
  Is(ShowFloat(65504), "65504.0");
  Is(ShowFloat(1e15), "1000000000000000.0");
  Is(ShowFloat(1.2e16), "1.2e+16");
  Is(ShowFloat(123456789012345680), "1.2345678901234568e+17");
  Is(ShowFloat(0.0001), "0.0001");
  Is(ShowFloat(0.00012), "0.00012");
  Is(ShowFloat(1e-5), "1e-05");
  Is(ShowFloat(5e-324), "5e-324");
  Is(ShowFloat(0x1p-24), "5.960464477539063e-08");
  Is(ShowFloat(-0x1p-24), "-5.960464477539063e-08");
  Is(ShowFloat(0x1p-1022), "2.2250738585072014e-308");
  Is(ShowFloat(9007199254740993.0), "9007199254740992.0");
  Is(ShowFloat(1.7976931348623157e308), "1.7976931348623157e+308");
  Is(ShowFloat(-std::numeric_limits<double>::infinity()), "-inf");
  Is(ShowFloat(std::numeric_limits<double>::quiet_NaN()), "nan");
}

void TestTextsAreShownAsPythonShowsThem() {
  Is(ShowText("f8"), "'f8'");
  Is(ShowText("it's"), "\"it's\"");
  Is(ShowText("a'b\"c"), "'a\\'b\"c'");
  Is(ShowText("a\nb\\\x01\x1F \x7F~"), "'a\\nb\\\\\\x01\\x1f \\x7f~'");
  Is(ShowBytes(999), "999"), Is(ShowBytes(123456), "123,456");
  // Sequences at the edges of what is one, and beside them.
  const std::string right = "\xC2\x80\xDF\xBF\xE0\xA0\x80\xE1\x80\x80\xED\x9F\xBF\xEE\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF1\x80\x80\x80\xF4\x8F\xBF\xBF";
  Is(ShowText(right), ("'" + right + "'").c_str());
  for (const std::string wrong : {"\x80", "\xBF\xC1\xBF", "\xC2", "\xC2\xFF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    std::string shown = "'";
    for (std::size_t i = 0; i < wrong.size(); ++i) shown += "\xEF\xBF\xBD";
    Is(ShowText(wrong), (shown + "'").c_str());
  }
}

void TestAttributes() {
  GivenAttributes given;
  Attributes attributes;
  Is(CheckAttributes(kRandomGenerator, given, &attributes), "");
  check::That(attributes.output == OutputType::kBits, "the generator's output is not bits");
  Is(CheckAttributes(kRandomUniform, given, &attributes),
     "RandomUniform: attribute 'output_type' must be 'i32', 'i64', 'f16', 'bf16', 'f32' or 'f64': got nothing. "
     "Set it to one of these.");
  given[AttributeRole::kOutputType] = GivenAttribute::Text("bf16");
  given[AttributeRole::kOpSeed] = GivenAttribute::Integer(std::numeric_limits<std::int64_t>::max());
  Is(CheckAttributes(kRandomUniform, given, &attributes), "");
  check::That(attributes.output == OutputType::kBF16 && attributes.op_seed == given[AttributeRole::kOpSeed].integer, "wrong attributes");
  Is(CheckLeftOut(kRandomUniform, 3, attributes), "");
  given[AttributeRole::kAlignment] = GivenAttribute::Text("tensorflow");
  Is(CheckAttributes(kRandomUniform, given, &attributes), "");
  given[AttributeRole::kAlignment] = GivenAttribute::Text("pytorch");
  Is(CheckAttributes(kRandomUniform, given, &attributes), "");
  check::That(attributes.is_pytorch && attributes.state_words() == 632, "the alignment is not read");
  Says(CheckTogether(kRandomUniform, attributes, Arguments()), "'op_seed' must be 0 with alignment 'pytorch': got 9223372036854775807.");
  Attributes seeded = attributes;
  seeded.op_seed = 0;
  seeded.global_seed = 7;
  Arguments beside;
  Is(CheckTogether(kRandomUniform, seeded, beside), "");
  beside.has_state = true;
  Says(CheckTogether(kRandomUniform, seeded, beside), "'global_seed' must be 0 where a state is connected, with alignment 'pytorch'");
  given[AttributeRole::kAlignment] = GivenAttribute::Text("torch");
  Is(CheckAttributes(kRandomUniform, given, &attributes),
     "RandomUniform: attribute 'alignment' must be 'tensorflow' or 'pytorch': got 'torch'. Set it to one of these.");
  given[AttributeRole::kAlignment] = GivenAttribute();
  given[AttributeRole::kOpSeed] = GivenAttribute::Float(1);
  Is(CheckAttributes(kRandomUniform, given, &attributes),
     "RandomUniform: attribute 'op_seed' must be an integer from 0 to 2^63-1: got 1.0. Pass an integer.");
  given[AttributeRole::kOpSeed] = GivenAttribute::Integer(-1);
  Says(CheckAttributes(kRandomUniform, given, &attributes), "'op_seed' must be an integer from 0 to 2^63-1: got -1.");
  Says(CheckLeftOut(kRandomUniform, 3, Attributes()), "input 'state' must be connected where global_seed and op_seed are both 0: got nothing.");
  Is(CheckLeftOut(kRandomUniform, 2, attributes),
     "RandomUniform: input 'maxval' must be connected: got nothing. Connect it: the inputs are shape, minval, maxval, "
     "state (optional).");
}

void TestUnknownAttributes() {
  GivenAttributes given;
  Attributes attributes;
  given.unknown = "seed";
  Is(CheckAttributes(kRandomBernoulli, given, &attributes),
     "RandomBernoulli: each attribute must be one of global_seed, op_seed, alignment: got 'seed'. Did you mean op_seed? Rename it, or "
     "remove it.");
  given.unknown = "it's";
  Is(CheckAttributes(kRandomBernoulli, given, &attributes),
     "RandomBernoulli: each attribute must be one of global_seed, op_seed, alignment: got \"it's\". Rename it, or remove it.");
  const auto found = [](const std::string& name) {
    return FindOther(kRandomUniform, [&](const char* asked) { return asked == name; });
  };
  for (const char* name : {"seed", "sample_size", "type"}) check::That(found(name) == name, "%s is not asked for", name);
  for (const char* name : {"op_seed", "opseed"}) check::That(found(name).empty(), "%s is asked for", name);
}

void TestStates() {
  const std::uint32_t words[] = {1, 2, 3, 4, 5, 6};
  Arguments arguments;
  const auto error = [&](const Known& known) { return CheckInput(kRandomGenerator, 0, known, Attributes(), &arguments); };
  const std::int64_t good[] = {1, Known::kUnknownDimension, 6}, bad[] = {1, 2, 6};
  Is(error(Known{ElementType::kU32, 3, good, words}), "");
  check::That(arguments.state.key == (std::uint64_t{6} << 32 | 5), "the state's key is wrong");
  Is(error(Known()), "");
  Says(error(Known{ElementType::kU32, 3, bad, words}), "must be [6], or [1, ..., 1, 6] up to rank 8, or [B, 6], a state for each row of the output: got shape [1, 2, 6].");
  Says(error(Known{ElementType::kU32, 0, nullptr, words}), "got shape [].");
  const std::int64_t of_torch = 632;
  Says(error(Known{ElementType::kU32, 1, &of_torch, nullptr}), "got shape [632]. Pass PhiloxState(...).to_array() (in C, ");
  Says(CheckInput(kRandomUniform, 3, Known{ElementType::kU32, 1, &of_torch, nullptr}, Attributes(), &arguments),
       "got shape [632]. 632 words are a TorchState: set alignment to 'pytorch', or");
  Says(error(Known{ElementType::kI64, 3, good, words}), "must be u32: got i64. Cast");
}

void TestRowsOfStates() {
  const std::uint32_t words[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::int64_t states[] = {2, 6}, length = 2, unknown = Known::kUnknownDimension;
  const auto together = [&](std::int64_t rows, bool is_scalar = false) {
    Arguments arguments;
    const std::int64_t shape[] = {rows, 5}, entries = is_scalar ? 0 : length;
    Is(CheckInput(kRandomGenerator, 0, Known{ElementType::kU32, 2, states, words}, Attributes(), &arguments), "");
    check::That(arguments.states == 2 && arguments.state_words == words, "the states of rows are wrong");
    const void* const data = rows == unknown ? nullptr : static_cast<const void*>(shape);
    Is(CheckInput(kRandomGenerator, 1, Known{ElementType::kI64, 1, &entries, data}, Attributes(), &arguments), "");
    return CheckTogether(kRandomGenerator, Attributes(), arguments);
  };
  Is(together(2), "");
  Is(together(unknown), "");
  Says(together(3), "each of its rows: got 2 states (shape [2, 6]) for 3 rows (output shape [3, 5]).");
  Says(together(1), "for 1 row (output shape [1, 5]).");
  Says(together(0), "for 0 rows (output shape [0, 5]).");
  Says(together(2, true), "for a scalar (output shape []).");
}

std::string ShapeError(std::initializer_list<std::int64_t> dimensions, OutputType output, Dimensions* checked) {
  return CheckDimensions(kRandomGenerator, dimensions.begin(), static_cast<int>(dimensions.size()), output, checked);
}

void TestShapes() {
  const std::int64_t big = std::int64_t{1} << 31;
  Dimensions checked;
  Is(ShapeError({}, OutputType::kF64, &checked), "");
  check::That(checked.elements == 1 && checked.bytes == 8, "a scalar has one element");
  Is(ShapeError({3, 0}, OutputType::kF64, &checked), "");
  check::That(checked.elements == 0 && checked.bytes == 0, "a dimension of 0 leaves none");
  Is(ShapeError({big, big - 1}, OutputType::kF16, &checked), "");
  check::That(checked.elements == big * (big - 1), "wrong number of elements");
  Says(CheckMemory(kRandomGenerator, checked, OutputType::kF16, FindMemory()), "[2147483648, 2147483647], 9,223,372,032,559,808,512");
  Says(ShapeError({big, big}, OutputType::kF16, &checked), "must be at most 2^63-1 bytes of f16: got [2147483648, 2147483648].");
  Says(ShapeError({big, big, big, 0}, OutputType::kF16, &checked), "2147483648, 0].");
  Says(ShapeError({-1, 2}, OutputType::kF16, &checked), "must be dimensions of 0 or more: got [-1, 2].");

  const std::int32_t narrow[] = {2, -3};
  const std::int64_t two = 2, nine = 9, unknown = Known::kUnknownDimension, none = 0;
  Arguments arguments;
  const auto error = [&](const Known& known) { return CheckInput(kRandomGenerator, 1, known, Attributes(), &arguments); };
  Says(error(Known{ElementType::kI32, 1, &two, narrow}), "[2, -3]");
  Says(error(Known{ElementType::kI64, 1, &nine, nullptr}), "must be of 0 to 8 dimensions: got 9 dimensions.");
  arguments.has_dimensions = true;
  Is(error(Known{ElementType::kI64, 1, &unknown, nullptr}), "");
  check::That(!arguments.has_dimensions, "a shape of unknown length is not complete");
  Is(error(Known{ElementType::kI64, 1, &none, nullptr}), "");
  check::That(arguments.has_dimensions && arguments.dimensions.rank == 0, "a shape of length 0 is complete");
}

/// The error about an input of RandomUniform whose output is of that type.
std::string BoundError(int index, const Known& known, OutputType output, Arguments* arguments) {
  Attributes attributes;
  attributes.output = output;
  return CheckInput(kRandomUniform, index, known, attributes, arguments);
}

template <class T>
std::string RangeError(OutputType output, T minval, T maxval) {
  Arguments arguments;
  const ElementType type = ElementTypeOf(output);
  std::string error = BoundError(1, Known{type, 0, nullptr, &minval}, output, &arguments);
  if (error.empty()) error = BoundError(2, Known{type, 0, nullptr, &maxval}, output, &arguments);
  Attributes attributes;
  attributes.output = output;
  return error.empty() ? CheckTogether(kRandomUniform, attributes, arguments) : error;
}

void TestBounds() {
  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  Is(RangeError(OutputType::kF32, 1.0f, 1.0f), "");
  Is(RangeError(OutputType::kF32, -0.0f, 0.0f), "");
  Is(RangeError(OutputType::kF32, 2.0f, 1.0f),
     "RandomUniform: input 'minval' must be at most maxval: got 2.0 with maxval 1.0. Swap them.");
  Says(RangeError(OutputType::kF32, 0.0f, inf), "'maxval' must be a finite number: got inf.");
  Says(RangeError(OutputType::kF32, -most, most), "so close to maxval that f32 holds their difference");
  Says(RangeError<std::uint16_t>(OutputType::kF16, 0xFBFF, 0x7BFF), "that f16 holds their difference: got -65504.0 with maxval 65504.0.");
  Says(RangeError<std::uint16_t>(OutputType::kBF16, 0x7FC0, 0), "'minval' must be a finite number: got nan.");
  Says(RangeError(OutputType::kI32, 5, 5), "'minval' must be less than maxval: got 5 with maxval 5.");
  Says(RangeError<std::int64_t>(OutputType::kI64, 0, std::numeric_limits<std::int64_t>::min()), "-9223372036854775808.");
  const std::int64_t two = 2;
  Arguments arguments;
  Says(BoundError(2, Known{ElementType::kF32, 1, &two, nullptr}, OutputType::kF32, &arguments),
       "input 'maxval' must be a scalar, or 1-D of one element: got shape [2].");
  Says(BoundError(2, Known{ElementType::kF64, 0, nullptr, nullptr}, OutputType::kF32, &arguments),
       "must be f32, as output_type says: got f64. Cast it to f32.");
}

void TestAttributesOfDistributions() {
  GivenAttributes given;
  Attributes attributes;
  Is(CheckAttributes(kRandomNormal, given, &attributes),
     "RandomNormal: attribute 'output_type' must be 'f16', 'bf16', 'f32' or 'f64': got nothing. Set it to one of these.");
  given[AttributeRole::kOutputType] = GivenAttribute::Text("i64");
  Says(CheckAttributes(kRandomNormal, given, &attributes), "'output_type' must be 'f16', 'bf16', 'f32' or 'f64': got 'i64'.");
  Is(CheckAttributes(kRandomBernoulli, given, &attributes), "");
  check::That(attributes.output == OutputType::kBool, "a Bernoulli output is bool, whatever else is given");
  Is(CheckAttributes(kRandomCategorical, given, &attributes), "");
  check::That(attributes.output == OutputType::kI64 && attributes.sample_size == 1, "wrong attributes of categorical");
  given = GivenAttributes();
  given[AttributeRole::kSampleSize] = GivenAttribute::Integer(7);
  Is(CheckAttributes(kRandomCategorical, given, &attributes), "");
  check::That(attributes.output == OutputType::kI32 && attributes.sample_size == 7, "the default is i32");
  given[AttributeRole::kSampleSize] = GivenAttribute::Integer(0);
  Is(CheckAttributes(kRandomCategorical, given, &attributes),
     "RandomCategorical: attribute 'sample_size' must be an integer from 1 to 2^63-1: got 0. Choose another number.");
  Is(CheckLeftOut(kRandomBernoulli, 1, attributes),
     "RandomBernoulli: input 'p' must be connected: got nothing. Connect it: the inputs are shape, p, state (optional).");
}

const Argument& GivenTo(const Arguments& arguments, Parameter parameter) {
  return arguments.given[static_cast<int>(parameter)];
}

/// An operator as a user of the declaration may write one: a scale without a mean, and a number that may be left out.
void TestParametersGoByTheirNames() {
  constexpr ElementType f32[] = {ElementType::kF32};
  const Limits limits[kOutputTypes] = {{0, 0}, {0x80000001u, 0xFF7FFFFFu}};  // above 0
  const InputDeclaration inputs[] = {
      {"scale", Role::kNumber, Parameter::kScale, false, {1, f32}, "f32", limits, "above 0", "Raise it."},
      {"p", Role::kNumber, Parameter::kP, true, {1, f32}, "f32", limits, "above 0", "Raise it."},
  };
  const Operator op = {"Made", Distribution::kNormal, {128, -1}, 2, inputs, 0, {}, 0, nullptr, false, "", "", ""};
  const float values[] = {2, 0, -0x1p-149f, 0x1p-149f};
  const auto check = [&](const float* value, Arguments* arguments) {
    return CheckInput(op, 0, Known{ElementType::kF32, 0, nullptr, value}, Attributes(), arguments);
  };
  Arguments arguments;
  Is(check(values, &arguments), "");
  check::That(GivenTo(arguments, Parameter::kScale).bits == 0x40000000, "the scale is not in its place");
  check::That(GivenTo(arguments, Parameter::kMean).bits == 0, "a mean that nobody gave");
  Is(CheckLeftOut(op, 1, Attributes()), "");
  check::That(DrawOf(op, Attributes(), arguments, nullptr).words == 128, "the words of an element");
  Is(check(values + 1, &arguments), "Made: input 'scale' must be above 0: got 0.0. Raise it.");
  Says(check(values + 2, &arguments), "must be above 0: got -1.401298464324817e-45.");
  Is(check(values + 3, &arguments), "");
}

void TestScaleOfExponentials() {
  Attributes attributes;
  attributes.output = OutputType::kF32;
  const float infinity = std::numeric_limits<float>::infinity();
  const float values[] = {2, 0x1p-149f, 0, -0.0f, -1, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()};
  const char* const shown[] = {"", "", "0.0", "-0.0", "-1.0", "inf", "-inf", "nan"};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    Arguments arguments;
    const Known scale{ElementType::kF32, 0, nullptr, values + i};
    const std::string error = CheckInput(kRandomExponential, 1, scale, attributes, &arguments);
    if (*shown[i] == 0) {
      Is(error, "");
      continue;
    }
    Is(error, (std::string("RandomExponential: input 'scale' must be a finite number above 0: got ") + shown[i] +
               ". Pass a scale above 0: 1 / rate, if you have a rate.").c_str());
  }
}

void TestAlphaAndRate() {
  Attributes attributes;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto error = [&](const Operator& op, double value) {
    Arguments arguments;
    attributes.output = op.distribution == Distribution::kGamma ? OutputType::kF64 : OutputType::kI32;
    return CheckInput(op, 1, Known{ElementType::kF64, 0, nullptr, &value}, attributes, &arguments);
  };
  for (const double right : {0x1p-1074, 1.0, 0x1p50}) Is(error(kRandomGamma, right), "");
  for (const double right : {-0.0, 0.0, 1.0, 0x1p30}) Is(error(kRandomPoisson, right), "");
  Is(error(kRandomGamma, 0),
     "RandomGamma: input 'alpha' must be a number above 0, at most 2^50: got 0.0. Pass such numbers; near 2^50 a gamma is a "
     "normal of mean alpha.");
  for (const double wrong : {-1.0, 0x1.0000000000001p50, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    Says(error(kRandomGamma, wrong), "must be a number above 0, at most 2^50: got ");
  }
  Is(error(kRandomPoisson, -0.5), "RandomPoisson: input 'rate' must be 0 to 2^30: got -0.5. Pass such rates.");
  for (const double wrong : {-0x1p-1074, 0x1.0000000000001p30, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    Says(error(kRandomPoisson, wrong), "must be 0 to 2^30: got ");
  }
}

void TestRowsOfPermutations() {
  Attributes attributes;
  const auto error = [&](std::initializer_list<std::int64_t> entries, OutputType type, std::int64_t states) {
    attributes.output = type;
    Arguments arguments;
    const std::int64_t length = static_cast<std::int64_t>(entries.size()), state_shape[] = {states, kStateWords};
    const std::string wrong =
        CheckInput(kRandomPermutation, 0, Known{ElementType::kI64, 1, &length, entries.begin()}, attributes, &arguments);
    if (!wrong.empty()) return wrong;
    Is(CheckInput(kRandomPermutation, 1, Known{ElementType::kU32, 2, state_shape, nullptr}, attributes, &arguments), "");
    return CheckTogether(kRandomPermutation, attributes, arguments);
  };
  const std::int64_t most = std::int64_t{1} << 31;
  Is(error({5}, OutputType::kI64, 1), "");
  Is(error({3, 5}, OutputType::kI64, 3), "");
  Is(error({2, most}, OutputType::kI32, 1), "");
  Is(error({most + 1}, OutputType::kI64, 1), "");
  Is(error({}, OutputType::kI64, 1),
     "RandomPermutation: input 'shape' must be of 1 or 2 dimensions, [n] or [m, n]: got 0 dimensions. Pass [n], or [m, n] for m "
     "permutations, and reshape the output.");
  Says(error({1, 2, 3}, OutputType::kI64, 1), "[n] or [m, n]: got 3 dimensions.");
  Is(error({2, most + 1}, OutputType::kI32, 1),
     "RandomPermutation: input 'shape' must be [n] or [m, n], with n at most 2147483648 of i32: got [2, 2147483649]. Draw i64.");
  Says(error({3}, OutputType::kI64, 3), "got 3 states (shape [3, 6]) for 1 row (output shape [3]).");
}

void TestDropout() {
  Attributes attributes;
  Is(CheckAttributes(kRandomDropout, GivenAttributes(), &attributes), "");
  for (const ElementType type : {ElementType::kF16, ElementType::kBF16, ElementType::kF64, ElementType::kF32}) {
    TakeOutputType(kRandomDropout, type, &attributes);
    check::That(ElementTypeOf(attributes.output) == type, "the output has the type of the data");
  }
  TakeOutputType(kRandomDropout, ElementType::kI32, &attributes);
  check::That(attributes.output == OutputType::kF32, "a type that data may not have changes nothing");
  TakeOutputType(kRandomUniform, ElementType::kF64, &attributes);
  check::That(attributes.output == OutputType::kF32, "nor does one of an operator whose attribute says it");

  Arguments arguments;
  const std::int64_t shape[] = {3, 2};
  const float data[6] = {};
  Is(CheckInput(kRandomDropout, 0, Known{ElementType::kF32, 2, shape, data}, attributes, &arguments), "");
  check::That(arguments.has_dimensions && arguments.dimensions.elements == 6, "the output has the shape of the data");
  Is(CheckInput(kRandomDropout, 0, Known{ElementType::kI32, 2, shape, data}, attributes, &arguments),
     "RandomDropout: input 'data' must be f32 or f16 or bf16 or f64: got i32. Cast it to f32.");
  const std::int64_t many[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  Is(CheckInput(kRandomDropout, 0, Known{ElementType::kF32, 9, many, data}, attributes, &arguments),
     "RandomDropout: input 'data' must be of 0 to 8 dimensions: got 9 dimensions. Merge some and reshape the output.");
  const float values[] = {0, 1, 0.5f, -0.25f, 1.5f, std::numeric_limits<float>::quiet_NaN()};
  const char* const shown[] = {"", "", "", "-0.25", "1.5", "nan"};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const Known ratio{ElementType::kF32, 0, nullptr, values + i};
    const std::string error = CheckInput(kRandomDropout, 1, ratio, attributes, &arguments);
    const std::string text = std::string("RandomDropout: input 'ratio' must be from 0 to 1: got ") + shown[i] +
                             ". Pass the share of the elements to drop.";
    Is(error, *shown[i] == 0 ? "" : text.c_str());
  }
}

std::string ProbabilityError(std::initializer_list<std::int64_t> dimensions, const void* data, Arguments* arguments) {
  const Known known{ElementType::kF32, static_cast<int>(dimensions.size()), dimensions.begin(), data};
  return CheckInput(kRandomBernoulli, 1, known, Attributes(), arguments);
}

void TestProbabilities() {
  const float p[] = {0, -0.0f, 1, 0x1p-149f, 0.5f, -0x1p-149f};
  Arguments arguments;
  Is(ProbabilityError({}, p + 4, &arguments), "");
  check::That(!GivenTo(arguments, Parameter::kP).each() && GivenTo(arguments, Parameter::kP).bits == 0x3F000000,
              "one probability");
  Is(ProbabilityError({5}, p, &arguments), "");
  check::That(GivenTo(arguments, Parameter::kP).data == p && arguments.has_value[1], "one for each");
  Is(ProbabilityError({2, 3}, p, &arguments),
     "RandomBernoulli: input 'p' must be from 0 to 1, or at most 4 ulp above 1: got -1.401298464324817e-45 at [1, 2]. "
     "Pass probabilities.");
  const float nan = std::numeric_limits<float>::quiet_NaN(), most = 1 + 0x1p-21f, above = 1 + 0x1.4p-21f;
  Says(ProbabilityError({1}, &nan, &arguments), "input 'p' must be from 0 to 1, or at most 4 ulp above 1: got nan.");
  Is(ProbabilityError({}, &most, &arguments), "");
  Says(ProbabilityError({}, &above, &arguments), "above 1: got 1.0000005960464478.");
  const std::uint64_t most_wide = 0x3FF0000000000004, wide = 0x3FF0000000000005;
  Is(CheckInput(kRandomBernoulli, 1, Known{ElementType::kF64, 0, nullptr, &most_wide}, Attributes(), &arguments), "");
  const Known double_p{ElementType::kF64, 0, nullptr, &wide}, half{ElementType::kF16, 0, nullptr, &wide};
  Says(CheckInput(kRandomBernoulli, 1, double_p, Attributes(), &arguments), "above 1: got 1.000000000000001.");
  Says(CheckInput(kRandomBernoulli, 1, half, Attributes(), &arguments), "must be f32 or f64: got f16. Cast it to f32.");

  // In the middle of as many as threads would check, if there were any.
  std::vector<float> many(160000, 0.25f);
  many[77777] = 1.5f;
  Says(ProbabilityError({400, 400}, many.data(), &arguments), "above 1: got 1.5 at [194, 177].");

  // Beside a shape: at once where it is known before, by CheckTogether where it is known after.
  const std::int64_t shape[] = {2, 2}, two = 2;
  Arguments later;
  Is(ProbabilityError({5}, p, &later), "");
  Is(CheckInput(kRandomBernoulli, 0, Known{ElementType::kI64, 1, &two, shape}, Attributes(), &later), "");
  const char* const text =
      "RandomBernoulli: input 'p' must be a scalar, 1-D of one element, or the output's shape [2, 2]: got shape [5]. "
      "Pass one number, or expand it to that shape.";
  Is(CheckTogether(kRandomBernoulli, Attributes(), later), text);
  Is(ProbabilityError({5}, p, &later), text);
  Is(ProbabilityError({2, 2}, p, &later), "");
  Is(ProbabilityError({1}, p, &later), "");
  Arguments only_rank;
  Is(CheckInput(kRandomBernoulli, 0, Known{ElementType::kI64, 1, &two, nullptr}, Attributes(), &only_rank), "");
  Says(ProbabilityError({5}, p, &only_rank), "or the output's shape [?, ?]: got shape [5].");

  // More dimensions than anything keeps, whether the output's shape is known before, later or not at all.
  for (Arguments* const known_shape : {&later, &only_rank, &arguments}) {
    Is(ProbabilityError({1, 1, 1, 1, 1, 1, 1, 1, 5}, p, known_shape),
       "RandomBernoulli: input 'p' must be of 0 to 8 dimensions: got 9 dimensions. Merge some and reshape the output.");
  }
  Is(ProbabilityError({1, 1, 1, 1, 1, 1, 1, 5}, p, &arguments), "");
  const ShapeSoFar& of_p = arguments.numbers[static_cast<int>(Parameter::kP)];
  check::That(of_p.rank == kMaxRank && of_p.dimension[7] == 5, "the shape of p");
}

/// Numbers that the draw looks at: nothing is said of them until it has, or another input is wrong, or the draw would write
/// where they lie.
void TestNumbersThatWait() {
  const std::int64_t dimensions[] = {2, 3}, states[] = {3, kStateWords}, rank = 2;
  float p[] = {0, 1, 0.5f, 0.25f, 1, 1.5f};
  const Attributes attributes;
  Arguments arguments;
  const Known known{ElementType::kF32, 2, dimensions, p};
  const char* const wrong =
      "RandomBernoulli: input 'p' must be from 0 to 1, or at most 4 ulp above 1: got 1.5 at [1, 2]. Pass probabilities.";
  const auto read = [&](Arguments* to) {
    Is(CheckInput(kRandomBernoulli, 0, Known{ElementType::kI64, 1, &rank, dimensions}, attributes, to), "");
    return CheckInput(kRandomBernoulli, 1, known, attributes, to, nullptr, ManyNumbers::kAsDrawn);
  };
  Is(read(&arguments), "");
  Is(CheckTogether(kRandomBernoulli, attributes, arguments), "");
  Is(CheckUnchecked(kRandomBernoulli, arguments), wrong);

  // It comes before what is wrong with a later input, or with both.
  Is(CheckInput(kRandomBernoulli, 2, Known{ElementType::kF32, 1, dimensions, nullptr}, attributes, &arguments), wrong);
  Is(CheckInput(kRandomBernoulli, 2, Known{ElementType::kU32, 2, states, nullptr}, attributes, &arguments), "");
  Is(CheckTogether(kRandomBernoulli, attributes, arguments), wrong);

  // Overwritten, it could not be found.
  Arguments beside, over;
  Is(read(&beside), "");
  Is(CheckOverwritten(kRandomBernoulli, {p + 6, 6}, &beside), "");
  check::That(GivenTo(beside, Parameter::kP).unchecked != nullptr, "memory beside it");
  Is(CheckOverwritten(kRandomBernoulli, {reinterpret_cast<unsigned char*>(p) + 23, 6}, &beside), wrong);
  p[5] = 1;
  Is(read(&over), "");
  Is(CheckOverwritten(kRandomBernoulli, {p, 6}, &over), "");
  check::That(GivenTo(over, Parameter::kP).unchecked == nullptr, "checked before");
  Is(CheckUnchecked(kRandomBernoulli, over), "");

  // torch's draws look at nothing, and one number is looked at once.
  Attributes torch;
  torch.is_pytorch = true;
  Arguments of_torch, one;
  p[5] = 1.5f;
  Is(CheckInput(kRandomBernoulli, 1, known, torch, &of_torch, nullptr, ManyNumbers::kAsDrawn), wrong);
  Is(CheckInput(kRandomBernoulli, 1, Known{ElementType::kF32, 0, nullptr, p}, attributes, &one, nullptr, ManyNumbers::kAsDrawn), "");
  check::That(GivenTo(one, Parameter::kP).unchecked == nullptr, "one number");
}

std::string LogitsError(std::initializer_list<std::int64_t> dimensions, ElementType type, const void* data,
                        Arguments* arguments) {
  Attributes attributes;
  attributes.output = OutputType::kI32;
  attributes.sample_size = 3;
  const Known known{type, static_cast<int>(dimensions.size()), dimensions.begin(), data};
  return CheckInput(kRandomCategorical, 0, known, attributes, arguments);
}

void TestLogits() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float logits[] = {0, -inf, -inf, -inf, 1, inf, 1, nan};
  Arguments arguments;
  Is(LogitsError({1, 2}, ElementType::kF32, logits, &arguments), "");
  check::That(arguments.has_dimensions && arguments.dimensions.elements == 3 && arguments.classes == 2,
              "wrong rows or samples");
  Is(LogitsError({2, 2}, ElementType::kF32, logits, &arguments),
     "RandomCategorical: input 'logits' must be finite numbers or -inf, at least one of them finite in each row: "
     "got -inf in all of row 1. Correct what computes the logits.");
  Says(LogitsError({1, 2}, ElementType::kF32, logits + 4, &arguments), "in each row: got inf in row 0.");
  Says(LogitsError({1, 2}, ElementType::kF32, logits + 6, &arguments), "in each row: got nan in row 0.");
  const std::uint16_t half[] = {0xFC00, 0x7C01};
  Says(LogitsError({1, 2}, ElementType::kF16, half, &arguments), "got nan in row 0.");
  Says(LogitsError({2}, ElementType::kF32, logits, &arguments), "must be 2-D, [batch, classes]: got shape [2]. Reshape");
  Says(LogitsError({2, 0}, ElementType::kF32, nullptr, &arguments), "must be of at least one class: got shape [2, 0].");
  Is(LogitsError({0, 0}, ElementType::kF32, nullptr, &arguments), "");
  check::That(arguments.has_dimensions && arguments.dimensions.elements == 0, "no rows, no samples");
  Says(LogitsError({1, 2}, ElementType::kBF16, half, &arguments), "must be f32 or f16 or f64: got bf16. Cast it to f32.");
  Says(LogitsError({std::int64_t{1} << 62, 2}, ElementType::kF32, nullptr, &arguments),
       "RandomCategorical: the output must be at most 2^63-1 bytes of i32: got [4611686018427387904, 3].");
  Arguments unknown;
  Is(LogitsError({Known::kUnknownDimension, 2}, ElementType::kF32, nullptr, &unknown), "");
  check::That(!unknown.has_dimensions && unknown.output.rank == 2 && unknown.output.dimension[1] == 3,
              "the samples are known without the rows");
}

std::string TokenError(const char* name, ElementType type, std::initializer_list<std::int64_t> dimensions, const void* data,
                       std::int64_t rows = 3) {
  int index = 0;
  while (std::string(kRandomToken.input[index].name) != name) ++index;
  Attributes attributes;
  attributes.output = OutputType::kI64;
  Arguments arguments;
  const std::int64_t shape[] = {rows, 5};
  Is(CheckInput(kRandomToken, 0, Known{ElementType::kF32, 2, shape, nullptr}, attributes, &arguments), "");
  const Known known{type, static_cast<int>(dimensions.size()), dimensions.begin(), data};
  const std::string error = CheckInput(kRandomToken, index, known, attributes, &arguments);
  if (error.empty()) Is(CheckTogether(kRandomToken, attributes, arguments), "");
  return error;
}

void TestToken() {
  const float numbers[] = {0.5f, 1, 0, -0.5f, std::numeric_limits<float>::infinity()};
  const std::int64_t counts[] = {0, 7, -1};
  Is(TokenError("temperature", ElementType::kF32, {3}, numbers), "");
  Is(TokenError("temperature", ElementType::kF32, {}, numbers), "");
  Is(TokenError("temperature", ElementType::kF32, {0}, nullptr), "");
  Is(TokenError("temperature", ElementType::kF32, {4}, numbers, Known::kUnknownDimension), 
     "RandomToken: input 'temperature' must be a finite number, 0 or above: got -0.5 at [3]. Pass a temperature; 0 is greedy.");
  Says(TokenError("temperature", ElementType::kF32, {1}, numbers + 4), "got inf. Pass a temperature");
  Is(TokenError("temperature", ElementType::kF32, {2}, numbers),
     "RandomToken: input 'temperature' must be a scalar, 1-D of one element, or 1-D with one for each row (3): got shape "
     "[2]. Pass one number, or one for each row.");
  Says(TokenError("min_p", ElementType::kF32, {3, 1}, numbers, Known::kUnknownDimension),
       "or 1-D with one for each row: got shape [3, 1].");
  Says(TokenError("min_p", ElementType::kF64, {}, nullptr), "must be f32: got f64. Cast it to f32.");
  Is(TokenError("top_k", ElementType::kI64, {1}, counts), "");
  Says(TokenError("top_k", ElementType::kI64, {3}, counts), "'top_k' must be 0 or above: got -1 at [2].");
  Says(TokenError("top_p", ElementType::kF32, {3}, numbers), "'top_p' must be above 0, at most 1: got 0.0 at [2].");
  Says(TokenError("min_p", ElementType::kF32, {}, numbers + 3), "'min_p' must be from 0 to 1: got -0.5.");
}

}  // namespace

int main() {
  TestNumbersAreShownAsPythonShowsThem();
  TestTextsAreShownAsPythonShowsThem();
  TestAttributes();
  TestUnknownAttributes();
  TestStates();
  TestRowsOfStates();
  TestShapes();
  TestBounds();
  TestAttributesOfDistributions();
  TestParametersGoByTheirNames();
  TestScaleOfExponentials();
  TestAlphaAndRate();
  TestRowsOfPermutations();
  TestDropout();
  TestProbabilities();
  TestNumbersThatWait();
  TestLogits();
  TestToken();
  return check::Finish(100);
}
