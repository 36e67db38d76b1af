"""Compares the draws of a program with those of a model that was made of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from onnx_philox._contract.operators import DOMAIN, OPERATORS, RANDOM_NORMAL
from onnx_philox._contract.refusal import refuse
from onnx_philox._files.given import ONNX, Form, Given
from onnx_philox._models import onnx_graphs
from onnx_philox._models.constants import constant
from onnx_philox._models.onnx_graphs import opset_of
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.find import inline_random_functions, is_random
from onnx_philox._torch.calls.table import call_of
from onnx_philox._torch.exporter.program import (
    Dimension,
    Operation,
    check_program,
    exported,
    functional,
    normalised,
    operations,
    require_torch,
)
from onnx_philox._torch.exporter.written_out import SIXTEEN

OWNER = "onnx_philox.torch.check_export"

# The key under which torch's exporter records where in the program a node is from.
_TRACE = "pkg.torch.onnx.stack_trace"

_CLASSES = ("Multinomial", "RandomCategorical")


@dataclass(frozen=True)
class ProgramDraw:
    """A random operation of a program, and what a model has of it.

    Attributes:
        operation: What the program calls, such as ``dropout``.
        shape: The dimensions of what it draws: numbers, or names of what only a run shows; None
            where they are not known.
        where: Its place in the program, ``model.py:12 in 'encoder.dropout1'``; may be empty.
        node: The model's node that draws it; None if there is none.
        problem: What is wrong: ``lost``, or how the model's draw differs; None if nothing is.
    """

    operation: str
    shape: tuple[Dimension, ...] | None
    where: str
    node: str | None
    problem: str | None


@dataclass(frozen=True)
class _Drawing:
    """A random node of a model."""

    op_type: str
    label: str
    scope: str
    trace: str
    elements: int | None
    is_with_replacement: bool


def check_export(
    model: Any,
    args: Sequence[Any],
    f: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
) -> tuple[ProgramDraw, ...]:
    """Checks that a model draws all that the program it was exported from draws.

    Args:
        model: The `torch.nn.Module`, in the mode that it was exported in, or a
            `torch.export.ExportedProgram`.
        args: Its example inputs.
        f: What was made of it, by any exporter, rewritten or not: a file, an `onnx.ModelProto`, an
            `onnx_ir.Model` or a `torch.onnx.ONNXProgram`.
        kwargs: As in `torch.onnx.export`.
        dynamic_shapes: As in `torch.onnx.export`.

    Returns:
        The random operations of the program, in order, each with the node that draws it.

    Raises:
        TypeError: `model`, `args` or `f` is of a wrong type.
        ValueError: The model lacks draws of the program, or draws less than it does. The message
            names each operation, with its line where torch knows it.
        ImportError: PyTorch is not installed.
        OSError: The file cannot be read.
    """
    require_torch()
    check_program(OWNER, model, args)
    made = read_exported(OWNER, f)
    whole = exported(model, args, kwargs, dynamic_shapes)
    program = functional(whole)
    found = compare(operations(program), made)
    problems = describe(found)
    if problems:
        refuse(
            OWNER,
            "the model",
            f"one that does not ({problems})",
            "one with every draw of the program",
            "Export with onnx_philox.torch.export, which keeps them all.",
        )
    return found


def read_exported(owner: str, f: Any) -> ir.Model:
    """A model of a file, or a copy of one in memory; a refusal names the owner."""
    model = getattr(f, "model_proto", f)
    given = Given.of(owner, model, ONNX, "f", "a torch.onnx.ONNXProgram")
    if given.form is Form.ONNX_IR:
        copy: ir.Model = given.model.clone()
        return copy
    return ir.from_proto(given.proto)


def compare(program: Sequence[Operation], model: ir.Model) -> tuple[ProgramDraw, ...]:
    """Finds the node of each operation; may inline functions of the model.

    A node whose stack trace is one of the program's draws that operation only. Others go by what
    they draw, how much, and the names of their modules.
    """
    inline_random_functions(model)
    drawings = list(_drawings(model))
    traces = {operation.trace for operation in program if operation.trace}
    scores = [
        (-score, i, j)
        for i, operation in enumerate(program)
        for j, drawing in enumerate(drawings)
        if (score := _score(operation, drawing, traces)) is not None
    ]
    node_of: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(scores):
        if i not in node_of and j not in taken:
            node_of[i] = j
            taken.add(j)
    return tuple(
        ProgramDraw(
            operation.name,
            operation.shape,
            operation.where,
            drawings[node_of[i]].label if i in node_of else None,
            _difference(operation, drawings[node_of[i]]) if i in node_of else "lost",
        )
        for i, operation in enumerate(program)
    )


def _drawings(model: ir.Model) -> Iterator[_Drawing]:
    types = Types(model)
    for node, _ in onnx_graphs.walk(model.graph):
        is_ours = node.domain == DOMAIN and node.op_type in OPERATORS
        opset = opset_of(model.opset_imports, node.domain)
        if not is_ours and not is_random(node, opset, model):
            continue
        yield _Drawing(
            node.op_type,
            onnx_graphs.label(node),
            f"/{(node.name or '').strip('/')}/",
            normalised(node.metadata_props.get(_TRACE, "")),
            _elements(node, types, is_ours=is_ours),
            node.op_type in _CLASSES and node.attributes.get_int("replacement", 1) != 0,
        )


def _elements(node: ir.Node, types: Types, *, is_ours: bool) -> int | None:
    """How many numbers a node draws, if that is known before a run."""
    if is_ours:
        names = [declared.name for declared in OPERATORS[node.op_type].inputs]
        given = node.inputs[names.index("shape")] if "shape" in names else None
        array = None if given is None else constant(given)
        if array is not None:
            return int(array.prod())
    shape = types.shape(node.outputs[0])
    if shape is None or not shape.is_static():
        return None
    return math.prod(shape.numpy())


def _score(operation: Operation, drawing: _Drawing, traces: set[str]) -> int | None:
    """How well a node fits an operation; None if it does not."""
    call = call_of(operation.kind)
    allowed = call.exported if call is not None else ()
    is_traced = drawing.trace in traces
    # Not every program says where its calls stand.
    may_be_its = is_traced or not drawing.trace
    is_written_out = may_be_its and _is_written_out(operation, drawing)
    if allowed and drawing.op_type not in allowed and not is_written_out:
        return None
    if is_traced and drawing.trace != operation.trace:
        return None
    path = operation.module.replace(".", "/")
    is_in_scope = bool(path) and f"/{path}/" in drawing.scope
    has_right_size = _wrong_size(operation, drawing) is None
    return 4 * is_traced + 2 * has_right_size + is_in_scope


def _is_written_out(operation: Operation, drawing: _Drawing) -> bool:
    """Whether a node may be one of those that `export` writes the operation out with."""
    call = call_of(operation.kind)
    return call is not None and drawing.op_type in call.written_out


def _difference(operation: Operation, drawing: _Drawing) -> str | None:
    if operation.is_without_replacement and drawing.is_with_replacement:
        return "drawn with replacement"
    return _wrong_size(operation, drawing)


def _wrong_size(operation: Operation, drawing: _Drawing) -> str | None:
    """How many numbers a node draws, if the operation draws another number of them."""
    count = drawing.elements
    if operation.shape is None or count is None:
        return None
    if _is_written_out(operation, drawing):
        return None
    sizes = [d for d in operation.shape if isinstance(d, int)]
    known = math.prod(sizes)
    is_whole = len(sizes) == len(operation.shape)
    if drawing.op_type == RANDOM_NORMAL.name and count == known - known % SIXTEEN > 0:
        # Those of 16 bits, whose last sixteen are another draw.
        return None
    if is_whole and count == known:
        return None
    # What is not known is a factor.
    is_multiple = count > 1 and known > 0 and count % known == 0
    if not is_whole and is_multiple:
        return None
    numbers = "number" if count == 1 else "numbers"
    return f"drawn as {count} {numbers}"


def describe(found: Sequence[ProgramDraw]) -> str:
    """The problems, in words; nothing if there are none."""
    alike = Counter((draw.operation, draw.shape, draw.where) for draw in found)
    wrong: Counter[tuple[Any, ...]] = Counter()
    for draw in found:
        if draw.problem:
            wrong[draw.operation, draw.shape, draw.where, draw.problem] += 1
    parts = []
    for (operation, shape, where, problem), count in wrong.items():
        of_all = alike[operation, shape, where]
        said = operation
        if of_all > 1:
            said = f"{count} of {of_all} {said}"
        if shape is not None:
            dimensions = ", ".join(map(str, shape))
            said += f" of [{dimensions}]"
        if where:
            said += f" ({where})"
        parts.append(f"{said} {problem}")
    return "; ".join(parts)
