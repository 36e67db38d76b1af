"""The JSON document of a command: docs/json.md has the keys of each."""

from __future__ import annotations

import json
from typing import Any

SCHEMA = 1
"""The version of all of them, raised for one whose key goes or gets another meaning."""


def document(**keys: Any) -> str:
    """The text of a document."""
    return json.dumps({"schema": SCHEMA, **keys}, indent=2)
