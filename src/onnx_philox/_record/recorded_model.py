"""What a model's file is: its bytes, those of the files beside it, and its random nodes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import Streams
from onnx_philox._files.given import Given
from onnx_philox._record import hashes


def files(given: Given, stamp: object) -> dict[str, Any]:
    """The model of a record: a file, its hash, and those of the files with its weights.

    Raises:
        ValueError: `check_unchanged` says so, or bytes have weights in files: a path finds them.
    """
    check_unchanged(given, stamp)
    if given.is_file:
        beside = {path.name: hashes.of_file(path) for path in given.reads if path != given.path}
        return {"file": given.name, "sha256": given.sha256, "beside": beside}
    from onnx_philox._files import external_data

    for place in external_data.locations(given.proto):
        what = f"bytes with weights in {place!r}"
        allowed = "a path where weights are in files"
        refuse(given.owner, given.what, what, allowed, "Pass the path of the file beside them.")
    return {"file": None, "sha256": hashes.of_bytes(given.model), "beside": {}}


def check_unchanged(given: Given, stamp: object) -> None:
    """Refuses files that are no longer those of a stamp, from before they were read.

    Raises:
        ValueError: One was changed, or is gone.
    """
    if given.stamp != stamp or not given.is_still(stamp):
        what = "one that was changed or is gone"
        allowed = "what it was when it was opened"
        remedy = "Run the model again, by its whole path if os.chdir was called."
        refuse(given.owner, f"the file {given.name!r} with its weights", what, allowed, remedy)


def listed(streams: Streams | None) -> dict[str, Any] | None:
    """The random nodes as a record lists them."""
    if streams is None:
        return None
    # Earlier versions knew of no nodes that keep their seeds.
    nodes = []
    for node in streams.nodes:
        said = asdict(node)
        if not node.kept:
            del said["kept"]
        nodes.append(said)
    return {"fingerprint": streams.fingerprint, **streams.to_dict(), "nodes": nodes}
