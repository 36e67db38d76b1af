#!/usr/bin/env bash
# OpenVINO: once two Cores are gone, the thread's alternate signal stack is one that was unmapped.
#
# Expected: Core objects come and go without a trace. When all of them are gone, the thread has the alternate stack for signals
# (sigaltstack) that it had before: here none.
# So it is: each Core that has used the device CPU sets a stack of its own, and remembers the one before it. Where the last
# one made goes first, all is as before. Where the first one made goes first, the other gives the thread back what it
# remembers: the stack of the first, whose memory is no longer mapped. Programs whose handlers of signals ask for the
# alternate stack (SA_ONSTACK, as all of CPython's do) have none that can be used from then on.
# So keep one Core for as long as the process lives, or let them go in the reverse order.
#
# Versions: openvino 2026.4.1 (CPU, Linux x86-64, no AMX), numpy 2.4.6, Python 3.11.
# 29 November 2026. Source: met while tests of interrupted programs ran in a process after tests of OpenVINO; this script.
# Output seen:
#   at first: no stack
#   two Cores made, the last one gone first: no stack
#   two Cores made, the first one gone first: a stack that is not mapped
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ctypes
import gc
import sys
from pathlib import Path

import openvino as ov

LIBC = ctypes.CDLL(None)
SS_DISABLE = 2


class SignalStack(ctypes.Structure):
    """The structure stack_t of <signal.h>."""

    _fields_ = [
        ("start", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    ]


def stack_in_words():
    """What alternate stack this thread has; it is only asked for."""
    stack = SignalStack()
    assert LIBC.sigaltstack(None, ctypes.byref(stack)) == 0
    if stack.flags & SS_DISABLE:
        return "no stack"
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if start <= stack.start < end:
            return "a stack that is mapped"
    return "a stack that is not mapped"


def used_core():
    """A Core that has loaded the plugin of the CPU."""
    core = ov.Core()
    core.get_property("CPU", "FULL_DEVICE_NAME")
    return core


def after_two(first_to_go):
    """What is left of two Cores, of which one goes first."""
    cores = [used_core(), used_core()]
    del cores[first_to_go]
    gc.collect()
    cores.clear()
    gc.collect()
    return stack_in_words()


seen = [
    f"at first: {stack_in_words()}",
    f"two Cores made, the last one gone first: {after_two(1)}",
    f"two Cores made, the first one gone first: {after_two(0)}",
]
print("\n".join(seen))
expected = [
    "at first: no stack",
    "two Cores made, the last one gone first: no stack",
    "two Cores made, the first one gone first: a stack that is not mapped",
]
sys.exit(seen != expected)
PYTHON
