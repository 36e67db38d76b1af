"""Builder, ONNX, OpenVINO, IR, a fresh process: the same bits as the reference at the end.

OpenVINO saves a model in three ways. Each case is saved in one of them, or in all, and each file
runs in a fresh process under a precision hint. One process runs all the files of one way that the
selected tests need.

Run as a script, this file is that process: it gets where to write what came out, and hints, each
with its file.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import documented_ir
import numpy as np
import openvino as ov
import operators
import pytest
from exhaustive import marked
from onnx import ModelProto
from operators import with_constant
from runtimes import infer

import onnx_philox
from onnx_philox import graphs, reference
from onnx_philox._contract.operators import RANDOM_UNIFORM

pytestmark = pytest.mark.slow

Arrays = Mapping[str, Any]

SAVE: dict[str, Callable[[ov.Model, Path], None]] = {
    "save_model": lambda model, path: ov.save_model(model, path),
    "save_model_uncompressed": lambda model, path: ov.save_model(
        model, path, compress_to_fp16=False
    ),
    "serialize": lambda model, path: ov.serialize(model, path),
}
HINTS = ("default", "f32", "bf16", "f16")

# High bits in every word, and a counter that wraps at 2^128 within the first three blocks.
STATE = np.array([0xFFFFFFFE, *[0xFFFFFFFF] * 3, 0x89ABCDEF, 0xFEDCBA98], np.uint32)
ALL_ONES = np.full(6, 0xFFFFFFFF, np.uint32)
SEEDS = {"global_seed": 2**63 - 1, "op_seed": 2**62 + 3}

BOUNDS: dict[str, tuple[float, float]] = {
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-3, 2**40 + 1),
    "f16": (-1.7, 2.2),
    "bf16": (0.1, 0.7),
    "f32": (0.1, 0.7),
    "f64": (0.1, 0.7),
}
SUBNORMAL_BOUNDS = {
    "f16": (6e-8, 3e-5),
    "bf16": (1e-40, 9e-39),
    "f32": (1e-45, 9e-39),
    "f64": (5e-324, 1e-308),
}
DTYPES = {t.name: t.dtype for t in RANDOM_UNIFORM.output_types}
# OpenVINO's CPU plugin narrows f64 and i64 inputs; the operators refuse such bounds there.
INPUT_BOUND_TYPES = ("i32", "f16", "bf16", "f32")


@dataclass(frozen=True)
class Case:
    """A model, what to feed it with run by run, and what each run must give."""

    model: Callable[[], ov.Model]
    feeds: Sequence[Arrays]
    expected: Sequence[Arrays]


def cases() -> dict[str, Case]:
    return {
        **{
            f"random_uniform_{type_}_{shape}_{'state' if stateful else 'seeds'}": uniform(
                type_, shape, BOUNDS[type_], stateful=stateful
            )
            for type_ in BOUNDS
            for shape in SHAPES
            for stateful in (True, False)
        },
        **{f"random_generator_{shape}": generator(shape) for shape in SHAPES},
        **{
            f"random_uniform_{type_}_subnormal_bounds": uniform(
                type_, "static", bounds, stateful=False
            )
            for type_, bounds in SUBNORMAL_BOUNDS.items()
        },
        **{f"random_uniform_{t}_input_bounds": input_bounds(t) for t in INPUT_BOUND_TYPES},
        "random_generator_constant_state": constant_state_generator(),
        **{f"random_uniform_{t}_constant_state": constant_state_uniform(t) for t in BOUNDS},
        **{f"random_uniform_{t}_factory": factory_uniform(t, constant=True) for t in BOUNDS},
        **{f"random_uniform_{t}_factory_state": factory_uniform(t, constant=False) for t in BOUNDS},
        "random_generator_factory": factory_generator(constant=True),
        "random_generator_factory_state": factory_generator(constant=False),
        **{
            f"{case.name} {shape} {'state' if stateful else 'seeds'}".replace(
                " ", "_"
            ): distribution(case, is_fed=shape == "dynamic", stateful=stateful)
            for operator in operators.OPERATORS
            for case in operators.plain(operator)
            for shape in ("static", "dynamic")
            for stateful in (True, False)
            if stateful or case.operator.input("state").optional
        },
        "random_token_of_constants": token(),
        "chained_nodes_constant_state": chained_nodes(constant=True),
        "chained_nodes_state": chained_nodes(constant=False),
        "page_s_own_ir": page_s_own_ir(),
    }


# The shape that the builder gets, and the ones that runs ask for: None where it is the builder's.
SHAPES: dict[str, tuple[list[int] | None, int | None, list[list[int]]]] = {
    "static": ([3, 5], None, [[3, 5]]),
    "rank_0": ([], None, [[]]),
    "dynamic": (None, 2, [[3, 5], [1, 9], [0, 4], [2, 2]]),
    "dynamic_rank_0": (None, 0, [[]]),
}


def from_onnx(model: ModelProto) -> ov.Model:
    core = onnx_philox.openvino.register(ov.Core())
    return core.read_model(model.SerializeToString())


def uniform(type_: str, shape_name: str, bounds: tuple[float, float], *, stateful: bool) -> Case:
    shape, rank, asked = SHAPES[shape_name]
    seeds = {} if stateful else SEEDS
    state = {"state": STATE} if stateful else {}

    def expected(run_shape: list[int]) -> Arrays:
        values, next_state = reference.random_uniform(run_shape, *bounds, type_, **seeds, **state)
        return {"values": values} | ({"next_state": next_state} if stateful else {})

    return Case(
        lambda: from_onnx(
            graphs.random_uniform(shape, *bounds, type_, **seeds, stateful=stateful, rank=rank)
        ),
        [state | run_shape(s, shape is None) for s in asked],
        [expected(s) for s in asked],
    )


def generator(shape_name: str) -> Case:
    shape, rank, asked = SHAPES[shape_name]
    return Case(
        lambda: from_onnx(graphs.random_generator(shape, rank=rank)),
        [{"state": STATE} | run_shape(s, shape is None) for s in asked],
        [bits_and_next(STATE, s) for s in asked],
    )


def distribution(case: operators.Case, *, is_fed: bool, stateful: bool) -> Case:
    """A case of an operator, with its inputs as far as OpenVINO takes them, or as constants."""
    shapes = [case.shape(rows) for rows in ((3, 1, 4) if is_fed else (3,))]
    inputs = [case.inputs(shape) for shape in shapes]
    held = case.constant_in_openvino if is_fed else True
    if case.has_data:
        held = ("ratio",)
    if held is True or any(inputs[0][name].ndim for name in held):
        shapes, inputs = shapes[:1], inputs[:1]
    state = STATE if stateful else None

    def expected(shape: Any, given: Any) -> Arrays:
        results = case.oracle(shape, state, given)
        outputs = [o.name for o in case.operator.outputs if stateful or not o.is_state]
        whole = dict(zip(outputs, results, strict=False))
        if case.is_scaled_in_openvino:
            del whole[case.operator.outputs[0].name]
        return whole

    model = case.model(shapes[0], inputs[0], constant=held, stateful=stateful)
    fed = [i.name for i in model.graph.input]
    every = [case.feeds(shape, state, given) for shape, given in zip(shapes, inputs, strict=True)]
    return Case(
        lambda: from_onnx(model),
        [{name: feeds[name] for name in fed} for feeds in every],
        [expected(shape, given) for shape, given in zip(shapes, inputs, strict=True)],
    )


def token() -> Case:
    """All is constant, the state too, and `top_k` has high bits; `min_p` is left out."""
    logits = np.random.default_rng(8).normal(size=(3, 5)).astype(np.float32)
    filters: Arrays = {
        "temperature": np.array([0.1, 0.7, 2], np.float32),
        "top_k": np.array([2**40 + 1, 2, 4]),
        "top_p": np.array([0.9], np.float32),
    }
    results = reference.random_token(logits, **filters, state=ALL_ONES)
    built = graphs.random_token(logits, **filters, stateful=True)
    return Case(
        lambda: from_onnx(with_constant(built, "state", ALL_ONES)),
        [{}],
        [dict(zip(("token", "next_state"), results, strict=True))],
    )


def run_shape(shape: list[int], is_input: bool) -> Arrays:
    return {"shape": np.array(shape, np.int64)} if is_input else {}


def bits_and_next(state: np.ndarray, shape: list[int]) -> Arrays:
    return dict(zip(("bits", "next_state"), reference.random_generator(state, shape), strict=True))


def input_bounds(type_: str) -> Case:
    low, high = (np.array(bound, DTYPES[type_]) for bound in BOUNDS[type_])
    results = reference.random_uniform([2, 7], low, high, type_, state=STATE)
    return Case(
        lambda: from_onnx(graphs.random_uniform(None, None, None, type_, stateful=True, rank=2)),
        [{"state": STATE, "minval": low, "maxval": high} | run_shape([2, 7], True)],
        [dict(zip(("values", "next_state"), results, strict=True))],
    )


def constant_state_generator() -> Case:
    return Case(
        lambda: from_onnx(with_constant(graphs.random_generator([4, 5]), "state", ALL_ONES)),
        [{}],
        [bits_and_next(ALL_ONES, [4, 5])],
    )


def constant_state_uniform(type_: str) -> Case:
    bounds = BOUNDS[type_]
    results = reference.random_uniform([4, 5], *bounds, type_, state=ALL_ONES)
    return Case(
        lambda: from_onnx(
            with_constant(
                graphs.random_uniform([4, 5], *bounds, type_, stateful=True), "state", ALL_ONES
            )
        ),
        [{}],
        [dict(zip(("values", "next_state"), results, strict=True))],
    )


def factory_uniform(type_: str, *, constant: bool) -> Case:
    bounds = BOUNDS[type_]
    state = ALL_ONES if constant else STATE

    def model() -> ov.Model:
        source = ALL_ONES if constant else parameter("state", ov.Type.u32, [6])
        node = onnx_philox.openvino.random_uniform([2, 7], *bounds, type_, **SEEDS, state=source)
        return named_model(node.outputs(), ["values", "next_state"], source)

    results = reference.random_uniform([2, 7], *bounds, type_, **SEEDS, state=state)
    return Case(
        model,
        [{} if constant else {"state": state}],
        [dict(zip(("values", "next_state"), results, strict=True))],
    )


def factory_generator(*, constant: bool) -> Case:
    state = ALL_ONES if constant else STATE

    def model() -> ov.Model:
        source = ALL_ONES if constant else parameter("state", ov.Type.u32, [6])
        node = onnx_philox.openvino.random_generator(source, [2, 7])
        return named_model(node.outputs(), ["bits", "next_state"], source)

    return Case(model, [{} if constant else {"state": state}], [bits_and_next(state, [2, 7])])


def chained_nodes(*, constant: bool) -> Case:
    """A node that draws on where another has stopped, both of one state."""
    state = ALL_ONES if constant else STATE

    def model() -> ov.Model:
        source = ALL_ONES if constant else parameter("state", ov.Type.u32, [6])
        first = onnx_philox.openvino.random_generator(source, [5])
        second = onnx_philox.openvino.random_uniform(
            [7], *BOUNDS["f64"], "f64", state=first.output(1)
        )
        names = ["bits", "values", "next_state"]
        return named_model([first.output(0), *second.outputs()], names, source)

    bits, between = reference.random_generator(state, [5])
    values, after = reference.random_uniform([7], *BOUNDS["f64"], "f64", state=between)
    return Case(
        model,
        [{} if constant else {"state": state}],
        [{"bits": bits, "values": values, "next_state": after}],
    )


def page_s_own_ir() -> Case:
    """The IR that OpenVINO's page prints, with its seeds kept."""
    low, high = 0.1, 0.7

    def model() -> ov.Model:
        read = ov.Core().read_model(*documented_ir.page_s_ir(low, high))
        return onnx_philox.make_reproducible(read, keep_seeds=True)

    states = [onnx_philox.PhiloxState.for_run(0, run).to_array() for run in range(3)]
    expected = [
        {documented_ir.NAME: documented_ir.documented(low, high, state), "next_random_state": after}
        for state, after in itertools.pairwise(states)
    ]
    return Case(model, [{"random_state": state} for state in states[:-1]], expected)


def parameter(name: str, type_: ov.Type, shape: list[int]) -> ov.Node:
    node = ov.opset8.parameter(shape, type_, name)
    node.output(0).get_tensor().set_names({name})
    return node


def named_model(outputs: list[ov.Output], names: list[str], source: Any) -> ov.Model:
    for output, name in zip(outputs, names, strict=True):
        output.get_tensor().set_names({name})
    return ov.Model(outputs, [source] if isinstance(source, ov.Node) else [], "model")


CASES = cases()


# Tensors cross the border between the processes as type, shape and bytes.


def packed(array: np.ndarray) -> list[Any]:
    others = (("u32", np.uint32), ("boolean", np.bool_))
    name = next(n for n, dtype in (*DTYPES.items(), *others) if dtype == array.dtype)
    return [name, list(array.shape), array.tobytes().hex()]


def packed_tensor(tensor: ov.Tensor) -> list[Any]:
    # OpenVINO shows bfloat16 memory as float16; the bytes are right.
    return [
        tensor.get_element_type().to_string(),
        list(tensor.get_shape()),
        tensor.data.tobytes().hex(),
    ]


def as_tensor(packed_array: list[Any]) -> ov.Tensor:
    type_name, shape, text = packed_array
    tensor = ov.Tensor(getattr(ov.Type, type_name), ov.Shape(shape))
    tensor.data[...] = np.frombuffer(bytes.fromhex(text), tensor.data.dtype).reshape(shape)
    return tensor


def run_files(given: Sequence[tuple[str, Path]]) -> dict[str, dict[str, Any]]:
    """Runs files under hints; by hint and name, the outputs of each run or an error's text."""
    core = onnx_philox.openvino.register(ov.Core())
    results: dict[str, dict[str, Any]] = {hint: {} for hint in HINTS}
    for hint, path in given:
        print(hint, path.name, file=sys.stderr)
        config = {} if hint == "default" else {"INFERENCE_PRECISION_HINT": hint}
        try:
            compiled = core.compile_model(core.read_model(path), "CPU", config)
            request = compiled.create_infer_request()
            results[hint][path.stem] = [
                run_once(compiled, request, feed)
                for feed in json.loads(path.with_suffix(".json").read_text())
            ]
        except Exception as error:
            results[hint][path.stem] = str(error)
    return results


def run_once(
    compiled: ov.CompiledModel, request: ov.InferRequest, feed: dict[str, Any]
) -> dict[str, Any]:
    for name, array in feed.items():
        request.set_tensor(name, as_tensor(array))
    infer(request)
    return {o.get_any_name(): packed_tensor(request.get_tensor(o)) for o in compiled.outputs}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Gives the file of a case that is saved in one of the ways."""
    root = tmp_path_factory.mktemp("ir")

    @cache
    def save(way: str, name: str) -> Path:
        path = root / way / f"{name}.xml"
        path.parent.mkdir(exist_ok=True)
        SAVE[way](CASES[name].model(), path)
        feeds = [{k: packed(v) for k, v in feed.items()} for feed in CASES[name].feeds]
        path.with_suffix(".json").write_text(json.dumps(feeds))
        return path

    return save


@pytest.fixture(scope="module", params=HINTS)
def hint(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=SAVE)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run_of(
    saved: Callable[[str, str], Path],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], dict[str, dict[str, Any]]]:
    """Gives what a fresh process got from the selected files of one way of saving, by hint."""
    selected = [getattr(item, "callspec", None) for item in request.session.items]

    # The tests of a way do not follow one another, and a fixture of a way would not be kept.
    @cache
    def run(way: str) -> dict[str, dict[str, Any]]:
        given = [
            (case.params["hint"], saved(way, case.params["name"]))
            for case in selected
            if case and case.params.get("way") == way and {"hint", "name"} <= case.params.keys()
        ]
        path = tmp_path_factory.mktemp("results") / f"{way}.json"
        command = [sys.executable, __file__, path, *itertools.chain.from_iterable(given)]
        process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert process.returncode == 0, process.stderr
        return dict(json.loads(path.read_text()))

    return run


@pytest.fixture(scope="module")
def results(
    run_of: Callable[[str], dict[str, dict[str, Any]]], way: str
) -> dict[str, dict[str, Any]]:
    """What a fresh process got from the files of this way of saving, by hint."""
    return run_of(way)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks) for name, marks in marked(list(CASES))]
)
def test_ir_gives_the_bits_of_the_reference_in_a_fresh_process(
    results: dict[str, dict[str, Any]], hint: str, name: str
) -> None:
    expected = [{k: packed(v) for k, v in run.items()} for run in CASES[name].expected]
    found = results[hint][name]
    assert [
        {k: run[k] for k in wanted} for run, wanted in zip(found, expected, strict=True)
    ] == expected


def test_ir_opened_without_the_extension_gives_openvinos_own_error(
    saved: Callable[[str, str], Path],
) -> None:
    path = saved("save_model", "random_uniform_f32_static_state")
    with pytest.raises(
        RuntimeError,
        match=r"Cannot create RandomUniform layer .* from unsupported opset: extension",
    ):
        ov.Core().read_model(path)


def test_constants_are_kept_exactly_in_the_attributes_of_ir(
    saved: Callable[[str, str], Path], way: str
) -> None:
    state = ", ".join(["4294967295"] * 6)
    for name, attribute in (
        ("random_generator_constant_state", f'const_state="{state}"'),
        ("random_uniform_i64_static_seeds", f'const_maxval="{2**40 + 1}"'),
        ("random_uniform_f64_static_seeds", f'const_minval="{(0.1).hex()}"'),
        ("random_uniform_f32_subnormal_bounds", f'const_minval="{float(np.float32(1e-45)).hex()}"'),
    ):
        assert attribute in saved(way, name).read_text(), name


def test_ir_of_a_constant_state_does_not_keep_it_for_a_state_that_became_an_input(
    saved: Callable[[str, str], Path],
) -> None:
    core = onnx_philox.openvino.register(ov.Core())
    model = core.read_model(saved("save_model", "random_generator_constant_state"))
    (node,) = (n for n in model.get_ordered_ops() if n.get_type_name() == "RandomGenerator")
    source = parameter("state", ov.Type.u32, [6])
    node.input(0).replace_source_output(source.output(0))
    model.add_parameters([source])
    model.validate_nodes_and_infer_types()
    bits = infer(core.compile_model(model, "CPU"), {"state": STATE})["bits"]
    np.testing.assert_array_equal(bits, reference.random_generator(STATE, [4, 5])[0])


def main() -> None:
    path, *given = sys.argv[1:]
    files = [(hint, Path(file)) for hint, file in zip(given[::2], given[1::2], strict=True)]
    Path(path).write_text(json.dumps(run_files(files)))


if __name__ == "__main__":
    main()
