// libFuzzer: calls of the C interface made of bytes. What is refused has written nothing, and says why in a sentence of four
// parts; what is drawn is drawn again, and in parts, with the same bits.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../onnx_philox.h"
#include "../../core/tests/fuzz/bytes.h"
#include "operators.h"

namespace {

using namespace onnx_philox;

constexpr std::size_t kMost = std::size_t{1} << 16;  // bytes of an output that is drawn

/// A call and all that it points to.
struct Given {
  onnx_philox_call call{};
  std::vector<onnx_philox_input> inputs;
  std::vector<onnx_philox_attribute> attributes;
  std::vector<onnx_philox_output> outputs;
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::vector<std::uint64_t>> data, memory;  // at multiples of 8
  std::vector<std::string> texts;
};

/// One of the operator's names, or any text.
const char* NameOf(Bytes* bytes, const std::vector<const char*>& names, Given* given) {
  const std::size_t which = bytes->Byte() % (names.size() + 1);
  if (which < names.size()) return names[which];
  given->texts.push_back(bytes->Text());
  return given->texts.back().c_str();
}

std::size_t SizeOf(const char* type) {
  for (int i = 0; i < kOutputTypes; ++i) {
    if (std::strcmp(type, ElementTypeName(ElementTypeOf(static_cast<OutputType>(i)))) == 0) return ElementSize(static_cast<OutputType>(i));
  }
  return 8;
}

void AddInput(Bytes* bytes, const InputDeclaration& declared, Given* given) {
  static const std::vector<const char*> kTypes = {"u32", "i32", "i64", "f16", "bf16", "f32", "f64", "bool"};
  onnx_philox_input input{};
  input.name = bytes->Byte() % 16 == 0 ? NameOf(bytes, {"shape", "state", "p", "logits", ""}, given) : declared.name;
  const bool is_state = declared.role == Role::kState, is_shape = declared.role == Role::kShape;
  const char* const usual = is_state ? "u32" : is_shape ? "i64" : "f32";
  input.type = bytes->Byte() % 3 != 0 ? usual : NameOf(bytes, kTypes, given);
  std::vector<std::int64_t> shape(bytes->Byte() % 8 == 0 ? bytes->Byte() % 12 : is_shape ? 1 : bytes->Byte() % 3);
  for (std::int64_t& size : shape) size = bytes->Byte() % 32 == 0 ? bytes->Integer() : bytes->Byte() % 6;
  if (is_state && bytes->Byte() % 8 != 0) {
    shape.assign(1 + bytes->Byte() % 2, bytes->Byte() % 6);
    shape.back() = bytes->Byte() % 16 == 0 ? 632 : 6;
  }
  std::uint64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || static_cast<std::uint64_t>(size) > kMost) elements = 0;  // refused, or nowhere
    elements *= static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    if (elements > kMost) elements = 0;
  }
  given->data.emplace_back(static_cast<std::size_t>(elements) * SizeOf(input.type) / 8 + 1);
  std::vector<std::uint64_t>& data = given->data.back();
  bytes->Fill(data.data(), data.size() * 8);
  if (is_shape && std::strcmp(input.type, "i64") == 0 && bytes->Byte() % 8 != 0) {
    for (std::uint64_t& size : data) size %= 7;  // small enough to be drawn
  }
  given->shapes.push_back(shape);
  input.rank = shape.size();
  input.shape = given->shapes.back().data();
  double said = 1;
  bool is_negative = false;
  for (const std::int64_t size : shape) {
    said *= static_cast<double>(size);
    is_negative = is_negative || size < 0;
  }
  // An array must be as long as its shape says: C cannot look. One that is larger than any memory is refused.
  const bool is_there = is_negative || shape.size() > 8 || said <= static_cast<double>(elements) || said >= 0x1p61;
  input.data = is_there ? data.data() : nullptr;
  given->inputs.push_back(input);
}

[[noreturn]] void Fail(const char* what, const char* said) {
  std::fprintf(stderr, "FAILED: %s: %s\n", what, said);
  std::abort();
}

void Make(Bytes* bytes, const Operator& op, Given* given) {
  given->texts.reserve(64);  // others point there
  given->shapes.reserve(16);
  given->data.reserve(16);
  for (int i = 0; i < op.inputs; ++i) {
    if (bytes->Byte() % 8 != 0) AddInput(bytes, op.input[i], given);
  }
  for (int i = 0; i < op.attributes; ++i) {
    if (bytes->Byte() % 2 == 0) continue;
    static const std::vector<const char*> kTexts = {"f32", "f16", "bf16", "f64", "i32", "i64", "pytorch", "tensorflow",
                                                    "philox4x32_10"};
    onnx_philox_attribute attribute{op.attribute[i].name, nullptr, 0};
    if (bytes->Byte() % 16 == 0) attribute.name = NameOf(bytes, {"seed"}, given);
    if (bytes->Byte() % 2 == 0) attribute.text = NameOf(bytes, kTexts, given);
    attribute.integer = bytes->Byte() % 4 == 0 ? bytes->Integer() : bytes->Byte() % 4;
    given->attributes.push_back(attribute);
  }
  given->call = {ONNX_PHILOX_API_VERSION, 0, op.name, nullptr, given->inputs.size(), nullptr, given->attributes.size(), nullptr, 0};
  given->call.inputs = given->inputs.data();
  given->call.attributes = given->attributes.data();
  if (bytes->Byte() == 77) given->call.version = bytes->Byte();
  if (bytes->Byte() == 77) given->call.op_type = NameOf(bytes, {nullptr, ""}, given);
}

/// The sizes of its outputs, found as a program would that does not know them: the refusal says them.
int Run(const onnx_philox_call& call, std::string* said) {
  char text[4096];
  std::memset(text, '#', sizeof(text));
  const int status = onnx_philox_run(&call, text, sizeof(text));
  said->clear();
  if (status == ONNX_PHILOX_OK) return status;
  if (std::memchr(text, '\0', sizeof(text)) == nullptr) Fail("a text without an end", "");
  *said = text;
  const std::size_t must = said->find(" must be ");
  if (must == std::string::npos || said->find(": got ", must) == std::string::npos) Fail("not four parts", text);
  return status;
}

bool IsUntouched(const Given& given) {
  for (const std::vector<std::uint64_t>& memory : given.memory) {
    for (const std::uint64_t word : memory) {
      if (word != 0x5A5A5A5A5A5A5A5Au) return false;
    }
  }
  return true;
}

void AddOutputs(const Operator& op, const std::vector<std::size_t>& sizes, Given* given) {
  given->outputs.clear();
  given->memory.clear();
  for (int i = 0; i < op.outputs; ++i) {
    const std::size_t bytes = sizes[static_cast<std::size_t>(i)];
    given->memory.emplace_back(bytes / 8 + 2, 0x5A5A5A5A5A5A5A5Au);
    given->outputs.push_back({given->memory.back().data(), bytes});
  }
  given->call.outputs = given->outputs.data();
  given->call.output_count = given->outputs.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Operator& op = *kAllOperators[bytes.Byte() % kOperators];
  Given given;
  Make(&bytes, op, &given);
  std::string said;
  if (Run(given.call, &said) != ONNX_PHILOX_OK) return 0;  // without outputs: the checks alone
  // A wrong size is refused with the right one: "... must be 1,234 bytes: got 7 bytes. ..."
  std::vector<std::size_t> sizes(static_cast<std::size_t>(op.outputs), 7);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    AddOutputs(op, sizes, &given);
    const int status = Run(given.call, &said);
    if (!IsUntouched(given)) Fail("it is refused, and has written", said.c_str());
    if (status == ONNX_PHILOX_OK) return 0;
    std::string number = said.substr(said.find(" must be ") + 9);
    number.erase(std::remove(number.begin(), number.end(), ','), number.end());
    if (said.find(" bytes: got 7 bytes") == std::string::npos) return 0;  // overlapping memory and the like
    sizes[i] = static_cast<std::size_t>(std::strtoull(number.c_str(), nullptr, 10));
    if (sizes[i] > kMost) return 0;
  }
  AddOutputs(op, sizes, &given);
  if (Run(given.call, &said) != ONNX_PHILOX_OK) {
    if (!IsUntouched(given)) Fail("it is refused, and has written", said.c_str());
    return 0;
  }
  const std::vector<std::vector<std::uint64_t>> first = given.memory;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (first[i].back() != 0x5A5A5A5A5A5A5A5Au) Fail("it writes past an output", op.name);
  }
  // Each output alone has the same bits.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    AddOutputs(op, sizes, &given);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (k != i) given.outputs[k].data = nullptr;
    }
    if (Run(given.call, &said) != ONNX_PHILOX_OK) Fail("not drawn alone", said.c_str());
    if (given.memory[i] != first[i]) Fail("other bits where an output is drawn alone", op.name);
  }
  return 0;
}
