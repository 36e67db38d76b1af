"""The pass that imports this package's operators."""

from __future__ import annotations

import onnx_ir as ir

from onnx_philox._operators import DOMAIN, OPSET_VERSION


class Connect(ir.passes.InPlacePass):
    """Adds the opset import."""

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Connects."""
        model.opset_imports[DOMAIN] = OPSET_VERSION
        return ir.passes.PassResult(model, modified=True)
