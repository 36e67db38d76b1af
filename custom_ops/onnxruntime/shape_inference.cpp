// Tells ONNX Runtime about values whose type only an attribute says: see shape_inference.h.
#include "shape_inference.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ort_types.h"
#include "text.h"

namespace onnx_philox {

namespace {

/// An attribute of the requested kind; missing if it has another kind.
GivenAttribute ReadAttribute(const OrtApi& api, const OrtShapeInferContext* context,
                             const AttributeDeclaration& declaration) {
  const OrtOpAttr* attribute = nullptr;
  char text[16] = {};  // longer ones are wrong
  std::int64_t integer = 0;
  std::size_t bytes = 0;
  OrtStatus* status = api.ShapeInferContext_GetAttribute(context, declaration.name, &attribute);
  const bool is_text = declaration.is_text();
  if (status == nullptr) {
    status = is_text ? api.ReadOpAttr(attribute, ORT_ATTR_STRING, text, sizeof(text), &bytes)
                     : api.ReadOpAttr(attribute, ORT_ATTR_INT, &integer, sizeof(integer), &bytes);
  }
  if (status != nullptr) {
    api.ReleaseStatus(status);
    return GivenAttribute();
  }
  return is_text ? GivenAttribute::Text(text) : GivenAttribute::Integer(integer);
}

/// The type that a wrong output_type names, so that it agrees with what the model declares and the kernel comes to
/// refuse it. Where it names none: the default, which most models declare, or the operator's first one.
OutputType NamedType(const std::string& name, const AttributeDeclaration& declaration) {
  for (int i = 0; i < kOutputTypes; ++i) {
    const auto type = static_cast<OutputType>(i);
    if (name == ElementTypeName(ElementTypeOf(type))) return type;
  }
  for (int i = 0; declaration.text_default != nullptr && i < declaration.texts; ++i) {
    if (std::string(declaration.text[i]) == declaration.text_default) return declaration.type[i];
  }
  return declaration.type[0];
}

/// What is known of the first dimension of an input of so many.
std::int64_t FirstDimension(const OrtApi& api, const OrtShapeInferContext* context, int index, std::size_t wanted) {
  OrtTensorTypeAndShapeInfo* input = nullptr;  // the context's own
  std::size_t rank = 0;
  std::int64_t dimension[2] = {kUnknownDimension, kUnknownDimension};
  OrtStatus* status = api.ShapeInferContext_GetInputTypeShape(context, static_cast<std::size_t>(index), &input);
  if (status == nullptr) status = api.GetDimensionsCount(input, &rank);
  if (status == nullptr && rank == wanted) status = api.GetDimensions(input, dimension, rank);
  if (status != nullptr) {
    api.ReleaseStatus(status);
    return kUnknownDimension;
  }
  return dimension[0];
}

/// A name that no other dimension has. Without a name, ONNX Runtime logs a warning in every run. The same name twice
/// promises equal sizes, by which ONNX Runtime plans memory.
std::string FreshSymbol() {
  static std::atomic<std::uint64_t> count{0};
  return "onnx_philox_" + std::to_string(++count);
}

/// Says the type and the shape of the first output. `symbols` are names of unknown dimensions, as far as they have one.
/// Handed on without a name, such a dimension would be the number -1 to other nodes.
OrtStatus* SetValues(const OrtApi& api, OrtShapeInferContext* context, OrtElementType type,
                     const std::vector<std::int64_t>& dimension, std::vector<const char*> symbols) {
  const std::size_t rank = dimension.size();
  std::vector<std::string> names(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const bool has_name = symbols[i] != nullptr && *symbols[i] != '\0';
    if (dimension[i] < 0) names[i] = has_name ? std::string(symbols[i]) : FreshSymbol();
    symbols[i] = names[i].c_str();
  }
  OrtTensorTypeAndShapeInfo* values = nullptr;
  if (OrtStatus* status = api.CreateTensorTypeAndShapeInfo(&values)) return status;
  OrtStatus* status = api.SetTensorElementType(values, type);
  if (status == nullptr) status = api.SetDimensions(values, dimension.data(), rank);
  if (status == nullptr) status = api.SetSymbolicDimensions(values, symbols.data(), rank);
  if (status == nullptr) status = api.ShapeInferContext_SetOutputTypeShape(context, 0, values);
  api.ReleaseTensorTypeAndShapeInfo(values);
  return status;
}

/// The first output has an input's type and shape. A mask has that shape, too, but releases before 1.32 end the process
/// when the shape of an output is set that the node does not have, and nothing tells which it has.
OrtStatus* InferLikeInput(const Operator& op, const OrtApi& api, OrtShapeInferContext* context) {
  OrtTensorTypeAndShapeInfo* data = nullptr;  // the context's own
  std::size_t rank = 0;
  OrtStatus* status =
      api.ShapeInferContext_GetInputTypeShape(context, static_cast<std::size_t>(op.type_input()), &data);
  if (status == nullptr) status = api.GetDimensionsCount(data, &rank);
  // An unknown rank reads as 0 here. Then the type is that of the only input of any type.
  if (status != nullptr || rank == 0) return status;
  std::vector<std::int64_t> dimension(rank);  // more than are allowed, too: the kernel refuses them
  std::vector<const char*> symbols(rank);
  OrtElementType type = ORT_TYPE_UNDEFINED;
  status = api.GetTensorElementType(data, &type);
  if (status == nullptr) status = api.GetDimensions(data, dimension.data(), rank);
  if (status == nullptr) status = api.GetSymbolicDimensions(data, symbols.data(), rank);
  return status != nullptr ? status : SetValues(api, context, type, dimension, symbols);
}

}  // namespace

OrtStatus* InferValues(const Operator& op, const OrtApi& api, OrtShapeInferContext* context) {
  if (op.type_input() >= 0) return InferLikeInput(op, api, context);
  // Reads each attribute by itself, so that a wrong one does not hide the type.
  Attributes attributes;
  CheckAttributes(op, GivenAttributes(), &attributes);
  for (int i = 0; i < op.attributes; ++i) {
    const AttributeDeclaration& declared = op.attribute[i];
    GivenAttributes given;
    given[declared.role] = ReadAttribute(api, context, declared);
    Attributes checked;
    const bool is_wrong = !CheckAttributes(op, given, &checked).empty();
    if (declared.role == AttributeRole::kOutputType) {
      attributes.output = is_wrong ? NamedType(given[declared.role].text, declared) : checked.output;
    } else if (declared.role == AttributeRole::kSampleSize && !is_wrong) {
      attributes.sample_size = checked.sample_size;
    }
  }

  std::vector<std::int64_t> dimension;
  const int shape = IndexOf(op, Role::kShape), logits = IndexOf(op, Role::kLogits);
  if (shape >= 0) {
    const std::int64_t entries = FirstDimension(api, context, shape, 1);
    // Where nothing says how many dimensions, it is one: a type cannot be given without any.
    dimension.assign(entries < 0 || entries > kMaxRank ? 1 : static_cast<std::size_t>(entries), kUnknownDimension);
  } else if (logits >= 0) {
    dimension = {FirstDimension(api, context, logits, 2), attributes.sample_size};
  } else {
    return nullptr;
  }
  return SetValues(api, context, OrtTypeOf(ElementTypeOf(attributes.output)), dimension,
                   std::vector<const char*>(dimension.size()));
}

}  // namespace onnx_philox
