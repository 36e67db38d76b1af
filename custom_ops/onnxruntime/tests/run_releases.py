"""Runs the library's tests with releases of ONNX Runtime, each in an environment of its own.

    python run_releases.py LIBRARY --package PATH [--releases 1.19.* 1.24.* ""]
                           [--isas "" avx512 avx2 scalar]

An empty release is the newest. PATH is the source of the Python package, which is the reference;
without --package, the root of this repository. Environments are made below --environments, and
kept for the next time. Every instruction set runs with the last release, the others with the best
one only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
# The reference needs these; not the extensions that the Python operators run in.
NEEDS = ["numpy", "onnx>=1.19", "ml_dtypes", "pytest"]


def environment_for(release: str, where: Path, package: Path) -> tuple[Path, dict[str, str]]:
    folder = where / f"onnxruntime-{release.replace('*', 'x') or 'newest'}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    wanted = f"onnxruntime=={release}" if release else "onnxruntime"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--upgrade", wanted, *NEEDS], check=True
    )
    # The package's version comes from its metadata; this is enough of it, and nothing is built.
    metadata = folder / "metadata" / "onnx_philox-0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: onnx-philox\nVersion: 0\n")
    return python, {"PYTHONPATH": os.pathsep.join([str(package / "src"), str(metadata.parent)])}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library", type=Path)
    parser.add_argument("--package", type=Path, default=HERE.parents[2])
    parser.add_argument("--releases", nargs="*", default=["1.19.*", "1.24.*", ""])
    parser.add_argument("--isas", nargs="*", default=["", "avx512", "avx2", "scalar"])
    parser.add_argument("--environments", type=Path, default=None)
    arguments = parser.parse_args()
    where = arguments.environments or Path(tempfile.mkdtemp(prefix="onnxruntime-releases-"))
    failed = []
    for release in arguments.releases:
        python, variables = environment_for(release, where, arguments.package.resolve())
        isas = arguments.isas if release == arguments.releases[-1] else arguments.isas[:1]
        for isa in isas:
            version = subprocess.run(
                [python, "-c", "import onnxruntime; print(onnxruntime.__version__)"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            what = f"ONNX Runtime {version}, {isa or 'best instruction set'}"
            print(f"== {what}", flush=True)
            variables |= {"ONNX_PHILOX_ORT_LIBRARY": str(arguments.library.resolve())}
            done = subprocess.run(
                [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE)],
                check=False,
                env=os.environ | variables | ({"ONNX_PHILOX_ISA": isa} if isa else {}),
            )
            if done.returncode:
                failed.append(what)
    print("failed: " + "; ".join(failed) if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
