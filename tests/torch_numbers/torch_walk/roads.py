"""The roads that a torch module has into a runtime, each as a function of a module and its inputs:
it gives the outputs for each seed, or raises what the package, torch or a runtime raises."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import openvino as ov
import torch

import onnx_philox as op
from tests.common.runtimes import infer
from tests.torch_numbers.torch_walk.meaning import to_numpy

CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}


ROWS = "in dimension 1"
"""The batch that is not the first dimension, each row of which has a state."""

BATCHES = "static", "dynamic", ROWS


@dataclass(frozen=True)
class Given:
    """A module, the input to convert it with, and x to run it with: where the batch is dynamic,
    of another one. Each run begins at a seed."""

    module: torch.nn.Module
    example: torch.Tensor
    x: torch.Tensor
    seeds: Sequence[int]
    batch: str

    @property
    def has_rows(self) -> bool:
        """Whether each row has a state, of the seed at its place."""
        return self.batch == ROWS

    def rows(self, model: ov.Model) -> dict[str, Any]:
        """What a rewrite of a converted model is told, whose dimensions all are dynamic."""
        if not self.has_rows:
            return {}
        model.inputs[0].set_names({"x"})
        return {"per_row": True, "batch": "x:1"}

    @property
    def is_dynamic(self) -> bool:
        return self.batch != "static"

    def states(self, alignment: str) -> Iterator[np.ndarray]:
        found = [_state(seed, alignment) for seed in self.seeds]
        yield from [np.stack(found)] if self.has_rows else found


Outputs = list[list[np.ndarray]]
"""For each seed, the module's outputs."""


class Files:
    """What is made of one module, each thing once: two roads share a file, or a program."""

    def __init__(self, given: Given) -> None:
        self.given = given
        self._made: dict[str, Any] = {}

    def file(self, alignment: str) -> Any:
        return self._once(alignment, lambda: self._export(alignment))

    def program(self) -> Any:
        return self._once("program", self._program)

    def is_exportable(self) -> bool:
        """Whether torch itself makes a program of the module."""
        try:
            self.program()
        except Exception:
            return False
        return True

    def is_traceable(self) -> bool:
        """Whether torch itself runs the module, and its trace for the other batch, too."""
        module = self.given.module
        x = self.given.x
        try:
            with quiet():
                wanted = module(x)
                trace = torch.jit.trace(module, self.given.example, check_trace=False)
                got = trace(x)
        except Exception:
            return False
        return [y.shape for y in wanted] == [y.shape for y in got]

    def _export(self, alignment: str) -> Any:
        shapes = {"dynamic_shapes": self._dynamic()} if self.given.is_dynamic else {}
        with quiet():
            return op.torch.export(
                self.given.module,
                (self.given.example,),
                alignment=alignment,
                verbose=False,
                per_row=self.given.has_rows,
                **shapes,
            ).model_proto

    def _program(self) -> Any:
        with quiet():
            return torch.export.export(
                self.given.module,
                (self.given.example,),
                dynamic_shapes=self._dynamic() if self.given.is_dynamic else None,
                strict=False,
            )

    def _dynamic(self) -> Any:
        return ({int(self.given.has_rows): torch.export.Dim("batch", min=2)},)

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self._made:
            try:
                self._made[key] = make()
            except Exception as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, Exception):
            raise made
        return made


def _in_onnxruntime(files: Files, alignment: str) -> Outputs:
    session = op.onnxruntime.InferenceSession(files.file(alignment).SerializeToString())
    (state,) = (i.name for i in session.get_inputs() if i.name == "random_state")
    others = [i.name for i in session.get_inputs() if i.name != state]
    feed = {name: to_numpy(files.given.x) for name in others}
    return [session.run(None, feed | {state: each})[:-1] for each in files.given.states(alignment)]


def _in_openvino(model: Any, given: Given, alignment: str) -> Outputs:
    core = op.openvino.register(ov.Core())
    compiled = core.compile_model(model, "CPU", CONFIG)
    x = to_numpy(given.x)
    outputs = []
    for state in given.states(alignment):
        feed = {port: state if _is_state(port) else x for port in compiled.inputs}
        results = infer(compiled, feed)
        outputs.append([results[i].copy() for i in range(len(compiled.outputs) - 1)])
    return outputs


def _file_in_openvino(files: Files, alignment: str) -> Outputs:
    core = op.openvino.register(ov.Core())
    model = core.read_model(files.file(alignment).SerializeToString(), b"")
    return _in_openvino(model, files.given, alignment)


def exported(files: Files) -> Outputs:
    """An exported program, converted by OpenVINO with our converters."""
    program = files.program()
    with quiet():
        model = ov.convert_model(program, extension=op.openvino.pytorch_extensions())
        model = op.make_reproducible(model, **files.given.rows(model))
    return _in_openvino(model, files.given, "tensorflow")


def traced(files: Files) -> Outputs:
    """A trace, converted by OpenVINO with our converters."""
    given = files.given
    with quiet():
        trace = torch.jit.trace(given.module, given.example, check_trace=False)
        static = {} if given.is_dynamic else {"input": list(given.example.shape)}
        model = ov.convert_model(
            trace,
            example_input=given.example,
            extension=op.openvino.pytorch_extensions(),
            **static,
        )
        model = op.make_reproducible(model, **given.rows(model))
    return _in_openvino(model, given, "tensorflow")


ROADS: dict[str, Callable[[Files], Outputs]] = {
    "file in ONNX Runtime": partial(_in_onnxruntime, alignment="tensorflow"),
    "file in OpenVINO": partial(_file_in_openvino, alignment="tensorflow"),
    "exported program": exported,
    "trace": traced,
    "torch's numbers in ONNX Runtime": partial(_in_onnxruntime, alignment="pytorch"),
    "torch's numbers in OpenVINO": partial(_file_in_openvino, alignment="pytorch"),
}

SHARED = (
    ("exported program",),
    ("trace",),
    ("file in ONNX Runtime", "file in OpenVINO"),
    ("torch's numbers in ONNX Runtime", "torch's numbers in OpenVINO"),
)
"""Roads that begin with one file."""

TORCHS = tuple(name for name in ROADS if name.startswith("torch's"))
"""Those whose draws are torch's own: torch itself is the oracle."""


def _is_state(port: Any) -> bool:
    return "random_state" in port.get_names()


def _state(seed: int, alignment: str) -> np.ndarray:
    if alignment == "pytorch":
        return op.TorchState.from_seed(seed).to_array()
    return op.PhiloxState.for_run(seed).to_array()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of torch and of our exporter, and what torch prints."""
    disabled = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            open(os.devnull, "w") as nothing,
            contextlib.redirect_stdout(nothing),
            contextlib.redirect_stderr(nothing),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
