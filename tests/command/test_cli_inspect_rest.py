"""What `onnx-philox inspect` says where a runtime does not load the rest of a model."""

from __future__ import annotations

import html
from pathlib import Path

import onnx
import pytest
from onnx import parser, version_converter

import onnx_philox
from onnx_philox._command.inspect import inspect
from tests.common import cli
from tests.common.file_cases import write
from tests.common.runtimes import bare_session

MODELS = Path(__file__).parents[1] / "models"
ALL_DO = "Today no node draws the same numbers in both runtimes; after a rewrite all do, from a"
UNCHANGED = "A rewrite does not change that."


def noisy(
    body: str,
    opset: int = 17,
    ir_version: int = 8,
    domain: str = "",
) -> onnx.ModelProto:
    """A model whose noise `n` goes through other nodes to `y`."""
    imports = f'"": {opset}{domain and f", {domain!r}: 1"}'.replace("'", '"')
    return parser.parse_model(
        f"<ir_version: {ir_version}, opset_import: [{imports}]> g (float[N, 4] x) => (y) "
        f"{{ n = RandomUniformLike (x)  {body} }}"
    )


def of_layers() -> onnx.ModelProto:
    """A model whose function a converter has dropped."""
    before = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17, "acme.layers": 1]>
        g (float[N, 4] x) => (float[N, 4] y) {
            n = RandomUniformLike (x)
            y = acme.layers.Block (n) }
        <domain: "acme.layers", opset_import: ["": 17]>
        Block (x) => (y) { y = Neg (x) }""")
    return version_converter.convert_version(before, 18)


# A model; which runtime does not load it (the whole sentence, but for the version); the last words.
IN_THE_WAY = {
    "an operator that OpenVINO lacks": (
        noisy("y = BitCast <to = 6> (n)", opset=26, ir_version=12),
        {"openvino": "No conversion rule found for operations: BitCast-26"},
        "After a rewrite a seed decides what they draw, in onnxruntime, from a state",
    ),
    "an operator of another domain that OpenVINO lacks": (
        noisy("y = ai.onnx.ml.Binarizer (n)", domain="ai.onnx.ml"),
        {"openvino": "No conversion rule found for operations: ai.onnx.ml.Binarizer"},
        "After a rewrite a seed decides what they draw, in onnxruntime, from a state",
    ),
    "an IR version that ONNX Runtime does not read": (
        noisy("y = Neg (n)", ir_version=99),
        {"onnxruntime": "Unsupported model IR version: 99, max supported IR version: 14"},
        "After a rewrite a seed decides what they draw, in openvino, from a state",
    ),
    "nothing": (noisy("y = Neg (n)"), {}, ALL_DO),
}


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_a_runtime_that_does_not_load_the_rest_is_named_with_its_reason(name, tmp_path):
    model, reasons, meaning = IN_THE_WAY[name]
    path, page = tmp_path / "model.onnx", tmp_path / "page.html"
    onnx.save(model, path)
    said = cli.text("inspect", path, "--html", page)
    shown = cli.document("inspect", path)
    assert shown["not_loaded_by"] == reasons
    assert meaning in said
    assert (ALL_DO in said) is (not reasons)
    for runtime, reason in reasons.items():
        version = shown["runtimes"][runtime]
        sentence = f"{runtime} {version} does not load the model: {reason}. {UNCHANGED}"
        assert sentence in said
        assert sentence in html.unescape(page.read_text("utf-8"))
        # The runtime itself says so of the rewritten model, and so does a pipeline.
        allowed = "the model must be one that the runtime loads: got another."
        own = f"Pipeline: {allowed} {runtime} does not load the model: {reason}. {UNCHANGED}"
        with pytest.raises(onnx_philox.RefusedInputError) as refused:
            onnx_philox.Pipeline(path, runtime=runtime)
        assert str(refused.value) == f"{own} Run onnx-philox inspect, which tries each runtime."
    for runtime in {"onnxruntime", "openvino"} - reasons.keys():
        onnx_philox.Pipeline(path, runtime=runtime)


def test_a_function_that_is_gone_is_named_with_and_without_random_nodes(tmp_path):
    path, new = tmp_path / "model.onnx", tmp_path / "new.onnx"
    model = of_layers()
    assert not model.functions, "the converter keeps functions"
    without = noisy("y = acme.layers.Block (x)", domain="acme.layers")
    del without.graph.node[0]
    sentence = (
        "The model has no function acme.layers::Block of 'y', and no runtime has such an operator "
        "of its own: none loads the model without a library for it. Where a tool has dropped the "
        "function, as onnx.version_converter does, take the model from before, and call "
        "onnx.inliner.inline_local_functions first."
    )
    for given in (model, without):
        onnx.save(given, path)
        said = cli.text("inspect", path)
        assert sentence in said
        assert ALL_DO not in said
        assert "does not load the model: " not in said
        assert cli.document("inspect", path)["missing_functions"] == ["acme.layers::Block of 'y'"]
        said = cli.text("rewrite", path, "-o", new)
        assert sentence in said
        assert "Run it" not in said
        document = cli.document("rewrite", path, "-o", new)
        assert document["missing_functions"] == ["acme.layers::Block of 'y'"]
        with pytest.raises(Exception, match="Block"):
            bare_session(given)
    gone = "- A function that is gone may be where it drew: acme.layers::Block of 'y'."
    assert gone in cli.text("inspect", path)


def test_weights_that_are_missing_are_named(tmp_path):
    path = write(tmp_path / "model.onnx", "weights")
    path.with_name("weights").unlink()
    said = cli.text("inspect", path)
    assert (
        "No runtime loads the model without its weights, and 'weights' cannot be found. Put it "
        "into the model's folder."
    ) in said
    assert ALL_DO not in said
    assert cli.document("inspect", path)["missing_weights"] == ["weights"]


@pytest.mark.parametrize("name", ["bert", "diffusion_scan", "diffusion_while", "vae_decoder"])
def test_no_stand_in_makes_a_runtime_refuse_what_it_loads(name):
    """Large weights, weights that a Scan reads from outside, draws in bodies."""
    report = inspect(MODELS / f"{name}.onnx")
    assert {r.name: r.in_the_way for r in report.runtimes} == {"onnxruntime": "", "openvino": ""}
    onnx_philox.Pipeline(MODELS / f"{name}.onnx", runtime="openvino")


GO = "go = Constant <value = bool {1}> ()"
# Draws of which nobody knows the rank, or that a body gives back as they are.
OF_TENSORFLOW = {
    "of the shape of an input": """g (float[N, 2] x) => (float[N, 2] y) {
        s = Shape (x)  i = Cast <to = 6> (s)  n = TruncatedNormal <dtype = 1> (i)  y = Neg (n) }""",
    "an order of rows": """g (float[N, 2] x) => (float[N, 2] y) {
        n = RandomShuffle (x)  y = Neg (n) }""",
    "a draw that a Loop gives back": f"""g (int64 n, int32[1] s) => (float[T, A] y) {{ {GO}
        y = Loop (n, go) <body = b (int64 i, bool c) => (bool d, float[A] o) {{
            d = Identity (c)  o = TruncatedNormal <dtype = 1> (s) }}> }}""",
    "a draw that a branch gives back": """g (int32[1] s, bool c) => (float[A] y) {
        y = If (c) <then_branch = t () => (float[A] a) { a = TruncatedNormal <dtype = 1> (s) },
                    else_branch = e () => (float[A] b) { b = TruncatedNormal <dtype = 1> (s) }> }
        """,
}


@pytest.mark.parametrize("name", OF_TENSORFLOW)
def test_a_draw_of_tensorflow_is_no_reason_not_to_load_the_rest(name, tmp_path):
    path = tmp_path / "model.onnx"
    text = f'<ir_version: 8, opset_import: ["": 17]> {OF_TENSORFLOW[name]}'
    onnx.save(parser.parse_model(text), path)
    report = inspect(path)
    assert {r.name: r.in_the_way for r in report.runtimes} == {"onnxruntime": "", "openvino": ""}
    onnx_philox.Pipeline(path, runtime="openvino")


def test_an_operator_that_a_rewrite_removes_is_not_reported_as_missing_in_runtimes(tmp_path):
    path, new = MODELS / "tensorflow_draws.onnx", tmp_path / "new.onnx"
    assert cli.document("inspect", path)["of_no_runtime"] == []
    assert ALL_DO in cli.text("inspect", path)
    assert cli.document("rewrite", path, "-o", new)["of_no_runtime"] == []
    bare = onnx.load(new)
    assert not any("KeyCounter" in node.op_type for node in bare.graph.node)
