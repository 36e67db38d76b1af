"""The distributions in OpenVINO on the CPU: the same bits as NumPy, whatever the plugin does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov
import pytest
from onnx import ModelProto
from openvino import opset8

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from onnx_philox.openvino import random_bernoulli, random_categorical
from tests.common.cases import DTYPES, SEED, assert_all_same, assert_refused, assert_same_bits
from tests.common.half_precision import differing
from tests.common.openvino_models import parameter
from tests.common.runtimes import DEFAULT, ONE_THREAD, Config, OpenVino, joined, request_of

STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()
PRECISIONS = [None, "f32", "bf16", "f16"]
MAX_ELEMENTS = 4096  # of a constant that feeds a state, a bound or a shape
F32 = np.float32
F64 = np.float64


SHAPE = [5, 7]
EACH = np.linspace(0, 1, 35).reshape(SHAPE)


def logits_of(type_: str, batch: int = 3, classes: int = 11) -> np.ndarray:
    random = np.random.default_rng(5)
    logits = random.normal(0, 3, (batch, classes)).astype(DTYPES[type_])
    is_never_drawn = random.random(logits.shape) < 0.2
    logits[is_never_drawn] = -np.inf
    if classes:
        logits[:, -1] = 0
    return logits


LOGICAL = np.arange(35).reshape(SHAPE) % 3 == 0
NUMBERS = np.arange(35, dtype=F32).reshape(SHAPE)
# What OpenVINO and NumPy make of the booleans `b`.
CONSUMERS = [
    (
        lambda b: opset8.logical_not(b),
        lambda b: np.logical_not(b),
    ),
    (
        lambda b: opset8.logical_and(b, fixed(LOGICAL)),
        lambda b: b & LOGICAL,
    ),
    (
        lambda b: opset8.logical_xor(fixed(LOGICAL), b),
        lambda b: b ^ LOGICAL,
    ),
    (
        lambda b: opset8.equal(b, fixed(LOGICAL)),
        lambda b: b == LOGICAL,
    ),
    (
        lambda b: opset8.select(
            b,
            fixed(NUMBERS),
            fixed(F32(-1)),
        ),
        lambda b: np.where(b, NUMBERS, F32(-1)),
    ),
    (
        lambda b: opset8.select(
            fixed(LOGICAL),
            b,
            fixed(np.array(True)),
        ),
        lambda b: np.where(LOGICAL, b, True),
    ),
    (
        lambda b: opset8.concat([b, fixed(LOGICAL)], 0),
        lambda b: np.concatenate([b, LOGICAL]),
    ),
    (
        lambda b: opset8.non_zero(b),
        lambda b: np.array(np.nonzero(b)),
    ),
    (
        lambda b: opset8.reduce_logical_or(b, fixed([0])),
        lambda b: b.any(0),
    ),
    (
        lambda b: opset8.convert(b, "f32"),
        lambda b: b.astype(F32),
    ),
    (
        lambda b: opset8.convert(b, "i64"),
        lambda b: b.astype(np.int64),
    ),
    (
        lambda b: opset8.reshape(b, fixed([-1]), False),
        lambda b: b.reshape(-1),
    ),
    (
        lambda b: opset8.transpose(b, fixed([1, 0])),
        lambda b: b.T.copy(),
    ),
    (
        lambda b: b,
        lambda b: b,
    ),
]


@pytest.mark.parametrize("shape_type", [np.int32, np.int64])
@pytest.mark.usefixtures("factories")
def test_booleans_feed_the_plugin_s_operators_also_in_files(
    openvino: OpenVino, shape_type: type, tmp_path: Path
) -> None:
    """A node for each consumer, of a shape that is fed and of a constant one."""
    source = parameter("shape", [2], shape_type)
    results = []
    for shape in (source, fixed(np.array(SHAPE, shape_type))):
        for build, _ in CONSUMERS:
            node = random_bernoulli(shape, 0.3, **SEED)
            assert node.get_output_element_type(0) == ov.Type.boolean
            made = build(node.output(0))
            results += [made.output(0) if isinstance(made, ov.Node) else made, node.output(1)]
    drop, after = reference.random_bernoulli(SHAPE, 0.3, **SEED)
    wanted = [x for _, expect in CONSUMERS for x in (expect(drop), after)] * 2
    model = ov.Model(results, [source])
    feeds = {"shape": np.array(SHAPE, shape_type)}
    for precision in differing([None, "f32"]):
        assert_all_same(openvino(model, feeds, precision), wanted)
    ov.save_model(model, tmp_path / "mask.xml")
    assert_all_same(openvino(tmp_path / "mask.xml", feeds), wanted)
    exported = openvino.core.compile_model(model, "CPU").export_model()
    assert_all_same(request_of(openvino.core.import_model(exported, "CPU"))(feeds), wanted)


EACH_P = np.random.default_rng(2).random(SHAPE)
LOGITS = logits_of("f64")
FEW = np.random.default_rng(0).normal(size=24).astype(F32)
# What OpenVINO computes of constants, and what it is. The plugin clamps those of uint32 to 2^31-1.
COMPUTED = [
    (
        lambda draw: draw.bernoulli(
            SHAPE, opset8.concat([fixed(EACH_P[:2]), fixed(EACH_P[2:])], 0)
        ),
        lambda draw: draw.bernoulli(SHAPE, EACH_P),
    ),
    (
        lambda draw: draw.categorical(opset8.multiply(fixed(LOGITS), fixed(0.3)), 9),
        lambda draw: draw.categorical(LOGITS * F64(0.3), 9),
    ),
    (
        lambda draw: draw.normal([9], cast(F32(0.1), "f64"), 1.7, "f64"),
        lambda draw: draw.normal([9], np.array(F32(0.1), F64), 1.7, "f64"),
    ),
    (
        lambda draw: draw.categorical(
            opset8.reshape(
                opset8.concat([fixed(FEW[:12]), fixed(FEW[12:])], 0), fixed([4, 6]), False
            ),
            5000,
        ),
        lambda draw: draw.categorical(FEW.reshape(4, 6), 5000),
    ),
    (
        lambda draw: draw.uniform(
            [9],
            cast(0.1, "f64"),
            cast(0.7, "f64"),
            "f64",
        ),
        lambda draw: draw.uniform([9], 0.1, 0.7, "f64"),
    ),
    (
        lambda draw: draw.uniform(
            [9],
            cast(-7, "i64"),
            cast(2**40 + 1, "i64"),
            "i64",
        ),
        lambda draw: draw.uniform([9], -7, 2**40 + 1, "i64"),
    ),
    (
        lambda draw: draw.uniform(
            [9],
            cast(0.1, "f32"),
            cast(0.7, "f32"),
            "f32",
        ),
        lambda draw: draw.uniform([9], 0.1, 0.7, "f32"),
    ),
    (
        lambda draw: draw.uniform(
            [9],
            cast(0.125, "bf16"),
            cast(0.75, "bf16"),
            "bf16",
        ),
        lambda draw: draw.uniform([9], 0.125, 0.75, "bf16"),
    ),
    (
        lambda draw: draw.normal([50], opset8.reduce_max(fixed(FEW), fixed([0])), 1.0, "f32"),
        lambda draw: draw.normal([50], float(FEW.max()), 1.0, "f32"),
    ),
    (
        lambda draw: draw.generator(opset8.concat([fixed(STATE[:4]), fixed(STATE[4:])], 0), [5]),
        lambda draw: draw.generator(STATE, [5]),
    ),
    (
        lambda draw: draw.generator(
            opset8.reshape(
                fixed(STATE.reshape(2, 3)),
                fixed([6]),
                False,
            ),
            [5],
        ),
        lambda draw: draw.generator(STATE, [5]),
    ),
    (
        lambda draw: draw.generator(
            opset8.select(
                fixed(True),
                fixed(STATE),
                fixed(STATE * 0),
            ),
            [5],
        ),
        lambda draw: draw.generator(STATE, [5]),
    ),
    (
        lambda draw: draw.generator(cast(STATE.astype(np.int64), "u32"), [5]),
        lambda draw: draw.generator(STATE, [5]),
    ),
    (
        lambda draw: draw.generator(
            opset8.gather(
                fixed([STATE * 0, STATE]),
                fixed(1),
                fixed(0),
            ),
            [5],
        ),
        lambda draw: draw.generator(STATE, [5]),
    ),
]


def fixed(values: Any) -> ov.Node:
    """A constant of all bits: `opset8.constant` makes 0.1 of f64 what it is in f32."""
    return ov.op.Constant(np.asarray(values))


def cast(value: Any, type_: str) -> ov.Node:
    return opset8.convert(fixed(value), type_)


class Draws:
    """What draws in a row, of the factories or the reference."""

    def __init__(self, module: Any) -> None:
        self.bernoulli = partial(module.random_bernoulli, **SEED)
        self.categorical = partial(module.random_categorical, **SEED)
        self.normal = partial(module.random_normal, **SEED)
        self.uniform = partial(module.random_uniform, **SEED)
        self.generator = partial(module.random_generator, **SEED)


@pytest.mark.usefixtures("factories")
def test_constants_computed_from_constants_are_exact_also_saved_in_f16(
    openvino: OpenVino, tmp_path: Path
) -> None:
    ours = Draws(onnx_philox.openvino)
    theirs = Draws(reference)
    nodes = [made(ours) for made, _ in COMPUTED]
    drawn = [said(theirs) for _, said in COMPUTED]
    model = ov.Model([output for node in nodes for output in node.outputs()], [])
    ov.save_model(model, tmp_path / "model.xml")
    for precision in differing([None, "f16"]):
        for each in (model, tmp_path / "model.xml"):
            assert_all_same(openvino(each, {}, precision), chain(*drawn))


@pytest.mark.usefixtures("factories")
def test_large_constants_arrive_and_are_saved_as_they_are(
    openvino: OpenVino, tmp_path: Path
) -> None:
    size = MAX_ELEMENTS + 1
    each = np.random.default_rng(3).random(size).astype(F32)
    logits = np.random.default_rng(4).normal(size=(1, size))
    calls = [("categorical", logits.astype(type_), 40) for type_ in (np.float16, F32)]
    calls += [("bernoulli", [size], each)]
    ours = Draws(onnx_philox.openvino)
    theirs = Draws(reference)
    nodes = [getattr(ours, kind)(*given) for kind, *given in calls]
    drawn = [getattr(theirs, kind)(*given) for kind, *given in calls]
    model = ov.Model([output for node in nodes for output in node.outputs()], [])
    ov.save_model(model, tmp_path / "model.xml")  # compresses weights to f16
    for given in (model, tmp_path / "model.xml"):
        assert_all_same(openvino(given), chain(*drawn))


def in_f16(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(array.dtype)


def draws_that_show_f16() -> Iterator[tuple[ModelProto, tuple[np.ndarray, np.ndarray]]]:
    """Models whose values change if a constant is rounded to f16."""
    for type_ in ("f32", "f64"):
        logits = np.random.default_rng(0).normal(size=(4, 6)).astype(DTYPES[type_])
        expected = reference.random_categorical(logits, 5000, state=STATE)
        rounded = reference.random_categorical(in_f16(logits), 5000, state=STATE)
        assert not np.array_equal(expected[0], rounded[0])
        model = graphs.random_categorical(logits, 5000, logits_type=type_, stateful=True)
        yield model, expected
        for size in (1, 3, 3000):
            # All are true, by the least that there is.
            p = np.nextafter(reference.random_uniform([size], 0, 1, type_, state=STATE)[0], 1)
            p = p[0] if size == 1 else p
            expected = reference.random_bernoulli([size], p, state=STATE)
            assert expected[0].all()
            if size > 1:
                assert not reference.random_bernoulli([size], in_f16(p), state=STATE)[0].all()
            model = graphs.random_bernoulli([size], p, p_type=type_, stateful=True)
            yield model, expected


def test_constants_of_a_model_saved_in_f16_are_exact(openvino: OpenVino, tmp_path: Path) -> None:
    models, drawn = zip(*draws_that_show_f16(), strict=True)
    whole, feeds = joined([(model, {"state": STATE}) for model in models])
    expected = list(chain(*drawn))
    path = tmp_path / "model.xml"
    again = tmp_path / "again.xml"
    ov.save_model(openvino.read(whole), path)
    for backend in onnx_philox.openvino.BACKENDS:
        reader = OpenVino(backend)
        for precision in differing([None, "f16", "bf16"]):
            assert_all_same(reader(path, feeds, precision), expected)
        at_once = reader.core.compile_model(path, "CPU")
        assert_all_same(request_of(at_once)(feeds), expected)
        ov.save_model(reader.read(path), again)
        assert_all_same(openvino(again, feeds), expected)


@pytest.mark.parametrize("size", [6, MAX_ELEMENTS + 1])
@pytest.mark.usefixtures("factories")
def test_constants_replaced_in_a_file_by_their_f16_rounding_are_read_anew(
    openvino: OpenVino, tmp_path: Path, size: int
) -> None:
    logits = np.random.default_rng(0).normal(size=(1, size)).astype(F32)
    node = random_categorical(logits, 20_000, **SEED)
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model(node.outputs(), []), path)
    model = openvino.read(path)
    (node,) = (n for n in model.get_ordered_ops() if n.get_type_name() == "RandomCategorical")
    node.input(0).replace_source_output(ov.op.Constant(in_f16(logits)).output(0))
    model.validate_nodes_and_infer_types()
    expected = reference.random_categorical(in_f16(logits), 20_000, **SEED)
    assert_all_same(openvino(model), expected)
    ov.save_model(model, path)
    assert_all_same(openvino(path), expected)


# A draw, the input that is replaced and by what, and what is drawn then.
FED = logits_of("f32")[:2]
REPLACED: list[tuple[Callable[[Draws], Any], int, Any, Callable[[Draws], Any]]] = [
    (
        lambda draw: draw.bernoulli(SHAPE, F64(0.1)),
        1,
        F64(0.2),
        lambda draw: draw.bernoulli(SHAPE, F64(0.2)),
    ),
    (
        lambda draw: draw.bernoulli(SHAPE, np.array([0.1])),
        1,
        EACH,
        lambda draw: draw.bernoulli(SHAPE, EACH),
    ),
    (
        lambda draw: draw.bernoulli(SHAPE, np.array([0.1])),
        1,
        F32([0.7]),
        lambda draw: draw.bernoulli(SHAPE, F32(0.7)),
    ),
    (
        lambda draw: draw.categorical(LOGITS, 4),
        0,
        LOGITS[:2] / 2,
        lambda draw: draw.categorical(LOGITS[:2] / 2, 4),
    ),
    # None stands for the model's input.
    (
        lambda draw: draw.categorical(logits_of("f32"), 4),
        0,
        None,
        lambda draw: draw.categorical(FED, 4),
    ),
    (
        lambda draw: draw.normal([9], 0.1, 1.7, "f64"),
        2,
        np.array(2.5),
        lambda draw: draw.normal([9], 0.1, 2.5, "f64"),
    ),
]


@pytest.mark.usefixtures("factories")
def test_a_constant_that_is_replaced_is_read_anew(openvino: OpenVino) -> None:
    ours = Draws(onnx_philox.openvino)
    theirs = Draws(reference)
    x = parameter("logits", [-1, 11], F32)
    outputs = []
    wanted = []
    for made, index, other, drawn in REPLACED:
        node = made(ours)
        source = x if other is None else fixed(other)
        node.input(index).replace_source_output(source.output(0))
        outputs += node.outputs()
        wanted += drawn(theirs)
    model = ov.Model(outputs, [x])
    model.validate_nodes_and_infer_types()
    assert_all_same(openvino(model, {"logits": FED}), wanted)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.usefixtures("factories")
def test_logits_of_a_network_arrive_as_the_plugin_computed_them(
    openvino: OpenVino, precision: str | None
) -> None:
    weights = np.random.default_rng(6).normal(size=(64, 64)).astype(F32)
    x = parameter("x", [-1, 64], F32)
    hidden = opset8.relu(opset8.matmul(x, ov.op.Constant(weights), False, False))
    logits = opset8.log_softmax(hidden, 1)
    p = opset8.sigmoid(hidden)
    categorical = random_categorical(logits, 20, **SEED)
    bernoulli = random_bernoulli(opset8.shape_of(x), p, **SEED)
    model = ov.Model([n.output(0) for n in (logits, categorical, p, bernoulli)], [x])
    feeds = {"x": np.random.default_rng(7).normal(size=(5, 64)).astype(F32)}
    seen_logits, indices, seen_p, booleans = openvino(model, feeds, precision)
    expected = reference.random_categorical(seen_logits, 20, **SEED)[0]
    assert_same_bits(indices, expected)
    expected = reference.random_bernoulli([5, 64], seen_p, **SEED)[0]
    assert_same_bits(booleans, expected)


REFUSED = [
    (
        lambda draw: draw.normal([3], parameter("f64", [], F64), 1, "f64"),
        "input 'mean' must be a constant in",
    ),
    (
        lambda draw: draw.normal([3], 0, parameter("f64", [], F64), "f64"),
        "input 'scale' must be a constant in",
    ),
    (
        lambda draw: draw.bernoulli([3], parameter("f64", [], F64)),
        "'p' must be a constant of at most 4096 elements in OpenVINO, whose CPU plugin "
        "rounds such inputs to 32 bits",
    ),
    (
        lambda draw: draw.categorical(np.zeros((1, 4097))),
        "a constant of at most 4096 elements in OpenVINO, whose CPU plugin rounds such "
        "inputs to 32 bits",
    ),
    (
        lambda draw: draw.bernoulli(parameter("n", [2], np.int64), np.zeros(4, F32)),
        "shape [?, ?]: got shape [4]",
    ),
]


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_a_node_is_refused_what_the_plugin_would_alter(
    call: Callable[[Draws], Any], words: str
) -> None:
    assert_refused(partial(call, Draws(onnx_philox.openvino)), words)


@pytest.mark.parametrize("config", [DEFAULT, ONE_THREAD], ids=["default", "one thread"])
def test_the_run_after_one_that_was_refused_is_right(openvino: OpenVino, config: Config) -> None:
    model = openvino.read(graphs.random_categorical(**SEED))
    run = request_of(openvino.core.compile_model(model, "CPU", config))
    for bad, says in (
        (np.full((2, 3), np.nan), "got nan in row 0"),
        (np.zeros((2, 0)), "one class"),
    ):
        with pytest.raises(RuntimeError, match=says):
            run({"logits": bad.astype(F32)})
        logits = np.zeros((2, 3), F32)
        expected = reference.random_categorical(logits, **SEED)[0]
        assert_same_bits(run({"logits": logits})[0], expected)


def test_an_infinite_scale_of_bf16_is_refused(openvino: OpenVino) -> None:
    model = graphs.random_normal([3], 0, None, "bf16", **SEED)
    with pytest.raises(RuntimeError, match="input 'scale' must be a finite number: got -inf"):
        openvino(model, {"scale": np.array(-np.inf).astype(ml_dtypes.bfloat16)})
