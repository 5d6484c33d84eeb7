"""What a count table is: the axes of its outcomes, and refusals of what is none.

Count table or number → the same, or InputError that says what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import (
    KindError,
    LabelError,
    RatingError,
    ShapeError,
    StimulusError,
    TooFewError,
)
from hmetad.base.results import type2_functions


@dataclass(frozen=True)
class Axes:
    """The outcomes that a table counts beside the ratings: the labels of each dim, in order."""

    labels: Mapping[str, tuple[str, ...]]

    @property
    def dims(self) -> tuple[str, ...]:
        """Dims of the table of one cell."""
        return (*self.labels, "rating")

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dims, but for the ratings."""
        return tuple(map(len, self.labels.values()))


STIMULI, CORRECT = ("S1", "S2"), ("wrong", "right")
TYPE1 = Axes({"stimulus": STIMULI, "response": STIMULI})
TYPE2 = Axes({"correct": CORRECT})
TYPE1_DIMS, TYPE2_DIMS = TYPE1.dims, TYPE2.dims
# Coordinates of a table of judged outputs that count outputs without a label, or weigh labels.
POOL = frozenset(["pool", "weight", "weight_squared"])
COUNT_TABLE = "a count table with dims stimulus, response and rating"
# More options than any task has.
MOST_OPTIONS = 1000
M_OF_OPTIONS = (
    "Where the number of options is known, say it, as count_correct(trials, options=4) does: "
    "fit_mle and fit have M of such a table."
)


def require_stimulus(counts: xr.DataArray, used_by: str) -> None:
    """Refuse what is no count table for a function, and name the measures of a type-2 table.

    A count table has the dims stimulus, response and rating, and maybe more; its stimuli and
    responses are read by position. The counts of a lazy table are not checked.
    """
    if isinstance(counts, xr.DataArray) and "correct" in counts.dims:
        more = "fit_mle and fit have M of it." if "options" in counts.coords else M_OF_OPTIONS
        step = f"{lacks_stimulus(used_by)} {more}"
        raise StimulusError("counts", f"a type-2 table with {dims_text(counts)}", COUNT_TABLE, step)
    refuse_other_dims(counts, COUNT_TABLE, "Make one with count_trials or from_nr.", TYPE1)
    if has_more_options(counts):
        step = (
            f"{used_by} is for two alternatives. To a table of more options apply fit_mle and fit, "
            f"which have d′ and M of them, and {type2_measures()}."
        )
        got = f"{counts.sizes['stimulus']} labels in dim stimulus"
        raise LabelError("counts", got, "S1 and S2, in this order", step)
    for dim, labels in TYPE1.labels.items():
        own = counts[dim].to_numpy().tolist() if dim in counts.coords else [*labels]
        if own != [*labels] or counts.sizes[dim] != len(labels):
            step = f"Name them, the first as S1: counts.assign_coords({dim}={[*labels]})."
            if {*labels} <= {*own} and dim in counts.coords:
                step = f"Put them in order: counts.sel({dim}={[*labels]})."
            got = f"{counts.sizes[dim]} labels in dim {dim}: {own}"
            raise LabelError("counts", got, f"{' and '.join(labels)}, in this order", step)
    refuse_falling_ratings(counts)
    if counts.chunks is None:
        refuse_impossible_counts(counts)


def refuse_no_counts(counts: xr.DataArray) -> None:
    """Refuse what is neither a count table nor a type-2 table, or holds no counts."""
    step = "Make one with count_trials, from_nr or count_correct."
    refuse_other_dims(counts, f"{COUNT_TABLE}, or one with correct and rating", step, TYPE1, TYPE2)
    if "correct" not in counts.dims:
        shown, said = counts["stimulus"].values, counts["response"].values
        if not {*said} <= {*shown}:
            got = f"response {said} for stimulus {shown}"
            raise LabelError("counts", got, "responses in the labels of the stimuli")
    refuse_falling_ratings(counts)
    refuse_impossible_counts(counts)


def has_more_options(counts: xr.DataArray) -> bool:
    """Whether this is a table of more than two stimuli and responses."""
    return isinstance(counts, xr.DataArray) and counts.sizes.get("stimulus", 0) > 2


def require_options(counts: xr.DataArray) -> None:
    """Refuse a table of more than two options whose stimuli and responses have not one order."""
    refuse_no_counts(counts)
    shown, said = (counts[dim].to_numpy().tolist() for dim in ("stimulus", "response"))
    if shown != said:
        step = "Make the table with count_trials(trials, options=...)."
        raise LabelError("counts", f"responses {said} for stimuli {shown}", "the same", step)


def lacks_stimulus(used_by: str) -> str:
    """Why a table of right and wrong answers has no M by itself, and what applies to it."""
    return (
        f"{used_by} needs the stimulus, which a table of right and wrong answers does not have. "
        "With correctness in its place M-ratio is nearly the same whatever the truth. To this "
        f"table apply {type2_measures()}."
    )


def counted_options(counts: xr.DataArray) -> NDArray[np.int64]:
    """Number of options of each cell of a type-2 table, (cells,), or why it is not known."""
    if "options" not in counts.coords:
        got = f"a type-2 table with {dims_text(counts)}, without the number of options"
        step = (
            "give options= where it is known: count_correct(trials, options=4), or "
            "counts.assign_coords(options=('cell', ...)). "
            f"{lacks_stimulus('Any other model of ratings')}"
        )
        raise LabelError("counts", got, "a coordinate options of the cells", step)
    values = np.broadcast_to(counts["options"].to_numpy(), (counts.sizes["cell"],))
    return whole_options(values, "the coordinate options of the cells")


def whole_options(values: NDArray[np.generic], source: str) -> NDArray[np.int64]:
    """Numbers of options as integers, or refuse what is not whole, below 2 or too large."""
    allowed = f"whole numbers of options, from 2 to {MOST_OPTIONS}"
    for value in dict.fromkeys(values.tolist()):
        try:
            is_right = 2 <= float(value) <= MOST_OPTIONS and float(value).is_integer()
        except ValueError:
            is_right = False
        if not is_right or isinstance(value, bool):
            step = "Say how many answers could be chosen, the right one among them."
            raise LabelError("options", f"{value!r} in {source}", allowed, step)
    return values.astype(np.float64).astype(np.int64)


def refuse_other_dims(counts: xr.DataArray, allowed: str, step: str, *kinds: Axes) -> None:
    """Refuse what is no table of one of these kinds."""
    if not isinstance(counts, xr.DataArray):
        raise KindError("counts", type(counts).__name__, allowed, step)
    if not any({*kind.dims} <= {*counts.dims} for kind in kinds):
        raise ShapeError("counts", dims_text(counts), allowed, step)


def refuse_falling_ratings(counts: xr.DataArray) -> None:
    """Refuse ratings that do not rise, since ratings are read by position."""
    if "rating" not in counts.coords:
        return
    rating = counts["rating"].to_numpy()
    is_number = rating.dtype.kind in "iuf"
    if not is_number or not (rating[1:] > rating[:-1]).all() or (rating != rating).any():
        step = "counts.sortby('rating') sorts them; to turn a scale round, number it anew."
        step = step if is_number else "Number them 1 to K, from the least confident."
        raise RatingError("counts", f"ratings {rating.tolist()}", "numbers that rise", step)


def refuse_impossible_counts(counts: xr.DataArray) -> None:
    """Refuse counts below 0, missing ones, and what is no number."""
    values = counts.to_numpy()
    if values.dtype.kind not in "iuf":
        raise KindError("counts", f"values of type {values.dtype}", "numbers of trials")
    if not (values >= 0).all():
        step = "Leave out cells without trials, or give them counts of 0."
        raise TooFewError("counts", f"{values[~(values >= 0)][0]:g}", "counts of 0 or more", step)


def table_dims(counts: xr.DataArray, used_by: str) -> tuple[str, ...]:
    """Dims of one cell's table, of any kind: with stimuli, two or more, or right and wrong only."""
    if isinstance(counts, xr.DataArray) and {*TYPE2_DIMS} <= {*counts.dims}:
        return TYPE2_DIMS
    if has_more_options(counts):
        require_options(counts)
        return TYPE1_DIMS
    require_stimulus(counts, used_by)
    return TYPE1_DIMS


def dims_text(counts: xr.DataArray | xr.Dataset) -> str:
    """Dims of a table, for a message."""
    return f"dims ({', '.join(map(str, counts.dims))})"


def type2_measures() -> str:
    """The measures that need no stimulus, in words for a message."""
    *names, last = type2_functions()
    return f"measures of correctness and confidence alone: {', '.join(names)} and {last}"
