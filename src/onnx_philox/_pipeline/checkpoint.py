"""A request's place in its stream, as JSON that any machine and runtime can go on from."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onnx_philox._contract import generators, given_arrays
from onnx_philox._contract.operators import STATE_WORDS
from onnx_philox._contract.refusal import refuse, shown
from onnx_philox._contract.state import is_one_state
from onnx_philox._contract.streams import Streams
from onnx_philox._pipeline import variables
from onnx_philox._pipeline.engine import Engine
from onnx_philox._pipeline.result import Seed
from onnx_philox._pipeline.variables import Variables

_VERSION = 1
_WITH_VARIABLES = 2
"""Of a model with variables, which earlier releases would leave out without a word."""
_OWNER = "Pipeline.request"
_REMEDY = "Pass what request.checkpoint() gave, or its JSON."

Checkpoint = dict[str, Any]


def checkpoint_of(
    engine: Engine,
    state: NDArray[np.uint32],
    seed: Seed | None,
    runs: int,
    held: Variables,
) -> Checkpoint:
    """The checkpoint of a request: numbers, lists and texts only."""
    written = {
        "onnx_philox": _VERSION,
        "model": engine.streams.fingerprint,
        "state": state.tolist(),
        "seed": list(seed) if isinstance(seed, tuple) else seed,
        "runs": runs,
    }
    if engine.model.variables:
        written |= {"onnx_philox": _WITH_VARIABLES, "variables": variables.written(held)}
    return written


def read_checkpoint(
    given: Any,
    engine: Engine,
) -> tuple[NDArray[np.uint32], Seed | None, int, Variables]:
    """The state, the seed, the number of runs and the variables of a checkpoint.

    Raises:
        ValueError: It is no checkpoint, or one of a model with other random nodes or variables.
    """
    streams = engine.streams
    if isinstance(given, str | bytes):
        try:
            given = json.loads(given)
        except ValueError as error:
            refuse(_OWNER, "resume", f"no JSON ({error})", "a checkpoint", _REMEDY)
        except RecursionError:
            refuse(_OWNER, "resume", "JSON that is nested too deep", "a checkpoint", _REMEDY)
    version = None
    if isinstance(given, dict):
        version = given.get("onnx_philox")
    # In Python, True and 1.0 equal 1.
    if type(version) is not int or version not in (_VERSION, _WITH_VARIABLES):
        what = f"version {shown(version)}" if isinstance(given, dict) else shown(given)
        allowed = f"a checkpoint of version {_VERSION} or {_WITH_VARIABLES}"
        refuse(_OWNER, "resume", what, allowed, _REMEDY)
    if given.get("model") != streams.fingerprint:
        what = f"one of a model with the fingerprint {shown(given.get('model'))}"
        allowed = f"a checkpoint of this model, {streams.fingerprint!r}"
        remedy = "Load the model that the checkpoint was made with: its random nodes are others."
        refuse(_OWNER, "resume", what, allowed, remedy)
    types = engine.model.variables
    if bool(types) != (version == _WITH_VARIABLES):
        allowed = f"a checkpoint of version {_VERSION}, since this model has no variables"
        if types:
            allowed = f"a checkpoint of version {_WITH_VARIABLES}, with {', '.join(types)}"
        remedy = "Load the model that the checkpoint was made with, in the same runtime."
        refuse(_OWNER, "resume", f"version {version}", allowed, remedy)
    state = words_of(given.get("state"), _OWNER, "resume's state", _REMEDY, streams)
    runs = given.get("runs")
    if type(runs) is not int or runs < 0:
        refuse(_OWNER, "resume's runs", shown(runs), "an integer of 0 or more", _REMEDY)
    what = "resume's variables"
    held = None
    if types:
        held = variables.read_variables(given.get("variables"), types, _OWNER, what, _REMEDY)
        if held is None and runs:
            allowed = f"those of {', '.join(types)} after {runs} runs"
            refuse(_OWNER, what, "null", allowed, _REMEDY)
    return state, _seed(given.get("seed"), state), runs, held


def _seed(given: Any, state: NDArray[np.uint32]) -> Seed | None:
    """A seed, or one for each row."""
    if given is None:
        return None
    is_right = _is_seed(given)
    if isinstance(given, list):
        has_rows = state.ndim > 1
        is_of_each = has_rows and len(given) == len(state)
        is_right = is_of_each and all(map(_is_seed, given))
    if not is_right:
        allowed = "null, a seed of 0 to 2^64-1, or one for each row"
        refuse(_OWNER, "resume's seed", shown(given), allowed, _REMEDY)
    return tuple(given) if isinstance(given, list) else given


def _is_seed(given: Any) -> bool:
    return type(given) is int and 0 <= given < 2**64


def words_of(
    given: Any,
    owner: str,
    what: str,
    remedy: str,
    streams: Streams,
) -> NDArray[np.uint32]:
    """The words of a state, or of one for each row.

    Raises:
        ValueError: They are anything else.
    """
    words = given_arrays.array_of(owner, what, given)
    is_rows = streams.batch is not None
    count = streams.generator.words
    if not is_rows and is_one_state(words.shape, count):
        words = words.reshape(-1)
    rank = 2 if is_rows else 1
    is_right = words.ndim == rank and words.shape[-1] == count
    is_integer = words.dtype.kind in "iu" and not _holds_bool(given)
    are_words = False
    if is_right and is_integer:
        are_words = bool(((words >= 0) & (words < 2**32)).all())
    if not are_words:
        many = "six" if count == STATE_WORDS else str(count)
        allowed = f"{many} words of 32 bits"
        if is_rows:
            allowed = f"words of 32 bits, {many} for each row"
        remedy = _other_kind(words, streams) or remedy
        refuse(owner, what, shown(given), allowed, remedy)
    # Its own: the caller may write into an array of theirs.
    state = np.array(words, np.uint32)
    streams.generator.check_words(owner, state)
    return state


def _other_kind(words: NDArray[Any], streams: Streams) -> str:
    """What to do about words that are a state, but not one of the model's kind; else empty."""
    rows = "" if streams.batch is None else ", one for each row"
    count = words.shape[-1] if words.ndim else None
    own = streams.generator
    every = generators.registered().values()
    other = None
    for each in every:
        if each.words == count or each.take_bytes(count):
            other = each
            break
    if other is None or other is own:
        return own.take_bytes(count)
    if own.is_named:
        return (
            f"{count} words are a {other.state.__name__}, and the model draws {own.whose}: pass "
            f"{own.made.removesuffix('.to_array()')}{rows}."
        )
    start = "row_states(seeds)" if rows else "PhiloxState.for_run(seed)"
    return (
        f"That is a state of {other.owner}'s, and the model draws {own.whose}: pass {start}, or "
        f"rewrite the model that this one was made from with alignment={other.alignment!r}."
    )


def _holds_bool(given: Any) -> bool:
    """Whether lists hold True or False, which NumPy counts with."""
    if isinstance(given, list | tuple):
        return any(map(_holds_bool, given))
    return isinstance(given, bool)
