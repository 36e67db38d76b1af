"""What a replay compares: the model, the inputs, and what each run draws and gives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_philox._command.run import beginning
from onnx_philox._contract import generators
from onnx_philox._contract.feeds import shape_name
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._record.document import COMPUTED, Record, kind_of
from onnx_philox._record.hashes import Hash, sha256
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import Arrays, Port

# The word of a state that counts runs: the last of its counter.
RUN_WORD = 3

HASH = "hash"
TEXT = "text"
TYPE = "type and shape"
KIND = "kind"
SOURCE = "source"


@dataclass(frozen=True)
class Check:
    """One thing that a record says, and what is found now."""

    run: int | None
    """The place of the run in the record; None of what is the same in all."""
    kind: str
    """"model", "streams", "number", "seed", "input", "runtime", or the kind of an output."""
    name: str
    recorded: str | None
    """None for what the record does not have."""
    found: str | None
    """None for what is no longer there."""
    counts: bool = True
    """Whether it must be equal; what a runtime computes must be so in the same runtime alone."""
    what: str = HASH
    """What of it is compared."""

    @property
    def is_equal(self) -> bool:
        """Whether it is."""
        return self.recorded == self.found


def of_model(
    written: Record,
    found: Mapping[str, Any],
    streams: Mapping[str, Any] | None,
) -> Iterator[Check]:
    """The model's file, those beside it, and its random nodes."""
    recorded = written["model"]
    yield Check(None, "model", str(found["file"]), recorded["sha256"], found["sha256"])
    beside = recorded["beside"]
    now = found["beside"]
    for name in dict.fromkeys([*beside, *now]):
        yield Check(None, "model", name, beside.get(name), now.get(name))
    yield from _of_streams(written["streams"], streams)


def of_runtime(
    written: Record,
    loaded: LoadedModel,
    versions: Mapping[str, str],
) -> Iterator[Check]:
    """What ran it, where that differs: of other versions, outputs may be rounded in another way.

    It counts where no run can have what the record says.
    """
    if loaded.runtime == written["runtime"]:
        for key in ("version", "backend", "precision", "how"):
            now = getattr(loaded, key) or None
            counts = now is None
            yield from _differing("runtime", key, written[key], now, counts=counts)
    for key, version in versions.items():
        yield from _differing("runtime", key, written["versions"][key], version, counts=False)


def of_numbers(written: Record, *, counts_runs: bool) -> Iterator[Check]:
    """The numbers of runs: they follow each other from that of the first state, or from 0.

    A state counts runs in the last word of its counter, and a result of a `Pipeline` has no number.
    """
    runs = written["runs"]
    if runs[0]["run"] is None:
        return
    first = 0
    if counts_runs and written["seed"] is not None and runs[0]["state"]:
        first = _rows_of(runs[0]["state"])[0][RUN_WORD]
    for number, run in enumerate(runs, first):
        yield from _differing("number", "number", run["run"], number, run=run["run"])


def of_seed(written: Record) -> Iterator[Check]:
    """Whether the states are of the seed that the record names: see `Generator.seed_at`."""
    seed = written["seed"]
    if seed is None:
        return
    # A state of the seed says so once for all runs, another one for its own.
    checks: dict[Check, None] = {}
    if all(run["state"] is None for run in written["runs"]):
        yield Check(None, "seed", "seed", str(seed), None, what=TEXT)
    for run in written["runs"]:
        if run["state"] is None:
            continue
        keys = [_key_of(row) for row in _rows_of(run["state"])]
        if isinstance(seed, list):
            said = _listed(seed)
            key = _listed(keys)
        else:
            # All rows have the key of the one seed.
            said = str(seed) if keys else ""
            key = _listed(sorted(set(keys)))
        place = None if said == key else run["run"]
        checks[Check(place, "seed", "seed", said, key, what=TEXT)] = None
    yield from checks


def _key_of(row: Sequence[int]) -> int:
    """The seed that the words of a state say."""
    kind = generators.of_words(len(row)) or generators.named(None)
    low, high = row[kind.seed_at]
    return low | high << 32


def _listed(numbers: Iterable[Any]) -> str:
    return ", ".join(map(str, numbers))


def of_inputs(written: Record, feeds: Arrays) -> Iterator[Check]:
    """The inputs but for the state."""
    recorded = {entry["name"]: entry["sha256"] for entry in written["inputs"]}
    for name in dict.fromkeys([*recorded, *feeds]):
        found = sha256(feeds[name]) if name in feeds else None
        yield Check(None, "input", name, recorded.get(name), found)
    for entry in written["inputs"]:
        name = entry["name"]
        if name in feeds:
            array = feeds[name]
            yield from _of_type(None, "input", entry, array.dtype.name, array.shape)
        yield from _of_source(entry)


def _of_source(entry: Record) -> Iterator[Check]:
    """Where an input came from, which is not asked where its bytes stand in the record."""
    name = entry["name"]
    argument = entry["argument"]
    filled = entry["filled"]
    sources = [s for s in (argument, filled) if s is not None]
    is_possible = len(sources) <= 1
    if argument is not None:
        is_possible &= argument.startswith(f"{name}=") or argument.endswith(".npz")
    if is_possible and filled is not None:
        port = Port(name, np.dtype(entry["type"]), tuple(entry["shape"]))
        is_possible = sha256(beginning.made(port, filled)) == entry["sha256"]
    if not is_possible:
        said = " and ".join(map(str, sources))
        yield Check(None, "input", name, said, None, what=SOURCE)


def of_run(
    run: Record,
    outputs: list[Hash],
    next_state: str | None,
    *,
    is_same_runtime: bool,
) -> Iterator[Check]:
    """The outputs of a run."""
    number = run["run"]
    recorded = {entry["name"]: entry for entry in run["outputs"]}
    now = {output.name: output for output in outputs}
    for name in dict.fromkeys([*recorded, *now]):
        entry = recorded.get(name)
        output = now.get(name)
        then = None if entry is None else entry["sha256"]
        if output is None:
            kind = recorded[name]["kind"]
            found = None
        else:
            # A kind that the record gives may be altered; what is drawn here counts.
            kind = kind_of(output, next_state)
            found = output.sha256
        counts = kind != COMPUTED or is_same_runtime
        yield Check(number, kind, name, then, found, counts)
        if entry is not None and output is not None:
            yield from _of_type(number, kind, entry, output.type, output.shape)
            yield from _differing(kind, name, entry["kind"], kind, run=number, what=KIND)


def of_state(run: Record, *, takes_state: bool) -> Iterator[Check]:
    """A state, where the model takes none."""
    if run["state"] is not None and not takes_state:
        yield Check(run["run"], "start", "state", str(run["state"]), None, what=TEXT)


def _of_streams(
    recorded: Mapping[str, Any] | None,
    found: Mapping[str, Any] | None,
) -> Iterator[Check]:
    """The random nodes: one check if they are equal, else one for each key that is not."""
    if recorded is not None and found is not None:
        then = _plain(recorded)
        now = _plain(found)
        unequal = [key for key in now if then.get(key) != now[key]]
        for key in unequal:
            said = json.dumps(then.get(key))
            is_now = json.dumps(now[key])
            yield Check(None, "streams", key, said, is_now, what=TEXT)
        if unequal:
            return
    was = None if recorded is None else str(recorded["fingerprint"])
    now_is = None if found is None else str(found["fingerprint"])
    yield Check(None, "streams", "random nodes", was, now_is)


def _plain(streams: Mapping[str, Any]) -> dict[str, Any]:
    """Streams as JSON has them; records from before had one alignment."""
    return {"alignment": TENSORFLOW, **json.loads(json.dumps(streams))}


def _of_type(
    run: int | None,
    kind: str,
    entry: Record,
    type: str,
    shape: Sequence[int],
) -> Iterator[Check]:
    said = f"{entry['type']} {shape_name(entry['shape'])}"
    is_now = f"{type} {shape_name(shape)}"
    yield from _differing(kind, entry["name"], said, is_now, run=run, what=TYPE)


def _differing(
    kind: str,
    name: str,
    recorded: Any,
    found: Any,
    *,
    run: int | None = None,
    counts: bool = True,
    what: str = TEXT,
) -> Iterator[Check]:
    """A check of what is worth a line only where it differs."""
    if recorded != found:
        said = None if recorded is None else str(recorded)
        is_now = None if found is None else str(found)
        yield Check(run, kind, name, said, is_now, counts, what)


def _rows_of(state: Any) -> list[list[int]]:
    return state if isinstance(state[0], list) else [state]
