"""The file that holds the results of a run."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._files.new_files import NewFiles, tidied_up_on_signals
from onnx_philox._runtimes.port import Arrays

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def prefix(output: str, model: Path) -> str:
    """The beginning of the files' names."""
    path = Path(output)
    if path.is_dir() or output.endswith(("/", "\\")):
        path = path / model.stem
    return str(path)


def existing(prefix: str, runs: range) -> list[Path]:
    """The files of these runs that already exist."""
    folder = Path(prefix).parent
    names = re.compile(re.escape(Path(prefix).name) + r"\.run(0|[1-9]\d*)\.npz")
    found = [names.fullmatch(path.name) for path in folder.iterdir()] if folder.is_dir() else []
    return [_path(prefix, int(name[1])) for name in found if name and int(name[1]) in runs]


def save(prefix: str, run: int, outputs: Arrays) -> Path:
    """Saves the outputs of a run; the same outputs give the same file, byte by byte.

    `numpy.savez` would write the time of day, and takes no output of the name "file".
    """
    path = _path(prefix, run)
    with (
        tidied_up_on_signals(),
        NewFiles() as files,
        files.open(path) as file,
        zipfile.ZipFile(file, "w") as archive,
    ):
        for name, array in outputs.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _storable(array), allow_pickle=False)
    return path


def _path(prefix: str, run: int) -> Path:
    return Path(f"{prefix}.run{run}.npz")


def _storable(array: NDArray[Any]) -> NDArray[Any]:
    """The array in one of NumPy's own types: bfloat16 as float32, which can hold all its values."""
    return array.astype(np.float32) if array.dtype == _BFLOAT16 else array
