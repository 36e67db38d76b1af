"""The subcommand `replay`."""

from __future__ import annotations

from pathlib import Path

import click
from click import option

from onnx_philox import _command as rooms
from onnx_philox._command import frame
from onnx_philox._command.options import JSON, PATH, runtime_option


@click.command(
    cls=frame.Command,
    short_help="Run again what a record says, and name what differs.",
    arguments={"RECORD": "What run --record or Result.record() wrote."},
    example="onnx-philox replay record.json",
    exits="0, all is equal that must be; 1, it is not, or the runtime failed; 2, an argument is "
    "wrong.",
)
@click.argument("record", type=PATH)
@runtime_option("the record's")
@option(
    "--model",
    type=PATH,
    metavar="FILE",
    help="The model. Without it, the file that the record names.",
)
@option(
    "--input",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="An input, as in onnx-philox run. Without it, what the record holds or names.",
)
@JSON
def replay(
    record: Path, *, runtime: str | None, model: Path | None, input: tuple[str, ...], as_json: bool
) -> None:
    """Run again what a record says, and name what differs.

    The model, the inputs, the draws and the next states must be equal, in any runtime. The outputs
    must be so in the same version of the same runtime; another rounds in its own way.
    """
    with (
        rooms.terminal.errors(
            "replay",
            rooms.replay.ArgumentError,
            OSError,
            ValueError,
            ImportError,
            failed=(rooms.replay.RunError,),
        ),
        rooms.terminal.progress("reading the record") as progress,
    ):
        report = rooms.replay.replay(
            record, model=model, inputs=input, runtime=runtime, progress=progress
        )
    rooms.terminal.show(report, as_json=as_json)
    if not report.is_ok:
        raise SystemExit(1)
