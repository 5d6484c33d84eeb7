"""Evidence for and against a null value, by the Savage-Dickey ratio.

Draws and prior of one quantity → Dataset of Bayes factors. Where the null is one value of a
parameter, its Bayes factor is the density of the posterior there over that of the prior.
Source: Dickey (1971); Wagenmakers et al. (2010).
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats
from numpy.typing import NDArray

from hmetad.base.arguments import check_inputs
from hmetad.base.checks import finite
from hmetad.base.errors import ModelError, ShapeError
from hmetad.base.labels import check_same_names
from hmetad.base.monte_carlo import effective_draws
from hmetad.base.notice import notice_of, with_notices
from hmetad.base.notice_registry import limit
from hmetad.base.results import attrs_of, names_of
from hmetad.compare.cells import (
    SAMPLE_DIMS,
    as_cells,
    both_codes,
    codes_on_draws,
    coordinates_of_places,
    one_variable,
)

type Floats = NDArray[np.float64]
type Density = Callable[[float], Any]


class Distribution(Protocol):
    """A distribution with a density, as those of scipy.stats."""

    pdf: Density


type Prior = xr.DataArray | Distribution


@check_inputs(skip=("draws", "prior"), null=finite)
def bayes_factor(draws: xr.DataArray, *, prior: Prior, null: float = 0.0) -> xr.Dataset:
    r"""Bayes factor of a null value, of each place of draws such as pairs of a contrast.

    Parameters
    ----------
    draws : DataArray
        Posterior draws of one quantity with dim draw: those of `contrast`, of `pass_rate`, or
        ``fit["posterior"]["log_m_task"]``.
    prior : DataArray or distribution
        Prior draws of the same quantity: for a difference those of the same difference. Or its
        distribution with a method pdf, such as ``scipy.stats.norm(0, 0.5)``, the same at all
        places.
    null : float
        The value of the null hypothesis.

    Returns
    -------
    Dataset
        ``bf01`` (for the null) and ``bf10`` = 1/bf01, with ``mcse_bf01`` and ``mcse_bf10``;
        ``posterior_density`` and ``prior_density`` at the null; per place. The coordinate withheld
        has the codes of the error notices of the draws; ``"outside"`` where the null lies beyond
        all draws, so that the density there is not known and results are NaN; ``"undefined"`` where
        draws are. A notice ``"null-in-tail"`` names places with fewer than 50 draws beyond it.

    Raises
    ------
    InputError
        If these are not draws, or the prior is neither draws of these places nor a distribution.

    Notes
    -----
    .. math:: BF_{01} = p(\theta = \theta_0 \mid y) / p(\theta = \theta_0)

    with kernel densities by ArviZ. Errors are those of the kernel's mean over the ESS; they exclude
    the bias of the kernel, a few percent. A Bayes factor is as good as its prior: a wider prior
    favours the null. If the null is far in a tail, its density depends on few draws.

    Prior draws of a fit come from ``pymc.sample_prior_predictive(4000, var_names=["log_m"])``
    within ``hmetad.bayes.rebuild_model(fit)``. They have no coordinates of cells, which a contrast
    needs: take those of the posterior with ``assign_coords``.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> draws = np.random.default_rng(1).normal(0, 0.1, (4, 4000, 1))
    >>> slope = xr.DataArray(draws, {"cell": ["age"]}, ("chain", "draw", "cell"), name="slope")
    >>> bayes_factor(slope, prior=norm(0, 1))["bf01"].round(-1).values  # exactly 10
    array([10.])
    """
    posterior = single_dim(one_variable(draws, None))
    dim = next(str(d) for d in posterior.dims if d not in SAMPLE_DIMS)
    places = range(posterior.sizes[dim])
    priors = prior_of_places(prior, posterior, dim)
    found = pd.DataFrame(
        densities(posterior.isel({dim: i}).values, priors[i], null) for i in places
    )
    withheld = both_codes(codes_on_draws(posterior), found["reason"].tolist())
    result = labelled_factors(found, posterior, dim).assign_coords(withheld=(dim, withheld))
    attrs = {k: v for k, v in posterior.attrs.items() if k == "notices"}
    result = result.assign_attrs(attrs | {"quantity": str(posterior.name), "null": null})
    is_thin = (found["beyond"] < limit("null-in-tail")) & (found["reason"] == "")
    thin = posterior[dim].to_numpy()[is_thin.to_numpy()].astype(str).tolist()
    return with_notices(result, [notice_of("null-in-tail", thin)] if thin else [])


def prior_of_places(prior: Prior, posterior: xr.DataArray, dim: str) -> list[Density | Floats]:
    """Prior of each place: a density, or its draws (chain, draw)."""
    places = posterior.sizes[dim]
    if callable(density := getattr(prior, "pdf", None)):
        return [density] * places
    if not isinstance(prior, xr.DataArray) or "draw" not in prior.dims:
        got = type(prior).__name__
        step = "Sample the prior, or give its distribution: scipy.stats.norm(0, 0.5)."
        raise ModelError("prior", got, "draws of the prior, or a distribution with pdf", step)
    values = one_variable(prior, None)
    if {*values.dims} == {*SAMPLE_DIMS}:
        return [values.values] * places
    values = single_dim(values)
    own = next(str(d) for d in values.dims if d not in SAMPLE_DIMS)
    are_named = own == dim and own in values.coords and dim in posterior.coords
    if are_named and {*posterior[dim].values} <= {*values[own].values}:
        values = values.sel({own: posterior[dim].values})
    if own != dim or values.sizes[own] != places:
        got = f"dims {prior.dims} with {values.sizes[own]} places"
        raise ShapeError("prior", got, f"{dim} with {places} places, or none")
    return [values.isel({own: i}).values for i in range(places)]


def single_dim(draws: xr.DataArray) -> xr.DataArray:
    """Draws with one further dim: their own, that of stacked cells, or one for a single number."""
    others = [dim for dim in draws.dims if dim not in SAMPLE_DIMS]
    if not others:
        return draws.expand_dims(cell=[str(draws.name)])
    return draws if len(others) == 1 else as_cells(draws)


def densities(posterior: Floats, prior: Density | Floats, null: float) -> dict[str, float | str]:
    """Densities at the null and their errors, and how many draws lie beyond; or why none."""
    names = ("posterior", "posterior_error", "prior", "prior_error", "beyond")
    nothing: dict[str, float | str] = dict.fromkeys(names, np.nan)
    sampled = {"posterior": posterior} | ({} if callable(prior) else {"prior": prior})
    if not all(np.isfinite(draws).all() for draws in sampled.values()):
        return {**nothing, "reason": "undefined"}
    if not all(draws.min() < null < draws.max() for draws in sampled.values()):
        return {**nothing, "reason": "outside"}
    below = int((posterior < null).sum())
    found: dict[str, float | str] = {"beyond": min(below, posterior.size - below)}
    if callable(prior):
        found |= {"prior": float(prior(null)), "prior_error": 0.0}
    for name, draws in sampled.items():
        grid, density, width = array_stats.kde(draws.ravel())
        found[name] = float(np.interp(null, grid, density))
        found[f"{name}_error"] = kernel_error(draws, null, float(width))
    # Between a few stray draws and the rest, a density of 0 means that it is not known.
    is_known = min(float(found["posterior"]), float(found["prior"])) > 0
    return {**found, "reason": ""} if is_known else {**nothing, "reason": "outside"}


def kernel_error(draws: Floats, null: float, width: float) -> float:
    """Monte Carlo standard error of the density at the null, a mean of Gaussian kernels."""
    kernel = np.exp(-(((draws - null) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    return float(kernel.std() / np.sqrt(effective_draws(kernel[None])[0]))


def labelled_factors(found: pd.DataFrame, posterior: xr.DataArray, dim: str) -> xr.Dataset:
    """Bayes factors, their errors and the densities, with the labels of what they are of."""
    bf01 = found["posterior"] / found["prior"]
    relative = np.hypot(
        found["posterior_error"] / found["posterior"], found["prior_error"] / found["prior"]
    )
    columns = {
        "bf01": bf01,
        "bf10": 1 / bf01,
        "mcse_bf01": bf01 * relative,
        "mcse_bf10": relative / bf01,
        "posterior_density": found["posterior"],
        "prior_density": found["prior"],
    }
    coords = coordinates_of_places(posterior)
    own = ["withheld"] if dim == "cell" else []
    check_same_names(coords, [*names_of("bayes_factor"), *own])
    data = {
        name: (dim, np.asarray(values), attrs_of(name, "bayes_factor"))
        for name, values in columns.items()
    }
    return xr.Dataset(data, coords)
