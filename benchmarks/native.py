"""Speed and memory of the native libraries, each figure beside its target.

    python benchmarks/native.py [PART] [--pairs N] [--json FILE] [--markdown FILE]

A ratio is the peer's time divided by ours (so 2 is twice as fast), the median over alternating
pairs of one run; "best" divides the shortest of each instead, which other load disturbs least. Run
it on an idle machine of at least two cores. The generators it compares with are in the extra
`bench`; one that is missing is named in the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# MKL reads it when it is loaded; its generators use one thread anyway.
os.environ.setdefault("MKL_NUM_THREADS", "1")

from paired import Row, markdown_table, rich_table
from rich.console import Console

from onnx_philox import _native

PACKAGES = ("onnx-philox", "numpy", "onnxruntime", "openvino", "randomgen", "mkl_random", "mkl")
PARTS = (
    "openvino",
    "onnxruntime",
    "distributions",
    "rows",
    "bits",
    "isa",
    "types",
    "numpy",
    "small",
    "memory",
)
HIDDEN_PARTS = ("forced-isa",)


def rows_of(part: str, pairs: int) -> list[Row]:
    # Imported late: MKL and the runtimes bring thread pools of their own.
    if part in ("types", "numpy", "small"):
        import native_arrays as module
    elif part == "memory":
        import native_memory as module
    elif part == "distributions":
        import native_distributions as module
    elif part == "rows":
        import native_rows as module
    else:
        import native_runtimes as module
    return list(getattr(module, f"{part.replace('-', '_')}_part")(pairs))


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def processor() -> str:
    """As `lscpu` names it."""
    try:
        text = subprocess.run(
            ["lscpu"], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    name, family, model, cores = (
        fields.get(key, "?").strip() for key in ("Model name", "CPU family", "Model", "CPU(s)")
    )
    return f"{name}, family {family}, model {model}, {cores} cores"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", default="all", choices=[*PARTS, "all", *HIDDEN_PARTS])
    parser.add_argument("--pairs", type=int, default=31, help="at least 15; default 31")
    parser.add_argument("--json", type=Path, help="every figure, every pair")
    parser.add_argument("--markdown", type=Path, help="the tables as README.md has them")
    arguments = parser.parse_args()
    if not _native.IS_THERE:
        sys.exit("onnx_philox was installed without its native libraries: there is nothing to time")
    start = time.perf_counter()
    report = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": processor(),
        "isa": _native.isa(),
        "versions": versions(),
        "pairs": arguments.pairs,
        "load": {},
        "rows": [],
    }
    # Wide enough where the output is no terminal.
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(f"{report['date']}; {report['processor']}; {report['isa']}")
    console.print(", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    texts = []
    for part in PARTS if arguments.part == "all" else [arguments.part]:
        before = os.getloadavg()[0]
        rows = rows_of(part, arguments.pairs)
        after = os.getloadavg()[0]
        report["load"][part] = [before, after]
        console.print(rich_table(f"{part} (load {before:.1f} to {after:.1f})", rows))
        report["rows"] += [row.to_json() for row in rows]
        texts.append(f"### {part}\n\n{markdown_table(rows)}\n")
    report["seconds"] = round(time.perf_counter() - start)
    console.print(f"{arguments.pairs} pairs each, {report['seconds']} s in all")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report, indent=1))
    if arguments.markdown is not None:
        arguments.markdown.write_text("\n".join(texts))


if __name__ == "__main__":
    main()
