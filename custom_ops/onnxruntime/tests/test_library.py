"""The native library in ONNX Runtime's own InferenceSession: bits and words of the reference.

    ONNX_PHILOX_ORT_LIBRARY=build/onnxruntime/libonnx_philox_onnxruntime.so pytest test_library.py

What holds in the package's session as well is in `test_onnxruntime.py` and
`test_onnxruntime_distributions.py` of `tests/in_onnxruntime/`. `run_releases.py` runs all three
with several releases of ONNX Runtime and on every instruction set.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._contract.types import BY_NAME
from tests.common import bad_calls
from tests.common.bad_calls import GOOD, INPUTS, call_of
from tests.common.bad_words import MORE_BAD_CALLS, bad_model, words_of_the_reference
from tests.common.cases import BOUNDS, TYPE_BOUNDS, assert_all_same, assert_same_bits
from tests.in_onnxruntime.test_onnxruntime_distributions import logits_of

LIBRARY = os.environ.get("ONNX_PHILOX_ORT_LIBRARY", "")
STATE = PhiloxState(2**64 - 2, 2**64 - 12345)
WORDS = STATE.to_array()
InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

# Of each type a mean and a standard deviation that round.
MOMENTS = {"f16": (-3, 0.1), "bf16": (100, 0.5), "f32": (0.1, -0.7), "f64": (0.1, 0.7)}
PROBABILITIES = [0.0, -0.0, 1e-45, 2.0**-23, 0.1, 0.5, 1 - 2.0**-24, 1.0]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {name: type_.dtype for name, type_ in BY_NAME.items()}


def options(**settings: Any) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.register_custom_ops_library(LIBRARY)
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def session_of(model: onnx.ModelProto | str, **settings: Any) -> ort.InferenceSession:
    if isinstance(model, str):
        model = parser.parse_model(HEADER + model)
    given = options(**settings)
    return ort.InferenceSession(
        model.SerializeToString(), given, providers=["CPUExecutionProvider"]
    )


HEADER = '<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>'


def array_of(value: ort.OrtValue) -> np.ndarray:
    if value.element_type() != TensorProto.BFLOAT16:
        return value.numpy()
    words = (ctypes.c_uint16 * int(np.prod(value.shape()))).from_address(value.data_ptr())
    return np.array(words, np.uint16).view(BFLOAT16).reshape(value.shape())


def run(session: ort.InferenceSession, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Like session.run, which has no bfloat16."""
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
    names = [output.name for output in session.get_outputs()]
    return [array_of(value) for value in session.run_with_ort_values(names, values)]


# Bits.


@pytest.mark.parametrize("operator", ["RandomUniform", "RandomNormal"])
@pytest.mark.parametrize("level", ["DISABLE_ALL", "ENABLE_BASIC", "ENABLE_ALL"])
@pytest.mark.parametrize("elements", [0, 33, 2049, 1_000_003])
def test_float16_values_are_the_same_between_nodes_that_run_in_float32(
    operator: str, level: str, elements: int
) -> None:
    # Some releases give such a draw float32 as well.
    text = f"""g (float16[n] x, float16 u, uint32[6] state) => (float16[n] y, uint32[6] next) {{
        size = Shape(x)
        upper = Mul(u, u)
        r, next = onnx_philox.{operator}<output_type="f16">(size, LOWER, upper, state)
        y = Mul(r, one)
    }}"""
    u, zero = np.array(1.7773, np.float16), np.array(0, np.float16)
    draw = {"RandomUniform": reference.random_uniform, "RandomNormal": reference.random_normal}
    expected = draw[operator]([elements], zero, u * u, "f16", state=WORDS)
    feeds = {"x": np.zeros(elements, np.float16), "u": u, "state": WORDS}
    level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    for lower in ("zero", "computed_zero"):
        model = parser.parse_model(HEADER + text.replace("LOWER", lower))
        if lower == "computed_zero":
            model.graph.node.insert(0, helper.make_node("Mul", ["zero", "u"], [lower]))
        for name, value in {"zero": zero, "one": np.array(1, np.float16)}.items():
            model.graph.initializer.append(numpy_helper.from_array(value, name))
        assert_all_same(
            session_of(model, graph_optimization_level=level).run(None, feeds), expected
        )


@pytest.mark.parametrize(("output_type", "minval", "maxval"), TYPE_BOUNDS)
def test_bounds_that_come_at_run_time_are_the_same(output_type, minval, maxval) -> None:
    low, high = (np.array(x, DTYPES[output_type]) for x in (minval, maxval))
    model = graphs.random_uniform(None, None, None, output_type, rank=1, stateful=True)
    feeds = {"shape": np.array([33]), "state": STATE.to_array()}
    if output_type == "bf16":  # older releases take none as an input
        low, high = low.view(np.uint16), high.view(np.uint16)
        add_bfloat16_inputs(model, minval=low, maxval=high)
    else:
        feeds |= {"minval": low, "maxval": high}
    expected = reference.random_uniform(
        [33],
        low.view(DTYPES[output_type]),
        high.view(DTYPES[output_type]),
        output_type,
        state=STATE.to_array(),
    )
    assert_all_same(run(session_of(model), feeds), expected)


@pytest.mark.parametrize("outputs", ["y", "y, mask", "y, mask, next"])
@pytest.mark.parametrize("shape", ["[2, 6]", "[B, 6]", "[n, m]", ""])
def test_a_dropout_has_the_shape_of_its_data_and_as_many_outputs_as_it_likes(
    outputs: str, shape: str
) -> None:
    """Some releases end the process where the shape of an output is told that a node lacks."""
    session = session_of(f"""g (float{shape} x, float ratio, uint32[6] state, int64[k] size)
        => (float{shape} z) {{
        data = Reshape (x, size)
        {outputs} = onnx_philox.RandomDropout (data, ratio, state)
        same = Shape (y)
        z = Reshape (y, same)
    }}""")
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)
    ratio, size = np.array(0.3, np.float32), np.array([2, 6])
    feeds = {"x": x, "ratio": ratio, "state": WORDS, "size": size}
    expected, *_ = reference.random_dropout(x, ratio, state=WORDS)
    assert_same_bits(session.run(None, feeds)[0], expected)


def test_an_attribute_gives_a_type_that_nothing_declares() -> None:
    """Inside the graph, and of a batch that only a run tells."""
    session = session_of("""g (float[B, C] logits, uint32[6] state) => (int64[B, 2] y) {
        i, s = onnx_philox.RandomCategorical <sample_size = 2, output_type = "i64"> (logits, state)
        j = onnx_philox.RandomCategorical <sample_size = 2> (logits, s)
        k = Cast <to = 7> (j)
        y = Add (i, k)
    }""")
    for rows in (2, 5, 2):
        logits = logits_of(rows, 6)
        (y,) = session.run(None, {"logits": logits, "state": WORDS})
        i, s = reference.random_categorical(logits, 2, "i64", state=WORDS)
        assert_same_bits(y, i + reference.random_categorical(logits, 2, state=s)[0])


def add_bfloat16_inputs(model: onnx.ModelProto, **bits: np.ndarray) -> None:
    """Makes bfloat16 graph inputs the results of nodes that are not folded away."""
    graph = model.graph
    for graph_input in [i for i in graph.input if i.name in bits]:
        graph.input.remove(graph_input)
        name = graph_input.name
        tensor = helper.make_tensor(
            f"{name}_bits", TensorProto.BFLOAT16, [1], bits[name].tobytes(), raw=True
        )
        graph.initializer.append(tensor)
        one = numpy_helper.from_array(np.array([1], np.int64), f"{name}_shape")
        graph.initializer.append(one)
        # Its shape comes from an input, so that it is no constant.
        graph.node.insert(0, helper.make_node("Reshape", [f"{name}_bits", f"{name}_as"], [name]))
        graph.node.insert(
            0, helper.make_node("Mul", ["shape_of_shape", f"{name}_shape"], [f"{name}_as"])
        )
    graph.node.insert(0, helper.make_node("Shape", ["shape"], ["shape_of_shape"]))


@pytest.mark.parametrize("output_type", [None, *BOUNDS])
def test_every_length_of_bits_and_uniform_values_equals_the_reference(
    output_type: str | None,
) -> None:
    """Also those that are split over threads, and that do not split evenly."""
    if output_type is None:
        session = session_of(graphs.random_generator(None, rank=1), intra_op_num_threads=3)
    else:
        low, high = BOUNDS[output_type][1]
        model = graphs.random_uniform(None, low, high, output_type, rank=1, stateful=True)
        session = session_of(model, intra_op_num_threads=3)
    for length in [*range(70), 1023, 2**14 + 1, 2**15 + 7, 2**17 - 3, 300_001]:
        feeds = {"state": STATE.to_array(), "shape": np.array([length])}
        if output_type is None:
            expected = reference.random_generator(STATE.to_array(), [length])
        else:
            expected = reference.random_uniform(
                [length], low, high, output_type, state=STATE.to_array()
            )
        assert_all_same(run(session, feeds), expected)


LENGTHS = [*range(70), 1023, 2**14 + 1, 2**15 + 7, 2**17 - 3, 300_001]


@pytest.mark.parametrize("output_type", MOMENTS)
def test_every_length_of_normal_values_equals_the_reference(output_type: str) -> None:
    mean, scale = MOMENTS[output_type]
    model = graphs.random_normal(None, mean, scale, output_type, rank=1, stateful=True)
    session = session_of(model, intra_op_num_threads=3)
    for length in LENGTHS:
        expected = reference.random_normal([length], mean, scale, output_type, state=WORDS)
        assert_all_same(run(session, {"state": WORDS, "shape": np.array([length])}), expected)


@pytest.mark.parametrize("p_type", ["f32", "f64"])
@pytest.mark.parametrize("per_element", [False, True])
def test_every_length_of_booleans_equals_the_reference(p_type: str, per_element: bool) -> None:
    model = graphs.random_bernoulli(
        None, None, p_type=p_type, per_element=per_element, rank=1, stateful=True
    )
    session = session_of(model, intra_op_num_threads=3)
    for length in LENGTHS:
        p = np.resize(np.array(PROBABILITIES, DTYPES[p_type]), length) if per_element else 0.3
        p = np.asarray(p, DTYPES[p_type])
        expected = reference.random_bernoulli([length], p, state=WORDS)
        feeds = {"state": WORDS, "shape": np.array([length]), "p": p}
        assert_all_same(run(session, feeds), expected)


@pytest.mark.parametrize("sample_size", [1, 3, 70])
def test_every_number_of_rows_of_classes_equals_the_reference(sample_size: int) -> None:
    model = graphs.random_categorical(None, sample_size, stateful=True)
    session = session_of(model, intra_op_num_threads=3)
    for rows in [*range(20), 1023, 20_001 // sample_size]:
        for classes in (1, 2, 9):
            logits = logits_of(rows, classes)
            expected = reference.random_categorical(logits, sample_size, state=WORDS)
            assert_all_same(run(session, {"state": WORDS, "logits": logits}), expected)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 1, 6), (1,) * 7 + (6,)])
def test_a_next_state_has_the_shape_of_its_state(shape: tuple[int, ...]) -> None:
    dims = ", ".join(["?"] * len(shape))
    session = session_of(f"""g (uint32[{dims}] state) => (uint32[3] y, uint32[{dims}] after) {{
        shape = Constant <value_ints = [3]> ()
        y, after = onnx_philox.RandomGenerator (state, shape)
    }}""")
    state = STATE.to_array().reshape(shape)
    assert_all_same(run(session, {"state": state}), reference.random_generator(state, [3]))


def test_without_state_the_next_state_is_zeros_advanced() -> None:
    session = session_of("""g (int64[1] n, float a, float b) => (float[?] y, uint32[6] after) {
        y, after = onnx_philox.RandomUniform <output_type = "f32", op_seed = 5> (n, a, b)
    }""")
    feeds = {"n": np.array([9]), "a": np.array(0, np.float32), "b": np.array(1, np.float32)}
    assert_all_same(run(session, feeds), reference.random_uniform([9], 0, 1, "f32", op_seed=5))


def test_nodes_in_functions_of_the_model_draw_the_same() -> None:
    """ONNX Runtime infers no types of custom operators in functions: the model declares them."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1, "m": 1]>
    g (uint32[6] state) => (uint32[3] y, uint32[3] z) <uint32[6] s, uint32[6] t> {
        y, s = m.draw (state)
        z, t = m.draw (s)
    }
    <domain: "m", opset_import: ["": 17, "onnx_philox": 1]>
    draw (state) => (bits, next) {
        shape = Constant <value_ints = [3]> ()
        bits, next = onnx_philox.RandomGenerator (state, shape)
    }""")
    y, z = session_of(model).run(None, {"state": STATE.to_array()})
    first, after = reference.random_generator(STATE.to_array(), [3])
    assert_same_bits(y, first)
    assert_same_bits(z, reference.random_generator(after, [3])[0])


# Memory: what is written, and nothing else.


@pytest.mark.parametrize("output_type", [None, *BOUNDS])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_exactly_the_output_is_written_at_odd_lengths_and_offsets(output_type, offset) -> None:
    if output_type == "bf16" and ort.__version__.startswith("1.19."):
        pytest.skip("ONNX Runtime 1.19 binds no memory of bfloat16 from Python")
    if output_type is None:
        session = session_of(graphs.random_generator(None, rank=1), intra_op_num_threads=2)
        onnx_type, name, dtype = TensorProto.UINT32, "bits", np.dtype(np.uint32)
    else:
        low, high = BOUNDS[output_type][1]
        model = graphs.random_uniform(None, low, high, output_type, rank=1, stateful=True)
        session = session_of(model, intra_op_num_threads=2)
        name, dtype = "values", DTYPES[output_type]
        onnx_type = helper.np_dtype_to_tensor_dtype(dtype)
    # Elements at their own alignment, as ONNX Runtime has them.
    before = 64 + offset * dtype.itemsize
    for length in (1, 7, 16, 33, 100, 40_001):
        for poison in (0xCA, 0x35):
            memory = np.full(before + length * dtype.itemsize + 64, poison, np.uint8)
            binding = session.io_binding()
            binding.bind_cpu_input("state", STATE.to_array())
            binding.bind_cpu_input("shape", np.array([length]))
            given_type = dtype if output_type != "bf16" else onnx_type
            binding.bind_output(name, "cpu", 0, given_type, [length], memory.ctypes.data + before)
            session.run_with_iobinding(binding)
            if output_type is None:
                expected, _ = reference.random_generator(STATE.to_array(), [length])
            else:
                expected, _ = reference.random_uniform(
                    [length], low, high, output_type, state=STATE.to_array()
                )
            end = before + length * dtype.itemsize
            assert memory[before:end].tobytes() == expected.tobytes()
            assert (memory[:before] == poison).all()
            assert (memory[end:] == poison).all()


def distribution(operator: str, rows: int) -> tuple[onnx.ModelProto, dict, tuple]:
    """A model of the operator, what to feed it beside a state, and what it then draws."""
    if operator == "RandomNormal":
        expected = reference.random_normal([rows], 1, 2, "f32", state=WORDS)
        return graphs.random_normal([rows], 1, 2, "f32", stateful=True), {}, expected
    if operator == "RandomBernoulli":
        p = np.resize(np.float32(PROBABILITIES), rows)
        expected = reference.random_bernoulli([rows], p, state=WORDS)
        model = graphs.random_bernoulli([rows], None, per_element=True, stateful=True)
        return model, {"p": p}, expected
    logits = logits_of(rows, 4)
    expected = reference.random_categorical(logits, 3, "i64", state=WORDS)
    return graphs.random_categorical(None, 3, "i64", stateful=True), {"logits": logits}, expected


@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("operator", ["RandomNormal", "RandomBernoulli", "RandomCategorical"])
def test_exactly_the_values_of_a_distribution_are_written(operator: str, offset: int) -> None:
    for rows in (1, 7, 33, 20_001):
        model, feeds, (values, _) = distribution(operator, rows)
        before = 64 + offset * values.itemsize
        memory = np.full(before + values.nbytes + 64, 0xCA, np.uint8)
        session = session_of(model, intra_op_num_threads=2)
        binding = session.io_binding()
        bind_inputs(binding, {"state": WORDS, **feeds})
        address = memory.ctypes.data + before
        binding.bind_output("values", "cpu", 0, values.dtype, list(values.shape), address)
        session.run_with_iobinding(binding)
        assert memory[before : before + values.nbytes].tobytes() == values.tobytes()
        assert (memory[:before] == 0xCA).all()
        assert (memory[before + values.nbytes :] == 0xCA).all()


GOOD_FEEDS = {"state": STATE.to_array(), "shape": np.array([4])}
BAD_FEEDS = {**GOOD_FEEDS, "shape": np.array([-4])}
EXPECTED = reference.random_generator(STATE.to_array(), [4])
REFUSED = "RandomGenerator: input 'shape' must be dimensions of 0 or more: got \\[-4\\]"


@pytest.fixture(scope="module")
def dynamic_session() -> ort.InferenceSession:
    return session_of(graphs.random_generator(None, rank=1))


def bind_inputs(binding: ort.IOBinding, feeds: dict[str, np.ndarray]) -> None:
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)


def test_a_state_bound_as_input_and_output_goes_on_from_run_to_run(dynamic_session) -> None:
    state = ort.OrtValue.ortvalue_from_numpy(STATE.to_array())
    binding = dynamic_session.io_binding()
    binding.bind_ortvalue_input("state", state)
    binding.bind_cpu_input("shape", np.array([8]))
    binding.bind_output("bits")
    binding.bind_ortvalue_output("next_state", state)
    runs = []
    for _ in range(5):
        dynamic_session.run_with_iobinding(binding)
        runs.append(binding.copy_outputs_to_cpu()[0])
    assert_same_bits(np.concatenate(runs), reference.random_generator(STATE.to_array(), [40])[0])


@pytest.mark.parametrize("bound", ["bits", "next_state"])
def test_a_refused_run_writes_nothing(dynamic_session, bound: str) -> None:
    """Also where ONNX Runtime refuses one output's memory: then the other is left alone."""
    binding = dynamic_session.io_binding()
    kept = {
        "bits": np.full(4, 0xCACACACA, np.uint32),
        "next_state": np.full(6, 0xCACACACA, np.uint32),
    }
    wrong = {**kept, bound: np.zeros(5, np.uint32)}
    bind_inputs(binding, GOOD_FEEDS)
    for name, array in wrong.items():
        binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))
    with pytest.raises(Exception, match=r"shape|dimensions"):
        dynamic_session.run_with_iobinding(binding)
    bind_inputs(binding, BAD_FEEDS)
    for name, array in kept.items():
        binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))
    with pytest.raises(RuntimeError, match=REFUSED):  # what ONNX Runtime raises here for anything
        dynamic_session.run_with_iobinding(binding)
    assert all((array == 0xCACACACA).all() for array in kept.values())


def test_bound_memory_of_another_type_is_an_error(dynamic_session) -> None:
    binding = dynamic_session.io_binding()
    bind_inputs(binding, GOOD_FEEDS)
    binding.bind_ortvalue_output("bits", ort.OrtValue.ortvalue_from_numpy(np.zeros(4, np.float32)))
    binding.bind_output("next_state")
    with pytest.raises(Exception, match="Unexpected output data type"):
        dynamic_session.run_with_iobinding(binding)


def test_declared_dimensions_that_are_wrong_give_an_error_or_the_right_values() -> None:
    """ONNX Runtime plans memory from them, and hands it out again for values of one shape."""
    session = session_of("""
    g (uint32[6] s, int64[1] a, int64[1] b) => (float[K] z)
      <float lo = {0}, float hi = {1}, float[N] x, float[N] y> {
        x = onnx_philox.RandomUniform <output_type = "f32"> (a, lo, hi, s)
        x1 = Neg (x)
        x2 = ReduceMax <keepdims = 1> (x1)
        y = onnx_philox.RandomUniform <output_type = "f32"> (b, lo, hi, s)
        y1 = Neg (y)
        z = Add (y1, x2)
    }""")
    refused = 0
    for a, b in ((5, 5), (5, 7), (7, 5), (100, 1)):
        feeds = {"s": STATE.to_array(), "a": np.array([a]), "b": np.array([b])}
        x, y = (reference.random_uniform([n], 0, 1, "f32", state=WORDS)[0] for n in (a, b))
        try:
            assert_same_bits(session.run(None, feeds)[0], -y + np.max(-x))
        except Exception as error:  # the class differs from release to release
            assert "re-use buffer" in str(error)  # noqa: PT017
            refused += 1
    assert refused < 4


MEMORY = """
import resource, sys, numpy as np, onnxruntime as ort
from onnx_philox import PhiloxState, graphs
options = ort.SessionOptions()
options.register_custom_ops_library(sys.argv[1])
model = graphs.random_uniform(None, 0, 1, "f32", rank=1, global_seed=1)
session = ort.InferenceSession(model.SerializeToString(), options)
output = np.ones(2**25, np.float32)
def run(n):
    binding = session.io_binding()
    binding.bind_cpu_input("shape", np.array([n]))
    binding.bind_output("values", "cpu", 0, np.float32, [n], output.ctypes.data)
    session.run_with_iobinding(binding)
run(2**20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run(2**25)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_memory_grows_with_the_output() -> None:
    kilobytes = int(in_process(MEMORY, LIBRARY).stdout)
    assert kilobytes < 8192


def test_sessions_are_made_and_dropped_from_eight_threads() -> None:
    model = graphs.random_generator([4])

    def work(_: int) -> None:
        session = session_of(model)
        assert_all_same(session.run(None, {"state": STATE.to_array()}), EXPECTED)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    gc.collect()


def test_several_sessions_share_one_options_object_and_outlive_it() -> None:
    shared = options()
    model = graphs.random_generator([4]).SerializeToString()
    sessions = [ort.InferenceSession(model, shared) for _ in range(3)]
    del sessions[0], shared
    gc.collect()
    for session in sessions:
        assert_all_same(session.run(None, {"state": STATE.to_array()}), EXPECTED)


def test_an_input_left_out_before_another_is_refused_by_an_old_release() -> None:
    model = """g (float[2, 3] logits) => (int64[2, 1] token) <int64 top_k = {2}> {
        token = onnx_philox.RandomToken <op_seed = 3> (logits, , top_k)
    }"""
    if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 24):
        # Its shape inference would end the process.
        with pytest.raises(Exception, match=r"RandomToken.* has input size 3 not in range"):
            session_of(model)
        return
    logits = np.float32([[0, 1, 2], [2, 1, 0]])
    (token,) = session_of(model).run(None, {"logits": logits})
    assert_same_bits(token, reference.random_token(logits, top_k=2, op_seed=3)[0])


# Bad input: the words are those of the Python package, whole.

# Its overloads are two nodes, and ONNX Runtime says itself that a third type is of neither.
IN_ONNX_RUNTIME_S_WORDS = {("RandomDropout", "ratio of another type")}
BAD_CALLS = [
    (operator, call_of(operator, what)[0])
    for operator, what in bad_calls.CASES
    if (operator, what) not in IN_ONNX_RUNTIME_S_WORDS
]
BAD_CALLS += MORE_BAD_CALLS


def without_memory(text: str) -> str:
    """The free memory is another at every look."""
    return re.sub(r"the [\d,]+ bytes of memory", "the bytes of memory", text)


@pytest.mark.parametrize("number", range(len(BAD_CALLS)))
@pytest.mark.parametrize("constant", [True, False])
def test_bad_input_is_refused_in_the_words_of_the_python_package(
    number: int, constant: bool
) -> None:
    operator, call = BAD_CALLS[number]
    words = words_of_the_reference(operator, call)
    feeds = {} if constant else {n: np.asarray(call[n]) for n in INPUTS[operator] if n in call}
    session = None
    # Whichever of the two it is; the type is looked at below.
    with pytest.raises(Exception) as raised:  # noqa: PT011, PT012
        session = session_of(bad_model(operator, call, constant=constant))
        session.run(None, feeds)
    assert without_memory(words) in without_memory(str(raised.value))
    if session is not None:
        assert isinstance(raised.value, InvalidArgument)


def test_what_constants_show_is_refused_at_load() -> None:
    for operator, call in BAD_CALLS:
        if "memory" in words_of_the_reference(operator, call):
            continue  # the model may be prepared on another machine
        with pytest.raises(Exception, match=operator):
            session_of(bad_model(operator, call, constant=True))


def test_a_state_of_another_type_is_refused_by_onnxruntime_itself() -> None:
    call = GOOD["RandomUniform"] | {"state": WORDS.astype(np.int64)}
    with pytest.raises(Exception, match="RandomUniform"):
        session_of(bad_model("RandomUniform", call, constant=False))


def test_an_unknown_length_of_the_shape_is_checked_at_run_time() -> None:
    session = session_of("""g (uint32[6] s, int64[K] n) => (uint32 y) {
        bits = onnx_philox.RandomGenerator (s, n)
        size = Size (bits)
        y = Cast <to = 12> (size)
    }""")
    for shape in ([], [3, 4], [2] * 8):
        (size,) = session.run(None, {"s": WORDS, "n": np.array(shape, np.int64)})
        assert size == np.prod(shape)
    with pytest.raises(InvalidArgument, match="of 0 to 8 dimensions: got 9 dimensions"):
        session.run(None, {"s": WORDS, "n": np.ones(9, np.int64)})


# The process.


def in_process(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done


REGISTER = """
import sys, onnxruntime as ort
try:
    ort.SessionOptions().register_custom_ops_library(sys.argv[1])
    print("registered")
except Exception as error:
    print(error)
"""


def test_an_instruction_set_that_is_not_there_is_refused_when_registering() -> None:
    text = in_process(REGISTER, LIBRARY, ONNX_PHILOX_ISA="z80").stdout
    assert "ONNX_PHILOX_ISA" in text
    assert "z80" in text
    assert in_process(REGISTER, LIBRARY, ONNX_PHILOX_ISA="scalar").stdout == "registered\n"


WARNINGS = """
import sys, numpy as np, onnxruntime as ort
from onnx import parser
from onnx_philox import PhiloxState, graphs
def session_of(model):
    options = ort.SessionOptions()
    options.register_custom_ops_library(sys.argv[1])
    return ort.InferenceSession(model.SerializeToString(), options)
state = PhiloxState(1, 2).to_array()
session = session_of(graphs.random_generator(None, rank=2))
for shape in ([2, 3], [3, 2], [0, 5]):
    session.run(None, {"state": state, "shape": np.array(shape)})
session = session_of(parser.parse_model('''<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    g (uint32[6] s, int64[2] a, int64[2] b) => (float[K] z) <float lo = {0}, float hi = {1}> {
        x, t = onnx_philox.RandomUniform <output_type = "f32"> (a, lo, hi, s)
        x1 = Neg (x)
        x2 = ReduceSum <keepdims = 0> (x1)
        y, u = onnx_philox.RandomUniform <output_type = "f32"> (b, lo, hi, t)
        y1 = Relu (y)
        y2 = Neg (y1)
        y3 = ReduceMax <axes = [1], keepdims = 0> (y2)
        z = Add (y3, x2)
    }'''))
for a, b in (([2, 3], [3, 4]), ([3, 3], [3, 3]), ([100, 3], [1, 1])):
    session.run(None, {"s": state, "a": np.array(a), "b": np.array(b)})
session = session_of(parser.parse_model('''<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1]>
    g (uint32[6] s, float[B, C] x, int64[K] a) => (int32[?, 3] y, int64[?, 3] z) {
        i, t = onnx_philox.RandomCategorical <sample_size = 3> (x, s)
        y = Neg (i)
        x2 = Reshape (x, a)
        j = onnx_philox.RandomCategorical <sample_size = 3, output_type = "i64"> (x2, t)
        z = Neg (j)
    }'''))
for rows in (2, 6, 2):
    feeds = {"s": state, "x": np.zeros((rows, 4), np.float32), "a": np.array([rows * 2, 2])}
    session.run(None, feeds)
"""


def test_nothing_is_logged_as_a_warning() -> None:
    lines = in_process(WARNINGS, LIBRARY).stderr.splitlines()
    # About the machine, not about us: ONNX Runtime without a GPU says so in some places.
    assert [line for line in lines if re.search(r"\[[WE]:", line) and "device" not in line] == []


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils' nm")
def test_the_library_exports_what_its_headers_say() -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    )
    header = (Path(__file__).parents[2] / "c" / "onnx_philox.h").read_text()
    functions = set(re.findall(r"^ONNX_PHILOX_API .*?(onnx_philox_\w+)\(", header, re.MULTILINE))
    exported = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert exported == functions | {"RegisterCustomOps", "RegisterCustomOpsCuda"}
    assert "onnx_philox_fill" in functions
