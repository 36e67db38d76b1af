"""Writes mt19937_jumps.h: the polynomial by which MT19937 goes over many words at once.

python custom_ops/core/torch/make_mt19937_jumps.py          writes them
python custom_ops/core/torch/make_mt19937_jumps.py --check  exits with 1 if they are stale

MT19937 is linear over the field of two elements. Its words obey a recurrence whose characteristic
polynomial P has degree 19937: found here by Berlekamp and Massey's method from the generator's own
bits. Where x^n modulo P is the sum of x^j over some j, the state after n words is the sum of the
states after j words; torch_jump.cpp computes that.
"""

from __future__ import annotations

import sys
from pathlib import Path

DEGREE = 19937
WORDS = 624
AHEAD = 397


def bits_of_words(count: int) -> list[int]:
    """The last bit of each word that a generator holds, before they are tempered."""
    words = [19650218]
    for i in range(1, WORDS):
        words.append(1812433253 * (words[-1] ^ words[-1] >> 30) + i & 0xFFFFFFFF)
    for i in range(count):
        mixed = words[i] & 0x80000000 | words[i + 1] & 0x7FFFFFFF
        words.append(words[i + AHEAD] ^ mixed >> 1 ^ (0x9908B0DF if mixed & 1 else 0))
    return [word & 1 for word in words[WORDS : WORDS + count]]


def characteristic_polynomial() -> int:
    """P: bit i is the coefficient of x^i."""
    bits = bits_of_words(2 * DEGREE)
    connection, before, length, shift = 1, 1, 0, 1
    past = 0  # bit i is the bit i places ago
    for n, bit in enumerate(bits):
        past = past << 1 | bit
        if (connection & past).bit_count() & 1:
            changed = connection ^ before << shift
            if 2 * length <= n:
                length, before, shift = n + 1 - length, connection, 0
            connection = changed
        shift += 1
    assert length == DEGREE
    # The recurrence read backwards.
    return int(f"{connection:0{DEGREE + 1}b}"[::-1], 2)


def header() -> str:
    """The header's text."""
    polynomial = characteristic_polynomial()
    powers = [str(i) for i in range(DEGREE) if polynomial >> i & 1]
    rows = [", ".join(powers[i : i + 18]) for i in range(0, len(powers), 18)]
    lines = [
        "// The polynomial of MT19937's jumps: see torch_jump.h. Made by make_mt19937_jumps.py.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace onnx_philox {",
        "",
        "/// The degree of MT19937's characteristic polynomial, and its other powers of x.",
        f"constexpr unsigned kMtDegree = {DEGREE};",
        "constexpr std::uint16_t kMtPowers[] = {",
        *(f"    {row}," for row in rows),
        "};",
        "",
        "}  // namespace onnx_philox",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    path = Path(__file__).with_name("mt19937_jumps.h")
    if sys.argv[1:] != ["--check"]:
        path.write_text(header())
    elif path.read_text() != header():
        sys.exit(f"{path.name} is not what would be written: run {Path(__file__).name}")
