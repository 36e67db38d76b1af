"""NVIDIA's driver: what it is asked and gives back, and its errors; asking for cards."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

import onnx_philox
from onnx_philox import _parts, reference
from onnx_philox.onnxruntime import InferenceSession, register
from tests.common import child, missing_part, operators
from tests.common.cases import assert_same_bits, table
from tests.experimental.cuda_sessions import (
    NORMAL,
    PROVIDERS,
    STATE,
    by_p,
    fed_by,
    fed_normal,
    needs_kernels,
    said,
    session,
)
from tests.experimental.stand_in_driver import StandIn, build

pytestmark = needs_kernels


AT_LOAD = ["cuCtxGetCurrent", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemHostAlloc"]
AT_LOAD += ["cuMemHostGetDevicePointer_v2"]
WITHOUT_CONTEXT = ["cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2"]
IN_A_RUN = ["cuStreamGetCtx", "cuStreamIsCapturing", "cuLaunchKernel"]


@pytest.mark.parametrize(
    ("function", "after"),
    [
        *((function, 0) for function in [*AT_LOAD, *WITHOUT_CONTEXT, "cuMemcpy"]),
        ("cuCtxGetCurrent", 1),
        ("cuModuleGetFunction", 1),
    ],
)
def test_a_call_that_fails_at_load_is_an_error_with_the_driver_s_words(
    driver: StandIn, function: str, after: int
) -> None:
    model = by_p()
    if function == "cuMemcpy":
        model = operators.with_constant(model, "p", np.array(0.5, np.float32))
    driver.set("has_context", function not in WITHOUT_CONTEXT)
    name = function.removesuffix("_v2")
    text = f"{name} failed with CUDA_ERROR_LAUNCH_FAILED (719, unspecified launch failure)"
    with driver.failing(function, after), said("RandomBernoulli: ", text):
        session(model)
    assert driver.live == 0
    driver.set("has_context", 1)
    session(model)  # the next one is as if nothing had been


@pytest.mark.parametrize("function", [*IN_A_RUN, "cuCtxGetCurrent"])
def test_a_call_that_fails_in_a_run_is_an_error_and_the_next_run_draws(
    driver: StandIn, function: str
) -> None:
    running = session(NORMAL)
    text = f"RandomNormal: {function} failed with CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)"
    with driver.failing(function, error=2), said(f"{text}. The node has drawn nothing."):
        running.run(None, {})
    expected = InferenceSession(NORMAL).run(None, {})[0]
    assert_same_bits(running.run(None, {})[0], expected)


def test_an_error_that_the_driver_has_no_words_for_is_a_number(driver: StandIn) -> None:
    running = session(NORMAL)
    text = "cuLaunchKernel failed with an unknown error (12345, without a description)"
    with driver.failing("cuLaunchKernel", error=12345), said(text):
        running.run(None, {})


def test_sessions_share_the_kernels_and_the_last_one_unloads_them(driver: StandIn) -> None:
    first = session(NORMAL)
    second = session(by_p())
    assert driver.calls.count("cuModuleLoadDataEx") == 1
    del first
    assert "cuModuleUnload" not in driver.calls
    second.run(None, {"p": np.array(0.5, np.float32)})
    del second
    assert driver.calls.count("cuModuleUnload") == 1
    assert driver.calls.count("cuMemFreeHost") == 1


def test_a_thread_without_a_context_takes_the_first_card_s_and_gives_it_back(
    driver: StandIn,
) -> None:
    driver.set("has_context", 0)
    running = session(NORMAL)
    running.run(None, {})
    del running
    calls = driver.calls
    given_back = "cuDevicePrimaryCtxRelease_v2"
    assert calls.count("cuDevicePrimaryCtxRetain") == calls.count(given_back) > 0
    assert calls.count("cuCtxPushCurrent_v2") == calls.count("cuCtxPopCurrent_v2") > 0
    assert calls.index("cuModuleUnload") < calls.index(given_back)


def test_a_session_that_a_thread_without_a_context_ends_gives_its_memory_back(
    driver: StandIn,
) -> None:
    ended = [session(by_p()), session(NORMAL)]
    driver.set("has_context", 0)
    ended.clear()
    assert driver.calls.count("cuMemFreeHost") == driver.calls.count("cuModuleUnload") == 1
    assert driver.live == 0


def test_a_stream_of_another_card_has_the_kernels_loaded_there_once(driver: StandIn) -> None:
    running = session(NORMAL)
    driver.set("stream_context", 2)
    wanted = InferenceSession(NORMAL).run(None, {})[0]
    with driver.failing("cuModuleLoadDataEx"), said("RandomNormal: cuModuleLoadDataEx failed"):
        running.run(None, {})
    for _ in range(2):
        assert_same_bits(running.run(None, {})[0], wanted)
    assert driver.calls.count("cuModuleLoadDataEx") == 3
    del running
    gc.collect()  # exceptions keep sessions
    assert driver.calls.count("cuModuleUnload") == 2


@pytest.mark.usefixtures("driver")
def test_threads_run_one_session() -> None:
    running = session(fed_normal())
    sizes = [[3, n] for n in range(1, 33)]
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda size: running.run(None, fed_by(size)), sizes))
    for size, (values, after) in zip(sizes, drawn, strict=True):
        wanted = reference.random_normal(size, 0.5, 2, "f32", op_seed=3, state=STATE)
        assert_same_bits(values, wanted[0])
        assert_same_bits(after, wanted[1])


CHILD = """
import ctypes
import sys
import warnings
for driver in sys.argv[1:]:
    ctypes.CDLL(driver)  # which the core then finds by its name
warnings.simplefilter("ignore")
import onnx_philox
from onnx_philox import graphs
for _ in range(2):
    for model in (
        graphs.random_normal([3, 5], 0, 1, "f32", op_seed=3),
        graphs.random_permutation([4], op_seed=3),
    ):
        session = onnx_philox.onnxruntime.InferenceSession(
            model, providers=["CUDAExecutionProvider", "CPUExecutionProvider"], cuda=True
        )
        print(session.run(None, {})[0].tobytes().hex())
"""
HIDDEN = """
import onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options = onnx_philox.onnxruntime.register(options, cuda=True)
onnxruntime.InferenceSession(graphs.random_permutation([4], op_seed=3).SerializeToString(), options)
"""
FAILING = ("cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet")
# An option of the stand-in's build -> why there is no usable card.
NO_DRIVER = table("""
no library -> NVIDIA's driver does not load (libcuda.so.1: cannot open
-DVERSION=11080 -> the driver of NVIDIA is for CUDA 11.8, and the kernels need one for CUDA 12.0 or
-DCARDS=0 -> the driver of NVIDIA sees no card
-DCAPABILITY=61 -> no card here has a compute capability of 7.5 or higher: the highest is 6.1
-DcuStreamGetCtx=cuMissing -> NVIDIA's driver is too old: it lacks cuStreamGetCtx
""")
NO_DRIVER += [
    [f'-DFAILING="{name}"', f"{name} failed with an unknown error (100, without a description)"]
    for name in (*FAILING, "cuDeviceGetAttribute")
]


DRAWN = [
    InferenceSession(NORMAL).run(None, {})[0].tobytes().hex(),
    reference.random_permutation((4,), op_seed=3)[0].tobytes().hex(),
]


@pytest.mark.parametrize(("option", "reason"), NO_DRIVER)
def test_without_a_usable_card_the_cpu_draws_and_the_log_says_so_once(
    option: str, reason: str, tmp_path: Path
) -> None:
    done = child.forked(CHILD, *([build(tmp_path, [option])] if option[0] == "-" else []))
    assert done.stdout.split() == DRAWN * 2
    assert done.stderr.count("onnx_philox: the operators draw on the CPU, since") == 1
    assert f"onnx_philox: the operators draw on the CPU, since {reason}" in done.stderr


def test_a_driver_that_is_there_and_does_not_load_is_named_in_the_loader_s_words(
    tmp_path: Path,
) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    # A session that hides its warnings does not use up the line.
    quiet = CHILD.replace("for _ in", HIDDEN + "for _ in", 1)
    done = child.python("-c", quiet, env={"LD_LIBRARY_PATH": str(tmp_path)})
    line = f"since NVIDIA's driver does not load ({tmp_path}/libcuda.so.1: "
    assert done.stderr.count(line) == 1


def test_a_build_of_onnxruntime_for_the_cpu_draws_there_beside_a_driver(tmp_path: Path) -> None:
    done = child.forked(CHILD, build(tmp_path))
    assert (done.stdout.split(), done.stderr) == (DRAWN * 2, "")


@pytest.mark.usefixtures("driver")
def test_options_hold_the_operators_with_cards_or_without() -> None:
    options = register(ort.SessionOptions(), cuda=True)
    assert register(options, cuda=True) is options
    assert register(options) is options
    text = (
        "onnx_philox.onnxruntime.register: cuda must be False, as when these options were "
        "registered: got True. Make new SessionOptions: a registration cannot be changed."
    )
    late = register(ort.SessionOptions())
    for entry in ("0", "1"):
        with said(text, kind=ValueError):
            register(late, cuda=True)
        late.add_session_config_entry("onnx_philox.cuda", entry)
    with said(text, kind=ValueError):
        register(late, cuda=True)


def test_the_benchmark_says_that_there_is_no_card() -> None:
    missing_part.needs(_parts.COMMAND_PART)
    missing_part.needs(_parts.CUDA_PART)
    done = child.forked(Path(__file__).parents[2] / "benchmarks" / "cuda.py", code=1)
    assert done.stderr.startswith("benchmarks/cuda.py must be where ONNX Runtime has CUDAExec")


def test_an_entry_of_the_options_asks_for_cards_in_any_language() -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("onnx_philox.cuda", "yes")
    text = (
        "onnx_philox: the session's entry 'onnx_philox.cuda' must be '0' or '1': got 'yes'. Set it "
        "to '1' to draw on NVIDIA's cards."
    )
    with said(text):
        options.register_custom_ops_library(onnx_philox.onnxruntime.library_path())


WRONG_PROVIDERS: list[tuple[Any, str]] = [
    (["CPUExecutionProvider"], "['CPUExecutionProvider']"),
    (None, "[]"),
    ([], "[]"),
    ([()], "[()]"),
    ([["CUDAExecutionProvider", {}]], "[['CUDAExecutionProvider', {}]]"),
    ("CUDAExecutionProvider", "'CUDAExecutionProvider'"),
    (5, "5"),
]


def test_wrong_options_for_cards_are_refused_in_a_sentence() -> None:
    for providers, got in WRONG_PROVIDERS:
        text = (
            "onnx_philox.onnxruntime.InferenceSession: providers must be a list with "
            "CUDAExecutionProvider or CudaPluginExecutionProvider where cuda is True: got "
            f"{got}. Name one of these before CPUExecutionProvider, or leave cuda out."
        )
        with said(text, kind=ValueError):
            InferenceSession(NORMAL, providers=providers, cuda=True)
    text = (
        "onnx_philox.onnxruntime.InferenceSession: cuda must be False with backend 'python': got "
        "True. Python draws on the CPU: use backend 'native'."
    )
    with said(text, kind=ValueError):
        InferenceSession(NORMAL, None, PROVIDERS, backend="python", cuda=True)
    for ask in (
        lambda: InferenceSession(NORMAL, cuda="0"),
        lambda: register(ort.SessionOptions(), cuda=1),
    ):
        with said("cuda must be True or False: got", "Pass cuda=True", kind=TypeError):
            ask()
