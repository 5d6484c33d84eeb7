"""What tables of trials say of themselves: notices that they carry, choices, and what is missing.

Attrs of a DataFrame → list of Notice, and back; rows of trials → notices of how their confidence
came about, and of answers without a grade or without confidence.
"""

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.errors import NumberError
from hmetad.base.notice import Notice, first_few, notice_attrs, notice_of, notices
from hmetad.base.notice_registry import limit
from hmetad.counts.columns import as_correct, as_text
from hmetad.counts.tables import cell_labels, cells_of
from hmetad.rows.queries import Rows, Tally
from hmetad.rows.tables import TableLike

type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]
type RowText = Callable[[Mapping[Any, Any]], str]

CHOICE, UNEVEN = "confidence-of-the-choice", "letters-uneven"
# What readers of logs call the probabilities, and the confidence that they make of them.
OPTIONS, CONFIDENCE = "option_probabilities", "confidence"
LOOKED_AT = 1000
# Relative difference of numbers that files keep in single precision.
SINGLE = 1e-6
# Standard deviations by which chance alone hardly sets one of a few options apart.
UNLIKELY_Z = 3
# Cells in which answers have no grade, in words.
COUNTED = "{cell} ({without:,.0f} of {all:,.0f})"
ROWS = "{cell} ({percent:.0f} % of {all:,.0f} rows)"


# Notices that tables carry


@check_inputs()
def frame_notices(trials: pd.DataFrame) -> list[Notice]:
    """Notices that a table of trials carries in its attrs.

    Parameters
    ----------
    trials : DataFrame
        What a reader of logs or `agreement` returned.

    Returns
    -------
    list of Notice
        Empty if there are none.

    Raises
    ------
    InputError
        If it is no DataFrame, or has notices that hmetad did not write.

    Examples
    --------
    >>> frame_notices(pd.DataFrame())
    []
    """
    return said_in(trials.attrs)


def add_notices(attrs: Mapping[Hashable | None, Any], new: Iterable[Notice]) -> dict[Any, Any]:
    """Attrs of a table of trials with more notices, each once; the given ones are not changed."""
    return {**attrs, **notice_attrs([*said_in(attrs), *new])}


def said_in(attrs: Mapping[Hashable | None, Any]) -> list[Notice]:
    """Notices in the attrs of a DataFrame."""
    said = attrs.get("notices")
    return [] if said is None else notices(xr.Dataset(attrs={"notices": said}))


def trial_notices(trials: TableLike) -> list[Notice]:
    """Notices that a DataFrame of trials carries and that hold for counts of any kind."""
    # What is counted is looked through for codes by itself.
    return [one for one in carried_notices(trials) if one.code not in (CHOICE, "suspected-codes")]


def carried_notices(trials: TableLike) -> list[Notice]:
    """Notices that a table carries, if it is one that can."""
    return said_in(trials.attrs) if isinstance(trials, pd.DataFrame) else []


# Confidence of the choice between two options, which concerns M alone


def choice_notices(trials: TableLike, rows: Rows, confidence: str) -> list[Notice]:
    """Notice of trials whose counted confidence is of a choice between two options, one or none.

    Where all rows have more than two options, as trials have that were selected, one says so.
    Probabilities decide where at least half of the first rows have those of two options: confidence
    is one of the two, or a rating that grows with it. Else what a reader of logs said of the column
    of confidence holds for that and for ratings made of it.
    """
    said = [one for one in carried_notices(trials) if one.code == CHOICE]
    names = [name for name in (confidence, CONFIDENCE, OPTIONS) if name in rows.columns]
    if confidence not in names or (OPTIONS not in names and not said):
        return []
    first = rows.first_rows([*dict.fromkeys(names)], LOOKED_AT)
    is_made = is_made_of(first, confidence)
    known = first.dropna(subset=[OPTIONS]) if OPTIONS in first else first.head(0)
    options = [option_list(value) for value in known.get(OPTIONS, [])]
    pairs = pd.DataFrame([one if len(one) == 2 else (None, None) for one in options], known.index)
    has_two = pairs.apply(pd.to_numeric, errors="coerce").notna().all(axis=1).to_numpy(bool)
    if not has_two.any() or 2 * has_two.sum() < len(options):
        # Rows beyond the first ones may have two.
        is_open = OPTIONS not in first or len(first) == LOOKED_AT
        has_several = bool(options) and all(len(one) > 2 for one in options)
        more = [notice_of("several-options")] if has_several else []
        return [*more, *(said if is_made and is_open else [])]
    looked_at = [confidence, CONFIDENCE] if is_made and CONFIDENCE in first else [confidence]
    values = pairs[has_two].to_numpy(dtype=float)
    is_choice = any(is_one_of(numbers(known[name])[has_two], values) for name in looked_at)
    return [notice_of(CHOICE)] if is_choice else []


def option_list(value: Any) -> Sequence[Any] | NDArray[Any]:
    """Values of a list or of JSON text of one; none of anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            # The column is not counted: its other values are irrelevant.
            return ()
    return value if isinstance(value, list | tuple | np.ndarray) else ()


def numbers(column: pd.Series) -> Floats:
    """Values of a column as numbers, NaN for others."""
    return pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=math.nan)


def is_one_of(values: Floats, options: Floats) -> bool:
    """Whether each value that is there is a probability of its row, and one is there."""
    there = ~np.isnan(values)
    is_equal = np.isclose(values[there, None], options[there], rtol=SINGLE, atol=0).any(axis=1)
    return bool(there.any() and is_equal.all())


def is_made_of(first: pd.DataFrame, counted: str) -> bool:
    """Whether what is counted is the confidence of a reader, or differs and never falls with it."""
    if counted == CONFIDENCE:
        return True
    made = numbers(first[CONFIDENCE if CONFIDENCE in first else counted])
    both = pd.DataFrame({"value": made, "rating": numbers(first[counted])}).dropna()
    steps = np.diff(both.sort_values(["value", "rating"])["rating"])
    return bool(steps.size and (steps >= 0).all() and (steps > 0).any())


# Options that are chosen unevenly


def letter_notices(
    found: Tally | None, by: Sequence[str], letters: Sequence[str], options: int | str | None
) -> list[Notice]:
    """Notice of cells in which one of a few options is chosen too often, and its bias left out.

    An error where there are more letters than options.

    Distinct rows have the grouping columns, the right option and the chosen one. Of W wrong answers
    without a bias, those that choose an option less those that should have chosen it have a
    variance of 2W/m.
    """
    if found is None:
        return []
    complete = found[0].notna().all(axis=1).to_numpy()
    rows, n = found[0][complete].reset_index(drop=True), found[1][complete]
    index, cells = cells_of(rows, by, [])
    right, said = (rows[name].map(as_text) for name in letters)
    m = rows[options].astype(float) if isinstance(options, str) else options
    own = pd.DataFrame({"cell": np.array(cell_labels(cells))[index], "n": n, "m": m})
    own["wrong"] = own["n"] * (right != said)
    sums = own.groupby("cell").agg({"n": "sum", "wrong": "sum", "m": "min"})
    chosen, missed = (
        own.groupby(["cell", side.rename("option")])["wrong"].sum() for side in (said, right)
    )
    excess = chosen.sub(missed, fill_value=0).unstack(fill_value=0)
    known, most = [*map(str, excess)], sums["m"].max()
    if len(known) > most and all(len(x) == 1 and x.isalnum() for x in known):
        where = " and ".join(letters)
        allowed = f"at least {len(known)}: columns {where} have {', '.join(known)}"
        raise NumberError("options", f"{most:g}", allowed)
    if not 2 <= len(known) <= sums["m"].min():
        return []
    least = np.maximum(
        limit(UNEVEN) * sums["n"], UNLIKELY_Z * np.sqrt(2 * sums["wrong"] / sums["m"])
    )
    uneven = excess[excess.max(axis=1) > least.reindex(excess.index)]
    shares = (uneven.max(axis=1) / sums["n"]).dropna()
    told = [f"{x} ({uneven.loc[x].idxmax()}: {100 * own:.0f} %)" for x, own in shares.items()]
    return [notice_of(UNEVEN, shares.index, listed=first_few(told))] if told else []


# Answers without a grade, or without confidence


def missing_answers(
    groups: pd.DataFrame,
    n: NDArray[np.int64],
    by: Sequence[str],
    roles: Mapping[str, str],
    *,
    are_wrong: bool = False,
    are_kept: bool = False,
) -> list[Notice]:
    """Notices of the cells in which many rows have no grade, or many graded ones no confidence.

    Rows are distinct, missing values included, and stand for n trials each; `roles` has the columns
    of "correct" and "confidence". Where rows without a grade count as wrong each such cell is
    named; rows without a confidence may be kept.
    """
    lacks = groups[[roles["correct"], roles["confidence"]]].isna().to_numpy()
    used = ~groups.drop(columns=[roles["correct"], roles["confidence"]]).isna().to_numpy().any(1)
    if not used.any() or not lacks.any():
        return []
    values = groups[roles["correct"]][used].tolist()
    grades = [as_correct(x.item() if isinstance(x, np.generic) else x) for x in values]
    is_right = np.array([grade is True for grade in grades])
    is_graded = np.array([grade is not None for grade in grades])
    index, cells = cells_of(groups[used].reset_index(drop=True), by, [])
    ungraded, silent = lacks[used].T

    def told(code: str, text: RowText, least: float, without: Bools, of: Bools) -> list[Notice]:
        parts = {"without": without, "right_without": without & is_right}
        parts |= {"all": of, "right": of & is_right}
        sums = {name: np.bincount(index, n[used] * part) for name, part in parts.items()}
        many = pd.DataFrame(sums).assign(cell=cell_labels(cells))
        many = many[many["without"] > least * many["all"]]
        many = many.assign(share=many["without"] / many["all"])
        many["percent"] = 100 * many["share"]
        if not len(many):
            return []
        rows = many.sort_values("share", ascending=False).to_dict("records")
        return [notice_of(code, many["cell"], listed=first_few(map(text, rows)))]

    every_row, least = np.ones_like(is_right), limit("confidence-missing")
    case = "confidence-missing.kept" if are_kept else "confidence-missing"
    unstated = told(case, shares_text, least, silent & is_graded, is_graded)
    if are_wrong:
        return [*told("counted-wrong", COUNTED.format_map, 0, ungraded, every_row), *unstated]
    least = limit("correct-missing")
    return [*told("correct-missing", ROWS.format_map, least, ungraded, every_row), *unstated]


def shares_text(row: Mapping[Hashable, Any]) -> str:
    """Shares of one cell in words."""
    with_it, right_with = row["all"] - row["without"], row["right"] - row["right_without"]
    stated = f"{right_with / with_it:.0%} with, " if with_it else ""
    unstated = row["right_without"] / row["without"]
    shown = (
        f"{row['share']:.0%} of {row['all']:,.0f} answers; correct: {stated}"
        f"{unstated:.0%} without, {row['right'] / row['all']:.0%} of all"
    )
    return f"{row['cell']} ({shown.replace('%', ' %')})"
