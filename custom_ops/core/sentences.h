// The words of refusals, in src/onnx_philox: _contract/sentences.py, _torch/torch_sentences.py.
// `Worded` fills in {0}.
// Made by custom_ops/core/make_operators.py; do not edit.
#pragma once

namespace onnx_philox {
namespace say {

inline constexpr char kForm[] = "{0} must be {2}: got {1}. {3}";
inline constexpr char kInput[] = "input '{0}'";
inline constexpr char kOutput[] = "output '{0}'";
inline constexpr char kAttribute[] = "attribute {0}";
inline constexpr char kAttributes[] = "each attribute";
inline constexpr char kNumberOf[] = "the number of {0}";
inline constexpr char kTheOutput[] = "the output";
inline constexpr char kNothing[] = "nothing";
inline constexpr char kOneOf[] = "one of {0}";
inline constexpr char kAtMost[] = "at most {0} ({1})";
inline constexpr char kRename[] = "Rename it, or remove it.";
inline constexpr char kRemove[] = "Remove it.";
inline constexpr char kDidYouMean[] = "Did you mean {0}? Rename it, or remove it.";
inline constexpr char kSetToOne[] = "Set it to one of these.";
inline constexpr char kPassAnInt[] = "Pass an integer.";
inline constexpr char kChooseAnother[] = "Choose another {0}.";
inline constexpr char kRemoveTheOthers[] = "Remove the others.";
inline constexpr char kConnected[] = "connected";
inline constexpr char kConnect[] = "Connect it: the inputs are {0}.";
inline constexpr char kConnectedWithoutSeeds[] = "connected where global_seed and op_seed are both 0";
inline constexpr char kNameAStream[] =
    "Without them every run would draw the same numbers, so nothing is unseeded: set global_seed or op_seed, or "
    "connect a state, such as PhiloxState.from_entropy() in Python.";
inline constexpr char kAsOutputType[] = "{0}, as output_type says";
inline constexpr char kCast[] = "Cast it to {0}.";
inline constexpr char kNoKnownType[] = "no known type";
inline constexpr char kAnotherType[] = "another type";
inline constexpr char kShape[] = "shape {0}";
inline constexpr char kDimensions[] = "{0} dimensions";
inline constexpr char kRows[] = "of 1 or 2 dimensions, [n] or [m, n]";
inline constexpr char kPassRows[] = "Pass [n], or [m, n] for m permutations, and reshape the output.";
inline constexpr char kRowsOfIndices[] = "[n] or [m, n], with n at most {0} of {1}";
inline constexpr char kDrawI64[] = "Draw i64.";
inline constexpr char kMergeDimensions[] = "Merge some and reshape the output.";
inline constexpr char kPassAState[] =
    "Pass PhiloxState(...).to_array() (in C, what onnx_philox_state_for_run makes), or reshape it.";
inline constexpr char kStatesForRows[] = "{0} states (shape {1}) for {2} (output shape {3})";
inline constexpr char kPassRowStates[] =
    "Pass as many states as rows, from row_states(...) for instance (in C, from onnx_philox_state_of_row).";
inline constexpr char kOneD[] = "1-D, with one entry for each dimension";
inline constexpr char kReshapeTo1D[] = "Reshape it to 1-D.";
inline constexpr char kNotNegative[] = "dimensions of 0 or more";
inline constexpr char kGiveTheSize[] = "Give the size itself.";
inline constexpr char kBytesOf[] = "at most 2^63-1 bytes of {0}";
inline constexpr char kDrawInParts[] = "Draw it in parts.";
inline constexpr char kOneNumber[] = "a scalar, or 1-D of one element";
inline constexpr char kPassOneNumber[] = "Pass one number.";
inline constexpr char kOneNumberOrEach[] = "a scalar, 1-D of one element, or the output's shape {0}";
inline constexpr char kPassOneOrExpand[] = "Pass one number, or expand it to that shape.";
inline constexpr char kOneNumberOrRows[] = "a scalar, 1-D of one element, or 1-D with one for each row{0}";
inline constexpr char kPassOneOrRows[] = "Pass one number, or one for each row.";
inline constexpr char kTwoD[] = "2-D, [batch, classes]";
inline constexpr char kReshapeTo2D[] = "Reshape it to 2-D.";
inline constexpr char kOneClass[] = "of at least one class";
inline constexpr char kDrawFromSomething[] = "Pass at least one class, or no rows.";
inline constexpr char kInRow[] = "{0} in row {1}";
inline constexpr char kInAllOfRow[] = "-inf in all of row {0}";
inline constexpr char kLogits[] = "finite numbers or -inf, at least one of them finite in each row";
inline constexpr char kCorrectLogits[] = "Correct what computes the logits.";
inline constexpr char kWithMaxval[] = "{0} with maxval {1}";
inline constexpr char kNotAbove[] = "at most maxval";
inline constexpr char kSwap[] = "Swap them.";
inline constexpr char kBelow[] = "less than maxval";
inline constexpr char kRaiseMaxval[] = "Raise maxval, which is never drawn itself.";
inline constexpr char kWidth[] = "so close to maxval that {0} holds their difference";
inline constexpr char kBringCloser[] = "Bring the bounds closer together.";
inline constexpr char kSamplesOfClasses[] = "{0}, more than the {1} given";
inline constexpr char kSamplesInRow[] = "{0}, more than the {1} in row {2}";
inline constexpr char kNotMoreThanClasses[] = "at most the number of classes of a weight above 0, with replacement 0";
inline constexpr char kDrawFewer[] = "Draw fewer samples, or set replacement to 1.";
inline constexpr char kAConstant[] = "a constant";
inline constexpr char kSmallConstant[] = "a constant of at most {0} elements";
inline constexpr char kNotConstant[] = "{0} that is not constant";
inline constexpr char kRoundedInputs[] = "{0} in OpenVINO, whose CPU plugin rounds such inputs to 32 bits";
inline constexpr char kCastToF32[] = "Cast {0} to f32.";
inline constexpr char kScaleInGraph[] = "Make {0} a constant, or scale in the graph.";
inline constexpr char kWholeState[] = "Make the whole state a model input, or {0}.";
inline constexpr char kComputedBy[] = "what {0} computes";
inline constexpr char kConvertedBy[] = "what {0} computes from {1} to {2}";
inline constexpr char kComputedByOf[] = "what {0} computes of {1}";
inline constexpr char kComputedByWith[] = "what {0} computes with {1}";
inline constexpr char kAComputedValue[] = "a computed value";
inline constexpr char kExactNodes[] =
    "a constant, a model input, or what {0} make of them in integers, since OpenVINO's CPU plugin computes uint32 "
    "as int32";
inline constexpr char kChosenBehind[] = "what Select chooses by a condition of {0}";
inline constexpr char kChosenBehindDynamic[] = "what Select chooses by a condition of {0} of a dynamic shape";
inline constexpr char kConditions[] =
    "chosen by a condition that is an input, or by one of a static shape, since OpenVINO's CPU plugin chooses in "
    "f32 behind {0}";
inline constexpr char kConditionsHere[] =
    "chosen by a condition that is an input, since OpenVINO's CPU plugin chooses in f32 behind {0} on this "
    "processor, which has no AVX2";
inline constexpr char kPadding[] = "padded with a constant within 2^24, since OpenVINO's CPU plugin reads it as f32";
inline constexpr char kConstantsWith[] = "{0} constants of {1}, one of them {2}";
inline constexpr char kWholeConstant[] =
    "of at most {0} elements, or all within int32, since OpenVINO's CPU plugin clamps others";
inline constexpr char kMergedFrom[] = "one made of the {0} constant {1}";
inline constexpr char kClampedConstants[] = "made of constants within int32, since OpenVINO's CPU plugin clamps them";
inline constexpr char kMergedConstants[] = "what {0} compute with {1} constants";
inline constexpr char kOneConstant[] =
    "made of one constant within int32, or of several whose product is, since OpenVINO merges them and its CPU "
    "plugin clamps the result";
inline constexpr char kF64InLoop[] = "f64, in a Loop that OpenVINO computes when it compiles the model";
inline constexpr char kF32Numbers[] = "numbers that f32 holds, since OpenVINO's CPU plugin rounds f64 constants";
inline constexpr char kDrawF32[] = "Draw outside of the Loop, or draw f32.";
inline constexpr char kWideInLoop[] = "others, in a Loop that OpenVINO computes when it compiles the model";
inline constexpr char kInt32Numbers[] = "numbers within int32, since OpenVINO's CPU plugin clamps constants";
inline constexpr char kDrawOutside[] = "Draw outside of the Loop, or give it a model input.";
inline constexpr char kHalfAtBorder[] = "f32 from outside of an If or Loop, rounded to f16 at its border";
inline constexpr char kHalfInBody[] = "a constant, or what the body computes, at the inference precision f16";
inline constexpr char kCastOutside[] =
    "Cast it to double outside and to float inside, or compile with the inference precision f32.";
inline constexpr char kHandedOver[] = "{0}, as the device hands it over";
inline constexpr char kAskedFor[] = "{0}, as the device asks for it";
inline constexpr char kUnchanged[] = "{0}, unchanged";
inline constexpr char kCompileInF32[] = "Make it a constant, or compile with the inference precision f32.";
inline constexpr char kDrawInF32[] = "Compile with the inference precision f32.";
inline constexpr char kNanTo[] = "'{0}' or '{1}'";
inline constexpr char kWordsOfStates[] = "{0} words for each state, of type {1}";
inline constexpr char kNumbersOf[] = "numbers of {0}";
inline constexpr char kOneNumberOf[] = "one number of {0}";
inline constexpr char kSaveAgain[] = "Save the model again.";
inline constexpr char kOutputOf[] = "{0}, {1} bytes of {2}";
inline constexpr char kFreeMemory[] = "small enough for the {0} bytes of memory that are free here";
inline constexpr char kMemoryNow[] = "small enough for the memory that is free now";
inline constexpr char kTheDraw[] = "the draw";
inline constexpr char kTooLarge[] = "one that is too large";
inline constexpr char kDrawFromStateToState[] = "Draw it in parts, from state to next_state.";
inline constexpr char kNoOpSeed[] = "0 with alignment 'pytorch'";
inline constexpr char kSetGlobalSeed[] = "torch's generator has one seed: set global_seed, or connect a state.";
inline constexpr char kNoSeedBesideAState[] = "0 where a state is connected, with alignment 'pytorch'";
inline constexpr char kRemoveOneOfBoth[] = "Remove one of the two.";
inline constexpr char kConnectedWithoutSeed[] = "connected where global_seed is 0, with alignment 'pytorch'";
inline constexpr char kNameASeed[] =
    "Without one every run would draw the same numbers, so nothing is unseeded: set global_seed, which is torch's "
    "seed, or connect a state, such as TorchState.from_seed(0) in Python.";
inline constexpr char kOneSample[] = "1 where replacement is 1, with alignment 'pytorch'";
inline constexpr char kDrawOneSample[] = "Set replacement to 0, or draw one sample at a time.";
inline constexpr char kPassATorchState[] =
    "Pass TorchState.from_seed(seed).to_array() (in C, what onnx_philox_torch_states makes).";
inline constexpr char kNotAPhiloxState[] =
    "6 words are a PhiloxState, of alignment 'tensorflow': pass TorchState.from_seed(seed).to_array() (in C, what "
    "onnx_philox_torch_states makes).";
inline constexpr char kNotATorchState[] =
    "632 words are a TorchState: set alignment to 'pytorch', or pass PhiloxState(...).to_array() (in C, what "
    "onnx_philox_state_for_run makes).";
inline constexpr char kTakeTorchBytes[] =
    "Bytes of get_state() become words by TorchState.from_torch(state).to_array() in Python.";
inline constexpr char kStatePart[] = "the state's {0}";
inline constexpr char kNextWord[] = "from 0 to 624";
inline constexpr char kWordsLeft[] = "1, or 625 less its next of {0}";
inline constexpr char kOne[] = "1";
inline constexpr char kZeroOrOne[] = "0 or 1";
inline constexpr char kFinite[] = "a finite number";
inline constexpr char kTakeStateAgain[] =
    "The state is damaged, or another generator's: take it from its source again.";
inline constexpr char kFewerIntegers[] = "fewer than {0} integers, with alignment 'pytorch'";
inline constexpr char kDrawAsTensorflow[] = "Draw them with alignment 'tensorflow'.";

}  // namespace say
}  // namespace onnx_philox
