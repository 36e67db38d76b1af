"""Judges many chains of operators with draws, and counts how they are rewritten by rows.

    python -m tests.rows.row_chains --count 1000 --seed 1

A chain that is accepted and wrong is made smaller and printed as text; then the exit status is 1,
as it is where too few of the right ones are accepted, or where a runtime ends the process that
judges a chain: each hundred of them have one of their own.
"""

from __future__ import annotations

import argparse
import collections
import logging
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import onnx

from tests.rows.row_builder import Form
from tests.rows.row_judge import Judged, Verdict, judge
from tests.rows.row_maker import Chain, random_chain

LEAST_SHARE = 0.9
CHUNK = 100
_MOST_TRIES = 60


@dataclass
class Count:
    """What came of many chains."""

    verdicts: collections.Counter[Verdict] = field(default_factory=collections.Counter)
    by_operator: dict[str, collections.Counter[Verdict]] = field(default_factory=dict)
    crashes: list[int] = field(default_factory=list)
    """The chains at which a process ended."""

    def add(self, chain: Chain, judged: Judged) -> None:
        self.verdicts[judged.verdict] += 1
        for operator in set(chain.built(Form.MODEL).operators):
            counted = self.by_operator.setdefault(operator, collections.Counter())
            counted[judged.verdict] += 1

    @property
    def share(self) -> float:
        """Of the chains that are right by the rules, those that were accepted."""
        right = self.verdicts[Verdict.RIGHT]
        return right / max(1, right + self.verdicts[Verdict.NEEDLESS])

    @property
    def judged(self) -> int:
        """How many chains there were, those included at which a process ended."""
        return self.verdicts.total() + len(self.crashes)

    def summary(self) -> str:
        """What decides, in a line."""
        wrong = self.verdicts[Verdict.WRONG]
        ended = len(self.crashes)
        return f"{wrong} accepted and wrong, {ended} ended, {self.share:.1%} of the right accepted"

    def text(self) -> str:
        lines = [f"{self.verdicts[verdict]:6} {verdict.value}" for verdict in Verdict]
        lines.append(f"{len(self.crashes):6} ended their process")
        lines.append(f"{self.share:6.1%} of the chains that are right are accepted")
        lines.append("\nright  WRONG  needless  refused  operator")
        for operator in sorted(self.by_operator):
            counted = self.by_operator[operator]
            lines.append(
                f"{counted[Verdict.RIGHT]:5} {counted[Verdict.WRONG]:6} "
                f"{counted[Verdict.NEEDLESS]:9} {counted[Verdict.REFUSED]:8}  {operator}"
            )
        return "\n".join(lines)


def smallest(chain: Chain, is_found: Callable[[Chain], bool]) -> Chain:
    """A chain of fewer steps of which the same is so."""
    tries = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in chain.smaller():
            tries += 1
            if tries > _MOST_TRIES:
                return chain
            if is_found(smaller):
                chain = smaller
                is_smaller = True
                break
    return chain


def printed(chain: Chain, judged: Judged) -> str:
    """A chain as text."""
    built = chain.built(Form.MODEL)
    steps = " ".join(built.operators)
    return f"{judged.why}\n{steps}\n{chain}\n{onnx.printer.to_text(built.model)}"


@dataclass(frozen=True)
class Asked:
    """How chains are judged."""

    alignment: str
    ir: bool
    verdicts: tuple[Verdict, ...]
    """What is made smaller and printed."""

    def judged(self, chain: Chain) -> Judged:
        return judge(chain, self.alignment, ir=self.ir)


@dataclass(frozen=True)
class Begun:
    seed: int


@dataclass(frozen=True)
class Came:
    seed: int
    judged: Judged


@dataclass(frozen=True)
class Printed:
    text: str


def judge_all(seeds: Sequence[int], asked: Asked, parent: Connection) -> None:
    """What a child does: it sends what came of each chain, and which one it has begun."""
    logging.disable(logging.WARNING)
    for seed in seeds:
        chain = random_chain(seed)
        parent.send(Begun(seed))
        came = asked.judged(chain)
        parent.send(Came(seed, came))
        if came.verdict in asked.verdicts:
            small = smallest(
                chain, lambda each, came=came: asked.judged(each).verdict is came.verdict
            )
            text = printed(small, asked.judged(small))
            parent.send(Printed(f"--- {seed}: {came.verdict.value}\n{text}"))
    parent.close()


def judge_in_child(seeds: Sequence[int], asked: Asked, count: Count) -> Sequence[int]:
    """Judges chains in another process, which a runtime may end; returns those that are left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=judge_all, args=(seeds, asked, theirs))
    child.start()
    theirs.close()
    begun = seeds[0]
    while True:
        try:
            said = ours.recv()
        except EOFError:
            break
        if isinstance(said, Begun):
            begun = said.seed
        elif isinstance(said, Came):
            count.add(random_chain(said.seed), said.judged)
        else:
            print(said.text, flush=True)
    child.join()
    if child.exitcode == 0:
        return ()
    count.crashes.append(begun)
    print(
        f"--- {begun}: a process ended with {child.exitcode} while it judged this chain", flush=True
    )
    return seeds[seeds.index(begun) + 1 :]


def main() -> None:
    parser = argparse.ArgumentParser(description="Judges chains of operators with draws.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ir", action="store_true", help="as OpenVINO's models")
    parser.add_argument("--alignment", default="tensorflow", choices=["tensorflow", "pytorch"])
    parser.add_argument(
        "--needless", action="store_true", help="print what is refused though right"
    )
    given = parser.parse_args()
    verdicts = [Verdict.WRONG]
    if given.needless:
        verdicts.append(Verdict.NEEDLESS)
    asked = Asked(given.alignment, given.ir, tuple(verdicts))
    count = Count()
    first = given.seed * 1_000_000
    for start in range(first, first + given.count, CHUNK):
        seeds: Sequence[int] = range(start, min(start + CHUNK, first + given.count))
        while seeds:
            seeds = judge_in_child(seeds, asked, count)
        print(f"after {count.judged} chains: {count.summary()}", flush=True)
    print(count.text())
    is_wrong = count.verdicts[Verdict.WRONG] > 0 or bool(count.crashes)
    sys.exit(is_wrong or count.share < LEAST_SHARE)


if __name__ == "__main__":
    main()
