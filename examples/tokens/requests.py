"""Tokens for each request: a transformer with its sampler inside the model.

    python examples/tokens/requests.py

It exports a tiny model of transformers with random weights, puts RandomToken behind its logits, and
serves six requests, each with a seed, a temperature and filters of its own. A request's text is the
same alone and in any batch, in ONNX Runtime and in OpenVINO, and when it goes on from a checkpoint.
It needs torch, transformers and onnxscript.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import openvino as ov
import torch
from onnx import TensorProto, helper
from transformers import GPT2Config, GPT2LMHeadModel

import onnx_philox

VOCABULARY, LENGTH, NEW = 97, 48, 16
FILTERS = {
    "temperature": np.array([0.7, 1.0, 1.3, 1.0, 0.0, 2.0], np.float32),
    "top_k": np.array([0, 20, 0, 5, 0, 40]),
    "top_p": np.array([0.9, 1.0, 0.95, 1.0, 1.0, 0.8], np.float32),
}
SEEDS = [17, 4, 99, 4, 5, 2**40]


class Logits(torch.nn.Module):
    """The logits of the next token; without a cache, the model reads the whole text each time."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        sizes = {"vocab_size": VOCABULARY, "n_positions": LENGTH, "n_embd": 32}
        ends = {"bos_token_id": None, "eos_token_id": None}
        config = GPT2Config(n_layer=2, n_head=2, tie_word_embeddings=False, **sizes, **ends)
        self.model = GPT2LMHeadModel(config)
        with torch.no_grad():
            # Random weights give logits that are nearly equal; these choose more clearly.
            self.model.lm_head.weight.mul_(20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens, use_cache=False).logits[:, -1]


def exported() -> onnx.ModelProto:
    """Tokens [batch, length] to logits [batch, vocabulary]."""
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=LENGTH)
    program = torch.onnx.export(
        Logits().eval(),
        (torch.zeros(2, 3, dtype=torch.int64),),
        input_names=["tokens"],
        output_names=["logits"],
        dynamic_shapes=({0: batch, 1: length},),
        dynamo=True,
        verbose=False,
    )
    return program.model_proto


def with_sampler(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the sampler behind its logits: a token for each row, and the next states."""
    graph = model.graph
    inputs = ["logits", *FILTERS, "", "state"]
    node = helper.make_node("RandomToken", inputs, ["token", "next_state"], domain="onnx_philox")
    graph.node.append(node)
    for name, given in FILTERS.items():
        element_type = helper.np_dtype_to_tensor_dtype(given.dtype)
        graph.input.append(helper.make_tensor_value_info(name, element_type, [f"{name}s"]))
    graph.input.append(helper.make_tensor_value_info("state", TensorProto.UINT32, ["states", 6]))
    graph.output.append(helper.make_tensor_value_info("token", TensorProto.INT64, ["batch", 1]))
    next_state = helper.make_tensor_value_info("next_state", TensorProto.UINT32, ["states", 6])
    graph.output.append(next_state)
    model.opset_import.append(helper.make_opsetid("onnx_philox", 1))
    return model


Feed = dict[str, np.ndarray]


class Runtime:
    """The model in a runtime: feeds to logits, token and next state."""

    def __init__(self, model: onnx.ModelProto, name: str) -> None:
        self.name = name
        if name == "ONNX Runtime":
            session = onnx_philox.onnxruntime.InferenceSession(model.SerializeToString())
            self.run = lambda feed: session.run(["logits", "token", "next_state"], feed)
        else:
            core = onnx_philox.openvino.register(ov.Core())
            exact = {"INFERENCE_PRECISION_HINT": "f32"}
            read = core.read_model(model.SerializeToString())
            request = core.compile_model(read, "CPU", exact).create_infer_request()

            def run(feed: dict[str, np.ndarray]) -> list[np.ndarray]:
                # infer() may lose what a node throws, on one thread.
                request.start_async(feed)
                request.wait()
                names = ("logits", "token", "next_state")
                return [request.get_tensor(name).data.copy() for name in names]

            self.run = run


def texts(
    runtime: Runtime,
    requests: list[int],
    *,
    tokens: np.ndarray | None = None,
    state: np.ndarray | None = None,
    count: int = NEW,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Writes `count` tokens for some of the requests; tokens, next states and the last logits."""
    own = {name: given[requests] for name, given in FILTERS.items()}
    if tokens is None:
        tokens = np.array([[SEEDS[i] % VOCABULARY] for i in requests])
    if state is None:
        state = onnx_philox.row_states([SEEDS[i] for i in requests])
    logits = np.empty(0)
    for _ in range(count):
        logits, token, state = runtime.run({"tokens": tokens, "state": state, **own})
        tokens = np.concatenate([tokens, token], axis=1)
    return tokens, state, logits


def main() -> None:
    model = with_sampler(exported())
    results: dict[str, Any] = {}
    for name in ("ONNX Runtime", "OpenVINO"):
        runtime = Runtime(model, name)
        everyone = list(range(len(SEEDS)))
        together, _, logits = texts(runtime, everyone)
        results[name] = together, logits
        alone = [texts(runtime, [i])[0][0] for i in everyone]
        others = texts(runtime, [5, 2, 0])[0]
        print(f"{name}: the same alone: {(np.stack(alone) == together).all()},", end=" ")
        print(f"in another batch: {(others == together[[5, 2, 0]]).all()},", end=" ")
        # A checkpoint is the text so far, and the state: numbers that any machine can read.
        tokens, state, _ = texts(runtime, [1, 3], count=5)
        checkpoint = json.dumps({"tokens": tokens.tolist(), "state": state.tolist()})
        saved = json.loads(checkpoint)
        resumed, _, _ = texts(
            runtime,
            [1, 3],
            tokens=np.array(saved["tokens"]),
            state=np.array(saved["state"], np.uint32),
            count=NEW - 5,
        )
        print(f"resumed: {(resumed == together[[1, 3]]).all()}")
    (ours, here), (theirs, there) = results.values()
    print(f"the same tokens in both runtimes: {(ours == theirs).all()};", end=" ")
    print(f"their logits differ by up to {np.abs(here - there).max():.0e}")
    for seed, text in zip(SEEDS, ours, strict=True):
        print(f"seed {seed}:", *text[:12], "...")


if __name__ == "__main__":
    main()
