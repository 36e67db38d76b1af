"""What the CPU plugin does to the types of inputs and outputs, and how a node responds.

It passes f64 and bf16 as f32, and i64 and uint32 as i32, and computes in those types.

At the precision f16, the plugin puts a Convert to f16 after every f32 parameter of its clone, and
retypes the parameters of bodies. It turns constants without a protecting mark, and the results of a
Convert, into f16. Then it validates the nodes again. f16 is the default on ARM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset8

from onnx_philox._contract import openvino_plugin
from onnx_philox._contract.operators import Input, Operator, Role
from onnx_philox._contract.types import BF16, BOOL, F16, F32, F64, I32, I64, U32, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import is_ours, state_of
from onnx_philox._openvino_models.upstream import Upstream
from onnx_philox.openvino._surroundings import PRECISION_SENSITIVE

ARRIVES_AS: dict[ElementType, tuple[ElementType, ...]] = {
    U32: (U32, I32),
    I32: (I32,),
    I64: (I64, I32),
    F16: (F16, F32),
    BF16: (BF16, F32),
    F32: (F32,),
    F64: (F64,),
}
"""The types in which the plugin may hand over an input of a declared type without loss."""

NARROWER = {F64: F32, I64: I32}
"""The types in which it computes with what would lose bits in them."""


def with_wide_shape(op: Operator, inputs: list[ov.Output]) -> list[ov.Output]:
    """The inputs of a new node, whose `shape` is i64 if its values are bool.

    The plugin turns i64 into i32 everywhere, but boolean into u8 only in operators that it knows.
    After that, LogicalNot and Select would refuse our booleans. So our operator declares u8 as soon
    as it sees an i64 that became i32.
    """
    wide = list(inputs)
    pairs = zip(op.inputs, inputs, strict=False)
    for index, (declared, source) in enumerate(pairs):
        is_narrow = declared.role is Role.SHAPE and source.get_element_type() == ov.Type.i32
        if is_narrow and op.outputs[0].type is BOOL:
            convert = opset8.convert(source, "i64")
            wide[index] = convert.output(0)
    return wide


def read_wide(node: Any, known: dict[str, bool] | None) -> dict[str, bool]:
    """Has a node read i64 of a model's inputs before the plugin makes i32 of them.

    Not the `shape` of booleans: by its type the node knows when the plugin turns them into u8.

    Args:
        node: The node, one of `_openvino_ops`.
        known: What was returned before; None if the node is still the model's.

    Returns:
        The inputs that the model declares i64, and whether they are read so.
    """
    op: Operator = node.operator
    sources = dict(zip(op.inputs, node.input_values(), strict=False))
    if known is None:
        is_bool = any(output.type is BOOL for output in op.outputs)
        roles = {Role.ROW_NUMBERS}
        if not is_bool:
            roles.add(Role.SHAPE)
        return {
            declared.name: False
            for declared, source in sources.items()
            if declared.role in roles and source.get_element_type() == ov.Type.i64
        }
    wide = dict(known)
    for index, (declared, source) in enumerate(sources.items()):
        convert = source.get_node()
        if declared.name not in wide or convert.get_type_name() != "Convert":
            continue
        before = convert.input_value(0)
        is_input = before.get_node().get_type_name() == "Parameter"
        if is_input and before.get_element_type() == ov.Type.i64:
            node.input(index).replace_source_output(before)
            wide[declared.name] = True
    return wide


def types_of(declared: Input, values: ElementType) -> tuple[ElementType, ...]:
    """The types that a model may declare for an input."""
    return declared.types or (values,)


def narrowings(type_: ElementType) -> tuple[ElementType, ...]:
    """The types that a declared type may become in the plugin, with or without loss."""
    if type_.is_float:
        return (F16, BF16, F32, F64)
    return (I32,)


def computed_type(
    op: Operator,
    values: ElementType,
    sources: dict[str, ov.Output],
) -> ElementType | np.dtype[Any] | None:
    """The type in which the plugin computes with values of a declared type.

    By now, bounds, mean and scale have that type.
    """
    for declared in op.inputs:
        is_of_values = not declared.types or declared is op.type_input
        if is_of_values and declared.name in sources:
            source = sources[declared.name]
            return arrays.element_type(source.get_element_type())
    return values


def convert_for_consumers(output: ov.Output, type_: ElementType) -> None:
    """Passes an output in a narrower type to the nodes that compute with it.

    A result of the model gets it unchanged.
    """
    # A stack, not recursion: many nodes may pass it on.
    stack = [output]
    while stack:
        moved = stack.pop()
        converted = None
        for consumer in moved.get_target_inputs():
            node = consumer.get_node()
            name = node.get_type_name()
            if name in ("Result", "Convert"):
                continue
            if name in openvino_plugin.ONLY_MOVE and consumer.get_index() == 0:
                stack.append(node.output(0))
                continue
            if converted is None:
                converted = opset8.convert(moved, type_.name)
            consumer.replace_source_output(converted.output(0))


def numbers_of(
    op: Operator,
    sources: Mapping[str, ov.Output],
) -> list[tuple[Input, ov.Output]]:
    """The given inputs that hold parameters of the distribution."""
    return [
        (declared, sources[declared.name])
        for declared in op.inputs
        if declared.name in sources and declared.role.is_parameter
    ]


def arrived_type(
    declared: Input,
    source: ov.Output,
    *,
    is_signed: bool,
) -> ElementType | np.dtype[Any] | None:
    """The type of an input; that of words for a state that is declared int32."""
    arrived = arrays.element_type(source.get_element_type())
    if is_signed and declared.role is Role.STATE and arrived is I32:
        return U32
    return arrived


def narrowed_text(
    op: Operator,
    sources: Mapping[str, ov.Output],
    values: ElementType,
    was: Mapping[str, ElementType],
    *,
    is_signed: bool,
) -> str:
    """What IR says about a validated node whose inputs the plugin changed; empty for others.

    Args:
        op: The operator.
        sources: The inputs by name.
        values: The type of the values.
        was: The types that the model declares for numbers.
        is_signed: Whether it declares the state int32.
    """
    state = ""
    if is_signed:
        state = f" {openvino_plugin.SIGNED_STATE_MARK}"
    of_logits = was.get("logits")
    is_f32 = of_logits is not None and sources["logits"].get_element_type() == ov.Type.f32
    if is_f32 and of_logits in (F16, BF16):
        return of_logits.name + state
    is_narrowed = has_narrowed_integers(op, sources, is_signed=is_signed)
    for declared in op.inputs:
        source = sources.get(declared.name)
        if source is None:
            continue
        arrived = arrived_type(declared, source, is_signed=is_signed)
        if arrived is not None and arrived not in types_of(declared, values):
            is_narrowed = True
    data = op.type_input
    if data is None:
        if not is_narrowed:
            return ""
        return f"{openvino_plugin.NARROWED_ALL}{state}"
    arrived = arrived_type(data, sources[data.name], is_signed=is_signed)
    if not is_narrowed and arrived is was.get(data.name, arrived):
        return ""
    return f"{values.name}{state}"


def has_narrowed_integers(
    op: Operator,
    sources: Mapping[str, ov.Output],
    *,
    is_signed: bool,
) -> bool:
    """Whether the plugin turned the i64 `shape` of booleans into i32, and so them into u8.

    See `with_wide_shape`. Booleans without a `shape` have a state, which it turns into i32, too.
    """
    if not any(o.type is BOOL for o in op.outputs):
        return False
    if not op.has_shape:
        return not is_signed and _is_narrowed_state(sources["state"])
    return bool(sources["shape"].get_element_type() == ov.Type.i32)


def _is_narrowed_state(state: ov.Output) -> bool:
    """Whether the plugin turned a state of u32 into i32: it leaves next states as they are."""
    while state.get_element_type() != ov.Type.i32:
        node = state.get_node()
        before = state_of(node) if is_ours(node) else None
        if before is None:
            return False
        state = before
    return True


def take_before_rounding(input_: ov.Input) -> None:
    """Gives an input that arrived in f16 the f32 value that was rounded right before it.

    What the plugin computed in f16 stays as it is.
    """
    convert = input_.get_source_output().get_node()
    if convert.get_type_name() != "Convert":
        return
    exact = convert.input_value(0)
    if exact.get_element_type() in (ov.Type.f16, ov.Type.bf16):
        return
    if exact.get_element_type() != ov.Type.f32:
        exact = opset8.convert(exact, "f32").output(0)
    input_.replace_source_output(exact)


def add_witness(input_: ov.Input, upstream: Upstream) -> None:
    """Puts a Convert from f32 to f32 after an input that depends on constants only.

    The mark that protects the constants from f16 would also hide that the precision is f16. The
    Convert has no mark, so it becomes one to f16 and shows it.
    """
    source = input_.get_source_output()
    if source.get_element_type() != ov.Type.f32:
        return
    if upstream.value_of(source.get_node()) is None:
        return
    if _witness(input_, upstream) is None:
        convert = opset8.convert(source, "f32")
        input_.replace_source_output(convert.output(0))


def marked_input(input_: ov.Input, upstream: Upstream) -> ov.Input:
    """The input that gets the mark: this one, or that of its witness."""
    witness = _witness(input_, upstream)
    if witness is None:
        return input_
    return witness.input(0)


def keep_in_files(own: ov.Input, upstream: Upstream, *, is_constant: bool) -> None:
    """Protects constants, also those upstream of an input, from being saved in f16.

    The plugin reads saved f16 constants back in the declared type, and nothing distinguishes them
    from constants that replaced them.
    """
    marked = marked_input(own, upstream)
    info = marked.get_rt_info()
    if marked.get_node().get_name() != own.get_node().get_name():
        # The witness has the mark instead.
        own_info = own.get_rt_info()
        if PRECISION_SENSITIVE in own_info:
            del own_info[PRECISION_SENSITIVE]
    source = own.get_source_output().get_node()
    if is_constant or upstream.is_constant(source):
        info[PRECISION_SENSITIVE] = ""
    elif PRECISION_SENSITIVE in info:
        # On anything else, the mark would reach the weights of all nodes upstream.
        del info[PRECISION_SENSITIVE]


def _witness(input_: ov.Input, upstream: Upstream) -> ov.Node | None:
    """The witness of an input: a Convert of f32 constants."""
    convert = input_.get_source_output().get_node()
    if convert.get_type_name() != "Convert":
        return None
    source = convert.input_value(0)
    if source.get_element_type() != ov.Type.f32:
        return None
    if upstream.value_of(source.get_node()) is None:
        return None
    return convert
