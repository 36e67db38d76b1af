"""`onnx-philox compare`: runs a model in two runtimes, and gives one verdict.

An OpenVINO IR is run in OpenVINO at two precisions, or on two devices.

`differences` compares two arrays, and `comparison_printed` prints the result. The model is loaded
and fed as in `run`.
`law` compares a model with its original instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx_philox._command import inside_model, paths
from onnx_philox._command.compare.comparison_printed import ComparedRuns
from onnx_philox._command.compare.differences import Tolerances, of_run
from onnx_philox._command.compare.law import compare_laws, write_page
from onnx_philox._command.draw_option import with_draws
from onnx_philox._command.run import loading
from onnx_philox._command.run.beginning import Serving
from onnx_philox._command.run.loading import Settings
from onnx_philox._command.wanted import WantedRuns
from onnx_philox._contract.shown import listed
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting.look import ModelLook, look
from onnx_philox._runtimes import RUNTIMES
from onnx_philox._runtimes.models import LoadedModel, RunError
from onnx_philox._runtimes.port import ArgumentError

__all__ = [
    "ArgumentError",
    "ComparedRuns",
    "RunError",
    "Tolerances",
    "compare",
    "compare_laws",
    "write_page",
]

# What an IR is run at, where nothing else is said.
_PRECISIONS = (loading.COMPARED, "bf16")


def compare(
    model: Path,
    wanted: WantedRuns,
    *,
    runtimes: Sequence[str] = (),
    precisions: Sequence[str] = (),
    devices: Sequence[str] = (),
    tolerances: Tolerances | None = None,
    progress: Progress = ignore,
) -> ComparedRuns:
    """Runs a model in two runtimes with the same states, each carrying its own.

    They are named as in `RUNTIMES`, or else the first two that are installed; an IR is run in
    OpenVINO alone, at two precisions or on two of its devices. Inputs that are made up are the same
    in both. What the model draws must be equal; the tolerances are for the rest.

    Raises:
        ArgumentError: An argument is wrong, or does not suit the model.
        RunError: A runtime does not load the model, or a run fails.
    """
    given = paths.given("compare", model)
    by = tolerances or Tolerances()
    with given.kept_open(), with_draws(look(given), wanted.draw) as seen:
        inside = inside_model.inside(seen)
        inside.check_rewritten(model, wanted.seed)
        load = _load_ir if seen.given.of_openvino else _load
        one, other = load(seen, runtimes, precisions, devices)
        serving = Serving(one, wanted, inside)
        if wanted.seed is not None and serving.state is None:
            inside.refuse_seed(wanted.seed, model)
        other_s = Serving(other, wanted, inside, like=serving)
        next_state = None if serving.state is None else serving.state.next
        kinds = {**one.drawn, **other.drawn}
        if next_state:
            kinds[next_state] = ""
        report = ComparedRuns(model, (one, other), serving.seed, by, serving.filled)
        for done, number in enumerate(wanted.numbers):
            progress(done, wanted.runs, f"run {number}")
            differences = of_run(serving.run(), other_s.run(), kinds, by)
            report.runs.append((number, differences))
    return report


def _settings(precision: str | None, device: str | None) -> Settings:
    return Settings(precision=precision, shows_drawn=True, device=device or Settings.device)


def _load_ir(
    seen: ModelLook,
    runtimes: Sequence[str],
    precisions: Sequence[str],
    devices: Sequence[str],
) -> tuple[LoadedModel, LoadedModel]:
    of_ir = [name for name, runtime in RUNTIMES.items() if runtime.takes_ir]
    if not set(runtimes) <= set(of_ir):
        raise ArgumentError(
            f"--runtime must be {listed(of_ir)} for an OpenVINO IR, or left out: got "
            f"{' and '.join(runtimes)}. Leave it out, or pass an ONNX file."
        )
    pairs: list[tuple[str, str | None]]
    if len(devices) > 1:
        if len(devices) != 2 or devices[0] == devices[1] or len(precisions) > 1:
            raise ArgumentError(
                f"--device must be two different ones at one --precision, or one: got "
                f"{' and '.join([*devices, *precisions])}. Leave out the others."
            )
        pairs = [((*precisions, loading.COMPARED)[0], device) for device in devices]
    else:
        if len(precisions) < 2:
            precisions = [*dict.fromkeys((*precisions, *_PRECISIONS))][:2]
        if len(set(precisions)) != 2 or len(precisions) != 2:
            raise ArgumentError(
                f"--precision must be two different ones for an OpenVINO IR, or left out: got "
                f"{' and '.join(precisions)}. Give it twice, or leave it out."
            )
        pairs = [(hint, next(iter(devices), None)) for hint in precisions]
    one, other = pairs
    return (
        loading.load_model(seen, of_ir[0], _settings(*one)),
        loading.load_model(seen, of_ir[0], _settings(*other)),
    )


def _load(
    seen: ModelLook,
    runtimes: Sequence[str],
    precisions: Sequence[str],
    devices: Sequence[str],
) -> tuple[LoadedModel, LoadedModel]:
    loading.check_once("--precision", precisions, "for an ONNX file")
    save = "Give one of them, or save the model as an OpenVINO IR."
    loading.check_once("--device", devices, "for an ONNX file", save)
    (precision,) = precisions or (loading.COMPARED,)
    (device,) = devices or (None,)
    if runtimes and (len(runtimes) != 2 or runtimes[0] == runtimes[1]):
        raise ArgumentError(
            f"--runtime must be two different ones of {', '.join(RUNTIMES)}, or left out: got "
            f"{' and '.join(runtimes)}. Give it twice, or leave it out."
        )
    with_devices = [name for name, runtime in RUNTIMES.items() if runtime.has_devices]
    if device is not None and runtimes and not set(runtimes) & set(with_devices):
        raise ArgumentError(
            f"--device must be given with --runtime {listed(with_devices)}: got "
            f"{' and '.join(runtimes)}. Add that, or leave it out."
        )
    loaded = []
    reasons = []
    for name in runtimes or RUNTIMES:
        try:
            if not runtimes:
                RUNTIMES[name].models()
        except ImportError as error:
            reasons.append(str(error))
            continue
        own = device if name in with_devices else None
        settings = _settings(loading.precision_in(name, precision), own)
        loaded.append(loading.load_model(seen, name, settings))
        if len(loaded) == 2:
            return loaded[0], loaded[1]
    raise ArgumentError(
        f"there must be two runtimes to compare: got {listed([m.runtime for m in loaded])} alone. "
        + " ".join(reasons)
    )
