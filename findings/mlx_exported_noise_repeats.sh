#!/usr/bin/env bash
# MLX: a function that draws repeats its noise once it is exported.
#
# Expected: an exported function of mx.random.uniform draws anew in each call, as the function does, or the export
# refuses it. (mx.compile says in its documentation that mx.random.state must be an input; export_function does not.)
# So it is: the file holds the key of the day it was exported. Each call gives the same numbers, in every
# process, and mx.random.seed changes nothing.
#
# Versions: mlx 0.32.4 (CPU), numpy 2.4.6, Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while formats that keep random numbers were tried; this script.
# Output seen:
#   the function repeats: False
#   the exported function repeats: True, after another seed: True
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "mlx[cpu]==0.32.4" numpy==2.4.6
cat > "$folder/draw.py" <<'PYTHON'
import sys

import mlx.core as mx
import numpy as np

X = mx.zeros((64,))


def noisy(x):
    return x + mx.random.uniform(shape=(64,))


file = f"{sys.argv[1]}/noisy.mlxfn"
mx.export_function(file, noisy, X)
exported = mx.import_function(file)
calls = [np.array(noisy(X)) for _ in range(2)]
imported = [np.array(exported(X)[0]) for _ in range(2)]
mx.random.seed(5)
seeded = np.array(exported(X)[0])
does_repeat = np.array_equal(*calls)
is_frozen = np.array_equal(*imported), np.array_equal(imported[0], seeded)
print("the function repeats:", does_repeat)
print(f"the exported function repeats: {is_frozen[0]}, after another seed: {is_frozen[1]}")
sys.exit(does_repeat or not all(is_frozen))
PYTHON
"$folder/venv/bin/python" "$folder/draw.py" "$folder"
