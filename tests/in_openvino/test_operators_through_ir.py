"""ONNX to IR to a fresh process, in every way of saving and precision: the reference's bits."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest

import onnx_philox
from onnx_philox import PhiloxState, graphs, reference
from tests.common import child
from tests.common.cases import assert_all_same, assert_same_bits
from tests.common.half_precision import differing
from tests.common.operators import OPERATORS, cases, every_operator, named, plain, with_constant
from tests.common.runtimes import OpenVino, infer, joined, parted
from tests.contract.test_every_operator import Drawn, drawn, drawn_by_rows, for_openvino
from tests.in_openvino import documented_ir

pytestmark = pytest.mark.slow

SAVE: dict[str, Callable[[ov.Model, Path], None]] = {
    "save_model": lambda model, path: ov.save_model(model, path),
    "save_model uncompressed": lambda model, path: ov.save_model(
        model, path, compress_to_fp16=False
    ),
    "serialize": lambda model, path: ov.serialize(model, path),
}
ALL_ONES = np.full(6, 0xFFFFFFFF, np.uint32)
SEEDS = {"global_seed": 2**63 - 1, "op_seed": 2**62 + 3}
OPENVINO = OpenVino("native")
FRESH = """
import pickle, sys
from pathlib import Path
from tests.common.runtimes import OpenVino
openvino = OpenVino("native")
for path in Path(sys.argv[1]).glob("*.xml"):
    print(path, file=sys.stderr)
    hints, runs = pickle.loads(path.with_suffix(".given").read_bytes())
    loaded = [openvino.loaded(path, hint) for hint in hints]
    found = [run(feeds) for run in loaded for feeds in runs]
    path.with_suffix(".found").write_bytes(pickle.dumps(found))
"""


@cache
def draws_of(operator: str) -> list[Drawn]:
    """With constants and inputs, states of rows, a constant state, and seeds alone."""
    draws = [d for constant in (True, False) for d in for_openvino(operator, constant=constant)]
    draws += [drawn_by_rows(case) for case in plain(operator)]
    for d in draws[-len(plain(operator)) :]:
        rest = {name: x for name, x in d.feeds.items() if name != "state"}
        model = with_constant(d.model, "state", d.feeds["state"])
        draws.append(replace(d, model=model, feeds=rest))
    if OPERATORS[operator].input("state").optional:
        for case in cases(operator):
            constant = ("ratio",) if case.has_data else True
            seeded = replace(case, seeds=SEEDS)
            draws.append(drawn(seeded, state=None, constant=constant, stateful=False))
    return draws


def parts_of(operator: str) -> list[tuple[onnx.ModelProto, dict[str, np.ndarray]]]:
    return [(d.model, d.feeds) for d in draws_of(operator)]


PAGE = [PhiloxState.for_run(0, run).to_array() for run in range(3)]
BOUNDS = (0.1, 0.7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of all operators, saved in each way; beside each what a fresh process draws."""
    root = tmp_path_factory.mktemp("ir")
    hints = differing([None, "f32", "bf16", "f16"])

    def save(model: ov.Model, name: str, way: str, *given: object) -> None:
        SAVE[way](model, root / f"{name} {way}.xml")
        (root / f"{name} {way}.given").write_bytes(pickle.dumps(given))

    for n, (operator, way) in enumerate(itertools.product(OPERATORS, SAVE)):
        whole, feeds = joined(parts_of(operator))
        save(
            OPENVINO.read(whole),
            operator,
            way,
            hints[n % 2 :: 2],
            [feeds],
        )
    page_s = ov.Core().read_model(*documented_ir.page_s_ir(*BOUNDS))
    kept = onnx_philox.make_reproducible(page_s, keep_seeds=True)
    for way in SAVE:
        save(kept, "page", way, hints, [{"random_state": state} for state in PAGE])
    child.forked(FRESH, root)
    return root


def drawn_afresh(folder: Path, name: str) -> list[list[np.ndarray]]:
    """The outputs of each run, of each file at each precision."""
    files = [folder / f"{name} {way}.found" for way in SAVE]
    return [outputs for file in files for outputs in pickle.loads(file.read_bytes())]


@every_operator
def test_ir_gives_the_bits_of_the_reference_in_a_fresh_process(folder: Path, operator: str) -> None:
    for outputs in drawn_afresh(folder, operator):
        for results, d in zip(parted(outputs, parts_of(operator)), draws_of(operator), strict=True):
            d.check(results, is_openvino=True)


def test_ir_of_openvino_s_page_keeps_its_seeds_in_a_fresh_process(folder: Path) -> None:
    runs = itertools.pairwise([*PAGE, PhiloxState.for_run(0, 3).to_array()])
    expected = [[documented_ir.documented(*BOUNDS, state), after] for state, after in runs]
    for outputs, wanted in zip(
        drawn_afresh(folder, "page"), itertools.cycle(expected), strict=False
    ):
        assert_all_same(outputs, wanted)


def test_ir_opened_without_the_extension_gives_openvinos_own_error(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Cannot create Random.* layer .* unsupported opset"):
        ov.Core().read_model(folder / "RandomUniform save_model.xml")


@pytest.mark.parametrize("way", SAVE)
def test_constants_are_kept_exactly_in_the_attributes_of_ir(tmp_path: Path, way: str) -> None:
    for name, attribute in (
        ("RandomGenerator u32", f'const_state="{", ".join(["4294967295"] * 6)}"'),
        ("RandomUniform i64 edge 1", f'const_maxval="{2**40 + 1}"'),
        ("RandomUniform f64 edge 1", f'const_minval="{(0.1).hex()}"'),
        ("RandomUniform f32 edge 3", f'const_minval="{float(np.float32(1e-40)).hex()}"'),
        ("RandomNormal f64", f'const_mean="{(-1.5).hex()}"'),
        ("RandomBernoulli bool f64", 'const_p="f64: '),
        ("RandomCategorical i32 f16", 'const_logits="f16: '),
    ):
        case = named(name)
        model = case.model(
            case.shape(),
            case.inputs(case.shape()),
            constant=True,
        )
        SAVE[way](OPENVINO.read(with_constant(model, "state", ALL_ONES)), tmp_path / "m.xml")
        assert attribute in (tmp_path / "m.xml").read_text(), name


def test_ir_of_a_constant_state_does_not_keep_it_for_a_state_that_became_an_input(
    tmp_path: Path,
) -> None:
    constant = with_constant(graphs.random_generator([3, 5]), "state", ALL_ONES)
    ov.save_model(OPENVINO.read(constant), tmp_path / "m.xml")
    model = OPENVINO.read(tmp_path / "m.xml")
    (node,) = (n for n in model.get_ordered_ops() if n.get_type_name() == "RandomGenerator")
    source = ov.opset8.parameter([6], np.uint32, "state")
    node.input(0).replace_source_output(source.output(0))
    model.add_parameters([source])
    model.validate_nodes_and_infer_types()
    state = PhiloxState(2**128 - 2, 5).to_array()
    drawn = infer(OPENVINO.core.compile_model(model, "CPU"), [state])
    expected = reference.random_generator(state, [3, 5])[0]
    assert_same_bits(drawn["bits"], expected)
