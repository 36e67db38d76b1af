// The checks of states: see check_parts.h.
#include "check_parts.h"

#include <cstring>

#include "text.h"

namespace onnx_philox {

namespace {

/// Whether a shape is, or may be, that of one state of so many words, or of one for each row.
bool IsStateShape(const Known& known, int words) {
  if (known.rank < 1 || known.rank > kMaxRank) return false;
  for (int i = known.rank == 2 ? 1 : 0; i < known.rank; ++i) {
    const std::int64_t wanted = i == known.rank - 1 ? words : 1;
    if (known.dimensions[i] != wanted && known.dimensions[i] != Known::kUnknownDimension) return false;
  }
  return true;
}

bool HasAlignment(const Operator& op) {
  for (int i = 0; i < op.attributes; ++i) {
    if (op.attribute[i].role == AttributeRole::kAlignment) return true;
  }
  return false;
}

/// Refuses words that no generator of torch's holds.
std::string CheckTorchStates(const Operator& op, const std::uint32_t* all_words, std::int64_t states) {
  constexpr int kLeft = 2, kSeeded = 3, kNext = 4, kNormal = 629, kIsCached = 631;
  constexpr std::uint64_t kBlock = 624;
  const auto refused = [&op](const char* part, const std::string& given, const std::string& allowed) {
    return Refusal(op.name, Worded(say::kStatePart, {part}), given, allowed, say::kTakeStateAgain);
  };
  for (std::int64_t row = 0; row < states; ++row) {
    std::uint32_t words[kTorchStateWords];  // they may lie anywhere
    std::memcpy(words, all_words + row * kTorchStateWords, sizeof(words));
    const std::string place = states > 1 ? " in row " + std::to_string(row) : std::string();
    const std::uint64_t left = words[kLeft], next = words[kNext];
    if (next > kBlock) return refused("next", std::to_string(next) + place, say::kNextWord);
    // With one word left, the block is spent: the next draw makes a new one.
    if (left != 1 && left + next != kBlock + 1) {
      return refused("left", std::to_string(left) + place, Worded(say::kWordsLeft, {std::to_string(next)}));
    }
    if (words[kSeeded] != 1) return refused("seeded", std::to_string(words[kSeeded]) + place, say::kOne);
    if (words[kIsCached] > 1) return refused("is_cached", std::to_string(words[kIsCached]) + place, say::kZeroOrOne);
    const std::uint64_t normal = Join(words[kNormal], words[kNormal + 1]);
    constexpr std::uint64_t kInfinity = 0x7FF0000000000000u;
    if (words[kIsCached] != 0 && (normal & kInfinity) == kInfinity) {
      return refused("cached normal", ShowNumber(OutputType::kF64, normal) + place, say::kFinite);
    }
  }
  return std::string();
}

/// The error about a state of another shape.
std::string WrongStateShape(const Operator& op, const InputDeclaration& input, const Known& known, bool is_pytorch) {
  const std::int64_t last = known.rank > 0 ? known.dimensions[known.rank - 1] : Known::kUnknownDimension;
  const char* remedy = say::kPassAState;
  if (is_pytorch) {
    remedy = last == kStateWords ? say::kNotAPhiloxState : say::kPassATorchState;
  } else if (last == kTorchStateWords && HasAlignment(op)) {
    remedy = say::kNotATorchState;
  }
  return Refusal(op.name, InputText(input.name), ShapeOf(known), is_pytorch ? kTorchStateShapeRule : kStateShapeRule,
                 remedy);
}

}  // namespace

std::string CheckState(const Operator& op, const InputDeclaration& input, const Known& known,
                       const Attributes& attributes, Arguments* arguments) {
  arguments->has_state = true;
  arguments->words_of_state = attributes.state_words();
  if (known.rank != Known::kUnknownRank && !IsStateShape(known, attributes.state_words())) {
    return WrongStateShape(op, input, known, attributes.is_pytorch);
  }
  arguments->states = known.rank == 2 ? known.dimensions[0] : known.rank == Known::kUnknownRank ? Known::kUnknownDimension : 1;
  if (known.data == nullptr) return std::string();
  if (arguments->states != 1 || attributes.is_pytorch) {
    arguments->state_words = static_cast<const std::uint32_t*>(known.data);
    return attributes.is_pytorch ? CheckTorchStates(op, arguments->state_words, arguments->states) : std::string();
  }
  std::uint32_t words[kStateWords];
  std::memcpy(words, known.data, sizeof(words));
  arguments->state = StateFromWords(words);
  return std::string();
}

std::string CheckRowsOfStates(const Operator& op, const InputDeclaration& input, const Arguments& arguments) {
  const std::int64_t states = arguments.states;
  const ShapeSoFar& output = arguments.output;
  if (states == 1 || states == Known::kUnknownDimension || output.rank == Known::kUnknownRank) return std::string();
  const bool is_one_row = op.draws_rows && output.rank == 1;
  const std::int64_t rows = output.rank == 0 || is_one_row ? 1 : output.dimension[0];
  if (output.rank > 0 && !is_one_row && (rows == states || rows == Known::kUnknownDimension)) return std::string();
  const std::int64_t shape[] = {states, arguments.words_of_state};
  const std::string what = output.rank == 0 ? "a scalar" : std::to_string(rows) + (rows == 1 ? " row" : " rows");
  return Refusal(op.name, InputText(input.name),
                 Worded(say::kStatesForRows, {std::to_string(states), ShowDimensions(shape, 2, true), what,
                                              ShowDimensions(output.dimension, output.rank, true)}),
                 kStateRowsRule, say::kPassRowStates);
}

std::string CheckAlignment(const Operator& op, const Attributes& attributes, bool has_state) {
  if (!attributes.is_pytorch) return std::string();
  const auto refused = [&op](const char* name, std::int64_t given, const char* allowed, const char* remedy) {
    return Refusal(op.name, AttributeText(name), std::to_string(given), allowed, remedy);
  };
  if (attributes.op_seed != 0) return refused("op_seed", attributes.op_seed, say::kNoOpSeed, say::kSetGlobalSeed);
  if (has_state && attributes.global_seed != 0) {
    return refused("global_seed", attributes.global_seed, say::kNoSeedBesideAState, say::kRemoveOneOfBoth);
  }
  if (op.distribution == Distribution::kCategorical && attributes.replacement != 0 && attributes.sample_size > 1) {
    return refused("sample_size", attributes.sample_size, say::kOneSample, say::kDrawOneSample);
  }
  if (has_state || attributes.global_seed != 0) return std::string();
  return Refusal(op.name, InputText("state"), say::kNothing, say::kConnectedWithoutSeed, say::kNameASeed);
}

}  // namespace onnx_philox
