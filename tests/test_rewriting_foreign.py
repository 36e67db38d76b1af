"""make_reproducible on random operators that ONNX does not have: TensorFlow's, torch's, others'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cli
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from cases import assert_same_bits
from onnx import helper, parser
from runtimes import OpenVino

from onnx_philox import PhiloxState, Pipeline, make_reproducible, reference, rewriting
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.rewriting import find_random_nodes

EXPORTED = Path(__file__).with_name("models") / "tensorflow_draws.onnx"
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
STATE = PhiloxState.for_run(0xFEDC_BA98_8765_4321, run=0x9000_0001).to_array()

GONE = "the input 'seed' is gone: it was a seed, and the model's state now says what is drawn"


def parse(body: str, opsets: str = '"": 17') -> onnx.ModelProto:
    return parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]>\n{body}")


# ------------------------------------------------------------------ TensorFlow's


def truncated(candidates: np.ndarray) -> np.ndarray:
    """The first of the candidates, along the last axis, less than 2 away; else the last / 4."""
    is_near = np.abs(candidates) < 2
    first = np.take_along_axis(candidates, is_near.argmax(-1)[..., None], -1)[..., 0]
    return np.where(is_near.any(-1), first, candidates[..., -1] / candidates.dtype.type(4))


def truncated_normal(shape: list[int], type: str, **state: Any) -> np.ndarray:
    return truncated(reference.random_normal([*shape, 8], 0, 1, type, **state)[0])


def expected(op_type: str, output: str, **state: Any) -> np.ndarray:
    """What an output of the exported model has to be."""
    dims, one = [3, 4], np.float32(1)
    match op_type, output:
        case "StatelessRandomNormalV2", _:
            # TensorFlow scales in nodes of their own.
            drawn = reference.random_normal(dims, 0, 1, "f32", **state)[0]
            return drawn * np.float32(3) + np.float32(2)
        case "StatelessRandomUniformV2", _:
            return reference.random_uniform(dims, 0, 1, "f32", **state)[0]
        case "StatelessRandomUniformIntV2", _:
            return reference.random_uniform(dims, -3, 7, "i32", **state)[0]
        case "StatelessMultinomial", _:
            return reference.random_categorical(X, 5, "i64", **state)[0]
        case "StatelessRandomNormal", _:
            return reference.random_normal(dims, 0, 1, "f64", **state)[0]
        case "StatelessRandomUniform", _:
            return reference.random_uniform(dims, 0, 1, "f16", **state)[0]
        case "StatelessRandomUniformInt", _:
            return reference.random_uniform(dims, 1, 5, "i64", **state)[0]
        case "TruncatedNormal", "HalfTruncatedNormal":
            return truncated_normal(dims, "f32", **state).astype(np.float16)
        case "TruncatedNormal", _:
            return truncated_normal(dims, "f32", **state) * np.float32(0.5)
        case "StatelessTruncatedNormal" | "StatelessTruncatedNormalV2", _:
            return truncated_normal(dims, "f32", **state) * one
    raise AssertionError(op_type)


def test_the_exported_model_holds_what_tf2onnx_does_not_convert() -> None:
    kinds = {node.op_type for node in onnx.load(EXPORTED).graph.node}
    assert len([kind for kind in kinds if not onnx.defs.has(kind)]) == 11
    assert "StatelessRandomGetKeyCounter" in kinds
    with pytest.raises(Exception, match="No Op registered for"):
        InferenceSession(EXPORTED)


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_the_draws_of_tensorflow_equal_the_reference_in_both_runtimes(
    runtime: str, ort_backend: str, openvino: OpenVino
) -> None:
    with pytest.warns(UserWarning, match=GONE):
        found = rewriting.rewrite(ir.load(EXPORTED)).replaced
    # Those of one seed have one stream, and so have those of one key.
    assert [node.stream for node in found] == [0, 1, 2, 3, 3, 3, 3, 0, 0, 0, 0]
    with pytest.warns(UserWarning, match=GONE):
        model = make_reproducible(EXPORTED)
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == ["x", "random_state"]
    names = [output.name for output in model.graph.output]
    if runtime == "openvino":
        outputs = openvino(model, {"x": X, "random_state": STATE}, "f32")
    else:
        if ort_backend == "python":
            # onnxruntime-extensions carries no f16.
            index = names.index("StatelessRandomUniform")
            del model.graph.output[index], names[index]
            (half,) = (n for n in model.graph.node if "StatelessRandomUniform" in n.output)
            model.graph.node.remove(half)
        session = InferenceSession(model, backend=ort_backend)
        outputs = session.run(None, {"x": X, "random_state": STATE})
    assert len(found) == 11
    by_name = dict(zip(names, outputs, strict=True))
    for node in found:
        output = node.outputs[0].removesuffix(":0")
        output = {
            "stateless_random_normal/StatelessRandomNormalV2": "StatelessRandomNormalV2",
            "stateless_random_uniform/StatelessRandomUniformV2": "StatelessRandomUniformV2",
            "stateless_truncated_normal/StatelessTruncatedNormalV2": "StatelessTruncatedNormalV2",
            "truncated_normal/TruncatedNormal": "TruncatedNormal",
            "truncated_normal_1/TruncatedNormal": "HalfTruncatedNormal",
        }.get(output, output)
        if output not in by_name:
            assert (runtime, ort_backend, output) == (
                "onnxruntime",
                "python",
                "StatelessRandomUniform",
            )
            continue
        wanted = expected(node.op_type, output, state=STATE, op_seed=node.stream)
        if output == "StatelessRandomNormalV2":
            # Mul and Add may be fused.
            np.testing.assert_allclose(by_name[output], wanted, rtol=1e-6)
        else:
            assert_same_bits(by_name[output], wanted)


def test_a_seed_goes_with_the_constant_state_too() -> None:
    with pytest.warns(UserWarning, match=GONE):
        model = make_reproducible(EXPORTED, seed=5)
    outputs = InferenceSession(model).run(None, {"x": X})
    with pytest.warns(UserWarning, match=GONE):
        stateful = make_reproducible(EXPORTED)
    feeds = {"x": X, "random_state": PhiloxState.for_run(5).to_array()}
    for ours, theirs in zip(outputs, InferenceSession(stateful).run(None, feeds), strict=False):
        assert_same_bits(ours, theirs)


def test_a_seed_that_others_read_stays() -> None:
    model = parse(
        """g (int32[2] seed, int32[1] shape) => (float[N] y, int32[2] z) {
            key, counter = StatelessRandomGetKeyCounter (seed)
            alg = StatelessRandomGetAlg ()
            y = StatelessRandomUniformV2 <dtype = 1> (shape, key, counter, alg)
            z = Neg (seed)
        }"""
    )
    rewritten = make_reproducible(model)
    assert [i.name for i in rewritten.graph.input] == ["seed", "shape", "random_state"]
    assert "StatelessRandom" not in str(rewritten)


OLD_FORMS = """g (int32[2] shape, float[2, 3] logits, int32 low) => (
    float[A, B] u, float[A, B] n, int32[A, B] i, int64[2, 4] c) {
    u = RandomUniform <dtype = 1, seed = 0, seed2 = 7> (shape)
    n = RandomStandardNormal <dtype = 1, seed = 3, seed2 = 0> (shape)
    top = Constant <value = int32 {9}> ()
    i = RandomUniformInt <seed = 4> (shape, low, top)
    four = Constant <value = int32 {4}> ()
    c = Multinomial <output_dtype = 7> (logits, four)
}"""


def test_tensorflow_s_operators_of_onnx_s_names_are_told_by_their_inputs(
    ort_backend: str, openvino: OpenVino
) -> None:
    model = make_reproducible(parse(OLD_FORMS))
    logits, low = np.log(np.float32([[0.2, 0.3, 0.5]] * 2)), np.array(-4, np.int32)
    feeds = {"shape": np.int32([3, 2]), "logits": logits, "low": low, "random_state": STATE}
    wanted = [
        reference.random_uniform([3, 2], 0, 1, "f32", state=STATE, op_seed=0)[0],
        reference.random_normal([3, 2], 0, 1, "f32", state=STATE, op_seed=1)[0],
        reference.random_uniform([3, 2], -4, 9, "i32", state=STATE, op_seed=2)[0],
        reference.random_categorical(logits, 4, "i64", state=STATE, op_seed=3)[0],
    ]
    for run in (
        lambda: InferenceSession(model, backend=ort_backend).run(None, feeds),
        lambda: openvino(model, feeds),
    ):
        for ours, theirs in zip(run(), wanted, strict=False):
            assert_same_bits(ours, theirs)


REJECTING = """g (int32[2] shape, float[2] alpha, float[3] rate) => (
    float[A, B, 2] g, float[A, B, 3] p, int64[A, B, 3] q) {
    g = RandomGamma <seed = 3, seed2 = 0> (shape, alpha)
    p = RandomPoissonV2 <dtype = 1, seed = 3, seed2 = 1> (shape, rate)
    q = RandomPoissonV2 <dtype = 7, seed = 3, seed2 = 2> (shape, rate)
}"""


def test_tensorflow_s_gammas_and_counts_are_of_the_shape_for_each_parameter(
    ort_backend: str, openvino: OpenVino
) -> None:
    model = make_reproducible(parse(REJECTING))
    alpha, rate = np.float32([0.5, 30]), np.float32([0, 2.5, 100])
    feeds = {"shape": np.int32([4, 2]), "alpha": alpha, "rate": rate, "random_state": STATE}
    alphas, rates = np.broadcast_to(alpha, (4, 2, 2)), np.broadcast_to(rate, (4, 2, 3))
    wanted = [
        reference.random_gamma([4, 2, 2], alphas, "f32", state=STATE)[0],
        reference.random_poisson([4, 2, 3], rates, "i32", state=STATE, op_seed=1)[0],
        reference.random_poisson([4, 2, 3], rates, "i64", state=STATE, op_seed=2)[0],
    ]
    wanted[1] = wanted[1].astype(np.float32)
    for run in (
        lambda: InferenceSession(model, backend=ort_backend).run(None, feeds),
        lambda: openvino(model, feeds),
    ):
        for ours, theirs in zip(run(), wanted, strict=False):
            assert_same_bits(ours, theirs)


SHUFFLES = """g (int64[4, 3] i, string[N] names, float[N, 2] x) => (
    int64[4, 3] a, string[N] b, float[N, 2] c) {
    a = RandomShuffle <seed = 3, seed2 = 0> (i)
    b = ai.onnx.converters.tensorflow.RandomShuffle (names)
    inner = RandomShuffle <seed = 4> (x)
    c = Neg (inner)
}"""


def shuffled(x: np.ndarray, op_seed: int) -> np.ndarray:
    order, _ = reference.random_permutation([len(x)], state=STATE, op_seed=op_seed)
    return x[order]


def test_tensorflow_s_shuffle_is_a_gather_by_a_permutation(
    ort_backend: str, openvino: OpenVino
) -> None:
    i, x = np.arange(12).reshape(4, 3), np.arange(1, 15, dtype=np.float32).reshape(7, 2)
    feeds = {"i": i, "x": x, "random_state": STATE}
    opsets = '"": 17, "ai.onnx.converters.tensorflow": 1'
    model = make_reproducible(parse(SHUFFLES, opsets))
    names = np.array(list("abcdefg"))
    session = InferenceSession(model, backend=ort_backend)
    a, b, c, _ = session.run(None, feeds | {"names": names})
    assert_same_bits(a, shuffled(i, 0))
    assert b.tolist() == shuffled(names, 1).tolist()
    assert_same_bits(c, -shuffled(x, 2))
    # OpenVINO has no tensors of strings here.
    without = parse(SHUFFLES.replace("string", "double"), opsets)
    results = openvino(make_reproducible(without), feeds | {"names": np.arange(7.0)})
    assert_same_bits(results[0], shuffled(i, 0))
    assert_same_bits(results[2], -shuffled(x, 2))


def test_each_iteration_of_a_loop_shuffles_anew(openvino: OpenVino) -> None:
    model = make_reproducible(
        parse(
            """g (float[n, 2] x, int64 trips) => (float[n, 2] y) {
                go = Constant <value = bool {1}> ()
                y = Loop (trips, go, x) <body = b (int64 i, bool k, float[n, 2] a)
                    => (bool on, float[n, 2] z) { on = Identity (k) z = RandomShuffle (a) }>
            }"""
        )
    )
    x, state = np.arange(1, 15, dtype=np.float32).reshape(7, 2), STATE
    feeds = {"x": x, "trips": np.array(3), "random_state": STATE}
    for _ in range(3):
        order, state = reference.random_permutation([7], state=state)
        x = x[order]
    for run in (lambda: InferenceSession(model).run(None, feeds), lambda: openvino(model, feeds)):
        assert_same_bits(run()[0], x)


def test_a_shuffle_mixes_rows_so_a_state_for_each_row_is_refused() -> None:
    model = parse("g (float[batch, 2] x) => (float[batch, 2] y) { y = RandomShuffle (x) }")
    with pytest.raises(ValueError, match="got one order for all rows together") as error:
        make_reproducible(model, per_row=True)
    assert "RandomShuffle of 'y'" in str(error.value)


def test_what_is_shuffled_must_have_an_axis_and_a_type() -> None:
    model = parse("g (float x) => (float y) { y = RandomShuffle (x) }")
    with pytest.raises(ValueError, match="of 1 dimension or more: got a scalar"):
        make_reproducible(model)


@pytest.mark.parametrize(("size", "is_refused"), [(2**24, False), (2**24 + 1, True)])
def test_a_row_draws_at_most_2_27_gammas(size: int, is_refused: bool) -> None:
    model = parse(
        f"""g (float[batch, 8] alpha) => (float[batch, 8, {size}] y) {{
            of_alpha = Shape (alpha)
            more = Constant <value_ints = [{size}]> ()
            shape = Concat <axis = 0> (of_alpha, more)
            one = Constant <value = float {{1}}> ()
            y = RandomGamma (shape, one)
        }}"""
    )
    if not is_refused:
        make_reproducible(model, per_row=True)
        return
    with pytest.raises(ValueError, match=r"at most 2\^27 elements a row") as error:
        make_reproducible(model, per_row=True)
    assert f": got [batch, 8, {size}]. Draw them in several nodes" in str(error.value)
    make_reproducible(model)


def test_tf2onnx_s_own_domain_is_looked_at_and_others_are_refused() -> None:
    text = "g () => (float[2] y) {{ s = Constant <value_ints = [2]> () y = {}.{} <dtype = 1> (s) }}"
    domain = "ai.onnx.converters.tensorflow"
    model = parse(text.format(domain, "TruncatedNormal"), f'"": 17, "{domain}": 1')
    (y, _) = InferenceSession(make_reproducible(model)).run(None, {"random_state": STATE})
    assert_same_bits(y, truncated_normal([2], "f32", state=STATE))
    model = parse(text.format("mine", "TruncatedNormal"), '"": 17, "mine": 1')
    with pytest.raises(ValueError, match=r"mine TruncatedNormal of 'y' .*random by its name"):
        make_reproducible(model)


TRUNCATED = "g (int32[1] s) => (float[A] y) { y = TruncatedNormal <dtype = 1> (s) }"


def test_the_truncated_normal_has_its_distribution() -> None:
    from scipy import stats  # takes seconds, in each process that collects the tests

    session = InferenceSession(make_reproducible(parse(TRUNCATED)))
    state = PhiloxState.for_run(1).to_array()
    (y, _) = session.run(None, {"s": np.int32([1_000_000]), "random_state": state})
    assert np.abs(y).max() < 2
    result = stats.kstest(y.astype(np.float64), stats.truncnorm(-2, 2).cdf)
    assert result.pvalue > 0.01
    # The mass near the bounds, where a clipped, folded or rescaled normal would differ most.
    share = stats.truncnorm(-2, 2).sf(1.9) * 2
    deviation = np.sqrt(share * (1 - share) / y.size)
    assert abs((np.abs(y) > 1.9).mean() - share) < 4 * deviation


IN_A_LOOP = """g (int64 n, int32[1] s) => (float[T, A] y) {
    on = Constant <value = bool {1}> ()
    y = Loop (n, on) <body = b (int64 i, bool c) => (bool d, float[A] o) {
        d = Identity (c)
        o = TruncatedNormal <dtype = 1> (s)
    }>
}"""


def test_a_truncated_normal_in_a_loop_draws_on(openvino: OpenVino) -> None:
    model = make_reproducible(parse(IN_A_LOOP))
    feeds = {"n": np.array(3), "s": np.int32([5]), "random_state": STATE}
    y, _ = InferenceSession(model).run(None, feeds)
    state, rows = STATE, []
    for _ in range(3):
        candidates, state = reference.random_normal([5, 8], 0, 1, "f32", state=state)
        rows.append(truncated(candidates))
    assert_same_bits(y, np.stack(rows))
    assert_same_bits(openvino(model, feeds)[0], y)


@pytest.mark.parametrize("precision", [None, "f32", "bf16", "f16"])
def test_the_choice_of_a_truncated_normal_is_the_same_in_every_precision(
    precision: str | None, openvino: OpenVino
) -> None:
    model = make_reproducible(parse(TRUNCATED))
    feeds = {"s": np.int32([100_000]), "random_state": STATE}
    y, _ = openvino(model, feeds, precision)
    wanted = truncated_normal([100_000], "f32", state=STATE)
    if precision in (None, "f32"):
        assert_same_bits(y, wanted)
    # Others may round what is chosen, but choose no other candidate.
    np.testing.assert_allclose(y, wanted, rtol=2**-8, atol=1e-7)


def test_the_choice_goes_by_the_first_that_is_near(openvino: OpenVino) -> None:
    """Replaces the draw by candidates that are fed."""
    below, two = np.nextafter(np.float32(2), np.float32(0)), np.float32(2)
    rows = np.full((11, 8), 3, np.float32)
    for i in range(8):
        rows[i, i:] = np.linspace(-1.9, 1.9, 8)[i:]
    rows[8] = [-two, two, -below, 0, 0, 0, 0, 0]
    rows[9] = [two, -5.5, 2.5, -2, 2, 2.0001, -2, 5.5]
    rows[10] = [below, 0, 0, 0, 0, 0, 0, 0]
    model = make_reproducible(parse(TRUNCATED))
    (draw,) = (node for node in model.graph.node if node.domain == "onnx_philox")
    value = helper.make_tensor_value_info(draw.output[0], onnx.TensorProto.FLOAT, ["n", 8])
    model.graph.node.remove(draw)
    model.graph.input.append(value)
    feeds = {draw.output[0]: rows}
    (y,) = InferenceSession(model).run(["y"], feeds | {"s": np.int32([11]), "random_state": STATE})
    assert_same_bits(y, truncated(rows))
    assert y[9] == 5.5 / 4
    del model.graph.output[1:]
    assert_same_bits(openvino(model, feeds)[0], truncated(rows))


def constants(**values: str) -> str:
    return " ".join(f"{name} = Constant <value = {x}> ()" for name, x in values.items())


OF_THREE = "g (float[2, 3] x, int32 n, int32[2] s) => (y)"
MAY_NOT_SAY = {
    f"g () => (y) {{ {constants(s='int64[8] {1,1,1,1,1,1,1,2}')} "
    "y = TruncatedNormal <dtype = 1> (s) }": (
        "input 'shape' must be of 0 to 7 dimensions.*: got 8 dimensions"
    ),
    "g (int32[1] s) => (y) { y = RandomStandardNormal <dtype = 6> (s) }": (
        "the element type must be FLOAT16, BFLOAT16, FLOAT or DOUBLE.*: got INT32"
    ),
    "g (int32[1] s) => (y) { y = RandomStandardNormal <dtype = 1.0> (s) }": (
        "attribute 'dtype' must be the number of an element type.*: got 1.0"
    ),
    f"{OF_THREE} {{ y = StatelessMultinomial (x, n, s) }}": (
        "num_samples must be one constant int32.*: got one that is not constant"
    ),
    f"g (float[2, 3] x) => (y) {{ {constants(n='int32[2] {4, 5}')} y = Multinomial (x, n) }}": (
        r"num_samples must be one constant int32.*: got \[4, 5\]"
    ),
    **{
        f"g (float[2, 3] x) => (y) {{ {constants(n=tensor)} y = {op_type} (x, n) }}": (
            f"num_samples must be one constant int32: got {type_}. Export it as one."
        )
        for op_type in ("Multinomial", "StatelessMultinomial")
        for tensor, type_ in (
            ("float {4.0}", "FLOAT"),
            ("float {4.5}", "FLOAT"),
            ("double[1] {4.0}", "DOUBLE"),
            ("bool {1}", "BOOL"),
            ("uint32 {4}", "UINT32"),
        )
    },
    "g () => (y) { y = TruncatedNormal <dtype = 1> () }": "input 0 must be connected: got nothing",
    f"g (int32[1] s) => (y) {{ {constants(a='int64 {9}', b='int64 {2}')} "
    "y = RandomUniformInt (s, a, b) }": "minval is 9 and maxval 2|minval",
    "g (int32[1] s, uint64 a) => (y) { y = RandomUniformInt (s, a, a) }": (
        "the element type must be INT32 or INT64.*: got UINT64"
    ),
}


@pytest.mark.parametrize(
    ("body", "opset", "match"),
    [
        *((body, 17, match) for body, match in MAY_NOT_SAY.items()),
        (TRUNCATED, 8, "the model's opset must be 9 or newer.*: got 8"),
    ],
)
def test_what_a_node_of_tensorflow_may_not_say_is_refused(
    body: str, opset: int, match: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        make_reproducible(parse(body, f'"": {opset}'))
    assert f"of 'y' (opset {opset}, main graph)" in str(caught.value)


def test_an_operator_of_tensorflow_s_domain_draws_in_a_scan() -> None:
    """A Scan carries a state from opset 9 of ONNX on, whatever the opset of the other domain."""
    domain = "ai.onnx.converters.tensorflow"
    text = f"""g (float[3, 4] x) => (float[3, 4] y) {{
        y = Scan <num_scan_inputs = 1, body = b (float[4] r) => (float[4] z) {{
            s = Shape (r)
            z = {domain}.RandomStandardNormal <dtype = 1> (s)
        }}> (x)
    }}"""
    model = make_reproducible(parse(text, f'"": 17, "{domain}": 1'))
    y, _ = InferenceSession(model).run(None, {"x": X, "random_state": STATE})
    state, rows = STATE, []
    for _ in range(3):
        row, state = reference.random_normal([4], 0, 1, "f32", state=state)
        rows.append(row)
    assert_same_bits(y, np.stack(rows))


# ------------------------------------------------------------------ known and suspicious names

IN_ANY_DOMAIN = [
    *("RandomPoisson", "StatelessRandomGammaV3", "StatelessRandomBinomial", "StatefulUniformInt"),
    *("StatelessParameterizedTruncatedNormal", "StatelessRandomUniformFullIntV2"),
    *("StatelessShuffle", "NonDeterministicInts", "GaussianNoise", "DropPath", "drop_path"),
    *("Dropout2", "DropBlock", "DropConnect", "SampleToken", "TopKSampling", "Sampling"),
    *("gumbel_softmax", "RandomUniformMine", "LogUniformCandidateSampler", "TokenSampler"),
    *("token_dropout", "PoissonNoise", "RngUniform"),
]
OF_TORCH = [
    *("exponential", "exponential_", "_standard_gamma", "uniform", "log_normal"),
    *("_sample_dirichlet", "poisson", "normal_", "cauchy", "geometric", "bernoulli", "rand_like"),
    *("randint", "native_dropout", "rrelu_with_noise", "binomial.out"),
]
NOT_RANDOM = [
    *("GridSample", "UpSampling", "Upsample", "grid_sampler", "RoIAlign", "PointSample"),
    *("FurthestPointSampling", "Branding", "DenoiseBlock", "NoisePrediction", "NoiseSuppression"),
    *("Uniformity", "StatelessRandomGetKeyCounter", "StatelessRandomGetAlg", "DropoutGrad"),
    *("DropColumn", "ReSample", "FusedDropDown"),
]


@pytest.mark.parametrize("domain", ["", "mine"])
@pytest.mark.parametrize("op_type", IN_ANY_DOMAIN)
def test_known_and_suspicious_names_are_errors_in_every_domain(domain: str, op_type: str) -> None:
    name = f"{domain}.{op_type}" if domain else op_type
    model = parse(f"g (float[2] x) => (y) {{ y = {name} (x) }}", '"": 17, "mine": 1')
    with pytest.raises(ValueError, match=r"got \w+, (perhaps )?random"):
        make_reproducible(model)
    with pytest.warns(UserWarning, match="left as it is"):
        assert make_reproducible(model, keep_unknown=True) is model


@pytest.mark.parametrize("op_type", OF_TORCH)
def test_torch_s_fallbacks_are_errors(op_type: str) -> None:
    model = parse("g (float[2] x) => (y) { y = mine.Op (x) }", '"": 17, "mine": 1')
    for domain in ("org.pytorch.aten", "aten"):
        model.graph.node[0].op_type, model.graph.node[0].domain = op_type, domain
        model.opset_import[1].domain = domain
        (found,) = find_random_nodes(model)
        assert f"got {op_type}, random by its name" in (found.problem or "")


def test_an_aten_node_is_random_by_the_operator_that_it_names() -> None:
    text = 'g (float[2] x) => (y) {{ y = org.pytorch.aten.ATen <operator = "{}"> (x) }}'
    opsets = '"": 17, "org.pytorch.aten": 1'
    with pytest.raises(ValueError, match=r"org.pytorch.aten ATen of 'y' .*random by its name"):
        make_reproducible(parse(text.format("poisson"), opsets))
    assert find_random_nodes(parse(text.format("_standard_gamma"), opsets))
    assert not find_random_nodes(parse(text.format("trapezoid"), opsets))


@pytest.mark.parametrize("domain", ["", "mine"])
@pytest.mark.parametrize("op_type", NOT_RANDOM)
def test_an_operator_that_only_sounds_random_is_left_alone(domain: str, op_type: str) -> None:
    name = f"{domain}.{op_type}" if domain else op_type
    model = parse(f"g (float[2] x) => (y) {{ y = {name} (x) }}", '"": 17, "mine": 1')
    assert find_random_nodes(model) == []


def test_no_operator_of_onnx_or_of_onnx_runtime_is_suspected_that_is_not_random() -> None:
    from onnxruntime.capi import onnxruntime_pybind11_state

    schemas = [*onnx.defs.get_all_schemas(), *onnxruntime_pybind11_state.get_all_operator_schema()]
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
        *(".RandomNormal", ".RandomNormalLike", ".RandomUniform", ".RandomUniformLike"),
        *(".Bernoulli", ".Multinomial", "com.microsoft.Sampling", "com.microsoft.BiasDropout"),
        *("com.microsoft.BitmaskDropout", "com.microsoft.BitmaskBiasDropout"),
        # A test of ONNX Runtime's.
        "com.microsoft.SampleOp",
    }


# ------------------------------------------------------------------ the command


def invoke(*arguments: object) -> Any:
    return cli.invoke(*arguments)


@pytest.mark.parametrize("target", ["new.onnx", "new.xml"])
def test_the_command_rewrites_tensorflow_s_and_says_that_the_seed_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    result = invoke("rewrite", EXPORTED, "-o", target)
    assert result.exit_code == 0, result.output
    assert "11 random nodes rewritten, streams 0 to 3" in result.stdout
    assert f"Warning: {GONE}" in result.stdout
    x = f"x={json.dumps(X.tolist())}"
    hashes = set()
    for runtime in ["openvino"] + ["onnxruntime"] * (target == "new.onnx"):
        arguments = ("--runtime", runtime, "--drawn", "--json", "--input", x)
        ran = invoke("run", target, *arguments)
        assert ran.exit_code == 0, ran.output
        hashes.add(json.loads(ran.stdout)["drawn_sha256"])
    assert len(hashes) == 1


@pytest.mark.parametrize("op_type", ["StatelessRandomGammaV3", "SampleToken"])
def test_the_commands_name_what_they_cannot_rewrite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, op_type: str
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(f"g (float[2] x) => (y) {{ y = {op_type} (x) }}"), "model.onnx")
    result = invoke("rewrite", "model.onnx", "-o", "new.onnx")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"onnx-philox rewrite: {op_type} of 'y' (opset 17, main graph)" in result.stderr
    assert not Path("new.onnx").exists()
    kept = invoke("rewrite", "model.onnx", "-o", "new.onnx", "--keep-unknown")
    assert kept.exit_code == 0
    assert onnx.load("new.onnx") == onnx.load("model.onnx")
    found = json.loads(invoke("inspect", "model.onnx", "--json").stdout)["random_nodes"]
    assert [node["op_type"] for node in found] == [op_type]
    assert found[0]["replacement"] is None


IN_MINE = "g (float[2] x) => (float[2] y) { y = mine.GaussianNoise (x) }"
IN_MY_FUNCTION = """g (float[2] x) => (float[2] y) {{ y = local.f (x) }}
<domain: "local", opset_import: ["": 17{}]> f (x) => (y) {{ y = mine.GaussianNoise (x) }}"""


@pytest.mark.parametrize(
    ("body", "opsets", "version", "said"),
    [
        (IN_MINE, '"": 17, "mine": 3', 3, "opset 3"),
        (IN_MINE, '"": 17', None, "opset not imported"),
        (IN_MINE, '"": 17, "yours": 2', None, "opset not imported"),
        (IN_MY_FUNCTION.format(', "mine": 3'), '"": 17, "local": 1', 3, "opset 3"),
        (IN_MY_FUNCTION.format(""), '"": 17, "local": 1', None, "opset not imported"),
        (IN_MINE.replace("mine.", ""), '"": 17', 17, "opset 17"),
    ],
)
def test_a_title_says_the_opset_of_the_operator_s_own_domain(
    body: str, opsets: str, version: int | None, said: str
) -> None:
    model = parse(body, opsets)
    (found,) = find_random_nodes(model)
    assert found.version == version
    with pytest.raises(ValueError, match=rf"GaussianNoise .* \({said}, main graph"):
        make_reproducible(model)


def test_inspect_says_that_an_opset_is_not_imported(tmp_path: Path) -> None:
    onnx.save(parse(IN_MINE), tmp_path / "m.onnx")
    result = cli.invoke("inspect", tmp_path / "m.onnx")
    assert "(opset not imported, main graph" in " ".join(result.stdout.split())
    assert "mine::GaussianNoise" in result.stdout.split()
    assert "GaussianNoise-" not in result.stdout


def test_a_hand_written_node_has_the_default_type_of_its_operator() -> None:
    text = "g (float[B, 9] x) => (int64[B, 1] y) { t = onnx_philox.RandomToken <op_seed = 1> (x) "
    model = parse(text + "y = Identity (t) }", '"": 17, "onnx_philox": 1')
    logits = np.zeros((2, 9), np.float32)
    rewritten = make_reproducible(model)
    state = PhiloxState(0, 0).to_array()
    y = InferenceSession(rewritten).run(["y"], {"x": logits, "random_state": state})[0]
    assert_same_bits(y, reference.random_token(logits, op_seed=1, state=state)[0])


def test_a_misspelt_operator_of_this_package_is_refused_by_name() -> None:
    text = "g (float[B, 9] x) => (y) { y = onnx_philox.RandomTokn <op_seed = 1> (x) }"
    model = parse(text, '"": 17, "onnx_philox": 1')
    for refused in (make_reproducible, Pipeline):
        with pytest.raises(ValueError, match=r"RandomTokn.* Did you mean 'RandomToken'\?"):
            refused(model)
