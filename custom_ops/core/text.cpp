// Text as Python prints it: see text.h.
#include "text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "float_environment.h"
#include "floats.h"
#include "values.h"

namespace onnx_philox {

namespace {

std::string ShowFloatHere(double value) {
  const std::uint64_t bits = BitCast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return negative ? "-inf" : "inf";
  // The fewest digits that read back as the same bits. Next to a power of two, where the spacing changes, they can be
  // those of the next number up instead of the nearest one. The host's locale may print another character for the
  // point, so the code takes only digits and exponent from the text, and reads them back without a point.
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
      digits.resize(std::max(digits.size(), whole), '0');
      shown = digits.substr(0, whole) + "." + (digits.size() > whole ? digits.substr(whole) : "0");
    }
  } else {
    char tail[16];
    std::snprintf(tail, sizeof(tail), "e%+03d", exponent);
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

std::string ShowNumberHere(OutputType type, std::uint64_t bits) {
  if (IsFloat(type)) return ShowFloat(FloatValue(type, bits));
  if (type == OutputType::kI32) return std::to_string(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
  return std::to_string(static_cast<std::int64_t>(bits));
}

}  // namespace

std::string Worded(const char* form, std::initializer_list<std::string> parts) {
  std::string text;
  for (const char* c = form; *c != '\0'; ++c) {
    if (*c != '{') {
      text += *c;
    } else {
      text += parts.begin()[c[1] - '0'];
      c += 2;  // the digit and the brace
    }
  }
  return text;
}

std::string Refusal(const char* op, const std::string& what, const std::string& given, const std::string& allowed,
                    const std::string& remedy) {
  return std::string(op) + ": " + Worded(say::kForm, {what, given, allowed, remedy});
}

std::string InputText(const char* name) { return Worded(say::kInput, {name}); }
std::string AttributeText(const std::string& name) { return Worded(say::kAttribute, {ShowText(name)}); }
std::string OutputText(const char* name) { return Worded(say::kOutput, {name}); }

std::string ShowFloat(double value) {
  const FloatEnvironment environment;
  std::string (*volatile const show)(double) = ShowFloatHere;
  return show(value);
}

std::string ShowNumber(OutputType type, std::uint64_t bits) {
  const FloatEnvironment environment;
  // Volatile keeps the conversion of subnormals inside the environment.
  std::string (*volatile const show)(OutputType, std::uint64_t) = ShowNumberHere;
  return show(type, bits);
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
    shown += unknowns && dimensions[i] == kUnknownDimension ? "?" : std::to_string(dimensions[i]);
  }
  return shown + "]";
}

std::string ShowBytes(std::uint64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (std::size_t end = digits.size(); end > 3; end -= 3) digits.insert(end - 3, ",");
  return digits;
}

}  // namespace onnx_philox
