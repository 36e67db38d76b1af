"""What an exporter wrote, and may not have meant, is said by name; what is right is not."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13

from onnx_philox import Pipeline, make_reproducible
from onnx_philox.rewriting import find_random_nodes
from tests.common.cli import document, text
from tests.common.foreign import parse

CLASSES = "[m] y = Multinomial <dtype = 7, sample_size = 5> (p)"
PROBABILITIES = (
    "it takes log-probabilities and reads what looks like probabilities, of which it draws likely "
    "classes too rarely. If they are probabilities, export the model with a Log before it, or with "
    "the logits that a Softmax made them of."
)
ONE_NUMBER = (
    "it draws one number, of shape [], for all elements of a larger tensor. If each was meant to "
    "have its own, an exporter has lost the shape (Paddle's rand(shape(x))): export the model with "
    "a shape that it keeps, or with RandomUniformLike or RandomNormalLike."
)
WORDS = (
    "OpenVINO's uint32 holds 31 bits, so its CPU device computes another result of these 32 random "
    "bits in {}, or does not load the model. Run the model in ONNX Runtime."
)
WIDE = (
    "OpenVINO's CPU device makes one number of all beyond 2^31 in Cast 'b' to {}, which holds 31 "
    "bits there. Scale by 2^32 and cast to uint32, or run the model in ONNX Runtime."
)
UINT64 = (
    "OpenVINO's CPU device computes uint64 in 32 bits, so it gives another number from 2^31 on in "
    "Cast 'b'. Run the model in ONNX Runtime."
)


@dataclass(frozen=True)
class Doubtful:
    """Nodes that make y of x, and what is said of the one that draws."""

    nodes: str
    said: str | None
    is_warned: bool = True

    @property
    def model(self) -> onnx.ModelProto:
        model = parse(f"g (float[N, 4] x) => (y) {{ {self.nodes} }}", 18)
        model.graph.output[0].type.CopyFrom(onnx.TypeProto())
        return model


def of_classes(nodes: str, said: str | None = PROBABILITIES) -> Doubtful:
    return Doubtful(f"{nodes} {CLASSES}", said)


def of_bits(
    nodes: str,
    said: str,
    to: int = 12,
    high: float = 2.0**32,
) -> Doubtful:
    bits = (
        f"[u] u = RandomUniformLike <high = {high}> (x) f = Floor (u) [b] b = Cast <to = {to}> (f)"
    )
    return Doubtful(f"{bits} {nodes}", said)


def of_floats(
    nodes: str,
    said: str | None = WIDE.format("uint32"),
) -> Doubtful:
    """What nodes make, as r, of s: a uniform number u times 2^32, which no words can stand for."""
    scaled = "[u] u = RandomUniformLike (x) m = Constant <value_float = 4294967296.0> ()"
    return Doubtful(f"{scaled} s = Mul (u, m) {nodes} [b] y = Cast <to = 12> (r)", said)


DOUBTFUL: dict[str, Doubtful] = {
    "a Softmax": of_classes("p = Softmax <axis = -1> (x)"),
    "a Sigmoid behind an Identity": of_classes("s = Sigmoid (x) p = Identity (s)"),
    "a Softmax behind a Reshape and a Cast": of_classes("""s = Softmax <axis = -1> (x)
        c = Cast <to = 10> (s) n = Constant <value_ints = [-1, 4]> () p = Reshape (c, n)"""),
    "the likeliest of a Softmax": of_classes("""s = Softmax <axis = -1> (x)
        k = Constant <value_ints = [2]> () p, i = TopK (s, k)"""),
    "a Softmax of which some are 0": of_classes("""s = Softmax <axis = -1> (x)
        z = Constant <value_float = 0.0> () l = Less (x, z) p = Where (l, z, s)"""),
    "a Softmax in its parts": of_classes("""e = Exp (x) a = Constant <value_ints = [1]> ()
        t = ReduceSum (e, a) p = Div (e, t)"""),
    "the Exp of a LogSoftmax": of_classes("l = LogSoftmax <axis = -1> (x) p = Exp (l)"),
    "numbers divided by their sum": of_classes("""e = Exp (x)
        p = LpNormalization <axis = -1, p = 1> (e)"""),
    "a Softmax behind a Clip": of_classes("""s = Softmax <axis = -1> (x)
        l = Constant <value_float = 1e-6> () p = Clip (s, l)"""),
    "numbers divided by their length": of_classes(
        "p = LpNormalization <axis = -1, p = 2> (x)", None
    ),
    "constants with the sum 1": of_classes(
        "p = Constant <value = float[1, 4] {0.1, 0.2, 0.3, 0.4}> ()"
    ),
    "a LogSoftmax": of_classes("p = LogSoftmax <axis = -1> (x)", None),
    "the Log of a Softmax": of_classes("s = Softmax <axis = -1> (x) p = Log (s)", None),
    "logits": of_classes("p = Identity (x)", None),
    "constants with another sum": of_classes(
        "p = Constant <value = float[1, 4] {0.5, 0.2, 0.8, 0.4}> ()", None
    ),
    "constants below 0": of_classes(
        "p = Constant <value = float[1, 4] {-0.5, 0.5, 0.5, 0.5}> ()", None
    ),
    "one number that is added": Doubtful(
        "[r] r = RandomUniform <shape : ints = []> () y = Add (x, r)", ONE_NUMBER, is_warned=False
    ),
    "one number that is scaled before": Doubtful(
        """[r] r = RandomNormal <shape : ints = []> () two = Constant <value_float = 2.0> ()
        s = Mul (r, two) y = Mul (s, x)""",
        ONE_NUMBER,
        is_warned=False,
    ),
    "one number for itself": Doubtful(
        """[r] r = RandomNormal <shape : ints = []> () two = Constant <value_float = 2.0> ()
        y = Mul (r, two)""",
        None,
    ),
    "a number for each": Doubtful("[r] r = RandomNormalLike (x) y = Add (x, r)", None),
    "bits of 64": of_bits("y = Cast <to = 7> (b)", WORDS.format("Cast of 'y'")),
    "bits that are compared": of_bits("[less] y = Less (b, b)", WORDS.format("Less 'less'")),
    "floats and sums of bits": of_bits(
        "v = Cast <to = 1> (b) [sum] a = Add (b, b) w = Cast <to = 1> (a) y = Mul (v, w)",
        WORDS.format("Add 'sum'"),
    ),
    "words in an int64": of_bits(
        "y = Neg (b)",
        WIDE.format("int64"),
        to=7,
    ),
    "more than the words": of_bits(
        "y = Identity (b)",
        WIDE.format("uint32"),
        high=3e9,
    ),
    "bits that are rounded to the nearest": of_floats("r = Round (s)"),
    "bits that end at a limit": of_floats("""t = Constant <value_float = 4294967040.0> ()
        z = Constant <value_float = 0.0> () r = Clip (s, z, t)"""),
    "bits up to the least of two": of_floats(
        "t = Constant <value_float = 4294967040.0> () r = Min (t, s)"
    ),
    "bits that go through f64": of_floats("r = Cast <to = 11> (s)"),
    "floats that two read": of_floats("r = Floor (s) [e] e = Exp (u)"),
    "bits that a limit keeps below 2^31": of_floats(
        """t = Constant <value_float = 2147483000.0> () r = Min (t, s)""", None
    ),
    "bits of a branch that reads floats from outside": Doubtful(
        """[u] u = RandomUniformLike <high = 4294967296.0> (x) c = Constant <value = bool {1}> ()
        y = If (c) <then_branch = t () => (a) { f = Floor (u) [b] a = Cast <to = 12> (f) },
        else_branch = e () => (d) { d = Cast <to = 12> (x) }>""",
        WIDE.format("uint32"),
    ),
    "words in a uint64": of_bits("y = Identity (b)", UINT64, to=13),
}


def warned_by(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is UserWarning]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_node_that_is_doubtful_is_named_with_the_reason(name: str) -> None:
    case = DOUBTFUL[name]
    model = case.model
    *_, node = find_random_nodes(model)
    assert node.doubt == case.said
    wanted = (
        [f"{node.op_type} {node.called!r}: {case.said}"] if case.is_warned and case.said else []
    )
    assert warned_by(lambda: make_reproducible(model)) == wanted
    assert warned_by(lambda: Pipeline(model)) == wanted


@pytest.mark.parametrize("name", ["a Softmax", "one number that is added", "a LogSoftmax"])
def test_inspect_and_rewrite_print_a_doubt_once(name: str, tmp_path: Path) -> None:
    case = DOUBTFUL[name]
    source, target = tmp_path / "m.onnx", tmp_path / "n.onnx"
    onnx.save(case.model, source)
    for command in (("inspect", source), ("rewrite", source, "-o", target)):
        said = " ".join(text(*command).split())
        assert said.count(str(case.said)) == (case.said is not None)
    assert document("inspect", source)["random_nodes"][0]["doubt"] == case.said


def ir_of(kind: str, *, log_probs: bool) -> ov.Model:
    """A Multinomial of OpenVINO's own, of what an operator gives."""
    x = opset13.parameter(
        [-1, 4],
        ov.Type.f32,
        name="x",
    )
    nodes = {
        "Softmax": lambda: opset13.softmax(x, -1),
        "LogSoftmax": lambda: opset13.log_softmax(x, -1),
        "Parameter": lambda: x,
    }
    count = opset13.constant(np.array([5], np.int32))
    drawn = opset13.multinomial(nodes[kind](), count, "i64", True, log_probs)
    drawn.set_friendly_name("m")
    return ov.Model([drawn], [x], "g")


LOGARITHMS = (
    "it takes probabilities and reads logarithms. Convert the model with log_probs, or without the "
    "logarithm."
)


@pytest.mark.parametrize(
    ("kind", "log_probs", "said"),
    [
        ("Softmax", True, PROBABILITIES),
        ("Softmax", False, None),
        ("LogSoftmax", True, None),
        ("LogSoftmax", False, LOGARITHMS),
        ("Parameter", True, None),
        ("Parameter", False, None),
    ],
)
def test_a_model_of_openvino_is_judged_by_its_attribute(
    kind: str, log_probs: bool, said: str | None
) -> None:
    model = ir_of(kind, log_probs=log_probs)
    (node,) = find_random_nodes(model)
    assert node.doubt == said
    wanted = [] if said is None else [f"Multinomial 'm': {said}"]
    assert warned_by(lambda: make_reproducible(model)) == wanted
