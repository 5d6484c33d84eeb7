"""Whether accuracy rises with confidence: a check of the order of a scale of confidence.

DataFrame of trials → Dataset (cell), and (cell, bin).
Source: Spearman (1904); Wilson (1927); Clopper & Pearson (1934).
"""

from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from hmetad.arguments import check_inputs
from hmetad.counts.checks import open_probability, whole_number
from hmetad.errors import InputError
from hmetad.measures.forecast_bins import (
    MASS,
    bin_table,
    binned_sums,
    empty_bins,
    mass_bins,
)
from hmetad.measures.forecasts import (
    By,
    Placed,
    count_forecasts,
    describe_results,
    few_trials,
    judged_trials,
)
from hmetad.measures.results import ratio
from hmetad.notice import notice_where, with_notices
from hmetad.rows.sources import TableLike

__all__ = ["accuracy_by_confidence", "share_limits"]

Interval = Literal["wilson", "exact"]
Floats = NDArray[np.float64]

SOURCES = {"wilson": "Wilson 1927", "exact": "Clopper & Pearson 1934"}


@check_inputs(skip=("trials",))
def accuracy_by_confidence(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    bins: int = 10,
    interval: Interval = "wilson",
    ci_prob: float = 0.95,
) -> xr.Dataset:
    r"""Accuracy at rising confidence, and whether it rises as well, per cell.

    Parameters
    ----------
    trials, by, correct
        As for `calibration`.
    confidence : str, optional
        Column with confidence in any unit, larger is more confident: only its order counts.
    bins : int, optional
        Number of quantiles, at least 2, made as for `calibration` with method ``"mass"``.
    interval : {"wilson", "exact"}, optional
        Wilson's score interval, or that of Clopper and Pearson. Recorded in the attrs.
    ci_prob : float, optional
        Probability of the intervals, each by itself. Recorded in the attrs.

    Returns
    -------
    Dataset
        Per cell and bin: ``bin_accuracy`` with its limits ``lower`` and ``upper``,
        ``bin_confidence`` (the unit of confidence) and ``bin_trials``; NaN in an empty bin, with a
        notice. Per cell: ``inversions``, the pairs of bins in which the less confident one is the
        more accurate; ``rises``, whether there is none and accuracy is not the same in all bins;
        ``spearman``, the rank correlation of bin and accuracy, NaN with a notice where there is one
        bin or accuracy is the same in all; ``bins_used``; ``trials``.

    Raises
    ------
    InputError
        As `calibration`, save that confidence may be any finite numbers; or if `interval` or
        `ci_prob` is none of the above.

    Notes
    -----
    Bins without trials do not count. Chance makes inversions: look at the intervals before you
    call a rise broken. With z the normal quantile at (1 + ci_prob)/2, p of n trials right, Wilson's
    limits are

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    Source: Wilson (1927); Clopper & Pearson (1934); Brown, Cai & DasGupta (2001).

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"correct": [0, 1, 0, 1, 1, 1], "confidence": [1, 1, 2, 2, 3, 3]})
    >>> found = accuracy_by_confidence(trials, bins=3).sel(cell="all")
    >>> found["bin_accuracy"].values, found["inversions"].item(), found["rises"].item()
    (array([0.5, 0.5, 1. ]), 0, True)
    """
    bins = whole_number("bins", bins, 2)
    check_interval(interval, ci_prob)
    judged = judged_trials(trials, by, {"correct": correct, "confidence": confidence})
    forecasts = count_forecasts(judged)
    n, right, total = binned_sums(forecasts, mass_bins(forecasts, bins), bins)
    table = bin_table(n, right, total)
    table["lower"], table["upper"] = share_limits(right, n, interval, ci_prob)
    over_cells = rise(table["bin_accuracy"]) | {
        "bins_used": (n > 0).sum(axis=1),
        "trials": n.sum(axis=1).astype(np.int64),
    }
    values: dict[str, Placed] = {name: ((), x) for name, x in over_cells.items()}
    values |= {name: (("bin",), x) for name, x in table.items()}
    texts = {"level": 100 * ci_prob, "interval": interval, "reference": SOURCES[interval]}
    result = describe_results(judged, values, "accuracy_by_confidence", **texts)
    result = result.assign_coords(bin=np.arange(1, bins + 1))
    result.attrs |= {"bins": bins, "method": "mass", "binning": MASS}
    result.attrs |= {"interval": interval, "ci_prob": float(ci_prob)}
    return with_notices(
        result,
        [
            *judged.found,
            *few_trials(result["trials"]),
            *empty_bins(result["bin_trials"]),
            *notice_where(result["spearman"].isnull(), "undefined-spearman"),
        ],
    )


def check_interval(interval: object, ci_prob: object) -> None:
    """Refuse an unknown interval, or a number that is no probability."""
    if interval not in get_args(Interval):
        raise InputError("interval", repr(interval), "'wilson' or 'exact'")
    open_probability("ci_prob", ci_prob)


def rise(accuracy: Floats) -> dict[str, NDArray[Any]]:
    """How accuracy (cells, bins) goes from bin to bin; NaN in bins that do not count."""
    is_bin = ~np.isnan(accuracy)
    # Shares of fewer than 10⁷ trials are equal as floats only where they are equal.
    is_higher = accuracy[:, :, None] > accuracy[:, None, :]
    is_equal = accuracy[:, :, None] == accuracy[:, None, :]
    inversions = np.triu(is_higher, 1).sum(axis=(1, 2))
    varies = is_higher.any(axis=(1, 2))
    rank = is_higher.sum(axis=2) + (is_equal.sum(axis=2) + 1) / 2
    return {
        "inversions": inversions,
        "rises": varies & (inversions == 0),
        "spearman": correlation(np.cumsum(is_bin, axis=1), rank, is_bin, varies),
    }


def correlation(
    x: NDArray[np.integer], y: Floats, counts: NDArray[np.bool_], varies: NDArray[np.bool_]
) -> Floats:
    """Pearson's r of each row, over the places that count; NaN in rows that do not vary."""
    n = counts.sum(axis=1, keepdims=True)
    dx, dy = (np.where(counts, z - (z * counts).sum(axis=1, keepdims=True) / n, 0) for z in (x, y))
    both = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    return np.where(varies, (dx * dy).sum(axis=1) / np.where(varies, both, 1.0), np.nan)


def share_limits(
    right: Floats, n: Floats, interval: Interval, ci_prob: float
) -> tuple[Floats, Floats]:
    """Limits of the share of right trials, NaN where there are none."""
    wrong = n - right
    if interval == "exact":
        tail = (1 - ci_prob) / 2
        low = np.where(right > 0, betaincinv(np.maximum(right, 1), wrong + 1, tail), 0.0)
        high = np.where(wrong > 0, betaincinv(right + 1, np.maximum(wrong, 1), 1 - tail), 1.0)
    else:
        z2 = float(ndtri((1 + ci_prob) / 2)) ** 2
        centre = (right + z2 / 2) / (n + z2)
        half = np.sqrt(z2 * (ratio(right * wrong, n) + z2 / 4)) / (n + z2)
        # At 0 and 1 a limit is exactly there, which rounding may miss.
        low = np.where(right == 0, 0.0, centre - half)
        high = np.where(wrong == 0, 1.0, centre + half)
    low, high = (np.where(n > 0, x, np.nan) for x in (low, high))
    return low, high
