"""Makes the golden files that are not there yet: models, IR and what they draw.

    python graphs/golden/make.py

Run once for each line of `additions.ADDITIONS`. It writes a new folder and never into one that
exists: what is there is what users may have saved, and stays as it is. The outputs are those of
`onnx_philox.reference`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
from additions import ADDITIONS, Golden, models
from numpy.typing import NDArray

import onnx_philox
from onnx_philox._contract.types import BY_DTYPE


def _as_text(array: NDArray[Any]) -> dict[str, Any]:
    """A tensor as its type, its shape and the bits of each element, in hex."""
    array = np.asarray(array)
    digits = 2 * array.dtype.itemsize
    words = array.reshape(-1).view(f"u{array.dtype.itemsize}").tolist()
    return {
        "type": BY_DTYPE[array.dtype].name,
        "shape": list(array.shape),
        "bits": " ".join(f"{word:0{digits}x}" for word in words),
    }


def _write(folder: Path, name: str, golden: Golden) -> None:
    runs = [
        {
            "inputs": {k: _as_text(v) for k, v in inputs.items()},
            "outputs": {k: _as_text(v) for k, v in outputs.items()},
        }
        for inputs, outputs in zip(golden.runs, golden.outputs, strict=True)
    ]
    onnx.checker.check_model(golden.model, full_check=True)
    onnx.save(golden.model, folder / f"{name}.onnx")
    core = onnx_philox.openvino.register(ov.Core())
    ov.save_model(core.read_model(golden.model.SerializeToString()), folder / f"{name}.xml")
    text = json.dumps({"checked_with": golden.source, "runs": runs}, indent=1)
    (folder / f"{name}.json").write_text(text + "\n")


def main() -> None:
    """Makes the folders that are missing, and all files in them."""
    here = Path(__file__).parent
    missing = [name for name in ADDITIONS if not (here / name).exists()]
    if not missing:
        names = " and ".join(ADDITIONS).replace(" and ", ", ", len(ADDITIONS) - 2)
        sys.exit(f"{names} exist, and golden files are never made again: add a line to ADDITIONS.")
    for name in missing:
        make(here / name, ADDITIONS[name])


def make(target: Path, operators: Iterable[str]) -> None:
    """Makes a folder of what operators draw."""
    onnx_philox.register_schemas()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "files"
        folder.mkdir()
        for operator in operators:
            for name, golden in models(operator):
                _write(folder, name, golden)
        files = sorted(folder.iterdir())
        sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files]
        (folder / "SHA256SUMS").write_text("".join(sums))
        # All or nothing.
        shutil.copytree(folder, target)
    print(f"Wrote {len(files)} files to {target}, and SHA256SUMS.")


if __name__ == "__main__":
    main()
