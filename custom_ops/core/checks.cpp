// The checks of inputs: see checks.h. The Python package's _contract/checks.py makes the same, of the same words.
#include "checks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>

#include "check_parts.h"
#include "first_wrong.h"
#include "text.h"
#include "values.h"

namespace onnx_philox {

namespace {

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

/// More dimensions than an output may have.
std::string CheckRank(const Operator& op, const char* name, std::int64_t rank) {
  if (rank <= kMaxRank) return std::string();
  return Refusal(op.name, InputText(name), Worded(say::kDimensions, {std::to_string(rank)}), kRankRule,
                 say::kMergeDimensions);
}

std::string CheckType(const Operator& op, const InputDeclaration& input, ElementType given, OutputType output) {
  const ElementTypes types = TypesOf(input, output);
  if (given == ElementType::kUnknown || types.Has(given)) return std::string();
  const std::string names = TypeNames(input, output);
  const std::string allowed = input.has_output_type() ? Worded(say::kAsOutputType, {names}) : names;
  return Refusal(op.name, InputText(input.name), ElementTypeName(given), allowed,
                 Worded(say::kCast, {ElementTypeName(types.type[0])}));
}

/// Whether a shape is, or may be, that of a scalar or of one element in 1-D.
bool IsOneElement(const Known& known) {
  if (known.rank != 1) return known.rank == 0;
  return known.dimensions[0] == 1 || known.dimensions[0] == Known::kUnknownDimension;
}

bool CanBeEqual(const ShapeSoFar& a, const ShapeSoFar& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    const bool unknown = a.dimension[i] == Known::kUnknownDimension || b.dimension[i] == Known::kUnknownDimension;
    if (!unknown && a.dimension[i] != b.dimension[i]) return false;
  }
  return true;
}

std::string CheckRows(const Operator& op, const char* name, const Numbers& logits, std::uint64_t rows,
                      std::uint64_t classes, const ForEach& for_each) {
  const std::uint64_t row = FirstWrong(rows, classes, for_each, [&](std::uint64_t begin, std::uint64_t end) {
    while (begin < end && WrongInRow(logits, begin * classes, classes) == kNothing) ++begin;
    return begin;
  });
  if (row == rows) return std::string();
  const std::int64_t wrong = WrongInRow(logits, row * classes, classes);
  const std::string given =
      wrong == kOnlyNegativeInfinity
          ? Worded(say::kInAllOfRow, {std::to_string(row)})
          : Worded(say::kInRow,
                   {ShowNumber(logits.type, BitsAt(logits, row * classes + static_cast<std::uint64_t>(wrong))),
                    std::to_string(row)});
  return Refusal(op.name, InputText(name), given, say::kLogits, say::kCorrectLogits);
}

/// Refuses more samples without replacement than a row has classes that can be drawn.
std::string CheckSamples(const Operator& op, const Numbers& logits, std::uint64_t rows, std::uint64_t classes,
                         const Attributes& attributes, const ForEach& for_each) {
  const std::int64_t samples = attributes.sample_size;
  const double least = attributes.is_pytorch ? kLeastTorchExponent : kLeastExponent;
  const std::uint64_t wanted = static_cast<std::uint64_t>(samples);
  const std::uint64_t row = FirstWrong(rows, classes, for_each, [&](std::uint64_t begin, std::uint64_t end) {
    while (begin < end && ClassesOfWeight(logits, begin * classes, classes, wanted, least) == wanted) ++begin;
    return begin;
  });
  if (row == rows) return std::string();
  const std::string given =
      Worded(say::kSamplesInRow,
             {std::to_string(samples), std::to_string(ClassesOfWeight(logits, row * classes, classes, wanted, least)),
              std::to_string(row)});
  return Refusal(op.name, AttributeText("sample_size"), given, say::kNotMoreThanClasses, say::kDrawFewer);
}

/// Writes the dimensions of an output if all are known and not too large; returns an error if they are.
std::string Complete(const Operator& op, const Attributes& attributes, Arguments* arguments) {
  const ShapeSoFar& shape = arguments->output;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dimension[i] == Known::kUnknownDimension) return std::string();
  }
  if (shape.rank == Known::kUnknownRank) return std::string();
  std::string error = CheckDimensions(op, shape.dimension, shape.rank, attributes.output, &arguments->dimensions);
  arguments->has_dimensions = error.empty();
  return error;
}

/// Refuses permutations of so many integers that torch draws them by another rule.
std::string CheckPermuted(const Operator& op, const InputDeclaration& input, const Dimensions& dimensions) {
  const std::int64_t count = dimensions.rank > 0 ? dimensions.dimension[dimensions.rank - 1] : 0;
  if (op.distribution != Distribution::kPermutation || count < kLargeTorchPermutation) return std::string();
  return Refusal(op.name, InputText(input.name), std::to_string(count),
                 Worded(say::kFewerIntegers, {std::to_string(kLargeTorchPermutation)}), say::kDrawAsTensorflow);
}

/// Writes `dimensions` and sets `*complete` if the value is known and right; a known length of 0 needs no data.
/// CheckMemory checks the memory.
std::string CheckShape(const Operator& op, const InputDeclaration& input, const Known& known, OutputType output,
                       Dimensions* dimensions, bool* complete) {
  *complete = false;
  if (known.rank == Known::kUnknownRank) return std::string();
  if (known.rank != 1) {
    return Refusal(op.name, InputText(input.name), ShapeOf(known), say::kOneD, say::kReshapeTo1D);
  }
  const std::int64_t length = known.dimensions[0];
  std::string error = CheckRank(op, input.name, length);
  if (!error.empty()) return error;
  if (op.draws_rows && length != Known::kUnknownDimension && length != 1 && length != 2) {
    return Refusal(op.name, InputText(input.name), Worded(say::kDimensions, {std::to_string(length)}), say::kRows,
                   say::kPassRows);
  }
  if (length == Known::kUnknownDimension || (length > 0 && known.data == nullptr)) return std::string();
  std::int64_t values[kMaxRank];
  for (std::int64_t i = 0; i < length; ++i) {
    values[i] = IntegerAt(known.type, known.data, static_cast<std::uint64_t>(i));
  }
  error = CheckDimensions(op, values, static_cast<int>(length), output, dimensions);
  constexpr std::int64_t kMostI32 = std::int64_t{1} << 31;
  if (error.empty() && op.draws_rows && output == OutputType::kI32 && values[length - 1] > kMostI32) {
    error = Refusal(op.name, InputText(input.name), ShowDimensions(values, static_cast<int>(length)),
                    Worded(say::kRowsOfIndices, {std::to_string(kMostI32), ElementTypeName(ElementTypeOf(output))}),
                    say::kDrawI64);
  }
  *complete = error.empty();
  return error;
}

/// Refuses more than one number, and none where it may not be left out.
std::string CheckOne(const Operator& op, const InputDeclaration& input, const Known& known) {
  const bool is_left_out = input.optional && known.rank == 1 && known.dimensions[0] == 0;
  if (known.rank == Known::kUnknownRank || is_left_out || IsOneElement(known)) return std::string();
  return Refusal(op.name, InputText(input.name), ShapeOf(known), say::kOneNumber, say::kPassOneNumber);
}

/// Refuses an array that is neither one number nor one for each element of the output.
std::string CheckOneOrEach(const Operator& op, const InputDeclaration& input, const Known& known,
                           const ShapeSoFar& output, ShapeSoFar* shape) {
  if (known.rank == Known::kUnknownRank) return std::string();
  std::string error = CheckRank(op, input.name, known.rank);
  if (!error.empty()) return error;
  shape->rank = known.rank;
  for (int i = 0; i < known.rank; ++i) shape->dimension[i] = known.dimensions[i];
  if (output.rank == Known::kUnknownRank || IsOneElement(known) || CanBeEqual(*shape, output)) return std::string();
  return Refusal(op.name, InputText(input.name), ShapeOf(known),
                 Worded(say::kOneNumberOrEach, {ShowDimensions(output.dimension, output.rank, true)}),
                 say::kPassOneOrExpand);
}

/// Refuses an array that is neither one number nor one for each row of the output. An empty one is left out.
std::string CheckOneOrRows(const Operator& op, const InputDeclaration& input, const Known& known,
                           const ShapeSoFar& output, ShapeSoFar* shape) {
  if (known.rank == Known::kUnknownRank) return std::string();
  shape->rank = known.rank <= kMaxRank ? known.rank : Known::kUnknownRank;
  for (int i = 0; i < shape->rank; ++i) shape->dimension[i] = known.dimensions[i];
  if (IsOneElement(known) || (known.rank == 1 && known.dimensions[0] == 0)) return std::string();
  const std::int64_t rows = output.rank != Known::kUnknownRank ? output.dimension[0] : Known::kUnknownDimension;
  const bool is_any = rows == Known::kUnknownDimension;
  if (known.rank == 1 && (is_any || known.dimensions[0] == rows)) return std::string();
  return Refusal(op.name, InputText(input.name), ShapeOf(known),
                 Worded(say::kOneNumberOrRows, {is_any ? std::string() : " (" + std::to_string(rows) + ")"}),
                 say::kPassOneOrRows);
}

/// Refuses an array that is neither one number nor as many as its role says.
std::string CheckMany(const Operator& op, const InputDeclaration& input, const Known& known, const ShapeSoFar& output,
                      ShapeSoFar* shape) {
  const auto check = input.role == Role::kNumbers ? CheckOneOrEach : CheckOneOrRows;
  return check(op, input, known, output, shape);
}

/// Writes the shape of the output, and the logits if their values are known.
std::string CheckLogits(const Operator& op, const InputDeclaration& input, const Known& known,
                        const Attributes& attributes, const ForEach& for_each, ManyNumbers many,
                        Arguments* arguments) {
  const char* const name = input.name;
  if (known.rank != Known::kUnknownRank && known.rank != 2) {
    return Refusal(op.name, InputText(name), ShapeOf(known), say::kTwoD, say::kReshapeTo2D);
  }
  ShapeSoFar& output = arguments->output;
  output.rank = 2;
  output.dimension[0] = known.rank == 2 ? known.dimensions[0] : Known::kUnknownDimension;
  output.dimension[1] = attributes.sample_size;
  if (known.rank == Known::kUnknownRank) return std::string();
  const std::int64_t batch = known.dimensions[0], classes = known.dimensions[1];
  if (classes == 0 && batch > 0) {
    return Refusal(op.name, InputText(name), ShapeOf(known), say::kOneClass, say::kDrawFromSomething);
  }
  const bool is_once = attributes.replacement == 0;
  if (is_once && batch != 0 && classes != Known::kUnknownDimension && attributes.sample_size > classes) {
    const std::string given =
        Worded(say::kSamplesOfClasses, {std::to_string(attributes.sample_size), std::to_string(classes)});
    return Refusal(op.name, AttributeText("sample_size"), given, say::kNotMoreThanClasses, say::kDrawFewer);
  }
  if (known.data == nullptr) return std::string();
  const Numbers numbers{NumberType(known.type), known.data};
  arguments->given[static_cast<int>(input.parameter)] = Argument{numbers.type, 0, numbers.data};
  arguments->classes = static_cast<std::uint64_t>(classes);
  if (many == ManyNumbers::kTrust) return std::string();
  const std::uint64_t rows = static_cast<std::uint64_t>(batch), of_each = arguments->classes;
  const std::string error = CheckRows(op, name, numbers, rows, of_each, for_each);
  if (!error.empty() || !is_once) return error;
  return CheckSamples(op, numbers, rows, of_each, attributes, for_each);
}

/// Writes the shape of the output, and where the data are if they are known. They may be any numbers.
std::string CheckData(const Operator& op, const InputDeclaration& input, const Known& known, Arguments* arguments) {
  if (known.rank == Known::kUnknownRank) return std::string();
  std::string error = CheckRank(op, input.name, known.rank);
  if (!error.empty()) return error;
  arguments->output.rank = known.rank;
  std::copy(known.dimensions, known.dimensions + known.rank, arguments->output.dimension);
  arguments->given[static_cast<int>(input.parameter)] = Argument{NumberType(known.type), 0, known.data};
  return std::string();
}

/// Both bounds, after each has passed CheckNumbers.
std::string CheckRange(const Operator& op, OutputType output, const Bounds& bounds) {
  std::string allowed, remedy;
  switch (RangeProblemOf(output, bounds)) {
    case RangeProblem::kNone:
      return std::string();
    case RangeProblem::kInverted:
      allowed = IsFloat(output) ? say::kNotAbove : say::kBelow;
      remedy = IsFloat(output) ? say::kSwap : say::kRaiseMaxval;
      break;
    case RangeProblem::kTooWide:
      allowed = Worded(say::kWidth, {ElementTypeName(ElementTypeOf(output))});
      remedy = say::kBringCloser;
      break;
  }
  return Refusal(op.name, InputText("minval"),
                 Worded(say::kWithMaxval, {ShowNumber(output, bounds.minval), ShowNumber(output, bounds.maxval)}),
                 allowed, remedy);
}

}  // namespace

std::string CheckLeftOut(const Operator& op, int index, const Attributes& attributes) {
  const InputDeclaration& input = op.input[index];
  if (!input.optional) {
    return Refusal(op.name, InputText(input.name), say::kNothing, say::kConnected, Worded(say::kConnect, {op.input_names}));
  }
  if (input.role != Role::kState || attributes.is_pytorch) return std::string();
  if (attributes.global_seed != 0 || attributes.op_seed != 0) return std::string();
  return Refusal(op.name, InputText(input.name), say::kNothing, say::kConnectedWithoutSeeds, say::kNameAStream);
}

namespace {

/// CheckInput, of this input alone.
std::string CheckThisInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                           Arguments* arguments, const ForEach& for_each, ManyNumbers many) {
  const InputDeclaration& input = op.input[index];
  // Only what has a number for each element reads each number once; and torch's draws read without looking.
  const bool can_wait = input.role == Role::kNumbers && !attributes.is_pytorch;
  if (many == ManyNumbers::kAsDrawn && !can_wait) many = ManyNumbers::kCheck;
  Argument* const given = &arguments->given[static_cast<int>(input.parameter)];
  const OutputType type = input.has_output_type() ? attributes.output : NumberType(known.type);
  if (input.role == Role::kState && attributes.is_pytorch && known.type == ElementType::kU8) {
    return Refusal(op.name, InputText(input.name), ElementTypeName(known.type), input.type_names, say::kTakeTorchBytes);
  }
  std::string error = CheckType(op, input, known.type, attributes.output);
  if (!error.empty()) return error;
  switch (input.role) {
    case Role::kState:
      error = CheckState(op, input, known, attributes, arguments);
      break;
    case Role::kShape: {
      error = CheckShape(op, input, known, attributes.output, &arguments->dimensions, &arguments->has_dimensions);
      if (error.empty() && attributes.is_pytorch && arguments->has_dimensions) {
        error = CheckPermuted(op, input, arguments->dimensions);
      }
      if (!error.empty() || known.rank != 1 || known.dimensions[0] == Known::kUnknownDimension) break;
      arguments->output.rank = static_cast<int>(known.dimensions[0]);
      for (int i = 0; i < arguments->output.rank; ++i) {
        arguments->output.dimension[i] =
            arguments->has_dimensions ? arguments->dimensions.dimension[i] : Known::kUnknownDimension;
      }
      break;
    }
    case Role::kNumber:
    case Role::kNumbers:
    case Role::kRowNumbers:
      error = input.role == Role::kNumber
                  ? CheckOne(op, input, known)
                  : CheckMany(op, input, known, arguments->output, &arguments->numbers[static_cast<int>(input.parameter)]);
      if (error.empty()) error = CheckNumbers(op, input, known, type, for_each, many, given);
      break;
    case Role::kLogits:
    case Role::kData:
      error = input.role == Role::kLogits ? CheckLogits(op, input, known, attributes, for_each, many, arguments)
                                          : CheckData(op, input, known, arguments);
      if (error.empty()) error = Complete(op, attributes, arguments);
      break;
  }
  arguments->has_value[index] = error.empty() && known.data != nullptr;
  return error;
}

std::string CheckTogetherAlone(const Operator& op, const Attributes& attributes, const Arguments& arguments) {
  for (int i = 0; i < op.inputs; ++i) {
    const InputDeclaration& input = op.input[i];
    if (input.role != Role::kNumbers && input.role != Role::kRowNumbers) continue;
    ShapeSoFar shape = arguments.numbers[static_cast<int>(input.parameter)], same;
    const Known numbers{ElementType::kUnknown, shape.rank, shape.dimension, nullptr};
    const std::string error = CheckMany(op, input, numbers, arguments.output, &same);
    if (!error.empty()) return error;
  }
  const std::string wrong = CheckAlignment(op, attributes, arguments.has_state);
  if (!wrong.empty()) return wrong;
  const int minval = IndexOf(op, Parameter::kMinval), maxval = IndexOf(op, Parameter::kMaxval);
  if (minval >= 0 && maxval >= 0 && arguments.has_value[minval] && arguments.has_value[maxval]) {
    const std::string error = CheckRange(op, attributes.output, BoundsOf(arguments.given));
    if (!error.empty()) return error;
  }
  const int state = IndexOf(op, Role::kState);
  return CheckRowsOfStates(op, op.input[state], arguments);
}

/// An error, but for one about numbers that wait: theirs comes first.
std::string After(const Operator& op, const Arguments& arguments, const ForEach& for_each, const std::string& error) {
  if (error.empty()) return error;
  const std::string sooner = CheckUnchecked(op, arguments, for_each);
  return sooner.empty() ? error : sooner;
}

}  // namespace

std::string CheckInput(const Operator& op, int index, const Known& known, const Attributes& attributes,
                       Arguments* arguments, const ForEach& for_each, ManyNumbers many) {
  return After(op, *arguments, for_each, CheckThisInput(op, index, known, attributes, arguments, for_each, many));
}

std::string CheckTogether(const Operator& op, const Attributes& attributes, const Arguments& arguments) {
  return After(op, arguments, nullptr, CheckTogetherAlone(op, attributes, arguments));
}

Draw DrawOf(const Operator& op, const Attributes& attributes, const Arguments& arguments, void* out, void* mask) {
  Draw draw{};
  draw.state = Derive(arguments.state, attributes.global_seed, attributes.op_seed);
  if (arguments.states > 1 && !attributes.is_pytorch) {
    const std::uint64_t elements = static_cast<std::uint64_t>(arguments.dimensions.elements);
    draw.rows = Rows{arguments.state_words, elements / static_cast<std::uint64_t>(arguments.states)};
  }
  draw.distribution = op.distribution;
  draw.type = attributes.output;
  const OutputType by =
      op.words.by < 0 ? draw.type : arguments.given[static_cast<int>(op.input[op.words.by].parameter)].type;
  draw.words = op.words.each > 0 ? op.words.each : WordsPerElement(by);
  std::copy(std::begin(arguments.given), std::end(arguments.given), draw.given);
  draw.classes = arguments.classes;
  draw.samples = static_cast<std::uint64_t>(attributes.sample_size);
  if (op.draws_rows && arguments.dimensions.rank > 0) {
    const Dimensions& dimensions = arguments.dimensions;
    draw.samples = static_cast<std::uint64_t>(dimensions.dimension[dimensions.rank - 1]);
  }
  draw.is_once = attributes.replacement == 0;
  draw.out = out;
  draw.mask = static_cast<unsigned char*>(mask);
  return draw;
}

bool FillShared(const Kernels& kernels, const Draw& draw, std::uint64_t elements, std::uint64_t (*most_pieces)(),
                const ForEach& for_each, FillDraw fill) {
  Split split = SplitDraw(draw, elements, 2);
  if (split.pieces > 1) split = SplitDraw(draw, elements, most_pieces());
  if (split.pieces <= 1) return fill(kernels, draw, 0, elements);
  std::atomic<bool> is_outside{false};
  for_each(split.pieces, [&](std::uint64_t piece) {
    const std::uint64_t begin = piece * split.step;
    if (!fill(kernels, draw, begin, std::min(begin + split.step, elements))) is_outside = true;
  });
  return !is_outside;
}

std::uint64_t StateBytes(const Arguments& arguments) {
  return static_cast<std::uint64_t>(arguments.states * arguments.words_of_state) * sizeof(std::uint32_t);
}

void KeepStates(const Written& values, const Written& next_states, Arguments* arguments,
                std::vector<std::uint32_t>* copy) {
  if (arguments->state_words == nullptr || arguments->states == 0) return;
  const std::uint32_t* const words = arguments->state_words;
  const Written states{words, StateBytes(*arguments)};
  const bool is_in_place = next_states.data == words;
  if (!states.Overlaps(values) && (is_in_place || !states.Overlaps(next_states))) return;
  copy->assign(words, words + states.bytes / sizeof(*words));
  arguments->state_words = copy->data();
}

void WriteNextState(const Draw& draw, const Arguments& arguments, std::uint32_t* words) {
  if (arguments.states == 1) {
    StateToWords(NextState(draw, arguments.state, static_cast<std::uint64_t>(arguments.dimensions.elements)), words);
  } else {
    NextStates(draw, static_cast<std::uint64_t>(arguments.states), words);
  }
}

std::string CheckDimensions(const Operator& op, const std::int64_t* dimensions, int rank, OutputType output,
                            Dimensions* checked) {
  // Runtimes multiply dimension by dimension: a later 0 does not undo an overflow.
  std::uint64_t largest = ElementSize(output);
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    if (dimensions[i] < 0) {
      return Refusal(op.name, op.size_source, ShowDimensions(dimensions, rank), say::kNotNegative, say::kGiveTheSize);
    }
    if (dimensions[i] == 0) {
      empty = true;
    } else {
      largest = SaturatingProduct(largest, static_cast<std::uint64_t>(dimensions[i]));
    }
  }
  if (largest > static_cast<std::uint64_t>(kMaxInt64)) {
    return Refusal(op.name, op.size_source, ShowDimensions(dimensions, rank),
                   Worded(say::kBytesOf, {ElementTypeName(ElementTypeOf(output))}), say::kDrawInParts);
  }
  checked->rank = rank;
  for (int i = 0; i < rank; ++i) checked->dimension[i] = dimensions[i];
  checked->bytes = empty ? 0 : static_cast<std::int64_t>(largest);
  checked->elements = checked->bytes / ElementSize(output);
  return std::string();
}

}  // namespace onnx_philox
