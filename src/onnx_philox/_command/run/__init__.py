"""`onnx-philox run`: runs a model several times, prints hashes of the outputs, and saves them.

`loading` loads a model in a runtime of the registry (`_runtimes`). `given_inputs` reads and checks
the inputs, and knows which of them is the state. `beginning` makes up the other inputs and the
first state, `output_files` saves the outputs, and `runs_printed` prints. `run` calls them in this
order, and writes the record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from onnx_philox._command import inside_model, paths
from onnx_philox._command.draw_option import with_draws
from onnx_philox._command.run import beginning, given_inputs, loading
from onnx_philox._command.run.loading import Settings
from onnx_philox._command.run.output_files import OutputFiles
from onnx_philox._command.run.runs_printed import ModelRuns, Run
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._files.given import Given
from onnx_philox._files.new_files import NewFiles, check_apart
from onnx_philox._files.signals import held_back
from onnx_philox._progress import Progress, ignore
from onnx_philox._record import document, recorded_model
from onnx_philox._record.hashes import hashes
from onnx_philox._rewriting.look import ModelLook, look
from onnx_philox._runtimes.models import RunError
from onnx_philox._runtimes.port import ArgumentError, refusing_as_argument

__all__ = ["ArgumentError", "ModelRuns", "RunError", "Settings", "run"]


def run(
    model: Path,
    wanted: WantedRuns,
    *,
    runtime: str | None = None,
    settings: Settings | None = None,
    output: str | None = None,
    record: Path | None = None,
    progress: Progress = ignore,
) -> ModelRuns:
    """Runs a model, each run from the state that the run before it returned.

    Without a runtime of `RUNTIMES`, it takes the first installed one that takes the file: an ONNX
    file, or for OpenVINO an IR. `output` is where to save the outputs, as `OutputFiles.of` takes
    it; `record` is the file for a record of the runs, for which the draws are outputs too.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model.
        RunError: The runtime does not load the model, or a run fails.
        KeyboardInterrupt: It was interrupted; the text says after how many runs.
    """
    given = paths.given("run", model)
    if record is not None and wanted.draw:
        raise ArgumentError(
            "--record must be left out beside --draw, since a record is of the file that ran: got "
            f"{record}. Write that file with onnx-philox rewrite --draw, and run it."
        )
    settings = settings or Settings()
    seen = look(given, settings.backend)
    with given.kept_open(), with_draws(seen, wanted.draw, settings.backend) as served:
        return _run(given, served, wanted, runtime, settings, output, record, progress)


def _run(
    given: Given,
    served: ModelLook,
    wanted: WantedRuns,
    runtime: str | None,
    settings: Settings,
    output: str | None,
    record: Path | None,
    progress: Progress,
) -> ModelRuns:
    """The runs of what a rewrite made of the model that is given, or of that model."""
    model = given.path
    written = {}
    if record is not None:
        settings = replace(settings, shows_drawn=True)
        paths.check_folder(record)
        written[record] = "the record"
    files = None
    if output is not None:
        files = OutputFiles.of(output, model, wanted.numbers)
    if files is not None:
        paths.check_folder(Path(files.beginning))
        written |= dict.fromkeys(files.existing, "the output")
    if written:
        with refusing_as_argument():
            check_apart("run", written, _read(given, wanted.inputs))
    inside = inside_model.inside(served)
    if wanted.seed is not None and not inside.takes_seed:
        # Now, not after a runtime's own words about random nodes that it does not have.
        inside.refuse_seed(wanted.seed, model)
    loaded = loading.load_model(served, runtime, settings)
    serving = beginning.Serving(loaded, wanted, inside)
    state = serving.state
    if wanted.seed is not None and state is None:
        inside.refuse_seed(wanted.seed, model)

    report = ModelRuns(given, serving, settings, inside)
    try:
        for done, number in enumerate(wanted.numbers):
            progress(done, wanted.runs, f"run {number}")
            began = None
            if state is not None:
                began = state.words(serving.inputs[state.name])
            outputs = serving.run()
            of_outputs = hashes(outputs, loaded.drawn)
            # A file is there just if the report names it.
            with held_back():
                path = None if files is None else files.save(number, outputs)
                report.runs.append(Run(number, began, of_outputs, path))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(report.how_far(wanted, record)) from None
    if record is not None:
        _record(record, served, report, wanted)
        report.record = record
    return report


def _read(model: Given, inputs: Sequence[str]) -> dict[Path, str]:
    """Lists the files that a run reads, and what each is.

    The name of an input may contain a "=", so each "=" is tried as the end of the name.
    """
    try:
        read = dict(model.reads)
    except (OSError, ValueError):
        # Not a file that runtimes load with external data; they report what is wrong with it.
        read = {model.path: f"the model {model.name!r}"}
    for argument in inputs:
        words = argument.split("=")
        for i in range(len(words)):
            path = Path("=".join(words[i:]))
            if path.is_file():
                read[path] = f"the input {str(path)!r}"
    return read


def _record(
    path: Path,
    served: ModelLook,
    report: ModelRuns,
    wanted: WantedRuns,
) -> None:
    """Writes the record of a report.

    Raises:
        ArgumentError: The model is no longer what it was when it was read.
        OSError: It cannot be written.
    """
    with refusing_as_argument():
        of_file = recorded_model.files(served.given, served.given.stamp)
        streams = served.streams
        recorded_model.check_unchanged(served.given, served.given.stamp)
    serving = report.serving
    state = report.state
    name = None if state is None else state.name
    named = {
        each: argument
        for argument in wanted.inputs
        for each in given_inputs.read_inputs([argument], serving.loaded.inputs, name)
    }
    numbers = {each: i for i, each in enumerate(serving.filled)}
    inputs = [
        document.input_of(each, array, filled=numbers.get(each), argument=named.get(each))
        for each, array in serving.inputs.items()
        if each != name
    ]
    following = None if state is None else state.next
    runs = []
    for run in report.runs:
        runs.append(document.run_of(run.number, run.state, run.outputs, following))
    written = document.record(of_file, serving.loaded, streams, serving.seed, inputs, runs)
    with NewFiles() as files, files.open(path) as file:
        file.write(json.dumps(written, indent=2).encode() + b"\n")
