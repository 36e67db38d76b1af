"""Operators of one output each, which the GPU plugin computes with the kernels of `kernels/`.

The plugin takes no second output in a static model, and no value of an input into account where it
asks for a shape: see `lowering`.
"""

from __future__ import annotations

import math
from pathlib import Path

import openvino as ov

from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.refusal import refuse

KERNELS = str(Path(__file__).with_name("kernels") / "layers.xml")
"""The file that the plugin's property CONFIG_FILE names."""


class Layer(ov.Op):  # type: ignore[misc]
    """What all have in common: inputs, and a flat output."""

    TYPE: ov.Type
    LIKE: int
    """The input that has as many elements as the output."""

    def __init__(self, inputs: list[ov.Output], elements: int | None = None) -> None:
        super().__init__(self)
        # Those of the output, where they are known before the model runs.
        self._elements = elements
        # OpenVINO would ask this class for the values of constants, and it has none.
        self.get_rt_info()["DisableConstantFolding_0"] = ""
        self.set_arguments(inputs)
        self.constructor_validate_and_infer_types()

    def clone_with_new_inputs(self, inputs: list[ov.Output]) -> Layer:
        """Returns a copy."""
        return type(self)(inputs, self._elements)

    def validate_and_infer_types(self) -> None:
        """Sets the output's type, and its shape: of rank 4 where it is known before."""
        shape: list[int] = [-1]
        if self._elements is not None:
            # In a dynamic model the plugin adds dimensions to a static shape of a lower rank.
            shape = [self._elements, 1, 1, 1]
        elif self._like().is_static:
            shape = [math.prod(self._like().to_shape())]
        self.set_output_type(0, self.TYPE, ov.PartialShape(shape))

    def _like(self) -> ov.PartialShape:
        """The shape whose elements the output has."""
        return self.get_input_partial_shape(self.LIKE)


class DrawLayer(Layer):
    """The values of a draw, by states int32, six numbers int32, and a tensor of their shape."""

    LIKE = 2

    def _like(self) -> ov.PartialShape:
        like = super()._like()
        states = self.get_input_partial_shape(0)
        # The plugin asks again for each new shape, so this refuses what a run is given.
        if like.is_static and states.is_static and len(states) == 2:
            rows = states[0].get_length()
            shape = list(like.to_shape())
            if rows != 1 and shape[:1] != [rows]:
                given = f"[{rows}, {STATE_WORDS}], for values of shape {shape}"
                allowed = f"of [B, {STATE_WORDS}] with the first dimension of the values for B"
                remedy = "Pass a state for each row, or one for all."
                refuse(type(self).__name__, "input 'state'", given, allowed, remedy)
        return like


def draw(name: str, type_: ov.Type) -> type[DrawLayer]:
    """The layer of this name in `layers.xml`, whose values are of this type."""
    return type(name, (DrawLayer,), {"TYPE": type_})


class PhiloxNext(Layer):
    """The states after a draw, by the states and the values that were drawn."""

    TYPE = ov.Type.i32
    LIKE = 0
