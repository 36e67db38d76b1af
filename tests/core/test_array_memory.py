"""Arrays whose memory does not lie as runtimes read it: in another byte order, or masked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import (
    PhiloxState,
    Pipeline,
    generate,
    graphs,
    make_reproducible,
    reference,
    row_states,
    split_states,
)
from onnx_philox.onnxruntime import InferenceSession
from tests.common import cli
from tests.common.cases import assert_all_same, assert_refused, assert_same_bits, pattern_of
from tests.common.foreign import evaluate, parse
from tests.common.runtimes import OpenVino, bare_session, compiled, infer
from tests.in_onnxruntime.test_onnxruntime import by_a_callback

STATE = PhiloxState(counter=2**33 + 5, key=2**40 + 42)
NOISY = make_reproducible(
    parse("""g (float[n, 5] x) => (float[n, 5] a, float[n, 5] y) {
        a = RandomNormalLike (x) y = Add (x, a) }""")
)
X = np.arange(10, dtype=np.float32).reshape(2, 5)
VALUE = ort.OrtValue.ortvalue_from_numpy
BYTE_ORDER = "in this machine's byte order, since the memory is shared"


def swapped(array: Any) -> np.ndarray:
    """The same numbers in the other byte order."""
    array = np.asarray(array)
    other = array.astype(array.dtype.newbyteorder())
    assert not other.dtype.isnative
    return other


def masked(array: Any) -> np.ndarray:
    """The array, its first number masked."""
    array = np.asarray(array)
    mask = np.zeros(array.shape, bool)
    mask.flat[0] = True
    return np.ma.masked_array(array, mask)


def generated(state: Any, minval: Any) -> list[np.ndarray]:
    out = np.empty(5, np.float32)
    maxval = np.array(9, np.float32)
    after = generate(state, out=out, minval=minval, maxval=maxval)
    return [out, after.to_array()]


def of_node(node: ov.Node) -> list[np.ndarray]:
    return [infer(compiled(ov.Model([node.output(0)], [])))[0]]


def stateful(initial: Any) -> list[np.ndarray]:
    model = OpenVino("auto").read(graphs.random_generator([5]))
    return [infer(compiled(OV.make_stateful(model, initial=initial)))[0]]


def of_model(model: onnx.ModelProto, **feed: Any) -> list[np.ndarray]:
    return InferenceSession(model).run(None, feed)


def in_reference(state: Any) -> list[np.ndarray]:
    return evaluate(graphs.random_generator([5]), {"state": state})


OV = onnx_philox.openvino
F32 = np.array(2, np.float32)
LOGITS = np.log(np.array([[1, 2, 5]], np.float32))
# What takes arrays and gives arrays, and the arrays.
CALLS = [
    (
        lambda a: [PhiloxState.from_array(a).to_array()],
        [STATE],
    ),
    (
        lambda a: [split_states(a, 3)],
        [STATE],
    ),
    (
        lambda a, b: [row_states(a, b)],
        [np.array([2**60, 3], np.uint64), np.array([7, 8])],
    ),
    (
        lambda a, b: generated(a, b),
        [STATE, F32],
    ),
    (
        lambda a, b: reference.random_generator(a, b),
        [STATE, np.array([5])],
    ),
    (
        lambda a, b, c: reference.random_uniform([5], a, b, "f32", state=c),
        [F32, F32 + 7, STATE],
    ),
    (
        lambda a, b, c: reference.random_normal([5], a, b, "f32", state=c),
        [F32, F32 + 7, STATE],
    ),
    (
        lambda a, b: reference.random_bernoulli([5], a, state=b),
        [np.linspace(0, 1, 5), STATE],
    ),
    (
        lambda a, b: reference.random_categorical(a, 9, state=b),
        [LOGITS, STATE],
    ),
    (
        lambda a, b: of_model(graphs.random_uniform([5], a, b, "f32", op_seed=3)),
        [F32, F32 + 7],
    ),
    (
        lambda a: of_model(graphs.random_categorical(a, 9, op_seed=3)),
        [LOGITS],
    ),
    (
        lambda a: in_reference(a),
        [STATE],
    ),
    (
        lambda a, b: of_node(OV.random_generator(a, b)),
        [STATE, np.array([5])],
    ),
    (
        lambda a, b: of_node(OV.random_uniform([5], a, 9, "f32", state=b)),
        [F32, STATE],
    ),
    (
        lambda a: of_node(OV.random_categorical(a, 9, op_seed=3)),
        [LOGITS],
    ),
    (
        lambda a: stateful(a),
        [STATE],
    ),
]


@pytest.mark.parametrize(("call", "arguments"), CALLS)
def test_arrays_in_another_byte_order_mean_their_numbers_and_masked_ones_are_refused(
    call: Callable[..., Any], arguments: list[Any]
) -> None:
    expected = call(*arguments)
    assert_all_same(call(*map(swapped, arguments)), expected)
    for i, argument in enumerate(arguments):
        each = [
            *arguments[:i],
            masked(argument),
            *arguments[i + 1 :],
        ]
        with pytest.raises(ValueError, match=r"must be an array without mask.*: got masked values"):
            call(*each)


def test_a_masked_array_of_which_nothing_is_masked_is_an_array() -> None:
    assert PhiloxState.from_array(np.ma.masked_array(STATE)) == STATE


@pytest.mark.parametrize("kind", ["run", "async", "sequence"])
def test_a_session_reads_arrays_in_another_byte_order(kind: str, ort_backend: str) -> None:
    if kind == "sequence":
        model = parse("g (seq(float[2]) x) => (float[4] y) {y = ConcatFromSequence <axis = 0> (x)}")
        session = InferenceSession(model, backend=ort_backend)
        x = np.array([1, 2], np.float32)
        (y,) = session.run(None, {"x": [swapped(x), swapped(x)]})
        assert_same_bits(y, np.concatenate([x, x]))
        return
    session = InferenceSession(NOISY, backend=ort_backend)
    feed = {"x": X, "random_state": STATE.to_array()}
    expected = session.run(None, feed)
    feed = {name: swapped(array) for name, array in feed.items()}
    actual = by_a_callback(session, feed) if kind == "async" else session.run(None, feed)
    assert_all_same(actual, expected)


class Session:
    """A session of a model with noise, and arrays and values for it."""

    def __init__(self, backend: str) -> None:
        self.session = InferenceSession(NOISY, backend=backend)
        self.binding = self.session.io_binding()
        self.state = STATE.to_array()
        self.other = swapped(X)
        self.values = {"x": VALUE(self.other), "random_state": VALUE(swapped(self.state))}
        self.of_int32 = VALUE(self.state.view(np.int32))

    def run(
        self,
        feed: dict[str, Any],
    ) -> list[np.ndarray]:
        return self.session.run(None, {"x": X, "random_state": self.state, **feed})


# Arrays of wrong types, shapes and names are in test_refused_input.py.
SESSIONS = [
    (
        lambda of: of.run({"x": masked(X)}),
        "the input 'x' must be an array without masked values",
    ),
    (
        lambda of: of.run({"random_state": masked(of.state)}),
        "the input 'random_state' must be an array without masked values",
    ),
    (
        lambda of: of.binding.bind_cpu_input("x", masked(X)),
        "the input 'x' must be an array without masked values",
    ),
    (
        lambda of: of.binding.bind_cpu_input("random_state", masked(of.state)),
        "'random_state' must be an array without masked",
    ),
    (
        lambda of: of.session.run(None, of.values),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.session.run_with_ort_values(None, of.values),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.binding.bind_cpu_input("x", of.other),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.binding.bind_ortvalue_input("x", of.values["x"]),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.binding.bind_ortvalue_output("x", of.values["x"]),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.binding.bind_input(
            "x", "cpu", 0, of.other.dtype, of.other.shape, of.other.ctypes.data
        ),
        "'x' must be ORDER",
    ),
    (
        lambda of: of.binding.bind_output(
            "x", "cpu", 0, of.other.dtype, of.other.shape, of.other.ctypes.data
        ),
        "must be ORDER",
    ),
    (
        lambda of: of.run({"w": 3}),
        "each input must be one of x, random_state: got 'w'. Leave it out, or",
    ),
    (
        lambda of: of.run({"x": 3}),
        "'x' must be float32: got 3. Pass an array of that type.",
    ),
    (
        lambda of: of.run({"random_state": "x"}),
        "'random_state' must be uint32: got 'x'. Pass an",
    ),
    (
        lambda of: of.run({"random_state": of.of_int32}),
        "'random_state' must be uint32: got int32. Pass an array",
    ),
]


@pytest.mark.parametrize(("call", "words"), SESSIONS)
def test_a_session_names_the_input_that_it_cannot_read(
    ort_backend: str, call: Callable[[Session], Any], words: str
) -> None:
    pattern = pattern_of(words.replace("ORDER", f"{BYTE_ORDER}: got ...f4"))
    with pytest.raises(Exception, match=pattern) as raised:
        call(Session(ort_backend))
    assert type(raised.value).__name__ == "InvalidArgument"


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_pipeline_reads_arrays_in_another_byte_order_lists_and_values(runtime: str) -> None:
    pipe = Pipeline(NOISY, runtime=runtime)
    expected = pipe({"x": X}, state=STATE)
    swapped_rows = [swapped(row) for row in X]
    for given in (swapped(X), VALUE(X), X.tolist(), [*X], tuple(X), swapped_rows):
        assert_same_bits(pipe({"x": given}, state=swapped(STATE))["y"], expected["y"])
    for call, words in (
        (lambda: pipe({"x": masked(X)}), "Pipeline: the input 'x' must be an array without mask"),
        (lambda: pipe({"x": X}, state=masked(STATE)), "Pipeline: state must be an array without m"),
        (lambda: pipe({"x": [masked(row) for row in X]}), "'x' must be an array without masked"),
        (lambda: pipe({"x": VALUE(swapped(X))}), f"'x' must be {BYTE_ORDER}: got ...f4"),
    ):
        assert_refused(call, words)


BOUND: dict[str, Callable[[ort.IOBinding], None]] = {
    "array": lambda io: io.bind_cpu_input("x", swapped(X)),
    "value": lambda io: io.bind_ortvalue_input("x", VALUE(swapped(X))),
    "output": lambda io: io.bind_ortvalue_output("y", VALUE(swapped(X))),
}
"""Ways to bind memory that ONNX Runtime misreads to its own IOBinding."""
SHOWS_VALUES = hasattr(
    ort.IOBinding(InferenceSession(NOISY, providers=["CPUExecutionProvider"])), "_bound_inputs"
)
"""Whether a binding shows the values that are bound to it; earlier releases show arrays only."""


@pytest.mark.parametrize("kind", BOUND)
def test_a_bare_binding_is_checked_before_each_run(kind: str) -> None:
    if kind != "array" and not SHOWS_VALUES:
        pytest.skip("this ONNX Runtime does not show the values that are bound")
    session = InferenceSession(NOISY)
    bare = bare_session(NOISY)
    pipe = Pipeline(bare)
    words = f"'[xy]' must be {BYTE_ORDER}: got .f4"
    for each, run in ((session, session.run_with_iobinding), (bare, lambda io: pipe(io, seed=1))):
        io = ort.IOBinding(each)
        if each is session:
            # A pipeline binds its own.
            io.bind_cpu_input("random_state", STATE.to_array())
        io.bind_cpu_input("x", X)
        for name in ("a", "y", "next_random_state"):
            io.bind_output(name)
        run(io)
        BOUND[kind](io)
        with pytest.raises(Exception, match=words):
            run(io)
        if SHOWS_VALUES:
            # What is bound instead counts alone.
            io.bind_ortvalue_input("x", VALUE(X))
            io.bind_output("y")
            run(io)


def test_generate_refuses_to_fill_memory_in_another_byte_order() -> None:
    with pytest.raises(ValueError, match=f"generate: out must be {BYTE_ORDER}: got .f8"):
        generate(STATE, out=swapped(np.empty(5)))


def test_files_of_arrays_may_be_in_another_byte_order(tmp_path: Path) -> None:
    onnx.save(NOISY, tmp_path / "model.onnx")
    given = {"x": X, "random_state": STATE.to_array()}
    said = []
    for change in (np.asarray, swapped):
        np.savez(tmp_path / "x.npz", **{key: change(array) for key, array in given.items()})
        said += [
            cli.text(
                "run",
                tmp_path / "model.onnx",
                "--input",
                tmp_path / "x.npz",
            )
        ]
    assert said[0] == said[1]
    # A file of float32 for an input of bfloat16, too.
    model = parse("g (bfloat16[2] x) => (float[2] y) { y = Cast <to = 1> (x) }")
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", swapped(np.array([1.5, -2], np.float32)))
    assert cli.text(
        "run",
        tmp_path / "model.onnx",
        "--input",
        f"x={tmp_path / 'x.npy'}",
    )
