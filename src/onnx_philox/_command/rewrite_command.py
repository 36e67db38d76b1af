"""The subcommand `rewrite`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click import option

from onnx_philox import _command as rooms
from onnx_philox._command import frame, refusals
from onnx_philox._command.command_options import DRAW, JSON, PATH, flag, seed_of


@click.command(
    cls=frame.Command,
    short_help="Replace a model's random nodes by reproducible ones.",
    arguments={"MODEL": "An ONNX file, or an OpenVINO IR (.xml)."},
    example="onnx-philox rewrite model.onnx -o new.onnx",
    exits="0, the file is written; 1, it is, but has operators that no runtime has; 2, it is not.",
)
@click.argument("model", type=PATH)
@option(
    "--output",
    "-o",
    type=PATH,
    metavar="FILE",
    required=True,
    help="The new file: .onnx for ONNX, .xml for an OpenVINO IR.",
)
@option(
    "--seed",
    type=frame.INTEGER,
    callback=seed_of(63),
    metavar="N",
    help="Put the seed, 0 to 2^63-1, into the model: every run gives the same numbers. Without "
    "it, the state is an input of the model.",
)
@flag(
    refusals.KEEP_UNKNOWN,
    help="Leave random nodes that cannot be rewritten, such as those of other domains, as they "
    "are, with a warning. Without it, they are an error.",
)
@flag(
    refusals.PER_ROW,
    help="Give each row of the batch a state of its own, so that its numbers depend on no other "
    "row. Every random node must draw rows of the batch, as the model's shapes show.",
)
@option(
    refusals.PER_ROW_NODE,
    multiple=True,
    metavar="NAME",
    help="A random node that draws rows of the batch, although the shapes do not show it. Can be "
    f"given again; means {refusals.PER_ROW} too.",
)
@option(
    refusals.BATCH,
    metavar="NAME",
    help=f"With {refusals.PER_ROW}: the dimension that is the batch, by its name, or as x:1, "
    "dimension 1 of the input x. Without it the first dimension of an input, if that is dynamic, "
    "else the only dynamic one.",
)
@option(
    "--alignment",
    type=frame.NameChoice("tensorflow", "pytorch"),
    default="tensorflow",
    help="Whose numbers: with pytorch those that torch draws on a CPU, in the order of the nodes.",
)
@flag(
    refusals.KEEP_SEEDS,
    help="Let nodes of equal seeds draw equal numbers, as they do in the runtimes. In an OpenVINO "
    "IR they are the numbers that OpenVINO documents for the seeds.",
)
@option(
    refusals.INVERT_BERNOULLI,
    multiple=True,
    metavar="NAME",
    help="A Bernoulli that draws the complement: it is true with probability 1 - p, as in ONNX "
    "Runtime. Can be given again.",
)
@DRAW
@flag("--standard", help="Draw by nodes of ONNX's own domain, for a runtime that takes no plugin.")
@option(
    "--target",
    type=frame.NameChoice("onnxruntime", "openvino", "web"),
    help="What --standard makes the nodes for. Other runtimes, such as TVM and tract, read those "
    "for openvino, which has no functions. web makes those for onnxruntime in one file without "
    "functions, whose draws are outputs, for the page examples/web/drop.html of this project's "
    "sources. "
    "[default: onnxruntime]",
)
@flag("--inexact", help="With --standard: take f32 draws that the target rounds otherwise, too.")
@JSON
def rewrite(
    model: Path,
    output: Path,
    *,
    seed: int | None,
    keep_unknown: bool,
    per_row: bool,
    per_row_node: tuple[str, ...],
    batch: str | None,
    alignment: str,
    keep_seeds: bool,
    invert_bernoulli: tuple[str, ...],
    draw: dict[str, str],
    standard: bool,
    target: str | None,
    inexact: bool,
) -> Any:
    """Replace the random nodes of a model by those that draw the same numbers everywhere.

    The new model has the input `random_state`, which says what is drawn, and the output
    `next_random_state`, the state of the next run. Everything else stays as it is. A model without
    random nodes is written unchanged.

    With `--per-row` each row of a batch has a state of its own: a request draws the same numbers in
    any batch.
    """
    if (target is not None or inexact) and not standard:
        text = (
            "--target and --inexact must be given with --standard: got them alone. Add it, or "
            "leave them out."
        )
        rooms.terminal.fail("rewrite", ValueError(text), 2)
    wrong = (OSError, TypeError, ValueError, ImportError)
    with rooms.terminal.working("rewrite", "reading the model", *wrong) as progress:
        # Loaded when it is used, since help needs none of it.
        from onnx_philox._rewriting.asked import Asked

        asked = Asked(
            seed=seed,
            keep_seeds=keep_seeds,
            per_row=per_row_node or per_row,
            batch=batch,
            alignment=alignment,
            keep_unknown=keep_unknown,
            invert_bernoulli=invert_bernoulli,
            draw=draw,
        )
        return rooms.rewritten_file.rewrite(
            model,
            output,
            asked,
            standard=("onnxruntime" if target is None else target) if standard else None,
            inexact="allow" if inexact else "refuse",
            progress=progress,
        )
