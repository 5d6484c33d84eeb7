"""Trials with the confidence that was stated: their cells, its scale, and its distinct values.

DataFrame of trials → `CellTrials` (one row per trial) → `Forecasts` (one row per cell and distinct
confidence) → bins, or a report of the scale. Source: Murphy (1973), who counts forecasts by their
distinct values; Shryock & Siegel (1976) for Whipple's index of round numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import entr

from hmetad.base.arguments import check_inputs
from hmetad.base.coverage import Items, coverage_attrs
from hmetad.base.errors import KindError, NeedError, NumberError, ShapeError
from hmetad.base.notice import Notice, first_few, notice_of, notice_where, with_notices
from hmetad.base.notice_registry import limit
from hmetad.counts.abstained import abstention_notices, reason_levels, reasons_of, unused_notices
from hmetad.counts.checks import type2_measures
from hmetad.counts.columns import (
    check_roles,
    code_notices,
    column_names,
    named_rows,
    plain_array,
    right_trials,
    text_columns,
)
from hmetad.counts.counting import complete_rows
from hmetad.counts.noticed import missing_answers, trial_notices
from hmetad.counts.ratings import text_as_confidence
from hmetad.counts.tables import cell_coords, cell_labels, cells_of, plain_attrs
from hmetad.measures.items import (
    By,
    ItemNames,
    Units,
    absent_rows,
    item_codes,
    needed_item,
    told_of_items,
    units_of,
    with_units,
)
from hmetad.measures.results import Placed, described
from hmetad.rows.queries import Rows
from hmetad.rows.tables import TableLike, rows_of

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]
# What trials without an answer count as.
Missing = Literal["drop", "wrong"]

# What a trial was, if it may have been abstained from; the column has a name that nobody gives.
ANSWERED, FORCED_WRONG, FORCED_RIGHT, UNFORCED = -1, 0, 1, 2
SILENT = "\x1fsilent"
USUAL = "confidence"
MOST_RATING = 20
# What a computed probability may be beyond 0 or 1, as in single precision.
ROUNDING = 1e-6
# Percentages below this are rare, and probabilities below it too.
LEAST = 0.05
# Of two scales one leaves a gap between 1 and 2; a single wide scale does not.
GAP = 0.1
# Share of confidence outside 0 to 1 that is taken for slips.
FEW = 0.05


@dataclass(frozen=True)
class GradedTrials:
    """Trials that are correct or wrong and have a confidence, and which column holds what.

    `cluster` names what is resampled together, `over` the grouping column whose levels are
    compared. With missing="wrong" trials without correctness, and items that another level of
    `over` has, count as wrong, and trials without confidence are kept. `abstained` says which
    trials were abstained from, and `forced_correct` whether an answer that was forced there was
    correct; with it, too, trials without confidence are kept.
    """

    trials: TableLike
    by: By
    correct: str
    confidence: str
    cluster: Units = None
    missing: Missing = "drop"
    over: str | None = None
    abstained: str | None = None
    forced_correct: str | None = None
    penalty: float | None = None

    @property
    def columns(self) -> dict[str, str]:
        """Columns of values by what they hold."""
        return {"correct": self.correct, "confidence": self.confidence}

    @property
    def of_abstention(self) -> dict[str, str]:
        """Columns about abstaining by what they hold."""
        if self.forced_correct is not None and self.abstained is None:
            raise NeedError("forced_correct", "abstained")
        named = {"abstained": self.abstained, "forced_correct": self.forced_correct}
        return {name: column for name, column in named.items() if column is not None}


class CellTrials(NamedTuple):
    """Complete trials with all that is needed of them, in their order; n of them, in c cells.

    `cell` (n,) is the number of the trial's cell, `right` (n,) 1 or 0, `value` (n,) its
    confidence, NaN where a trial counts without one. `cells` has one row of coordinates per cell;
    `attrs` and `found` go with the result. `unit` names what is drawn, of which each trial has the
    number in `drawn` (n,). `silent` (n,), if trials may be abstained from, is one of ANSWERED,
    FORCED_WRONG, FORCED_RIGHT and UNFORCED.
    """

    cell: Ints
    right: Ints
    value: Floats
    cells: pd.DataFrame
    attrs: dict[str, str | int]
    found: list[Notice]
    unit: str
    drawn: Ints
    silent: Ints | None = None
    of_items: tuple[list[Notice], dict[str, Items]] = ([], {})

    def answered(self) -> "CellTrials":
        """The trials that were answered."""
        if self.silent is None:
            return self
        kept = self.silent == ANSWERED
        own = {name: getattr(self, name)[kept] for name in ("cell", "right", "value", "drawn")}
        return self._replace(**own, silent=None)

    def results(self, values: Mapping[str, Placed], section: str, **texts: object) -> xr.Dataset:
        """Dataset of values by cell, with the attrs of a section of the table of results."""
        coords = {"cell": cell_labels(self.cells), **cell_coords(self.cells)}
        like = xr.DataArray(np.zeros(len(self.cells)), coords, "cell")
        return described(like, values, section, **texts).assign_attrs(self.attrs)


class Forecasts(NamedTuple):
    """Distinct confidences of each of c cells, rising within the cell: f rows in all.

    `cell` (f,) is the number of the cell, `value` (f,) the confidence, a missing one last, and
    `table` (2, f) how often the trial was wrong and right.
    """

    cell: Ints
    value: Floats
    table: Ints
    n_cells: int

    @property
    def trials(self) -> Ints:
        """How often each confidence was given, (f,)."""
        return self.table.sum(axis=0)

    def sums(self, values: Floats | Ints, bin_of: Ints | int = 0, bins: int = 1) -> Floats:
        """Sums of the values (f,) in each cell and bin, (c, bins)."""
        place = self.cell * bins + bin_of
        sums = np.bincount(place, weights=values, minlength=self.n_cells * bins)
        return sums.reshape(self.n_cells, bins)

    def parts(self) -> list[slice]:
        """Where the confidences of each cell are."""
        ends = np.searchsorted(self.cell, np.arange(self.n_cells + 1)).tolist()
        return [slice(*both) for both in pairwise(ends)]

    def mass_bins(self, bins: int) -> Ints:
        """Bin 0..B − 1 of each confidence, with about as many trials of its cell in each.

        With average rank ρ among the n trials of the cell it is ⌈B(ρ − 1/2)/n⌉ − 1, the rule of
        `bin_confidence`. Equal confidences share a rank, so they never part; a bin that they leave
        empty stays empty.
        """
        trials = np.where(np.isnan(self.value), 0, self.trials)
        n = self.sums(trials)[:, 0].astype(np.int64)
        below = np.cumsum(trials) - trials - (np.cumsum(n) - n)[self.cell]
        # Twice the average rank, minus 1, is whole, which keeps the bin exact.
        odd = 2 * below + trials
        return np.maximum(-(-bins * odd // np.maximum(2 * n, 1)[self.cell]) - 1, 0)

    def width_bins(self, bins: int) -> Ints:
        """Bin 0..B − 1 by equal intervals of 0 to 1, closed above."""
        # Each cut is rounded once, as a decimal fraction that was typed is.
        return np.searchsorted(np.arange(1, bins) / bins, self.value, side="left")


@check_inputs(skip=("trials",))
def scale_report(trials: TableLike, *, by: By = (), confidence: str = "confidence") -> xr.Dataset:
    r"""Levels of confidence in use, frequencies of round numbers and of the top level, per cell.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes. Rows with a missing value
        in a used column are excluded, with a notice.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    confidence : str, optional
        Column with confidence in any unit, larger is more confident.

    Returns
    -------
    Dataset
        Per cell: ``levels`` (distinct values), ``confidence_entropy`` (bit), ``share_top``
        (proportion of trials with the highest value), ``share_tens`` and ``share_fives``
        (proportions with a multiple of 10 and of 5 %), ``heaping`` (Whipple's index) and
        ``trials``. The attr ``top`` has the highest value of the scale: 1 if all confidence is from
        0 to 1; 100 if it is from 0 to 100 and exceeds 20; otherwise, as for ratings, the highest
        value. The latter have no round numbers: their proportions are NaN, with a notice.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if confidence is
        not a finite number.

    Notes
    -----
    With proportions f of the L distinct values, the entropy is :math:`-\sum f \log_2 f`, at most
    log₂ L. Whipple's index is 5 times ``share_fives``: 1 if all integer percentages are equally
    frequent, 5 if each value is a multiple of 5. AUROC2, information and M depend on the number of
    levels: `hmetad.select.measure_scales` shows how much.

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"confidence": [0.9, 0.95, 1, 1, 0.83, 0.9, 0.5, 0.9]})
    >>> found = scale_report(trials).sel(cell="all")
    >>> found["levels"].item(), found["share_tens"].item(), found["share_top"].item()
    (5, 0.75, 0.25)
    """
    rows = named_rows(rows_of(trials, text=text_columns(by)), [confidence], by)
    names = column_names("by", by)
    check_roles(rows.columns, [("confidence", confidence), *(("by", name) for name in names)])
    frame = rows.frame([confidence, *names])
    frame, right, dropped = complete_rows(frame, np.ones(len(frame), int), frame.isna())
    cell, cells = cells_of(frame, names, [])
    value = finite_confidence(frame[confidence], rows)
    # Nothing is said of right and wrong.
    by_cell = CellTrials(cell, right, value, cells, {}, [*rows.notices, *dropped], "", cell)
    forecasts, found = count_forecasts(by_cell), by_cell.found
    lowest, highest = float(value.min()), float(value.max())
    is_percent = MOST_RATING < highest <= 100
    top = (1.0 if highest <= 1 else 100.0) if lowest >= 0 and (highest <= 1 or is_percent) else None
    found += [] if top else [notice_of("no-round-numbers", highest=highest)]
    n = forecasts.sums(forecasts.trials)
    share = forecasts.trials / n[forecasts.cell, 0]
    steps = 20 * forecasts.value / (top or np.nan)
    # Without a top of the scale they are NaN.
    tens, fives = (share * (abs(x - np.round(x)) <= ROUNDING) + 0 * x for x in (steps / 2, steps))
    parts = {
        "confidence_entropy": entr(share) / np.log(2),
        "share_top": share * (forecasts.value == (top or highest)),
        "share_tens": tens,
        "share_fives": fives,
        "heaping": 5 * fives,
    }
    values: dict[str, Placed] = {name: forecasts.sums(x)[:, 0] for name, x in parts.items()}
    values["trials"] = n[:, 0].astype(np.int64)
    values["levels"] = np.bincount(forecasts.cell)
    result = by_cell.results(values, "scale_report").assign_attrs(top=top or highest)
    return with_notices(result, found)


def trials_by_cell(graded: GradedTrials) -> CellTrials:
    """Complete trials with their cell, whether they were right, and their confidence.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [True, False], "confidence": [0.9, 0.4]})
    >>> found = trials_by_cell(GradedTrials(trials, (), "correct", "confidence"))
    >>> found.right, found.value
    (array([1, 0]), array([0.9, 0.4]))
    """
    refuse_counted(graded.trials)
    trials, rows, units, by = read_trials(graded)
    correct, confidence, item = graded.correct, graded.confidence, units.item
    are_wrong, may_abstain = graded.missing == "wrong", graded.abstained is not None
    columns = graded.columns | ({} if units.unit is None else {"cluster": units.unit})
    if are_wrong and by:
        absent = absent_rows(trials, by, graded.over, needed_item(item))
        absent = absent.drop(columns=[correct, confidence, *([SILENT] if may_abstain else [])])
        trials = pd.concat([trials, absent], ignore_index=True)
    value = finite_confidence(trials[confidence], rows)
    used = trials[[*columns.values(), *by]].assign(**{confidence: value})
    used = used.assign(**{SILENT: trials[SILENT].fillna(ANSWERED) if may_abstain else ANSWERED})
    kind, kinds, n, unit = row_kinds(used, confidence, units.unit)
    code = unit if item == units.unit else item_codes(trials, item)
    silent = kinds.pop(SILENT).to_numpy(dtype=np.int64)
    is_answer, are_kept = silent == ANSWERED, are_wrong or may_abstain
    options = {"are_wrong": are_wrong, "are_kept": are_kept}
    lacking = missing_answers(kinds[is_answer], n[is_answer], by, columns, **options)
    if np.isnan(value).all():
        # Without any confidence nothing is missing.
        lacking = [one for one in lacking if one.code != "confidence-missing"]
    empty = kinds.isna()
    if are_kept:
        empty[confidence] = False
        empty[correct] &= is_answer & (not are_wrong)
        value = np.where(kinds[correct].isna().to_numpy()[kind], np.nan, value)
    is_complete = ~empty.to_numpy().any(axis=1)
    silent, kept = silent[is_complete], is_complete[kind]
    kinds, n, dropped = complete_rows(kinds, n, empty)
    is_graded = kinds[correct].notna().to_numpy() & (silent == ANSWERED)
    is_right = np.zeros(len(kinds), dtype=np.int64)
    is_right[is_graded], labels = right_trials(kinds[is_graded], n[is_graded], correct)
    index, cells = cells_of(kinds, by, [])
    kind = (np.cumsum(is_complete) - 1)[kind[kept]]
    cell, value, code = index[kind], value[kept], code[kept]
    seen = code_notices(confidence, value, np.ones(len(value), dtype=np.int64))
    mixed, has = mixed_scales(cell, value, cell_labels(cells)), ~np.isnan(value)
    told, coverage = told_of_items(cell[has], code[has], cells, graded.over)
    said = {"labels": labels, "by": by, "columns": columns, "rows_dropped": int((~kept).sum())}
    attrs = {**plain_attrs(said), **coverage_attrs(coverage)}
    found = [*trial_notices(graded.trials), *rows.notices, *units.found, *seen, *lacking]
    found += [*mixed, *dropped, *told]
    # Numbered in the order of the trials that are left.
    drawn = pd.factorize(unit[kept])[0]
    whole = CellTrials(cell, is_right[kind], value, cells, attrs, found, units.unit or "", drawn)
    if not may_abstain:
        return whole
    every = told_of_items(cell, code, cells, graded.over)
    whole = whole._replace(silent=silent[kind], of_items=every)
    return whole._replace(found=silence_notices(trials[kept], whole, graded))


def refuse_counted(trials: object) -> None:
    """Refuse a table of counts, which keeps no confidence, and say what applies to it."""
    if isinstance(trials, xr.DataArray | xr.Dataset):
        dims = ", ".join(map(str, trials.dims))
        step = f"Ratings are counted, not confidences kept: to them apply {type2_measures()}."
        allowed = "a pandas DataFrame with the confidence of each trial"
        got = "a type-2 table" if "correct" in trials.dims else "a table"
        raise ShapeError("trials", f"{got} with dims ({dims})", allowed, step)


def silence_notices(
    trials: pd.DataFrame, by_cell: CellTrials, graded: GradedTrials
) -> list[Notice]:
    """Notices of trials, with what was abstained from, why, and lacks a forced answer."""
    assert by_cell.silent is not None
    # That cells answered unequal items because they abstained is said once.
    has_all = not any(one.code == "unequal-items" for one in by_cell.of_items[0])
    found = [one for one in by_cell.found if not (has_all and one.code == "unequal-items")]
    is_silent = by_cell.silent != ANSWERED
    index, labels = by_cell.cell, cell_labels(by_cell.cells)
    answered, number = (
        np.bincount(index, own, minlength=len(labels)) for own in (~is_silent, is_silent)
    )
    reasons = pd.Series(reasons_of(trials[graded.abstained][is_silent])).value_counts()
    found += abstention_notices((answered, number), reasons.to_dict(), labels)
    lost = int((by_cell.silent == UNFORCED).sum())
    if graded.forced_correct is not None and lost:
        found.append(notice_of("forced-missing", lost=f"{lost:,}", abstained=f"{number.sum():,}"))
    return found


def read_trials(graded: GradedTrials) -> tuple[pd.DataFrame, Rows, ItemNames, list[str]]:
    """Columns in use in memory, the rows that they are of, names of items, and grouping columns.

    With abstentions a table without the usual column of confidence has it, empty.
    """
    of_abstention = graded.of_abstention
    rows = rows_of(graded.trials, text=text_columns(graded.by))
    rows = named_rows(rows, graded.columns.values(), of_abstention.values(), graded.by)
    rows = rows.spelled(text_columns(graded.cluster))
    by = column_names("by", graded.by)
    free = [name for name in rows.columns if name not in by]
    unused = unused_notices(free, graded.abstained, graded.penalty)
    units = units_of(rows, by, graded.cluster)
    units = units._replace(found=[*units.found, *unused])
    drawn = [("cluster", name) for name in units.drawn if units.drawn == [name] or name not in by]
    roles = graded.columns | of_abstention
    if of_abstention and graded.confidence == USUAL and USUAL not in rows.columns:
        del roles["confidence"]
    check_roles(rows.columns, [*roles.items(), *drawn, *(("by", name) for name in by)])
    trials = rows.frame([*roles.values(), *by, *units.drawn, *units.parts])
    trials = trials if "confidence" in roles else trials.assign(**{USUAL: np.nan})
    return with_units(with_silence(trials, graded), units), rows, units, by


def with_silence(trials: pd.DataFrame, graded: GradedTrials) -> pd.DataFrame:
    """Trials with a column of what was abstained from, whose confidence is missing."""
    if graded.abstained is None:
        return trials
    reasons, places = reason_levels(trials[graded.abstained])
    is_silent = (reasons != "")[places]
    silent = np.where(is_silent, UNFORCED, ANSWERED)
    if graded.forced_correct is not None:
        forced = trials[graded.forced_correct]
        place, levels = pd.factorize(forced)
        times = np.bincount(place[place >= 0], minlength=len(levels))
        right, _ = right_trials(pd.DataFrame({forced.name: levels}), times, graded.forced_correct)
        known = np.append(np.where(right == 1, FORCED_RIGHT, FORCED_WRONG), UNFORCED)[place]
        silent = np.where(is_silent, known, ANSWERED)
    confidence = trials[graded.confidence].mask(is_silent)
    return trials.assign(**{graded.confidence: confidence}).assign(**{SILENT: silent})


def count_forecasts(by_cell: CellTrials) -> Forecasts:
    """Wrong and right trials of each distinct confidence, per cell.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [1, 0, 1], "confidence": [0.9, 0.9, 0.4]})
    >>> graded = GradedTrials(trials, (), "correct", "confidence")
    >>> forecasts = count_forecasts(trials_by_cell(graded))
    >>> forecasts.value, forecasts.table
    (array([0.4, 0.9]), array([[0, 1],
           [1, 1]]))
    """
    code, values = pd.factorize(by_cell.value, sort=True, use_na_sentinel=False)
    # One number for cell, confidence and correctness sorts faster than three.
    keys = np.sort(2 * (by_cell.cell * len(values) + code) + by_cell.right)
    start = np.flatnonzero(np.diff(keys // 2, prepend=-1))
    right = np.add.reduceat(keys % 2, start)
    wrong = np.diff(start, append=len(keys)) - right
    cell, place = np.divmod(keys[start] // 2, max(len(values), 1))
    return Forecasts(cell, values[place], np.stack([wrong, right]), len(by_cell.cells))


def few_trials(trials: xr.DataArray) -> list[Notice]:
    """Notice of the cells with too few trials to say much."""
    return notice_where(trials < limit("few-trials"), "few-trials.of-confidence")


# What trials may be


def finite_confidence(column: pd.Series, rows: Rows) -> Floats:
    """Confidence as numbers, NaN where it is missing, without errors of rounding beyond 0 to 1.

    An error looks for the row of a text in `rows`.
    """
    argument, allowed = f"confidence column {str(column.name)!r}", "finite numbers"
    is_number = pd.api.types.is_numeric_dtype(column)
    if not is_number and any(isinstance(value, str) for value in column.tolist()):
        once = np.ones(len(column), dtype=np.int64)
        raise text_as_confidence(argument, column, once, allowed, rows)
    if column.dtype == object:
        present = column.notna().to_numpy()
        known = plain_array(argument, column[present])
        value = np.full(len(column), np.nan)
        if known.dtype.kind in "if":
            value[present] = known
        elif present.any():
            raise KindError(argument, f"values such as {known.tolist()[0]!r}", allowed)
    elif not is_number or pd.api.types.is_bool_dtype(column):
        got = f"values such as {column.dropna().tolist()[:1]}"
        raise KindError(argument, got, allowed, "Convert the column to numbers.")
    else:
        value = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(value).any():
        raise NumberError(argument, f"{value[np.isinf(value)][0]:g}", allowed)
    inside = np.clip(value, 0.0, 1.0)
    return inside if (np.isnan(value) | (abs(value - inside) <= ROUNDING)).all() else value


def row_kinds(
    used: pd.DataFrame, confidence: str, unit: str | None
) -> tuple[Ints, pd.DataFrame, Ints, Ints]:
    """Kind of each row, distinct kinds, rows of each, and the number of each row's unit.

    Confidence and unit join a kind only as there or missing: their values may all be different. A
    missing unit is -1.
    """
    try:
        units = np.full(len(used), -1) if unit is None else pd.factorize(used[unit])[0]
        there = {confidence: np.where(used[confidence].isna(), np.nan, 0.0)}
        there |= {} if unit is None else {unit: np.where(units < 0, np.nan, 0.0)}
        used = used.assign(**there)
        grouped = used.groupby(list(used.columns), dropna=False, observed=True, sort=False)
        kind = grouped.ngroup().to_numpy().astype(np.int64)
    except TypeError as error:
        step = "Make its values text or numbers."
        raise NumberError("trials", str(error), "one text or number per value", step) from error
    n = np.bincount(kind)
    first = np.empty(len(n), dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]
    return kind, used.iloc[first].reset_index(drop=True), n, units


# The scale of confidence


def mixed_scales(cell: Ints, value: Floats, labels: Sequence[str]) -> list[Notice]:
    """Notice of cells whose confidence is partly from 0 to 1 and partly on a larger scale."""
    ranges = ((value > LEAST) & (value < 1), value > 1, (value > 1) & (value < 2))
    small, large, between = (np.bincount(cell[x], minlength=len(labels)) for x in ranges)
    least = limit("mixed-scales") * np.bincount(cell, minlength=len(labels))
    is_mixed = (small > 0) & (small >= least) & (large >= least) & (between < GAP * small)
    if not is_mixed.any():
        return []
    said = {"small": f"{small[is_mixed].sum():,}", "large": f"{large[is_mixed].sum():,}"}
    return [notice_of("mixed-scales.trials", np.array(labels)[is_mixed].tolist(), **said)]


def not_probabilities(cell: Ints, value: Floats, labels: Sequence[str]) -> list[Notice]:
    """Notice of cells with confidence below 0 or above 1, which leaves out calibration for all."""
    off = (value < 0) | (value > 1)
    if not off.any():
        return []
    is_whole = bool((value == np.round(value)).all())
    sizes = np.bincount(cell, minlength=len(labels))
    beyond = np.bincount(cell[off], minlength=len(labels))
    fractions = np.bincount(cell[(value > LEAST) & (value < 1)], minlength=len(labels))
    inside = np.array(labels)[(beyond == 0) & (fractions > 0)].tolist()
    outside = np.array(labels)[beyond > FEW * sizes].tolist()
    if inside and outside:
        case = "not-probabilities.scales"
    elif (value <= 0).all():
        case = "not-probabilities.logs"
    elif off.mean() <= FEW:
        case = "not-probabilities.few"
    elif is_whole and value.min() >= 1 and value.max() <= MOST_RATING:
        case = "not-probabilities.ratings"
    else:
        case = "not-probabilities"
    said = {
        "number": f"{off.sum():,}",
        "all": f"{len(value):,}",
        "example": f"{value[off][0]:.10g}",
    }
    if case == "not-probabilities.scales":
        said = {"inside": first_few(inside), "outside": first_few(outside)}
    return [notice_of(case, [labels[i] for i in np.unique(cell[off])], **said)]
