// Element types: see ort_types.h.
#include "ort_types.h"

namespace onnx_philox {

ElementType ElementTypeFromOrt(OrtElementType type) {
  switch (type) {
    case ORT_TYPE_UNDEFINED:
      return ElementType::kUnknown;
    case ORT_TYPE_FLOAT:
      return ElementType::kF32;
    case ORT_TYPE_UINT8:
      return ElementType::kU8;
    case ORT_TYPE_INT8:
      return ElementType::kI8;
    case ORT_TYPE_UINT16:
      return ElementType::kU16;
    case ORT_TYPE_INT16:
      return ElementType::kI16;
    case ORT_TYPE_INT32:
      return ElementType::kI32;
    case ORT_TYPE_INT64:
      return ElementType::kI64;
    case ORT_TYPE_STRING:
      return ElementType::kString;
    case ORT_TYPE_BOOL:
      return ElementType::kBool;
    case ORT_TYPE_FLOAT16:
      return ElementType::kF16;
    case ORT_TYPE_DOUBLE:
      return ElementType::kF64;
    case ORT_TYPE_UINT32:
      return ElementType::kU32;
    case ORT_TYPE_UINT64:
      return ElementType::kU64;
    case ORT_TYPE_BFLOAT16:
      return ElementType::kBF16;
    default:
      return ElementType::kOther;
  }
}

OrtElementType OrtTypeOf(ElementType type) {
  for (OrtElementType candidate = ORT_TYPE_UNDEFINED; candidate <= ORT_TYPE_BFLOAT16; ++candidate) {
    const ElementType found = ElementTypeFromOrt(candidate);
    if (found == type && found != ElementType::kOther) return candidate;
  }
  return ORT_TYPE_UNDEFINED;
}

}  // namespace onnx_philox
