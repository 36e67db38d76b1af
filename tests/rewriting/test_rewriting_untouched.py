"""What make_reproducible leaves alone, what it keeps of an earlier rewrite, and what it refuses."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as onnx_s_own
from onnx.backend.test.case.test_case import TestCase

import onnx_philox
from onnx_philox import PhiloxState, make_reproducible
from onnx_philox._models.untouched import Originals
from onnx_philox.rewriting import Report, find_random_nodes, rewrite
from tests.common import cli
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.foreign import TWO, evaluate, in_onnxruntime, parse
from tests.common.foreign import uniform as of_stream

STATE = PhiloxState.for_run(42).to_array()


def uniform(shape: list[int], stream: int) -> np.ndarray:
    return of_stream(shape, stream, STATE)


def run(
    model: onnx.ModelProto,
    state: np.ndarray | None = STATE,
    **feeds: np.ndarray,
) -> list:
    return evaluate(model, feeds if state is None else {**feeds, "random_state": state})


PLAIN = "g (float[2] x) => (float[2] y) { y = Relu (x) }"


def test_a_model_without_random_nodes_comes_back_itself(caplog: pytest.LogCaptureFixture) -> None:
    model = parse(PLAIN)
    before = model.SerializeToString()
    with caplog.at_level(logging.INFO, "onnx_philox"):
        for asked in ({}, {"seed": 3}, {"per_row": True}):
            assert make_reproducible(model, **asked) is model
    assert model.SerializeToString() == before
    assert caplog.messages == ["onnx_philox: no random nodes to replace"] * 3


@pytest.mark.parametrize(
    ("node", "opset"),
    [
        *((node, 17) for node in ("Dropout (x)", "Dropout (x, r)", "Dropout (x, , t)")),
        *(("Dropout <is_test = 1> (x)", opset) for opset in (1, 6)),
        *(("Dropout (x)", opset) for opset in (7, 10)),
    ],
)
def test_dropout_outside_of_training_is_not_random(node: str, opset: int) -> None:
    model = parse(
        f"""g (float[2] x) => (float[2] y) <float r = {{0.3}}, bool t = {{0}}> {{
        y = {node} }}""",
        opset,
    )
    assert make_reproducible(model) is model
    assert find_random_nodes(model) == []
    inside = "t = Constant <value = bool {0}> () y = Dropout (x, , t)"
    assert not find_random_nodes(parse(f"g (float[2] x) => (float[2] y) {{ {inside} }}"))
    # Where the mode is an input, its default is not constant.
    model.graph.input.append(helper.make_tensor_value_info("t", TensorProto.BOOL, []))
    is_input = "t" in model.graph.node[0].input
    expected = 1 if is_input else 0
    assert len(find_random_nodes(model)) == expected


def test_the_model_that_is_given_is_not_changed() -> None:
    model = parse(TWO)
    graph = ir.from_proto(parse(TWO))
    for given in (model, graph):
        for asked in ({}, {"seed": 1}):
            make_reproducible(given, **asked)
    find_random_nodes(model)
    assert model == parse(TWO)
    expected = ir.to_proto(ir.from_proto(parse(TWO)))
    assert ir.to_proto(graph) == expected


def rich_model() -> onnx.ModelProto:
    """A model with a little of everything around two random nodes."""
    two = "= Constant <value = float[2] {1, 2}> ()"
    model = parse(
        f"""g (float[N, 4] x, bool c) => (float[N, 4] y, float[2] z, float[2] plain)
        <float[4] w = {{1, 2, 3, 4}}, int64[1] unused_by_all = {{7}}> {{
            [noise_node] noise = RandomNormalLike (x) h = Add (x, noise) h2 = local.twice (h)
            [weigh] y = Mul (h2, w)
            z = If (c) <
                then_branch = t () => (float[2] tz) {{ tz = RandomUniform <shape = [2]> () }},
                else_branch = e () => (float[2] ez) {{ ez {two} }}>
            k = com.example.Thing <level = 3, names = ["a", "b"]> (h)
            plain = If (c) <then_branch = pt () => (float[2] pa) {{ pa {two} }},
                            else_branch = pe () => (float[2] pb) {{ pb {two} }}>
        }}
        <domain: "local", opset_import: ["": 17]> twice (a) => (b) {{ b = Add (a, a) }}""",
        **{"com.example": 4},
    )
    model.producer_name, model.producer_version = "exporter", "1.2"
    model.model_version, model.doc_string, model.domain = 5, "A model.", "org.example"
    model.metadata_props.add(key="author", value="someone")
    graph = model.graph
    graph.doc_string, graph.input[0].doc_string = "A graph.", "The input."
    graph.node[0].doc_string, graph.node[3].doc_string = "Noise.", "Weighs."
    graph.node[0].metadata_props.add(key="namespace", value="model/noise")
    for name in ("h", "noise"):
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4], "Between.")
        graph.value_info.append(info)
    far = graph.initializer.add(
        name="far",
        dims=[1000],
        data_type=TensorProto.FLOAT,
    )
    far.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "far.bin"), ("checksum", "abc")):
        far.external_data.add(key=key, value=value)
    sparse = graph.sparse_initializer.add(dims=[10])
    sparse.values.CopyFrom(numpy_helper.from_array(np.array([1.0], np.float32), "sparse"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([3]), "sparse_indices"))
    note = graph.quantization_annotation.add(tensor_name="h")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    model.training_info.add()
    return model


@pytest.mark.parametrize("seed", [None, 5])
def test_all_that_is_not_a_random_node_stays_as_it_is(seed: int | None) -> None:
    original = rich_model()
    model = make_reproducible(original, seed=seed)

    def is_new(name: str) -> bool:
        return name.startswith("onnx_philox.") or name in ("random_state", "next_random_state")

    # Taking away what is new leaves what was there, message by message and in order.
    left = onnx.ModelProto()
    was = onnx.ModelProto()
    left.CopyFrom(model)
    was.CopyFrom(original)
    fields = ["opset_import", "metadata_props"] if seed is None else ["opset_import"]
    assert left.opset_import[-1] == helper.make_opsetid("onnx_philox", 1)
    assert seed is not None or left.metadata_props[-1].key == "onnx_philox.streams"
    for field in fields:
        del getattr(left, field)[-1]
    ports = ("input", "output") if seed is None else ("initializer",)
    for port in ports:
        assert is_new(getattr(left.graph, port)[-1].name)
        del getattr(left.graph, port)[-1]

    drawn = next(node for node in left.graph.node if node.op_type == "RandomNormal")
    assert (list(drawn.output), drawn.name, drawn.doc_string) == (["noise"], "noise_node", "Noise.")
    assert drawn.metadata_props == original.graph.node[0].metadata_props
    kept = [n for n in left.graph.node if not is_new(n.output[0]) and n is not drawn]
    before = original.graph.node[1:]
    assert [n.output[0] for n in kept if n.op_type != "RandomNormal"] == [
        n.output[0] for n in before
    ]
    for node in before:
        if node.output[0] != "z":
            assert node in kept
            continue
        (holder,) = (n for n in kept if n.output[0] == "z")
        branches = {a.name: a for a in holder.attribute}
        assert branches["else_branch"] in node.attribute
        assert (holder.name, holder.doc_string) == (node.name, node.doc_string)
        then = [n.op_type for n in branches["then_branch"].g.node]
        assert then == ["Constant", "Constant", "Constant", "Cast", "RandomUniform"]
    infos = [info for info in left.graph.value_info if not is_new(info.name)]
    del left.graph.value_info[:], left.graph.node[:], was.graph.node[:]
    left.graph.value_info.extend(infos)
    assert left.SerializeToString(deterministic=True) == was.SerializeToString(deterministic=True)


def test_a_node_that_reads_something_else_is_not_the_original_one() -> None:
    original = parse("g (float[2] x, float[2] w) => (float[2] y) { h = Neg (x)  y = Relu (h) }")
    originals = Originals(original, owner="test")
    originals.model.graph[0].replace_input_with(0, originals.model.graph.inputs[1])
    first, second = originals.to_proto().graph.node
    assert list(first.input) == ["w"]
    assert second == original.graph.node[1]


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


# What is said of a Bernoulli that another tool has inlined.
@pytest.mark.filterwarnings("ignore:.*the comparison draws 1 with probability 1 - p:UserWarning")
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


OURS = 'onnx_philox.RandomUniform <output_type = "f32", {}> (shape, low, high{})'
BOUNDS = "<int64[1] shape = {2}, float low = {0}, float high = {1}>"


def test_streams_are_numbered_in_order_and_do_not_overlap() -> None:
    model = make_reproducible(parse(TWO))
    a, b, after = first = run(model)
    expected = (uniform([2], 0), uniform([3], 1))
    assert_all_same((a, b), expected)
    assert_same_bits(after, PhiloxState.for_run(42, 1).to_array())
    second = run(model, after)
    assert not {*a.tolist()} & {*b.tolist(), *second[0].tolist()}
    assert_all_same(run(model), first)
    assert_all_same(run(make_reproducible(parse(TWO), seed=42), None), (a, b))


@pytest.mark.parametrize("seed", [None, 42])
def test_a_node_that_is_added_later_gets_the_next_number_and_the_same_state(
    seed: int | None,
) -> None:
    model = make_reproducible(parse(TWO), seed=seed)
    before = run(model, None if seed else STATE)
    model.graph.node.insert(0, helper.make_node("RandomUniform", [], ["c"], shape=[4]))
    model.graph.output.append(helper.make_tensor_value_info("c", TensorProto.FLOAT, [4]))
    again = make_reproducible(model)
    for ports in ("input", "output"):
        both = (getattr(each.graph, ports) for each in (again, model))
        assert len({tuple(port.name for port in each) for each in both}) == 1
    expected = [*before, uniform([4], 2)]
    assert_all_same(run(again, None if seed else STATE), expected)


def test_a_number_is_not_given_away_when_its_node_is_removed() -> None:
    model = make_reproducible(parse(TWO))
    model.graph.node.remove(next(n for n in model.graph.node if "a" in n.output))
    model.graph.node.insert(0, helper.make_node("RandomUniform", [], ["a"], shape=[2]))
    a, b, _ = run(make_reproducible(model))
    expected = (uniform([2], 2), uniform([3], 1))
    assert_all_same((a, b), expected)


def test_nodes_of_the_user_s_own_are_not_touched_and_their_numbers_not_taken() -> None:
    model = parse(f"""g (uint32[6] own) => (float[2] a, float[3] b) {BOUNDS} {{
        a = {OURS.format("op_seed = 1", ", own")}
        b = RandomUniform <shape = [3]> () c = RandomUniform <shape = [3]> () }}""")
    rewritten = make_reproducible(model)
    assert model.graph.node[0] in rewritten.graph.node
    attributes = (a for node in rewritten.graph.node for a in node.attribute)
    assert [a.i for a in attributes if a.name == "op_seed"] == [1, 0, 2]


def test_the_order_of_an_if_s_attributes_means_nothing() -> None:
    model = parse("""g (bool c) => (float[2] y) { y = If (c) <
        then_branch = t () => (float[2] ty) { ty = RandomUniform <shape = [2]> () },
        else_branch = e () => (float[2] ey) { ey = RandomUniform <shape = [2]> () }> }""")
    for _ in range(2):
        rewritten = make_reproducible(model)
        for taken in (True, False):
            expected = uniform([2], int(not taken))
            assert_same_bits(run(rewritten, c=np.array(taken))[0], expected)
        model.graph.node[0].attribute.append(model.graph.node[0].attribute.pop(0))


def test_the_seed_of_a_model_is_that_of_its_nodes_and_not_of_the_user_s_own() -> None:
    model = parse(f"""g () => (float[2] a, float[2] b) {BOUNDS} {{
        a = {OURS.format("global_seed = 80", "")} b = RandomUniform <shape = [2]> () }}""")
    rewritten = make_reproducible(model, seed=42)
    assert make_reproducible(rewritten, seed=42) is rewritten
    words = "left out, or 42, the seed that the model was made with: got 80"
    with pytest.raises(ValueError, match=words):
        make_reproducible(rewritten, seed=80)


FUNCTIONS = """g (float[2] x) => (float[2] y, float[2] w) {
    y = local.outer (x) w = local.quiet (y) }
<domain: "local", opset_import: ["": 17, "local": 1]>
outer (a) => (b) { n = local.noise (a) b = Add (a, n) }
<domain: "local", opset_import: ["": 17]> noise (a) => (n) { n = RandomNormalLike (a) }
<domain: "local", opset_import: ["": 17]> quiet (a) => (b) { h = Add (a, a) b = Relu (h) }
<domain: "local", opset_import: ["": 17, "local": 1]>
uncalled (a) => (b) { n = local.outer (a) b = Neg (n) }"""


def test_functions_with_random_nodes_are_inlined_and_uncalled_ones_removed() -> None:
    model = parse(FUNCTIONS)
    found = find_random_nodes(model)
    assert [(n.op_type, n.function) for n in found] == [("RandomNormalLike", "local::noise")]
    rewritten = make_reproducible(model)
    assert list(rewritten.functions) == [model.functions[2]]
    assert model.graph.node[1] in rewritten.graph.node


def test_an_attribute_of_a_graph_without_one_stays_as_it_is() -> None:
    """Found by a fuzzer. Such a model is for its runtime to refuse."""
    model = parse("""g (bool c) => (float[2] y) { y = If (c) <
        then_branch = a () => (float[2] r) { r = RandomNormal <shape = [2]> () },
        else_branch = b () => (float[2] q) { q = Constant <value = float[2] {1, 2}> () }> }""")
    model.graph.node[0].attribute[1].ClearField("g")
    (rewritten,) = (n for n in make_reproducible(model).graph.node if n.op_type == "If")
    assert not rewritten.attribute[1].g.node


UNIFORM = 'u = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})'
MOVED_ON = {
    "by a draw": """
        u, next_{0} = onnx_philox.RandomUniform <output_type = "f32"> (four, low, high, {0})""",
    "by a number": UNIFORM
    + """
        step = Constant <value_ints = [1, 0, 0, 0, 0, 0]> ()
        wide = Cast <to = 7> ({0})  moved = Add (wide, step)  next_{0} = Cast <to = 12> (moved)""",
    "by runs and a number": UNIFORM
    + """
        steps = Constant <value = int64[2, 6] {{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}}> ()
        step = Constant <value_ints = [1, 0, 0, 0, 0, 0]> ()  last = Constant <value_int = 1> ()
        wide = Cast <to = 7> ({0})  moved = Add (wide, step)  both = Add (steps, moved)
        next = Gather (both, last)  next_{0} = Cast <to = 12> (next)""",
    "by other steps than runs": UNIFORM
    + """
        steps = Constant <value = int64[2, 6] {{0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}}> ()
        wide = Cast <to = 7> ({0})  both = Add (steps, wide)  last = Constant <value_int = 1> ()
        next = Gather (both, last)  next_{0} = Cast <to = 12> (next)""",
    "not at all": UNIFORM + " next_{0} = Identity ({0})",
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
    core = onnx_philox.openvino.register(ov.Core())
    names = ("random_state", *["state"] * (how == "by a draw"))
    owns = [parse(text.format(name)) for name in names]
    for given in (*(core.read_model(own.SerializeToString()) for own in owns), owns[0]):
        words = r"would repeat their numbers\. Rename the state .*, to move it on yourse"
        with pytest.raises(ValueError, match=words):
            make_reproducible(given)
    alone = parse(text.format("random_state").replace("RandomUniformLike (x)", "Neg (x)"))
    for given in (core.read_model(alone.SerializeToString()), alone):
        assert make_reproducible(given) is given
    model = make_reproducible(parse(text.format("words")))
    x = np.zeros(1000, np.float32)
    *_, after = run(model, x=x, words=STATE)
    expected = [0, 0, 0, 1, 0, 0]
    assert (after - STATE).tolist() == expected
    onnx.save(model, tmp_path / "m.onnx")
    ov.save_model(core.read_model(tmp_path / "m.onnx"), tmp_path / "m.xml")
    said = (
        "input random_state, or words, which the program that runs the model must advance "
        "itself; the output next_random_st"
    )
    for file in ("m.onnx", "m.xml"):
        assert said in cli.text("inspect", tmp_path / file)
        done = cli.document("run", tmp_path / file, "--fill", "--runs", 2, "--seed", 1)
        first, second = ({o["name"]: o["sha256"] for o in run["outputs"]} for run in done["runs"])
        assert first["y"] != second["y"]


@pytest.mark.parametrize("on_nodes", ["ai.onnx", ""])
def test_onnx_s_domain_is_known_by_both_of_its_names(on_nodes: str) -> None:
    """And "ai.onnx" on a new node is refused by OpenVINO, and by ONNX Runtime in subgraphs."""
    model = parse(TWO)
    model.opset_import[0].domain, model.graph.node[0].domain = "ai.onnx", on_nodes
    assert [n.op_type for n in find_random_nodes(model)] == ["RandomUniform"] * 2
    rewritten = make_reproducible(model)
    assert {node.domain for node in rewritten.graph.node} == {"", "onnx_philox"}
    a, *_ = in_onnxruntime()(rewritten, {"random_state": STATE})
    assert_same_bits(a, uniform([2], 0))


def test_a_name_that_was_defined_twice_before_may_stay() -> None:
    model = parse("""g (bool c) => (float[2] r, float[2] q) {
      q = If (c) <
        then_branch = t () => (float[2] x) { x = RandomNormal <shape = [2]> () },
        else_branch = e () => (float[2] y) { y = RandomNormal <shape = [2]> () }>
      x = RandomNormal <shape = [2]> () r = Identity (x) }""")
    onnx.checker.check_model(model)
    onnx.checker.check_model(make_reproducible(model))


def test_a_loop_before_an_older_node_has_its_state_before_it() -> None:
    older = make_reproducible(parse(TWO))
    loop = parse("""g () => (float[n, 2] q) <int64 n = {3}, bool t = {1}> {
        q = Loop (n, t) <body = b (int64 i, bool c) => (bool d, float[2] y) {
            d = Identity (c) y = RandomNormal <shape = [2]> () }> }""")
    again = make_reproducible(loop)
    del again.graph.node[:]
    again.graph.node.extend([*loop.graph.node, *older.graph.node])
    again.graph.output.extend(older.graph.output[:-1])
    onnx.checker.check_model(make_reproducible(again))


def test_onnx_ir_models_are_rewritten_in_place_with_a_report() -> None:
    model = ir.from_proto(parse(TWO))
    report = rewrite(model)
    assert isinstance(report, Report)
    assert report.is_changed
    assert [(n.op_type, n.replacement, n.stream, n.outputs) for n in report.replaced] == [
        ("RandomUniform", "RandomUniform", stream, (name,)) for stream, name in enumerate("ab")
    ]
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    assert_same_bits(run(proto)[0], uniform([2], 0))
    again = rewrite(model)
    assert (again.is_changed, again.recorded) == (False, 2)


def test_a_record_says_where_a_node_is_and_types_that_are_inferred_are_not_written() -> None:
    model = parse("""g (int64 n, bool t, float[2] x) => (float[2] y) {
        a = Relu (x)
        [steps] y = Loop (n, t, a) <body = b (int64 i, bool c, float[2] s)
            => (bool d, float[2] r) {
            d = Identity (c)
            r = If (c) <then_branch = tb () => (float[2] u) { u = RandomNormalLike (s) },
                        else_branch = eb () => (float[2] v) { v = Identity (s) }> }> }""")
    (node,) = find_random_nodes(model)
    assert node.path == ("Loop 'steps' body", "If of 'r' then_branch")
    assert node.where == "main graph > Loop 'steps' body > If of 'r' then_branch"
    assert (node.op_type, node.version, node.output_type) == ("RandomNormalLike", 1, "f32")
    assert "a" not in [info.name for info in make_reproducible(model).graph.value_info]


@pytest.mark.parametrize("type_", [TensorProto.UINT32, TensorProto.BFLOAT16])
def test_numbers_that_openvino_misreads_are_stored_raw(type_: int) -> None:
    numbers = [1.0, 2.0, 3.0] if type_ == TensorProto.BFLOAT16 else [1, 2, 2**32 - 1]
    tensor = helper.make_tensor("numbers", type_, [3], numbers)
    assert not tensor.raw_data
    model = parse("g () => (float[2] a, y) { a = RandomNormal <shape = [2]> () y = Neg (numbers) }")
    model.graph.initializer.append(tensor)
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("y", type_, [3]))
    (written,) = make_reproducible(model).graph.initializer
    assert written.raw_data
    assert_same_bits(numpy_helper.to_array(written), numpy_helper.to_array(tensor))
