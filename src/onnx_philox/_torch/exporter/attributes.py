"""Which of its attributes a module changes when it is called."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Attribute = tuple[str, str]
"""The path of a module, and the name of its attribute."""
_CONTAINERS = (list, tuple, deque)


class _Tensor:
    """A tensor as it is now, equal to itself until it is written to.

    Args:
        tensor: It; as long as this lives, no other tensor is taken for it.
        version: How often it was written to.
    """

    def __init__(self, tensor: Any, version: int) -> None:
        self._tensor = tensor
        self._version = version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Tensor):
            return False
        return self._tensor is other._tensor and self._version == other._version

    __hash__ = None  # type: ignore[assignment]


def state(module: Any) -> dict[Attribute, list[Any]]:
    """What every attribute holds of tensors and numbers, equal to itself until it is changed.

    Of a buffer only which tensor it is: torch's programs say what is written into one, but lose
    that one of a submodule is assigned.
    """
    found: dict[Attribute, list[Any]] = {}
    for path, each in module.named_modules():
        for name, value in own_attributes(each).items():
            found[path, name] = list(_leaves(value))
        for name, buffer in each.named_buffers(recurse=False):
            found[path, name] = [_Tensor(buffer, 0)]
    return found


def tensors(module: Any) -> list[Any]:
    """The buffers and parameters, equal to themselves until one is written to or replaced."""
    both = (*module.buffers(), *module.parameters())
    return [_Tensor(each, each._version) for each in both]


def own_attributes(module: Any) -> dict[str, Any]:
    """The attributes of a module that every module does not have."""
    import torch

    # The last is what an LSTM, GRU or RNN lists its parameters in, which an export puts others in.
    standard = {*vars(torch.nn.Module()), "_initialize_hook", "_load_hook", "_flat_weights"}
    own = vars(module).items()
    return {name: value for name, value in own if name not in standard}


def changed(before: Mapping[Attribute, Any], module: Any) -> list[Attribute]:
    """The attributes that differ from what `state` gave, new ones among them."""
    now = state(module)
    return [key for key, leaves in now.items() if before.get(key) != leaves]


def names_of(attributes: Iterable[Attribute]) -> tuple[str, ...]:
    """The attributes as a module's users know them: ``block.previous``."""
    names = []
    for path, name in attributes:
        names.append(f"{path}.{name}" if path else name)
    return tuple(names)


@contextlib.contextmanager
def watched(module: Any) -> Iterator[set[str]]:
    """The names of the attributes that calls of a module change meanwhile."""
    import torch

    names: set[str] = set()
    if not isinstance(module, torch.nn.Module):
        yield names
        return
    before: list[Any] = []

    def begins(_module: Any, _args: Any) -> None:
        before.append(state(module))

    def ends(_module: Any, _args: Any, _result: Any) -> None:
        which = changed(before.pop(), module)
        names.update(names_of(which))

    handles = (
        module.register_forward_pre_hook(begins),
        module.register_forward_hook(ends),
    )
    try:
        yield names
    finally:
        for handle in handles:
            handle.remove()


def _leaves(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield _Tensor(value, value._version)
    elif isinstance(value, int | float | str | None):
        yield type(value), value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            for leaf in _leaves(each):
                yield key, leaf
    elif isinstance(value, _CONTAINERS):
        for each in value:
            yield from _leaves(each)
