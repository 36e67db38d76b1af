// The names of element types, and lists of them: see element_types.h.
#include "element_types.h"

#include <algorithm>
#include <iterator>

#include "sentences.h"

namespace onnx_philox {

const char* ElementTypeName(ElementType type) {
  // By ElementType.
  static constexpr const char* kNames[] = {
      say::kNoKnownType, "u32",   "i32",   "i64",    "f16",    "bf16",   "f32",  "f64", "bool",
      "int8",            "uint8", "int16", "uint16", "uint64", "string", say::kAnotherType};
  static_assert(std::size(kNames) == static_cast<std::size_t>(ElementType::kOther) + 1, "one for each");
  return kNames[static_cast<int>(type)];
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
