"""Runs the library's tests with releases of ONNX Runtime, each in an environment of its own.

    python run_releases.py LIBRARY --package PATH [--releases 1.19.* 1.24.* ""]
                           [--isas avx512 avx2 neon scalar]

An empty release is the newest. PATH is the source of the Python package, which is the reference;
without --package, the root of this repository. Environments are made below --environments, and
kept for the next time. Every release runs with the instruction set that the library takes by
itself, the last one also with each of the others forced that this processor has. The last lines
name those that it lacks.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
# The package needs these; not the extensions that the Python operators run in.
NEEDS = ["numpy", "onnx>=1.19", "onnx-ir", "ml_dtypes", "pytest"]
ROOT = HERE.parents[2]
TESTS = ROOT / "tests" / "in_onnxruntime"
# The library in ONNX Runtime's own session, and the package's tests that it passes as a backend.
RUNS = (
    [str(HERE)],
    [
        *("--noconftest", "-p", "library_alone", "-k", "native"),
        *(str(TESTS / f"test_onnxruntime{what}.py") for what in ("", "_distributions")),
    ],
)

# All that a build for some processor can have.
ISAS = ["avx512", "avx2", "neon", "scalar"]


def environment_for(
    release: str, where: Path, package: Path, library: Path
) -> tuple[Path, dict[str, str]]:
    folder = where / f"onnxruntime-{release.replace('*', 'x') or 'newest'}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    wanted = f"onnxruntime=={release}" if release else "onnxruntime"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--upgrade", wanted, *NEEDS], check=True
    )
    # The package as it is installed: its sources, with the library in its folder.
    installed = folder / "package" / "onnx_philox"
    shutil.rmtree(installed, ignore_errors=True)
    (installed / "lib").mkdir(parents=True)
    for source in (package / "src" / "onnx_philox").iterdir():
        (installed / source.name).symlink_to(source)
    (installed / "lib" / library.name).symlink_to(library)
    # The package's version comes from its metadata; this is enough of it, and nothing is built.
    metadata = folder / "metadata" / "onnx_philox-0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: onnx-philox\nVersion: 0\n")
    folders = (installed.parent, metadata.parent, ROOT, HERE)
    return python, {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def available_isas(library: Path) -> list[str]:
    """The instruction sets that the library can take here, as it says itself, best first.

    Raises:
        ValueError: It says nothing of them, or has one that is not in ISAS.
    """
    try:
        named = ctypes.CDLL(str(library)).onnx_philox_isa_here
    except (OSError, AttributeError) as error:
        raise ValueError(f"{library} lists no instruction sets: {error}") from error
    named.restype, named.argtypes = ctypes.c_char_p, (ctypes.c_size_t,)
    indices = itertools.count()
    isas = [name.decode() for name in iter(lambda: named(next(indices)), None)]
    if unknown := [isa for isa in isas if isa not in ISAS]:
        raise ValueError(f"{library} has {', '.join(unknown)}: add it to ISAS of {__file__}")
    return isas


def failure(
    what: str, python: Path, tests: list[str], environment: Mapping[str, str]
) -> str | None:
    """Runs tests, and prints what they said under a heading; the heading, if they fail."""
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        check=False,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(f"== {what}\n{done.stdout}", end="", flush=True)
    return what if done.returncode else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library", type=Path)
    parser.add_argument("--package", type=Path, default=HERE.parents[2])
    parser.add_argument("--releases", nargs="+", default=["1.19.*", "1.24.*", ""])
    parser.add_argument("--isas", nargs="*", choices=ISAS, default=ISAS)
    parser.add_argument("--environments", type=Path, default=None)
    arguments = parser.parse_args()
    library = arguments.library.resolve()
    where = arguments.environments or Path(tempfile.mkdtemp(prefix="onnxruntime-releases-"))
    lacking: list[str] = []
    runs: list[Future[str | None]] = []
    # Each run keeps one processor busy. The next environment is made meanwhile.
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for release in arguments.releases:
            package = arguments.package.resolve()
            python, variables = environment_for(release, where, package, library)
            variables |= {"ONNX_PHILOX_ORT_LIBRARY": str(library)}
            version = subprocess.run(
                [python, "-c", "import onnxruntime; print(onnxruntime.__version__)"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            available = available_isas(library)
            lacking = [isa for isa in arguments.isas if isa not in available]
            # An empty one leaves the choice to the library.
            isas = [""]
            if release == arguments.releases[-1]:
                # By itself, it takes the first.
                isas += [isa for isa in arguments.isas if isa in available[1:]]
            for isa in isas:
                chosen = isa or f"the best instruction set, {available[0]}"
                what = f"ONNX Runtime {version}, {chosen}"
                environment = os.environ | variables | {"ONNX_PHILOX_ISA": isa}
                for tests in RUNS:
                    runs.append(threads.submit(failure, what, python, tests, environment))
    failed = [run.result() for run in runs if run.result() is not None]
    if lacking:
        print(f"not tested, as this processor or build lacks them: {', '.join(lacking)}")
    print("failed: " + "; ".join(map(str, dict.fromkeys(failed))) if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
