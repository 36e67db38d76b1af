// Element types: those of inputs and outputs, and those that an input may have by mistake.
#pragma once

#include "output.h"

namespace onnx_philox {

/// Element types that an input may have; those past kBool are always wrong, and only errors name them.
enum class ElementType {
  kUnknown,  ///< not known yet: nothing is checked
  kU32,
  kI32,
  kI64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kBool,
  kI8,
  kU8,
  kI16,
  kU16,
  kU64,
  kString,
  kOther,
};

/// "u32", "f32", ...; for types that no operator takes, NumPy's names.
const char* ElementTypeName(ElementType type);
ElementType ElementTypeOf(OutputType type);
/// The type of checked numbers; kBits where no input that holds numbers has it.
OutputType NumberType(ElementType type);

/// Element types in an order, the usual one first; the maker of the list owns them.
struct ElementTypes {
  int count;
  const ElementType* type;

  const ElementType* begin() const { return type; }
  const ElementType* end() const { return type + count; }
  bool Has(ElementType wanted) const;
};

/// The one type of an output, as a list.
ElementTypes OneType(OutputType type);

}  // namespace onnx_philox
