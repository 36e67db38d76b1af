"""The npm package `examples/web/philox-state`: its vectors are Python's, and Node agrees. And what
the page for dropped models makes of a visitor's numbers, in Node too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from onnx_philox import PhiloxState, reference, row_states
from tests.common import child

PACKAGE = Path(__file__).parents[2] / "examples" / "web" / "philox-state"
SEEDS = (0, 1, 42, 2**32 - 1, 2**32, 2**53 + 1, 2**64 - 1)
# Of runs and rows, and one whose counter is about to carry through all its words.
STATES = (
    PhiloxState.for_run(42, 3),
    PhiloxState(
        counter=2**128 - 2,
        key=2**64 - 1,
    ),
    PhiloxState(
        counter=2**64 - 1,
        key=0xFEDCBA9876543210,
    ),
)


def vectors() -> dict[str, Any]:
    """What Python makes; seeds as texts, which JavaScript does not round."""
    rows = (
        ([17, 4, 2**64 - 1], [0], 0),
        ([42], [1000, 1001, 2**32 - 1], 2**32 - 1),
        ([5, 6], [7, 8], 9),
    )
    return {
        "runs": [
            {
                "seed": str(s),
                "run": r,
                "state": PhiloxState.for_run(s, r).to_array().tolist(),
            }
            for s in SEEDS
            for r in (0, 1, 2**32 - 1)
        ],
        "rows": [
            {
                "seeds": list(map(str, seeds)),
                "rows": numbers,
                "run": run,
                "states": row_states(seeds, numbers, run).tolist(),
            }
            for seeds, numbers, run in rows
        ],
        "states": [_of(state) for state in STATES],
    }


def _of(state: PhiloxState) -> dict[str, Any]:
    words, _ = reference.random_generator(state.to_array(), [11])
    return {
        "state": state.to_array().tolist(),
        "children": [child.to_array().tolist() for child in state.split(3)],
        "folded": {str(i): state.fold_in(i).to_array().tolist() for i in (5, 2**32, 2**64 - 1)},
        "words": words.tolist(),
        "advanced": {str(n): state.advance(n).to_array().tolist() for n in (0, 1, 4, 5, 2**40)},
    }


def test_the_vectors_are_those_of_python() -> None:
    """After a change of the vectors: `python -m tests.web.test_philox_state` writes them."""
    assert json.loads((PACKAGE / "vectors.json").read_text("utf-8")) == vectors()


def test_the_package_names_the_files_that_it_has() -> None:
    said = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    assert all((PACKAGE / name).is_file() for name in said["files"])
    types = (PACKAGE / "philox-state.d.ts").read_text("utf-8")
    for line in (PACKAGE / "philox-state.mjs").read_text("utf-8").splitlines():
        if line.startswith("export "):
            name = line.split()[2].partition("(")[0]
            assert f" {name}" in types, name


@pytest.mark.web
def test_node_makes_the_states_of_python(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "package")
    done = child.run("npm", "test", cwd=tmp_path / "package")
    assert "# pass 5" in done.stdout


@pytest.mark.web
def test_the_page_takes_the_numbers_that_a_type_holds(tmp_path: Path) -> None:
    package = tmp_path / "node_modules" / "philox-state"
    shutil.copytree(PACKAGE, package)
    shutil.copy(PACKAGE.parent / "tensors.mjs", tmp_path)
    shutil.copy(Path(__file__).with_name("tensors.test.mjs"), tmp_path)
    child.run("node", "--test", "tensors.test.mjs", cwd=tmp_path)


if __name__ == "__main__":
    (PACKAGE / "vectors.json").write_text(json.dumps(vectors(), indent=1) + "\n", "utf-8")
