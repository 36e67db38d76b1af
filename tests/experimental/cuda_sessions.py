"""Sessions that draw on the stand-in for a card, and the models of their tests."""

from __future__ import annotations

import re
import runpy
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest

from onnx_philox import PhiloxState, graphs
from onnx_philox.onnxruntime import InferenceSession
from tests.experimental.cuda_kernels import CUDA, PTX
from tests.experimental.stand_in_driver import StandIn

PROVIDERS = ["CUDAExecutionProvider", "CPUExecutionProvider"]
STATE = PhiloxState(0xFFFFFFFF_FFFFFFFE, 0x123456789ABCDEF0).to_array()
NORMAL = graphs.random_normal([3, 5], 0, 1, "f32", op_seed=3)
HAS_KERNELS = PTX.read_text().startswith(runpy.run_path(str(CUDA / "make_ptx.py"))["head"]())
needs_kernels = pytest.mark.skipif(
    sys.platform != "linux" or not HAS_KERNELS,
    reason="the driver is a shared object, and a library has no kernels of other rules",
)


@cache
def stand_in() -> StandIn:
    """One for the process: the library opens the driver once."""
    with TemporaryDirectory() as folder:
        return StandIn(Path(folder))


@contextmanager
def said(*texts: str, kind: type[Exception] = Exception) -> Iterator[None]:
    """A block that raises an exception with these texts."""
    with pytest.raises(kind, match=re.escape(texts[0])) as raised:
        yield
    for text in texts:
        assert text in str(raised.value)


def session(model: Any) -> InferenceSession:
    """A session that asks for cards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # this build has no such provider
        return InferenceSession(model, providers=PROVIDERS, cuda=True, enable_fallback=0)


def fed_normal() -> onnx.ModelProto:
    """Normals whose every input is fed: see `fed_by`."""
    return graphs.random_normal(None, None, None, "f32", rank=2, op_seed=3, stateful=True)


def fed_by(shape: list[int]) -> dict[str, np.ndarray]:
    """The inputs of `fed_normal`."""
    numbers = {"mean": np.array(0.5, np.float32), "scale": np.array(2, np.float32)}
    return {"shape": np.array(shape), "state": STATE, **numbers}


def by_p(**more: Any) -> onnx.ModelProto:
    """Booleans whose p is fed."""
    more = {"p_type": "f32", "op_seed": 1} | more
    return graphs.random_bernoulli([4], None, **more)
