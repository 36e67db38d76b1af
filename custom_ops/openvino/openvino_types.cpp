// Element types: see openvino_types.h.
#include "openvino_types.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace onnx_philox {

namespace {

using ov::element::Type_t;

/// Those that runs ask for come first.
constexpr std::pair<Type_t, ElementType> kTypes[] = {
    {Type_t::f32, ElementType::kF32},         {Type_t::i32, ElementType::kI32},   {Type_t::u32, ElementType::kU32},
    {Type_t::i64, ElementType::kI64},         {Type_t::f16, ElementType::kF16},   {Type_t::bf16, ElementType::kBF16},
    {Type_t::f64, ElementType::kF64},         {Type_t::u8, ElementType::kU8},     {Type_t::boolean, ElementType::kBool},
    {Type_t::dynamic, ElementType::kUnknown}, {Type_t::i8, ElementType::kI8},     {Type_t::i16, ElementType::kI16},
    {Type_t::u16, ElementType::kU16},         {Type_t::u64, ElementType::kU64},   {Type_t::string, ElementType::kString},
};

}  // namespace

ElementType ElementTypeOf(const ov::element::Type& type) {
  for (const auto& [given, found] : kTypes) {
    if (type == given) return found;
  }
  return ElementType::kOther;
}

ov::element::Type OpenVinoType(ElementType type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& known) { return known.second == type; })->first;
}

}  // namespace onnx_philox
