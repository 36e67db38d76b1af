"""What the CPU plugin runs in place of the native operators, once it has changed all types."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import openvino as ov
import pytest
from onnx import ModelProto

from onnx_philox import graphs, reference
from tests.common import runtimes
from tests.common.cases import assert_all_same
from tests.common.runtimes import OpenVino, request_of

STATE = np.array([5, 2**32 - 1, 7, 9, 2**31, 2**32 - 2], np.uint32)
SIZES = [5, 5, 0, 4099, 1, 65536, 5]
SEEDS = {"global_seed": 3, "op_seed": 4}
compiled = partial(runtimes.compiled, backend="native")


def inputs_of_the_node(model: ov.CompiledModel) -> list[tuple[str, str]]:
    """The names and types of what the plugin gives the operator."""
    nodes = model.get_runtime_model().get_ordered_ops()
    [node] = (n for n in nodes if n.get_rt_info()["layerType"].astype(str) == "Reference")
    inputs = node.input_values()
    return [
        (i.get_node().get_friendly_name(), i.get_element_type().get_type_name()) for i in inputs
    ]


def uniform(
    type_: str = "f32",
    bounds: tuple[float, float] = (0.1, 0.7),
    **more: Any,
) -> ModelProto:
    return graphs.random_uniform(
        None,
        *bounds,
        type_,
        rank=1,
        **SEEDS,
        **more,
    )


CLASSES = graphs.random_categorical(
    [[0.1, 0.5, -2.0]],
    999,
    stateful=True,
    **SEEDS,
)
READ = {
    "seeds": (uniform(), [("shape", "i64")]),
    "state": (
        uniform(stateful=True),
        [("shape", "i64"), ("state", "u32")],
    ),
    "f64": (
        uniform("f64", stateful=True),
        [("shape", "i64"), ("state", "u32")],
    ),
    "bits": (
        graphs.random_generator(None, rank=1),
        [("state", "u32"), ("shape", "i64")],
    ),
    "logits": (CLASSES, [("state", "u32")]),
    "bounds that are inputs": (
        uniform(bounds=(0.1, None)),
        [("shape", "i64"), ("maxval", "f32")],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_the_plugin_gives_a_node_only_what_the_node_does_not_know(name: str) -> None:
    model, expected = READ[name]
    assert inputs_of_the_node(compiled(model)) == expected


def draws(
    type_: str,
    size: int,
    state: np.ndarray | None,
) -> list[np.ndarray]:
    values, next_state = reference.random_uniform([size], 0.1, 0.7, type_, **SEEDS, state=state)
    return [values] if state is None else [values, next_state]


@pytest.mark.parametrize("type_", ["f32", "f64", "f16"])
@pytest.mark.parametrize("state", [None, STATE], ids=["seeds", "state"])
def test_runs_of_many_sizes_draw_what_the_reference_draws(
    type_: str, state: np.ndarray | None
) -> None:
    run = request_of(compiled(uniform(type_, stateful=state is not None)))
    for size in SIZES:
        feeds = {"shape": np.array([size])} | ({} if state is None else {"state": state})
        assert_all_same(run(feeds), draws(type_, size, state))


def test_threads_that_share_a_model_draw_sizes_of_their_own() -> None:
    model = compiled(uniform(stateful=True))

    def draw(first: int) -> None:
        run = request_of(model)
        for size in range(first, first + 300):
            drawn = run({"shape": np.array([size]), "state": STATE})
            assert_all_same(drawn, draws("f32", size, STATE))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(draw, [1, 200, 1000, 2000]))


@pytest.mark.parametrize("name", READ)
def test_every_backend_imports_what_the_native_one_exports(name: str) -> None:
    model = compiled(READ[name][0])
    feeds = {
        "shape": np.array([999]),
        "state": STATE,
        "maxval": np.array(0.9, np.float32),
    }
    feeds = {port.any_name: feeds[port.any_name] for port in model.inputs}
    expected = request_of(model)(feeds)
    for backend in ("native", "python"):
        imported = OpenVino(backend).core.import_model(model.export_model(), "CPU")
        assert_all_same(request_of(imported)(feeds), expected)
