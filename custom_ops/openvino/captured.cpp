// Captured constants: see captured.h.
#include "captured.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fill_tensor.h"
#include "number_formats.h"
#include "values.h"

namespace onnx_philox {

namespace {

std::size_t SizeOf(ElementType type) { return ElementSize(NumberType(type)); }

std::uint64_t BitsAt(ElementType type, const void* data, std::uint64_t i) {
  return BitsAt(Numbers{NumberType(type), data}, i);
}

double AsDouble(std::uint64_t bits, FloatFormat format) {
  bits = ConvertFloat(bits, format, kF64Format);
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

bool IntegerMayHaveBecome(std::int64_t was, std::int64_t value) {
  return value == was || value == std::min<std::int64_t>(std::max<std::int64_t>(was, INT32_MIN), INT32_MAX) ||
         value == static_cast<std::int32_t>(static_cast<std::uint32_t>(was));
}

bool FloatMayHaveBecome(std::uint64_t kept, FloatFormat declared, std::uint64_t bits, FloatFormat arrived) {
  const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(arrived)) << arrived.mantissa_bits;
  // A conversion clamps wide numbers to a narrow type's largest. bf16 has the fewest bits, f16 the fewest exponents.
  const double largest = AsDouble(infinity - 1, arrived);
  const auto ended = [largest](double x) { return std::min(std::max(x, -largest), largest); };
  const double was = ended(AsDouble(kept, declared));
  return std::fabs(ended(AsDouble(bits, arrived)) - was) <= std::ldexp(std::fabs(was), -7) + std::ldexp(1.0, -24);
}

/// A decimal integer of at most 19 digits within [least, largest].
bool IntegerFromText(const std::string& text, std::int64_t least, std::int64_t largest, std::uint64_t* bits) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::size_t first = negative ? 1 : 0;
  if (text.size() == first || text.size() > first + 19) return false;
  std::uint64_t magnitude = 0;
  for (std::size_t i = first; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  constexpr std::uint64_t kMinimum = std::uint64_t{1} << 63;
  if (magnitude > (negative ? kMinimum : kMinimum - 1)) return false;
  *bits = negative ? 0 - magnitude : magnitude;
  const std::int64_t value = static_cast<std::int64_t>(*bits);
  return value >= least && value <= largest;
}

bool NumberFromText(const std::string& text, ElementType type, std::uint64_t* bits) {
  if (const FloatFormat* const format = FormatOf(type)) return FloatFromText(text, *format, bits);
  if (type == ElementType::kU32) return IntegerFromText(text, 0, UINT32_MAX, bits);
  if (type == ElementType::kI32) return IntegerFromText(text, INT32_MIN, INT32_MAX, bits);
  return IntegerFromText(text, INT64_MIN, INT64_MAX, bits);
}

std::string NumberToText(ElementType type, const void* data, std::uint64_t i) {
  if (const FloatFormat* const format = FormatOf(type)) return FloatToText(BitsAt(type, data, i), *format);
  return std::to_string(IntegerAt(type, data, i));
}

constexpr char kAfterType[] = ": ";

}  // namespace

std::uint64_t Captured::elements() const { return bytes == nullptr ? 0 : bytes->size() / SizeOf(type); }

bool Captured::Is(ElementType other_type, const void* other) const {
  return type == other_type && (bytes->empty() || std::memcmp(bytes->data(), other, bytes->size()) == 0);
}

Captured Capture(ElementType type, const void* data, std::uint64_t elements) {
  Captured captured;
  captured.type = type;
  const unsigned char* const begin = static_cast<const unsigned char*>(data);
  captured.bytes = std::make_shared<const std::vector<unsigned char>>(begin, begin + elements * SizeOf(type));
  return captured;
}

std::string ToText(const Captured& captured, const ElementTypes& types) {
  if (!captured.known()) return captured.text;
  std::string text;
  for (std::uint64_t i = 0; i < captured.elements(); ++i) {
    text += (i > 0 ? ", " : "") + NumberToText(captured.type, captured.data(), i);
  }
  return types.count == 1 ? text : ElementTypeName(captured.type) + std::string(kAfterType) + text;
}

bool FromText(const std::string& text, const ElementTypes& types, Captured* captured) {
  ElementType type = types.type[0];
  std::size_t begin = 0;
  if (types.count > 1) {
    const std::size_t end = text.find(kAfterType);
    if (end == std::string::npos) return false;
    const auto is_named = [&](ElementType t) { return text.compare(0, end, ElementTypeName(t)) == 0; };
    const ElementType* const named = std::find_if(types.begin(), types.end(), is_named);
    if (named == types.end()) return false;
    type = *named;
    begin = end + sizeof kAfterType - 1;
  }
  std::vector<unsigned char> bytes;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::uint64_t bits;
    if (!NumberFromText(text.substr(begin, end - begin), type, &bits)) return false;
    bytes.insert(bytes.end(), SizeOf(type), 0);
    std::memcpy(bytes.data() + bytes.size() - SizeOf(type), &bits, SizeOf(type));  // little-endian, as everywhere
    begin = end + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    if (end < text.size() && begin >= text.size()) return false;  // nothing after a comma
  }
  captured->type = type;
  captured->bytes = std::make_shared<const std::vector<unsigned char>>(std::move(bytes));
  captured->text.clear();
  return true;
}

bool IsNarrowing(ElementType declared, ElementType arrived) {
  if (arrived == declared) return true;
  if (FormatOf(declared) != nullptr) {
    return arrived == ElementType::kF32 || arrived == ElementType::kF16 || arrived == ElementType::kBF16;
  }
  return arrived == ElementType::kI32;  // of u32 and i64
}

bool MayHaveBecome(const Captured& captured, ElementType arrived, const void* data) {
  if (data == nullptr) return true;  // not to be had: too large, or computed by what cannot be evaluated here
  const FloatFormat* const declared_format = FormatOf(captured.type);
  const FloatFormat* const format = FormatOf(arrived);
  for (std::uint64_t i = 0; i < captured.elements(); ++i) {
    const bool may = format == nullptr
                         ? IntegerMayHaveBecome(IntegerAt(captured.type, captured.data(), i), IntegerAt(arrived, data, i))
                         : FloatMayHaveBecome(BitsAt(captured.type, captured.data(), i), *declared_format,
                                              BitsAt(arrived, data, i), *format);
    if (!may) return false;
  }
  return true;
}

}  // namespace onnx_philox
