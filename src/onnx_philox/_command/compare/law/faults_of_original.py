"""What a runtime does wrong with the original, and which differences of the law that explains.

`inspect` finds what is wrong: by trying each random node, and by its table of known behaviours. A
fault of a node explains a difference of an output that reads what the node draws. A fault of nodes
together explains how two outputs go together that read one node each.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from onnx_philox._command.compare.law.change import Change, GoTogether, OfValues
from onnx_philox._command.compare.law.reached import (
    Reach,
    Reached,
    ReachedInOnnx,
    ReachedInOpenvino,
)
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._rewriting.look import AnyLook, OpenvinoLook
from onnx_philox._rewriting.seeded import Seeded
from onnx_philox._rewriting.survey import survey

if TYPE_CHECKING:
    from onnx_philox._command.inspect import Inspection
    from onnx_philox._command.inspect.known.row import Explains
    from onnx_philox._command.inspect.today import InspectedNode
    from onnx_philox._command.inspect.trials import Trials

_STANDARD_ERRORS = 6
"""So far from 1 is the sum of a share and of its inverse no more."""


@dataclass(frozen=True)
class FaultyNode:
    """A node that has a fault."""

    text: str
    """What is wrong with it, in a sentence."""
    called: str
    reached: Reached
    other: str = ""
    """A node that it has the fault together with, as it is called; empty for none."""
    seeded: Seeded | None = None


@dataclass
class Fault:
    """Something that a runtime does wrong, and the nodes with which it does."""

    explains: Explains
    is_of_all: bool = False
    """Whether any two of the nodes go together, and several draws of one; else linked ones do."""
    nodes: list[FaultyNode] = field(default_factory=list)

    @property
    def is_of_several(self) -> bool:
        """Whether it is about how nodes go together."""
        # Loaded only where it is needed.
        from onnx_philox._command.inspect.known.row import Explains

        return self.explains is Explains.SEVERAL_NODES

    def explaining(self, change: Change) -> str | None:
        """The sentence on a node with which it explains a difference; None if it does not."""
        if self.is_of_several:
            return self._explaining_by_several(change)
        for node in self.nodes:
            if _explains_alone(self.explains, node, change):
                return node.text
        return None

    def _explaining_by_several(self, change: Change) -> str | None:
        """The sentence on two nodes that go together, of which both values read one each."""
        if isinstance(change, GoTogether):
            one, other = change.both
        elif isinstance(change, OfValues):
            (one,) = change.outputs
            other = one
        else:
            return None
        ones = [node for node in self.nodes if one in node.reached]
        others = [node for node in self.nodes if other in node.reached]
        for node, other_node in itertools.product(ones, others):
            if node is other_node:
                go_together = self.is_of_all and _takes_several(node, change)
            else:
                go_together = self._go_together(node, other_node)
            if go_together:
                says_so = other_node if other_node.other == node.called else node
                return says_so.text
        return None

    def _go_together(self, node: FaultyNode, other: FaultyNode) -> bool:
        if self.is_of_all:
            # Nodes of one seed draw the same on purpose.
            return node.seeded is None or node.seeded != other.seeded
        return self._groups[node.called] == self._groups[other.called]

    @cached_property
    def _groups(self) -> Mapping[str, str]:
        """A name for all nodes that are linked with each other, by what each is called."""
        links: dict[str, set[str]] = collections.defaultdict(set)
        for node in self.nodes:
            links[node.called].add(node.other)
            links[node.other].add(node.called)
        groups: dict[str, str] = {}
        for first in links:
            waiting = [first]
            while waiting:
                called = waiting.pop()
                if called not in groups:
                    groups[called] = first
                    waiting += links[called]
        return groups


def _takes_several(node: FaultyNode, change: Change) -> bool:
    """Whether a difference is about several numbers of one node."""
    if isinstance(change, GoTogether):
        return True
    return any(node.reached[name] is Reach.ANYWHERE for name in change.outputs)


def _explains_alone(explains: Explains, node: FaultyNode, change: Change) -> bool:
    """Whether a fault of this node explains a difference."""
    from onnx_philox._command.inspect.known.row import Explains

    reads = [name for name in change.outputs if name in node.reached]
    if not reads:
        return False
    if explains is Explains.VALUES:
        return isinstance(change, OfValues)
    if explains is Explains.FIRST_ELEMENT:
        return _is_of_first_element(node, change)
    if explains is Explains.INVERSION and isinstance(change, OfValues):
        (name,) = reads
        if node.reached[name] is Reach.AS_DRAWN:
            return _is_inverted(change)
    return True


def _is_of_first_element(node: FaultyNode, change: Change) -> bool:
    """Whether a difference is about the first element, or about what may read it."""
    if isinstance(change, OfValues):
        (name,) = change.outputs
        return node.reached[name] is Reach.ANYWHERE or change.elements == frozenset((0,))
    if isinstance(change, GoTogether):
        # Of what reads a whole mask no correlation shows an element that stands still.
        for name, element in zip(change.both, change.elements, strict=True):
            if element == 0 and node.reached.get(name, Reach.ANYWHERE) < Reach.ANYWHERE:
                return True
    return False


def _is_inverted(change: OfValues) -> bool:
    """Whether one share is 1 less the other one."""
    if change.now is None or change.was is None:
        return True
    return abs(change.now + change.was - 1) <= _STANDARD_ERRORS * change.error


@dataclass(frozen=True)
class OfOriginal:
    """What is known of the original in the runtime."""

    nodes: Sequence[str] = ()
    """What the runtime does with its random operators, in sentences."""
    faults: Sequence[str] = ()
    """What of that is wrong."""
    causes: Sequence[Fault] = ()
    """The same with the nodes."""

    def explaining(self, change: Change) -> list[str]:
        """The sentences of the faults that explain a difference."""
        said = [cause.explaining(change) for cause in self.causes]
        return [text for text in said if text is not None]

    def others(self, changes: Sequence[Change]) -> list[str]:
        """The sentences of the faults that explain none of these differences.

        Nor does one that says of the other of two nodes what explains a difference.
        """
        used: set[str] = set()
        for cause in self.causes:
            said = {cause.explaining(change) for change in changes} - {None}
            if said and cause.is_of_several:
                used |= {node.text for node in cause.nodes}
            used |= {text for text in said if text is not None}
        return [fault for fault in self.faults if fault not in used]


def of_original(original: AnyLook, runtime: str) -> OfOriginal:
    """What `inspect` finds of the original; nothing where it cannot be read."""
    # Loaded only where it is needed.
    from onnx_philox._command.inspect import inspect_model

    with suppress(OSError, TypeError, ValueError, ImportError):
        # The first, since `inspect` changes the model at which it looks.
        reached = _reached(original)
        report = inspect_model(original)
        for trials in report.runtimes:
            if trials.name == runtime:
                return _Gathered(report, trials, reached).all()
    return OfOriginal()


class _Gathered:
    """What a report of `inspect` says of a model in a runtime."""

    def __init__(self, report: Inspection, trials: Trials, reached: list[Reached]) -> None:
        self._report = report
        self._trials = trials
        self._reached = reached
        self._said: dict[str, None] = {}
        self._faults: dict[str, None] = {}
        self._causes: dict[str, Fault] = {}
        """By the name of a row, or by the sentence on a trial."""

    def all(self) -> OfOriginal:
        """Everything."""
        from onnx_philox._command.inspect.known.faults import SEEDS_IN_ORDER

        reached = {}
        for found, of_node in zip(self._report.found, self._reached, strict=True):
            # Our own nodes `inspect` tries without its library.
            if found.node.domain != DOMAIN:
                reached[id(found.node)] = of_node
                self._add_node(found, of_node)
        for met in self._report.met_in(self._trials):
            text = met.known.says
            self._faults.setdefault(text)
            cause = Fault(met.known.explains, is_of_all=met.known is SEEDS_IN_ORDER)
            self._causes[met.known.name] = cause
            for node in met.nodes:
                of_node = reached[id(node)]
                cause.nodes.append(FaultyNode(text, node.called, of_node, seeded=node.seeded))
        return OfOriginal([*self._said], [*self._faults], [*self._causes.values()])

    def _add_node(self, found: InspectedNode, reached: Reached) -> None:
        from onnx_philox._command.inspect.in_words import operator_of
        from onnx_philox._command.inspect.known.row import Explains
        from onnx_philox._command.inspect.trials import FAILURES, Behaviour

        operator = operator_of(found.node)
        today = found.today(self._trials)
        known = {each.text: each for each in today.known}
        for sentence in today.sentences:
            text = f"{operator}: {sentence.text}"
            is_still = sentence.text == today.trial.sentence and today.trial.behaviour in (
                Behaviour.SAME_IN_EACH_RUN,
                Behaviour.OTHER_IN_EACH_SESSION,
            )
            if not (sentence.is_wrong or is_still):
                self._said.setdefault(text)
                continue
            self._faults.setdefault(text)
            if sentence.text == today.trial.sentence and today.trial.behaviour in FAILURES:
                # The model ran, so that explains nothing of it.
                continue
            row = known.get(sentence.text)
            if row is None:
                # What a trial shows.
                name = text
                explains = Explains.ALL
                other = ""
            else:
                name = row.known.name
                explains = row.known.explains
                other = row.other
            cause = self._causes.setdefault(name, Fault(explains))
            cause.nodes.append(FaultyNode(text, found.node.called, reached, other))


def _reached(original: AnyLook) -> list[Reached]:
    """The outputs that read each random node, in the order of `inspect`."""
    if isinstance(original, OpenvinoLook):
        from onnx_philox._rewriting.in_openvino.rewrite_openvino import FORMAT

        surveyed = survey(FORMAT, original.model)
        in_openvino = ReachedInOpenvino(original.model)
        return [in_openvino.by(each.node) for each in surveyed.nodes]
    from onnx_philox._command.inspect import search

    found = search.search(original.graph)
    in_onnx = ReachedInOnnx(original.graph)
    return [in_onnx.by(each.node) for each in found.nodes]
