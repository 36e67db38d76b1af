"""Checks what each wheel holds against docs/install.md's table, and what it needs of a system.

auditwheel and delvewheel have judged the wheels for Linux and Windows: for those, only the tag is
read here. delocate, their sibling for macOS, needs macOS, so those libraries are read here.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from macholib.mach_o import LC_BUILD_VERSION
from macholib.MachO import MachO
from packaging.utils import parse_wheel_filename
from packaging.version import Version

# What is compiled for a system.
SUFFIXES = {"linux": ".so", "win": ".dll", "macosx": ".dylib"}
EVERYWHERE = {"lib/libonnx_philox_onnxruntime{suffix}"}
LINUX = EVERYWHERE | {"lib/libonnx_philox_openvino.so", "lib/onnx_philox_openvino.version"}
CONTENTS = {
    "linux": LINUX,
    "win": EVERYWHERE,
    "macosx": EVERYWHERE,
}

# Kernels for a GPU, pages and tables: a program finds each beside the module that reads it.
SOURCE = Path(__file__).parents[1] / "src/onnx_philox"
DATA = {
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*")
    if path.is_file() and path.suffix not in (".py", ".pyc", ".so")
}
assert "_experimental/openvino_gpu/kernels/layers.xml" in DATA


def check(wheel: Path, glibc: str, macos: str) -> None:
    """Prints what a wheel holds.

    Raises:
        AssertionError: It holds anything else than it should, or needs too new a system.
    """
    (_, _, _, tags) = parse_wheel_filename(wheel.name)
    platforms = " ".join(sorted({tag.platform for tag in tags}))
    found = re.search("linux|win|macosx", platforms)
    assert found, f"{wheel.name}: nothing compiled"
    system = found[0]
    assert {(tag.interpreter, tag.abi) for tag in tags} == {("py3", "none")}, wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = {name.removeprefix("onnx_philox/") for name in archive.namelist()}
        compiled = {n for n in names if re.search(r"\.(so|pyd|dll|dylib|version)\b", n)}
        expected = {part.format(suffix=SUFFIXES[system]) for part in CONTENTS[system]}
        assert compiled == expected, f"{wheel.name}: {sorted(compiled)}, not {sorted(expected)}"
        assert names >= DATA, f"{wheel.name} lacks {sorted(DATA - names)}"
        if system == "linux":
            # The tag says it several times, if that release has several names.
            tagged = re.findall(r"manylinux_(\d+)_(\d+)_", platforms)
            oldest = min(Version(".".join(numbers)) for numbers in tagged)
            assert oldest <= Version(glibc), f"{wheel.name} needs glibc {oldest}"
        if system == "macosx":
            for name in compiled:
                check_macos(archive.read(f"onnx_philox/{name}"), macos)
    print(wheel.name, *sorted(compiled), sep="\n    ")


def check_macos(library: bytes, macos: str) -> None:
    """A library needs only the system's own, of this release or an older one."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(library)
        file.flush()
        for header in MachO(file.name).headers:
            needed = [name for _, _, name in header.walkRelocatables()]
            foreign = [n for n in needed if not n.startswith(("/usr/lib/", "/System/"))]
            assert not foreign, foreign
            (oldest,) = [c.minos for kind, c, _ in header.commands if kind.cmd == LC_BUILD_VERSION]
            assert Version(f"{oldest >> 16}.{oldest >> 8 & 255}") <= Version(macos), hex(oldest)


def main() -> None:
    """Checks all wheels that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glibc", required=True, help="the newest release that a wheel may need")
    parser.add_argument("--macos", required=True, help="likewise")
    parser.add_argument("wheels", nargs="+", type=Path)
    arguments = parser.parse_args()
    for wheel in arguments.wheels:
        check(wheel, arguments.glibc, arguments.macos)
    print("They hold what they should:", *(path.name for path in arguments.wheels), file=sys.stderr)


if __name__ == "__main__":
    main()
