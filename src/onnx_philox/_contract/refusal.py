"""A refusal: an exception that keeps its parts, and makes its sentence from them.

To change the sentence, make a new refusal from other parts; nobody edits the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Protocol, Self

from onnx_philox._contract.sentences import FORM

_SHOWN = 100


class RefusedInputError(ValueError):
    """Input that is refused, by a function, a `Pipeline`, a session or an operator in a runtime.

    The text is a sentence that says what must be, what was given and what to do. Where a runtime
    refuses, the exception is also of the runtime's own kind: `InvalidArgument` of ONNX Runtime, a
    RuntimeError of OpenVINO. It is also a TypeError where an array has another type, or is none.

    Examples:
        >>> import onnx_philox
        >>> try:
        ...     onnx_philox.row_states(-1, 0)
        ... except onnx_philox.RefusedInputError as error:
        ...     print(error)
        row_states: seeds must be an integer from 0 to 2^64-1: got -1. Pass an int in that range.
    """


class RefusalError(Exception):
    """A refusal of bad input, which is also a ValueError, a TypeError or an ImportError.

    Args:
        operator: The operator, function or command that refuses.
        what: The part of its input that is wrong.
        given: What that part is.
        allowed: What it may be.
        remedy: What to do, one or more sentences.

    Attributes:
        parts: The arguments that make the same refusal again.
    """

    def __init__(
        self,
        operator: str,
        what: str,
        given: Any,
        allowed: str,
        remedy: str,
    ) -> None:
        self.operator = operator
        self.what = what
        self.given = str(given)
        self.allowed = allowed
        self.remedy = remedy
        self.parts: tuple[Any, ...] = (operator, what, self.given, allowed, remedy)
        super().__init__(f"{operator}: {self.sentence}")

    @property
    def sentence(self) -> str:
        """The text without the operator, for callers that name it themselves."""
        return FORM.format(
            what=self.what,
            given=self.given,
            allowed=self.allowed,
            remedy=self.remedy,
        )

    @property
    def is_of_function(self) -> bool:
        """Whether a function of this package refuses, and not an operator or a command."""
        return self.operator.startswith("onnx_philox.")

    def within(self, place: str) -> Self:
        """The same refusal, for an operator in this place."""
        operator, *others = self.parts
        return type(self)(f"{place}: {operator}", *others)

    def by(self, operator: str) -> Self:
        """The same refusal, of a function that called the one which refused."""
        return type(self)(operator, *self.parts[1:])

    def __reduce__(self) -> tuple[Any, ...]:
        # Copying and pickling call the class with its parts, not with the text in `args`.
        return type(self), self.parts, self.__dict__


class ValueRefusalError(RefusalError, RefusedInputError):
    """A refusal of a wrong value."""


class TypeRefusalError(RefusalError, RefusedInputError, TypeError):
    """A refusal of a wrong type."""


@contextmanager
def refusing_as(operator: str) -> Iterator[None]:
    """A block whose refusals are this function's: a user called it, and not what it calls."""
    try:
        yield
    except RefusalError as error:
        raise error.by(operator) from None


@contextmanager
def door(name: str) -> Iterator[None]:
    """The body of a public function, by its name: what it calls refuses in that name.

    Refusals of operators, and of nodes, stay as they are: they say where in the model it is.
    """
    try:
        yield
    except RefusalError as error:
        if not error.is_of_function:
            raise
        raise error.by(name) from error.__cause__


def shown(value: Any) -> str:
    """A value of the user's for a message, cut short: it may be too long or deep to print."""
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested too deep"
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]}..."


class Named(Protocol):
    """An operator's declaration."""

    @property
    def name(self) -> str:
        """What a message calls it."""


def refuse(
    operator: Named | str,
    what: str,
    given: Any,
    allowed: str,
    remedy: str,
    error: type[ValueError | TypeError] = ValueError,
) -> NoReturn:
    """Raises a refusal with these parts, a ValueError or a TypeError."""
    kind = TypeRefusalError if error is TypeError else ValueRefusalError
    name = operator if isinstance(operator, str) else operator.name
    raise kind(name, what, given, allowed, remedy)
