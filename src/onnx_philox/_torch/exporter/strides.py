"""How the tensors of a program really lie in memory.

A program states the strides of each tensor, as torch's fake tensors have them; of some operators
(`one_hot`, `isin`) these are not those of a run. A draw fills memory, so here the program runs
once, with its example inputs, and states what it saw.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from onnx_philox._runtime_errors import first_sentence
from onnx_philox._torch.calls.programs import modules_of
from onnx_philox._torch.exporter.memory_order import lie_of, lies_in_order, order_of

UNKNOWN = "onnx_philox.unknown"
"""The key in a node's ``meta`` of a value that lies in memory as no other, or in several ways."""

Strides = tuple[tuple[int, ...], tuple[int, ...]]
"""The sizes and the strides of a tensor."""


def state_strides(program: Any) -> str | None:
    """Corrects the strides that a program states, in place.

    Returns:
        Why its strides are not known, in words; None if they are.
    """
    import torch

    if program.example_inputs is None:
        return "it has no example inputs"
    args, kwargs = program.example_inputs
    seen: dict[Any, set[Strides]] = {}
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            # A copy, storage and all: strides stay, and a run writes to nothing of the module.
            flat = program._graph_module_flat_inputs(tuple(args), kwargs)
            inputs = [_copied(leaf) for leaf in flat]
            interpreter = _interpreter(program.graph_module, seen)
            interpreter.run(*inputs)
    except Exception as error:
        return f"torch says: {first_sentence(error)}"
    nodes = [node for module in modules_of(program) for node in module.graph.nodes]
    for node in nodes:
        if node in seen:
            _correct(node, seen[node])
    return None


def _copied(leaf: Any) -> Any:
    import torch

    if isinstance(leaf, torch.Tensor):
        return copy.deepcopy(leaf.detach())
    return leaf


def _interpreter(module: Any, seen: dict[Any, set[Strides]]) -> Any:
    """Runs a graph and the graphs in it, both branches of a condition too, and notes strides."""
    import torch

    higher = torch.ops.higher_order
    # mypy sees torch's types only where torch is.
    base: Any = torch.fx.Interpreter

    class Interpreter(base):  # type: ignore[misc]
        def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
            found = super().get_attr(target, args, kwargs)
            is_graph = isinstance(found, torch.fx.GraphModule)
            if is_graph:
                return _interpreter(found, seen).run
            return found

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is higher.cond:
                return _branches(*args, **kwargs)
            if target is higher.while_loop:
                return _loop(*args, **kwargs)
            return super().call_function(target, args, kwargs)

        def run_node(self, node: Any) -> Any:
            result = super().run_node(node)
            if isinstance(result, torch.Tensor) and result.layout is torch.strided:
                lies = (tuple(result.shape), result.stride())
                seen.setdefault(node, set()).add(lies)
            return result

    return Interpreter(module)


def _branches(
    chosen: Any,
    one: Callable[..., Any],
    other: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    # Both are run, so that both are seen.
    results = [branch(*map(_copied, operands)) for branch in (other, one)]
    return results[bool(chosen)]


def _loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    carried: Sequence[Any],
    others: Sequence[Any] = (),
) -> Any:
    is_seen = False
    while condition(*carried, *others):
        carried = body(*carried, *others)
        is_seen = True
    if not is_seen:
        body(*map(_copied, carried), *others)
    return tuple(carried)


def _correct(node: Any, strides: set[Strides]) -> None:
    """States a memory for a node's value that lies as those that were seen."""
    import torch
    from torch._subclasses import FakeTensor

    stated = node.meta.get("val")
    if not isinstance(stated, FakeTensor):
        # Inside of vmap.
        return

    def is_told(sizes: Sequence[int]) -> bool:
        """Not by an example of one element, which says nothing of how more of them would lie."""
        pairs = zip(sizes, stated.shape, strict=True)
        return all(n > 1 or isinstance(size, int) for n, size in pairs)

    known = [each for each in strides if is_told(each[0])]
    if not known:
        return
    tensors = [torch.empty_strided(*each, device="meta") for each in known]
    real, *others = tensors
    lies = lie_of(real)
    if all(lie_of(other) == lies for other in others):
        if lies == lie_of(stated):
            return
        node.meta["val"] = _lying_as(real, node)
        if lies == lie_of(node.meta["val"]):
            return
    node.meta[UNKNOWN] = True


def _lying_as(real: Any, node: Any) -> Any:
    """A value for a node, which lies in memory as another: of its own, or a part of its source's.

    Its sizes are those of the node, which need not be numbers.
    """
    import torch
    from torch._dispatch.python import enable_python_dispatcher
    from torch.fx.node import map_arg

    stated = node.meta["val"]
    order = order_of(real)
    with stated.fake_mode, enable_python_dispatcher():
        if order is None or not lies_in_order(real.permute(order)):
            return node.target(
                *map_arg(node.args, lambda each: each.meta["val"]),
                **map_arg(node.kwargs, lambda each: each.meta["val"]),
            )
        sizes = [stated.shape[i] for i in order]
        own = torch.empty(sizes, dtype=stated.dtype, device=stated.device)
        back = [order.index(i) for i in range(len(order))]
        return own.permute(back)
