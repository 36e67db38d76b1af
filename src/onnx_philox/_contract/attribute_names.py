"""Attributes that an operator does not have: which one was meant, and which ones to ask for.

A runtime may show an operator only the attributes that it asks for by name. Then an attribute
that nobody asks for is ignored, a misspelt seed for instance. So a backend asks for the names that
people write by mistake. The C++ code has the same rule (custom_ops/core/attribute_names.cpp).
"""

from __future__ import annotations

import difflib
import string
from functools import cache

from onnx_philox._contract.operators import FOREIGN_ATTRIBUTES, OPERATORS, Operator

_LETTERS = string.ascii_lowercase + "_"


def nearest(op: Operator, name: str) -> str | None:
    """The attribute of `op` that `name` most looks like; None if it looks like none of them."""
    names = [a.name for a in op.attributes]
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


@cache
def mistakes(op_name: str) -> tuple[str, ...]:
    """The names to ask a runtime for, none of which the operator has.

    They are the attributes of the other operators and of ONNX's random operators, and all names
    that are one slip away from an attribute: a letter left out, added or replaced, or two letters
    in the wrong order.

    Args:
        op_name: The operator's name.

    Returns:
        The names, sorted.
    """
    own = {a.name for a in OPERATORS[op_name].attributes}
    others = {a.name for op in OPERATORS.values() for a in op.attributes}
    names = others.union(FOREIGN_ATTRIBUTES, *(_one_slip_away(name) for name in own))
    return tuple(sorted(names - own))


def _one_slip_away(name: str) -> set[str]:
    cuts = [(name[:i], name[i:]) for i in range(len(name) + 1)]
    return {
        *(a + b[1:] for a, b in cuts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1),
        *(a + letter + b[1:] for a, b in cuts if b for letter in _LETTERS),
        *(a + letter + b for a, b in cuts for letter in _LETTERS),
    }
