"""A model file without its weights: read quickly, and written back with its weights in a stream.

The weights inside an .onnx file make up nearly all of it. `thin` reads the file's protobuf messages
and leaves the large tensors where they are. In their place it puts tensors whose "external data"
says where in the file the originals begin and end. `expand` turns a model with such tensors back
into the pieces of a file, in which the large tensors are stretches of the old file.
"""

from __future__ import annotations

import bisect
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import onnx

from onnx_philox._files import wire

LARGE = 2**14
"""Tensors of more bytes than this stay in the file."""

# Different in each process, so that nobody can make a file that misleads this reader.
_MARK = f"onnx_philox.stretch.{secrets.token_hex()}"
_TENSOR = onnx.TensorProto.DESCRIPTOR.full_name


@dataclass(frozen=True)
class Stretch:
    """Bytes of the source file, from `start` to before `end`: one serialised tensor."""

    start: int
    end: int


Piece = bytes | Stretch


def thin(source: wire.Buffer) -> onnx.ModelProto:
    """Reads a serialised model without its large tensors.

    Raises:
        ValueError: The bytes are not a model.
    """
    try:
        parts = list(_thin(source, 0, len(source), onnx.ModelProto.DESCRIPTOR))
        model = onnx.ModelProto()
        model.ParseFromString(b"".join(parts))
    except Exception as error:
        raise ValueError(f"other bytes ({error})") from error
    return model


def stretch_of(tensor: onnx.TensorProto) -> Stretch | None:
    """Where in the file the original of a placeholder tensor lies; None for all other tensors."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL or not tensor.external_data:
        return None
    return stretch_at(tensor.external_data[-1].value)


def stretch_at(location: str) -> Stretch | None:
    """The stretch that a location of external data means; None unless `thin` made the location."""
    mark, _, place = location.partition(":")
    if mark != _MARK:
        return None
    start, _, end = place.partition("-")
    return Stretch(int(start), int(end))


def expand(model: onnx.ModelProto) -> list[Piece]:
    """The pieces of a model's file, with its large tensors as stretches of the source file."""
    serialised = model.SerializeToString()
    marks = [found.start() for found in re.finditer(re.escape(_MARK.encode()), serialised)]
    if not marks:
        return [serialised]
    pieces, _ = _expand(serialised, 0, len(serialised), onnx.ModelProto.DESCRIPTOR, marks)
    return pieces


def size_of(pieces: list[Piece]) -> int:
    """How many bytes pieces have."""
    size = 0
    for piece in pieces:
        size += piece.end - piece.start if isinstance(piece, Stretch) else len(piece)
    return size


def _thin(
    buffer: wire.Buffer,
    start: int,
    end: int,
    message: Any,
) -> Iterator[bytes]:
    """The fields of a message, with placeholders for the large tensors in them."""
    for field in wire.fields(buffer, start, end):
        inner = _message_of(message, field)
        if inner is None or field.end - field.value <= LARGE:
            yield buffer[field.start : field.end]
            continue
        if inner.full_name == _TENSOR:
            content = _placeholder_of(buffer, field)
        else:
            content = b"".join(_thin(buffer, field.value, field.end, inner))
        yield wire.tagged(field.number, len(content))
        yield content


def _placeholder_of(buffer: wire.Buffer, tensor: wire.Field) -> bytes:
    """The small fields of a tensor, and the place of the whole tensor."""
    small = [
        buffer[field.start : field.end]
        for field in wire.fields(buffer, tensor.value, tensor.end)
        if field.end - field.value <= LARGE
    ]
    place = onnx.TensorProto.FromString(b"".join(small))
    serialised: bytes = placeholder(place, tensor.value, tensor.end).SerializeToString()
    return serialised


def placeholder(tensor: onnx.TensorProto, start: int, end: int) -> onnx.TensorProto:
    """Makes a tensor, in place, one whose contents are this stretch."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        # Entries without a meaning would now get one.
        del tensor.external_data[:]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=f"{_MARK}:{start}-{end}")
    return tensor


def _expand(
    buffer: bytes,
    start: int,
    end: int,
    message: Any,
    marks: list[int],
) -> tuple[list[Piece], int]:
    """The pieces of a message, and how many bytes they have."""
    pieces: list[Piece] = []
    size = 0
    plain = start
    for field in wire.fields(buffer, start, end):
        inner = _message_of(message, field)
        if inner is None or bisect.bisect(marks, field.value) == bisect.bisect(marks, field.end):
            continue
        if inner.full_name == _TENSOR:
            tensor = onnx.TensorProto.FromString(buffer[field.value : field.end])
            stretch = stretch_of(tensor)
            if stretch is None:
                continue
            content: list[Piece] = [stretch]
            length = stretch.end - stretch.start
        else:
            content, length = _expand(buffer, field.value, field.end, inner, marks)
        before = buffer[plain : field.start] + wire.tagged(field.number, length)
        pieces += [before, *content]
        size += len(before) + length
        plain = field.end
    pieces.append(buffer[plain:end])
    return pieces, size + end - plain


def _message_of(message: Any, field: wire.Field) -> Any:
    """The type of a field that is a message; None for other and unknown fields."""
    if field.wire_type != wire.LENGTH:
        return None
    descriptor = message.fields_by_number.get(field.number)
    if descriptor is None:
        return None
    return descriptor.message_type
