"""Check trials and count tables; errors say what to do next.

Columns, labels and ratings of a DataFrame of trials, or a count table → the same, or InputError.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.counts.alike import refuse_unwritable
from hmetad.counts.codes import code_step, level_ratings, level_step, listed, suspected_codes
from hmetad.counts.correctness import (
    refuse_correctness_names,
    type2_measures,
)
from hmetad.errors import InputError, nearest
from hmetad.rows.rows import Rows

__all__ = [
    "STIMULI",
    "TYPE1_DIMS",
    "TYPE2_DIMS",
    "Label",
    "check_trials",
    "open_probability",
    "plain_array",
    "rating_numbers",
    "refuse_falling_ratings",
    "refuse_impossible_counts",
    "require_stimulus",
    "table_dims",
    "whole_number",
]

Label = str | int | float | bool

STIMULI = ("S1", "S2")
TYPE1_DIMS = ("stimulus", "response", "rating")
TYPE2_DIMS = ("correct", "rating")
MAX_RATINGS = 1000
MAX_INFERRED_RATINGS = 20


def check_trials(
    rows: Rows, roles: Mapping[str, str], by: Sequence[str], covariates: Sequence[str]
) -> None:
    """Refuse trials whose columns do not fit their roles, by their names.

    Parameters
    ----------
    rows : Rows
        One per trial.
    roles : mapping
        The columns of ``"stimulus"``, ``"response"`` and ``"confidence"``.
    by, covariates : sequence of str
        The other columns in use.

    Raises
    ------
    InputError
        If a column is missing or has two roles; if correctness stands in for stimulus or response.

    Examples
    --------
    >>> from hmetad.rows.sources import rows_of
    >>> roles = {"stimulus": "truth", "response": "answer", "confidence": "sure"}
    >>> rows = rows_of(pd.DataFrame({"truth": [1], "answers": [1], "sure": [2]}))
    >>> check_trials(rows, roles, [], [])
    Traceback (most recent call last):
    hmetad.errors.InputError: response: got 'answer', allowed is a column of the trials. Did you \
mean 'answers'?
    """
    grouping = [("by", name) for name in by] + [("covariates", name) for name in covariates]
    check_roles(rows.columns, [*roles.items(), *grouping])
    refuse_correctness_names(roles["stimulus"], roles["response"])


def rating_numbers(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    confidence: str,
    ratings: int | None,
    quantiles: int | None = None,
    levels: Sequence[str | float] | None = None,
) -> tuple[NDArray[np.int64], int, str]:
    """Ratings 1..K of the rows, K, and the rule that K comes from.

    Row i of `groups` stands for n[i] trials.

    Examples
    --------
    >>> rating_numbers(pd.DataFrame({"sure": [1.0, 3.0]}), np.array([3, 5]), "sure", None)
    (array([1, 3]), 3, "K = 3, the largest in column 'sure'")
    """
    argument = f"confidence column {confidence!r}"
    if levels is not None:
        for name, other in (("ratings", ratings), ("quantiles", quantiles)):
            if other is not None:
                raise InputError("levels", f"it beside {name}", "one of the two")
        K = len(listed("levels", levels))
        rating = level_ratings(argument, groups[confidence].tolist(), n, levels)
        names = ", ".join(map(str, levels))
        return rating, K, f"K = {K}, the levels {names} of column {confidence!r}"
    named = [value for value in groups[confidence].tolist() if isinstance(value, str | bool)]
    if named and not isinstance(named[0], str):
        step = "Name the levels, the least confident first: levels=[False, True]."
        raise InputError(argument, f"booleans such as {named[0]!r}", "integers 1..K", step)
    if named:
        raise text_as_confidence(argument, groups[confidence], n, "integers 1..K")
    array = plain_array(argument, groups[confidence])
    refuse_fractions(confidence, array, n)
    # Clipped, since a float beyond 64 bits has no integer; it is out of range in any case.
    rating = np.clip(array, -(2**53), 2**53).astype(np.int64)
    K = int(rating.max()) if ratings is None else whole_number("ratings", ratings, 1)
    most = MAX_INFERRED_RATINGS if ratings is None and quantiles is None else MAX_RATINGS
    suspects = suspected_codes(array, n)
    if suspects and ratings is None and (most < K or rating.min() < 1):
        refuse_out_of_range(argument, rating, n, int(max({*rating} - {*suspects})), suspects)
    if most < K:
        step = "Percentages and the like become ratings by quantiles=4, or by bin_confidence."
        if ratings is not None:
            raise InputError("ratings", f"{K}", f"at most {most}", step)
        step = f"{level_step(array)} {step}".lstrip()
        allowed = f"at most {most} ratings unless ratings= says so"
        raise InputError(argument, f"ratings up to {K}", allowed, step)
    refuse_out_of_range(argument, rating, n, K, suspects, ratings is None)
    rule = f"the largest in column {confidence!r}" if ratings is None else "given"
    if quantiles is not None and ratings is None:
        rule = f"quantiles of column {confidence!r}"
    return rating, K, f"K = {K}, {rule}"


def text_as_confidence(
    argument: str, values: pd.Series, n: NDArray[np.int64] | None, allowed: str
) -> InputError:
    """Error for a column of confidence with text, which names the first that is no number.

    Value i stands for n[i] trials; without n nothing is counted.

    Examples
    --------
    >>> error = text_as_confidence(
    ...     "confidence", pd.Series(["0.7", "high"]), np.array([3, 1]), "numbers"
    ... )
    >>> error.got
    "text such as 'high' (1 of 4 values are no numbers)"
    """
    texts = values.map(lambda value: value if isinstance(value, str) else np.nan).astype(object)
    is_odd = (texts.notna() & pd.to_numeric(texts, errors="coerce").isna()).to_numpy()
    odd = texts[is_odd]
    shown = next(iter(odd if len(odd) else texts.dropna()))
    counted = ""
    if n is not None and len(odd):
        total = int(n[values.notna().to_numpy()].sum())
        counted = f" ({int(n[is_odd].sum()):,} of {total:,} values are no numbers)"
    words = sorted({*texts.dropna()})
    named = f" {', '.join(map(repr, words))}" if len(words) <= MAX_INFERRED_RATINGS else ""
    step = f"Name the levels{named} in order, the least confident first, by levels=."
    # Of numbers with a sign or in sentences the numbers can be read; a few words are mistakes.
    if odd.str.contains(r"\d").any() or len(odd) < values.notna().sum():
        step = (
            "`hmetad import table FILE --scale probability -o trials.csv` reads confidence from "
            "text such as 83%, and counts what it cannot read, which becomes a missing value; "
            "--scale percent where bare numbers are percentages."
        )
    return InputError(argument, f"text such as {shown!r}{counted}", allowed, step)


def plain_array(name: str, values: Iterable[object]) -> NDArray[Any]:
    """NumPy array of text, integers, floats or booleans; one of them, never objects.

    Examples
    --------
    >>> plain_array("age", pd.Series([30, 41], dtype="Int64"))
    array([30, 41])
    """
    items = [value.item() if isinstance(value, np.generic) else value for value in list(values)]
    kinds = {type(value) for value in items}
    dtypes: dict[type, type] = {str: np.str_, bool: np.bool_, int: np.int64, float: np.float64}
    refuse_unwritable(name, (value for value in items if isinstance(value, str)))
    if len(kinds) == 1 and kinds <= dtypes.keys():
        try:
            return np.array(items, dtype=dtypes[kinds.pop()])
        except OverflowError as error:
            raise InputError(name, "integers beyond 64 bits", "64-bit integers or text") from error
    if kinds <= {int, float}:
        return np.array(items, dtype=np.float64)
    got = "values of type " + " and ".join(sorted(kind.__name__ for kind in kinds))
    allowed = "one of text, integers, numbers and booleans"
    raise InputError(name, got, allowed, "Convert the column, for instance by .astype(str).")


def require_stimulus(counts: xr.DataArray, used_by: str) -> None:
    """Refuse what is no count table, and name the measures of a type-2 table.

    Parameters
    ----------
    counts : DataArray
        The argument; a count table has the dims stimulus, response and rating, and maybe more.
    used_by : str
        Name of the function that needs the stimulus, for the message.

    Raises
    ------
    InputError
        If `counts` is no DataArray, lacks one of the dims, has other stimuli or responses than S1
        and S2 in this order, ratings that do not rise, or counts below 0 or missing. The counts
        of a lazy table are not checked.

    Examples
    --------
    >>> table = xr.DataArray([[3, 9]], dims=["correct", "rating"])
    >>> require_stimulus(table, "sdt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    hmetad.errors.InputError: counts: got a type-2 table with dims (correct, rating), allowed is a \
count table with dims stimulus, response and rating. sdt needs the stimulus, which a table of \
right and wrong answers does not have. With correctness in its place M-ratio is mostly near 1, \
whatever the truth. To this table apply measures of correctness and confidence alone: auroc2, ...
    """
    allowed = "a count table with dims stimulus, response and rating"
    start = "Make one with count_trials or from_nr."
    if not isinstance(counts, xr.DataArray):
        raise InputError("counts", type(counts).__name__, allowed, start)
    dims = f"dims ({', '.join(map(str, counts.dims))})"
    if "correct" in counts.dims:
        step = (
            f"{used_by} needs the stimulus, which a table of right and wrong answers does not "
            "have. With correctness in its place M-ratio is mostly near 1, whatever the truth. To "
            f"this table apply {type2_measures()}."
        )
        raise InputError("counts", f"a type-2 table with {dims}", allowed, step)
    if not set(TYPE1_DIMS) <= set(counts.dims):
        raise InputError("counts", dims, allowed, start)
    refuse_other_stimuli(counts)
    refuse_falling_ratings(counts)
    if counts.chunks is None:
        refuse_impossible_counts(counts)


def refuse_other_stimuli(counts: xr.DataArray) -> None:
    """Refuse stimuli or responses that are not S1 and S2 in order: they are read by position."""
    for dim in ("stimulus", "response"):
        labels = counts[dim].to_numpy().tolist() if dim in counts.coords else list(STIMULI)
        if labels != list(STIMULI) or counts.sizes[dim] != len(STIMULI):
            got = f"{counts.sizes[dim]} labels in dim {dim}: {labels}"
            step = f"Name them, the first as S1: counts.assign_coords({dim}=['S1', 'S2'])."
            if {*STIMULI} <= {*labels} and dim in counts.coords:
                step = f"Put them in order: counts.sel({dim}=['S1', 'S2'])."
            raise InputError("counts", got, "S1 and S2, in this order", step)


def refuse_falling_ratings(counts: xr.DataArray) -> None:
    """Refuse ratings that do not rise, since ratings are read by position.

    Examples
    --------
    >>> refuse_falling_ratings(xr.DataArray([3, 9], {"rating": [1, 2]}, ["rating"]))
    """
    if "rating" not in counts.coords:
        return
    rating = counts["rating"].to_numpy()
    is_number = rating.dtype.kind in "iuf"
    if not is_number or not (rating[1:] > rating[:-1]).all() or (rating != rating).any():
        step = "counts.sortby('rating') sorts them; to turn a scale round, number it anew."
        step = step if is_number else "Number them 1 to K, from the least confident."
        raise InputError("counts", f"ratings {rating.tolist()}", "numbers that rise", step)


def refuse_impossible_counts(counts: xr.DataArray) -> None:
    """Refuse counts below 0, missing ones, and what is no number.

    Examples
    --------
    >>> refuse_impossible_counts(xr.DataArray([3, 0, 2.5]))
    """
    values = counts.to_numpy()
    if values.dtype.kind not in "iuf":
        raise InputError("counts", f"values of type {values.dtype}", "numbers of trials")
    is_number = values >= 0
    if not is_number.all():
        step = "Leave out cells without trials, or give them counts of 0."
        raise InputError("counts", f"{values[~is_number][0]:g}", "counts of 0 or more", step)


def table_dims(counts: xr.DataArray, used_by: str) -> tuple[str, ...]:
    """Dims of one cell's table, of either kind: with a stimulus, or right and wrong only.

    Examples
    --------
    >>> table_dims(xr.DataArray([[3, 9]], dims=["correct", "rating"]), "auroc2")
    ('correct', 'rating')
    """
    if isinstance(counts, xr.DataArray) and set(TYPE2_DIMS) <= set(counts.dims):
        return TYPE2_DIMS
    require_stimulus(counts, used_by)
    return TYPE1_DIMS


def whole_number(argument: str, given: object, least: int) -> int:
    """Return the number as int, or refuse what is not whole or too small.

    Examples
    --------
    >>> whole_number("n", 1000, 1)
    1000
    """
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InputError(argument, repr(given), f"a whole number of at least {least}")
    return int(given)


def open_probability(
    argument: str, given: object, allowed: str = "a probability between 0 and 1"
) -> float:
    """Return the number as float, or refuse what is not between 0 and 1, ends excluded.

    Examples
    --------
    >>> open_probability("ci_prob", 0.95)
    0.95
    """
    if isinstance(given, int | float | np.integer | np.floating) and 0 < given < 1:
        return float(given)
    raise InputError(argument, repr(given), allowed)


def check_roles(columns: Sequence[object], used: Sequence[tuple[str, str]]) -> None:
    """Refuse a missing column, and a column with two roles; `used` pairs argument and column."""
    for argument, name in used:
        if not isinstance(name, str):
            raise InputError(argument, repr(name), "the name of a column, as text")
        if name not in columns:
            step = nearest(name, map(str, columns))
            raise InputError(argument, repr(name), "a column of the trials", step)
    for name, times in Counter(name for _, name in used).items():
        if times > 1:
            where = ", ".join(dict.fromkeys(said for said, column in used if column == name))
            step = f"Name {name!r} once, and leave it out of the others."
            raise InputError(where, f"{name!r} {times} times", "a different column for each", step)


def refuse_fractions(confidence: str, values: NDArray[Any], n: NDArray[np.int64]) -> None:
    """Refuse confidence that is a number but no integer; value i is that of n[i] trials."""
    if values.dtype.kind != "f":
        return
    off = values != np.round(values)
    off = off if off.any() else np.isinf(values)
    if off.any():
        shown = ", ".join(f"{value:g}" for value in values[off][:3])
        step = "Continuous confidence becomes ratings by quantiles=4, or by bin_confidence."
        first = code_step(suspected_codes(values, n)) or level_step(values)
        step = f"{first} {step}".lstrip()
        got = f"{int(n[off].sum())} values such as {shown}"
        raise InputError(f"confidence column {confidence!r}", got, "integers 1..K", step)


def refuse_out_of_range(
    argument: str,
    rating: NDArray[np.int64],
    n: NDArray[np.int64],
    K: int,
    suspects: Mapping[float, int],
    inferred: bool = True,
) -> None:
    """Refuse ratings outside 1..K, with how often each occurs; some may look like codes."""
    out = (rating < 1) | (rating > K)
    if not out.any():
        return
    times = {value: int(n[rating == value].sum()) for value in np.unique(rating[out]).tolist()}
    got = ", ".join(f"{value} ({count} trials)" for value, count in list(times.items())[:10])
    step = code_step(suspects)
    low, high = int(rating.min()), max(int(rating.max()), K - 1 - inferred)
    if not step and low < 1 and high - low < MAX_INFERRED_RATINGS:
        named = list(range(low, high + 1))
        odd = ", ".join(map(str, times))
        step = (
            f"Name the levels, the least confident first: levels={named}; or, if {odd} stands for "
            f"a missing answer, say missing_codes=[{odd}]."
        )
    step = step or "Drop or recode these trials, or correct ratings=."
    raise InputError(argument, got, "integers 1..K" if inferred else f"1..{K}", step)
