"""Check the arguments of public functions before they run, by their annotations.

Function → the same function, which raises `InputError` for any other value. What a type cannot
express has a check of its own: a seed, a whole number of at least one, an array of numbers, a fit.
"""

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, cast, get_type_hints

import numpy as np

from hmetad.errors import InputError
from hmetad.kinds import MOST_WHOLE, array_kind, is_instance, is_number, is_whole, kind_of

__all__ = [
    "Check",
    "arrays_of_numbers",
    "check_inputs",
    "describe_value",
    "finite",
    "number_text",
    "of_type",
    "probability",
    "refuse_same_names",
    "row_labels",
    "seed_or_none",
    "whole",
    "with_posterior",
    "with_submit",
    "with_variables",
]

type Check = Callable[[str, Any], object]
LONGEST = 100


class ArgumentCheck(NamedTuple):
    """Check of one argument; its default value is not checked."""

    check: Check
    default: object


class CallChecks(NamedTuple):
    """Checks of the arguments of a function: by position, by name, of `*args` and of `**kwargs`."""

    positional: tuple[tuple[str, ArgumentCheck], ...]
    named: Mapping[str, ArgumentCheck]
    more: tuple[str, ArgumentCheck] | None
    others: ArgumentCheck | None


def check_inputs[F: Callable[..., Any]](
    *, skip: Sequence[str] = (), **checks: Check
) -> Callable[[F], F]:
    """Decorator: check the arguments of a function by its annotations.

    Parameters
    ----------
    skip : sequence of str, optional
        Arguments that the function checks itself; they are not checked here.
    **checks : callable
        Checks by the name of an argument, in place of its annotation. A check takes name and
        value, and raises `InputError`; its return value is not used.

    Returns
    -------
    callable
        Decorator. The function keeps its name, signature and docstring; annotations are read at
        the first call. Missing and unknown arguments raise the errors of Python.

    Examples
    --------
    >>> @check_inputs(n=whole(1))
    ... def repeated(text: str, n: int = 1) -> str:
    ...     return text * n
    >>> repeated("a", n=2)
    'aa'
    >>> repeated(b"a")
    Traceback (most recent call last):
    hmetad.errors.InputError: text: got b'a', allowed is text.
    >>> repeated("a", n=0)
    Traceback (most recent call last):
    hmetad.errors.InputError: n: got 0, allowed is a whole number of at least 1.
    """

    def decorated(function: F) -> F:
        @cache
        def call_checks() -> CallChecks:
            return checks_of(function, skip, checks)

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            check_call(call_checks(), args, kwargs)
            return function(*args, **kwargs)

        return cast(F, wrapper)

    return decorated


def whole(least: int, most: int = MOST_WHOLE - 1) -> Check:
    """Check for a whole number between two limits.

    Examples
    --------
    >>> whole(1, 1000)("n", 5000)
    Traceback (most recent call last):
    hmetad.errors.InputError: n: got 5000, allowed is a whole number from 1 to 1000.
    """
    allowed = f"a whole number of at least {least}"
    if most < MOST_WHOLE - 1:
        allowed = f"a whole number from {least} to {most}"

    def check(argument: str, value: object) -> None:
        if not is_whole(value) or not least <= cast(int, value) <= most:
            raise InputError(argument, describe_value(value), allowed)

    return check


def finite(argument: str, value: object) -> None:
    """Refuse what is no finite number.

    Examples
    --------
    >>> finite("null", float("inf"))
    Traceback (most recent call last):
    hmetad.errors.InputError: null: got inf, allowed is a finite number.
    """
    if not is_number(value) or not np.isfinite(float(cast(float, value))):
        raise InputError(argument, describe_value(value), "a finite number")


def probability(argument: str, value: object) -> None:
    """Refuse what is no number between 0 and 1, ends excluded.

    Examples
    --------
    >>> probability("ci_prob", 95)
    Traceback (most recent call last):
    hmetad.errors.InputError: ci_prob: got 95, allowed is a probability between 0 and 1.
    """
    if not is_number(value) or not 0 < cast(float, value) < 1:
        raise InputError(argument, describe_value(value), "a probability between 0 and 1")


def seed_or_none(argument: str, value: object) -> None:
    """Refuse what is neither None, nor a whole number of at least 0, of any size, nor a Generator.

    Examples
    --------
    >>> seed_or_none("seed", -1)
    Traceback (most recent call last):
    hmetad.errors.InputError: seed: got -1, allowed is None or a whole number of at least 0.
    """
    if value is None or isinstance(value, np.random.Generator):
        return
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or cast(int, value) < 0:
        raise InputError(argument, describe_value(value), "None or a whole number of at least 0")


def arrays_of_numbers(argument: str, value: Any) -> None:
    """Refuse what is no number and no array of numbers; None stands for nothing given.

    Examples
    --------
    >>> arrays_of_numbers("accuracy", ["0.7", "0.8"])
    Traceback (most recent call last):
    hmetad.errors.InputError: accuracy: got ['0.7', '0.8'], allowed is numbers, one or an array \
of them.
    """
    if value is not None and array_kind(value) not in "biuf":
        raise InputError(argument, describe_value(value), "numbers, one or an array of them")


def with_posterior(argument: str, value: Any) -> None:
    """Refuse what is no fit: a tree of draws with the group "posterior".

    Examples
    --------
    >>> with_posterior("fit", None)
    Traceback (most recent call last):
    hmetad.errors.InputError: fit: got None, allowed is a fit, with draws in its group \
'posterior'. Pass what fit or load_fit returns.
    """
    posterior = getattr(value, "children", {}).get("posterior") if is_instance(value) else None
    if posterior is None or not {"chain", "draw"} <= {*posterior.dims}:
        allowed = "a fit, with draws in its group 'posterior'"
        raise InputError(
            argument, describe_value(value), allowed, "Pass what fit or load_fit returns."
        )


def with_submit(argument: str, value: object) -> None:
    """Refuse what cannot be given work; None stands for nothing given.

    Examples
    --------
    >>> with_submit("executor", "localhost")
    Traceback (most recent call last):
    hmetad.errors.InputError: executor: got 'localhost', allowed is an executor of \
concurrent.futures, a distributed.Client, or something else with submit.
    """
    if value is not None and not callable(getattr(value, "submit", None)):
        allowed = "an executor of concurrent.futures, a distributed.Client, or something else"
        raise InputError(argument, describe_value(value), f"{allowed} with submit")


def with_variables(*names: str, dim: str, made_by: str) -> Check:
    """Check for a Dataset with some variables and a dim that has labels.

    Parameters
    ----------
    *names : str
        Variables that it holds.
    dim : str
        A dim that it has, with a coordinate.
    made_by : str
        Functions that return such a Dataset, for the message.

    Examples
    --------
    >>> with_variables("rank", dim="cell", made_by="rank")("ranks", {"rank": 1})
    Traceback (most recent call last):
    hmetad.errors.InputError: ranks: got {'rank': 1}, allowed is a Dataset of rank, \
with rank and dim cell.
    """

    def check(argument: str, value: Any) -> None:
        named = " and ".join([", ".join(names), f"dim {dim}"] if names else [f"dim {dim}"])
        allowed = f"a Dataset of {made_by}, with {named}"
        if not is_instance(value) or type(value).__name__ != "Dataset":
            raise InputError(argument, describe_value(value), allowed)
        lacking = [name for name in names if name not in value.data_vars]
        lacking += [dim] if dim not in value.dims or dim not in value.coords else []
        if lacking:
            raise InputError(argument, f"one without {', '.join(lacking)}", allowed)

    return check


def describe_value(value: object) -> str:
    """Describe a value in a few words: plain values as written, others by their type.

    Examples
    --------
    >>> describe_value("a"), describe_value(np.zeros((2, 3))), describe_value(int)
    ("'a'", 'an array of shape (2, 3)', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, int) and abs(value) >= 2**200:
        return f"an integer of {value.bit_length()} bits"
    plain = (str, bytes, bool, int, float, complex, np.generic, list, tuple, set, frozenset, dict)
    if value is None or isinstance(value, plain):
        return SHORT.repr(value)
    return type(value).__name__


class Short(reprlib.Repr):
    """Writes plain values short."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = LONGEST
        self.maxlong = 60


SHORT = Short()


def checks_of(
    function: Callable[..., Any], skip: Sequence[str], checks: Mapping[str, Check]
) -> CallChecks:
    """Checks of the arguments of a function, from its annotations and the named checks."""
    hints = get_type_hints(function)
    parameters = signature(function).parameters
    unknown = {*skip, *checks} - {*parameters}
    assert not unknown, f"no arguments of {function.__qualname__}: {unknown}"
    by_name = {
        name: ArgumentCheck(
            of_type(Any) if name in skip else checks.get(name) or of_type(hints.get(name, Any)),
            parameter.default,
        )
        for name, parameter in parameters.items()
    }
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    more = [name for name, kind in kinds.items() if kind is Parameter.VAR_POSITIONAL]
    others = [name for name, kind in kinds.items() if kind is Parameter.VAR_KEYWORD]
    return CallChecks(
        tuple((name, one) for name, one in by_name.items() if kinds[name] in by_place),
        {name: one for name, one in by_name.items() if name not in {*more, *others}},
        (more[0], by_name[more[0]]) if more else None,
        by_name[others[0]] if others else None,
    )


def check_call(checks: CallChecks, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Check the arguments of a call; unknown and missing ones are left to Python."""
    for (name, one), value in zip(checks.positional, args, strict=False):
        if value is not one.default:
            one.check(name, value)
    if checks.more is not None:
        for value in args[len(checks.positional) :]:
            checks.more[1].check(checks.more[0], value)
    for name, value in kwargs.items():
        named = checks.named.get(name, checks.others)
        if named is not None and value is not named.default:
            named.check(name, value)


def row_labels(rows: Iterable[Iterable[object]]) -> list[str]:
    """Labels of rows: their values, joined; long numbers are rounded where labels stay unlike.

    Examples
    --------
    >>> row_labels([("a", 19.88888888888889), ("b", 0.125)])
    ['a | 19.89', 'b | 0.125']
    """
    whole, short = [], []
    for row in rows:
        values = list(row)
        whole.append(" | ".join(map(str, values)))
        short.append(" | ".join(map(number_text, values)))
    return short if len(set(short)) == len(set(whole)) else whole


def number_text(value: object) -> str:
    """A value as text; numbers of more than six digits are rounded to four, or to whole ones."""
    if not isinstance(value, float) or not np.isfinite(value) or float(f"{value:.6g}") == value:
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def refuse_same_names(columns: Iterable[Hashable], results: Iterable[Hashable]) -> None:
    """Refuse grouping columns with the name of a variable of the result.

    Parameters
    ----------
    columns : iterable of str
        Grouping columns, or all coordinates of the cells or pairs.
    results : iterable of str
        Names of the result.

    Examples
    --------
    >>> refuse_same_names(["model", "trials"], ["trials", "auroc2"])
    Traceback (most recent call last):
    hmetad.errors.InputError: by: got 'trials', allowed is a name that no result \
has. Rename it, by={'my_trials': 'trials'} when counting or .rename(trials='my_trials') later.
    """
    taken = {*results}
    for name in columns:
        if name in taken:
            step = (
                f"Rename it, by={{'my_{name}': {name!r}}} when counting or "
                f".rename({name}='my_{name}') later."
            )
            raise InputError("by", repr(name), "a name that no result has", step)


def of_type(annotation: Any) -> Check:
    """Check that a value fits an annotation.

    Examples
    --------
    >>> of_type(str)("kind", ["difference"])
    Traceback (most recent call last):
    hmetad.errors.InputError: kind: got ['difference'], allowed is text.
    """
    kind = kind_of(annotation)

    def check(argument: str, value: Any) -> None:
        if not kind.holds(value):
            step = ""
            if isinstance(value, set | frozenset) and "list" in kind.words:
                step = "A set has no order: pass a list."
            raise InputError(argument, describe_value(value), kind.words, step)

    return check
