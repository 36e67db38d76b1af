// Which of its cases a test tries, where all of them take minutes: under a sanitizer, in an emulator.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace share {

/// Cases whose number leaves this remainder when it is divided by the count.
struct Share {
  unsigned remainder, count;
};

/// What ONNX_PHILOX_TEST_SHARE says, as in 2/8; without it, all cases.
inline Share Asked() {
  const char* const text = std::getenv("ONNX_PHILOX_TEST_SHARE");
  if (text == nullptr) return Share{0, 1};
  Share asked{0, 0};
  char rest = 0;
  const int numbers = std::sscanf(text, "%u/%u%c", &asked.remainder, &asked.count, &rest);
  if (numbers != 2 || asked.remainder >= asked.count) {
    std::fprintf(stderr, "ONNX_PHILOX_TEST_SHARE must be a number and a greater one, as in 2/8: got '%s'\n", text);
    std::exit(2);
  }
  return asked;
}

/// Into how many shares the cases are divided.
inline unsigned Count() {
  static const Share asked = Asked();
  return asked.count;
}

/// Whether the case of this number is tried.
inline bool Has(std::size_t number) {
  static const Share asked = Asked();
  return number % asked.count == asked.remainder;
}

}  // namespace share
