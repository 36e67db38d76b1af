"""Model files: read without their weights, written in a stream."""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import onnx
from onnx.external_data_helper import ExternalDataInfo, load_external_data_for_tensor

from onnx_philox import _checks
from onnx_philox.rewriting import _thin
from onnx_philox.rewriting._tensors import tensors
from onnx_philox.rewriting._thin import Stretch

Progress = Callable[[int, int, str], None]
"""Called with the bytes written so far, the bytes in all, and what is being written."""

# Small enough for the processor's cache: larger blocks take longer.
_BLOCK = 2**20
# protobuf reads no message of more bytes.
_LARGEST_FILE = 2**31 - 1


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], owner: str) -> Iterator[ModelFile]:
    """A model file, open as long as its weights may be wanted.

    Args:
        path: The file.
        owner: What messages name as the one that refuses.

    Raises:
        ValueError: The file is no serialised model.
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        yield ModelFile(file, Path(path), owner)


class ModelFile:
    """An open file with a model.

    Attributes:
        path: The file.
        proto: The model; what its large tensors hold is left in the file.
    """

    def __init__(self, file: BinaryIO, path: Path, owner: str) -> None:
        self.path = path
        self._owner = owner
        self._file = file
        self.proto = self._read()

    def load_weights(self, model: onnx.ModelProto) -> None:
        """Puts the weights into a model that was made of this one."""
        for tensor in tensors(model):
            stretch = _thin.stretch_of(tensor)
            if stretch is not None:
                tensor.ParseFromString(self._stretch(stretch.start, stretch.end))
            elif tensor.data_location == onnx.TensorProto.EXTERNAL:
                load_external_data_for_tensor(tensor, str(self.path.parent))

    def save(
        self,
        model: onnx.ModelProto | None,
        target: str | os.PathLike[str],
        progress: Progress,
    ) -> None:
        """Writes a model that was made of this one, its weights in a stream; closes this file.

        External data is copied under the same names, unless the target is in the same folder.

        Args:
            model: The model; None for the file as it is.
            target: The file, which is written whole or not at all.
            progress: Called after each block.
        """
        target = Path(target)
        pieces = self._pieces(model)
        copies = self._copies(model or self.proto, target)
        total = _thin.size_of(pieces) + sum(source.stat().st_size for source, _ in copies)
        done = 0

        def advance(size: int, what: Path) -> None:
            nonlocal done
            done += size
            progress(done, total, what.name)

        for source, copy in copies:
            copy.parent.mkdir(parents=True, exist_ok=True)
            with _replacing(copy) as file, open(source, "rb") as data:
                for block in _blocks(data, 0, os.fstat(data.fileno()).st_size):
                    file.write(block)
                    advance(len(block), copy)
        with _replacing(target) as file:
            for piece in pieces:
                if isinstance(piece, bytes):
                    file.write(piece)
                    advance(len(piece), target)
                    continue
                for block in _blocks(self._file, piece.start, piece.end):
                    file.write(block)
                    advance(len(block), target)
            # Before the target is replaced, which may be this very file.
            self._file.close()

    def _read(self) -> onnx.ModelProto:
        given = "empty"
        if self._size:
            # Pages of the weights are never touched, so mapping costs no memory.
            with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
                try:
                    proto = _thin.thin(buffer)
                except ValueError as error:
                    given = str(error)
                else:
                    if proto.HasField("graph"):
                        return proto
                    given = "without a graph"
        return _checks.refuse(
            self._owner,
            f"the file {str(self.path)!r}",
            given,
            "a serialised ONNX model",
            "Pass a file that onnx.load reads as protobuf.",
        )

    @property
    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _pieces(self, model: onnx.ModelProto | None) -> list[_thin.Piece]:
        if model is None:
            return [Stretch(0, self._size)]
        pieces = _thin.expand(model)
        size = _thin.size_of(pieces)
        if size > _LARGEST_FILE:
            _checks.refuse(
                self._owner,
                "the rewritten model",
                f"{size:,} bytes",
                f"at most {_LARGEST_FILE:,}, what protobuf reads",
                "Save the model with external data first: onnx.save(model, path, "
                "save_as_external_data=True).",
            )
        return pieces

    def _stretch(self, start: int, end: int) -> bytes:
        self._file.seek(start)
        return self._file.read(end - start)

    def _copies(self, model: onnx.ModelProto, target: Path) -> list[tuple[Path, Path]]:
        """The files of external data, and where they go; those that are there already do not."""
        locations = {
            ExternalDataInfo(tensor).location
            for tensor in tensors(model)
            if tensor.data_location == onnx.TensorProto.EXTERNAL
            and _thin.stretch_of(tensor) is None
        }
        copies = []
        for location in sorted(locations):
            self._check_inside(location)
            source, copy = self.path.parent / location, target.parent / location
            if not source.is_file():
                remedy = "Put the file beside the model."
                what = f"the external data {location!r}"
                allowed = f"a file in the folder of {str(self.path)!r}"
                _checks.refuse(self._owner, what, "not there", allowed, remedy)
            if copy.exists():
                if not _is_same(source, copy):
                    _checks.refuse(
                        self._owner,
                        f"the file {str(copy)!r}",
                        "another one than the external data of that name",
                        "no file of that name beside the target, or the same one",
                        "Choose another folder for the target, or move that file away.",
                    )
                continue
            copies.append((source, copy))
        return copies

    def _check_inside(self, location: str) -> None:
        path = Path(location)
        if path.is_absolute() or ".." in path.parts:
            _checks.refuse(
                self._owner,
                "the place of external data",
                repr(location),
                "a path inside of the model's folder",
                "Save the model anew with onnx.save(model, path, save_as_external_data=True).",
            )


def _blocks(file: BinaryIO, start: int, end: int) -> Iterator[memoryview]:
    """What a file holds from `start` to before `end`; the next block overwrites the last."""
    buffer = memoryview(bytearray(_BLOCK))
    file.seek(start)
    while start < end:
        read = file.readinto(buffer[: min(_BLOCK, end - start)])  # type: ignore[attr-defined]
        if not read:
            raise EOFError(f"{file.name} has become shorter while it was read")
        yield buffer[:read]
        start += read


def _is_same(a: Path, b: Path) -> bool:
    """Whether two files are one, or hold the same."""
    if a.samefile(b):
        return True
    if a.stat().st_size != b.stat().st_size:
        return False
    with open(a, "rb") as file_a, open(b, "rb") as file_b:
        while block := file_a.read(_BLOCK):
            if block != file_b.read(_BLOCK):
                return False
    return True


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes a path's place once it is written; after an error nothing is left."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        # The name of a temporary file tells nobody anything.
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
