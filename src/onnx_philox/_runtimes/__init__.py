"""The registry of the runtimes, through which `Pipeline` and the commands run models.

To add a runtime, add a line to `RUNTIMES` and a module `in_` of its name, which has a
`models.LoadedModel` for it: `OpenvinoModel`, for "openvino". A module `bare_` of its name, with a
function `prepare`, makes `onnx-philox inspect` try it too: it loads the runtime without this
package (see `bare_openvino`).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, cast

from onnx_philox._files.signals import held_back
from onnx_philox._runtimes.options import (
    OnnxRuntimeOptions,
    OpenVinoOptions,
    Options,
    StandardOptions,
)

if TYPE_CHECKING:
    # The command's help needs only the names.
    from onnx_philox._runtimes.models import LoadedModel


@dataclass(frozen=True)
class Runtime:
    """A runtime, whether or not it is installed."""

    name: str
    package: str | None
    """The module of this package that needs it, and says how to install it where it is not here;
    None where it is always here."""
    title: str = ""
    """Its name in a sentence."""
    has_library: bool = False
    """Whether this package has a native library for it."""
    takes_ir: bool = False
    """Whether it loads an OpenVINO IR."""
    takes_ort: bool = False
    """Whether it loads a file in ONNX Runtime's own format."""
    precisions: tuple[str, ...] = ()
    """The precisions that a user can ask of its arithmetic."""
    is_only_asked_for: bool = False
    """Whether `verify` draws in it only where its name is given."""
    options: type[Options] = Options
    """How to open a model in it: what `Pipeline` takes for it beside its own arguments."""
    note: str = ""
    """What to know before choosing it."""

    def models(self) -> type[LoadedModel]:
        """The class that loads a model in it and runs it.

        Raises:
            ImportError: It is not installed, or too old; the text says what to do.
            FileNotFoundError: The working directory has been deleted.
        """
        if self.package is not None:
            try:
                _imported(self.package)
            except FileNotFoundError as error:
                # A relative path among those of imports: OpenVINO looks into each.
                why = (
                    f"the working directory has been deleted, and {self.title} cannot be imported "
                    "there. Change to another with os.chdir."
                )
                raise FileNotFoundError(why) from error
        adapter = _imported(f"{__name__}.in_{self.name}")
        name = f"{self.name.capitalize()}Model"
        return cast("type[LoadedModel]", getattr(adapter, name))

    @property
    def has_devices(self) -> bool:
        """Whether it can be told where to compute."""
        return "device" in self.options.names()

    @property
    def bare(self) -> str | None:
        """The file of the module that loads it without this package; None where there is none."""
        module = importlib.util.find_spec(f"{__name__}.bare_{self.name}")
        return None if module is None else module.origin


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime(
            "onnxruntime",
            "onnx_philox.onnxruntime",
            "ONNX Runtime",
            has_library=True,
            takes_ort=True,
            options=OnnxRuntimeOptions,
        ),
        Runtime(
            "openvino",
            "onnx_philox.openvino",
            "OpenVINO",
            has_library=True,
            takes_ir=True,
            precisions=("f32", "bf16", "f16"),
            options=OpenVinoOptions,
        ),
        Runtime("reference", None, note="NumPy, slow"),
        Runtime(
            "standard",
            "onnx_philox.rewriting",
            is_only_asked_for=True,
            options=StandardOptions,
            note="ONNX's own nodes, no plugin",
        ),
    )
}
"""Every runtime, by its name; a command that needs one takes the first that is installed."""


def _imported(name: str) -> ModuleType:
    """A module; what is compiled ends the process where its import is interrupted."""
    if name in sys.modules:
        return importlib.import_module(name)
    with held_back():
        return importlib.import_module(name)


def standard_first() -> list[str]:
    """The names, beginning with what is always installed: it defines the right numbers."""
    return sorted(RUNTIMES, key=lambda name: RUNTIMES[name].package is not None)


def reader_of_ir() -> Runtime:
    """The runtime whose own models are IRs."""
    return next(runtime for runtime in RUNTIMES.values() if runtime.takes_ir)


def with_library() -> list[str]:
    """The names of those that this package has a native library for."""
    return [name for name, runtime in RUNTIMES.items() if runtime.has_library]
