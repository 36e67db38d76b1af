"""Writes docs/operators.md from the declaration of the operators.

python docs/make_operators_page.py          write it
python docs/make_operators_page.py --check  exit 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from onnx_philox._contract.declaration import Attribute, Input, Output
from onnx_philox._contract.operators import (
    DOMAIN,
    OPERATORS,
    OPSET_VERSION,
    OUTPUT_TYPE,
    RANDOM_UNIFORM,
    Operator,
)

Part = Input | Output | Attribute
PAGE = Path(__file__).with_name("operators.md")
# What operators share, as this one says it, is said once.
_NAMES = ("shape", "state", "next_state", "global_seed", "op_seed", "alignment")
HEAD = f"""\
# The operators

A million draws, by ONNX Runtime, and the exact distributions over them:

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="pictures/distributions-dark.svg">
  <img alt="Histograms of uniform, normal and exponential values, gammas, counts, booleans, and \
classes with and without replacement. Each follows the line of its exact distribution." \
src="pictures/distributions-light.svg" width="800">
</picture>

Domain `{DOMAIN}`, opset {OPSET_VERSION}. `onnx_philox.reference`, `onnx_philox.graphs` and
`onnx_philox.openvino` have a Python function for each, such as `random_uniform`, with the inputs in
this order. [The specification](specification.md) says how words become values, step by step;
[troubleshooting](troubleshooting.md) what is refused, in which words;
[the promise](promise.md) which bits stay the same for ever. This page is made from the declaration
that also makes the ONNX schemas and the checks (`python docs/make_operators_page.py`).

All draw words of 32 bits from Philox4x32-10, or from MT19937 with `alignment` pytorch. **Neither is
for cryptography**: someone who sees some of the numbers may find the others. Draw no passwords,
keys or nonces with them.

## What they share

All have these, and `shape` where it is among their inputs:

"""


def parts_of(op: Operator) -> list[Part]:
    """Its inputs, outputs and attributes."""
    return [*op.inputs, *op.outputs, *op.attributes]


_SHARED = {part.name: part for part in parts_of(RANDOM_UNIFORM) if part.name in _NAMES}


def page() -> str:
    """The whole page."""
    shared = "\n".join(line(part) for part in _SHARED.values())
    return "\n".join([f"{HEAD}{shared}\n", *(section(op) for op in OPERATORS.values())])


def section(op: Operator) -> str:
    """One operator: its first sentence, and what it has of its own."""
    own = [part for part in parts_of(op) if not _is_shared(part)]
    order = ", ".join(map(_name, op.inputs))
    has_alignment = any(part.name == "alignment" for part in op.attributes)
    rule = f"[{op.rule}](specification.md#{op.rule.lower().replace(' ', '-')})"
    return "\n".join(
        [
            *(f"## {op.name}", "", f"{op.doc.partition('. ')[0].rstrip('.')}. The rule: {rule}."),
            *("", *map(line, own), ""),
            *(f"Inputs in this order: {order}.{'' if has_alignment else ' No `alignment`.'}", ""),
        ]
    )


def _name(part: Input) -> str:
    return f"`{part.name}`{' (optional)' * part.optional}"


def _is_shared(part: Part) -> bool:
    shared = _SHARED.get(part.name)
    # RandomGenerator's state may not be left out, which is all that the shared text says besides.
    return shared is not None and shared.doc.startswith(part.doc)


def line(part: Part) -> str:
    """A line of a list."""
    if isinstance(part, Attribute):
        values = ", ".join(f"`{v}`" for v in part.allowed) or (
            "int, 0 or 1" if part.is_flag else f"int, {part.minimum} to 2^63-1"
        )
        default = "required" if part.default is None else f"default `{part.default}`"
        return f"- `{part.name}` (attribute, {values}; {default}): {part.doc}"
    element = f"of `{OUTPUT_TYPE}`"
    if isinstance(part, Input):
        type_, kind = " or ".join(t.name for t in part.types) or element, "input"
    else:
        of = f"that of `{part.type_of}`" if part.type_of else element
        type_, kind = part.type.name if part.type else of, "output"
    return f"- `{part.name}` ({'optional ' * part.optional}{kind}, {type_}): {part.doc}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is not what the declaration says: run {Path(__file__).name}")
    else:
        PAGE.write_text(page())
