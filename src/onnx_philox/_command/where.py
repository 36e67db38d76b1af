"""The subcommand `path`."""

from __future__ import annotations

import click

from onnx_philox import _command as rooms
from onnx_philox import _native_library
from onnx_philox import _runtimes as runtimes
from onnx_philox._command import frame

_CMAKE = "cmake"


def _with_path() -> list[str]:
    return [*runtimes.with_library(), _CMAKE]


@click.command(
    cls=frame.Command,
    short_help="Print where a runtime's native library is.",
    arguments={
        "RUNTIME": "onnxruntime or openvino, which need not be installed; or cmake, for the folder "
        "that CMake takes: -Donnx_philox_DIR=FOLDER."
    },
    example="onnx-philox path onnxruntime",
    exits="0, it is printed; 2, there is no such library.",
)
@click.argument("runtime", type=frame.NameChoice(by=_with_path), metavar="RUNTIME")
def path(runtime: str) -> None:
    """Print the path of a runtime's native library, for C, C++ and model servers."""
    if runtime not in (allowed := _with_path()):
        listed = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        text = f"RUNTIME must be {listed}: got {runtime!r}. Choose one of these."
        rooms.terminal.fail("path", ValueError(text), 2)
    if runtime == _CMAKE:
        library, needed = _native_library.find_cmake(), "onnxruntime"
    else:
        library, needed = _native_library.find(runtime), runtime
    if library is None:
        rooms.terminal.fail("path", ImportError(_native_library.missing(needed)), 2)
    click.echo(library)
