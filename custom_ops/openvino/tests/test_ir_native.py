"""IR crosses between the operators in Python and the native ones, both ways; and CACHE_DIR."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx_philox
import openvino as ov
import pytest
from onnx_philox import PhiloxState, graphs, reference
from test_golden import STEMS, as_tensor, assert_same_bits, from_tensor, golden_runs
from test_ir_round_trip import CASES, HINTS, SAVE, packed, run_once

from native import LIBRARY, NativeOpenVino, native_core

STATE = PhiloxState(2**128 - 2, 2**64 - 12345).to_array()


def run(core: ov.Core, path: Path, feeds: list[Any], config: dict[str, Any]) -> list[Any]:
    compiled = core.compile_model(core.read_model(path), "CPU", config)
    request = compiled.create_infer_request()
    return [run_once(compiled, request, feed) for feed in feeds]


def config_of(hint: str) -> dict[str, str]:
    return {} if hint == "default" else {"INFERENCE_PRECISION_HINT": hint}


@pytest.mark.parametrize("hint", HINTS)
@pytest.mark.parametrize("way", SAVE)
def test_ir_goes_from_python_to_native_to_python(tmp_path: Path, way: str, hint: str) -> None:
    python = onnx_philox.openvino.register(ov.Core(), backend="python")
    native = native_core()
    for name, case in CASES.items():
        feeds = [{k: packed(v) for k, v in feed.items()} for feed in case.feeds]
        expected = [{k: packed(v) for k, v in run.items()} for run in case.expected]
        first, second = tmp_path / f"{name}.xml", tmp_path / f"{name}_native.xml"
        SAVE[way](case.model(), first)
        assert run(native, first, feeds, config_of(hint)) == expected, name
        # save_model and serialize of a model that the native library has read.
        SAVE[way](native.read_model(first), second)
        assert run(python, second, feeds, config_of(hint)) == expected, name
        assert run(native, second, feeds, config_of(hint)) == expected, name
        assert attributes(first) == attributes(second), name


def attributes(path: Path) -> list[str]:
    """The attributes of our operators, as the file has them."""
    text = path.read_text()
    return re.findall(r'version="extension">\s*<data ([^/]*)/>', text)


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("stem", STEMS, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_golden_files_give_the_golden_bits(
    openvino: NativeOpenVino, stem: Path, suffix: str
) -> None:
    core = openvino.core
    model = core.compile_model(core.read_model(stem.with_suffix(suffix)), "CPU")
    request = model.create_infer_request()
    for inputs, expected in golden_runs(stem):
        for name, array in inputs.items():
            request.set_tensor(name, as_tensor(array))
        request.infer()
        got = {o.get_any_name(): from_tensor(request.get_tensor(o)) for o in model.outputs}
        assert_same_bits(got, expected)


@pytest.mark.parametrize("hint", HINTS)
def test_a_model_from_the_cache_draws_the_same(tmp_path: Path, hint: str) -> None:
    for name, case in CASES.items():
        path = tmp_path / f"{name}.xml"
        ov.serialize(case.model(), path)
        feeds = [{k: packed(v) for k, v in feed.items()} for feed in case.feeds]
        expected = [{k: packed(v) for k, v in run.items()} for run in case.expected]
        for is_cached in (False, True):
            core = native_core()
            core.set_property({"CACHE_DIR": str(tmp_path / "cache" / name)})
            compiled = core.compile_model(core.read_model(path), "CPU", config_of(hint))
            assert compiled.get_property("LOADED_FROM_CACHE") is is_cached, name
            request = compiled.create_infer_request()
            assert [run_once(compiled, request, feed) for feed in feeds] == expected, name


def test_a_state_that_became_an_input_is_not_the_constant_it_was(tmp_path: Path) -> None:
    core = native_core()
    ov.serialize(CASES["random_generator_constant_state"].model(), tmp_path / "m.xml")
    model = core.read_model(tmp_path / "m.xml")
    (node,) = (n for n in model.get_ordered_ops() if n.get_type_name() == "RandomGenerator")
    source = ov.opset8.parameter([6], np.uint32, "state")
    source.output(0).set_names({"state"})
    node.input(0).replace_source_output(source.output(0))
    model.add_parameters([source])
    model.validate_nodes_and_infer_types()
    bits = core.compile_model(model, "CPU")({"state": STATE})["bits"]
    np.testing.assert_array_equal(bits, reference.random_generator(STATE, [4, 5])[0])


def test_a_constant_dimension_over_int32_is_kept_where_the_plugin_clamps_it() -> None:
    """The output has no elements, so that it fits in memory."""
    core = native_core()
    model = core.read_model(graphs.random_generator([2**31 + 5, 0]).SerializeToString())
    compiled = core.compile_model(model, "CPU")
    assert list(compiled({"state": STATE})[0].shape) == [2**31 + 5, 0]


def test_registering_twice_is_fine() -> None:
    core = native_core()
    core.add_extension(str(LIBRARY))
    model = graphs.random_generator([3]).SerializeToString()
    got = core.compile_model(core.read_model(model), "CPU")({"state": STATE})[0]
    np.testing.assert_array_equal(got, reference.random_generator(STATE, [3])[0])


def test_a_compiled_model_outlives_its_core() -> None:
    def compiled() -> ov.CompiledModel:
        core = native_core()
        model = graphs.random_generator([3]).SerializeToString()
        return core.compile_model(core.read_model(model), "CPU")

    np.testing.assert_array_equal(
        compiled()({"state": STATE})[0], reference.random_generator(STATE, [3])[0]
    )


def test_the_library_says_which_openvino_it_is_for() -> None:
    import ctypes

    function = ctypes.CDLL(str(LIBRARY)).onnx_philox_openvino_version
    function.restype = ctypes.c_char_p
    version = function().decode()
    assert ov.get_version().startswith(version + "-")
    assert LIBRARY.with_name("onnx_philox_openvino.version").read_text().strip() == version


@pytest.mark.parametrize("isa", ["avx512", "avx2", "scalar"])
def test_every_instruction_set_draws_the_same(isa: str) -> None:
    done = run_this_file(isa)
    if "does not support" in done.stdout:
        pytest.skip(f"no {isa} here")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_instruction_set_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = run_this_file("mmx")
    assert done.returncode != 0
    assert 'ONNX_PHILOX_ISA is "mmx"' in done.stdout
    assert "scalar" in done.stdout


def run_this_file(isa: str) -> subprocess.CompletedProcess[str]:
    import os

    environment = {**os.environ, "ONNX_PHILOX_ISA": isa}
    return subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=False
    )


def draw_all() -> None:
    """Every case of values, types and counters, with the instruction set of the environment."""
    from cases import EDGE_COUNTERS, SEED, TYPE_BOUNDS

    runtime = NativeOpenVino()
    for counter in EDGE_COUNTERS:
        state = PhiloxState(counter, 2**64 - 1).to_array()
        got = runtime(graphs.random_generator([5003]), {"state": state})
        check(got, reference.random_generator(state, [5003]))
    for output_type, minval, maxval in TYPE_BOUNDS:
        for shape in ([5, 7], [100003]):
            model = graphs.random_uniform(shape, minval, maxval, output_type, stateful=True, **SEED)
            expected = reference.random_uniform(
                shape, minval, maxval, output_type, state=STATE, **SEED
            )
            check(runtime(model, {"state": STATE}), expected)


def check(got: Any, expected: Any) -> None:
    for a, b in zip(got, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


if __name__ == "__main__":
    try:
        draw_all()
    except RuntimeError as error:
        print(json.dumps(str(error)).replace('\\"', '"'))
        sys.exit(1)
