"""A program before the exporter decomposes it, made ready for its draws to be written.

Only here is known where in memory torch draws: a program says the strides of each tensor. torch
fills memory, so a draw into a tensor that is transposed there becomes a draw in the order of
memory, and a permutation of it. And only here are draws that nothing reads, which advance torch's
generator nevertheless: they become outputs, for the time of the export.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

from onnx_philox._contract.refusal import refuse
from onnx_philox._rewriting.asked import Asked
from onnx_philox._torch.calls.programs import (
    arguments,
    call,
    calls,
    modules_of,
    name_of,
    prepare,
    reads_shape_alone,
    replace,
)
from onnx_philox._torch.exporter import attributes, written_out
from onnx_philox._torch.exporter.memory_order import (
    is_mapped,
    lies_in_order,
    of_row,
    order_of,
    turned_back,
)
from onnx_philox._torch.exporter.program import batch_of, draws, operations, place_of_node
from onnx_philox._torch.exporter.strides import UNKNOWN, state_strides
from onnx_philox._torch.generator import GENERATOR

_NORMALS = ("randn_like", "normal_")
_PATCH = threading.RLock()


class PreparedProgram:
    """What a program's draws need before it is decomposed.

    Args:
        asked: Whether torch's numbers are to be drawn, and whether for each row.

    Attributes:
        kept: How many outputs the last program got, behind its own.
        changed: The names of the attributes that a call changes, and of buffers that it assigns.
        unseen: Why it is not known how the last program lies in memory, in words; None if it is.
    """

    def __init__(self, asked: Asked) -> None:
        self._as_torch = asked.generator is GENERATOR
        self._asked = asked
        self.kept = 0
        self.changed: set[str] = set()
        self.unseen: str | None = None

    @contextlib.contextmanager
    def capturing(self) -> Iterator[None]:
        """Makes each program ready that this thread captures with `torch.export.export`."""
        import torch

        with _PATCH:
            capture = torch.export.export
            thread = threading.get_ident()

            def captured(*args: Any, **kwargs: Any) -> Any:
                if threading.get_ident() != thread:
                    return capture(*args, **kwargs)
                # With strict, torch's compiler would take a hook for a part of the module.
                watched = None if kwargs.get("strict") else args[0]
                with attributes.watched(watched) as self.changed:
                    program = capture(*args, **kwargs)
                return self.of(program)

            torch.export.export = captured
            try:
                yield
            finally:
                torch.export.export = capture

    def of(self, program: Any) -> Any:
        """The program, made ready in place.

        Raises:
            ValueError: It draws where torch's rule cannot be followed.
        """
        import torch

        self.kept = 0
        copied_from: set[Any] = set()
        self.unseen = None
        if self._as_torch and operations(program):
            self.unseen = state_strides(program)
        for module in modules_of(program):
            for node in calls(module.graph):
                _check_projection(node, arguments(node))
        prepare(program)
        if not self._as_torch:
            return program
        batch = batch_of(program, self._asked)
        for module in modules_of(program):
            for node in calls(module.graph):
                if torch.Tag.nondeterministic_seeded in node.target.tags:
                    _reorder(node, batch)
            for node in calls(module.graph):
                copied_from |= written_out.in_single(node)
            module.graph.lint()
            module.recompile()
        self.kept = _keep_unread(program, copied_from)
        return program


def _check_projection(node: Any, given: dict[str, Any]) -> None:
    """Refuses dropout between layers of LSTM whose states are projected: ONNX's LSTM does not."""
    if name_of(node) != "lstm" or "num_layers" not in given:
        return
    if not given["train"] or not given["dropout"]:
        return
    ways = 2 if given["bidirectional"] else 1
    of_cell = 4 if given["has_biases"] else 2
    if len(given["params"]) != given["num_layers"] * ways * of_cell:
        refuse(
            "aten::lstm",
            f"proj_size{place_of_node(node)}",
            "another number",
            "0 where there is dropout, in a file of ONNX, whose LSTM has no projection",
            "Convert torch.export.export(module, ...) by openvino.convert_model with "
            "onnx_philox.openvino.pytorch_extensions().",
        )


def _reorder(node: Any, batch: Any) -> None:
    """Makes of a draw one in the order of memory, and a permutation of it.

    Normals are judged by a row of the batch, the symbol of a dimension, if there is one.
    """
    import torch

    aten = torch.ops.aten
    name = name_of(node)
    given = arguments(node)
    if is_mapped(node.meta.get("val")):
        _check_mapped(node)
        return
    if name == "native_dropout":
        written_out.native_dropout(node, given)
        return
    if name == "multinomial":
        written_out.multinomial(node, given)
        return
    if not draws(node.target, given) or not node.args:
        return
    source = node.args[0]
    value = node.meta.get("val")
    if not isinstance(source, torch.fx.Node) or not isinstance(value, torch.Tensor):
        return
    is_in_place = name.endswith("_")
    is_dropout = name in ("dropout", "alpha_dropout")
    makes_memory = is_dropout or name.endswith("_like") or node.target is aten.bernoulli.p
    if not is_in_place and not makes_memory:
        return
    filled = source.meta["val"] if is_in_place else value
    if is_dropout:
        filled = torch.empty_like(source.meta["val"])
    lies = source.meta if is_in_place or is_dropout else node.meta
    if UNKNOWN in lies:
        _refuse(node, "one that lies in memory in several ways", "one that always lies alike")
    order = order_of(filled)
    if order is None:
        _refuse(node, "one whose elements share memory", "one with memory of its own for each")
    size = of_row(filled.numel(), batch)
    # Few normals are drawn one by one, wherever they lie; others only if they lie side by side.
    is_few = isinstance(size, int) and size < written_out.SIXTEEN
    if name in _NORMALS and not is_few and not lies_in_order(filled, batch):
        apart = f"one of {size} normals that do not lie side by side in memory"
        _refuse(node, apart, f"contiguous, or of fewer than {written_out.SIXTEEN} normals")
    if order == sorted(order):
        return
    with node.graph.inserting_before(node):
        turned = call(node, aten.permute.default, source, order)
        others = list(node.args[1:])
        kwargs = dict(node.kwargs)
        if name == "bernoulli_" and isinstance(given["p"], torch.fx.Node):
            wide = call(node, aten.expand_as.default, others[0], source)
            others[0] = call(node, aten.permute.default, wide, order)
        if name.endswith("_like"):
            kwargs["memory_format"] = torch.contiguous_format
        drawn = call(node, node.target, turned, *others, **kwargs)
        result = source if is_in_place else turned_back(node, drawn, order)
    replace(node, result)


def _check_mapped(node: Any) -> None:
    """Refuses a draw inside of vmap but into memory in plain order, which needs nothing."""
    nodes = [node, *node.all_input_nodes]
    values = [each.meta.get("val") for each in nodes]
    if name_of(node) == "native_dropout" or not all(
        lies_in_order(value) for value in values if is_mapped(value)
    ):
        _refuse(node, "one that vmap maps in another order than that of memory", "contiguous")


def _keep_unread(program: Any, copied_from: set[Any]) -> int:
    """Makes outputs of the draws that no output depends on; returns how many there are.

    Args:
        program: The program.
        copied_from: Draws that are copied into a tensor, which may be written over.
    """
    import torch
    from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
    from torch.utils import _pytree

    graph = program.graph_module.graph
    kept = []
    for node in _unread(graph, copied_from):
        if isinstance(node.meta.get("val"), torch.Tensor):
            # A copy, since the module may write over what was drawn.
            with graph.inserting_before(node.next):
                copy = call(node, torch.ops.aten.clone.default, node)
                kept.append(copy)
    if not kept:
        return 0
    (output,) = (node for node in graph.nodes if node.op == "output")
    output.args = ((*output.args[0], *kept),)
    for node in kept:
        spec = OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=node.name), None)
        program.graph_signature.output_specs.append(spec)
    signature = program.module_call_graph[0].signature
    extra = _pytree.tree_structure([0] * len(kept))
    signature.out_spec = _pytree.TreeSpec(tuple, None, [signature.out_spec, extra])
    arguments = [TensorArgument(name=node.name) for node in kept]
    signature.outputs = [*signature.outputs, *arguments]
    graph.lint()
    program.graph_module.recompile()
    return len(kept)


def _unread(graph: Any, copied_from: set[Any]) -> list[Any]:
    """The draws that no output depends on, or that may be written over before one does."""
    roots, writes = _written(graph)
    read = _read(graph, roots, writes)
    at = {node: i for i, node in enumerate(graph.nodes)}
    return [
        node
        for node in calls(graph)
        if draws(node.target, arguments(node))
        and (
            node not in read
            or node in copied_from
            or any(at[w] > at[node] for w in writes.get(roots[node], ()))
        )
    ]


def _written(graph: Any) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
    """The node that made the memory of each node's value, and what writes into it later."""
    import torch

    roots: dict[Any, Any] = {}
    writes: dict[Any, list[Any]] = {}
    for node in graph.nodes:
        roots[node] = node
        is_call = node.op == "call_function" and hasattr(node.target, "_schema")
        if is_call and node.args:
            first = node.target._schema.arguments[0]
            source = node.args[0]
            if first.alias_info is not None and isinstance(source, torch.fx.Node):
                roots[node] = roots[source]
                if first.alias_info.is_write:
                    written = writes.setdefault(roots[node], [])
                    written.append(node)
    return roots, writes


def _read(
    graph: Any,
    roots: dict[Any, Any],
    writes: dict[Any, list[Any]],
) -> set[Any]:
    """The nodes whose values an output depends on, by what is read and by what is written to."""
    left = [node for node in graph.nodes if node.op == "output"]
    read: set[Any] = set()
    while left:
        node = left.pop()
        if node in read:
            continue
        read.add(node)
        if not reads_shape_alone(node):
            left.extend(node.all_input_nodes)
        left.extend(writes.get(roots[node], ()))
    return read


def _refuse(node: Any, given: str, allowed: str) -> NoReturn:
    refuse(
        f"aten::{name_of(node)}",
        f"the tensor that it fills{place_of_node(node)}",
        given,
        f"{allowed}, with alignment 'pytorch', since torch draws others there",
        "Call contiguous() on it before the draw.",
    )
