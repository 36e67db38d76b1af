#!/usr/bin/env bash
# PyOpenCL: integers of 64 bits from its Philox generator lie outside of the range that was asked for.
#
# Expected: PhiloxGenerator(...).uniform(queue, shape, numpy.int64, a=0, b=2**32) draws integers from 0 to 2**32 - 1,
# all alike often, as it does below 2**31 and as its docstring says (numbers of the interval from a to b).
# So it is: for b from 2**32 on it adds two numbers of which one has a sign. Of b = 2**32 a quarter of them lie below 0
# or above b, and the middle comes three times as often as the ends. Of b = 2**40 few lie outside, and all are
# multiples of 256. ThreefryGenerator does likewise.
#
# Versions: pyopencl 2026.1.4, pocl-binary-distribution 3.0 (on the CPU), numpy 2.4.6, Python 3.11, Linux x86-64.
# 29 November 2026. Source: met while Philox generators of other packages were tried; this script.
# Output seen:
#   below 2**31: outside 0.0%, common divisor 1
#   below 2**32: outside 25%, common divisor 1
#   below 2**40: outside 0.1%, common divisor 256
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pyopencl==2026.1.4 pocl-binary-distribution==3.0 numpy==2.4.6
XDG_CACHE_HOME="$folder" POCL_CACHE_DIR="$folder" "$folder/venv/bin/python" - <<'PYTHON' 2>"$folder/errors" || { tail -5 "$folder/errors"; exit 1; }
import sys

import numpy as np
import pyopencl as cl
from pyopencl.clrandom import PhiloxGenerator

devices = [device for each in cl.get_platforms() for device in each.get_devices()]
context = cl.Context(devices[:1])
queue = cl.CommandQueue(context)
seen = []
for bits in (31, 32, 40):
    generator = PhiloxGenerator(context, seed=7)
    drawn = generator.uniform(queue, (2**18,), np.int64, a=0, b=2**bits).get()
    outside = ((drawn < 0) | (drawn >= 2**bits)).mean()
    divisor = int(np.gcd.reduce(drawn))
    seen.append((outside, divisor))
    digits = 0 if outside > 0.01 else 1
    print(f"below 2**{bits}: outside {outside:.{digits}%}, common divisor {divisor}")
(few, _), (many, _), (some, of_40) = seen
sys.exit(not (few == 0 and 0.2 < many < 0.3 and 0 < some < 0.01 and of_40 == 256))
PYTHON
