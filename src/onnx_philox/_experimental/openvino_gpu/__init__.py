"""The operators on OpenVINO's device GPU, whose plugin takes kernels of ours.

Nothing imports this part: `openvino.compile_model` asks `_parts` for it.
"""

from __future__ import annotations

from typing import Any

import openvino as ov

from onnx_philox._experimental.openvino_gpu.gpu_layers import KERNELS
from onnx_philox._experimental.openvino_gpu.lowering import lowered


def compile_for_gpu(
    core: ov.Core,
    model: ov.Model,
    device: str,
    config: dict[str, Any],
) -> ov.CompiledModel:
    """Compiles a model whose nodes this package's kernels draw; it is not changed.

    Raises:
        ValueError: The GPU would not draw exactly what the model asks for.
    """
    layers = lowered(model, device)
    core.set_property("GPU", {"CONFIG_FILE": KERNELS})
    return core.compile_model(layers, device, config)
