#!/usr/bin/env bash
# reikna: integers of a whole type are all negative, and a single bound is drawn too.
#
# Expected: uniform_integer(bijection, numpy.int32, low, high) draws integers of [low, high), all alike often, and
# uniform_integer(bijection, numpy.int32, 3) those of [0, 3), as its docstring says.
# So it is: with low = -2**31 and any high above 0 no number is positive, and with high = 2**31 - 1 none is above -1;
# int64 with -2**63 likewise. From a low that is 1 larger the whole range is drawn. A single bound of 3 draws 3, too.
#
# Versions: reikna 0.9.0, pyopencl 2026.1.4, pocl-binary-distribution 3.0 (on the CPU), numpy 2.4.6, Python 3.11,
# Linux x86-64. 29 November 2026. Source: met while Philox generators of other packages were tried; this script.
# Output seen:
#   int32 from -2**31 to 2**31 - 1: positive 0%
#   int64 from -2**63 to 2**63 - 1: positive 0%
#   int32 from -2**31 + 1 to 2**31 - 1: positive 50%
#   below 3: 0, 1, 2, 3
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet reikna==0.9.0 pyopencl==2026.1.4 pocl-binary-distribution==3.0 numpy==2.4.6
cat > "$folder/draw.py" <<'PYTHON'
import sys

import numpy as np
from reikna.cbrng import CBRNG
from reikna.cbrng.bijections import philox
from reikna.cbrng.samplers import uniform_integer
from reikna.cluda import ocl_api
from reikna.core import Type

thread = ocl_api().Thread.create()


def drawn(dtype, *bounds):
    sampler = uniform_integer(philox(32, 4), dtype, *bounds)
    generator = CBRNG(Type(dtype, shape=(2**16,)), 1, sampler, seed=7)
    counters = thread.to_device(generator.create_counters())
    values = thread.array((2**16,), dtype)
    generator.compile(thread)(counters, values)
    return values.get()


shares = []
for dtype, bits, more in ((np.int32, 31, 0), (np.int64, 63, 0), (np.int32, 31, 1)):
    positive = (drawn(dtype, -(2**bits) + more, 2**bits - 1) > 0).mean()
    shares.append(positive)
    low = f"-2**{bits}{' + 1' if more else ''}"
    print(f"{np.dtype(dtype).name} from {low} to 2**{bits} - 1: positive {positive:.0%}")
below_three = np.unique(drawn(np.int32, 3)).tolist()
print(f"below 3: {', '.join(map(str, below_three))}")
of_int32, of_int64, of_less = shares
is_so = of_int32 == 0 and of_int64 == 0 and abs(of_less - 0.5) < 0.05 and below_three == [0, 1, 2, 3]
sys.exit(not is_so)
PYTHON
XDG_CACHE_HOME="$folder" POCL_CACHE_DIR="$folder" "$folder/venv/bin/python" "$folder/draw.py" 2>"$folder/errors" || {
  tail -5 "$folder/errors"
  exit 1
}
