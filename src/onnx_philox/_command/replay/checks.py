"""What a replay compares: the model, the inputs, and what each run draws and gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx_philox._contract.inputs import TORCH_STATE_WORDS
from onnx_philox._record.document import COMPUTED, Record, kind_of
from onnx_philox._record.hashes import Hash, sha256
from onnx_philox._runtimes.port import Arrays


@dataclass(frozen=True)
class Check:
    """One thing that a record says, and what is found now."""

    run: int | None
    """The place of the run in the record; None of what is the same in all."""
    kind: str
    """"model", "streams", "seed", "input", or the kind of an output."""
    name: str
    recorded: str | None
    """None for what the record does not have."""
    found: str | None
    """None for what is no longer there."""
    counts: bool = True
    """Whether it must be equal; what a runtime computes must be so in the same runtime alone."""

    @property
    def is_equal(self) -> bool:
        """Whether it is."""
        return self.recorded == self.found


def of_model(
    written: Record, found: Mapping[str, Any], streams: Mapping[str, Any] | None
) -> Iterator[Check]:
    """The model's file, those beside it, and its random nodes."""
    recorded = written["model"]
    yield Check(None, "model", str(found["file"]), recorded["sha256"], found["sha256"])
    beside, now = recorded["beside"], found["beside"]
    for name in dict.fromkeys([*beside, *now]):
        yield Check(None, "model", name, beside.get(name), now.get(name))
    then = _listed(written["streams"])
    yield Check(None, "streams", "random nodes", then, _listed(streams))


def of_seed(written: Record) -> Iterator[Check]:
    """Whether the states are of the seed that the record names: it is their key.

    The states of torch's generator hold it in their first words.
    """
    seed = written["seed"]
    if seed is None:
        return
    checks = set()
    for run in written["runs"]:
        state = run["state"]
        if state is None:
            continue
        rows = state if state and isinstance(state[0], list) else [state]
        keys = [low | high << 32 for low, high in map(_words_of_seed, rows)]
        found = keys if isinstance(seed, list) else sorted(set(keys))
        seeds = seed if isinstance(seed, list) else [seed] * bool(keys)
        said, is_key = (", ".join(map(str, s)) for s in (seeds, found))
        checks.add(Check(None if said == is_key else run["run"], "seed", "seed", said, is_key))
    yield from sorted(checks, key=lambda check: (check.run or 0, str(check.found)))


def of_inputs(written: Record, feeds: Arrays) -> Iterator[Check]:
    """The inputs but for the state."""
    recorded = {entry["name"]: entry["sha256"] for entry in written["inputs"]}
    for name in dict.fromkeys([*recorded, *feeds]):
        found = sha256(feeds[name]) if name in feeds else None
        yield Check(None, "input", name, recorded.get(name), found)


def of_run(
    run: Record, outputs: list[Hash], next_state: str | None, *, is_same_runtime: bool
) -> Iterator[Check]:
    """The outputs of a run."""
    recorded = {entry["name"]: entry for entry in run["outputs"]}
    now = {output.name: output for output in outputs}
    for name in dict.fromkeys([*recorded, *now]):
        entry, output = recorded.get(name), now.get(name)
        # A kind that the record gives may be altered; what is drawn here counts.
        kind = kind_of(output, next_state) if output else recorded[name]["kind"]
        yield Check(
            run["run"],
            kind,
            name,
            None if entry is None else entry["sha256"],
            None if output is None else output.sha256,
            counts=kind != COMPUTED or is_same_runtime,
        )


def _words_of_seed(state: Sequence[int]) -> Sequence[int]:
    return state[:2] if len(state) == TORCH_STATE_WORDS else state[4:]


def _listed(streams: Mapping[str, Any] | None) -> str | None:
    """The random nodes in a form that JSON does not change."""
    if streams is None:
        return None
    nodes = [list(n.values()) if isinstance(n, dict) else n for n in streams.get("nodes") or ()]
    return str([streams.get(k) for k in ("fingerprint", "state", "next_state", "batch")] + nodes)
