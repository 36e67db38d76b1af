"""The bits that test batteries read: what the operators draw in ONNX Runtime, in many arrangements.

    python benchmarks/drawn_bits.py normals rows | RNG_test stdin -multithreaded

writes without end. A source (`words`, `normals`, ...) is an operator and the bits of its values. An
arrangement (`rows`, `runs`, ...) says which streams stand side by side: a battery that reads a few
words of each in turn finds what one stream tells of its neighbours. See docs/proved.md.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import parser
from scipy.special import gammainc, ndtr

from onnx_philox import PhiloxState, row_states, split_states
from onnx_philox.onnxruntime import InferenceSession

Words = NDArray[np.uint32]
SEED = 42
CLASSES = 24
"""Class k has a probability of 2^-(k+1), but the last, which is as likely as the one before."""
CALL = 2**20
"""About as many values are drawn by a call of the session."""


@dataclass(frozen=True)
class Source:
    """An operator whose values become bits.

    Attributes:
        node: The node as ONNX text, without its output; `{op_seed}` is to be filled in.
        type: The element type of its values.
        bits: The bits of the values, in their order.
    """

    node: str
    type: str
    bits: Callable[[NDArray[Any]], NDArray[Any]]


def packed(bits: int) -> Callable[[NDArray[Any]], NDArray[np.uint64]]:
    """All bits of numbers in [0, 1) that are multiples of 2^-bits, without gaps between them."""

    def pack(values: NDArray[Any]) -> NDArray[np.uint64]:
        whole = (values.astype(np.float64) * 2.0**bits).astype(np.uint64)
        columns = np.ascontiguousarray(whole.reshape(-1, 64).T)
        out = np.zeros((bits, columns.shape[1]), np.uint64)
        for i, column in enumerate(columns):
            word, shift = divmod(i * bits, 64)
            out[word] |= column << np.uint64(shift)
            if shift + bits > 64:
                out[word + 1] |= column >> np.uint64(64 - shift)
        return out.T

    return pack


def upper_bits(
    type_: Any, function: Callable[[NDArray[Any]], NDArray[Any]] = ndtr
) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """The upper bits of a distribution's function at each value; the normal one's if none."""
    size = 2.0 ** (np.dtype(type_).itemsize * 8)

    def upper(values: NDArray[Any]) -> NDArray[Any]:
        return np.minimum(function(values.astype(np.float64)) * size, size - 1).astype(type_)

    return upper


def exponential(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution function of an exponential, which a gamma of alpha 1 is too."""
    return -np.expm1(-x)


def unary(classes: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Class k as k zeros and a one, so that each bit is fair; the last class as zeros alone."""
    classes = classes.reshape(-1)
    ends = np.cumsum(np.minimum(classes + 1, CLASSES - 1))
    bits = np.zeros(ends[-1], np.uint8)
    bits[ends[classes < CLASSES - 1] - 1] = 1
    return np.packbits(bits[: bits.size // 8 * 8])


def orders(permutations: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Whether the first of each two neighbours is the lesser: independent fair bits."""
    pairs = permutations.reshape(-1, 2)
    bits = pairs[:, 0] < pairs[:, 1]
    return np.packbits(bits[: bits.size // 8 * 8])


def zeros(counts: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Whether each count is 0, which half of them are at a rate of ln 2."""
    return np.packbits(counts.reshape(-1) == 0)


SOURCES = {
    "words": Source("RandomGenerator <op_seed = {op_seed}> (state, shape)", "uint32", np.asarray),
    "uniforms": Source(
        'RandomUniform <output_type = "f32", op_seed = {op_seed}> (shape, zero, one, state)',
        "float",
        packed(23),
    ),
    "uniforms-f64": Source(
        'RandomUniform <output_type = "f64", op_seed = {op_seed}> (shape, zero64, one64, state)',
        "double",
        packed(52),
    ),
    "normals": Source(
        'RandomNormal <output_type = "f32", op_seed = {op_seed}> (shape, zero, one, state)',
        "float",
        upper_bits(np.uint16),
    ),
    "normals-f64": Source(
        'RandomNormal <output_type = "f64", op_seed = {op_seed}> (shape, zero64, one64, state)',
        "double",
        upper_bits(np.uint32),
    ),
    "exponentials": Source(
        'RandomExponential <output_type = "f32", op_seed = {op_seed}> (shape, one, state)',
        "float",
        upper_bits(np.uint16, exponential),
    ),
    "exponentials-f64": Source(
        'RandomExponential <output_type = "f64", op_seed = {op_seed}> (shape, one64, state)',
        "double",
        upper_bits(np.uint32, exponential),
    ),
    "gammas": Source(
        'RandomGamma <output_type = "f32", op_seed = {op_seed}> (shape, half, state)',
        "float",
        upper_bits(np.uint16, lambda x: gammainc(0.5, x)),
    ),
    "gammas-f64": Source(
        'RandomGamma <output_type = "f64", op_seed = {op_seed}> (shape, one64, state)',
        "double",
        upper_bits(np.uint32, exponential),
    ),
    "booleans": Source(
        "RandomBernoulli <op_seed = {op_seed}> (shape, half, state)", "bool", np.packbits
    ),
    "classes": Source(
        "RandomCategorical <sample_size = {size}, op_seed = {op_seed}> (logits, state)",
        "int32",
        unary,
    ),
    "counts": Source(
        'RandomPoisson <output_type = "i32", op_seed = {op_seed}> (shape, ln2, state)',
        "int32",
        zeros,
    ),
    "permutations": Source(
        'RandomPermutation <output_type = "i32", op_seed = {op_seed}> (shape, state)',
        "int32",
        orders,
    ),
}
"""RandomDropout's mask is RandomBernoulli's, and RandomToken chooses by the uniforms of
RandomCategorical, one for each row: they would be judged twice."""


@dataclass(frozen=True)
class Arrangement:
    """Which streams stand side by side.

    Attributes:
        rows: How many rows a call draws.
        nodes: How many random nodes the model has.
        values: How many values a node draws for a row, in turn with all the others.
        states: The states of a call, from the seed and the number of the call; None goes on from
            the states that the call before left.
        what: What is side by side, for people.
        op_seed: By the number of a node.
    """

    rows: int
    nodes: int
    values: int
    states: Callable[[int, int], Words | None]
    what: str
    op_seed: Callable[[int], int] = lambda node: node


ROWS, VALUES = 2**14, 16
MODEL_ROWS, MODEL_NODES = 2**10, 16


def next_ones(call: int) -> range:
    """The rows, runs or children of a call."""
    return range(call * ROWS, (call + 1) * ROWS)


def one_state(seed: int, call: int) -> Words | None:
    return None if call else row_states(seed)


def a_seed_each(seed: int, call: int) -> Words | None:
    return None if call else row_states(range(seed, seed + ROWS))


def new_rows(seed: int, call: int) -> Words:
    return row_states(seed, rows=next_ones(call))


def new_runs(seed: int, call: int) -> Words:
    return row_states(seed, run=next_ones(call))


def new_children(seed: int, call: int) -> Words:
    return split_states(PhiloxState.from_seed(seed).advance(4 * call * ROWS), ROWS)


def rows_of_a_run(seed: int, call: int) -> Words:
    return row_states(seed, rows=range(MODEL_ROWS), run=call)


def rows_that_overlap(seed: int, call: int) -> Words:
    states = np.repeat(row_states(seed, run=call), ROWS, 0)
    states[:, 0] = np.arange(ROWS)
    return states


def the_same_rows(seed: int, _: int) -> Words:
    return row_states(seed, rows=range(ROWS))


ARRANGEMENTS = {
    "stream": Arrangement(1, 1, CALL, one_state, "one stream"),
    "seeds": Arrangement(
        ROWS, 1, VALUES, a_seed_each, f"the streams of {ROWS:,} seeds, {VALUES} values in turn"
    ),
    "rows": Arrangement(ROWS, 1, VALUES, new_rows, f"the first {VALUES} of rows 0, 1, 2 ..."),
    "runs": Arrangement(ROWS, 1, VALUES, new_runs, f"the first {VALUES} of runs 0, 1, 2 ..."),
    "nodes": Arrangement(1, 256, 64, one_state, "a model of 256 nodes, 64 values of each in turn"),
    "children": Arrangement(
        ROWS, 1, VALUES, new_children, f"the first {VALUES} of children 0, 1, 2 ... of a state"
    ),
    "together": Arrangement(
        MODEL_ROWS,
        MODEL_NODES,
        VALUES,
        rows_of_a_run,
        f"runs 0, 1, 2 ... of a model: in each {MODEL_ROWS:,} rows, in each {MODEL_NODES} nodes, "
        f"{VALUES} values of each",
    ),
}
BROKEN = {
    "broken-rows": Arrangement(
        ROWS, 1, VALUES, rows_that_overlap, "each row begins a block after the one before"
    ),
    "broken-runs": Arrangement(ROWS, 1, VALUES, the_same_rows, "every run is the same"),
    "broken-nodes": Arrangement(
        MODEL_ROWS,
        MODEL_NODES,
        VALUES,
        rows_of_a_run,
        "all nodes have one op_seed",
        op_seed=lambda _: 0,
    ),
}
"""Mistakes that a layout could have: a battery that passes them proves nothing."""


def model(source: Source, arrangement: Arrangement) -> onnx.ModelProto:
    """The model: nodes that share a state, as a rewrite leaves them, and their values in turn."""
    rows, nodes, values = arrangement.rows, arrangement.nodes, arrangement.values
    lines = []
    for i in range(nodes):
        output = f"v{i}, next_state" if i == 0 else f"v{i}"
        node = source.node.format(op_seed=arrangement.op_seed(i), size=values)
        lines.append(f"{output} = onnx_philox.{node}")
    proto = parser.parse_model(f"""
        <ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
        g (uint32[{rows}, 6] state)
          => ({source.type}[{rows}, m] values, uint32[{rows}, 6] next_state)
        <int64[2] shape = {{{rows}, {values}}}, float zero = {{0}}, float one = {{1}},
         double zero64 = {{0}}, double one64 = {{1}}, float half = {{0.5}},
         float ln2 = {{0.6931472}}> {{
          {chr(10).join(lines)}
          values = Concat <axis = 1> ({", ".join(f"v{i}" for i in range(nodes))})
        }}""")
    exponents = np.minimum(np.arange(CLASSES, dtype=np.float64), CLASSES - 2)
    logits = np.tile(-np.log(2) * exponents, (rows, 1))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(logits, "logits"))
    return proto


def drawn(source: str, arrangement: str, seed: int = SEED) -> Iterator[NDArray[Any]]:
    """What each call of ONNX Runtime draws, through the native library, without end."""
    import onnxruntime

    layout = (ARRANGEMENTS | BROKEN)[arrangement]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it warns of parameters that this source has no use for
    proto = model(SOURCES[source], layout)
    session = InferenceSession(proto.SerializeToString(), options, backend="native")
    next_state: Words | None = None
    for call in itertools.count():
        state = layout.states(seed, call)
        values, next_state = session.run(None, {"state": next_state if state is None else state})
        yield values


def bits(source: str, arrangement: str, seed: int = SEED) -> Iterator[bytes]:
    """The bits of those values, without end."""
    for values in drawn(source, arrangement, seed):
        yield np.ascontiguousarray(SOURCES[source].bits(values)).tobytes()


def main() -> None:
    """Writes bits that the operators draw, without end."""
    options = argparse.ArgumentParser(description=main.__doc__)
    options.add_argument("source", choices=tuple(SOURCES))
    options.add_argument("arrangement", choices=tuple(ARRANGEMENTS | BROKEN))
    options.add_argument("--seed", type=int, default=SEED)
    given = options.parse_args()
    try:
        for chunk in bits(given.source, given.arrangement, given.seed):
            sys.stdout.buffer.write(chunk)
    except BrokenPipeError:
        # Nobody reads on; Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
