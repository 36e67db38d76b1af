#!/usr/bin/env bash
# torch.export: a buffer that a submodule assigns is dropped from the program's changed buffers.
#
# Expected: forward's `self.previous = new` of a registered buffer is recorded in the program's
# buffers_to_mutate, whether the module is the root or a part of it.
# So it is (strict=False, as torch.onnx.export begins): the root's is recorded, a submodule's is not, without
# a warning; `self.previous.copy_(new)` is recorded in both. Noise that a submodule carries so from call to
# call begins anew in each run of an exported file.
#
# Versions: torch 2.13.0 and 2.15.0 (CPU), Python 3.11, Linux x86-64. 29 November 2026.
# Source: met while modules that keep noise in a buffer were exported; this script.
# Output seen:
#   root, assigned: ['previous']
#   submodule, assigned: []
#   submodule, copied into: ['0.previous']
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet torch==2.13.0 numpy
"$folder/venv/bin/python" - <<'PYTHON'
import sys
import warnings

import torch

warnings.simplefilter("ignore")


class Keeping(torch.nn.Module):
    def __init__(self, assigns):
        super().__init__()
        self.assigns = assigns
        self.register_buffer("previous", torch.zeros(3))

    def forward(self, x):
        new = self.previous + x
        if self.assigns:
            self.previous = new
        else:
            self.previous.copy_(new)
        return new


def recorded(module):
    program = torch.export.export(module, (torch.ones(3),), strict=False)
    program = program.run_decompositions({})
    return list(program.graph_signature.buffers_to_mutate.values())


root = recorded(Keeping(True))
assigned = recorded(torch.nn.Sequential(Keeping(True)))
copied = recorded(torch.nn.Sequential(Keeping(False)))
print("root, assigned:", root)
print("submodule, assigned:", assigned)
print("submodule, copied into:", copied)
as_seen = root == ["previous"] and assigned == [] and copied == ["0.previous"]
sys.exit(not as_seen)
PYTHON
