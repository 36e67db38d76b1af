"""Model files: read without their weights, written in a stream."""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import onnx

from onnx_philox._contract import checks
from onnx_philox._files import external_data, ort_format, without_weights
from onnx_philox._files.new_files import NewFiles, check_apart
from onnx_philox._files.stamp import stamp_of
from onnx_philox._files.tensors import tensors
from onnx_philox._progress import Progress

# Small enough for the processor's cache: larger blocks take longer.
_BLOCK = 2**20
# How much of a text a message shows.
_SHOWN = 60
# protobuf reads no larger message.
_LARGEST_FILE = 2**31 - 1


class ModelFile(contextlib.AbstractContextManager["ModelFile"]):
    """A model file, open for as long as its weights may be needed.

    Attributes:
        path: The file.
        proto: The model; the contents of its large tensors stay in the file.
        reads: The files that hold the model, and what each is.
        stamp: What tells whether it and its external data are what they were; nothing where some of
            that is missing.

    Raises:
        ValueError: The file is not a serialised model.
        OSError: The file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], owner: str) -> None:
        self.path = Path(path)
        self._owner = owner
        self._file = open(path, "rb")  # noqa: SIM115 - closed at the end of a block
        stat = os.fstat(self._file.fileno())
        self._size = stat.st_size
        try:
            self.proto = self._read()
            # What is made from this model refers to no other places, nor to the file itself.
            self._is_all_here = not any(map(_lies_outside, tensors(self.proto)))
            places: list[str] = []
            if not self._is_all_here:
                places = external_data.check_all(owner, self.proto, self.path)
            self._external = {self.folder / p: f"the external data {p!r}" for p in places}
            self.reads = {self.path: f"the model {str(self.path)!r}"} | self._external
            beside = [path for path in self.reads if path != self.path]
            is_whole = all(path.exists() for path in beside)
            self.stamp = stamp_of([stat, *map(os.stat, beside)]) if is_whole else ()
        except BaseException:
            self._file.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def folder(self) -> Path:
        """Where its external data lies."""
        return self.path.parent

    def sha256(self) -> str:
        """The hash of the file's bytes."""
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()

    def load_weights(self, model: onnx.ModelProto, *, keeps_external: bool = False) -> None:
        """Puts the weights into a model made from this one, or those alone that are in the file.

        Small tensors of external data come into the model in any case: some decide what is drawn.
        So does all data that links lead out of the folder: for a model in memory ONNX Runtime
        refuses it.
        """
        if self._is_all_here:
            return
        keeps_external = keeps_external and external_data.lies_inside(self.folder, self._external)
        for tensor in tensors(model):
            stretch = without_weights.stretch_of(tensor)
            if stretch is not None:
                self._file.seek(stretch.start)
                tensor.ParseFromString(self._file.read(stretch.end - stretch.start))
            if tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            if not keeps_external or external_data.size_of(tensor) <= without_weights.LARGE:
                external_data.load_tensor(self._owner, tensor, self.path)

    def save(
        self,
        model: onnx.ModelProto | None,
        target: str | os.PathLike[str],
        progress: Progress,
    ) -> None:
        """Writes a model made from this one, or this one as it is; closes this file.

        It streams the weights, and copies external data under the same names, unless the target is
        in the same folder. Either all files appear at the end, or none.
        """
        target = Path(target)
        pieces = self._pieces(model)
        copies = self._copies(model or self.proto, target)
        size_of_copies = sum(source.stat().st_size for source, _ in copies)
        total = without_weights.size_of(pieces) + size_of_copies
        done = 0

        def write(file: BinaryIO, blocks: Iterable[bytes | memoryview], what: Path) -> None:
            nonlocal done
            for block in blocks:
                file.write(block)
                done += len(block)
                progress(done, total, what.name)

        with NewFiles() as files:
            for source, copy in copies:
                with files.open(copy) as file, open(source, "rb") as data:
                    size = os.fstat(data.fileno()).st_size
                    write(file, _blocks(data, 0, size), copy)
            with files.open(target) as file:
                for piece in pieces:
                    if isinstance(piece, bytes):
                        write(file, [piece], target)
                    else:
                        write(file, _blocks(self._file, piece.start, piece.end), target)
            # Before the target is replaced, since it may be this very file.
            self._file.close()

    def _read(self) -> onnx.ModelProto:
        given = "an empty file"
        remedy = "Pass a file that onnx.load reads as protobuf."
        if self._size:
            # Mapping costs no memory, since nothing touches the pages of the weights.
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
                try:
                    if (other := ort_format.known(buffer)) is not None:
                        remedy = other[1]
                        raise ValueError(other[0])
                    proto = without_weights.thin(buffer)
                except ValueError as error:
                    given = str(error)
                else:
                    if not proto.HasField("graph"):
                        given = "one without a graph"
                    elif (text := _undecodable(proto)) is not None:
                        given = f"one that contains the text {text[:_SHOWN]!r}, which is not UTF-8"
                        remedy = "Export the model with other names."
                    else:
                        return proto
        return checks.refuse(
            self._owner,
            f"the file {str(self.path)!r}",
            given,
            "a serialised ONNX model",
            remedy,
        )

    def _pieces(self, model: onnx.ModelProto | None) -> list[without_weights.Piece]:
        if model is None:
            return [without_weights.Stretch(0, self._size)]
        pieces = without_weights.expand(model)
        size = without_weights.size_of(pieces)
        if size > _LARGEST_FILE:
            allowed = f"at most {_LARGEST_FILE:,} bytes, the most that protobuf reads"
            remedy = (
                "Save the model with external data first: onnx.save(model, path, "
                "save_as_external_data=True)."
            )
            checks.refuse(self._owner, "the rewritten model", f"{size:,} bytes", allowed, remedy)
        return pieces

    def _copies(self, model: onnx.ModelProto, target: Path) -> list[tuple[Path, Path]]:
        """The files of external data to copy, and their targets, without those already in place."""
        if self._is_all_here:
            return []
        places = external_data.locations(model)
        sources = [
            external_data.check_location(self._owner, self.path, p, is_needed=True) for p in places
        ]
        # The place where the target will look for them.
        read = {path: f"the external data {p!r}" for p, path in zip(places, sources, strict=True)}
        read |= {target.parent / p: f"the external data {p!r} beside it" for p in places}
        check_apart(self._owner, {target: "the output"}, read)
        copies = []
        for place, source in zip(places, sources, strict=True):
            copy = external_data.check_target(self._owner, target, place)
            if copy.exists():
                is_same = source.samefile(copy) or filecmp.cmp(source, copy, shallow=False)
                if not is_same:
                    given = "another file"
                    allowed = "absent, or the external data of that name itself"
                    remedy = "Choose another folder for the target, or move that file away."
                    checks.refuse(self._owner, f"the file {str(copy)!r}", given, allowed, remedy)
                continue
            copies.append((source, copy))
        return copies


def _lies_outside(tensor: onnx.TensorProto) -> bool:
    """Whether the contents of a tensor are not in the message."""
    return tensor.data_location == onnx.TensorProto.EXTERNAL


def _blocks(file: BinaryIO, start: int, end: int) -> Iterator[memoryview]:
    """The bytes of a file from `start` to before `end`; each block overwrites the last."""
    buffer = memoryview(bytearray(_BLOCK))
    file.seek(start)
    while start < end:
        read = file.readinto(buffer[: min(_BLOCK, end - start)])  # type: ignore[attr-defined]
        if not read:
            raise EOFError(f"{file.name} has become shorter while it was read")
        yield buffer[:read]
        start += read


def _undecodable(message: Any) -> bytes | str | None:
    """The first text in a message that is not UTF-8; None if all of it is.

    Protobuf accepts any bytes as a name. For text fields it returns the bytes, or raises an error.
    """
    # In some versions ListFields itself raises, in others it returns bytes.
    try:
        fields = message.ListFields()
    except UnicodeDecodeError as error:
        return bytes(error.object)
    for field, value in fields:
        if field.type == field.TYPE_STRING:
            for text in (value,) if isinstance(value, (str, bytes)) else value:
                if isinstance(text, bytes):
                    return text
        elif field.message_type is not None:
            for inner in (value,) if hasattr(value, "ListFields") else value:
                found = _undecodable(inner)
                if found is not None:
                    return found
    return None
