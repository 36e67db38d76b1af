"""A program of `torch.export`, made ready before it is decomposed, for every exporter.

What torch's own decomposition loses or mistakes is written here by other calls of torch. Imports
torch only where there is a program.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable
from typing import Any

from onnx_philox._contract.refusal import refuse

# What reads the shape of its tensor alone, beside what overwrites it.
_SHAPE_ONLY = ("rand_like", "randn_like", "randint_like", "empty_like", "zeros_like", "ones_like")

DECOMPOSED = (
    "The program is decomposed already: torch may have taken draws away (dropout between an LSTM's "
    "layers, draws that nothing reads). Pass the module, or the program before "
    "run_decompositions()."
)
_CAPTURED = "TRAINING"
"""The dialect of what `torch.export.export` returns; `run_decompositions` writes others."""


def prepare(program: Any) -> None:
    """Makes a program ready, in place.

    Raises:
        ValueError: It draws into a view that no road writes.
    """
    for module in modules_of(program):
        for node in calls(module.graph):
            _check_view(node)
            rule = _RULES.get(name_of(node))
            if rule:
                with module.graph.inserting_before(node):
                    rule(node, arguments(node))
        _read_no_shapes_of_draws(module.graph)
        module.graph.lint()
        module.recompile()


def is_decomposed(program: Any) -> bool:
    """Whether somebody has decomposed a program: what torch lost then, it no longer shows."""
    return bool(program.dialect != _CAPTURED)


def may_have_drawn(program: Any) -> bool:
    """Whether a program draws, or has a recurrent layer, whose dropout is lost without a trace."""
    import torch

    for module in modules_of(program):
        for node in calls(module.graph):
            if torch.Tag.nondeterministic_seeded in node.target.tags:
                return True
            layers = node.meta.get("nn_module_stack") or {}
            for _, kind in layers.values():
                name = str(kind).rpartition(".")[2]
                name = name.rstrip("'>")
                if name in ("LSTM", "GRU", "RNN"):
                    return True
    return False


def copied(program: Any) -> Any:
    """A program with a graph of its own, and the same weights."""
    import copy

    module = copy.deepcopy(program.graph_module)
    given = program.graph_module.graph.nodes
    for one, other in zip(given, module.graph.nodes, strict=True):
        # A copy may have given up a name that Python knows, such as input.
        other.name = one.name
        other.target = one.target
    signature = copy.deepcopy(program.graph_signature)
    return program._update(module, signature, state_dict=program.state_dict)


def modules_of(program: Any) -> list[Any]:
    """The module of a program, and those of its branches and bodies, each with a graph."""
    return [m for m in program.graph_module.modules() if hasattr(m, "graph")]


def calls(graph: Any) -> list[Any]:
    """The calls of operators, in order; may be replaced one by one."""
    found = []
    for node in graph.nodes:
        if node.op == "call_function" and hasattr(node.target, "_schema"):
            found.append(node)
    return found


def name_of(node: Any) -> str:
    """The name of the operator that a node calls: ``normal_``."""
    _, _, name = node.target._schema.name.rpartition("::")
    return str(name)


def reads_shape_alone(node: Any) -> bool:
    """Whether a call reads no number of its tensor, but its shape."""
    if node.op == "call_function" and str(node.target).startswith("aten.sym_"):
        return True
    is_call = hasattr(node.target, "_schema")
    return is_call and name_of(node) in _SHAPE_ONLY


def arguments(node: Any) -> dict[str, Any]:
    """The arguments of a call by their names, defaults included."""
    declared = node.target._schema.arguments
    names = [argument.name for argument in declared]
    given = dict(zip(names, node.args, strict=False))
    given |= node.kwargs
    return {a.name: given.get(a.name, a.default_value) for a in declared}


def call(
    like: Any,
    target: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
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
    values = value(args)
    named_values = value(kwargs)
    given = (values, named_values, like.meta.get("val"))
    with (
        detect_fake_mode(given) or contextlib.nullcontext(),
        enable_python_dispatcher(),
    ):
        node.meta["val"] = target(*values, **named_values)
    return node


def replace(node: Any, *results: Any) -> None:
    """Puts a node in the place of another, or one in the place of each that it gives."""
    if len(results) == 1:
        node.replace_all_uses_with(results[0])
    else:
        for user in list(node.users):
            place = user.args[1]
            replace(user, results[place])
    node.graph.erase_node(node)


def _check_view(node: Any) -> None:
    """Refuses to draw into a view that no exporter writes."""
    import torch

    view = node.args[0] if node.args else None
    name = name_of(node)
    draws = torch.Tag.nondeterministic_seeded in node.target.tags
    if not draws or not name.endswith("_"):
        return
    while isinstance(view, torch.fx.Node) and hasattr(view.target, "_schema") and view.args:
        if name_of(view) in ("as_strided", "diagonal"):
            refuse(
                f"aten::{name}",
                "the tensor that it fills",
                f"one by {name_of(view)}",
                "a whole one, or a part of one by slices, select or permute",
                "Draw into a tensor of its own, and write that with torch.where or index_put.",
            )
        first = view.target._schema.arguments[0]
        is_alias = first.alias_info is not None
        view = view.args[0] if is_alias else None


def _split_layers(node: Any, given: dict[str, Any]) -> None:
    """Layers of LSTM, GRU or RNN one after the other: decompositions lose the dropout between."""
    import torch

    layers = given.get("num_layers", 1)
    p = given.get("dropout", 0)
    if "batch_first" not in given or layers == 1:
        return
    if not given["train"] or p == 0:
        return
    aten = torch.ops.aten
    hidden = given["hx"]
    params = given["params"]
    is_one = not isinstance(hidden, (list, tuple))
    states = [hidden] if is_one else hidden
    is_both_ways = given["bidirectional"]
    ways = 2 if is_both_ways else 1
    of_each = len(params) // layers
    # One layer, without dropout, in training, with time first.
    options = (
        given["has_biases"],
        1,
        0.0,
        True,
        is_both_ways,
        False,
    )
    x = given["input"]
    ends = []
    if given["batch_first"]:
        x = call(node, aten.transpose.int, x, 0, 1)
    for i in range(layers):
        first = i * ways
        begin = []
        for state in states:
            begin.append(call(node, aten.slice.Tensor, state, 0, first, first + ways))
        own = list(params[i * of_each : (i + 1) * of_each])
        hx = begin[0] if is_one else begin
        both = call(node, node.target, x, hx, own, *options)
        x = call(node, operator.getitem, both, 0)
        end = []
        for j in range(len(begin)):
            end.append(call(node, operator.getitem, both, j + 1))
        ends.append(end)
        if i < layers - 1:
            x = call(node, aten.dropout.default, x, p, True)
    if given["batch_first"]:
        x = call(node, aten.transpose.int, x, 0, 1)
    states_after = []
    for each in zip(*ends, strict=True):
        after = call(node, aten.cat.default, list(each), 0)
        states_after.append(after)
    replace(node, x, *states_after)


def _draw(node: Any, given: dict[str, Any]) -> None:
    """A draw of complex numbers, into ``out``, or by moments of two types."""
    import torch

    aten = torch.ops.aten
    out = given.get("out")
    value = node.meta.get("val")
    if given.get("generator") is not None or not isinstance(value, torch.Tensor):
        return
    name = name_of(node)
    mean = given.get("mean")
    std = given.get("std")
    if value.is_complex():
        # Torch draws both parts, with half of the variance each.
        x = given.get("self", out)
        if x is None:
            size = [*given["size"], 2]
            dtype = value.real.dtype
            parts = call(node, aten.empty.memory_format, size, dtype=dtype)
        else:
            parts = call(node, aten.view_as_real.default, x)
            if out is None and not name.endswith("_"):
                parts = call(node, aten.empty_like.default, parts)
        if name.removesuffix("_like") == "rand":
            drawn = call(node, aten.uniform_.default, parts)
        else:
            mean = given.get("mean", 0.0)
            std = given.get("std", 1.0)
            std_of_part = std / math.sqrt(2)
            drawn = call(node, aten.normal_.default, parts, mean, std_of_part)
        joined = call(node, aten.view_as_complex.default, drawn)
        replace(node, joined)
    elif out is not None and name in ("rand", "randn"):
        # Torch resizes it by as_strided, which no exporter knows.
        draws = node.target.overloadpacket
        drawn = call(node, draws, given["size"], dtype=value.dtype)
        copied = call(node, aten.copy_.default, out, drawn)
        replace(node, copied)
    elif isinstance(mean, torch.fx.Node) and isinstance(std, torch.fx.Node):
        # Torch draws in the mean's type, but tells its exporter a wider one.
        dtype = mean.meta["val"].dtype
        if std.meta["val"].dtype is not dtype and out is None:
            graph = node.graph
            std = call(node, aten.to.dtype, std, dtype)
            drawn = call(node, node.target, mean, std)
            replace(node, drawn)
            # They say what torch told the exporter.
            for each in calls(graph):
                if name_of(each) == "_assert_tensor_metadata":
                    graph.erase_node(each)


def _expanded(node: Any, given: dict[str, Any]) -> None:
    """A tensor expanded to its own shape, into which torch would write a sum of a difference."""
    x = given["self"]
    # As texts, so that no size is asked for that is not known yet.
    given_shape = str(x.meta["val"].shape)
    shape = str(node.meta["val"].shape)
    if given_shape == shape:
        replace(node, x)


def _filled(node: Any, given: dict[str, Any]) -> None:
    """A tensor of bf16 of one number, to be drawn into: ONNX Runtime expands f32, and casts."""
    import torch

    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dtype is not torch.bfloat16:
        return
    if "out" in given:
        return
    options = node.kwargs | {"dtype": torch.float32}
    wide = call(node, node.target, *node.args, **options)
    narrow = call(node, torch.ops.aten.to.dtype, wide, value.dtype)
    replace(node, narrow)


def _by_tensor(node: Any, given: dict[str, Any]) -> None:
    """`bernoulli` of probabilities, of which OpenVINO's decomposition makes a comparison in f32."""
    import torch

    aten = torch.ops.aten
    x = given["self"]
    value = node.meta["val"]
    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        # Inside of vmap, which has ended: nothing can be computed of its values.
        return
    if node.target is aten.bernoulli.default and given["generator"] is None:
        drawn = call(node, aten.bernoulli.Tensor, x, x)
        replace(node, drawn)


def _mask(node: Any, _given: dict[str, Any]) -> None:
    """A mask that is one of booleans, whatever the draw's outputs are."""
    import torch

    for user in list(node.users):
        if user.args[1] == 1:
            with node.graph.inserting_after(user):
                mask = call(user, torch.ops.aten.ne.Scalar, user, 0)

            def reads_mask(reader: Any, mask: Any = mask) -> bool:
                return reader is not mask

            user.replace_all_uses_with(mask, delete_user_cb=reads_mask)


def _read_no_shapes_of_draws(graph: Any) -> None:
    """Has each shape of what is drawn read from the inputs of the program, where they have it.

    So a draw of which only the shape is read is one that nothing reads.
    """
    import torch

    aten = torch.ops.aten
    drawn: set[Any] = set()
    known: dict[str, Any] = {}

    def dimension(like: Any, size: Any) -> Any:
        """A number, or a node that gives it; None if it is not known but by a draw."""
        if isinstance(size, int):
            return size
        found = known.get(str(size))
        if isinstance(found, tuple):
            found = call(like, aten.sym_size.int, *found)
            known[str(size)] = found
        return found

    for node in list(graph.nodes):
        value = node.meta.get("val")
        source = node.args[0] if node.args else None
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            for i, size in enumerate(value.shape):
                place = (node, i)
                known.setdefault(str(size), place)
        elif isinstance(source, torch.fx.Node) and _reads_shape(node, drawn):
            with graph.inserting_before(node):
                is_size = isinstance(value, torch.SymInt)
                shape = [value] if is_size else source.meta["val"].shape
                sizes = [dimension(node, size) for size in shape]
                if None in sizes:
                    continue
                if is_size:
                    replace(node, *sizes)
                else:
                    dtype = source.meta["val"].dtype
                    empty = call(node, aten.empty.memory_format, sizes, dtype=dtype)
                    node.replace_input_with(source, empty)
        elif isinstance(value, torch.SymInt) and drawn.isdisjoint(node.all_input_nodes):
            known[str(value)] = node
        if not drawn.isdisjoint(node.all_input_nodes):
            drawn.add(node)
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags:
            drawn.add(node)
            if name_of(node).endswith("_"):
                drawn.add(source)


def _reads_shape(node: Any, drawn: set[Any]) -> bool:
    """Whether a call reads nothing of what is drawn but its shape, which lies in plain order."""
    if not hasattr(node.target, "_schema") or node.args[0] not in drawn:
        return False
    name = name_of(node)
    if name.endswith("_like"):
        tensor = node.args[0].meta["val"]
        return bool(tensor.is_contiguous())
    return name == "sym_size"


_DRAWS = ("rand", "rand_like", "randn", "randn_like", "normal", "normal_")
_FILLS = ("empty", "full", "ones", "zeros")
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_RULES: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    **dict.fromkeys(_RECURRENT, _split_layers),
    **dict.fromkeys(_DRAWS, _draw),
    **dict.fromkeys(_FILLS, _filled),
    **{f"{name}_like": _filled for name in _FILLS},
    **{f"new_{name}": _filled for name in _FILLS},
    "expand": _expanded,
    "expand_as": _expanded,
    "bernoulli": _by_tensor,
    "native_dropout": _mask,
}
