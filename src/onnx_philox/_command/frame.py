"""The frame of the command `onnx-philox`: how its help looks, how its errors read, how it ends."""

from __future__ import annotations

import difflib
import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from onnx_philox import _command as rooms
from onnx_philox._files.signals import cause_of

NAME = "onnx-philox"
_UNPRINTABLE = "standard output cannot be written: {}. Free space there, or print elsewhere."
_INTERRUPTED = 130  # what shells report for Ctrl-C
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Formatter(click.HelpFormatter):
    """Help with bold headings."""

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))


class _Context(click.Context):
    formatter_class = _Formatter


class Command(click.Command):
    """A subcommand, whose help also has its arguments, an example and the exit codes.

    Args:
        name: As in `click.Command`.
        arguments: What each argument is, by its name in the usage.
        example: A command line that runs as it is printed.
        exits: The exit codes, in words.
        kwargs: As in `click.Command`.
    """

    context_class = _Context

    def __init__(
        self,
        name: str | None,
        *,
        arguments: Mapping[str, str] | None = None,
        example: str = "",
        exits: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(name, context_settings=_SETTINGS, **kwargs)
        self.example = example
        self._arguments = arguments or {}
        self._exits = exits

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments; each error is this subcommand's."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # click does not say whose option lacks a value.
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Runs this subcommand; prints the report that it returns, and writes its page.

        Raises:
            SystemExit: The report says that not all is well, or that nothing is known.
        """
        rooms.libraries.prepare()
        name = str(self.name)
        page = ctx.meta.get("html")
        as_json = ctx.meta.get("json", False)
        if page is not None:
            titles = {"model": "the model", "original": "the original"}
            read = {}
            for argument, title in titles.items():
                path = ctx.params.get(argument)
                if path:
                    read[path] = title
            with rooms.terminal.errors(name, OSError, ValueError):
                rooms.pages.check_page(name, page, read)
        report = super().invoke(ctx)
        if report is None:
            return
        rooms.terminal.show(report, as_json=as_json)
        if page is not None:
            with rooms.terminal.errors(name, OSError):
                getattr(rooms, name).write_page(report, page)
            if not as_json:
                click.echo(f"\nWritten: {page}. Open it in a browser.")
        is_ok = getattr(report, "is_ok", True)
        if not is_ok:
            raise SystemExit(2 if is_ok is None else 1)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the arguments before the options."""
        if self._arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(list(self._arguments.items()))
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the example and the exit codes."""
        with formatter.section("Example"):
            # Not wrapped, so that it can be copied.
            formatter.write(f"{'':>{formatter.current_indent}}{self.example}\n")
        formatter.write_paragraph()
        formatter.write_text(f"Exit code: {self._exits}")
        super().format_epilog(ctx, formatter)


class NameChoice(click.ParamType):  # type: ignore[type-arg]  # before click 8.4 it takes none
    """Names to choose from, for the help.

    Whether a name is allowed here is for the command to say, which knows what is installed.
    """

    name = "name"

    def __init__(self, *names: str, by: Callable[[], Iterable[str]] | None = None) -> None:
        self._names = by or (lambda: names)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002
        """The names, as the help prints them."""
        return f"[{'|'.join(self._names())}]"


class _Number(click.ParamType):  # type: ignore[type-arg]
    """A number; the error says of which kind."""

    def __init__(self, kind: type[int] | type[float], name: str) -> None:
        self.name = name
        self._kind = kind

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """The text as a number."""
        try:
            return self._kind(value)
        except ValueError:
            article = "an" if self._kind is int else "a"
            self.fail(f"must be {article} {self.name}: got {value!r}", param, ctx)


INTEGER = _Number(int, "integer")
NUMBER = _Number(float, "number")


class CommandGroup(click.Group):
    """The command; every error is one line on stderr that begins with the command's name."""

    context_class = _Context
    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, context_settings=_SETTINGS, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The subcommands in the order in which they are used."""
        return list(self.commands)

    def resolve_command(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that is called; an unknown one is an error in our words."""
        name = args[0]
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, self.commands)
            said = f"there is no command {name!r}{_nearest(map(repr, near))}"
            raise click.UsageError(said, ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = NAME,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs the command, and ends the process with its exit code."""

        def run() -> Any:
            try:
                return super(CommandGroup, self).main(
                    args,
                    prog_name,
                    complete_var,
                    standalone_mode=False,
                    **extra,
                )
            except click.Abort:
                raise
            except Exception as error:
                # What an interruption left halfway may fail in its own way.
                interruption = cause_of(error, KeyboardInterrupt)
                if interruption is None:
                    raise
                click.echo(err=True)  # as click does, after the terminal's ^C
                raise click.Abort from interruption

        if not standalone_mode:
            return run()
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A path need not be UTF-8: its bytes are printed as they are, as `ls` does.
            sys.stdout.reconfigure(errors="surrogateescape")
        try:
            if sys.stdout is None:  # it was closed
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            code = run()
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            code = error.exit_code
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            name = context.info_name if context is not None and context.parent else ""
            rooms.terminal.print_error(name or "", _sentence(error, context))
            code = error.exit_code
        except click.Abort as error:
            # A command that had done something says what.
            how_far = str(error.__cause__ or "") or "interrupted"
            rooms.terminal.print_error("", f"{how_far}.")
            code = _INTERRUPTED
        except OSError as error:
            # The commands themselves name the files that they cannot read or write. A closed pipe
            # is no error: `head` ends that way.
            if error.errno == errno.EPIPE or error.filename is not None:
                raise
            # Python would fail to write the rest of the buffer once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            rooms.terminal.print_error("", _UNPRINTABLE.format(error.strerror))
            code = 1
        sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: click.ClickException, context: click.Context | None) -> str:
    """An error in how the command was called, as one sentence and what to do."""
    path = NAME if context is None else context.command_path
    match error:
        case click.NoSuchOption():
            what = f"there is no option {error.option_name}{_nearest(error.possibilities)}"
        case click.MissingParameter(param=click.Parameter() as param):
            what = f"{_name(param)} must be given: got nothing"
        case click.BadParameter(param=click.Parameter() as param):
            message = error.message.rstrip(".")
            # "must be" goes on with the sentence; anything else is another one.
            between = " " if message.startswith("must ") else ": "
            what = f"{_name(param)}{between}{message}"
        case _:
            what = error.format_message().rstrip(".")
            what = what[:1].lower() + what[1:]
    end = "" if what.endswith("?") else "."
    return f"{what}{end} Run '{path} -h' to see what it takes."


def _name(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        return param.metavar or (param.name or "").upper()
    return max(param.opts, key=len)


def _nearest(possibilities: Iterable[str] | None) -> str:
    near = " or ".join(possibilities or ())
    if not near:
        return ""
    return f"; did you mean {near}?"


def check_stdout() -> None:
    """Fails before any work is done if nothing can be written to standard output."""
    try:
        place = sys.stdout.fileno()
    except (AttributeError, ValueError):  # not a file of the system's
        return
    # A full device refuses even an empty write; a file system must be asked.
    os.write(place, b"")
    mode = os.fstat(place).st_mode
    if stat.S_ISREG(mode) and hasattr(os, "fstatvfs") and os.fstatvfs(place).f_bavail == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
