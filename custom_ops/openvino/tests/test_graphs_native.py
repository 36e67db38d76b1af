"""States that come out of graphs of unkind shapes, read from IR by the native operators."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from onnx_philox import PhiloxState, graphs, reference
from openvino import opset8

from native import native_core

STATE = PhiloxState(2**100, 5).to_array()


def read_with(core: ov.Core, source: ov.Node, parameters: list[ov.Node]) -> ov.Model:
    """A model that draws three words from the state `source`."""
    model = core.read_model(graphs.random_generator([3]).SerializeToString())
    (node,) = (n for n in model.get_ordered_ops() if n.get_type_name() == "RandomGenerator")
    old = model.get_parameters()[0]
    node.input(0).replace_source_output(source.output(0))
    model.remove_parameter(old)
    model.add_parameters(parameters)
    model.validate_nodes_and_infer_types()
    return model


def test_a_state_at_the_end_of_a_deep_network_is_read() -> None:
    source = opset8.parameter([6], np.uint32, "state")
    node: ov.Node = source
    for _ in range(3000):
        node = opset8.reshape(node, np.array([6]), special_zero=False)
    core = native_core()
    bits = core.compile_model(read_with(core, node, [source]), "CPU")({0: STATE})[0]
    np.testing.assert_array_equal(bits, reference.random_generator(STATE, [3])[0])


def test_many_paths_to_one_node_are_walked_once() -> None:
    source = opset8.parameter([6], np.int64, "state")
    node = opset8.convert(source, "u32")
    for _ in range(60):
        node = opset8.add(node, node)
    read_with(native_core(), node, [source])


def test_a_state_merged_from_a_high_constant_is_refused() -> None:
    source = opset8.parameter([4], np.uint32, "counter")
    high = opset8.constant(np.array([2**32 - 1, 5], np.uint32))
    node = opset8.concat([source, high], 0)
    with pytest.raises(RuntimeError) as raised:
        read_with(native_core(), node, [source])
    assert "input 'state' is merged from a uint32 constant of 4294967295" in str(raised.value)


def test_openvino_s_own_random_numbers_are_no_constant() -> None:
    """Seeds of 0 mean other numbers in every run."""
    shape, low, high = (opset8.constant(x) for x in (np.array([6]), np.int32(0), np.int32(1 << 30)))
    drawn = opset8.random_uniform(shape, low, high, "i32", 0, 0)
    core = native_core()
    model = read_with(core, opset8.convert(drawn, "u32"), [])
    request = core.compile_model(model, "CPU").create_infer_request()
    first = request.infer()[0].copy()
    assert (first != request.infer()[0]).any()
