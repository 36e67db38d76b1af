"""Attributes that an operator lacks: which one the user meant, and which ones to ask for.

A runtime may show an operator only the attributes that it asks for by name. It ignores an attribute
that nobody asks for, such as a misspelt seed. So a backend asks for the names that people write by
mistake. The C++ code has the same rule (custom_ops/core/attribute_names.cpp).
"""

from __future__ import annotations

import difflib
from functools import cache

from onnx_philox._contract.operators import FOREIGN_ATTRIBUTES, OPERATORS, Operator

_VOWELS = "aeiou"


def nearest(op: Operator, name: str) -> str | None:
    """The attribute of `op` that `name` most resembles; None if it resembles none."""
    names = [a.name for a in op.attributes]
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


@cache
def mistakes(op: Operator) -> tuple[str, ...]:
    """The names to ask a runtime for, none of which the operator has, sorted.

    They are the attributes of the other operators and of ONNX's random operators, and the names
    that are one slip away from an attribute: a letter left out or doubled, another vowel, two
    letters in the wrong order, or words written by another rule (opSeed, op-seed, OP_SEED).
    """
    own = [a.name for a in op.attributes]
    others = {a.name for other in OPERATORS.values() for a in other.attributes}
    names = others.union(FOREIGN_ATTRIBUTES, *(_one_slip_away(name) for name in own))
    return tuple(sorted(names.difference(own)))


def _one_slip_away(name: str) -> set[str]:
    cuts = [(name[:i], name[i], name[i + 1 :]) for i in range(len(name))]
    first, *others = name.split("_")
    return {
        *(a + b for a, _, b in cuts),
        *(a + letter + letter + b for a, letter, b in cuts),
        *(a + b[0] + letter + b[1:] for a, letter, b in cuts if b),
        *(a + vowel + b for a, letter, b in cuts if letter in _VOWELS for vowel in _VOWELS),
        first + "".join(word.capitalize() for word in others),
        name.replace("_", "-"),
        name.upper(),
        "_".join(word.capitalize() for word in name.split("_")),
    }
