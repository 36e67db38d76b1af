"""Writes docs/operators.md from the declaration of the operators.

python docs/make_operators_page.py          write it
python docs/make_operators_page.py --check  exit 1 if it is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from onnx_philox._contract.operators import DOMAIN, OPERATORS, OPSET_VERSION, OUTPUT_TYPE, Operator

PAGE = Path(__file__).with_name("operators.md")
HEAD = f"""\
# The operators

Domain `{DOMAIN}`, opset {OPSET_VERSION}. This page is made from the same declaration as the ONNX
schemas, ONNX Runtime's Python ops, OpenVINO's operators and the argument checks
(`python docs/make_operators_page.py`). How words become values, step by step, is in
[`specification.md`](specification.md); what each refuses, and in which words, in
[`troubleshooting.md`](troubleshooting.md); which bits stay the same for ever, in
[`promise.md`](promise.md).

All draw words of 32 bits from Philox4x32-10, or from MT19937 with `alignment` pytorch. **Neither is
for cryptography**: someone who sees some of the numbers may find the others. Draw no passwords,
keys or nonces with them.

Philox's words become uniform floats in [0, 1) so: the low bits of the next word `x`, or of the next
two, `x0` and `x1`, are the fraction of a float in [1, 2), from which 1 is subtracted.

| type | words | bits of the fraction | before 1 is subtracted |
|---|---|---|---|
| f16 | 1 | 10 | `0x3c00 \\| (x & 0x3ff)` |
| bf16 | 1 | 7 | `0x3f80 \\| (x & 0x7f)` |
| f32 | 1 | 23 | `0x3f800000 \\| (x & 0x7fffff)` |
| f64 | 2 | 52 | `1023 << 52 \\| (x0 & 0xfffff) << 32 \\| x1` |
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(op) for op in OPERATORS.values())])


def section(op: Operator) -> str:
    """One operator."""
    element = f"as `{OUTPUT_TYPE}` says"
    lines = [f"## {op.name}", "", op.doc, "", "| input | type | |", "|---|---|---|"]
    for i in op.inputs:
        types = " or ".join(t.name for t in i.types) or element
        lines.append(f"| `{i.name}`{' (optional)' * i.optional} | {types} | {i.doc} |")
    lines += ["", "| output | type | |", "|---|---|---|"]
    for o in op.outputs:
        type_ = o.type.name if o.type else f"that of `{o.type_of}`" if o.type_of else element
        lines.append(f"| `{o.name}`{' (optional)' * o.optional} | {type_} | {o.doc} |")
    lines += ["", "| attribute | values | default | |", "|---|---|---|---|"]
    for a in op.attributes:
        values = ", ".join(f"`{v}`" for v in a.allowed) or (
            "int, 0 or 1" if a.is_flag else f"int, {a.minimum} to 2^63-1"
        )
        default = "required" if a.default is None else f"`{a.default}`"
        lines.append(f"| `{a.name}` | {values} | {default} | {a.doc} |")
    names = ", ".join(i.name for i in op.inputs)
    lines += [
        "",
        f"In Python: `onnx_philox.reference.{op.function}`, "
        f"`onnx_philox.graphs.{op.function}`, `onnx_philox.openvino.{op.function}`. "
        f"Inputs in this order: {names}. The rule, step by step: "
        f"[{op.rule}](specification.md#{op.rule.lower().replace(' ', '-')}).",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is not what the declaration says: run {Path(__file__).name}")
    else:
        PAGE.write_text(page())
