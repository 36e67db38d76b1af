// Element types: see openvino_types.h.
#include "openvino_types.h"

namespace onnx_philox {

ElementType ElementTypeOf(const ov::element::Type& type) {
  switch (static_cast<ov::element::Type_t>(type)) {
    case ov::element::Type_t::dynamic:
      return ElementType::kUnknown;
    case ov::element::Type_t::u32:
      return ElementType::kU32;
    case ov::element::Type_t::i32:
      return ElementType::kI32;
    case ov::element::Type_t::i64:
      return ElementType::kI64;
    case ov::element::Type_t::f16:
      return ElementType::kF16;
    case ov::element::Type_t::bf16:
      return ElementType::kBF16;
    case ov::element::Type_t::f32:
      return ElementType::kF32;
    case ov::element::Type_t::f64:
      return ElementType::kF64;
    case ov::element::Type_t::boolean:
      return ElementType::kBool;
    case ov::element::Type_t::i8:
      return ElementType::kI8;
    case ov::element::Type_t::u8:
      return ElementType::kU8;
    case ov::element::Type_t::i16:
      return ElementType::kI16;
    case ov::element::Type_t::u16:
      return ElementType::kU16;
    case ov::element::Type_t::u64:
      return ElementType::kU64;
    case ov::element::Type_t::string:
      return ElementType::kString;
    default:
      return ElementType::kOther;
  }
}

ov::element::Type OpenVinoType(OutputType type) {
  switch (type) {
    case OutputType::kBits:
      return ov::element::u32;
    case OutputType::kF32:
      return ov::element::f32;
    case OutputType::kF16:
      return ov::element::f16;
    case OutputType::kBF16:
      return ov::element::bf16;
    case OutputType::kF64:
      return ov::element::f64;
    case OutputType::kI32:
      return ov::element::i32;
    case OutputType::kBool:
      return ov::element::boolean;
    case OutputType::kI64:
      break;
  }
  return ov::element::i64;
}

ov::element::Type OpenVinoType(ElementType type) {
  int i = 0;
  while (i < kOutputTypes - 1 && ElementTypeOf(static_cast<OutputType>(i)) != type) ++i;
  return OpenVinoType(static_cast<OutputType>(i));
}

}  // namespace onnx_philox
