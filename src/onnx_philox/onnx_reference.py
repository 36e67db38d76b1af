"""The operators for `onnx.reference.ReferenceEvaluator`.

Examples:
    >>> from onnx.reference import ReferenceEvaluator
    >>> import onnx_philox
    >>> model = onnx_philox.graphs.random_uniform(
    ...     [2, 3], 50, 100, "i32", global_seed=80, op_seed=100
    ... )
    >>> ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS).run(None, {})[0]
    array([[65, 70, 56],
           [59, 82, 92]], dtype=int32)
"""

from __future__ import annotations

import itertools
from typing import Any

from onnx.reference.op_run import OpRun

from onnx_philox import reference
from onnx_philox._contract import checks
from onnx_philox._contract.operators import DOMAIN, OPERATORS, Operator
from onnx_philox._contract.schemas import make_schema

__all__ = ["OPS"]


def _op_run(op: Operator) -> type[OpRun]:
    """The OpRun class of one operator; it takes its name and its defaults from the schema."""

    def _run(self: OpRun, *inputs: Any, **attributes: Any) -> tuple[Any, ...]:
        checks.check_opset(self.run_params["opsets"].get(DOMAIN, 1), op.name)
        checks.check_counts(op, len(inputs), len(self.onnx_node.output))
        named = {i.name: value for i, value in itertools.zip_longest(op.inputs, inputs)}
        checks.check_given(op, named)
        try:
            results = getattr(reference, op.function)(**named, **attributes)
        except TypeError as error:
            # ReferenceEvaluator hides the text of a TypeError.
            raise ValueError(str(error)) from error
        # A node without outputs must return something too.
        return tuple(results[: max(len(self.onnx_node.output), 1)])

    members = {"op_domain": DOMAIN, "op_schema": make_schema(op), "_run": _run}
    return type(op.name, (OpRun,), members)


OPS: list[type[OpRun]] = [_op_run(op) for op in OPERATORS.values()]
"""The operator classes, for `ReferenceEvaluator(model, new_ops=OPS)`.

They raise ValueError where `onnx_philox.reference` raises TypeError or ValueError.
"""
