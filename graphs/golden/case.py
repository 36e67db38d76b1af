"""What golden files are made of: a model, its runs, and whose numbers they must agree with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from onnx_philox import PhiloxState

VECTORS = Path(__file__).parents[2] / "tests" / "vectors"

DTYPES: dict[str, Any] = {
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "u32": np.uint32,
    "bool": np.bool_,
}
ALL_ONES = np.full(6, 0xFFFFFFFF, np.uint32)
# Its counter carries through all four words within three blocks, its key has high bits.
STATE = PhiloxState(counter=2**128 - 2, key=0xFEDCBA9889ABCDEF).to_array()

Arrays = dict[str, NDArray[Any]]
Check = Callable[[list[Arrays]], None]


@dataclass(frozen=True)
class Case:
    """A model and its runs."""

    model: onnx.ModelProto
    runs: list[Arrays] = field(default_factory=lambda: [{}])
    check: Check | None = None
    """Compares the outputs of all runs with independent numbers."""
    source: str = "onnx_philox.reference"
    """Whose numbers these are."""
