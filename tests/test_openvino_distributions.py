"""The distributions in OpenVINO on the CPU: the same bits as NumPy, whatever the plugin does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov
import pytest
from cases import DTYPES, SEED, assert_all_same, assert_same_bits
from half_precision import differing
from onnx import ModelProto
from openvino import opset8
from openvino_models import parameter
from runtimes import DEFAULT, ONE_THREAD, Config, OpenVino, array_of, infer, request_of, tensor_of

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from onnx_philox._contract.openvino_plugin import MAX_ELEMENTS
from onnx_philox.openvino import (
    random_bernoulli,
    random_categorical,
    random_generator,
    random_normal,
    random_uniform,
)

STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()
PRECISIONS = [None, "f32", "bf16", "f16"]
F32, F64 = np.float32, np.float64


SHAPE = [5, 7]
EACH = np.linspace(0, 1, 35).reshape(SHAPE)


def logits_of(type_: str, batch: int = 3, classes: int = 11) -> np.ndarray:
    random = np.random.default_rng(5)
    logits = random.normal(0, 3, (batch, classes)).astype(DTYPES[type_])
    logits[random.random(logits.shape) < 0.2] = -np.inf
    if classes:
        logits[:, -1] = 0
    return logits


def check(outputs: list[np.ndarray], expected: tuple[np.ndarray, np.ndarray]) -> None:
    """Compares the values, and the next state where the model has it."""
    for actual, wanted in zip(outputs, expected, strict=False):
        assert_same_bits(actual, wanted)


# The bits.


# Booleans in the plugin, whose own operators say u8.

LOGICAL = np.arange(35).reshape(SHAPE) % 3 == 0
NUMBERS = np.arange(35, dtype=F32).reshape(SHAPE)
CONSUMERS: dict[str, tuple[Callable[[Any], ov.Node], Callable[[np.ndarray], np.ndarray]]] = {
    "LogicalNot": (opset8.logical_not, np.logical_not),
    "LogicalAnd": (lambda b: opset8.logical_and(b, ov.op.Constant(LOGICAL)), lambda b: b & LOGICAL),
    "LogicalXor": (lambda b: opset8.logical_xor(ov.op.Constant(LOGICAL), b), lambda b: b ^ LOGICAL),
    "Equal": (lambda b: opset8.equal(b, ov.op.Constant(LOGICAL)), lambda b: b == LOGICAL),
    "Select": (
        lambda b: opset8.select(b, ov.op.Constant(NUMBERS), opset8.constant(F32(-1))),
        lambda b: np.where(b, NUMBERS, F32(-1)),
    ),
    "Select of booleans": (
        lambda b: opset8.select(ov.op.Constant(LOGICAL), b, ov.op.Constant(np.array(True))),
        lambda b: np.where(LOGICAL, b, True),
    ),
    "Concat": (
        lambda b: opset8.concat([b, ov.op.Constant(LOGICAL)], 0),
        lambda b: np.concatenate([b, LOGICAL]),
    ),
    "NonZero": (opset8.non_zero, lambda b: np.array(np.nonzero(b))),
    "ReduceLogicalOr": (
        lambda b: opset8.reduce_logical_or(b, opset8.constant([0])),
        lambda b: b.any(0),
    ),
    "Convert": (lambda b: opset8.convert(b, "f32"), lambda b: b.astype(F32)),
    "Convert to i64": (lambda b: opset8.convert(b, "i64"), lambda b: b.astype(np.int64)),
    "Reshape": (lambda b: opset8.reshape(b, [-1], special_zero=False), lambda b: b.reshape(-1)),
    "Transpose": (lambda b: opset8.transpose(b, [1, 0]), lambda b: b.T.copy()),
    "Result": (lambda b: b, lambda b: b),
}


@pytest.mark.parametrize("shape_type", [np.int32, np.int64])
@pytest.mark.usefixtures("factories")
def test_booleans_feed_the_plugin_s_operators_also_in_files(
    openvino: OpenVino, shape_type: type, tmp_path: Path
) -> None:
    """A node for each consumer, of a shape that is fed and of a constant one."""
    source = parameter("shape", [2], shape_type)
    results = []
    for shape in (source, ov.op.Constant(np.array(SHAPE, shape_type))):
        for build, _ in CONSUMERS.values():
            node = random_bernoulli(shape, 0.3, **SEED)
            assert node.get_output_element_type(0) == ov.Type.boolean
            made = build(node.output(0))
            results += [made.output(0) if isinstance(made, ov.Node) else made, node.output(1)]
    drop, after = reference.random_bernoulli(SHAPE, 0.3, **SEED)
    wanted = [x for _, expected in CONSUMERS.values() for x in (expected(drop), after)] * 2
    model, feeds = ov.Model(results, [source]), {"shape": np.array(SHAPE, shape_type)}
    for precision in differing([None, "f32"]):
        assert_all_same(openvino(model, feeds, precision), wanted)
    ov.save_model(model, tmp_path / "mask.xml")
    assert_all_same(openvino(tmp_path / "mask.xml", feeds), wanted)
    exported = openvino.core.compile_model(model, "CPU").export_model()
    assert_all_same(request_of(openvino.core.import_model(exported, "CPU"))(feeds), wanted)


# Constants, before and after the plugin and IR change them.


def computed_constants() -> Iterator[tuple[ov.Node, Any]]:
    """Draws whose inputs OpenVINO computes of constants, and what they must be."""
    each, logits = np.random.default_rng(2).random(SHAPE), logits_of("f64")
    values = np.random.default_rng(0).normal(size=24).astype(F32)
    of_each = [ov.op.Constant(x) for x in (each[:2], each[2:])]
    halves = [ov.op.Constant(x) for x in (values[:12], values[12:])]
    yield (
        random_bernoulli(SHAPE, opset8.concat(of_each, 0), **SEED),
        reference.random_bernoulli(SHAPE, each, **SEED),
    )
    product = opset8.multiply(*map(ov.op.Constant, (logits, np.array(0.3))))
    yield (
        random_categorical(product, 9, **SEED),
        reference.random_categorical(logits * F64(0.3), 9, **SEED),
    )
    mean = opset8.convert(ov.op.Constant(np.array(0.1, F32)), "f64")
    yield (
        random_normal([9], mean, 1.7, "f64", **SEED),
        reference.random_normal([9], np.array(F32(0.1), F64), 1.7, "f64", **SEED),
    )
    shape = ov.op.Constant(np.array([4, 6]))
    yield (
        random_categorical(opset8.reshape(opset8.concat(halves, 0), shape, False), 5000, **SEED),
        reference.random_categorical(values.reshape(4, 6), 5000, **SEED),
    )
    for merged in (
        opset8.concat([opset8.constant(STATE[:4]), opset8.constant(STATE[4:])], 0),
        opset8.reshape(opset8.constant(STATE.reshape(2, 3)), [6], special_zero=False),
        opset8.select(
            opset8.constant(np.array(True)), opset8.constant(STATE), opset8.constant(STATE * 0)
        ),
        opset8.convert(opset8.constant(STATE.astype(np.int64)), "u32"),
        opset8.gather(
            opset8.constant(np.stack([STATE * 0, STATE])), opset8.constant(1), opset8.constant(0)
        ),
    ):
        # The plugin clamps uint32 constants to 2^31-1.
        yield random_generator(merged, [5]), reference.random_generator(STATE, [5])
    for type_, *numbers in (
        ("f64", 0.1, 0.7),
        ("i64", -7, 2**40 + 1),
        ("f32", 0.1, 0.7),
        ("bf16", 0.125, 0.75),
    ):
        # Not opset8.constant: that makes 0.1 of f64 what it is in f32.
        halves = [np.array(x, np.int64 if type_ == "i64" else F64) for x in numbers]
        bounds = [opset8.convert(ov.op.Constant(x), type_) for x in halves]
        given = [x.astype(DTYPES[type_]) for x in halves]
        yield (
            random_uniform([9], *bounds, type_, **SEED),
            reference.random_uniform([9], *given, type_, **SEED),
        )
    largest = opset8.reduce_max(ov.op.Constant(values), ov.op.Constant(np.array([0])))
    yield (
        random_normal([50], largest, 1.0, "f32", **SEED),
        reference.random_normal([50], float(values.max()), 1.0, "f32", **SEED),
    )


@pytest.mark.usefixtures("factories")
def test_constants_computed_from_constants_are_exact_also_saved_in_f16(
    openvino: OpenVino, tmp_path: Path
) -> None:
    for node, expected in computed_constants():
        model = ov.Model(node.outputs(), [])
        ov.save_model(model, tmp_path / "model.xml")
        for precision in differing([None, "f16"]):
            check(openvino(model, {}, precision), expected)
            check(openvino(tmp_path / "model.xml", {}, precision), expected)


@pytest.mark.parametrize("type_", [np.float16, F32])
@pytest.mark.usefixtures("factories")
def test_large_constants_arrive_and_are_saved_as_they_are(
    openvino: OpenVino, tmp_path: Path, type_: type
) -> None:
    size = MAX_ELEMENTS + 1
    each = np.random.default_rng(3).random(size).astype(type_)
    logits = np.random.default_rng(4).normal(size=(1, size)).astype(type_)
    nodes = [
        (random_categorical(logits, 40, **SEED), reference.random_categorical(logits, 40, **SEED))
    ]
    if type_ is F32:
        bernoulli = random_bernoulli([size], each, **SEED)
        nodes += [(bernoulli, reference.random_bernoulli([size], each, **SEED))]
    for node, expected in nodes:
        model = ov.Model(node.outputs(), [])
        check(openvino(model), expected)
        ov.save_model(model, tmp_path / "model.xml")  # compresses weights to f16
        check(openvino(tmp_path / "model.xml"), expected)


def in_f16(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16).astype(array.dtype)


def draws_that_show_f16() -> dict[str, tuple[ModelProto, tuple[np.ndarray, np.ndarray]]]:
    """Models whose values change if a constant is rounded to f16."""
    cases = {}
    for type_ in ("f32", "f64"):
        logits = np.random.default_rng(0).normal(size=(4, 6)).astype(DTYPES[type_])
        expected = reference.random_categorical(logits, 5000, state=STATE)
        rounded = reference.random_categorical(in_f16(logits), 5000, state=STATE)
        assert not np.array_equal(expected[0], rounded[0])
        model = graphs.random_categorical(logits, 5000, logits_type=type_, stateful=True)
        cases[f"logits {type_}"] = model, expected
        for size in (1, 3, 3000):
            # All are true, by the least that there is.
            p = np.nextafter(reference.random_uniform([size], 0, 1, type_, state=STATE)[0], 1)
            p = p[0] if size == 1 else p
            expected = reference.random_bernoulli([size], p, state=STATE)
            assert expected[0].all()
            if size > 1:
                assert not reference.random_bernoulli([size], in_f16(p), state=STATE)[0].all()
            model = graphs.random_bernoulli([size], p, p_type=type_, stateful=True)
            cases[f"p {type_} of {size}"] = model, expected
    return cases


F16_SHOWS = draws_that_show_f16()


@pytest.mark.parametrize("name", F16_SHOWS)
def test_constants_of_a_model_saved_in_f16_are_exact(
    openvino: OpenVino, tmp_path: Path, name: str
) -> None:
    model, expected = F16_SHOWS[name]
    path = tmp_path / "model.xml"
    ov.save_model(openvino.read(model), path)
    for backend in onnx_philox.openvino.BACKENDS:
        reader = OpenVino(backend)
        for precision in differing([None, "f16", "bf16"]):
            check(reader(path, {"state": STATE}, precision), expected)
        check(
            list(infer(reader.core.compile_model(path, "CPU"), {"state": STATE}).values()), expected
        )
        again = tmp_path / "again.xml"
        ov.save_model(reader.read(path), again)
        check(openvino(again, {"state": STATE}), expected)


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
    check(openvino(model), expected)
    ov.save_model(model, path)
    check(openvino(path), expected)


@pytest.mark.usefixtures("factories")
def test_a_constant_that_is_replaced_is_read_anew(openvino: OpenVino) -> None:
    logits = logits_of("f64")
    draw, expected = random_bernoulli, reference.random_bernoulli
    less, fed = logits[:2] / 2, logits_of("f32")[:2]
    classes, one = reference.random_categorical, np.array([0.1])
    x = parameter("logits", [-1, 11], F32)
    for node, index, other, wanted in (
        (draw(SHAPE, F64(0.1), **SEED), 1, np.array(0.2), expected(SHAPE, F64(0.2), **SEED)),
        (draw(SHAPE, one, **SEED), 1, EACH, expected(SHAPE, EACH, **SEED)),
        (draw(SHAPE, one, **SEED), 1, F32([0.7]), expected(SHAPE, F32(0.7), **SEED)),
        (random_categorical(logits, 4, **SEED), 0, less, classes(less, 4, **SEED)),
        (random_categorical(logits_of("f32"), 4, **SEED), 0, x, classes(fed, 4, **SEED)),
        (
            random_normal([9], 0.1, 1.7, "f64", **SEED),
            2,
            np.array(2.5),
            reference.random_normal([9], 0.1, 2.5, "f64", **SEED),
        ),
    ):
        source = other if other is x else ov.op.Constant(other)
        node.input(index).replace_source_output(source.output(0))
        model = ov.Model(node.outputs(), [x] if other is x else [])
        model.validate_nodes_and_infer_types()
        check(openvino(model, {"logits": fed} if other is x else {}), wanted)


# Inputs that other nodes compute.


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
    assert_same_bits(indices, reference.random_categorical(seen_logits, 20, **SEED)[0])
    assert_same_bits(booleans, reference.random_bernoulli([5, 64], seen_p, **SEED)[0])


# Bad input that only OpenVINO can meet; test_bad_input.py has the rest.


@pytest.mark.usefixtures("factories")
def test_a_node_is_refused_what_the_plugin_would_alter() -> None:
    f64 = parameter("f64", [], F64)
    for node, says in (
        (lambda: random_normal([3], f64, 1, "f64", **SEED), "input 'mean' must be a constant in"),
        (lambda: random_normal([3], 0, f64, "f64", **SEED), "input 'scale' must be a constant in"),
        (lambda: random_bernoulli([3], f64, **SEED), "'p' must be a constant of at most 4096 ele"),
        (lambda: random_categorical(np.zeros((1, 4097)), **SEED), "a constant of at most 4096 ele"),
        (
            lambda: random_bernoulli(parameter("n", [2], np.int64), np.zeros(4, F32), **SEED),
            r"the output's shape \[\?, \?\]: got shape \[4\]",
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=says):
            node()


@pytest.mark.parametrize("config", [DEFAULT, ONE_THREAD], ids=["default", "one thread"])
def test_the_run_after_one_that_was_refused_is_right(openvino: OpenVino, config: Config) -> None:
    model = openvino.read(graphs.random_categorical(**SEED))
    request = openvino.core.compile_model(model, "CPU", config).create_infer_request()
    for bad, says in (
        (np.full((2, 3), np.nan), "got nan in row 0"),
        (np.zeros((2, 0)), "one class"),
    ):
        with pytest.raises(RuntimeError, match=says):
            infer(request, {"logits": tensor_of(bad.astype(F32))})
        logits = np.zeros((2, 3), F32)
        infer(request, {"logits": logits})
        expected = reference.random_categorical(logits, **SEED)
        assert_same_bits(array_of(request.get_output_tensor(0)), expected[0])


def test_an_infinite_scale_of_bf16_is_refused(openvino: OpenVino) -> None:
    model = graphs.random_normal([3], 0, None, "bf16", **SEED)
    with pytest.raises(RuntimeError, match="input 'scale' must be a finite number: got -inf"):
        openvino(model, {"scale": np.array(-np.inf).astype(ml_dtypes.bfloat16)})
