"""Memory that a control group or a limit denies: refused in the words of the checks, everywhere.

Each case runs in a child process, which must survive it and draw again afterwards.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import memory_child
import pytest
from memory_child import Step, limited

from onnx_philox import _native
from onnx_philox._contract import memory

GIB = 2**30
# Of a control group: whatever is drawn or filled in it takes time.
GROUP = 2**28
BACKENDS = ["reference", *(f"{r}-{b}" for r in ("ort", "ov") for b in ("native", "python"))]
# Each starts a process with a limit of its own; the limit of a control group is met by all.
SOME = [
    pytest.param(name, marks=[pytest.mark.exhaustive] if name.endswith("python") else [])
    for name in BACKENDS
]
LIMITS = ["RLIMIT_AS", "RLIMIT_DATA"]


# The rule of the core: files of a machine that is made up.

MACHINE = {
    "proc/meminfo": "MemTotal: 9000000 kB\nMemFree: 10 kB\nMemAvailable:    5000 kB\n",
    "proc/self/status": "Name:\tx\nVmSize:\t  3000 kB\nVmData:\t 2000 kB\nRssAnon:\t  700 kB\n",
}
FREE = 5000 * 1024


def version_2(path: str, **files: object) -> dict[str, str]:
    return {f"sys/fs/cgroup{path}/{n.replace('_', '.', 1)}": f"{v}\n" for n, v in files.items()}


def version_1(path: str, limit: int, usage: int, stat: str = "") -> dict[str, str]:
    folder = f"sys/fs/cgroup/memory{path}"
    return {
        f"{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"{folder}/memory.usage_in_bytes": f"{usage}\n",
        f"{folder}/memory.stat": stat,
    }


def groups(text: str) -> dict[str, str]:
    return {"proc/self/cgroup": text}


STAT = "anon 5\nfile 900\ninactive_file 100\nactive_file 20\nslab_reclaimable 3\nslab 10\n"
STAT_1 = "cache 900\ninactive_file 1\ntotal_inactive_file 100\ntotal_active_file 20\n"
UNLIMITED_1 = 9223372036854771712
CASES: dict[str, tuple[dict[str, str], int]] = {
    "no groups": ({}, FREE),
    "an unlimited group": (
        groups("0::/a\n") | version_2("/a", memory_max="max", memory_high="max", memory_current=9),
        FREE,
    ),
    "a group": (
        groups("0::/a\n") | version_2("/a", memory_max=3000, memory_high="max", memory_current=900),
        2100,
    ),
    "page cache": (
        groups("0::/a\n") | version_2("/a", memory_max=3000, memory_current=900, memory_stat=STAT),
        3000 - (900 - 123),
    ),
    "more page cache than is used": (
        groups("0::/a\n") | version_2("/a", memory_max=3000, memory_current=9, memory_stat=STAT),
        3000,
    ),
    "memory.high": (
        groups("0::/a\n") | version_2("/a", memory_max=3000, memory_high=1000, memory_current=900),
        100,
    ),
    "a group that is full": (
        groups("0::/a\n") | version_2("/a", memory_max=3000, memory_current=4000),
        0,
    ),
    "a group above": (
        groups("0::/a/b/c\n")
        | version_2("/a", memory_max=2000, memory_current=500)
        | version_2("/a/b", memory_max="max", memory_current=500)
        | version_2("/a/b/c", memory_max=9000, memory_current=100),
        1500,
    ),
    "a container's own": (
        groups("0::/\n") | version_2("", memory_max=7000, memory_current=100),
        6900,
    ),
    "a container with the host's path": (
        groups("0::/docker/123\n") | version_2("", memory_max=7000, memory_current=100),
        6900,
    ),
    "a path outside": (
        groups("0::/../other\n")
        | version_2("", memory_max=7000, memory_current=100)
        | version_2("/other", memory_max=7, memory_current=1),
        6900,
    ),
    "version 1": (
        groups("5:cpu,cpuacct:/c\n4:memory:/a/b\n0::/\n")
        | version_1("/a/b", 3000, 900, STAT_1)
        | version_1("/a", UNLIMITED_1, 10**12)
        | version_1("", UNLIMITED_1, 10**12)
        | version_1("/c", 1, 1),
        3000 - (900 - 120),
    ),
    "version 1, a group above": (
        groups("4:hugetlb,memory:/a/b\n")
        | version_1("/a/b", UNLIMITED_1, 900)
        | version_1("/a", 3000, 1000),
        2000,
    ),
    "version 1 in a container": (
        groups("4:memory:/docker/123\n") | version_1("", 3000, 1000),
        2000,
    ),
    "a name with a colon": (
        groups("0::/a:b\n") | version_2("/a:b", memory_max=3000, memory_current=900),
        2100,
    ),
    "nonsense": (groups("\n:\n0:\nx::y\n4:memory\n0::/a") | version_2("/a", memory_max="x"), FREE),
}


@pytest.mark.parametrize("case", CASES)
def test_the_least_of_all_limits_is_free(case: str, tmp_path: Path):
    files, free = CASES[case]
    for name, text in (MACHINE | files).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found, _, held = _native.memory(str(tmp_path))
    assert (found, held) == (free, 700 * 1024)


def test_this_machine_tells_its_memory():
    free, address, held = _native.memory()
    assert 2**26 < free < 2**60
    assert address > 2**26
    assert 2**20 < held < 2**40


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("has_core", [True, False])
def test_python_asks_the_core_or_the_machine_and_the_limits(
    limit: str, *, has_core: bool, monkeypatch: pytest.MonkeyPatch
):
    if not has_core:
        monkeypatch.setattr(_native, "IS_THERE", False)
    assert 2**26 < memory.reach() < 2**60
    with limited(limit, 2**27):
        assert 2**26 < memory.reach() < 2**28


# Real limits. The child loads what it needs, then limits itself and draws.


def outcomes(backend: str, group: str, steps: list[Step]) -> list[str | None]:
    """Returns what a child process says. It must survive all steps."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            memory_child.__file__,
            json.dumps([backend, group, steps]),
        ],
        capture_output=True,
        text=True,
        check=False,
        # A thread's stack and arena are address space too.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-3000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_refuses(steps: list[Step], said: list[str | None]) -> None:
    """Each step is refused in the words of the checks, and a small draw after it is drawn."""
    assert len(said) == 2 * len(steps)
    for step, error, small in zip(steps, said[::2], said[1::2], strict=True):
        size = step["size"]
        assert error is not None, (step, "drawn all the same")
        must = "RandomUniform: input 'shape' must be small enough for the "
        assert must in error, (step, error)
        assert f": got [{size // 4}], {size:,} bytes of f32" in error, (step, error)
        assert "memory" in error, (step, error)
        assert "Draw it in parts, from state to next_state." in error, (step, error)
        assert small is None, (step, small)


def kinds(backend: str) -> list[bool]:
    """Whether the length is a constant of the model: refused when it is loaded, or at run."""
    return [False] if backend == "reference" else [False, True]


@pytest.mark.parametrize("backend", SOME)
def test_what_a_limit_of_the_process_denies_is_refused(backend: str):
    """What is too small to be asked about ends no process, where a runtime's own allocations fail.

    They do so in its own words.
    """
    step = {"room": GIB, "size": 2 * GIB}
    steps = [step | {"limit": n, "constant": c} for n in LIMITS for c in kinds(backend)]
    small = [
        {"limit": "RLIMIT_AS", "room": 10 * 2**20, "size": size, "constant": constant}
        for size in (60_000_000, 20_000_000, 9_000_000)
        for constant in kinds(backend)
    ]
    said = outcomes(backend, "", [*steps, *small])
    assert_refuses(steps, said[: 2 * len(steps)])
    for error in said[2 * len(steps) :: 2]:
        assert error is None or any(w in error for w in ("memory", "alloc", "Memory")), error


@contextlib.contextmanager
def control_group(limit: int) -> Iterator[Path]:
    """A new control group with a limit of memory, of whichever version can be made here."""
    name = f"onnx_philox_test_{uuid.uuid4().hex}"
    why = []
    for mount, file in (
        ("/sys/fs/cgroup", "memory.max"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ):
        group = Path(mount, name)
        try:
            if not Path(mount, "cgroup.procs").exists():
                raise OSError(f"no control groups at {mount}")
            group.mkdir()
        except OSError as error:
            why.append(str(error))
            continue
        try:
            (group / file).write_text(str(limit))
            swap = group / "memory.swap.max"
            if swap.exists():
                swap.write_text("0")
        except OSError as error:
            group.rmdir()
            why.append(str(error))
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip(f"no control group can be made here ({'; '.join(why)}); their files are read above")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_control_group_denies_is_refused(backend: str):
    with control_group(GROUP) as group:
        # The second is less than the limit, and more than the process leaves of it.
        steps = [{"size": 2 * GIB, "constant": c} for c in kinds(backend)]
        steps += [{"size": 225 * 2**20, "constant": c} for c in kinds(backend)]
        steps[-len(kinds(backend))]["ballast"] = 75 * 2**20
        assert_refuses(steps, outcomes(backend, str(group), steps))


@pytest.mark.parametrize("backend", ["ort-native", "ov-native"])
def test_memory_that_a_runtime_keeps_is_not_asked_for_twice(backend: str):
    """More than half of a group: the second output is written where the first one was."""
    with control_group(GROUP) as group:
        steps = [{"size": 150 * 2**20, "constant": False}] * 2
        assert outcomes(backend, str(group), steps) == [None] * 4
