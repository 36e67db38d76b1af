#!/usr/bin/env bash
# ONNX Runtime goes through a large model twice for two Gathers whose indices are int64, and once where they are int32.
#
# Expected: indices 0 and 1 of one tensor of two rows cost the load of a model nothing, whatever their type.
# So it is: of Gathers that take all rows by indices of int64, GatherSliceToSplitFusion (extended optimisations) makes one
# Split. For this one change all optimisations of that level go through the whole graph once more, which takes a quarter of
# the time to load 12,000 nodes (0.49 s of processor time, 0.39 s with int32). It makes nothing of indices of int32.
# So write such indices as int32 where a model has many nodes.
#
# Versions: onnxruntime 1.32.0, onnx 1.23.2, numpy 2.4.6, Python 3.11, Linux x86-64. 30 November 2026. Source: met while models
# of 3,000 random nodes were loaded; ONNX Runtime's log.
# Output seen:
#   int64: 2 passes of the extended optimisations
#   int32: 1 pass of the extended optimisations
# Exits with 1 if that changes. It reads the log, which does not depend on the machine.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
cat > "$folder/load.py" <<'PYTHON'
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OTHERS = 12_000


def model(dtype):
    nodes = []
    indices = []
    for row in (0, 1):
        indices.append(numpy_helper.from_array(np.array(row, dtype), f"index{row}"))
        nodes.append(helper.make_node("Gather", ["x", f"index{row}"], [f"row{row}"]))
    nodes.append(helper.make_node("Mul", ["row0", "row1"], ["v0"]))
    for i in range(OTHERS):
        operator = "Sin" if i % 2 else "Cos"
        nodes.append(helper.make_node(operator, [f"v{i}"], [f"v{i + 1}"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])
    y = helper.make_tensor_value_info(f"v{OTHERS}", TensorProto.FLOAT, [6])
    graph = helper.make_graph(nodes, "rows", [x], [y], indices)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


options = onnxruntime.SessionOptions()
# Everything, the optimisations among it.
options.log_severity_level = 0
onnxruntime.InferenceSession(
    model(np.dtype(sys.argv[1])).SerializeToString(), options, providers=["CPUExecutionProvider"]
)
PYTHON
passes() {
  "$folder/venv/bin/python" "$folder/load.py" "$1" 2>&1 | grep -c "Graph transformer step [0-9]* of 10 for level 2 started"
}
of_int64=$(passes int64)
of_int32=$(passes int32)
# A step that changes nothing is the last.
echo "int64: $of_int64 passes of the extended optimisations"
echo "int32: $of_int32 pass of the extended optimisations"
test "$of_int64" = 2 && test "$of_int32" = 1
