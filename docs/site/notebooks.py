"""The notebooks of examples/notebooks: run, compared with what they say, and turned into pages.

They are kept with their outputs, so that a code host shows them. A run that prints anything else
is an error; pictures are made anew and not compared, since their bytes depend on matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbclient
import nbconvert
import nbformat

ROOT = Path(__file__).parents[2]
ALL = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}

_RUN: dict[Path, Any] = {}


def run(*, is_saved: bool) -> None:
    """Runs each, in its own folder; an output that is another than the kept one is an error."""
    for file in ALL:
        kept = nbformat.read(file, nbformat.NO_CONVERT)
        new = nbformat.from_dict(kept)
        place = {"metadata": {"path": file.parent}}
        nbclient.NotebookClient(new, timeout=300, kernel_name="python3", resources=place).execute()
        # When it ran, on which Python, and what a log says of the machine would differ each time.
        for cell in new.cells:
            cell.metadata = {}
            if "outputs" in cell:
                cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
        new.metadata = KERNEL
        if is_saved:
            nbformat.write(new, file)
        elif texts(new) != texts(kept):
            raise SystemExit(
                f"{file.relative_to(ROOT)} prints {texts(new)}, and says {texts(kept)}.\n"
                "If that is right, keep it: python docs/site/build.py --save"
            )
        _RUN[file] = new


def texts(notebook: Any) -> list[str]:
    """What the cells print, pictures left out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [
        output.get("text") or output["data"].get("text/plain", "")
        for output in outputs
        if "image/png" not in output.get("data", ())
    ]


def read(file: Path, page: Path) -> str:
    """The Markdown of a notebook that has run; its pictures are written beside the page."""
    exporter = nbconvert.MarkdownExporter()
    text, resources = exporter.from_notebook_node(
        _RUN[file], {"unique_key": page.stem, "output_files_dir": page.stem}
    )
    for name, data in resources["outputs"].items():
        picture = page.parent / name
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(data)
    return text
