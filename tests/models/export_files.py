"""How a model of torch becomes a file to ship: small, and without the machine's paths."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx_ir
import torch
from onnx_ir.passes.common import ClearMetadataAndDocStringPass
from torch import Tensor, nn

FOLDER = Path(__file__).parent
Axes = dict[int, str]
"""The names of the dynamic dimensions."""


class Module(nn.Module):
    """A function of some modules and of inputs, as a module."""

    def __init__(
        self,
        function: Callable[..., Tensor],
        *modules: nn.Module,
    ) -> None:
        super().__init__()
        self.function, self.inner = function, nn.ModuleList(modules)

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*self.inner, *inputs)


def prepare() -> None:
    """Fixes the seed and the number of threads, so that training gives the same weights again."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def train(
    module: nn.Module,
    loss_of: Callable[[], Tensor],
    steps: int,
    **options: float,
) -> None:
    """Trains with Adam, and prints the loss three times or more."""
    optimizer = torch.optim.Adam(module.parameters(), **options)
    for step in range(1, steps + 1):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 3) == 0:
            print(f"step {step}: loss {loss.item():.3f}")


def export(
    module: nn.Module,
    name: str,
    opset: int,
    inputs: dict[str, tuple[Tensor, Axes]],
    outputs: dict[str, Axes],
    *,
    dynamo: bool = True,
) -> None:
    """Exports by way of `torch.export`, or of TorchScript, in the mode that the module is in.

    Strict tracing is not the default of `torch.export`; a random node inside a loop needs it.
    """
    named = {"input_names": [*inputs], "output_names": [*outputs], "opset_version": opset}
    given = tuple(example for example, _ in inputs.values())
    axes = {key: its for key, (_, its) in inputs.items()}
    if dynamo:
        dims = tuple({i: torch.export.Dim(n) for i, n in its.items()} for its in axes.values())
        # Those of `*inputs` of a Module are one argument.
        program = torch.export.export(module, given, dynamic_shapes=(dims,), strict=True)
        exported = torch.onnx.export(program, dynamo=True, verbose=False, **named)
        assert exported is not None
        model = exported.model_proto
    else:
        modes = torch.onnx.TrainingMode
        named |= {"training": modes.TRAINING if module.training else modes.EVAL}
        file = io.BytesIO()
        torch.onnx.export(
            module,
            given,
            file,
            dynamo=False,
            dynamic_axes=axes | outputs,
            **named,
        )
        model = onnx.load_from_string(file.getvalue())
    # Stack traces of the exporting program are in there, with its paths.
    proto = onnx_ir.to_proto(ClearMetadataAndDocStringPass()(onnx_ir.from_proto(model)).model)
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, FOLDER / f"{name}.onnx")
    print(f"Saved {name}.onnx, {proto.ByteSize() / 1000:.0f} kB.")
