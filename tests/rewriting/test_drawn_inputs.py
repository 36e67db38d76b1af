"""Inputs that become draws: `draw={"noise": "normal"}`, in both runtimes, from ONNX and IR."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, TorchState, make_reproducible, reference, rewriting
from onnx_philox._rewriting import drawn_inputs
from tests.common import cli
from tests.common.cases import assert_same_bits
from tests.common.foreign import parse
from tests.common.runtimes import save_ir

SEED = 42
# A normal of the model's own, which keeps its stream, and an input of each kind of law.
TEXT = """g (float[2, 3] x, TYPE[SHAPE] noise) => (float[2, 3] y, TYPE[SHAPE] z) {
    own = RandomNormalLike (x)
    y = Add (x, own)
    z = Identity (noise) }"""


def model_of(type_: str = "float", shape: str = "2, 3") -> onnx.ModelProto:
    return parse(TEXT.replace("TYPE", type_).replace("SHAPE", shape))


def stream(number: int) -> np.ndarray:
    """The state from which a rewritten model's node of this stream draws in run 0."""
    state = PhiloxState.for_run(SEED)
    return PhiloxState(state.counter + (number << 64), state.key).to_array()


Drawn = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# The law, the type of the input, and what draws it.
LAWS: dict[str, tuple[str, str, Drawn]] = {
    "normal": (
        "normal",
        "float",
        lambda s: reference.random_normal([2, 3], 0, 1, "f32", state=s),
    ),
    "normal of numbers": (
        "normal(-1.5, 0.25)",
        "float",
        lambda s: reference.random_normal([2, 3], -1.5, 0.25, "f32", state=s),
    ),
    "normal f64": (
        "normal(0.1, 2)",
        "double",
        lambda s: reference.random_normal([2, 3], 0.1, 2, "f64", state=s),
    ),
    "normal f16": (
        "normal",
        "float16",
        lambda s: reference.random_normal([2, 3], 0, 1, "f16", state=s),
    ),
    "uniform": (
        "uniform",
        "float",
        lambda s: reference.random_uniform([2, 3], 0, 1, "f32", state=s),
    ),
    "uniform of numbers": (
        " uniform ( -1 , 1 ) ",
        "float",
        lambda s: reference.random_uniform([2, 3], -1, 1, "f32", state=s),
    ),
    "uniform i64": (
        "uniform(-5, 1000)",
        "int64",
        lambda s: reference.random_uniform([2, 3], -5, 1000, "i64", state=s),
    ),
    "bernoulli": (
        "bernoulli(0.3)",
        "bool",
        lambda s: reference.random_bernoulli([2, 3], 0.3, state=s),
    ),
    "bernoulli of floats": (
        "bernoulli(0.3)",
        "float",
        lambda s: (reference.random_bernoulli([2, 3], 0.3, state=s)[0].astype(np.float32), s),
    ),
    "bernoulli of bytes": (
        "bernoulli(0.3)",
        "uint8",
        lambda s: (reference.random_bernoulli([2, 3], 0.3, state=s)[0].astype(np.uint8), s),
    ),
    "bernoulli of short integers": (
        "bernoulli(0.3)",
        "int16",
        lambda s: (reference.random_bernoulli([2, 3], 0.3, state=s)[0].astype(np.int16), s),
    ),
    "bits": (
        "bits",
        "uint32",
        lambda s: reference.random_generator(s, [2, 3]),
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_an_input_is_drawn_by_its_law_behind_the_streams_of_the_model(
    name: str, runtime: str
) -> None:
    law, type_, draws = LAWS[name]
    pipe = Pipeline(model_of(type_), draw={"noise": law}, runtime=runtime)
    x = np.zeros((2, 3), np.float32)
    answer = pipe({"x": x}, seed=SEED)
    own, _ = reference.random_normal([2, 3], 0, 1, "f32", state=stream(0))
    assert_same_bits(answer["y"], own)
    expected = draws(stream(1))[0]
    assert_same_bits(answer["z"], expected)


# Of f16 and uint32 OpenVINO's front end makes other graphs, which other tests ask.
OF_AN_IR = ("float", "int64", "bool", "uint8", "int16")


@pytest.mark.parametrize("name", [n for n in LAWS if LAWS[n][1] in OF_AN_IR])
def test_an_ir_draws_what_its_file_of_onnx_draws(name: str, tmp_path: Path) -> None:
    law, type_, _ = LAWS[name]
    text = TEXT.replace("z = Identity (noise)", "z = Concat <axis = 0> (noise)")
    model = parse(text.replace("TYPE", type_).replace("SHAPE", "2, 3"))
    path = tmp_path / "model.xml"
    save_ir(model, path)
    x = np.zeros((2, 3), np.float32)
    expected = Pipeline(model, draw={"noise": law})({"x": x}, seed=SEED)
    for given in (str(path), ov.Core().read_model(path)):
        pipe = Pipeline(given, draw={"noise": law}, runtime="openvino")
        answer = pipe({"x": x}, seed=SEED)
        for output in ("y", "z"):
            assert_same_bits(answer[output], expected[output])


@pytest.mark.parametrize("law", ["normal", "normal[]"])
def test_a_number_of_an_ir_is_drawn(law: str, tmp_path: Path) -> None:
    text = "g (float[2] x, float noise) => (float[2] y) { y = Add (x, noise) }"
    model = parse(text)
    path = tmp_path / "model.xml"
    save_ir(model, path)
    x = np.zeros(2, np.float32)
    expected = Pipeline(model, draw={"noise": law})({"x": x}, seed=SEED)
    answer = Pipeline(path, draw={"noise": law}, runtime="openvino")({"x": x}, seed=SEED)
    assert_same_bits(answer["y"], expected["y"])


def test_standard_nodes_draw_what_our_nodes_draw() -> None:
    model = make_reproducible(model_of(), draw={"noise": "uniform(-1, 1)"})
    feed = {"x": np.zeros((2, 3), np.float32)}
    expected = Pipeline(model)(feed, seed=SEED)
    standard = onnx_philox.to_standard_nodes(model)
    session = ort.InferenceSession(standard.SerializeToString())
    state = PhiloxState.for_run(SEED).to_array()
    (drawn,) = session.run(["z"], feed | {"random_state": state})
    assert_same_bits(drawn, expected["z"])


def test_torchs_numbers_draw_the_inputs_first_in_the_order_of_the_option() -> None:
    text = """g (float[4] a, float[20] b, float[2] x)
        => (float[4] first, float[20] second, float[2] y) {
        own = RandomUniformLike (x)
        y = Add (x, own)
        first = Identity (a)
        second = Identity (b) }"""
    draw = {"b": "normal", "a": "uniform"}
    pipe = Pipeline(parse(text), draw=draw, alignment="pytorch")
    answer = pipe({"x": np.zeros(2, np.float32)}, seed=SEED)
    state: Any = TorchState.from_seed(SEED).to_array()
    second, state = reference.random_normal([20], 0, 1, "f32", alignment="pytorch", state=state)
    first, state = reference.random_uniform([4], 0, 1, "f32", alignment="pytorch", state=state)
    own, state = reference.random_uniform([2], 0, 1, "f32", alignment="pytorch", state=state)
    assert_same_bits(answer["second"], second)
    assert_same_bits(answer["first"], first)
    assert_same_bits(answer["y"], own)


SYMBOLIC = """g (float[N, 3, T] noise, float[T] t, float[N, 5] x)
    => (float[N, 3, T] z, float[N, 5] y) {
    z = Identity (noise)
    y = Neg (x) }"""


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_named_dimensions_of_a_drawn_input_come_from_other_inputs(runtime: str) -> None:
    # OpenVINO drops an input that nothing reads.
    text = SYMBOLIC.replace("y = Neg (x)", "s = ReduceSum (t) y = Mul (x, s)")
    pipe = Pipeline(parse(text), draw={"noise": "normal"}, runtime=runtime)
    feed = {"t": np.ones(7, np.float32), "x": np.ones((2, 5), np.float32)}
    drawn = pipe(feed, seed=SEED)["z"]
    expected, _ = reference.random_normal([2, 3, 7], 0, 1, "f32", state=stream(0))
    assert_same_bits(drawn, expected)


def test_a_row_draws_what_it_draws_alone() -> None:
    pipe = Pipeline(
        parse(SYMBOLIC),
        draw={"noise": "normal"},
        per_row=True,
        batch="N",
    )
    feed = {"t": np.ones(4, np.float32), "x": np.ones((3, 5), np.float32)}
    drawn = pipe(feed, seeds=[9, 8, 7])["z"]
    for row, seed in enumerate([9, 8, 7]):
        alone = pipe(feed | {"x": feed["x"][:1]}, seeds=[seed])["z"]
        assert_same_bits(drawn[row : row + 1], alone)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_dimension_that_no_other_input_has_is_said_by_a_new_input_or_behind_the_word(
    runtime: str,
) -> None:
    model = parse(
        "g (float[K, 3] noise, float[2] x) => (float[K, 3] z, float[2] y) {"
        " z = Identity (noise) y = Neg (x) }"
    )
    x = np.zeros(2, np.float32)
    expected, _ = reference.random_normal([5, 3], 0, 1, "f32", state=stream(0))
    asked = Pipeline(model, draw={"noise": "normal"}, runtime=runtime)
    answer = asked({"x": x, "noise_shape": np.array([5, 3])}, seed=SEED)
    assert_same_bits(answer["z"], expected)
    written = Pipeline(model, draw={"noise": "normal[5, 3]"}, runtime=runtime)
    assert_same_bits(written({"x": x}, seed=SEED)["z"], expected)


def test_an_ir_takes_dimensions_by_the_letters_of_layouts() -> None:
    model = ov.Core().read_model(
        parse(
            "g (float[N, 3] noise, float[N, 5] x) => (float[N, 3] z, float[N, 5] y) {"
            " z = Relu (noise) y = Neg (x) }"
        ).SerializeToString()
    )
    assert len(make_reproducible(model, draw={"noise": "normal"}).inputs) == 3
    for parameter in model.get_parameters():
        parameter.set_layout(ov.Layout("NC"))
    pipe = Pipeline(model, draw={"noise": "normal"}, runtime="openvino")
    expected, _ = reference.random_normal([2, 3], 0, 1, "f32", state=stream(0))
    drawn = pipe({"x": np.zeros((2, 5), np.float32)}, seed=SEED)["z"]
    assert_same_bits(drawn, np.maximum(expected, 0))


OF_ONE_BATCH = """g (float[B, 3] noise, float[N, 3] x) => (float[N, 3] y) { y = Add (noise, x) }"""
ASKED = (
    "Its shape is the new input 'noise_shape', since nothing says which of its dimensions another "
    "input has: "
)


def test_rows_of_a_shape_that_is_asked_for_are_refused_with_what_says_the_batch() -> None:
    model = parse(OF_ONE_BATCH)
    with pytest.raises(
        ValueError,
        match=f"{ASKED}give the batch one name in both",
    ):
        make_reproducible(model, draw={"noise": "normal"}, per_row=True, batch="N")
    new = make_reproducible(
        parse(OF_ONE_BATCH.replace("B", "N")), draw={"noise": "normal"}, per_row=True
    )
    assert [each.name for each in new.graph.input] == ["x", "random_state"]
    in_openvino = ov.Core().read_model(model.SerializeToString())
    with pytest.raises(
        ValueError,
        match=re.escape(f"{ASKED}give each input that has the batch a Layout with an N there (set"),
    ):
        make_reproducible(in_openvino, draw={"noise": "normal"}, per_row=True)
    for parameter in in_openvino.get_parameters():
        parameter.set_layout(ov.Layout("N?"))
    of_layouts = make_reproducible(in_openvino, draw={"noise": "normal"}, per_row=True)
    assert [each.any_name for each in of_layouts.inputs] == ["x", "random_state"]


def test_the_model_that_is_given_stays_as_it_is_and_the_new_one_is_a_rewritten_one() -> None:
    model = model_of()
    before = model.SerializeToString()
    new = make_reproducible(model, draw={"noise": "normal"})
    assert model.SerializeToString() == before
    assert [each.name for each in new.graph.input] == ["x", "random_state"]
    assert rewriting.find_random_nodes(new) == []


WORDS = "one of normal, normal(mean, scale), uniform, uniform(low, high), bernoulli(p) or bits"
REFUSED: dict[str, tuple[Any, str]] = {
    "no dict": ("noise", "draw must be a dict of texts by the names of inputs"),
    "no text": ({"noise": 1}, "draw must be a dict of texts by the names of inputs"),
    "unknown word": ({"noise": "gauss"}, f"draw must be {WORDS}"),
    "text behind it": ({"noise": "normal 3"}, f"draw must be {WORDS}"),
    "no number": ({"noise": "normal(a, 1)"}, "of numbers in parentheses: got noise=normal(a, 1)"),
    "too few numbers": ({"noise": "normal(1)"}, "with 2 numbers: got noise=normal(1)"),
    "too many numbers": ({"noise": "bits(1)"}, "with 0 numbers: got noise=bits(1)"),
    "p left out": ({"noise": "bernoulli"}, "with 1 numbers: got noise=bernoulli"),
    "p out of range": ({"noise": "bernoulli(2)"}, "input 'p' must be from 0 to 1"),
    "infinite": ({"noise": "normal(0, inf)"}, "input 'scale' must be a finite number"),
    "beyond the type": ({"noise": "normal(0, 1e39)"}, "input 'scale' must be a number within f32"),
    "a scale below 0": (
        {"noise": "normal(0, -1)"},
        "draw must be normal(mean, scale), with a scale of 0 or more: got noise=normal(0, -1)",
    ),
    "low above high": (
        {"noise": "uniform(2, 1)"},
        "draw must be uniform(low, high), with a low of at most high: got noise=uniform(2, 1)",
    ),
    "no size": ({"noise": "normal[2, -1]"}, "of integers of 0 or more in brackets"),
    "another shape": ({"noise": "normal[2, 4]"}, "of a shape that the input may have, [2, 3]"),
    "another rank": ({"noise": "normal[6]"}, "of a shape that the input may have, [2, 3]"),
    "another type": (
        {"noise": "bits"},
        "a law of float32, the type of that input (bits draws u32)",
    ),
    "unknown input": ({"nois": "normal"}, "of an input of the model (x, noise)"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_law_that_cannot_be_drawn_is_refused(what: str) -> None:
    draw, said = REFUSED[what]
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        make_reproducible(model_of(), draw=draw)


def of_no_known_type() -> onnx.ModelProto:
    model = parse("g (float[2] noise) => (float[2] y) { y = Neg (noise) }")
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UNDEFINED
    return model


UNREADABLE = {
    "integers without bounds": (model_of("int64"), "uniform", "with both numbers for i64"),
    "integers from low to low": (
        model_of("int64"),
        "uniform(2, 2)",
        "draw must be uniform(low, high), with a low below high for i64: got noise=uniform(2, 2)",
    ),
    "a bernoulli of 4 bits": (
        parse("g (int4[2] noise) => (float[2] y) { y = Cast <to: int = 1> (noise) }"),
        "bernoulli(0.5)",
        "a law of int4, the type of that input (bernoulli draws bool, integers of 8, 16, 32 or 64 "
        "bits, and floats of 16, 32 or 64 bits)",
    ),
    "a bernoulli of texts": (
        parse("g (string[2] noise) => (string[2] y) { y = Identity (noise) }"),
        "bernoulli(0.5)",
        "the type of that input (bernoulli draws bool, integers of",
    ),
    "a sequence": (
        parse("g (seq(float[2]) noise) => (seq(float[2]) y) { y = Identity (noise) }"),
        "normal[2]",
        "a law of Sequence(Tensor(FLOAT)), the type of that input",
    ),
    "an optional": (
        parse("g (optional(float[2]) noise) => (float[2] y) { y = OptionalGetElement (noise) }"),
        "bernoulli(0.5)[2]",
        "a law of Optional(Tensor(FLOAT)), the type of that input",
    ),
    "no known type": (of_no_known_type(), "normal", "a law of no known type, the type of that"),
    "nothing reads it": (
        parse("g (float[2] noise, float[2] x) => (float[2] y) { y = Neg (x) }"),
        "normal",
        "(nothing reads it)",
    ),
    "an If alone reads it": (
        parse(
            "g (bool c, float[2] noise) => (float[2] y) { y = If (c) <"
            "then_branch = t () => (float[2] a) { a = Neg (noise) },"
            "else_branch = e () => (float[2] b) { b = Abs (noise) }> }"
        ),
        "normal",
        "(an If, Loop or Scan alone reads it)",
    ),
    "no rank": (
        parse("g (float noise, float[2] x) => (float[2] y) { y = Add (noise, x) }"),
        "normal[2]",
        "of a shape that the input may have, []",
    ),
    "the name of the new input is taken": (
        parse(
            "g (float[K] noise, int64[1] noise_shape) => (float[K] y, int64[1] z) {"
            " y = Neg (noise) z = Neg (noise_shape) }"
        ),
        "normal",
        "of a model that has no 'noise_shape'",
    ),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_input_that_cannot_be_drawn_is_refused(what: str) -> None:
    model, law, said = UNREADABLE[what]
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        make_reproducible(model, draw={"noise": law})


def test_the_commands_draw_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(model_of(), "model.onnx")
    draw = ("--draw", "noise=normal")
    cli.text("rewrite", "model.onnx", "-o", "new.onnx", *draw)
    of_file = cli.document("run", "new.onnx", "--fill", "--seed", 1)
    at_once = cli.document("run", "model.onnx", "--fill", "--seed", 1, *draw)
    assert at_once["sha256"] == of_file["sha256"]
    assert at_once["model"] == "model.onnx"
    compared = cli.text("compare", "model.onnx", "--fill", "--seed", 1, *draw)
    assert "Equal: draws and states equal to the last bit" in compared
    said = cli.refusal("run", "model.onnx", "--fill", "--draw", "nois=normal")
    assert said == (
        "onnx-philox run: --draw must be of an input of the model (x, noise): got nois=normal. "
        "Write the name of one of these.\n"
    )
    said = cli.refusal("rewrite", "model.onnx", "-o", "new.onnx", *draw, *draw)
    assert "--draw must be given once for 'noise': got 'noise=normal'" in said
    said = cli.refusal("run", "model.onnx", "--fill", *draw, "--record", "r.json")
    assert "--record must be left out beside --draw" in said


OPEN = "g (float[B, 4] z) => (float[B, 4] y) { y = Exp (z) }"


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_a_shape_that_is_asked_for_has_the_sizes_that_the_model_declares(
    suffix: str, tmp_path: Path
) -> None:
    path, new = tmp_path / f"model{suffix}", tmp_path / f"new{suffix}"
    if suffix == ".onnx":
        onnx.save(parse(OPEN), path)
    else:
        save_ir(parse(OPEN), path)
    draw = ("--draw", "z=normal")
    cli.text("rewrite", path, "-o", new, *draw)
    assert "float32 [1, 4]" in cli.text("run", new, "--fill", "--seed", 42)
    original = ("--original", path, "--fill", "--runs", 200)
    assert "The same law, as far as was seen." in cli.text("compare", new, *original, *draw)
    assert "float32 [3, 4]" in cli.text("run", new, "--input", "z_shape=[3,4]")
    assert cli.refusal("run", new, "--input", "z_shape=[1,1]") == (
        "onnx-philox run: the input 'z_shape' must say a shape of [?, 4], as the model declares "
        "the input that it draws: got [1, 1]. Pass such a shape.\n"
    )


def test_no_shape_is_taken_from_metadata_of_another_form() -> None:
    assert drawn_inputs.asked_shapes('{"z_shape": [null, 4]}') == {"z_shape": (None, 4)}
    for text in (None, "", "[", "[1]", '{"z_shape": 4}', '{"z_shape": ["a"]}'):
        assert drawn_inputs.asked_shapes(text) == {}
