"""make_reproducible on foreign models: each draws what it would, were its nodes' numbers ours."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from onnx_philox import PhiloxState, TorchState, make_reproducible, rewriting, row_states
from onnx_philox.onnxruntime import InferenceSession
from tests.common import cli
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.foreign import (
    STATE,
    TF2ONNX,
    Run,
    drawn,
    evaluate,
    in_onnxruntime,
    in_openvino,
    nodes,
    parse,
    truncated,
)
from tests.common.runtimes import BFLOAT16, OpenVino

EXPORTED = Path(__file__).parents[1] / "models" / "tensorflow_draws.onnx"
GONE = "the input 'seed' is gone: it was a seed, and the model's state now says what is drawn"
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
SEVEN = np.arange(1, 15, dtype=np.float32).reshape(7, 2)
TRUNCATED = "g (int32[1] s) => (float[A] y) { y = TruncatedNormal <dtype = 1> (s) }"


class Foreign(NamedTuple):
    """A model, and what a rewrite makes of it."""

    text: str
    feeds: Mapping[str, Any] = MappingProxyType({})
    streams: tuple[int, ...] | None = None
    """Of its nodes, where some share one."""
    shapes: int | None = None
    """How many nodes Shape there are."""
    asked: Mapping[str, Any] = MappingProxyType({})
    """Of the rewrite."""
    in_openvino: bool = True

    def check(self, run: Run) -> None:
        model = parse(self.text)
        rewritten = make_reproducible(model, **self.asked)
        onnx.checker.check_model(rewritten, full_check=True)
        assert self.shapes in (None, [n.op_type for n in nodes(rewritten)].count("Shape"))
        *outputs, after = run(rewritten, {**self.feeds, "random_state": STATE})
        wanted = drawn(model, dict(self.feeds), STATE, self.streams)
        expected = STATE + np.array([0, 0, 0, 1, 0, 0], np.uint32)
        assert_same_bits(after, expected)
        for one, other in zip(outputs, wanted, strict=True):
            if one.dtype == object:
                assert one.tolist() == other.tolist()
            else:
                assert_same_bits(one, other)


GO = "go = Constant <value = bool {1}> ()"
THREE = {"n": np.array(3)}
CHAIN = f"""g (float[n] x) => (float[n] y) {{
    half = Constant <value = float {{0.5}}> () {GO}
    a = RandomNormalLike (x) b = Add (x, a) c = Relu (b) d = Mul (half, c)
    e = RandomUniformLike (d) f = Sub (d, e) y = Dropout (f, half, go)
}}"""
SEEDED = """g (float[N, 2] x, float[N] v) => (float[N, 2] a, float[N, 2] b, float[N, 2] c,
    float[N, 2] d, float[N] e, float[4] f) <float ratio = {0.5}, bool on = {1}> {
    a = Dropout <seed: int = 12> (x, ratio, on)
    b = Dropout <seed: int = 12> (x, ratio, on)
    c = RandomUniformLike <seed = 4.0> (x)
    d = RandomShuffle <seed = 8, seed2 = 7> (x)
    e = RandomShuffle <seed = 8, seed2 = 7> (v)
    f = RandomUniform <shape = [4], seed = 12.0> ()
}"""
NOISE = """<domain: "local", opset_import: ["": 17]>
    noise <scale> (a) => (n) { n = RandomNormalLike <scale : float = @scale> (a) }"""
KEPT = {"keep_seeds": True}
PAIR = {"x": np.ones(2, np.float32)}
FOREIGN = {
    "TensorFlow's operators of ONNX's names, told by their inputs": Foreign(
        """g (int32[2] shape, float[2, 3] logits, int32 low) => (
            float[A, B] u, float[A, B] n, int32[A, B] i, int64[2, 4] c)
            <int32 top = {9}, int32 four = {4}> {
            u = RandomUniform <dtype = 1, seed = 0, seed2 = 7> (shape)
            n = RandomStandardNormal <dtype = 1, seed = 3, seed2 = 0> (shape)
            i = RandomUniformInt <seed = 4> (shape, low, top)
            c = Multinomial <output_dtype = 7> (logits, four) }""",
        {
            "shape": np.int32([3, 2]),
            "logits": np.log(np.float32([[0.2, 0.3, 0.5]] * 2)),
            "low": np.array(-4, np.int32),
        },
    ),
    "gammas and counts of the shape for each parameter": Foreign(
        """g (int32[2] shape, float[2] alpha, float[3] rate) => (
            float[A, B, 2] g, float[A, B, 3] p, int64[A, B, 3] q) {
            g = RandomGamma <seed = 3, seed2 = 0> (shape, alpha)
            p = RandomPoissonV2 <dtype = 1, seed = 3, seed2 = 1> (shape, rate)
            q = RandomPoissonV2 <dtype = 7, seed = 3, seed2 = 2> (shape, rate) }""",
        {
            "shape": np.int32([4, 2]),
            "alpha": np.float32([0.5, 30]),
            "rate": np.float32([0, 2.5, 100]),
        },
    ),
    "a shuffle, which is a Gather by a permutation": Foreign(
        """g (int64[4, 3] i, float[N, 2] x) => (int64[4, 3] a, float[N, 2] c) {
            a = RandomShuffle <seed = 3, seed2 = 0> (i)
            inner = RandomShuffle <seed = 4> (x) c = Neg (inner) }""",
        {"i": np.arange(12).reshape(4, 3), "x": SEVEN},
    ),
    "a shuffle of strings, of which OpenVINO has no tensors here": Foreign(
        f"g (string[N] s) => (string[N] b) {{ b = {TF2ONNX}.RandomShuffle (s) }}",
        {"s": np.array(list("abcdefg"), object)},
        in_openvino=False,
    ),
    "a Loop that shuffles anew": Foreign(
        f"""g (float[n, 2] x, int64 n) => (float[n, 2] y) {{ {GO}
            y = Loop (n, go, x) <body = b (int64 i, bool k, float[n, 2] a)
                => (bool on, float[n, 2] z) {{ on = Identity (k) z = RandomShuffle (a) }}> }}""",
        {"x": SEVEN, **THREE},
    ),
    "a truncated normal in a Loop": Foreign(
        f"""g (int64 n, int32[1] s) => (float[T, A] y) {{ {GO}
            y = Loop (n, go) <body = b (int64 i, bool c) => (bool d, float[A] o) {{
                d = Identity (c) o = TruncatedNormal <dtype = 1> (s) }}> }}""",
        {"s": np.int32([5]), **THREE},
    ),
    "a truncated normal of tf2onnx's own domain": Foreign(
        f"""g () => (float[2] y) <int64[1] s = {{2}}> {{
            y = {TF2ONNX}.TruncatedNormal <dtype = 1> (s) }}"""
    ),
    # A Scan carries a state from opset 9 of ONNX on, whatever the opset of the other domain.
    "an operator of tf2onnx's domain in a Scan": Foreign(
        f"""g (float[3, 4] x) => (float[3, 4] y) {{
            y = Scan <num_scan_inputs = 1, body = b (float[4] r) => (float[4] z) {{
                s = Shape (r) z = {TF2ONNX}.RandomStandardNormal <dtype = 1> (s) }}> (x) }}""",
        {"x": X},
    ),
    "a half, whose type is inferred in a body": Foreign(
        f"""g (float16[2] x, int64 n) => (float16[2] y) {{ {GO} a = Relu (x)
            y = Loop (n, go, a) <body = b (int64 i, bool c, s) => (bool d, float16[2] r) {{
                d = Identity (c) q = Neg (s) r = RandomNormalLike (q) }}> }}""",
        {"x": np.zeros(2, np.float16), **THREE},
        in_openvino=False,
    ),
    # Draws of one shape read one Shape node, in each graph; the rest is arithmetic.
    "a chain of one shape": Foreign(
        CHAIN, {"x": np.linspace(-1, 3, 6, dtype=np.float32)}, shapes=1
    ),
    "what broadcasting may enlarge": Foreign(
        """g (float[n] x, float[m, 1] y) => (float[m, n] z) {
            a = RandomNormalLike (x) b = Add (a, y) c = RandomNormalLike (b) z = Mul (b, c) }""",
        {"x": np.ones(3, np.float32), "y": np.zeros((2, 1), np.float32)},
        shapes=2,
    ),
    "a shape for each graph, and a comparison that comes late": Foreign(
        """g (float[n] x, bool t) => (float[n] y, bool[n] k) <float p = {0.5}> {
            u = RandomUniformLike (x) a = RandomNormalLike (x)
            b = If (t) <then_branch = then () => (float[n] c) {
                            r = Relu (x) c = RandomNormalLike (r) },
                        else_branch = other () => (float[n] d) { d = Identity (x) }>
            k = Less (u, p) y = Add (a, b) }""",
        {"x": np.zeros(5, np.float32), "t": np.array(True)},
        shapes=2,
    ),
    "functions, of which each call draws its own": Foreign(
        f"""g (float[2] x) => (float[2] y, float[2] z, float[2] w) {{
            y = local.outer (x) z = local.outer (y) w = local.quiet (z) }}
        <domain: "local", opset_import: ["": 17, "local": 1]>
        outer (a) => (b) {{ n = local.noise <scale = 2.0> (a) b = Add (a, n) }} {NOISE}
        <domain: "local", opset_import: ["": 17]>
        quiet (a) => (b) {{ h = Add (a, a) b = Relu (h) }}""",
        PAIR,
        in_openvino=False,
    ),
    "names in functions that meet others": Foreign(
        """g (float[2] x, bool c) => (float[2] y, float[2] z) {
            y = local.noisy (x, c)
            z = If (c) <then_branch = t () => (float[2] n) { q = Neg (x) n = local.noisy (q, c) },
                        else_branch = e () => (float[2] b) { b = Identity (x) }> }
        <domain: "local", opset_import: ["": 17]> noisy (a, c) => (b) {
            n = RandomNormalLike (a)
            q = If (c) <then_branch = t () => (k) { k = RandomNormalLike (n) },
                        else_branch = e () => (k2) { k2 = Identity (n) }>
            b = Add (a, q) }""",
        {**PAIR, "c": np.array(True)},
        in_openvino=False,
    ),
    "kept seeds, one stream each": Foreign(
        SEEDED,
        {"x": SEVEN, "v": SEVEN[:, 0].copy()},
        (0, 0, 2, 3, 3, 5),
        None,
        KEPT,
    ),
    "kept seeds in a Loop, whose nodes draw on": Foreign(
        f"""g (int64 n) => (float[T, 6] a, float[T, 6] b) {{ {GO} a, b = Loop (n, go) <
            body = b (int64 i, bool k) => (bool on, float[6] u, float[6] v) {{
                on = Identity (k) u = RandomUniform <shape = [6], seed = 3.0> ()
                v = RandomUniform <shape = [6], seed = 3.9> () }}> }}""",
        THREE,
        (0, 0),
        None,
        KEPT,
    ),
    "a function called twice, which has its seed twice": Foreign(
        """g (float[N] x) => (float[N] a, float[N] b) { a = local.f (x) b = local.f (x) }
        <domain: "local", opset_import: ["": 17]>
        f (x) => (y) { y = RandomUniformLike <seed = 3.0> (x) }""",
        PAIR,
        (0, 0),
        None,
        KEPT,
        in_openvino=False,
    ),
    # Else `x mod 10` would stand beside a float of the same word, of which it is no part.
    "integers of floats that share their words": Foreign(
        """g () => (float[9] a, int32[9] b) <float ten = {10.0}> {
            a = RandomUniform <shape = [9], seed = 5.0> ()
            u = RandomUniform <shape = [9], seed = 5.0> ()
            scaled = Mul (u, ten) b = Cast <to = 6> (scaled) }""",
        {},
        (0, 0),
        None,
        KEPT,
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_model_draws_its_numbers_in_onnx_runtime(name: str, ort_backend: str) -> None:
    if "half" in name and ort_backend == "python":
        pytest.skip("onnxruntime-extensions carries no f16")
    FOREIGN[name].check(in_onnxruntime(ort_backend))


@pytest.mark.parametrize("name", [name for name, case in FOREIGN.items() if case.in_openvino])
def test_a_foreign_model_draws_its_numbers_in_openvino(name: str, openvino: OpenVino) -> None:
    FOREIGN[name].check(in_openvino(openvino, "f32"))


@pytest.mark.parametrize("wrong", [3, 8])
def test_a_declared_shape_that_is_wrong_decides_nothing(wrong: int) -> None:
    model = parse(CHAIN)
    for name in ("b", "d", "f"):
        model.graph.value_info.append(helper.make_tensor_value_info(name, 1, [wrong]))
    declared = make_reproducible(model)
    del declared.graph.value_info[:]
    feeds = {"x": np.linspace(-1, 3, 6, dtype=np.float32), "random_state": STATE}
    expected = drawn(parse(CHAIN), feeds)[0]
    assert_same_bits(in_onnxruntime()(declared, feeds)[0], expected)


def test_a_model_may_get_another_batch_later(openvino: OpenVino) -> None:
    fixed = CHAIN.replace("float[n] x", "float[4] x").replace("float[n] y", "float[4] y")
    model = make_reproducible(parse(fixed))
    read = openvino.read(model)
    read.reshape({"x": [7]})
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_value = 7
    del model.graph.value_info[:]
    feeds = {"x": np.linspace(-1, 3, 7, dtype=np.float32), "random_state": STATE}
    for got in (in_onnxruntime()(model, feeds), openvino(read, feeds, "f32")):
        expected = drawn(parse(CHAIN), feeds)[0]
        assert_same_bits(got[0], expected)


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
    streams = [node.stream for node in found]
    assert streams == [0, 1, 2, 3, 3, 3, 3, 0, 0, 0, 0]
    with pytest.warns(UserWarning, match=GONE):
        model = make_reproducible(EXPORTED)
    onnx.checker.check_model(model, full_check=True)
    assert [i.name for i in model.graph.input] == ["x", "random_state"]
    names = [output.name for output in model.graph.output]
    wanted = drawn(
        onnx.load(EXPORTED),
        {"x": X, "seed": np.int32([0, 0])},
        STATE,
        streams,
    )
    expected = dict(zip(names, wanted, strict=False))
    if runtime == "onnxruntime" and ort_backend == "python":
        # onnxruntime-extensions carries no f16.
        index = names.index("StatelessRandomUniform")
        (half,) = (n for n in model.graph.node if names[index] in n.output)
        model.graph.node.remove(half)
        del model.graph.output[index], names[index]
    in_it = in_openvino(openvino, "f32") if runtime == "openvino" else in_onnxruntime(ort_backend)
    outputs = in_it(model, {"x": X, "random_state": STATE})
    for name, output in zip(names[:-1], outputs, strict=False):
        if name == "StatelessRandomNormalV2":
            # Mul and Add may be fused.
            np.testing.assert_allclose(output, expected[name], rtol=1e-6)
        else:
            assert_same_bits(output, expected[name])


@pytest.mark.filterwarnings("ignore:the input 'seed' is gone")
def test_a_seed_goes_with_the_constant_state_too() -> None:
    feeds = {"x": X, "random_state": PhiloxState.for_run(5).to_array()}
    outputs = in_onnxruntime()(make_reproducible(EXPORTED, seed=5), {"x": X})
    expected = in_onnxruntime()(make_reproducible(EXPORTED), feeds)[:-1]
    assert_all_same(outputs, expected)


def test_a_seed_that_others_read_stays() -> None:
    model = parse("""g (int32[2] seed, int32[1] shape) => (float[N] y, int32[2] z) {
        key, counter = StatelessRandomGetKeyCounter (seed) alg = StatelessRandomGetAlg ()
        y = StatelessRandomUniformV2 <dtype = 1> (shape, key, counter, alg) z = Neg (seed) }""")
    rewritten = make_reproducible(model)
    assert [i.name for i in rewritten.graph.input] == ["seed", "shape", "random_state"]
    assert "StatelessRandom" not in str(rewritten)


@pytest.mark.parametrize("target", ["new.onnx", "new.xml"])
def test_the_command_rewrites_tensorflow_s_and_says_that_the_seed_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = cli.text("rewrite", EXPORTED, "-o", target)
    assert "11 random nodes rewritten, streams 0 to 3" in said
    assert f"Warning: {GONE}" in said
    given = ("--drawn", "--input", f"x={json.dumps(X.tolist())}")
    runtimes = ["openvino"] + ["onnxruntime"] * (target == "new.onnx")
    ran = [cli.document("run", target, "--runtime", runtime, *given) for runtime in runtimes]
    assert len({document["drawn_sha256"] for document in ran}) == 1


def test_the_truncated_normal_has_its_distribution() -> None:
    from scipy import stats  # takes seconds, in each process that collects the tests

    feeds = {"s": np.int32([1_000_000]), "random_state": PhiloxState.for_run(1).to_array()}
    y, _ = in_onnxruntime()(make_reproducible(parse(TRUNCATED)), feeds)
    assert np.abs(y).max() < 2
    result = stats.kstest(y.astype(np.float64), stats.truncnorm(-2, 2).cdf)
    assert result.pvalue > 0.01
    # The mass near the bounds, where a clipped, folded or rescaled normal would differ most.
    share = stats.truncnorm(-2, 2).sf(1.9) * 2
    deviation = np.sqrt(share * (1 - share) / y.size)
    assert abs((np.abs(y) > 1.9).mean() - share) < 4 * deviation


@pytest.mark.parametrize("precision", [None, "f32", "bf16", "f16"])
def test_the_choice_of_a_truncated_normal_is_the_same_in_every_precision(
    precision: str | None, openvino: OpenVino
) -> None:
    feeds = {"s": np.int32([100_000]), "random_state": STATE}
    y, _ = openvino(make_reproducible(parse(TRUNCATED)), feeds, precision)
    (wanted,) = drawn(parse(TRUNCATED), feeds)
    if precision in (None, "f32"):
        assert_same_bits(y, wanted)
    # Others may round what is chosen, but choose no other candidate.
    np.testing.assert_allclose(
        y,
        wanted,
        rtol=2**-8,
        atol=1e-7,
    )


def test_a_truncated_normal_takes_the_first_candidate_within_the_bounds(openvino: OpenVino) -> None:
    """Replaces the draw by candidates that are fed."""
    below = np.nextafter(np.float32(2), np.float32(0))
    two = np.float32(2)
    rows = np.full((11, 8), 3, np.float32)
    for i in range(8):
        rows[i, i:] = np.linspace(-1.9, 1.9, 8)[i:]
    rows[8] = [-two, two, -below, 0, 0, 0, 0, 0]
    rows[9] = [two, -5.5, 2.5, -2, 2, 2.0001, -2, 5.5]
    rows[10] = [below, 0, 0, 0, 0, 0, 0, 0]
    model = make_reproducible(parse(TRUNCATED))
    (draw,) = (node for node in model.graph.node if node.domain == "onnx_philox")
    model.graph.node.remove(draw)
    model.graph.input.append(
        helper.make_tensor_value_info(
            draw.output[0],
            1,
            ["n", 8],
        )
    )
    del model.graph.output[1:]
    feeds = {
        draw.output[0]: rows,
        "s": np.int32([11]),
        "random_state": STATE,
    }
    for run in (in_onnxruntime(), in_openvino(openvino)):
        (y,) = run(model, feeds)
        assert_same_bits(y, truncated(rows))
        assert y[9] == 5.5 / 4


@pytest.mark.parametrize(("size", "is_refused"), [(2**24, False), (2**24 + 1, True)])
def test_a_row_draws_at_most_2_27_gammas(size: int, is_refused: bool) -> None:
    model = parse(f"""g (float[batch, 8] alpha) => (float[batch, 8, {size}] y)
        <int64[1] more = {{{size}}}, float one = {{1}}> {{
        of_alpha = Shape (alpha) shape = Concat <axis = 0> (of_alpha, more)
        y = RandomGamma (shape, one) }}""")
    make_reproducible(model, per_row=not is_refused)
    if is_refused:
        words = rf"at most 2\^27 elements a row.*: got \[batch, 8, {size}\]. Draw them in sever"
        with pytest.raises(ValueError, match=words):
            make_reproducible(model, per_row=True)


FLOATS = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
    "bfloat16": BFLOAT16,
}
BIASED = "s = Add (x, b) d, mask = Dropout (s, {}) y = Add (d, r)"
UNBIASED = "s = Add (x, b) y, mask = Dropout (s, {})"
# What ONNX Runtime's CUDA fuses, and the nodes that it is made of.
FUSED = {
    "BiasDropout (x, b, r, ratio, on)": BIASED.format("ratio, on"),
    "BiasDropout (x, b, , ratio, on)": UNBIASED.format("ratio, on"),
    # Its mode may be an input.
    "BiasDropout (x, b, r, ratio, t)": BIASED.format("ratio, t"),
    # One that drops nothing leaves its additions, and takes no state.
    "BiasDropout (x, b)": "y = Add (x, b)",
    "BiasDropout (x, b, r, ratio, off)": "s = Add (x, b) y = Add (s, r)",
    "BiasDropout (x, b, r, none, on)": "s = Add (x, b) y = Add (s, r)",
    "BiasDropout (x, b, , none, t)": "y = Add (x, b)",
}

ASKED: list[dict[str, Any]] = [{}, {"per_row": True}, {"alignment": "pytorch"}]
CASES = [(call, {}, type_) for call in list(FUSED)[:2] for type_ in list(FLOATS)[1:]]
CASES += [
    (call, asked, "float")
    for call, asked in itertools.product(FUSED, ASKED)
    # A mode that is fed has no numbers of torch's.
    if "ratio, t" not in call or "alignment" not in asked
]


@pytest.mark.parametrize(("call", "asked", "type_"), CASES)
def test_a_fused_dropout_draws_as_a_dropout_does_between_its_additions(
    call: str, asked: dict[str, Any], type_: str
) -> None:
    is_random = "Dropout" in FUSED[call]
    outputs = ", bool[N, 4] mask" * is_random
    models = [
        parse(f"""g ({type_}[N, 4] x, {type_}[4] b, {type_}[N, 4] r, bool t)
        => ({type_}[N, 4] y{outputs})
        <float ratio = {{0.25}}, float none = {{0.0}}, bool on = {{1}}, bool off = {{0}}>
        {{ {body} }}""")
        for body in (f"y, mask = com.microsoft.{call}", FUSED[call])
    ]
    assert [len(rewriting.find_random_nodes(model)) for model in models] == [is_random] * 2
    fused, plain = (make_reproducible(model, **asked) for model in models)
    given = {
        "x": X,
        "b": np.arange(4),
        "r": X[::-1],
        "t": np.array(True),
    }
    dtypes = dict.fromkeys("xbr", FLOATS[type_])
    feeds = {name: array.astype(dtypes.get(name, bool)) for name, array in given.items()}
    states = {"per_row": row_states(range(3)), "alignment": TorchState.from_seed(3).to_array()}
    feeds |= {"random_state": states.get("".join(asked), STATE)} if is_random else {}
    others = [evaluate, in_openvino(OpenVino("native"), "f32")] * (type_ == "float")
    for run in [in_onnxruntime(), *others]:
        for mode in {True, ", t)" not in call}:
            feeds["t"] = np.array(mode)
            assert_all_same(run(fused, feeds), evaluate(plain, feeds))
