// The checks of numbers: see check_parts.h.
#include "check_parts.h"

#include "first_wrong.h"
#include "text.h"
#include "values.h"

namespace onnx_philox {

namespace {

/// The number at `index` of an array of this shape, and where that is if it is one of several.
std::string ShowNumberAt(const Numbers& numbers, const Known& known, std::uint64_t count, std::uint64_t index) {
  std::string shown = ShowNumber(numbers.type, BitsAt(numbers, index));
  if (count == 1) return shown;
  shown += " at [";
  std::uint64_t rest = index, below = count;
  for (int i = 0; i < known.rank; ++i) {
    below /= static_cast<std::uint64_t>(known.dimensions[i]);
    shown += (i > 0 ? ", " : "") + std::to_string(rest / below);
    rest %= below;
  }
  return shown + "]";
}

/// Looks at all of these numbers.
std::string CheckAll(const Operator& op, const InputDeclaration& input, const Known& known, const Numbers& numbers,
                     const ForEach& for_each) {
  const std::uint64_t count = CountOf(known);
  const std::uint64_t wrong = FirstWrong(count, 1, for_each, [&](std::uint64_t begin, std::uint64_t end) {
    const void* const first = static_cast<const unsigned char*>(numbers.data) + begin * ElementSize(numbers.type);
    return begin + FirstOutside(Numbers{numbers.type, first}, end - begin, input.limits);
  });
  if (wrong == count) return std::string();
  return Refusal(op.name, InputText(input.name), ShowNumberAt(numbers, known, count, wrong), input.rule, input.remedy);
}

/// What is known of an input whose numbers the draw looks at; no data of another one.
Known Waiting(const InputDeclaration& input, const Arguments& arguments) {
  const Argument& given = arguments.given[static_cast<int>(input.parameter)];
  if (input.role != Role::kNumbers || given.unchecked == nullptr) return Known{};
  const ShapeSoFar& shape = arguments.numbers[static_cast<int>(input.parameter)];
  return Known{ElementType::kUnknown, shape.rank, shape.dimension, given.data};
}

}  // namespace

std::string CheckNumbers(const Operator& op, const InputDeclaration& input, const Known& known, OutputType type,
                         const ForEach& for_each, ManyNumbers many, Argument* given) {
  if (known.data == nullptr) return std::string();
  const std::uint64_t count = CountOf(known);
  const Numbers numbers{type, known.data};
  const std::string error =
      count > 1 && many != ManyNumbers::kCheck ? std::string() : CheckAll(op, input, known, numbers, for_each);
  if (!error.empty() || count == 0) return error;
  *given = count == 1 ? Argument{type, BitsAt(numbers, 0), nullptr} : Argument{type, 0, known.data};
  if (count > 1 && many == ManyNumbers::kAsDrawn) given->unchecked = &input.limits[static_cast<int>(type)];
  return std::string();
}

std::string CheckUnchecked(const Operator& op, const Arguments& arguments, const ForEach& for_each) {
  for (int i = 0; i < op.inputs; ++i) {
    const InputDeclaration& input = op.input[i];
    const Known known = Waiting(input, arguments);
    if (known.data == nullptr) continue;
    const Numbers numbers = arguments.given[static_cast<int>(input.parameter)].numbers();
    const std::string error = CheckAll(op, input, known, numbers, for_each);
    if (!error.empty()) return error;
  }
  return std::string();
}

std::string CheckOverwritten(const Operator& op, const Written& values, Arguments* arguments, const ForEach& for_each) {
  for (int i = 0; i < op.inputs; ++i) {
    const Known known = Waiting(op.input[i], *arguments);
    Argument* const given = &arguments->given[static_cast<int>(op.input[i].parameter)];
    const Written numbers{known.data, known.data == nullptr ? 0 : CountOf(known) * ElementSize(given->type)};
    if (!numbers.Overlaps(values)) continue;
    const std::string error = CheckUnchecked(op, *arguments, for_each);
    if (!error.empty()) return error;
    given->unchecked = nullptr;
  }
  return std::string();
}

}  // namespace onnx_philox
