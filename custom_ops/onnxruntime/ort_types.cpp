// Element types: see ort_types.h.
#include "ort_types.h"

#include <algorithm>
#include <iterator>

namespace onnx_philox {

namespace {

/// By OrtElementType; complex numbers are 14 and 15.
constexpr ElementType kTypes[] = {
    ElementType::kUnknown, ElementType::kF32,    ElementType::kU8,   ElementType::kI8,  ElementType::kU16,
    ElementType::kI16,     ElementType::kI32,    ElementType::kI64,  ElementType::kString, ElementType::kBool,
    ElementType::kF16,     ElementType::kF64,    ElementType::kU32,  ElementType::kU64, ElementType::kOther,
    ElementType::kOther,   ElementType::kBF16};
static_assert(std::size(kTypes) == ORT_TYPE_BFLOAT16 + 1, "up to the last one");

}  // namespace

ElementType ElementTypeFromOrt(OrtElementType type) {
  return type >= 0 && type <= ORT_TYPE_BFLOAT16 ? kTypes[type] : ElementType::kOther;
}

OrtElementType OrtTypeOf(ElementType type) {
  const auto* const found = std::find(std::begin(kTypes), std::end(kTypes), type);
  const bool is_known = found != std::end(kTypes) && type != ElementType::kOther;
  return is_known ? static_cast<OrtElementType>(found - kTypes) : ORT_TYPE_UNDEFINED;
}

}  // namespace onnx_philox
