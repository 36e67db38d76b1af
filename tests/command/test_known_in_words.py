"""What the commands say of known behaviours: once, of the nodes that it concerns, in few words."""

from __future__ import annotations

import numpy as np
import onnx
import openvino as ov
import pytest

from tests.command.bare import RATIO, integers, of_onnx, of_two_uniforms
from tests.common import cli
from tests.common.runtimes import save_ir


def of_logits(logits: str) -> onnx.ModelProto:
    return of_onnx(f"l = Constant <value = float[1, 3] {{{logits}}}> ()  y = Multinomial (l)")


@pytest.mark.parametrize(
    ("logits", "what"),
    [("-inf, -inf, -inf", "-inf in all of row 0"), ("0, inf, 0", "inf in row 0")],
)
def test_constant_logits_that_no_runtime_would_load_are_not_rewritten(logits, what, tmp_path):
    path, new = tmp_path / "m.onnx", tmp_path / "n.onnx"
    onnx.save(of_logits(logits), path)
    why = (
        "Multinomial of 'y' (opset 7, main graph): RandomCategorical: input 'logits' must be "
        f"finite numbers or -inf, at least one of them finite in each row: got {what}. Correct "
        "what computes the logits."
    )
    assert cli.refusal("rewrite", path, "-o", new) == f"onnx-philox rewrite: {why}\n"
    assert why in cli.text("inspect", path, env={"COLUMNS": "400"})
    onnx.save(of_logits("0, -inf, 0"), path)
    cli.text("rewrite", path, "-o", new)


def test_constant_logits_of_an_ir_that_it_would_not_load_are_not_rewritten(tmp_path) -> None:
    path = tmp_path / "m.xml"
    logits = "-inf, -inf, -inf", "0, -inf, 0"
    save_ir(of_logits(logits[0]), path)
    said = cli.refusal("rewrite", path, "-o", tmp_path / "n.xml")
    assert "RandomCategorical: input 'logits' must be finite numbers or -inf, at least one" in said
    save_ir(of_logits(logits[1]), path)
    cli.text("rewrite", path, "-o", tmp_path / "n.xml")


def test_few_nodes_of_many_are_named_and_a_name_in_words(tmp_path) -> None:
    path = tmp_path / "m.onnx"
    nodes = [f"y{number} = Bernoulli (x)" for number in range(9)]
    onnx.save(of_onnx("  ".join(nodes), ", ".join(f"y{number}" for number in range(9))), path)
    said = cli.text("rewrite", path, "-o", tmp_path / "n.onnx")
    named = (
        "the Bernoulli that gives 'y0', the Bernoulli that gives 'y1', the Bernoulli that gives "
        "'y2' and 6 more: ONNX Runtime draws 1 with"
    )
    assert named in said
    assert "'y3'" not in said
    onnx.save(of_onnx(f"{RATIO}  y, m = Dropout (x, r, t)"), path)
    said = cli.text("rewrite", path, "-o", tmp_path / "n.onnx")
    before = "onnxruntime 1.32.0 does this with the Dropout that gives 'y':"
    assert f"Without the rewrite, {before} It keeps its first element" in said
    assert "ONNX Runtime's" not in said
    assert said.count(before) == 1


def test_nodes_that_are_merged_are_said_to_be_one_once(tmp_path) -> None:
    path = tmp_path / "m.xml"
    ov.save_model(of_two_uniforms(), path, compress_to_fp16=False)
    said = cli.text("inspect", path)
    assert "once, as one node: they read the same" in said
    assert "It may repeat another" not in said


def test_a_seed_is_not_said_to_be_ignored_where_nothing_is_drawn_anew(tmp_path) -> None:
    path = tmp_path / "m.xml"
    ov.save_model(integers(np.int32, -(2**31), 2**31 - 1), path)
    said = cli.text("inspect", path)
    assert "same numbers every run: it never draws others, whatever its seed" in said
    assert "ignores the seed" not in said
