"""What each random node of OpenVINO becomes.

A reader takes in all that a node says and refuses what is not allowed, before anything changes.
`Draw.make` makes the nodes in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset8

from onnx_philox import openvino as factories
from onnx_philox._contract import checks, operators
from onnx_philox._contract.generators import PHILOX, Generator
from onnx_philox._contract.known_input import UNKNOWN, Known
from onnx_philox._contract.rows_of_numbers import check_logits
from onnx_philox._contract.shown import listed
from onnx_philox._contract.types import BF16, BY_NAME, F16, F32, F64, I32, I64, ElementType
from onnx_philox._openvino_models import arrays
from onnx_philox._openvino_models.openvino_graphs import (
    awaits_state,
    constant,
    dimensions,
    generator_of,
    only_reader,
    own_seeds,
)
from onnx_philox._rewriting import doubts
from onnx_philox._rewriting.comparisons import GIVES_PROBABILITIES
from onnx_philox._rewriting.doubts import Doubt
from onnx_philox._rewriting.found import Replaceable
from onnx_philox._rewriting.in_openvino.draw_openvino_inputs import drawn_input_number
from onnx_philox._rewriting.in_openvino.openvino_site import Site, names_of
from onnx_philox._rewriting.shares import INLINED_NAME

_UNIFORM_TYPES = (F16, BF16, F32, F64, I32, I64)
_SEEDS = ("global_seed", "op_seed")
_MOVES = ("Convert", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
_LOGARITHMS = ("Log", "LogSoftmax")
_ONLY_CONSTANT = (F64, I64)
"""The plugin would change bounds of these types on their way to our node."""

EmitDraw = Callable[..., ov.Node]
"""Makes a node of this package by its factory; adds the state and the seeds to what is given."""


@dataclass(frozen=True)
class NewDraw(Replaceable):
    """A random node, the node of this package that draws in its place, and what that stands for."""

    site: Site
    operator: operators.Operator
    output_type: str
    output: ov.Output
    """What it gives instead of the model."""
    make: Callable[[EmitDraw], ov.Output]
    """Makes the nodes; returns what replaces the output."""
    also: tuple[ov.Node, ...] = ()
    """All random nodes that it stands for, if several."""

    @property
    def covered(self) -> frozenset[str]:
        """The random nodes that it stands for, by `get_name`."""
        return frozenset(node.get_name() for node in (self.site.node, *self.also))

    @property
    def drawn(self) -> tuple[operators.Operator, str]:
        """See `Replaceable`."""
        return self.operator, self.output_type

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs of the last node that it stands for."""
        return names_of(self.output)

    @property
    def names(self) -> frozenset[str]:
        """The name of its first node, and those of its output."""
        return frozenset({self.site.name, *self.output.get_names()})

    @property
    def is_numbered(self) -> bool:
        """See `Replaceable`."""
        node = self.site.node
        return awaits_state(node) and drawn_input_number(node) is None


def inlined_comparison(node: ov.Node) -> ov.Node | None:
    """The Greater of a Bernoulli that a tool inlined, given its RandomUniform."""
    if INLINED_NAME not in node.get_friendly_name():
        return None
    read = only_reader(node.output(0))
    if read is None:
        return None
    reader, index = read
    if not _is_a(reader, "Greater") or index != 0:
        return None
    return reader


@dataclass(frozen=True)
class UniformNode:
    """What a RandomUniform says."""

    site: Site
    values: ElementType
    bounds: tuple[NDArray[Any] | None, NDArray[Any] | None]
    """None for one that the model computes."""
    seeds: tuple[int, int] | None = None
    """Those that it keeps; None where a rewrite gives it a stream."""
    generator: Generator = PHILOX
    """The generator by which it draws after a rewrite."""

    @property
    def shape(self) -> ov.Output:
        """The dimensions of the draw."""
        return self.site.node.input_value(0)

    @property
    def dimensions(self) -> tuple[int | None, ...] | None:
        """As far as they are known."""
        return dimensions(self.site.node.output(0))

    @property
    def is_unit(self) -> bool:
        """Whether its numbers lie in [0, 1)."""
        low, high = self.bounds
        if low is None or high is None:
            return False
        return bool(low.item() == 0 and high.item() == 1)

    @classmethod
    def read(cls, site: Site, *, keep_seeds: bool) -> UniformNode:
        """Reads a node.

        Raises:
            TypeError: Its values are of a type that is not allowed.
            ValueError: Its bounds are, or seeds that it is to keep cannot be kept.
        """
        name = str(site.node.get_attributes()["output_type"])
        values = BY_NAME.get(name)
        if values not in _UNIFORM_TYPES:
            names = listed([type_.name for type_ in _UNIFORM_TYPES])
            remedy = "Convert the model with one of these types."
            site.refuse("the element type", name, names, remedy, TypeError)
        low = _bound(site, 1, "minval", values)
        high = _bound(site, 2, "maxval", values)
        known = {
            "minval": UNKNOWN if low is None else Known.array(low),
            "maxval": UNKNOWN if high is None else Known.array(high),
            "shape": UNKNOWN,
            "state": UNKNOWN,
        }
        attributes = {operators.OUTPUT_TYPE: values.name}
        checks.check_node(operators.RANDOM_UNIFORM, known, attributes)
        seeds = own_seeds(site.node) if keep_seeds else None
        if seeds is None:
            return cls(site, values, (low, high))
        _check_seeds(site, seeds)
        generator = generator_of(site.node)
        if generator.is_counter_based:
            return cls(site, values, (low, high), seeds)
        _check_runs_once(site)
        global_seed, _ = seeds
        return cls(site, values, (low, high), (global_seed, 0), generator)

    def draw(self) -> NewDraw:
        """The draw of the same numbers by RandomUniform."""
        node = self.site.node

        def make(emit: EmitDraw) -> ov.Output:
            low, high = self.bounds
            minval = node.input_value(1) if low is None else low
            maxval = node.input_value(2) if high is None else high
            type_ = self.values.name
            drawn = emit(factories.random_uniform, self.shape, minval, maxval, type_)
            return drawn.output(0)

        output = node.output(0)
        operator = operators.RANDOM_UNIFORM
        name = self.values.name
        return NewDraw(
            self.site,
            operator,
            name,
            output,
            make,
            seeds=self.seeds,
            generator=self.generator,
        )


def _check_seeds(site: Site, seeds: tuple[int, int]) -> None:
    for name, seed in zip(_SEEDS, seeds, strict=True):
        if not 0 <= seed <= operators.INT64_MAX:
            allowed = "an integer from 0 to 2^63-1, to be kept"
            site.refuse(name, seed, allowed, "Rewrite the model without keep_seeds.")


def _check_runs_once(site: Site) -> None:
    """Refuses torch's numbers of one seed where a node runs several times."""
    loops = [owner for owner in site.owners if owner.node.get_type_name() != "If"]
    loop = loops[0] if loops else None
    if loop is not None:
        allowed = (
            "outside of loops, where alignment 'pytorch' keeps a seed, since each iteration would "
            "draw the same numbers"
        )
        site.refuse("its place", loop.label, allowed, "Rewrite the model without keep_seeds.")


def _bound(
    site: Site,
    index: int,
    what: str,
    values: ElementType,
) -> NDArray[Any] | None:
    array = constant(site.node.input_value(index))
    if array is None:
        if values in _ONLY_CONSTANT:
            remedy = "Convert the model with constants there."
            allowed = f"a constant where the element type is {values.name}"
            site.refuse(
                f"input {what!r}",
                "one that the model computes",
                allowed,
                remedy,
            )
        return None
    if array.size != 1:
        allowed = "one number"
        site.refuse(
            f"input {what!r}",
            f"shape {list(array.shape)}",
            allowed,
            "Give it one number.",
        )
    scalar = array.reshape(())
    return scalar.astype(values.dtype)


def categorical(site: Site) -> NewDraw:
    """What a Multinomial becomes.

    Raises:
        ValueError: The number of its samples is not allowed, or constants leave a row no class.
    """
    node = site.node
    said = node.get_attributes()
    count = constant(node.input_value(1))
    if count is None or count.size != 1 or count.item() < 1:
        given = "one that the model computes" if count is None else count.tolist()
        allowed = "a constant of one number, 1 or more"
        remedy = "Convert the model with a constant number of samples."
        site.refuse("input 'num_samples'", given, allowed, remedy)
    samples = int(count.item())
    is_log = bool(said["log_probs"])
    replaces = bool(said["with_replacement"])
    output_type = str(said["convert_type"])
    weighed = dimensions(node.input_value(0)) or (None,)
    classes = weighed[-1]
    if not replaces and classes is not None and samples > classes:
        allowed = f"at most {classes}, the number of classes, where none is drawn twice"
        remedy = "Convert the model with fewer samples, or with replacement."
        site.refuse("input 'num_samples'", samples, allowed, remedy)

    _check_weights(node.input_value(0), is_log=is_log)

    def make(emit: EmitDraw) -> ov.Output:
        weights = node.input_value(0)
        if weights.get_element_type() not in (ov.Type.f32, ov.Type.f16):
            weights = opset8.convert(weights, "f32").output(0)
        logits = weights
        if not is_log:
            logits = opset8.log(weights).output(0)
        drawn = emit(factories.random_categorical, logits, samples, output_type, replaces)
        return drawn.output(0)

    doubt = _doubt_of_weights(node.input_value(0), is_log=is_log)
    operator = operators.RANDOM_CATEGORICAL
    return NewDraw(
        site,
        operator,
        output_type,
        node.output(0),
        make,
        doubt=doubt,
    )


def _check_weights(value: ov.Output, *, is_log: bool) -> None:
    """Refuses constant weights of which OpenVINO would refuse to load the logits."""
    array = constant(value)
    if array is None or array.ndim != 2:
        return
    logits = array.astype(np.float64)
    if not is_log:
        with np.errstate(divide="ignore", invalid="ignore"):
            logits = np.log(logits)
    operator = operators.RANDOM_CATEGORICAL
    check_logits(operator, "input 'logits'", Known(None, logits.shape, logits))


def _doubt_of_weights(value: ov.Output, *, is_log: bool) -> Doubt | None:
    """What says that weights of classes are not the logarithms, or the numbers, that they must be.

    None where nothing does.
    """
    while value.get_node().get_type_name() in _MOVES:
        value = value.get_node().input_value(0)
    kind = value.get_node().get_type_name()
    if not is_log:
        if kind not in _LOGARITHMS:
            return None
        return doubts.LOGARITHMS
    array = constant(value)
    are_probabilities = kind in GIVES_PROBABILITIES
    if array is not None:
        are_probabilities = doubts.sum_to_one(array)
    if not are_probabilities:
        return None
    return doubts.PROBABILITIES


def without_state(site: Site) -> NewDraw:
    """The very node of this package, once it reads the state; it keeps its seeds."""
    node = site.node
    output = node.output(0)
    operator = operators.OPERATORS[node.get_type_name()]

    def gain(state: ov.Output, **_: int) -> ov.Node:
        before = [i for i in operator.inputs if i.role is not operators.Role.STATE]
        arguments = node.input_values()[: len(before)]
        for left_out in before[len(arguments) :]:
            # An empty constant is an input left out.
            empty = np.empty(0, left_out.types[0].dtype)
            arguments.append(arrays.constant(empty).output(0))
        node.set_arguments([*arguments, state])
        return node

    def make(emit: EmitDraw) -> ov.Output:
        return emit(gain).output(0)

    output_type = arrays.name(output.get_element_type())
    return NewDraw(site, operator, output_type, output, make, seeds=own_seeds(node))


def awaiting(site: Site) -> NewDraw:
    """The same node of this package, with a state and a stream."""
    node = site.node
    operator = operators.OPERATORS[node.get_type_name()]
    said = node.get_attributes()
    names = [i.name for i in operator.inputs if i.role is not operators.Role.STATE]
    own = [a.name for a in operator.attributes if a.name not in _SEEDS]
    attributes = {name: said[name] for name in own if name in said}
    output = node.output(0)

    def make(emit: EmitDraw) -> ov.Output:
        # Not before: an input may be a draw that has been replaced by now.
        given = dict(zip(names, node.input_values(), strict=False))
        factory = getattr(factories, operator.function)
        made = emit(factory, **given, **attributes)
        for i in range(1, node.get_output_size() - 1):
            node.output(i).replace(made.output(i))
        return made.output(0)

    output_type = arrays.name(output.get_element_type())
    return NewDraw(site, operator, output_type, output, make)


def refuse_wide_bernoulli(site: Site) -> None:
    """Refuses a `torch.bernoulli` of f64 in an exported program.

    OpenVINO decomposes the program before converters see it, with a uniform of f32 there.
    """
    reader = only_reader(site.node.output(0))
    if reader is None:
        return
    convert, _ = reader
    if not _is_a(convert, "Convert") or convert.get_element_type() != ov.Type.f64:
        return
    compared = only_reader(convert.output(0))
    if compared is not None and _is_a(compared[0], "Less"):
        site.refuse(
            "what is compared with it, as in torch.bernoulli,",
            "one of f64",
            "of f32, f16 or bf16: OpenVINO draws f32 for it",
            "Cast the probabilities to torch.float32 first, or run the file of "
            "onnx_philox.torch.export in ONNX Runtime.",
            TypeError,
        )


def _is_a(node: ov.Node, kind: str) -> bool:
    return bool(node.get_type_name() == kind)
