"""Signals in the process of the tests."""

from __future__ import annotations

import signal


def handle(number: int) -> None:
    """Lets Python handle a signal as if it had come between two instructions.

    A real one would end the process once OpenVINO's CPU plugin has been loaded and unloaded in it:
    the plugin may leave memory that is free as the stack on which the main thread takes signals.
    Programs of their own (`child`) are sent real ones.
    """
    handler = signal.getsignal(number)
    assert callable(handler), "nobody in Python handles it"
    handler(number, None)
