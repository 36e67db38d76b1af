"""The files that `onnx-philox run --output PATH` writes, one for each run."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onnx_philox._contract.types import BF16
from onnx_philox._files.new_files import NewFiles
from onnx_philox._files.signals import tidied_up_on_signals
from onnx_philox._runtimes.port import Arrays

_SUFFIX = ".npz"


@dataclass(frozen=True)
class OutputFiles:
    """Where the outputs of each run go, and how they are written."""

    beginning: str
    """What the files' names begin with."""
    numbers: range
    """The runs."""
    only: Path | None = None
    """The file of the only run, where its whole name was given."""

    @classmethod
    def of(cls, output: str, model: Path, numbers: range) -> OutputFiles:
        """The files that a PATH means.

        1. A folder: `PATH/MODEL.run0.npz`, ...
        2. A name that ends in `.npz`: that file, where there is one run; of several runs
           `NAME.run0.npz`, ... without the ending.
        3. Anything else is the beginning of the names: `PATH.run0.npz`, ...
        """
        path = Path(output)
        if path.is_dir() or output.endswith(("/", "\\")):
            return cls(str(path / model.stem), numbers)
        if path.suffix != _SUFFIX:
            return cls(str(path), numbers)
        if len(numbers) == 1:
            return cls(str(path), numbers, only=path)
        return cls(str(path.with_suffix("")), numbers)

    def path(self, run: int) -> Path:
        """The file of a run."""
        return self.only or Path(f"{self.beginning}.run{run}{_SUFFIX}")

    @property
    def existing(self) -> list[Path]:
        """The output files that exist already; there may be too many runs to look for each one."""
        if self.only is not None:
            return [self.only] if self.only.exists() else []
        folder = Path(self.beginning).parent
        if not folder.is_dir():
            return []
        name = re.escape(Path(self.beginning).name)
        pattern = re.compile(rf"{name}\.run(0|[1-9]\d*)\{_SUFFIX}")
        found = [pattern.fullmatch(path.name) for path in folder.iterdir()]
        runs = [int(match[1]) for match in found if match]
        return [self.path(run) for run in runs if run in self.numbers]

    def save(self, run: int, outputs: Arrays) -> Path:
        """Saves the outputs of a run; the same outputs give the same file, byte by byte.

        `numpy.savez` would write the time of day, and takes no output of the name "file".

        Raises:
            OSError: The file cannot be written.
        """
        path = self.path(run)
        with (
            tidied_up_on_signals(),
            NewFiles() as files,
            files.open(path) as file,
            zipfile.ZipFile(file, "w") as archive,
        ):
            for name, array in outputs.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    # NumPy has no bfloat16 of its own; float32 holds all its values.
                    stored = array.astype(np.float32) if array.dtype == BF16.dtype else array
                    np.lib.format.write_array(member, stored, allow_pickle=False)
        return path
