"""A model in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort

from onnx_philox._command.run import models
from onnx_philox._command.run.models import LoadedModel, Settings
from onnx_philox._command.run.ports import Arrays, Port
from onnx_philox.onnxruntime import BACKENDS, InferenceSession

_WEIGHTS = "session.model_external_initializers_file_folder_path"


class OnnxruntimeModel(LoadedModel):
    """A session on the CPU."""

    runtime = "onnxruntime"

    def __init__(self, path: Path, settings: Settings) -> None:
        self.version = ort.__version__
        self.backend = models.choose_backend(self.runtime, BACKENDS, settings.backend)
        self.drawn = {}
        options = ort.SessionOptions()
        # Its errors come as exceptions.
        options.log_severity_level = 4
        model: Path | onnx.ModelProto = path
        if settings.shows_drawn:
            model = models.read(path)
            self.drawn = models.show_drawn(model)
            options.add_session_config_entry(_WEIGHTS, str(path.absolute().parent))
        self._session = InferenceSession(
            model, options, providers=["CPUExecutionProvider"], backend=self.backend
        )
        self.inputs = [_port(i, True) for i in self._session.get_inputs()]
        self.inputs += [_port(i, False) for i in self._session.get_overridable_initializers()]
        self.outputs = [o.name for o in self._session.get_outputs()]

    def _run(self, feeds: Arrays) -> Arrays:
        return models.by_name(self.outputs, self._session.run(None, feeds))


def _port(given: Any, is_required: bool) -> Port:
    kind, _, element = given.type.rstrip(")").partition("(")
    optional = kind == "optional"
    dtype = None
    if kind == "tensor":
        onnx_type = onnx.TensorProto.DataType.Value(element.upper())
        dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx_type)
    return Port(given.name, dtype, tuple(given.shape), is_required and not optional)
