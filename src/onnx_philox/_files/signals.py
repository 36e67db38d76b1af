"""Blocks and signals: what waits for the end of a block, and what is tidied up before the end."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TypeVar

INTERRUPT = "SIGINT"
_TERMINATING = ("SIGTERM", "SIGHUP")
ENDING = (INTERRUPT, *_TERMINATING)
# `timeout` and init systems send a signal twice in a row; the second must not stop the tidying up.
_ONE_SIGNAL_SECONDS = 5.0
_Cause = TypeVar("_Cause", bound=BaseException)


def cause_of(error: BaseException, kind: type[_Cause]) -> _Cause | None:
    """The exception of a kind that an error is, or in whose handling it was raised; or None.

    What a block does at its end may fail because the block was left halfway: a ZIP file refuses to
    be closed within a member. An import that C does turns any exception into an ImportError.
    """
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, kind):
            return found
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return None


@contextlib.contextmanager
def held_back(
    names: Iterable[str] = ENDING,
    then: Callable[[], None] | None = None,
) -> Iterator[None]:
    """A block at whose end signals are handled that came in it; `then` is called at once.

    Python handles signals in its main thread, between any two instructions: also within a function
    that leaves a file or a count half done when it is left there, and inside the functions of
    onnxruntime-extensions that call an operator. Other threads need nothing. Signals that Python
    does not handle, such as those that end the process at once, are left alone. So is a handler
    that the block itself sets.
    """
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: signal.getsignal(number) for number in numbers}
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    taken = {number: handler for number, handler in handlers.items() if callable(handler)}
    received: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        received.append((number, frame))
        if then is not None:
            then()

    def give_back(number: int) -> None:
        if signal.getsignal(number) is hold:
            signal.signal(number, taken[number])

    def handle_received() -> None:
        if not received:
            return
        number, frame = received.pop(0)
        try:
            taken[number](number, frame)
        finally:
            handle_received()

    # A handler may raise at any step: the other steps are taken all the same.
    with contextlib.ExitStack() as at_end:
        at_end.callback(handle_received)
        for number in taken:
            at_end.callback(give_back, number)
            signal.signal(number, hold)
        yield


class _Terminated(BaseException):
    """A signal that ends the process after everything is tidied up."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def tidied_up_on_signals() -> Iterator[None]:
    """A block that SIGTERM and SIGHUP leave like an exception; then they end the process.

    For commands: a library leaves the signals to its caller.
    """
    numbers = [getattr(signal, name) for name in _TERMINATING if hasattr(signal, name)]
    taken = [n for n in numbers if signal.getsignal(n) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not taken:
        yield
        return
    last = 0.0
    received = None

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal last
        if last and time.monotonic() - last < _ONE_SIGNAL_SECONDS:
            return
        last = time.monotonic()
        raise _Terminated(number)

    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    except BaseException as error:
        terminated = cause_of(error, _Terminated)
        if terminated is None:
            raise
        received = terminated.number
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
    if received is not None:
        signal.raise_signal(received)
