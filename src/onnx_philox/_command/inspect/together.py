"""Probes in one model: a runtime takes longer to load a model than to load more nodes of it.

A worker answers for each of them by itself. Where a runtime does not run all of them, `trials` asks
one after the other.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import onnx

from onnx_philox._command.inspect.probes import Probe


def line_of(probes: Sequence[Probe]) -> str | None:
    """The line for a worker that asks for all of these probes of ONNX; None for fewer than two.

    The first model has each node as its probe has it, and the second with another seed, if the node
    has one.
    """
    if len(probes) < 2:
        return None
    asked = [json.loads(probe.line) for probe in probes]
    models = [[_read(model) for model in each["models"]] for each in asked]
    both = [_joined([of_one[0] for of_one in models]), _joined([of_one[-1] for of_one in models])]
    feeds = []
    parts = []
    for each, of_one in zip(asked, models, strict=True):
        feeds += each["feeds"]
        parts.append(_part(each, len(of_one[0].graph.output)))
    written = [base64.b64encode(model.SerializeToString()).decode() for model in both]
    return json.dumps({"models": written, "feeds": feeds, "parts": parts})


def _read(model: str) -> onnx.ModelProto:
    read = onnx.ModelProto()
    read.ParseFromString(base64.b64decode(model))
    return read


def _part(asked: dict[str, Any], outputs: int) -> dict[str, Any]:
    """What a worker must know of one probe among others: all but its models and feeds."""
    part = {name: said for name, said in asked.items() if name not in ("models", "feeds")}
    return {**part, "outputs": outputs}


def _joined(models: Sequence[onnx.ModelProto]) -> onnx.ModelProto:
    """One model with the graphs of all, which know nothing of each other."""
    joined = onnx.ModelProto()
    joined.ir_version = models[0].ir_version
    joined.graph.name = "probes"
    versions = {}
    for index, model in enumerate(models):
        versions.update({opset.domain: opset.version for opset in model.opset_import})
        graph = joined.graph
        _rename(model.graph, f"probe_{index}_")
        graph.node.extend(model.graph.node)
        graph.input.extend(model.graph.input)
        graph.output.extend(model.graph.output)
        graph.initializer.extend(model.graph.initializer)
        graph.value_info.extend(model.graph.value_info)
    for domain, version in versions.items():
        joined.opset_import.add(domain=domain, version=version)
    return joined


def _rename(graph: onnx.GraphProto, prefix: str) -> None:
    """Gives all names of a graph without subgraphs a prefix."""
    for node in graph.node:
        node.name = prefix + node.name
        node.input[:] = [name and prefix + name for name in node.input]
        node.output[:] = [name and prefix + name for name in node.output]
    for named in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        named.name = prefix + named.name
    for value in (*graph.input, *graph.output, *graph.value_info):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = prefix + dimension.dim_param
