"""The files that a user names: a model must be there, and a folder is never made for an output."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from onnx_philox._files.given import PATHS, Form, Given
from onnx_philox._runtimes.port import ArgumentError


def no_such_file(what: str, path: object) -> ArgumentError:
    """The error for a file that is not there."""
    return ArgumentError(f"no such file: {path}. Check the path of {what}.")


def given(command: str, path: Path, takes: Set[Form] = PATHS) -> Given:
    """The model that a user names to a command.

    Raises:
        ArgumentError: It is not there, or is no file.
        ValueError: The command takes ONNX files alone, and it is an IR.
    """
    if path.is_file():
        return Given.of(command, path, takes)
    if not path.exists():
        raise no_such_file("the model", path)
    what = "a folder" if path.is_dir() else "no plain file"
    raise ArgumentError(f"the model must be a file: got {path}, {what}. Name the model's file.")


def check_folder(path: Path) -> None:
    """Refuses an output in a folder that is not there: a slip in a path would make new folders.

    Raises:
        ArgumentError: It is such a path.
        FileNotFoundError: The working directory has been deleted.
    """
    folder = path.parent
    if not folder.absolute().is_dir():
        is_what = "which is none" if folder.exists() else "which does not exist"
        raise ArgumentError(
            f"the output must be in a folder: got {folder}, {is_what}. Make it, or choose another."
        )
