"""Entries of SessionOptions that are set while a model is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnxruntime as ort

from onnx_philox.onnxruntime import _trial

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


@contextmanager
def external_folder(options: ort.SessionOptions, path: str) -> Iterator[None]:
    """Lets a model that is loaded from bytes find its external data in a folder.

    The options are then as they were, but for an empty entry where there was none: ONNX Runtime
    has no way to remove one.
    """
    with _trial.LOCK:
        before = _entry(options, _EXTERNAL_FOLDER)
        options.add_session_config_entry(_EXTERNAL_FOLDER, path)
        try:
            yield
        finally:
            options.add_session_config_entry(_EXTERNAL_FOLDER, before)


def _entry(options: ort.SessionOptions, key: str) -> str:
    try:
        return str(options.get_session_config_entry(key))
    except Exception:
        # ONNX Runtime's way to say that there is no such entry.
        return ""
