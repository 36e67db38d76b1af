"""What a row says of two nodes, of which each says it of a third one."""

from __future__ import annotations

from onnx_philox._command.inspect.known import known_seeds, merged_in_ir, merged_in_onnx
from onnx_philox._command.inspect.known.row import Said

_EQUAL = (merged_in_ir.MERGED_ZEROS, merged_in_onnx.MERGED_ZEROS, known_seeds.ONE_NUMBER)
"""Of these all nodes that repeat one node repeat each other."""


def of_pair(said: Said, other: Said, called: str) -> str | None:
    """The sentence of a node on another one that the same nodes link to it; None of none.

    A node says a row of one other node, though it may hold of several.

    Args:
        said: What is said of the node.
        other: What is said of the other one, by the same row.
        called: What the other one is called.
    """
    row = said.known
    details = {**said.details, "other": called}
    if row in _EQUAL:
        return row.says.format(**details)
    if row not in (known_seeds.ONE_SEED, known_seeds.MULTIPLES):
        return None
    details["other_seed"] = other.details["seed"]
    if details["seed"] == details["other_seed"]:
        # Nodes of one seed draw the same on purpose.
        return None
    if row is known_seeds.MULTIPLES:
        correlation = known_seeds.correlation(int(details["seed"]), int(details["other_seed"]))
        details["correlation"] = f"{correlation:.2f}"
    return row.says.format(**details)
