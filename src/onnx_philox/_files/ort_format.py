"""Tells files in formats that are no ONNX: ONNX Runtime's own, and TensorFlow Lite's."""

from __future__ import annotations

from onnx_philox._files.wire import Buffer

GIVEN = "a file in ONNX Runtime's own format (.ort), which only ONNX Runtime reads"
REMEDY = "Pass the ONNX file that it was made from."

_TFLITE = (
    "a file of TensorFlow Lite (.tflite)",
    "Make ONNX of it: python -m tf2onnx.convert --tflite model.tflite --output model.onnx.",
)

# Where a FlatBuffer says what it is.
_PLACE = slice(4, 8)
_KNOWN = {b"ORTM": (GIVEN, REMEDY), b"TFL3": _TFLITE}


def known(content: Buffer) -> tuple[str, str] | None:
    """What bytes, or the first of them, are that is no ONNX, and what to do; None of any other."""
    return _KNOWN.get(bytes(content[_PLACE]))
