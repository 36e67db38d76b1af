"""Finds text that is not UTF-8: in protobuf messages, and in paths."""

from __future__ import annotations

import os
from typing import Any

from onnx_philox._contract.refusal import refuse


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


def check_path(
    owner: str,
    path: str | os.PathLike[str],
    what: str = "the path",
    remedy: str = "Rename the file or folder.",
) -> None:
    """Refuses a path that the runtimes cannot open.

    Args:
        owner: The function that the message names.
        path: The path.
        what: What the message calls it.
        remedy: What to do.

    Raises:
        ValueError: It is not UTF-8.
    """
    try:
        os.fsencode(path).decode()
    except UnicodeError:
        # Encoding fails where no file can have the name.
        allowed = "UTF-8, since the runtimes open no other paths"
        refuse(owner, what, ascii(os.fspath(path)), allowed, remedy)
