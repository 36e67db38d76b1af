"""What torch itself draws in a module."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract.torch_state import TorchState
from onnx_philox._torch_calls.table import call_of

_FAST = "_transformer_encoder_layer_fwd"


@dataclass(frozen=True)
class EagerCall:
    """A call that drew from torch's generator."""

    kind: str
    """ATen's name, such as ``bernoulli``."""
    where: str
    """The line of the program; may be empty."""
    shape: tuple[int, ...]
    values: NDArray[Any] | None
    """What it drew; None where its result does not show that."""
    after: TorchState
    """Where the next call draws."""
    order: tuple[int, ...] | None = None
    """The dimensions from the outermost in memory, which it filled; None if in order."""

    @property
    def title(self) -> str:
        """The call in words."""
        place = f" ({self.where})" if self.where else ""
        return f"{self.kind} of {list(self.shape)}{place}"


@dataclass(frozen=True)
class Eager:
    """A run of a module in torch."""

    inputs: list[Any]
    """The arguments in the order of an exported file's inputs."""
    outputs: list[NDArray[Any]]
    calls: list[EagerCall]
    after: TorchState
    devices: frozenset[str]
    """Others than the CPU that it drew on."""
    reseeds: tuple[str, ...]
    """The calls after which torch's generator was not where they left it: the module set it."""
    unplaced: str = ""
    """Why not all given draws took the place of the module's own, in words."""
    is_fast: bool = False
    """Whether torch took its fast path through an encoder layer, which drops nothing."""


def run(
    model: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    seed: int,
    given: Sequence[NDArray[Any]] | None = None,
) -> Eager:
    """Runs a module after `torch.manual_seed(seed)`, and leaves it and torch's generator as before.

    A module of a `torch.export.ExportedProgram` is the program itself. With `given`, each call that
    draws gets the next of these draws instead of its own.
    """
    import torch
    from torch.utils import _pytree

    def copy(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().clone()

    module = model.module() if isinstance(model, torch.export.ExportedProgram) else model
    args, kwargs = _pytree.tree_map_only(torch.Tensor, copy, (tuple(args), dict(kwargs)))
    inputs = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if leaf is not None]
    feeds = [array(leaf) if isinstance(leaf, torch.Tensor) else leaf for leaf in inputs]
    recorder = _recorder(given)
    with _restored(module), torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(seed)
        with recorder, warnings.catch_warnings():
            # torch's, of its own compiler.
            warnings.simplefilter("ignore")
            result = module(*args, **kwargs)
        recorder.check_generator("the end")
        after = _state()
    if recorder.has_compiled:
        # What torch compiled here, under a mode, breaks later exports of the same branches.
        torch._dynamo.reset()
    leaves = [leaf for leaf in _pytree.tree_leaves(result) if leaf is not None]
    outputs = [array(torch.as_tensor(leaf)) for leaf in leaves]
    if recorder.left:
        recorder.unplaced = "the module makes fewer draws than the model"
    return Eager(
        feeds,
        outputs,
        recorder.calls,
        after,
        frozenset(recorder.devices),
        tuple(recorder.reseeds),
        recorder.unplaced,
        recorder.is_fast,
    )


def array(tensor: Any) -> NDArray[Any]:
    """A tensor as a new array; a complex one has a last dimension of 2, as in an exported file."""
    import torch

    tensor = tensor.detach().cpu().resolve_conj()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.dtype is torch.bfloat16:
        bits: NDArray[Any] = tensor.contiguous().view(torch.int16).numpy()
        return bits.copy().view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())


def _recorder(given: Sequence[NDArray[Any]] | None) -> Any:
    """A dispatch mode that sees each operator torch calls, those inside of composite ones too.

    It begins where torch's generator is. See `run` for `given`.
    """
    import torch
    from torch.utils import _pytree
    from torch.utils._python_dispatch import TorchDispatchMode

    higher = torch.ops.higher_order
    inside = {higher.cond: _branch, higher.while_loop: _loop, higher.scan: _scan}

    # Any, whether torch is installed or not.
    mode: Any = TorchDispatchMode

    class Recorder(mode):  # type: ignore[misc]
        supports_higher_order_operators = True

        def __init__(self) -> None:
            super().__init__()
            self.calls: list[EagerCall] = []
            self.devices: set[str] = set()
            self.has_compiled = False
            self.at: Any = None
            self.reseeds: list[str] = []
            self.left = list(given or ())
            self.unplaced = ""
            self.is_fast = False

        def check_generator(self, where: str) -> None:
            """Notes where the generator is no more where the last operator left it."""
            at = torch.get_rng_state()
            if self.at is not None and not torch.equal(at, self.at):
                self.reseeds.append(where)
            self.at = at

        def __enter__(self) -> Any:
            if self.at is None:
                self.at = torch.get_rng_state()
            return super().__enter__()

        def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if isinstance(func, torch._ops.HigherOrderOperator):
                self.has_compiled = True
                if func in inside:
                    with self:
                        return inside[func](*args, **kwargs)
            self.check_generator(_where())
            self.is_fast |= _kind(func) == _FAST
            result = func(*args, **kwargs)
            at = torch.get_rng_state()
            if not torch.equal(at, self.at):
                self.calls.append(_call(func, result, self.at))
                if given is not None and not self.unplaced:
                    self.unplaced = _place(func, args, kwargs, result, self.left)
            elif torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
                tensors = [r for r in _pytree.tree_leaves(result) if isinstance(r, torch.Tensor)]
                self.devices.update(t.device.type for t in tensors if t.device.type != "cpu")
            self.at = at
            return result

    return Recorder()


def _call(func: Any, result: Any, before: Any) -> EagerCall:
    """The record of an operator that has drawn."""
    import torch

    kind = _kind(func)
    drawn = result[1] if kind == "native_dropout" else result
    drawn = drawn if isinstance(drawn, torch.Tensor) else None
    values = None
    if kind == "normal" and "Tensor" in func._overloadname:
        # Its result is moved and scaled.
        assert isinstance(drawn, torch.Tensor)
        like = drawn
        values = array(_again(before, lambda: torch.empty_like(like).normal_()))
    elif drawn is not None and _shows_draw(kind):
        values = array(drawn)
    shape = () if drawn is None else tuple(drawn.shape)
    order = None
    if drawn is not None and not drawn.is_contiguous():
        order = tuple(sorted(range(drawn.ndim), key=lambda i: -drawn.stride(i)))
    return EagerCall(kind, _where(), shape, values, _state(), order)


def _kind(func: Any) -> str:
    name = func._schema.name.rpartition("::")[2] if hasattr(func, "_schema") else func.__name__
    return str(name).rstrip("_")


def _shows_draw(kind: str) -> bool:
    """Whether the result of a call is what it draws."""
    call = call_of(kind)
    return call is not None and call.shows_draw


def _place(
    func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any, left: list[NDArray[Any]]
) -> str:
    """Puts the first of the draws that are left into a call's result; why not, in words."""
    import torch

    kind = _kind(func)
    if not left:
        return "the module makes more draws than the model"
    declared = func._schema.arguments if hasattr(func, "_schema") else ()
    of_call = {a.name: a.default_value for a in declared}
    of_call |= dict(zip(of_call, args, strict=False)) | dict(kwargs)
    drawn = left.pop(0)
    target = result[1] if kind == "native_dropout" else result
    if not isinstance(target, torch.Tensor) or drawn.size != target.numel():
        return f"{kind} is not what the model draws there"
    wide = torch.from_numpy(drawn.astype(np.float64)).reshape(target.shape)
    if kind == "native_dropout":
        # As torch: nothing is kept of p 1.
        scale = 1 / (1 - of_call["p"]) if of_call["p"] < 1 else 0
        result[0].copy_(torch.where(wide > 0, of_call["input"] * scale, 0))
    elif kind == "normal" and "Tensor" in func._overloadname:
        wide = wide * of_call["std"] + of_call["mean"]
    elif kind == "log_normal":
        wide = wide.exp()
    elif kind == "cauchy":
        wide = of_call["median"] + of_call["sigma"] * torch.tan(torch.pi * (wide - 0.5))
    elif kind == "_sample_dirichlet":
        wide = wide.clamp_min(torch.finfo(torch.float64).tiny)
        wide = wide / wide.sum(-1, keepdim=True)
    elif not _shows_draw(kind) and kind not in ("poisson", "_standard_gamma"):
        return f"{kind} is drawn in torch's own code"
    target.copy_(wide)
    return ""


def _again(before: Any, draw: Callable[[], Any]) -> Any:
    """What torch draws from an earlier state; its generator stays where it is."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(before)
        return draw()


def _branch(chosen: Any, one: Any, other: Any, operands: Any = ()) -> Any:
    """`torch.cond`."""
    return (one if chosen else other)(*operands)


def _loop(condition: Any, body: Any, carried: Any, others: Any = ()) -> Any:
    """`torch.while_loop`."""
    while condition(*carried, *others):
        carried = body(*carried, *others)
    return carried


def _scan(step: Any, carried: Any, rows: Any, others: Any = ()) -> Any:
    """`scan`, over the first dimension."""
    import torch

    made = []
    for i in range(len(rows[0])):
        results = step(*carried, *(each[i] for each in rows), *others)
        carried = results[: len(carried)]
        made.append(results[len(carried) :])
    return *carried, *(torch.stack(each) for each in zip(*made, strict=True))


def _state() -> TorchState:
    import torch

    return TorchState.from_torch(torch.get_rng_state())


@contextlib.contextmanager
def _restored(module: Any) -> Iterator[None]:
    """Gives a module its buffers again, which a run in training mode may change."""
    import torch

    kept = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, before in kept:
                buffer.copy_(before)


def _where() -> str:
    """The innermost line that is neither torch's nor ours."""
    import torch

    own = (os.path.dirname(torch.__file__), os.path.dirname(__file__), "<")
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
