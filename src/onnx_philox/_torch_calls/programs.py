"""A program of `torch.export`, made ready before anybody decomposes it, by whichever road it goes.

What torch's own decomposition loses or mistakes is written here by other calls of torch. Imports
torch only where there is a program.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any

_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def prepare(program: Any) -> None:
    """Makes a program ready, in place."""
    for module in program.graph_module.modules():
        graph = getattr(module, "graph", None)
        if graph is None:
            continue
        for node in calls(graph):
            if name_of(node) in _RECURRENT:
                _split_layers(node)
        graph.lint()
        module.recompile()


def copied(program: Any) -> Any:
    """A program with a graph of its own, and the same weights."""
    import copy

    module = copy.deepcopy(program.graph_module)
    for one, other in zip(program.graph_module.graph.nodes, module.graph.nodes, strict=True):
        # A copy may have given up a name that Python knows, such as input.
        other.name, other.target = one.name, one.target
    signature = copy.deepcopy(program.graph_signature)
    return program._update(module, signature, state_dict=program.state_dict)


def calls(graph: Any) -> list[Any]:
    """The calls of operators, in order; may be replaced one by one."""
    return [n for n in graph.nodes if n.op == "call_function" and hasattr(n.target, "_schema")]


def name_of(node: Any) -> str:
    """The name of the operator that a node calls: ``normal_``."""
    return str(node.target._schema.name.rpartition("::")[2])


def arguments(node: Any) -> dict[str, Any]:
    """The arguments of a call by their names, defaults included."""
    declared = node.target._schema.arguments
    given = dict(zip((a.name for a in declared), node.args, strict=False)) | dict(node.kwargs)
    return {a.name: given.get(a.name, a.default_value) for a in declared}


def call(like: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
    """A new node before another one's next, with its place in the program and the value it gives.

    The graph must be in `inserting_before`.
    """
    from torch._dispatch.python import enable_python_dispatcher
    from torch._guards import detect_fake_mode
    from torch.fx.node import map_arg

    def value(arg: Any) -> Any:
        return map_arg(arg, lambda node: node.meta["val"])

    node = like.graph.call_function(target, args, kwargs)
    for key in ("nn_module_stack", "stack_trace", "torch_fn", "source_fn_stack"):
        if key in like.meta:
            node.meta[key] = like.meta[key]
    given = value(args), value(kwargs)
    with detect_fake_mode(given) or contextlib.nullcontext(), enable_python_dispatcher():
        node.meta["val"] = target(*given[0], **given[1])
    return node


def replace(node: Any, *results: Any) -> None:
    """Puts a node in the place of another, or one in the place of each that it gives."""
    if len(results) == 1:
        node.replace_all_uses_with(results[0])
    else:
        for user in list(node.users):
            replace(user, results[user.args[1]])
    node.graph.erase_node(node)


def _split_layers(node: Any) -> None:
    """Layers of LSTM, GRU or RNN one after the other: decompositions lose the dropout between."""
    import torch

    given = arguments(node)
    layers, p = given.get("num_layers", 1), given.get("dropout", 0)
    if "batch_first" not in given or layers == 1 or not given["train"] or p == 0:
        return
    aten, hidden, params = torch.ops.aten, given["hx"], given["params"]
    is_one = not isinstance(hidden, (list, tuple))
    ways = 2 if given["bidirectional"] else 1
    of_each = len(params) // layers
    x, ends = given["input"], []
    with node.graph.inserting_before(node):
        if given["batch_first"]:
            x = call(node, aten.transpose.int, x, 0, 1)
        for i in range(layers):
            states = [hidden] if is_one else hidden
            begin = [
                call(node, aten.slice.Tensor, each, 0, i * ways, (i + 1) * ways) for each in states
            ]
            own = list(params[i * of_each : (i + 1) * of_each])
            options = (given["has_biases"], 1, 0.0, True, given["bidirectional"], False)
            both = call(node, node.target, x, begin[0] if is_one else begin, own, *options)
            x, *end = (call(node, operator.getitem, both, j) for j in range(len(begin) + 1))
            ends.append(end)
            if i < layers - 1:
                x = call(node, aten.dropout.default, x, p, True)
        if given["batch_first"]:
            x = call(node, aten.transpose.int, x, 0, 1)
        last = [call(node, aten.cat.default, list(parts), 0) for parts in zip(*ends, strict=True)]
    replace(node, x, *last)
