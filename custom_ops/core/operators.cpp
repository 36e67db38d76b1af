// The operators' declarations and checks: see operators.h. The wording is that of the Python package's _contract/checks.py, and
// the tests of the plugins compare the two.
#include "operators.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "float_environment.h"
#include "floats.h"
#include "kernels.h"
#include "memory.h"

namespace onnx_philox {

namespace {

constexpr OutputDeclaration kValues = {"values", false}, kNextState = {"next_state", true};
constexpr InputDeclaration kShapeInput = {"shape", Role::kShape, false}, kStateInput = {"state", Role::kState, true};
constexpr AttributeDeclaration kGlobalSeed = {"global_seed", AttributeRole::kGlobalSeed, nullptr, 0};
constexpr AttributeDeclaration kOpSeed = {"op_seed", AttributeRole::kOpSeed, nullptr, 0};
constexpr AttributeDeclaration kRequiredType = {"output_type", AttributeRole::kOutputType, nullptr, 0};

}  // namespace

const Operator kRandomGenerator = {
    "RandomGenerator",
    Distribution::kUniform,
    2,
    {{"state", Role::kState, false}, kShapeInput, {}, {}},
    2,
    {{"bits", false}, kNextState},
    3,
    {{"type", AttributeRole::kOutputType, "philox4x32_10", 0}, kGlobalSeed, kOpSeed, {}},
};

const Operator kRandomUniform = {
    "RandomUniform",
    Distribution::kUniform,
    4,
    {kShapeInput, {"minval", Role::kBound, false}, {"maxval", Role::kBound, false}, kStateInput},
    2,
    {kValues, kNextState},
    3,
    {kRequiredType, kGlobalSeed, kOpSeed, {}},
};

const Operator kRandomNormal = {
    "RandomNormal",
    Distribution::kNormal,
    4,
    {kShapeInput, {"mean", Role::kParameter, false}, {"scale", Role::kParameter, false}, kStateInput},
    2,
    {kValues, kNextState},
    3,
    {kRequiredType, kGlobalSeed, kOpSeed, {}},
};

const Operator kRandomBernoulli = {
    "RandomBernoulli",
    Distribution::kBernoulli,
    3,
    {kShapeInput, {"p", Role::kProbabilities, false}, kStateInput, {}},
    2,
    {kValues, kNextState},
    2,
    {kGlobalSeed, kOpSeed, {}, {}},
};

const Operator kRandomCategorical = {
    "RandomCategorical",
    Distribution::kCategorical,
    2,
    {{"logits", Role::kLogits, false}, kStateInput, {}, {}},
    2,
    {kValues, kNextState},
    4,
    {{"sample_size", AttributeRole::kSampleSize, nullptr, 1},
     {"output_type", AttributeRole::kOutputType, "i32", 0},
     kGlobalSeed,
     kOpSeed},
};

const Operator* const kAllOperators[kOperators] = {&kRandomGenerator, &kRandomUniform, &kRandomNormal,
                                                   &kRandomBernoulli, &kRandomCategorical};

namespace {

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr char kStateShapeRule[] = "last dimension 6, all others 1, rank 1 to 8";
static_assert(kStateWords == 6 && kMaxRank == 8, "as kStateShapeRule says");

struct NamedType {
  const char* name;
  OutputType type;
};

/// The values of the attribute that names the output's type, in the order in which errors list them.
struct NamedTypes {
  const NamedType* begin;
  int count;
};
constexpr NamedType kUniformTypes[] = {{"i32", OutputType::kI32},   {"i64", OutputType::kI64},
                                       {"f16", OutputType::kF16},   {"bf16", OutputType::kBF16},
                                       {"f32", OutputType::kF32},   {"f64", OutputType::kF64}};
constexpr NamedType kGeneratorTypes[] = {{"philox4x32_10", OutputType::kBits}};

NamedTypes OutputTypesOf(const Operator& op) {
  if (&op == &kRandomGenerator) return {kGeneratorTypes, 1};
  switch (op.distribution) {
    case Distribution::kNormal:
      return {kUniformTypes + 2, 4};
    case Distribution::kCategorical:
      return {kUniformTypes, 2};
    default:
      return {kUniformTypes, 6};
  }
}

/// What messages blame for an output that is too large.
std::string OutputSize(const Operator& op) {
  return op.distribution == Distribution::kCategorical ? "the output" : "input 'shape'";
}

std::string Input(const char* name) { return std::string("input '") + name + "'"; }
std::string Attribute(const char* name) { return std::string("attribute '") + name + "'"; }

std::string OfShape(const Known& known) {
  return "of shape " + ShowDimensions(known.dimensions, known.rank, true);
}

/// 1234567 as 1,234,567.
std::string ShowBytes(std::uint64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

constexpr char kDrawInParts[] = "Draw it in parts, from state to next_state.";

/// [2, 3], 24 bytes of f32
std::string ShowOutput(const Dimensions& dimensions, OutputType output) {
  return ShowDimensions(dimensions.dimension, dimensions.rank) + ", " +
         ShowBytes(static_cast<std::uint64_t>(dimensions.bytes)) + " bytes of " +
         ElementTypeName(ElementTypeOf(output));
}

std::string TooLarge(const Operator& op, const Dimensions& dimensions, OutputType output, std::uint64_t reach) {
  return Refusal(op.name, OutputSize(op), ShowOutput(dimensions, output),
                 "what the " + ShowBytes(reach) + " bytes of memory that are free here can hold", kDrawInParts);
}

std::string Show(const GivenAttribute& given) {
  switch (given.kind) {
    case GivenAttribute::Kind::kText:
      return ShowText(given.text);
    case GivenAttribute::Kind::kInteger:
      return std::to_string(given.integer);
    case GivenAttribute::Kind::kFloat:
      return ShowFloat(given.number);
    case GivenAttribute::Kind::kOther:
      return given.text;
    case GivenAttribute::Kind::kMissing:
      break;
  }
  return "missing";
}

std::string CheckType(const Operator& op, const AttributeDeclaration& declared, const GivenAttribute& given,
                      OutputType* output) {
  const NamedTypes allowed = OutputTypesOf(op);
  const bool has_default = given.kind == GivenAttribute::Kind::kMissing && declared.text_default != nullptr;
  if (has_default || given.kind == GivenAttribute::Kind::kText) {
    const std::string& name = has_default ? declared.text_default : given.text;
    for (int i = 0; i < allowed.count; ++i) {
      if (name == allowed.begin[i].name) {
        *output = allowed.begin[i].type;
        return std::string();
      }
    }
  }
  std::string names;
  for (int i = 0; i < allowed.count; ++i) {
    names += std::string(i > 0 ? ", '" : "'") + allowed.begin[i].name + "'";
  }
  return Refusal(op.name, Attribute(declared.name), Show(given), names, "Set it to one of these.");
}

std::string CheckInteger(const Operator& op, const AttributeDeclaration& declared, const GivenAttribute& given,
                         std::int64_t* value) {
  const bool is_seed = declared.role != AttributeRole::kSampleSize;
  const std::int64_t least = is_seed ? 0 : 1;
  const std::string allowed = "an integer from " + std::to_string(least) + " to 2^63-1";
  switch (given.kind) {
    case GivenAttribute::Kind::kMissing:
      *value = declared.integer_default;
      return std::string();
    case GivenAttribute::Kind::kInteger:
      *value = given.integer;
      if (given.integer >= least) return std::string();
      return Refusal(op.name, Attribute(declared.name), Show(given), allowed,
                     is_seed ? "Choose another seed." : "Choose another number.");
    default:
      return Refusal(op.name, Attribute(declared.name), Show(given), allowed, "Pass an int.");
  }
}

/// More dimensions than an output may have.
std::string CheckRank(const Operator& op, const char* name, std::int64_t rank) {
  if (rank <= kMaxRank) return std::string();
  return Refusal(op.name, Input(name), "of " + std::to_string(rank) + " dimensions", "0 to 8 dimensions",
                 "Merge some and reshape the output.");
}

std::string WrongType(const Operator& op, const char* name, ElementType given, const std::string& allowed,
                      ElementType cast_to) {
  return Refusal(op.name, Input(name), ElementTypeName(given), allowed,
                 std::string("Cast it to ") + ElementTypeName(cast_to) + ".");
}

bool IsStateShape(const Known& known) {
  if (known.rank < 1 || known.rank > kMaxRank) return false;
  for (int i = 0; i < known.rank; ++i) {
    const std::int64_t wanted = i == known.rank - 1 ? kStateWords : 1;
    if (known.dimensions[i] != wanted && known.dimensions[i] != Known::kUnknownDimension) return false;
  }
  return true;
}

/// a * b, or 2^64-1 where that is less.
std::uint64_t SaturatingProduct(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return a != 0 && b > most / a ? most : a * b;
}

bool IsFloat(OutputType type) {
  return type == OutputType::kF16 || type == OutputType::kBF16 || type == OutputType::kF32 ||
         type == OutputType::kF64;
}

/// Whether a float's exponent is not that of infinities and NaNs. By its bits: no arithmetic can disturb it.
bool IsFinite(OutputType type, std::uint64_t bits) {
  std::uint64_t exponent = 0;
  switch (type) {
    case OutputType::kF16:
      exponent = 0x7C00u;
      break;
    case OutputType::kBF16:
      exponent = 0x7F80u;
      break;
    case OutputType::kF32:
      exponent = 0x7F800000u;
      break;
    case OutputType::kF64:
      exponent = 0x7FF0000000000000u;
      break;
    default:
      return true;
  }
  return (bits & exponent) != exponent;
}

double FloatValue(OutputType type, std::uint64_t bits) {
  switch (type) {
    case OutputType::kF16:
      return static_cast<double>(F32FromF16(bits));
    case OutputType::kBF16:
      return static_cast<double>(F32FromBF16(bits));
    case OutputType::kF32:
      return static_cast<double>(F32FromBits(bits));
    default:
      return F64FromBits(bits);
  }
}

std::string ShowBoundHere(OutputType type, std::uint64_t bits) {
  if (IsFloat(type)) return ShowFloat(FloatValue(type, bits));
  if (type == OutputType::kI32) return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
  return std::to_string(static_cast<std::int64_t>(bits));
}

std::string ShowBound(OutputType type, std::uint64_t bits) {
  const FloatEnvironment environment;
  // Volatile keeps the conversion of subnormals inside the environment.
  std::string (*volatile const show)(OutputType, std::uint64_t) = ShowBoundHere;
  return show(type, bits);
}

bool IsAboveHere(OutputType type, const Bounds& bounds) {
  return FloatValue(type, bounds.minval) > FloatValue(type, bounds.maxval);
}

bool IsAbove(OutputType type, const Bounds& bounds) {
  const FloatEnvironment environment;
  bool (*volatile const is_above)(OutputType, const Bounds&) = IsAboveHere;
  return is_above(type, bounds);
}

std::string ShowFloatHere(double value) {
  const std::uint64_t bits = BitCast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  if ((bits & 0x7FF0000000000000u) == 0x7FF0000000000000u) {
    if ((bits & 0x000FFFFFFFFFFFFFu) != 0) return "nan";
    return negative ? "-inf" : "inf";
  }
  // The fewest digits that read back as the same bits. Beside a power of two, where spacing changes, they can be those
  // of the next number up instead of the nearest one. The host's locale may print another character for the point, so
  // only digits and exponent are taken from the text, and read back without a point.
  std::string digits;
  int exponent = 0;
  for (int precision = 0; precision <= 17; ++precision) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*e", precision, value);
    const char* const e = std::strchr(text, 'e');
    exponent = std::atoi(e + 1);
    digits.clear();
    for (const char* c = text; c != e; ++c) {
      if (*c >= '0' && *c <= '9') digits += *c;
    }
    const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
    const auto reads_back = [&](const std::string& candidate) {
      const std::string whole = candidate + "e" + std::to_string(exponent - precision);
      return BitCast<std::uint64_t>(std::strtod(whole.c_str(), nullptr)) == magnitude;
    };
    if (reads_back(digits)) break;
    std::string next = digits;
    if (next.back() != '9') ++next.back();  // after a 9 a shorter number would have been found already
    if (reads_back(next)) {
      digits = next;
      break;
    }
  }
  std::string shown;
  if (exponent >= -4 && exponent < 16) {
    if (exponent < 0) {
      shown = "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    } else {
      const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
      if (digits.size() < whole) digits.append(whole - digits.size(), '0');
      shown = digits.substr(0, whole) + "." + (digits.size() > whole ? digits.substr(whole) : "0");
    }
  } else {
    char tail[16];
    std::snprintf(tail, sizeof(tail), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    shown = digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") + tail;
  }
  return negative ? "-" + shown : shown;
}

/// The length of the UTF-8 sequence at text[i], or 0 where there is none.
std::size_t Utf8Length(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned lead = byte(i);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0u) != 0x80u) return 0;
  }
  // No overlong forms, no surrogates, nothing past U+10FFFF.
  if ((lead == 0xE0 && byte(i + 1) < 0xA0) || (lead == 0xED && byte(i + 1) > 0x9F) ||
      (lead == 0xF0 && byte(i + 1) < 0x90) || (lead == 0xF4 && byte(i + 1) > 0x8F)) {
    return 0;
  }
  return length;
}

/// Whether a shape is, or may be, that of a scalar or of 1-D with one element.
bool IsOneElement(const Known& known) {
  if (known.rank != 1) return known.rank == 0;
  return known.dimensions[0] == 1 || known.dimensions[0] == Known::kUnknownDimension;
}

bool CanBeEqual(const ShapeSoFar& a, const ShapeSoFar& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    const bool unknown = a.dimension[i] == Known::kUnknownDimension || b.dimension[i] == Known::kUnknownDimension;
    if (!unknown && a.dimension[i] != b.dimension[i]) return false;
  }
  return true;
}

/// The element of an array at any alignment.
template <class Bits>
Bits BitsAt(const void* data, std::uint64_t i) {
  Bits bits;
  std::memcpy(&bits, static_cast<const unsigned char*>(data) + i * sizeof(Bits), sizeof(Bits));
  return bits;
}

std::uint64_t BitsAt(const Numbers& numbers, std::uint64_t i) {
  switch (ElementSize(numbers.type)) {
    case 2:
      return BitsAt<std::uint16_t>(numbers.data, i);
    case 4:
      return BitsAt<std::uint32_t>(numbers.data, i);
    default:
      return BitsAt<std::uint64_t>(numbers.data, i);
  }
}

/// The first number below 0 or above `most`, or `count`. By bits: a float of 0 or more is in the order of its bits, and
/// -0 is a 0.
template <class Bits>
std::uint64_t FirstNoProbability(const void* data, std::uint64_t count, Bits most) {
  constexpr Bits kMinusZero = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  constexpr std::uint64_t kChunk = 4096;  // a loop without a way out is vectorised
  for (std::uint64_t begin = 0; begin < count; begin += kChunk) {
    const std::uint64_t end = begin + kChunk < count ? begin + kChunk : count;
    Bits wrong = 0;
    for (std::uint64_t i = begin; i < end; ++i) {
      const Bits bits = BitsAt<Bits>(data, i);
      wrong |= static_cast<Bits>(bits > most) & static_cast<Bits>(bits != kMinusZero);
    }
    if (wrong == 0) continue;
    for (std::uint64_t i = begin; i < end; ++i) {
      const Bits bits = BitsAt<Bits>(data, i);
      if (bits > most && bits != kMinusZero) return i;
    }
  }
  return count;
}

/// The sum of a softmax can be a few ulp above 1, which is as true as 1: every uniform is below.
constexpr unsigned kUlpAboveOne = 4;

std::uint64_t FirstNoProbability(const Numbers& p, std::uint64_t count) {
  return p.type == OutputType::kF32
             ? FirstNoProbability<std::uint32_t>(p.data, count, 0x3F800000u + kUlpAboveOne)
             : FirstNoProbability<std::uint64_t>(p.data, count, 0x3FF0000000000000u + kUlpAboveOne);
}

/// What is wrong with a row of logits: the index of its first NaN or positive infinity, or kOnlyNegativeInfinity.
constexpr std::int64_t kNothing = -1, kOnlyNegativeInfinity = -2;

template <class Bits>
std::int64_t WrongInRow(const void* data, std::uint64_t begin, std::uint64_t classes, Bits infinity) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const Bits negative_infinity = static_cast<Bits>(infinity | kSign);
  Bits wrong = 0, lowest = 0;
  for (std::uint64_t i = begin; i < begin + classes; ++i) {
    const Bits bits = BitsAt<Bits>(data, i);
    const Bits magnitude = static_cast<Bits>(bits & static_cast<Bits>(~kSign));
    wrong |= static_cast<Bits>(magnitude > infinity) | static_cast<Bits>(bits == infinity);
    lowest |= static_cast<Bits>(bits != negative_infinity);
  }
  if (wrong == 0) return lowest == 0 ? kOnlyNegativeInfinity : kNothing;
  for (std::uint64_t i = begin;; ++i) {
    const Bits bits = BitsAt<Bits>(data, i);
    if (static_cast<Bits>(bits & static_cast<Bits>(~kSign)) > infinity || bits == infinity) {
      return static_cast<std::int64_t>(i - begin);
    }
  }
}

std::int64_t WrongInRow(const Numbers& logits, std::uint64_t begin, std::uint64_t classes) {
  switch (logits.type) {
    case OutputType::kF16:
      return WrongInRow<std::uint16_t>(logits.data, begin, classes, 0x7C00u);
    case OutputType::kF32:
      return WrongInRow<std::uint32_t>(logits.data, begin, classes, 0x7F800000u);
    default:
      return WrongInRow<std::uint64_t>(logits.data, begin, classes, 0x7FF0000000000000u);
  }
}

std::string CheckRows(const Operator& op, const Numbers& logits, std::uint64_t rows, std::uint64_t classes) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::int64_t wrong = WrongInRow(logits, row * classes, classes);
    if (wrong == kNothing) continue;
    const std::string given =
        wrong == kOnlyNegativeInfinity
            ? "-inf in all of row " + std::to_string(row)
            : ShowBound(logits.type, BitsAt(logits, row * classes + static_cast<std::uint64_t>(wrong))) + " in row " +
                  std::to_string(row);
    return Refusal(op.name, Input("logits"), given, "finite numbers and -inf, one finite in each row at least",
                   "Correct what computes the logits.");
  }
  return std::string();
}

/// The dimensions of an output, where all are known; an error where they are too large. Written where there is none.
std::string Complete(const Operator& op, const Attributes& attributes, Arguments* arguments) {
  const ShapeSoFar& shape = arguments->output;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dimension[i] == Known::kUnknownDimension) return std::string();
  }
  if (shape.rank == Known::kUnknownRank) return std::string();
  std::string error = CheckDimensions(op, shape.dimension, shape.rank, attributes.output, &arguments->dimensions);
  arguments->has_dimensions = error.empty();
  return error;
}

}  // namespace

const char* ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kUnknown:
      return "of no known type";
    case ElementType::kU32:
      return "u32";
    case ElementType::kI32:
      return "i32";
    case ElementType::kI64:
      return "i64";
    case ElementType::kF16:
      return "f16";
    case ElementType::kBF16:
      return "bf16";
    case ElementType::kF32:
      return "f32";
    case ElementType::kF64:
      return "f64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kI8:
      return "int8";
    case ElementType::kU8:
      return "uint8";
    case ElementType::kI16:
      return "int16";
    case ElementType::kU16:
      return "uint16";
    case ElementType::kU64:
      return "uint64";
    case ElementType::kString:
      return "string";
    case ElementType::kOther:
      break;
  }
  return "of another type";
}

ElementType ElementTypeOf(OutputType type) {
  switch (type) {
    case OutputType::kBits:
      return ElementType::kU32;
    case OutputType::kF32:
      return ElementType::kF32;
    case OutputType::kF16:
      return ElementType::kF16;
    case OutputType::kBF16:
      return ElementType::kBF16;
    case OutputType::kF64:
      return ElementType::kF64;
    case OutputType::kI32:
      return ElementType::kI32;
    case OutputType::kBool:
      return ElementType::kBool;
    case OutputType::kI64:
      break;
  }
  return ElementType::kI64;
}

GivenAttribute GivenAttribute::Text(std::string value) {
  GivenAttribute given;
  given.kind = Kind::kText;
  given.text = std::move(value);
  return given;
}

GivenAttribute GivenAttribute::Integer(std::int64_t value) {
  GivenAttribute given;
  given.kind = Kind::kInteger;
  given.integer = value;
  return given;
}

GivenAttribute GivenAttribute::Float(double value) {
  GivenAttribute given;
  given.kind = Kind::kFloat;
  given.number = value;
  return given;
}

GivenAttribute GivenAttribute::Other(std::string shown) {
  GivenAttribute given;
  given.kind = Kind::kOther;
  given.text = std::move(shown);
  return given;
}

GivenAttribute& GivenAttributes::operator[](AttributeRole role) {
  switch (role) {
    case AttributeRole::kSampleSize:
      return sample_size;
    case AttributeRole::kGlobalSeed:
      return global_seed;
    case AttributeRole::kOpSeed:
      return op_seed;
    case AttributeRole::kOutputType:
      break;
  }
  return type;
}

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes) {
  if (op.distribution == Distribution::kBernoulli) attributes->output = OutputType::kBool;
  std::string error;
  for (int i = 0; i < op.attributes && error.empty(); ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    switch (declared.role) {
      case AttributeRole::kOutputType:
        error = CheckType(op, declared, given[declared.role], &attributes->output);
        break;
      case AttributeRole::kSampleSize:
        error = CheckInteger(op, declared, given[declared.role], &attributes->sample_size);
        break;
      case AttributeRole::kGlobalSeed:
        error = CheckInteger(op, declared, given[declared.role], &attributes->global_seed);
        break;
      case AttributeRole::kOpSeed:
        error = CheckInteger(op, declared, given[declared.role], &attributes->op_seed);
        break;
    }
  }
  return error;
}

std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes) {
  const InputDeclaration& input = op.input[index];
  if (!input.optional) {
    std::string names;
    for (int i = 0; i < op.inputs; ++i) {
      if (i > 0) names += ", ";
      names += op.input[i].name;
      if (op.input[i].optional) names += " (optional)";
    }
    return Refusal(op.name, Input(input.name), "missing", names, "Connect it.");
  }
  if (input.role != Role::kState || attributes.global_seed != 0 || attributes.op_seed != 0) return std::string();
  return Refusal(op.name, Input(input.name), "left out with global_seed and op_seed both 0",
                 "a state, or a seed that is not 0",
                 "Every run draws the same numbers here, so there is no unseeded mode: set global_seed or op_seed, or "
                 "connect a state, from PhiloxState.from_entropy() for instance.");
}

std::string CheckInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                       Arguments* arguments) {
  const char* const name = op.input[index].name;
  const bool is_second = index > 0 && op.input[index - 1].role == op.input[index].role;  // maxval, scale
  std::string error;
  switch (op.input[index].role) {
    case Role::kState:
      error = CheckState(op, known, &arguments->state);
      break;
    case Role::kShape: {
      error = CheckShape(op, known, attributes.output, &arguments->dimensions, &arguments->has_dimensions);
      if (!error.empty() || known.rank != 1 || known.dimensions[0] == Known::kUnknownDimension) break;
      arguments->output.rank = static_cast<int>(known.dimensions[0]);
      for (int i = 0; i < arguments->output.rank; ++i) {
        arguments->output.dimension[i] =
            arguments->has_dimensions ? arguments->dimensions.dimension[i] : Known::kUnknownDimension;
      }
      break;
    }
    case Role::kBound:
      error = CheckNumber(op, name, known, attributes.output,
                          is_second ? &arguments->bounds.maxval : &arguments->bounds.minval);
      break;
    case Role::kParameter:
      error = CheckNumber(op, name, known, attributes.output,
                          is_second ? &arguments->affine.scale : &arguments->affine.mean);
      break;
    case Role::kProbabilities:
      error = CheckProbabilities(op, known, arguments->output, &arguments->probabilities);
      if (error.empty() && known.rank != Known::kUnknownRank) {
        arguments->p.rank = known.rank;
        for (int i = 0; i < known.rank; ++i) arguments->p.dimension[i] = known.dimensions[i];
      }
      break;
    case Role::kLogits:
      error = CheckLogits(op, known, attributes, &arguments->logits, &arguments->output);
      if (error.empty()) error = Complete(op, attributes, arguments);
      break;
  }
  arguments->has_value[index] = error.empty() && known.data != nullptr;
  return error;
}

std::string CheckTogether(const Operator& op, const Attributes& attributes, const Arguments& arguments) {
  for (int i = 0; i < op.inputs; ++i) {
    if (op.input[i].role == Role::kProbabilities) {
      return CheckProbabilities(op, Known{ElementType::kUnknown, arguments.p.rank, arguments.p.dimension, nullptr},
                                arguments.output, nullptr);
    }
    const bool is_range = op.input[i].role == Role::kBound && i > 0 && op.input[i - 1].role == Role::kBound;
    if (is_range && arguments.has_value[i - 1] && arguments.has_value[i]) {
      return CheckRange(op, attributes.output, arguments.bounds);
    }
  }
  return std::string();
}

Draw DrawOf(const Operator& op, const Attributes& attributes, const Arguments& arguments, void* out) {
  const State state = Derive(arguments.state, attributes.global_seed, attributes.op_seed);
  switch (op.distribution) {
    case Distribution::kUniform:
      break;
    case Distribution::kNormal:
      return NormalDraw(state, attributes.output, arguments.affine, out);
    case Distribution::kBernoulli:
      return BernoulliDraw(state, arguments.probabilities, out);
    case Distribution::kCategorical:
      return CategoricalDraw(state, attributes.output, arguments.logits, out);
  }
  return UniformDraw(state, attributes.output, arguments.bounds, out);
}

std::string CheckState(const Operator& op, const Known& known, State* state) {
  if (known.type != ElementType::kU32 && known.type != ElementType::kUnknown) {
    return WrongType(op, "state", known.type, "u32", ElementType::kU32);
  }
  if (known.rank != Known::kUnknownRank && !IsStateShape(known)) {
    return Refusal(op.name, Input("state"), OfShape(known), kStateShapeRule,
                   "Pass PhiloxState(...).to_array(), or reshape it.");
  }
  if (known.data != nullptr) {
    std::uint32_t words[kStateWords];
    std::memcpy(words, known.data, sizeof(words));
    *state = StateFromWords(words);
  }
  return std::string();
}

std::string CheckShape(const Operator& op, const Known& known, OutputType output, Dimensions* dimensions,
                       bool* complete) {
  if (complete != nullptr) *complete = false;
  if (known.type != ElementType::kI64 && known.type != ElementType::kI32 && known.type != ElementType::kUnknown) {
    return WrongType(op, "shape", known.type, "i64 or i32", ElementType::kI64);
  }
  if (known.rank == Known::kUnknownRank) return std::string();
  if (known.rank != 1) {
    return Refusal(op.name, Input("shape"), OfShape(known), "1-D, one entry a dimension", "Reshape it to 1-D.");
  }
  const std::int64_t length = known.dimensions[0];
  std::string error = CheckRank(op, "shape", length);
  if (!error.empty()) return error;
  if (length == Known::kUnknownDimension || (length > 0 && known.data == nullptr)) return std::string();
  std::int64_t values[kMaxRank];
  for (std::int64_t i = 0; i < length; ++i) {
    if (known.type == ElementType::kI32) {
      std::int32_t value;
      std::memcpy(&value, static_cast<const char*>(known.data) + i * 4, sizeof(value));
      values[i] = value;
    } else {
      std::int64_t value;
      std::memcpy(&value, static_cast<const char*>(known.data) + i * 8, sizeof(value));
      values[i] = value;
    }
  }
  error = CheckDimensions(op, values, static_cast<int>(length), output, dimensions);
  if (complete != nullptr) *complete = error.empty();
  return error;
}

std::string CheckDimensions(const Operator& op, const std::int64_t* dimensions, int rank, OutputType output,
                            Dimensions* checked) {
  // Runtimes multiply dimension by dimension: a 0 further on does not undo an overflow.
  std::uint64_t largest = ElementSize(output);
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    if (dimensions[i] < 0) {
      return Refusal(op.name, OutputSize(op), ShowDimensions(dimensions, rank), "dimensions of 0 or more",
                     "Give the size itself.");
    }
    if (dimensions[i] == 0) {
      empty = true;
    } else {
      largest = SaturatingProduct(largest, static_cast<std::uint64_t>(dimensions[i]));
    }
  }
  if (largest > static_cast<std::uint64_t>(kMaxInt64)) {
    return Refusal(op.name, OutputSize(op), ShowDimensions(dimensions, rank) + ", too large",
                   std::string("at most 2^63-1 bytes of ") + ElementTypeName(ElementTypeOf(output)),
                   "Draw it in parts.");
  }
  checked->rank = rank;
  for (int i = 0; i < rank; ++i) checked->dimension[i] = dimensions[i];
  checked->bytes = empty ? 0 : static_cast<std::int64_t>(largest);
  checked->elements = checked->bytes / ElementSize(output);
  return std::string();
}

std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory) {
  const std::uint64_t least = std::min(memory.free, memory.address);
  const std::uint64_t reach = memory.held < kNoLimit - least ? least + memory.held : kNoLimit;
  if (static_cast<std::uint64_t>(dimensions.bytes) <= reach) return std::string();
  return TooLarge(op, dimensions, output, reach);
}

std::string CheckAllocated(const Operator& op, const Dimensions& dimensions, OutputType output, const Memory& memory,
                           const void* data) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(dimensions.bytes);
  if (bytes <= memory.free) return std::string();
  const std::uint64_t reach = memory.free + ResidentBytes(data, bytes);
  return bytes <= reach ? std::string() : TooLarge(op, dimensions, output, reach);
}

std::string OutOfMemory(const Operator& op, const Dimensions& dimensions, OutputType output) {
  return Refusal(op.name, OutputSize(op), ShowOutput(dimensions, output), "what memory can hold now", kDrawInParts);
}

std::string OutOfMemory(const Operator& op) {
  return Refusal(op.name, "memory", "used up", "what it can hold now", kDrawInParts);
}

std::string CheckNumber(const Operator& op, const char* name, const Known& known, OutputType output,
                        std::uint64_t* bits) {
  const ElementType wanted = ElementTypeOf(output);
  if (known.type != wanted && known.type != ElementType::kUnknown) {
    return WrongType(op, name, known.type, std::string(ElementTypeName(wanted)) + ", as output_type says", wanted);
  }
  if (known.rank != Known::kUnknownRank && !IsOneElement(known)) {
    return Refusal(op.name, Input(name), OfShape(known), "a scalar, or 1-D of one element", "Pass one number.");
  }
  if (known.data == nullptr) return std::string();
  *bits = BitsAt(Numbers{output, known.data}, 0);
  if (IsFinite(output, *bits)) return std::string();
  const char* const kind = op.distribution == Distribution::kUniform ? "bound" : name;
  return Refusal(op.name, Input(name), ShowBound(output, *bits), "a finite number",
                 std::string("Pass a finite ") + kind + ".");
}

std::string CheckProbabilities(const Operator& op, const Known& known, const ShapeSoFar& output,
                               Probabilities* probabilities) {
  const char* const name = "p";
  if (known.type != ElementType::kF32 && known.type != ElementType::kF64 && known.type != ElementType::kUnknown) {
    return WrongType(op, name, known.type, "f32 or f64", ElementType::kF32);
  }
  if (known.rank == Known::kUnknownRank) return std::string();
  std::string error = CheckRank(op, name, known.rank);
  if (!error.empty()) return error;
  const bool is_one = IsOneElement(known);
  if (!is_one && output.rank != Known::kUnknownRank) {
    ShapeSoFar shape;
    shape.rank = known.rank;
    for (int i = 0; i < known.rank; ++i) shape.dimension[i] = known.dimensions[i];
    if (!CanBeEqual(shape, output)) {
      return Refusal(op.name, Input(name), OfShape(known),
                     "a scalar, 1-D of one element, or the output's shape " +
                         ShowDimensions(output.dimension, output.rank, true),
                     "Pass one number, or expand it to that shape.");
    }
  }
  if (known.data == nullptr) return std::string();

  std::uint64_t count = 1;
  for (int i = 0; i < known.rank; ++i) count *= static_cast<std::uint64_t>(known.dimensions[i]);
  const Numbers numbers{known.type == ElementType::kF64 ? OutputType::kF64 : OutputType::kF32, known.data};
  const std::uint64_t wrong = FirstNoProbability(numbers, count);
  if (wrong == count) {
    *probabilities = Probabilities{numbers, count != 1};
    return std::string();
  }
  std::string given = ShowBound(numbers.type, BitsAt(numbers, wrong));
  if (count > 1) {
    given += " at [";
    std::uint64_t rest = wrong, below = count;
    for (int i = 0; i < known.rank; ++i) {
      below /= static_cast<std::uint64_t>(known.dimensions[i]);
      given += (i > 0 ? ", " : "") + std::to_string(rest / below);
      rest %= below;
    }
    given += "]";
  }
  return Refusal(op.name, Input(name), given, "0 to 1, or at most 4 ulp above 1", "Pass probabilities.");
}

std::string CheckLogits(const Operator& op, const Known& known, const Attributes& attributes, Logits* logits,
                        ShapeSoFar* output) {
  const char* const name = "logits";
  const ElementType type = known.type;
  if (type != ElementType::kF32 && type != ElementType::kF16 && type != ElementType::kF64 &&
      type != ElementType::kUnknown) {
    return WrongType(op, name, type, "f32 or f16 or f64", ElementType::kF32);
  }
  if (known.rank != Known::kUnknownRank && known.rank != 2) {
    return Refusal(op.name, Input(name), OfShape(known), "2-D, [batch, classes]", "Reshape it to 2-D.");
  }
  output->rank = 2;
  output->dimension[0] = known.rank == 2 ? known.dimensions[0] : Known::kUnknownDimension;
  output->dimension[1] = attributes.sample_size;
  if (known.rank == Known::kUnknownRank) return std::string();
  const std::int64_t batch = known.dimensions[0], classes = known.dimensions[1];
  if (classes == 0 && batch > 0) {
    return Refusal(op.name, Input(name), OfShape(known), "at least one class", "Draw from something, or from no rows.");
  }
  if (known.data == nullptr) return std::string();
  const Numbers numbers{type == ElementType::kF16   ? OutputType::kF16
                        : type == ElementType::kF64 ? OutputType::kF64
                                                    : OutputType::kF32,
                        known.data};
  *logits = Logits{numbers, static_cast<std::uint64_t>(classes), static_cast<std::uint64_t>(attributes.sample_size)};
  return CheckRows(op, numbers, static_cast<std::uint64_t>(batch), static_cast<std::uint64_t>(classes));
}

std::string CheckRange(const Operator& op, OutputType output, const Bounds& bounds) {
  if (output == OutputType::kBits || CheckBounds(output, bounds).empty()) return std::string();
  const std::string given = ShowBound(output, bounds.minval) + " with maxval " + ShowBound(output, bounds.maxval);
  if (!IsFloat(output)) {
    return Refusal(op.name, Input("minval"), given, "minval < maxval", "Raise maxval; it is not drawn.");
  }
  if (IsAbove(output, bounds)) return Refusal(op.name, Input("minval"), given, "minval <= maxval", "Swap them.");
  return Refusal(op.name, Input("minval"), given,
                 std::string("maxval - minval within ") + ElementTypeName(ElementTypeOf(output)),
                 "Bring the bounds closer together.");
}

std::string Refusal(const char* op, const std::string& what, const std::string& given, const std::string& allowed,
                    const std::string& remedy) {
  return std::string(op) + ": " + what + " is " + given + "; allowed: " + allowed + ". " + remedy;
}

std::string ShowFloat(double value) {
  const FloatEnvironment environment;
  std::string (*volatile const show)(double) = ShowFloatHere;
  return show(value);
}

std::string ShowText(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string shown(1, quote);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = Utf8Length(text, i);
    const char c = text[i];
    if (length == 0) {
      shown += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    if (length > 1) {
      shown.append(text, i, length);
    } else if (c == quote || c == '\\') {
      shown += '\\';
      shown += c;
    } else if (c == '\n') {
      shown += "\\n";
    } else if (c == '\r') {
      shown += "\\r";
    } else if (c == '\t') {
      shown += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      shown += escape;
    } else {
      shown += c;
    }
    i += length;
  }
  shown += quote;
  return shown;
}

std::string ShowDimensions(const std::int64_t* dimensions, int rank, bool unknowns) {
  std::string shown = "[";
  for (int i = 0; i < rank; ++i) {
    if (i > 0) shown += ", ";
    shown += unknowns && dimensions[i] == Known::kUnknownDimension ? "?" : std::to_string(dimensions[i]);
  }
  return shown + "]";
}

}  // namespace onnx_philox
