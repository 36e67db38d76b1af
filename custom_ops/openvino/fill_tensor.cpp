// Draws into tensors: see fill_tensor.h.
#include "fill_tensor.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "number_formats.h"
#include "openvino/core/parallel.hpp"
#include "openvino_types.h"
#include "torch_part.h"

namespace onnx_philox {

namespace {

std::uint64_t MostPieces() { return static_cast<std::uint64_t>(std::max(1, parallel_get_max_threads())); }

/// At any alignment: an IR's constants lie where its file has them.
template <class To, class From>
void ConvertEach(const void* from, FloatFormat from_format, void* to, FloatFormat to_format, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, static_cast<const unsigned char*>(from) + i * sizeof(From), sizeof(From));
    const To y = static_cast<To>(ConvertFloat(x, from_format, to_format));
    std::memcpy(static_cast<unsigned char*>(to) + i * sizeof(To), &y, sizeof(To));
  }
}

/// Calls a function with an integer of as many bits as a float type has.
template <class Function>
void WithBits(ElementType type, const Function& function) {
  if (type == ElementType::kF64) return function(std::uint64_t{});
  if (type == ElementType::kF32) return function(std::uint32_t{});
  function(std::uint16_t{});
}

/// Draws in the draw's own type, a chunk at a time, and converts.
bool FillConverted(const Kernels& kernels, const Draw& draw, std::uint64_t elements, ov::Tensor& tensor) {
  constexpr std::uint64_t kChunk = 1024;  // a multiple of a block's elements
  const ElementType from = ElementTypeOf(draw.type), to = ElementTypeOf(tensor.get_element_type());
  const std::size_t size = tensor.get_element_type().size();
  unsigned char* const out = static_cast<unsigned char*>(tensor.data());
  const std::uint64_t chunks = elements / kChunk + (elements % kChunk != 0 ? 1 : 0);
  std::atomic<bool> is_outside{false};
  ov::parallel_for(chunks, [&](std::uint64_t chunk) {
    alignas(64) unsigned char buffer[kChunk * 8];
    const std::uint64_t begin = chunk * kChunk, count = std::min(kChunk, elements - begin);
    if (FillTo(kernels, draw, begin, begin + count, buffer)) {
      ConvertFloats(buffer, from, out + begin * size, to, count);
    } else {
      is_outside = true;
    }
  });
  return !is_outside;
}

}  // namespace

const FloatFormat* FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return &kF16Format;
    case ElementType::kBF16:
      return &kBF16Format;
    case ElementType::kF32:
      return &kF32Format;
    case ElementType::kF64:
      return &kF64Format;
    default:
      return nullptr;
  }
}

void ConvertFloats(const void* from, ElementType from_type, void* to, ElementType to_type, std::uint64_t count) {
  const FloatFormat a = *FormatOf(from_type), b = *FormatOf(to_type);
  if (from_type == ElementType::kBF16 && to_type == ElementType::kF32) {
    // The usual case, on processors without bfloat16.
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint16_t half;
      std::memcpy(&half, static_cast<const unsigned char*>(from) + i * sizeof(half), sizeof(half));
      const std::uint32_t whole = static_cast<std::uint32_t>(half) << 16;
      std::memcpy(static_cast<unsigned char*>(to) + i * sizeof(whole), &whole, sizeof(whole));
    }
    return;
  }
  WithBits(to_type, [&](auto to_bits) {
    WithBits(from_type, [&](auto from_bits) {
      ConvertEach<decltype(to_bits), decltype(from_bits)>(from, a, to, b, count);
    });
  });
}

void RoundTensor(ov::Tensor& tensor, ElementType type) {
  constexpr std::uint64_t kChunk = 1024;
  const ElementType own = ElementTypeOf(tensor.get_element_type());
  const std::uint64_t elements = tensor.get_size();
  if (own == type || elements == 0) return;
  ov::Tensor whole = tensor;
  if (!IsContiguous(tensor)) {
    whole = ov::Tensor(tensor.get_element_type(), tensor.get_shape());
    tensor.copy_to(whole);
  }
  unsigned char* const numbers = static_cast<unsigned char*>(whole.data());
  const std::size_t size = tensor.get_element_type().size();
  ov::parallel_for(elements / kChunk + (elements % kChunk != 0 ? 1 : 0), [&](std::uint64_t chunk) {
    std::uint32_t single[kChunk];
    std::uint16_t half[kChunk];
    const std::uint64_t begin = chunk * kChunk, count = std::min(kChunk, elements - begin);
    ConvertFloats(numbers + begin * size, own, single, ElementType::kF32, count);
    ConvertFloats(single, ElementType::kF32, half, type, count);
    ConvertFloats(half, type, numbers + begin * size, own, count);
  });
  if (!IsContiguous(tensor)) whole.copy_to(tensor);
}

bool IsContiguous(const ov::Tensor& tensor) { return tensor.get_shape().size() < 2 || tensor.is_continuous(); }

ov::Tensor Whole(const ov::Tensor& tensor) {
  return IsContiguous(tensor) ? tensor : ov::Tensor(tensor.get_element_type(), tensor.get_shape());
}

Filled FillTensor(const Kernels& kernels, const Attributes& attributes, const Arguments& arguments, Draw draw,
                  std::uint32_t* next_states, ov::Tensor& tensor, const ForEach& for_each) {
  const ElementType wanted = ElementTypeOf(draw.type), given = ElementTypeOf(tensor.get_element_type());
  const bool same = given == wanted || (wanted == ElementType::kU32 && given == ElementType::kI32) ||
                    (wanted == ElementType::kBool && given == ElementType::kU8);
  if (!same && (FormatOf(wanted) == nullptr || FormatOf(given) == nullptr)) return Filled::kOfAnotherType;
  const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);
  if (elements == 0 && !attributes.is_pytorch) return Filled::kDrawn;
  ov::Tensor whole = Whole(tensor);
  if (elements > 0) draw.out = whole.data();
  if (attributes.is_pytorch) {
    std::vector<unsigned char> drawn;
    if (!same) drawn.resize(static_cast<std::size_t>(elements * ElementSize(draw.type)));
    if (!drawn.empty()) draw.out = drawn.data();
    DrawTorch(kernels, attributes, arguments, draw, next_states, for_each);
    if (!drawn.empty()) ConvertFloats(drawn.data(), wanted, whole.data(), given, elements);
  } else if (!(same ? FillShared(kernels, draw, elements, MostPieces, for_each)
                    : FillConverted(kernels, draw, elements, whole))) {
    return Filled::kOutside;
  }
  if (!IsContiguous(tensor)) whole.copy_to(tensor);
  return Filled::kDrawn;
}

}  // namespace onnx_philox
