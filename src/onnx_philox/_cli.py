"""The command `onnx-philox`; each subcommand imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

import onnx_philox

app = typer.Typer(
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
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Random numbers as a node of the model, the same bits in every runtime.

    Begin with `onnx-philox verify`: it shows what is installed here, and that it draws
    the numbers that OpenVINO, TensorFlow, DirectML and Random123 document.
    """


@app.command()
def verify(
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this runtime: reference, onnxruntime or openvino. Can be given again. "
            "Without it, all that are installed.",
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

    Exit code: 0, all is well; 1, some numbers are others; 2, what was asked for is not here.
    """
    from onnx_philox import verify as verification

    # On stderr, so that stdout holds the table or the document and nothing else.
    stderr = Console(stderr=True)
    columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("loading the runtimes", total=None)
        try:
            report = verification.run(
                runtime or (),
                backend or (),
                progress=lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=what
                ),
            )
        except verification.SelectionError as error:
            raise typer.BadParameter(str(error)) from error
    if as_json:
        typer.echo(report.to_json())
    else:
        report.print(Console())
    raise typer.Exit(0 if report.is_ok else 1)
