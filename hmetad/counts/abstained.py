"""Trials that were abstained from: an outcome next to right and wrong, with its reasons.

Column of abstentions → reasons; rows of trials → those that were answered, and count tables that
carry the number of the others, by cell and reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.errors import ChoiceError, ColumnError, TakenError, TooFewError
from hmetad.base.notice import Notice, first_few, notice_of
from hmetad.base.notice_registry import limit
from hmetad.base.untrusted import read_attr
from hmetad.counts.columns import (
    Trials,
    as_text,
    frequencies_of,
    group_numbers,
    refuse_absent,
)
from hmetad.counts.tables import cell_labels
from hmetad.rows.duplicates import is_item_name
from hmetad.rows.queries import Rows, Tally, plain_value

type Ints = NDArray[np.int64]
type Texts = NDArray[np.str_]

# What the column says of a trial that was answered, but for 0, and of one that was not, but for 1.
ANSWERED = ("", "false", "f", "no", "n", "none", "na", "n/a", "nan", "null", "-", ".", "answered")
ABSTAINED = ("true", "t", "yes", "y", "abstained")
# Grades of answers, which are no reasons, and what to do with one that means an abstention.
GRADES = frozenset({"c", "i", "p", "correct", "incorrect", "right", "wrong"})
OF_GRADES = (
    "Make a column of them: trials['abstained'] = trials['grade'] == 'N'.",
    "Say which grade it is, in the column of grades: hmetad import table FILE --columns "
    "correct=grade --grades C=true,I=false,N=abstained -o trials.csv.",
)
# Coordinate of count tables: trials of a cell that were abstained from. It is no factor, whose
# levels are compared, and no column of the user's that has this name.
NAME = "abstained"
ATTRS = {"role": "covariate", "abstentions": 1}
# Column of reasons, under a name that nobody gives.
REASON = "\x1freason"


def reasons_of(column: pd.Series) -> Texts:
    """Why each trial was abstained from, empty where it was answered: a missing value, no, 0.

    Raises
    ------
    InputError
        As `reason_levels`.

    Examples
    --------
    >>> reasons_of(pd.Series([True, False])).tolist()
    ['abstained', '']
    >>> reasons_of(pd.Series([None, "refused", "no"])).tolist()
    ['', 'refused', '']
    """
    reasons, places = reason_levels(column)
    return reasons[places]


def reason_levels(column: pd.Series) -> tuple[Texts, Ints]:
    """Distinct reasons, the last empty, for missing values; and the place of each trial's.

    Raises
    ------
    InputError
        If a number is neither 0 nor 1, or words are grades.
    """
    places, levels = pd.factorize(column)
    values = [plain_value(level) for level in levels.tolist()]
    grades = sorted({value for value in values if isinstance(value, str)} & GRADES)
    argument = f"abstained column {column.name!r}"
    if grades:
        got = f"the grades {first_few(grades, ', ')}"
        allowed = "true or false, or reasons why trials were not answered"
        raise ChoiceError(argument, got, allowed, *OF_GRADES)
    reasons = []
    for level, value in zip(levels.tolist(), values, strict=True):
        if isinstance(value, float) and value not in (0, 1):
            raise ChoiceError(argument, repr(level), "True or False, 1 or 0, or reasons in words")
        word = "abstained" if value == 1 or value in ABSTAINED else as_text(level).strip()
        reasons.append("" if value == 0 or value in ANSWERED else word)
    return np.array([*reasons, ""]), places


def abstentions_of(counts: xr.DataArray) -> xr.DataArray | None:
    """Trials of each cell that were abstained from, if the table carries them."""
    found = counts.coords.get(NAME)
    return found if found is not None and "abstentions" in found.attrs else None


def unused_notices(
    columns: Iterable[object], abstained: str | None, penalty: float | None
) -> list[Notice]:
    """Notice of an unused column that has the name of abstentions; with a penalty it is refused."""
    if abstained is not None or NAME not in columns:
        return []
    if penalty is not None:
        steps = ("Give abstained='abstained', or drop it.", "Give --abstained abstained.")
        got = f"{penalty:g}, and a column 'abstained' that is not used"
        raise ChoiceError("penalty", got, "a penalty with the column of abstentions", *steps)
    return [notice_of("abstained.unused")]


def answered_rows(rows: Rows, abstained: str | None) -> Rows:
    """Rows of the trials that were answered."""
    return rows if abstained is None else rows.blank_in(abstained, ANSWERED)


def answered_trials(trials: Trials, abstained: str | None) -> Trials:
    """Trials that were answered, with the groups and reasons of the others.

    Raises
    ------
    InputError
        If there is no such column, it has another role, or no trial was answered.
    """
    if abstained is None:
        return trials
    refuse_absent("abstained", abstained, trials.rows.columns)
    if abstained in trials.used:
        step = "Name a column that only says whether trials were answered."
        raise ColumnError("abstained", repr(abstained), "a column without another role", step)
    if NAME in [*trials.by, *trials.covariates]:
        step = "Rename the column 'abstained'."
        raise TakenError("by", "'abstained'", "another name", step)
    groups, n = trials.rows.distinct([*trials.by, *trials.covariates, abstained], trials.n)
    reason = reasons_of(groups.pop(abstained))
    is_silent = reason != ""
    if not (reason == "").any():
        got = f"abstentions in all {int(n.sum()):,} trials"
        raise TooFewError(f"abstained column {abstained!r}", got, "at least one answered trial")
    silent = groups[is_silent].assign(**{REASON: reason[is_silent]}), n[is_silent]
    return trials._replace(rows=answered_rows(trials.rows, abstained), silent=silent)


def with_silent_rows(groups: pd.DataFrame, n: Ints, trials: Trials) -> tuple[pd.DataFrame, Ints]:
    """Distinct answered rows, then one for each group and reason of the others, of no trial."""
    if trials.silent is None:
        return groups, n
    silent = trials.silent[0].drop(columns=REASON).dropna().reset_index(drop=True)
    like = groups.iloc[np.zeros(len(silent), dtype=int)].reset_index(drop=True)
    both = pd.concat([groups, like.assign(**silent)], ignore_index=True)
    return both, np.append(n, np.zeros(len(silent), dtype=np.int64))


def folded(counts: xr.DataArray) -> xr.DataArray:
    """Table whose abstentions, if it carries any, are one more rating of its first outcome."""
    abstained = abstentions_of(counts)
    if abstained is None:
        return counts
    like = counts.isel(rating=[-1])
    first = xr.zeros_like(like[0], dtype=np.int64).compute()
    first[(0,) * first.ndim] = 1
    table = xr.concat([counts, like * 0 + first * abstained], "rating")
    return table.transpose(*counts.dims)


def unfolded(values: NDArray[Any], coords: Mapping[Any, Any], dims: Sequence[Any]) -> xr.DataArray:
    """Drawn tables (cell, draw, ...) with these coords, of values drawn of `folded` ones."""
    known = dict(coords)
    if values.shape[-1] > len(known["rating"]):
        silent = values[..., -1].sum(axis=tuple(range(2, values.ndim - 1)))
        known[NAME], values = (("cell", "draw"), silent, ATTRS), values[..., :-1]
    return xr.DataArray(values, known, ("cell", "draw", *dims), name="counts")


def with_abstentions(
    counts: xr.DataArray, silent: Tally | None, index: Ints
) -> tuple[xr.DataArray, list[Notice]]:
    """Count table that carries its abstentions, and a notice of them.

    `index` has the cells of distinct rows, the last of which are those of the abstentions.
    """
    if silent is None:
        return counts, []
    groups, n = silent
    is_known = groups.drop(columns=REASON).notna().all(axis=1).to_numpy()
    lost, groups, n = int(n[~is_known].sum()), groups[is_known], n[is_known]
    number = np.zeros(counts.sizes["cell"], dtype=np.int64)
    np.add.at(number, index[len(index) - len(n) :], n)
    times = frequencies_of(groups[REASON].tolist(), n)
    table = counts.assign_coords({NAME: ("cell", number, ATTRS)})
    own = [name for name in read_attr(counts.attrs, "by") if not is_item_name(name)]
    columns = pd.DataFrame({name: counts[name].to_numpy() for name in own}, range(len(number)))
    index = group_numbers(columns)
    answered = counts.sum([dim for dim in counts.dims if dim != "cell"]).to_numpy()
    labels = cell_labels(columns.groupby(index).first())
    both = (np.bincount(index, answered), np.bincount(index, number))
    found = abstention_notices(both, times, labels)
    return table, [*found, *([notice_of("abstained.lost", number=f"{lost:,}")] if lost else [])]


def abstention_notices(
    numbers: tuple[NDArray[Any], NDArray[Any]], reasons: Mapping[Any, int], labels: Sequence[str]
) -> list[Notice]:
    """Notices of the numbers of trials of cells that were answered and that were not, and why.

    A warning where shares of cells differ: then abstaining selects unequal trials.
    """
    answered, number = numbers
    if not number.any():
        return []
    total = answered + number
    share = np.divide(answered, total, out=np.ones(len(total)), where=total > 0)
    low, high = int(np.argmin(share)), int(np.argmax(share))
    is_unequal = share[high] - share[low] > limit("abstained")
    listed = first_few([f"{labels[i]} {share[i]:.0%}".replace("%", " %") for i in (low, high)])
    said = {"number": f"{int(number.sum()):,}", "all": f"{int(total.sum()):,}"}
    said["reasons"] = ", ".join(f"{word} {n:,}" for word, n in sorted(reasons.items()))
    case = "abstained.unequal" if is_unequal else "abstained"
    found = [notice_of(case, **said, **({"listed": listed} if is_unequal else {}))]
    silent = [label for label, n in zip(labels, answered, strict=True) if n == 0]
    return [*found, notice_of("nothing-answered", silent)] if silent else found
