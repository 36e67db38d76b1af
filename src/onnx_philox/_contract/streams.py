"""What a model says of its random nodes: the state they share, and the stream of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onnx_philox._contract import generators
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.refusal import refuse

METADATA_KEY = "onnx_philox.streams"
"""The key of a model's metadata under which a rewrite writes them."""

STATE = "random_state"
"""The input, or the constant, that a rewrite makes."""

STANDARD = "onnx_philox.standard_nodes"
"""The property of a model that says for which runtime its draws were made standard nodes."""

STANDARD_STATE = "onnx_philox.standard_state"
"""The property of such a model that names the input its draws read; empty if they read none."""

NEXT_PREFIX = "next_"
ROWS_CHECK = STATE + "_must_have_one_row_for_each_row_of_"
"""Before the name of an input: the node by which a model refuses states of another batch."""
"""What the name of a next state has and that of its state has not: see `next_name`."""

AWAITS_STATE = "onnx_philox.awaits_state"
"""The key of a node's metadata that says: a rewrite is to give this node of ours a state."""

KNOWS_STRIDES = "strides"
"""The value under that key of a node whose exporter knew where in memory torch draws it."""

_VERSION = 1


def next_name(state: str, outputs: Iterable[str]) -> str | None:
    """The output that is the next state of a state by its name, if there is one.

    It is the name after `NEXT_PREFIX`; or, where a tool has put a prefix before all names of a
    model, with `NEXT_PREFIX` after that.
    """
    # Of the names that a rewrite and a builder give, one ends with the other.
    before, word, after = state.rpartition(STATE if STATE in state else "state")
    names = NEXT_PREFIX + state, f"{before}{NEXT_PREFIX}{word}{after}"
    found = set(outputs)
    return next((name for name in names if name in found), None)


def states_among(inputs: Iterable[str], outputs: Iterable[str]) -> list[str]:
    """The inputs that are states: those with an output of the name of the next state."""
    given = list(outputs)
    return [name for name in inputs if next_name(name, given) is not None]


def of_rewrites(states: Sequence[str]) -> Sequence[str]:
    """The states that rewrites have named, or all: beside a named one, others are a user's own."""
    return [name for name in states if STATE in name] or states


def check_one_state(owner: str, states: Sequence[str]) -> None:
    """Refuses a model of several states, whose nodes draw equal numbers from equal ones.

    Raises:
        ValueError: There are several.
    """
    states = of_rewrites(states)
    if len(states) > 1:
        given = f"one with {' and '.join(states)}"
        allowed = "one with one state for all draws"
        remedy = "Merge the models before they are rewritten, and rewrite the result."
        refuse(owner, "the model", given, allowed, remedy)


@dataclass(frozen=True)
class Stream:
    """A random node: what it draws, and where.

    Attributes:
        op_type: The operator.
        output_type: The element type of its values; empty for an operator of one type.
        global_seed: Its attribute.
        op_seed: Its attribute: in a rewritten model, the number of its stream.
        kept: Whose numbers a node draws that kept its own seeds, as `Streams.alignment` says it;
            empty for a node with a stream.
    """

    op_type: str
    output_type: str
    global_seed: int
    op_seed: int
    kept: str = ""

    @property
    def order(self) -> tuple[int, int, str, str]:
        """What sorts the nodes of a model."""
        return self.op_seed, self.global_seed, self.op_type, self.output_type

    @property
    def drawn(self) -> list[Any]:
        """What decides the numbers beside the state."""
        said = [self.op_type, self.output_type, self.global_seed, self.op_seed]
        if generators.named(self.kept).is_named:
            said.append(self.kept)
        return said

    def to_list(self) -> list[Any]:
        """The form in JSON: of a node with a stream as earlier versions wrote it."""
        said = list(vars(self).values())
        if not self.kept:
            said.pop()
        return said


@dataclass(frozen=True)
class Streams:
    """The random nodes of a model that takes a state and gives the next.

    Attributes:
        state: The name of the input with the state.
        next_state: The name of the output with the next state; empty where the state is a constant.
        batch: The input of which a dimension is the number of rows, if each row has a state of its
            own; None if there is one state.
        nodes: The random nodes, in the order of their streams; with alignment pytorch in the order
            in which the one generator goes through them.
        alignment: Whose numbers they draw: "tensorflow" or "pytorch".
        batch_axis: Which dimension of that input.
        inverted: What a rewrite called the Bernoullis that draw the complement, as it was asked.
    """

    state: str
    next_state: str
    batch: str | None
    nodes: tuple[Stream, ...]
    alignment: str = TENSORFLOW
    batch_axis: int = 0
    inverted: tuple[str, ...] = ()

    @property
    def generator(self) -> generators.Generator:
        """The generator by which the nodes draw."""
        return generators.named(self.alignment)

    @property
    def fingerprint(self) -> str:
        """What tells this model's draws from another's: 16 hexadecimal digits."""
        import hashlib  # a hundredth of the time of a first session

        content: list[Any] = [self.batch is not None, [node.drawn for node in self.nodes]]
        if self.generator.is_named:
            content.append(self.alignment)
        if self.inverted:
            content.append(self.inverted)
        if self.batch_axis:
            content.append(self.batch_axis)
        text = json.dumps(content, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """What it says, without what earlier versions did not know, where that says nothing."""
        written = {}
        for name, value in vars(self).items():
            if value or name not in ("batch_axis", "inverted"):
                written[name] = value
        return written

    def to_json(self) -> str:
        """The text of the metadata."""
        nodes = [node.to_list() for node in self.nodes]
        content = {"version": _VERSION, **self.to_dict(), "nodes": nodes}
        # As earlier versions wrote it.
        if not self.generator.is_named:
            del content["alignment"]
        return json.dumps(content, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Streams | None:
        """Reads the metadata; None if it is anything that this version did not write.

        None also for a model whose state is a constant: its record says which nodes kept their
        seeds, for `kept_in`.
        """
        streams = cls.recorded(text)
        if not streams.next_state:
            return None
        return streams

    @classmethod
    def recorded(cls, text: str) -> Streams:
        """What the metadata say, also of a constant state; nothing if others wrote them."""
        nothing = cls("", "", None, ())
        try:
            content = json.loads(text)
            version = content.pop("version")
            if type(version) is not int or version != _VERSION:  # True is 1, too
                return nothing
            nodes = tuple(Stream(*node) for node in content.pop("nodes"))
            inverted = tuple(content.pop("inverted", ()))
            return cls(**content, nodes=nodes, inverted=inverted)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return nothing


def kept_in(text: str) -> frozenset[Stream]:
    """The nodes that kept their own seeds, by the text of the metadata."""
    return frozenset(node for node in Streams.recorded(text).nodes if node.kept)
