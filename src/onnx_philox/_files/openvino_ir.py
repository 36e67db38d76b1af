"""The files of an OpenVINO IR: a model in OpenVINO's own format, with its weights beside it."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".xml"


def is_ir(path: str | os.PathLike[str]) -> bool:
    """Whether a path names an OpenVINO IR."""
    return Path(path).suffix == SUFFIX


def weights_of(path: Path) -> Path:
    """Where the weights of an IR are."""
    return path.with_suffix(".bin")
