"""`onnx-philox rewrite`: rewrites a file into a file, ONNX or OpenVINO IR, and reports it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnx_philox import _runtime_errors, rewriting
from onnx_philox._command import inside_model, paths, web
from onnx_philox._command.inspect.known import untried
from onnx_philox._command.terminal import document
from onnx_philox._contract import alignment, checks, choices
from onnx_philox._contract.operators import RANDOM_BERNOULLI
from onnx_philox._files import new_files, signals
from onnx_philox._files.given import PATHS, Form, Given
from onnx_philox._files.openvino_ir import is_ir, weights_of
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting import api, equal_seeds
from onnx_philox._rewriting.asked import Asked
from onnx_philox._rewriting.in_onnx import unrun
from onnx_philox._rewriting.look import AnyLook, OnnxLook, look
from onnx_philox._rewriting.not_rows import few
from onnx_philox._standard import to_standard as standard_nodes
from onnx_philox._standard.targets import TARGETS

_OWNER = "rewrite"
_MOST = 3
"""So many behaviours of runtimes are shown."""


@dataclass(frozen=True)
class RewrittenFile:
    """What a rewrite did, and how to run the new model."""

    source: Path
    target: Path
    report: rewriting.Report
    warnings: list[str]
    inside: inside_model.Inside
    """What decides the numbers of the new model."""
    standard: str | None = None
    """The runtime that its standard nodes are made for; None for nodes of this package."""
    is_for_web: bool = False
    """Whether a page can show its draws."""
    keeps_seeds: bool = False
    """Whether its seeds were to be kept."""
    past: Sequence[untried.WrongBefore] = ()
    """What runtimes drew of the original, where it asks for something else."""

    def to_json(self) -> str:
        """Returns one JSON document, as docs/json.md says."""
        report = self.report
        return document(
            source=str(self.source),
            target=str(self.target),
            is_changed=report.is_changed,
            seed=report.seed,
            replaced=equal_seeds.documents(report.replaced),
            kept=equal_seeds.documents(report.kept),
            recorded=report.recorded,
            settled=report.settled,
            per_row=report.is_per_row,
            warnings=self.warnings,
            wrong_before=[each.to_json() for each in self.past],
            of_no_runtime=list(self.inside.of_no_runtime),
            missing_functions=list(self.inside.missing_functions),
            run=self.command,
        )

    @property
    def is_ok(self) -> bool:
        """Whether a runtime has all its operators."""
        return not self.inside.of_no_runtime

    @property
    def command(self) -> str:
        """The command line that runs the new model."""
        inside = self.inside
        return inside_model.command_to_run(self.target, inside.inputs, inside.state, self.standard)

    def print(self, console: Console) -> None:
        """Prints what the rewrite did and what to do next."""
        console.print(self._heading())
        if self.report.replaced:
            console.print(_became(self.report.replaced))
        for line in self._of_nodes():
            console.print(Text(line))
        # Of a Bernoulli its shares say it.
        wrong = untried.lines(past for past in self.past if not past.is_of_shares)
        for past in wrong[:_MOST]:
            console.print(Text(past))
        if len(wrong) > _MOST:
            more = len(wrong) - _MOST
            console.print(f"And {more} more: onnx-philox inspect {self.source} lists them.")
        for text in self.warnings:
            console.print(Text.assemble(("Warning: ", "bold yellow"), text))
        for line in filter(None, self._lines()):
            console.print(Text(line))
        for about in self._in_the_way:
            console.print(Text(about, "bold red"))
        if self._in_the_way:
            return
        # Not wrapped, so that it can be copied.
        console.print(Text(f"  {self.command}", "bold"), soft_wrap=True)
        inputs = self.inside.inputs.items()
        filled = [name for name, is_text in inputs if not is_text and name != self.inside.state]
        if filled:
            names = ", ".join(filled)
            console.print(Text(f"--fill makes up {names}: give yours with --input NAME=FILE.npy."))

    def _of_nodes(self) -> Iterator[str]:
        """The shares and the doubts of nodes, where no warning says them."""
        warned = [f"{text}." for text in self.warnings]
        replaced = self.report.replaced
        shares = [(node.called, node.share) for node in replaced]
        doubts = [(node.called, node.doubt) for node in replaced]
        for of_each in (shares, doubts):
            alike: dict[str, list[str]] = {}
            for name, text in of_each:
                if text is not None:
                    alike.setdefault(text, []).append(name)
            for said, names in alike.items():
                if not any(f": {said}" in text for text in warned):
                    yield f"{few(names)}: {said.removesuffix('.')}."

    def _heading(self) -> Text:
        name = (str(self.source), "bold")
        report = self.report
        replaced = len(report.replaced)
        recorded = report.recorded
        if replaced:
            before = ""
            if recorded:
                before = f" beside {recorded} that were"
            said = f": {_nodes(replaced)} rewritten{before}{self._streams}"
            return Text.assemble(name, said)
        unchanged = ": " if report.is_changed else ": unchanged, "
        if recorded:
            return Text.assemble(name, f"{unchanged}{_nodes(recorded)} rewritten already")
        if report.kept:
            return Text.assemble(name, f"{unchanged}none of its random nodes can be rewritten")
        return Text.assemble(name, f"{unchanged}it has no random nodes")

    @property
    def _streams(self) -> str:
        """The streams of the new nodes, after a comma; empty where none takes one."""
        drawn_by = self.inside.generator
        if not drawn_by.is_counter_based:
            whose = drawn_by.owner
            return f"; one generator of {whose}'s goes through them in the order of the file"
        streams = sorted({n.stream for n in self.report.replaced if n.stream is not None})
        if len(streams) < 2:
            return "".join(f", stream {stream}" for stream in streams)
        return f", streams {streams[0]} to {streams[-1]}"

    def _about_seeds(self) -> str:
        count = len([node for node in self.report.replaced if node.keeps_seeds])
        is_openvino_s = is_ir(self.source)
        if self.keeps_seeds and self.report.recorded and not self.report.replaced:
            return "--keep-seeds did nothing: pass the model that this one was made from."
        if not count:
            if self.keeps_seeds and is_openvino_s:
                return "It has no seeds to keep."
            return ""
        if count == 1:
            keep = "1 node keeps its seeds and has no stream"
            draws = "it draws"
        else:
            keep = f"{count} nodes keep their seeds and have no stream"
            draws = "they draw"
        numbers = "the numbers that are documented for these seeds"
        about = f"{keep}: from PhiloxState.for_run(0) {draws} {numbers}."
        if is_openvino_s:
            # By the processor that it runs on, which may be another one than this.
            about += (
                " OpenVINO's own CPU device draws others of f64 and i64, of most ranges of f32 "
                "where the processor multiplies and adds in one step (FMA), and of f16 and bf16 "
                "where it computes them in f32 (bf16: on processors without AVX-512)."
            )
        return about

    def _about_equal_seeds(self) -> str:
        """What becomes of nodes of one seed, where no warning says it."""
        said = []
        for alike in equal_seeds.repeating(self.report.replaced):
            is_one = len({node.stream for node in alike.nodes}) == 1
            now = "equal numbers, from one stream" if is_one else "numbers of their own"
            if not any(str(alike) in text for text in self.warnings):
                said.append(f"{len(alike.nodes)} nodes of {alike.seeds} draw {now}.")
        if self.keeps_seeds:
            said.append(equal_seeds.about_those_apart(self.report.replaced))
        return " ".join(filter(None, said))

    def _lines(self) -> Iterator[str]:
        """What there is to know of the new model."""
        report = self.report
        if report.settled == 1:
            yield "1 Dropout that drops nothing is now Identity: it draws nothing."
        elif report.settled:
            count = report.settled
            yield f"{count} Dropouts that drop nothing are now Identity: they draw nothing."
        yield self._about_seeds()
        yield self._about_equal_seeds()
        yield self._about_state()
        if self.standard is not None and report.replaced:
            note = TARGETS[self.standard].note
            yield f"Its draws are standard ONNX nodes, which need no plugin, {note}."
        if is_ir(self.source):
            yield (
                "If it was converted from PyTorch or TensorFlow, draws may have been lost before: "
                f"onnx-philox inspect {self.source} says how."
            )
        if self.is_for_web:
            yield (
                "Its draws are outputs too. A page of this project's sources, "
                "examples/web/drop.html, runs it in a browser and shows the same hashes."
            )
        said = f"Written: {_written(self.target)}."
        if not self._in_the_way:
            said += " Run it:"
        yield said

    @property
    def _in_the_way(self) -> list[str]:
        """Why no runtime loads the new model as it is, a sentence each."""
        missing = unrun.about_missing(self.inside.missing_functions)
        return [*unrun.about(self.inside.of_no_runtime), *missing]

    def _about_state(self) -> str:
        if not self.report.replaced and not self.report.recorded:
            return ""
        state = self.inside.state
        is_per_row = self.report.is_per_row
        if state or is_per_row:
            about = self.inside.generator.about_input(state, per_row=is_per_row)
            after = self.inside.next_state
            return f"{about}; the output {after} is the input of the next run."
        if self.inside.variable:
            return f"Its state is the variable {self.inside.variable!r}, which a request keeps."
        return (
            f"The state is a constant inside, of seed {self.report.seed}: every run gives the same "
            "numbers."
        )


def rewrite(
    source: Path,
    target: Path,
    asked: Asked,
    *,
    standard: str | None = None,
    inexact: str = "refuse",
    progress: Progress = ignore,
) -> RewrittenFile:
    """Rewrites an ONNX file into an ONNX file or an OpenVINO IR, chosen by the name's suffix.

    An OpenVINO IR becomes another one.

    With `standard`, its draws become nodes of ONNX's own domain for that runtime, with `inexact` as
    in `to_standard_file`. The rest is as in `rewrite_file`.

    Raises:
        TypeError: A random node is of a type that is not allowed.
        ValueError: The names are wrong, or the model cannot be rewritten.
        ImportError: The target is an IR, and OpenVINO is not installed.
        OSError: A file cannot be read or written.
    """
    given = paths.given(_OWNER, source, PATHS if standard is None else {Form.FILE})
    given.target(target, converts=standard is None)
    paths.check_folder(target)
    if target.exists() and target.samefile(source):
        checks.refuse(
            _OWNER,
            "the output",
            "the model itself",
            "a file of its own",
            "Name another.",
        )
    if standard is not None and asked.generator.is_named:
        allowed = alignment.for_standard_nodes(asked.generator)
        remedy = "Leave one of the two out."
        checks.refuse(_OWNER, "--alignment", repr(asked.alignment), allowed, remedy)
    if standard is not None:
        choices.check_choice(
            _OWNER,
            "--target",
            standard,
            standard_nodes.NAMES,
            standard_nodes.OTHERS_READ,
            standard_nodes.ALLOWED,
        )
    is_for_web = standard == standard_nodes.WEB
    if is_for_web:
        standard = "onnxruntime"
    seen = look(given)
    with (
        given.kept_open(),
        signals.tidied_up_on_signals(),
        warnings.catch_warnings(record=True) as caught,
    ):
        new_files.check_apart(_OWNER, _outputs(target), given.reads)
        warnings.simplefilter("always")
        past = untried.wrong_before(seen)
        if is_ir(target) and isinstance(seen, OnnxLook):
            report, inside = _to_ir(seen, target, asked, progress)
        else:
            report, inside = _to_the_same(
                seen,
                target,
                asked,
                progress,
                standard,
                inexact,
                is_for_web=is_for_web,
            )
    texts = [str(each.message) for each in caught if each.category is UserWarning]
    return RewrittenFile(
        source,
        target,
        report,
        texts,
        inside,
        standard,
        is_for_web,
        asked.keep_seeds,
        past if report.replaced else [],
    )


def _outputs(target: Path) -> dict[Path, str]:
    """The files to write, but for external data, which the rewriter handles."""
    if not is_ir(target):
        return {target: "the output"}
    return {target: "the output", weights_of(target): "the weights file of the output"}


def _to_the_same(
    seen: AnyLook,
    target: Path,
    asked: Asked,
    progress: Progress,
    standard: str | None = None,
    inexact: str = "refuse",
    *,
    is_for_web: bool = False,
) -> tuple[rewriting.Report, inside_model.Inside]:
    """Writes ONNX from ONNX, or an IR from an IR; returns what is in it, too."""
    if standard is None:
        # The file says what the model says, and takes as long to read as a rewrite takes.
        report, written = api.write_rewritten(seen, target, asked, progress)
        return report, inside_model.inside(written)
    # Only files of ONNX are taken for these.
    assert isinstance(seen, OnnxLook)
    if is_for_web:
        report = web.write_for_web(seen, target, inexact, asked, progress)
    else:
        report = standard_nodes.write_standard(seen, target, asked, standard, inexact, progress)
    return report, inside_model.inside(look(Given.of(_OWNER, target)))


def _to_ir(
    seen: OnnxLook,
    target: Path,
    asked: Asked,
    progress: Progress,
) -> tuple[rewriting.Report, inside_model.Inside]:
    # Imported before any long work, since it may not be installed.
    with signals.held_back():
        import openvino as ov

        from onnx_philox.openvino import register

    with new_files.NewFiles() as files:
        # Beside the target, where there is room for the weights.
        folder = files.folder_beside(target)
        # No external data has this name, since it is unpredictable.
        between = folder / "onnx" / f"{folder.name}.onnx"
        written = folder / target.name
        with new_files.no_room_named(target, folder):
            result = _to_the_same(seen, between, asked, progress)
        progress(0, 1, "OpenVINO converts")
        try:
            model = register(ov.Core()).read_model(between)
        except Exception as error:
            raise _unconverted(error) from error
        try:
            # Uncompressed: else OpenVINO would round the weights to f16.
            ov.save_model(model, written, compress_to_fp16=False)
        except Exception as error:
            # OpenVINO does not report a full disk.
            new_files.check_room(
                folder,
                sum(file.stat().st_size for file in between.parent.rglob("*")),
                target,
            )
            raise _unconverted(error) from error
        files.move(weights_of(written), weights_of(target))
        files.move(written, target)
    return result


def _unconverted(error: Exception) -> ValueError:
    return ValueError(
        "OpenVINO does not convert the rewritten model: "
        f"{_runtime_errors.sentence(str(error)).rstrip('.')}. An ONNX file (a name that ends in "
        ".onnx) can be written all the same."
    )


def _became(nodes: tuple[rewriting.RandomNode, ...]) -> Table:
    """What became what, and how many times."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(justify="right")
    for (was, what), count in Counter(map(_change, nodes)).items():
        lines.add_row(f"  {count}", was, f"is now {what}")
    return lines


def _change(node: rewriting.RandomNode) -> tuple[str, str]:
    """What a node was, and what it is."""
    was = node.op_type
    if node.version is not None:
        was += f" (opset {node.version})"
    # A Bernoulli draws booleans, whatever type they are cast to.
    type_ = None if node.replacement == RANDOM_BERNOULLI.name else node.output_type
    words = [word for word in (node.replacement, type_) if word]
    return was, " ".join(words)


def _nodes(count: int) -> str:
    if count == 1:
        return "1 random node"
    return f"{count} random nodes"


def _written(target: Path) -> str:
    """The file and its size, without the weights beside it."""
    size = target.stat().st_size
    if is_ir(target):
        weights = weights_of(target)
        with_weights = size + weights.stat().st_size
        return f"{target} and {weights.name}, {_size(with_weights)}"
    return f"{target}, {_size(size)}"


def _size(count: int) -> str:
    units = ("bytes", "kB", "MB", "GB", "TB")
    step = (len(str(count)) - 1) // 3
    return f"{count / 1000**step:.3g} {units[step]}"
