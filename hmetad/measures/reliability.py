"""Accuracy at each confidence: calibration, whether it rises, and answers by confidence alone.

DataFrame of trials → Dataset (cell), and (cell, bin) or (cell, coverage).
Source: Brier (1950); Murphy (1973); Stephenson, Coelho & Jolliffe (2008); Naeini, Cooper &
Hauskrecht (2015); Roelofs et al. (2022); Spearman (1904); Wilson (1927); Clopper & Pearson (1934);
El-Yaniv & Wiener (2010); Geifman & El-Yaniv (2017).
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers, probability, share_or_none, whole
from hmetad.base.errors import ChoiceError, NumberError, RepeatError
from hmetad.base.notice import notice_where, with_notices
from hmetad.base.results import names_of
from hmetad.counts.tables import cell_labels
from hmetad.measures.items import By, repeats_in_cells
from hmetad.measures.results import Placed, ratio
from hmetad.measures.scores import binned_scores, order_scores, selective_accuracy, squared_errors
from hmetad.measures.stated_confidence import (
    Forecasts,
    GradedTrials,
    count_forecasts,
    few_trials,
    not_probabilities,
    trials_by_cell,
)
from hmetad.rows.tables import TableLike

Method = Literal["mass", "width", "distinct"]
Interval = Literal["wilson", "exact"]
type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

INTERVALS = 20
BINNING = {
    "mass": "about as many trials in each; equal confidences, by their average rank, never part",
    "width": "equal intervals of 0 to 1; a confidence on a cut goes down",
    "distinct": "one bin for each distinct confidence of a cell",
}
SOURCES = {"wilson": "Wilson 1927", "exact": "Clopper & Pearson 1934"}
COVERAGES = tuple(k / 20 for k in range(1, 21))
TIES = "expected over a random order of equal confidences"


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
        in a used column are excluded, with a notice.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    correct : str, optional
        Column of correctness, as for `count_correct`.
    confidence : str, optional
        Column with the probability of being correct, as stated, 0 to 1.
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
        If a column is missing, used twice or has a reserved name; if a value of
        `correct` is neither correct nor incorrect; if confidence is not between 0 and 1; if `bins`
        or `method` is none of the above; if `trials` is a table of ratings.

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
    >>> found = calibration(trials, method="distinct").sel(cell="all")
    >>> found["ece"].round(2).item(), found["brier"].round(3).item()
    (0.14, 0.266)
    >>> found["bin_accuracy"].round(3).values
    array([0.5  , 0.667])
    """
    by_cell = trials_by_cell(GradedTrials(trials, by, correct, confidence))
    for notice in not_probabilities(by_cell.cell, by_cell.value, cell_labels(by_cell.cells)):
        off = by_cell.value[(by_cell.value < 0) | (by_cell.value > 1)]
        column, got = (
            f"confidence column {confidence!r}",
            f"{len(off)} values such as {off[0]:.10g}",
        )
        raise NumberError(column, got, "probabilities from 0 to 1", notice.next_step)
    forecasts = count_forecasts(by_cell)
    if method == "mass":
        bin_of = forecasts.mass_bins(bins)
    elif method == "width":
        bin_of = forecasts.width_bins(bins)
    else:
        numbers = [np.arange(part.stop - part.start) for part in forecasts.parts()]
        bin_of, bins = np.concatenate(numbers), max(map(len, numbers))
    n, right, total = sums = binned_sums(forecasts, bin_of, bins)
    trials_of_cell = n.sum(axis=1)
    # What bin means leave out of the Brier score.
    here = (forecasts.cell, bin_of)
    deviation = forecasts.value - np.where(n > 0, ratio(total, n), 0.0)[here]
    excess = forecasts.table[1] - forecasts.trials * np.where(n > 0, ratio(right, n), 0.0)[here]
    within = forecasts.trials * deviation**2 - 2 * deviation * excess
    brier, residual = (
        forecasts.sums(x)[:, 0] / trials_of_cell
        for x in (squared_errors(forecasts.table, forecasts.value), within)
    )
    intervals = forecasts.sums(forecasts.trials, forecasts.width_bins(INTERVALS), INTERVALS)
    found: dict[str, Placed] = {
        **binned_scores(*sums, brier, residual),
        "trials": trials_of_cell.astype(np.int64),
        "bins_used": (n > 0).sum(axis=1),
        **bin_table(*sums),
        "histogram": ("histogram_bin", intervals.astype(np.int64)),
    }
    values = {name: found[name] for name in names_of("calibration")}
    upper = np.arange(1, INTERVALS + 1) / INTERVALS
    result = by_cell.results(values, "calibration")
    result = result.assign_coords(bin=np.arange(1, bins + 1), histogram_bin=upper)
    result.attrs |= {"bins": bins, "method": method, "binning": BINNING[method]}
    # Other cells have more distinct confidences: that says nothing of this one.
    is_empty = (result["bin_trials"] == 0).any("bin") & (method != "distinct")
    said = [*few_trials(result["trials"]), *notice_where(is_empty, "empty-bins")]
    return with_notices(result, [*by_cell.found, *said])


@check_inputs(skip=("trials",), bins=whole(2), ci_prob=probability)
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
        Probability of the intervals, each separately. Recorded in the attrs.

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
    Bins without trials do not count. Intervals take trials for independent: a notice warns of items
    that come again in a cell. Chance makes inversions: look at the intervals before you
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
    by_cell = trials_by_cell(GradedTrials(trials, by, correct, confidence))
    forecasts = count_forecasts(by_cell)
    n, right, total = binned_sums(forecasts, forecasts.mass_bins(bins), bins)
    lower, upper = share_limits(right, n, interval, ci_prob)
    values: dict[str, Placed] = {
        **rise(ratio(right, n)),
        "bins_used": (n > 0).sum(axis=1),
        "trials": n.sum(axis=1).astype(np.int64),
        **bin_table(n, right, total),
        "lower": ("bin", lower),
        "upper": ("bin", upper),
    }
    texts = {"level": 100 * ci_prob, "interval": interval, "reference": SOURCES[interval]}
    result = by_cell.results(values, "accuracy_by_confidence", **texts)
    result = result.assign_coords(bin=np.arange(1, bins + 1))
    result.attrs |= {"bins": bins, "method": "mass", "binning": BINNING["mass"]}
    result.attrs |= {"interval": interval, "ci_prob": float(ci_prob)}
    flat = notice_where(result["spearman"].isnull(), "undefined-spearman")
    few = few_trials(result["trials"]) + repeats_in_cells(trials, by)
    few += notice_where((result["bin_trials"] == 0).any("bin"), "empty-bins")
    return with_notices(result, [*by_cell.found, *few, *flat])


@check_inputs(
    skip=("trials",), coverages=arrays_of_numbers, tolerance=share_or_none, ci_prob=probability
)
def selective_prediction(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    coverages: Sequence[float] | ArrayLike = COVERAGES,
    tolerance: float | None = None,
    ci_prob: float = 0.95,
) -> xr.Dataset:
    r"""Accuracy–coverage curve, its area, and how much can be answered with few errors.

    Parameters
    ----------
    trials : DataFrame, path or other table
        One row per trial, of any kind that `count_trials` takes. Rows with a missing value
        in a used column are excluded, with a notice.
    by : str, sequence of str or mapping of str to str, optional
        Grouping columns, one cell per combination that occurs, as for `count_correct`.
    correct : str, optional
        Column of correctness, as for `count_correct`.
    confidence : str, optional
        Column with confidence in any unit, larger is more confident: only its order counts.
    coverages : sequence of float, optional
        Proportions of the trials to answer, above 0 and up to 1, rising; by default .05, .10, ...,
        1.
    tolerance : float, optional
        Tolerated proportion of errors among the answered trials.
    ci_prob : float, optional
        Probability with which `tolerance` holds in the trials of ``guaranteed_coverage``.

    Returns
    -------
    Dataset
        Per cell and coverage: ``selective_accuracy`` (probability) and ``confidence_threshold``
        (the least confidence that is answered, in the unit of confidence). Per cell:
        ``aurc``, the area under the risk–coverage curve (probability, less is better);
        ``aurc_excess``, its excess over the area of the best order; ``augrc``, the area where risk
        is the proportion of all trials that are answered and incorrect (less is better); ``prr``,
        the prediction rejection ratio (1 for the best order, 0 at chance); ``accuracy`` and
        ``trials``.

        With `tolerance` also, per cell: ``tolerated_coverage``, the largest proportion of the
        trials above a threshold with at most this proportion of errors, and the threshold,
        ``tolerated_threshold``; ``guaranteed_coverage`` and ``guaranteed_threshold``, the same over
        `coverages`, with the upper limit of the proportion of errors at most the tolerance. Per
        cell and coverage: ``risk_upper``, this limit, for the trials at or above the threshold. If
        there is none, the coverage is 0 and its threshold NaN.

        Variables have attrs ``long_name``, ``units``, ``source``; the dataset has ``ties`` (the
        rule in words), ``by``, ``columns``, ``labels``, ``rows_dropped`` and ``notices``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if a value of
        `correct` is neither correct nor incorrect; if confidence is not a finite number; if
        coverages are not as above; with `tolerance` if an item has several trials in a cell; if
        `trials` is a table of ratings.

    Notes
    -----
    With the N trials of a cell from the most to the least confident, and R(m) the expected number
    of correct ones among the first m, over a random order of equal confidences,

    .. math:: a(c) = \frac{R(cN)}{cN}, \quad AURC = 1 - \frac1N \sum_{m=1}^{N} \frac{R(m)}{m}

    R is linear between integers m. Uninformative confidence has the overall accuracy at each
    coverage, and the proportion of errors e as its AURC in expectation. The area under the
    accuracy–rejection curve is 1 − AURC. With AURC* of the order in which all correct trials come
    first, and W(m) errors among the first m,

    .. math::
        E\text{-}AURC = AURC - AURC^*, \quad PRR = \frac{e - AURC}{e - AURC^*}, \quad
        AUGRC = \int_0^1 \frac{W(cN)}{N} dc = (1 - e) e (1 - AUROC2) + \frac{e^2}{2}

    PRR is the ratio of Fadeeva et al. (2023), over all rejection rates; the ratio of Malinin &
    Gales (2021), which counts rejected trials as correct, is :math:`2\,AUROC2 - 1`, the
    ``"trapezoid"`` `gamma`. It is NaN where all trials are correct, or all are errors.

    ``risk_upper`` is the one-sided limit of Clopper & Pearson at 1 − (1 − ci_prob)/J for J
    coverages, so that all limits hold jointly and you may choose one afterwards. They hold for
    independent trials from the same distribution: several trials of an item in a cell raise an
    error.

    Source: Geifman & El-Yaniv (2017), also for the limits, which they choose by bisection;
    Geifman, Uziel & El-Yaniv (2019); Traub et al. (2024).

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [.9, .8, .8, .3]})
    >>> curve = selective_prediction(trials, coverages=[.25, .5, 1]).sel(cell="all")
    >>> curve["selective_accuracy"].values, curve["aurc"].round(4).item()
    (array([1.  , 0.75, 0.5 ]), 0.2708)
    """
    shares = np.asarray(coverages, dtype=float)
    is_share = bool(((shares > 0) & (shares <= 1)).all())
    if shares.ndim != 1 or not shares.size or not is_share or (np.diff(shares) <= 0).any():
        step = "Divide percentages by 100." if shares.size and shares.max() > 1 else ""
        allowed = "rising numbers above 0 and up to 1"
        raise ChoiceError("coverages", repr(coverages), allowed, step)
    if tolerance is not None and repeats_in_cells(trials, by):
        step = "Keep one answer to each item, or take measure_trials, without a guarantee."
        raise RepeatError("trials", "several answers to an item", "one answer to each item", step)
    by_cell = trials_by_cell(GradedTrials(trials, by, correct, confidence))
    forecasts = count_forecasts(by_cell)
    curves = [coverage_curve(forecasts, x, shares, tolerance, ci_prob) for x in forecasts.parts()]
    stacked = {name: np.stack([curve[name] for curve in curves]) for name in curves[0]}
    n, right = (forecasts.sums(x)[:, 0] for x in (forecasts.trials, forecasts.table[1]))
    values: dict[str, Placed] = {
        **{name: ("coverage", x) if x.ndim == 2 else x for name, x in stacked.items()},
        "accuracy": right / n,
        "trials": n.astype(np.int64),
    }
    result = by_cell.results(values, "selective_prediction").assign_coords(coverage=shares)
    result.attrs["ties"] = TIES
    if tolerance is not None:
        result.attrs |= {"tolerance": tolerance, "ci_prob": ci_prob}
    return with_notices(result, [*by_cell.found, *few_trials(result["trials"])])


# Bins


def binned_sums(forecasts: Forecasts, bin_of: Ints, bins: int) -> tuple[Floats, Floats, Floats]:
    """Trials, right trials and summed confidence of each cell and bin."""
    weights = (forecasts.trials, forecasts.table[1], forecasts.trials * forecasts.value)
    n, right, total = (forecasts.sums(x, bin_of, bins) for x in weights)
    return n, right, total


def bin_table(n: Floats, right: Floats, total: Floats) -> dict[str, Placed]:
    """Rows of a reliability diagram."""
    return {
        "bin_confidence": ("bin", ratio(total, n)),
        "bin_accuracy": ("bin", ratio(right, n)),
        "bin_trials": ("bin", n.astype(np.int64)),
    }


# Whether accuracy rises


def rise(accuracy: Floats) -> dict[str, NDArray[Any]]:
    """How accuracy (cells, bins) goes from bin to bin; NaN in bins that do not count."""
    is_bin = ~np.isnan(accuracy)
    # Shares of fewer than 10⁷ trials are equal as floats only where they are equal.
    is_higher = accuracy[:, :, None] > accuracy[:, None, :]
    is_equal = accuracy[:, :, None] == accuracy[:, None, :]
    inversions = np.triu(is_higher, 1).sum(axis=(1, 2))
    varies = is_higher.any(axis=(1, 2))
    # Pearson's r of the ranks of bins and of accuracy.
    ranks = np.cumsum(is_bin, axis=1), is_higher.sum(axis=2) + (is_equal.sum(axis=2) + 1) / 2
    n = is_bin.sum(axis=1, keepdims=True)
    dx, dy = (np.where(is_bin, x - (x * is_bin).sum(axis=1, keepdims=True) / n, 0.0) for x in ranks)
    both = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    r = np.where(varies, (dx * dy).sum(axis=1) / np.where(varies, both, 1.0), np.nan)
    return {"inversions": inversions, "rises": varies & (inversions == 0), "spearman": r}


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
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


# The most confident answers


def coverage_curve(
    forecasts: Forecasts, part: slice, shares: Floats, tolerance: float | None, ci_prob: float
) -> dict[str, Floats]:
    """Curves over the most confident shares of a cell, areas, and coverages with few errors."""
    table, value = forecasts.table[:, part].astype(float), forecasts.value[part][::-1]
    wrong, right = (np.cumsum(x[::-1]) for x in table)
    trials = wrong + right

    def places(share: Floats) -> Ints:
        """Last of the most confident; a share that is whole but for rounding needs no more."""
        return np.searchsorted(trials, share * trials[-1] * (1 - 1e-12))

    place = places(shares)
    found = order_scores(table, tolerance=tolerance)
    del found["auroc2"], found["gamma_pairs"]
    found["selective_accuracy"] = np.stack([selective_accuracy(table, x) for x in shares])
    found["confidence_threshold"] = value[place]
    if tolerance is not None:
        # One-sided, and for all coverages together.
        level = 1 - 2 * (1 - ci_prob) / len(shares)
        _, upper = share_limits(wrong[place], trials[place], "exact", level)
        sure = np.where(upper <= tolerance, trials[place], 0.0).max() / trials[-1]
        found |= {"risk_upper": upper, "guaranteed_coverage": sure}
        for name in ("tolerated", "guaranteed"):
            share = found[f"{name}_coverage"]
            found[f"{name}_threshold"] = np.where(share > 0, value[places(share)], np.nan)
    return found
