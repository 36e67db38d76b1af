"""What commands print: reports on stdout; a progress bar and errors on stderr."""

from __future__ import annotations

import io
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import click
from rich import box
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from onnx_philox._command import refusals
from onnx_philox._files.signals import cause_of
from onnx_philox._progress import ignore

# The width of a report that goes into a pipe: its lines are as long as they are.
_UNWRAPPED = sys.maxsize
# The least width for which tables are laid out.
_NARROWEST = 80
_SECONDS_BETWEEN_BARS = 0.1


# What a terminal obeys: a text of a file could move the cursor, or turn the line around.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with what a terminal would obey as Python writes it, in hexadecimal."""
    return _CONTROL.sub(lambda found: ascii(found.group())[1:-1], text)


class _Visible:
    """Something that rich prints, in visible letters."""

    def __init__(self, printed: Any) -> None:
        self._printed = printed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._printed, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


class _OnlyVisible(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Visible(each) for each in renderables]


def console(**options: Any) -> Console:
    """What prints, and obeys nothing that a text of a file says."""
    made = Console(**options)
    made.push_render_hook(_OnlyVisible())
    return made


def show(report: Any, *, as_json: bool = False) -> None:
    """Prints a report on stdout: what its `print` prints for people, or its `to_json`.

    Lines are wrapped on a terminal only. In a pipe or a file they are neither wrapped nor padded,
    so that `grep` and `diff` work.
    """
    if as_json:
        click.echo(report.to_json())
        return
    stdout = console()
    if stdout.is_terminal:
        report.print(stdout)
        return
    text = io.StringIO()
    report.print(console(file=text, width=_UNWRAPPED))
    lines = text.getvalue().splitlines()
    click.echo("\n".join(line.rstrip() for line in lines))


# Columns: names wrap, words and numbers stay whole.
NAME = partial(Column, overflow="fold")
WORD = partial(Column, no_wrap=True)
NUMBER = partial(Column, no_wrap=True, justify="right")


def table(*columns: Column | str, **options: Any) -> Table:
    """A table with a line below its head."""
    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", **options)


def grid(words: int = 1, space: int = 2) -> Table:
    """Lines of so many words and a text that wraps, aligned."""
    columns = [WORD() for _ in range(words)]
    return Table.grid(*columns, NAME(), padding=(0, space))


def print_table(console: Console, table: Table) -> None:
    """Prints a table, never so narrow that rich would drop columns or cut names into pieces.

    A narrower terminal wraps the lines itself.
    """
    width = console.width
    console.width = max(width, _NARROWEST)
    console.print(table)
    console.width = width


def columns(console: Console) -> int:
    """The width for which to lay out a report; in a pipe that of an ordinary terminal."""
    if console.width != _UNWRAPPED:
        return console.width
    return min(console.width, Console().width)


@contextmanager
def progress(description: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr, so that stdout holds the result and nothing else."""
    stderr = Console(stderr=True)
    if not stderr.is_terminal:
        yield ignore
        return
    # Imported here, since only a terminal shows a bar.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    bar_columns = (BarColumn(20), TaskProgressColumn(), TextColumn("{task.description}"))
    # Drawn by those who tell, and not by a thread: a process with one cannot be copied.
    drawn = Progress(*bar_columns, console=stderr, transient=True, auto_refresh=False)
    with drawn as bar:
        task = bar.add_task(description, total=None)
        bar.refresh()
        last = description, time.monotonic()

        def tell(done: int, total: int, what: str) -> None:
            nonlocal last
            last_what, last_time = last
            now = time.monotonic()
            is_due = what != last_what or now - last_time >= _SECONDS_BETWEEN_BARS
            bar.update(task, completed=done, total=total, description=what, refresh=is_due)
            if is_due:
                last = what, now

        yield tell


@contextmanager
def errors(
    command: str,
    *wrong: type[Exception],
    failed: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """A block whose errors end the command, and whose warnings are sentences on stderr.

    The exit code is 2 for what is `wrong` with what the user gave, and 1 for what `failed` where
    all of that is right.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda said, *_, **__: print_error(command, f"warning: {said}")
            yield
    except wrong as error:
        fail(command, error, 2)
    except failed as error:
        fail(command, error, 1)


@contextmanager
def working(
    command: str,
    doing: str,
    *wrong: type[Exception],
    failed: tuple[type[Exception], ...] = (),
) -> Iterator[Callable[[int, int, str], None]]:
    """A block that does what a command is for: see `errors` and `progress`."""
    with errors(command, *wrong, failed=failed), progress(doing) as tell:
        yield tell


def fail(command: str, error: Exception, code: int) -> NoReturn:
    """Prints the error on stderr as one sentence, and ends the command.

    Raises:
        SystemExit: With the code.
        KeyboardInterrupt: It is no error of its own: an interruption led to it.
    """
    interruption = cause_of(error, KeyboardInterrupt)
    if interruption is not None:
        raise interruption
    text = refusals.text(error, command)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}. Choose another path, or mend this one."
    elif isinstance(error, FileNotFoundError):
        # Among these errors, only that of os.getcwd names no file.
        text = "the working directory has been deleted. Change to another, or give absolute paths."
    print_error(command, text)
    raise SystemExit(code)


def print_error(command: str, text: str) -> None:
    """Prints an error on stderr, unwrapped if that is no terminal."""
    stderr = console(stderr=True)
    who = " ".join(filter(None, ("onnx-philox", command)))
    message = Text.assemble((f"{who}: ", "bold red"), text)
    stderr.print(message, soft_wrap=not stderr.is_terminal)


SCHEMA = 1
"""The version of all of them, raised for one whose key goes or gets another meaning."""


def document(**keys: Any) -> str:
    """The text of a document."""
    return json.dumps({"schema": SCHEMA, **keys}, indent=2)
