// Which numbers are within limits.
//
// Numbers are compared as integers in the same order, -0 right below 0: those of floats are their bits, which are inverted
// below the sign where that is set. So no arithmetic disturbs it, and NaN is outside of all limits.
//
// Included by the per-instruction-set files: see philox.h for why everything here is always inlined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "inlining.h"
#include "output.h"

namespace onnx_philox {

/// Limits of a type whose numbers are as wide as `Bits`, a signed integer: vectors compare these at once.
template <class Bits>
struct SignedLimits {
  Bits least, greatest;
  Bits inverted;  ///< of a number whose sign is set

  /// `limits` are unsigned, so their signs are inverted here.
  ONNX_PHILOX_INLINE SignedLimits(const Limits& limits, bool is_float)
      : least(static_cast<Bits>(static_cast<Unsigned>(limits.least) ^ kSign)),
        greatest(static_cast<Bits>(static_cast<Unsigned>(limits.greatest) ^ kSign)),
        inverted(static_cast<Bits>(is_float ? kSign - 1 : 0)) {}

  /// All bits of a number outside, none of one within: as wide as the numbers, so that vectors need not narrow it.
  ONNX_PHILOX_INLINE Bits Outside(Bits bits) const {
    const Bits is_negative = static_cast<Bits>(bits < 0 ? -1 : 0);
    const Bits number = static_cast<Bits>(bits ^ (is_negative & inverted));
    return static_cast<Bits>(-static_cast<Bits>((number < least) | (number > greatest)));
  }

 private:
  using Unsigned = std::make_unsigned_t<Bits>;
  static constexpr Unsigned kSign = static_cast<Unsigned>(Unsigned{1} << (8 * sizeof(Bits) - 1));
};

}  // namespace onnx_philox
