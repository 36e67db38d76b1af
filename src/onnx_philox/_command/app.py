"""The command `onnx-philox`; each subcommand imports what it needs when it runs."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

import onnx_philox
from onnx_philox._command import refusals, runtimes


class _App(typer.Typer):
    """The command; it reports a failure to print as an error of one line."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except OSError as error:
            # The commands themselves name the files that they cannot read or write. A closed pipe
            # is no error: `head` ends that way.
            if error.errno == errno.EPIPE or error.filename is not None:
                raise
            why = error.strerror
        # Python would fail to write the rest of the buffer once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        typer.echo(f"onnx-philox: {_UNPRINTABLE.format(why)}", err=True)
        sys.exit(1)


_UNPRINTABLE = "standard output cannot be written: {}. Free space there, or print elsewhere."


def _check_output() -> None:
    """Fails before any work is done if nothing can be written to standard output."""
    try:
        place = sys.stdout.fileno()
    except (AttributeError, ValueError):  # none, or not a file of the system's
        return
    # A full device refuses even an empty write; a file system must be asked.
    os.write(place, b"")
    mode = os.fstat(place).st_mode
    if stat.S_ISREG(mode) and hasattr(os, "fstatvfs") and os.fstatvfs(place).f_bavail == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


app = _App(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_show_locals=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"onnx-philox {onnx_philox.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Random numbers as a node of the model, the same bits in every runtime.

    To make a model reproducible: `onnx-philox inspect model.onnx` shows its random nodes,
    `onnx-philox rewrite model.onnx -o out.onnx` replaces them, and
    `onnx-philox run out.onnx --seed 42 --runs 3` runs it and prints hashes to compare.

    `onnx-philox verify` shows what is installed here, and that it draws the numbers that OpenVINO,
    TensorFlow, DirectML and Random123 document.
    """
    _check_output()


@app.command()
def verify(
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=f"Only this runtime: {runtimes.listed(runtimes.standard_first())}. Can be given "
            "again. Without it, all that are installed.",
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this backend, such as python or native; auto is the best that a runtime "
            "has. Can be given again. Without it, all, and OpenVINO's own RandomUniform beside "
            "them.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
) -> None:
    """Compare the numbers drawn here with the documented ones, bit for bit.

    Builds small models, runs them in every runtime and backend, and compares with OpenVINO's
    documentation, Random123's known answers, DirectML's counter example and TensorFlow's Philox.

    Exit code: 0, all is well; 1, some numbers differ; 2, a requested runtime or backend is missing.
    """
    from onnx_philox._command import verify as verification

    with _progress("loading the runtimes") as progress:
        try:
            report = verification.run(runtime or (), backend or (), progress=progress)
        except verification.SelectionError as error:
            raise typer.BadParameter(str(error)) from error
    if as_json:
        typer.echo(report.to_json())
    else:
        report.print(Console())
    raise typer.Exit(0 if report.is_ok else 1)


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
) -> None:
    """Show the random nodes of a model, and what the runtimes do with them today.

    Tries each node alone, in every installed runtime and in separate processes: it loads a small
    model with the same operator, opset, attributes and types, and runs it several times. It does
    not run the model itself, or read its weights.

    Example: `onnx-philox inspect model.onnx`

    Exit code: 0, also where there are none; 2, the file cannot be read.
    """
    from onnx_philox._command import inspect

    try:
        with _progress("reading the model") as progress:
            report = inspect.inspect(model, progress=progress)
    except (OSError, TypeError, ValueError) as error:
        raise _failure("inspect", error, 2) from error
    if as_json:
        typer.echo(report.to_json())
    else:
        report.print(Console())


@app.command()
def rewrite(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An ONNX file.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The new file: .onnx for ONNX, .xml for an OpenVINO IR.",
        ),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Put the seed, 0 to 2^63-1, into the model: every run gives the same numbers. "
            "Without it, the state is an input of the model.",
        ),
    ] = None,
    keep_unknown: Annotated[
        bool,
        typer.Option(
            refusals.KEEP_UNKNOWN,
            help="Leave random nodes that cannot be rewritten, such as those of other domains, as "
            "they are, with a warning. Without it, they are an error.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the text.")
    ] = False,
) -> None:
    """Replace the random nodes of a model by those that draw the same numbers everywhere.

    The new model has the input `random_state`, which says what is drawn, and the output
    `next_random_state`, the state of the next run. Everything else stays as it is. A model without
    random nodes is written unchanged.

    Example: `onnx-philox rewrite model.onnx -o out.onnx`

    Exit code: 0, the file is written; 2, it is not, for the reason that is said.
    """
    from onnx_philox._command import rewrite

    try:
        with _progress("reading the model") as progress:
            outcome = rewrite.rewrite(
                model, output, seed=seed, keep_unknown=keep_unknown, progress=progress
            )
    except (OSError, TypeError, ValueError, ImportError) as error:
        raise _failure("rewrite", error, 2) from error
    if as_json:
        typer.echo(outcome.to_json())
    else:
        outcome.print(Console())


@app.command()
def run(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="An ONNX file, or an OpenVINO IR (.xml).")
    ],
    runtime: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"{runtimes.listed(r.label for r in runtimes.RUNTIMES.values())}. Without it, the "
            "first that is installed; openvino for an IR.",
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="native, python, or auto: the best there is.")
    ] = "auto",
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="OpenVINO's precision hint: f32, bf16 or f16. Without it, the device's own, which "
            "is bf16 on some processors; the random numbers are the same in each.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", help="Which stream of numbers: 0 to 2^64-1.")
    ] = 0,
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="How many runs.")] = 1,
    first_run: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="The number of the first run. Use it to repeat any run."
        ),
    ] = 0,
    input: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE.npy",
            help="An input of the model; also NAME=NUMBERS (JSON, such as p=0.5 or shape=[2,3]), "
            "or FILE.npz for several. Can be given again.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="A folder (ends in /), or what the names of the files begin with. Without it, "
            "the model's name in this folder: out.run0.npz, out.run1.npz, ...",
        ),
    ] = None,
    drawn: Annotated[
        bool,
        typer.Option(
            "--drawn",
            help="Give the tensors that the random nodes draw as outputs too (those of the main "
            "graph). They are the same bits in every runtime; what a runtime computes from them "
            "is its own arithmetic.",
        ),
    ] = False,
    hashes_only: Annotated[
        bool, typer.Option("--hashes-only", help="Write no files, only print the hashes.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
) -> None:
    """Run a rewritten model several times, save each run, and print the hashes.

    Each run continues from the state that the run before it returned. The hashes cover the outputs'
    types, shapes and bytes: two machines, runtimes or days with the same hash had the same bits.

    Example: `onnx-philox run out.onnx --seed 42 --runs 3 --input image=image.npy`

    Exit code: 0, all ran; 1, the runtime refused or failed; 2, an argument is wrong.
    """
    from onnx_philox._command import run

    try:
        with _progress("loading the model") as progress:
            report = run.run(
                model,
                runtime=runtime,
                settings=run.Settings(backend, precision, drawn),
                seed=seed,
                first_run=first_run,
                runs=runs,
                inputs=input or (),
                output=output,
                is_saved=not hashes_only,
                progress=progress,
            )
    except (run.ArgumentError, OSError) as error:
        raise _failure("run", error, 2) from error
    except run.RunError as error:
        raise _failure("run", error, 1) from error
    if as_json:
        typer.echo(report.to_json())
    else:
        report.print(Console())


@contextmanager
def _progress(description: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr, so that stdout holds the result and nothing else."""
    stderr = Console(stderr=True)
    columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=what
        )


def _failure(command: str, error: Exception, code: int) -> typer.Exit:
    """Prints the error on stderr, unwrapped if that is no terminal; returns the exit to raise."""
    stderr = Console(stderr=True)
    from onnx_philox._rewriting.api import OWNERS

    text = refusals.text(error, command, *OWNERS)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}. Choose another path, or mend this one."
    message = Text.assemble((f"onnx-philox {command}: ", "bold red"), text)
    stderr.print(message, soft_wrap=not stderr.is_terminal)
    return typer.Exit(code)
