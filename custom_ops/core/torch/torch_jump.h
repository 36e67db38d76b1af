// Jumps of torch's generator over many words: several threads draw parts of what one generator draws.
#pragma once

#include <cstdint>

#include "mt19937.h"

namespace onnx_philox {

/// The largest number of blocks of kMtWords words, up to `blocks`, that few jumps reach; it is at least 31/32 of `blocks`, if
/// that is neither small nor more than a jump reaches. 0: there is none.
std::uint64_t BlocksToJump(std::uint64_t blocks);

/// What so many calls of MtRenew do, for a number that BlocksToJump returns. Throws std::bad_alloc.
void JumpBlocks(Mt19937* mt, std::uint64_t blocks);

}  // namespace onnx_philox
