"""The drop-in InferenceSession: the bits of NumPy, and all that ONNX Runtime's session does."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import timeit
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common import child
from tests.common.cases import SEED, assert_all_same, assert_same_bits, parse

STATE = PhiloxState(2**64 - 2, 2**64 - 12345)
InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument
NotImplementedByOrt = ort.capi.onnxruntime_pybind11_state.NotImplemented


def test_the_session_shows_the_model_s_own_inputs_and_outputs(ort_backend: str) -> None:
    model = graphs.random_uniform(None, None, None, "f64", stateful=True, rank=1)
    session = InferenceSession(model, backend=ort_backend)
    names = ["shape", "minval", "maxval", "state"]
    assert [i.name for i in session.get_inputs()] == names
    assert [o.name for o in session.get_outputs()] == ["values", "next_state"]
    if hasattr(ort.InferenceSession, "get_input_memory_infos"):  # older releases have none
        assert len(session.get_input_memory_infos()) == len(names)
    session.set_providers(["CPUExecutionProvider"])
    assert [i.name for i in session.get_inputs()] == names


def test_a_session_is_onnxruntime_s_and_runs_any_model(tmp_path: Path) -> None:
    model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }")
    path = tmp_path / "plain.onnx"
    onnx.save(model, path)
    for source in (path, str(path), path.read_bytes(), model):
        session = InferenceSession(source, providers=["CPUExecutionProvider"])
        assert isinstance(session, ort.InferenceSession)
        assert session.run(["y"], {"x": np.ones(2, np.float32)})[0].tolist() == [-1, -1]


def run_text(
    model: onnx.ModelProto,
    backend: str,
    **feeds: Any,
) -> list[np.ndarray]:
    before = model.SerializeToString()
    outputs = InferenceSession(model, backend=backend).run(None, feeds)
    assert model.SerializeToString() == before, "the user's model was changed"
    return outputs


def test_functions_of_the_model_draw_the_same_or_stay_as_they_are(ort_backend: str) -> None:
    """The one without nodes of ours is of another opset, and ONNX Runtime alone can inline it."""
    model = parse(
        """g (uint32[6] state) => (uint32[3] y, uint32[3] z) {
        x, s = mine.draw (state)
        z, t = mine.draw (s)
        y = theirs.quiet (x)
    }
    <domain: "mine", opset_import: ["": 17, "onnx_philox": 1]>
    draw (state) => (bits, next) {
        shape = Constant <value_ints = [3]> ()
        bits, next = onnx_philox.RandomGenerator (state, shape)
    }
    <domain: "theirs", opset_import: ["": 18]>
    quiet (a) => (b) { b = Identity (a) }""",
        mine=1,
        theirs=1,
    )
    y, z = run_text(model, ort_backend, state=STATE.to_array())
    first, after = reference.random_generator(STATE.to_array(), [3])
    assert_same_bits(y, first)
    assert_same_bits(z, reference.random_generator(after, [3])[0])


def test_a_shape_may_be_int32_wherever_it_comes_from(ort_backend: str) -> None:
    model = parse("""
    g (int32[1] a, uint32[6] state, float[N] x) => (uint32[?] p, uint32[?] q, uint32[?] r) {
        p = onnx_philox.RandomGenerator (state, a)
        b = Add (a, a)
        q = onnx_philox.RandomGenerator (state, b)
        c = Shape (x)
        r = onnx_philox.RandomGenerator (state, c)
    }""")
    state = STATE.to_array()
    feeds = {
        "a": np.array([3], np.int32),
        "state": state,
        "x": np.zeros(5, np.float32),
    }
    sizes = [len(output) for output in run_text(model, ort_backend, **feeds)]
    assert sizes == [3, 6, 5]


def test_names_that_clash_with_ours_do_no_harm(ort_backend: str) -> None:
    model = graphs.random_generator([3])
    model.graph.input[0].name = model.graph.node[0].input[0] = "onnx_philox.python.run"
    session = InferenceSession(model, backend=ort_backend)
    bits, _ = session.run(None, {"onnx_philox.python.run": STATE.to_array()})
    expected = reference.random_generator(STATE.to_array(), [3])[0]
    assert_same_bits(bits, expected)


@pytest.fixture(scope="module")
def dynamic_session(ort_backend: str) -> InferenceSession:
    return InferenceSession(graphs.random_generator(None, rank=1), backend=ort_backend)


GOOD = {"state": STATE.to_array(), "shape": np.array([4])}
BAD = {**GOOD, "shape": np.array([-4])}
EXPECTED = reference.random_generator(STATE.to_array(), [4])
REFUSED = "RandomGenerator: input 'shape' must be dimensions of 0 or more: got \\[-4\\]"


def assert_no_run_is_remembered() -> None:
    """The Python ops keep what a run refused until it ends."""
    ops = sys.modules.get("onnx_philox.onnxruntime._onnxruntime_ops")
    assert ops is None or len(ops.REFUSALS) == 0


Feeds = dict[str, np.ndarray]
NAMES = ["bits", "next_state"]


def by_ort_values(session: InferenceSession, feeds: Feeds) -> list[np.ndarray]:
    values = {k: ort.OrtValue.ortvalue_from_numpy(v) for k, v in feeds.items()}
    return [output.numpy() for output in session.run_with_ort_values(NAMES, values)]


def by_a_vector(session: InferenceSession, feeds: Feeds) -> list[np.ndarray]:
    vector = ort.capi.onnxruntime_pybind11_state.OrtValueVector
    values = vector()
    fetches = vector()
    for value in feeds.values():
        values.push_back(ort.OrtValue.ortvalue_from_numpy(value)._get_c_value())
    devices = [ort.OrtDevice.make("cpu", 0)._get_c_device()] * 2
    session.run_with_ortvaluevector(
        ort.RunOptions(),
        list(feeds),
        values,
        NAMES,
        fetches,
        devices,
    )
    return [fetches[i].numpy() for i in range(2)]


def by_binding(
    session: InferenceSession, feeds: Feeds, shape: Any = 4, dtype: Any = np.uint32
) -> list[np.ndarray]:
    """Into bound memory, which a refused run leaves as it was."""
    binding = session.io_binding()
    outputs = [np.full(shape, 77, dtype), np.full(6, 77, np.uint32)]
    bound = [ort.OrtValue.ortvalue_from_numpy(output) for output in outputs]
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output, value in zip(session.get_outputs(), bound, strict=True):
        binding.bind_ortvalue_output(output.name, value)
    try:
        session.run_with_iobinding(binding)
    except InvalidArgument:
        assert all((value.numpy() == 77).all() for value in bound)
        raise
    return [value.numpy() for value in bound]


def by_a_callback(session: InferenceSession, feeds: Feeds) -> list[np.ndarray]:
    done = threading.Event()
    got = []

    def callback(results, user_data, error) -> None:
        got.extend([results, user_data, error])
        done.set()

    session.run_async(None, feeds, callback, "mine")
    assert done.wait(30)
    results, user_data, error = got
    assert user_data == "mine"
    if error:
        assert len(results) == 0
        raise InvalidArgument(error)
    return results


WAYS = [
    lambda session, feeds: session.run(None, feeds),
    lambda session, feeds: session.run(None, {**feeds, "state": STATE}),
    by_ort_values,
    by_a_vector,
    by_binding,
    by_a_callback,
    lambda session, feeds: by_a_callback(session, {**feeds, "state": STATE}),
]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run_draws_or_refuses_and_runs_on(
    dynamic_session: InferenceSession,
    way: Callable[[InferenceSession, Feeds], list[np.ndarray]],
) -> None:
    for _ in range(3):
        with pytest.raises(InvalidArgument, match=REFUSED):
            way(dynamic_session, BAD)
        assert_all_same(way(dynamic_session, GOOD), EXPECTED)
    assert_no_run_is_remembered()


@pytest.mark.parametrize("wrong", ["shape", "type"])
def test_bound_memory_that_does_not_fit_is_an_error_and_no_crash(
    dynamic_session: InferenceSession, wrong: str
) -> None:
    dtype, size = (np.uint32, 5) if wrong == "shape" else (np.float32, 4)
    binding = dynamic_session.io_binding()
    for name, value in GOOD.items():
        binding.bind_cpu_input(name, value)
    binding.bind_ortvalue_output("bits", ort.OrtValue.ortvalue_from_numpy(np.zeros(size, dtype)))
    binding.bind_output("next_state")
    message = {"shape": "shape", "type": "Unexpected output data type"}
    with pytest.raises(Exception, match=message[wrong]):
        dynamic_session.run_with_iobinding(binding)


def test_declared_dimensions_that_are_wrong_do_not_crash(ort_backend: str) -> None:
    """ONNX Runtime plans memory from them, and hands it out again for values of one shape."""
    model = parse("""g (uint32[6] s, int64[1] a, int64[1] b) => (float[K] z)
    <float lo = {0}, float hi = {1}, float[N] x, float[N] y> {
        x = onnx_philox.RandomUniform <output_type = "f32"> (a, lo, hi, s)
        x1 = Neg (x)
        x2 = ReduceSum <keepdims = 1> (x1)
        y = onnx_philox.RandomUniform <output_type = "f32"> (b, lo, hi, s)
        y1 = Neg (y)
        z = Add (y1, x2)
    }""")
    session = InferenceSession(model, backend=ort_backend)
    # Which of them differs from release to release.
    state = ort.capi.onnxruntime_pybind11_state
    for a, b in ((5, 7), (7, 5), (100, 1)):
        feeds = {
            "s": STATE.to_array(),
            "a": np.array([a]),
            "b": np.array([b]),
        }
        # ONNX Runtime believes what the model declares, and fails where that matters.
        fails = contextlib.suppress(state.Fail, state.RuntimeException)
        with fails if ort_backend == "native" else contextlib.nullcontext():
            assert session.run(None, feeds)[0].shape == (b,)


def test_many_threads_each_get_their_own_answer_and_their_own_error(
    dynamic_session: InferenceSession,
) -> None:
    def work(i: int) -> None:
        if i % 3 == 0:
            with pytest.raises(InvalidArgument, match=f"got \\[-{i + 1}\\]"):
                dynamic_session.run(None, {**GOOD, "shape": np.array([-i - 1])})
            return
        state = PhiloxState(i << 90, i)
        bits, after = dynamic_session.run(
            None, {"state": state.to_array(), "shape": np.array([100 * i])}
        )
        expected, _ = reference.random_generator(state.to_array(), [100 * i])
        assert_same_bits(bits, expected)
        assert PhiloxState.from_array(after) == state.advance(100 * i)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))


def test_parallel_execution_mode_keeps_errors_with_their_run(ort_backend: str) -> None:
    options = ort.SessionOptions()
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.inter_op_num_threads = 4
    model = parse("""g (uint32[6] s, int64[1] a, int64[1] b) => (uint32[?] x, uint32[?] y) {
        x = onnx_philox.RandomGenerator (s, a)
        y = onnx_philox.RandomGenerator <global_seed = 1> (s, b)
    }""")
    session = InferenceSession(model, options, backend=ort_backend)
    feeds = {
        "s": STATE.to_array(),
        "a": np.array([5]),
        "b": np.array([6]),
    }
    for _ in range(20):
        x, y = session.run(None, feeds)
        assert (len(x), len(y)) == (5, 6)
        with pytest.raises(InvalidArgument, match="-6"):
            session.run(None, {**feeds, "b": np.array([-6])})


def test_a_refusal_goes_before_the_error_that_it_causes_further_on(ort_backend: str) -> None:
    model = parse("""g (uint32[6] state, int64[1] n) => (float[?] y) {
        bits = onnx_philox.RandomGenerator (state, n)
        f = Cast <to = 1> (bits)
        four = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
        y = Add (f, four)
    }""")
    session = InferenceSession(model, backend=ort_backend)
    with pytest.raises(InvalidArgument, match=REFUSED):
        session.run(None, {"state": STATE.to_array(), "n": np.array([-4])})


def test_several_sessions_share_one_options_object(ort_backend: str) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    model = graphs.random_generator([4])
    sessions = [InferenceSession(model, options, backend=ort_backend) for _ in range(3)]
    del sessions[0]
    gc.collect()
    for session in sessions:
        assert_same_bits(session.run(None, {"state": STATE.to_array()})[0], EXPECTED[0])
        assert session.get_session_options().intra_op_num_threads == 1


EXTENSIONS_FIRST = """
import onnxruntime as ort, numpy as np
from onnx import parser
from onnxruntime_extensions import get_library_path, onnx_op, PyCustomOpDef
if {import_first}:
    import onnx_philox.onnxruntime, onnx_philox.onnxruntime._python_plan
imports = '<ir_version: 8, opset_import: ["": 17, "ai.onnx.contrib": 1]>'
graph = "g (string[N] t) => (int64[N] n) {{ n = ai.onnx.contrib.StringLength (t) }}"
tokenizer = parser.parse_model(f"{{imports}} {{graph}}")
for has_python_op in (False, True):
    if has_python_op:
        # A Python op of the user's own.
        @onnx_op(op_type="Mine", inputs=[PyCustomOpDef.dt_float], outputs=[PyCustomOpDef.dt_float])
        def mine(x):
            return x + 1
    options = ort.SessionOptions()
    options.register_custom_ops_library(get_library_path())
    import onnx_philox
    model = onnx_philox.graphs.random_uniform([2, 3], 50, 100, "i32", global_seed=80, op_seed=100)
    for _ in range(2):
        session = onnx_philox.onnxruntime.InferenceSession(model, options)
        assert session.run(None, {{}})[0].tolist() == [[65, 70, 56], [59, 82, 92]]
    for make in (ort.InferenceSession, onnx_philox.onnxruntime.InferenceSession):
        session = make(tokenizer.SerializeToString(), options)
        assert session.run(None, {{"t": np.array(["abc"])}})[0].tolist() == [3]
    from onnx_philox.onnxruntime import _extension_options
    # A copy would lack what other libraries have registered.
    is_itself = _extension_options.with_python_ops(options) is options
    assert is_itself == ({import_first} or has_python_op)
    print("all right")
"""


@pytest.mark.parametrize("import_first", [True, False])
def test_options_that_hold_the_extensions_already_are_fine(import_first: bool) -> None:
    done = child.forked(EXTENSIONS_FIRST.format(import_first=import_first), code=None)
    assert done.stdout == 2 * "all right\n", done.stderr


def test_trying_what_options_hold_leaves_no_files(tmp_path: Path, ort_backend: str) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = InferenceSession(graphs.random_generator([4]), options, backend=ort_backend)
    session.end_profiling()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_model_that_is_saved_is_never_the_legalised_one(
    tmp_path: Path, ort_backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "optimized.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(path)
    InferenceSession(graphs.random_generator([4]), options, backend=ort_backend)
    assert options.optimized_model_filepath == str(path)
    if path.exists():
        assert {n.domain for n in onnx.load(path).graph.node} == {"onnx_philox"}
    else:
        assert "writes no optimized model" in caplog.text


def test_options_keep_the_folder_that_they_name(tmp_path: Path) -> None:
    key = "session.model_external_initializers_file_folder_path"
    options = ort.SessionOptions()
    options.add_session_config_entry(key, str(tmp_path))
    model = graphs.random_generator([4])
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0)
    InferenceSession(tmp_path / "m.onnx", options, backend="python")
    assert options.get_session_config_entry(key) == str(tmp_path)


def test_ctrl_c_while_operators_run_is_an_interrupt_and_no_abort(ort_backend: str) -> None:
    program = f"""
import os, signal, threading, time
import numpy as np
import onnx_philox
session = onnx_philox.onnxruntime.InferenceSession(
    onnx_philox.graphs.random_generator([64]), backend={ort_backend!r})
state = onnx_philox.PhiloxState(1, 2).to_array()
session.run(None, dict(state=state))
stop = threading.Event()
armed = [False]
def interrupt(number, frame):
    # Python's own handler, but never twice in a row.
    if armed[0]:
        armed[0] = False
        raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
def press():
    while not stop.is_set():
        time.sleep(0.0007)
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
interrupts = 0
# Of the processor's time: other processes may be busy meanwhile.
end = time.process_time() + 20
while interrupts < 200 and time.process_time() < end:
    try:
        armed[0] = True
        while True:
            session.run(None, dict(state=state))
    except KeyboardInterrupt:
        interrupts += 1
stop.set()
print("interrupted" if interrupts == 200 else interrupts)
"""
    done = child.forked(program, code=None)
    assert done.stdout == "interrupted\n", done.stderr[-2000:]


def test_a_loop_that_waits_for_a_refused_operator_ends(ort_backend: str) -> None:
    model = parse("""g (uint32[6] state, int64[1] n, bool go) => (int64 rounds) {
        zero = Constant <value = int64 {0}> ()
        rounds = Loop ("", go, zero) <
            body = b (int64 i, bool k, int64 r) => (bool again, int64 r2) {
                bits = onnx_philox.RandomGenerator (state, n)
                size = Size (bits)
                again = Equal (size, zero)
                one = Constant <value = int64 {1}> ()
                r2 = Add (r, one)
            }
        >
    }""")
    session = InferenceSession(model, backend=ort_backend)
    feeds = {
        "state": STATE.to_array(),
        "n": np.array([4]),
        "go": np.array(True),
    }
    assert session.run(None, feeds)[0] == 1
    with pytest.raises(InvalidArgument, match=r"\[-4\]"):
        session.run(None, {**feeds, "n": np.array([-4])})
    assert session.run(None, feeds)[0] == 1


def test_a_missing_input_or_none_for_one_is_named(dynamic_session: InferenceSession) -> None:
    words = r"the input 'state' must be in the feed: got nothing\. .* each of state \(uint32\)"
    with pytest.raises(ValueError, match=words):
        dynamic_session.run(None, {"shape": GOOD["shape"]})
    words = r"the input 'shape' must be int64: got None\. Pass an array of that type\."
    with pytest.raises(TypeError, match=f"onnx_philox.onnxruntime: {words}"):
        dynamic_session.run(None, {**GOOD, "shape": None})


def test_results_are_handed_over_without_lists(ort_backend: str) -> None:
    """A million words as lists take 67 ms; in one copy, well under 10."""
    session = InferenceSession(graphs.random_generator([2**20]), backend=ort_backend)
    state = STATE.to_array()
    in_session, in_numpy = (
        min(timeit.repeat(call, number=1, repeat=5))
        for call in (
            lambda: session.run(None, {"state": state}),
            lambda: reference.random_generator(state, [2**20]),
        )
    )
    assert in_session < in_numpy + 0.03


@pytest.mark.parametrize(
    ("node", "opset", "said"),
    [
        ("a, b, c = RandomGenerator (s, n)", 1, "RandomGenerator: .* outputs .* most 2 .*: got 3"),
        ("a = RandomGenerator <seed = 3> (s, n)", 1, "must be one of type, .*: got 'seed'"),
        ("a = RandomCauchy (s, n)", 1, "RandomCauchy: the operator must be .*: got RandomCauchy"),
        ("a = RandomGenerator (s, n)", 2, "domain 'onnx_philox' must be 1: got 2. .*upgrade"),
    ],
)
def test_a_model_that_this_release_does_not_know_is_refused(
    ort_backend: str, node: str, opset: int, said: str
) -> None:
    node = node.replace("Random", "onnx_philox.Random")
    body = f"g (uint32[6] s) => (uint32[4] a) <int64[1] n = {{4}}> {{ {node} }}"
    model = parse(body, onnx_philox=opset)
    with pytest.raises(Exception, match=said):
        InferenceSession(model, backend=ort_backend)
    same = InferenceSession(
        path_or_bytes=graphs.random_generator([4]).SerializeToString(), backend=ort_backend
    )
    assert_same_bits(same.run(None, {"state": STATE.to_array()})[0], EXPECTED[0])


def test_none_where_no_array_is_needed_is_taken_as_onnxruntime_takes_it(ort_backend: str) -> None:
    model = parse("""g (float[2] x, float[2] idle, optional(float[2]) maybe)
        => (float[2] y, bool has) { y = Neg (x)  has = OptionalHasElement (maybe) }""")
    feeds = {
        "x": np.ones(2, np.float32),
        "idle": None,
        "maybe": None,
    }
    values, is_there = InferenceSession(model, backend=ort_backend).run(None, feeds)
    expected = ([-1, -1], False)
    assert (values.tolist(), bool(is_there)) == expected


def test_external_data_is_found_beside_the_model(
    tmp_path: Path, ort_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights, bounds and shapes, though another folder has such a file."""
    weights = np.arange(1000, dtype=np.float32)
    noise = graphs.random_uniform([1000], 0.25, 0.75, "f32", **SEED)
    noise.graph.initializer.append(numpy_helper.from_array(weights, "weights"))
    noise.graph.node.append(helper.make_node("Add", ["values", "weights"], ["y"]))
    noise.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [1000]))
    for name in ("model", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "elsewhere" / "w.bin").write_bytes(b"another file")
    path = tmp_path / "model" / "m.onnx"
    onnx.save_model(noise, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    values, _ = reference.random_uniform([1000], 0.25, 0.75, "f32", **SEED)
    monkeypatch.chdir(tmp_path / "elsewhere")
    options = ort.SessionOptions()
    for given in (None, options, options):
        session = InferenceSession(path, given, backend=ort_backend)
        assert_all_same(session.run(None, {}), [values, values + weights])
    monkeypatch.chdir(tmp_path)
    relative = InferenceSession("model/m.onnx", backend=ort_backend)
    assert_same_bits(relative.run(["y"], {})[0], values + weights)


def test_flushing_of_subnormals_in_onnxruntime_changes_no_bit(ort_backend: str) -> None:
    # A process of its own: the first session sets the thread that makes it, and leaves it so.
    program = f"""
import numpy as np, onnxruntime as ort, onnx_philox
from onnx_philox._contract import float_environment
options = ort.SessionOptions()
options.add_session_config_entry("session.set_denormal_as_zero", "1")
draws = (
    ("random_uniform", dict(minval=1e-40, maxval=3e-39, output_type="f32")),
    ("random_normal", dict(mean=1e-40, scale=3e-39, output_type="f32")),
    ("random_bernoulli", dict(p=np.full(100_000, 1e-45, np.float32))),
)
expected = [
    getattr(onnx_philox.reference, name)([100_000], **draw, global_seed=7)[0]
    for name, draw in draws
]
assert all(values.any() for values in expected[:2])
# The second time everything is in a thread that flushes, the building too.
for _ in range(2):
    for (name, draw), values in zip(draws, expected):
        model = getattr(onnx_philox.graphs, name)([100_000], **draw, global_seed=7)
        session = onnx_philox.onnxruntime.InferenceSession(
            model, options, backend={ort_backend!r})
        assert float_environment.are_flushed(), "ONNX Runtime did not do what the test is about"
        assert session.run(None, {{}})[0].tobytes() == values.tobytes()
"""
    child.forked(program)


def test_run_takes_and_gives_bfloat16() -> None:
    model = parse("""g (bfloat16[N] x, float[M] z, bfloat16 s)
        => (bfloat16[N] y, bfloat16[M] w, float[M] v, bfloat16 t)
        { y = Identity (x)  w = Cast <to = 16> (z)  v = Neg (z)  t = Identity (s) }""")
    session = InferenceSession(model)
    x = np.array([1.5, -2.0, 3e38], ml_dtypes.bfloat16)
    z = np.array([0.1, 7.0], np.float32)
    y, w, v, t = session.run(None, {"x": x, "z": z, "s": x[0]})
    expected = np.asarray(x[0])
    assert_same_bits(np.asarray(t), expected)
    assert_same_bits(y, x)
    assert_same_bits(w, z.astype(ml_dtypes.bfloat16))
    assert_same_bits(v, -z)
    assert_same_bits(session.run(["v"], {"x": x, "z": z, "s": x[0]})[0], -z)
    empty = session.run(
        ["w"],
        {
            "x": x,
            "z": z[:0],
            "s": x[0],
        },
    )[0]
    expected = ((0,), np.dtype(ml_dtypes.bfloat16))
    assert (empty.shape, empty.dtype) == expected


@pytest.mark.parametrize("output_type", ["f16", "bf16"])
def test_types_that_python_ops_lack_are_refused_when_the_session_is_made(output_type: str) -> None:
    model = graphs.random_uniform([3], 0, 1, output_type, **SEED)
    with pytest.raises(NotImplementedByOrt) as raised:
        InferenceSession(model, backend="python")
    text = str(raised.value)
    assert "must be one of i32, i64, f32, f64 with backend='python', since " in text
    assert "backend='native'" in text


def test_an_unknown_backend_is_refused_and_the_known_ones_are_listed() -> None:
    with pytest.raises(ValueError, match=r"backend must be one of 'auto', .*'python': got 'cuda'"):
        InferenceSession(graphs.random_generator([3]), backend="cuda")


LOGGED = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s %(message)s")
{first}
import onnx_philox
for _ in range(3):
    onnx_philox.onnxruntime.InferenceSession(onnx_philox.graphs.random_generator([3]))
"""


def test_auto_says_once_in_the_log_what_it_takes_and_what_is_missing() -> None:
    missing = 'sys.modules["onnxruntime_extensions"] = None  # As where there is no wheel of it.'
    for first, said in (("", "is "), (missing, "is 'native' here. onnx_philox.onnxruntime: b")):
        (line,) = child.forked(LOGGED.format(first=first)).stdout.splitlines()
        assert line.startswith(f"INFO onnx_philox.onnxruntime: backend 'auto' {said}")
        assert ("backend 'python' needs onnxruntime-extensions" in line) is bool(first)


def test_onnxruntime_gets_the_very_model_that_was_given(tmp_path: Path, ort_backend: str) -> None:
    model = graphs.random_generator([5])
    path = tmp_path / "model.onnx"
    given = model.SerializeToString()
    path.write_bytes(given)
    session = InferenceSession(path, backend=ort_backend)
    assert session._model_path == str(path)
    session.set_providers(["CPUExecutionProvider"])
    assert session._model_path == str(path)
    bits, _ = session.run(None, {"state": STATE.to_array()})
    expected = reference.random_generator(STATE.to_array(), [5])[0]
    assert_same_bits(bits, expected)
    assert InferenceSession(model, backend=ort_backend)._model_path is None
    if ort_backend == "native":
        assert session._model_bytes is None
        assert InferenceSession(given, backend="native")._model_bytes is given


@pytest.mark.parametrize(
    "given", ["bakend", "coda", "CUDA", "device", "alignment", "per_row", "keep_seeds", "kwargs"]
)
def test_a_keyword_that_nobody_reads_is_refused(given: str) -> None:
    """ONNX Runtime's session ignores what it does not know, and draws elsewhere without a word."""
    with pytest.raises(TypeError, match=f"backend, cuda, .*: got '{given}'. Leave it out"):
        InferenceSession(graphs.random_generator([5]), **{given: True})


def test_the_keywords_that_onnx_runtime_alone_knows_are_taken() -> None:
    known = {"disabled_optimizers": ["ConstantFolding"], "enable_fallback": 0}
    InferenceSession(graphs.random_generator([5]), **known, read_config_from_model=0)


LITTLE_MEMORY = """
import resource
import numpy as np
import onnx_philox
model = onnx_philox.graphs.random_dropout(None, 0.5, rank=1, stateful=True, data_type="f32")
feed = {"data": np.zeros(60_000_000, np.float32)}
feed["state"] = onnx_philox.PhiloxState(0, 1).to_array()
_, most = resource.getrlimit(resource.RLIMIT_AS)
for room in (100, 330, 600, 850):
    session = onnx_philox.onnxruntime.InferenceSession(model, backend="python")
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + room * 2**20, most))
    try:
        session.run(None, feed)
    except onnx_philox.RefusedInputError as error:
        assert "small enough" in str(error) or "memory" in str(error), error
        print("refused")
    del session
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit and /proc are Linux's")
def test_a_python_op_without_memory_is_refused_and_the_process_lives() -> None:
    """Of its input, of its result, and of ONNX Runtime's copy of that (229 MiB each).

    No room ends within an array's last pages: nothing that has a few kilobytes left can be refused.
    """
    assert child.forked(LITTLE_MEMORY).stdout == 4 * "refused\n"
