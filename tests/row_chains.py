"""Judges many chains of operators with draws, and counts how they are rewritten by rows.

    python tests/row_chains.py --count 1000 --seed 1

A chain that is accepted and wrong is made smaller and printed as text; then the exit status is 1.
"""

from __future__ import annotations

import argparse
import collections
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import onnx
from row_builder import Form
from row_judge import Judged, Verdict, judge
from row_maker import Chain, random_chain

_MOST_TRIES = 60


@dataclass
class Count:
    """What came of many chains."""

    verdicts: collections.Counter[Verdict] = field(default_factory=collections.Counter)
    by_operator: dict[str, collections.Counter[Verdict]] = field(default_factory=dict)

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

    def text(self) -> str:
        lines = [f"{self.verdicts[verdict]:6} {verdict.value}" for verdict in Verdict]
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
    logging.disable(logging.WARNING)
    count = Count()
    verdicts = [Verdict.WRONG]
    if given.needless:
        verdicts.append(Verdict.NEEDLESS)

    def judged(chain: Chain) -> Judged:
        return judge(chain, given.alignment, ir=given.ir)

    for number in range(given.count):
        seed = given.seed * 1_000_000 + number
        chain = random_chain(seed)
        came = judged(chain)
        count.add(chain, came)
        if came.verdict in verdicts:
            chain = smallest(
                chain, lambda smaller, came=came: judged(smaller).verdict is came.verdict
            )
            print(f"--- {seed}: {came.verdict.value}\n{printed(chain, judged(chain))}", flush=True)
    print(count.text())
    sys.exit(count.verdicts[Verdict.WRONG] > 0)


if __name__ == "__main__":
    main()
