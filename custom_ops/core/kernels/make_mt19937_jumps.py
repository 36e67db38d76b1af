"""Writes mt19937_jumps.h: polynomials that carry MT19937 over many words at once.

python custom_ops/core/kernels/make_mt19937_jumps.py          writes them
python custom_ops/core/kernels/make_mt19937_jumps.py --check  exits with 1 if they are stale

MT19937 is linear over the field of two elements. Its words obey a recurrence whose characteristic
polynomial P has degree 19937: found here by Berlekamp and Massey's method from the generator's own
bits. Where x^n modulo P is the sum of x^j over some j, the state after n words is the sum of the
states after j words. The header has x^n modulo P for n = 624 * 2^k.
"""

from __future__ import annotations

import sys
from pathlib import Path

DEGREE = 19937
WORDS = 624
AHEAD = 397
FIRST, LAST = 8, 22
"""The powers of two, in blocks of 624 words."""


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


def squared(polynomial: int, modulus: int) -> int:
    """Its square, modulo another one: a square has the same coefficients at twice the powers."""
    square = int("0".join(f"{polynomial:b}"), 2)
    while (excess := square.bit_length() - 1 - DEGREE) >= 0:
        square ^= modulus << excess
    return square


def polynomials() -> list[int]:
    """x^n modulo P, for each n."""
    modulus = characteristic_polynomial()
    polynomial = 1 << WORDS
    found = []
    for power in range(1, LAST + 1):
        polynomial = squared(polynomial, modulus)
        if power >= FIRST:
            found.append(polynomial)
    return found


def header() -> str:
    """The header's text."""
    lines = [
        "// Polynomials by which MT19937 jumps: see torch_jump.h. Made by make_mt19937_jumps.py.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace onnx_philox {",
        "",
        "/// The first jump is over 2^kFirstMtJump blocks of 624 words, the next twice as many.",
        f"constexpr unsigned kFirstMtJump = {FIRST}, kMtJumps = {LAST - FIRST + 1};",
        f"/// Coefficients of degree 0 to {DEGREE - 1}, the lowest first.",
        f"constexpr unsigned kMtJumpWords = {-(-DEGREE // 64)};",
        "constexpr std::uint64_t kMtJump[kMtJumps][kMtJumpWords] = {",
    ]
    for polynomial in polynomials():
        words = [polynomial >> 64 * i & (1 << 64) - 1 for i in range(-(-DEGREE // 64))]
        shown = [f"0x{word:016x}" for word in words]
        rows = [", ".join(shown[i : i + 5]) for i in range(0, len(shown), 5)]
        lines.append("    {" + ",\n     ".join(rows) + "},")
    lines += ["};", "", "}  // namespace onnx_philox", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    path = Path(__file__).with_name("mt19937_jumps.h")
    if sys.argv[1:] != ["--check"]:
        path.write_text(header())
    elif path.read_text() != header():
        sys.exit(f"{path.name} is not what would be written: run {Path(__file__).name}")
