"""`compile_model`: OpenVINO's own, and on its device GPU with kernels of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import openvino as ov

from onnx_philox import _parts
from onnx_philox._contract.refusal import refuse, shown

_NAME = "openvino.compile_model"
_CONFIG_FILE = "CONFIG_FILE"


def compile_model(
    core: ov.Core,
    model: ov.Model | str | os.PathLike[str],
    device: str = "CPU",
    config: Mapping[str, Any] | None = None,
) -> ov.CompiledModel:
    """Compiles a model for a device, also for GPU, where kernels of this package draw.

    On "GPU" (and "GPU.1", ...) it draws RandomGenerator, RandomUniform of i32, f32 and f16,
    RandomNormal of f32, RandomBernoulli with a p of f32 and RandomDropout with a ratio of f32,
    whose parameters must be constants: the bits that the CPU draws. Everything else, and what is
    in the body of an If, Loop or TensorIterator, is refused: compile it for "HETERO:GPU,CPU", which
    draws on the CPU and computes the rest on the GPU. On every other device it is OpenVINO's own
    `core.compile_model`.

    Args:
        core: A core that you passed to `register`. For a GPU this sets its property CONFIG_FILE.
        model: An `openvino.Model`, which is not changed, or a path.
        device: OpenVINO's name of the device.
        config: As for `core.compile_model`.

    Returns:
        The compiled model.

    Raises:
        TypeError: `core` is no core, or `model` neither of the two.
        ValueError: The GPU would not draw exactly what the model asks for, or `config` has a
            CONFIG_FILE for it.
        ImportError: The device is a GPU, and the part for it is not installed.

    Examples:
        >>> import openvino as ov, onnx_philox as op
        >>> core = op.openvino.register(ov.Core())
        >>> bits = core.read_model(op.graphs.random_generator([4]).SerializeToString())
        >>> state = op.PhiloxState.from_seed(42).to_array()
        >>> op.openvino.compile_model(core, bits, "CPU")([state])[1]
        array([ 1,  0,  0,  0, 42,  0], dtype=uint32)
    """
    if not hasattr(core, "compile_model"):
        refuse(_NAME, "core", shown(core), "an openvino.Core", "Pass openvino.Core().", TypeError)
    if not isinstance(model, ov.Model | str | os.PathLike):
        remedy = "Pass what core.read_model returns; it takes bytes, too."
        what = type(model).__name__
        allowed = "an openvino.Model or a path"
        refuse(_NAME, "the model", what, allowed, remedy, TypeError)
    given = dict(config or {})
    if not (isinstance(device, str) and device.partition(".")[0] == "GPU"):
        return core.compile_model(model, device, given)
    if _CONFIG_FILE in given:
        remedy = "Leave it out: it names the kernels of this package."
        refuse(_NAME, "the property CONFIG_FILE", shown(given[_CONFIG_FILE]), "left out", remedy)
    compile_for_gpu = _parts.OTHERS["compile_for_gpu"].get(f"{_NAME} for {device}")
    read = model if isinstance(model, ov.Model) else core.read_model(model)
    return compile_for_gpu(core, read, device, given)
