"""From draws, or estimates and standard errors, to verdicts.

Draws (chain, draw, pair or cell), or estimates → summaries → Decisions. Two answers are kept apart:
the statistical one (does the interval exclude the null?) and the practical one (where does it lie
against the region of practical equivalence, ROPE?).
Source: Kruschke (2018); Makowski et al. (2019).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import arrays_of_numbers
from hmetad.base.errors import (
    ChoiceError,
    LabelError,
    ModelError,
    NumberError,
    ShapeError,
    TooFewError,
)
from hmetad.base.monte_carlo import (
    chains_disagree,
    effective_draws,
    has_chains,
    quantile_error,
    rank_rhat,
    row_quantile,
    share_interval,
    too_undefined,
    where_defined,
)
from hmetad.base.notice import Notice, notice_attrs, notice_of, notices, with_notices
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    both_codes,
    codes_on_draws,
    coordinates_of_places,
    joined_codes,
    undefined_notice,
    with_chains,
)
from hmetad.compare.decisions import Decisions, labelled_columns

IntervalKind = Literal["eti", "hdi"]
type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
type Columns = dict[str, Floats]
type Rope = tuple[float, float]

# Attrs of a contrast that the decisions on it keep.
CONTRAST_ATTRS = (
    *("quantity", "kind", "over", "within", "matrix"),
    *("pairing", "pairing_rule", "units", "notices", "reference", "penalty"),
    *("pool", "pool_rule", "pool_weights", "pool_levels"),
)
FULL_RULE_MARGIN = 0.025
# Monte Carlo errors by which a bound may be off: 19 in 20 are nearer.
ERRORS = 2
FEWEST_IN_TAIL = 5
# Numbers in a part of rows that fits the processor's cache.
CHUNK = 2**18


@check_inputs(skip=("rope",))
def decide(
    draws: xr.DataArray,
    *,
    rope: tuple[float, float],
    null: float = 0.0,
    ci_prob: float = 0.95,
    ci_kind: IntervalKind = "eti",
    comparisons: int = 1,
) -> Decisions:
    """Decide about quantities by their posterior draws.

    Parameters
    ----------
    draws : DataArray
        Dims chain, draw and at most one more, such as pair (from `contrast`), cell, or the
        levels of a coefficient. Draws whose attr ``sampling`` is ``"independent"``, as those of
        `resample` and `bayes.fit_estimates`, have no chains to check.
    rope : tuple of float
        Region of practical equivalence, on the scale of the draws. There is no default: the analyst
        decides what is negligible.
    null : float
        Value of "no effect".
    ci_prob : float
        Probability of the interval.
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.
    comparisons : int
        Number of comparisons m: intervals at 1 - (1 - ci_prob)/m (Bonferroni).

    Returns
    -------
    Decisions
        With rhat, ess_tail, and the coordinate withheld, the codes of the reasons for a missing
        verdict: codes of `contrast` or of the fit, ``"undefined"`` (more than 5 % of its draws),
        ``"constant"``, ``"rhat"`` (above 1.01, of the contrast itself; independent draws have none)
        or ``"few-draws"`` (fewer than four a chain). Up to 5 % of undefined draws are excluded,
        from this quantity only; `undefined` is their proportion, and a notice reports it. If the
        draws are too few, `unsettled` names the answers that 2 Monte Carlo errors could change;
        verdict and full_verdict are then "unreliable"; more draws help. `notices` returns the
        notices of the draws, and ``"draws-for-level"`` if there are too few for intervals of this
        probability, with a sufficient number.

    Raises
    ------
    InputError
        If an argument is out of range, there are no draws, or they have other dims.

    Notes
    -----
    The error of a bound is the error of its quantile (for ``"hdi"``, of the quantile at which it
    lies, which is less than its total error). With an ESS below five beyond a bound, as after a
    strict correction, the bound is taken to lie anywhere further out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> draws = xr.DataArray(
    ...     rng.normal(0.3, 0.05, (4, 500, 1)),
    ...     dims=("chain", "draw", "cell"),
    ...     coords={"cell": ["a"]},
    ... )
    >>> decide(draws, rope=(-0.1, 0.1)).table()[["label", "verdict"]].values.tolist()
    [['a', 'different']]
    """
    check_arguments(rope, null, ci_prob, comparisons)
    if draws.attrs.get("kind") == "superiority":
        step = "The probability of superiority is the mean of these draws."
        raise ModelError("draws", "superiority (0 or 1)", "draws of a difference", step)
    draws, dim = with_one_dim(with_chains(draws))
    rows = draws.transpose(dim, *SAMPLE_DIMS).values
    level = 1 - (1 - ci_prob) / comparisons
    found = summarise(rows, rope, null, level, ci_kind == "hdi", has_chains(draws.attrs))
    withheld = reasons(draws, rows, found)
    said = {k: v for k, v in draws.attrs.items() if k in CONTRAST_ATTRS}
    columns = labelled_columns(found | judge(found, rope, null, withheld != ""), draws, dim)
    results = xr.Dataset(columns, coordinates_of_places(draws), said)
    labels = draws[dim].values if dim in draws.coords else np.arange(len(withheld))
    own = undefined_notice(labels, found["undefined"]) + draws_for_level(rows[0].size, level)
    if own:
        results = with_notices(results, [*notices(results), *own])
    results = results.assign_coords(withheld=(dim, withheld))
    return Decisions(results, str(draws.name), rope, null, ci_prob, ci_kind, comparisons)


def draws_for_level(number: int, level: float) -> list[Notice]:
    """Notice of too few draws for an interval of this probability, and how many would do."""
    outside = (1 - level) / 2
    if number * outside >= FEWEST_IN_TAIL:
        return []
    # Twice as many leave room for draws that are less than independent.
    needed = 1000 * math.ceil(round(2 * FEWEST_IN_TAIL / outside / 1000, 6))
    told = {"level": f"{100 * level:.4g}", "draws": number, "needed": f"{needed:,}"}
    return [notice_of("draws-for-level", **told)]


@check_inputs(skip=("rope",), estimate=arrays_of_numbers, se=arrays_of_numbers)
def decide_normal(
    estimate: ArrayLike | xr.DataArray,
    se: ArrayLike | xr.DataArray,
    *,
    rope: tuple[float, float],
    null: float = 0.0,
    ci_prob: float = 0.95,
    comparisons: int = 1,
    labels: Sequence[str] | None = None,
) -> Decisions:
    """Decide about quantities by their estimates and standard errors.

    Parameters
    ----------
    estimate, se : array or DataArray, shape (n,)
        Estimates and their standard errors, or one error for all. An estimate that is a DataArray
        keeps its dim, coordinates and notices.
    rope, null, ci_prob, comparisons
        As in `decide`. The p-value of the two-sided z-test is multiplied by the number of
        comparisons (at most 1); the interval is widened accordingly.
    labels : sequence of str, optional
        Names of the quantities, if `estimate` has none.

    Returns
    -------
    Decisions
        With p_value instead of the Monte Carlo errors. The coordinate withheld has the reasons for
        a missing verdict: codes of the errors of the cells, as in `decide`, or ``"undefined"``.
        Estimates for cells of a model with grouping factors are not independent: notice
        ``"shrunken-estimates"`` (Boehm et al. 2018).

    Raises
    ------
    InputError
        If an argument is out of range, or numbers of errors or labels differ from the estimates.

    Examples
    --------
    >>> decide_normal([0.02, 0.4], [0.02, 0.05], rope=(-0.1, 0.1)).table()["verdict"].tolist()
    ['negligible', 'different']
    """
    check_arguments(rope, null, ci_prob, comparisons)
    values = labelled_estimate(estimate, labels)
    dim = str(values.dims[0])
    errors = errors_of(values, se)
    mean, sd = values.values, errors.values
    undefined = np.where(np.isfinite(mean) & np.isfinite(sd), "", "undefined")
    withheld = both_codes(codes_on_estimates(values), undefined.tolist())
    z = norm.isf((1 - ci_prob) / comparisons / 2)
    distance = abs(mean - null) / sd
    found = {
        "mean": mean,
        "sd": sd,
        "lower": mean - z * sd,
        "upper": mean + z * sd,
        "p_value": np.minimum(1.0, comparisons * 2 * norm.sf(distance)),
        "p_direction": norm.cdf(distance),
        "in_rope": np.asarray(norm.cdf(rope[1], mean, sd) - norm.cdf(rope[0], mean, sd)),
    }
    columns = labelled_columns(found | judge(found, rope, null, withheld != ""), values, dim)
    # These two bring labels along, and attrs of their own.
    results = xr.Dataset({**columns, "mean": values, "sd": errors})
    said, over = list(notices(values)), values.attrs.get("pooled_over")
    if over:
        cells = values[dim].values.tolist() if dim in values.coords else []
        said.append(notice_of("shrunken-estimates", map(str, cells), over=over))
    results = results.assign_coords(withheld=(dim, withheld)).assign_attrs(notice_attrs(said))
    return Decisions(results, str(values.name), rope, null, ci_prob, "normal", comparisons)


def check_arguments(rope: Rope, null: float, ci_prob: float, comparisons: int) -> None:
    """Refuse a ROPE with its ends swapped, and probabilities and numbers out of range."""
    if not isinstance(rope, Sequence) or len(rope) != 2 or not rope[0] < rope[1]:
        step = "Write both limits, as in rope=(-0.05, 0.05)."
        raise ChoiceError("rope", repr(rope), "(lower, upper) with lower < upper", step)
    if not np.isfinite(null):
        raise NumberError("null", str(null), "a finite number")
    if not 0 < ci_prob < 1:
        raise NumberError("ci_prob", str(ci_prob), "a probability above 0 and below 1")
    if comparisons < 1 or comparisons != int(comparisons):
        raise TooFewError("comparisons", str(comparisons), "a whole number of at least 1")


def with_one_dim(draws: xr.DataArray) -> tuple[xr.DataArray, str]:
    """Draws with the one dim besides chain and draw; of a single number, its cell or its name."""
    if set(draws.dims) == set(SAMPLE_DIMS):
        if "cell" in draws.coords:
            return draws.expand_dims("cell"), "cell"
        return draws.expand_dims(pair=[str(draws.name)]), "pair"
    others = [str(dim) for dim in draws.dims if dim not in SAMPLE_DIMS]
    if len(others) != 1 or not set(SAMPLE_DIMS) <= set(draws.dims):
        step = "Select one element of the others by .sel()."
        raise ShapeError("draws", f"dims {draws.dims}", "chain, draw and one more dim", step)
    return draws, others[0]


def reasons(draws: xr.DataArray, rows: Floats, found: Columns) -> NDArray[np.str_]:
    """Codes of why there is no verdict on each quantity; empty text where there is one."""
    # Independent draws have no R̂.
    drifts = ~np.isnan(found["rhat"]) & chains_disagree(rows, found["rhat"], len(rows))
    is_undefined = too_undefined(found["undefined"])
    is_defined = ~is_undefined & (found["constant"] == 0)
    flags = {
        "undefined": is_undefined,
        "constant": found["constant"] == 1,
        "rhat": drifts & is_defined,
        "few-draws": np.isnan(found["ess_tail"]) & is_defined,
    }
    own = joined_codes(list(flags), np.array(list(flags.values())))
    return both_codes(codes_on_draws(draws), own)


def codes_on_estimates(values: xr.DataArray) -> list[str]:
    """Codes of the errors that estimates carry, for each of them.

    Of cells, or of pairs with coordinates left and right, those of the cells; for others, such as a
    coefficient, an error about sampling concerns all.

    Examples
    --------
    >>> said = '[{"code": "rhat", "severity": "error", "message": "", "cells": ["a"]}]'
    >>> m = xr.DataArray([0.1, 0.2], {"cell": ["a", "b"]}, name="log_m", attrs={"notices": said})
    >>> codes_on_estimates(m)
    ['rhat', '']
    """
    of = values.attrs.get("quantity", values.name)

    def codes_of(estimates: xr.DataArray) -> list[str]:
        return codes_on_draws(estimates.rename(of).expand_dims(SAMPLE_DIMS))

    if "withheld" in values.coords or not {"left", "right"} <= set(values.coords):
        return codes_of(values)
    sides = (
        xr.DataArray(values.values, {"cell": values[end].values}, "cell", attrs=values.attrs)
        for end in ("left", "right")
    )
    return both_codes(*map(codes_of, sides)).tolist()


def labelled_estimate(
    estimate: ArrayLike | xr.DataArray, labels: Sequence[str] | None
) -> xr.DataArray:
    """Estimates with one labelled dim."""
    if isinstance(estimate, xr.DataArray):
        if estimate.ndim != 1:
            raise ShapeError("estimate", f"dims {estimate.dims}", "one dim")
        return estimate.astype(float)
    values = np.atleast_1d(np.asarray(estimate, dtype=float))
    if values.ndim != 1:
        raise ShapeError("estimate", f"shape {values.shape}", "one dim")
    names = [str(i + 1) for i in range(len(values))] if labels is None else list(labels)
    if len(names) != len(values):
        raise ShapeError("labels", f"{len(names)} labels", f"one for each of {len(values)}")
    return xr.DataArray(values, dims="pair", coords={"pair": names}, name="estimate")


def errors_of(values: xr.DataArray, se: ArrayLike | xr.DataArray) -> xr.DataArray:
    """Standard errors of labelled estimates, one each."""
    dim, labels = values.dims[0], values.indexes
    theirs = se.indexes if isinstance(se, xr.DataArray) else {}
    if dim in labels and dim in theirs and not labels[dim].equals(theirs[dim]):
        step = f"Select them alike: se.sel({dim}=estimate[{dim!r}])."
        raise LabelError("se", "other labels than those of estimate", "the same labels", step)
    numbers = np.asarray(se, dtype=float)
    if numbers.shape not in ((), (1,), values.shape):
        raise ShapeError("se", f"shape {numbers.shape}", f"one number, or {values.size}")
    if (numbers <= 0).any():
        raise NumberError("se", f"{np.nanmin(numbers)}", "standard errors above 0")
    return values.copy(data=np.broadcast_to(numbers, values.shape))


def judge(
    found: Mapping[str, Floats], rope: Rope, null: float, is_withheld: Flags
) -> dict[str, NDArray[Any]]:
    """Answers to intervals and shares of the posterior in the ROPE.

    statistical: whether the interval excludes the null; verdict: where it lies against the ROPE;
    full_verdict: the same words by the share, below .025 and above .975. What is withheld has none
    of them. Of draws also unsettled: the names of the answers that Monte Carlo error could change;
    such verdicts are "unreliable".
    """
    intervals = {
        "statistical": lambda low, high: (low > null) | (high < null),
        "verdict": lambda low, high: interval_words(low, high, rope),
    }
    bounds, in_rope = (found["lower"], found["upper"]), found["in_rope"]
    given = {name: answer(*bounds) for name, answer in intervals.items()}
    given["full_verdict"] = share_words(in_rope)
    result, hidden = {}, dict.fromkeys(given, is_withheld)
    if "mcse_lower" in found:
        near = list(nearby_intervals(found))
        others = {name: [answer(*ends) for ends in near] for name, answer in intervals.items()}
        ends = (found["in_rope_least"], found["in_rope_most"])
        others["full_verdict"] = [share_words(end) for end in ends]
        turns = {k: (np.array(x) != given[k]).any(axis=0) & ~is_withheld for k, x in others.items()}
        names = joined_codes(list(turns), np.array(list(turns.values())))
        result["unsettled"] = np.array(names, dtype=str)
        hidden = {name: is_withheld | turns[name] for name in turns}
    for name in ("verdict", "full_verdict"):
        result[name] = np.where(hidden[name], "unreliable", given[name])
    return {"statistical": given["statistical"] & ~is_withheld, **result}


def nearby_intervals(found: Mapping[str, Floats]) -> Iterator[tuple[Floats, Floats]]:
    """The four intervals with each bound moved in or out by `ERRORS` Monte Carlo errors."""
    lower, upper = found["lower"], found["upper"]
    moves = ERRORS * found["mcse_lower"], ERRORS * found["mcse_upper"]
    few = found["tail_lower"] < FEWEST_IN_TAIL, found["tail_upper"] < FEWEST_IN_TAIL
    lows = np.where(few[0], -np.inf, lower - moves[0]), lower + moves[0]
    highs = np.where(few[1], np.inf, upper + moves[1]), upper - moves[1]
    for low in lows:
        for high in highs:
            yield low, high


def interval_words(lower: Floats, upper: Floats, rope: Rope) -> NDArray[np.str_]:
    """Verdicts by where intervals lie against the ROPE."""
    outside = (lower > rope[1]) | (upper < rope[0])
    inside = (lower >= rope[0]) & (upper <= rope[1])
    return np.select([outside, inside], ["different", "negligible"], "inconclusive")


def share_words(in_rope: Floats) -> NDArray[np.str_]:
    """Verdicts by the share of the posterior in the ROPE."""
    cases = [in_rope < FULL_RULE_MARGIN, in_rope > 1 - FULL_RULE_MARGIN]
    return np.select(cases, ["different", "negligible"], "inconclusive")


def summarise(
    rows: Floats, rope: Rope, null: float, level: float, is_hdi: bool, are_chains: bool = True
) -> Columns:
    """Summaries of rows of draws, (n, chain, draw), and their Monte Carlo errors, (n,) each.

    mean, sd, lower, upper (highest-density, else equal-tailed), mcse_lower, mcse_upper; tail_lower
    and tail_upper: effective draws beyond each bound; ess_tail: those of the worse bound; rhat;
    p_direction; in_rope with the ends of its 95 % Monte Carlo interval, in_rope_least and
    in_rope_most; constant (0 or 1); and undefined, the share of the draws that are, which are left
    out. NaN where that is more than 5 %. Rows are taken in parts, so that ten thousand contrasts
    need little more memory than their draws.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(3, 1, (1, 4, 1000))
    >>> found = summarise(rows, (-0.1, 0.1), null=0, level=0.95, is_hdi=False)
    >>> {name: found[name].round(1)[0].item() for name in ("mean", "sd", "lower", "rhat")}
    {'mean': 3.0, 'sd': 1.0, 'lower': 1.1, 'rhat': 1.0}
    """

    def of_rows(values: Floats) -> Columns:
        ordered = np.sort(values.reshape(len(values), -1), axis=1)
        found = {
            "mean": values.mean(axis=(1, 2)),
            "sd": values.std(axis=(1, 2), ddof=1),
            **bounds(values, ordered, level, is_hdi, are_chains),
            "p_direction": np.maximum(
                (values > null).mean(axis=(1, 2)), (values < null).mean(axis=(1, 2))
            ),
            "rhat": rank_rhat(values) if are_chains else np.full(len(values), np.nan),
        }
        found |= share_inside(values, rope, found["ess_tail"], are_chains)
        return {**found, "constant": (ordered[:, 0] == ordered[:, -1]) * 1.0}

    step = max(1, CHUNK // rows[0].size)
    parts = [
        where_defined(np.ascontiguousarray(rows[start : start + step], dtype=float), of_rows)
        for start in range(0, len(rows), step)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def bounds(
    values: Floats, ordered: Floats, level: float, is_hdi: bool, are_chains: bool
) -> Columns:
    """Interval of each row, and the Monte Carlo errors of its bounds, as the quantiles they are."""
    below = above = np.full(len(values), (1 - level) / 2)
    if is_hdi:
        interval = array_stats.hdi(ordered, level, axis=-1)
        lower, upper = interval[:, 0], interval[:, 1]
        below = (ordered < lower[:, None]).mean(axis=1)
        above = (ordered > upper[:, None]).mean(axis=1)
    else:
        lower, upper = row_quantile(ordered, below), row_quantile(ordered, 1 - above)
    mcse_lower, ess_lower = quantile_error(values, ordered, below, are_chains=are_chains)
    mcse_upper, ess_upper = quantile_error(values, ordered, 1 - above, are_chains=are_chains)
    return {
        "lower": lower,
        "upper": upper,
        "mcse_lower": mcse_lower,
        "mcse_upper": mcse_upper,
        "tail_lower": ess_lower * below,
        "tail_upper": ess_upper * above,
        "ess_tail": np.minimum(ess_lower, ess_upper),
    }


def share_inside(values: Floats, rope: Rope, ess_tail: Floats, are_chains: bool) -> Columns:
    """Share of the draws in the ROPE, and its 95 % Monte Carlo interval."""
    inside = (values >= rope[0]) & (values <= rope[1])
    share, effective = inside.mean(axis=(1, 2)), effective_draws(inside, are_chains=are_chains)
    # Where no draw or every draw is inside, its correlation in time shows in the tails alone.
    is_pure = (share == 0) | (share == 1)
    least, most = share_interval(share, np.where(is_pure, ess_tail, effective))
    return {"in_rope": share, "in_rope_least": least, "in_rope_most": most}
