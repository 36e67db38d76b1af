"""`onnx-philox inspect`, on the real runtimes."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import itertools
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, parser
from rich.console import Console

import onnx_philox
from onnx_philox._command.inspect import (
    Inspection,
    inspect,
    openvino_probes,
    probes,
    search,
    trials,
    write_page,
)
from onnx_philox._command.inspect.trials import Behaviour
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from tests.common import cli, openvino_models
from tests.common.cases import table
from tests.common.cli import keys_of, keys_said
from tests.common.file_cases import write
from tests.common.foreign import parse
from tests.common.runtimes import bare_session

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[1] / "models"

# One of each, in the main graph, an If, and a function that is called twice.
ALL = """g (float[N, 8] x, bool c) => (float[N, 8] y, float[3] u, int32[N, 4] m, float[N, 8] w)
<float ratio = {0.25}, bool training = {1}> {
    [uniform] u = RandomUniform <shape = [3], seed = 7.0> ()
    [dropout] d, mask = Dropout (x, ratio, training)  [bernoulli] b = Bernoulli (x)
    [multinomial] m = Multinomial <sample_size = 4> (x)
    y = local.noisy (d)  y2 = local.noisy (b)
    [choice] w = If (c) <
        then_branch = t () => (float[N, 8] t1) { [inner] t1 = RandomNormalLike (x) },
        else_branch = e () => (float[N, 8] e1) { e1 = Identity (y2) }> }
<domain: "local", opset_import: ["": 17]>
noisy (a) => (o) { n = RandomUniformLike <low = 1.0, high = 2.0> (a)  o = Add (a, n) }"""

invoke, document = partial(cli.invoke, "inspect"), partial(cli.document, "inspect")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.onnx"


def nodes(text: str, opset: int = 17) -> onnx.ModelProto:
    """A model whose last node makes `y`, from `x` or from `logits`."""
    return parse(
        "g (float[n] x, float[n, 5] logits) => (y) "
        f"<float ratio = {{0.1}}, bool on = {{1}}, bool off = {{0}}> {{ {text} }}",
        opset,
    )


def probe(model: onnx.ModelProto) -> probes.Probe:
    ir_model = ir.from_proto(model)
    (node,) = search.search(ir_model).nodes
    return probes.build(node.node, ir_model, Types(ir_model))


def tries(*models: onnx.ModelProto) -> list[list[trials.Trial]]:
    """What each runtime does with these, one after the other."""
    built = [probe(model) for model in models]
    return [
        [runtime.trials[each.key] for each in built]
        for runtime in trials.run(built, lambda *_: None)
    ]


ANSWERS = """
import itertools, json, os, sys, time
names = ("first", "second", "session", "other_seed")
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    print(json.dumps(%s), flush=True)
"""


@pytest.fixture
def works(tmp_path, monkeypatch):
    """Lets a program of the test's own try the nodes, in place of the runtimes."""

    def program(text: str) -> None:
        worker = tmp_path / "worker.py"
        worker.write_text(text)
        monkeypatch.setattr(trials, "_WORKER", worker)

    return program


RANDOM = {
    **dict.fromkeys(
        ("RandomUniform", "RandomNormal"),
        ("<shape = [2, 3]>", "()"),
    ),
    **dict.fromkeys(
        ("RandomUniformLike", "RandomNormalLike", "Bernoulli"),
        ("", "(x)"),
    ),
    "Multinomial": ("", "(logits)"),
    "Dropout": ("", "(x, ratio, on)"),
}
BERNOULLI = {"bool": 9, "uint8": 2, "double": 11, "int64": 7, "float16": 10}


def random(op_type: str, opset: int = 17, *, is_seeded: bool = False) -> onnx.ModelProto:
    """A model of one random node."""
    model = nodes(f"y = {op_type} {' '.join(RANDOM[op_type])}", opset)
    if is_seeded:
        seed = 7 if op_type == "Dropout" else 7.0
        model.graph.node[0].attribute.append(helper.make_attribute("seed", seed))
    return model


@pytest.fixture(scope="module")
def tried():
    """What both runtimes do with every operator, by operator, opset, whether seeded, runtime.

    Bernoullis are there by type, too, and a Dropout "between two nodes".
    """
    between = nodes("a = Abs (x)  d, mask = Dropout (a, ratio, on)  y = Neg (d)")
    given = {("Dropout", "between two nodes"): between}
    for name, dtype in BERNOULLI.items():
        given["Bernoulli", name] = nodes(f"y = Bernoulli <dtype = {dtype}> (x)")
    for key in itertools.product(RANDOM, (17, 22), (False, True)):
        given[key] = random(*key[:2], is_seeded=key[2])
    # Of a node alone of its kind nobody asks whether it repeats another.
    found = tries(*given.values(), *given.values())
    return {
        (*key, runtime): trial
        for runtime, all_of_it in zip(("onnxruntime", "openvino"), found, strict=True)
        for key, trial in zip(given, all_of_it[: len(given)], strict=True)
    }


OTHER, SAME = Behaviour.OTHER_IN_EACH_RUN, Behaviour.SAME_SEQUENCE
OF_SESSION, CONSTANT = Behaviour.OTHER_IN_EACH_SESSION, Behaviour.SAME_IN_EACH_RUN
NOT_LOADED = Behaviour.NOT_LOADED


@pytest.mark.parametrize("op_type", RANDOM)
def test_the_runtimes_do_what_they_are_said_to_do(tried, op_type):
    of_openvino = {
        # Its seed is the time in seconds.
        **{"Multinomial": (Behaviour.SAME_IN_A_SECOND, CONSTANT), "Dropout": (NOT_LOADED,)},
        **dict.fromkeys(("RandomUniform", "RandomNormal", "RandomNormalLike"), (OTHER, SAME)),
    }.get(op_type, ())
    for opset in (17, 22):
        without = op_type != "Dropout" and opset == 22
        of_ort = [NOT_LOADED] * 2 if without else [OTHER, SAME]
        for runtime, does, words in (
            ("onnxruntime", of_ort, "Could not find an implementation for "),
            ("openvino", of_openvino, "Training mode is not supported for Dropout op"),
        ):
            for is_seeded, behaviour in enumerate(does):
                trial = tried[op_type, opset, bool(is_seeded), runtime]
                assert trial.behaviour is behaviour
                assert behaviour is not NOT_LOADED or trial.reason.startswith(words)
    assert tried["Dropout", "between two nodes", "onnxruntime"].behaviour is Behaviour.REMOVED
    reason = tried["RandomNormal", 17, False, "onnxruntime"].reason
    assert reason == "and in each process: none can be reproduced"
    # No operator draws the same in both.
    draws = [tried[op_type, 17, True, r].draw for r in ("onnxruntime", "openvino")]
    assert draws[0] is not None
    assert draws[0] != draws[1]


def names_of(trial: trials.Trial) -> list[str]:
    """The rows of the table of known behaviours that it met."""
    return [said.known.name for said in trial.known]


def test_nodes_that_repeat_each_other_are_said_to(tried):
    def repeats(is_seeded: bool, runtime: str) -> set[str]:
        trials_ = {op_type: tried[op_type, 17, is_seeded, runtime] for op_type in RANDOM}
        return {op_type for op_type, trial in trials_.items() if "merged nodes" in names_of(trial)}

    # Two equal nodes become one, unless both are outputs.
    assert repeats(False, "onnxruntime") == {"Bernoulli"}
    assert repeats(True, "onnxruntime") == set(RANDOM)
    # Two nodes that take their shape from one place become one; a seed is the time in seconds.
    like = {"RandomNormalLike", "RandomUniformLike"}
    assert repeats(False, "openvino") == {*like, "Multinomial"}
    assert repeats(True, "openvino") == RANDOM.keys() - {"Dropout"}
    unseeded = tried["RandomNormalLike", 17, False, "openvino"]
    assert unseeded.reason == "and in each session: none can be reproduced"
    assert [said.text for said in unseeded.known] == [
        "It may repeat another of its kind: two of them alone drew the same numbers."
    ]


def test_a_seed_of_the_time_is_seen_through_and_a_node_alone_of_its_kind_repeats_none(works):
    works(ANSWERS % "dict.fromkeys(names, str(int(time.time())))")
    for (trial,) in tries(random("Multinomial")):
        assert trial.behaviour is OF_SESSION
    works(ANSWERS % "{n: 'one' if 'twins' in asked else f'{number}{n}' for n in names}")
    given = ("mean = 0.0", "mean = 1.0", "seed = 1.0", "dtype = 10")
    for found in tries(*(nodes(f"y = RandomNormal <shape = [3], {a}> ()") for a in given)):
        merged = ["merged nodes" in names_of(trial) for trial in found]
        assert merged == [True, True, False, False]


LAST = "a = Abs (x)  y = Dropout {} (a, ratio, on)"
REMOVED = "a = Abs (x)  d = Dropout {} (a, ratio, on)  y = Neg (d)"


@pytest.mark.parametrize(
    ("texts", "seed", "repeats"),
    [
        # One alone draws: no other is there to repeat it.
        ((LAST, REMOVED), "", False),
        ((LAST, REMOVED), "<seed = 7>", False),
        # Followed by a node, two are removed and give what they read.
        ((LAST, LAST), "", False),
        ((LAST, LAST), "<seed = 7>", True),
    ],
)
def test_dropouts_are_said_to_repeat_each_other_only_where_they_draw(texts, seed, repeats):
    of_onnxruntime, _ = tries(*(nodes(text.format(seed)) for text in texts))
    merged = ["merged nodes" in names_of(trial) for trial in of_onnxruntime]
    assert any(merged) is repeats


@pytest.mark.parametrize(
    ("same", "behaviour"),
    [
        ("", OTHER),
        ("sessions", OTHER),
        ("runs", OF_SESSION),
        ("sessions processes", SAME),
        ("runs sessions processes", CONSTANT),
        ("seed sessions processes", SAME),
        ("seed sessions", Behaviour.IGNORES_SEED),
        ("seed runs sessions processes seeds", Behaviour.SAME_IN_EACH_RUN),
    ],
)
def test_a_behaviour_follows_from_which_draws_repeat_each_other(same, behaviour):
    def answer(process: str) -> dict[str, str]:
        process = "" if "processes" in same.split() else process
        names = {"second": "runs", "session": "sessions", "other_seed": "seeds"}
        others = {k: process + k * (name not in same.split()) for k, name in names.items()}
        return {"first": process, **others}

    given = probes.Probe("", has_seed="seed" in same.split())
    assert (
        trials._trial(
            given,
            answer("a"),
            answer("b"),
            repeats=False,
        ).behaviour
        is behaviour
    )


SEEDS_OF_FLOATS = [
    0.0,
    0.5,
    -1.0,
    1.0,
    2.0,
    3.0,
    5.0,
    2.0**24,
    87654321.0,
    1e20,
    float("inf"),
]
SEEDS_OF_DROPOUTS = [0, 1, -1, 2, 3, 5, 2**31, 2**31 + 2, 2**63 - 1]


def test_a_seed_that_a_runtime_keeps_is_not_said_to_be_ignored():
    models = []
    for op_type, seeds in (("RandomNormal", SEEDS_OF_FLOATS), ("Dropout", SEEDS_OF_DROPOUTS)):
        for seed in seeds:
            model = random(op_type)
            model.graph.node[0].attribute.append(helper.make_attribute("seed", seed))
            models.append(model)
    of_onnxruntime, of_openvino = tries(*models)
    assert {trial.behaviour for trial in of_onnxruntime} == {SAME}
    # There a seed of 0 is none.
    of_zero, *others = of_openvino[: len(SEEDS_OF_FLOATS)]
    assert of_zero.sentence == (
        "ignores the seed: a new process draws different numbers for the same seed"
    )
    assert {trial.behaviour for trial in others} == {SAME}


@pytest.mark.parametrize("global_seed", [3, 5, 2**32 + 3, 2**63 - 1])
@pytest.mark.parametrize("alignment", ["tensorflow", "pytorch"])
def test_a_seed_of_an_ir_that_openvino_keeps_is_not_said_to_be_ignored(alignment, global_seed):
    node = openvino_models.uniform([4], seeds=(global_seed, 3), alignment=alignment)
    (runtime,) = trials.run(
        [openvino_probes.build(node)],
        lambda *_: None,
        of_ir=True,
    )
    (trial,) = runtime.trials.values()
    assert trial.behaviour is (SAME if alignment == "tensorflow" else CONSTANT)


def test_a_probe_keeps_operator_opset_attributes_and_types_but_not_the_size():
    def of(attributes: str, opset: int = 17) -> probes.Probe:
        return probe(nodes(f"y = RandomNormal <{attributes}> ()", opset))

    built = of("shape = [1, 4, 1000, 1000], dtype = 10, mean = 3.0, scale = 0.5", 13)
    between = nodes("a = Abs (x)  d, mask = Dropout (a, ratio, on)  y = Neg (d)")
    said = []
    for each in (built, probe(between), *(probe(random(name, is_seeded=True)) for name in RANDOM)):
        said.append(f"{each.kind} {each.has_seed} {each.undrawn[:8]} {each.p}")
        for document in map(json.loads, (each.line, *each.twins)):
            for data in document.pop("models"):
                model = onnx.load_model_from_string(base64.b64decode(data))
                said.append(" ".join(onnx.printer.to_text(model).split()))
            feeds = [
                hashlib.md5(feed.pop("bytes").encode()).hexdigest() for feed in document["feeds"]
            ]
            said.append(f"{document} {feeds}")
    cli.assert_as_said("probes", "\n".join(said))
    # Equal nodes are tried once.
    first = of("shape = [5, 5]").key
    assert first == of("shape = [9, 2]").key
    others = of("shape = [5]"), of("shape = [5, 5]", 22), of("shape = [5, 5], seed = 1.0")
    assert first not in {other.key for other in others}


# A fork that outlives its parent holds the pipes: OpenVINO's telemetry does that.
ENDS = table("""
sys.stdin.readline(); os.abort() -> ends the process: signal 6 (Aborted)
sys.stdin.readline(); time.sleep(100) -> does not end: stopped after 1 s
raise SystemExit(3) -> ends the process: exit code 3
sys.stdin.readline(); os.fork() or time.sleep(5); os.abort() -> ends the process: signal 6 (Aborted)
""")


def test_all_nodes_are_tried_in_one_model_and_each_has_its_own_answer(works):
    works(ANSWERS % "{'of': [{n: part['count'] for n in names} for part in asked['parts']]}")
    for uniform, bernoulli in tries(random("RandomUniform"), random("Bernoulli")):
        assert {uniform.behaviour, bernoulli.behaviour} == {CONSTANT}
        assert (uniform.draw, bernoulli.draw) == (0, 1024)


def test_a_node_does_in_one_model_with_others_what_it_does_alone():
    models = [random(op_type, is_seeded=op_type == "RandomNormal") for op_type in RANDOM]
    together = tries(*models)
    alone = [tries(model) for model in models]
    for runtime, found in enumerate(together):
        for place, trial in enumerate(found):
            ((of_onnxruntime,), (of_openvino,)) = alone[place]
            expected = (of_onnxruntime, of_openvino)[runtime]
            assert replace(trial, draw=None) == replace(expected, draw=None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize(("program", "sentence"), ENDS)
def test_a_runtime_that_ends_its_process_ends_none_of_ours(works, monkeypatch, program, sentence):
    works(f"import os, sys, time; {program}")
    monkeypatch.setattr(trials, "_START_SECONDS", 1 if "sleep(100)" in program else 30)
    for found in tries(*(nodes(f"y = RandomNormal <shape = {s}> ()") for s in ([1], [2, 2]))):
        assert {trial.sentence for trial in found} == {sentence}


def test_a_probe_after_one_that_crashed_is_tried(works):
    works(ANSWERS % "os.abort() if asked['feeds'] else {'failed': 'load', 'reason': 'here'}")
    found, _ = tries(*map(random, list(RANDOM)[:4]))
    expected = [NOT_LOADED] * 2 + [Behaviour.CRASHED] * 2
    assert [t.behaviour for t in found] == expected


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "all.onnx"
    onnx.save(parse(ALL), path)
    return path


@pytest.fixture(scope="module")
def report(all_of_them) -> Inspection:
    return inspect(all_of_them)


@pytest.fixture(scope="module")
def inspected(report) -> dict:
    return json.loads(report.to_json())


def test_every_node_is_there_with_what_each_runtime_does(inspected):
    assert (inspected["schema"], set(keys_of(inspected))) == keys_said("inspect")
    assert set(inspected["runtimes"]) == {"onnxruntime", "openvino"}
    for node in inspected["random_nodes"]:
        assert set(node["today"]) == {"onnxruntime", "openvino"}
        for today in node["today"].values():
            assert today["does"] in {behaviour.value for behaviour in Behaviour}
            assert today["reason"]


def test_a_rewritten_model_shows_its_streams_its_state_and_how_to_run_it(
    all_of_them, inspected, tmp_path
):
    path = tmp_path / "my model.onnx"
    report = onnx_philox.rewriting.rewrite_file(all_of_them, path)
    expected = [(n.op_type, n.replacement, n.stream) for n in report.replaced]
    found = [(n["op_type"], n["replacement"], n["stream"]) for n in inspected["random_nodes"]]
    assert found == expected
    after = document(path)
    shown = after["random_nodes"], after["state"], after["next_state"]
    assert shown == ([], "the input random_state", "next_random_state")
    by_stream = sorted(after["rewritten_nodes"], key=lambda node: node["stream"])
    assert [(n["operator"], n["stream"]) for n in by_stream] == [e[1:] for e in expected]
    said = cli.text("inspect", path)
    assert "7 nodes of onnx-philox" in said
    assert "Their state: the input random_state; the output next_random_state is the inp" in said
    assert "lost before" not in said
    cli.text(*shlex.split(said.rpartition("Run it: onnx-philox ")[2]))
    onnx.save(onnx_philox.make_reproducible(all_of_them, seed=5), path)
    assert "Their state: a constant inside, of seed 5" in cli.text("inspect", path)


@pytest.mark.usefixtures("untried")
def test_it_says_that_all_nodes_draw_rows_of_the_batch():
    rows = "'s6', the first of the input 'tokens'"
    said = cli.text("inspect", MODELS / "next_token.onnx")
    assert f"(--per-row): possible, all nodes draw rows of {rows}." in said


def test_inspect_says_that_no_runtime_loads_a_node_whose_declared_type_is_wrong(path):
    model = parse("""g (float16[3] x) => (float16[3] y) <float16[3] r> {
        r = RandomNormalLike <dtype = 1> (x)  other = RandomNormalLike <dtype = 1> (x)
        half = Cast <to = 10> (other)  sum = Add (half, r)  y = Add (x, sum) }""")
    onnx.save(model, path)
    first, second = document(path)["random_nodes"]
    for runtime in ("onnxruntime", "openvino"):
        assert first["today"][runtime]["does"] == "does not load"
        assert "declared as another type" in first["today"][runtime]["reason"]
        assert second["today"][runtime]["does"] != "does not load"
    assert "the type of output 'r' must be FLOAT" in first["problem"]


@dataclass(frozen=True)
class Said:
    """What is said of a model: these words in the text, and this of the document."""

    body: str
    words: tuple[str, ...]
    of_document: Callable[[dict[str, Any]], object]
    expected: object


def first_node(shown: dict[str, Any]) -> tuple[str, str | None]:
    node = shown["random_nodes"][0]
    return node["op_type"], node["replacement"]


SAID = [
    Said(
        "g (float[3, 4] x) => (float[3, 4] y) { y = RandomUniformLike (x) }",
        ("(--per-row): not possible: the model must be one with an input whose first dimension",),
        lambda shown: shown["per_row"]["batch"],
        None,
    ),
    Said(
        "y = Dropout (x, ratio)",
        ("no random nodes, nothing", "- It has 1 Dropout node that is"),
        lambda shown: shown["random_nodes"],
        [],
    ),
    Said(
        "a = Dropout (x, ratio)  b = Dropout (x, , off)  y = Dropout (x, , off)",
        ("no random nodes, nothing", "- It has 3 Dropout nodes"),
        lambda shown: shown["random_nodes"],
        [],
    ),
    Said(
        "y, m = com.example.DropBlock (x, logits, , ratio, on)  z = RandomNormalLike (x)",
        (
            "becomes cannot be rewritten",
            "leave the node as it is with --keep-unknown.",
            "-o model.reproducible.onnx --keep-unknown",
        ),
        first_node,
        ("DropBlock", None),
    ),
    Said(
        "y = Neg (x)",
        (
            "no random nodes but those of its training graphs, nothing to rewrite.",
            "The graphs that train the model have 1 random node, which no run uses",
        ),
        lambda shown: shown["for_training"],
        1,
    ),
]


@pytest.mark.usefixtures("untried")
@pytest.mark.parametrize("said", SAID, ids=lambda said: said.body)
def test_what_a_model_has_or_lacks_is_said(path, said):
    model = parse(said.body) if said.body.startswith("g (") else nodes(said.body)
    is_for_training = "training graphs" in said.words[0]
    if is_for_training:
        train = "t () => (float[2] w) { w = RandomNormal <shape = [2]> () }"
        model.training_info.add().initialization.CopyFrom(parser.parse_graph(train))
    onnx.save(model, path)
    text = cli.text("inspect", path)
    for words in said.words:
        assert words in text
    is_left_unknown = "--keep-unknown" in said.words[-1]
    assert text.endswith("--keep-unknown") is is_left_unknown
    assert said.of_document(document(path)) == said.expected


@pytest.fixture(scope="module")
def printed(all_of_them) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it, its output piped."""
    return cli.apart("inspect", all_of_them)


def test_the_text_fits_and_nothing_is_cut_or_of_the_runtimes_logs(all_of_them, report, printed):
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.startswith(str(all_of_them))
    assert "lost before" not in printed.stdout
    piped = printed.stdout.splitlines()
    assert all(line == line.rstrip() for line in piped)
    for lines, width in ((piped, 999), *((printed_at(report, w), w) for w in (80, 120))):
        # The last is a command, to be copied whole.
        assert max(map(len, lines[:-1])) <= width
        assert not any("…" in line for line in lines)
        assert lines[-1] == f"  onnx-philox rewrite {all_of_them} -o all.reproducible.onnx"
        assert any("Could not" in line or "Training mode is" in line for line in lines)


def printed_at(report: Inspection, width: int) -> list[str]:
    report.print(Console(file=(file := io.StringIO()), width=width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_equal_nodes_are_shown_as_one_above_20(report, width):
    first, found = report.found[0], []
    assert first.node.op_type == "RandomUniform"
    for i in range(21):
        # The second is in another place.
        own = {
            "name": f"node_{i}",
            "stream": i,
            "path": ("Loop 'steps' body",) * (i == 1),
        }
        node = replace(first.node, explicit_seed=None, seeded=None, **own)
        found.append(
            replace(
                first,
                node=node,
                row_problem=f"problem {i}",
            )
        )
    few, many = replace(report, found=found[:20]), replace(report, found=found)
    expected = printed_at(replace(few, shows_all=True), width)
    assert printed_at(few, width) == expected
    said, whole = printed_at(many, width), printed_at(replace(many, shows_all=True), width)
    assert max(map(len, said[:-1])) <= width
    for i in range(21):
        assert any(f"problem {i}" in line for line in whole)
        assert any(f"node_{i}" in line for line in whole)
    assert len(said) < len(whole)
    said = " ".join(" ".join(said).split())
    assert "RandomUniform (opset 1), 21 nodes onnxruntime" in said
    assert (
        "streams 0, 2, ..., 20 node_0, node_2, ... (20 nodes) in the main graph stream 1 node_1"
        in said
    )
    assert "problem 2 ... and 18 nodes more Equal nodes are shown as one; --all shows each." in said


def test_equal_nodes_of_a_rewrite_are_shown_as_one_above_20(path):
    draws = " ".join(f"[node_{i}] n{i} = RandomNormal <shape = [2]> ()" for i in range(20))
    outputs = ", ".join(f"float[2] n{i}" for i in range(20))
    body = f"g (float[2] x) => ({outputs}, float[2] b) {{ {draws} [node_20] b = Bernoulli (x) }}"
    onnx.save(onnx_philox.make_reproducible(parse(body)), path)
    said = cli.text("inspect", path)
    shown = (
        "node_0, node_1, ... (20 nodes) 20 RandomNormal 0 to 19 node_20 RandomBernoulli 20 Equal"
    )
    assert shown in said
    assert "; --all shows each. Their state: " in said
    whole = invoke(path, "--all").stdout
    assert "Equal nodes" not in whole
    assert whole.count("RandomNormal") == 20
    assert len(document(path)["rewritten_nodes"]) == 21


MAY_HAVE_HAPPENED = """\
If it should draw, its random numbers were lost before:
- Dropout inside attention (torch's scaled_dot_product_attention) is exported switched off.
- Noise that depends on no input, not even by its shape, is baked in as a constant.
- Draws that look equal, such as dropouts of one tensor, are merged into one, and a dropout is \
removed, by exporters and simplifiers.
To find out, run it twice: equal outputs mean that nothing draws. From PyTorch, \
onnx_philox.torch.export keeps every draw.
"""


def test_a_model_without_random_nodes_says_so_and_what_may_have_happened(path):
    onnx.save(nodes("y = Relu (x)"), path)
    result = invoke(path, env={"COLUMNS": "300"})
    said = [line.rstrip() for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert said[0] == f"{path}, opset 17: no random nodes, nothing to rewrite."
    assert said[1:] == MAY_HAVE_HAPPENED.splitlines()
    # A wheel has no pages.
    assert ".md" not in result.stdout
    assert document(path)["runtimes"] == {}


def test_onnxruntime_inverts_a_bernoulli_and_this_is_said_of_no_other(tried):
    for is_seeded in (False, True):
        inverted = tried["Bernoulli", 17, is_seeded, "onnxruntime"].known[0].text
        said, share = inverted.rsplit(", ", 1)
        assert said == "It is inverted: where p is 0.1"
        assert share == "about 90% are 1."
    of_types = [tried["Bernoulli", name, "onnxruntime"] for name in BERNOULLI]
    loaded = [t for t in of_types if t.behaviour is OTHER]
    assert len(loaded) >= 3
    assert all("inverted Bernoulli" in names_of(trial) for trial in loaded)
    for op_type in RANDOM.keys() - {"Bernoulli"}:
        assert "inverted Bernoulli" not in names_of(tried[op_type, 17, False, "onnxruntime"])
    names = ("first", "second", "session", "other_seed")
    for ones, is_inverted in (("0.09", False), ("0.13", False), ("0.9", True)):
        answers = [dict.fromkeys(names, process) | {"ones": ones} for process in "ab"]
        trial = trials._trial(probes.Probe("", has_seed=False, p=0.1), *answers, repeats=False)
        assert ("inverted Bernoulli" in names_of(trial)) is is_inverted


TWO_DRAWS = parse(
    """g (float[N, 4] x, uint32[6] own) => (float[N, 4] y) {
        a = Bernoulli (x)  b = Bernoulli (x)  y = Add (a, b) }""",
    opset=18,
)
RUN_OPENVINO = "--runtime openvino --precision f32 --seed 42 --runs 3 --fill"


@pytest.mark.parametrize(
    ("options", "target", "made", "state", "run"),
    [
        ({}, "onnxruntime", "made for ONNX Runtime.", "random_state", "--seed 42 --runs 3 --fill"),
        ({}, "openvino", "made for OpenVINO: compile it with INFER", "random_state", RUN_OPENVINO),
        ({"seed": 5}, "onnxruntime", "made for ONNX Runtime.", None, "--fill"),
        ({"per_row": True}, "openvino", "made for OpenVINO", "random_state", RUN_OPENVINO),
    ],
)
def test_draws_in_standard_nodes_are_shown(options, target, made, state, run, path, tmp_path):
    page = tmp_path / "page.html"
    rewritten = onnx_philox.make_reproducible(TWO_DRAWS, **options)
    onnx.save(onnx_philox.to_standard_nodes(rewritten, target=target), path)
    said = cli.text("inspect", path, "--html", page)
    assert said.startswith(f"{path}, opset 18: 2 draws in standard ONNX nodes Operators: 2 Random")
    assert f"2 RandomBernoulli. They need no plugin, and are {made}" in said
    where = "Their seed is inside the model: every run draws the same numbers."
    if state is not None:
        rows = ", for each row of the batch" if "per_row" in options else ""
        where = f"the input {state}{rows}; the output next_{state} is the input of the next run."
    assert "To use float16, convert the model before the rewrite: afterwards, a conv" in said
    command = f"onnx-philox run {path} {run}"
    assert f"Run it: {command}" in said
    assert "lost before" not in said
    text = html.unescape(page.read_text("utf-8"))
    assert where in said
    for words in ("<h1>2 draws in standard ONNX nodes</h1>", made, where, command):
        assert words in text
    standard = document(path)["standard"]
    assert made.rstrip(".") in standard.pop("note")
    assert standard == {
        "target": target,
        "run": command,
        "draws": {"RandomBernoulli": 2},
        "state": state,
        "next_state": state and f"next_{state}",
        "is_per_row": "per_row" in options,
        "batch": "x" if "per_row" in options else None,
        "batch_axis": 0,
    }
    cli.text(*shlex.split(command)[1:])


def test_a_state_behind_a_prefix_or_without_the_next_is_shown(path, tmp_path):
    made, again = onnx_philox.make_reproducible(TWO_DRAWS), tmp_path / "again.onnx"
    for model in (made, onnx_philox.to_standard_nodes(made)):
        onnx.save(onnx.compose.add_prefix(model, "a/"), path)
        said = cli.text("inspect", path)
        state = "Their state: the input a/random_state; the output a/next_random_state is the input"
        assert state in said
        assert said.endswith(f"Run it: onnx-philox run {path} --seed 42 --runs 3 --fill")
        said = cli.text("rewrite", path, "-o", again)
        assert f"onnx-philox run {again} --seed 42 --runs 3 --fill" in said
        assert "--fill makes up a/x, a/own: give yours" in said
    built = onnx_philox.graphs.random_normal([2], 0, 1, "f32", stateful=True)
    model = onnx_philox.to_standard_nodes(built)
    assert [output.name for output in model.graph.output] == ["values", "next_state"]
    del model.graph.output[1]
    onnx.save(model, path)
    assert "Their state: the input state.\n" in invoke(path).stdout
    assert document(path)["standard"]["next_state"] is None


@pytest.mark.usefixtures("untried")
def test_random_nodes_beside_standard_draws_are_counted_apart_and_no_terminal_obeys_a_name(
    path, tmp_path
):
    made = onnx_philox.make_reproducible(MODELS / "mc_dropout.onnx")
    standard, page = onnx_philox.to_standard_nodes(made), tmp_path / "page.html"
    node = helper.make_node("RandomNormal", [], ["more"], "\x1b[31mred", shape=[2])
    standard.graph.node.append(node)
    standard.graph.output.append(onnx.ValueInfoProto(name="more"))
    onnx.save(standard, path)
    said = invoke(path, "--html", page).stdout
    assert f"{path}, opset 18: 1 random node; 2 draws in standard ONNX nodes\n" in said
    assert "onnx-philox rewrite" in said.splitlines()[-3]
    text = page.read_text("utf-8")
    assert "<h1>1 random node" in text
    assert "\\x1b[31mred" in text
    assert "\x1b" not in text


@pytest.mark.usefixtures("untried")
def test_an_operator_that_no_runtime_has_is_named_and_ends_a_rewrite_with_one(path, tmp_path):
    body = """g (float[4] x, bool c) => (float[4] y) {
        n = RandomNormalLike (x)  s = LayerNormalization (n, n)
        y = If (c) < then_branch = t () => (float[4] a) { a = ImageProjectiveTransformV3 (x, s) },
                     else_branch = e () => (float[4] b) { b = Neg (s) }> }"""
    onnx.save(parse(body, opset=15), path)
    said = "No runtime has ImageProjectiveTransformV3 of 'a': none loads the model."
    page, new = tmp_path / "page.html", tmp_path / "new.onnx"
    text = cli.text("inspect", path, "--html", page)
    assert said in text
    assert "all do" not in text
    assert said in html.unescape(page.read_text("utf-8"))
    assert document(path)["of_no_runtime"] == ["ImageProjectiveTransformV3 of 'a'"]
    rewritten = cli.text("rewrite", path, "-o", new, code=1)
    assert said in rewritten
    assert "Run it" not in rewritten
    assert new.exists()
    with pytest.raises(Exception, match="ImageProjectiveTransformV3"):
        bare_session(onnx.load(path))


def test_what_the_runtimes_own_nodes_do_wrong_is_said_and_still_true(path):
    body = """g (float[64] x, bool c) => (float[64] y, float[64] d)
        <float r = {{0.5}}, bool t = {{1}}> {{
        d = Dropout (x, r, t)
        y = If (c) < then_branch = t () => (float[64] a) {{ a = RandomNormalLike {0}(x) }},
                     else_branch = e () => (float[64] b) {{ b = RandomNormalLike (x) }}> }}"""
    branches = "draws in the other branch"
    dropout = "ONNX Runtime's Dropout keeps its first element in thousands of runs on end, or in"
    normals = "OpenVINO makes each normal without a seed of two equal uniforms: none is"
    for attribute, is_said in (("<seed = 3.0> ", False), ("", True)):
        model = parse(body.format(attribute))
        onnx.save(model, path)
        said = cli.text("inspect", path)
        assert (branches in said, dropout in said, normals in said) == (is_said, True, True)
    session = bare_session(model)
    feed = {"x": np.ones(64, np.float32)}
    runs = [session.run(None, feed | {"c": np.array(i % 2 == 0)}) for i in range(200)]
    kept = np.array([dropped[0] != 0 for _, dropped in runs])
    assert np.count_nonzero(kept[1:] != kept[:-1]) <= 1
    assert np.array_equal(runs[0][0], runs[1][0])


def test_the_weights_are_not_read(path):
    write(path, "weights").with_name("weights").unlink()
    (node,) = document(path)["random_nodes"]
    assert node["today"]["openvino"]["does"] == "different numbers each run"


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_runtime_that_is_not_installed_says_so(runtime):
    result = cli.apart("inspect", MODELS / "vae_decoder.onnx", "--json", without=[runtime])
    assert (result.returncode, result.stderr) == (0, "")
    (node,) = json.loads(result.stdout)["random_nodes"]
    how = f"pip install 'onnx-philox[{runtime}]'"
    absent = {"does": "not installed", "reason": how, "known": []}
    assert node["today"].pop(runtime) == absent
    assert "not installed" not in node["today"].popitem()[1]["does"]


# Two of one seed, one that cannot be rewritten, and one without a name.
MORE = """[again] v = RandomUniform <shape = [3], seed = 7.0> ()  f = com.example.DropBlock (x)
    half = Constant <value = float[2, 2] {0.5, 0.5, 0.5, 0.5}> ()  h = Bernoulli (half)
    [more] i = RandomNormal <shape = [1, 2]> ()"""


@pytest.mark.usefixtures("untried")
def test_a_report_of_every_behaviour_reads_as_it_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(ALL.replace("[bernoulli]", f"{MORE}  [bernoulli]")), "all.onnx")
    report, every = inspect(Path("all.onnx")), list(Behaviour)
    tried = [], []
    for i, key in enumerate(dict.fromkeys(found.probe for found in report.found)):
        for at, does in enumerate((every[i], every[(i + 4) % len(every)])):
            draw = None if does in every[:5] else f"draw {min(i, 5)}"
            reason = "and so on" if i % 3 == 0 else f"reason {i}"
            tried[at].append((key, trials.Trial(does, reason, draw)))
    names = ("onnxruntime", "openvino")
    runtimes = [trials.Trials(n, "1.2", dict(t)) for n, t in zip(names, tried, strict=True)]
    report = replace(report, runtimes=runtimes)
    # One column less has no room for the table.
    report.print(
        Console(
            file=(file := io.StringIO()),
            width=110,
            force_terminal=True,
        )
    )
    cli.assert_as_said("inspect, in colours", file.getvalue().replace("\x1b", "^"))
    cli.assert_as_said("inspect, narrow", "\n".join(printed_at(report, 109)))
    told = json.loads(report.to_json())
    shown = (*told.pop("random_nodes"), told)
    cli.assert_as_said("inspect --json", "\n".join(map(json.dumps, shown)))
    write_page(report, tmp_path / "page.html")
    cli.assert_page_as_said("inspect --html", tmp_path / "page.html")
    said = cli.invoke("rewrite", "all.onnx", "-o", "made.onnx", "--keep-unknown").stdout
    size = f"{Path('made.onnx').stat().st_size / 1000:.3g} kB"
    cli.assert_as_said("rewrite --keep-unknown", said.replace(size, "... kB"))
    made = onnx.load("made.onnx")
    seeded = onnx_philox.graphs.random_uniform([3], 0, 1, "f32", global_seed=5, op_seed=9)
    made.graph.node.extend(seeded.graph.node)
    onnx.save(made, "made.onnx")
    cli.assert_as_said(
        "inspect what is rewritten", "\n".join(printed_at(inspect(Path("made.onnx")), 100))
    )


def test_the_headline_of_a_page_says_which_runtimes_draw(report, tmp_path):
    page = tmp_path / "page.html"
    draws = {f: {r.trials[f.probe].draw is not None for r in report.runtimes} for f in report.found}
    in_both = [found for found, does in draws.items() if does == {True}]
    neither = [
        replace(r, trials={k: replace(t, draw=None) for k, t in r.trials.items()})
        for r in report.runtimes
    ]
    for shown, headline in (
        (report, "7 random nodes, not the same in both runtimes</h1>"),
        (replace(report, found=in_both), "nodes, different numbers in each runtime</h1>"),
        (replace(report, runtimes=neither), "7 random nodes: no runtime draws them</h1>"),
        (replace(report, runtimes=neither, found=report.found[:1]), "no runtime draws it</h1>"),
    ):
        write_page(shown, page)
        assert headline in page.read_text("utf-8")
