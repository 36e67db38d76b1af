"""`onnx-philox verify`: compares every runtime and backend here with documented numbers.

`cases` holds the expected numbers, `runners` draw them, `comparison` compares the two bit for bit,
and `result` is the outcome. `shown` prints it or writes a page. `run` calls them in this order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from onnx_philox._command.verify import cases, comparison
from onnx_philox._command.verify.comparison import CaseResult, CaseVerdict
from onnx_philox._command.verify.runners import choice
from onnx_philox._command.verify.runners.choice import SelectionError
from onnx_philox._command.verify.runners.interface import Absent, NotCarriedError, Runner
from onnx_philox._command.verify.shown.verification_page import write_page
from onnx_philox._command.verify.shown.verification_printed import Verification
from onnx_philox._progress import Progress, ignore

__all__ = ["CaseResult", "CaseVerdict", "SelectionError", "Verification", "run", "write_page"]


def run(
    runtimes: Sequence[str] = (),
    backends: Sequence[str] = (),
    *,
    device: str | None = None,
    expected: Sequence[cases.Case] | None = None,
    is_verbose: bool = False,
    progress: Progress = ignore,
) -> Verification:
    """Draws every case in every chosen backend and compares.

    Without names it takes all runtimes that are installed, and all backends with OpenVINO's own
    operator beside them. With a device it takes OpenVINO alone, on that device, or ONNX Runtime
    alone on "cuda".

    Raises:
        SelectionError: A runtime or backend is unknown, or was requested and is not available.
    """
    found = choice.select(runtimes, backends, device)
    all_cases = cases.load_cases() if expected is None else expected
    jobs = []
    results = []
    for member in found:
        if isinstance(member, Absent):
            results.append(CaseResult(member, reason=member.reason))
        if isinstance(member, Runner):
            jobs += [(member, case) for case in all_cases if member.takes(case)]
    for done, (runner, case) in enumerate(jobs):
        title = f"{runner.runtime} {runner.backend}: {case.name}"
        progress(done, len(jobs), title)
        results.append(_verify(runner, case))
    results.sort(key=lambda result: found.index(result.by))
    return Verification(results, is_verbose)


def _verify(runner: Runner, case: cases.Case) -> CaseResult:
    verdict = CaseVerdict.SAME
    reason = None
    draw = None
    compared = comparison.NOTHING
    alone = case.vectors
    with contextlib.suppress(Exception):  # the vector that is at fault raises it again
        compared = _compare(runner, case.vectors)
        alone = ()
    for vector in alone:
        try:
            compared += _compare(runner, [vector])
        except NotCarriedError as error:
            verdict = CaseVerdict.NOT_CARRIED
            reason = str(error)
            break
        except Exception as error:
            # Any error of a runtime is a result: the table goes on, and the command fails.
            verdict = CaseVerdict.ERROR
            reason = f"{type(error).__name__}: {error}"
            draw = str(vector.example)
            break
    if verdict is CaseVerdict.SAME and compared.first is not None:
        verdict = CaseVerdict.OTHER if runner.is_peer else CaseVerdict.MISMATCH
    return CaseResult(runner, case, verdict, reason, draw, compared)


def _compare(runner: Runner, vectors: Sequence[cases.Vector]) -> comparison.Comparison:
    draw_now = runner.prepare_all([vector.example for vector in vectors])
    # Operators are pure: the same model and feeds give the same bits again.
    for _ in range(1 if runner.is_peer else 2):
        compared = comparison.NOTHING
        for vector, got in zip(vectors, draw_now(), strict=True):
            names = ["values"] if runner.is_peer else list(vector.expected)
            compared += comparison.compare(vector, got, names)
        if compared.first is not None:
            break
    return compared
