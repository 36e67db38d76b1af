// Float16 nodes that run in float32: see widened_f16.h.
#include "widened_f16.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "float_environment.h"
#include "floats.h"
#include "torch_part.h"

namespace onnx_philox {

namespace {

constexpr char kInsertedCast[] = "InsertedPrecisionFreeCast_";

/// Elements drawn at a time: a small part of the first cache, and a multiple of what pieces are cut by.
constexpr std::uint64_t kChunk = 2048;

std::uint32_t RoundHere(float value) { return F16FromF32(value); }

}  // namespace

bool IsNameOfInsertedCast(const std::string& name) {
  return name.compare(0, sizeof(kInsertedCast) - 1, kInsertedCast) == 0;
}

std::uint16_t RoundToF16(float value) {
  if (std::isnan(value)) return 0x7E00;
  const FloatEnvironment environment;
  // Volatile keeps the arithmetic inside the environment.
  std::uint32_t (*volatile const round)(float) = RoundHere;
  return static_cast<std::uint16_t>(round(value));
}

bool FillWidened(const Kernels& kernels, const Draw& draw, std::uint64_t begin, std::uint64_t end) {
  alignas(64) std::uint16_t halves[kChunk];
  float* const out = static_cast<float*>(draw.out);
  for (std::uint64_t first = begin; first < end; first += kChunk) {
    const std::uint64_t count = std::min(kChunk, end - first);
    if (!FillTo(kernels, draw, first, first + count, halves)) return false;
    for (std::uint64_t i = 0; i < count; ++i) out[first + i] = F32FromF16(halves[i]);  // exact in any environment
  }
  return true;
}

void DrawTorchWidened(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments,
                      const Draw& draw, std::uint32_t* next_states, const ForEach& for_each) {
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(arguments.dimensions.elements));
  Draw narrow = draw;
  narrow.out = halves.data();
  DrawTorch(kernels, attributes, arguments, narrow, next_states, for_each);
  float* const out = static_cast<float*>(draw.out);
  for (std::size_t i = 0; i < halves.size(); ++i) out[i] = F32FromF16(halves[i]);
}

}  // namespace onnx_philox
