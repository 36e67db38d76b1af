"""Vectors, types, bounds and counters that several test files draw from."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

import onnx_philox

DTYPES: dict[str, np.dtype] = {
    name: np.dtype(type_)
    for name, type_ in {
        "i32": np.int32,
        "i64": np.int64,
        "u32": np.uint32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "f32": np.float32,
        "f64": np.float64,
        "bool": np.bool_,
    }.items()
}
"""By the names of the types, which say nothing of the package's own table."""
VECTORS = Path(__file__).parents[1] / "vectors"
TF2ONNX = "ai.onnx.converters.tensorflow"
OTHERS = ("com.example", "com.microsoft", "local", "mine", "onnx_philox", "own")


def parse(
    body: str,
    opset: int = 17,
    ir_version: int = 8,
    **domains: int,
) -> onnx.ModelProto:
    """A model of ONNX text that imports ONNX's opset, and 1 of other domains that it names."""
    named = {name: 1 for name in (TF2ONNX, *OTHERS) if f"{name}." in body} | domains
    imports = "".join(f', "{name}": {version}' for name, version in named.items() if version)
    return onnx.parser.parse_model(
        f'<ir_version: {ir_version}, opset_import: ["": {opset}{imports}]>\n{body}'
    )


def load_vectors(
    name: str,
    family: str = "",
) -> list[dict[str, Any]]:
    """The vectors of a file, or of one family there, each with the type of its values."""
    given = json.loads((VECTORS / f"{name}.json").read_text())
    return [
        {"type": case["type"], **vector}
        for case in given["cases"]
        for vector in case["vectors"]
        if case["family"].startswith(family)
    ]


def assert_same_bits(actual: np.ndarray, expected: np.ndarray) -> None:
    """The same type, shape and bits: no tolerance, and -0 is not 0."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.tobytes() == expected.tobytes(), f"{actual!r}\n!=\n{expected!r}"


def assert_all_same(actual: Iterable[Any], expected: Iterable[Any]) -> None:
    """The same arrays, bit by bit, and as many."""
    for one, other in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(one), np.asarray(other))


def table(text: str) -> list[list[str]]:
    """The rows of `given -> words`; a line that begins with the arrow goes on with the one before.

    What is given is a command's words, or a node in ONNX's text.
    """
    rows: list[list[str]] = []
    for line in text.strip().splitlines():
        given, _, words = (part.strip() for part in line.partition("-> "))
        if given:
            rows.append([given, words])
        else:
            rows[-1][1] = f"{rows[-1][1]} {words}".strip()
    return rows


def public_names() -> dict[str, Any]:
    """What a call in a table may name: all of the package's, and NumPy."""
    names = {name: getattr(onnx_philox, name) for name in onnx_philox.__all__}
    return {**names, "onnx_philox": onnx_philox, "np": np}


def assert_refused(call: Callable[[], Any], words: str) -> str:
    """That a call is refused in these words, `...` standing for any: what is said.

    "TypeError: " before them says that a type is wrong; else it is a value.
    """
    said = words.removeprefix("TypeError: ")
    with pytest.raises((ValueError, TypeError), match=pattern_of(said)) as raised:
        call()
    assert isinstance(raised.value, TypeError) is (said != words)
    return str(raised.value)


def warned(call: Callable[[], Any]) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


def pattern_of(words: str) -> str:
    """Of words in which `...` stands for any."""
    return "(?s)" + ".*".join(re.escape(part.strip()) for part in words.split("..."))


SEED = {"global_seed": 7, "op_seed": 3}

BOUNDS: dict[str, list[tuple[Any, Any]]] = {
    "i32": [
        (0, 1),
        (50, 100),
        (-(2**31), 2**31 - 1),
        (-5, 2**31 - 6),
    ],
    "i64": [
        (0, 1),
        (-7, 2**40 + 1),
        (-(2**63), 2**63 - 1),
        (2**62, 2**62 + 3),
    ],
    "f16": [
        (0, 1),
        (-3, 5.5),
        (100, 101),
        (2.0**-24, 2.0**-22),
        (-3e4, 3e4),
    ],
    "bf16": [
        (0, 1),
        (-3, 5.5),
        (100, 101),
        (1e-39, 3e-39),
    ],
    "f32": [
        (0, 1),
        (0.1, 0.7),
        (-1e30, 2e30),
        (1e-40, 3e-39),
        (5, 5),
        (-1e-45, 0),
    ],
    "f64": [
        (0, 1),
        (0.1, 0.7),
        (-1e300, 2e300),
        (1e-310, 3e-309),
        (2, 10),
    ],
}
"""Bounds by type: unit, plain, wide, subnormal and empty ranges."""

TYPE_BOUNDS = [(name, *bounds) for name, pairs in BOUNDS.items() for bounds in pairs]

EDGE_COUNTERS = [edge - near for edge in (2**32, 2**64, 2**96, 2**128) for near in (1, 2, 5)] + [
    0,
    2**127 + 12345,
]
"""Counters from which a few blocks carry into the next word."""
