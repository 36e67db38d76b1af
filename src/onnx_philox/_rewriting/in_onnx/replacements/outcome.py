"""What the passes learn of a random node: its replacement, and the state that it draws from."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.types import BY_ONNX
from onnx_philox._models.onnx_graphs import Owner
from onnx_philox._rewriting import found
from onnx_philox._rewriting.in_onnx.random_nodes.site import Site
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import Replacement


@dataclass(frozen=True)
class Replaceable(found.Replaceable):
    """A random node and what replaces it."""

    site: Site
    replacement: Replacement
    absorbed: tuple[ir.Node, ...] = ()
    """The nodes after it that the replacement stands for too, each reading the one before it."""
    changing: frozenset[ir.Graph] | None = None
    """The bodies of the loops that change the key of its numbers; None where it has none."""

    @property
    def last(self) -> ir.Node:
        """The node whose outputs the replacement gives, and in whose place it goes."""
        if self.absorbed:
            return self.absorbed[-1]
        return self.site.node

    def turns(self, owner: Owner) -> bool:
        """Whether what is around it is a loop in whose iterations it draws on."""
        is_loop = owner.node.op_type != "If"
        return is_loop and (self.changing is None or owner.graph in self.changing)

    @property
    def drawn(self) -> tuple[Operator, str]:
        """See `found.Replaceable`."""
        dtype = self.replacement.dtype
        ours = BY_ONNX.get(dtype.value)
        name = dtype.name.lower() if ours is None else ours.name
        return self.replacement.operator, name


Outcome = Replaceable | found.Irreplaceable


@dataclass(frozen=True)
class Carried:
    """A random node with its replacement and the state that it draws from."""

    random: Replaceable
    state: ir.Value
    """Of uint32."""
    next_state_cast: ir.Node | None
    """The Cast that waits for the next state, inside a Loop or Scan."""
