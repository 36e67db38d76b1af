"""Makes the coefficients of ln, sin, cos and exp.

python custom_ops/core/kernels/make_coefficients.py          writes them
python custom_ops/core/kernels/make_coefficients.py --check  exits with 1 if they are stale

Writes `coefficients.h` beside this file for the kernels and `_numbers/coefficients.py` of the
package for NumPy, so that both have the same bits. Each polynomial is fitted in 60 digits with the
weight that makes its relative error even (Chebyshev nodes, which is within a few percent of the
best), and rounded from its first coefficient on: what rounding one of them loses, those after it
make up for. Needs mpmath.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mp, mpf

from onnx_philox._contract.inputs import LEAST_EXPONENT

mp.dps = 60

_HERE = Path(__file__).parent
_HEADER = _HERE / "coefficients.h"
_MODULE = _HERE.parents[2] / "src/onnx_philox/_numbers/coefficients.py"

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Polynomial:
    """An approximation of `target` on [low, high] whose error counts `weight` times."""

    name: str
    doc: str
    target: Function
    weight: Function
    low: mpf
    high: mpf
    terms: int

    def fit(self, dtype: type[np.floating]) -> list[np.floating]:
        """The coefficients, lowest power first."""
        points = 4 * self.terms
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        nodes = [
            middle + half * mpmath.cos(mp.pi * (2 * i + 1) / (2 * points)) for i in range(points)
        ]
        rest = [self.target(x) for x in nodes]
        weights = [self.weight(x) for x in nodes]
        fitted: list[np.floating] = []
        for power in range(self.terms):
            columns = range(power, self.terms)
            matrix = mpmath.matrix(points, len(columns))
            values = mpmath.matrix(points, 1)
            for row, x in enumerate(nodes):
                values[row] = weights[row] * rest[row]
                for column, exponent in enumerate(columns):
                    matrix[row, column] = weights[row] * x**exponent
            best = mpmath.lu_solve(matrix, values)[0]
            rounded = _round(best, dtype)
            fitted.append(rounded)
            rest = [r - mpf(float(rounded)) * x**power for r, x in zip(rest, nodes, strict=True)]
        return fitted

    def error(self, coefficients: list[np.floating]) -> float:
        """The largest weighted error, at a thousand points."""
        worst = mpf(0)
        for i in range(1001):
            x = self.low + (self.high - self.low) * i / 1000
            value = sum(mpf(float(c)) * x**power for power, c in enumerate(coefficients))
            worst = max(worst, abs(self.weight(x) * (value - self.target(x))))
        return float(worst)


def _round(value: mpf, dtype: type[np.floating]) -> np.floating:
    """To nearest in one rounding."""
    with mp.workprec(np.finfo(dtype).nmant + 1):
        return dtype(float(+value))


def _logarithm(z: mpf) -> mpf:
    """(-2 ln((1 + s) / (1 - s)) / s + 4) / z for z = s * s."""
    if z < mpf(10) ** -25:
        return mpf(-4) / 3
    s = mpmath.sqrt(z)
    return (-2 * mpmath.log((1 + s) / (1 - s)) / s + 4) / z


def _sine(z: mpf) -> mpf:
    """sin(2 pi t) / t for z = t * t."""
    if z < mpf(10) ** -40:
        return 2 * mp.pi
    t = mpmath.sqrt(z)
    return mpmath.sin(2 * mp.pi * t) / t


def _cosine(z: mpf) -> mpf:
    """(cos(2 pi t) - 1) / z for z = t * t."""
    if z < mpf(10) ** -25:
        return -2 * mp.pi**2
    return (mpmath.cos(2 * mp.pi * mpmath.sqrt(z)) - 1) / z


def _exponential(r: mpf) -> mpf:
    """(exp(r) - 1) / r."""
    return mpmath.expm1(r) / r if r else mpf(1)


def _polynomials(logarithm: int, sine: int, cosine: int) -> list[Polynomial]:
    largest_s = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)
    eighth = mpf(1) / 64
    return [
        Polynomial(
            "LOGARITHM",
            "-2 ln((1 + s) / (1 - s)) = s * (-4 + z * P(z)), z = s * s",
            _logarithm,
            lambda z: z / 4,
            mpf(0),
            largest_s**2 * mpf("1.000001"),
            logarithm,
        ),
        Polynomial(
            "SINE",
            "sin(2 pi t) = t * P(z), z = t * t, t in turns, |t| <= 1/8",
            _sine,
            lambda z: 1 / _sine(z),
            mpf(0),
            eighth,
            sine,
        ),
        Polynomial(
            "COSINE",
            "cos(2 pi t) = 1 + z * P(z)",
            _cosine,
            lambda z: z,
            mpf(0),
            eighth,
            cosine,
        ),
    ]


_EXPONENTIAL = Polynomial(
    "EXPONENTIAL",
    "exp(r) = 1 + r * P(r), |r| <= ln(2) / 2",
    _exponential,
    lambda r: r,
    -mpmath.log(2) / 2 * mpf("1.0001"),
    mpmath.log(2) / 2 * mpf("1.0001"),
    11,
)


def _tables() -> list[tuple[str, str, type[np.floating], list[np.floating]]]:
    tables = []
    for dtype, polynomials in (
        (np.float32, _polynomials(2, 4, 3)),
        (np.float64, [*_polynomials(6, 7, 7), _EXPONENTIAL]),
    ):
        bits = np.finfo(dtype).bits
        for p in polynomials:
            coefficients = p.fit(dtype)
            print(f"{p.name}_F{bits}: {p.terms} terms, error {p.error(coefficients):.2g}")
            tables.append((f"{p.name}_F{bits}", p.doc, dtype, coefficients))
    return tables


def _factorials() -> list[float]:
    """Ln k! for k from 0 to 255."""
    return [float(_round(mpmath.loggamma(k + 1), np.float64)) for k in range(256)]


def _constants() -> list[tuple[str, str, np.floating]]:
    constants: list[tuple[str, str, np.floating]] = []
    for dtype, magic in ((np.float32, 1.5 * 2**23), (np.float64, 1.5 * 2**52)):
        bits = np.finfo(dtype).bits
        constants += [
            (f"SMALLEST_UNIFORM_F{bits}", "below it, u counts as it", _round(mpf("1e-7"), dtype)),
            (f"SQRT_HALF_F{bits}", "mantissas begin at it", _round(mpmath.sqrt(mpf(1) / 2), dtype)),
            (f"MINUS_TWO_LN2_F{bits}", "-2 ln 2", _round(-2 * mpmath.log(2), dtype)),
            (
                f"MAGIC_F{bits}",
                "added, it leaves the nearest integer in the low bits",
                dtype(magic),
            ),
        ]
    ln2 = mpmath.log(2)
    # 32 bits: its product with an exponent is exact.
    with mp.workprec(32):
        high = +ln2
    constants += [
        ("LOG2_E", "1 / ln 2", _round(1 / ln2, np.float64)),
        ("LN2_HIGH", "the first 32 bits of ln 2", np.float64(float(high))),
        ("LN2_LOW", "the rest of ln 2", _round(ln2 - high, np.float64)),
        ("SMALLEST_EXPONENT", "below it, exp counts as 0", np.float64(LEAST_EXPONENT)),
        (
            "STIRLING_CONSTANT",
            "(1 + ln(2 pi)) / 2",
            _round((1 + mpmath.log(2 * mpmath.pi)) / 2, np.float64),
        ),
        ("STIRLING_FIRST", "1 / 12", _round(mpf(1) / 12, np.float64)),
        ("STIRLING_SECOND", "1 / 360", _round(mpf(1) / 360, np.float64)),
    ]
    return constants


def _cpp_name(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def _cpp_number(value: np.floating) -> str:
    return float(value).hex() + ("f" if value.dtype == np.float32 else "")


def files() -> dict[Path, str]:
    """Fits, and returns the text of both files."""
    tables, constants = _tables(), _constants()
    made = "Made by custom_ops/core/kernels/make_coefficients.py; do not edit."

    lines = [
        f"// The coefficients of ln, sin, cos and exp, lowest power first. {made}",
        "#pragma once",
        "",
        "namespace onnx_philox {",
        "",
    ]
    for name, doc, value in constants:
        kind = "float" if value.dtype == np.float32 else "double"
        lines.append(f"constexpr {kind} {_cpp_name(name)} = {_cpp_number(value)};  // {doc}")
    for name, doc, dtype, coefficients in tables:
        kind = "float" if dtype is np.float32 else "double"
        lines += ["", f"// {doc}", f"constexpr {kind} {_cpp_name(name)}[] = {{"]
        lines += [f"    {_cpp_number(c)}," for c in coefficients]
        lines.append("};")
    lines += ["", "// ln k!", "constexpr double kLnFactorials[] = {"]
    lines += [f"    {number.hex()}," for number in _factorials()]
    lines += ["};", "", "}  // namespace onnx_philox", ""]
    header = "\n".join(lines)

    lines = [
        '"""The coefficients of ln, sin, cos and exp, lowest power first.',
        "",
        made,
        '"""',
        "",
        "from typing import Any",
        "",
        "import numpy as np",
        "",
        "",
        "def _f64(text: str) -> tuple[Any, ...]:",
        "    return tuple(np.float64(float.fromhex(word)) for word in text.split())",
        "",
        "",
        "def _f32(text: str) -> tuple[Any, ...]:",
        "    return tuple(map(np.float32, _f64(text)))",
        "",
        "",
    ]
    for name, doc, value in constants:
        kind = f"np.{value.dtype}"
        lines += [f"# {doc}", f'{name} = {kind}(float.fromhex("{float(value).hex()}"))']
    for name, doc, _, coefficients in tables:
        words = [float(number).hex() for number in coefficients]
        step = 4 if len(words) < 5 else 3
        rows = [f'"{" ".join(words[i : i + step])}"' for i in range(0, len(words), step)]
        head = f"{name} = _{name.rpartition('_')[2].lower()}("
        in_rows = [head, *(f'    {row[:-1]} "' for row in rows[:-1]), f"    {rows[-1]}", ")"]
        in_one = f'{head}"{" ".join(words)}")'
        lines += ["", f"# {doc}", *([in_one] if len(in_one) <= 100 else in_rows)]
    return {_HEADER: header, _MODULE: "\n".join([*lines, ""])}


if __name__ == "__main__":
    for path, text in files().items():
        if sys.argv[1:] != ["--check"]:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} is not what would be written: run {Path(__file__).name}")
