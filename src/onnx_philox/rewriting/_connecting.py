"""The pass that gives the model its next state and the import of this package's operators."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onnx_philox import _checks
from onnx_philox._operators import DOMAIN, OPSET_VERSION, STATE_WORDS
from onnx_philox.rewriting._emitting import ADD_OF_INTEGERS, Emitter, Names
from onnx_philox.rewriting._finding import opset_of
from onnx_philox.rewriting._recorded import NEXT_STATE, OWNER, STATE

_RUN_WORD = 3


class Connect(ir.passes.InPlacePass):
    """Adds the output `next_random_state`, where the state is an input, and the opset import.

    The next state is the next run: counter word 3 plus 1, in int64, which wraps when it is cast
    back to uint32.
    """

    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Connects."""
        model.opset_imports[DOMAIN] = OPSET_VERSION
        graph = model.graph
        state = next((value for value in graph.inputs if value.name == STATE), None)
        if state is not None and all(value.name != NEXT_STATE for value in graph.outputs):
            emitter = Emitter(self._names, opset_of(model.opset_imports, ""), "")
            graph.outputs.append(_next_run(emitter, state))
            graph.extend(emitter.nodes)
        return ir.passes.PassResult(model, modified=True)


def check_opset(opset: int) -> None:
    """Refuses a model whose opset cannot compute the next state."""
    if opset < ADD_OF_INTEGERS:
        _checks.refuse(
            OWNER,
            "the model's opset",
            opset,
            f"{ADD_OF_INTEGERS} or newer, or a seed",
            "Raise it by onnx.version_converter.convert_version(model, 7), or give a seed: only "
            "then the model needs no next state, for which older opsets have no operators.",
        )


def _next_run(emitter: Emitter, state: ir.Value) -> ir.Value:
    one_run = np.zeros(STATE_WORDS, np.int64)
    one_run[_RUN_WORD] = 1
    words = emitter.cast("words", state, ir.DataType.INT64)
    one = emitter.constant("one_run", one_run)
    advanced = emitter.elementwise("Add", "next_words", words, one, ir.DataType.INT64)
    output = emitter.cast("next", advanced, ir.DataType.UINT32)
    output.name = NEXT_STATE
    return output
