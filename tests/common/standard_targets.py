"""Runs models of standard nodes in each target, with nothing of this package in the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
from onnx import TensorProto, helper

from onnx_philox import to_standard_nodes
from tests.common.foreign import Arrays, nodes
from tests.common.runtimes import BFLOAT16, request_of

Loaded = Callable[[Arrays], list[Any]]
"""Runs a model that is loaded once."""


def loaded_in_onnxruntime(model: onnx.ModelProto, *, optimised: bool) -> Loaded:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimised else level.ORT_DISABLE_ALL
    model, is_bf16 = _without_bf16(model)
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def run(feeds: Arrays) -> list[Any]:
        feeds = {k: v.astype(np.float32) if v.dtype == BFLOAT16 else v for k, v in feeds.items()}
        outputs = session.run(None, feeds)
        return [o.astype(BFLOAT16) if b else o for o, b in zip(outputs, is_bf16, strict=True)]

    return run


def _without_bf16(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[bool]]:
    """The model with inputs and outputs of bf16 as f32, which is exact: NumPy has no bf16."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    types = [value.type.tensor_type for value in (*graph.output, *graph.input)]
    is_bf16 = [type_.elem_type == TensorProto.BFLOAT16 for type_ in types]
    for value, type_, is_wanted in zip((*graph.output, *graph.input), types, is_bf16, strict=True):
        if not is_wanted:
            continue
        type_.elem_type = TensorProto.FLOAT
        is_input = value in graph.input
        inner = f"{value.name}_bf16"
        for node in graph.node:
            names = node.input if is_input else node.output
            names[:] = [inner if name == value.name else name for name in names]
        if is_input:
            cast = helper.make_node(
                "Cast",
                [value.name],
                [inner],
                to=TensorProto.BFLOAT16,
            )
        else:
            cast = helper.make_node(
                "Cast",
                [inner],
                [value.name],
                to=TensorProto.FLOAT,
            )
        graph.node.insert(0 if is_input else len(graph.node), cast)
    return copy, is_bf16[: len(graph.output)]


def loaded_in_openvino(model: onnx.ModelProto, *, optimised: bool) -> Loaded:
    """On the CPU plugin; unoptimised, without fused subgraphs of its own."""
    core = ov.Core()
    read = core.read_model(model.SerializeToString())
    # Its reference code has no BitwiseAnd, so the plugin it is.
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    if not optimised:
        config |= {"SNIPPETS_MODE": "DISABLE", "EXECUTION_MODE_HINT": "ACCURACY"}
    compiled = core.compile_model(read, "CPU", config)
    run = request_of(compiled)
    # It drops an input that nothing reads, and gives one several names.
    named = {p.get_any_name(): p.get_node().get_friendly_name() for p in compiled.inputs}
    return lambda feeds: run({name: feeds[friendly] for name, friendly in named.items()})


LOAD: dict[str, Callable[..., Loaded]] = {
    "onnxruntime": loaded_in_onnxruntime,
    "openvino": loaded_in_openvino,
}


RUN: dict[str, Callable[..., list[Any]]] = {
    target: lambda model, feeds, *, optimised, load=load: load(model, optimised=optimised)(feeds)
    for target, load in LOAD.items()
}


def loaded(target: str, model: onnx.ModelProto, *, optimised: bool = True) -> Loaded:
    """A model of this package, made of standard nodes and loaded: for runs one after another."""
    standard = to_standard_nodes(model, target=target)
    onnx.checker.check_model(standard, full_check=True)
    assert all(node.domain != "onnx_philox" for node in nodes(standard))
    return LOAD[target](standard, optimised=optimised)
