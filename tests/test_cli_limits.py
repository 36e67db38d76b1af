"""What the command is given that no machine can take: one line, no traceback, nothing written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cli
import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import parser

import onnx_philox
from onnx_philox._command import app
from onnx_philox._contract import state

COMMAND = [sys.executable, "-c", "from onnx_philox._command.app import app; app()"]
DEVICE = "/dev/full"


@pytest.fixture
def noisy(tmp_path: Path) -> Path:
    """A rewritten model with the input x."""
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) '
        "{ n = RandomNormalLike(x) y = Add(x, n) }"
    )
    path = tmp_path / "noisy.onnx"
    onnx.save(onnx_philox.make_reproducible(model), path)
    return path


def refuse(path: Path, given: str) -> str:
    """Runs a model with a bad input; returns the message, which must be one line."""
    runner = CliRunner()
    result = runner.invoke(app.app, ["run", str(path), "--input", given])
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    return result.stderr


@pytest.mark.parametrize("depth", [100, 2000, 200_000])
def test_an_input_nested_too_deep_is_refused(noisy: Path, depth: int):
    said = refuse(noisy, f"x={'[' * depth}1{']' * depth}")
    assert "got '[[[[" in said
    assert "must be a file that ends in .npy, or numbers" in said
    assert len(said) < 500


@pytest.mark.parametrize(
    "argument", ["{}", "{}=1", "x={}.npy", "{}.npy", "{}.npz", "z={}", "{}=x.npy"]
)
def test_a_long_argument_is_not_echoed_whole(noisy: Path, argument: str):
    given = argument.format("[" * 2000 + "1" + "]" * 2000)
    result = cli.invoke("run", noisy, "--input", given)
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout) == (2, "")
    assert len(result.stderr) < 500, result.stderr


@pytest.mark.parametrize("elements", [2**40, 2**60, 2**62, 2**70])
def test_an_npy_header_that_claims_more_than_memory_holds_is_refused(
    noisy: Path, tmp_path: Path, elements: int
):
    header = {"descr": "<f4", "fortran_order": False, "shape": (elements,)}
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 64)
    said = refuse(noisy, f"x={tmp_path / 'x.npy'}")
    assert (
        "x.npy cannot be read: its header tells of more numbers than memory can hold. If " in said
    )
    assert said.endswith("damaged: write it again with numpy.save or numpy.savez.\n")


def test_an_npy_header_that_is_too_long_gets_advice_for_users_of_the_command(
    noisy: Path, tmp_path: Path
):
    fields = {"descr": [(f"f{i}", "<f4") for i in range(3000)]}
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_2_0(file, fields | {"fortran_order": False, "shape": (2,)})
    said = refuse(noisy, f"x={tmp_path / 'x.npy'}")
    assert "x.npy cannot be read: Header info length (" in said
    assert said.endswith(" numpy.save or numpy.savez, one of strings as array.astype(str).\n")
    assert "max_header_size" not in said
    assert "allow_pickle" not in said


def test_an_npz_that_claims_more_than_memory_holds_is_refused(noisy: Path, tmp_path: Path):
    import io
    import zipfile

    for elements in (2**40, 2**62):
        header = {"descr": "<f4", "fortran_order": False, "shape": (elements,)}
        member = io.BytesIO()
        np.lib.format.write_array_header_1_0(member, header)
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("x.npy", member.getvalue())
        assert "x.npz cannot be read: " in refuse(noisy, str(tmp_path / "x.npz"))


def commands(path: Path) -> dict[str, list[str]]:
    folder = path.parent
    return {
        "rewrite": ["rewrite", str(path), "-o", str(folder / "new.onnx")],
        "rewrite as JSON": ["rewrite", str(path), "-o", str(folder / "new.onnx"), "--json"],
        "rewrite to IR": ["rewrite", str(path), "-o", str(folder / "new.xml")],
        "run": ["run", str(path), "--input", "x=[1,2]", "-o", f"{folder}/out"],
        "inspect": ["inspect", str(path)],
        "verify": ["verify", "--runtime", "reference"],
        "help": ["--help"],
        "version": ["--version"],
    }


NAMES = ["rewrite", "rewrite as JSON", "rewrite to IR", "run", "inspect", "verify", "help"]


@pytest.mark.skipif(not Path(DEVICE).exists(), reason=f"this system has no {DEVICE}")
@pytest.mark.parametrize("name", [*NAMES, "version"])
def test_a_full_standard_output_is_an_error_of_one_line(noisy: Path, name: str):
    with open(DEVICE, "w") as full:
        done = subprocess.run(
            [*COMMAND, *commands(noisy)[name]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    closed = subprocess.run(
        ["sh", "-c", '"$0" "$@" >&-', *COMMAND, *commands(noisy)[name]],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    for each, why in ((done, "No space left on device"), (closed, "Bad file descriptor")):
        assert each.returncode == 1
        assert each.stderr == (
            f"onnx-philox: standard output cannot be written: {why}. "
            "Free space there, or print elsewhere.\n"
        )
    assert [p.name for p in noisy.parent.iterdir()] == ["noisy.onnx"]


def test_after_the_last_run_of_a_seed_another_seed_is_advised(noisy: Path):
    def say(first: int) -> str:
        arguments = ["run", noisy, "--input", "x=[1]", "--first-run", first]
        result = cli.invoke(*arguments)
        assert result.exit_code == 0, result.output
        return " ".join(result.stdout.split())

    last = state.RUNS - 1
    assert f"Go on with --first-run {last};" in say(last - 1)
    assert "Go on with another seed; repeat any run with --first-run N." in say(last)
