"""Nodes of this package that have no state gain one in a rewrite, and keep their seeds."""

from __future__ import annotations

import json
import warnings

import cli
import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import numpy_helper, parser
from openvino_models import model, parameter
from real_models import load_in_onnxruntime, load_in_openvino
from runtimes import OpenVino

import onnx_philox as op
from onnx_philox._contract.streams import Streams

ZEROS = op.PhiloxState.for_run(0).to_array()
STATE = op.PhiloxState.for_run(42, 3).to_array()
PHILOX = '<ir_version: 10, opset_import: ["": 18, "onnx_philox": 1]>'
NOISE = "noise = RandomNormal <shape = [4]> ()"


def run_in_both(model: onnx.ModelProto, feeds: dict, names: list[str]) -> list[dict]:
    """What a model gives in ONNX Runtime and in OpenVINO, by name."""
    runs = load_in_onnxruntime(model, "native"), load_in_openvino(OpenVino("native"), model, "f32")
    return [{name: run(feeds)[name] for name in names} for run in runs]


def onnx_model(nodes: str, outputs: str, inputs: str = "") -> onnx.ModelProto:
    return parser.parse_model(f"{PHILOX} g ({inputs}) => ({outputs}) {{ {nodes} }}")


def uniform(name: str, seeds: str, to: str = "y") -> str:
    return (
        f"{name}_shape = Constant <value_ints = [4]> ()"
        f" {name}_low = Constant <value_float = 0.0> ()"
        f" {name}_high = Constant <value_float = 1.0> ()"
        f' [{name}] {to} = onnx_philox.RandomUniform <output_type = "f32", {seeds}>'
        f" ({name}_shape, {name}_low, {name}_high)"
    )


def record(model: onnx.ModelProto) -> dict:
    (entry,) = [e.value for e in model.metadata_props if e.key == "onnx_philox.streams"]
    return json.loads(entry)


# Nodes of this package, in an ONNX model.


def test_a_hand_written_node_gains_the_state_and_keeps_its_seeds() -> None:
    given = onnx_model(
        "[pick] token = onnx_philox.RandomToken <op_seed = 1> (logits, t)",
        "int64[b, 1] token",
        "float[b, 50] logits, float[b] t",
    )
    new = op.make_reproducible(given)
    (node,) = [n for n in new.graph.node if n.op_type == "RandomToken"]
    assert {a.name: a.i for a in node.attribute}["op_seed"] == 1
    logits, t = np.linspace(0, 3, 150, dtype=np.float32).reshape(3, 50), np.ones(3, np.float32)
    for state in (ZEROS, STATE):
        want, _ = op.reference.random_token(logits, t, op_seed=1, state=state)
        for got in run_in_both(new, {"logits": logits, "t": t, "random_state": state}, ["token"]):
            assert np.array_equal(got["token"], want)
    alone = op.onnxruntime.InferenceSession(given).run(None, {"logits": logits, "t": t})
    assert np.array_equal(alone[0], op.reference.random_token(logits, t, op_seed=1, state=ZEROS)[0])
    answer = op.Pipeline(given)({"logits": logits, "t": t}, seed=0)
    assert np.array_equal(answer["token"], alone[0])
    # OpenVINO's front end leaves inputs out, which the state comes after.
    read = op.make_reproducible(OpenVino("native").read(given))
    feeds = {"logits": logits, "t": t, "random_state": STATE}
    assert np.array_equal(load_in_openvino(OpenVino("native"), read, "f32")(feeds)["token"], want)


def test_every_operator_without_a_state_gains_it_with_all_that_is_read_of_it() -> None:
    given = onnx_model(
        "shape = Constant <value_ints = [2, 3]> () p = Constant <value_float = 0.5> ()"
        "[drop] out, mask, after = onnx_philox.RandomDropout <global_seed = 5> (x, p)"
        "[flip] flip = onnx_philox.RandomBernoulli <global_seed = 5, op_seed = 7> (shape, p)",
        "float[2, 3] out, bool[2, 3] mask, uint32[6] after, bool[2, 3] flip",
        "float[2, 3] x",
    )
    new = op.make_reproducible(given)
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    names = ["out", "mask", "after", "flip", "next_random_state"]
    wanted = op.reference.random_dropout(x, np.float32(0.5), global_seed=5, state=STATE)
    flip, _ = op.reference.random_bernoulli(
        [2, 3], np.float32(0.5), global_seed=5, op_seed=7, state=STATE
    )
    for got in run_in_both(new, {"x": x, "random_state": STATE}, names):
        for name, want in zip(names, (*wanted, flip), strict=False):
            assert np.array_equal(got[name], want), name
        assert np.array_equal(got["next_random_state"], op.PhiloxState.for_run(42, 4).to_array())


def test_a_model_of_nodes_of_ours_alone_imports_onnx_s_own() -> None:
    given = parser.parse_model(
        """<ir_version: 10, opset_import: ["onnx_philox": 1]>
        g () => (float[4] y) <int64[1] shape = {4}, float low = {0}, float high = {1}>
        { y = onnx_philox.RandomUniform <output_type = "f32", op_seed = 5> (shape, low, high) }"""
    )
    new = op.make_reproducible(given)
    want, _ = op.reference.random_uniform([4], 0, 1, "f32", op_seed=5, state=STATE)
    for got in run_in_both(new, {"random_state": STATE}, ["y"]):
        assert np.array_equal(got["y"], want)


def test_a_function_called_twice_keeps_the_seeds_of_each_call() -> None:
    given = parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18, "onnx_philox": 1, "own": 1]>
        g () => (float[4] y, float[4] z) { y = own.f <s = 3> () z = own.f <s = 4> () }
        <domain: "own", opset_import: ["": 18, "onnx_philox": 1]>
        f <s> () => (v) {
            shape = Constant <value_ints = [4]> () low = Constant <value_float = 0.0> ()
            high = Constant <value_float = 1.0> ()
            v = onnx_philox.RandomUniform <output_type = "f32", op_seed: int = @s>
                (shape, low, high)
        }"""
    )
    for got in run_in_both(op.make_reproducible(given), {"random_state": STATE}, ["y", "z"]):
        for name, seed in (("y", 3), ("z", 4)):
            want, _ = op.reference.random_uniform([4], 0, 1, "f32", op_seed=seed, state=STATE)
            assert np.array_equal(got[name], want)


def test_nodes_without_seeds_get_the_lowest_streams_that_kept_seeds_leave() -> None:
    given = onnx_model(
        f"{uniform('a', 'op_seed = 0, global_seed = 9')} {uniform('b', 'op_seed = 1', 'z')}"
        f"{uniform('c', 'op_seed = 4294967298', 'w')} {uniform('d', 'op_seed = 0', 'v')}"
        f" {NOISE} more = RandomNormal <shape = [4]> ()",
        "float[4] y, float[4] z, float[4] w, float[4] v, float[4] noise, float[4] more",
    )
    new = op.make_reproducible(given)
    # 1 and 2 belong to b and c (2^32 + 2); a has a key of its own; d has no seed.
    streams = {n.output[0]: {a.name: a.i for a in n.attribute}["op_seed"] for n in ours(new)}
    assert streams == {"y": 0, "z": 1, "w": 2**32 + 2, "v": 0, "noise": 3, "more": 4}
    kept = {tuple(node[2:4]) for node in record(new)["nodes"] if node[4:]}
    assert kept == {(9, 0), (0, 1), (0, 2**32 + 2)}
    assert op.make_reproducible(new) is new
    # A later rewrite counts no kept number, and takes none.
    again = op.make_reproducible(with_noise(new))
    assert seeds_of(again, "later") == (0, 5)


def ours(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.domain == "onnx_philox"]


def seeds_of(model: onnx.ModelProto, output: str) -> tuple[int, int]:
    (node,) = [n for n in ours(model) if n.output[0] == output]
    said = {a.name: a.i for a in node.attribute}
    return said.get("global_seed", 0), said.get("op_seed", 0)


def with_noise(model: onnx.ModelProto, nodes: str = "later = RandomNormal <shape = [4]> ()"):
    new = onnx.ModelProto()
    new.CopyFrom(model)
    added = onnx_model(nodes, "float[4] later").graph
    new.graph.node.extend(added.node)
    new.graph.output.extend(added.output)
    return new


def test_seeds_that_are_the_stream_of_an_earlier_rewrite_are_refused_by_both_names() -> None:
    new = op.make_reproducible(onnx_model(f"[first] {NOISE}", "float[4] noise"))
    later = with_noise(new, uniform("second", "op_seed = 4294967296", "later"))
    message = (
        r"RandomUniform 'second' .*: the op_seed, beside a global_seed of 0, must be none that is "
        r"0 mod 2\^32, the stream of RandomNormal 'first': got 4294967296\."
    )
    with pytest.raises(ValueError, match=message):
        op.make_reproducible(later)


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        (("global_seed = 3", "global_seed = 3"), "draw equal numbers"),
        (("op_seed = 1", "op_seed = 4294967297"), "repeat each other's numbers in other runs"),
        (("global_seed = 3", "op_seed = 3"), None),
    ],
)
def test_kept_seeds_that_repeat_each_other_are_named(seeds, says) -> None:
    nodes = f"{uniform('a', seeds[0])} {uniform('b', seeds[1], 'z')}"
    given = onnx_model(nodes, "float[4] y, float[4] z")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        op.make_reproducible(given)
    texts = [str(warning.message) for warning in caught]
    assert bool(texts) == (says is not None)
    if says:
        assert says in texts[0]
        assert "RandomUniform 'a'" in texts[0]
        assert "RandomUniform 'b'" in texts[0]
        assert texts[0].count("global_seed") == 2


@pytest.mark.parametrize("seed", [0, 7, 2**32 + 5, 2**63 - 1])
def test_with_a_seed_the_constant_state_has_it_as_its_key(seed) -> None:
    nodes = f"{uniform('a', 'global_seed = 150, op_seed = 10')} {NOISE}"
    new = op.make_reproducible(onnx_model(nodes, "float[4] y, float[4] noise"), seed=seed)
    assert seeds_of(new, "y") == (150, 10)
    (words,) = [numpy_helper.to_array(i) for i in new.graph.initializer if i.name == "random_state"]
    assert np.array_equal(words, op.PhiloxState.for_run(seed).to_array())
    state = op.PhiloxState.for_run(seed).to_array()
    y, _ = op.reference.random_uniform([4], 0, 1, "f32", global_seed=150, op_seed=10, state=state)
    noise, _ = op.reference.random_normal([4], 0, 1, "f32", state=state)
    for got in run_in_both(new, {}, ["y", "noise"]):
        assert np.array_equal(got["y"], y)
        assert np.array_equal(got["noise"], noise)
    later = op.make_reproducible(with_noise(new))
    want, _ = op.reference.random_normal([4], 0, 1, "f32", op_seed=1, state=state)
    (got, _) = run_in_both(later, {}, ["later"])
    assert np.array_equal(got["later"], want)
    with pytest.raises(ValueError, match=f"{seed}, the seed that the model was made with"):
        op.make_reproducible(with_noise(new), seed=seed ^ 1)


def test_a_seed_of_all_kept_nodes_is_not_theirs() -> None:
    new = op.make_reproducible(onnx_model(uniform("a", "global_seed = 150"), "float[4] y"), seed=0)
    later = op.make_reproducible(with_noise(new), seed=0)
    (got, _) = run_in_both(later, {}, ["later"])
    assert np.array_equal(
        got["later"], op.reference.random_normal([4], 0, 1, "f32", state=ZEROS)[0]
    )


def test_a_node_gains_the_state_of_a_seed_that_stands_in_other_nodes() -> None:
    old = op.make_reproducible(onnx_model(NOISE, "float[4] noise"), seed=2**40 + 7)
    assert seeds_of(old, "noise") == (2**40 + 7, 0)
    new = op.make_reproducible(with_noise(old, uniform("a", "op_seed = 5", "later")))
    state = op.PhiloxState.for_run(2**40 + 7).to_array()
    for got in run_in_both(new, {}, ["noise", "later"]):
        noise, _ = op.reference.random_normal([4], 0, 1, "f32", state=state)
        later, _ = op.reference.random_uniform([4], 0, 1, "f32", op_seed=5, state=state)
        assert np.array_equal(got["noise"], noise)
        assert np.array_equal(got["later"], later)
    again = op.make_reproducible(with_noise(new, uniform("b", "op_seed = 6", "y")), seed=2**40 + 7)
    assert seeds_of(again, "y") == (0, 6)


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_in_an_old_opset_the_constant_state_has_the_key_too(seed) -> None:
    given = parser.parse_model(
        """<ir_version: 3, opset_import: ["": 8, "onnx_philox": 1]>
        g (int64[1] shape, float low, float high) => (float[4] y) {
            y = onnx_philox.RandomUniform <output_type = "f32", op_seed = 5> (shape, low, high)
        }"""
    )
    new = op.make_reproducible(given, seed=seed)
    assert op.make_reproducible(new, seed=seed) is new
    low, high = np.array(0, np.float32), np.array(1, np.float32)
    state = op.PhiloxState.for_run(seed).to_array()
    want, _ = op.reference.random_uniform([4], 0, 1, "f32", op_seed=5, state=state)
    for got in run_in_both(new, {"shape": np.array([4]), "low": low, "high": high}, ["y"]):
        assert np.array_equal(got["y"], want)


def test_a_request_goes_on_from_the_checkpoint_of_a_model_with_kept_seeds() -> None:
    new = op.make_reproducible(
        onnx_model(f"{uniform('a', 'op_seed = 5')} {NOISE}", "float[4] y, float[4] noise")
    )
    plain = op.make_reproducible(onnx_model(NOISE, "float[4] noise"))
    assert [len(node) for node in record(plain)["nodes"]] == [4]
    request = op.Pipeline(new).request(seed=7)
    request({})
    checkpoint = request.checkpoint()
    following = request({})
    again = op.Pipeline(new, runtime="openvino").request(resume=checkpoint)({})
    assert np.array_equal(following["y"], again["y"])
    assert Streams.from_json(json.dumps(record(new))).to_json() == json.dumps(
        record(new), separators=(",", ":")
    )
    with pytest.raises(ValueError, match="checkpoint"):
        op.Pipeline(plain).request(resume=checkpoint)


LOOP = """
    n = Constant <value_int = 3> () true = Constant <value_ints = [1]> () c = Cast <to = 9> (true)
    cond = Squeeze (c) total, all = Loop (n, cond, x) <body = b (int64 i, bool go, float[4] sum)
        => (bool again, float[4] grown, float[4] y)
        {{ again = Identity (go) {node} grown = Add (sum, y) }}>
"""


@pytest.mark.parametrize("seed", [None, 5, 2**32 - 1, 2**63 - 1])
def test_in_a_loop_a_kept_node_draws_on(seed) -> None:
    nodes = LOOP.format(node=uniform("a", "global_seed = 150, op_seed = 10"))
    model = onnx_model(nodes, "float[4] total, float[k, 4] all", "float[4] x")
    new = op.make_reproducible(model, seed=seed)
    state = STATE if seed is None else op.PhiloxState.for_run(seed).to_array()
    want, _ = op.reference.random_uniform(
        [3, 4], 0, 1, "f32", global_seed=150, op_seed=10, state=state
    )
    feeds = {"x": np.zeros(4, np.float32)} | ({"random_state": STATE} if seed is None else {})
    for got in run_in_both(new, feeds, ["all"]):
        assert np.array_equal(got["all"], want)


def test_each_row_s_state_is_shifted_by_the_seeds() -> None:
    nodes = (
        "shape = Shape (x) low = Constant <value_float = 0.0> ()"
        " high = Constant <value_float = 1.0> () y = onnx_philox.RandomUniform"
        ' <output_type = "f32", global_seed = 150, op_seed = 10> (shape, low, high)'
    )
    model = onnx_model(nodes, "float[batch, 4] y", "float[batch, 4] x")
    new = op.make_reproducible(model, per_row=True)
    states = op.row_states(0, rows=range(3))
    want, _ = op.reference.random_uniform(
        [3, 4], 0, 1, "f32", global_seed=150, op_seed=10, state=states
    )
    alone, _ = op.reference.random_uniform([1, 4], 0, 1, "f32", global_seed=150, op_seed=10)
    assert np.array_equal(want[:1], alone)
    feeds = {"x": np.zeros((3, 4), np.float32), "random_state": states}
    for got in run_in_both(new, feeds, ["y"]):
        assert np.array_equal(got["y"], want)


def test_what_needs_no_state_stays() -> None:
    torch_s = uniform("a", 'global_seed = 5, alignment = "pytorch"')
    alone = onnx_model(torch_s, "float[4] y")
    assert op.make_reproducible(alone) is alone
    with_state = op.make_reproducible(
        onnx_model(f"{torch_s} {NOISE}", "float[4] y, float[4] noise")
    )
    assert seeds_of(with_state, "noise") == (0, 0)
    pipe = op.Pipeline(with_state)
    want, _ = op.reference.random_uniform([4], 0, 1, "f32", global_seed=5, alignment="pytorch")
    assert np.array_equal(pipe({}, seed=1)["y"], want)
    assert record(with_state).get("alignment") is None
    # A pipeline of a model that has a state leaves what its user wrote beside it.
    beside = with_noise(with_state, uniform("b", "op_seed = 5", "later"))
    later, _ = op.reference.random_uniform([4], 0, 1, "f32", op_seed=5)
    assert np.array_equal(op.Pipeline(beside)({}, seed=1)["later"], later)


def test_own_seeds_are_refused_where_torch_s_numbers_are_asked_for() -> None:
    model = onnx_model(uniform("a", "op_seed = 5"), "float[4] y")
    message = "RandomUniform 'a' .*: the seeds must be left out with alignment 'pytorch', .*: got "
    with pytest.raises(ValueError, match=f"{message}global_seed 0 and op_seed 5"):
        op.make_reproducible(model, alignment="pytorch")


@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_node_in_a_model_of_openvino_gains_the_state(backend, tmp_path) -> None:
    logits = parameter("logits", [3, 50])
    node = op.openvino.random_token(logits, op_seed=1, name="token")
    drop = op.openvino.random_dropout(logits, np.float32(0.5), global_seed=5)
    outputs = {"t": node.output(0), "d": drop.output(0), "k": drop.output(1), "s": drop.output(2)}
    ov.save_model(model(outputs, [logits]), tmp_path / "m.xml")
    core = op.openvino.register(ov.Core(), backend=backend)
    new = op.make_reproducible(core.read_model(tmp_path / "m.xml"))
    x = np.linspace(0, 3, 150, dtype=np.float32).reshape(3, 50)
    token, _ = op.reference.random_token(x, op_seed=1, state=STATE)
    dropped = op.reference.random_dropout(x, np.float32(0.5), global_seed=5, state=STATE)
    feeds = {"logits": x, "random_state": STATE}
    got = load_in_openvino(OpenVino("native"), new, "f32")(feeds)
    for name, want in zip("tdks", (token, *dropped), strict=True):
        assert np.array_equal(got[name], want), name
    assert op.make_reproducible(new) is new
    answer = op.Pipeline(tmp_path / "m.xml", runtime="openvino")({"logits": x}, seed=0)
    assert np.array_equal(answer["t"], op.reference.random_token(x, op_seed=1)[0])


def test_the_commands_say_whose_seeds_stay(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(
        onnx_model(f"{uniform('a', 'op_seed = 5')} {NOISE}", "float[4] y, float[4] noise"), path
    )
    said = cli.invoke("inspect", path)
    assert "global_seed 0 and op_seed 5" in said.output
    said = cli.invoke("rewrite", path, "-o", tmp_path / "n.onnx")
    assert said.exit_code == 0, said.output
    assert "1 node keeps its seeds" in said.output
