"""How a model of torch becomes a file to ship: small, and without the machine's paths."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
import torch
from onnx_ir.passes.common import ClearMetadataAndDocStringPass

FOLDER = Path(__file__).parent


def prepare() -> None:
    """Fixes the seed and the number of threads, so that training gives the same weights again."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def train(
    parameters: Iterable[torch.nn.Parameter],
    loss_of: Callable[[], torch.Tensor],
    steps: int,
    shown: int,
    **options: float,
) -> None:
    """Trains with Adam, and prints the loss of every so many steps."""
    optimizer = torch.optim.Adam(parameters, **options)
    for step in range(1, steps + 1):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % shown == 0:
            print(f"step {step}: loss {loss.item():.3f}")


def with_dynamo(
    module: torch.nn.Module,
    name: str,
    inputs: tuple[Any, ...],
    dynamic_shapes: tuple[dict[int, str], ...],
    *,
    opset: int,
    **names: list[str],
) -> None:
    """Exports by way of `torch.export`, the default of `torch.onnx.export`.

    Strict tracing is not its default; a random node inside a loop needs it.
    """
    dimensions = tuple({i: torch.export.Dim(n) for i, n in d.items()} for d in dynamic_shapes)
    program = torch.export.export(module, inputs, dynamic_shapes=dimensions, strict=True)
    exported = torch.onnx.export(program, dynamo=True, opset_version=opset, verbose=False, **names)
    assert exported is not None
    _save(exported.model_proto, name)


def with_torchscript(
    module: torch.nn.Module, name: str, inputs: tuple[Any, ...], *, opset: int, **options: Any
) -> None:
    """Exports by way of TorchScript (`dynamo=False`)."""
    file = io.BytesIO()
    torch.onnx.export(module, inputs, file, dynamo=False, opset_version=opset, **options)
    _save(onnx.load_from_string(file.getvalue()), name)


def _save(model: onnx.ModelProto, name: str) -> None:
    # Stack traces of the exporting program are in there, with its paths.
    cleared = ClearMetadataAndDocStringPass()(onnx_ir.from_proto(model)).model
    proto = onnx_ir.to_proto(cleared)
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, FOLDER / f"{name}.onnx")
    print(f"Saved {name}.onnx, {proto.ByteSize() / 1000:.0f} kB.")
