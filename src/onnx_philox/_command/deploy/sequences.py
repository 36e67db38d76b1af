"""Models whose state Triton keeps for each sequence of requests, whose number is its seed."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir

from onnx_philox._command.deploy.triton import ID, START
from onnx_philox._contract.streams import Streams
from onnx_philox._models.emitter import Emitter, Names
from onnx_philox._models.opsets import onnx_opset_of
from onnx_philox._models.streams import streams_of
from onnx_philox._runtimes.port import ArgumentError

_BOOL, _INT64, _UINT32 = ir.DataType.BOOL, ir.DataType.INT64, ir.DataType.UINT32
# The first opset whose Where takes int64 in ONNX Runtime. Mod is older.
_OLDEST_OPSET = 10


def begin_sequences(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, Streams]:
    """Makes a model begin a sequence of requests by itself, with the sequence's number as the seed.

    Two inputs are added, which the server fills: whether a sequence begins, and its number. Where
    one begins, the state is `PhiloxState.for_run(number)`; the server's own is not read. The
    model's weights need not be loaded.

    Raises:
        ArgumentError: The model has no state of one dimension, or one for each row; or its opset is
            too old; or it draws torch's numbers.
    """
    model = ir.from_proto(proto)
    streams, opset = streams_of(model), onnx_opset_of(model.opset_imports)
    if streams is None or opset < _OLDEST_OPSET:
        raise ArgumentError(
            "with --sequences, the model must be one with random nodes, rewritten without a seed, "
            f"of opset {_OLDEST_OPSET} or newer: got one without a state as an input, or of an "
            "older opset. Rewrite it with onnx-philox rewrite."
        )
    if streams.is_pytorch:
        raise ArgumentError(
            "with --sequences, the model must be one that draws numbers of Philox: got one that "
            "draws torch's, whose generator a model cannot seed. Rewrite the original without "
            "--alignment, or leave out --sequences and send the state with each request."
        )
    names = Names(model)
    for name in (START, ID):
        if names.unique(name) != name:
            raise ArgumentError(
                "with --sequences, the names in the model must be other ones than Triton's for a "
                f"sequence: got {name!r}. Export the model with other names."
            )
    graph = model.graph
    (state,) = (value for value in graph.inputs if value.name == streams.state)
    assert state.shape is not None
    rows = [*state.shape][:-1]
    start = ir.val(START, dtype=_BOOL, shape=ir.Shape([*rows, 1]))
    number = ir.val(ID, dtype=_INT64, shape=ir.Shape([*rows, 1]))
    emitter = Emitter(names, opset, "sequence.")
    whole = emitter.constant("whole", np.array([2**32]))
    # Mod takes the sign of the divisor: numbers from 2^63 on, negative here, come out right.
    low = emitter.emit("Mod", "low", [number, whole], _INT64, number.shape)
    above = emitter.elementwise("Sub", "above", number, low, _INT64)
    high = emitter.elementwise("Div", "high", above, whole, _INT64)
    zero = emitter.elementwise("Mul", "zero", low, emitter.constant("none", np.array([0])), _INT64)
    parts = [zero, zero, zero, zero, low, high]
    first = emitter.emit("Concat", "first", parts, _INT64, state.shape, {"axis": -1})
    words = emitter.cast("words", state, _INT64)
    choices = [start, first, words]
    chosen = emitter.emit("Where", "chosen", choices, _INT64, state.shape)
    begun = emitter.cast("state", chosen, _UINT32)
    readers = [(node, index) for node, index in state.uses() if node is not words.producer()]
    for node, index in readers:
        node.replace_input_with(index, begun)
    graph.inputs.extend([start, number])
    graph[0].prepend(emitter.nodes)
    return ir.to_proto(model), streams
