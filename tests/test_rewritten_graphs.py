"""A rewrite writes the nodes that it wrote before: whoever changes that means it.

`python tests/test_rewritten_graphs.py` writes their hashes anew.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import onnx
import pytest
import test_alignment_models as torch_s
import test_rewriting_control_flow as flow
import test_rewriting_equal as equal
from cases import parse
from foreign import nodes
from onnx import helper, numpy_helper
from test_rewriting_foreign import FOREIGN
from test_rewriting_patterns import PATTERNS
from test_rewriting_rows import PROVED, model_of
from test_rows_anywhere import STANDING

from onnx_philox import make_reproducible

HASHES = Path(__file__).with_name("rewritten_graphs.json")
KEYS = ("LOOP", "NESTED", "SCAN")
ROWS: dict[str, Any] = {"per_row": True}
TORCH: dict[str, Any] = {"alignment": "pytorch"}
MODELS: dict[str, tuple[onnx.ModelProto, dict[str, Any]]] = {
    **{f"rows, {k}": (model_of(body), ROWS) for k, body in PROVED.items()},
    **{f"at, {k}": (case.model, ROWS | {"batch": case.said}) for k, case in STANDING.items()},
    **{f"foreign, {k}": (parse(case.text), dict(case.asked)) for k, case in FOREIGN.items()},
    **{f"pattern, {k}": (case.model(), {}) for k, case in PATTERNS.items()},
    **{f"loop, {k}": (parse(text), {}) for k, text in flow.LOOPS.items()},
    **{f"program, {k}": (flow.model_of(p, 17), {"seed": 5}) for k, p in flow.PROGRAMS.items()},
    **{f"key, {k}": (parse(getattr(equal, k)), {}) for k in KEYS},
    **{f"torch, {k}": (parse(text), TORCH) for k, (text, _) in torch_s.MODELS.items()},
    "torch, rows": (parse(torch_s.OF_ROWS), ROWS | TORCH),
}


def written(name: str) -> str:
    model, asked = MODELS[name]
    graph = (rewritten := make_reproducible(model, **asked)).graph
    lines = [[v.name for v in (*graph.input, *graph.output)]]
    lines += [[v.name, str(numpy_helper.to_array(v).tolist())] for v in graph.initializer]
    for node in nodes(rewritten):
        lines.append([node.domain, node.op_type, *node.input, "->", *node.output])
        for each in sorted(node.attribute, key=lambda each: each.name):
            value = helper.get_attribute_value(each)
            if each.type == onnx.AttributeProto.TENSOR:
                value = numpy_helper.to_array(value).tolist()
            elif each.type == onnx.AttributeProto.GRAPH:
                value = [port.name for port in (*value.input, *value.output)]
            lines.append([each.name, str(value)])
    return hashlib.sha256(str(lines).encode()).hexdigest()[:12]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_a_rewrite_writes_the_nodes_that_it_wrote(name: str) -> None:
    assert written(name) == json.loads(HASHES.read_text())[name]


if __name__ == "__main__":
    HASHES.write_text(json.dumps({name: written(name) for name in MODELS}, indent=0) + "\n")
