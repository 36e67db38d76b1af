"""What make_reproducible leaves alone, what it keeps of an earlier rewrite, and what it refuses."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest
from cases import assert_all_same, assert_same_bits
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.backend.test.case import node as onnx_s_own
from onnx.backend.test.case.test_case import TestCase
from onnx.reference import ReferenceEvaluator

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible, reference
from onnx_philox._models.untouched import Originals
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import Report, find_random_nodes, rewrite, rewrite_file

STATE = PhiloxState.for_run(42).to_array()


def parse(body: str, opsets: str = '"" : 17', ir_version: int = 8) -> onnx.ModelProto:
    return parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{opsets}]> {body}")


def run(model: onnx.ModelProto, state: np.ndarray | None = STATE, **feeds: np.ndarray) -> list:
    if state is not None:
        feeds["random_state"] = state
    return ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS).run(None, feeds)


def uniform(shape: list[int], stream: int, state: np.ndarray = STATE) -> np.ndarray:
    return reference.random_uniform(shape, 0, 1, "f32", op_seed=stream, state=state)[0]


TWO = """g () => (float[2] a, float[3] b) {
    a = RandomUniform <shape = [2]> ()
    b = RandomUniform <shape = [3]> ()
}"""
PLAIN = "g (float[2] x) => (float[2] y) { y = Relu (x) }"


# ------------------------------------------------------------------ nothing to do


def test_a_model_without_random_nodes_comes_back_itself(caplog: pytest.LogCaptureFixture) -> None:
    model = parse(PLAIN)
    before = model.SerializeToString()
    with caplog.at_level(logging.INFO, "onnx_philox"):
        assert make_reproducible(model) is model
        assert make_reproducible(model, seed=3) is model
    assert model.SerializeToString() == before
    assert caplog.messages == ["onnx_philox: no random nodes to replace"] * 2


@pytest.mark.parametrize(
    "body",
    [
        "g (float[2] x) => (float[2] y) { y = Dropout (x) }",
        "g (float[2] x) => (float[2] y) { r = Constant <value_float = 0.3> () y = Dropout (x, r) }",
        """g (float[2] x) => (float[2] y) {
            t = Constant <value = bool {0}> () y = Dropout (x, , t) }""",
        "g (float[2] x) => (float[2] y) <bool t = {0}> { y = Dropout (x, , t) }",
    ],
)
def test_dropout_outside_of_training_is_not_random(body: str) -> None:
    model = parse(body)
    assert make_reproducible(model) is model
    assert find_random_nodes(model) == []


@pytest.mark.parametrize(("opset", "is_test"), [(1, 1), (6, 1), (7, None), (10, None)])
def test_dropout_of_old_opsets_outside_of_training_is_not_random(
    opset: int, is_test: int | None
) -> None:
    attribute = "" if is_test is None else f"<is_test = {is_test}>"
    model = parse(
        f"g (float[2] x) => (float[2] y) {{ y = Dropout {attribute} (x) }}", f'"":{opset}'
    )
    assert make_reproducible(model) is model


def test_a_training_mode_that_is_only_the_default_of_an_input_is_not_constant() -> None:
    body = "g (float[2] x, bool t) => (float[2] y) <bool t = {0}> { y = Dropout (x, , t) }"
    model = parse(body)
    model.graph.input[1].name = "t"
    assert len(find_random_nodes(model)) == 1


def test_the_model_that_is_given_is_not_changed() -> None:
    model = parse(TWO)
    before = model.SerializeToString()
    make_reproducible(model)
    make_reproducible(model, seed=1)
    find_random_nodes(model)
    assert model.SerializeToString() == before
    graph = ir.from_proto(parse(TWO))
    make_reproducible(graph)
    assert (
        ir.to_proto(graph).SerializeToString()
        == ir.to_proto(ir.from_proto(parse(TWO))).SerializeToString()
    )


# ------------------------------------------------------------------ everything else stays


def rich_model() -> onnx.ModelProto:
    """A model with a little of everything around two random nodes."""
    model = parse(
        """g (float[N, 4] x, bool c) => (float[N, 4] y, float[2] z, float[2] plain)
        <float[4] w = {1, 2, 3, 4}, int64[1] unused_by_all = {7}> {
            noise = RandomNormalLike (x)
            h = Add (x, noise)
            h2 = local.twice (h)
            y = Mul (h2, w)
            z = If (c) <
                then_branch = t () => (float[2] tz) { tz = RandomUniform <shape = [2]> () },
                else_branch = e () => (float[2] ez) { ez = Constant <value = float[2] {1, 2}> () }
            >
            k = com.example.Thing <level = 3, names = ["a", "b"]> (h)
            plain = If (c) <
                then_branch = pt () => (float[2] pa) { pa = Constant <value = float[2] {1, 2}> () },
                else_branch = pe () => (float[2] pb) { pb = Constant <value = float[2] {3, 4}> () }
            >
        }
        <domain: "local", opset_import: ["" : 17]> twice (a) => (b) { b = Add (a, a) }
        """,
        '"" : 17, "local" : 1, "com.example" : 4',
    )
    model.producer_name, model.producer_version = "exporter", "1.2"
    model.model_version, model.doc_string, model.domain = 5, "A model.", "org.example"
    model.metadata_props.add(key="author", value="someone")
    model.graph.doc_string = "A graph."
    model.graph.node[0].name, model.graph.node[0].doc_string = "noise_node", "Noise."
    model.graph.node[3].name, model.graph.node[3].doc_string = "weigh", "Weighs."
    model.graph.node[0].metadata_props.add(key="namespace", value="model/noise")
    model.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, ["N", 4]))
    model.graph.value_info.append(
        helper.make_tensor_value_info("noise", TensorProto.FLOAT, ["N", 4])
    )
    model.graph.value_info[0].doc_string = "Between."
    model.graph.input[0].doc_string = "The input."
    model.graph.initializer.append(
        TensorProto(
            name="far",
            dims=[1000],
            data_type=TensorProto.FLOAT,
            data_location=TensorProto.EXTERNAL,
            external_data=[
                onnx.StringStringEntryProto(key="location", value="far.bin"),
                onnx.StringStringEntryProto(key="checksum", value="abc"),
            ],
        )
    )
    sparse = model.graph.sparse_initializer.add()
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([1.0], np.float32), "sparse"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([3]), "sparse_indices"))
    sparse.dims.append(10)
    note = model.graph.quantization_annotation.add(tensor_name="h")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    model.training_info.add()
    return model


@pytest.mark.parametrize("seed", [None, 5])
def test_all_that_is_not_a_random_node_stays_as_it_is(seed: int | None) -> None:
    original = rich_model()
    model = make_reproducible(original, seed=seed)

    # Taking away what is new leaves what was there, message by message and in order.
    left = onnx.ModelProto()
    left.CopyFrom(model)
    assert left.opset_import[-1] == helper.make_opsetid("onnx_philox", 1)
    del left.opset_import[-1]
    if seed is None:
        assert left.graph.input[-1].name == "random_state"
        assert left.graph.output[-1].name == "next_random_state"
        del left.graph.input[-1]
        del left.graph.output[-1]
        assert left.metadata_props[-1].key == "onnx_philox.streams"
        del left.metadata_props[-1]
    else:
        assert left.graph.initializer[-1].name == "random_state"
        del left.graph.initializer[-1]

    def is_new(name: str) -> bool:
        return name.startswith("onnx_philox.") or name == "next_random_state"

    drawn = next(node for node in left.graph.node if node.op_type == "RandomNormal")
    assert list(drawn.output) == ["noise"]
    assert drawn.name == "noise_node"
    assert drawn.doc_string == "Noise."
    assert drawn.metadata_props == original.graph.node[0].metadata_props
    kept = [n for n in left.graph.node if not is_new(n.output[0]) and n is not drawn]
    branch_holder = next(node for node in kept if node.output[0] == "z")
    was = next(node for node in original.graph.node if node.output[0] == "z")
    then = next(a for a in branch_holder.attribute if a.name == "then_branch").g
    assert [n.op_type for n in then.node] == [
        *("Constant", "Constant", "Constant", "Cast", "RandomUniform")
    ]
    for attribute in branch_holder.attribute:
        if attribute.name == "else_branch":
            assert attribute in was.attribute
    for node in original.graph.node[1:]:
        if node.output[0] != "z":
            assert node in kept
    assert [n.output[0] for n in kept if n.op_type != "RandomNormal"] == [
        n.output[0] for n in original.graph.node[1:]
    ]

    original_left = onnx.ModelProto()
    original_left.CopyFrom(original)
    infos = [info for info in left.graph.value_info if not is_new(info.name)]
    for proto in (left, original_left):
        del proto.graph.node[:]
    del left.graph.value_info[:]
    left.graph.value_info.extend(infos)
    assert left.SerializeToString(deterministic=True) == original_left.SerializeToString(
        deterministic=True
    )


def test_types_that_onnx_ir_does_not_know_stay() -> None:
    model = parse(TWO)
    map_type = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(1, []))
    sequence = helper.make_sequence_type_proto(map_type)
    model.graph.output.append(helper.make_value_info("probabilities", sequence))
    model.graph.node.append(
        helper.make_node("ZipMap", ["b"], ["probabilities"], domain="ai.onnx.ml")
    )
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([1.0], np.float32)),
        numpy_helper.from_array(np.array([3])),
        [10],
    )
    model.graph.node.append(helper.make_node("Constant", [], ["s"], sparse_value=sparse))
    rewritten = make_reproducible(model)
    assert model.graph.output[2] in rewritten.graph.output
    for node in model.graph.node[2:]:
        assert node in rewritten.graph.node


def test_a_node_that_reads_something_else_is_not_the_original_one() -> None:
    original = parse("g (float[2] x, float[2] w) => (float[2] y) { h = Neg (x)  y = Relu (h) }")
    originals = Originals(original, owner="test")
    originals.model.graph[0].replace_input_with(0, originals.model.graph.inputs[1])
    first, second = originals.to_proto().graph.node
    assert list(first.input) == ["w"]
    assert second == original.graph.node[1]


def test_unnamed_nodes_stay_unnamed() -> None:
    body = "g (float[2] x) => (float[2] y) { n = RandomNormalLike (x) y = Add (x, n) }"
    model = make_reproducible(parse(body))
    (add,) = (node for node in model.graph.node if "y" in node.output)
    assert add.name == ""


@cache
def made_by(file: str) -> list[TestCase]:
    """The models of a file of ONNX's tests; to make all 1,900 takes ten seconds."""
    made = onnx_s_own._NodeTestCases
    before = len(made)
    with warnings.catch_warnings():
        # Making them overflows and divides by zero, on purpose.
        warnings.simplefilter("ignore")
        importlib.import_module(file)
    return made[before:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 8))]
)
def test_models_of_onnx_s_own_tests_come_back_to_the_byte(start: int) -> None:
    """Takes the models of every eighth of ONNX's files of tests, beginning with this one."""
    found = pkgutil.walk_packages(onnx_s_own.__path__, f"{onnx_s_own.__name__}.")
    files = sorted(file.name for file in found)
    cases = [case for file in files[start::8] for case in made_by(file)]
    assert len(cases) > 100
    for case in cases:
        model = Originals(case.model, owner="test").to_proto()
        assert model.SerializeToString(deterministic=True) == case.model.SerializeToString(
            deterministic=True
        ), case.name
        onnx.checker.check_model(make_reproducible(case.model))


# ------------------------------------------------------------------ streams


def test_streams_are_numbered_in_order_and_do_not_overlap() -> None:
    model = make_reproducible(parse(TWO))
    a, b, next_state = run(model)
    assert_same_bits(a, uniform([2], 0))
    assert_same_bits(b, uniform([3], 1))
    assert_same_bits(next_state, PhiloxState.for_run(42, 1).to_array())
    assert not set(a.tolist()) & set(b.tolist())


def test_a_seed_inside_draws_what_the_state_of_its_first_run_draws() -> None:
    a, b = run(make_reproducible(parse(TWO), seed=42), None)
    expected = run(make_reproducible(parse(TWO)))
    assert_same_bits(a, expected[0])
    assert_same_bits(b, expected[1])


def test_the_next_run_draws_other_numbers_and_a_run_can_be_repeated() -> None:
    model = make_reproducible(parse(TWO))
    first = run(model)
    second = run(model, first[-1])
    assert not set(first[0].tolist()) & set(second[0].tolist())
    assert_all_same(run(model), first)


def test_rewriting_twice_changes_nothing() -> None:
    for seed in (None, 42):
        model = make_reproducible(parse(TWO), seed=seed)
        assert make_reproducible(model) is model
    assert make_reproducible(model, seed=42) is model


@pytest.mark.parametrize("seed", [None, 42])
def test_a_node_that_is_added_later_gets_the_next_number_and_the_same_state(
    seed: int | None,
) -> None:
    model = make_reproducible(parse(TWO), seed=seed)
    before = run(model, None if seed else STATE)
    model.graph.node.insert(0, helper.make_node("RandomUniform", [], ["c"], shape=[4]))
    model.graph.output.append(helper.make_tensor_value_info("c", TensorProto.FLOAT, [4]))
    again = make_reproducible(model)
    assert [i.name for i in again.graph.input] == [i.name for i in model.graph.input]
    assert [i.name for i in again.graph.output] == [i.name for i in model.graph.output]
    after = run(again, None if seed else STATE)
    for old, new in zip(before, after, strict=False):
        assert_same_bits(new, old)
    assert_same_bits(after[-1], uniform([4], 2))


def test_a_number_is_not_given_away_when_its_node_is_removed() -> None:
    model = make_reproducible(parse(TWO))
    removed = next(n for n in model.graph.node if "a" in n.output)
    model.graph.node.remove(removed)
    model.graph.node.insert(0, helper.make_node("RandomUniform", [], ["a"], shape=[2]))
    a, b, _ = run(make_reproducible(model))
    assert_same_bits(a, uniform([2], 2))
    assert_same_bits(b, uniform([3], 1))


def test_nodes_of_the_user_s_own_are_not_touched_and_their_numbers_not_taken() -> None:
    model = parse(
        """g (uint32[6] own) => (float[2] a, float[3] b) {
            shape = Constant <value_ints = [2]> ()
            low = Constant <value = float {0}> ()
            high = Constant <value = float {1}> ()
            a = onnx_philox.RandomUniform <output_type = "f32", op_seed = 1> (shape, low, high, own)
            b = RandomUniform <shape = [3]> ()
            c = RandomUniform <shape = [3]> ()
        }""",
        '"" : 17, "onnx_philox" : 1',
    )
    rewritten = make_reproducible(model)
    assert model.graph.node[3] in rewritten.graph.node
    streams = [
        attribute.i
        for node in rewritten.graph.node
        for attribute in node.attribute
        if attribute.name == "op_seed"
    ]
    assert streams == [1, 0, 2]


def test_the_order_of_an_if_s_attributes_means_nothing() -> None:
    model = parse(
        """g (bool c) => (float[2] y) { y = If (c) <
            then_branch = t () => (float[2] ty) { ty = RandomUniform <shape = [2]> () },
            else_branch = e () => (float[2] ey) { ey = RandomUniform <shape = [2]> () }> }"""
    )
    swapped = onnx.ModelProto()
    swapped.CopyFrom(model)
    first, second = model.graph.node[0].attribute
    del swapped.graph.node[0].attribute[:]
    swapped.graph.node[0].attribute.extend([second, first])
    for given in (model, swapped):
        rewritten = make_reproducible(given)
        assert_same_bits(run(rewritten, c=np.array(True))[0], uniform([2], 0))
        assert_same_bits(run(rewritten, c=np.array(False))[0], uniform([2], 1))


def test_the_seed_of_a_model_is_that_of_its_nodes_and_not_of_the_user_s_own() -> None:
    model = parse(
        """g () => (float[2] a, float[2] b) {
            shape = Constant <value_ints = [2]> ()
            low = Constant <value = float {0}> ()
            high = Constant <value = float {1}> ()
            a = onnx_philox.RandomUniform <output_type = "f32", global_seed = 80> (shape, low, high)
            b = RandomUniform <shape = [2]> ()
        }""",
        '"" : 17, "onnx_philox" : 1',
    )
    rewritten = make_reproducible(model, seed=42)
    assert make_reproducible(rewritten, seed=42) is rewritten
    with pytest.raises(
        ValueError, match="left out, or 42, the seed that the model was made with: got 80"
    ):
        make_reproducible(rewritten, seed=80)


# ------------------------------------------------------------------ functions


FUNCTIONS = """g (float[2] x) => (float[2] y, float[2] z, float[2] w) {
    y = local.outer (x)
    z = local.outer (y)
    w = local.quiet (z)
}
<domain: "local", opset_import: ["" : 17, "local" : 1]>
outer (a) => (b) { n = local.noise <scale = 2.0> (a) b = Add (a, n) }
<domain: "local", opset_import: ["" : 17]>
noise <scale> (a) => (n) { n = RandomNormalLike <scale : float = @scale> (a) }
<domain: "local", opset_import: ["" : 17]>
quiet (a) => (b) { h = Add (a, a) b = Relu (h) }
"""


def test_functions_with_random_nodes_are_inlined_and_each_call_draws_its_own() -> None:
    model = parse(FUNCTIONS, '"" : 17, "local" : 1')
    found = find_random_nodes(model)
    assert [(n.op_type, n.function) for n in found] == [("RandomNormalLike", "local::noise")] * 2
    rewritten = make_reproducible(model)
    onnx.checker.check_model(rewritten, full_check=True)
    assert [f.name for f in rewritten.functions] == ["quiet"]
    assert rewritten.functions[0] == model.functions[2]
    assert model.graph.node[2] in rewritten.graph.node
    x = np.zeros(2, np.float32)
    y, z, _, _ = run(rewritten, x=x)
    for stream, values in ((0, y), (1, z - y)):
        normal, _ = reference.random_normal([2], 0, 2, "f32", op_seed=stream, state=STATE)
        np.testing.assert_allclose(values, normal, atol=1e-6)


def test_functions_that_nobody_calls_go_with_those_that_they_call() -> None:
    uncalled = """<domain: "local", opset_import: ["" : 17, "local" : 1]>
        uncalled (a) => (b) { n = local.outer (a) b = Neg (n) }
        """
    head, first, rest = FUNCTIONS.partition("<domain")
    model = parse(head + uncalled + first + rest, '"" : 17, "local" : 1')
    assert [f.name for f in make_reproducible(model).functions] == ["quiet"]


def test_names_of_inlined_values_meet_no_others() -> None:
    model = parse(
        """g (float[2] x, bool c) => (float[2] y, float[2] z) {
            y = local.noisy (x, c)
            z = If (c) <
                then_branch = t () => (float[2] n) { q = Neg (x) n = local.noisy (q, c) },
                else_branch = e () => (float[2] b) { b = Identity (x) }>
        }
        <domain: "local", opset_import: ["" : 17]>
        noisy (a, c) => (b) {
            n = RandomNormalLike (a)
            q = If (c) <
                then_branch = t () => (k) { k = RandomNormalLike (n) },
                else_branch = e () => (k2) { k2 = Identity (n) }>
            b = Add (a, q)
        }""",
        '"" : 17, "local" : 1',
    )
    rewritten = make_reproducible(model)
    onnx.checker.check_model(rewritten, full_check=True)
    for c in (True, False):
        y, z, _ = run(rewritten, x=np.ones(2, np.float32), c=np.array(c))
        assert not np.array_equal(y, z)


def test_branches_of_functions_have_initializers_of_one_name(tmp_path) -> None:
    functions = """<domain: "local", opset_import: ["" : 17]>
        {} (a, c) => (b) {{
            n = RandomNormalLike (a)
            b = If (c) <then_branch = t () => (float[2] k) <float[2] w = {{{}}}>
                    {{ k = Add (n, w) }},
                else_branch = e () => (float[2] k2) {{ k2 = Identity (n) }}>
        }}
        """
    model = parse(
        """g (float[2] x, bool c) => (float[2] y, float[2] z, float[2] w2) <float[2] w = {5, 6}> {
            y = local.f (x, c) z = local.h (x, c) w2 = Identity (w) }
        """
        + functions.format("f", "1, 2")
        + functions.format("h", "3, 4"),
        '"" : 17, "local" : 1',
    )
    outputs = run(make_reproducible(model), x=np.zeros(2, np.float32), c=np.array(True))
    for stream, weights in ((0, [1, 2]), (1, [3, 4])):
        normal, _ = reference.random_normal([2], 0, 1, "f32", op_seed=stream, state=STATE)
        np.testing.assert_array_equal(outputs[stream], normal + np.float32(weights))
    assert outputs[2].tolist() == [5, 6]
    for function in model.functions:
        (large,) = function.node[1].attribute[0].g.initializer
        large.CopyFrom(onnx.numpy_helper.from_array(np.zeros((2**17, 2), np.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(
        ValueError, match="inlined: large weights have a name that others have: 'w'"
    ):
        make_reproducible(tmp_path / "m.onnx")


def test_functions_that_call_themselves_are_refused() -> None:
    model = parse(
        """g (float[2] x) => (float[2] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]>
        f (a) => (b) { n = RandomNormalLike (a) b = local.f (n) }""",
        '"" : 17, "local" : 1',
    )
    with pytest.raises(ValueError, match=r"functions with random nodes \(local::f\) cannot be inl"):
        make_reproducible(model)


def test_functions_of_another_opset_are_refused() -> None:
    model = parse(
        """g (float[2] x) => (float[2] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 22]> f (a) => (b) { b = RandomNormalLike (a) }""",
        '"" : 17, "local" : 1',
    )
    with pytest.raises(
        ValueError, match="must be one whose functions are of the model's own opset"
    ):
        make_reproducible(model)


# ------------------------------------------------------------------ what is refused


BREAKS = {
    "RandomUniform <shape = [2], low = 3.0, high = 1.0> ()": (
        r"minval' must be at most maxval.*: got 3.0 with maxval 1.0"
    ),
    "RandomUniform <shape = [-2]> ()": r"'shape' must be dimensions of 0.*: got \[-2\]",
    "RandomUniform <dtype = 1> ()": "attribute 'shape' must be a list of integers.*: got nothing",
    "RandomUniform <shape = [2], dtype = 6> ()": "type must be FLOAT16, FLOAT.*: got INT32",
    "RandomUniform <shape = [2], dtype = 16> ()": "must be FLOAT16, FLOAT.*: got BFLOAT16",
    "RandomUniform <shape = [2], dtype = 99> ()": "'dtype' must be the number of.*: got 99",
    "RandomNormal <shape = [2], dtype = 10, scale = 1e6> ()": (
        "'scale' must be a number within f16.*: got 1000000.0"
    ),
    "RandomNormalLike (i)": "element type must be FLOAT16, FLOAT or DOUBLE.*: got INT64",
    "Bernoulli (i)": "element type must be FLOAT16.*: got INT64",
    "Bernoulli <dtype = 8> (x)": "'dtype' must be a type of numbers, or BOOL.*: got STRING",
    "Multinomial <dtype = 1> (x)": "'dtype' must be INT32 or INT64.*: got FLOAT",
    "Multinomial <sample_size = 0> (x)": "'sample_size' must be an integer from 1.*: got 0",
    "Multinomial (c)": "the shape of input 'c' must be .classes. or .rows, classes.: got 3 dimens",
    "RandomNormalLike ()": "input 0 must be connected: got nothing. Connect it.",
    "RandomNormalLike (u)": "type of input 'u' must be one that is declared or can be inferred: ",
    "Dropout (x, r, t)": "the ratio must be one number from 0 to 1.*: got 1.5",
}


@pytest.mark.parametrize(("node", "message"), BREAKS.items())
def test_a_node_that_breaks_its_rules_is_refused_by_name(node: str, message: str) -> None:
    model = parse(
        f"""g (float[2] x, int64[2] i, float[1, 1, 2] c) => (float[2] y)
        <float r = {{1.5}}, bool t = {{1}}> {{ u = com.example.Op (x) y = {node} }}""",
        '"" : 17, "com.example" : 1',
    )
    model.graph.node[-1].name = "culprit"
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make_reproducible(model)
    assert "'culprit' (opset " in str(caught.value)
    assert "main graph)" in str(caught.value)
    (found,) = find_random_nodes(model)
    assert found.problem == str(caught.value)
    assert found.replacement is None


UNKNOWN = """g (float[2] x) => (float[2] y, float[2] z) {
    y, mask = com.example.MyDropout (x)
    z = RandomNormalLike (x)
}"""


def test_an_unknown_random_operator_is_refused_by_name_or_kept_with_a_warning() -> None:
    model = parse(UNKNOWN, '"" : 17, "com.example" : 1')
    model.graph.node[0].name = "contrib"
    match = "com.example MyDropout 'contrib' .*got MyDropout, random by its name"
    with pytest.raises(ValueError, match=match):
        make_reproducible(model)
    with pytest.warns(UserWarning, match=match):
        rewritten = make_reproducible(model, keep_unknown=True)
    assert model.graph.node[0] in rewritten.graph.node
    assert [n.op_type for n in rewritten.graph.node].count("RandomNormal") == 1


def test_names_tell_random_operators_of_other_domains() -> None:
    for is_random, names in (
        (True, "RandomNormalLike BiasDropout BitmaskBiasDropout Sampling MultinomialFast"),
        (True, "RandUniform aten_bernoulli"),
        (False, "DropoutGrad BitmaskDropoutGrad GridSample UpSampling Branding BeamSearch"),
        (False, "FusedMatMul"),
    ):
        for name in names.split():
            body = f"g (float[2] x) => (float[2] y) {{ y = other.{name} (x) }}"
            found = find_random_nodes(parse(body, '"" : 17, "other" : 1'))
            assert bool(found) is is_random, name


def test_a_subgraph_that_can_carry_no_state_is_refused_by_name() -> None:
    model = parse(
        """g (seq(float[2]) s) => (seq(float[2]) y) {
            y = SequenceMap (s) <body = b (float[2] a) => (float[2] c) { c = RandomNormalLike (a) }>
        }"""
    )
    model.graph.node[0].name = "each"
    with pytest.raises(ValueError, match="got a subgraph of SequenceMap 'each', which cannot"):
        make_reproducible(model)
    with pytest.warns(UserWarning, match="left as it is"):
        assert make_reproducible(model, keep_unknown=True) is model


def test_an_attribute_of_a_graph_without_one_stays_as_it_is() -> None:
    """Found by a fuzzer. Such a model is for its runtime to refuse."""
    model = parse(
        """g (bool c) => (float[2] y) {
            y = If (c) <then_branch = a () => (float[2] r) { r = RandomNormal <shape = [2]> () },
                else_branch = b () => (float[2] q) { q = Constant <value = float[2] {1, 2}> () }>
        }"""
    )
    model.graph.node[0].attribute[1].ClearField("g")
    (rewritten,) = (n for n in make_reproducible(model).graph.node if n.op_type == "If")
    assert not rewritten.attribute[1].g.node


def test_a_type_that_no_clone_can_infer_is_refused_beside_a_tensor_of_another_s_field() -> None:
    """Found by a fuzzer: onnx-ir's error shows the graph, and ended in one of its own."""
    model = parse(
        """g () => (float[2] y) {
            a = Add (nowhere, w)
            y = RandomNormalLike (a)
        }"""
    )
    model.graph.initializer.add(
        name="w", data_type=onnx.TensorProto.FLOAT, dims=[1], int64_data=[1]
    )
    with pytest.raises(TypeError, match="Declare its type in the graph's value_info"):
        make_reproducible(model)


def test_a_scan_of_opset_8_is_refused() -> None:
    model = parse(
        """g (float[1, 2] s, float[1, 3, 2] x) => (float[1, 2] f, float[1, 3, 2] y) {
            f, y = Scan ( , s, x) <num_scan_inputs = 1, body =
                b (float[2] a, float[2] r) => (float[2] c, float[2] o) {
                    c = RandomNormalLike (a)  o = Identity (r) }>
        }""",
        '"" : 8',
    )
    with pytest.raises(ValueError, match="If, Loop, or Scan from opset 9 on: got a subgraph"):
        make_reproducible(model)


@pytest.mark.parametrize(
    "body",
    [
        "g (float[2] random_state) => (float[2] y) { y = RandomNormalLike (random_state) }",
        """g (float[2] x) => (float[2] y) {
            random_state = Relu (x) y = RandomNormalLike (random_state) }""",
        """g (float[2] x) => (float[2] next_random_state) {
            next_random_state = RandomNormalLike (x) }""",
        """g (float[2] x, bool c) => (float[2] y) { n = RandomNormalLike (x) y = If (c) <
            then_branch = t () => (float[2] random_state) { random_state = Neg (n) },
            else_branch = e () => (float[2] b) { b = Abs (n) }> }""",
        # Of its type as well.
        """g (float[2] x, uint32[6] random_state) => (float[2] y, uint32[6] next_random_state) {
            next_random_state = Identity (random_state)  y = RandomNormalLike (x) }""",
        """g (float[2] x, uint32[6] random_state) => (float[2] y, float[6] c) {
            c = Cast <to = 1> (random_state)  y = RandomNormalLike (x) }""",
        """g (float[2] x) => (float[2] y, float[6] c)
            <uint32[6] random_state = {0, 0, 0, 0, 0, 0}> {
            c = Cast <to = 1> (random_state)  y = RandomNormalLike (x) }""",
    ],
)
def test_a_tensor_of_the_state_s_name_that_is_none_is_refused(body: str) -> None:
    model = parse(body)
    with pytest.raises(
        ValueError,
        match=r"the tensor '\w*random_state' must be one that an earlier rewrite made, since a "
        r"rewrite gives this name to a state: got another tensor\. Rename it: onnx\.compose\.add",
    ):
        make_reproducible(model)
    renamed = onnx.compose.add_prefix(model, "own_")
    assert make_reproducible(renamed).graph.input[-1].name == "random_state"


MOVED_ON = {
    "by a draw": """
        u, next_{0} = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})""",
    "by a number": """
        u = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})
        step = Constant <value_ints = [1, 0, 0, 0, 0, 0]> ()
        wide = Cast <to = 7> ({0})  moved = Add (wide, step)  next_{0} = Cast <to = 12> (moved)""",
    "by runs and a number": """
        u = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})
        steps = Constant <value = int64[2, 6] {{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}}> ()
        step = Constant <value_ints = [1, 0, 0, 0, 0, 0]> ()  last = Constant <value_int = 1> ()
        wide = Cast <to = 7> ({0})  moved = Add (wide, step)  both = Add (steps, moved)
        next = Gather (both, last)  next_{0} = Cast <to = 12> (next)""",
    "by other steps than runs": """
        u = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})
        steps = Constant <value = int64[2, 6] {{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}}> ()
        wide = Cast <to = 7> ({0})  both = Add (steps, wide)  last = Constant <value_int = 1> ()
        next = Gather (both, last)  next_{0} = Cast <to = 12> (next)""",
    "not at all": """
        u = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})
        next_{0} = Identity ({0})""",
    "in a loop": """
        wide = Cast <to = 7> ({0})
        on = Constant <value = bool {{1}}> ()  two = Constant <value_int = 2> ()
        final, all = Loop (two, on, wide) <body = b (int64 i, bool c, int64[6] s)
            => (bool c2, int64[6] s2, float[4] v) {{
                c2 = Identity (c)  cast = Cast <to = 12> (s)
                v = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, cast)
                step = Constant <value_ints = [1, 0, 0, 0, 0, 0]> ()  s2 = Add (s, step) }}>
        first = Constant <value_int = 0> ()  u = Gather (all, first)
        next_{0} = Cast <to = 12> (final)""",
}


@pytest.mark.parametrize("how", MOVED_ON)
def test_no_other_node_draws_from_a_state_that_anything_but_a_rewrite_moves_on(
    how: str, tmp_path: Path
) -> None:
    """The next run would begin near the last one, and so repeat most of a larger draw."""
    text = f"""g (float[1000] x, uint32[6] {{0}})
        => (float[1000] y, float[4] u, uint32[6] next_{{0}})
        <int64[1] four = {{{{4}}}}, float low = {{{{0}}}}, float high = {{{{1}}}}> {{{{
        y = RandomUniformLike (x) {MOVED_ON[how]} }}}}"""
    opsets = '"" : 17, "onnx_philox" : 1'
    core = onnx_philox.openvino.register(ov.Core())
    read = core.read_model(parse(text.format("random_state"), opsets).SerializeToString())
    for given in (read, parse(text.format("random_state"), opsets)):
        with pytest.raises(
            ValueError, match=r"numbers\. Rename the state .*, to move it on yourse"
        ):
            make_reproducible(given)
    alone = parse(text.format("random_state").replace("RandomUniformLike (x)", "Neg (x)"), opsets)
    assert make_reproducible(alone) is alone
    model = make_reproducible(parse(text.format("words"), opsets))
    x = np.zeros(1000, np.float32)
    *_, after = run(model, x=x, words=STATE)
    assert (after - STATE).tolist() == [0, 0, 0, 1, 0, 0]
    onnx.save(model, tmp_path / "m.onnx")
    ov.save_model(core.read_model(tmp_path / "m.onnx"), tmp_path / "m.xml")
    own = "input random_state, or words, which whoever runs it moves on; the output next_random_st"
    for file in ("m.onnx", "m.xml"):
        assert own in cli.text("inspect", tmp_path / file)
        done = cli.document("run", tmp_path / file, "--fill", "--runs", 2, "--seed", 1)
        first, second = ({o["name"]: o["sha256"] for o in run["outputs"]} for run in done["runs"])
        assert first["y"] != second["y"]


def test_a_seed_that_contradicts_the_model_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match="seed must be left out for a model whose state is already the graph input 'random_",
    ):
        make_reproducible(make_reproducible(parse(TWO)), seed=1)
    with pytest.raises(ValueError, match="left out, or 2, the seed that the model was made with"):
        make_reproducible(make_reproducible(parse(TWO), seed=2), seed=1)


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (2**63, ValueError), (1.5, TypeError), (True, TypeError)]
)
def test_a_seed_out_of_range_is_refused(seed: int, error: type[Exception]) -> None:
    with pytest.raises(
        error, match=r"seed must be an integer from 0 to 2\^63-1, or left out: got .*"
    ):
        make_reproducible(parse(TWO), seed=seed)


def test_a_model_of_a_newer_opset_of_the_domain_is_refused() -> None:
    model = make_reproducible(parse(TWO))
    model.opset_import[-1].version = 2
    with pytest.raises(ValueError, match="saved by a newer onnx-philox"):
        make_reproducible(model)


# ------------------------------------------------------------------ where it runs


def test_types_that_are_not_declared_are_inferred_and_not_written_down() -> None:
    model = parse(
        """g (float16[2] x, int64 n) => (float16[2] y) {
            a = Relu (x)
            t = Constant <value = bool {1}> ()
            y = Loop (n, t, a) <body = b (int64 i, bool c, s) => (bool d, float16[2] r) {
                d = Identity (c)  q = Neg (s)  e = RandomNormalLike (q)  r = Add (e, s) }>
        }"""
    )
    rewritten = make_reproducible(model)
    assert all(info.name != "a" for info in rewritten.graph.value_info)
    y, _ = run(rewritten, x=np.zeros(2, np.float16), n=np.array(1))
    normal, _ = reference.random_normal([2], 0, 1, "f16", op_seed=0, state=STATE)
    assert_same_bits(y, normal)


def test_the_domain_has_two_names() -> None:
    model = parse(TWO)
    model.opset_import[0].domain = "ai.onnx"
    model.graph.node[0].domain = "ai.onnx"
    assert [n.op_type for n in find_random_nodes(model)] == ["RandomUniform"] * 2
    session = InferenceSession(make_reproducible(model))
    a, _, _ = session.run(None, {"random_state": STATE})
    assert_same_bits(a, uniform([2], 0))


def test_new_nodes_name_the_domain_as_the_model_s_nodes_do() -> None:
    # "ai.onnx" on a node is refused by OpenVINO, and by ONNX Runtime in subgraphs.
    model = parse(TWO)
    model.opset_import[0].domain = "ai.onnx"
    rewritten = make_reproducible(model)
    assert {node.domain for node in rewritten.graph.node} == {"", "onnx_philox"}


def test_a_name_that_was_defined_twice_before_may_stay() -> None:
    model = parse("""g (bool c) => (float[2] r, float[2] q) {
      q = If (c) <
        then_branch = t () => (float[2] x) { x = RandomNormal <shape = [2]> () },
        else_branch = e () => (float[2] y) { y = RandomNormal <shape = [2]> () }
      >
      x = RandomNormal <shape = [2]> ()
      r = Identity (x)
    }""")
    onnx.checker.check_model(model)
    onnx.checker.check_model(make_reproducible(model))


def test_a_loop_before_an_older_node_has_its_state_before_it() -> None:
    older = make_reproducible(parse(TWO))
    loop = parse("""g () => (float[n, 2] q) {
      n = Constant <value = int64 {3}> ()
      t = Constant <value = bool {1}> ()
      q = Loop (n, t) <body = b (int64 i, bool c) => (bool d, float[2] y) {
        d = Identity (c)
        y = RandomNormal <shape = [2]> ()
      }>
    }""")
    once = make_reproducible(loop)
    again = onnx.ModelProto()
    again.CopyFrom(once)
    del again.graph.node[:]
    again.graph.node.extend([*loop.graph.node, *older.graph.node])
    again.graph.output.extend(older.graph.output[:-1])
    onnx.checker.check_model(make_reproducible(again))


def test_the_ir_version_is_kept_also_one_whose_initializers_are_inputs() -> None:
    for seed in (None, 42):
        model = make_reproducible(parse(TWO, '"" : 8', 3), seed=seed)
        assert model.ir_version == 3
        onnx.checker.check_model(model)
        assert_same_bits(run(model, STATE if seed is None else None)[0], uniform([2], 0))
        assert make_reproducible(model) is model


def test_onnx_ir_models_are_rewritten_in_place_with_a_report() -> None:
    model = ir.from_proto(parse(TWO))
    report = rewrite(model)
    assert isinstance(report, Report)
    assert report.is_changed
    assert [(n.op_type, n.replacement, n.stream, n.outputs) for n in report.replaced] == [
        ("RandomUniform", "RandomUniform", 0, ("a",)),
        ("RandomUniform", "RandomUniform", 1, ("b",)),
    ]
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    assert_same_bits(run(proto)[0], uniform([2], 0))
    again = rewrite(model)
    assert not again.is_changed
    assert again.recorded == 2


def test_a_record_says_where_a_node_is() -> None:
    model = parse(
        """g (int64 n, bool t, float[2] x) => (float[2] y) {
            y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r) {
                d = Identity (c)
                r = If (c) <then_branch = tb () => (float[2] u) { u = RandomNormalLike (s) },
                            else_branch = eb () => (float[2] v) { v = Identity (s) }> }>
        }"""
    )
    model.graph.node[0].name = "steps"
    (node,) = find_random_nodes(model)
    assert node.path == ("Loop 'steps' body", "If of 'r' then_branch")
    assert node.where == "main graph > Loop 'steps' body > If of 'r' then_branch"
    assert (node.op_type, node.version, node.output_type) == ("RandomNormalLike", 1, "f32")


def test_a_path_is_read_with_its_external_data(tmp_path: Path) -> None:
    weight = np.arange(5000, dtype=np.float32)
    model = parse("g (float[2] x) => (float[2] y) { y = RandomNormalLike (x) }")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    for is_external in (False, True):
        path = tmp_path / f"{is_external}.onnx"
        onnx.save(model, path, save_as_external_data=is_external, location="w.bin")
        loaded = make_reproducible(path)
        (kept,) = loaded.graph.initializer
        assert_same_bits(numpy_helper.to_array(kept), weight)
        assert len(find_random_nodes(path)) == 1


@pytest.mark.parametrize("type_", [TensorProto.UINT32, TensorProto.BFLOAT16])
def test_numbers_that_openvino_misreads_are_stored_raw(type_):
    numbers = [1.0, 2.0, 3.0] if type_ == TensorProto.BFLOAT16 else [1, 2, 2**32 - 1]
    tensor = helper.make_tensor("numbers", type_, [3], numbers)
    assert not tensor.raw_data
    noise = helper.make_node("RandomNormal", [], ["noise"], shape=[2])
    held = helper.make_node("Identity", ["numbers"], ["y"])
    outputs = [
        helper.make_tensor_value_info("noise", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("y", type_, [3]),
    ]
    graph = helper.make_graph([noise, held], "g", [], outputs, [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (written,) = make_reproducible(model).graph.initializer
    assert written.raw_data
    assert_same_bits(numpy_helper.to_array(written), numpy_helper.to_array(tensor))


@pytest.mark.parametrize(
    "rewrite_it",
    [
        pytest.param(lambda path, **asked: make_reproducible(onnx.load(path), **asked), id="proto"),
        pytest.param(make_reproducible, id="path"),
        pytest.param(
            lambda path, **asked: rewrite(ir.from_proto(onnx.load(path)), **asked), id="onnx-ir"
        ),
        pytest.param(
            lambda path, **asked: rewrite_file(path, path.with_name("new.onnx"), **asked), id="file"
        ),
    ],
)
def test_a_warning_points_at_the_code_that_called_whatever_it_gave(
    rewrite_it: Any, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse(UNKNOWN, '"" : 17, "com.example" : 1'), path)
    with pytest.warns(UserWarning, match="left as it is: .*MyDropout") as warned:
        rewrite_it(path, keep_unknown=True)
    assert warned[0].filename == __file__
