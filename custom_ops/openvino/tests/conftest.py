"""The tests of the native OpenVINO extension.

    export ONNX_PHILOX_OPENVINO_LIBRARY=.../libonnx_philox_openvino.so
    ONNX_PHILOX_TESTS=.../tests pytest .

`ONNX_PHILOX_TESTS` is the folder of the Python package's tests, whose cases run again here.
"""

from __future__ import annotations

import os
import sys

import pytest

TESTS = os.environ["ONNX_PHILOX_TESTS"]
sys.path.insert(0, TESTS)
# Some of the tests run their own file as a program.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))

from native import NativeOpenVino  # noqa: E402


@pytest.fixture(scope="session")
def openvino() -> NativeOpenVino:
    return NativeOpenVino()
