"""The rule of a path that runtimes open: it is UTF-8."""

from __future__ import annotations

import os

from onnx_philox._contract.refusal import refuse


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
