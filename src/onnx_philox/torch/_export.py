"""The export: the table of translations, and the state that they wait for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from onnx_philox import _backends
from onnx_philox._contract.refusal import RefusalError, refuse
from onnx_philox._contract.schemas import register_schemas
from onnx_philox._rewriting.passes.order import PerRow, check_seed, rewrite

_EXPORT = "onnx_philox.torch.export"


def translations() -> dict[Callable[..., Any], Callable[..., Any]]:
    """What `torch.onnx.export` takes as ``custom_translation_table``: our nodes for torch's draws.

    It translates ``aten::rand``, ``randn``, ``randint`` (all three also ``_like``), ``normal``,
    ``uniform``, ``bernoulli``, ``multinomial``, ``dropout``, ``native_dropout``, the dropout of
    ``scaled_dot_product_attention``, and what torch turns their in-place forms into. Each draw is a
    node with a stream of its own, so no optimiser merges two of them.

    The nodes have no state yet: the model draws the same numbers in every run until
    `make_reproducible`, the command ``rewrite`` or `Pipeline` gives it one. `export` does both.

    Returns:
        A new table, for one export. Entries of your own go beside it: ``{**translations(), ...}``.

    Raises:
        ImportError: PyTorch or onnxscript is not installed.
    """
    for package in ("torch", "onnxscript"):
        try:
            __import__(package)
        except ImportError as error:
            raise _backends.NotInstalledError("onnx_philox.torch", package, "torch") from error
    from onnx_philox.torch import _translations

    register_schemas()
    return _translations.Translations().table()


def export(
    model: Any,
    args: Sequence[Any] = (),
    f: str | PathLike[str] | None = None,
    *,
    seed: int | None = None,
    per_row: PerRow = False,
    external_data: bool = True,
    custom_translation_table: Mapping[Callable[..., Any], Any] | None = None,
    **options: Any,
) -> Any:
    """Exports a module with `torch.onnx.export`, its draws as nodes of this package with a state.

    The model is what `make_reproducible` makes of one, with the same inputs, outputs and streams:
    nothing is left to rewrite.

    Args:
        model: A `torch.nn.Module` in the mode that it is to be served in (dropout draws in training
            mode only), or a `torch.export.ExportedProgram`.
        args: Its example inputs.
        f: The file to write; None writes none.
        seed: As in `make_reproducible`.
        per_row: As in `make_reproducible`; it needs a batch that is dynamic (``dynamic_shapes``).
        external_data: Whether `f` has its weights in a file beside it.
        custom_translation_table: Entries of your own, which come before ours.
        options: What else `torch.onnx.export` takes, but for ``dynamo`` and ``verify``.

    Returns:
        The `torch.onnx.ONNXProgram`. Its ``model_proto`` is the model.

    Raises:
        ImportError: PyTorch or onnxscript is not installed.
        TypeError: As in `make_reproducible`.
        ValueError: As in `make_reproducible`.
        torch.onnx.OnnxExporterError: torch cannot export the module.

    Warns:
        UserWarning: The exported model draws nothing.
    """
    for option in ("dynamo", "verify"):
        if options.get(option) not in (None, option == "dynamo"):
            allowed = f"{option == 'dynamo'}, or left out"
            refuse(_EXPORT, option, options[option], allowed, "Leave it out.")
    options.pop("dynamo", None)
    check_seed(seed, _EXPORT)
    table = {**translations(), **(custom_translation_table or {})}
    import torch

    try:
        with warnings.catch_warnings():
            # Here it is intended, where there is dropout.
            warnings.filterwarnings("ignore", "Exporting a model while it is in training mode")
            program: Any = torch.onnx.export(
                model, tuple(args), dynamo=True, custom_translation_table=table, **options
            )
    except torch.onnx.OnnxExporterError as error:
        # The exporter reports it as one of many errors of its own.
        raise _refusal_in(error) or error from None
    report = rewrite(program.model, seed=seed, per_row=per_row)
    if not report.replaced:
        warnings.warn(f"{_EXPORT}: {_silence(model)}", stacklevel=2)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


def _refusal_in(error: BaseException) -> RefusalError | None:
    """The refusal that led to an error; None where it was none of ours."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, RefusalError):
        cause = cause.__cause__
    return cause


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
