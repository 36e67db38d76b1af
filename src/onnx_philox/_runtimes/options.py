"""What `Pipeline` takes for a runtime beside its own arguments, checked without the runtime."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from onnx_philox._contract import choices
from onnx_philox._contract.refusal import refuse, shown

OWNER = "Pipeline"
PRECISION = "INFERENCE_PRECISION_HINT"
"""OpenVINO's property that says in which type it computes."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of a runtime that takes none."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all."""
        return tuple(field.name for field in fields(cls))

    @property
    def finds_weights(self) -> bool:
        """Whether the runtime finds external data of a model in memory."""
        return True

    @property
    def where(self) -> str:
        """The device, if one is named."""
        return ""

    @classmethod
    def of(
        cls,
        backend: str,
        precision: str | None = None,
        device: str | None = None,
    ) -> Self:
        """What a command asks for, as far as the runtime has it; on a CPU, if nothing is said."""
        asked: dict[str, Any] = {
            "backend": backend,
            "device": device,
            "providers": ["CPUExecutionProvider"],
            "config": {} if precision is None else {PRECISION: precision},
        }
        taken = {name: asked[name] for name in cls.names() if name in asked}
        return cls(**taken)


@dataclass(frozen=True, kw_only=True)
class StandardOptions(Options):
    """For which runtime standard nodes are made."""

    backend: str = "auto"


@dataclass(frozen=True, kw_only=True)
class OnnxRuntimeOptions(Options):
    """What `onnx_philox.onnxruntime.InferenceSession` takes; None is left out."""

    sess_options: Any = None
    providers: Sequence[Any] | None = None
    provider_options: Sequence[Mapping[str, Any]] | None = None
    backend: str | None = None
    disabled_optimizers: Collection[str] | None = None
    enable_fallback: Any = None
    read_config_from_model: Any = None

    def __post_init__(self) -> None:
        _check_list(
            "providers",
            self.providers,
            _is_provider,
            "a list of names, or of pairs of a name and its options",
            "Pass ['CPUExecutionProvider'], for instance.",
        )
        _check_list(
            "provider_options",
            self.provider_options,
            lambda each: isinstance(each, Mapping),
            "a list of mappings, one for each provider",
        )
        _check_list(
            "disabled_optimizers",
            self.disabled_optimizers,
            lambda each: isinstance(each, str),
            "a list of names",
        )

    @property
    def finds_weights(self) -> bool:
        """A user's own session options stay as they are, without the place of the weights."""
        return self.sess_options is None

    def given(self) -> dict[str, Any]:
        """The options that were given."""
        named = {name: getattr(self, name) for name in self.names()}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class OpenVinoOptions(Options):
    """What OpenVINO compiles a model with."""

    config: Mapping[str, Any] | None = None
    backend: str = "auto"
    device: Any = None

    def __post_init__(self) -> None:
        config = self.config
        if config is None:
            return
        if not isinstance(config, Mapping) or not all(isinstance(key, str) for key in config):
            allowed = "a mapping of OpenVINO's properties to their values"
            remedy = "Pass {'INFERENCE_PRECISION_HINT': 'f32'}, for instance."
            refuse(OWNER, "config", shown(config), allowed, remedy, TypeError)

    @property
    def where(self) -> str:
        if self.device is None:
            return ""
        return str(self.device)


def read_options(
    kind: type[Options],
    given: Mapping[str, Any],
    own: Collection[str],
    others: Mapping[str, str],
) -> Options:
    """The options that a user gives.

    Args:
        kind: Those of the runtime.
        given: By name.
        own: The names of the pipeline's own arguments.
        others: Options of other runtimes, by name, and the runtime.

    Raises:
        TypeError: There is no such option, or one is of another type.
    """
    known = kind.names()
    for name in given:
        if name in known:
            continue
        near = choices.nearest(name, [*known, *own])
        remedy = "Leave it out, or correct its name."
        if name in others:
            remedy = f"Leave it out, or pass runtime={others[name]!r}, which has it."
        elif near is not None:
            remedy = f"Did you mean {near!r}?"
        allowed = f"one of {', '.join((*known, *own))}"
        refuse(OWNER, "each option", repr(name), allowed, remedy, TypeError)
    return kind(**given)


def _check_list(
    name: str,
    given: Any,
    is_one: Callable[[Any], bool],
    allowed: str,
    remedy: str = "Pass such a list.",
) -> None:
    """Refuses an option that is given, and is no list of what it may hold."""
    if given is None:
        return
    is_list = isinstance(given, Collection) and not isinstance(given, str | bytes | Mapping)
    if not is_list or not all(map(is_one, given)):
        refuse(OWNER, name, shown(given), allowed, remedy, TypeError)


def _is_provider(given: Any) -> bool:
    if isinstance(given, tuple) and len(given) == 2:
        return isinstance(given[0], str) and isinstance(given[1], Mapping)
    return isinstance(given, str)
