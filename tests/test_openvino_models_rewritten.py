"""OpenVINO models that never were ONNX, rewritten: what they draw is what the reference draws."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cli
import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import parser
from openvino import opset8
from openvino_models import (
    branch,
    constant,
    iterator,
    loop,
    model,
    multinomial,
    normal,
    parameter,
    uniform,
)
from runtimes import DEFAULT, ONE_THREAD, Config, infer

import onnx_philox as op
from onnx_philox._contract.types import BY_NAME, F64
from onnx_philox._openvino_models import arrays
from onnx_philox._rewriting.comparisons import BITS

STATE = op.PhiloxState.for_run(42).to_array()
CORE = op.openvino.register(ov.Core())


def drawn(
    given: ov.Model, feeds: dict, hint: str = "f32", state=STATE, config: Config = DEFAULT
) -> dict[str, np.ndarray]:
    """What a rewritten model gives, by name."""
    compiled = CORE.compile_model(given, "CPU", {"INFERENCE_PRECISION_HINT": hint, **config})
    request = compiled.create_infer_request()
    infer(request, {**feeds, **({} if state is None else {"random_state": state})})
    return {
        name: arrays.memory(request.get_tensor(port)).copy()
        for port in compiled.outputs
        for name in port.get_names()
    }


def streams(given: ov.Model) -> dict[str, int]:
    found = op.rewriting.find_random_nodes(given)
    return {node.outputs[0]: stream for stream, node in enumerate(found)}


def through_ir(given: ov.Model, path, *, compressed: bool) -> ov.Model:
    ov.save_model(given, path, compress_to_fp16=compressed)
    return CORE.read_model(path)


def by_hand() -> tuple[ov.Model, dict, dict]:
    """A model of draws in the main graph, its feeds, and what the reference draws of each."""
    r = op.reference
    x = parameter("x", [2, 4])
    of_x = opset8.shape_of(x)
    ratios = np.float32([[0.1, 0.2, 0.7, 1.5], [-1, np.nan, 0.5, 0]])
    outputs, wanted = {}, {}

    def add(name, node, wants):
        outputs[name], wanted[name] = node, wants

    for type_ in ("f32", "f64", "f16", "bf16", "i32", "i64"):
        low, high = (-3, 300) if type_.startswith("i") else (-0.25, 3)
        node = uniform([3, 5], low, high, type_, (7, 8 + len(outputs)))
        add(
            type_, node, lambda s, t=type_, a=low, b=high: r.random_uniform([3, 5], a, b, t, **s)[0]
        )
    for type_ in ("f32", "f16"):
        node = normal([3, 5], type_, is_folded=type_ == "f32")
        add(f"n{type_}", node, lambda s, t=type_: r.random_normal([3, 5], 0, 1, t, **s)[0])
    moved = opset8.add(opset8.multiply(np.float32(2), normal(of_x)), np.float32(1.5))
    add("moved", moved, lambda s: r.random_normal([2, 4], 1.5, 2, "f32", **s)[0])
    kept = opset8.greater_equal(uniform([2, 4]), np.float32(0.3))
    add("kept", kept, lambda s: ~r.random_bernoulli([2, 4], np.float32(0.3), **s)[0])
    any_ = opset8.less(uniform(of_x, alignment="pytorch"), x)
    clean = np.nan_to_num(np.clip(ratios, 0, 1))
    add("any", any_, lambda s: r.random_bernoulli([2, 4], clean, **s)[0])
    computed = opset8.sigmoid(opset8.divide(x, opset8.subtract(x, x)))  # 0, 1 and NaN
    add("computed", opset8.less(uniform(of_x), computed), lambda _: ratios > 0)
    half = opset8.less(uniform([2, 4], type_="f16"), np.float16(0.25))
    add("half", half, lambda s: r.random_uniform([2, 4], 0, 1, "f16", **s)[0] < 0.25)
    logits = np.float32([[0, 0.5, 1, 0.25], [1, -1, 0, 0]])
    for replaces in (True, False):
        node = multinomial(constant(logits), 3, "i64", replaces=replaces, is_log=True)
        add(
            f"m{replaces}",
            node,
            lambda s, w=replaces: r.random_categorical(
                logits, 3, output_type="i64", replacement=w, **s
            )[0],
        )
    return model(outputs, [x]), {"x": ratios}, wanted


@pytest.mark.parametrize("way", ["memory", "ir", "compressed"])
@pytest.mark.parametrize("hint", ["f32", "bf16", "f16"])
def test_every_draw_is_the_reference_s(way, hint, tmp_path) -> None:
    given, feeds, wanted = by_hand()
    if way != "memory":
        given = through_ir(given, tmp_path / "given.xml", compressed=way == "compressed")
    numbers = streams(given)
    new = op.make_reproducible(given)
    if way != "memory":
        new = through_ir(new, tmp_path / "new.xml", compressed=way == "compressed")
    got = drawn(new, feeds, hint)
    assert sorted(numbers) == sorted(wanted)
    for name, wants in wanted.items():
        values = wants({"state": STATE, "op_seed": numbers[name]})
        assert np.array_equal(got[name], values), (name, got[name], values)
    state = op.PhiloxState.for_run(42, run=1).to_array()
    assert np.array_equal(got["next_random_state"].view(np.uint32), state)


FORMS = {
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
ODD = [-0.5, 0.0, 1.0, 1.5, np.nan, np.inf, -np.inf, -1e-30]


def compared(type_: str, given: dict[str, np.ndarray]) -> ov.Model:
    """Uniforms compared in every form, from both sides, with these numbers or with 0.5."""
    dtype = BY_NAME[type_].dtype
    outputs = {}
    for form in FORMS:
        for side in (0, 1):
            name = f"{form} {side}"
            p = given.get(name, np.full([60], 0.5, dtype))
            # `opset8` would make constants of f64 by way of f32.
            pair = [uniform([60], type_=type_), arrays.constant(p)]
            outputs[name] = getattr(opset8, form)(*(pair if side == 0 else pair[::-1]))
    return model(outputs, [])


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("are_odd", [False, True])
def test_a_uniform_is_compared_exactly_in_every_form(type_, are_odd) -> None:
    """With the numbers drawn, with their neighbours, and with what is no probability."""
    dtype = BY_NAME[type_].dtype
    numbers = streams(compared(type_, {}))
    drawn_ = {
        name: op.reference.random_uniform([60], 0, 1, type_, state=STATE, op_seed=number)[0]
        for name, number in numbers.items()
    }
    given = {}
    for name, u in drawn_.items():
        p = u.copy()
        step = 2.0 ** -(BITS | {F64: 52})[BY_NAME[type_]] / 2
        p[1::3] = (u[1::3].astype(np.float64) + step).astype(dtype)
        p[2::3] = np.maximum(u[2::3].astype(np.float64) - step, 0).astype(dtype)
        if are_odd:
            p[::4] = np.resize(np.array(ODD).astype(dtype), 15)
        given[name] = p
    raw = compared(type_, given)
    is_left = type_ == "f64" and are_odd
    found = op.rewriting.find_random_nodes(raw)
    own = type_ in ("f32", "f64") and not are_odd
    assert {(n.replacement, n.output_type) for n in found} == {
        ("RandomUniform", "f64")
        if is_left
        else ("RandomBernoulli" if own else "RandomUniform", "bool")
    }
    if is_left:
        return
    new = op.make_reproducible(raw)
    for hint in ("f32", "bf16", "f16"):
        got = drawn(new, {}, hint)
        for name, u in drawn_.items():
            form, side = name.split()
            pair = (u, given[name]) if side == "0" else (given[name], u)
            with np.errstate(invalid="ignore"):  # Some processors flag a comparison with NaN.
                wanted = FORMS[form](*pair)
            assert np.array_equal(got[name], wanted), (name, hint)


def test_a_uniform_that_is_scaled_and_rounded_down_is_an_integer(tmp_path) -> None:
    u = uniform([50])
    floor, to = opset8.floor, opset8.convert
    outputs = {
        "folded": to(floor(uniform([50], 0, 7)), "i64"),
        "moved": to(floor(uniform([50], -3, 4)), "i32"),
        "scaled": to(opset8.add(floor(opset8.multiply(np.float32(9), u)), np.float32(-5)), "i32"),
        "cast": to(uniform([50], 0, 1000), "i32"),
        "less": to(floor(opset8.subtract(uniform([50], 0, 7), np.float32(2))), "f32"),
        "negative": to(uniform([50], -3, 4), "i32"),
        "fraction": to(floor(uniform([50], 0, 2.5)), "i32"),
        "turned": to(floor(opset8.subtract(np.float32(2), uniform([50], 0, 7))), "i32"),
        "narrow": to(floor(uniform([50], 0, 300)), "u8"),
    }
    given = through_ir(model(outputs, []), tmp_path / "m.xml", compressed=True)
    kinds = {n.outputs[0]: n.output_type for n in op.rewriting.find_random_nodes(given)}
    numbers = streams(given)
    wanted = {
        "folded": (0, 7, "i64"),
        "moved": (-3, 4, "i32"),
        "scaled": (-5, 4, "i32"),
        "cast": (0, 1000, "i32"),
        "less": (-2, 5, "f32"),
    }
    new = op.make_reproducible(given)
    for hint in ("f32", "bf16", "f16"):
        got = drawn(new, {}, hint)
        for name, (low, high, type_) in wanted.items():
            assert kinds[name] == type_
            i32 = op.reference.random_uniform(
                [50], low, high, "i32", state=STATE, op_seed=numbers[name]
            )[0]
            assert np.array_equal(got[name], i32), (name, hint)
    # What may draw other integers stays as it is, after its uniform.
    assert {type_ for name, type_ in kinds.items() if name not in wanted} == {"f32"}
    assert len(kinds) == len(outputs)


def test_a_seed_inside_draws_what_the_state_of_run_0_draws() -> None:
    given, feeds, _ = by_hand()
    seeded = op.make_reproducible(given, seed=42)
    assert [i.any_name for i in seeded.inputs] == ["x"]
    got = drawn(seeded, feeds, state=None)
    wanted = drawn(op.make_reproducible(given), feeds)
    for name in got:
        assert np.array_equal(got[name], wanted[name]), name


def test_the_model_given_stays_as_it_is() -> None:
    given, _, wanted = by_hand()
    before = [node.get_name() for node in given.get_ordered_ops()]
    op.make_reproducible(given)
    assert [node.get_name() for node in given.get_ordered_ops()] == before
    assert len(op.rewriting.find_random_nodes(given)) == len(wanted)


def test_a_model_without_random_nodes_comes_back_itself() -> None:
    x = parameter("x", [2, 4])
    given = model({"y": opset8.relu(x)}, [x])
    assert op.make_reproducible(given) is given
    new = op.make_reproducible(by_hand()[0])
    assert op.make_reproducible(new) is new


def named(name: str, low: float = 0, high: float = 1):
    def make(shape):
        node = uniform(shape, low, high)
        node.set_friendly_name(name)
        return node

    return make


def nested(x, make):
    """A Loop whose If draws in the first two of four iterations."""
    value = opset8.parameter([2, 4], ov.Type.f32)
    step = opset8.parameter([], ov.Type.i64)
    inner = branch(opset8.less(step, np.int64(2)), value, make)
    going = constant(np.array(True))
    body = ov.Model([going.output(0), inner.output(0)], [step, value], "steps")
    node = opset8.loop(constant(np.array(4, np.int64)), constant(np.array(True)))
    node.set_function(body)
    node.set_special_body_ports([0, 0])
    node.set_merged_input(value, x.output(0), inner.output(0))
    node.get_iter_value(inner.output(0), -1)
    return node


def one_after_the_other(count: int, number: int, shape: list[int]) -> list[np.ndarray]:
    """Draws of a node, each from the state after the one before."""
    state, values = STATE, []
    for _ in range(count):
        drawn_, state = op.reference.random_uniform(shape, 0, 1, "f32", state=state, op_seed=number)
        values.append(drawn_)
    return values


@pytest.mark.parametrize("is_saved", [False, True])
def test_draws_in_bodies_go_on_from_iteration_to_iteration(is_saved, tmp_path) -> None:
    x, c = parameter("x", [2, 4]), parameter("c", [], ov.Type.boolean)
    outputs = {
        "loop": loop(x, 3, named("in_loop")),
        "rows": iterator(x, named("in_rows")),
        "branch": branch(c, x, lambda shape: opset8.subtract(named("a")(shape), named("b")(shape))),
        "nested": nested(x, named("in_nested")),
        "twice": loop(x, 2, lambda shape: loop_of(shape, named("deep"))),
    }
    given = model(outputs, [x, c])
    number = {n.name: i for i, n in enumerate(op.rewriting.find_random_nodes(given))}
    new = op.make_reproducible(given)
    if is_saved:
        new = through_ir(new, tmp_path / "m.xml", compressed=True)
    feeds = {"x": np.zeros((2, 4), np.float32), "c": np.array(True)}
    got = drawn(new, feeds)
    draws = one_after_the_other
    one, two, three = draws(3, number["in_loop"], [2, 4])
    assert np.array_equal(got["loop"], (one + two) + three)
    assert np.array_equal(got["rows"], np.concatenate(draws(2, number["in_rows"], [1, 4])))
    (a,), (b,) = (draws(1, number[name], [2, 4]) for name in "ab")
    assert np.array_equal(got["branch"], a - b)
    one, two = draws(2, number["in_nested"], [2, 4])
    assert np.array_equal(got["nested"], one + two)
    one, two, three, four = draws(4, number["deep"], [2, 4])
    assert np.array_equal(got["twice"], (one + two) + (three + four))
    seeded = op.make_reproducible(given, seed=42)
    if is_saved:
        seeded = through_ir(seeded, tmp_path / "seeded.xml", compressed=True)
    for name, values in drawn(seeded, feeds, state=None).items():
        assert np.array_equal(values, got[name]), name
    assert op.make_reproducible(seeded, seed=42) is seeded
    # Where nothing draws, nothing is drawn.
    assert not drawn(new, {**feeds, "c": np.array(False)})["branch"].any()


def loop_of(shape, make):
    """A Loop in a body: the sum of two draws."""
    zeros = opset8.broadcast(constant(np.float32(0)), shape)
    value = opset8.parameter([2, 4], ov.Type.f32)
    grown = opset8.add(value, make(opset8.shape_of(value)))
    node = opset8.loop(constant(np.array(2, np.int64)), constant(np.array(True)))
    node.set_function(ov.Model([constant(np.array(True)), grown], [value], "inner"))
    node.set_special_body_ports([-1, 0])
    node.set_merged_input(value, zeros.output(0), grown.output(0))
    return node.get_iter_value(grown.output(0), -1)


def test_a_draw_in_the_other_branch_and_one_in_a_loop_of_a_branch() -> None:
    x, c = parameter("x", [2, 4]), parameter("c", [], ov.Type.boolean)
    outputs = {
        "other": branch(c, x, named("other"), is_else=True),
        "inner": branch(c, x, lambda shape: loop_of(shape, named("inner"))),
    }
    given = model(outputs, [x, c])
    number = {n.name: i for i, n in enumerate(op.rewriting.find_random_nodes(given))}
    new = op.make_reproducible(given)
    feeds = {"x": np.zeros((2, 4), np.float32)}
    got = drawn(new, {**feeds, "c": np.array(False)})
    assert np.array_equal(got["other"], one_after_the_other(1, number["other"], [2, 4])[0])
    got = drawn(new, {**feeds, "c": np.array(True)})
    one, two = one_after_the_other(2, number["inner"], [2, 4])
    assert np.array_equal(got["inner"], one + two)


def test_a_body_that_two_loops_share_draws_for_each() -> None:
    x = parameter("x", [2, 4])
    value = opset8.parameter([2, 4], ov.Type.f32)
    grown = opset8.add(value, uniform(opset8.shape_of(value)))
    body = ov.Model([constant(np.array(True)), grown], [value], "shared")
    outputs = {}
    for name in "ab":
        node = opset8.loop(constant(np.array(2, np.int64)), constant(np.array(True)))
        node.set_function(body)
        node.set_special_body_ports([-1, 0])
        node.set_merged_input(value, x.output(0), grown.output(0))
        outputs[name] = node.get_iter_value(grown.output(0), -1)
    given = model(outputs, [x])
    assert len(op.rewriting.find_random_nodes(given)) == 2
    got = drawn(op.make_reproducible(given), {"x": np.zeros((2, 4), np.float32)})
    sums = [sum(one_after_the_other(2, stream, [2, 4])) for stream in (0, 1)]
    assert sorted(got["a"].ravel()) in [sorted(each.ravel()) for each in sums]
    assert not np.array_equal(got["a"], got["b"])


def test_a_node_of_another_extension_may_stay_as_it_is() -> None:
    x = parameter("x", [2, 4])
    given = model({"y": opset8.add(MyRandomNoise([x]), uniform([2, 4]))}, [x])
    with pytest.raises(ValueError, match="MyRandomNoise, random by its name"):
        op.make_reproducible(given)
    with pytest.warns(UserWarning, match="left as it is: .*MyRandomNoise") as warned:
        new = op.make_reproducible(given, keep_unknown=True)
    assert warned[0].filename == __file__
    assert [node.op_type for node in op.rewriting.find_random_nodes(new)] == ["MyRandomNoise"]


class MyRandomNoise(ov.Op):
    """An operator of the user's."""

    def __init__(self, inputs=None) -> None:
        super().__init__(self)
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def clone_with_new_inputs(self, inputs):
        return MyRandomNoise(inputs)


def test_a_rewritten_model_keeps_its_streams_when_a_draw_is_added() -> None:
    x = parameter("x", [2, 4])
    new = op.make_reproducible(model({"a": uniform([2, 4]), "b": loop(x, 2, uniform)}, [x]))
    before = drawn(new, {"x": np.zeros((2, 4), np.float32)})
    added = uniform([2, 4])
    added.output(0).set_names({"c"})
    new.add_results([opset8.result(added)])
    with pytest.raises(ValueError, match="left out for a model whose state is already the graph"):
        op.make_reproducible(new, seed=3)
    both = op.make_reproducible(new)
    after = drawn(both, {"x": np.zeros((2, 4), np.float32)})
    for name, values in before.items():
        assert np.array_equal(after[name], values)
    wanted, _ = op.reference.random_uniform([2, 4], 0, 1, "f32", op_seed=2, state=STATE)
    assert np.array_equal(after["c"], wanted)


def test_what_an_ir_cannot_have_is_refused_by_name() -> None:
    given, _, _ = by_hand()
    with pytest.raises(ValueError, match=r"is dynamic: got one with the inputs x \[2, 4\]"):
        op.make_reproducible(given, per_row=True)
    high = parameter("high", [], ov.Type.i64)
    computed = model({"u": uniform([3], 0, high, "i64")}, [high])
    with pytest.raises(ValueError, match=r"RandomUniform 'R.*must be a constant"):
        op.make_reproducible(computed)


@pytest.mark.parametrize("per_row", [False, True])
def test_what_was_rewritten_as_onnx_is_known_as_an_ir(per_row, tmp_path) -> None:
    proto = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 3] x) => (float[N, 3] y) { n = RandomNormalLike (x) y = Add (x, n) }""")
    onnx.save(proto, tmp_path / "m.onnx")
    path = str(tmp_path / "m.xml")
    options = ["--per-row"] if per_row else []
    command("rewrite", str(tmp_path / "m.onnx"), "-o", path, *options)
    shown = json.loads(command("inspect", path, "--json"))
    rows = ", for each row of the batch" if per_row else ""
    assert shown["state"] == f"the input random_state{rows}"
    read = CORE.read_model(path)
    assert op.make_reproducible(read) is read
    pipe = op.Pipeline(path, runtime="openvino", per_row=per_row)
    assert pipe.is_per_row is per_row
    if per_row:
        y = read.outputs[0]
        noisy = opset8.add(y, uniform(opset8.shape_of(y)))
        noisy.output(0).set_names({"z"})
        read.add_results([opset8.result(noisy)])
        with pytest.raises(ValueError, match="one with a single state, or none yet"):
            op.make_reproducible(read)


def rows_of_a_batch() -> ov.Model:
    """Each kind of draw, whose shapes are computed from the input in several ways."""
    x = parameter("x", [-1, 4])
    of_x = opset8.shape_of(x)
    rows = opset8.gather(of_x, np.array([0]), np.int64(0))
    probabilities = opset8.softmax(opset8.relu(x), 1)
    outputs = {
        "like": uniform(of_x),
        "after": opset8.add(x, normal(opset8.shape_of(opset8.relu(x)))),
        "put_together": uniform(opset8.concat([rows, np.array([2, 3])], 0), -1, 3, "i32"),
        "flag": opset8.less(uniform(of_x), probabilities),
        "kept": opset8.greater(uniform(of_x), np.float32(0.25)),
        "classes": multinomial(probabilities, 3),
    }
    return model(outputs, [x])


@pytest.mark.parametrize("is_saved", [False, True])
def test_a_row_draws_the_same_in_any_batch(is_saved, tmp_path) -> None:
    given = rows_of_a_batch()
    new = op.make_reproducible(given, per_row=True)
    if is_saved:
        new = through_ir(new, tmp_path / "m.xml", compressed=True)
    assert new.input("random_state").get_partial_shape() == ov.PartialShape([-1, 6])
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    states = op.row_states([17, 4, 99], run=3)
    all_rows = drawn(new, {"x": x}, state=states)
    numbers = streams(given)
    wanted, _ = op.reference.random_uniform(
        [3, 4], 0, 1, "f32", state=states, op_seed=numbers["like"]
    )
    assert np.array_equal(all_rows["like"], wanted)
    assert np.array_equal(all_rows["next_random_state"], op.row_states([17, 4, 99], run=4))
    for row in range(3):
        one = slice(row, row + 1)
        alone = drawn(new, {"x": x[one]}, state=states[one])
        for name, values in alone.items():
            assert np.array_equal(values, all_rows[name][one]), name
    assert drawn(new, {"x": x[:0]}, state=states[:0])["like"].shape == (0, 4)
    for others in (states[:1], states[:2]):
        with pytest.raises(RuntimeError, match="one_row_for_each_row_of_x"):
            drawn(new, {"x": x}, state=others)
    pipe = op.Pipeline(new, runtime="openvino", config={"INFERENCE_PRECISION_HINT": "f32"})
    assert pipe.is_per_row
    assert pipe.streams.batch == "x"
    assert np.array_equal(pipe({"x": x}, seeds=[17, 4, 99])["like"].shape, (3, 4))
    assert op.make_reproducible(new) is new


def test_what_is_not_proved_to_be_rows_is_refused_by_name() -> None:
    x, y = parameter("x", [-1, 4]), parameter("y", [-1, 4])

    def named_(name, node):
        node.set_friendly_name(name)
        return node

    both = named_("both", uniform(opset8.shape_of(opset8.add(x, y))))
    given = model({"both": both, "own": uniform(opset8.shape_of(y))}, [x, y])
    with pytest.raises(ValueError, match=r"\[\?, 4\].*say so with per_row=\['both'\]"):
        op.make_reproducible(given, per_row=True)
    new = op.make_reproducible(given, per_row=["both"])
    feeds = {"x": np.zeros((2, 4), np.float32), "y": np.zeros((2, 4), np.float32)}
    states = op.row_states([1, 2])
    got, alone = drawn(new, feeds, state=states), []
    for row in range(2):
        one = {name: array[row : row + 1] for name, array in feeds.items()}
        alone.append(drawn(new, one, state=states[row : row + 1])["both"])
    assert np.array_equal(np.concatenate(alone), got["both"])
    # The batch is the input of which some node draws rows.
    for config in (DEFAULT, ONE_THREAD):
        with pytest.raises(RuntimeError, match="one_row_for_each_row_of_y"):
            drawn(new, feeds, state=states[:1], config=config)
    turned = opset8.transpose(x, np.array([1, 0]))
    for node, says in (
        (uniform([3, 4]), "the shape of what it draws must be one of which a dimension is"),
        (multinomial(opset8.reduce_sum(x, np.int64(0), True), 2), r"got \[1, 4\]"),
        (loop(x, 2, uniform), "its place must be the main graph"),
        (uniform(opset8.shape_of(opset8.reshape(turned, np.array([-1]), False))), "proved"),
    ):
        with pytest.raises(ValueError, match=says):
            op.make_reproducible(model({"z": node}, [x]), per_row=True)
    with pytest.raises(ValueError, match="one of the random nodes to replace"):
        op.make_reproducible(given, per_row=["none"])
    with pytest.raises(ValueError, match="a constant would have the rows of one batch"):
        op.make_reproducible(given, per_row=True, seed=3)
    single = op.make_reproducible(given)
    added = uniform(opset8.shape_of(single.input("x")))
    single.add_results([opset8.result(added)])
    with pytest.raises(ValueError, match="one without a state yet"):
        op.make_reproducible(single, per_row=True)


def test_inspect_says_which_draws_are_rows(tmp_path) -> None:
    ov.save_model(rows_of_a_batch(), tmp_path / "m.xml")
    shown = json.loads(command("inspect", str(tmp_path / "m.xml"), "--json"))
    assert shown["per_row"] == {
        "batch": "x",
        "where": "the batch, the first of the input 'x'",
        "obstacle": None,
    }
    command("rewrite", "--per-row", str(tmp_path / "m.xml"), "-o", str(tmp_path / "new.xml"))
    shown = json.loads(command("inspect", str(tmp_path / "new.xml"), "--json"))
    assert shown["state"] == "the input random_state, for each row of the batch"
    assert shown["per_row"]["obstacle"] is None


def test_a_tensor_that_only_has_the_name_of_the_state_is_refused() -> None:
    x = parameter("random_state", [2, 4])
    given = model({"y": opset8.add(x, uniform([2, 4]))}, [x])
    with pytest.raises(ValueError, match=r"Rename it: model\.input\('random_state'\)\.set_names\("):
        op.make_reproducible(given)
    given.input("random_state").set_names({"own_random_state"})
    assert op.make_reproducible(given).input("random_state").shape == [6]


@pytest.mark.parametrize("name", ["state", "random_state"])
def test_no_other_node_draws_from_a_state_that_goes_on_by_a_draw(name: str) -> None:
    """The next run would begin after that draw, and so repeat most of a larger one."""

    def given(named: str, after: str, size: int = 1000) -> ov.Model:
        state = parameter(named, [6], ov.Type.u32)
        number = [constant(np.float32(n)) for n in (0, 1)]
        u = op.openvino.random_uniform(constant(np.int64([4])), *number, "f32", state=state)
        draws = {"y": uniform([size])} if size else {}
        return model({"u": u.output(0), after: u.output(1), **draws}, [state])

    with pytest.raises(ValueError, match=r"would repeat their numbers\. Rename the state and the"):
        op.make_reproducible(given(name, f"next_{name}"))
    alone = given(name, f"next_{name}", 0)
    assert op.make_reproducible(alone) is alone
    renamed = op.make_reproducible(given("words", "after"))
    after = drawn(renamed, {"words": STATE})["next_random_state"]
    assert (after - STATE).tolist() == [0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("seed", [0, 4])
def test_a_constant_generator_of_torch_s_is_read_and_shared_by_no_other_node(
    seed: int, tmp_path
) -> None:
    original = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2, 3] x) => (float[2, 3] y) { y = RandomNormalLike (x) }""")
    made = op.make_reproducible(original, alignment="pytorch", seed=seed)
    read = CORE.read_model(made.SerializeToString())
    assert op.make_reproducible(read) is read
    ov.save_model(read, tmp_path / "m.xml")
    shown = json.loads(command("inspect", str(tmp_path / "m.xml"), "--json"))
    assert shown["state"].startswith(f"a constant inside, of seed {seed}:")
    read.add_results([opset8.result(uniform([5]))])
    with pytest.raises(ValueError, match="random nodes are replaced at once"):
        op.make_reproducible(read)


def two_draws() -> ov.Model:
    x = parameter("x", [-1, 4])
    of_x = opset8.shape_of(x)
    return model({"y": opset8.add(x, normal(of_x)), "z": loop_of_two(x)}, [x])


def loop_of_two(x):
    return loop(x, 2, uniform)


@pytest.mark.parametrize("case", ["missing", "a link outside", "a cache of links", "no IR"])
def test_an_ir_needs_its_weights_beside_it(case: str, tmp_path, monkeypatch) -> None:
    x = parameter("x", [2, 4])
    weights = constant(np.arange(8, dtype=np.float32).reshape(2, 4))
    drawn_ = opset8.add(opset8.add(x, weights), uniform([2, 4]))
    (folder := tmp_path / "snapshot").mkdir()
    monkeypatch.chdir(folder)
    ov.save_model(model({"y": drawn_}, [x]), "first.xml", compress_to_fp16=False)
    command("rewrite", "first.xml", "-o", "m.xml")
    said = {
        "missing": "the external data 'm.bin' must be a file in the folder of 'm.xml': got no file",
        "a link outside": "the external data 'm.bin' must be a file in the model's folder",
        "no IR": "m.xml must be a whole OpenVINO IR",
    }.get(case)
    if case == "missing":
        Path("m.bin").unlink()
    elif case == "no IR":
        Path("m.xml").write_text("<other/>")
    else:
        # As a cache of downloads has them: both files are links to a folder of their own.
        (blobs := tmp_path / "blobs").mkdir()
        for name in ("m.bin", "m.xml")[: 2 if said is None else 1]:
            Path(name).rename(blobs / name.replace(".", ""))
            Path(name).symlink_to(Path("..", "blobs", name.replace(".", "")))
    for arguments in (("run", "m.xml", "--fill", "--seed", "3"), ("inspect", "m.xml")):
        printed = command(*arguments, code=0 if said is None else 2)
        assert said is None or (said in printed and "run: run:" not in printed)
    loose = ("--rtol", "1", "--atol", "1")
    command("compare", "m.xml", "--fill", "--seed", "3", *loose, code=0 if said is None else 2)
    if said is None:
        op.Pipeline("m.xml", runtime="openvino")
        return
    with pytest.raises(ValueError, match=re.escape(said)):
        op.Pipeline("m.xml", runtime="openvino")


def test_the_commands_rewrite_and_run_an_ir(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    x = parameter("x", [2, 4])
    weights = constant(np.arange(8, dtype=np.float32).reshape(2, 4))
    drawn_ = opset8.add(opset8.add(x, weights), uniform([2, 4]))
    ov.save_model(model({"y": drawn_}, [x]), "m.xml", compress_to_fp16=False)
    source = Path("m.bin").read_bytes()

    done = json.loads(command("rewrite", "m.xml", "-o", "new.xml", "--json"))
    assert [node["replacement"] for node in done["replaced"]] == ["RandomUniform"]
    assert done["run"] == "onnx-philox run new.xml --seed 42 --runs 3 --fill"
    assert source == Path("m.bin").read_bytes()
    runs = [command(*done["run"].split()[1:]) for _ in range(2)]
    assert runs[0] == runs[1]
    told = command("rewrite", "m.xml", "-o", "seeded.xml", "--seed", "7")
    assert "The state is a constant inside, of seed 7" in told
    assert "rewritten already" in command("rewrite", "new.xml", "-o", "again.xml")
    shown = json.loads(command("inspect", "new.xml", "--json"))
    assert (shown["random_nodes"], shown["state"]) == ([], "the input random_state")
    assert shown["next_state"] == "next_random_state"
    assert [node["operator"] for node in shown["rewritten_nodes"]] == ["RandomUniform"]

    for arguments, says in (
        (("rewrite", "m.xml", "-o", "new.onnx"), "a name that ends in .xml"),
        (("rewrite", "m.xml", "-o", "m.xml"), "a file of its own"),
        (
            ("rewrite", "m.xml", "-o", "n.xml", "--standard"),
            "the path of an ONNX file: got 'm.xml', an OpenVINO IR",
        ),
        (("rewrite", "m.xml", "-o", "n.xml", "--per-row"), "is dynamic: got one with"),
        (("run", "m.xml", "--seed", "1", "--fill"), "Rewrite it first: onnx-philox rewrite m.xml"),
    ):
        assert says in command(*arguments, code=2)
    assert not Path("n.xml").exists()


def command(*arguments: str, code: int = 0) -> str:
    result = cli.invoke(*arguments)
    assert result.exit_code == code, result.output
    return result.output


def test_an_ir_is_compared_at_two_precisions(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ov.save_model(op.make_reproducible(two_draws()), "m.xml", compress_to_fp16=False)
    told = json.loads(command("compare", "m.xml", "--fill", "--rtol", "1", "--atol", "1", "--json"))
    assert [loaded["runtime"] for loaded in told["runtimes"]] == ["openvino", "openvino"]
    one, other = (loaded["how"] for loaded in told["runtimes"])
    assert "precision f32" in one
    assert "bf16" in other
    kinds = {output["name"]: output["kind"] for output in told["runs"][0]["outputs"]}
    assert [*kinds.values()].count("drawn") == 1
    assert kinds["next_random_state"] == "state"
    assert told["is_ok"]
    is_one = "does not have it" in other
    assert ("says only that a run is repeated" in command("compare", "m.xml", "--fill")) is is_one
    wrong = command("compare", "m.xml", *["--precision", "f32"] * 2, code=2)
    assert "--precision must be two different ones for an OpenVINO IR" in wrong
    ov.save_model(two_draws(), "raw.xml")
    assert "Rewrite it first: onnx-philox rewrite raw.xml" in command("compare", "raw.xml", code=2)


def test_an_ir_is_compared_and_run_on_devices(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ov.save_model(op.make_reproducible(two_draws()), "m.xml", compress_to_fp16=False)
    devices = ["--device", "CPU", "--device", "HETERO:CPU"]
    told = json.loads(command("compare", "m.xml", "--fill", *devices, "--json"))
    hows = [loaded["how"] for loaded in told["runtimes"]]
    assert hows[0] == "CPU, precision f32"
    assert hows[1].startswith("HETERO:CPU")
    assert told["is_ok"]
    assert "says only that a run is repeated" not in command("compare", "m.xml", "--fill", *devices)
    for arguments in (["--device", "CPU"] * 2, [*devices, *["--precision", "f32"] * 2]):
        wrong = command("compare", "m.xml", "--fill", *arguments, code=2)
        assert "--device must be two different ones at one --precision" in wrong
    run = ("run", "m.xml", "--fill", "--seed", "42", "--precision", "f32", "--json")
    one, other = (json.loads(command(*run, "--device", name)) for name in ("CPU", "HETERO:CPU"))
    assert other["how"].startswith("HETERO:CPU")
    assert one["runs"] == other["runs"]
    graph = op.graphs.random_generator([4])
    onnx.save(graph, "m.onnx")
    for arguments, says in (
        (("run", "m.onnx", "--device", "GPU"), "--device must be given with --runtime openvino"),
        (("compare", "m.onnx", *devices), "--device must be given once for an ONNX file"),
    ):
        assert says in command(*arguments, "--seed", "1", code=2)


def test_a_file_is_rewritten_into_a_file(tmp_path) -> None:
    ov.save_model(two_draws(), tmp_path / "m.xml")
    report = op.rewriting.rewrite_file(tmp_path / "m.xml", tmp_path / "new.xml")
    assert [node.replacement for node in report.replaced] == ["RandomUniform", "RandomNormal"]
    in_memory = op.make_reproducible(tmp_path / "m.xml")
    feeds = {"x": np.zeros((2, 4), np.float32)}
    wanted = drawn(in_memory, feeds)
    for name, values in drawn(CORE.read_model(tmp_path / "new.xml"), feeds).items():
        assert np.array_equal(values, wanted[name])
    with pytest.raises(ValueError, match="neither read nor written twice"):
        op.rewriting.rewrite_file(tmp_path / "m.xml", tmp_path / "m.xml")


def test_a_pipeline_takes_a_model_of_openvino_s(tmp_path) -> None:
    given = two_draws()
    ov.save_model(given, tmp_path / "m.xml", compress_to_fp16=False)
    new = op.make_reproducible(given)
    pipes = [
        op.Pipeline(each, runtime="openvino", config={"INFERENCE_PRECISION_HINT": "f32"})
        for each in (given, new, tmp_path / "m.xml")
    ]
    feeds = {"x": np.zeros((2, 4), np.float32)}
    wanted = drawn(new, feeds)
    for pipe in pipes:
        assert [node.op_seed for node in pipe.streams.nodes] == [0, 1]
        answer = pipe(feeds, seed=42)
        assert sorted(answer) == ["y", "z"]
        assert all(np.array_equal(answer[name], wanted[name]) for name in answer)
    first = pipes[1].request(seed=42)
    first(feeds)
    second = first(feeds)["y"]
    on = pipes[2].request(resume=json.loads(json.dumps(pipes[0].request(seed=42).checkpoint())))
    on(feeds)
    assert np.array_equal(on(feeds)["y"], second)
    with pytest.raises(ValueError, match="runtime='openvino'"):
        op.Pipeline(given)
    with pytest.raises(TypeError, match="each option must be one of config"):
        op.Pipeline(given, runtime="openvino", providers=[])
    with pytest.raises(ValueError, match=r"its place must be the main graph.*Loop"):
        op.Pipeline(given, runtime="openvino", per_row=True)
    x = parameter("x", [2])
    lost = model({"y": opset8.relu(x)}, [x])
    for each in (lost, op.make_reproducible(lost)):
        with pytest.raises(ValueError, match=r"one with random nodes.*may have lost them"):
            op.Pipeline(each, runtime="openvino")


def test_the_record_of_a_rewrite_is_in_the_model_and_in_ir(tmp_path) -> None:
    new = op.make_reproducible(two_draws())
    read = through_ir(new, tmp_path / "m.xml", compressed=True)
    texts = [str(m.get_rt_info(["onnx_philox.streams"]).value) for m in (new, read)]
    assert texts[0] == texts[1]
    told = json.loads(texts[0])
    assert (told["state"], told["next_state"]) == ("random_state", "next_random_state")
    assert told["nodes"] == [["RandomUniform", "f32", 0, 0], ["RandomNormal", "f32", 0, 1]]


def test_a_rewritten_model_keeps_its_state_in_a_variable() -> None:
    stateful = op.openvino.make_stateful(
        op.make_reproducible(two_draws()), op.PhiloxState.for_run(42)
    )
    feeds = {"x": np.zeros((2, 4), np.float32)}
    wanted = drawn(op.make_reproducible(two_draws()), feeds)
    got = drawn(stateful, feeds, state=None)
    assert all(np.array_equal(got[name], wanted[name]) for name in ("y", "z"))
    assert op.rewriting.find_random_nodes(stateful) == []
