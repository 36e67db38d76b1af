"""What is computed of dimensions, number by number, in ONNX and in OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx_philox._rewriting.places import Dimension, Products


def _computed(products: Products, how: str, *given: Dimension) -> Dimension:
    """A name for what is computed of numbers, which is negative at most where one of them is."""
    is_signed = any(map(products.may_be_negative, given))
    return products.computed((how, *given), given, is_signed=is_signed)


def _sum(products: Products, a: Dimension, b: Dimension) -> Dimension:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return products.sum([a, b])


def _difference(products: Products, a: Dimension, b: Dimension) -> Dimension:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int):
        return products.sum([a, -b])
    return products.computed(("difference", a, b), [a, b], is_signed=True)


def _product(products: Products, a: Dimension, b: Dimension) -> Dimension:
    made = products.of((a, b))
    return _computed(products, "product", a, b) if made is None else made


def _divided(a: Dimension, b: Dimension) -> tuple[int, int] | None:
    """The quotient and the rest, of numbers for which all rules are one."""
    if isinstance(a, int) and isinstance(b, int) and a >= 0 and b > 0:
        return divmod(a, b)
    return None


def _quotient(products: Products, a: Dimension, b: Dimension) -> Dimension:
    whole = _divided(a, b)
    if whole is not None:
        return whole[0]
    made = products.quotient((a,), (b,))
    # A difference may be 0: then it divided by itself is not 1.
    is_of_nothing = isinstance(made, int) and products.may_be_negative(b)
    if made is None or is_of_nothing:
        return _computed(products, "quotient", a, b)
    return made


def _rest(products: Products, a: Dimension, b: Dimension) -> Dimension:
    whole = _divided(a, b)
    return _computed(products, "rest", a, b) if whole is None else whole[1]


def _one_of(
    products: Products,
    how: str,
    of_numbers: Callable[[Sequence[int]], int],
    given: Sequence[Dimension],
) -> Dimension:
    """The least or the greatest of some."""
    numbers = [d for d in given if isinstance(d, int)]
    if len(numbers) == len(given):
        return of_numbers(numbers)
    return given[0] if len(set(given)) == 1 else _computed(products, how, *given)


def _least(products: Products, *given: Dimension) -> Dimension:
    return _one_of(products, "least", min, given)


def _greatest(products: Products, *given: Dimension) -> Dimension:
    return _one_of(products, "greatest", max, given)


def _equal(products: Products, a: Dimension, b: Dimension) -> Dimension:
    if a is None or b is None:
        return None
    if a == b:
        return 1
    if isinstance(a, int) and isinstance(b, int):
        return 0
    number, named = (a, b) if isinstance(a, int) else (b, a)
    if isinstance(number, int) and number < 0 and not products.may_be_negative(named):
        return 0
    return products.computed(("equal", a, b), [a, b])


def _chosen(
    products: Products,
    condition: Dimension,
    a: Dimension,
    b: Dimension,
) -> Dimension:
    if isinstance(condition, int):
        return a if condition else b
    return a if a == b else _computed(products, "chosen", condition, a, b)


SIZES: dict[str, Callable[..., Dimension]] = {
    "Add": _sum,
    "Div": _quotient,
    "Equal": _equal,
    "Max": _greatest,
    "Min": _least,
    "Mod": _rest,
    "Mul": _product,
    "Sub": _difference,
    "Where": _chosen,
}
"""By the names of ONNX's operators; None is what is not known."""
