"""The passes of a rewrite in their order, for models of ONNX and of OpenVINO.

Two are the same for both: the numbers of streams, and the proof of rows.
"""

from __future__ import annotations

import functools
import itertools
import logging
import shlex
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from onnx_philox._contract import checks, shown
from onnx_philox._contract.generators import Generator
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._rewriting import equal_seeds, kept_seeds
from onnx_philox._rewriting.asked import OWNER, THE_ORIGINAL, Asked
from onnx_philox._rewriting.batches import Beside
from onnx_philox._rewriting.found import Irreplaceable, Random, leave
from onnx_philox._rewriting.not_rows import NotRowsError, check_names, few, of_all
from onnx_philox._rewriting.places import saying
from onnx_philox._rewriting.recorded import Recorded
from onnx_philox._rewriting.report import Report


def number_nodes(nodes: Sequence[Random], recorded: Recorded[Any]) -> list[Random]:
    """Numbers nodes in order, as `_stream_numbers` says; the model does not change yet.

    Nodes that a conversion has numbered come first, whatever numbers others keep. Nodes that draw
    the same share the number of the first of them. The numbers that the others of them would have
    had stay unused, so that a node after them has the same number whether they are shared or not.

    Raises:
        ValueError: There is no number left, or a node's own seeds are those of a number that an
            earlier rewrite recorded or a conversion gave.
    """
    new = [node.kept for node in nodes if node.kept is not None]
    kept = [*recorded.kept, *new]
    given = _stream_numbers(recorded.streams, recorded.next_stream)
    converted = {next(given): node.site.title for node in nodes if node.is_numbered}
    kept_seeds.check_streams(kept, converted)
    before = recorded.streams if recorded.state is not None else {}
    kept_seeds.check_streams(new, before)
    taken = {*recorded.streams, *converted, *kept_seeds.streams_of(kept)}
    others = _stream_numbers(taken, recorded.next_stream)
    first = iter(converted)

    same: dict[Hashable, int] = {}

    def stream_of(node: Random) -> int | None:
        if node.is_numbered:
            return next(first)
        if node.kept is not None:
            return None
        own = next(others)
        if node.same is None:
            return own
        return same.setdefault(node.same, own)

    return [replace(node, stream=stream_of(node)) for node in nodes]


def _stream_numbers(taken: Collection[int], first: int) -> Iterator[int]:
    """The numbers for new nodes from the first on, between those that are taken already.

    A number is the node's word 2 of the counter, so no two nodes may have the same one. Numbers of
    an earlier rewrite stay, and the next one follows the largest of them.

    Raises:
        ValueError: There is no number left.
    """
    for stream in itertools.count(first):
        if stream in taken:
            continue
        if stream >= kept_seeds.STREAMS:
            allowed = f"from 0 to {kept_seeds.STREAMS - 1}"
            checks.refuse(OWNER, "the next stream number (op_seed)", stream, allowed, THE_ORIGINAL)
        yield stream


def choose_shares(nodes: Sequence[Random], asked: bool | Collection[str]) -> list[Random]:
    """The nodes, those inverted that are asked for; warns of others that may be meant to be.

    Raises:
        ValueError: A name is not that of a Bernoulli.
    """
    named = frozenset[str]() if isinstance(asked, bool) else frozenset(asked)
    known = (node.names for node in nodes if node.share is not None)
    check_names(named, frozenset[str]().union(*known), "a Bernoulli to invert")

    chosen = []
    for node in nodes:
        share = node.share
        is_named = bool(node.names & named)
        if share is not None and (is_named or (asked is True and share.doubt)):
            node = replace(node, share=share.inverted)
        chosen.append(node)
    for share in dict.fromkeys(node.share for node in chosen):
        if share is not None and share.doubt:
            names = [node.site.called for node in chosen if node.share == share]
            options = " ".join(f"--invert-bernoulli {shlex.quote(name)}" for name in names)
            warnings.warn(
                f"Bernoulli {', '.join(map(repr, names))}: {share}. For the other share, pass "
                f"invert_bernoulli={names!r} ({options})",
                stacklevel=shown.stacklevel(),
            )
    if asked is False:
        warn_of_moved_shares(chosen)
    return chosen


def warn_of_moved_shares(nodes: Sequence[Random]) -> None:
    """Warns once of all Bernoullis that draw another share of ones in the rewritten model."""
    moved = []
    for node in nodes:
        if node.share and node.share.moves:
            moved.append((node.site.called, node.share))
    if not moved:
        return
    names = []
    what = []
    for name, share in moved:
        names.append(name)
        numbers = f" ({share.numbers})" if share.numbers else ""
        what.append(f"{name!r}{numbers}")
    warnings.warn(
        f"Bernoulli {few(what)}: {moved[0][1]}, as ONNX says. For the shares of today, pass "
        f"invert_bernoulli={names!r} to make_reproducible, rewrite_file or Pipeline; for the new "
        "ones without this warning, invert_bernoulli=()",
        stacklevel=shown.stacklevel(),
    )


def warn_of_doubts(nodes: Sequence[Random]) -> None:
    """Warns of nodes that may not draw what was meant, each reason once."""
    for doubt in dict.fromkeys(node.doubt for node in nodes):
        if doubt is not None and doubt.is_warned:
            alike = [node.site for node in nodes if node.doubt == doubt]
            names = ", ".join(repr(site.called) for site in alike)
            op_type = alike[0].op_type
            warnings.warn(f"{op_type} {names}: {doubt}", stacklevel=shown.stacklevel())


class Batch(Protocol):
    """The dimension of an input that gives a model its rows."""

    @property
    def name(self) -> str:
        """Its own name, or that of the input."""

    @property
    def where(self) -> str:
        """What messages call it."""

    @property
    def rivals(self) -> Sequence[str]:
        """The dimensions that it could be as well."""

    @property
    def beside(self) -> Beside:
        """What is taken of the other inputs."""


BatchOf = TypeVar("BatchOf", bound=Batch, covariant=True)
RandomIn = TypeVar("RandomIn", contravariant=True)


class Rows(Protocol[RandomIn, BatchOf]):
    """The batch of a model, and whether random nodes draw its rows."""

    @property
    def batch(self) -> BatchOf:
        """The batch."""

    def obstacle(self, random: RandomIn, /, *, is_named: bool = False) -> RefusalError | None:
        """What stands in the way of a node's drawing rows of the batch; None where nothing does.

        The first dimension of a node that is named is the batch, if it may be.
        """


def prove_rows(
    nodes: Sequence[Random],
    named: Collection[str],
    rows_of: Callable[[], Rows[Random, BatchOf]],
) -> tuple[BatchOf, list[Random]]:
    """Proves that random nodes draw rows of the batch, but for those that are named.

    Returns:
        The batch, and the nodes that are only said to draw its rows.

    Raises:
        ValueError: The model has no batch; a name is not that of a random node; or a node that is
            not named is not proved to draw rows of the batch, or cannot.
    """
    every: set[str] = set()
    for random in nodes:
        every |= random.names
    check_names(named, every)
    rows = rows_of()
    said: list[Random] = []
    unnamed: list[NotRowsError] = []
    for random in nodes:
        is_named = not random.names.isdisjoint(named)
        error = rows.obstacle(random, is_named=is_named)
        if not isinstance(error, NotRowsError):
            if error is not None:
                raise error
        elif is_named:
            said.append(random)
        else:
            unnamed.append(error)
    if unnamed:
        raise of_all(unnamed, [random.site.called for random in said])
    for doubt in about_batch(rows.batch):
        warnings.warn(
            f"{OWNER}: each row is one of {rows.batch.where}; {doubt}",
            stacklevel=shown.stacklevel(),
        )
    return rows.batch, said


def about_batch(batch: Batch) -> list[str]:
    """What was taken for granted of the batch, and what to do where it is not so."""
    doubts = []
    if batch.rivals:
        doubts.append(
            f"every draw has {' and '.join(map(repr, batch.rivals))}, too. Say which of them is "
            f"the batch, with {saying(batch.rivals[0])} for instance."
        )
    if batch.beside.apart:
        named = []
        for input, name in batch.beside.apart:
            named.append(f"{input!r} has {name!r}")
        inputs = few(named)
        doubts.append(
            f"the input {inputs} instead, and so counts as the same for all rows. If these are "
            "one batch, give them one name (dynamic_axes or dynamic_shapes of the exporter)."
        )
    return doubts


_log = logging.getLogger("onnx_philox")


Model = TypeVar("Model")
Left = TypeVar("Left", bound=Recorded[Any])


@dataclass(frozen=True)
class Plan(Generic[Random, BatchOf]):
    """What is to be done to a model, which nothing speaks against."""

    nodes: Sequence[Random]
    generator: Generator
    seed: int | None
    """None for a state that is an input."""
    has_key: bool
    """Whether the state has the seed as its key, and the nodes have not."""
    batch: BatchOf | None
    """None for a model with one state."""
    unproved: Sequence[Random]
    """The nodes that are only said to draw rows of the batch."""

    @property
    def inverted(self) -> tuple[str, ...]:
        """What the nodes are called that draw the complement, as it was asked."""
        called = []
        for node in self.nodes:
            if node.share is not None and node.share.is_inverted:
                called.append(node.site.called)
        return tuple(called)

    @property
    def global_seed(self) -> int:
        """The global seed of the nodes that have a stream."""
        if self.has_key:
            return 0
        return self.seed or 0


@dataclass(frozen=True)
class Format(Generic[Model, Random, BatchOf, Left]):
    """What reads models of one format, and changes them in place."""

    find: Callable[[Model, Asked], Sequence[Random | Irreplaceable]]
    """What becomes of each random node, in the order of their streams; changes nothing."""
    recorded: Callable[[Model], Left]
    """What an earlier rewrite left."""
    check: Callable[[Model, Asked, Left, Sequence[Random | Irreplaceable]], None]
    """Refuses what a model that was rewritten before cannot be given."""
    rows: Callable[[Model, Sequence[Random], Left, Asked], Rows[Random, BatchOf]]
    """The batch of a model; raises where there is none."""
    replace: Callable[[Model, Left, Plan[Random, BatchOf]], None]
    """Makes the state, carries it to the nodes, replaces them, and records their streams."""
    settle: Callable[[Model], int] = lambda _: 0
    """Replaces the nodes that draw nothing and cannot stay; returns how many there were."""


def rewrite(
    format: Format[Model, Random, BatchOf, Left],
    model: Model,
    asked: Asked,
) -> Report:
    """Replaces the random nodes of a model, in place.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: A random node breaks its rules or has no replacement; the model cannot be given
            what is asked for; or a draw is not proved to be rows of the batch.
    """
    found = format.find(model, asked)
    recorded = format.recorded(model)
    recorded.check_seed(asked.seed)
    format.check(model, asked, recorded, found)
    named = asked.named
    if named is not None:
        recorded.check_rows()
    elif recorded.has_rows:
        named = frozenset()
    kept = [each for each in found if isinstance(each, Irreplaceable)]
    for each in kept:
        leave(each.error, keep_unknown=asked.keep_unknown)
    nodes = [each for each in found if not isinstance(each, Irreplaceable)]
    nodes = choose_shares(nodes, asked.invert_bernoulli)
    warn_of_doubts(nodes)
    left = tuple(each.record() for each in kept)
    report = Report(
        kept=left,
        recorded=recorded.nodes,
        seed=recorded.seed,
        is_per_row=recorded.has_rows,
    )
    if not nodes:
        check_names(() if recorded.has_rows else asked.named or (), ())
        _log.info("onnx_philox: no random nodes to replace")
        return replace(report, settled=format.settle(model))
    seed = asked.seed if recorded.state is None else recorded.seed
    batch = None
    unproved = list[Random]()
    if named is not None:
        rows = functools.partial(format.rows, model, nodes, recorded, asked)
        batch, unproved = prove_rows(nodes, named, rows)
    numbered = number_nodes(nodes, recorded)
    new = [node.kept for node in nodes if node.kept is not None]
    kept_seeds.warn_of_repeats(new, recorded.kept)
    has_key = recorded.has_key or (recorded.state is None and bool(new))
    records = tuple(node.record() for node in numbered)
    equal_seeds.warn(records, asked.generator, keeps=asked.keep_seeds)
    settled = format.settle(model)
    plan = Plan(numbered, asked.generator, seed, has_key, batch, unproved)
    format.replace(model, recorded, plan)
    return replace(
        report,
        replaced=records,
        seed=seed,
        is_per_row=batch is not None,
        settled=settled,
    )
