"""Float16 draws whose values are used inside the graph, in ONNX Runtime: the bits of NumPy.

ONNX Runtime runs a float16 node in float32 where all of its float16 neighbours run in float32, but
never an output of the graph: here the values pass through nodes that keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import SEED, assert_same_bits, parse

STATE = PhiloxState(2**64 - 2, 2**64 - 12345).to_array()
InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument
F16 = np.float16
F32 = np.float32
LEVELS = ["DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL"]
REFERENCES: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "RandomUniform": reference.random_uniform,
    "RandomNormal": reference.random_normal,
}
NUMBERS = {"RandomUniform": (-0.3, 2.7), "RandomNormal": (0.1, 1.3)}
SHAPE = (5, 7)

CONSUMERS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "Mul": ("y = Mul(r, one)", lambda r: r),
    "Add": (
        "y = Add(r, one)",
        lambda r: (r.astype(F32) + F32(1)).astype(F16),
    ),
    "MatMul": ("y = MatMul(r, unit)", lambda r: r),
    "Cast": (
        "y = Cast<to=1>(r)",
        lambda r: r.astype(F32),
    ),
    "Cast of a product": (
        "p = Mul(r, one) y = Cast<to=1>(p)",
        lambda r: r.astype(F32),
    ),
    "Concat": (
        "y = Concat<axis=0>(r, r)",
        lambda r: np.concatenate([r, r]),
    ),
    "several": (
        "p = Mul(r, one) q = Mul(r, one) y = Concat<axis=0>(p, q, r)",
        lambda r: np.tile(r, (3, 1)),
    ),
    "nothing but float32": ("p = Mul(r, one) q = Div(p, one) y = Sub(q, zero)", lambda r: r),
}
"""By what uses the draw `r`: nodes, and what `y` becomes of it."""


def settings(level: str) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.log_severity_level = 3  # of initializers that a model does not read, and of saved files
    made.graph_optimization_level = getattr(ort.GraphOptimizationLevel, f"ORT_{level}")
    return made


def run(
    model: onnx.ModelProto,
    level: str,
    **feeds: Any,
) -> list[np.ndarray]:
    return InferenceSession(model, settings(level), backend="native").run(
        None, {name: np.asarray(value) for name, value in feeds.items()}
    )


def model_of(text: str, **initializers: np.ndarray) -> onnx.ModelProto:
    model = parse(text)
    constants = {
        "one": F16(1),
        "zero": F16(0),
        "unit": np.eye(SHAPE[1], dtype=F16),
        **initializers,
    }
    tensors = (numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items())
    model.graph.initializer.extend(tensors)
    return model


def draw(
    operator: str,
    shape: str,
    state: str = "",
    numbers: str = "a, b",
    to: str = "r",
) -> str:
    seeds = " ".join(f"{name}={value}," for name, value in SEED.items())
    return (
        f'{to} = onnx_philox.{operator}<{seeds} output_type="f16">'
        f"({shape}, {numbers}{', ' if state else ''}{state})"
    )


def product_of(operator: str, nodes: str = "", **initializers: Any) -> onnx.ModelProto:
    """A draw of the shape of x, and its product with one; or what `nodes` make of it."""
    return model_of(
        f"""g (float16[n, m] x) => (float16[n, m] y) {{
            size = Shape(x) {draw(operator, "size")} {nodes or "y = Mul(r, one)"}
        }}""",
        **(initializers or numbers_of(operator)),
    )


def numbers_of(operator: str) -> dict[str, np.ndarray]:
    return dict(zip("ab", map(F16, NUMBERS[operator]), strict=True))


def expected_of(
    operator: str,
    shape: Any = SHAPE,
    **changes: Any,
) -> tuple[np.ndarray, np.ndarray]:
    numbers = changes.pop("numbers", [*numbers_of(operator).values()])
    return REFERENCES[operator](shape, *numbers, "f16", **SEED, **changes)


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=list(REFERENCES))
def operator(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("consumer", CONSUMERS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("fed", [False, True])
def test_nodes_that_read_a_draw_get_the_values_of_the_reference(
    operator: str,
    level: str,
    consumer: str,
    dynamic: bool,
    stateful: bool,
    fed: bool,
) -> None:
    nodes, becomes = CONSUMERS[consumer]
    output_type = "float" if "Cast" in consumer else "float16"
    numbers = numbers_of(operator)
    model = model_of(
        f"""g (float16[n, m] x, int64[6] s{", float16 a, float16[1] b" if fed else ""})
            => ({output_type}[k, l] y, int64[2] size) {{
            size = Shape(x)
            state = Cast<to=12>(s)
            {draw(operator, "size" if dynamic else "fixed", "state" if stateful else "")}
            {nodes}
        }}""",
        fixed=np.array(SHAPE),
        **({} if fed else numbers),
    )
    feeds = {"x": np.zeros(SHAPE, F16), "s": STATE.astype(np.int64)}
    feeds |= {"a": numbers["a"], "b": numbers["b"].reshape(1)} if fed else {}
    values, _ = expected_of(operator, **({"state": STATE} if stateful else {}))
    assert_same_bits(run(model, level, **feeds)[0], becomes(values))


@pytest.mark.parametrize("elements", [0, 1, 2047, 2049, 1_000_003])
def test_draws_of_every_size_equal_the_reference(operator: str, elements: int) -> None:
    model = model_of(
        f"""g (float16[n] x) => (float16[n] y, uint32[6] next) {{
            size = Shape(x)
            {draw(operator, "size", "state", to="r, next")}
            y = Mul(r, one)
        }}""",
        state=STATE,
        **numbers_of(operator),
    )
    y, following = run(model, "ENABLE_ALL", x=np.zeros(elements, F16))
    values, next_state = expected_of(operator, [elements], state=STATE)
    assert_same_bits(y, values)
    assert_same_bits(following, next_state)


def test_values_that_overflow_or_are_subnormal_stay(level: str) -> None:
    moments = [
        (0, 3e4),
        (0, 65504),
        (1, 6e-8),
        (0, 6e-8),
        (-65504, -65504),
    ]
    for mean, scale in moments:
        model = product_of("RandomNormal", a=F16(mean), b=F16(scale))
        numbers = (F16(mean), F16(scale))
        values, _ = expected_of("RandomNormal", [27, 37], numbers=numbers)
        x = np.zeros((27, 37), F16)
        assert_same_bits(run(model, level, x=x)[0], values)


def test_numbers_that_other_nodes_compute_are_rounded_to_float16(level: str) -> None:
    # The product is one of float32, and the Cast to float16 behind it is removed.
    for operator in REFERENCES:
        model = model_of(
            f"""g (float16[n, m] x, float16 u, float16 v) => (float16[n, m] y) {{
                size = Shape(x)
                lower = Mul(u, u)
                upper = Mul(v, v)
                {draw(operator, "size", numbers="lower, upper")}
                y = Mul(r, one)
            }}"""
        )
        u = F16(0.3333)
        v = F16(1.777)
        assert F32(u) * F32(u) != F32(u * u)
        numbers = (u * u, v * v)
        values, _ = expected_of(operator, numbers=numbers)
        assert_same_bits(run(model, level, x=np.zeros(SHAPE, F16), u=u, v=v)[0], values)
        with pytest.raises(InvalidArgument, match=r"must be a finite number: got inf\."):
            run(
                model,
                level,
                x=np.zeros(SHAPE, F16),
                u=u,
                v=F16(60000),
            )


def test_a_draw_gives_another_its_shape(operator: str, level: str) -> None:
    model = model_of(
        f"""g (float16[n, m] x) => (float16[n, m] y) {{
            size = Shape(x)
            {draw(operator, "size", to="first")}
            first_size = Shape(first)
            {draw(operator, "first_size", to="second")}
            y = Mul(first, second)
        }}""",
        **numbers_of(operator),
    )
    values = expected_of(operator)[0].astype(F32)
    expected = (values * values).astype(F16)
    assert_same_bits(run(model, level, x=np.zeros(SHAPE, F16))[0], expected)


NUMBERS_LIKE = {
    "RandomUniformLike": "high=2.7, low=-0.3",
    "RandomNormalLike": "mean=0.1, scale=1.3",
}


@pytest.mark.parametrize("op_type", NUMBERS_LIKE)
@pytest.mark.parametrize("where", ["graph", "Loop", "Scan", "If"])
def test_what_make_reproducible_makes_of_float16_like_nodes(
    op_type: str, where: str, level: str
) -> None:
    drawn = f"r = {op_type}<{NUMBERS_LIKE[op_type]}>"
    body = {
        "graph": f"{drawn}(x) y = Mul(r, one)",
        "Loop": f"""y = Loop(two, yes) <body = body (int64 i, bool go)
            => (bool go_on, float16[n, m] each) {{
                like = Mul(x, one) {drawn}(like) each = Mul(r, one) go_on = Identity(go)
            }}>""",
        "If": f"""like = Mul(x, one) y = If(yes) <
            then_branch = then () => (float16[n, m] each) {{ {drawn}(like) each = Mul(r, one) }},
            else_branch = other () => (float16[n, m] x2) {{ x2 = Identity(like) }}>""",
        "Scan": f"""y = Scan(steps) <num_scan_inputs=1, body = body (float16 step)
            => (float16[n, m] each) {{ like = Mul(x, step) {drawn}(like) each = Mul(r, step) }}>""",
    }[where]
    model = model_of(
        f"g (float16[n, m] x) => (float16 y) {{ {body} }}",
        two=np.array(2),
        yes=np.array(True),
        steps=np.ones(2, F16),
    )
    shape = model.graph.output[0].type.tensor_type.shape
    times = 1 if where in ("graph", "If") else 2
    for _ in SHAPE if times == 1 else ("times", *SHAPE):
        shape.dim.add()
    x = np.zeros(SHAPE, F16)
    y, following = run(
        make_reproducible(model),
        level,
        x=x,
        random_state=STATE,
    )

    operator = op_type.removesuffix("Like")
    function = REFERENCES[operator]
    numbers = numbers_of(operator).values()
    state = STATE
    expected = []
    for _ in range(times):
        values, state = function(SHAPE, *numbers, "f16", state=state)
        expected.append(values)
    assert_same_bits(y, expected[0] if times == 1 else np.stack(expected))
    assert following.dtype == np.uint32
    (seeded, *_) = run(make_reproducible(model, seed=12345), level, x=x)
    first, _ = function(SHAPE, *numbers, "f16", state=PhiloxState.for_run(12345, 0).to_array())
    assert_same_bits(seeded if times == 1 else seeded[0], first)


def test_an_optimised_model_that_is_saved_draws_the_same(
    operator: str, level: str, tmp_path: Path
) -> None:
    model = product_of(operator)
    options = settings(level)
    options.optimized_model_filepath = str(tmp_path / "saved.onnx")
    InferenceSession(model, options, backend="native")
    for again in LEVELS:
        y = run(onnx.load(tmp_path / "saved.onnx"), again, x=np.zeros(SHAPE, F16))[0]
        assert_same_bits(y, expected_of(operator)[0])


@pytest.mark.parametrize("wrong", ["a", "b", "both"])
def test_a_model_s_own_float32_is_refused(operator: str, level: str, wrong: str) -> None:
    given = {
        name: value.astype(F32) if wrong in (name, "both") else value
        for name, value in numbers_of(operator).items()
    }
    model = product_of(operator, "p = Cast<to=10>(r) y = Mul(p, one)", **given)
    names = {"RandomUniform": ("minval", "maxval"), "RandomNormal": ("mean", "scale")}
    first, second = names[operator]
    name = second if wrong == "b" else first
    text = f"{operator}: input {name!r} must be f16, as output_type says: got f32. Cast it to f16."
    graph = model.graph
    for numbers in ([], [t for t in graph.initializer if t.name in ("a", "b")]):
        for t in numbers:
            graph.node.insert(0, helper.make_node("Constant", [], [t.name], value=t))
            graph.initializer.remove(t)
        with pytest.raises(InvalidArgument, match=text):
            run(model, level, x=np.zeros(SHAPE, F16))


def test_float16_logits_that_other_nodes_compute(level: str) -> None:
    model = model_of(
        """g (float16[n, m] x) => (int32[n, k] y) {
            logits = Mul(x, half)
            r = onnx_philox.RandomCategorical<sample_size=9, op_seed=3>(logits)
            y = Add(r, none)
        }""",
        half=F16(0.5),
        none=np.int32(0),
    )
    x = np.random.default_rng(1).normal(size=(5, 7)).astype(F16)
    values, _ = reference.random_categorical(x * F16(0.5), 9, op_seed=3)
    assert_same_bits(run(model, level, x=x)[0], values)


def test_bfloat16_draws_stay_bfloat16(operator: str, level: str) -> None:
    # ONNX Runtime has next to no nodes that take bfloat16, and inserts no Casts for it.
    text = draw(operator, "size").replace('"f16"', '"bf16"')
    model = model_of(
        f"g (float[n, m] x) => (float[n, m] y) {{ size = Shape(x) {text} y = Cast<to=1>(r) }}"
    )
    numbers = [float(value) for value in NUMBERS[operator]]
    model.graph.initializer.extend(
        helper.make_tensor(name, TensorProto.BFLOAT16, [], [value])
        for name, value in zip("ab", numbers, strict=True)
    )
    values, _ = REFERENCES[operator](SHAPE, *map(ml_dtypes.bfloat16, numbers), "bf16", **SEED)
    assert_same_bits(run(model, level, x=np.zeros(SHAPE, F32))[0], values.astype(F32))
