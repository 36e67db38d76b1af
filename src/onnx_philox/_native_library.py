"""Finds the native libraries, if the package was installed with them."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

_SUFFIXES = (".so", ".dll", ".dylib")


@cache
def find(runtime: str) -> Path | None:
    """The library for a runtime, "onnxruntime" or "openvino"; None if there is none."""
    package = find_spec("onnx_philox")
    assert package is not None
    assert package.submodule_search_locations is not None
    # An editable install has two folders: one for the source, one for what was built.
    folders = [Path(folder, "lib") for folder in package.submodule_search_locations]
    files = [f for folder in folders for f in folder.glob(f"*onnx_philox_{runtime}.*")]
    return next((f for f in files if f.suffix in _SUFFIXES), None)


def find_cmake() -> Path | None:
    """The folder that CMake's `find_package` takes; None where nothing was compiled."""
    libraries = (find(runtime) for runtime in ("onnxruntime", "openvino"))
    folders = (file.parent / "cmake" / "onnx_philox" for file in libraries if file)
    return next((folder for folder in folders if folder.is_dir()), None)


def missing(runtime: str) -> ImportError:
    """The error for a missing library, which says what to do."""
    return ImportError(
        f"onnx_philox.{runtime}: backend 'native' needs the native library, which is not here: the "
        "wheel for this system has none, or it did not compile. Install from the sources where a "
        "C++17 compiler is found ('pip install -v .' shows what is wrong), or use backend='python'."
    )
