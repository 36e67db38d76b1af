"""The JSON of a record, written and read."""

from __future__ import annotations

import base64
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import generators
from onnx_philox._contract.refusal import shown
from onnx_philox._contract.streams import Streams
from onnx_philox._contract.types import BF16
from onnx_philox._record import hashes, recorded_model
from onnx_philox._runtimes.models import LoadedModel
from onnx_philox._runtimes.port import ArgumentError, identity

KEY = "onnx_philox_record"
SCHEMA = 1
"""The version of the document, raised when a key goes or changes."""
DRAWN = "drawn"
STATE = "state"
COMPUTED = "computed"

Record = dict[str, Any]

# Inputs of at most so many bytes stand in the record itself.
_SMALL = 4096


def record(
    model: Mapping[str, Any],
    loaded: LoadedModel,
    streams: Streams | None,
    seed: Any,
    inputs: list[Record],
    runs: list[Record],
) -> Record:
    """The whole document."""
    return {
        KEY: SCHEMA,
        "versions": versions(),
        "model": dict(model),
        "streams": recorded_model.listed(streams),
        **identity(loaded),
        "precision": loaded.precision,
        "seed": list(seed) if isinstance(seed, tuple) else seed,
        "inputs": inputs,
        "runs": runs,
    }


def versions() -> dict[str, str]:
    """What runs here."""
    return {
        "onnx_philox": metadata.version("onnx-philox"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def input_of(
    name: str,
    array: NDArray[Any],
    *,
    filled: int | None = None,
    argument: str | None = None,
) -> Record:
    """An input: its hash, and how to have it again.

    That is its bytes if they are few; else the number of what `--fill` made, or the argument of
    `--input` that named its file. Of any other the record has the hash alone.
    """
    if array.dtype.kind == "O":
        # Its memory holds no strings, but where they are.
        array = array.astype(np.str_)
    is_plain = array.dtype.kind in "biufc" or array.dtype == BF16.dtype
    is_small = is_plain and array.nbytes <= _SMALL
    return {
        "name": name,
        "type": array.dtype.name,
        "shape": list(array.shape),
        "sha256": hashes.sha256(array),
        "base64": base64.b64encode(hashes.bytes_of(array)).decode() if is_small else None,
        "filled": filled,
        "argument": argument,
    }


def run_of(
    number: int | None,
    state: NDArray[Any] | None,
    outputs: list[hashes.Hash],
    next_state: str | None,
) -> Record:
    """A run: where it began, and what it gave."""
    return {
        "run": number,
        "state": None if state is None else state.tolist(),
        "outputs": [
            {
                "name": output.name,
                "kind": kind_of(output, next_state),
                "type": output.type,
                "shape": list(output.shape),
                "sha256": output.sha256,
            }
            for output in outputs
        ],
    }


def kind_of(output: hashes.Hash, next_state: str | None) -> str:
    """Whether an output is drawn, the next state, or computed."""
    if output.name == next_state:
        return STATE
    if output.is_drawn:
        return DRAWN
    return COMPUTED


def array_of(entry: Record) -> NDArray[Any] | None:
    """The array of an input that stands in the record; None of any other."""
    if entry["base64"] is None:
        return None
    try:
        content = base64.b64decode(entry["base64"], validate=True)
        dtype = np.dtype(entry["type"])
        array = np.frombuffer(content, dtype.newbyteorder("<")).astype(dtype)
        return array.reshape(entry["shape"])

    except (ValueError, TypeError):
        _refuse(f"inputs[{entry['name']!r}].base64", "no array of the type and shape beside it")


def read_record(text: str | bytes) -> Record:
    """The record in a text.

    Raises:
        ArgumentError: It is no record of this version; the text says what is wrong where.
    """
    try:
        document = json.loads(text)
    except RecursionError:
        _refuse("the file", "JSON that is nested too deep")
    except ValueError as error:
        _refuse("the file", f"no JSON ({error})")
    if not isinstance(document, dict) or KEY not in document:
        _refuse("the file", f"JSON without the key {KEY!r}")
    version = document[KEY]
    if type(version) is not int or version != SCHEMA:
        _refuse(KEY, f"{shown(version)}, and this version reads {SCHEMA}")
    _check(document, "", _DOCUMENT)
    _check_places(document)
    return document


def _check_places(document: Record) -> None:
    """What no key says alone: what there must be beside it, and no name twice in a list."""
    if not document["runs"]:
        _refuse("runs", "none")
    _check_names("inputs", document["inputs"])
    for i, run in enumerate(document["runs"]):
        _check_names(f"runs[{i}].outputs", run["outputs"])
    # The record of a result says how `Pipeline` was opened, and its one run has no number.
    is_of_result = "per_row" in document["model"]
    for i, run in enumerate(document["runs"]):
        if is_of_result != (run["run"] is None) or (is_of_result and i):
            _refuse(f"runs[{i}].run", shown(run["run"]))
    if document["model"].get("per_row") and document["streams"] is None:
        _refuse("streams", "none, and a state for each row")


def _check_names(place: str, entries: Sequence[Record]) -> None:
    seen = set()
    for entry in entries:
        name = entry["name"]
        if name in seen:
            _refuse(place, f"{shown(name)} twice")
        seen.add(name)


def _is_state(given: Any) -> bool:
    """Whether it is a state, or a list of one for each row."""
    has_rows = isinstance(given, list) and given and isinstance(given[0], list)
    return all(map(_is_one_state, given if has_rows else [given]))


def _is_one_state(given: Any) -> bool:
    if not isinstance(given, list) or generators.of_words(len(given)) is None:
        return False
    return all(_is_integer(word, 2**32) for word in given)


def _is_seed(given: Any) -> bool:
    seeds = given if isinstance(given, list) else [given]
    return all(_is_integer(seed, 2**64) for seed in seeds)


def _is_shape(given: Any) -> bool:
    return isinstance(given, list) and all(map(_is_count, given))


def _is_hash(given: Any) -> bool:
    if not isinstance(given, str):
        return False
    return len(given) == 64 and set(given) <= set("0123456789abcdef")


def _is_text(given: Any) -> bool:
    # JSON can write half of a pair of UTF-16, which is no text.
    if not isinstance(given, str):
        return False
    return not any("\ud800" <= letter <= "\udfff" for letter in given)


def _is_count(given: Any) -> bool:
    return type(given) is int and given >= 0


def _is_integer(given: Any, limit: int) -> bool:
    """Whether it is an integer from 0 to below a limit."""
    return type(given) is int and 0 <= given < limit


def _is_type(given: Any) -> bool:
    try:
        # NumPy does not read the name that it gives to strings, such as str32.
        is_text = isinstance(given, str) and given.removeprefix("str").isdigit()
        return is_text or (isinstance(given, str) and np.dtype(given).name == given)
    except TypeError:
        return False


def _is_word_or_names(given: Any) -> bool:
    if isinstance(given, list):
        return all(map(_is_text, given))
    return type(given) is bool


def _are_texts_by_name(given: Any) -> bool:
    if not isinstance(given, dict):
        return False
    return all(map(_is_text, given)) and all(map(_is_text, given.values()))


def _is_beside(given: Any) -> bool:
    if not isinstance(given, dict):
        return False
    return all(map(_is_text, given)) and all(map(_is_hash, given.values()))


@dataclass(frozen=True)
class _Later:
    """What records have that a later version wrote, or only those of results."""

    wanted: Any


# A mapping is checked key by key, and a list of one mapping entry by entry.
# What may be null is a pair of None and that.
_TENSOR: dict[str, Any] = {
    **dict.fromkeys(("name", "type"), _is_text),
    **{"shape": _is_shape, "sha256": _is_hash},
}
_INPUT = _TENSOR | {"type": _is_type, "filled": (None, _is_count)}
_INPUT |= dict.fromkeys(("base64", "argument"), (None, _is_text))
_OUTPUT = _TENSOR | {"kind": lambda given: given in (DRAWN, STATE, COMPUTED)}
_NODE = dict.fromkeys(("op_type", "output_type"), _is_text)
_STREAMS: dict[str, Any] = {
    **dict.fromkeys(("fingerprint", "state", "next_state"), _is_text),
    "batch": (None, _is_text),
    "nodes": [_NODE | dict.fromkeys(("global_seed", "op_seed"), _is_count)],
    "alignment": _Later(lambda given: given in list(generators.registered())),
    "batch_axis": _Later(_is_count),
    "inverted": _Later(_is_word_or_names),
}
_DOCUMENT: dict[str, Any] = {
    "versions": dict.fromkeys(("onnx_philox", "python", "platform"), _is_text),
    "model": {
        "file": (None, _is_text),
        "sha256": _is_hash,
        "beside": _is_beside,
        "per_row": _Later(_is_word_or_names),
        "invert_bernoulli": _Later(_is_word_or_names),
        "keep_seeds": _Later(lambda given: given is True),
        "draw": _Later(_are_texts_by_name),
    },
    "streams": (None, _STREAMS),
    **dict.fromkeys(("runtime", "version", "backend"), _is_text),
    **dict.fromkeys(("precision", "how"), (None, _is_text)),
    "seed": (None, _is_seed),
    "inputs": [_INPUT],
    "runs": [{"run": (None, _is_count), "state": (None, _is_state), "outputs": [_OUTPUT]}],
}


def _check(given: Any, where: str, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        if given is not None:
            _check(given, where, wanted[1])
    elif isinstance(wanted, dict):
        if not isinstance(given, dict):
            _refuse(where, shown(given))
        for key, inner in wanted.items():
            place = f"{where}.{key}" if where else key
            is_later = isinstance(inner, _Later)
            if key in given:
                _check(given[key], place, inner.wanted if is_later else inner)
            elif not is_later:
                _refuse(place, "nothing")
    elif isinstance(wanted, list):
        if not isinstance(given, list):
            _refuse(where, shown(given))
        for i, each in enumerate(given):
            _check(each, f"{where}[{i}]", wanted[0])
    elif not wanted(given):
        _refuse(where, shown(given))


def _refuse(where: str, what: str) -> NoReturn:
    raise ArgumentError(
        f"{where} must be as onnx-philox run --record or Result.record() wrote it: got {what}. "
        "Pass the record itself, with nothing changed in it."
    )
