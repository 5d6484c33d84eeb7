"""From draws, or an estimate and its standard error, to a verdict.

Draws (chain, draw, pair or cell) → Decisions. Two answers are kept apart: the statistical one
(does the interval exclude the null?) and the practical one (where does it lie against the
region of practical equivalence?).
Source: Kruschke (2018); Makowski et al. (2019).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import norm

from hmetad.compare.contrasts import error_codes
from hmetad.errors import InputError

__all__ = ["Decisions", "IntervalKind", "decide", "decide_normal"]

IntervalKind = Literal["eti", "hdi"]
SAMPLE_DIMS = ("chain", "draw")
FULL_RULE_MARGIN = 0.025


@dataclass(frozen=True)
class Decisions:
    """Verdicts on a set of quantities, with all that they rest on.

    Tables, text and figures render this one object, so that they cannot disagree.

    Parameters
    ----------
    results : Dataset
        One dim (pair or cell), with its labels. mean, sd, lower, upper; mcse_lower and
        mcse_upper (draws) or p_value (normal); p_direction; in_rope; statistical (the interval
        excludes the null); verdict: "different" (interval entirely outside the ROPE),
        "negligible" (entirely inside), "inconclusive", or "unreliable" (withheld: draws that
        are undefined or constant, or an error notice on the cells, named in `withheld`);
        full_verdict: the same words by the share of the posterior in the ROPE.
    quantity : str
        What is judged, such as "log_m".
    rope : tuple of float
        Region of practical equivalence, on the scale of the quantity.
    null : float
        Null value of the statistical answer.
    ci_prob : float
        Probability of an interval before the correction for several comparisons.
    ci_kind : {"eti", "hdi", "normal"}
        Equal-tailed, highest density, or estimate ± z·SE.
    comparisons : int
        m: intervals have probability 1 - (1 - ci_prob)/m, p-values are multiplied by m.
    """

    results: xr.Dataset
    quantity: str
    rope: tuple[float, float]
    null: float
    ci_prob: float
    ci_kind: str
    comparisons: int

    def table(self) -> pd.DataFrame:
        """One row per quantity: label, its coordinates, then the results."""
        dim = next(iter(self.results.dims))
        frame = self.results.to_dataframe().reset_index().rename(columns={dim: "label"})
        frame["verdict"] = frame["verdict"].astype(str)
        results = [str(name) for name in self.results.data_vars]
        return frame[[c for c in frame.columns if c not in results] + results]

    def _repr_html_(self) -> str:
        return self.table().to_html(index=False)


def decide(
    draws: xr.DataArray,
    *,
    rope: tuple[float, float],
    null: float = 0.0,
    ci_prob: float = 0.95,
    ci_kind: IntervalKind = "eti",
    comparisons: int = 1,
) -> Decisions:
    """Judge quantities by their posterior draws.

    Parameters
    ----------
    draws : DataArray
        Dims chain, draw and one more, such as pair (from `contrast`) or cell.
    rope : tuple of float
        Region of practical equivalence, on the scale of the draws. There is no default: what
        is negligible is the analyst's to say.
    null : float
        Value that "no effect" has.
    ci_prob : float
        Probability of the interval.
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.
    comparisons : int
        Number of comparisons m: intervals at 1 - (1 - ci_prob)/m (Bonferroni).

    Returns
    -------
    Decisions

    Raises
    ------
    InputError
        If an argument is out of range or the draws have other dims.

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
    if ci_kind not in get_args(IntervalKind):
        raise InputError("ci_kind", repr(ci_kind), "'eti' or 'hdi'")
    dim = judged_dim(draws)
    if draws.attrs.get("kind") == "superiority":
        step = "The probability of superiority is the mean of these draws."
        raise InputError("draws", "superiority (0 or 1)", "draws of a difference", step)
    level = 1 - (1 - ci_prob) / comparisons
    interval = az.eti if ci_kind == "eti" else az.hdi
    bounds = interval(draws, prob=level)
    lower, upper = (bounds.sel(ci_bound=side, drop=True) for side in ("lower", "upper"))
    inside = ((draws >= rope[0]) & (draws <= rope[1])).mean(SAMPLE_DIMS)
    above, below = (draws > null).mean(SAMPLE_DIMS), (draws < null).mean(SAMPLE_DIMS)
    results = xr.Dataset(
        {
            "mean": draws.mean(SAMPLE_DIMS, skipna=False),
            "sd": draws.std(SAMPLE_DIMS, ddof=1, skipna=False),
            "lower": lower,
            "upper": upper,
            "mcse_lower": bound_error(draws, lower, dim),
            "mcse_upper": bound_error(draws, upper, dim),
            "p_direction": np.maximum(above, below),
            "in_rope": inside,
            **verdicts(lower, upper, inside, rope, null, unreliable(draws)),
        }
    )
    return Decisions(results, str(draws.name), rope, null, ci_prob, ci_kind, comparisons)


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
    """Judge quantities by their estimates and standard errors.

    Parameters
    ----------
    estimate, se : array or DataArray, shape (n,)
        Estimates and their standard errors; a DataArray keeps its dim and coordinates.
    rope, null, ci_prob, comparisons
        As in `decide`. The p-value is that of the two-sided z-test, multiplied by the number
        of comparisons (at most 1); the interval is widened to match.
    labels : sequence of str, optional
        Names of the quantities, where `estimate` has none.

    Returns
    -------
    Decisions
        With p_value in place of the Monte Carlo errors.

    Examples
    --------
    >>> decide_normal([0.02, 0.4], [0.02, 0.05], rope=(-0.1, 0.1)).table()["verdict"].tolist()
    ['negligible', 'different']
    """
    check_arguments(rope, null, ci_prob, comparisons)
    values = labelled_estimate(estimate, labels)
    errors = values.copy(data=np.broadcast_to(np.asarray(se, dtype=float), values.shape))
    if bool((errors <= 0).any()):
        raise InputError("se", f"{float(errors.min())}", "standard errors above 0")
    half_width = norm.isf((1 - ci_prob) / comparisons / 2) * errors
    lower, upper = values - half_width, values + half_width
    z = abs(values - null) / errors
    below_upper, below_lower = (norm.cdf(edge, values, errors) for edge in reversed(rope))
    inside = values.copy(data=below_upper - below_lower)
    results = xr.Dataset(
        {
            "mean": values,
            "sd": errors,
            "lower": lower,
            "upper": upper,
            "p_value": np.minimum(1.0, comparisons * 2 * values.copy(data=norm.sf(z))),
            "p_direction": values.copy(data=norm.cdf(z)),
            "in_rope": inside,
            **verdicts(lower, upper, inside, rope, null, values.isnull() | errors.isnull()),
        }
    )
    return Decisions(results, str(values.name), rope, null, ci_prob, "normal", comparisons)


def check_arguments(
    rope: tuple[float, float], null: float, ci_prob: float, comparisons: int
) -> None:
    """Refuse a ROPE with its ends swapped, and probabilities and numbers out of range."""
    if not isinstance(rope, Sequence) or len(rope) != 2 or not rope[0] < rope[1]:
        step = "Write both limits, as in rope=(-0.05, 0.05)."
        raise InputError("rope", repr(rope), "(lower, upper) with lower < upper", step)
    if not np.isfinite(null):
        raise InputError("null", str(null), "a finite number")
    if not 0 < ci_prob < 1:
        raise InputError("ci_prob", str(ci_prob), "a probability above 0 and below 1")
    if comparisons < 1 or comparisons != int(comparisons):
        raise InputError("comparisons", str(comparisons), "a whole number of at least 1")


def judged_dim(draws: xr.DataArray) -> str:
    """The one dim besides chain and draw."""
    others = [str(dim) for dim in draws.dims if dim not in SAMPLE_DIMS]
    if len(others) != 1 or not set(SAMPLE_DIMS) <= set(draws.dims):
        raise InputError("draws", f"dims {draws.dims}", "chain, draw and one more dim")
    return others[0]


def unreliable(draws: xr.DataArray) -> xr.DataArray:
    """Quantities without a verdict: undefined or constant draws, or an error said of their fit."""
    undefined = draws.isnull().any(SAMPLE_DIMS)
    constant = draws.max(SAMPLE_DIMS) == draws.min(SAMPLE_DIMS)
    if "withheld" in draws.coords:
        return undefined | constant | (draws["withheld"] != "")
    if "cell" in draws.dims:
        said = [error_codes(draws, [cell]) != "" for cell in draws["cell"].values.tolist()]
        return undefined | constant | undefined.copy(data=said)
    return undefined | constant


def bound_error(draws: xr.DataArray, bound: xr.DataArray, dim: str) -> xr.DataArray:
    """Monte Carlo standard error of an interval's bound, as the quantile that it is."""
    share = (draws < bound).mean(SAMPLE_DIMS).clip(1e-6, 1 - 1e-6)
    errors = [
        float(az.mcse(draws.isel({dim: i}), method="quantile", prob=float(share[i])))
        if bool(bound[i].notnull())
        else np.nan
        for i in range(draws.sizes[dim])
    ]
    return bound.copy(data=errors)


def verdicts(
    lower: xr.DataArray,
    upper: xr.DataArray,
    in_rope: xr.DataArray,
    rope: tuple[float, float],
    null: float,
    undefined: xr.DataArray,
) -> dict[str, xr.DataArray]:
    """The statistical answer, and the practical one by the interval and by the whole posterior."""
    outside, inside = (lower > rope[1]) | (upper < rope[0]), (lower >= rope[0]) & (upper <= rope[1])
    full_outside, full_inside = in_rope < FULL_RULE_MARGIN, in_rope > 1 - FULL_RULE_MARGIN
    return {
        "statistical": ((lower > null) | (upper < null)) & ~undefined,
        "verdict": words(outside, inside, undefined),
        "full_verdict": words(full_outside, full_inside, undefined),
    }


def words(outside: xr.DataArray, inside: xr.DataArray, undefined: xr.DataArray) -> xr.DataArray:
    """Verdicts in words."""
    cases = [undefined.values, outside.values, inside.values]
    chosen = np.select(cases, ["unreliable", "different", "negligible"], "inconclusive")
    return outside.copy(data=chosen)


def labelled_estimate(
    estimate: ArrayLike | xr.DataArray, labels: Sequence[str] | None
) -> xr.DataArray:
    """Estimates with one labelled dim."""
    if isinstance(estimate, xr.DataArray):
        if estimate.ndim != 1:
            raise InputError("estimate", f"dims {estimate.dims}", "one dim")
        return estimate.astype(float)
    values = np.atleast_1d(np.asarray(estimate, dtype=float))
    names = [str(i + 1) for i in range(len(values))] if labels is None else list(labels)
    return xr.DataArray(values, dims="pair", coords={"pair": names}, name="estimate")
