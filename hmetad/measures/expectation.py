"""What signal detection expects of the type-2 measures, from d′, c and the criteria of the counts.

Count table (cell, stimulus, response, rating) → Dataset (cell) of expected values, and of the
observed ones relative to them. Source: Rahnev (2025).
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from hmetad.base.arguments import check_inputs
from hmetad.base.notice import notices, with_notices
from hmetad.counts.checks import TYPE1_DIMS, require_stimulus
from hmetad.measures.results import described, ratio
from hmetad.measures.sdt import Correction, added_per_response, sdt
from hmetad.measures.type2 import auroc2, gamma, mean_confidence, phi

type Floats = NDArray[np.float64]

RELATIVE = {
    "auroc2": auroc2,
    "gamma_pairs": lambda counts: gamma(counts, estimator="pairs"),
    "phi": phi,
    "confidence_difference": lambda counts: mean_confidence(counts)["confidence_difference"],
}
SIDES = np.array([-1.0, 1.0])
# Halvings of the range in which a criterion lies, which is as wide as the evidence goes.
HALVINGS, WIDEST = 60, 40.0


@check_inputs(skip=("counts", "correction"))
def relative_to_sdt(counts: xr.DataArray, *, correction: Correction = "none") -> xr.Dataset:
    r"""Type-2 measures, and what signal detection expects of them, per cell.

    Parameters
    ----------
    counts : DataArray
        Count table with dims (cell, stimulus, response, rating); further dims are kept.
    correction : {"none", "loglinear", "cell"} or float, optional
        Of d′ and c, as in `sdt`.

    Returns
    -------
    Dataset
        Per cell, for each of ``auroc2``, ``gamma_pairs``, ``phi`` and ``confidence_difference``:
        the value expected by signal detection, ``_expected``; the observed value divided by it,
        ``_ratio``; and the observed value minus it, ``_excess``, in the unit of the measure. NaN
        where d′ is undefined, or the measure is; a ratio also where the expected value is not
        above 0.

    Raises
    ------
    InputError
        If the table has no stimulus, or `correction` is none of the above.

    Notes
    -----
    Evidence is :math:`x \sim N(\pm d'/2, 1)`, with the d′ and c of `sdt`, and confidence reads it
    without loss. With :math:`T_{s,k}` the rate of a response with a rating above k to stimulus s,
    and z the normal quantile function, the criteria of that response lie outward from c by

    .. math:: t_k = \tfrac12 \sum_s \bigl(z(T_{s,0}) - z(T_{s,k})\bigr)

    as in Rahnev (2025): each is computed like the criterion of a response. If a rate is 0, and
    there is no correction, the criterion is the one at which the response has the observed
    proportion of such ratings, both stimuli together. The expected table has the observed trials of
    each stimulus.

    A ratio of 1, or an excess of 0, is what confidence without loss or gain gives. Neither is free
    of d′, c and criteria for other observers.

    Examples
    --------
    >>> from hmetad.simulate.simulate import simulate_counts
    >>> ideal = relative_to_sdt(simulate_counts(1.5, trials=1_000_000, seed=1))
    >>> ideal["auroc2_ratio"].round(2).item(), ideal["phi_excess"].round(2).item()
    (1.0, 0.0)
    >>> lossy = simulate_counts(1.5, m_ratio=0.6, trials=1_000_000, seed=1)
    >>> relative_to_sdt(lossy)["gamma_pairs_ratio"].round(2).item()
    0.64
    """
    require_stimulus(counts, "What signal detection expects")
    found = sdt(counts, correction=correction)
    expected = expected_by_sdt(counts, found["dprime"], found["c"], correction)
    like = found["dprime"]
    values = {}
    for name, measure in RELATIVE.items():
        # Where there is no d′, an empty table stands for what is unknown: it has no measures.
        seen, said = (
            measure(table).transpose(*like.dims).to_numpy()
            for table in (counts, expected.fillna(0))
        )
        values[f"{name}_expected"] = said
        values[f"{name}_ratio"] = ratio(seen, said)
        values[f"{name}_excess"] = seen - said
    result = described(like, values, "relative_to_sdt")
    return with_notices(result.assign_attrs(correction=found.attrs["correction"]), notices(found))


def expected_by_sdt(
    counts: xr.DataArray, dprime: xr.DataArray, c: xr.DataArray, correction: Correction = "none"
) -> xr.DataArray:
    """Counts that signal detection expects with the criteria of the counts; NaN where d′ is.

    Examples
    --------
    >>> from hmetad.counts.vectors import from_nr
    >>> counts = from_nr([84, 56, 48, 12], [4, 56, 64, 76])
    >>> found = sdt(counts)
    >>> expected = expected_by_sdt(counts, found["dprime"], found["c"])
    >>> expected.sum(["stimulus", "rating"]).round(6).values, expected.sum().round(6).item()
    (array([[200., 200.]]), 400.0)
    """
    ordered = counts.transpose(*dprime.dims, *TYPE1_DIMS)
    n = ordered.to_numpy().astype(float)
    d, bias = (x.transpose(*dprime.dims).to_numpy()[..., None, None] for x in (dprime, c))
    # Mean of the evidence beyond c, outward: dims ..., stimulus, response.
    beyond = SIDES * (SIDES[:, None] * d / 2 - bias)
    weights = n.sum(axis=(-2, -1))[..., None]
    # Trials of a response with at least rating 1, ..., K, and their rates of the stimulus.
    added = n + added_per_response(correction, n.shape[-1]) / n.shape[-1]
    above, raw = (x[..., ::-1].cumsum(axis=-1)[..., ::-1] for x in (added, n))
    z = ndtri(ratio(above, np.broadcast_to(added.sum(axis=(-2, -1))[..., None, None], above.shape)))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = ((z[..., :1] - z[..., 1:]) / 2).sum(axis=-3)
        shares = raw.sum(axis=-3)[..., 1:] / raw.sum(axis=-3)[..., :1]
    found = np.where(np.isfinite(found), found, edges_of_shares(shares, beyond, weights))
    # Of two rules for neighbours neither may cross the other.
    found = np.maximum.accumulate(found, axis=-1)
    at_c = np.zeros((*found.shape[:-1], 1))
    edges = np.concatenate([at_c, found, at_c + np.inf], axis=-1)
    tails = ndtr(beyond[..., None] - edges[..., None, :, :])
    values = weights[..., None] * (tails[..., :-1] - tails[..., 1:])
    return ordered.copy(data=values).assign_attrs(notices="[]")


def edges_of_shares(shares: Floats, beyond: Floats, weights: Floats) -> Floats:
    """Distances from c at which responses have these shares of ratings, by halving a range."""
    target = shares * (weights * ndtr(beyond)).sum(axis=-2)[..., None]
    low = np.zeros(target.shape)
    high = np.full(target.shape, WIDEST) + abs(beyond).max(axis=-2)[..., None]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        tail = (weights[..., None] * ndtr(beyond[..., None] - middle[..., None, :, :])).sum(axis=-3)
        low, high = np.where(tail > target, middle, low), np.where(tail > target, high, middle)
    # Nothing lies beyond a criterion that no trial reached.
    return np.where(shares > 0, (low + high) / 2, np.inf)
