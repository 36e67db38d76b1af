"""The operators in NumPy. They define what the operators mean; every other backend must agree.

Each function takes arrays and numbers, and returns the output and the next state. The rules are
those of docs/specification.md: Philox4x32-10 with a 128-bit counter and a 64-bit key, drawn in
order, the seeds added to the state before drawing. A state [B, 6], for any B but 1, is one for each
row: row b is what state[b] alone draws for the shape [1, d1, d2, ...].

Examples:
    >>> from onnx_philox import PhiloxState, reference
    >>> bits, state = reference.random_generator(PhiloxState(0, 0).to_array(), [4])
    >>> [hex(word) for word in bits.tolist()]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    >>> values, _ = reference.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    >>> values
    array([[65, 70, 56],
           [59, 82, 92]], dtype=int32)
    >>> states = np.array([[0, 0, 0, 0, 8, 0], [0, 0, 0, 0, 9, 0]], np.uint32)
    >>> rows, _ = reference.random_uniform([2, 3], 50, 100, "i32", state=states)
    >>> alone, _ = reference.random_uniform([1, 3], 50, 100, "i32", state=states[1])
    >>> bool((rows[1] == alone[0]).all())
    True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onnx_philox._contract import operators
from onnx_philox._contract.operators import Operator
from onnx_philox._numbers import call
from onnx_philox._numbers.fill_numpy import fill

Shape = Sequence[SupportsIndex] | NDArray[np.int64] | NDArray[np.int32]


def _run(op: Operator, arguments: dict[str, Any]) -> Any:
    return call.run(op, fill, *op.parted(arguments))


# From here on made by src/make_functions.py from the declaration; do not edit.
__all__ = ["random_bernoulli", "random_categorical", "random_dropout", "random_exponential"]
__all__ += ["random_gamma", "random_generator", "random_normal", "random_permutation"]
__all__ += ["random_poisson", "random_token", "random_uniform"]


def random_generator(
    state: NDArray[np.uint32],
    shape: Shape,
    *,
    type: str = "philox4x32_10",
    global_seed: int = 0,
    op_seed: int = 0,
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws random bits, as DirectML's DML_RANDOM_GENERATOR_OPERATOR_DESC does.

    The rule: docs/specification.md, "Uniform values".

    Args:
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B.
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        type: The generator. Only philox4x32_10.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.

    Returns:
        The bits (uint32), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, or an output that memory cannot hold.
    """
    return _run(operators.RANDOM_GENERATOR, locals())


def random_uniform(
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws uniform values in [minval, maxval), as OpenVINO's RandomUniform-8 does.

    The rule: docs/specification.md, "Uniform values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        minval: The lower bound, included. A finite number, or an array of one element and of the
            output's type.
        maxval: The upper bound, not included. Rounding can make a float equal it. Likewise.
        output_type: The element type of the values and of both bounds. One of i32, i64, f16, bf16,
            f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values (bf16 as `ml_dtypes.bfloat16`), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.
    """
    return _run(operators.RANDOM_UNIFORM, locals())


def random_normal(
    shape: Shape,
    mean: ArrayLike,
    scale: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws normal values, by TensorFlow's Box-Muller method.

    The rule: docs/specification.md, "Normal values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        mean: The mean. A finite number, or an array of one element and of the output's type.
        scale: The standard deviation; 0 and negative numbers are factors like others. Likewise.
        output_type: The element type of the values, and of mean and scale. One of f16, bf16, f32,
            f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values (bf16 as `ml_dtypes.bfloat16`), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> random_normal([4], 0, 1, "f32", global_seed=42)[0]
        array([-0.3010158 ,  0.5185915 , -0.15693986, -1.1760874 ], dtype=float32)
    """
    return _run(operators.RANDOM_NORMAL, locals())


def random_bernoulli(
    shape: Shape,
    p: ArrayLike,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws booleans that are true with probability p.

    The rule: docs/specification.md, "Booleans".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        p: The probability of true: from 0 to 1, or at most 4 ulp above 1. A Python number is f32. A
            NumPy number or array is f32 or f64, as it is: one element (rank 0 or 1) for all values,
            or an array of exactly that shape.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values (bool), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> random_bernoulli([4], 0.75, global_seed=42)[0]
        array([False, False,  True,  True])
    """
    return _run(operators.RANDOM_BERNOULLI, locals())


def random_categorical(
    logits: ArrayLike,
    sample_size: int = 1,
    output_type: str = "i32",
    replacement: bool = True,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws indices of classes, by unnormalised log-probabilities.

    The rule: docs/specification.md, "Classes".

    Args:
        logits: Unnormalised log-probabilities [batch, classes], of at least one class. -inf is a
            class that is never drawn. An array of f32, f16 or f64.
        sample_size: How many samples of each row; 1 or more.
        output_type: The element type of the indices. One of i32, i64.
        replacement: Whether a class may be drawn more than once from a row.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values [batch, sample_size], and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> logits = np.log(np.array([[1, 2, 1], [0.5, 0.25, 0.25]]))
        >>> random_categorical(logits, 6, global_seed=42)[0]
        array([[1, 2, 1, 2, 2, 2],
               [0, 2, 0, 2, 1, 0]], dtype=int32)
    """
    return _run(operators.RANDOM_CATEGORICAL, locals())


def random_exponential(
    shape: Shape,
    scale: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws exponential values.

    The rule: docs/specification.md, "Exponential values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        scale: The mean, 1 / rate. A finite number above 0, or an array of one element and of the
            output's type.
        output_type: The element type of the values, and of scale. One of f16, bf16, f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values (bf16 as `ml_dtypes.bfloat16`), and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> random_exponential([4], 1, "f32", global_seed=42)[0]
        array([0.4894558, 0.7580345, 2.6141264, 1.0762789], dtype=float32)
    """
    return _run(operators.RANDOM_EXPONENTIAL, locals())


def random_gamma(
    shape: Shape,
    alpha: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws gamma values of the scale 1, by the method of Marsaglia and Tsang.

    The rule: docs/specification.md, "Gamma values".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        alpha: The gamma distribution's shape parameter: a number above 0, at most 2^50. A Python
            number is f32. A NumPy number or array is f32 or f64, as it is: one element (rank 0 or
            1) for all values, or an array of exactly that shape.
        output_type: The element type of the values. One of f32, f64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.

    Returns:
        The values, and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.
    """
    return _run(operators.RANDOM_GAMMA, locals())


def random_poisson(
    shape: Shape,
    rate: ArrayLike,
    output_type: str,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws Poisson counts, by Hoermann's method PTRS where the rate is 10 or more.

    The rule: docs/specification.md, "Poisson counts".

    Args:
        shape: The dimensions of the output, 0 to 8 of them; none mean a scalar.
        rate: The mean: 0 to 2^30. A Python number is f32. A NumPy number or array is f32 or f64, as
            it is: one element (rank 0 or 1) for all values, or an array of exactly that shape.
        output_type: The element type of the counts. One of i32, i64.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.

    Returns:
        The values, and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.
    """
    return _run(operators.RANDOM_POISSON, locals())


def random_dropout(
    data: ArrayLike,
    ratio: ArrayLike,
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.uint32]]:
    """Draws which elements of the data to drop, and scales the others.

    The rule: docs/specification.md, "Dropout".

    Args:
        data: The data, of 0 to 8 dimensions. An array of f32, f16, bf16 or f64.
        ratio: The probability of dropping an element: from 0 to 1. A Python number is f32. A NumPy
            number or array is f32 or f64, as it is: one element (rank 0 or 1).
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The output (bf16 as `ml_dtypes.bfloat16`), the mask (bool), and the next state, of the
        state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> data = np.arange(1, 7, dtype=np.float32)
        >>> output, mask, _ = random_dropout(data, 0.5, global_seed=42)
        >>> output
        array([ 2.,  4.,  0.,  8., 10.,  0.], dtype=float32)
        >>> mask
        array([ True,  True, False,  True,  True, False])
    """
    return _run(operators.RANDOM_DROPOUT, locals())


def random_permutation(
    shape: Shape,
    output_type: str = "i64",
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
    alignment: str = "tensorflow",
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws permutations of the integers from 0 to n - 1.

    The rule: docs/specification.md, "Permutations".

    Args:
        shape: The dimensions of the output: [n], or [m, n] for m permutations.
        output_type: The element type of the integers. One of i64, i32.
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.
        alignment: Whose numbers: with pytorch those that torch draws with its CPU generator. The
            state is then that generator, of 632 words (see TorchState); global_seed is torch's
            seed, for a node without a state; and op_seed is 0. One of tensorflow or pytorch.

    Returns:
        The values, and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> random_permutation([2, 5], global_seed=42)[0]
        array([[2, 1, 3, 0, 4],
               [4, 2, 1, 0, 3]])
    """
    return _run(operators.RANDOM_PERMUTATION, locals())


def random_token(
    logits: ArrayLike,
    temperature: ArrayLike | None = None,
    top_k: ArrayLike | None = None,
    top_p: ArrayLike | None = None,
    min_p: ArrayLike | None = None,
    output_type: str = "i64",
    *,
    global_seed: int = 0,
    op_seed: int = 0,
    state: NDArray[np.uint32] | None = None,
) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Draws the next token of each row, by its logits and a sampler's filters.

    The rule: docs/specification.md, "Tokens".

    Args:
        logits: Logits [batch, classes], of at least one class. -inf is a token that is never drawn.
            An array of f32, f16 or bf16.
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
        global_seed: Added to the state's 64-bit key; 0 to 2^63-1.
        op_seed: Added to the upper 64 bits of the state's 128-bit counter; 0 to 2^63-1.
        state: uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row
            of an output whose first dimension is B. None is a state of zeros.

    Returns:
        The token [batch, 1], and the next state, of the state's shape.

    Raises:
        TypeError: An input of a wrong type.
        ValueError: A wrong shape or value, no state with both seeds 0, or an output that memory
            cannot hold.

    Examples:
        >>> logits = np.log(np.array([[4, 1, 2, 3]] * 3, np.float32))
        >>> random_token(logits, top_p=np.float32([1, 0.6, 0.3]), global_seed=13)[0]
        array([[0],
               [3],
               [0]])
    """
    return _run(operators.RANDOM_TOKEN, locals())
