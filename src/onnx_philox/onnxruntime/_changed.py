"""What the native library cannot run as it was given: changed where it must be, or worded."""

from __future__ import annotations

import onnx_ir as ir
from onnxruntime.capi import onnxruntime_pybind11_state as ort_state

from onnx_philox import _runtime_errors
from onnx_philox._models import ours
from onnx_philox.onnxruntime import _surgery
from onnx_philox.onnxruntime._source import Source


def model(source: Source) -> bytes | None:
    """The changed model; None where ONNX Runtime may load it as it was given.

    Raises:
        InvalidArgument: The model's functions cannot be inlined.
    """
    try:
        opened = _surgery.open_model(source)
    except ir.serde.SerdeError:
        # The model is invalid, with two values of one name for example: ONNX Runtime reports it.
        return None
    except ValueError as error:
        raise _runtime_errors.refused(str(error), ort_state.InvalidArgument) from error
    # ONNX Runtime does not infer the types of custom operators inside functions. Before 1.24 it
    # ends the process if RandomCategorical, whose type we infer, has an empty name for its state.
    dropped = [ours.drop_empty_end(node) for node in ours.of_model(opened.model)]
    has_empty_end = any(dropped)
    if not opened.is_ours_in_functions and not has_empty_end:
        return None
    return opened.whole()


def refusal(source: Source) -> str | None:
    """What is wrong with a node of a model that ONNX Runtime has refused; None if nothing is."""
    try:
        opened = _surgery.open_model(source)
        for node in ours.of_model(opened.model):
            ours.checked_node(node, opened.known)
    except ir.serde.SerdeError:
        return None
    except (TypeError, ValueError) as error:
        return str(error)
    return None
