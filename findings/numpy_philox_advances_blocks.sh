#!/usr/bin/env bash
# NumPy's Philox: advance(n) skips n blocks of four numbers, not n draws.
#
# Expected: Philox(...).advance(n) moves the generator on "as-if" n draws "have occurred", in the words of its
# documentation; so advance(1) stands where one random_raw() stands. randomgen's Philox, from which NumPy's comes,
# does so: of one key and counter both give the same numbers.
# So it is: NumPy's advance(n) adds n to the counter, and a block of the counter is four numbers. Workers that skip
# n draws each leave three of four numbers unused; a program that moves from one library to the other goes on
# elsewhere. Both raise the counter before the first block, so Random123's block of counter 0 is that of 2^256 - 1.
#
# Versions: numpy 2.4.6, randomgen 2.5.1, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while Philox generators were laid side by side; this script.
# Output seen:
#   NumPy and randomgen draw the same 64 numbers: True
#   NumPy: advance(1) stands before number 4
#   randomgen: advance(1) stands before number 1
#   the counter 2^256 - 1 draws Random123's block of counter 0: True
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 randomgen==2.5.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import randomgen


# Philox4x64 with ten rounds, of counter 0 and key 0.
RANDOM123 = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]


def of_numpy():
    return np.random.Philox(key=7, counter=0)


def of_randomgen():
    return randomgen.Philox(key=7, counter=0, number=4, width=64)


def place(generator, numbers):
    """Before which of the numbers a generator stands."""
    (following,) = generator.random_raw(1)
    return [*numbers].index(following)


numbers = of_numpy().random_raw(64)
same = np.array_equal(numbers, of_randomgen().random_raw(64))
of_one = place(of_numpy().advance(1), numbers)
of_other = place(of_randomgen().advance(1), numbers)
is_before = np.random.Philox(key=0, counter=2**256 - 1).random_raw(4).tolist() == RANDOM123
print("NumPy and randomgen draw the same 64 numbers:", same)
print("NumPy: advance(1) stands before number", of_one)
print("randomgen: advance(1) stands before number", of_other)
print("the counter 2^256 - 1 draws Random123's block of counter 0:", is_before)
sys.exit((same, of_one, of_other, is_before) != (True, 4, 1, True))
PYTHON
