"""Checks of arguments that no annotation expresses: a seed, a probability, a fit.

Name of an argument, value → nothing, or `InputError`.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from hmetad.base.errors import KindError, describe_value

type Check = Callable[[str, Any], object]

MOST_WHOLE = 2**63
NOT_ARRAYS = (bytes, bytearray, memoryview, Mapping, set, frozenset, type)


def check_that(holds: Callable[[Any], bool], allowed: str, next_step: str = "") -> Check:
    """Check that a value has a property, which the words name."""

    def check(argument: str, value: object) -> None:
        if not holds(value):
            raise KindError(argument, describe_value(value), allowed, next_step)

    return check


def whole(least: int, most: int = MOST_WHOLE - 1) -> Check:
    """Check for a whole number between two limits.

    Examples
    --------
    >>> whole(1, 1000)("n", 5000)
    Traceback (most recent call last):
    hmetad.InputError: n: Expected a whole number from 1 to 1000, got 5000.
    """
    is_open = most == MOST_WHOLE - 1
    words = f"of at least {least}" if is_open else f"from {least} to {most}"
    return check_that(lambda x: is_whole(x) and least <= x <= most, f"a whole number {words}")


def with_variables(*names: str, dim: str, made_by: str) -> Check:
    """Check for a Dataset with some variables and a labelled dim; `made_by` says what returns it.

    Examples
    --------
    >>> with_variables("rank", dim="cell", made_by="rank")("ranks", {"rank": 1})
    Traceback (most recent call last):
    hmetad.InputError: ranks: Expected a Dataset of rank, with rank and dim cell, got {'rank': \
1}.
    """
    named = " and ".join(filter(None, [", ".join(names), f"dim {dim}"]))
    allowed = f"a Dataset of {made_by}, with {named}"

    def check(argument: str, value: Any) -> None:
        if type(value).__name__ != "Dataset":
            raise KindError(argument, describe_value(value), allowed)
        lacking = [name for name in names if name not in value.data_vars]
        lacking += [dim] if dim not in value.dims or dim not in value.coords else []
        if lacking:
            raise KindError(argument, f"one without {', '.join(lacking)}", allowed)

    return check


def has_draws(value: Any) -> bool:
    """Whether a value is a fit: a tree of draws with the group "posterior"."""
    children = {} if isinstance(value, type) else getattr(value, "children", {})
    return "posterior" in children and {"chain", "draw"} <= {*children["posterior"].dims}


def is_seed(value: Any) -> bool:
    """Whether a value is None, a whole number of at least 0, of any size, or a Generator."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return bool(value >= 0)
    return value is None or isinstance(value, np.random.Generator)


def is_whole(value: object) -> bool:
    """Whether a value is an integer of 64 bits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -MOST_WHOLE <= value < MOST_WHOLE
    return isinstance(value, np.integer)


def is_number(value: object) -> bool:
    """Whether a value is a number, and not NaN."""
    return bool(value == value) if isinstance(value, float | np.floating) else is_whole(value)


def array_kind(value: Any) -> str:
    """NumPy's letter for the numbers or texts in an array; "V" for what is none."""
    array = value
    if not isinstance(getattr(value, "dtype", None), np.dtype) or isinstance(value, type):
        if value is None or callable(value) or isinstance(value, NOT_ARRAYS):
            return "V"
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            return "V"
    if array.dtype.kind != "O":
        return str(array.dtype.kind)
    items = np.asarray(array, dtype=object).ravel().tolist()
    if all(isinstance(x, bool | int | float | np.number) for x in items):
        plain = all(isinstance(x, bool) or is_number(x) or x != x for x in items)
        return "f" if plain else "V"
    return "O" if all(isinstance(x, Hashable) for x in items) else "V"


finite = check_that(lambda x: is_number(x) and bool(np.isfinite(float(x))), "a finite number")
positive = check_that(lambda x: is_number(x) and 0 < x < np.inf, "a finite number above 0")
probability = check_that(lambda x: is_number(x) and 0 < x < 1, "a probability between 0 and 1")
seed_or_none = check_that(is_seed, "None or a whole number of at least 0")
share_or_none = check_that(
    lambda x: x is None or (is_number(x) and 0 < x <= 1), "None or a share above 0 and up to 1"
)
cost = check_that(lambda x: is_number(x) and 0 <= x < np.inf, "a finite number ≥ 0")
cost_or_none = check_that(
    lambda x: x is None or (is_number(x) and 0 <= x < np.inf), "None or a finite number ≥ 0"
)
# None stands for nothing given.
arrays_of_numbers = check_that(
    lambda x: x is None or array_kind(x) in "biuf", "numbers, one or an array of them"
)
with_submit = check_that(
    lambda x: x is None or callable(getattr(x, "submit", None)),
    "an executor of concurrent.futures, a distributed.Client, or something else with submit",
)
with_posterior = check_that(
    has_draws,
    "a fit, with draws in its group 'posterior'",
    "Pass what fit or load_fit returns.",
)
