"""What a validation reads around its node, so that the next one can tell that nothing has changed.

OpenVINO validates each node some twenty times when it compiles a model, and nearly always for the
sake of another node.
"""

from __future__ import annotations

from typing import Any

import openvino as ov

from onnx_philox._contract.openvino_plugin import MAX_ELEMENTS
from onnx_philox._openvino_models import arrays

PRECISION_SENSITIVE = "precision_sensitive_0"
"""OpenVINO's own mark, by which it keeps constants from being saved in f16."""


def surroundings(node: ov.Node) -> tuple[Any, ...] | None:
    """The inputs and outputs of a node, to be compared; None if a validation reads further away.

    It does unless every input is a small constant or a parameter, or a conversion of one: nodes
    upstream of any other may change while this one stays.
    """
    seen: list[Any] = []
    way = node.inputs()
    while way:
        input_ = way.pop()
        source = input_.get_source_output()
        upstream = source.get_node()
        seen += (PRECISION_SENSITIVE in input_.get_rt_info(), upstream.get_name(), *_told(source))
        kind = upstream.get_type_name()
        if kind == "Convert":
            way.append(upstream.input(0))
        elif kind == "Constant" and (array := arrays.memory(upstream)).size <= MAX_ELEMENTS:
            seen.append(array.tobytes())
        elif kind != "Parameter":
            return None
    for output in node.outputs():
        seen += _told(output)
    return tuple(seen)


def _told(output: ov.Output) -> tuple[str, str]:
    return output.get_element_type().get_type_name(), output.get_partial_shape().to_string()
