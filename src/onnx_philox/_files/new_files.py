"""Writes files that appear whole, all at once or not at all, and never replace an input."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from onnx_philox._contract import checks
from onnx_philox._files.signals import held_back

# The errors for a full disk, an exhausted quota, and a process's limit on file sizes.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NewFiles:
    """A block that writes files and puts them in place at its end; an error leaves nothing.

    It writes each file beside its place under another name. It makes folders as needed, and removes
    them again after an error.
    """

    def __init__(self) -> None:
        self._undo = contextlib.ExitStack()
        self._tidy = contextlib.ExitStack()
        self._moves: list[tuple[Path, Path]] = []

    def __enter__(self) -> NewFiles:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # Closed in this order: temporary files go first, then the folders around them.
        with held_back(), self._undo, self._tidy:
            if kind is None:
                self._move()
                self._undo.pop_all()

    @contextlib.contextmanager
    def open(self, path: Path) -> Iterator[BinaryIO]:
        """Opens a file to write; it takes the place of a path at the end of the block."""
        self.make_folder(path.parent)
        with held_back(), _named(path):
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            self._tidy.callback(_remove, Path(name))
        with no_room_named(path), os.fdopen(handle, "wb") as file:
            yield file
        self.move(Path(name), path)

    def folder_beside(self, path: Path) -> Path:
        """A temporary folder on the file system of a path, removed at the end of the block."""
        self.make_folder(path.parent)
        with held_back(), _named(path):
            folder = tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)
            self._tidy.callback(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def move(self, written: Path, path: Path) -> None:
        """Lets a written file take the place of a path at the end of the block.

        Of several, the last one leads to the others, as a model does to its weights.
        """
        os.chmod(written, 0o666 & ~_umask())
        self._moves.append((written, path))

    def make_folder(self, folder: Path) -> None:
        """Makes a folder and its parents, where they are missing."""
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for made in reversed(missing):
            with held_back():
                made.mkdir(exist_ok=True)
                self._undo.callback(_remove_folder, made)

    def _move(self) -> None:
        if len(self._moves) < 2:
            for written, path in self._moves:
                os.replace(written, path)  # in one step
            return
        with contextlib.ExitStack() as undo:
            *others, leader = (path for _, path in self._moves)
            undo.callback(_put_back, leader, self._set_aside(leader))  # after the others
            are_there = False
            for path in others:
                aside = self._set_aside(path)
                undo.callback(_put_back, path, aside)
                are_there |= aside is not None
            if are_there:
                # A process that is killed here must not leave it beside files of another time.
                _remove(leader)
            for written, path in self._moves:
                os.replace(written, path)
            undo.pop_all()

    def _set_aside(self, path: Path) -> Path | None:
        """Gives the file that a path names now a second name; None if there is no such file."""
        if not os.path.lexists(path):
            return None
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        self._tidy.callback(shutil.rmtree, aside, ignore_errors=True)
        try:
            os.link(path, aside / path.name, follow_symlinks=False)
        except (OSError, NotImplementedError):
            # A file system without hard links.
            os.replace(path, aside / path.name)
        return aside / path.name


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Makes a system error name the file to be written, not a temporary one."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def no_room_named(path: Path, folder: Path | None = None) -> Iterator[None]:
    """Makes the error for a full disk name the file that was to be written.

    `folder` is a temporary one, for errors that name a file in it.
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        is_hidden = name is None or (folder is not None and folder in Path(name).parents)
        if error.errno in _NO_ROOM and is_hidden:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def check_room(folder: Path, size: int, path: Path) -> None:
    """Raises the system's own error if a folder has no room for so many bytes.

    For writers that do not say why they failed.

    Raises:
        OSError: There is no room; it names `path`.
    """
    with no_room_named(path), tempfile.TemporaryFile(dir=folder) as file:
        allocate: Callable[..., None] | None = getattr(os, "posix_fallocate", None)
        if allocate is not None:
            allocate(file.fileno(), 0, max(size, 1))


def check_apart(
    owner: str,
    written: Mapping[Path, str],
    read: Mapping[Path, str],
) -> None:
    """Refuses to write a file that is also read, or one file twice; follows links.

    The files to write may not exist yet. What each file is goes into the message.

    Raises:
        ValueError: Two are one file.
    """
    known = {key: what for path, what in read.items() for key in _keys(path)}
    for path, what in written.items():
        for key in _keys(path):
            if key in known:
                given = f"the same file as {known[key]}"
                allowed = "a file that is neither read nor written twice"
                remedy = "Choose another name or folder."
                checks.refuse(owner, f"{what} {str(path)!r}", given, allowed, remedy)
        known.update(dict.fromkeys(_keys(path), what))


def _keys(path: Path) -> list[Any]:
    """What identifies a file: the name that all links lead to, and the file itself."""
    keys: list[Any] = [os.path.normcase(os.path.realpath(path))]
    with contextlib.suppress(OSError):
        status = path.stat()
        keys.append((status.st_dev, status.st_ino))
    return keys


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _remove_folder(folder: Path) -> None:
    # It is not empty if someone else put a file into it.
    with contextlib.suppress(OSError):
        folder.rmdir()


def _put_back(path: Path, aside: Path | None) -> None:
    if aside is None:
        _remove(path)
    elif aside.exists():
        os.replace(aside, path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
