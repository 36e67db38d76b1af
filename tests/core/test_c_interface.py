"""Draws without a session, by the functions of `custom_ops/c/onnx_philox.h`, as C calls them."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ctypes import POINTER, c_char_p, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import onnx_philox
from onnx_philox import PhiloxState, TorchState, reference
from onnx_philox._contract import checks
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.operators import OPERATORS
from tests.common import bad_calls, child
from tests.common.cases import DTYPES, assert_all_same, assert_same_bits

INVALID = 1
CHECKED = 1


class Input(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("type", c_char_p),
        ("shape", POINTER(c_int64)),
        ("rank", c_size_t),
        ("data", c_void_p),
    )


class Attribute(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("text", c_char_p), ("integer", c_int64))


class Output(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("bytes", c_size_t))


class Call(ctypes.Structure):
    _fields_ = (
        ("version", c_uint32),
        ("flags", c_uint32),
        ("op_type", c_char_p),
        ("inputs", POINTER(Input)),
        ("input_count", c_size_t),
        ("attributes", POINTER(Attribute)),
        ("attribute_count", c_size_t),
        ("outputs", POINTER(Output)),
        ("output_count", c_size_t),
    )


class Part(ctypes.Structure):
    _fields_ = (("state", c_uint32 * 6), ("bytes", c_uint64))


LIBRARY = ctypes.CDLL(onnx_philox.onnxruntime.library_path())
LIBRARY.onnx_philox_operator.restype = c_char_p
LIBRARY.onnx_philox_isa.restype = c_char_p
NAMES = {dtype: name for name, dtype in DTYPES.items()}
NAMES |= {np.dtype(f"{n[0]}{int(n[1:]) // 8}"): n for n in ("i8", "u8", "i16", "u16", "u64")}


def input_of(name: str, array: np.ndarray) -> Input:
    type_ = NAMES.get(array.dtype, "string")
    shape = (c_int64 * array.ndim)(*array.shape)
    data = array.ctypes.data if array.size else None
    return Input(name.encode(), type_.encode(), shape, array.ndim, data)


def attribute_of(name: str, value: int | str) -> Attribute:
    if isinstance(value, str):
        return Attribute(name.encode(), value.encode(), 0)
    return Attribute(name.encode(), None, value)


def output_of(array: np.ndarray | None) -> Output:
    return Output(None, 0) if array is None else Output(array.ctypes.data, array.nbytes)


def call_of(
    operator: str,
    inputs: dict[str, np.ndarray],
    attributes: dict[str, Any],
    outputs: Sequence[np.ndarray | None] = (),
    flags: int = 0,
) -> Call:
    parts = (
        (Input, [input_of(*one) for one in inputs.items()]),
        (Attribute, [attribute_of(*one) for one in attributes.items()]),
        (Output, list(map(output_of, outputs))),
    )
    arrays = [(kind * len(given))(*given) for kind, given in parts]
    call = Call(
        2,
        flags,
        operator.encode(),
        *(x for array in arrays for x in (array, len(array))),
    )
    call.kept = inputs, outputs
    return call


def status_of(
    function: Callable[..., int],
    *arguments: Any,
) -> tuple[int, str]:
    text = ctypes.create_string_buffer(2000)
    return function(*arguments, text, c_size_t(2000)), text.value.decode()


def run(call: Call) -> tuple[int, str]:
    return status_of(LIBRARY.onnx_philox_run, ctypes.byref(call))


STATE = PhiloxState(2**64 - 1, key=42)
SHAPE = np.array([3, 5])
ZERO = np.zeros((), np.float32)
ONE = np.ones((), np.float32)


def uniform_inputs(
    state: np.ndarray,
    shape: np.ndarray = SHAPE,
) -> dict[str, np.ndarray]:
    return {"shape": shape, "minval": ZERO, "maxval": ONE, "state": state}


def test_the_library_opens_without_a_runtime_and_without_the_package() -> None:
    program = f"""
import ctypes, sys
library = ctypes.CDLL({onnx_philox.onnxruntime.library_path()!r})
library.onnx_philox_isa.restype = ctypes.c_char_p
print(library.onnx_philox_isa(None, 0).decode(), "numpy" in sys.modules)
maps = open("/proc/self/maps").read() if sys.platform == "linux" else ""
assert "libonnxruntime.so" not in maps and "openvino.so" not in maps
"""
    done = child.python("-I", "-S", "-c", program)
    expected = [LIBRARY.onnx_philox_isa(None, c_size_t(0)).decode(), "False"]
    assert done.stdout.split() == expected


def test_the_c_interface_names_every_operator() -> None:
    names = [LIBRARY.onnx_philox_operator(c_size_t(i)) for i in range(len(OPERATORS))]
    assert {name.decode() for name in names} == set(OPERATORS)
    assert LIBRARY.onnx_philox_operator(c_size_t(len(OPERATORS))) is None


@pytest.mark.parametrize("operator", sorted(bad_calls.GOOD))
def test_an_operator_draws_what_the_reference_draws(operator: str) -> None:
    op = OPERATORS[operator]
    call = bad_calls.GOOD[operator]
    names = bad_calls.INPUTS[operator]
    arrays = {n: np.asarray(call[n]) for n in names if call.get(n) is not None}
    attributes = {n: v for n, v in call.items() if n not in names}
    *expected, after = getattr(reference, op.function)(**arrays, **attributes)
    outputs = [np.empty_like(array) for array in (*expected, after)]
    assert run(call_of(operator, arrays, attributes, outputs)) == (0, "")
    assert_all_same(outputs, (*expected, after))
    # The next state alone.
    outputs[-1][...] = 0
    wanted = [*[None] * len(expected), outputs[-1]]
    assert run(call_of(operator, arrays, attributes, wanted)) == (0, "")
    assert_same_bits(outputs[-1], after)


def expressible(operator: str, what: str) -> bool:
    """Whether the structs can say a bad call: attributes are texts and integers."""
    call, _ = bad_calls.call_of(operator, what)
    others = (v for n, v in call.items() if n not in bad_calls.INPUTS[operator] and v is not None)
    return all(isinstance(v, str) or (isinstance(v, int) and -(2**63) <= v < 2**63) for v in others)


BAD = [case for case in bad_calls.CASES if expressible(*case)]


def test_most_bad_calls_can_be_made() -> None:
    assert len(BAD) > 120


@pytest.mark.parametrize(("operator", "what"), BAD)
def test_a_bad_call_is_refused_in_python_s_words(operator: str, what: str) -> None:
    call, _ = bad_calls.call_of(operator, what)
    names = bad_calls.INPUTS[operator]
    arrays = {n: np.asarray(call[n], order="C") for n in names if n in call and call[n] is not None}
    attributes = {n: v for n, v in call.items() if n not in names and v is not None}
    told = ""
    try:
        known = {name: Known.array(array) for name, array in arrays.items()}
        checks.check_node(OPERATORS[operator], known, attributes)
    except (TypeError, ValueError) as error:
        told = str(error)
    plain = {n: int(v) if isinstance(v, bool) else v for n, v in attributes.items()}
    status, text = run(call_of(operator, arrays, plain))
    if any(array.ndim > 8 for array in arrays.values()):
        assert status == INVALID  # before its role is known
        assert "of 0 to 8 dimensions" in text
    else:
        assert (status, text) == (INVALID if told else 0, told)


OUT = np.zeros(15, np.float32)
WORDS = np.zeros(48, np.uint32)[16:22]  # apart from what else lies in the process's memory
WORDS[:] = STATE.to_array()
ROWS = np.stack([WORDS] * 3)
UNALIGNED = np.zeros(25, np.uint8)[1:]
IN_DATA = np.zeros(30, np.float32)
OWN = "must be in memory of its own: got memory of"
MANY = 2**64 - 1
# Where in a call of RandomUniform, what is put there, and the refusal.
BAD_MEMORY: list[tuple[str, Any, str]] = [
    ("version", 1, "version must be 2: got 1."),
    ("version", 3, "version must be 2: got 3."),
    ("op_type", b"Random", "op_type must be an operator"),
    ("op_type", None, "op_type must be an operator"),
    ("inputs", None, "inputs must be an array of as many as"),
    ("outputs", None, "outputs must be an array of as many as"),
    ("attributes", None, "attributes must be an array of"),
    # A flag of a later release.
    ("flags", 6, "must be 0 or ONNX_PHILOX_NUMBERS_ARE_CHECKED: got 6. A later release may"),
    ("input_count", MANY, f"the inputs must be at most 4: got {MANY}."),
    ("attribute_count", MANY, f"the attributes must be at most 4: got {MANY}."),
    ("output_count", MANY, f"the outputs must be at most 2: got {MANY}."),
    ("output_count", 3, "the outputs must be at most 2: got 3."),
    ("input_count", 2, "input 'maxval' must be connected"),
    ("inputs.1.name", b"shape", "must be given once: got two of them"),
    ("inputs.0.shape", None, "given with its shape: got no shape. Point to its dimensions."),
    ("inputs.0.data", None, "given with its data: got no data. Point to its first element."),
    ("inputs.3.rank", 9, "of 0 to 8 dimensions: got 9"),
    (
        "inputs.3.shape",
        (c_int64 * 1)(-1),
        "must be dimensions of 0 or more: got [-1]",
    ),
    ("inputs.3.type", b"u33", "got type 'u33'"),
    ("inputs.3.type", None, "got type ''"),
    ("inputs.3.name", b"seed", "got 'seed'"),
    ("inputs.3.name", None, "got ''"),
    ("inputs.3.data", UNALIGNED.ctypes.data, "input 'state' must be at a multiple of 4 bytes"),
    ("attributes.0.name", b"seed", "got 'seed'"),
    ("attributes.1.name", None, "one of output_type, global_seed, op_seed, alignment: got ''"),
    ("attributes.1.name", b"output_type", "'output_type' must be given once: got two of them"),
    # Too little memory, too much, or none that is aligned.
    ("outputs.0.bytes", 59, "output 'values' must be 60 bytes: got 59 bytes."),
    ("outputs.0.bytes", 64, "output 'values' must be 60 bytes: got 64 bytes."),
    ("outputs.1.bytes", 20, "output 'next_state' must be 24 bytes: got 20 bytes."),
    ("outputs.1.data", 3, "output 'next_state' must be at a multiple of 4 bytes"),
    ("outputs.1.data", UNALIGNED.ctypes.data, "output 'next_state' must be at a multiple of 4 b"),
    # Memory of another one.
    (
        "outputs.0.data",
        WORDS.ctypes.data - 8,
        f"output 'values' {OWN} input 'state'",
    ),
    (
        "outputs.1.data",
        WORDS.ctypes.data + 4,
        f"output 'next_state' {OWN} input 'state'",
    ),
    (
        "outputs.1.data",
        OUT.ctypes.data + 56,
        f"output 'next_state' {OWN} output 'values'",
    ),
]


@pytest.mark.parametrize(
    ("place", "value", "text"),
    BAD_MEMORY,
    ids=[row[0] for row in BAD_MEMORY],
)
def test_what_would_harm_memory_is_refused(place: str, value: Any, text: str) -> None:
    after = np.zeros(6, np.uint32)
    for flags in (0, CHECKED):
        attributes = {"output_type": "f32", "op_seed": 0}
        call = call_of("RandomUniform", uniform_inputs(WORDS), attributes, [OUT, after], flags)
        *path, name = place.split(".")
        struct: Any = getattr(call, path[0])[int(path[1])] if path else call
        setattr(struct, name, value)
        status, told = run(call)
        assert status == INVALID
        assert text in told
        assert not OUT.any()
        assert not after.any()


GOOD = ctypes.byref(call_of("RandomGenerator", {}, {}))
DRAWING = ctypes.byref(call_of("RandomGenerator", {}, {"op_seed": 1}, [OUT]))
HANDLE = ctypes.byref(c_void_p())
ONE_SEED = (c_uint64 * 1)(3)
A_STATE = (c_uint32 * 632)()
NULLS: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "no call": ("run", (None,), "the call must be an onnx_philox_call: got NULL."),
    "no call to prepare": ("prepare", (None, HANDLE), "must be an onnx_philox_call: got NULL."),
    "no place": ("prepare", (GOOD, None), "prepared must be a place for the draw: got NULL"),
    "an output": ("prepare", (DRAWING, HANDLE), "be none: got 1. A prepared draw gets its mem"),
    "no numbers": ("memory", (b"", None), "numbers must be a place for three numbers"),
    "no root": (
        "memory",
        (None, (c_uint64 * 3)()),
        "",
    ),
    "no seeds": (
        "torch_states",
        (None, c_size_t(1), A_STATE),
        "seeds must be an array of as many",
    ),
    "no states": (
        "torch_states",
        (ONE_SEED, c_size_t(2**60), None),
        "got 1152921504606846976 of",
    ),
    "no count": (
        "torch_states",
        (None, c_size_t(0), None),
        "",
    ),
    "all": (
        "torch_states",
        (ONE_SEED, c_size_t(1), A_STATE),
        "",
    ),
}


@pytest.mark.parametrize("what", NULLS)
def test_a_function_refuses_each_pointer_that_is_null(what: str) -> None:
    name, arguments, told = NULLS[what]
    function = getattr(LIBRARY, f"onnx_philox_{name}")
    status, text = status_of(function, *arguments)
    expected = (INVALID if told else 0, True)
    assert (status, told in text) == expected
    assert function(*arguments, None, c_size_t(100)) == status


def test_names_past_the_last_are_null() -> None:
    for name in ("operator", "isa_here"):
        function = getattr(LIBRARY, f"onnx_philox_{name}")
        function.restype = c_char_p
        assert function(c_size_t(0))
        assert function(c_size_t(2**64 - 1)) is None


def test_an_error_needs_no_memory_and_is_cut_where_there_is_little() -> None:
    call = call_of("Random", {}, {})
    assert (
        LIBRARY.onnx_philox_run(
            ctypes.byref(call),
            None,
            c_size_t(0),
        )
        == INVALID
    )
    text = ctypes.create_string_buffer(b"x" * 20)
    assert (
        LIBRARY.onnx_philox_run(
            ctypes.byref(call),
            text,
            c_size_t(12),
        )
        == INVALID
    )
    assert text.raw == b"onnx_philox\0" + b"x" * 8 + b"\0"


def test_a_dropout_s_outputs_lie_in_memory_of_their_own() -> None:
    """Data are not overwritten while they are read, but for those that the same draw has read."""
    inputs = {"data": IN_DATA[:15], "ratio": np.full((), 0.5, np.float32)}
    stateful = {**inputs, "state": WORDS}
    memory = np.zeros(19, np.float32)
    status, text = run(call_of("RandomDropout", stateful, {}, [IN_DATA[14:29]]))
    assert (status, f"output 'output' {OWN}" in text) == (INVALID, True)
    assert run(call_of("RandomDropout", stateful, {}, [IN_DATA[15:]])) == (0, "")
    for at in (0, 45, 59):
        outputs = [
            memory[:15],
            memory.view(np.bool_)[at : at + 15],
            None,
        ]
        status, text = run(call_of("RandomDropout", inputs, {"op_seed": 1}, outputs))
        assert (status, f"output 'mask' {OWN} output 'output'" in text) == (INVALID, True)
        assert not memory.any()


@pytest.mark.parametrize("state", [WORDS, TorchState.from_seed(3).to_array()])
def test_a_call_without_outputs_is_checked_and_draws_nothing(state: np.ndarray) -> None:
    """Of more values than any memory holds, which would take days, too."""
    alignment = "pytorch" if state.shape == (632,) else "tensorflow"
    inputs = uniform_inputs(state, np.array([2**40]))
    attributes = {"alignment": alignment}
    assert run(call_of("RandomUniform", inputs, F32 | attributes)) == (0, "")


F32 = {"output_type": "f32"}
F64 = {"output_type": "f64"}
WIDE = [np.zeros(()), np.ones(())]
TORCH_DRAWS: dict[str, tuple[str, dict[str, Any], dict[str, np.ndarray]]] = {
    "uniform": ("RandomUniform", F32, {"minval": ZERO, "maxval": ONE}),
    "uniform f64": (
        "RandomUniform",
        F64,
        {"minval": WIDE[0], "maxval": WIDE[1]},
    ),
    "normal": ("RandomNormal", F32, {"mean": ZERO, "scale": ONE}),
    "normal f64": (
        "RandomNormal",
        F64,
        {"mean": WIDE[0], "scale": WIDE[1]},
    ),
    "exponential": ("RandomExponential", F32, {"scale": ONE}),
    "booleans": ("RandomBernoulli", {}, {"p": ONE}),
    "booleans of each": ("RandomBernoulli", {}, {}),
    "permutation": ("RandomPermutation", {"output_type": "i64"}, {}),
    "classes": ("RandomCategorical", {"sample_size": 5, "replacement": 0}, {}),
}


@pytest.mark.parametrize("name", TORCH_DRAWS)
@pytest.mark.parametrize("count", [1, 15, 17, 4096, 6147])
def test_values_of_torch_that_nobody_wants_move_the_state_on(name: str, count: int) -> None:
    operator, attributes, numbers = TORCH_DRAWS[name]
    state = TorchState.from_seed(3).to_array()
    given = {"shape": np.array([count]), **numbers}
    if name == "booleans of each":
        given["p"] = np.linspace(0, 1, count)
    if name == "classes":
        given = {"logits": np.zeros((count, 7), np.float32)}
    type_ = "bool" if operator == "RandomBernoulli" else attributes.get("output_type", "i32")
    drawn = np.empty((count, 5) if name == "classes" else count, DTYPES[type_])
    after = np.zeros((2, 632), np.uint32)
    for out, following in zip((drawn, None), after, strict=True):
        torch = {**attributes, "alignment": "pytorch"}
        assert run(
            call_of(
                operator,
                {**given, "state": state},
                torch,
                [out, following],
            )
        ) == (0, "")
    assert_same_bits(after[1], after[0])


@pytest.mark.skipif(sys.platform != "linux", reason="its limit of a process's memory")
def test_values_of_torch_that_nobody_wants_take_no_memory() -> None:
    program = """
import resource
import numpy as np
from tests.core import test_c_interface as c
pages = int(open("/proc/self/statm").read().split()[0]) + 2**14
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096,) * 2)
state, after = c.TorchState.from_seed(3).to_array(), np.zeros(632, np.uint32)
for name in ("uniform f64", "normal", "permutation"):
    operator, attributes, numbers = c.TORCH_DRAWS[name]
    given, torch = {"shape": np.array([2**24]), **numbers, "state": state}, {"alignment": "pytorch"}
    print(*c.run(c.call_of(operator, given, attributes | torch, [None, after])))
"""
    assert child.forked(program).stdout.split() == ["0"] * 3


@pytest.mark.parametrize("state", [WORDS, ROWS, TorchState.from_seed(3).to_array()])
def test_the_next_state_may_lie_where_the_state_does(state: np.ndarray) -> None:
    place = state.copy()
    values = np.empty((3, 5), np.float32)
    alignment = "pytorch" if state.shape == (632,) else "tensorflow"
    attributes = {"output_type": "f32", "alignment": alignment}
    for _ in range(3):
        expected, state = reference.random_uniform([3, 5], 0, 1, state=state, **attributes)
        call = call_of("RandomUniform", uniform_inputs(place), attributes, [values, place])
        assert run(call) == (0, "")
        assert_same_bits(values, expected)
        assert_same_bits(place, state)


def prepared(
    operator: str,
    attributes: dict[str, int | str],
    **numbers: Any,
) -> c_void_p:
    handle = c_void_p()
    call = call_of(operator, numbers, attributes)
    pointers = ctypes.byref(call), ctypes.byref(handle)
    assert status_of(LIBRARY.onnx_philox_prepare, *pointers) == (0, "")
    return handle


def fill(
    handle: c_void_p | None,
    part: Part | None,
    memory: Any,
    following: Any = None,
) -> int:
    """The status of a draw that was prepared."""
    given = None if part is None else ctypes.byref(part)
    return LIBRARY.onnx_philox_fill(handle, given, memory, following)


def test_a_prepared_draw_moves_its_state_on() -> None:
    seeds: dict[str, int | str] = {"global_seed": 7, "op_seed": 2**62}
    handle = prepared("RandomUniform", {"output_type": "f32", **seeds}, minval=ZERO, maxval=ONE)
    part = Part((c_uint32 * 6)(*WORDS), 28)
    state = WORDS
    for _ in range(3):
        out = np.zeros(9, np.float32)
        assert (
            fill(
                handle,
                part,
                c_void_p(out.ctypes.data),
                ctypes.byref(part),
            )
            == 0
        )
        expected, state = reference.random_uniform([7], 0, 1, "f32", state=state, **seeds)
        assert_same_bits(out, np.append(expected, np.zeros(2, np.float32)))
        assert list(part.state) == state.tolist()
    LIBRARY.onnx_philox_release(handle)


def test_a_prepared_permutation_draws_as_many_rows_as_there_is_memory_for() -> None:
    seeds: dict[str, int | str] = {"global_seed": 7, "op_seed": 2**62}
    attributes = {"output_type": "i32", **seeds}
    handle = prepared("RandomPermutation", attributes, shape=np.array([2, 5]))
    state = WORDS
    for rows in (2, 1, 3):
        out = np.zeros((rows, 5), np.int32)
        memory = c_void_p(out.ctypes.data)
        part = Part((c_uint32 * 6)(*state), out.nbytes)
        assert fill(handle, part, memory, ctypes.byref(part)) == 0
        expected, state = reference.random_permutation([rows, 5], "i32", state=state, **seeds)
        assert_same_bits(out, expected)
        assert list(part.state) == state.tolist()
    LIBRARY.onnx_philox_release(handle)


@pytest.mark.parametrize(("row", "elements"), [(5, 4), (5, 6), (5, 12), (0, 1)])
def test_a_prepared_permutation_refuses_a_part_of_a_row(row: int, elements: int) -> None:
    handle = prepared("RandomPermutation", {"output_type": "i64"}, shape=np.array([row]))
    out = np.full(elements, -1)
    part = Part((c_uint32 * 6)(*WORDS), out.nbytes)
    assert fill(handle, part, c_void_p(out.ctypes.data)) == INVALID
    assert (out == -1).all()
    part.bytes = 0
    assert fill(handle, part, None) == 0
    LIBRARY.onnx_philox_release(handle)


def test_a_prepared_draw_refuses_what_it_cannot_fill() -> None:
    handle = prepared("RandomUniform", {"output_type": "f32"}, minval=ZERO, maxval=ONE)
    out = np.zeros(9, np.float32)
    part = Part((c_uint32 * 6)(), 30)
    memory = c_void_p(out.ctypes.data)
    assert fill(handle, part, memory) == INVALID
    part.bytes = 28
    among = [c_void_p(out.ctypes.data + at) for at in (0, 24)]
    for given in (
        (None, part, memory),
        (handle, None, memory),
        (handle, part, None),
        *((handle, part, memory, following) for following in among),
    ):
        assert fill(*given) == INVALID
    assert not out.any()
    part.bytes = 0
    assert fill(handle, part, None) == 0
    LIBRARY.onnx_philox_release(handle)
    LIBRARY.onnx_philox_release(None)


@pytest.mark.parametrize(
    "shape",
    [
        (2**62, 4),
        (2**33, 2**33),
        (3, 2**62, 2**62),
        (2**60,),
    ],
)
@pytest.mark.parametrize(
    ("operator", "name"), [("RandomCategorical", "logits"), ("RandomDropout", "data")]
)
def test_an_array_larger_than_any_memory_is_refused(
    operator: str, name: str, shape: tuple[int, ...]
) -> None:
    # The number of elements would wrap around, to 0 or to few.
    call = call_of(operator, {name: np.zeros(1, np.float32), "state": WORDS}, {})
    dimensions = (c_int64 * len(shape))(*shape)
    call.inputs[0].shape, call.inputs[0].rank = dimensions, len(shape)
    status, text = run(call)
    said = f"input {name!r} must be of fewer than 2^60 elements" in text
    assert (status, said) == (INVALID, True)


P = np.float64([0.2, 0.5])
LOGITS = np.zeros((2, 3), np.float32)
UNPREPARED: dict[str, tuple[str, dict[str, np.ndarray], dict[str, int | str], str]] = {
    "a shape": ("RandomGenerator", {"shape": SHAPE}, {}, "without shape and state: got 'shape'"),
    "a state": ("RandomGenerator", {"state": WORDS}, {}, "onnx_philox_fill gives it a state"),
    "numbers of each": ("RandomBernoulli", {"p": P}, {}, "Call onnx_philox_run"),
    "rows of no length": ("RandomPermutation", {}, {}, "input 'shape' must be connected"),
    "logits": ("RandomCategorical", {"logits": LOGITS}, {}, "Call onnx_philox_run"),
    "torch's numbers": (
        "RandomBernoulli",
        {"p": P[:1]},
        {"alignment": "pytorch"},
        "state",
    ),
}


@pytest.mark.parametrize("what", UNPREPARED)
def test_only_draws_of_single_numbers_are_prepared(what: str) -> None:
    operator, arrays, attributes, text = UNPREPARED[what]
    call = call_of(operator, arrays, attributes)
    handle = c_void_p()
    status, told = status_of(
        LIBRARY.onnx_philox_prepare,
        ctypes.byref(call),
        ctypes.byref(handle),
    )
    assert (status, handle.value) == (INVALID, None)
    assert text in told


def test_threads_draw_from_one_prepared_draw_at_the_same_time() -> None:
    handle = prepared("RandomUniform", {"output_type": "f32"}, minval=ZERO, maxval=ONE)
    expected, _ = reference.random_uniform([4001], 0, 1, "f32", state=WORDS)

    def draw(_: int) -> None:
        for _ in range(50):
            out = np.zeros(4001, np.float32)
            part = Part((c_uint32 * 6)(*WORDS), out.nbytes)
            assert fill(handle, part, c_void_p(out.ctypes.data)) == 0
            assert_same_bits(out, expected)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(draw, range(16)))
    LIBRARY.onnx_philox_release(handle)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32])
def test_bounds_are_checked_though_the_caller_has_checked_numbers(dtype: Any) -> None:
    numbers = {"minval": np.ones((), dtype), "maxval": np.zeros((), dtype)}
    inputs = {"shape": SHAPE, **numbers, "state": WORDS}
    type_ = NAMES[np.dtype(dtype)]
    call = call_of("RandomUniform", inputs, {"output_type": type_}, flags=CHECKED)
    status, text = run(call)
    assert (status, "than maxval" in text or "at most maxval" in text) == (INVALID, True)


def test_many_numbers_are_checked_unless_the_caller_has_checked_them() -> None:
    p = np.linspace(0, 2, 15).reshape(3, 5)
    out = np.zeros((3, 5), np.bool_)
    inputs = {"shape": SHAPE, "p": p, "state": WORDS}
    status, text = run(call_of("RandomBernoulli", inputs, {}, [out]))
    assert (status, "input 'p' must be from 0 to 1" in text) == (INVALID, True)
    assert run(call_of("RandomBernoulli", inputs, {}, [out], CHECKED)) == (0, "")
    assert out.any()


def test_the_example_for_node_js_names_the_version_of_the_header() -> None:
    root = Path(__file__).parents[2]
    header = (root / "custom_ops/c/onnx_philox.h").read_text("utf-8")
    example = (root / "examples/c_without_session/draw.mjs").read_text("utf-8")
    in_header = re.search(r"#define ONNX_PHILOX_API_VERSION (\d+)", header)
    in_example = re.search(r"const ONNX_PHILOX_API_VERSION = (\d+);", example)
    assert in_header
    assert in_example
    assert in_example[1] == in_header[1]
