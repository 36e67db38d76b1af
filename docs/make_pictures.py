"""Draws docs/pictures: what the real models and operators do, each picture light and dark.

python docs/make_pictures.py            draw all; names draw only those
python docs/make_pictures.py --check    exit 1 if a picture is missing, too large or out of date

`torch` needs torch and diffusers, which no other picture does.

Nothing is made up: each picture shows what the runtimes draw here, or numbers of
benchmarks/README.md. Drawing needs the extra `docs`, checking only Python.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from drawing import models, numbers, served, terminal
from drawing.canvas import PALETTES, PICTURES, ROOT, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 150_000


@dataclass(frozen=True)
class Picture:
    """How to draw it, of what, and the bytes of the repository that it shows."""

    draw: Callable[[Any, SimpleNamespace], Figure]
    compute: Callable[[], Any] = lambda: None
    source: Callable[[], bytes] = bytes

    def note(self) -> str:
        """Says in the picture what it was drawn from."""
        return f"source {hashlib.sha256(self.source()).hexdigest()[:16]}"


ALL = {
    "inspect": Picture(terminal.draw_report, terminal.report_of_the_sampler, terminal.MODEL.encode),
    "before": Picture(models.draw_images, models.images_before, models.VAE.read_bytes),
    "after": Picture(models.draw_images, models.images_after, models.VAE.read_bytes),
    "torch": Picture(models.draw_images, models.images_of_torch, models.VAE.read_bytes),
    "mc-dropout": Picture(models.draw_dropout, models.draws_of_dropout, models.DROPOUT.read_bytes),
    "rewrite": Picture(models.draw_rewrite, models.graphs_of_the_vae, models.VAE.read_bytes),
    "state": Picture(models.draw_state),
    "served": Picture(served.draw_served),
    "speed": Picture(
        numbers.draw_speed,
        lambda: list(numbers.speed_rows()),
        lambda: repr(list(numbers.speed_rows())).encode(),
    ),
    "normal-error": Picture(numbers.draw_errors, numbers.errors_of_normals),
    "distributions": Picture(numbers.draw_distributions, numbers.draws_of_operators),
}


def draw(names: list[str]) -> None:
    """Writes these pictures, light and dark."""
    import matplotlib

    # The same picture is the same file.
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "onnx-philox"}
    PICTURES.mkdir(exist_ok=True)
    for name in names:
        picture = ALL[name]
        computed = picture.compute()
        for shade, palette in PALETTES.items():
            save(picture.draw(computed, palette), name, shade, picture.note())


def wrong() -> list[str]:
    """What is wrong with the pictures that are there."""
    found = []
    files = {f"{name}-{shade}.svg": ALL[name] for name in ALL for shade in PALETTES}
    for file in sorted({*files, *(path.name for path in PICTURES.iterdir())}):
        path = PICTURES / file
        if file not in files:
            found.append(f"{file} is no picture of this script")
        elif not path.exists():
            found.append(f"{file} is missing")
        elif path.stat().st_size > MOST_BYTES:
            found.append(f"{file} has {path.stat().st_size} bytes; at most {MOST_BYTES}")
        elif files[file].note() not in path.read_text():
            found.append(f"{file} shows what has changed since")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*ALL, []], metavar="NAME")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        if problems := wrong():
            sys.exit("\n".join([*problems, f"Run {Path(__file__).relative_to(ROOT)}."]))
    else:
        draw(arguments.names or list(ALL))
