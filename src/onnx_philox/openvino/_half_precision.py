"""What the CPU plugin does to f32 at the precision f16, and what a node can do against it.

On its clone of a model the plugin puts a Convert to f16 behind every f32 parameter, retypes the
parameters of bodies, makes f16 of constants that no mark keeps and of what a Convert makes, and
then validates the nodes again. f16 is the default on ARM.
"""

from __future__ import annotations

import openvino as ov
from openvino import opset8

from onnx_philox.openvino._constants import Upstream


def take_before_rounding(input_: ov.Input) -> None:
    """Gives an input that arrived in f16 the value that was rounded right before it, in f32.

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
    """Puts a Convert from f32 to f32 behind what depends on constants only.

    The mark that keeps these from f16 would keep them from telling of f16 as well; the Convert has
    no mark, and so it becomes one to f16.
    """
    source = input_.get_source_output()
    if source.get_element_type() != ov.Type.f32 or upstream.value_of(source.get_node()) is None:
        return
    if _witness(input_, upstream) is None:
        input_.replace_source_output(opset8.convert(source, "f32").output(0))


def marked_input(input_: ov.Input, upstream: Upstream) -> ov.Input:
    """The input that the mark belongs to: this one, or that of its witness."""
    witness = _witness(input_, upstream)
    return input_ if witness is None else witness.input(0)


def _witness(input_: ov.Input, upstream: Upstream) -> ov.Node | None:
    """The witness behind an input: a Convert of f32 constants."""
    convert = input_.get_source_output().get_node()
    if convert.get_type_name() != "Convert":
        return None
    source = convert.input_value(0)
    is_f32 = source.get_element_type() == ov.Type.f32
    return convert if is_f32 and upstream.value_of(source.get_node()) is not None else None
