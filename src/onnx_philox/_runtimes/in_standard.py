"""A model whose random nodes are nodes of ONNX's own domain; its backends are the targets."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import onnx

from onnx_philox import _backends
from onnx_philox._contract.types import BY_NAME, ElementType
from onnx_philox._files.given import Given
from onnx_philox._runtimes import RUNTIMES, models
from onnx_philox._standard.made import PRECISION
from onnx_philox._standard.targets import TARGETS, InexactError, has_no_nodes, is_rounded_twice
from onnx_philox._standard.to_standard import to_standard_nodes


def _unavailable(name: str) -> ImportError | None:
    """Why a runtime that needs no plugin cannot be used here."""
    if importlib.util.find_spec(name) is not None:
        return None
    return _backends.NotInstalledError("runtime 'standard'", name, name)


class StandardModel(models.LoadedModel):
    """A model made for a target, in the runtime of that name."""

    runtime = "standard"
    version = onnx.__version__
    # The error names what is not exact in OpenVINO, so any type may be missing there.
    not_carried: Mapping[str, tuple[ElementType, ...]] = {"openvino": tuple(BY_NAME.values())}
    not_carried_error = InexactError
    has_operators = False

    @classmethod
    def may_refuse(cls, backend: str, operator: str, type: ElementType) -> bool:
        """Whether a target has no nodes for it, or they would not be exact."""
        is_refused = has_no_nodes(operator) or is_rounded_twice(operator, type)
        return is_refused or super().may_refuse(backend, operator, type)

    def __init__(self, loaded: models.LoadedModel) -> None:
        self._loaded = loaded
        self.inputs = loaded.inputs
        self.outputs = loaded.outputs
        self.how = loaded.how

    @staticmethod
    def backends() -> Mapping[str, _backends.Backend]:
        found = {}
        for name in TARGETS:
            found[name] = SimpleNamespace(unavailable=partial(_unavailable, name))
        return found

    @classmethod
    def open(cls, asked: models.ToOpen) -> Self:
        backend = models.choose_backend(cls, asked.options.backend)
        model, drawn = asked.proto()
        converted = to_standard_nodes(model, target=backend)
        standard = Given.of(asked.given.owner, converted)
        runtime = RUNTIMES[backend]
        precision = PRECISION if runtime.precisions else None
        options = runtime.options.of(_backends.AUTO, precision)
        to_open = models.ToOpen(standard, options)
        loaded = cls(runtime.models().open(to_open))
        loaded.backend = backend
        loaded.drawn = drawn
        return loaded

    def values_of(self, feeds: Mapping[str, Any]) -> Sequence[Any]:
        return self._loaded.values_of(feeds)
