"""The memory that this process can still get.

The native core asks the machine, its control groups and limits (custom_ops/core/memory.cpp).
Without it this module asks the machine and the limits alone.
"""

from __future__ import annotations

import re
import sys
from types import ModuleType

from onnx_philox import _native

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None

ALWAYS_THERE = 2**26
"""For outputs of fewer bytes, asking the system is not worth the time; the core has this, too."""
_NO_LIMIT = sys.maxsize


def reach() -> int:
    """The bytes that can be allocated anew and written to without swapping."""
    if not _native.IS_THERE:
        status = _bytes_in("/proc/self/status")
        return min(
            _bytes_in("/proc/meminfo").get("MemAvailable", _NO_LIMIT),
            _left("RLIMIT_AS", status.get("VmSize", 0)),
            _left("RLIMIT_DATA", status.get("VmData", 0)),
        )
    free, address, _ = _native.memory()
    return min(free, address)


def short_of(size: int) -> int | None:
    """The bytes that there are, if they are fewer than so many."""
    if size < ALWAYS_THERE:
        return None
    there = reach()
    return there if size > there else None


def _bytes_in(path: str) -> dict[str, int]:
    """What a file's lines "key: number kB" say; nothing where there is no file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = re.findall(r"^(\w+):\s*(\d+) kB$", file.read(), re.MULTILINE)
    except OSError:
        return {}
    return {key: 1024 * int(kilobytes) for key, kilobytes in lines}


def _left(limit: str, used: int) -> int:
    """What is left of a limit of setrlimit."""
    if resource is None:
        return _NO_LIMIT
    soft: int
    soft, _ = resource.getrlimit(getattr(resource, limit))
    if soft == resource.RLIM_INFINITY:
        return _NO_LIMIT
    return max(soft - used, 0)
