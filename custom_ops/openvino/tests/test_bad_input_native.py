"""Bad input to the native operators: refused in the words of the Python package's own list."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


def meet_all() -> None:
    """Runs every case in this process; prints a line of JSON for each."""
    from test_bad_input import CASES, INPUTS, call_of, model_of

    from native import native_core

    core = native_core()
    for operator, what in CASES:
        call, _ = call_of(operator, what)
        for constant in (True, False):
            model = model_of(operator, call, constant=constant).SerializeToString()
            feeds = {n: np.asarray(call[n]) for n in INPUTS[operator] if n in call}
            raised = None
            try:
                core.compile_model(core.read_model(model), "CPU")({} if constant else feeds)
            except Exception as error:
                raised = (type(error).__name__, str(error))
            print(json.dumps([operator, what, constant, raised]), flush=True)


def test_bad_input_is_refused_in_the_same_words_and_the_process_lives() -> None:
    from test_bad_input import CASES, call_of

    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(outcomes) == 2 * len(CASES)
    wrong = []
    for operator, what, constant, raised in outcomes:
        _, texts = call_of(operator, what)
        missing = [text for text in texts if raised is None or text not in raised[1]]
        if missing:
            wrong.append(f"{operator}, {what}, constant={constant}: {missing} not in {raised}")
    assert not wrong, "\n".join(wrong)


# What the list does not have: IR that somebody has edited.


@pytest.fixture
def ir(tmp_path: Path) -> str:
    import openvino as ov
    from onnx_philox.openvino import random_uniform

    node = random_uniform([3], 0.25, 0.75, "f64", 7, 0, np.arange(6, dtype=np.uint32))
    ov.serialize(ov.Model(list(node.outputs()), []), tmp_path / "m.xml")
    # The constants no longer speak for themselves: only what was captured is left.
    return (tmp_path / "m.xml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ('output_type="f64"', 'output_type="f8"', ["'output_type' is 'f8'", "'f64'"]),
        ('output_type="f64"', "", ["'output_type' is missing"]),
        ('global_seed="7"', 'global_seed="-7"', ["'global_seed' is -7", "0 to 2^63-1"]),
        ('"0, 1, 2, 3, 4, 5"', '"0, 1, 2, 3, 4"', ["'const_state' is '0, 1, 2, 3, 4'", "six"]),
        ('"0, 1, 2, 3, 4, 5"', '"0, 1, 2, 3, 4, 4294967296"', ["'const_state' is", "u32"]),
        ("0x1.0000000000000p-2", "0.25", ["'const_minval' is '0.25'", "one number of f64"]),
        ("0x1.0000000000000p-2", "0x1p+2000", ["'const_minval' is", "one number of f64"]),
    ],
)
def test_edited_ir_is_refused(
    ir: str, tmp_path: Path, old: str, new: str, texts: list[str]
) -> None:
    from native import native_core

    assert old in ir
    (tmp_path / "m.xml").write_text(ir.replace(old, new))
    with pytest.raises(RuntimeError) as raised:
        native_core().read_model(tmp_path / "m.xml")
    missing = [text for text in texts if text not in str(raised.value)]
    assert not missing, f"{missing} not in: {raised.value}"


if __name__ == "__main__":
    meet_all()
