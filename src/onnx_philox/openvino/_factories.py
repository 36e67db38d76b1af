"""Factories for the operators' nodes, which work like the functions of `openvino.opset8`."""

from __future__ import annotations

from typing import Any

import openvino as ov

from onnx_philox._contract import operators
from onnx_philox.openvino._making import make

# From here on made by src/make_functions.py from the declaration; do not edit.
__all__ = ["random_bernoulli", "random_categorical", "random_dropout", "random_exponential"]
__all__ += ["random_gamma", "random_generator", "random_normal", "random_permutation"]
__all__ += ["random_poisson", "random_token", "random_uniform"]


def random_generator(
    state: Any,
    shape: Any,
    global_seed: int = 0,
    op_seed: int = 0,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws random bits.

    The rule: docs/specification.md, "Uniform values".

    Args:
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        name: The node's friendly name.

    Returns:
        A node with the outputs bits (u32) and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range.
    """
    return make(operators.RANDOM_GENERATOR, locals())


def random_uniform(
    shape: Any,
    minval: Any,
    maxval: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws uniform values in [minval, maxval).

    The rule: docs/specification.md, "Uniform values".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        minval: The lower bound, included. A node or output of the output's type, or a finite
            number, or an array of one element and of the output's type. It must be a constant if
            the type is i64 or f64.
        maxval: The upper bound, not included. Rounding can make a float equal it. Likewise.
        output_type: The element type of the values and of both bounds. One of i32, i64, f16, bf16,
            f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_UNIFORM, locals())


def random_normal(
    shape: Any,
    mean: Any,
    scale: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws normal values.

    The rule: docs/specification.md, "Normal values".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        mean: The mean. A node or output of the output's type, or a finite number, or an array of
            one element and of the output's type. It must be a constant if the type is f64.
        scale: The standard deviation; 0 and negative numbers are factors like others. Likewise.
        output_type: The element type of the values, and of mean and scale. One of f16, bf16, f32,
            f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_NORMAL, locals())


def random_bernoulli(
    shape: Any,
    p: Any,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws booleans that are true with probability p.

    The rule: docs/specification.md, "Booleans".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        p: The probability of true: from 0 to 1, or at most 4 ulp above 1. A node or output of type
            f32 or f64, or what NumPy holds. A Python number is f32. A NumPy number or array is f32
            or f64, as it is: one element (rank 0 or 1) for all values, or an array of exactly that
            shape. It must be a constant of at most 4096 elements if the type is f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values (bool) and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_BERNOULLI, locals())


def random_categorical(
    logits: Any,
    sample_size: int = 1,
    output_type: str = "i32",
    replacement: bool = True,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws indices of classes, by unnormalised log-probabilities.

    The rule: docs/specification.md, "Classes".

    Args:
        logits: Unnormalised log-probabilities [batch, classes], of at least one class. -inf is a
            class that is never drawn. A node or output of type f32, f16 or f64, or an array of f32,
            f16 or f64. It must be a constant of at most 4096 elements if the type is f64.
        sample_size: How many samples of each row; 1 or more.
        output_type: The element type of the indices. One of i32, i64.
        replacement: Whether a class may be drawn more than once from a row.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values [batch, sample_size] and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_CATEGORICAL, locals())


def random_exponential(
    shape: Any,
    scale: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws exponential values.

    The rule: docs/specification.md, "Exponential values".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        scale: The mean, 1 / rate. A node or output of the output's type, or a finite number above
            0, or an array of one element and of the output's type. It must be a constant if the
            type is f64.
        output_type: The element type of the values, and of scale. One of f16, bf16, f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_EXPONENTIAL, locals())


def random_gamma(
    shape: Any,
    alpha: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws gamma values of the scale 1.

    The rule: docs/specification.md, "Gamma values".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        alpha: The gamma distribution's shape parameter: a number above 0, at most 2^50. A node or
            output of type f32 or f64, or what NumPy holds. A Python number is f32. A NumPy number
            or array is f32 or f64, as it is: one element (rank 0 or 1) for all values, or an array
            of exactly that shape. It must be a constant of at most 4096 elements if the type is
            f64.
        output_type: The element type of the values. One of f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_GAMMA, locals())


def random_poisson(
    shape: Any,
    rate: Any,
    output_type: str,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws Poisson counts.

    The rule: docs/specification.md, "Poisson counts".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        rate: The mean: 0 to 2^30. A node or output of type f32 or f64, or what NumPy holds. A
            Python number is f32. A NumPy number or array is f32 or f64, as it is: one element (rank
            0 or 1) for all values, or an array of exactly that shape. It must be a constant of at
            most 4096 elements if the type is f64.
        output_type: The element type of the counts. One of i32, i64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_POISSON, locals())


def random_dropout(
    data: Any,
    ratio: Any,
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws which elements of the data to drop, and scales the others.

    The rule: docs/specification.md, "Dropout".

    Args:
        data: The data, of 0 to 8 dimensions. A node or output of type f32, f16, bf16 or f64, or an
            array of f32, f16, bf16 or f64. Data of f64 reach it in f32, in which OpenVINO's CPU
            plugin computes them.
        ratio: The probability of dropping an element: from 0 to 1. A node or output of type f32 or
            f64, or what NumPy holds. A Python number is f32. A NumPy number or array is f32 or f64,
            as it is: one element (rank 0 or 1). It must be a constant if the type is f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs output, mask (bool) and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_DROPOUT, locals())


def random_permutation(
    shape: Any,
    output_type: str = "i64",
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
    alignment: str = "tensorflow",
) -> ov.Node:
    """Makes a node that draws permutations of the integers from 0 to n - 1.

    The rule: docs/specification.md, "Permutations".

    Args:
        shape: A node or output of type i64 or i32, 1-D; or a sequence of ints.
        output_type: The element type of the integers. One of i64, i32.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        A node with the outputs values and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_PERMUTATION, locals())


def random_token(
    logits: Any,
    temperature: Any = None,
    top_k: Any = None,
    top_p: Any = None,
    min_p: Any = None,
    output_type: str = "i64",
    global_seed: int = 0,
    op_seed: int = 0,
    state: Any = None,
    *,
    name: str | None = None,
) -> ov.Node:
    """Makes a node that draws the next token of each row, by its logits and a sampler's filters.

    The rule: docs/specification.md, "Tokens".

    Args:
        logits: Logits [batch, classes], of at least one class. -inf is a token that is never drawn.
            A node or output of type f32, f16 or bf16, or an array of f32, f16 or bf16.
        temperature: What the logits are divided by, 0 or above; 0 is the largest logit, always: a
            finite number, 0 or above. A node or output of type f32, or what NumPy holds. A Python
            number is f32. A NumPy number or array is f32, as it is: one element (rank 0 or 1) for
            all rows, or 1-D with one for each row. None leaves it out.
        top_k: How many of the most probable tokens are kept; 0, and the number of classes or more,
            keep all: 0 or above. A node or output of type i64, or what NumPy holds. A Python number
            is i64. A NumPy number or array is i64, as it is: one element (rank 0 or 1) for all
            rows, or 1-D with one for each row. None leaves it out.
        top_p: The share of the probability that is kept, of the most probable tokens; 1 keeps all:
            above 0, at most 1. A node or output of type f32, or what NumPy holds. A Python number
            is f32. A NumPy number or array is f32, as it is: one element (rank 0 or 1) for all
            rows, or 1-D with one for each row. None leaves it out.
        min_p: The least probability that is kept, as a share of the largest; 0 keeps all: from 0 to
            1. A node or output of type f32, or what NumPy holds. A Python number is f32. A NumPy
            number or array is f32, as it is: one element (rank 0 or 1) for all rows, or 1-D with
            one for each row. None leaves it out.
        output_type: The element type of the tokens. One of i32, i64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1,
            rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B.
            Without it one of the seeds must not be 0.
        name: The node's friendly name.

    Returns:
        A node with the outputs token [batch, 1] and next state (u32).

    Raises:
        TypeError: An argument of a wrong type.
        ValueError: An argument out of its range, or neither seed nor state.
    """
    return make(operators.RANDOM_TOKEN, locals())
