"""The keys of a command's JSON document, by the page that users read and as it is printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "json.md"


def keys_said(command: str) -> tuple[int, set[str]]:
    """The schema of a command's document, and its keys, as the page has them."""
    (section,) = re.findall(
        rf"^## `{command} --json`, schema (\d+)\n(.*?)(?=^## |\Z)",
        PAGE.read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    return int(section[0]), set(re.findall(r"^\| `(.+?)` \|", section[1], re.MULTILINE))


def keys_of(document: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """All keys of a document; those of the objects in a list after the list's."""
    for key, value in document.items():
        yield f"{prefix}{key}"
        for each in value if isinstance(value, list) else ():
            if isinstance(each, dict):
                yield from keys_of(each, f"{prefix}{key}[].")
