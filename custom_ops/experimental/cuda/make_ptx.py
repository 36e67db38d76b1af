"""Compiles kernels.cu to kernels.ptx.

    python make_ptx.py              write kernels.ptx
    python make_ptx.py --compare    write nothing; exit 1 if another one would be written
    python make_ptx.py --check      exit 1 if it was made of other sources, comments aside

All but --check need NVRTC, which is in the package nvidia-cuda-nvrtc-cu12, and neither a card nor a
driver. Its version is fixed: others write it differently, and later ones write what older drivers
refuse.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "core" / "kernels"
PTX = HERE / "kernels.ptx"
STANDARD = HERE / "standard.h"
NVRTC = "nvidia-cuda-nvrtc-cu12==12.0.140"
OPTIONS = (
    "--gpu-architecture=compute_75",
    "--std=c++17",
    "--device-as-default-execution-space",
    "--fmad=false",  # a product and a sum are two roundings
)
STANDARD_HEADERS = (
    *("cfloat", "cmath", "cstddef", "cstdint", "cstdlib", "cstring", "initializer_list"),
    *("math.h", "new", "string", "type_traits"),
)


def sources(path: Path = HERE / "kernels.cu", seen: tuple[Path, ...] = ()) -> list[Path]:
    """The files that the kernels are made of, in the order of their first inclusion."""
    found = [*seen, path]
    for name in re.findall(r'^#include "([\w./]+)"', path.read_text(), re.M):
        for folder in (path.parent, HERE, KERNELS):
            if (folder / name).exists():
                if folder / name not in found:
                    found = sources(folder / name, tuple(found))
                break
        else:
            raise FileNotFoundError(f"{path}: no {name}")
    return found


def fingerprint() -> str:
    """A hash of what the PTX depends on: the sources but for comments and spaces, the options."""
    digest = hashlib.sha256(repr((NVRTC, OPTIONS)).encode())
    for path in [STANDARD, *sources()]:
        code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", path.read_text(), flags=re.S)
        digest.update(" ".join(code.split()).encode() + b"\0")
    return digest.hexdigest()


def load_nvrtc() -> ctypes.CDLL:
    """The library, from the package."""
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for path in sorted(Path(folder).rglob("*nvrtc*")):
            if re.fullmatch(r"libnvrtc\.so\.12|nvrtc64_120_0\.dll", path.name):
                return ctypes.CDLL(str(path))
    sys.exit(f"make_ptx.py needs NVRTC: pip install {NVRTC}")


def compiled(options: tuple[str, ...] = OPTIONS) -> str:
    """What NVRTC makes of the kernels."""
    nvrtc = load_nvrtc()
    count = len(STANDARD_HEADERS)
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * count)(*[b'#include "standard.h"\n'] * count)
    names = (ctypes.c_char_p * count)(*[name.encode() for name in STANDARD_HEADERS])
    source = (HERE / "kernels.cu").read_bytes()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", count, texts, names)
    given = [*options, f"--include-path={HERE}", f"--include-path={KERNELS}"]
    array = (ctypes.c_char_p * len(given))(*[option.encode() for option in given])
    failed = nvrtc.nvrtcCompileProgram(program, len(given), array)
    log = text_of(nvrtc, "ProgramLog", program)
    if log.strip():
        print(log, file=sys.stderr)
    if failed:
        sys.exit("NVRTC refused the kernels")
    return text_of(nvrtc, "PTX", program)


def text_of(nvrtc: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> str:
    """A text that NVRTC has of a program."""
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def lines_of(ptx: str) -> Iterator[str]:
    """The lines that say something: no comments, and no variables that no kernel uses."""
    words = collections.Counter(re.findall(r"[\w$]+", ptx))
    for line in ptx.splitlines():
        code = line.split("//")[0].strip()
        variable = re.match(r"\.global (?:\.\w+ (?:\d+ )?)+([\w$]+)", code)
        if code and not (variable and words[variable[1]] == 1):
            yield code


def head() -> str:
    """What the file begins with."""
    return f"// Made by make_ptx.py; do not edit.\n// Sources: {fingerprint()}\n"


def main() -> None:
    """Compiles, or checks."""
    parser = argparse.ArgumentParser(description="Compile kernels.cu to kernels.ptx")
    parser.add_argument("--check", action="store_true", help="whether it is of these sources")
    parser.add_argument("--compare", action="store_true", help="whether NVRTC makes the same")
    options = parser.parse_args()
    if options.check:
        is_same = PTX.read_text().startswith(head())
    else:
        text = head() + "\n".join(lines_of(compiled())) + "\n"
        if not options.compare:
            PTX.write_text(text)
        is_same = PTX.read_text() == text
    if not is_same:
        sys.exit(
            "kernels.ptx is not what its sources make: "
            f"pip install {NVRTC}, and run python custom_ops/experimental/cuda/make_ptx.py"
        )


if __name__ == "__main__":
    main()
