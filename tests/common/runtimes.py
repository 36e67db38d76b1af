"""How the tests run a model in each runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.compose
import onnxruntime as ort
import openvino as ov

import onnx_philox

RUNTIMES = ("onnxruntime", "openvino")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
Config = dict[str, Any]
DEFAULT: Config = {}
ONE_THREAD: Config = {"INFERENCE_NUM_THREADS": 1}
"""On it OpenVINO's own `infer()` loses what a node throws."""


class OpenVino:
    """Runs ONNX models, IR and `openvino.Model`s on the CPU, with this package's operators."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.core = onnx_philox.openvino.register(ov.Core(), backend=backend)

    def read(self, model: Any) -> ov.Model:
        if isinstance(model, ov.Model):
            return model
        return self.core.read_model(
            model if isinstance(model, (str, Path)) else model.SerializeToString()
        )

    def __call__(
        self,
        model: Any,
        feeds: dict[str, np.ndarray] | None = None,
        precision: str | None = None,
    ) -> list[np.ndarray]:
        return self.loaded(model, precision)(feeds or {})

    def loaded(
        self, model: Any, precision: str | None = None
    ) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
        """Compiles a model once, for runs one after another."""
        config = {} if precision is None else {"INFERENCE_PRECISION_HINT": precision}
        compiled = self.core.compile_model(self.read(model), "CPU", config)
        return request_of(compiled)

    def side_by_side(
        self,
        draws: Draws,
        precision: str | None = None,
    ) -> list[list[np.ndarray]]:
        """Runs models with their feeds as parts of one, which takes as long to compile as one."""
        whole, feeds = joined(draws)
        return parted(self(whole, feeds, precision), draws)


def compiled(model: Any, config: Config = DEFAULT, backend: str = "auto") -> ov.CompiledModel:
    """A model of ONNX or of OpenVINO on the CPU, with this package's operators."""
    loader = OpenVino(backend)
    return loader.core.compile_model(loader.read(model), "CPU", config)


def save_ir(model: Any, path: Path) -> Path:
    """A model as OpenVINO itself saves it."""
    ov.save_model(OpenVino("auto").read(model), path, compress_to_fp16=False)
    return path


def bare_session(model: onnx.ModelProto) -> ort.InferenceSession:
    """ONNX Runtime's own session, with this package's library."""
    options = onnx_philox.onnxruntime.register(ort.SessionOptions())
    return ort.InferenceSession(model.SerializeToString(), options)


def request_of(compiled: ov.CompiledModel) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    """A request of a compiled model, for runs one after another."""
    request = compiled.create_infer_request()

    def run(feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        infer(request, {name: tensor_of(value) for name, value in feeds.items()})
        return [array_of(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]

    return run


Draws = Sequence[tuple[onnx.ModelProto, dict[str, np.ndarray]]]
"""Models and their feeds."""


def joined(draws: Draws) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Models as one, and its feeds."""
    parts = [onnx.compose.add_prefix(model, f"{i}/") for i, (model, _) in enumerate(draws)]
    whole = parts[0]
    for part in parts[1:]:
        assert part.opset_import == whole.opset_import
        for field in ("node", "input", "output", "initializer"):
            getattr(whole.graph, field).extend(getattr(part.graph, field))
    return whole, {
        f"{i}/{name}": x for i, (_, given) in enumerate(draws) for name, x in given.items()
    }


def parted(
    outputs: list[np.ndarray],
    draws: Draws,
) -> list[list[np.ndarray]]:
    """The outputs of each part of a joined model."""
    rest = iter(outputs)
    return [[next(rest) for _ in model.graph.output] for model, _ in draws]


def infer(model: ov.CompiledModel | ov.InferRequest, inputs: Any = None) -> Any:
    """Runs a request, or a new one of a model: copies of its outputs, by index or name.

    It raises wherever a node throws; `request.infer(inputs)` and `model(inputs)` do not.
    """
    request = model.create_infer_request() if isinstance(model, ov.CompiledModel) else model
    request.start_async(inputs)
    request.wait()
    return request.results


def tensor_of(array: np.ndarray) -> ov.Tensor:
    if array.dtype != BFLOAT16:
        return ov.Tensor(np.ascontiguousarray(array).reshape(array.shape))
    tensor = ov.Tensor(ov.Type.bf16, ov.Shape(array.shape))
    tensor.data.view(np.uint16)[...] = array.view(np.uint16)
    return tensor


def array_of(tensor: ov.Tensor) -> np.ndarray:
    """A copy; OpenVINO shows the memory of a bf16 tensor as float16."""
    copy = tensor.data.copy()
    return copy.view(BFLOAT16) if tensor.element_type == ov.Type.bf16 else copy
