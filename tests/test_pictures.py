"""The pictures of README and docs: shown light and dark, and described.

`docs/make_pictures.py --check`, which test_layout.py runs, says that all are there, small, and
drawn from what the repository holds now. Drawing them takes half a minute, and is not tested.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
NAMES = sorted({path.stem.rpartition("-")[0] for path in PICTURES.iterdir()})
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
PICTURE = re.compile(
    r"""<picture>
  <source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">
  <img alt="([^"]+)" src="([^"]+)" width="800">
</picture>"""
)


def shown() -> dict[str, Path]:
    """Each picture that a page shows, and the page."""
    found = {}
    for page in PAGES:
        text = page.read_text()
        blocks = PICTURE.findall(text)
        assert len(blocks) == text.count("<img") == text.count("<picture"), page
        for dark, alt, light in blocks:
            name = Path(light).stem.removesuffix("-light")
            assert (page.parent / light).resolve() == PICTURES / f"{name}-light.svg", page
            assert (page.parent / dark).resolve() == PICTURES / f"{name}-dark.svg", page
            assert len(alt) > 40, f"{page} does not describe {name}"
            found[name] = page
    return found


def test_every_picture_is_on_a_page_and_every_page_s_picture_is_there() -> None:
    assert sorted(shown()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_dark_picture_says_what_the_light_one_says(name: str) -> None:
    def texts(shade: str) -> list[str]:
        tree = ET.parse(PICTURES / f"{name}-{shade}.svg")
        return ["".join(e.itertext()) for e in tree.iter("{http://www.w3.org/2000/svg}text")]

    assert texts("dark") == texts("light") != []


def test_the_sentence_above_the_equal_images_says_that_they_are_equal() -> None:
    before, _, _ = (ROOT / "README.md").read_text().partition("docs/pictures/after-dark.svg")
    last = before.rpartition("<picture>")[0].rstrip().rpartition("\n\n")[2]
    assert "the same" in last
    assert "no image" not in last


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100
