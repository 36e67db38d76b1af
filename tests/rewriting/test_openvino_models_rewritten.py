"""OpenVINO models that never were ONNX, rewritten: what they draw is what the reference draws."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8, opset15

import onnx_philox as op
from tests.common import cli
from tests.common.cases import DTYPES, assert_all_same, assert_refused, assert_same_bits
from tests.common.foreign import parse
from tests.common.openvino_models import (
    CORE,
    branch,
    drawn,
    iterator,
    loop,
    loop_in_body,
    loop_of,
    model,
    multinomial,
    named,
    normal,
    parameter,
    through_ir,
    uniform,
)
from tests.common.runtimes import DEFAULT, ONE_THREAD, tensor_of

STATE = op.PhiloxState.for_run(42).to_array()
ZEROS = {"x": np.zeros((2, 4), np.float32)}
RATIOS = np.float32([[0.1, 0.2, 0.7, 1.5], [-1, np.nan, 0.5, 0]])
CLEAN = np.nan_to_num(np.clip(RATIOS, 0, 1))
LOGITS = np.float32([[0, 0.5, 1, 0.25], [1, -1, 0, 0]])
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i32", "i64")
HINTS = ("f32", "bf16", "f16")
F32 = np.float32


def streams(given: ov.Model) -> dict[str, int]:
    # Nodes of this package keep their seeds.
    nodes = op.rewriting.find_random_nodes(given)
    found = (node for node in nodes if not node.domain)
    return {node.outputs[0]: stream for stream, node in enumerate(found)}


def reference(
    kind: str,
    *arguments: Any,
    **given: Any,
) -> Callable[..., np.ndarray]:
    """What draws of a stream."""
    return lambda **seeds: getattr(op.reference, f"random_{kind}")(*arguments, **given, **seeds)[0]


class Given:
    """The input of a model, and its shape."""

    def __init__(self) -> None:
        self.x = parameter("x", [2, 4])
        self.of_x = opset8.shape_of(self.x)


Build = Callable[[Given], ov.Node]
Expect = Callable[[Callable[..., np.ndarray]], np.ndarray]
# What draws in the main graph, and what the reference draws.
DRAWS: list[tuple[Build, Expect]] = [
    (
        lambda of: opset8.add(opset8.multiply(F32(2), normal(of.of_x)), F32(1.5)),
        lambda draw: draw("normal", [2, 4], 1.5, 2, "f32"),
    ),
    (
        lambda _: opset8.greater_equal(uniform([2, 4]), F32(0.3)),
        lambda draw: ~draw("bernoulli", [2, 4], F32(0.3)),
    ),
    (
        lambda of: opset8.less(uniform(of.of_x, alignment="pytorch"), of.x),
        lambda draw: draw("bernoulli", [2, 4], CLEAN),
    ),
    (
        lambda of: opset8.less(
            uniform(of.of_x), opset8.sigmoid(opset8.divide(of.x, opset8.subtract(of.x, of.x)))
        ),
        lambda _: RATIOS > 0,
    ),
    (
        lambda of: uniform(of.of_x, 0, opset8.convert(opset8.gather(of.of_x, 1, 0), "f32")),
        lambda draw: draw("uniform", [2, 4], 0, 4, "f32"),
    ),
    (
        lambda _: opset8.less(uniform([2, 4], type_="f16"), np.float16(0.25)),
        lambda draw: draw("uniform", [2, 4], 0, 1, "f16") < 0.25,
    ),
    (
        lambda _: multinomial(opset8.constant(LOGITS), 3, "i64", is_log=True),
        lambda draw: draw("categorical", LOGITS, 3, "i64"),
    ),
    (
        lambda _: multinomial(
            opset8.convert(opset8.constant(LOGITS), "bf16"), 3, "i64", replaces=False, is_log=True
        ),
        lambda draw: draw("categorical", LOGITS, 3, "i64", replacement=False),
    ),
]


def uniforms_of(
    type_: str,
    ops: Any,
    seed: int,
) -> tuple[Build, Expect]:
    is_integer = type_ in INTEGERS
    low, high = (-3, 300) if is_integer else (-0.25, 3)
    return (
        lambda _: uniform(
            [3, 5],
            low,
            high,
            type_,
            (7, seed),
            ops=ops,
        ),
        lambda draw: draw("uniform", [3, 5], low, high, type_),
    )


def normals_of(type_: str, **how: Any) -> tuple[Build, Expect]:
    return (
        lambda _: normal([3, 5], type_, **how),
        lambda draw: draw("normal", [3, 5], 0, 1, type_),
    )


types_and_ops = product((*FLOATS, *INTEGERS), (opset8, opset15))
for n, (type_, ops) in enumerate(types_and_ops):
    DRAWS.append(uniforms_of(type_, ops, seed=8 + n))
for type_ in ("f32", "f16", "bf16"):
    DRAWS.append(normals_of(type_, wave=opset8.cos))
    DRAWS.append(normals_of(type_, wave=opset8.sin, is_folded=False))
    DRAWS.append(normals_of(type_, wave=opset8.sin))


def by_hand() -> ov.Model:
    """A model of all draws, whose outputs are named by their numbers."""
    given = Given()
    outputs = {f"{n}": build(given) for n, (build, _) in enumerate(DRAWS)}
    return model(outputs, [given.x])


@pytest.mark.parametrize("way", ["memory", "ir", "compressed"])
@pytest.mark.parametrize("hint", HINTS)
def test_every_draw_is_the_reference_s(way: str, hint: str, tmp_path: Path) -> None:
    given = by_hand()
    if way != "memory":
        given = through_ir(given, tmp_path, compressed=way == "compressed")
    numbers = streams(given)
    before = [node.get_name() for node in given.get_ordered_ops()]
    assert len(numbers) == len(DRAWS)
    new = op.make_reproducible(given)
    seeded = op.make_reproducible(given, seed=42)
    assert [node.get_name() for node in given.get_ordered_ops()] == before
    assert op.make_reproducible(new) is new
    if way != "memory":
        new = through_ir(new, tmp_path, compressed=way == "compressed")
    got = drawn(new, STATE, hint, x=RATIOS)
    for n, (_, expect) in enumerate(DRAWS):
        print(f"draw {n}")
        stream = {"state": STATE, "op_seed": numbers[f"{n}"]}

        def draw(
            kind: str,
            *arguments: Any,
            stream: Any = stream,
            **more: Any,
        ) -> np.ndarray:
            return reference(kind, *arguments, **more)(**stream)

        assert_same_bits(got[f"{n}"], expect(draw))
    state = op.PhiloxState.for_run(42, run=1).to_array()
    assert_same_bits(got["next_random_state"].view(np.uint32), state)
    assert [i.any_name for i in seeded.inputs] == ["x"]
    values_of = drawn(seeded, None, hint, x=RATIOS)
    for name, values in values_of.items():
        assert_same_bits(values, got[name])


def test_a_model_without_random_nodes_comes_back_itself() -> None:
    x = parameter("x", [2, 4])
    given = model({"y": opset8.relu(x)}, [x])
    assert op.make_reproducible(given) is given


FORMS = {form: getattr(np, form) for form in ("less", "less_equal", "greater", "greater_equal")}
ODD = [-0.5, 0.0, 1.0, 1.5, np.nan, np.inf, -np.inf, -1e-30]
# Half of the distance of two numbers that are drawn.
STEPS = {
    "f32": 2.0**-25,
    "f16": 2.0**-12,
    "bf16": 2.0**-9,
    "f64": 2.0**-53,
}


def compared(
    type_: str,
    given: dict[str, np.ndarray],
) -> ov.Model:
    """Uniforms compared in every form, from both sides, with these numbers or with 0.5."""
    outputs = {}
    for form in FORMS:
        for side in (0, 1):
            half = np.full([60], 0.5, DTYPES[type_])
            p = given.get(f"{form} {side}", half)
            # `opset8` would make constants of f64 by way of f32.
            constant = ov.op.Constant(tensor_of(p))
            pair = [uniform([60], type_=type_), constant]
            ordered = pair if side == 0 else pair[::-1]
            compare = getattr(opset8, form)
            outputs[f"{form} {side}"] = compare(*(ordered))
    return model(outputs, [])


@pytest.mark.parametrize("type_", FLOATS)
@pytest.mark.parametrize("are_odd", [False, True])
def test_a_uniform_is_compared_exactly_in_every_form(type_: str, are_odd: bool) -> None:
    """With the numbers drawn, with their neighbours, and with what is no probability."""
    dtype = DTYPES[type_]
    draw = reference("uniform", [60], 0, 1, type_)
    numbers = streams(compared(type_, {}))
    uniforms = {name: draw(state=STATE, op_seed=number) for name, number in numbers.items()}
    given = {}
    for name, u in uniforms.items():
        p = u.copy()
        above = u[1::3].astype(np.float64) + STEPS[type_]
        p[1::3] = above.astype(dtype)
        below = u[2::3].astype(np.float64) - STEPS[type_]
        p[2::3] = np.maximum(below, 0).astype(dtype)
        if are_odd:
            odd = np.array(ODD)
            p[::4] = np.resize(odd.astype(dtype), 15)
        given[name] = p
    raw = compared(type_, given)
    is_left = type_ == "f64" and are_odd
    own = type_ in ("f32", "f64") and not are_odd
    nodes = op.rewriting.find_random_nodes(raw)
    kinds = {(n.replacement, n.output_type) for n in nodes}
    kind = "RandomBernoulli" if own else "RandomUniform"
    assert kinds == {("RandomUniform", "f64") if is_left else (kind, "bool")}
    if is_left:
        return
    new = op.make_reproducible(raw)
    for hint in HINTS:
        got = drawn(new, STATE, hint)
        for name, u in uniforms.items():
            form, side = name.split()
            is_first = side == "0"
            pair = (u, given[name]) if is_first else (given[name], u)
            with np.errstate(invalid="ignore"):  # Some processors flag a comparison with NaN.
                assert_same_bits(got[name], FORMS[form](*pair))


def test_a_uniform_that_is_scaled_and_rounded_down_is_an_integer(tmp_path: Path) -> None:
    floor = opset8.floor
    to = opset8.convert
    nine = opset8.multiply(F32(9), uniform([50]))
    scaled = floor(nine)
    integers = {
        "folded": (to(floor(uniform([50], 0, 7)), "i64"), 0, 7, "i64"),
        "moved": (to(floor(uniform([50], -3, 4)), "i32"), -3, 4, "i32"),
        "scaled": (to(opset8.add(scaled, F32(-5)), "i32"), -5, 4, "i32"),
        "cast": (to(uniform([50], 0, 1000), "i32"), 0, 1000, "i32"),
        "one": (to(uniform([50], 5, 6), "i32"), 5, 6, "i32"),
        "less": (to(floor(opset8.subtract(uniform([50], 0, 7), F32(2))), "f32"), -2, 5, "f32"),
    }
    # What may draw other integers stays as it is, after its uniform.
    left = {
        "negative": to(uniform([50], -3, 4), "i32"),
        "fraction": to(floor(uniform([50], 0, 2.5)), "i32"),
        "turned": to(floor(opset8.subtract(F32(2), uniform([50], 0, 7))), "i32"),
        "narrow": to(floor(uniform([50], 0, 300)), "u8"),
        "float": floor(uniform([50], 0, 9)),
    }
    nodes = {name: node for name, (node, *_) in integers.items()}
    outputs = nodes | left
    given = through_ir(model(outputs, []), tmp_path)
    found = op.rewriting.find_random_nodes(given)
    types_of = {k: row[3] for k, row in integers.items()}
    all_names = (*left, *outputs)
    wanted = dict.fromkeys(all_names, "f32") | types_of
    kinds = {node.outputs[0]: node.output_type for node in found}
    assert len(kinds) == len(outputs)
    expected = {k: wanted[k] for k in integers}
    assert {k: kinds[k] for k in integers} == expected
    others = {kind for name, kind in kinds.items() if name not in integers}
    assert others == {"f32"}
    assert kinds.keys().isdisjoint(left)
    new = op.make_reproducible(given)
    numbers = streams(given)
    for hint in HINTS:
        got = drawn(new, STATE, hint)
        for name, (_, low, high, _) in integers.items():
            whole = reference("uniform", [50], low, high, "i32")
            want = whole(state=STATE, op_seed=numbers[name])
            assert np.array_equal(got[name], want), (name, hint)


def in_a_loop_of_an_if(x: ov.op.Parameter, make: Any) -> ov.Output:
    """A Loop whose If draws in the first two of four iterations."""
    value = opset8.parameter([2, 4], ov.Type.f32)
    step = opset8.parameter([], ov.Type.i64)
    is_early = opset8.less(step, np.int64(2))
    inner = branch(is_early, value, make)
    return loop_of(x, 4, inner, step, value).output(0)


def called(name: str) -> Callable[[Any], ov.Node]:
    return lambda shape: named(uniform(shape), name)


def one_after_the_other(
    count: int,
    number: int,
    shape: list[int],
) -> list[np.ndarray]:
    """Draws of a node, each from the state after the one before."""
    state = STATE
    values = []
    for _ in range(count):
        one, state = op.reference.random_uniform(
            shape,
            0,
            1,
            "f32",
            state=state,
            op_seed=number,
        )
        values.append(one)
    return values


@pytest.mark.parametrize("is_saved", [False, True])
def test_draws_in_bodies_go_on_from_iteration_to_iteration(is_saved: bool, tmp_path: Path) -> None:
    x = parameter("x", [2, 4])
    c = parameter("c", [], ov.Type.boolean)
    difference = lambda shape: opset8.subtract(called("a")(shape), called("b")(shape))  # noqa: E731
    outputs = {
        "loop": loop(x, 3, called("in loop")),
        "rows": iterator(x, called("in rows")),
        "branch": branch(c, x, difference),
        "other": branch(c, x, called("other"), is_else=True),
        "inner": branch(c, x, lambda shape: loop_in_body(shape, called("inner"))),
        "nested": in_a_loop_of_an_if(x, called("in nested")),
        "twice": loop(x, 2, lambda shape: loop_in_body(shape, called("deep"))),
    }
    given = model(outputs, [x, c])
    nodes = op.rewriting.find_random_nodes(given)
    number = {n.name: i for i, n in enumerate(nodes)}

    def draws(
        count: int,
        name: str,
        rows: int = 2,
    ) -> list[np.ndarray]:
        return one_after_the_other(count, number[name], [rows, 4])

    new = op.make_reproducible(given)
    seeded = op.make_reproducible(given, seed=42)
    assert op.make_reproducible(seeded, seed=42) is seeded
    if is_saved:
        new = through_ir(new, tmp_path)
        seeded = through_ir(seeded, tmp_path)
    feeds = ZEROS | {"c": np.array(True)}
    got = drawn(new, STATE, **feeds)
    deep = draws(4, "deep")
    wanted = {
        "loop": sum(draws(3, "in loop"), np.zeros((2, 4), F32)),
        "rows": np.concatenate(draws(2, "in rows", 1)),
        "branch": draws(1, "a")[0] - draws(1, "b")[0],
        "inner": sum(draws(2, "inner"), np.zeros((2, 4), F32)),
        "nested": sum(draws(2, "in nested"), np.zeros((2, 4), F32)),
        "twice": (deep[0] + deep[1]) + (deep[2] + deep[3]),
    }
    for name, values in wanted.items():
        assert_same_bits(got[name], values)
    for name, values in drawn(seeded, **feeds).items():
        assert_same_bits(values, got[name])
    # Where nothing draws, nothing is drawn.
    condition = np.array(False)
    other = drawn(new, STATE, **ZEROS, c=condition)
    assert not other["branch"].any()
    assert_same_bits(other["other"], draws(1, "other")[0])


def test_a_body_that_two_loops_share_draws_for_each() -> None:
    x = parameter("x", [2, 4])
    value = opset8.parameter([2, 4], ov.Type.f32)
    grown = opset8.add(value, uniform(opset8.shape_of(value)))
    outputs = {name: loop_of(x, 2, grown, value) for name in "ab"}
    given = model(outputs, [x])
    assert len(op.rewriting.find_random_nodes(given)) == 2
    got = drawn(op.make_reproducible(given), STATE, **ZEROS)
    sums = [sum(one_after_the_other(2, stream, [2, 4])) for stream in (0, 1)]
    sorted_sums = [sorted(each.ravel()) for each in sums]
    assert sorted(got["a"].ravel()) in sorted_sums
    assert not np.array_equal(got["a"], got["b"])


class MyRandomNoise(ov.Op):
    """An operator of the user's."""

    def __init__(self, inputs: Any = None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        type_ = self.get_input_element_type(0)
        shape = self.get_input_partial_shape(0)
        self.set_output_type(0, type_, shape)

    def clone_with_new_inputs(self, inputs: Any) -> MyRandomNoise:
        return MyRandomNoise(inputs)


def test_a_node_of_another_extension_may_stay_as_it_is() -> None:
    x = parameter("x", [2, 4])
    sum_ = opset8.add(MyRandomNoise([x]), uniform([2, 4]))
    given = model({"y": sum_}, [x])
    with pytest.raises(ValueError, match="MyRandomNoise, random by its name"):
        op.make_reproducible(given)
    with pytest.warns(UserWarning, match="left as it is: .*MyRandomNoise") as warned:
        new = op.make_reproducible(given, keep_unknown=True)
    assert warned[0].filename == __file__
    found = op.rewriting.find_random_nodes(new)
    assert [node.op_type for node in found] == ["MyRandomNoise"]


def with_draw(given: ov.Model, shape: Any, name: str = "c") -> ov.Model:
    """Adds a draw."""
    node = uniform(shape)
    node.output(0).set_names({name})
    given.add_results([opset8.result(node)])
    return given


def test_a_rewritten_model_keeps_its_streams_when_a_draw_is_added() -> None:
    x = parameter("x", [2, 4])
    outputs = {"a": uniform([2, 4]), "b": loop(x, 2, uniform)}
    new = op.make_reproducible(model(outputs, [x]))
    before = drawn(new, STATE, **ZEROS)
    with_draw(new, [2, 4])
    with pytest.raises(ValueError, match="left out for a model whose state is already the graph"):
        op.make_reproducible(new, seed=3)
    after = drawn(op.make_reproducible(new), STATE, **ZEROS)
    assert_all_same([after[name] for name in before], before.values())
    draw = reference("uniform", [2, 4], 0, 1, "f32")
    expected = draw(op_seed=2, state=STATE)
    assert_same_bits(after["c"], expected)


@pytest.mark.parametrize("per_row", [False, True])
def test_what_was_rewritten_as_onnx_is_known_as_an_ir(per_row: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    noise = "g (float[N, 3] x) => (float[N, 3] y) { n = RandomNormalLike (x) y = Add (x, n) }"
    onnx.save(parse(noise), tmp_path / "m.onnx")
    options = ["--per-row"]
    cli.text(
        "rewrite",
        tmp_path / "m.onnx",
        "-o",
        path,
        *options * per_row,
    )
    rows = ", for each row of the batch" * per_row
    shown = cli.document("inspect", path)
    assert shown["state"] == f"the input random_state{rows}"
    read = CORE.read_model(path)
    assert op.make_reproducible(read) is read
    assert op.Pipeline(path, runtime="openvino", per_row=per_row).is_per_row is per_row
    if per_row:
        y = read.outputs[0]
        noisy = opset8.add(y, uniform(opset8.shape_of(y)))
        read.add_results([opset8.result(noisy)])
        with pytest.raises(ValueError, match="one with a single state, or none yet"):
            op.make_reproducible(read)


def rows_of_a_batch() -> ov.Model:
    """Each kind of draw, whose shapes are computed from the input in several ways."""
    x = parameter("x", [-1, 4])
    of_x = opset8.shape_of(x)
    zeroth = np.array([0])
    rows = opset8.gather(of_x, zeroth, np.int64(0))
    probabilities = opset8.softmax(opset8.relu(x), 1)
    outputs = {
        "like": uniform(of_x),
        "after": opset8.add(x, normal(opset8.shape_of(opset8.relu(x)))),
        "put_together": uniform(opset8.concat([rows, np.array([2, 3])], 0), -1, 3, "i32"),
        "flag": opset8.less(uniform(of_x), probabilities),
        "kept": opset8.greater(uniform(of_x), F32(0.25)),
        "classes": multinomial(probabilities, 3),
        "ours": op.openvino.random_categorical(probabilities, 3, op_seed=9),
    }
    return model(outputs, [x])


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_row_draws_the_same_in_any_batch(is_saved: bool, tmp_path: Path) -> None:
    given = rows_of_a_batch()
    new = op.make_reproducible(given, per_row=True)
    assert op.make_reproducible(new) is new
    new = through_ir(new, tmp_path) if is_saved else new
    expected = ov.PartialShape([-1, 6])
    assert new.input("random_state").get_partial_shape() == expected
    generator = np.random.default_rng(0)
    x = generator.normal(size=(3, 4)).astype(F32)
    states = op.row_states([17, 4, 99], run=3)
    whole = drawn(new, states, x=x)
    like = reference("uniform", [3, 4], 0, 1, "f32")
    expected = like(state=states, op_seed=streams(given)["like"])
    assert_same_bits(whole["like"], expected)
    following = op.row_states([17, 4, 99], run=4)
    assert np.array_equal(whole["next_random_state"], following)
    for one in (slice(row, row + 1) for row in range(3)):
        alone = drawn(new, states[one], x=x[one])
        for name, values in alone.items():
            assert_same_bits(values, whole[name][one])
    of_none = drawn(
        new,
        states[:0],
        x=x[:0],
    )
    assert of_none["like"].shape == (0, 4)
    for others in (states[:1], states[:2]):
        with pytest.raises(RuntimeError, match="one_row_for_each_row_of_x"):
            drawn(new, others, x=x)
    pipe = op.Pipeline(new, runtime="openvino", config={"INFERENCE_PRECISION_HINT": "f32"})
    batch = ("batch", 4)
    assert (pipe.is_per_row, pipe.inputs["x"].shape) == (True, batch)
    answer = pipe({"x": x}, seeds=[17, 4, 99])
    assert answer["like"].shape == (3, 4)


def test_a_node_that_is_named_draws_rows() -> None:
    x = parameter("x", [-1, 4])
    # That it has another dimension first.
    x.set_layout(ov.Layout("?C"))
    y = parameter("y", [-1, 4])
    sum_ = opset8.add(x, y)
    both = named(uniform(opset8.shape_of(sum_)), "both")
    own = uniform(opset8.shape_of(y))
    given = model({"both": both, "own": own}, [x, y])
    with pytest.raises(ValueError, match=r"\[\?, 4\].*say so with per_row=\['both'\]"):
        op.make_reproducible(given, per_row=True)
    new = op.make_reproducible(given, per_row=["both"])
    states = op.row_states([1, 2])
    feeds = ZEROS | {"y": ZEROS["x"]}
    got = drawn(new, states, **feeds)["both"]
    for one in (slice(0, 1), slice(1, 2)):
        fed = {name: array[one] for name, array in feeds.items()}
        alone = drawn(new, states[one], **fed)
        assert_same_bits(alone["both"], got[one])
    # The batch is the input of which some node draws rows.
    for config in (DEFAULT, ONE_THREAD):
        with pytest.raises(RuntimeError, match="one_row_for_each_row_of_y"):
            drawn(new, states[:1], config=config, **feeds)


def of_x(x: Any) -> ov.Node:
    return uniform(opset8.shape_of(x))


UNPROVED = [
    (
        lambda _: uniform([3, 4]),
        "the shape of what it draws must be one that has",
    ),
    (
        lambda x: multinomial(opset8.reduce_sum(x, np.int64(0), True), 2),
        "got [1, 4]",
    ),
    (
        lambda x: op.openvino.random_categorical(
            opset8.reduce_sum(x, np.int64(0), True), 5, op_seed=1
        ),
        "got [1, 5]",
    ),
    (
        lambda x: of_x(
            opset8.reshape(
                opset8.transpose(x, [1, 0]),
                np.array([-1]),
                False,
            )
        ),
        "proved",
    ),
]


@pytest.mark.parametrize(("made", "says"), UNPROVED)
def test_what_is_not_proved_to_be_rows_is_refused_by_name(
    made: Callable[[ov.Node], ov.Node], says: str
) -> None:
    x = parameter("x", [-1, 4])
    given = model({"z": made(x)}, [x])
    assert_refused(lambda: op.make_reproducible(given, per_row=True), says)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"per_row": ["none"]}, "one of the random nodes to replace"),
        ({"per_row": True, "seed": 3}, "a constant would have the rows of one batch"),
    ],
)
def test_rows_of_no_node_and_of_a_constant_are_refused(asked: dict[str, Any], says: str) -> None:
    x = parameter("x", [-1, 4])
    assert_refused(lambda: op.make_reproducible(model({"z": of_x(x)}, [x]), **asked), says)


def test_what_an_ir_cannot_have_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"is dynamic: got one with the inputs x \[2, 4\]"):
        op.make_reproducible(by_hand(), per_row=True)
    x = parameter("x", [-1, 4])
    noise = of_x(x)
    single = op.make_reproducible(model({"z": noise}, [x]))
    shape = opset8.shape_of(single.input("x"))
    more = with_draw(single, shape)
    with pytest.raises(ValueError, match="one without a state yet"):
        op.make_reproducible(more, per_row=True)
    x = parameter("random_state", [2, 4])
    sum_ = opset8.add(x, uniform([2, 4]))
    given = model({"y": sum_}, [x])
    with pytest.raises(ValueError, match=r"Rename it: model\.input\('random_state'\)\.set_names\("):
        op.make_reproducible(given)
    given.input("random_state").set_names({"own_random_state"})
    assert op.make_reproducible(given).input("random_state").shape == [6]


@pytest.mark.parametrize("seed", [0, 4])
def test_a_constant_generator_of_torch_s_is_read_and_shared_by_no_other_node(
    seed: int, tmp_path: Path
) -> None:
    original = parse("g (float[2, 3] x) => (float[2, 3] y) { y = RandomNormalLike (x) }")
    made = op.make_reproducible(original, alignment="pytorch", seed=seed)
    read = CORE.read_model(made.SerializeToString())
    assert op.make_reproducible(read) is read
    ov.save_model(read, tmp_path / "m.xml")
    shown = cli.document("inspect", tmp_path / "m.xml")
    assert shown["state"].startswith(f"a constant inside, of seed {seed}:")
    with pytest.raises(ValueError, match="random nodes are replaced at once"):
        op.make_reproducible(with_draw(read, [5]))
