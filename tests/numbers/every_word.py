"""Sends every word through every rule of one word, and a billion pairs through those of two.

    python -m tests.numbers.every_word
        a 64th of all words, in a third of what runs here; others each day
    python -m tests.numbers.every_word --slices 0-63
        all of them, in all that runs here
    python -m tests.numbers.every_word --sets numpy onnxruntime openvino gpu
        standard nodes, OpenCL
    python -m tests.numbers.every_word --write
        with `--slices 0-63`: the hashes of NumPy's values

Philox is a bijection: run backwards, it gives the counter whose block holds any four words. So the
shipped kernels draw them all, and the hash of their draws for each rule and slice must be that of
`every_word.json`, which NumPy wrote. docs/proved.md has the result.

The rule "bits" is about the round. The lower half of a product by each multiplier is word 1 or 3 of
a block: where these two words take every value, every factor goes through both products.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx_ir as ir
import onnxruntime
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as op

import onnx_philox
from onnx_philox import _native, _philox
from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.state import PhiloxState
from onnx_philox._contract.types import BY_NAME
from onnx_philox._numbers import fill_native, fill_numpy
from onnx_philox._numbers.draw import Draw, distribution_of
from onnx_philox._openvino_models import requests
from onnx_philox._standard import words_limbs
from onnx_philox._standard.builder import OPSET, Builder

HASHES = Path(__file__).with_suffix(".json")
SLICES = 64
TURNS = 3
"""Into how many parts the sets of kernels are divided; prime to SLICES."""
NUMPY, BITS, PRODUCTS = "numpy", "bits", "products"
Words = NDArray[np.uint32]

# So many words are drawn at a time.
_AT_ONCE = 2**20


class Rule(NamedTuple):
    """What becomes of words: an operator with its parameters, all of them single numbers."""

    operator: str
    type: str
    parameters: dict[str, Any]
    words: Callable[[int], Iterator[Words]]
    """The words of a slice, of rank 1, a multiple of four at a time."""
    each: int = 4
    """How many of them a row takes; what a row does not read is 0."""


def every_word(slice_: int) -> Iterator[Words]:
    """A 64th of the integers below 2^32, in order."""
    first = slice_ * 2**32 // SLICES
    count = 2**32 // SLICES
    for start in range(first, first + count, _AT_ONCE):
        yield np.arange(
            start,
            start + _AT_ONCE,
            dtype=np.uint64,
        ).astype(np.uint32)


def every_product(slice_: int) -> Iterator[Words]:
    """Blocks in which words 1 and 3 take each value of the slice; both others vary with them."""
    for words in every_word(slice_):
        yield np.stack([words * 3, words, ~words, words], axis=1).reshape(-1)


def _pairs(first: Words, second: Words) -> Words:
    return np.stack([first, second], axis=1).reshape(-1)


def every_fraction_of_f32(slice_: int) -> Iterator[Words]:
    """All uniforms of f32 as the first of a pair, and as the second, beside six others."""
    each = np.arange(slice_, 2**23, SLICES, dtype=np.uint32)
    for other in (0, 1, 2**22 - 1, 2**22, 0x123456, 2**23 - 1):
        still = np.full_like(each, other)
        yield _pairs(each, still)
        yield _pairs(still, each)


_EDGES = np.array(
    [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**51, 2**52 - 1, 2**52, 2**63, 2**64 - 1], np.uint64
)


def _spread(slice_: int, count: int, low_first: bool) -> Words:
    """Pairs whose 64 bits, or 52, lie in all binades from both ends."""
    generator = np.random.Generator(np.random.PCG64(slice_))
    bits = generator.integers(0, 2**64, count, np.uint64, endpoint=False)
    bits >>= generator.integers(0, 64, count, np.uint64)
    bits[::2] ^= np.uint64(2**52 - 1)
    bits[: _EDGES.size] = _EDGES
    low = bits.astype(np.uint32)
    high = (bits >> np.uint64(32)).astype(np.uint32)
    return _pairs(low, high) if low_first else _pairs(high, low)


def pairs_of_f64(slice_: int) -> Iterator[Words]:
    """A 64th of 2^27 pairs."""
    yield _spread(slice_, 2**21, low_first=False)


def pairs_of_i64(slice_: int) -> Iterator[Words]:
    """Likewise, the low half first."""
    yield _spread(slice_, 2**21, low_first=True)


def gamma_words(slice_: int) -> Iterator[Words]:
    """Block 1 of gammas, of which the last two words go through the logarithm and `exp`."""
    pairs = _spread(slice_, 2**18, low_first=False).reshape(-1, 2)
    yield np.concatenate([np.zeros_like(pairs), pairs], axis=1).reshape(-1)


F16 = np.float16
BF16 = ml_dtypes.bfloat16
F32 = np.float32
F64 = np.float64
_FLOATS = {"f32": F32, "f16": F16, "bf16": BF16, "f64": F64}
_RANGES = ((0, 1), (-3, 7.1), (100, 101), (-1e-3, 2e-3))
_I32 = (
    (-50, 100),
    (-(2**31), 2**31 - 1),
    (0, 2**31 - 1),
)
_I64 = (
    (-50, 100),
    (-(2**63), 2**63 - 1),
    (-(2**40), 2**62),
)


def _rules() -> Iterator[tuple[str, Rule]]:
    yield BITS, Rule("RandomGenerator", "u32", {}, every_product)
    yield PRODUCTS, Rule("", "u32", {}, every_word)
    for name, type_ in _FLOATS.items():
        words = pairs_of_f64 if name == "f64" else every_word
        for low, high in _RANGES:
            bounds = {"minval": type_(low), "maxval": type_(high)}
            yield f"uniform {name} [{low}, {high})", Rule("RandomUniform", name, bounds, words)
        one = {"scale": type_(1)}
        yield f"exponential {name}", Rule("RandomExponential", name, one, words)
    for name, number, ranges, words in (
        ("i32", np.int32, _I32, every_word),
        ("i64", np.int64, _I64, pairs_of_i64),
    ):
        for low, high in ranges:
            bounds = {"minval": number(low), "maxval": number(high)}
            yield f"uniform {name} [{low}, {high})", Rule("RandomUniform", name, bounds, words)
    for exponent in range(16):
        # Spread over the binades: the next f32 above a power of two, from 2^-23 on.
        p = np.nextafter(F32(2.0 ** (-1.5 * exponent)), F32(0))
        yield f"booleans p={p}", Rule("RandomBernoulli", "bool", {"p": p}, every_word)
    for p in (0.5, 1 / 3, 2.0**-40):
        yield f"booleans f64 p={p:.6}", Rule("RandomBernoulli", "bool", {"p": F64(p)}, pairs_of_f64)
    for name, words in (("f32", every_fraction_of_f32), ("f64", pairs_of_f64)):
        standard = {"mean": _FLOATS[name](0), "scale": _FLOATS[name](1)}
        yield f"normal {name}", Rule("RandomNormal", name, standard, words)
    for alpha in (0.9, 0.06, 2.0**-10):
        yield (
            f"gamma f64 alpha={alpha:.3}",
            Rule("RandomGamma", "f64", {"alpha": F64(alpha)}, gamma_words, 1),
        )


RULES = dict(_rules())


def states_before(words: Words, back: int = 0) -> Words:
    """The states [n, 6] of key 0 whose block `back` further on has these words, four at a time."""
    w = words.reshape(-1, 4).astype(np.uint64)
    c0, c1, c2, c3 = (w[:, i] for i in range(4))
    low = np.uint64(2**32 - 1)
    shift = np.uint64(32)
    m0, m1 = (np.uint64(int(m)) for m in _philox.MULTIPLIERS[:, 0])
    i0, i1 = (np.uint64(pow(int(m), -1, 2**32)) for m in _philox.MULTIPLIERS[:, 0])
    for round_ in reversed(range(_philox.ROUNDS)):
        k0, k1 = (np.uint64(int(weyl) * round_ % 2**32) for weyl in _philox.WEYL[:, 0])
        before0 = c3 * i0 & low
        before2 = c1 * i1 & low
        c1 = (before2 * m1 >> shift) ^ c0 ^ k0
        c3 = (before0 * m0 >> shift) ^ c2 ^ k1
        c0, c2 = before0, before2
    states = np.zeros((len(w), 6), np.uint32)
    lower = c0 | c1 << shift
    upper = c2 | c3 << shift
    if back:
        upper = upper - (lower < back)
        lower = lower - np.uint64(back)
    for i, half in enumerate((lower, lower >> shift, upper, upper >> shift)):
        states[:, i] = half.astype(np.uint32)
    return states


def drawn(
    rule: Rule,
    words: Words,
    states: Words | None,
) -> NDArray[Any]:
    """What NumPy makes of words, or the kernels draw from the states that give these words."""
    if not rule.operator:
        products = words.astype(np.uint64) * _philox.MULTIPLIERS
        return np.stack([products >> np.uint64(32), products]).astype(np.uint32)
    parameters = {name: np.asarray(value) for name, value in rule.parameters.items()}
    distribution = distribution_of(OPERATORS[rule.operator], parameters, {})
    type_ = BY_NAME[rule.type]
    if rule.each == 1 or states is not None:
        # A gamma reads other blocks, too: NumPy draws it from the state.
        rows = states_before(words, 1) if rule.each == 1 else states
        assert rows is not None
        elements = 1 if rule.each == 1 else 4 // distribution.words(type_, 2) * 2
        out = np.empty(len(rows) * elements, type_.dtype)
        draw = Draw(type_, PhiloxState(0, 0), distribution, rows)
        fill = fill_numpy.fill if states is None else fill_native.fill
        fill(draw, out)
        return out
    with np.errstate(all="ignore"):
        made = distribution.converter(type_)(0, words)
    assert isinstance(made, np.ndarray)
    return made


def _onnxruntime() -> Callable[[Words], NDArray[Any]]:
    """The blocks of states, by standard nodes."""
    model = onnx_philox.graphs.random_generator([None, 4], per_row=True)
    standard = onnx_philox.to_standard_nodes(model, target="onnxruntime")
    session = onnxruntime.InferenceSession(standard.SerializeToString())
    return lambda words: session.run(["bits"], {"state": states_before(words)})[0]


def _openvino() -> Callable[[Words], NDArray[Any]]:
    """Products by both multipliers, by the nodes of a round: a block takes ten times longer."""
    b = Builder(None)
    zero = b.constant([[[0]], [[0]]], np.int32)
    shape = ir.Shape([2, 1, "n"])
    even = ir.Value(
        name="even",
        type=ir.TensorType(ir.DataType.INT32),
        shape=shape,
    )
    upper, lower = words_limbs._round(b, even, zero, zero, is_odd=False)
    graph = b.graph([even], [upper, lower], {"": OPSET})
    for value in (upper, lower):
        value.type = even.type
    model = ir.to_proto(ir.Model(graph, ir_version=8)).SerializeToString()
    core = ov.Core()
    request = core.compile_model(core.read_model(io.BytesIO(model)), "CPU").create_infer_request()

    def products(words: Words) -> NDArray[Any]:
        both = np.broadcast_to(words.view(np.int32), (2, 1, words.size))
        requests.run(request, {"even": both})
        upper, lower = request.results.values()
        # A round puts the lower halves where the next one reads them.
        return np.stack([upper, lower[::-1]])

    return products


def _gpu() -> Callable[[Words], NDArray[Any]]:
    """The blocks of states, by OpenCL on OpenVINO's device GPU."""
    core = onnx_philox.openvino.register(ov.Core())
    state = op.parameter([_AT_ONCE, 6], np.uint32)
    shape = op.constant(np.array([_AT_ONCE, 4]))
    node = onnx_philox.openvino.random_generator(state, shape)
    model = ov.Model([node.output(0)], [state])
    request = onnx_philox.openvino.compile_model(core, model, "GPU").create_infer_request()

    def blocks(words: Words) -> NDArray[Any]:
        requests.run(request, [states_before(words)])
        drawn: NDArray[Any] = request.get_output_tensor(0).data
        return drawn

    return blocks


FORMS = {
    "onnxruntime": (BITS, _onnxruntime),
    "openvino": (PRODUCTS, _openvino),
    "gpu": (BITS, _gpu),
}
"""What else computes a round, and the rule that shows it."""


def hashes(slice_: int, set_: str) -> dict[str, str]:
    """A hash of each rule's values, by this process's kernels or NumPy."""
    only, make = FORMS.get(set_, (None, None))
    form = make() if make else None
    # No kernel gives a product alone.
    rules = {n: r for n, r in RULES.items() if (n == only if only else set_ == NUMPY or r.operator)}
    found = {name: hashlib.blake2b(digest_size=8) for name in rules}
    for source in dict.fromkeys(rule.words for rule in rules.values()):
        for words in source(slice_):
            states = None if form or set_ == NUMPY else states_before(words)
            for name, rule in rules.items():
                if rule.words is source:
                    values = form(words) if form else drawn(rule, words, states)
                    packed = np.packbits(values) if values.dtype == bool else values
                    found[name].update(packed.tobytes())
    return {name: hash_.hexdigest() for name, hash_ in found.items()}


def _run(
    set_: str,
    slice_: int,
) -> tuple[str, int, dict[str, str], float]:
    """The hashes of a set of kernels, in a process that is told to use it."""
    chosen = {} if set_ in (NUMPY, *FORMS) else {"ONNX_PHILOX_ISA": set_}
    environment = {**os.environ, **chosen, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, __file__, "--of", set_, "--slices", str(slice_)]
    start = time.perf_counter()
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{set_}, slice {slice_}: {done.stderr.strip().splitlines()[-1]}")
    return set_, slice_, json.loads(done.stdout), time.perf_counter() - start


def _slices(text: str) -> list[int]:
    first, _, last = text.partition("-")
    try:
        slices = list(range(int(first), int(last or first) + 1))
    except ValueError:
        slices = []
    if not slices or slices[-1] >= SLICES:
        allowed = f"one of 0 to {SLICES - 1}, or two of them in order as in 3-7"
        raise argparse.ArgumentTypeError(f"must be {allowed}: got {text!r}")
    return slices


def main() -> None:
    """Runs the command."""
    today = datetime.now(UTC).date().toordinal()
    description = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--slices", type=_slices, help="default: today's")
    here = [
        NUMPY,
        *_native.instruction_sets(),
        *(form for form in FORMS if form != "gpu"),
    ]
    parser.add_argument(
        "--sets",
        nargs="+",
        help="default: with --slices all, else today's",
        choices=[*here, "gpu"],
    )
    parser.add_argument("--write", action="store_true", help="write NumPy's hashes")
    parser.add_argument("--of", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sets is None:
        # In three times 64 days each of them has all words.
        arguments.sets = here if arguments.slices else here[today % TURNS :: TURNS]
    if arguments.slices is None:
        arguments.slices = [today % SLICES]
    if arguments.of:
        print(json.dumps(hashes(arguments.slices[0], arguments.of)))
        return
    known = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    work = [(set_, slice_) for slice_ in arguments.slices for set_ in arguments.sets]
    seconds = dict.fromkeys(arguments.sets, 0.0)
    wrong = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for set_, slice_, found, took in pool.map(lambda w: _run(*w), work):
            seconds[set_] += took
            if arguments.write and set_ == NUMPY:
                known[str(slice_)] = found
                HASHES.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
            right = known.get(str(slice_), {})
            wrong += [f"{set_}, slice {slice_}: {n}" for n in found if found[n] != right.get(n)]
            if not found:
                wrong.append(f"{set_}, slice {slice_}: nothing")
            print(f"slice {slice_:2}  {set_:7} {took:6.1f} s", flush=True)
    for set_, took in seconds.items():
        print(
            f"{set_:7} {len(RULES)} rules, {len(arguments.slices)} of {SLICES} slices: {took:.0f} s"
        )
    if wrong:
        raise SystemExit("Not NumPy's values:\n" + "\n".join(wrong))
    print("All are NumPy's values.")


if __name__ == "__main__":
    main()
