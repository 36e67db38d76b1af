"""The declaration of RandomToken, a sampler."""

from __future__ import annotations

from onnx_philox._contract import inputs
from onnx_philox._contract.declaration import Input, Numbers, Operator, Output, Role, Words
from onnx_philox._contract.types import BF16, F16, F32, I32, I64

RANDOM_TOKEN = Operator(
    "RandomToken",
    "The next token of each row, by its logits and the filters of a sampler. For each row, in f64: "
    "w = exp((logits - the row's maximum) / temperature). The filters come in the order of Hugging "
    "Face's: the top_k largest w in descending order (of equal ones, the lower index first); of "
    "these the shortest prefix in that order whose running sum, from left to right, reaches top_p "
    "times the last running sum; of these the ones with w >= min_p (the largest w is 1). A filter "
    "that is left out, top_k 0 or at least the number of classes, top_p 1 and min_p 0 remove "
    "nothing. A uniform u in [0, 1) of two words for each row then chooses among what is kept: in "
    "the order of the indices, the first whose running sum is greater than u * the last sum. "
    "Temperature 0 is the largest logit, of equal ones the lowest index, and takes the same words.",
    inputs=(
        Input(
            "logits",
            Role.LOGITS,
            "Logits [batch, classes]. -inf is a token that is never drawn; NaN, +inf and a row of "
            "-inf alone are refused.",
            types=(F32, F16, BF16),
            brief="Logits [batch, classes], of at least one class. -inf is a token that is never "
            "drawn.",
        ),
        inputs.row_numbers_input(
            "temperature",
            "What the logits are divided by, 0 or above; 0 is the largest logit, always.",
            F32,
            Numbers("a finite number, 0 or above", "Pass a temperature; 0 is greedy.", 0),
            1,
        ),
        inputs.row_numbers_input(
            "top_k",
            "How many of the most probable tokens are kept; 0, and the number of classes or more, "
            "keep all.",
            I64,
            Numbers("0 or above", "Pass how many tokens to keep; 0 keeps all.", 0),
            0,
        ),
        inputs.row_numbers_input(
            "top_p",
            "The share of the probability that is kept, of the most probable tokens; 1 keeps all.",
            F32,
            Numbers(
                "above 0, at most 1",
                "Pass a share; 1 keeps all tokens.",
                0,
                1,
                is_above_low=True,
            ),
            1,
        ),
        inputs.row_numbers_input(
            "min_p",
            "The least probability that is kept, as a share of the largest; 0 keeps all.",
            F32,
            Numbers("from 0 to 1", "Pass a share; 0 keeps all tokens.", 0, 1),
            0,
        ),
        inputs.state_input(optional=True),
    ),
    outputs=(Output("token", "The index of each row's token, [batch, 1]."), inputs.NEXT_STATE),
    attributes=(
        inputs.type_attribute("The element type of the tokens.", I32, I64, default="i64"),
        *inputs.SEEDS,
    ),
    words=Words(each=2),
    draws="the next token of each row, by its logits and a sampler's filters",
    rule="Tokens",
    example="""
>>> logits = np.log(np.array([[4, 1, 2, 3]] * 3, np.float32))
>>> random_token(logits, top_p=np.float32([1, 0.6, 0.3]), global_seed=13)[0]
array([[0],
       [3],
       [0]])
""",
)
