// Draws for programs without a session: see onnx_philox.h. No exception leaves a function of this file.
#if defined(_WIN32)
#define ONNX_PHILOX_API __declspec(dllexport)
#else
#define ONNX_PHILOX_API __attribute__((visibility("default")))
#endif
#include "onnx_philox.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

#include "../onnxruntime/cuda_part.h"
#include "checks.h"
#include "memory.h"
#include "text.h"
#include "torch_part.h"

using namespace onnx_philox;

struct onnx_philox_prepared {
  const Kernels& kernels;
  Draw draw;  ///< its state holds the seeds
};

static_assert(ONNX_PHILOX_TORCH_STATE_WORDS == kTorchStateWords, "the header names torch's");

namespace {

void ThrowIf(const std::string& error) {
  if (!error.empty()) throw std::invalid_argument(error);
}

[[noreturn]] void Refuse(const char* owner, const std::string& what, const std::string& given, const std::string& allowed,
                         const std::string& remedy) {
  throw std::invalid_argument(Refusal(owner, what, given, allowed, remedy));
}

/// Calls a function; turns what it throws into a status and a text.
template <class Function>
int Answer(char* error, std::size_t size, Function function) noexcept {
  const auto say = [=](const char* text, int status) {
    if (error != nullptr && size > 0) {
      const std::size_t length = std::min(std::strlen(text), size - 1);
      std::memcpy(error, text, length);
      error[length] = '\0';
    }
    return status;
  };
  try {
    function();
    return ONNX_PHILOX_OK;
  } catch (const std::invalid_argument& refused) {
    return say(refused.what(), ONNX_PHILOX_INVALID);
  } catch (const std::bad_alloc&) {
    return say("onnx_philox: memory is used up", ONNX_PHILOX_NO_MEMORY);
  } catch (const std::exception& other) {
    return say(other.what(), ONNX_PHILOX_UNAVAILABLE);
  }
}

const Kernels& KernelsOrThrow() {
  const Selection& selection = ActiveKernels();
  if (selection.kernels == nullptr) throw std::runtime_error(selection.error);
  return *selection.kernels;
}

bool IsAligned(const void* words) { return reinterpret_cast<std::uintptr_t>(words) % alignof(std::uint32_t) == 0; }

const char* Text(const char* text) { return text == nullptr ? "" : text; }

/// Refuses more of them than an operator has, before they are read.
void CheckCount(const Operator& op, const char* what, std::size_t count, int most) {
  if (count <= static_cast<std::size_t>(most)) return;
  Refuse(op.name, what, std::to_string(count), "at most " + std::to_string(most), "Leave out those that it does not have.");
}

/// A call, checked as far as its inputs are given.
struct Node {
  const Operator& op;
  Attributes attributes;
  Arguments arguments;
  Known known[kMaxInputs];
};

/// Refuses an array that is said to have elements, but is nowhere.
void CheckArray(const char* owner, const char* name, const void* array, std::size_t count) {
  if (array != nullptr || count == 0) return;
  Refuse(owner, name, std::to_string(count) + " of them at NULL", "an array of as many as its count",
         "Point to the array, or set the count to 0.");
}

const Operator& OperatorOf(const onnx_philox_call* call) {
  if (call == nullptr) Refuse("onnx_philox_call", "the call", "NULL", "an onnx_philox_call", "Point to one.");
  if (call->version != ONNX_PHILOX_API_VERSION) {
    Refuse("onnx_philox_call", "version", std::to_string(call->version), std::to_string(ONNX_PHILOX_API_VERSION),
           "Set it to ONNX_PHILOX_API_VERSION, and take header and library of one release.");
  }
  if ((call->flags & ~std::uint32_t{ONNX_PHILOX_NUMBERS_ARE_CHECKED}) != 0) {
    Refuse("onnx_philox_call", "flags", std::to_string(call->flags), "0 or ONNX_PHILOX_NUMBERS_ARE_CHECKED",
           "A later release may have more: take its library.");
  }
  CheckArray("onnx_philox_call", "attributes", call->attributes, call->attribute_count);
  CheckArray("onnx_philox_call", "inputs", call->inputs, call->input_count);
  CheckArray("onnx_philox_call", "outputs", call->outputs, call->output_count);
  for (const Operator* op : kAllOperators) {
    if (std::strcmp(Text(call->op_type), op->name) == 0) return *op;
  }
  Refuse("onnx_philox_call", "op_type", ShowText(Text(call->op_type)), "an operator of the domain onnx_philox",
         "onnx_philox_operator(0) and so on are their names.");
}

Attributes AttributesOf(const Operator& op, const onnx_philox_call& call) {
  CheckCount(op, "the attributes", call.attribute_count, op.attributes);
  GivenAttributes given;
  for (std::size_t a = 0; a < call.attribute_count; ++a) {
    const onnx_philox_attribute& one = call.attributes[a];
    int i = 0;
    while (i < op.attributes && std::strcmp(Text(one.name), op.attribute[i].name) != 0) ++i;
    for (std::size_t b = 0; b < a; ++b) {
      if (std::strcmp(Text(one.name), Text(call.attributes[b].name)) != 0) continue;
      Refuse(op.name, AttributeText(Text(one.name)), "two of them", "given once", "Leave one out, or name the other.");
    }
    if (i == op.attributes) ThrowIf(UnknownAttribute(op, Text(one.name)));
    given[op.attribute[i].role] = one.text == nullptr ? GivenAttribute::Integer(one.integer) : GivenAttribute::Text(one.text);
  }
  Attributes attributes;
  ThrowIf(CheckAttributes(op, given, &attributes));
  return attributes;
}

ElementType TypeOf(const Operator& op, const onnx_philox_input& input) {
  for (int i = 1; i < static_cast<int>(ElementType::kOther); ++i) {
    const ElementType type = static_cast<ElementType>(i);
    if (std::strcmp(Text(input.type), ElementTypeName(type)) == 0) return type;
  }
  Refuse(op.name, InputText(input.name), "type " + ShowText(Text(input.type)), "of a type by its name",
         "Name it \"f32\", \"i64\" and so on.");
}

/// What an input says; all of it is known.
Known KnownOf(const Operator& op, const onnx_philox_input& input) {
  if (input.rank > static_cast<std::size_t>(kMaxRank)) {
    Refuse(op.name, InputText(input.name), Worded(say::kDimensions, {std::to_string(input.rank)}), kRankRule,
           say::kMergeDimensions);
  }
  if (input.rank > 0 && input.shape == nullptr) {
    Refuse(op.name, InputText(input.name), "no shape", "given with its shape", "Point to its dimensions.");
  }
  const int rank = static_cast<int>(input.rank);
  bool is_empty = false;
  for (int i = 0; i < rank; ++i) {
    is_empty = is_empty || input.shape[i] == 0;
    if (input.shape[i] >= 0) continue;
    Refuse(op.name, InputText(input.name), ShowDimensions(input.shape, rank), say::kNotNegative, say::kGiveTheSize);
  }
  // No array is as large, and the number of its elements must not wrap around.
  std::int64_t room = is_empty ? 0 : std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(double));
  for (int i = 0; i < rank && !is_empty; ++i) {
    room /= input.shape[i];
    if (room > 0) continue;
    Refuse(op.name, InputText(input.name), ShowDimensions(input.shape, rank), "of fewer than 2^60 elements", say::kGiveTheSize);
  }
  if (!is_empty && input.data == nullptr) {
    Refuse(op.name, InputText(input.name), "no data", "given with its data", "Point to its first element.");
  }
  return Known{TypeOf(op, input), rank, input.shape, is_empty ? nullptr : input.data};
}

/// Whether a prepared draw has the input. A permutation's shape says how long its rows are.
bool IsPrepared(const Operator& op, const InputDeclaration& input) {
  return input.is_parameter() || (op.draws_rows && input.role == Role::kShape);
}

/// Checks a call. A prepared one has no state, and a shape only if rows are drawn.
Node NodeOf(const onnx_philox_call* call, bool is_prepared) {
  const Operator& op = OperatorOf(call);
  Node node{op, AttributesOf(op, *call), {}, {}};
  CheckCount(op, "the inputs", call->input_count, op.inputs);
  bool is_given[kMaxInputs] = {};
  for (std::size_t i = 0; i < call->input_count; ++i) {
    const onnx_philox_input& input = call->inputs[i];
    int index = 0;
    while (index < op.inputs && std::strcmp(Text(input.name), op.input[index].name) != 0) ++index;
    if (index == op.inputs || (is_prepared && !IsPrepared(op, op.input[index]))) {
      Refuse(op.name, "the inputs", ShowText(Text(input.name)),
             is_prepared ? "the numbers of a prepared draw, without shape and state" : Worded(say::kOneOf, {op.input_names}),
             is_prepared ? "onnx_philox_fill gives it a state and its size." : "Name an input of it.");
    }
    if (is_given[index]) {
      Refuse(op.name, InputText(input.name), "two of them", "given once", "Leave one out, or name the other.");
    }
    node.known[index] = KnownOf(op, input);
    is_given[index] = true;
    if (index == op.type_input()) TakeOutputType(op, node.known[index].type, &node.attributes);
  }
  const ManyNumbers many = call->flags & ONNX_PHILOX_NUMBERS_ARE_CHECKED ? ManyNumbers::kTrust : ManyNumbers::kCheck;
  for (int i = 0; i < op.inputs; ++i) {
    const Known& known = node.known[i];
    if (is_given[i]) {
      if (op.input[i].role == Role::kState && !IsAligned(known.data)) {
        Refuse(op.name, InputText(op.input[i].name), "memory that is not", "at a multiple of 4 bytes", "Copy it there.");
      }
      ThrowIf(CheckInput(op, i, known, node.attributes, &node.arguments, nullptr, many));
    } else if (!is_prepared || IsPrepared(op, op.input[i])) {
      ThrowIf(CheckLeftOut(op, i, node.attributes));
    }
  }
  ThrowIf(CheckTogether(op, node.attributes, node.arguments));
  return node;
}

/// How many bytes an input has, of a type that it may have.
std::uint64_t BytesOf(const Known& known) { return ElementSize(NumberType(known.type)) * CountOf(known); }

/// The memory of an output, of so many bytes; null: nobody wants it. The outputs before it are checked.
void* MemoryOf(const Node& node, const onnx_philox_call& call, int index, std::uint64_t bytes) {
  const Operator& op = node.op;
  if (static_cast<std::size_t>(index) >= call.output_count) return nullptr;
  const onnx_philox_output& output = call.outputs[index];
  if (output.data == nullptr) return nullptr;
  const bool is_state = index == op.state_output();
  const auto what = [&] { return OutputText(op.output[index].name); };  // only a refusal says it
  if (output.bytes != bytes) {
    Refuse(op.name, what(), ShowBytes(output.bytes) + " bytes", ShowBytes(bytes) + " bytes", "Give it memory of its size.");
  }
  if (is_state && !IsAligned(output.data)) {
    Refuse(op.name, what(), "memory that is not", "at a multiple of 4 bytes", "Move it there.");
  }
  for (int i = 0; i < index; ++i) {
    if (!Written{call.outputs[i].data, call.outputs[i].bytes}.Overlaps({output.data, bytes})) continue;
    Refuse(op.name, what(), std::string("memory of ") + OutputText(op.output[i].name), "in memory of its own", "Draw elsewhere.");
  }
  for (int i = 0; i < op.inputs; ++i) {
    const Known& known = node.known[i];
    const bool is_in_place = is_state && op.input[i].role == Role::kState && known.data == output.data;
    if (is_in_place || !Written{known.data, BytesOf(known)}.Overlaps({output.data, bytes})) continue;
    Refuse(op.name, what(), std::string("memory of ") + InputText(op.input[i].name), "in memory of its own", "Draw elsewhere.");
  }
  return output.data;
}

void Run(const onnx_philox_call* call) {
  const Node node = NodeOf(call, false);
  const Operator& op = node.op;
  const Arguments& arguments = node.arguments;
  CheckCount(op, "the outputs", call->output_count, op.outputs);
  const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);
  const std::uint64_t words = static_cast<std::uint64_t>(arguments.states * node.attributes.state_words());
  void* const values = MemoryOf(node, *call, 0, static_cast<std::uint64_t>(arguments.dimensions.bytes));
  void* const mask = op.has_mask() ? MemoryOf(node, *call, 1, elements) : nullptr;
  auto* const next = static_cast<std::uint32_t*>(MemoryOf(node, *call, op.state_output(), words * sizeof(std::uint32_t)));
  const Kernels& kernels = KernelsOrThrow();
  const Draw draw = DrawOf(op, node.attributes, arguments, values, mask);
  if (node.attributes.is_pytorch) return DrawTorch(kernels, node.attributes, arguments, draw, next);
  if (elements > 0 && (values != nullptr || mask != nullptr)) Fill(kernels, draw, 0, elements);
  if (next != nullptr) WriteNextState(draw, arguments, next);
}

/// Whether so many elements are whole rows.
bool AreRows(std::uint64_t elements, std::uint64_t row) { return elements == 0 || (row > 0 && elements % row == 0); }

onnx_philox_prepared* Prepare(const onnx_philox_call* call) {
  const Node node = NodeOf(call, true);
  if (call->output_count > 0) {
    Refuse("onnx_philox_prepare", "the outputs", std::to_string(call->output_count), "none",
           "A prepared draw gets its memory by onnx_philox_fill.");
  }
  const Draw draw = DrawOf(node.op, node.attributes, node.arguments, nullptr);
  bool is_plain = IndexOf(node.op, Role::kShape) >= 0 && !node.attributes.is_pytorch;
  for (const Argument& argument : draw.given) is_plain = is_plain && !argument.each();
  if (!is_plain) {
    Refuse("onnx_philox_prepare", "the call", node.op.name,
           "of an operator with an input shape, its numbers single ones, its alignment 'tensorflow'",
           "Call onnx_philox_run.");
  }
  return new onnx_philox_prepared{KernelsOrThrow(), draw};
}

}  // namespace

extern "C" {

int onnx_philox_run(const onnx_philox_call* call, char* error, std::size_t error_size) {
  return Answer(error, error_size, [call] { Run(call); });
}

int onnx_philox_prepare(const onnx_philox_call* call, onnx_philox_prepared** prepared, char* error, std::size_t error_size) {
  return Answer(error, error_size, [=] {
    if (prepared == nullptr) {
      Refuse("onnx_philox_prepare", "prepared", "NULL", "a place for the draw", "Point to an onnx_philox_prepared*.");
    }
    *prepared = Prepare(call);
  });
}

int onnx_philox_fill(const onnx_philox_prepared* prepared, const onnx_philox_part* part, void* out, std::uint32_t* next_state) {
  if (prepared == nullptr || part == nullptr) return ONNX_PHILOX_INVALID;
  onnx_philox_part copy;  // the next state may lie there, and a binding may have it anywhere
  std::memcpy(&copy, part, sizeof(copy));
  Draw draw = prepared->draw;
  if (copy.bytes % ElementSize(draw.type) != 0 || (copy.bytes > 0 && out == nullptr)) return ONNX_PHILOX_INVALID;
  if (Written{out, copy.bytes}.Overlaps({next_state, sizeof(copy.state)})) return ONNX_PHILOX_INVALID;
  const State before = StateFromWords(copy.state);
  draw.state = Derive(before, static_cast<std::int64_t>(draw.state.key), static_cast<std::int64_t>(draw.state.counter.high));
  draw.out = out;
  const std::uint64_t elements = copy.bytes / ElementSize(draw.type);
  if (draw.distribution == Distribution::kPermutation && !AreRows(elements, draw.samples)) return ONNX_PHILOX_INVALID;
  if (elements > 0) Fill(prepared->kernels, draw, 0, elements);
  if (next_state == nullptr) return ONNX_PHILOX_OK;
  StateToWords(NextState(draw, before, elements), copy.state);
  std::memcpy(next_state, copy.state, sizeof(copy.state));
  return ONNX_PHILOX_OK;
}

void onnx_philox_release(onnx_philox_prepared* prepared) { delete prepared; }

const char* onnx_philox_operator(std::size_t index) {
  return index < std::size(kAllOperators) ? kAllOperators[index]->name : nullptr;
}

int onnx_philox_torch_states(const std::uint64_t* seeds, std::size_t count, std::uint32_t* states, char* error,
                             std::size_t error_size) {
  return Answer(error, error_size, [=] {
    CheckArray("onnx_philox_torch_states", "seeds", seeds, count);
    CheckArray("onnx_philox_torch_states", "states", states, count);
    if (!kHasTorchPart) {
      Refuse("onnx_philox_torch_states", "the library", "one without them", "one with torch's numbers", kAddTorchPart);
    }
    for (std::size_t i = 0; i < count; ++i) SeedTorchState(seeds[i], states + i * kTorchStateWords);
  });
}

const char* onnx_philox_isa_here(std::size_t index) {
  for (int i = 0; const Kernels* const kernels = KernelsAt(i); ++i) {
    if (kernels->available() && index-- == 0) return kernels->name;
  }
  return nullptr;
}

const char* onnx_philox_isa(char* error, std::size_t error_size) {
  const char* name = nullptr;
  Answer(error, error_size, [&name] { name = KernelsOrThrow().name; });
  return name;
}

int onnx_philox_cuda(char* error, std::size_t error_size) {
  return Answer(error, error_size, [] {
    const cuda::Found& found = cuda::FindDriver();
    if (found.driver == nullptr) throw std::runtime_error(found.reason);
  });
}

int onnx_philox_memory(const char* root, std::uint64_t* numbers, char* error, std::size_t error_size) {
  return Answer(error, error_size, [=] {
    if (numbers == nullptr) {
      Refuse("onnx_philox_memory", "numbers", "NULL", "a place for three numbers", "Point to an array of three uint64_t.");
    }
    const Memory memory = FindMemory(Text(root));
    const std::uint64_t found[] = {memory.free, memory.address, memory.held};
    std::memcpy(numbers, found, sizeof(found));
  });
}

}  // extern "C"
