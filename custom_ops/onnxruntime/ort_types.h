// ONNX Runtime's element types, as the core's, and its texts.
#pragma once

#include <cstddef>
#include <string>

#include "element_types.h"
#include "ort_api.h"

namespace onnx_philox {

ElementType ElementTypeFromOrt(OrtElementType type);

/// ORT_TYPE_UNDEFINED for a type that no operator takes.
OrtElementType OrtTypeOf(ElementType type);

/// A text that query(null, &bytes) measures and query(text, &bytes) writes, a NUL at its end.
template <class Query>
OrtStatus* ReadText(const Query& query, std::string* text) {
  std::size_t bytes = 0;
  OrtStatus* status = query(nullptr, &bytes);
  if (status != nullptr) return status;
  text->resize(bytes);
  if (bytes > 0) status = query(&(*text)[0], &bytes);
  text->resize(bytes > 0 ? bytes - 1 : 0);
  return status;
}

}  // namespace onnx_philox
