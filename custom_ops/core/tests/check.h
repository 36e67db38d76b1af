// A test harness that distrusts itself: it counts what it checked, names what it skipped, and fails if nothing ran.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace check {

inline unsigned long long checks = 0, failures = 0, skipped = 0;

/// One check; prints the explanation, formatted as by printf, if it does not hold.
__attribute__((format(printf, 2, 3))) inline bool That(bool holds, const char* format, ...) {
  ++checks;
  if (holds) return true;
  if (++failures <= 20) {
    std::va_list arguments;
    va_start(arguments, format);
    std::printf("FAILED: ");
    std::vprintf(format, arguments);
    std::printf("\n");
    va_end(arguments);
  }
  return false;
}

inline void Skip(const char* what, const char* why) {
  ++skipped;
  std::printf("skipped: %s (%s)\n", what, why);
}

/// What main returns.
inline int Finish(unsigned long long at_least) {
  std::printf("%llu checks, %llu failed, %llu skipped\n", checks, failures, skipped);
  if (checks < at_least) {
    std::printf("FAILED: fewer than the %llu checks that this test is made of\n", at_least);
    return 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace check
