"""Draws 10^7 values with each kernel on the device GPU, and compares every bit with the reference.

    tests/experimental/gpu/emulated python -m tests.experimental.prove_gpu

The normals are drawn again with quotients and roots that are up to 3 ulp wrong before the kernel
corrects them, which OpenCL allows a device. It exits with 1 if a bit differs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as op

import onnx_philox
from onnx_philox import openvino as factory
from onnx_philox import reference
from onnx_philox._experimental.openvino_gpu import gpu_layers
from onnx_philox._experimental.openvino_gpu.lowering import lowered
from onnx_philox._numbers.fill_native import fastest_fill
from tests.common.runtimes import infer
from tests.experimental.cuda_kernels import different as differing
from tests.experimental.test_openvino_gpu import DRAWS, SEEDS

ELEMENTS = 2**21
STATES = [
    np.array(
        [0xFFFFFFFF - 2**18, *[0xFFFFFFFF] * 3, 0xDEADBEEF, 0xFEDCBA98],
        np.uint32,
    ),
    *np.random.default_rng(0).integers(
        0,
        2**32,
        (4, 6),
        dtype=np.uint32,
    ),
]
DRAWS["standard normal"] = lambda of, n, s: of.random_normal(n, 0, 1, "f32", state=s, **SEEDS)


def different(name: str, layers: str) -> int:
    """How many values and words of next states differ."""
    core = onnx_philox.openvino.register(ov.Core())
    state = op.parameter([6], np.uint32)
    node = DRAWS[name](factory, [ELEMENTS], state)
    model = lowered(ov.Model([node.output(0), node.output(1)], [state]), "GPU")
    core.set_property("GPU", {"CONFIG_FILE": layers})
    request = core.compile_model(model, "GPU").create_infer_request()
    wrong = 0
    for words in STATES:
        drawn = infer(request, [words])
        for i, wanted in enumerate(DRAWS[name](reference, [ELEMENTS], words)):
            wrong += differing(drawn[i], wanted)
    return wrong


def main() -> int:
    """Proves each kernel; returns 1 if a bit differs."""
    reference.fill = fastest_fill
    core = ov.Core()
    print(f"OpenVINO {ov.__version__}, {core.get_property('GPU', 'FULL_DEVICE_NAME')}")
    total = 0
    for name in DRAWS:
        wrong = different(name, gpu_layers.KERNELS)
        print(f"{name}: {wrong} of {len(STATES) * ELEMENTS} different", flush=True)
        total += wrong
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(shutil.copytree(Path(gpu_layers.KERNELS).parent, Path(folder) / "kernels"))
        layers = copied / "layers.xml"
        text = layers.read_text()
        for ulps in (-3, 3):
            layers.write_text(text.replace("-cl-std", f"-DULPS_OFF={ulps} -cl-std"))
            wrong = different("standard normal", str(layers))
            print(f"standard normal, quotients and roots {ulps} ulp off: {wrong} different")
            total += wrong
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
