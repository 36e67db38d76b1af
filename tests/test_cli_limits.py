"""What the command is given that no machine can take: one line, no traceback, nothing written."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import cli
import numpy as np
import onnx
import pytest
from foreign import parse

import onnx_philox

COMMAND = [sys.executable, "-m", "onnx_philox"]
DEVICE = "/dev/full"
LAST_RUN = 2**32 - 1


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rewritten model whose input is x."""
    monkeypatch.chdir(tmp_path)
    model = parse("g (float[N] x) => (float[N] y) { n = RandomNormalLike(x) y = Add(x, n) }")
    onnx.save(onnx_philox.make_reproducible(model), "noisy.onnx")


def refused(given: str) -> str:
    """What is said of a bad input, which must be one line."""
    said = cli.refusal("run", "noisy.onnx", "--input", given)
    assert len(said.strip().splitlines()) == 1, said
    return said


@pytest.mark.parametrize("depth", [100, 2000, 200_000])
def test_an_input_nested_too_deep_is_refused(depth: int) -> None:
    said = refused(f"x={'[' * depth}1{']' * depth}")
    assert "got '[[[[" in said
    assert "must be a file that ends in .npy, or numbers" in said
    assert len(said) < 500


@pytest.mark.parametrize(
    "argument", ["{}", "{}=1", "x={}.npy", "{}.npy", "{}.npz", "z={}", "{}=x.npy"]
)
def test_a_long_argument_is_not_echoed_whole(argument: str) -> None:
    given = argument.format("[" * 2000 + "1" + "]" * 2000)
    assert len(cli.refusal("run", "noisy.onnx", "--input", given)) < 500


@pytest.mark.parametrize("elements", [2**40, 2**60, 2**62, 2**70])
def test_a_header_that_claims_more_than_memory_holds_is_refused(elements: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (elements,)}
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(member, header)
    Path("x.npy").write_bytes(member.getvalue() + b"\0" * 64)
    said = refused("x=x.npy")
    words = "x.npy cannot be read: its header tells of more numbers than memory can hold. If "
    assert words in said
    assert said.endswith("damaged: write it again with numpy.save or numpy.savez.\n")
    with zipfile.ZipFile("x.npz", "w") as archive:
        archive.writestr("x.npy", member.getvalue())
    assert "x.npz cannot be read: " in refused("x.npz")


def test_an_npy_header_that_is_too_long_gets_advice_for_users_of_the_command() -> None:
    fields = {"descr": [(f"f{i}", "<f4") for i in range(3000)]}
    with open("x.npy", "wb") as file:
        np.lib.format.write_array_header_2_0(file, fields | {"fortran_order": False, "shape": (2,)})
    said = refused("x=x.npy")
    assert "x.npy cannot be read: Header info length (" in said
    assert said.endswith(" numpy.save or numpy.savez, one of strings as array.astype(str).\n")
    assert "max_header_size" not in said
    assert "allow_pickle" not in said


@pytest.mark.skipif(not Path(DEVICE).exists(), reason=f"this system has no {DEVICE}")
@pytest.mark.parametrize(
    "words",
    [
        *("rewrite noisy.onnx -o new.onnx", "rewrite noisy.onnx -o new.onnx --json"),
        *("rewrite noisy.onnx -o new.xml", "run noisy.onnx --input x=[1,2] -o out"),
        *("inspect noisy.onnx", "verify --runtime reference", "--help", "--version"),
    ],
)
def test_a_full_standard_output_is_an_error_of_one_line(words: str, tmp_path: Path) -> None:
    for target, why in ((f">{DEVICE}", "No space left on device"), (">&-", "Bad file descriptor")):
        line = f"{shlex.join(COMMAND)} {words} {target}"
        done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == (
            f"onnx-philox: standard output cannot be written: {why}. "
            "Free space there, or print elsewhere.\n"
        )
    assert [p.name for p in tmp_path.iterdir()] == ["noisy.onnx"]


def test_after_the_last_run_of_a_seed_another_seed_is_advised() -> None:
    run = ("run", "noisy.onnx", "--input", "x=[1]", "--first-run")
    assert f"Go on with --first-run {LAST_RUN};" in cli.text(*run, LAST_RUN - 1)
    words = "Go on with another seed; repeat any run with --first-run N."
    assert words in cli.text(*run, LAST_RUN)
