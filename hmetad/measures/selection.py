"""Selective prediction: accuracy of the answers when the least confident ones are withheld.

DataFrame of trials → Dataset (cell), and (cell, coverage).
Source: El-Yaniv & Wiener (2010); Geifman & El-Yaniv (2017); Feng et al. (2024); Whitehead et al.
(2022).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from hmetad.arguments import check_inputs
from hmetad.counts.columns import plain_array
from hmetad.errors import InputError
from hmetad.measures.forecasts import (
    By,
    Forecasts,
    Judged,
    Placed,
    cell_sums,
    count_forecasts,
    describe_results,
    few_trials,
    judged_trials,
)
from hmetad.measures.results import ratio
from hmetad.measures.trial_scores import risk_coverage_area
from hmetad.notice import Notice, notice_of, notice_where, with_notices
from hmetad.rows.sources import TableLike, rows_of

__all__ = ["COVERAGES", "selective_prediction"]

Floats = NDArray[np.float64]

COVERAGES = tuple(k / 20 for k in range(1, 21))
TIES = "expected over a random order of equal confidences"
OUTCOMES = ("answered right", "abstained though right", "answered wrong", "abstained and wrong")


@check_inputs(skip=("trials",))
def selective_prediction(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    abstained: str | None = None,
    coverages: Sequence[float] | ArrayLike = COVERAGES,
) -> xr.Dataset:
    r"""Accuracy–coverage curve and its area; where trials were abstained from, what that gained.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes. Rows with a missing value
        in a used column are left out, and a notice says how many.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    correct : str, optional
        Column with right or wrong, as for `count_correct`; of a trial that was abstained from,
        whether the answer held back would have been right.
    confidence : str, optional
        Column with confidence in any unit, larger is more confident: only its order counts.
    abstained : str, optional
        Column with whether the trial was abstained from: booleans, or 1 and 0.
    coverages : sequence of float, optional
        Shares of the trials to answer, above 0 and up to 1, rising; by default .05, .10, ..., 1.

    Returns
    -------
    Dataset
        Per cell and coverage: ``selective_accuracy`` (probability) and ``confidence_threshold``
        (the least confidence that is answered, in the unit of confidence). Per cell:
        ``aurc``, the area under the risk–coverage curve (probability, less is better),
        ``accuracy`` and ``trials``. With `abstained` also
        ``abstention_trials`` (dim abstention), ``reliable_accuracy`` (NaN with a notice where
        nothing was answered), ``abstain_accuracy`` and ``effective_reliability`` (−1 to 1).
        Variables have attrs ``long_name``, ``units``, ``source``; the dataset has ``ties`` (the
        rule in words), ``by``, ``columns``, ``labels``, ``rows_dropped`` and ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a name with a meaning of its own; if a value of
        `correct` or `abstained` says neither; if confidence is no finite number; if coverages are
        not as above; if `trials` is a table of ratings.

    Notes
    -----
    With the N trials of a cell from the most to the least confident, and R(m) the expected number
    of right ones among the first m, over a random order of equal confidences,

    .. math:: a(c) = \frac{R(cN)}{cN}, \quad AURC = 1 - \frac1N \sum_{m=1}^{N} \frac{R(m)}{m}

    R is linear between whole m. Confidence that says nothing has the overall accuracy at each
    coverage, and the share wrong as its AURC in expectation.
    With A, B, C, D the trials answered right, abstained from though right, answered wrong,
    abstained from and wrong:

    .. math:: R\text{-}Acc = \frac{A}{A + C}, \quad A\text{-}Acc = \frac{A + D}{N}, \quad
              \Phi = \frac{A - C}{N}

    Source: Geifman & El-Yaniv (2017); Feng et al. (2024); Whitehead et al. (2022) for Φ, the
    effective reliability.

    Examples
    --------
    >>> trials = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [.9, .8, .8, .3]})
    >>> curve = selective_prediction(trials, coverages=[.25, .5, 1]).sel(cell="all")
    >>> curve["selective_accuracy"].values, curve["aurc"].round(4).item()
    (array([1.  , 0.75, 0.5 ]), 0.2708)
    """
    shares = rising_shares(coverages)
    roles = {"correct": correct, "confidence": confidence}
    roles |= {} if abstained is None else {"abstained": abstained}
    judged = judged_trials(trials, by, roles)
    forecasts = count_forecasts(judged)
    accuracy, threshold, aurc = risk_and_coverage(forecasts, shares)
    n = cell_sums(forecasts, forecasts.trials)
    values: dict[str, Placed] = {
        "selective_accuracy": (("coverage",), accuracy),
        "confidence_threshold": (("coverage",), threshold),
        "aurc": ((), aurc),
        "accuracy": ((), cell_sums(forecasts, forecasts.right) / n),
        "trials": ((), n.astype(np.int64)),
    }
    values |= {} if abstained is None else abstention(judged, abstained)
    result = describe_results(judged, values, "selective_prediction").assign_coords(coverage=shares)
    result.attrs["ties"] = TIES
    found = [*judged.found, *few_trials(result["trials"])]
    if abstained is not None:
        result = result.assign_coords(abstention=list(OUTCOMES))
        held = rows_of(trials).spelled(roles.values()).frame([*roles.values()])
        found += abstention_notices(held, roles, result)
    return with_notices(result, found)


def rising_shares(coverages: Sequence[float] | ArrayLike) -> Floats:
    """Coverages as an array, if they are shares that rise."""
    allowed = "rising numbers above 0 and up to 1"
    try:
        shares = np.asarray(coverages, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("coverages", repr(coverages), allowed) from error
    is_share = bool(((shares > 0) & (shares <= 1)).all())
    if shares.ndim != 1 or not shares.size or not is_share or (np.diff(shares) <= 0).any():
        step = "Divide percentages by 100." if shares.size and shares.max() > 1 else ""
        raise InputError("coverages", repr(coverages), allowed, step)
    return shares


def risk_and_coverage(forecasts: Forecasts, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Accuracy and least confidence of each cell's most confident shares, and the area."""
    accuracy, threshold = (np.empty((forecasts.n_cells, len(shares))) for _ in range(2))
    aurc = np.empty(forecasts.n_cells)
    start = np.searchsorted(forecasts.cell, np.arange(forecasts.n_cells + 1))
    for cell, (first, last) in enumerate(pairwise(start)):
        own_trials, own_right = (
            n[first:last].astype(float) for n in (forecasts.trials, forecasts.right)
        )
        aurc[cell] = risk_coverage_area(own_right, own_trials - own_right)
        trials, right = (np.cumsum(x[::-1]) for x in (own_trials, own_right))
        wanted = shares * trials[-1]
        # A share of trials that is whole but for rounding needs no further trial.
        place = np.searchsorted(trials, wanted * (1 - 1e-12))
        threshold[cell] = forecasts.value[first:last][::-1][place]
        reached = np.interp(wanted, np.append(0, trials), np.append(0, right))
        accuracy[cell] = reached / wanted
    return accuracy, threshold, aurc


def abstention(judged: Judged, abstained: str) -> dict[str, Placed]:
    """Outcomes of abstaining and what they add up to, per cell."""
    held_back = is_abstained(judged.kinds[abstained])[judged.kind]
    outcome = 2 * (1 - judged.right) + held_back
    place = judged.cell * 4 + outcome
    table = np.bincount(place, minlength=4 * len(judged.cells)).reshape(-1, 4)
    A, _, C, D = table.T.astype(float)
    N = table.sum(axis=1)
    return {
        "abstention_trials": (("abstention",), table),
        "reliable_accuracy": ((), ratio(A, A + C)),
        "abstain_accuracy": ((), (A + D) / N),
        "effective_reliability": ((), (A - C) / N),
    }


def is_abstained(column: pd.Series) -> NDArray[np.int64]:
    """Return 1 for the kinds of trials that were abstained from, 0 for the others."""
    argument = f"abstained column {str(column.name)!r}"
    values = plain_array(argument, column)
    off = [value for value in values.tolist() if isinstance(value, str) or value not in (0, 1)]
    if off:
        raise InputError(argument, repr(off[0]), "True or False, 1 or 0")
    return values.astype(np.int64)


def abstention_notices(
    trials: pd.DataFrame, roles: dict[str, str], result: xr.Dataset
) -> list[Notice]:
    """Notices of abstained trials that were left out, and of cells where nothing was answered."""
    held_back = trials[roles["abstained"]].isin([1])
    lost = held_back & trials[[roles["correct"], roles["confidence"]]].isna().any(axis=1)
    found = []
    if lost.any():
        numbers = {"lost": lost.sum(), "abstained": held_back.sum()}
        found = [notice_of("abstained-left-out", **numbers)]
    return [*found, *notice_where(result["reliable_accuracy"].isnull(), "nothing-answered")]
