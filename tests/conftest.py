"""Fixtures: every runtime with every backend it has."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import hypothesis
import onnxruntime
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import _parts
from onnx_philox._numbers.fill_native import fastest_fill
from onnx_philox.onnxruntime import _session
from onnx_philox.openvino import _native_openvino
from tests.common import exhaustive, lesser_processor, missing_backend, missing_part, reaching
from tests.common.half_precision import is_computed
from tests.common.real_models import LOADERS, Load
from tests.common.runtimes import OpenVino

# Programs for the tests of other engines, which need those to be installed.
collect_ignore = ["torch_numbers/make_torch_draws.py", "torch_numbers/torch_walk"]

hypothesis.settings.register_profile(
    "default",
    deadline=None,
    # The same examples in every run: a red test stays red.
    derandomize=True,
)
hypothesis.settings.load_profile("default")

_SEED_OF_UNSEEDED_NODES = 100_003
"""ONNX Runtime's nodes without seeds draw as of this seed and the next ones.

Its default comes from the clock. Of one seed in some hundred, a Dropout's first element is kept in
half of the runs and not in all or none, and a test of what is known of it would be red.
"""


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    # They have options of their own.
    pluginmanager.register(reaching, "reaching")
    pluginmanager.register(missing_part, "missing_part")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Gives each process of `-n` neighbouring tests, which share the fixtures of a module."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_configure(config: pytest.Config) -> None:
    # The tests start some hundred processes. Without bytecode, each would compile the package, and
    # each worker would rewrite the assertions of every file.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sys.platform == "linux":
        # M_MXFAST: OpenVINO makes small objects by the hundred thousand, and trims what they leave
        # after each model. Without glibc's fast bins that takes a fifth less.
        ctypes.CDLL(None).mallopt(1, 0)
    # The workers share the processors already: threads of each one's BLAS only wait for another.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # As on a CI server, OpenVINO's telemetry sends nothing: at each import of OpenVINO, and at each
    # conversion, it would fork this process. No other program here reads this name.
    os.environ.setdefault("JENKINS_URL", "none")
    lesser_processor.play()
    gc.disable()
    config.pluginmanager.register(missing_backend, "missing_backend")
    config.pluginmanager.register(exhaustive, "exhaustive")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the file whose fixtures take longest.

    A worker that has nothing left takes tests from the end of another one's, and would make them
    once more.
    """
    items.sort(key=lambda item: item.path.name != "test_verify.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keeps the tests themselves, which stay until the end, out of each collection of garbage."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    onnxruntime.set_seed(_SEED_OF_UNSEEDED_NODES)


@pytest.fixture(scope="session", params=list(onnx_philox.openvino.BACKENDS))
def openvino_backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=LOADERS)
def load(request: pytest.FixtureRequest) -> Load:
    """Loads a model in a runtime, with each of its backends."""
    return LOADERS[request.param]


@pytest.fixture(params=list(onnx_philox.openvino.BACKENDS))
def factories(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The backend whose nodes the factories make: the native one, and as if there were none."""
    if request.param == "python":
        error = ImportError("not for this test")
        monkeypatch.setattr(_native_openvino, "unavailable", lambda: error)
    return request.param


@pytest.fixture(scope="module")
def native_reference() -> Iterator[None]:
    """Lets the core draw for the reference: the same bits, as other tests prove, sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_philox.reference, "fill", fastest_fill)
        yield


TRYING = (
    "test_cli_inspect",
    "test_cli_inspect_rest",
    "test_cli_compare",
    "test_known",
    "test_known_in_words",
    "test_law",
    "test_law_known",
    "test_openvino_models",
    "test_pages",
)


def _try_none(
    built: list[Any],
    *_: object,
    **__: object,
) -> list[Any]:
    from onnx_philox._command.inspect import trials

    said = trials.Trial(trials.Behaviour.NOT_LOADED, "untried")
    names = ("onnxruntime", "openvino")
    return [trials.Trials(name, "1", {p.key: said for p in built}) for name in names]


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `inspect` try no node, for what does not depend on the runtimes."""
    monkeypatch.setattr("onnx_philox._command.inspect.trials.run", _try_none)


@pytest.fixture(scope="module", autouse=True)
def untried_elsewhere(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nor does it in other files than these: a trial takes four processes, which are kept."""
    if _parts.COMMAND_PART in missing_part.MISSING:
        yield
        return
    from tests.common.kept_workers import KeptWorkers

    workers = KeptWorkers()
    with pytest.MonkeyPatch.context() as patch:
        if request.path.stem in TRYING:
            patch.setattr("onnx_philox._command.inspect.trials._Worker", workers)
        else:
            patch.setattr("onnx_philox._command.inspect.trials.run", _try_none)
        yield
    workers.close()


@pytest.fixture(scope="session")
def openvino(openvino_backend: str) -> OpenVino:
    return OpenVino(openvino_backend)


@pytest.fixture(scope="session", params=list(_session.BACKENDS))
def ort_backend(request: pytest.FixtureRequest) -> str:
    return request.param


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which precisions of OpenVINO the processor computed in, and which were only repeated.

    And which rows of known behaviours another release of a runtime has changed.
    """
    f16 = "computed by this processor" if is_computed("f16") else "only emulated: f32 here"
    bf16 = "computed by this processor" if is_computed("bf16") else "not exercised: f32 here"
    terminalreporter.write_line(f"OpenVINO's precision f16: {f16}; bf16: {bf16}")
    terminalreporter.write_line(f"OpenVINO's device GPU: {_gpu()}")
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "known behaviour":
                terminalreporter.write_line(f"Known behaviour that has changed: {text}")


def _gpu() -> str:
    core = ov.Core()
    if "ONNX_PHILOX_GPU_IS_EMULATED" in os.environ:
        return "only emulated, by this processor"
    found = [name for name in core.available_devices if name.startswith("GPU")]
    names = [core.get_property(name, "FULL_DEVICE_NAME") for name in found]
    return ", ".join(names) or "not exercised: none here"
