"""What OpenVINO computes in on this processor, and f16 on those that do not compute in it.

What OpenVINO's CPU plugin does to a model where there is FP16 is done here with public API;
OpenVINO's reference code then computes in f16 for real.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np
import openvino as ov
from openvino import opset8

from tests.common.runtimes import array_of, tensor_of

MARK = "precision_sensitive_0"


@functools.cache
def is_computed(type_: str) -> bool:
    """Whether the CPU plugin computes f16 or bf16 in that type here, rather than in f32.

    Asked by a product, which an f32 that nobody rounds holds exactly. OPTIMIZATION_CAPABILITIES
    names what the processor has, of which ONEDNN_MAX_CPU_ISA may leave nothing.
    """
    # 1 + 2^-6, whose square has a digit more than either type.
    factor = opset8.parameter([1], np.float32)
    narrow = opset8.convert(factor, type_)
    product = opset8.convert(opset8.multiply(narrow, narrow), "f32")
    model = ov.Model([product], [factor], "product")
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given = np.float32([1 + 2**-6])
    return compiled([given])[0][0] != given[0] ** 2


@functools.cache
def rounds_once() -> bool:
    """Whether the CPU plugin rounds a product and a sum of f32 once (FMA), rather than each."""
    x = opset8.parameter([1000], np.float32)
    scaled = opset8.add(opset8.multiply(x, np.float32(0.6)), np.float32(0.1))
    model = ov.Model([scaled], [x], "scaled")
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    given = np.linspace(0, 1, 1000, dtype=np.float32)
    return not np.array_equal(compiled([given])[0], given * np.float32(0.6) + np.float32(0.1))


@functools.cache
def selects_exactly() -> bool:
    """Whether a Select behind a logical operator moves integers, rather than f32 of them."""
    condition = opset8.parameter([1], np.bool_)
    words = [opset8.parameter([1], np.int32) for _ in range(2)]
    chosen = opset8.select(opset8.logical_not(condition), *words)
    model = ov.Model([chosen], [condition, *words], "chosen")
    compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    # f32 does not hold it.
    odd = np.array([2**24 + 1], np.int32)
    return compiled([np.array([False]), odd, odd])[0][0] == odd[0]


@functools.cache
def precision_of(hint: str | None) -> str:
    """The precision that the CPU plugin takes for a hint on this processor."""
    x = opset8.parameter([1], np.float32)
    model = ov.Model([opset8.add(x, x)], [x], "sum")
    config = {} if hint is None else {"INFERENCE_PRECISION_HINT": hint}
    compiled = ov.Core().compile_model(model, "CPU", config)
    return compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()


def differing(hints: Sequence[str | None]) -> list[str | None]:
    """Of some hints, one for each precision that this processor takes for them."""
    return list({precision_of(hint): hint for hint in reversed(hints)}.values())[::-1]


def in_half_precision(model: ov.Model) -> ov.Model:
    """A clone as the CPU plugin makes it at the precision f16: ConvertPrecision, f32 to f16."""
    clone = model.clone()
    _convert(clone, is_body=False)
    for result in clone.get_results():
        if result.get_input_element_type(0) == ov.Type.f16:
            back = opset8.convert(result.input_value(0), "f32")
            if model.outputs[clone.get_results().index(result)].get_element_type() == ov.Type.f32:
                result.input(0).replace_source_output(back.output(0))
    clone.validate_nodes_and_infer_types()
    return clone


def evaluate(
    model: ov.Model,
    feeds: dict[str, np.ndarray],
) -> list[np.ndarray]:
    """Runs a model in OpenVINO's reference code, which computes in the types that it finds."""
    outputs = [ov.Tensor(o.get_element_type(), ov.Shape([0])) for o in model.outputs]
    inputs = [tensor_of(feeds[port.get_any_name()]) for port in model.inputs]
    assert model.evaluate(outputs, inputs)
    return [array_of(output) for output in outputs]


def _convert(model: ov.Model, *, is_body: bool) -> None:
    kept = set(_kept(model))
    for parameter in model.get_parameters():
        if parameter.get_element_type() != ov.Type.f32:
            continue
        if is_body:
            parameter.set_element_type(ov.Type.f16)
            parameter.validate_and_infer_types()
        else:
            _round(parameter.output(0), kept)
    for node in model.get_ordered_ops():
        name = node.get_type_name()
        for body in _bodies(node):
            _convert(body, is_body=True)
        if name == "Constant" and node.get_element_type() == ov.Type.f32:
            _round(node.output(0), kept)
        is_rounding = name == "Convert" and node.get_element_type() == ov.Type.f32
        if is_rounding and node.get_name() not in kept:
            node.set_destination_type(ov.Type.f16)
        node.validate_and_infer_types()


def _round(output: ov.Output, kept: set[str]) -> None:
    """Puts a Convert to f16 between an output and all that is not kept in f32."""
    rounded = None
    for consumer in output.get_target_inputs():
        node = consumer.get_node()
        is_kept = node.get_name() in kept or MARK in consumer.get_rt_info()
        if is_kept or node.get_type_name() in ("Convert", "Result"):
            continue
        rounded = rounded or opset8.convert(output, "f16")
        consumer.replace_source_output(rounded.output(0))


def _kept(model: ov.Model) -> Iterator[str]:
    """The nodes that lead to a marked input: they stay in f32."""
    stack = [
        value.get_node()
        for node in model.get_ordered_ops()
        for input_, value in zip(node.inputs(), node.input_values(), strict=True)
        if MARK in input_.get_rt_info()
    ]
    while stack:
        node = stack.pop()
        yield node.get_name()
        stack += [value.get_node() for value in node.input_values()]


def _bodies(node: ov.Node) -> list[ov.Model]:
    name = node.get_type_name()
    if name == "If":
        return [node.get_then_body(), node.get_else_body()]
    return [node.get_function()] if name in ("Loop", "TensorIterator") else []
