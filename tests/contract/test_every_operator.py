"""Every operator, wherever one can be drawn: the reference's bits, or the refusal that is declared.

A new operator is red here until it is drawn everywhere; its rule and exact values are in a file of
its own.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import itertools
import platform
import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from onnx.reference import ReferenceEvaluator

import onnx_philox
from onnx_philox import PhiloxState, RefusedInputError, generate, graphs, onnx_reference, reference
from onnx_philox._command.verify import cases as verify_cases
from onnx_philox._contract import float_environment
from onnx_philox._contract.types import U32, ElementType
from onnx_philox.onnxruntime import BACKENDS as ONNX_RUNTIME_BACKENDS
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.openvino import BACKENDS as OPENVINO_BACKENDS
from onnx_philox.rewriting import to_standard_nodes
from tests.common.cases import EDGE_COUNTERS, assert_same_bits
from tests.common.constructs import CONSTRUCTS, Node, build, in_bodies
from tests.common.foreign import nodes
from tests.common.half_precision import differing, evaluate, in_half_precision
from tests.common.missing_backend import is_missing
from tests.common.operators import (
    CHUNK_WORDS,
    OPERATORS,
    RNG,
    STATE,
    ZERO_FIRST,
    Arrays,
    Case,
    Role,
    Shape,
    by_core,
    cases,
    every_operator,
    is_exact_as_standard_nodes,
    plain,
    some_states,
    with_constant,
    words,
)
from tests.common.runtimes import OpenVino, joined, parted, request_of
from tests.common.standard_targets import LOAD, Loaded

ROOT = Path(__file__).parents[2]
LARGE_SEEDS = {"global_seed": 2**40 + 7, "op_seed": 2**33 + 1}
PRECISIONS = [None, "f32", "bf16", "f16"]
# Elements of less than a block, of odd rows, and of more than the core draws at once.
SHAPES = [
    (1, (1,)),
    (3, (5,)),
    (2, (0,)),
    (3, (1667,)),
    (40, (3,)),
]


@dataclass(frozen=True)
class Drawn:
    """A model of a case, its feeds, and what it must draw."""

    case: Case
    model: onnx.ModelProto
    feeds: Arrays
    expected: tuple[Any, ...]

    def check(self, results: Iterable[Any], *, is_openvino: bool = False) -> None:
        """Compares all outputs; of f64 data in OpenVINO those that it does not compute in f32."""
        pairs = list(zip(results, self.expected, strict=True))
        for made, wanted in pairs[is_openvino and self.case.is_scaled_in_openvino :]:
            try:
                assert_same_bits(np.asarray(made), np.asarray(wanted))
            except AssertionError as error:
                raise AssertionError(f"{self.case.name}: {error}") from None


def drawn(
    case: Case,
    shape: Shape | None = None,
    state: np.ndarray | None = STATE,
    **built: Any,
) -> Drawn:
    """A model of a case, by the names of what is constant in it: see `Case.model`."""
    shape = case.shape() if shape is None else shape
    inputs = case.inputs(shape)
    model = case.model(shape, inputs, **built)
    feeds = case.feeds(shape, state, inputs)
    fed = {i.name: feeds[i.name] for i in model.graph.input}
    expected = case.oracle(shape, state, inputs)
    return Drawn(case, model, fed, expected[: len(model.graph.output)])


def in_onnxruntime_s_backends(
    draws: list[Drawn], options: ort.SessionOptions | None = None
) -> None:
    """Runs draws together by each backend that carries their types and exists here."""
    for backend in ONNX_RUNTIME_BACKENDS:
        kept = [d for d in draws if backend == "native" or not d.case.has_16_bits]
        if not kept or is_missing("onnxruntime", backend):
            continue
        parts = [(d.model, d.feeds) for d in kept]
        whole, feeds = joined(parts)
        results = InferenceSession(whole, options, backend=backend).run(None, feeds)
        for found, d in zip(parted(results, parts), kept, strict=True):
            d.check(found)


OPENVINOS = [OpenVino(backend) for backend in OPENVINO_BACKENDS]
NATIVE = OPENVINOS[:1]
IN_PYTHON = OPENVINOS[1:]


def in_openvino_s_backends(
    draws: list[Drawn],
    precision: str | None = None,
    backends: Collection[OpenVino] = OPENVINOS,
) -> None:
    if not draws:
        return
    parts = [(d.model, d.feeds) for d in draws]
    for openvino in backends:
        for found, d in zip(openvino.side_by_side(parts, precision), draws, strict=True):
            d.check(found, is_openvino=True)


def for_openvino(operator: str, *, constant: bool) -> list[Drawn]:
    """Draws of all cases, as OpenVINO takes them; data are never constants."""
    return [
        drawn(c, constant=True if constant and not c.has_data else c.constant_in_openvino)
        for c in cases(operator)
    ]


def drawn_by_rows(case: Case) -> Drawn:
    """A model with a state for each row, as OpenVINO's files take it."""
    constant = case.constant_in_openvino if case.has_data else True
    return drawn(case, state=some_states(3), per_row=True, constant=constant)


@every_operator
def test_the_core_draws_what_numpy_draws(operator: str) -> None:
    for case, (rows, row) in itertools.product(cases(operator), SHAPES):
        d = drawn(case, case.shape(rows, row))
        d.check(by_core(operator, d.feeds, case.attributes))


@every_operator
def test_the_next_state_is_as_many_words_on_as_the_draw_takes(operator: str) -> None:
    for case, counter in itertools.product(plain(operator), EDGE_COUNTERS):
        before = PhiloxState(counter, 77)
        shape = case.shape()
        *_, after = case.oracle(
            shape,
            before.to_array(),
            case.inputs(shape),
        )
        expected = before.advance(words(case, shape))
        assert PhiloxState.from_array(after) == expected, case.name


@every_operator
def test_a_draw_cut_in_two_at_a_block_is_the_draw(operator: str) -> None:
    """Also at the seams of the chunks that NumPy draws at once."""
    for case in plain(operator):
        words_of_four = words(case, case.shape(4, ()))
        seam = CHUNK_WORDS // words_of_four * 4
        chunks = [(seam + n, seam + 1) for n in (-4, 4)]
        # Of the first type and the last; a token has none, and sorts each row in Python.
        plain_cases = plain(operator)
        is_long = case in (plain_cases[0], plain_cases[-1]) and operator != "RandomToken"
        for head, rest in ((0, 3), (4, 0), (28, 5), *chunks[: 2 * is_long]):
            counter = RNG.choice(EDGE_COUNTERS)
            state = PhiloxState(counter, 2**63 + 5).to_array()
            inputs = case.inputs(case.shape(head + rest, ()))
            *whole, end = case.oracle(case.shape(head + rest, ()), state, inputs)
            parts = []
            after = state
            parts_of_rows = ((head, slice(head)), (rest, slice(head, None)))
            for rows, part in parts_of_rows:
                *values, after = case.oracle(
                    case.shape(rows, ()), after, case.of_rows(inputs, part)
                )
                parts.append(values)
            for values, wanted in zip(zip(*parts, strict=True), whole, strict=True):
                assert_same_bits(np.concatenate(values), wanted)
            assert_same_bits(after, end)


def flush_subnormals() -> None:
    """Sets FTZ and DAZ in this thread, as a library built with -ffast-math would."""
    offset, bits = float_environment._CONTROL_WORD[platform.machine()]
    libm = ctypes.CDLL("libm.so.6")
    environment = (ctypes.c_uint8 * 64)()
    libm.fegetenv(environment)
    ctypes.c_uint32.from_buffer(environment, offset).value |= bits
    libm.fesetenv(environment)


@every_operator
def test_a_caller_that_flushes_subnormals_gets_the_same_bits(operator: str) -> None:
    made = [drawn(replace(case, seeds={}), state=ZERO_FIRST) for case in cases(operator)]

    def flushing() -> None:
        flush_subnormals()
        assert float_environment.are_flushed(), "the test did not switch flushing on"
        for d in made:
            given = {name: x for name, x in d.feeds.items() if name not in ("shape", "state")}
            expected = d.case.oracle(d.case.shape(), ZERO_FIRST, given)
            d.check(expected)
            d.check(by_core(operator, d.feeds, d.case.attributes))
            assert float_environment.are_flushed(), "the caller's setting was not restored"

    with ThreadPoolExecutor(1) as thread:
        thread.submit(flushing).result()


@every_operator
def test_a_state_has_any_rank_and_seeds_are_those_of_their_state(operator: str) -> None:
    for case in plain(operator):
        d = drawn(case, constant=())
        shape = case.shape()
        inputs = {name: x for name, x in d.feeds.items() if name not in ("shape", "state")}
        for rank in range(2, 9):
            ones = (1,) * (rank - 1)
            deep = STATE.reshape((*ones, 6))
            *values, after = case.oracle(shape, deep, inputs)
            assert after.shape == deep.shape
            d.check([*values, after.reshape(6)])
        if case.operator.input("state").optional:
            state = PhiloxState.from_seeds(**case.seeds).to_array()
            by_state = replace(case, seeds={}).oracle(shape, state, inputs)
            by_seeds = case.oracle(shape, None, inputs)
            for one, other in zip(by_seeds[:-1], by_state, strict=False):
                assert_same_bits(one, other)


# Each runtime, with constants and with inputs of the model.


@every_operator
def test_default_arguments_are_the_declared_attributes_defaults(operator: str) -> None:
    op = OPERATORS[operator]
    for module in (graphs, reference, onnx_philox.openvino):
        given = inspect.signature(getattr(module, op.function)).parameters
        for attribute in op.attributes:
            left_out = given[attribute.name].default if attribute.name in given else None
            assert left_out in (None, inspect.Parameter.empty, attribute.default), module


@every_operator
def test_builders_make_models_that_onnx_checks_and_its_reference_draws(operator: str) -> None:
    onnx_philox.register_schemas()
    for case in cases(operator):
        for d in (
            drawn(case, constant=True),
            drawn(case),
            drawn(case, state=some_states(3), per_row=True),
            drawn(case, case.shape(0), some_states(0), per_row=True),
        ):
            onnx.checker.check_model(d.model, full_check=True)
            inferred = onnx.shape_inference.infer_shapes(d.model, strict_mode=True, data_prop=True)
            expected = [o.type for o in d.model.graph.output]
            assert [o.type for o in inferred.graph.output] == expected
            evaluator = ReferenceEvaluator(d.model, new_ops=onnx_reference.OPS)
            d.check(evaluator.run(None, d.feeds))


@every_operator
def test_onnxruntime_draws_the_reference_s_bits(operator: str) -> None:
    for constant in (True, ()):
        draws = [drawn(case, constant=constant) for case in cases(operator)]
        in_onnxruntime_s_backends(draws)


@every_operator
def test_openvino_draws_the_reference_s_bits_at_every_precision(operator: str) -> None:
    precisions = differing(PRECISIONS)
    for constant in (True, False):
        draws = for_openvino(operator, constant=constant)
        # Numbers at the edges and Python's nodes, which load slowly: at one, in turn.
        place = list(OPERATORS).index(operator)
        turn = (place + constant) % len(precisions)
        for i, precision in enumerate(precisions):
            is_whole = i == turn
            held = draws if is_whole else [d for d in draws if not d.case.edge]
            in_openvino_s_backends(held, precision, OPENVINOS if is_whole else NATIVE)


@every_operator
def test_openvino_computing_in_f16_draws_the_reference_s_bits(operator: str) -> None:
    for d, openvino in itertools.product(for_openvino(operator, constant=False), OPENVINOS):
        # Data are rounded there, as the model's other tensors are.
        if not d.case.edge and not d.case.has_data:
            half = in_half_precision(openvino.read(d.model))
            d.check(evaluate(half, d.feeds))


@every_operator
def test_openvino_refuses_numbers_of_64_bits_that_are_no_constants(operator: str) -> None:
    for case in plain(operator):
        for name, openvino in itertools.product(case.constant_in_openvino, OPENVINOS):
            constant = [i.name for i in case.given if i.name != name]
            d = drawn(case, constant=constant)
            with pytest.raises(Exception, match=rf"{operator}: input '{name}' must be .*constant"):
                openvino(d.model, d.feeds)


@every_operator
@pytest.mark.parametrize(
    ("writer", "reader"), [*itertools.product(OPENVINOS, OPENVINOS)], ids=lambda one: one.backend
)
def test_files_of_openvino_draw_the_reference_s_bits(
    operator: str, writer: OpenVino, reader: OpenVino, tmp_path: Path
) -> None:
    """An IR that either backend saves, compressed to f16 or not, draws the same in both."""
    path, uncompressed, again = (
        tmp_path / f"{name}.xml" for name in ("model", "uncompressed", "again")
    )
    draws = for_openvino(operator, constant=True)
    for d in [drawn_by_rows(case) for case in plain(operator)]:
        rest = {name: x for name, x in d.feeds.items() if name != "state"}
        constant = with_constant(
            onnx.ModelProto.FromString(d.model.SerializeToString()), "state", d.feeds["state"]
        )
        draws += [d, replace(d, model=constant, feeds=rest)]
    parts = [(d.model, d.feeds) for d in draws]
    whole, feeds = joined(parts)
    ov.save_model(writer.read(whole), path)
    files = [path]
    if writer is not reader:
        ov.serialize(writer.read(whole), uncompressed)
        files.append(uncompressed)
    if reader.backend == "native":
        ov.save_model(reader.read(path), again)
        files.append(again)
    for file in files:
        for found, d in zip(parted(reader(file, feeds), parts), draws, strict=True):
            d.check(found, is_openvino=True)


@every_operator
def test_compiled_models_that_are_cached_or_exported_draw_the_same(
    operator: str, tmp_path: Path
) -> None:
    draws = [d for d in for_openvino(operator, constant=True) if not d.case.edge]
    parts = [(d.model, d.feeds) for d in draws]
    whole, feeds = joined(parts)
    for openvino in OPENVINOS:
        core = openvino.core
        model = openvino.read(whole)
        cache_dir = {"CACHE_DIR": str(tmp_path / openvino.backend)}
        compiled = [core.compile_model(model, "CPU", cache_dir) for _ in range(2)]
        is_cached = [c.get_property("LOADED_FROM_CACHE") for c in compiled]
        assert is_cached == [False, True]
        exported = compiled[0].export_model()
        for each in (*compiled, core.import_model(exported, "CPU")):
            results = request_of(each)(feeds)
            for found, d in zip(parted(results, parts), draws, strict=True):
                d.check(found, is_openvino=True)


@every_operator
def test_a_factory_makes_the_node_also_in_a_file(
    operator: str, factories: str, tmp_path: Path
) -> None:
    openvino = OpenVino(factories)
    draws = []
    outputs = []
    for case, state in itertools.product(plain(operator), (STATE, some_states(3))):
        d = drawn(case, state=state, per_row=state.ndim == 2)
        make: Callable[..., ov.Node] = getattr(onnx_philox.openvino, case.operator.function)
        given = d.feeds | ({"shape": list(case.shape())} if case.operator.has_shape else {})
        node = make(**given, **case.attributes)
        shapes = [output.get_partial_shape() for output in node.outputs()]
        expected = [ov.PartialShape(list(wanted.shape)) for wanted in d.expected]
        assert shapes == expected
        draws.append(d)
        outputs += node.outputs()
    made = ov.Model(outputs, [], "made")
    ov.save_model(made, tmp_path / "made.xml")
    has_data = OPERATORS[operator].size_input.role is Role.DATA
    for model in (made, tmp_path / "made.xml")[: 2 - has_data]:
        loaded = openvino(model)
        results = parted(loaded, [(d.model, {}) for d in draws])
        for found, d in zip(results, draws, strict=True):
            d.check(found, is_openvino=True)


@every_operator
def test_states_go_through_loops_scans_and_branches(operator: str) -> None:
    case = in_bodies(operator)
    draws = []
    for construct in CONSTRUCTS:
        model, feeds, expected = build(construct, Node(case))
        wanted = tuple(expected[output.name] for output in model.graph.output)
        draws.append(Drawn(case, model, feeds, wanted))
    in_onnxruntime_s_backends(draws)
    if case.values is not U32:  # which OpenVINO's CPU plugin carries out of no loop
        in_openvino_s_backends(draws, backends=NATIVE)
        # In Python half of the constructs, and the others with the next operator: it loads slowly.
        parity = list(OPERATORS).index(operator)
        in_openvino_s_backends(draws[parity % 2 :: 2], backends=IN_PYTHON)


@every_operator
def test_runtimes_carry_the_counter_through_all_its_words(operator: str) -> None:
    case = in_bodies(operator)
    states = [PhiloxState(counter, 2**64 - 1).to_array() for counter in EDGE_COUNTERS]
    draws = [drawn(case, state=state, constant=case.constant_in_openvino) for state in states]
    in_onnxruntime_s_backends(draws)
    in_openvino_s_backends(draws, backends=NATIVE)
    in_openvino_s_backends(draws[::3], backends=IN_PYTHON)


# What a node may leave out.


@every_operator
def test_a_model_without_a_state_draws_from_its_seeds(operator: str) -> None:
    if OPERATORS[operator].input("state").optional:
        draws = [drawn(c, state=None, constant=True, stateful=False) for c in plain(operator)]
        in_onnxruntime_s_backends(draws)
        in_openvino_s_backends(draws)


@every_operator
def test_any_output_may_be_left_out(operator: str) -> None:
    whole = drawn(plain(operator)[0], constant=True)
    draws = []
    for kept in itertools.product((True, False), repeat=len(whole.expected)):
        if not any(kept):
            continue
        model = onnx.ModelProto()
        model.CopyFrom(whole.model)
        outputs = model.graph.node[0].output
        for i in reversed(range(len(kept))):
            if not kept[i]:
                del model.graph.output[i]
                outputs[i] = ""
        while not outputs[-1]:
            outputs.pop()
        wanted = tuple(itertools.compress(whole.expected, kept))
        draws.append(replace(whole, model=model, expected=wanted))
    in_onnxruntime_s_backends(draws)
    # OpenVINO's front end wants the first.
    with_first_output = [d for d in draws if d.model.graph.node[0].output[0]]
    in_openvino_s_backends(with_first_output)


@every_operator
def test_inputs_that_are_left_out_mean_their_defaults(operator: str) -> None:
    draws = []
    for case in plain(operator):
        for i in (i for i in case.given if i.optional):
            rest = {name: x for name, x in case.setting.items() if name != i.name}
            d = drawn(replace(case, setting=rest))
            absent = np.full(1, i.absent, case.type_of(i).dtype)
            given = {**d.feeds, i.name: absent}
            d.check(by_core(operator, given, case.attributes))
            draws.append(d)
    if draws:
        in_onnxruntime_s_backends(draws)
        in_openvino_s_backends(draws)


# A state for each row, and shapes.


@every_operator
def test_the_reference_draws_each_row_as_if_alone(operator: str) -> None:
    shapes = [
        (0, (3,)),
        (1, ()),
        (4, (2, 0, 3)),
        (10, ()),
        (10, (3,)),
    ]
    for case, (rows, row) in itertools.product(cases(operator), shapes):
        shape = case.shape(rows, row)
        states = some_states(rows)
        inputs = case.inputs(shape)
        d = Drawn(
            case,
            onnx.ModelProto(),
            {},
            case.oracle(shape, states, inputs),
        )
        d.check(case.alone(shape, states, inputs))


@every_operator
@pytest.mark.parametrize(
    ("rows", "row"),
    [
        (0, (3,)),
        (1, (3,)),
        (4, ()),
        (131, (2, 3)),
    ],
)
def test_runtimes_draw_each_row_as_if_alone(operator: str, rows: int, row: Shape) -> None:
    given = [(case, case.shape(rows, row), some_states(rows)) for case in cases(operator)]
    in_onnxruntime_s_backends([drawn(*g, per_row=True) for g in given])
    # OpenVINO's front end misreads constants without elements, and larger ones are no numbers.
    held = [
        drawn(*g, per_row=True, constant=g[0].constant_in_openvino)
        for g in given
        if not g[0].constant_in_openvino or 0 < rows < 131
    ]
    for precision in differing(PRECISIONS if rows == 4 else [None]):
        in_openvino_s_backends(held, precision, NATIVE)
        without_edges = [d for d in held if not d.case.edge]
        in_openvino_s_backends(without_edges, precision, IN_PYTHON)


@every_operator
def test_draws_that_threads_share_are_whole(operator: str) -> None:
    """Of lengths that do not split evenly among them."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 3
    draws = []
    shapes = ((1, 150_001), (20_003, 3))
    for (rows, row), case in itertools.product(shapes, plain(operator)):
        fewer = 16 if operator == "RandomToken" else max(1, words(case, case.shape(4, ())) // 32)
        draws.append(drawn(case, case.shape(-(-rows // fewer), (-(-row // fewer),))))
    in_onnxruntime_s_backends(draws, options)
    in_openvino_s_backends([d for d in draws if not d.case.constant_in_openvino])


@every_operator
def test_shapes_from_a_scalar_to_rank_8_are_drawn(operator: str) -> None:
    op = OPERATORS[operator]
    if op.draws_rows or op.size_input.role is Role.LOGITS:
        return  # which have one or two dimensions
    shapes = ((), (0,), (1,), (2, 0, 3), (1, 2, 3, 1, 1, 1, 1, 2))
    draws = [drawn(case, shape) for shape in shapes for case in plain(operator)]
    in_onnxruntime_s_backends(draws)
    in_openvino_s_backends([d for d in draws if not d.case.constant_in_openvino])


# Standard nodes, arrays.


@every_operator
@pytest.mark.parametrize(
    "fed_to",
    [
        ((None, "nothing"), (3, "large")),
        ((None, "all"), (3, "nothing")),
        (
            (None, "all"),
            (None, "no state"),
            (0, "large"),
        ),
    ],
)
def test_standard_nodes_draw_the_bits_or_refuse_the_operator(
    operator: str,
    fed_to: Iterable[tuple[int | None, str]],
) -> None:
    loaded: dict[tuple[str, str, bytes], Loaded] = {}
    for target, case, (rows, fed) in itertools.product(LOAD, cases(operator), fed_to):
        if rows is not None and (case.edge > 1 or (case.edge and case.has_plain_form)):
            continue
        is_stateful = fed != "no state"
        if not is_stateful and (case.edge or not case.operator.input("state").optional):
            continue
        shape = case.shape(3 if rows is None else rows)
        scalars = {n for n, x in case.inputs(shape).items() if x.ndim == 0}
        d = drawn(
            case if is_stateful else replace(case, seeds=LARGE_SEEDS),
            shape,
            some_states(rows) if rows is not None else STATE if is_stateful else None,
            per_row=rows is not None,
            constant={"all": (), "large": scalars}.get(fed, True),
            stateful=is_stateful,
        )
        if not is_exact_as_standard_nodes(case, target, is_fed=fed == "all"):
            with pytest.raises(RefusedInputError, match=rf"{operator}: .* must be "):
                to_standard_nodes(d.model, target=target)
            continue
        # Numbers that are fed share a model.
        key = target, fed, d.model.SerializeToString()
        if key not in loaded:
            standard = to_standard_nodes(d.model, target=target)
            assert all(node.domain != "onnx_philox" for node in nodes(standard))
            loaded[key] = LOAD[target](standard, optimised=fed != "large")
        d.check(loaded[key](d.feeds))


# For which `generate` needs no name: the type of the memory says it.
BY_TYPE = ("RandomGenerator", "RandomUniform", "RandomNormal", "RandomBernoulli")


@every_operator
def test_generate_fills_what_the_reference_draws(operator: str) -> None:
    for case in cases(operator):
        shapes = [(STATE, case.shape())]
        shapes += [(some_states(rows), case.shape(rows)) for rows in (0, 2, 131)]
        if operator in BY_TYPE:
            shapes += [(STATE, shape) for shape in ((), (1,), (0,), (1001,))]
        unseeded = replace(case, seeds={})
        for state, shape in shapes:
            inputs = case.inputs(shape)
            expected = unseeded.oracle(shape, state, inputs)
            attributes = {n: v for n, v in unseeded.attributes.items() if n in case.setting}
            other_state = state + np.uint32(1)
            other_inputs = {name: np.roll(array, 1) for name, array in inputs.items()}
            # The second call of a kind is drawn by what was kept of the first.
            calls = [
                (state, inputs, expected),
                (other_state, other_inputs, unseeded.oracle(shape, other_state, other_inputs)),
            ]
            for named in ({"operator": operator}, {})[: 1 + (operator in BY_TYPE)]:
                names = [output.name for output in case.operator.values_outputs]
                for at, given, drawn in calls:
                    outs = {name: np.zeros_like(drawn[i]) for i, name in enumerate(names)}
                    out, *_ = outs.values()
                    others = {name: outs[name] for name in names[1:]}
                    after = generate(
                        at,
                        out=out,
                        **named,
                        **given,
                        **attributes,
                        **others,
                    )
                    Drawn(case, onnx.ModelProto(), {}, drawn).check([*outs.values(), after])
            single = {name: array.item() for name, array in inputs.items() if array.ndim == 0}
            if single.keys() == inputs.keys() and single and operator != "RandomDropout":
                # Ready after the first call, where the core is there.
                expected = unseeded.oracle(shape, state, single)
                for _ in range(2):
                    out = np.zeros_like(expected[0])
                    after = generate(state, out=out, operator=operator, **single)
                    Drawn(case, onnx.ModelProto(), {}, expected).check([out, after])


# What else a new operator needs.


def missing(operator: str, drawn: Collection[ElementType]) -> str:
    """The types that are not drawn, but data that OpenVINO computes in another type."""
    types = {case.values: None for case in plain(operator) if not case.is_scaled_in_openvino}
    return " or ".join(t.name for t in types if t not in drawn)


@cache
def known_answers() -> list[Any]:
    return verify_cases.load_cases()


@every_operator
@pytest.mark.parametrize("by_rows", [False, True], ids=["one state", "rows"])
def test_verify_knows_answers_of_every_type(operator: str, by_rows: bool) -> None:
    drawn = {
        case.type
        for case in known_answers()
        for vector in case.vectors
        if vector.example.operator.name == operator and bool(vector.example.rows) is by_rows
    }
    assert not missing(operator, drawn), "verify's vectors must have draws of it"


def test_the_known_answers_of_verify_have_not_changed() -> None:
    vectors = (vector for case in known_answers() for vector in case.vectors)
    bits = b"".join(array.tobytes() for vector in vectors for array in vector.expected.values())
    expected = "dcd52cdbd746c6c6829bb8fcc11122ad0fb907775be50cbd169e6e3712f942ec"
    assert hashlib.sha256(bits).hexdigest() == expected


PLACES = {
    "custom_ops/core/kernels/numbers.cpp": "the choice among its rules",
    "custom_ops/core/tests/model.h": "what the contract says of an element",
    "custom_ops/core/tests/draws.h": "a draw of it",
    "custom_ops/core/tests/test_kernels.cpp": "edges of its functions, on every instruction set",
    "custom_ops/core/tests/test_operators.cpp": "its sentences",
    "custom_ops/openvino/tests/program.cpp": "a case",
    "custom_ops/core/tests/random_nodes.h": "right numbers, and the right draw",
    "tests/common/bad_calls.py": "bad calls of it",
    "benchmarks/drawn_bits.py": "a draw whose bits are compared",
    "docs/README.md": "a line in the table of operators",
    "docs/promise.md": "a line in the table of operators",
    "CHANGELOG.md": "a line",
}
"""Where the recipe of CONTRIBUTING.md wants a new operator, and what there; generated files are
checked by test_layout.py."""


@pytest.mark.parametrize(("operator", "place"), [*itertools.product(OPERATORS, PLACES)])
def test_the_recipe_s_places_have_the_operator(operator: str, place: str) -> None:
    op = OPERATORS[operator]
    names = "|".join((op.name, op.function, op.distribution))
    text = (ROOT / place).read_text("utf-8")
    has_it = re.search(names, text, re.IGNORECASE)
    if not has_it:
        pytest.fail(f"{place} must have {operator}: {PLACES[place]}. Add it.", pytrace=False)


def test_the_recipe_names_these_places() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    recipe = page.partition("### To add an operator")[2]
    recipe = recipe.partition("\n### ")[0]
    assert [place for place in PLACES if f"({place})" not in recipe] == []
