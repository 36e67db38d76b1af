"""A flow-matching sampler whose noise is an input: exported by torch, drawn inside the model.

    python examples/flow_matching.py

It needs the extra `torch`. The file that torch exports takes the noise as an input, so each program
that runs it would draw in its own way. With draw={"noise": "normal"} the model draws it: by torch's
numbers, those of torch.randn.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

import onnx_philox

STEPS = 8


class Sampler(torch.nn.Module):
    """Moves noise to points along a learned velocity, in equal steps."""

    def __init__(self) -> None:
        super().__init__()
        self.velocity = torch.nn.Sequential(
            torch.nn.Linear(4, 32), torch.nn.SiLU(), torch.nn.Linear(32, 2)
        )

    def forward(self, noise: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        points = noise
        for step in range(STEPS):
            time = torch.full_like(label, step / STEPS)
            points = points + self.velocity(torch.cat([points, label, time], 1)) / STEPS
        return points


torch.manual_seed(0)  # for the weights
sampler = Sampler().eval()
label = torch.linspace(0, 1, 6)[:, None]

with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    path = Path(folder, "sampler.onnx")
    batch = torch.export.Dim("batch")
    torch.onnx.export(
        sampler,
        (torch.zeros(6, 2), label),
        path,
        input_names=["noise", "label"],
        output_names=["points"],
        dynamic_shapes={"noise": {0: batch}, "label": {0: batch}},
        dynamo=True,
        verbose=False,
    )
    # OpenVINO's own precision is bf16 on some processors.
    options = {"onnxruntime": {}, "openvino": {"config": {"INFERENCE_PRECISION_HINT": "f32"}}}
    for runtime, its_own in options.items():
        draw = {"noise": "normal"}
        pipe = onnx_philox.Pipeline(
            path, runtime=runtime, draw=draw, alignment="pytorch", **its_own
        )
        points = pipe({"label": label.numpy()}, seed=42)["points"]
        torch.manual_seed(42)
        expected = sampler(torch.randn(6, 2), label).detach().numpy()
        is_close = np.allclose(points, expected, rtol=1e-5, atol=1e-6)
        print(f"{runtime}: first point {points[0].round(4)}; as torch's: {is_close}")
