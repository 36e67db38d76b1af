"""The rules for `alignment`: whose numbers a node draws, and so what its state is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnx_philox._contract import choices, generators, refusal
from onnx_philox._contract import sentences as say
from onnx_philox._contract.declaration import Operator
from onnx_philox._contract.inputs import ALIGNMENT
from onnx_philox._contract.known_input import Known
from onnx_philox._contract.shown import shape_of
from onnx_philox._contract.state import is_state_shape
from onnx_philox._contract.types import U32


def generator_of(attributes: Mapping[str, Any]) -> generators.Generator:
    """The generator by which a node of these attributes draws."""
    return generators.named(attributes.get(ALIGNMENT.name))


def check_state(
    op: Operator,
    what: str,
    known: Known,
    attributes: Mapping[str, Any],
) -> None:
    """Refuses a state of another shape, or of words that its generator never holds."""
    generator = generator_of(attributes)
    if known.shape is not None and not is_state_shape(known.shape, generator.words):
        remedy = generator.remedy
        if ALIGNMENT in op.attributes:
            remedy = generator.remedy_for(known.shape)
        refusal.refuse(op, what, shape_of(known.shape), generator.shape_rule, remedy)
    if known.value is not None:
        generator.check_words(op.name, known.value)


def check_state_type(
    op: Operator,
    what: str,
    known: Known,
    attributes: Mapping[str, Any],
) -> None:
    """Refuses the bytes of another library's state, which are no words of ours."""
    remedy = generator_of(attributes).of_bytes
    if remedy and known.type_name == "uint8":
        refusal.refuse(op, what, known.type_name, U32.name, remedy, TypeError)


def check_word(owner: str, given: Any) -> None:
    """Refuses what is no alignment."""
    choices.check_choice(owner, "alignment", given, ALIGNMENT.allowed, say.SET_TO_ONE)


def check_shape(
    op: Operator,
    what: str,
    known: Known,
    attributes: Mapping[str, Any],
) -> None:
    """Refuses permutations of so many integers that the generator draws them by another rule."""
    if op.draws_rows and known.value is not None:
        generator_of(attributes).check_integers(op, what, int(known.value[-1]))


def for_standard_nodes(generator: generators.Generator) -> str:
    """What `alignment` must be for standard nodes, which cannot draw these numbers."""
    return f"'tensorflow' for standard nodes, which draw no numbers of {generator.owner}'s"


def refuse_without_nodes(op: Operator, attributes: Mapping[str, Any]) -> None:
    """Refuses numbers that nodes of ONNX's own domain cannot draw."""
    generator = generator_of(attributes)
    if generator.is_named:
        what = say.ATTRIBUTE.format(repr(ALIGNMENT.name))
        given = repr(generator.alignment)
        allowed = for_standard_nodes(generator)
        remedy = "Keep the node: our runtimes draw it."
        refusal.refuse(op, what, given, allowed, remedy)
