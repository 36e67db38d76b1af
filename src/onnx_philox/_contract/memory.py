"""The memory that this process can still get: what the machine, control groups and limits leave.

The native core follows the same rule with the same numbers (custom_ops/core/memory.cpp), and a
test compares the two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None  # type: ignore[assignment]

ALWAYS_THERE = 2**26
"""Outputs of fewer bytes are not worth asking the system about."""
NO_LIMIT = 2**64 - 1


@dataclass(frozen=True)
class Memory:
    """Bytes of memory; `NO_LIMIT` if nothing limits them, or the system does not tell."""

    free: int = NO_LIMIT
    """What can be written to for the first time without swapping: the least of what the machine
    has available and of what each control group above the process has left, page cache that can
    go counted as free."""
    address: int = NO_LIMIT
    """What can be allocated: what RLIMIT_AS and RLIMIT_DATA leave."""
    held: int = 0
    """What the process has written to already."""

    @property
    def reach(self) -> int:
        """What can be allocated anew and written to."""
        return min(self.free, self.address)


@dataclass(frozen=True)
class _GroupFiles:
    """The files in which a version of control groups keeps a group's limit and use."""

    mount: str
    limits: Sequence[str]
    usage: str
    reclaimable: Sequence[str]
    """Keys of memory.stat."""


_VERSION_1 = _GroupFiles(
    "/sys/fs/cgroup/memory",
    ["memory.limit_in_bytes"],
    "memory.usage_in_bytes",
    ["total_inactive_file", "total_active_file"],
)
_VERSION_2 = _GroupFiles(
    "/sys/fs/cgroup",
    # Above memory.high the kernel slows a group down until it hardly moves.
    ["memory.max", "memory.high"],
    "memory.current",
    ["inactive_file", "active_file", "slab_reclaimable"],
)


def find(root: str = "") -> Memory:
    """Asks the system how much memory there is now.

    Args:
        root: The folder that the files lie below; "" except in tests.

    Returns:
        How much is free, addressable and held.
    """
    status = _read(f"{root}/proc/self/status")
    free = min(_free_in_groups(root), _free_in_machine(root))
    address = min(
        _left("RLIMIT_AS", _kilobytes(status, "VmSize")),
        _left("RLIMIT_DATA", _kilobytes(status, "VmData")),
    )
    return Memory(free, address, _kilobytes(status, "RssAnon"))


def _free_in_machine(root: str) -> int:
    available = _kilobytes(_read(f"{root}/proc/meminfo"), "MemAvailable")
    if available:
        return available
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return NO_LIMIT


def _free_in_groups(root: str) -> int:
    """What the groups in /proc/self/cgroup leave; its lines are "number:controllers:/path"."""
    free = NO_LIMIT
    for line in _read(f"{root}/proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        is_version_1 = "memory" in controllers.split(",")
        if not colon or not (is_version_1 or controllers == ""):
            continue
        files = _VERSION_1 if is_version_1 else _VERSION_2
        for folder in _upwards(path):
            free = min(free, _free_in_group(root + files.mount + folder, files))
    return free


def _upwards(path: str) -> Iterator[str]:
    """A group's path and those above it, "" last.

    A container does not have the groups of the host's path; its own group is the mounted one.
    """
    # The path lies outside the mount, so only the mounted group can be read.
    path = "" if "/.." in path or path == "/" else path
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield path


def _free_in_group(folder: str, files: _GroupFiles) -> int:
    limit = min(_number(_read(f"{folder}/{name}"), NO_LIMIT) for name in files.limits)
    if limit == NO_LIMIT:
        return NO_LIMIT
    stat = _read(f"{folder}/memory.stat")
    used = _number(_read(f"{folder}/{files.usage}"), 0)
    cache = sum(_field(stat, f"{key} ") for key in files.reclaimable)
    return max(limit - max(used - cache, 0), 0)


def _left(limit: str, used: int) -> int:
    """What is left of a limit of setrlimit."""
    if resource is None:
        return NO_LIMIT
    soft, _ = resource.getrlimit(getattr(resource, limit))
    return NO_LIMIT if soft == resource.RLIM_INFINITY else max(soft - used, 0)


def _read(path: str) -> str:
    """The text of a file; empty if there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _number(text: str, otherwise: int) -> int:
    """The number at the beginning of a text, or `otherwise`, for "max" for instance."""
    found = re.match(r"[ \t]*([0-9]+)", text)
    return min(int(found[1]), NO_LIMIT) if found else otherwise


def _field(text: str, key: str) -> int:
    """The number after `key` at the beginning of a line; 0 if there is none."""
    line = next((line for line in text.splitlines() if line.startswith(key)), "")
    return _number(line[len(key) :], 0)


def _kilobytes(text: str, key: str) -> int:
    return _field(text, f"{key}:") * 1024
