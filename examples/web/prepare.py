"""Writes what the page loads: two models of standard nodes, and the hashes of Python's draws.

    python prepare.py                   hashes for the seeds 0 to 255
    python prepare.py 42 123456789      and for these too

It writes into `models/`:

- `words.onnx` draws 2^16 words. `vae.onnx` is the decoder of `tests/models`; the noise that it
  draws is an output too.
- `draws.json` names the nodes of these models that draw. A GPU may round divisions and square roots
  in its own way, so the page keeps these nodes in WebAssembly.
- `python.json` holds the hashes. They come from the models before their nodes were replaced, in
  ONNX Runtime with onnx-philox's own operators.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, inliner

import onnx_philox

HERE = Path(__file__).parent
DECODER = HERE.parents[1] / "tests" / "models" / "vae_decoder.onnx"
SEEDS = range(256)
SIDE = 256  # of the picture of the words
LATENT = 4
IMAGES = 36
_GRAPH = ir.AttributeType.GRAPH


def decoder() -> onnx.ModelProto:
    """The decoder with an explicit state; the noise that it draws is an output of its own."""
    model = onnx_philox.make_reproducible(DECODER)
    (draw,) = (node for node in model.graph.node if node.op_type == "RandomNormal")
    model.graph.node.append(helper.make_node("Identity", [draw.output[0]], ["noise"]))
    noise = helper.make_tensor_value_info("noise", onnx.TensorProto.FLOAT, [None, LATENT])
    model.graph.output.append(noise)
    return model


def standard(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model of standard nodes, each with a name of its own, in no functions."""
    model = onnx_philox.to_standard_nodes(model, target="onnxruntime")
    named = ir.from_proto(inliner.inline_local_functions(model))
    for i, node in enumerate(named.graph.all_nodes()):
        node.name = f"node_{i}"
    return ir.to_proto(named)


def nodes_of(model: onnx.ModelProto, outputs: list[str]) -> list[str]:
    """The names of the nodes that compute these outputs, also inside other nodes."""
    graph = ir.from_proto(model).graph
    values: list[ir.Value | None] = [value for value in graph.outputs if value.name in outputs]
    found: set[ir.Node] = set()
    while values:
        value = values.pop()
        node = value.producer() if value else None
        if node is None or node in found:
            continue
        graphs = [a.as_graph() for a in node.attributes.values() if a.type is _GRAPH]
        inside = [node, *(n for body in graphs for n in body.all_nodes())]
        found.update(inside)
        values += [value for n in inside for value in n.inputs]
    return [str(node.name) for node in graph.all_nodes() if node in found]


def sha256(array: np.ndarray) -> str:
    """The hash of an array's bytes, little-endian as everywhere on the web."""
    return hashlib.sha256(array.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def main(seeds: list[int]) -> None:
    """Writes all files."""
    folder = HERE / "models"
    folder.mkdir(exist_ok=True)
    models = {"words": onnx_philox.graphs.random_generator([SIDE, SIDE]), "vae": decoder()}
    drawn = {"words": ["bits", "next_state"], "vae": ["noise", "next_random_state"]}
    draws = {}
    for name, model in models.items():
        lowered = standard(model)
        onnx.save(lowered, folder / f"{name}.onnx")
        draws[name] = nodes_of(lowered, drawn[name])
    (folder / "draws.json").write_text(json.dumps(draws) + "\n")

    session = {name: onnx_philox.onnxruntime.InferenceSession(m) for name, m in models.items()}
    prior = dict.fromkeys(["mean", "log_variance"], np.zeros((IMAGES, LATENT), np.float32))
    hashes = {}
    for seed in sorted({*SEEDS, *seeds}):
        state = onnx_philox.PhiloxState.for_run(seed).to_array()
        (words,) = session["words"].run(["bits"], {"state": state})
        (noise,) = session["vae"].run(["noise"], {"random_state": state, **prior})
        hashes[seed] = {"words": sha256(words), "noise": sha256(noise)}
    (folder / "python.json").write_text(json.dumps(hashes, indent=1) + "\n")
    print(f"models/: {', '.join(f'{name}.onnx' for name in models)}")
    print(f"Python's hashes for {len(hashes)} seeds")


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
