"""Finds out what SessionOptions hold: they do not tell, but a tiny session does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnx
import onnxruntime as ort
from onnx import helper

LOCK = threading.RLock()
"""Held while options of the user's are changed, if only for a moment."""

# ONNX Runtime's own class, even while a user replaces it with ours.
_Session = ort.InferenceSession


def try_node(
    options: ort.SessionOptions,
    domain: str,
    op_type: str,
    inputs: list[tuple[str, str]],
    outputs: list[tuple[str, str]],
    **attributes: Any,
) -> ort.SessionOptions | None:
    """Makes a session of one node; its inputs and outputs are pairs of a name and an ONNX type.

    Returns:
        A copy of the options' settings, without their operators, if a session can be made; None if
        not.
    """
    model = _model(domain, op_type, inputs, outputs, attributes)
    with LOCK, _without_traces(options):
        try:
            session = _Session(
                model, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception:
            # An unknown operator is ONNX Runtime's Fail. The session that the user wants will meet
            # any other error again, and report it.
            return None
    return session.get_session_options()


@contextmanager
def _without_traces(options: ort.SessionOptions) -> Iterator[None]:
    """Keeps a trial session from writing the files that the options ask for."""
    traces = {"enable_profiling": False, "optimized_model_filepath": ""}
    saved = {name: getattr(options, name) for name in traces}
    for name, value in traces.items():
        setattr(options, name, value)
    try:
        yield
    finally:
        for name, value in saved.items():
            setattr(options, name, value)


def _model(
    domain: str,
    op_type: str,
    inputs: list[tuple[str, str]],
    outputs: list[tuple[str, str]],
    attributes: dict[str, Any],
) -> bytes:
    def infos(named: list[tuple[str, str]]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, onnx.TensorProto.DataType.Value(kind), None)
            for name, kind in named
        ]

    node = helper.make_node(
        op_type, [n for n, _ in inputs], [n for n, _ in outputs], domain=domain, **attributes
    )
    graph = helper.make_graph([node], "trial", infos(inputs), infos(outputs))
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return bytes(helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString())
