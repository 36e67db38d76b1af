"""Writes the record of a run, which `onnx-philox replay` runs again."""

from __future__ import annotations

import json
from pathlib import Path

from onnx_philox._command.run import ports
from onnx_philox._command.run.printed import ModelRuns
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._files.new_files import NewFiles
from onnx_philox._record import document, models
from onnx_philox._runtimes.port import Arrays


def record_runs(path: Path, report: ModelRuns, wanted: WantedRuns, feeds: Arrays) -> None:
    """Writes the record of a report; `feeds` are the inputs of the first run.

    Raises:
        OSError: It cannot be written.
    """
    state = report.state
    name = None if state is None else state.name
    named = {
        each: argument
        for argument in wanted.inputs
        for each in ports.read_inputs([argument], report.loaded.inputs, name)
    }
    numbers = {each: i for i, each in enumerate(report.filled)}
    inputs = [
        document.input_of(each, array, filled=numbers.get(each), argument=named.get(each))
        for each, array in feeds.items()
        if each != name
    ]
    following = None if state is None else state.next
    runs = [document.run_of(run.number, run.state, run.outputs, following) for run in report.runs]
    written = document.record(
        models.files(report.given),
        report.loaded,
        models.streams(report.given),
        report.seed,
        inputs,
        runs,
    )
    with NewFiles() as files, files.open(path) as file:
        file.write(json.dumps(written, indent=2).encode() + b"\n")
