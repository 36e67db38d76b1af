"""`onnx-philox replay`: runs again what a record says, and names what is no longer equal.

The model is loaded and fed as in `run`. `replay_checks` compares, and `replay_printed` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onnx_philox import _backends
from onnx_philox._command import paths
from onnx_philox._command.replay import replay_checks
from onnx_philox._command.replay.replay_printed import ReplayedRecord
from onnx_philox._command.run import beginning, given_inputs, loading
from onnx_philox._command.run.given_inputs import StatePorts
from onnx_philox._command.run.loading import Settings
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.streams import STATE, Streams
from onnx_philox._progress import Progress, ignore
from onnx_philox._record import document, recorded_model
from onnx_philox._record.hashes import hashes
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.look import ModelLook, look
from onnx_philox._runtimes.models import LoadedModel, RunError
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port, refusing_as_argument

__all__ = ["ArgumentError", "ReplayedRecord", "RunError", "replay"]


def replay(
    record: Path,
    *,
    model: Path | None = None,
    inputs: Sequence[str] = (),
    runtime: str | None = None,
    progress: Progress = ignore,
) -> ReplayedRecord:
    """Runs again what a record says, each run from the state that the record gives.

    `model` and `inputs` are for files that are no longer where the record says. Without a runtime,
    it is the record's.

    Raises:
        ArgumentError: The record or an argument is wrong, or an input is not to be had.
        RunError: The runtime does not load the model, or a run fails.
    """
    try:
        written = document.read_record(record.read_bytes())
    except FileNotFoundError:
        raise paths.no_such_file("the record", record) from None
    path = _path_of(written, model)
    named = paths.given("replay", path)
    name = runtime or written["runtime"]
    with named.kept_open():
        seen = look(named, _settings(name, written).backend)
        with refusing_as_argument():
            found = recorded_model.files(named, named.stamp)
            rewritten = _rewritten(seen, written)
            streams = rewritten.streams
        loaded = served = _load(rewritten, name, written)
        if written["runs"][0]["run"] is None:
            # Of a `Pipeline`: OpenVINO may round outputs in another way where draws are some.
            served = _load(rewritten, name, written, shows_drawn=False)
    report = ReplayedRecord(record, path, written, loaded)
    report.checks += replay_checks.of_model(written, found, recorded_model.listed(streams))
    report.checks += replay_checks.of_runtime(written, loaded, document.versions())
    report.checks += replay_checks.of_seed(written)
    state = _state(loaded, streams)
    counts_runs = state is not None and state.counts_runs
    report.checks += replay_checks.of_numbers(written, counts_runs=counts_runs)
    name = "" if streams is None else streams.state
    feeds = _inputs(written, inputs, loaded.inputs, name)
    # Before they are fed: the runtime would say less well what has another type or shape.
    report.checks += replay_checks.of_inputs(written, feeds)
    known = {port.name for port in loaded.inputs}
    fed = {each: array for each, array in feeds.items() if each in known}
    for done, run in enumerate(written["runs"]):
        progress(done, len(written["runs"]), f"run {run['run']}")
        report.checks += replay_checks.of_state(run, takes_state=state is not None)
        # Each begins where the record says, and not where the one before it ended.
        runs = beginning.StatedRuns(loaded, state, dict(fed))
        if state is not None and run["state"] is not None:
            runs.go_on_from(run["state"])
        missing = [p.name for p in loaded.inputs if p.is_required and p.name not in runs.inputs]
        if missing:
            raise ArgumentError(
                f"the record must hold every input of the model: got none named {missing[0]!r}. "
                "Pass --model with the model that was recorded."
            )
        try:
            taken = dict(runs.feeds())
            outputs = runs.run()
            if served is not loaded:
                outputs |= served.run(taken)
        except RunError:
            if report.is_ok:
                raise
            # What differs says more than the runtime's words about what follows from it.
            report.is_whole = False
            break
        hashed = hashes(outputs, loaded.drawn)
        following = None if streams is None else streams.next_state
        same = report.is_same_runtime
        report.checks += replay_checks.of_run(run, hashed, following, is_same_runtime=same)
    return report


def _state(loaded: LoadedModel, streams: Streams | None) -> StatePorts | None:
    """The input that holds the state of the runs; None where the model says nothing of one."""
    if streams is None:
        return None
    for port in loaded.inputs:
        if port.name == streams.state:
            # Each run begins at the state that the record gives.
            return StatePorts(port, None, port.name.endswith(STATE))
    return None


def _path_of(written: document.Record, given: Path | None) -> Path:
    recorded = written["model"]["file"]
    if given is not None:
        return given
    if recorded is None:
        raise ArgumentError(
            "--model must be given, since the recorded model had no file: got nothing. Pass the "
            f"file with the SHA-256 {written['model']['sha256']}."
        )
    if not Path(recorded).exists():
        raise ArgumentError(
            f"no such file: {recorded}. The recorded model is not there: pass where it is, with "
            "--model FILE."
        )
    return Path(recorded)


def _rewritten(seen: ModelLook, written: document.Record) -> ModelLook:
    """The file itself, or what `Pipeline` makes of one that is not rewritten."""
    if seen.given.of_openvino:
        return seen
    model = written["model"]
    words = {each: model.get(each, False) for each in ("per_row", "invert_bernoulli", "keep_seeds")}
    # Records from before had one answer.
    streams = written["streams"] or {}
    alignment = str(streams.get("alignment", TENSORFLOW))
    batch = None
    if words["per_row"]:
        batch = f"{streams['batch']}:{streams.get('batch_axis', 0)}"
    draw = model.get("draw", {})
    asked = Asked(alignment=alignment, batch=batch, draw=draw, **words).again
    return seen.rewritten(asked) if seen.must_be_rewritten(asked) else seen


def _settings(runtime: str, written: document.Record, *, shows_drawn: bool = True) -> Settings:
    is_same = runtime == written["runtime"]
    # Another runtime's rounding is to be the least.
    wanted = written["precision"] if is_same else loading.COMPARED
    precision = loading.precision_in(runtime, wanted)
    backend = written["backend"] if is_same else _backends.AUTO
    return Settings(backend, precision, shows_drawn=shows_drawn)


def _load(
    seen: ModelLook,
    runtime: str,
    written: document.Record,
    *,
    shows_drawn: bool = True,
) -> LoadedModel:
    settings = _settings(runtime, written, shows_drawn=shows_drawn)
    return loading.load_model(seen, runtime, settings)


def _inputs(
    written: document.Record,
    given: Sequence[str],
    known: Sequence[Port],
    state: str,
) -> Arrays:
    """The recorded inputs: as given now, from the record, made up again, or from their files."""
    feeds = given_inputs.read_inputs(given, known, state)
    for entry in written["inputs"]:
        name = entry["name"]
        if name in feeds:
            continue
        array = document.array_of(entry)
        if array is None and entry["filled"] is not None:
            port = Port(name, np.dtype(entry["type"]), tuple(entry["shape"]))
            array = beginning.made(port, entry["filled"])
        elif array is None and entry["argument"] is not None:
            array = given_inputs.read_inputs([entry["argument"]], known, state).get(name)
        if array is None:
            raise ArgumentError(
                f"the input {name!r} must be given, since the record has its hash alone: got "
                f"nothing. Pass --input {name}=FILE.npy"
            )
        feeds[name] = array
    return feeds
