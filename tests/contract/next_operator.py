"""An operator of Python alone, for test_next_operator: around `peak` the difference of two uniforms
times `width`, raised to `floor`, if there is one. It has what no other has: two outputs beside the
state, an optional input before the state, limits of its own, and two blocks for each element."""

from __future__ import annotations

import json
import runpy
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.common.cases import parse
from tests.common.runtimes import OpenVino

# Last, so that the package is the installed one.
sys.path.append(str(Path(__file__).parents[2] / "src"))
import make_functions
from onnx_philox._contract import declaration, operators
from onnx_philox._contract.declaration import Attribute, Input, Numbers, Operator, Output, Role
from onnx_philox._contract.types import BOOL, F32, F64, I64, ElementType
from onnx_philox._numbers import uniform
from onnx_philox._numbers.draw import Convert, Distribution, Values

_SHAPE = operators.RANDOM_UNIFORM.input("shape")
_STATE = operators.RANDOM_UNIFORM.input("state")
_FINITE = Numbers("a finite number", "Pass a finite one.")
WORDS = 8

RANDOM_TRIANGLE = Operator(
    "RandomTriangle",
    "The difference of two uniforms.",
    inputs=(
        _SHAPE,
        Input("peak", Role.NUMBER, "Where.", numbers=_FINITE),
        Input(
            "width",
            Role.NUMBERS,
            "How wide: one, or one for each element.",
            types=(F32, F64),
            numbers=Numbers("above 0, at most 2^20", "Pass such.", 0, 2**20, is_above_low=True),
        ),
        Input("floor", Role.NUMBER, "The least.", types=(I64,), optional=True, numbers=_FINITE),
        _STATE,
    ),
    outputs=(
        Output("values", "The values."),
        Output("is_right", "Whether they are right of the peak.", type=BOOL),
        operators.RANDOM_UNIFORM.outputs[-1],
    ),
    attributes=(
        Attribute("output_type", "Of the values.", None, allowed=("f32", "f64")),
        *operators.SEEDS,
    ),
    words=declaration.Words(each=WORDS),
    draws="numbers around a peak",
    rule="Uniform values",
)


@dataclass(frozen=True)
class Triangle(Distribution):
    """The difference of a uniform of the first block of two and one of the second."""

    operator = RANDOM_TRIANGLE
    peak: Values
    width: Values
    floor: Values | None

    def converter(self, values: ElementType) -> Convert:
        """Both outputs."""
        unit = uniform.unit(F64)

        def convert(position: int, words: np.ndarray) -> tuple[Values, ...]:
            u = unit(words).reshape(-1, WORDS // 2)
            difference = u[:, 0] - u[:, 2]
            width = self.width
            if width.ndim:
                width = width[position : position + difference.size]
            drawn = (self.peak + difference * width).astype(values.dtype)
            if self.floor is not None:
                drawn = np.maximum(drawn, self.floor.astype(values.dtype))
            return drawn, difference > 0

        return convert


def register() -> None:
    """Adds it to the declaration, before anything else is imported that reads that."""
    module = ModuleType("onnx_philox._numbers.triangle")
    module.Triangle = Triangle  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    operators.OPERATORS[RANDOM_TRIANGLE.name] = RANDOM_TRIANGLE


def _model(*, has_floor: bool, rows: int | None) -> Any:
    """A node of it with all that can be an input, but for its shape."""
    from onnx import numpy_helper

    given = {
        "shape": np.array([3, 5], np.int64),
        "peak": np.array(2, np.float32),
        "width": np.linspace(0.5, 3, 15, dtype=np.float32).reshape(3, 5),
        "floor": np.array([1], np.int64) if has_floor else None,
    }
    state = "6" if rows is None else f"{rows}, 6"
    model = parse(f"""triangle (uint32[{state}] state)
        => (float[3, 5] values, bool[3, 5] is_right, uint32[{state}] next_state) {{
        values, is_right, next_state = onnx_philox.RandomTriangle <output_type = "f32", op_seed = 7>
            (shape, peak, width, {"floor" if has_floor else ""}, state)
    }}""")
    held = {name: value for name, value in given.items() if value is not None}
    model.graph.initializer.extend(numpy_helper.from_array(x, name) for name, x in held.items())
    return model, given


def _function(module: Any) -> Any:
    """The operator's, as it would be written into a module."""
    operators.RANDOM_TRIANGLE = RANDOM_TRIANGLE
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.py")
        file.write_text(module.text())
        return runpy.run_path(str(file))[RANDOM_TRIANGLE.function]


def _places(
    model: Any,
    given: dict[str, Any],
    attributes: dict[str, Any],
) -> dict[str, Any]:
    """Each place where a model of it may be drawn, as a function."""
    import openvino as ov

    import onnx_philox as op
    from onnx_philox._numbers import call, fill_native
    from tests.common.foreign import evaluate, in_onnxruntime

    feed = {"state": given["state"]}
    shape = given["shape"].tolist()
    by_row = {"per_row": True} if given["state"].ndim == 2 else {"stateful": True}
    numbers = {name: given[name] for name in ("peak", "width", "floor")}
    made = {module.path: _function(module) for module in make_functions.MODULES}

    def node() -> Any:
        outputs = made["openvino/_factories.py"](**given, **attributes).outputs()
        return OpenVino("auto")(ov.Model(outputs, []))

    return {
        "native core": lambda: call.run(RANDOM_TRIANGLE, fill_native.fill, given, attributes),
        "onnx.reference": lambda: evaluate(model, feed),
        "the function of `reference`": lambda: made["reference.py"](**given, **attributes),
        "the builder of `graphs`": lambda: evaluate(
            made["graphs.py"](shape=shape, **numbers, **attributes, **by_row), feed
        ),
        "the factory of `openvino`": node,
        "ONNX Runtime, python": lambda: in_onnxruntime("python")(model, feed),
        "ONNX Runtime, native": lambda: in_onnxruntime("native")(model, feed),
        "OpenVINO, python": lambda: OpenVino("python")(model, feed),
        "OpenVINO, native": lambda: OpenVino("native")(model, feed),
        "standard nodes for ONNX Runtime": lambda: op.to_standard_nodes(model),
        "standard nodes for OpenVINO": lambda: op.to_standard_nodes(model, target="openvino"),
    }


def _outcomes() -> dict[str, dict[str, str]]:
    """What becomes of the operator in each place: "same bits", or the text of a refusal."""
    import onnx_philox as op
    from onnx_philox._numbers import call, fill_numpy

    def reference(**inputs: Any) -> Any:
        given = {name: inputs.pop(name) for name in ("output_type", "global_seed", "op_seed")}
        return call.run(RANDOM_TRIANGLE, fill_numpy.fill, inputs, given)

    op.reference.random_triangle = reference
    one = op.PhiloxState(2**64 - 5, 42).to_array()
    three = op.row_states(7, range(3))
    attributes = {"output_type": "f32", "op_seed": 7, "global_seed": 0}
    outcomes: dict[str, dict[str, str]] = {}
    for name, has_floor, state in (
        ("plain", True, one),
        ("without the optional input", False, one),
        ("a state for each row", True, three),
    ):
        rows = None if state is one else 3
        model, given = _model(has_floor=has_floor, rows=rows)
        given["state"] = state
        expected = reference(**given, **attributes)
        assert len(np.unique(expected[0])) > 5
        outcomes[name] = {}
        for place, run in _places(model, given, attributes).items():
            try:
                same = [np.array_equal(a, b) for a, b in zip(run(), expected, strict=True)]
                outcomes[name][place] = "same bits" if same == [True] * 3 else f"other bits: {same}"
            except Exception as error:
                outcomes[name][place] = f"{type(error).__name__}: {error}"
    return outcomes


if __name__ == "__main__":
    register()
    print(json.dumps(_outcomes()))
