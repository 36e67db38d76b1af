"""Blocks that hold signals back."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

import pytest

from onnx_philox._files.signals import held_back
from onnx_philox._runtimes import RUNTIMES
from tests.common.signals import handle

_BOTH = (signal.SIGINT, signal.SIGTERM)


class _Handled:
    """A user's handler of SIGINT and SIGTERM.

    Attributes:
        numbers: The signals that it has handled.
        error: What it raises then.
    """

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.error: type[BaseException] | None = None

    def __call__(self, number: int, _: object) -> None:
        self.numbers.append(number)
        if self.error is not None:
            raise self.error


@pytest.fixture
def handled() -> Iterator[_Handled]:
    handler = _Handled()
    of_the_tests = {number: signal.signal(number, handler) for number in _BOTH}
    yield handler
    for number, before in of_the_tests.items():
        signal.signal(number, before)


def _end(error: type[BaseException] | None) -> contextlib.AbstractContextManager[object]:
    """A block that ends with an error, or with none."""
    return contextlib.nullcontext() if error is None else pytest.raises(error)


@pytest.mark.parametrize("of_the_handler", [None, RuntimeError])
@pytest.mark.parametrize("of_the_block", [None, ValueError])
def test_signals_of_a_block_are_all_handled_at_its_end(handled, of_the_handler, of_the_block):
    handled.error = of_the_handler
    sent = [signal.SIGINT, signal.SIGTERM, signal.SIGINT]
    with _end(of_the_handler or of_the_block), held_back():
        for number in sent:
            handle(number)
        assert handled.numbers == []
        if of_the_block is not None:
            raise of_the_block
    assert handled.numbers == sent
    assert [signal.getsignal(number) for number in _BOTH] == [handled, handled]


def test_a_signal_of_an_inner_block_waits_for_the_end_of_the_outer_one(handled):
    with held_back():
        with held_back():
            handle(signal.SIGTERM)
        assert handled.numbers == []
    assert handled.numbers == [signal.SIGTERM]


def test_a_handler_that_the_block_sets_stays(handled):
    own = _Handled()
    with held_back():
        handle(signal.SIGTERM)
        signal.signal(signal.SIGTERM, own)
    assert handled.numbers == [signal.SIGTERM]
    assert [signal.getsignal(number) for number in _BOTH] == [handled, own]


@pytest.mark.usefixtures("handled")
def test_signals_that_are_ignored_or_end_the_process_are_left_alone():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with held_back():
        inside = [signal.getsignal(number) for number in _BOTH]
    assert inside == [signal.SIG_IGN, signal.SIG_DFL]


def test_a_runtime_that_was_imported_before_leaves_signals_alone(handled, monkeypatch):
    RUNTIMES["onnxruntime"].models()
    monkeypatch.setattr(signal, "signal", lambda number, _: handled.numbers.append(number))
    RUNTIMES["onnxruntime"].models()
    monkeypatch.undo()
    assert handled.numbers == []
