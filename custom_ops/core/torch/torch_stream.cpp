// torch's generator: see torch_stream.h.
#include "torch_stream.h"

#include "float_environment.h"
#include "floats.h"
#include "kernels.h"
#include "philox.h"
#include "torch_part.h"

namespace onnx_philox {

namespace {

/// Where a state has what.
constexpr int kLeft = 2, kSeeded = 3, kNext = 4, kFirstWord = 5, kNormal = 629, kIsCached = 631;

}  // namespace

void SeedTorchState(std::uint64_t seed, std::uint32_t* words) {
  std::memset(words, 0, kTorchGeneratorWords * sizeof(*words));
  words[0] = Low32(seed);
  words[1] = High32(seed);
  words[kLeft] = words[kSeeded] = 1;
  std::uint32_t* const state = words + kFirstWord;
  state[0] = Low32(seed);
  for (std::uint32_t i = 1; i < kMtWords; ++i) {
    state[i] = 1812433253u * (state[i - 1] ^ state[i - 1] >> 30) + i;
  }
}

void ReadTorchState(const std::uint32_t* words, TorchStream* stream) {
  // With one word left, the block is spent: the next draw renews it.
  stream->used = words[kLeft] == 1 ? kMtWords : words[kNext];
  std::memcpy(stream->mt.state, words + kFirstWord, sizeof(stream->mt.state));
  MtGive(&stream->mt);
  stream->has_normal = words[kIsCached] != 0;
  stream->normal = stream->has_normal ? F64FromBits(Join(words[kNormal], words[kNormal + 1])) : 0.0;
}

void WriteTorchState(const TorchStream& stream, std::uint32_t* words) {
  const std::uint32_t used_before = words[kLeft] == 1 ? kMtWords : words[kNext];
  const bool has_drawn = stream.used != used_before || std::memcmp(words + kFirstWord, stream.mt.state, sizeof(stream.mt.state)) != 0;
  // A generator that is new and one that has given all of its words differ in `next`, and draw the same.
  if (has_drawn) {
    words[kLeft] = kMtWords + 1 - stream.used;
    words[kNext] = stream.used;
    std::memcpy(words + kFirstWord, stream.mt.state, sizeof(stream.mt.state));
  }
  const std::uint64_t normal = stream.has_normal ? BitCast<std::uint64_t>(stream.normal) : 0;
  words[kNormal] = Low32(normal);
  words[kNormal + 1] = High32(normal);
  words[kIsCached] = stream.has_normal ? 1 : 0;
}

void FillTorch(const Kernels& kernels, TorchStream* stream, const TorchFill& fill) {
  const FloatEnvironment environment;
  kernels.fill_torch(stream, fill);
}

}  // namespace onnx_philox
