"""Makes the golden files that are not there yet: models, IR and what they draw.

    python graphs/golden/make.py

Run once for each entry of `FOLDERS`. It writes a new folder and never into one that exists: what
is there is what users may have saved, and stays as it is. The outputs are those of
`onnx_philox.reference`, which must first agree with the independent numbers that a case names.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import version_1
import version_1_distributions
import version_1_dropout
import version_1_exponential
import version_1_permutation
import version_1_rejecting
import version_1_rows
import version_1_token
import version_1_torch
import version_1_without_replacement
from case import DTYPES, Arrays, Case
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

import onnx_philox

FOLDERS: dict[str, Callable[[], Iterable[tuple[str, Case]]]] = {
    "v1": version_1.cases,
    "v1_distributions": version_1_distributions.cases,
    "v1_rows": version_1_rows.cases,
    "v1_exponential": version_1_exponential.cases,
    "v1_without_replacement": version_1_without_replacement.cases,
    "v1_rejecting": version_1_rejecting.cases,
    "v1_dropout": version_1_dropout.cases,
    "v1_permutation": version_1_permutation.cases,
    "v1_token": version_1_token.cases,
    "v1_torch": version_1_torch.cases,
}


def _outputs(case: Case) -> list[Arrays]:
    """What the reference draws, run by run."""
    evaluator = ReferenceEvaluator(case.model, new_ops=onnx_philox.onnx_reference.OPS)
    names = [o.name for o in case.model.graph.output]
    outputs = [dict(zip(names, evaluator.run(None, run), strict=True)) for run in case.runs]
    if case.check is not None:
        case.check(outputs)
    return outputs


def _as_text(array: NDArray[Any]) -> dict[str, Any]:
    """A tensor as its type, its shape and the bits of each element, in hex."""
    array = np.asarray(array)
    name = next(n for n, dtype in DTYPES.items() if array.dtype == dtype)
    digits = 2 * array.dtype.itemsize
    words = array.reshape(-1).view(f"u{array.dtype.itemsize}").tolist()
    return {
        "type": name,
        "shape": list(array.shape),
        "bits": " ".join(f"{word:0{digits}x}" for word in words),
    }


def _write(folder: Path, name: str, case: Case) -> None:
    runs = [
        {
            "inputs": {k: _as_text(v) for k, v in inputs.items()},
            "outputs": {k: _as_text(v) for k, v in outputs.items()},
        }
        for inputs, outputs in zip(case.runs, _outputs(case), strict=True)
    ]
    onnx.checker.check_model(case.model, full_check=True)
    onnx.save(case.model, folder / f"{name}.onnx")
    core = onnx_philox.openvino.register(ov.Core())
    ov.save_model(core.read_model(case.model.SerializeToString()), folder / f"{name}.xml")
    text = json.dumps({"checked_with": case.source, "runs": runs}, indent=1)
    (folder / f"{name}.json").write_text(text + "\n")


def main() -> None:
    """Makes the folders that are missing, and all files in them."""
    here = Path(__file__).parent
    missing = [name for name in FOLDERS if not (here / name).exists()]
    if not missing:
        names = " and ".join(FOLDERS).replace(" and ", ", ", len(FOLDERS) - 2)
        sys.exit(f"{names} exist, and golden files are never made again: add a folder to FOLDERS.")
    onnx_philox.register_schemas()
    for name in missing:
        _make(here / name, FOLDERS[name]())


def _make(target: Path, cases: Iterable[tuple[str, Case]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "files"
        folder.mkdir()
        for name, case in cases:
            _write(folder, name, case)
        files = sorted(folder.iterdir())
        sums = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files]
        (folder / "SHA256SUMS").write_text("".join(sums))
        # All or nothing.
        shutil.copytree(folder, target)
    print(f"Wrote {len(files)} files to {target}, and SHA256SUMS.")


if __name__ == "__main__":
    main()
