"""A model in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox._command.runtimes import models
from onnx_philox._command.runtimes.models import LoadedModel, Settings
from onnx_philox._command.runtimes.port import Arrays, Port
from onnx_philox._contract.types import BF16, F16, ElementType
from onnx_philox.onnxruntime import BACKENDS, InferenceSession

_WEIGHTS = "session.model_external_initializers_file_folder_path"


class Model(LoadedModel):
    """A session on the CPU."""

    runtime = "onnxruntime"
    version = ort.__version__
    backends = BACKENDS
    not_carried: Mapping[str, tuple[ElementType, ...]] = {"python": (F16, BF16)}
    not_carried_error = ort_state.NotImplemented

    def __init__(self, model: Path | onnx.ModelProto, settings: Settings) -> None:
        self.backend = models.choose_backend(type(self), settings.backend)
        self.drawn = {}
        options = ort.SessionOptions()
        # ONNX Runtime also raises its errors as exceptions.
        options.log_severity_level = 4
        if settings.shows_drawn:
            if isinstance(model, Path):
                options.add_session_config_entry(_WEIGHTS, str(model.absolute().parent))
                model = models.read(model)
            self.drawn = models.show_drawn(model)
        self._session = InferenceSession(
            model, options, providers=["CPUExecutionProvider"], backend=self.backend
        )
        self.inputs = [_port(i, True) for i in self._session.get_inputs()]
        self.inputs += [_port(i, False) for i in self._session.get_overridable_initializers()]
        self.outputs = [o.name for o in self._session.get_outputs()]

    def outputs_of(self, feeds: Arrays) -> Arrays:
        return models.by_name(self.outputs, self._session.run(None, feeds))


def _port(given: Any, is_required: bool) -> Port:
    kind, _, element = given.type.rstrip(")").partition("(")
    optional = kind == "optional"
    dtype = None
    if kind == "tensor":
        onnx_type = onnx.TensorProto.DataType.Value(element.upper())
        dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx_type)
    return Port(given.name, dtype, tuple(given.shape), is_required and not optional)
