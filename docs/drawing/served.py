"""The picture of a request: seed, row of a batch, next state, checkpoint, tomorrow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from drawing.canvas import arrow, box, canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_served(_: None, palette: SimpleNamespace) -> Figure:
    """Two requests go through one batch; one of them goes on elsewhere on the next day."""
    figure, page = canvas(368, palette)

    def say(x: float, y: float, text: str, colour: str, **style: str) -> None:
        page.text(x, y, text, **({"color": colour, "fontsize": 12, "ha": "center"} | style))

    def cell(at: tuple[float, float], width: float, text: str, colour: str) -> object:
        return box(page, at, (width, 36), text, palette, edgecolor=colour, linewidth=1.6)

    ours, other = palette.good, palette.muted
    heads = {82: "a request", 268: "its seed", 462: "its row of a batch", 690: "its row after"}
    for x, head in heads.items():
        say(x, 28, head, palette.ink, fontsize=14, fontweight="bold")

    for y, name, seed, colour in ((68, "A", 42, ours), (118, "B", 7, other)):
        request = cell((82, y), 124, f"request {name}", colour)
        state = cell((268, y), 168, f"for_run({seed})", colour)
        row = cell((462, y), 140, f"row {'AB'.index(name)}: state", colour)
        after = cell((690, y), 184, "images, next state", colour)
        arrow(page, request, state, colour)
        arrow(page, state, row, colour)
        arrow(page, row, after, colour)
    say(462, 160, "uint32[batch, 6], whoever is in it", palette.muted)
    say(690, 160, "the same as in any batch", palette.muted)

    page.plot([20, 780], [192, 192], color=palette.line, linewidth=1.2, linestyle=(0, (5, 4)))
    say(20, 216, "tomorrow, in another process or runtime", palette.ink, ha="left")
    checkpoint = cell((690, 256), 184, "checkpoint (JSON)", palette.bad)
    page.annotate(
        "",
        (690, 237),
        (690, 168),
        arrowprops={"arrowstyle": "-|>", "color": palette.bad, "linewidth": 1.6},
    )
    resumed = cell((462, 256), 140, "row 3: state", ours)
    going_on = cell((268, 256), 168, "its second run", ours)
    arrow(page, checkpoint, resumed, palette.bad)
    arrow(page, resumed, going_on, ours)
    say(462, 298, "another batch, another row", palette.muted)
    say(268, 298, "draws what it would have drawn", palette.muted)
    cell((82, 256), 124, "seed 42 again", ours)
    say(82, 298, "the first run, always", palette.muted)
    say(
        400,
        342,
        "A seed says the first run of a request, its next state every later one.",
        palette.ink,
        fontweight="bold",
    )
    return figure
