"""A stranger's first minutes: a clone, the README's first command, `inspect` of a model; the times.

It clones this repository into a new folder and makes a new virtual environment there, so that
nothing that is installed here counts; what pip has downloaded before does, unless `--no-cache`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT = Path(__file__).parents[1]
MODEL = "examples/noise_and_dropout.onnx"


def steps(folder: Path) -> Iterator[tuple[str, Path]]:
    """What a newcomer types, and where."""
    clone = folder / "onnx-philox"
    yield f"git clone --quiet --depth 1 {ROOT.as_uri()} {clone}", folder
    yield f"{sys.executable} -m venv {folder / 'venv'}", folder
    commands = re.search(r"```sh\n(.*)\n", (clone / "README.md").read_text())
    assert commands is not None, "the README begins with two commands"
    for command in commands[1].split(" && "):
        yield command, clone
    yield f"onnx-philox inspect {MODEL}", clone
    yield f"onnx-philox rewrite {MODEL} -o {folder / 'new.onnx'}", clone
    yield f"onnx-philox compare {folder / 'new.onnx'} --fill --seed 42", clone


def main() -> None:
    """Times each step, and ends at the first that fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--no-cache", action="store_true", help="let pip download everything again")
    no_cache = parser.parse_args().no_cache
    table = Table("what a newcomer types", "seconds", "in all")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {
            k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")
        }
        environment |= {"PATH": found} | ({"PIP_NO_CACHE_DIR": "1"} if no_cache else {})
        total = 0.0
        for command, where in steps(folder):
            start = time.perf_counter()
            done = subprocess.run(
                command,
                shell=True,
                cwd=where,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            took = time.perf_counter() - start
            total += took
            shown = command.replace(f"{folder}{os.sep}", "").replace(ROOT.as_uri(), "...")
            table.add_row(
                escape(shown.replace(sys.executable, "python")), f"{took:.1f}", f"{total:.1f}"
            )
            if done.returncode:
                Console().print(table)
                sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
    Console().print(table)


if __name__ == "__main__":
    main()
