"""Makes the C++ table of the operators from their declaration in Python.

python custom_ops/core/make_operators.py          writes operators_table.h beside this file
python custom_ops/core/make_operators.py --check  exits with 1 if it is not what would be written
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from onnx_philox._contract import operators
from onnx_philox._contract.operators import Attribute, Input, Operator, Output
from onnx_philox._contract.types import U32, ElementType

_HEADER = Path(__file__).with_name("operators_table.h")
_HEAD = f"""\
// The operators, as src/onnx_philox/_contract/operators.py declares them. For the structures see
// declaration.h.
// Made by custom_ops/core/{Path(__file__).name}; do not edit.
#pragma once

#include "declaration.h"
#include "state.h"

namespace onnx_philox {{
"""


def table() -> str:
    """The whole file."""
    declared = list(operators.OPERATORS.values())
    foreign = ", ".join(f'"{name}"' for name in operators.FOREIGN_ATTRIBUTES)
    parts = [
        _HEAD,
        f'inline constexpr char kDomain[] = "{operators.DOMAIN}";',
        f"inline constexpr int kOpsetVersion = {operators.OPSET_VERSION};",
        f"inline constexpr int kMaxRank = {operators.MAX_RANK};",
        f"inline constexpr int kMaxInputs = {max(len(op.inputs) for op in declared)};",
        f"inline constexpr unsigned kUlpAboveOne = {operators.ULP_ABOVE_ONE};",
        f'static_assert(kStateWords == {operators.STATE_WORDS}, "as the declaration says");',
        "",
        "// What refusals say is allowed.",
        *_text("kStateShapeRule", operators.STATE_SHAPE_RULE),
        f'inline constexpr char kStateRowsRule[] = "{operators.STATE_ROWS_RULE}";',
        f'inline constexpr char kRankRule[] = "{operators.RANK_RULE.format(operators.MAX_RANK)}";',
        f'inline constexpr char kProbabilityRule[] = "{operators.PROBABILITY_RULE}";',
        "",
        "/// Attributes of ONNX's own random operators, given to one of ours by mistake.",
        f"inline constexpr const char* kForeignAttributes[] = {{{foreign}}};",
        "",
        "namespace table {",
        "",
        *_type_lists(declared),
        "}  // namespace table",
        "",
        *(_operator(op) for op in declared),
        f"inline constexpr int kOperators = {len(declared)};",
        "inline constexpr const Operator* kAllOperators[kOperators] = {",
        *(f"    &k{op.name}," for op in declared),
        "};",
        "",
        "}  // namespace onnx_philox",
        "",
    ]
    return "\n".join(parts)


def _text(name: str, text: str) -> list[str]:
    """A long text, on a line of its own."""
    return [f"inline constexpr char {name}[] =", f'    "{text}";']


def _type_lists(declared: list[Operator]) -> list[str]:
    """The arrays that the structures point to, each once."""
    inputs = {i.types for op in declared for i in op.inputs if i.types}
    lines = []
    for types in sorted(inputs, key=_list_name):
        values = _braces(_element_type(t) for t in types)
        lines.append(f"inline constexpr ElementType {_list_name(types)}[] = {values};")
    return [*lines, ""]


def _operator(op: Operator) -> str:
    """The structure of an operator, what it points to, and its documentation."""
    name = f"k{op.name}"
    arrays = [
        *_texts(op),
        f"inline constexpr InputDeclaration {name}Inputs[] = {{",
        *(f"    {_input(i)}," for i in op.inputs),
        "};",
        f"inline constexpr OutputDeclaration {name}Outputs[] = {{",
        *(f"    {_output(o)}," for o in op.outputs),
        "};",
        f"inline constexpr AttributeDeclaration {name}Attributes[] = {{",
        *(f"    {_attribute(op, a)}," for a in op.attributes),
        "};",
    ]
    structure = [
        f"inline constexpr Operator {name} = {{",
        f'    "{op.name}",',
        f"    Distribution::k{op.distribution.value.capitalize()},",
        f"    {len(op.inputs)},",
        f"    table::{name}Inputs,",
        f"    {len(op.outputs)},",
        f"    table::{name}Outputs,",
        f"    {len(op.attributes)},",
        f"    table::{name}Attributes,",
        f'    "{op.size_source}",',
        f'    "{op.input_names}",',
        f'    "{op.attribute_names}",',
        "};",
    ]
    lines = ["namespace table {", *arrays, "}  // namespace table", "", *_doc(op), *structure, ""]
    return "\n".join(lines)


def _doc(op: Operator) -> list[str]:
    def described(names: list[str]) -> str:
        return ", ".join(f"{i} {name}" for i, name in enumerate(names)) + "."

    by_attribute = f"as {operators.OUTPUT_TYPE} says"
    inputs = [
        f"`{i.name}`{' (optional)' * i.optional} {operators.type_names(i.types) or by_attribute}"
        for i in op.inputs
    ]
    outputs = [
        f"`{o.name}`{' (optional)' * o.optional} {o.type.name if o.type else by_attribute}"
        for o in op.outputs
    ]
    paragraphs = [
        f"{op.name}: {op.doc}",
        f"Inputs: {described(inputs)}",
        f"Outputs: {described(outputs)}",
        f"Attributes: {op.attribute_names}.",
    ]
    return [
        f"/// {line}"
        for text in paragraphs
        for line in textwrap.wrap(text, 116, break_on_hyphens=False)
    ]


def _texts(op: Operator) -> list[str]:
    """The values of attributes that are texts, and the types that they name."""
    lines = []
    for a in op.attributes:
        if not a.allowed:
            continue
        name = f"k{op.name}{_camel(a.name)}"
        texts = _braces(f'"{text}"' for text in a.allowed)
        lines.append(f"inline constexpr const char* {name}[] = {texts};")
        if a.name == operators.OUTPUT_TYPE:
            types = _braces(_output_type(t) for t in op.output_types)
            lines.append(f"inline constexpr OutputType {name}s[] = {types};")
    return lines


def _input(i: Input) -> str:
    role = f"Role::k{i.role.value.capitalize()}"
    types = f"{{{len(i.types)}, {_list_name(i.types)}}}" if i.types else "{0, nullptr}"
    names = f'"{operators.type_names(i.types)}"' if i.types else "nullptr"
    return f'{{"{i.name}", {role}, {_bool(i.optional)}, {types}, {names}}}'


def _output(o: Output) -> str:
    type_ = _output_type(o.type) if o.type else "OutputType::kBits"
    has_type, optional, is_state = _bool(o.type is not None), _bool(o.optional), _bool(o.is_state)
    return f'{{"{o.name}", {optional}, {is_state}, {has_type}, {type_}}}'


def _attribute(op: Operator, a: Attribute) -> str:
    texts = types = text_default = "nullptr"
    default = 0
    if a.allowed:
        texts = f"k{op.name}{_camel(a.name)}"
        types = f"{texts}s" if a.name == operators.OUTPUT_TYPE else "nullptr"
        text_default = f'"{a.default}"' if a.default is not None else "nullptr"
    else:
        assert isinstance(a.default, int), "the C++ checks know no required integer"
        default = a.default
    role = f"AttributeRole::k{_camel(a.name)}"
    is_seed = _bool(a in operators.SEEDS)
    return (
        f'{{"{a.name}", {role}, {is_seed}, {text_default}, {len(a.allowed)}, {texts}, {types}, '
        f'{default}, {a.minimum}, "{a.rule}"}}'
    )


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _cpp_name(type_: ElementType) -> str:
    return "k" + (type_.name.capitalize() if type_.name == "bool" else type_.name.upper())


def _element_type(type_: ElementType) -> str:
    return f"ElementType::{_cpp_name(type_)}"


def _output_type(type_: ElementType) -> str:
    """The core draws words, not numbers, where an operator says u32."""
    return "OutputType::kBits" if type_ is U32 else f"OutputType::{_cpp_name(type_)}"


def _list_name(types: tuple[ElementType, ...]) -> str:
    return "".join(("k", *(_cpp_name(t)[1:] for t in types)))


def _braces(items: Iterable[str]) -> str:
    return "{" + ", ".join(items) + "}"


def _bool(value: bool) -> str:
    return str(value).lower()


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if _HEADER.read_text() != table():
            sys.exit(f"{_HEADER.name} is not what the declaration says: run {Path(__file__).name}")
    else:
        _HEADER.write_text(table())
