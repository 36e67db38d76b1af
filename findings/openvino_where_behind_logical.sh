#!/usr/bin/env bash
# Integers that a model chooses, in ONNX: Where(And(c, d), a, b) of int32 tensors. Found on 29 November
# 2026 on Linux x86-64, Python 3.11, with openvino 2026.4.1 (CPU), onnx 1.23.2, numpy 2.4.6, by reading
# which nodes keep integers exact, and trying each with dynamic shapes.
#
# Expected: Where moves numbers, so each output is an element of a or of b, as ONNX says.
# So it is not where the condition comes from And, Or, Xor or Not and the shapes are dynamic: the CPU
# plugin makes one node of the two and computes it in f32, so integers above 2^24 are rounded. It is
# right where the shapes are static, and where the condition is an input.
#
# Exits 0 while that is so. Output seen:
#   static And: exact, dynamic And: rounded
#   static Or: exact, dynamic Or: rounded
#   static Xor: exact, dynamic Xor: rounded
#   static Not: exact, dynamic Not: rounded
#   static input: exact, dynamic input: exact
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q onnx==1.23.2 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
import onnx
import openvino

CONDITIONS = {
    "And": "k = And (c, d)",
    "Or": "k = Or (c, d)",
    "Xor": "k = Xor (c, d)",
    "Not": "k = Not (c)",
    "input": "k = Identity (c)",
}
# f32 holds neither.
one = np.full(64, 2**24 + 1, np.int32)
other = np.full(64, 2**30 + 1, np.int32)
first = np.array([True, False] * 32)
second = np.array([True] * 64)
core = openvino.Core()


def verdict(condition: str, length: str) -> str:
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (bool[{length}] c, bool[{length}] d, int32[{length}] a, int32[{length}] b)
            => (int32[{length}] y, bool[{length}] same)
        {{ {condition} y = Where (k, a, b) same = Identity (d) }}""")
    onnx.checker.check_model(model, full_check=True)
    compiled = core.compile_model(core.read_model(model.SerializeToString(), b""), "CPU")
    y = compiled({"c": first, "d": second, "a": one, "b": other})["y"]
    return "exact" if np.isin(y, [2**24 + 1, 2**30 + 1]).all() else "rounded"


found = {}
for name, condition in CONDITIONS.items():
    found[name] = verdict(condition, "64"), verdict(condition, "n")
    print(f"static {name}: {found[name][0]}, dynamic {name}: {found[name][1]}")
wanted = dict.fromkeys(CONDITIONS, ("exact", "rounded")) | {"input": ("exact", "exact")}
sys.exit(found != wanted)
PYTHON
