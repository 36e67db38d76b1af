"""Names of which a caller chooses one: another name is refused, with the nearest one."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from onnx_philox._contract.refusal import refuse, shown


def nearest(given: str, names: Collection[str]) -> str | None:
    """The name that was meant, such as "openvino" by "vino" or "OpenVINO"; None if none is near."""
    text = given.strip().casefold()
    known = {name.casefold(): name for name in names}
    around = []
    if len(text) > 2:
        around = [name for name in known if text in name or name in text]
    near = around or difflib.get_close_matches(text, known)
    if not near:
        return None
    return known[near[0]]


def check_choice(
    owner: str,
    what: str,
    given: Any,
    names: Collection[str],
    remedy: str = "Pass one of these.",
    allowed: str | None = None,
) -> None:
    """Refuses what is none of the names.

    Args:
        owner: The function that refuses.
        what: The argument.
        given: What it is.
        names: What it may be.
        remedy: What to do where no name is near.
        allowed: The names in a sentence, if it says more than their list.

    Raises:
        TypeError: It is no text.
        ValueError: It is another name.
    """
    if isinstance(given, str) and given in names:
        return
    near = nearest(given, names) if isinstance(given, str) else None
    error = ValueError if isinstance(given, str) else TypeError
    said = remedy if near is None else f"Did you mean {near!r}?"
    allowed = allowed or " or ".join(map(repr, names))
    refuse(owner, what, shown(given), allowed, said, error)
