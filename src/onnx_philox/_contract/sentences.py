"""The form of a refusal, and the words of those that Python and C++ both make.

`custom_ops/core/make_operators.py` makes sentences.h of this, the same names in C++'s spelling.
What the declaration of an operator implies, lists of names for instance, is worded in `operators`.
"""

from __future__ import annotations

FORM = "{what} must be {allowed}: got {given}. {remedy}"
"""The sentence of a refusal, after the operator's name and a colon.

`allowed` is what can follow "must be": `u32`, `a finite number`, `of 0 to 8 dimensions`.
"""

# What a refusal is about.
INPUT = "input '{}'"
OUTPUT = "output '{}'"
ATTRIBUTE = "attribute {}"
ATTRIBUTES = "each attribute"
NUMBER_OF = "the number of {}"
THE_OUTPUT = "the output"

# Attributes, and inputs that are missing or too many.
NOTHING = "nothing"
ONE_OF = "one of {}"
AT_MOST = "at most {} ({})"
RENAME = "Rename it, or remove it."
REMOVE = "Remove it."
DID_YOU_MEAN = "Did you mean {}? Rename it, or remove it."
SET_TO_ONE = "Set it to one of these."
PASS_AN_INT = "Pass an integer."
CHOOSE_ANOTHER = "Choose another {}."
REMOVE_THE_OTHERS = "Remove the others."
CONNECTED = "connected"
CONNECT = "Connect it: the inputs are {}."
CONNECTED_WITHOUT_SEEDS = "connected where global_seed and op_seed are both 0"
NAME_A_STREAM = (
    "Without them every run would draw the same numbers, so nothing is unseeded: set global_seed "
    "or op_seed, or connect a state, such as PhiloxState.from_entropy() in Python."
)

# Types and shapes.
AS_OUTPUT_TYPE = "{}, as output_type says"
CAST = "Cast it to {}."
NO_KNOWN_TYPE = "no known type"
ANOTHER_TYPE = "another type"
SHAPE = "shape {}"
DIMENSIONS = "{} dimensions"
ROWS = "of 1 or 2 dimensions, [n] or [m, n]"
PASS_ROWS = "Pass [n], or [m, n] for m permutations, and reshape the output."
ROWS_OF_INDICES = "[n] or [m, n], with n at most {} of {}"
DRAW_I64 = "Draw i64."
MERGE_DIMENSIONS = "Merge some and reshape the output."
PASS_A_STATE = (
    "Pass PhiloxState(...).to_array() (in C, what onnx_philox_state_for_run makes), or reshape it."
)
STATES_FOR_ROWS = "{} states (shape {}) for {} (output shape {})"
PASS_ROW_STATES = (
    "Pass as many states as rows, from row_states(...) for instance (in C, from "
    "onnx_philox_state_of_row)."
)
ONE_D = "1-D, with one entry for each dimension"
RESHAPE_TO_1_D = "Reshape it to 1-D."
NOT_NEGATIVE = "dimensions of 0 or more"
GIVE_THE_SIZE = "Give the size itself."
BYTES_OF = "at most 2^63-1 bytes of {}"
DRAW_IN_PARTS = "Draw it in parts."
ONE_NUMBER = "a scalar, or 1-D of one element"
PASS_ONE_NUMBER = "Pass one number."
ONE_NUMBER_OR_EACH = "a scalar, 1-D of one element, or the output's shape {}"
PASS_ONE_OR_EXPAND = "Pass one number, or expand it to that shape."
ONE_NUMBER_OR_ROWS = "a scalar, 1-D of one element, or 1-D with one for each row{}"
PASS_ONE_OR_ROWS = "Pass one number, or one for each row."
TWO_D = "2-D, [batch, classes]"
RESHAPE_TO_2_D = "Reshape it to 2-D."
ONE_CLASS = "of at least one class"
DRAW_FROM_SOMETHING = "Pass at least one class, or no rows."

# Values.
IN_ROW = "{} in row {}"
IN_ALL_OF_ROW = "-inf in all of row {}"
LOGITS = "finite numbers or -inf, at least one of them finite in each row"
CORRECT_LOGITS = "Correct what computes the logits."
WITH_MAXVAL = "{} with maxval {}"
NOT_ABOVE = "at most maxval"
SWAP = "Swap them."
BELOW = "less than maxval"
RAISE_MAXVAL = "Raise maxval, which is never drawn itself."
WIDTH = "so close to maxval that {} holds their difference"
BRING_CLOSER = "Bring the bounds closer together."
SAMPLES_OF_CLASSES = "{}, more than the {} given"
SAMPLES_IN_ROW = "{}, more than the {} in row {}"
NOT_MORE_THAN_CLASSES = "at most the number of classes of a weight above 0, with replacement 0"
DRAW_FEWER = "Draw fewer samples, or set replacement to 1."

# What OpenVINO's CPU plugin would change.
A_CONSTANT = "a constant"
SMALL_CONSTANT = "a constant of at most {} elements"
NOT_CONSTANT = "{} that is not constant"
ROUNDED_INPUTS = "{} in OpenVINO, whose CPU plugin rounds such inputs to 32 bits"
CAST_TO_F32 = "Cast {} to f32."
SCALE_IN_GRAPH = "Make {} a constant, or scale in the graph."
WHOLE_STATE = "Make the whole state a model input, or {}."
COMPUTED_BY = "what {} computes"
CONVERTED_BY = "what {} computes from {} to {}"
COMPUTED_BY_OF = "what {} computes of {}"
COMPUTED_BY_WITH = "what {} computes with {}"
A_COMPUTED_VALUE = "a computed value"
EXACT_NODES = (
    "a constant, a model input, or what {} make of them in integers, since OpenVINO's CPU plugin "
    "computes uint32 as int32"
)
CHOSEN_BEHIND = "what Select chooses by a condition of {}"
CHOSEN_BEHIND_DYNAMIC = "what Select chooses by a condition of {} of a dynamic shape"
CONDITIONS = (
    "chosen by a condition that is an input, or by one of a static shape, since OpenVINO's CPU "
    "plugin chooses in f32 behind {}"
)
CONDITIONS_HERE = (
    "chosen by a condition that is an input, since OpenVINO's CPU plugin chooses in f32 behind {} "
    "on this processor, which has no AVX2"
)
PADDING = "padded with a constant within 2^24, since OpenVINO's CPU plugin reads it as f32"
CONSTANTS_WITH = "{} constants of {}, one of them {}"
WHOLE_CONSTANT = (
    "of at most {} elements, or all within int32, since OpenVINO's CPU plugin clamps others"
)
MERGED_FROM = "one made of the {} constant {}"
CLAMPED_CONSTANTS = "made of constants within int32, since OpenVINO's CPU plugin clamps them"
MERGED_CONSTANTS = "what {} compute with {} constants"
ONE_CONSTANT = (
    "made of one constant within int32, or of several whose product is, since OpenVINO merges "
    "them and its CPU plugin clamps the result"
)
F64_IN_LOOP = "f64, in a Loop that OpenVINO computes when it compiles the model"
F32_NUMBERS = "numbers that f32 holds, since OpenVINO's CPU plugin rounds f64 constants"
DRAW_F32 = "Draw outside of the Loop, or draw f32."
WIDE_IN_LOOP = "others, in a Loop that OpenVINO computes when it compiles the model"
INT32_NUMBERS = "numbers within int32, since OpenVINO's CPU plugin clamps constants"
DRAW_OUTSIDE = "Draw outside of the Loop, or give it a model input."
HALF_AT_BORDER = "f32 from outside of an If or Loop, rounded to f16 at its border"
HALF_IN_BODY = "a constant, or what the body computes, at the inference precision f16"
CAST_OUTSIDE = (
    "Cast it to double outside and to float inside, or compile with the inference precision f32."
)
HANDED_OVER = "{}, as the device hands it over"
ASKED_FOR = "{}, as the device asks for it"
UNCHANGED = "{}, unchanged"
COMPILE_IN_F32 = "Make it a constant, or compile with the inference precision f32."
DRAW_IN_F32 = "Compile with the inference precision f32."
NAN_TO = "'{}' or '{}'"
WORDS_OF_STATES = "{} words for each state, of type {}"
NUMBERS_OF = "numbers of {}"
ONE_NUMBER_OF = "one number of {}"
SAVE_AGAIN = "Save the model again."

# Memory.
OUTPUT_OF = "{}, {} bytes of {}"
FREE_MEMORY = "small enough for the {} bytes of memory that are free here"
MEMORY_NOW = "small enough for the memory that is free now"
THE_DRAW = "the draw"
TOO_LARGE = "one that is too large"
DRAW_FROM_STATE_TO_STATE = "Draw it in parts, from state to next_state."
