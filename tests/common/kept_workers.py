"""Processes in which `inspect` tries nodes, kept for a module of tests.

A process answers one probe after the other, of one call as of several, and most of what a call
takes is to start four of them and to import the runtimes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from onnx_philox._command.inspect import trials
from onnx_philox._runtimes import Runtime

Key = tuple[str, ...]
Worker = trials._Worker


class KeptWorkers:
    """In place of the class of workers: one that has answered a call answers the next one."""

    def __init__(self) -> None:
        self._program = trials._WORKER
        self._idle: dict[Key, Worker] = {}

    def __call__(self, runtime: Runtime, role: str) -> AbstractContextManager[Worker]:
        if self._program != trials._WORKER:
            # A program of the test's own, which may be another one the next time.
            return Worker(runtime, role)
        return self._kept(runtime, role)

    @contextmanager
    def _kept(self, runtime: Runtime, role: str) -> Iterator[Worker]:
        key = self._key(runtime, role)
        worker = self._idle.pop(key, None) or Worker(runtime, role)
        is_answered = False
        try:
            yield worker
            is_answered = True
        finally:
            if is_answered and worker.is_alive and key not in self._idle:
                self._idle[key] = worker
            else:
                worker.__exit__()

    def _key(self, runtime: Runtime, role: str) -> Key:
        """What a process knows of the one that started it."""
        variables = (f"{n}={v}" for n, v in os.environ.items() if not n.startswith("PYTEST_"))
        return (runtime.name, str(runtime.bare), role, os.getcwd(), *sorted(variables))

    def close(self) -> None:
        """Ends them."""
        for worker in self._idle.values():
            worker.__exit__()
