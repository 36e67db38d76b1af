"""The export: the table of translations, and the state that they wait for."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from onnx_philox._contract.arguments import check_bool
from onnx_philox._contract.inputs import TENSORFLOW
from onnx_philox._contract.refusal import RefusalError, refuse, refusing_as
from onnx_philox._contract.schemas import register_schemas
from onnx_philox._contract.streams import AWAITS_STATE, KNOWS_STRIDES
from onnx_philox._files import target
from onnx_philox._models.ours import awaits_state
from onnx_philox._rewriting.api import TO_IR
from onnx_philox._rewriting.asked import Asked, PerRow
from onnx_philox._rewriting.in_onnx.rewrite_onnx import rewrite
from onnx_philox._torch.calls.programs import DECOMPOSED, copied, is_decomposed
from onnx_philox._torch.checks import carried, two_calls
from onnx_philox._torch.checks.check import compare, describe
from onnx_philox._torch.checks.verify import verify_export
from onnx_philox._torch.exporter.prepared import PreparedProgram
from onnx_philox._torch.exporter.program import (
    check_program,
    exported,
    functional,
    operations,
    place_of,
    require_torch,
    unchecked,
)
from onnx_philox._torch.exporter.sets_generator import watched
from onnx_philox._torch.exporter.truncated import truncated_normals
from onnx_philox._torch.generator import GENERATOR

_EXPORT = "onnx_philox.torch.export"


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What `torch.onnx.export` takes as ``custom_translation_table``: our nodes for torch's draws.

    It translates ``aten::rand``, ``randn``, ``randint`` (all three also ``_like``), ``normal``,
    ``uniform``, ``exponential``, ``log_normal``, ``cauchy``, ``bernoulli``, ``multinomial``,
    ``dropout``, ``native_dropout``, the dropout of ``scaled_dot_product_attention``, and what torch
    turns their in-place forms into. Each draw is a node with a stream of its own, so no optimiser
    merges two of them.

    The nodes have no state yet: the model draws the same numbers in every run until
    `make_reproducible`, the command ``rewrite`` or `Pipeline` gives it one. `export` does both.

    Returns:
        A new table, for one export. Entries of your own go beside it: ``{**translations(), ...}``.

    Raises:
        ImportError: PyTorch or onnxscript is not installed.
    """
    require_torch()
    from onnx_philox._torch.exporter.translations import table

    register_schemas()
    return table()


def export(
    model: Any,
    args: Sequence[Any] = (),
    f: str | PathLike[str] | None = None,
    *,
    seed: int | None = None,
    per_row: PerRow = False,
    batch: str | None = None,
    alignment: str = TENSORFLOW,
    verify: bool = False,
    external_data: bool = True,
    custom_translation_table: Mapping[Callable[..., Any], Any] | None = None,
    **options: Any,
) -> Any:
    """Exports a module with `torch.onnx.export`, its draws as nodes of this package with a state.

    The model is what `make_reproducible` makes of one, with the same inputs, outputs and streams:
    nothing is left to rewrite.

    Draws of Beta and Dirichlet distributions run in ONNX Runtime alone: they divide numbers of f64,
    which OpenVINO's CPU plugin does not compute.

    Args:
        model: A `torch.nn.Module` in the mode that it is to be served in (dropout draws in training
            mode only), or a `torch.export.ExportedProgram`.
        args: Its example inputs.
        f: The file to write; None writes none.
        seed: As in `make_reproducible`.
        per_row: As in `make_reproducible`; it needs a batch that is dynamic (``dynamic_shapes``).
        batch: As in `make_reproducible`.
        alignment: As in `make_reproducible`: with "pytorch" the model draws what the module draws
            in torch after `torch.manual_seed(seed)`.
        verify: Whether to run both and compare them, as `verify_export` does. The verdict is the
            attribute ``verdict`` of what is returned.
        external_data: Whether `f` has its weights in a file beside it.
        custom_translation_table: Entries of your own, which come before ours.
        options: What else `torch.onnx.export` takes, but for ``dynamo``.

    Returns:
        The `torch.onnx.ONNXProgram`. Its ``model_proto`` is the model.

    Raises:
        ImportError: PyTorch or onnxscript is not installed.
        TypeError: As in `make_reproducible`; or `model`, `args`, `f` or a word is of a wrong type.
        ValueError: As in `make_reproducible`; or the program has an operation that cannot be
            exported, which the message names, with its line where torch knows it; or a value
            decides what is computed, as in a loop that draws until all fit; or `f` cannot be
            written, which is said before the export.
        torch.onnx.OnnxExporterError: torch cannot export the module for another reason.

    Warns:
        UserWarning: The exported model draws nothing, or not all that the program draws; or noise
            depends on a buffer or an attribute that forward changes, which a model does not keep
            from run to run; or the module sets torch's generator; or `run_decompositions` has
            decomposed the program, where torch loses draws; or the verdict is that it draws
            otherwise than torch.
    """
    if options.pop("dynamo", None) not in (None, True):
        refuse(_EXPORT, "dynamo", False, "True, or left out", "Leave it out.")
    require_torch()
    check_program(_EXPORT, model, args)
    with refusing_as(_EXPORT):
        asked = Asked(seed=seed, per_row=per_row, batch=batch, alignment=alignment)
    for name, word in (("verify", verify), ("external_data", external_data)):
        check_bool(_EXPORT, name, word)
    own: Any = {}
    if custom_translation_table is not None:
        own = custom_translation_table
    if not isinstance(own, Mapping):
        kind = type(own).__name__
        allowed = "a mapping of torch's operators to functions"
        remedy = "Pass a dict, as torch.onnx.export takes it."
        refuse(_EXPORT, "custom_translation_table", kind, allowed, remedy, TypeError)
    if f is not None:
        _check_place(f)
    table = {**translations(), **own}
    import torch

    prepared = PreparedProgram(asked)
    try:
        with (
            _generator_watched() as sets,
            unchecked(),
            truncated_normals(as_torch=asked.generator is GENERATOR),
            prepared.capturing(),
            warnings.catch_warnings(),
        ):
            # Here it is intended, where there is dropout.
            warnings.filterwarnings("ignore", "Exporting a model while it is in training mode")
            is_program = isinstance(model, torch.export.ExportedProgram)
            given = model
            if is_program:
                given = prepared.of(copied(model))
            program: Any = torch.onnx.export(
                given,
                tuple(args),
                dynamo=True,
                custom_translation_table=table,
                **options,
            )
    except torch.onnx.OnnxExporterError as error:
        # The exporter reports it as one of many errors of its own.
        for cause in _causes(error):
            if isinstance(cause, RefusalError):
                raise cause from None
        _name_operation(error, model, args, options)
        raise
    if sets:
        warnings.warn(
            f"{_EXPORT}: the module sets torch's generator in forward, as torch.manual_seed and "
            "fork_rng do. The model does not: it draws on from its state. Take the call out of "
            "forward.",
            stacklevel=2,
        )
    was_decomposed = is_program and is_decomposed(model)
    if was_decomposed:
        warnings.warn(f"{_EXPORT}: {DECOMPOSED}", stacklevel=2)
    if prepared.unseen:
        warnings.warn(
            f"{_EXPORT}: the exported program could not be run, to see how its tensors lie in "
            f"memory, since {prepared.unseen}. Where torch states that otherwise, draws into them "
            "differ: see verify=True.",
            stacklevel=2,
        )
    kept = two_calls.carried(model, args, options.get("kwargs"), prepared.changed)
    if program.exported_program is not None:
        of_program = carried.carried(program.exported_program, prepared.kept)
        # Each name once, in their order.
        names = (*of_program, *kept)
        kept = tuple(dict.fromkeys(names))
    if kept:
        warnings.warn(f"{_EXPORT}: {carried.said(kept)}", stacklevel=2)
    if program.exported_program is not None:
        drawn = operations(program.exported_program)
        found = compare(drawn, program.model.clone())
        problems = describe(found)
        if problems:
            text = f"{_EXPORT}: the model does not draw what the program draws: {problems}"
            warnings.warn(text, stacklevel=2)
    if prepared.kept:
        del program.model.graph.outputs[-prepared.kept :]
    for node in program.model.graph.all_nodes():
        if awaits_state(node):
            node.metadata_props[AWAITS_STATE] = KNOWS_STRIDES
    report = rewrite(program.model, asked)
    if not report.replaced and not was_decomposed:
        warnings.warn(f"{_EXPORT}: {_silence(model)}", stacklevel=2)
    if f is not None:
        program.save(f, external_data=external_data)
    if verify:
        given = options.get("kwargs")
        program.verdict = verify_export(model, args, program.model, kwargs=given)
        if not program.verdict.is_ok:
            warnings.warn(f"{_EXPORT}: {program.verdict}", stacklevel=2)
    return program


def _check_place(f: Any) -> None:
    """Refuses before the export what the model could not be written to."""
    folder = target.check(_EXPORT, f, "f", for_ir=TO_IR).parent
    if not folder.is_dir():
        is_what = "which is none" if folder.exists() else "which does not exist"
        remedy = "Make it, or choose another."
        refuse(
            _EXPORT,
            "f",
            f"{str(folder)!r}, {is_what}",
            "a file in a folder",
            remedy,
        )


@contextlib.contextmanager
def _generator_watched() -> Iterator[list[bool]]:
    """Leaves torch's generator as it is; the list is not empty if the module sets it meanwhile.

    To trace a module draws nothing. What sets it back, as fork_rng does, is seen when it is called.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        # Nobody sets it to this by chance.
        nobodys_seed = int.from_bytes(os.urandom(8), "little")
        torch.default_generator.manual_seed(nobodys_seed)
        before = torch.get_rng_state()
        with watched() as sets:
            try:
                yield sets
            finally:
                if not torch.equal(before, torch.get_rng_state()):
                    sets.append(True)


def _name_operation(
    error: BaseException,
    model: Any,
    args: Sequence[Any],
    options: Mapping[str, Any],
) -> None:
    """Refuses in a sentence what torch's exporter has no translation of."""
    text = "\n".join(map(str, _causes(error)))
    generator = re.search(r"(aten::\w+)\(\) Expected a value of type 'Optional\[Generator", text)
    if generator is not None:
        remedy = "Leave it out: the model's state says what is drawn."
        refuse(generator[1], "generator", "a torch.Generator", "None", remedy)
    if "randomness error mode" in text:
        given = "one in vmap or associative_scan"
        allowed = "one that says how: the same, or different"
        remedy = "Pass randomness='different' to torch.vmap, or draw before associative_scan."
        refuse(_EXPORT, "a draw of many at once", given, allowed, remedy)
    if "GuardOnDataDependentSymNode" in text:
        line = re.search(r'raised this error:\s+File "[^"]*?([^"/\\]*)", line (\d+)', text)
        place = ""
        if line is not None:
            place = f" ({line[1]}:{line[2]})"
        refuse(
            _EXPORT,
            "what forward decides",
            f"a branch or loop that a value decides{place}, such as one that draws until all fit",
            "decided by shapes and by Python's numbers",
            "Draw a fixed number of candidates and take the first that fits, with torch.where or "
            "gather; or write it with torch.cond or torch.while_loop.",
        )
    calls = r"OpOverload\(op='([\w.]+)'|torch\._higher_order_ops\.(\w+)"
    missing = re.search(rf"No ONNX function found for <(?:{calls})", text)
    if missing is None:
        return

    import torch

    place = ""
    with contextlib.suppress(Exception), warnings.catch_warnings():
        # For the line alone, which the exporter does not say. torch warns of its own deprecations.
        warnings.simplefilter("ignore")
        program = exported(
            model,
            args,
            options.get("kwargs"),
            options.get("dynamic_shapes"),
        )
        if missing[1]:
            place = place_of(functional(program), missing[1])
        if missing[1] and not place:
            # A part of what the module calls, into which the exporter has taken it apart.
            parts = {
                **torch.export.default_decompositions(),
                **torch._decomp.decomposition_table,
            }
            place = place_of(program.run_decompositions(parts), missing[1])
    name = missing[1] or f"higher_order.{missing[2]}"
    given = name.replace(".", "::", 1)
    if place:
        given += f" ({place})"
    refuse(
        _EXPORT,
        "an operation of the program",
        f"{given}, which has no translation",
        "one of torch.onnx, or of onnx_philox.torch.translations()",
        "Write it with these, or pass a function for it in custom_translation_table.",
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _silence(model: Any) -> str:
    """Why an exported model may draw nothing."""
    is_off = getattr(model, "training", True) is False and any(
        "Dropout" in type(module).__name__ for module in model.modules()
    )
    if is_off:
        return (
            "the model draws nothing, since its dropout is in evaluation mode: call train() on "
            "the dropout modules before the export."
        )
    return (
        "the model draws nothing: noise that NumPy or __init__ makes is a constant, so make it in "
        "forward, with torch's own functions."
    )
