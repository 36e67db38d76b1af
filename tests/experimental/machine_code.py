"""Whether the machine code of the CUDA kernels has a product and a sum for each that the PTX has.

    nvdisasm kernels.cubin | python -m tests.experimental.machine_code

NVIDIA's assembler may fuse products and sums in a division and a root only. It exits with 1 where a
kernel without these has a fused one, or another one has fewer products or sums than its PTX.
"""

from __future__ import annotations

import re
import sys

from tests.experimental.cuda_kernels import PTX
from tests.experimental.ptx_to_c import kernels


def fused_pairs(code: str) -> list[str]:
    """What adds anything but -0 to a product of float16 pairs: not 1 times a number, nor 0."""
    lines = re.findall(r"\bHFMA2\b.*?;", code)
    return [line for line in lines if not re.search(r", -RZ ?;|, 1, 1, |, -RZ, RZ, ", line)]


def different(body: str, names: str, kind: str) -> int:
    """How many operations there are. One that several branches have with the same operands may
    become one."""
    return len({*re.findall(rf"\b(?:{names})\.rn\.{kind}\s+%\w+,([^;]+);", body)})


def main() -> None:
    if len(sys.argv) > 1 or sys.stdin.isatty():
        sys.exit(__doc__)
    sections = re.split(r"\.section\s+\.text\.", sys.stdin.read())[1:]
    codes = {section.split(",")[0].split()[0]: section for section in sections}
    bodies = kernels(PTX.read_text())
    if codes.keys() != bodies.keys():
        sys.exit(f"The kernels must be {', '.join(bodies)}: got {', '.join(codes) or 'none'}.")
    wrong = []
    for name, body in bodies.items():
        for kind, letter in (("f32", "F"), ("f64", "D")):
            found = {
                what: len(re.findall(rf"\b{letter}{what}\b", codes[name]))
                for what in ("ADD", "MUL", "FMA")
            }
            sums = different(body, "add|sub", kind)
            products = different(body, "mul", kind)
            if re.search(r"\b(?:div|sqrt|rcp)\.rn\.", body):
                is_wrong = found["ADD"] < sums or found["MUL"] < products
            else:
                is_wrong = found["FMA"] > 0
            if is_wrong:
                wrong.append(
                    f"{name}: {sums} sums and {products} products of {kind} became {found}"
                )
        wrong += [f"{name}: {line}" for line in fused_pairs(codes[name])]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
