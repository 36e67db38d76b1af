"""The peers: OpenVINO's own RandomUniform, to show which numbers it gets right."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_philox._command.verify.cases import Case
from onnx_philox._command.verify.examples import Example
from onnx_philox._command.verify.runners.interface import Loaded, Runner
from onnx_philox._runtimes.port import Arrays


def runners() -> list[Runner]:
    """The peers, where OpenVINO is installed."""
    return [
        OpenvinoOwnRunner("built-in", "CPU", "on CPU"),
        OpenvinoOwnRunner("evaluate", "eval", "in Model.evaluate"),
    ]


class OpenvinoOwnRunner(Runner):
    """OpenVINO's own RandomUniform on its CPU device, or as `Model.evaluate` computes it."""

    runtime = "openvino"
    is_peer = True

    def __init__(self, backend: str, heading: str, where: str) -> None:
        from onnx_philox._runtimes.in_openvino import OpenvinoModel

        super().__init__(OpenvinoModel.version, backend)
        self.heading = heading
        self.where = where

    @property
    def title(self) -> str:
        """The runner in words."""
        where = self.where
        if self.backend == "built-in":
            where += " (built-in)"
        return f"openvino {self.version}, its own RandomUniform {where}, to compare"

    def takes(self, case: Case) -> bool:
        """Whether seeds alone can express the case."""
        return case.has_seeds_alone

    def prepare(self, example: Example) -> Loaded:
        """Builds a model of the built-in operator, and compiles it or does not."""
        import openvino as ov

        from onnx_philox._openvino_models import arrays as ov_arrays
        from onnx_philox._openvino_models import requests

        model = _own_model(example)
        shape = np.array(example.shape, np.int64)
        if self.backend == "evaluate":
            type_ = ov_arrays.openvino_type(example.type)
            output = ov.Tensor(type_, ov.Shape(example.shape))

            def run() -> Arrays:
                if not model.evaluate([output], [ov.Tensor(shape)]):
                    raise RuntimeError("Model.evaluate returned False")
                return {"values": ov_arrays.memory(output).copy()}

        else:
            compiled = ov.Core().compile_model(model, "CPU")
            request = compiled.create_infer_request()

            def run() -> Arrays:
                requests.run(request, [shape])
                # A copy: the next run writes into the same memory.
                drawn = request.get_output_tensor(0)
                return {"values": ov_arrays.memory(drawn).copy()}

        # A stateful operator makes all draws that come before the one that counts.
        for _ in range(example.run or 0):
            run()
        return run


def _own_model(example: Example) -> Any:
    """A model of OpenVINO's own RandomUniform.

    Its shape is a model input: if all inputs were constants, OpenVINO would compute it when it
    compiles the model, with its reference code. Its bounds are constants: as inputs, f64 and i64
    would arrive rounded.
    """
    import openvino as ov
    from openvino import opset8

    from onnx_philox._openvino_models import arrays as ov_arrays

    shape = opset8.parameter([len(example.shape)], ov.Type.i64, name="shape")
    low, high = (
        ov_arrays.constant(np.array(bound, example.type.dtype))
        for bound in example.arguments.values()
    )
    node = opset8.random_uniform(
        shape,
        low,
        high,
        example.type.name,
        example.global_seed,
        example.op_seed,
        example.alignment,
    )
    shape.output(0).set_names({"shape"})
    node.output(0).set_names({"values"})
    return ov.Model([node.output(0)], [shape])
