"""Measures of trials with confidence as it is, and draws of them: no ratings are made.

DataFrame of trials → Dataset (cell), or Dataset (cell, draw), with notices of the trials and of
each measure.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import cost_or_none, probability, seed_or_none, share_or_none, whole
from hmetad.base.coverage import coverage_attrs, distinct_pairs
from hmetad.base.errors import SourceError
from hmetad.base.monte_carlo import INDEPENDENT
from hmetad.base.notice import (
    Notice,
    first_few,
    notice_attrs,
    notice_of,
    notice_where,
    notices,
    notices_where,
    with_notices,
)
from hmetad.base.results import debiased_names, is_raised_by_chance
from hmetad.counts.intervals import biased_draws, is_beside, limits_of
from hmetad.counts.resample import has_spread, seed_entropy, spreadless
from hmetad.measures.items import By, Units, repeated_items, repeats_in_cells
from hmetad.measures.merged_trials import (
    Drawn,
    MergedTrials,
    ScoreOptions,
    drawn_tables,
    merged_trials,
    together,
)
from hmetad.measures.results import Placed, ratio
from hmetad.measures.scores import (
    area_error,
    area_limits,
)
from hmetad.measures.stated_confidence import (
    CellTrials,
    GradedTrials,
    Missing,
    few_trials,
    not_probabilities,
)
from hmetad.rows.tables import TableLike

type Floats = NDArray[np.float64]
type Ints = NDArray[np.int64]

SECTION = "measure_trials"
# What arguments may be.
SHARES = dict.fromkeys(("at_coverage", "tolerance"), share_or_none)
CHECKS: dict[str, Any] = {"skip": ("trials",), "bins": whole(1), "penalty": cost_or_none, **SHARES}
# Measures of all trials, with those that were abstained from, and all that need no confidence.
OF_FORCED = ("forced_accuracy", "abstain_accuracy", "abstention_dprime", "abstention_c")
OF_PRESENTED = ("coverage", "expected_score", "effective_reliability", *OF_FORCED)
OF_ALL = ("accuracy", "trials", *OF_PRESENTED)
OF_CONFIDENCE = ("mixed-scales", "one-confidence", "confidence-backward")


@check_inputs(**CHECKS, ci_prob=probability)
def measure_trials(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    cluster: Units = None,
    missing: Missing = "drop",
    over: str | None = None,
    bins: int = 10,
    at_coverage: float | None = None,
    tolerance: float | None = None,
    abstained: str | None = None,
    forced_correct: str | None = None,
    penalty: float | None = None,
    ci_prob: float = 0.95,
) -> xr.Dataset:
    r"""Measures of confidence as it is, of trials that are correct or incorrect, per cell.

    `measure` takes counts of ratings. If confidence is a number, ratings lose some information, and
    quantiles over several models lose more for some models than for others.

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
        Column with confidence in any unit, larger is more confident.
    cluster : str or sequence of str, optional
        Column that names the items, if its name does not show this, as for `resample_trials`.
    missing : {"drop", "wrong"}, optional
        Whether missing answers are excluded, or errors. With ``"wrong"``, accuracy and ``trials``
        refer to all items that another level of `over` has: rows not scored correct or incorrect,
        and items that such a level answered, count as errors; an answer without confidence keeps
        its grade. All other measures use the answers with a confidence.
    over : str, optional
        Grouping column whose levels are compared, and therefore should have the same items within
        each level of the others; by default the first.
    bins : int, optional
        Bins of equal mass for the calibration error, as for `calibration`.
    at_coverage : float, optional
        Proportion of the trials, most confident first, for ``selective_accuracy``; without it there
        is none.
    tolerance : float, optional
        Tolerated proportion of errors among the trials of ``tolerated_coverage``; without it there
        is none.
    abstained : str, optional
        Column that marks abstentions: True or False, 1 or 0, or reasons such as "refused", missing
        for answered trials. Accuracy and the measures of confidence then use the answered trials,
        if necessary only those with a confidence; the table may lack the column ``"confidence"``.
    forced_correct : str, optional
        Column that marks whether the forced answer to a trial with an abstention is correct.
    penalty : float, optional
        Cost of an error, at least 0; a correct answer scores 1 and an abstention 0. By default 1
        with `abstained`, and no score without it. If only answers with a probability correct above
        t should be given, it is t/(1 − t).
    ci_prob : float, optional
        Probability of the interval of the area.

    Returns
    -------
    Dataset
        Per cell, of the order of confidence: ``auroc2`` with ``auroc2_se``, ``auroc2_lower`` and
        ``auroc2_upper``, ``gamma_pairs``, ``aurc`` (the area under the risk–coverage curve, less
        is better), ``aurc_excess`` (that minus the area of the best order; less is better),
        ``augrc`` (the area where risk is a proportion of all trials; less is better), ``prr`` (the
        prediction rejection ratio, 1 for the best order and 0 at chance), ``accuracy`` and
        ``trials``; those of `at_coverage` and `tolerance` as of `selective_prediction`. If all
        confidence is from 0 to 1, also ``brier`` with its parts ``reliability``, ``resolution``,
        ``uncertainty`` and ``residual`` as of `calibration`, ``ece``, ``ece_debiased``,
        ``reliability_debiased``, ``mean_confidence`` and ``overconfidence``. NaN if no trial is
        correct, or no trial is an error.

        With `abstained` or `penalty`, of all trials: ``coverage`` (the proportion answered),
        ``expected_score`` and ``effective_reliability`` (the score with a penalty of 1). With
        `forced_correct`, of the trials with a graded answer, forced or not: ``forced_accuracy``
        (accuracy of abstained trials), ``abstain_accuracy`` (proportion answered correctly, or
        abstained from if the answer would be incorrect), ``abstention_dprime`` and
        ``abstention_c``.

    Raises
    ------
    InputError
        If a column is missing, used twice or has a reserved name; if a value of `correct` is
        neither correct nor incorrect; if a number in `abstained` is neither 0 nor 1; if confidence
        is not a finite number; if `trials` is a table of ratings.

    Notes
    -----
    With :math:`R_j` correct trials and :math:`W_j` errors at the j-th smallest confidence, and n
    and m in total,

    .. math:: A = \frac{1}{nm} \sum_j R_j \Bigl(\sum_{i<j} W_i + \frac{W_j}{2}\Bigr)

    exactly, ties counted as half, in time O(N log N). Its standard error is DeLong's, and the
    interval is normal. If this would reach 0 or 1, or the error is 0 because confidence separates
    all errors from correct trials, the interval is Newcombe's (method 5): all θ with :math:`|A -
    \theta| \le z \sqrt{V(\theta)}`, and :math:`N = (n + m)/2 - 1` in

    .. math:: V(\theta) = \frac{\theta (1 - \theta)}{nm} \Bigl(1 + N \frac{1 - \theta}{2 - \theta}
              + N \frac{\theta}{1 + \theta}\Bigr)

    With squared distances of confidence and accuracy in bins,

    .. math:: \sum_b \frac{n_b}{N} \Bigl((\bar p_b - \bar o_b)^2
              - \frac{\bar o_b (1 - \bar o_b)}{n_b - 1}\Bigr)

    has no bias by chance, and may be below 0. Of a distance :math:`x_b` whose error is normal with
    standard deviation :math:`s_b`, ``ece_debiased`` has instead of :math:`|x_b|`

    .. math:: 2 |x_b| - E|\mathcal N(x_b, s_b)|, \quad
              s_b^2 = \frac{\bar o_b (1 - \bar o_b)}{n_b - 1}

    which removes much of the contribution of chance, and may be below 0.

    With R right, W wrong and U abstained trials, N in all, and a penalty λ,

    .. math:: coverage = \frac{R + W}{N}, \quad score = \frac{R - \lambda W}{N}

    For d′ and c of abstaining, a hit is an abstention from an answer that would be incorrect, and a
    false alarm an abstention from one that would be correct, with ½ added to all four numbers. A c
    above 0 means few abstentions. The area under the accuracy–rejection curve is 1 − ``aurc``.

    Source: DeLong, DeLong &
    Clarke-Pearson (1988); Sun & Xu (2014); Newcombe (2006); Geifman & El-Yaniv (2017); Ferro &
    Fricker (2012); Kumar, Liang & Ma (2019) for the ECE; Kalai, Nachum, Vempala & Zhang (2025) for
    the penalty; Whitehead et al. (2022) for the effective reliability; Feng et al. (2024) for the
    accuracy with rightly abstained trials; Hautus (1995) for the ½.

    Examples
    --------
    >>> import pandas as pd
    >>> trials = pd.DataFrame({"correct": [1, 1, 0, 0], "confidence": [0.9, 0.8, 0.8, 0.3]})
    >>> found = measure_trials(trials).sel(cell="all")
    >>> found["auroc2"].item(), found["brier"].round(3).item()
    (0.875, 0.195)
    """
    of_answers = (cluster, missing, over, abstained, forced_correct, penalty)
    graded = GradedTrials(trials, by, correct, confidence, *of_answers)
    merged = merged_trials(graded, ScoreOptions(bins, at_coverage, tolerance, penalty))
    return observed_measures(merged, ci_prob)


@check_inputs(**CHECKS, n=whole(2), seed=seed_or_none)
def resample_trials(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    cluster: Units = None,
    missing: Missing = "drop",
    over: str | None = None,
    n: int = 2000,
    kind: Drawn = "bootstrap",
    bins: int = 10,
    at_coverage: float | None = None,
    tolerance: float | None = None,
    abstained: str | None = None,
    forced_correct: str | None = None,
    penalty: float | None = None,
    seed: int | None = None,
) -> xr.Dataset:
    r"""Draws of the measures of `measure_trials`, for intervals, contrasts and decisions.

    Parameters
    ----------
    trials, by, correct, confidence, missing, over, bins, at_coverage, tolerance
        As for `measure_trials`.
    abstained, forced_correct, penalty
        As for `measure_trials`.
    cluster : str or sequence of str, optional
        Column with the unit that is resampled instead of trials, such as the item, which all models
        answered, or the subject; or several columns that identify a unit, such as set and item. If
        sets number their items anew, item alone means both, with a notice. A unit is drawn for all
        cells at once, so cells with the same items stay paired.
    n : int, optional
        Number of draws.
    kind : {"bootstrap", "dirichlet"}, optional
        Trials or units with replacement; or weights from a Dirichlet distribution, whose draws are
        a posterior (the Bayesian bootstrap).
    seed : int, optional
        Seed; by default a random one, recorded in the attrs.

    Returns
    -------
    Dataset
        The measures with dims (cell, draw), as `contrast`, `rank` and `decide` take them, and
        ``trials`` (cell), possible weights of pooled contrasts; attrs ``kind``, ``cluster``, ``n``
        and ``seed``. Bins of confidence are from all trials. Draws of ``ece_debiased`` and
        ``reliability_debiased`` are shifted so that their mean is the estimate: debiasing removes
        the chance contribution of the data, but not of the draw.

    Raises
    ------
    InputError
        As `measure_trials`, or if there is no such column, or fewer than two units.

    Notes
    -----
    A trial of cell c counts :math:`w_{u}` times, u being its unit, with

    .. math:: w \sim \mathrm{Multinomial}(U, 1/U) \quad\text{or}\quad
              w \sim U\,\mathrm{Dirichlet}(1, \ldots, 1)

    Source: Efron & Tibshirani (1993); Rubin (1981); Field & Welsh (2007) for clusters.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame({"confidence": rng.uniform(0.5, 1, 400)})
    >>> trials["correct"] = rng.uniform(size=400) < trials["confidence"]
    >>> draws = resample_trials(trials, n=500, seed=1)
    >>> bool(abs(draws["auroc2"].std() - measure_trials(trials)["auroc2_se"]) < 0.003)
    True
    """
    of_answers = (cluster, missing, over, abstained, forced_correct, penalty)
    graded = GradedTrials(trials, by, correct, confidence, *of_answers)
    merged = merged_trials(graded, ScoreOptions(bins, at_coverage, tolerance, penalty))
    return drawn_measures(merged, n, kind, seed_entropy(seed))


@check_inputs(**CHECKS, n=whole(2), ci_prob=probability, seed=seed_or_none)
def resample_trials_interval(
    trials: TableLike,
    *,
    by: By = (),
    correct: str = "correct",
    confidence: str = "confidence",
    cluster: Units = None,
    missing: Missing = "drop",
    over: str | None = None,
    n: int = 2000,
    kind: Drawn = "bootstrap",
    bins: int = 10,
    at_coverage: float | None = None,
    tolerance: float | None = None,
    abstained: str | None = None,
    forced_correct: str | None = None,
    penalty: float | None = None,
    ci_prob: float = 0.95,
    seed: int | None = None,
    draws: xr.Dataset | None = None,
) -> xr.Dataset:
    """Measures of `measure_trials` with intervals by the quantiles of `resample_trials`.

    Parameters
    ----------
    trials, by, correct, confidence, cluster, missing, over, n, kind, bins, seed
        As for `resample_trials`.
    at_coverage, tolerance, abstained, forced_correct, penalty
        As for `measure_trials`.
    ci_prob : float, optional
        Probability of the equal-tailed intervals.
    draws : Dataset, optional
        Result of `resample_trials` for these trials; cluster, n, kind, seed and penalty are then
        taken from the draws.

    Returns
    -------
    Dataset
        Every measure with dims (cell, summary): ``"estimate"``, ``"lower"``, ``"upper"``, and
        ``trials``. Without an estimate there is no interval. If all draws are identical, there is a
        notice ``"no-spread"``. The interval is then, for the area without clusters, that of
        `measure_trials`; else it allows for unobserved outcomes, as in `resample_interval`: correct
        or error trials of the lowest or the highest confidence.

    Raises
    ------
    InputError
        As `resample_trials`, or if draws are of other cells.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"correct": [1, 1, 0, 0] * 50, "confidence": [0.9, 0.8, 0.8, 0.3] * 50}
    >>> trials = pd.DataFrame(rows)
    >>> found = resample_trials_interval(trials, n=500, seed=1)
    >>> found["auroc2"].sel(cell="all").round(2).values
    array([0.88, 0.84, 0.91])
    """
    of_answers = (cluster, missing, over, abstained, forced_correct, penalty)
    graded = GradedTrials(trials, by, correct, confidence, *of_answers)
    if draws is not None:
        graded = replace(graded, cluster=str(draws.attrs["cluster"]) or None)
        penalty = draws.attrs.get("penalty", penalty)
    merged = merged_trials(graded, ScoreOptions(bins, at_coverage, tolerance, penalty))
    if draws is None:
        draws = drawn_measures(merged, n, kind, seed_entropy(seed))
    estimates = observed_measures(merged, ci_prob)
    if not np.array_equal(draws["cell"], estimates["cell"]):
        raise SourceError("draws", "other cells than trials", "what resample_trials gave for them")
    names = [str(name) for name in draws.data_vars if name != "trials"]
    if not {*names} <= {*map(str, estimates)}:
        raise SourceError("draws", "other measures", "what resample_trials gave for these options")
    drawn = {name: draws[name].transpose("cell", "draw").to_numpy() for name in names}
    alike = {name: estimates[name].notnull() & ~has_spread(drawn[name]) for name in names}
    ends: dict[str, Floats] = {}
    if any(x.any() for x in alike.values()):
        ends = limits_at_edge(merged, (1 - ci_prob) / 2)
        if graded.cluster is None and merged.options.has_confidence:
            area = [estimates[f"auroc2_{end}"] for end in ("lower", "upper")]
            ends["auroc2"] = np.stack(area, axis=1)
    coords = {**estimates.coords, "summary": ["estimate", "lower", "upper"]}
    result = xr.Dataset({"trials": estimates["trials"]}, coords, draws.attrs)
    result.attrs |= merged.options.attrs(ci_prob)
    moved = dict[str, xr.DataArray]()
    for name in names:
        centre = estimates[name].to_numpy()
        limits = limits_of(drawn[name], centre, "percentile", ci_prob)
        limits[np.isnan(centre)] = np.nan
        limits = np.where(alike[name].to_numpy()[:, None], ends.get(name, limits), limits)
        moved[name] = alike[name] & (limits[:, 0] != limits[:, 1])
        joined = np.concatenate([centre[:, None], limits], axis=1)
        result[name] = ("cell", "summary"), joined, estimates[name].attrs
    return with_notices(result, biased_draws(moved, "no-spread.interval"))


def scored(merged: MergedTrials, values: Mapping[str, Placed]) -> xr.Dataset:
    """Measures by cell, with trials; the expected score says its penalty."""
    result = merged.by_cell.results({**values, "trials": merged.numbers()}, SECTION)
    if merged.options.penalty is not None:
        result["expected_score"].attrs["penalty"] = merged.options.penalty
        result.attrs["penalty"] = merged.options.penalty
    return result


def observed_measures(merged: MergedTrials, ci_prob: float) -> xr.Dataset:
    """What `measure_trials` returns."""
    values, cells = merged.estimates(), merged.cells
    if merged.options.has_confidence:
        stated = [cell.stated(cell.table.astype(float)) for cell in cells]
        se = np.array([area_error(table) for table in stated])
        numbers = np.array([table.sum(axis=-1) for table in stated])
        lower, upper = area_limits(values["auroc2"], se, numbers, ci_prob)
        values |= {"auroc2_se": se, "auroc2_lower": lower, "auroc2_upper": upper}
    result = scored(merged, values)
    result.attrs |= merged.options.attrs(ci_prob)
    said = [*merged.by_cell.found, *repeats_in_cells(merged.graded.trials, merged.graded.by)]
    said += cell_notices(result, merged)
    if merged.options.has_confidence:
        said += notice_where(result["auroc2_upper"] < 0.5, "confidence-backward")
        is_at_edge = (result["auroc2"] == 0) | (result["auroc2"] == 1)
        said += notice_where(is_at_edge, "no-spread.area")
    return noticed_by_measure(with_notices(result, said), merged.by_cell)


def drawn_measures(merged: MergedTrials, n: int, kind: Drawn, entropy: int) -> xr.Dataset:
    """What `resample_trials` returns."""
    graded, by_cell, cells, _ = merged
    parts = [
        [cell.measures(own) for cell, own in zip(cells, weights, strict=True)]
        for weights in drawn_tables(merged, n, kind, entropy)
    ]
    found = [together([*own]) for own in zip(*parts, strict=True)]
    drawn = {name: np.stack([row[name] for row in found]) for name in found[0]}
    estimates = merged.estimates()
    for name in debiased_names() & {*drawn}:
        # What takes the chance of one sample away leaves that of the draw in a draw.
        known = np.isfinite(drawn[name])
        mean = ratio(np.where(known, drawn[name], 0).sum(axis=1), known.sum(axis=1))
        drawn[name] = drawn[name] - (mean - estimates[name])[:, None]
    values: dict[str, Placed] = {name: ("draw", x) for name, x in drawn.items()}
    result = scored(merged, values).assign_coords(draw=np.arange(n))
    result = result.assign({name: result[name].assign_attrs(INDEPENDENT) for name in drawn})
    result.attrs |= {"kind": kind, "cluster": by_cell.unit, "n": n, "seed": str(entropy)}
    repeated = repeated_items(graded.trials, by=graded.by, cluster=graded.cluster)
    beside = {
        name: is_beside(drawn[name], result["trials"].copy(data=estimate))
        for name, estimate in estimates.items()
        if is_raised_by_chance(name)
    }
    said = [*by_cell.found, *repeated, *cell_notices(result, merged)]
    said += biased_draws(beside, "biased-draws.trials")
    noticed = noticed_by_measure(with_notices(result, said), by_cell)
    # Of all trials right their number says how little is open; of an area, that of errors does.
    return noticed.assign(spreadless(noticed.drop_vars("accuracy")).data_vars)


def limits_at_edge(merged: MergedTrials, tail: float) -> dict[str, Floats]:
    """Limits (cells, 2) of measures whose draws are all the same, by name.

    Least and greatest of a cell as it is, and with a share of an outcome that may have gone unseen:
    right or wrong trials of the lowest or the highest confidence.
    """
    number = merged.numbers()
    if merged.by_cell.unit:
        number = np.bincount(distinct_pairs(merged.by_cell.cell, merged.by_cell.drawn)[0])
    rows = []
    for cell, share in zip(merged.cells, 1 - tail ** (1 / number), strict=True):
        seen, width = np.append(cell.table.ravel(), cell.silent).astype(float), len(cell.confidence)
        last = max(cell.number, 1) - 1
        unseen = [width, width + last, 0, last, *range(2 * width, len(seen))]
        moved = (1 - share) * seen + share * cell.trials * np.eye(len(seen))[unseen]
        own = cell.measures(cell.weights_of(np.vstack([seen, moved])))
        ends = {name: [[np.fmin.reduce(x), np.fmax.reduce(x)]] for name, x in own.items()}
        rows.append({name: np.array(x) for name, x in ends.items()})
    return together(rows)


# Notices, and which measures they are about


def cell_notices(result: xr.Dataset, merged: MergedTrials) -> list[Notice]:
    """Notices of confidence that is no probability, and of few trials, or none right, or wrong."""
    if not merged.options.has_confidence:
        return []
    labels, by_cell = result["cell"].values.tolist(), merged.by_cell
    stated = ~np.isnan(by_cell.value)
    off = not_probabilities(by_cell.cell[stated], by_cell.value[stated], labels)
    sums = np.array([cell.stated(cell.table.astype(float)).sum(axis=-1) for cell in merged.cells])
    wrong, right = (xr.DataArray(x, {"cell": labels}, "cell") for x in sums.T)
    same = {
        label: cell.confidence[0]
        for label, cell, n in zip(labels, merged.cells, sums.sum(axis=1), strict=True)
        if cell.number == 1 and n > 1
    }
    if same:
        listed = first_few([f"{label} {value:g}" for label, value in same.items()])
        off.append(notice_of("one-confidence", [*same], listed=listed))
    # A cell that answered nothing has a notice of its own.
    is_silent = xr.zeros_like(right, dtype=bool) if by_cell.silent is None else right + wrong == 0
    few = few_trials((right + wrong).where(~is_silent))
    sides = {"no-rights": (right == 0) & ~is_silent, "no-errors": (wrong == 0) & ~is_silent}
    return [*off, *few, *notices_where(sides)]


def noticed_by_measure(draws: xr.Dataset, by_cell: CellTrials) -> xr.Dataset:
    """Draws whose variables say by themselves which notices are about them, where not all are."""
    said, (of_items, coverage) = notices(draws), by_cell.of_items
    filled = any(one.code == "counted-wrong" for one in said)
    about = {
        name: [one for one in said if is_about(one, str(name), filled)] for name in draws.data_vars
    }
    for name in {*about} & {*OF_PRESENTED}:
        about[name] += of_items
    if all(own == said for own in about.values()):
        return draws
    attrs = {name: notice_attrs(own) or {"notices": "[]"} for name, own in about.items()}
    for name in attrs:
        if name in OF_PRESENTED:
            attrs[name] |= coverage_attrs(coverage) or {"coverage": "{}"}
        elif filled and name in OF_ALL:
            # What counts as wrong is an item that was answered.
            attrs[name] |= {"coverage": "{}"}
    return draws.assign({name: x.assign_attrs(attrs[name]) for name, x in draws.items()})


def is_about(notice: Notice, name: str, filled: bool) -> bool:
    """Whether a notice of trials is about a measure; `filled` where what lacks counts as wrong."""
    # The share of right answers does not depend on confidence.
    of_confidence = notice.code in OF_CONFIDENCE
    if of_confidence or (notice.code == "unequal-items" and filled):
        return name not in OF_ALL
    if notice.code in ("unequal-items", "abstained", "nothing-answered"):
        return name not in OF_PRESENTED
    # Draws of what is debiased are about its estimate.
    is_shifted = is_raised_by_chance(name) and name not in debiased_names()
    return notice.code != "biased-draws" or is_shifted
