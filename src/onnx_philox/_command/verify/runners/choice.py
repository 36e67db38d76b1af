"""What draws for `onnx-philox verify`: a runner for each backend of each installed runtime.

A runner prepares an example (builds and loads the model) and gives a function that runs it and
returns the outputs by name. New runtimes and backends appear by themselves, from the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import onnx

from onnx_philox import _backends, _versions
from onnx_philox._command.verify.cases import Case
from onnx_philox._command.verify.examples import Example, apart, together
from onnx_philox._command.verify.runners import on_cuda, openvino_own
from onnx_philox._command.verify.runners.interface import Absent, Loaded, NotCarriedError, Runner
from onnx_philox._contract.refusal import ValueRefusalError
from onnx_philox._contract.shown import listed
from onnx_philox._files.given import Given
from onnx_philox._runtimes import RUNTIMES, Runtime, standard_first
from onnx_philox._runtimes.models import LoadedModel, ToOpen
from onnx_philox._runtimes.port import Arrays

CUDA = "cuda"
"""The device that is ONNX Runtime's, and none of OpenVINO's."""


class SelectionError(ValueError):
    """A requested runtime or backend is not available here."""


class NumpyRunner(Runner):
    """`onnx_philox.reference`."""

    runtime = "reference"

    def __init__(self) -> None:
        super().__init__(np.__version__, "numpy")

    def takes(self, case: Case) -> bool:
        """All cases but those compared with NumPy itself."""
        return not case.is_numpy_the_standard

    def prepare(self, example: Example) -> Loaded:
        """The function of the reference; there is nothing to load."""
        return example.in_numpy


class ModelRunner(Runner):
    """A backend of a runtime; it loads models as `onnx-philox run` does."""

    def __init__(
        self,
        models: type[LoadedModel],
        backend: str,
        device: str | None = None,
    ) -> None:
        super().__init__(models.version, backend)
        self.runtime = models.runtime
        self._models = models
        self._device = device
        self.how = f"device {device}" if device else ""
        # A GPU's own precision is f16, in which it would scale what a dropout keeps.
        precision = None if device is None else "f32"
        options = RUNTIMES[models.runtime].options
        self._options = options.of(backend, precision, device)

    def takes(self, case: Case) -> bool:
        """All cases but numbers that standard nodes cannot draw, where these draw."""
        return self._models.has_operators or not case.generator.is_named

    def prepare(self, example: Example) -> Loaded:
        """Loads the model; calling the result runs it once more."""
        return self._load(example, example.model(), example.feeds())

    def prepare_all(self, examples: Sequence[Example]) -> Callable[[], list[Arrays]]:
        """Loads all as one model: runtimes take far longer to load a model than to run it."""
        if len(examples) == 1:
            return super().prepare_all(examples)
        model, feeds = together(examples)
        draw = self._load(examples[0], model, feeds)
        return lambda: apart(draw(), len(examples))

    def _load(self, example: Example, model: onnx.ModelProto, feeds: Arrays) -> Loaded:
        try:
            given = Given.of("verify", model)
            to_open = ToOpen(given, self._options)
            loaded = self._models.open(to_open)
        except self._models.not_carried_error as error:
            operator = example.operator.name
            if self._models.may_refuse(self.backend, operator, example.type):
                raise NotCarriedError(str(error)) from error
            raise
        except ValueRefusalError as error:
            if self._device is None:
                raise
            # Not each device draws all that the CPU draws, and what it does not draw is refused.
            raise NotCarriedError(str(error)) from error
        return lambda: loaded.outputs_of(feeds)


def select(
    runtimes: Sequence[str] = (),
    backends: Sequence[str] = (),
    device: str | None = None,
) -> list[Runner | Absent]:
    """The runners of the chosen runtimes and backends, and why others are not there.

    No runtime means all that are installed, but those that are only asked for; no backend means
    all, and OpenVINO's own operator as well; "auto" is the best that a runtime has. A device is
    one of a runtime that has several, and then that runtime is the only one; or "cuda", ONNX
    Runtime's on an NVIDIA card.

    Raises:
        SelectionError: A name is unknown, or something requested is not available here.
    """
    for name in runtimes:
        if name not in RUNTIMES:
            raise SelectionError(
                f"--runtime must be one of {', '.join(standard_first())}: got {name!r}. Choose "
                "one of these."
            )
    if device == CUDA:
        return [_on_cuda(runtimes, backends)]
    if device is not None:
        runtimes = _check_device(device, runtimes)
    names = list(runtimes)
    if not names:
        names = [name for name, known in RUNTIMES.items() if not known.is_only_asked_for]
    in_order = [name for name in standard_first() if name in names]
    found = {name: _find(RUNTIMES[name], device) for name in in_order}
    allowed = [_backends.AUTO, *_names(found.values())]
    for name in backends:
        if name not in allowed:
            raise SelectionError(
                f"--backend must be one of {', '.join(allowed)}: got {name!r}. Choose one of these."
            )
    chosen = {name: _narrow(members, backends) for name, members in found.items()}
    required = [chosen[name] for name in runtimes]
    if backends:
        every: list[Runner | Absent] = []
        for members in chosen.values():
            every += members
        required.append(every)
    for members in required:
        reasons = [member.reason for member in members if isinstance(member, Absent)]
        if reasons and len(reasons) == len(members):
            raise SelectionError(" ".join(reasons))
    for name in runtimes:
        if not chosen[name]:
            has = ", ".join(_names([found[name]]))
            raise SelectionError(
                f"--backend must be one of {name} ({_backends.AUTO}, {has}): got "
                f"{' and '.join(map(repr, backends))}. Choose one of these, or leave --backend out."
            )
    return [member for members in chosen.values() for member in members]


def _on_cuda(runtimes: Sequence[str], backends: Sequence[str]) -> Runner:
    """The runner on a card, which must be there."""
    others = [r for r in runtimes if r != on_cuda.CudaRunner.runtime]
    others += [b for b in backends if b not in (_backends.AUTO, "native")]
    if others:
        raise SelectionError(
            f"--device {CUDA} must be given with --runtime onnxruntime and --backend native: got "
            f"{' and '.join(map(repr, others))}. Leave these out."
        )
    reason = on_cuda.why_not()
    if reason:
        raise SelectionError(reason)
    return on_cuda.CudaRunner()


def _check_device(device: str, runtimes: Sequence[str]) -> list[str]:
    """The runtime that has the device, which must be there."""
    having = [name for name, runtime in RUNTIMES.items() if runtime.has_devices]
    if not set(having).issuperset(runtimes):
        raise SelectionError(
            f"--device must be given with --runtime {listed(having)}: got "
            f"{' and '.join(map(repr, runtimes))}. Leave the other runtimes out."
        )
    try:
        present = RUNTIMES[having[0]].models().devices()
    except ImportError as error:
        raise SelectionError(str(error)) from error
    # "HETERO:GPU.0,CPU" names two.
    _, _, listed_devices = device.rpartition(":")
    of_it = [name.partition(".")[0] for name in listed_devices.split(",")]
    known = {name.partition(".")[0] for name in present}
    missing = [name for name in of_it if name not in known]
    if missing:
        raise SelectionError(
            f"--device must be one of {', '.join(present)}, or made of them (what OpenVINO finds "
            f"here): got {device!r}. Choose one of these, or leave --device out."
        )
    return having


def _find(runtime: Runtime, device: str | None = None) -> list[Runner | Absent]:
    try:
        models = runtime.models()
    except ImportError as error:
        is_said = isinstance(error, _versions.OldRuntimeError)
        if is_said or isinstance(error.__cause__, ModuleNotFoundError):
            return [
                Absent(runtime.name, "", str(error), getattr(error, "command", None)),
            ]
        why = error.__cause__ or "it is installed, but does not load"
        return [Absent(runtime.name, "", f"{error} ({why})")]
    # What draws beside the backends: NumPy, and the peers.
    found: list[Runner | Absent] = []
    if runtime.name == NumpyRunner.runtime:
        found.append(NumpyRunner())
    for name, backend in models.backends().items():
        why_not = backend.unavailable()
        if why_not is None:
            found.append(ModelRunner(models, name, device))
        else:
            command = getattr(why_not, "command", None)
            found.append(Absent(runtime.name, name, str(why_not), command))
    if runtime.name == openvino_own.OpenvinoOwnRunner.runtime and device is None:
        found += openvino_own.runners()
    return found


def _narrow(members: list[Runner | Absent], backends: Sequence[str]) -> list[Runner | Absent]:
    if not backends:
        return members
    names = set(backends)
    ours = [member for member in members if isinstance(member, Runner)]
    usable = [member for member in ours if not member.is_peer]
    if _backends.AUTO in names and usable:
        names.add(usable[0].backend)
    narrowed = []
    for member in members:
        is_asked = member.backend in names and not member.is_peer
        if is_asked or not member.backend:
            narrowed.append(member)
    return narrowed


def _names(groups: Iterable[list[Runner | Absent]]) -> list[str]:
    backends = []
    for members in groups:
        for member in members:
            if member.backend and not member.is_peer:
                backends.append(member.backend)
    return list(dict.fromkeys(backends))
