"""The lowest versions of the runtimes: those for which `onnx-philox verify` proves every number."""

from __future__ import annotations

import re

from onnx_philox._contract.refusal import RefusalError

LOWEST = {
    # Older versions give RandomCategorical no type of its own. The library refuses them, too.
    "onnxruntime": "1.19",
    # Older versions silently clamp states to 2^31-1 for operators written in Python.
    "openvino": "2025.4",
}

_TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


class OldRuntimeError(RefusalError, ImportError):
    """A runtime is installed, but too old to draw the same numbers."""


def check_version(runtime: str, version: str) -> None:
    """Refuses a runtime that is too old.

    A version that is not a number, such as that of a private build, counts as new.

    Raises:
        OldRuntimeError: It is older than the one in `LOWEST`.
    """
    if _numbers(version) < _numbers(LOWEST[runtime]):
        allowed = f"{LOWEST[runtime]} or newer"
        remedy = f"Upgrade it: pip install --upgrade 'onnx-philox[{runtime}]'."
        raise OldRuntimeError(f"onnx_philox.{runtime}", _TITLES[runtime], version, allowed, remedy)


def _numbers(version: str) -> tuple[float, ...]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(float, found.groups())) if found else (float("inf"),)
