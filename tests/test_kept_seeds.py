"""A model of OpenVINO that keeps its seeds draws their documented numbers from a state of zeros."""

from __future__ import annotations

import itertools
import json
import warnings
from pathlib import Path

import cli
import numpy as np
import onnx
import openvino as ov
import pytest
from cases import DTYPES, assert_same_bits, load_vectors
from openvino import opset8, opset13
from openvino_models import branch, constant, iterator, loop, model, normal, parameter, uniform
from runtimes import array_of, request_of

import onnx_philox as op
from onnx_philox._contract.streams import AWAITS_STATE, METADATA_KEY

CORE = op.openvino.register(ov.Core())
ZEROS = op.PhiloxState.for_run(0).to_array()
STATE = op.PhiloxState.for_run(42, 3).to_array()
SAVED_MODEL = Path(__file__).parent / "models" / "saved_model"
SEEDS = (150, 10)
SAID = {"global_seed": 150, "op_seed": 10}


def kept(given: ov.Model, **options) -> ov.Model:
    return op.make_reproducible(given, keep_seeds=True, **options)


def drawn(given: ov.Model, state: np.ndarray | None = ZEROS, hint: str = "f32", **feeds) -> dict:
    """What a model gives, by name."""
    compiled = CORE.compile_model(given, "CPU", {"INFERENCE_PRECISION_HINT": hint})
    request = compiled.create_infer_request()
    request.start_async({**feeds, **({} if state is None else {"random_state": state})})
    request.wait()
    return {
        name: array_of(request.get_tensor(port))
        for port in compiled.outputs
        for name in port.get_names()
    }


def seeds_of(given: ov.Model) -> dict[str, tuple[int, int]]:
    """The seeds of our nodes, by what they are called."""
    said = {
        node.get_friendly_name(): node.get_attributes()
        for node in given.get_ordered_ops()
        if node.get_type_info().version_id == "extension"
    }
    return {name: (a["global_seed"], a["op_seed"]) for name, a in said.items()}


def named(node: ov.Node, name: str) -> ov.Node:
    node.set_friendly_name(name)
    return node


def record(given: ov.Model) -> dict:
    return json.loads(str(given.get_rt_info([METADATA_KEY]).value))


def through_ir(given: ov.Model, tmp_path) -> ov.Model:
    # Its own file: a model that was read still reads its weights.
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.xml"
    ov.save_model(given, path)
    return CORE.read_model(path)


# Documented numbers.


@pytest.mark.parametrize("row", load_vectors("openvino"))
def test_the_documented_outputs_are_drawn(row) -> None:
    seeds, type_ = (row["global_seed"], row["op_seed"]), row["type"]
    node = uniform(row["shape"], *row["arguments"].values(), type_, seeds)
    new = kept(model({"y": node}, []))
    wanted = np.array(row["printed"], DTYPES[type_])
    for given in (new, kept(model({"y": node}, []), seed=0)):
        y = drawn(given, None if given is not new else ZEROS)["y"]
        np.testing.assert_allclose(y, wanted, rtol=2e-8 if type_ == "f32" else 1e-8, atol=5e-9)
    (entry,) = record(new)["nodes"]
    assert entry == ["RandomUniform", type_, *seeds, "tensorflow"]


@pytest.mark.parametrize("type_", ["f32", "f64", "f16", "bf16", "i32", "i64"])
@pytest.mark.parametrize("way", ["memory", "ir", "seed"])
def test_all_types_draw_by_their_seeds_in_every_run(type_, way, tmp_path) -> None:
    low, high = (-3, 300) if type_.startswith("i") else (-0.25, 3)
    given = model({"y": uniform([3, 5], low, high, type_, SEEDS)}, [])
    if way == "ir":
        given = through_ir(given, tmp_path)
    new = kept(given, seed=7 if way == "seed" else None)
    if way == "ir":
        new = through_ir(new, tmp_path)
    states = (ZEROS, STATE) if way != "seed" else (op.PhiloxState.for_run(7).to_array(),)
    for state in states:
        want, _ = op.reference.random_uniform([3, 5], low, high, type_, **SAID, state=state)
        for hint in ("f32", "bf16", "f16"):
            got = drawn(new, None if way == "seed" else state, hint)["y"]
            assert_same_bits(got, want)


RUNS = itertools.groupby(
    load_vectors("tensorflow", "TensorFlow stateful runs"), lambda row: row["global_seed"]
)
STATEFUL = [list(runs) for _, runs in RUNS]
"""The runs of each seed."""


@pytest.mark.parametrize("case", STATEFUL)
def test_a_seeded_model_of_tensorflow_draws_tensorflow_s_own_numbers_run_after_run(case) -> None:
    seeds, (count,), type_ = (
        (case[0]["global_seed"], case[0]["op_seed"]),
        case[0]["shape"],
        case[0]["type"],
    )
    new = kept(model({"y": uniform([count], 0, 1, type_, seeds)}, []))
    wanted = [np.frombuffer(bytes.fromhex(run["outputs"]["values"]), DTYPES[type_]) for run in case]
    for run, want in enumerate(wanted):
        state = op.PhiloxState.openvino_run(0, 0, run, count).to_array()
        assert_same_bits(drawn(new, state)["y"], want)
    # Run 0 is that of a state of zeros, and of the seed 0.
    assert_same_bits(drawn(new)["y"], wanted[0])


# A graph of TensorFlow, in the wire format of its GraphDef.


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _node(name: str, operator: str, inputs: list[str], **attributes: bytes) -> bytes:
    given = [_field(3, name.encode()) for name in inputs]
    said = [_field(5, _field(1, n.encode()) + _field(2, v)) for n, v in attributes.items()]
    return _field(
        1, _field(1, name.encode()) + _field(2, operator.encode()) + b"".join(given + said)
    )


def graph_of_tensorflow(case: dict) -> bytes:
    """A RandomUniform with seeds."""
    shape = np.array(case["shape"], np.int32)
    dimensions = b"".join(_field(2, _field(1, size)) for size in shape.shape)
    tensor = _field(1, _INT32) + _field(2, dimensions) + _field(4, shape.tobytes())
    seeds = {"seed": _field(3, case["global_seed"]), "seed2": _field(3, case["op_seed"])}
    types = {"dtype": _field(6, _FLOAT), "T": _field(6, _INT32)}
    return _node("shape", "Const", [], dtype=_field(6, _INT32), value=_field(8, tensor)) + _node(
        "y", "RandomUniform", ["shape"], **types, **seeds
    )


_FLOAT, _INT32 = 1, 3


@pytest.mark.parametrize("case", STATEFUL)
def test_a_seeded_graph_of_tensorflow_draws_tensorflow_s_numbers(case, tmp_path) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_of_tensorflow(case[0]))
    pipe = op.Pipeline(ov.convert_model(path), runtime="openvino", keep_seeds=True)
    want = bytes.fromhex(case[0]["outputs"]["values"])
    (got,) = pipe({}, seed=0).values()
    assert_same_bits(got, np.frombuffer(want, DTYPES[case[0]["type"]]))


def test_a_saved_model_of_tensorflow_keeps_its_seeds(tmp_path) -> None:
    new = through_ir(kept(ov.convert_model(SAVED_MODEL)), tmp_path)
    x = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)

    def uniform_of(seed: int, type_: str, low: float = 0, high: float = 1) -> np.ndarray:
        # 87654321 is what TensorFlow takes where no global seed is set.
        given = {"global_seed": 87654321, "op_seed": seed, "state": ZEROS}
        return op.reference.random_uniform(x.shape, low, high, type_, **given)[0]

    wanted = {
        "uniform": uniform_of(1, "f32") * np.float32(4) + np.float32(-1),
        "uniform_f16": uniform_of(2, "f16"),
        "uniform_f64": uniform_of(3, "f64"),
        "integers": uniform_of(4, "i32", -3, 7),
        "integers_64": uniform_of(5, "i64", -3, 7),
        "below": uniform_of(6, "f32") < np.float32(0.3),
        "dropout": np.where(uniform_of(7, "f32") < 0.5, 0, 2 * x),
        "branch": uniform_of(8, "f32"),
    }
    got = drawn(new, ZEROS, x=x)
    for name, want in wanted.items():
        assert_same_bits(got[name], want.astype(np.float32))


def test_without_the_word_all_numbers_are_new() -> None:
    new = op.make_reproducible(model({"y": uniform([9], seeds=SEEDS)}, []))
    want, _ = op.reference.random_uniform([9], 0, 1, "f32", state=ZEROS)
    assert_same_bits(drawn(new)["y"], want)
    assert [node[4:] for node in record(new)["nodes"]] == [[]]


# What the nodes become.


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("shape", [(), (4,)])
def test_a_comparison_has_the_booleans_of_its_seeds(type_, shape) -> None:
    dtype = DTYPES[type_]
    p = np.full(shape, 0.375, np.float32).astype(dtype)
    limit = constant(0.375, ov.Type.bf16) if type_ == "bf16" and not shape else None
    if type_ == "bf16" and limit is None:
        limit = opset8.convert(constant(p.astype(np.float32)), "bf16")
    below = opset8.less(
        uniform([3, 4], type_=type_, seeds=SEEDS), constant(p) if limit is None else limit
    )
    new = kept(model({"y": below}, []))
    u, _ = op.reference.random_uniform([3, 4], 0, 1, type_, **SAID, state=STATE)
    assert_same_bits(drawn(new, STATE, "bf16")["y"], u < p)


def test_integers_of_floats_and_pairs_of_normals_stay_what_their_seeds_document() -> None:
    scaled = opset8.multiply(uniform([50], seeds=SEEDS), np.float32(10))
    integers = opset8.convert(opset8.floor(scaled), "i32")
    new = kept(model({"i": integers, "n": normal([4])}, []))
    assert sorted(seeds_of(new).values()) == [(0, 17), (0, 18), SEEDS]
    u, _ = op.reference.random_uniform([50], 0, 1, "f32", **SAID, state=ZEROS)
    got = drawn(new)
    assert_same_bits(got["i"], np.floor(u * np.float32(10)).astype(np.int32))
    tiny = np.finfo(np.float32).tiny
    radius, _ = op.reference.random_uniform([4], tiny, 1, "f32", op_seed=17, state=ZEROS)
    angle, _ = op.reference.random_uniform([4], 0, 2 * np.pi, "f32", op_seed=18, state=ZEROS)
    np.testing.assert_allclose(
        got["n"],
        np.sqrt(-2 * np.log(radius.astype(float))) * np.cos(angle.astype(float)),
        atol=1e-5,
    )


def test_multinomials_keep_no_seeds_and_others_take_the_lowest_free_streams() -> None:
    weights = constant(np.float32([[1, 2, 3]]))
    count = constant(np.array([4], np.int32))
    nodes = {
        "a": named(uniform([4], seeds=(0, 1)), "a"),
        "b": named(uniform([4], seeds=(9, 0)), "b"),
        "c": named(uniform([4], seeds=(0, 2**32 + 2)), "c"),
        "d": named(uniform([4]), "d"),
        "m": named(opset13.multinomial(weights, count, "i32", True, False, 5, 6), "m"),
        "e": named(uniform([4]), "e"),
    }
    new = kept(model(nodes, []))
    seeds = seeds_of(new)
    assert {name: seeds[name] for name in "abc"} == {"a": (0, 1), "b": (9, 0), "c": (0, 2**32 + 2)}
    assert {seeds[name] for name in "dme"} == {(0, 0), (0, 3), (0, 4)}
    assert op.rewriting.find_random_nodes(new) == []
    assert kept(new) is new
    entries = {tuple(node[2:4]) for node in record(new)["nodes"] if node[4:]}
    assert entries == {(0, 1), (9, 0), (0, 2**32 + 2)}


def test_a_later_rewrite_takes_no_kept_number_and_counts_none(tmp_path) -> None:
    x = parameter("x", [4])
    new = kept(model({"y": opset8.add(x, uniform([4], seeds=(0, 1))), "z": uniform([4])}, [x]))
    new = through_ir(new, tmp_path)
    later = named(uniform([4]), "later")
    new.add_results([opset8.result(later)])
    again = kept(new)
    assert seeds_of(again)["later"] == (0, 2)
    fixed = kept(model({"y": uniform([4], seeds=SEEDS)}, []), seed=0)
    fixed = through_ir(fixed, tmp_path)
    fixed.add_results([opset8.result(named(uniform([4]), "later"))])
    assert seeds_of(kept(fixed, seed=0))["later"] == (0, 0)


@pytest.mark.parametrize("seed", [3, 2**32 + 5, 2**63 - 1])
def test_the_seed_of_a_model_stands_in_its_state(seed, tmp_path) -> None:
    x = parameter("x", [2, 4])
    makes = {
        "y": loop(x, 3, lambda shape: uniform(shape, seeds=SEEDS)),
        "n": named(uniform([4]), "n"),
    }
    new = through_ir(kept(model(makes, [x]), seed=seed), tmp_path)
    state = op.PhiloxState.for_run(seed).to_array()
    assert seeds_of(new)["n"] == (0, 0)
    (words,) = [n for n in new.get_ordered_ops() if n.get_friendly_name() == "random_state"]
    assert_same_bits(words.data, state)
    got = drawn(new, None, x=np.zeros((2, 4), np.float32))
    u, _ = op.reference.random_uniform([3, 2, 4], 0, 1, "f32", **SAID, state=state)
    assert_same_bits(got["y"], u[0] + u[1] + u[2])
    assert_same_bits(got["n"], op.reference.random_uniform([4], 0, 1, "f32", state=state)[0])
    new.add_results([opset8.result(named(uniform([4], seeds=(0, 8)), "later"))])
    with pytest.raises(ValueError, match=f"{seed}, the seed that the model was made with"):
        kept(new, seed=1)
    assert seeds_of(kept(new, seed=seed))["later"] == (0, 8)


# Refused, or named.


def awaiting(name: str, stream: int) -> ov.Node:
    """A node as `pytorch_extensions` makes it."""
    at = np.zeros(1, np.int64)
    state = opset8.roll(np.zeros(6, np.uint32), at, at, name=AWAITS_STATE)
    return op.openvino.random_normal([4], 0.0, 1.0, "f32", op_seed=stream, state=state, name=name)


def test_seeds_that_are_a_number_of_a_conversion_or_an_earlier_rewrite_are_refused() -> None:
    nodes = {
        "n": awaiting("aten::randn 0", 0).output(0),
        "y": named(uniform([4], seeds=(0, 2**32)), "u"),
    }
    message = (
        r"RandomUniform 'u' .* must be none that is 0 mod 2\^32, the stream of onnx_philox "
        r"RandomNormal 'aten::randn 0' .*: got 4294967296\."
    )
    with pytest.raises(ValueError, match=message):
        kept(model(nodes, []))
    new = op.make_reproducible(model({"y": named(uniform([4]), "first")}, []))
    new.add_results([opset8.result(named(uniform([4], seeds=(0, 2**33)), "second"))])
    with pytest.raises(ValueError, match=r"'second' .* the stream of RandomUniform 'first': got"):
        kept(new)
    assert seeds_of(op.make_reproducible(new))["second"] == (0, 1)


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        (((3, 0), (3, 0)), "draw equal numbers"),
        (((5, 1), (5, 2**32 + 1)), "repeat each other's numbers in other runs"),
        (((3, 0), (0, 3)), ""),
    ],
)
def test_seeds_that_repeat_each_other_are_named(seeds, says) -> None:
    nodes = {name: named(uniform([4], seeds=s), name) for name, s in zip("yz", seeds, strict=True)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new = kept(model(nodes, []))
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == bool(says)
    for text in texts:
        assert says in text
        assert all(
            f"'{name}'" in text and f"op_seed {s[1]}" in text
            for name, s in zip("yz", seeds, strict=True)
        )
    y, z = (drawn(new, STATE)[name] for name in "yz")
    assert np.array_equal(y, z) == (says == "draw equal numbers")


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1])
@pytest.mark.parametrize("name", ["global_seed", "op_seed"])
def test_seeds_above_the_largest_are_refused_by_the_node_s_name(seed, name, tmp_path) -> None:
    path = tmp_path / "m.xml"
    ov.save_model(model({"y": named(uniform([4], seeds=(77, 88)), "noise")}, []), path)
    old = "77" if name == "global_seed" else "88"
    path.write_text(path.read_text().replace(f'{name}="{old}"', f'{name}="{seed}"'))
    message = rf"RandomUniform 'noise'.*{name}.*from 0 to 2\^63-1.*{seed}"
    with pytest.raises(ValueError, match=message):
        kept(path)


# Alignment pytorch.


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16", "i32", "i64"])
@pytest.mark.parametrize("seeds", [(5, 0), (5, 3), (0, 3)])
def test_a_node_of_alignment_pytorch_draws_torch_s_numbers_in_every_run(
    type_, seeds, tmp_path
) -> None:
    low, high = (-3, 300) if type_.startswith("i") else (0, 1)
    node = uniform([3, 5], low, high, type_, seeds, alignment="pytorch")
    new = kept(model({"y": node, "z": uniform([2], seeds=SEEDS)}, []))
    new = through_ir(new, tmp_path)
    state = op.TorchState.from_seed(seeds[0]).to_array()
    want, _ = op.reference.random_uniform(
        [3, 5], low, high, type_, alignment="pytorch", state=state
    )
    for run in (ZEROS, STATE):
        assert_same_bits(drawn(new, run)["y"], want)
    assert op.Pipeline(new, runtime="openvino")({}, seed=3)["y"].tobytes() == want.tobytes()


def test_a_model_of_such_nodes_alone_has_a_state_too(tmp_path) -> None:
    below = opset8.less(uniform([9], seeds=(5, 0), alignment="pytorch"), np.float32(0.4))
    condition = parameter("c", [], ov.Type.boolean)
    x = parameter("x", [4])
    chosen = branch(condition, x, lambda s: uniform(s, seeds=(0, 6), alignment="pytorch"))
    new = through_ir(kept(model({"y": below, "z": chosen}, [condition, x])), tmp_path)
    assert kept(new) is new
    u, _ = op.reference.random_uniform([9], 0, 1, "f32", global_seed=5, alignment="pytorch")
    state = op.TorchState.from_seed(0).to_array()
    v, _ = op.reference.random_uniform([4], 0, 1, "f32", alignment="pytorch", state=state)
    feed = {"c": np.array(True), "x": np.zeros(4, np.float32)}
    got = op.Pipeline(new, runtime="openvino")(feed, seed=1)
    assert_same_bits(got["y"], u < np.float32(0.4))
    assert_same_bits(got["z"], v)
    assert record(new).get("alignment") is None
    assert {node[4] for node in record(new)["nodes"]} == {"pytorch"}


@pytest.mark.parametrize("make", [lambda x, m: loop(x, 3, m), iterator])
def test_in_a_loop_and_for_rows_such_a_node_is_refused(make) -> None:
    x = parameter("x", [3, 4])
    body = make(x, lambda s: named(uniform(s, seeds=(5, 0), alignment="pytorch"), "noise"))
    with pytest.raises(ValueError, match=r"'noise' .*its place must be outside of loops"):
        kept(model({"y": body}, [x]))
    batch = parameter("x", [-1, 4])
    rows = named(uniform(opset8.shape_of(batch), seeds=(5, 0), alignment="pytorch"), "noise")
    with pytest.raises(
        ValueError, match=r"'noise' .*the alignment must be 'tensorflow' where seeds"
    ):
        kept(model({"y": rows}, [batch]), per_row=True)
    # Both are rewritten without the word, and so is a node without seeds with it.
    op.make_reproducible(model({"y": rows}, [batch]), per_row=True)
    new = kept(model({"y": uniform([4], alignment="pytorch")}, []))
    want, _ = op.reference.random_uniform([4], 0, 1, "f32", state=STATE)
    assert_same_bits(drawn(new, STATE)["y"], want)


# Rows, bodies, and nodes of ours.


def test_row_0_alone_draws_documented_numbers() -> None:
    x = parameter("x", [-1, 4])
    new = kept(model({"y": uniform(opset8.shape_of(x), seeds=SEEDS)}, [x]), per_row=True)
    states = op.row_states(0, rows=range(3))
    want, _ = op.reference.random_uniform([3, 4], 0, 1, "f32", **SAID, state=states)
    assert_same_bits(drawn(new, states, x=np.zeros((3, 4), np.float32))["y"], want)
    first, _ = op.reference.random_uniform([1, 4], 0, 1, "f32", **SAID)
    assert_same_bits(want[:1], first)


def test_in_bodies_a_kept_node_draws_on() -> None:
    x, condition = parameter("x", [2, 4]), parameter("c", [], ov.Type.boolean)
    rows = iterator(x, lambda s: uniform(s, seeds=SEEDS))
    chosen = branch(condition, x, lambda s: uniform(s, seeds=(7, 8)))
    new = kept(model({"y": rows, "z": chosen}, [x, condition]))
    feeds = {"x": np.zeros((2, 4), np.float32), "c": np.array(True)}
    for state in (ZEROS, STATE):
        u, _ = op.reference.random_uniform([2, 4], 0, 1, "f32", **SAID, state=state)
        v, _ = op.reference.random_uniform(
            [2, 4], 0, 1, "f32", global_seed=7, op_seed=8, state=state
        )
        got = drawn(new, state, **feeds)
        assert_same_bits(got["y"], u)
        assert_same_bits(got["z"], v)


# The command.


def test_the_commands_say_what_each_way_makes_of_seeds(tmp_path) -> None:
    path, target = tmp_path / "m.xml", tmp_path / "new.xml"
    nodes = {
        "a": named(uniform([4], seeds=SEEDS), "a"),
        "b": opset8.less(named(uniform([4], seeds=(0, 7)), "b"), np.float32(0.5)),
        "c": normal([4]),
        "t": named(uniform([4], seeds=(5, 0), alignment="pytorch"), "t"),
    }
    ov.save_model(model(nodes, []), path)
    said = " ".join(cli.invoke("inspect", path).output.split())
    assert "a global_seed 150 and op_seed 10: a rewrite draws from stream" in said
    for what in (
        "--keep-seeds draws the numbers that these seeds document",
        "--keep-seeds draws the booleans of these seeds",
        "--keep-seeds keeps both uniforms of the normal, whose seeds may be the converter's own",
        "--keep-seeds draws torch's numbers of this global_seed, the same in every run",
    ):
        assert what in said
    done = cli.invoke("rewrite", path, "-o", target, "--keep-seeds")
    assert done.exit_code == 0, done.output
    reported = " ".join(done.output.split())
    assert "5 nodes keep their seeds, and take no stream" in reported
    assert "OpenVINO's own CPU device draws others of f16, f64 and i64, and of most" in reported
    u, _ = op.reference.random_uniform([4], 0, 1, "f32", **SAID)
    assert_same_bits(drawn(CORE.read_model(target))["a"], u)
    said = " ".join(cli.invoke("inspect", target).output.split())
    assert "a RandomUniform 150 its op_seed 10" in said


def test_seeds_that_an_earlier_rewrite_dropped_cannot_be_kept(tmp_path) -> None:
    path, target = tmp_path / "m.xml", tmp_path / "new.xml"
    lost = op.make_reproducible(model({"a": named(uniform([4], seeds=SEEDS), "a")}, []))
    ov.save_model(lost, path)
    said = r"keep_seeds must be left out, .*: got True for a model that was rewritten without it"
    with pytest.raises(ValueError, match=said):
        op.make_reproducible(lost, keep_seeds=True)
    with pytest.raises(ValueError, match=said):
        op.Pipeline(path, runtime="openvino", keep_seeds=True)
    command = ["rewrite", str(path), "-o", str(target), "--keep-seeds"]
    assert cli.invoke(*command).exit_code != 0
    assert not target.exists()


def test_an_ir_without_seeds_has_none_to_keep_and_the_command_says_it(tmp_path) -> None:
    given = opset8.random_uniform(np.array([3]), np.float32(0), np.float32(1), "f32")
    ov.save_model(ov.Model([given], []), tmp_path / "m.xml")
    done = cli.invoke("rewrite", tmp_path / "m.xml", "-o", tmp_path / "n.xml", "--keep-seeds")
    assert "It has no seeds to keep." in done.output
    # Seeds of ONNX's nodes document no numbers: what is kept of them are draws that are equal.
    body = "g (float[3] x) => (float[3] y) { y = RandomNormalLike <seed = 3.0> (x) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {body}')
    onnx.save(model, tmp_path / "m.onnx")
    done = cli.invoke("rewrite", tmp_path / "m.onnx", "-o", tmp_path / "n.onnx", "--keep-seeds")
    assert done.exit_code == 0
    assert "no seeds to keep" not in done.output
    done = cli.invoke("rewrite", tmp_path / "n.onnx", "-o", tmp_path / "o.onnx", "--keep-seeds")
    assert "--keep-seeds did nothing: pass the model that this one was made from." in done.output


@pytest.mark.parametrize(
    ("type_", "bounds", "is_documented"),
    [
        *(("f32", (0, 1), True), ("bf16", (0, 1), True), ("i32", (0, 100), True)),
        *(("f32", (-2, 5), False), ("f16", (0, 1), False), ("i64", (0, 100), False)),
        ("f64", (0, 1), False),
    ],
)
def test_which_documented_numbers_openvino_s_own_cpu_device_draws(
    type_: str, bounds: tuple[int, int], is_documented: bool
) -> None:
    low, high = (opset8.convert(opset8.constant(np.float32(b)), type_) for b in bounds)
    shape, seeds = opset8.constant(np.array([64])), {"global_seed": 150, "op_seed": 10}
    drawn = opset8.convert(opset8.random_uniform(shape, low, high, type_, **seeds), "f64")
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = ov.Core().compile_model(ov.Model([drawn], []), "CPU", config)
    (own,) = request_of(compiled)({})
    expected = np.asarray(op.reference.random_uniform([64], *bounds, type_, **seeds)[0])
    assert np.array_equal(own, expected.astype(np.float64)) == is_documented
