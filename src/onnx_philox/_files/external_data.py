"""External data: finds where a model says it lies, checks the place, and reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo

from onnx_philox._contract import checks
from onnx_philox._files import without_weights
from onnx_philox._files.tensors import tensors


def locations(model: onnx.ModelProto) -> list[str]:
    """The files that a model's tensors lie in, each once, as paths from the model's folder."""
    return sorted({place for tensor in tensors(model) for place in _locations(tensor)})


def check(owner: str, model: Path, place: str, *, is_needed: bool) -> Path:
    """The file of a location, which must be a plain file in the folder of the model.

    The check follows links, as ONNX Runtime does. The file that they lead to must lie in the folder
    of the model or, if the model itself is a link, in the folder of the file that it leads to.

    Args:
        owner: What messages name as the one that refuses.
        model: The model's file.
        place: The location.
        is_needed: Whether the file must be there.

    Raises:
        ValueError: It is not.
    """
    path = Path(place)
    if not place or "\0" in place or path.is_absolute() or ".." in path.parts:
        checks.refuse(
            owner,
            "the place of external data",
            repr(place),
            "a path inside of the model's folder",
            "Save the model anew with onnx.save(model, path, save_as_external_data=True).",
        )
    file = model.parent / place
    what = f"the external data {place!r}"
    folders = dict.fromkeys(str(f) for f in (_real(model.parent), _real(model).parent))
    if not any(_real(file).is_relative_to(folder) for folder in folders):
        checks.refuse(
            owner,
            what,
            f"a link to {str(_real(file))!r}",
            f"a file in the model's folder, {' or '.join(map(repr, folders))}",
            "Put the file itself there.",
        )
    if not file.is_file() and (is_needed or os.path.lexists(file)):
        checks.refuse(
            owner,
            what,
            "no plain file" if file.exists() else "not there",
            f"a file in the folder of {str(model)!r}",
            "Put the file beside the model.",
        )
    return file


def check_target(owner: str, target: Path, place: str) -> Path:
    """The file that a location means beside a model that is to be written.

    Raises:
        ValueError: Links there lead out of the folder, where runtimes would not read it.
    """
    file = target.parent / place
    if not _real(file).is_relative_to(_real(target.parent)):
        checks.refuse(
            owner,
            f"the external data {place!r} beside the output",
            f"a link to {str(_real(file))!r}",
            f"a file in the output's folder, {str(_real(target.parent))!r}",
            "Choose another folder for the output.",
        )
    return file


def load(owner: str, tensor: onnx.TensorProto, model: Path) -> None:
    """Puts what lies in a file into the tensor itself.

    Raises:
        ValueError: The file is not there, is elsewhere, or is shorter than the tensor says.
        OSError: The file cannot be read.
    """
    info = ExternalDataInfo(tensor)
    path = check(owner, model, info.location, is_needed=True)
    offset = info.offset or 0
    rest = path.stat().st_size - offset
    length = rest if info.length is None else info.length
    if not 0 <= length <= rest:
        checks.refuse(
            owner,
            f"the tensor {tensor.name!r}",
            f"in bytes {offset} to {offset + length} of {info.location!r}",
            f"at most the {offset + rest} bytes that the file has",
            "Save the model anew with onnx.save(model, path, save_as_external_data=True).",
        )
    with open(path, "rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _locations(tensor: onnx.TensorProto) -> Iterator[str]:
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    is_stretch = without_weights.stretch_of(tensor) is not None
    # All, though one is enough: runtimes differ in which of several they read.
    places = [entry.value for entry in tensor.external_data if entry.key == "location"]
    if is_stretch:
        # The last is the stretch's own.
        places.pop()
    elif not places:
        places = [""]
    yield from places


def _real(path: Path) -> Path:
    """Where all links lead."""
    return Path(os.path.realpath(path))
