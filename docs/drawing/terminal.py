"""The picture of what `onnx-philox inspect` prints of a model that goes wrong in silence."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from drawing.canvas import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.text import Text

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    sampler (float[batch, 64] x, float[batch, 64] p) => (float[batch, 64] y)
        <float ratio = {0.1}, bool training = {1}> {
      [act] h = Relu (x)
      [dropout] kept = Dropout (h, ratio, training)
      [mask] mask = Bernoulli (p)
      [noise] first = RandomNormalLike (h)
      [jitter] second = RandomNormalLike (h)
      [scale] scaled = Mul (kept, first)
      [cover] covered = Mul (mask, second)
      [sum] y = Add (scaled, covered)
    }"""
"""Dropout that stays on, a mask, and two noises of one shape."""

FINDINGS = (
    "draws nothing",
    r"It is inverted: where p is 0\.1, about 90% are 1\.",
    r"OpenVINO draws it and jitter once, as one node: they read the same, and neither has a seed\.",
)
COLUMNS, SIZE, STEP = 104, 12, 18
LEFT, TOP = 22, 30
# Of the monospace fonts that readers have, as a part of the size.
ADVANCE = 0.602


def report_of_the_sampler() -> Text:
    """The command and what it prints, with what is found marked."""
    import onnx
    from onnx import parser
    from rich.console import Console
    from rich.text import Text

    from onnx_philox._command.inspect import inspect

    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        onnx.save(parser.parse_model(MODEL), "sampler.onnx")
        console = Console(file=printed, width=COLUMNS, force_terminal=True, color_system="standard")
        inspect(Path("sampler.onnx")).print(console)
    text = Text.assemble(("$ onnx-philox inspect sampler.onnx\n", "dim"))
    text.append_text(Text.from_ansi(printed.getvalue()))
    for finding in FINDINGS:
        # Words may be on two lines.
        pattern = r"\s+".join(finding.split(" "))
        assert re.search(pattern, text.plain), f"inspect does not say: {finding}"
        text.highlight_regex(pattern, "red")
    return text


def draw_report(text: Text, palette: SimpleNamespace) -> Figure:
    """A terminal: each piece of text in its column."""
    from rich.console import Console

    lines = text.split("\n", allow_blank=True)
    while not lines[-1].plain.strip():
        lines.pop()
    figure, page = canvas(TOP * 2 + STEP * (len(lines) - 1), palette)
    console = Console(width=COLUMNS)
    for i, line in enumerate(lines):
        column = 0
        for segment in line.render(console):
            style = segment.style
            for piece in re.finditer(r"\S+(?: \S+)*", segment.text):
                is_finding = style is not None and style.color is not None
                page.text(
                    LEFT + (column + piece.start()) * SIZE * ADVANCE,
                    TOP + i * STEP,
                    piece.group(),
                    color=palette.bad
                    if is_finding
                    else palette.muted
                    if style and style.dim
                    else palette.ink,
                    fontsize=SIZE,
                    fontfamily="monospace",
                    fontweight="bold" if is_finding or (style and style.bold) else "normal",
                    va="center",
                    parse_math=False,
                )
            column += len(segment.text)
    return figure
