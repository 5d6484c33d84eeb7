"""Which of several signals is the confidence? The same answers, each signal in turn.

Trials with a column for each signal → AUROC2 and M of every signal, with intervals, and draws of
them by whole items, the same items for all signals. Source: Field & Welsh (2007) for the bootstrap
by clusters.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import probability, seed_or_none, whole
from hmetad.base.errors import ColumnError, SourceError, TakenError
from hmetad.base.monte_carlo import too_undefined, undefined_share
from hmetad.base.notice import notice_of, notices, with_notices
from hmetad.compare.contrasts import contrast
from hmetad.counts.columns import check_roles, column_names, named_rows, text_columns
from hmetad.counts.counting import count_correct
from hmetad.counts.intervals import resample_interval
from hmetad.counts.items import whole_items
from hmetad.counts.noticed import add_notices, trial_notices
from hmetad.counts.resample import resample
from hmetad.counts.tables import cell_labels
from hmetad.measures.items import By, Units, units_of
from hmetad.measures.of_trials import resample_trials, resample_trials_interval
from hmetad.mle.meta_d import fit_mle
from hmetad.rows.tables import TableLike, rows_of

SIGNALS = ("top_probability", "lead", "minus_entropy")
SIGNAL = "signal"
# Number of the answer, an item where none is known; and of the item, in one column.
ANSWER, UNIT = "answer_number", "item_number"
# What is compared, of trials as they are and of ratings.
OF_TRIALS = ("auroc2", "accuracy", "trials")
OF_RATINGS = ("m_ratio", "meta_d", "dprime")
COMPARED = ("auroc2", "m_ratio")


@check_inputs(
    skip=("trials",), ratings=whole(2), n=whole(2), ci_prob=probability, seed=seed_or_none
)
def compare_signals(
    trials: TableLike,
    *,
    signals: Sequence[str] = SIGNALS,
    by: By = (),
    correct: str = "correct",
    options: str | None = "options",
    cluster: Units = None,
    ratings: int = 4,
    n: int = 1000,
    ci_prob: float = 0.95,
    seed: int | None = None,
) -> tuple[xr.Dataset, xr.Dataset]:
    r"""AUROC2 and M of the same answers, with each of several columns as their confidence.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per answer, with a column of numbers for each signal, as `hmetad.logs.signals` adds
        them. Answers without one of the signals are left out for all.
    signals : sequence of str, optional
        Two columns or more, larger is more confident, in any units.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, such as model and set.
    correct : str, optional
        Column with right or wrong, as for `count_correct`.
    options : str, optional
        Column with the number of options of each question; None: AUROC2 alone.
    cluster : str or sequence of str, optional
        Column that names the items, or several together, as for `resample_trials`; by default the
        one that is called so, or without one every answer is an item of its own.
    ratings : int, optional
        K, for M: quantiles of each signal, within each cell.
    n : int, optional
        Draws, of whole items with replacement.
    ci_prob : float, optional
        Probability of the intervals.
    seed : int, optional
        Seed; a random one, found in the attrs, where none is given.

    Returns
    -------
    intervals : Dataset
        ``auroc2``, ``accuracy`` and, with `options`, ``m_ratio``, ``meta_d`` and ``dprime`` with
        dims (cell, summary): ``"estimate"``, ``"lower"``, ``"upper"``; and ``trials``. Coordinates
        of the cells are those of `by`, options where a cell would have several, and ``signal``.
    draws : Dataset
        The same with dims (cell, draw), as `contrast` and `rank` take them. Draw i has the same
        items in all cells, so that differences of signals, and of models with the same items, are
        paired.

    Raises
    ------
    InputError
        If a column is missing or used twice, or there are fewer than two signals; or as
        `resample_trials` and `count_correct`.

    Notes
    -----
    AUROC2 takes the signals as they are. M is that of `fit_mle` with m alternatives, of ratings by
    quantiles: a signal with few distinct values has fewer ratings than K. The answers are the same,
    so d′ and accuracy are: signals differ in nothing but their order of the answers. Entropy takes
    account of all options and of none in particular; the model of m alternatives says that
    confidence follows the lead.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame({"a": rng.uniform(size=400), "item": range(400)})
    >>> trials["correct"] = rng.uniform(size=400) < trials["a"]
    >>> trials["b"] = trials["a"] + rng.normal(size=400)
    >>> found, draws = compare_signals(trials, signals=["a", "b"], options=None, n=200, seed=1)
    >>> found["auroc2"].sel(summary="estimate").round(2).values
    array([0.84, 0.55])
    """
    if isinstance(signals, str) or len(set(signals)) < max(2, len(signals)):
        raise ColumnError("signals", repr(signals), "two or more different columns")
    stacked, names, units = stacked_signals(trials, signals, by, (correct, options), cluster)
    asked: dict[str, Any] = {"by": names, "correct": correct, "over": SIGNAL}
    draws = resample_trials(stacked, cluster=units, n=n, seed=seed, **asked)
    found = resample_trials_interval(stacked, ci_prob=ci_prob, draws=draws, **asked)
    if options is None:
        return with_efficiency(found), with_efficiency(draws)
    stacked[UNIT] = whole_items(stacked, units).to_numpy()
    how: dict[str, Any] = {"quantiles": ratings, "quantiles_within": names}
    counts = count_correct(stacked, by=[*names, UNIT], correct=correct, **how)
    # What is said of single items is not true of their sum, and is long.
    said = [one for one in json.loads(counts.attrs["notices"]) if not one["cells"]]
    counts = counts.assign_attrs(notices=json.dumps(said))
    cells = stacked.drop_duplicates(names)
    known = dict(zip(cell_labels(cells[names]), cells[options], strict=True))
    statistic = partial(efficiency, options=known)
    drawn = resample(counts, statistic, n=n, cluster=UNIT, seed=int(draws.attrs["seed"]))
    fitted = resample_interval(counts, statistic, ci_prob=ci_prob, draws=drawn)
    return with_efficiency(found, fitted), with_efficiency(draws, drawn)


def with_efficiency(result: xr.Dataset, fitted: xr.Dataset | None = None) -> xr.Dataset:
    """What is said of trials, with M beside it.

    Minus the entropy is no probability, and is not taken for one.
    """
    fitted = xr.Dataset() if fitted is None else fitted
    said = [one for one in notices(result) if one.code != "not-probabilities"]
    kept = result[[*OF_TRIALS]].assign(fitted.data_vars).assign_attrs(notices="[]")
    return with_notices(kept, [*said, *notices(fitted)])


@check_inputs(ci_prob=probability)
def signal_differences(
    intervals: xr.Dataset, draws: xr.Dataset, *, ci_prob: float = 0.95
) -> pd.DataFrame:
    """Differences of AUROC2 and of M between signals, within each cell, with intervals.

    Parameters
    ----------
    intervals, draws : Dataset
        What `compare_signals` returned.
    ci_prob : float, optional
        Probability of the equal-tailed intervals of the draws, which have the same items for both.

    Returns
    -------
    DataFrame
        One row per cell and pair: the grouping columns, ``left``, ``right``, and the difference
        left - right, as ``auroc2``, ``auroc2_lower``, ``auroc2_upper`` and, where M is known, the
        same of ``m_ratio``; no ends where more than 5 % of the draws are undefined.

    Raises
    ------
    InputError
        If they are no results of `compare_signals`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame({"a": rng.uniform(size=400), "item": range(400)})
    >>> trials["correct"] = rng.uniform(size=400) < trials["a"]
    >>> trials["b"] = trials["a"] + rng.normal(size=400)
    >>> results = compare_signals(trials, signals=["a", "b"], options=None, n=200, seed=1)
    >>> signal_differences(*results).round(2).to_dict("records")
    [{'left': 'a', 'right': 'b', 'auroc2': 0.28, 'auroc2_lower': 0.23, 'auroc2_upper': 0.33}]
    """
    if SIGNAL not in draws.coords or "draw" not in draws.dims:
        raise SourceError("draws", "none with a coordinate signal", "those of compare_signals")
    coords = [str(k) for k, v in draws.coords.items() if v.dims == ("cell",)]
    within = [name for name in coords if name not in ("cell", SIGNAL)]
    centres = intervals.sel(summary=["estimate"]).rename(summary="draw")
    columns: dict[str, Any] = {}
    for name in (name for name in COMPARED if name in draws):
        asked: dict[str, Any] = {"var": name, "over": SIGNAL, "within": within}
        drawn, centre = contrast(draws, **asked), contrast(centres, **asked)
        values = drawn.transpose("pair", ...).to_numpy().reshape(drawn.sizes["pair"], -1)
        ends = np.nanquantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=1)
        ends[:, too_undefined(undefined_share(values[:, None]))] = np.nan
        columns |= {key: drawn[key].to_numpy() for key in (*within, "left", "right")}
        columns[name] = centre.to_numpy().ravel()
        columns |= {f"{name}_{end}": x for end, x in zip(("lower", "upper"), ends, strict=True)}
    return pd.DataFrame(columns)


def stacked_signals(
    trials: TableLike,
    signals: Sequence[str],
    by: By,
    roles: tuple[str, str | None],
    cluster: Units,
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Trials once for each signal, as their confidence; grouping columns; columns of the items.

    `roles` are the columns of right and wrong and of the number of options, which is one of the
    grouping columns where others leave several in a cell.
    """
    rows = named_rows(rows_of(trials, text=text_columns(by)), signals, by)
    names, frame = column_names("by", by), rows.frame()
    used = [*(("signals", x) for x in signals), *(("by", x) for x in names), ("correct", roles[0])]
    number = [x for x in roles[1:] if x and x not in names]
    check_roles(rows.columns, [*used, *(("options", x) for x in number)])
    if SIGNAL in frame.columns:
        raise TakenError("trials", f"a column {SIGNAL!r}", "none of that name: it is made here")
    units = units_of(rows, names, cluster)
    frame[ANSWER] = np.arange(len(frame))
    kept = frame.dropna(subset=[*signals])
    dropped, found = len(frame) - len(kept), trial_notices(trials)
    found += [notice_of("rows-dropped.signals", dropped=dropped, total=len(frame))] * bool(dropped)
    if (kept.groupby(names or np.zeros(len(kept)))[number].nunique() > 1).any(axis=None):
        names = [*names, *number]
    others = kept.drop(columns=[*signals])
    parts = [others.assign(signal=name, confidence=kept[name]) for name in signals]
    stacked = pd.concat(parts, ignore_index=True)
    stacked[SIGNAL] = stacked[SIGNAL].astype(pd.CategoricalDtype([*signals]))
    stacked.attrs = add_notices({}, found)
    return stacked, [*names, SIGNAL], units.drawn or units.parts or [ANSWER]


def efficiency(table: xr.DataArray, options: Mapping[str, int]) -> xr.Dataset:
    """M and what it is a ratio of, of right and wrong answers with their numbers of options."""
    known = [options[label] for label in table["cell"].to_numpy().tolist()]
    # Tables drawn hold whole numbers too.
    fitted = fit_mle(table.round().astype(np.int64).assign_coords(options=("cell", known)))
    return fitted[[*OF_RATINGS]].drop_vars("options")
