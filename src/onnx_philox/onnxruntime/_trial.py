"""Finds out what SessionOptions hold, by a tiny session; and sets entries for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import onnxruntime as ort

from onnx_philox._files.wire import written

Ports = list[tuple[str, int]]
"""Inputs or outputs: pairs of a name and a type of ONNX."""
LOCK = threading.RLock()
"""Held while options of the user's are changed, if only for a moment."""

# ONNX Runtime's own class, even while a user replaces it with ours.
_Session = ort.InferenceSession


def try_node(
    options: ort.SessionOptions,
    domain: str,
    op_type: str,
    inputs: Ports,
    outputs: Ports,
    **attributes: int | str,
) -> ort.SessionOptions | None:
    """Makes a session of one node.

    Returns:
        A copy of the options' settings, without their operators, if a session can be made; None if
        not.
    """
    model = _model(domain, op_type, inputs, outputs, attributes)
    with LOCK, _without_traces(options):
        try:
            session = _Session(
                model,
                options,
                providers=["CPUExecutionProvider"],
                enable_fallback=0,
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
    inputs: Ports,
    outputs: Ports,
    attributes: dict[str, int | str],
) -> bytes:
    """The messages of onnx.proto; importing onnx takes longer than the trial."""

    def info(name: str, kind: int) -> bytes:
        tensor = written((1, kind))
        type_ = written((1, tensor))
        return written((1, name.encode()), (2, type_))

    def attribute(name: str, value: int | str) -> bytes:
        if isinstance(value, int):
            return written((1, name.encode()), (3, value), (20, 2))
        return written((1, name.encode()), (4, value.encode()), (20, 3))

    node = written(
        *((1, name.encode()) for name, _ in inputs),
        *((2, name.encode()) for name, _ in outputs),
        (4, op_type.encode()),
        *((5, attribute(*item)) for item in attributes.items()),
        (7, domain.encode()),
    )
    graph = written(
        (1, node),
        *((11, info(*value)) for value in inputs),
        *((12, info(*value)) for value in outputs),
    )
    opset = written((1, domain.encode()), (2, 1))
    return written((1, 8), (7, graph), (8, opset))


_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


@contextmanager
def external_folder(options: ort.SessionOptions, path: str | None) -> Iterator[None]:
    """Lets a model that is loaded from bytes find its external data in a folder, if it has any.

    Afterwards the options are as before, except for an empty entry if there was none: ONNX Runtime
    cannot remove an entry.
    """
    if path is None:
        yield
        return
    with LOCK:
        before = entry(options, _EXTERNAL_FOLDER)
        options.add_session_config_entry(_EXTERNAL_FOLDER, path)
        try:
            yield
        finally:
            options.add_session_config_entry(_EXTERNAL_FOLDER, before)


def entry(options: ort.SessionOptions, key: str) -> str:
    """An entry of the options; empty if there is none."""
    try:
        return str(options.get_session_config_entry(key))
    except Exception:
        # ONNX Runtime raises this if there is no such entry.
        return ""
