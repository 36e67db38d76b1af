"""Text in protobuf messages that is no text."""

from __future__ import annotations

from typing import Any


def undecodable(message: Any) -> bytes | str | None:
    """The first text in a message that is no UTF-8; None where all is.

    Protobuf takes any bytes for a name, and gives them as bytes or an error where text is meant.
    """
    # ListFields itself raises in some versions, in others it gives bytes.
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
