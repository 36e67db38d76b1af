"""What refusals of torch's numbers say, in Python and in the native core."""

NO_OP_SEED = "0 with alignment 'pytorch'"
SET_GLOBAL_SEED = "torch's generator has one seed: set global_seed, or connect a state."
NO_SEED_BESIDE_A_STATE = "0 where a state is connected, with alignment 'pytorch'"
REMOVE_ONE_OF_BOTH = "Remove one of the two."
CONNECTED_WITHOUT_SEED = "connected where global_seed is 0, with alignment 'pytorch'"
NAME_A_SEED = (
    "Without one every run would draw the same numbers, so nothing is unseeded: set global_seed, "
    "which is torch's seed, or connect a state, such as TorchState.from_seed(0) in Python."
)
ONE_SAMPLE = "1 where replacement is 1, with alignment 'pytorch'"
DRAW_ONE_SAMPLE = "Set replacement to 0, or draw one sample at a time."
PASS_A_TORCH_STATE = (
    "Pass TorchState.from_seed(seed).to_array() (in C, what onnx_philox_torch_states makes)."
)
NOT_A_PHILOX_STATE = (
    "6 words are a PhiloxState, of alignment 'tensorflow': "
    "pass TorchState.from_seed(seed).to_array() (in C, what onnx_philox_torch_states makes)."
)
NOT_A_TORCH_STATE = (
    "632 words are a TorchState: set alignment to 'pytorch', or pass PhiloxState(...).to_array() "
    "(in C, what onnx_philox_state_for_run makes)."
)
TAKE_TORCH_BYTES = (
    "Bytes of get_state() become words by TorchState.from_torch(state).to_array() in Python."
)
STATE_PART = "the state's {}"
NEXT_WORD = "from 0 to 624"
WORDS_LEFT = "1, or 625 less its next of {}"
ONE = "1"
ZERO_OR_ONE = "0 or 1"
FINITE = "a finite number"
TAKE_STATE_AGAIN = "The state is damaged, or another generator's: take it from its source again."
FEWER_INTEGERS = "fewer than {} integers, with alignment 'pytorch'"
DRAW_AS_TENSORFLOW = "Draw them with alignment 'tensorflow'."
