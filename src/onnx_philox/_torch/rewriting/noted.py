"""Which of torch's calls a draw stands for.

torch's exporter writes some draws as others that are not torch's: an integer as a uniform float
that it scales and rounds, a logarithmic normal as the exponential of a normal. It notes the call on
the nodes that it makes. By this note, such a draw becomes the call's own, or is refused. Without a
note, a draw that stands in such a pattern is refused: nothing tells what the module calls.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from onnx_philox._contract import shown
from onnx_philox._contract.operators import (
    RANDOM_BERNOULLI,
    RANDOM_CATEGORICAL,
    RANDOM_DROPOUT,
    RANDOM_UNIFORM,
)
from onnx_philox._models.constants import constant
from onnx_philox._models.onnx_graphs import STANDARD_DOMAINS, input_of, label
from onnx_philox._rewriting.comparisons import COMPARISONS
from onnx_philox._rewriting.in_onnx.inferred_types import Types
from onnx_philox._rewriting.in_onnx.random_nodes.of_onnxruntime import input_at
from onnx_philox._rewriting.in_onnx.replacements import patterns
from onnx_philox._rewriting.in_onnx.replacements.awaiting import AwaitingReplacement
from onnx_philox._rewriting.in_onnx.replacements.onnx_replacements import FloatReplacement
from onnx_philox._rewriting.in_onnx.replacements.outcome import Replaceable
from onnx_philox._torch.calls.table import DRAWN_BY
from onnx_philox._torch.calls.table import call_of as entry_of

NOTE = "pkg.torch.onnx.fx_node"
"""The key under which torch's exporter notes the call that a node is from."""

_INTEGERS = ("randint", "randint_like")
_AS_FLOATS = (*_INTEGERS, "bernoulli")
"""What torch's exporter writes as uniform floats that it rounds or compares."""

_MOST_NODES = 8
"""How far a pattern may reach."""

_WHOLE = (ir.DataType.INT32, ir.DataType.INT64)


def as_called(random: Replaceable, types: Types) -> Replaceable:
    """The draw of the call that a random node stands for.

    Raises:
        ValueError: It draws other numbers than the call, or cannot be told from one that does.
    """
    node = random.site.node
    replacement = random.replacement
    name = call_of(node).partition(".")[0]
    is_float = isinstance(replacement, FloatReplacement)
    if name in _AS_FLOATS and is_float:
        absorbed = patterns.absorb(random, types)
        if _is_whole(absorbed, name):
            return absorbed
        _refuse(random, f"torch's {name}, as a float")
    operator = replacement.operator
    is_other = DRAWN_BY.get(name) is not operator
    if name and is_other and operator is not RANDOM_DROPOUT:
        _refuse(random, f"torch's {name}, as {operator.name}", name)
    if operator is RANDOM_CATEGORICAL and _is_half(input_of(node, 0), types):
        given = "weights of 16 bits, whose race torch runs in 16 bits"
        _refuse(random, given, "multinomial")
    if is_float:
        pattern = _pattern(random, types)
        if pattern:
            _refuse(random, pattern)
    if is_float and not name and _becomes_bits(random, types):
        # Nor has OpenVINO all of these bits where the model computes them itself.
        given = "a uniform of 24 bits that becomes 32 random bits, as in jax.random.bits"
        way_out = "Leave the alignment out: torch has no such call, and Philox draws all 32 bits."
        _refuse(random, given, way_out=way_out)
    return random


def _becomes_bits(random: Replaceable, types: Types) -> bool:
    """Whether a model makes 32 random bits of a uniform, or floats again of such bits."""
    absorbed = patterns.absorb(random, types)
    is_float = isinstance(absorbed.replacement, FloatReplacement)
    is_made_of_bits = is_float and absorbed.absorbed != random.absorbed
    return is_made_of_bits or isinstance(absorbed.replacement, patterns.WordsReplacement)


def warn_of_attention(node: ir.Node) -> None:
    """Warns of a Dropout between Softmax and MatMul that drops nothing: its mode is left out.

    So torch's older exporter writes `scaled_dot_product_attention` with dropout, which torch draws.
    """
    is_dropout = node.op_type == "Dropout" and node.domain in STANDARD_DOMAINS
    if not is_dropout or input_at(node, 2) is not None:
        return
    producer = input_of(node, 0).producer()
    ratio = input_at(node, 1)
    number = None if ratio is None else constant(ratio)
    readers = {use.node.op_type for use in node.outputs[0].uses()}
    is_attention = producer is not None and producer.op_type == "Softmax" and "MatMul" in readers
    has_ratio = number is not None and number.size == 1 and number.item() > 0
    if is_attention and has_ratio:
        warnings.warn(
            f"{label(node)}: the numbers may not be torch's. It drops nothing, since it has no "
            "training_mode: so torch's older exporter writes the dropout of "
            "scaled_dot_product_attention, which torch draws. Export the module with "
            "onnx_philox.torch.export.",
            stacklevel=shown.stacklevel(),
        )


def has_number(random: Replaceable) -> bool:
    """Whether p is a number of Python's, as in `bernoulli_(0.3)`, and no tensor."""
    replacement = random.replacement
    if replacement.operator is not RANDOM_BERNOULLI:
        return False
    call = call_of(random.site.node)
    if call:
        return call == "bernoulli.p"
    if not isinstance(replacement, AwaitingReplacement):
        return False
    # ONNX's own Bernoulli takes a tensor, `p.bernoulli()`, whatever its rank.
    p = constant(input_of(random.site.node, 1))
    return p is not None and p.ndim == 0


def double_of(node: ir.Node, number: NDArray[np.float32]) -> NDArray[np.float64]:
    """The double that torch's exporter rounded: by its note, else the shortest decimal's."""
    narrow = number.reshape(())
    return widest(narrow, noted(node), float(str(narrow)))


def widest(
    number: NDArray[Any],
    doubles: list[float],
    otherwise: float,
) -> NDArray[np.float64]:
    """The first of these doubles that a number is in its own type; else another one."""
    with np.errstate(over="ignore"):
        fitting = [wide for wide in doubles if np.array(wide).astype(number.dtype) == number]
    chosen = fitting[0] if fitting else otherwise
    return np.array(chosen, np.float64)


def noted(node: ir.Node) -> list[float]:
    """The numbers of the call that torch's exporter noted on a node, as doubles."""
    note = node.metadata_props.get(NOTE, "")
    found = re.findall(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?", note)
    return [float(number) for number in found]


def call_of(node: ir.Node) -> str:
    """ATen's name of the call and of its overload: ``randint.low``; empty where none is noted."""
    note = node.metadata_props.get(NOTE, "")
    found = re.search(r"\[target=torch\.ops\.(?:aten|prims)\.(\w+\.\w+)\]", note)
    if not found:
        return ""
    return found[1]


def _is_whole(random: Replaceable, name: str) -> bool:
    """Whether a draw has become the integers, or the booleans, of a call."""
    replacement = random.replacement
    if name in _INTEGERS:
        return isinstance(replacement, patterns.IntegerReplacement)
    return (
        isinstance(replacement, patterns.ComparisonReplacement)
        and replacement.operator is RANDOM_BERNOULLI
        and not replacement.is_negated
        and not replacement.is_any
    )


def _is_half(value: ir.Value, types: Types) -> bool:
    """Whether logits have 16 bits, or the weights that they are made of by no call of its own."""
    half = (ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
    while types(value) not in half:
        producer = value.producer()
        if producer is None or producer.op_type not in ("Cast", "Log", "Unsqueeze"):
            return False
        call = call_of(producer)
        if call and not call.startswith("multinomial."):
            # The module itself casts them.
            return False
        value = input_of(producer, 0)
    return True


def _pattern(random: Replaceable, types: Types) -> str:
    """What a model makes of a draw as exporters write a call of another rule; empty if nothing."""
    node = random.site.node
    is_uniform = random.replacement.operator is RANDOM_UNIFORM
    following = list(_following(node))
    names = [each.op_type for each in following]
    if not is_uniform:
        before_exp = names[: names.index("Exp")] if "Exp" in names else None
        if before_exp is not None and {*before_exp} <= {"Mul", "Add"}:
            return "a normal that goes through Exp, as in log_normal_"
        if _is_normal_of_double(random):
            return (
                "a normal of f64 like a constant, as torch's older exporter writes normal_ and "
                "torch.normal of any type"
            )
        return ""
    uses = list(node.outputs[0].uses())
    readers = {use.node.op_type for use in uses}
    if any(use.node.op_type == "PRelu" and use.idx == 1 for use in uses):
        return "a uniform that is the slopes of PRelu, as in rrelu"
    if "Tan" in names:
        return "a uniform that goes through Tan, as in cauchy_"
    if readers == {"GreaterOrEqual", "Log"}:
        return "a uniform that is compared and goes through Log, as in exponential_"
    if "Log" in names and "Floor" in names[names.index("Log") :]:
        return "a uniform that goes through Log and Floor, as in geometric_"
    if call_of(node):
        # The note says that it is a float.
        return ""
    is_cast = False
    if names[:1] == ["Cast"]:
        is_cast = types(following[0].outputs[0]) in _WHOLE
    if not is_cast:
        absorbed = patterns.absorb(random, types).replacement
        is_cast = isinstance(absorbed, patterns.IntegerReplacement)
    if is_cast:
        return "a uniform that is rounded to an integer, as in randint"
    if len(following) > 1 and node.op_type.endswith("Like") and names[1] == "Cast":
        compared = following[0]
        if len(compared.inputs) != 2:
            return ""
        index = list(compared.inputs).index(node.outputs[0])
        p = constant(input_of(compared, 1 - index))
        is_comparison = (names[0], index) in COMPARISONS
        if is_comparison and p is not None and p.size == 1:
            return "a uniform that is compared with a number and cast, as in bernoulli_"
    return ""


def _is_normal_of_double(random: Replaceable) -> bool:
    """Whether a normal is of f64, and like a constant: that is its mean, which is a double."""
    node = random.site.node
    is_double = random.replacement.dtype is ir.DataType.DOUBLE
    if not is_double or not node.op_type.endswith("Like"):
        return False
    like = input_of(node, 0)
    producer = like.producer()
    if producer is not None and producer.op_type == "Expand":
        like = input_of(producer, 0)
    return constant(like) is not None


def _following(node: ir.Node) -> Iterator[ir.Node]:
    """The nodes after a draw, each the only reader of the one before it beside constants."""
    for _ in range(_MOST_NODES):
        uses = list(node.outputs[0].uses())
        if len(uses) != 1 or uses[0].node.domain not in STANDARD_DOMAINS:
            return
        node, index = uses[0]
        for place, value in enumerate(node.inputs):
            if value is None or place == index:
                continue
            if constant(value) is None:
                return
        yield node


def _refuse(
    random: Replaceable,
    given: str,
    name: str = "",
    way_out: str = "",
) -> NoReturn:
    entry = entry_of(name)
    remedy = "Export the module with onnx_philox.torch.export, which keeps torch's calls."
    if isinstance(random.replacement, AwaitingReplacement):
        remedy = "Write it with torch.rand, torch.randn or another call that torch draws itself."
        if entry is not None and entry.instead:
            remedy = entry.instead
    remedy = way_out or remedy
    allowed = "a call that torch draws by the same rule, with alignment 'pytorch'"
    random.site.refuse("what it stands for", given, allowed, remedy)
