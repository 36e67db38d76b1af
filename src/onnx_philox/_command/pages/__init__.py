"""The pages that `--html` writes: one file each, which loads nothing from anywhere.

The templates are beside this file. `base.html` has the look, light and dark, narrow and wide.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_philox
from onnx_philox import _native
from onnx_philox._command import paths, terminal
from onnx_philox._contract import checks
from onnx_philox._files.new_files import NewFiles, check_apart


@dataclass(frozen=True)
class Look:
    """How a cell looks: by its colour, and by a sign for those who do not see colours."""

    style: str
    sign: str


GOOD, SOME, BAD, FAILED, NONE = (
    Look("good", "✓"),
    Look("some", "◐"),
    Look("bad", "✗"),
    Look("bad", "!"),
    Look("none", "-"),
)

_SUFFIXES = (".html", ".htm")


def check_page(owner: str, path: Path, read: Mapping[Path, str]) -> None:
    """Refuses a file that is no page, or that is read; before any long work.

    Raises:
        ValueError: It is such a file.
    """
    if path.suffix.lower() not in _SUFFIXES:
        allowed = "a name that ends in .html"
        checks.refuse(owner, "--html", path, allowed, "Choose such a name.")
    if path.is_dir():
        checks.refuse(owner, "--html", f"{path}, a folder", "a file", "Name a file in it.")
    paths.check_folder(path)
    check_apart(owner, {path: "the page"}, read)


def render(template: str, page: Path, **values: Any) -> None:
    """Renders a template, and writes the page whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__name__, ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    shared = {"machine": _machine(), "version": onnx_philox.__version__}
    text = environment.get_template(template).render(**shared, **values)
    with NewFiles() as files, files.open(page) as file:
        # A path need not be UTF-8.
        file.write(terminal.visible(text).encode(errors="backslashreplace"))


def _machine() -> dict[str, str]:
    """What the numbers were drawn on."""
    machine = {"system": f"{platform.system()} {platform.release()}", "processor": _processor()}
    machine["native core"] = _native.isa() if _native.IS_THERE else "not installed"
    return machine


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    names = []
    for line in lines:
        if line.startswith("model name"):
            _, _, name = line.partition(":")
            names.append(name.strip())
    if names:
        return names[0]
    return platform.processor() or platform.machine()
