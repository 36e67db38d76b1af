"""A regression whose dropout stays on, for uncertainty: `mc_dropout.onnx`.

Input: `x`, float[batch, 1]. Output: `y`, float[batch, 1], one draw of the prediction of
sin(2 x) + noise, learnt for x in [-2, 2]: draws spread further where x is outside.

    python tests/models/export_mc_dropout.py
"""

import export_files
import torch
from torch import nn

export_files.prepare()
model = nn.Sequential(
    nn.Linear(1, 64),
    nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(64, 64),
    nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(64, 1),
)


def loss() -> torch.Tensor:
    x = 4 * torch.rand(256, 1) - 2
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    return ((model(x) - y) ** 2).mean()


export_files.train(model.parameters(), loss, 3000, 1000, lr=3e-3, weight_decay=1e-5)
export_files.with_torchscript(
    model.train(),
    "mc_dropout",
    (torch.zeros(2, 1),),
    opset=17,
    training=torch.onnx.TrainingMode.TRAINING,
    input_names=["x"],
    output_names=["y"],
    dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}},
)
