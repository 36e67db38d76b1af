"""What a draw needs to be one of torch's.

A number that a module passes is a double in torch. Where our operator takes it in the type of the
values, and that type does not hold it, f64 is drawn and cast, if torch draws both from the same
words. Around the mask of a dropout, torch's own arithmetic is written.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import alignment, checks, shown
from onnx_philox._contract.inputs import PYTORCH
from onnx_philox._contract.operators import (
    ALIGNMENT,
    OPERATORS,
    OUTPUT_TYPE,
    RANDOM_DROPOUT,
    RANDOM_EXPONENTIAL,
    RANDOM_NORMAL,
    Operator,
)
from onnx_philox._contract.refusal import RefusalError
from onnx_philox._contract.streams import AWAITS_STATE, KNOWS_STRIDES
from onnx_philox._contract.types import F64
from onnx_philox._models import ours
from onnx_philox._models.constants import constant
from onnx_philox._models.emitter import Emitter
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, input_of
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.passes.replace import OF_EACH_ELEMENT, OF_TWO_ELEMENTS
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import (
    BernoulliReplacement,
    DropoutReplacement,
)
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._rewriting.in_onnx.rows.drawn import filled
from onnx_philox._torch.numbers.cpu import SIXTEEN
from onnx_philox._torch.rewriting import noted

_NARROW = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


def drawn_as_torch(random: Replaceable, types: Types) -> Replaceable:
    """A draw by torch's own rule: the same one, or that of the call which the model stands for.

    Raises:
        ValueError: torch has no rule for it, or draws the call by another one than the model shows.
    """
    if random.kept is not None:
        allowed = "left out with alignment 'pytorch', since they say numbers of Philox"
        remedy = "Remove them, or rewrite the model without alignment."
        given = str(random.kept)
        checks.refuse(random.site.title, "the seeds", given, allowed, remedy)
    if _is_by_hand(random):
        # Written so by hand: it says already what it draws.
        return random
    random = noted.as_called(random, types)
    title = random.site.title
    replacement = random.replacement
    if isinstance(replacement, DropoutReplacement):
        if not replacement.is_mode_known:
            allowed = "a constant, with alignment 'pytorch'"
            remedy = "Make training_mode a constant."
            checks.refuse(title, "training_mode", "one that the model computes", allowed, remedy)
        replacement = replace(replacement, keeps_double=True)
        random = replace(random, replacement=replacement)
    operator = replacement.operator
    if ALIGNMENT not in operator.attributes:
        names = [op.name for op in OPERATORS.values() if ALIGNMENT in op.attributes]
        allowed = f"one of {', '.join(names)}, with alignment 'pytorch'"
        remedy = "Rewrite the model without alignment: no other draws follow torch's rules."
        checks.refuse(title, "what draws in its place", operator.name, allowed, remedy)
    if isinstance(replacement, BernoulliReplacement) and replacement.probabilities is F64:
        allowed = "a tensor of f32, f16 or bf16, with alignment 'pytorch'"
        remedy = "Put a Cast to f32 before it."
        checks.refuse(title, "the input", "a tensor of f64", allowed, remedy)
    return random


def as_torch(
    random: Replaceable,
    emitter: Emitter,
    op: Operator,
    dtype: ir.DataType,
    inputs: Mapping[str, ir.Value],
    attributes: Mapping[str, int | str],
) -> tuple[ir.DataType, dict[str, ir.Value], Mapping[str, int | str]]:
    """Torch's draw in the place of one of an operator: its type, inputs and attributes.

    The type is to be cast to the one that was asked for.

    A Dropout's ratio, and the number p of `bernoulli_`, are doubles in torch: an f32 constant
    becomes the one that torch's exporter noted, else that of its shortest decimal.

    Raises:
        ValueError: torch's numbers cannot be drawn so.
    """
    try:
        complete = checks.check_attributes(op, {**attributes, ALIGNMENT.name: PYTORCH})
        alignment.generator_of(complete).check_node(op, complete, has_state=True)
    except RefusalError as error:
        raise error.within(random.site.title) from error
    given = dict(inputs)
    node = random.site.node
    if _is_by_hand(random):
        return dtype, given, attributes
    name = None
    if op is RANDOM_DROPOUT:
        name = "ratio"
    elif noted.has_number(random):
        name = "p"
    number = None
    if name is not None:
        number = _narrow(given[name])
    wide: dict[str, NDArray[np.float64]] = {}
    if name is not None and number is not None:
        wide = {name: noted.double_of(node, number)}
    elif dtype in _NARROW and (doubles := _doubles(random, op, given)):
        wide = doubles
        dtype = ir.DataType.DOUBLE
        attributes = {**attributes, OUTPUT_TYPE: F64.name}
    for name, double in wide.items():
        narrow = given[name].producer()
        given[name] = emitter.constant(f"{name}_f64", double)
        if narrow in emitter.nodes:
            emitter.nodes.remove(narrow)
    return dtype, given, attributes


def narrowed(emitter: Emitter, drawn: ir.Value, dtype: ir.DataType) -> ir.Value:
    """What was drawn in f64, in the type that was asked for; like torch by way of f32."""
    single = emitter.cast("single", drawn, ir.DataType.FLOAT)
    if dtype is ir.DataType.FLOAT:
        return single
    return emitter.cast("narrow", single, dtype)


def composed(
    random: Replaceable,
    emitter: Emitter,
    outputs: list[ir.Value],
) -> list[ir.Value]:
    """The outputs of a draw; of RandomDropout torch's own arithmetic around its mask.

    torch multiplies by 1 / (1 - p), or by 0, so what is dropped may be -0 or NaN. 16 bits are
    multiplied in f32 and rounded, which is the same: the product is exact there.
    """
    node = outputs[0].producer()
    if node is None or node.op_type != RANDOM_DROPOUT.name or _is_by_hand(random):
        return outputs
    data = node.inputs[0]
    ratio = constant(input_of(node, 1))
    if data is None or ratio is None:
        # A ratio that a run computes is no number of Python's.
        return outputs
    output, *masks = outputs
    dtype = output.dtype
    assert dtype is not None
    mask = masks[0] if masks else emitter.mask_of(output, data.shape)
    work = ir.DataType.FLOAT
    if dtype is ir.DataType.DOUBLE:
        work = ir.DataType.DOUBLE
    kept = work.numpy().type(1 - np.float64(ratio.item()))
    scale = 1 / kept if kept else kept
    # Rounded to the type of the data, in which torch holds it.
    scale = scale.astype(dtype.numpy())
    scale = scale.astype(work.numpy())
    # Not by Where: OpenVINO's plugin refuses one of booleans, fused with what computes in bf16.
    ones = emitter.cast("ones", mask, work)
    each = emitter.constant("scale", scale)
    factor = emitter.elementwise("Mul", "factor", ones, each, work)
    if dtype is not work:
        data = emitter.cast("wide", data, work)
    output = emitter.elementwise("Mul", "dropped", data, factor, work)
    if dtype is not work:
        output = emitter.cast("output", output, dtype)
    return [output, *masks]


def _is_by_hand(random: Replaceable) -> bool:
    """Whether a node of ours is replaced that says already that it draws as torch does."""
    return ours.generator_of(random.site.node).alignment == PYTORCH


def _doubles(
    random: Replaceable,
    op: Operator,
    given: Mapping[str, ir.Value],
) -> dict[str, NDArray[np.float64]] | None:
    """The doubles of a draw that f64 draws from the same words; None where the type holds them."""
    numbers = noted.noted(random.site.node)
    if op is RANDOM_EXPONENTIAL:
        names = ["scale"]
        # torch was given the rate.
        numbers = [1 / number for number in numbers if number]
    elif op is RANDOM_NORMAL:
        count = _count(given["shape"])
        if count is None or count >= SIXTEEN:
            return None
        # One by one, from the same words in every type.
        names = ["mean", "scale"]
    else:
        return None
    wide = {}
    are_held = True
    for name in names:
        array = constant(given[name])
        if array is None:
            return None
        narrow = array.reshape(())
        wide[name] = noted.widest(narrow, numbers, narrow.item())
        are_held = are_held and bool(wide[name] == narrow)
    if are_held:
        return None
    return wide


def _count(shape: ir.Value) -> int | None:
    """How many numbers are drawn, if that is known."""
    dimensions = constant(shape)
    producer = shape.producer()
    if dimensions is not None:
        return int(dimensions.prod())
    if producer is None or producer.op_type != "Shape" or producer.attributes:
        return None
    known = input_of(producer, 0).shape
    if known is None or not known.is_static():
        return None
    return math.prod(known.numpy())


def _narrow(value: ir.Value) -> NDArray[np.float32] | None:
    """A number of f32 that is a constant."""
    number = constant(value)
    if number is None or number.dtype != np.float32 or number.size != 1:
        return None
    return number


_KEEPS_ORDER = OF_EACH_ELEMENT | OF_TWO_ELEMENTS | {"Max", "Min", "PRelu", "Where"}
"""Operators of elements, whose results lie in memory as their operands do."""

_MOST_NODES = 64
"""How many nodes a look into the past may visit."""


def transposed(model: ir.Model) -> set[ir.Value]:
    """What may lie in memory as a Transpose left it: `_orders` finds the others as they stand."""
    found: set[ir.Value] = set()
    for node in model.graph.all_nodes():
        if node.domain not in STANDARD_DOMAINS:
            continue
        keeps = node.op_type in _KEEPS_ORDER and not found.isdisjoint(node.inputs)
        if keeps or node.op_type == "Transpose":
            found.update(node.outputs)
    return found


def warn(
    random: Replaceable,
    types: Types,
    rows: int | None,
    transposed: Container[ir.Value],
) -> None:
    """Warns of a draw like a transposed tensor, where the exporter did not know its strides.

    torch fills memory. What it makes like a transposed tensor is transposed in memory too, and is
    filled in that order. A file does not show memory, but the Transposes a tensor came through.

    Args:
        random: The draw.
        types: What is known of the model.
        rows: The dimension of its rows, if each has a generator of its own.
        transposed: See `transposed`.
    """
    node = random.site.node
    if node.metadata_props.get(AWAITS_STATE) == KNOWS_STRIDES:
        return
    tensor = filled(node)
    if tensor is None or tensor not in transposed:
        return
    orders = [list(order) for order in _orders(tensor, types, rows)]
    if any(order != sorted(order) for order in orders):
        warnings.warn(
            f"{random.site.title}: the numbers may not be torch's. It draws like a transposed "
            "tensor, and torch fills memory, whose order a file does not show. Export the module "
            "with onnx_philox.torch.export, or call contiguous() before the draw.",
            stacklevel=shown.stacklevel(),
        )


def _orders(
    value: ir.Value,
    types: Types,
    rows: int | None,
) -> Iterator[Sequence[int]]:
    """The orders of dimensions in memory that a tensor may have, by the Transposes before it.

    Dimensions of 1 do not count, nor does that of the rows, where each is drawn alone.
    """
    shape = types.shape(value)
    if shape is None:
        return
    wide = [axis for axis, size in enumerate(shape) if size != 1 and axis != rows]
    every = tuple(range(len(shape)))
    left: list[tuple[ir.Value, tuple[int, ...]]] = [(value, every)]
    for _ in range(_MOST_NODES):
        if not left:
            return
        value, order = left.pop()
        node = value.producer()
        of_wide = [order[i] for i in wide]
        if node is None or node.domain not in STANDARD_DOMAINS:
            yield of_wide
            continue
        if node.op_type == "Transpose" and node.inputs[0] is not None:
            perm = node.attributes.get_ints("perm", tuple(reversed(order)))
            if len(perm) == len(order):
                turned = tuple(perm[i] for i in order)
                left.append((node.inputs[0], turned))
                continue
        if node.op_type not in _KEEPS_ORDER:
            yield of_wide
            continue
        for operand in node.inputs:
            if operand is None or constant(operand) is not None:
                continue
            if _rank(operand, types) == len(order):
                left.append((operand, order))


def _rank(value: ir.Value, types: Types) -> int | None:
    shape = types.shape(value)
    if shape is None:
        return None
    return len(shape)
