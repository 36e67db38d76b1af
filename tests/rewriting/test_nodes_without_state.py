"""Nodes that keep their seeds in a rewrite: ours without a state in ONNX, OpenVINO's if asked."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper
from openvino import opset8

import onnx_philox as op
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.foreign import Arrays, in_both, in_onnxruntime, nodes, parse
from tests.common.openvino_models import CORE, named, parameter, through_ir
from tests.common.runtimes import OpenVino

ZEROS = op.PhiloxState.for_run(0).to_array()
STATE = op.PhiloxState.for_run(42, 3).to_array()
Seeds = dict[str, tuple[int, int] | None]
"""The global seed and that of the operator by the name of a node; None where it says none."""


def uniform(
    seeds: tuple[int, int] = (0, 0),
    state: np.ndarray = ZEROS,
    shape: Any = (4,),
) -> np.ndarray:
    said = {"global_seed": seeds[0], "op_seed": seeds[1], "state": state}
    drawn_and_next = op.reference.random_uniform(shape, 0, 1, "f32", **said)
    return drawn_and_next[0]


class InOnnx:
    """Nodes of ours, and of ONNX where they say no seeds."""

    bounds = "<int64[1] four = {4}, float low = {0}, float high = {1}>"
    rewrite = staticmethod(op.make_reproducible)

    def node(
        self,
        name: str,
        seeds: tuple[int, int] | None,
        shape: str = "four",
    ) -> str:
        if seeds is None:
            return f"[{name}] {name} = RandomUniform <shape = [4]> ()"
        said = f'output_type = "f32", global_seed = {seeds[0]}, op_seed = {seeds[1]}'
        return f"[{name}] {name} = onnx_philox.RandomUniform <{said}> ({shape}, low, high)"

    def model(self, seeds: Seeds) -> onnx.ModelProto:
        ports = ", ".join(f"float[4] {name}" for name in seeds)
        body = " ".join(self.node(*each) for each in seeds.items())
        return parse(f"g () => ({ports}) {self.bounds} {{ {body} }}", 18)

    def loop(self, seeds: tuple[int, int]) -> onnx.ModelProto:
        return parse(
            f"""g (float[4] x) => (float[k, 4] y)
            <int64 n = {{2}}, bool go = {{1}}, {self.bounds[1:]} {{
            end, y = Loop (n, go, x) <body = b (int64 i, bool c, float[4] v)
                => (bool d, float[4] w, float[4] out) {{
                d = Identity (c) w = Identity (v) {self.node("out", seeds)} }}> }}""",
            18,
        )

    def rows(self, seeds: tuple[int, int]) -> onnx.ModelProto:
        body = f"shape = Shape (x) {self.node('y', seeds, 'shape')}"
        return parse(f"g (float[batch, 4] x) => (float[batch, 4] y) {self.bounds} {{ {body} }}", 18)

    def with_node(
        self,
        model: onnx.ModelProto,
        name: str,
        seeds: tuple[int, int] | None = None,
    ) -> onnx.ModelProto:
        new = onnx.ModelProto()
        more = self.model({name: seeds}).graph
        new.CopyFrom(model)
        new.graph.node.extend(more.node)
        new.graph.output.extend(more.output)
        return new

    def seeds_of(
        self,
        model: onnx.ModelProto,
    ) -> dict[str, tuple[int, int]]:
        all_nodes = nodes(model)
        ours = [node for node in all_nodes if node.domain == "onnx_philox"]
        said = {node.output[0]: {a.name: a.i for a in node.attribute} for node in ours}
        return {k: (a.get("global_seed", 0), a.get("op_seed", 0)) for k, a in said.items()}

    def record(self, model: onnx.ModelProto) -> dict[str, Any]:
        (entry,) = [e.value for e in model.metadata_props if e.key == "onnx_philox.streams"]
        return json.loads(entry)

    def drawn(
        self,
        model: onnx.ModelProto,
        state: np.ndarray | None = None,
        **feeds: np.ndarray,
    ) -> Arrays:
        """In both runtimes."""
        given = feeds if state is None else {**feeds, "random_state": state}
        names = [output.name for output in model.graph.output]
        outputs = in_both(model, given)
        return dict(zip(names, outputs, strict=True))


class InOpenVino:
    """OpenVINO's own nodes."""

    def rewrite(self, model: ov.Model, **asked: Any) -> ov.Model:
        return op.make_reproducible(model, keep_seeds=True, **asked)

    def node(
        self,
        name: str,
        seeds: tuple[int, int] | None,
        shape: Any = None,
    ) -> ov.Node:
        shape_or_four = [4] if shape is None else shape
        noise = made.uniform(shape_or_four, seeds=seeds or (0, 0))
        return named(noise, name)

    def model(self, seeds: Seeds) -> ov.Model:
        outputs = {name: self.node(name, said) for name, said in seeds.items()}
        return made.model(outputs, [])

    def loop(self, seeds: tuple[int, int]) -> ov.Model:
        x = parameter("x", [2, 4])
        looped = made.iterator(x, lambda s: made.uniform(s, seeds=seeds))
        return made.model({"y": looped}, [x])

    def rows(self, seeds: tuple[int, int]) -> ov.Model:
        x = parameter("x", [-1, 4])
        shape = opset8.shape_of(x)
        return made.model({"y": made.uniform(shape, seeds=seeds)}, [x])

    def with_node(
        self,
        model: ov.Model,
        name: str,
        seeds: tuple[int, int] | None = None,
    ) -> ov.Model:
        new = model.clone()
        node = self.node(name, seeds)
        node.output(0).set_names({name})
        new.add_results([opset8.result(node)])
        return new

    def seeds_of(
        self,
        model: ov.Model,
    ) -> dict[str, tuple[int, int]]:
        all_nodes = model.get_ordered_ops()
        ours = [n for n in all_nodes if n.get_type_info().version_id == "extension"]
        said = {node.get_friendly_name(): node.get_attributes() for node in ours}
        return {name: (a["global_seed"], a["op_seed"]) for name, a in said.items()}

    def record(self, model: ov.Model) -> dict[str, Any]:
        information = model.get_rt_info(["onnx_philox.streams"])
        return json.loads(str(information.value))

    def drawn(
        self,
        model: ov.Model,
        state: np.ndarray | None = None,
        **feeds: np.ndarray,
    ) -> Arrays:
        return made.drawn(model, state, **feeds)


Form = InOnnx | InOpenVino
FORMS = {"ONNX": InOnnx(), "OpenVINO": InOpenVino()}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


def test_nodes_without_seeds_get_the_lowest_streams_that_kept_seeds_leave(form: Form) -> None:
    kept = {
        "a": (9, 0),
        "b": (0, 1),
        "c": (0, 2**32 + 2),
    }
    new = form.rewrite(
        form.model(
            {
                **kept,
                "d": (0, 0),
                "e": None,
                "f": None,
            }
        )
    )
    # 1 and 2 belong to b and c (2^32 + 2); a has a key of its own; d has no seed.
    seeds = form.seeds_of(new)
    assert {name: seeds.pop(name) for name in kept} == kept
    free = [(0, 0), (0, 3), (0, 4)]
    assert sorted(seeds.values()) == free
    assert op.rewriting.find_random_nodes(new) == []
    recorded = form.record(new)
    said = {tuple(node[2:4]) for node in recorded["nodes"] if node[4:]}
    # A d of ours says its 0.
    different = {*kept.values()}
    assert said - {(0, 0)} == different
    assert form.rewrite(new) is new
    # A later rewrite counts no kept number, and takes none.
    later = form.rewrite(form.with_node(new, "later"))
    assert form.seeds_of(later)["later"] == (0, 5)


@pytest.mark.parametrize("seed", [0, 3, 2**32 + 5, 2**63 - 1])
def test_with_a_seed_the_constant_state_has_it_as_its_key(
    form: Form, seed: int, tmp_path: Path
) -> None:
    state = op.PhiloxState.for_run(seed).to_array()
    given = form.model({"y": (150, 10), "n": None})
    new = form.rewrite(given, seed=seed)
    if isinstance(form, InOpenVino):
        new = through_ir(new, tmp_path)
    expected = {"y": (150, 10), "n": (0, 0)}
    assert form.seeds_of(new) == expected
    got = form.drawn(new)
    others = uniform((0, 0), state)
    expected = (uniform((150, 10), state), others)
    assert_all_same((got["y"], got["n"]), expected)
    more = form.with_node(new, "later")
    with pytest.raises(ValueError, match=f"{seed}, the seed that the model was made with"):
        form.rewrite(more, seed=seed ^ 1)
    later = form.rewrite(more, seed=seed)
    expected = uniform((0, 1), state)
    assert_same_bits(form.drawn(later)["later"], expected)
    added = form.with_node(new, "later", (0, 8))
    kept = form.rewrite(added, seed=seed)
    assert form.seeds_of(kept)["later"] == (0, 8)
    # The seed of all kept nodes is not that of the model.
    rewritten = form.rewrite(form.model({"y": (150, 0)}), seed=seed)
    later = form.rewrite(form.with_node(rewritten, "l"))
    expected = uniform((0, 0), state)
    assert_same_bits(form.drawn(later)["l"], expected)


def test_seeds_that_are_the_stream_of_an_earlier_rewrite_are_refused_by_both_names(
    form: Form,
) -> None:
    new = op.make_reproducible(form.model({"first": None}))
    message = (
        r"RandomUniform 'second' .*: the op_seed, beside a global_seed of 0, must be other than "
        r"0 modulo 2\^32, which is the stream of RandomUniform 'first': got 8589934592\."
    )
    added = form.with_node(new, "second", (0, 2**33))
    with pytest.raises(ValueError, match=message):
        form.rewrite(added)


@pytest.mark.parametrize(
    ("seeds", "says"),
    [
        (
            ((3, 0), (3, 0)),
            "draw equal numbers",
        ),
        (
            ((5, 1), (5, 2**32 + 1)),
            "repeat each other's numbers in other runs",
        ),
        (
            ((3, 0), (0, 3)),
            "",
        ),
    ],
)
def test_seeds_that_repeat_each_other_are_named(
    form: Form,
    seeds: tuple[tuple[int, int], ...],
    says: str,
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seeds_of_nodes = dict(zip("yz", seeds, strict=True))
        new = form.rewrite(form.model(seeds_of_nodes))
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == bool(says)
    for text in texts:
        assert says in text
        assert text.count("global_seed") == 2
        for name, (_, op_seed) in zip("yz", seeds, strict=True):
            assert f"'{name}'" in text
            assert f"op_seed {op_seed}" in text
    got = form.drawn(new, STATE)
    is_equal = np.array_equal(got["y"], got["z"])
    assert is_equal == (says == "draw equal numbers")


@pytest.mark.parametrize("seed", [None, 5, 2**32 - 1, 2**63 - 1])
def test_in_a_loop_a_kept_node_draws_on(form: Form, seed: int | None) -> None:
    given = form.loop((150, 10))
    new = form.rewrite(given, seed=seed)
    shape = 4 if isinstance(form, InOnnx) else (2, 4)
    zeros = np.zeros(shape, np.float32)
    for run in (ZEROS, STATE) if seed is None else (None,):
        state = op.PhiloxState.for_run(seed or 0).to_array() if run is None else run
        expected = uniform((150, 10), state, [2, 4])
        got = form.drawn(new, run, x=zeros)
        assert_same_bits(got["y"], expected)


def test_each_row_s_state_is_shifted_by_the_seeds(form: Form) -> None:
    given = form.rows((150, 10))
    new = form.rewrite(given, per_row=True)
    states = op.row_states(0, rows=range(3))
    wanted = uniform((150, 10), states, [3, 4])
    x = np.zeros((3, 4), np.float32)
    got = form.drawn(new, states, x=x)
    assert_same_bits(got["y"], wanted)
    # Row 0 alone draws what the seeds document.
    expected = uniform((150, 10), ZEROS, [1, 4])
    assert_same_bits(wanted[:1], expected)


ONNX = InOnnx()
numbers = np.linspace(0, 3, 150, dtype=np.float32)
LOGITS = numbers.reshape(3, 50)
WARM = np.ones(3, np.float32)


def test_a_hand_written_node_gains_the_state_and_keeps_its_seeds() -> None:
    given = parse("""g (float[b, 50] logits, float[b] t) => (int64[b, 1] token) {
        [pick] token = onnx_philox.RandomToken <op_seed = 1> (logits, t) }""")
    new = op.make_reproducible(given)
    assert ONNX.seeds_of(new) == {"token": (0, 1)}
    feeds = {"logits": LOGITS, "t": WARM}
    for state in (ZEROS, STATE):
        want, _ = op.reference.random_token(
            LOGITS,
            WARM,
            op_seed=1,
            state=state,
        )
        got = ONNX.drawn(new, state, **feeds)
        assert_same_bits(got["token"], want)
    # OpenVINO's front end leaves inputs out, which the state comes after.
    read = op.make_reproducible(CORE.read_model(given.SerializeToString()))
    assert_same_bits(made.drawn(read, STATE, **feeds)["token"], want)
    (alone,) = in_onnxruntime()(given, feeds)
    want, _ = op.reference.random_token(
        LOGITS,
        WARM,
        op_seed=1,
        state=ZEROS,
    )
    answer = op.Pipeline(given)
    assert_all_same((alone, answer(feeds, seed=0)["token"]), (want, want))


def test_every_operator_without_a_state_gains_one_and_keeps_its_outputs() -> None:
    new = op.make_reproducible(
        parse("""g (float[2, 3] x) => (
            float[2, 3] out, bool[2, 3] mask, uint32[6] after, bool[2, 3] flip)
            <int64[2] shape = {2, 3}, float p = {0.5}> {
            [drop] d, mask, after = onnx_philox.RandomDropout <global_seed = 5> (x, p)
            out = Identity (d)
            [flip] flip = onnx_philox.RandomBernoulli <global_seed = 5, op_seed = 7> (shape, p)
            }""")
    )
    declared = {info.name: info.type.tensor_type for info in new.graph.value_info}
    assert declared["d"].elem_type == onnx.TensorProto.FLOAT
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    half = np.float32(0.5)
    seeds = {"global_seed": 5, "op_seed": 7, "state": STATE}
    wanted = op.reference.random_dropout(x, half, global_seed=5, state=STATE)
    flip, _ = op.reference.random_bernoulli([2, 3], half, **seeds)
    following = op.PhiloxState.for_run(42, 4).to_array()
    drawn = ONNX.drawn(new, STATE, x=x)
    expected = [*wanted, flip, following]
    assert_all_same(drawn.values(), expected)


@pytest.mark.parametrize(
    ("ir_version", "opset", "seed"),
    [
        (10, 0, None),
        (3, 8, 0),
        (3, 8, 2**63 - 1),
    ],
)
def test_a_model_of_our_nodes_and_one_of_an_old_opset_gain_the_state(
    ir_version: int, opset: int, seed: int | None
) -> None:
    given = ONNX.model({"y": (0, 5)})
    given.ir_version, given.opset_import[0].version = ir_version, opset
    if not opset:
        del given.opset_import[0]
    else:
        # Where initializers are inputs.
        for held in given.graph.initializer:
            port = helper.make_tensor_value_info(held.name, held.data_type, held.dims)
            given.graph.input.append(port)
    new = op.make_reproducible(given, seed=seed)
    assert op.make_reproducible(new, seed=seed) is new
    state = STATE if seed is None else op.PhiloxState.for_run(seed).to_array()
    expected = uniform((0, 5), state)
    fed = STATE if seed is None else None
    assert_same_bits(ONNX.drawn(new, fed)["y"], expected)


def test_a_function_called_twice_keeps_the_seeds_of_each_call() -> None:
    given = parse(
        """g () => (float[4] y, float[4] z) { y = own.f <s = 3> () z = own.f <s = 4> () }
        <domain: "own", opset_import: ["": 18, "onnx_philox": 1]> f <s> () => (v) {
            shape = Constant <value_ints = [4]> () low = Constant <value_float = 0.0> ()
            high = Constant <value_float = 1.0> ()
            v = onnx_philox.RandomUniform <output_type = "f32", op_seed: int = @s>
                (shape, low, high) }""",
        18,
    )
    got = ONNX.drawn(op.make_reproducible(given), STATE)
    expected = [uniform((0, seed), STATE) for seed in (3, 4)]
    assert_all_same((got["y"], got["z"]), expected)


def test_a_node_gains_the_state_of_the_seed_in_a_rewritten_model() -> None:
    seed = 2**40 + 7
    given = ONNX.model({"noise": None})
    old = op.make_reproducible(given, seed=seed)
    assert ONNX.seeds_of(old)["noise"] == (seed, 0)
    more = ONNX.with_node(old, "later", (0, 5))
    new = op.make_reproducible(more)
    state = op.PhiloxState.for_run(seed).to_array()
    got = ONNX.drawn(new)
    expected = [uniform((0, s), state) for s in (0, 5)]
    assert_all_same((got["noise"], got["later"]), expected)
    again = op.make_reproducible(ONNX.with_node(new, "y", (0, 6)), seed=seed)
    assert ONNX.seeds_of(again)["y"] == (0, 6)


def test_a_request_goes_on_from_the_checkpoint_of_a_model_with_kept_seeds() -> None:
    given = ONNX.model({"y": (0, 5), "noise": None})
    new = op.make_reproducible(given)
    plain = op.make_reproducible(ONNX.model({"noise": None}))
    recorded = ONNX.record(plain)
    assert [len(node) for node in recorded["nodes"]] == [4]
    request = op.Pipeline(new).request(seed=7)
    request({})
    checkpoint = request.checkpoint()
    pipe = op.Pipeline(new, runtime="openvino")
    again = pipe.request(resume=checkpoint)({})
    assert_same_bits(request({})["y"], again["y"])
    written = json.dumps(ONNX.record(new), separators=(",", ":"))
    assert op.Pipeline(new).streams.to_json() == written
    with pytest.raises(ValueError, match="checkpoint"):
        op.Pipeline(plain).request(resume=checkpoint)


def test_what_needs_no_state_stays() -> None:
    def of_torch(model: onnx.ModelProto) -> onnx.ModelProto:
        alignment = helper.make_attribute("alignment", "pytorch")
        model.graph.node[0].attribute.append(alignment)
        return model

    given = ONNX.model({"y": (5, 0)})
    alone = of_torch(given)
    assert op.make_reproducible(alone) is alone
    both = of_torch(ONNX.model({"y": (5, 0), "noise": None}))
    with_state = op.make_reproducible(both)
    assert ONNX.seeds_of(with_state)["noise"] == (0, 0)
    want, _ = op.reference.random_uniform(
        [4],
        0,
        1,
        "f32",
        global_seed=5,
        alignment="pytorch",
    )
    answer = op.Pipeline(with_state)
    assert_same_bits(answer({}, seed=1)["y"], want)
    assert ONNX.record(with_state).get("alignment") is None
    # A pipeline of a model that has a state leaves what its user wrote beside it.
    beside = ONNX.with_node(with_state, "later", (0, 5))
    assert_same_bits(op.Pipeline(beside)({}, seed=1)["later"], uniform((0, 5)))
    # Nor can own seeds be torch's.
    message = "RandomUniform 'a' .*: the seeds must be left out with alignment 'pytorch', .*: got "
    with pytest.raises(ValueError, match=f"{message}global_seed 0 and op_seed 5"):
        op.make_reproducible(ONNX.model({"a": (0, 5)}), alignment="pytorch")


@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_node_in_a_model_of_openvino_gains_the_state(backend: str, tmp_path: Path) -> None:
    logits = parameter("logits", [3, 50])
    node = op.openvino.random_token(logits, op_seed=1, name="token")
    half = np.float32(0.5)
    drop = op.openvino.random_dropout(logits, half, global_seed=5)
    outputs = {
        "t": node.output(0),
        "d": drop.output(0),
        "k": drop.output(1),
        "s": drop.output(2),
    }
    given = made.model(outputs, [logits])
    ov.save_model(given, tmp_path / "m.xml")
    read = OpenVino(backend)
    new = op.make_reproducible(read.read(tmp_path / "m.xml"))
    token, _ = op.reference.random_token(LOGITS, op_seed=1, state=STATE)
    dropped = op.reference.random_dropout(
        LOGITS,
        np.float32(0.5),
        global_seed=5,
        state=STATE,
    )
    got = made.drawn(new, STATE, logits=LOGITS)
    drawn = [got[name] for name in "tdks"]
    assert_all_same(drawn, [token, *dropped])
    assert op.make_reproducible(new) is new
    pipe = op.Pipeline(tmp_path / "m.xml", runtime="openvino")
    answer = pipe({"logits": LOGITS}, seed=0)
    expected = op.reference.random_token(LOGITS, op_seed=1)[0]
    assert_same_bits(answer["t"], expected)


def test_the_commands_say_whose_seeds_stay(tmp_path: Path) -> None:
    given = ONNX.model({"y": (0, 5), "noise": None})
    onnx.save(given, path := tmp_path / "m.onnx")
    assert "global_seed 0 and op_seed 5" in cli.text("inspect", path)
    told = cli.text("rewrite", path, "-o", tmp_path / "n.onnx")
    assert "1 node keeps its seeds" in told
