"""The processes in which `onnx-philox inspect` tries nodes: copies of its own, or new ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from onnx_philox import _parts
from tests.common import child, missing_part
from tests.common.cases import table

MODEL = Path(__file__).parents[1] / "models" / "vae_decoder.onnx"
# NumPy would start others.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
STARTS = """
import os, sys
from onnx_philox._command.inspect import processes
unwanted, *folders = sys.argv[1:]
for folder in folders:
    os.chdir(folder)
    process = processes.start(["program.py", "its argument"], [unwanted])
    process.stdin.write("asked\\n")
    process.stdin.flush()
    if process.stdout.readline() == "waits\\n":
        assert process.poll() is None
        process.kill()
    print(type(process).__name__, process.stdout.read().strip(), process.wait(), process.poll())
    process.kill()
"""
READS = "import os, sys, time; asked = sys.stdin.readline()"
ENDS = table("""
print(*sys.argv, asked, file=sys.stderr) -> 0 0
print(); print(*sys.argv, asked) -> program.py its argument asked 0 0
print(); print(sorted(set(sys.modules) & {'onnxruntime', 'openvino'})) -> [] 0 0
print(); raise SystemExit(3) -> 3 3
print(); raise SystemExit('a text') -> 1 1
print(); raise ValueError -> 1 1
print(flush=True); os.abort() -> -6 -6
print('waits', flush=True); time.sleep(100) -> -9 -9
""")


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What the programs say that a copy runs, and what those say that a new process runs."""
    missing_part.needs(_parts.COMMAND_PART)
    folders = []
    for program, _ in ENDS:
        folders.append(tmp_path_factory.mktemp("program"))
        (folders[-1] / "program.py").write_text(f"{READS}; {program}")
    done = [
        child.python("-c", STARTS, unwanted, *folders, env=ONE_THREAD)
        for unwanted in ("openvino", "numpy")
    ]
    assert [each.stderr for each in done] == ["", ""]
    return [each.stdout.splitlines() for each in done]


@pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux alone")
@pytest.mark.parametrize("number", range(len(ENDS)), ids=[program for program, _ in ENDS])
def test_a_copy_runs_a_program_as_a_new_process_does(ended, number):
    of_a_copy, of_a_new_process = (lines[number].split() for lines in ended)
    _, said = ENDS[number]
    assert of_a_copy == ["_Copy", *said.split()]
    assert of_a_new_process == ["_New", *said.split()]


WAITS = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
INSPECTS = """
import os, sys
copies = []
fork = os.fork
def counted():
    copies.append(fork())
    return copies[-1]
os.fork = counted
from onnx_philox.__main__ import main
sys.argv[0] = "onnx-philox"
try:
    main()
finally:
    print(len(copies))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are of Linux alone")
def test_the_command_copies_itself_for_each_runtime_twice():
    missing_part.needs(_parts.COMMAND_PART)
    done = child.python("-c", INSPECTS, "inspect", MODEL)
    assert done.stdout.splitlines()[-1] == "4"
    done = child.python("-c", WAITS + INSPECTS, "inspect", MODEL)
    assert done.stdout.splitlines()[-1] == "0"
