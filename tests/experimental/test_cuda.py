"""Draws on NVIDIA's cards, as far as they show without one: with a stand-in for the driver.

The CPU's provider takes the place of CUDA's, and the host's memory that of the card.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from onnx_philox import Pipeline, RefusedInputError, graphs, make_reproducible, reference
from onnx_philox._command import verify
from onnx_philox._command.verify import CaseVerdict, cases
from onnx_philox._command.verify.runners import on_cuda
from onnx_philox._command.verify.runners.on_cuda import CudaRunner
from onnx_philox._contract.inputs import PYTORCH
from onnx_philox.onnxruntime import InferenceSession, register
from tests.common import operators
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.foreign import parse
from tests.experimental.cuda_kernels import PTX, THREADS, library
from tests.experimental.cuda_sessions import (
    STATE,
    by_p,
    fed_by,
    fed_normal,
    needs_kernels,
    said,
    session,
)
from tests.experimental.stand_in_driver import MOST_BLOCKS, StandIn

ON_CARDS = ["RandomGenerator", "RandomUniform", "RandomNormal", "RandomBernoulli"]
ON_CARDS += ["RandomExponential", "RandomGamma", "RandomPoisson", "RandomDropout"]

pytestmark = needs_kernels


@pytest.mark.parametrize("rows", [0, 3], ids=["one state", "rows"])
@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
@pytest.mark.parametrize("operator", ON_CARDS)
def test_a_launch_draws_what_the_node_says(
    driver: StandIn, operator: str, constant: bool, rows: int
) -> None:
    for case in operators.cases(operator):
        shape = case.shape()
        inputs = case.inputs(shape)
        states = operators.some_states(rows) if rows else STATE
        names = [name for name in inputs if name != "data"] if case.has_data else True
        model = case.model(
            shape,
            inputs,
            constant=names if constant else (),
            per_row=bool(rows),
        )
        feeds = case.feeds(shape, states, inputs)
        fed = {i.name: feeds[i.name] for i in model.graph.input}
        drawn = session(model).run(None, fed)
        wanted = case.alone(shape, states, inputs) if rows else case.oracle(shape, states, inputs)
        assert_all_same(drawn, wanted)
        kind = case.numbers if operator == "RandomBernoulli" else case.values
        name = f"{case.operator.distribution}_{kind.name}"
        is_of_bits = operator == "RandomGenerator"
        expected = f"onnx_philox_{'uniform_bits' if is_of_bits else name}"
        assert driver.launches[-1][0] == expected


def test_the_kernels_themselves_draw_what_sessions_launch(driver: StandIn) -> None:
    driver.kernels = library(PTX.read_text())
    for operator in ON_CARDS:
        for case in operators.plain(operator):
            shape = case.shape(rows=4, row=(7, 3))
            inputs = case.inputs(shape)
            kinds = ((STATE, case.oracle), (operators.some_states(4), case.alone))
            for states, draw in kinds:
                is_per_row = states.ndim > 1
                running = session(case.model(shape, inputs, per_row=is_per_row))
                drawn = running.run(None, case.feeds(shape, states, inputs))
                assert_all_same(drawn, draw(shape, states, inputs))


@pytest.mark.parametrize(
    "elements", [1, 4, 5, 4 * THREADS, 4 * THREADS + 1, 4 * THREADS * MOST_BLOCKS + 5]
)
def test_a_grid_has_a_thread_for_each_block_of_four_words_up_to_a_most(
    driver: StandIn, elements: int
) -> None:
    running = session(graphs.random_generator([elements]))
    drawn = running.run(None, {"state": STATE})
    expected = reference.random_generator(STATE, (elements,))[0]
    assert_same_bits(drawn[0], expected)
    ((_, _, blocks, threads, _),) = driver.launches
    expected = (min(-(-elements // (4 * THREADS)), MOST_BLOCKS), THREADS)
    assert (blocks, threads) == expected


AT_ONCE = {
    graphs.random_normal: {"f64": 4, "f32": 8, "bf16": 16},
    graphs.random_uniform: {"f64": 2, "f32": 4, "f16": 16},
}


@pytest.mark.parametrize(("build", "kind"), [(b, kind) for b in AT_ONCE for kind in AT_ONCE[b]])
def test_a_thread_draws_32_bytes_at_once_or_16_of_wide_uniforms(
    driver: StandIn, build: Any, kind: str
) -> None:
    at_once = AT_ONCE[build][kind]
    for elements in (at_once * THREADS + 1, at_once * THREADS):
        model = build([elements], 0, 1, kind, op_seed=1)
        session(model).run(None, {})
    grids = [blocks for (_, _, blocks, _, _) in driver.launches]
    assert grids == [2, 1]


@pytest.mark.parametrize("wanted", ["output", "mask", "next_state"])
def test_an_output_that_no_node_reads_is_not_written(driver: StandIn, wanted: str) -> None:
    data = np.arange(7, dtype=np.float32)
    model = graphs.random_dropout(None, 0.5, rank=1, stateful=True)
    running = session(model)
    everything = running.run(None, {"data": data, "state": STATE})
    names = [o.name for o in model.graph.output]
    driver.launches.clear()
    node, *_ = model.graph.node
    place = names.index(wanted)
    for i, name in enumerate(node.output):
        if name != wanted:
            node.output[i] = ""
    del model.graph.output[place + 1 :], model.graph.output[:place]
    drawn = session(model).run(None, {"data": data, "state": STATE})
    assert_same_bits(drawn[0], everything[place])
    ((name, launch, *_),) = driver.launches
    written = {"output": "out", "mask": "mask", "next_state": "next_states"}
    marked = [key for key in written if launch[written[key]]]
    assert marked == [wanted]
    assert (name == "onnx_philox_next_states") == (wanted == "next_state")


def test_an_empty_draw_launches_only_what_writes_the_next_state(driver: StandIn) -> None:
    running = session(fed_normal())
    drawn = running.run(None, fed_by([0, 3]))
    assert drawn[0].shape == (0, 3)
    assert_same_bits(drawn[1], STATE)
    assert [launch[0] for launch in driver.launches] == ["onnx_philox_next_states"]


def bound(
    model: Any,
    states: np.ndarray,
) -> tuple[Any, ort.IOBinding, ort.OrtValue]:
    """A session, and its states in memory that an output may have as well."""
    running = session(model)
    value = ort.OrtValue.ortvalue_from_numpy(states)
    binding = running.io_binding()
    binding.bind_ortvalue_input("state", value)
    return running, binding, value


def test_next_states_in_place_of_the_states_are_written_after_the_draw(driver: StandIn) -> None:
    model = graphs.random_normal([3, 5], 0, 1, "f32", per_row=True)
    states = operators.some_states(3)
    wanted = reference.random_normal((3, 5), 0, 1, "f32", state=states)
    running, binding, value = bound(model, states)
    binding.bind_output("values")
    binding.bind_ortvalue_output("next_state", value)
    running.run_with_iobinding(binding)
    output = binding.get_outputs()[0]
    assert_same_bits(output.numpy(), wanted[0])
    assert_same_bits(value.numpy(), wanted[1])
    names = [launch[0] for launch in driver.launches]
    assert names == ["onnx_philox_normal_f32", "onnx_philox_next_states"]
    assert driver.launches[0][1]["next_states"] == 0


def test_values_in_memory_that_threads_still_read_are_refused(driver: StandIn) -> None:
    running, binding, value = bound(graphs.random_generator([6]), STATE)
    binding.bind_ortvalue_output("bits", value)
    text = (
        "RandomGenerator: output 'bits' must be in memory of its own on a card: got that of input "
        "'state'. Bind other memory."
    )
    with said(text, kind=RefusedInputError):
        running.run_with_iobinding(binding)
    assert driver.launches == []


def test_operators_without_a_kernel_draw_on_the_cpu(driver: StandIn) -> None:
    permutation = session(graphs.random_permutation([9], op_seed=4))
    drawn = permutation.run(None, {})
    expected = reference.random_permutation((9,), op_seed=4)[0]
    assert_same_bits(drawn[0], expected)
    assert driver.launches == []


def test_a_rewritten_model_draws_there_in_a_pipeline(driver: StandIn) -> None:
    rewritten = make_reproducible(
        parse("""g (float[n, 4] x) => (float[n, 4] noise, bool[n, 4] chosen) {
            noise = RandomNormalLike (x) chosen = Bernoulli <dtype = 9> (x) }""")
    )
    numbers = np.linspace(0, 1, 12, dtype=np.float32)
    feeds = {"x": numbers.reshape(3, 4)}
    options = register(ort.SessionOptions(), cuda=True)
    pipeline = Pipeline(rewritten, sess_options=options, providers=["CPUExecutionProvider"])
    drawn = pipeline(feeds, seed=5)
    wanted = Pipeline(rewritten)(feeds, seed=5)
    assert_all_same((drawn[name] for name in wanted), wanted.values())
    names = {name for name, *_ in driver.launches}
    assert names == {"onnx_philox_normal_f32", "onnx_philox_bernoulli_f32"}


READ_BY_THE_HOST = {
    "nan": {"mean": np.float32(np.nan)},
    "inf": {"scale": np.float32(np.inf)},
    "shape": {"shape": np.array([-1, 3])},
    "words": {"state": np.zeros(5, np.uint32)},
    "rows": {"state": np.zeros((2, 6), np.uint32)},
}


@pytest.mark.parametrize("wrong", READ_BY_THE_HOST)
def test_what_the_host_reads_is_refused_as_on_the_cpu(driver: StandIn, wrong: str) -> None:
    given = fed_by([3, 5]) | READ_BY_THE_HOST[wrong]
    model = fed_normal()
    model.graph.input[3].type.tensor_type.ClearField("shape")
    texts = []
    for running in (session(model), InferenceSession(model)):
        with pytest.raises(RefusedInputError) as refused:
            running.run(None, given)
        texts.append(str(refused.value))
    assert texts[0] == texts[1]
    assert driver.launches == []


@pytest.mark.parametrize(
    "p",
    [1.5, [0.5, np.nan, 0.5, 0.5]],
    ids=["one", "each"],
)
def test_a_constant_is_refused_when_it_is_loaded(driver: StandIn, p: Any) -> None:
    model = by_p(per_element=np.ndim(p) > 0)
    held = np.array(p, np.float32)
    model = operators.with_constant(model, "p", held)
    for load in (session, InferenceSession):
        with said("input 'p' must be from 0 to 1, or at most 4 ulp above 1: got"):
            load(model)
    assert driver.launches == []


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    "p",
    [-0.5, [0.5, 2, 0.5, 0.5]],
    ids=["one", "each"],
)
def test_a_number_on_the_card_is_refused_by_the_next_run(p: Any) -> None:
    p = np.array(p, np.float32)
    running = session(by_p(per_element=p.ndim > 0))
    good = np.full_like(p, 0.5)
    before = running.run(None, {"p": good})[0]
    drawn = running.run(None, {"p": p})[0]
    is_outside = np.broadcast_to((p < 0) | (p > 1), (4,))
    assert not drawn[is_outside].any()
    text = (
        "RandomBernoulli: input 'p' must be from 0 to 1, or at most 4 ulp above 1: got another "
        "number in an earlier run, which drew nothing for it. Pass probabilities."
    )
    with said(text, kind=RefusedInputError):
        running.run(None, {"p": good})
    after = running.run(None, {"p": good})
    assert_same_bits(after[0], before)


def test_a_captured_graph_has_only_constants_where_values_are_checked(driver: StandIn) -> None:
    driver.set("capturing", 1)
    drawn = session(graphs.random_normal([3, 5], 0, 1, "f32", stateful=True)).run(
        None, {"state": STATE}
    )
    expected = reference.random_normal((3, 5), 0, 1, "f32", state=STATE)[0]
    assert_same_bits(drawn[0], expected)
    half = np.array(0.5, np.float32)
    constant = operators.with_constant(by_p(), "p", half)
    session(constant).run(None, {})
    drawn_before = len(driver.launches)
    for model, feeds, name in (
        (fed_normal(), fed_by([3, 5]), "shape"),
        (by_p(), {"p": np.array(0.5, np.float32)}, "p"),
    ):
        text = (
            f"input '{name}' must be a constant where a CUDA graph is captured: got a value of "
            "each run. A replay would neither read nor check it: make it an initializer, or "
            "capture no graph."
        )
        with said(text, kind=RefusedInputError):
            session(model).run(None, feeds)
    assert len(driver.launches) == drawn_before


def test_nothing_is_loaded_copied_or_waited_for_in_a_run(driver: StandIn) -> None:
    running = session(by_p(per_element=True, stateful=True))
    running.run(None, {"p": np.full(4, 0.5, np.float32), "state": STATE})
    before = len(driver.calls)
    running.run(None, {"p": np.full(4, 0.5, np.float32), "state": STATE})
    called = "cuStreamGetCtx cuStreamIsCapturing cuCtxGetCurrent cuLaunchKernel"
    assert driver.calls[before:] == called.split()


def test_torch_s_numbers_are_refused_by_a_sentence(driver: StandIn) -> None:
    model = graphs.random_uniform([3], 0, 1, "f32", global_seed=1, alignment="pytorch")
    text = (
        "RandomUniform: attribute 'alignment' must be 'tensorflow' on a card: got 'pytorch'. The "
        "CPU draws torch's numbers: register the operators without CUDA."
    )
    with said(text):
        session(model)
    assert driver.launches == []


def test_verify_draws_its_vectors_on_a_card(driver: StandIn) -> None:
    runner = CudaRunner(on=["CPUExecutionProvider"], is_strict=False)
    for case in (replace(c, vectors=c.vectors[:2]) for c in cases.load_cases()):
        is_torch_s = case.generator.alignment == PYTORCH
        is_refused = is_torch_s and case.vectors[0].example.operator.name in ON_CARDS
        result = verify._verify(runner, case)
        assert result.verdict is (CaseVerdict.NOT_CARRIED if is_refused else CaseVerdict.SAME)
    assert {name for name, *_ in driver.launches} > {"onnx_philox_normal_f32"}


def test_on_the_cpu_alone_verify_says_that_there_is_no_card(driver: StandIn) -> None:
    said = "--device cuda must be where ONNX Runtime opens a session on a card: got "
    assert on_cuda.why_no_session().startswith(said)
    result = verify._verify(CudaRunner(), cases.load_cases()[0])
    assert result.verdict is CaseVerdict.NOT_CARRIED
    assert "fallback to CPU EP has been explicitly disabled" in str(result.reason)
    assert driver.launches == []
