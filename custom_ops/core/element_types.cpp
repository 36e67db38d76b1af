// The names of element types, and lists of them: see element_types.h.
#include "element_types.h"

#include <algorithm>

#include "sentences.h"

namespace onnx_philox {

const char* ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kUnknown:
      return say::kNoKnownType;
    case ElementType::kU32:
      return "u32";
    case ElementType::kI32:
      return "i32";
    case ElementType::kI64:
      return "i64";
    case ElementType::kF16:
      return "f16";
    case ElementType::kBF16:
      return "bf16";
    case ElementType::kF32:
      return "f32";
    case ElementType::kF64:
      return "f64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kI8:
      return "int8";
    case ElementType::kU8:
      return "uint8";
    case ElementType::kI16:
      return "int16";
    case ElementType::kU16:
      return "uint16";
    case ElementType::kU64:
      return "uint64";
    case ElementType::kString:
      return "string";
    case ElementType::kOther:
      break;
  }
  return say::kAnotherType;
}

ElementType ElementTypeOf(OutputType type) { return OneType(type).type[0]; }

bool ElementTypes::Has(ElementType wanted) const { return std::find(begin(), end(), wanted) != end(); }

ElementTypes OneType(OutputType type) {
  // By OutputType.
  static constexpr ElementType kTypes[kOutputTypes] = {ElementType::kU32,  ElementType::kF32, ElementType::kF16,
                                                       ElementType::kBF16, ElementType::kF64, ElementType::kI32,
                                                       ElementType::kI64,  ElementType::kBool};
  return {1, &kTypes[static_cast<int>(type)]};
}

OutputType NumberType(ElementType type) {
  for (int i = 0; i < kOutputTypes; ++i) {
    if (ElementTypeOf(static_cast<OutputType>(i)) == type) return static_cast<OutputType>(i);
  }
  return OutputType::kBits;  // of no input that holds numbers
}

}  // namespace onnx_philox
