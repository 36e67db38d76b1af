"""What libraries draw in training mode, by torch's older exporter, whose shapes are computed.

`categorical.onnx`: a sample of `torch.distributions.Categorical`. `plate.onnx`: a normal and a
category in a plate of pyro. `bert.onnx`: one layer of transformers' BERT with random weights.
`vision_transformer.onnx`: a class token, dropout and timm's drop path.
Input: `x`. Output: `y`. The batch is their first dimension; BERT's tokens are dynamic, too.

    pip install transformers==5.23.0 pyro-ppl==1.9.2
    python tests/models/export_libraries.py
"""

import pyro
import pyro.distributions
import torch
import transformers
from export_files import Module, export, prepare
from torch import Tensor, nn


class DropPath(nn.Module):
    """As in timm: drops whole rows."""

    def forward(self, x: Tensor) -> Tensor:
        kept = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(0.8)
        return x * kept.div_(0.8)


class VisionTransformer(nn.Module):
    """One block of timm's, after a class token."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, width, 4, 4)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.drop, self.drop_path = nn.Dropout(0.1), DropPath()

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)
        rows, tokens, width = x.shape
        qkv = self.qkv(self.norm(x)).reshape(rows, tokens, 3, 2, width // 2)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        weights = self.drop((q @ k.transpose(-2, -1)).softmax(-1))
        return x + self.drop_path((weights @ v).transpose(1, 2).reshape(rows, tokens, width))


def plate(x: Tensor) -> Tensor:
    with pyro.plate("rows", x.shape[0]):
        noise = pyro.sample("noise", pyro.distributions.Normal(x, 1.0).to_event(1))
        category = pyro.sample("category", pyro.distributions.Categorical(logits=noise))
    return noise + category[:, None]


prepare()
torch.distributions.Distribution.set_default_validate_args(False)
logits = torch.zeros(2, 5)
bert = transformers.BertModel(
    transformers.BertConfig(
        vocab_size=12,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=4,
        max_position_embeddings=8,
        attn_implementation="eager",
    ),
    add_pooling_layer=False,
)
MODELS = {
    "categorical": (
        Module(lambda x: torch.distributions.Categorical(logits=x).sample()),
        logits,
    ),
    "plate": (Module(plate), logits),
    "vision_transformer": (
        VisionTransformer(),
        torch.zeros(2, 1, 8, 8),
    ),
    "bert": (
        Module(lambda bert, x: bert(input_ids=x, return_dict=False)[0], bert),
        torch.zeros(2, 5, dtype=torch.int64),
    ),
}
for name, (module, x) in MODELS.items():
    given = {"x": (x, {0: "batch"} | ({1: "tokens"} if name == "bert" else {}))}
    export(
        module.train(),
        name,
        17,
        given,
        {"y": {0: "batch"}},
        dynamo=False,
    )
