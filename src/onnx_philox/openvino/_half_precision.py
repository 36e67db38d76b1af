"""What the CPU plugin does to f32 at the precision f16, and what a node can do against it.

In its clone of a model, the plugin puts a Convert to f16 after every f32 parameter, and retypes the
parameters of bodies. It turns constants without a protecting mark, and the results of a Convert,
into f16. Then it validates the nodes again. f16 is the default on ARM.
"""

from __future__ import annotations

import openvino as ov
from openvino import opset8

from onnx_philox.openvino._constants import Upstream


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
    if source.get_element_type() != ov.Type.f32 or upstream.value_of(source.get_node()) is None:
        return
    if _witness(input_, upstream) is None:
        input_.replace_source_output(opset8.convert(source, "f32").output(0))


def marked_input(input_: ov.Input, upstream: Upstream) -> ov.Input:
    """The input that gets the mark: this one, or that of its witness."""
    witness = _witness(input_, upstream)
    return input_ if witness is None else witness.input(0)


def _witness(input_: ov.Input, upstream: Upstream) -> ov.Node | None:
    """The witness of an input: a Convert of f32 constants."""
    convert = input_.get_source_output().get_node()
    if convert.get_type_name() != "Convert":
        return None
    source = convert.input_value(0)
    is_f32 = source.get_element_type() == ov.Type.f32
    return convert if is_f32 and upstream.value_of(source.get_node()) is not None else None
