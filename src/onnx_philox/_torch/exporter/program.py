"""The random operations of a program, as `torch.export` records them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onnx_philox import _backends
from onnx_philox._contract.refusal import refuse
from onnx_philox._rewriting.asked import Asked
from onnx_philox._torch.calls.programs import arguments, calls, modules_of
from onnx_philox._torch.exporter.truncated import truncated_normals

Dimension = int | str
"""A number, or the name of what only a run shows."""


@dataclass(frozen=True)
class Operation:
    """A random operation: one draw.

    Attributes:
        kind: The operator, as ATen calls it: ``native_dropout``.
        name: What the program calls: ``dropout``.
        shape: The dimensions of what is drawn; None where they are not known.
        module: The path of the module that it is in, such as ``encoder.dropout1``; may be empty.
        line: The line of the program, ``model.py:12``; empty where it is not known.
        trace: Where it is, as torch notes it; the exporter notes the same on the nodes that it
            makes.
        is_without_replacement: Whether it is a sample of several without replacement.
    """

    kind: str
    name: str
    shape: tuple[Dimension, ...] | None
    module: str = ""
    line: str = ""
    trace: str = ""
    is_without_replacement: bool = False

    @property
    def where(self) -> str:
        """The place, in words."""
        words = []
        if self.line:
            words.append(self.line)
        if self.module:
            words.append(f"in {self.module!r}")
        return " ".join(words)


def operations(program: Any) -> list[Operation]:
    """The random operations of a `torch.export.ExportedProgram` that its outputs depend on.

    The program should be functional: what `run_decompositions` returns.
    """
    found = []
    for node in _nodes(program):
        count = draws(node.target, arguments(node))
        found += [_operation(node)] * count
    return found


def batch_of(program: Any, asked: Asked) -> Any:
    """The symbol of the dimension that a rewrite takes for the batch; None if several may be it."""
    import torch

    if asked.named is None:
        return None
    firsts = set()
    dynamic = set()
    for node in program.graph_module.graph.find_nodes(op="placeholder"):
        shape = getattr(node.meta.get("val"), "shape", ())
        for axis, size in enumerate(shape):
            if not isinstance(size, torch.SymInt):
                continue
            dynamic.add(size.node.expr)
            if axis == 0 and asked.batch is None:
                firsts.add(size.node.expr)
    batches = list(firsts or dynamic)
    if len(batches) != 1:
        return None
    return batches[0]


def require_torch() -> None:
    """Refuses to go on without the packages of the extra."""
    for package in ("torch", "onnxscript"):
        try:
            __import__(package)
        except ImportError as error:
            raise _backends.NotInstalledError("onnx_philox.torch", package, "torch") from error


def check_program(owner: str, model: Any, args: Any) -> None:
    """Refuses what is no module or program, and what are no example inputs.

    Raises:
        TypeError: It is one of these.
    """
    import torch

    is_scripted = isinstance(model, torch.jit.ScriptModule)
    takes = torch.nn.Module | torch.export.ExportedProgram
    if is_scripted or not isinstance(model, takes):
        allowed = "a torch.nn.Module or a torch.export.ExportedProgram"
        remedy = "Pass one of these."
        if is_scripted:
            remedy = "Pass the module that it was made from."
        refuse(
            owner,
            "the model",
            type(model).__name__,
            allowed,
            remedy,
            TypeError,
        )
    if not isinstance(args, Sequence) or isinstance(args, str | bytes):
        remedy = "Pass (x,) for one input x, and inputs by name as kwargs."
        allowed = "a tuple of the example inputs"
        refuse(
            owner,
            "args",
            type(args).__name__,
            allowed,
            remedy,
            TypeError,
        )


def exported(
    model: Any,
    args: Any,
    kwargs: Any,
    dynamic_shapes: Any = None,
) -> Any:
    """The `torch.export.ExportedProgram` of a module, or a program as it is."""
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        return model
    known = {"dynamic_shapes": dynamic_shapes, "strict": False}
    with unchecked(), truncated_normals(as_torch=False):
        return torch.export.export(model, tuple(args), dict(kwargs or {}), **known)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """A block in which torch.distributions check no arguments: that depends on values.

    And in which torch knows the shape of a draw of Beta or Dirichlet, also of a dynamic batch.
    """
    import torch
    from torch import distributions

    # mypy sees torch's types only where torch is.
    base: Any = distributions.Distribution
    checks = base._validate_args
    begin = base.__init__

    def begin_unchecked(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args[:2], **{**kwargs, "validate_args": False})

    base.set_default_validate_args(False)
    base.__init__ = begin_unchecked
    library: Any = torch.library.Library
    shapes = library("aten", "IMPL", "Meta")
    shapes.impl("_sample_dirichlet", lambda alphas, generator=None: torch.empty_like(alphas))  # noqa: ARG005
    try:
        yield
    finally:
        shapes._destroy()
        base.__init__ = begin
        base.set_default_validate_args(checks)


def functional(program: Any) -> Any:
    """A program without operations in place, and without what nothing reads."""
    try:
        return program.run_decompositions({})
    except RuntimeError:
        # The graph holds something that torch cannot take apart, such as a Generator.
        return program


def place_of(program: Any, operator: str) -> str:
    """Where a program first calls an operator (``aten.randperm``); empty if that is not known."""
    return next(
        (
            _operation(node).where
            for node in _nodes(program)
            if str(node.target).startswith(f"{operator}.")
        ),
        "",
    )


def normalised(trace: str) -> str:
    """A stack trace without folders: the file may have been made on another machine."""
    return re.sub(r'File "(?:[^"]*[/\\])?([^"/\\]*)"', r'File "\1"', trace).strip()


def _nodes(program: Any) -> Iterator[Any]:
    """The calls of operators, those of branches too."""
    for module in modules_of(program):
        yield from calls(module.graph)


def draws(operator: Any, given: dict[str, Any]) -> int:
    """How many draws a call makes."""
    import torch

    if torch.Tag.nondeterministic_seeded not in operator.tags:
        return 0
    if "dropout_p" in given:
        return int(given["dropout_p"] > 0)
    if "num_layers" in given:
        # Between the layers of an LSTM, GRU or RNN.
        if not given["train"] or given["dropout"] <= 0:
            return 0
        return int(given["num_layers"]) - 1
    if "training" in given:
        return int(bool(given["training"]))
    if "train" in given:
        # It is on by default.
        is_on = given["train"] is not False
        return int(is_on and 0 < given["p"] < 1)
    return 1


def place_of_node(node: Any) -> str:
    """Where a program makes a call, in brackets behind a space; empty if that is not known."""
    where = _operation(node).where
    return where and f" ({where})"


def _operation(node: Any) -> Operation:
    _, _, kind = node.target._schema.name.rpartition("::")
    # Inside no_grad or cond it names these: an object of a class, and no function or method.
    _, function = node.meta.get("torch_fn") or ("", "")
    caller, _, called = function.rpartition(".")
    trace = node.meta.get("stack_trace") or ""
    stack = node.meta.get("nn_module_stack") or {}
    modules = list(stack.values())
    given = arguments(node)
    return Operation(
        kind,
        called if called and caller.islower() else kind,
        _shape(node, given),
        modules[-1][0] if modules else "",
        _line(trace),
        normalised(trace),
        given.get("replacement") is False and given.get("num_samples") != 1,
    )


def _shape(node: Any, given: dict[str, Any]) -> tuple[Dimension, ...] | None:
    """The dimensions of what is drawn, which need not be those of the result."""
    if "num_layers" in given:
        return None
    if "dropout_p" in given:
        query = given["query"].meta["val"].shape
        key = given["key"].meta["val"].shape
        return _dimensions((*query[:-1], key[-2]))
    value = node.meta.get("val")
    first = value
    if isinstance(value, (tuple, list)) and value:
        first = value[0]
    shape = getattr(first, "shape", None)
    if shape is None:
        return None
    return _dimensions(shape)


def _dimensions(shape: Any) -> tuple[Dimension, ...]:
    return tuple(d if isinstance(d, int) else str(d) for d in shape)


def _line(trace: str) -> str:
    """The line of the program itself: the innermost that is not one of torch's own.

    Torch's own code may be in no file, such as `<eval_with_key>.7`.
    """
    import torch

    own = os.path.dirname(torch.__file__)
    frames = re.findall(r'File "([^<"][^"]*)", line (\d+)', trace)
    lines = [frame for frame in frames if not frame[0].startswith(own)]
    lines = lines or frames[-1:]
    if not lines:
        return ""
    file, line = lines[-1]
    return f"{os.path.basename(file)}:{line}"
