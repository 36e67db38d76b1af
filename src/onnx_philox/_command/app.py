"""The command `onnx-philox`: its subcommands, with their arguments and help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click import option
from click.core import ParameterSource

from onnx_philox import _command as rooms
from onnx_philox import _native_library
from onnx_philox import _runtimes as runtimes
from onnx_philox._command import command_options, frame
from onnx_philox._command.rewrite_command import rewrite
from onnx_philox._command.wanted import MOST_RUNS_OF_A_LAW, WantedRuns
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.shown import listed

# "\b" keeps the lines after it as they are.
_HELP = """Random numbers as a node of the model, the same bits in every runtime.

To make a model reproducible:

\b
  onnx-philox inspect model.onnx               shows its random nodes
  onnx-philox rewrite model.onnx -o new.onnx   replaces them
  onnx-philox run new.onnx --seed 42 --fill    runs it, and prints hashes
  onnx-philox compare new.onnx --fill          compares two runtimes
  onnx-philox compare new.onnx --original model.onnx --fill   compares their laws

Each takes an OpenVINO IR (model.xml), too.

`onnx-philox verify` shows what is installed here, and that it draws the numbers that OpenVINO,
TensorFlow, torch, DirectML and Random123 document.
"""


@click.command(frame.NAME, cls=frame.CommandGroup, help=_HELP)
@click.version_option(
    package_name="onnx-philox",
    message="%(prog)s %(version)s",
    help="Print the version.",
)
def app() -> None:
    frame.check_stdout()


@app.command(
    short_help="Compare what is drawn here with published numbers.",
    example="onnx-philox verify --html report.html",
    exits="0, all is well; 1, some numbers differ; 2, a requested runtime or backend is missing.",
)
@option(
    "--runtime",
    type=frame.NameChoice(by=runtimes.standard_first),
    multiple=True,
    help=f"Only this one ({command_options.NOTES}). Can be given again. Without it, all that are "
    "installed.",
)
@option(
    "--backend",
    type=frame.NameChoice("auto", "native", "python", "onnx", "numpy"),
    multiple=True,
    help="Only this backend; auto is the best that a runtime has. Can be given again. Without it, "
    "all, and OpenVINO's own RandomUniform beside them.",
)
@option(
    "--device",
    metavar="NAME",
    help="OpenVINO alone, on its device of that name: GPU or HETERO:GPU,CPU for instance. Or cuda: "
    "ONNX Runtime alone, on an NVIDIA card.",
)
@command_options.flag("--verbose", "-v", help="List every kind of vector, and what is compared.")
@command_options.HTML
@command_options.JSON
def verify(
    runtime: tuple[str, ...],
    backend: tuple[str, ...],
    *,
    device: str | None,
    verbose: bool,
) -> Any:
    """Compare the numbers drawn here with the published ones, bit for bit.

    Builds small models, runs them in every runtime and backend, and compares with OpenVINO's
    documentation, Random123's known answers, DirectML's counter example, TensorFlow's and torch's
    Philox, and torch's own numbers.
    """
    wrong = (rooms.verify.SelectionError, RefusalError, OSError)
    with rooms.terminal.working("verify", "loading the runtimes", *wrong) as progress:
        return rooms.verify.run(
            runtime,
            backend,
            device=device,
            is_verbose=verbose,
            progress=progress,
        )


@app.command(
    short_help="Show a model's random nodes, and what runtimes do with them.",
    arguments={"MODEL": "An ONNX file, or an OpenVINO IR (.xml)."},
    example="onnx-philox inspect model.onnx",
    exits="0, also where there are none; 2, the file cannot be read.",
)
@click.argument("model", type=command_options.PATH)
@command_options.flag(
    "--all",
    "shows_all",
    help="Show each node, and all that is said of it. Without it, equal ones of more than 20 are "
    "shown as one, and of sentences that differ in details the first few.",
)
@command_options.HTML
@command_options.JSON
def inspect(model: Path, *, shows_all: bool) -> Any:
    """Show the random nodes of a model, and what the runtimes do with them today.

    Tries each node alone, in every installed runtime and in separate processes: it loads a small
    model with the same operator, opset, attributes and types, and runs it several times. It does
    not run the model itself, or read its weights. The nodes of an IR are tried in OpenVINO alone.
    """
    rooms.libraries.multiply_in_one_thread()
    wrong = (OSError, TypeError, ValueError, ImportError)
    with rooms.terminal.working("inspect", "reading the model", *wrong) as progress:
        return rooms.inspect.inspect(model, shows_all=shows_all, progress=progress)


app.add_command(rewrite)


@app.command(
    short_help="Run a rewritten model, and print hashes of its outputs.",
    arguments={"MODEL": "An ONNX file, or an OpenVINO IR (.xml)."},
    example="onnx-philox run new.onnx --seed 42 --runs 3 --fill --record record.json",
    exits="0, all ran; 1, the runtime refused or failed; 2, an argument is wrong.",
)
@click.argument("model", type=command_options.PATH)
@command_options.runtime_option("the first that is installed; openvino for an IR")
@option(
    "--backend",
    type=frame.NameChoice("auto", "native", "python"),
    default="auto",
    help="auto is the best there is. [default: auto]",
)
@option(
    "--precision",
    type=command_options.PRECISIONS,
    help="OpenVINO's precision hint. Without it, the device's own, which is bf16 on some "
    "processors; the random numbers are the same in each.",
)
@option(
    "--device",
    metavar="NAME",
    default="CPU",
    help="OpenVINO's name of the device, such as GPU or HETERO:GPU,CPU. [default: CPU]",
)
@command_options.wanted_runs
@option(
    "--output",
    "-o",
    metavar="PATH",
    help="Save the outputs: of one run in this file (ends in .npz); of each run in this folder "
    "(ends in /), or in files whose names begin so: PATH.run0.npz, PATH.run1.npz, ... Without it, "
    "nothing is written.",
)
@command_options.flag(
    "--drawn",
    help="Give the tensors that the random nodes draw as outputs too (those of the main graph). "
    "They are the same bits in every runtime; what a runtime computes from them is its own "
    "arithmetic.",
)
@option(
    "--record",
    type=command_options.PATH,
    metavar="FILE",
    help="Write a record of the runs (JSON), which onnx-philox replay runs again. Means --drawn.",
)
@command_options.JSON
def run(
    model: Path,
    runtime: str | None,
    backend: str,
    precision: str | None,
    device: str,
    *,
    wanted: WantedRuns,
    output: str | None,
    drawn: bool,
    record: Path | None,
) -> Any:
    """Run a rewritten model several times, and print hashes of the outputs.

    Each run continues from the state that the run before it returned. The hashes cover the outputs'
    types, shapes and bytes: two machines or days with the same hash had the same bits. To compare
    two runtimes, use `onnx-philox compare`.
    """
    wrong = (rooms.run.ArgumentError, OSError)
    failed = (rooms.run.RunError,)
    with rooms.terminal.working("run", "loading the model", *wrong, failed=failed) as progress:
        return rooms.run.run(
            model,
            wanted,
            runtime=runtime,
            settings=rooms.run.Settings(backend, precision, drawn, device),
            output=output,
            record=record,
            progress=progress,
        )


_SECONDS_OF_A_LAW = 10


@app.command(
    short_help="Run a rewritten model in two runtimes, and compare.",
    arguments={"MODEL": "A rewritten ONNX file, or OpenVINO IR (.xml)."},
    example="onnx-philox compare new.onnx --seed 42 --fill",
    exits="0, they agree; 1, they differ, or a runtime failed; 2, an argument is wrong, or nothing "
    "can be said of the original.",
)
@click.argument("model", type=command_options.PATH)
@option(
    "--original",
    type=command_options.PATH,
    metavar="FILE",
    help="The model before it was rewritten: compare what both draw, in as many runs in one "
    f"runtime as --seconds allow, at most {MOST_RUNS_OF_A_LAW:,}, or in --runs of them.",
)
@command_options.number(
    "--seconds",
    frame.NUMBER,
    _SECONDS_OF_A_LAW,
    "With --original, begin no more runs after so many seconds. Beside --runs, no limit is set "
    "unless it is given.",
)
@option(
    "--runtime",
    type=frame.NameChoice(by=lambda: runtimes.RUNTIMES),
    multiple=True,
    help=f"One of the two ({command_options.NOTES}). Give it twice; without it, the first two that "
    "are installed. With --original, the only one; without it, ONNX Runtime, and OpenVINO for an "
    "IR.",
)
@option(
    "--precision",
    type=command_options.PRECISIONS,
    multiple=True,
    help="OpenVINO's precision hint. [default: f32] For an IR, one of the two that are compared: "
    "give it twice. [default: f32 and bf16]",
)
@option(
    "--device",
    metavar="NAME",
    multiple=True,
    help="OpenVINO's name of the device, such as GPU or HETERO:GPU,CPU. Give it twice for an IR, "
    "to compare the two. [default: CPU]",
)
@command_options.wanted_runs
@command_options.number(
    "--rtol",
    frame.NUMBER,
    1e-3,
    "How far outputs may differ, relative to their values.",
)
@command_options.number("--atol", frame.NUMBER, 1e-4, "How far they may differ beside that.")
@command_options.HTML
@command_options.JSON
def compare(
    model: Path,
    original: Path | None,
    seconds: float,
    runtime: tuple[str, ...],
    precision: tuple[str, ...],
    device: tuple[str, ...],
    *,
    wanted: WantedRuns,
    rtol: float,
    atol: float,
) -> Any:
    """Run a rewritten model in two runtimes, and compare what they give.

    An OpenVINO IR is run in OpenVINO alone, at two precisions or on two devices.

    What the random nodes of the main graph draw, and the next state, must be equal to the last bit.
    The outputs must agree within tolerances, since each runtime rounds in its own way.

    With --original, the numbers are not compared, which a rewrite changes, but their law: how they
    are distributed, and which go together. --html then shows both distributions.
    """
    context = click.get_current_context()
    is_given = {
        name: context.get_parameter_source(name) is not ParameterSource.DEFAULT
        for name in ("runs", "seconds")
    }
    run: Callable[..., Any] = rooms.compare.compare
    if original is not None:
        has_limit = is_given["seconds"] or not is_given["runs"]
        run = partial(
            rooms.compare.compare_laws,
            original=original,
            seconds=seconds if has_limit else None,
            may_end=not is_given["runs"],
        )
        if not is_given["runs"]:
            wanted = replace(wanted, runs=MOST_RUNS_OF_A_LAW)
    else:
        page = context.meta.get("html")
        for option, value in (
            ("--seconds", seconds if is_given["seconds"] else None),
            ("--html", page),
        ):
            if value is not None:
                raise click.UsageError(
                    f"{option} must be given with --original: got {value}. Add that, or leave it "
                    "out."
                )
    wrong = (rooms.compare.ArgumentError, OSError)
    failed = (rooms.compare.RunError,)
    with rooms.terminal.working("compare", "loading the model", *wrong, failed=failed) as progress:
        return run(
            model,
            wanted=wanted,
            runtimes=runtime,
            precisions=precision,
            devices=device,
            tolerances=rooms.compare.Tolerances(rtol, atol),
            progress=progress,
        )


@app.command(
    short_help="Run again what a record says, and name what differs.",
    arguments={"RECORD": "What run --record or Result.record() wrote."},
    example="onnx-philox replay record.json",
    exits="0, all is equal that must be; 1, it is not, or the runtime failed; 2, an argument is "
    "wrong.",
)
@click.argument("record", type=command_options.PATH)
@command_options.runtime_option("the record's")
@option(
    "--model",
    type=command_options.PATH,
    metavar="FILE",
    help="The model. Without it, the file that the record names.",
)
@option(
    "--input",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="An input, as in onnx-philox run. Without it, what the record holds or names.",
)
@command_options.JSON
def replay(
    record: Path,
    *,
    runtime: str | None,
    model: Path | None,
    input: tuple[str, ...],
) -> Any:
    """Run again what a record says, and name what differs.

    The model, the inputs, the draws and the next states must be equal, in any runtime. The outputs
    must be so in the same version of the same runtime; another rounds in its own way.
    """
    wrong = (OSError, ValueError, ImportError)
    failed = (rooms.replay.RunError,)
    with rooms.terminal.working("replay", "reading the record", *wrong, failed=failed) as progress:
        return rooms.replay.replay(
            record,
            model=model,
            inputs=input,
            runtime=runtime,
            progress=progress,
        )


_CMAKE = "cmake"


def _with_path() -> list[str]:
    return [*runtimes.with_library(), _CMAKE]


@app.command(
    short_help="Print where a runtime's native library is.",
    arguments={
        "RUNTIME": "onnxruntime or openvino, which need not be installed; or cmake, for the folder "
        "that CMake takes: -Donnx_philox_DIR=FOLDER."
    },
    example="onnx-philox path onnxruntime",
    exits="0, it is printed; 2, there is no such library.",
)
@click.argument("runtime", type=frame.NameChoice(by=_with_path), metavar="RUNTIME")
def path(runtime: str) -> None:
    """Print the path of a runtime's native library, for C, C++ and model servers."""
    allowed = _with_path()
    if runtime not in allowed:
        text = f"RUNTIME must be {listed(allowed)}: got {runtime!r}. Choose one of these."
        rooms.terminal.fail("path", ValueError(text), 2)
    if runtime == _CMAKE:
        needed = "onnxruntime"
        library = _native_library.find_cmake()
    else:
        needed = runtime
        library = _native_library.find(runtime)
    if library is None:
        rooms.terminal.fail("path", ImportError(_native_library.missing(needed)), 2)
    click.echo(library)
