"""The kernels for OpenVINO's device GPU, without one: their numbers, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset16 as op

from onnx_philox._experimental.openvino_gpu import gpu_layers, lowering
from onnx_philox._numbers import coefficients
from onnx_philox.openvino import (
    compile_model,
    random_bernoulli,
    random_categorical,
    random_dropout,
    random_generator,
    random_normal,
    random_uniform,
)
from tests.common import openvino_models
from tests.common.cases import assert_same_bits

KERNELS = Path(gpu_layers.KERNELS).parent
CORE = Path(__file__).parents[2] / "custom_ops/core/kernels"


def numbers_in(file: str) -> dict[str, list[float]]:
    """What a kernel's file defines, where these are numbers."""
    found = {}
    number = r"-?0x[0-9A-Fa-f.]+p[+-]\d+f|0x[0-9A-Fa-f]+u|\d+"
    for name, text in re.findall(r"^#define (\w+) (.+)$", (KERNELS / file).read_text(), re.M):
        parts = text.split(", ")
        if all(re.fullmatch(number, part) for part in parts):
            found[name] = [
                float.fromhex(part.rstrip("f")) if "p" in part else int(part.rstrip("u"), 0)
                for part in parts
            ]
    return found


def test_the_kernels_have_the_generator_s_numbers() -> None:
    header = (CORE / "philox.h").read_text()
    core = dict(re.findall(r"constexpr .* k(\w+) = (\w+);", header))
    names = ["Rounds", "WordsPerBlock", "StateWords"]
    names += ["Multiplier0", "Multiplier2", "Weyl0", "Weyl1"]
    snake = {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper(): name for name in names}
    expected = {name: [int(core[other].rstrip("u"), 0)] for name, other in snake.items()}
    assert numbers_in("philox.cl") == expected


def test_the_kernels_have_the_core_s_coefficients() -> None:
    found = numbers_in("values.cl")
    compared = set()
    for name, values in found.items():
        if hasattr(coefficients, name):
            expected = np.ravel(getattr(coefficients, name)).tolist()
            assert values == expected, name
            compared.add(name)
    assert {"SINE_F32", "COSINE_F32", "LOGARITHM_F32", "MAGIC_F32"} < compared
    others = {name: values for name, values in found.items() if name not in compared}
    masks = {"FRACTION_F32": 2**23 - 1, "FRACTION_F16": 2**10 - 1}
    ones = {"ONE_F32": np.float32(1).view(np.int32), "FOUR_F32": np.float32(4).view(np.int32)}
    steps = {"NEAREST": 4, "ULPS_OFF": 0}
    expected = {name: [int(n)] for name, n in {**masks, **ones, **steps}.items()}
    assert others == expected


def test_each_layer_has_its_kernel() -> None:
    layers = (KERNELS / "layers.xml").read_text()
    names = set(re.findall(r'CustomLayer name="(\w+)"', layers))
    classes = {c.__name__ for c in (*gpu_layers.DrawLayer.__subclasses__(), gpu_layers.PhiloxNext)}
    assert names == classes
    for file in set(re.findall(r'filename="([\w.]+)"', layers)):
        assert (KERNELS / file).exists()
    values = (KERNELS / "values.cl").read_text()
    for value, out in re.findall(r"-DVALUE=(\w+) -DOUT=(\w+)", layers):
        assert re.search(rf"^{out} {value}\(State state, uint i, int", values, re.M)


class Given:
    """Parameters for a draw: states, and shapes of a rank."""

    def __init__(self) -> None:
        self.state = op.parameter([6], np.uint32)
        self.rows = op.parameter([4, 6], np.uint32)
        self.some = op.parameter([-1, 6], np.uint32)
        self.torchs = op.parameter([632], np.uint32)
        self.six = op.parameter([6], np.int64)
        self.seven = op.parameter([7], np.int64)
        self.data = op.parameter([-1, 4], np.float16)


REFUSED = [
    (
        lambda of: random_uniform([4], 0.0, 1.0, "f64", state=of.state),
        "got RandomUniform of f64 on GPU",
    ),
    (
        lambda of: random_uniform([4], 0, 9, "i64", state=of.state),
        "must be RandomUniform of i32 or f16 or f32 there",
    ),
    (
        lambda of: random_normal([4], 0, 1, "bf16", state=of.state),
        "must be RandomNormal of f32 there: got RandomNormal of bf16 on GPU",
    ),
    (
        lambda of: random_bernoulli([4], np.float64(0.5), state=of.state),
        "got RandomBernoulli of f64 on GPU",
    ),
    (
        lambda of: random_categorical(
            np.float32([[0, 1]]),
            3,
            state=of.state,
        ),
        "must be RandomBernoulli, RandomDropout, RandomGenerator, RandomNormal or RandomUniform",
    ),
    (
        lambda of: random_uniform(
            [4],
            0.0,
            op.parameter([], np.float32),
            "f32",
            state=of.state,
        ),
        "got RandomUniform with a computed maxval on GPU",
    ),
    (
        lambda _: random_bernoulli([2], np.float32([1, 0]), 1),
        "got RandomBernoulli with 2 numbers as its p on GPU",
    ),
    (
        lambda _: random_uniform([4], 0, 8e-19, "f32", 1),
        "got RandomUniform with a width of 8e-19 on GPU",
    ),
    (
        lambda of: random_dropout(np.ones(4), 0.5, state=of.state),
        "got RandomDropout with data of f64 on GPU",
    ),
    (
        lambda of: random_uniform([4], 0.0, 1.0, "f32", state=of.torchs, alignment="pytorch"),
        "must be RandomUniform with alignment 'tensorflow' there: got RandomUniform with "
        "alignment 'pytorch' on GPU",
    ),
    (
        lambda of: random_generator(of.some, [3, 4]),
        "must be RandomGenerator with a state of a known shape there: got RandomGenerator of "
        "[3, 4] with any number of states on GPU",
    ),
    (
        lambda _: random_generator(op.constant(np.zeros(6, np.uint32)), [3, 4]),
        "must be RandomGenerator with a state or a shape that depends on an input there: got "
        "RandomGenerator with a constant state and shape on GPU",
    ),
    (
        lambda _: random_uniform([4], 0, 1, "f32", 1),
        "got RandomUniform with a constant state and shape on GPU",
    ),
    (
        lambda of: random_generator(of.state, op.parameter([-1], np.int64)),
        "got RandomGenerator of any rank on GPU",
    ),
    (
        lambda of: random_generator(of.state, [2**16, 2**15]),
        "must be fewer than 2^31 elements there: got RandomGenerator of 2147483648 elements on GPU",
    ),
]


def model_of(draw: Callable[[Given], ov.Node]) -> ov.Model:
    """One draw, of states, data and shapes."""
    node = draw(Given())
    node.set_friendly_name("noise")
    found = [source.get_node() for source in node.input_values()]
    return ov.Model(node.outputs(), [n for n in found if n.get_type_name() == "Parameter"])


@pytest.mark.parametrize(("draw", "said"), REFUSED)
def test_what_a_gpu_would_not_draw_exactly_is_refused(
    draw: Callable[[Given], ov.Node], said: str
) -> None:
    model = model_of(draw)
    with pytest.raises(ValueError, match=re.escape(said)) as refusal:
        compile_model(openvino_models.CORE, model, "GPU")
    text = str(refusal.value)
    assert text.startswith("openvino.compile_model: the node 'noise' must be ")
    assert text.endswith("Compile the model for HETERO:GPU,CPU, which draws on the CPU.")


# The seeds' words and two parameters that a layer is given, the shapes of its inputs, and its own.
LOWERED = [
    (
        lambda of: random_generator(of.some, of.seven, 5, 2**33 + 7),
        "PhiloxBits [5, 0, 7, 2, 0, 0] [?,6] [6] [?,?] [?]",
    ),
    (
        lambda of: random_uniform([4], 0, 2.0**-60, "f32", 5, state=of.rows),
        "PhiloxUniformF32 [5, 0, 0, 0, 0, 562036736] [4,6] [6] [1] [4,1,1,1]",
    ),
    (
        lambda of: random_bernoulli(of.six, 1e-30, 1),
        "PhiloxBernoulli [1, 0, 0, 0, 1, 0] [6] [6] [?,?,?,?,?,?] [?]",
    ),
    (
        lambda of: random_dropout(of.data, 0.5, 1),
        "PhiloxBernoulli [1, 0, 0, 0, 4194304, 0] [6] [6] [?,4] [?]",
    ),
]


def lowered(model: ov.Model, name: str) -> ov.Node:
    """The layer of this name, in a model whose outputs stay what they are."""
    made = lowering.lowered(model, "GPU")
    outputs = ([(o.partial_shape, o.element_type) for o in m.outputs] for m in (model, made))
    assert next(outputs) == next(outputs)
    return next(n for n in made.get_ops() if n.get_type_name() == name)


@pytest.mark.parametrize(("draw", "given"), LOWERED)
def test_a_layer_is_given_what_its_node_says(
    draw: Callable[[Given], ov.Node],
    given: str,
) -> None:
    layer = lowered(model_of(draw), name := given.partition(" ")[0])
    ports = *layer.inputs(), layer.output(0)
    shapes = " ".join(port.get_partial_shape().to_string() for port in ports)
    assert f"{name} {layer.input_value(1).get_node().data.tolist()} {shapes}" == given


@pytest.mark.parametrize("rank", [1, 2, 5, 8])
def test_a_constant_state_of_any_rank_is_one_state_of_six_words(rank: int) -> None:
    words = np.array([1, 2, 3, 4, 2**32 - 1, 6], np.uint32)
    constant = op.constant(words.reshape([1] * (rank - 1) + [6]))
    x = op.parameter([-1], np.float32)
    node = random_generator(constant, op.shape_of(x))
    empty = random_generator(constant, [0, 3])
    drawn = lowered(ov.Model([*node.outputs(), *empty.outputs()], [x]), "PhiloxBits")
    # A kernel counts the rows by this shape, of which the plugin knows four dimensions.
    assert_same_bits(drawn.input_value(0).get_node().data, words.view(np.int32))


def test_a_random_node_in_a_body_is_refused_on_a_gpu() -> None:
    n = op.parameter([6], np.int64, "n")
    inside = op.parameter([6], np.int64)
    bits = random_generator(op.convert(inside, "u32"), [2])
    loop = op.tensor_iterator()
    loop.set_function(ov.Model([op.convert(bits.output(0), "i64").output(0)], [inside]))
    loop.set_invariant_input(inside, n.output(0))
    loop.get_iter_value(loop.get_function().get_results()[0].output(0), -1)
    with pytest.raises(ValueError, match="RandomGenerator in the body of a TensorIterator, on GPU"):
        compile_model(openvino_models.CORE, ov.Model([loop.output(0)], [n]), "GPU")


def test_arguments_of_compile_model_are_checked() -> None:
    with pytest.raises(ValueError, match="the property CONFIG_FILE must be left out"):
        compile_model(openvino_models.CORE, "model.xml", "GPU", {"CONFIG_FILE": "mine.xml"})
    with pytest.raises(TypeError, match=r"core must be an openvino\.Core"):
        compile_model(5, "model.xml")
