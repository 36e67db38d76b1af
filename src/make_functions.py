"""Makes the Python functions of the operators from their declaration.

They are `onnx_philox.reference`, the builders of `onnx_philox.graphs` and the factories of
`onnx_philox.openvino`: signatures, docstrings, and calls of the one function that does the work.

python src/make_functions.py          writes the three files
python src/make_functions.py --check  exits with 1 if one is not what would be written
"""

from __future__ import annotations

import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from onnx_philox._contract import operators
from onnx_philox._contract.declaration import Role, listed
from onnx_philox._contract.types import ElementType

_PACKAGE = Path(__file__).parent / "onnx_philox"
_MARK = "# From here on made by src/make_functions.py from the declaration; do not edit.\n"
_WIDTH = 100
_ROWS = (
    "uint32, last dimension 6, all others 1, rank 1 to 8; or [B, 6], a state for each row of an "
    "output whose first dimension is B."
)

Argument = tuple[str, str, str | None, str]
"""A name, its type, its default, and what the docstring says of it."""


class _Module(ABC):
    """A module with a function for each operator."""

    path: str
    returns: str
    does: str
    """The function that does the work."""

    @abstractmethod
    def positional(self, op: operators.Operator) -> Iterator[Argument]:
        """The arguments that may be given without their names, in order."""

    @abstractmethod
    def named(self, op: operators.Operator) -> Iterator[Argument]:
        """The others, but for alignment, which is last: earlier releases had none."""

    @abstractmethod
    def summary(self, op: operators.Operator) -> str:
        """The first line of the docstring."""

    @abstractmethod
    def result(self, op: operators.Operator) -> str:
        """What the function returns."""

    def errors(self, op: operators.Operator) -> dict[str, str]:
        """What it raises, and why."""
        unseeded = ", or neither seed nor state" * op.inputs[-1].optional
        return {
            "TypeError": "An argument of a wrong type.",
            "ValueError": f"An argument out of its range{unseeded}.",
        }

    def example(self, op: operators.Operator) -> str:  # noqa: ARG002
        """Doctests."""
        return ""

    def returned(self, op: operators.Operator) -> str:  # noqa: ARG002
        """The type of what the function returns."""
        return self.returns

    @property
    def file(self) -> Path:
        """Where it is."""
        return _PACKAGE / self.path

    def text(self) -> str:
        """The whole file: what stands before the mark stays as it is."""
        head, mark, _ = self.file.read_text().partition(_MARK)
        names = sorted(op.function for op in operators.OPERATORS.values())
        quoted = ", ".join(f'"{name}"' for name in names)
        lines = []
        sign = "="
        for row in textwrap.wrap(quoted, _WIDTH - 15):
            listed_names = row.rstrip(",")
            lines.append(f"__all__ {sign} [{listed_names}]")
            sign = "+="
        for op in operators.OPERATORS.values():
            lines += ["", "", *self._function(op)]
        functions = "\n".join([*lines, ""])
        return head + mark + functions

    def _function(self, op: operators.Operator) -> Iterator[str]:
        # Arguments without a default come first.
        arguments = self.positional(op)
        positional = sorted(arguments, key=lambda argument: argument[2] is not None)
        named = list(self.named(op))
        if operators.ALIGNMENT in op.attributes:
            named.append(_attribute(operators.ALIGNMENT))
        every = [*positional, *named]
        yield f"def {op.function}("
        for i, (name, type_, default, _) in enumerate(every):
            if i == len(positional):
                yield "    *,"
            preset = "" if default is None else f" = {default}"
            yield f"    {name}: {type_}{preset},"
        yield f") -> {self.returned(op)}:"
        yield f'    """{self.summary(op)}'
        yield ""
        yield f'    The rule: docs/specification.md, "{op.rule}".'
        yield ""
        yield "    Args:"
        for name, _, _, doc in every:
            yield from _wrapped(f"{name}: {doc}")
        yield ""
        yield "    Returns:"
        yield from _wrapped(self.result(op), hanging=False)
        yield from ("", "    Raises:")
        for error, why in self.errors(op).items():
            yield from _wrapped(f"{error}: {why}")
        example = self.example(op)
        if example:
            indented = textwrap.indent(example.strip("\n"), "        ")
            yield from ("", "    Examples:", indented)
        yield '    """'
        # The arguments by their names: nothing else is local.
        yield f"    return {self.does}(operators.{op.function.upper()}, locals())"


def _wrapped(text: str, *, hanging: bool = True) -> list[str]:
    """A paragraph of a docstring."""
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=" " * 8,
        subsequent_indent=" " * (12 if hanging else 8),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _attributes(op: operators.Operator) -> list[operators.Attribute]:
    """The attributes that a user chooses; one with a single value is none of them."""
    return [a for a in op.attributes if len(a.allowed) != 1]


def _own(op: operators.Operator) -> list[operators.Attribute]:
    by_name = (*operators.SEEDS, operators.ALIGNMENT)
    return [attribute for attribute in _attributes(op) if attribute not in by_name]


def _attribute(a: operators.Attribute) -> Argument:
    if a.is_flag:
        default = str(bool(a.default))
        return a.name, "bool", default, a.doc
    doc = a.doc
    default = None
    if a.default is not None:
        default = str(a.default)
        if a.allowed:
            default = f'"{default}"'
    if a.name == operators.OUTPUT_TYPE:
        doc += f" One of {', '.join(a.allowed)}."
    elif len(a.allowed) > 1:
        doc += f" One of {listed(a.allowed)}."
    elif a.allowed:
        doc += f" Only {a.allowed[0]}."
    else:
        most = " to 2^63-1" if a in operators.SEEDS else " or more"
        sentence = doc.removesuffix(".")
        doc = f"{sentence}; {a.minimum}{most}."
    return a.name, a.type.__name__, default, doc


def _types(i: operators.Input) -> str:
    return listed([t.name for t in i.types])


def _is_like(op: operators.Operator, i: operators.Input) -> bool:
    """Whether all but the first sentence of an input's text is that of the one before."""
    kinds = []
    for each in op.parameters:
        rule = each.numbers and each.numbers.rule
        kinds.append((each.role, each.types, each.optional, rule))
    index = op.parameters.index(i)
    return index > 0 and kinds[index] == kinds[index - 1]


def _sentence(i: operators.Input, node: str = "") -> str:
    """What a parameter may be: a node of a runtime, or a number or an array."""
    if i.role in (Role.LOGITS, Role.DATA):
        array = f"an array of {_types(i)}"
        return f"{i.brief} {_one_of(node, array)}."
    assert i.numbers is not None, "for its role"
    if not i.types:
        array = f"{i.numbers.rule}, or an array of one element and of the output's type"
        return f"{i.brief} {_one_of(node, array)}."
    many = ""
    if i.role is Role.NUMBERS:
        many = " for all values, or an array of exactly that shape"
    if i.role is Role.ROW_NUMBERS:
        many = " for all rows, or 1-D with one for each row"
    if node:
        node = f"{_one_of(node, 'what NumPy holds')}. "
    return (
        f"{i.brief[:-1]}: {i.numbers.rule}. {node}A Python number is {i.types[0].name}. A NumPy "
        f"number or array is {_types(i)}, as it is: one element (rank 0 or 1){many}."
    )


def _one_of(node: str, array: str) -> str:
    if node:
        return f"{node}, or {array}"
    return array[0].upper() + array[1:]


def _left_out(i: operators.Input) -> str:
    if i.optional:
        return " None leaves it out."
    return ""


class _Reference(_Module):
    """`onnx_philox.reference`: the operators in NumPy."""

    path = "reference.py"
    returns = ""
    does = "_run"

    def summary(self, op: operators.Operator) -> str:
        return f"Draws {op.draws}{op.like}."

    def positional(self, op: operators.Operator) -> Iterator[Argument]:
        for i in op.inputs:
            if not (i.role is Role.STATE and i.optional):
                yield self._input(op, i)
        yield from (_attribute(a) for a in _own(op))

    def named(self, op: operators.Operator) -> Iterator[Argument]:
        for attribute in op.attributes:
            if len(attribute.allowed) == 1 or attribute in operators.SEEDS:
                yield _attribute(attribute)
        for i in op.inputs:
            if i.role is Role.STATE and i.optional:
                yield self._input(op, i)

    def _input(self, op: operators.Operator, i: operators.Input) -> Argument:
        match i.role:
            case Role.STATE if i.optional:
                doc = f"{_ROWS} None is a state of zeros."
                return i.name, "NDArray[np.uint32] | None", "None", doc
            case Role.STATE:
                return i.name, "NDArray[np.uint32]", None, _ROWS
            case Role.SHAPE:
                doc = "The dimensions of the output, 0 to 8 of them; none mean a scalar."
                if op.draws_rows:
                    doc = "The dimensions of the output: [n], or [m, n] for m permutations."
                return i.name, "Shape", None, doc
        if _is_like(op, i):
            doc = f"{i.brief} Likewise."
        else:
            doc = _sentence(i) + _left_out(i)
        if i.optional:
            return i.name, "ArrayLike | None", "None", doc
        return i.name, "ArrayLike", None, doc

    def result(self, op: operators.Operator) -> str:
        what = []
        for index, output in enumerate(op.outputs[:-1]):
            what.append(f"the {output.name}{_type_in_numpy(op, index)}")
        first, *others = what
        listed = ", ".join([first.capitalize(), *others])
        return f"{listed}, and the next state, of the state's shape."

    def errors(self, op: operators.Operator) -> dict[str, str]:
        unseeded = ""
        if op.inputs[-1].optional:
            unseeded = ", no state with both seeds 0"
        return {
            "TypeError": "An input of a wrong type.",
            "ValueError": f"A wrong shape or value{unseeded}, or an output that memory cannot "
            "hold.",
        }

    def example(self, op: operators.Operator) -> str:
        return op.example

    def returned(self, op: operators.Operator) -> str:
        types = []
        for output in op.outputs:
            types.append("NDArray[np.uint32]" if output.is_state else "NDArray[Any]")
        return f"tuple[{', '.join(types)}]"


def _type_in_numpy(op: operators.Operator, index: int) -> str:
    """What a docstring adds to the name of an output."""
    output = op.outputs[index]
    shape = _size_rule(op)
    if output.type is not None:
        return f"{shape} ({output.type.dtype})"
    if any(t.name == "bf16" for t in op.output_types):
        return f"{shape} (bf16 as `ml_dtypes.bfloat16`)"
    return shape


def _size_rule(op: operators.Operator) -> str:
    if not op.size_rule:
        return ""
    return f" [{op.size_rule}]"


class _Graphs(_Module):
    """`onnx_philox.graphs`: builders of ONNX models."""

    path = "graphs.py"
    returns = "onnx.ModelProto"
    does = "build"

    def summary(self, op: operators.Operator) -> str:
        return f"Builds a model that draws {op.draws}."

    def positional(self, op: operators.Operator) -> Iterator[Argument]:
        for i in op.inputs:
            if i.role is not Role.STATE:
                yield self._input(op, i)
        yield from (_attribute(a) for a in _own(op))

    def _input(self, op: operators.Operator, i: operators.Input) -> Argument:
        if i.role is Role.SHAPE:
            which = ", [n] or [m, n]" if op.draws_rows else ", 0 to 8 of them"
            doc = (
                f"The dimensions of the output{which}. None makes them the int64 graph input "
                '"shape", of length `rank`.'
            )
            return i.name, "Shape", None, doc
        # What gives the size may come first, and then has a default if all after it have one.
        others = [other for other in op.parameters if other is not i]
        is_alone = i is op.size_input and all(other.optional for other in others)
        is_alone = is_alone and all(a.default is not None for a in _own(op))
        default = "None" if i.optional or is_alone else None
        if i.optional:
            doc = _sentence(i) + _left_out(i)
            return i.name, "Any", default, doc
        if _is_like(op, i):
            return i.name, "Any", default, f'{i.brief} Likewise, "{i.name}".'
        none = f' None makes it the graph input "{i.name}"'
        none += "." if i.types else ", a scalar."
        if i.role is Role.DATA:
            none = f"{none[:-1]}, of `rank` dimensions."
        return i.name, "Any", default, _sentence(i) + none

    def named(self, op: operators.Operator) -> Iterator[Argument]:
        for i in op.parameters:
            if len(i.types) > 1:
                doc = f"The type of that graph input, or of a Python number, {_types(i)}."
                yield f"{i.name}_type", "str", f'"{i.types[0].name}"', doc
        if any(i.role is Role.NUMBERS for i in op.parameters):
            doc = (
                "Whether that graph input is of the output's shape, a number for each element, "
                "rather than a scalar."
            )
            yield "per_element", "bool", "False", doc
        if any(i.optional for i in op.parameters):
            doc = (
                "The names of the inputs that may be left out and are graph inputs instead: 1-D, "
                "of one number, or one for each row."
            )
            yield "inputs", "Sequence[str]", "()", doc
        yield from (_attribute(seed) for seed in operators.SEEDS)
        if op.inputs[-1].optional:
            doc = (
                'Whether the model has the graph input "state" (uint32[6]) and the output '
                '"next_state". Without it one of the seeds must not be 0.'
            )
            yield "stateful", "bool", "False", doc
        if op.has_shape or op.size_input.role is Role.DATA:
            doc = f"How many dimensions, where `{op.size_input.name}` is None."
            yield "rank", "int | None", "None", doc
        doc = (
            'Whether each row of the output has a state of its own: the graph input "state" is '
            'uint32[batch, 6], and so is "next_state".'
        )
        if op.has_shape:
            doc += (
                " The first entry of `shape` is the number of rows; None there, or `shape` None, "
                "leaves it to the run."
            )
        yield "per_row", "bool", "False", doc

    def result(self, op: operators.Operator) -> str:
        outputs = []
        for output in op.outputs[:-1]:
            outputs.append(f'"{output.name}"{_type_in_onnx(op, output.type)}')
        if op.inputs[-1].optional:
            noun = "outputs" if len(outputs) > 1 else "output"
            named = f"{noun} {', '.join(outputs)}"
            return f"A model with the {named}, and {_NEXT} if stateful or by rows."
        named = f"{', '.join(outputs)} and {_NEXT}"
        return f'A model with the graph input "state" (uint32[6]); its outputs are {named}.'


_NEXT = '"next_state"'


def _type_in_onnx(op: operators.Operator, type_: ElementType | None) -> str:
    shape = _size_rule(op)
    if type_ is None:
        return shape
    return f"{shape} ({type_.dtype})"


class _Factories(_Module):
    """`onnx_philox.openvino`: factories of nodes."""

    path = "openvino/_factories.py"
    returns = "ov.Node"
    does = "make"
    _STATE = (
        "A node or output, a uint32 array, or a `PhiloxState`; last dimension 6, all others 1, "
        "rank 1 to 8; or [B, 6], a state for each row of an output whose first dimension is B."
    )

    def summary(self, op: operators.Operator) -> str:
        return f"Makes a node that draws {op.draws}."

    def positional(self, op: operators.Operator) -> Iterator[Argument]:
        for i in op.inputs:
            if not (i.role is Role.STATE and i.optional):
                yield self._input(op, i)
        for attribute in _attributes(op):
            if attribute is not operators.ALIGNMENT:
                yield _attribute(attribute)
        for i in op.inputs:
            if i.role is Role.STATE and i.optional:
                yield self._input(op, i)

    def _input(self, op: operators.Operator, i: operators.Input) -> Argument:
        match i.role:
            case Role.STATE if i.optional:
                doc = f"{self._STATE} Without it one of the seeds must not be 0."
                return i.name, "Any", "None", doc
            case Role.STATE:
                return i.name, "Any", None, self._STATE
            case Role.SHAPE:
                doc = "A node or output of type i64 or i32, 1-D; or a sequence of ints."
                return i.name, "Any", None, doc
        default = "None" if i.optional else None
        if _is_like(op, i):
            return i.name, "Any", default, f"{i.brief} Likewise."
        types = [t.name for t in i.types or op.output_types]
        type_ = f"type {_types(i)}" if i.types else "the output's type"
        node = f"A node or output of {type_}"
        if i.role is Role.ROW_NUMBERS:
            # What is not constant arrives whole, up to 2^31-1.
            types = []
        constant = listed([t for t in types if t in ("f64", "i64")])
        small = "" if i.role is Role.NUMBER else " of at most 4096 elements"
        rule = ""
        if constant:
            rule = f" It must be a constant{small} if the type is {constant}."
        if i.role is Role.DATA:
            rule = " Data of f64 reach it in f32, in which OpenVINO's CPU plugin computes them."
        doc = _sentence(i, node) + rule + _left_out(i)
        return i.name, "Any", default, doc

    def named(self, op: operators.Operator) -> Iterator[Argument]:  # noqa: ARG002
        yield "name", "str | None", "None", "The node's friendly name."

    def result(self, op: operators.Operator) -> str:
        outputs = []
        for output in op.outputs[:-1]:
            of_type = f" ({output.type.name})" if output.type else ""
            outputs.append(f"{output.name}{_size_rule(op)}{of_type}")

        return f"A node with the outputs {', '.join(outputs)} and next state (u32)."


MODULES: tuple[_Module, ...] = (_Reference(), _Graphs(), _Factories())

if __name__ == "__main__":
    for module in MODULES:
        if sys.argv[1:] != ["--check"]:
            module.file.write_text(module.text())
        elif module.file.read_text() != module.text():
            problem = f"{module.path} is not what the declaration says"
            sys.exit(f"{problem}: run {Path(__file__).name}")
