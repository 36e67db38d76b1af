"""Chooses a runtime, and loads a model in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnx_philox import _backends
from onnx_philox._contract.shown import listed
from onnx_philox._rewriting.look import ModelLook
from onnx_philox._runtimes import RUNTIMES, Runtime
from onnx_philox._runtimes.models import LoadedModel, RunError, SettingError, ToOpen, choose_backend
from onnx_philox._runtimes.options import PRECISION
from onnx_philox._runtimes.port import ArgumentError, refusing_as_argument

# The ending of files in ONNX Runtime's own format.
_ORT = ".ort"


# A runtime's own precision, which is bf16 on some processors, would drown every difference.
COMPARED = "f32"


def precision_in(runtime: str, wanted: str | None = COMPARED) -> str | None:
    """A precision hint, where the runtime takes one."""
    if runtime not in RUNTIMES or not RUNTIMES[runtime].precisions:
        return None
    return wanted


@dataclass(frozen=True)
class Settings:
    """How to load a model."""

    backend: str = _backends.AUTO
    precision: str | None = None
    """OpenVINO's precision hint; None for the device's own."""
    shows_drawn: bool = False
    """Whether the tensors that the random nodes of the main graph draw are outputs too."""
    device: str = "CPU"
    """OpenVINO's name of the device, such as "CPU" or "HETERO:GPU,CPU"."""


def check_once(
    option: str,
    given: Sequence[str],
    where: str,
    remedy: str = "Give one of them.",
) -> None:
    """Refuses an option that is given several times.

    Raises:
        ArgumentError: It is.
    """
    if len(given) > 1:
        got = " and ".join(given)
        raise ArgumentError(f"{option} must be given once {where}: got {got}. {remedy}")


def load_model(seen: ModelLook, runtime: str | None, settings: Settings) -> LoadedModel:
    """Loads a model in a runtime, or in the first installed one that takes it.

    Raises:
        ArgumentError: The runtime is unknown or not installed, or does not take such files.
        RunError: The runtime refuses the model.
    """
    if runtime is not None and runtime not in RUNTIMES:
        raise ArgumentError(
            f"--runtime must be one of {', '.join(RUNTIMES)}: got {runtime!r}. Choose one of these."
        )
    given = seen.given
    of_ir = given.of_openvino
    usable = [r for r in RUNTIMES.values() if r.takes_ir or not of_ir]
    chosen = [r for r in usable if runtime in (None, r.name)]
    if not chosen:
        raise ArgumentError(
            f"{given.name} must be an ONNX file for {runtime}: got an OpenVINO IR. Choose "
            f"--runtime {listed([r.name for r in usable])}, or pass the model that the IR was made "
            "from."
        )
    precise = listed([r.name for r in RUNTIMES.values() if r.precisions])
    # Without its name, an ONNX file is for the first, which has neither.
    if settings.precision is not None and not chosen[0].precisions:
        raise ArgumentError(
            f"--precision must be given with --runtime {precise}: got it alone. Add that, or leave "
            "it out."
        )
    with_devices = [r.name for r in RUNTIMES.values() if r.has_devices]
    if settings.device != Settings.device and chosen[0].name not in with_devices:
        raise ArgumentError(
            f"--device must be given with --runtime {listed(with_devices)}: got it alone. Add "
            "that, or leave it out."
        )
    reasons = []
    for each in chosen:
        try:
            return _load(seen, each, settings)
        except ImportError as error:
            reasons.append(str(error))
    raise ArgumentError(" ".join(reasons))


def _load(seen: ModelLook, runtime: Runtime, settings: Settings) -> LoadedModel:
    given = seen.given
    models = runtime.models()
    precision = settings.precision
    # Only ONNX Runtime reads its own format, but nothing can be made another output of it.
    is_ort_read = runtime.takes_ort and not settings.shows_drawn
    if given.is_file and not (given.path.suffix == _ORT and is_ort_read):
        # Each runtime has words of its own for what is no model.
        with refusing_as_argument():
            given.check()
    if precision not in (None, *runtime.precisions):
        allowed = f"one of {', '.join(runtime.precisions)}"
        remedy = "Choose one of these, or leave it out."
        raise SettingError(runtime.name, PRECISION, repr(precision), allowed, remedy)
    backend = choose_backend(models, settings.backend)
    options = runtime.options.of(backend, precision, settings.device)
    try:
        read = seen.read_by_openvino
        return models.open(ToOpen(given, options, shows_drawn=settings.shows_drawn, read=read))
    except ArgumentError:
        raise
    except Exception as error:
        what = given.name if given.is_file else "the model"
        raise RunError.of(runtime.name, f"load {what}", error) from error
