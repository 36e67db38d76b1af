"""Extracts what a runtime or a library itself says in an error, without its wrapping.

An error that has crossed a runtime is only a text. No other module takes texts of errors apart.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, ClassVar

from onnx_philox._contract.operators import OPERATORS
from onnx_philox._contract.refusal import RefusedInputError, TypeRefusalError, ValueRefusalError
from onnx_philox._contract.streams import ROWS_CHECK

_ONNXRUNTIME_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
_ONNXRUNTIME_LOAD = "Exception during initialization: "
# The place in its sources, and the function with the types of its arguments.
_ONNXRUNTIME_PLACE = re.compile(r"^\S+\.(cc|h):\d+ .+?\) (?=[A-Z])")
# What it says of a node, with the types of its values, before what is wrong with it.
_ONNXRUNTIME_INVALID = re.compile(r"^This is an invalid model\. In Node, \(.* , Error (?=No Op )")
_ONNXRUNTIME_NODE = re.compile(r" node with name '.*'$")
# pybind11's list of the Python frames.
_FRAMES = re.compile(r"\n\nAt:\n.*?(?=\n\n|\Z)", re.DOTALL)
_OPENVINO_NODE = re.compile(r"^While validating ONNX node '<.*?>'(: |:$)")
_OPENVINO_WAY = re.compile(r"^(Exception from |Check '|While validating |-- )")
# OpenVINO's text when only its summary says more.
_SAYS_NOTHING = "Model wasn't fully converted."
_KINDS = (ValueError, TypeError, ValueRefusalError, TypeRefusalError)
_KIND_NAMES = "|".join(kind.__name__ for kind in _KINDS)
_EXCEPTION = re.compile(rf"^({_KIND_NAMES}): ")
_ONNXRUNTIME_STATUS = " Status Message: "
_OPERATORS = tuple(f"{name}: " for name in OPERATORS)
_ROWS = re.compile(ROWS_CHECK + r"[^'\" ]+")


def sentence(text: str) -> str:
    """The sentence in an ONNX Runtime or OpenVINO error that says what is wrong.

    ONNX Runtime puts its codes and the node around it. OpenVINO adds the files and checks on the
    way to it, a summary, and for an operator written in Python the frames.

    Examples:
        >>> sentence("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation "
        ...          "for RandomUniform(22) node with name 'noise'")
        'Could not find an implementation for RandomUniform(22)'
    """
    text = _ONNXRUNTIME_CODE.sub("", text.strip())
    text = text.removeprefix(_ONNXRUNTIME_LOAD)
    _, _, text = text.rpartition(_ONNXRUNTIME_STATUS)
    text = _ONNXRUNTIME_INVALID.sub("", text)
    text = _ONNXRUNTIME_NODE.sub("", text)
    text = _ONNXRUNTIME_PLACE.sub("", text)
    text = _FRAMES.sub("", text)
    before, _, summary = text.partition("\nSummary:")
    lines = [_OPENVINO_NODE.sub("", line.strip()) for line in before.splitlines()]
    lines = [line for line in lines if line]
    told = [line for line in lines if not _OPENVINO_WAY.match(line)]
    if not told or told[-1] == _SAYS_NOTHING:
        summed_up = [line.removeprefix("-- ").strip() for line in summary.splitlines()]
        summed_up = [line for line in summed_up if line]
        told = summed_up[:1] or told or lines
    if not told:
        return ""
    return _EXCEPTION.sub("", told[-1])


class _InRuntimeError(RefusedInputError):
    """A refusal in a runtime, which is also of the kinds that the runtime raises."""

    kinds: ClassVar[tuple[type[Exception], ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        return refused, (str(self), *self.kinds)


@cache
def _class_of(kinds: tuple[type[Exception], ...]) -> type[RefusedInputError]:
    first = kinds[0]
    name = first.__name__
    if first.__module__ == "builtins":
        name = RefusedInputError.__name__
    fields = {
        "__module__": "onnx_philox",
        "__doc__": _InRuntimeError.__doc__,
        "kinds": kinds,
    }
    return type(name, (_InRuntimeError, *kinds), fields)


def refused(text: str, *kinds: type[Exception]) -> RefusedInputError:
    """A refusal with this text that is also of these kinds, one or more."""
    # It is a ValueError already.
    others = [kind for kind in kinds if not issubclass(kind, ValueError)]
    # Each kind once, in their order.
    kind = _class_of(tuple(dict.fromkeys(others)))
    return kind(text)


def refusal(error: Exception) -> str | None:
    """What one of our operators refused in a runtime's run; None of any other error.

    The check of a state for each row, which is a node of ONNX, is one of ours by its name.
    """
    said = sentence(str(error))
    if said.startswith(_OPERATORS):
        return said
    check = _ROWS.search(str(error))
    if check is None:
        return None
    return f"{check.group()}: {said}"


def raise_refusal(error: Exception) -> None:
    """Raises what one of our operators refused in a runtime's run; nothing for another error."""
    text = None if isinstance(error, RefusedInputError) else refusal(error)
    if text is not None:
        raise refused(text, type(error)) from error


def raise_of_feed(owner: str, runtime: str, error: Exception) -> None:
    """Raises what a runtime says of a feed that its nodes do not take; nothing of other errors."""
    if not _is_said_by(runtime, error):
        return
    text = (
        f"{owner}: the feed must be one that every node of the model takes: got one that {runtime} "
        f"refuses ({sentence(str(error)).rstrip('.')}). Correct the shapes or values of its inputs."
    )
    raise refused(text, type(error)) from error


def raise_not_loaded(owner: str, runtime: str, error: Exception) -> None:
    """Raises what a runtime says of a model that it does not load; nothing of other errors."""
    if not _is_said_by(runtime, error) or refusal(error) is not None:
        return
    text = (
        f"{owner}: the model must be one that the runtime loads: got another. "
        f"{in_the_way(runtime, str(error))} Run onnx-philox inspect, which tries each runtime."
    )
    raise refused(text, type(error)) from error


def _is_said_by(runtime: str, error: Exception) -> bool:
    """Whether an error is a runtime's own, and says something of what it was given."""
    is_runtime_s = isinstance(error, RuntimeError)
    is_runtime_s |= type(error).__module__.startswith(runtime)
    # A machine without memory is no fault of a model or a feed.
    is_ours = isinstance(error, RefusedInputError)
    return is_runtime_s and not is_ours and "alloc" not in str(error)


def refusal_in_openvino(error: RuntimeError) -> str:
    """The refusal of one of our native operators: the text after the line with the place in C++."""
    _, _, text = str(error).partition("\n")
    return text.strip()


def without_operator(error: RefusedInputError) -> str:
    """What one of our operators refused, for users who know no operator of ours."""
    text = str(error)
    if text.startswith(_OPERATORS):
        return text.partition(": ")[2]
    return text


def in_the_way(runtime: str, reason: str) -> str:
    """What to say of a runtime that does not load a model, for a reason in its own words."""
    said = sentence(reason).rstrip(".")
    return f"{runtime} does not load the model: {said}. A rewrite does not change that."


def first_line(error: Exception) -> str:
    """The first line of another library's error, or the name of an empty one; no full stop."""
    first, *_ = str(error).splitlines() or [type(error).__name__]
    return first.rstrip(".")


def first_sentence(error: Exception) -> str:
    """The first sentence of another library's error, without its advice; no full stop."""
    return re.split(r"(?<!\be\.g)\. ", first_line(error))[0]
