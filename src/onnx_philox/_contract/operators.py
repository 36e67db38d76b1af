"""The one declaration of the operators of the domain ``onnx_philox``.

ONNX schemas, ONNX Runtime's Python ops, OpenVINO's operators, the argument checks, the builders and
factories, the reference page of the docs and the tables of the C++ code are made from `OPERATORS`.
The parts of refusals that a declaration implies, lists of types and names for instance, are worded
here too. `CONTRIBUTING.md` says what a new operator needs besides.
"""

from __future__ import annotations

from onnx_philox._contract.declaration import OUTPUT_TYPE as OUTPUT_TYPE
from onnx_philox._contract.declaration import Attribute as Attribute
from onnx_philox._contract.declaration import Input as Input
from onnx_philox._contract.declaration import Numbers, Words
from onnx_philox._contract.declaration import Operator as Operator
from onnx_philox._contract.declaration import Output as Output
from onnx_philox._contract.declaration import Role as Role
from onnx_philox._contract.declaration import type_names as type_names
from onnx_philox._contract.inputs import ALIGNMENT as ALIGNMENT
from onnx_philox._contract.inputs import FOREIGN_ATTRIBUTES as FOREIGN_ATTRIBUTES
from onnx_philox._contract.inputs import INT64_MAX as INT64_MAX
from onnx_philox._contract.inputs import MAX_RANK as MAX_RANK
from onnx_philox._contract.inputs import (
    NEXT_STATE,
    SHAPE_INPUT,
    bound_input,
    moment_input,
    state_input,
    type_attribute,
)
from onnx_philox._contract.inputs import ONE_STATE_RULE as ONE_STATE_RULE
from onnx_philox._contract.inputs import PROBABILITY_RULE as PROBABILITY_RULE
from onnx_philox._contract.inputs import RANK_RULE as RANK_RULE
from onnx_philox._contract.inputs import SEEDS as SEEDS
from onnx_philox._contract.inputs import STATE_ROWS_RULE as STATE_ROWS_RULE
from onnx_philox._contract.inputs import STATE_SHAPE_RULE as STATE_SHAPE_RULE
from onnx_philox._contract.inputs import STATE_WORDS as STATE_WORDS
from onnx_philox._contract.inputs import ULP_ABOVE_ONE as ULP_ABOVE_ONE
from onnx_philox._contract.token_sampler import RANDOM_TOKEN as RANDOM_TOKEN
from onnx_philox._contract.types import BF16, BOOL, F16, F32, F64, I32, I64, U32

DOMAIN = "onnx_philox"
OPSET_VERSION = 1

RANDOM_GENERATOR = Operator(
    "RandomGenerator",
    "Random bits: the words of Philox4x32-10, as DirectML's DML_RANDOM_GENERATOR_OPERATOR_DESC "
    "draws them. The blocks are those of counter, counter + 1, ... (128 bits, wrapping), four "
    "words each; the words of the last block that are not needed are dropped.",
    inputs=(state_input(optional=False), SHAPE_INPUT),
    outputs=(Output("bits", "Random bits of the given shape.", type=U32), NEXT_STATE),
    attributes=(
        Attribute("type", "The generator.", "philox4x32_10", allowed=("philox4x32_10",)),
        *SEEDS,
    ),
    distribution="uniform",
    words=Words(each=1),
    draws="random bits",
    rule="Uniform values",
    like=", as DirectML's DML_RANDOM_GENERATOR_OPERATOR_DESC does",
)

RANDOM_UNIFORM = Operator(
    "RandomUniform",
    "Uniform random values in [minval, maxval), as OpenVINO's RandomUniform-8 draws them with "
    "alignment TensorFlow. Floats: u * (maxval - minval) + minval, each operation rounded to "
    "nearest even in the output type, which can round a value up to maxval. Integers: the word "
    "(i64: two words) modulo (maxval - minval), plus minval.",
    inputs=(
        SHAPE_INPUT,
        bound_input("minval", "The lower bound, included."),
        bound_input(
            "maxval", "The upper bound, not included.", " Rounding can make a float equal it."
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random values of the given shape."), NEXT_STATE),
    attributes=(
        type_attribute(
            "The element type of the values and of both bounds.", I32, I64, F16, BF16, F32, F64
        ),
        *SEEDS,
        ALIGNMENT,
    ),
    words=Words(),
    draws="uniform values in [minval, maxval)",
    rule="Uniform values",
    like=", as OpenVINO's RandomUniform-8 does",
)

RANDOM_NORMAL = Operator(
    "RandomNormal",
    "Normal random values, by the method of Box and Muller as TensorFlow uses it. Two uniforms u "
    "and v in [0, 1) give two values, r * sin(2 pi v) and r * cos(2 pi v) in this order, with "
    "r = sqrt(-2 ln max(u, 1e-7)); an odd number of values drops the last one. f16, bf16 and f32 "
    "are made of f32 uniforms (a word each), f64 of f64 uniforms (two words each). Each value is "
    "rounded to the output type, then * scale, + mean, both rounded to nearest even in that type; "
    "a product too large for it is infinite.",
    inputs=(
        SHAPE_INPUT,
        moment_input("mean", "The mean."),
        moment_input(
            "scale", "The standard deviation; 0 and negative numbers are factors like others."
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random values of the given shape."), NEXT_STATE),
    attributes=(
        type_attribute(
            "The element type of the values, and of mean and scale.", F16, BF16, F32, F64
        ),
        *SEEDS,
        ALIGNMENT,
    ),
    words=Words(are_paired=True),
    draws="normal values",
    rule="Normal values",
    like=", by TensorFlow's Box-Muller method",
    example="""
>>> random_normal([4], 0, 1, "f32", global_seed=42)[0]
array([-0.3010158 ,  0.5185915 , -0.15693986, -1.1760874 ], dtype=float32)
""",
)

RANDOM_BERNOULLI = Operator(
    "RandomBernoulli",
    "Booleans that are true with probability p: u < p, with a uniform u in [0, 1) for each "
    "element, an f32 one (a word) where p is f32, an f64 one (two words) where p is f64. So p = 0 "
    "is never true, and p >= 1 always.",
    inputs=(
        SHAPE_INPUT,
        Input(
            "p",
            Role.NUMBERS,
            "The probability of true, in [0, 1], or at most 4 ulp above 1, as the sum of a "
            "softmax can be: a scalar or one element for all values, or exactly of the output's "
            "shape, one for each.",
            types=(F32, F64),
            numbers=Numbers(
                PROBABILITY_RULE,
                "Pass probabilities.",
                0,
                1,
                ulp_above_high=ULP_ABOVE_ONE,
            ),
            brief="The probability of true.",
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random booleans of the given shape.", type=BOOL), NEXT_STATE),
    attributes=(*SEEDS, ALIGNMENT),
    words=Words(by="p"),
    draws="booleans that are true with probability p",
    rule="Booleans",
    example="""
>>> random_bernoulli([4], 0.75, global_seed=42)[0]
array([False, False,  True,  True])
""",
)

RANDOM_CATEGORICAL = Operator(
    "RandomCategorical",
    "Indices of classes, drawn by unnormalised log-probabilities, as ONNX Multinomial means it. "
    "For each row, in f64: w = exp(logits - the row's maximum), summed from left to right. For "
    "each sample, row by row, a uniform u in [0, 1) of two words: the first class whose running "
    "sum is greater than u * the last sum. With replacement 0, a class is drawn once at most: a "
    "uniform u of two words for each class, row by row; the sample_size classes of a weight above "
    "0 with the smallest -ln(1 - u) / w, in ascending order.",
    inputs=(
        Input(
            "logits",
            Role.LOGITS,
            "Unnormalised log-probabilities [batch, classes]. -inf is a class that is never "
            "drawn; NaN, +inf and a row of -inf alone are refused.",
            types=(F32, F16, F64),
            brief="Unnormalised log-probabilities [batch, classes], of at least one class. -inf is "
            "a class that is never drawn.",
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Indices [batch, sample_size], from 0 on."), NEXT_STATE),
    attributes=(
        Attribute("sample_size", "How many samples of each row.", 1, minimum=1),
        type_attribute("The element type of the indices.", I32, I64, default="i32"),
        Attribute(
            "replacement",
            "Whether a class may be drawn more than once from a row.",
            1,
            maximum=1,
            is_flag=True,
        ),
        *SEEDS,
        ALIGNMENT,
    ),
    words=Words(each=2),
    draws="indices of classes, by unnormalised log-probabilities",
    rule="Classes",
    example="""
>>> logits = np.log(np.array([[1, 2, 1], [0.5, 0.25, 0.25]]))
>>> random_categorical(logits, 6, global_seed=42)[0]
array([[1, 2, 1, 2, 2, 2],
       [0, 2, 0, 2, 1, 0]], dtype=int32)
""",
)

RANDOM_EXPONENTIAL = Operator(
    "RandomExponential",
    "Exponential random values: waiting times whose mean is `scale`. f16, bf16 and f32: a word x "
    "gives -ln((x + 0.5) / 2^32); f64: two words give -ln((X + 0.5) / 2^52), with X the 52 bits "
    "that RandomUniform makes an f64 of. The logarithm is computed in f64 and rounded once to the "
    "output type, then * scale, rounded to nearest even in that type; a product too large for it "
    "is infinite.",
    inputs=(
        SHAPE_INPUT,
        Input(
            "scale",
            Role.NUMBER,
            "The mean, 1 / rate. Above 0 and finite; a scalar or one element, of the output's "
            "type.",
            numbers=Numbers(
                "a finite number above 0",
                "Pass a scale above 0: 1 / rate, if you have a rate.",
                0,
                is_above_low=True,
            ),
            brief="The mean, 1 / rate.",
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random values of the given shape."), NEXT_STATE),
    attributes=(
        type_attribute("The element type of the values, and of scale.", F16, BF16, F32, F64),
        *SEEDS,
        ALIGNMENT,
    ),
    words=Words(),
    draws="exponential values",
    rule="Exponential values",
    example="""
>>> random_exponential([4], 1, "f32", global_seed=42)[0]
array([0.4894558, 0.7580345, 2.6141264, 1.0762789], dtype=float32)
""",
)

REJECTION_BLOCKS = 32
"""Blocks that an element of a draw that rejects owns, whatever it uses of them."""
REJECTION_WORDS = 4 * REJECTION_BLOCKS
"""Words of these."""

RANDOM_GAMMA = Operator(
    "RandomGamma",
    "Gamma random values of the shape alpha and the scale 1, by the method of Marsaglia and Tsang, "
    "in f64. Element i owns blocks 32 i to 32 i + 31, whatever it uses of them. With a = alpha, or "
    "alpha + 1 where alpha < 1, d = a - 1/3 and c = 1 / sqrt(9 d): attempt t (0 to 15) reads block "
    "2 t, two f64 uniforms u and v that make the normal x = r * cos(2 pi v) of RandomNormal, and "
    "an f64 uniform w of words 0 and 1 of block 2 t + 1. With z = 1 + c x and y = z * z * z it is "
    "accepted if y > 0 and ln(1 - w) < x * x / 2 + d * (1 - y + ln y), and the value is d * y; "
    "after the last attempt it is d * y if y > 0, else d. Where alpha < 1 it is then multiplied by "
    "exp(ln(1 - w') / alpha), w' of words 2 and 3 of block 1. The value is rounded to the output "
    "type.",
    inputs=(
        SHAPE_INPUT,
        Input(
            "alpha",
            Role.NUMBERS,
            "The gamma distribution's shape parameter, above 0 and at most 2^50: a scalar or one "
            "element for all values, or exactly of the output's shape, one for each.",
            types=(F32, F64),
            numbers=Numbers(
                "a number above 0, at most 2^50",
                "Pass such numbers; near 2^50 a gamma is a normal of mean alpha.",
                0,
                2.0**50,
                is_above_low=True,
            ),
            brief="The gamma distribution's shape parameter.",
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random values of the given shape."), NEXT_STATE),
    attributes=(type_attribute("The element type of the values.", F32, F64), *SEEDS),
    words=Words(each=REJECTION_WORDS),
    draws="gamma values of the scale 1",
    rule="Gamma values",
    like=", by the method of Marsaglia and Tsang",
)

RANDOM_POISSON = Operator(
    "RandomPoisson",
    "Poisson random counts, in f64. Element i owns blocks 32 i to 32 i + 31, whatever it uses of "
    "them. rate < 10: u of words 0 and 1 of the first, p_0 = exp(-rate), p_k = p_(k-1) * rate / k; "
    "the smallest k whose running sum is above u, at most 1000. Else Hoermann's PTRS: attempt t "
    "(0 to 31) reads block t, U = u - 0.5 of words 0 and 1, V = 1 - v of words 2 and 3, "
    "s = 0.5 - abs(U), k = floor((2 a / s + b) * U + rate + 0.43), with b = 0.931 + 2.53 "
    "sqrt(rate), a = -0.059 + 0.02483 b, i = 1.1239 + 1.1328 / (b - 3.4) and q = 0.9277 - 3.6224 / "
    "(b - 2). It is accepted if s >= 0.07 and V <= q; else rejected if k < 0 or (s < 0.013 and V > "
    "s); else accepted if ln V + ln i - ln(a / s^2 + b) <= -rate + k ln rate - ln k!; after the "
    "last attempt it is floor(rate).",
    inputs=(
        SHAPE_INPUT,
        Input(
            "rate",
            Role.NUMBERS,
            "The mean, from 0 to 2^30: a scalar or one element for all values, or exactly of the "
            "output's shape, one for each.",
            types=(F32, F64),
            numbers=Numbers("0 to 2^30", "Pass such rates.", 0, 2.0**30),
            brief="The mean.",
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random counts of the given shape."), NEXT_STATE),
    attributes=(type_attribute("The element type of the counts.", I32, I64), *SEEDS),
    words=Words(each=REJECTION_WORDS),
    draws="Poisson counts",
    rule="Poisson counts",
    like=", by Hoermann's method PTRS where the rate is 10 or more",
)

RANDOM_PERMUTATION = Operator(
    "RandomPermutation",
    "Random permutations of the integers from 0 to n - 1: a row for each m of a shape [m, n], or "
    "one of a shape [n]. Each element of a row takes two words x0 and x1, which are its 64-bit key "
    "x1 * 2^32 + x0, row after row. A row is the ascending order of its keys: the position of the "
    "smallest key first, and of equal keys that of the first.",
    inputs=(
        Input(
            "shape",
            Role.SHAPE,
            "The dimensions of the output, [n] or [m, n]: m permutations of n integers. With "
            "another number of states than one only [B, n].",
            types=(I64, I32),
        ),
        state_input(optional=True),
    ),
    outputs=(Output("values", "Random permutations, of the given shape."), NEXT_STATE),
    attributes=(
        type_attribute("The element type of the integers.", I64, I32, default="i64"),
        *SEEDS,
        ALIGNMENT,
    ),
    words=Words(each=2),
    draws="permutations of the integers from 0 to n - 1",
    rule="Permutations",
    draws_rows=True,
    example="""
>>> random_permutation([2, 5], global_seed=42)[0]
array([[2, 1, 3, 0, 4],
       [4, 2, 1, 0, 3]])
""",
)

RANDOM_DROPOUT = Operator(
    "RandomDropout",
    "Dropout, as ONNX means it in training mode: each element of the data is dropped with "
    "probability `ratio`, and what is kept is scaled. An element is dropped where RandomBernoulli "
    "of p = `ratio`, of the data's shape, would be true: it becomes +0, also if it is infinite or "
    "NaN. The others are multiplied by 1 / (1 - ratio), which is computed once, in f32 (f64 where "
    "the data are f64), and rounded to the data's type. A ratio of 1 keeps nothing.",
    inputs=(
        Input(
            "data",
            Role.DATA,
            "The data, of 0 to 8 dimensions.",
            types=(F32, F16, BF16, F64),
            brief="The data, of 0 to 8 dimensions.",
        ),
        Input(
            "ratio",
            Role.NUMBER,
            "The probability of dropping an element, in [0, 1]: a scalar or one element. The draw "
            "takes one word for each element where it is f32, two where it is f64.",
            types=(F32, F64),
            numbers=Numbers("from 0 to 1", "Pass the share of the elements to drop.", 0, 1),
            brief="The probability of dropping an element.",
        ),
        state_input(optional=True),
    ),
    outputs=(
        Output("output", "The data with elements dropped, of the data's shape.", type_of="data"),
        Output("mask", "Which elements were kept, of the data's shape.", type=BOOL, optional=True),
        NEXT_STATE,
    ),
    attributes=(*SEEDS, ALIGNMENT),
    words=Words(by="ratio"),
    draws="which elements of the data to drop, and scales the others",
    rule="Dropout",
    example="""
>>> data = np.arange(1, 7, dtype=np.float32)
>>> output, mask, _ = random_dropout(data, 0.5, global_seed=42)
>>> output
array([ 2.,  4.,  0.,  8., 10.,  0.], dtype=float32)
>>> mask
array([ True,  True, False,  True,  True, False])
""",
)

OPERATORS = {
    op.name: op
    for op in (
        RANDOM_GENERATOR,
        RANDOM_UNIFORM,
        RANDOM_NORMAL,
        RANDOM_BERNOULLI,
        RANDOM_CATEGORICAL,
        RANDOM_EXPONENTIAL,
        RANDOM_GAMMA,
        RANDOM_POISSON,
        RANDOM_DROPOUT,
        RANDOM_PERMUTATION,
        RANDOM_TOKEN,
    )
}

DRAW_ROWS = frozenset(op.name for op in OPERATORS.values() if op.draws_rows)
"""The names of those whose draw depends on how long its rows are."""
