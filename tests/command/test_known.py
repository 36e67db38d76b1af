"""The table of known behaviours: each row in the bare runtime, and what `inspect` says of a model.

Each row has a test here that runs the runtime without this package, on valid input. It is red where
a release that the row names behaves otherwise; of another release the suite's last lines say so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as ir
import openvino as ov
import pytest
from onnx import parser

import onnx_philox
from onnx_philox._command import libraries
from onnx_philox._command.inspect import search, trials
from onnx_philox._command.inspect.known import (
    ROWS,
    KnownBehaviour,
    known_in_ir,
    known_in_onnx,
    met_nodes,
)
from onnx_philox._command.inspect.known import known_seeds as of_seeds
from onnx_philox._command.inspect.known import probed as in_probes
from onnx_philox._command.inspect.today import Today
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from tests.command.bare import (
    BARE,
    MERGED,
    MERGED_IN_IR,
    OF_A_FUNCTION,
    RANGES,
    RATIO,
    X,
    compiles_in_openvino,
    drawn_by_openvino,
    integers,
    of_onnx,
    of_two_uniforms,
    repeat,
    times,
)
from tests.command.structures import ROWS_OF_X, STRUCTURES, pair
from tests.common import cli
from tests.common.runtimes import bare_session

EVERY = (*ROWS, *known_in_ir.ROWS)


def test_each_row_of_the_table_is_run() -> None:
    assert sorted(BARE) == sorted(row.name for row in EVERY)
    assert all(row.after and row.says for row in EVERY)


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row.name)
def test_the_bare_runtime_does_what_a_row_says(
    row: KnownBehaviour, record_property: Callable[[str, object], None]
) -> None:
    here = {name: libraries.version_of(name) for name in row.seen_in}
    is_so = BARE[row.name]()
    if here == row.seen_in or "KNOWN_BEHAVIOURS" in os.environ:
        assert is_so
    elif not is_so:
        changed = f"{row.name}: seen in {dict(row.seen_in)}, and otherwise in {here}"
        record_property("known behaviour", changed)


NOISE = "n = RandomUniformLike (x)"
THREE = "c = Constant <value_float = 3.0> ()"
ONE = "c = Constant <value_float = 1.0> ()"
MINUS_ONE = "c = Constant <value_float = -1.0> ()"
CHAINS = [
    "n = RandomUniform <shape = [64]> ()  y = Sub (x, n)",
    "n = RandomNormalLike (x)  y = Sub (x, n)",
    f"{NOISE}  l = Log (n)  y = Sub (x, l)",
    f"{NOISE}  l = Sqrt (n)  y = Sub (x, l)",
    f"{NOISE}  {THREE}  l = Mul (n, c)  y = Sub (x, l)",
    f"{NOISE}  {ONE}  l = Sub (c, n)  y = Mul (x, l)",
    f"{NOISE}  l = Neg (n)  y = Add (x, l)",
    f"{NOISE}  {MINUS_ONE}  l = Mul (n, c)  y = Add (x, l)",
    f"{NOISE}  l = Mul (n, n)  y = Sub (x, l)",
]
"""OpenVINO draws these once."""

TWO_NOISES = [
    f"{NOISE}  m = RandomNormalLike (x)  l = Mul (n, m)  y = Sub (x, l)",
    f"{NOISE}  m = RandomUniform <shape = [64]> ()  k = Log (m)  l = Add (n, k)  y = Sub (x, l)",
]
"""OpenVINO draws both of each once."""

FRESH = [
    f"{NOISE}  y = Sub (n, x)",
    f"{NOISE}  l = Mul (n, x)  y = Sub (x, l)",
    f"{NOISE}  l = Neg (n)  y = Mul (x, l)",
    f"{NOISE}  {THREE}  l = Mul (n, c)  y = Add (x, l)",
    f"{NOISE}  y = Div (x, n)",
]


@pytest.mark.parametrize(("body", "results", "is_merged"), MERGED)
def test_inspect_says_which_nodes_without_seeds_openvino_merges(
    body: str, results: str, is_merged: bool, tmp_path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(of_onnx(body, results), path)
    nodes = cli.document("inspect", path)["random_nodes"]
    said = [
        [known["says"] for known in node["today"]["openvino"]["known"] if known["is_wrong"]]
        for node in nodes
    ]
    expected: list[list[str]] = [[], []]
    if is_merged:
        rest = "once, as one node: they read the same, and neither has a seed."
        kind = nodes[0]["op_type"]
        expected = [
            [f"OpenVINO draws it and the {kind} that gives 'b' {rest}"],
            [f"OpenVINO draws it and the {kind} that gives 'a' {rest}"],
        ]
    assert said == expected


@pytest.mark.parametrize(("options", "is_merged"), MERGED_IN_IR)
def test_inspect_says_which_seeds_of_0_openvino_merges(options, is_merged, tmp_path) -> None:
    path = tmp_path / "model.xml"
    model = of_two_uniforms(**options)
    ov.save_model(model, path, compress_to_fp16=False)
    nodes = cli.document("inspect", path)["random_nodes"]
    others = [node["name"] for node in nodes][::-1]
    said = [
        [known["says"] for known in node["today"]["openvino"]["known"] if known["is_wrong"]]
        for node in nodes
    ]
    expected: list[list[str]] = [[], []]
    if is_merged:
        rest = "once, as one node: they read the same, and their seeds are 0."
        expected = [[f"OpenVINO draws it and {other} {rest}"] for other in others]
    assert said == expected


@pytest.mark.parametrize("body", [*CHAINS, *FRESH])
def test_inspect_says_of_noise_below_a_subtract_what_openvino_does(body, tmp_path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(of_onnx(body), path)
    is_frozen = body in CHAINS
    assert repeat(drawn_by_openvino(onnx.load(path))) is is_frozen
    (node,) = cli.document("inspect", path)["random_nodes"]
    names = [known["name"] for known in node["today"]["openvino"]["known"]]
    assert ("noise on the right of a Subtract" in names) is is_frozen
    does = "different numbers each session" if is_frozen else "different numbers each run"
    assert node["today"]["openvino"]["does"] == does
    assert node["today"]["onnxruntime"]["does"] == "different numbers each run"


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("body", [*TWO_NOISES, CHAINS[1]])
def test_noise_that_goes_through_other_noise_is_drawn_once_too(body, suffix, tmp_path) -> None:
    path = tmp_path / f"model{suffix}"
    model = of_onnx(body)
    assert repeat(drawn_by_openvino(model))
    if suffix == ".onnx":
        onnx.save(model, path)
    else:
        core = ov.Core()
        ov.save_model(core.read_model(model.SerializeToString()), path, compress_to_fp16=False)
    nodes = cli.document("inspect", path)["random_nodes"]
    for node in nodes:
        names = [known["name"] for known in node["today"]["openvino"]["known"]]
        assert "noise on the right of a Subtract" in names


# A model, and the factor that `inspect` names; None where OpenVINO compiles it.
PRODUCTS = [
    (f"{times(-2.0)}  y = Add (x, l)", "-2"),
    (f"{times(3.0)}  k = Constant <value_float = -0.5> ()  m = Mul (k, l)  y = Add (x, m)", "-0.5"),
    (f"{times(-1.0)}  y = Mul (x, l)", "-1"),
    (f"{times(-1.0)}  y = Add (x, l)", None),
    (f"{times(2.0)}  y = Add (x, l)", None),
    (f"{times(-2.0)}  m = Add (x, l)  y = Mul (m, n)", None),
    ("n = RandomUniformLike (x)  l = Mul (n, x)  y = Sub (l, x)", None),
]


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize(("body", "factor"), PRODUCTS)
def test_inspect_says_where_openvino_does_not_swap_bounds(body, factor, suffix, tmp_path) -> None:
    path = tmp_path / f"model{suffix}"
    model = of_onnx(body)
    assert compiles_in_openvino(model) is (factor is None)
    if suffix == ".onnx":
        onnx.save(model, path)
    else:
        read = ov.Core().read_model(model.SerializeToString())
        ov.save_model(read, path, compress_to_fp16=False)
    (node,) = cli.document("inspect", path)["random_nodes"]
    today = node["today"]["openvino"]
    assert (today["does"] == "does not load") is (factor is not None)
    said = [known["says"] for known in today["known"] if "bounds" in known["says"]]
    whole = (
        f"It multiplies the bounds of a uniform by the {factor} behind it, and does not swap them."
    )
    assert said == ([] if factor is None else [whole])


@pytest.mark.parametrize(("dtype", "low", "high", "is_cut"), RANGES)
def test_inspect_says_which_integers_openvino_does_not_draw(dtype, low, high, is_cut, tmp_path):
    path, new = tmp_path / "m.xml", tmp_path / "n.xml"
    ov.save_model(integers(dtype, low, high), path)
    (node,) = cli.document("inspect", path)["random_nodes"]
    whole = (
        f"Of the integers from {low} to {high} it draws only some, or always the same one: it "
        "computes them in 31 bits."
    )
    said = [known["says"] for known in node["today"]["openvino"]["known"]]
    assert (whole in said) is is_cut
    cli.document("rewrite", path, "-o", new)
    (drawn,) = onnx_philox.Pipeline(new, runtime="openvino")({}, seed=1).values()
    assert int(drawn.max()) > high - (high - low) // 10


@pytest.mark.parametrize(("body", "runtime", "sentences"), STRUCTURES)
def test_a_structure_that_meets_a_row_is_recognised(body, runtime, sentences) -> None:
    model = ir.from_proto(of_onnx(body, body.rsplit("  ", 1)[-1].split("] ")[-1].split(" ")[0]))
    types = Types(model)
    met = [met_nodes.Met(each.node, each.record, types) for each in search.search(model).nodes]
    among = met_nodes.MetNodes(met)
    found = [s for each in met for s in known_in_onnx.said(each, among, runtime, is_drawn=True)]
    assert [each.text for each in found] == sentences


@pytest.mark.parametrize(
    ("one", "other", "repeats"),
    [
        ("a = RandomNormalLike (x)", "b = RandomNormalLike (x)", True),
        ("a = RandomNormalLike (x)", "b = RandomUniformLike (x)", False),
        ("a = RandomNormalLike (x)", "n = Neg (x)  b = RandomNormalLike (n)", False),
    ],
)
def test_branches_repeat_each_other_where_it_is_said(one: str, other: str, repeats: bool) -> None:
    model = parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[64] x, bool c) => (float[64] y) {{ y = If (c) <
            then_branch = t () => (float[64] a) {{ {one} }},
            else_branch = e () => (float[64] b) {{ {other} }}> }}""")
    session = bare_session(model)
    drawn = [session.run(None, {"x": X, "c": np.array(c)})[0] for c in (True, False)]
    assert np.array_equal(*drawn) is repeats
    searched = ir.from_proto(model)
    met = [
        met_nodes.Met(each.node, each.record, Types(searched))
        for each in search.search(searched).nodes
    ]
    among = met_nodes.MetNodes(met)
    said = []
    for each in met:
        said += known_in_onnx.said(each, among, "onnxruntime", is_drawn=True)
    assert any("in the other branch" in sentence.text for sentence in said) is repeats


def test_a_node_without_a_kernel_is_said_to_have_one_at_a_lower_opset() -> None:
    for opset, sentences in ((21, []), (22, ["It has kernels of this operator up to opset 21."])):
        model = ir.from_proto(of_onnx("y = RandomNormalLike (x)", opset=opset))
        (each,) = search.search(model).nodes
        met = met_nodes.Met(each.node, each.record, Types(model))
        found = known_in_onnx.said(met, met_nodes.MetNodes([met]), "onnxruntime", is_drawn=False)
        assert [said.text for said in found] == sentences


def test_a_node_in_a_function_is_said_not_to_load_in_openvino(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(OF_A_FUNCTION), "m.onnx")
    (node,) = cli.document("inspect", "m.onnx")["random_nodes"]
    assert node["today"]["onnxruntime"]["does"] == "different numbers each run"
    assert node["today"]["openvino"]["does"] == "does not load"
    (known,) = node["today"]["openvino"]["known"]
    assert known["says"] == "It loads no model that calls functions of its own."


def test_a_rewrite_says_what_runtimes_drew_of_the_original(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(of_onnx(f"{CHAINS[1]}  {pair('RandomUniform', 'RandomUniform', (0, 1))}"), "m.onnx")
    frozen = (
        "Without the rewrite, openvino 2026.4.1 does this with the RandomNormalLike that gives "
        "'n': It is drawn once, when the model is compiled: its shape is static, and a Subtract "
        "has it on the right. Now it draws anew in each run."
    )
    repeats = (
        "Without the rewrite, onnxruntime 1.32.0 does this with {}: It repeats {}: {} are the "
        "same seed there. Now it draws numbers of its own, or the same with keep_seeds."
    )
    said = cli.text("rewrite", "m.onnx", "-o", "new.onnx")
    assert frozen in said
    a = "the RandomUniform that gives 'a'"
    b = "the RandomUniform that gives 'b'"
    assert repeats.format(a, b, "seed 0 and seed 1") in said
    assert repeats.format(b, a, "seed 1 and seed 0") in said
    (first, *_) = cli.document("rewrite", "m.onnx", "-o", "newer.onnx")["wrong_before"]
    assert first == {
        "nodes": ["the RandomNormalLike that gives 'n'"],
        "runtime": "openvino",
        "seen_in": "2026.4.1",
        **in_probes.FROZEN.said().to_json(),
    }
    ov.save_model(ov.convert_model("m.onnx"), "m.xml")
    before = cli.document("rewrite", "m.xml", "-o", "n.xml")["wrong_before"]
    assert [each["name"] for each in before] == [
        "noise on the right of a Subtract",
        "uniforms of an unseeded normal",
    ]


# A model, and the rows that a rewrite of it names with the runtime.
WRONG_BEFORE = [
    (
        f"{RATIO}  y, m = Dropout (x, r, t)",
        {
            ("Dropout's first element", "onnxruntime"),
            ("places of a Dropout that go together", "onnxruntime"),
        },
    ),
    (
        f"{RATIO}  a, m = Dropout (x, r, t)  b, n = Dropout (x, r, t)  y = Add (a, b)",
        {
            ("Dropout's first element", "onnxruntime"),
            ("Dropouts that go together", "onnxruntime"),
        },
    ),
    (
        f"{RATIO}  a = Abs (x)  d = Dropout (a, r, t)  y = Neg (d)",
        {("removed Dropout", "onnxruntime")},
    ),
    ("y = RandomNormalLike (x)", {("uniforms of an unseeded normal", "openvino")}),
    ("y = RandomNormalLike <seed = 3.0> (x)", set()),
    ("y = Bernoulli (x)", {("inverted Bernoulli", "onnxruntime")}),
    (
        "y = Bernoulli <seed = 3.0> (x)",
        {("inverted Bernoulli", "onnxruntime"), ("inverted Bernoulli", "openvino")},
    ),
    (f"{ROWS_OF_X}  y = Multinomial (l)", {("Multinomial without a seed", "openvino")}),
    (
        f"{ROWS_OF_X}  y = Multinomial <seed = 0.0> (l)",
        {("Multinomial without a seed", "openvino")},
    ),
    (f"{ROWS_OF_X}  y = Multinomial <seed = 3.0> (l)", {("Multinomial with a seed", "openvino")}),
]


@pytest.mark.parametrize(("body", "rows"), WRONG_BEFORE)
def test_a_rewrite_names_the_rows_that_inspect_found(body, rows, tmp_path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(of_onnx(body), path)
    before = cli.document("rewrite", path, "-o", tmp_path / "n.onnx")["wrong_before"]
    assert {(each["name"], each["runtime"]) for each in before} == rows
    inspected = cli.document("inspect", path)
    found = set()
    for runtime, today in inspected["random_nodes"][0]["today"].items():
        found |= {(known["name"], runtime) for known in today["known"] if known["is_wrong"]}
    of_the_model = {row.says: row.name for row in ROWS}
    faults = {of_the_model[says] for says in inspected["faults"]}
    assert {name for name, _ in found} | faults == {name for name, _ in rows}
    assert found <= rows


def test_a_rewrite_of_an_ir_names_its_multinomials(tmp_path) -> None:
    path, ir_of_it = tmp_path / "m.onnx", tmp_path / "m.xml"
    for seed in ("", "<seed = 3.0>"):
        onnx.save(of_onnx(f"{ROWS_OF_X}  y = Multinomial {seed} (l)"), path)
        ov.save_model(ov.convert_model(path), ir_of_it)
        (before,) = cli.document("rewrite", ir_of_it, "-o", tmp_path / "n.xml")["wrong_before"]
        (node,) = cli.document("inspect", ir_of_it)["random_nodes"]
        (known,) = [each for each in node["today"]["openvino"]["known"] if each["is_wrong"]]
        assert before["name"] == known["name"]
        assert before["name"] == f"Multinomial {'with' if seed else 'without'} a seed"


def test_a_rewrite_says_nothing_of_what_no_runtime_draws_wrong(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    for body, opset in ((FRESH[0], 17), (pair("RandomUniform", "RandomUniform", (0, 1)), 22)):
        onnx.save(of_onnx(body, body.rsplit("  ", 1)[-1].split(" ")[0], opset), path)
        assert cli.document("rewrite", path, "-o", tmp_path / "n.onnx")["wrong_before"] == []


COLOURED = {"COLUMNS": "160", "FORCE_COLOR": "1", "TERM": "xterm"}


def test_the_worst_comes_first_in_its_colour_and_no_more_than_three_lines(tmp_path) -> None:
    path, page = tmp_path / "m.onnx", tmp_path / "page.html"
    onnx.save(of_onnx("y = Bernoulli (x)"), path)
    said = cli.invoke("inspect", path, "--html", page, env=COLOURED).stdout
    red = [line for line in said.splitlines() if "\x1b[31m" in line]
    assert any("different numbers each run, inverted" in line for line in red)
    worst = next(i for i, line in enumerate(said.splitlines()) if "It is inverted: where" in line)
    others = next(i for i, line in enumerate(said.splitlines()) if "none can be repro" in line)
    assert worst < others
    assert said.splitlines()[worst] in red
    assert said.splitlines()[others] not in red
    cells = re.findall(r'class="cell (\w+)">(.*?)</button>', page.read_text("utf-8"), re.S)
    looks = [look for look, said in cells if "different numbers each run" in said]
    assert looks == ["bad"]


def test_a_node_has_at_most_three_sentences_among_them_what_it_did() -> None:
    wrong = [
        of_seeds.MULTIPLES,
        of_seeds.ONE_SEED,
        known_in_onnx.INFINITE,
        of_seeds.F64,
        in_probes.MERGED,
    ]
    details = dict.fromkeys(("seed", "other", "other_seed", "correlation"), "1")
    known = [row.said(**details) for row in wrong]
    trial = trials.Trial(trials.Behaviour.SAME_SEQUENCE, "it begins again")
    sentences = Today(trial, known, "RandomUniform").sentences
    assert [each.is_wrong for each in sentences] == [True, True, False]
    assert sentences[2].text == "same sequence each session: it begins again"
    gone = trials.Trial(trials.Behaviour.NOT_LOADED, "no kernel")
    without_kernel = Today(gone, [known_in_onnx.NO_KERNEL.said()], "RandomUniform")
    assert without_kernel.sentences[0].text == "does not load: no kernel"


def seeded(count: int) -> onnx.ModelProto:
    """Uniforms of the seeds 1 to count, of which each depends on another."""
    names = [f"y{number}" for number in range(count)]
    nodes = [f"{n} = RandomUniformLike <seed = {i + 1}.0> (x)" for i, n in enumerate(names)]
    return of_onnx("  ".join(nodes), ", ".join(names))


MULTIPLE = "It draws what seed 1 draws, times {}, modulo 1, as"


@pytest.mark.parametrize("columns", ["160", "80"])
def test_sentences_that_differ_in_details_are_said_of_few_nodes(columns, tmp_path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(seeded(6), path)
    said = cli.text("inspect", path, env={"COLUMNS": columns})
    multiple = (
        "times 1, modulo 1, as the RandomUniformLike that gives 'y1' does times 2: their "
        "correlation is 0.50."
    )
    assert multiple in said
    assert "likewise: --all lists them." in said
    assert MULTIPLE.format(6) not in said
    first = said.index("It draws what seed 1 draws")
    assert first < said.index("run after run draws on")
    every = cli.text("inspect", path, "--all", env={"COLUMNS": columns})
    assert "likewise" not in every
    assert all(MULTIPLE.format(number + 1) in every for number in range(6))


def test_a_sentence_of_some_nodes_has_their_names(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(of_onnx("a = RandomUniformLike <seed = 1.0> (x)  y = RandomUniformLike (x)"), path)
    said = cli.text("inspect", path, env={"COLUMNS": "160"})
    assert "the RandomUniformLike that gives 'a' same sequence each session" in said
    assert "the RandomUniformLike that gives 'y' different numbers each run" in said


def test_operators_that_a_runtime_does_not_know_are_named_without_their_inputs(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    kinds = ("StatelessRandomNormal", "StatelessRandomUniform", "StatelessTruncatedNormal")
    shape = "s = Constant <value_ints = [4]> ()  k = Constant <value_ints = [1, 2]> ()"
    nodes = [f"{kind} = {kind} (s, k)" for kind in (*kinds, "TruncatedNormal")]
    onnx.save(of_onnx(f"{shape}  {'  '.join(nodes[:3])}  y = Neg ({kinds[0]})"), path)
    said = cli.text("inspect", path, env={"COLUMNS": "160"})
    for kind in kinds:
        assert f"does not load: No Op registered for {kind} with domain_version of 17" in said
    onnx.save(of_onnx(f"{shape}  {'  '.join(nodes)}  y = Neg ({kinds[0]})"), path)
    said = cli.text("inspect", path, env={"COLUMNS": "160"})
    assert "And 2 nodes likewise: --all lists them." in said
