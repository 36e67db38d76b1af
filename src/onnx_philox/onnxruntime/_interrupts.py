"""Holds Ctrl-C back while Python operators run: raised inside one, it would end the process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held_back(then: Callable[[], None]) -> Iterator[None]:
    """Calls `then` when Ctrl-C is pressed in the block, and raises at the block's end.

    Python handles signals in its main thread, between any two instructions, so also inside the
    functions of onnxruntime-extensions that call an operator. Other threads need nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        pressed.append((number, frame))
        then()

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[0])
