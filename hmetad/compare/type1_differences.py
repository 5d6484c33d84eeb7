"""Do cells whose M is compared differ in d′ or c too? M depends on both.

Draws of a fit and its contrasts → list of Notice.
Source: Guggenmos (2021); Rausch et al. (2023).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import norm

from hmetad.compare.quantities import (
    SAMPLE_DIMS,
    Draws,
    quantity_draws,
)
from hmetad.compare.separate import separate_cells
from hmetad.notice import Notice, notice_of
from hmetad.results import about

__all__ = ["type1_differences"]

type Floats = NDArray[np.float64]

TYPE1 = ("dprime", "c")
# Of finding a difference in d′ or c in any of the contrasts, where there is none.
FALSE_ALARM = 0.05
CHUNK = 2**20
# As many give a mean and an SD well enough, and cost little beside the contrasts themselves.
DRAWS = 1000


def type1_differences(
    draws: Draws | Mapping[str, Draws],
    values: xr.DataArray,
    names: Sequence[str],
    weights: csr_array,
    labels: Sequence[str],
    *,
    independent: bool,
) -> list[Notice]:
    """Notice of contrasts of M between cells that differ in d′ or c.

    Parameters
    ----------
    draws : DataTree, Dataset or DataArray, or mapping of str to them
        What is compared. Draws of M alone give no notice.
    values : DataArray
        Draws of the quantity, (chain, draw, cell).
    names : sequence of str
        Coordinates in use.
    weights : sparse array, shape (contrasts, cells)
        1 and −1 for a pair.
    labels : sequence of str
        Names of the contrasts.
    independent : bool
        Whether the cells are compared as independent ones.

    Returns
    -------
    list of Notice
        ``"type1-differs"`` (warning) with the contrasts of whose d′ or c the interval, mean ± z·SD,
        excludes 0; or none. Its probability is 95 %, Bonferroni-corrected for all contrasts and
        both of them.

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(0, 0.1, (2, 100, 2))
    >>> fit = xr.Dataset(
    ...     {
    ...         "log_m": (("chain", "draw", "cell"), noise),
    ...         "dprime": (("chain", "draw", "cell"), noise + [1, 2]),
    ...         "c": (("chain", "draw", "cell"), noise),
    ...     },
    ...     {"cell": ["a", "b"]},
    ... )
    >>> difference = csr_array([[1.0, -1.0]])
    >>> found = type1_differences(fit, fit["log_m"], (), difference, ["a − b"], independent=False)
    >>> found[0].cells
    ('a − b',)
    """
    if not about(str(values.name)):
        return []
    is_apart = np.zeros(weights.shape[0], dtype=bool)
    for name in TYPE1:
        of_name = draws_like(draws, name, values, names)
        if of_name is not None:
            is_apart |= excludes_zero(of_name, weights, independent)
    cells = [label for label, holds in zip(labels, is_apart, strict=True) if holds]
    return [notice_of("type1-differs.draws", cells)] if cells else []


def draws_like(
    draws: Draws | Mapping[str, Draws], name: str, values: xr.DataArray, names: Sequence[str]
) -> Floats | None:
    """Draws of d′ or c, (draw, cell), of the cells of the values, if there are any."""
    if isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray):
        alone = for_each_m(draws, name, str(values.name))
        found = None if alone is None else quantity_draws(alone, None, names)
    else:
        each = {label: for_each_m(fit, name, str(values.name)) for label, fit in draws.items()}
        known = {label: one for label, one in each.items() if one is not None}
        found = separate_cells(known, None, names) if len(known) == len(each) else None
    if found is None or found["cell"].values.tolist() != values["cell"].values.tolist():
        return None
    return found.transpose(*SAMPLE_DIMS, "cell").values.reshape(-1, found.sizes["cell"])


def for_each_m(fit: Draws, name: str, quantity: str) -> xr.DataArray | None:
    """Draws of d′ or c beside each M: where each response has one, d′ is that of both."""
    if isinstance(fit, xr.DataArray):
        return None
    posterior = fit["posterior"].to_dataset() if isinstance(fit, xr.DataTree) else fit
    if name not in posterior or "cell" not in posterior[name].dims:
        return None
    return posterior[name].broadcast_like(posterior[quantity])


def excludes_zero(draws: Floats, weights: csr_array, independent: bool) -> NDArray[np.bool_]:
    """Which contrasts of the draws (draw, cell) have an interval without 0."""
    draws = thin_draws(draws)
    mean, centred = draws.mean(axis=0), draws - draws.mean(axis=0)
    variance: Floats
    if independent:
        variance = weights.power(2) @ centred.var(axis=0)
    else:
        step = max(1, CHUNK // len(draws))
        starts = range(0, weights.shape[0], step)
        variance = np.concatenate(
            [np.square(weights[i : i + step] @ centred.T).mean(axis=1) for i in starts]
        )
    clear_z = norm.isf(FALSE_ALARM / 2 / max(1, len(TYPE1) * weights.shape[0]))
    return np.abs(weights @ mean) > clear_z * np.sqrt(variance)


def thin_draws(draws: Floats) -> Floats:
    """At most `DRAWS` of the draws (draw, cell), evenly spread over all chains."""
    return draws[:: -(-len(draws) // DRAWS)]
