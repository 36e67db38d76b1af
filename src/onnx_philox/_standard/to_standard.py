"""`to_standard_nodes`: a model whose draws no longer need this package."""

from __future__ import annotations

import itertools
import pathlib
from dataclasses import replace

import onnx
import onnx_ir as ir

from onnx_philox._contract import choices
from onnx_philox._contract.operators import DOMAIN
from onnx_philox._contract.refusal import door
from onnx_philox._files.given import ONNX, Form, Given, InMemory
from onnx_philox._files.model_file import ModelFile
from onnx_philox._files.tensors import misread_by_openvino
from onnx_philox._models import onnx_graphs
from onnx_philox._models.emitter import Names
from onnx_philox._models.ours import inputs_of
from onnx_philox._models.untouched import Originals
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting.api import AnyPath, Model
from onnx_philox._rewriting.asked import Asked, PerRow
from onnx_philox._rewriting.in_onnx.earlier import OnnxDraws
from onnx_philox._rewriting.look import OnnxLook
from onnx_philox._rewriting.report import Report
from onnx_philox._standard import emitting, made, reading
from onnx_philox._standard.builder import FUNCTION_DOMAIN, Builder, Library
from onnx_philox._standard.for_web import for_web
from onnx_philox._standard.targets import TARGETS, DrawnNode, OpenVino, Target

OWNER = "onnx_philox.to_standard_nodes"
_FILE = "onnx_philox.rewriting.to_standard_file"
_INEXACT = ("refuse", "allow")
WEB = "web"
"""The target whose draws a page shows: that of onnxruntime in other clothes."""
NAMES = (*TARGETS, WEB)
"""All targets."""
ALLOWED = f"{', '.join(map(repr, TARGETS))} or {WEB!r}"
"""All targets, as a sentence lists them."""
OTHERS_READ = (
    "Choose one of these. Other runtimes, such as TVM and tract, read what is made for openvino, "
    "which has no functions."
)
"""What to do about another name."""


def to_standard_nodes(
    model: Model,
    *,
    target: str = "onnxruntime",
    inexact: str = "refuse",
) -> onnx.ModelProto:
    """Replaces every node of this package by nodes of ONNX's own domain, which draw the same bits.

    Nodes:
        before: (state, shape, parameters) -> RandomNormal -> values, next state
        after:  (state, shape) -> words -> (words, parameters) -> values; state -> next state

    The result runs where no plugin can go: in onnxruntime-web and mobile builds for instance. It
    needs nothing of this package.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, bytes or a path; the model given stays as
            it is. Its opset must be 18 or newer, or one that `onnx.version_converter` raises to 18.
        target: "onnxruntime" draws in 64-bit integers, in functions that draws share. "openvino"
            draws in 16-bit limbs and has no functions; compile it with the precision hint f32. TVM
            and tract read it too. "web" is "onnxruntime" without functions, whose draws are outputs
            for the page examples/web/drop.html.
        inexact: "refuse" refuses what the target would not compute exactly. "allow" makes nodes
            for it all the same, where there are any.

    Returns:
        The new model. A model without nodes of this package comes back as it is: a ModelProto as
        the very same object.

    Raises:
        TypeError: `model`, or an input of a node, is of a wrong type.
        ValueError: A node breaks its rules, what it draws is not exact in the target, or the opset
            cannot be raised.

    Warns:
        UserWarning: Nodes of the model were rewritten to raise its opset.

    Examples:
        >>> from onnx.reference import ReferenceEvaluator
        >>> import onnx_philox
        >>> model = onnx_philox.graphs.random_uniform([3], 0, 1, "f32", global_seed=42)
        >>> session = ReferenceEvaluator(to_standard_nodes(model))
        >>> session.run(None, {})[0]
        array([0.8354591 , 0.9162973 , 0.49464953], dtype=float32)
    """
    chosen = _target(target, inexact)
    given = Given.of(OWNER, model, ONNX)
    with given.opened() as file:
        if target == WEB:
            proto = onnx.ModelProto()
            proto.CopyFrom(file.proto)
            return for_web(proto, lambda shown: _standard(shown, chosen, inexact, file))
        return _standard(file.proto, chosen, inexact, file)


def _standard(
    proto: onnx.ModelProto,
    target: Target,
    inexact: str,
    file: ModelFile | InMemory,
) -> onnx.ModelProto:
    """What is made of a model, with its weights."""
    result = _converted(proto, target, inexact, file.folder)
    file.load_weights(result)
    return result


def to_standard_file(
    source: AnyPath,
    target_file: AnyPath,
    *,
    target: str = "onnxruntime",
    inexact: str = "refuse",
    seed: int | None = None,
    keep_unknown: bool = False,
    per_row: PerRow = False,
    progress: Progress | None = None,
) -> Report:
    """Rewrites a model file as `rewrite_file` does, then its draws as `to_standard_nodes` does.

    Args:
        source: The file; see `rewrite_file`.
        target_file: The file to write.
        target: As in `to_standard_nodes`, but for "web".
        inexact: As in `to_standard_nodes`.
        seed: As in `make_reproducible`.
        keep_unknown: As in `make_reproducible`.
        per_row: As in `make_reproducible`.
        progress: As in `rewrite_file`.

    Returns:
        What the rewrite did. Nodes of this package that the model had before are among those that
        were recorded.

    Raises:
        TypeError: As in `make_reproducible`.
        ValueError: As in both, and in `rewrite_file`.
        OSError: A file cannot be read or written.

    Warns:
        UserWarning: As in both.
    """
    with door(_FILE):
        asked = Asked(seed=seed, per_row=per_row, keep_unknown=keep_unknown)
        given = Given.of(_FILE, source, {Form.FILE})
        place = given.target(target_file)
        return write_standard(OnnxLook(given), place, asked, target, inexact, progress)


def write_standard(
    seen: OnnxLook,
    target_file: pathlib.Path,
    asked: Asked,
    target: str,
    inexact: str,
    progress: Progress | None = None,
) -> Report:
    """Rewrites a file as `to_standard_file` does."""
    choices.check_choice(OWNER, "target", target, TARGETS, OTHERS_READ)
    chosen = _target(target, inexact)
    with seen.given.opened_file() as file:
        report = seen.rewrite(asked)
        rewritten = seen.originals.to_proto() if report.is_changed else file.proto
        result = _converted(rewritten, chosen, inexact, file.folder)
        is_same = result is file.proto
        is_kept = is_same and not any(misread_by_openvino(file.proto))
        to_save = None if is_kept else result
        file.save(to_save, target_file, progress or ignore)
    return report


def _target(name: str, inexact: str) -> Target:
    """The target of a name; refuses another word for what is inexact, too."""
    choices.check_choice(OWNER, "target", name, NAMES, OTHERS_READ, ALLOWED)
    choices.check_choice(OWNER, "inexact", inexact, _INEXACT, "Choose one of these.")
    if name == WEB:
        return TARGETS["onnxruntime"]
    return TARGETS[name]


def _converted(
    proto: onnx.ModelProto,
    target: Target,
    inexact: str,
    folder: pathlib.Path | None,
) -> onnx.ModelProto:
    originals = Originals(proto, folder, owner=OWNER)
    model = originals.model
    is_inexact_allowed = inexact == "allow"
    draws = reading.draws(model, target, OWNER, is_inexact_allowed=is_inexact_allowed)
    if not draws:
        return proto
    state = OnnxDraws(model).state
    taken = Names(model)
    # Short ones, since a draw may need hundreds.
    names = (taken.unique(f"p{i:x}") for i in itertools.count())
    library = None
    if target.has_functions:
        opset = onnx_graphs.onnx_opset_of(model.opset_imports)
        library = Library(opset)

    def builder() -> Builder:
        return Builder(library, names.__next__)

    shared: dict[ir.Node, ir.Value] = {}
    if isinstance(target, OpenVino):
        shared = emitting.words(draws, target, builder)
    for node, draw in draws.items():
        words = shared.get(node)
        _replace(node, draw, target, builder(), words)
    if library is not None:
        for function in library.functions.values():
            identifier = function.identifier()
            model.functions[identifier] = function
        model.opset_imports[FUNCTION_DOMAIN] = 1
    model.opset_imports.pop(DOMAIN, None)
    result = originals.to_proto()
    metadata = {p.key: p.value for p in result.metadata_props}
    state_name = ""
    if state is not None:
        state_name = state.name or ""
    made.record_made(metadata, target, draws.values(), state_name)
    onnx.helper.set_model_props(result, metadata)
    return result


def _replace(
    node: ir.Node,
    draw: DrawnNode,
    target: Target,
    b: Builder,
    shared_words: ir.Value | None,
) -> None:
    # The inputs may be outputs of a draw that has been replaced since.
    draw = replace(draw, inputs=inputs_of(node))
    declared = zip(draw.operator.outputs, node.outputs, strict=False)
    needs_state = False
    for output, value in declared:
        if output.is_state and onnx_graphs.is_wanted(value):
            needs_state = True
    outputs = emitting.emit(
        b,
        target,
        draw,
        needs_state=needs_state,
        shared_words=shared_words,
    )
    for ours, theirs in zip(outputs, node.outputs, strict=False):
        if ours is not None:
            onnx_graphs.take_over(ours, theirs)
    node.prepend(b.nodes)
    onnx_graphs.remove(node)
