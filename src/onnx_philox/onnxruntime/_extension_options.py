"""Brings the Python ops into SessionOptions, whatever these hold already.

Registering onnxruntime-extensions registers its own operators and all Python ops declared by
then. Doing it twice on one SessionOptions makes every later session fail, and SessionOptions do
not tell what they hold: two tiny sessions find out.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import onnx
import onnxruntime as ort
from onnx import helper
from onnxruntime_extensions import get_library_path

from onnx_philox._element_types import U32
from onnx_philox._operators import RANDOM_GENERATOR
from onnx_philox.onnxruntime import _python_ops

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"

# Held while options of the user's are changed.
_lock = threading.RLock()
_holders: weakref.WeakSet[ort.SessionOptions] = weakref.WeakSet()


def with_python_ops(options: ort.SessionOptions | None) -> tuple[ort.SessionOptions, bool]:
    """Options that hold the Python ops, and whether they are ours rather than the user's.

    Options that registered onnxruntime-extensions before the Python ops were declared can take
    neither them nor the extensions again: a copy of their settings serves instead. It lacks what
    other libraries registered, which no copy can have.
    """
    with _lock:
        if options is None:
            options = ort.SessionOptions()
            options.register_custom_ops_library(get_library_path())
            return options, True
        if options in _holders:
            return options, False
        if _try(options, _python_op_model()) is None:
            copy = _try(options, _extensions_model())
            if copy is not None:
                copy.register_custom_ops_library(get_library_path())
                return copy, True
            options.register_custom_ops_library(get_library_path())
        _holders.add(options)
        return options, False


@contextmanager
def external_folder(options: ort.SessionOptions, path: str, *, restore: bool) -> Iterator[None]:
    """Lets a model that is loaded from bytes find its external data in a folder.

    With `restore` the options are then as they were, but for an empty entry: ONNX Runtime has no
    way to remove one.
    """
    with _lock:
        options.add_session_config_entry(_EXTERNAL_FOLDER, path)
        try:
            yield
        finally:
            if restore:
                options.add_session_config_entry(_EXTERNAL_FOLDER, "")


def _try(options: ort.SessionOptions, model: bytes) -> ort.SessionOptions | None:
    """A copy of the options' settings if a session with this model can be made; else None."""
    with _without_traces(options):
        try:
            session = ort.InferenceSession(
                model, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        except Exception:
            # An unknown operator is ONNX Runtime's Fail; the session that is asked for will
            # meet any other trouble again, and report it.
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


def _python_op_model() -> bytes:
    op = RANDOM_GENERATOR
    return _model(
        _python_ops.DOMAIN,
        _python_ops.name_of(op, U32),
        [("run", "INT64"), ("state", "UINT32"), ("shape", "INT64")],
        [("bits", "UINT32"), ("next_state", "UINT32")],
        {a.name: a.default for a in op.attributes},
    )


def _extensions_model() -> bytes:
    # An operator that every release of onnxruntime-extensions has had.
    return _model("ai.onnx.contrib", "StringLength", [("x", "STRING")], [("y", "INT64")], {})


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
