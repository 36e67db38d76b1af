"""Converters for OpenVINO's PyTorch front end: our nodes in the place of torch's draws."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8, opset16

from onnx_philox import _backends
from onnx_philox._openvino_models import arrays
from onnx_philox._torch.calls import meaning
from onnx_philox._torch.calls.programs import (
    DECOMPOSED,
    copied,
    is_decomposed,
    may_have_drawn,
    prepare,
)
from onnx_philox._torch.calls.table import CALLS, OPENVINO, TorchCall
from onnx_philox._torch.calls.writer import written
from onnx_philox._torch.checks import carried
from onnx_philox._torch.frontend import recurrent
from onnx_philox._torch.frontend.frontend_arguments import Arguments
from onnx_philox._torch.frontend.openvino_writer import TorchWriter

__all__ = ["pytorch_extensions"]

_EXTENSIONS = "onnx_philox.openvino.pytorch_extensions"
_Converter = Callable[[Any], list[ov.Output]]


def pytorch_extensions() -> list[Any]:
    """What `openvino.convert_model` takes as ``extension`` for a PyTorch module that draws.

    Its front end then writes every draw as a node of this package: ``rand``, ``randn``, ``randint``
    (all three also ``_like``), ``randperm``, ``normal``, ``uniform_``, ``exponential_``,
    ``log_normal_``, ``cauchy_``, ``poisson``, ``_standard_gamma``, ``bernoulli``, ``multinomial``
    and all dropout, that of ``scaled_dot_product_attention`` too. None is removed,
    and no two are merged. The same goes for a `torch.export.ExportedProgram`.

    The nodes have no state yet: the model draws the same numbers in every run until
    `make_reproducible` gives it one, in the order of the program, as `onnx_philox.torch.export`
    does.

    Returns:
        The extensions, for as many modules as you like. Your own go beside them.

    Raises:
        ImportError: PyTorch is not installed.

    Warns:
        UserWarning: `openvino.convert_model` got a program that `run_decompositions` has
            decomposed, where torch loses dropout between the layers of an LSTM; or a program that
            changes a buffer on which its noise depends, which a model does not keep.

    Examples:
        >>> import numpy as np, openvino as ov, torch, onnx_philox  # doctest: +SKIP
        >>> module = torch.nn.Dropout(0.5).train()  # doctest: +SKIP
        >>> program = torch.export.export(module, (torch.ones(2, 3),))  # doctest: +SKIP
        >>> extensions = onnx_philox.openvino.pytorch_extensions()  # doctest: +SKIP
        >>> model = ov.convert_model(program, extension=extensions)  # doctest: +SKIP
        >>> model = onnx_philox.make_reproducible(model)  # doctest: +SKIP
    """
    try:
        from openvino.frontend.pytorch import ConversionExtension
    except ImportError as error:
        raise _backends.NotInstalledError(_EXTENSIONS, "torch", "torch") from error
    _prepare_programs()
    streams = itertools.count()
    found = _converters(streams)
    return [ConversionExtension(name, convert) for name, convert in found]


def _prepare_programs() -> None:
    """Has OpenVINO's decoder make each program ready before it decomposes it.

    From now on, in the whole process: no extension sees a program, but the operations that its
    decomposition leaves. What is changed there means the same.
    """
    from openvino.frontend.pytorch.fx_decoder import TorchFXPythonDecoder

    decode = TorchFXPythonDecoder.from_exported_program
    if getattr(decode, "is_prepared", False):
        return

    @functools.wraps(decode.__func__)
    def prepared(cls: type, exported_program: Any, *args: Any, **options: Any) -> Any:
        if is_decomposed(exported_program) and may_have_drawn(exported_program):
            warnings.warn(f"{_EXTENSIONS}: {DECOMPOSED}", stacklevel=2)
        ready = copied(exported_program)
        prepare(ready)
        names = carried.carried(ready)
        if names:
            warnings.warn(f"{_EXTENSIONS}: {carried.said(names)}", stacklevel=2)
        return decode.__func__(cls, ready, *args, **options)

    prepared.is_prepared = True  # type: ignore[attr-defined]
    TorchFXPythonDecoder.from_exported_program = classmethod(prepared)


def _converters(streams: Iterator[int]) -> Iterator[tuple[str, _Converter]]:
    """Each converter with the name that the front end knows an operation by."""
    import torch

    schemas_of = torch._C._jit_get_schemas_for_operator
    for entry in CALLS.values():
        names = {
            entry.name: entry.overloads,
            f"{entry.name}_": entry.in_place,
        }
        for name, overloads in names.items():
            if not overloads:
                continue
            call = replace(entry, name=name)
            scripted = f"{call.namespace}::{name}"
            known = schemas_of(scripted)
            yield scripted, _scripted(call, known, streams)
            for schema in known:
                overload = schema.overload_name or "default"
                if overload in overloads:
                    exported = _exported(call, schema, streams)
                    yield f"{call.namespace}.{name}.{overload}", exported
    yield from recurrent.converters(streams)
    yield "aten::detach", _detached
    schemas = schemas_of("aten::empty_permuted")
    (schema,) = (each for each in schemas if not each.overload_name)
    yield "aten.empty_permuted.default", lambda context: _empty_permuted(context, schema)


def _scripted(call: TorchCall, schemas: Any, streams: Iterator[int]) -> _Converter:
    def convert(context: Any) -> list[ov.Output]:
        call.check(OPENVINO)
        arguments = Arguments.of_torchscript(context, call, schemas)
        given = _written(call, arguments, streams)
        outputs = list(given) if isinstance(given, tuple) else [given]
        arguments.show_parts(outputs[0])
        return outputs

    return convert


def _exported(call: TorchCall, schema: Any, streams: Iterator[int]) -> _Converter:
    def convert(context: Any) -> list[ov.Output]:
        call.check(OPENVINO)
        arguments = Arguments(context, call, schema.arguments)
        given = _written(call, arguments, streams)
        if not isinstance(given, tuple):
            return [given]
        # As rows of one tensor, of one type: the front end takes the first output for a list.
        first, *others = given
        alike = [first, *(opset8.convert_like(each, first) for each in others)]
        rows = [opset8.unsqueeze(each, np.int64(0)) for each in alike]
        joined = opset8.concat(rows, 0)
        return [joined.output(0)]

    return convert


def _written(call: TorchCall, arguments: Arguments, streams: Iterator[int]) -> Any:
    name = call.name
    mean = getattr(meaning, name, None) or getattr(meaning, name.rstrip("_"))
    writer = TorchWriter(call, streams)
    return written(call, mean, writer, arguments.read())


def _detached(context: Any) -> list[ov.Output]:
    """The same numbers, by a node that shows that they share memory; OpenVINO removes it."""
    same = opset16.identity(context.get_input(0))
    return [same.output(0)]


def _empty_permuted(context: Any, schema: Any) -> list[ov.Output]:
    """What a program has in the place of `empty_like`, and this front end does not know."""
    call = TorchCall("empty_permuted")
    given = Arguments(context, call, schema.arguments).read()
    writer = TorchWriter(call, iter(()))
    kind = writer.kind(given["dtype"])
    type_ = kind if isinstance(kind, ov.Type) else arrays.openvino_type(kind)
    zero = opset8.constant(0, type_)
    zeros = opset8.broadcast(zero, writer.dims(given["size"]))
    return [zeros.output(0)]
