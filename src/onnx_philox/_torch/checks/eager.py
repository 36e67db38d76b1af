"""What torch itself draws and computes in a module."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._torch.calls.table import call_of
from onnx_philox._torch.exporter import attributes
from onnx_philox._torch.exporter.sets_generator import watched
from onnx_philox._torch.numbers.torch_state import TorchState

FEWER = "the module makes fewer draws than the model"


class Then(Enum):
    """What comes after a run."""

    NOTHING = "nothing"
    AGAIN = "a second run, of the module as the first one left it"
    AFRESH = "a second run, of the module as it was before the first one"


@dataclass(frozen=True)
class Eager:
    """A run of a module in torch.

    Attributes:
        outputs: What it computed.
        after: Where torch's next draw would begin.
        sets_generator: Whether the module set torch's generator itself.
        unplaced: Why not all given draws took the place of the module's own, in words.
        changed: The names of the attributes that the run changed, and of buffers that it assigned.
        writes: Whether the run changed a buffer or a parameter.
        again: A second run of the module as the first one left it; None where there was none.
    """

    outputs: list[NDArray[Any]]
    after: TorchState
    sets_generator: bool
    unplaced: str = ""
    changed: tuple[str, ...] = ()
    writes: bool = False
    again: Eager | None = None


def run(
    model: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    seed: int,
    given: Sequence[NDArray[Any]] | None = None,
    then: Then = Then.NOTHING,
) -> Eager:
    """Runs a module after `torch.manual_seed(seed)`, and leaves it and torch's generator as before.

    A module of a `torch.export.ExportedProgram` is the program itself. With `given`, each call that
    draws gets the next of these draws instead of its own.
    """
    import torch
    from torch.utils import _pytree

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone()

    module = model
    if isinstance(model, torch.export.ExportedProgram):
        module = model.module()
    placer: Any = contextlib.nullcontext()
    if given is not None:
        placer = _placer(given)

    def call() -> Eager:
        inputs = (tuple(args), dict(kwargs))
        own_args, own_kwargs = _pytree.tree_map_only(torch.Tensor, copy, inputs)
        before = attributes.state(module)
        held = attributes.tensors(module)
        with placer, warnings.catch_warnings(), watched() as sets:
            # torch's, of its own compiler.
            warnings.simplefilter("ignore")
            result = module(*own_args, **own_kwargs)
        after = TorchState.from_torch(torch.get_rng_state())
        leaves = [leaf for leaf in _pytree.tree_leaves(result) if leaf is not None]
        outputs = [array(torch.as_tensor(leaf)) for leaf in leaves]
        unplaced = ""
        if given is not None:
            unplaced = FEWER if placer.left else placer.unplaced
        changed = attributes.changed(before, module)
        writes = attributes.tensors(module) != held
        return Eager(
            outputs,
            after,
            bool(sets),
            unplaced,
            attributes.names_of(changed),
            writes,
        )

    with torch.random.fork_rng(devices=[]), torch.no_grad(), _restored(module):
        torch.default_generator.manual_seed(seed)
        if then is not Then.AFRESH:
            first = call()
            if then is Then.AGAIN:
                return replace(first, again=call())
            return first
        with _restored(module):
            first = call()
        return replace(first, again=call())


def array(tensor: Any) -> NDArray[Any]:
    """A tensor as a new array; a complex one has a last dimension of 2, as in an exported file."""
    import torch

    tensor = tensor.detach().cpu().resolve_conj()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.dtype is torch.bfloat16:
        integers = tensor.contiguous().view(torch.int16)
        bits: NDArray[Any] = integers.numpy()
        return bits.copy().view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())


def _placer(given: Sequence[NDArray[Any]]) -> Any:
    """A dispatch mode that gives each operator that draws, inside of composite ones too, a draw."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    # Any, whether torch is installed or not.
    mode: Any = TorchDispatchMode

    class Placer(mode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.left = list(given)
            self.unplaced = ""

        def __torch_dispatch__(
            self,
            func: Any,
            _: Any,
            args: Any = (),
            kwargs: Any = None,
        ) -> Any:
            kwargs = kwargs or {}
            before = torch.get_rng_state()
            result = func(*args, **kwargs)
            has_drawn = not torch.equal(torch.get_rng_state(), before)
            if has_drawn and not self.unplaced:
                self.unplaced = _place(func, args, kwargs, result, self.left)
            return result

    return Placer()


def _place(
    func: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    result: Any,
    left: list[NDArray[Any]],
) -> str:
    """Puts the first of the draws that are left into a call's result; why not, in words."""
    import torch

    if not left:
        return "the module makes more draws than the model"
    name = func.__name__
    declared: Sequence[Any] = ()
    if hasattr(func, "_schema"):
        _, _, name = func._schema.name.rpartition("::")
        declared = func._schema.arguments
    kind = name.rstrip("_")
    call = call_of(kind)
    of_call = {a.name: a.default_value for a in declared}
    of_call |= zip(of_call, args, strict=False)
    of_call |= kwargs
    drawn = left.pop(0)
    target = result
    if kind == "native_dropout":
        target = result[1]
    if not isinstance(target, torch.Tensor) or drawn.size != target.numel():
        return f"{kind} is not what the model draws there"
    wide = torch.from_numpy(drawn.astype(np.float64))
    wide = wide.reshape(target.shape)
    if kind == "native_dropout":
        # As torch: nothing is kept of p 1.
        scale = 0
        if of_call["p"] < 1:
            scale = 1 / (1 - of_call["p"])
        kept = torch.where(wide > 0, of_call["input"] * scale, 0)
        result[0].copy_(kept)
    elif kind == "normal" and "Tensor" in func._overloadname:
        wide = wide * of_call["std"] + of_call["mean"]
    elif kind == "log_normal":
        wide = wide.exp()
    elif kind == "cauchy":
        turn = torch.pi * (wide - 0.5)
        wide = of_call["median"] + of_call["sigma"] * torch.tan(turn)
    elif kind == "_sample_dirichlet":
        wide = wide.clamp_min(torch.finfo(torch.float64).tiny)
        wide = wide / wide.sum(-1, keepdim=True)
    elif kind not in ("poisson", "_standard_gamma") and not (call and call.shows_draw):
        return f"{kind} is drawn in torch's own code"
    target.copy_(wide)
    return ""


@contextlib.contextmanager
def _restored(module: Any) -> Iterator[None]:
    """Gives a module its buffers and attributes again, which a run may change, or assign anew."""
    import torch
    from torch.utils import _pytree

    modules = dict(module.named_modules())
    buffers = []
    for each in modules.values():
        buffers += [(each, name, buffer) for name, buffer in each._buffers.items()]
    # Lists and dicts as they are now, of the same tensors.
    own = {
        path: _pytree.tree_map(lambda leaf: leaf, attributes.own_attributes(each))
        for path, each in modules.items()
    }
    before = attributes.state(module)
    held = [buffer for _, _, buffer in buffers]
    held += _pytree.tree_leaves(own)
    tensors = {id(each): each for each in held if isinstance(each, torch.Tensor)}
    kept = [(tensor, tensor.detach().clone()) for tensor in tensors.values()]
    try:
        yield
    finally:
        changed = attributes.changed(before, module)
        with torch.no_grad():
            for tensor, held_before in kept:
                tensor.copy_(held_before)
        for each, name, buffer in buffers:
            each._buffers[name] = buffer
        for path, name in changed:
            if name in modules[path]._buffers:
                continue
            if name in own[path]:
                value = own[path][name]
                setattr(modules[path], name, value)
            else:
                delattr(modules[path], name)
