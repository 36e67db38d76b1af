"""The form of a row of the table of known behaviours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

ONNXRUNTIME = {"onnxruntime": "1.32.0"}
OPENVINO = {"openvino": "2026.4.1"}
"""The releases in which a row was seen, unless it says otherwise."""


class Explains(Enum):
    """Which differences of outputs that read a node a behaviour of it explains."""

    ALL = "all"
    INVERSION = "a share of p that is 1 - p, and all of what is computed of that"
    VALUES = "the law of each value, but not which go together"
    FIRST_ELEMENT = "that of the first element"
    SEVERAL_NODES = "that of which go together, and of what is computed of several such nodes"


@dataclass(frozen=True)
class KnownBehaviour:
    """A behaviour of one runtime or more.

    Attributes:
        name: What a test and a document call it.
        seen_in: The release in which each runtime did so.
        is_wrong: Whether the numbers are not what the model asks for: constant, of another law, or
            dependent on each other.
        says: The sentence for the user; with names in braces, the details.
        met_by: How a node that meets it is recognised.
        after: What a rewrite does about it: what a rewritten node does.
        label: A word or two for it in a table; empty where the sentence is enough.
        explains: What differs from the model's law where it is wrong.
        is_whole: Whether the sentence stands in the place of what a trial of the node says.
        instead_of: The name of a row that says less of the same; empty for none.
    """

    name: str
    seen_in: Mapping[str, str]
    is_wrong: bool
    says: str
    met_by: str
    after: str
    label: str = ""
    explains: Explains = Explains.ALL
    is_whole: bool = False
    instead_of: str = ""

    def said(self, **details: str) -> Said:
        """What to say of a node that meets it; `other` is another node that it meets it with."""
        return Said(self, self.says.format(**details), details.get("other", ""), details)


@dataclass(frozen=True)
class Said:
    """What to say of a node that meets a row."""

    known: KnownBehaviour
    text: str
    other: str = ""
    """Another node that meets it together with this one, as it is called; empty for none."""
    details: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What stands in the sentence."""

    def to_json(self) -> dict[str, str | bool]:
        """Returns what a document says of it."""
        known = self.known
        return {
            "name": known.name,
            "says": self.text,
            "is_wrong": known.is_wrong,
            "after_a_rewrite": known.after,
        }
