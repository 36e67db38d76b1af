"""ONNX Runtime on an NVIDIA card, for `onnx-philox verify --device cuda`."""

from __future__ import annotations

from typing import Any

from onnx_philox import _native, _parts, graphs
from onnx_philox._command.verify.examples import Example
from onnx_philox._command.verify.runners.interface import Loaded, NotCarriedError, Runner


def _sessions() -> Any:
    """The module of the part for cards."""
    return _parts.OTHERS["cuda_sessions"].get("--device cuda")


def why_not() -> str:
    """Why ONNX Runtime cannot draw on a card here, as a sentence; empty if it can."""
    try:
        sessions = _sessions()
    except _parts.PartNotInstalledError as error:
        return str(error)
    except ImportError:
        return "--device cuda needs ONNX Runtime: pip install onnxruntime-gpu"
    available = sessions.providers()
    if not set(available).intersection(sessions.PROVIDERS):
        return (
            f"--device cuda must be where ONNX Runtime has {' or '.join(sessions.PROVIDERS)}: got "
            f"{', '.join(available)}. Install onnxruntime-gpu in the place of onnxruntime."
        )
    reason = _native.why_no_card()
    if not reason:
        return why_no_session()
    return (
        f"--device cuda must be where a card and its driver are: got none, since {reason}. Run "
        "onnx-philox verify without --device."
    )


def why_no_session() -> str:
    """Why ONNX Runtime opens no session on a card, as a sentence; empty if it does.

    It has the provider, but may lack the libraries that this one needs, and would run on the CPU.
    """
    try:
        _sessions().load(graphs.random_generator([4]))
    except Exception as error:
        return (
            f"--device cuda must be where ONNX Runtime opens a session on a card: got {error} "
            "Install the versions of CUDA and cuDNN that it names when it makes a session."
        )
    return ""


class CudaRunner(Runner):
    """The native backend on a card, where nothing is left to the CPU.

    Args:
        options: Of `load` of the part for cards.
    """

    runtime = "onnxruntime"
    how = "device cuda"

    def __init__(self, **options: Any) -> None:
        self._sessions = _sessions()
        super().__init__(self._sessions.VERSION, "native")
        self._options = options

    def prepare(self, example: Example) -> Loaded:
        """Loads the model; calling the result runs it once more."""
        try:
            session = self._sessions.load(example.model(), **self._options)
        except Exception as error:
            if self._sessions.is_left_to_the_cpu(error):
                raise NotCarriedError(f"drawn on the CPU: {error}") from error
            raise
        names = [output.name for output in session.get_outputs()]
        feeds = example.feeds()

        def run() -> dict[str, Any]:
            return dict(zip(names, session.run(None, feeds), strict=True))

        return run
