"""Who draws for `onnx-philox verify`: a runner for each backend of each runtime that is here.

A runner prepares a draw (builds and loads the model) and gives a function that runs it and returns
the outputs by name. New backends appear by themselves, from the registries of their runtimes. The
peers are OpenVINO's own RandomUniform, which shows beside ours what it gets right.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from onnx_philox import _backends, _versions
from onnx_philox._command.verify.cases import Arrays, Case, Draw
from onnx_philox._contract.types import BF16, F16, ElementType

Prepared = Callable[[], Arrays]


class NotCarriedError(Exception):
    """A backend has said that it does not carry the type of a draw, as its documentation says."""


class SelectionError(ValueError):
    """A runtime or backend was asked for that cannot be had here."""


class Runner(ABC):
    """One backend of one runtime."""

    runtime: str
    is_peer = False

    def __init__(self, version: str, backend: str) -> None:
        self.version = version
        self.backend = backend

    @property
    def title(self) -> str:
        """The runner in words."""
        return f"{self.runtime} {self.version}, backend {self.backend}"

    def takes(self, case: Case) -> bool:  # noqa: ARG002
        """Whether the case says anything about this runner."""
        return True

    @abstractmethod
    def prepare(self, draw: Draw) -> Prepared:
        """Loads the draw's model; calling the result runs it once more."""


class Absent:
    """A runtime or backend that cannot be used here, and why."""

    def __init__(self, runtime: str, backend: str, reason: str) -> None:
        self.runtime = runtime
        self.backend = backend
        self.reason = reason


class NumpyRunner(Runner):
    """`onnx_philox.reference`."""

    runtime = "reference"

    def __init__(self) -> None:
        super().__init__(np.__version__, "numpy")

    def takes(self, case: Case) -> bool:
        """All but what is compared with NumPy itself."""
        return not case.is_numpy_the_standard

    def prepare(self, draw: Draw) -> Prepared:
        """The function of the reference; there is nothing to load."""
        return draw.in_numpy


class OnnxRunner(Runner):
    """`onnx.reference.ReferenceEvaluator` with the operators of `onnx_philox.onnx_reference`."""

    runtime = "reference"

    def __init__(self) -> None:
        super().__init__(onnx.__version__, "onnx")

    def prepare(self, draw: Draw) -> Prepared:
        """Makes a ReferenceEvaluator."""
        from onnx.reference import ReferenceEvaluator

        from onnx_philox.onnx_reference import OPS

        evaluator = ReferenceEvaluator(draw.model(), new_ops=OPS)
        feeds = draw.feeds()
        return lambda: dict(
            zip(evaluator.output_names, _arrays(evaluator.run(None, feeds)), strict=True)
        )


class OnnxruntimeRunner(Runner):
    """`onnx_philox.onnxruntime.InferenceSession`."""

    runtime = "onnxruntime"
    not_carried: Mapping[str, tuple[ElementType, ...]] = {"python": (F16, BF16)}
    """The types that a backend may refuse; to refuse any other is an error."""

    def prepare(self, draw: Draw) -> Prepared:
        """Makes a session."""
        from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

        from onnx_philox.onnxruntime import InferenceSession

        try:
            session = InferenceSession(
                draw.model(), providers=["CPUExecutionProvider"], backend=self.backend
            )
        except ort_state.NotImplemented as error:
            if draw.type in self.not_carried.get(self.backend, ()):
                raise NotCarriedError(str(error)) from error
            raise
        names = [o.name for o in session.get_outputs()]
        feeds = draw.feeds()
        return lambda: dict(zip(names, session.run(None, feeds), strict=True))


class OpenvinoRunner(Runner):
    """The extension of `onnx_philox.openvino` on OpenVINO's CPU device, as it is by default."""

    runtime = "openvino"

    @cached_property
    def _core(self) -> Any:
        # Only when it draws, so that a library that does not load fails cases by name.
        import openvino as ov

        from onnx_philox.openvino import register

        return register(ov.Core(), backend=self.backend)

    def prepare(self, draw: Draw) -> Prepared:
        """Reads the ONNX model and compiles it."""
        model = self._core.read_model(draw.model().SerializeToString())
        return _compiled(self._core, model, draw.feeds())


class OpenvinoOwnRunner(Runner):
    """OpenVINO's own RandomUniform on its CPU device."""

    runtime = "openvino"
    is_peer = True

    def __init__(self, version: str) -> None:
        super().__init__(version, "built-in")

    @property
    def title(self) -> str:
        """The runner in words."""
        return f"openvino {self.version}, its own RandomUniform on CPU (built-in), to compare"

    def takes(self, case: Case) -> bool:
        """What can be said with seeds alone."""
        return case.has_seeds_alone

    def prepare(self, draw: Draw) -> Prepared:
        """Builds and compiles a model of the built-in operator."""
        import openvino as ov

        return _runs_after(
            draw, _compiled(ov.Core(), _own_model(draw), {"shape": _shape_array(draw)})
        )


class OpenvinoEvaluateRunner(OpenvinoOwnRunner):
    """OpenVINO's own RandomUniform as its reference code computes it, in `Model.evaluate`."""

    def __init__(self, version: str) -> None:
        super().__init__(version)
        self.backend = "evaluate"

    @property
    def title(self) -> str:
        """The runner in words."""
        return f"openvino {self.version}, its own RandomUniform in Model.evaluate, to compare"

    def prepare(self, draw: Draw) -> Prepared:
        """Builds a model of the built-in operator."""
        import openvino as ov

        from onnx_philox import _openvino_arrays as ov_arrays

        model = _own_model(draw)
        inputs = [ov.Tensor(_shape_array(draw))]

        def run() -> Arrays:
            output = ov.Tensor(ov_arrays.openvino_type(draw.type), ov.Shape(draw.shape))
            if not model.evaluate([output], inputs):
                raise RuntimeError("Model.evaluate returned False")
            return {"values": ov_arrays.memory(output).copy()}

        return _runs_after(draw, run)


def _own_model(draw: Draw) -> Any:
    """A model of OpenVINO's own RandomUniform.

    Its shape is a model input: of constants alone, OpenVINO would compute it when it compiles the
    model, by its reference code. Its bounds are constants: as inputs, f64 and i64 would arrive
    rounded.
    """
    import openvino as ov
    from openvino import opset8

    from onnx_philox import _openvino_arrays as ov_arrays

    shape = opset8.parameter([len(draw.shape)], ov.Type.i64, name="shape")
    low, high = (
        ov.op.Constant(
            ov_arrays.openvino_type(draw.type), ov.Shape([]), [draw.type.dtype.type(bound).item()]
        )
        for bound in draw.arguments.values()
    )
    node = opset8.random_uniform(shape, low, high, draw.type.name, draw.global_seed, draw.op_seed)
    shape.output(0).set_names({"shape"})
    node.output(0).set_names({"values"})
    return ov.Model([node.output(0)], [shape])


def _shape_array(draw: Draw) -> Any:
    return np.array(draw.shape, np.int64)


def _compiled(core: Any, model: Any, feeds: Arrays) -> Prepared:
    from onnx_philox import _openvino_arrays as ov_arrays

    compiled = core.compile_model(model, "CPU")
    request = compiled.create_infer_request()

    def run() -> Arrays:
        request.infer(feeds)
        # Copies: the next run writes into the same memory.
        return {
            output.get_any_name(): ov_arrays.memory(request.get_output_tensor(i)).copy()
            for i, output in enumerate(compiled.outputs)
        }

    return run


def _runs_after(draw: Draw, run: Prepared) -> Prepared:
    """Lets a stateful operator draw as often as comes before the draw that counts."""
    for _ in range(draw.run or 0):
        run()
    return run


def _arrays(results: Any) -> list[Any]:
    return [np.asarray(result) for result in results]


def _reference() -> list[Runner | Absent]:
    return [NumpyRunner(), OnnxRunner()]


def _onnxruntime() -> list[Runner | Absent]:
    import onnxruntime as ort

    from onnx_philox.onnxruntime import BACKENDS

    return _of_registry(OnnxruntimeRunner, ort.__version__, BACKENDS)


def _openvino() -> list[Runner | Absent]:
    import openvino as ov

    from onnx_philox.openvino import BACKENDS

    version = ov.__version__.partition("-")[0]
    return [
        *_of_registry(OpenvinoRunner, version, BACKENDS),
        OpenvinoOwnRunner(version),
        OpenvinoEvaluateRunner(version),
    ]


def _of_registry(
    runner: type[Runner], version: str, backends: Mapping[str, _backends.Backend]
) -> list[Runner | Absent]:
    found: list[Runner | Absent] = []
    for name, backend in backends.items():
        reason = backend.unavailable()
        found.append(
            runner(version, name) if reason is None else Absent(runner.runtime, name, reason)
        )
    return found


RUNTIMES: dict[str, Callable[[], list[Runner | Absent]]] = {
    "reference": _reference,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}
"""Every runtime, and what finds its runners."""


def select(runtimes: Sequence[str] = (), backends: Sequence[str] = ()) -> list[Runner | Absent]:
    """The runners of the chosen runtimes and backends.

    Args:
        runtimes: Names of `RUNTIMES`; none means all that are installed.
        backends: Names of backends, "auto" for the best that a runtime has; none means all, and
            OpenVINO's own operator beside them.

    Returns:
        Runners, and in the place of each one that cannot be had, why.

    Raises:
        SelectionError: There is no such name, or what was asked for cannot be had here.
    """
    for name in runtimes:
        if name not in RUNTIMES:
            raise SelectionError(
                f"runtime is {name!r}; allowed: {', '.join(RUNTIMES)}. Choose one of these."
            )
    found = {name: _find(name) for name in RUNTIMES if name in runtimes or not runtimes}
    _check_backends(backends, found.values())
    chosen = {name: _narrow(members, backends) for name, members in found.items()}
    required = [chosen[name] for name in runtimes]
    if backends:
        required.append([member for members in chosen.values() for member in members])
    for members in required:
        _check_usable(members)
    for name in runtimes:
        if not chosen[name]:
            has = ", ".join(_names([found[name]]))
            raise SelectionError(
                f"{name} has no backend {' or '.join(map(repr, backends))}; allowed: "
                f"{_backends.AUTO}, {has}. Choose one of these, or leave --backend out."
            )
    return [member for members in chosen.values() for member in members]


def _find(runtime: str) -> list[Runner | Absent]:
    try:
        if runtime != "reference":
            importlib.import_module(f"onnx_philox.{runtime}")
    except ImportError as error:
        reason = str(error)
        is_said = isinstance(error, _versions.OldRuntimeError)
        if not is_said and not isinstance(error.__cause__, ModuleNotFoundError):
            reason += f" ({error.__cause__ or 'it is installed, but does not load'})"
        return [Absent(runtime, "", reason)]
    return RUNTIMES[runtime]()


def _narrow(members: list[Runner | Absent], backends: Sequence[str]) -> list[Runner | Absent]:
    if not backends:
        return members
    names = set(backends)
    usable = [m for m in members if isinstance(m, Runner) and not m.is_peer]
    if _backends.AUTO in names and usable:
        names.add(usable[0].backend)
    return [
        m
        for m in members
        if (m.backend in names and not getattr(m, "is_peer", False)) or not m.backend
    ]


def _names(groups: Iterable[list[Runner | Absent]]) -> list[str]:
    return list(
        dict.fromkeys(
            m.backend
            for members in groups
            for m in members
            if m.backend and not getattr(m, "is_peer", False)
        )
    )


def _check_backends(backends: Sequence[str], found: Iterable[list[Runner | Absent]]) -> None:
    allowed = [_backends.AUTO, *_names(found)]
    for name in backends:
        if name not in allowed:
            raise SelectionError(
                f"backend is {name!r}; allowed: {', '.join(allowed)}. Choose one of these."
            )


def _check_usable(members: list[Runner | Absent]) -> None:
    if members and all(isinstance(member, Absent) for member in members):
        reasons = (member.reason for member in members if isinstance(member, Absent))
        raise SelectionError(" ".join(reasons))
