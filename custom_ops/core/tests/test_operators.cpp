// The checks of operators.h at the edge of each rule, and numbers shown as Python shows them. The plugins' tests compare
// whole texts with the Python package's.
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "check.h"
#include "operators.h"

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
  Is(ShowFloat(1e16), "1e+16");
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
  Is(ShowText("a\nb\\\x01"), "'a\\nb\\\\\\x01'");
  Is(ShowText("\xC3\xBC\xFF"), "'\xC3\xBC\xEF\xBF\xBD'");
}

void TestAttributes() {
  GivenAttributes given;
  Attributes attributes;
  Is(CheckAttributes(kRandomGenerator, given, &attributes), "");
  check::That(attributes.output == OutputType::kBits, "the generator's output is not bits");
  Is(CheckAttributes(kRandomUniform, given, &attributes),
     "RandomUniform: attribute 'output_type' is missing; allowed: 'i32', 'i64', 'f16', 'bf16', 'f32', 'f64'. "
     "Set it to one of these.");
  given.type = GivenAttribute::Text("bf16");
  given.op_seed = GivenAttribute::Integer(std::numeric_limits<std::int64_t>::max());
  Is(CheckAttributes(kRandomUniform, given, &attributes), "");
  check::That(attributes.output == OutputType::kBF16 && attributes.op_seed == given.op_seed.integer, "wrong attributes");
  Is(CheckLeftOut(kRandomUniform, 3, attributes), "");
  given.op_seed = GivenAttribute::Float(1);
  Is(CheckAttributes(kRandomUniform, given, &attributes),
     "RandomUniform: attribute 'op_seed' is 1.0; allowed: an integer from 0 to 2^63-1. Pass an int.");
  given.op_seed = GivenAttribute::Integer(-1);
  Says(CheckAttributes(kRandomUniform, given, &attributes), "'op_seed' is -1;");
  Says(CheckLeftOut(kRandomUniform, 3, Attributes()), "left out with global_seed and op_seed both 0");
  Is(CheckLeftOut(kRandomUniform, 2, attributes),
     "RandomUniform: input 'maxval' is missing; allowed: shape, minval, maxval, state (optional). Connect it.");
}

void TestStates() {
  const std::uint32_t words[] = {1, 2, 3, 4, 5, 6};
  State state = {};
  const std::int64_t good[] = {1, Known::kUnknownDimension, 6}, bad[] = {2, 6};
  Is(CheckState(kRandomGenerator, Known{ElementType::kU32, 3, good, words}, &state), "");
  check::That(state.key == (std::uint64_t{6} << 32 | 5), "the state's key is wrong");
  Is(CheckState(kRandomGenerator, Known(), &state), "");
  Says(CheckState(kRandomGenerator, Known{ElementType::kU32, 2, bad, words}, &state), "of shape [2, 6]; allowed: last");
  Says(CheckState(kRandomGenerator, Known{ElementType::kU32, 0, nullptr, words}, &state), "of shape []");
  Says(CheckState(kRandomGenerator, Known{ElementType::kI64, 3, good, words}, &state), "is i64; allowed: u32. Cast");
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
  Says(CheckMemory(kRandomGenerator, checked, OutputType::kF16), "[2147483648, 2147483647], 9,223,372,032,559,808,512");
  Says(ShapeError({big, big}, OutputType::kF16, &checked), "too large; allowed: at most 2^63-1 bytes of f16");
  Says(ShapeError({big, big, big, 0}, OutputType::kF16, &checked), "too large");
  Says(ShapeError({-1, 2}, OutputType::kF16, &checked), "is [-1, 2]; allowed: dimensions of 0 or more");

  const std::int32_t narrow[] = {2, -3};
  const std::int64_t two = 2, nine = 9, unknown = Known::kUnknownDimension, none = 0;
  Says(CheckShape(kRandomGenerator, Known{ElementType::kI32, 1, &two, narrow}, OutputType::kBits, &checked), "[2, -3]");
  Says(CheckShape(kRandomGenerator, Known{ElementType::kI64, 1, &nine, nullptr}, OutputType::kBits, &checked),
       "of 9 dimensions; allowed: 0 to 8 dimensions");
  bool complete = true;
  Is(CheckShape(kRandomGenerator, Known{ElementType::kI64, 1, &unknown, nullptr}, OutputType::kBits, &checked, &complete),
     "");
  check::That(!complete, "a shape of unknown length is not complete");
  Is(CheckShape(kRandomGenerator, Known{ElementType::kI64, 1, &none, nullptr}, OutputType::kBits, &checked, &complete),
     "");
  check::That(complete && checked.rank == 0, "a shape of length 0 is complete");
}

template <class T>
std::string RangeError(OutputType output, T minval, T maxval) {
  Bounds bounds = {};
  const Known low{ElementTypeOf(output), 0, nullptr, &minval}, high{ElementTypeOf(output), 0, nullptr, &maxval};
  std::string error = CheckNumber(kRandomUniform, "minval", low, output, &bounds.minval);
  if (error.empty()) error = CheckNumber(kRandomUniform, "maxval", high, output, &bounds.maxval);
  return error.empty() ? CheckRange(kRandomUniform, output, bounds) : error;
}

void TestBounds() {
  const float inf = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  Is(RangeError(OutputType::kF32, 1.0f, 1.0f), "");
  Is(RangeError(OutputType::kF32, -0.0f, 0.0f), "");
  Is(RangeError(OutputType::kF32, 2.0f, 1.0f),
     "RandomUniform: input 'minval' is 2.0 with maxval 1.0; allowed: minval <= maxval. Swap them.");
  Says(RangeError(OutputType::kF32, 0.0f, inf), "'maxval' is inf; allowed: a finite number");
  Says(RangeError(OutputType::kF32, -most, most), "maxval - minval within f32");
  Says(RangeError<std::uint16_t>(OutputType::kF16, 0xFBFF, 0x7BFF), "-65504.0 with maxval 65504.0; allowed: maxval");
  Says(RangeError<std::uint16_t>(OutputType::kBF16, 0x7FC0, 0), "'minval' is nan");
  Says(RangeError(OutputType::kI32, 5, 5), "'minval' is 5 with maxval 5; allowed: minval < maxval");
  Says(RangeError<std::int64_t>(OutputType::kI64, 0, std::numeric_limits<std::int64_t>::min()), "-9223372036854775808;");
  const std::int64_t two = 2;
  std::uint64_t bits = 0;
  Says(CheckNumber(kRandomUniform, "maxval", Known{ElementType::kF32, 1, &two, nullptr}, OutputType::kF32, &bits),
       "input 'maxval' is of shape [2]; allowed: a scalar, or 1-D of one element");
  Says(CheckNumber(kRandomUniform, "maxval", Known{ElementType::kF64, 0, nullptr, nullptr}, OutputType::kF32, &bits),
       "is f64; allowed: f32, as output_type says. Cast it to f32.");
}

}  // namespace

int main() {
  TestNumbersAreShownAsPythonShowsThem();
  TestTextsAreShownAsPythonShowsThem();
  TestAttributes();
  TestStates();
  TestShapes();
  TestBounds();
  return check::Finish(60);
}
