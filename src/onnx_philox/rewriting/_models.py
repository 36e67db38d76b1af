"""What is rewritten: a model in memory, in onnx-ir, or in a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir

from onnx_philox import _checks
from onnx_philox.rewriting import _rewrite
from onnx_philox.rewriting._originals import Originals
from onnx_philox.rewriting._recorded import OWNER
from onnx_philox.rewriting._report import RandomNode, Report

Model = onnx.ModelProto | ir.Model | str | os.PathLike[str]


def make_reproducible(
    model: Model, *, seed: int | None = None, keep_unknown: bool = False
) -> onnx.ModelProto:
    """Replaces every random node of a model, so that it draws the same numbers in every runtime.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model` or a path; none is changed. A file's
            external data is loaded; for a model too large for that see
            `onnx_philox.rewriting.rewrite_file`.
        seed: None gives the model an input "random_state" (uint32[6], see
            `PhiloxState.for_run`) and an output "next_random_state", the state of the next run.
            0 to 2^63-1 makes the state a constant: every run draws what the model without seed
            draws from `PhiloxState.for_run(seed)`.
        keep_unknown: Whether random nodes that cannot be replaced, such as those of other
            domains, stay as they are, with a warning; else they are an error.

    Returns:
        The new model. A model without random nodes comes back as it is: a ModelProto as the very
        same object.

    Raises:
        TypeError: `model` or `seed` is of a wrong type, or a random node is.
        ValueError: A random node breaks its rules or cannot be replaced, or `seed` contradicts an
            earlier rewrite of the model.
    """
    proto = _load(model)
    originals = Originals(proto)
    report = _rewrite.rewrite(originals.model, seed=seed, keep_unknown=keep_unknown)
    return originals.to_proto() if report.is_changed else proto


def find_random_nodes(model: Model) -> list[RandomNode]:
    """The random nodes of a model, in the order of their streams; the model is not changed.

    Args:
        model: An `onnx.ModelProto`, an `onnx_ir.Model` or a path.

    Returns:
        A record of each; those that cannot be replaced say why. A node that an earlier rewrite
        made is none.
    """
    if not isinstance(model, ir.Model):
        model = Originals(_load(model)).model
    return _rewrite.find_random_nodes(model)


def rewrite_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    seed: int | None = None,
    keep_unknown: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> Report:
    """Rewrites a file into another, as `make_reproducible` does."""
    originals = Originals(onnx.load(source))
    report = _rewrite.rewrite(originals.model, seed=seed, keep_unknown=keep_unknown)
    onnx.save(originals.to_proto(), target)
    if progress is not None:
        progress(1, 1, os.fspath(target))
    return report


def _load(model: Any) -> onnx.ModelProto:
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, ir.Model):
        return ir.to_proto(model)
    if isinstance(model, (str, os.PathLike)):
        return onnx.load(model)
    return _checks.refuse(
        OWNER,
        "the model",
        f"of type {type(model).__name__}",
        "an onnx.ModelProto, an onnx_ir.Model, or a path",
        "Pass one of these.",
        TypeError,
    )
