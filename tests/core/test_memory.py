"""Memory that a control group or a limit denies: refused in the words of the checks, everywhere."""

from __future__ import annotations

import contextlib
import itertools
import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnx_philox import PhiloxState, Pipeline, _native, graphs, split_states
from onnx_philox._contract import checks, memory
from onnx_philox._contract.types import F32
from tests.common import child
from tests.common.cases import assert_refused
from tests.core import memory_child
from tests.core.memory_child import Step, limited

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

STATS = {
    "STAT": "anon 5\nfile 900\ninactive_file 100\nactive_file 20\nslab_reclaimable 3\nslab 10",
    "STAT_1": "cache 900\ninactive_file 1\ntotal_inactive_file 100\ntotal_active_file 20",
    "UNLIMITED": "9223372036854771712",
}
# What is so; the groups of the process, a line each; files of groups, those of version 1 below
# `memory`; what is free.
CASES = """\
no groups | | | 5120000
an unlimited group | 0::/a; | /a max=max high=max current=9 | 5120000
a group | 0::/a; | /a max=3000 high=max current=900 | 2100
page cache | 0::/a; | /a max=3000 current=900 stat=STAT | 2223
more cache than used | 0::/a; | /a max=3000 current=9 stat=STAT | 3000
memory.high | 0::/a; | /a max=3000 high=1000 current=900 | 100
a group that is full | 0::/a; | /a max=3000 current=4000 | 0
a group above | 0::/a/b/c; | /a max=2000 current=500, /a/b max=max current=500, \
/a/b/c max=9000 current=100 | 1500
a container's own | 0::/; | / max=7000 current=100 | 6900
a container with the host's path | 0::/d/1; | / max=7000 current=100 | 6900
a path outside | 0::/../other; | / max=7000 current=100, /other max=7 current=1 | 6900
version 1 | 5:cpu,cpuacct:/c;4:memory:/a/b;0::/; | /memory/a/b limit=3000 usage=900 stat=STAT_1, \
/memory/a LARGE, /memory LARGE, /memory/c limit=1 usage=1 | 2220
version 1, a group above | 4:hugetlb,memory:/a/b; | /memory/a/b limit=UNLIMITED usage=900, \
/memory/a limit=3000 usage=1000 | 2000
version 1, a container | 4:memory:/d/1; | /memory limit=3000 usage=1000 | 2000
a name with a colon | 0::/a:b; | /a:b max=3000 current=900 | 2100
nonsense | ;:;0:;x::y;4:memory;0::/a | /a max=x | 5120000
""".replace("LARGE", "limit=UNLIMITED usage=1000000000000")
VERSION_1 = {"limit": "limit_in_bytes", "usage": "usage_in_bytes"}


@pytest.mark.parametrize("case", CASES.splitlines())
def test_free_memory_is_the_smallest_of_all_limits(case: str, tmp_path: Path):
    _, of_process, groups, free = (part.strip() for part in case.split("|"))
    files = dict(MACHINE)
    if of_process:
        files["proc/self/cgroup"] = of_process.replace(";", "\n")
    for group, *values in (each.split() for each in groups.split(", ") if each):
        for name, value in (each.split("=") for each in values):
            place = f"sys/fs/cgroup{group}/memory.{VERSION_1.get(name, name)}"
            files[place] = f"{STATS.get(value, value)}\n"
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found, _, held = _native.memory(str(tmp_path))
    assert (found, held) == (int(free), 700 * 1024)


def test_python_asks_the_core_or_the_machine_and_the_limits(monkeypatch: pytest.MonkeyPatch):
    free, address, held = _native.memory()
    assert 2**26 < free < 2**60
    assert address > 2**26
    assert 2**20 < held < 2**40
    for has_core, limit in itertools.product((True, False), LIMITS):
        monkeypatch.setattr(_native, "IS_THERE", has_core)
        assert 2**26 < memory.reach() < 2**60
        with limited(limit, 2**27):
            assert 2**26 < memory.reach() < 2**28
    # The core knows of control groups besides.
    monkeypatch.setattr(_native, "IS_THERE", True)
    monkeypatch.setattr(_native, "memory", lambda: (2**20, 2**30, 0))
    assert memory.reach() == 2**20


def test_a_request_of_more_rows_than_memory_holds_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "reach", lambda: 2**26)
    model = graphs.random_normal([None, 2], 0.0, 1.0, "f32", per_row=True)
    words = "must be small enough for the memory that is free: got 16777216. Take fewer"
    assert_refused(lambda: Pipeline(model).request(seed=1, rows=2**24), words)
    # Just as many bytes as there are.
    checks.check_memory("RandomUniform", [2**24], F32)
    # Children, of 24 bytes each, are held once.
    assert len(split_states(PhiloxState(1, 2), 1_500_000)) == 1_500_000


# Real limits. A child loads what it needs, limits itself, must survive and draw again afterwards.


def outcomes(
    backend: str,
    group: str,
    steps: list[Step],
) -> list[str | None]:
    """Returns what a child process says."""
    done = child.forked(memory_child.__file__, json.dumps([backend, group, steps]))
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_refuses(
    steps: list[Step],
    said: list[str | None],
) -> None:
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
    """What is too small to be asked about ends no process: the runtime refuses it in own words."""
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
    why = []
    for file in ("memory.max", "memory/memory.limit_in_bytes"):
        mount = Path("/sys/fs/cgroup", file).parent
        group = mount / f"onnx_philox_test_{uuid.uuid4().hex}"
        with contextlib.ExitStack() as stack:
            try:
                if not (mount / "cgroup.procs").exists():
                    raise OSError(f"no control groups at {mount}")
                group.mkdir()
                stack.callback(group.rmdir)
                (group / Path(file).name).write_text(str(limit))
                if (swap := group / "memory.swap.max").exists():
                    swap.write_text("0")
            except OSError as error:
                why.append(str(error))
                continue
            yield group
            return
    pytest.skip(f"no control group can be made here ({'; '.join(why)}); their files are read above")


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_control_group_denies_is_refused_and_what_a_runtime_keeps_is_not_asked_for_twice(
    backend: str,
):
    with control_group(GROUP) as group:
        # The second is less than the limit, and more than the process leaves of it.
        steps = [{"size": 2 * GIB, "constant": c} for c in kinds(backend)]
        steps += [{"size": 225 * 2**20, "constant": c} for c in kinds(backend)]
        steps[-len(kinds(backend))]["ballast"] = 75 * 2**20
        assert_refuses(steps, outcomes(backend, str(group), steps))
        if backend.endswith("native"):
            # More than half of a group: the second output is written where the first one was.
            steps = [{"size": 150 * 2**20, "constant": False}] * 2
            assert outcomes(backend, str(group), steps) == [None] * 4
