"""Which inputs of ONNX Runtime's own operators have the type of an output, for the rewriter.

ONNX's inference of types stops at an operator that only ONNX Runtime knows. Its schemas say it:

    cd src/onnx_philox/_rewriting/in_onnx
    python ../../../../tests/rewriting/make_onnxruntime_types.py > onnxruntime_types.json
"""

from __future__ import annotations

import json
from typing import Any

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state

DOMAINS = ("", "com.microsoft")


def rules(domain: str) -> dict[str, list[list[int]]]:
    """For each operator that ONNX does not have, the inputs that each output is like."""
    schemas = onnxruntime_pybind11_state.get_all_operator_schema()
    return {
        schema.name: [_like(schema, output) for output in schema.outputs]
        for schema in sorted(schemas, key=lambda s: (s.name, s.since_version))
        if schema.domain == domain and not onnx.defs.has(schema.name, schema.since_version, domain)
    }


def _like(schema: Any, output: Any) -> list[int]:
    return [i for i, given in enumerate(schema.inputs) if given.typeStr == output.typeStr]


if __name__ == "__main__":
    domains = {}
    for domain in DOMAINS:
        lines = (f'    "{name}": {json.dumps(like)}' for name, like in rules(domain).items())
        domains[domain] = ",\n".join(lines)
    parts = (f'  "{domain}": {{\n{lines}\n  }}' for domain, lines in domains.items())
    print("{\n" + ",\n".join(parts) + "\n}")
