"""What make_reproducible refuses, by the name of the node, and which names it suspects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import openvino as ov
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state

from onnx_philox import Pipeline, make_reproducible, reference
from onnx_philox.rewriting import find_random_nodes, rewrite, rewrite_file
from tests.common import cli
from tests.common.cases import assert_refused, pattern_of, table
from tests.common.foreign import STATE, TWO, evaluate, in_onnxruntime, parse

NINE = "[1, 1, 1, 1, 1, 1, 1, 1, 2]"
OF_NINE = "must be of 0 to 8 dimensions: got 9 dimensions"
NUMBER = "num_samples must be one constant int32"
# The last node of a model: ONNX's, then TensorFlow's.
NODES = table(f"""
RandomUniform <shape = [2], low = 3.0, high = 1.0> ()
    -> minval' must be at most maxval...: got 3.0 with maxval 1.0
RandomUniform <shape = [-2]> () -> 'shape' must be dimensions of 0...: got [-2]
RandomUniform <dtype = 1> () -> attribute 'shape' must be INTS: got nothing. Give it.
RandomUniform <shape = [2], dtype = 6> () -> type must be FLOAT16, FLOAT...: got INT32
RandomUniform <shape = [2], dtype = 16> () -> must be FLOAT16, FLOAT...: got BFLOAT16
RandomUniform <shape = [2], dtype = 99> () -> 'dtype' must be the number of...: got 99
RandomNormal <shape = [2], dtype = 10, scale = 1e6> ()
    -> 'scale' must be a number within f16...: got 1000000.0
RandomNormalLike (i) -> element type must be FLOAT16, FLOAT or DOUBLE...: got INT64
Bernoulli (i) -> element type must be FLOAT16...: got INT64
Bernoulli <dtype = 8> (x) -> 'dtype' must be a type of numbers, or BOOL...: got STRING
Multinomial <dtype = 1> (x) -> 'dtype' must be INT32 or INT64...: got FLOAT
Multinomial <sample_size = 0> (x) -> 'sample_size' must be an integer from 1...: got 0
Multinomial (c) -> the shape of input 'c' must be [classes] or [rows, classes]: got 3 dimens
RandomNormalLike () -> input 0 must be connected: got nothing. Connect it.
RandomNormalLike (u) -> type of input 'u' must be one that is declared or can be inferred:
    -> got an unknown one
RandomNormalLike (z) -> type of input 'z' must be one that is declared...: got an unknown one
Dropout (x, r, t) -> the ratio must be one number from 0 to 1...: got 1.5
RandomNormalLike (d) -> the shape of input 'd' {OF_NINE}
RandomUniformLike (d) -> the shape of input 'd' {OF_NINE}
Bernoulli (d) -> the shape of input 'd' {OF_NINE}
Dropout (d, half, t) -> the shape of input 'd' {OF_NINE}
RandomNormal <shape = {NINE}> () -> {OF_NINE}
RandomUniform <shape = {NINE}> () -> {OF_NINE}
TruncatedNormal <dtype = 1> (eight) -> input 'shape' must be of 0 to 7 dimensions...: got 8 dimens
RandomStandardNormal <dtype = 6> (s)
    -> the element type must be FLOAT16, BFLOAT16, FLOAT or DOUBLE...: got INT32
RandomStandardNormal <dtype = 1.0> (s)
    -> attribute 'dtype' must be the number of an element type...: got 1.0
StatelessMultinomial (p, n, s) -> {NUMBER}...: got one that is not constant
Multinomial (p, two) -> {NUMBER}...: got [4, 5]
TruncatedNormal <dtype = 1> () -> input 0 must be connected: got nothing
RandomUniformInt (s, nine, four_) -> minval... 9 ... maxval 2
RandomUniformInt () -> input 1 must be connected: got nothing
RandomUniformInt (s, ul, ul) -> the element type must be INT32 or INT64...: got UINT64
RandomShuffle (n) -> of 1 dimension or more: got a scalar
com.microsoft.Sampling (x) -> got Sampling, ... draw each token by RandomToken
""")
KINDS = {"r": "FLOAT", "four": "FLOAT", "four64": "DOUBLE", "t": "BOOL", "u4": "UINT32"}
NODES += [
    [f"{op_type} (p, {name})", f"{NUMBER}: got {type_}. Export it "]
    for op_type in ("Multinomial", "StatelessMultinomial")
    for name, type_ in KINDS.items()
]
AROUND = f"""g (float[2] x, int64[2] i, float[1, 1, 2] c, float{NINE} d, int32[1] s, float[2, 3] p,
    int32 n, uint64 ul) => (float[2] y)
    <float r = {{1.5}}, float half = {{0.5}}, bool t = {{1}}, int32[2] two = {{4, 5}},
     float four = {{4}}, double[1] four64 = {{4}}, uint32 u4 = {{4}}, int64 nine = {{9}},
     int64 four_ = {{2}}, int64[8] eight = {{1, 1, 1, 1, 1, 1, 1, 2}}>"""


@pytest.mark.parametrize(("node", "words"), NODES)
def test_a_node_that_breaks_its_rules_is_refused_by_name(node: str, words: str) -> None:
    model = parse(f"{AROUND} {{ u = com.example.Op (x) y = {node} }}")
    model.graph.output[0].type.tensor_type.Clear()
    model.graph.node[-1].name = "culprit"
    model.graph.initializer.add(name="z", dims=[2])  # without a type
    with pytest.raises((ValueError, TypeError), match=pattern_of(words)) as caught:
        make_reproducible(model)
    assert "'culprit' (opset " in str(caught.value)
    assert "main graph)" in str(caught.value)
    found = [(each.problem, each.replacement) for each in find_random_nodes(model)]
    assert found == [(str(caught.value), None)]


def test_an_input_of_eight_dimensions_is_drawn_like() -> None:
    shape = NINE.replace("1, ", "", 1)
    model = parse(f"g (float{shape} x) => (float{shape} y) {{ y = RandomNormalLike (x) }}")
    assert [found.problem for found in find_random_nodes(model)] == [None]


def calls(function: str, opset: int = 17) -> str:
    return f"""g (float[2] x) => (float[2] y) {{ y = local.f (x) }}
        <domain: "local", opset_import: ["": {opset}, "local": 1]> f (a) => (b) {{ {function} }}"""


OTHERWISE = "g (float16[4] x) => (float16[4] y) <float16[4] r> {{ r = {} y = Add (x, r) }}"
OF_FLOAT = (
    "the type of output 'r' must be FLOAT, which the node draws: got one that is declared FLOAT16. "
    r"Set dtype to 10 \(FLOAT16\)"
)
OTHER = {
    "RandomNormalLike <dtype = 1> (x)": ", or put 'RandomNormalLike' into",
    "RandomUniformLike <dtype = 1> (x)": "",
    "RandomNormal <dtype = 1, shape = [4]> ()": "",
    "RandomUniform <dtype = 1, shape = [4]> ()": "",
    "Bernoulli <dtype = 1> (x)": "",
}
RENAME = (
    r"the tensor '\w*random_state' must be one that an earlier rewrite made, since a "
    r"rewrite gives this name to a state: got another tensor\. Rename it: onnx\.compose\.add"
)
NAMED = (
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
)
MODELS: list[tuple[onnx.ModelProto, str]] = [
    (
        parse("g (int32[1] s) => (float[A] y) { y = TruncatedNormal <dtype = 1> (s) }", 8),
        "the model's opset must be 9 or newer.*: got 8",
    ),
    (
        parse(calls("n = RandomNormalLike (a) b = local.f (n)")),
        r"nodes \(local::f\) cannot be inl",
    ),
    (
        parse(calls("b = RandomNormalLike (a)", 22)),
        "must be one whose functions are of the model's own opset",
    ),
    (
        parse(
            """g (float[1, 2] s, float[1, 3, 2] x) => (float[1, 2] f, float[1, 3, 2] y) {
            f, y = Scan ( , s, x) <num_scan_inputs = 1, body =
                b (float[2] a, float[2] r) => (float[2] c, float[2] o) {
                    c = RandomNormalLike (a)  o = Identity (r) }> }""",
            8,
        ),
        "If, Loop, or Scan from opset 9 on: got a subgraph",
    ),
    *((parse(text), RENAME) for text in NAMED),
    *((parse(OTHERWISE.format(node)), OF_FLOAT + more) for node, more in OTHER.items()),
    (
        parse("""g (float[4] x) => (float16[4] y) <float r = {0.5}, bool on = {1}, float16[4] d> {
            d = Dropout (x, r, on) y = Identity (d) }"""),
        r"must be FLOAT, which the node draws: got .* Declare it FLOAT",
    ),
    (
        parse("""g (float[2] x, bool c) => (float[2] y) { y = RandomNormalLike (a) b = Abs (y)
            a = If (c) <then_branch = t () => (float[2] k) { k = Neg (b) },
                        else_branch = e () => (float[2] m) { m = Neg (x) }> }"""),
        "without a cycle: got '.', which is computed of itself",
    ),
]


@pytest.mark.parametrize(("model", "words"), MODELS)
def test_a_model_that_cannot_be_rewritten_is_refused(model: onnx.ModelProto, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        make_reproducible(model)
    if "Set dtype" in words:
        # Nor does a runtime load it.
        assert find_random_nodes(model)[0].problem == str(caught.value)
        with pytest.raises(Exception, match=r"does not match expected type|declare"):
            ort.InferenceSession(model.SerializeToString())
        with pytest.raises(RuntimeError):
            ov.Core().compile_model(ov.Core().read_model(model.SerializeToString()), "CPU")
    if words is RENAME:
        renamed = make_reproducible(onnx.compose.add_prefix(model, "own_"))
        assert renamed.graph.input[-1].name == "random_state"


def test_large_weights_of_one_name_in_functions_are_refused(tmp_path: Path) -> None:
    """Small ones are told apart."""
    text = """<domain: "local", opset_import: ["": 17]> {} (a, c) => (b) {{
        n = RandomNormalLike (a)
        b = If (c) <then_branch = t () => (float[2] k) <float[2] w = {{{}}}> {{ k = Add (n, w) }},
                    else_branch = e () => (float[2] k2) {{ k2 = Identity (n) }}> }}"""
    model = parse(
        """g (float[2] x, bool c) => (float[2] y, float[2] z, float[2] u) <float[2] w = {5, 6}> {
            y = local.f (x, c) z = local.h (x, c) u = Identity (w) }"""
        + text.format("f", "1, 2")
        + text.format("h", "3, 4")
    )
    feeds = {
        "x": np.zeros(2, np.float32),
        "c": np.array(True),
        "random_state": STATE,
    }
    outputs = evaluate(make_reproducible(model), feeds)
    for stream, weights in ((0, [1, 2]), (1, [3, 4])):
        normal, _ = reference.random_normal([2], 0, 1, "f32", op_seed=stream, state=STATE)
        expected = normal + np.float32(weights)
        np.testing.assert_array_equal(outputs[stream], expected)
    assert outputs[2].tolist() == [5, 6]
    for function in model.functions:
        (large,) = function.node[1].attribute[0].g.initializer
        large.CopyFrom(onnx.numpy_helper.from_array(np.zeros((2**17, 2), np.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx")
    words = "inlined: large weights have a name that others have: 'w'"
    with pytest.raises(ValueError, match=words):
        make_reproducible(tmp_path / "m.onnx")


def test_a_type_that_no_clone_can_infer_is_refused_beside_a_tensor_of_another_s_field() -> None:
    """Found by a fuzzer: onnx-ir's error shows the graph, and ended in one of its own."""
    model = parse("g () => (float[2] y) { a = Add (nowhere, w) y = RandomNormalLike (a) }")
    model.graph.initializer.add(
        name="w",
        data_type=TensorProto.FLOAT,
        dims=[1],
        int64_data=[1],
    )
    with pytest.raises(TypeError, match="Declare its type in the graph's value_info"):
        make_reproducible(model)


def test_a_subgraph_that_can_carry_no_state_is_refused_by_name() -> None:
    model = parse("""g (float[2] x) => (float[2] y) { [each] y = com.example.Repeat (x) <
        body = b (float[2] a) => (float[2] c) { c = RandomNormalLike (a) }> }""")
    words = (
        "got a subgraph of com.example::Repeat 'each', which cannot carry a state. Rewrite it as"
    )
    with pytest.raises(ValueError, match=f"{words} one of these, or leave"):
        make_reproducible(model)
    with pytest.warns(UserWarning, match="left as it is"):
        assert make_reproducible(model, keep_unknown=True) is model


def made(seed: int | None = None, version: int = 1) -> onnx.ModelProto:
    """A rewritten model, of a version of our opset."""
    model = make_reproducible(parse(TWO), seed=seed)
    model.opset_import[-1].version = version
    return model


RANGE = "seed must be an integer from 0 to 2^63-1, or left out: got"
NEWER = "got {}. ... saved by a newer onnx-philox"


@pytest.mark.parametrize(
    ("given", "seed", "words"),
    [
        *((parse(TWO), seed, f"{RANGE} {seed}") for seed in (-1, 2**63)),
        *((parse(TWO), seed, f"TypeError: {RANGE}") for seed in (1.5, True)),
        (made(), 1, "seed must be left out for a model whose state is already the graph input"),
        (made(2), 1, "seed must be left out, or 2, the seed that the model was made with"),
        *((made(version=n), None, NEWER.format(n)) for n in (2, 999, 1001)),
    ],
)
def test_a_seed_or_an_opset_that_a_model_cannot_have_is_refused(
    given: onnx.ModelProto, seed: Any, words: str
) -> None:
    assert_refused(lambda: make_reproducible(given, seed=seed), words)


def test_a_misspelt_operator_of_this_package_is_refused_by_name() -> None:
    text = "g (float[B, 9] x) => (y) { y = onnx_philox.RandomTokn <op_seed = 1> (x) }"
    for refused in (make_reproducible, Pipeline):
        with pytest.raises(ValueError, match=r"RandomTokn.* Did you mean 'RandomToken'\?"):
            refused(parse(text))


IN_ANY_DOMAIN = """
    RandomPoisson StatelessRandomGammaV3 StatelessRandomBinomial StatefulUniformInt StatelessShuffle
    StatelessParameterizedTruncatedNormal StatelessRandomUniformFullIntV2 NonDeterministicInts
    GaussianNoise DropPath drop_path Dropout2 DropBlock DropConnect SampleToken TopKSampling
    Sampling gumbel_softmax RandomUniformMine LogUniformCandidateSampler TokenSampler token_dropout
    PoissonNoise RngUniform MultinomialFast RandUniform"""
# Which are known in a domain of their own.
IN_MINE = "TruncatedNormal RandomNormalLike BiasDropout BitmaskBiasDropout aten_bernoulli MyDropout"
OF_TORCH = """
    exponential exponential_ _standard_gamma uniform log_normal _sample_dirichlet poisson normal_
    cauchy geometric bernoulli rand_like randint native_dropout rrelu_with_noise binomial.out"""
NOT_RANDOM = """
    GridSample UpSampling Upsample grid_sampler RoIAlign PointSample FurthestPointSampling Branding
    DenoiseBlock NoisePrediction NoiseSuppression Uniformity StatelessRandomGetKeyCounter
    StatelessRandomGetAlg DropoutGrad DropColumn ReSample FusedDropDown BitmaskDropoutGrad
    BeamSearch FusedMatMul"""
ATEN = 'ATen <operator = "{}">'


def named(
    domain: str,
    name: str,
    opset: int = 17,
    **domains: int,
) -> onnx.ModelProto:
    call = f"{domain}.{name}" if domain else name
    domains |= {domain: 1} if domain else {}
    return parse(f"g (float[2] x) => (float[2] y) {{ y = {call} (x) }}", opset, **domains)


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        *((domain, name) for domain in ("", "mine") for name in IN_ANY_DOMAIN.split()),
        *(("mine", name) for name in IN_MINE.split()),
        *((domain, name) for domain in ("org.pytorch.aten", "aten") for name in OF_TORCH.split()),
        *(("org.pytorch.aten", ATEN.format(name)) for name in ("poisson", "_standard_gamma")),
    ],
)
def test_a_known_or_suspicious_name_is_an_error_or_kept_with_a_warning(
    domain: str, name: str
) -> None:
    model = named(domain, "Op" if "." in name else name)
    if "." in name:
        model.graph.node[0].op_type = name
    with pytest.raises(ValueError, match=r"of 'y' .*got [\w.]+, (perhaps )?random") as caught:
        make_reproducible(model)
    assert [node.problem for node in find_random_nodes(model)] == [str(caught.value)]
    with pytest.warns(UserWarning, match="left as it is"):
        assert make_reproducible(model, keep_unknown=True) is model


@pytest.mark.parametrize(
    ("domain", "name"),
    [
        *((domain, name) for domain in ("", "mine") for name in NOT_RANDOM.split()),
        ("org.pytorch.aten", ATEN.format("trapezoid")),
    ],
)
def test_an_operator_that_only_sounds_random_is_left_alone(domain: str, name: str) -> None:
    assert find_random_nodes(named(domain, name)) == []


def test_no_operator_of_onnx_or_of_onnx_runtime_is_suspected_that_is_not_random() -> None:
    own = onnxruntime_pybind11_state.get_all_operator_schema()
    schemas = [*onnx.defs.get_all_schemas(), *own]
    found = set()
    # Ours are there where another test registered them; without a state they are random.
    for name, domain in {(s.name, s.domain) for s in schemas if s.domain != "onnx_philox"}:
        node = helper.make_node(name, [], ["y"], domain=domain)
        opsets = [helper.make_opsetid("", 22), helper.make_opsetid(domain or "other", 22)]
        graph = helper.make_graph([node], "g", [], [])
        model = helper.make_model(graph, opset_imports=opsets)
        found |= {f"{domain}.{name}" for _ in find_random_nodes(model)}
    assert found >= {".RandomNormal", ".Multinomial", "com.microsoft.Sampling"}
    assert found <= {
        ".RandomNormal",
        ".RandomNormalLike",
        ".RandomUniform",
        ".RandomUniformLike",
        ".Bernoulli",
        ".Multinomial",
        "com.microsoft.Sampling",
        "com.microsoft.BiasDropout",
        "com.microsoft.BitmaskDropout",
        "com.microsoft.BitmaskBiasDropout",
        # A test of ONNX Runtime's.
        "com.microsoft.SampleOp",
    }


UNKNOWN = """g (float[2] x) => (float[2] y, float[2] z) {
    [contrib] y, mask = com.example.MyDropout (x)  z = RandomNormalLike (x) }"""
DOORS = {
    "proto": lambda path, **asked: make_reproducible(onnx.load(path), **asked),
    "path": make_reproducible,
    "onnx-ir": lambda path, **asked: rewrite(ir.from_proto(onnx.load(path)), **asked),
    "file": lambda path, **asked: rewrite_file(path, path.with_name("new.onnx"), **asked),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_an_unknown_name_or_warns_at_the_code_that_called(
    door: str, tmp_path: Path
) -> None:
    onnx.save(parse(UNKNOWN), path := tmp_path / "m.onnx")
    match = "com.example MyDropout 'contrib' .*got MyDropout, random by its name"
    with pytest.raises(ValueError, match=match):
        DOORS[door](path)
    with pytest.warns(UserWarning, match=f"left as it is: .*{match}") as warned:
        rewritten = DOORS[door](path, keep_unknown=True)
    assert warned[0].filename == __file__
    if door == "proto":
        assert parse(UNKNOWN).graph.node[0] in rewritten.graph.node
        assert [n.op_type for n in rewritten.graph.node].count("RandomNormal") == 1


GAUSSIAN = "g (float[2] x) => (float[2] y) { y = mine.GaussianNoise (x) }"
IN_MY_FUNCTION = """g (float[2] x) => (float[2] y) {{ y = local.f (x) }}
    <domain: "local", opset_import: ["": 17{}]> f (x) => (y) {{ y = mine.GaussianNoise (x) }}"""


@pytest.mark.parametrize(
    ("text", "imports", "version", "said"),
    [
        (GAUSSIAN, {"mine": 3}, 3, "opset 3"),
        (GAUSSIAN, {"mine": 0}, None, "opset not imported"),
        (
            GAUSSIAN,
            {"mine": 0, "yours": 2},
            None,
            "opset not imported",
        ),
        (
            IN_MY_FUNCTION.format(', "mine": 3'),
            {"mine": 0},
            3,
            "opset 3",
        ),
        (
            IN_MY_FUNCTION.format(""),
            {"mine": 0},
            None,
            "opset not imported",
        ),
        (
            GAUSSIAN.replace("mine.", ""),
            {},
            17,
            "opset 17",
        ),
    ],
)
def test_a_title_says_the_opset_of_the_operator_s_own_domain(
    text: str,
    imports: dict[str, int],
    version: int | None,
    said: str,
    tmp_path: Path,
) -> None:
    model = parse(text, **imports)
    (found,) = find_random_nodes(model)
    assert found.version == version
    with pytest.raises(ValueError, match=rf"GaussianNoise .* \({said}, main graph"):
        make_reproducible(model)
    onnx.save(model, tmp_path / "m.onnx")
    shown = cli.text("inspect", tmp_path / "m.onnx")
    assert f"({said}, main graph" in shown
    opset = "" if version is None else f" (opset {version})"
    assert f"GaussianNoise{opset} onnxruntime" in shown


def test_a_hand_written_node_has_the_default_type_of_its_operator() -> None:
    model = parse("""g (float[B, 9] x) => (int64[B, 1] y) {
        t = onnx_philox.RandomToken <op_seed = 1> (x) y = Identity (t) }""")
    logits = np.zeros((2, 9), np.float32)
    y, _ = in_onnxruntime()(make_reproducible(model), {"x": logits, "random_state": STATE})
    assert (y == reference.random_token(logits, op_seed=1, state=STATE)[0]).all()
