"""External data: finds where a model says it lies, checks the place, and reads it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._contract.operators import INT64_MAX
from onnx_philox._files import without_weights
from onnx_philox._files.tensors import tensors

_SAVE_ANEW = "Save the model anew with onnx.save(model, path, save_as_external_data=True)."
# What runtimes accept: digits only, without a sign, and below 2^63.
_BYTES = re.compile(r"[0-9]{1,18}")
_SHOWN = 60  # characters of a wrong value


def locations(model: onnx.ModelProto) -> list[str]:
    """The files that hold a model's tensors, each once, as paths from the model's folder."""
    found: set[str] = set()
    for tensor in tensors(model):
        found.update(_locations(tensor))
    return sorted(found)


def lies_inside(folder: Path, files: Iterable[Path]) -> bool:
    """Whether no link leads from a model's files out of its folder."""
    real = _real(folder)
    return all(_real(file).is_relative_to(real) for file in files)


def check_location(
    owner: str,
    model: Path,
    place: str,
    *,
    is_needed: bool,
) -> Path:
    """The file of a location, which must be a plain file in the model's folder.

    The check follows links, as ONNX Runtime does. The file that they lead to must lie in the folder
    of the model or, if the model itself is a link, in the folder of the file that it leads to. It
    need not be there unless `is_needed`.

    Raises:
        ValueError: It is not such a file.
    """
    path = Path(place)
    if not place or "\0" in place or path.is_absolute() or ".." in path.parts:
        allowed = "a path inside of the model's folder"
        checks.refuse(owner, "the place of external data", repr(place), allowed, _SAVE_ANEW)
    file = model.parent / place
    what = f"the external data {place!r}"
    led_to = _real(file)
    own = _real(model.parent)
    of_link = _real(model).parent
    if not (led_to.is_relative_to(own) or led_to.is_relative_to(of_link)):
        folders = repr(str(own))
        if of_link != own:
            folders += f" or {str(of_link)!r}"
        allowed = f"a file in the model's folder, {folders}"
        remedy = "Put the file itself there."
        checks.refuse(owner, what, f"a link to {str(led_to)!r}", allowed, remedy)
    if not file.is_file() and (is_needed or os.path.lexists(file)):
        allowed = f"a file in the folder of {str(model)!r}"
        remedy = "Put the file beside the model."
        given = "no plain file" if file.exists() else "no file"
        checks.refuse(owner, what, given, allowed, remedy)
    return file


def check_target(owner: str, target: Path, place: str) -> Path:
    """The file that a location means beside a model yet to be written.

    Raises:
        ValueError: Links there lead out of the folder, where runtimes would not read it.
    """
    file = target.parent / place
    if not _real(file).is_relative_to(_real(target.parent)):
        what = f"the external data {place!r} beside the output"
        allowed = f"a file in the output's folder, {str(_real(target.parent))!r}"
        remedy = "Choose another folder for the output."
        checks.refuse(owner, what, f"a link to {str(_real(file))!r}", allowed, remedy)
    return file


def check_all(owner: str, model: onnx.ModelProto, path: Path) -> list[str]:
    """Checks where tensors say they lie, as far as the files exist.

    Returns:
        These places, as `locations` gives them.

    Raises:
        ValueError: A place is forbidden, or a tensor lies beyond the end of its file.
    """
    sizes: dict[str, int | None] = {}
    for tensor in tensors(model):
        places = list(_locations(tensor))
        for place in places:
            if place not in sizes:
                file = check_location(owner, path, place, is_needed=False)
                sizes[place] = file.stat().st_size if file.exists() else None
        for place in places:
            _bytes(owner, tensor, place, sizes[place])
    return sorted(sizes)


def load_tensor(owner: str, tensor: onnx.TensorProto, model: Path) -> None:
    """Moves the content of a file into the tensor itself, if it lies in one.

    Raises:
        ValueError: The file is missing, in a forbidden place, or shorter than the tensor says.
        OSError: The file cannot be read.
    """
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    (*_, place) = _locations(tensor)
    path = check_location(owner, model, place, is_needed=True)
    offset, length = _bytes(owner, tensor, place, path.stat().st_size)
    with open(path, "rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _bytes(
    owner: str,
    tensor: onnx.TensorProto,
    place: str,
    file_size: int | None,
) -> tuple[int, int]:
    """Where a tensor begins in a file of this size, and how many bytes it has there."""
    numbers = {}
    for entry in _entries(tensor):
        if entry.key not in ("offset", "length"):
            continue
        if not _BYTES.fullmatch(entry.value):
            is_long = len(entry.value) > _SHOWN
            what = f"the {entry.key} of the tensor {tensor.name!r} in its external data"
            given = repr(entry.value[:_SHOWN])
            if is_long:
                given += "..."
            checks.refuse(owner, what, given, "a number of bytes, 0 or more", _SAVE_ANEW)
        # Of several entries with one key, runtimes read the last.
        numbers[entry.key] = int(entry.value)
    offset = numbers.get("offset", 0)
    length = numbers.get("length", size_of(tensor))
    if file_size is not None and offset + length > file_size:
        given = f"bytes {offset} to {offset + length} of {place!r}"
        allowed = f"within the {file_size} bytes that the file has"
        checks.refuse(owner, f"the tensor {tensor.name!r}", given, allowed, _SAVE_ANEW)
    return offset, length


def size_of(tensor: onnx.TensorProto) -> int:
    """How many bytes a tensor's elements take, by its type and shape."""
    try:
        width: float = ir.DataType(tensor.data_type).itemsize
    except (TypeError, ValueError):
        # Texts and unknown types have no size: no runtime reads them from a file.
        return 0
    elements: int = min(max(0, math.prod(tensor.dims)), INT64_MAX)
    return math.ceil(elements * width)


def _locations(tensor: onnx.TensorProto) -> Iterator[str]:
    """Where an external tensor lies: all places it names, though runtimes read only one."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    places = [entry.value for entry in _entries(tensor) if entry.key == "location"]
    if not places and without_weights.stretch_of(tensor) is None:
        places = [""]
    yield from places


def _entries(tensor: onnx.TensorProto) -> list[onnx.StringStringEntryProto]:
    """A tensor's entries on its external data, without the mark of a stretch."""
    entries = list(tensor.external_data)
    if without_weights.stretch_of(tensor) is None:
        return entries
    return entries[:-1]


def _real(path: Path) -> Path:
    """The path that all links lead to."""
    return Path(os.path.realpath(path))
