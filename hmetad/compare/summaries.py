"""Summaries of draws: mean, interval, shares, and their Monte Carlo errors.

Draws (row, chain, draw) → arrays with an element per row. Rows are taken in parts that fit the
processor's cache, so that ten thousand contrasts need little more memory than their draws.
"""

from collections.abc import Callable, Iterator

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

from hmetad.monte_carlo import (
    effective_draws,
    quantile_error,
    rank_rhat,
    row_quantile,
    share_interval,
    where_defined,
)

__all__ = ["summarise"]

type Floats = NDArray[np.float64]
type Columns = dict[str, NDArray[np.float64]]

CHUNK = 2**18


def summarise(
    rows: Floats,
    *,
    level: float,
    is_hdi: bool,
    null: float,
    rope: tuple[float, float],
    are_chains: bool = True,
) -> Columns:
    """Summaries of each row, and their Monte Carlo errors.

    Parameters
    ----------
    rows : array, shape (n, chain, draw)
        One row and one draw at least.
    level : float
        Probability of the interval.
    is_hdi : bool
        Highest-density interval; else equal-tailed.
    null, rope : float, tuple of float
    are_chains : bool, optional
        Whether draws may depend on those before them; others have no R̂.

    Returns
    -------
    dict of array, shape (n,)
        mean, sd, lower, upper, mcse_lower, mcse_upper; tail_lower and tail_upper: effective draws
        beyond each bound; ess_tail: effective draws of the worse bound; rhat; p_direction;
        in_rope with the ends of its 95 % Monte Carlo interval, in_rope_least and in_rope_most;
        constant (0 or 1); and undefined, the share of the draws that are, which are left out.
        NaN where that is more than 5 %.

    Examples
    --------
    >>> rows = np.random.default_rng(1).normal(3, 1, (1, 4, 1000))
    >>> found = summarise(rows, level=0.95, is_hdi=False, null=0, rope=(-0.1, 0.1))
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

    return in_parts(rows, lambda part: where_defined(part, of_rows))


def in_parts(rows: Floats, function: Callable[[Floats], Columns]) -> Columns:
    """Results of a function of rows, part after part."""
    found = [function(part) for part in parts_of(rows)]
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}


def parts_of(rows: Floats) -> Iterator[Floats]:
    """Rows in contiguous parts of at most about `CHUNK` numbers."""
    step = max(1, CHUNK // (rows.shape[1] * rows.shape[2]))
    for start in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[start : start + step], dtype=float)


def bounds(
    values: Floats, ordered: Floats, level: float, is_hdi: bool, are_chains: bool
) -> Columns:
    """Interval of each row, and the Monte Carlo errors of its bounds, as the quantiles they are."""
    outside = np.full(len(values), (1 - level) / 2)
    below, above = outside, outside
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


def share_inside(
    values: Floats, rope: tuple[float, float], ess_tail: Floats, are_chains: bool
) -> Columns:
    """Share of the draws in the ROPE, and its 95 % Monte Carlo interval."""
    inside = (values >= rope[0]) & (values <= rope[1])
    share, effective = inside.mean(axis=(1, 2)), effective_draws(inside, are_chains=are_chains)
    # Where no draw or every draw is inside, its correlation in time shows in the tails alone.
    is_pure = (share == 0) | (share == 1)
    least, most = share_interval(share, np.where(is_pure, ess_tail, effective))
    return {"in_rope": share, "in_rope_least": least, "in_rope_most": most}
