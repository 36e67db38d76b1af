"""The pages that `--html` writes, in headless Chromium: light and dark, narrow and wide.

`.ci/web` installs npm and Chromium, and runs this file. What is missing is a failure.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import child
import pytest

from onnx_philox import rewriting
from onnx_philox._command import inspect, verify
from onnx_philox._command.verify import cases

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[1]
VIEWS = [f"{scheme} {width}" for scheme in ("light", "dark") for width in (360, 1200)]
PAGES = ("verified", "wrong", "inspected", "rewritten")


def wrong(case: cases.Case) -> cases.Case:
    """A case that expects another first value."""
    vector = case.vectors[0]
    values = vector.expected["values"].copy()
    values.flat[0] += 1
    expected = {**vector.expected, "values": values}
    return dataclasses.replace(
        case, vectors=(dataclasses.replace(vector, expected=expected, printed=None),)
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a visitor sees of each page, in each view."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "tests" / "web", folder / "web", ignore=shutil.ignore_patterns("node_*"))
    child.run("npm", "install", "--silent", cwd=folder / "web", timeout=600)
    chosen = [c for c in cases.load_cases() if "i64" in c.name or c.type.name == "bf16"]
    verify.write_page(verify.run(expected=chosen), folder / "verified.html")
    report = verify.run(["onnxruntime"], expected=[wrong(c) for c in chosen[:3]])
    verify.write_page(report, folder / "wrong.html")
    model = ROOT / "tests" / "models" / "mc_dropout.onnx"
    inspect.write_page(inspect.inspect(model), folder / "inspected.html")
    rewriting.rewrite_file(model, folder / "rewritten.onnx")
    inspect.write_page(inspect.inspect(folder / "rewritten.onnx"), folder / "rewritten.html")
    command = ["node", "pages.mjs", *(str(folder / f"{name}.html") for name in PAGES)]
    done = child.run(*command, cwd=folder / "web", timeout=600)
    found: dict[str, Any] = json.loads(done.stdout)
    assert sorted(found) == sorted(f"{page} {view}" for page in PAGES for view in VIEWS)
    return found


def test_pages_load_nothing_and_report_no_errors(seen: dict[str, Any]) -> None:
    assert {view: page["wrong"] for view, page in seen.items() if page["wrong"]} == {}


def test_pages_fit_narrow_and_wide_windows(seen: dict[str, Any]) -> None:
    assert {view: page["overflow"] for view, page in seen.items() if page["overflow"] > 0} == {}


def test_pages_are_light_or_dark(seen: dict[str, Any]) -> None:
    for view, page in seen.items():
        is_dark = " dark " in view
        assert (brightness(page["paper"]) < 0.2) is is_dark
        assert (brightness(page["ink"]) > 0.8) is is_dark
        for cell in filter(None, page["colours"].values()):
            # WCAG's least for text of any size.
            assert contrast(cell["color"], cell["backgroundColor"]) >= 4.5


def test_what_colours_say_signs_say_too(seen: dict[str, Any]) -> None:
    for view, page in seen.items():
        signs = page["signs"]
        assert len(set(signs.values())) == len(signs) >= (not view.startswith("rewritten"))


def test_a_header_stands_above_what_it_heads(seen: dict[str, Any]) -> None:
    assert seen["rewritten light 1200"]["headers"]
    for view, page in seen.items():
        if view.endswith("1200"):
            # A table says "start" for what it does not align itself.
            aligned = [{a.replace("start", "left") for a in pair} for pair in page["headers"]]
            assert all(len(pair) == 1 for pair in aligned), (view, page["headers"])


def test_pages_say_their_verdict(seen: dict[str, Any]) -> None:
    for view in VIEWS:
        assert seen[f"verified {view}"]["verdict"] == (
            "Every number of onnx-philox is the published one"
        )
        assert seen[f"wrong {view}"]["verdict"] == "Some numbers are wrong"
        assert seen[f"inspected {view}"]["verdict"] == "2 random nodes: no runtime draws them"
        assert len(seen[f"verified {view}"]["pictures"]) > 8
        assert len(seen[f"wrong {view}"]["pictures"]) > 3
    assert all(all(page["pictures"]) for page in seen.values())


def test_pointing_at_a_cell_or_tabbing_to_it_shows_its_tip(seen: dict[str, Any]) -> None:
    for view, page in seen.items():
        if view.startswith("rewritten"):
            assert page["tips"] == [], "it has no such cell"
            continue
        first, last, by_key, escaped = page["tips"]
        for tip in (first, last):
            assert tip["isShown"]
            assert tip["isInside"]
            assert len(tip["text"]) > 20
        assert by_key == {"byKey": True}
        assert escaped == {"afterEscape": False}


def channels(colour: str) -> list[float]:
    assert colour.startswith("rgb(")
    return [int(part) / 255 for part in colour[4:-1].split(",")]


def brightness(colour: str) -> float:
    return sum(channels(colour)) / 3


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)
        ]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
