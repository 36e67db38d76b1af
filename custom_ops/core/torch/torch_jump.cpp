// Jumps of torch's generator: see torch_jump.h.
#include "torch_jump.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "mt19937_jumps.h"
#include "philox.h"

namespace onnx_philox {

namespace {

/// The smallest jump is over 2^kFirstJump blocks, the largest over less than 2^kEndOfJumps.
constexpr unsigned kFirstJump = 8, kEndOfJumps = 23;
/// As many of the highest bits of a number of blocks are jumped by.
constexpr unsigned kJumps = 6;
constexpr unsigned kSequenceBlocks = (kMtDegree + kMtWords - 1) / kMtWords + 1;

/// A polynomial over the field of two elements, below MT19937's characteristic one: the coefficient of x^0 is the lowest bit.
constexpr unsigned kPolynomialWords = (kMtDegree + 63) / 64;
using Polynomial = std::array<std::uint64_t, kPolynomialWords>;

/// The bits of 32, at twice their places.
std::uint64_t Spread(std::uint64_t x) {
  x = (x | x << 16) & 0x0000FFFF0000FFFF;
  x = (x | x << 8) & 0x00FF00FF00FF00FF;
  x = (x | x << 4) & 0x0F0F0F0F0F0F0F0F;
  x = (x | x << 2) & 0x3333333333333333;
  return (x | x << 1) & 0x5555555555555555;
}

/// Its square, modulo the characteristic polynomial: the same coefficients at twice the powers, of which those that are too
/// high become lower ones, 64 at once. The second highest power of the characteristic polynomial is far enough below.
Polynomial Square(const Polynomial& of) {
  std::array<std::uint64_t, 2 * kPolynomialWords> square;
  for (unsigned i = 0; i < kPolynomialWords; ++i) {
    square[2 * i] = Spread(Low32(of[i]));
    square[2 * i + 1] = Spread(High32(of[i]));
  }
  constexpr unsigned kFirst = kMtDegree / 64, kShift = kMtDegree % 64;
  static_assert(kShift > 0, "shifts by 64 are undefined");
  for (unsigned word = kPolynomialWords; word-- > 0;) {
    const std::uint64_t high = square[kFirst + word] >> kShift | square[kFirst + word + 1] << (64 - kShift);
    for (const unsigned power : kMtPowers) {
      square[word + power / 64] ^= high << power % 64;
      if (power % 64 != 0) square[word + power / 64 + 1] ^= high >> (64 - power % 64);
    }
  }
  Polynomial rest;
  std::copy_n(square.begin(), kPolynomialWords, rest.begin());
  rest[kFirst] &= (std::uint64_t{1} << kShift) - 1;
  return rest;
}

/// The state after the blocks of one polynomial: the sum of the states after as many words as it has powers. The low bits
/// of the first word are no part of a state, and may be others than plain steps leave there.
void Jump(const Polynomial& polynomial, std::uint32_t* sequence, Mt19937* mt) {
  Mt19937 next = *mt;
  for (unsigned block = 0; block < kSequenceBlocks; ++block) {
    std::memcpy(sequence + block * kMtWords, next.state, sizeof(next.state));
    MtRenew(&next);
  }
  constexpr unsigned kAtOnce = 4;  // fewer passes over the sum
  const std::uint32_t* from[kAtOnce];
  unsigned found = 0;
  std::uint32_t* const sum = mt->state;
  std::memset(sum, 0, sizeof(mt->state));
  for (unsigned power = 0; power < kMtDegree; ++power) {
    if ((polynomial[power / 64] >> power % 64 & 1) == 0) continue;
    from[found++] = sequence + power;
    if (found < kAtOnce) continue;
    for (unsigned i = 0; i < kMtWords; ++i) sum[i] ^= from[0][i] ^ from[1][i] ^ from[2][i] ^ from[3][i];
    found = 0;
  }
  while (found > 0) {
    const std::uint32_t* const last = from[--found];
    for (unsigned i = 0; i < kMtWords; ++i) sum[i] ^= last[i];
  }
}

}  // namespace

std::uint64_t BlocksToJump(std::uint64_t blocks) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << kEndOfJumps;
  if (blocks <= std::uint64_t{1} << kFirstJump) return 0;
  std::uint64_t jumped = blocks - 1 < kEnd ? blocks - 1 : kEnd - 1;
  unsigned lowest = kFirstJump;
  while (jumped >> lowest >> kJumps != 0) ++lowest;
  jumped = jumped >> lowest << lowest;
  return jumped + 1;  // the last block comes by a plain step, which needs nothing that a jump leaves open
}

void JumpBlocks(Mt19937* mt, std::uint64_t blocks) {
  const std::unique_ptr<std::uint32_t[]> sequence(new std::uint32_t[kSequenceBlocks * kMtWords]);
  Polynomial power{};  // x to as many words as a jump goes over
  power[kMtWords / 64] = std::uint64_t{1} << kMtWords % 64;
  for (std::uint64_t left = blocks - 1; left != 0; left >>= 1, power = Square(power)) {
    if ((left & 1) != 0) Jump(power, sequence.get(), mt);
  }
  MtRenew(mt);
}

}  // namespace onnx_philox
