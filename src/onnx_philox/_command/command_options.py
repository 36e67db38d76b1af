"""Options that several subcommands have."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click
from click import option

from onnx_philox import _runtimes as runtimes
from onnx_philox._command import frame, refusals
from onnx_philox._command.wanted import RowSeeds, WantedRuns


class _File(click.Path):
    """A path; click's own words about one that may not be read say nothing of what is allowed."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """The text as a path."""
        if not os.fspath(value):
            # As a Path it would be the working directory.
            self.fail(f"must be the path of a file: got {value!r}", param, ctx)
        path = cast("Path", super().convert(value, param, ctx))
        if os.access(path, os.F_OK) and not os.access(path, os.R_OK):
            text = f"must be a file that you may read: got {path}"
            self.fail(text, param, ctx)
        return path


PATH = _File(path_type=Path, readable=False)
NOTES = "; ".join(f"{r.name}: {r.note}" for r in runtimes.RUNTIMES.values() if r.note)
PRECISIONS = frame.NameChoice(*runtimes.RUNTIMES["openvino"].precisions)


def flag(*names: str, help: str) -> Callable[[Any], Any]:
    """An option without a value."""
    return option(*names, is_flag=True, help=help)


def runtime_option(without: str) -> Callable[[Any], Any]:
    """The option `--runtime` of a command that runs a model, and what is taken without it."""
    return option(
        "--runtime",
        type=frame.NameChoice(by=lambda: runtimes.RUNTIMES),
        help=f"Where to run it ({NOTES}). Without it, {without}.",
    )


def seed_of(bits: int) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A check of a seed, where one is given."""

    def check(_: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is not None and not 0 <= value < 2**bits:
            text = f"must be an integer from 0 to 2^{bits}-1: got {value}"
            raise click.BadParameter(text, param=param)
        return value

    return check


def _seeds(context: click.Context, param: click.Parameter, value: Any) -> Any:
    """The seeds of `--seeds`."""
    if value is None:
        return None
    numbers = [frame.INTEGER.convert(each, param, context) for each in value.split(",")]
    return RowSeeds(seed_of(64)(context, param, each) for each in numbers)


def number(
    name: str,
    type: click.ParamType[Any],
    default: float,
    help: str,
    *,
    least: int = 0,
) -> Callable[[Any], Any]:
    """An option that is a number, and its default."""

    def check(_: click.Context, param: click.Parameter, value: Any) -> Any:
        # This form refuses NaN, too.
        if not least <= value < math.inf:
            finite = ", but finite" if value == math.inf else ""
            raise click.BadParameter(f"must be {least} or more{finite}: got {value}", param=param)
        return value

    return option(
        name,
        type=type,
        callback=check,
        default=default,
        metavar="N" if type is frame.INTEGER else "X",
        help=f"{help} [default: {default}]",
    )


def _kept(context: click.Context, param: click.Parameter, value: Any) -> None:
    """Keeps what the frame wants of a command: how to show its report."""
    context.meta[str(param.name)] = value


_FRAME_S: dict[str, Any] = {"expose_value": False, "callback": _kept}
JSON = option(
    "--json",
    is_flag=True,
    help="Print one JSON document instead of the text.",
    **_FRAME_S,
)
HTML = option(
    "--html",
    type=PATH,
    metavar="FILE",
    help="Also write a page to look at: one file, which loads nothing from anywhere.",
    **_FRAME_S,
)
_SEED = option(
    "--seed",
    type=frame.INTEGER,
    callback=seed_of(64),
    metavar="N",
    help="Which stream of numbers: 0 to 2^64-1. [default: 0]",
)
_SEEDS = option(
    "--seeds",
    metavar="N,N,...",
    callback=_seeds,
    help="Instead of --seed: one for each row, where each row has a state.",
)
_RUNS = number("--runs", frame.INTEGER, 1, "How many.", least=1)
_FIRST_RUN = number(
    "--first-run",
    frame.INTEGER,
    0,
    "The number of the first run, to repeat any of them.",
)
_INPUT = option(
    "--input",
    multiple=True,
    metavar="NAME=FILE.npy",
    help="An input of the model; also NAME=NUMBERS (JSON, such as p=0.5 or shape=[2,3]), or "
    "FILE.npz for several. Can be given again.",
)
_FILL = flag(
    "--fill",
    help="Make up the inputs that are not given: floats from 0 to 1, the same in every run, and "
    "ones for other types. Dimensions that the model leaves open are 1.",
)


def _draws(
    context: click.Context,
    param: click.Parameter,
    value: Any,
) -> dict[str, str]:
    """The inputs of `--draw`, and the law of each."""
    draws: dict[str, str] = {}
    for text in value:
        name, equals, law = text.rpartition("=")
        if not equals:
            said = f"must be the name of an input and a law, such as noise=normal: got {text!r}"
            raise click.BadParameter(said, context, param)
        if name in draws:
            raise click.BadParameter(f"must be given once for {name!r}: got {text!r}", param=param)
        draws[name] = law
    return draws


DRAW = option(
    refusals.DRAW,
    multiple=True,
    metavar="NAME=LAW",
    callback=_draws,
    help="Draw an input inside the model: normal, normal(mean, scale), uniform, uniform(low, "
    "high), bernoulli(p), or bits. A shape may follow, as in noise=normal[1, 16]. Can be given "
    "again.",
)


def wanted_runs(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which runs, of what inputs; the command gets them as `wanted`."""

    @wraps(command)
    def called(
        *,
        seed: int | None,
        seeds: RowSeeds | None,
        runs: int,
        first_run: int,
        input: tuple[str, ...],
        fill: bool,
        draw: dict[str, str],
        **others: Any,
    ) -> Any:
        if seed is not None and seeds is not None:
            raise click.UsageError("--seed and --seeds must not be given together. Leave one out.")
        begun = seed if seeds is None else seeds
        return command(wanted=WantedRuns(begun, first_run, runs, input, fill, draw), **others)

    for each in (DRAW, _FILL, _INPUT, _FIRST_RUN, _RUNS, _SEEDS, _SEED):
        called = each(called)
    return called
