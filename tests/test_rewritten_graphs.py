"""A rewrite writes, reports and refuses what it did before: whoever changes that means it.

`python tests/test_rewritten_graphs.py` writes the hashes of all that anew.
"""

import hashlib
import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
import test_alignment_models as torch_s
import test_bernoulli_shares as shares
import test_rewriting_control_flow as flow
import test_rewriting_equal as equal
import test_rewriting_refused as refused
import test_rewriting_rows as rows
import test_rows_anywhere as anywhere
from cases import parse
from foreign import nodes
from onnx import helper, numpy_helper, parser
from test_rewriting_foreign import FOREIGN, FUSED
from test_rewriting_patterns import PATTERNS

from onnx_philox import make_reproducible
from onnx_philox.rewriting import rewrite

HASHES = Path(__file__).with_name("rewritten_graphs.json")
PORTS = "float[N, 4] x, float[4] b, float[N, 4] r, bool t"
HELD = "float ratio = {0.25}, float none = {0}, bool on = {1}, bool off = {0}"
GIVEN = "zeros = ConstantOfShape (shape) y = RandomNormalLike (zeros)"
ROWS: dict[str, Any] = {"per_row": True}
TORCH: dict[str, Any] = {"alignment": "pytorch"}
INVERTED: dict[str, Any] = {"invert_bernoulli": True}
SHARES = {**shares.NOT_MADE_UP, **shares.MADE_UP}
BEHIND = f"""g (float[2, 3] xs) => (float[K, 3] rows) {{ rows = Scan (xs) <num_scan_inputs = 1,
    scan_input_axes = [-1], body = b (float[2] x) => (float[3] row) {{ {flow.ROW} }}> }}"""
INLINED = "X_random = RandomUniformLike (p) y = Greater (X_random, p)"


def again(opset: int, ir_version: int, **asked: Any) -> onnx.ModelProto:
    """A rewritten model, with one more node."""
    text = f"g ({rows.X}) => (float[a, b] y) {{ {rows.BESIDE} }}"
    model = make_reproducible(parse(text, opset, ir_version), **asked)
    model.graph.node.append(parser.parse_node("late = RandomUniformLike (x)"))
    return model


MODELS: dict[str, tuple[onnx.ModelProto, dict[str, Any]]] = {
    **{f"rows, {k}": (rows.model_of(text), ROWS) for k, text in rows.PROVED.items()},
    **{f"no rows, {k}": (rows.model_of(v[0], rows.INPUTS), ROWS) for k, v in rows.UNPROVED.items()},
    **{f"at, {k}": (v.model, ROWS | {"batch": v.said}) for k, v in anywhere.STANDING.items()},
    **{
        f"mixed, {k}": (rows.model_of(v[0], "float[batch, 4] x, float[batch, 6, 4] z"), ROWS)
        for k, v in anywhere.REFUSED.items()
    },
    **{f"foreign, {k}": (parse(v.text), dict(v.asked)) for k, v in FOREIGN.items()},
    **{f"pattern, {k}": (v.model(), {}) for k, v in PATTERNS.items()},
    **{
        f"fused, {k}": (parse(f"g ({PORTS}) => (y) <{HELD}> {{ y = com.microsoft.{k} }}"), {})
        for k in FUSED
    },
    **{f"loop, {k}": (parse(text), {}) for k, text in flow.LOOPS.items()},
    **{f"old, {k}": (parse(text, 9, 3), {}) for k, text in list(flow.LOOPS.items())[:5]},
    **{f"program, {k}": (flow.model_of(v, 17), {"seed": 5}) for k, v in flow.PROGRAMS.items()},
    **{f"key, {k}": (parse(getattr(equal, k)), {}) for k in ("LOOP", "NESTED", "SCAN")},
    **{f"torch, {k}": (parse(text), TORCH) for k, (text, _) in torch_s.MODELS.items()},
    **{f"refused, {i}": (model, {}) for i, (model, _) in enumerate(refused.MODELS)},
    **{
        f"node, {i}": (parse(f"{refused.AROUND} {{ u = com.example.Op (x) y = {node} }}"), {})
        for i, (node, _) in enumerate(refused.NODES)
    },
    **{f"pair, {k}": (equal.model_of(k), {}) for k in equal.PAIRS},
    **{f"share, {k}": (shares.model_of(text), INVERTED) for k, text in SHARES.items()},
    "share, inlined": (shares.model_of(node=INLINED), INVERTED),
    **{
        f"again, {of} {asked}": (again(*of, **asked), TORCH if asked is TORCH else {})
        for of, asked in itertools.product(
            [(8, 3), (8, 4), (17, 8)], [{}, {"seed": 5}, TORCH, ROWS]
        )
        if of == (17, 8) or asked is not ROWS
    },
    "loop, from behind": (parse(BEHIND), {}),
    "torch, rows": (parse(torch_s.OF_ROWS), ROWS | TORCH),
    "named": (rows.model_of(GIVEN, f"{rows.X}, int64[2] shape"), {"per_row": ["y"]}),
}


def written(name: str) -> str:
    given, asked = MODELS[name]
    model = ir.from_proto(given)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            lines = [[str(rewrite(model, **asked))]]
        except (TypeError, ValueError) as error:
            lines = [[str(error)]]
    lines += [[str(each.message) for each in warned if each.category is UserWarning]]
    graph = (proto := ir.to_proto(model)).graph
    lines += [[v.name for v in (*graph.input, *graph.output)]]
    lines += [[v.name, str(v.type.tensor_type.HasField("shape"))] for v in graph.value_info]
    lines += [[v.name, str(numpy_helper.to_array(v).tolist())] for v in graph.initializer]
    for node in nodes(proto):
        lines.append([node.domain, node.op_type, *node.input, "->", *node.output])
        for each in sorted(node.attribute, key=lambda each: each.name):
            value = helper.get_attribute_value(each)
            if each.type == onnx.AttributeProto.TENSOR:
                value = numpy_helper.to_array(value).tolist()
            elif each.type == onnx.AttributeProto.GRAPH:
                value = [port.name for port in (*value.input, *value.output)]
            lines.append([each.name, str(value)])
    return hashlib.sha256(str(lines).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", MODELS)
def test_a_rewrite_does_what_it_did(name: str) -> None:
    assert written(name) == json.loads(HASHES.read_text())[name]


if __name__ == "__main__":
    HASHES.write_text(json.dumps({name: written(name) for name in MODELS}, indent=0) + "\n")
