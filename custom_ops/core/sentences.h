// The words of refusals, in src/onnx_philox/_contract/sentences.py. `Worded` fills in {0}.
// Made by custom_ops/core/make_operators.py; do not edit.
#pragma once

namespace onnx_philox {
namespace say {

inline constexpr char kForm[] = "{0} is {1}; allowed: {2}. {3}";
inline constexpr char kInput[] = "input '{0}'";
inline constexpr char kOutput[] = "output '{0}'";
inline constexpr char kAttribute[] = "attribute {0}";
inline constexpr char kNumberOf[] = "the number of {0}";
inline constexpr char kTheOutput[] = "the output";
inline constexpr char kMissing[] = "missing";
inline constexpr char kUnknown[] = "unknown";
inline constexpr char kRename[] = "Rename it, or remove it.";
inline constexpr char kSetToOne[] = "Set it to one of these.";
inline constexpr char kPassAnInt[] = "Pass an int.";
inline constexpr char kChooseAnother[] = "Choose another {0}.";
inline constexpr char kRemoveTheOthers[] = "Remove the others.";
inline constexpr char kConnect[] = "Connect it.";
inline constexpr char kNoStream[] = "left out with global_seed and op_seed both 0";
inline constexpr char kStream[] = "a state, or a seed that is not 0";
inline constexpr char kNameAStream[] =
    "Every run draws the same numbers here, so there is no unseeded mode: set global_seed or op_seed, or connect a "
    "state, from PhiloxState.from_entropy() for instance.";
inline constexpr char kAsOutputType[] = "{0}, as output_type says";
inline constexpr char kCast[] = "Cast it to {0}.";
inline constexpr char kOfShape[] = "of shape {0}";
inline constexpr char kOfDimensions[] = "of {0} dimensions";
inline constexpr char kMergeDimensions[] = "Merge some and reshape the output.";
inline constexpr char kPassAState[] = "Pass PhiloxState(...).to_array(), or reshape it.";
inline constexpr char kStatesForRows[] = "of shape {0}, {1} states, for an output of shape {2}, {3}";
inline constexpr char kPassRowStates[] = "Pass as many states as rows, from row_states(...) for instance.";
inline constexpr char kOneD[] = "1-D, one entry a dimension";
inline constexpr char kReshapeTo1D[] = "Reshape it to 1-D.";
inline constexpr char kNotNegative[] = "dimensions of 0 or more";
inline constexpr char kGiveTheSize[] = "Give the size itself.";
inline constexpr char kTooLarge[] = "{0}, too large";
inline constexpr char kBytesOf[] = "at most 2^63-1 bytes of {0}";
inline constexpr char kDrawInParts[] = "Draw it in parts.";
inline constexpr char kOneNumber[] = "a scalar, or 1-D of one element";
inline constexpr char kPassOneNumber[] = "Pass one number.";
inline constexpr char kOneNumberOrEach[] = "a scalar, 1-D of one element, or the output's shape {0}";
inline constexpr char kPassOneOrExpand[] = "Pass one number, or expand it to that shape.";
inline constexpr char kTwoD[] = "2-D, [batch, classes]";
inline constexpr char kReshapeTo2D[] = "Reshape it to 2-D.";
inline constexpr char kOneClass[] = "at least one class";
inline constexpr char kDrawFromSomething[] = "Draw from something, or from no rows.";
inline constexpr char kInRow[] = "{0} in row {1}";
inline constexpr char kInAllOfRow[] = "-inf in all of row {0}";
inline constexpr char kLogits[] = "finite numbers and -inf, one finite in each row at least";
inline constexpr char kCorrectLogits[] = "Correct what computes the logits.";
inline constexpr char kWithMaxval[] = "{0} with maxval {1}";
inline constexpr char kNotAbove[] = "minval <= maxval";
inline constexpr char kSwap[] = "Swap them.";
inline constexpr char kBelow[] = "minval < maxval";
inline constexpr char kRaiseMaxval[] = "Raise maxval; it is not drawn.";
inline constexpr char kWidth[] = "maxval - minval within {0}";
inline constexpr char kBringCloser[] = "Bring the bounds closer together.";
inline constexpr char kSamplesOfClasses[] = "{0} for {1} classes";
inline constexpr char kSamplesInRow[] = "{0} for {1} classes in row {2}";
inline constexpr char kNotMoreThanClasses[] = "at most as many as classes of a weight above 0, with replacement 0";
inline constexpr char kDrawFewer[] = "Draw fewer samples, or set replacement to 1.";
inline constexpr char kAConstant[] = "a constant";
inline constexpr char kSmallConstant[] = "a constant of at most {0} elements";
inline constexpr char kNotConstant[] = "not constant, of type {0}";
inline constexpr char kRoundedInputs[] = "{0} in OpenVINO, whose CPU plugin rounds such inputs to 32 bits";
inline constexpr char kCastToF32[] = "Cast {0} to f32.";
inline constexpr char kScaleInGraph[] = "Make {0} a constant, or scale in the graph.";
inline constexpr char kWholeState[] = "Make the whole state a model input, or {0}.";
inline constexpr char kComputedBy[] = "computed by {0}";
inline constexpr char kConvertedBy[] = "computed by {0} from {1} to {2}";
inline constexpr char kComputedByOf[] = "computed by {0} of {1}";
inline constexpr char kComputedByWith[] = "computed by {0} with {1}";
inline constexpr char kAComputedValue[] = "a computed value";
inline constexpr char kExactNodes[] =
    "a constant, a model input, or what {0} make of them in integers, since OpenVINO's CPU plugin computes uint32 "
    "as int32";
inline constexpr char kPadding[] = "a constant within 2^24 there, since OpenVINO's CPU plugin reads it as f32";
inline constexpr char kConstantWith[] = "a {0} constant of {1} elements, one of them {2}";
inline constexpr char kWholeConstant[] =
    "at most {0} elements, or all within int32, since OpenVINO's CPU plugin clamps others";
inline constexpr char kMergedFrom[] = "merged from a {0} constant of {1}";
inline constexpr char kClampedConstants[] = "constants within int32 there, since OpenVINO's CPU plugin clamps them";
inline constexpr char kMergedConstants[] = "computed by {0} with {1} constants";
inline constexpr char kOneConstant[] =
    "one such constant, or several whose product is within int32, since OpenVINO merges them and its CPU plugin "
    "clamps the result";
inline constexpr char kF64InLoop[] = "f64, in a Loop that OpenVINO computes when it compiles the model";
inline constexpr char kF32Numbers[] = "numbers that f32 holds there, since OpenVINO's CPU plugin rounds f64 constants";
inline constexpr char kDrawF32[] = "Draw outside of the Loop, or draw f32.";
inline constexpr char kWideInLoop[] = "beyond int32, in a Loop that OpenVINO computes when it compiles the model";
inline constexpr char kInt32Numbers[] = "numbers within int32 there, since OpenVINO's CPU plugin clamps constants";
inline constexpr char kDrawOutside[] = "Draw outside of the Loop, or give it a model input.";
inline constexpr char kHalfAtBorder[] = "f32 from outside of an If or Loop, rounded to f16 at its border";
inline constexpr char kHalfInBody[] = "a constant, or what the body computes, at the inference precision f16";
inline constexpr char kCastOutside[] =
    "Cast it to double outside and to float inside, or compile with the inference precision f32.";
inline constexpr char kHandedOver[] = "handed over as {0} by the device";
inline constexpr char kUnchanged[] = "{0}, unchanged";
inline constexpr char kCompileInF32[] = "Make it a constant, or compile with the inference precision f32.";
inline constexpr char kNanTo[] = "'{0}' or '{1}'";
inline constexpr char kSaveAgain[] = "Save the model again.";
inline constexpr char kOutputOf[] = "{0}, {1} bytes of {2}";
inline constexpr char kFreeMemory[] = "what the {0} bytes of memory that are free here can hold";
inline constexpr char kMemoryNow[] = "what memory can hold now";
inline constexpr char kMemory[] = "memory";
inline constexpr char kUsedUp[] = "used up";
inline constexpr char kItCanHold[] = "what it can hold now";
inline constexpr char kDrawFromStateToState[] = "Draw it in parts, from state to next_state.";

}  // namespace say
}  // namespace onnx_philox
