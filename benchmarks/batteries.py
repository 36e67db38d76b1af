"""What the operators draw, through the test batteries PractRand, TestU01 and dieharder.

    python benchmarks/batteries.py practrand RNG_test --length 1GB
    python benchmarks/batteries.py testu01 testu01_stdin --battery smallcrush
    python benchmarks/batteries.py dieharder
    python benchmarks/batteries.py testu01 testu01_stdin --draw normals/rows --seed 7

Each prints a row of a Markdown table for each draw, and exits with 1 if a draw fails. A draw is a
source and an arrangement of drawn_bits.py. docs/proved.md has the results and the batteries'
sources. Build them outside of this repository:

    make -C PractRand build/Linux/bin/RNG_test
    (cd TestU01-2009 && ./configure --prefix=$PWD/install --disable-shared && make && make install)
    cc -O2 benchmarks/testu01_stdin.c -o testu01_stdin -I TestU01-2009/install/include \
        -L TestU01-2009/install/lib -ltestu01 -lprobdist -lmylib -lm
    apt install dieharder
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from drawn_bits import ARRANGEMENTS, SEED, SOURCES, bits
from scipy import stats

SUSPICIOUS, FAILED = 1e-3, 1e-10
"""What TestU01 reports, and what its authors call a clear failure; on both sides."""
DRAWS = [
    *(f"words/{arrangement}" for arrangement in ARRANGEMENTS),
    *(f"{source}/together" for source in SOURCES if source != "words"),
]
TOP = "| draw | seed | read | results | suspicious | verdict |\n|---|--:|--:|--:|---|---|"


@dataclass
class Report:
    """What a battery says of a draw.

    Attributes:
        draw: The source and the arrangement.
        seed: What the streams start from.
        read: The bytes that the battery read.
        seconds: How long it took, the draws included.
        results: How many results there are.
        suspicious: The results the battery remarks on: what it is, and p as the battery prints it.
        has_failed: Whether one of them is a clear failure.
        p_values: All of them by the name of their test, if the battery says them.
    """

    draw: str
    seed: int
    read: int = 0
    seconds: float = 0
    results: int = 0
    suspicious: list[str] = field(default_factory=list)
    has_failed: bool = False
    p_values: list[tuple[str, float]] = field(default_factory=list)

    def row(self) -> str:
        """A row of the table."""
        read = f"{self.read / 2**30:.3g} GiB"
        remarks = "; ".join(self.suspicious) or "none"
        verdict = "**failed**" if self.has_failed else "passed"
        return f"| {self.draw} | {self.seed} | {read} | {self.results} | {remarks} | {verdict} |"


def fed(command: list[str], report: Report) -> str:
    """What a program says that reads a draw from its standard input."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said)
        assert program.stdin
        try:
            for chunk in bits(*report.draw.split("/"), report.seed):
                program.stdin.write(chunk)
                report.read += len(chunk)
        except BrokenPipeError:  # it has read enough
            pass
        if program.wait():
            raise SystemExit(2)
        report.seconds += time.monotonic() - begin
        said.seek(0)
        return said.read()


def read_practrand(said: str, report: Report) -> None:
    """Takes the results of the longest length; remarks of all lengths."""
    for part in said.split("length= ")[1:]:
        length = part.partition(" (")[0]
        for name, p, remark in re.findall(
            r"^  (\S+) +R= *\S+ +p *(~?=? *\S+) +(.*\S)", part, re.MULTILINE
        ):
            report.suspicious.append(f"{name} at {length}: p {p}, {remark}")
            report.has_failed |= "FAIL" in remark
        counts = re.findall(r"(?:no anomalies in|\.\.\.and) (\d+) test", part)
        others = len(re.findall(r"^  \S+ +R=", part, re.MULTILINE))
        report.results = int(counts[0]) + others if counts else others


def read_testu01(said: str, report: Report) -> None:
    """Takes the lines that testu01_stdin adds to TestU01's report."""
    for name, text in re.findall(r"^p-value\t(.*)\t(\S+)$", said, re.MULTILINE):
        p = float(text)
        report.results += 1
        report.p_values.append((name.strip(), p))
        if min(p, 1 - p) < SUSPICIOUS:
            report.suspicious.append(f"{name.strip()}: p = {p:.6g}")
            report.has_failed |= min(p, 1 - p) < FAILED


def read_dieharder(said: str, report: Report) -> None:
    """Takes the table."""
    line = re.compile(r"^ *(\w+)\| *(\d+)\| *\d+\| *\d+\|([\d.]+)\| *(\w+)", re.MULTILINE)
    for name, n, text, verdict in line.findall(said):
        report.results += 1
        report.p_values.append((f"{name} {n}", float(text)))
        if verdict != "PASSED":
            report.suspicious.append(f"{name} {n}: p = {text}, {verdict}")
            report.has_failed |= verdict == "FAILED"


def run(
    commands: list[list[str]],
    read: Callable[[str, Report], None],
    draws: list[str],
    seed: int,
    json_file: Path | None,
    is_broken: bool = False,
) -> None:
    """Runs a battery, one command or several, on each draw, and ends with its verdict."""
    print(TOP)
    reports = []
    for draw in draws:
        report = Report(draw, seed)
        for command in commands:
            read(fed(command, report), report)
        print(report.row(), flush=True)
        reports.append(report)
        if not report.results:
            raise SystemExit(f"{commands[0][0]} gives no results that this script can read")
        if json_file:
            json_file.write_text(json.dumps([asdict(r) for r in reports], indent=1))
    p_values = [p for report in reports for _, p in report.p_values]
    if p_values:
        p = stats.kstest(p_values, "uniform").pvalue
        print(f"\nAll {len(p_values)} p-values against a uniform distribution: p = {p:.3g}")
    raise SystemExit(any(report.has_failed != is_broken for report in reports))


def practrand(given: argparse.Namespace) -> None:
    """PractRand's standard tests."""
    command = [given.program, "stdin32", "-multithreaded", "-tlmax", given.length]
    run([command], read_practrand, given.draw or DRAWS, given.seed, given.json)


def crush(given: argparse.Namespace) -> None:
    """A battery of TestU01."""
    command = [given.program, given.battery, *map(str, given.test)]
    draws = given.draw or DRAWS
    run([command], read_testu01, draws, given.seed, given.json, is_broken=given.broken)


def dieharder(given: argparse.Namespace) -> None:
    """Dieharder: all tests, or some."""
    which = [["-d", str(number)] for number in given.test] or [["-a"]]
    commands = [["dieharder", "-g", "200", *options] for options in which]
    run(commands, read_dieharder, given.draw or DRAWS, given.seed, given.json)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    batteries = parser.add_subparsers(required=True, metavar="BATTERY")
    parts = {}
    for name, start in (("practrand", practrand), ("testu01", crush), ("dieharder", dieharder)):
        assert start.__doc__ is not None
        part = parts[name] = batteries.add_parser(name, help=start.__doc__)
        part.set_defaults(start=start)
        part.add_argument(
            "--draw", action="append", help="a source and an arrangement, such as normals/rows"
        )
        part.add_argument("--seed", type=int, default=SEED, help="what the streams start from")
        part.add_argument("--json", type=Path, help="a file for the reports")
    parts["practrand"].add_argument("program", help="PractRand's RNG_test")
    parts["practrand"].add_argument("--length", default="1GB", help="how much each test reads")
    parts["testu01"].add_argument("program", help="testu01_stdin.c, built")
    choices = ("smallcrush", "crush", "bigcrush")
    parts["testu01"].add_argument("--battery", choices=choices, default="smallcrush")
    parts["testu01"].add_argument(
        "--broken", action="store_true", help="exit with 1 unless every draw fails"
    )
    for name in ("testu01", "dieharder"):
        help_ = "only this test, by its number in the report; may be repeated"
        parts[name].add_argument("--test", type=int, action="append", default=[], help=help_)
    given = parser.parse_args()
    given.start(given)


if __name__ == "__main__":
    main()
