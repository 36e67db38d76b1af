"""Makes the backend tests: models of standard nodes with inputs and outputs, in ONNX's own layout.

    python graphs/backend_tests/make.py             # writes all of them anew
    python graphs/backend_tests/make.py --check     # says whether they are what it makes

Each case is a folder with `model.onnx` and `test_data_set_0/input_*.pb`, `output_*.pb`. The outputs
are those of `onnx_philox.reference`. The names begin with the target that a model is made for.
"""

from __future__ import annotations

import filecmp
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_philox import PhiloxState, graphs, reference, row_states, to_standard_nodes

HERE = Path(__file__).parent
CARRIES = {32: 2**32 - 1, 64: 2**64 - 2, 96: 2**96 - 1, 128: 2**128 - 3}
SEEDS = {"global_seed": 7, "op_seed": 3}
EXACT_IN_OPENVINO = ("bits", "rows_bits", "uniform_i32", "uniform_f32", "bernoulli_f32")


def draws() -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    """A name, the operator's function, its arguments and the state."""
    for bit, counter in CARRIES.items():
        state = PhiloxState(counter, 0xDEADBEEF_01234567).to_array()
        yield f"bits_carry_{bit}", "random_generator", {"shape": [5, 5]}, state
    state = PhiloxState(2**64 - 2, 42).to_array()
    for type_, bounds in (("i32", (-2600, 3700)), ("i64", (-7, 2**40 + 1))):
        yield f"uniform_{type_}", "random_uniform", _uniform(type_, *bounds), state
    for type_ in ("f16", "f32", "f64"):
        yield f"uniform_{type_}", "random_uniform", _uniform(type_, 0, 1), state
        yield f"wide_uniform_{type_}", "random_uniform", _uniform(type_, -3, 5.5), state
        moments = {"mean": 0.5, "scale": 2, "output_type": type_}
        yield f"normal_{type_}", "random_normal", {"shape": [7]} | moments, state
    for p in (np.float32(0.3), np.float64(0.3)):
        name = f"bernoulli_f{8 * p.itemsize}"
        yield name, "random_bernoulli", {"shape": [3, 5], "p": p}, state
    logits = np.float32([[0, 1, -np.inf, 2], [3, 3, 3, 3]])
    yield "categorical", "random_categorical", {"logits": logits, "sample_size": 9}, state
    states = row_states([17, 4, 99], rows=5)
    yield "rows_bits", "random_generator", {"shape": [3, 7], "per_row": True}, states
    yield "rows_normal_f32", "random_normal", _rows(mean=0, scale=1, output_type="f32"), states


def _uniform(type_: str, minval: Any, maxval: Any) -> dict[str, Any]:
    return {"shape": [2, 9], "minval": minval, "maxval": maxval, "output_type": type_}


def _rows(**arguments: Any) -> dict[str, Any]:
    return {"shape": [3, 5], "per_row": True, **arguments}


def make(folder: Path) -> None:
    """Writes all cases into a folder."""
    for name, function, arguments, state in draws():
        given = dict(arguments, **SEEDS)
        stateful = function != "random_generator" and "per_row" not in given
        model = getattr(graphs, function)(**given, **({"stateful": True} if stateful else {}))
        outputs = _reference(function, given, state)
        for target in ("onnxruntime", "openvino"):
            is_exact = name.startswith(EXACT_IN_OPENVINO)
            if target == "openvino" and not is_exact:
                continue
            case = folder / f"test_{target}_{name}"
            data = case / "test_data_set_0"
            data.mkdir(parents=True)
            onnx.save(to_standard_nodes(model, target=target), case / "model.onnx")
            _write(data / "input_0.pb", state, "state")
            for i, (output, array) in enumerate(zip(model.graph.output, outputs, strict=True)):
                _write(data / f"output_{i}.pb", array, output.name)


def _reference(function: str, given: dict[str, Any], state: Any) -> tuple[Any, ...]:
    arguments = {name: value for name, value in given.items() if name != "per_row"}
    result: tuple[Any, ...] = getattr(reference, function)(**arguments, state=state)
    return result


def _write(path: Path, array: Any, name: str) -> None:
    path.write_bytes(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def files(folder: Path) -> set[Path]:
    """The files of all cases, relative to the folder."""
    return {p.relative_to(folder) for p in folder.glob("test_*/**/*") if p.is_file()}


def main() -> None:
    """Makes the folder, or checks it."""
    with tempfile.TemporaryDirectory() as made:
        make(Path(made))
        if "--check" not in sys.argv:
            for case in HERE.glob("test_*"):
                shutil.rmtree(case)
            shutil.copytree(made, HERE, dirs_exist_ok=True)
            return
        new, old = files(Path(made)), files(HERE)
        changed = {f for f in new & old if not filecmp.cmp(Path(made) / f, HERE / f, shallow=False)}
        if wrong := sorted(map(str, (new ^ old) | changed)):
            sys.exit(f"not what {Path(__file__).name} makes, run it again: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
