"""The golden files: models and IR that were saved once give the same bits in this version."""

from __future__ import annotations

import hashlib
import json
from itertools import chain, product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest

from onnx_philox import graphs
from onnx_philox.onnxruntime import BACKENDS as ONNX_RUNTIME_BACKENDS
from onnx_philox.onnxruntime import InferenceSession
from onnx_philox.openvino import BACKENDS as OPENVINO_BACKENDS
from tests.common import child
from tests.common.cases import DTYPES, assert_same_bits
from tests.common.foreign import evaluate
from tests.common.operators import OPERATORS, every_operator, plain
from tests.common.runtimes import OpenVino

pytestmark = [pytest.mark.installed, pytest.mark.lowest]
NUMBERS = ort.__version__.split(".")[:2]
TAKES_BFLOAT16 = tuple(map(int, NUMBERS)) >= (1, 20)
GOLDEN = Path(__file__).parents[2] / "graphs" / "golden"
TORCH = GOLDEN / "v1_torch"
FOLDERS = sorted(path for path in GOLDEN.glob("v*") if path.is_dir())
STEMS = [path.with_suffix("") for folder in FOLDERS for path in sorted(folder.glob("*.json"))]
# onnxruntime-extensions cannot carry these, so neither can the backend that stands on it.
NOT_CARRIED = {"python": ("f16", "bf16")}

Arrays = dict[str, np.ndarray]
golden_file = pytest.mark.parametrize("stem", STEMS, ids=lambda p: f"{p.parent.name}-{p.name}")


def as_array(text: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(DTYPES[text["type"]])
    words = [int(word, 16) for word in text["bits"].split()]
    type_ = f"u{dtype.itemsize}"
    return np.array(words, type_).view(dtype).reshape(text["shape"])


def golden_runs(stem: Path) -> list[tuple[Arrays, Arrays]]:
    """The inputs and outputs of each run."""
    document = json.loads(stem.with_suffix(".json").read_text())
    runs = document["runs"]
    return [
        tuple({k: as_array(v) for k, v in run[kind].items()} for kind in ("inputs", "outputs"))
        for run in runs
    ]


def assert_same(got: Arrays, expected: Arrays) -> None:
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        assert_same_bits(got[name], array)


def values_type(stem: Path) -> str:
    """The type of the first output, as the attribute `output_type` says it."""
    document = json.loads(stem.with_suffix(".json").read_text())
    first_run = document["runs"][0]["outputs"]
    return str(next(iter(first_run.values()))["type"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_no_golden_file_is_missing_changed_or_added(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "SHA256SUMS"
    }
    assert found == listed


def test_every_version_of_the_domain_has_its_golden_files() -> None:
    # An operator that is new may come within a version: then in a folder of its own.
    versions = [folder.name.partition("_")[0] for folder in FOLDERS]
    opsets = graphs.random_generator([1])
    (ours,) = (o for o in opsets.opset_import if o.domain)
    expected = [f"v{version}" for version in range(1, ours.version + 1)]
    assert sorted(set(versions)) == expected


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_golden_model_has_its_ir_and_its_outputs(folder: Path) -> None:
    for suffix in (".onnx", ".xml", ".bin"):
        files = folder.glob(f"*{suffix}")
        stems = [path.with_suffix("") for path in sorted(files)]
        assert stems == [stem for stem in STEMS if stem.parent == folder], suffix


@every_operator
def test_golden_files_have_every_type_form_and_input_of_an_operator(operator: str) -> None:
    op = OPERATORS[operator]
    found: set[Any] = set()
    for stem in STEMS:
        graph = onnx.load(stem.with_suffix(".onnx")).graph
        if [node.op_type for node in graph.node] != [operator]:
            continue
        constants = {initializer.name for initializer in graph.initializer}
        found.add(values_type(stem))
        for inputs, outputs in golden_runs(stem):
            found.update(inputs)
            output = outputs[graph.output[0].name]
            found.add(output.size > 0)
            state = inputs.get("state")
            found.add(
                ("a constant state" if "state" in constants else "seeds")
                if state is None
                else "rows"
                if state.ndim == 2 and len(state) > 1
                else "a state"
            )
    wanted = {False, True, "rows", "a state", *(case.values.name for case in plain(operator))}
    wanted |= {"seeds"} if op.input("state").optional else {"a constant state"}
    wanted |= {i.name for i in op.inputs}
    if op.type_input is not None:
        wanted.discard("f64")  # which OpenVINO computes in f32
    missing = sorted(map(str, wanted - found))
    if missing:
        made = "Add its line to graphs/golden/additions.py and run make.py."
        pytest.fail(f"graphs/golden must have {operator} with {missing}. {made}", pytrace=False)


def test_golden_files_have_torch_s_numbers_of_every_operator_that_draws_them() -> None:
    nodes = [onnx.load(s.with_suffix(".onnx")).graph.node[0] for s in STEMS if s.parent == TORCH]
    assert {node.op_type for node in nodes} == {
        op.name for op in OPERATORS.values() if "alignment" in {a.name for a in op.attributes}
    }


@golden_file
def test_onnx_reference_gives_the_golden_bits(stem: Path) -> None:
    model = onnx.load(stem.with_suffix(".onnx"))
    names = [o.name for o in model.graph.output]
    for inputs, expected in golden_runs(stem):
        outputs = evaluate(model, inputs)
        assert_same(dict(zip(names, outputs, strict=True)), expected)


@golden_file
@pytest.mark.parametrize("backend", ONNX_RUNTIME_BACKENDS)
def test_onnx_runtime_gives_the_golden_bits_or_refuses_a_type_it_cannot_carry(
    stem: Path, backend: str
) -> None:
    path = stem.with_suffix(".onnx")
    type_ = values_type(stem)
    if type_ in NOT_CARRIED.get(backend, ()) and not stem.name.startswith("dropout"):
        with pytest.raises(
            ort.capi.onnxruntime_pybind11_state.NotImplemented,
            match=rf"Random\w+: attribute 'output_type' must be .*: got '{type_}'. Use backend",
        ):
            InferenceSession(path, backend=backend)
        return
    session = InferenceSession(path, backend=backend)
    names = [o.name for o in session.get_outputs()]
    for inputs, expected in golden_runs(stem):
        if not TAKES_BFLOAT16 and any(a.dtype == ml_dtypes.bfloat16 for a in inputs.values()):
            with pytest.raises(
                ort.capi.onnxruntime_pybind11_state.NotImplemented,
                match=r"ONNX Runtime must be 1.20 or newer to take an array of bfloat16 as input",
            ):
                session.run(None, inputs)
            continue
        outputs = session.run(None, inputs)
        assert_same(dict(zip(names, outputs, strict=True)), expected)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize(("suffix", "backend"), [*product((".onnx", ".xml"), OPENVINO_BACKENDS)])
def test_openvino_gives_the_golden_bits(part: int, suffix: str, backend: str) -> None:
    """Every fourth file, as parts of one model: it takes little longer to compile than each."""
    stems = STEMS[part::4]
    openvino = OpenVino(backend)
    models = [openvino.read(stem.with_suffix(suffix)) for stem in stems]
    nodes = zip(*((m.get_results(), m.get_parameters()) for m in models), strict=True)
    run = openvino.loaded(ov.Model(*([*chain(*each)] for each in nodes), "golden"))
    runs = [golden_runs(stem) for stem in stems]
    for i in range(max(map(len, runs))):
        given = [(m, *each[i % len(each)]) for m, each in zip(models, runs, strict=True)]
        feeds = [inputs[p.get_any_name()] for m, inputs, _ in given for p in m.inputs]
        made = iter(run(dict(enumerate(feeds))))
        for stem, (model, inputs, expected) in zip(stems, given, strict=True):
            print(stem)
            assert len(model.inputs) == len(inputs)
            assert_same({o.get_any_name(): next(made) for o in model.outputs}, expected)


def test_golden_files_are_never_made_again() -> None:
    process = child.forked(GOLDEN / "make.py", code=1)
    assert process.stderr.endswith(
        "v1, v1_distributions, v1_rows, v1_exponential, v1_without_replacement, v1_rejecting, "
        "v1_dropout, v1_permutation, v1_token and v1_torch exist, and golden files are never made "
        "again: add a line to ADDITIONS.\n"
    )


@pytest.mark.any_processor
def test_a_new_operator_s_golden_files_are_made_of_the_table(tmp_path: Path) -> None:
    program = "import sys; from make import make; from pathlib import Path"
    call = "[make(Path(sys.argv[1], name), [name]) for name in sys.argv[2:]]"
    source = str(GOLDEN.parents[1] / "src")
    path = f"import sys; sys.path.append({source!r}); "
    child.forked(f"{path}{program}; {call}", tmp_path, *OPERATORS, cwd=GOLDEN)
    for operator in OPERATORS:
        made = sorted((tmp_path / operator).glob("*.json"))
        assert len(made) >= 3 * len(plain(operator)), operator
        for path in made:
            assert path.with_suffix(".xml").exists(), path
            assert golden_runs(path), path
