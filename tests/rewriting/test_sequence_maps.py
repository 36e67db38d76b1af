"""A draw in the body of a SequenceMap draws on, from element to element, as in a Loop."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnx_philox import make_reproducible, reference, to_standard_nodes
from onnx_philox.rewriting import find_random_nodes
from tests.common.cases import assert_same_bits
from tests.common.foreign import STATE, Arrays, in_onnxruntime, nodes, parse

X = np.zeros((3, 4), np.float32)
Z = np.full((3, 2), 9, np.float32)
ON = {
    "x": X,
    "z": Z,
    "c": np.array(True),
    "n": np.array(1),
}
SPLIT = """xs = SplitToSequence <axis = 0, keepdims = 0> (x)
    zs = SplitToSequence <axis = 0, keepdims = 0> (z)"""
BACK = "y = ConcatFromSequence <axis = 0, new_axis = 1> (ys)"
NOISE = "(float[N] a) => (float[N] b) { r = RandomUniformLike (a) b = Add (a, r) }"


def mapped(inputs: str, body: str, output: str = "ys") -> str:
    return f"{output} = SequenceMap ({inputs}) <body = each {body}>"


MAPS: dict[str, str] = {
    "one sequence": f"{SPLIT} {mapped('xs', NOISE)} {BACK}",
    "a body that gives what it is given": f"""{SPLIT} all, ys = SequenceMap (xs) <body = each
        (float[N] a) => (float[N] a, float[N] b) {{ b = RandomUniformLike (a) }}> {BACK}""",
    "several sequences and a tensor": f"""{SPLIT} zero = Constant <value_float = 0.0> ()
        {
        mapped(
            '''xs, zs, zero''',
            '''(float[N] a, float[M] t, float k) => (float[N] b) {
            r = RandomUniformLike (a) s = Add (a, r) b = Add (s, k) }''',
        )
    } {BACK}""",
    "what an Identity hands on": f"""{SPLIT} same = Identity (xs)
        {
        mapped(
            "zs, same",
            '''(float[M] t, float[N] a) => (float[N] b) {
            b = RandomUniformLike (a) }''',
        )
    } {BACK}""",
    "in an If": f"""y = If (c) <then_branch = t () => (float[B, 4] y) {{
            {SPLIT} {mapped("xs", NOISE)} {BACK} }},
        else_branch = e () => (float[B, 4] other) {{ other = Identity (x) }}>""",
    "a sequence that an If gives": f"""given = If (c) <
            then_branch = t () => (seq(float[4]) xs) {{
                xs = SplitToSequence <axis = 0, keepdims = 0> (x) }},
            else_branch = e () => (seq(float[4]) none) {{ none = SequenceConstruct (x) }}>
        zs = SplitToSequence <axis = 0, keepdims = 0> (z)
        {
        mapped(
            "zs, given",
            '''(float[M] t, float[N] a) => (float[N] b) {
            b = RandomUniformLike (a) }''',
        )
    } {BACK}""",
    "in a Loop": f"""y = Loop (n, c, x) <body = b (int64 i, bool on, float[3, 4] x0)
        => (bool off, float[3, 4] y0) {{ off = Identity (on)
            xs = SplitToSequence <axis = 0, keepdims = 0> (x0) {mapped("xs", NOISE)}
            y0 = ConcatFromSequence <axis = 0, new_axis = 1> (ys) }}>""",
    "in a function": f"y = local.noised (x, z) {BACK.replace('y =', 'unused =')}",
    "in another SequenceMap": f"""{SPLIT} {
        mapped(
            "xs",
            '''(float[N] a) => (float[N] b) {
            one = SequenceConstruct (a)
            some = SequenceMap (one) <body = inner (float[N] v) => (float[N] w) {
                w = RandomUniformLike (v) }>
            first = Constant <value_int = 0> () b = SequenceAt (some, first) }''',
        )
    } {BACK}""",
}
FUNCTION = f"""<opset_import: ["" : 17], domain: "local">
    noised (x, z) => (y) {{ {SPLIT} {mapped("xs", NOISE)} {BACK} }}"""


def model_of(name: str, opset: int = 17) -> onnx.ModelProto:
    text = MAPS[name].replace(BACK.replace("y =", "unused ="), "")
    inputs = "float[B, 4] x, float[B, 2] z, bool c, int64 n"
    model = parse(f"g ({inputs}) => (float[B, 4] y) {{ {text} }}", opset)
    if "local." in text:
        model.functions.append(onnx.parser.parse_function(FUNCTION))
        model.functions[0].opset_import[0].version = opset
        model.opset_import.append(onnx.helper.make_opsetid("local", 1))
    return model


def expected(rows: int = 3) -> np.ndarray:
    """What each element draws, from where the one before it has ended."""
    state = STATE
    drawn = []
    for _ in range(rows):
        values, state = reference.random_uniform([4], 0, 1, "f32", state=state)
        drawn.append(values)
    return np.stack(drawn)


@pytest.mark.parametrize("opset", [17, 18, 21])
@pytest.mark.parametrize("name", MAPS)
def test_each_element_of_a_sequence_draws_on(name: str, opset: int, ort_backend: str) -> None:
    model = model_of(name, opset)
    rewritten = make_reproducible(model)
    onnx.checker.check_model(rewritten)
    feeds: Arrays = {**ON, "random_state": STATE}
    assert_same_bits(in_onnxruntime(ort_backend)(rewritten, feeds)[0], expected())


@pytest.mark.parametrize("opset", range(17, 27))
def test_a_map_is_rewritten_at_every_opset_that_has_it(opset: int) -> None:
    rewritten = make_reproducible(model_of("several sequences and a tensor", opset))
    feeds: Arrays = {**ON, "random_state": STATE}
    assert_same_bits(in_onnxruntime()(rewritten, feeds)[0], expected())


def test_a_map_goes_on_from_run_to_run_and_with_a_seed_inside_begins_again() -> None:
    model = model_of("one sequence")
    first, second = (make_reproducible(model, seed=seed) for seed in (5, 6))
    one, two = (in_onnxruntime()(each, {k: ON[k] for k in "xzcn"})[0] for each in (first, second))
    assert_same_bits(in_onnxruntime()(first, ON)[0], one)
    assert not np.array_equal(one, two)


def test_a_sequence_map_without_a_draw_stays_a_sequence_map() -> None:
    quiet = mapped("xs", "(float[N] a) => (float[N] b) { b = Neg (a) }")
    text = f"""g (float[B, 4] x, float[B, 2] z) => (float[B, 4] y, float[B, 4] r) {{
        {SPLIT} {quiet} {BACK} r = RandomUniformLike (x) }}"""
    rewritten = make_reproducible(parse(text, 17))
    assert "SequenceMap" in [node.op_type for node in rewritten.graph.node]


def test_searching_a_model_with_a_sequence_map_changes_nothing_in_it() -> None:
    model = model_of("one sequence")
    before = model.SerializeToString()
    (found,) = find_random_nodes(model)
    assert (found.path, found.problem) == (("Loop of 'ys' body",), None)
    assert model.SerializeToString() == before


def test_rows_of_a_sequence_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"RandomUniformLike of 'r' .*Loop of 'ys' body") as caught:
        make_reproducible(model_of("one sequence"), per_row=True)
    assert "rewrite the model with one state for the whole batch" in str(caught.value)


def test_a_map_becomes_standard_nodes() -> None:
    model = model_of("one sequence", 18)
    standard = to_standard_nodes(make_reproducible(model))
    assert not [node for node in nodes(standard) if node.domain == "onnx_philox"]
