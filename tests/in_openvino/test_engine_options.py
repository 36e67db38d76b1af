"""What an engine may be told, one option at a time: a rewritten model draws the same numbers."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from numpy.testing import assert_array_equal

import onnx_philox
from onnx_philox import PhiloxState
from tests.common import child
from tests.common.foreign import parse
from tests.common.runtimes import OpenVino, bare_session, compiled, infer

X = np.linspace(
    -3,
    3,
    64 * 8,
    dtype=np.float32,
).reshape(64, 8)
STATE = PhiloxState.for_run(42).to_array()
DRAWS = ("normal", "uniform", "dropped", "booleans", "classes", "wide")
FEEDS = {"x": X, "random_state": STATE}
# Whatever these make of the numbers after a draw, the draw is not theirs.
OF_ONNXRUNTIME = """session.disable_prepacking=1 session.intra_op.allow_spinning=0
    session.inter_op.allow_spinning=0 session.force_spinning_stop=1 session.dynamic_block_base=4
    session.set_denormal_as_zero=1 session.use_device_allocator_for_initializers=1
    session.use_env_allocators=1 session.disable_aot_function_inlining=1
    session.strict_shape_type_inference=1 session.qdq_matmulnbits_accuracy_level=4
    session.x64quantprecision=1 mlas.enable_gemm_fastmath_arm64_bfloat16=1
    optimization.disable_specified_optimizers=ConstantFolding
    optimization.enable_gelu_approximation=1"""
OF_A_SESSION: dict[str, Any] = {
    **dict.fromkeys(("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse"), False),
    **{"use_deterministic_compute": True, "intra_op_num_threads": 7},
    "execution_mode": ort.ExecutionMode.ORT_PARALLEL,
}
LEVELS = ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
OF_OPENVINO = """NUM_STREAMS=4 NUM_STREAMS=AUTO PERFORMANCE_HINT=THROUGHPUT
    PERFORMANCE_HINT=CUMULATIVE_THROUGHPUT INFERENCE_NUM_THREADS=1 CPU_DENORMALS_OPTIMIZATION=YES
    DYNAMIC_QUANTIZATION_GROUP_SIZE=32 KV_CACHE_PRECISION=u8 EXECUTION_MODE_HINT=ACCURACY
    EXECUTION_MODE_HINT=PERFORMANCE INFERENCE_PRECISION_HINT=f16 INFERENCE_PRECISION_HINT=bf16
    ENABLE_CPU_PINNING=YES ENABLE_HYPER_THREADING=NO CPU_RUNTIME_CACHE_CAPACITY=0
    SNIPPETS_MODE=DISABLE PERF_COUNT=YES CPU_SPARSE_WEIGHTS_DECOMPRESSION_RATE=0.5"""


MODEL = """g (float[N, 8] x) =>
    (float[N, 8] normal, float[N, 8] uniform, float[N, 8] dropped,
     bool[N, 8] booleans, int64[N, 3] classes, double[4] wide, float[N, 8] y) {
  normal = RandomNormalLike <dtype = 1> (x)
  uniform = RandomUniformLike <dtype = 1, low = -3.0, high = 7.1> (x)
  ratio = Constant <value_float = 0.4> ()  training = Constant <value = bool {1}> ()
  dropped = Dropout (x, ratio, training)
  p = Sigmoid (x)  booleans = Bernoulli <dtype = 9> (p)
  classes = Multinomial <dtype = 7, sample_size = 3> (x)
  wide = RandomNormal <dtype = 11, shape = [4]> ()
  sum = Add (normal, uniform)  y = Mul (sum, dropped)
}"""


@cache
def _model() -> onnx.ModelProto:
    return onnx_philox.make_reproducible(parse(MODEL, opset=20))


def _in_onnxruntime(
    model: Any = None,
    **set_: Any,
) -> dict[str, np.ndarray[Any, Any]]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    for name, value in set_.pop("config", {}).items():
        options.add_session_config_entry(name, value)
    for name, value in set_.items():
        setattr(options, name, value)
    onnx_philox.onnxruntime.register(options)
    session = ort.InferenceSession(model or _model().SerializeToString(), options)
    return dict(zip(DRAWS, session.run(DRAWS, FEEDS), strict=True))


@cache
def _expected() -> dict[str, np.ndarray[Any, Any]]:
    return _in_onnxruntime()


def _compare(found: Any) -> None:
    for name, values in _expected().items():
        # OpenVINO's Multinomial and Dropout keep their own types.
        assert_array_equal(np.asarray(found[name]).astype(values.dtype), values, name)


def _apart(check: Callable[[], None]) -> None:
    """Runs it on a thread: what an engine makes of denormals there would stay for later tests."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(check).result()


@pytest.mark.parametrize(
    "given",
    [
        *({"config": dict([each.split("=")])} for each in OF_ONNXRUNTIME.split()),
        *({name: value} for name, value in OF_A_SESSION.items()),
    ],
    ids=str,
)
def test_an_option_of_onnxruntime_changes_no_draw(given: dict[str, Any]) -> None:
    _apart(lambda: _compare(_in_onnxruntime(**given)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("format_", ["onnx", "ort"])
def test_an_optimised_file_draws_the_same(level: Any, format_: str, tmp_path: Path) -> None:
    file = tmp_path / f"model.{format_}"
    config = {"session.save_model_format": "ORT"} if format_ == "ort" else {}
    given = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    saved = {"optimized_model_filepath": str(file), "graph_optimization_level": given}
    _compare(_in_onnxruntime(config=config, **saved))
    _compare(_in_onnxruntime(str(file)))


def test_a_run_that_is_terminated_leaves_the_session_whole() -> None:
    session = bare_session(onnx_philox.graphs.random_normal([2**24], 0, 1, "f32", stateful=True))
    before = session.run(None, {"state": STATE})
    run = ort.RunOptions()

    stopping = threading.Timer(0.01, setattr, (run, "terminate", True))
    stopping.start()
    with contextlib.suppress(Exception):
        session.run(None, {"state": STATE}, run)  # to its end, if the kernel had begun
    stopping.join()
    with pytest.raises(Exception, match="terminate"):
        session.run(None, {"state": STATE}, run)
    for drawn, expected in zip(session.run(None, {"state": STATE}), before, strict=True):
        assert_array_equal(drawn, expected)


def _compare_in_openvino(config: dict[str, Any]) -> None:
    """Compares two runs of the model that is compiled so."""
    loaded = compiled(_model(), config)
    for _ in range(2):
        _compare(infer(loaded, FEEDS))


@pytest.mark.parametrize("given", OF_OPENVINO.split())
def test_a_property_of_openvino_changes_no_draw(given: str) -> None:
    _apart(lambda: _compare_in_openvino(dict([given.split("=")])))


def _compare_from_the_cache(folder: Path) -> None:
    for mode in ("OPTIMIZE_SIZE", "OPTIMIZE_SPEED"):
        _compare_in_openvino({"CACHE_DIR": str(folder / mode), "CACHE_MODE": mode})


def _export(file: Path) -> None:
    file.write_bytes(compiled(_model(), {}).export_model().getvalue())


def _import_or_be_refused(folder: Path) -> None:
    """Each model of a folder draws the same, or was exported for another kind of processor.

    OpenVINO names both kinds where it refuses one. Those of its own kind it imports.
    """
    core = onnx_philox.openvino.register(ov.Core())
    for file in folder.iterdir():
        exported = io.BytesIO(file.read_bytes())
        try:
            loaded = core.import_model(exported, "CPU")
        except RuntimeError as error:
            (of_the_model,) = re.findall(r"blob: .*isa=(.*)", str(error))
            (of_this_processor,) = re.findall(r"current: .*isa=(.*)", str(error))
            assert of_the_model != of_this_processor
        else:
            _compare(infer(loaded, FEEDS))


LESSER = ("AVX512_CORE", "AVX2", "SSE41")
"""Processors: OpenVINO takes this one for one that has no more."""


@pytest.mark.parametrize("isa", LESSER)
def test_a_cached_model_draws_the_same_on_a_lesser_processor(isa: str, tmp_path: Path) -> None:
    call = "import sys, pathlib; from tests.in_openvino import test_engine_options as t"
    call += "; t._compare_from_the_cache(pathlib.Path(sys.argv[1]))"
    child.forked(call, tmp_path)
    child.forked(call, tmp_path, env={"ONEDNN_MAX_CPU_ISA": isa})
    assert all(any((tmp_path / mode).iterdir()) for mode in ("OPTIMIZE_SIZE", "OPTIMIZE_SPEED"))


@pytest.mark.parametrize("isa", LESSER)
def test_a_processor_imports_what_its_own_kind_exported_and_no_other_without_a_word(
    isa: str, tmp_path: Path
) -> None:
    _export(tmp_path / "by this processor")
    call = "import sys, pathlib; from tests.in_openvino import test_engine_options as t"
    call += "; folder = pathlib.Path(sys.argv[1])"
    call += "; t._export(folder / 'by a lesser one'); t._import_or_be_refused(folder)"
    child.forked(call, tmp_path, env={"ONEDNN_MAX_CPU_ISA": isa})
    _import_or_be_refused(tmp_path)


def test_a_cache_that_another_release_wrote_is_not_taken(tmp_path: Path) -> None:
    config = {"CACHE_DIR": str(tmp_path)}
    _compare_in_openvino(config)
    (blob,) = tmp_path.glob("*.blob")
    written = blob.read_bytes()
    release = ov.get_version().split("-")[0].encode()
    assert release in written
    other = b"9" + release[1:]
    blob.write_bytes(written.replace(release, other))
    _compare_in_openvino(config)
    assert other not in blob.read_bytes()  # written anew


def test_a_cancelled_request_of_openvino_leaves_its_state_whole() -> None:
    graph = onnx_philox.graphs.random_normal([2**24], 0, 1, "f32", stateful=True)
    model = onnx_philox.openvino.make_stateful(OpenVino("auto").read(graph))
    request = compiled(model).create_infer_request()
    variable = request.query_state()[0]
    states = [PhiloxState.from_array(STATE).advance(2**24 * i).to_array() for i in range(4)]
    for state, after in itertools.pairwise(states):
        variable.state = ov.Tensor(state.view(np.int32))
        request.start_async()
        time.sleep(0.01)
        request.cancel()
        with contextlib.suppress(Exception):  # to its end, if the kernel had begun
            request.wait()
        assert variable.state.data.tobytes() in (state.tobytes(), after.tobytes())


def test_a_process_of_one_processor_draws_the_same() -> None:
    child.forked("""
import os
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
from tests.in_openvino import test_engine_options as t
for config in ({}, {"NUM_STREAMS": "2"}, {"PERFORMANCE_HINT": "THROUGHPUT"}):
    t._compare_in_openvino(config)
t._compare(t._in_onnxruntime())
""")
