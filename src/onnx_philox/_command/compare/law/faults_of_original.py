"""What a runtime does wrong with the original, and which differences of the law that explains.

`inspect` finds what is wrong: by trying each random node, and by its table of known behaviours. A
fault of a node explains a difference of an output that reads what the node draws. A fault of nodes
together explains how two outputs go together that read one node each. A difference "may come of" a
fault where no test says that it is as large as the fault makes it.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import onnx_ir as ir

from onnx_philox._command.compare.law.change import Change, GoTogether, OfValues
from onnx_philox._command.compare.law.one_seed import OfOneSeed, of_one_seed
from onnx_philox._command.compare.law.reached import (
    Reach,
    Reached,
    ReachedInOnnx,
    ReachedInOpenvino,
)
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._models.constants import small_constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS
from onnx_philox._rewriting.look import AnyLook, OpenvinoLook
from onnx_philox._rewriting.seeded import Seeded
from onnx_philox._rewriting.survey import survey

if TYPE_CHECKING:
    from onnx_philox._command.inspect import Inspection
    from onnx_philox._command.inspect.known.row import Explains, Said
    from onnx_philox._command.inspect.today import InspectedNode
    from onnx_philox._command.inspect.trials import Trial, Trials

_MOST_NUMBERS = 4096
"""A constant of more is not read."""


@dataclass(frozen=True)
class FaultyNode:
    """A node that has a fault."""

    text: str
    """What is wrong with it, in a sentence."""
    called: str
    reached: Reached
    said: Said | None = None
    """The row that it meets; None where a trial alone shows the fault."""
    seeded: Seeded | None = None
    beside_p: frozenset[str] = frozenset()
    """Of a Bernoulli, the outputs that read a draw which its probabilities read, too."""

    @property
    def other(self) -> str:
        """A node that it has the fault together with, as it is called; empty for none."""
        return "" if self.said is None else self.said.other


@dataclass(frozen=True)
class Cause:
    """A fault that a difference comes of, or may come of."""

    text: str
    """The sentence on it."""
    is_tested: bool = False
    """Whether the difference is as large as the fault makes it, as far as tests say."""
    pair: frozenset[str] = frozenset()
    """The two nodes that have it together, as they are called."""


@dataclass
class Fault:
    """Something that a runtime does wrong, and the nodes with which it does."""

    explains: Explains
    is_of_all: bool = False
    """Whether any two of the nodes go together; else two that say so of each other do."""
    is_of_one: bool = False
    """Whether several draws of one node go together, too."""
    is_of_trial: bool = False
    """Whether a trial of two such nodes alone shows it, which is told where nothing else is."""
    nodes: list[FaultyNode] = field(default_factory=list)

    @property
    def is_of_several(self) -> bool:
        """Whether it is about how nodes go together."""
        # Loaded only where it is needed.
        from onnx_philox._command.inspect.known.row import Explains

        return self.explains is Explains.SEVERAL_NODES

    def explaining(self, change: Change) -> Cause | None:
        """The sentence on a node with which it explains a difference; None if it does not."""
        if self.is_of_several:
            return self._explaining_by_several(change)
        for node in self.nodes:
            if _explains_alone(self.explains, node, change):
                return Cause(node.text, _is_tested(self.explains, node, change))
        return None

    def _explaining_by_several(self, change: Change) -> Cause | None:
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
            text = None
            if node is not other_node:
                text = self._of_pair(node, other_node)
            elif self.is_of_one and _takes_several(node, change):
                text = node.text
            if text is not None:
                return Cause(text, pair=frozenset((node.called, other_node.called)))
        return None

    def _of_pair(self, node: FaultyNode, other: FaultyNode) -> str | None:
        """The sentence on these two nodes; None where they do not go together."""
        if self.is_of_all:
            # Nodes of one seed draw the same on purpose.
            is_on_purpose = node.seeded is not None and node.seeded == other.seeded
            return None if is_on_purpose else node.text
        if node.other == other.called:
            return node.text
        if other.other == node.called:
            return other.text
        if node.said is None or other.said is None:
            return None
        if self._groups[node.called] != self._groups[other.called]:
            return None
        # Loaded only where it is needed.
        from onnx_philox._command.inspect.known.pairs import of_pair

        text = of_pair(node.said, other.said, other.called)
        return None if text is None else f"{node.called}: {text}"

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
    if explains is Explains.INVERSION:
        return _may_be_of_inversion(node, change)
    return True


def _may_be_of_inversion(node: FaultyNode, change: Change) -> bool:
    """Whether a difference may come of an inverted Bernoulli."""
    if isinstance(change, OfValues):
        (name,) = change.outputs
        return node.reached[name] is not Reach.AS_DRAWN or change.is_inverted
    if isinstance(change, GoTogether):
        reads = [name in node.reached or name in node.beside_p for name in change.both]
        # What goes together in the draw alone does so in the inverted one.
        reaches = [node.reached.get(name) for name in change.both]
        return all(reads) and reaches != [Reach.AS_DRAWN, Reach.AS_DRAWN]
    return False


def _is_tested(explains: Explains, node: FaultyNode, change: Change) -> bool:
    """Whether a difference that a fault explains is one of which tests say the size."""
    from onnx_philox._command.inspect.known.row import Explains

    if explains is not Explains.INVERSION or not isinstance(change, OfValues):
        return False
    (name,) = change.outputs
    return node.reached[name] is Reach.AS_DRAWN


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


@dataclass(frozen=True)
class OfOriginal:
    """What is known of the original in the runtime."""

    nodes: Sequence[str] = ()
    """What the runtime does with its random operators, in sentences."""
    faults: Sequence[str] = ()
    """What of that is wrong."""
    causes: Sequence[Fault] = ()
    """The same with the nodes."""
    draws_nothing: bool = False
    """Whether it has no random nodes."""
    noise: Sequence[str] = ()
    """Then the options that draw those of its inputs that may be noise."""
    of_one_seed: Sequence[OfOneSeed] = ()
    """Its nodes of equal seeds."""

    def parted(self, changes: Sequence[Change]) -> list[str]:
        """What there is to say of nodes of equal seeds, of those that a difference may be about.

        That is one that no fault of the original explains.
        """
        unexplained = [change for change in changes if not self.explaining(change)]
        found = []
        for each in self.of_one_seed:
            if any(each.may_explain(change) for change in unexplained):
                found.append(each.text)
        return found

    def explaining(self, change: Change) -> list[Cause]:
        """The faults that a difference comes of, or may come of; those first that are tested."""
        found = []
        of_trials = []
        for fault in self.causes:
            cause = fault.explaining(change)
            if cause is None:
                continue
            if fault.is_of_trial:
                of_trials.append(cause)
            else:
                found.append(cause)
        if not any(cause.pair for cause in found):
            found += of_trials
        return sorted(found, key=lambda cause: not cause.is_tested)

    def others(self, changes: Sequence[Change]) -> list[str]:
        """The sentences of the faults that explain none of these differences.

        What one of two nodes says the other one need not say once more.
        """
        used = {cause for change in changes for cause in self.explaining(change)}
        told = {cause.text for cause in used}
        pairs = {cause.pair for cause in used if cause.pair}
        found = []
        for text in self.faults:
            of_text = self._pairs_of(text)
            if text in told or (of_text and of_text <= pairs):
                continue
            pairs |= of_text
            found.append(text)
        return found

    def _pairs_of(self, text: str) -> set[frozenset[str]]:
        """The pairs of nodes of which a sentence says something."""
        found = set()
        for fault in self.causes:
            for node in fault.nodes:
                if node.text == text and node.other:
                    found.add(frozenset((node.called, node.other)))
        return found


def of_original(original: AnyLook, runtime: str) -> OfOriginal:
    """What `inspect` finds of the original; nothing where it cannot be read."""
    # Loaded only where it is needed.
    from onnx_philox._command.inspect import inspect_model

    with suppress(OSError, TypeError, ValueError, ImportError):
        # The first, since `inspect` changes the model at which it looks.
        drawn = _drawn(original)
        report = inspect_model(original)
        if not drawn:
            return OfOriginal(draws_nothing=True, noise=report.noise.options)
        for trials in report.runtimes:
            if trials.name == runtime:
                return _Gathered(report, trials, drawn).all()
    return OfOriginal()


class _Gathered:
    """What a report of `inspect` says of a model in a runtime."""

    def __init__(self, report: Inspection, trials: Trials, drawn: list[Drawn]) -> None:
        self._report = report
        self._trials = trials
        self._drawn = drawn
        self._of_halves: set[int] = set()
        """The nodes of which each number is 1 with a probability of a half, by their `id`."""
        self._said: dict[str, None] = {}
        self._faults: dict[str, None] = {}
        self._causes: dict[str, Fault] = {}
        """By the name of a row, or by the sentence on a trial."""

    def all(self) -> OfOriginal:
        """Everything."""
        from onnx_philox._command.inspect.known.faults import OF_ALL_DROPOUTS

        reached = {}
        for found, drawn in zip(self._report.found, self._drawn, strict=True):
            # Our own nodes `inspect` tries without its library.
            if found.node.domain != DOMAIN:
                reached[id(found.node)] = drawn.reached
                if drawn.is_of_halves:
                    self._of_halves.add(id(found.node))
                self._add_node(found, drawn)
        for met in self._report.met_in(self._trials):
            text = met.known.says
            self._faults.setdefault(text)
            is_of_all = met.known in OF_ALL_DROPOUTS
            cause = Fault(met.known.explains, is_of_all=is_of_all, is_of_one=is_of_all)
            self._causes[met.known.name] = cause
            for node in met.nodes:
                of_node = reached[id(node)]
                cause.nodes.append(FaultyNode(text, node.called, of_node, seeded=node.seeded))
        return OfOriginal(
            [*self._said],
            [*self._faults],
            [*self._causes.values()],
            of_one_seed=of_one_seed([found.node for found in self._report.found], reached),
        )

    def _add_node(self, found: InspectedNode, drawn: Drawn) -> None:
        """Takes over what is said of a node, each sentence as a fault or as none."""
        from onnx_philox._command.inspect.in_words import operator_of
        from onnx_philox._command.inspect.trials import Behaviour

        reached = drawn.reached
        operator = operator_of(found.node)
        today = found.today(self._trials)
        rows = {each.text: each for each in today.known}
        is_still = today.trial.behaviour in (
            Behaviour.SAME_IN_EACH_RUN,
            Behaviour.OTHER_IN_EACH_SESSION,
        )
        for sentence in today.sentences:
            row = rows.get(sentence.text)
            # Of what it does with another node it matters which of them it is.
            subject = operator if row is None or not row.other else found.node.called
            text = f"{subject}: {sentence.text}"
            is_of_trial = sentence.text == today.trial.sentence
            if sentence.is_wrong or (is_of_trial and is_still):
                self._faults.setdefault(text)
                if not self._explains_nothing(found, row, today.trial, is_of_trial=is_of_trial):
                    node = FaultyNode(text, found.node.called, reached, row)
                    self._add_cause(replace(node, beside_p=drawn.beside_p))
            else:
                self._said.setdefault(text)
                self._add_what_may_repeat(found, row, FaultyNode(text, found.node.called, reached))

    def _explains_nothing(
        self,
        found: InspectedNode,
        row: Said | None,
        trial: Trial,
        *,
        is_of_trial: bool,
    ) -> bool:
        """Whether a fault of a node is none by which the outputs of this model differ."""
        from onnx_philox._command.inspect.known.row import Explains
        from onnx_philox._command.inspect.trials import FAILURES

        if is_of_trial and trial.behaviour in FAILURES:
            # The model ran.
            return True
        is_inverted = row is not None and row.known.explains is Explains.INVERSION
        # Where p is a half, so is 1 - p.
        return is_inverted and id(found.node) in self._of_halves

    def _add_cause(self, node: FaultyNode) -> None:
        """Adds a node to those of its row, or of what a trial shows."""
        from onnx_philox._command.inspect.known.row import Explains

        name = node.text
        explains = Explains.ALL
        if node.said is not None:
            name = node.said.known.name
            explains = node.said.known.explains
        cause = self._causes.setdefault(name, Fault(explains))
        cause.nodes.append(node)

    def _add_what_may_repeat(
        self,
        found: InspectedNode,
        row: Said | None,
        node: FaultyNode,
    ) -> None:
        """Adds a node without a seed of which two alone drew the same numbers."""
        from onnx_philox._command.inspect.known.probed import MERGED
        from onnx_philox._command.inspect.known.row import Explains

        if row is None or row.known is not MERGED or _has_seed(found):
            return
        name = f"{row.known.name}: {found.probe}"
        merged = Fault(Explains.SEVERAL_NODES, is_of_all=True, is_of_trial=True)
        cause = self._causes.setdefault(name, merged)
        cause.nodes.append(node)


def _has_seed(found: InspectedNode) -> bool:
    return bool(found.node.seeds or found.node.explicit_seed)


@dataclass(frozen=True)
class Drawn:
    """What a random node of the original draws."""

    reached: Reached
    is_of_halves: bool = False
    """Whether it is a Bernoulli of which each probability is a half."""
    beside_p: frozenset[str] = frozenset()
    """Of a Bernoulli, the outputs that read a draw which its probabilities read, too."""


def _drawn(original: AnyLook) -> list[Drawn]:
    """Of each random node, in the order of `inspect`."""
    if isinstance(original, OpenvinoLook):
        from onnx_philox._rewriting.in_openvino.rewrite_openvino import FORMAT

        surveyed = survey(FORMAT, original.model)
        in_openvino = ReachedInOpenvino(original.model)
        return [Drawn(in_openvino.by(each.node)) for each in surveyed.nodes]
    from onnx_philox._command.inspect import search

    found = search.search(original.graph)
    in_onnx = ReachedInOnnx(original.graph)
    bernoullis = [each.node for each in found.nodes if _is_bernoulli(each.node)]
    of_each: list[Reached] = []
    beside_p: dict[int, set[str]] = collections.defaultdict(set)
    """By the `id` of a Bernoulli."""
    for each in found.nodes:
        values = in_onnx.values_by(each.node)
        reached = in_onnx.outputs_among(values)
        of_each.append(reached)
        for node in bernoullis:
            if node.inputs[0] in values:
                beside_p[id(node)] |= reached.keys()
    drawn = []
    for each, reached in zip(found.nodes, of_each, strict=True):
        beside = frozenset(beside_p[id(each.node)])
        drawn.append(Drawn(reached, _is_of_halves(each.node), beside))
    return drawn


def _is_bernoulli(node: ir.Node) -> bool:
    return node.op_type == "Bernoulli" and node.domain in STANDARD_DOMAINS


def _is_of_halves(node: ir.Node) -> bool:
    """Whether a node is a Bernoulli of which each probability is a half."""
    if not _is_bernoulli(node):
        return False
    given = node.inputs[0]
    known = None if given is None else small_constant(given, _MOST_NUMBERS)
    return known is not None and bool((known == 1 / 2).all())
