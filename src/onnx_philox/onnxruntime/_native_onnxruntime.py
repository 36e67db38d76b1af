"""The backend "native": the compiled library, which runs the user's model unchanged."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _native_library, _runtime_errors
from onnx_philox._contract.operators import DOMAIN, RANDOM_GENERATOR
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.types import I64, U32
from onnx_philox.onnxruntime import _source, _trial
from onnx_philox.onnxruntime._plan import SessionPlan

_RUNTIME = "onnxruntime"

_CUDA = "onnx_philox.cuda"
"""The entry of SessionOptions by which the library knows that a card is to draw."""

_holders: weakref.WeakKeyDictionary[ort.SessionOptions, bool] = weakref.WeakKeyDictionary()
"""Options that hold the library, and whether they asked for cards when it was registered."""


def unavailable() -> ImportError | None:
    """Why this backend cannot be used here, and what to do; None if it can."""
    if _native_library.find(_RUNTIME):
        return None
    return _native_library.missing(_RUNTIME)


def library_path() -> str:
    """The path of the native library, for `RegisterCustomOpsLibrary` of any language.

    Raises:
        ImportError: The package was installed without it.
    """
    path = _native_library.find(_RUNTIME)
    if path is None:
        raise _native_library.missing(_RUNTIME)
    return str(path)


def register(sess_options: ort.SessionOptions, *, cuda: bool = False) -> ort.SessionOptions:
    """Registers the native library on options for ONNX Runtime's own `InferenceSession`.

    Args:
        sess_options: The options. You may register them twice.
        cuda: Whether the operators also draw on NVIDIA's cards, for the providers
            `CUDAExecutionProvider` and `CudaPluginExecutionProvider`: the same bits. Without a
            driver or a card they draw on the CPU, and the log of the first session that shows
            warnings says why. Experimental (docs/cuda.md).

    Returns:
        The options.

    Raises:
        ImportError: The package was installed without the library.
        ValueError: `cuda` is True, and the options were registered without it before.

    Examples:
        >>> import onnxruntime, onnx_philox
        >>> options = onnx_philox.onnxruntime.register(onnxruntime.SessionOptions())
        >>> model = onnx_philox.graphs.random_uniform([3], 50, 100, "i32", op_seed=7)
        >>> session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        >>> session.run(None, {})[0]
        array([83, 99, 55], dtype=int32)
    """
    if not isinstance(sess_options, ort.SessionOptions):
        remedy = "Pass the options that the session will be made with."
        allowed = "onnxruntime.SessionOptions"
        owner = "onnx_philox.onnxruntime.register"
        refuse(owner, "sess_options", repr(sess_options), allowed, remedy, TypeError)
    check_cuda("onnx_philox.onnxruntime.register", cuda)
    path = library_path()
    with _trial.LOCK:
        if sess_options not in _holders:
            # ONNX Runtime refuses a domain that is registered twice, whoever did it.
            is_new = _try_native_op(sess_options) is None
            if is_new and cuda:
                sess_options.add_session_config_entry(_CUDA, "1")
            if is_new:
                sess_options.register_custom_ops_library(path)
            _holders[sess_options] = _trial.entry(sess_options, _CUDA) == "1"
        if cuda and not _holders[sess_options]:
            remedy = "Make new SessionOptions: a registration cannot be changed."
            allowed = "False, as when these options were registered"
            refuse("onnx_philox.onnxruntime.register", "cuda", cuda, allowed, remedy)
    return sess_options


def check_cuda(owner: str, cuda: object) -> None:
    """Refuses anything but a bool."""
    if not isinstance(cuda, bool):
        allowed = "True or False"
        remedy = "Pass cuda=True to draw on cards."
        refuse(owner, "cuda", repr(cuda), allowed, remedy, TypeError)


def _try_native_op(options: ort.SessionOptions) -> ort.SessionOptions | None:
    return _trial.try_node(
        options,
        DOMAIN,
        RANDOM_GENERATOR.name,
        [("state", U32.onnx), ("shape", I64.onnx)],
        [("bits", U32.onnx), ("next_state", U32.onnx)],
    )


def plan(model: Any, options: ort.SessionOptions | None, *, cuda: bool = False) -> NativePlan:
    """Registers the library on the options if the model needs it."""
    source = _source.source_of(model)
    # A file in ONNX Runtime's own format, which only it can read, may contain our operators.
    if source.is_ours or source.outline is None:
        if options is None:
            options = ort.SessionOptions()
            if cuda:
                options.add_session_config_entry(_CUDA, "1")
            options.register_custom_ops_library(library_path())
        else:
            options = register(options, cuda=cuda)
    if not source.checked():
        return NativePlan(source.untouched, options, source=source)
    # Imported here, because it needs onnx-ir, and few models need it.
    from onnx_philox.onnxruntime import _changed

    changed = _changed.model(source)
    if changed is None:
        return NativePlan(source.untouched, options, source=source)
    _source.source_of(changed).checked()  # with what functions held
    return NativePlan(changed, options, source.folder, source=source)


@dataclass(frozen=True, kw_only=True)
class NativePlan(SessionPlan):
    """The user's own model, except for functions that draw and inputs with an empty name."""

    source: _source.Source

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Lets ONNX Runtime find a changed model's external data, and words what is refused."""
        try:
            with _trial.external_folder(self.options, self.external_folder):
                yield
        except Exception as error:
            refusal = _runtime_errors.refusal(error)
            if refusal is None and self.source.is_ours:
                # ONNX Runtime has said it; onnx-ir is imported only now.
                from onnx_philox.onnxruntime import _changed

                refusal = _changed.refusal(self.source)
            if refusal is None:
                raise
            raise _runtime_errors.refused(refusal, ort_state.InvalidArgument) from error
