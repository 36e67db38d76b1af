"""Finds text in protobuf messages that is not UTF-8."""

from __future__ import annotations

from typing import Any


def undecodable(message: Any) -> bytes | str | None:
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
                found = undecodable(inner)
                if found is not None:
                    return found
    return None
