"""A module and its model, with the same arguments for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import refuse
from onnx_philox._contract.streams import STATE, Streams
from onnx_philox._models.ours import of_model
from onnx_philox._rewriting.in_onnx.earlier import OnnxDraws
from onnx_philox._torch.calls.programs import is_decomposed
from onnx_philox._torch.checks import carried, eager, two_calls
from onnx_philox._torch.checks.check import compare, describe
from onnx_philox._torch.checks.eager import Eager, Then
from onnx_philox._torch.exporter.program import exported, functional, operations


class Pair:
    """A module with its arguments, and its model with their names.

    Args:
        owner: The function that a refusal names.
        model: The model, rewritten.
        module: The module, or a program of it.
        args: Its inputs.
        kwargs: Its inputs by name.
    """

    def __init__(
        self,
        owner: str,
        model: ir.Model,
        module: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        from torch.utils import _pytree

        self._owner = owner
        self.model = model
        self.proto = ir.to_proto(model)
        self._module = module
        arguments = (tuple(args), dict(kwargs))
        self._leaves, self._tree = _pytree.tree_flatten(arguments)
        self._names = self._names_of_leaves()
        streams = OnnxDraws(model).streams
        self._batched: dict[str, int] = {}
        self.rows = None
        if streams is not None and streams.batch is not None:
            self.rows = self._rows(streams)

    def eager(
        self,
        seed: int,
        row: int | None = None,
        given: Sequence[NDArray[Any]] | None = None,
        then: Then = Then.NOTHING,
    ) -> Eager:
        """A run of the module in torch; of one row of the batch, if there is one for each."""
        from torch.utils import _pytree

        leaves = self._leaves
        if row is not None:
            own = []
            for name, leaf in zip(self._names, leaves, strict=True):
                axis = None if name is None else self._batched.get(name)
                if axis is not None:
                    leaf = leaf.narrow(axis, row, 1)
                own.append(leaf)
            leaves = own
        args, kwargs = _pytree.tree_unflatten(leaves, self._tree)
        try:
            return eager.run(self._module, args, kwargs, seed, given, then)
        except Exception as error:
            if row is None:
                raise
            allowed = "one that runs with one row, as each has a generator of its own"
            remedy = "Call eval() on what needs a whole batch, such as a BatchNorm."
            refuse(
                self._owner,
                "the module",
                f"one that says: {error}",
                allowed,
                remedy,
            )

    def of_program(self) -> Pair | None:
        """A pair with the program that torch exports of the module, without operations in place.

        None if torch does not export it.
        """
        from torch.utils import _pytree

        args, kwargs = _pytree.tree_unflatten(self._leaves, self._tree)
        try:
            program = exported(self._module, args, kwargs)
            program = functional(program)
        except Exception:
            return None
        return Pair(self._owner, self.model, program, args, kwargs)

    def carried(self, run: Eager) -> tuple[str, ...]:
        """The names of what the module changes and its noise depends on, after a run of it."""
        from torch.utils import _pytree

        args, kwargs = _pytree.tree_unflatten(self._leaves, self._tree)
        kept = two_calls.carried(self._module, args, kwargs, run.changed)
        program = self.of_program() if run.writes else None
        of_program: tuple[str, ...] = ()
        if program is not None:
            of_program = carried.carried(program._module)
        # Each name once, in their order.
        names = (*of_program, *kept)
        return tuple(dict.fromkeys(names))

    @property
    def is_decomposed(self) -> bool:
        """Whether the module is a program from which torch may have taken draws away."""
        import torch

        is_program = isinstance(self._module, torch.export.ExportedProgram)
        return is_program and is_decomposed(self._module)

    @property
    def draws(self) -> int:
        """How many nodes of the model draw."""
        return len(list(of_model(self.model)))

    def narrow(self) -> dict[str, Any]:
        """The type of 16 bits that each output of the model is computed in, for those that are.

        A cast and a draw round as torch does; arithmetic need not.
        """
        found: dict[str, Any] = {}
        for name, types in _types_behind(self.model).items():
            # Of both types, the one that rounds more.
            for type_ in (ir.DataType.BFLOAT16, ir.DataType.FLOAT16):
                if type_ in types:
                    found.setdefault(name, type_.numpy())
        return found

    def devices(self) -> list[str]:
        """Others than the CPU that the module computes on."""
        import torch

        tensors = [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]
        tensors += getattr(self._module, "parameters", tuple)()
        devices = {tensor.device.type for tensor in tensors}
        return sorted(devices - {"cpu"})

    def lost(self) -> str:
        """What a program draws and the model does not, in words."""
        found = compare(operations(self._module), self.model.clone())
        return describe(found)

    def training_norms(self) -> str:
        """The names of what normalises by the batch, and changes when it is run."""
        from torch.nn.modules.batchnorm import _BatchNorm

        def trains(module: Any) -> bool:
            return isinstance(module, _BatchNorm) and module.training

        return self._named(trains)

    def evaluated_encoders(self) -> str:
        """The names of encoder layers in evaluation whose dropouts are on."""
        from torch.nn import TransformerEncoderLayer
        from torch.nn.modules.dropout import _DropoutNd

        def drops(m: Any) -> bool:
            return isinstance(m, _DropoutNd) and m.training and m.p > 0

        def is_passed_over(m: Any) -> bool:
            is_evaluated = isinstance(m, TransformerEncoderLayer) and not m.training
            # Torch's own conditions for its fast path.
            is_fast = is_evaluated and m.self_attn.batch_first and m.activation_relu_or_gelu
            return bool(is_fast) and any(map(drops, m.modules()))

        return self._named(is_passed_over)

    def _named(self, is_meant: Callable[[Any], bool]) -> str:
        modules: Any = getattr(self._module, "named_modules", tuple)()
        names = [name for name, module in modules if is_meant(module)]
        return ", ".join(map(repr, names))

    def feeds(self) -> dict[str, NDArray[Any]]:
        """The module's inputs by the names of the model's."""
        import torch

        named = zip(self._names, self._leaves, strict=True)
        feeds = {}
        for name, leaf in named:
            if name is not None:
                is_tensor = isinstance(leaf, torch.Tensor)
                feeds[name] = eager.array(leaf) if is_tensor else np.asarray(leaf)
        return feeds

    def _names_of_leaves(self) -> list[str | None]:
        """The model's input that each leaf is; None of one that is no input of it."""
        import torch

        names = [i.name for i in self.proto.graph.input if i.name != STATE]
        tensors = [isinstance(leaf, torch.Tensor) for leaf in self._leaves]
        are_inputs = tensors
        if sum(tensors) != len(names):
            are_inputs = [leaf is not None for leaf in self._leaves]
        if sum(are_inputs) != len(names):
            remedy = "Pass the model that was exported from this module, and the same arguments."
            given = sum(are_inputs)
            refuse(self._owner, "the inputs", given, f"the model's {len(names)}", remedy)
        left = iter(names)
        return [next(left) if is_input else None for is_input in are_inputs]

    def _rows(self, streams: Streams) -> int:
        """How many rows the arguments have."""
        names = {}
        for value in self.proto.graph.input:
            dims = value.type.tensor_type.shape.dim
            names[value.name] = [dim.dim_param for dim in dims]
        batch = names[streams.state][0]
        self._batched = {}
        for name, dimensions in names.items():
            if batch in dimensions:
                self._batched[name] = dimensions.index(batch)
        feeds = self.feeds()
        rows = set()
        for name, axis in self._batched.items():
            if name in feeds:
                rows.add(int(feeds[name].shape[axis]))
        if len(rows) != 1:
            remedy = "Pass inputs with a row for each row of the batch."
            refuse(
                self._owner,
                "the inputs",
                f"{sorted(rows)} rows",
                "of one number of rows",
                remedy,
            )
        return rows.pop()


def _types_behind(model: ir.Model) -> dict[str, set[ir.DataType | None]]:
    """The types that each output of a model is computed in."""
    found: dict[str, set[ir.DataType | None]] = {}
    for output in model.graph.outputs:
        types: set[ir.DataType | None] = set()
        left = [output]
        met = set()
        while left:
            value = left.pop()
            node = value.producer()
            if value in met or node is None:
                continue
            met.add(value)
            left += [each for each in node.inputs if each is not None]
            is_plain = node.domain != DOMAIN and node.op_type not in ("Cast", "Constant")
            if is_plain:
                types.add(value.dtype)
        found[str(output.name)] = types
    return found
