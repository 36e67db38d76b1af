"""The IR that the page of RandomUniform-8 prints, and a model around it."""

from __future__ import annotations

import numpy as np

import onnx_philox

# Word by word. The dots stand for what the page leaves out.
LAYER = """\
    <layer ... name="RandomUniform" type="RandomUniform">
        <data output_type="f32" global_seed="234" op_seed="148"/>
        <input>
            <port id="0" precision="I32">  <!-- shape value: [2, 3, 10] -->
                <dim>3</dim>
            </port>
            <port id="1" precision="FP32"/> <!-- min value -->
            <port id="2" precision="FP32"/> <!-- max value -->
        </input>
        <output>
            <port id="3" precision="FP32" names="RandomUniform:0">
                <dim>2</dim>
                <dim>3</dim>
                <dim>10</dim>
            </port>
        </output>
    </layer>
"""
SEEDS = {"global_seed": 234, "op_seed": 148}
SHAPE = [2, 3, 10]
NAME = "RandomUniform:0"
_CONSTANT = """\
    <layer id="{}" name="{}" type="Const" version="opset1">
        <data element_type="{}" shape="{}" offset="{}" size="{}"/>
        <output><port id="0" precision="{}">{}</port></output>
    </layer>
"""
_EDGE = '<edge from-layer="{}" from-port="{}" to-layer="{}" to-port="{}"/>'
_RESULT = """\
    <layer id="4" name="result" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim><dim>10</dim></port></input>
    </layer>
"""


def page_s_ir(low: float, high: float) -> tuple[bytes, bytes]:
    """The text of the IR and its weights, for bounds that the page does not name."""
    shape = np.array(SHAPE, np.int32)
    bounds = np.array([low, high], np.float32)
    rows = [("shape", "i32", "3", 0, 12, "I32", "<dim>3</dim>")]
    rows += [(name, "f32", "", 12 + 4 * i, 4, "FP32", "") for i, name in enumerate(("min", "max"))]
    layers = [_CONSTANT.format(i, *row) for i, row in enumerate(rows)]
    layers += [LAYER.replace("...", 'id="3" version="opset8"'), _RESULT]
    edges = [_EDGE.format(*edge) for edge in (*((i, 0, 3, i) for i in range(3)), (3, 3, 4, 0))]
    text = f"<layers>{''.join(layers)}</layers><edges>{''.join(edges)}</edges>"
    whole = f'<?xml version="1.0"?><net name="page" version="11">{text}</net>'
    return whole.encode(), shape.tobytes() + bounds.tobytes()


def documented(low: float, high: float, state: np.ndarray) -> np.ndarray:
    """What the model draws if it keeps its seeds."""
    return onnx_philox.reference.random_uniform(SHAPE, low, high, "f32", **SEEDS, state=state)[0]
