"""Calibration: whether confidence, taken as a probability, is the accuracy that follows.

DataFrame of trials → Dataset (cell), and (cell, bin) for a reliability diagram.
Source: Brier (1950); Murphy (1973); Stephenson, Coelho & Jolliffe (2008); Naeini, Cooper &
Hauskrecht (2015); Roelofs et al. (2022).
"""

from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.arguments import check_inputs, whole
from hmetad.measures.forecast_bins import (
    MASS,
    bin_sums,
    bin_table,
    binned_sums,
    empty_bins,
    mass_bins,
    width_bins,
)
from hmetad.measures.forecasts import (
    By,
    Forecasts,
    Placed,
    cell_sums,
    count_forecasts,
    describe_results,
    few_trials,
    judged_trials,
    refuse_no_probabilities,
)
from hmetad.measures.results import ratio
from hmetad.measures.trial_scores import binned_scores, mean_scores, squared_errors
from hmetad.notice import with_notices
from hmetad.rows.sources import TableLike

__all__ = ["calibration"]

Method = Literal["mass", "width", "distinct"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INTERVALS = 20
BINNING = {
    "mass": MASS,
    "width": "equal intervals of 0 to 1; a confidence on a cut goes down",
    "distinct": "one bin for each distinct confidence of a cell",
}


@check_inputs(skip=("trials",), bins=whole(1))
def calibration(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    bins: int = 10,
    method: Method = "mass",
) -> xr.Dataset:
    r"""Calibration error, Brier score and its parts, and a reliability table, per cell.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes. Rows with a missing value
        in a used column are left out, and a notice says how many.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    correct : str, optional
        Column with right or wrong, as for `count_correct`.
    confidence : str, optional
        Column with the probability of being right, as stated, 0 to 1.
    bins : int, optional
        Number of bins, B; not used by ``"distinct"``.
    method : {"mass", "width", "distinct"}, optional
        ``"mass"``: about as many trials of the cell in each bin, by rank as in `bin_confidence`;
        equal confidences share a bin, and a bin that they leave empty stays empty. ``"width"``:
        intervals ((b − 1)/B, b/B], 0 in the first. ``"distinct"``: a bin for each distinct
        confidence. Recorded in the attrs, as is `bins`.

    Returns
    -------
    Dataset
        Per cell: ``ece``, ``brier``, ``reliability``, ``resolution``, ``uncertainty``,
        ``residual``, ``mean_confidence``, ``accuracy``, ``overconfidence`` (all on the scale of
        probabilities), ``trials`` and ``bins_used``. Per cell and bin: ``bin_confidence``,
        ``bin_accuracy`` (NaN in an empty bin, with a notice) and ``bin_trials``. Dim
        histogram_bin: ``histogram``, trials by confidence in twenty intervals like those of
        ``"width"``, named by their upper ends. Variables have attrs ``long_name``, ``units``,
        ``source``; the dataset has ``bins``, ``method``, ``binning`` (the rule in words), ``by``,
        ``columns``, ``labels``, ``rows_dropped`` and ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a name with a meaning of its own; if a value of
        `correct` says neither right nor wrong; if confidence is not between 0 and 1; if `bins` or
        `method` is none of the above; if `trials` is a table of ratings.

    Notes
    -----
    With n_b of N trials in bin b, their mean confidence p̄_b and accuracy ō_b, and ō over all:

    .. math::
        ECE &= \sum_b \tfrac{n_b}{N} |\bar p_b - \bar o_b|, \quad
        BS = \tfrac1N \sum_i (p_i - o_i)^2 \\
        REL &= \sum_b \tfrac{n_b}{N} (\bar p_b - \bar o_b)^2, \quad
        RES = \sum_b \tfrac{n_b}{N} (\bar o_b - \bar o)^2, \quad UNC = \bar o (1 - \bar o) \\
        residual &= \tfrac1N \sum_b \sum_{i \in b} (p_i - \bar p_b)^2
                    - 2 (p_i - \bar p_b)(o_i - \bar o_b)

    BS = REL − RES + UNC + residual always (Stephenson, Coelho & Jolliffe 2008), and the residual is
    0 where a bin holds one distinct confidence (Murphy 1973). ECE is never below 0, so that chance
    alone keeps it above: the more so the more bins, the fewer trials and the better calibrated a
    cell is; bins of equal mass are biased least (Roelofs et al. 2022). Compare cells with the same
    bins and like numbers of trials.

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"correct": [1, 1, 0, 0, 1], "confidence": [.9, .9, .9, .5, .5]})
    >>> judged = calibration(trials, method="distinct").sel(cell="all")
    >>> judged["ece"].round(2).item(), judged["brier"].round(3).item()
    (0.14, 0.266)
    >>> judged["bin_accuracy"].round(3).values
    array([0.5  , 0.667])
    """
    judged = judged_trials(trials, by, {"correct": correct, "confidence": confidence})
    value = refuse_no_probabilities(confidence, judged.value)
    forecasts = count_forecasts(judged._replace(value=value))
    bin_of, bins = bin_numbers(forecasts, bins, method)
    sums = binned_sums(forecasts, bin_of, bins)
    values: dict[str, Placed] = {
        name: ((), x) for name, x in scores(forecasts, bin_of, *sums).items()
    }
    values |= {name: (("bin",), x) for name, x in bin_table(*sums).items()}
    values["histogram"] = (("histogram_bin",), histogram(forecasts))
    result = describe_results(judged, values, "calibration")
    upper = np.arange(1, INTERVALS + 1) / INTERVALS
    result = result.assign_coords(bin=np.arange(1, bins + 1), histogram_bin=upper)
    result.attrs |= {"bins": bins, "method": method, "binning": BINNING[method]}
    # Other cells have more distinct confidences: that says nothing of this one.
    empty = [] if method == "distinct" else empty_bins(result["bin_trials"])
    return with_notices(result, [*judged.found, *few_trials(result["trials"]), *empty])


def bin_numbers(forecasts: Forecasts, bins: int, method: Method) -> tuple[Ints, int]:
    """Bin 0..B − 1 of each distinct confidence, and B."""
    if method == "mass":
        return mass_bins(forecasts, bins), bins
    if method == "width":
        return width_bins(forecasts, bins), bins
    n = np.bincount(forecasts.cell, minlength=forecasts.n_cells)
    return np.arange(len(forecasts.cell)) - (np.cumsum(n) - n)[forecasts.cell], int(n.max())


def scores(
    forecasts: Forecasts, bin_of: Ints, n: Floats, right: Floats, total: Floats
) -> dict[str, NDArray[Any]]:
    """All that `calibration` gives per cell, under their names; sums are by cell and bin."""
    trials = n.sum(axis=1)
    p_bar, o_bar = (np.where(n > 0, ratio(x, n), 0.0) for x in (total, right))
    given, hits = (x.astype(float) for x in (forecasts.trials, forecasts.right))
    errors = squared_errors(hits, given - hits, forecasts.value)
    brier = cell_sums(forecasts, errors) / trials
    residual = cell_sums(forecasts, within_bins(forecasts, bin_of, p_bar, o_bar)) / trials
    found = binned_scores(n, right, total, brier, residual)
    return {
        "ece": found.pop("ece"),
        **found,
        **mean_scores(n, right, total),
        "trials": trials.astype(np.int64),
        "bins_used": (n > 0).sum(axis=1),
    }


def within_bins(forecasts: Forecasts, bin_of: Ints, p_bar: Floats, o_bar: Floats) -> Floats:
    """What bin means leave out of the Brier score, summed over the trials of each forecast."""
    here = (forecasts.cell, bin_of)
    deviation = forecasts.value - p_bar[here]
    excess = forecasts.right - forecasts.trials * o_bar[here]
    return forecasts.trials * deviation**2 - 2 * deviation * excess


def histogram(forecasts: Forecasts) -> Ints:
    """Trials of each cell by confidence, in equal intervals of 0 to 1."""
    interval = width_bins(forecasts, INTERVALS)
    return bin_sums(forecasts, interval, INTERVALS, forecasts.trials).astype(np.int64)
