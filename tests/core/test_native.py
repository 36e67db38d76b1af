"""The native libraries: where they are, on every instruction set, and filling NumPy arrays."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime as ort
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, _native, generate, graphs, reference, row_states
from onnx_philox.onnxruntime import InferenceSession
from tests.common import child
from tests.common.cases import DTYPES, assert_refused, assert_same_bits
from tests.common.runtimes import infer

pytestmark = pytest.mark.installed
RELEASES = Path(__file__).parents[2] / "custom_ops/onnxruntime/tests/run_releases.py"
TORCH = onnx_philox.TorchState.from_seed(1)
STATE = PhiloxState(2**64 - 3, 2**63 + 12345)
MODEL = graphs.random_generator([3])
FEED = {"state": STATE.to_array()}
BITS = reference.random_generator(STATE.to_array(), [3])[0]


def test_the_libraries_are_where_other_languages_find_them() -> None:
    for path in (onnx_philox.onnxruntime.library_path(), onnx_philox.openvino.library_path()):
        assert Path(path).is_file()
    core = ov.Core()
    core.add_extension(onnx_philox.openvino.library_path())
    compiled = core.compile_model(core.read_model(MODEL.SerializeToString()), "CPU")
    assert_same_bits(infer(compiled, FEED)[0], BITS)


def test_options_are_registered_by_us_or_by_hand_and_shared() -> None:
    by_hand = ort.SessionOptions()
    registered = ort.SessionOptions()
    by_hand.register_custom_ops_library(onnx_philox.onnxruntime.library_path())
    for _ in range(2):
        assert onnx_philox.onnxruntime.register(registered) is registered
    theirs = ort.InferenceSession(MODEL.SerializeToString(), registered)
    assert_same_bits(theirs.run(None, FEED)[0], BITS)
    for options in (registered, by_hand, ort.SessionOptions()):
        for backend in ("native", "python", "native", "python"):
            session = InferenceSession(MODEL, options, backend=backend)
            assert_same_bits(session.run(None, FEED)[0], BITS)
    with pytest.raises(TypeError, match=r"sess_options must be onnxruntime\.Session.*: got None"):
        onnx_philox.onnxruntime.register(None)


def test_a_model_in_onnxruntime_s_own_format_is_run(tmp_path: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    InferenceSession(MODEL, options, backend="native")
    for given in (None, ort.SessionOptions()):
        session = InferenceSession(tmp_path / "model.ort", given)
        assert_same_bits(session.run(None, FEED)[0], BITS)


def test_a_version_that_the_extension_was_not_built_for_is_refused_and_auto_falls_back(
    tmp_path: Path,
) -> None:
    # A copy of the package with another version written beside its library.
    program = """
import shutil, sys, pathlib, importlib.util
package = pathlib.Path(importlib.util.find_spec("onnx_philox").origin).parent
copy = pathlib.Path(sys.argv[1]) / "onnx_philox"
shutil.copytree(package, copy)
(copy / "lib" / "onnx_philox_openvino.version").write_text("2019.1.0")
sys.path.insert(0, sys.argv[1])
import onnx_philox, openvino
assert pathlib.Path(onnx_philox.__file__).parent == copy
try:
    onnx_philox.openvino.register(openvino.Core(), backend="native")
except ImportError as error:
    print(error)
core = onnx_philox.openvino.register(openvino.Core())
model = onnx_philox.graphs.random_uniform([1], 50, 100, "i32", global_seed=80, op_seed=100)
print(core.compile_model(core.read_model(model.SerializeToString()), "CPU")()[0])
"""
    done = child.python("-c", program, str(tmp_path))
    refusal, values = done.stdout.splitlines()
    assert "built for OpenVINO 2019.1.0, and this is OpenVINO 20" in refusal
    assert "pip install openvino==2019.1.0" in refusal
    assert values == "[65]"


# Every instruction set, in a process of its own: the choice is made once in a process.

PEERS = """
import sys
from onnx_philox import _native
print(_native.isa())  # before the runtimes are loaded
import numpy as np, onnx_philox
from tests.common.cases import EDGE_COUNTERS, TYPE_BOUNDS
from onnx_philox import PhiloxState, generate, graphs, reference
from tests.common.runtimes import OpenVino, joined
draws, wanted = [], []
for output_type, low, high in TYPE_BOUNDS:
    state = PhiloxState(EDGE_COUNTERS[len(output_type)], 2**64 - 3).to_array()
    for shape in ([1], [3, 7], [1037]):
        expected, after = reference.random_uniform(shape, low, high, output_type, state=state)
        drawn = np.empty(shape, expected.dtype)
        generate(state, out=drawn, minval=low, maxval=high)
        assert drawn.tobytes() == expected.tobytes(), (output_type, low, high, shape)
    model = graphs.random_uniform(shape, low, high, output_type, stateful=True)
    draws.append((model, {"state": state}))
    wanted += [expected, after]
# The runtimes call the same core.
whole, feeds = joined(draws)
session = onnx_philox.onnxruntime.InferenceSession(whole, backend="native")
for drawn in (session.run(None, feeds), OpenVino("native")(whole, feeds)):
    for values, expected, of in zip(drawn, wanted, np.repeat(range(len(draws)), 2), strict=True):
        assert values.tobytes() == expected.tobytes(), TYPE_BOUNDS[of]
"""


def run_with_isa(isa: str, program: str) -> subprocess.CompletedProcess[str]:
    return child.forked(program, code=None, env={"ONNX_PHILOX_ISA": isa})


@pytest.mark.parametrize("isa", ["scalar", "avx2", "avx512", "neon"])
def test_every_instruction_set_gives_the_same_bits_in_both_runtimes(isa: str) -> None:
    done = run_with_isa(isa, PEERS)
    here = _native.instruction_sets()
    if isa in here:
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [isa], "another instruction set ran"
        return
    said = f"one of {', '.join(here)} (what this build has and this processor supports)"
    assert f"ONNX_PHILOX_ISA must be {said}: got '{isa}'. Set it to one of these" in done.stderr


def test_the_processor_s_best_instruction_set_is_taken_and_named_first() -> None:
    flags = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    named = _native.instruction_sets()
    best = run_with_isa("", "from onnx_philox import _native; print(_native.isa())")
    assert best.stdout.split() == [named[0]]
    assert named[-1] == "scalar"
    for flag, isa in (("avx512dq", "avx512"), (" avx2 ", "avx2")):
        if flag in flags:
            assert named[0] == isa
            break


@pytest.mark.parametrize("isa", ["sse9", "AVX2 ", "\x1b[31m"])
def test_an_instruction_set_that_does_not_exist_is_an_error_in_every_place(isa: str) -> None:
    program = """
import numpy as np, openvino as ov, onnx_philox
from onnx_philox import PhiloxState, generate, graphs
state = PhiloxState(1, 2).to_array()
model = graphs.random_generator([5])
def by_core():
    generate(state, out=np.empty(5, np.uint32))
def by_onnxruntime():
    onnx_philox.onnxruntime.InferenceSession(model, backend="native").run(None, {"state": state})
def by_openvino():
    core = onnx_philox.openvino.register(ov.Core(), backend="native")
    core.compile_model(core.read_model(model.SerializeToString()), "CPU")({"state": state})
for place in (by_core, by_onnxruntime, by_openvino):
    try:
        place()
    except Exception as error:
        assert "ONNX_PHILOX_ISA" in str(error) and "scalar" in str(error), error
        assert "\\x1b" not in str(error), error
        print("refused")
"""
    done = run_with_isa(isa, program)
    assert done.stdout.split() == ["refused"] * 3, done.stderr


@pytest.mark.parametrize("given", [{"scale": 0.5}, {"mean": -1.5}, {}], ids=str)
@pytest.mark.parametrize("output_type", ["f16", "bf16", "f32", "f64"])
def test_generate_fills_bits_unit_floats_and_normals_by_default(
    output_type: str, given: dict[str, float]
) -> None:
    state = STATE.to_array()
    out = np.empty((7, 3), DTYPES[output_type])
    expected, after = reference.random_uniform([7, 3], 0, 1, output_type, state=state)
    if given:
        moments = {"mean": 0, "scale": 1, **given}
        expected, after = reference.random_normal(
            [7, 3], **moments, output_type=output_type, state=state
        )
    assert generate(STATE, out=out, **given) == PhiloxState.from_array(after)
    assert_same_bits(out, expected)
    bits = np.empty((3, 5), np.uint32)
    assert generate(state, out=bits) == STATE.advance(15)
    assert_same_bits(bits, reference.random_generator(state, [3, 5])[0])
    last = PhiloxState(2**128 - 1, 5)
    assert generate(last, out=bits) == last.advance(15)


@pytest.mark.parametrize("given", [{}, {"operator": "RandomGamma", "alpha": 2.5}], ids=str)
def test_generate_repeats_the_same_arguments_in_fewer_than_12_calls(given: dict[str, Any]) -> None:
    out = np.empty(4, np.float32)
    calls = []
    generate(STATE, out=out, **given)
    sys.setprofile(lambda _frame, event, _what: calls.append(event))
    try:
        generate(STATE, out=out, **given)
    finally:
        sys.setprofile(None)
    assert 2 < calls.count("call") < 12


def test_generate_tells_numbers_apart_that_are_equal() -> None:
    """It keeps what it has looked at for the next call: 0.0 is no -0.0, and 4 no 4.0 or True."""
    zeros = [np.empty(9, np.float32) for _ in range(3)]
    for out, mean in zip(zeros, (0.0, -0.0, 0), strict=True):
        generate(STATE, out=out, mean=mean, scale=-0.0)
        moments = (np.float32(mean), np.float32(-0.0))
        expected, _ = reference.random_normal([9], *moments, "f32", state=STATE.to_array())
        assert_same_bits(out, expected)
    assert np.signbit(zeros[1]).any()
    assert not np.signbit(zeros[0]).any()
    integers = np.empty(9, np.int32)
    for _ in range(2):
        generate(STATE, out=integers, minval=0, maxval=1)
        for one in (1.0, np.float32(1)):
            with pytest.raises(TypeError, match="must be an integer"):
                generate(STATE, out=integers, minval=0, maxval=one)


@pytest.mark.parametrize("offset", range(9))
def test_generate_writes_the_array_and_nothing_beside_it(offset: int) -> None:
    for length in (0, 1, 5, 63, 64, 65, 1000, 4099):
        memory = np.full(length + 64, 0xCACACACA, np.uint32)
        generate(STATE, out=memory[offset : offset + length])
        expected, _ = reference.random_generator(STATE.to_array(), [length])
        assert_same_bits(memory[offset : offset + length].copy(), expected)
        assert (memory[:offset] == 0xCACACACA).all()
        assert (memory[offset + length :] == 0xCACACACA).all()


def test_generate_fills_the_memory_of_array_subclasses_unless_it_is_read_only() -> None:
    expected, _ = reference.random_generator(STATE.to_array(), [2, 2])
    out = np.ma.masked_array(np.zeros((2, 2), np.uint32), [[0, 1], [0, 0]])
    for each in (out, np.empty((2, 2), np.uint32)):
        generate(STATE, out=each)
        assert_same_bits(np.asarray(each), expected)
        each.flags.writeable = False
        with pytest.raises(ValueError, match="C-contiguous and writable memory: got read-only"):
            generate(STATE, out=each)


@pytest.mark.parametrize("given", [{}, {"operator": "RandomGenerator"}, {"rows": True}])
def test_generate_refuses_to_write_under_a_hard_mask(given: dict[str, Any]) -> None:
    mask = [[False, True], [False, False]]
    out = np.ma.MaskedArray(np.zeros((2, 2), np.uint32), mask, hard_mask=True)
    state: Any = row_states([1, 2]) if given.pop("rows", False) else STATE
    said = (
        "generate: out must be memory that may be written in whole: got values under a hard mask. "
        "Pass its .data, or call its soften_mask() first."
    )
    with pytest.raises(ValueError, match=re.escape(said)):
        generate(state, out=out, **given)
    assert not out.data.any()
    out.soften_mask()
    generate(state, out=out, **given)
    assert out.data.any()


def test_the_core_takes_no_memory_that_is_not_contiguous_and_writable() -> None:
    read_only = np.zeros(4, np.uint32)
    read_only.flags.writeable = False
    inputs = [("shape", "i64", np.array([4])), ("state", "u32", STATE.to_array())]
    for out in (np.zeros(8, np.uint32)[::2], read_only):
        with pytest.raises(ValueError, match="contiguous, writable memory"):
            _native.run("RandomGenerator", inputs, {}, [out])
        assert not out.any()
    with pytest.raises(ValueError, match="output 'bits' must be 16 bytes: got 12 bytes"):
        _native.run("RandomGenerator", inputs, {}, [np.zeros(3, np.uint32)])


def test_a_library_that_does_not_open_is_said_and_numpy_draws(tmp_path: Path) -> None:
    shutil.copytree(Path(onnx_philox.__file__).parent, tmp_path / "onnx_philox")
    (library,) = tmp_path.glob("onnx_philox/lib/libonnx_philox_onnxruntime.*")
    library.write_bytes(b"of another machine")
    program = """
import numpy as np, onnx_philox
out = np.empty(3, np.float32)
print(onnx_philox.generate(onnx_philox.PhiloxState(0, key=42), out=out), out)
"""
    done = child.python("-c", program, env={"PYTHONPATH": str(tmp_path)})
    assert done.stderr.startswith("onnx_philox: no native core: ")
    out = np.empty(3, np.float32)
    expected = f"{generate(PhiloxState(0, key=42), out=out)} {out}\n"
    assert done.stdout == expected


def test_threads_fill_parts_of_one_array() -> None:
    whole = np.empty(2**20 + 3, np.float32)
    generate(STATE, out=whole)
    parts = np.empty_like(whole)
    step = 2**16

    def fill_from(start: int) -> None:
        out = parts[start : start + step]
        generate(STATE.advance(start), out=out)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fill_from, range(0, len(parts), step)))
    assert_same_bits(parts, whole)


def fill(out: Any, **arguments: Any) -> None:
    """What `generate` fills: an array, or a new one of a type."""
    generate(
        STATE,
        out=np.empty(4, out) if isinstance(out, str) else out,
        **arguments,
    )


REFUSED = [
    (
        lambda: fill(np.empty((4, 4), np.uint32).T[:2]),
        "got memory that is not contiguous",
    ),
    (
        lambda: fill("uint32", minval=0),
        "the arguments for an array of uint32 must be none: got minval",
    ),
    (lambda: fill("int32"), "the arguments for integers must be minval and maxval: got none"),
    (
        lambda: fill("int32", mean=2),
        "the arguments for an array of int32 must be minval and maxval: got",
    ),
    (
        lambda: fill("int64", minval=3, maxval=3),
        "less than maxval: got 3 with maxval 3",
    ),
    (
        lambda: fill("float32", maxval=np.nan),
        "a finite number",
    ),
    (
        lambda: fill("float32", minval=2),
        "must be at most maxval: got 2.0 with maxval 1.0",
    ),
    (
        lambda: fill("float32", minval=0, scale=2),
        "must be minval and maxval or mean and scale: got minval and scale",
    ),
    (
        lambda: fill("float32", p=0.5),
        "must be minval and maxval or mean and scale: got p",
    ),
    (
        lambda: fill("float32", scale=np.inf),
        "Pass a finite scale",
    ),
    (lambda: fill("bool"), "p must be a probability, for bool: got nothing"),
    (
        lambda: fill("bool", p=2),
        "'p' must be from 0 to 1, or at most 4 ulp above 1: got 2.0",
    ),
    (
        lambda: fill("bool", p=np.zeros((2, 2))),
        "the output's shape [4]",
    ),
    (
        lambda: fill("float32", alpha=2.0),
        "got alpha. Leave it out, or pass operator",
    ),
    (
        lambda: fill("float32", operator="RandomGama"),
        "got 'RandomGama'. Did you mean 'RandomGamma'?",
    ),
    (
        lambda: fill("float32", operator="RandomDropout", data=np.zeros(4), ratio=0.5),
        "RandomDropout: the memory of output 'output' must be [4] of float64: got [4] of",
    ),
    (
        lambda: fill("float64", operator="RandomDropout", data=1.0, ratio=0.5),
        "must be [] of float64: got [4]",
    ),
    (lambda: fill("int8"), "TypeError: generate: out must be an array of one of uint32,"),
    (
        lambda: fill([1, 2]),
        "TypeError: out must be an array of one of uint32, int32, int64, float16, bfloat16, "
        "float32, float64, bool: got list",
    ),
    (
        lambda: fill("float16", mean=np.float32([1])),
        "TypeError: 'mean' must be f16: got f32",
    ),
    (
        lambda: fill("bool", p=np.int32(1)),
        "TypeError: 'p' must be f32 or f64: got i32",
    ),
    (
        lambda: fill("float32", operator="RandomGamma", alpha=2.0, op_seed=1),
        "TypeError: the arguments for RandomGamma must be alpha: got op_seed",
    ),
    (
        lambda: fill("float32", operator="RandomGamma"),
        "TypeError: RandomGamma: input 'alpha' must be a number",
    ),
    (
        lambda: fill("float32", operator="RandomPoisson", rate=1.0),
        "TypeError: RandomPoisson: out must be an array of int32 or int64: got float32",
    ),
    (
        lambda: generate(
            TORCH,
            out=np.empty(4, "f4"),
            operator="RandomGamma",
            alpha=2.0,
        ),
        "RandomGamma: alignment must be 'tensorflow': got 'pytorch'",
    ),
    (
        lambda: generate(np.zeros(6, np.int64), out=np.empty(4)),
        "TypeError: state must be uint32: got int64",
    ),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_generate_refuses_wrong_arguments(call: Callable[[], Any], words: str) -> None:
    assert_refused(call, words)


@pytest.fixture
def releases(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RELEASES.parent)
    return importlib.import_module("run_releases")


def runs(isa: str) -> bool:
    """Whether the core takes an instruction set when it is forced."""
    done = child.forked(
        "from onnx_philox import _native; print(_native.isa())",
        code=None,
        env={"ONNX_PHILOX_ISA": isa},
    )
    expected = done.stdout == f"{isa}\n"
    assert (done.returncode == 0) == (expected), done.stderr
    return done.returncode == 0


def test_releases_are_forced_to_the_instruction_sets_that_can_run_here(
    releases,
) -> None:
    library = onnx_philox.onnxruntime.library_path()
    available = releases.available_isas(library)
    assert available == [isa for isa in releases.ISAS if runs(isa)]
    assert available[0] == _native.isa() or "ONNX_PHILOX_ISA" in os.environ
    assert available[-1] == "scalar"


def test_a_library_with_an_instruction_set_that_it_does_not_know_is_an_error(
    releases, monkeypatch
) -> None:
    monkeypatch.setattr(releases, "ISAS", releases.ISAS[:-1])
    with pytest.raises(ValueError, match=r"has scalar: add it to ISAS of .*run_releases\.py"):
        releases.available_isas(onnx_philox.onnxruntime.library_path())


def test_a_file_that_is_no_library_is_an_error(releases, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"lists no instruction sets: .*nowhere\.so"):
        releases.available_isas(tmp_path / "nowhere.so")


@pytest.mark.parametrize("isa", ["sse9", ""])
def test_an_instruction_set_that_does_not_exist_is_refused_before_anything_runs(isa: str) -> None:
    done = child.forked(RELEASES, "library.so", "--isas", "avx2", isa, code=None)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"invalid choice: '{isa}' (choose from " in done.stderr
