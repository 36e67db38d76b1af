"""Registers the Python ops on SessionOptions, whatever these already hold.

Registering onnxruntime-extensions registers its own operators and all Python ops declared by then.
Registering it twice on one SessionOptions makes every later session fail. SessionOptions do not
tell what they hold, so two tiny sessions find out.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import onnxruntime as ort
from onnxruntime_extensions import get_library_path

from onnx_philox._contract.operators import RANDOM_GENERATOR
from onnx_philox._contract.types import I64, U32
from onnx_philox.onnxruntime import _onnxruntime_ops, _trial

_log = logging.getLogger("onnx_philox")
_STRING = 8  # in onnx.TensorProto.DataType

_holders: weakref.WeakSet[ort.SessionOptions] = weakref.WeakSet()


def with_python_ops(options: ort.SessionOptions | None) -> ort.SessionOptions:
    """Options that hold the Python ops: the user's own if possible.

    Options that registered onnxruntime-extensions before the Python ops were declared can take
    neither these nor the extensions again. Then a copy of their settings takes their place. The
    copy lacks what other libraries registered, since that cannot be copied.
    """
    with _trial.LOCK:
        if options is None:
            options = ort.SessionOptions()
            options.register_custom_ops_library(get_library_path())
        elif options not in _holders and _try_python_op(options) is None:
            options = _try_extensions(options) or options
            options.register_custom_ops_library(get_library_path())
        _holders.add(options)
        return options


@contextmanager
def loading_legalised(options: ort.SessionOptions, folder: str | None) -> Iterator[None]:
    """Lets a legalised model, loaded from bytes, find its external data; copies none of it."""
    with _trial.LOCK, _trial.external_folder(options, folder):
        wanted_file = options.optimized_model_filepath
        if wanted_file:
            _log.warning(
                "onnx_philox.onnxruntime: backend 'python' writes no optimized model to %r, "
                "since it would hold operators of this process; backend 'native' can",
                wanted_file,
            )
            options.optimized_model_filepath = ""
        try:
            yield
        finally:
            options.optimized_model_filepath = wanted_file


def _try_python_op(options: ort.SessionOptions) -> ort.SessionOptions | None:
    op = RANDOM_GENERATOR
    return _trial.try_node(
        options,
        _onnxruntime_ops.DOMAIN,
        _onnxruntime_ops.python_op(op, U32, {}).name,
        [("run", I64.onnx), ("state", U32.onnx), ("shape", I64.onnx)],
        [("bits", U32.onnx), ("next_state", U32.onnx)],
        **{a.name: a.default for a in op.attributes if a.default is not None},
    )


def _try_extensions(options: ort.SessionOptions) -> ort.SessionOptions | None:
    # An operator that every release of onnxruntime-extensions has.
    return _trial.try_node(
        options,
        "ai.onnx.contrib",
        "StringLength",
        [("x", _STRING)],
        [("y", I64.onnx)],
    )
