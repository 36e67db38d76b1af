"""Hashes of arrays and files."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.feeds import shape_name


@dataclass(frozen=True)
class Hash:
    """An output, identified by its hash."""

    name: str
    type: str
    shape: tuple[int, ...]
    sha256: str
    """Of the type, the shape and the elements, least significant byte first."""
    is_drawn: bool
    """Whether it is what a random node drew."""

    @property
    def shape_name(self) -> str:
        """The shape in words."""
        return shape_name(self.shape)


def hashes(outputs: Mapping[str, NDArray[Any]], drawn: Container[str]) -> list[Hash]:
    """The hash of each output."""
    return [
        Hash(name, array.dtype.name, array.shape, sha256(array), name in drawn)
        for name, array in outputs.items()
    ]


def of_all(parts: Iterable[str]) -> str:
    """One hash of many."""
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def sha256(array: NDArray[Any]) -> str:
    """The hash of an array's type, shape and elements."""
    digest = hashlib.sha256(f"{array.dtype.name}{list(array.shape)}".encode())
    digest.update(_little(array).data)
    return digest.hexdigest()


def bytes_of(array: NDArray[Any]) -> bytes:
    """The elements of an array, least significant byte first."""
    return _little(array).tobytes()


def of_bytes(content: bytes) -> str:
    """The hash of a file's bytes that are in memory."""
    return hashlib.sha256(content).hexdigest()


def of_file(path: Path) -> str:
    """The hash of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _little(array: NDArray[Any]) -> NDArray[np.uint8]:
    little = array if sys.byteorder == "little" else array.byteswap()
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8)
