"""A model whose random nodes are nodes of ONNX's own domain; its backends are the targets."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import onnx

from onnx_philox import _backends
from onnx_philox._command.runtimes import models
from onnx_philox._command.runtimes.models import LoadedModel, Settings
from onnx_philox._command.runtimes.port import Arrays
from onnx_philox._contract.types import BY_NAME, ElementType
from onnx_philox._standard.targets import TARGETS, InexactError
from onnx_philox.rewriting import to_standard_nodes


class _Runtime:
    """A runtime that needs no plugin."""

    def __init__(self, name: str) -> None:
        self._name = name

    def unavailable(self) -> ImportError | None:
        """Why it cannot be used here."""
        if importlib.util.find_spec(self._name) is not None:
            return None
        return _backends.NotInstalledError("runtime 'standard'", self._name, self._name)


class Model(LoadedModel):
    """A model made for a target, in the runtime of that name."""

    runtime = "standard"
    version = onnx.__version__
    backends: Mapping[str, _backends.Backend] = {name: _Runtime(name) for name in TARGETS}
    # It says itself what is not exact.
    not_carried: Mapping[str, tuple[ElementType, ...]] = {"openvino": tuple(BY_NAME.values())}
    not_carried_error = InexactError

    def __init__(self, model: Path | onnx.ModelProto, settings: Settings) -> None:
        self.backend = models.choose_backend(type(self), settings.backend)
        if isinstance(model, Path):
            model = onnx.load(model)
        self.drawn = models.show_drawn(model) if settings.shows_drawn else {}
        standard = to_standard_nodes(model, target=self.backend)
        adapter = importlib.import_module(f"{__package__}.in_{self.backend}")
        precision = settings.precision or ("f32" if self.backend == "openvino" else None)
        inner = replace(settings, backend=_backends.AUTO, precision=precision, shows_drawn=False)
        self._loaded = cast("LoadedModel", adapter.Model(standard, inner))
        self.inputs, self.outputs = self._loaded.inputs, self._loaded.outputs
        self.how = self._loaded.how

    def outputs_of(self, feeds: Arrays) -> Arrays:
        return self._loaded.outputs_of(feeds)
