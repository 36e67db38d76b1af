"""Builders, schemas, shape inference and ONNX's own reference evaluator."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from onnx_philox import PhiloxState, graphs, onnx_reference, reference, register_schemas
from tests.common import child
from tests.common.cases import DTYPES, SEED, assert_same_bits
from tests.common.operators import DOMAIN, OPERATORS

STATE = PhiloxState(3, 4)


def test_models_pass_before_and_after_registering_which_may_be_done_twice() -> None:
    program = """
import onnx, onnx_philox
for model in (onnx_philox.graphs.random_generator([3]),
              onnx_philox.graphs.random_uniform(None, 0, 1, "bf16", stateful=True, rank=2)):
    onnx.checker.check_model(model, full_check=True)
    oldest = onnx.helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
    assert model.ir_version == oldest
assert not onnx.defs.has("RandomUniform", "onnx_philox"), "registered without being asked to"
onnx_philox.register_schemas()
onnx_philox.register_schemas()
import onnx.reference
assert onnx.defs.has("RandomGenerator", "onnx_philox")
"""
    child.forked(program)


def test_shape_inference_finds_types_and_shapes_from_the_schemas_alone() -> None:
    register_schemas()
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "onnx_philox": 1, "d": 1]>
    g (uint32[1, 6] state, float16[A, 5] x, int64[3] n)
        => (uint32[] y, float16[] z, uint32[] s, uint32[] w)
    <int64[2] two = {4, 5}, float16 lo = {0}, float16 hi = {1}, float half = {0.5}> {
        unknown = d.Another (x)
        data, mask = onnx_philox.RandomDropout (unknown, half, state)
        y = onnx_philox.RandomGenerator (state, two)
        like = Shape (x)
        z, s = onnx_philox.RandomUniform <output_type = "f16"> (like, lo, hi, state)
        w = onnx_philox.RandomGenerator (state, n)
    }""")
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)

    def shape(i: int) -> list[int | str]:
        dims = inferred.graph.output[i].type.tensor_type.shape.dim
        return [d.dim_value or d.dim_param for d in dims]

    assert shape(0) == [4, 5]
    assert shape(1) == ["A", 5]
    assert shape(2) == [1, 6]
    assert len(shape(3)) == 3
    known = {each.name for each in inferred.graph.value_info}
    assert known & {"unknown", "data", "mask"} == {"mask"}


def test_the_reference_evaluator_refuses_a_newer_opset() -> None:
    model = graphs.random_generator([3])
    model.opset_import[1].version = 2
    evaluator = ReferenceEvaluator(model, new_ops=onnx_reference.OPS)
    with pytest.raises(
        ValueError, match=r"opset of the domain 'onnx_philox' must be 1: got 2. .*upgrade"
    ):
        evaluator.run(None, {"state": STATE.to_array()})


def test_bounds_given_as_none_are_scalar_graph_inputs_of_the_output_type() -> None:
    model = graphs.random_uniform(None, None, None, "bf16", stateful=True, rank=2)
    inputs = {i.name: i.type.tensor_type for i in model.graph.input}
    assert list(inputs) == ["shape", "minval", "maxval", "state"]
    assert inputs["minval"].elem_type == onnx.TensorProto.BFLOAT16
    assert [d.dim_value for d in inputs["shape"].shape.dim] == [2]
    assert [o.name for o in model.graph.output] == ["values", "next_state"]


def test_bfloat16_bounds_are_written_as_raw_data() -> None:
    """OpenVINO's front end misreads them as int32_data."""
    model = graphs.random_uniform([2], 0.5, 1.5, "bf16", **SEED)
    (minval,) = (t for t in model.graph.initializer if t.name == "minval")
    assert minval.raw_data == np.array(0.5, ml_dtypes.bfloat16).tobytes()


def test_every_random_node_has_dimension_names_of_its_own() -> None:
    """Shared names make ONNX Runtime reuse memory of another size."""
    model = graphs.random_uniform(None, 0, 1, "f32", rank=2, **SEED)
    names = [d.dim_param for d in model.graph.output[0].type.tensor_type.shape.dim]
    assert names == ["values_0", "values_1"]


def test_schemas_say_all_that_the_declaration_says() -> None:
    register_schemas()
    for op in OPERATORS.values():
        schema = onnx.defs.get_schema(op.name, domain=DOMAIN)
        assert schema.doc == op.doc
        expected = [i.name for i in op.inputs]
        assert [i.name for i in schema.inputs] == expected
        expected = [o.name for o in op.outputs]
        assert [o.name for o in schema.outputs] == expected
        assert set(schema.attributes) == {a.name for a in op.attributes}
        for attribute in op.attributes:
            assert schema.attributes[attribute.name].required == (attribute.default is None)
        types = {t for c in schema.type_constraints for t in c.allowed_type_strs}
        assert {t.onnx_name for t in op.output_types} <= types | {"tensor(uint32)", "tensor(bool)"}


def test_element_types_agree_with_onnx() -> None:
    for type_ in {each for op in OPERATORS.values() for each in op.output_types}:
        assert onnx.helper.tensor_dtype_to_np_dtype(type_.onnx) == type_.dtype


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_a_number_of_python_has_the_type_that_is_asked_for(name: str) -> None:
    model = graphs.random_gamma([3], 0.3, "f32", global_seed=1, alpha_type=name)
    (alpha,) = (each for each in model.graph.initializer if each.name == "alpha")
    assert numpy_helper.to_array(alpha) == np.array(0.3, DTYPES[name])
    (drawn,) = ReferenceEvaluator(model, new_ops=onnx_reference.OPS).run(None, {})
    wide = np.array(0.3, DTYPES[name])
    expected, _ = reference.random_gamma([3], wide, "f32", global_seed=1)
    assert_same_bits(drawn, expected)
