"""Deep models in OpenVINO: a node looks up and down the graph whenever it is validated.

On a thread with a small stack, so that what recurses ends the process: a stack of 8 MB has room for
ten times as many calls.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openvino as ov
import pytest
from cases import SEED
from openvino import opset8, opset13, opset16

from onnx_philox.openvino import random_categorical, random_generator, random_uniform

DEEP = 10_000
# Of these each one is computed, or looked at closely, by calls from Python.
CLOSE = 2_000
# 52 bytes a node, less than any call takes.
STACK = 512 * 1024


def on_a_small_stack(test: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        before = threading.stack_size(STACK)
        try:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(test, *args, **kwargs).result()
        finally:
            threading.stack_size(before)

    return run


def validated_twice(node: ov.Node, parameters: list[ov.Node]) -> ov.Model:
    model = ov.Model([node.output(0)], parameters)
    model.validate_nodes_and_infer_types()
    return model


@pytest.mark.usefixtures("factories")
@on_a_small_stack
def test_logits_may_come_out_of_10000_nodes() -> None:
    x = opset8.parameter([2, 3], np.float32)
    last = x.output(0)
    for _ in range(DEEP):
        last = opset8.relu(last).output(0)
    node = random_categorical(last, 4, **SEED)
    model = validated_twice(node, [x])
    assert model.output(0).get_partial_shape() == ov.PartialShape([2, 4])


@pytest.mark.usefixtures("factories")
@on_a_small_stack
def test_a_state_may_come_out_of_many_nodes() -> None:
    x = opset8.parameter([6], np.uint32)
    last = x.output(0)
    for _ in range(CLOSE):
        last = opset13.bitwise_xor(last, x).output(0)
    model = validated_twice(random_generator(last, [4]), [x])
    assert model.output(0).get_partial_shape() == ov.PartialShape([4])


@pytest.mark.usefixtures("factories")
@on_a_small_stack
def test_what_is_wrong_with_a_state_is_seen_behind_many_nodes() -> None:
    x = opset8.parameter([6], np.uint32)
    last = opset8.convert(opset8.divide(x, x), "u32").output(0)
    for _ in range(CLOSE):
        last = opset13.bitwise_xor(last, x).output(0)
    with pytest.raises(Exception, match="what Divide computes"):
        random_generator(last, [4])


@pytest.mark.usefixtures("factories")
@on_a_small_stack
def test_a_bound_may_come_out_of_many_nodes_of_constants() -> None:
    bound = opset8.constant(2**40, np.int64).output(0)
    for _ in range(CLOSE):
        bound = opset8.abs(bound).output(0)
    node = random_uniform([4], 0, bound, "i64", **SEED)
    model = validated_twice(node, [])
    assert model.output(0).get_partial_shape() == ov.PartialShape([4])


@pytest.mark.usefixtures("factories")
@on_a_small_stack
def test_draws_may_be_moved_on_by_10000_nodes() -> None:
    node = random_uniform([4], 0.0, 1.0, "f64", **SEED)
    last = node.output(0)
    for _ in range(DEEP):
        last = opset16.identity(last).output(0)
    end = opset8.relu(last)
    model = ov.Model([end.output(0)], [])
    # What the CPU plugin makes of the bounds.
    for index in (1, 2):
        node.input(index).replace_source_output(opset8.constant(index - 1, np.float32).output(0))
    model.validate_nodes_and_infer_types()
    assert end.input_value(0).get_node().get_type_name() == "Convert"
    assert end.input_value(0).get_element_type() == ov.Type.f32
