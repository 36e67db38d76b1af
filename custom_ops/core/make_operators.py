"""Makes the C++ tables of the operators from their declaration in Python.

python custom_ops/core/make_operators.py          writes the tables and the words
python custom_ops/core/make_operators.py --check  exits with 1 if one is not what would be written

They are `operators_table.h` and `sentences.h`, `kernels/declared_names.h` for the kernels, and
`plugin_names.h` for OpenVINO's plugin.
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import numpy as np

from onnx_philox._contract import (
    attribute_names,
    memory,
    openvino_plugin,
    operators,
    sentences,
)
from onnx_philox._contract.operators import Attribute, Input, Operator, Output
from onnx_philox._contract.types import BF16, F16, F32, F64, I32, I64, U32, ElementType
from onnx_philox._torch import torch_sentences as torch_says
from onnx_philox._torch.generator import GENERATOR as TORCH
from onnx_philox._torch.generator import MOST_INTEGERS

_NAMES = f"""\
// What the declaration of the operators names, in src/onnx_philox/_contract/operators.py.
// Made by custom_ops/core/{Path(__file__).name}; do not edit.
//
// Included by the per-instruction-set files: see philox.h.
#pragma once

namespace onnx_philox {{
"""
_HEAD = f"""\
// The operators, as src/onnx_philox/_contract/operators.py declares them. For the structures see
// declaration.h.
// Made by custom_ops/core/{Path(__file__).name}; do not edit.
#pragma once

#include "declaration.h"
#include "state.h"

namespace onnx_philox {{
"""


_SENTENCES = f"""\
// The words of refusals, in src/onnx_philox: _contract/sentences.py, _torch/torch_sentences.py.
// `Worded` fills in {{0}}.
// Made by custom_ops/core/{Path(__file__).name}; do not edit.
#pragma once

namespace onnx_philox {{
namespace say {{
"""
_PLUGIN = f"""\
// What OpenVINO's plugin has names for, in src/onnx_philox/_contract/openvino_plugin.py.
// Made by custom_ops/core/{Path(__file__).name}; do not edit.
#pragma once

#include <cstddef>

#include "kinds.h"

namespace onnx_philox {{
"""
_FORM_FIELDS = ["what", "given", "allowed", "remedy"]


def words() -> str:
    """The whole file of words."""
    lines = [_SENTENCES]
    for name, text in (_constants(sentences) | _constants(torch_says)).items():
        lines += _literal(name, _numbered(text))
    return "\n".join([*lines, "", "}  // namespace say", "}  // namespace onnx_philox", ""])


def _constants(module: ModuleType) -> dict[str, Any]:
    """The constants of a module by their names in C++."""
    return {f"k{_camel(n.lower())}": value for n, value in vars(module).items() if n.isupper()}


def _numbered(form: str) -> str:
    """A form whose fields are numbers: those of a refusal in their order, others as they come."""
    fields = list(_FORM_FIELDS) if form == sentences.FORM else []
    text = ""
    for before, field, *_ in Formatter().parse(form):
        text += before
        if field == "":
            fields.append(field)
        if field is not None:
            text += f"{{{fields.index(field) if field else len(fields) - 1}}}"
    return text


def _literal(name: str, text: str) -> list[str]:
    line = f"inline constexpr char {name}[] = {json.dumps(text)};"
    if len(line) <= 120:
        return [line]
    parts = textwrap.wrap(text, 110, drop_whitespace=False, break_on_hyphens=False)
    return [
        f"inline constexpr char {name}[] =",
        *(f"    {json.dumps(part)}" for part in parts[:-1]),
        f"    {json.dumps(parts[-1])};",
    ]


def plugin_names() -> str:
    """The whole file of what OpenVINO's plugin has names for."""
    constants = _constants(openvino_plugin)
    types = {value: name for name, value in constants.items() if _are_types(value)}
    past = openvino_plugin.Past
    lines = [
        _PLUGIN,
        *(f"/// {line}".rstrip() for line in (inspect.getdoc(past) or "").splitlines()),
        "enum class Past : unsigned {",
        *(f"  k{_camel(flag.name.lower())} = {flag.value}," for flag in past if flag.name),
        "};",
        "",
    ]
    for name, value in constants.items():
        if isinstance(value, str):
            lines.append(f'inline constexpr char {name}[] = "{value}";')
        elif isinstance(value, int):
            lines.append(f"inline constexpr std::size_t {name} = {value};")
        elif isinstance(value, dict):
            # In the order of their names, as messages list them.
            rows = (
                f'    {{"{n}", "{e.inputs}", {types[e.types]}}},' for n, e in sorted(value.items())
            )
            lines += [f"inline constexpr ExactNode {name}[] = {{", *rows, "};"]
        elif value in types:
            members = _braces(f"ov::element::Type_t::{member}" for member in value)
            lines += _wrapped(f"inline constexpr ov::element::Type_t {name}[] = ", members)
        else:
            members = _braces(f'"{member}"' for member in value)
            lines += _wrapped(f"inline constexpr const char* {name}[] = ", members)
    return "\n".join([*lines, "", "}  // namespace onnx_philox", ""])


def _are_types(value: object) -> bool:
    return isinstance(value, tuple) and value[0].islower()


def _wrapped(before: str, braces: str) -> list[str]:
    if len(before + braces) < 120:
        return [f"{before}{braces};"]
    return [
        f"{before}{{",
        *textwrap.wrap(braces[1:-1], 115, initial_indent="    ", subsequent_indent="    "),
        "};",
    ]


def names() -> str:
    """The whole file of enumerations."""
    declared = list(operators.OPERATORS.values())
    return "\n".join(
        [
            _NAMES,
            *_enumeration(
                "Distribution",
                "How words become elements. Random bits are a uniform draw of kBits.",
                (op.distribution for op in declared),
            ),
            *_enumeration(
                "Parameter",
                "The inputs that say what is drawn.",
                (i.name for op in declared for i in op.parameters),
            ),
            *_enumeration(
                "Role",
                "What an input means, and so which check applies to it.",
                (i.role.value for op in declared for i in op.inputs),
            ),
            *_enumeration(
                "AttributeRole",
                "Which attribute it is, and so what its value is for.",
                (a.name for op in declared for a in op.attributes),
            ),
            "}  // namespace onnx_philox",
            "",
        ]
    )


def _enumeration(name: str, doc: str, given: Iterable[str]) -> list[str]:
    members = [f"k{_camel(member)}" for member in dict.fromkeys(given)]
    return [
        f"/// {doc}",
        f"enum class {name} {_braces(members)};",
        f"constexpr int k{name}s = {len(members)};",
        "",
    ]


def table() -> str:
    """The whole file of declarations."""
    declared = list(operators.OPERATORS.values())
    parts = [
        _HEAD,
        f'inline constexpr char kDomain[] = "{operators.DOMAIN}";',
        f"inline constexpr int kOpsetVersion = {operators.OPSET_VERSION};",
        f"inline constexpr int kMaxRank = {operators.MAX_RANK};",
        f"inline constexpr std::uint64_t kAlwaysThere = {memory.ALWAYS_THERE};",
        f"inline constexpr int kMaxInputs = {max(len(op.inputs) for op in declared)};",
        f"inline constexpr int kTorchStateWords = {TORCH.words};",
        f"inline constexpr double kLeastTorchExponent = {TORCH.least_exponent};",
        f"inline constexpr std::int64_t kLargeTorchPermutation = {MOST_INTEGERS};",
        f'static_assert(kStateWords == {operators.STATE_WORDS}, "as the declaration says");',
        "",
        "// What refusals say is allowed.",
        *_text("kStateShapeRule", operators.STATE_SHAPE_RULE),
        *_text("kTorchStateShapeRule", TORCH.shape_rule),
        f'inline constexpr char kStateRowsRule[] = "{operators.STATE_ROWS_RULE}";',
        f'inline constexpr char kRankRule[] = "{operators.RANK_RULE.format(operators.MAX_RANK)}";',
        "",
        "/// Those of all operators, and of ONNX's random ones.",
        "inline constexpr AttributeName kAttributeNames[] = {",
        *_attribute_names(declared),
        "};",
        "",
        "namespace table {",
        "",
        *_type_lists(declared),
        *_limit_lists(declared),
        *_text_lists(declared),
        *(
            f"inline constexpr AttributeDeclaration {name} = {row};"
            for row, name in _attribute_rows(declared).items()
        ),
        "",
        *(line for op in declared for line in _arrays(op)),
        "",
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


_BY_OUTPUT_TYPE = [None, F32, F16, BF16, F64, I32, I64, None]
"""The element types of numbers, as output.h orders OutputType."""


def _limit_lists(declared: list[Operator]) -> list[str]:
    """The limits of inputs, each once, by the type of the numbers."""
    lines = []
    for each, name in _limits_names(declared).items():
        values = (f"{{0x{least:x}u, 0x{greatest:x}u}}" for least, greatest in each)
        lines.append(f"inline constexpr Limits {name}[kOutputTypes] = {_braces(values)};")
    return [*lines, ""]


def _limits(op: Operator, i: Input) -> tuple[tuple[int, ...], ...]:
    """The least and the greatest of an input's numbers in each type, in order."""
    assert i.numbers is not None
    types = i.types or op.output_types
    return tuple(
        (0, 0)
        if t is None or t not in types
        else tuple(_in_order(limit, t) for limit in i.numbers.limits(t))
        for t in _BY_OUTPUT_TYPE
    )


def _limits_names(declared: Iterable[Operator]) -> dict[tuple[tuple[int, ...], ...], str]:
    limits = (_limits(op, i) for op in declared for i in op.inputs if i.numbers is not None)
    return {each: f"kLimits{i}" for i, each in enumerate(dict.fromkeys(limits))}


def _in_order(number: np.generic, type_: ElementType) -> int:
    """A number as an unsigned integer, in the order of numbers: see `InOrder` in values.h."""
    bits = int.from_bytes(number.tobytes(), "little")
    sign = 1 << (8 * type_.dtype.itemsize - 1)
    if not type_.is_float:
        return bits ^ sign
    if number == 0:
        # -0 is 0.
        return sign - 1
    return 2 * sign - 1 - bits if bits & sign else bits | sign


def _attribute_names(declared: Iterable[Operator]) -> list[str]:
    """Every name, and the attribute that it is mistaken for: the same one in each operator."""
    lines = []
    for name in attribute_names.KNOWN:
        likes = {attribute_names.nearest(op, name) for op in declared} - {name, None}
        assert len(likes) <= 1, "the table has room for one"
        lines.append(f'    {{"{name}", {_quoted(next(iter(likes), None))}}},')
    return lines


def _text_lists(declared: Iterable[Operator]) -> list[str]:
    """The values of attributes that are texts, and the types that they name, each once."""
    lines = {}
    for op in declared:
        for a in op.attributes:
            name = _texts_name(a)
            if a.allowed:
                texts = _braces(map(_quoted, a.allowed))
                lines[name] = f"inline constexpr const char* {name}[] = {texts};"
            if a.name == operators.OUTPUT_TYPE:
                types = _braces(_output_type(t) for t in op.output_types)
                lines[f"{name}s"] = f"inline constexpr OutputType {name}s[] = {types};"
    return [*lines.values(), ""]


def _texts_name(a: Attribute) -> str:
    return "".join((f"k{_camel(a.name)}", *map(_camel, a.allowed)))


def _attribute_rows(declared: Iterable[Operator]) -> dict[str, str]:
    """The attributes, each once, and their names."""
    rows = dict.fromkeys(_attribute(a) for op in declared for a in op.attributes)
    return {row: f"kAttribute{i}" for i, row in enumerate(rows)}


def _arrays(op: Operator) -> list[str]:
    """What the structure of an operator points to."""
    name = f"k{op.name}"
    rows = _attribute_rows(operators.OPERATORS.values())
    attributes = _braces(rows[_attribute(a)] for a in op.attributes)
    return [
        f"inline constexpr InputDeclaration {name}Inputs[] = {{",
        *(f"    {_input(op, i)}," for i in op.inputs),
        "};",
        f"inline constexpr AttributeDeclaration {name}Attributes[] = {attributes};",
    ]


def _operator(op: Operator) -> str:
    """The structure of an operator, and its documentation."""
    name = f"k{op.name}"
    lines = [
        *(f"/// {line}" for line in textwrap.wrap(op.doc, 116, break_on_hyphens=False)),
        f"inline constexpr Operator {name} = {{",
        f'    "{op.name}", Distribution::k{_camel(op.distribution)}, {_words(op)},',
        f"    {len(op.inputs)}, table::{name}Inputs,",
        f"    {len(op.outputs)}, {{{', '.join(_output(op, o) for o in op.outputs)}}},",
        f"    {len(op.attributes)}, table::{name}Attributes,",
        f'    {_bool(op.draws_rows)}, "{op.size_source}",',
        f'    "{op.input_names}",',
        f'    "{op.attribute_names}",',
        "};",
        "",
    ]
    return "\n".join(lines)


def _words(op: Operator) -> str:
    """How many words an element takes: a number, or by which input; else by the output's type."""
    by = -1
    if op.words.each is None and op.words.by != operators.OUTPUT_TYPE:
        by = op.inputs.index(op.input(op.words.by))
    return f"{{{op.words.each or 0}, {by}}}"


def _input(op: Operator, i: Input) -> str:
    role = f"Role::k{_camel(i.role.value)}"
    types = f"{{{len(i.types)}, {_list_name(i.types)}}}" if i.types else "{0, nullptr}"
    names = f'"{operators.type_names(i.types)}"' if i.types else "nullptr"
    parameter = f"Parameter::k{_camel(i.name)}" if i.role.is_parameter else "Parameter()"
    numbers = "nullptr, nullptr, nullptr"
    if i.numbers is not None:
        limits = _limits_names(operators.OPERATORS.values())[_limits(op, i)]
        numbers = f'{limits}, "{i.numbers.rule}", "{i.numbers.remedy}"'
    optional = _bool(i.optional)
    return f'{{"{i.name}", {role}, {parameter}, {optional}, {types}, {names}, {numbers}}}'


def _output(op: Operator, o: Output) -> str:
    type_ = _output_type(o.type) if o.type else "OutputType::kBits"
    type_of = op.inputs.index(op.input(o.type_of)) if o.type_of else -1
    has_type, optional, is_state = _bool(o.type is not None), _bool(o.optional), _bool(o.is_state)
    return f'{{"{o.name}", {optional}, {is_state}, {has_type}, {type_}, {type_of}}}'


def _attribute(a: Attribute) -> str:
    texts = types = text_default = "nullptr"
    default = 0
    if a.allowed:
        texts = _texts_name(a)
        types = f"{texts}s" if a.name == operators.OUTPUT_TYPE else "nullptr"
        text_default = _quoted(a.default)
    else:
        assert isinstance(a.default, int), "the C++ checks know no required integer"
        default = a.default
    role = f"AttributeRole::k{_camel(a.name)}"
    is_seed, is_written = _bool(a in operators.SEEDS), _bool(a.is_written)
    return (
        f'{{"{a.name}", {role}, {is_seed}, {is_written}, {text_default}, {len(a.allowed)}, '
        f'{texts}, {types}, {default}, {a.minimum}, {_integer(a.maximum)}, "{a.rule}"}}'
    )


def _quoted(text: object) -> str:
    return "nullptr" if text is None else f'"{text}"'


def _integer(number: int) -> str:
    return "INT64_MAX" if number == operators.INT64_MAX else str(number)


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


_FILES = {
    "operators_table.h": table,
    "kernels/declared_names.h": names,
    "sentences.h": words,
    "../openvino/plugin_names.h": plugin_names,
}

if __name__ == "__main__":
    for name, make in _FILES.items():
        header = Path(__file__).parent / name
        if sys.argv[1:] != ["--check"]:
            header.write_text(make())
        elif header.read_text() != make():
            sys.exit(f"{name} is not what the declaration says: run {Path(__file__).name}")
