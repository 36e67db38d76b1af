"""What `rewrite --standard --target web` writes: one file, whose draws a page can show."""

from __future__ import annotations

from pathlib import Path

import onnx

from onnx_philox import rewriting
from onnx_philox._contract import checks
from onnx_philox._files.new_files import NewFiles
from onnx_philox._progress import Progress
from onnx_philox._rewriting import api
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.look import OnnxLook

_LARGEST = 2**31 - 1  # of a message of protobuf


def write_for_web(
    seen: OnnxLook,
    target: Path,
    inexact: str,
    asked: Asked,
    progress: Progress,
) -> rewriting.Report:
    """Rewrites a file into one of standard nodes for a page: see `to_standard_nodes`.

    Weights that lie beside the model come into the file.

    Raises:
        ValueError: As in `to_standard_file`; or the file would be too large for protobuf.
    """
    with NewFiles() as files:
        # Beside the target, where there is room for the weights.
        between = files.folder_beside(target) / "model.onnx"
        report, _ = api.write_rewritten(seen, between, asked, progress)
        model = onnx.load(between)
    standard = rewriting.to_standard_nodes(model, target="web", inexact=inexact)
    if standard.ByteSize() > _LARGEST:
        allowed = f"at most {_LARGEST:,} bytes, the most that protobuf reads"
        remedy = "Choose the target onnxruntime, which keeps weights beside the model."
        checks.refuse("rewrite", "the model", f"{standard.ByteSize():,} bytes", allowed, remedy)
    with NewFiles() as files, files.open(target) as file:
        file.write(standard.SerializeToString())
    return report
