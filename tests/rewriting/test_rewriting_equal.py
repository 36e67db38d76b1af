"""Draws that are equal on purpose stay equal: by a key of TensorFlow's, or by an explicit seed."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest

import onnx_philox as op
from onnx_philox.onnxruntime import InferenceSession
from tests.common import cli
from tests.common import openvino_models as made
from tests.common.cases import assert_all_same, assert_same_bits, warned
from tests.common.foreign import in_both, parse
from tests.common.foreign import uniform as of_stream
from tests.common.openvino_models import parameter
from tests.common.standard_targets import RUN
from tests.rewriting.test_rewriting_foreign import FOREIGN, SEEDED

# Word 0 of the second and the third carries, and crosses what int32 holds.
STATES = [
    op.PhiloxState.for_run(0xFEDC_BA98_8765_4321, run=0x9000_0001).to_array(),
    op.PhiloxState(counter=2**64 - 2, key=2**64 - 1).to_array(),
    op.PhiloxState(counter=2**31 - 2, key=5).to_array(),
]
STATE = STATES[0]

CONSTANTS = """go = Constant <value = bool {1}> ()
    key = Constant <value = uint64[1] {7}> ()
    same = Constant <value = int64 {7}> ()
    counter = Constant <value = uint64[2] {0, 0}> ()
    alg = Constant <value = int32 {1}> ()"""


def uniform(
    size: int,
    op_seed: int = 0,
    state: np.ndarray = STATE,
) -> np.ndarray:
    return of_stream([size], op_seed, state)


def after(size: int, state: np.ndarray) -> np.ndarray:
    return op.reference.random_uniform([size], 0, 1, "f32", state=state)[1]


UNIFORM = "StatelessRandomUniformV2 <dtype = 1>"

# Two draws of one key, or of two: where they have the key from, and which streams they have.
PAIRS = {
    "constants of other types and shapes": ("", "key, counter", "same, counter", 0),
    "a value behind a Reshape": ("k = Reshape (key, shape1)", "key, counter", "k, counter", 0),
    "an input behind casts": ("k = Cast <to = 7> (fed)", "fed, counter", "k, counter", 0),
    "two operators of one seed": (
        """k, ctr = StatelessRandomGetKeyCounter (seed)
           l, ctr2, by = StatelessRandomGetKeyCounterAlg (s2)""",
        "k, ctr",
        "l, ctr2",
        0,
    ),
    "equal sums": ("k = Add (fed, fed) l = Add (fed, fed)", "k, counter", "l, counter", 0),
    "other sums": ("k = Add (fed, fed) l = Mul (fed, fed)", "k, counter", "l, counter", 1),
    "other counters": ("one = Add (counter, counter)", "key, counter", "key, one", 1),
    "other keys": ("", "key, counter", "shape1, counter", 1),
    "a cast of as many bits": ("k = Cast <to = 13> (wide)", "wide, counter", "k, counter", 0),
    "a cast that cuts": ("k = Cast <to = 6> (wide)", "wide, counter", "k, counter", 1),
    "a product that overflows": (
        """k32 = Constant <value = int32 {65536}> () k = Mul (k32, k32)
           l64 = Constant <value = int64 {65536}> () l = Mul (l64, l64)""",
        "k, counter",
        "l, counter",
        1,
    ),
    "a clock, read twice": ("k = Timestamp () l = Timestamp ()", "k, counter", "l, counter", 1),
    "functions of clocks": ("k = own.now () l = own.now ()", "k, counter", "l, counter", 1),
    "functions of one seed": ("k = own.key (fed) l = own.key (fed)", "k, counter", "l, counter", 0),
    "keys that are drawn": (
        "k = RandomUniformInt (shape1, low, high) l = RandomUniformInt (shape1, low, high)",
        "k, counter",
        "l, counter",
        3,
    ),
}


def model_of(pair: str) -> onnx.ModelProto:
    before, one, other, _ = PAIRS[pair]
    return parse(
        f"""g (int32[1] shape, int32[1] fed, int64[1] wide, int32[2] seed)
            => (float[N] a, float[N] b, float[N] c, int64[4] z) {{
            {CONSTANTS}
            shape1 = Constant <value = int64[1] {{1}}> ()
            low = Constant <value = int32 {{0}}> () high = Constant <value = int32 {{9}}> ()
            s2 = Identity (seed) others = Add (wide, wide)
            read = Cast <to = 7> (fed) it = Cast <to = 7> (seed)
            z = Concat <axis = 0> (read, wide, it)
            {before}
            a = {UNIFORM} (shape, {one}, alg)
            b = {UNIFORM} (shape, {other}, alg)
            c = {UNIFORM} (shape, others, counter, alg)
        }}
        <domain: "own", opset_import: ["": 17]> now () => (t) {{ t = Timestamp () }}
        <domain: "own", opset_import: ["": 17]> key (x) => (k) {{ k = Add (x, x) }}"""
    )


@pytest.mark.parametrize("pair", PAIRS)
def test_nodes_of_one_key_draw_equal_numbers(pair: str) -> None:
    model = model_of(pair)
    stream = PAIRS[pair][-1]
    report = op.rewriting.rewrite(ir.from_proto(model))
    first = len(report.replaced) - 3
    expected = [first, stream, first + 2]
    assert [node.stream for node in report.replaced][first:] == expected
    if pair != "keys that are drawn" and "clock" not in pair:
        new = op.make_reproducible(model)
        feeds = {
            "shape": np.int32([5]),
            "fed": np.int32([3]),
            "wide": np.int64([3]),
        }
        feeds |= {"seed": np.int32([3, 4]), "random_state": STATE}
        a, b, c, *_ = in_both(new, feeds)
        for values, op_seed in ((a, 0), (b, stream), (c, 2)):
            assert_same_bits(values, uniform(5, op_seed))


NARROW = ("INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT8E8M0")


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations_with_replacement(NARROW, 2)])
def test_constants_of_equal_bytes_are_one_key_only_where_their_types_are_equal(
    one: str, other: str
) -> None:
    draws = [f"{u} = {UNIFORM} (shape, key_{u}, counter, alg)" for u in "ab"]
    keys = [f"two_{u} = Concat <axis = 0> (of_{u}, of_{u})" for u in "ab"]
    casts = [f"key_{u} = Cast <to = 13> (two_{u})" for u in "ab"]
    model = parse(
        f"""g (int32[1] shape) => (float[N] a, float[N] b) {{
        {CONSTANTS} {" ".join((*keys, *casts, *draws))} }}""",
        25,
    )
    for name, type_ in (("of_a", one), ("of_b", other)):
        # One byte is 7 in one type, and a quarter or so in another.
        code = onnx.TensorProto.DataType.Value(type_)
        model.graph.initializer.append(onnx.helper.make_tensor(name, code, [1], b"\x07", raw=True))
    report = op.rewriting.rewrite(ir.from_proto(model))
    expected = [0, 0 if one == other else 1]
    assert [node.stream for node in report.replaced] == expected


def test_texts_are_one_key_where_they_are_equal() -> None:
    model = parse(
        f"""g (int32[1] shape) => (float[N] a, float[N] b, float[N] c) {{
        {CONSTANTS} k = own.hash (one) l = own.hash (two) m = own.hash (three)
        a = {UNIFORM} (shape, k, counter, alg) b = {UNIFORM} (shape, l, counter, alg)
        c = {UNIFORM} (shape, m, counter, alg) }}
        <domain: "own", opset_import: ["": 17]> hash (x) => (k) {{ k = Size (x) }}"""
    )
    for name, text in (("one", b"train"), ("two", b"trial"), ("three", b"train")):
        tensor = onnx.helper.make_tensor(name, onnx.TensorProto.STRING, [1], [text])
        model.graph.initializer.append(tensor)
    report = op.rewriting.rewrite(ir.from_proto(model))
    assert [node.stream for node in report.replaced] == [0, 1, 0]


LOOP = f"""g (int32[1] shape, int32[1] small, int64 trips)
    => (float[N] first, float[T, N] a, float[T, N] b, float[T, N] c, float[T, M] d,
        float[T, N] e) {{
    {CONSTANTS} first = {UNIFORM} (shape, key, counter, alg)
    k, a, b, c, d, e = Loop (trips, go, key) <body = body (int64 i, bool on, uint64[1] carried)
        => (bool go_on, uint64[1] as_it_was, float[N] u, float[N] v, float[N] w, float[M] x,
        float[N] y) {{
        go_on = Identity (on) as_it_was = Identity (carried)
        u = {UNIFORM} (shape, key, counter, alg) v = {UNIFORM} (shape, carried, counter, alg)
        axis = Constant <value = int64[1] {{0}}> () one = Unsqueeze (i, axis)
        w = {UNIFORM} (shape, one, counter, alg) x = {UNIFORM} (small, i, counter, alg)
        low = Constant <value = int32 {{0}}> () high = Constant <value = int32 {{9}}> ()
        anew = RandomUniformInt (shape, low, high) y = {UNIFORM} (shape, anew, counter, alg)
    }}>
}}"""


@pytest.mark.parametrize("state", STATES, ids=["a run", "a carry", "over int32"])
@pytest.mark.parametrize(
    ("size", "small"),
    [
        (9, 3),
        (3, 9),
        (4, 4),
        (0, 5),
    ],
)
def test_a_loop_draws_anew_by_a_key_that_it_computes_and_else_the_same(
    state: np.ndarray, size: int, small: int
) -> None:
    feeds = {
        "shape": np.int32([size]),
        "small": np.int32([small]),
        "trips": np.array(3),
    }
    new = op.make_reproducible(parse(LOOP))
    first, a, b, c, d, e, _ = in_both(new, feeds | {"random_state": state})
    begin = of_drawn = state
    for i in range(3):
        for same in (first, a[i], b[i]):
            assert_same_bits(same, uniform(size, 0, state))
        assert_same_bits(c[i], uniform(size, 3, begin))
        assert_same_bits(d[i], uniform(small, 3, begin))
        assert_same_bits(e[i], uniform(size, 6, of_drawn))
        of_drawn = after(size, of_drawn)
        # Behind what any of them used.
        begin = after(max(size, small), begin)


@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_standard_nodes_of_one_stream_draw_equal_numbers(target: str) -> None:
    feeds = {
        "shape": np.int32([9]),
        "small": np.int32([3]),
        "trips": np.array(3),
    }
    feeds |= {"random_state": STATE}
    new = op.make_reproducible(parse(LOOP, 18))
    drawn = RUN[target](op.to_standard_nodes(new, target=target), feeds, optimised=True)
    assert_all_same(drawn, InferenceSession(new).run(None, feeds))


NESTED = f"""g (int32[1] shape, int64 trips, bool t) => (float[T, 2, N] a, float[T, N] b)
    <int64 two = {{2}}, int32 one = {{1}}> {{
    {CONSTANTS} most = Add (shape, one)
    a, b = Loop (trips, go) <body = outer (int64 i, bool k)
        => (bool on, float[2, N] u, float[N] v) {{
        on = Identity (k) yes = Constant <value = bool {{1}}> ()
        u = Loop (two, yes) <body = inner (int64 j, bool kk) => (bool still, float[N] uu) {{
            still = Identity (kk) less = Cast <to = 6> (j) size = Sub (most, less)
            longer = {UNIFORM} (size, i, counter, alg)
            start = Constant <value = int64[1] {{0}}> () end = Cast <to = 7> (shape)
            uu = Slice (longer, start, end) }}>
        v = If (t) <
            then_branch = yes () => (float[N] y) {{ y = {UNIFORM} (shape, i, counter, alg) }},
            else_branch = no () => (float[N] n) {{
                drawn = {UNIFORM} (shape, i, counter, alg) n = Neg (drawn) }}>
    }}>
}}"""


@pytest.mark.parametrize("taken", [True, False])
def test_an_inner_loop_and_branches_draw_the_same_by_a_key_of_the_loop_around_them(
    *, taken: bool
) -> None:
    feeds = {
        "shape": np.int32([4]),
        "trips": np.array(3),
        "t": np.array(taken),
    }
    feeds |= {"random_state": STATE}
    a, b, _ = in_both(op.make_reproducible(parse(NESTED)), feeds)
    begin = STATE
    for i in range(3):
        drawn = uniform(4, 0, begin)
        assert_same_bits(a[i], np.stack([drawn, drawn]))
        assert_same_bits(b[i], drawn if taken else -drawn)
        begin = after(5, begin)


SCAN = f"""g (int32[1] shape, float[T] x)
    => (float[N] first, float[T, N] a, float[T, N] b, float[T, N] c) <int64[1] zero = {{0}}> {{
    {CONSTANTS} first = {UNIFORM} (shape, key, counter, alg)
    s, k, n, a, b, c = Scan <num_scan_inputs = 1, body = body (
        int32[1] size, uint64[1] carried, int64[1] count, float row) => (
        int32[1] size_too, uint64[1] as_it_was, int64[1] counted,
        float[N] u, float[N] v, float[N] w) {{
        size_too = Identity (size) as_it_was = Identity (carried)
        one = Constant <value = int64[1] {{1}}> () counted = Add (count, one)
        from = Constant <value = uint64[2] {{0, 0}}> () by = Constant <value = int32 {{1}}> ()
        drawn = {UNIFORM} (size, carried, from, by) u = Add (drawn, row)
        v = {UNIFORM} (size, count, from, by) w = {UNIFORM} (size, count, from, by)
    }}> (shape, key, zero, x)
}}"""

MAPPED = """
    y{0} = Loop (three, go) <body = b{0} (int64 i, bool ci) => (bool co, float[N] u{0}) {{
        co = Identity (ci) k{0} = Gather ({1}, i) u{0} = {2} (shape, k{0}, counter, alg) }}>"""
SCANNED = """
    y{0} = Scan <num_scan_inputs = 1, body = b{0} (uint64[1] k{0}) => (float[N] u{0}) {{
        c{0} = Constant <value = uint64[2] {{0, 0}}> () a{0} = Constant <value = int32 {{1}}> ()
        s{0} = Constant <value_ints = [5]> () u{0} = {2} (s{0}, k{0}, c{0}, a{0}) }}> ({1})"""


@pytest.mark.parametrize("way", [MAPPED, SCANNED])
@pytest.mark.parametrize("second", ["keys", "others"])
def test_two_loops_by_one_sequence_of_keys_are_named(way: str, second: str) -> None:
    first, last = (way.format(i, keys, UNIFORM) for i, keys in enumerate(("keys", second)))
    model = parse(
        f"""g (int32[1] shape, uint64[3, 1] keys, uint64[3, 1] others) => (float[T, N] y0,
        float[T, N] y1) {{ {CONSTANTS} three = Constant <value_int = 3> () {first} {last} }}"""
    )
    said = [text.split(":")[0] for text in warned(lambda: op.make_reproducible(model))]
    wanted = ["nodes in several loops share one sequence of keys"]
    assert said == wanted * (second == "keys")


def test_in_a_scan_the_state_of_a_key_that_stays_goes_round_unchanged() -> None:
    feeds = {
        "shape": np.int32([5]),
        "x": np.zeros(3, np.float32),
        "random_state": STATE,
    }
    first, a, b, c, _ = in_both(op.make_reproducible(parse(SCAN)), feeds)
    begin = STATE
    for i in range(3):
        assert_same_bits(first, uniform(5))
        assert_same_bits(a[i], first)
        assert_same_bits(b[i], uniform(5, 2, begin))
        assert_same_bits(c[i], b[i])
        begin = after(5, begin)


def test_each_row_draws_by_its_own_state_what_its_key_says() -> None:
    model = parse(
        f"""g (float[N, 3] x, int64 trips) => (float[N, 3] a, float[T, N, 3] b, float[T, N, 1] c) {{
            {CONSTANTS} sizes = Shape (x) shape = Cast <to = 6> (sizes)
            a = {UNIFORM} (shape, key, counter, alg)
            b, c = Loop (trips, go) <body = body (int64 i, bool k)
                => (bool on, float[N, 3] u, float[N, 1] w) {{
                on = Identity (k) u = {UNIFORM} (shape, i, counter, alg)
                zero = Constant <value = int64[1] {{0}}> ()
                one = Constant <value = int64[1] {{1}}> ()
                rows = Slice (sizes, zero, one) narrow = Concat <axis = 0> (rows, one)
                size = Cast <to = 6> (narrow) w = {UNIFORM} (size, i, counter, alg) }}>
        }}"""
    )
    new = op.make_reproducible(model, per_row=True)
    states = op.row_states([3, 8])
    x = np.zeros((2, 3), np.float32)
    both = in_both(
        new,
        {
            "x": x,
            "trips": np.array(2),
            "random_state": states,
        },
    )
    for row in range(2):
        feeds = {
            "x": x[:1],
            "trips": np.array(2),
            "random_state": states[row : row + 1],
        }
        alone = InferenceSession(new).run(None, feeds)
        assert_same_bits(both[0][row], alone[0][0])
        for k in (1, 2):
            expected = alone[k][:, 0]
            assert_same_bits(both[k][:, row], expected)
        expected = both[1][:, row, 0]
        assert_same_bits(both[2][:, row, 0], expected)


ONE_KEY = {
    "nodes of one key": f"""g (int32[1] shape) => (float[N] a, float[N] b) {{ {CONSTANTS}
        a = {UNIFORM} (shape, key, counter, alg) b = {UNIFORM} (shape, key, counter, alg) }}""",
    "a key that a loop keeps": f"""g (int32[1] shape, int64 trips) => (float[T, N] a) {{
        {CONSTANTS} a = Loop (trips, go) <body = b (int64 i, bool k) => (bool on, float[N] u) {{
            on = Identity (k) u = {UNIFORM} (shape, key, counter, alg) }}> }}""",
}


@pytest.mark.parametrize("name", ONE_KEY)
def test_one_generator_of_torch_s_draws_nothing_twice(name: str) -> None:
    with pytest.raises(ValueError, match=r"the key must be one of its own, .* torch has one gen"):
        op.make_reproducible(parse(ONE_KEY[name]), alignment="pytorch")


def test_by_default_nodes_of_one_seed_draw_their_own_numbers_and_one_warning_says_so() -> None:
    with pytest.warns(UserWarning, match="nodes of equal seeds repeat each other") as caught:
        report = op.rewriting.rewrite(ir.from_proto(parse(SEEDED)))
    expected = [0, 1, 2, 3, 4, 5]
    assert [node.stream for node in report.replaced] == expected
    (text,) = (str(warning.message) for warning in caught)
    first = "the Dropout that gives 'a', the Dropout that gives 'b'"
    second = "the RandomShuffle that gives 'd', the RandomShuffle that gives 'e'"
    assert f"own: seed 12 of {first}; seed 8 and seed2 7 of {second}. With keep_seeds=True" in text


def of_one_seed(seed: float) -> str:
    draws = " ".join(f"{name} = RandomUniform <shape = [3], seed = {seed}> ()" for name in "ab")
    return f"g () => (float[3] a, float[3] b) {{ {draws} }}"


TWICE = FOREIGN["a function called twice, which has its seed twice"].text


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        # One generator of torch's keeps no seeds: none is offered.
        (
            of_one_seed(1.0),
            {"alignment": "pytorch"},
            "seed 1 of the RandomUniform that gives 'a', the RandomUniform that gives 'b'$",
        ),
        (TWICE, {}, "seed 3 of node, "),
    ],
)
def test_a_warning_names_the_nodes_of_a_seed(
    text: str,
    asked: dict[str, str],
    words: str,
) -> None:
    with pytest.warns(UserWarning, match=words):
        op.make_reproducible(parse(text), **asked)


def test_kept_seeds_of_an_onnx_model_are_in_its_records_and_checkpoints(tmp_path: Path) -> None:
    model = parse(SEEDED)
    onnx.save(model, tmp_path / "m.onnx")
    pipe = op.Pipeline(tmp_path / "m.onnx", keep_seeds=True)
    x = np.arange(1, 21, dtype=np.float32).reshape(10, 2)
    again = pipe({"x": x, "v": x[:, 0].copy()}, seed=1)
    (tmp_path / "r.json").write_text(json.dumps(again.record()))
    assert "Equal" in cli.text("replay", tmp_path / "r.json")
    assert_same_bits(again["a"], again["b"])
    new = op.make_reproducible(model, keep_seeds=True)
    expected = pipe.request(seed=1).checkpoint()
    assert op.Pipeline(new).request(seed=1).checkpoint() == expected


def test_a_second_rewrite_leaves_the_shared_streams_and_gives_new_nodes_others() -> None:
    new = op.make_reproducible(parse(SEEDED), keep_seeds=True)
    added = onnx.helper.make_node(
        "RandomUniform",
        [],
        ["g"],
        shape=[3],
        seed=12.0,
    )
    new.graph.node.append(added)
    report = op.rewriting.rewrite(ir.from_proto(new), keep_seeds=True)
    assert [node.stream for node in report.replaced] == [6]


@pytest.mark.parametrize(
    ("node", "seed"),
    [
        ("RandomShuffle <seed = 3> (x)", "seed 3 and seed2 0"),
        ("RandomShuffle <seed = 0, seed2 = 0> (x)", None),
        ("RandomUniformLike <seed = 0.0> (x)", "seed 0"),
        ("RandomUniformLike <seed = 0.1> (x)", "seed 0.1"),
        ('GaussianNoise <seed = "none"> (x)', None),
    ],
)
def test_a_seed_is_what_the_operator_s_framework_means_by_it(node: str, seed: str | None) -> None:
    (found,) = op.rewriting.find_random_nodes(
        parse(f"g (float[2] x) => (float[2] y) {{ y = {node} }}")
    )
    assert found.explicit_seed == seed


def test_the_commands_say_which_nodes_have_one_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    onnx.save(parse(SEEDED), tmp_path / "model.onnx")
    said = cli.invoke("inspect", tmp_path / "model.onnx").stdout
    names = "the RandomShuffle that gives 'd', the RandomShuffle that gives 'e'"
    assert re.search(f"{names} +seed 8 and seed2 7: in TensorFlow they", said)
    names = "rewrite", tmp_path / "model.onnx", "-o", tmp_path / "new.onnx"
    assert "Warning: nodes of equal seeds" in cli.invoke(*names).stdout
    kept = cli.invoke(*names, "--keep-seeds").stdout
    assert "2 nodes of seed 8 and seed2 7 draw equal numbers, from one stream." in kept
    # A seed of 0 in every node means nothing.
    onnx.save(parse(of_one_seed(0.0)), names[1])
    of_0 = cli.invoke(*names).stdout
    assert "2 nodes of seed 0 draw numbers of their own." in of_0
    assert "Warning" not in kept + of_0


def test_equal_seeds_of_a_model_of_openvino_s_are_warned_of_or_kept() -> None:
    logits = parameter("logits", [1, 4])
    seeds = {"global_seed": 5, "op_seed": 6}
    count = np.int32([40])
    outputs = {name: made.uniform([3], seeds=(5, 6)) for name in "ab"}
    outputs |= {
        name: ov.opset13.multinomial(logits, count, "i64", True, False, **seeds) for name in "cd"
    }
    for name, node in outputs.items():
        node.set_friendly_name(name)
    model = made.model(outputs, [logits])
    with pytest.warns(UserWarning, match=r"global_seed 5 and op_seed 6 of .*a.* With keep_seeds"):
        op.make_reproducible(model)
    with pytest.warns(UserWarning, match="'b' .* and RandomUniform 'a' .*, draw equal numbers"):
        pipe = op.Pipeline(model, runtime="openvino", keep_seeds=True)
    a, b, c, d = pipe({"logits": np.float32([[1, 2, 3, 4]])}, seed=3).values()
    assert_all_same((a, c), (b, d))
