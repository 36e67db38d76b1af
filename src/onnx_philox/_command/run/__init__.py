"""`onnx-philox run`: runs a model several times, prints hashes of the outputs, and saves them.

`loading` loads a model in a runtime of the registry (`_runtimes`), `ports` reads and checks the
inputs, `filling` makes up others, `beginning` makes the first state of them, `states` carries the
state from run to run, `results` saves, `recording` records, and `printed` prints. `run` puts them
together.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from onnx_philox._command import paths, rewritten
from onnx_philox._command.run import beginning, files_read, loading, recording, results
from onnx_philox._command.run.printed import ModelRuns, Run
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._files.new_files import check_apart
from onnx_philox._progress import Progress, ignore
from onnx_philox._record.hashes import hashes
from onnx_philox._runtimes.models import RunError, Settings
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
    progress: Progress | None = None,
) -> ModelRuns:
    """Runs a model, each run from the state that the run before it returned.

    Without a runtime of `RUNTIMES`, it takes the first installed one that takes the file: an ONNX
    file, or for OpenVINO an IR. `output` is a folder, or the beginning of the names of the files to
    write; `record` is the file for a record of the runs, for which the draws are outputs too.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model.
        RunError: The runtime does not load the model, or a run fails.
    """
    given = paths.given("run", model)
    tell = progress or ignore
    settings = settings or Settings()
    written = {}
    if record is not None:
        settings = replace(settings, shows_drawn=True)
        paths.check_folder(record)
        written[record] = "the record"
    prefix = None if output is None else results.prefix(output, model)
    if prefix is not None:
        paths.check_folder(Path(prefix))
        written |= dict.fromkeys(results.existing(prefix, wanted.numbers), "the output")
    if written:
        with refusing_as_argument():
            check_apart("run", written, files_read.files(given, wanted.inputs))
    tell(0, wanted.runs, "loading the model")
    inside = rewritten.inside(given)
    if wanted.seed is not None and not inside.takes_seed:
        # Now, not after a runtime's own words about random nodes that it does not have.
        inside.refuse_seed(wanted.seed, model)
    loaded = loading.load_model(given, runtime, settings)
    filled = beginning.fill_inputs(loaded, wanted, inside)
    feeds, state, used = beginning.begin(loaded, wanted, filled, inside)
    if wanted.seed is not None and state is None:
        inside.refuse_seed(wanted.seed, model)

    begun = feeds
    report = ModelRuns(given, loaded, settings, used, state, filled, inside)
    for done, number in enumerate(wanted.numbers):
        tell(done, wanted.runs, f"run {number}")
        outputs = loaded.run(feeds)
        path = results.save(prefix, number, outputs) if prefix is not None else None
        began = None if state is None else state.words(feeds[state.name])
        report.runs.append(Run(number, began, hashes(outputs, loaded.drawn), path))
        feeds = beginning.go_on(feeds, state, outputs)
    if record is not None:
        recording.record_runs(record, report, wanted, begun)
        report.record = record
    return report
