// libFuzzer: nodes whose attributes, types, shapes and values are made of bytes, as a plugin learns of them: first a part,
// then all. What is accepted in the end was accepted before, and every instruction set draws it with the same bits.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bytes.h"
#include "checks.h"
#include "memory_checks.h"
#include "text.h"
#include "torch_part.h"
#include "values.h"

namespace {

using namespace onnx_philox;

constexpr std::int64_t kMost = 4096;  // elements that are drawn

[[noreturn]] void Fail(const char* what, const std::string& said) {
  std::fprintf(stderr, "FAILED: %s: %s\n", what, said.c_str());
  std::abort();
}

/// An error has four parts, in UTF-8 and on one line.
bool IsRefused(const std::string& error) {
  if (error.empty()) return false;
  const std::size_t must = error.find(" must be ");
  if (must == std::string::npos || error.find(": got ", must) == std::string::npos || error.back() != '.') {
    Fail("not four parts", error);
  }
  if (error.find('\n') != std::string::npos || error.find('\0') != std::string::npos) Fail("not one line", error);
  return true;
}

GivenAttribute Attribute(Bytes* bytes, const AttributeDeclaration& declared) {
  switch (bytes->Byte() % 8) {
    case 0:
      return GivenAttribute();
    case 1:
      return GivenAttribute::Float(static_cast<double>(bytes->Integer()) * 0x1p-32);
    case 2:
      return GivenAttribute::Other(ShowText(bytes->Text()));
    case 3:
      return GivenAttribute::Text(bytes->Text());
    case 4:
      return GivenAttribute::Integer(bytes->Integer());
    default:
      if (declared.is_text()) {
        return GivenAttribute::Text(declared.text[bytes->Byte() % static_cast<unsigned>(declared.texts)]);
      }
      return GivenAttribute::Integer(bytes->Byte() % 5);
  }
}

/// What is known of an input in the end, and memory for it.
struct Input {
  bool is_given = false;
  Known known;
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> data;
};

void Make(Bytes* bytes, const Operator& op, const Attributes& attributes, int index, Input* input) {
  const InputDeclaration& declared = op.input[index];
  input->is_given = !declared.optional || bytes->Byte() % 4 != 0;
  if (!input->is_given) return;
  const ElementTypes types = TypesOf(declared, attributes.output);
  const unsigned choice = bytes->Byte();
  ElementType type = types.count > 0 ? types.type[choice / 8 % static_cast<unsigned>(types.count)] : ElementType::kF32;
  if (choice % 8 == 0) type = static_cast<ElementType>(1 + bytes->Byte() % static_cast<unsigned>(ElementType::kOther));
  std::vector<std::int64_t>& shape = input->shape;
  shape.resize(bytes->Byte() % 8 == 0 ? bytes->Byte() % 12 : bytes->Byte() % 3);
  for (std::int64_t& size : shape) size = bytes->Byte() % 32 == 0 ? bytes->Integer() & INT64_MAX : bytes->Byte() % 7;
  if (declared.role == Role::kShape && bytes->Byte() % 8 != 0) shape.assign(1, bytes->Byte() % 4);
  if (declared.role == Role::kState && bytes->Byte() % 8 != 0) {
    shape.resize(1 + shape.size() % 2, 1);
    shape.back() = attributes.state_words();
  }
  std::uint64_t elements = 1;
  for (const std::int64_t size : shape) {
    elements = elements > kMost || size > kMost ? kMost + 1 : elements * static_cast<std::uint64_t>(size);
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) elements = 0;
  input->known.type = type;
  input->known.rank = static_cast<int>(shape.size());
  input->known.dimensions = shape.data();
  if (elements == 0 || elements > kMost || type >= ElementType::kString) return;
  input->data.resize(elements);
  bytes->Fill(input->data.data(), elements * 8);
  if (declared.role == Role::kShape && bytes->Byte() % 8 != 0) {
    std::memset(input->data.data(), 0, elements * 8);
    unsigned char* const sizes = reinterpret_cast<unsigned char*>(input->data.data());
    const std::size_t width = type == ElementType::kI64 ? 8 : 4;
    for (std::size_t i = 0; i < elements; ++i) sizes[i * width] = static_cast<unsigned char>(bytes->Byte() % 12);
  }
  input->known.data = input->data.data();
}

/// Checks all inputs, of which bit 3 * i + 0, 1 or 2 of `hidden` hides the value, the dimensions or the rank.
std::string Check(const Operator& op, const Attributes& attributes, const std::vector<Input>& inputs, std::uint64_t hidden,
                  Arguments* arguments) {
  std::vector<std::int64_t> unknown(16, kUnknownDimension);
  for (int i = 0; i < op.inputs; ++i) {
    const Input& input = inputs[static_cast<std::size_t>(i)];
    Known known = input.known;
    const std::uint64_t bits = hidden >> 3 * i & 7;
    if (bits != 0) known.data = nullptr;
    if ((bits & 2) != 0) known.dimensions = unknown.data();
    if ((bits & 4) != 0) known.rank = Known::kUnknownRank;
    std::string error = input.is_given ? CheckInput(op, i, known, attributes, arguments) : CheckLeftOut(op, i, attributes);
    if (!error.empty()) return error;
  }
  return CheckTogether(op, attributes, *arguments);
}

void DrawOnEverySet(const Operator& op, const Attributes& attributes, const Arguments& arguments) {
  const std::size_t elements = static_cast<std::size_t>(arguments.dimensions.elements);
  std::vector<unsigned char> first, first_mask;
  std::vector<std::uint32_t> first_next;
  for (int i = 0; const Kernels* kernels = KernelsAt(i); ++i) {
    if (!kernels->available()) continue;
    std::vector<unsigned char> values(static_cast<std::size_t>(arguments.dimensions.bytes), 0xA5), mask(elements, 0xA5);
    std::vector<std::uint32_t> next(
        static_cast<std::size_t>(arguments.states) * static_cast<std::size_t>(attributes.state_words()));
    const Draw draw = DrawOf(op, attributes, arguments, values.data(), op.has_mask() ? mask.data() : nullptr);
    if (attributes.is_pytorch) {
      DrawTorch(*kernels, attributes, arguments, draw, next.data());
    } else {
      if (elements > 0 && !Fill(*kernels, draw, 0, elements)) Fail("numbers outside of limits that were checked", op.name);
      WriteNextState(draw, arguments, next.data());
    }
    if (first_next.empty() && first.empty()) first = values, first_mask = mask, first_next = next;
    if (values != first || mask != first_mask || next != first_next) Fail("other bits", std::string(op.name) + " " + kernels->name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Operator& op = *kAllOperators[bytes.Byte() % kOperators];
  GivenAttributes given;
  for (int i = 0; i < op.attributes; ++i) given[op.attribute[i].role] = Attribute(&bytes, op.attribute[i]);
  if (bytes.Byte() == 77) given.unknown = bytes.Text();
  Attributes attributes;
  if (IsRefused(CheckAttributes(op, given, &attributes))) return 0;
  const std::uint64_t hidden = static_cast<std::uint64_t>(bytes.Integer());
  std::vector<Input> inputs(static_cast<std::size_t>(op.inputs));
  for (int i = 0; i < op.inputs; ++i) {
    Make(&bytes, op, attributes, i, &inputs[static_cast<std::size_t>(i)]);
    if (i == op.type_input()) TakeOutputType(op, inputs[static_cast<std::size_t>(i)].known.type, &attributes);
  }
  Arguments partly, arguments;
  const std::string early = Check(op, attributes, inputs, hidden, &partly);
  const std::string error = Check(op, attributes, inputs, 0, &arguments);
  if (IsRefused(early) && error.empty()) Fail("refused at load, and right at run", early);
  if (IsRefused(error)) return 0;
  for (const Input& input : inputs) {
    if (input.is_given && input.known.data == nullptr && std::count(input.shape.begin(), input.shape.end(), 0) == 0) return 0;
  }
  if (!arguments.has_dimensions || arguments.dimensions.elements > kMost || arguments.states > kMost) return 0;
  DrawOnEverySet(op, attributes, arguments);
  return 0;
}
