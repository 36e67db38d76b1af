// The operators' declarations and checks: see operators.h. The wording is that of the Python package's _checks.py, and
// the tests of the plugins compare the two.
#include "operators.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "float_environment.h"
#include "floats.h"
#include "kernels.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <unistd.h>
#endif

namespace onnx_philox {

const Operator kRandomGenerator = {
    "RandomGenerator",
    2,
    {{"state", Role::kState, false}, {"shape", Role::kShape, false}, {}, {}},
    2,
    {{"bits", false}, {"next_state", true}},
    "type",
    "philox4x32_10",
};

const Operator kRandomUniform = {
    "RandomUniform",
    4,
    {{"shape", Role::kShape, false},
     {"minval", Role::kBound, false},
     {"maxval", Role::kBound, false},
     {"state", Role::kState, true}},
    2,
    {{"values", false}, {"next_state", true}},
    "output_type",
    nullptr,
};

const Operator* const kAllOperators[kOperators] = {&kRandomGenerator, &kRandomUniform};

namespace {

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr char kStateShapeRule[] = "last dimension 6, all others 1, rank 1 to 8";
static_assert(kStateWords == 6 && kMaxRank == 8, "as kStateShapeRule says");

struct NamedType {
  const char* name;
  OutputType type;
};

/// The values of `output_type`, in the order in which errors list them.
constexpr NamedType kUniformTypes[] = {{"i32", OutputType::kI32},   {"i64", OutputType::kI64},
                                       {"f16", OutputType::kF16},   {"bf16", OutputType::kBF16},
                                       {"f32", OutputType::kF32},   {"f64", OutputType::kF64}};
constexpr NamedType kGeneratorTypes[] = {{"philox4x32_10", OutputType::kBits}};

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

template <std::size_t N>
std::string CheckType(const Operator& op, const GivenAttribute& given, const NamedType (&allowed)[N],
                      OutputType* output) {
  const bool has_default = given.kind == GivenAttribute::Kind::kMissing && op.type_default != nullptr;
  if (has_default || given.kind == GivenAttribute::Kind::kText) {
    const std::string& name = has_default ? op.type_default : given.text;
    for (const NamedType& type : allowed) {
      if (name == type.name) {
        *output = type.type;
        return std::string();
      }
    }
  }
  std::string names;
  for (const NamedType& type : allowed) {
    if (!names.empty()) names += ", ";
    names += std::string("'") + type.name + "'";
  }
  return Refusal(op.name, Attribute(op.type_attribute), Show(given), names, "Set it to one of these.");
}

std::string CheckSeed(const Operator& op, const char* name, const GivenAttribute& given, std::int64_t* seed) {
  const char* const allowed = "an integer from 0 to 2^63-1";
  switch (given.kind) {
    case GivenAttribute::Kind::kMissing:
      *seed = 0;
      return std::string();
    case GivenAttribute::Kind::kInteger:
      *seed = given.integer;
      if (given.integer >= 0) return std::string();
      return Refusal(op.name, Attribute(name), Show(given), allowed, "Choose another seed.");
    default:
      return Refusal(op.name, Attribute(name), Show(given), allowed, "Pass an int.");
  }
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

/// Smaller outputs are not worth asking the system about.
constexpr std::uint64_t kAlwaysThere = std::uint64_t{1} << 28;

#if defined(__linux__)
/// The number behind `key` in a file of /proc, in bytes; 0 where there is none.
std::uint64_t KilobytesIn(const char* path, const char* key) {
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long long kilobytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strncmp(line, key, std::strlen(key)) != 0) continue;
    kilobytes = std::strtoull(line + std::strlen(key), nullptr, 10);
    break;
  }
  std::fclose(file);
  return std::uint64_t{kilobytes} * 1024;
}
#endif

/// Bytes that this process can hold without swapping; 0 where the system does not say. What it holds already counts:
/// the output may be written into memory that a runtime keeps from the last run.
std::uint64_t MemoryWithinReach() {
#if defined(_WIN32)
  MEMORYSTATUSEX status;
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) ? static_cast<std::uint64_t>(status.ullTotalPhys) : std::uint64_t{0};
#else
#if defined(__linux__)
  const std::uint64_t available = KilobytesIn("/proc/meminfo", "MemAvailable:");
  if (available != 0) return available + KilobytesIn("/proc/self/status", "RssAnon:");
#endif
  const long page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_PHYS_PAGES);
  return page > 0 && pages > 0 ? static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(pages)
                               : std::uint64_t{0};
#endif
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

std::string CheckAttributes(const Operator& op, const GivenAttributes& given, Attributes* attributes) {
  std::string error = op.type_default != nullptr ? CheckType(op, given.type, kGeneratorTypes, &attributes->output)
                                                 : CheckType(op, given.type, kUniformTypes, &attributes->output);
  if (error.empty()) error = CheckSeed(op, "global_seed", given.global_seed, &attributes->global_seed);
  if (error.empty()) error = CheckSeed(op, "op_seed", given.op_seed, &attributes->op_seed);
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
  if (length > kMaxRank) {
    return Refusal(op.name, Input("shape"), "of " + std::to_string(length) + " dimensions", "0 to 8 dimensions",
                   "Merge some and reshape the output.");
  }
  if (length == Known::kUnknownDimension || (length > 0 && known.data == nullptr)) return std::string();
  std::int64_t values[kMaxRank];
  for (std::int64_t i = 0; i < length; ++i) {
    if (known.type == ElementType::kI32) {
      std::int32_t value;
      std::memcpy(&value, static_cast<const char*>(known.data) + i * 4, sizeof(value));
      values[i] = value;
    } else {
      std::memcpy(&values[i], static_cast<const char*>(known.data) + i * 8, sizeof(values[i]));
    }
  }
  std::string error = CheckDimensions(op, values, static_cast<int>(length), output, dimensions);
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
      return Refusal(op.name, Input("shape"), ShowDimensions(dimensions, rank), "dimensions of 0 or more",
                     "Give the size itself.");
    }
    if (dimensions[i] == 0) {
      empty = true;
    } else {
      largest = SaturatingProduct(largest, static_cast<std::uint64_t>(dimensions[i]));
    }
  }
  if (largest > static_cast<std::uint64_t>(kMaxInt64)) {
    return Refusal(op.name, Input("shape"), ShowDimensions(dimensions, rank) + ", too large",
                   std::string("at most 2^63-1 bytes of ") + ElementTypeName(ElementTypeOf(output)),
                   "Draw it in parts.");
  }
  checked->rank = rank;
  for (int i = 0; i < rank; ++i) checked->dimension[i] = dimensions[i];
  checked->bytes = empty ? 0 : static_cast<std::int64_t>(largest);
  checked->elements = checked->bytes / ElementSize(output);
  return std::string();
}

std::string CheckMemory(const Operator& op, const Dimensions& dimensions, OutputType output) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(dimensions.bytes);
  if (bytes < kAlwaysThere) return std::string();
  const std::uint64_t memory = MemoryWithinReach();
  if (memory == 0 || bytes <= memory) return std::string();
  return Refusal(op.name, Input("shape"),
                 ShowDimensions(dimensions.dimension, dimensions.rank) + ", " + ShowBytes(bytes) + " bytes of " +
                     ElementTypeName(ElementTypeOf(output)),
                 "what the " + ShowBytes(memory) + " bytes of memory that are free here can hold",
                 "Draw it in parts, from state to next_state.");
}

std::string CheckBound(const Operator& op, const char* name, const Known& known, OutputType output,
                       std::uint64_t* bits) {
  const ElementType wanted = ElementTypeOf(output);
  if (known.type != wanted && known.type != ElementType::kUnknown) {
    return WrongType(op, name, known.type, std::string(ElementTypeName(wanted)) + ", as output_type says", wanted);
  }
  const bool one = known.rank == 0 || known.rank == Known::kUnknownRank ||
                   (known.rank == 1 && (known.dimensions[0] == 1 || known.dimensions[0] == Known::kUnknownDimension));
  if (!one) {
    return Refusal(op.name, Input(name), OfShape(known), "a scalar, or 1-D of one element", "Pass one number.");
  }
  if (known.data == nullptr) return std::string();
  switch (ElementSize(output)) {
    case 2: {
      std::uint16_t value;
      std::memcpy(&value, known.data, sizeof(value));
      *bits = value;
      break;
    }
    case 4: {
      std::uint32_t value;
      std::memcpy(&value, known.data, sizeof(value));
      *bits = value;
      break;
    }
    default:
      std::memcpy(bits, known.data, sizeof(*bits));
  }
  if (IsFinite(output, *bits)) return std::string();
  return Refusal(op.name, Input(name), ShowBound(output, *bits), "a finite number", "Pass a finite bound.");
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
