// Exact text of floats: see number_formats.h.
#include "number_formats.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace onnx_philox {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string FloatToText(std::uint64_t bits, FloatFormat format) {
  const std::uint64_t wide = ConvertFloat(bits, format, kF64Format);  // exact: f64 holds them all
  const int field = static_cast<int>(wide >> 52) & LargestExponentField(kF64Format);
  const std::uint64_t fraction = wide & ((std::uint64_t{1} << 52) - 1);
  std::string text(wide >> 63 != 0 ? "-" : "");
  if (field == LargestExponentField(kF64Format)) return fraction == 0 ? text + "inf" : "nan";
  if (field == 0 && fraction == 0) return text + "0x0.0p+0";
  text += field == 0 ? "0x0." : "0x1.";
  for (int shift = 48; shift >= 0; shift -= 4) text += kDigits[fraction >> shift & 15];
  const int exponent = (field == 0 ? 1 : field) - ExponentBias(kF64Format);
  text += exponent < 0 ? "p-" : "p+";
  return text + std::to_string(std::abs(exponent));
}

bool FloatFromText(const std::string& text, FloatFormat format, std::uint64_t* bits) {
  const char* p = text.c_str();
  const std::uint64_t sign = *p == '-' ? 1 : 0;
  if (*p == '-' || *p == '+') ++p;
  const std::uint64_t infinity = static_cast<std::uint64_t>(LargestExponentField(format)) << format.mantissa_bits;
  const std::uint64_t sign_bit = sign << (format.exponent_bits + format.mantissa_bits);
  if (std::strcmp(p, "inf") == 0) {
    *bits = infinity | sign_bit;
    return true;
  }
  if (p[0] != '0' || (p[1] != 'x' && p[1] != 'X')) return false;
  p += 2;
  std::uint64_t mantissa = 0;
  int exponent = 0;
  bool any = false, after_point = false;
  for (; HexDigit(*p) >= 0 || (*p == '.' && !after_point); ++p) {
    if (*p == '.') {
      after_point = true;
      continue;
    }
    if (mantissa >> 60 != 0) return false;  // more digits than any of the formats has
    mantissa = mantissa << 4 | static_cast<std::uint64_t>(HexDigit(*p));
    exponent -= after_point ? 4 : 0;
    any = true;
  }
  if (!any) return false;
  if (*p == 'p' || *p == 'P') {
    const bool negative = p[1] == '-';
    p += negative || p[1] == '+' ? 2 : 1;
    if (*p < '0' || *p > '9') return false;
    int power = 0;
    for (; *p >= '0' && *p <= '9'; ++p) {
      power = power * 10 + (*p - '0');
      if (power > 10000) return false;
    }
    exponent += negative ? -power : power;
  }
  if (*p != '\0') return false;
  const std::uint64_t magnitude = RoundTo(format, mantissa, exponent);
  if (magnitude >= infinity) return false;
  // Exact, or it is no number of this type.
  const std::uint64_t hidden = std::uint64_t{1} << format.mantissa_bits;
  const int field = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint64_t back = field == 0 ? magnitude : (magnitude & (hidden - 1)) | hidden;
  const int back_exponent = (field == 0 ? 1 : field) - ExponentBias(format) - format.mantissa_bits;
  const int shift = back_exponent - exponent;
  const bool exact = mantissa == 0 ||
                     (shift >= 0 ? shift < 64 && mantissa >> shift == back && back << shift == mantissa
                                 : shift > -64 && back >> -shift == mantissa && mantissa << -shift == back);
  if (!exact) return false;
  *bits = magnitude | sign_bit;
  return true;
}

}  // namespace onnx_philox
