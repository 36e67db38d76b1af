"""Which inputs `inspect` says may be noise, and that the command that it gives draws them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import onnx
import openvino as ov
import pytest
from onnx import parser

from tests.common import cli


def model_of(inputs: str) -> onnx.ModelProto:
    """A model that reads each of some inputs, such as "float[N, 4] z, int64[N] label"."""
    names = re.findall(r"\w+(?:\[[^]]*\])? (\w+)", inputs)
    outputs = ", ".join(f"out_{name}" for name in names)
    nodes = "  ".join(f"out_{name} = Identity ({name})" for name in names)
    model = parser.parse_model(
        f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => ({outputs}) {{ {nodes} }}'
    )
    for output in model.graph.output:
        output.type.CopyFrom(onnx.TypeProto())
    return model


STEP = (
    "Where a sampler calls the model in steps, only its first step reads noise: then draw it there."
)

MAY_BE: list[tuple[str, list[str], bool]] = [
    ("float[B, 6] observation, float[B, 6] noise", ["noise"], False),
    ("float[N, 128] z", ["z"], False),
    ("float[N, 128] z, int64[N] label", ["z"], False),
    ("float[B, 4] z, float[B, 4] x", ["z"], False),
    ("float[B, 4] z, float[B, 4] eps, float[B, 4] x, float[B, 4] c", ["z", "eps"], False),
    ("float[N, 128] latent_z", ["latent_z"], False),
    ("float16[1, 4, 64, 64] latents", ["latents"], False),
    ("float[1, 4, 64, 64] latent_sample", ["latent_sample"], True),
    ("float[N, 4, H, W] sample, int64[1] timestep", ["sample"], True),
    ("float[N, 16, 7] sample, float[N, 64] global_cond", ["sample"], True),
    ("float[N, 16, 7] noisy_action, int64[N] timestep", ["noisy_action"], True),
    ("float[N, 16, 7] x_t, float[N] time, float[N, 64] cond", ["x_t"], True),
    ("float[N, 4, 64, 64] x_T, float[N, 77, 768] context", ["x_T"], False),
    ("float[N, 4, 64, 64] x_t, float[N, 77, 768] context", ["x_t"], False),
    ("float[N, 4, 64, 64] start_code, float[N, 77, 768] c", ["start_code"], False),
    ("float[N, 2, T] zin, float[N, 192, T] x, float[N, 1, T] x_mask", ["zin"], False),
    ("float[N, 16, 7] noised_action, float[N] t", ["noised_action"], True),
    (
        "float[N, 16, H, W] hidden_states, float[N] timestep, float[N, T, 64] "
        "encoder_hidden_states",
        ["hidden_states"],
        True,
    ),
    (
        "float[1, 144, T] noisy_latent, float[1, 1, T] latent_mask, float[1] current_step",
        ["noisy_latent"],
        True,
    ),
    ("float[N, 3, 32, 32] x, float[N] sigma, float[N, 10] class_labels", ["x"], True),
    ("double[N, 20] mu, double[N, 20] eps", ["eps"], False),
    ("float[N, 20] mu, float[N, 20] epsilon", ["epsilon"], False),
    ("int64[1, T] phone, float[1, 192, T] rnd", ["rnd"], False),
    ("float[1, 192, T] noise, float[1] noise_scale, int64[1, T] c", ["noise"], False),
    ("float[N, 512] noise0, float[N, 512] noise1", ["noise0", "noise1"], False),
    ("float[N, 512] inputNoise, float[N, 3] x", ["inputNoise"], False),
    ("bfloat16[N, 50, 32] noise, float[N, 14] state", ["noise"], False),
    ("float[N, 8] random_vector", ["random_vector"], False),
]
"""The inputs of a model, those that may be noise, and whether it may be a step of a sampler."""

IS_NOT = [
    "int64[N, T] input_ids, int64[N, T] attention_mask",
    "uint8[N, 3, H, W] sample, float[N, 3] x",
    "float[N, 3, 224, 224] sample",
    "float[N, T] samples, int64[1] sample_rate",
    "int64[N, T] noise",
    "int64[1, T] input, int64[1] input_lengths, float[3] scales",
    "float noise_scale, float length_scale, float noise_scale_w, float[1, T] y",
    "float[N, 4] noise_pred, float[N, 4] y",
    "float[N] noise_level, float[N, T] noisy_speech",
    "float[N, 257, T] noise_psd, float[N, 257, T] noise_mask",
    "float eps, float[N, 4] x",
    "float[1] epsilon, float[N, 4] x",
    "float[N] x, float[N] y, float[N] z",
    "float[1, 3, 127, 127] z, float[1, 3, 255, 255] x",
    "float[N, 4] latent_mean, float[N, 4] latent_logvar",
    "float[N, 1024, 32] gpt_cond_latents, float[N, 4, 8, 8] image_latents",
    "float[N, 80, T] noisy",
    "float[N, 2] x, float[N, 1] t",
    "float[N, 32] x_t, float[N, 64] context",
    "float[N, 3, 64, 64] x_t, float[N, 8, 64, 64] h",
    "uint32[6] random_state, float[N, 2] x",
    "float[N, 3] gaussians",
    "float[N, T, 64] hidden_states, float[N, T] attention_bias",
    "float[N, 2] x, float[N] mu, float[N] sigma",
    "float[N, 80, T] x, float[1] noise_scale, float[1] sdp_ratio",
]


def save(model: onnx.ModelProto, path: Path) -> Path:
    """The file, an IR if its name says so."""
    if path.suffix == ".onnx":
        onnx.save(model, path)
    else:
        core = ov.Core()
        ov.save_model(core.read_model(model.SerializeToString()), path, compress_to_fp16=False)
    return path


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize(("inputs", "names", "is_step"), MAY_BE)
def test_inputs_that_may_be_noise_are_named_with_a_command_that_draws_them(
    inputs, names, is_step, suffix, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(model_of(inputs), Path(f"model{suffix}"))
    draws = [
        {
            "name": name,
            "draw": f"{name}=normal",
            "problem": None,
        }
        for name in names
    ]
    assert cli.document("inspect", path)["noise_inputs"] == draws
    said = cli.text("inspect", path)
    assert "no random nodes, but perhaps noise as an input." in said
    head = "Its input " if len(names) == 1 else "Its inputs "
    assert f"{head}'{names[0]}' (" in said
    assert (STEP in said) is is_step
    options = " ".join(f"--draw {name}=normal" for name in names)
    command = f"onnx-philox rewrite {path} -o model.reproducible{suffix} {options}"
    assert f" {command} " in said
    rewritten = cli.text(*shlex.split(command)[1:])
    nodes = "1 random node" if len(names) == 1 else f"{len(names)} random nodes"
    assert rewritten.startswith(f"{path}: {nodes} rewritten")
    assert cli.document("inspect", f"model.reproducible{suffix}")["noise_inputs"] == []


@pytest.mark.parametrize("inputs", IS_NOT)
def test_inputs_that_are_something_else_are_not_named(inputs, tmp_path) -> None:
    path = save(model_of(inputs), tmp_path / "model.onnx")
    assert cli.document("inspect", path)["noise_inputs"] == []
    assert "no random nodes, nothing to rewrite." in cli.text("inspect", path)


def test_an_input_that_cannot_be_drawn_is_named_with_the_reason(tmp_path) -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[4] noise, float[4] z, bool c) => (float[4] y) {
            a = If (c) <
                then_branch = t () => (float[4] b) { b = Abs (noise) },
                else_branch = e () => (float[4] d) { d = Neg (noise) }>
            y = Add (a, z) }""")
    path = save(model, tmp_path / "model.onnx")
    why = (
        "A rewrite does not draw 'noise' as it is: --draw must be of an input that a node of the "
        "main graph reads (an If, Loop or Scan alone reads it). Put an Identity behind that input, "
        "or leave it as it is."
    )
    assert cli.document("inspect", path)["noise_inputs"] == [
        {"name": "z", "draw": "z=normal", "problem": None},
        {"name": "noise", "draw": None, "problem": why},
    ]
    said = cli.text("inspect", path)
    assert "Its inputs 'z' (f32[4]), 'noise' may be noise" in said
    assert why in said


def test_an_input_without_a_rank_is_named_with_what_draws_it(tmp_path) -> None:
    model = model_of("float[B, 4] x, float noise")
    model.graph.input[1].type.tensor_type.ClearField("shape")
    path = save(model, tmp_path / "model.onnx")
    said = cli.text("inspect", path)
    assert (
        "The model does not say how many dimensions 'noise' has: a rewrite draws it with its shape "
        "behind the word, such as --draw 'noise=normal[1, 16]'."
    ) in said
    cli.text("rewrite", path, "-o", tmp_path / "new.onnx", "--draw", "noise=normal[1, 16]")


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_an_input_that_nothing_reads_is_not_said_to_be_noise(suffix, tmp_path) -> None:
    model = model_of("float[B, 4] x, float[B, 4] noise")
    del model.graph.node[1], model.graph.output[1]
    path = save(model, tmp_path / f"model{suffix}")
    assert cli.document("inspect", path)["noise_inputs"] == []
    assert "may be noise" not in cli.text("inspect", path)


def test_noise_beside_random_nodes_is_named_below_their_command(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N, 4] x, float[N, 4] rnd) => (float[N, 4] y) {
            n = RandomNormalLike (x)  m = Add (n, rnd)  y = Add (m, x) }""")
    path = save(model, Path("model.onnx"))
    said = cli.text("inspect", path, "--html", "page.html")
    first = "onnx-philox rewrite model.onnx -o model.reproducible.onnx"
    assert said.index(first) < said.index("Its input 'rnd'") < said.index(f"{first} --draw")
    assert "--draw rnd=normal" in Path("page.html").read_text("utf-8")
    cli.text("rewrite", path, "-o", "new.onnx")
    assert [n["name"] for n in cli.document("inspect", "new.onnx")["noise_inputs"]] == ["rnd"]
    cli.text("rewrite", "new.onnx", "-o", "newer.onnx", "--draw", "rnd=normal")


def test_a_page_of_a_model_without_random_nodes_has_the_command(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(model_of("float[B, 6] observation, float[B, 6] noise"), Path("model.onnx"))
    cli.text("inspect", path, "--html", "page.html")
    page = Path("page.html").read_text("utf-8")
    assert "No random nodes, but perhaps noise as an input" in page
    assert "rewrite model.onnx -o model.reproducible.onnx --draw noise=normal" in page
