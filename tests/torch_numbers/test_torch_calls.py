"""Draws that stand for a call of torch's: with torch's numbers they are the call's, or refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnx_philox
from onnx_philox import PhiloxState, Pipeline, TorchState, make_reproducible
from onnx_philox._contract import types
from onnx_philox._torch.numbers import cpu as torch_cpu
from tests.common.cases import DTYPES, assert_refused, assert_same_bits, warned
from tests.common.foreign import evaluate, nodes, parse, uniform
from tests.common.torch_modules import IGNORES, by_torch, of_a_function

SEED = 42
X = np.linspace(0.1, 0.9, 6, dtype=np.float32)
# As our translations and torch's exporter write them into a file.
AWAITS_STATE, NOTE = "onnx_philox.awaits_state", "pkg.torch.onnx.fx_node"

CONSTANTS = {
    "half": 0.5,
    "pi": 3.1415927,
    "two": 2.0,
    "three": 3.0,
    "ten": 10.0,
    "third": 1 / 3,
    "one": 1.0,
    "edge": 1 - 2**-24,
}


def model_of(
    text: str,
    output: str,
    call: str = "",
    arguments: str = "%x",
) -> onnx.ModelProto:
    """Nodes after an input x of f32[6], which torch's exporter noted as made of a call."""
    constants = "".join(
        f"{name} = Constant <value = float {{{number!r}}}> ()\n"
        for name, number in CONSTANTS.items()
        if name in text
    )
    model = parse(f"g (float[6] x) => ({output} y) {{ {constants} {text} }}", onnx_philox=1)
    target = f"[target=torch.ops.{call}](args = ({arguments}), kwargs = {{}})"
    for node in model.graph.node if call else ():
        node.metadata_props.add(key=NOTE, value=f"%y : [num_users=1] = call_function{target}")
    return model


def drawn(model: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    done = make_reproducible(model, seed=SEED, alignment="pytorch")
    return evaluate(done, feeds or {"x": X})[0]


def of_torch(call: str, *arguments: Any) -> np.ndarray:
    """What torch draws of the seed."""
    return getattr(torch_cpu, call)(torch_cpu.WordStream(TorchState.from_seed(SEED)), *arguments)


def doubles_in(model: onnx.ModelProto, alignment: str = "pytorch") -> list[float]:
    """The constants of f64 in a rewritten model."""
    done = make_reproducible(model, alignment=alignment)
    held = [a.t for node in nodes(done) for a in node.attribute if a.name == "value"]
    arrays = [numpy_helper.to_array(tensor) for tensor in (*held, *done.graph.initializer)]
    return [float(array) for array in arrays if array.dtype == np.float64]


ROUNDED = "u = RandomUniformLike (x) m = Mul (u, ten) a = Add (m, three) f = Floor (a)" + (
    " y = Cast <to = 7> (f)"
)
COMPARED = "u = RandomUniformLike (x) l = Less (u, third) y = Cast <to = 1> (l)"


def awaiting(call: str, arguments: str = "%x", type_: str = "f32") -> onnx.ModelProto:
    """A node that waits for a state, as `onnx_philox.torch.translations` makes it of a call."""
    draws = {
        "aten.log_normal": "onnx_philox.RandomNormal <output_type = \"f32\"> (s, two, half)",
        "aten.bernoulli": "onnx_philox.RandomBernoulli (s, third)",
        "aten.dropout": "onnx_philox.RandomDropout (x, third)",
        "aten.exponential": f"onnx_philox.RandomExponential <output_type = \"{type_}\"> (s, one)",
        "aten.normal": f"onnx_philox.RandomNormal <output_type = \"{type_}\"> (s, one, two)",
    }  # fmt: skip
    of_call = next(text for name, text in draws.items() if call.startswith(name))
    names = {"f32": "float", "f16": "float16", "bf16": "bfloat16"}
    kind = "bool" if "Bernoulli" in of_call else names[type_]
    model = model_of(
        f"s = Shape (x) y = {of_call}",
        f"{kind}[6]",
        call,
        arguments,
    )
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", arguments)]
    if "exponential" in call:
        numbers = [1 / numbers[0]]
    of_type = DTYPES[type_]
    for node in model.graph.node if numbers and type_ in of_call else ():
        # The exporter rounds them to the type of the draw.
        if node.output[0] in ("one", "two"):
            first, *others = numbers
            number = others[0] if node.output[0] == "two" else first
            array = np.array(number).astype(of_type)
            node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(array))
    model.graph.node[-1].metadata_props.add(key=AWAITS_STATE, value="1")
    return model


def of_calls() -> dict[str, tuple[onnx.ModelProto, np.ndarray | None, list[float] | None]]:
    """Models; what torch draws of each, which doubles they hold then."""
    third = "%x, 0.3333333333333333"
    of_16 = {k: types.BY_NAME[k] for k in ("f32", "f16", "bf16")}
    a_third = np.array(1 / 3)
    in_f32 = np.array(1 / 3, np.float32)
    of_p = of_torch("bernoulli", 6, a_third)
    without_a_note = awaiting("aten.bernoulli.p")
    del without_a_note.graph.node[-1].metadata_props[0]
    assert [prop.key for prop in without_a_note.graph.node[-1].metadata_props] == [AWAITS_STATE]
    of_rank_0 = of_torch("bernoulli", 1, in_f32).astype(np.float32).reshape(())
    return {
        "randint of torch's exporter": (
            model_of(ROUNDED, "int64[6]", "aten.randint.low", "3, 13, [6]"),
            of_torch("integers", 6, types.I64, 3, 13),
            None,
        ),
        "bernoulli_ of torch's exporter, by the very double": (
            model_of(COMPARED, "float[6]", "aten.bernoulli.p", third),
            of_p.astype(np.float32),
            [1 / 3],
        ),
        "a number of a node that waits": (awaiting("aten.bernoulli.p", third), of_p, [1 / 3]),
        "a tensor, which is drawn in f32": (
            awaiting("aten.bernoulli.Tensor", "%x, %p"),
            of_torch("bernoulli", 6, in_f32),
            None,
        ),
        "a dropout": (awaiting("aten.dropout.default", f"{third}, True"), None, [1 / 3]),
        "the double of the shortest decimal": (without_a_note, None, [0.33333334]),
        "ONNX's Bernoulli, of a tensor of f32 of any rank": (
            model_of("z = Mul (third, one) y = Bernoulli (third)", "float"),
            of_rank_0,
            [],
        ),
        "what the type holds": (awaiting("aten.exponential.default", "%x, 0.5"), None, []),
        **{
            f"the very rate of {kind}": (
                awaiting("aten.exponential.default", "%x, 0.7", kind),
                of_torch("exponential", 6, each, 1 / (1 / 0.7)),
                None,
            )
            for kind, each in of_16.items()
        },
        **{
            f"the very mean and deviation of {kind}": (
                awaiting("aten.normal_functional.default", "%x, -0.1, 0.7", kind),
                of_torch("normal", 6, each, -0.1, 0.7),
                None,
            )
            for kind, each in of_16.items()
        },
    }


CALLS = of_calls()


@pytest.mark.parametrize("name", CALLS)
def test_the_numbers_of_a_node_tell_which_call_of_torch_it_stands_for(name: str) -> None:
    model, wanted, doubles = CALLS[name]
    if wanted is not None:
        assert_same_bits(drawn(model), wanted)
    if doubles is not None:
        assert doubles_in(model) == doubles
        # Philox draws by f32, and another file with the same numbers must not change.
        assert doubles_in(model, "tensorflow") == []


@pytest.mark.parametrize(
    ("text", "output", "call", "named"),
    [
        ("u = RandomUniformLike (x) m = Mul (u, ten) y = Floor (m)", "float[6]",
         "aten.randint_like.default", "torch's randint_like, as a float"),
        ("n = RandomNormalLike (x) y = Exp (n)", "float[6]",
         "aten.log_normal.default", "torch's log_normal, as RandomNormal"),
        ("u = RandomUniformLike (x) y = Neg (u)", "float[6]",
         "aten.geometric.p", "torch's geometric, as RandomUniform"),
        (ROUNDED, "int64[6]", "", "rounded to an integer, as in randint"),
        *[
            (f"u = {drawn} y = Cast <to = 7> (u)", "int64[6]", "",
             "rounded to an integer, as in randint")
            for drawn in (
                "RandomUniform <shape = [6], low = -3., high = 4.> ()",
                "RandomUniform <shape = [6], low = 0., high = 1073741824.> ()",
                "RandomUniformLike <low = -2., high = 5.> (x)",
            )
        ],
        ("u = RandomUniformLike <low = 0.1, high = 0.3> (x) y = PRelu (x, u)", "float[6]", "",
         "the slopes of PRelu, as in rrelu"),
        ("""m = Constant <value = double[1] {2.}> () s = Shape (x) e = Expand (m, s)
         n = RandomNormalLike (e) y = Cast <to = 1> (n)""", "float[6]", "",
         "a normal of f64 like a constant"),
        (COMPARED, "float[6]", "", "compared with a number and cast, as in bernoulli_"),
        *[
            (text, "float[6]", call, named)
            for call in ("", "aten.randn_like.default", "aten.rand_like.default")
            for text, named in (
                ("n = RandomNormalLike (x) m = Mul (n, two) a = Add (m, one) y = Exp (a)",
                 "log_normal_"),
                ("u = RandomUniformLike (x) s = Sub (u, half) m = Mul (s, pi) y = Tan (m)",
                 "cauchy_"),
                ("""u = RandomUniformLike (x) g = GreaterOrEqual (u, edge) l = Log (u)
                 w = Where (g, half, l) y = Mul (w, two)""", "exponential_"),
                ("""u = RandomUniformLike (x) n = Neg (u) a = Add (n, one) l = Log (a)
                 d = Div (l, two) y = Floor (d)""", "geometric_"),
            )
            if not call or ("Normal" in text) is ("randn" in call)
        ],
    ],
)  # fmt: skip
def test_what_torch_draws_by_another_rule_is_refused_with_a_way_out(
    text: str, output: str, call: str, named: str
) -> None:
    model = model_of(text, output, call)
    said = "what it stands for must be a call that torch draws by the same rule"
    for words in (named, f"{said}...onnx_philox.torch.export"):
        assert_refused(lambda: make_reproducible(model, alignment="pytorch"), words)
    assert make_reproducible(model) is not model


MANTISSA = """nine = Constant <value = uint32 {9}> () s = BitShift <direction = "RIGHT"> (b, nine)
    bits = Constant <value = uint32 {1065353216}> () j = BitwiseOr (s, bits)
    c = BitCast <to = 1> (j) whole = Constant <value_float = 1.0> () y = Sub (c, whole)"""
SHARE = """c = Cast <to = 1> (b) part = Constant <value = float {2.3283064365386963e-10}> ()
    y = Mul (c, part)"""


@pytest.mark.parametrize(
    ("text", "output"),
    [("y = Identity (b)", "uint32[6]"), (MANTISSA, "float[6]"), (SHARE, "float[6]")],
)
def test_random_bits_that_torch_cannot_draw_are_refused_with_alignment_pytorch(
    text: str, output: str
) -> None:
    bits = "u = RandomUniformLike <high = 4294967296.0> (x) f = Floor (u) b = Cast <to = 12> (f)"
    model = model_of(f"{bits} {text}", output, "")
    words = "24 bits that becomes 32 random bits, as in jax.random.bits. Leave the alignment out"
    assert_refused(lambda: make_reproducible(model, alignment="pytorch"), words)
    assert make_reproducible(model) is not model
    # The module itself makes these of torch.rand.
    noted = model_of(f"{bits} {text}", output, "aten.rand_like.default")
    assert make_reproducible(noted, alignment="pytorch") is not noted


@pytest.mark.parametrize(
    ("text", "output", "call"),
    [
        (ROUNDED, "int64[6]", "aten.rand_like.default"),
        (COMPARED, "float[6]", "aten.rand_like.default"),
        ("u = RandomUniformLike (x) y = Less (u, half)", "bool[6]", ""),
        ("u = RandomUniformLike (x) m = Mul (u, two) y = Log (m)", "float[6]", ""),
        ("n = RandomNormalLike (x) m = Mul (n, x) y = Exp (m)", "float[6]", ""),
    ],
)
def test_what_a_module_itself_makes_of_floats_stays(text: str, output: str, call: str) -> None:
    values = helper.make_tensor_value_info("drawn", onnx.TensorProto.FLOAT, [6])
    model = model_of(text, output, call)
    model.graph.output.insert(0, values)
    read = next(node for node in model.graph.node if node.op_type.startswith("Random"))
    for node in model.graph.node:
        node.input[:] = ["drawn" if name == read.output[0] else name for name in node.input]
    read.output[0] = "drawn"
    expected = of_torch("normal" if "Normal" in text else "uniform", 6, types.F32)
    assert_same_bits(drawn(model), expected)


def chain(call: str, count: int) -> str:
    """So many nodes, from `t` to `c` and their number."""
    return "".join(
        f"c{i} = {call.format(f'c{i - 1}' if i > 1 else 't')} " for i in range(1, count + 1)
    )


def test_what_torch_draws_by_another_rule_is_looked_for_in_eight_nodes() -> None:
    near, far = (
        model_of(
            f"t = RandomNormalLike (x) {chain('Mul ({}, two)', n)} y = Exp (c{n})", "float[6]", ""
        )
        for n in (7, 8)
    )
    words = "a normal that goes through Exp"
    assert_refused(lambda: make_reproducible(near, alignment="pytorch"), words)
    assert make_reproducible(far, alignment="pytorch").graph.input[-1].name == "random_state"


TURNED = "t = Transpose <perm = [1, 0]> (x)"


@pytest.mark.parametrize(
    ("text", "rows", "warns"),
    [
        (f"{TURNED} y = RandomUniformLike (t)", 2, True),
        (f"{TURNED} y = RandomUniformLike (t)", 1, False),
        (f"{TURNED} a = Add (t, one) b = Relu (a) y = RandomNormalLike (b)", 2, True),
        (f"{TURNED} y = Bernoulli (t)", 2, True),
        (f"{TURNED} yes = Constant <value = bool {{1}}> () y = Dropout (t, half, yes)", 2, True),
        (f"{TURNED} u = Transpose (t) y = RandomUniformLike (u)", 2, False),
        (f"{TURNED} u = MatMul (t, x) y = RandomUniformLike (u)", 2, False),
        (f"{TURNED} u = MatMul (t, x) v = Transpose (u) y = RandomUniformLike (v)", 2, True),
        (f"{TURNED} z = Shape (t) u = Reshape (t, z) y = RandomUniformLike (u)", 2, False),
        ("y = RandomUniformLike (x)", 2, False),
        *((f"{TURNED} {chain('Relu ({})', n)} y = RandomNormalLike (c{n})", 2, n == 62)
          for n in (62, 63)),
    ],
)  # fmt: skip
def test_a_draw_like_a_transposed_tensor_is_warned_of_by_name(
    text: str, rows: int, warns: bool
) -> None:
    model = model_of(text, "float[a, b]")
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [rows, 3]))
    asked: Any = {"invert_bernoulli": ()}
    said = warned(lambda: make_reproducible(model, alignment="pytorch", **asked))
    assert bool(said) is warns
    assert all("draws like a transposed tensor, and torch fills memory" in text for text in said)
    assert warned(lambda: make_reproducible(model, **asked)) == []


ATTENTION = "s = Softmax (x)", "d = Dropout (s, half)", "m = MatMul (d, x)"


@pytest.mark.parametrize(
    ("place", "other"),
    [(0, "s = Relu (x)"), (1, "d = Dropout (s)"), (1, "d = Dropout (x, half)"),
     (2, "m = Add (d, x)"), (1, "d = Add (s, half)"), (3, ""),
     (1, "n = Sub (half, half) d = Dropout (s, n)"),
     (1, "n = Constant <value = float {0.}> () d = Dropout (s, n)"),
     (1, "n = Constant <value = bool {0}> () d = Dropout (s, half, n)")],
)  # fmt: skip
def test_a_dropout_of_attention_that_drops_nothing_is_warned_of(place: int, other: str) -> None:
    nodes_ = " ".join((*ATTENTION[:place], other, *ATTENTION[place + 1 :]))
    model = model_of(f"{nodes_} r = RandomNormalLike (x) y = Add (m, r)", "float[3, 3]")
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [3, 3]))
    said = warned(lambda: make_reproducible(model, alignment="pytorch"))
    found = ["the dropout of scaled_dot_product_attention" in each for each in said]
    assert found == [True] * (place == 3)


def dropout(ratio: str, data: str = "float", given: str = "") -> onnx.ModelProto:
    return parse(f"""g ({data}[6] x{given}) => ({data}[6] y) <bool yes = {{1}}> {{
        {ratio} y = Dropout (x, ratio, yes) }}""")


@pytest.mark.parametrize("data", ["float", "double"])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_dropout_keeps_a_ratio_that_is_a_double(data: str, is_given: bool) -> None:
    ratio = np.array(0.3 + 2**-40)
    text = f"ratio = Constant <value = double {{{float(ratio)!r}}}> ()"
    model = dropout("", data, ", double ratio") if is_given else dropout(text, data)
    x = np.arange(1, 7).astype(np.float32 if data == "float" else np.float64)
    feeds = {"x": x, "ratio": ratio} if is_given else {"x": x}
    kept = of_torch("dropout_keeps", 6, float(ratio))
    of_type = ratio.astype(x.dtype)
    scale = x.dtype.type(1) / (x.dtype.type(1) - of_type)
    expected = np.where(
        kept,
        x * scale,
        x.dtype.type(0),
    )
    assert_same_bits(drawn(model, **feeds), expected)
    in_f64 = [float(scale), float(ratio)] if data == "double" else [float(ratio)]
    assert doubles_in(model) == in_f64 * (not is_given)


@pytest.mark.parametrize(
    ("ratio", "scale"),
    [
        (0.9, 10.0),
        (0.5, 2.0),
        (1.0, 0.0),
        (1 / 3, 1.5),
    ],
)
@pytest.mark.parametrize("data", ["float", "float16", "bfloat16"])
def test_a_dropout_multiplies_as_torch_does(ratio: float, scale: float, data: str) -> None:
    model = dropout(f"ratio = Constant <value = float {{{ratio!r}}}> ()", data)
    types_of = {"float": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
    x = np.array([-1, 2, -3, np.nan, np.inf, -np.inf], types_of[data])
    ratio = float(str(np.float32(ratio)))
    kept = of_torch("dropout_keeps", 6, ratio)
    with np.errstate(invalid="ignore"):
        expected = x * np.where(kept, scale, 0).astype(x.dtype)
        result = drawn(model, x=x)
    # Of what is not a number, the bits are a processor's own.
    is_number = ~np.isnan(expected.astype(np.float32))
    assert np.isnan(result.astype(np.float32)[~is_number]).all()
    assert_same_bits(result[is_number], expected[is_number])


def of_a_run() -> onnx.ModelProto:
    model = dropout("ratio = Constant <value = float {0.5}> ()", given=", bool mode")
    model.graph.node[-1].input[2] = "mode"
    return model


MULTINOMIAL = "g ({}[2, 3] x) => (int32[2, 1] y) {{ y = Multinomial (x) }}"
RACE = "weights of 16 bits, whose race torch runs in 16 bits"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            parse("g (double[4] x) => (double[4] y) { y = Bernoulli (x) }"),
            "the input must be a tensor of f32, f16 or bf16...got a tensor of f64. Put a Cast to "
            "f32 before it.",
        ),
        (of_a_run(), "training_mode must be a constant, with alignment"),
        *((parse(MULTINOMIAL.format(k), 22), RACE) for k in ("float16", "bfloat16")),
        (
            awaiting("aten.log_normal.default"),
            "got torch's log_normal, as RandomNormal...Write it as "
            "torch.randn_like(x).mul(std).add(mean).exp()",
        ),
    ],
)
def test_what_torch_draws_otherwise_of_its_inputs_is_refused(
    model: onnx.ModelProto, words: str
) -> None:
    assert_refused(lambda: make_reproducible(model, alignment="pytorch"), words)
    assert make_reproducible(model) is not model


WAITING = """g (float[n, 4] x) => (float[n, 4] a, float[n, 4] b, float[n, 4] c)
<float low = {0}, float high = {1}> {
  shape = Shape (x)
  a = onnx_philox.RandomUniform <output_type = "f32", op_seed = 1> (shape, low, high)
  b = onnx_philox.RandomUniform <output_type = "f32", op_seed = 1> (shape, low, high)
  c = onnx_philox.RandomUniform <output_type = "f32", op_seed = 2> (shape, low, high)
}"""


def test_a_node_that_waits_for_a_state_gets_a_stream_and_one_with_seeds_keeps_them() -> None:
    model = parse(WAITING, onnx_philox=1)
    # Of the first two, which are equal, one was written by hand.
    for index in (1, 3):
        model.graph.node[index].metadata_props.add(key="onnx_philox.awaits_state", value="1")
    rewritten = make_reproducible(model, per_row=True)
    x = np.zeros((3, 4), np.float32)
    assert "onnx_philox.awaits_state" not in str(rewritten)
    result = Pipeline(rewritten)({"x": x}, seeds=[42, 1, 2])
    alone = Pipeline(rewritten)({"x": x[:1]}, seeds=[42])
    assert_same_bits(result["a"][:1], alone["a"])
    # Stream 1 is taken, by the seeds of the node that was written by hand.
    for name, stream in (("a", 0), ("b", 1), ("c", 2)):
        expected = uniform([4], stream, PhiloxState.for_run(42).to_array())
        assert_same_bits(result[name][0], expected)
    assert make_reproducible(rewritten) is rewritten


@pytest.mark.engines
@IGNORES
def test_a_file_of_torch_s_own_exporter_draws_torch_s_numbers_or_is_refused() -> None:
    """`torch_walk` has ours."""
    import torch

    def exported(forward: Callable[..., Any]) -> onnx.ModelProto:
        return by_torch(of_a_function(forward), torch.tensor(X))

    def draws(x: torch.Tensor) -> list[torch.Tensor]:
        return [
            torch.rand_like(x),
            torch.randint(3, 13, (40,)),
            torch.randint(7, (40,), dtype=torch.int32),
            x.clone().bernoulli_(1 / 3),
            x.clone().normal_(1, 2),
            torch.rand(40) < 0.5,
            (torch.rand(40) * 10).floor().long(),
            torch.nn.functional.dropout(x, 1 / 3, True),
            torch.nn.functional.dropout2d(x[None, :, None, None], 0.7, True),
            torch.nn.functional.alpha_dropout(x, 0.3, True),
            torch.bernoulli(x),
            torch.multinomial(x, 1),
            torch.normal(x, x),
            torch.randn(40),
        ]

    done = make_reproducible(exported(draws), alignment="pytorch", seed=SEED)
    torch.manual_seed(SEED)
    for ours, theirs in zip(evaluate(done, {"x": X}), draws(torch.tensor(X)), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-6)
    for forward in (
        lambda x: x.clone().log_normal_(0.0, 1.0),
        lambda x: x.clone().cauchy_(),
        lambda x: x.clone().exponential_(2.0),
        lambda x: x.clone().geometric_(0.3),
        lambda x: torch.nn.functional.gumbel_softmax(x),
        lambda x: torch.randint_like(x, 3, 9),
    ):
        with pytest.raises(ValueError, match="what it stands for must be a call that torch draws"):
            make_reproducible(exported(forward), alignment="pytorch")


@pytest.mark.engines
@IGNORES
def test_what_to_write_instead_of_a_call_without_a_rule_draws_torch_s_numbers() -> None:
    import torch
    from torch.nn import functional

    def verified(
        x: torch.Tensor,
        forward: Callable[..., Any],
    ) -> onnx_philox.torch.Verdict:
        module = of_a_function(forward)
        program = onnx_philox.torch.export(
            module, (x,), alignment="pytorch", verify=True, verbose=False
        )
        return program.verdict

    x = torch.tensor(X).reshape(2, 3) - 0.5
    wide = "weights of 16 bits...torch.multinomial(weights.float(), n)"
    # A call that is refused, what is said, and what to write instead, if anything.
    cases: list[tuple[Callable[..., Any], str, Callable[..., Any] | None]] = [
        (
            lambda x: torch.empty_like(x).log_normal_(0.2, 0.5),
            "torch's log_normal...torch.randn_like(x).mul(std).add(mean).exp()",
            lambda x: torch.randn_like(x).mul(0.5).add(0.2).exp(),
        ),
        (
            lambda x: torch.empty_like(x).cauchy_(0.3, 2),
            "torch's cauchy..."
            "torch.rand_like(x).sub(0.5).mul(math.pi).tan().mul(sigma).add(median)",
            lambda x: torch.rand_like(x).sub(0.5).mul(math.pi).tan().mul(2).add(0.3),
        ),
        (
            lambda x: functional.rrelu(x, training=True),
            "torch's rrelu...torch.where(x < 0, x * torch.empty_like(x).uniform_(lower, upper), x)",
            lambda x: torch.where(
                x < 0,
                x * torch.empty_like(x).uniform_(1 / 8, 1 / 3),
                x,
            ),
        ),
        (
            lambda x: torch._standard_gamma(x.abs()),
            "torch's _standard_gamma...the sum of n draws of exponential_()",
            lambda x: torch.empty(3, *x.shape).exponential_().sum(0),
        ),
        (lambda x: torch.poisson(x.abs()), "torch's poisson...Leave alignment out", None),
        (
            lambda x: torch.multinomial(x.abs().half(), 2),
            wide,
            lambda x: torch.multinomial(x.abs().half().float(), 2),
        ),
        (lambda x: torch.multinomial(x.abs().bfloat16(), 2), wide, None),
    ]
    for refused, said, instead in cases:
        assert_refused(partial(verified, x, refused), f"got {said}")
        if instead is not None:
            verdict = verified(x, instead)
            assert verdict.is_ok, (said, verdict)
            assert len(verdict.runtimes) == 2, (said, verdict)
