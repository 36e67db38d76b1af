"""Walks every random call of torch by every road, and prints what does not hold.

    python -m tests.torch_numbers.walk_torch_calls
        all of it: about forty minutes on two cores
    python -m tests.torch_numbers.walk_torch_calls --every 4
        a quarter of it
    python -m tests.torch_numbers.walk_torch_calls --case 'dropout' --road trace --batch static
    python -m tests.torch_numbers.walk_torch_calls --json records.jsonl
        every record, a line each

Ends with 1 if something is not drawn that no list of `torch_walk/` names. It also prints the lines
whose cases are drawn by now.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

Job = tuple[str, tuple[str, ...], tuple[str, ...]]
"""The batch, the roads and the names of the cases."""


def walked(job: Job) -> list[Any]:
    """The records of some cases by some roads."""
    import torch

    from tests.torch_numbers.torch_walk.cases import ALL
    from tests.torch_numbers.torch_walk.walking import Walk

    torch.set_num_threads(1)
    batch, roads, names = job
    walk = Walk(batch)
    return [r for road in roads for r in walk.by(road, [ALL[name] for name in names])]


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """The whole in parts of a minute or less: those that end at known faults come last."""
    from tests.torch_numbers.torch_walk.cases import ALL
    from tests.torch_numbers.torch_walk.known import ENDS_THE_PROCESS, EXPECTED
    from tests.torch_numbers.torch_walk.roads import BATCHES, ROWS, SHARED
    from tests.torch_numbers.torch_walk.walking import draws_rows

    found = [name for name in ALL if re.search(arguments.case, name)]
    alone = []
    for i, shared in enumerate(SHARED):
        roads = tuple(road for road in shared if re.search(arguments.road, road))
        if not roads:
            continue
        for j, batch in enumerate(BATCHES):
            if arguments.batch not in (batch, "all"):
                continue
            # Others for each road and batch.
            start = arguments.first + len(BATCHES) * i + j
            names = found[start % arguments.every :: arguments.every]
            if batch == ROWS:
                names = [name for name in names if draws_rows(ALL[name])]
            # What fails or is refused would end the module that others share with it.
            bad = {name for name, road, its in EXPECTED if its == batch and road in roads}
            ends = {name for name, road, its in ENDS_THE_PROCESS if its == batch and road in roads}
            good = [name for name in names if name not in bad]
            for first in range(0, len(good), arguments.size):
                yield batch, roads, tuple(good[first : first + arguments.size])
            alone += [(batch, roads, (name,)) for name in names if name in bad - ends]
    yield from alone


def parsed(given: Sequence[str] | None) -> argparse.Namespace:
    from tests.torch_numbers.torch_walk.roads import BATCHES

    description = __doc__.split("\n")[0] if __doc__ else ""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", default="", help="a regular expression for names of cases")
    parser.add_argument("--road", default="", help="a regular expression for names of roads")
    parser.add_argument("--batch", choices=[*BATCHES, "all"], default="all")
    parser.add_argument("--every", type=int, default=1, help="2 takes every second case, ...")
    parser.add_argument("--first", type=int, default=0, help="with --every, other cases")
    parser.add_argument("--size", type=int, default=14, help="cases to a module")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="a file for every record")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    from tests.torch_numbers.torch_walk.known import EXPECTED, LISTED, faults, stale

    arguments = parsed(given)
    records: list[Any] = []
    context = multiprocessing.get_context("spawn")
    with context.Pool(arguments.jobs, maxtasksperchild=8) as pool:
        for some in pool.imap_unordered(walked, list(jobs(arguments))):
            records += some
            if arguments.json:
                with open(arguments.json, "a") as file:
                    file.writelines(json.dumps(asdict(record)) + "\n" for record in some)
    for record in records:
        if record.verdict in ("wrong", "raw"):
            print(f"{' | '.join(record.key)} | {record.verdict}: {record.said[:200]}")
    print(dict(Counter(record.verdict for record in records)))
    problems = faults(records, EXPECTED)
    print("\n".join([*stale(records, LISTED), *problems]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
