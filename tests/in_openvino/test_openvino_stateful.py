"""Models that keep their state in a variable of OpenVINO, from one inference to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset8

from onnx_philox import PhiloxState, graphs, make_reproducible
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.openvino import make_stateful
from tests.common import cli
from tests.common.cases import assert_refused, assert_same_bits, parse
from tests.common.openvino_models import model, parameter, uniform
from tests.common.runtimes import OpenVino, infer
from tests.in_openvino.test_one_state_buffer import rewritten

RUNS = 4
# Words beyond 2^31, and carries between them from run to run.
STATE = PhiloxState(counter=2**128 - 2**31 - 1, key=2**64 - 5)
RUN = PhiloxState.for_run(2**64 - 3, run=2**31 - 2)
ROWS = np.array([[2**32 - 1, 2**31, 7, b, 2**31 + b, 2**32 - 2] for b in range(3)], np.uint32)


def of_rank_4() -> onnx.ModelProto:
    """A state as DirectML's feature level 3.0 has it."""
    model = graphs.random_generator([5])
    for value in (model.graph.input[0], model.graph.output[1]):
        value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, 12, [1, 1, 1, 6]))
    return model


MODELS = {
    "state": (
        lambda: graphs.random_uniform([5], 0, 9, "i64", stateful=True),
        STATE.to_array(),
    ),
    "rank 4": (
        of_rank_4,
        STATE.to_array().reshape(1, 1, 1, 6),
    ),
    "random_state": (
        lambda: rewritten("a Loop and an If"),
        RUN.to_array(),
    ),
    "rows": (
        lambda: graphs.random_normal([3, 5], 0, 1, "f32", per_row=True),
        ROWS,
    ),
}


def feeds(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {"x": np.zeros((3, 5), np.float32)} if model.graph.input[0].name == "x" else {}


@pytest.mark.parametrize("name", MODELS)
def test_a_request_draws_what_carried_states_draw(
    name: str, openvino_backend: str, tmp_path: Path
) -> None:
    make, initial = MODELS[name]
    model = make()
    state_name = model.graph.input[-1].name
    session = InferenceSession(model)
    state = initial
    expected = []
    for _ in range(RUNS):
        *outputs, state = session.run(None, {**feeds(model), state_name: state})
        expected.append((outputs, state))

    runner = OpenVino(openvino_backend)
    stateful = make_stateful(runner.read(model), initial)
    assert state_name not in {n for i in stateful.inputs for n in i.get_names()}
    file = tmp_path / "model.xml"
    ov.save_model(stateful, file, compress_to_fp16=False)
    for each in (stateful, runner.read(file)):
        request = runner.core.compile_model(each, "CPU").create_infer_request()
        (variable,) = request.query_state()
        assert variable.name == state_name
        for run in (*range(RUNS), 0, 1):
            if run == 0:
                request.reset_state()
            infer(request, feeds(model))
            outputs, state = expected[run]
            for index, output in enumerate(outputs):
                assert_same_bits(request.get_output_tensor(index).data, output)
            assert_same_bits(variable.state.data.view(np.uint32), state)


def test_each_request_has_a_state_of_its_own(openvino_backend: str) -> None:
    core = OpenVino(openvino_backend).core
    model = core.read_model(graphs.random_generator([8]).SerializeToString())
    compiled = core.compile_model(make_stateful(model, STATE), "CPU")
    one = compiled.create_infer_request()
    other = compiled.create_infer_request()
    first = infer(one)[0].copy()
    assert (infer(one)[0] != first).all()
    assert_same_bits(infer(other)[0], first)
    # A row of one state is one: it may begin where runs do.
    model = core.read_model(graphs.random_generator([8]).SerializeToString())
    model.reshape({"state": [1, 6]})
    assert make_stateful(model)


def test_a_request_takes_a_state_that_is_set(openvino_backend: str) -> None:
    core = OpenVino(openvino_backend).core
    model = core.read_model(graphs.random_generator([8]).SerializeToString())
    request = core.compile_model(make_stateful(model), "CPU").create_infer_request()
    from_zeros = infer(request)[0].copy()
    request.query_state()[0].state = ov.Tensor(STATE.to_array().view(np.int32))
    session = InferenceSession(graphs.random_generator([8]))
    expected = session.run(None, {"state": STATE})[0]
    assert_same_bits(infer(request)[0], expected)
    zeros = session.run(None, {"state": PhiloxState()})[0]
    assert_same_bits(from_zeros, zeros)


def test_a_cached_model_keeps_its_state(openvino_backend: str, tmp_path: Path) -> None:
    runner = OpenVino(openvino_backend)
    model = graphs.random_uniform([5], 0.0, 9.0, "f64", stateful=True)
    stateful = make_stateful(runner.read(model), STATE)
    drawn = []
    for _ in range(2):
        compiled = runner.core.compile_model(stateful, "CPU", {"CACHE_DIR": str(tmp_path)})
        request = compiled.create_infer_request()
        drawn.append([infer(request)[0].copy() for _ in range(3)])
    assert_same_bits(np.array(drawn[0]), np.array(drawn[1]))
    session = InferenceSession(model)
    state = STATE.to_array()
    for values in drawn[1]:
        expected, state = session.run(None, {"state": state})
        assert_same_bits(values, expected)


# The model, what it is given to begin with, if anything, and why not.
OF_WORDS = graphs.random_generator([5])
REFUSED: list[tuple[onnx.ModelProto, list[np.ndarray], str]] = [
    (
        graphs.random_uniform([5], 0.0, 1.0, "f32", op_seed=1),
        [],
        "one with a single u32 input ...: got one without a state; its...make_reproducible",
    ),
    (
        OF_WORDS,
        [np.zeros(5, np.uint32)],
        "initial must be of the shape...: got shape [5]. "
        "Pass PhiloxState.for_run(seed), or row_states",
    ),
    (
        OF_WORDS,
        [np.zeros((2, 6), np.uint32)],
        "initial must be ...: got shape [2, 6]",
    ),
    (
        OF_WORDS,
        [np.zeros(6, np.int64)],
        "TypeError: initial must be uint32...: got int64",
    ),
    (
        graphs.random_generator([3, 5], per_row=True),
        [],
        "[B, 6], a state for each row: got nothing, for states of shape [3,6]",
    ),
    (
        graphs.random_generator([None, 5], per_row=True),
        [np.zeros((0, 6), np.uint32)],
        "initial must be [B, 6], at...: got shape [0, 6]",
    ),
]


@pytest.mark.parametrize(("onnx_model", "initial", "words"), REFUSED)
def test_a_state_that_a_model_cannot_begin_with_is_refused(
    onnx_model: onnx.ModelProto, initial: list[np.ndarray], words: str
) -> None:
    model = OpenVino("python").read(onnx_model)
    assert_refused(lambda: make_stateful(model, *initial), words)
    if "state" in {name for port in model.inputs for name in port.get_names()}:
        assert model.input("state").get_element_type() == ov.Type.u32


def _ir(path: Path, *, is_stateful: bool) -> str:
    x = parameter("x", [-1, 4])
    noisy = opset8.add(x, uniform(opset8.shape_of(x)))
    made = make_reproducible(model({"y": noisy}, [x]))
    ov.save_model(make_stateful(made, RUN) if is_stateful else made, path)
    return str(path)


@pytest.mark.parametrize("is_stateful", [False, True])
@pytest.mark.parametrize(
    "asked",
    [
        {"seed": 3},
        {"per_row": True},
        {"per_row": ["x"]},
    ],
)
def test_what_a_rewritten_ir_cannot_be_given_is_refused(
    asked: dict[str, Any], is_stateful: bool, tmp_path: Path
) -> None:
    model = _ir(tmp_path / "model.xml", is_stateful=is_stateful)
    said = "got one whose state is the variable 'random_state'" if is_stateful else "must be "
    with pytest.raises(ValueError, match=said):
        make_reproducible(model, **asked)


def test_a_name_of_rows_in_a_model_without_random_nodes_is_refused() -> None:
    model = parse("g (float[4] x) => (float[4] y) { y = Relu (x) }")
    with pytest.raises(ValueError, match=r"one of the random nodes to replace \(none\): got 'y'"):
        make_reproducible(model, per_row=["y"])


def test_the_commands_know_a_state_that_is_a_variable(tmp_path: Path) -> None:
    model = _ir(tmp_path / "model.xml", is_stateful=True)
    new = str(tmp_path / "new.xml")

    def said(*words: str) -> str:
        done = cli.invoke(*words)
        return f"{done.exit_code} " + " ".join(done.output.split())

    assert "unchanged, 1 random node rewritten already Its state is the variable" in said(
        "rewrite", model, "-o", new
    )
    assert said("rewrite", model, "-o", new, "--seed", "3").startswith("2 onnx-philox rewrite: the")
    assert "state is the variable 'random_state', which goes on from run to run" in said(
        "run", model, "--runs", "2", "--fill"
    )
    assert "the model keeps its state in the variable" in said("run", model, "--seed", "3")
