"""How a session runs a model: what a backend prepares, and does around its load and its runs.

A backend's own plans and runs do more than these, which do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import onnxruntime as ort


@dataclass(frozen=True)
class SessionRun:
    """One run of a session."""

    options: ort.RunOptions | None
    """The options to run with: the user's, or the backend's own if there are none."""
    hidden_feed: dict[str, Any] = field(default_factory=dict)
    """The inputs, int64 scalars, that the backend adds to the user's."""

    def guard(self) -> AbstractContextManager[None]:
        """A context that lasts while operators may run in the thread that started the run."""
        return nullcontext()

    def check(self) -> None:
        """Raises what the operators refused in this run; called after it."""


@dataclass(frozen=True)
class SessionPlan:
    """A backend's plan for a model and options: what to load, and how to run it."""

    model: str | bytes
    """The model to load."""
    options: ort.SessionOptions | None
    """The options to load it with."""
    external_folder: str | None = None
    """Where external data lies that the model, loaded from bytes, refers to."""
    hidden_inputs: frozenset[str] = frozenset()
    """The graph inputs that the user's model does not have."""

    def loading(self) -> AbstractContextManager[None]:
        """A context that lasts while ONNX Runtime loads the model."""
        return nullcontext()

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuses inputs that the backend cannot take."""

    def start_run(self, options: ort.RunOptions | None) -> SessionRun:
        """Begins a run."""
        return SessionRun(options)
