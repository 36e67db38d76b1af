"""Deep models in OpenVINO on a thread with a small stack: what recurses ends the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset16 as op

from onnx_philox import reference
from onnx_philox.openvino import random_categorical, random_generator, random_uniform
from tests.common.cases import SEED, assert_same_bits
from tests.common.runtimes import OpenVino

DEEP = 10_000
# 52 bytes a node, less than any call takes.
STACK = 512 * 1024
SECONDS = 10
"""Of processor time, for a node behind them; it takes one or two."""


def on_a_small_stack(test: Callable[[], Any]) -> Any:
    before = threading.stack_size(STACK)
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(test).result()
    finally:
        threading.stack_size(before)


def behind(
    first: Any,
    count: int,
    step: Callable[[ov.Output], ov.Node],
) -> ov.Output:
    for _ in range(count):
        first = step(first).output(0)
    return first


def of_logits() -> ov.Node:
    return random_categorical(behind(op.parameter([1, 3], np.float32), DEEP, op.relu), 4, **SEED)


def of_a_state() -> ov.Node:
    return random_generator(behind(op.parameter([6], np.uint32), DEEP, op.bitwise_not), [4])


def of_a_bound(pairs: int = DEEP // 2) -> ov.Node:
    """Behind nodes that change its rank and change it back."""
    zero = op.constant(np.array([0]))
    high = behind(
        ov.op.Constant(np.array([0.3])), pairs, lambda x: op.squeeze(op.unsqueeze(x, zero), zero)
    )
    return random_uniform([4], 0.0, high, "f64", **SEED)


@pytest.mark.usefixtures("factories")
@pytest.mark.parametrize("make", [of_logits, of_a_state, of_a_bound])
def test_an_input_may_come_out_of_10000_nodes_and_is_followed_in_seconds(
    make: Callable[[], ov.Node],
) -> None:
    def seconds() -> float:
        start = time.process_time()
        node = make()
        node.constructor_validate_and_infer_types()
        return time.process_time() - start

    assert on_a_small_stack(seconds) < SECONDS


@pytest.mark.usefixtures("factories")
def test_what_is_wrong_with_a_state_is_seen_behind_10000_nodes() -> None:
    def refused() -> float:
        x = op.parameter([6], np.uint32)
        state = behind(op.maximum(x, x), DEEP, op.bitwise_not)
        start = time.process_time()
        with pytest.raises(ValueError, match="what Maximum computes"):
            random_generator(state, [5])
        return time.process_time() - start

    assert on_a_small_stack(refused) < SECONDS


@pytest.mark.usefixtures("factories")
def test_a_constant_behind_many_nodes_is_read_exactly(openvino: OpenVino) -> None:
    # OpenVINO validates a model again for every node that it folds: the time grows as the square.
    drawn = openvino(ov.Model([of_a_bound(100).output(0)], []))
    expected, _ = reference.random_uniform([4], 0.0, 0.3, "f64", **SEED)
    assert_same_bits(drawn[0], expected)


@pytest.mark.usefixtures("factories")
def test_draws_may_be_moved_on_by_10000_nodes() -> None:
    def moved() -> None:
        node = random_uniform([4], 0.0, 1.0, "f64", **SEED)
        end = op.relu(behind(node.output(0), DEEP, op.identity))
        model = ov.Model([end.output(0)], [])
        # What the CPU plugin makes of the bounds.
        for index in (1, 2):
            bound = op.constant(index - 1, np.float32)
            node.input(index).replace_source_output(bound.output(0))
        model.validate_nodes_and_infer_types()
        assert end.input_value(0).get_node().get_type_name() == "Convert"
        assert end.input_value(0).get_element_type() == ov.Type.f32

    on_a_small_stack(moved)
