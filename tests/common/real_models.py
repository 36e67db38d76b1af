"""Models as torch exports them, the draws that they make, and how to load them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onnx_philox
from onnx_philox import reference
from tests.common.cases import DTYPES
from tests.common.runtimes import OpenVino, infer

MODELS = Path(__file__).parents[1] / "models"
SEED = 0xFEDCBA987654321
STEPS = 40
ALPHABET = "\n abcdefghijklmnopqrstuvwxyz,."

Arrays = dict[str, np.ndarray]
Run = Callable[[Arrays], Arrays]
Load = Callable[[Any], Run]
LOADERS: dict[str, Load] = {
    **{
        f"onnxruntime {name}": lambda model, name=name: load_in_onnxruntime(model, name)
        for name in onnx_philox.onnxruntime.BACKENDS
    },
    **{
        f"openvino {name}": lambda model, name=name: load_in_openvino(OpenVino(name), model, "f32")
        for name in onnx_philox.openvino.BACKENDS
    },
}
"""Each runtime with each of its backends."""


@dataclass(frozen=True, eq=False)
class RealModel:
    """A model, what it is fed, and how near two runtimes' outputs are, given the same draws.

    A pass rounds sums of at most 64 products a few times; a sampler takes 40 passes. Ten times what
    was seen is allowed, in f32 at least 1e-5.
    """

    name: str
    feed: Arrays
    draws: Callable[[np.ndarray], list[np.ndarray]]
    """The reference's draws from a state, stream by stream."""
    atol_f32: float
    atol_bf16: float

    @cached_property
    def original(self) -> onnx.ModelProto:
        return onnx.load(MODELS / f"{self.name}.onnx")

    @cached_property
    def reproducible(self) -> onnx.ModelProto:
        return onnx_philox.make_reproducible(self.original)

    @cached_property
    def visible(self) -> onnx.ModelProto:
        return with_draws_as_outputs(self.reproducible)


def normals(
    shape: list[int],
    stream: int,
    state: np.ndarray,
    steps: int = 0,
) -> np.ndarray:
    """Standard normals of a stream; with steps, one after the other from the state it carries."""
    rows = []
    for _ in range(steps or 1):
        values, state = reference.random_normal(shape, 0, 1, "f32", op_seed=stream, state=state)
        rows.append(values)
    return np.stack(rows) if steps else rows[0]


def dropped(
    shape: list[int],
    stream: int,
    state: np.ndarray,
) -> np.ndarray:
    return reference.random_bernoulli(shape, np.float32(0.1), op_seed=stream, state=state)[0]


VAE = RealModel(
    "vae_decoder",
    {
        "mean": np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4),
        "log_variance": np.linspace(-2, 0, 20, dtype=np.float32).reshape(5, 4),
    },
    lambda state: [normals([5, 4], 0, state)],
    atol_f32=1e-5,  # seen: 2e-7
    atol_bf16=0.07,  # seen: 7e-3
)
DROPOUT = RealModel(
    "mc_dropout",
    {"x": np.linspace(-4, 4, 33, dtype=np.float32).reshape(33, 1)},
    lambda state: [dropped([33, 64], stream, state) for stream in (0, 1)],
    atol_f32=1e-5,  # seen: 0
    atol_bf16=0.09,  # seen: 9e-3
)
DIFFUSION = [
    RealModel(
        f"diffusion_{loop}",
        {"labels": np.arange(51) % 2},
        lambda state: [normals([51, 2], 0, state), normals([51, 2], 1, state, STEPS)],
        atol_f32=1.4e-5,  # seen: 1.4e-6
        atol_bf16=0.45,  # seen: 0.045
    )
    for loop in ("loop", "while", "scan")
]
TOKENS = RealModel(
    "next_token",
    {
        "tokens": np.array(
            [[*map(ALPHABET.index, text)] for text in ("the state ", "draws the ", "in the run")]
        ),
        "temperature": np.array(3, np.float32),
    },
    # Tokens depend on the logits, too; they have tests of their own.
    lambda _: [],
    atol_f32=0,
    atol_bf16=0,
)

every_model = pytest.mark.parametrize(
    "real", [VAE, DROPOUT, *DIFFUSION, TOKENS], ids=lambda real: real.name
)


def with_draws_as_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its draws as outputs `draw_0`, `draw_1`, ... by stream; of loops, stacked.

    The logits of RandomCategorical are made an output `logits`.
    """
    visible = onnx.ModelProto()
    visible.CopyFrom(model)
    graph = visible.graph

    def show(name: str, output: str, type_: int, how: str = "Identity") -> None:
        graph.node.append(helper.make_node(how, [name], [output]))
        graph.output.append(helper.make_tensor_value_info(output, type_, None))

    for node in list(graph.node):
        if node.domain == "onnx_philox":
            show(drawn_by(node), *stream_and_type(node), how_to_show(node))
            if node.op_type == "RandomCategorical":
                show(node.input[0], "logits", TensorProto.FLOAT)
        for body in (a.g for a in node.attribute if a.name == "body"):
            # A Loop's first output of the body is its condition, which does not come out.
            given = len(body.output) - (node.op_type == "Loop")
            node.output.extend(f"unused_{i}" for i in range(len(node.output), given))
            for inner in body.node:
                if inner.domain == "onnx_philox":
                    output, type_ = stream_and_type(inner)
                    # ONNX Runtime wants a rank of what a Scan stacks; all draws here have 2.
                    stacked = helper.make_tensor_value_info(drawn_by(inner), type_, [None, None])
                    body.output.append(stacked)
                    node.output.append(f"{output}_stacked")
                    show(f"{output}_stacked", output, type_, how_to_show(inner))
                    for attribute in node.attribute:
                        if attribute.name in ("scan_output_axes", "scan_output_directions"):
                            attribute.ints.append(0)
    return visible


def drawn_by(node: onnx.NodeProto) -> str:
    """The name of the output with what a node draws: of RandomDropout, the mask."""
    if node.op_type != "RandomDropout":
        return node.output[0]
    node.output.extend([""] * (2 - len(node.output)))
    node.output[1] = node.output[1] or f"mask_of_{node.output[0]}"
    return node.output[1]


def how_to_show(node: onnx.NodeProto) -> str:
    """The operator that shows it: a Dropout's draws are those of RandomBernoulli, what it drops."""
    return "Not" if node.op_type == "RandomDropout" else "Identity"


def stream_and_type(node: onnx.NodeProto) -> tuple[str, int]:
    """The name of the graph output that shows a node's draws, and its element type."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if "output_type" not in attributes:
        return f"draw_{attributes['op_seed']}", TensorProto.BOOL
    dtype = DTYPES[attributes["output_type"].decode()]
    return f"draw_{attributes['op_seed']}", helper.np_dtype_to_tensor_dtype(dtype)


def load_in_onnxruntime(model: Any, backend: str) -> Run:
    session = onnx_philox.onnxruntime.InferenceSession(model, backend=backend)
    names = [o.name for o in session.get_outputs()]
    return lambda feed: dict(zip(names, session.run(None, feed), strict=True))


def load_in_openvino(openvino: OpenVino, model: Any, precision: str | None) -> Run:
    """Loads an ONNX model or an `openvino.Model`."""
    config = {} if precision is None else {"INFERENCE_PRECISION_HINT": precision}
    compiled = openvino.core.compile_model(openvino.read(model), "CPU", config)
    return lambda feed: {
        name: value.copy() for o, value in infer(compiled, feed).items() for name in o.get_names()
    }


def draws_of(outputs: Arrays) -> list[np.ndarray]:
    count = sum(name.startswith("draw_") for name in outputs)
    assert count > 0
    return [outputs[f"draw_{i}"] for i in range(count)]
