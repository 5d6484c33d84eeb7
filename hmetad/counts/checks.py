"""What a count table is: its dims, and refusals of what is none; numbers that arguments say.

Count table or number → the same, or InputError that says what to do next.
"""

import numpy as np
import xarray as xr

from hmetad.errors import InputError
from hmetad.results import type2_functions

__all__ = [
    "CORRECT",
    "STIMULI",
    "TYPE1_DIMS",
    "TYPE2_DIMS",
    "dims_text",
    "open_probability",
    "refuse_falling_ratings",
    "refuse_impossible_counts",
    "refuse_no_counts",
    "refuse_other_dims",
    "require_stimulus",
    "table_dims",
    "type2_measures",
    "whole_number",
]

STIMULI = ("S1", "S2")
TYPE1_DIMS = ("stimulus", "response", "rating")
TYPE2_DIMS = ("correct", "rating")
CORRECT = ("wrong", "right")
COUNT_TABLE = "a count table with dims stimulus, response and rating"


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
    if isinstance(counts, xr.DataArray) and "correct" in counts.dims:
        step = (
            f"{used_by} needs the stimulus, which a table of right and wrong answers does not "
            "have. With correctness in its place M-ratio is mostly near 1, whatever the truth. To "
            f"this table apply {type2_measures()}."
        )
        raise InputError("counts", f"a type-2 table with {dims_text(counts)}", COUNT_TABLE, step)
    refuse_other_dims(counts, COUNT_TABLE, "Make one with count_trials or from_nr.", TYPE1_DIMS)
    # Stimuli and responses are read by position.
    for dim in ("stimulus", "response"):
        labels = counts[dim].to_numpy().tolist() if dim in counts.coords else list(STIMULI)
        if labels != list(STIMULI) or counts.sizes[dim] != len(STIMULI):
            got = f"{counts.sizes[dim]} labels in dim {dim}: {labels}"
            step = f"Name them, the first as S1: counts.assign_coords({dim}=['S1', 'S2'])."
            if {*STIMULI} <= {*labels} and dim in counts.coords:
                step = f"Put them in order: counts.sel({dim}=['S1', 'S2'])."
            raise InputError("counts", got, "S1 and S2, in this order", step)
    refuse_falling_ratings(counts)
    if counts.chunks is None:
        refuse_impossible_counts(counts)


def refuse_no_counts(counts: object) -> None:
    """Refuse what is neither a count table nor a type-2 table, or holds no counts."""
    step = "Make one with count_trials, from_nr or count_correct."
    allowed = f"{COUNT_TABLE}, or one with correct and rating"
    table = refuse_other_dims(counts, allowed, step, TYPE1_DIMS, TYPE2_DIMS)
    if not table.sizes["rating"]:
        raise InputError("counts", "no ratings", "one at least", step)
    if "correct" not in table.dims:
        shown, said = table["stimulus"].values, table["response"].values
        if not {*said} <= {*shown}:
            got = f"response {said} for stimulus {shown}"
            raise InputError("counts", got, "responses in the labels of the stimuli")
    refuse_falling_ratings(table)
    refuse_impossible_counts(table)


def refuse_other_dims(
    counts: object, allowed: str, step: str, *kinds: tuple[str, ...]
) -> xr.DataArray:
    """Return the table, or refuse what is none of these kinds."""
    if not isinstance(counts, xr.DataArray):
        raise InputError("counts", type(counts).__name__, allowed, step)
    if not any(set(dims) <= set(counts.dims) for dims in kinds):
        raise InputError("counts", dims_text(counts), allowed, step)
    return counts


def dims_text(counts: xr.DataArray) -> str:
    """Dims of a table, for a message."""
    return f"dims ({', '.join(map(str, counts.dims))})"


def refuse_falling_ratings(counts: xr.DataArray) -> None:
    """Refuse ratings that do not rise, since ratings are read by position."""
    if "rating" not in counts.coords:
        return
    rating = counts["rating"].to_numpy()
    is_number = rating.dtype.kind in "iuf"
    if not is_number or not (rating[1:] > rating[:-1]).all() or (rating != rating).any():
        step = "counts.sortby('rating') sorts them; to turn a scale round, number it anew."
        step = step if is_number else "Number them 1 to K, from the least confident."
        raise InputError("counts", f"ratings {rating.tolist()}", "numbers that rise", step)


def refuse_impossible_counts(counts: xr.DataArray) -> None:
    """Refuse counts below 0, missing ones, and what is no number."""
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


def type2_measures() -> str:
    """The measures that need no stimulus, in words for a message."""
    *names, last = type2_functions()
    return f"measures of correctness and confidence alone: {', '.join(names)} and {last}"
