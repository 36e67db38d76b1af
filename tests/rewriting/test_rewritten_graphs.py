"""What a rewrite writes, as text, where no other test judges the draws.

`python -m tests.rewriting.test_rewritten_graphs` writes the folder `rewritten_graphs` anew.

The tables of other tests are judged there, by what their models draw. Of each table a few models
are here as well, for what no draw shows: names, declared shapes, the order of the nodes.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from onnx_philox import make_reproducible
from onnx_philox.rewriting import rewrite
from tests.common.cases import parse
from tests.rewriting import test_bernoulli_shares as shares
from tests.rewriting import test_rewriting_control_flow as flow
from tests.rewriting import test_rewriting_equal as equal
from tests.rewriting import test_rewriting_refused as refused
from tests.rewriting.test_rewriting_foreign import FOREIGN, FUSED
from tests.rewriting.test_rewriting_patterns import PATTERNS
from tests.rows import test_rewriting_rows as rows
from tests.rows import test_rows_anywhere as anywhere
from tests.torch_numbers import test_alignment_models as torch_s

FOLDER = Path(__file__).with_name("rewritten_graphs")

Given = tuple[onnx.ModelProto, dict[str, Any]]
"""A model, and what is asked of its rewrite."""

ROWS: dict[str, Any] = {"per_row": True}
TORCH: dict[str, Any] = {"alignment": "pytorch"}
SEEDED: dict[str, Any] = {"seed": 5}
INVERTED: dict[str, Any] = {"invert_bernoulli": True}


def of_rows(name: str) -> Given:
    return rows.model_of(rows.PROVED[name]), ROWS


def of_rows_elsewhere(name: str) -> Given:
    case = anywhere.STANDING[name]
    return case.model, {"per_row": True, "batch": case.said}


def of_foreign(name: str) -> Given:
    case = FOREIGN[name]
    return parse(case.text), dict(case.asked)


def of_pattern(name: str) -> Given:
    return PATTERNS[name].model(), {}


def of_fused_dropout(call: str) -> Given:
    assert call in FUSED
    text = f"""g (float[N, 4] x, float[4] b, float[N, 4] r, bool t) => (y)
        <float ratio = {{0.25}}, float none = {{0}}, bool on = {{1}}, bool off = {{0}}> {{
        y = com.microsoft.{call} }}"""
    return parse(text), {}


def of_loop(name: str) -> Given:
    return parse(flow.LOOPS[name]), {}


def of_loop_of_opset_9(name: str) -> Given:
    return parse(flow.LOOPS[name], opset=9, ir_version=3), {}


def of_program(name: str) -> Given:
    return flow.model_of(flow.PROGRAMS[name], 17), SEEDED


def of_keys(name: str) -> Given:
    return parse(getattr(equal, name)), {}


def of_pair(name: str) -> Given:
    return equal.model_of(name), {}


def of_torch(name: str) -> Given:
    text, _ = torch_s.MODELS[name]
    return parse(text), TORCH


def of_share(name: str) -> Given:
    before = {**shares.NOT_MADE_UP, **shares.MADE_UP}[name]
    return shares.model_of(before), INVERTED


def of_inlined_share() -> Given:
    inlined = "X_random = RandomUniformLike (p) y = Greater (X_random, p)"
    return shares.model_of(node=inlined), INVERTED


def of_scan_from_behind() -> Given:
    text = f"""g (float[2, 3] xs) => (float[K, 3] rows) {{
        rows = Scan (xs) <num_scan_inputs = 1, scan_input_axes = [-1],
            body = b (float[2] x) => (float[3] row) {{ {flow.ROW} }}> }}"""
    return parse(text), {}


def of_rows_of_a_named_node() -> Given:
    body = "zeros = ConstantOfShape (shape) y = RandomNormalLike (zeros)"
    model = rows.model_of(body, f"{rows.X}, int64[2] shape")
    return model, {"per_row": ["y"]}


def with_one_more_node(opset: int, ir_version: int, **asked: Any) -> Given:
    """A rewritten model to which a draw is added, for a second rewrite."""
    text = f"g ({rows.X}) => (float[a, b] y) {{ {rows.BESIDE} }}"
    model = make_reproducible(parse(text, opset, ir_version), **asked)
    late = parser.parse_node("late = RandomUniformLike (x)")
    model.graph.node.append(late)
    return model, asked if "alignment" in asked else {}


TABLES: dict[str, tuple[Callable[[str], Given], list[str]]] = {
    "rows": (
        of_rows,
        ["like an input", "a shape made of integers", "a Loop in a Loop", "in a branch"],
    ),
    "rows elsewhere": (
        of_rows_elsewhere,
        ["the last dimension", "merged in the middle", "stacked by a Scan", "dropout"],
    ),
    "foreign": (
        of_foreign,
        [
            "gammas and counts of the shape for each parameter",
            "a shuffle, which is a Gather by a permutation",
            "a truncated normal in a Loop",
            "a chain of one shape",
            "functions, of which each call draws its own",
            "names in functions that meet others",
            "kept seeds, one stream each",
        ],
    ),
    "pattern": (
        of_pattern,
        [
            "torch's bernoulli_ with a number",
            "of an input for each column",
            "torch's randint with a low bound",
            "all bits between bounds",
            "bits modulo a number",
            "JAX's uniform between bounds",
        ],
    ),
    "fused dropout": (
        of_fused_dropout,
        ["BiasDropout (x, b, r, ratio, t)", "BiasDropout (x, b)"],
    ),
    "loop": (
        of_loop,
        ["no trip count", "a scan of rows whose shapes are read"],
    ),
    # Nothing else rewrites Loop and Scan of this age.
    "loop of opset 9": (
        of_loop_of_opset_9,
        [
            "nothing carried, no condition",
            "nothing carried",
            "no trip count",
            "no state in a scan",
            "a scan of rows that nothing reads",
        ],
    ),
    "program": (
        of_program,
        ["if with a draw in one branch", "two in a loop", "loop in if in loop", "loop in scan"],
    ),
    "keys": (
        of_keys,
        ["LOOP", "NESTED", "SCAN"],
    ),
    # Their keys differ from run to run, so nobody compares the draws.
    "pair": (
        of_pair,
        ["a clock, read twice", "functions of clocks", "keys that are drawn"],
    ),
    "torch": (
        of_torch,
        ["in a row", "in bodies"],
    ),
    "share": (
        of_share,
        ["an input", "another difference", "the difference of one", "Sub", "Expand", "Cast", "Add"],
    ),
}
GRAPHS: dict[str, Callable[[], Given]] = {
    f"{table}, {name}": lambda make=make, name=name: make(name)
    for table, (make, names) in TABLES.items()
    for name in names
}
GRAPHS |= {
    "share, inlined": of_inlined_share,
    "scan from behind": of_scan_from_behind,
    "rows of a named node": of_rows_of_a_named_node,
    "rows of torch's generators": lambda: (parse(torch_s.OF_ROWS), ROWS | TORCH),
    "again, opset 8": lambda: with_one_more_node(8, 3),
    "again, opset 8, a constant state": lambda: with_one_more_node(8, 3, **SEEDED),
    "again, opset 8, torch's": lambda: with_one_more_node(8, 3, **TORCH),
    "again, opset 8, IR version 4": lambda: with_one_more_node(8, 4),
    "again, opset 8, IR version 4, a constant state": lambda: with_one_more_node(8, 4, **SEEDED),
    "again, opset 8, IR version 4, torch's": lambda: with_one_more_node(8, 4, **TORCH),
    "again, opset 17": lambda: with_one_more_node(17, 8),
    "again, opset 17, a constant state": lambda: with_one_more_node(17, 8, **SEEDED),
    "again, opset 17, torch's": lambda: with_one_more_node(17, 8, **TORCH),
    "again, opset 17, rows": lambda: with_one_more_node(17, 8, **ROWS),
}


def text_of(model: onnx.ModelProto) -> str:
    """The model in ONNX's own text, with one port on a line."""
    lines = []
    for line in onnx.printer.to_text(model).splitlines():
        is_of_ports = line.startswith(("g (", "   <"))
        lines.append(line.replace(", ", ",\n      ") if is_of_ports else line)
    return "\n".join(lines)


def written(name: str) -> str:
    """What a rewrite warns of, what it reports or refuses, and the model that it leaves."""
    given, asked = GRAPHS[name]()
    model = ir.from_proto(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = str(rewrite(model, **asked))
            said = "reported: " + report.replace("RandomNode(", "\n    RandomNode(")
        except (TypeError, ValueError) as error:
            said = f"refused: {error}"
    warned = [f"warned: {each.message}" for each in caught if each.category is UserWarning]
    graph = text_of(ir.to_proto(model))
    return "\n".join([*warned, said, graph]) + "\n"


def file_of(name: str) -> Path:
    words = re.findall(r"\w+", name)
    return FOLDER / f"{'_'.join(words)}.txt"


@pytest.mark.parametrize("name", GRAPHS)
def test_a_rewrite_writes_what_it_wrote_before(name: str) -> None:
    assert written(name) == file_of(name).read_text()


MIXED_INPUTS = "float[batch, 4] x, float[batch, 6, 4] z"
REFUSED: dict[str, Callable[[], Given]] = {
    **{
        f"not rows, {name}": lambda body=body: (rows.model_of(body, rows.INPUTS), ROWS)
        for name, (body, _) in rows.UNPROVED.items()
    },
    **{
        f"mixed rows, {name}": lambda body=body: (rows.model_of(body, MIXED_INPUTS), ROWS)
        for name, (body, _) in anywhere.REFUSED.items()
    },
    **{
        f"node, {node}": lambda node=node: (
            parse(f"{refused.AROUND} {{ u = com.example.Op (x) y = {node} }}"),
            {},
        )
        for node, _ in refused.NODES
    },
    **{
        f"model {number}": lambda model=model: (model, {})
        for number, (model, _) in enumerate(refused.MODELS)
    },
}


REFUSALS = FOLDER / "refusals.txt"
"""A model a line: its name, and the whole sentence in which its rewrite is refused."""


def refusal_of(name: str) -> str:
    given, asked = REFUSED[name]()
    model = ir.from_proto(given)
    before = ir.to_proto(model)
    with pytest.raises((TypeError, ValueError)) as refused_with:
        rewrite(model, **asked)
    assert ir.to_proto(model) == before, "a refused rewrite leaves the model as it was"
    sentence = str(refused_with.value).replace("\n", " ")
    return f"{name}: {sentence}"


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_it_said_and_leaves_the_model_as_it_was(name: str) -> None:
    assert refusal_of(name) in REFUSALS.read_text().splitlines()


def test_every_written_graph_is_compared() -> None:
    files = {file_of(name) for name in GRAPHS}
    assert files | {REFUSALS} == set(FOLDER.iterdir())


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    for name in GRAPHS:
        file_of(name).write_text(written(name))
    refusals = [refusal_of(name) for name in REFUSED]
    REFUSALS.write_text("\n".join(refusals) + "\n")
