"""The paper that all pictures are drawn on: colours for a light and a dark page, fonts, axes.

A unit is a pixel where a picture is 800 wide, which is about how wide a README is.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 800

# What each colour is for, on a light and on a dark page.
PALETTES = {
    "light": SimpleNamespace(
        page="#ffffff",
        ink="#1f2933",
        muted="#5d6b7a",
        line="#d5dce3",
        box="#eef2f6",
        onnxruntime="#1f66b0",
        openvino="#7a45bd",
        good="#0b7d62",
        bad="#bf4d08",
        image=("#eef2f1", "#2f9c7f", "#04372b"),
    ),
    "dark": SimpleNamespace(
        page="#0d1117",
        ink="#e6edf3",
        muted="#9aa7b4",
        line="#333c47",
        box="#1b232d",
        onnxruntime="#66b2ff",
        openvino="#c39dff",
        good="#3ecf9f",
        bad="#ff9a57",
        image=("#18212a", "#1f8f70", "#c9fbe6"),
    ),
}
# DejaVu is the widest of these: what does not overlap in it does so in none.
FONTS = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def canvas(height: int, palette: SimpleNamespace) -> tuple[Figure, Axes]:
    """A figure, and axes all over it with the origin at the top left."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor=palette.page, dpi=144)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def plot(
    figure: Figure, palette: SimpleNamespace, box: tuple[float, float, float, float], title: str
) -> Axes:
    """Axes for a plot at left, top, width and height, in pixels."""
    left, top, width, height = box
    tall = figure.get_figheight() * 72
    axes = figure.add_axes(
        (left / WIDTH, 1 - (top + height) / tall, width / WIDTH, height / tall), facecolor="none"
    )
    axes.set_title(title, loc="left", color=palette.ink, fontsize=13, fontweight="bold", pad=10)
    axes.tick_params(colors=palette.muted, labelsize=12, length=0, pad=6)
    axes.grid(axis="y", color=palette.line, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(palette.line)
    return axes


def save(figure: Figure, name: str, shade: str, note: str) -> None:
    """Writes an SVG whose text is text, in the reader's own font, without a date."""
    file = io.StringIO()
    metadata = {"Date": None, "Creator": "docs/make_pictures.py", "Description": note}
    figure.savefig(file, format="svg", facecolor=figure.get_facecolor(), metadata=metadata)
    svg = file.getvalue().replace("'DejaVu Sans Mono'", MONOSPACE).replace("'DejaVu Sans'", FONTS)
    svg = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', svg)
    svg = re.sub(r" +$", "", svg, flags=re.MULTILINE)
    (PICTURES / f"{name}-{shade}.svg").write_text(svg)


def box(
    page: Axes,
    at: tuple[float, float],
    size: tuple[float, float],
    text: str,
    palette: SimpleNamespace,
    **style: Any,
) -> Any:
    """A rounded box around its centre, with a text. Returns it, for arrows to end at."""
    from matplotlib.patches import FancyBboxPatch

    ink = style.pop("ink", palette.ink)
    weight = style.pop("weight", "normal")
    style = {"facecolor": palette.box, "edgecolor": palette.line, "linewidth": 1} | style
    (x, y), (width, height) = at, size
    patch = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=6",
        zorder=3,
        **style,
    )
    page.add_patch(patch)
    page.text(
        x, y, text, color=ink, fontsize=12, fontweight=weight, ha="center", va="center", zorder=4
    )
    return patch


def arrow(page: Axes, start: Any, end: Any, colour: str, **style: Any) -> None:
    """From one box to another, as straight as it goes."""

    def centre(patch: Any) -> tuple[float, float]:
        bounds = patch.get_bbox()
        return (bounds.x0 + bounds.x1) / 2, (bounds.y0 + bounds.y1) / 2

    page.annotate(
        "",
        centre(end),
        centre(start),
        arrowprops={
            "arrowstyle": "-|>,head_width=0.22,head_length=0.45",
            "color": colour,
            "linewidth": 1.3,
            "patchA": start,
            "patchB": end,
            "shrinkA": 1,
            "shrinkB": 2,
        }
        | style,
        zorder=2,
    )
