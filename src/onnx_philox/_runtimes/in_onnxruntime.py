"""A model in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import onnx
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _backends, _runtime_errors
from onnx_philox._backends import AUTO
from onnx_philox._contract import choices
from onnx_philox._contract.types import BF16, F16, ElementType
from onnx_philox._runtimes import models
from onnx_philox._runtimes.options import OWNER
from onnx_philox._runtimes.port import Port

_WEIGHTS = "session.model_external_initializers_file_folder_path"


class OnnxruntimeModel(models.LoadedModel):
    """A session, of ONNX Runtime's own or of this package."""

    runtime = "onnxruntime"
    version = ort.__version__
    not_carried: Mapping[str, tuple[ElementType, ...]] = {"python": (F16, BF16)}
    not_carried_error = ort_state.NotImplemented
    takes_bindings = True

    def __init__(self, session: ort.InferenceSession) -> None:
        self.session = session
        self.inputs = [_port(i, True) for i in session.get_inputs()]
        initializers = session.get_overridable_initializers()
        self.inputs += [_port(i, False) for i in initializers]
        self.outputs = [o.name for o in session.get_outputs()]

    @staticmethod
    def backends() -> Mapping[str, _backends.Backend]:
        from onnx_philox.onnxruntime import BACKENDS

        return BACKENDS

    @classmethod
    def open(cls, asked: models.ToOpen) -> Self:
        from onnx_philox.onnxruntime import InferenceSession

        given = asked.given
        options = asked.options
        served = asked.served
        if given.runtime is not None:
            return cls(given.model)
        _check_providers(options.providers or ())
        chosen = {"sess_options": ort.SessionOptions(), **options.given()}
        drawn: Mapping[str, str] = {}
        model: Any = asked.path if given.is_file else given.proto
        is_served_model = served is not None and served.model is not None
        if asked.shows_drawn or is_served_model:
            model, drawn = asked.proto(weights=not options.finds_weights)
            if given.is_file and options.finds_weights:
                beside = str(given.path.absolute().parent)
                chosen["sess_options"].add_session_config_entry(_WEIGHTS, beside)
        if served is None:
            # ONNX Runtime also raises its errors as exceptions.
            chosen["sess_options"].log_severity_level = 4
        session = InferenceSession(model, **chosen)
        loaded = cls(session)
        loaded.backend = models.choose_backend(cls, options.backend or AUTO)
        loaded.drawn = drawn
        return loaded

    @staticmethod
    def metadata(model: ort.InferenceSession, key: str) -> str | None:
        metadata = model.get_modelmeta().custom_metadata_map
        text: str | None = metadata.get(key)
        return text

    @staticmethod
    def names_of_inputs(model: ort.InferenceSession) -> set[str]:
        return {each.name for each in model.get_inputs()}

    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        try:
            values: Sequence[Any] = self.session.run(self.outputs, feeds)
            return values
        except Exception as error:
            # Of ONNX Runtime's own session, which a user may have made.
            _runtime_errors.raise_refusal(error)
            raise

    def taken(self, value: Any) -> Any:
        """The value of ONNX Runtime, of any type: it checks that itself."""
        return value if isinstance(value, ort.OrtValue) else None


def _check_providers(given: Sequence[Any]) -> None:
    """Refuses names that no provider has, which ONNX Runtime would pass over."""
    here = ort.get_available_providers()
    known = [*here, *ort.get_all_providers()]
    for each in given:
        name = each[0] if isinstance(each, tuple) else each
        allowed = f"one that ONNX Runtime has, such as {', '.join(here)}"
        choices.check_choice(OWNER, "each of providers", name, known, allowed=allowed)


def _port(given: Any, is_required: bool) -> Port:
    kind, _, element = given.type.rstrip(")").partition("(")
    optional = kind == "optional"
    dtype = None
    if kind == "tensor":
        onnx_type = onnx.TensorProto.DataType.Value(element.upper())
        dtype = onnx.helper.tensor_dtype_to_np_dtype(onnx_type)
        if dtype.kind == "V" and dtype != BF16.dtype:
            dtype = None
    is_required = is_required and not optional
    return Port(given.name, dtype, tuple(given.shape), is_required)
