"""A model of OpenVINO that keeps its seeds draws their documented numbers from a state of zeros."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8, opset13

import onnx_philox as op
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.cases import DTYPES, assert_refused, assert_same_bits, load_vectors
from tests.common.foreign import parse
from tests.common.half_precision import is_computed
from tests.rewriting.test_nodes_without_state import FORMS

ZEROS = op.PhiloxState.for_run(0).to_array()
STATE = op.PhiloxState.for_run(42, 3).to_array()
SAVED_MODEL = Path(__file__).parents[1] / "models" / "saved_model"
SEEDS = (150, 10)
SAID = {"global_seed": 150, "op_seed": 10}

FORM = FORMS["OpenVINO"]
kept = FORM.rewrite
seeds_of = FORM.seeds_of
record = FORM.record


def reference(
    shape: Any,
    low: float = 0,
    high: float = 1,
    type_: str = "f32",
    **given: Any,
) -> np.ndarray:
    """By the seeds, from a state of zeros."""
    asked = {**SAID, **given}
    return op.reference.random_uniform(shape, low, high, type_, **asked)[0]


@pytest.mark.parametrize("row", load_vectors("openvino"))
def test_the_documented_outputs_are_drawn(row: dict[str, Any]) -> None:
    seeds = (row["global_seed"], row["op_seed"])
    type_ = row["type"]
    bounds = row["arguments"].values()
    given = made.model({"y": made.uniform(row["shape"], *bounds, type_, seeds)}, [])
    wanted = np.array(row["printed"], DTYPES[type_])
    new = kept(given)
    results = (made.drawn(new, ZEROS)["y"], made.drawn(kept(given, seed=0))["y"])
    for y in results:
        rtol = 2e-8 if type_ == "f32" else 1e-8
        np.testing.assert_allclose(y, wanted, rtol=rtol, atol=5e-9)
    expected = [["RandomUniform", type_, *seeds, "tensorflow"]]
    assert record(new)["nodes"] == expected


@pytest.mark.parametrize("type_", ["f32", "f64", "f16", "bf16", "i32", "i64"])
@pytest.mark.parametrize("way", ["memory", "ir", "seed"])
def test_all_types_draw_by_their_seeds_in_every_run(type_: str, way: str, tmp_path: Path) -> None:
    is_integer = type_.startswith("i")
    bounds = (-3, 300) if is_integer else (-0.25, 3)
    noise = made.uniform([3, 5], *bounds, type_, SEEDS)
    given = made.model({"y": noise}, [])
    given = made.through_ir(given, tmp_path) if way == "ir" else given
    new = kept(given, seed=7 if way == "seed" else None)
    new = made.through_ir(new, tmp_path) if way == "ir" else new
    of_7 = op.PhiloxState.for_run(7).to_array()
    for state in (ZEROS, STATE) if way != "seed" else (of_7,):
        want = reference([3, 5], *bounds, type_, state=state)
        for hint in ("f32", "bf16", "f16"):
            fed = None if way == "seed" else state
            assert_same_bits(made.drawn(new, fed, hint)["y"], want)
    # Without the word all numbers are new.
    new = op.make_reproducible(given)
    want = reference(
        [3, 5],
        *bounds,
        type_,
        global_seed=0,
        op_seed=0,
        state=STATE,
    )
    assert_same_bits(made.drawn(new, STATE)["y"], want)
    kept_seeds = [node[4:] for node in record(new)["nodes"]]
    assert kept_seeds == [[]]


RUNS = itertools.groupby(
    load_vectors("tensorflow", "TensorFlow stateful runs"), lambda row: row["global_seed"]
)
STATEFUL = [list(runs) for _, runs in RUNS]
"""The runs of each seed."""


@pytest.mark.parametrize("case", STATEFUL)
def test_a_seeded_model_of_tensorflow_draws_tensorflow_s_own_numbers_run_after_run(
    case: list[dict[str, Any]],
) -> None:
    row = case[0]
    seeds, (count,) = (row["global_seed"], row["op_seed"]), row["shape"]
    noise = made.uniform([count], 0, 1, row["type"], seeds)
    new = kept(made.model({"y": noise}, []))
    outputs = [bytes.fromhex(run["outputs"]["values"]) for run in case]
    wanted = [np.frombuffer(values, DTYPES[row["type"]]) for values in outputs]
    for run, want in enumerate(wanted):
        state = op.PhiloxState.openvino_run(0, 0, run, count).to_array()
        assert_same_bits(made.drawn(new, state)["y"], want)
    # Run 0 is that of a state of zeros, and of the seed 0.
    got = made.drawn(new, ZEROS)
    assert_same_bits(got["y"], wanted[0])


def test_a_saved_model_of_tensorflow_keeps_its_seeds(tmp_path) -> None:
    new = made.through_ir(kept(ov.convert_model(SAVED_MODEL)), tmp_path)
    numbers = np.linspace(1, 2, 12, dtype=np.float32)
    x = numbers.reshape(3, 4)

    def uniform_of(seed: int, type_: str, *bounds: float) -> np.ndarray:
        # What TensorFlow takes where no global seed is set.
        ends = bounds or (0, 1)
        return reference(x.shape, *ends, type_, global_seed=87654321, op_seed=seed)

    wanted = {
        "uniform": uniform_of(1, "f32") * np.float32(4) + np.float32(-1),
        "uniform_f16": uniform_of(2, "f16"),
        "uniform_f64": uniform_of(3, "f64"),
        "integers": uniform_of(4, "i32", -3, 7),
        "integers_64": uniform_of(5, "i64", -3, 7),
        "below": uniform_of(6, "f32") < np.float32(0.3),
        "dropout": np.where(
            uniform_of(7, "f32") < 0.5,
            0,
            2 * x,
        ),
        "branch": uniform_of(8, "f32"),
    }
    got = made.drawn(new, ZEROS, x=x)
    for name, want in wanted.items():
        assert_same_bits(got[name], want.astype(np.float32))


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("shape", [(), (4,)])
def test_a_comparison_has_the_booleans_of_its_seeds(type_: str, shape: tuple[int, ...]) -> None:
    p = np.full(shape, 0.375, np.float32)
    limit = opset8.convert(made.constant(p), type_)
    noise = made.uniform([3, 4], type_=type_, seeds=SEEDS)
    below = opset8.less(noise, limit)
    u = reference([3, 4], type_=type_, state=STATE)
    new = kept(made.model({"y": below}, []))
    expected = u < p.astype(DTYPES[type_])
    assert_same_bits(made.drawn(new, STATE, "bf16")["y"], expected)


def test_integers_of_floats_and_pairs_of_normals_stay_what_their_seeds_document() -> None:
    noise = made.uniform([50], seeds=SEEDS)
    scaled = opset8.multiply(noise, np.float32(10))
    integers = opset8.convert(opset8.floor(scaled), "i32")
    # A Multinomial keeps none.
    row = np.float32([[1, 2, 3]])
    weights = made.constant(row)
    count = made.constant(np.array([4], np.int32))
    classes = made.named(
        opset13.multinomial(
            weights,
            count,
            "i32",
            True,
            False,
            5,
            6,
        ),
        "m",
    )
    outputs = {"i": integers, "n": made.normal([4]), "m": classes}
    new = kept(made.model(outputs, []))
    seeds = seeds_of(new)
    assert seeds.pop("m") == (0, 0)
    (_, first), (_, second), said = sorted(seeds.values())
    assert (said, second) == (SEEDS, first + 1)
    got = made.drawn(new, ZEROS)
    tens = reference([50]) * np.float32(10)
    whole = np.floor(tens).astype(np.int32)
    assert_same_bits(got["i"], whole)
    of_normal = {"global_seed": 0}
    tiny = np.finfo(np.float32).tiny
    radius = reference(
        [4],
        tiny,
        1,
        op_seed=first,
        **of_normal,
    ).astype(float)
    angle = reference(
        [4],
        0,
        2 * np.pi,
        op_seed=second,
        **of_normal,
    ).astype(float)
    radii = np.sqrt(-2 * np.log(radius))
    wanted = radii * np.cos(angle)
    np.testing.assert_allclose(got["n"], wanted, atol=1e-5)


def awaiting(name: str, stream: int) -> ov.Node:
    """A node as `pytorch_extensions` makes it."""
    at = np.zeros(1, np.int64)
    zeros = np.zeros(6, np.uint32)
    state = opset8.roll(zeros, at, at, name="onnx_philox.awaits_state")
    return op.openvino.random_normal(
        [4],
        0.0,
        1.0,
        "f32",
        op_seed=stream,
        state=state,
        name=name,
    )


def test_seeds_that_are_a_number_of_a_conversion_are_refused() -> None:
    nodes = {
        "n": awaiting("aten::randn 0", 0).output(0),
        "y": made.named(made.uniform([4], seeds=(0, 2**32)), "u"),
    }
    message = (
        r"RandomUniform 'u' .* must be other than 0 modulo 2\^32, which is the stream of "
        r"onnx_philox RandomNormal 'aten::randn 0' .*: got 4294967296\."
    )
    with pytest.raises(ValueError, match=message):
        kept(made.model(nodes, []))
    # One of which nothing but the shape is read takes no number.
    moved = opset8.add(awaiting("n", 0).output(0), np.float32(1))
    size = opset8.shape_of(moved)
    (node,) = op.rewriting.find_random_nodes(
        made.model({"s": size, "y": awaiting("m", 1).output(0)}, [])
    )
    assert node.name == "m"
    first = op.make_reproducible(FORM.model({"first": None}))
    new = FORM.with_node(first, "second", (0, 2**33))
    again = op.make_reproducible(new)
    assert seeds_of(again)["second"] == (0, 1)


@pytest.mark.parametrize("seed", [-7, 2**63, 2**64 - 1])
@pytest.mark.parametrize("name", ["global_seed", "op_seed"])
def test_seeds_that_openvino_does_not_take_are_refused_at_every_door(seed, name, tmp_path) -> None:
    path = tmp_path / "m.xml"
    open_ir = partial(op.Pipeline, runtime="openvino")
    noise = made.named(made.uniform([4], seeds=(77, 88)), "noise")
    ov.save_model(made.model({"y": noise}, []), path)
    text = path.read_text()
    old = "77" if name == "global_seed" else "88"
    changed = text.replace(f'{name}="{old}"', f'{name}="{seed}"')
    path.write_text(changed)
    said = (
        f"{name} of RandomUniform 'noise' must be an integer from 0 to 2^63-1: got {seed}. "
        "Convert the model with such a seed."
    )
    for call in (kept, open_ir):
        assert_refused(partial(call, path), said)
    commands = (
        ("inspect", path),
        ("rewrite", path, "-o", tmp_path / "new.xml"),
        ("run", path),
        ("compare", path),
    )
    for command in commands:
        assert said in cli.refusal(*command)
    path.write_text(text.replace('type="RandomUniform"', 'type="Unknown"'))
    words = "m.xml must be a whole OpenVINO IR, of operators that are OpenVINO's or this"
    assert_refused(partial(open_ir, path), words)


@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace('op_seed="88"', "op_seed = '-7'"),
        lambda text: text.replace('op_seed="88"', 'op_seed="&#45;7"'),
        lambda text: text.replace('op_seed="88"', 'op_seed="-7" op_seed="88"'),
        lambda text: text.replace("<data", "<!-- of torch --><data").replace('"88"', '"-7"'),
        lambda text: text.replace("<data", "<rt_info/>\n<data").replace('"88"', '"-7"'),
        lambda text: text.replace('"noise"', '"noise\x01"').replace('"88"', '"-7"'),
        lambda text: text.replace('"noise"', '"a>noise"').replace('"88"', '"-7"'),
        lambda text: text.replace('"88"', '" -7"'),
    ],
    ids=[
        "quotes",
        "a reference",
        "twice",
        "a comment",
        "after rt_info",
        "no well-formed XML",
        "a name with an angle bracket",
        "a space",
    ],
)
def test_seeds_are_refused_in_each_way_in_which_an_ir_may_write_them(written, tmp_path) -> None:
    path = tmp_path / "m.xml"
    noise = made.named(made.uniform([4], seeds=(77, 88)), "noise")
    ov.save_model(made.model({"y": noise}, []), path)
    text = path.read_text()
    path.write_text(written(text))
    with pytest.raises(ValueError, match=r"op_seed of RandomUniform .* 2\^63-1: got -7"):
        kept(path)


@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace("<data", '<!-- <data op_seed="-7"/> --><data'),
        lambda text: text.replace("<data", '<rt_info><data op_seed="-7"/></rt_info><data'),
        lambda text: text.replace(
            "<layers>", '<layers><!-- <layer type="RandomUniform"><data op_seed="-7"/> -->'
        ),
        lambda text: text.replace("op_seed", 'own-op_seed="-7" op_seed'),
    ],
    ids=["a comment", "rt_info", "a layer in a comment", "another name"],
)
def test_what_an_ir_says_of_seeds_elsewhere_is_not_refused(written, tmp_path) -> None:
    path = tmp_path / "m.xml"
    ov.save_model(made.model({"y": made.uniform([4], seeds=(77, 88))}, []), path)
    path.write_text(written(path.read_text()))
    assert kept(path)


@pytest.mark.parametrize("type_", ["f32", "f16", "bf16", "i32", "i64"])
@pytest.mark.parametrize(
    "seeds",
    [
        (5, 0),
        (5, 3),
        (0, 3),
    ],
)
def test_a_node_of_alignment_pytorch_draws_torch_s_numbers_in_every_run(
    type_, seeds, tmp_path
) -> None:
    is_integer = type_.startswith("i")
    low, high = (-3, 300) if is_integer else (0, 1)
    node = made.uniform(
        [3, 5],
        low,
        high,
        type_,
        seeds,
        alignment="pytorch",
    )
    other = made.uniform([2], seeds=SEEDS)
    new = kept(made.model({"y": node, "z": other}, []))
    new = made.through_ir(new, tmp_path)
    state = op.TorchState.from_seed(seeds[0]).to_array()
    want, _ = op.reference.random_uniform(
        [3, 5], low, high, type_, alignment="pytorch", state=state
    )
    for run in (ZEROS, STATE):
        assert_same_bits(made.drawn(new, run)["y"], want)
    answer = op.Pipeline(new, runtime="openvino")
    assert answer({}, seed=3)["y"].tobytes() == want.tobytes()


def test_a_model_whose_nodes_all_keep_torch_s_seeds_has_a_state_too(tmp_path) -> None:
    noise = made.uniform([9], seeds=(5, 0), alignment="pytorch")
    below = opset8.less(noise, np.float32(0.4))
    condition = made.parameter("c", [], ov.Type.boolean)
    x = made.parameter("x", [4])
    chosen = made.branch(
        condition,
        x,
        lambda s: made.uniform(s, seeds=(0, 6), alignment="pytorch"),
    )
    outputs = {"y": below, "z": chosen}
    new = made.through_ir(kept(made.model(outputs, [condition, x])), tmp_path)
    assert kept(new) is new
    u, _ = op.reference.random_uniform(
        [9],
        0,
        1,
        "f32",
        global_seed=5,
        alignment="pytorch",
    )
    state = op.TorchState.from_seed(0).to_array()
    v, _ = op.reference.random_uniform(
        [4],
        0,
        1,
        "f32",
        alignment="pytorch",
        state=state,
    )
    zeros = np.zeros(4, np.float32)
    feed = {"c": np.array(True), "x": zeros}
    got = op.Pipeline(new, runtime="openvino")(feed, seed=1)
    assert_same_bits(got["y"], u < np.float32(0.4))
    assert_same_bits(got["z"], v)
    assert record(new).get("alignment") is None
    alignments = {node[4] for node in record(new)["nodes"]}
    assert alignments == {"pytorch"}


@pytest.mark.parametrize("make", [lambda x, m: made.loop(x, 3, m), made.iterator])
def test_a_node_of_alignment_pytorch_is_refused_in_a_loop_and_for_rows(make) -> None:
    x = made.parameter("x", [3, 4])
    body = make(
        x,
        lambda s: made.named(
            made.uniform(
                s,
                seeds=(5, 0),
                alignment="pytorch",
            ),
            "noise",
        ),
    )
    with pytest.raises(ValueError, match=r"'noise' .*its place must be outside of loops"):
        kept(made.model({"y": body}, [x]))
    batch = made.parameter("x", [-1, 4])
    rows = made.named(
        made.uniform(
            opset8.shape_of(batch),
            seeds=(5, 0),
            alignment="pytorch",
        ),
        "noise",
    )
    words = "'noise' ...the alignment must be 'tensorflow' where seeds"
    assert_refused(lambda: kept(made.model({"y": rows}, [batch]), per_row=True), words)
    # Both are rewritten without the word, and so is a node without seeds with it.
    given = made.model({"y": rows}, [batch])
    op.make_reproducible(given, per_row=True)
    noise = made.uniform([4], alignment="pytorch")
    new = kept(made.model({"y": noise}, []))
    want, _ = op.reference.random_uniform([4], 0, 1, "f32", state=STATE)
    assert_same_bits(made.drawn(new, STATE)["y"], want)
    # torch has one seed.
    two = {
        f"{n}": made.uniform(
            [4],
            seeds=(5, n),
            alignment="pytorch",
        )
        for n in range(2)
    }
    with pytest.warns(UserWarning, match="of global_seed 5 and op_seed 0, draw equal numbers"):
        kept(made.model(two, []))


def test_in_a_branch_a_kept_node_draws() -> None:
    x = made.parameter("x", [2, 4])
    condition = made.parameter("c", [], ov.Type.boolean)
    chosen = made.branch(
        condition,
        x,
        lambda s: made.uniform(s, seeds=(2**63 - 1, 8)),
    )
    given = made.model({"z": chosen}, [x, condition])
    new = kept(given)
    for state in (ZEROS, STATE):
        v = reference(
            [2, 4],
            global_seed=2**63 - 1,
            op_seed=8,
            state=state,
        )
        zeros = np.zeros((2, 4), np.float32)
        feeds = {"x": zeros, "c": np.array(True)}
        got = made.drawn(new, state, **feeds)
        assert_same_bits(got["z"], v)


def test_the_commands_say_what_each_way_makes_of_seeds(tmp_path) -> None:
    path = tmp_path / "m.xml"
    target = tmp_path / "new.xml"
    noise = made.named(made.uniform([4], seeds=(0, 7)), "b")
    half = np.float32(0.5)
    nodes = {
        "a": made.named(made.uniform([4], seeds=SEEDS), "a"),
        "b": opset8.less(noise, half),
        "c": made.normal([4]),
        "t": made.named(
            made.uniform(
                [4],
                seeds=(5, 0),
                alignment="pytorch",
            ),
            "t",
        ),
    }
    ov.save_model(made.model(nodes, []), path)
    said = cli.text("inspect", path)
    assert "a global_seed 150 and op_seed 10: a rewrite draws from stream" in said
    for what in (
        "--keep-seeds draws the numbers that are documented for these seeds",
        "--keep-seeds draws the booleans of these seeds",
        "--keep-seeds keeps both uniforms of the normal, whose seeds may be the converter's own",
        "--keep-seeds draws torch's numbers of this global_seed, the same in every run",
    ):
        assert what in said
    reported = cli.text("rewrite", path, "-o", target, "--keep-seeds")
    kept = "5 nodes keep their seeds and have no stream: from PhiloxState.for_run(0) they draw"
    assert kept in reported
    assert (
        "OpenVINO's own CPU device draws others of f64 and i64, of most ranges of f32" in reported
    )
    assert "f16 and bf16 where it computes them in f32" in reported
    read = made.CORE.read_model(target)
    assert_same_bits(made.drawn(read, ZEROS)["a"], reference([4]))
    said = cli.text("inspect", target)
    assert "a RandomUniform 150 its op_seed 10" in said


def test_seeds_that_an_earlier_rewrite_dropped_cannot_be_kept(tmp_path) -> None:
    path = tmp_path / "m.xml"
    target = tmp_path / "new.xml"
    lost = op.make_reproducible(
        made.model({"a": made.named(made.uniform([4], seeds=SEEDS), "a")}, [])
    )
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
    names = ("m.xml", "n.xml", "m.onnx", "n.onnx", "o.onnx")
    files = [tmp_path / name for name in names]
    shape = np.array([3])
    given = opset8.random_uniform(
        shape,
        np.float32(0),
        np.float32(1),
        "f32",
    )
    ov.save_model(ov.Model([given], []), files[0])
    said = cli.text(
        "rewrite",
        files[0],
        "-o",
        files[1],
        "--keep-seeds",
    )
    assert "It has no seeds to keep." in said
    # Seeds of ONNX's nodes document no numbers: what is kept of them are draws that are equal.
    body = "{ y = RandomNormalLike <seed = 3.0> (x) }"
    onnx.save(parse(f"g (float[3] x) => (float[3] y) {body}"), files[2])
    told = cli.text(
        "rewrite",
        files[2],
        "-o",
        files[3],
        "--keep-seeds",
    )
    assert "no seeds to keep" not in told
    said = cli.text(
        "rewrite",
        files[3],
        "-o",
        files[4],
        "--keep-seeds",
    )
    assert "--keep-seeds did nothing: pass the model that this one was made from." in said


@pytest.mark.parametrize(
    ("type_", "bounds", "is_documented"),
    [
        ("f32", (0, 1), True),
        ("i32", (0, 100), True),
        # Rounded where the processor computes in them at all.
        ("bf16", (0, 1), is_computed("bf16")),
        ("f16", (0, 1), is_computed("f16")),
        ("i64", (0, 100), False),
        ("f64", (0, 1), False),
    ],
)
def test_which_documented_numbers_openvino_s_own_cpu_device_draws(
    type_: str, bounds: tuple[int, int], is_documented: bool
) -> None:
    given = made.model(
        {
            "y": opset8.convert(
                made.uniform(
                    [64],
                    *bounds,
                    type_,
                    SEEDS,
                ),
                "f64",
            )
        },
        [],
    )
    exact = np.asarray(reference([64], *bounds, type_))
    documented = exact.astype(np.float64)
    got = made.drawn(given)
    assert np.array_equal(got["y"], documented) == is_documented


def test_in_a_range_openvino_s_own_cpu_device_rounds_once_where_the_processor_can() -> None:
    """Documented are two roundings: of the product, then of the sum."""
    given = made.model({"y": made.uniform([64], -2, 5, "f32", SEEDS)}, [])
    got = made.drawn(given)["y"]
    exact = np.asarray(reference([64], -2, 5, "f32"))
    documented = exact
    # In f64 nothing of either is lost.
    u = reference([64]).astype(np.float64)
    fused = (u * 7 - 2).astype(np.float32)
    assert not np.array_equal(fused, documented)
    assert np.array_equal(got, fused) or np.array_equal(got, documented)
