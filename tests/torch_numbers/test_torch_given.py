"""The doors of `onnx_philox.torch`, given what they do not take: `-m engines`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_philox
from onnx_philox import RefusedInputError
from tests.common.torch_modules import IGNORES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.engines
X = np.ones((2, 3), np.float32)

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no args": ({"args": None}, "args must be a tuple of the example inputs: got NoneType."),
    "a number": ({"args": 5}, "args must be a tuple of the example inputs: got int."),
    "no module": ({"model": None}, "the model must be a torch.nn.Module or a torch.export."),
    "a function": ({"model": len}, "the model must be a torch.nn.Module or a torch.export."),
    "a path": ({"model": "m.pt2"}, "the model must be a torch.nn.Module or a torch.export."),
    "a file of 5": ({"f": 5}, "f must be a path: got int. Pass a path."),
    "a file of bytes": ({"f": b"a.onnx"}, "f must be a path: got bytes. Pass a path."),
    "a folder": ({"f": "."}, "f must be a file: got '.', a folder. Name a file in it."),
    "no folder": ({"f": "no/a.onnx"}, "f must be a file in a folder: got 'no', which does not"),
    "an IR": ({"f": "a.xml"}, "f must be a name that does not end in .xml, since the model is"),
    "no UTF-8": ({"f": "a\udcff.onnx"}, "f must be UTF-8, since the runtimes open no other paths"),
    "a table": ({"custom_translation_table": 5}, "custom_translation_table must be a mapping"),
    "a verdict": ({"verify": 1}, "verify must be True or False: got 1. Pass a bool."),
    "weights": ({"external_data": "no"}, "external_data must be True or False: got 'no'."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_exported_is_refused_before_the_export(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.onnx, "export", lambda *_, **__: pytest.fail("it was exported"))
    module = torch.nn.Dropout()
    words, said = REFUSED[case]
    with pytest.raises(RefusedInputError) as raised:
        onnx_philox.torch.export(
            **{
                "model": module,
                "args": (torch.tensor(X),),
                **words,
            }
        )
    assert str(raised.value).startswith(f"onnx_philox.torch.export: {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:`torch.jit.trace")
@pytest.mark.parametrize("name", ["export", "check_export", "verify_export"])
def test_each_function_refuses_a_tensor_for_its_args_and_a_traced_module_by_its_own_name(
    name: str,
) -> None:
    x = torch.tensor(X)
    module = torch.nn.Dropout()
    traced = torch.jit.trace(module, (x,), check_trace=False)
    for model, args, said in [
        (module, x, "args must be a tuple of the example inputs: got Tensor. Pass (x,) for one"),
        (traced, (x,), "the model must be a torch.nn.Module or a torch.export.ExportedProgram: "),
    ]:
        with pytest.raises(TypeError) as raised:
            getattr(onnx_philox.torch, name)(model, args, None)
        assert str(raised.value).startswith(f"onnx_philox.torch.{name}: {said}")


@pytest.mark.parametrize("name", ["check_export", "verify_export"])
@pytest.mark.parametrize("f", [None, 5, "a.xml"])
def test_what_is_no_exported_model_is_refused_in_the_name_of_the_function(
    name: str, f: Any
) -> None:
    with pytest.raises(RefusedInputError) as raised:
        getattr(onnx_philox.torch, name)(
            torch.nn.Dropout(),
            (torch.tensor(X),),
            f,
        )
    assert str(raised.value).startswith(f"onnx_philox.torch.{name}: f must be the path of an ONNX")


@IGNORES
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_draw_that_is_no_row_of_the_batch_is_named_by_its_module() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = torch.nn.MultiheadAttention(3, 1, dropout=0.5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            # One sequence, whose elements are the batch.
            return self.encoder(x, x, x)[0]

    shapes = ({0: torch.export.Dim("batch")},)
    with pytest.raises(RefusedInputError) as raised:
        onnx_philox.torch.export(
            Model(), (torch.tensor(X),), per_row=True, dynamic_shapes=shapes, verbose=False
        )
    place, _, said = str(raised.value).partition(": ")
    assert place.endswith("(opset 1, main graph) in the module 'encoder'")
    assert said.startswith(
        "the shape of what it draws must be one of which one dimension alone is "
    )
