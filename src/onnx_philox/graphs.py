"""Builders of ONNX models with the operators of this package.

Each returns a checked `onnx.ModelProto` of one node, ready to save, to run or to merge into a
larger model with `onnx.compose`.

With `per_row`, the graph input "state" is [batch, 6], a state for each row of the output, and
"batch" is the output's first dimension. `shape` is still that of the whole output: its first entry
is the number of rows, or None for as many as there are states.

Examples:
    >>> from onnx_philox import graphs
    >>> model = graphs.random_uniform([None, 3], 0, 1, "f32", per_row=True)
    >>> [dim.dim_param or dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    ['batch', 6]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from onnx_philox._builders import Shape, build
from onnx_philox._contract import operators

# From here on made by src/make_functions.py from the declaration; do not edit.
__all__ = ["random_bernoulli", "random_categorical", "random_dropout", "random_exponential"]
__all__ += ["random_gamma", "random_generator", "random_normal", "random_permutation"]
__all__ += ["random_poisson", "random_token", "random_uniform"]


def random_generator(
    shape: Shape,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws random bits.

    The rule: docs/specification.md, "Uniform values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the graph input "state" (uint32[6]); its outputs are "bits" (uint32) and
        "next_state".

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    return build(operators.RANDOM_GENERATOR, locals())


def random_uniform(
    shape: Shape,
    minval: Any,
    maxval: Any,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws uniform values in [minval, maxval).

    The rule: docs/specification.md, "Uniform values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        minval: The lower bound, included. A finite number, or an array of one element and of the
            output's type. None makes it the graph input "minval", a scalar.
        maxval: The upper bound, not included. Rounding can make a float equal it. Likewise,
            "maxval".
        output_type: The element type of the values and of both bounds. One of i32, i64, f16, bf16,
            f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_UNIFORM, locals())


def random_normal(
    shape: Shape,
    mean: Any,
    scale: Any,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws normal values.

    The rule: docs/specification.md, "Normal values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        mean: The mean. A finite number, or an array of one element and of the output's type. None
            makes it the graph input "mean", a scalar.
        scale: The standard deviation; 0 and negative numbers are factors like others. Likewise,
            "scale".
        output_type: The element type of the values, and of mean and scale. One of f16, bf16, f32,
            f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_NORMAL, locals())


def random_bernoulli(
    shape: Shape,
    p: Any,
    *,
    p_type: str = "f32",
    per_element: bool = False,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws booleans that are true with probability p.

    The rule: docs/specification.md, "Booleans".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        p: The probability of true: from 0 to 1, or at most 4 ulp above 1. A Python number is f32. A
            NumPy number or array is f32 or f64, as it is: one element (rank 0 or 1) for all values,
            or an array of exactly that shape. None makes it the graph input "p".
        p_type: The type of that graph input, or of a Python number, f32 or f64.
        per_element: Whether that graph input is of the output's shape, a number for each element,
            rather than a scalar.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values" (bool), and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_BERNOULLI, locals())


def random_categorical(
    logits: Any = None,
    sample_size: int = 1,
    output_type: str = "i32",
    replacement: bool = True,
    *,
    logits_type: str = "f32",
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws indices of classes, by unnormalised log-probabilities.

    The rule: docs/specification.md, "Classes".

    Args:
        logits: Unnormalised log-probabilities [batch, classes], of at least one class. -inf is a
            class that is never drawn. An array of f32, f16 or f64. None makes it the graph input
            "logits".
        sample_size: How many samples of each row; 1 or more.
        output_type: The element type of the indices. One of i32, i64.
        replacement: Whether a class may be drawn more than once from a row.
        logits_type: The type of that graph input, or of a Python number, f32, f16 or f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state".
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values" [batch, sample_size], and "next_state" if stateful or by
        rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_CATEGORICAL, locals())


def random_exponential(
    shape: Shape,
    scale: Any,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws exponential values.

    The rule: docs/specification.md, "Exponential values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        scale: The mean, 1 / rate. A finite number above 0, or an array of one element and of the
            output's type. None makes it the graph input "scale", a scalar.
        output_type: The element type of the values, and of scale. One of f16, bf16, f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_EXPONENTIAL, locals())


def random_gamma(
    shape: Shape,
    alpha: Any,
    output_type: str,
    *,
    alpha_type: str = "f32",
    per_element: bool = False,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws gamma values of the scale 1.

    The rule: docs/specification.md, "Gamma values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        alpha: The gamma distribution's shape parameter: a number above 0, at most 2^50. A Python
            number is f32. A NumPy number or array is f32 or f64, as it is: one element (rank 0 or
            1) for all values, or an array of exactly that shape. None makes it the graph input
            "alpha".
        output_type: The element type of the values. One of f32, f64.
        alpha_type: The type of that graph input, or of a Python number, f32 or f64.
        per_element: Whether that graph input is of the output's shape, a number for each element,
            rather than a scalar.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_GAMMA, locals())


def random_poisson(
    shape: Shape,
    rate: Any,
    output_type: str,
    *,
    rate_type: str = "f32",
    per_element: bool = False,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws Poisson counts.

    The rule: docs/specification.md, "Poisson counts".

    Args:
        shape: The dimensions of the output, 0 to 8 of them. None makes them the int64 graph input
            "shape", of length `rank`.
        rate: The mean: 0 to 2^30. A Python number is f32. A NumPy number or array is f32 or f64, as
            it is: one element (rank 0 or 1) for all values, or an array of exactly that shape. None
            makes it the graph input "rate".
        output_type: The element type of the counts. One of i32, i64.
        rate_type: The type of that graph input, or of a Python number, f32 or f64.
        per_element: Whether that graph input is of the output's shape, a number for each element,
            rather than a scalar.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_POISSON, locals())


def random_dropout(
    data: Any,
    ratio: Any,
    *,
    data_type: str = "f32",
    ratio_type: str = "f32",
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws which elements of the data to drop, and scales the others.

    The rule: docs/specification.md, "Dropout".

    Args:
        data: The data, of 0 to 8 dimensions. An array of f32, f16, bf16 or f64. None makes it the
            graph input "data", of `rank` dimensions.
        ratio: The probability of dropping an element: from 0 to 1. A Python number is f32. A NumPy
            number or array is f32 or f64, as it is: one element (rank 0 or 1). None makes it the
            graph input "ratio".
        data_type: The type of that graph input, or of a Python number, f32, f16, bf16 or f64.
        ratio_type: The type of that graph input, or of a Python number, f32 or f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `data` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state".
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the outputs "output", "mask" (bool), and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_DROPOUT, locals())


def random_permutation(
    shape: Shape,
    output_type: str = "i64",
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    rank: int | None = None,
    per_row: bool = False,
    alignment: str = "tensorflow",
) -> onnx.ModelProto:
    """Builds a model that draws permutations of the integers from 0 to n - 1.

    The rule: docs/specification.md, "Permutations".

    Args:
        shape: The dimensions of the output, [n] or [m, n]. None makes them the int64 graph input
            "shape", of length `rank`.
        output_type: The element type of the integers. One of i64, i32.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        rank: How many dimensions, where `shape` is None.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state". The first entry of `shape` is the number of
            rows; None there, or `shape` None, leaves it to the run.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A model with the output "values", and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_PERMUTATION, locals())


def random_token(
    logits: Any = None,
    temperature: Any = None,
    top_k: Any = None,
    top_p: Any = None,
    min_p: Any = None,
    output_type: str = "i64",
    *,
    logits_type: str = "f32",
    inputs: Sequence[str] = (),
    global_seed: int = 0,
    op_seed: int = 0,
    stateful: bool = False,
    per_row: bool = False,
) -> onnx.ModelProto:
    """Builds a model that draws the next token of each row, by its logits and a sampler's filters.

    The rule: docs/specification.md, "Tokens".

    Args:
        logits: Logits [batch, classes], of at least one class. -inf is a token that is never drawn.
            An array of f32, f16 or bf16. None makes it the graph input "logits".
        temperature: What the logits are divided by, 0 or above; 0 is the largest logit, always: a
            finite number, 0 or above. A Python number is f32. A NumPy number or array is f32, as it
            is: one element (rank 0 or 1) for all rows, or 1-D with one for each row. None leaves it
            out.
        top_k: How many of the most probable tokens are kept; 0, and the number of classes or more,
            keep all: 0 or above. A Python number is i64. A NumPy number or array is i64, as it is:
            one element (rank 0 or 1) for all rows, or 1-D with one for each row. None leaves it
            out.
        top_p: The share of the probability that is kept, of the most probable tokens; 1 keeps all:
            above 0, at most 1. A Python number is f32. A NumPy number or array is f32, as it is:
            one element (rank 0 or 1) for all rows, or 1-D with one for each row. None leaves it
            out.
        min_p: The least probability that is kept, as a share of the largest; 0 keeps all: from 0 to
            1. A Python number is f32. A NumPy number or array is f32, as it is: one element (rank 0
            or 1) for all rows, or 1-D with one for each row. None leaves it out.
        output_type: The element type of the tokens. One of i32, i64.
        logits_type: The type of that graph input, or of a Python number, f32, f16 or bf16.
        inputs: The names of the inputs that may be left out and are graph inputs instead: 1-D, of
            one number, or one for each row.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        stateful: Whether the model has the graph input "state" (uint32[6]) and the output
            "next_state". Without it one of the seeds must not be 0.
        per_row: Whether each row of the output has a state of its own: the graph input "state" is
            uint32[batch, 6], and so is "next_state".

    Returns:
        A model with the output "token" [batch, 1], and "next_state" if stateful or by rows.

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return build(operators.RANDOM_TOKEN, locals())
