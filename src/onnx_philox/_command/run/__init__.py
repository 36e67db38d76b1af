"""`onnx-philox run`: runs a model several times, saves the outputs and prints their hashes.

`loading` loads a model in a runtime of the registry (`runtimes`), `ports` reads and checks the
inputs, `states` carries the state from run to run, `results` hashes and saves, and `report` prints.
`run` puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx_philox._command.run import loading, ports, reading, results
from onnx_philox._command.run.report import Report, Run
from onnx_philox._command.run.states import State
from onnx_philox._command.runtimes.models import LoadedModel, RunError, Settings
from onnx_philox._command.runtimes.port import STATES, ArgumentError
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.state import RUNS, PhiloxState
from onnx_philox._files.new_files import NewFiles, check_apart
from onnx_philox._progress import Progress, ignore

__all__ = ["ArgumentError", "Report", "RunError", "Settings", "run"]


def run(
    model: Path,
    *,
    runtime: str | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    first_run: int = 0,
    runs: int = 1,
    inputs: Sequence[str] = (),
    output: str | None = None,
    is_saved: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Runs a model, each run from the state that the run before it returned.

    Args:
        model: An ONNX file, or for OpenVINO an IR (`.xml`).
        runtime: The name of one of `RUNTIMES`; None for the first installed one that takes the
            file.
        settings: How to load the model.
        seed: The first state is `PhiloxState.for_run(seed, first_run)`, unless `inputs` has it.
        first_run: The number of the first run; 0 if the model's state counts no runs.
        runs: How many runs.
        inputs: The other inputs, as `ports.read` takes them.
        output: A folder, or the beginning of the files' names; None for the model's name, in the
            current folder.
        is_saved: Whether to write files.
        progress: Called before each run with how many are done, how many there are, and what
            comes next.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model.
        RunError: The runtime does not load the model, or a run fails.
    """
    if not model.is_file():
        allowed = "a file that exists, and no folder"
        raise ArgumentError(f"the model is {model}; allowed: {allowed}. Check the path.")
    tell = progress or ignore
    settings = settings or Settings()
    numbers = range(first_run, first_run + runs)
    prefix = results.prefix(output, model) if is_saved else None
    if prefix is not None:
        _check_apart(results.existing(prefix, numbers), reading.files(model, inputs))
    tell(0, runs, "loading the model")
    loaded = loading.load(model, runtime, settings)
    feeds = ports.read(inputs, loaded.inputs)
    state = _state(loaded)
    if state is None or not state.counts_runs:
        _refuse_first_run(first_run, state)
    elif first_run + runs > RUNS:
        raise ArgumentError(
            f"the last run is {first_run + runs - 1}; allowed: 0 to 2^32-1. Choose another seed "
            "for more runs: after the last one, the numbers of the first would come again."
        )
    if state is not None and state.name not in feeds:
        feeds[state.name] = state.shaped(_first_state(seed, first_run).to_array())
    ports.check_all_given(loaded.inputs, feeds)

    report = Report(model, loaded, settings, seed, state)
    with NewFiles() as files:
        if prefix is not None:
            # Now, not after a long run.
            files.make_folder(Path(prefix).parent)
        for number in numbers:
            tell(number - first_run, runs, f"run {number}")
            outputs = loaded.run(feeds)
            path = results.save(prefix, number, outputs) if prefix is not None else None
            given = None if state is None else PhiloxState.from_array(feeds[state.name])
            report.runs.append(Run(number, given, results.hashes(outputs, loaded.drawn), path))
            if state is not None and state.next is not None:
                feeds = {**feeds, state.name: state.shaped(outputs[state.next])}
    return report


def _check_apart(existing: list[Path], read: dict[Path, str]) -> None:
    try:
        check_apart("run", dict.fromkeys(existing, "the output"), read)
    except RefusalError as error:
        raise ArgumentError(error.sentence) from error


def _state(loaded: LoadedModel) -> State | None:
    by_name = {port.name: port for port in loaded.inputs}
    for name, next_name in STATES.items():
        if name in by_name and by_name[name].is_state:
            is_given = next_name in loaded.outputs
            return State(by_name[name], next_name if is_given else None, name == "random_state")
    return None


def _refuse_first_run(first_run: int, state: State | None) -> None:
    if first_run == 0:
        return
    remedy = "Leave it out."
    if state is not None:
        remedy = f"Save {state.next}, and pass it as --input {state.name}=FILE.npy."
    raise ArgumentError(
        f"--first-run is {first_run}; allowed: 0 for a model without the input random_state, which "
        f"counts the runs. {remedy}"
    )


def _first_state(seed: int, run: int) -> PhiloxState:
    try:
        return PhiloxState.for_run(seed, run)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
