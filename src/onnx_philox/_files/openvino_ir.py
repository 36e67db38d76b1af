"""The files of an OpenVINO IR: a model in OpenVINO's own format, with its weights beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NoReturn

from onnx_philox._contract import checks

SUFFIX = ".xml"
_CONSTANT = b'type="Const"'
_BEGINNING = re.compile(rb"<net\b[^>]*\bversion=")
_HEAD = 2**16


def is_ir(path: str | os.PathLike[str]) -> bool:
    """Whether a path names an OpenVINO IR."""
    return Path(path).suffix == SUFFIX


def weights_of(path: Path) -> Path:
    """Where the weights of an IR are."""
    return path.with_suffix(".bin")


def check_ir(owner: str, path: str | os.PathLike[str]) -> None:
    """Refuses a file that is no IR, or whose weights are not in a plain file beside it.

    Links count for what they lead to, as those of a cache of downloads do.

    Raises:
        ValueError: It is such a file.
        OSError: It cannot be read.
    """
    # With onnx_ir, which a pipeline of a session does without.
    from onnx_philox._files import external_data

    path = Path(path)
    text = path.read_bytes()
    if not _BEGINNING.search(text[:_HEAD]):
        # OpenVINO would try each of its front ends, which print.
        refuse(owner, path, "other bytes")
    external_data.check_location(owner, path, weights_of(path).name, is_needed=_CONSTANT in text)


def refuse(owner: str, path: Path, given: str) -> NoReturn:
    """Refuses a file that is not a whole IR."""
    allowed = "a whole OpenVINO IR, of operators that are OpenVINO's or this package's"
    remedy = (
        "Save it again with openvino.save_model; for operators of another extension, read it "
        "with that extension and pass the openvino.Model in Python."
    )
    checks.refuse(owner, str(path), given, allowed, remedy)
