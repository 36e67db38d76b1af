// The exact value of a constant input, kept by the node (see constants.h), and its text in IR.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "element_types.h"

namespace onnx_philox {

/// The exact value of a constant input. Copies share the memory.
struct Captured {
  ElementType type = ElementType::kUnknown;  ///< the one it was declared with; kUnknown: the input is no constant
  std::shared_ptr<const std::vector<unsigned char>> bytes;
  std::string text;  ///< as read from IR; turned into a value once the output type is known

  bool known() const { return type != ElementType::kUnknown; }
  const void* data() const { return bytes != nullptr && !bytes->empty() ? bytes->data() : nullptr; }
  std::uint64_t elements() const;
  /// Whether as many elements of this type are the same.
  bool Is(ElementType other_type, const void* other) const;
};

Captured Capture(ElementType type, const void* data, std::uint64_t elements);

/// Decimal integers or hexadecimal floats joined by ", ". If several types are possible, the value's type comes first:
/// "f64: 0x1.8p-1". Empty for an input that is not a constant.
std::string ToText(const Captured& captured, const ElementTypes& types);

/// Reads what ToText wrote; false if the text is anything else.
bool FromText(const std::string& text, const ElementTypes& types, Captured* captured);

/// Whether the plugin may have turned a declared type into `arrived`.
bool IsNarrowing(ElementType declared, ElementType arrived);

/// Whether the plugin, or saving in f16, may have turned the captured constants into the ones that arrived, which are
/// as many.
bool MayHaveBecome(const Captured& captured, ElementType arrived, const void* data);

}  // namespace onnx_philox
