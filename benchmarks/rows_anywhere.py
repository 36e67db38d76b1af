"""Draws by rows whose batch is the second dimension, beside those whose batch is the first.

python benchmarks/rows_anywhere.py
"""

from __future__ import annotations

import numpy as np
from native_runtimes import onnxruntime_call, openvino_call, openvino_ours
from onnx import parser
from paired import Row, compare, markdown_table

import onnx_philox

OTHER, BATCH, FEATURES = 64, 64, 256
"""2^20 values."""
DRAWS = {
    "RandomUniform": "y = RandomUniformLike (x)",
    "RandomNormal": "y = RandomNormalLike (x)",
    "RandomDropout": """go = Constant <value = bool {1}> ()
        half = Constant <value = float {0.5}> () y = Dropout (x, half, go)""",
}
PAIRS = 31


def main() -> None:
    """Prints the table."""
    rows = []
    for runtime in ("ONNX Runtime", "OpenVINO"):
        for name, body in DRAWS.items():
            calls = []
            for dims, shape in (
                (f"{OTHER}, batch", (OTHER, BATCH, FEATURES)),
                (f"batch, {OTHER}", (BATCH, OTHER, FEATURES)),
            ):
                model = onnx_philox.make_reproducible(
                    parser.parse_model(
                        f'<ir_version: 8, opset_import: ["": 17]> g (float[{dims}, {FEATURES}] x)'
                        f"=> (float[a, b, c] y) {{ {body} }}"
                    ),
                    per_row=True,
                )
                state = onnx_philox.row_states(range(BATCH))
                inputs = {"x": np.ones(shape, np.float32), "random_state": state}
                if runtime == "OpenVINO":
                    calls.append(openvino_call(openvino_ours(model, inputs, 1)))
                else:
                    outputs = {"y": np.empty(shape, np.float32)}
                    calls.append(onnxruntime_call(model.SerializeToString(), inputs, outputs, 1))
            row = Row("rows", name, f"{runtime}, the batch first", 1, "2^20")
            rows.append(compare(row, *calls, PAIRS, lambda s: f"{s * 1e3:.2f} ms"))
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
