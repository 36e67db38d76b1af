"""A lesser processor than this one, where ONEDNN_MAX_CPU_ISA asks for it: see CONTRIBUTING.md.

    ONEDNN_MAX_CPU_ISA=AVX2 ONNX_PHILOX_ISA=avx2 pytest ...
    ONEDNN_MAX_CPU_ISA=SSE41 ONNX_PHILOX_ISA=scalar pytest ...
    ONEDNN_MAX_CPU_ISA=AVX512_CORE ONNX_PHILOX_ISA=avx512 pytest ...

The variable limits oneDNN alone. OpenVINO asks the processor itself which precisions it has, and
would go on in bf16 where oneDNN has none: no processor does that, and OpenVINO then crashes or
loses subnormals. So functions of ours answer it (lesser_processor.cpp), here and in each child.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")
VARIABLE = "ONEDNN_MAX_CPU_ISA"
# Those that the functions know.
LIMITS = ("SSE41", "AVX2", "AVX512_CORE")


def play() -> None:
    """Answers for the processor, if a limit is set; before OpenVINO loads its CPU plugin."""
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    if os.environ.get(VARIABLE) not in LIMITS or not is_x86 or sys.platform != "linux":
        return
    preloaded = os.environ.get("LD_PRELOAD", "")
    if SOURCE.stem in preloaded:
        # A process that pytest has started.
        return
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = f"{folder}/lib{SOURCE.stem}.so"
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, str(SOURCE)]
    subprocess.run(command, check=True)
    # The plugin, which is loaded later, finds names that are global before OpenVINO's own.
    ctypes.CDLL(library, mode=os.RTLD_GLOBAL)
    os.environ["LD_PRELOAD"] = f"{library} {preloaded}".strip()
