// Jumps of torch's generator: see torch_jump.h.
#include "torch_jump.h"

#include <cstring>
#include <memory>

#include "mt19937_jumps.h"

namespace onnx_philox {

namespace {

constexpr unsigned kDegree = 19937;
/// As many of the highest bits of a number of blocks are jumped by.
constexpr unsigned kJumps = 6;
constexpr unsigned kSequenceBlocks = (kDegree + kMtWords - 1) / kMtWords + 1;

/// The state after the blocks of one polynomial: the sum of the states after as many words as it has powers. The low bits
/// of the first word are no part of a state, and may be others than plain steps leave there.
void Jump(const std::uint64_t* polynomial, std::uint32_t* sequence, Mt19937* mt) {
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
  for (unsigned power = 0; power < kDegree; ++power) {
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
  constexpr std::uint64_t kEnd = std::uint64_t{1} << (kFirstMtJump + kMtJumps);
  if (blocks <= std::uint64_t{1} << kFirstMtJump) return 0;
  std::uint64_t jumped = blocks - 1 < kEnd ? blocks - 1 : kEnd - 1;
  unsigned lowest = kFirstMtJump;
  while (jumped >> lowest >> kJumps != 0) ++lowest;
  jumped = jumped >> lowest << lowest;
  return jumped + 1;  // the last block comes by a plain step, which needs nothing that a jump leaves open
}

void JumpBlocks(Mt19937* mt, std::uint64_t blocks) {
  const std::unique_ptr<std::uint32_t[]> sequence(new std::uint32_t[kSequenceBlocks * kMtWords]);
  for (unsigned jump = 0; jump < kMtJumps; ++jump) {
    if (((blocks - 1) >> (kFirstMtJump + jump) & 1) != 0) Jump(kMtJump[jump], sequence.get(), mt);
  }
  MtRenew(mt);
}

}  // namespace onnx_philox
