"""A model in OpenVINO."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
from numpy.typing import NDArray

from onnx_philox import _openvino_arrays as ov_arrays
from onnx_philox._command.runtimes import models
from onnx_philox._command.runtimes.models import LoadedModel, Settings
from onnx_philox._command.runtimes.port import ArgumentError, Arrays, Port
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.types import BF16
from onnx_philox._files.model_file import opened
from onnx_philox._files.tensors import misread_by_openvino
from onnx_philox._openvino_ports import input_names, output_names
from onnx_philox._standard import made
from onnx_philox.openvino import BACKENDS, register

_PRECISIONS = ("f32", "bf16", "f16")


class Model(LoadedModel):
    """A model, ONNX or IR, compiled for the CPU."""

    runtime = "openvino"
    version = ov.__version__.partition("-")[0]
    backends = BACKENDS

    def __init__(self, model: Path | onnx.ModelProto, settings: Settings) -> None:
        precision = settings.precision
        if precision not in (None, *_PRECISIONS):
            raise ArgumentError(
                f"--precision is {precision!r}; allowed: {', '.join(_PRECISIONS)}. Choose one of "
                "these, or leave --precision out."
            )
        self.backend = models.choose_backend(type(self), settings.backend)
        core = _core(self.backend)
        graph = None
        if isinstance(model, Path):
            graph = _check_file(model)
            read = core.read_model(model)
        else:
            _check_target(model)
            graph = model.graph
            read = core.read_model(model.SerializeToString())
        if read.has_rt_info(["framework", made.METADATA]):
            _check_precision(precision)
            precision = made.PRECISION
        self.drawn = _show_drawn(read) if settings.shows_drawn else {}
        config = {} if precision is None else {"INFERENCE_PRECISION_HINT": precision}
        compiled = core.compile_model(read, "CPU", config)
        used = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        self.how = f"CPU, precision {used}"
        if precision not in (None, used):
            self.how += f" ({precision} was asked for; this device does not have it)"
        names = input_names(compiled.inputs, graph)
        self.inputs = [_port(*named) for named in zip(names, compiled.inputs, strict=True)]
        self.outputs = output_names(compiled.outputs, graph)
        self._request = compiled.create_infer_request()

    def outputs_of(self, feeds: Arrays) -> Arrays:
        # By position: OpenVINO may know an input by another name.
        for i, port in enumerate(self.inputs):
            self._request.set_input_tensor(i, _tensor(feeds[port.name]))
        self._request.infer()
        return {
            # Copies: the next run writes into the same memory.
            name: ov_arrays.memory(self._request.get_output_tensor(i)).copy()
            for i, name in enumerate(self.outputs)
        }


@cache
def _core(backend: str) -> ov.Core:
    return register(ov.Core(), backend=backend)


def _check_file(path: Path) -> onnx.GraphProto | None:
    """Refuses an ONNX file that OpenVINO misreads, or that is made for another runtime.

    Returns:
        The graph, without large weights; None of IR, and of a file that OpenVINO will refuse.
    """
    if path.suffix == ".xml":
        return None
    try:
        with opened(path, "run") as file:
            proto, misread = file.proto, next(misread_by_openvino(file.proto), None)
    except (OSError, ValueError):
        # OpenVINO itself reports what is wrong with a file that it cannot read.
        return None
    _check_target(proto)
    if misread is not None:
        field = "uint64_data" if misread.uint64_data else "int32_data"
        raise ArgumentError(
            f"the constant {misread.name!r} keeps its numbers in the field {field}, where OpenVINO "
            "reads other numbers; allowed: raw data. 'onnx-philox rewrite' stores it so."
        )
    return proto.graph


def _check_target(model: onnx.ModelProto) -> None:
    """Refuses standard nodes that are made for another runtime."""
    found = made.read({entry.key: entry.value for entry in model.metadata_props})
    if found is None or found.target.name == Model.runtime:
        return
    raise ArgumentError(
        f"the model is one of standard nodes {found.target.note}, which OpenVINO does not compute; "
        "allowed in openvino: one made for OpenVINO. Rewrite the original with --standard --target "
        "openvino, or choose --runtime onnxruntime or reference."
    )


def _check_precision(precision: str | None) -> None:
    """Refuses a precision at which standard nodes draw other numbers."""
    if precision not in (None, made.PRECISION):
        raise ArgumentError(
            f"--precision is {precision!r}, and the model is one of standard nodes, which draw "
            f"other numbers then; allowed: {made.PRECISION}. Choose it, or leave --precision out."
        )


def _show_drawn(model: ov.Model) -> dict[str, str]:
    """Makes what the random nodes of the main graph draw outputs of the model; see `models`."""
    drawn = {
        _tensor_name(node.output(0)): node.output(0)
        for node in model.get_ordered_ops()
        if node.get_type_name() in OPERATORS and node.get_type_info().version_id == "extension"
    }
    known = set(output_names(model.outputs, None))
    for name in sorted(drawn.keys() - known):
        result = model.add_outputs(drawn[name])[0]
        result.get_node().set_friendly_name(name)
    return {name: output.get_node().get_type_name() for name, output in drawn.items()}


def _tensor(array: NDArray[Any]) -> Any:
    if array.dtype != BF16.dtype:
        return ov.Tensor(np.ascontiguousarray(array).reshape(array.shape))
    tensor = ov.Tensor(ov.Type.bf16, ov.Shape(array.shape))
    ov_arrays.memory(tensor)[...] = array
    return tensor


def _port(name: str, given: Any) -> Port:
    shape = None
    if given.partial_shape.rank.is_static:
        shape = tuple(None if d.is_dynamic else d.get_length() for d in given.partial_shape)
    known = ov_arrays.element_type(given.element_type)
    dtype = known if known is None or isinstance(known, np.dtype) else known.dtype
    return Port(name, dtype, shape)


def _tensor_name(output: ov.Output) -> str:
    name: str = min(output.names) if output.names else output.get_node().get_friendly_name()
    return name
