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

    Afterwards the options are as before, except for an empty entry if there was none: ONNX Runtime
    cannot remove an entry.
    """
    with _trial.LOCK:
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
