"""Rewrites a model in memory, in onnx-ir or in a file."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack, overload

import onnx
import onnx_ir as ir

from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.refusal import door
from onnx_philox._files.given import PATHS, Form, Given
from onnx_philox._files.tensors import misread_by_openvino
from onnx_philox._progress import Progress, ignore
from onnx_philox._rewriting.asked import OWNER, Asked, AskedWords, Draws, Inverted, PerRow
from onnx_philox._rewriting.in_onnx import rewrite_onnx as in_onnx
from onnx_philox._rewriting.look import AnyLook, OnnxLook, OpenvinoLook, look
from onnx_philox._rewriting.report import RandomNode, Report

if TYPE_CHECKING:
    import openvino

_FIND, _REWRITE, _REWRITE_FILE = (
    f"onnx_philox.rewriting.{name}" for name in ("find_random_nodes", "rewrite", "rewrite_file")
)

TO_IR = "The command 'onnx-philox rewrite model.onnx -o model.xml' writes an IR."
"""For a message of what writes ONNX alone."""

AnyPath = str | os.PathLike[str]
Model = onnx.ModelProto | ir.Model | AnyPath | bytes


@overload
def make_reproducible(
    model: onnx.ModelProto | ir.Model | bytes,
    **asked: Unpack[AskedWords],
) -> onnx.ModelProto: ...


@overload
def make_reproducible(model: AnyPath, **asked: Unpack[AskedWords]) -> Any: ...


@overload
def make_reproducible(model: openvino.Model, **asked: Unpack[AskedWords]) -> openvino.Model: ...


def make_reproducible(
    model: Model | openvino.Model,
    *,
    seed: int | None = None,
    keep_unknown: bool = False,
    per_row: PerRow = False,
    batch: str | None = None,
    alignment: str = TENSORFLOW,
    keep_seeds: bool = False,
    invert_bernoulli: Inverted = False,
    draw: Draws = MappingProxyType({}),
) -> onnx.ModelProto | openvino.Model:
    """Replaces every random node of a model, so that it draws the same numbers in every runtime.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, an `openvino.Model`, bytes or a path: an
            ONNX file, or an OpenVINO IR (.xml). The model given stays as it is. A file's external
            data is loaded; for a model too large for that see `rewriting.rewrite_file`.
        seed: None gives the model an input "random_state" (uint32[6], see
            `PhiloxState.for_run`) and an output "next_random_state", the state of the next run.
            0 to 2^63-1 makes the state a constant: every run draws what the model without seed
            draws from `PhiloxState.for_run(seed)`.
        keep_unknown: Whether random nodes that cannot be replaced, such as those of other
            domains, stay as they are, with a warning; otherwise they are an error.
        per_row: True gives each row of the batch a state of its own, so that its numbers depend on
            no other row: "random_state" is uint32[batch, 6] (see `row_states`), and so is
            "next_random_state". Every random node must draw rows of the batch, wherever it stands
            in their shapes, which the model must show; the names of nodes (or of their outputs,
            where they have none) say that the first dimension of those is the batch all the same.
        batch: The dimension that is the batch, with `per_row`: the name of a dynamic dimension of
            an input, or "x:1", dimension 1 of the input x; in a model of OpenVINO also a name of a
            Layout. None takes the first dimension of an input if that is dynamic, else the only
            dynamic one.
        alignment: "pytorch" draws what torch draws on a CPU: one generator goes through the nodes
            in the order of the file. "random_state" is then uint32[632] (see `TorchState`), and
            "next_random_state" the generator after the run. With a `seed`, it is
            `torch.manual_seed(seed)`. With `per_row` each row has a generator of its own. Not for
            models of OpenVINO.
        keep_seeds: Whether nodes of equal seeds draw equal numbers, as they do in the runtimes. In
            an OpenVINO model they are those that OpenVINO documents for the seeds; in a model of
            ONNX they are Philox's. Not for torch's numbers.
        invert_bernoulli: The names of Bernoullis that draw the complement: ONNX Runtime's are true
            with probability 1 - p, and ours, as ONNX says, with p. True means those that may be
            meant the other way: whose p is computed as 1 - x, or which a tool has inlined. False
            inverts none and warns of those whose share of ones moves; () does not warn of these.
        draw: Inputs that become draws inside the model, by their names, and the law of each:
            "normal", "normal(mean, scale)", "uniform", "uniform(low, high)", "bernoulli(p)", or
            "bits" for uint32; of the input's type. Its shape is that of the input, whose named
            dimensions another input must have; or stands behind the word ("normal[1, 16]"); else a
            new int64 input says it, such as "noise_shape" for "noise". With torch's numbers they
            are drawn first, in this order.

    Returns:
        The new model: an `openvino.Model` for one of OpenVINO's or an IR, which shares the
        weights; else a ModelProto. A model without random nodes comes back as it is: a ModelProto
        and an `openvino.Model` as the very same object.

    Raises:
        TypeError: `model`, `seed` or a random node is of a wrong type.
        ValueError: A random node breaks its rules or cannot be replaced, or `seed`, `per_row` or
            `batch` contradicts an earlier rewrite; with `per_row`, a node is not proved to draw
            rows of the batch, or there is a seed.
        ImportError: The model is OpenVINO's, and this version of OpenVINO is not supported.

    Examples:
        >>> from onnx.parser import parse_model
        >>> from onnx.reference import ReferenceEvaluator
        >>> import onnx_philox
        >>> model = make_reproducible(parse_model('''
        ...     <ir_version: 8, opset_import: ["": 17]>
        ...     g () => (float[3] noise) { noise = RandomNormal <shape = [3]> () }'''))
        >>> session = ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS)
        >>> state = onnx_philox.PhiloxState.for_run(42).to_array()
        >>> for _ in range(2):
        ...     noise, state = session.run(None, {"random_state": state})
        ...     print(noise)
        [-0.3010158   0.5185915  -0.15693986]
        [ 0.4260085  1.0465169 -0.4888052]
    """
    asked = Asked(
        seed=seed,
        keep_seeds=keep_seeds,
        per_row=per_row,
        batch=batch,
        alignment=alignment,
        keep_unknown=keep_unknown,
        invert_bernoulli=invert_bernoulli,
        draw=draw,
    )
    given = Given.of(OWNER, model)
    with given.kept_open():
        return look(given).rewritten(asked).model


def rewrite(
    model: ir.Model,
    *,
    seed: int | None = None,
    keep_unknown: bool = False,
    per_row: PerRow = False,
    batch: str | None = None,
    alignment: str = TENSORFLOW,
    keep_seeds: bool = False,
    invert_bernoulli: Inverted = False,
    draw: Draws = MappingProxyType({}),
) -> Report:
    """Replaces the random nodes of a model, in place, as `make_reproducible` does.

    Args:
        model: The model. An error leaves it as it was, but for functions that were inlined and
            inputs that have become draws.
        seed: As in `make_reproducible`.
        keep_unknown: As in `make_reproducible`.
        per_row: As in `make_reproducible`.
        batch: As in `make_reproducible`.
        alignment: As in `make_reproducible`.
        keep_seeds: As in `make_reproducible`.
        invert_bernoulli: As in `make_reproducible`.
        draw: As in `make_reproducible`.

    Returns:
        What was done.

    Raises:
        TypeError: As in `make_reproducible`.
        ValueError: As in `make_reproducible`.
    """
    with door(_REWRITE):
        Given.of(_REWRITE, model, {Form.ONNX_IR})
        asked = Asked(
            seed=seed,
            keep_seeds=keep_seeds,
            per_row=per_row,
            batch=batch,
            alignment=alignment,
            keep_unknown=keep_unknown,
            invert_bernoulli=invert_bernoulli,
            draw=draw,
        )
        return in_onnx.rewrite(model, asked)


def find_random_nodes(model: Model | openvino.Model) -> list[RandomNode]:
    """Lists the random nodes of a model, in the order of their streams; changes nothing.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model`, an `openvino.Model`, bytes or a path: an
            ONNX file, or an OpenVINO IR (.xml).

    Returns:
        A record of each; a node that cannot be replaced says why. Nodes that an earlier rewrite
        made are not listed. Of several nodes of OpenVINO's that make one draw, such as a normal
        number, the first is listed.

    Raises:
        ImportError: The model is OpenVINO's, and this version of OpenVINO is not supported.
        ValueError: A node of the model reads what is computed of it.
    """
    return look(Given.of(_FIND, model)).random_nodes


def rewrite_file(
    source: AnyPath,
    target: AnyPath,
    *,
    seed: int | None = None,
    keep_unknown: bool = False,
    per_row: PerRow = False,
    batch: str | None = None,
    alignment: str = TENSORFLOW,
    keep_seeds: bool = False,
    invert_bernoulli: Inverted = False,
    draw: Draws = MappingProxyType({}),
    progress: Progress | None = None,
) -> Report:
    """Rewrites a model file into another, without holding its weights in memory.

    An OpenVINO IR (.xml) becomes another one.

    Args:
        source: The file. Its external data stays in separate files. They are copied beside the
            target under the same names; if the folder is the same, both models use them.
        target: The file to write, which may be the source itself. A model without random nodes
            is copied as it is, except for numbers in fields that OpenVINO misreads: they are
            stored as raw data.
        seed: As in `make_reproducible`.
        keep_unknown: As in `make_reproducible`.
        per_row: As in `make_reproducible`.
        batch: As in `make_reproducible`.
        alignment: As in `make_reproducible`.
        keep_seeds: As in `make_reproducible`.
        invert_bernoulli: As in `make_reproducible`.
        draw: As in `make_reproducible`.
        progress: Called with the bytes written so far, the bytes in all, and the name of the
            file being written.

    Returns:
        What was done.

    Raises:
        TypeError: As in `make_reproducible`.
        ValueError: As in `make_reproducible`; or the file is not a model; or its external data is
            not in its folder, would be overwritten by the target, or would overwrite another file
            beside the target.
        OSError: A file cannot be read or written.
    """
    with door(_REWRITE_FILE):
        asked = Asked(
            seed=seed,
            keep_seeds=keep_seeds,
            per_row=per_row,
            batch=batch,
            alignment=alignment,
            keep_unknown=keep_unknown,
            invert_bernoulli=invert_bernoulli,
            draw=draw,
        )
        given = Given.of(_REWRITE_FILE, source, PATHS)
        written_to = given.target(target, for_ir=TO_IR)
        return write_rewritten(look(given), written_to, asked, progress)[0]


def write_rewritten(
    seen: AnyLook,
    target: Path,
    asked: Asked,
    progress: Progress | None = None,
) -> tuple[Report, AnyLook]:
    """Rewrites a file as `rewrite_file` does.

    Returns:
        What was done, and a look at the new model; the contents of large tensors may be in its file
        alone.
    """
    source = seen.given
    if isinstance(seen, OpenvinoLook):
        from onnx_philox._rewriting.in_openvino import files

        files.check_target(source, target)
        rewritten, report = seen.rewrite(asked)
        files.save(rewritten.model, target)
        return report, rewritten
    with source.opened_file() as file:
        report = seen.rewrite(asked)
        is_kept = not report.is_changed and not any(misread_by_openvino(file.proto))
        file.save(None if is_kept else seen.originals.to_proto(), target, progress or ignore)
    return report, OnnxLook(source, seen.originals)
