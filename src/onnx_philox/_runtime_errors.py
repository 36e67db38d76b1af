"""What a runtime itself says in an error, without what it wraps around."""

from __future__ import annotations

import re

_ONNXRUNTIME = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
_WRAPPING = re.compile(r"^(Exception from |Check '|While validating |-- |To facilitate )")
# What OpenVINO says where only its summary says more.
_EMPTY = ("Model wasn't fully converted.",)


def sentence(text: str) -> str:
    """The sentence of an error of ONNX Runtime or OpenVINO that says what is wrong.

    ONNX Runtime puts its codes and the node before it; OpenVINO the files and checks on the way to
    it, and a summary after it.

    Example:
        >>> sentence("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation "
        ...          "for RandomUniform(22) node with name 'noise'")
        'Could not find an implementation for RandomUniform(22)'
    """
    text = _ONNXRUNTIME.sub("", text.strip())
    text = text.rpartition(" Status Message: ")[2]
    text = re.sub(r" node with name '.*'$", "", text)
    before, _, summary = text.partition("\nSummary:")
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    told = [line for line in lines if not _WRAPPING.match(line)]
    if told and told[-1] not in _EMPTY:
        return told[-1]
    summed_up = [line.removeprefix("-- ") for line in summary.splitlines() if line.strip()]
    return (summed_up or told or lines or [""])[-1].strip()
