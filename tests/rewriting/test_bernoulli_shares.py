"""How often a Bernoulli is true: both shares are said, each can be had; always, if p is above 1."""

from __future__ import annotations

import itertools
import json
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import openvino as ov
import pytest
from onnx.inliner import inline_selected_functions

import onnx_philox
from onnx_philox import (
    PhiloxState,
    Pipeline,
    generate,
    graphs,
    make_reproducible,
    reference,
    rewriting,
)
from tests.common.cases import assert_same_bits
from tests.common.cli import document, invoke, text
from tests.common.foreign import in_onnxruntime, in_openvino, parse
from tests.common.runtimes import OpenVino

GENERATOR = np.random.default_rng(2)
P = GENERATOR.random((50, 40)).astype(np.float32)
PLAIN = "[b] y = Bernoulli <dtype = 9> (q)"
SEEDED = "[b] y = Bernoulli <seed = 1.0, dtype = 9> (q)"
ONE = "one = Constant <value_float = 1.0> ()"
NOT_MADE_UP = {
    "an input": "q = Identity (p)",
    "another difference": "m = Constant <value_float = 0.9> () n = Mul (p, m) q = Sub (m, n)",
    "the difference of one": f"{ONE} moved = Sub (p, one)  q = Abs (moved)",
}
MADE_UP = {
    "Sub": f"{ONE} q = Sub (one, p)",
    "Expand": f"""{ONE} n = Shape (p)  ones = Expand (one, n)  same = Expand (p, n)
        moved = Sub (ones, same)  q = Identity (moved)""",
    "Cast": "ones = Constant <value_ints = [1]> () one = Cast <to = 1> (ones)  q = Sub (one, p)",
    "Add": f"{ONE} less = Neg (p)  q = Add (less, one)",
}


def model_of(before: str = "q = Identity (p)", node: str = PLAIN) -> onnx.ModelProto:
    return parse(f"g (float[n, 40] p) => (bool[n, 40] y) {{ {before} {node} }}", 18)


def by_onnxruntime(model: onnx.ModelProto) -> onnx.ModelProto:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/model.onnx"
        ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        return onnx.load(f"{folder}/model.onnx")


def by_onnx(model: onnx.ModelProto) -> onnx.ModelProto:
    return inline_selected_functions(model, [("", "Bernoulli")], inline_schema_functions=True)


def by_openvino(model: onnx.ModelProto) -> ov.Model:
    return ov.Core().read_model(model=model.SerializeToString(), weights=b"")


IN_A_LOOP = """
    steps = Constant <value_int = 2> () on = Constant <value = bool {1}> ()
    same, all = Loop (steps, on, p) <body = b (int64 i, bool c, float[n, 40] k)
        => (bool c2, float[n, 40] k2, bool[n, 40] z) {
            c2 = Identity (c)  k2 = Identity (k)  [b] z = Bernoulli <dtype = 9> (k) }>
    zero = Constant <value_int = 0> () y = Gather (all, zero)"""
MODELS: dict[str, tuple[Any, bool]] = {
    **{name: (model_of(before), False) for name, before in NOT_MADE_UP.items()},
    **{name: (model_of(before), True) for name, before in MADE_UP.items()},
    "in a loop": (model_of("", IN_A_LOOP), False),
    "inlined by ONNX Runtime": (by_onnxruntime(model_of(node=SEEDED)), True),
    "inlined by onnx.inliner": (by_onnx(model_of(node=SEEDED)), True),
    "inlined by OpenVINO": (by_openvino(model_of(node=SEEDED)), True),
}


def drawn(
    model: Any,
    runtime: str,
    **asked: Any,
) -> tuple[np.ndarray, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pipe = Pipeline(model, runtime=runtime, **asked)
        result = pipe({"p": P}, seed=3)
    return result["y"], [str(w.message) for w in caught if w.category is UserWarning]


@pytest.mark.parametrize("name", MODELS)
def test_a_named_bernoulli_draws_the_complement_and_a_doubtful_one_is_warned_of(name: str) -> None:
    model, is_doubtful = MODELS[name]
    is_inlined = "inlined" in name
    (node,) = onnx_philox.rewriting.find_random_nodes(model)
    called = node.name or node.outputs[0]
    new = "1 - p" if is_inlined else "p"
    assert f"draws 1 with probability 1 - p, the rewritten model with {new}" in str(node.share)
    for runtime in ("openvino",) if isinstance(model, ov.Model) else ("onnxruntime", "openvino"):
        plain, told = drawn(model, runtime)
        (text,) = told
        assert f"Bernoulli {called!r}: {node.share}" in text
        assert f"invert_bernoulli=[{called!r}]" in text
        assert ("as ONNX says. For the shares of today" in text) != is_doubtful
        named, told = drawn(model, runtime, invert_bernoulli=[called])
        assert_same_bits(named, ~plain)
        assert told == []
        meant, told = drawn(model, runtime, invert_bernoulli=True)
        assert_same_bits(meant, ~plain if is_doubtful else plain)
        assert told == []
    q = P if name in ("an input", "in a loop") or is_inlined else None
    if q is not None:
        p = 1 - q if is_inlined else q
        assert abs(plain.mean() - p.mean()) < 0.03


IN_SHARES = "ONNX Runtime draws 1 with probability 1 - p, the rewritten model with p, as ONNX says."
CONSTANTS: dict[str, tuple[str, str]] = {
    "a number": ("q = Constant <value_float = 0.1> ()", "'b' (0.9 becomes 0.1)"),
    "equal numbers": ("q = Constant <value_floats = [0.25, 0.25]> ()", "'b' (0.75 becomes 0.25)"),
    "an expanded number": (
        "one = Constant <value_float = 0.02> () n = Shape (p) q = Expand (one, n)",
        "'b' (0.98 becomes 0.02)",
    ),
    "a number of 64 bits": (
        "h = Constant <value = double {0.3}> () q = Identity (h)",
        "'b' (0.7 becomes 0.3)",
    ),
    "numbers that differ": ("q = Constant <value_floats = [0.25, 0.5]> ()", "'b'"),
    "no numbers": ("q = Constant <value = float[0] {}> ()", "'b'"),
    "half": ("q = Constant <value_float = 0.5> ()", ""),
}


def warned(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(each.message) for each in caught]


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_share_that_moves_is_said_in_numbers_where_p_is_constant(name: str) -> None:
    before, called = CONSTANTS[name]
    model = parse(f"g (float[n, 40] p) => (bool[m] y) {{ {before} {PLAIN} }}", 18)
    rest = "For the shares of today, pass invert_bernoulli=['b'] to make_reproducible, "
    rest += "rewrite_file or Pipeline; for the new ones without this warning, invert_bernoulli=()"
    _, told = warned(lambda: make_reproducible(model))
    expected = [f"Bernoulli {called}: {IN_SHARES} {rest}"] if called else []
    assert told == expected


def test_shares_that_move_are_said_once_a_model(tmp_path: Path) -> None:
    nodes = " ".join(f"[b{i}] y{i} = Bernoulli <dtype = 9> (p)" for i in range(12))
    outputs = ", ".join(f"bool[n, 40] y{i}" for i in range(12))
    path, target = tmp_path / "m.onnx", tmp_path / "n.onnx"
    model = parse(f"g (float[n, 40] p) => ({outputs}) {{ {nodes} }}", 18)
    onnx.save(model, path)

    def all_of_a_pipeline(**asked: Any) -> None:
        pipe = Pipeline(path, **asked)
        answer = pipe({"p": P[:5]}, seed=3)
        answer.record()
        pickle.loads(pickle.dumps(pipe))

    ways: list[Callable[..., Any]] = [
        all_of_a_pipeline,
        lambda **asked: make_reproducible(path, **asked),
        lambda **asked: rewriting.rewrite(ir.load(path), **asked),
        lambda **asked: rewriting.rewrite_file(path, target, **asked),
    ]
    for way in ways:
        _, (text,) = warned(lambda way=way: way())
        assert re.match(f"Bernoulli 'b0', 'b1', .* and [0-9]+ more: {IN_SHARES}", text)
        for said in ((), ["b0"], True):
            assert warned(lambda way=way, said=said: way(invert_bernoulli=said))[1] == []
    (_, told) = warned(lambda: make_reproducible(target))
    assert told == []
    assert "Warning" not in invoke("rewrite", path, "-o", target).stderr


@pytest.mark.parametrize("type_", ["float", "float16", "int64", "bool"])
def test_a_complement_is_of_any_type_and_of_rows(type_: str) -> None:
    to = onnx.helper.np_dtype_to_tensor_dtype(
        np.dtype(type_.replace("float", "float32", type_ == "float"))
    )
    model = parse(
        f"""g (float[n, 40] p) => ({type_}[n, 40] y, bool[n, 40] z) {{
        [b] y = Bernoulli <dtype = {to}> (p) [c] z = Bernoulli <dtype = 9> (p) }}""",
        18,
    )
    for asked in ({}, {"per_row": True}, {"alignment": "pytorch"}):
        rows = 50 if "per_row" in asked else None
        inverted = Pipeline(model, invert_bernoulli=["b"], **asked)
        pipe = Pipeline(model, **asked)
        plain = pipe.request(seed=3, rows=rows)
        other = inverted.request(seed=3, rows=rows)
        for _ in range(2):
            one, two = plain({"p": P}), other({"p": P})
            expected = (~one["y"].astype(bool)).astype(one["y"].dtype)
            assert_same_bits(two["y"], expected)
            assert_same_bits(two["z"], one["z"])
        with pytest.raises(ValueError, match="resume must be a checkpoint of this model"):
            inverted.request(resume=plain.checkpoint())


def test_only_a_bernoulli_that_is_still_to_be_rewritten_can_be_named() -> None:
    model = model_of("a = RandomNormalLike (p) r = Sigmoid (a) q = Mul (p, r)")
    rewritten = make_reproducible(model)
    for each, known, remedy in (
        (model, "b, y", "Choose one of these"),
        (rewritten, "none", "Leave it out, or pass the original"),
        (by_openvino(model_of(node=SEEDED)), "", "Choose one of these"),
    ):
        for wrong in ("a", "p", "u"):
            words = rf"a Bernoulli to invert must be .*\({known}.*got '{wrong}'.*{remedy}"
            with pytest.raises(ValueError, match=words):
                make_reproducible(each, invert_bernoulli=[wrong])
    with pytest.raises(ValueError, match="a Bernoulli to invert must be"):
        Pipeline(rewritten, invert_bernoulli=["b"])
    with pytest.raises(TypeError, match="InferenceSession with the options invert_bernoulli"):
        Pipeline(onnx_philox.onnxruntime.InferenceSession(rewritten), invert_bernoulli=True)
    for wrong in ("b", 1, [b"b"]):
        words = "invert_bernoulli must be True, False, or the names of"
        with pytest.raises(TypeError, match=words):
            make_reproducible(model, invert_bernoulli=wrong)


def test_the_commands_say_both_shares_and_invert_by_name(tmp_path: Path) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "n.onnx"
    onnx.save(model_of(MADE_UP["Sub"]), source)
    shares = "ONNX Runtime draws 1 with probability 1 - p, the rewritten model with"
    for command in (("inspect", source), ("rewrite", source, "-o", target)):
        printed = text(*command)
        assert printed.count(f"{shares} p; p is computed as 1 - x") == 1
    assert "--invert-bernoulli b" in text("rewrite", source, "-o", target)
    said = text("rewrite", source, "-o", target, "--invert-bernoulli", "b")
    assert f"b: {shares} 1 - p." in said
    assert "Warning" not in said
    assert onnx.load(target) == make_reproducible(source, invert_bernoulli=["b"])
    said = document("rewrite", source, "-o", target, "--invert-bernoulli", "b")
    node = said["replaced"][0]
    assert node["share"] == f"{shares} 1 - p"


@pytest.mark.filterwarnings("default:Bernoulli")
@pytest.mark.parametrize("asked", [True, ["b"], False])
def test_a_record_says_what_was_inverted(tmp_path: Path, asked: Any) -> None:
    onnx.save(model_of(MADE_UP["Sub"]), tmp_path / "m.onnx")
    few = P[:5]
    pipe = Pipeline(tmp_path / "m.onnx", invert_bernoulli=asked)
    record = pipe({"p": few}, seed=3).record()
    assert record["model"].get("invert_bernoulli", False) == asked
    np.save(tmp_path / "p.npy", few)
    (tmp_path / "r.json").write_text(json.dumps(record))
    done = invoke("replay", tmp_path / "r.json", "--runtime", "openvino")
    assert "Equal" in done.stdout
    told = "onnx-philox replay: warning: Bernoulli 'b': ONNX Runtime draws"
    assert done.stderr.startswith("" if asked else told)
    is_warned = "UserWarning" in done.stderr
    assert (is_warned, bool(done.stderr)) == (False, not asked)


# As the sum of a softmax can be: up to 4 ulp above 1.
STATE = PhiloxState(3, 4).to_array()
SHAPE = [50, 41]


@pytest.mark.parametrize(("dtype", "of_p"), [*itertools.product(("f4", "f8"), ((), SHAPE))])
@pytest.mark.parametrize("ulps", [1, 2, 3, 4])
def test_nothing_but_true_is_drawn_in_every_backend(
    dtype: str, of_p: Any, ulps: int, ort_backend: str, openvino: OpenVino
) -> None:
    p, one = (np.full(of_p, 1 + n * np.finfo(dtype).eps, dtype) for n in (ulps, 0))
    values, state = reference.random_bernoulli(SHAPE, p, state=STATE)
    expected = reference.random_bernoulli(SHAPE, one, state=STATE)[1]
    assert_same_bits(state, expected)
    generate(
        PhiloxState(3, 4),
        out=(out := np.zeros(SHAPE, bool)),
        p=p,
    )
    model, feeds = graphs.random_bernoulli(SHAPE, one, stateful=True), {"state": STATE}
    # Set after building, since the builder checks it too.
    (held,) = (i for i in model.graph.initializer if i.name == "p")
    held.CopyFrom(onnx.numpy_helper.from_array(p, "p"))
    in_ort, *_ = in_onnxruntime(ort_backend)(model, feeds)
    for drawn in (values, out, in_ort, openvino(model, feeds)[0]):
        assert drawn.all()


def test_a_number_of_python_s_is_held_to_the_same_rule() -> None:
    at_most = 1 + 4 * 2**-23
    assert reference.random_bernoulli(SHAPE, at_most, op_seed=1)[0].all()
    with pytest.raises(ValueError, match="or at most 4 ulp above 1"):
        reference.random_bernoulli(SHAPE, np.nextafter(at_most, 2).item(), op_seed=1)


def test_the_sum_of_a_softmax_is_a_probability_in_a_rewritten_model(
    ort_backend: str, openvino: OpenVino
) -> None:
    model = parse("""g (float[400, 50] x) => (float[400, 1] y, float[400, 1] p)
        <int64[1] axis = {1}> {
        s = Softmax <axis = 1> (x) p = ReduceSum (s, axis) y = Bernoulli (p) }""")
    generator = np.random.default_rng(1)
    x = generator.normal(size=(400, 50)).astype(np.float32) * 3
    feeds = {"x": x, "random_state": PhiloxState.for_run(1).to_array()}
    most = []
    for run in (in_onnxruntime(ort_backend), in_openvino(openvino, "f32")):
        y, p, _ = run(make_reproducible(model), feeds)
        most.append(p.max())
        is_certain = p >= 1
        np.testing.assert_array_equal(y[is_certain], 1)
    assert most[0] > 1  # or this shows nothing
