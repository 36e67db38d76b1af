"""The source of a session's model: a path, bytes or an `onnx.ModelProto`.

A model that need not change reaches ONNX Runtime as it was given. So this module reads only what it
says of the domain (`_scan`); `_surgery` reads the graph, where it must be changed.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._contract import checks
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._files.utf8_path import check_path
from onnx_philox._files.wire import Buffer
from onnx_philox.onnxruntime import _scan

_OWNER = "onnx_philox.onnxruntime.InferenceSession"

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A model as it was given."""

    untouched: str | bytes
    """For ONNX Runtime: the path or the bytes."""
    outline: _scan.Outline | None
    """What it says of the domain; None where it is no ONNX model."""
    folder: str | None
    """Where the model's external data lies; None for a model that is no file."""
    needs_graph: bool = False
    """Whether onnx-ir must read the model's graph."""
    refusal: RefusalError | None = None
    """Why a node of ours has what its operator has not."""

    @property
    def is_ours(self) -> bool:
        """Whether the model uses the domain."""
        return self.outline is not None and bool(self.outline.opsets)

    def checked(self) -> bool:
        """Refuses what the library does not see; whether onnx-ir must read the model's graph.

        Raises:
            InvalidArgument: A node has what its operator has not.
        """
        if self.refusal is not None:
            said = str(self.refusal)
            raise _runtime_errors.refused(said, ort_state.InvalidArgument) from self.refusal
        return self.needs_graph

    def scanned(self, model: Buffer) -> Source:
        """The source with all that its bytes say; they are read once."""
        outline = _scan.outline(model)
        found = replace(self, outline=outline)
        if not outline.opsets:
            return found
        try:
            ends = _scan.Graph(model, outline.graph).has_empty_end()
        except RefusalError as error:
            # Without what it was raised in, which holds the bytes.
            return replace(found, refusal=error.with_traceback(None))
        except (ValueError, RecursionError):
            return found  # ONNX Runtime reports what the model is.
        return replace(found, needs_graph=ends or outline.has_functions)

    def read(self, reader: Callable[[Buffer], T]) -> T:
        """What a function reads in the model's bytes.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is empty, or the function says so.
        """
        if isinstance(self.untouched, bytes):
            return reader(self.untouched)
        with (
            open(self.untouched, "rb") as file,
            # Nothing touches the pages of the weights, so mapping costs no memory.
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer,
        ):
            return reader(buffer)


def source_of(source: Any) -> Source:
    """Reads what a model says of the domain, and refuses one that a newer version of it saved.

    It leaves a file that is no ONNX model, such as one in ONNX Runtime's own format, to ONNX
    Runtime, which reports what it is.

    Raises:
        TypeError: The source is none of the three.
        InvalidArgument: The model's opset of the domain is newer than this package.
    """
    # Nobody has one before onnx is imported.
    onnx = sys.modules.get("onnx")
    if onnx is not None and isinstance(source, onnx.ModelProto):
        source = source.SerializeToString()
    if isinstance(source, bytes):
        given = Source(source, None, None)
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        check_path(_OWNER, path)
        given = Source(path, None, _folder(path))
    else:
        what = type(source).__name__
        allowed = "a path, bytes or an onnx.ModelProto"
        checks.refuse(_OWNER, "model", what, allowed, "Pass one of these.", TypeError)
    try:
        found = given.read(given.scanned)
    except (OSError, ValueError):
        return given
    assert found.outline is not None
    for version in found.outline.opsets:
        try:
            checks.check_opset(version, _OWNER)
        except ValueError as error:
            raise _runtime_errors.refused(str(error), ort_state.InvalidArgument) from error
    return found


def _folder(path: str) -> str:
    try:
        return os.path.dirname(os.path.abspath(path))
    except FileNotFoundError as error:
        why = "The working directory has been deleted; give an absolute path"
        raise FileNotFoundError(error.errno, why, path) from error
