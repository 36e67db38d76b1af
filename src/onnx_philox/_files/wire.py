"""Protobuf's wire format: the fields of a message, read and written without its schema."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

Buffer = bytes | mmap.mmap

VARINT = 0
FIXED64 = 1
LENGTH = 2
FIXED32 = 5
_VARINT_BYTES = 10


class Field(NamedTuple):
    """A field of a message: where it is in the buffer."""

    number: int
    wire_type: int
    start: int
    """Where its tag is."""
    value: int
    """Where its content begins."""
    end: int


_new = tuple.__new__  # half the time of the class's own


def fields(buffer: Buffer, start: int, end: int) -> Iterator[Field]:
    """The fields of the message that lies from `start` to before `end`.

    Raises:
        ValueError: It is no message.
    """
    position = start
    while position < end:
        # Most numbers have one byte; a call for each would take a third of the time.
        tag = buffer[position]
        value = position + 1
        if tag >= 0x80:
            tag, value = varint(buffer, position)
        wire_type = tag & 7
        if wire_type == LENGTH:
            length = buffer[value] if value < end else 0x80
            if length < 0x80:
                value += 1
            else:
                length, value = varint(buffer, value)
            after = value + length
        elif wire_type == VARINT:
            _, after = varint(buffer, value)
        elif wire_type in (FIXED64, FIXED32):
            after = value + (8 if wire_type == FIXED64 else 4)
        else:
            raise ValueError(f"wire type {wire_type} at byte {position}")
        if after > end:
            raise ValueError(f"the field at byte {position} ends after its message")
        yield _new(Field, (tag >> 3, wire_type, position, value, after))
        position = after


def varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """A number of up to ten bytes, and where it ends.

    Raises:
        ValueError: It has no end.
    """
    try:
        number = buffer[position]
    except IndexError:
        raise ValueError(f"a number is missing at byte {position}") from None
    if number < 0x80:
        return number, position + 1
    number = 0
    for i, byte in enumerate(buffer[position : position + _VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return number, position + i + 1
    raise ValueError(f"the number at byte {position} does not end")


class Message:
    """The fields of a message by their numbers; of several of one number, the last one counts.

    Raises:
        ValueError: It is no message. Likewise from every method, for a field of another wire type.
    """

    def __init__(self, buffer: Buffer, start: int, end: int) -> None:
        self._buffer = buffer
        self._fields: dict[int, list[Field]] = {}
        for field in fields(buffer, start, end):
            self._fields.setdefault(field.number, []).append(field)

    @classmethod
    def within(cls, buffer: Buffer, field: Field) -> Message:
        """The message that a field holds."""
        _check(field, LENGTH)
        return cls(buffer, field.value, field.end)

    def fields(self, number: int) -> list[Field]:
        """The fields of a number."""
        return self._fields.get(number, [])

    def texts(self, number: int) -> list[bytes]:
        """The bytes of every field of a number."""
        found = []
        for field in self.fields(number):
            if _check(field, LENGTH):
                found.append(self._buffer[field.value : field.end])
        return found

    def text(self, number: int) -> bytes:
        """The bytes of a field; none where it is not there."""
        return (self.texts(number) or [b""])[-1]

    def messages(self, number: int) -> list[Message]:
        """The messages in the fields of a number."""
        return [Message.within(self._buffer, f) for f in self.fields(number)]

    def message(self, number: int) -> Message:
        """The message in a field; an empty one where it is not there."""
        return (self.messages(number) or [Message(b"", 0, 0)])[-1]

    def integer(self, number: int) -> int:
        """The number from 0 on in a field; 0 where it is not there."""
        last = 0
        for field in self.fields(number):
            if _check(field, VARINT):
                last = varint(self._buffer, field.value)[0]
        return last


def _check(field: Field, wire_type: int) -> bool:
    if field.wire_type != wire_type:
        raise ValueError(f"wire type {field.wire_type} at byte {field.start}")
    return True


def written(*contents: tuple[int, int | bytes]) -> bytes:
    """The message of these fields: their numbers, and an integer from 0 on or bytes each."""
    written = b""
    for number, content in contents:
        if isinstance(content, int):
            written += to_varint(number << 3 | VARINT) + to_varint(content)
        else:
            written += tagged(number, len(content)) + content
    return written


def tagged(number: int, length: int) -> bytes:
    """What stands before the content of a field that has so many bytes."""
    return to_varint(number << 3 | LENGTH) + to_varint(length)


def to_varint(number: int) -> bytes:
    """A number from 0 on."""
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
