"""The CUDA kernels without a card: what their PTX says, and what it draws as C on a processor."""

from __future__ import annotations

import ctypes
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.experimental.cuda_kernels import (
    CUDA,
    OUTSIDE,
    PARAMETERS,
    PTX,
    Draw,
    Launch,
    data_of,
    different,
    expected,
    launched,
    library,
    names,
    numbers_of,
    wrong,
)
from tests.experimental.ptx_to_c import (
    UnknownInstructionError,
    contracted,
    kernels,
    translated,
    unwanted,
)

KERNELS = names()
TEXT = PTX.read_text()
FULL = 2**32 - 1
STATES = {
    "carries into word 1": [
        FULL - 5,
        0,
        0,
        0,
        1,
        2,
    ],
    "carries into word 2": [
        FULL - 5,
        FULL,
        0,
        0,
        3,
        4,
    ],
    "begins again": [
        FULL - 5,
        FULL,
        FULL,
        FULL,
        FULL,
        FULL,
    ],
}
ROWS = np.array([*STATES.values(), [7, 8, 9, 10, 11, 12]], np.uint32)


@pytest.fixture(scope="module")
def built() -> ctypes.CDLL:
    return library(TEXT)


def test_a_comment_changes_no_fingerprint_and_code_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = runpy.run_path(str(CUDA / "make_ptx.py"))
    before = make["fingerprint"]()
    header = tmp_path / "standard.h"
    text = (CUDA / "standard.h").read_text()
    found = []
    for changed in (f"// Another.\n{text}", text.replace("unsigned char", "signed char")):
        header.write_text(changed)
        monkeypatch.setitem(make["fingerprint"].__globals__, "STANDARD", header)
        found.append(make["fingerprint"]() == before)
    assert found == [True, False]


def test_the_ptx_is_made_of_the_sources_that_there_are() -> None:
    # Else the tests of sessions on cards are skipped: see CONTRIBUTING.md.
    make = runpy.run_path(str(CUDA / "make_ptx.py"))
    assert TEXT.startswith(make["head"]())


def test_the_header_draw_h_lists_exactly_the_kernels_of_the_ptx() -> None:
    header = (CUDA / "draw.h").read_text()
    listed = [tuple(pair) for pair in re.findall(r"kernel\(\w+, (\w+), \w+, (\w+)\)", header)]
    assert listed == KERNELS
    assert set(kernels(TEXT)) == {
        "onnx_philox_next_states",
        *(f"onnx_philox_{distribution}_{kind}" for distribution, kind in KERNELS),
    }


def test_each_operation_on_floats_is_rounded_to_nearest_by_itself() -> None:
    assert unwanted(TEXT) == []
    assert re.search(r"^\.target sm_75$", TEXT, re.M)
    assert re.search(r"^\.version 8\.0$", TEXT, re.M), "older drivers refuse a later one"


def test_no_kernel_needs_memory_of_its_own_for_each_thread() -> None:
    # A card sets it aside for every thread that it can hold.
    assert ".local" not in TEXT


ROUNDED_OTHERWISE = """
fma.rn.f32 \t%f1, %f2, %f3, %f4;
mad.f64 \t%fd1, %fd2, %fd3, %fd4;
mul.f32 \t%f1, %f2, %f3;
add.ftz.f32 \t%f1, %f2, %f3;
add.rn.ftz.f32 \t%f1, %f2, %f3;
mul.rz.f64 \t%fd1, %fd2, %fd3;
sqrt.approx.f32 \t%f1, %f2;
div.full.f32 \t%f1, %f2, %f3;
ex2.approx.f32 \t%f1, %f2;
add.rn.sat.f32 \t%f1, %f2, %f3;
add.f16x2 \t%r1, %r2, %r3;
mul.rn.ftz.f16x2 \t%r1, %r2, %r3;
fma.rn.f16x2 \t%r1, %r2, %r3, %r4;
cvt.rz.f32.f64 \t%f1, %fd1;
call.uni (retval0), pow, (param0);
.extern .func (.param .b64 r) pow (.param .b64 x);
"""


def test_an_instruction_that_rounds_otherwise_is_seen() -> None:
    planted = TEXT.replace("\nret;", f"{ROUNDED_OTHERWISE}ret;", 1)
    assert unwanted(planted) == ROUNDED_OTHERWISE.strip().splitlines()


@pytest.mark.parametrize(("distribution", "kind"), KERNELS)
def test_a_kernel_draws_the_reference_s_bits(
    built: ctypes.CDLL, distribution: str, kind: str
) -> None:
    rejects = distribution in ("gamma", "poisson")
    for number_kind, numbers in numbers_of(distribution, kind):
        for state in STATES.values():
            for elements, shift in ((1, 0), (4, 1), (130 if rejects else 1027, 3)):
                data = data_of(distribution, kind, elements)
                words = np.array(state, np.uint32)
                seeds = (2**63 - 1, 2**33 + 5)
                draw = Draw(distribution, kind, elements, words, numbers, number_kind, data, *seeds)
                assert wrong(built, draw, shift=shift) == 0, (numbers, state, elements)


@pytest.mark.parametrize(("distribution", "kind"), KERNELS)
def test_a_kernel_draws_rows_of_any_length(
    built: ctypes.CDLL, distribution: str, kind: str
) -> None:
    number_kind, numbers = list(numbers_of(distribution, kind))[-1]
    for elements in (1, 2, 3, 4, 7, 64):
        data = data_of(distribution, kind, elements * len(ROWS))
        draw = Draw(distribution, kind, elements, ROWS, numbers, number_kind, data, op_seed=3)
        for shift in (0, 1):
            assert wrong(built, draw, shift=shift) == 0, elements
        assert wrong(built, draw, blocks=1, threads=2) == 0, "each thread draws many times"


@pytest.mark.parametrize(("distribution", "kind"), KERNELS)
def test_without_a_state_a_kernel_draws_from_zeros(
    built: ctypes.CDLL, distribution: str, kind: str
) -> None:
    number_kind, numbers = next(numbers_of(distribution, kind))
    data = data_of(distribution, kind, 9)
    draw = Draw(distribution, kind, 9, None, numbers, number_kind, data, global_seed=4)
    assert wrong(built, draw) == 0


EACH = [
    ("bernoulli", "f32", "p", "f32"),
    ("bernoulli", "f64", "p", "f64"),
    ("gamma", "f32", "alpha", "f64"),
    ("gamma", "f64", "alpha", "f32"),
    ("poisson", "i32", "rate", "f32"),
    ("poisson", "i64", "rate", "f64"),
]
UNIT = {"f32": (0x7FFFFFFF, 0xBF800000), "f64": (2**63 - 1, 0xBFF0000000000000)}  # from 0 to 1
POSITIVE = {"f32": (0x80000001, 0xD8800000), "f64": (2**63 + 1, 0xC310000000000000)}


@pytest.mark.parametrize(("distribution", "kind", "name", "number_kind"), EACH)
def test_each_element_has_its_number_and_a_wrong_one_spoils_no_other(
    built: ctypes.CDLL, distribution: str, kind: str, name: str, number_kind: str
) -> None:
    numbers = np.linspace(0, 1, 40) if name == "p" else np.geomspace(0.05, 50, 40)
    limits = (UNIT if name == "p" else POSITIVE)[number_kind]
    draw = Draw(distribution, kind, 10, ROWS, {name: numbers}, number_kind)
    assert wrong(built, draw, limits=limits) == 0

    for value in (np.nan, np.inf, -1.0):
        numbers[13] = value
        drawn = launched(built, draw, limits=limits)
        assert drawn.error == OUTSIDE + PARAMETERS.index(name.capitalize())
        at = np.arange(40) == 13
        values = expected(replace(draw, numbers={name: np.where(at, 0.5, numbers)}))[0]
        assert different(drawn.out[~at], values[~at]) == 0
        refused = {"p": 0, "rate": -1, "alpha": np.nan}[name]
        np.testing.assert_array_equal(drawn.out[13], refused)


def test_a_probability_on_the_device_draws_as_one_on_the_host(built: ctypes.CDLL) -> None:
    for number_kind, numbers in numbers_of("bernoulli", "f32"):
        draw = Draw("bernoulli", "f32", 101, ROWS, numbers, number_kind)
        assert (
            wrong(
                built,
                draw,
                on_device=("p",),
                limits=UNIT["f32"],
            )
            == 0
        )


def test_a_refused_probability_on_the_device_draws_false_and_an_error(built: ctypes.CDLL) -> None:
    draw = Draw("bernoulli", "f32", 11, ROWS, {"p": 1.5})
    drawn = launched(built, draw, on_device=("p",), limits=UNIT["f32"])
    assert drawn.error == OUTSIDE + PARAMETERS.index("P")
    assert not drawn.out.any()


def test_next_states_alone_may_go_where_the_states_are(built: ctypes.CDLL) -> None:
    states = ROWS.copy()
    launch = Launch(states=states.ctypes.data, next_states=states.ctypes.data)
    launch.rows, launch.row_blocks, launch.seed_key = len(ROWS), 7, 99
    built.onnx_philox_next_states(ctypes.byref(launch), 1, 256)
    following = expected(Draw("uniform", "bits", 25, ROWS))[2]
    assert np.array_equal(states, following)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64"])
def test_a_dropout_may_write_where_its_data_are(built: ctypes.CDLL, kind: str) -> None:
    data = data_of("dropout", kind, 103)
    assert data is not None
    draw = Draw("dropout", kind, 103, None, {"ratio": 0.5}, "f32", data)
    values = expected(draw)[0]
    written = data.copy()
    launch = Launch(
        data=written.ctypes.data,
        out=written.ctypes.data,
        rows=1,
        row_elements=103,
    )
    launch.number[0].type, launch.number[0].bits = 1, 0x3F000000
    getattr(built, f"onnx_philox_dropout_{kind}")(ctypes.byref(launch), 1, 256)
    assert different(written, values) == 0


def test_a_dropout_may_write_the_mask_alone(built: ctypes.CDLL) -> None:
    mask = np.full(20, 7, np.uint8)
    launch = Launch(mask=mask.ctypes.data, rows=1, row_elements=20)
    launch.number[0].type, launch.number[0].bits = 1, 0x3F000000
    built.onnx_philox_dropout_f32(ctypes.byref(launch), 1, 256)
    data = np.zeros(20, np.float32)
    wanted = expected(Draw("dropout", "f32", 20, None, {"ratio": 0.5}, data=data))[1]
    assert wanted is not None
    assert np.array_equal(mask, wanted.view(np.uint8))


def test_a_fused_product_and_sum_is_refused_and_would_draw_other_bits() -> None:
    fused, count = contracted(TEXT)
    assert count > 300
    assert len(unwanted(fused)) == count
    with pytest.raises(UnknownInstructionError, match=r"fma\.rn"):
        translated(fused)
    built = library(fused, only="onnx_philox_normal_f32", may_fuse=True)
    state = np.array([1, 2, 3, 4, 5, 6], np.uint32)
    draw = Draw("normal", "f32", 10_000, state, {"mean": 0.0, "scale": 1.0})
    assert wrong(built, draw) > 100
