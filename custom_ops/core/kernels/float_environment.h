// The floating-point environment of a draw: round to nearest even, subnormals kept, no traps.
//
// A host process may have set flush-to-zero, denormals-are-zero or another rounding mode for its own arithmetic; our
// numbers must not depend on it. The compiler does not know that the control register influences arithmetic and may
// move arithmetic past it, so code that relies on the environment must sit in a function called through a pointer.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64) || defined(__i386__) || defined(_M_IX86)
#include <xmmintrin.h>
#define ONNX_PHILOX_FLOAT_CONTROL 1
#elif defined(__aarch64__) && defined(__GNUC__)
#define ONNX_PHILOX_FLOAT_CONTROL 2
#else
#define ONNX_PHILOX_FLOAT_CONTROL 0
#include <cfenv>
#endif

namespace onnx_philox {

/// Sets the environment for this thread, and restores the caller's at the end of the scope.
class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(Read()) {
    // Writing the register costs more than reading it, and it is nearly always right already.
    if ((saved_ & ~kIgnored) != kDefault) Write(kDefault);
  }
  ~FloatEnvironment() {
    if ((saved_ & ~kIgnored) != kDefault) Write(saved_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if ONNX_PHILOX_FLOAT_CONTROL == 1
  using Register = unsigned int;                       // MXCSR
  static constexpr Register kDefault = 0x1F80;         // all exceptions masked
  static constexpr Register kIgnored = 0x003F;         // sticky exception flags
  static Register Read() { return _mm_getcsr(); }
  static void Write(Register value) { _mm_setcsr(value); }
#elif ONNX_PHILOX_FLOAT_CONTROL == 2
  using Register = std::uint64_t;                      // FPCR; its sticky flags live elsewhere
  static constexpr Register kDefault = 0;
  static constexpr Register kIgnored = 0;
  static Register Read() {
    Register value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void Write(Register value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#else
  // Standard C++ can only set the rounding mode; we know of no flush-to-zero on the processors that get here.
  using Register = int;
  static constexpr Register kDefault = FE_TONEAREST;
  static constexpr Register kIgnored = 0;
  static Register Read() { return std::fegetround(); }
  static void Write(Register value) { std::fesetround(value); }
#endif

  const Register saved_;
};

}  // namespace onnx_philox
