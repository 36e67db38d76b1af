"""What `rewrite --standard --target web` makes: a model whose draws a page can show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import inliner

from onnx_philox import rewriting
from onnx_philox._contract import checks
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._files.given import Given
from onnx_philox._files.new_files import NewFiles
from onnx_philox._files.tensors import subgraphs
from onnx_philox._progress import Progress
from onnx_philox._rewriting import api
from onnx_philox._rewriting.asked import Asked
from onnx_philox._runtimes.models import show_drawn

KEY = "onnx_philox.web"
"""The key of the model's metadata for a page."""

_VERSION = 1
_LARGEST = 2**31 - 1  # of a message of protobuf


def write_for_web(
    source: Given, target: Path, inexact: str, asked: Asked, progress: Progress
) -> rewriting.Report:
    """Rewrites a file into one of standard nodes whose draws are outputs, in no functions.

    Its metadata names what draws: a GPU may round divisions and square roots in its own way, so a
    page leaves these nodes to WebAssembly. Weights that lie beside the model come into the file.

    Raises:
        ValueError: As in `to_standard_file`; or the file would be too large for protobuf.
    """
    with NewFiles() as files:
        # Beside the target, where there is room for the weights.
        between = files.folder_beside(target) / "model.onnx"
        report = api.write_rewritten(source, between, asked, progress)
        model = onnx.load(between)
    drawn = show_drawn(model)
    others = {
        name
        for node in _nodes(model.graph)
        if node.domain != DOMAIN
        for name in node.output
        if name
    }
    standard = rewriting.to_standard_nodes(model, target="onnxruntime", inexact=inexact)
    standard = inliner.inline_local_functions(standard)
    drawing = _name(standard, others) if report.replaced or report.recorded else []
    draws = [{"output": name, "operator": operator} for name, operator in drawn.items()]
    content = {"version": _VERSION, "draws": draws, "nodes": drawing}
    metadata = {entry.key: entry.value for entry in standard.metadata_props}
    metadata[KEY] = json.dumps(content, separators=(",", ":"))
    onnx.helper.set_model_props(standard, metadata)
    if standard.ByteSize() > _LARGEST:
        allowed = f"at most {_LARGEST:,} bytes, the most that protobuf reads"
        remedy = "Choose the target onnxruntime, which keeps weights beside the model."
        checks.refuse("rewrite", "the model", f"{standard.ByteSize():,} bytes", allowed, remedy)
    with NewFiles() as files, files.open(target) as file:
        file.write(standard.SerializeToString())
    return report


def _name(model: onnx.ModelProto, others: set[str]) -> list[str]:
    """Gives every node a name of its own; returns those of the nodes that draw."""
    taken: set[str] = set()
    drawing = []
    for i, node in enumerate(_nodes(model.graph)):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{i}_"
        taken.add(node.name)
        # Nodes of a rewrite compute the state, and have such names.
        if node.name.startswith(f"{DOMAIN}.") or not others.intersection(node.output):
            drawing.append(node.name)
    return drawing


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, also inside others."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from _nodes(inner)
