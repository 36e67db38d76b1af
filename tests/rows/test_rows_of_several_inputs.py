"""make_reproducible(per_row=True): inputs that do not say that they have the batch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper
from openvino import opset8

from onnx_philox import make_reproducible, row_states
from tests.common.cases import assert_same_bits
from tests.common.foreign import parse
from tests.common.openvino_models import constant, parameter, uniform
from tests.common.openvino_models import model as model_of
from tests.common.real_models import Load, load_in_openvino
from tests.common.runtimes import OpenVino

OF_ALL = "m = ReduceMean <keepdims = 1> (t)"
BODIES = {
    "a mean of all rows": f"{OF_ALL} less = Less (r, m) y = Cast <to = 1> (less)",
    "each row's own": "m = Mul (r, t) y = Add (x, m)",
}
LINKED = "r = RandomUniformLike (x)"


def of_onnx(body: str, x: str, t: str) -> onnx.ModelProto:
    """Inputs whose first dimensions have these names, or none."""
    model = parse(f"g (float[a, 4] x, float[b, 1] t) => (float[c, 4] y) {{ {LINKED} {body} }}")
    for given, name in zip(model.graph.input, (x, t), strict=True):
        first = given.type.tensor_type.shape.dim[0]
        first.Clear()
        if name:
            first.dim_param = name
    return model


def of_openvino(kind: str, x: str, t: str) -> ov.Model:
    """Inputs of these Layouts, or of none."""
    inputs = [parameter("x", [-1, 4]), parameter("t", [-1, 1])]
    for given, layout in zip(inputs, (x, t), strict=True):
        if layout:
            given.set_layout(ov.Layout(layout))
    noise = uniform(opset8.shape_of(inputs[0]))
    if kind == "each row's own":
        made = opset8.add(inputs[0], opset8.multiply(noise, inputs[1]))
    else:
        mean = opset8.reduce_mean(inputs[1], constant(np.array([0, 1])), True)
        made = opset8.convert(opset8.less(noise, mean), "f32")
    return model_of({"y": made}, inputs)


def fed(rows: Sequence[int]) -> dict[str, np.ndarray]:
    numbers = np.arange(5, dtype=np.float32)[list(rows)]
    return {
        "x": np.zeros((len(rows), 4), np.float32),
        "t": numbers[:, None] / 4,
        "random_state": row_states([3, 1, 4, 1, 5])[list(rows)],
    }


def check_rows(model: Any, load: Load) -> None:
    """A row has the same answer in any batch."""
    run = load(model)
    whole = run(fed(range(5)))["y"]
    for rows in ([4, 3, 2, 1, 0], [1, 3], [2]):
        assert_same_bits(run(fed(rows))["y"], whole[rows])


# -- Names ----------------------------------------------------------------------------------------

NAMELESS = {
    "one without a name": ("batch", ""),
    "both without a name": ("", ""),
    "TorchScript's": ("x_dynamic_axes_1", "t_dynamic_axes_1"),
    "torch.export's": ("s77", "s53"),
    "tf2onnx's": ("unk__1", "unk__2"),
    "Paddle2ONNX's": ("p2o.DynamicDimension.0", "p2o.DynamicDimension.1"),
}
"""Names of first dimensions that do not tell them apart."""


@pytest.mark.parametrize("name", NAMELESS)
def test_a_dimension_without_a_name_of_its_own_is_taken_for_the_batch(
    name: str, load: Load
) -> None:
    names = NAMELESS[name]
    check_rows(make_reproducible(of_onnx(BODIES["each row's own"], *names), per_row=True), load)
    said = "since no name says otherwise, the first of the input 't'"
    with pytest.raises(ValueError, match=said):
        make_reproducible(of_onnx(BODIES["a mean of all rows"], *names), per_row=True)


LAYOUTS = {
    "none": ("", ""),
    "of the first": ("N?", ""),
    "of the second": ("", "N?"),
    "of both": ("N?", "N?"),
}
"""Layouts that leave it open that both inputs have the batch, or say it."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_of_an_ir_have_the_batch_where_no_layout_says_otherwise(name: str) -> None:
    layouts = LAYOUTS[name]
    model = make_reproducible(of_openvino("each row's own", *layouts), per_row=True)
    check_rows(model, lambda each: load_in_openvino(OpenVino("native"), each, "f32"))
    with pytest.raises(ValueError, match=r"compares them with '.*', numbers that depend on"):
        make_reproducible(of_openvino("a mean of all rows", *layouts), per_row=True)


def test_an_n_in_a_layout_is_the_batch_where_nobody_names_one() -> None:
    x = parameter("x", [-1, -1, 4])
    x.set_layout(ov.Layout("TNC"))
    given = model_of({"y": opset8.add(x, uniform(opset8.shape_of(x)))}, [x])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make_reproducible(given, per_row=True)
    streams = json.loads(str(model.get_rt_info(["onnx_philox.streams"]).value))
    assert (streams["batch"], streams["batch_axis"]) == ("x", 1)


APART = "'x'; the input 't' has 'rows' instead, and so counts as the same for all rows"


def test_a_name_that_says_that_an_input_has_no_batch_is_believed_with_a_warning() -> None:
    model = of_onnx(BODIES["a mean of all rows"], "batch", "rows")
    with pytest.warns(UserWarning, match=APART):
        make_reproducible(model, per_row=True)
    # Not where nothing is drawn by it.
    body = f"z = Add (x, r) {OF_ALL} y = Add (z, m)"
    make_reproducible(of_onnx(body, "batch", "rows"), per_row=True)
    # A Layout is given on purpose.
    make_reproducible(of_openvino("a mean of all rows", "N?", "?C"), per_row=True)
    make_reproducible(of_openvino("a mean of all rows", "", "?C"), per_row=True)


def test_a_name_that_stands_beside_the_batch_is_another_dimension() -> None:
    """As positions are as many as tokens."""
    graph = """g (float[batch, s6] x, float[s6] places) => (float[batch, s6] y) {
        r = RandomUniformLike (x) m = Mul (r, places) y = Add (x, m) }"""
    make_reproducible(parse(graph), per_row=True, batch="batch")


MADE_UP = """g (float[s1, 4] x, float[s2, s3] z, float[s3, s2] t) => (float[a, 4] y) {
    wide = Constant <value_ints = [1]> () m = ReduceMean <axes = [AXIS], keepdims = 0> (t)
    k = Unsqueeze (m, wide) r = RandomUniformLike (x) q = Mul (r, k) y = Add (x, q) }"""


def test_a_name_that_an_exporter_made_up_means_the_same_in_all_inputs() -> None:
    """That t has the batch second, since z has it first."""
    make_reproducible(parse(MADE_UP.replace("AXIS", "0"), 17), per_row=True)
    with pytest.raises(ValueError, match="combines them with 'k', numbers that depend on how"):
        make_reproducible(parse(MADE_UP.replace("AXIS", "1"), 17), per_row=True)


SEVERAL = """g (float[batch, 4] x, float[t, n, 4] z) => (float[a, 4] y) {
    first = Constant <value_ints = [0]> () m = ReduceSum <keepdims = 0> (z, first)
    r = RandomUniformLike (x) k = Mul (r, m) y = Add (x, k) }"""


BY_ALL = "'k' (Mul) combines them with 'm', numbers that depend on how many rows there are"
OF_SEVERAL: list[tuple[list[int | None], str]] = [
    ([1, None, 4], ""),
    ([None, 2, 4], BY_ALL),
    ([None, None, 4], BY_ALL),
    ([2, None, None], "the input 'z' has several dimensions without a name"),
]
"""Of [1, ?, 4], with which an LSTM begins, the second is the batch; of [?, ?, 4] the first."""


@pytest.mark.parametrize(("dims", "said"), OF_SEVERAL)
def test_the_first_or_the_only_dimension_without_a_name_is_taken_for_the_batch(
    dims: list[int | None], said: str
) -> None:
    model = parse(SEVERAL)
    given = helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, dims)
    model.graph.input[1].CopyFrom(given)
    if not said:
        make_reproducible(model, per_row=True)
        return
    with pytest.raises(ValueError, match="until they meet values that depend on rows") as error:
        make_reproducible(model, per_row=True)
    assert said in str(error.value)
