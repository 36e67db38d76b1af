"""Models that never were ONNX: `openvino.Model` and `.xml`, by hand and from front ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8
from openvino.opset8 import (
    add,
    clamp,
    constant,
    convert,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    multiply,
    shape_of,
    sigmoid,
    softmax,
    sqrt,
    transpose,
)

from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference, rewriting
from tests.common import cli
from tests.common.cases import assert_same_bits
from tests.common.foreign import parse
from tests.common.openvino_models import (
    branch,
    iterator,
    loop,
    loop_in_body,
    model,
    multinomial,
    named,
    normal,
    parameter,
    uniform,
)

F32 = np.float32


def found(given: object) -> list[tuple[str, str, str | None]]:
    """Which output of a model is drawn by what."""
    return [
        (*node.outputs, node.replacement, node.output_type)
        for node in rewriting.find_random_nodes(given)
    ]


@pytest.mark.parametrize(
    "fault",
    ["factor", "one uniform", "shifted", "angle", "shapes", "sources", "read", "scaled", "ranks"],
)
def test_what_only_resembles_a_normal_is_drawn_as_uniforms(fault) -> None:
    u = uniform([3], 1e-38, 1)
    v = uniform([3], 0, 3 if fault == "angle" else 2 * np.pi)
    x = parameter("x", [-1])
    if fault == "sources":
        u = uniform(opset8.shape_of(opset8.relu(x)), 1e-38, 1)
    if fault in ("shapes", "sources"):
        v = uniform(opset8.shape_of(x), 0, 2 * np.pi)
    under_log = {"one uniform": v, "shifted": opset8.add(u, np.float32(0.5))}.get(fault, u)
    factor = np.float32(-1 if fault == "factor" else -2)
    radius = opset8.sqrt(opset8.multiply(opset8.log(under_log), factor))
    scale = {"scaled": x, "ranks": np.float32([[1]])}.get(fault)
    angle = v if scale is None else opset8.multiply(v, scale)
    outputs = {"n": opset8.multiply(radius, opset8.cos(angle))}
    if fault == "read":
        outputs["u"] = opset8.negative(u)
    kinds = {kind for _, kind, _ in found(model(outputs, [x]))}
    assert kinds == {"RandomUniform"}


def polar(u: ov.Node, shape: ov.Node) -> ov.Node:
    """A normal number of two uniforms whose shapes are computed apart."""
    radius = opset8.sqrt(opset8.multiply(opset8.log(u), F32(-2)))
    return opset8.multiply(radius, opset8.cos(uniform(shape, 0, 2 * np.pi)))


class Inputs:
    """The parameters of a model, and what a row makes of x."""

    def __init__(self) -> None:
        self.x = parameter("x", [2, 4])
        self.y = parameter("y", [1, 4])
        self.two = parameter("two", [2])
        self.one = parameter("one", [1])
        self.rankless = parameter("rankless", ov.PartialShape.dynamic())
        self.dims = parameter("dims", [-1], ov.Type.i64)
        self.w = parameter("w", [-1, -1], ov.Type.f64)
        self.high = parameter("high", [], ov.Type.i64)
        self.k = parameter("k", [1], ov.Type.i32)
        self.parameters = list(vars(self).values())
        self.of_x = opset8.shape_of(self.x)


# A node of OpenVINO's, and what draws it: an operator of ours, and the type of its values.
KINDS = [
    (lambda _: less(uniform([2, 4]), F32(0.3)), "RandomBernoulli bool"),
    (
        lambda _: greater_equal(uniform([2, 4], type_="f64"), constant(np.array([[0.3]]))),
        "RandomBernoulli bool",
    ),
    (lambda of: greater(softmax(of.x, 1), uniform(of.of_x)), "RandomBernoulli bool"),
    (
        lambda of: greater(softmax(convert(of.x, "f64"), 1), uniform([2, 4], type_="f64")),
        "RandomUniform f64",
    ),
    (lambda of: less_equal(of.x, uniform(of.of_x, alignment="pytorch")), "RandomBernoulli bool"),
    (lambda _: less(uniform([2, 4]), F32(1.5)), "RandomUniform bool"),
    (lambda _: less(uniform([2, 4], type_="f16"), np.float16(0.25)), "RandomUniform bool"),
    (lambda _: less(uniform([2, 4]), np.full((1, 4), 0.5, F32)), "RandomUniform bool"),
    (lambda of: less(uniform([2, 4]), add(of.x, of.x)), "RandomUniform f32"),
    (lambda of: less(uniform([2, 2]), softmax(of.two, 0)), "RandomUniform f32"),
    (lambda of: less(uniform(of.of_x), of.y), "RandomUniform f32"),
    (lambda of: less(uniform([2, 4]), clamp(of.x, 0, 1)), "RandomBernoulli bool"),
    (lambda of: less(uniform([2, 4]), clamp(of.x, -1, 1)), "RandomUniform f32"),
    (lambda of: less(uniform([2, 4]), clamp(of.x, 0, 2)), "RandomUniform f32"),
    (lambda of: less(uniform([4, 2]), transpose(sigmoid(of.x), [1, 0])), "RandomBernoulli bool"),
    (lambda _: less(uniform([4]), np.full((2, 4), 0.5, F32)), "RandomUniform f32"),
    (lambda of: less(uniform([4]), of.one), "RandomBernoulli bool"),
    (lambda of: less(uniform(shape_of(F32(1))), of.one), "RandomUniform f32"),
    (lambda of: less(uniform(of.dims), F32(0.3)), "RandomUniform f32"),
    (lambda of: less(uniform(of.dims), of.one), "RandomUniform f32"),
    (lambda of: less(uniform([2, 4]), of.rankless), "RandomUniform f32"),
    (lambda _: less(uniform([2, 4], 0, 2), F32(0.3)), "RandomUniform f32"),
    (lambda _: log(uniform([3])), "RandomUniform f32"),
    (lambda _: convert(uniform([3]), "f16"), "RandomUniform f32"),
    (lambda _: sqrt(uniform([3])), "RandomUniform f32"),
    (lambda of: multinomial(of.x, 3), "RandomCategorical i32"),
    (lambda of: multinomial(of.x, 4, "i64", replaces=False), "RandomCategorical i64"),
    (lambda of: multinomial(of.w, 1, is_log=True), "RandomCategorical i32"),
    (lambda _: add(F32(1.5), multiply(normal([3]), F32(2))), "RandomNormal f32"),
    (lambda of: polar(uniform([2, 4], 1e-38), of.of_x), "RandomNormal f32"),
    (
        lambda of: polar(uniform(shape_of(of.w), 1e-38), convert(shape_of(of.w), "i32")),
        "RandomNormal f32",
    ),
]


@pytest.mark.parametrize(("node", "kind"), KINDS)
def test_a_node_and_what_reads_it_are_one_draw(
    node: Callable[[Inputs], ov.Node], kind: str
) -> None:
    given = Inputs()
    ((output, operator, type_),) = found(model({"drawn": node(given)}, given.parameters))
    assert f"{operator} {type_}" == kind
    # Plain uniforms are drawn before the node; any other draw takes the place of the node as well.
    is_plain = operator == "RandomUniform" and type_ != "bool"
    assert (output == "drawn") == (not is_plain)


def test_a_scale_without_a_mean_is_left_to_the_model() -> None:
    scaled = opset8.multiply(normal([4]), F32(2))
    assert [name for name, _, _ in found(model({"s": scaled}, []))] != ["s"]


def test_random_nodes_in_bodies_are_found_at_their_places() -> None:
    x = parameter("x", [2, 4])
    c = parameter("c", [], ov.Type.boolean)
    outputs = {
        "a": loop(x, 3, uniform),
        "b": iterator(x, normal),
        "c": branch(c, x, uniform),
        "d": loop(x, 3, lambda shape: loop_in_body(shape, uniform)),
    }
    nodes = rewriting.find_random_nodes(model(outputs, [x, c]))
    assert {(node.where, node.replacement) for node in nodes} == {
        ("main graph > Loop 'steps' body", "RandomUniform"),
        ("main graph > TensorIterator 'rows' body", "RandomNormal"),
        ("main graph > If 'branch' then_branch", "RandomUniform"),
        ("main graph > Loop 'steps' body > Loop 'steps' body", "RandomUniform"),
    }


def test_the_normals_of_onnx_s_front_end_are_normals(tmp_path) -> None:
    proto = parse("""g (float[N,3] x) => (float[3] a, float[N,3] b, float16[3] c) {
        a = RandomNormal <shape = [3], mean = 1.5, scale = 2.0> () b = RandomNormalLike (x)
        c = RandomNormal <shape = [3], dtype = 10> () }""")
    read = ov.Core().read_model(proto.SerializeToString())
    # In f16 IR a constant is a Convert of another one.
    ov.save_model(read, tmp_path / "m.xml", compress_to_fp16=True)
    wanted = [(name, "RandomNormal", "f16" if name == "c" else "f32") for name in "abc"]
    assert sorted(found(read)) == sorted(found(tmp_path / "m.xml")) == wanted


def test_a_normal_whose_uniforms_were_merged_is_a_normal_again(tmp_path) -> None:
    proto = parse("""g (float[100,50] x) => (float[100,50] y) {
        y = RandomNormalLike <mean = 2.0, scale = 3.0> (x) }""")
    onnx.save(proto, tmp_path / "m.onnx")
    # Its two uniforms without seeds become one: it draws no normal numbers, nothing below mean - 4.
    converted = ov.convert_model(tmp_path / "m.onnx")
    kinds = [node.get_type_name() for node in converted.get_ordered_ops()]
    assert kinds.count("RandomUniform") == 1
    assert found(converted) == [("y", "RandomNormal", "f32")]
    drawn = Pipeline(converted, runtime="openvino")({"x": np.zeros((100, 50), np.float32)}, seed=3)
    state = PhiloxState.for_run(seed=3).to_array()
    wanted, _ = reference.random_normal([100, 50], 2, 3, "f32", state=state)
    assert_same_bits(drawn["y"], wanted)


REFUSED = [
    (
        lambda of: uniform([3], 0, of.high, "i64"),
        "input 'maxval' must be a constant where the element type is i64",
    ),
    (
        lambda of: ov.opset13.multinomial(of.x, of.k, "i32", True, False, 0, 0),
        "input 'num_samples' must be a constant of one number",
    ),
    (
        lambda of: ov.opset13.multinomial(
            of.x, opset8.convert(np.float32(3), "i32"), "i32", True, False, 0, 0
        ),
        "input 'num_samples' must be a constant of one number, 1 or more: got one that the "
        "model computes",
    ),
    (lambda of: multinomial(of.x, 0), "a constant of one number, 1 or more: got .0."),
    (lambda of: multinomial(of.x, 5, replaces=False), "at most 4, the number of classes"),
]


@pytest.mark.parametrize(("drawn", "words"), REFUSED)
def test_what_cannot_be_drawn_says_why(
    drawn: Callable[[Inputs], ov.Node],
    words: str,
) -> None:
    inputs = Inputs()
    culprit = named(drawn(inputs), "culprit")
    given = model({"y": culprit}, inputs.parameters)
    (node,) = rewriting.find_random_nodes(given)
    with pytest.raises(ValueError, match=words) as error:
        make_reproducible(given)
    assert node.problem == str(error.value)
    assert "'culprit'" in node.problem


@pytest.fixture
def ir(tmp_path) -> Path:
    x = parameter("x", [2, 4])
    ov.save_model(model({"y": opset8.add(uniform([2, 4]), x)}, [x]), tmp_path / "m.xml")
    return tmp_path / "m.xml"


def with_a_link_outside(path: Path) -> None:
    weights = path.with_suffix(".bin")
    outside = path.parent.parent / f"{path.parent.name}.bin"
    weights.rename(outside)
    weights.symlink_to(outside)


def with_another_operator(path: Path) -> None:
    own = 'type="Own" version="extension"'
    path.write_text(path.read_text().replace('type="Add" version="opset1"', own))


DAMAGED = [
    (lambda path: path.write_bytes(path.read_bytes()[:700]), "a whole OpenVINO IR"),
    (lambda path: path.write_bytes(b""), "a whole OpenVINO IR"),
    (lambda path: path.with_suffix(".bin").unlink(), "must be a file in the folder of"),
    (lambda path: path.with_suffix(".bin").write_bytes(b"12"), "Incorrect weights in bin file"),
    (with_a_link_outside, "a link to"),
    (with_another_operator, "Own"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGED)
def test_a_bad_ir_is_refused_in_a_sentence(
    ir: Path, damage: Callable[[Path], object], says: str
) -> None:
    damage(ir)
    with pytest.raises(ValueError, match=says) as error:
        rewriting.find_random_nodes(ir)
    assert "\n" not in str(error.value)
    assert "must be" in str(error.value)


def test_without_openvino_the_commands_say_what_to_install(ir, tmp_path) -> None:
    inspect = ["inspect", str(ir)]
    rewrite = ["rewrite", str(ir), "-o", str(tmp_path / "new.xml")]
    for command in (inspect, rewrite):
        done = cli.apart(*command, without=["openvino"])
        assert done.returncode == 2
        assert "needs OpenVINO: pip install 'onnx-philox[openvino]'" in done.stderr


def test_inspect_shows_an_ir_as_it_shows_an_onnx_file(tmp_path) -> None:
    x = parameter("x", [2, 4])
    outputs = {
        "seeded": uniform([2, 4], seeds=(0, 5)),
        "frozen": uniform([2, 4], 0, 2, seeds=(3, 0), alignment="pytorch"),
        "classes": multinomial(x, 3),
        "looped": loop(x, 3, normal),
    }
    path = tmp_path / "m.xml"
    page = tmp_path / "page.html"
    ov.save_model(model(outputs, [x]), path)
    document = cli.document("inspect", path, "--html", page)
    expected = {"openvino": ov.__version__.partition("-")[0]}
    assert document["runtimes"] == expected
    does = {node["outputs"][0]: node["today"]["openvino"] for node in document["random_nodes"]}
    assert does["seeded"]["does"] == "same sequence each session"
    (shared,) = does["seeded"]["known"]
    assert shared["name"] == "requests that share numbers"
    assert does["frozen"]["does"] == "same numbers every run"
    # It takes the time in seconds as its seed.
    assert does["classes"]["does"] == "same numbers within a second"
    streams = [node["stream"] for node in document["random_nodes"]]
    assert streams == list(range(4))
    assert document["per_row"]["obstacle"].startswith(
        "the model must be one with an input whose first dimension, the batch, is dynamic: got one "
        "with the inputs x [2, 4]"
    )
    assert "removes a dropout in training mode" in page.read_text()
