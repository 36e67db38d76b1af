"""Made the files beside it, at commit e86cabc; see README.md.

    git checkout e86cabc && python tests/rewritten_by_e86cabc/make.py

It never writes a file that exists. `bert_original.onnx` needs torch 2.13.0 and transformers 5.23.0.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
from onnx import parser

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from rewritten_models import (  # noqa: E402
    SEED,
    STEMS,
    Arrays,
    engines_of,
    four_runs,
    pipeline,
    resumed_runs,
    same_draws,
)

import onnx_philox  # noqa: E402

MODELS = FOLDER.parent / "models"

EVERY_OPERATOR = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, 4] x, float[n, 4] p, float[n, 3] logits) => (
    float[n, 4] uniform, float[2, 3] normal, float16[n, 4] half, double[n, 4] double_,
    float[n, 4] bernoulli, int64[n, 5] classes, bool[n, 4] mask, bool[2, 3] coins,
    int64[2, 3] dice, float[n, 4] y)
<float ratio = {0.25}, bool yes = {1}, float third = {0.3}, float six = {6.0}, float one = {1.0}> {
    uniform = RandomUniformLike <low = -1.0, high = 3.0> (x)
    normal = RandomNormal <shape = [2, 3], mean = 1.5, scale = 0.5> ()
    half = RandomNormalLike <dtype = 10> (x)
    double_ = RandomUniformLike <dtype = 11> (x)
    bernoulli = Bernoulli (p)
    classes = Multinomial <dtype = 7, sample_size = 5> (logits)
    y, mask = Dropout (x, ratio, yes)
    u = RandomUniform <shape = [2, 3]> ()
    coins = Less (u, third)
    v = RandomUniform <shape = [2, 3]> ()
    scaled = Mul (v, six)
    moved = Add (scaled, one)
    whole = Floor (moved)
    dice = Cast <to = 7> (whole)
}"""

OPENVINO_EXACT = """<ir_version: 8, opset_import: ["": 17]>
g (float[n, 4] x, float[n, 4] p) => (
    float[n, 4] uniform, float[n, 4] bernoulli, bool[n, 4] mask, bool[2, 3] coins, float[n, 4] y)
<float ratio = {0.25}, bool yes = {1}, float third = {0.3}> {
    uniform = RandomUniformLike <high = 3.0> (x)
    bernoulli = Bernoulli (p)
    y, mask = Dropout (x, ratio, yes)
    u = RandomUniform <shape = [2, 3]> ()
    coins = Less (u, third)
}"""

BRANCHES = """<ir_version: 8, opset_import: ["": 16]>
g (float[2, 3] x, bool choice, int64 steps) => (float[a, b] chosen, float[s, 2, 3] walk) {
    chosen = If (choice) <
        then_branch = t () => (float[2, 3] normal) { normal = RandomNormalLike (x) },
        else_branch = e () => (float[1, 3] uniform) { uniform = RandomUniform <shape = [1, 3]> () }>
    walk = Loop (steps, ) <body = b (int64 i, bool go) => (bool on, float[2, 3] stepped) {
        on = Identity (go)
        two = Constant <value = int64 {2}> ()
        rest = Mod (i, two)
        is_odd = Cast <to = 9> (rest)
        stepped = If (is_odd) <
            then_branch = u () => (float[2, 3] odd) {
                odd = RandomUniformLike <low = 5.0, high = 6.0> (x) },
            else_branch = n () => (float[2, 3] even) { even = Sub (x, x) }>
    }>
}"""

LOOP_ROWS = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, 3] x, int64 steps) => (float[batch, 3] first, float[s, batch, 3] walk) {
    first = RandomNormalLike (x)
    walk = Loop (steps, ) <body = b (int64 i, bool go) => (bool on, float[batch, 3] stepped) {
        on = Identity (go)
        stepped = RandomNormalLike (x)
    }>
}"""

OLD_OPSET = """<ir_version: 3, opset_import: ["": 8]>
g (float[2, 3] x, float[2, 4] logits) => (
    float[2, 3] normal, double[4] uniform, int32[2, 3] classes) {
    normal = RandomNormalLike <mean = 1.0, scale = 2.0> (x)
    uniform = RandomUniform <dtype = 11, shape = [4]> ()
    classes = Multinomial <sample_size = 3> (logits)
}"""


def bert() -> onnx.ModelProto:
    """A BERT of transformers with random weights, in training mode."""
    path = FOLDER / "bert_original.onnx"
    if not path.exists():
        import torch
        import transformers

        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=12,
            hidden_size=8,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=8,
            max_position_embeddings=8,
            attn_implementation="eager",
        )

        class States(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.bert = transformers.BertModel(config, add_pooling_layer=False)

            def forward(self, tokens: torch.Tensor) -> torch.Tensor:
                return self.bert(input_ids=tokens, return_dict=False)[0]

        file = io.BytesIO()
        torch.onnx.export(
            States().train(),
            (torch.zeros(2, 5, dtype=torch.int64),),
            file,
            dynamo=False,
            opset_version=17,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            input_names=["tokens"],
            output_names=["states"],
            dynamic_axes={"tokens": {0: "batch"}, "states": {0: "batch"}},
        )
        model = onnx.load_from_string(file.getvalue())
        for node in model.graph.node:
            node.ClearField("doc_string")
        onnx.save(model, path)
    return onnx.load(path)


def line(rows: int, columns: int) -> np.ndarray:
    return np.linspace(-1, 1, rows * columns, dtype=np.float32).reshape(rows, columns)


EVERY_FEED = {"x": line(3, 4), "p": (line(3, 4) + 1) / 2, "logits": line(3, 3)}
TWO_CHOICES = {"x": line(2, 3), "choice": np.array(True), "steps": np.array(4, np.int64)}
FEEDS: dict[str, Arrays] = {
    "vae_decoder": {"mean": line(3, 4), "log_variance": line(3, 4)},
    "mc_dropout_rows": {"x": line(3, 1)},
    "diffusion_loop": {"labels": np.arange(3) % 2},
    "diffusion_scan": {"labels": np.arange(3) % 2},
    "bert": {"tokens": np.arange(15).reshape(3, 5) % 12},
    "tensorflow_draws": {"x": line(3, 4)},
    "branches": TWO_CHOICES,
    "loop_rows": {"x": line(3, 3), "steps": np.array(2, np.int64)},
    "old_opset": {"x": line(2, 3), "logits": line(2, 4)},
    **dict.fromkeys(("seeded", "every_operator", "standard_onnxruntime"), EVERY_FEED),
    "standard_openvino": {"x": line(3, 4), "p": (line(3, 4) + 1) / 2},
}


def rewritten(stem: str) -> onnx.ModelProto:
    rewrite = onnx_philox.make_reproducible
    match stem:
        case "mc_dropout_rows":
            return rewrite(onnx.load(MODELS / "mc_dropout.onnx"), per_row=True)
        case "bert":
            return rewrite(bert())
        case "branches":
            return rewrite(parser.parse_model(BRANCHES))
        case "loop_rows":
            return rewrite(parser.parse_model(LOOP_ROWS), per_row=True)
        case "old_opset":
            return rewrite(parser.parse_model(OLD_OPSET))
        case "seeded":
            return rewrite(parser.parse_model(EVERY_OPERATOR), seed=SEED >> 1)
        case "every_operator":
            return rewrite(parser.parse_model(EVERY_OPERATOR))
        case "standard_onnxruntime":
            model = rewrite(parser.parse_model(EVERY_OPERATOR))
            return onnx_philox.to_standard_nodes(model, target="onnxruntime")
        case "standard_openvino":
            model = rewrite(parser.parse_model(OPENVINO_EXACT))
            return onnx_philox.to_standard_nodes(model, target="openvino")
        case _:
            return rewrite(onnx.load(MODELS / f"{stem}.onnx"))


def write(stem: str) -> None:
    """Rewrites a model, draws from it in each runtime, and writes what came of it."""
    model, feed = rewritten(stem), FEEDS[stem]
    if stem == "every_operator":
        path = FOLDER / f"{stem}.xml"
        core = onnx_philox.openvino.register(ov.Core())
        ov.save_model(core.read_model(model.SerializeToString()), path)
    else:
        path = FOLDER / f"{stem}.onnx"
        onnx.save(model, path)
    drawn = [four_runs(path, feed, runtime, precision) for runtime, precision in engines_of(path)]
    for other in drawn[1:]:
        same_draws(other, drawn[0])
    kept = {f"feed:{name}": array for name, array in feed.items()}
    for number, run in enumerate(drawn[0]):
        kept |= {f"run{number}:{name}": array for name, array in run.items()}
    np.savez_compressed(FOLDER / f"{stem}.npz", **kept)
    if stem == "seeded":
        return
    checkpoints = {}
    for runtime in dict.fromkeys(runtime for runtime, _ in engines_of(path)):
        pipe = pipeline(path, runtime)
        rows = {"seeds": [SEED, 1, 2]} if pipe.is_per_row else {"seed": SEED}
        request = pipe.request(**rows)
        for _ in range(2):
            request(feed)
        checkpoints[runtime] = request.checkpoint()
        same_draws(resumed_runs(path, feed, runtime, checkpoints[runtime]), drawn[0][2:])
    (FOLDER / f"{stem}.json").write_text(json.dumps(checkpoints, indent=1) + "\n")


if __name__ == "__main__":
    assert set(FEEDS) == set(STEMS)
    for stem in FEEDS:
        if not (FOLDER / f"{stem}.npz").exists():
            write(stem)
            print(stem)
