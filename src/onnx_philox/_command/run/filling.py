"""Makes up inputs of a model, to try it without data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox import generate
from onnx_philox._contract import feeds
from onnx_philox._contract.state import PhiloxState
from onnx_philox._runtimes.port import ArgumentError, Arrays, Port

# No model's stream: rewritten models draw from the streams below 2^32 of their seed.
_KEY = 2**63


def made_up(ports: Sequence[Port], given: Mapping[str, Any]) -> Arrays:
    """Makes up an array for each required input that is not given.

    Floats are uniform in [0, 1), always the same ones; all other numbers are 1, which most models
    take for an index, a size and a mask alike. An open dimension has the size that a given input of
    the same dimension has, else 1.

    Raises:
        ArgumentError: An input is no tensor of numbers.
    """
    sizes = {
        name: size
        for port in ports
        if port.shape is not None and port.name in given
        for name, size in zip(port.shape, given[port.name].shape, strict=True)
        if isinstance(name, str)
    }
    missing = [port for port in ports if port.is_required and port.name not in given]
    return {port.name: made(port, i, sizes) for i, port in enumerate(missing)}


def made(port: Port, number: int, sizes: Mapping[Any, int] | None = None) -> NDArray[Any]:
    """The array with this number among those that are made up; open dimensions have these sizes.

    Raises:
        ArgumentError: The input is no tensor of numbers.
    """
    if port.dtype is None or port.dtype.kind in "USO":
        raise ArgumentError(
            f"{feeds.title(port.name)} must be numbers for --fill: got {port.type_name}. Pass it "
            f"with --input {port.name}=FILE.npy."
        )
    shape = [
        size if isinstance(size, int) else (sizes or {}).get(size, 1) for size in port.shape or ()
    ]
    try:
        if port.dtype.kind in "biu":
            return np.ones(shape, port.dtype)
        values = np.empty(shape, np.float32)
        generate(PhiloxState(number << 64, _KEY), out=values)
        return values.astype(port.dtype)
    except (MemoryError, ValueError) as error:
        raise ArgumentError(
            f"{feeds.title(port.name)} must be small enough for memory for --fill: got {port}. "
            f"Pass a smaller one with --input {port.name}=FILE.npy."
        ) from error
