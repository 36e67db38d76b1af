"""What the native library cannot run as it was given: checked, and changed where it must be."""

from __future__ import annotations

import onnx_ir as ir
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._models import ours
from onnx_philox.onnxruntime import _surgery
from onnx_philox.onnxruntime._proof import INSERTED_CAST
from onnx_philox.onnxruntime._source import Source


def model(source: Source) -> bytes | None:
    """The changed model; None where ONNX Runtime may load it as it was given.

    Raises:
        InvalidArgument: A node breaks a rule.
    """
    try:
        opened = _surgery.open_model(source)
        nodes = list(ours.of_model(opened.model))
        for node in nodes:
            if not _is_widened(node):
                ours.checked_node(node, opened.known)
    except ir.serde.SerdeError:
        # The model is invalid, with two values of one name for example: ONNX Runtime reports it.
        return None
    except (TypeError, ValueError) as error:
        # The library says the same, but ONNX Runtime turns it into another exception at load.
        raise _runtime_errors.refused(str(error), ort_state.InvalidArgument) from error
    # ONNX Runtime does not infer the types of custom operators inside functions. Before 1.24 it
    # ends the process if RandomCategorical, whose type we infer, has an empty name for its state.
    has_empty_end = sum(map(ours.drop_empty_end, nodes)) > 0
    if not opened.is_ours_in_functions and not has_empty_end:
        return None
    return opened.whole()


def _is_widened(node: ir.Node) -> bool:
    """Whether ONNX Runtime has turned a float16 node into a float32 one.

    It does so among nodes that have no float16 kernels, and a model that it has optimised and
    saved can hold one. The library knows such nodes, and checks them by itself.
    """
    return any(str(value.name).startswith(INSERTED_CAST) for value in node.outputs)
