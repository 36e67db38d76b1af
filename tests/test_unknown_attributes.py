"""An attribute that an operator does not have is refused, wherever a runtime lets it be seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import openvino as ov
import pytest
from onnx import helper
from operators import plain
from runtimes import bare_session, infer

import onnx_philox
from onnx_philox import graphs
from onnx_philox._contract import attribute_names, checks
from onnx_philox._contract.operators import OPERATORS, RANDOM_UNIFORM, Operator

OV_BACKENDS = ["native", "python"]


def uniform() -> onnx.ModelProto:
    return graphs.random_uniform([3], 0, 1, "f32", global_seed=3)


def with_attribute(model: onnx.ModelProto, name: str, value: object = 7) -> onnx.ModelProto:
    model.graph.node[-1].attribute.append(helper.make_attribute(name, value))
    return model


def refusal(name: str, op: Operator = RANDOM_UNIFORM) -> str:
    """What the Python package says of that attribute."""
    with pytest.raises(ValueError, match=r"each attribute must be one of .*: got ") as raised:
        checks.check_attributes(op, {name: 7})
    return str(raised.value)


def loader(runtime: str) -> Callable[[onnx.ModelProto], object]:
    if runtime == "onnxruntime":
        return bare_session
    core = onnx_philox.openvino.register(ov.Core(), backend=runtime)
    return lambda model: core.read_model(model.SerializeToString())


RUNTIMES = ["onnxruntime", *OV_BACKENDS]


MEANT = {
    "global_seed": "globel_seed golbal_seed global__seed globalseed globalSeed",
    "op_seed": "op-seed op_see random_seed sed seed",
    "": "sample_size high",
}


@pytest.mark.parametrize(("meant", "names"), MEANT.items())
def test_our_session_sees_every_name(meant: str, names: str) -> None:
    hint = f"Did you mean {meant}? Rename it, or remove it." if meant else "Remove it."
    rule = "each attribute must be one of output_type, global_seed, op_seed, alignment"
    for name in names.split():
        with pytest.raises(Exception, match="RandomUniform: each attribute") as raised:
            onnx_philox.onnxruntime.InferenceSession(with_attribute(uniform(), name))
        assert refusal(name).endswith(f"{rule}: got '{name}'. {hint}")
        assert refusal(name) in str(raised.value)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_bare_runtime_ignores_names_that_are_no_operators(runtime: str) -> None:
    """A stated limit: it shows an operator only the attributes that it asks for."""
    loader(runtime)(with_attribute(uniform(), "globel_seed"))


@pytest.mark.parametrize("value", ["f32", 2.5, [1, 2], [0.5], ["a"]])
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_unknown_attributes_are_refused_whatever_their_value(runtime: str, value: object) -> None:
    with pytest.raises(Exception, match=r"each attribute must be one of .*: got 'dtype'"):
        loader(runtime)(with_attribute(uniform(), "dtype", value))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("op", OPERATORS.values(), ids=list(OPERATORS))
def test_every_operator_refuses_those_of_others(op: Operator, runtime: str) -> None:
    case = plain(op.name)[0]
    model = case.model(case.shape(), case.inputs(case.shape()), constant=True)
    load = loader(runtime)
    load(model)
    for name in attribute_names.of_others(op):
        other = with_attribute(onnx.ModelProto.FromString(model.SerializeToString()), name)
        with pytest.raises(Exception, match="each attribute must be one of ") as raised:
            load(other)
        assert refusal(name, op) in str(raised.value)


def ir(folder: Path, name: str) -> Path:
    """A model in OpenVINO's own format, with an attribute more."""
    core = onnx_philox.openvino.register(ov.Core())
    path = folder / "model.xml"
    ov.save_model(core.read_model(uniform().SerializeToString()), path)
    text = path.read_text()
    assert text.count('global_seed="3"') == 1
    path.write_text(text.replace('global_seed="3"', f'global_seed="3" {name}="7"'))
    return path


# The native operators see every attribute of an IR.
OF_IRS = [(backend, name) for backend in OV_BACKENDS for name in ("globel_seed", "seed")]
OF_IRS += [("native", n) for n in ("x", "type", "GLOBAL_SEED", "o_p_s_e_e_d", "p" * 250)]


@pytest.mark.parametrize(("backend", "name"), OF_IRS)
def test_an_ir_with_an_unknown_attribute_is_refused(
    backend: str, name: str, tmp_path: Path
) -> None:
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)
    with pytest.raises(RuntimeError, match="RandomUniform: each attribute") as raised:
        core.read_model(ir(tmp_path, name))
    # In C++, nobody looks for the nearest name of one that it does not know.
    said = refusal(name)
    if backend == "native" and name != "seed":
        said = said.split(". ")[0]
    assert said in str(raised.value)


@pytest.mark.parametrize("backend", OV_BACKENDS)
def test_what_the_operators_write_into_an_ir_themselves_is_read(
    backend: str, tmp_path: Path
) -> None:
    core = onnx_philox.openvino.register(ov.Core(), backend=backend)
    path = ir(tmp_path, "xmlns")
    path.write_text(path.read_text().replace(' xmlns="7"', ""))
    assert "const_minval" in path.read_text()
    infer(core.compile_model(core.read_model(path), "CPU"))
