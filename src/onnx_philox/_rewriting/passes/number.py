"""The pass that gives every random node a stream number of its own."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._contract import checks
from onnx_philox._rewriting.nodes.earlier_rewrite import OWNER, STREAMS, Recorded
from onnx_philox._rewriting.nodes.site import Site


class AssignStreams(ir.passes.InPlacePass):
    """Numbers the nodes in order, after and between the numbers that are taken already.

    A number is the node's word 2 of the counter: no two nodes may have the same one. Numbers of
    an earlier rewrite stay, and the next one follows the largest of them.
    """

    def __init__(self, sites: list[Site], recorded: Recorded) -> None:
        super().__init__()
        self._sites = sites
        self._recorded = recorded

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Numbers the sites; the model itself is not changed yet."""
        stream = self._recorded.next_stream
        for site in self._sites:
            while stream in self._recorded.streams:
                stream += 1
            if stream >= STREAMS:
                checks.refuse(
                    OWNER,
                    "the next stream number (op_seed)",
                    stream,
                    f"0 to {STREAMS - 1}",
                    "Rewrite the model that this one was made from.",
                )
            site.stream = stream
            stream += 1
        return ir.passes.PassResult(model, modified=False)
