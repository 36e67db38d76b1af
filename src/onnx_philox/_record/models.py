"""What a model's file is: its bytes, those of the files beside it, and its random nodes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx

from onnx_philox._contract.streams import METADATA_KEY, Streams
from onnx_philox._files.openvino_ir import is_ir, weights_of
from onnx_philox._record import hashes


def files(path: Path) -> dict[str, Any]:
    """The model of a record: a file, its hash, and those of the files with its weights."""
    if is_ir(path):
        read = [weights_of(path)]
    else:
        from onnx_philox._files.model_file import opened

        with opened(path, "record") as file:
            read = [other for other in file.reads if other != path]
    beside = {other.name: hashes.of_file(other) for other in read}
    return {"file": str(path), "sha256": hashes.of_file(path), "beside": beside}


def streams(model: Path | onnx.ModelProto) -> Streams | None:
    """The random nodes of a rewritten model; None if it takes no state."""
    from onnx_philox._files.model_file import opened
    from onnx_philox._models.streams import streams_of
    from onnx_philox._models.untouched import Originals

    if isinstance(model, onnx.ModelProto):
        return streams_of(Originals(model, owner="record").model)
    if is_ir(model):
        from onnx_philox._runtimes import in_openvino

        read = in_openvino.read(in_openvino.new_core("auto"), model)
        recorded = in_openvino.metadata(read, METADATA_KEY)
        return None if recorded is None else Streams.from_json(recorded)
    with opened(model, "record") as file:
        return streams_of(Originals(file.proto, file.path.parent, owner="record").model)


def listed(streams: Streams | None) -> dict[str, Any] | None:
    """The same in a record."""
    if streams is None:
        return None
    # Earlier versions knew of no nodes that keep their seeds.
    nodes = [{k: v for k, v in asdict(n).items() if k != "kept" or v} for n in streams.nodes]
    return {"fingerprint": streams.fingerprint, **asdict(streams), "nodes": nodes}
