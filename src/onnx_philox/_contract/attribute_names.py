"""Attributes that an operator lacks: what the user may have meant, and which ones to ask for.

A runtime may show an operator only the attributes that it asks for by name. It ignores an attribute
that nobody asks for. So a backend asks for the attributes of the other operators, which the C++
code has in a table (custom_ops/core/operators_table.h).
"""

from __future__ import annotations

import difflib
from functools import cache

from onnx_philox._contract import sentences
from onnx_philox._contract.operators import FOREIGN_ATTRIBUTES, OPERATORS, Operator

_VOWELS = "aeiou"
_OURS = {a.name for op in OPERATORS.values() for a in op.attributes}
KNOWN = sorted(_OURS | FOREIGN_ATTRIBUTES)
"""The attributes of all operators and of ONNX's random operators."""


def remedy(op: Operator, name: str) -> str:
    """What to do about an attribute of this name: it names the one of `op` that is most like it."""
    like = nearest(op, name)
    if like is None:
        return sentences.REMOVE
    return sentences.DID_YOU_MEAN.format(like)


def nearest(op: Operator, name: str) -> str | None:
    """The attribute of `op` that is most like a name, if one is."""
    own = [a.name for a in op.attributes]
    near = difflib.get_close_matches(name, own)
    return near[0] if near else None


def of_others(op: Operator) -> list[str]:
    """The attributes of the other operators and of ONNX's random operators, sorted."""
    own = [a.name for a in op.attributes]
    return [name for name in KNOWN if name not in own]


@cache
def mistakes(op: Operator) -> tuple[str, ...]:
    """The names of a misspelt attribute to ask for, sorted: those of others, and slips.

    A slip is one letter left out or doubled, another vowel, two letters in the wrong order, or
    words written by another rule (opSeed, op-seed, OP_SEED).
    """
    own = [a.name for a in op.attributes]
    names = set(of_others(op))
    for name in own:
        names |= _one_slip_away(name)
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
