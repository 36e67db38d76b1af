"""PTX as C: what a grid of threads does, one thread after the other, on a processor.

It refuses instructions that the kernels do not have, so each on floats that does not round to
nearest. `may_fuse` lets those pass that a compiler makes of products and sums.

`misaligned` counts the accesses that are a fault on a card.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PRELUDE = (Path(__file__).parent / "ptx.h").read_text()
COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
OPPOSITE = {"eq": "!=", "lt": ">=", "le": ">", "gt": "<=", "ge": "<"}
ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%"}
BITWISE = {"and": "&", "or": "|", "xor": "^"}
SPECIAL = {"%tid.x": "tid", "%ctaid.x": "block", "%ntid.x": "threads", "%nctaid.x": "blocks"}
WIDTHS = {
    "rs": 16,
    "r": 32,
    "rd": 64,
    "f": 32,
    "fd": 64,
    "SP": 64,
    "SPL": 64,
}


ROUNDED = {"add", "sub", "mul", "div", "sqrt", "rcp"}
MOVES = {"ld", "st", "mov", "selp", "setp", "cvt"}  # which round nothing, or say by themselves how


class UnknownInstructionError(ValueError):
    """An instruction that no kernel should have, or that nobody has translated yet."""


def c_type(kind: str) -> str:
    """The type of a PTX type; bits are unsigned."""
    if kind[0] == "f":
        return {"f16": "_Float16", "f32": "float", "f64": "double"}[kind]
    is_signed = kind[0] == "s"
    name = "int" if is_signed else "uint"
    return f"{name}{kind[1:]}_t"


def name_of(text: str) -> str:
    plain = text.replace("%", "")
    return SPECIAL.get(text) or plain.replace("$", "_").replace(".", "_")


def read(operand: str, kind: str) -> str:
    """An operand as a value of a type."""
    if hexadecimal := re.fullmatch(r"0[fd]([0-9A-F]+)", operand):
        digits = hexadecimal[1]
        suffix = "ull" if len(digits) > 8 else "u"
        width = 4 * len(digits)
        return f"to_f{width}(0x{digits}{suffix})"
    if re.fullmatch(r"-?\d+", operand):
        number = int(operand) % 2**64
        return f"(({c_type(kind)}){number}ull)"
    if kind == "pred":
        return name_of(operand)
    if operand[0] != "%":
        return f"((uint64_t){name_of(operand)})"
    if kind[0] == "f":
        return f"to_{kind}({name_of(operand)})"
    return f"(({c_type(kind)}){name_of(operand)})"


def write(register: str, kind: str, value: str) -> str:
    """The assignment of a value of a type."""
    if kind == "pred":
        return f"{name_of(register)} = {value};"
    if kind[0] == "f":
        return f"{name_of(register)} = of_{kind}({value});"
    letters = re.sub(r"\d", "", register.strip("%"))
    width = WIDTHS[letters]
    to = c_type(kind)
    return f"{name_of(register)} = (uint{width}_t)({to})({value});"


def memory(parts: list[str], operands: list[str]) -> str:
    """A load or a store."""
    kind = parts[-1]
    count = next((int(part[1:]) for part in parts if re.fullmatch(r"v\d", part)), 1)
    size = int(kind[1:]) // 8
    is_signed = kind[0] == "s"
    is_store = parts[0] == "st"
    name = "int" if is_signed else "uint"
    inner = f"{name}{8 * size}"
    address, registers = operands if is_store else operands[::-1]
    base, offset = re.fullmatch(r"\[([%\w$]+)\+?(-?\d+)?\]", address).groups()  # type: ignore[union-attr]
    lines = []
    names = registers.strip("{} ")
    for i, register in enumerate(names.split(", ")):
        distance = int(offset or 0) + i * size
        place = f"{read(base, 'u64')} + {distance}"
        if i == 0:
            place = f"at({place}, {size * count})"
        if is_store:
            value = read(register, inner_kind(kind))
            lines.append(f"store_{inner}({place}, {value});")
        else:
            lines.append(
                write(
                    register,
                    inner_kind(kind),
                    f"load_{inner}({place})",
                )
            )
    return " ".join(lines)


def inner_kind(kind: str) -> str:
    """Floats are moved as bits."""
    return kind.replace("f", "b")


def move(kind: str, to: str, value: str) -> str:
    """A move, which can be to or from the parts of a register."""
    bits = f"u{kind[1:]}"
    if to[0] != "{" and value[0] != "{":
        if kind == "pred":
            is_register = value[0] == "%"
            bit = read(value, kind) if is_register else str(int(value) & 1)
            return write(to, kind, bit)
        moved = kind if re.match("0[fd]", value) else bits
        return write(to, moved, read(value, moved))
    vector = to if to[0] == "{" else value
    parts = vector.strip("{} ").split(", ")
    half = int(kind[1:]) // len(parts)
    if to[0] == "{":
        whole = read(value, bits)
        return " ".join(
            write(
                part,
                f"u{half}",
                f"{whole} >> {half * i}",
            )
            for i, part in enumerate(parts)
        )
    joined = " | ".join(
        f"({c_type(bits)}){read(part, f'u{half}')} << {half * i}" for i, part in enumerate(parts)
    )
    return write(to, bits, joined)


def converted(parts: list[str], value: str) -> str:
    """A conversion between numbers."""
    to, of = parts[-2:]
    rounding = parts[1:-2]
    read_value = read(value, of)
    if to[0] != "f" and of[0] != "f" and not rounding:
        return read_value
    widened = (("f16", "f32"), ("f32", "f64"))
    if to[0] == "f" and (
        (rounding == ["rn"] and of != "f16") or (not rounding and (of, to) in widened)
    ):
        return f"({c_type(to)}){read_value}"
    if to == of and rounding == ["rmi"]:
        floor = "floor" if to == "f64" else "floorf"
        return f"{floor}({read_value})"
    if to[0] != "f" and rounding == ["rzi"]:
        return f"truncated_{c_type(to)[:-2]}({read_value})"
    raise UnknownInstructionError(".".join(parts))


def compared(parts: list[str], a: str, b: str) -> str:
    comparison = parts[1]
    kind = parts[-1]
    if len(parts) != 3:
        raise UnknownInstructionError(".".join(parts))
    x = read(a, kind)
    y = read(b, kind)
    if comparison in ("nan", "num"):
        negation = "!" if comparison == "num" else ""
        return f"{negation}({x} != {x} || {y} != {y})"
    if kind[0] == "f" and comparison == "ne":
        return f"({x} < {y} || {x} > {y})"
    if kind[0] == "f" and comparison == "neu":
        return f"{x} != {y}"
    if kind[0] == "f" and comparison[-1] == "u":
        opposite = OPPOSITE[comparison[:-1]]
        return f"!({x} {opposite} {y})"
    return f"{x} {COMPARISONS[comparison]} {y}"


def on_floats(
    parts: list[str],
    values: list[str],
    may_fuse: bool,
) -> str:
    """Arithmetic on floats."""
    base = parts[0]
    kind = parts[-1]
    if base == "fma" and parts[1:-1] == ["rn"] and may_fuse:
        fma = "fma" if kind == "f64" else "fmaf"
        arguments = ", ".join(values)
        return f"{fma}({arguments})"
    if parts[1:-1] != ["rn"] and not (
        may_fuse and len(parts) == 2 and base in ("add", "sub", "mul")
    ):
        raise UnknownInstructionError(".".join(parts))
    if base in ARITHMETIC and base != "rem":
        sign = ARITHMETIC[base]
        return f"{values[0]} {sign} {values[1]}"
    if base == "sqrt":
        sqrt = "sqrt" if kind == "f64" else "sqrtf"
        return f"{sqrt}({values[0]})"
    if base == "rcp":
        return f"1 / {values[0]}"
    raise UnknownInstructionError(".".join(parts))


def on_integers(
    parts: list[str],
    operands: list[str],
) -> tuple[str, str]:
    """Arithmetic on integers and bits: the type and the value of the result."""
    base = parts[0]
    kind = parts[-1]
    bits = kind[1:]
    unsigned = kind if kind == "pred" else f"u{bits}"
    if base in ("shl", "shr"):
        sign = "" if base == "shl" else "_s" if kind[0] == "s" else "_u"
        function = f"{base}{sign}{kind[1:]}"
        value = read(operands[0], kind)
        return kind, f"{function}({value}, {read(operands[1], 'u32')})"
    if base in ("bfi", "prmt"):
        rest = [read(operand, "u32") for operand in operands[2:]]
        both = [read(operand, unsigned) for operand in operands[:2]]
        function = "insert" if base == "bfi" else "permute"
        arguments = ", ".join(both + rest)
        return unsigned, f"{function}({arguments})"
    if base == "mad":
        wide_kind, product = on_integers(["mul", *parts[1:]], operands[:2])
        addend = read(operands[2], wide_kind)
        return wide_kind, f"({product}) + {addend}"
    values = [read(operand, kind) for operand in operands]
    if base == "mul" and parts[1] in ("wide", "hi"):
        wide_kind = f"{kind[0]}{2 * int(kind[1:])}"
        double = "unsigned __int128" if wide_kind == "u128" else c_type(wide_kind)
        product = f"({double}){values[0]} * {values[1]}"
        if parts[1] == "hi":
            return kind, f"{product} >> {kind[1:]}"
        return wide_kind, product
    if base in ("add", "sub", "mul", "and", "or", "xor", "not", "neg"):  # the same of both signs
        values = [read(operand, unsigned) for operand in operands]
        if base in ("not", "neg"):
            complement = "!" if kind == "pred" else "~"
            sign = "-" if base == "neg" else complement
            return unsigned, f"{sign}{values[0]}"
        return unsigned, f"{values[0]} {(ARITHMETIC | BITWISE)[base]} {values[1]}"
    if base in ("div", "rem"):  # by zero, the card gives a number
        return kind, f"{values[1]} == 0 ? 0 : {values[0]} {ARITHMETIC[base]} {values[1]}"
    if base in ("min", "max"):
        a, b = values
        comparison = "<" if base == "min" else ">"
        return kind, f"{a} {comparison} {b} ? {a} : {b}"
    raise UnknownInstructionError(".".join(parts))


def statement(instruction: str, operands: list[str], may_fuse: bool) -> str:
    """An instruction as a statement of C."""
    parts = instruction.split(".")
    base = parts[0]
    kind = parts[-1]
    if base == "bra":
        return f"goto {name_of(operands[0])};"
    if base == "ret":
        return "return;"
    if base in ("ld", "st"):
        return memory(parts, operands)
    if base == "mov":
        return move(kind, *operands)
    if base == "cvta":
        address = read(operands[1], "u64")
        return write(operands[0], "u64", address)
    if base == "cvt":
        other = converted(parts, operands[1])
        return write(operands[0], parts[-2], other)
    if base == "setp":
        answer = compared(parts, operands[1], operands[2])
        return write(operands[0], "pred", answer)
    if base == "selp":
        values = [read(operand, kind) for operand in operands[1:3]]
        condition = read(operands[3], "pred")
        return write(
            operands[0],
            kind,
            f"{condition} ? {values[0]} : {values[1]}",
        )
    if kind == "f16x2":
        if base not in ("add", "mul") or parts[1:-1] != ["rn"]:
            raise UnknownInstructionError(instruction)
        a, b = (read(operand, "u32") for operand in operands[1:])
        return write(
            operands[0],
            "u32",
            f"{base}_f16x2({a}, {b})",
        )
    if kind in ("f32", "f64"):
        values = [read(operand, kind) for operand in operands[1:]]
        return write(operands[0], kind, on_floats(parts, values, may_fuse))
    result, value = on_integers(parts, operands[1:])
    return write(operands[0], result, value)


def split(operands: str) -> list[str]:
    return [operand.strip() for operand in re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", operands)]


def declarations(line: str) -> str:
    """Registers and local memory."""
    if register := re.match(r"\.reg \.(\w+)\s+%(\w+?)(?:<(\d+)>)?;", line):
        kind, name, count = register.groups()
        c = "int" if kind == "pred" else f"uint{kind[1:]}_t"
        names = [f"{name}{i}" for i in range(int(count))] if count else [name]
        zeros = ", ".join(f"{each} = 0" for each in names)
        return f"{c} {zeros};"
    if local := re.match(r"\.local \.align (\d+) \.b8\s+([\w$]+)\[(\d+)\];", line):
        alignment = local[1]
        return f"_Alignas({alignment}) uint8_t {name_of(local[2])}[{local[3]}];"
    raise UnknownInstructionError(line)


def function(name: str, body: str, may_fuse: bool) -> Iterator[str]:
    """A kernel: one of its threads, and the grid."""
    parameter = f"{name}_param_0"
    yield (
        f"static void {name}_thread(const void* {parameter}, uint32_t tid, uint32_t block, "
        "uint32_t threads, uint32_t blocks) {"
    )
    for line in map(str.strip, body.splitlines()):
        if not line:
            continue
        if line.startswith("."):
            yield declarations(line)
        elif line.endswith(":"):
            yield f"{name_of(line[:-1])}: ;"
        else:
            found = re.fullmatch(r"(?:@(!?)(%p\d+)\s+)?([\w.]+)\s*(.*);", line)
            if found is None:
                raise UnknownInstructionError(line)
            condition = f"if ({found[1]}{name_of(found[2])}) " if found[2] else ""
            of_instruction = statement(found[3], split(found[4]), may_fuse)
            yield f"{condition}{{ {of_instruction} }}"
    yield "}"
    yield f"void {name}(const void* launch, uint32_t blocks, uint32_t threads) {{"
    yield "  for (uint32_t block = 0; block < blocks; ++block)"
    yield "    for (uint32_t tid = 0; tid < threads; ++tid)"
    yield f"      {name}_thread(launch, tid, block, threads, blocks);"
    yield "}"


def kernels(ptx: str) -> dict[str, str]:
    """The bodies of the kernels, by name."""
    pattern = r"^\.visible \.entry (\w+)\(\n[^)]*\)\n(?:\.\w+[^\n]*\n)*\{\n(.*?)^\}"
    return dict(re.findall(pattern, ptx, re.M | re.S))


def translated(ptx: str, *, only: str = "", may_fuse: bool = False) -> str:
    """All kernels of a PTX file, or one."""
    lines = [PRELUDE]
    for alignment, name, values in re.findall(
        r"^\.global \.align (\d+) \.b8 ([\w$]+)\[\d+\] = \{([^}]*)\};", ptx, re.M
    ):
        lines.append(
            f"static const _Alignas({alignment}) uint8_t {name_of(name)}[] = {{{values}}};"
        )
    for name, body in kernels(ptx).items():
        if only in ("", name):
            lines.extend(function(name, body, may_fuse))
    return "\n".join(lines) + "\n"


def unwanted(ptx: str) -> list[str]:
    """The lines that call something, or that do not round each operation on floats to nearest."""
    found = []
    for line in map(str.strip, ptx.splitlines()):
        without_predicate = re.sub(r"^@!?%p\d+\s+", "", line)
        instruction = re.split(r"\s", without_predicate)[0]
        parts = instruction.split(".")
        base = parts[0]
        how = parts[1:-1]
        kind = parts[-1]
        loose = {"ftz", "sat", "approx", "full"}
        is_wrong = loose & {*how} or re.search(r"\.extern|\.func|^call", instruction)
        if kind in ("f16", "f16x2", "f32", "f64") and base not in MOVES:
            is_wrong = is_wrong or base not in ROUNDED or how != ["rn"]
        if base == "cvt" and how[-1] in ("f16", "f32") and kind != "f16":
            is_wrong = is_wrong or how[:-1] != ["rn"]
        if is_wrong:
            found.append(line)
    return found


def contracted(ptx: str) -> tuple[str, int]:
    """The same with sums of products as one instruction; how many these are."""
    lines = []
    products = {}
    count = 0
    for line in ptx.splitlines():
        parts = re.split(r"[\s,;]+", line.strip())
        if parts[0].startswith("mul.rn."):
            factors = parts[2:4]
            products[parts[1]] = ", ".join(factors)
        elif parts[0].startswith("add.rn.") and parts[2] in products:
            line = f"\tfma{parts[0][3:]} {parts[1]}, {products[parts[2]]}, {parts[3]};"
            count += 1
        elif line.startswith("}"):
            products = {}
        lines.append(line)
    return "\n".join(lines) + "\n", count
