"""The rules of the name that a user gives to a new model's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

from onnx_philox._contract.refusal import refuse
from onnx_philox._files import openvino_ir
from onnx_philox._files.utf8_path import check_path


def check(
    owner: str,
    given: Any,
    what: str = "the output",
    *,
    of_openvino: bool = False,
    converts: bool = False,
    for_ir: str = "",
) -> Path:
    """Where a user wants a model.

    Args:
        owner: The function or command that the messages name.
        given: What it is given.
        what: What a message calls that.
        of_openvino: Whether the model is OpenVINO's own.
        converts: Whether the name may ask for an IR of a model of ONNX.
        for_ir: What does so where this does not, for the message.

    Raises:
        TypeError: It is no path.
        ValueError: It is no name for such a file.
    """

    def refuse_for(allowed: str, remedy: str = "Choose such a name.", also: str = "") -> NoReturn:
        refuse(owner, what, f"{str(given)!r}{also}", allowed, remedy)

    if not isinstance(given, str | os.PathLike):
        refuse(owner, what, type(given).__name__, "a path", "Pass a path.", TypeError)
    path = Path(given)
    is_ir = openvino_ir.is_ir(given)
    if "\0" in str(path) or not os.fspath(given):
        refuse_for("the path of a file")
    check_path(owner, path, what, "Choose another name.")
    if path.is_dir():
        refuse_for("a file", "Name a file in it.", ", a folder")
    if of_openvino and not is_ir:
        refuse_for("a name that ends in .xml, since the model is an OpenVINO IR")
    if converts and not is_ir and path.suffix != ".onnx":
        refuse_for("a name that ends in .onnx, or in .xml for an OpenVINO IR")
    if is_ir and not (of_openvino or converts):
        remedy = f"Choose such a name; OpenVINO reads ONNX files, too.{for_ir and f' {for_ir}'}"
        refuse_for("a name that does not end in .xml, since the model is written as ONNX", remedy)
    return path
