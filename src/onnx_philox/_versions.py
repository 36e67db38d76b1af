"""The lowest versions of the runtimes, and the commands that install them.

For the lowest versions `onnx-philox verify` proves every number.
"""

from __future__ import annotations

import re
import sysconfig

from onnx_philox._contract.refusal import RefusalError

LOWEST = {
    # Older versions give RandomCategorical no type of its own. The library refuses them, too.
    "onnxruntime": "1.19",
    # Older versions silently clamp states to 2^31-1 for operators written in Python.
    "openvino": "2025.4",
}

IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
"""Whether this Python has no global lock: `python3.13t` is one."""

_TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


class OldRuntimeError(RefusalError, ImportError):
    """A runtime is installed, but too old to draw the same numbers."""


def install_command(
    extra: str,
    *,
    upgrade: bool = False,
    free_threaded: bool = IS_FREE_THREADED,
) -> str:
    """The command for a shell that installs what an extra of this package brings.

    onnxruntime-extensions has no wheel for free-threaded Python, and no marker of a requirement
    knows free threading: there the extra onnxruntime cannot be resolved, and ONNX Runtime is named.
    """
    install = "pip install --upgrade" if upgrade else "pip install"
    if free_threaded and extra == "onnxruntime":
        return f"{install} 'onnxruntime>={LOWEST[extra]}'"
    return f"{install} 'onnx-philox[{extra}]'"


def check_version(runtime: str, version: str) -> None:
    """Refuses a runtime that is too old.

    A version that is not a number, such as that of a private build, counts as new.

    Raises:
        OldRuntimeError: It is older than the one in `LOWEST`.
    """
    if _numbers(version) < _numbers(LOWEST[runtime]):
        allowed = f"{LOWEST[runtime]} or newer"
        remedy = f"Upgrade it: {install_command(runtime, upgrade=True)}."
        raise OldRuntimeError(f"onnx_philox.{runtime}", _TITLES[runtime], version, allowed, remedy)


def _numbers(version: str) -> tuple[float, ...]:
    found = re.match(r"(\d+)\.(\d+)", version)
    if not found:
        return (float("inf"),)
    return tuple(map(float, found.groups()))
