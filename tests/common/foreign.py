"""What a foreign model must draw once it is rewritten: the model itself, run by one rule.

Each random node has a stream, a number in the order of the nodes, those of a branch or a body where
it stands; and a state, at first the run's, which each of its draws moves on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import helper, inliner
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import onnx_philox
from onnx_philox import PhiloxState, reference
from onnx_philox.onnxruntime import InferenceSession
from tests.common.cases import TF2ONNX, assert_same_bits
from tests.common.cases import parse as parse
from tests.common.runtimes import OpenVino

Arrays = dict[str, np.ndarray]
Run = Callable[[onnx.ModelProto, Arrays], list[np.ndarray]]
TWO = """g () => (float[2] a, float[3] b) {
    a = RandomUniform <shape = [2]> () b = RandomUniform <shape = [3]> () }"""
NOISE = parse("g (float[n, 5] x) => (float[n, 5] y) { a = RandomNormalLike (x)  y = Add (x, a) }")
# High bits in the key, where OpenVINO's plugin would clamp a constant, and in the run.
STATE = PhiloxState.for_run(0xFEDC_BA98_8765_4321, run=0x9000_0001).to_array()


def batch(rows: int) -> Arrays:
    """What NOISE is fed."""
    numbers = np.arange(rows * 5, dtype=np.float32)
    return {"x": numbers.reshape(rows, 5)}


def nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """All nodes, those of functions, branches and bodies too."""
    found = [*model.graph.node, *(node for f in model.functions for node in f.node)]
    for node in found:
        found += [inner for attribute in node.attribute for inner in attribute.g.node]
    return found


def operators(model: onnx.ModelProto) -> list[str]:
    """Those of the main graph."""
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def uniform(
    shape: Any,
    op_seed: int = 0,
    state: np.ndarray = STATE,
    type_: str = "f32",
) -> Any:
    """Uniform numbers from 0 to 1 of a stream."""
    drawn_and_next = reference.random_uniform(shape, 0, 1, type_, op_seed=op_seed, state=state)
    return drawn_and_next[0]


def evaluate(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    """In `onnx.reference`, with this package's operators."""
    evaluator = ReferenceEvaluator(model, new_ops=onnx_philox.onnx_reference.OPS)
    # A ratio of 1 makes 0 * infinity of what is dropped.
    with np.errstate(invalid="ignore"):
        return [np.asarray(array) for array in evaluator.run(None, feeds)]


def in_onnxruntime(backend: str = "native") -> Run:
    return lambda model, feeds: InferenceSession(model, backend=backend).run(None, feeds)


def in_openvino(openvino: OpenVino, precision: str | None = None) -> Run:
    @cache
    def loaded(model: bytes) -> tuple[set[str], Callable[[Arrays], list[np.ndarray]]]:
        read = openvino.core.read_model(model)
        # OpenVINO drops inputs that no node reads.
        names = {p.get_any_name() for p in read.inputs}
        return names, openvino.loaded(read, precision)

    def run(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
        named, draw = loaded(model.SerializeToString())
        fed = {k: x for k, x in feeds.items() if k in named}
        return draw(fed)

    return run


def in_both(
    model: onnx.ModelProto, feeds: Arrays, precision: str | None = "f32"
) -> list[np.ndarray]:
    """The outputs, which ONNX Runtime and OpenVINO compute alike."""
    ours = in_onnxruntime()(model, feeds)
    for one, other in zip(
        ours, in_openvino(OpenVino("native"), precision)(model, feeds), strict=True
    ):
        assert_same_bits(one, other)
    return ours


_TYPES = {
    1: "f32",
    10: "f16",
    11: "f64",
    16: "bf16",
    6: "i32",
    7: "i64",
}


def drawn(
    model: onnx.ModelProto,
    feeds: Arrays,
    state: np.ndarray = STATE,
    streams: Sequence[int] | None = None,
    alignment: str = "tensorflow",
) -> list[np.ndarray]:
    """The outputs; each random node takes the next number, or the next of these streams.

    With torch's numbers one generator goes through all of them, whose end is one output more.
    """
    numbers = itertools.count() if streams is None else iter(streams)
    one = {"alignment": alignment, "state": state}

    class Random(OpRun):
        # TensorFlow's RandomUniform has an input in its place.
        shape = None

        def __init__(
            self,
            node: onnx.NodeProto,
            params: dict[str, Any],
        ) -> None:
            super().__init__(node, params)
            is_torch_s = alignment == "pytorch"
            self.given = one if is_torch_s else {"op_seed": next(numbers), "state": state}

        def _run(self, *inputs: Any, **said: Any) -> tuple[Any, ...]:
            said["mode_is_fed"] = self.onnx_node.input[2:3] and self.onnx_node.input[2] in feeds
            rule = RULES[self.onnx_node.op_type]
            *values, self.given["state"] = rule(inputs, said, self.given)
            return tuple(values)

    class Quiet(OpRun):
        def _run(self, *_: Any, **__: Any) -> tuple[Any, ...]:
            return (np.uint64([0]), np.uint64([0]), np.int32(0))

    kinds = [(domain, name, Random) for domain in ("", TF2ONNX) for name in RULES]
    kinds += [("", name, Quiet) for name in _QUIET]
    ops = [type(name, (kind,), {"op_domain": domain}) for domain, name, kind in kinds]
    evaluator = ReferenceEvaluator(inliner.inline_local_functions(model), new_ops=ops)
    with np.errstate(all="ignore"):
        arrays = evaluator.run(None, feeds)
        outputs = [np.asarray(array) for array in arrays]
    return [*outputs, one["state"]] if alignment == "pytorch" else outputs


def of_shape(draw: Any, first: str, second: str) -> Any:
    """A rule for floats of the shape that an attribute, an input, or the input itself says."""

    def rule(inputs: Any, said: Any, given: Any, *, like: bool = False) -> Any:
        shape = said.get("shape")
        own = 1
        if like:
            shape = inputs[0].shape
            own = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
        elif shape is None:
            shape = inputs[0]
        dtype = said.get("dtype") or own
        type_ = _TYPES[dtype]
        lower = said.get(first, 0)
        bounds = lower, said.get(second, 1)
        return draw(np.asarray(shape, np.int64), *bounds, type_, **given)

    return rule


_UNIFORM = of_shape(reference.random_uniform, "low", "high")
_NORMAL = of_shape(reference.random_normal, "mean", "scale")


def _like(rule: Any) -> Any:
    return lambda *given: rule(*given, like=True)


def _integers(inputs: Any, _: Any, given: Any) -> Any:
    low, high = inputs[-2:]
    type_ = _TYPES[helper.np_dtype_to_tensor_dtype(low.dtype)]
    return reference.random_uniform(inputs[0], low, high, type_, **given)


def _truncated(inputs: Any, said: Any, given: Any) -> Any:
    type_ = "f64" if said["dtype"] == onnx.TensorProto.DOUBLE else "f32"
    candidates, after = reference.random_normal([*inputs[0], 8], 0, 1, type_, **given)
    type_of_output = helper.tensor_dtype_to_np_dtype(said["dtype"])
    return truncated(candidates).astype(type_of_output), after


def truncated(candidates: np.ndarray) -> np.ndarray:
    """The first of the candidates, along the last axis, less than 2 away; else the last / 4."""
    is_near = np.abs(candidates) < 2
    index = is_near.argmax(-1)[..., None]
    first = np.take_along_axis(candidates, index, -1)[..., 0]
    return np.where(
        is_near.any(-1),
        first,
        candidates[..., -1] / candidates.dtype.type(4),
    )


def _bernoulli(inputs: Any, said: Any, given: Any) -> Any:
    (p,) = inputs
    values, after = reference.random_bernoulli(p.shape, p.astype(np.float32), **given)
    dtype = helper.tensor_dtype_to_np_dtype(said["dtype"]) if said.get("dtype") else p.dtype
    return values.astype(dtype), after


def _classes(inputs: Any, said: Any, given: Any) -> Any:
    """ONNX's has the number of samples as an attribute, TensorFlow's as an input."""
    logits = inputs[0]
    count = int(inputs[1]) if len(inputs) > 1 else said["sample_size"]
    type_ = _TYPES[said.get("output_dtype", 7) if len(inputs) > 1 else said["dtype"]]
    rows = np.atleast_2d(logits).astype(np.float32)
    values, after = reference.random_categorical(rows, count, type_, **given)
    return values if logits.ndim == 2 else values[0], after


def _dropout(inputs: Any, said: Any, given: Any) -> Any:
    with_none = (*inputs, None, None)
    data, ratio, mode = with_none[:3]
    ratio = np.float32(0.5) if ratio is None else ratio
    if "alignment" in given:
        # By the double of its shortest decimal.
        exact = np.float64(str(ratio))
        return reference.random_dropout(data, exact, **given)
    p = ratio.astype(np.float32)
    drops, after = reference.random_bernoulli(data.shape, p, **given)
    if not mode:
        return data, np.ones(data.shape, bool), after
    # Where no run says whether it is training, the factor is computed in f32 at least.
    is_narrow = not said["mode_is_fed"] and data.dtype.itemsize == 2
    type_of_one = np.float32 if is_narrow else data.dtype
    one = np.dtype(type_of_one).type(1)
    share = np.asarray(ratio)
    scaled = data * (one / (one - share.astype(one.dtype))).astype(data.dtype)
    zero = data.dtype.type(0)
    return np.where(drops, zero, scaled), ~drops, after


def _shuffle(inputs: Any, _: Any, given: Any) -> Any:
    rows = len(inputs[0])
    order, after = reference.random_permutation([rows], **given)
    return inputs[0][order], after


def _for_each(draw: Any) -> Any:
    """A rule for numbers of a shape for each parameter."""

    def rule(inputs: Any, said: Any, given: Any) -> Any:
        shape = (*inputs[0], *inputs[1].shape)
        parameters = np.broadcast_to(inputs[1], shape)
        return draw(parameters, said, given)

    return rule


def _gamma(alpha: np.ndarray, _: Any, given: Any) -> Any:
    return reference.random_gamma(alpha.shape, alpha, "f32", **given)


def _poisson(rate: np.ndarray, said: Any, given: Any) -> Any:
    type_ = "i64" if said["dtype"] == 7 else "i32"
    values, after = reference.random_poisson(rate.shape, rate, type_, **given)
    return values.astype(helper.tensor_dtype_to_np_dtype(said["dtype"])), after


RULES: dict[str, Any] = {
    "RandomUniform": _UNIFORM,
    "RandomUniformLike": _like(_UNIFORM),
    "RandomNormal": _NORMAL,
    "RandomNormalLike": _like(_NORMAL),
    "Bernoulli": _bernoulli,
    "Multinomial": _classes,
    "Dropout": _dropout,
    # TensorFlow's.
    "RandomGamma": _for_each(_gamma),
    "RandomPoissonV2": _for_each(_poisson),
    "RandomShuffle": _shuffle,
    "RandomStandardNormal": _NORMAL,
    "RandomUniformInt": _integers,
    "StatelessMultinomial": _classes,
    "StatelessRandomNormal": _NORMAL,
    "StatelessRandomNormalV2": _NORMAL,
    "StatelessRandomUniform": _UNIFORM,
    "StatelessRandomUniformInt": _integers,
    "StatelessRandomUniformIntV2": _integers,
    "StatelessRandomUniformV2": _UNIFORM,
    "StatelessTruncatedNormal": _truncated,
    "StatelessTruncatedNormalV2": _truncated,
    "TruncatedNormal": _truncated,
}
_QUIET = ("StatelessRandomGetAlg", "StatelessRandomGetKeyCounter")
_QUIET += ("StatelessRandomGetKeyCounterAlg",)
