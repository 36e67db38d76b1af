"""Tells files in ONNX Runtime's own format, which only it reads."""

from __future__ import annotations

GIVEN = "a file in ONNX Runtime's own format (.ort), which only ONNX Runtime reads"
REMEDY = "Pass the ONNX file that it was made from."

# Where a FlatBuffer says what it is.
_PLACE = slice(4, 8)
_IDENTIFIER = b"ORTM"


def is_ort(content: bytes) -> bool:
    """Whether bytes, or the first of them, are a model in ONNX Runtime's own format."""
    return content[_PLACE] == _IDENTIFIER
